use super::*;
use crate::tests::{Machine, transfer};

fn engine() -> EngineReport {
    EngineReport { name: "redb", durable_lsn: 3, transactions_reapplied: 4, apply_us: 2_500, flush_us: 9 }
}

fn report() -> RecoveryReport {
    RecoveryReport {
        checkpoint_lsn: 100,
        end_lsn: 900,
        engines: vec![engine()],
        replay_us: 7_500,
        scan_us: 1_500,
        settle_us: 3_500,
        binlog_replay_us: 4_500,
        binlog_us: 5_500,
        checkpoint_us: 6_500,
        ..RecoveryReport::default()
    }
}

const TIMES: &str = "; 7.5 ms to replay (scan 1.5, settle 3.5, binlog 4.5, redb 2.5), 5.5 ms to check the binlog, \
                     6.5 ms to checkpoint";

#[test]
fn a_report_is_clean_where_nothing_was_replayed_or_cut() {
    assert!(report().is_clean());
    let some = [
        RecoveryReport { records: 1, ..report() },
        RecoveryReport { bytes_cut: 1, ..report() },
        RecoveryReport { binlog_bytes_cut: 1, ..report() },
    ];
    some.iter().for_each(|report| assert!(!report.is_clean(), "{report}"));
}

#[test]
fn a_report_names_what_was_cut_and_why() {
    let begin = "recovery: from lsn 100 to 900, 0 records, 0 transactions kept, 4 re-applied to redb, 0 binlog bytes \
                 rewritten";
    assert_eq!(report().to_string(), format!("{begin}{TIMES}"));
    let torn = RecoveryReport { bytes_cut: 7, ..report() };
    let asked = RecoveryReport { cut_by_operator: true, cut_reason: Some("rot".to_owned()), ..torn.clone() };
    let cases = [
        (torn, ", 7 journal bytes cut (torn tail, never synced: torn write)"),
        (asked, ", 7 journal bytes cut (as the operator asked: rot)"),
        (RecoveryReport { binlog_bytes_cut: 8, ..report() }, ", 8 binlog bytes cut (not in the journal)"),
        (RecoveryReport { xa_prepared: 9, ..report() }, ", 9 XA transactions wait for their decision"),
    ];
    for (report, says) in cases {
        assert_eq!(report.to_string(), format!("{begin}{says}{TIMES}"));
    }
}

/// Every transaction after the checkpoint is kept, whole, by every engine, and commits go on after them.
#[test]
fn a_recovery_reports_what_it_replayed_and_where_commits_go_on() {
    let machine = Machine::new(1);
    let (store, first) = machine.recover().expect("a new store");
    assert!(first.is_clean() && first.records == 0, "{first}");
    transfer(&store, 1).expect("a commit");
    store.take_checkpoint().expect("a checkpoint");
    let checkpoint = store.journal().expect("a journal").stats().checkpoint_lsn;
    (2..=6).for_each(|id| assert!(transfer(&store, id).is_ok()));
    let order = store.published().order;
    let machine = machine.crash();
    drop(store);
    let (store, report) = machine.recover().expect("a recovery");
    assert_eq!((report.protocol, report.records, report.transactions_kept), ("journal", 5, 5));
    assert_eq!(report.checkpoint_lsn, checkpoint);
    assert!(checkpoint > first.end_lsn, "{report}");
    assert!(report.end_lsn > report.checkpoint_lsn && !report.is_clean(), "{report}");
    let reapplied: Vec<u64> = report.engines.iter().map(|engine| engine.transactions_reapplied).collect();
    assert_eq!(reapplied, [5, 5], "{report}");
    assert!(report.engines.iter().all(|engine| engine.durable_lsn == checkpoint), "{report}");
    assert_eq!(report.cut_reason, None, "a power cut between commits tears nothing: {report}");
    // The next binlog file has a number too.
    assert_eq!(store.published().order, order + 1);
    transfer(&store, 7).expect("a commit");
    assert_eq!(store.published().order, order + 2);
}

/// Journal and engines belong together where the engine's durable end lies between the checkpoint's note and the end.
#[test]
fn an_engine_is_neither_before_the_checkpoint_nor_after_the_journal() {
    let engine = cohort_engine::memory::MemoryEngine::new();
    engine.apply(&[], Position(500)).expect("memory takes all");
    engine.sync().expect("memory takes all");
    let engines: Vec<Arc<dyn Engine>> = vec![Arc::new(engine)];
    for (noted, ok) in [(499, true), (500, true), (501, false)] {
        assert_eq!(check_not_behind(&engines, &[Position(noted)]).is_ok(), ok, "noted: {noted}");
    }
    for (end, ok) in [(499, false), (500, true), (501, true)] {
        assert_eq!(check_not_ahead(&engines, Lsn(end)).is_ok(), ok, "the journal ends at {end}");
    }
}

#[test]
fn a_binlog_with_other_transactions_than_the_journal_is_refused() {
    let (store, _) = Machine::new(2).recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let note = store.shared.frontier().note.clone();
    check_binlog(&store.shared.binlog, &note).expect("they are the same");
    let other = Note { gtids: Default::default(), ..note };
    let error = check_binlog(&store.shared.binlog, &other).expect_err("the binlog has one more");
    assert!(matches!(&error, RecoverError::BinlogDiffers { journal, .. } if journal.is_empty()), "{error}");
}
