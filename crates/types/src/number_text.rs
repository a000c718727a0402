//! Numbers at the start of text, as MySQL reads them: leading blanks are skipped, what follows the
//! number makes it incomplete unless it is blank.

use super::decimal::Decimal;

/// A number and whether it was all that the text held.
#[derive(Clone, Debug, PartialEq)]
pub struct Prefix<T> {
    /// The number; zero if there was none.
    pub value: T,
    /// There was a number and nothing but blanks after it.
    pub complete: bool,
    /// There was a number.
    pub found: bool,
    /// The number was too large, and is the largest there is.
    pub overflowed: bool,
}

/// Reads a double.
pub fn double(text: &[u8]) -> Prefix<f64> {
    let body = text.trim_ascii_start();
    let len = number_len(body);
    let number = std::str::from_utf8(&body[..len]).ok().and_then(|text| text.parse::<f64>().ok());
    let number = number.unwrap_or(0.0);
    Prefix {
        value: number.clamp(f64::MIN, f64::MAX),
        complete: len > 0 && body[len..].trim_ascii().is_empty(),
        found: len > 0,
        overflowed: number.is_infinite(),
    }
}

/// Reads an exact number.
pub fn decimal(text: &[u8]) -> Prefix<Decimal> {
    let body = text.trim_ascii_start();
    match Decimal::parse_prefix(body) {
        Some((value, len)) => {
            Prefix { value, complete: body[len..].trim_ascii().is_empty(), found: true, overflowed: false }
        }
        None => Prefix { value: Decimal::ZERO, complete: false, found: false, overflowed: false },
    }
}

/// Reads an exact number for a column of integers. There MySQL ignores a point that another one follows: `1.23.4` is
/// 123, and incomplete.
pub fn for_integers(text: &[u8]) -> Prefix<Decimal> {
    let body = text.trim_ascii_start();
    let len = number_len(body);
    let number = &body[..len];
    if body.get(len) != Some(&b'.') || !number.contains(&b'.') || number.contains(&b'e') || number.contains(&b'E') {
        return decimal(text);
    }
    let digits: Vec<u8> = number.iter().copied().filter(|byte| *byte != b'.').collect();
    Prefix { complete: false, ..decimal(&digits) }
}

/// Reads the digits of an integer (`1.9` is 1 and incomplete); cut to the range of `i128`.
pub fn integer(text: &[u8]) -> Prefix<i128> {
    let body = text.trim_ascii_start();
    let (negative, digits) = match body.first() {
        Some(b'-') => (true, &body[1..]),
        Some(b'+') => (false, &body[1..]),
        _ => (false, body),
    };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let magnitude = digits[..len]
        .iter()
        .fold(0i128, |value, digit| value.saturating_mul(10).saturating_add(i128::from(digit - b'0')));
    Prefix {
        value: if negative { -magnitude } else { magnitude },
        complete: len > 0 && digits[len..].trim_ascii().is_empty(),
        found: len > 0,
        overflowed: false,
    }
}

/// Length of the longest start of `text` that is a number.
fn number_len(text: &[u8]) -> usize {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let integer = digits(sign);
    let mut at = sign + integer;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        at += 1 + fraction;
    }
    if integer + fraction == 0 {
        return 0;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits((at + 1 + exponent_sign).min(text.len()));
        if exponent > 0 {
            at += 1 + exponent_sign + exponent;
        }
    }
    at
}
