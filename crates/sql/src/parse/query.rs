//! Queries: WITH, UNION and the like, ORDER BY, LIMIT, INTO, locking clauses.

use super::cursor::Cursor;
use super::lexer::Kind;
use super::names::user_variable;
use crate::ast::{
    CommonTable, Expr, FileFormat, Into, Limit, Locking, OrderBy, Query, QueryBody, RowWait, SetOperand, SetOperator,
    With,
};
use crate::error::SqlError;
use crate::value::Value;

impl Cursor<'_> {
    /// `[with] body [ORDER BY ...] [LIMIT ...] [into] [locking] ... [into]`
    pub(super) fn query(&mut self) -> Result<Query, SqlError> {
        self.nested(|cursor| {
            let from = cursor.at;
            let with = cursor.with()?;
            cursor.query_with(with, from)
        })
    }

    /// What follows WITH, which stands at the lexeme `from`.
    pub(super) fn query_with(&mut self, with: Option<With>, from: usize) -> Result<Query, SqlError> {
        let body = self.set_operations()?;
        let mut query = self.query_tail(with, body, from)?;
        for table in query.with.iter_mut().flat_map(|with| &mut with.tables) {
            table.named = self.tables_named.iter().filter(|name| **name == table.name).count();
        }
        Ok(query)
    }

    /// What follows the body of a query that began at lexeme `from`.
    fn query_tail(&mut self, with: Option<With>, body: QueryBody, from: usize) -> Result<Query, SqlError> {
        let order_by = if self.sees("ORDER") { self.order_by()? } else { Vec::new() };
        let limit = self.limit()?;
        let mut into = self.into()?;
        let locking = self.locking_clauses()?;
        if into.is_none() {
            into = self.into()?;
        }
        Ok(Query { with, body, order_by, limit, locking, into, span: self.span_since(from) })
    }

    /// What may follow a query in parentheses that turned out to be only the first part of one.
    pub(super) fn rest_of_query(&mut self, query: Query) -> Result<Query, SqlError> {
        let continues = matches!(
            self.keyword().as_str(),
            "UNION" | "EXCEPT" | "INTERSECT" | "ORDER" | "LIMIT" | "FOR" | "LOCK" | "INTO"
        );
        if !continues {
            return Ok(query);
        }
        let start = query.span.start;
        self.nested(|cursor| {
            let body = cursor.set_operations_after(QueryBody::Nested(Box::new(query)))?;
            let mut whole = cursor.query_tail(None, body, cursor.at)?;
            whole.span.start = start;
            Ok(whole)
        })
    }

    /// Whether a query in parentheses begins `ahead` lexemes further.
    pub(super) fn sees_subquery(&self, ahead: usize) -> bool {
        self.bytes(ahead) == b"("
            && self.kind_at(ahead) == Some(Kind::Operator)
            && matches!(self.keyword_at(ahead + 1).as_str(), "SELECT" | "WITH" | "TABLE" | "VALUES")
    }

    /// Whether a query begins here, in parentheses or not.
    pub(super) fn sees_query(&self) -> bool {
        matches!(self.keyword().as_str(), "SELECT" | "WITH" | "TABLE" | "VALUES")
            || self.sees_subquery(0)
            || (self.sees_operator("(") && self.bytes(1) == b"(" && self.kind_at(1) == Some(Kind::Operator))
    }

    /// `(query)`
    pub(super) fn subquery(&mut self) -> Result<Query, SqlError> {
        self.expect_operator("(")?;
        let query = self.query()?;
        self.expect_operator(")")?;
        Ok(query)
    }

    /// `WITH [RECURSIVE] name [(columns)] AS (query) [, ...]`
    pub(super) fn with(&mut self) -> Result<Option<With>, SqlError> {
        if !self.takes("WITH") {
            return Ok(None);
        }
        let recursive = self.takes("RECURSIVE");
        let tables = self.separated(|cursor| {
            let name = cursor.ident()?;
            let columns = if cursor.sees_operator("(") { cursor.idents()? } else { Vec::new() };
            cursor.expect("AS")?;
            Ok(CommonTable { name, columns, query: cursor.subquery()?, named: 0 })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    /// `term [{UNION | EXCEPT} [ALL | DISTINCT] term] ...`; INTERSECT binds tighter.
    fn set_operations(&mut self) -> Result<QueryBody, SqlError> {
        let first = self.query_primary()?;
        self.set_operations_after(first)
    }

    fn set_operations_after(&mut self, first: QueryBody) -> Result<QueryBody, SqlError> {
        let first = self.operands(first, &[("INTERSECT", SetOperator::Intersect)], false)?;
        self.operands(first, &[("UNION", SetOperator::Union), ("EXCEPT", SetOperator::Except)], true)
    }

    fn operands(
        &mut self,
        first: QueryBody,
        operators: &[(&str, SetOperator)],
        intersected: bool,
    ) -> Result<QueryBody, SqlError> {
        let mut rest = Vec::new();
        while let Some((_, operator)) = operators.iter().find(|(word, _)| self.sees(word)) {
            self.skip();
            let all = self.takes("ALL");
            if !all {
                self.takes("DISTINCT");
            }
            let mut body = self.query_primary()?;
            if intersected {
                body = self.operands(body, &[("INTERSECT", SetOperator::Intersect)], false)?;
            }
            rest.push(SetOperand { operator: *operator, all, body });
        }
        Ok(if rest.is_empty() { first } else { QueryBody::Set { first: Box::new(first), rest } })
    }

    /// `SELECT ...`, `VALUES ROW(...), ...`, `TABLE name`, `(query)`
    fn query_primary(&mut self) -> Result<QueryBody, SqlError> {
        if self.sees_operator("(") {
            self.skip();
            let query = self.query()?;
            self.expect_operator(")")?;
            return Ok(QueryBody::Nested(Box::new(query)));
        }
        match self.keyword().as_str() {
            "SELECT" => self.select().map(|select| QueryBody::Select(Box::new(select))),
            "VALUES" => {
                self.skip();
                self.row_values().map(QueryBody::Values)
            }
            "TABLE" => {
                self.skip();
                self.table_of_query().map(QueryBody::Table)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `ROW(value, ...) [, ROW(value, ...)] ...`
    pub(super) fn row_values(&mut self) -> Result<Vec<Vec<Expr>>, SqlError> {
        self.separated(|cursor| {
            cursor.expect("ROW")?;
            cursor.expect_operator("(")?;
            let row = cursor.separated(Cursor::expr_or_default)?;
            cursor.expect_operator(")")?;
            Ok(row)
        })
    }

    /// `ORDER BY expr [ASC | DESC] [, ...]`
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderBy>, SqlError> {
        self.expect("ORDER")?;
        self.expect("BY")?;
        self.separated(|cursor| {
            let expr = cursor.expr()?;
            let descending = cursor.takes("DESC");
            if !descending {
                cursor.takes("ASC");
            }
            Ok(OrderBy { expr, descending })
        })
    }

    /// `LIMIT {[offset,] count | count OFFSET offset}`
    fn limit(&mut self) -> Result<Option<Limit>, SqlError> {
        if !self.takes("LIMIT") {
            return Ok(None);
        }
        let first = self.row_count()?;
        Ok(Some(if self.takes_operator(",") {
            Limit { offset: Some(first), count: self.row_count()? }
        } else if self.takes("OFFSET") {
            Limit { offset: Some(self.row_count()?), count: first }
        } else {
            Limit { offset: None, count: first }
        }))
    }

    /// What LIMIT takes: a number of rows as it stands, or a parameter.
    pub(super) fn row_count(&mut self) -> Result<Expr, SqlError> {
        if self.marks.get(self.at).is_some_and(|mark| mark.param.is_some()) {
            return self.primary();
        }
        if self.sees_number() {
            let at = self.at;
            if let value @ (Value::Int(_) | Value::UInt(_)) = self.number(false)? {
                return Ok(Expr::Literal(value));
            }
            self.at = at;
        }
        Err(self.unexpected())
    }

    /// `FOR ...` as often as it is there, or `LOCK IN SHARE MODE` once.
    fn locking_clauses(&mut self) -> Result<Vec<Locking>, SqlError> {
        if self.takes("LOCK") {
            for word in ["IN", "SHARE", "MODE"] {
                self.expect(word)?;
            }
            return Ok(vec![Locking { exclusive: false, tables: Vec::new(), wait: RowWait::Wait }]);
        }
        let mut clauses = Vec::new();
        while let Some(clause) = self.locking_clause()? {
            clauses.push(clause);
        }
        Ok(clauses)
    }

    /// `FOR {UPDATE | SHARE} [OF table, ...] [NOWAIT | SKIP LOCKED]`
    fn locking_clause(&mut self) -> Result<Option<Locking>, SqlError> {
        if !self.takes("FOR") {
            return Ok(None);
        }
        let exclusive = self.takes("UPDATE");
        if !exclusive {
            self.expect("SHARE")?;
        }
        let tables = if self.takes("OF") { self.separated(Cursor::table_ident)? } else { Vec::new() };
        let wait = if self.takes("NOWAIT") {
            RowWait::NoWait
        } else if self.takes("SKIP") {
            self.expect("LOCKED")?;
            RowWait::SkipLocked
        } else {
            RowWait::Wait
        };
        Ok(Some(Locking { exclusive, tables, wait }))
    }

    /// `INTO {variable, ... | OUTFILE 'file' [CHARACTER SET charset] [format] | DUMPFILE 'file'}`
    pub(super) fn into(&mut self) -> Result<Option<Into>, SqlError> {
        if !self.takes("INTO") {
            return Ok(None);
        }
        if self.takes("DUMPFILE") {
            return self.text_or_param().map(|file| Some(Into::Dumpfile(file)));
        }
        if self.takes("OUTFILE") {
            let file = self.text_or_param()?;
            let charset =
                if self.takes("CHARACTER SET") || self.takes("CHARSET") { Some(self.charset()?) } else { None };
            let format = Box::new(self.file_format()?);
            return Ok(Some(Into::Outfile { file, charset, format }));
        }
        let variables = self.separated(|cursor| {
            let unreadable = cursor.unexpected();
            match cursor.variable() {
                Some(text) if text.starts_with("@@") => Err(unreadable),
                Some(text) => Ok(format!("@{}", user_variable(text.trim_start_matches('@'))?)),
                None => cursor.ident(),
            }
        })?;
        Ok(Some(Into::Variables(variables)))
    }

    /// `[{FIELDS | COLUMNS} [TERMINATED BY 'x'] [[OPTIONALLY] ENCLOSED BY 'x'] [ESCAPED BY 'x']]
    /// [LINES [STARTING BY 'x'] [TERMINATED BY 'x']]`, the parts in any order, at least one of each
    fn file_format(&mut self) -> Result<FileFormat, SqlError> {
        let mut format = FileFormat::default();
        if self.takes_any(&["FIELDS", "COLUMNS"]) {
            let from = self.at;
            loop {
                let part = match self.keyword().as_str() {
                    "TERMINATED" => &mut format.fields_terminated,
                    "OPTIONALLY" => {
                        self.skip();
                        format.optionally = true;
                        if !self.sees("ENCLOSED") {
                            return Err(self.unexpected());
                        }
                        &mut format.enclosed
                    }
                    "ENCLOSED" => &mut format.enclosed,
                    "ESCAPED" => &mut format.escaped,
                    _ if self.at == from => return Err(self.unexpected()),
                    _ => break,
                };
                *part = Some(self.format_part()?);
            }
        }
        if self.takes("LINES") {
            let from = self.at;
            loop {
                let part = match self.keyword().as_str() {
                    "STARTING" => &mut format.lines_starting,
                    "TERMINATED" => &mut format.lines_terminated,
                    _ if self.at == from => return Err(self.unexpected()),
                    _ => break,
                };
                *part = Some(self.format_part()?);
            }
        }
        Ok(format)
    }

    /// `word BY 'text'`
    fn format_part(&mut self) -> Result<Expr, SqlError> {
        self.skip();
        self.expect("BY")?;
        let text = matches!(self.kind(), Some(Kind::Text | Kind::Bytes | Kind::Param));
        if text { self.primary() } else { Err(self.unexpected()) }
    }
}
