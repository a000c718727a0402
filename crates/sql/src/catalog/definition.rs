//! What a table is made of, and how that is stored.
//!
//! Format: a definition is stored as a JSON document `{"format": 1, "table": {...}}`, and as format 2 if rows have
//! [`FormerLayout`]s, which readers of format 1 do not know. Readers refuse other formats.

mod show_create;

pub use show_create::TableOptions;

use serde::{Deserialize, Serialize};

use crate::codec::KeyPart;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::{ColumnType, ResultType};
use crate::value::Value;

const FORMAT: u32 = 1;
const FORMAT_WITH_FORMER_LAYOUTS: u32 = 2;

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
    /// How rows of earlier versions are laid out, where columns were dropped since, or came between others; the oldest
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerLayout>,
    /// The COMMENT option.
    pub comment: String,
}

/// The columns of rows that were written before a change of the definition that left them as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormerLayout {
    /// The last [`TableDef::schema_version`] whose rows have it.
    pub until_version: u32,
    /// In the order of their values.
    pub columns: Vec<FormerColumn>,
}

/// A column of rows of earlier versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormerColumn {
    /// Its type at that time.
    pub column_type: ColumnType,
    /// As [`ColumnDef::since_version`].
    pub since_version: u32,
    /// Its place in [`TableDef::columns`], if it was not dropped.
    pub column: Option<usize>,
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
    /// The [`TableDef::schema_version`] from which on rows have the column where it stands. Columns that came later stand
    /// after the others.
    pub since_version: u32,
    /// What rows have in the column that were written before there was one, whatever its default is by now.
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
    /// As for a table without rows: none is of an earlier version.
    pub fn forget_earlier_rows(&mut self) {
        self.former.clear();
        for column in &mut self.columns {
            (column.since_version, column.before) = (1, None);
        }
    }

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
        let format = if self.former.is_empty() { FORMAT } else { FORMAT_WITH_FORMER_LAYOUTS };
        serde_json::to_vec(&Document { format, table: self }).expect("a definition has only string keys")
    }

    /// Reads what [`TableDef::to_bytes`] wrote; anything else, and what contradicts itself, is an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<TableDef, SqlError> {
        let damaged = |detail: String| SqlError::internal(format_args!("damaged table definition: {detail}"));
        let format: Document<serde::de::IgnoredAny> =
            serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if ![FORMAT, FORMAT_WITH_FORMER_LAYOUTS].contains(&format.format) {
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
        let versions = table.former.iter().map(|former| former.until_version).chain([table.schema_version]);
        let in_order = |former: &FormerLayout| former.columns.is_sorted_by_key(|column| column.since_version);
        if !versions.is_sorted_by(|a, b| a < b) || !table.former.iter().all(in_order) {
            return Err(damaged(format!("the former columns of `{}` are out of order", table.name)));
        }
        let mut places = table.former.iter().flat_map(|former| &former.columns).filter_map(|column| column.column);
        if places.any(|column| column >= table.columns.len()) {
            return Err(damaged(format!("former rows of `{}` have a column that is not there", table.name)));
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
