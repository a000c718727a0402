//! Random actions on an engine and on a map, with crashes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Expected, Rig, all, all_in, drain, get, key};
use crate::memory::MemoryEngine;
use crate::{Direction, Engine, KeyRange, Position, Redo, Snapshot};

const INDEXES: u32 = 4;
const NUMBERS: u32 = 30;

#[derive(Clone, Debug)]
enum Action {
    /// One cohort of several members.
    Apply(Vec<Vec<Change>>),
    Flush,
    /// A crash, then a replay from so many cohorts before the durable position.
    Crash(usize),
    TakeSnapshot,
    DropSnapshot,
    /// Erases an index, few keys or many.
    Erase(u32),
    Walk(u32, u32, bool),
}

#[derive(Clone, Debug)]
enum Change {
    Put(u32, u32, u8, usize),
    Delete(u32, u32),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0..INDEXES, 0..NUMBERS, any::<u8>(), prop_oneof![Just(0usize), 1..40usize, 500..6000usize])
            .prop_map(|(index, number, fill, len)| Change::Put(index, number, fill, len)),
        1 => (0..INDEXES, 0..NUMBERS).prop_map(|(index, number)| Change::Delete(index, number)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => vec(vec(change(), 0..6), 1..5).prop_map(Action::Apply),
        2 => Just(Action::Flush),
        2 => (0..6usize).prop_map(Action::Crash),
        2 => Just(Action::TakeSnapshot),
        1 => Just(Action::DropSnapshot),
        1 => (0..INDEXES).prop_map(Action::Erase),
        4 => (0..INDEXES, 0..NUMBERS, any::<bool>()).prop_map(|(index, number, up)| Action::Walk(index, number, up)),
    ]
}

/// An engine and what it should hold at each position.
struct Pair<'a> {
    rig: &'a mut dyn Rig,
    engine: Arc<dyn Engine>,
    expected: Expected,
    position: u64,
    /// What was done at each position since this case began, and what the map held then.
    history: BTreeMap<u64, (Done, Expected)>,
    erased: Vec<KeyRange>,
    /// How often each index was erased: its id changes with it, because ids are not reused.
    generations: [u32; INDEXES as usize],
    views: Vec<(Arc<dyn Snapshot>, Expected)>,
}

enum Done {
    Applied(Vec<Vec<u8>>),
    Erased(KeyRange),
}

/// Whatever the order of cohorts, syncs, crashes with replay, erases and snapshots, the engine
/// holds what a map holds.
pub fn follows_the_model(rig: &mut dyn Rig) {
    let mut runner =
        TestRunner::new(Config { cases: 20, max_shrink_iters: 200, failure_persistence: None, ..Config::default() });
    let rig = RefCell::new(rig);
    let outcome = runner.run(&vec(action(), 1..60), |actions| {
        let mut rig = rig.borrow_mut();
        let mut pair = Pair::begin(&mut **rig);
        for action in actions {
            pair.act(action);
            pair.check();
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

impl<'a> Pair<'a> {
    /// A case begins with an empty map, whatever an earlier case left in the rig.
    fn begin(rig: &'a mut dyn Rig) -> Pair<'a> {
        let left = rig.open();
        rig.crash(left);
        let engine = rig.open();
        let mut pair = Pair {
            rig,
            position: engine.durable_position().0,
            engine,
            expected: Expected::new(),
            history: BTreeMap::new(),
            erased: Vec::new(),
            generations: [0; INDEXES as usize],
            views: Vec::new(),
        };
        let mut redo = Redo::default();
        for key in all(&*pair.engine).into_keys() {
            redo.delete(&key);
        }
        pair.apply(vec![redo.into_bytes()], Expected::new());
        pair.engine.sync().expect("sync");
        pair
    }

    fn apply(&mut self, members: Vec<Vec<u8>>, expected: Expected) {
        self.position += 1;
        let borrowed: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
        self.engine.apply(&borrowed, Position(self.position)).expect("apply");
        self.history.insert(self.position, (Done::Applied(members), expected.clone()));
        self.expected = expected;
    }

    fn id(&self, index: u32) -> u32 {
        index + INDEXES * self.generations[index as usize]
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Apply(members) => {
                let mut expected = self.expected.clone();
                let members = members.iter().map(|changes| self.encode(changes, &mut expected)).collect();
                self.apply(members, expected);
            }
            Action::Flush => {
                assert_eq!(self.engine.sync().expect("sync"), Position(self.position));
            }
            Action::Crash(back) => self.crash(back),
            Action::TakeSnapshot => self.views.push((self.engine.snapshot(), self.expected.clone())),
            Action::DropSnapshot => {
                self.views.pop();
            }
            Action::Erase(index) => self.erase(index),
            Action::Walk(index, number, up) => self.walk(index, number, up),
        }
    }

    fn encode(&self, changes: &[Change], expected: &mut Expected) -> Vec<u8> {
        let mut redo = Redo::default();
        for change in changes {
            match *change {
                Change::Put(index, number, fill, len) => {
                    let (key, value) = (key(self.id(index), number), vec![fill; len]);
                    redo.put(&key, &value);
                    expected.insert(key, value);
                }
                Change::Delete(index, number) => {
                    let key = key(self.id(index), number);
                    redo.delete(&key);
                    expected.remove(&key);
                }
            }
        }
        redo.into_bytes()
    }

    /// The cohort stands for the one that takes the index out of the catalog.
    fn erase(&mut self, index: u32) {
        let range = super::index_range(self.id(index));
        self.generations[index as usize] += 1;
        self.position += 1;
        self.engine.apply(&[], Position(self.position)).expect("an empty cohort");
        self.engine.erase(&range).expect("erase");
        self.expected.retain(|key, _| !within(&range, key));
        self.erased.push(range.clone());
        self.history.insert(self.position, (Done::Erased(range), self.expected.clone()));
    }

    /// Crashes, replays from before the durable position, and expects to be where it was.
    fn crash(&mut self, back: usize) {
        self.views.clear();
        let promised = self.engine.durable_position();
        let engine = std::mem::replace(&mut self.engine, Arc::new(MemoryEngine::new()));
        self.rig.crash(engine);
        self.engine = self.rig.open();
        let durable = self.engine.durable_position();
        assert!(durable >= promised, "{durable:?} after a crash, {promised:?} before");
        let (_, then) = self.history.get(&durable.0).expect("the durable position is that of a cohort");
        assert!(self.unerased(&all(&*self.engine)) == self.unerased(then), "not what was applied up to {durable:?}");

        let from = self.history.range(..=durable.0).rev().nth(back).map_or(0, |(position, _)| *position);
        for (position, (done, _)) in &self.history {
            match done {
                Done::Applied(members) if *position >= from => {
                    let members: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
                    self.engine.apply(&members, Position(*position)).expect("replay");
                }
                Done::Applied(_) => {}
                Done::Erased(range) => {
                    self.engine.apply(&[], Position(*position)).expect("replay");
                    self.engine.erase(range).expect("erase again");
                }
            }
        }
    }

    fn unerased(&self, map: &Expected) -> Expected {
        let erased = |key: &Vec<u8>| self.erased.iter().any(|range| within(range, key));
        map.iter().filter(|(key, _)| !erased(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn walk(&self, index: u32, number: u32, up: bool) {
        let range = KeyRange { lower: key(self.id(index), number), upper: key(self.id(index) + 1, number / 2) };
        let mut expected: Vec<_> = self.expected.iter().filter(|(key, _)| within(&range, key)).collect();
        let mut direction = Direction::Forward;
        if !up {
            direction = Direction::Reverse;
            expected.reverse();
        }
        let found = drain(self.engine.cursor(&range, direction).expect("cursor"));
        assert!(found.iter().map(|(key, value)| (key, value)).eq(expected), "{range:?} {direction:?}");
    }

    fn check(&self) {
        assert!(all(&*self.engine) == self.expected, "at {}", self.position);
        for number in 0..NUMBERS {
            let key = key(self.id(number % INDEXES), number);
            assert_eq!(get(&*self.engine, &key), self.expected.get(&key).cloned());
        }
        for (view, then) in &self.views {
            assert!(all_in(&**view) == *then, "a snapshot moved");
        }
    }
}

fn within(range: &KeyRange, key: &[u8]) -> bool {
    range.lower.as_slice() <= key && key < range.upper.as_slice()
}
