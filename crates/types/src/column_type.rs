//! The declared types of columns: one family of types is one file with every face of it.
//!
//! Outline: [`ColumnType`] is the declared type, `Faces` what each family must have: how a definition names it, what
//! it stores, how it compares, what clients learn of it, and its bytes in rows, keys and the binlog. `families!` at the
//! end lists the families. A new type is a file with its faces and a line there; a face that is missing does not
//! compile. Other crates ask by methods, and know no family.

/// The faces of types whose values are no characters and whose defaults are written as texts.
macro_rules! no_characters {
    () => {
        fn under(&self, _collation: Collation) -> ColumnType {
            (*self).into()
        }

        fn default_literal(&self, _value: &Value) -> Option<String> {
            None
        }
    };
}

/// The key of types whose bytes in rows are in the order of the values.
macro_rules! key_as_in_rows {
    () => {
        fn key_bytes(&self) -> Option<usize> {
            self.row_len(&[])
        }

        fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
            self.write_row(value, key)
        }

        fn read_key(&self, bytes: &[u8]) -> FromKey {
            FromKey::of(self.read_row(bytes))
        }
    };
}

mod binary;
mod bit;
mod date;
mod datetime;
mod decimal;
mod integer;
mod json;
mod members;
mod of_result;
mod real;
mod string;
mod time;
mod year;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::collation::Collation;
use crate::error::{ER_M_BIGGER_THAN_D, ER_TOO_BIG_FIELDLENGTH, ER_TOO_BIG_PRECISION, ER_TOO_BIG_SCALE, SqlError};
use crate::sql_mode::SqlMode;
use crate::store::{Loss, StoreContext};
use crate::temporal::TimeZone;
use crate::{FieldType, ResultType, Value};

pub use binary::{BinaryType, BlobType, VarBinaryType};
pub use bit::BitType;
pub use date::DateType;
pub use datetime::{DateTimeType, TimestampType};
pub use decimal::DecimalType;
pub use integer::{IntType, IntWidth};
pub use members::{EnumType, Members, SetType};
pub use real::{DoubleType, FloatType, ordered_f64};
pub use string::{CharType, LobSize, TextType, VarCharType};
pub use time::TimeType;
pub use year::{YearType, year_of_moment, year_of_number};

pub(crate) use bit::write_bytes as write_bits;
use json::JsonType;

/// What follows the name of a type in a definition, as the parser reads it.
pub trait TypeWords {
    /// The column's name, for messages.
    fn column(&self) -> &str;
    /// The SQL mode of the statement.
    fn sql_mode(&self) -> SqlMode;
    /// Takes the next words if they are these.
    fn takes(&mut self, words: &str) -> bool;
    /// Takes `(n)` or `(n,m)`, if it is there.
    fn numbers(&mut self) -> Result<(Option<u64>, Option<u64>), SqlError>;
    /// Takes `(n)`, if it is there.
    fn number(&mut self) -> Result<Option<u64>, SqlError>;
    /// Takes a list of texts in parentheses.
    fn texts(&mut self) -> Result<Vec<String>, SqlError>;
    /// The syntax error that the next word is.
    fn unexpected(&self) -> SqlError;
}

/// How values of a column compare with constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As integers.
    Integer,
    /// As numbers.
    Number,
    /// As characters.
    Characters(Collation),
    /// As bytes.
    Bytes,
    /// As documents; there are no keys.
    Json,
    /// As characters with characters, else as numbers; keys are in the order of the numbers.
    Members(Collation),
    /// As a date, with or without a time of day.
    Date,
    /// As a point in time.
    Timestamp,
    /// As a time of day or a span.
    Time,
}

/// How large the values of a type are, as information_schema has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub chars: Option<u64>,
    pub bytes: Option<u64>,
    pub precision: Option<u64>,
    pub scale: Option<u64>,
    pub fsp: Option<u64>,
}

/// What is known of a type without a value.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The name without lengths, as information_schema's DATA_TYPE has it.
    pub data_type: &'static str,
    /// For information_schema.
    pub sizes: Sizes,
    /// Most bytes of a string's value; 0 for other types.
    pub max_bytes: u64,
    /// TEXT and BLOB: a key can only hold a prefix.
    pub is_lob: bool,
    /// UNSIGNED, whether or not it was written.
    pub unsigned: bool,
    /// Fractional digits, where CURRENT_TIMESTAMP may be the default.
    pub clock_digits: Option<u8>,
    /// The largest value of an AUTO_INCREMENT column, where there may be one.
    pub counter_max: Option<u64>,
    /// In the binlog's table maps: the type, and its metadata with their length.
    pub binlog: (FieldType, [u8; 2], usize),
}

/// What a key gives back of the value it was made from.
#[derive(Clone, Debug, PartialEq)]
pub enum FromKey {
    /// All of it.
    Value(Value),
    /// Its place in the order only.
    Order,
    /// These bytes are no key of the type.
    Damaged,
}

/// What every family of types has.
trait Faces {
    /// The type of this name; `None` if it is another family's.
    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError>;
    /// The type as SHOW CREATE TABLE writes it, without the collation.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// What is known without a value.
    fn facts(&self) -> Facts;
    /// How values compare.
    fn kind(&self) -> Kind;
    /// The same type for characters of a collation; under [`Collation::Binary`], that of as many bytes.
    fn under(&self, collation: Collation) -> ColumnType;
    /// The list of texts that values are numbers of, if there is one.
    fn members(&self) -> Option<&Members> {
        None
    }
    /// What stands in for a missing default.
    fn implicit_default(&self) -> Value;
    /// How a default is written; `None` for the value's text in quotes.
    fn default_literal(&self, value: &Value) -> Option<String>;

    /// Converts a value that is not NULL into one of the column, or rejects it.
    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError>;

    /// What clients learn of a column.
    fn result_type(&self) -> ResultType;

    /// Bytes of a value in a row that `row` starts with (which may be more than there are); `None` if its length is
    /// not there.
    fn row_len(&self, row: &[u8]) -> Option<usize>;
    /// Appends a value; false (and nothing but garbage) if it is none of the type.
    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool;
    /// The value whose [`Faces::row_len`] bytes these are; `None` if they are none of the type.
    fn read_row(&self, bytes: &[u8]) -> Option<Value>;
    /// The same, put into its place; false if they are none.
    fn read_row_to(&self, bytes: &[u8], place: &mut Value) -> bool {
        self.read_row(bytes).map(|value| *place = value).is_some()
    }
    /// The type of a column of a table map, its strings being bytes; `None` if it is another family's.
    fn from_binlog(field: FieldType, meta: [u8; 2], unsigned: bool) -> Option<ColumnType>;

    /// Bytes of a value in a key; `None` for strings, which end by themselves.
    fn key_bytes(&self) -> Option<usize>;
    /// Appends bytes whose order is that of the values, of a string's first characters if there is a prefix; false
    /// if it is no value of the type.
    fn write_key(&self, value: &Value, prefix: Option<u16>, key: &mut Vec<u8>) -> bool;
    /// The value of a whole key.
    fn read_key(&self, bytes: &[u8]) -> FromKey;
}

/// Makes the enum of the types, `face!`, which calls a face of a type's family, and what asks each family in turn.
macro_rules! families {
    (
        $($(#[$doc:meta])* $variant:ident($family:ident),)*
        ; $($(#[$unit_doc:meta])* $unit:ident: $unit_family:ident,)*
    ) => {
        /// The declared type of a column.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum ColumnType {
            $($(#[$doc])* $variant($family),)*
            $($(#[$unit_doc])* $unit,)*
        }

        $(impl From<$family> for ColumnType {
            fn from(family: $family) -> ColumnType {
                ColumnType::$variant(family)
            }
        })*

        macro_rules! face {
            ($type:expr, $of:ident => $call:expr) => {
                match $type {
                    $(ColumnType::$variant($of) => $call,)*
                    $(ColumnType::$unit => { let $of = &$unit_family; $call })*
                }
            };
        }

        impl ColumnType {
            /// The type that a definition names; `None` if there is none of this name, which is in capitals.
            pub fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
                $(if let Some(found) = $family::parse(name, words)? { return Ok(Some(found)); })*
                $(if let Some(found) = $unit_family::parse(name, words)? { return Ok(Some(found)); })*
                Ok(None)
            }

            /// The type whose row values are those of a column of a table map; strings are bytes, without padding.
            pub fn from_binlog(field: FieldType, meta: [u8; 2], unsigned: bool) -> Option<ColumnType> {
                $(if let Some(found) = $family::from_binlog(field, meta, unsigned) { return Some(found); })*
                $(if let Some(found) = $unit_family::from_binlog(field, meta, unsigned) { return Some(found); })*
                None
            }
        }
    };
}

families! {
    /// TINYINT to BIGINT; BOOL is TINYINT(1).
    Int(IntType),
    /// BIT(bits).
    Bit(BitType),
    /// DECIMAL(precision, scale).
    Decimal(DecimalType),
    /// FLOAT.
    Float(FloatType),
    /// DOUBLE.
    Double(DoubleType),
    /// VARCHAR(chars).
    VarChar(VarCharType),
    /// CHAR(chars); stored without trailing spaces.
    Char(CharType),
    /// TINYTEXT to LONGTEXT.
    Text(TextType),
    /// BINARY(bytes); shorter values are filled with zero bytes.
    Binary(BinaryType),
    /// VARBINARY(bytes).
    VarBinary(VarBinaryType),
    /// TINYBLOB to LONGBLOB.
    Blob(BlobType),
    /// DATETIME(fsp).
    DateTime(DateTimeType),
    /// TIMESTAMP(fsp).
    Timestamp(TimestampType),
    /// TIME(fsp).
    Time(TimeType),
    /// ENUM('a', 'b').
    Enum(EnumType),
    /// SET('a', 'b').
    Set(SetType),
    ;
    /// DATE.
    Date: DateType,
    /// YEAR.
    Year: YearType,
    /// JSON.
    Json: JsonType,
}

impl ColumnType {
    /// What is known without a value.
    pub fn facts(&self) -> Facts {
        face!(self, of => of.facts())
    }

    /// How values compare.
    pub fn kind(&self) -> Kind {
        face!(self, of => of.kind())
    }

    /// The collation of a string type, `None` for numbers and times; binary strings have [`Collation::Binary`].
    pub fn collation(&self) -> Option<Collation> {
        match self.kind() {
            Kind::Characters(collation) | Kind::Members(collation) => Some(collation),
            Kind::Bytes => Some(Collation::Binary),
            Kind::Integer | Kind::Number | Kind::Date | Kind::Timestamp | Kind::Time | Kind::Json => None,
        }
    }

    /// The same type for characters of a collation; under [`Collation::Binary`], that of as many bytes. Types that hold
    /// no characters stay as they are.
    pub fn under(&self, collation: Collation) -> ColumnType {
        face!(self, of => of.under(collation))
    }

    /// What CONVERT TO CHARACTER SET makes of the type: one that holds as many characters.
    pub fn converted(&self, collation: Collation) -> ColumnType {
        if let ColumnType::Text(text) = self { text.converted(collation) } else { self.under(collation) }
    }

    /// 1074 for a VARCHAR with more characters than its character set allows a `column`.
    pub fn check_length(&self, column: &str) -> Result<(), SqlError> {
        if let ColumnType::VarChar(varchar) = self { varchar.check_length(column) } else { Ok(()) }
    }

    /// What stands in for JSON where replicas do not know it.
    pub fn longtext() -> ColumnType {
        TextType::new(LobSize::Long, Collation::Utf8mb4Bin).into()
    }

    /// The list of texts of an ENUM or SET.
    pub fn members(&self) -> Option<&Members> {
        face!(self, of => of.members())
    }

    /// Whether a column that must not be NULL needs no default: an ENUM gets the first of its texts without a complaint.
    pub fn defaults_itself(&self) -> bool {
        matches!(self, ColumnType::Enum(_))
    }

    /// What a column that has no default and must not be NULL gets in a statement that is not strict.
    pub fn implicit_default(&self) -> Value {
        face!(self, of => of.implicit_default())
    }

    /// How a definition writes a default; `None` for the value's text in quotes.
    pub fn default_literal(&self, value: &Value) -> Option<String> {
        face!(self, of => of.default_literal(value))
    }

    /// Whether a value is one of the column as it is. False says nothing: only the commonest case is looked at.
    pub fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (ColumnType::Int(int), Value::Int(number)) => int.holds(*number),
            _ => false,
        }
    }

    /// The value as a column stores it, if it does so in strict mode and without a warning.
    pub fn store_quietly(&self, value: Value, time_zone: TimeZone, now_us: i64) -> Option<Value> {
        let mut complained = false;
        let mut cx = StoreContext {
            column: "",
            row: 1,
            sql_mode: SqlMode::STRICT_ALL_TABLES,
            time_zone,
            now_us,
            warnings: &mut |loss, _| complained |= loss == Loss::Warning,
        };
        let stored = self.store(value, &mut cx).ok()?;
        (!complained).then_some(stored)
    }

    /// Converts `value` into one that the column holds (NULL stays NULL: whether the column takes it is the caller's
    /// check, error 1048). In strict mode a value that does not fit is error 1264, 1265, 1292, 1366 or 1406, else the
    /// nearest value is stored with that warning.
    pub fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        if value.is_null() || self.holds(&value) {
            return Ok(value);
        }
        let value = match (value, self.kind()) {
            (Value::Member(member), Kind::Integer | Kind::Number) => Value::UInt(member.number),
            (Value::Member(member), Kind::Characters(_) | Kind::Bytes | Kind::Date | Kind::Timestamp | Kind::Time) => {
                Value::text(&*member.text)
            }
            (Value::Json(json), Kind::Integer | Kind::Number) => {
                json.to_number().unwrap_or_else(|| Value::text(json.unquoted()))
            }
            (Value::Json(json), Kind::Characters(_) | Kind::Members(_)) => Value::text(json.to_string()),
            (Value::Json(json), Kind::Bytes) => Value::bytes(json.to_string().into_bytes()),
            (Value::Json(json), Kind::Date | Kind::Timestamp | Kind::Time) => Value::text(json.unquoted()),
            (value, _) => value,
        };
        face!(self, of => of.store(value, cx))
    }

    /// Whether values that rows and keys hold under the type `old` read as the same values under this one.
    pub fn reads_as(&self, old: &ColumnType) -> bool {
        match (old, self) {
            (ColumnType::Int(old), ColumnType::Int(new)) => (old.width, old.unsigned) == (new.width, new.unsigned),
            (ColumnType::VarChar(old), ColumnType::VarChar(new)) => old.extends_to(new),
            (ColumnType::VarBinary(old), ColumnType::VarBinary(new)) => old.extends_to(new),
            (ColumnType::Enum(_), ColumnType::Enum(_)) | (ColumnType::Set(_), ColumnType::Set(_)) => {
                let lists = old.members().zip(self.members());
                self.key_bytes() == old.key_bytes() && lists.is_some_and(|(old, new)| old.extends_to(new))
            }
            (old, new) => old == new,
        }
    }

    /// The type of a result column.
    pub fn result_type(&self, nullable: bool) -> ResultType {
        face!(self, of => of.result_type()).nullable(nullable)
    }

    /// Bytes of the value that `row` starts with (which may be more than there are); `None` if its length is not
    /// there.
    pub fn row_len(&self, row: &[u8]) -> Option<usize> {
        face!(self, of => of.row_len(row))
    }

    /// Appends a value as rows hold it; false (with nothing but garbage appended) if it is none of the type.
    pub fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        face!(self, of => of.write_row(value, row))
    }

    /// The value of [`ColumnType::row_len`] bytes; `None` if they are none of the type.
    pub fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        face!(self, of => of.read_row(bytes))
    }

    /// The same, put into its place; false, with the place as it was, if they are none.
    pub fn read_row_to(&self, bytes: &[u8], place: &mut Value) -> bool {
        face!(self, of => of.read_row_to(bytes, place))
    }

    /// Bytes of a value in a key; `None` for strings, whose collation knows where they end.
    pub fn key_bytes(&self) -> Option<usize> {
        face!(self, of => of.key_bytes())
    }

    /// Appends bytes whose order is that of the values, of a string's first characters (bytes of binary ones) if there
    /// is a prefix; false if it is no value of the type.
    pub fn write_key(&self, value: &Value, prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        face!(self, of => of.write_key(value, prefix, key))
    }

    /// The value of a whole key.
    pub fn read_key(&self, bytes: &[u8]) -> FromKey {
        face!(self, of => of.read_key(bytes))
    }
}

/// The type as SHOW CREATE TABLE and SHOW COLUMNS write it, without the collation.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        face!(self, of => of.show(f))
    }
}

impl Sizes {
    fn number(precision: u64, scale: Option<u64>) -> Sizes {
        Sizes { precision: Some(precision), scale, ..Sizes::default() }
    }

    fn string(chars: u64, bytes: u64) -> Sizes {
        Sizes { chars: Some(chars), bytes: Some(bytes), ..Sizes::default() }
    }

    fn moment(fsp: u8) -> Sizes {
        Sizes { fsp: Some(fsp.into()), ..Sizes::default() }
    }
}

impl Facts {
    /// Of a number, date or time without specialities.
    fn scalar(data_type: &'static str, sizes: Sizes, binlog: (FieldType, &[u8])) -> Facts {
        let mut meta = [0; 2];
        meta[..binlog.1.len()].copy_from_slice(binlog.1);
        Facts {
            data_type,
            sizes,
            max_bytes: 0,
            is_lob: false,
            unsigned: false,
            clock_digits: None,
            counter_max: None,
            binlog: (binlog.0, meta, binlog.1.len()),
        }
    }
}

impl FromKey {
    fn of(value: Option<Value>) -> FromKey {
        value.map_or(FromKey::Damaged, FromKey::Value)
    }
}

/// `UNSIGNED` or `SIGNED`, any number of times.
fn signedness(words: &mut dyn TypeWords) -> Result<bool, SqlError> {
    let mut unsigned = false;
    loop {
        if words.takes("UNSIGNED") {
            unsigned = true;
        } else if words.takes("ZEROFILL") {
            return Err(SqlError::unsupported("ZEROFILL"));
        } else if !words.takes("SIGNED") {
            return Ok(unsigned);
        }
    }
}

/// `(precision[, scale])`
fn digits(words: &mut dyn TypeWords) -> Result<(Option<u8>, Option<u8>), SqlError> {
    let (precision, scale) = words.numbers()?;
    if let Some(precision @ 256..) = precision {
        return Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&precision, &words.column(), &255]));
    }
    match scale {
        Some(scale @ 31..) => Err(SqlError::new(ER_TOO_BIG_SCALE, &[&scale, &words.column(), &30])),
        scale if scale > precision => Err(SqlError::new(ER_M_BIGGER_THAN_D, &[&words.column()])),
        scale => Ok((precision.map(|precision| precision as u8), scale.map(|scale| scale as u8))),
    }
}

/// `(fsp)`
fn fsp(words: &mut dyn TypeWords) -> Result<u8, SqlError> {
    match words.number()? {
        None => Ok(0),
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        Some(fsp) => Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&fsp, &words.column(), &6])),
    }
}

/// `(length)`, which may be missing if there is a default.
fn length(words: &mut dyn TypeWords, max: u16, default: Option<u16>) -> Result<u16, SqlError> {
    match words.number()? {
        None => default.ok_or_else(|| words.unexpected()),
        Some(length) => u16::try_from(length)
            .ok()
            .filter(|length| *length <= max)
            .ok_or_else(|| SqlError::new(ER_TOO_BIG_FIELDLENGTH, &[&words.column(), &max])),
    }
}

/// A little-endian number of up to 8 bytes.
fn read_le(bytes: &[u8]) -> u64 {
    match bytes.try_into() {
        Ok(four) => u32::from_le_bytes(four).into(),
        Err(_) => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}

/// A big-endian number of up to 8 bytes.
fn read_be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The low `len` bytes, big-endian.
fn write_be(value: u64, len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
}

#[cfg(test)]
mod tests;
