//! ENUM and SET: numbers that stand for texts of a list.
//!
//! Format: an ENUM takes one byte, or two if its list has more than 255 texts; a SET takes 1, 2, 3, 4 or 8. Little-endian
//! in rows, big-endian in keys: they are sorted by number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, read_be, read_le, write_be};
use crate::collation::Collation;
use crate::error::{
    ER_ILLEGAL_VALUE_FOR_TYPE, ER_TOO_BIG_SET, ER_TOO_LONG_SET_ENUM_VALUE, SqlError, WARN_DATA_TRUNCATED,
};
use crate::store::{StoreContext, to_bytes};
use crate::value::Member;
use crate::{FieldType, ResultType, Value};

/// Most texts of an ENUM.
const MAX_ENUM_MEMBERS: usize = 65_535;
/// Most texts of a SET.
const MAX_SET_MEMBERS: usize = 64;
/// Most characters of a text.
const MAX_MEMBER_CHARS: usize = 255;

/// One of a list of texts, or the empty text that stands for an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumType {
    /// The list.
    #[serde(with = "stored")]
    pub members: Arc<Members>,
}

/// Any of a list of texts, with commas between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetType {
    /// The list.
    #[serde(with = "stored")]
    pub members: Arc<Members>,
}

/// The texts of an ENUM or SET in their order, and how they compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// Each with its place, from 1.
    list: Vec<Arc<Member>>,
    collation: Collation,
    /// Places by the collation's key: the first of equal texts.
    places: HashMap<Vec<u8>, usize>,
}

/// A list inside of stored definitions.
mod stored {
    use super::{Arc, Deserialize, Members, Serialize, StoredMembers};

    pub(super) fn serialize<S: serde::Serializer>(members: &Arc<Members>, to: S) -> Result<S::Ok, S::Error> {
        let texts = members.texts().map(str::to_owned).collect();
        StoredMembers { texts, collation: members.collation }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Arc<Members>, D::Error> {
        let StoredMembers { texts, collation } = StoredMembers::deserialize(from)?;
        Ok(Arc::new(Members::new(texts.iter().map(String::as_str), collation)))
    }
}

/// What is stored of a list.
#[derive(Serialize, Deserialize)]
struct StoredMembers {
    texts: Vec<String>,
    collation: Collation,
}

impl Members {
    /// A list; trailing spaces of its texts do not belong to them.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>, collation: Collation) -> Members {
        let member = |(at, text): (usize, &str)| {
            Arc::new(Member { number: at as u64 + 1, text: text.trim_end_matches(' ').into() })
        };
        let list: Vec<Arc<Member>> = texts.into_iter().enumerate().map(member).collect();
        let mut places = HashMap::with_capacity(list.len());
        for (at, member) in list.iter().enumerate() {
            places.entry(key_of(&member.text, collation)).or_insert(at);
        }
        Members { list, collation, places }
    }

    /// The texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|member| &*member.text)
    }

    /// Whether a list begins with the texts of this one, under the same collation: numbers keep their texts.
    pub(super) fn extends_to(&self, longer: &Members) -> bool {
        self.collation == longer.collation
            && self.list.len() <= longer.list.len()
            && self.texts().zip(longer.texts()).all(|(old, new)| old == new)
    }

    /// A text that is equal to an earlier one.
    pub fn repeated(&self) -> Option<&str> {
        let earlier = |(at, text): &(usize, &str)| self.place(text).is_some_and(|first| first < *at);
        self.texts().enumerate().find(earlier).map(|(_, text)| text)
    }

    fn place(&self, text: &str) -> Option<usize> {
        self.places.get(&key_of(text, self.collation)).copied()
    }

    fn within<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.collation.charset().within(text)
    }

    fn under(&self, collation: Collation) -> Arc<Members> {
        let texts: Vec<_> = self.texts().map(|text| collation.charset().within(text)).collect();
        Arc::new(Members::new(texts.iter().map(|text| &**text), collation))
    }

    fn chars(&self) -> impl Iterator<Item = u64> {
        self.texts().map(|text| text.chars().count() as u64)
    }

    fn parse(words: &mut dyn TypeWords, most: usize, kind: &str) -> Result<Members, SqlError> {
        let texts = words.texts()?;
        if texts.len() > most {
            return Err(SqlError::new(ER_TOO_BIG_SET, &[&words.column(), &kind]));
        }
        if texts.iter().any(|text| text.chars().count() > MAX_MEMBER_CHARS) {
            return Err(SqlError::new(ER_TOO_LONG_SET_ENUM_VALUE, &[&words.column()]));
        }
        Ok(Members::new(texts.iter().map(String::as_str), Collation::DEFAULT))
    }

    fn show(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}(")?;
        for (at, text) in self.texts().enumerate() {
            f.write_str(if at == 0 { "'" } else { ",'" })?;
            for c in text.chars() {
                match c {
                    '\'' => f.write_str("''")?,
                    '\\' => f.write_str("\\\\")?,
                    '\0' => f.write_str("\\0")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    _ => f.write_char(c)?,
                }
            }
            f.write_char('\'')?;
        }
        f.write_char(')')
    }
}

fn key_of(text: &str, collation: Collation) -> Vec<u8> {
    let mut key = Vec::new();
    collation.write_key(text.as_bytes(), &mut key);
    key
}

/// What both types do alike, given the field type, and how the least number of bytes and the text follow from the list.
macro_rules! of_members {
    ($family:ident, $field:ident, $name:literal) => {
        fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.members.show($name, f)
        }

        fn facts(&self) -> Facts {
            let chars = self.chars();
            let sizes = Sizes::string(chars, self.members.collation.charset().char_bytes() * chars);
            let meta = [FieldType::$field as u8, self.bytes() as u8];
            let facts = Facts::scalar($name, sizes, (FieldType::String, &meta));
            Facts { max_bytes: self.bytes() as u64, ..facts }
        }

        fn kind(&self) -> Kind {
            Kind::Members(self.members.collation)
        }

        fn under(&self, collation: Collation) -> ColumnType {
            $family { members: self.members.under(collation) }.into()
        }

        fn members(&self) -> Option<&Members> {
            Some(&self.members)
        }

        fn default_literal(&self, _value: &Value) -> Option<String> {
            None
        }

        fn result_type(&self) -> ResultType {
            let chars = self.chars().try_into().unwrap_or(u32::MAX);
            let string = ResultType::string(chars, self.members.collation);
            ResultType { field: FieldType::$field, decimals: 0, ..string }
        }

        fn row_len(&self, _row: &[u8]) -> Option<usize> {
            Some(self.bytes())
        }

        fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
            let Value::Member(member) = value else { return false };
            row.extend_from_slice(&member.number.to_le_bytes()[..self.bytes()]);
            member.number <= self.greatest()
        }

        fn read_row(&self, bytes: &[u8]) -> Option<Value> {
            self.value(read_le(bytes))
        }

        fn from_binlog(_field: FieldType, _meta: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
            None
        }

        fn key_bytes(&self) -> Option<usize> {
            Some(self.bytes())
        }

        fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
            let Value::Member(member) = value else { return false };
            write_be(member.number, self.bytes(), key);
            member.number <= self.greatest()
        }

        fn read_key(&self, bytes: &[u8]) -> FromKey {
            FromKey::of(self.value(read_be(bytes)))
        }
    };
}

impl Faces for EnumType {
    of_members!(EnumType, Enum, "enum");

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if name != "ENUM" {
            return Ok(None);
        }
        let members = Members::parse(words, MAX_ENUM_MEMBERS, "ENUM")?;
        Ok(Some(EnumType { members: Arc::new(members) }.into()))
    }

    /// The first of the list.
    fn implicit_default(&self) -> Value {
        self.value(1).unwrap_or_default()
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let number = if let Value::Member(member) = &value {
            if member.number == 0 {
                // Nothing to complain about: it has been.
                return Ok(Value::Member(Arc::new(Member::none())));
            }
            self.number_of(member).or_else(|| self.number_of_text(&member.text))
        } else if let Some(number) = whole_number(&value) {
            u64::try_from(number).ok()
        } else {
            self.number_of_text(&text_of(value, cx))
        };
        match number.filter(|number| (1..=self.greatest()).contains(number)).and_then(|number| self.value(number)) {
            Some(value) => Ok(value),
            None => {
                cx.reject(WARN_DATA_TRUNCATED)?;
                Ok(Value::Member(Arc::new(Member::none())))
            }
        }
    }
}

impl EnumType {
    fn bytes(&self) -> usize {
        if self.members.list.len() > 255 { 2 } else { 1 }
    }

    /// The number of what has the same number and text here: of texts that are equal the first is not meant.
    fn number_of(&self, member: &Member) -> Option<u64> {
        let own = self.value(member.number)?;
        matches!(&own, Value::Member(own) if own.text == member.text).then_some(member.number)
    }

    fn greatest(&self) -> u64 {
        self.members.list.len() as u64
    }

    fn chars(&self) -> u64 {
        self.members.chars().max().unwrap_or(0)
    }

    fn value(&self, number: u64) -> Option<Value> {
        Some(Value::Member(match usize::try_from(number).ok()? {
            0 => Arc::new(Member::none()),
            place => self.members.list.get(place - 1)?.clone(),
        }))
    }

    /// The number of a text, with question marks for what the character set lacks: its place, or the number that it is.
    fn number_of_text(&self, text: &str) -> Option<u64> {
        let text = self.members.within(text);
        let text = text.trim_end_matches(' ');
        match self.members.place(text) {
            Some(place) => Some(place as u64 + 1),
            None => whole_text(text),
        }
    }
}

impl Faces for SetType {
    of_members!(SetType, Set, "set");

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if name != "SET" {
            return Ok(None);
        }
        let members = Members::parse(words, MAX_SET_MEMBERS, "SET")?;
        if let Some(text) = members.texts().find(|text| text.contains(',')) {
            return Err(SqlError::new(ER_ILLEGAL_VALUE_FOR_TYPE, &[&"set", &text]));
        }
        Ok(Some(SetType { members: Arc::new(members) }.into()))
    }

    fn implicit_default(&self) -> Value {
        Value::Member(Arc::new(Member::none()))
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let (number, complete) = if let Value::Member(member) = &value {
            self.number_of(member).map_or_else(|| self.number_of_text(&member.text), |number| (number, true))
        } else if let Some(number) = whole_number(&value) {
            let bits = number as u64 & self.greatest();
            (bits, i128::from(bits) == number)
        } else {
            self.number_of_text(&text_of(value, cx))
        };
        if !complete {
            cx.reject(WARN_DATA_TRUNCATED)?;
        }
        Ok(self.value(number).unwrap_or_default())
    }
}

impl SetType {
    fn bytes(&self) -> usize {
        match self.members.list.len().div_ceil(8) {
            bytes @ 0..=4 => bytes.max(1),
            _ => 8,
        }
    }

    /// The number of what has the same number and text here: of texts that are equal the first is not meant.
    fn number_of(&self, member: &Member) -> Option<u64> {
        let own = self.value(member.number)?;
        matches!(&own, Value::Member(own) if own.text == member.text).then_some(member.number)
    }

    fn greatest(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.members.list.len() as u32).unwrap_or(0)
    }

    fn chars(&self) -> u64 {
        self.members.chars().sum::<u64>() + (self.members.list.len() as u64).saturating_sub(1)
    }

    fn value(&self, number: u64) -> Option<Value> {
        if number > self.greatest() {
            return None;
        }
        let mut text = String::new();
        let chosen = self.members.texts().enumerate().filter(|(at, _)| number & 1 << at != 0);
        for (nth, (_, member)) in chosen.enumerate() {
            if nth > 0 {
                text.push(',');
            }
            text.push_str(member);
        }
        Some(Value::Member(Arc::new(Member { number, text: text.into() })))
    }

    /// The number of a list of texts, or that a text is, with question marks for what the character set lacks; and whether
    /// all of it is one.
    fn number_of_text(&self, text: &str) -> (u64, bool) {
        let text = &*self.members.within(text);
        let (mut number, mut complete) = (0, true);
        let list = text.trim_end_matches(' ');
        for item in list.split(',').filter(|_| !list.is_empty()) {
            match self.members.place(item) {
                Some(place) => number |= 1 << place,
                None => complete = false,
            }
        }
        if number != 0 || text.is_empty() {
            return (number, complete);
        }
        match whole_text(text).filter(|number| *number <= self.greatest()) {
            Some(number) => (number, true),
            None => (0, false),
        }
    }
}

/// The whole number that a value other than text stands for, without its fraction.
fn whole_number(value: &Value) -> Option<i128> {
    match value {
        Value::Int(int) => Some(i128::from(*int)),
        Value::UInt(int) => Some(i128::from(*int)),
        Value::Float(float) => Some(whole_double(f64::from(*float))),
        Value::Double(double) => Some(whole_double(*double)),
        Value::Decimal(decimal) => Some(whole_double(decimal.to_f64())),
        Value::Null
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Hex(_)
        | Value::Member(_)
        | Value::Json(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_) => None,
    }
}

/// A DOUBLE without its fraction. One beyond BIGINT is the least of those, as in MySQL.
fn whole_double(double: f64) -> i128 {
    let whole = double.trunc() as i128;
    i64::try_from(whole).unwrap_or(i64::MIN).into()
}

/// Digits with spaces before them and perhaps a plus.
fn whole_text(text: &str) -> Option<u64> {
    text.trim_ascii_start().parse().ok()
}

/// What can be read of a value as text.
fn text_of(value: Value, cx: &StoreContext<'_>) -> String {
    String::from_utf8_lossy(&to_bytes(value, cx)).into_owned()
}
