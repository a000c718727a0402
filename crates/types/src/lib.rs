//! What SQL values are: their types, their order, their text and their bytes.
//!
//! Outline: [`Value`] is one value, [`ColumnType`] what a column can hold, [`ResultType`] what a client learns of a
//! result. [`column_type`] has a file for each family of types, with every face of it; [`decimal`] and [`temporal`] are
//! the exact arithmetic below, [`collation`] how strings compare. [`error`] is the one table of MySQL's errors.
//!
//! Not here: expressions, rows, keys and tables (`cohort-sql`), packets (`cohort-protocol`).

#![warn(clippy::print_stdout, clippy::print_stderr)]
// What a new type or value is must be handled wherever code distinguishes types and values.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod charset;
pub mod collation;
pub mod column_type;
pub mod decimal;
mod double_digits;
pub mod error;
mod field_type;
#[allow(clippy::wildcard_enum_match_arm, reason = "what a document may hold does not grow")]
pub mod json;
pub mod number_text;
pub mod result_type;
pub mod sql_mode;
pub mod store;
pub mod temporal;
pub mod value;

pub use charset::Charset;
pub use collation::Collation;
pub use column_type::{ColumnType, IntType, IntWidth, Kind};
pub use error::SqlError;
pub use field_type::{Family, FieldKind, FieldType, TemporalKind};
pub use result_type::{NOT_FIXED_DECIMALS, ResultColumn, ResultType};
pub use sql_mode::{DateUse, SqlMode};
pub use store::{Loss, StoreContext};
pub use value::Value;
