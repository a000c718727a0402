//! `check_logs` on sound logs, and on logs with one thing wrong.

mod files;
mod large;

use cohort_binlog::Gtid;
use cohort_engine::memory::MemoryEngine;
use cohort_io::Create;

use super::*;
use crate::given_gtids::GtidClaim;
use crate::journaled::checkpoint;
use crate::journaled::commit::Coordinator;
use crate::tests::{Machine, transfer};

const SOURCE: &str = "11111111-2222-3333-4444-555555555555";
const LAST: u64 = 12;
/// Where the last checkpoint of a server that was killed is.
const CHECKPOINT: u64 = 8;

/// A machine whose server committed [`LAST`] transfers and was stopped, or killed.
fn machine(clean: bool) -> Machine {
    let machine = Machine::new(1);
    let (store, _) = machine.recover().expect("a new store");
    for id in 1..=LAST {
        transfer(&store, id).expect("a disk without faults");
        checkpoint::prepare_ahead(store.path::<Coordinator>());
        if id == CHECKPOINT {
            checkpoint::take(store.path::<Coordinator>()).expect("a disk without faults");
        }
    }
    if clean {
        store.close().expect("a disk without faults");
    }
    machine.copy()
}

fn look(machine: &Machine) -> LogCheck {
    look_with(machine, &machine.engines().expect("engines in memory"))
}

fn look_with(machine: &Machine, engines: &[Arc<dyn Engine>]) -> LogCheck {
    let fs: Arc<dyn FileSystem> = Arc::new(machine.disk.clone());
    let options = Machine::options(1);
    let (journal, tc_log) = (&options.journal_dir, &options.tc_log);
    check_logs(CommitProtocol::Journal, &fs, journal, tc_log, &options.binlog, engines, &mut |_| ())
}

fn listed(machine: &Machine) -> BinlogListing {
    BinlogListing::read(&machine.disk, &Machine::options(1).binlog).expect("a directory")
}

fn len(machine: &Machine, path: &Path) -> u64 {
    machine.disk.open(path, &OpenOptions::read()).and_then(|file| file.len()).expect("a file")
}

fn write(machine: &Machine, path: &Path, offset: u64, bytes: &[u8]) {
    let opened = machine.disk.open(path, &OpenOptions::buffered(Create::IfMissing));
    opened.and_then(|file| file.write_at(offset, bytes)).expect("a file");
}

fn flip(machine: &Machine, path: &Path, offset: u64) {
    let mut byte = [0];
    let file = machine.disk.open(path, &OpenOptions::read()).expect("a file");
    assert_eq!(file.read_at(offset, &mut byte).expect("a byte"), 1);
    write(machine, path, offset, &[byte[0] ^ 0x10]);
}

fn cut(machine: &Machine, path: &Path, bytes: u64) {
    let end = len(machine, path) - bytes;
    let opened = machine.disk.open(path, &OpenOptions::buffered(Create::Never));
    opened.and_then(|file| file.set_len(end)).expect("a file");
}

/// The only fault, of `path`.
fn fault(check: &LogCheck, path: &Path) -> Fault {
    assert_eq!(check.faults.len(), 1, "{path:?}: {:?}", check.faults);
    assert_eq!(check.faults[0].file, path);
    check.faults[0].clone()
}

#[test]
fn what_was_stopped_is_sound_and_counted() {
    let machine = machine(true);
    let check = look(&machine);
    assert!(check.clean_stop && check.journal.closed);
    assert_eq!((&check.faults, &check.notes), (&vec![], &vec![]));
    let files = listed(&machine).listed;
    assert!(files.len() > 2, "files of some transactions each");
    let (mut events, mut bytes) = (0, 0);
    for number in &files {
        let path = listed(&machine).path(*number);
        bytes += len(&machine, &path) - 4;
        let mut reader = BinlogReader::open(&machine.disk, &path, ReaderOptions::default()).expect("a binlog file");
        while reader.next_event().expect("a whole event").is_some() {
            events += 1;
        }
    }
    let found = &check.binlog;
    assert_eq!((found.files, found.transactions, found.events), (files.len() as u64, LAST, events));
    assert_eq!((found.bytes, &*found.gtids), (bytes, &*format!("{SOURCE}:1-{LAST}")));
}

#[test]
fn gtids_that_an_operator_added_or_reset_are_sound() {
    const ADDED: &str = "eeeeeeee-eeee-eeee-eeee-eeeeeeeeeeee:1-5";
    let machine = Machine::new(3);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a disk without faults");
    store.add_purged_gtids(&ADDED.parse().expect("a set")).expect("they are nobody's");
    transfer(&store, 2).expect("a disk without faults");
    store.close().expect("a disk without faults");
    let check = look(&machine.copy());
    assert_eq!(check.faults, vec![]);
    assert_eq!(check.binlog.gtids.replace(",\n", ","), format!("{SOURCE}:1-2,{ADDED}"));
    // A file that begins anew while those before it are still there, as after a crash.
    let fault = cohort_io::Fault::PowerCut;
    let found: Vec<String> = (0..200)
        .map(|operation| {
            let machine = Machine::new(3);
            let (store, _) = machine.recover().expect("a new store");
            transfer(&store, 1).expect("a disk without faults");
            store.rotate_binlog().expect("a disk without faults");
            checkpoint::take(store.path::<Coordinator>()).expect("a disk without faults");
            machine.disk.set_fault(machine.disk.operations() + operation, fault);
            let _ = store.reset_binlog();
            drop(store);
            let check = look(&machine.crash());
            assert_eq!(check.faults, vec![], "operation {operation}");
            check.binlog.gtids
        })
        .collect();
    assert!(found.iter().any(String::is_empty) && found.iter().any(|gtids| !gtids.is_empty()));
}

#[test]
fn gtids_that_were_chosen_with_holes_between_them_are_sound() {
    let machine = Machine::new(2);
    let (store, _) = machine.recover().expect("a new store");
    for gno in [9, 3, 5] {
        let gtid = Gtid { uuid: store.server_uuid(), gno };
        let GtidClaim::Owned(owned) = store.claim_gtid(gtid, 7, &|| false) else { panic!("{gtid} is free") };
        let mut transaction = store.begin();
        transaction.set_gtid(owned);
        store.commit_and_wait(transaction).expect("a commit");
        store.rotate_binlog().expect("another file");
    }
    store.close().expect("a disk without faults");
    let check = look(&machine);
    assert_eq!(check.faults, vec![]);
    assert_eq!(check.binlog.gtids, format!("{SOURCE}:3:5:9"));
}

#[test]
fn what_a_kill_leaves_is_no_fault() {
    let machine = machine(false);
    let check = look(&machine);
    assert!(!check.clean_stop && check.faults.is_empty(), "{:?}", check.faults);
    assert_eq!(check.journal.records, LAST - CHECKPOINT);
    assert_eq!(check.notes.len(), 1, "{:?}", check.notes);
    assert_eq!(check.binlog.transactions, CHECKPOINT);
    assert_eq!(check.binlog.gtids, format!("{SOURCE}:1-{CHECKPOINT}"));
    // Files after the checkpoint are written again from the journal.
    let last = listed(&machine).path(*listed(&machine).listed.last().expect("a file"));
    cut(&machine, &last, 3);
    let check = look(&machine);
    assert!(check.faults.is_empty(), "{:?}", check.faults);
    assert_eq!(check.notes[1], "the next start writes 3 binlog bytes again");
    // As are lines of the index, and a file that was begun.
    let machine = self::machine(false);
    write(&machine, &listed(&machine).index_path(), listed(&machine).index_bytes, b"binlog.0");
    write(&machine, &listed(&machine).path(listed(&machine).listed.last().expect("a file") + 1), 0, b"\xfebin");
    let check = look(&machine);
    assert!(check.faults.is_empty(), "{:?}", check.faults);
    assert_eq!(check.notes.len(), 3, "{:?}", check.notes);
}

#[test]
fn a_flip_in_any_file_is_named() {
    for clean in [true, false] {
        let sound = machine(clean);
        let numbers = listed(&sound).listed;
        for number in [numbers[0], numbers[1], numbers[numbers.len() - 1]] {
            let path = listed(&sound).path(number);
            // The flag of a file in use is no part of the sum.
            for offset in (0..len(&sound, &path)).step_by(41).filter(|offset| !(21..23).contains(offset)) {
                let machine = sound.copy();
                flip(&machine, &path, offset);
                let check = look(&machine);
                let fault = check.faults.first().unwrap_or_else(|| panic!("byte {offset} of {path:?}"));
                assert_eq!(fault.file, path, "byte {offset}: {fault}");
                assert!(fault.offset.is_some_and(|at| at <= offset), "byte {offset}: {fault}");
            }
        }
    }
}

#[test]
fn a_clean_stop_leaves_no_file_too_short_or_too_long_missing_or_unknown() {
    let sound = machine(true);
    let listing = listed(&sound);
    let (first, last) = (listing.listed[0], *listing.listed.last().expect("a file"));
    for number in [first, first + 1, last] {
        let (path, machine) = (listing.path(number), sound.copy());
        cut(&machine, &path, 1);
        assert_eq!(look(&machine).faults[0].file, path);
        let machine = sound.copy();
        machine.disk.remove(&path).expect("a file");
        assert!(look(&machine).faults.iter().any(|fault| fault.file == path && fault.what.contains("missing")));
    }
    let machine = sound.copy();
    let end = len(&machine, &listing.path(last));
    write(&machine, &listing.path(last), end, b"more");
    let found = fault(&look(&machine), &listing.path(last));
    assert_eq!((found.offset, &*found.what), (Some(end), "4 bytes stand after the end that the journal says"));
    let machine = sound.copy();
    write(&machine, &listing.path(last + 1), 0, b"\xfebin");
    assert_eq!(fault(&look(&machine), &listing.path(last + 1)).what, "the index does not list this file");
    let machine = sound.copy();
    write(&machine, &listing.index_path(), listing.index_bytes, b"binlog.0");
    assert_eq!(fault(&look(&machine), &listing.index_path()).offset, Some(listing.index_bytes));
}

#[test]
fn an_engine_ahead_of_the_journal_or_before_its_checkpoint_is_a_fault() {
    for clean in [true, false] {
        let machine = machine(clean);
        let mut engines = machine.engines().expect("engines in memory");
        let longer = self::machine(true);
        let journal = Machine::options(1).journal_dir;
        let sound = engines[1].clone();
        engines[1] = Arc::new(MemoryEngine::new());
        fault(&look_with(&machine, &engines), &journal);
        engines[1] = sound;
        assert_eq!(look_with(&machine, &engines).faults, []);
        // Logs of a moment before its last commits.
        if !clean {
            let early = Machine::new(1);
            let (store, _) = early.recover().expect("a new store");
            transfer(&store, 1).expect("a disk without faults");
            let check = look_with(&early.copy(), &longer.engines().expect("engines in memory"));
            assert_eq!(check.faults.len(), 2, "{:?}", check.faults);
            assert!(check.faults.iter().all(|fault| fault.file == journal && fault.lsn == Some(check.journal.end_lsn)));
        }
    }
}

#[test]
fn a_journal_that_cannot_be_read_is_a_fault() {
    let machine = machine(true);
    let checkpoint = Machine::options(1).journal_dir.join("checkpoint");
    let end = len(&machine, &checkpoint);
    for offset in 0..end {
        flip(&machine, &checkpoint, offset);
    }
    let check = look(&machine);
    assert!(check.faults.iter().any(|fault| fault.file == checkpoint), "{:?}", check.faults);
}
