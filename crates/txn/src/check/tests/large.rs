//! Files of large transactions that the next start needs.

use std::sync::atomic::AtomicU64;

use super::*;
use crate::SpillSettings;
use crate::tests::write_transfer;

/// A machine whose server committed a transaction, took a checkpoint, committed two large ones, and was killed. The engines
/// have lost what came after the checkpoint. With the numbers of the large ones' binlog files.
fn killed(staging: bool) -> (Machine, Vec<u64>) {
    let mut machine = Machine::new(1);
    if staging {
        machine.first = Arc::new(MemoryEngine::staging());
    }
    let mut options = Machine::options(1);
    options.settings.spill = SpillSettings { events_bytes: AtomicU64::new(0), writes_bytes: AtomicU64::new(0) };
    let (store, _) = machine.recover_with(options).expect("a new store");
    transfer(&store, 1).expect("a disk without faults");
    checkpoint::take(store.path::<Coordinator>()).expect("a disk without faults");
    let files = (2..=3).map(|id| {
        let mut transaction = write_transfer(&store, id);
        transaction.spill().expect("room");
        store.commit_and_wait(transaction).expect("a disk without faults").position.file_number
    });
    let files = files.collect();
    (machine.copy(), files)
}

fn rename(machine: &Machine, from: &Path, to: &Path) {
    machine.disk.rename(from, to).expect("a file");
}

#[test]
fn files_that_the_next_start_needs_are_found() {
    for staging in [false, true] {
        let (machine, files) = killed(staging);
        let engines = machine.engines().expect("engines in memory");
        let check = look_with(&machine, &engines);
        assert_eq!(check.faults, [], "staging: {staging}");
        let listing = listed(&machine);
        assert!(listing.large.len() >= 2, "{:?}", listing.large);
        let note = "files of large transactions, or uses them before";
        assert!(check.notes.iter().any(|found| found.ends_with(note)), "{:?}", check.notes);
        // Also where the rename of the events is not durable yet.
        rename(&machine, &listing.path(files[1]), &listing.large_events_path(2));
        assert_eq!(look_with(&machine, &engines).faults, [], "staging: {staging}");
    }
}

#[test]
fn damaged_events_of_a_large_transaction_are_a_fault_under_either_name() {
    let (machine, files) = killed(false);
    let listing = listed(&machine);
    let path = listing.path(files[0]);
    let mut reader = BinlogReader::open(&machine.disk, &path, ReaderOptions::default()).expect("a binlog file");
    let mut offsets = Vec::new();
    while let Some(event) = reader.next_event().expect("a whole event") {
        offsets.push(event.offset);
    }
    // XID and ROTATE are in the journal.
    let rows = offsets[offsets.len() - 3];
    let engines = machine.engines().expect("engines in memory");
    flip(&machine, &path, rows + 25);
    assert_eq!(fault(&look_with(&machine, &engines), &path).what, "the checksum is wrong");
    let first = listing.large_events_path(1);
    rename(&machine, &path, &first);
    assert_eq!(fault(&look_with(&machine, &engines), &first).what, "the checksum is wrong");
    flip(&machine, &first, rows + 25);
    assert_eq!(look_with(&machine, &engines).faults, []);
    cut(&machine, &first, len(&machine, &first) - rows - 25);
    assert_eq!(fault(&look_with(&machine, &engines), &first).what, "the file ends within this event");
}

#[test]
fn changes_that_an_engine_needs_and_are_not_whole_are_a_fault() {
    let (machine, _) = killed(false);
    let listing = listed(&machine);
    let engines = machine.engines().expect("engines in memory");
    let run = listing.large.iter().find(|name| name.contains("redo")).expect("a run");
    let path = listing.index_path().with_file_name(run);
    flip(&machine, &path, 20);
    assert!(fault_of(&look_with(&machine, &engines), &path).contains("is damaged at byte 0"));
    machine.disk.remove(&path).expect("a file");
    assert!(fault_of(&look_with(&machine, &engines), &path).contains("cannot open"));

    let (machine, _) = killed(true);
    let engines = machine.engines().expect("engines in memory");
    assert!(machine.first.staged_parts() > 0);
    engines[0].discard_all_staged();
    let check = look_with(&machine, &engines);
    assert!(check.faults.iter().any(|fault| fault.what.contains("has lost part")), "{:?}", check.faults);
}

/// What is said of `path`, of which both engines need a part.
fn fault_of(check: &LogCheck, path: &Path) -> String {
    assert!(!check.faults.is_empty() && check.faults.iter().all(|fault| fault.file == path), "{:?}", check.faults);
    check.faults[0].what.clone()
}
