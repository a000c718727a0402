//! The bytes that rows and keys are stored as.
//!
//! [`row_image`] is the value of a row, [`key`] the order-preserving form of column values in keys.

pub mod key;
pub mod row_image;
