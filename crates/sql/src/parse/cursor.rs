//! A walk over the lexemes of a statement.
//!
//! Invariants
//! 1. What recurses, here or over the tree, goes through [`Cursor::nested`]: neither the descent nor the tree is ever
//!    deeper than [`MAX_DEPTH`], whatever the statement is. 1436 if it would be.
//! 2. After an error nothing goes on.

use super::fingerprint::Mark;
use super::lexer::Kind;
use super::{MAX_DEPTH, hints, literal, near, words};
use crate::ast::{Span, TableName};
use crate::error::{ER_STACK_OVERRUN_NEED_MORE, SqlError};
use crate::types::SqlMode;
use crate::value::Value;

/// Where the descent is.
pub(super) struct Cursor<'a> {
    pub(super) sql: &'a [u8],
    pub(super) marks: &'a [Mark],
    pub(super) sql_mode: SqlMode,
    pub(super) at: usize,
    /// Levels of the descent above this place.
    depth: usize,
    /// Levels of what was read of the present level.
    height: usize,
    /// The query blocks so far.
    pub(super) hints: hints::Collected,
    /// The tables that queries have named so far without a database.
    pub(super) tables_named: Vec<String>,
}

/// A word in upper case; empty for what is no word, or longer than any keyword.
#[derive(Clone, Copy)]
pub(super) struct Keyword {
    bytes: [u8; 24],
    len: usize,
}

impl Keyword {
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(sql: &'a [u8], marks: &'a [Mark], sql_mode: SqlMode) -> Cursor<'a> {
        Cursor {
            sql,
            marks,
            sql_mode,
            at: 0,
            depth: 0,
            height: 0,
            hints: hints::Collected::default(),
            tables_named: Vec::new(),
        }
    }

    pub(super) fn bytes(&self, ahead: usize) -> &'a [u8] {
        self.marks.get(self.at + ahead).map_or(b"", |mark| mark.lexeme.bytes(self.sql))
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        self.kind_at(0)
    }

    pub(super) fn kind_at(&self, ahead: usize) -> Option<Kind> {
        self.marks.get(self.at + ahead).map(|mark| mark.lexeme.kind)
    }

    /// Reads what may have more of its kind in it.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let siblings = std::mem::take(&mut self.height);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let seen = read(self)?;
        self.depth -= 1;
        self.height = siblings.max(self.height + 1);
        if self.height > MAX_DEPTH { Err(too_deep()) } else { Ok(seen) }
    }

    /// What was read of the present level becomes the operand of something on it.
    pub(super) fn becomes_operand(&mut self) -> Result<(), SqlError> {
        self.height += 1;
        if self.height > MAX_DEPTH { Err(too_deep()) } else { Ok(()) }
    }

    /// Where the next lexeme begins.
    pub(super) fn offset(&self) -> usize {
        self.marks.get(self.at).map_or(self.sql.len(), |mark| mark.lexeme.start)
    }

    /// From the lexeme `from` to the last one read.
    pub(super) fn span_since(&self, from: usize) -> Span {
        match (self.marks.get(from), self.at.checked_sub(1).and_then(|last| self.marks.get(last))) {
            (Some(first), Some(last)) if from < self.at => Span { start: first.lexeme.start, end: last.lexeme.end },
            _ => Span { start: self.offset(), end: self.offset() },
        }
    }

    /// The text from the lexeme `from` to the last one read.
    pub(super) fn text_since(&self, from: usize) -> String {
        let span = self.span_since(from);
        String::from_utf8_lossy(&self.sql[span.start..span.end]).into_owned()
    }

    /// Whether everything is read.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.marks.len()
    }

    /// A syntax error at the present place; at a comma, after it, as MySQL's lexer has it.
    pub(super) fn unexpected(&self) -> SqlError {
        near(self.sql, self.offset() + usize::from(self.sees_operator(",")))
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), SqlError> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Whether the word `ahead` lexemes further is `word`.
    pub(super) fn sees_at(&self, ahead: usize, word: &str) -> bool {
        let is_word = self.marks.get(self.at + ahead).is_some_and(|mark| mark.lexeme.kind == Kind::Word);
        is_word && self.bytes(ahead).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether the next lexemes are these words, separated by spaces.
    pub(super) fn sees(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(ahead, word)| self.sees_at(ahead, word))
    }

    /// Steps over these words if they are next.
    pub(super) fn takes(&mut self, words: &str) -> bool {
        let seen = self.sees(words);
        if seen {
            self.at += words.split(' ').count();
        }
        seen
    }

    /// Steps over one of these words if it is next.
    pub(super) fn takes_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.takes(word))
    }

    /// These words must be next.
    pub(super) fn expect(&mut self, words: &str) -> Result<(), SqlError> {
        if self.takes(words) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn sees_operator(&self, operator: &str) -> bool {
        self.kind() == Some(Kind::Operator) && self.bytes(0) == operator.as_bytes()
    }

    pub(super) fn takes_operator(&mut self, operator: &str) -> bool {
        let seen = self.sees_operator(operator);
        self.at += usize::from(seen);
        seen
    }

    pub(super) fn expect_operator(&mut self, operator: &str) -> Result<(), SqlError> {
        if self.takes_operator(operator) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The next word in upper case, or an empty string.
    pub(super) fn word(&self) -> String {
        match self.kind() {
            Some(Kind::Word) => String::from_utf8_lossy(self.bytes(0)).to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    /// The word `ahead` lexemes further.
    pub(super) fn keyword_at(&self, ahead: usize) -> Keyword {
        let mut keyword = Keyword { bytes: [0; 24], len: 0 };
        if self.kind_at(ahead) == Some(Kind::Word) {
            let word = self.bytes(ahead);
            if let Some(room) = keyword.bytes.get_mut(..word.len()) {
                room.copy_from_slice(word);
                room.make_ascii_uppercase();
                keyword.len = word.len();
            }
        }
        keyword
    }

    /// The next word.
    pub(super) fn keyword(&self) -> Keyword {
        self.keyword_at(0)
    }

    /// Whether a name is next: quoted, or a word that is not reserved.
    pub(super) fn sees_ident(&self) -> bool {
        match self.kind() {
            Some(Kind::QuotedName) => true,
            Some(Kind::Word) => !words::is_reserved(self.keyword().as_str()),
            _ => false,
        }
    }

    /// A name where reserved words are none.
    pub(super) fn ident(&mut self) -> Result<String, SqlError> {
        if self.sees_ident() { self.name() } else { Err(self.unexpected()) }
    }

    /// A name where reserved words are none, or a string.
    pub(super) fn ident_or_text(&mut self) -> Result<String, SqlError> {
        if self.kind() == Some(Kind::Text) { self.text() } else { self.ident() }
    }

    /// `(ident, ident ...)`
    pub(super) fn idents(&mut self) -> Result<Vec<String>, SqlError> {
        self.expect_operator("(")?;
        let names = self.separated(Cursor::ident)?;
        self.expect_operator(")")?;
        Ok(names)
    }

    /// `[database.]table` where reserved words are no names, but after the point.
    pub(super) fn table_ident(&mut self) -> Result<TableName, SqlError> {
        let first = self.ident()?;
        if self.takes_operator(".") {
            return Ok(TableName { database: Some(first), table: self.name_after_point()? });
        }
        Ok(TableName { database: None, table: first })
    }

    /// A name after a point: any word is one that follows without a space.
    pub(super) fn name_after_point(&mut self) -> Result<String, SqlError> {
        let point = self.at.checked_sub(1).and_then(|at| self.marks.get(at));
        let follows = point.is_some_and(|point| point.lexeme.end == self.offset());
        if follows { self.name() } else { self.ident() }
    }

    /// A name, quoted or not; any word is one.
    pub(super) fn name(&mut self) -> Result<String, SqlError> {
        match self.kind() {
            Some(Kind::Word | Kind::QuotedName) => {
                let name = literal::name(self.bytes(0))?;
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A name or a string.
    pub(super) fn name_or_text(&mut self) -> Result<String, SqlError> {
        if self.kind() == Some(Kind::Text) { self.text() } else { self.name() }
    }

    /// `[database.]table`
    pub(super) fn table_name(&mut self) -> Result<TableName, SqlError> {
        let first = self.name()?;
        if self.takes_operator(".") {
            return Ok(TableName { database: Some(first), table: self.name()? });
        }
        Ok(TableName { database: None, table: first })
    }

    /// A string.
    pub(super) fn text(&mut self) -> Result<String, SqlError> {
        if self.kind() != Some(Kind::Text) {
            return Err(self.unexpected());
        }
        match literal::text(self.bytes(0), self.sql_mode)? {
            Value::Text(text) => {
                self.at += 1;
                Ok(text.to_string())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Whether a string is next.
    pub(super) fn sees_text(&self) -> bool {
        self.kind() == Some(Kind::Text)
    }

    /// The bytes of a string or binary literal.
    pub(super) fn binary(&mut self) -> Result<Vec<u8>, SqlError> {
        let value = match self.kind() {
            Some(Kind::Text) => literal::text(self.bytes(0), self.sql_mode)?,
            Some(Kind::Bytes) => literal::bytes(self.bytes(0))?,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(match value {
            Value::Text(text) => text.as_bytes().to_vec(),
            Value::Bytes(bytes) | Value::Hex(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        })
    }

    /// A number without point or exponent.
    pub(super) fn integer<T: TryFrom<u64>>(&mut self) -> Result<T, SqlError> {
        let digits = match self.kind() {
            Some(Kind::Number) => std::str::from_utf8(self.bytes(0)).ok(),
            _ => None,
        };
        let value = digits.and_then(|digits| digits.parse::<u64>().ok()).and_then(|value| T::try_from(value).ok());
        let value = value.ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(value)
    }

    /// `( integer )` if it is next.
    pub(super) fn optional_length<T: TryFrom<u64>>(&mut self) -> Result<Option<T>, SqlError> {
        if !self.takes_operator("(") {
            return Ok(None);
        }
        let length = self.integer()?;
        self.expect_operator(")")?;
        Ok(Some(length))
    }

    /// The text of the variable that is next, at signs included.
    pub(super) fn variable(&mut self) -> Option<String> {
        if self.kind() != Some(Kind::Variable) {
            return None;
        }
        let text = String::from_utf8_lossy(self.bytes(0)).into_owned();
        self.at += 1;
        Some(text)
    }

    /// One thing or several, with commas between them.
    pub(super) fn separated<T>(
        &mut self,
        mut read: impl FnMut(&mut Cursor<'a>) -> Result<T, SqlError>,
    ) -> Result<Vec<T>, SqlError> {
        let mut all = vec![read(self)?];
        while self.takes_operator(",") {
            all.push(read(self)?);
        }
        Ok(all)
    }

    /// Whether a number is next.
    pub(super) fn sees_number(&self) -> bool {
        self.kind() == Some(Kind::Number)
    }

    /// Steps over one lexeme of any kind.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }
}

fn too_deep() -> SqlError {
    SqlError::new(ER_STACK_OVERRUN_NEED_MORE, &[])
}
