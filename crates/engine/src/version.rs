//! Versions of an ordered map: a persistent tree, of which a copy costs nothing and a change what it
//! changes.

use std::ops::Bound;
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

use crate::{Direction, KeyRange};

pub(crate) type Bytes = Arc<[u8]>;
pub(crate) type Map<V> = RedBlackTreeMapSync<Bytes, V>;

/// Walks one version of a map; it looks its place up again at each step, so it borrows nothing.
pub(crate) struct VersionCursor<V> {
    map: Map<V>,
    lower: Bound<Bytes>,
    upper: Bound<Bytes>,
    direction: Direction,
    at: Option<(Bytes, V)>,
}

impl<V: Clone> VersionCursor<V> {
    pub(crate) fn new(map: Map<V>, range: &KeyRange, direction: Direction) -> VersionCursor<V> {
        let lower = Bytes::from(range.lower.as_slice());
        let upper = Bytes::from(range.upper.as_slice()).max(lower.clone());
        VersionCursor { map, lower: Bound::Included(lower), upper: Bound::Excluded(upper), direction, at: None }
    }

    /// Goes to the next entry and returns it; `None` after the last one.
    pub(crate) fn step(&mut self) -> Option<(&[u8], &V)> {
        let bounds = (self.lower.as_ref().map(|key| &**key), self.upper.as_ref().map(|key| &**key));
        let mut rest = self.map.range::<[u8], _>(bounds);
        let found = match self.direction {
            Direction::Forward => rest.next(),
            Direction::Reverse => rest.next_back(),
        };
        let found = found.map(|(key, value)| (key.clone(), value.clone()));
        if let Some((key, _)) = &found {
            match self.direction {
                Direction::Forward => self.lower = Bound::Excluded(key.clone()),
                Direction::Reverse => self.upper = Bound::Excluded(key.clone()),
            }
        }
        self.at = found;
        self.entry()
    }

    /// The entry that the last step went to.
    pub(crate) fn entry(&self) -> Option<(&[u8], &V)> {
        self.at.as_ref().map(|(key, value)| (&**key, value))
    }
}
