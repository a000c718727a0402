//! The type of an expression's result, as a client's column metadata and conversions need it.

use crate::collation::Collation;

/// The field types of the wire protocol and the binlog; the discriminants are MySQL's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum FieldType {
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    NewDecimal = 246,
    Blob = 252,
    VarString = 253,
    String = 254,
}

/// [`ResultType::decimals`] of numbers without a fixed number of digits.
pub const NOT_FIXED_DECIMALS: u8 = 31;

/// What a client is told of a result column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultType {
    /// The field type.
    pub field: FieldType,
    /// The widest text form: characters of strings (times 4 on the wire for utf8mb4), digits and sign of numbers.
    pub length: u32,
    /// Digits behind the point or of fractional seconds; [`NOT_FIXED_DECIMALS`] if not fixed.
    pub decimals: u8,
    /// Whether the number is unsigned.
    pub unsigned: bool,
    /// Whether NULL is possible.
    pub nullable: bool,
    /// Collation of strings, [`Collation::Binary`] for everything else.
    pub collation: Collation,
}
