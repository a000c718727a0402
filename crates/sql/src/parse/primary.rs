//! Operands of expressions: literals, names, variables, what stands in parentheses, CASE.

use super::cursor::Cursor;
use super::expression::{Interval, Level};
use super::lexer::Kind;
use super::literal;
use super::names::{system_variable, user_variable};
use crate::ast::{ColumnName, Expr, Match};
use crate::error::{ER_UNKNOWN_CHARACTER_SET, SqlError};
use crate::expr::CastType;
use crate::types::Charset;
use crate::value::Value;

impl Cursor<'_> {
    /// `simple_expr`, without what binds operands together.
    pub(super) fn primary(&mut self) -> Result<Expr, SqlError> {
        if let Some(param) = self.marks.get(self.at).and_then(|mark| mark.param) {
            self.skip();
            return Ok(Expr::Param(param));
        }
        match self.kind() {
            Some(Kind::Word) => self.word_operand(),
            Some(Kind::QuotedName) => self.named(),
            Some(Kind::Number) => self.number(false).map(Expr::Literal),
            Some(Kind::Text) => {
                let value = literal::text(self.bytes(0), self.sql_mode)?;
                let introducer = literal::introducer(self.bytes(0));
                self.skip();
                Ok(introducer.map_or(Expr::Literal(value.clone()), |charset| Expr::Introduced(charset, value)))
            }
            Some(Kind::Bytes) => {
                let value = literal::bytes(self.bytes(0)).map_err(|_| self.unexpected())?;
                self.skip();
                Ok(Expr::Literal(value))
            }
            Some(Kind::Variable) => self.variable_operand(),
            Some(Kind::Operator) => match self.bytes(0) {
                b"(" => self.parenthesised(),
                b"{" => self.odbc(),
                _ => Err(self.unexpected()),
            },
            Some(Kind::Param | Kind::Semicolon) | None => Err(self.unexpected()),
        }
    }

    /// The number that is next.
    pub(super) fn number(&mut self, negative: bool) -> Result<Value, SqlError> {
        let value = literal::number(self.bytes(0), negative)?;
        self.skip();
        Ok(value)
    }

    /// An operand that begins with a word.
    fn word_operand(&mut self) -> Result<Expr, SqlError> {
        let keyword = self.keyword();
        match keyword.as_str() {
            "NULL" => self.constant(Value::Null),
            "TRUE" => self.constant(Value::bool(true)),
            "FALSE" => self.constant(Value::bool(false)),
            "CASE" => self.case(),
            "EXISTS" => {
                self.skip();
                if !self.sees_subquery(0) {
                    self.expect_operator("(")?;
                    return Err(self.unexpected());
                }
                self.subquery().map(|query| Expr::Exists(Box::new(query)))
            }
            "ROW" if self.bytes(1) == b"(" => {
                self.skip();
                self.expect_operator("(")?;
                let first = self.expr()?;
                self.expect_operator(",")?;
                let mut parts = self.exprs()?;
                self.expect_operator(")")?;
                parts.insert(0, first);
                Ok(Expr::Row(parts))
            }
            "DATE" | "TIME" | "TIMESTAMP" if self.kind_at(1) == Some(Kind::Text) => {
                self.skip();
                let text = self.text()?;
                temporal(keyword.as_str(), &text)
            }
            "DEFAULT" => self.default_operand(),
            "VALUES" if self.bytes(1) == b"(" => {
                self.skip();
                self.expect_operator("(")?;
                let column = self.column_ident()?;
                self.expect_operator(")")?;
                Ok(Expr::Values(column))
            }
            "MATCH" => self.match_against(),
            word if word.starts_with('_') && matches!(self.kind_at(1), Some(Kind::Text | Kind::Bytes)) => {
                self.introduced()
            }
            _ => self.function_or_name(),
        }
    }

    fn constant(&mut self, value: Value) -> Result<Expr, SqlError> {
        self.skip();
        Ok(Expr::Literal(value))
    }

    /// `DEFAULT`, `DEFAULT(column)`. Without a column it is no operand of anything, which the planner looks after.
    fn default_operand(&mut self) -> Result<Expr, SqlError> {
        self.skip();
        self.expect_operator("(")?;
        let column = self.column_ident()?;
        self.expect_operator(")")?;
        Ok(Expr::Default(Some(column)))
    }

    /// `{expr | DEFAULT}`
    pub(super) fn expr_or_default(&mut self) -> Result<Expr, SqlError> {
        if self.sees("DEFAULT") && self.bytes(1) != b"(" {
            self.skip();
            return Ok(Expr::Default(None));
        }
        self.expr()
    }

    /// `[[database.]table.]column [{-> | ->>} path]`
    pub(super) fn named(&mut self) -> Result<Expr, SqlError> {
        let column = self.column_ident()?;
        let unquote = match self.bytes(0) {
            b"->" => false,
            b"->>" => true,
            _ => return Ok(Expr::Column(column)),
        };
        self.skip();
        let path = Box::new(self.text_or_param()?);
        Ok(Expr::JsonPath { column: Box::new(column), path, unquote })
    }

    /// `[[database.]table.]column`
    pub(super) fn column_ident(&mut self) -> Result<ColumnName, SqlError> {
        let from = self.at;
        let mut column = self.ident()?;
        let (mut table, mut database) = (None, None);
        while self.sees_operator(".") && database.is_none() {
            self.skip();
            database = table.take();
            table = Some(std::mem::replace(&mut column, self.name_after_point()?));
        }
        Ok(ColumnName { database, table, column, span: self.span_since(from) })
    }

    /// A string, as it stands or taken out of the statement.
    pub(super) fn text_or_param(&mut self) -> Result<Expr, SqlError> {
        let is_param = self.marks.get(self.at).is_some_and(|mark| mark.param.is_some());
        if is_param || self.sees_text() { self.primary() } else { Err(self.unexpected()) }
    }

    /// `@name [:= expr]`, `@@name`
    fn variable_operand(&mut self) -> Result<Expr, SqlError> {
        let kind = self.marks.get(self.at).and_then(|mark| mark.variable);
        let unreadable = self.unexpected();
        let text = std::str::from_utf8(self.bytes(0)).map_err(|_| unreadable)?;
        let name = text.strip_prefix('@').unwrap_or(text);
        if let Some(name) = name.strip_prefix('@') {
            let (scope, name) = system_variable(name)?;
            self.skip();
            return Ok(Expr::SystemVariable(scope, name, kind));
        }
        let name = user_variable(name)?;
        self.skip();
        if self.takes_operator(":=") {
            return Ok(Expr::AssignUserVariable(name, self.boxed_expr()?));
        }
        Ok(Expr::UserVariable(name, kind))
    }

    /// `(expr)`, `(expr, expr ...)`, `(query)`
    pub(super) fn parenthesised(&mut self) -> Result<Expr, SqlError> {
        if self.sees_subquery(0) {
            return self.subquery().map(|query| Expr::Subquery(Box::new(query)));
        }
        let doubled = self.bytes(1) == b"(";
        self.expect_operator("(")?;
        let first = self.expr()?;
        if self.takes_operator(",") {
            let mut parts = self.exprs()?;
            parts.insert(0, first);
            self.expect_operator(")")?;
            return Ok(Expr::Row(parts));
        }
        // `((SELECT ...) UNION ...)`
        let first = match first {
            Expr::Subquery(query) if doubled => Expr::Subquery(Box::new(self.rest_of_query(*query)?)),
            first => first,
        };
        self.expect_operator(")")?;
        Ok(first)
    }

    /// `{identifier expr}`: an ODBC escape, of which d, t and ts make dates and times.
    fn odbc(&mut self) -> Result<Expr, SqlError> {
        self.expect_operator("{")?;
        let kind = self.keyword();
        self.ident()?;
        let value = self.expr()?;
        let value = match (kind.as_str(), value) {
            ("D", Expr::Literal(Value::Text(text))) => temporal("DATE", &text)?,
            ("T", Expr::Literal(Value::Text(text))) => temporal("TIME", &text)?,
            ("TS", Expr::Literal(Value::Text(text))) => temporal("TIMESTAMP", &text)?,
            (_, value) => value,
        };
        self.expect_operator("}")?;
        Ok(value)
    }

    /// `CASE [expr] WHEN expr THEN expr [WHEN expr THEN expr] ... [ELSE expr] END`
    fn case(&mut self) -> Result<Expr, SqlError> {
        self.expect("CASE")?;
        let operand = if self.sees("WHEN") { None } else { Some(self.boxed_expr()?) };
        let mut branches = Vec::new();
        self.expect("WHEN")?;
        loop {
            let when = self.expr()?;
            self.expect("THEN")?;
            branches.push((when, self.expr()?));
            if !self.takes("WHEN") {
                break;
            }
        }
        let otherwise = if self.takes("ELSE") { Some(self.boxed_expr()?) } else { None };
        self.expect("END")?;
        Ok(Expr::Case { operand, branches, otherwise })
    }

    /// `MATCH {columns | (columns)} AGAINST (bit_expr [mode])`, where mode is `IN NATURAL LANGUAGE MODE`,
    /// `IN BOOLEAN MODE` or `[IN NATURAL LANGUAGE MODE] WITH QUERY EXPANSION`
    fn match_against(&mut self) -> Result<Expr, SqlError> {
        self.expect("MATCH")?;
        let bracket = self.takes_operator("(");
        let columns = self.separated(Cursor::column_ident)?;
        if bracket {
            self.expect_operator(")")?;
        }
        self.expect("AGAINST")?;
        self.expect_operator("(")?;
        let against = self.subexpr(Level::BitOr)?;
        let boolean = self.takes("IN BOOLEAN MODE");
        if !boolean && self.takes("IN") {
            self.expect("NATURAL")?;
            self.expect("LANGUAGE")?;
            self.expect("MODE")?;
        }
        let expansion = !boolean && self.takes("WITH QUERY EXPANSION");
        self.expect_operator(")")?;
        Ok(Expr::Match(Box::new(Match { columns, against, boolean, expansion })))
    }

    /// `_charset {'string' | x'..' | b'..'}`: those of strings that the lexer knows are part of them.
    fn introduced(&mut self) -> Result<Expr, SqlError> {
        let word = self.keyword();
        let charset = word.as_str()[1..].to_ascii_lowercase();
        if OTHER_CHARSETS.contains(&charset.as_str()) {
            return Err(SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[&charset]));
        }
        let Some(charset) = Charset::from_name(&charset) else { return self.function_or_name() };
        self.skip();
        let value = match self.kind() {
            Some(Kind::Text) => literal::text(self.bytes(0), self.sql_mode)?,
            _ => literal::bytes(self.bytes(0)).map_err(|_| self.unexpected())?,
        };
        self.skip();
        Ok(Expr::Introduced(charset, value))
    }

    /// What INTERVAL begins where an offset of time is wanted.
    pub(super) fn interval_or_expr(&mut self) -> Result<Interval, SqlError> {
        if self.takes("INTERVAL") { self.interval() } else { self.expr().map(Interval::Call) }
    }
}

/// Character sets of MySQL that this server does not know, as introducers.
const OTHER_CHARSETS: [&str; 35] = [
    "armscii8", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8", "eucjpms",
    "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin2",
    "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf32",
];

/// `DATE '...'` and the like.
fn temporal(kind: &str, text: &str) -> Result<Expr, SqlError> {
    Ok(Expr::Literal(match kind {
        "DATE" => literal::date(text)?,
        "TIME" => literal::time(text)?,
        _ => match literal::timestamp(text)? {
            (value, false) => value,
            // Which time this is depends on the session's zone.
            (value, true) => {
                let fsp = if let Value::DateTime(value) = value { value.fsp() } else { 0 };
                return Ok(Expr::Cast(Box::new(Expr::Literal(Value::text(text))), CastType::DateTime { fsp }));
            }
        },
    }))
}
