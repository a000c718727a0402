//! From bytes to syntax trees.
//!
//! Outline: [`lexer`] cuts, [`fingerprint`] takes literals out of the statements that are planned, and a descent over the
//! lexemes, [`cursor`], makes the tree (`docs/decisions/0015-parser.md`: why our own). [`admin`] looks at a
//! statement's first words. Queries: [`query`], [`select`], [`from`], [`json_table`], [`window`]; changes of rows: [`insert`], [`update`];
//! hints: [`hints`];
//! expressions: [`expression`] for operators, [`primary`] for operands, [`function`], [`cast`], [`words`]. Other
//! statements: [`show`], [`schema`], [`alter`], [`mod@column`], [`account`], [`grant`], [`xa`]. The grammar rule stands above each function, in the notation of
//! MySQL's manual.

mod account;
mod admin;
mod alter;
mod backup;
mod cast;
mod column;
mod cursor;
pub(crate) mod digest;
mod expression;
pub(crate) mod fingerprint;
mod from;
mod function;
mod grant;
mod hints;
mod insert;
mod json_table;
pub(crate) mod lexer;
mod literal;
mod maintain;
mod names;
mod prepared;
mod primary;
mod query;
mod schema;
mod secrets;
mod select;
mod show;
mod update;
mod window;
mod words;
mod xa;

pub(crate) use column::default_expression;
use fingerprint::{Fingerprint, Mark};
pub(crate) use hints::quoted;
use lexer::{Kind, Lexer};
pub use secrets::without_passwords;

use crate::ast::{AccountName, Statement};
use crate::error::{ER_EMPTY_QUERY, ER_PARSE_ERROR, SqlError};
use crate::expr::{Param, ParamKind, VariableScope};
use crate::memory::MemoryUse;
use crate::types::SqlMode;

/// Levels that a statement's tree has at most, and the descent that makes it; a chain of AND or OR is one level.
pub(crate) const MAX_DEPTH: usize = 200;

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

/// The name of a variable, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VariableName {
    /// `@name`
    User(String),
    /// `@@name`
    System(VariableScope, String),
}

impl VariableName {
    /// The name that a lexeme is, if it is well formed.
    pub(crate) fn read(lexeme: &[u8]) -> Option<VariableName> {
        let text = std::str::from_utf8(lexeme).ok()?.strip_prefix('@')?;
        match text.strip_prefix('@') {
            Some(system) => {
                let (scope, name) = names::system_variable(system).ok()?;
                Some(VariableName::System(scope, name))
            }
            None => names::user_variable(text).ok().map(VariableName::User),
        }
    }

    /// Whether it says how many warnings or errors the last statement left.
    pub(crate) fn counts_diagnostics(&self) -> bool {
        matches!(self, VariableName::System(_, name) if name == "warning_count" || name == "error_count")
    }
}

/// A statement's tree, how many `?` it has and how many lexemes.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) statement: Statement,
    pub(crate) param_count: usize,
    /// The variables in it, in order.
    pub(crate) variables: Vec<VariableName>,
    pub(crate) lexemes: usize,
}

/// Parses a statement whose literals were taken out.
pub(crate) fn parse_fingerprint(
    sql: &[u8],
    fingerprint: &Fingerprint,
    sql_mode: SqlMode,
) -> Result<Statement, SqlError> {
    admin::parse(sql, &fingerprint.marks, sql_mode)
}

/// Parses a statement as it stands; `?` are parameters of these kinds, as far as they are known, or a syntax
/// error if there are no `params`. `kind_of` says what variables are at present.
pub(crate) fn parse(
    sql: &[u8],
    sql_mode: SqlMode,
    memory: &MemoryUse,
    params: Option<&[Option<ParamKind>]>,
    kind_of: &dyn Fn(&VariableName) -> Option<ParamKind>,
) -> Result<Parsed, SqlError> {
    let (mut marks, mut variables) = (Vec::new(), Vec::new());
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
        let name = VariableName::read(lexeme.bytes(sql)).filter(|_| lexeme.kind == Kind::Variable);
        let variable = name.as_ref().and_then(kind_of);
        variables.extend(name);
        marks.push(Mark { lexeme, param, variable });
        memory.hold_text(marks.len(), 0, sql)?;
    }
    if marks.is_empty() {
        return Err(SqlError::new(ER_EMPTY_QUERY, &[]));
    }
    let statement = admin::parse(sql, &marks, sql_mode)?;
    Ok(Parsed { statement, param_count, variables, lexemes: marks.len() })
}

/// The accounts that a list names, as `mandatory_roles` has it: `role, 'other'@'host'`. None if it is empty.
pub fn account_names(list: &str) -> Result<Vec<AccountName>, SqlError> {
    let lexemes = Lexer::new(list.as_bytes(), SqlMode::DEFAULT);
    let marks: Vec<Mark> = lexemes.map(|lexeme| Mark { lexeme, param: None, variable: None }).collect();
    if marks.is_empty() {
        return Ok(Vec::new());
    }
    let mut cursor = cursor::Cursor::new(list.as_bytes(), &marks, SqlMode::DEFAULT);
    let names = account::names(&mut cursor)?;
    cursor.end()?;
    Ok(names)
}

/// A syntax error that quotes the text from `offset`.
fn near(sql: &[u8], offset: usize) -> SqlError {
    let offset = offset.min(sql.len());
    let rest = secrets::rest_without_passwords(sql, offset, SqlMode::DEFAULT);
    // 80 characters are 320 bytes at most: attempts that are taken back come here too, with all of a long statement ahead.
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(320)]);
    let quoted: String = rest.chars().take(80).collect();
    let line = 1 + sql[..offset].iter().filter(|byte| **byte == b'\n').count();
    syntax_error(&quoted, line)
}

fn syntax_error(quoted: &str, line: usize) -> SqlError {
    SqlError::new(ER_PARSE_ERROR, &[&quoted, &line])
}

#[cfg(test)]
mod tests;
