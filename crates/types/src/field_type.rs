//! MySQL's codes of types, as packets and the binlog carry them.

macro_rules! field_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal: $kind:ident,)*) => {
        /// The codes, under MySQL's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
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

            /// Of which kind the values are.
            pub fn kind(self) -> FieldKind {
                match self {
                    $(FieldType::$name => FieldKind::$kind,)*
                }
            }
        }
    };
}

field_types! {
    /// DECIMAL of old: clients may send it, nothing else has it.
    Decimal = 0: Decimal,
    Tiny = 1: Integer,
    Short = 2: Integer,
    Long = 3: Integer,
    Float = 4: Float,
    Double = 5: Double,
    Null = 6: Null,
    Timestamp = 7: Timestamp,
    LongLong = 8: Integer,
    Int24 = 9: Integer,
    Date = 10: Date,
    Time = 11: Time,
    DateTime = 12: DateTime,
    Year = 13: Year,
    /// VARCHAR of the binlog and of parameters; results say [`FieldType::VarString`].
    VarChar = 15: String,
    Bit = 16: Bits,
    /// TIMESTAMP of the binlog.
    Timestamp2 = 17: Timestamp,
    /// DATETIME of the binlog.
    DateTime2 = 18: DateTime,
    /// TIME of the binlog.
    Time2 = 19: Time,
    /// BOOL of parameters.
    Bool = 244: Integer,
    Json = 245: String,
    NewDecimal = 246: Decimal,
    Enum = 247: String,
    Set = 248: String,
    TinyBlob = 249: Lob,
    MediumBlob = 250: Lob,
    LongBlob = 251: Lob,
    /// BLOB and TEXT of every size.
    Blob = 252: Lob,
    VarString = 253: String,
    String = 254: String,
    Geometry = 255: String,
}

/// The kinds of values, where the codes that differ in size, age or place only are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Null,
    Integer,
    /// An integer that is shown with four digits.
    Year,
    /// An integer whose bytes are sent.
    Bits,
    Decimal,
    Float,
    Double,
    Date,
    Time,
    DateTime,
    Timestamp,
    String,
    /// Strings of BLOB and TEXT.
    Lob,
}

/// The kinds of dates and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemporalKind {
    Date,
    Time,
    DateTime,
    Timestamp,
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

impl Family {
    /// Whether the values are numbers.
    pub fn is_number(self) -> bool {
        match self {
            Family::Integer | Family::Decimal | Family::Real => true,
            Family::Null | Family::Temporal | Family::String => false,
        }
    }
}

impl FieldKind {
    /// Which family the values are of.
    pub fn family(self) -> Family {
        match self {
            FieldKind::Null => Family::Null,
            FieldKind::Integer | FieldKind::Year | FieldKind::Bits => Family::Integer,
            FieldKind::Decimal => Family::Decimal,
            FieldKind::Float | FieldKind::Double => Family::Real,
            FieldKind::Date | FieldKind::Time | FieldKind::DateTime | FieldKind::Timestamp => Family::Temporal,
            FieldKind::String | FieldKind::Lob => Family::String,
        }
    }

    /// The kind of date or time; `None` if the values are none.
    pub fn temporal(self) -> Option<TemporalKind> {
        match self {
            FieldKind::Date => Some(TemporalKind::Date),
            FieldKind::Time => Some(TemporalKind::Time),
            FieldKind::DateTime => Some(TemporalKind::DateTime),
            FieldKind::Timestamp => Some(TemporalKind::Timestamp),
            FieldKind::Null
            | FieldKind::Integer
            | FieldKind::Year
            | FieldKind::Bits
            | FieldKind::Decimal
            | FieldKind::Float
            | FieldKind::Double
            | FieldKind::String
            | FieldKind::Lob => None,
        }
    }

    /// Whether the values have a date, with or without a time of day.
    pub fn has_date(self) -> bool {
        match self.temporal() {
            Some(TemporalKind::Date | TemporalKind::DateTime | TemporalKind::Timestamp) => true,
            Some(TemporalKind::Time) | None => false,
        }
    }
}

impl FieldType {
    /// Which family the values are of.
    pub fn family(self) -> Family {
        self.kind().family()
    }

    /// Whether the values are strings of characters or bytes.
    pub fn is_string(self) -> bool {
        self.family() == Family::String
    }

    /// Whether a FLOAT has all the digits that a value may have.
    pub(crate) fn fits_float(self) -> bool {
        use FieldType::*;
        match self {
            Float | Tiny | Short | Int24 | Year => true,
            Null | Long | LongLong | Bit | Bool | Decimal | NewDecimal | Double | Date | Time | DateTime
            | Timestamp | Timestamp2 | DateTime2 | Time2 | VarChar | VarString | String | TinyBlob | MediumBlob
            | LongBlob | Blob | Json | Enum | Set | Geometry => false,
        }
    }
}
