//! What SHOW WARNINGS shows.

use std::cell::Cell;

use crate::error::SqlError;

/// One line of SHOW WARNINGS.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// How bad.
    pub level: DiagnosticLevel,
    /// Number and message.
    pub error: SqlError,
}

/// The level SHOW WARNINGS shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticLevel {
    Note,
    Warning,
    Error,
}

/// How many warnings (all levels) and errors there were.
#[derive(Debug, Default)]
pub(crate) struct DiagnosticCounts {
    /// Of the statement at hand, those that were not kept included.
    current: Cell<(u64, u64)>,
    /// Of the last statement that left any, or did not read these counts.
    counts: Cell<(u64, u64)>,
    /// The last statement read them.
    read: Cell<bool>,
}

impl DiagnosticCounts {
    pub(crate) fn get(&self) -> (u64, u64) {
        self.counts.get()
    }

    pub(crate) fn current(&self) -> (u64, u64) {
        self.current.get()
    }

    pub(crate) fn add(&self, level: DiagnosticLevel) {
        let (all, errors) = self.current.get();
        self.current.set((all + 1, errors + u64::from(level == DiagnosticLevel::Error)));
    }

    /// A statement begins.
    pub(crate) fn begin(&self, reads: bool) {
        let left = self.current.take();
        if !self.read.replace(reads) || left.0 > 0 {
            self.counts.set(left);
        }
    }

    /// The statement begins once more.
    pub(crate) fn begin_again(&self) {
        self.current.take();
    }
}
