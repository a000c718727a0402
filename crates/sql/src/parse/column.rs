//! Columns of CREATE TABLE and ALTER TABLE: type, options, default.

use super::cursor::Cursor;
use super::expression::Level;
use super::fingerprint::Mark;
use super::lexer::Lexer;
use crate::ast::{ColumnSpec, Expr};
use crate::collation::Collation;
use crate::error::{ER_COLLATION_CHARSET_MISMATCH, ER_UNKNOWN_CHARACTER_SET, SqlError};
use crate::stack;
use crate::types::column_type::TypeWords;
use crate::types::{Charset, ColumnType, IntType, IntWidth, Kind, SqlMode};
use crate::value::Value;

/// CHARACTER SET and COLLATE, in any order.
#[derive(Default)]
pub(super) struct CharsetOptions {
    charset: Option<String>,
    collation: Option<String>,
}

impl CharsetOptions {
    /// Whether one of the two is next.
    pub(super) fn next(&self, cursor: &Cursor<'_>) -> bool {
        ["CHARACTER SET", "CHARSET", "COLLATE"].iter().any(|words| cursor.sees(words))
    }

    /// Reads one of the two if it is next.
    pub(super) fn option(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
        if cursor.takes("CHARACTER SET") || cursor.takes("CHARSET") {
            cursor.takes_operator("=");
            self.charset = Some(cursor.name_or_text()?);
        } else if cursor.takes("COLLATE") {
            cursor.takes_operator("=");
            self.collation = Some(cursor.name_or_text()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn collation(&self) -> Result<Option<Collation>, SqlError> {
        let charset = self.charset.as_deref().map(charset_named).transpose()?;
        let Some(name) = &self.collation else { return Ok(charset.map(Charset::default_collation)) };
        let collation = Collation::named(name)?;
        charset.map_or(Ok(()), |charset| belongs(collation, charset))?;
        Ok(Some(collation))
    }
}

/// The character set that a statement names; 1115 for one that is not known.
pub(super) fn charset_named(name: &str) -> Result<Charset, SqlError> {
    Charset::from_name(name).ok_or_else(|| SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[&name]))
}

/// 1253 if the collation is not one of the character set.
fn belongs(collation: Collation, charset: Charset) -> Result<(), SqlError> {
    if collation.charset() == charset {
        return Ok(());
    }
    Err(SqlError::new(ER_COLLATION_CHARSET_MISMATCH, &[&collation.name(), &charset.name()]))
}

/// `name type [option ...]`
pub(super) fn column(cursor: &mut Cursor<'_>) -> Result<ColumnSpec, SqlError> {
    let name = cursor.name()?;
    let serial = cursor.takes("SERIAL");
    let (column_type, own_collation) = if serial {
        (IntType { width: IntWidth::Big, unsigned: true, display_width: None }.into(), false)
    } else {
        column_type(cursor, &name)?
    };
    let mut column = ColumnSpec {
        name,
        column_type,
        own_collation,
        nullable: serial.then_some(false),
        default: None,
        default_text: None,
        on_update_now: None,
        auto_increment: serial,
        primary_key: false,
        unique: serial,
        comment: String::new(),
    };
    column_options(cursor, &mut column)?;
    Ok(column)
}

fn column_options(cursor: &mut Cursor<'_>, column: &mut ColumnSpec) -> Result<(), SqlError> {
    loop {
        if cursor.takes("NOT NULL") {
            column.nullable = Some(false);
        } else if cursor.takes("NULL") {
            column.nullable = Some(true);
        } else if cursor.takes("SERIAL DEFAULT VALUE") {
            (column.nullable, column.auto_increment, column.unique) = (Some(false), true, true);
        } else if cursor.takes("DEFAULT") {
            (column.default, column.default_text) = default_value(cursor)?;
        } else if cursor.takes("ON UPDATE") {
            column.on_update_now = Some(now(cursor)?.unwrap_or(0));
        } else if cursor.takes("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if cursor.takes("PRIMARY KEY") || cursor.takes("KEY") {
            column.primary_key = true;
        } else if cursor.takes("UNIQUE") {
            cursor.takes("KEY");
            column.unique = true;
        } else if cursor.takes("COMMENT") {
            column.comment = cursor.text()?;
        } else if cursor.takes("COLLATE") {
            let name = cursor.name_or_text()?;
            let collation = Collation::named(&name)?;
            if let Some(named) = column.column_type.collation().filter(|_| column.own_collation) {
                belongs(collation, named.charset())?;
            }
            column.column_type = column.column_type.under(collation);
            column.own_collation = true;
        } else if cursor.takes("COLUMN_FORMAT") || cursor.takes("STORAGE") {
            cursor.name()?;
        } else if cursor.sees("REFERENCES") {
            return Err(SqlError::unsupported("foreign keys"));
        } else if cursor.sees("GENERATED") || cursor.sees("AS") {
            return Err(SqlError::unsupported("generated columns"));
        } else if cursor.sees("CHECK") || cursor.sees("CONSTRAINT") {
            return Err(SqlError::unsupported("CHECK constraints"));
        } else if cursor.sees("INVISIBLE") {
            return Err(SqlError::unsupported("invisible columns"));
        } else if !cursor.takes("VISIBLE") {
            return Ok(());
        }
    }
}

/// `NOW`, `CURRENT_TIMESTAMP`, `LOCALTIME`, with or without parentheses and digits, which are returned.
fn now(cursor: &mut Cursor<'_>) -> Result<Option<u8>, SqlError> {
    if !cursor.takes_any(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]) {
        return Err(cursor.unexpected());
    }
    if cursor.takes_operator("(") && !cursor.takes_operator(")") {
        let digits = cursor.integer::<u8>()?;
        cursor.expect_operator(")")?;
        return Ok(Some(digits));
    }
    Ok(None)
}

/// What follows DEFAULT, and the text of an expression in parentheses.
pub(super) fn default_value(cursor: &mut Cursor<'_>) -> Result<(Option<Expr>, Option<String>), SqlError> {
    if matches!(cursor.word().as_str(), "CURRENT_TIMESTAMP" | "NOW" | "LOCALTIME" | "LOCALTIMESTAMP") {
        let digits = now(cursor)?.map(|digits| Expr::Literal(Value::Int(digits.into())));
        let args = digits.into_iter().collect();
        return Ok((Some(Expr::Call { name: "NOW".to_owned(), args, distinct: false }), None));
    }
    if cursor.takes_operator("(") {
        let from = cursor.at;
        let expr = cursor.expr()?;
        let text = cursor.text_since(from);
        cursor.expect_operator(")")?;
        return Ok((Some(expr), Some(text)));
    }
    Ok((Some(cursor.subexpr(Level::Primary)?), None))
}

/// The expression of a default that was stored as its text, as it is under the SQL mode of the statement that defined it.
pub(crate) fn default_expression(text: &str, sql_mode: SqlMode) -> Result<Expr, SqlError> {
    let lexemes = Lexer::new(text.as_bytes(), sql_mode);
    let marks: Vec<Mark> = lexemes.map(|lexeme| Mark { lexeme, param: None, variable: None }).collect();
    stack::with_room_for_statement(marks.len(), || {
        let mut cursor = Cursor::new(text.as_bytes(), &marks, sql_mode);
        let expr = cursor.expr()?;
        cursor.end()?;
        Ok(expr)
    })
}

/// A type, and whether it names its own collation.
pub(super) fn column_type(cursor: &mut Cursor<'_>, column: &str) -> Result<(ColumnType, bool), SqlError> {
    let word = cursor.word();
    cursor.name()?;
    let Some(column_type) = ColumnType::parse(&word, &mut Words { cursor, column })? else {
        return Err(match word.as_str() {
            "GEOMETRY" | "POINT" | "LINESTRING" | "POLYGON" => SqlError::unsupported("spatial columns"),
            _ => {
                cursor.at -= 1;
                cursor.unexpected()
            }
        });
    };
    if !matches!(column_type.kind(), Kind::Characters(_) | Kind::Members(_)) {
        return Ok((column_type, false));
    }
    let mut charset = CharsetOptions::default();
    let national = matches!(word.as_str(), "NATIONAL" | "NCHAR" | "NVARCHAR");
    if national {
        charset.charset = Some("utf8mb3".to_owned());
    }
    let mut binary = false;
    loop {
        if cursor.takes("BINARY") {
            binary = true;
        } else if national && !cursor.sees("COLLATE") || !charset.option(cursor)? {
            break;
        }
    }
    // CHARACTER SET binary makes the type a binary one.
    let own = match charset.collation()? {
        named if !binary => named,
        named => Some(named.unwrap_or(Collation::DEFAULT).charset().bin_collation()),
    };
    Ok((own.map(|own| column_type.under(own)).unwrap_or(column_type), own.is_some()))
}

/// What follows a type's name.
struct Words<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    column: &'c str,
}

impl TypeWords for Words<'_, '_> {
    fn column(&self) -> &str {
        self.column
    }

    fn sql_mode(&self) -> SqlMode {
        self.cursor.sql_mode
    }

    fn takes(&mut self, words: &str) -> bool {
        self.cursor.takes(words)
    }

    fn numbers(&mut self) -> Result<(Option<u64>, Option<u64>), SqlError> {
        if !self.cursor.takes_operator("(") {
            return Ok((None, None));
        }
        let first = self.cursor.integer()?;
        let second = if self.cursor.takes_operator(",") { Some(self.cursor.integer()?) } else { None };
        self.cursor.expect_operator(")")?;
        Ok((Some(first), second))
    }

    fn number(&mut self) -> Result<Option<u64>, SqlError> {
        self.cursor.optional_length()
    }

    fn texts(&mut self) -> Result<Vec<String>, SqlError> {
        self.cursor.expect_operator("(")?;
        let texts = self.cursor.separated(|cursor| cursor.text())?;
        self.cursor.expect_operator(")")?;
        Ok(texts)
    }

    fn unexpected(&self) -> SqlError {
        self.cursor.unexpected()
    }
}
