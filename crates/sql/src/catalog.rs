//! What tables are: their definitions and where those are kept.

pub mod definition;
