//! XML as MySQL reads it: the nodes of a text, in its order.
//!
//! No library reads it so: a text is a fragment, with any number of elements and texts beside each other; entities stay as
//! they are written; values of attributes may stand without quotes; `<?xml ...?>` and `<!DOCTYPE ...>` are elements.
//!
//! Invariants
//! 1. A node comes after its parent, and before all that follow the parent: what is within node `n` are the nodes
//!    `n + 1 .. nodes[n].after`.
//! 2. `start <= end <= close <= text.len()` for every node.

use memchr::{memchr, memmem};

use crate::error::SqlError;
use crate::expr::EvalContext;

/// Levels of elements and attributes, the document itself included, as in MySQL.
const LEVELS: usize = 255;
/// Nodes that are read before it is looked whether the statement was killed.
const LOOKS: usize = 4096;
/// Bytes of a name that a message shows.
const SHOWN: usize = 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Element,
    Attribute,
    Text,
}

/// A node. Places are bytes of the text; no value is longer than 4 GiB.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Where its name begins, or its text.
    start: u32,
    end: u32,
    /// The last byte of an element is the one there, a `>`; an attribute ends before it.
    close: u32,
    pub(super) parent: u32,
    /// The first node after all that is within.
    pub(super) after: u32,
}

/// A text and its nodes; the first one is the document, an element without a name.
pub(super) struct Document<'t> {
    text: &'t [u8],
    nodes: Vec<Node>,
}

impl<'t> Document<'t> {
    /// Reads a text. The inner error says what is wrong with it, and where.
    pub(super) fn read(text: &'t [u8], cx: &EvalContext<'_>) -> Result<Result<Document<'t>, String>, SqlError> {
        let mut reader = Reader { text, at: 0, nodes: Vec::new(), open: Vec::new(), cx };
        match reader.run() {
            Ok(()) => Ok(Ok(Document { text, nodes: reader.nodes })),
            Err(Stop::Malformed(what)) => Ok(Err(reader.describe(&what))),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    pub(super) fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// The name of a node, or its text.
    pub(super) fn content(&self, at: u32) -> &'t [u8] {
        let node = self.node(at);
        &self.text[node.start as usize..node.end as usize]
    }

    /// What stands before and after an element or attribute. The document is all there is.
    pub(super) fn around(&self, at: u32) -> (&'t [u8], &'t [u8]) {
        if at == 0 {
            return (&[], &[]);
        }
        let node = self.node(at);
        // Of an element `<` and `>` go as well.
        let more = usize::from(node.kind == Kind::Element);
        let after = (node.close as usize + more).min(self.text.len());
        (&self.text[..node.start as usize - more], &self.text[after..])
    }

    /// The nodes right within another one.
    pub(super) fn children(&self, of: u32) -> impl Iterator<Item = u32> {
        let end = self.node(of).after;
        let next = move |at: u32| (at < end).then_some(at);
        std::iter::successors(next(of + 1), move |at| next(self.node(*at).after))
    }

    /// The texts right within a node.
    pub(super) fn texts(&self, of: u32) -> impl Iterator<Item = u32> {
        self.children(of).filter(|at| self.node(*at).kind == Kind::Text)
    }
}

/// Why reading ends.
enum Stop {
    Malformed(String),
    Error(SqlError),
}

/// What a tag is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    /// In quotes.
    Quoted,
    Name,
    /// One of `?=/<>!`.
    Sign(u8),
    Comment,
    Data,
    Unknown,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::End => f.write_str("END-OF-INPUT"),
            Token::Quoted => f.write_str("STRING"),
            Token::Name => f.write_str("IDENT"),
            Token::Sign(sign) => write!(f, "'{}'", char::from(*sign)),
            Token::Comment => f.write_str("COMMENT"),
            Token::Data => f.write_str("CDATA"),
            Token::Unknown => f.write_str("unknown token"),
        }
    }
}

/// A token, and the bytes that it stands for.
type Lexeme = (Token, std::ops::Range<usize>);

struct Reader<'t, 'b> {
    text: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The nodes that are open, each within the one before it.
    open: Vec<u32>,
    cx: &'b EvalContext<'b>,
}

const COMMENT: &[u8] = b"<!--";
const DATA: &[u8] = b"<![CDATA[";

impl Reader<'_, '_> {
    fn run(&mut self) -> Result<(), Stop> {
        self.enter(Kind::Element, 0..0)?;
        while self.at < self.text.len() {
            if self.text[self.at] == b'<' {
                self.markup()?;
            } else {
                let start = self.at;
                self.at += memchr(b'<', &self.text[start..]).unwrap_or(self.text.len() - start);
                self.add_text(start..self.at)?;
            }
        }
        if self.open.len() > 1 {
            return Err(Stop::Malformed("unexpected END-OF-INPUT".to_owned()));
        }
        self.nodes[0].after = self.nodes.len() as u32;
        Ok(())
    }

    /// What begins with `<`.
    fn markup(&mut self) -> Result<(), Stop> {
        match self.token() {
            (Token::Comment, _) => return Ok(()),
            (Token::Data, data) => return self.add_text(data),
            _ => {}
        }
        let (mut token, mut name) = self.token();
        if token == Token::Sign(b'/') {
            return self.end_tag();
        }
        let (question, exclamation) = (token == Token::Sign(b'?'), token == Token::Sign(b'!'));
        if question || exclamation {
            (token, name) = self.token();
        }
        if token != Token::Name {
            return Err(unexpected(token, "ident or '/'"));
        }
        self.enter(Kind::Element, name)?;
        token = self.attributes(exclamation)?;
        if token == Token::Sign(b'/') {
            self.leave();
            token = self.token().0;
        }
        if question {
            if token != Token::Sign(b'?') {
                return Err(unexpected(token, "'?'"));
            }
            self.leave();
            token = self.token().0;
        }
        if exclamation {
            self.leave();
        }
        self.end_of_tag(token)
    }

    /// What follows `</`.
    fn end_tag(&mut self) -> Result<(), Stop> {
        let (token, name) = self.token();
        if token != Token::Name {
            return Err(unexpected(token, "ident"));
        }
        let name = &self.text[name];
        let open = self.open.last().map(|open| &self.nodes[*open as usize]);
        let wanted = open.map_or(&[][..], |open| &self.text[open.start as usize..open.end as usize]);
        if name != wanted {
            let shown = |name: &[u8]| String::from_utf8_lossy(&name[..name.len().min(SHOWN)]).into_owned();
            let wanted = if wanted.is_empty() { "END-OF-INPUT".to_owned() } else { format!("'</{}>'", shown(wanted)) };
            return Err(Stop::Malformed(format!("'</{}>' unexpected ({wanted} wanted)", shown(name))));
        }
        self.leave();
        let token = self.token().0;
        self.end_of_tag(token)
    }

    fn end_of_tag(&self, token: Token) -> Result<(), Stop> {
        if token == Token::Sign(b'>') { Ok(()) } else { Err(unexpected(token, "'>'")) }
    }

    /// `name=value`, `name="value"`, `name name`; what follows them.
    fn attributes(&mut self, exclamation: bool) -> Result<Token, Stop> {
        loop {
            let (token, name) = self.token();
            if token != Token::Name && !(token == Token::Quoted && exclamation) {
                return Ok(token);
            }
            match self.token().0 {
                Token::Sign(b'=') => match self.token() {
                    (Token::Name | Token::Quoted, value) => {
                        self.enter(Kind::Attribute, name)?;
                        self.add_text(value)?;
                        self.leave();
                    }
                    (token, _) => return Err(unexpected(token, "ident or string")),
                },
                Token::Name => {
                    self.enter(Kind::Attribute, name)?;
                    self.leave();
                }
                // The names of files of a DOCTYPE.
                Token::Quoted if exclamation => {}
                token => return Ok(token),
            }
        }
    }

    /// The next token of a tag.
    fn token(&mut self) -> Lexeme {
        let blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.text[self.at..].iter().take_while(blank).count();
        let (start, rest) = (self.at, &self.text[self.at..]);
        let Some(first) = rest.first().copied() else { return (Token::End, start..start) };
        if rest.starts_with(COMMENT) {
            let end = memmem::find(rest, b"-->").map_or(rest.len(), |end| end + 3);
            self.at += end;
            return (Token::Comment, start..self.at);
        }
        if let Some(data) = rest.strip_prefix(DATA) {
            let content = start + DATA.len();
            let Some(length) = memmem::find(data, b"]]>") else {
                // As in MySQL it is nothing, and its last two bytes are read again.
                self.at = content.max(self.text.len().saturating_sub(2));
                return (Token::Data, content..content);
            };
            self.at = content + length + 3;
            return (Token::Data, content..content + length);
        }
        self.at += 1;
        match first {
            b'?' | b'=' | b'/' | b'<' | b'>' | b'!' => (Token::Sign(first), start..self.at),
            b'"' | b'\'' => {
                let length = memchr(first, &rest[1..]);
                let end = self.at + length.unwrap_or(rest.len() - 1);
                self.at = (end + 1).min(self.text.len());
                (Token::Quoted, start + 1..end)
            }
            first if begins_name(first) => {
                self.at += rest[1..].iter().take_while(|byte| in_name(**byte)).count();
                (Token::Name, start..self.at)
            }
            _ => {
                self.at = start;
                (Token::Unknown, start..start)
            }
        }
    }

    fn add_text(&mut self, text: std::ops::Range<usize>) -> Result<(), Stop> {
        let at = self.add(Kind::Text, text)?;
        self.nodes[at as usize].after = at + 1;
        Ok(())
    }

    fn enter(&mut self, kind: Kind, name: std::ops::Range<usize>) -> Result<(), Stop> {
        if self.open.len() >= LEVELS {
            // MySQL says no more of it.
            return Err(Stop::Malformed(String::new()));
        }
        let at = self.add(kind, name)?;
        self.open.push(at);
        Ok(())
    }

    /// The innermost node ends here. Not the document: `<!a/>` ends once more than it began.
    fn leave(&mut self) {
        if self.open.len() <= 1 {
            return;
        }
        if let Some(at) = self.open.pop() {
            let after = self.nodes.len() as u32;
            let node = &mut self.nodes[at as usize];
            node.close = self.at as u32;
            node.after = after;
        }
    }

    fn add(&mut self, kind: Kind, content: std::ops::Range<usize>) -> Result<u32, Stop> {
        let at = self.nodes.len();
        if at == self.nodes.capacity() {
            let more = at.max(16);
            self.cx.statement.hold_evaluated(more * size_of::<Node>()).map_err(Stop::Error)?;
            self.nodes.reserve_exact(more);
        }
        if at.is_multiple_of(LOOKS) {
            self.cx.statement.check_killed().map_err(Stop::Error)?;
        }
        let parent = self.open.last().copied().unwrap_or_default();
        let (start, end) = (content.start as u32, content.end as u32);
        self.nodes.push(Node { kind, start, end, close: end, parent, after: 0 });
        Ok(at as u32)
    }

    /// What is wrong, and the line and the byte of it, from 1. A line begins with the newline before it.
    fn describe(&self, what: &str) -> String {
        let read = &self.text[..self.at];
        let line = read.iter().filter(|byte| **byte == b'\n').count() + 1;
        let position = self.at - read.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) + 1;
        format!("parse error at line {line} pos {position}: {what}")
    }
}

fn unexpected(token: Token, wanted: &str) -> Stop {
    Stop::Malformed(format!("{token} unexpected ({wanted} wanted)"))
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || byte >= 0x80
}

fn in_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}
