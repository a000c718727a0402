//! What clients asked for and what they received.

use crate::workload::{Script, Step};

/// What is known of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its commit was acknowledged, or a restart showed that it is there.
    Committed,
    /// It was rolled back, refused, or the server went away before its commit was sent.
    Absent,
    /// Its commit was sent and has no answer, or the answer that nobody knows.
    InDoubt,
}

/// A transaction that ended.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its number, used nowhere else.
    pub id: u64,
    /// What it did.
    pub script: Script,
    /// What its statements were answered, for as many as ran.
    pub seen: Vec<Seen>,
    /// When its first statement was sent.
    pub began: u64,
    /// When its outcome was sent.
    pub ended: u64,
    /// What became of it.
    pub fate: Fate,
}

/// The answer to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    List(Vec<u64>),
    /// Of a range of places.
    Items(Vec<u64>),
    /// Of accounts.
    Sum(i64),
    /// Whether a token is there.
    Found(bool),
    Done,
}

/// An item at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The engine, 0 or 1.
    pub engine: u64,
    pub item: u64,
    pub place: u64,
}

/// A range of places, both ends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The engine, 0 or 1.
    pub engine: u64,
    /// The first place.
    pub from: u64,
    /// The last place.
    pub to: u64,
}

impl Range {
    /// Whether an item is in it.
    pub fn has(&self, put: Put) -> bool {
        put.engine == self.engine && (self.from..=self.to).contains(&put.place)
    }
}

impl Record {
    /// The lists it read, before or after its own appends.
    pub fn reads(&self) -> impl Iterator<Item = (u64, &[u64])> {
        self.script.steps.iter().zip(&self.seen).filter_map(|(step, seen)| match (step, seen) {
            (Step::Read { list, .. }, Seen::List(elements)) => Some((*list, elements.as_slice())),
            _ => None,
        })
    }

    /// The tokens it looked for, each with its engine, and whether they were there.
    pub fn probes(&self) -> impl Iterator<Item = (u64, u64, bool)> {
        self.script.steps.iter().zip(&self.seen).filter_map(|(step, seen)| match (step, seen) {
            (Step::Probe { engine, token, .. }, Seen::Found(found)) => Some((*engine, *token, *found)),
            _ => None,
        })
    }

    /// The ranges it read, with the items that were found.
    pub fn ranges(&self) -> impl Iterator<Item = (Range, &[u64])> {
        self.script.steps.iter().zip(&self.seen).filter_map(|(step, seen)| match (step, seen) {
            (Step::Range { engine, from, to, .. }, Seen::Items(items)) => {
                Some((Range { engine: *engine, from: *from, to: *to }, items.as_slice()))
            }
            _ => None,
        })
    }

    pub fn puts(&self) -> impl Iterator<Item = Put> {
        self.script.steps.iter().filter_map(|step| match step {
            Step::Put { engine, item, place } => Some(Put { engine: *engine, item: *item, place: *place }),
            _ => None,
        })
    }

    /// What it appended, in order.
    pub fn appends(&self) -> impl Iterator<Item = (u64, u64)> {
        self.script.steps.iter().filter_map(|step| match step {
            Step::Append { list, element } => Some((*list, *element)),
            _ => None,
        })
    }
}
