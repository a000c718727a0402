//! Parameters: their kinds, and the types that follow from those.

use super::{Param, ParamKind};
use crate::collation::Collation;
use crate::types::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::types::{FieldType, ResultType};
use crate::value::Value;

/// Characters that a string of unknown length is declared with.
const UNKNOWN_CHARS: u32 = 16_383;

const LETTERS: [(ParamKind, u8); 11] = [
    (ParamKind::Integer, b'i'),
    (ParamKind::Unsigned, b'u'),
    (ParamKind::Decimal, b'd'),
    (ParamKind::Float, b'f'),
    (ParamKind::Double, b'r'),
    (ParamKind::Text(Collation::DEFAULT), b's'),
    (ParamKind::Binary, b'b'),
    (ParamKind::Hex, b'x'),
    (ParamKind::Date, b'D'),
    (ParamKind::DateTime, b'S'),
    (ParamKind::Time, b'T'),
];

impl ParamKind {
    /// The kind of a value; NULL is of any kind.
    pub fn of(value: &Value) -> Option<ParamKind> {
        Some(match value {
            Value::Null => return None,
            Value::Int(_) => ParamKind::Integer,
            Value::UInt(_) => ParamKind::Unsigned,
            Value::Decimal(_) => ParamKind::Decimal,
            Value::Float(_) => ParamKind::Float,
            Value::Double(_) => ParamKind::Double,
            Value::Text(_) | Value::Member(_) | Value::Json(_) => ParamKind::Text(Collation::DEFAULT),
            Value::Bytes(_) => ParamKind::Binary,
            Value::Hex(_) => ParamKind::Hex,
            Value::Date(_) => ParamKind::Date,
            Value::DateTime(_) | Value::Timestamp(_) => ParamKind::DateTime,
            Value::Time(_) => ParamKind::Time,
        })
    }

    /// Adds what stands for a kind in fingerprints: a letter, after which that of a collation comes if it is not the default
    /// one.
    pub(crate) fn write(kind: Option<ParamKind>, key: &mut Vec<u8>) {
        let letter = |kind| LETTERS.iter().find(|(known, _)| *known == kind).map(|(_, letter)| *letter);
        match kind.map(|kind| (kind, letter(kind))) {
            None => key.push(b'?'),
            Some((_, Some(letter))) => key.push(letter),
            Some((ParamKind::Text(collation), None)) => {
                key.push(b't');
                key.extend_from_slice(&collation.id().to_le_bytes());
            }
            Some((ParamKind::Collated(collation), _)) => {
                key.push(b'c');
                key.extend_from_slice(&collation.id().to_le_bytes());
            }
            Some((_, None)) => unreachable!("every other kind has a letter"),
        }
    }

    /// A type that every value of the kind fits.
    pub fn result_type(self) -> ResultType {
        match self {
            ParamKind::Integer => ResultType::integer(20),
            ParamKind::Unsigned => ResultType::unsigned(20),
            ParamKind::Decimal => ResultType::decimal(MAX_PRECISION.into(), MAX_SCALE),
            ParamKind::Float => ResultType { field: FieldType::Float, length: 12, ..ResultType::double() },
            ParamKind::Double => ResultType::double(),
            ParamKind::Text(collation) | ParamKind::Collated(collation) => ResultType::string(UNKNOWN_CHARS, collation),
            ParamKind::Binary | ParamKind::Hex => ResultType::string(4 * UNKNOWN_CHARS, Collation::Binary),
            ParamKind::Date => ResultType::temporal(FieldType::Date, 0),
            ParamKind::DateTime => ResultType::temporal(FieldType::DateTime, 6),
            ParamKind::Time => ResultType::temporal(FieldType::Time, 6),
        }
    }
}

impl Param {
    /// The type of the value if there is one; else that of the kind, and a string if that is not known either.
    pub(super) fn result_type(self, params: &[Value]) -> ResultType {
        match (params.get(self.index), self.kind) {
            (Some(value @ Value::Text(_)), Some(ParamKind::Text(collation))) => {
                ResultType { collation, ..ResultType::of_value(value) }
            }
            (Some(value), _) => ResultType::of_value(value),
            (None, kind) => kind.unwrap_or(ParamKind::Text(Collation::DEFAULT)).result_type(),
        }
    }
}
