//! MySQL's codes of types, as packets and the binlog carry them.

#![deny(clippy::wildcard_enum_match_arm)]

macro_rules! field_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// The codes, under MySQL's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum FieldType {
            $($(#[$doc])* $name = $code,)*
        }

        impl FieldType {
            /// The type of this code.
            pub fn from_code(code: u8) -> Option<FieldType> {
                match code {
                    $($code => Some(FieldType::$name),)*
                    _ => None,
                }
            }
        }
    };
}

field_types! {
    /// DECIMAL of old: clients may send it, nothing else has it.
    Decimal = 0,
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
    /// VARCHAR of the binlog and of parameters; results say [`FieldType::VarString`].
    VarChar = 15,
    Bit = 16,
    /// TIMESTAMP of the binlog.
    Timestamp2 = 17,
    /// DATETIME of the binlog.
    DateTime2 = 18,
    /// TIME of the binlog.
    Time2 = 19,
    /// BOOL of parameters.
    Bool = 244,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    /// BLOB and TEXT of every size.
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

/// The families of values that operators and functions convert to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Only NULL.
    Null,
    /// Integers.
    Integer,
    /// Exact numbers.
    Decimal,
    /// Approximate numbers.
    Real,
    /// Dates and times.
    Temporal,
    /// Strings.
    String,
}

impl FieldType {
    /// Which family the values are of.
    pub fn family(self) -> Family {
        use FieldType::*;
        match self {
            Null => Family::Null,
            Tiny | Short | Int24 | Long | LongLong | Year | Bit | Bool => Family::Integer,
            Decimal | NewDecimal => Family::Decimal,
            Float | Double => Family::Real,
            Date | Time | DateTime | Timestamp | Timestamp2 | DateTime2 | Time2 => Family::Temporal,
            VarChar | VarString | String | TinyBlob | MediumBlob | LongBlob | Blob | Json | Enum | Set | Geometry => {
                Family::String
            }
        }
    }

    /// Whether the values are strings of characters or bytes.
    pub fn is_string(self) -> bool {
        self.family() == Family::String
    }
}
