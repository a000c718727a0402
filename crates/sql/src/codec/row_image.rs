//! The stored value of a row: what the binlog's row events hold, behind a version.
//!
//! Format
//! ```text
//! schema version   LEB128
//! null bitmap      one bit a column, from the lowest of the first byte; set = NULL
//! values           of the columns that are not NULL, in the binlog's row format (v2):
//!   integers       1, 2, 3, 4 or 8 bytes, little-endian      FLOAT, DOUBLE  4, 8 bytes, little-endian
//!   DECIMAL        groups of nine digits, see `Decimal`      YEAR           1 byte, year - 1900 (0 = 0000)
//!   strings        length (1 byte if the type's most bytes are below 256, else 2; BLOB and TEXT 1 to 4), bytes
//!   DATE           3 bytes, little-endian                    DATETIME, TIMESTAMP, TIME  see `scalar`
//! ```
//! CHAR lacks its trailing spaces and BINARY its trailing zero bytes, as MySQL packs them.
//!
//! Rows are not rewritten when a column is added: a row of an earlier version ends before the columns
//! that are younger ([`ColumnDef::since_version`]) and gets their defaults when it is read.
//!
//! Bytes are not trusted: lengths are checked when a row is opened, values when they are read.

use crate::catalog::definition::{ColumnDef, DefaultValue};
use crate::error::SqlError;
use crate::types::ColumnType;
use crate::types::decimal::Decimal;
use crate::types::scalar;
use crate::value::Value;

/// A stored row or key is not what this version writes: damage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damaged {what} at byte {offset}: {detail}")]
pub struct DamagedBytes {
    /// What was read: a row or a key.
    pub what: &'static str,
    /// Where in it.
    pub offset: usize,
    /// What was wrong.
    pub detail: &'static str,
}

/// Encodes and decodes the rows of one version of a table's definition.
#[derive(Clone, Debug)]
pub struct RowCodec {
    version: u32,
    columns: Vec<Column>,
    bitmap_len: usize,
}

#[derive(Clone, Debug)]
struct Column {
    form: Form,
    since_version: u32,
    /// What rows without the column have in its place.
    default: Value,
}

/// How a column's values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Int {
        len: u8,
        unsigned: bool,
    },
    Year,
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Date,
    DateTime {
        fsp: u8,
    },
    Timestamp {
        fsp: u8,
    },
    Time {
        fsp: u8,
    },
    Text {
        length_bytes: u8,
    },
    Bytes {
        length_bytes: u8,
    },
    /// BINARY(n): stored without trailing zero bytes.
    Padded {
        length_bytes: u8,
        len: u16,
    },
}

/// Where the columns of one stored row lie; reused from row to row.
#[derive(Debug, Default)]
pub struct RowOffsets {
    /// Start of each column that the row has, and the end of the last one. A NULL takes no bytes, any
    /// other value takes some.
    starts: Vec<u32>,
}

/// A stored row, decoded column by column.
#[derive(Debug)]
pub struct RowReader<'a> {
    codec: &'a RowCodec,
    stored: &'a [u8],
    starts: &'a [u32],
    version: u32,
    image_at: usize,
}

impl RowCodec {
    /// The codec of a table with `columns` in version `schema_version` of its definition.
    pub fn new(columns: &[ColumnDef], schema_version: u32) -> RowCodec {
        let columns: Vec<Column> = columns.iter().map(Column::new).collect();
        RowCodec { version: schema_version, bitmap_len: columns.len().div_ceil(8), columns }
    }

    /// Appends the stored form of a whole row. The values must be what [`crate::types::store()`] gave for
    /// the columns' types; anything else is an internal error, after which `out` is as it was.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), SqlError> {
        let start = out.len();
        write_varint(self.version, out);
        let bitmap_at = out.len();
        out.resize(bitmap_at + self.bitmap_len, 0);
        if values.len() != self.columns.len() {
            out.truncate(start);
            return Err(SqlError::internal(format_args!(
                "a row of {} columns got {} values",
                self.columns.len(),
                values.len()
            )));
        }
        for (at, (column, value)) in self.columns.iter().zip(values).enumerate() {
            if value.is_null() {
                out[bitmap_at + at / 8] |= 1 << (at % 8);
            } else if !column.form.write(value, out) {
                out.truncate(start);
                return Err(not_stored(at, value));
            }
        }
        Ok(())
    }

    /// Finds the columns of a stored row. A row of an older definition gets the defaults of columns
    /// added since.
    pub fn open<'a>(&'a self, stored: &'a [u8], offsets: &'a mut RowOffsets) -> Result<RowReader<'a>, DamagedBytes> {
        let (version, image_at) = self.read_version(stored)?;
        let count = if version == self.version {
            self.columns.len()
        } else {
            self.columns.iter().take_while(|column| column.since_version <= version).count()
        };
        let bitmap_len = count.div_ceil(8);
        let mut at = image_at + bitmap_len;
        let bitmap = stored.get(image_at..at).ok_or(damaged(image_at, "ends within its null bitmap"))?;
        offsets.starts.clear();
        for (index, column) in self.columns[..count].iter().enumerate() {
            offsets.starts.push(at as u32);
            if bitmap[index / 8] & 1 << (index % 8) == 0 {
                let len = column.form.len_at(&stored[at..]).ok_or(damaged(at, "ends within a value"))?;
                if len > stored.len() - at {
                    return Err(damaged(at, "ends within a value"));
                }
                at += len;
            }
        }
        offsets.starts.push(at as u32);
        if at != stored.len() || u32::try_from(at).is_err() {
            return Err(damaged(at, "goes on behind its last column"));
        }
        Ok(RowReader { codec: self, stored, starts: &offsets.starts, version, image_at })
    }

    /// The binlog row image inside of a stored row of the codec's version; an error for a row of an
    /// older one, which [`RowReader::write_changed`] brings to the present.
    pub fn image<'a>(&self, stored: &'a [u8]) -> Result<&'a [u8], DamagedBytes> {
        let (version, image_at) = self.read_version(stored)?;
        if version != self.version {
            return Err(damaged(0, "is of an older definition"));
        }
        Ok(&stored[image_at..])
    }

    fn read_version(&self, stored: &[u8]) -> Result<(u32, usize), DamagedBytes> {
        let (version, len) = read_varint(stored).ok_or(damaged(0, "has no schema version"))?;
        if version > self.version {
            return Err(damaged(0, "is of a newer definition"));
        }
        Ok((version, len))
    }
}

impl RowReader<'_> {
    /// Decodes one column.
    pub fn get(&self, column: usize) -> Result<Value, DamagedBytes> {
        let Some(definition) = self.codec.columns.get(column) else {
            return Err(damaged(self.stored.len(), "has no such column"));
        };
        let (Some(&start), Some(&end)) = (self.starts.get(column), self.starts.get(column + 1)) else {
            return Ok(definition.default.clone());
        };
        if start == end {
            return Ok(Value::Null);
        }
        let bytes = &self.stored[start as usize..end as usize];
        definition.form.read(bytes).ok_or(damaged(start as usize, "holds a value that its type cannot have"))
    }

    /// Decodes the columns `wanted` into the same places of `row`, which has one place a column.
    pub fn read(&self, wanted: &[usize], row: &mut [Value]) -> Result<(), DamagedBytes> {
        for &column in wanted {
            row[column] = self.get(column)?;
        }
        Ok(())
    }

    /// Appends a copy of the row, in the codec's version, with some columns replaced (by rising column).
    /// The values must be what [`crate::types::store()`] gave; after an error `out` is as it was.
    pub fn write_changed(&self, changes: &[(usize, Value)], out: &mut Vec<u8>) -> Result<(), SqlError> {
        if !self.is_current() {
            return self.write_upgraded(changes, out);
        }
        let start = out.len();
        let bitmap_at = start + self.image_at;
        out.reserve(self.stored.len() + 32);
        let mut copied = 0;
        for (column, value) in changes {
            let (Some(&from), Some(&to)) = (self.starts.get(*column), self.starts.get(*column + 1)) else {
                out.truncate(start);
                return Err(not_stored(*column, value));
            };
            // The bitmap lies before the first value, so that it has been copied by now.
            out.extend_from_slice(&self.stored[copied..from as usize]);
            copied = to as usize;
            let bit = 1 << (column % 8);
            let byte = &mut out[bitmap_at + column / 8];
            if value.is_null() {
                *byte |= bit;
                continue;
            }
            *byte &= !bit;
            if !self.codec.columns[*column].form.write(value, out) {
                out.truncate(start);
                return Err(not_stored(*column, value));
            }
        }
        out.extend_from_slice(&self.stored[copied..]);
        Ok(())
    }

    fn write_upgraded(&self, changes: &[(usize, Value)], out: &mut Vec<u8>) -> Result<(), SqlError> {
        let mut values = Vec::with_capacity(self.codec.columns.len());
        for column in 0..self.codec.columns.len() {
            values.push(self.get(column)?);
        }
        for (column, value) in changes {
            values[*column] = value.clone();
        }
        self.codec.encode(&values, out)
    }

    /// Whether the row was written under the codec's version, so that its image can be used as it is.
    pub fn is_current(&self) -> bool {
        self.version == self.codec.version
    }
}

impl Column {
    fn new(definition: &ColumnDef) -> Column {
        let default = match &definition.default {
            DefaultValue::Literal(value) => value.clone(),
            _ if definition.nullable => Value::Null,
            _ => definition.column_type.implicit_default(),
        };
        Column { form: Form::new(&definition.column_type), since_version: definition.since_version, default }
    }
}

impl Form {
    fn new(column_type: &ColumnType) -> Form {
        let length_bytes = if column_type.max_bytes() > 255 { 2 } else { 1 };
        match column_type {
            ColumnType::Int { width, unsigned, .. } => Form::Int { len: width.bytes() as u8, unsigned: *unsigned },
            ColumnType::Decimal { precision, scale, .. } => Form::Decimal { precision: *precision, scale: *scale },
            ColumnType::Float { .. } => Form::Float,
            ColumnType::Double { .. } => Form::Double,
            ColumnType::Char { .. } | ColumnType::VarChar { .. } => Form::Text { length_bytes },
            ColumnType::Text { size, .. } => Form::Text { length_bytes: size.length_bytes() as u8 },
            ColumnType::Binary { bytes } => Form::Padded { length_bytes, len: *bytes },
            ColumnType::VarBinary { .. } => Form::Bytes { length_bytes },
            ColumnType::Blob { size } => Form::Bytes { length_bytes: size.length_bytes() as u8 },
            ColumnType::Date => Form::Date,
            ColumnType::DateTime { fsp } => Form::DateTime { fsp: *fsp },
            ColumnType::Timestamp { fsp } => Form::Timestamp { fsp: *fsp },
            ColumnType::Time { fsp } => Form::Time { fsp: *fsp },
            ColumnType::Year => Form::Year,
        }
    }

    /// Bytes of the value that `bytes` start with (which may be more than there are); `None` if its
    /// length is not there.
    fn len_at(self, bytes: &[u8]) -> Option<usize> {
        Some(match self {
            Form::Int { len, .. } => usize::from(len),
            Form::Year => 1,
            Form::Float => 4,
            Form::Double => 8,
            Form::Decimal { precision, scale } => Decimal::binary_len(precision, scale),
            Form::Date => 3,
            Form::DateTime { fsp } => scalar::datetime_len(fsp),
            Form::Timestamp { fsp } => scalar::timestamp_len(fsp),
            Form::Time { fsp } => scalar::time_len(fsp),
            Form::Text { length_bytes } | Form::Bytes { length_bytes } | Form::Padded { length_bytes, .. } => {
                let length_bytes = usize::from(length_bytes);
                length_bytes + scalar::read_le(bytes.get(..length_bytes)?) as usize
            }
        })
    }

    /// Appends a value; false (with nothing but garbage appended) if it is not one of this form.
    fn write(self, value: &Value, out: &mut Vec<u8>) -> bool {
        match (self, value) {
            (Form::Int { len, unsigned: false }, Value::Int(int)) => {
                out.extend_from_slice(&int.to_le_bytes()[..usize::from(len)]);
            }
            (Form::Int { len, unsigned: true }, Value::UInt(int)) => {
                out.extend_from_slice(&int.to_le_bytes()[..usize::from(len)]);
            }
            (Form::Year, Value::UInt(year)) => out.push(year.saturating_sub(1900) as u8),
            (Form::Float, Value::Float(float)) => out.extend_from_slice(&float.to_le_bytes()),
            (Form::Double, Value::Double(double)) => out.extend_from_slice(&double.to_le_bytes()),
            (Form::Decimal { precision, scale }, Value::Decimal(decimal)) => {
                decimal.write_binary(precision, scale, out)
            }
            (Form::Date, Value::Date(date)) => out.extend_from_slice(&scalar::date_bits(*date).to_le_bytes()[..3]),
            (Form::DateTime { fsp }, Value::DateTime(value)) => scalar::write_datetime(*value, fsp, out),
            (Form::Timestamp { fsp }, Value::Timestamp(value)) => scalar::write_timestamp(*value, fsp, out),
            (Form::Time { fsp }, Value::Time(value)) => scalar::write_time(*value, fsp, out),
            (Form::Text { length_bytes }, Value::Text(text)) => {
                return write_string(text.as_bytes(), length_bytes, out);
            }
            (Form::Bytes { length_bytes }, Value::Bytes(bytes)) => return write_string(bytes, length_bytes, out),
            (Form::Padded { length_bytes, .. }, Value::Bytes(bytes)) => {
                let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
                return write_string(&bytes[..len], length_bytes, out);
            }
            _ => return false,
        }
        true
    }

    /// Reads the value that `bytes` are; `None` if they are none of this form. They have the length that
    /// [`Form::len_at`] found.
    fn read(self, bytes: &[u8]) -> Option<Value> {
        Some(match self {
            Form::Int { len, unsigned: true } => Value::UInt(scalar::read_le(&bytes[..usize::from(len)])),
            Form::Int { len, unsigned: false } => {
                let unused_bits = 64 - 8 * u32::from(len);
                Value::Int((scalar::read_le(bytes) << unused_bits) as i64 >> unused_bits)
            }
            Form::Year => Value::UInt(if bytes[0] == 0 { 0 } else { 1900 + u64::from(bytes[0]) }),
            Form::Float => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?)),
            Form::Double => Value::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
            Form::Decimal { precision, scale } => Value::Decimal(Decimal::read_binary(precision, scale, bytes)?),
            Form::Date => Value::Date(scalar::date_from_bits(scalar::read_le(bytes) as u32)?),
            Form::DateTime { fsp } => Value::DateTime(scalar::read_datetime(bytes, fsp)?),
            Form::Timestamp { fsp } => Value::Timestamp(scalar::read_timestamp(bytes, fsp)?),
            Form::Time { fsp } => Value::Time(scalar::read_time(bytes, fsp)?),
            Form::Text { length_bytes } => Value::text(std::str::from_utf8(&bytes[usize::from(length_bytes)..]).ok()?),
            Form::Bytes { length_bytes } => Value::bytes(&bytes[usize::from(length_bytes)..]),
            Form::Padded { length_bytes, len } => {
                let stored = &bytes[usize::from(length_bytes)..];
                let mut padded = vec![0; usize::from(len)];
                padded.get_mut(..stored.len())?.copy_from_slice(stored);
                Value::bytes(padded)
            }
        })
    }
}

/// Appends length and bytes; false if the length does not fit.
fn write_string(bytes: &[u8], length_bytes: u8, out: &mut Vec<u8>) -> bool {
    let len = bytes.len() as u64;
    if len >> (8 * u32::from(length_bytes)) != 0 {
        return false;
    }
    out.extend_from_slice(&len.to_le_bytes()[..usize::from(length_bytes)]);
    out.extend_from_slice(bytes);
    true
}

fn damaged(offset: usize, detail: &'static str) -> DamagedBytes {
    DamagedBytes { what: "row", offset, detail }
}

fn not_stored(column: usize, value: &Value) -> SqlError {
    SqlError::internal(format_args!("column {column} was given {value:?}, which its type does not store"))
}

impl From<DamagedBytes> for SqlError {
    fn from(damage: DamagedBytes) -> SqlError {
        SqlError::new(crate::error::ER_NOT_KEYFILE, &[&damage])
    }
}

fn write_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read_varint(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value: u32 = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= u32::from(byte & 0x7f).checked_shl(7 * at as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests;
