//! SELECT, from the word to the windows.

use super::cursor::Cursor;
use super::lexer::Kind;
use crate::ast::{Expr, Select, SelectItem, TableName};
use crate::error::{ER_WRONG_USAGE, SqlError};
use crate::value::Value;

impl Cursor<'_> {
    /// `SELECT [option] ... item [, item] ... [into] [FROM tables] [WHERE expr] [GROUP BY expr, ... [WITH ROLLUP]]
    /// [HAVING expr] [WINDOW ...]`
    pub(super) fn select(&mut self) -> Result<Select, SqlError> {
        self.expect("SELECT")?;
        let mut select = Select { block: self.begin_block(), ..Select::default() };
        self.options(&mut select)?;
        select.items = self.items()?;
        select.into = self.into()?;
        if self.takes("FROM") {
            select.from = if self.takes("DUAL") { Vec::new() } else { self.tables()? };
        }
        if self.takes("WHERE") {
            select.filter = Some(self.expr()?);
        }
        if self.takes("GROUP") {
            self.expect("BY")?;
            select.group_by = self.exprs()?;
            if self.takes("WITH") {
                self.expect("ROLLUP")?;
                select.rollup = true;
            }
        }
        if self.takes("HAVING") {
            select.having = Some(self.expr()?);
        }
        select.windows = self.windows()?;
        self.end_block(&select.block);
        Ok(select)
    }

    /// `ALL | DISTINCT | DISTINCTROW | HIGH_PRIORITY | STRAIGHT_JOIN | SQL_SMALL_RESULT | SQL_BIG_RESULT |
    /// SQL_BUFFER_RESULT | SQL_NO_CACHE | SQL_CALC_FOUND_ROWS`, in any order
    fn options(&mut self, select: &mut Select) -> Result<(), SqlError> {
        let mut all = false;
        loop {
            match self.keyword().as_str() {
                "ALL" => all = true,
                "DISTINCT" | "DISTINCTROW" => select.distinct = true,
                "STRAIGHT_JOIN" => select.straight_join = true,
                "SQL_CALC_FOUND_ROWS" => select.calc_found_rows = true,
                "HIGH_PRIORITY" | "SQL_SMALL_RESULT" | "SQL_BIG_RESULT" => {}
                // No reserved words, but never names here.
                "SQL_BUFFER_RESULT" | "SQL_NO_CACHE" => {}
                _ if all && select.distinct => return Err(SqlError::new(ER_WRONG_USAGE, &[&"ALL", &"DISTINCT"])),
                _ => return Ok(()),
            }
            self.skip();
        }
    }

    /// `{* | item} [, item] ...`
    fn items(&mut self) -> Result<Vec<SelectItem>, SqlError> {
        let mut items = Vec::new();
        if self.takes_operator("*") {
            items.push(SelectItem::Wildcard { table: None });
        } else {
            items.push(self.item()?);
        }
        while self.takes_operator(",") {
            items.push(self.item()?);
        }
        Ok(items)
    }

    /// `table.*`, `expr [[AS] {name | 'name'}]`
    fn item(&mut self) -> Result<SelectItem, SqlError> {
        if let Some(table) = self.table_wild()? {
            return Ok(SelectItem::Wildcard { table: Some(table) });
        }
        let from = self.at;
        let expr = self.expr()?;
        let span = self.span_since(from);
        let text = self.item_name(&expr, from);
        let explicit = self.takes("AS");
        let alias = match self.kind() {
            Some(Kind::Text) => Some(self.text()?),
            _ if explicit || self.sees_ident() => Some(self.ident()?),
            _ => None,
        };
        Ok(SelectItem::Expr { expr, alias, text, span })
    }

    /// What a column of the result is called that has no alias: a constant by what it is, all else by its source.
    fn item_name(&self, expr: &Expr, from: usize) -> String {
        let mut marks = &self.marks[from..self.at];
        if let Expr::Literal(value) | Expr::Introduced(_, value) = expr {
            if let Value::Text(said) = value {
                return said.to_string();
            }
            while let [first, inner @ .., last] = marks
                && (first.lexeme.bytes(self.sql), last.lexeme.bytes(self.sql)) == (b"(", b")")
            {
                marks = inner;
            }
        }
        let (Some(first), Some(last)) = (marks.first(), marks.last()) else { return String::new() };
        let text = String::from_utf8_lossy(&self.sql[first.lexeme.start..last.lexeme.end]).into_owned();
        if marks.len() == 1 && first.lexeme.kind == Kind::Word && matches!(expr, Expr::Literal(_)) {
            return text.to_ascii_uppercase();
        }
        text
    }

    /// `[database.]table.*` if that is next.
    fn table_wild(&mut self) -> Result<Option<TableName>, SqlError> {
        let is_name = |ahead: usize| matches!(self.kind_at(ahead), Some(Kind::Word | Kind::QuotedName));
        let star = |ahead: usize| self.bytes(ahead) == b"." && self.bytes(ahead + 1) == b"*";
        if !self.sees_ident() || self.bytes(1) != b"." {
            return Ok(None);
        }
        let parts = match () {
            () if star(1) => 1,
            () if is_name(2) && star(3) => 2,
            () => return Ok(None),
        };
        let first = self.ident()?;
        self.skip();
        let name = if parts == 1 {
            TableName { database: None, table: first }
        } else {
            let table = self.name_after_point()?;
            self.skip();
            TableName { database: Some(first), table }
        };
        self.skip();
        Ok(Some(name))
    }

    /// `[[AS] name]`
    pub(super) fn alias(&mut self) -> Result<Option<String>, SqlError> {
        if self.takes("AS") || self.sees_ident() {
            return self.ident().map(Some);
        }
        Ok(None)
    }
}
