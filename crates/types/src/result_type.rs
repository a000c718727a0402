//! The type of an expression's result, as a client's column metadata and conversions need it.

use std::sync::Arc;

use super::decimal::{MAX_PRECISION, MAX_SCALE};
use super::{Family, FieldKind, FieldType, TemporalKind};
use crate::collation::Collation;
use crate::column_type::write_bits;
use crate::value::Value;

/// [`ResultType::decimals`] of numbers without a fixed number of digits.
pub const NOT_FIXED_DECIMALS: u8 = 31;

/// What a client receives about a result column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultType {
    /// The field type.
    pub field: FieldType,
    /// The widest text form: characters of strings (bytes of binary ones), digits and sign of numbers. On the wire,
    /// characters of utf8mb4 count four times.
    pub length: u32,
    /// Digits after the point or of fractional seconds; [`NOT_FIXED_DECIMALS`] if not fixed.
    pub decimals: u8,
    /// Whether the number is unsigned.
    pub unsigned: bool,
    /// Whether NULL is possible.
    pub nullable: bool,
    /// Collation of strings, [`Collation::Binary`] for everything else.
    pub collation: Collation,
}

impl ResultType {
    pub(crate) fn number(field: FieldType, length: u32, decimals: u8, unsigned: bool) -> ResultType {
        ResultType { field, length, decimals, unsigned, nullable: true, collation: Collation::Binary }
    }

    /// A signed BIGINT of at most `length` characters.
    pub fn integer(length: u32) -> ResultType {
        Self::number(FieldType::LongLong, length, 0, false)
    }

    /// An unsigned BIGINT of at most `length` digits.
    pub fn unsigned(length: u32) -> ResultType {
        Self::number(FieldType::LongLong, length, 0, true)
    }

    /// A condition: 0 or 1.
    pub fn boolean() -> ResultType {
        Self::integer(1)
    }

    /// A DOUBLE.
    pub fn double() -> ResultType {
        Self::number(FieldType::Double, 23, NOT_FIXED_DECIMALS, false)
    }

    /// A DECIMAL; more than 65 digits are cut to 65.
    pub fn decimal(precision: u32, scale: u8) -> ResultType {
        let precision = precision.clamp(u32::from(scale).max(1), u32::from(MAX_PRECISION).max(u32::from(scale)));
        // One place for the sign, one for the point.
        Self::number(FieldType::NewDecimal, precision + 1 + u32::from(scale > 0), scale, false)
    }

    /// A string of at most `chars` characters.
    pub fn string(chars: u32, collation: Collation) -> ResultType {
        ResultType { collation, ..Self::number(FieldType::VarString, chars, NOT_FIXED_DECIMALS, false) }
    }

    /// A JSON document.
    pub fn json() -> ResultType {
        ResultType { field: FieldType::Json, ..Self::string(u32::MAX / 4, Collation::Utf8mb4Bin) }
    }

    /// A date or time.
    pub fn temporal(field: FieldType, fsp: u8) -> ResultType {
        let fraction = if fsp > 0 { u32::from(fsp) + 1 } else { 0 };
        let length = match field.kind().temporal() {
            Some(TemporalKind::Date) => 10,
            Some(TemporalKind::Time) => 10 + fraction,
            Some(TemporalKind::DateTime | TemporalKind::Timestamp) => 19 + fraction,
            None => 0,
        };
        Self::number(field, length, fsp, false)
    }

    /// The type of NULL.
    pub fn null() -> ResultType {
        Self::number(FieldType::Null, 0, 0, false)
    }

    /// The type of such a value that is no column's: of bits the number, of an ENUM or SET the text.
    pub fn computed(self) -> ResultType {
        let field = if matches!(self.field, FieldType::Enum | FieldType::Set) {
            FieldType::VarString
        } else if self.kind() == FieldKind::Bits {
            FieldType::LongLong
        } else {
            self.field
        };
        ResultType { field, ..self }
    }

    /// The same type, with or without NULL.
    pub fn nullable(self, nullable: bool) -> ResultType {
        ResultType { nullable, ..self }
    }

    /// The same type with that many digits after the point; an integer gets none.
    pub fn with_decimals(self, decimals: u8) -> ResultType {
        let same = match self.kind() {
            FieldKind::Decimal => {
                let decimals = decimals.min(MAX_SCALE);
                ResultType::decimal(self.integer_digits() + u32::from(decimals), decimals)
            }
            FieldKind::Time | FieldKind::DateTime | FieldKind::Timestamp => {
                ResultType::temporal(self.field, decimals.min(6))
            }
            FieldKind::Float | FieldKind::Double => ResultType { decimals, ..self },
            FieldKind::Null
            | FieldKind::Integer
            | FieldKind::Year
            | FieldKind::Bits
            | FieldKind::Date
            | FieldKind::String
            | FieldKind::Lob => self,
        };
        same.nullable(self.nullable)
    }

    /// The type that just holds `value`.
    pub fn of_value(value: &Value) -> ResultType {
        let base = match value {
            Value::Null => return Self::null(),
            Value::Int(int) => {
                Self::integer((int.unsigned_abs().checked_ilog10().unwrap_or(0) + 1 + u32::from(*int < 0)).max(2))
            }
            Value::UInt(int) => Self::unsigned(int.checked_ilog10().unwrap_or(0) + 1),
            Value::Float(_) => Self::number(FieldType::Float, 12, NOT_FIXED_DECIMALS, false),
            Value::Double(_) => Self::double(),
            Value::Decimal(decimal) => Self::decimal(u32::from(decimal.precision()), decimal.scale()),
            Value::Text(text) => Self::string(text.chars().count().try_into().unwrap_or(u32::MAX), Collation::DEFAULT),
            Value::Bytes(bytes) | Value::Hex(bytes) => {
                Self::string(bytes.len().try_into().unwrap_or(u32::MAX), Collation::Binary)
            }
            Value::Member(member) => {
                Self::string(member.text.chars().count().try_into().unwrap_or(u32::MAX), Collation::DEFAULT)
            }
            Value::Date(_) => Self::temporal(FieldType::Date, 0),
            Value::DateTime(value) => Self::temporal(FieldType::DateTime, value.fsp()),
            Value::Timestamp(value) => Self::temporal(FieldType::Timestamp, value.fsp),
            Value::Time(value) => Self::temporal(FieldType::Time, value.fsp),
            Value::Json(_) => Self::json(),
        };
        base.nullable(false)
    }

    /// Whether the type has a say in the text of its values, beside their kind.
    pub fn shapes_text(&self) -> bool {
        match self.kind() {
            FieldKind::Float | FieldKind::Double => self.decimals < NOT_FIXED_DECIMALS,
            FieldKind::Year | FieldKind::Bits => true,
            FieldKind::Null
            | FieldKind::Integer
            | FieldKind::Decimal
            | FieldKind::Date
            | FieldKind::Time
            | FieldKind::DateTime
            | FieldKind::Timestamp
            | FieldKind::String
            | FieldKind::Lob => false,
        }
    }

    /// Appends the text of a value as a column of this type shows it: a double with its digits, a year with four, of
    /// bits the bytes.
    pub fn write_text(&self, value: &Value, out: &mut Vec<u8>) {
        match (self.kind(), value) {
            (FieldKind::Year, Value::UInt(year)) => out.extend_from_slice(format!("{year:04}").as_bytes()),
            (FieldKind::Bits, Value::UInt(number)) => write_bits(*number, self.length, out),
            (
                FieldKind::Null
                | FieldKind::Integer
                | FieldKind::Year
                | FieldKind::Bits
                | FieldKind::Decimal
                | FieldKind::Float
                | FieldKind::Double
                | FieldKind::Date
                | FieldKind::Time
                | FieldKind::DateTime
                | FieldKind::Timestamp
                | FieldKind::String
                | FieldKind::Lob,
                value,
            ) => value.write_text(self.decimals, out),
        }
    }

    /// Of which kind the values are.
    pub fn kind(&self) -> FieldKind {
        self.field.kind()
    }

    /// Which family the values are of.
    pub fn family(&self) -> Family {
        self.field.family()
    }

    /// Digits before the point of a number.
    pub fn integer_digits(&self) -> u32 {
        match self.family() {
            Family::Decimal => {
                let sign_and_point = u32::from(!self.unsigned) + u32::from(self.decimals > 0);
                self.length.saturating_sub(sign_and_point + u32::from(self.decimals))
            }
            Family::Null | Family::Integer | Family::Real | Family::Temporal | Family::String => {
                self.length.saturating_sub(u32::from(!self.unsigned)).max(1)
            }
        }
    }

    /// The type of a column that has values of all these types (UNION): what all fit, of a fixed length where all strings
    /// have one.
    pub fn of_all(types: &[ResultType]) -> ResultType {
        /// Longer strings have no fixed length.
        const MAX_FIXED: u32 = 255;
        let joined = types.iter().copied().reduce(ResultType::unify).unwrap_or_else(ResultType::null);
        let mut known = types.iter().filter(|of| of.family() != Family::Null);
        let is_fixed = joined.field == FieldType::VarString && joined.length <= MAX_FIXED;
        if is_fixed && known.all(|of| of.field == FieldType::String) {
            return ResultType { field: FieldType::String, ..joined };
        }
        joined
    }

    /// The type of a value that is of either type (CASE, IF, COALESCE).
    pub fn unify(self, other: ResultType) -> ResultType {
        let nullable = self.nullable || other.nullable;
        let joined = match (self.family(), other.family()) {
            (Family::Null, _) => other,
            (_, Family::Null) => self,
            (Family::String, Family::String) => self.unify_strings(other),
            (Family::Integer, Family::Integer) if self.kind() == FieldKind::Year && other.kind() == FieldKind::Year => {
                self
            }
            (Family::Integer, Family::Integer) => self.unify_integers(other),
            (Family::Integer | Family::Decimal, Family::Integer | Family::Decimal) => self.unify_decimals(other),
            (Family::Integer | Family::Real, Family::Integer | Family::Real)
                if self.field.fits_float() && other.field.fits_float() =>
            {
                ResultType { field: FieldType::Float, length: 12, ..Self::double() }
                    .with_decimals(self.decimals.max(other.decimals))
            }
            (Family::Integer | Family::Decimal | Family::Real, Family::Integer | Family::Decimal | Family::Real) => {
                Self::double().with_decimals(self.decimals.max(other.decimals))
            }
            (Family::Temporal, Family::Temporal) if self.field == other.field => {
                Self::temporal(self.field, self.decimals.max(other.decimals))
            }
            (Family::Temporal, Family::Temporal) => {
                Self::temporal(FieldType::DateTime, self.decimals.max(other.decimals))
            }
            (Family::String, _) => ResultType { length: self.length.max(other.length), ..self },
            (_, Family::String) => ResultType { length: self.length.max(other.length), ..other },
            (Family::Temporal, Family::Integer | Family::Decimal | Family::Real)
            | (Family::Integer | Family::Decimal | Family::Real, Family::Temporal) => {
                Self::string(self.length.max(other.length), Collation::DEFAULT)
            }
        };
        let joined = joined.computed();
        let field = if joined.field == FieldType::String { FieldType::VarString } else { joined.field };
        ResultType { field, nullable, ..joined }
    }

    /// The most bytes of a string.
    fn byte_length(self) -> u32 {
        let bytes = u64::from(self.length) * self.collation.charset().char_bytes();
        bytes.try_into().unwrap_or(u32::MAX)
    }

    /// The wider of two integer types. A signed and an unsigned one make a signed one: the next wider if the unsigned one
    /// is as wide as both, or a decimal if they have more digits than any BIGINT holds.
    fn unify_integers(self, other: ResultType) -> ResultType {
        const BIGINT_DIGITS: u32 = 19;
        const WIDTHS: [FieldType; 5] =
            [FieldType::Tiny, FieldType::Short, FieldType::Int24, FieldType::Long, FieldType::LongLong];
        let width_of = |of: ResultType| {
            // There is none of the width of YEAR.
            let field = if of.kind() == FieldKind::Year { FieldType::Short } else { of.field };
            WIDTHS.iter().position(|known| *known == field).unwrap_or(4)
        };
        let (own, others) = (width_of(self), width_of(other));
        let width = own.max(others);
        if self.unsigned == other.unsigned {
            return ResultType { field: WIDTHS[width], length: self.length.max(other.length), ..self };
        }
        let of_unsigned = if self.unsigned { own } else { others };
        let digits = self.integer_digits().max(other.integer_digits());
        match WIDTHS.get(width + usize::from(of_unsigned == width)) {
            Some(field) => Self::number(*field, digits + 1, 0, false),
            None if digits < BIGINT_DIGITS => Self::integer(digits + 1),
            None => self.unify_decimals(other),
        }
    }

    /// The decimal that has the digits of both, unsigned if both are.
    fn unify_decimals(self, other: ResultType) -> ResultType {
        let scale = self.decimals.max(other.decimals);
        let signed = Self::decimal(self.integer_digits().max(other.integer_digits()) + u32::from(scale), scale);
        if self.unsigned && other.unsigned {
            return ResultType { unsigned: true, length: signed.length - 1, ..signed };
        }
        signed
    }

    /// The type of strings of which some are bytes if one is: then of as many as the characters of a text may have.
    fn unify_strings(self, other: ResultType) -> ResultType {
        if self.field == FieldType::Json && other.field == FieldType::Json {
            return self;
        }
        let collation = match (self.collation, other.collation) {
            (Collation::Binary, _) | (_, Collation::Binary) => Collation::Binary,
            (own, _) => own,
        };
        let field = if [self, other].iter().any(|of| of.kind() == FieldKind::Lob || of.field == FieldType::Json) {
            FieldType::Blob
        } else {
            FieldType::VarString
        };
        let length_of = |of: ResultType| if collation == Collation::Binary { of.byte_length() } else { of.length };
        ResultType { field, ..Self::string(length_of(self).max(length_of(other)), collation) }
    }
}

/// One column of a result set.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// Its name or alias.
    pub name: Arc<str>,
    /// The table's alias; empty for expressions.
    pub table: Arc<str>,
    /// The column's own name; empty for expressions.
    pub original_name: Arc<str>,
    /// The table's own name; empty for expressions.
    pub original_table: Arc<str>,
    /// The table's database; empty for expressions.
    pub database: Arc<str>,
    /// Type, length and so on.
    pub result_type: ResultType,
    /// Whether it is part of the primary key.
    pub primary_key: bool,
    /// Whether it is a unique key by itself.
    pub unique_key: bool,
    /// Whether it begins a key that is not unique.
    pub multiple_key: bool,
    /// AUTO_INCREMENT
    pub auto_increment: bool,
    /// Its texts are those of a literal, which give way to the collations of columns.
    pub gives_way: bool,
}

impl ResultColumn {
    /// What it takes in memory, bytes; names that columns share count for each.
    pub fn memory_bytes(&self) -> usize {
        let names = [&self.name, &self.table, &self.original_name, &self.original_table, &self.database];
        size_of::<ResultColumn>() + names.into_iter().map(|name| name.len()).sum::<usize>()
    }

    /// A column that is no table's.
    pub fn computed(name: impl Into<Arc<str>>, result_type: ResultType) -> ResultColumn {
        let empty: Arc<str> = Arc::from("");
        ResultColumn {
            name: name.into(),
            table: empty.clone(),
            original_name: empty.clone(),
            original_table: empty.clone(),
            database: empty,
            result_type,
            primary_key: false,
            unique_key: false,
            multiple_key: false,
            auto_increment: false,
            gives_way: false,
        }
    }
}
