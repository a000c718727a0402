//! The bytes of one value that is not a string, as row images and keys have them.
//!
//! Format: decimals and everything with a time of day are big-endian with their sign flipped, so that
//! the bytes of a row image are in the order of the values and keys use them as they are. Integers,
//! floating point numbers and dates are little-endian in row images; keys have forms of their own.

use crate::temporal::{Date, DateTime, SECOND_US, Time, Timestamp, fraction_unit};

const DATETIME_SIGN: u64 = 1 << 39;

/// Bytes of `fsp` fractional digits.
pub fn fraction_len(fsp: u8) -> usize {
    usize::from(fsp.min(6)).div_ceil(2)
}

/// Microseconds of a unit of the last fractional byte's digits (which come in pairs).
fn pair_unit(fsp: u8) -> i64 {
    fraction_unit(2 * fraction_len(fsp) as u8)
}

fn write_be(value: u64, len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
}

/// A big-endian number of up to 8 bytes.
pub fn read_be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A little-endian number of up to 8 bytes.
pub fn read_le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Day, month and year from the low bits up.
pub fn date_bits(date: Date) -> u32 {
    u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day)
}

/// The inverse of [`date_bits`]; `None` if the parts are out of range.
pub fn date_from_bits(bits: u32) -> Option<Date> {
    let date = Date { year: (bits >> 9) as u16, month: (bits >> 5 & 15) as u8, day: (bits & 31) as u8 };
    (date.year <= 9999 && date.month <= 12).then_some(date)
}

/// Bytes of a DATETIME.
pub fn datetime_len(fsp: u8) -> usize {
    5 + fraction_len(fsp)
}

/// Appends a DATETIME.
pub fn write_datetime(value: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let packed = value.packed();
    write_be((packed >> 24) as u64 | DATETIME_SIGN, 5, out);
    write_be((packed & 0xff_ffff) as u64 / pair_unit(fsp) as u64, fraction_len(fsp), out);
}

/// Reads a DATETIME of [`datetime_len`] bytes.
pub fn read_datetime(bytes: &[u8], fsp: u8) -> Option<DateTime> {
    let (head, fraction) = bytes.split_at_checked(5)?;
    let head = read_be(head).checked_sub(DATETIME_SIGN)?;
    let micros = read_be(fraction) as i64 * pair_unit(fsp);
    DateTime::from_packed((head as i64) << 24 | micros, fsp)
}

/// Bytes of a TIMESTAMP.
pub fn timestamp_len(fsp: u8) -> usize {
    4 + fraction_len(fsp)
}

/// Appends a TIMESTAMP.
pub fn write_timestamp(value: Timestamp, fsp: u8, out: &mut Vec<u8>) {
    write_be((value.micros / SECOND_US) as u64, 4, out);
    write_be((value.micros % SECOND_US / pair_unit(fsp)) as u64, fraction_len(fsp), out);
}

/// Reads a TIMESTAMP of [`timestamp_len`] bytes.
pub fn read_timestamp(bytes: &[u8], fsp: u8) -> Option<Timestamp> {
    let (seconds, fraction) = bytes.split_at_checked(4)?;
    let micros = read_be(fraction) as i64 * pair_unit(fsp);
    (micros < SECOND_US).then_some(Timestamp { micros: read_be(seconds) as i64 * SECOND_US + micros, fsp })
}

/// Bytes of a TIME.
pub fn time_len(fsp: u8) -> usize {
    3 + fraction_len(fsp)
}

/// Appends a TIME: hours, minutes, seconds and fraction as one number, negated as a whole.
pub fn write_time(value: Time, fsp: u8, out: &mut Vec<u8>) {
    let (hours, minutes, seconds, micros) = value.parts();
    let clock = i64::from(hours) << 12 | i64::from(minutes) << 6 | i64::from(seconds);
    let number = (clock << (8 * fraction_len(fsp))) | (i64::from(micros) / pair_unit(fsp));
    let len = time_len(fsp);
    let sign = 1i64 << (8 * len - 1);
    write_be((sign + if value.micros < 0 { -number } else { number }) as u64, len, out);
}

/// Reads a TIME of [`time_len`] bytes.
pub fn read_time(bytes: &[u8], fsp: u8) -> Option<Time> {
    let len = time_len(fsp);
    let number = read_be(bytes.get(..len)?) as i64 - (1i64 << (8 * len - 1));
    let absolute = number.unsigned_abs();
    let fraction_bits = 8 * fraction_len(fsp);
    let clock = absolute >> fraction_bits;
    let (hours, minutes, seconds) = (clock >> 12, clock >> 6 & 63, clock & 63);
    let micros = (absolute & ((1 << fraction_bits) - 1)) as i64 * pair_unit(fsp);
    if minutes > 59 || seconds > 59 || micros >= SECOND_US {
        return None;
    }
    let total = (hours * 3600 + minutes * 60 + seconds) as i64 * SECOND_US + micros;
    Some(Time { micros: if number < 0 { -total } else { total }, fsp })
}

/// Bits of a double whose unsigned order is the order of doubles; both zeros are the same.
pub fn ordered_f64(value: f64) -> u64 {
    let bits = (if value == 0.0 { 0.0 } else { value }).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The inverse of [`ordered_f64`].
pub fn f64_from_ordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Bits of a float whose unsigned order is the order of floats; both zeros are the same.
pub fn ordered_f32(value: f32) -> u32 {
    let bits = (if value == 0.0 { 0.0 } else { value }).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The inverse of [`ordered_f32`].
pub fn f32_from_ordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}
