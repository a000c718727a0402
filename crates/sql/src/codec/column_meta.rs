//! How the binlog's table maps describe a column.

use cohort_binlog::ColumnMeta;

use crate::catalog::definition::ColumnDef;
use crate::collation::Collation;
use crate::types::{ColumnType, FieldType, IntWidth};

/// The column as row events of the binlog describe it; [`super::RowCodec`] writes values in just this
/// form.
pub fn binlog_column_meta(column: &ColumnDef) -> ColumnMeta {
    let column_type = &column.column_type;
    let (field, meta) = field_and_meta(column_type);
    let unsigned = match column_type {
        ColumnType::Int { unsigned, .. }
        | ColumnType::Decimal { unsigned, .. }
        | ColumnType::Float { unsigned, .. }
        | ColumnType::Double { unsigned, .. } => *unsigned,
        ColumnType::Year => true,
        _ => false,
    };
    ColumnMeta {
        field,
        meta,
        nullable: column.nullable,
        unsigned,
        charset: column_type.collation().unwrap_or(Collation::Binary).id(),
        name: column.name.clone(),
    }
}

fn field_and_meta(column_type: &ColumnType) -> (FieldType, Vec<u8>) {
    let length = column_type.max_bytes() as u16;
    match column_type {
        ColumnType::Int { width, .. } => {
            let field = match width {
                IntWidth::Tiny => FieldType::Tiny,
                IntWidth::Small => FieldType::Short,
                IntWidth::Medium => FieldType::Int24,
                IntWidth::Int => FieldType::Long,
                IntWidth::Big => FieldType::LongLong,
            };
            (field, Vec::new())
        }
        ColumnType::Decimal { precision, scale, .. } => (FieldType::NewDecimal, vec![*precision, *scale]),
        ColumnType::Float { .. } => (FieldType::Float, vec![4]),
        ColumnType::Double { .. } => (FieldType::Double, vec![8]),
        // The two upper bits of the length hide, inverted, in the type.
        ColumnType::Char { .. } | ColumnType::Binary { .. } => {
            (FieldType::String, vec![FieldType::String as u8 ^ ((length & 0x300) >> 4) as u8, length as u8])
        }
        ColumnType::VarChar { .. } | ColumnType::VarBinary { .. } => {
            (FieldType::VarChar, length.to_le_bytes().to_vec())
        }
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => (FieldType::Blob, vec![size.length_bytes() as u8]),
        ColumnType::Date => (FieldType::Date, Vec::new()),
        ColumnType::DateTime { fsp } => (FieldType::DateTime2, vec![*fsp]),
        ColumnType::Timestamp { fsp } => (FieldType::Timestamp2, vec![*fsp]),
        ColumnType::Time { fsp } => (FieldType::Time2, vec![*fsp]),
        ColumnType::Year => (FieldType::Year, Vec::new()),
    }
}

#[cfg(test)]
mod tests;
