use std::path::Path;

use cohort_binlog::{Gtid, ServerUuid};
use cohort_engine::Redo;
use cohort_engine::logged::LoggedEngine;
use cohort_io::SimDisk;

use super::*;
use crate::classic::internal_xid;
use crate::tests::key;

const SERVER: ServerUuid = ServerUuid::from_bytes([7; 16]);

fn at(offset: u64) -> BinlogPosition {
    BinlogPosition { file_number: 1, offset }
}

/// The transaction with the number `end` / 100, which ends there.
fn logged(end: u64) -> LoggedTransaction {
    let number = end / 100;
    LoggedTransaction {
        xid: Some(number),
        gtid: Some(Gtid { uuid: SERVER, gno: number }),
        end: at(end),
        has_rows: true,
    }
}

/// An engine of two: what it knows of itself and of the other, and what it holds prepared.
struct Engine<'p>([u64; 2], &'p [u64]);

/// What is reported where a binlog with transactions up to `end`, one every 100 bytes, lies beside the engines.
fn report(prepares: bool, engines: [Engine<'_>; 2], end: u64) -> Vec<String> {
    let transactions: Vec<LoggedTransaction> = (1..=end / 100).map(|number| logged(number * 100)).collect();
    report_of(prepares, engines, &transactions, end)
}

fn report_of(prepares: bool, engines: [Engine<'_>; 2], logged: &[LoggedTransaction], end: u64) -> Vec<String> {
    let disk = SimDisk::new(1);
    let open = |name| LoggedEngine::open(&disk, Path::new("/data"), name).expect("an engine");
    let opened = [open("one"), open("two")];
    let states: Vec<EngineState<'_>> = std::iter::zip(&opened, engines)
        .map(|(engine, Engine(last, prepared))| EngineState {
            engine,
            note: BinlogNote { synced: at(0), last: last.map(at).to_vec() },
            prepared: prepared.iter().map(|number| (*number, internal_xid(1, *number))).collect(),
            foreign: 0,
        })
        .collect();
    divergences(&states, prepares, logged, at(end))
}

fn named(gnos: &str) -> String {
    format!(": {SERVER}:{gnos}")
}

#[test]
fn logs_that_end_together_do_not_differ() {
    for prepares in [false, true] {
        let found = report(prepares, [Engine([300, 200], &[]), Engine([300, 200], &[])], 300);
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_binlog_that_ends_before_an_engine_lost_its_end() {
    for prepares in [false, true] {
        let found = report(prepares, [Engine([400, 0], &[]), Engine([0, 0], &[])], 300);
        let said =
            format!("the engines have transactions up to binlog position {}, the binlog ends at {}", at(400), at(300));
        assert_eq!(found, [said]);
    }
}

/// What lies between an engine's end and what another knows of it is named, without the transactions at its end and after
/// what is known. It is lost unless the engine still has some of it prepared.
#[test]
fn an_engine_that_ends_before_what_another_knows_of_it_lost_what_lies_between() {
    let said = |gnos: &str| {
        let (own, known) = (at(200), at(400));
        let gnos = named(gnos);
        vec![format!("one ends at binlog position {own}, another engine knows of a change of it at {known}{gnos}")]
    };
    for prepares in [false, true] {
        let found = report(prepares, [Engine([200, 0], &[]), Engine([400, 500], &[])], 500);
        assert_eq!(found, said("3-4"), "prepares: {prepares}");
    }
    for (prepared, lost) in [(2, true), (3, false), (4, false), (5, true)] {
        let found = report(true, [Engine([200, 0], &[prepared]), Engine([400, 500], &[])], 500);
        assert_eq!(!found.is_empty(), lost, "{prepared} is prepared: {found:?}");
        let found = report(false, [Engine([200, 0], &[prepared]), Engine([400, 500], &[])], 500);
        assert_eq!(found, said("3-4"), "nothing is prepared by such a protocol");
    }
    let rowless = [LoggedTransaction { has_rows: false, ..logged(300) }, logged(400)];
    let found = report_of(true, [Engine([200, 0], &[]), Engine([400, 400], &[])], &rowless, 400);
    assert!(found.is_empty(), "it may have changed no engine: {found:?}");
    let unnamed = [LoggedTransaction { xid: None, ..logged(300) }];
    let found = report_of(true, [Engine([200, 0], &[]), Engine([400, 400], &[])], &unnamed, 400);
    assert!(found.is_empty(), "it was never prepared: {found:?}");
}

#[test]
fn what_the_binlog_of_an_older_file_had_is_lost_without_a_name() {
    let found = report_of(true, [Engine([200, 0], &[]), Engine([400, 400], &[])], &[], 400);
    let (own, known) = (at(200), at(400));
    assert_eq!(
        found,
        [format!("one ends at binlog position {own}, another engine knows of a change of it at {known}")]
    );
}

#[test]
fn what_the_binlog_has_after_every_engine_is_lost_unless_an_engine_has_it_prepared() {
    let said = |count: usize, gnos: &str| {
        let (newest, gnos) = (at(300), named(gnos));
        vec![format!("the binlog has {count} transactions after {newest} that no engine has{gnos}")]
    };
    let engines = |one, two| [Engine([300, 0], one), Engine([300, 0], two)];
    for prepares in [false, true] {
        assert_eq!(report(prepares, engines(&[], &[]), 600), said(3, "4-6"), "prepares: {prepares}");
    }
    assert_eq!(report(true, engines(&[4], &[5]), 600), said(1, "6"));
    assert_eq!(report(false, engines(&[4], &[5]), 600), said(3, "4-6"));
    let found = report(true, engines(&[4, 5], &[5, 6]), 600);
    assert!(found.is_empty(), "recovery commits them: {found:?}");
}

#[test]
fn an_engine_tells_its_own_prepared_transactions_from_those_of_clients() {
    let disk = SimDisk::new(1);
    let engine: Arc<dyn TwoPhase> = Arc::new(LoggedEngine::open(&disk, Path::new("/data"), "one").expect("an engine"));
    let foreign = [b"a".as_slice(), b"b", b"c"].map(|name| Xid::new(name).expect("a name"));
    for (xid, row) in [internal_xid(1, 4), internal_xid(1, 9)].iter().chain(&foreign).zip(b"12345") {
        let mut redo = Redo::default();
        redo.put(&key((*row).into()), b"row");
        engine.prepare(xid, &redo.into_bytes()).expect("a prepare");
    }
    let engines = [engine];
    let states = EngineState::read_all(&engines).expect("a state");
    let mut numbers: Vec<u64> = states[0].prepared.keys().copied().collect();
    numbers.sort_unstable();
    assert_eq!((numbers, states[0].foreign), (vec![4, 9], 3));
}
