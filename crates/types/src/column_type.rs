//! The declared types of columns.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::collation::Collation;
use crate::decimal::Decimal;
use crate::temporal::{Date, Time, Timestamp};
use crate::value::Value;

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

impl IntWidth {
    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            IntWidth::Tiny => 1,
            IntWidth::Small => 2,
            IntWidth::Medium => 3,
            IntWidth::Int => 4,
            IntWidth::Big => 8,
        }
    }

    /// The least and the greatest value.
    pub fn range(self, unsigned: bool) -> (i128, i128) {
        let bits = 8 * self.bytes() as u32;
        if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
    }
}

impl ColumnType {
    /// The collation of a string type, `None` for numbers and times; binary strings have
    /// [`Collation::Binary`].
    pub fn collation(&self) -> Option<Collation> {
        match self {
            ColumnType::Char { collation, .. }
            | ColumnType::VarChar { collation, .. }
            | ColumnType::Text { collation, .. } => Some(*collation),
            ColumnType::Binary { .. } | ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => {
                Some(Collation::Binary)
            }
            _ => None,
        }
    }

    /// Most bytes of a string's value; 0 for other types.
    pub fn max_bytes(&self) -> u64 {
        match self {
            ColumnType::Char { chars, .. } | ColumnType::VarChar { chars, .. } => u64::from(*chars) * 4,
            ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => u64::from(*bytes),
            ColumnType::Text { size, .. } | ColumnType::Blob { size } => size.max_bytes(),
            _ => 0,
        }
    }

    /// Whether this is a TEXT or BLOB type, which a key can only hold a prefix of.
    pub fn is_lob(&self) -> bool {
        matches!(self, ColumnType::Text { .. } | ColumnType::Blob { .. })
    }

    /// Whether values of this type are numbers.
    pub fn is_number(&self) -> bool {
        use ColumnType::{Decimal, Double, Float, Int, Year};
        matches!(self, Int { .. } | Decimal { .. } | Float { .. } | Double { .. } | Year)
    }

    /// Whether an AUTO_INCREMENT column may have this type.
    pub fn is_integer(&self) -> bool {
        matches!(self, ColumnType::Int { .. })
    }

    /// What a column that has no default and must not be NULL gets in a statement that is not strict.
    pub fn implicit_default(&self) -> Value {
        match self {
            ColumnType::Int { unsigned: true, .. } | ColumnType::Year => Value::UInt(0),
            ColumnType::Int { unsigned: false, .. } => Value::Int(0),
            ColumnType::Decimal { scale, .. } => Value::Decimal(Decimal::new(0, *scale)),
            ColumnType::Float { .. } => Value::Float(0.0),
            ColumnType::Double { .. } => Value::Double(0.0),
            ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Text { .. } => Value::text(""),
            ColumnType::Binary { bytes } => Value::bytes(vec![0; usize::from(*bytes)]),
            ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => Value::bytes(Vec::new()),
            ColumnType::Date => Value::Date(Date::ZERO),
            ColumnType::DateTime { fsp } => Value::DateTime(Date::ZERO.at_midnight().with_fsp(*fsp)),
            ColumnType::Timestamp { fsp } => Value::Timestamp(Timestamp { micros: 0, fsp: *fsp }),
            ColumnType::Time { fsp } => Value::Time(Time { micros: 0, fsp: *fsp }),
        }
    }

    /// The name without lengths, as information_schema's DATA_TYPE has it.
    pub fn data_type(&self) -> &'static str {
        match self {
            ColumnType::Int { width, .. } => match width {
                IntWidth::Tiny => "tinyint",
                IntWidth::Small => "smallint",
                IntWidth::Medium => "mediumint",
                IntWidth::Int => "int",
                IntWidth::Big => "bigint",
            },
            ColumnType::Decimal { .. } => "decimal",
            ColumnType::Float { .. } => "float",
            ColumnType::Double { .. } => "double",
            ColumnType::Char { .. } => "char",
            ColumnType::VarChar { .. } => "varchar",
            ColumnType::Text { size, .. } => match size {
                LobSize::Tiny => "tinytext",
                LobSize::Normal => "text",
                LobSize::Medium => "mediumtext",
                LobSize::Long => "longtext",
            },
            ColumnType::Binary { .. } => "binary",
            ColumnType::VarBinary { .. } => "varbinary",
            ColumnType::Blob { size } => match size {
                LobSize::Tiny => "tinyblob",
                LobSize::Normal => "blob",
                LobSize::Medium => "mediumblob",
                LobSize::Long => "longblob",
            },
            ColumnType::Date => "date",
            ColumnType::DateTime { .. } => "datetime",
            ColumnType::Timestamp { .. } => "timestamp",
            ColumnType::Time { .. } => "time",
            ColumnType::Year => "year",
        }
    }
}

/// The type as SHOW CREATE TABLE and SHOW COLUMNS write it, without the collation.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.data_type())?;
        match self {
            // MySQL 8.0 shows no other display widths.
            ColumnType::Int { width: IntWidth::Tiny, unsigned: false, display_width: Some(1) } => f.write_str("(1)")?,
            ColumnType::Decimal { precision, scale, .. } => write!(f, "({precision},{scale})")?,
            ColumnType::Float { digits: Some((m, d)), .. } | ColumnType::Double { digits: Some((m, d)), .. } => {
                write!(f, "({m},{d})")?;
            }
            ColumnType::Char { chars, .. } | ColumnType::VarChar { chars, .. } => write!(f, "({chars})")?,
            ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => write!(f, "({bytes})")?,
            ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } | ColumnType::Time { fsp } if *fsp > 0 => {
                write!(f, "({fsp})")?;
            }
            _ => {}
        }
        let unsigned = matches!(
            self,
            ColumnType::Int { unsigned: true, .. }
                | ColumnType::Decimal { unsigned: true, .. }
                | ColumnType::Float { unsigned: true, .. }
                | ColumnType::Double { unsigned: true, .. }
        );
        if unsigned { f.write_str(" unsigned") } else { Ok(()) }
    }
}
