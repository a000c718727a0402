//! Room on the stack for what recurses over a statement.
//!
//! Depths are bounded ([`crate::parse`]), so that the room which is needed is known before. Where a thread's stack has
//! less, a larger one is taken for as long as it lasts. Thus the least `thread_stack` is enough for every statement,
//! and the usual one for most without that.

use crate::parse::MAX_DEPTH;

/// What parsing, planning and running take beside their recursion, bytes. The parser library takes more stack itself
/// where it recurses.
const BASE: usize = 128 << 10;
/// What it takes to drop one level of the library's tree, bytes.
const DROPPED_LEVEL: usize = 1 << 10;
/// What it takes to convert, plan or evaluate one level of our tree, bytes. Frames are larger without optimisation.
const LEVEL: usize = if cfg!(debug_assertions) { 10 << 10 } else { 4 << 10 };

fn room(levels: usize) -> usize {
    BASE + levels.min(MAX_DEPTH) * LEVEL
}

/// Runs `parse` with room for a tree of so many levels.
pub(crate) fn with_room_for_tree<T>(levels: usize, parse: impl FnOnce() -> T) -> T {
    let bytes = room(levels) + levels * DROPPED_LEVEL;
    stacker::maybe_grow(bytes, bytes, parse)
}

/// Plans or executes a statement of so many lexemes with room for all levels that those can make.
pub(crate) fn with_room_for_statement<T>(lexemes: usize, execute: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(room(lexemes), room(lexemes), execute)
}
