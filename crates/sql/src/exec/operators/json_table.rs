//! The rows that JSON_TABLE makes of a document, all of them when it is opened, in a file beyond `tmp_table_size`.
//!
//! Paths within the same path take turns: a row has values of one of them, and NULLs of the others. A place from which none
//! of them leads anywhere is a row as well.

use std::sync::Arc;

use crate::error::{
    ER_INVALID_JSON_CHARSET, ER_INVALID_JSON_TEXT_IN_PARAM, ER_INVALID_TYPE_FOR_JSON, ER_MISSING_JSON_TABLE_VALUE,
    ER_WRONG_JSON_TABLE_VALUE, SqlError,
};
use crate::exec::Run;
use crate::expr::StatementContext as _;
use crate::plan::json_table::{JsonColumn, JsonTable, JsonValue, NestedPath, Otherwise};
use crate::spill::{Budget, RowList};
use crate::types::json::Json;
use crate::types::{Kind, StoreContext};
use crate::value::Value;

/// The rows for a row before it; without a document there are none. 3141 for a text that is no document, 3144 for bytes,
/// 3146 for anything else.
pub(super) fn rows(table: &JsonTable, width: usize, run: &mut Run<'_>, before: &[Value]) -> Result<RowList, SqlError> {
    let document = run.evaluate(|cx| {
        let document = parsed(table.document.eval(before, cx)?)?;
        document.iter().try_for_each(|json| cx.statement.hold_evaluated(json.memory_bytes()))?;
        Ok(document)
    })?;
    let mut rows = RowList::new(Budget::of(run.session.tmp_table_size), width);
    if let Some(document) = document {
        Maker { row: vec![Value::Null; width], rows: &mut rows, run }.nested(&table.rows, &document)?;
    }
    rows.end(run.session)?;
    Ok(rows)
}

fn parsed(value: Value) -> Result<Option<Arc<Json>>, SqlError> {
    const NAME: &str = "json_table";
    let text: &str = match &value {
        Value::Null => return Ok(None),
        Value::Json(json) => return Ok(Some(json.clone())),
        Value::Text(text) => text,
        Value::Member(member) => &member.text,
        Value::Bytes(_) | Value::Hex(_) => return Err(SqlError::new(ER_INVALID_JSON_CHARSET, &[&"binary"])),
        _ => return Err(SqlError::new(ER_INVALID_TYPE_FOR_JSON, &[&1, &NAME])),
    };
    let invalid = |what: &str, at| SqlError::new(ER_INVALID_JSON_TEXT_IN_PARAM, &[&1, &NAME, &what, &at]);
    Json::parse(text).map(|json| Some(Arc::new(json))).map_err(|error| error.into_error(invalid))
}

struct Maker<'m, 'r> {
    /// The present row.
    row: Vec<Value>,
    rows: &'m mut RowList,
    run: &'m mut Run<'r>,
}

impl Maker<'_, '_> {
    /// Makes the rows of a path from a place in the document; false if there are none.
    fn nested(&mut self, path: &NestedPath, from: &Json) -> Result<bool, SqlError> {
        let places = from.seek(&path.path);
        for (number, place) in (1..).zip(&places) {
            for column in &path.columns {
                self.row[column.at] = self.value(column, place, number)?;
            }
            let mut has_rows = false;
            for within in &path.nested {
                has_rows |= self.nested(within, place)?;
            }
            if !has_rows {
                self.run.step()?;
                self.rows.push(self.row.clone(), self.run.session)?;
            }
        }
        self.row[path.all.clone()].fill(Value::Null);
        Ok(!places.is_empty())
    }

    fn value(&self, column: &JsonColumn, place: &Json, number: u64) -> Result<Value, SqlError> {
        let statement = self.run.statement;
        let mut cx = StoreContext {
            column: &column.name,
            row: 1,
            sql_mode: statement.sql_mode(),
            time_zone: statement.time_zone(),
            now_us: statement.now_us(),
            warnings: &mut |_, _| {},
        };
        match &column.value {
            JsonValue::Ordinality => Ok(Value::UInt(number)),
            JsonValue::Exists(path) => {
                cx.sql_mode = cx.sql_mode.lenient();
                column.column_type.store(Value::bool(!place.seek(path).is_empty()), &mut cx)
            }
            JsonValue::Path { path, on_empty, on_error } => {
                let found = place.seek(path);
                if found.is_empty() {
                    return instead(on_empty, column, &mut cx, || {
                        SqlError::new(ER_MISSING_JSON_TABLE_VALUE, &[&column.name])
                    });
                }
                let value = of_places(&found, column, &mut cx);
                value.or_else(|error| instead(on_error, column, &mut cx, || error))
            }
        }
    }
}

/// What a column of documents has of several places is an array of them; any other has none.
fn of_places(found: &[&Json], column: &JsonColumn, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    match found {
        [only] => only.to_column(&column.column_type, cx),
        all if column.column_type.kind() == Kind::Json => {
            Ok(Value::Json(Arc::new(Json::Array(all.iter().map(|json| (*json).clone()).collect()))))
        }
        _ => Err(SqlError::new(ER_WRONG_JSON_TABLE_VALUE, &[&column.name])),
    }
}

fn instead(
    otherwise: &Otherwise,
    column: &JsonColumn,
    cx: &mut StoreContext<'_>,
    error: impl FnOnce() -> SqlError,
) -> Result<Value, SqlError> {
    match otherwise {
        Otherwise::Null => Ok(Value::Null),
        Otherwise::Error => Err(error()),
        Otherwise::Default(json) => json.to_column(&column.column_type, cx),
    }
}
