//! What a table is made of, and how that is stored.
//!
//! Format: a definition is stored as a JSON document `{"format": 1, "table": {...}}`. Readers refuse other
//! formats.

mod show_create;

use serde::{Deserialize, Serialize};

use crate::codec::KeyPart;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::{ColumnType, ResultType};
use crate::value::Value;

const FORMAT: u32 = 1;

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableDef {
    /// Never reused; also the table id of the binlog's table maps.
    pub id: u64,
    /// The database it is in.
    pub database: String,
    pub name: String,
    /// Name of the storage engine.
    pub engine: String,
    /// Collation of columns that name none.
    pub collation: Collation,
    /// The columns in order.
    pub columns: Vec<ColumnDef>,
    /// The indexes; the primary key first if there is one.
    pub indexes: Vec<IndexDef>,
    /// Index id under which the rows are kept: the primary key's, or the one of hidden row ids.
    pub row_index_id: u32,
    /// Rises with each change of the columns; rows name the version they were written under.
    pub schema_version: u32,
    /// The COMMENT option.
    pub comment: String,
}

/// What a column gets when a statement names no value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DefaultValue {
    /// Nothing: NULL if it may be NULL, else error 1364.
    None,
    /// Nothing, although the column may be NULL (ALTER COLUMN ... DROP DEFAULT): error 1364.
    Dropped,
    /// A constant, already converted to the column's type.
    Literal(Value),
    /// CURRENT_TIMESTAMP with the column's fractional digits.
    CurrentTimestamp,
    /// An expression, evaluated for each row: its text, and the SQL mode that it is read under.
    Expression { text: String, sql_mode: String },
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnDef {
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// DEFAULT.
    pub default: DefaultValue,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// The [`TableDef::schema_version`] that first had the column. Columns that came later stand after
    /// the others.
    pub since_version: u32,
    /// What rows of versions before that have in the column, whatever its default is by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// COMMENT.
    pub comment: String,
}

/// What an index promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKind {
    /// The rows themselves, in key order.
    Primary,
    /// No two equal keys, unless a column is NULL.
    Unique,
    /// Nothing.
    Secondary,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDef {
    /// The first bytes of its keys; never reused.
    pub index_id: u32,
    /// `PRIMARY` or the index's name.
    pub name: String,
    /// What it promises.
    pub kind: IndexKind,
    /// The columns of its keys.
    pub columns: Vec<IndexColumn>,
    /// COMMENT.
    pub comment: String,
}

/// One column of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// Its place in [`TableDef::columns`].
    pub column: usize,
    /// Characters (bytes of binary strings) that the index covers, if not all.
    pub prefix: Option<u16>,
}

#[derive(Serialize, Deserialize)]
struct Document<T> {
    format: u32,
    table: T,
}

impl TableDef {
    /// The primary key.
    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|index| index.kind == IndexKind::Primary)
    }

    /// The place of the column called `name` (in any case).
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The place of the AUTO_INCREMENT column.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }

    /// How the columns of an index of this table are encoded in its keys.
    pub fn key_parts(&self, index: &IndexDef) -> Vec<KeyPart> {
        let part = |part: &IndexColumn| {
            let column = &self.columns[part.column];
            KeyPart { column_type: column.column_type.clone(), nullable: column.nullable, prefix: part.prefix }
        };
        index.columns.iter().map(part).collect()
    }

    /// The stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&Document { format: FORMAT, table: self }).expect("a definition has only string keys")
    }

    /// Reads what [`TableDef::to_bytes`] wrote; anything else, and what contradicts itself, is an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<TableDef, SqlError> {
        let damaged = |detail: String| SqlError::internal(format_args!("damaged table definition: {detail}"));
        let format: Document<serde::de::IgnoredAny> =
            serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if format.format != FORMAT {
            return Err(damaged(format!("format {} is not known to this version", format.format)));
        }
        let document: Document<TableDef> = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        let table = document.table;
        let mut parts = table.indexes.iter().flat_map(|index| &index.columns);
        if parts.any(|part| part.column >= table.columns.len()) {
            return Err(damaged(format!("an index of `{}` names a column that is not there", table.name)));
        }
        if !table.columns.is_sorted_by_key(|column| column.since_version) {
            return Err(damaged(format!("the columns of `{}` are out of order", table.name)));
        }
        Ok(table)
    }
}

impl ColumnDef {
    /// The type as a result's metadata gives it.
    pub fn result_type(&self) -> ResultType {
        self.column_type.result_type(self.nullable)
    }

    /// What it holds where nothing else is known: NULL if that may be, else the implicit default of its type.
    pub fn implicit_value(&self) -> Value {
        if self.nullable { Value::Null } else { self.column_type.implicit_default() }
    }
}

#[cfg(test)]
mod tests;
