//! JSON documents: their text as MySQL writes it, their bytes in rows and the binlog, their order, and paths into them.
//!
//! Invariants
//! 1. A document is at most [`MAX_DEPTH`] deep (error 3157), so that recursion over it is bounded.
//! 2. The keys of an object are unique, and sorted by length and then by bytes, as the binary form needs them.

mod binary;
mod order;
mod path;
mod text;
mod to_column;

pub use path::{Leg, Path, Place, member_leg};
pub use text::{TextError, quote};

use std::sync::Arc;

use crate::decimal::Decimal;
use crate::error::{ER_JSON_DOCUMENT_TOO_DEEP, SqlError};
use crate::temporal::{Date, DateTime, Time};
use crate::{FieldType, Value};

/// How deep a document may be; a scalar has the depth 1.
pub const MAX_DEPTH: usize = 100;

/// A document, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Text(Arc<str>),
    Date(Date),
    DateTime(DateTime),
    Time(Time),
    /// A value of SQL that JSON has no form for: its type and its bytes.
    Opaque(FieldType, Arc<[u8]>),
    Array(Vec<Json>),
    Object(Object),
}

/// The members of an object, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Vec<(Arc<str>, Json)>);

impl Object {
    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Json)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a key is, or belongs.
    fn place(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| order_of_keys(known, key))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.place(key).ok().map(|at| &self.0[at].1)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.place(key).ok().map(|at| &mut self.0[at].1)
    }

    /// Sets the value of a key, in place of the one it had.
    pub fn set(&mut self, key: impl Into<Arc<str>>, value: Json) {
        let key = key.into();
        match self.place(&key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// The members in any order; of equal keys the last counts.
    pub fn of(members: impl IntoIterator<Item = (Arc<str>, Json)>) -> Object {
        let mut members: Vec<(Arc<str>, Json)> = members.into_iter().collect();
        // A stable sort, so that the last of equal keys is the last of their run.
        members.sort_by(|(a, _), (b, _)| order_of_keys(a, b));
        let mut kept: Vec<(Arc<str>, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match kept.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => kept.push(member),
            }
        }
        Object(kept)
    }

    fn remove(&mut self, key: &str) {
        if let Ok(at) = self.place(key) {
            self.0.remove(at);
        }
    }
}

/// The shorter key first.
fn order_of_keys(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Json {
    /// How deep it is.
    pub fn depth(&self) -> usize {
        1 + match self {
            Json::Array(items) => items.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(members) => members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            Json::Null
            | Json::Bool(_)
            | Json::Int(_)
            | Json::UInt(_)
            | Json::Double(_)
            | Json::Decimal(_)
            | Json::Text(_)
            | Json::Date(_)
            | Json::DateTime(_)
            | Json::Time(_)
            | Json::Opaque(..) => 0,
        }
    }

    /// The document, if it is not too deep (error 3157).
    pub fn bounded(self) -> Result<Json, SqlError> {
        if self.depth() > MAX_DEPTH { Err(SqlError::new(ER_JSON_DOCUMENT_TOO_DEEP, &[])) } else { Ok(self) }
    }

    /// Elements of an array, members of an object, 1 of anything else.
    pub fn length(&self) -> usize {
        match self {
            Json::Array(items) => items.len(),
            Json::Object(members) => members.len(),
            _ => 1,
        }
    }

    /// What JSON_TYPE says.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::Text(_) => "STRING",
            Json::Date(_) => "DATE",
            Json::DateTime(_) => "DATETIME",
            Json::Time(_) => "TIME",
            Json::Opaque(FieldType::Bit, _) => "BIT",
            Json::Opaque(kind, _) if kind.is_string() => "BLOB",
            Json::Opaque(..) => "OPAQUE",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
        }
    }

    /// A value of SQL as a scalar; what is a document stays one.
    pub fn of_value(value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Int(int) => Json::Int(*int),
            Value::UInt(int) => Json::UInt(*int),
            Value::Float(float) => Json::Double(f64::from(*float)),
            Value::Double(double) => Json::Double(*double),
            Value::Decimal(decimal) => Json::Decimal(decimal.as_shown()),
            Value::Text(text) => Json::Text(text.clone()),
            Value::Member(member) => Json::Text((&*member.text).into()),
            Value::Bytes(bytes) | Value::Hex(bytes) => Json::Opaque(FieldType::VarString, bytes.clone()),
            Value::Date(date) => Json::Date(*date),
            Value::DateTime(value) => Json::DateTime(*value),
            Value::Timestamp(value) => Json::DateTime(value.to_datetime(crate::temporal::TimeZone::UTC)),
            Value::Time(value) => Json::Time(*value),
            Value::Json(json) => (**json).clone(),
        }
    }

    /// The number that a scalar is; `None` of anything else.
    pub fn to_number(&self) -> Option<Value> {
        match self {
            Json::Bool(truth) => Some(Value::bool(*truth)),
            Json::Int(int) => Some(Value::Int(*int)),
            Json::UInt(int) => Some(Value::UInt(*int)),
            Json::Double(double) => Some(Value::Double(*double)),
            Json::Decimal(decimal) => Some(Value::Decimal(decimal.clone())),
            _ => None,
        }
    }

    /// What takes part in the memory of a value, bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Json>()
            + match self {
                Json::Text(text) => text.len(),
                Json::Opaque(_, bytes) => bytes.len(),
                Json::Array(items) => items.iter().map(Json::memory_bytes).sum(),
                Json::Object(members) => {
                    members.iter().map(|(key, value)| size_of::<Arc<str>>() + key.len() + value.memory_bytes()).sum()
                }
                _ => 0,
            }
    }
}

#[cfg(test)]
mod tests;
