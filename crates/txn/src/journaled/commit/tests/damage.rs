//! What rots while the server is down, or is not there any more.

use cohort_engine::memory::MemoryEngine;

use super::*;

#[test]
fn damage_in_the_middle_of_the_journal_stops_the_start() {
    let machine = Machine::new(9);
    run(&machine, 1, 4);
    let machine = machine.crash();
    let dir = Path::new("/data/journal");
    let names = machine.disk.list(dir).expect("a directory");
    let segment = names.iter().find(|name| name.starts_with("journal.")).expect("a segment");
    machine.disk.corrupt(&dir.join(segment), 4096 + 200, 0x40);
    let error = machine.recover().expect_err("damage is found").to_string();
    assert!(error.contains(segment.as_str()) && error.contains("byte"), "{error}");
}

/// A checkpoint knows how far each engine was: one that has lost what the journal no longer has stops the start.
#[test]
fn an_engine_older_than_the_checkpoint_stops_the_start() {
    for stopped_cleanly in [true, false] {
        let machine = Machine::with_tree(13);
        let acknowledged = run(&machine, 1, 4);
        let machine = machine.crash();
        let (store, _) = machine.recover().expect("a recovery, which takes a checkpoint");
        if stopped_cleanly {
            store.close().expect("a last checkpoint");
        }
        drop(store);
        let older = Machine { first: Arc::new(MemoryEngine::new()), ..machine.crash() };
        let error = older.recover().expect_err("the engine lost its changes").to_string();
        assert!(error.contains("holds changes up to lsn 0 only"), "{error}");
        let machine = Machine { first: Arc::new(machine.first.crash()), ..older.crash() };
        let (store, _) = machine.recover().expect("nothing was changed");
        check(&found(&machine.disk, &store), &acknowledged, "with the engine back");
    }
}

/// The file of the journal's last record and where it begins there.
fn last_record(machine: &Machine) -> (std::path::PathBuf, u64, u64) {
    let dir = Path::new("/data/journal");
    let options = Machine::options(1).journal;
    let (_, mut scan) = Journal::open(Arc::new(machine.disk.clone()), dir, options).expect("a journal");
    let mut last = None;
    while let Some(record) = scan.next().expect("a whole record") {
        last = Some(record.lsn().0);
    }
    let lsn = last.expect("a record");
    let data = 3 * 4096;
    (dir.join(format!("journal.{:06}", lsn / data + 1)), lsn % data + 4096, lsn)
}

#[test]
fn the_last_record_cannot_rot_unseen_because_the_binlog_has_its_events() {
    let machine = Machine::new(11);
    let acknowledged = run(&machine, 1, 4);
    let machine = machine.crash();
    let (segment, offset, lsn) = last_record(&machine);
    for at in [0, 8, 30, 45, 64, 68, 72, 300] {
        machine.disk.corrupt(&segment, offset + at, 0x10);
        let error = machine.copy().recover().expect_err("the damage is found").to_string();
        let place = format!("{} is damaged at byte {offset} (lsn {lsn})", segment.display());
        assert!(error.starts_with(&place), "byte {at}: {error}");
        assert!(error.contains(&format!("--journal-cut-at={lsn}")), "byte {at}: {error}");
        machine.disk.corrupt(&segment, offset + at, 0x10);
    }
    let (store, _) = machine.recover().expect("nothing was changed");
    check(&found(&machine.disk, &store), &acknowledged, "after the flips were taken back");
}

#[test]
fn the_operator_may_give_up_a_rotten_last_record() {
    let machine = Machine::new(12);
    let acknowledged = run(&machine, 1, 4);
    let machine = machine.crash();
    let (segment, offset, lsn) = last_record(&machine);
    machine.disk.corrupt(&segment, offset + 100, 1);
    let cut_at = |lsn| {
        let mut options = Machine::options(1);
        options.journal.cut_at = Some(cohort_journal::Lsn(lsn));
        options
    };
    assert!(machine.copy().recover_with(cut_at(lsn + 4096)).is_err(), "only the damaged place can be cut");
    let (store, report) = machine.recover_with(cut_at(lsn)).expect("the operator chose");
    assert!(report.cut_by_operator && report.binlog_bytes_cut > 0, "{report}");
    check(&found(&machine.disk, &store), &acknowledged[..3], "after the cut");
    transfer(&store, 4).expect("the store goes on");
    drop(store);
    let machine = machine.crash();
    let (store, _) = machine.recover().expect("the cut is final");
    check(&found(&machine.disk, &store), &[1, 2, 3, 4], "after the next crash");
}

/// Somebody lost the journal and the engines, and has the binlog: its files are not taken for what no transaction reached.
#[test]
fn a_journal_that_is_missing_does_not_cost_the_binlog() {
    let machine = Machine::new(14);
    let store = machine.open();
    for id in 1..=3 {
        transfer(&store, id).expect("a commit");
        store.rotate_binlog().expect("another file");
    }
    store.close().expect("a clean stop");
    let alone = Machine::new(15);
    let copy = |path: &Path| {
        let bytes = cohort_io::read_whole(&machine.disk, path, 1 << 20).expect("a file");
        let file = alone.disk.open(path, &cohort_io::OpenOptions::buffered(cohort_io::Create::New)).expect("made");
        file.write_at(0, &bytes).expect("written");
    };
    alone.disk.create_dir_all(Path::new(BINLOG)).expect("made");
    let names: Vec<String> = store.binlog().list().into_iter().map(|file| file.name).collect();
    names.iter().map(String::as_str).chain(["binlog.index"]).for_each(|name| copy(&Path::new(BINLOG).join(name)));
    let error = alone.recover().expect_err("the binlog has transactions that nothing else has").to_string();
    assert!(error.contains("they do not belong together"), "{error}");
    let bytes = |machine: &Machine| {
        let read = |name| cohort_io::read_whole(&machine.disk, &Path::new(BINLOG).join(name), 1 << 20).expect("a file");
        names.iter().map(read).collect::<Vec<_>>()
    };
    // But for the flag of a file in use, which is no part of its events.
    const IN_USE_AT: usize = 4 + 17;
    for ((name, before), after) in names.iter().zip(bytes(&machine)).zip(bytes(&alone)) {
        let differs = |at: &usize| *at != IN_USE_AT && before.get(*at) != after.get(*at);
        let differs = (0..before.len().max(after.len())).find(differs);
        assert_eq!(differs, None, "{name} was touched");
    }
}
