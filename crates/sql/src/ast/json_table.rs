//! JSON_TABLE.

use super::Expr;
use crate::types::ColumnType;

/// `JSON_TABLE(document, path COLUMNS (...)) AS alias`
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// What the rows are made of.
    pub document: Expr,
    /// Where in the document they are.
    pub rows: NestedPath,
    pub alias: String,
}

/// `path COLUMNS (...)`
#[derive(Clone, Debug, PartialEq)]
pub struct NestedPath {
    /// What it finds is a row each.
    pub path: String,
    /// Columns and paths within, in order.
    pub parts: Vec<NestedPart>,
}

/// A part of what COLUMNS lists.
#[derive(Clone, Debug, PartialEq)]
pub enum NestedPart {
    /// A column.
    Column {
        name: String,
        /// What its values are.
        value: JsonColumn,
    },
    /// NESTED PATH
    Nested(NestedPath),
}

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumn {
    /// FOR ORDINALITY
    Ordinality,
    /// `type EXISTS PATH path`
    Exists(JsonColumnType, String),
    /// `type PATH path`
    Path {
        column_type: JsonColumnType,
        path: String,
        /// ON EMPTY
        on_empty: OnResponse,
        /// ON ERROR
        on_error: OnResponse,
        /// ON ERROR stands before ON EMPTY.
        reversed: bool,
    },
}

/// A type, and whether it names its own collation.
pub type JsonColumnType = (ColumnType, bool);

/// What stands for a value that is not there, or does not fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnResponse {
    /// NULL, which is so where nothing is said.
    #[default]
    Null,
    /// ERROR
    Error,
    /// DEFAULT, as the text of a document.
    Default(String),
}
