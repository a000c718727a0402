//! Values in temporary files: every value comes back as it was, with the digits that a decimal shows and those that it has.
//!
//! Format: a tag, then what the value is, integers little-endian; lengths are four bytes. Files of this form are read by the
//! process that wrote them alone, so that the form may change with each version.

use std::sync::Arc;

use super::{Member, Value};
use crate::FieldType;
use crate::decimal::Decimal;
use crate::json::{Json, MAX_DEPTH, Object};
use crate::temporal::{Date, DateTime, Time, Timestamp};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const TEXT: u8 = 6;
const BYTES: u8 = 7;
const HEX: u8 = 8;
const MEMBER: u8 = 9;
const JSON: u8 = 10;
const DATE: u8 = 11;
const DATETIME: u8 = 12;
const TIMESTAMP: u8 = 13;
const TIME: u8 = 14;
const TRUE: u8 = 15;
const FALSE: u8 = 16;
const OPAQUE: u8 = 17;
const ARRAY: u8 = 18;
const OBJECT: u8 = 19;

impl Value {
    /// Appends the value in the form of temporary files.
    pub fn write_spilled(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.push(NULL),
            Value::Int(int) => put(INT, &int.to_le_bytes(), out),
            Value::UInt(int) => put(UINT, &int.to_le_bytes(), out),
            Value::Float(float) => put(FLOAT, &float.to_bits().to_le_bytes(), out),
            Value::Double(double) => put(DOUBLE, &double.to_bits().to_le_bytes(), out),
            Value::Decimal(decimal) => put_decimal(decimal, out),
            Value::Text(text) => put_bytes(TEXT, text.as_bytes(), out),
            Value::Bytes(bytes) => put_bytes(BYTES, bytes, out),
            Value::Hex(bytes) => put_bytes(HEX, bytes, out),
            Value::Member(member) => {
                put(MEMBER, &member.number.to_le_bytes(), out);
                put_bytes(TEXT, member.text.as_bytes(), out);
            }
            Value::Json(json) => {
                out.push(JSON);
                put_json(json, out);
            }
            Value::Date(date) => put_date(*date, out),
            Value::DateTime(value) => put_datetime(*value, out),
            Value::Timestamp(value) => {
                put(TIMESTAMP, &value.micros.to_le_bytes(), out);
                out.push(value.fsp);
            }
            Value::Time(value) => put_time(*value, out),
        }
    }

    /// The same as [`Value::read_spilled`], put into its place, where integers are [made](Value::set_int) and NULLs stay.
    pub fn read_spilled_to(bytes: &mut &[u8], place: &mut Value) -> Option<()> {
        if let Some((&[INT, int @ ..], rest)) = bytes.split_first_chunk::<9>() {
            place.set_int(i64::from_le_bytes(int));
            *bytes = rest;
        } else if let (Some((&NULL, rest)), Value::Null) = (bytes.split_first(), &*place) {
            *bytes = rest;
        } else {
            *place = Value::read_spilled(bytes)?;
        }
        Some(())
    }

    /// Takes a value from the start of `bytes`; `None` if none stands there.
    pub fn read_spilled(bytes: &mut &[u8]) -> Option<Value> {
        Some(match take::<1>(bytes)?[0] {
            NULL => Value::Null,
            INT => Value::Int(i64::from_le_bytes(take(bytes)?)),
            UINT => Value::UInt(u64::from_le_bytes(take(bytes)?)),
            FLOAT => Value::Float(f32::from_bits(u32::from_le_bytes(take(bytes)?))),
            DOUBLE => Value::Double(f64::from_bits(u64::from_le_bytes(take(bytes)?))),
            DECIMAL => Value::Decimal(take_decimal(bytes)?),
            TEXT => Value::Text(take_text(bytes)?),
            BYTES => Value::Bytes(take_bytes(bytes)?.into()),
            HEX => Value::Hex(take_bytes(bytes)?.into()),
            MEMBER => {
                let number = u64::from_le_bytes(take(bytes)?);
                let text = (take::<1>(bytes)? == [TEXT]).then(|| take_text(bytes)).flatten()?;
                Value::Member(Arc::new(Member { number, text: text.as_ref().into() }))
            }
            JSON => Value::Json(Arc::new(take_json(bytes, MAX_DEPTH)?)),
            DATE => Value::Date(take_date(bytes)?),
            DATETIME => Value::DateTime(take_datetime(bytes)?),
            TIMESTAMP => {
                Value::Timestamp(Timestamp { micros: i64::from_le_bytes(take(bytes)?), fsp: take::<1>(bytes)?[0] })
            }
            TIME => Value::Time(take_time(bytes)?),
            _ => return None,
        })
    }
}

fn put(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    put(tag, &(bytes.len() as u32).to_le_bytes(), out);
    out.extend_from_slice(bytes);
}

fn put_decimal(decimal: &Decimal, out: &mut Vec<u8>) {
    let (coefficient, places, shown) = decimal.to_parts();
    put_bytes(DECIMAL, &coefficient, out);
    out.extend_from_slice(&[places, shown]);
}

fn put_date(date: Date, out: &mut Vec<u8>) {
    put(DATE, &date.year.to_le_bytes(), out);
    out.extend_from_slice(&[date.month, date.day]);
}

fn put_datetime(value: DateTime, out: &mut Vec<u8>) {
    put_date(value.date(), out);
    let tag = out.len() - 5;
    out[tag] = DATETIME;
    out.extend_from_slice(&value.micros_of_day().to_le_bytes());
    out.push(value.fsp());
}

fn put_time(value: Time, out: &mut Vec<u8>) {
    put(TIME, &value.micros.to_le_bytes(), out);
    out.push(value.fsp);
}

fn put_json(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(NULL),
        Json::Bool(true) => out.push(TRUE),
        Json::Bool(false) => out.push(FALSE),
        Json::Int(int) => put(INT, &int.to_le_bytes(), out),
        Json::UInt(int) => put(UINT, &int.to_le_bytes(), out),
        Json::Double(double) => put(DOUBLE, &double.to_bits().to_le_bytes(), out),
        Json::Decimal(decimal) => put_decimal(decimal, out),
        Json::Text(text) => put_bytes(TEXT, text.as_bytes(), out),
        Json::Date(date) => put_date(*date, out),
        Json::DateTime(value) => put_datetime(*value, out),
        Json::Time(value) => put_time(*value, out),
        Json::Opaque(of, bytes) => {
            put(OPAQUE, &[*of as u8], out);
            put_bytes(BYTES, bytes, out);
        }
        Json::Array(items) => {
            put(ARRAY, &(items.len() as u32).to_le_bytes(), out);
            items.iter().for_each(|item| put_json(item, out));
        }
        Json::Object(members) => {
            put(OBJECT, &(members.len() as u32).to_le_bytes(), out);
            for (key, value) in members.iter() {
                put_bytes(TEXT, key.as_bytes(), out);
                put_json(value, out);
            }
        }
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

fn take_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn take_text(bytes: &mut &[u8]) -> Option<Arc<str>> {
    std::str::from_utf8(take_bytes(bytes)?).ok().map(Into::into)
}

fn take_decimal(bytes: &mut &[u8]) -> Option<Decimal> {
    let coefficient = take_bytes(bytes)?;
    let [places, shown] = take(bytes)?;
    Some(Decimal::from_parts(coefficient, places, shown))
}

fn take_date(bytes: &mut &[u8]) -> Option<Date> {
    let year = u16::from_le_bytes(take(bytes)?);
    let [month, day] = take(bytes)?;
    Some(Date { year, month, day })
}

fn take_datetime(bytes: &mut &[u8]) -> Option<DateTime> {
    let date = take_date(bytes)?;
    let micros = i64::from_le_bytes(take(bytes)?);
    Some(DateTime::new(date, micros, take::<1>(bytes)?[0]))
}

fn take_time(bytes: &mut &[u8]) -> Option<Time> {
    Some(Time { micros: i64::from_le_bytes(take(bytes)?), fsp: take::<1>(bytes)?[0] })
}

fn take_json(bytes: &mut &[u8], depth: usize) -> Option<Json> {
    let below = depth.checked_sub(1)?;
    Some(match take::<1>(bytes)?[0] {
        NULL => Json::Null,
        TRUE => Json::Bool(true),
        FALSE => Json::Bool(false),
        INT => Json::Int(i64::from_le_bytes(take(bytes)?)),
        UINT => Json::UInt(u64::from_le_bytes(take(bytes)?)),
        DOUBLE => Json::Double(f64::from_bits(u64::from_le_bytes(take(bytes)?))),
        DECIMAL => Json::Decimal(take_decimal(bytes)?),
        TEXT => Json::Text(take_text(bytes)?),
        DATE => Json::Date(take_date(bytes)?),
        DATETIME => Json::DateTime(take_datetime(bytes)?),
        TIME => Json::Time(take_time(bytes)?),
        OPAQUE => {
            let of = FieldType::from_code(take::<1>(bytes)?[0])?;
            Json::Opaque(of, (take::<1>(bytes)? == [BYTES]).then(|| take_bytes(bytes)).flatten()?.into())
        }
        ARRAY => {
            let count = u32::from_le_bytes(take(bytes)?);
            Json::Array((0..count).map(|_| take_json(bytes, below)).collect::<Option<_>>()?)
        }
        OBJECT => {
            let count = u32::from_le_bytes(take(bytes)?);
            let mut member = |_| {
                let key = (take::<1>(bytes)? == [TEXT]).then(|| take_text(bytes)).flatten()?;
                Some((key, take_json(bytes, below)?))
            };
            Json::Object(Object::of((0..count).map(&mut member).collect::<Option<Vec<_>>>()?))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn and_back(value: &Value) -> Value {
        let mut bytes = Vec::new();
        value.write_spilled(&mut bytes);
        for end in 0..bytes.len() {
            assert!(Value::read_spilled(&mut &bytes[..end]).is_none(), "{value:?} of {end} bytes");
        }
        let mut rest = bytes.as_slice();
        let read = Value::read_spilled(&mut rest).unwrap();
        assert!(rest.is_empty());
        read
    }

    #[test]
    fn every_value_comes_back() {
        let json = Json::Object(Object::of([
            ("a".into(), Json::Array(vec![Json::Null, Json::Bool(true), Json::Decimal(Decimal::new(150, 2))])),
            ("b".into(), Json::Opaque(FieldType::Bit, [1, 2].as_slice().into())),
        ]));
        let date = Date { year: 2026, month: 0, day: 31 };
        for value in [
            Value::Null,
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Float(-0.0),
            Value::Double(f64::MIN_POSITIVE),
            Value::text("a\u{1f600}"),
            Value::bytes([0xff, 0].as_slice()),
            Value::Hex([7].as_slice().into()),
            Value::Member(Arc::new(Member { number: 3, text: "x".into() })),
            Value::Json(Arc::new(json)),
            Value::Date(date),
            Value::DateTime(DateTime::new(date, 86_399_999_999, 3)),
            Value::Timestamp(Timestamp { micros: -1, fsp: 6 }),
            Value::Time(Time { micros: -3_020_399_000_000, fsp: 1 }),
        ] {
            assert_eq!(format!("{:?}", and_back(&value)), format!("{value:?}"));
        }
    }

    #[test]
    fn a_decimal_keeps_the_digits_that_it_has_and_shows() {
        let third = Decimal::new(1, 0).divide(&Decimal::new(3, 0), 4).unwrap().unwrap();
        let wide = Decimal::largest(65, 30, true);
        for decimal in [third, wide, Decimal::ZERO, Decimal::new(i128::MIN, 5), Decimal::new(-120, 2)] {
            let Value::Decimal(read) = and_back(&Value::Decimal(decimal.clone())) else { panic!("no decimal") };
            assert_eq!(read.to_parts(), decimal.to_parts());
            assert_eq!(read.to_string(), decimal.to_string());
        }
    }
}
