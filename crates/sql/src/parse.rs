//! From bytes to syntax trees.
//!
//! Outline: [`lexer`] cuts, [`fingerprint`] takes literals out of the statements that are planned, for
//! which [`front`] then drives the parser library, under [`dialect`], into [`statement`] and [`expression`]. Everything else
//! (transactions, SET, SHOW, schema changes, accounts) is read by our own recursive descent over the
//! lexemes: [`cursor`], [`admin`], [`show`], [`schema`], [`account`], [`xa`].

mod account;
mod admin;
mod cursor;
mod depth;
mod dialect;
mod expression;
pub(crate) mod fingerprint;
mod front;
mod lexer;
mod literal;
mod schema;
mod show;
mod statement;
mod xa;

pub(crate) use expression::MAX_DEPTH;
use fingerprint::{Fingerprint, Mark};
use lexer::{Kind, Lexer};

use crate::ast::Statement;
use crate::error::{ER_EMPTY_QUERY, ER_PARSE_ERROR, SqlError};
use crate::expr::{Param, ParamKind};
use crate::memory::MemoryUse;
use crate::types::SqlMode;

/// The first statement of `sql` without its semicolon, and what follows it (empty if nothing but
/// space and comments does).
pub fn split_statement(sql: &[u8], sql_mode: SqlMode) -> (&[u8], &[u8]) {
    let mut lexer = Lexer::new(sql, sql_mode);
    match lexer.find(|lexeme| lexeme.kind == Kind::Semicolon) {
        None => (sql, b""),
        Some(semicolon) => match lexer.next() {
            Some(next) => (&sql[..semicolon.start], &sql[next.start..]),
            None => (&sql[..semicolon.start], b""),
        },
    }
}

/// A statement's tree, how many `?` it has and how many lexemes.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) statement: Statement,
    pub(crate) param_count: usize,
    pub(crate) lexemes: usize,
}

/// Parses a statement whose literals were taken out.
pub(crate) fn parse_fingerprint(
    sql: &[u8],
    fingerprint: &Fingerprint,
    sql_mode: SqlMode,
) -> Result<Statement, SqlError> {
    front::parse_statement(sql, &fingerprint.marks, sql_mode)
}

/// Parses a statement as it stands; `?` are parameters of these kinds, as far as they are known, or a syntax
/// error if there are no `params`.
pub(crate) fn parse(
    sql: &[u8],
    sql_mode: SqlMode,
    memory: &MemoryUse,
    params: Option<&[Option<ParamKind>]>,
) -> Result<Parsed, SqlError> {
    let mut marks = Vec::new();
    let mut param_count = 0;
    let mut lexer = Lexer::new(sql, sql_mode).peekable();
    while let Some(lexeme) = lexer.next() {
        if lexeme.kind == Kind::Semicolon && lexer.peek().is_none() {
            break;
        }
        let param = params.filter(|_| lexeme.kind == Kind::Param).map(|kinds| {
            param_count += 1;
            Param { index: param_count - 1, kind: kinds.get(param_count - 1).copied().flatten() }
        });
        marks.push(Mark { lexeme, param });
        memory.hold_text(marks.len(), 0, sql)?;
    }
    if marks.is_empty() {
        return Err(SqlError::new(ER_EMPTY_QUERY, &[]));
    }
    let statement = admin::parse(sql, &marks, sql_mode)?;
    Ok(Parsed { statement, param_count, lexemes: marks.len() })
}

/// A syntax error that quotes the text from `offset`.
fn near(sql: &[u8], offset: usize) -> SqlError {
    let offset = offset.min(sql.len());
    let rest = String::from_utf8_lossy(&sql[offset..]);
    let quoted: String = rest.chars().take(80).collect();
    let line = 1 + sql[..offset].iter().filter(|byte| **byte == b'\n').count();
    syntax_error(&quoted, line)
}

fn syntax_error(quoted: &str, line: usize) -> SqlError {
    SqlError::new(ER_PARSE_ERROR, &[&quoted, &line])
}
