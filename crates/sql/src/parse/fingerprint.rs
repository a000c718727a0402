//! Takes the literals out of a statement, so that statements which differ only in them share a plan.
//!
//! The fingerprint of SELECT, INSERT, REPLACE, UPDATE and DELETE is their text with one space or none
//! between lexemes, no comments, and `?` for each literal that became a parameter. The VALUES rows of an
//! INSERT that have one shape are one row in the fingerprint, repeated [`Fingerprint::rows`] times.
//!
//! Invariants
//! 1. Two statements with one fingerprint mean the same but for their parameters: a literal whose value
//!    or type changes the meaning stays in the text (select lists, GROUP BY, ORDER BY, ESCAPE, lengths of
//!    types, typed literals).
//! 2. Parameters are numbered in the order of the fingerprint. Where its row stands for several, row `r`
//!    finds its parameters at `r * row_params`, and what follows the rows at those of the last row.

use super::lexer::{Kind, Lexeme, Lexer};
use super::literal;
use crate::error::SqlError;
use crate::memory::MemoryUse;
use crate::types::SqlMode;
use crate::value::Value;

/// A lexeme of the fingerprint, and which parameter it became.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) lexeme: Lexeme,
    pub(crate) param: Option<u32>,
}

/// A statement without its literals. Kept and filled anew for each statement of a session.
#[derive(Debug, Default)]
pub(crate) struct Fingerprint {
    /// The text; what was there before [`take`] stays before it.
    pub(crate) key: Vec<u8>,
    /// The literals.
    pub(crate) params: Vec<Value>,
    /// The lexemes that make the text.
    pub(crate) marks: Vec<Mark>,
    /// How often the VALUES row of the text is there; 1 for other statements.
    pub(crate) rows: usize,
    /// Parameters of one VALUES row, if `rows` is above 1.
    pub(crate) row_params: usize,
}

impl Fingerprint {
    fn clear(&mut self, key_start: usize) {
        self.key.truncate(key_start);
        self.params.clear();
        self.marks.clear();
        self.rows = 1;
        self.row_params = 0;
    }
}

/// Whether literals at the present place become parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Keep,
    Take,
}

/// Where in the VALUES rows of an INSERT the walk is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Before or behind them.
    Outside,
    /// Between rows.
    Between,
    /// In a row.
    Inside,
}

struct Walk<'a> {
    sql: &'a [u8],
    sql_mode: SqlMode,
    collapse: bool,
    key_start: usize,
    depth: usize,
    select_depth: usize,
    region: Region,
    /// Depth of a parenthesis behind the name of a type.
    type_depth: Option<usize>,
    insert: bool,
    rows: Rows,
    first_row: Option<Row>,
    this_row: Row,
    previous: Option<Mark>,
}

/// Where a row begins in key, lexemes and parameters, and where its key ends.
#[derive(Clone, Copy, Default)]
struct Row {
    key: usize,
    key_end: usize,
    marks: usize,
    params: usize,
}

/// Fills `out` with the fingerprint of `sql`, behind what its key already holds, or returns false if
/// the statement is of a kind that is not planned. 4082 if it is too long to be held.
pub(crate) fn take(sql: &[u8], sql_mode: SqlMode, memory: &MemoryUse, out: &mut Fingerprint) -> Result<bool, SqlError> {
    let key_start = out.key.len();
    for collapse in [true, false] {
        out.clear(key_start);
        let mut walk = Walk::new(sql, sql_mode, collapse, key_start);
        match walk.run(memory, out)? {
            Walked::Done => return Ok(true),
            Walked::NotPlanned => return Ok(false),
            Walked::RowsDiffer => {}
        }
    }
    Ok(true)
}

enum Walked {
    Done,
    NotPlanned,
    RowsDiffer,
}

impl<'a> Walk<'a> {
    fn new(sql: &'a [u8], sql_mode: SqlMode, collapse: bool, key_start: usize) -> Walk<'a> {
        Walk {
            sql,
            sql_mode,
            collapse,
            key_start,
            depth: 0,
            select_depth: 0,
            region: Region::Take,
            type_depth: None,
            insert: false,
            rows: Rows::Outside,
            first_row: None,
            this_row: Row::default(),
            previous: None,
        }
    }

    fn run(&mut self, memory: &MemoryUse, out: &mut Fingerprint) -> Result<Walked, SqlError> {
        let mut lexer = Lexer::new(self.sql, self.sql_mode).peekable();
        match lexer.peek() {
            Some(first) if first.kind == Kind::Word && self.begins_planned(first) => {}
            _ => return Ok(Walked::NotPlanned),
        }
        while let Some(lexeme) = lexer.next() {
            memory.hold_text(out.marks.len(), out.params.len(), self.sql)?;
            let bytes = lexeme.bytes(self.sql);
            match lexeme.kind {
                Kind::Semicolon if lexer.peek().is_none() => break,
                Kind::Word => {
                    if self.rows == Rows::Inside
                        && bytes.eq_ignore_ascii_case(b"NULL")
                        && self.stands_alone(&lexer.peek().copied())
                    {
                        self.parameter(lexeme, Value::Null, out);
                        continue;
                    }
                    self.word(bytes);
                }
                Kind::Number if self.takes() => {
                    let value = literal::number(bytes, false)?;
                    self.parameter(lexeme, value, out);
                    continue;
                }
                Kind::Text if self.takes() => {
                    self.parameter(lexeme, literal::text(bytes, self.sql_mode)?, out);
                    continue;
                }
                Kind::Bytes if self.takes() => {
                    self.parameter(lexeme, literal::bytes(bytes)?, out);
                    continue;
                }
                Kind::Operator => {
                    if bytes == b"-"
                        && self.region == Region::Take
                        && self.signed_place()
                        && let Some(number) =
                            lexer.next_if(|next| next.kind == Kind::Number && next.start == lexeme.end)
                    {
                        let value = literal::number(number.bytes(self.sql), true)?;
                        self.parameter(Lexeme { start: lexeme.start, ..number }, value, out);
                        continue;
                    }
                    if !self.operator(bytes, out) {
                        return Ok(Walked::RowsDiffer);
                    }
                }
                _ => {}
            }
            self.verbatim(lexeme, out);
            if lexeme.kind == Kind::Operator && bytes == b")" && !self.close(out) {
                return Ok(Walked::RowsDiffer);
            }
        }
        Ok(Walked::Done)
    }

    fn begins_planned(&self, first: &Lexeme) -> bool {
        const PLANNED: [&[u8]; 5] = [b"SELECT", b"UPDATE", b"INSERT", b"DELETE", b"REPLACE"];
        let word = first.bytes(self.sql);
        PLANNED.iter().any(|planned| word.eq_ignore_ascii_case(planned))
    }

    fn previous_bytes(&self) -> &'a [u8] {
        self.previous.map_or(&[], |mark| mark.lexeme.bytes(self.sql))
    }

    /// Whether a literal at this place becomes a parameter.
    fn takes(&self) -> bool {
        if self.region == Region::Keep || self.type_depth.is_some() {
            return false;
        }
        match self.previous {
            Some(Mark { lexeme: Lexeme { kind: Kind::Word, .. }, .. }) => {
                const BEFORE_KEPT: [&[u8]; 7] =
                    [b"ESCAPE", b"COLLATE", b"DATE", b"TIME", b"TIMESTAMP", b"AS", b"SEPARATOR"];
                let word = self.previous_bytes();
                !BEFORE_KEPT.iter().any(|before| word.eq_ignore_ascii_case(before))
            }
            _ => true,
        }
    }

    /// Whether a minus here is a sign and not a difference.
    fn signed_place(&self) -> bool {
        self.type_depth.is_none()
            && matches!(self.previous_bytes(), b"(" | b"," | b"=" | b"<" | b">" | b"<=" | b">=" | b"<>" | b"!=")
    }

    /// Whether a word fills its place between commas or parentheses.
    fn stands_alone(&self, next: &Option<Lexeme>) -> bool {
        matches!(self.previous_bytes(), b"(" | b",")
            && next.is_some_and(|next| matches!(next.bytes(self.sql), b"," | b")"))
    }

    fn word(&mut self, word: &[u8]) {
        let is = |keyword: &[u8]| word.eq_ignore_ascii_case(keyword);
        match word.len() {
            6 if is(b"SELECT") => {
                self.region = Region::Keep;
                self.select_depth = self.depth;
            }
            6 if is(b"INSERT") => self.insert = true,
            7 if is(b"REPLACE") && self.previous.is_none() => self.insert = true,
            6 if is(b"VALUES") && self.insert && self.depth == 0 && self.first_row.is_none() => {
                self.rows = Rows::Between;
                return;
            }
            5 if is(b"VALUE") && self.insert && self.depth == 0 && self.first_row.is_none() => {
                self.rows = Rows::Between;
                return;
            }
            _ if self.depth != self.select_depth => {}
            5 if is(b"GROUP") || is(b"ORDER") => self.region = Region::Keep,
            3 if is(b"SET") || is(b"FOR") => self.region = Region::Take,
            4 if is(b"FROM") => self.region = Region::Take,
            5 if is(b"WHERE") || is(b"LIMIT") => self.region = Region::Take,
            6 if is(b"HAVING") => self.region = Region::Take,
            _ => {}
        }
        if self.rows == Rows::Between {
            self.rows = Rows::Outside;
        }
    }

    /// Takes note of a bracket or comma. False if rows are not of one shape after some were dropped.
    fn operator(&mut self, bytes: &[u8], out: &mut Fingerprint) -> bool {
        match bytes {
            b"(" => {
                if self.type_depth.is_none() && self.behind_type() {
                    self.type_depth = Some(self.depth);
                }
                if self.rows == Rows::Between && self.first_row.is_some() && self.previous_bytes() != b"," {
                    // No row: the parser will say so.
                    self.rows = Rows::Outside;
                }
                if self.rows == Rows::Between && self.depth == 0 {
                    self.rows = Rows::Inside;
                    self.this_row.params = out.params.len();
                    if self.first_row.is_none() {
                        self.this_row.key = out.key.len();
                        self.this_row.marks = out.marks.len();
                    }
                }
                self.depth += 1;
            }
            b"," if self.rows == Rows::Between && self.depth == 0 => {
                self.this_row.key = out.key.len();
                self.this_row.marks = out.marks.len();
            }
            _ => {}
        }
        true
    }

    /// Whether what stands before an opening parenthesis names a type with a length.
    fn behind_type(&self) -> bool {
        const TYPES: [&[u8]; 14] = [
            b"CHAR",
            b"NCHAR",
            b"VARCHAR",
            b"CHARACTER",
            b"BINARY",
            b"DECIMAL",
            b"DEC",
            b"NUMERIC",
            b"FLOAT",
            b"DOUBLE",
            b"DATETIME",
            b"TIME",
            b"REAL",
            b"FIXED",
        ];
        match self.previous {
            Some(Mark { lexeme: Lexeme { kind: Kind::Word, .. }, .. }) => {
                let word = self.previous_bytes();
                TYPES.iter().any(|name| word.eq_ignore_ascii_case(name))
            }
            _ => false,
        }
    }

    /// Takes note of a closing parenthesis that was just written. False as for [`Walk::operator`].
    fn close(&mut self, out: &mut Fingerprint) -> bool {
        self.depth = self.depth.saturating_sub(1);
        if self.type_depth == Some(self.depth) {
            self.type_depth = None;
        }
        if self.rows == Rows::Inside && self.depth == 0 {
            self.rows = Rows::Between;
            return self.end_row(out);
        }
        true
    }

    fn end_row(&mut self, out: &mut Fingerprint) -> bool {
        let row_params = out.params.len() - self.this_row.params;
        let Some(first) = self.first_row else {
            // Rows can only be folded where the first parameter is theirs.
            if self.collapse && self.this_row.params == 0 && row_params > 0 {
                out.row_params = row_params;
            }
            self.first_row = Some(Row { key_end: out.key.len(), ..self.this_row });
            return true;
        };
        if out.row_params == 0 {
            return true;
        }
        let (head, tail) = out.key.split_at(self.this_row.key);
        // The row follows its comma.
        if tail.get(1..) == Some(&head[first.key..first.key_end]) && row_params == out.row_params {
            out.key.truncate(self.this_row.key);
            out.marks.truncate(self.this_row.marks);
            self.previous = out.marks.last().copied();
            out.rows += 1;
            return true;
        }
        false
    }

    fn parameter(&mut self, lexeme: Lexeme, value: Value, out: &mut Fingerprint) {
        self.separate(Kind::Param, out);
        out.key.push(b'?');
        // A statement has fewer literals than bytes, and fewer than 4 GiB of those.
        let index = out.params.len() - (out.rows - 1) * out.row_params;
        let mark = Mark { lexeme: Lexeme { kind: Kind::Param, ..lexeme }, param: Some(index as u32) };
        out.params.push(value);
        out.marks.push(mark);
        self.previous = Some(mark);
    }

    fn verbatim(&mut self, lexeme: Lexeme, out: &mut Fingerprint) {
        self.separate(lexeme.kind, out);
        if lexeme.kind == Kind::Param {
            // Only a prepared statement may have one: it must not look like a literal's place.
            out.key.push(b'?');
        }
        out.key.extend_from_slice(lexeme.bytes(self.sql));
        let mark = Mark { lexeme, param: None };
        out.marks.push(mark);
        self.previous = Some(mark);
    }

    /// Puts a space between what would otherwise run together.
    fn separate(&self, kind: Kind, out: &mut Fingerprint) {
        if out.key.len() == self.key_start {
            return;
        }
        let open = |kind| !matches!(kind, Kind::Operator | Kind::Semicolon);
        let previous = self.previous.map_or(Kind::Operator, |mark| mark.lexeme.kind);
        let same_operators = previous == Kind::Operator
            && kind == Kind::Operator
            && !matches!(self.previous_bytes(), b"(" | b")" | b",");
        if (open(previous) && open(kind)) || same_operators {
            out.key.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests;
