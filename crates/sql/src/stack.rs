//! Room on the stack for what recurses over a statement.
//!
//! Depths are bounded ([`crate::parse`]), so that the room which is needed is known before. Where a thread's stack has
//! less, a larger one is taken for as long as it lasts. Thus the least `thread_stack` is enough for every statement,
//! and the usual one for most without that.

use crate::parse::MAX_DEPTH;

/// What parsing, planning and running take beside their recursion, bytes.
const BASE: usize = 128 << 10;
/// What it takes to parse, plan or evaluate one level of a tree, bytes. Frames are larger without optimisation.
const LEVEL: usize = if cfg!(debug_assertions) { 10 << 10 } else { 4 << 10 };

/// Parses, plans or executes a statement of so many lexemes with room for all levels that those can make.
pub(crate) fn with_room_for_statement<T>(lexemes: usize, execute: impl FnOnce() -> T) -> T {
    let room = BASE + lexemes.min(MAX_DEPTH) * LEVEL;
    stacker::maybe_grow(room, room, execute)
}

/// Plans or runs a query within another one.
pub(crate) fn with_room_for_query<T>(execute: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(BASE, 4 * BASE, execute)
}
