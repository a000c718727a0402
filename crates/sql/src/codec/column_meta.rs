//! How the binlog's table maps describe a column.

use cohort_binlog::ColumnMeta;

use crate::catalog::definition::ColumnDef;
use crate::collation::Collation;

/// The column as row events of the binlog describe it; [`super::RowCodec`] writes values in just this
/// form.
pub fn binlog_column_meta(column: &ColumnDef) -> ColumnMeta {
    let facts = column.column_type.facts();
    let (field, meta, meta_len) = facts.binlog;
    let collation = column.column_type.collation().unwrap_or(Collation::Binary);
    let encode = |text: &str| collation.charset().encode(text).into_owned();
    ColumnMeta {
        field,
        meta: meta[..meta_len].to_vec(),
        nullable: column.nullable,
        unsigned: facts.unsigned,
        charset: collation.id(),
        name: column.name.clone(),
        members: column.column_type.members().map_or_else(Vec::new, |members| members.texts().map(encode).collect()),
    }
}
