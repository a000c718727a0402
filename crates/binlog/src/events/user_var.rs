//! USER_VAR events: a user variable that the statement after it names, as it was before that statement.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! length u32 | name | is null u8 | type u8 | collation u32 | length u32 | value | flags u8
//! ```
//!
//! A NULL ends after its byte. The types are MySQL's `Item_result`: 0 text and bytes, 1 a DOUBLE, 2 an integer, 4 a
//! DECIMAL, as precision u8, scale u8 and the groups of nine digits of row events. Flag 1: the integer is unsigned.

use cohort_types::decimal::Decimal;
use cohort_types::{Charset, Collation, Value};

use super::kind::{Description, EventKind};
use super::query::known_everywhere;
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType};

impl EventType {
    /// A user variable of the statement that follows.
    pub const USER_VAR: EventType = EventType(14);
}

const STRING: u8 = 0;
const REAL: u8 = 1;
const INTEGER: u8 = 2;
const DECIMAL: u8 = 4;

const UNSIGNED: u8 = 1;

/// Collation ids.
const BINARY: u32 = 63;

/// A user variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserVarEvent<'a> {
    pub name: &'a [u8],
    value: Option<Typed<'a>>,
}

/// A value that is not NULL, encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Typed<'a> {
    kind: u8,
    collation: u32,
    bytes: &'a [u8],
    flags: u8,
}

/// Appends the body.
///
/// # Panics
/// For a value that is none of a user variable.
pub(crate) fn push_body(out: &mut Vec<u8>, name: &str, value: &Value, of_text: Collation) {
    out.extend_from_slice(&(name.len() as u32).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    let mut decimal_bytes = Vec::new();
    let mut unsigned = 0;
    let (integer, double, encoded);
    let (kind, collation, bytes): (u8, u32, &[u8]) = match value {
        Value::Null => return out.push(1),
        Value::Int(value) => {
            integer = value.to_le_bytes();
            (INTEGER, BINARY, &integer)
        }
        Value::UInt(value) => {
            unsigned = UNSIGNED;
            integer = value.to_le_bytes();
            (INTEGER, BINARY, &integer)
        }
        Value::Double(value) => {
            double = value.to_le_bytes();
            (REAL, BINARY, &double)
        }
        Value::Decimal(decimal) => {
            let (precision, scale) = (decimal.precision().max(1), decimal.scale());
            decimal_bytes.extend_from_slice(&[precision, scale]);
            decimal.write_binary(precision, scale, &mut decimal_bytes);
            (DECIMAL, BINARY, &decimal_bytes)
        }
        Value::Text(text) => {
            encoded = of_text.charset().encode(text);
            (STRING, known_everywhere(of_text.id()).into(), &encoded)
        }
        Value::Bytes(bytes) => (STRING, BINARY, bytes),
        other => panic!("a user variable holds no {other:?}"),
    };
    out.extend_from_slice(&[0, kind]);
    out.extend_from_slice(&collation.to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
    out.push(unsigned);
}

impl UserVarEvent<'_> {
    /// The value, as a statement would write it.
    fn shown(&self) -> Result<String, DecodeError> {
        let Some(Typed { kind, collation, bytes, flags }) = self.value else { return Ok("NULL".to_owned()) };
        let wrong = || DecodeError { what: "not a value of its type", at: 0 };
        let eight = || bytes.try_into().map_err(|_| wrong());
        Ok(match kind {
            INTEGER if flags & UNSIGNED != 0 => u64::from_le_bytes(eight()?).to_string(),
            INTEGER => i64::from_le_bytes(eight()?).to_string(),
            REAL => f64::from_le_bytes(eight()?).to_string(),
            DECIMAL => match bytes {
                [precision, scale, digits @ ..] if scale <= precision => {
                    Decimal::read_binary(*precision, *scale, digits).ok_or_else(wrong)?.to_string()
                }
                _ => return Err(wrong()),
            },
            STRING if collation == BINARY => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("X'{hex}'")
            }
            STRING => {
                let collation = u16::try_from(collation).ok().and_then(Collation::of_client);
                let text = collation.map_or(Charset::Utf8mb4, Collation::charset).decode_statement(bytes);
                format!("'{}'", String::from_utf8_lossy(&text).replace('\'', "''"))
            }
            _ => return Err(wrong()),
        })
    }

    fn assignment(&self) -> Result<String, DecodeError> {
        Ok(format!("@`{}`={}", String::from_utf8_lossy(self.name).replace('`', "``"), self.shown()?))
    }
}

impl<'a> EventKind<'a> for UserVarEvent<'a> {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::USER_VAR, "User var")];

    fn decode(_: &EventHeader, fields: &mut Fields<'a>) -> Result<UserVarEvent<'a>, DecodeError> {
        let name_len = fields.u32()? as usize;
        let name = fields.take(name_len)?;
        if fields.u8()? != 0 {
            return Ok(UserVarEvent { name, value: None });
        }
        let (kind, collation) = (fields.u8()?, fields.u32()?);
        let len = fields.u32()? as usize;
        let bytes = fields.take(len)?;
        // MySQL before 5.5 has none.
        let flags = if fields.is_at_end() { 0 } else { fields.u8()? };
        Ok(UserVarEvent { name, value: Some(Typed { kind, collation, bytes, flags }) })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let (name, value) = (String::from_utf8_lossy(self.name).into_owned(), self.shown()?);
        Ok(Description { text: self.assignment()?, fields: vec![("name", name.into()), ("value", value.into())] })
    }

    fn info(&self) -> String {
        self.assignment().unwrap_or_else(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    fn round_trip(value: &Value, typed: &[u8], text: &str) {
        let mut body = Vec::new();
        push_body(&mut body, "a", value, Collation::DEFAULT);
        let golden = [&[1, 0, 0, 0, b'a', 0][..], typed].concat();
        let decoded =
            UserVarEvent::decode(&EventHeader::decode(&[0; crate::wire::HEADER_BYTES]), &mut Fields::new(&golden));
        assert_eq!(body, golden, "{value:?}");
        let event = decoded.expect("decodes");
        assert_eq!(event.assignment().as_deref(), Ok(text));
        if text.ends_with("NULL") {
            return;
        }
        // Without its flags it is that of an old server.
        for len in 0..golden.len() - 1 {
            let mut fields = Fields::new(&golden[..len]);
            assert!(UserVarEvent::decode(&EventHeader::decode(&[0; 19]), &mut fields).is_err(), "cut to {len} bytes");
        }
    }

    #[test]
    fn every_kind_of_value() {
        let int = |unsigned, value: u64| {
            [&[INTEGER, 63, 0, 0, 0, 8, 0, 0, 0][..], &value.to_le_bytes(), &[unsigned]].concat()
        };
        round_trip(&Value::Int(-2), &int(0, 2u64.wrapping_neg()), "@`a`=-2");
        round_trip(&Value::UInt(u64::MAX), &int(1, u64::MAX), "@`a`=18446744073709551615");
        let real = [&[REAL, 63, 0, 0, 0, 8, 0, 0, 0][..], &1.5f64.to_le_bytes(), &[0]].concat();
        round_trip(&Value::Double(1.5), &real, "@`a`=1.5");
        let decimal = Decimal::parse("-12.5").expect("a number");
        let digits = [DECIMAL, 63, 0, 0, 0, 4, 0, 0, 0, 3, 1, 0x80 - 12 - 1, 0xff - 5, 0];
        round_trip(&Value::Decimal(decimal), &digits, "@`a`=-12.5");
        round_trip(&Value::text("it's"), b"\0\x2d\0\0\0\x04\0\0\0it's\0", "@`a`='it''s'");
        round_trip(&Value::Bytes(vec![0, 0xff].into()), b"\0\x3f\0\0\0\x02\0\0\0\0\xff\0", "@`a`=X'00FF'");
    }

    #[test]
    fn null() {
        let mut body = Vec::new();
        push_body(&mut body, "crc", &Value::Null, Collation::Binary);
        let event = event_of(EventType::USER_VAR, &body);
        check(&event, UserVarEvent { name: b"crc", value: None }, b"\x03\0\0\0crc\x01", "@`crc`=NULL");
    }

    #[test]
    fn values_of_other_types_are_refused() {
        for (kind, bytes) in [(INTEGER, &[1][..]), (REAL, &[1]), (DECIMAL, &[1, 2, 0]), (DECIMAL, &[9, 0]), (7, &[])] {
            let event = UserVarEvent { name: b"a", value: Some(Typed { kind, collation: 63, bytes, flags: 0 }) };
            assert!(event.describe(&Tables::new()).is_err(), "{kind} {bytes:?}");
            assert!(event.info().contains("not a value"), "{}", event.info());
        }
    }
}
