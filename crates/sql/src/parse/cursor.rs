//! A walk over the lexemes of a statement that our own descent reads.

use super::fingerprint::Mark;
use super::lexer::Kind;
use super::{front, literal, near};
use crate::ast::{Expr, TableName};
use crate::error::SqlError;
use crate::types::SqlMode;
use crate::value::Value;

/// Where the descent is.
pub(super) struct Cursor<'a> {
    pub(super) sql: &'a [u8],
    pub(super) marks: &'a [Mark],
    pub(super) sql_mode: SqlMode,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(sql: &'a [u8], marks: &'a [Mark], sql_mode: SqlMode) -> Cursor<'a> {
        Cursor { sql, marks, sql_mode, at: 0 }
    }

    fn bytes(&self, ahead: usize) -> &'a [u8] {
        self.marks.get(self.at + ahead).map_or(b"", |mark| mark.lexeme.bytes(self.sql))
    }

    fn kind(&self) -> Option<Kind> {
        self.marks.get(self.at).map(|mark| mark.lexeme.kind)
    }

    /// Whether everything is read.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.marks.len()
    }

    /// A syntax error at the present place.
    pub(super) fn unexpected(&self) -> SqlError {
        let offset = self.marks.get(self.at).map_or(self.sql.len(), |mark| mark.lexeme.start);
        near(self.sql, offset)
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

    /// A name, quoted or not.
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

    /// An expression up to a comma outside of parentheses, or one of `ends`, or the end.
    pub(super) fn expr(&mut self, ends: &[&str]) -> Result<Expr, SqlError> {
        let start = self.at;
        let mut depth = 0_usize;
        while !self.at_end() {
            if self.kind() == Some(Kind::Operator) {
                match self.bytes(0) {
                    b"(" => depth += 1,
                    b")" if depth == 0 => break,
                    b")" => depth -= 1,
                    b"," if depth == 0 => break,
                    _ => {}
                }
            } else if depth == 0 && ends.iter().any(|end| self.sees(end)) {
                break;
            }
            self.at += 1;
        }
        if start == self.at {
            return Err(self.unexpected());
        }
        front::parse_expr(self.sql, &self.marks[start..self.at], self.sql_mode)
    }

    /// Whether a number is next.
    pub(super) fn sees_number(&self) -> bool {
        self.kind() == Some(Kind::Number)
    }

    /// Steps over one lexeme of any kind.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// The source text of lexemes `from..self.at`.
    pub(super) fn text_since(&self, from: usize) -> String {
        match (self.marks.get(from), self.marks.get(self.at.wrapping_sub(1))) {
            (Some(first), Some(last)) if from < self.at => {
                String::from_utf8_lossy(&self.sql[first.lexeme.start..last.lexeme.end]).into_owned()
            }
            _ => String::new(),
        }
    }
}
