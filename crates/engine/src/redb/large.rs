//! Large transactions go past the layer, which is memory, into the tree.
//!
//! Whoever applies waits for the tree's transaction meanwhile; readers do not.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::redb::Error;

use super::upkeep::put_position;
use super::{Inner, ROWS};
use crate::{Changes, Position, ReadError, WriteError};

/// What an entry takes at least, bytes: so many changes there may be.
const ENTRY_BYTES_MIN: u64 = 32;

impl Inner {
    /// Everything applied before, and then `changes`, in the tree; durable when it returns.
    pub(super) fn apply_large(&self, changes: &mut dyn Changes, position: Position) -> Result<(), WriteError> {
        self.write_layers()?;
        let _upkeep = self.upkeep.lock();
        let bytes = changes.bytes_max();
        let [entries, bytes] =
            [bytes / ENTRY_BYTES_MIN, bytes].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        self.find_room(entries, bytes).map_err(|refusal| self.refuse(refusal))?;
        self.sync_callers_log()?;
        let unread = |error: ReadError| Error::Io(std::io::Error::other(error.detail));
        let tree = self.change_tree(|transaction| {
            let mut rows = transaction.open_table(ROWS)?;
            while let Some(change) = changes.next().map_err(unread)? {
                match change.value {
                    Some(value) => drop(rows.insert(change.key, value)?),
                    None => drop(rows.remove(change.key)?),
                }
            }
            put_position(&mut rows, position)
        })?;
        let number = {
            let _applier = self.applier.lock();
            let mut state = self.state.write();
            state.tree = Arc::new(tree);
            state.refusal = None;
            // There is one applier, this one: the layer is empty.
            state.active.number += 1;
            state.active.position = position;
            state.active.number
        };
        self.durable.store(position.0, Ordering::Release);
        self.written.store(number, Ordering::Release);
        Ok(())
    }
}
