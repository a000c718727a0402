//! How far a database has come: at open, applied, durable.

use std::sync::atomic::{AtomicU64, Ordering};

use cohort_engine::Position;

/// One applier moves it; anyone reads it.
pub(super) struct Positions {
    /// What was held at open; redo up to here is skipped.
    opened: Position,
    applied: AtomicU64,
    durable: AtomicU64,
}

impl Positions {
    pub(super) fn at_open(opened: Position) -> Positions {
        Positions { opened, applied: AtomicU64::new(opened.0), durable: AtomicU64::new(opened.0) }
    }

    /// Whether a cohort at `position` is yet to be applied.
    ///
    /// # Panics
    /// When positions do not rise.
    pub(super) fn is_new(&self, position: Position) -> bool {
        if position <= self.opened {
            return false;
        }
        let applied = self.applied().0;
        assert!(position.0 > applied, "cohort at {} applied after {applied}", position.0);
        true
    }

    pub(super) fn applied(&self) -> Position {
        Position(self.applied.load(Ordering::Acquire))
    }

    pub(super) fn set_applied(&self, position: Position) {
        self.applied.store(position.0, Ordering::Release);
    }

    pub(super) fn durable(&self) -> Position {
        Position(self.durable.load(Ordering::Acquire))
    }

    /// Says that everything up to `position` is durable, and returns up to where that holds.
    pub(super) fn set_durable(&self, position: Position) -> Position {
        self.durable.fetch_max(position.0, Ordering::AcqRel);
        self.durable()
    }
}
