//! From bytes to syntax trees.

use crate::types::SqlMode;

/// The first statement of `sql` without its semicolon, and what follows it (empty if nothing but
/// space and comments does).
pub fn split_statement(_sql: &[u8], _sql_mode: SqlMode) -> (&[u8], &[u8]) {
    todo!()
}
