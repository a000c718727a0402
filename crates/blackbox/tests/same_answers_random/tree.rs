//! Statements as trees that can be made smaller.
//!
//! A tree says which of its parts can go, not what they mean: whether what is left is a statement is for the servers
//! to say. So one shrinker serves statements, tables and expressions alike.

use std::fmt::Write as _;

use mysql::Value;

use crate::grammar::{self, Class};

/// A constant of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    /// As it is written in SQL.
    Number(String),
    Text(String),
    /// `DATE`, `TIME` or `TIMESTAMP` and its text.
    Temporal(&'static str, String),
    Bytes(Vec<u8>),
}

/// A part of a statement.
#[derive(Clone, Debug)]
pub enum Tree {
    Text(String),
    /// A key of a table.
    Key(String),
    Literal(Literal),
    /// All of them, in order.
    Sequence(Vec<Tree>),
    /// An expression: an operand of its class, or a constant, can stand in its place.
    Expression(Class, Vec<Tree>),
    /// All of it can go.
    Optional(Vec<Tree>),
    /// Any of them can go, but for the last one left.
    List(&'static str, Vec<Tree>),
    /// What goes when the column goes.
    OfColumn(String, Box<Tree>),
}

impl From<&str> for Tree {
    fn from(text: &str) -> Tree {
        Tree::Text(text.to_owned())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Tree {
        Tree::Text(text)
    }
}

impl Literal {
    fn write(&self, out: &mut String) {
        let _ = match self {
            Literal::Null => write!(out, "NULL"),
            Literal::Number(digits) => write!(out, "{digits}"),
            Literal::Text(text) => write!(out, "'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
            Literal::Temporal(kind, text) => write!(out, "{kind}'{text}'"),
            Literal::Bytes(bytes) => {
                let _ = write!(out, "x'");
                bytes.iter().for_each(|byte| {
                    let _ = write!(out, "{byte:02X}");
                });
                write!(out, "'")
            }
        };
    }

    /// The same as a parameter of the binary protocol, where there is a type for it.
    fn parameter(&self) -> Option<Value> {
        match self {
            Literal::Number(digits) => {
                let signed = digits.parse().map(Value::Int);
                signed.or_else(|_| digits.parse().map(Value::UInt)).ok()
            }
            Literal::Text(text) => Some(Value::Bytes(text.clone().into_bytes())),
            Literal::Null => Some(Value::NULL),
            Literal::Temporal(..) | Literal::Bytes(_) => None,
        }
    }

    /// Simpler constants to try instead.
    fn smaller(&self) -> Vec<Literal> {
        match self {
            Literal::Null => Vec::new(),
            Literal::Number(digits) => {
                let mut smaller = vec![Literal::Number("1".to_owned())];
                for at in 0..digits.len() {
                    let mut fewer = digits.clone();
                    fewer.remove(at);
                    // Still a number: what begins like one and ends like one.
                    if fewer.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
                        && fewer.ends_with(|c: char| c.is_ascii_digit())
                    {
                        smaller.push(Literal::Number(fewer));
                    }
                }
                smaller
            }
            // A part of a date is another matter than the date.
            Literal::Text(text) if text.len() >= 8 && text.starts_with(|c: char| c.is_ascii_digit()) => Vec::new(),
            // Nor is a part of a document one.
            Literal::Text(text) if text.starts_with(['{', '[', '"']) => Vec::new(),
            Literal::Text(text) => {
                let chars: Vec<char> = text.chars().collect();
                let halves = [&chars[..chars.len() / 2], &chars[chars.len() / 2..]];
                let mut smaller: Vec<String> = halves.iter().map(|half| half.iter().collect()).collect();
                for at in 0..chars.len() {
                    smaller.push(chars[..at].iter().chain(&chars[at + 1..]).collect());
                }
                smaller.into_iter().map(Literal::Text).collect()
            }
            Literal::Temporal(..) => Vec::new(),
            Literal::Bytes(bytes) => (0..bytes.len())
                .map(|at| Literal::Bytes(bytes[..at].iter().chain(&bytes[at + 1..]).copied().collect()))
                .collect(),
        }
    }
}

impl Tree {
    /// The statement as text.
    pub fn sql(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut None);
        out
    }

    /// The statement with `?` for its constants, as far as they can be parameters, and those.
    pub fn prepared(&self) -> (String, Vec<Value>) {
        let (mut out, mut parameters) = (String::new(), Some(Vec::new()));
        self.write(&mut out, &mut parameters);
        (out, parameters.unwrap_or_default())
    }

    fn write(&self, out: &mut String, parameters: &mut Option<Vec<Value>>) {
        match self {
            Tree::Text(text) | Tree::Key(text) => out.push_str(text),
            Tree::Literal(literal) => match (parameters, literal.parameter()) {
                (Some(parameters), Some(value)) => {
                    out.push('?');
                    parameters.push(value);
                }
                _ => literal.write(out),
            },
            Tree::Sequence(parts) | Tree::Expression(_, parts) | Tree::Optional(parts) => {
                parts.iter().for_each(|part| part.write(out, parameters));
            }
            Tree::List(separator, items) => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push_str(separator);
                    }
                    item.write(out, parameters);
                }
            }
            Tree::OfColumn(_, inner) => inner.write(out, parameters),
        }
    }

    /// Every tree that is smaller by one step, the largest steps of a part first.
    pub fn smaller(&self) -> Vec<Tree> {
        let mut found = Vec::new();
        match self {
            Tree::Text(_) | Tree::Key(_) => {}
            Tree::Literal(literal) => found.extend(literal.smaller().into_iter().map(Tree::Literal)),
            Tree::Sequence(parts) => inside(parts, &mut found, Tree::Sequence),
            Tree::Expression(class, parts) => {
                found.extend(parts.iter().flat_map(|part| part.of_class(*class)).cloned());
                found.push(Tree::Literal(grammar::simple(*class)));
                inside(parts, &mut found, |parts| Tree::Expression(*class, parts));
            }
            Tree::Optional(parts) => {
                if !parts.is_empty() {
                    found.push(Tree::Optional(Vec::new()));
                }
                inside(parts, &mut found, Tree::Optional);
            }
            Tree::List(separator, items) => {
                let mut run = items.len() / 2;
                while run > 0 {
                    for start in (0..items.len()).step_by(run) {
                        let end = (start + run).min(items.len());
                        let left: Vec<Tree> = items[..start].iter().chain(&items[end..]).cloned().collect();
                        if !left.is_empty() {
                            found.push(Tree::List(separator, left));
                        }
                    }
                    run /= 2;
                }
                inside(items, &mut found, |items| Tree::List(separator, items));
            }
            Tree::OfColumn(name, inner) => {
                found.extend(inner.smaller().into_iter().map(|inner| Tree::OfColumn(name.clone(), Box::new(inner))));
            }
        }
        found
    }

    /// The expressions that it is made of, the shortest first.
    pub fn expressions(&self) -> Vec<&Tree> {
        let mut found = Vec::new();
        self.walk(&mut |part| found.extend(matches!(part, Tree::Expression(..)).then_some(part)));
        found.sort_by_key(|part| part.sql().len());
        found
    }

    fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Tree)) {
        visit(self);
        match self {
            Tree::Text(_) | Tree::Key(_) | Tree::Literal(_) => {}
            Tree::Sequence(parts) | Tree::Expression(_, parts) | Tree::Optional(parts) | Tree::List(_, parts) => {
                parts.iter().for_each(|part| part.walk(visit));
            }
            Tree::OfColumn(_, inner) => inner.walk(visit),
        }
    }

    /// Whether a bit operator, or a cast to an unsigned number, has constants only.
    pub fn has_constant_bits(&self) -> bool {
        let Tree::Expression(_, parts) = self else { return false };
        let is_operator = |part: &Tree| matches!(part, Tree::Text(text) if text.contains(['&', '|', '^', '~', '<', '>']) || text.contains("AS UNSIGNED"));
        (parts.iter().any(is_operator) && !self.has_columns()) || parts.iter().any(Tree::has_constant_bits)
    }

    fn has_columns(&self) -> bool {
        match self {
            Tree::Expression(_, parts) => match parts.as_slice() {
                [Tree::Text(name)] => name.starts_with('c'),
                parts => parts.iter().any(Tree::has_columns),
            },
            _ => false,
        }
    }

    /// The nearest expressions of a class in an expression, itself included.
    fn of_class(&self, wanted: Class) -> Vec<&Tree> {
        match self {
            Tree::Expression(class, _) if *class == wanted => vec![self],
            Tree::Expression(_, parts) => parts.iter().flat_map(|part| part.of_class(wanted)).collect(),
            _ => Vec::new(),
        }
    }

    /// Without what belongs to a column.
    pub fn without_column(&self, column: &str) -> Tree {
        self.without(&|part| matches!(part, Tree::OfColumn(name, _) if name == column))
    }

    /// Without the keys of a table.
    pub fn without_keys(&self) -> Tree {
        self.without(&|part| matches!(part, Tree::OfColumn(_, inner) if matches!(**inner, Tree::Key(_))))
    }

    fn without(&self, goes: &dyn Fn(&Tree) -> bool) -> Tree {
        let left = |parts: &[Tree]| parts.iter().filter(|part| !goes(part)).map(|part| part.without(goes)).collect();
        match self {
            Tree::Sequence(parts) => Tree::Sequence(left(parts)),
            Tree::Expression(class, parts) => Tree::Expression(*class, left(parts)),
            Tree::Optional(parts) => Tree::Optional(left(parts)),
            Tree::List(separator, items) => Tree::List(separator, left(items)),
            Tree::OfColumn(name, inner) => Tree::OfColumn(name.clone(), Box::new(inner.without(goes))),
            Tree::Text(_) | Tree::Key(_) | Tree::Literal(_) => self.clone(),
        }
    }
}

/// One part made smaller, the others as they are.
fn inside(parts: &[Tree], found: &mut Vec<Tree>, whole: impl Fn(Vec<Tree>) -> Tree) {
    for (at, part) in parts.iter().enumerate() {
        for smaller in part.smaller() {
            let mut copy = parts.to_vec();
            copy[at] = smaller;
            found.push(whole(copy));
        }
    }
}
