//! What SHOW WARNINGS shows.

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
