//! The text form of values, as text results, CONCAT and error messages have it.

use std::fmt::{self, Write as _};

use super::Value;
use crate::types::NOT_FIXED_DECIMALS;
use crate::types::temporal::TimeZone;

/// Digits that a FLOAT is written with.
const FLOAT_DIGITS: usize = 6;

/// Appends the shortest text that reads back as `double`: plain from 1e-15 to below 1e15, with an
/// exponent beyond, as MySQL writes it.
pub fn write_double(double: f64, out: &mut String) {
    // Writing to a String cannot fail.
    let magnitude = double.abs();
    if double == 0.0 {
        out.push_str(if double.is_sign_negative() { "-0" } else { "0" });
    } else if (1e-15..1e15).contains(&magnitude) {
        let _ = write!(out, "{double}");
    } else {
        let _ = write!(out, "{double:e}");
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

/// Appends `double` with so many digits behind the point: the shortest text that reads back as it, filled
/// up with zeros, or the number rounded if that is longer.
fn write_fixed(double: f64, decimals: usize, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Zero has no sign here.
    let double = if double == 0.0 { 0.0 } else { double };
    let shortest = double.to_string();
    let behind = shortest.split_once('.').map(|(_, digits)| digits.len());
    if behind.unwrap_or(0) > decimals {
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{double:.decimals$}");
        return;
    }
    out.extend_from_slice(shortest.as_bytes());
    if behind.is_none() && decimals > 0 {
        out.push(b'.');
    }
    out.resize(out.len() + decimals - behind.unwrap_or(0), b'0');
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
            Value::Int(int) => write!(out, "{int}"),
            Value::UInt(int) => write!(out, "{int}"),
            Value::Double(double) if decimals < NOT_FIXED_DECIMALS => {
                return write_fixed(*double, usize::from(decimals), out);
            }
            Value::Float(float) if decimals < NOT_FIXED_DECIMALS => {
                return write_fixed(f64::from(*float), usize::from(decimals), out);
            }
            other => write!(out, "{other}"),
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
            Value::Text(text) => f.write_str(text),
            Value::Bytes(bytes) | Value::Hex(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Value::Date(date) => write!(f, "{date}"),
            Value::DateTime(value) => write!(f, "{value}"),
            Value::Timestamp(value) => write!(f, "{}", value.to_datetime(TimeZone::UTC)),
            Value::Time(value) => write!(f, "{value}"),
        }
    }
}
