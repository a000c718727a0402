//! What every engine with a log of its own must do, as tests against a [`Rig`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::{all, delete, get, key, put};
use crate::{TwoPhase, Xid};

/// Opens one engine over the same storage, time and again.
pub trait Rig {
    /// Opens the engine over what the storage holds; at most one is open at a time.
    fn open(&mut self) -> Arc<dyn TwoPhase>;

    /// Ends the engine as a kill would.
    fn crash(&mut self, engine: Arc<dyn TwoPhase>);
}

fn xid(name: &str) -> Xid {
    Xid::new(name.as_bytes()).expect("a short name")
}

/// A prepared transaction is listed and invisible.
pub fn prepared_changes_do_not_show(rig: &mut dyn Rig) {
    let engine = rig.open();
    engine.commit_unprepared(&put(&key(20, 1), b"before")).expect("commit");
    let changes = [put(&key(20, 1), b"after"), put(&key(20, 2), b"new")].concat();
    engine.prepare(&xid("a"), &changes).expect("prepare");
    assert_eq!(get(&*engine, &key(20, 1)).as_deref(), Some(&b"before"[..]));
    assert_eq!(get(&*engine, &key(20, 2)), None);
    assert_eq!(engine.prepared(), [xid("a")]);
}

/// A commit is visible when it returns, and there after a sync and a crash.
pub fn commits_show_at_once_and_survive_a_sync(rig: &mut dyn Rig) {
    let engine = rig.open();
    let before = engine.snapshot();
    for number in 0..3 {
        let xid = xid(&format!("t{number}"));
        engine.prepare(&xid, &put(&key(20, number), b"value")).expect("prepare");
        engine.commit_prepared(&xid).expect("commit");
        assert_eq!(get(&*engine, &key(20, number)).as_deref(), Some(&b"value"[..]));
    }
    assert_eq!(super::get_in(&*before, &key(20, 0)), None, "a snapshot does not move");
    drop(before);
    engine.sync_log().expect("sync");
    rig.crash(engine);
    let engine = rig.open();
    assert_eq!(all(&*engine).len(), 3);
    assert_eq!(engine.prepared(), []);
}

/// After a crash after the prepare's sync the transaction is listed by its name and can be decided
/// either way.
pub fn a_prepared_transaction_is_found_after_a_crash(rig: &mut dyn Rig) {
    let engine = rig.open();
    for name in ["keep", "drop"] {
        let number = u32::from(name == "drop");
        engine.prepare(&xid(name), &put(&key(20, number), name.as_bytes())).expect("prepare");
    }
    engine.sync_log().expect("sync");
    rig.crash(engine);
    let engine = rig.open();
    let mut found = engine.prepared();
    found.sort();
    assert_eq!(found, [xid("drop"), xid("keep")]);
    assert!(all(&*engine).is_empty(), "undecided changes do not show");
    engine.commit_prepared(&xid("keep")).expect("commit");
    engine.rollback_prepared(&xid("drop")).expect("rollback");
    assert_eq!(engine.prepared(), []);
    engine.sync_log().expect("sync");
    rig.crash(engine);
    let engine = rig.open();
    assert_eq!(get(&*engine, &key(20, 0)).as_deref(), Some(&b"keep"[..]));
    assert_eq!(get(&*engine, &key(20, 1)), None);
}

/// After a crash after the decision's sync nothing is undecided; a name can be used again.
pub fn what_was_decided_is_not_found_again(rig: &mut dyn Rig) {
    let mut engine = rig.open();
    for round in 0..3 {
        let (commit, rollback) = (xid("same name"), xid("other name"));
        engine.prepare(&commit, &put(&key(20, round), b"value")).expect("prepare");
        engine.prepare(&rollback, &put(&key(21, round), b"value")).expect("prepare");
        engine.commit_prepared(&commit).expect("commit");
        engine.rollback_prepared(&rollback).expect("rollback");
        engine.commit_prepared(&commit).expect_err("decided already");
        engine.sync_log().expect("sync");
        rig.crash(engine);
        engine = rig.open();
        assert_eq!(engine.prepared(), []);
        assert_eq!(all(&*engine).len(), round as usize + 1);
    }
}

/// A rollback leaves what was there, at once and after a crash.
pub fn rolled_back_changes_are_gone(rig: &mut dyn Rig) {
    let engine = rig.open();
    engine.commit_unprepared(&put(&key(20, 1), b"before")).expect("commit");
    engine.prepare(&xid("a"), &[put(&key(20, 1), b"after"), delete(&key(20, 1))].concat()).expect("prepare");
    engine.rollback_prepared(&xid("a")).expect("rollback");
    assert_eq!(get(&*engine, &key(20, 1)).as_deref(), Some(&b"before"[..]));
    engine.sync_log().expect("sync");
    rig.crash(engine);
    let engine = rig.open();
    assert_eq!(get(&*engine, &key(20, 1)).as_deref(), Some(&b"before"[..]));
}

/// One record for changes and commit is as durable as two.
pub fn commits_without_prepare_survive_a_sync(rig: &mut dyn Rig) {
    let engine = rig.open();
    engine.commit_unprepared(&put(&key(20, 1), b"value")).expect("commit");
    assert_eq!(get(&*engine, &key(20, 1)).as_deref(), Some(&b"value"[..]));
    engine.sync_log().expect("sync");
    rig.crash(engine);
    assert_eq!(get(&*rig.open(), &key(20, 1)).as_deref(), Some(&b"value"[..]));
}

/// Redo that cannot be read leaves nothing prepared.
pub fn damaged_redo_is_not_prepared(rig: &mut dyn Rig) {
    let engine = rig.open();
    let mut redo = put(&key(20, 1), b"value");
    redo.pop();
    engine.prepare(&xid("a"), &redo).expect_err("cut short");
    assert_eq!(engine.prepared(), []);
    engine.prepare(&xid("a"), &put(&key(20, 1), b"value")).expect("the name is free");
}

/// Sessions that prepare, sync, commit and sync side by side lose nothing, and no sync is counted
/// that did not happen.
pub fn sessions_share_syncs(rig: &mut dyn Rig) {
    const SESSIONS: u32 = 4;
    const ROUNDS: u32 = 25;
    let engine = rig.open();
    let before = engine.log_syncs();
    engine.prepare(&xid("alone"), &put(&key(SESSIONS, 0), b"value")).expect("prepare");
    engine.sync_log().expect("sync");
    let per_sync = engine.log_syncs() - before;
    assert!(per_sync > 0, "a sync of the log syncs");
    engine.rollback_prepared(&xid("alone")).expect("rollback");
    let before = engine.log_syncs();
    let asked = AtomicU64::new(0);
    thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (engine, asked) = (&engine, &asked);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let xid = xid(&format!("{session}/{round}"));
                    engine.prepare(&xid, &put(&key(session, round), b"value")).expect("prepare");
                    engine.sync_log().expect("sync");
                    engine.commit_prepared(&xid).expect("commit");
                    engine.sync_log().expect("sync");
                    asked.fetch_add(2, Ordering::Relaxed);
                }
            });
        }
    });
    let syncs = engine.log_syncs() - before;
    assert!(syncs >= per_sync * u64::from(2 * ROUNDS), "{syncs} syncs: a session cannot share a sync with itself");
    assert!(syncs <= per_sync * asked.load(Ordering::Relaxed), "{syncs} syncs are more than were asked for");
    rig.crash(engine);
    let engine = rig.open();
    assert_eq!(all(&*engine).len(), (SESSIONS * ROUNDS) as usize);
    assert_eq!(engine.prepared(), []);
}
