//! The stored value of a row: what the binlog's row events hold, after a version.
//!
//! Format
//! ```text
//! schema version   LEB128
//! null bitmap      one bit a column, from the lowest of the first byte; set = NULL
//! values           of the columns that are not NULL, in the binlog's row format (v2), which their types write
//! ```
//! CHAR lacks its trailing spaces and BINARY its trailing zero bytes, as MySQL packs them.
//!
//! Rows are not rewritten when a column is added: a row of an earlier version ends before the columns
//! that are younger ([`ColumnDef::since_version`]) and gets [`ColumnDef::before`] in their places when it is read. Nor are
//! they when columns are dropped, or come between others: a row of a version before that has the columns of a
//! [`FormerLayout`].
//!
//! Bytes are not trusted: lengths are checked when a row is opened, values when they are read.

use crate::catalog::definition::{ColumnDef, FormerColumn, FormerLayout};
use crate::error::SqlError;
use crate::types::ColumnType;
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
    /// Where the first columns begin, from the first value on, as far as each before has a fixed length and is not NULL.
    fixed_starts: Vec<u32>,
    former: Vec<Former>,
}

/// The layout of rows up to a version.
#[derive(Clone, Debug)]
struct Former {
    until_version: u32,
    columns: Vec<Column>,
    /// By present column, its place among those.
    places: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
struct Column {
    column_type: ColumnType,
    /// Bytes of a value, where all have the same length.
    fixed_len: Option<usize>,
    since_version: u32,
    /// What rows without the column have in its place.
    before: Value,
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
    starts: Starts<'a>,
    version: u32,
    image_at: usize,
    /// By column, where it is in the row, if not at its own place.
    places: Option<&'a [Option<usize>]>,
    /// Of how many columns it is known where they are.
    wanted: usize,
}

/// Where columns start.
#[derive(Clone, Copy, Debug)]
enum Starts<'a> {
    /// Each so far behind this place: of columns of fixed lengths, none of which is NULL.
    Fixed(u32, &'a [u32]),
    Each(&'a [u32]),
}

impl Starts<'_> {
    /// Start and end of a column; `None` if the row has no such one.
    fn bounds(self, column: usize) -> Option<(u32, u32)> {
        let (from, starts) = match self {
            Starts::Fixed(from, starts) => (from, starts),
            Starts::Each(starts) => (0, starts),
        };
        Some((from + starts.get(column)?, from + starts.get(column + 1)?))
    }
}

impl RowCodec {
    /// The codec of a table with `columns` in version `schema_version` of its definition.
    pub fn new(columns: &[ColumnDef], schema_version: u32) -> RowCodec {
        let columns: Vec<Column> = columns.iter().map(Column::new).collect();
        let mut fixed_starts = vec![0];
        for len in columns.iter().map_while(|column| column.fixed_len) {
            fixed_starts.push(fixed_starts[fixed_starts.len() - 1] + len as u32);
        }
        let bitmap_len = columns.len().div_ceil(8);
        RowCodec { version: schema_version, bitmap_len, columns, fixed_starts, former: Vec::new() }
    }

    /// The same for a table whose rows of earlier versions are laid out like `former`, the oldest first.
    pub fn with_former(self, former: &[FormerLayout]) -> RowCodec {
        let column = |column: &FormerColumn| Column {
            column_type: column.column_type.clone(),
            fixed_len: fixed_len(&column.column_type),
            since_version: column.since_version,
            before: Value::Null,
        };
        let layout = |former: &FormerLayout| {
            let place = |present| former.columns.iter().position(|column| column.column == Some(present));
            Former {
                until_version: former.until_version,
                columns: former.columns.iter().map(column).collect(),
                places: (0..self.columns.len()).map(place).collect(),
            }
        };
        RowCodec { former: former.iter().map(layout).collect(), ..self }
    }

    /// Appends the stored form of a whole row. The values must be what [`ColumnType::store`] gave for
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
            } else if !column.column_type.write_row(value, out) {
                out.truncate(start);
                return Err(not_stored(at, value));
            }
        }
        Ok(())
    }

    /// Finds the columns of a stored row. A row of an older definition gets [`ColumnDef::before`]
    /// of columns added since, and does not show those that were dropped.
    pub fn open<'a>(&'a self, stored: &'a [u8], offsets: &'a mut RowOffsets) -> Result<RowReader<'a>, DamagedBytes> {
        self.open_first(self.columns.len(), stored, offsets)
    }

    /// The same for who reads none but the first `wanted` columns: nothing is known of the others, which may be damaged.
    pub fn open_first<'a>(
        &'a self,
        wanted: usize,
        stored: &'a [u8],
        offsets: &'a mut RowOffsets,
    ) -> Result<RowReader<'a>, DamagedBytes> {
        let (version, image_at) = self.read_version(stored)?;
        let former = match version == self.version {
            true => None,
            false => self.former.iter().find(|former| version <= former.until_version),
        };
        let columns = former.map_or(&self.columns, |former| &former.columns);
        let count = if version == self.version {
            columns.len()
        } else {
            columns.iter().take_while(|column| column.since_version <= version).count()
        };
        let bitmap_len = count.div_ceil(8);
        let mut at = image_at + bitmap_len;
        let bitmap = stored.get(image_at..at).ok_or(damaged(image_at, "ends within its null bitmap"))?;
        offsets.starts.clear();
        // A row of another layout has its columns elsewhere.
        let last = if former.is_none() { count.min(wanted) } else { count };
        let mut first = 0;
        if version == self.version {
            first = (self.fixed_starts.len() - 1).min(last);
            if has_nulls(bitmap, first) {
                first = 0;
            }
            let end = at + self.fixed_starts[first] as usize;
            let is_end = if last == count { end == stored.len() } else { end <= stored.len() };
            if first == last && is_end && u32::try_from(end).is_ok() {
                let starts = Starts::Fixed(at as u32, &self.fixed_starts[..=first]);
                return Ok(RowReader { codec: self, stored, starts, version, image_at, places: None, wanted });
            }
            offsets.starts.extend(self.fixed_starts[..first].iter().map(|start| at as u32 + start));
            at += self.fixed_starts[first] as usize;
            if at > stored.len() {
                return Err(damaged(at, "ends within a value"));
            }
        }
        for (index, column) in columns[..last].iter().enumerate().skip(first) {
            offsets.starts.push(at as u32);
            if bitmap[index / 8] & 1 << (index % 8) == 0 {
                let len = column.fixed_len.or_else(|| column.column_type.row_len(&stored[at..]));
                let len = len.ok_or(damaged(at, "ends within a value"))?;
                if len > stored.len() - at {
                    return Err(damaged(at, "ends within a value"));
                }
                at += len;
            }
        }
        offsets.starts.push(at as u32);
        if (last == count && at != stored.len()) || u32::try_from(at).is_err() {
            return Err(damaged(at, "goes on after its last column"));
        }
        let places = former.map(|former| &former.places[..]);
        let starts = Starts::Each(&offsets.starts);
        Ok(RowReader { codec: self, stored, starts, version, image_at, places, wanted })
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
        let mut value = Value::Null;
        self.get_to(column, &mut value)?;
        Ok(value)
    }

    /// The same, put into its place.
    fn get_to(&self, column: usize, value: &mut Value) -> Result<(), DamagedBytes> {
        let Some(definition) = self.codec.columns.get(column).filter(|_| column < self.wanted) else {
            return Err(damaged(self.stored.len(), "has no such column"));
        };
        let place = self.places.map_or(Some(column), |places| places[column]);
        let Some((start, end)) = place.and_then(|place| self.starts.bounds(place)) else {
            value.clone_from(&definition.before);
            return Ok(());
        };
        if start == end {
            *value = Value::Null;
            return Ok(());
        }
        match definition.column_type.read_row_to(&self.stored[start as usize..end as usize], value) {
            true => Ok(()),
            false => Err(damaged(start as usize, "holds a value that its type cannot have")),
        }
    }

    /// Decodes the columns `wanted` into the same places of `row`, which has one place a column.
    pub fn read(&self, wanted: &[usize], row: &mut [Value]) -> Result<(), DamagedBytes> {
        for &column in wanted {
            self.get_to(column, &mut row[column])?;
        }
        Ok(())
    }

    /// Appends the image of some columns, by rising column, as row events have it: a bit for each that is NULL, and the
    /// values that are not. The row must be of the codec's version.
    pub fn write_image(&self, columns: &[usize], out: &mut Vec<u8>) {
        let nulls_at = out.len();
        out.resize(nulls_at + columns.len().div_ceil(8), 0);
        for (bit, column) in columns.iter().enumerate() {
            let (start, end) = self.starts.bounds(*column).expect("columns of the row");
            if start == end {
                out[nulls_at + bit / 8] |= 1 << (bit % 8);
            }
            out.extend_from_slice(&self.stored[start as usize..end as usize]);
        }
    }

    /// Appends a copy of the row, in the codec's version, with some columns replaced (by rising column).
    /// The values must be what [`ColumnType::store`] gave; after an error `out` is as it was.
    pub fn write_changed(&self, changes: &[(usize, Value)], out: &mut Vec<u8>) -> Result<(), SqlError> {
        if !self.is_current() {
            return self.write_upgraded(changes, out);
        }
        let start = out.len();
        let bitmap_at = start + self.image_at;
        out.reserve(self.stored.len() + 32);
        let mut copied = 0;
        for (column, value) in changes {
            let Some((from, to)) = self.starts.bounds(*column) else {
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
            if !self.codec.columns[*column].column_type.write_row(value, out) {
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
        let before = definition.before.clone().unwrap_or(Value::Null);
        Column {
            column_type: definition.column_type.clone(),
            fixed_len: fixed_len(&definition.column_type),
            since_version: definition.since_version,
            before,
        }
    }
}

/// Whether one of the first `count` columns is NULL.
fn has_nulls(bitmap: &[u8], count: usize) -> bool {
    let (whole, rest) = (count / 8, count % 8);
    bitmap[..whole].iter().any(|bits| *bits != 0) || (rest > 0 && bitmap[whole] & ((1 << rest) - 1) != 0)
}

/// The length of a type's values in rows where none of their bytes has a say in it: it is known without any.
fn fixed_len(column_type: &ColumnType) -> Option<usize> {
    column_type.row_len(&[])
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
