//! What a table is made of, how that is stored and how SHOW CREATE TABLE writes it.
use serde::{Deserialize, Serialize};

use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::ColumnType;
use crate::value::Value;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    /// Never reused; also the table id of the binlog's table maps.
    pub id: u64,
    /// The database it is in.
    pub database: String,
    /// Its name.
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
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// Nothing: NULL if it may be NULL, else error 1364.
    None,
    /// A constant, already converted to the column's type.
    Literal(Value),
    /// CURRENT_TIMESTAMP with the column's fractional digits.
    CurrentTimestamp,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Its name.
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
    /// The [`TableDef::schema_version`] that first had the column.
    pub since_version: u32,
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
    /// The stored form, a versioned JSON document.
    pub fn to_bytes(&self) -> Vec<u8> { todo!() }
    /// Reads what [`TableDef::to_bytes`] wrote.
    pub fn from_bytes(_bytes: &[u8]) -> Result<TableDef, SqlError> { todo!() }
    /// The statement that SHOW CREATE TABLE shows; `next_auto_increment` is shown if above 1.
    pub fn show_create(&self, _next_auto_increment: Option<u64>) -> String { todo!() }
}
