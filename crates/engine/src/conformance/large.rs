//! The rules about large transactions.

use super::{Expected, Rig, all, all_in, apply, delete, key, put};
use crate::{Change, Changes, Engine, Position, ReadError};

/// Changes in memory, by key.
struct Given<'a> {
    changes: &'a [(Vec<u8>, Option<Vec<u8>>)],
}

impl Changes for Given<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, ReadError> {
        let Some(((key, value), rest)) = self.changes.split_first() else { return Ok(None) };
        self.changes = rest;
        Ok(Some(Change { key, value: value.as_deref() }))
    }

    fn bytes_max(&self) -> u64 {
        self.changes.iter().map(|(key, value)| (key.len() + value.as_ref().map_or(0, Vec::len)) as u64).sum()
    }
}

type Part = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What two parts make of keys: the later one wins.
fn parts() -> [Part; 2] {
    let first = (0..400).map(|number| (key(7, number), Some(vec![1; 300]))).collect();
    let second = (200..500).map(|number| (key(7, number), (number % 3 != 0).then(|| vec![2; 20]))).collect();
    [first, second]
}

fn merged(parts: &[Part]) -> Part {
    let merged: std::collections::BTreeMap<_, _> = parts.iter().flatten().cloned().collect();
    merged.into_iter().collect()
}

/// Applies `parts` as they were staged, or all at once where the engine stages nothing.
fn apply_parts(engine: &dyn Engine, staged: bool, parts: &[Part], position: Position) {
    match staged {
        true => engine.apply_staged(3, &[5, 8], position),
        false => engine.apply_large(&mut Given { changes: &merged(parts) }, position),
    }
    .expect("apply");
}

/// A large transaction is seen by nobody before it is applied and by no older snapshot after it, all of it at once; later
/// redo goes above it. What was staged outlasts a crash, and applying it again leaves the same map.
pub fn takes_large_transactions(rig: &mut impl Rig) {
    let engine = rig.open();
    apply(&*engine, &put(&key(7, 3), b"old"), 10);
    apply(&*engine, &put(&key(7, 450), b"old"), 20);
    let before: Expected = all(&*engine);
    let parts = parts();
    let [first, second] = &parts;
    let staged = engine.stage(3, 5, &mut Given { changes: first }).expect("stage");
    assert_eq!(engine.stage(3, 8, &mut Given { changes: second }).expect("stage"), staged);
    assert_eq!(
        [(3, 5), (3, 8), (3, 7), (4, 5)].map(|(id, part)| engine.has_staged(id, part)),
        [staged, staged, false, false]
    );
    // Another one, that was given up, leaves nothing.
    engine.stage(4, 0, &mut Given { changes: first }).expect("stage");
    engine.discard_staged(4);
    assert_eq!(all(&*engine), before, "nobody sees what is staged");
    rig.crash(engine);

    let engine = rig.open();
    let replay = |engine: &dyn Engine| {
        let durable = engine.durable_position();
        for (number, position) in [(3, 10), (450, 20)] {
            if durable < Position(position) {
                apply(engine, &put(&key(7, number), b"old"), position);
            }
        }
        if durable < Position(30) {
            let view = engine.snapshot();
            apply_parts(engine, staged, &parts, Position(30));
            assert_eq!(all_in(&*view), before, "an older snapshot does not move");
        }
        if durable < Position(40) {
            apply(engine, &put(&key(7, 1), b"newer"), 40);
        }
        if durable < Position(50) {
            apply(engine, &delete(&key(7, 2)), 50);
        }
    };
    replay(&*engine);
    let mut expected = before.clone();
    for (key, value) in merged(&parts) {
        match value {
            Some(value) => drop(expected.insert(key, value)),
            None => drop(expected.remove(&key)),
        }
    }
    expected.insert(key(7, 1), b"newer".to_vec());
    expected.remove(&key(7, 2));
    assert!(all(&*engine) == expected, "the later part wins, and later redo above it");
    rig.crash(engine);

    let engine = rig.open();
    replay(&*engine);
    assert!(all(&*engine) == expected, "the same after a crash");
    assert!(engine.sync().expect("sync") >= Position(50));
    engine.discard_all_staged();
    assert!(!engine.has_staged(3, 5));
    rig.crash(engine);
    let engine = rig.open();
    assert_eq!(engine.durable_position(), Position(50));
    assert!(all(&*engine) == expected, "nothing staged is needed after a sync");
}
