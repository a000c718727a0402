//! A walk over a key range that lays versions not yet in the engine over what the engine has.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use cohort_engine::{Cursor, Direction, Entry, KeyRange, ReadError};

use crate::overlay::Versions;

/// The entries of one range, in one direction, as a transaction sees them.
///
/// It holds its own view: writes made after its start, by this transaction too, do not show in it.
pub struct Scan {
    cursor: Box<dyn Cursor>,
    direction: Direction,
    /// Versions over the engine's, the next one last.
    above: Versions,
    /// The engine's next entry, read ahead while versions lie above.
    ahead: (Vec<u8>, Vec<u8>),
    ahead_is: Ahead,
    current: (Arc<[u8]>, Arc<[u8]>),
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("direction", &self.direction).field("above", &self.above.len()).finish()
    }
}

/// What `ahead` is.
#[derive(Clone, Copy)]
enum Ahead {
    Unread,
    Read,
    /// The engine has no more.
    End,
}

enum Source {
    Above,
    Engine,
    End,
}

impl Scan {
    /// Lays `layers`, the topmost first, over `cursor`.
    pub(crate) fn new(cursor: Box<dyn Cursor>, direction: Direction, layers: [Versions; 2]) -> Self {
        let [top, below] = layers;
        let mut above = if top.is_empty() {
            below
        } else if below.is_empty() {
            top
        } else {
            let mut merged: BTreeMap<_, _> = below.into_iter().collect();
            merged.extend(top);
            merged.into_iter().collect()
        };
        if direction == Direction::Forward {
            above.reverse();
        }
        let empty: Arc<[u8]> = Arc::from([]);
        Scan {
            cursor,
            direction,
            above,
            ahead: Default::default(),
            ahead_is: Ahead::Unread,
            current: (empty.clone(), empty),
        }
    }

    /// Begins anew with another range, with these versions over the engine's; false, and nothing is done, if the cursor
    /// cannot.
    pub(crate) fn move_to(&mut self, range: &KeyRange, mut own: Versions) -> bool {
        if !self.cursor.move_to(range) {
            return false;
        }
        if self.direction == Direction::Forward {
            own.reverse();
        }
        self.above = own;
        self.ahead_is = Ahead::Unread;
        true
    }

    /// The next entry, or `None` after the last one.
    #[expect(clippy::should_implement_trait, reason = "the entry borrows from the scan")]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        loop {
            if let Ahead::Unread = self.ahead_is {
                if self.above.is_empty() {
                    return self.cursor.next();
                }
                self.read_ahead()?;
            }
            match self.pick() {
                Source::End => return Ok(None),
                Source::Engine => {
                    self.ahead_is = Ahead::Unread;
                    return Ok(Some(Entry { key: &self.ahead.0, value: &self.ahead.1 }));
                }
                Source::Above => {
                    let (key, version) = self.above.pop().expect("the next entry was picked from here");
                    if let Some(value) = version {
                        self.current = (key, value);
                        return Ok(Some(Entry { key: &self.current.0, value: &self.current.1 }));
                    }
                }
            }
        }
    }

    fn read_ahead(&mut self) -> Result<(), ReadError> {
        let (key, value) = &mut self.ahead;
        self.ahead_is = match self.cursor.next()? {
            None => Ahead::End,
            Some(entry) => {
                key.clear();
                key.extend_from_slice(entry.key);
                value.clear();
                value.extend_from_slice(entry.value);
                Ahead::Read
            }
        };
        Ok(())
    }

    /// Whose entry comes next; a version above hides the engine's entry of the same key.
    fn pick(&mut self) -> Source {
        match (self.above.last(), self.ahead_is) {
            (None, Ahead::Read) => Source::Engine,
            (None, Ahead::End | Ahead::Unread) => Source::End,
            (Some(_), Ahead::End | Ahead::Unread) => Source::Above,
            (Some((above, _)), Ahead::Read) => {
                let order = above[..].cmp(&self.ahead.0[..]);
                let order = if self.direction == Direction::Forward { order } else { order.reverse() };
                match order {
                    Ordering::Less => Source::Above,
                    Ordering::Greater => Source::Engine,
                    Ordering::Equal => {
                        self.ahead_is = Ahead::Unread;
                        Source::Above
                    }
                }
            }
        }
    }
}
