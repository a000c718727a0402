//! Takes the literals out of a statement, so that statements which differ only in them share a plan.
//!
//! The fingerprint of SELECT, INSERT, REPLACE, UPDATE and DELETE is their text with one space or none
//! between lexemes, no comments but hints, and for each literal that became a parameter `?` and the letter of its
//! [kind](ParamKind). The VALUES rows of an INSERT that have one shape are one row in the fingerprint,
//! repeated [`Fingerprint::rows`] times; a literal that fills its place there is of any kind, since it is no
//! operand of anything. Rows that ask queries are never one: what a query gave is kept while a statement runs, and rows
//! may ask it with other literals.
//!
//! Invariants
//! 1. Two statements with one fingerprint mean the same but for the values of their parameters: a literal
//!    whose value changes the meaning stays in the text (select lists, GROUP BY, ORDER BY, ESCAPE, LIMIT if
//!    it is no number of rows, lengths of types, typed, hexadecimal and bit literals, those of a constant that a sign
//!    stands before, whose value decides on the type, what follows the document of a JSON_TABLE). So does the amount of an
//!    INTERVAL, which a statement hardly ever varies: beside a typed literal it says how many rows a range has.
//! 2. Their columns have the same names: a select list is kept as written.
//! 3. It says of what kind the values of its variables are.
//! 4. Its hints are those of the statement, byte for byte: they decide on the plan.
//! 5. Parameters are numbered in the order of the fingerprint. Where its row stands for several, row `r`
//!    finds its parameters from `r * row_params` on, and what follows the rows finds its own as if the last
//!    row were the only one: from [`Fingerprint::last_row`] on.

use super::lexer::{Kind, Lexeme, Lexer};
use super::{VariableName, hints, literal};
use crate::error::SqlError;
use crate::expr::{Param, ParamKind};
use crate::memory::MemoryUse;
use crate::types::{Charset, SqlMode};
use crate::value::Value;

/// A lexeme of the fingerprint, and which parameter it became.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) lexeme: Lexeme,
    pub(crate) param: Option<Param>,
    /// Of a variable: what it is at present.
    pub(crate) variable: Option<ParamKind>,
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
    /// Whether there are variables among the lexemes.
    has_variables: bool,
    /// How often the VALUES row of the text is there; 1 for other statements.
    pub(crate) rows: usize,
    /// Parameters of one VALUES row, if `rows` is above 1.
    pub(crate) row_params: usize,
}

/// Bytes of room that are kept from statement to statement, of each part.
const KEPT: usize = 64 << 10;

impl Fingerprint {
    /// Where the parameters of the last VALUES row begin, and with them those of what follows the rows.
    pub(crate) fn last_row(&self) -> usize {
        (self.rows - 1) * self.row_params
    }

    /// Adds to the text what the statement's variables are at present, by which it is planned.
    pub(crate) fn type_variables(&mut self, sql: &[u8], kind_of: &dyn Fn(&VariableName) -> Option<ParamKind>) {
        if !self.has_variables {
            return;
        }
        self.key.push(0);
        for mark in self.marks.iter_mut().filter(|mark| mark.lexeme.kind == Kind::Variable) {
            mark.variable = VariableName::read(mark.lexeme.bytes(sql)).and_then(|name| kind_of(&name));
            ParamKind::write(mark.variable, &mut self.key);
        }
    }

    /// Whether the statement reads how many warnings or errors the one before it left.
    pub(crate) fn counts_diagnostics(&self, sql: &[u8]) -> bool {
        let variables = self.marks.iter().filter(|mark| self.has_variables && mark.lexeme.kind == Kind::Variable);
        let mut names = variables.filter_map(|mark| VariableName::read(mark.lexeme.bytes(sql)));
        names.any(|name| name.counts_diagnostics())
    }

    /// The statement has ended: forgets its values, and gives a long one's room back.
    pub(crate) fn end(&mut self) {
        self.clear(0);
        self.key.shrink_to(KEPT);
        self.params.shrink_to(KEPT / size_of::<Value>());
        self.marks.shrink_to(KEPT / size_of::<Mark>());
    }

    fn clear(&mut self, key_start: usize) {
        self.key.truncate(key_start);
        self.params.clear();
        self.marks.clear();
        self.has_variables = false;
        self.rows = 1;
        self.row_params = 0;
    }
}

/// What becomes of literals at the present place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    /// They become parameters.
    Take,
    /// Those that can be a number of rows become parameters.
    Limit,
    /// They stay.
    Keep,
    /// They stay, and so does what lies between lexemes: it is part of the columns' names.
    SelectList,
}

/// Where the walk is, seen from the VALUES rows of an INSERT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Before the word VALUES.
    Ahead,
    /// Where a row must begin.
    Begin,
    /// In a row.
    Inside,
    /// Where a row has just ended.
    Ended,
    /// There are none, or none any more.
    Outside,
}

struct Walk<'a> {
    sql: &'a [u8],
    sql_mode: SqlMode,
    collapse: bool,
    depth: usize,
    select_depth: usize,
    region: Region,
    /// Where the queries around this one are.
    outer: Vec<(usize, Region)>,
    /// Between the braces of an ODBC escape, where literals are typed ones.
    in_braces: bool,
    /// Depth of a parenthesis after the name of a type.
    type_depth: Option<usize>,
    /// Depth at which the parenthesis of a JSON_TABLE began.
    json_table_depth: Option<usize>,
    /// The document of that has ended.
    past_document: bool,
    /// Depth at which the operand of a sign began that is no number.
    negated_depth: Option<usize>,
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

/// Fills `out` with the fingerprint of `sql`, after what its key already holds, or returns false if
/// the statement is of a kind that is not planned. 4082 if it is too long to be held.
pub(crate) fn take(sql: &[u8], sql_mode: SqlMode, memory: &MemoryUse, out: &mut Fingerprint) -> Result<bool, SqlError> {
    let key_start = out.key.len();
    for collapse in [true, false] {
        out.clear(key_start);
        let mut walk = Walk::new(sql, sql_mode, collapse);
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
    fn new(sql: &'a [u8], sql_mode: SqlMode, collapse: bool) -> Walk<'a> {
        Walk {
            sql,
            sql_mode,
            collapse,
            depth: 0,
            select_depth: 0,
            region: Region::Take,
            outer: Vec::new(),
            in_braces: false,
            type_depth: None,
            json_table_depth: None,
            past_document: false,
            negated_depth: None,
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
            if lexeme.kind == Kind::Semicolon && lexer.peek().is_none() {
                break;
            }
            if self.rows != Rows::Outside && self.depth == 0 {
                self.between_rows(lexeme, out);
            }
            if lexeme.kind == Kind::Word && self.previous_bytes() != b"." {
                self.word(bytes);
            }
            // A sign and its number are one literal.
            let signed = bytes == b"-" && self.follows_operator() && self.takes() && self.region == Region::Take;
            // The negative of the least integer is no integer.
            let least = |next: &Lexeme| literal::number(next.bytes(self.sql), true) == Ok(Value::Int(i64::MIN));
            let negated = self.previous_bytes() == b"-";
            let number = lexer.next_if(|next| signed && next.kind == Kind::Number && !(negated && least(next)));
            let literal = number.map_or(lexeme, |number| Lexeme { start: lexeme.start, ..number });
            let value = match number {
                Some(number) => Some(literal::number(number.bytes(self.sql), true)?),
                None => self.value(lexeme)?,
            };
            if let Some(value) = value {
                let alone = self.begins_place() && lexer.peek().is_some_and(|next| self.ends_place(next));
                let kind = if alone { None } else { ParamKind::of(&value) };
                if alone || kind.is_some() {
                    self.parameter(literal, value, kind, out);
                    continue;
                }
            }
            match bytes {
                b"(" if lexeme.kind == Kind::Operator => self.open(),
                b")" if lexeme.kind == Kind::Operator => self.close(),
                b"," if self.json_table_depth.is_some_and(|depth| depth + 1 == self.depth) => self.past_document = true,
                b"{" if lexeme.kind == Kind::Operator => self.in_braces = true,
                b"}" if lexeme.kind == Kind::Operator => self.in_braces = false,
                _ => {}
            }
            let begins = bytes == b"-" && self.begins_operand();
            self.verbatim(lexeme, out);
            self.hints(lexeme, out);
            self.negation(begins, lexer.peek());
            if bytes == b")" && lexeme.kind == Kind::Operator && !self.closed(out) {
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

    fn follows_word(&self) -> bool {
        self.previous.is_some_and(|mark| mark.lexeme.kind == Kind::Word)
    }

    /// Whether an operator stands before this place, so that a minus here is a sign.
    fn follows_operator(&self) -> bool {
        self.previous.is_some_and(|mark| mark.lexeme.kind == Kind::Operator) && self.previous_bytes() != b")"
    }

    /// Whether an operand begins here, so that a minus is a sign.
    fn begins_operand(&self) -> bool {
        const BEFORE: [&[u8]; 20] = [
            b"AND",
            b"BETWEEN",
            b"BINARY",
            b"BY",
            b"CASE",
            b"DIV",
            b"ELSE",
            b"HAVING",
            b"IN",
            b"INTERVAL",
            b"LIKE",
            b"MOD",
            b"NOT",
            b"OR",
            b"SET",
            b"THEN",
            b"VALUES",
            b"WHEN",
            b"WHERE",
            b"XOR",
        ];
        let word = self.previous_bytes();
        self.follows_operator() || (self.follows_word() && BEFORE.iter().any(|name| word.eq_ignore_ascii_case(name)))
    }

    /// Takes note of a lexeme that was just written and is a sign, or may end what one stands before. The literals of
    /// that stay, unless it is a literal itself.
    fn negation(&mut self, sign: bool, next: Option<&Lexeme>) {
        let next_bytes = next.map_or(&b""[..], |next| next.bytes(self.sql));
        match self.negated_depth {
            None if sign && next.is_some_and(|next| next.kind != Kind::Number) => self.negated_depth = Some(self.depth),
            Some(depth) if depth >= self.depth => {
                let prefix = matches!(self.previous_bytes(), b"-" | b"~" | b"!" | b"+");
                let called = self.follows_word() && matches!(next_bytes, b"(" | b".");
                if depth > self.depth || !(prefix || called || self.previous_bytes() == b".") {
                    self.negated_depth = None;
                }
            }
            _ => {}
        }
    }

    /// Whether literals at this place may become parameters.
    fn takes(&self) -> bool {
        const BEFORE_KEPT: [&[u8]; 9] =
            [b"ESCAPE", b"COLLATE", b"DATE", b"TIME", b"TIMESTAMP", b"AS", b"SEPARATOR", b"BY", b"INTERVAL"];
        let word = self.previous_bytes();
        matches!(self.region, Region::Take | Region::Limit)
            && !self.in_braces
            && self.type_depth.is_none()
            && !self.past_document
            && self.negated_depth.is_none()
            && !(self.follows_word() && BEFORE_KEPT.iter().any(|before| word.eq_ignore_ascii_case(before)))
    }

    /// The value of a lexeme that becomes a parameter.
    fn value(&self, lexeme: Lexeme) -> Result<Option<Value>, SqlError> {
        if !self.takes() {
            return Ok(None);
        }
        let bytes = lexeme.bytes(self.sql);
        Ok(match lexeme.kind {
            Kind::Number => Some(literal::number(bytes, false)?).filter(|value| match value {
                Value::Int(_) => true,
                // After a minus it may be another number than without.
                Value::UInt(_) => self.previous_bytes() != b"-",
                _ => self.region != Region::Limit,
            }),
            // Where an introducer names characters, it says what the literal is compared under.
            Kind::Text if literal::introducer(bytes).is_some_and(|charset| charset != Charset::Binary) => None,
            Kind::Text if self.region != Region::Limit => Some(literal::text(bytes, self.sql_mode)?),
            Kind::Word if bytes.eq_ignore_ascii_case(b"NULL") => Some(Value::Null),
            _ => None,
        })
    }

    /// Whether a value of a VALUES row begins here.
    fn begins_place(&self) -> bool {
        self.rows == Rows::Inside && self.depth == 1 && matches!(self.previous_bytes(), b"(" | b",")
    }

    /// Whether a value of a VALUES row that began before `next` ends there.
    fn ends_place(&self, next: &Lexeme) -> bool {
        next.kind == Kind::Operator && matches!(next.bytes(self.sql), b"," | b")")
    }

    /// A word that is no column's name.
    fn word(&mut self, word: &[u8]) {
        let is = |keyword: &[u8]| word.eq_ignore_ascii_case(keyword);
        if is(b"SELECT") {
            if self.depth > self.select_depth {
                self.outer.push((self.select_depth, self.region));
            }
            self.region = Region::SelectList;
            self.select_depth = self.depth;
        }
        if self.rows == Rows::Inside && (is(b"SELECT") || is(b"VALUES")) {
            self.collapse = false;
        }
        if self.previous.is_none() && (is(b"INSERT") || is(b"REPLACE")) {
            self.rows = Rows::Ahead;
        }
        if self.depth == self.select_depth {
            match word.len() {
                5 if is(b"GROUP") || is(b"ORDER") => self.region = Region::Keep,
                5 if is(b"LIMIT") => self.region = Region::Limit,
                3 if is(b"SET") || is(b"FOR") => self.region = Region::Take,
                4 if is(b"FROM") => self.region = Region::Take,
                5 if is(b"WHERE") => self.region = Region::Take,
                6 if is(b"HAVING") || is(b"UPDATE") => self.region = Region::Take,
                6 if is(b"WINDOW") => self.region = Region::Keep,
                _ => {}
            }
        }
    }

    /// Takes note of a lexeme outside of parentheses, before the rows or between them.
    fn between_rows(&mut self, lexeme: Lexeme, out: &Fingerprint) {
        let bytes = lexeme.bytes(self.sql);
        let is_word =
            |words: &[&[u8]]| lexeme.kind == Kind::Word && words.iter().any(|word| bytes.eq_ignore_ascii_case(word));
        let row = Row { key: out.key.len(), marks: out.marks.len(), params: out.params.len(), key_end: 0 };
        self.rows = match (self.rows, bytes) {
            (Rows::Begin, b"(") => {
                if self.first_row.is_none() {
                    self.this_row = row;
                }
                self.this_row.params = row.params;
                Rows::Inside
            }
            (Rows::Ended, b",") => {
                self.this_row = row;
                Rows::Begin
            }
            (Rows::Ahead, _) if is_word(&[b"VALUES", b"VALUE"]) => Rows::Begin,
            (Rows::Ahead, _) if is_word(&[b"SELECT", b"SET", b"ON"]) => Rows::Outside,
            (Rows::Ahead, _) => Rows::Ahead,
            // A table may be called VALUE.
            (Rows::Begin, _) if self.first_row.is_none() && is_word(&[b"VALUES", b"VALUE"]) => Rows::Begin,
            (Rows::Begin, _) if self.first_row.is_none() => Rows::Ahead,
            _ => Rows::Outside,
        };
    }

    /// Takes note of an opening parenthesis.
    fn open(&mut self) {
        if self.type_depth.is_none() && self.behind_type() {
            self.type_depth = Some(self.depth);
        }
        let is_json_table = self.follows_word() && self.previous_bytes().eq_ignore_ascii_case(b"JSON_TABLE");
        if self.json_table_depth.is_none() && is_json_table {
            self.json_table_depth = Some(self.depth);
        }
        self.depth += 1;
    }

    /// Takes note of a closing parenthesis; after that of a subquery the query around it goes on.
    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth < self.select_depth
            && let Some((depth, region)) = self.outer.pop()
        {
            (self.select_depth, self.region) = (depth, region);
        }
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

    /// Takes note of a closing parenthesis that was just written. False if rows are not of one shape after
    /// some were dropped.
    fn closed(&mut self, out: &mut Fingerprint) -> bool {
        if self.type_depth == Some(self.depth) {
            self.type_depth = None;
        }
        if self.json_table_depth == Some(self.depth) {
            (self.json_table_depth, self.past_document) = (None, false);
        }
        if self.rows == Rows::Inside && self.depth == 0 {
            self.rows = Rows::Ended;
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

    fn parameter(&mut self, lexeme: Lexeme, value: Value, kind: Option<ParamKind>, out: &mut Fingerprint) {
        let literal = Lexeme { kind: Kind::Param, ..lexeme };
        self.separate(literal, out);
        out.key.push(b'?');
        if kind.is_some() {
            ParamKind::write(kind, &mut out.key);
        }
        let index = out.params.len() - out.last_row();
        let mark = Mark { lexeme: literal, param: Some(Param { index, kind }), variable: None };
        out.params.push(value);
        out.marks.push(mark);
        self.previous = Some(mark);
    }

    fn verbatim(&mut self, lexeme: Lexeme, out: &mut Fingerprint) {
        self.separate(lexeme, out);
        if lexeme.kind == Kind::Param {
            // Only a prepared statement may have one: it must not look like a literal's place.
            out.key.push(b'?');
        }
        out.key.extend_from_slice(lexeme.bytes(self.sql));
        out.has_variables |= lexeme.kind == Kind::Variable;
        let mark = Mark { lexeme, param: None, variable: None };
        out.marks.push(mark);
        self.previous = Some(mark);
    }

    /// Adds the comment with hints that follows a word, as it is: nothing of it becomes a parameter.
    fn hints(&self, word: Lexeme, out: &mut Fingerprint) {
        const HINTED: [&[u8]; 5] = [b"SELECT", b"UPDATE", b"INSERT", b"DELETE", b"REPLACE"];
        let bytes = word.bytes(self.sql);
        if word.kind == Kind::Word
            && HINTED.iter().any(|hinted| bytes.eq_ignore_ascii_case(hinted))
            && let Some((start, end)) = hints::comment_after(self.sql, word.end)
        {
            out.key.extend_from_slice(b"/*+");
            out.key.extend_from_slice(&self.sql[start..end]);
            out.key.extend_from_slice(b"*/");
        }
    }

    /// Puts a space between what would otherwise run together; in a select list, what was there.
    fn separate(&self, lexeme: Lexeme, out: &mut Fingerprint) {
        let Some(previous) = self.previous else { return };
        let open = |kind| !matches!(kind, Kind::Operator | Kind::Semicolon);
        let same_operators = previous.lexeme.kind == Kind::Operator
            && lexeme.kind == Kind::Operator
            && !matches!(self.previous_bytes(), b"(" | b")" | b",");
        let item_begins = self.depth == self.select_depth
            && (self.previous_bytes() == b"," || self.previous_bytes().eq_ignore_ascii_case(b"SELECT"));
        if self.region == Region::SelectList && !item_begins {
            out.key.extend_from_slice(&self.sql[previous.lexeme.end..lexeme.start]);
        } else if (open(previous.lexeme.kind) && open(lexeme.kind)) || same_operators {
            out.key.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests;
