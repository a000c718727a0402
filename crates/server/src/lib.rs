//! The MySQL protocol server around `cohort-sql`.

pub mod protocol;
