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

/// How many warnings (all levels) and errors the last statement left that did not read these counts.
#[derive(Debug, Default)]
pub(crate) struct DiagnosticCounts {
    counts: Cell<(u64, u64)>,
    /// The last statement read them.
    read: Cell<bool>,
}

impl DiagnosticCounts {
    pub(crate) fn get(&self) -> (u64, u64) {
        self.counts.get()
    }

    /// A statement begins; `left` is what the last one left.
    pub(crate) fn begin(&self, left: &[Diagnostic], reads: bool) {
        if !self.read.replace(reads) || !left.is_empty() {
            let errors = left.iter().filter(|one| one.level == DiagnosticLevel::Error).count();
            self.counts.set((left.len() as u64, errors as u64));
        }
    }
}
