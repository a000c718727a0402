//! The checksum of a table, as InnoDB tables of MySQL 5.6 and MariaDB have it: the sum of the CRC32 of each row.
//!
//! A row is a bitmap of its NULLs as MySQL keeps it in memory, and after it the values that are not NULL, as that row format
//! has them: those of a binlog row, but texts without their lengths, and CHAR and BINARY of full length.

use crate::catalog::definition::ColumnDef;
use crate::error::SqlError;
use crate::session::ResultSink;
use crate::types::temporal::TimeZone;
use crate::types::{ColumnType, FieldType, ResultColumn};
use crate::value::Value;

/// A checksum in the making: it takes the rows of SELECT *.
pub(super) struct Checksum {
    columns: Vec<Column>,
    /// Bits of the bitmap in front of those of the columns: one where no column has a length of its own.
    first_bit: usize,
    nulls: usize,
    sum: u32,
    part: Vec<u8>,
    time_zone: TimeZone,
}

struct Column {
    column_type: ColumnType,
    field: FieldType,
    nullable: bool,
    /// Bytes of the length in front of a value.
    length_bytes: usize,
    /// Up to how many bytes it is filled, and with what.
    filled: Option<(usize, u8)>,
}

impl Checksum {
    /// Over a table with these columns, read in a session of this time zone.
    pub(super) fn of(columns: &[ColumnDef], time_zone: TimeZone) -> Checksum {
        let columns: Vec<Column> = columns.iter().map(Column::of).collect();
        let nulls = columns.iter().filter(|column| column.nullable).count();
        let packed = columns.iter().any(|column| column.length_bytes > 0 && column.filled.is_none());
        Checksum { columns, first_bit: usize::from(!packed), nulls, sum: 0, part: Vec::new(), time_zone }
    }

    pub(super) fn value(&self) -> u32 {
        self.sum
    }

    /// The bitmap of a row. Its unused bits are set.
    fn bitmap(&self, row: &[Value]) -> Vec<u8> {
        let bits = self.first_bit + self.nulls;
        let mut bitmap = vec![0; bits.div_ceil(8)];
        let nullable = self.columns.iter().zip(row).filter(|(column, _)| column.nullable);
        for (at, (_, value)) in nullable.enumerate() {
            let bit = self.first_bit + at;
            bitmap[bit / 8] |= u8::from(value.is_null()) << (bit % 8);
        }
        if let Some(last) = bitmap.last_mut().filter(|_| !bits.is_multiple_of(8)) {
            *last |= 0xff << (bits % 8);
        }
        if self.first_bit > 0 {
            bitmap[0] |= 1;
        }
        bitmap
    }
}

impl Column {
    fn of(def: &ColumnDef) -> Column {
        let facts = def.column_type.facts();
        let (field, meta, _) = facts.binlog;
        let long = 1 + usize::from(facts.max_bytes > 255);
        let (length_bytes, filled) = match (field, facts.data_type) {
            (FieldType::VarChar, _) => (long, None),
            (FieldType::Blob | FieldType::Json, _) => (usize::from(meta[0]), None),
            (_, "char") => (long, Some((facts.max_bytes as usize, b' '))),
            (_, "binary") => (long, Some((facts.max_bytes as usize, 0))),
            _ => (0, None),
        };
        Column { column_type: def.column_type.clone(), field, nullable: def.nullable, length_bytes, filled }
    }
}

impl ResultSink for Checksum {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.bitmap(row));
        for (column, value) in self.columns.iter().zip(row).filter(|(_, value)| !value.is_null()) {
            self.part.clear();
            // A TIMESTAMP is read as a time in the session's zone.
            let value = match value {
                Value::DateTime(local) if column.field == FieldType::Timestamp2 => {
                    local.to_timestamp(self.time_zone).map_or(Value::DateTime(*local), Value::Timestamp)
                }
                value => value.clone(),
            };
            if !column.column_type.write_row(&value, &mut self.part) {
                return Err(SqlError::internal("a stored value is none of its column"));
            }
            let mut bytes = column.length_bytes..self.part.len();
            if let Some((len, with)) = column.filled {
                self.part.resize(column.length_bytes + len, with);
                bytes.end = self.part.len();
            }
            crc.update(&self.part[bytes]);
        }
        self.sum = self.sum.wrapping_add(crc.finalize());
        Ok(())
    }
}
