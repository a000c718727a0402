//! Changes of a transaction that are not in memory.

use crate::{ReadError, Redo};

/// What a transaction makes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    pub key: &'a [u8],
    /// The new value, `None` where the key is removed.
    pub value: Option<&'a [u8]>,
}

/// Walks changes once, each key at most once, in rising order.
pub trait Changes {
    /// The next change, or `None` after the last one.
    fn next(&mut self) -> Result<Option<Change<'_>>, ReadError>;

    /// What all of them take, keys and values, bytes at most.
    fn bytes_max(&self) -> u64;
}

/// All changes as redo.
pub(crate) fn redo_of(changes: &mut dyn Changes) -> Result<Vec<u8>, ReadError> {
    let mut redo = Redo::default();
    while let Some(change) = changes.next()? {
        match change.value {
            Some(value) => redo.put(change.key, value),
            None => redo.delete(change.key),
        }
    }
    Ok(redo.into_bytes())
}
