//! The MySQL protocol server around `cohort-sql`.

pub mod protocol;
pub mod sysvars;

/// What `VERSION()` gives: the MySQL version whose behaviour clients may expect.
pub const VERSION: &str = "8.0.40-cohort";
