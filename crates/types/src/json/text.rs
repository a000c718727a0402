//! The text of documents.

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::{Json, MAX_DEPTH, Object};
use crate::Value;
use crate::error::{ER_JSON_DOCUMENT_TOO_DEEP, SqlError};
use crate::value::write_double;

/// Why a text is no document.
#[derive(Clone, Debug, PartialEq)]
pub enum TextError {
    /// What is wrong, and at which byte.
    Invalid(&'static str, usize),
    /// It is too deep.
    TooDeep,
}

impl Json {
    /// The document of a text.
    pub fn parse(text: &str) -> Result<Json, TextError> {
        let too_deep = Cell::new(false);
        let mut from = serde_json::Deserializer::from_str(text);
        let read = Reading { depth: 1, too_deep: &too_deep }.deserialize(&mut from);
        read.and_then(|json| from.end().map(|()| json)).map_err(|error| {
            if too_deep.get() || error.to_string().starts_with("recursion limit") {
                return TextError::TooDeep;
            }
            // At the end it is the number of characters.
            let column = if error.is_eof() { error.column() + 1 } else { error.column() };
            TextError::Invalid(what_is_wrong(text, &error), offset_of(text, error.line(), column))
        })
    }
}

impl TextError {
    /// As an error of a statement, made by `invalid` from what is wrong and where.
    pub fn into_error(self, invalid: impl FnOnce(&str, usize) -> SqlError) -> SqlError {
        match self {
            TextError::Invalid(what, at) => invalid(what, at),
            TextError::TooDeep => SqlError::new(ER_JSON_DOCUMENT_TOO_DEEP, &[]),
        }
    }
}

/// MySQL's words for it.
fn what_is_wrong(text: &str, error: &serde_json::Error) -> &'static str {
    let message = error.to_string();
    let about = |part: &str| message.starts_with(part);
    if text.trim_ascii().is_empty() {
        "The document is empty."
    } else if about("trailing characters") {
        "The document root must not be followed by other values."
    } else if about("number out of range") {
        "Number too big to be stored in double."
    } else if about("invalid escape") {
        "Invalid escape character in string."
    } else if about("EOF while parsing a string") {
        "Missing a closing quotation mark in string."
    } else if about("control character") {
        "Invalid encoding in string."
    } else if about("lone leading surrogate") || about("unexpected end of hex escape") {
        "The surrogate pair in string is invalid."
    } else if about("expected `:`") {
        "Missing a colon after a name of object member."
    } else if about("key must be a string")
        || about("EOF while parsing an object") && text.trim_ascii_end().ends_with(['{', ','])
    {
        "Missing a name for object member."
    } else if about("expected `,` or `}`") || about("EOF while parsing an object") {
        "Missing a comma or '}' after an object member."
    } else if about("expected `,` or `]`") || about("EOF while parsing a list") {
        "Missing a comma or ']' after an array element."
    } else {
        "Invalid value."
    }
}

/// The byte that a line and column are at.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// Reads one value at a depth.
#[derive(Clone, Copy)]
struct Reading<'a> {
    depth: usize,
    too_deep: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Json, D::Error> {
        if self.depth > MAX_DEPTH {
            self.too_deep.set(true);
            return Err(D::Error::custom("too deep"));
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Json, E> {
        Ok(Json::Bool(truth))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Json, E> {
        Ok(Json::Int(int))
    }

    /// As in MySQL: numbers of more than 32 bits are unsigned ones.
    fn visit_u64<E>(self, int: u64) -> Result<Json, E> {
        Ok(if int <= u64::from(u32::MAX) { Json::Int(int as i64) } else { Json::UInt(int) })
    }

    fn visit_f64<E>(self, double: f64) -> Result<Json, E> {
        Ok(Json::Double(double))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let inner = Reading { depth: self.depth + 1, ..self };
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let inner = Reading { depth: self.depth + 1, ..self };
        let mut members: Vec<(Arc<str>, Json)> = Vec::new();
        while let Some(key) = from.next_key::<String>()? {
            members.push((key.into(), from.next_value_seed(inner)?));
        }
        Ok(Json::Object(Object::of(members)))
    }
}

/// Appends a text in double quotes.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a String cannot fail.
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}

impl Json {
    fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            // Writing to a String cannot fail.
            Json::Int(int) => {
                let _ = write!(out, "{int}");
            }
            Json::UInt(int) => {
                let _ = write!(out, "{int}");
            }
            Json::Decimal(decimal) => {
                let _ = write!(out, "{decimal}");
            }
            Json::Double(double) => {
                let from = out.len();
                write_double(*double, out);
                if !out[from..].contains(['.', 'e']) {
                    out.push_str(".0");
                }
            }
            Json::Text(text) => quote(text, out),
            Json::Date(_) | Json::DateTime(_) | Json::Time(_) | Json::Opaque(..) => quote(&self.unquoted(), out),
            Json::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    quote(key, out);
                    out.push_str(": ");
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The text without the quotes of a scalar that has some.
    pub fn unquoted(&self) -> String {
        match self {
            Json::Text(text) => text.to_string(),
            Json::Date(date) => date.to_string(),
            // With all digits.
            Json::DateTime(value) => value.with_fsp(6).to_string(),
            Json::Time(value) => Value::Time(crate::temporal::Time { fsp: 6, ..*value }).to_string(),
            Json::Opaque(field, bytes) => format!("base64:type{}:{}", *field as u8, base64(bytes)),
            other => other.to_string(),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}
