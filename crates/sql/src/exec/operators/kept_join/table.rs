//! Rows that are kept, in the order they came in, and where those of a key are.
//!
//! Values of all rows are one list, and so are the bytes of all keys; rows of one key form a chain.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::SqlError;
use crate::memory::{key_bytes, row_bytes};
use crate::spill::{Budget, Spilling};
use crate::value::Value;

pub(super) struct Table {
    /// How many values a row has.
    width: usize,
    values: Vec<Value>,
    /// By row, the next one of the same key.
    after: Vec<Option<Place>>,
    keys: Vec<u8>,
    by_key: HashTable<OfKey>,
    hasher: DefaultHashBuilder,
    /// Rows that have no key.
    without_key: Vec<Place>,
    budget: Budget,
}

/// The number of a row, from 1, so that an optional one is no longer.
type Place = std::num::NonZeroU32;

/// The rows of a key.
struct OfKey {
    hash: u64,
    /// Where the bytes of the key begin and end.
    key: (usize, usize),
    first: Place,
    last: Place,
}

/// Where the search for partners of a row is.
pub(super) enum Looking {
    /// All rows from here on.
    All(usize),
    /// The rows of a key from this one on, and then those without one from there on.
    Keyed {
        next: Option<Place>,
        odd: usize,
    },
    Nowhere,
}

impl Table {
    pub(super) fn new(budget: Budget) -> Table {
        Table {
            width: 0,
            values: Vec::new(),
            after: Vec::new(),
            keys: Vec::new(),
            by_key: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            without_key: Vec::new(),
            budget,
        }
    }

    /// Whether there is room for a row, which is then taken.
    pub(super) fn has_room(
        &mut self,
        key: Option<&[u8]>,
        values: &[Value],
        with: &dyn Spilling,
    ) -> Result<bool, SqlError> {
        if self.after.len() >= u32::MAX as usize - 1 {
            return Ok(false);
        }
        let of_key = key.map_or(0, |key| key_bytes(key) + size_of::<OfKey>());
        self.budget.take(of_key + row_bytes(values) + size_of::<Place>(), with)
    }

    /// Counts its memory again, which was released with that of all around; false if there is no room any more.
    pub(super) fn is_held_again(&self, with: &dyn Spilling) -> bool {
        self.budget.is_held_again(with)
    }

    /// Adds a row for which there is room, and takes its values.
    pub(super) fn add(&mut self, key: Option<&[u8]>, values: &mut Vec<Value>) {
        self.width = values.len();
        self.values.append(values);
        self.after.push(None);
        let place = u32::try_from(self.after.len()).ok().and_then(Place::new).unwrap_or(Place::MAX);
        let Some(key) = key else { return self.without_key.push(place) };
        let hash = self.hasher.hash_one(key);
        let keys = &mut self.keys;
        match self.by_key.find_mut(hash, |of| of.hash == hash && keys[of.key.0..of.key.1] == *key) {
            Some(of) => {
                self.after[of.last.get() as usize - 1] = Some(place);
                of.last = place;
            }
            None => {
                let start = keys.len();
                keys.extend_from_slice(key);
                let of = OfKey { hash, key: (start, keys.len()), first: place, last: place };
                self.by_key.insert_unique(hash, of, |of| of.hash);
            }
        }
    }

    /// Where the partners of a row with this key are.
    pub(super) fn looking(&self, key: &[u8]) -> Looking {
        let hash = self.hasher.hash_one(key);
        let of = self.by_key.find(hash, |of| of.hash == hash && self.keys[of.key.0..of.key.1] == *key);
        Looking::Keyed { next: of.map(|of| of.first), odd: 0 }
    }

    /// The next row to look at.
    pub(super) fn next(&self, looking: &mut Looking) -> Option<&[Value]> {
        match looking {
            Looking::All(at) => {
                *at += 1;
                (*at <= self.after.len()).then(|| self.row(*at - 1))
            }
            Looking::Keyed { next, odd } => {
                let place = match next {
                    Some(place) => {
                        let place = *place;
                        *next = self.after[place.get() as usize - 1];
                        place
                    }
                    None => {
                        *odd += 1;
                        *self.without_key.get(*odd - 1)?
                    }
                };
                Some(self.row(place.get() as usize - 1))
            }
            Looking::Nowhere => None,
        }
    }

    fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..][..self.width]
    }

    /// Hands every row with its key to `take`.
    pub(super) fn for_each(
        &self,
        mut take: impl FnMut(Option<&[u8]>, &[Value]) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        for of in &self.by_key {
            let mut next = Some(of.first);
            while let Some(place) = next {
                let at = place.get() as usize - 1;
                take(Some(&self.keys[of.key.0..of.key.1]), self.row(at))?;
                next = self.after[at];
            }
        }
        self.without_key.iter().try_for_each(|place| take(None, self.row(place.get() as usize - 1)))
    }

    /// Gives its memory back.
    pub(super) fn give_back(mut self, with: &dyn Spilling) {
        self.budget.give_back(with);
    }
}
