//! The tokens of an XPath expression.

use std::ops::Range;

use super::Axis;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    End,
    /// What begins no token.
    Unknown,
    Name,
    /// `and`, `or`, `div`, `mod`, which are names where a name is looked for.
    Word(Word),
    Digits,
    /// In quotes.
    Text,
    Sign(u8),
    Function(Function),
    /// `text`, `node` and the like, before a parenthesis.
    NodeType,
    Axis(Axis),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    And,
    Or,
    Div,
    Mod,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Its bytes.
    pub(super) at: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Sum,
    Not,
    Last,
    True,
    Count,
    False,
    Floor,
    Round,
    Concat,
    Number,
    Boolean,
    Ceiling,
    Position,
    Contains,
    Substring,
    StringLength,
}

/// Name, least and greatest number of arguments.
pub(super) const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("sum", Function::Sum, 1, 1),
    ("not", Function::Not, 1, 1),
    ("last", Function::Last, 0, 0),
    ("true", Function::True, 0, 0),
    ("count", Function::Count, 1, 1),
    ("false", Function::False, 0, 0),
    ("floor", Function::Floor, 1, 1),
    ("round", Function::Round, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("number", Function::Number, 0, 1),
    ("boolean", Function::Boolean, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("position", Function::Position, 0, 0),
    ("contains", Function::Contains, 2, 2),
    ("substring", Function::Substring, 2, 3),
    ("string-length", Function::StringLength, 0, 1),
];

pub(super) const AXES: &[(&str, Axis)] = &[
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("following", Axis::Child),
    ("following-sibling", Axis::Child),
    ("namespace", Axis::Child),
    ("parent", Axis::Parent),
    ("preceding", Axis::Child),
    ("preceding-sibling", Axis::Child),
    ("self", Axis::Itself),
];

pub(super) const NODE_TYPES: [&str; 4] = ["comment", "text", "processing-instruction", "node"];

pub(super) const WORDS: &[(&str, Word)] =
    &[("and", Word::And), ("or", Word::Or), ("div", Word::Div), ("mod", Word::Mod)];

pub(super) fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, named)| *named)
}

pub(super) fn function(name: &str) -> Option<&'static (&'static str, Function, usize, usize)> {
    FUNCTIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

impl Function {
    /// Whether it takes one argument, or none instead.
    pub(super) fn is_of_one(self) -> bool {
        !matches!(self, Function::Substring | Function::Contains | Function::Concat)
    }
}

/// The token that a text begins with, and its length.
pub(super) fn next_token(rest: &str) -> (Kind, usize) {
    let Some(first) = rest.chars().next() else { return (Kind::End, 0) };
    if first.is_alphabetic() || first == '_' {
        let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        let kind = if after.starts_with('(') {
            match function(name) {
                Some((_, function, ..)) => Kind::Function(*function),
                None if NODE_TYPES.iter().any(|known| known.eq_ignore_ascii_case(name)) => Kind::NodeType,
                None => Kind::Name,
            }
        } else if after.starts_with("::") {
            named(AXES, name).map_or(Kind::Name, Kind::Axis)
        } else {
            named(WORDS, name).map_or(Kind::Name, Kind::Word)
        };
        return (kind, length);
    }
    match first {
        '!' | '$' | '(' | ')' | '*' | '+' | ',' | '-' | '.' | '/' | ':' | '<' | '=' | '>' | '@' | '[' | ']' | '|' => {
            (Kind::Sign(first as u8), 1)
        }
        '0'..='9' => (Kind::Digits, rest.bytes().take_while(u8::is_ascii_digit).count()),
        '"' | '\'' => match rest[1..].find(first) {
            Some(end) => (Kind::Text, end + 2),
            None => (Kind::Unknown, rest.len()),
        },
        _ => (Kind::Unknown, first.len_utf8()),
    }
}
