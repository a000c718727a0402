//! How the binlog's table maps describe a column.

use cohort_log::binlog::ColumnMeta;

use crate::catalog::definition::ColumnDef;
use crate::collation::Collation;
use crate::types::{ColumnType, IntWidth};

const TYPE_TINY: u8 = 1;
const TYPE_SHORT: u8 = 2;
const TYPE_LONG: u8 = 3;
const TYPE_FLOAT: u8 = 4;
const TYPE_DOUBLE: u8 = 5;
const TYPE_LONGLONG: u8 = 8;
const TYPE_INT24: u8 = 9;
const TYPE_DATE: u8 = 10;
const TYPE_YEAR: u8 = 13;
const TYPE_VARCHAR: u8 = 15;
const TYPE_TIMESTAMP2: u8 = 17;
const TYPE_DATETIME2: u8 = 18;
const TYPE_TIME2: u8 = 19;
const TYPE_NEWDECIMAL: u8 = 246;
const TYPE_BLOB: u8 = 252;
const TYPE_STRING: u8 = 254;

/// The column as row events of the binlog describe it; [`super::RowCodec`] writes values in just this
/// form.
pub fn binlog_column_meta(column: &ColumnDef) -> ColumnMeta {
    let column_type = &column.column_type;
    let (type_code, meta) = type_and_meta(column_type);
    let unsigned = match column_type {
        ColumnType::Int { unsigned, .. }
        | ColumnType::Decimal { unsigned, .. }
        | ColumnType::Float { unsigned, .. }
        | ColumnType::Double { unsigned, .. } => *unsigned,
        ColumnType::Year => true,
        _ => false,
    };
    ColumnMeta {
        type_code,
        meta,
        nullable: column.nullable,
        unsigned,
        charset: column_type.collation().unwrap_or(Collation::Binary).id(),
        name: column.name.clone(),
    }
}

fn type_and_meta(column_type: &ColumnType) -> (u8, Vec<u8>) {
    let length = column_type.max_bytes() as u16;
    match column_type {
        ColumnType::Int { width, .. } => {
            let code = match width {
                IntWidth::Tiny => TYPE_TINY,
                IntWidth::Small => TYPE_SHORT,
                IntWidth::Medium => TYPE_INT24,
                IntWidth::Int => TYPE_LONG,
                IntWidth::Big => TYPE_LONGLONG,
            };
            (code, Vec::new())
        }
        ColumnType::Decimal { precision, scale, .. } => (TYPE_NEWDECIMAL, vec![*precision, *scale]),
        ColumnType::Float { .. } => (TYPE_FLOAT, vec![4]),
        ColumnType::Double { .. } => (TYPE_DOUBLE, vec![8]),
        // The two upper bits of the length hide, inverted, in the type.
        ColumnType::Char { .. } | ColumnType::Binary { .. } => {
            (TYPE_STRING, vec![TYPE_STRING ^ ((length & 0x300) >> 4) as u8, length as u8])
        }
        ColumnType::VarChar { .. } | ColumnType::VarBinary { .. } => (TYPE_VARCHAR, length.to_le_bytes().to_vec()),
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => (TYPE_BLOB, vec![size.length_bytes() as u8]),
        ColumnType::Date => (TYPE_DATE, Vec::new()),
        ColumnType::DateTime { fsp } => (TYPE_DATETIME2, vec![*fsp]),
        ColumnType::Timestamp { fsp } => (TYPE_TIMESTAMP2, vec![*fsp]),
        ColumnType::Time { fsp } => (TYPE_TIME2, vec![*fsp]),
        ColumnType::Year => (TYPE_YEAR, Vec::new()),
    }
}

#[cfg(test)]
mod tests;
