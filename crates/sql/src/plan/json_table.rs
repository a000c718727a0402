//! JSON_TABLE: what its columns are, and how rows are made of a document.

use std::ops::Range;
use std::sync::Arc;

use super::PlanContext;
use crate::ast::{self, JsonColumnType, NestedPart, OnResponse};
use crate::collation::Collation;
use crate::ddl::{MAX_COLUMNS, check_column_name};
use crate::error::{
    ER_DUP_FIELDNAME, ER_INVALID_DEFAULT, ER_JT_MAX_NESTED_PATH, ER_TOO_MANY_FIELDS,
    ER_WARN_DEPRECATED_JSON_TABLE_ON_ERROR_ON_EMPTY, SqlError,
};
use crate::expr::Expr;
use crate::types::json::{Json, Path};
use crate::types::temporal::TimeZone;
use crate::types::{ColumnType, IntType, IntWidth, Kind, ResultColumn, StoreContext};

/// The most paths, that of the rows among them.
const MAX_PATHS: usize = 16;

/// The rows that are made of a document.
pub(crate) struct JsonTable {
    /// Over the row before it.
    pub(crate) document: Expr,
    pub(crate) rows: NestedPath,
}

/// A row for each place that a path leads to; if there are paths within, for each place that one of these leads to from
/// there.
pub(crate) struct NestedPath {
    pub(crate) path: Path,
    /// All its columns, those of paths within too.
    pub(crate) all: Range<usize>,
    pub(crate) columns: Vec<JsonColumn>,
    pub(crate) nested: Vec<NestedPath>,
}

/// One column.
pub(crate) struct JsonColumn {
    pub(crate) name: Arc<str>,
    /// Its place in the row.
    pub(crate) at: usize,
    pub(crate) column_type: ColumnType,
    pub(crate) value: JsonValue,
}

/// What the values of a column are.
pub(crate) enum JsonValue {
    /// The number of the place among those that the path of its row leads to.
    Ordinality,
    /// Whether the path leads to something.
    Exists(Path),
    /// What the path leads to.
    Path { path: Path, on_empty: Otherwise, on_error: Otherwise },
}

/// What stands for a value that is not there, or does not fit.
pub(crate) enum Otherwise {
    Null,
    Error,
    Default(Json),
}

/// The rows of a JSON_TABLE, and its columns. 3143 for a text that is no path, 1067 for a default that is no document, or
/// no scalar where one is wanted, errors of [`Json::to_column`] for one that does not fit, 1166 and 1059 for a name that
/// is none, 1060 for one that is there twice, 1117 for too many columns, 3670 for too many paths.
pub(super) fn rows(table: &ast::JsonTable, cx: &PlanContext<'_>) -> Result<(NestedPath, Vec<ResultColumn>), SqlError> {
    let mut resolver = Resolver { cx, alias: &table.alias, columns: Vec::new(), paths: 0 };
    let rows = resolver.nested(&table.rows)?;
    Ok((rows, resolver.columns))
}

struct Resolver<'r> {
    cx: &'r PlanContext<'r>,
    alias: &'r str,
    columns: Vec<ResultColumn>,
    paths: usize,
}

impl Resolver<'_> {
    fn nested(&mut self, of: &ast::NestedPath) -> Result<NestedPath, SqlError> {
        self.paths += 1;
        if self.paths >= MAX_PATHS {
            return Err(SqlError::new(ER_JT_MAX_NESTED_PATH, &[&MAX_PATHS, &self.alias]));
        }
        let path = Path::parse(&of.path)?;
        let first = self.columns.len();
        let (mut columns, mut nested) = (Vec::new(), Vec::new());
        for part in &of.parts {
            match part {
                NestedPart::Column { name, value } => columns.push(self.column(name, value)?),
                NestedPart::Nested(inner) => nested.push(self.nested(inner)?),
            }
        }
        Ok(NestedPath { path, all: first..self.columns.len(), columns, nested })
    }

    fn column(&mut self, name: &str, value: &ast::JsonColumn) -> Result<JsonColumn, SqlError> {
        check_column_name(name)?;
        if let Some(known) = self.columns.iter().find(|known| known.name.eq_ignore_ascii_case(name)) {
            return Err(SqlError::new(ER_DUP_FIELDNAME, &[&known.name]));
        }
        if self.columns.len() == MAX_COLUMNS {
            return Err(SqlError::new(ER_TOO_MANY_FIELDS, &[]));
        }
        let (column_type, value) = match value {
            ast::JsonColumn::Ordinality => {
                let number = IntType { width: IntWidth::Big, unsigned: true, display_width: None };
                (number.into(), JsonValue::Ordinality)
            }
            ast::JsonColumn::Exists(of, path) => (self.column_type(name, of)?, JsonValue::Exists(Path::parse(path)?)),
            ast::JsonColumn::Path { column_type, path, on_empty, on_error, reversed } => {
                if *reversed {
                    self.cx.warn(SqlError::new(ER_WARN_DEPRECATED_JSON_TABLE_ON_ERROR_ON_EMPTY, &[]));
                }
                let column_type = self.column_type(name, column_type)?;
                let path = Path::parse(path)?;
                let on_empty = self.otherwise(name, &column_type, on_empty)?;
                let on_error = self.otherwise(name, &column_type, on_error)?;
                (column_type, JsonValue::Path { path, on_empty, on_error })
            }
        };
        self.columns.push(ResultColumn::computed(name, column_type.result_type(true)));
        Ok(JsonColumn { name: name.into(), at: self.columns.len() - 1, column_type, value })
    }

    /// A type, with the collation of the connection if it has characters and names none.
    fn column_type(&self, name: &str, (of, own_collation): &JsonColumnType) -> Result<ColumnType, SqlError> {
        let collation: Collation = self.cx.literals.collation;
        let of = if *own_collation { of.clone() } else { of.under(collation) };
        of.check_length(name)?;
        Ok(of)
    }

    fn otherwise(&self, name: &str, of: &ColumnType, response: &OnResponse) -> Result<Otherwise, SqlError> {
        let text = match response {
            OnResponse::Null => return Ok(Otherwise::Null),
            OnResponse::Error => return Ok(Otherwise::Error),
            OnResponse::Default(text) => text,
        };
        let is_scalar = |json: &Json| !matches!(json, Json::Array(_) | Json::Object(_));
        let json = Json::parse(text).ok().filter(|json| of.kind() == Kind::Json || is_scalar(json));
        let json = json.ok_or_else(|| SqlError::new(ER_INVALID_DEFAULT, &[&name]))?;
        // It is converted anew for each run, whose time zone is its own.
        let mut cx = StoreContext {
            column: name,
            row: 1,
            sql_mode: self.cx.sql_mode,
            time_zone: TimeZone::UTC,
            now_us: 0,
            warnings: &mut |_, _| {},
        };
        json.to_column(of, &mut cx)?;
        Ok(Otherwise::Default(json))
    }
}
