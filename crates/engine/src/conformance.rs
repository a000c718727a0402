//! What every engine must do, as tests against a [`Rig`] that opens and crashes one.
//!
//! An engine's test module says `engine_conformance!(conformance, rig)` and gets one test per rule.
//! The rules compare with a `BTreeMap`; [`follows_the_model`] does so through random actions,
//! crashes included. [`two_phase`] has the rules for engines that prepare.

mod large;
mod model;
pub mod two_phase;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use large::takes_large_transactions;
pub use model::follows_the_model;

use crate::{Cursor, Direction, Engine, KeyRange, Position, Redo, Snapshot};

/// Opens one engine over the same storage, time and again.
pub trait Rig {
    /// Opens the engine over what the storage holds; at most one is open at a time.
    fn open(&mut self) -> Arc<dyn Engine>;

    /// Ends the engine as a kill or a power cut would: what was not durable is gone.
    fn crash(&mut self, engine: Arc<dyn Engine>);
}

/// One `#[test]` per rule of the suite; `$rig` is an expression that makes a fresh rig.
#[macro_export]
macro_rules! engine_conformance {
    ($suite:path, $rig:expr) => {
        $crate::engine_conformance!(@rules $suite, $rig,
            reads_back_what_was_applied
            reads_values_of_any_size
            walks_ranges_both_ways
            refuses_damaged_redo_whole
            snapshots_do_not_move
            cursors_outlive_what_made_them
            readers_see_cohorts_whole
            keeps_what_was_synced
            syncs_the_log_first
            skips_redo_it_already_holds
            keeps_what_was_loaded
            erases_only_the_range
            erased_ranges_stay_in_older_snapshots
            takes_large_transactions
            follows_the_model
        );
    };
    (two_phase $suite:path, $rig:expr) => {
        $crate::engine_conformance!(@rules $suite, $rig,
            prepared_changes_do_not_show
            commits_show_at_once_and_survive_a_sync
            a_prepared_transaction_is_found_after_a_crash
            what_was_decided_is_not_found_again
            rolled_back_changes_are_gone
            commits_without_prepare_survive_a_sync
            damaged_redo_is_not_prepared
            sessions_share_syncs
        );
    };
    (@rules $suite:path, $rig:expr, $($rule:ident)*) => {
        $(
            #[test]
            fn $rule() {
                use $suite as suite;
                suite::$rule(&mut $rig);
            }
        )*
    };
}

/// A map as the engine should hold it.
type Expected = BTreeMap<Vec<u8>, Vec<u8>>;

/// A caller's key: an index id and a number.
fn key(index: u32, number: u32) -> Vec<u8> {
    [index.to_be_bytes(), number.to_be_bytes()].concat()
}

fn index_range(index: u32) -> KeyRange {
    KeyRange { lower: index.to_be_bytes().to_vec(), upper: (index + 1).to_be_bytes().to_vec() }
}

fn everything() -> KeyRange {
    KeyRange { lower: Vec::new(), upper: vec![0xff; 16] }
}

fn puts<'a>(entries: impl IntoIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Vec<u8> {
    let mut redo = Redo::default();
    for (key, value) in entries {
        redo.put(key, value);
    }
    redo.into_bytes()
}

fn put(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut redo = Redo::default();
    redo.put(key, value);
    redo.into_bytes()
}

fn delete(key: &[u8]) -> Vec<u8> {
    let mut redo = Redo::default();
    redo.delete(key);
    redo.into_bytes()
}

fn apply(engine: &dyn Engine, redo: &[u8], position: u64) {
    engine.apply(&[redo], Position(position)).expect("apply");
}

fn get(engine: &dyn Engine, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = b"left over".to_vec();
    let found = engine.get(key, &mut value).expect("get");
    assert!(found || value.is_empty(), "a missing key leaves {value:?} in the buffer");
    found.then_some(value)
}

fn get_in(view: &dyn Snapshot, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = b"left over".to_vec();
    let found = view.get(key, &mut value).expect("get");
    assert!(found || value.is_empty(), "a missing key leaves {value:?} in the buffer");
    found.then_some(value)
}

fn drain(mut cursor: Box<dyn Cursor>) -> Vec<(Vec<u8>, Vec<u8>)> {
    drain_mut(&mut *cursor)
}

fn drain_mut(cursor: &mut dyn Cursor) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    while let Some(entry) = cursor.next().expect("next") {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    assert!(cursor.next().expect("next").is_none(), "a cursor at its end stays there");
    entries
}

fn all(engine: &dyn Engine) -> Expected {
    drain(engine.cursor(&everything(), Direction::Forward).expect("cursor")).into_iter().collect()
}

fn all_in(view: &dyn Snapshot) -> Expected {
    drain(view.cursor(&everything(), Direction::Forward).expect("cursor")).into_iter().collect()
}

/// Puts, overwrites and deletes, within a cohort and across cohorts, are read in their order.
pub fn reads_back_what_was_applied(rig: &mut dyn Rig) {
    let engine = rig.open();
    let (a, b, c) = (key(20, 1), key(20, 2), key(20, 3));
    engine.apply(&[&put(&a, b"first"), &put(&b, b"second"), &put(&a, b"first again")], Position(10)).expect("apply");
    assert_eq!(get(&*engine, &a).as_deref(), Some(&b"first again"[..]));
    assert_eq!(get(&*engine, &b).as_deref(), Some(&b"second"[..]));
    assert_eq!(get(&*engine, &c), None);
    apply(&*engine, &[put(&c, b""), delete(&a), put(&b, b"third")].concat(), 20);
    assert_eq!(get(&*engine, &a), None);
    assert_eq!(all(&*engine), Expected::from([(b, b"third".to_vec()), (c, Vec::new())]));
}

/// Values from nothing to megabytes, by `get` and by cursor, from memory and from files.
pub fn reads_values_of_any_size(rig: &mut dyn Rig) {
    let engine = rig.open();
    let sizes = [0, 1, 511, 512, 513, 70_000, 5 << 20];
    let expected: Expected =
        (0..).zip(sizes).map(|(n, size)| (key(20, n), (0..size).map(|i| (i * 7) as u8).collect())).collect();
    apply(&*engine, &puts(&expected), 10);
    for _ in 0..2 {
        for (key, value) in &expected {
            assert!(get(&*engine, key).as_ref() == Some(value), "{} bytes", value.len());
            assert!(get_in(&*engine.snapshot(), key).as_ref() == Some(value), "{} bytes", value.len());
        }
        assert!(all(&*engine) == expected);
        engine.sync().expect("sync");
    }
}

/// Bounds are lower-inclusive and upper-exclusive, prefixes sort first, empty and inverted ranges
/// hold nothing, and the engine's own keys never show.
pub fn walks_ranges_both_ways(rig: &mut dyn Rig) {
    let engine = rig.open();
    let keys: Vec<Vec<u8>> = [0u32, 1, 2, 0xff, 0x100, 0xffff_fffe]
        .iter()
        .flat_map(|&n| [n.to_be_bytes().to_vec(), [&n.to_be_bytes()[..], b"x"].concat()])
        .collect();
    let expected: Expected = keys.iter().map(|key| (key.clone(), key.iter().rev().copied().collect())).collect();
    apply(&*engine, &puts(&expected), 10);
    let mut bounds = keys;
    bounds.extend([vec![], vec![0], vec![0, 0, 0, 0, 0], vec![0xff; 5], vec![0, 0, 1]]);
    for synced in [false, true] {
        for lower in &bounds {
            for upper in &bounds {
                let within: Vec<_> = expected
                    .iter()
                    .filter(|(key, _)| lower <= key && *key < upper)
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                check_range(&*engine, &KeyRange { lower: lower.clone(), upper: upper.clone() }, &within, synced);
            }
        }
        engine.sync().expect("sync");
    }
    assert_eq!(get(&*engine, &[]), None);
    assert_eq!(get(&*engine, &[0]), None, "the engine's own keys are not the caller's");
}

fn check_range(engine: &dyn Engine, range: &KeyRange, within: &[(Vec<u8>, Vec<u8>)], synced: bool) {
    let view = engine.snapshot();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut expected = within.to_vec();
        if direction == Direction::Reverse {
            expected.reverse();
        }
        let context = format!("{range:?} {direction:?} synced: {synced}");
        assert_eq!(drain(engine.cursor(range, direction).expect("cursor")), expected, "{context}");
        assert_eq!(drain(view.cursor(range, direction).expect("cursor")), expected, "{context} in a view");
        let mut cursor = view.cursor_within(range, &everything(), direction).expect("cursor");
        assert_eq!(drain_mut(&mut *cursor), expected, "{context} within bounds");
        let elsewhere = KeyRange { lower: vec![0, 0, 1], upper: vec![0, 1] };
        if cursor.move_to(&elsewhere) {
            drain_mut(&mut *cursor);
            assert!(cursor.move_to(range));
            assert_eq!(drain_mut(&mut *cursor), expected, "{context} after a move");
        }
    }
}

/// A cohort with redo that cannot be read, or with a key of the engine's own, changes nothing and
/// can be followed by a good one.
pub fn refuses_damaged_redo_whole(rig: &mut dyn Rig) {
    let engine = rig.open();
    let good = put(&key(20, 1), b"value");
    let cut = &good[..good.len() - 1];
    for bad in [cut, &[9, 1, 2][..], &put(&[0], b"not yours"), &delete(b"abc")] {
        engine.apply(&[&good, bad, &good], Position(10)).expect_err("damaged redo");
        assert_eq!(all(&*engine), Expected::new());
    }
    engine.apply(&[&good], Position(10)).expect("the same position again");
    assert_eq!(engine.sync().expect("sync"), Position(10));
}

/// A snapshot shows what was applied when it was taken, through overwrites, deletes, syncs and
/// further snapshots.
pub fn snapshots_do_not_move(rig: &mut dyn Rig) {
    let engine = rig.open();
    let mut expected = Expected::new();
    let mut taken: Vec<(Arc<dyn Snapshot>, Expected)> = Vec::new();
    for round in 1..=30u32 {
        let cohort: Expected = (0..20).map(|n| (key(20, (n * round) % 50), round.to_be_bytes().to_vec())).collect();
        let gone = key(20, round % 50);
        apply(&*engine, &[puts(&cohort), delete(&gone)].concat(), u64::from(round));
        expected.extend(cohort);
        expected.remove(&gone);
        taken.push((engine.snapshot(), expected.clone()));
        if round % 7 == 0 {
            engine.sync().expect("sync");
        }
        for (view, then) in &taken {
            assert_eq!(all_in(&**view), *then);
            assert_eq!(get_in(&**view, &gone), then.get(&gone).cloned());
        }
    }
}

/// A cursor goes on when the snapshot and every handle of the engine are gone, and shows nothing
/// that was applied after it was made.
pub fn cursors_outlive_what_made_them(rig: &mut dyn Rig) {
    let engine = rig.open();
    let before: Expected = (0..100).map(|n| (key(20, n), vec![n as u8])).collect();
    apply(&*engine, &puts(&before), 10);
    let view = engine.snapshot();
    let mut latest = engine.cursor(&everything(), Direction::Forward).expect("cursor");
    let of_view = view.cursor(&everything(), Direction::Reverse).expect("cursor");
    latest.next().expect("next").expect("an entry");
    apply(&*engine, &puts((0..200).map(|n| (key(20, n), b"new".to_vec())).collect::<Expected>().iter()), 20);
    engine.sync().expect("sync");
    drop(view);
    drop(engine);
    let rest: Vec<_> = before.clone().into_iter().skip(1).collect();
    assert_eq!(drain(latest), rest);
    assert_eq!(drain(of_view), before.into_iter().rev().collect::<Vec<_>>());
}

/// A reader beside the applier never sees a part of a cohort.
pub fn readers_see_cohorts_whole(rig: &mut dyn Rig) {
    let engine = rig.open();
    let keys: Vec<_> = (0..20).map(|n| key(20 + n, n)).collect();
    let cohort = |round: u64| -> Vec<Vec<u8>> { keys.iter().map(|key| put(key, &round.to_be_bytes())).collect() };
    let apply_round = |round: u64| {
        let members = cohort(round);
        let members: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
        engine.apply(&members, Position(round)).expect("apply");
    };
    apply_round(1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Acquire) {
                let values: Vec<_> = if last % 2 == 0 {
                    let view = engine.snapshot();
                    keys.iter().map(|key| get_in(&*view, key).expect("a value")).collect()
                } else {
                    all(&*engine).into_values().collect()
                };
                assert!(values.iter().all(|value| *value == values[0]), "a part of a cohort: {values:?}");
                let round = u64::from_be_bytes(values[0].as_slice().try_into().expect("8 bytes"));
                assert!(round >= last, "back from {last} to {round}");
                last = round;
            }
        });
        for round in 2..2000 {
            apply_round(round);
        }
        done.store(true, Ordering::Release);
        reader.join().expect("the reader");
    });
}

/// After a crash the engine holds exactly the cohorts up to its durable position, which is at least
/// what a sync returned.
pub fn keeps_what_was_synced(rig: &mut dyn Rig) {
    let mut engine = rig.open();
    let mut at = 0;
    let mut history = vec![(Position(0), Expected::new())];
    for syncs in [false, true, true, false, true] {
        for _ in 0..10 {
            at += 4096;
            let mut expected = history.last().expect("a state").1.clone();
            let value = vec![at as u8; 300];
            apply(&*engine, &put(&key(20, at as u32), &value), at);
            expected.insert(key(20, at as u32), value);
            history.push((Position(at), expected));
        }
        let mut promised = engine.durable_position();
        if syncs {
            promised = engine.sync().expect("sync");
            assert_eq!(promised, Position(at));
            assert_eq!(engine.durable_position(), promised);
        }
        rig.crash(engine);
        engine = rig.open();
        let durable = engine.durable_position();
        assert!(durable >= promised, "{durable:?} after a crash, {promised:?} before");
        history.retain(|(position, _)| *position <= durable);
        let (position, expected) = history.last().expect("a state");
        assert_eq!(*position, durable, "not the position of a cohort");
        assert!(all(&*engine) == *expected, "not what was applied up to {durable:?}");
        at = durable.0;
    }
}

/// Nothing is found after a crash that was applied after the caller's log was last made durable.
pub fn syncs_the_log_first(rig: &mut dyn Rig) {
    let engine = rig.open();
    let written = Arc::new(AtomicU64::new(0));
    let synced = Arc::new(AtomicU64::new(0));
    let sync_callers_log = {
        let (written, synced) = (written.clone(), synced.clone());
        move || {
            synced.store(written.load(Ordering::SeqCst), Ordering::SeqCst);
            Ok(())
        }
    };
    engine.sync_callers_log_first(Box::new(sync_callers_log));
    for position in 1..=300 {
        written.store(position, Ordering::SeqCst);
        apply(&*engine, &put(&key(20, position as u32), &[7; 2000]), position);
        if position == 100 {
            assert_eq!(engine.sync().expect("sync"), Position(100));
            assert!(synced.load(Ordering::SeqCst) >= 100);
        }
    }
    rig.crash(engine);
    let synced = Position(synced.load(Ordering::SeqCst));
    let durable = rig.open().durable_position();
    assert!(Position(100) <= durable && durable <= synced, "{durable:?} is durable, the log up to {synced:?}");
}

/// Where the caller's log cannot be made durable, nothing that was applied since becomes so. For engines without a
/// log of their own.
pub fn stays_behind_a_log_that_cannot_be_synced(rig: &mut dyn Rig) {
    let engine = rig.open();
    let works = Arc::new(AtomicU64::new(1));
    let asked = works.clone();
    engine.sync_callers_log_first(Box::new(move || match asked.load(Ordering::SeqCst) {
        1 => Ok(()),
        _ => Err("the log cannot be synced".to_owned()),
    }));
    apply(&*engine, &put(&key(20, 1), b"synced"), 1);
    assert_eq!(engine.sync().expect("sync"), Position(1));
    apply(&*engine, &put(&key(20, 1), b"not"), 2);
    works.store(0, Ordering::SeqCst);
    for _ in 0..2 {
        let refused = engine.sync().expect_err("a sync that outlives the log");
        assert!(refused.to_string().contains("the log cannot be synced"), "{refused}");
        assert_eq!(engine.durable_position(), Position(1));
    }
    assert_eq!(get(&*engine, &key(20, 1)), Some(b"not".to_vec()));
    rig.crash(engine);
    let engine = rig.open();
    assert_eq!(engine.durable_position(), Position(1));
    assert_eq!(get(&*engine, &key(20, 1)), Some(b"synced".to_vec()));
}

/// A replay that begins before the durable position leaves what was there, even if it ends early.
pub fn skips_redo_it_already_holds(rig: &mut dyn Rig) {
    let engine = rig.open();
    let row = key(20, 1);
    for position in 1..=5 {
        apply(&*engine, &put(&row, &[position]), u64::from(position));
    }
    engine.sync().expect("sync");
    rig.crash(engine);
    let engine = rig.open();
    for position in 2..=3 {
        apply(&*engine, &put(&row, &[position]), u64::from(position));
    }
    assert_eq!(get(&*engine, &row), Some(vec![5]));
    assert_eq!(engine.sync().expect("sync"), Position(5));
    apply(&*engine, &put(&row, &[6]), 6);
    assert_eq!(get(&*engine, &row), Some(vec![6]));
}

/// What was loaded is there at once, also after a crash, and takes changes like any other row.
pub fn keeps_what_was_loaded(rig: &mut dyn Rig) {
    let mut engine = rig.open();
    apply(&*engine, &put(&key(20, 1), b"before"), 1);
    let loaded: Expected = (0..3000).map(|n| (key(21, n), n.to_be_bytes().repeat(20))).collect();
    engine.load(&mut loaded.clone().into_iter()).expect("load");
    engine.load(&mut std::iter::empty()).expect("nothing to load");
    let mut expected = loaded.clone();
    expected.insert(key(20, 1), b"before".to_vec());
    assert!(all(&*engine) == expected);
    rig.crash(engine);
    engine = rig.open();
    let found: Vec<_> = drain(engine.cursor(&index_range(21), Direction::Forward).expect("cursor"));
    assert!(found == loaded.into_iter().collect::<Vec<_>>());
    apply(&*engine, &[put(&key(21, 5), b"changed"), delete(&key(21, 6))].concat(), 2);
    assert_eq!(get(&*engine, &key(21, 5)), Some(b"changed".to_vec()));
    assert_eq!(get(&*engine, &key(21, 6)), None);
}

/// Erasing takes the range's keys, few or many, wherever they lie, and none beside it.
pub fn erases_only_the_range(rig: &mut dyn Rig) {
    let engine = rig.open();
    let mut expected = Expected::new();
    let mut position = 0;
    for index in [0, 19, 20, 21, 22, 0xff, 0x100] {
        expected.extend((0..3000).map(|n| (key(index, n), n.to_be_bytes().repeat(8))));
        expected.insert(index.to_be_bytes().to_vec(), b"bare".to_vec());
    }
    for part in expected.iter().collect::<Vec<_>>().chunks(500) {
        position += 1;
        apply(&*engine, &puts(part.iter().copied()), position);
        if position % 10 == 0 {
            engine.sync().expect("sync");
        }
    }
    let few = KeyRange { lower: key(22, 10), upper: key(22, 20) };
    for range in [index_range(20), index_range(0xff), few, KeyRange { lower: key(9, 0), upper: key(8, 0) }] {
        engine.erase(&range).expect("erase");
        expected.retain(|key, _| !(range.lower <= *key && *key < range.upper));
        for _ in 0..3 {
            assert!(all(&*engine) == expected, "after erasing {range:?}");
            assert_eq!(get(&*engine, &range.upper), expected.get(&range.upper).cloned());
            engine.sync().expect("sync");
        }
    }
    position += 1;
    apply(&*engine, &put(&key(20, 7), b"anew"), position);
    expected.insert(key(20, 7), b"anew".to_vec());
    assert!(all(&*engine) == expected, "an erased range takes new keys");
}

/// A snapshot taken before an erase goes on showing the range.
pub fn erased_ranges_stay_in_older_snapshots(rig: &mut dyn Rig) {
    let engine = rig.open();
    let expected: Expected = (0..5000).map(|n| (key(20, n), n.to_be_bytes().repeat(30))).collect();
    apply(&*engine, &puts(&expected), 1);
    engine.sync().expect("sync");
    let view = engine.snapshot();
    engine.erase(&index_range(20)).expect("erase");
    for position in 2..5 {
        assert!(all_in(&*view) == expected);
        apply(&*engine, &put(&key(30, 1), b"else"), position);
        engine.sync().expect("sync");
    }
    drop(view);
    engine.sync().expect("sync");
    assert_eq!(all(&*engine), Expected::from([(key(30, 1), b"else".to_vec())]));
}
