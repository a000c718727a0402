//! One SQL value, as expressions compute it and rows hold it.
//!
//! A value carries what its text form needs (a decimal its scale, a temporal value its fractional
//! digits), so evaluation is by value and not by static type. Strings carry no collation: that belongs
//! to the expression or the column ([`crate::collation::Collation`]).
//!
//! [`Value::Timestamp`] (UTC) exists in rows and keys only; reading a column in an expression turns
//! it into a [`Value::DateTime`] of the session's time zone.
//!
//! Not here: comparison of unlike values and implicit conversion (`cohort-sql`), conversion into a
//! column ([`crate::column_type`]).

mod member;
mod spilled;
mod stored;
mod text;

pub use member::Member;
pub use text::{double_within, write_double, write_float};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::decimal::Decimal;
use crate::json::Json;
use crate::temporal::{Date, DateTime, Time, Timestamp};

/// One SQL value; 24 bytes, cheap to clone (strings are shared).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "stored::StoredValue", try_from = "stored::StoredValue")]
pub enum Value {
    /// SQL NULL.
    #[default]
    Null,
    /// A signed integer, and the result of a condition (0 or 1).
    Int(i64),
    /// An unsigned integer, and a YEAR.
    UInt(u64),
    /// What a FLOAT column holds; arithmetic makes it a double.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// An exact number.
    Decimal(Decimal),
    /// Characters.
    Text(Arc<str>),
    /// A binary string.
    Bytes(Arc<[u8]>),
    /// A hexadecimal or bit literal: a binary string, but a number where one is wanted.
    Hex(Arc<[u8]>),
    /// What an ENUM or SET column holds: characters, but a number where one is wanted. Nothing else makes such values.
    Member(Arc<Member>),
    /// A JSON document.
    Json(Arc<Json>),
    /// A calendar date.
    Date(Date),
    /// Date and time without a zone.
    DateTime(DateTime),
    /// A point in time (rows and keys only).
    Timestamp(Timestamp),
    /// A time of day or a span, -838:59:59 to 838:59:59.
    Time(Time),
}

const _: () = assert!(size_of::<Value>() == 24);

impl Value {
    /// Makes it what a row keeps that is not handed on at once: a decimal loses the digits that it has beyond those it
    /// shows, which are rounded away (MySQL's temporary tables).
    pub fn settle(&mut self) {
        if let Value::Decimal(decimal) = self
            && decimal.hides_digits()
        {
            *decimal = decimal.as_shown();
        }
    }

    /// A character string.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// A binary string.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value::Bytes(bytes.into())
    }

    /// A value as a user variable keeps it, which has no type: with all its digits, and of one kind.
    pub fn for_variable(self) -> Value {
        match self {
            Value::Decimal(decimal) => Value::Decimal(decimal.showing_all()),
            Value::Hex(bytes) => Value::Bytes(bytes),
            Value::Float(float) => Value::Double(float.into()),
            Value::Member(_) => self.computed(),
            Value::Json(json) => Value::text(json.to_string()),
            Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_) => Value::text(self.to_string()),
            other @ (Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Double(_)
            | Value::Text(_)
            | Value::Bytes(_)) => other,
        }
    }

    /// The value where no column gives it: only what a column of ENUM or SET holds is a number as well, what is made of it
    /// is its text.
    pub fn computed(self) -> Value {
        if let Value::Member(member) = self { Value::text(&*member.text) } else { self }
    }

    /// 1 for true, 0 for false, as conditions give.
    pub fn bool(truth: bool) -> Value {
        Value::Int(i64::from(truth))
    }

    /// Makes it an integer in its place: one that is made elsewhere is copied, in larger pieces than it was written in, and
    /// the processor waits for that.
    pub fn set_int(&mut self, int: i64) {
        if let Value::Int(place) = self {
            *place = int;
        } else {
            *self = Value::Int(int);
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether this is a date or time.
    pub fn is_temporal(&self) -> bool {
        matches!(self, Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_))
    }

    /// Whether this is a number.
    pub fn is_number(&self) -> bool {
        use Value::{Decimal, Double, Float, Int, UInt};
        matches!(self, Int(_) | UInt(_) | Decimal(_) | Double(_) | Float(_))
    }

    /// Whether this is a string.
    pub fn is_string(&self) -> bool {
        matches!(self, Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_))
    }

    /// Whether this is a binary string.
    pub fn is_binary_string(&self) -> bool {
        matches!(self, Value::Bytes(_) | Value::Hex(_))
    }

    /// The bytes of a string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Text(text) => Some(text.as_bytes()),
            Value::Bytes(bytes) | Value::Hex(bytes) => Some(bytes),
            Value::Member(member) => Some(member.text.as_bytes()),
            Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Timestamp(_)
            | Value::Time(_)
            | Value::Json(_) => None,
        }
    }
}

/// The number that a hexadecimal or bit literal stands for: that of its last eight bytes.
pub fn hex_number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The first `chars` characters of `text`.
pub fn first_chars(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests;
