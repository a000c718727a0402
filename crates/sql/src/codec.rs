//! The bytes that rows and keys are stored as.
//!
//! [`row_image`] is the value of a row, [`key`] the order-preserving form of column values in keys,
//! [`column_meta`] how the binlog's table maps describe the columns of row images.

pub mod column_meta;
pub mod key;
pub mod row_image;

pub use column_meta::binlog_column_meta;
pub use key::KeyPart;
pub use row_image::{DamagedBytes, RowCodec, RowOffsets, RowReader};
