//! A cursor over an engine with a large transaction's own changes above.

use cohort_engine::{Changes, Cursor, Direction, Entry, ReadError};

use super::merge::Merge;

/// What changes make of a key: its value, `None` where they remove it.
type Changed = (Vec<u8>, Option<Vec<u8>>);

/// Walks both at once.
pub(crate) struct OverCursor {
    above: Merge,
    below: Box<dyn Cursor>,
    direction: Direction,
    /// Read ahead.
    next_above: Option<Changed>,
    next_below: Option<(Vec<u8>, Vec<u8>)>,
    current: (Vec<u8>, Vec<u8>),
}

impl OverCursor {
    pub(super) fn new(above: Merge, below: Box<dyn Cursor>, direction: Direction) -> Result<OverCursor, ReadError> {
        let mut cursor =
            OverCursor { above, below, direction, next_above: None, next_below: None, current: Default::default() };
        cursor.read_above()?;
        cursor.read_below()?;
        Ok(cursor)
    }

    fn read_above(&mut self) -> Result<(), ReadError> {
        let change = self.above.next()?;
        self.next_above = change.map(|change| (change.key.to_vec(), change.value.map(<[u8]>::to_vec)));
        Ok(())
    }

    fn read_below(&mut self) -> Result<(), ReadError> {
        self.next_below = self.below.next()?.map(|entry| (entry.key.to_vec(), entry.value.to_vec()));
        Ok(())
    }
}

impl Cursor for OverCursor {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        loop {
            let order = match (&self.next_above, &self.next_below) {
                (None, None) => return Ok(None),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((above, _)), Some((below, _))) => match self.direction {
                    Direction::Forward => above.cmp(below),
                    Direction::Reverse => below.cmp(above),
                },
            };
            if order.is_ge() {
                let below = self.next_below.take();
                self.read_below()?;
                if order.is_gt() {
                    self.current = below.expect("it was the next");
                    break;
                }
            }
            let above = self.next_above.take();
            self.read_above()?;
            if let Some((key, Some(value))) = above {
                self.current = (key, value);
                break;
            }
        }
        Ok(Some(Entry { key: &self.current.0, value: &self.current.1 }))
    }
}
