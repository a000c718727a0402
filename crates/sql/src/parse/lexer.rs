//! Cuts a statement into lexemes.
//!
//! Comments and space vanish here. A version comment (`/*!40101 ... */`) is read as its contents if this
//! server is at least that version; `/*M! ... */` never is. Lexemes name bytes of the statement, which
//! need not be UTF-8: a driver may send binary strings raw.
//!
//! Invariants
//! 1. `start < end <= sql.len()` for every lexeme, and lexemes do not overlap.
//! 2. Every byte sequence lexes to its end: bytes that mean nothing are operators, refused by the parser.

use crate::types::SqlMode;

/// Version comments up to this version are executed.
const SERVER_VERSION: u32 = 80_099;

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A quoted identifier, quotes included.
    QuotedName,
    /// A number: digits, point, exponent.
    Number,
    /// A string in quotes, with its prefix (`N`, `_utf8mb4`) if any; adjacent strings are one.
    Text,
    /// `x'..'`, `0x..`, `b'..'`, `0b..`.
    Bytes,
    /// `@name`, `@'name'`, `@@name`, `@@scope.name`.
    Variable,
    /// `?`
    Param,
    /// `;`
    Semicolon,
    /// Anything else: one operator or bracket.
    Operator,
}

/// One lexeme: a kind and the bytes it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lexeme {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Lexeme {
    /// The bytes of the lexeme in its statement.
    pub(crate) fn bytes<'a>(&self, sql: &'a [u8]) -> &'a [u8] {
        &sql[self.start..self.end]
    }
}

/// Walks the lexemes of a statement.
pub(crate) struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    ansi_quotes: bool,
    backslash_escapes: bool,
    /// How many version comments are open.
    inside_comments: u32,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(sql: &'a [u8], sql_mode: SqlMode) -> Lexer<'a> {
        // Some clients end a statement with zero bytes. Others are operators.
        let end = sql.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Lexer {
            sql: &sql[..end],
            at: 0,
            ansi_quotes: sql_mode.contains(SqlMode::ANSI_QUOTES),
            backslash_escapes: !sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES),
            inside_comments: 0,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.sql.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Steps over space and comments.
    fn skip_space(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && (self.peek(2) <= b' ' || self.at + 2 >= self.sql.len()) => {
                    self.skip_line()
                }
                b'/' if self.peek(1) == b'*' => self.enter_comment(),
                b'*' if self.inside_comments > 0 && self.peek(1) == b'/' => {
                    self.inside_comments -= 1;
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.sql[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn enter_comment(&mut self) {
        if self.peek(2) == b'!' {
            let digits = self.sql[self.at + 3..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
            let digits = if digits >= 5 { digits } else { 0 };
            let number = &self.sql[self.at + 3..self.at + 3 + digits];
            let version = number.iter().fold(0, |version, digit| version * 10 + u32::from(digit - b'0'));
            if version <= SERVER_VERSION {
                self.at += 3 + digits;
                self.inside_comments += 1;
                return;
            }
        }
        let body = &self.sql[self.at + 2..];
        let end = body.windows(2).position(|pair| pair == b"*/");
        self.at = end.map_or(self.sql.len(), |end| self.at + 2 + end + 2);
    }

    /// Steps over a quoted run whose opening quote is at the present place.
    fn skip_quoted(&mut self, quote: u8, backslash: bool) {
        self.at += 1;
        while self.at < self.sql.len() {
            let byte = self.sql[self.at];
            if byte == quote {
                self.at += 1;
                if self.peek(0) != quote || self.at >= self.sql.len() {
                    return;
                }
                self.at += 1;
            } else if byte == b'\\' && backslash {
                self.at = (self.at + 2).min(self.sql.len());
            } else {
                self.at += 1;
            }
        }
    }

    fn skip_word(&mut self) {
        while self.at < self.sql.len() && is_word(self.sql[self.at]) {
            self.at += 1;
        }
    }

    fn is_string_quote(&self, byte: u8) -> bool {
        byte == b'\'' || (byte == b'"' && !self.ansi_quotes)
    }

    /// A string, with strings that follow it.
    fn text(&mut self) -> Kind {
        loop {
            self.skip_quoted(self.peek(0), self.backslash_escapes);
            let end = (self.at, self.inside_comments);
            self.skip_space();
            if !self.is_string_quote(self.peek(0)) {
                (self.at, self.inside_comments) = end;
                return Kind::Text;
            }
        }
    }

    /// How many strings a lexeme of [`Kind::Text`] is made of.
    pub(super) fn strings_of(text: &[u8], sql_mode: SqlMode) -> usize {
        let mut lexer = Lexer::new(text, sql_mode);
        lexer.at = text.iter().position(|byte| lexer.is_string_quote(*byte)).unwrap_or(text.len());
        let mut strings = 0;
        while lexer.is_string_quote(lexer.peek(0)) {
            lexer.skip_quoted(lexer.peek(0), lexer.backslash_escapes);
            lexer.skip_space();
            strings += 1;
        }
        strings
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'b') {
            let hex = self.peek(1) == b'x';
            let digit = |byte: &u8| if hex { byte.is_ascii_hexdigit() } else { matches!(byte, b'0' | b'1') };
            let digits = self.sql[self.at + 2..].iter().take_while(|byte| digit(byte)).count();
            let next = self.peek(2 + digits);
            if digits > 0 && !is_word(next) {
                self.at += 2 + digits;
                return Kind::Bytes;
            }
        }
        let digits = |lexer: &mut Self| {
            while lexer.peek(0).is_ascii_digit() {
                lexer.at += 1;
            }
        };
        digits(self);
        let mut is_name = self.at > start && is_word(self.peek(0)) && !matches!(self.peek(0), b'e' | b'E');
        if !is_name && self.peek(0) == b'.' {
            self.at += 1;
            digits(self);
        }
        if !is_name && matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                digits(self);
            } else {
                is_name = true;
            }
        }
        if is_name {
            self.skip_word();
            return Kind::Word;
        }
        Kind::Number
    }

    fn variable(&mut self) -> Kind {
        self.at += 1;
        if self.peek(0) == b'@' {
            self.at += 1;
            loop {
                match self.peek(0) {
                    b'`' => self.skip_quoted(b'`', false),
                    _ => self.skip_word(),
                }
                if self.peek(0) != b'.' {
                    return Kind::Variable;
                }
                self.at += 1;
            }
        }
        match self.peek(0) {
            b'`' => self.skip_quoted(b'`', false),
            quote @ (b'\'' | b'"') => self.skip_quoted(quote, self.backslash_escapes),
            _ => {
                while self.at < self.sql.len() && (is_word(self.sql[self.at]) || self.sql[self.at] == b'.') {
                    self.at += 1;
                }
            }
        }
        Kind::Variable
    }

    fn operator(&mut self) -> Kind {
        const LONG: [&[u8]; 14] =
            [b"<=>", b"->>", b"<=", b">=", b"<>", b"!=", b":=", b"||", b"&&", b"<<", b">>", b"->", b"**", b"=="];
        let rest = &self.sql[self.at..];
        let long = if matches!(rest[0], b'<' | b'>' | b'!' | b':' | b'|' | b'&' | b'-') {
            LONG.iter().find(|operator| rest.starts_with(operator)).map(|operator| operator.len())
        } else {
            None
        };
        self.at += long.unwrap_or(1);
        Kind::Operator
    }

    fn word(&mut self) -> Kind {
        let start = self.at;
        self.skip_word();
        let word = &self.sql[start..self.at];
        let quote = self.peek(0);
        if quote == b'\'' && matches!(word, b"x" | b"X" | b"b" | b"B") {
            self.skip_quoted(b'\'', false);
            return Kind::Bytes;
        }
        if matches!(word, b"n" | b"N") && quote == b'\'' {
            return self.text();
        }
        if word[0] == b'_' && is_charset_introducer(word) {
            let end = (self.at, self.inside_comments);
            self.skip_space();
            if self.is_string_quote(self.peek(0)) {
                return self.text();
            }
            (self.at, self.inside_comments) = end;
        }
        Kind::Word
    }
}

fn is_charset_introducer(word: &[u8]) -> bool {
    const INTRODUCERS: [&[u8]; 6] = [b"_utf8mb4", b"_utf8mb3", b"_utf8", b"_binary", b"_latin1", b"_ascii"];
    INTRODUCERS.iter().any(|introducer| word.eq_ignore_ascii_case(introducer))
}

/// Whether a byte can be part of an unquoted name.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl Iterator for Lexer<'_> {
    type Item = Lexeme;

    fn next(&mut self) -> Option<Lexeme> {
        self.skip_space();
        if self.at >= self.sql.len() {
            return None;
        }
        let start = self.at;
        let kind = match self.sql[start] {
            b'\'' => self.text(),
            b'"' if !self.ansi_quotes => self.text(),
            b'"' => {
                self.skip_quoted(b'"', false);
                Kind::QuotedName
            }
            b'`' => {
                self.skip_quoted(b'`', false);
                Kind::QuotedName
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() && !self.follows_name(start) => self.number(),
            b'@' => self.variable(),
            b'?' => {
                self.at += 1;
                Kind::Param
            }
            b';' => {
                self.at += 1;
                Kind::Semicolon
            }
            byte if is_word(byte) => self.word(),
            _ => self.operator(),
        };
        Some(Lexeme { kind, start, end: self.at })
    }
}

impl Lexer<'_> {
    /// Whether the byte before `at` ends a name: then a point separates names.
    fn follows_name(&self, at: usize) -> bool {
        at > 0 && (is_word(self.sql[at - 1]) || self.sql[at - 1] == b'`')
    }
}

#[cfg(test)]
mod tests;
