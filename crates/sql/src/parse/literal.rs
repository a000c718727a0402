//! The values that literals stand for.

use crate::error::{ER_ILLEGAL_VALUE_FOR_TYPE, ER_PARSE_ERROR, ER_WRONG_CONSTANT, SqlError};
use crate::types::decimal::Decimal;
use crate::types::temporal::{TimeZone, parse};
use crate::types::{Charset, SqlMode};
use crate::value::Value;

/// The value of a number as written: an integer if it has only digits, exact if it has a point, a
/// double if it has an exponent or more digits than a decimal holds.
pub(crate) fn number(digits: &[u8], negative: bool) -> Result<Value, SqlError> {
    // Numbers are ASCII: the lexer takes nothing else.
    let text = std::str::from_utf8(digits).map_err(|_| syntax_error(digits))?;
    if digits.iter().all(u8::is_ascii_digit) {
        if let Ok(value) = text.parse::<u64>() {
            return Ok(match (negative, i64::try_from(value)) {
                (false, Ok(value)) => Value::Int(value),
                (false, Err(_)) => Value::UInt(value),
                (true, Ok(value)) => Value::Int(-value),
                (true, Err(_)) if value == 1 << 63 => Value::Int(i64::MIN),
                (true, Err(_)) => decimal(text, true)?,
            });
        }
        return decimal(text, negative);
    }
    if digits.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return double(text, negative);
    }
    decimal(text, negative)
}

fn decimal(text: &str, negative: bool) -> Result<Value, SqlError> {
    match Decimal::parse(text) {
        Some(value) => Ok(Value::Decimal(if negative { value.negate() } else { value })),
        None => double(text, negative),
    }
}

fn double(text: &str, negative: bool) -> Result<Value, SqlError> {
    let value: f64 = text.parse().map_err(|_| syntax_error(text.as_bytes()))?;
    if !value.is_finite() {
        return Err(SqlError::new(ER_ILLEGAL_VALUE_FOR_TYPE, &[&"double", &text]));
    }
    Ok(Value::Double(if negative { -value } else { value }))
}

fn syntax_error(near: &[u8]) -> SqlError {
    SqlError::new(ER_PARSE_ERROR, &[&String::from_utf8_lossy(near), &1])
}

/// The character set that a string literal names before its first quote, if it does.
pub(crate) fn introducer(literal: &[u8]) -> Option<Charset> {
    let name = literal.strip_prefix(b"_")?;
    let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    Charset::from_name(std::str::from_utf8(&name[..end]).ok()?)
}

/// The value of a string literal: one or more quoted runs, the first with an optional introducer.
/// Bytes that are not UTF-8 make a binary string; a run that does not end is error 1064.
pub(crate) fn text(literal: &[u8], sql_mode: SqlMode) -> Result<Value, SqlError> {
    let start = literal.iter().position(|byte| matches!(byte, b'\'' | b'"')).unwrap_or(0);
    let binary = literal[..start].trim_ascii().eq_ignore_ascii_case(b"_binary");
    let escapes = !sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES);
    let quoted = &literal[start..];
    let quote = quoted.first().copied().unwrap_or(b'\'');
    let closed = quoted.len() >= 2 && quoted[quoted.len() - 1] == quote;
    let inner = if closed { &quoted[1..quoted.len() - 1] } else { quoted.get(1..).unwrap_or_default() };
    if closed && !inner.iter().any(|byte| *byte == quote || *byte == b'\\') {
        return Ok(string(inner, binary));
    }
    unquote(quoted, escapes).map(|bytes| string(&bytes, binary)).ok_or_else(|| syntax_error(literal))
}

fn string(bytes: &[u8], binary: bool) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) if !binary => Value::text(text),
        _ => Value::bytes(bytes),
    }
}

/// The contents of adjacent quoted runs; `None` if the last one does not end.
fn unquote(mut quoted: &[u8], escapes: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(quoted.len());
    while let Some((&quote, rest)) = quoted.split_first() {
        if !matches!(quote, b'\'' | b'"') {
            quoted = rest;
            continue;
        }
        let mut at = 0;
        while at < rest.len() {
            match rest[at] {
                byte if byte == quote && rest.get(at + 1) == Some(&quote) => {
                    out.push(quote);
                    at += 2;
                }
                byte if byte == quote => break,
                b'\\' if escapes && at + 1 < rest.len() => {
                    unescape(rest[at + 1], &mut out);
                    at += 2;
                }
                byte => {
                    out.push(byte);
                    at += 1;
                }
            }
        }
        // What is left begins with the quote that ends the run.
        quoted = rest.get(at + 1..)?;
    }
    Some(out)
}

fn unescape(byte: u8, out: &mut Vec<u8>) {
    let plain = match byte {
        b'0' => 0,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'Z' => 26,
        // LIKE needs them escaped.
        b'%' | b'_' => {
            out.push(b'\\');
            byte
        }
        other => other,
    };
    out.push(plain);
}

/// The value of `x'..'`, `0x..`, `b'..'` or `0b..`.
pub(crate) fn bytes(literal: &[u8]) -> Result<Value, SqlError> {
    let quoted = literal.get(1) == Some(&b'\'');
    let hex = matches!(literal[usize::from(!quoted)], b'x' | b'X');
    let digits = if quoted { &literal[2..literal.len().max(3) - 1] } else { &literal[2..] };
    let (radix, per_byte) = if hex { (16, 2) } else { (2, 8) };
    if quoted && (literal.last() != Some(&b'\'') || (hex && digits.len() % 2 == 1)) {
        return Err(syntax_error(literal));
    }
    let mut out = Vec::with_capacity(digits.len() / per_byte + 1);
    let first = digits.len() % per_byte;
    let (head, tail) = digits.split_at(first);
    for chunk in std::iter::once(head).filter(|head| !head.is_empty()).chain(tail.chunks(per_byte)) {
        let mut byte = 0_u32;
        for digit in chunk {
            let digit = char::from(*digit).to_digit(radix).ok_or_else(|| syntax_error(literal))?;
            byte = byte * radix + digit;
        }
        // At most two hexadecimal or eight binary digits.
        out.push(byte as u8);
    }
    Ok(Value::Hex(out.into()))
}

/// The value of `DATE '...'`; 1525 if the text is no date.
pub(crate) fn date(text: &str) -> Result<Value, SqlError> {
    let parsed = parse::datetime(text, TimeZone::UTC).filter(|parsed| !parsed.cut && !parsed.has_time);
    let parsed = parsed.ok_or_else(|| SqlError::new(ER_WRONG_CONSTANT, &[&"DATE", &text]))?;
    Ok(Value::Date(parsed.value.date()))
}

/// The value of `TIME '...'`, with the digits of its fraction; 1525 if the text is no time.
pub(crate) fn time(text: &str) -> Result<Value, SqlError> {
    let parsed = parse::time(text).filter(|(parsed, clamped)| !parsed.cut && !clamped);
    let (parsed, _) = parsed.ok_or_else(|| SqlError::new(ER_WRONG_CONSTANT, &[&"TIME", &text]))?;
    Ok(Value::Time(parsed.value))
}

/// The value of `TIMESTAMP '...'` in UTC, with the digits of its fraction, and whether the text names an
/// offset; 1525 if it is no date with a time.
pub(crate) fn timestamp(text: &str) -> Result<(Value, bool), SqlError> {
    let parsed = parse::datetime(text, TimeZone::UTC).filter(|parsed| !parsed.cut && parsed.has_time);
    let parsed = parsed.ok_or_else(|| SqlError::new(ER_WRONG_CONSTANT, &[&"DATETIME", &text]))?;
    Ok((Value::DateTime(parsed.value), parsed.zoned))
}

/// A name without its quotes.
pub(crate) fn name(quoted: &[u8]) -> Result<String, SqlError> {
    let (quote, bytes) = match quoted.first() {
        Some(quote @ (b'`' | b'"' | b'\'')) if quoted.len() >= 2 && quoted.last() == Some(quote) => {
            (*quote, &quoted[1..quoted.len() - 1])
        }
        Some(b'`') => return Err(syntax_error(quoted)),
        _ => (0, quoted),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| syntax_error(quoted))?;
    if quote != 0 && bytes.contains(&quote) {
        let quote = char::from(quote).to_string();
        return Ok(text.replace(&quote.repeat(2), &quote));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_kind() {
        assert_eq!(number(b"12", true).unwrap(), Value::Int(-12));
        assert_eq!(number(b"9223372036854775808", true).unwrap(), Value::Int(i64::MIN));
        assert_eq!(number(b"18446744073709551615", false).unwrap(), Value::UInt(u64::MAX));
        assert!(matches!(number(b"1.50", false).unwrap(), Value::Decimal(d) if d.to_string() == "1.50"));
        assert!(matches!(number(b"18446744073709551616", false).unwrap(), Value::Decimal(_)));
        assert_eq!(number(b"1.5e1", false).unwrap(), Value::Double(15.0));
        assert!(number(b"1e999", false).is_err());
    }

    #[test]
    fn strings_lose_their_quotes_and_escapes() {
        let of = |literal: &str| text(literal.as_bytes(), SqlMode::DEFAULT).unwrap();
        assert_eq!(of("'a''b'"), Value::text("a'b"));
        assert_eq!(of(r#""a""b\n\%\x""#), Value::text("a\"b\n\\%x"));
        assert_eq!(of("'a' 'b'"), Value::text("ab"));
        assert_eq!(of("_binary 'a'"), Value::bytes(&b"a"[..]));
        assert_eq!(text(b"'\xff'", SqlMode::DEFAULT).unwrap(), Value::bytes(&b"\xff"[..]));
        assert_eq!(text(br"'a\'", SqlMode::NO_BACKSLASH_ESCAPES).unwrap(), Value::text("a\\"));
    }

    #[test]
    fn dates_and_times_keep_the_fraction_that_is_written() {
        assert_eq!(date("2024-1-2").unwrap().to_string(), "2024-01-02");
        assert_eq!(time("-10:00:00.25").unwrap().to_string(), "-10:00:00.25");
        assert_eq!(timestamp("2024-01-02 10:00:00.123").unwrap().0.to_string(), "2024-01-02 10:00:00.123");
        assert!(timestamp("2024-01-02 10:00:00+02:00").unwrap().1);
        for wrong in [date("2024-02-30"), date("2024-01-01 10:00:00"), time("25:61:00"), time("10:00:00x")] {
            assert_eq!(wrong.unwrap_err().errno, 1525);
        }
        for wrong in ["junk", "2024-01-01", "2024-01-01 25:00:00"] {
            assert_eq!(timestamp(wrong).unwrap_err().errno, 1525);
        }
    }

    #[test]
    fn strings_that_do_not_end_are_refused() {
        for literal in ["'", "'a", "'a''", "'a' 'b", r"'a\'"] {
            assert!(text(literal.as_bytes(), SqlMode::DEFAULT).is_err(), "{literal}");
        }
    }

    #[test]
    fn binary_literals_are_left_padded() {
        let of = |literal: &[u8]| bytes(literal).unwrap();
        assert_eq!(of(b"0x0af"), Value::Hex([0, 0xaf].into()));
        assert_eq!(of(b"x'4142'"), Value::Hex((*b"AB").into()));
        assert_eq!(of(b"b'101'"), Value::Hex([5].into()));
        assert!(bytes(b"x'414'").is_err());
        assert!(bytes(b"x'4").is_err());
    }
}
