//! What a column can hold, and how a value gets into it.
//!
//! Outline: [`ColumnType`] is the declared type; [`store`] converts a value into one under the rules of
//! the SQL mode; [`decimal`] and [`temporal`] are the exact arithmetic below. [`ResultType`] describes a
//! column of a result to a client.

pub mod decimal;
pub mod result_type;
pub mod sql_mode;
pub mod store;
pub mod temporal;

pub use result_type::{FieldType, ResultType};
pub use sql_mode::SqlMode;
pub use store::{StoreContext, store};

use crate::collation::Collation;
use serde::{Deserialize, Serialize};

/// Width of an integer column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntWidth {
    /// 1 byte.
    Tiny,
    /// 2 bytes.
    Small,
    /// 3 bytes.
    Medium,
    /// 4 bytes.
    Int,
    /// 8 bytes.
    Big,
}

/// Which of the four sizes of TEXT or BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LobSize {
    /// Up to 255 bytes.
    Tiny,
    /// Up to 65535 bytes.
    Normal,
    /// Up to 16 MiB - 1.
    Medium,
    /// Up to 4 GiB - 1.
    Long,
}

/// The declared type of a column. Lengths of CHAR and VARCHAR are characters, of BINARY and VARBINARY
/// bytes; `fsp` is the number of fractional digits of seconds, 0 to 6.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnType {
    /// TINYINT to BIGINT; BOOL is TINYINT(1).
    Int {
        /// Bytes.
        width: IntWidth,
        /// UNSIGNED.
        unsigned: bool,
        /// The display width that was declared, if any.
        display_width: Option<u8>,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// All digits, 1 to 65.
        precision: u8,
        /// Digits behind the point, 0 to 30.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// FLOAT.
    Float {
        /// UNSIGNED.
        unsigned: bool,
        /// (M,D), if declared.
        digits: Option<(u8, u8)>,
    },
    /// DOUBLE.
    Double {
        /// UNSIGNED.
        unsigned: bool,
        /// (M,D), if declared.
        digits: Option<(u8, u8)>,
    },
    /// CHAR(chars); stored without trailing spaces.
    Char {
        /// Characters, 0 to 255.
        chars: u16,
        /// How it compares.
        collation: Collation,
    },
    /// VARCHAR(chars).
    VarChar {
        /// Characters.
        chars: u16,
        /// How it compares.
        collation: Collation,
    },
    /// TINYTEXT to LONGTEXT.
    Text {
        /// Which one.
        size: LobSize,
        /// How it compares.
        collation: Collation,
    },
    /// BINARY(bytes); shorter values are filled with zero bytes.
    Binary {
        /// Bytes, 0 to 255.
        bytes: u16,
    },
    /// VARBINARY(bytes).
    VarBinary {
        /// Bytes.
        bytes: u16,
    },
    /// TINYBLOB to LONGBLOB.
    Blob {
        /// Which one.
        size: LobSize,
    },
    /// DATE.
    Date,
    /// DATETIME(fsp).
    DateTime {
        /// Fractional digits.
        fsp: u8,
    },
    /// TIMESTAMP(fsp).
    Timestamp {
        /// Fractional digits.
        fsp: u8,
    },
    /// TIME(fsp).
    Time {
        /// Fractional digits.
        fsp: u8,
    },
    /// YEAR.
    Year,
}
