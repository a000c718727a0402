//! Rows of row events, as values for people and checks.

use std::fmt;

use cohort_types::FieldType;

use super::decode::{DecodeError, DecodedColumn, RowsEvent, TableMapEvent};
use super::fields::Fields;
use super::table_map::stored_field;
use super::wire::EventType;

/// A column's value.
#[derive(Clone, Debug, PartialEq)]
pub enum RowValue {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, YEAR, BIT, or the number of an ENUM's or SET's value.
    Unsigned(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL, with all the digits of its scale.
    Decimal(String),
    /// Characters or bytes, as stored.
    Bytes(Vec<u8>),
    /// DATE: year, month, day.
    Date(u16, u8, u8),
    /// DATETIME.
    DateTime {
        /// Year, month, day.
        date: (u16, u8, u8),
        /// Hours, minutes, seconds.
        time: (u8, u8, u8),
        /// Microseconds.
        micros: u32,
    },
    /// TIMESTAMP: seconds since the epoch and microseconds.
    Timestamp(u32, u32),
    /// TIME in microseconds.
    Time(i64),
}

/// A row of a row event. Columns the event leaves out are missing from both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The row before an update or a delete.
    pub before: Option<Vec<RowValue>>,
    /// The row after an update or an insert.
    pub after: Option<Vec<RowValue>>,
}

/// Iterates over the rows of an event.
pub(super) struct Rows<'a, 't> {
    kind: EventType,
    table: &'t TableMapEvent,
    present_first: &'a [u8],
    present_second: &'a [u8],
    fields: Fields<'a>,
    mismatch: bool,
}

impl<'a, 't> Rows<'a, 't> {
    pub(super) fn new(event: &RowsEvent<'a>, table: &'t TableMapEvent) -> Rows<'a, 't> {
        Rows {
            kind: event.kind,
            table,
            present_first: event.present_first,
            present_second: event.present_second,
            fields: Fields::new(event.rows),
            mismatch: event.table_id != table.table_id || event.columns != table.columns.len(),
        }
    }

    fn row(&mut self) -> Result<Row, DecodeError> {
        if self.mismatch {
            return Err(self.fields.error("the table map is of another table"));
        }
        let mut row = Row::default();
        let first = Some(image(&mut self.fields, self.table, self.present_first)?);
        match self.kind {
            EventType::WRITE_ROWS => row.after = first,
            EventType::DELETE_ROWS => row.before = first,
            _ => {
                row.before = first;
                row.after = Some(image(&mut self.fields, self.table, self.present_second)?);
            }
        }
        Ok(row)
    }
}

impl Iterator for Rows<'_, '_> {
    type Item = Result<Row, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.fields.is_at_end() {
            return None;
        }
        let before = self.fields.at();
        let mut row = self.row();
        if row.is_ok() && self.fields.at() == before {
            row = Err(self.fields.error("a row without bytes"));
        }
        if row.is_err() {
            self.fields.rest();
        }
        Some(row)
    }
}

fn image(fields: &mut Fields<'_>, table: &TableMapEvent, present: &[u8]) -> Result<Vec<RowValue>, DecodeError> {
    let is_present = |i: &usize| present.get(i / 8).is_some_and(|byte| byte & 1 << (i % 8) != 0);
    let count = (0..table.columns.len()).filter(is_present).count();
    let nulls = fields.take(count.div_ceil(8))?;
    let mut values = Vec::with_capacity(count);
    for (bit, i) in (0..table.columns.len()).filter(is_present).enumerate() {
        let null = nulls[bit / 8] & 1 << (bit % 8) != 0;
        values.push(if null { RowValue::Null } else { value(fields, &table.columns[i])? });
    }
    Ok(values)
}

fn value(fields: &mut Fields<'_>, column: &DecodedColumn) -> Result<RowValue, DecodeError> {
    use FieldType::*;
    let meta = |i: usize| column.meta.get(i).copied().unwrap_or(0);
    match stored_field(column.field, &column.meta) {
        Tiny | Bool => integer(fields, column, 1),
        Short => integer(fields, column, 2),
        Int24 => integer(fields, column, 3),
        Long => integer(fields, column, 4),
        LongLong => integer(fields, column, 8),
        Float => Ok(RowValue::Float(f32::from_le_bytes(fields.array()?))),
        Double => Ok(RowValue::Double(f64::from_le_bytes(fields.array()?))),
        NewDecimal => decimal(fields, usize::from(meta(0)), usize::from(meta(1))),
        VarChar | VarString => string(fields, usize::from(u16::from_le_bytes([meta(0), meta(1)]))),
        // Two bits of the length are, inverted, in the type.
        String => string(fields, usize::from(meta(1)) | usize::from((meta(0) & 0x30) ^ 0x30) << 4),
        Enum | Set => {
            if meta(1) > 8 {
                return Err(fields.error("ENUM or SET longer than eight bytes"));
            }
            fields.uint_le(usize::from(meta(1))).map(RowValue::Unsigned)
        }
        TinyBlob | MediumBlob | LongBlob | Blob | Json | Geometry => {
            let len_bytes = usize::from(meta(0));
            if !(1..=4).contains(&len_bytes) {
                return Err(fields.error("impossible length of a BLOB's length"));
            }
            let len = fields.uint_le(len_bytes)? as usize;
            Ok(RowValue::Bytes(fields.take(len)?.to_vec()))
        }
        Date => {
            let packed = fields.uint_le(3)?;
            Ok(RowValue::Date((packed >> 9) as u16, (packed >> 5 & 15) as u8, (packed & 31) as u8))
        }
        Year => Ok(RowValue::Unsigned(match u64::from(fields.u8()?) {
            0 => 0,
            year => 1900 + year,
        })),
        Timestamp2 => {
            let seconds = fields.uint_be(4)? as u32;
            Ok(RowValue::Timestamp(seconds, fraction(fields, meta(0))?))
        }
        DateTime2 => datetime(fields, meta(0)),
        Time2 => time(fields, meta(0)),
        Bit => {
            let len = usize::from(meta(1)) + usize::from(meta(0) > 0);
            if len > 8 {
                return Err(fields.error("BIT longer than 64"));
            }
            fields.uint_be(len).map(RowValue::Unsigned)
        }
        Null => Ok(RowValue::Null),
        Decimal | Timestamp | Time | DateTime => Err(fields.error("a column type of before MySQL 5.6")),
    }
}

fn integer(fields: &mut Fields<'_>, column: &DecodedColumn, bytes: usize) -> Result<RowValue, DecodeError> {
    let value = fields.uint_le(bytes)?;
    if column.unsigned {
        return Ok(RowValue::Unsigned(value));
    }
    let unused = 64 - 8 * bytes as u32;
    Ok(RowValue::Int((value << unused) as i64 >> unused))
}

fn string(fields: &mut Fields<'_>, bytes_max: usize) -> Result<RowValue, DecodeError> {
    let len = fields.uint_le(if bytes_max > 255 { 2 } else { 1 })? as usize;
    Ok(RowValue::Bytes(fields.take(len)?.to_vec()))
}

/// Microseconds from the bytes behind a time of so many digits.
fn fraction(fields: &mut Fields<'_>, digits: u8) -> Result<u32, DecodeError> {
    let bytes = digits.div_ceil(2);
    if bytes > 3 {
        return Err(fields.error("more than six digits of a second"));
    }
    Ok(fields.uint_be(usize::from(bytes))? as u32 * 100u32.pow(3 - u32::from(bytes)))
}

fn datetime(fields: &mut Fields<'_>, digits: u8) -> Result<RowValue, DecodeError> {
    let packed = fields.uint_be(5)?.wrapping_sub(1 << 39);
    let months = packed >> 22 & 0x1_ffff;
    Ok(RowValue::DateTime {
        date: ((months / 13) as u16, (months % 13) as u8, (packed >> 17 & 31) as u8),
        time: ((packed >> 12 & 31) as u8, (packed >> 6 & 63) as u8, (packed & 63) as u8),
        micros: fraction(fields, digits)?,
    })
}

/// TIME is one number around a middle, fraction included, so that negative ones sort.
fn time(fields: &mut Fields<'_>, digits: u8) -> Result<RowValue, DecodeError> {
    let fraction_bytes = u32::from(digits.div_ceil(2));
    if fraction_bytes > 3 {
        return Err(fields.error("more than six digits of a second"));
    }
    let bytes = 3 + fraction_bytes;
    let packed = fields.uint_be(bytes as usize)? as i64 - (1 << (8 * bytes - 1));
    let (sign, packed) = (packed.signum(), packed.abs());
    let seconds = packed >> (8 * fraction_bytes);
    let seconds = (seconds >> 12 & 0x3ff) * 3600 + (seconds >> 6 & 63) * 60 + (seconds & 63);
    let micros = (packed & ((1 << (8 * fraction_bytes)) - 1)) * 100i64.pow(3 - fraction_bytes);
    Ok(RowValue::Time(sign * (seconds * 1_000_000 + micros)))
}

/// Nine digits take four bytes; the rest of the digits takes fewer.
const DECIMAL_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

fn decimal(fields: &mut Fields<'_>, precision: usize, scale: usize) -> Result<RowValue, DecodeError> {
    if precision == 0 || precision > 65 || scale > precision {
        return Err(fields.error("impossible precision of a DECIMAL"));
    }
    let integer = precision - scale;
    let bytes = integer / 9 * 4 + DECIMAL_BYTES[integer % 9] + scale / 9 * 4 + DECIMAL_BYTES[scale % 9];
    let mut digits = fields.take(bytes)?.to_vec();
    let negative = digits.first().is_some_and(|byte| byte & 0x80 == 0);
    if let Some(first) = digits.first_mut() {
        *first ^= 0x80;
    }
    if negative {
        digits.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut groups = Fields::new(&digits);
    let mut text = String::new();
    push_digits(&mut text, &mut groups, integer % 9)?;
    for _ in 0..integer / 9 {
        push_digits(&mut text, &mut groups, 9)?;
    }
    let leading = text.trim_start_matches('0');
    let mut text = if leading.is_empty() { "0".to_owned() } else { leading.to_owned() };
    if scale > 0 {
        text.push('.');
        for _ in 0..scale / 9 {
            push_digits(&mut text, &mut groups, 9)?;
        }
        push_digits(&mut text, &mut groups, scale % 9)?;
    }
    if negative {
        text.insert(0, '-');
    }
    Ok(RowValue::Decimal(text))
}

fn push_digits(text: &mut String, groups: &mut Fields<'_>, count: usize) -> Result<(), DecodeError> {
    use fmt::Write;
    if count == 0 {
        return Ok(());
    }
    let group = groups.uint_be(DECIMAL_BYTES[count])?;
    if group >= 10u64.pow(count as u32) {
        return Err(groups.error("not the digits of a DECIMAL"));
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "{group:0count$}");
    Ok(())
}

impl fmt::Display for RowValue {
    /// As a literal: bytes that are UTF-8 in quotes, others in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowValue::Null => f.write_str("NULL"),
            RowValue::Int(value) => value.fmt(f),
            RowValue::Unsigned(value) => value.fmt(f),
            RowValue::Float(value) => value.fmt(f),
            RowValue::Double(value) => value.fmt(f),
            RowValue::Decimal(text) => f.write_str(text),
            RowValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => write!(f, "'{}'", text.escape_default()),
                Err(_) => {
                    f.write_str("0x")?;
                    bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
                }
            },
            RowValue::Date(year, month, day) => write!(f, "'{year:04}-{month:02}-{day:02}'"),
            RowValue::DateTime { date: (year, month, day), time: (hour, minute, second), micros } => {
                write!(f, "'{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}'")
            }
            RowValue::Timestamp(seconds, micros) => write!(f, "{seconds}.{micros:06}"),
            RowValue::Time(micros) => {
                let sign = if *micros < 0 { "-" } else { "" };
                let (seconds, micros) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
                let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
                write!(f, "'{sign}{hours:02}:{minutes:02}:{:02}.{micros:06}'", seconds % 60)
            }
        }
    }
}
