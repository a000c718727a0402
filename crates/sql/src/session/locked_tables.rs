//! The tables that LOCK TABLES has locked.

use crate::error::{ER_TABLE_NOT_LOCKED, ER_TABLE_NOT_LOCKED_FOR_WRITE, SqlError};

/// A table that LOCK TABLES has locked.
pub(crate) struct LockedTable {
    /// The table's id.
    pub(crate) id: u64,
    /// Its name.
    pub(crate) name: String,
    /// The alias, or the name.
    pub(crate) known_as: String,
    /// WRITE
    pub(crate) write: bool,
}

/// The error of a statement that uses a table otherwise than it is locked.
pub(crate) fn check_use(locked: &[LockedTable], id: u64, known_as: &str, written: bool) -> Result<(), SqlError> {
    match locked.iter().find(|locked| locked.id == id && locked.known_as == known_as) {
        None => Err(SqlError::new(ER_TABLE_NOT_LOCKED, &[&known_as])),
        Some(locked) if written && !locked.write => Err(SqlError::new(ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&known_as])),
        Some(_) => Ok(()),
    }
}
