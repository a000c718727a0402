//! JSON_TABLE.

use super::column::column_type;
use super::cursor::Cursor;
use super::lexer::Kind;
use crate::ast::{JsonColumn, JsonTable, NestedPart, NestedPath, OnResponse, TableExpr};
use crate::error::{ER_TF_MUST_HAVE_ALIAS, SqlError};

impl Cursor<'_> {
    /// Whether JSON_TABLE is next.
    pub(super) fn sees_json_table(&self) -> bool {
        self.sees("JSON_TABLE") && self.bytes(1) == b"("
    }

    /// `JSON_TABLE(expr, path COLUMNS (column, ...)) [AS] alias`
    pub(super) fn json_table(&mut self) -> Result<TableExpr, SqlError> {
        self.expect("JSON_TABLE")?;
        self.expect_operator("(")?;
        let document = self.expr()?;
        self.expect_operator(",")?;
        let rows = self.nested_path()?;
        self.expect_operator(")")?;
        let alias = self.alias()?.ok_or_else(|| SqlError::new(ER_TF_MUST_HAVE_ALIAS, &[]))?;
        Ok(TableExpr::JsonTable(Box::new(JsonTable { document, rows, alias })))
    }

    /// `path COLUMNS (column, ...)`
    fn nested_path(&mut self) -> Result<NestedPath, SqlError> {
        let path = self.text()?;
        self.expect("COLUMNS")?;
        self.expect_operator("(")?;
        let parts = self.nested(|cursor| cursor.separated(Cursor::nested_part))?;
        self.expect_operator(")")?;
        Ok(NestedPath { path, parts })
    }

    /// `{name FOR ORDINALITY | name type PATH path [on_empty] [on_error] | name type EXISTS PATH path |
    /// NESTED [PATH] path COLUMNS (column, ...)}`
    fn nested_part(&mut self) -> Result<NestedPart, SqlError> {
        let is_text = |ahead| self.kind_at(ahead) == Some(Kind::Text);
        if self.sees("NESTED PATH") && is_text(2) || self.sees("NESTED") && is_text(1) {
            self.skip();
            self.takes("PATH");
            return self.nested_path().map(NestedPart::Nested);
        }
        let name = self.ident()?;
        if self.takes("FOR ORDINALITY") {
            return Ok(NestedPart::Column { name, value: JsonColumn::Ordinality });
        }
        let column_type = column_type(self, &name)?;
        if self.takes("EXISTS") {
            self.expect("PATH")?;
            let value = JsonColumn::Exists(column_type, self.text()?);
            return Ok(NestedPart::Column { name, value });
        }
        self.expect("PATH")?;
        let path = self.text()?;
        let (mut on_empty, mut on_error, mut reversed) = (None, None, false);
        while let Some(response) = self.on_response()? {
            self.expect("ON")?;
            if on_empty.is_none() && self.takes("EMPTY") {
                on_empty = Some(response);
                reversed = on_error.is_some();
            } else if on_error.is_none() && self.takes("ERROR") {
                on_error = Some(response);
            } else {
                return Err(self.unexpected());
            }
        }
        let (on_empty, on_error) = (on_empty.unwrap_or_default(), on_error.unwrap_or_default());
        Ok(NestedPart::Column { name, value: JsonColumn::Path { column_type, path, on_empty, on_error, reversed } })
    }

    /// `{NULL | DEFAULT document | ERROR}`, if it is next.
    fn on_response(&mut self) -> Result<Option<OnResponse>, SqlError> {
        Ok(if self.takes("NULL") {
            Some(OnResponse::Null)
        } else if self.takes("ERROR") {
            Some(OnResponse::Error)
        } else if self.takes("DEFAULT") {
            Some(OnResponse::Default(self.text()?))
        } else {
            None
        })
    }
}
