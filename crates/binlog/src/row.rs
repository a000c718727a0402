//! Rows of row events, as values for people and checks.

use cohort_types::{ColumnType, FieldType, Value};

use crate::events::table_map::{DecodedColumn, TableMapEvent, stored_field};
use crate::fields::{DecodeError, Fields};

/// A row of a row event. Columns the event leaves out are missing from both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The row before an update or a delete.
    pub before: Option<Vec<Value>>,
    /// The row after an update or an insert.
    pub after: Option<Vec<Value>>,
}

/// Iterates over the rows of an event.
pub(super) struct Rows<'a> {
    columns: Vec<Reading>,
    /// The columns present before and after, where the event has such images.
    images: [Option<&'a [u8]>; 2],
    fields: Fields<'a>,
    mismatch: bool,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        table: &TableMapEvent,
        images: [Option<&'a [u8]>; 2],
        fields: Fields<'a>,
        mismatch: bool,
    ) -> Rows<'a> {
        Rows { columns: table.columns.iter().map(Reading::of).collect(), images, fields, mismatch }
    }

    fn row(&mut self) -> Result<Row, DecodeError> {
        if self.mismatch {
            return Err(self.fields.error("the table map is of another table"));
        }
        let [before, after] = self.images;
        let mut next =
            |present: Option<&[u8]>| present.map(|present| image(&mut self.fields, &self.columns, present)).transpose();
        Ok(Row { before: next(before)?, after: next(after)? })
    }
}

impl Iterator for Rows<'_> {
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

/// How the values of a column are read.
#[derive(Clone)]
enum Reading {
    As(ColumnType),
    /// The number of an ENUM's or SET's value, of so many bytes.
    Number(usize),
    Unknown,
}

impl Reading {
    fn of(column: &DecodedColumn) -> Reading {
        let meta = [0, 1].map(|at| column.meta.get(at).copied().unwrap_or(0));
        let field = stored_field(column.field, &column.meta);
        if matches!(field, FieldType::Enum | FieldType::Set) {
            return Reading::Number(usize::from(meta[1]));
        }
        ColumnType::from_binlog(field, meta, column.unsigned).map_or(Reading::Unknown, Reading::As)
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Value, DecodeError> {
        match self {
            Reading::As(column_type) => {
                let len = column_type.row_len(fields.peek()).ok_or_else(|| fields.error("bytes cut off"))?;
                let bytes = fields.take(len)?;
                column_type.read_row(bytes).ok_or_else(|| fields.error("a value that its type cannot have"))
            }
            Reading::Number(bytes @ 1..=8) => fields.uint_le(*bytes).map(Value::UInt),
            Reading::Number(_) | Reading::Unknown => Err(fields.error("a column type that cannot be decoded")),
        }
    }
}

fn image(fields: &mut Fields<'_>, columns: &[Reading], present: &[u8]) -> Result<Vec<Value>, DecodeError> {
    let is_present = |i: &usize| present.get(i / 8).is_some_and(|byte| byte & 1 << (i % 8) != 0);
    let count = (0..columns.len()).filter(is_present).count();
    let nulls = fields.take(count.div_ceil(8))?;
    let mut values = Vec::with_capacity(count);
    for (bit, i) in (0..columns.len()).filter(is_present).enumerate() {
        let null = nulls[bit / 8] & 1 << (bit % 8) != 0;
        values.push(if null { Value::Null } else { columns[i].read(fields)? });
    }
    Ok(values)
}
