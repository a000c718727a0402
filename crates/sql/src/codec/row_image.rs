//! The stored value of a row.
use crate::catalog::definition::ColumnDef;
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
#[derive(Debug)]
pub struct RowCodec {}

/// Where the columns of one stored row lie; reused from row to row.
#[derive(Debug, Default)]
pub struct RowOffsets {}

/// A stored row, decoded column by column.
#[derive(Debug)]
pub struct RowReader<'a> { _a: &'a [u8] }

impl RowCodec {
    /// The codec of a table with `columns` in version `schema_version` of its definition.
    pub fn new(_columns: &[ColumnDef], _schema_version: u32) -> RowCodec { todo!() }
    /// Appends the stored form of a whole row. The values must be what [`crate::types::store`] gave for
    /// the columns' types.
    pub fn encode(&self, _values: &[Value], _out: &mut Vec<u8>) { todo!() }
    /// Finds the columns of a stored row. A row of an older definition gets the defaults of columns added since.
    pub fn open<'a>(&'a self, _stored: &'a [u8], _offsets: &'a mut RowOffsets) -> Result<RowReader<'a>, DamagedBytes> { todo!() }
    /// The binlog row image inside of a stored row that this codec's current version wrote.
    pub fn image<'a>(&self, _stored: &'a [u8]) -> Result<&'a [u8], DamagedBytes> { todo!() }
}
impl<'a> RowReader<'a> {
    /// Decodes one column.
    pub fn get(&self, _column: usize) -> Result<Value, DamagedBytes> { todo!() }
    /// Decodes the columns `wanted` into the same places of `row` (which has one place a column).
    pub fn read(&self, _wanted: &[usize], _row: &mut [Value]) -> Result<(), DamagedBytes> { todo!() }
    /// Appends a copy of the row, in the current version, with some columns replaced (sorted by column).
    pub fn write_changed(&self, _changes: &[(usize, Value)], _out: &mut Vec<u8>) -> Result<(), DamagedBytes> { todo!() }
    /// Whether the row was written under the codec's version, so that its image can be used as it is.
    pub fn is_current(&self) -> bool { todo!() }
}
