//! The order of documents, and what one has of another.

use std::cmp::Ordering;

use super::Json;
use crate::decimal::Decimal;

impl Json {
    /// What comes first where kinds differ: the greater, the later.
    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 1,
            Json::Text(_) => 2,
            Json::Object(_) => 3,
            Json::Array(_) => 4,
            Json::Bool(_) => 5,
            Json::Date(_) => 6,
            Json::Time(_) => 7,
            Json::DateTime(_) => 8,
            Json::Opaque(..) => 9,
        }
    }

    /// MySQL's order of documents. That of objects is total and says nothing.
    pub fn compare(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Text(a), Json::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Date(a), Json::Date(b)) => a.cmp(b),
            (Json::Time(a), Json::Time(b)) => a.cmp(b),
            (Json::DateTime(a), Json::DateTime(b)) => a.cmp(b),
            (Json::Opaque(a, a_bytes), Json::Opaque(b, b_bytes)) => {
                a_bytes.cmp(b_bytes).then_with(|| (*a as u8).cmp(&(*b as u8)))
            }
            (Json::Array(a), Json::Array(b)) => {
                let differing = a.iter().zip(b).map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
                differing.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let keys = a.iter().zip(b.iter()).map(|((a, _), (b, _))| a.as_bytes().cmp(b.as_bytes()));
                let values = a.iter().zip(b.iter()).map(|((_, a), (_, b))| a.compare(b));
                keys.chain(values).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (Json::Double(a), b) if b.rank() == 1 => a.partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
            (a, Json::Double(b)) if a.rank() == 1 => a.as_f64().partial_cmp(b).unwrap_or(Ordering::Equal),
            (a, b) => match (a.exact(), b.exact()) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => a.rank().cmp(&b.rank()),
            },
        }
    }

    fn exact(&self) -> Option<Decimal> {
        match self {
            Json::Int(int) => Some(Decimal::from(*int)),
            Json::UInt(int) => Some(Decimal::from(*int)),
            Json::Decimal(decimal) => Some(decimal.clone()),
            _ => None,
        }
    }

    fn as_f64(&self) -> f64 {
        match self {
            Json::Double(double) => *double,
            other => other.exact().map_or(0.0, |number| number.to_f64()),
        }
    }

    /// JSON_CONTAINS: an array has each element of another one, or a value; an object the members of another one, each in
    /// what it has of that key; a scalar what is equal.
    pub fn contains(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Array(own), Json::Array(items)) => items.iter().all(|item| own.iter().any(|own| own.contains(item))),
            (Json::Array(own), item) => own.iter().any(|own| own.contains(item)),
            (Json::Object(own), Json::Object(members)) => {
                members.iter().all(|(key, value)| own.get(key).is_some_and(|own| own.contains(value)))
            }
            (own, other) => own.compare(other).is_eq(),
        }
    }

    /// JSON_OVERLAPS: whether there is an element, or a member, that both have.
    pub fn overlaps(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Object(own), Json::Object(others)) => {
                own.iter().any(|(key, value)| others.get(key).is_some_and(|other| value.compare(other).is_eq()))
            }
            (Json::Array(own), Json::Array(others)) => {
                own.iter().any(|own| others.iter().any(|other| own.compare(other).is_eq()))
            }
            (Json::Array(items), single) | (single, Json::Array(items)) => {
                items.iter().any(|item| item.compare(single).is_eq())
            }
            (own, other) => own.compare(other).is_eq(),
        }
    }

    /// Appends bytes that are equal exactly for documents that are equal.
    pub fn write_group_key(&self, out: &mut Vec<u8>) {
        out.push(self.rank());
        match self {
            Json::Int(_) | Json::UInt(_) | Json::Decimal(_) => {
                let number = self.exact().map_or_else(String::new, |number| number.normalized().to_string());
                out.extend_from_slice(number.as_bytes());
                out.push(0);
            }
            Json::Double(double) => {
                // A whole number is one in either form.
                let number =
                    Decimal::from_f64(*double).map_or_else(String::new, |number| number.normalized().to_string());
                out.extend_from_slice(number.as_bytes());
                out.push(0);
            }
            Json::Array(items) => {
                out.extend_from_slice(&(items.len() as u64).to_be_bytes());
                items.iter().for_each(|item| item.write_group_key(out));
            }
            Json::Object(members) => {
                out.extend_from_slice(&(members.len() as u64).to_be_bytes());
                for (key, value) in members.iter() {
                    out.extend_from_slice(&(key.len() as u64).to_be_bytes());
                    out.extend_from_slice(key.as_bytes());
                    value.write_group_key(out);
                }
            }
            other => {
                let text = other.to_string();
                out.extend_from_slice(&(text.len() as u64).to_be_bytes());
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}
