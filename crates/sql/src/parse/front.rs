//! Drives the parser library: our lexemes go in as its tokens, its tree comes out and goes straight to
//! [`super::statement`] and [`super::expression`].
//!
//! What the library does not read is settled on the tokens: `LOCK IN SHARE MODE`, `UPDATE IGNORE`, `||`,
//! `REGEXP`, infix `MOD` and the function `INTERVAL` as MySQL means them. Token positions carry byte offsets of the statement, so that a
//! syntax error can quote the text it stumbled over.
//!
//! Invariants
//! 1. The library's tree is made, converted and dropped on a stack that has room for all its levels ([`depth`]).
//! 2. Our tree has no more than [`MAX_DEPTH`](expression::MAX_DEPTH) levels.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

use super::dialect::MySql;
use super::fingerprint::Mark;
use super::lexer::Kind;
use super::{depth, expression, literal, near, statement, syntax_error};
use crate::ast::{Expr, Statement};
use crate::error::{ER_STACK_OVERRUN_NEED_MORE, SqlError};
use crate::stack;
use crate::types::SqlMode;
use crate::value::Value;

/// Nesting of parentheses and the like that is parsed.
const MAX_NESTING: usize = 60;
/// Levels of the library's tree, those of AND and OR apart: more than [`expression::MAX_DEPTH`] levels of ours need.
const MAX_LEVELS: usize = 4000;

/// How the library is shown REGEXP and NOT REGEXP: it would take a NULL after the word for a part of it.
pub(super) const REGEXP: &str = "REGEXP";
pub(super) const NOT_REGEXP: &str = "NOT REGEXP";

/// What the tokens said beside what the library was shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    /// LOCK IN SHARE MODE
    pub(crate) lock_in_share_mode: bool,
    /// UPDATE IGNORE, DELETE IGNORE
    pub(crate) ignore: bool,
}

/// Parses a SELECT, INSERT, REPLACE, UPDATE or DELETE.
pub(crate) fn parse_statement(sql: &[u8], marks: &[Mark], sql_mode: SqlMode) -> Result<Statement, SqlError> {
    on_deep_stack(sql, marks, || {
        let mut extras = Extras::default();
        let tokens = tokens(sql, marks, sql_mode, &mut extras)?;
        let dialect = MySql::default();
        let mut parser = Parser::new(&dialect).with_recursion_limit(MAX_NESTING).with_tokens_with_locations(tokens);
        let tree = parser.parse_statement().map_err(|error| refuse(sql, &error))?;
        expect_end(sql, &parser)?;
        let names = item_texts(sql, marks);
        statement::convert(tree, extras, &names)
    })
}

/// Parses an expression that is all of `marks`.
pub(crate) fn parse_expr(sql: &[u8], marks: &[Mark], sql_mode: SqlMode) -> Result<Expr, SqlError> {
    on_deep_stack(sql, marks, || {
        let tokens = tokens(sql, marks, sql_mode, &mut Extras::default())?;
        let dialect = MySql::default();
        let mut parser = Parser::new(&dialect).with_recursion_limit(MAX_NESTING).with_tokens_with_locations(tokens);
        let tree = parser.parse_expr().map_err(|error| refuse(sql, &error))?;
        expect_end(sql, &parser)?;
        expression::convert(tree)
    })
}

/// Runs `parse` on a stack for all levels that the library's tree of `marks` can have; 1436 if those are too many.
fn on_deep_stack<T>(sql: &[u8], marks: &[Mark], parse: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
    let depth = depth::measure(sql, marks);
    if depth.nested > MAX_LEVELS {
        return Err(too_deep());
    }
    stack::with_room_for_tree(depth.levels, parse)
}

pub(super) fn too_deep() -> SqlError {
    SqlError::new(ER_STACK_OVERRUN_NEED_MORE, &[])
}

fn expect_end(sql: &[u8], parser: &Parser<'_>) -> Result<(), SqlError> {
    let next = parser.peek_token();
    match next.token {
        Token::EOF => Ok(()),
        _ => Err(near(sql, offset_of(next.span.start.column))),
    }
}

/// Columns of token positions are offsets plus one.
fn offset_of(column: u64) -> usize {
    usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn refuse(sql: &[u8], error: &ParserError) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => too_deep(),
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => {
            let column = message.rsplit_once("Column: ").and_then(|(_, column)| column.trim().parse().ok());
            match column {
                Some(column) => near(sql, offset_of(column)),
                None => near(sql, sql.len()),
            }
        }
    }
}

struct Builder<'a> {
    sql: &'a [u8],
    marks: &'a [Mark],
    at: usize,
    /// Where the function INTERVAL is called, the next call last.
    intervals: Vec<usize>,
    tokens: Vec<TokenWithSpan>,
}

fn tokens(sql: &[u8], marks: &[Mark], sql_mode: SqlMode, extras: &mut Extras) -> Result<Vec<TokenWithSpan>, SqlError> {
    let intervals = interval_calls(sql, marks);
    let mut builder = Builder { sql, marks, at: 0, intervals, tokens: Vec::with_capacity(marks.len() + 1) };
    while builder.at < marks.len() {
        let mark = marks[builder.at];
        let bytes = mark.lexeme.bytes(sql);
        if builder.settle(extras) {
            continue;
        }
        let token = builder.token(mark, bytes, sql_mode)?;
        builder.push(token);
        builder.at += 1;
    }
    Ok(builder.tokens)
}

impl Builder<'_> {
    fn push(&mut self, token: Token) {
        let lexeme = self.marks[self.at].lexeme;
        let place = |offset: usize| Location { line: 1, column: offset as u64 + 1 };
        let span = Span { start: place(lexeme.start), end: place(lexeme.end) };
        self.tokens.push(TokenWithSpan { token, span });
    }

    fn word_at(&self, at: usize) -> &[u8] {
        match self.marks.get(at) {
            Some(mark) if mark.lexeme.kind == Kind::Word => mark.lexeme.bytes(self.sql),
            _ => b"",
        }
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.word_at(self.at + ahead).eq_ignore_ascii_case(word.as_bytes())
    }

    fn is_regexp(&self, ahead: usize) -> bool {
        self.is_word(ahead, "REGEXP") || self.is_word(ahead, "RLIKE")
    }

    fn is_operator(&self, at: usize, operator: &[u8]) -> bool {
        self.marks.get(at).is_some_and(|mark| mark.lexeme.bytes(self.sql) == operator)
    }

    /// Settles what the library does not read; true if it stepped on.
    fn settle(&mut self, extras: &mut Extras) -> bool {
        if self.is_word(0, "LOCK") && self.is_word(1, "IN") && self.is_word(2, "SHARE") && self.is_word(3, "MODE") {
            extras.lock_in_share_mode = true;
            self.at += 4;
            return true;
        }
        let first = self.word_at(0);
        let update = first.eq_ignore_ascii_case(b"UPDATE");
        if self.at > 0 && self.at <= 3 && (update || first.eq_ignore_ascii_case(b"DELETE")) {
            let all_modifiers = (1..self.at).all(|at| is_modifier(self.word_at(at)));
            if all_modifiers && is_modifier(self.word_at(self.at)) {
                extras.ignore |= self.is_word(0, "IGNORE");
                self.at += 1;
                return true;
            }
        }
        if self.intervals.pop_if(|at| *at == self.at).is_some() {
            self.push(Token::make_word("INTERVAL", Some('`')));
            self.at += 1;
            return true;
        }
        let negated = self.is_word(0, "NOT");
        if self.is_regexp(usize::from(negated)) {
            self.push(Token::CustomBinaryOperator(if negated { NOT_REGEXP } else { REGEXP }.to_owned()));
            self.at += 1 + usize::from(negated);
            return true;
        }
        if self.is_word(0, "MOD") && self.at > 0 {
            let operand_before = self.is_operator(self.at - 1, b")")
                || matches!(
                    self.marks[self.at - 1].lexeme.kind,
                    Kind::Number | Kind::Text | Kind::Bytes | Kind::Param | Kind::QuotedName | Kind::Variable
                );
            if operand_before || !self.is_operator(self.at + 1, b"(") {
                self.push(Token::Mod);
                self.at += 1;
                return true;
            }
        }
        false
    }

    fn token(&self, mark: Mark, bytes: &[u8], sql_mode: SqlMode) -> Result<Token, SqlError> {
        if let Some(param) = mark.param {
            return Ok(Token::Placeholder(param.placeholder()));
        }
        let unreadable = || near(self.sql, mark.lexeme.start);
        if let Some(kind) = mark.variable {
            let name = std::str::from_utf8(bytes).map_err(|_| unreadable())?;
            return Ok(Token::Placeholder(format!("{}{name}", char::from(kind.letter()))));
        }
        Ok(match mark.lexeme.kind {
            Kind::Word | Kind::Variable => {
                Token::make_word(std::str::from_utf8(bytes).map_err(|_| unreadable())?, None)
            }
            Kind::QuotedName => Token::make_word(&literal::name(bytes)?, Some('`')),
            Kind::Number => Token::Number(String::from_utf8_lossy(bytes).into_owned(), false),
            Kind::Text => constant(literal::text(bytes, sql_mode)?),
            Kind::Bytes => constant(literal::bytes(bytes)?),
            Kind::Param | Kind::Semicolon => return Err(unreadable()),
            Kind::Operator => operator(bytes, sql_mode).ok_or_else(unreadable)?,
        })
    }
}

/// Where INTERVAL is a function, from the last to the first: its parentheses have several elements. The library would
/// have to try both ways, and nested ones each time twice.
fn interval_calls(sql: &[u8], marks: &[Mark]) -> Vec<usize> {
    let bytes = |at: usize| marks[at].lexeme.bytes(sql);
    let mut calls = Vec::new();
    // For each open parenthesis the INTERVAL before it, until a comma has come.
    let mut open: Vec<Option<usize>> = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        match (mark.lexeme.kind, bytes(at)) {
            (Kind::Operator, b"(") => {
                let before = at.checked_sub(1).filter(|before| bytes(*before).eq_ignore_ascii_case(b"INTERVAL"));
                open.push(before);
            }
            (Kind::Operator, b",") => calls.extend(open.last_mut().and_then(Option::take)),
            (Kind::Operator, b")") => drop(open.pop()),
            _ => {}
        }
    }
    calls.sort_unstable_by(|a, b| b.cmp(a));
    calls
}

fn is_modifier(word: &[u8]) -> bool {
    [b"LOW_PRIORITY" as &[u8], b"QUICK", b"IGNORE"].iter().any(|modifier| word.eq_ignore_ascii_case(modifier))
}

fn constant(value: Value) -> Token {
    match value {
        Value::Text(text) => Token::SingleQuotedString(text.to_string()),
        Value::Bytes(bytes) => Token::SingleQuotedByteStringLiteral(hex(&bytes)),
        Value::Hex(bytes) => Token::HexStringLiteral(hex(&bytes)),
        other => unreachable!("string and binary literals are strings, not {other:?}"),
    }
}

/// Bytes as the parser library hands them through.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn operator(bytes: &[u8], sql_mode: SqlMode) -> Option<Token> {
    Some(match bytes {
        b"(" => Token::LParen,
        b")" => Token::RParen,
        b"," => Token::Comma,
        b"." => Token::Period,
        b"=" => Token::Eq,
        b"<" => Token::Lt,
        b">" => Token::Gt,
        b"<=" => Token::LtEq,
        b">=" => Token::GtEq,
        b"<>" | b"!=" => Token::Neq,
        b"<=>" => Token::Spaceship,
        b"+" => Token::Plus,
        b"-" => Token::Minus,
        b"*" => Token::Mul,
        b"/" => Token::Div,
        b"%" => Token::Mod,
        b"&" => Token::Ampersand,
        b"|" => Token::Pipe,
        b"^" => Token::Caret,
        b"~" => Token::Tilde,
        b"!" => Token::ExclamationMark,
        b"<<" => Token::ShiftLeft,
        b">>" => Token::ShiftRight,
        b":=" => Token::Assignment,
        b"->" => Token::Arrow,
        b"->>" => Token::LongArrow,
        b"||" if sql_mode.contains(SqlMode::PIPES_AS_CONCAT) => Token::StringConcat,
        b"||" => Token::make_word("OR", None),
        b"&&" => Token::make_word("AND", None),
        _ => return None,
    })
}

/// The texts of a SELECT's items, which name its columns.
fn item_texts(sql: &[u8], marks: &[Mark]) -> Vec<String> {
    let word = |at: usize| -> &[u8] {
        match marks.get(at) {
            Some(mark) if mark.lexeme.kind == Kind::Word => mark.lexeme.bytes(sql),
            _ => b"",
        }
    };
    let is = |at: usize, words: &[&str]| words.iter().any(|known| word(at).eq_ignore_ascii_case(known.as_bytes()));
    let Some(mut at) = (0..marks.len()).find(|at| is(*at, &["SELECT"])) else { return Vec::new() };
    at += 1;
    while is(at, &["DISTINCT", "DISTINCTROW", "ALL", "HIGH_PRIORITY", "STRAIGHT_JOIN"])
        || word(at).get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"SQL_"))
    {
        at += 1;
    }
    const ENDS: [&str; 10] = ["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "FOR", "INTO", "UNION", "LOCK"];
    let mut texts = Vec::new();
    let (mut depth, mut first) = (0_usize, at);
    loop {
        let bytes = marks.get(at).map_or(&b""[..], |mark| mark.lexeme.bytes(sql));
        let end = at >= marks.len() || (depth == 0 && (is(at, &ENDS) || bytes == b")"));
        if end || (depth == 0 && bytes == b",") {
            let text = match (marks.get(first), at.checked_sub(1).and_then(|last| marks.get(last))) {
                (Some(from), Some(to)) if first < at => &sql[from.lexeme.start..to.lexeme.end],
                _ => b"",
            };
            texts.push(String::from_utf8_lossy(text).into_owned());
            first = at + 1;
        }
        match bytes {
            _ if end => return texts,
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
}

/// A syntax error without a place.
pub(super) fn nonsense(what: &str) -> SqlError {
    syntax_error(what, 1)
}
