//! The text form of values, as text results, CONCAT and error messages have it.

use std::fmt::{self, Write as _};

use super::Value;
use crate::NOT_FIXED_DECIMALS;
use crate::double_digits::DoubleDigits;
use crate::temporal::TimeZone;

/// Digits that a FLOAT is written with.
const FLOAT_DIGITS: usize = 6;

/// Appends the shortest text that reads back as `double`, with an exponent where MySQL writes one.
pub fn write_double(double: f64, out: &mut String) {
    match DoubleDigits::of(double) {
        Some(digits) if digits.is_plain() => digits.write_plain(out),
        Some(digits) => digits.write_exponential(out),
        // Writing to a String cannot fail.
        None => drop(write!(out, "{double}")),
    }
}

/// Appends the text of a FLOAT: six significant digits, without trailing zeros.
pub fn write_float(float: f32, out: &mut String) {
    if float == 0.0 || !float.is_finite() {
        return write_double(f64::from(float), out);
    }
    // Rounding to six digits and reading that back as a double gives the digits to write.
    let rounded = format!("{:.*e}", FLOAT_DIGITS - 1, float);
    write_double(rounded.parse().unwrap_or(f64::from(float)), out);
}

/// The text of `double` in at most `width` characters: the shortest that reads back as it, or the one of its
/// two forms that keeps more digits, the plain one if both keep as many. `None` if there is no room for any.
pub fn double_within(double: f64, width: usize) -> Option<String> {
    /// Digits that a double has at most.
    const MAX_DIGITS: usize = 17;
    let mut shortest = String::new();
    write_double(double, &mut shortest);
    if shortest.len() <= width {
        return Some(shortest);
    }
    if !double.is_finite() {
        return None;
    }
    let width = width.checked_sub(usize::from(double < 0.0))?;
    let magnitude = double.abs();
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    // Digits before the point, the zero of a fraction not among them.
    let before = if magnitude < 1.0 { 0 } else { format!("{magnitude:.0}").len() };
    let plain = (before <= width).then(|| {
        let fraction = width.saturating_sub(before.max(1) + 1);
        trimmed(format!("{magnitude:.fraction$}"))
    });
    let plain = plain.filter(|text| text.len() <= width);
    let plain_digits = plain.as_ref().map_or(0, |text| digits(text.trim_start_matches(['0', '.'])));
    let split = |fraction: usize| {
        let text = format!("{magnitude:.fraction$e}");
        let (mantissa, exponent) = text.split_once('e')?;
        Some((trimmed(mantissa.to_owned()), exponent.to_owned()))
    };
    let exponential = split(width.min(MAX_DIGITS).saturating_sub(1)).and_then(|(mantissa, exponent)| {
        // Where there are several digits, there is a point among them.
        let point = usize::from(digits(&mantissa) > 1);
        let room = width.checked_sub(1 + exponent.len() + point)?;
        split(room.min(MAX_DIGITS).checked_sub(1)?)
    });
    let exponential_digits = exponential.as_ref().map_or(0, |(mantissa, _)| digits(mantissa));
    let exponential = exponential.map(|(mantissa, exponent)| format!("{mantissa}e{exponent}"));
    if plain_digits == 0 && exponential_digits == 0 {
        return None;
    }
    let text = if plain_digits >= exponential_digits { plain } else { exponential }?;
    Some(if double < 0.0 { format!("-{text}") } else { text })
}

/// Appends `double` with so many digits after the point: the shortest text that reads back as it, filled
/// up with zeros, or the number rounded if that is longer.
fn write_fixed(double: f64, decimals: usize, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Zero has no sign here.
    let double = if double == 0.0 { 0.0 } else { double };
    let digits = DoubleDigits::of(double).filter(|digits| digits.digits_after_point() <= decimals);
    let Some(digits) = digits else {
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{double:.decimals$}");
        return;
    };
    let mut shortest = String::new();
    digits.write_plain(&mut shortest);
    out.extend_from_slice(shortest.as_bytes());
    let fraction = digits.digits_after_point();
    if fraction == 0 && decimals > 0 {
        out.push(b'.');
    }
    out.resize(out.len() + decimals - fraction, b'0');
}

impl Value {
    /// Appends the text form that a column of `decimals` fixed digits shows ([`NOT_FIXED_DECIMALS`] where
    /// there is none): floating point numbers with a fixed number of digits have just these.
    pub fn write_text(&self, decimals: u8, out: &mut Vec<u8>) {
        use std::io::Write as _;
        // Writing to a Vec cannot fail.
        let _ = match self {
            Value::Text(text) => out.write_all(text.as_bytes()),
            Value::Bytes(bytes) | Value::Hex(bytes) => out.write_all(bytes),
            Value::Member(member) => out.write_all(member.text.as_bytes()),
            Value::Int(int) => write!(out, "{int}"),
            Value::UInt(int) => write!(out, "{int}"),
            Value::Double(double) if decimals < NOT_FIXED_DECIMALS => {
                return write_fixed(*double, usize::from(decimals), out);
            }
            Value::Float(float) if decimals < NOT_FIXED_DECIMALS => {
                return write_fixed(f64::from(*float), usize::from(decimals), out);
            }
            other @ (Value::Null
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Timestamp(_)
            | Value::Time(_)
            | Value::Json(_)) => write!(out, "{other}"),
        };
    }
}

/// The text form; of binary strings what can be read of them. A timestamp is shown in UTC.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Int(int) => write!(f, "{int}"),
            Value::UInt(int) => write!(f, "{int}"),
            Value::Float(float) => {
                let mut text = String::new();
                write_float(*float, &mut text);
                f.write_str(&text)
            }
            Value::Double(double) => {
                let mut text = String::new();
                write_double(*double, &mut text);
                f.write_str(&text)
            }
            Value::Decimal(decimal) => write!(f, "{decimal}"),
            Value::Json(json) => write!(f, "{json}"),
            Value::Text(text) => f.write_str(text),
            Value::Member(member) => f.write_str(&member.text),
            Value::Bytes(bytes) | Value::Hex(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Value::Date(date) => write!(f, "{date}"),
            Value::DateTime(value) => write!(f, "{value}"),
            Value::Timestamp(value) => write!(f, "{}", value.to_datetime(TimeZone::UTC)),
            Value::Time(value) => write!(f, "{value}"),
        }
    }
}
