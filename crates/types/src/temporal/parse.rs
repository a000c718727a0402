//! Reading dates and times from text and numbers.
//!
//! Text may be delimited by any punctuation (`2020-1-2 3:4:5.678`, `2020/01/02T03:04:05`) or be digits
//! only (`20200102030405`); two-digit years are 1970 to 2069. What follows a complete value is
//! reported as a cut, which a strict statement refuses and others warn of.

use super::{DAY_US, Date, DateTime, SECOND_US, Time, TimeZone};

/// Where numbers begin that have a time and not only a date.
pub const TIMED: i64 = 101_000_000;

/// What was read, and whether something behind it was left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// Characters behind the value were ignored.
    pub cut: bool,
    /// The text had a time of day.
    pub has_time: bool,
    /// The text had an offset from UTC.
    pub zoned: bool,
}

/// Reads a date with or without a time; `None` if it is not one or its parts do not exist in the
/// calendar. The value's fractional digits are those written (up to 6, further ones rounded). A text
/// that ends in an offset (`+02:00`) is converted to `zone`.
pub fn datetime(text: &str, zone: TimeZone) -> Option<Parsed<DateTime>> {
    let text = text.trim_ascii();
    let bytes = text.as_bytes();
    let mut reader = Reader { bytes, at: 0 };
    let digits = reader.digits_ahead();
    let mut parts = [0u32; 6];
    let is_compact = digits >= 5 && !matches!(bytes.get(digits), Some(b'-' | b'/' | b':'));
    let (count, short_year) =
        if is_compact { reader.compact(digits, &mut parts)? } else { reader.delimited(&mut parts)? };
    if count < 3 {
        return None;
    }
    let has_time = count > 3;
    let (mut micros, mut fsp) = (0, 0);
    if count == 6 {
        (micros, fsp) = reader.fraction();
    }
    // The zero date has no century.
    if short_year && (parts != [0; 6] || micros != 0) {
        parts[0] += if parts[0] < 70 { 2000 } else { 1900 };
    }
    let date = Date {
        year: u16::try_from(parts[0]).ok()?,
        month: u8::try_from(parts[1]).ok()?,
        day: u8::try_from(parts[2]).ok()?,
    };
    if !date.is_valid() || parts[3] > 23 || parts[4] > 59 || parts[5] > 59 {
        return None;
    }
    let of_day = (i64::from(parts[3]) * 3600 + i64::from(parts[4]) * 60 + i64::from(parts[5])) * SECOND_US;
    let mut value = if micros + of_day >= DAY_US || micros >= SECOND_US {
        // The fraction was rounded up to a whole second.
        DateTime::from_micros(date.days() * DAY_US + of_day + micros, fsp)?
    } else {
        DateTime::new(date, of_day + micros, fsp)
    };
    let offset = if has_time { reader.offset() } else { None };
    if let Some(offset) = offset {
        let utc = value.micros() - i64::from(offset.offset_seconds) * SECOND_US;
        value = DateTime::from_micros(utc + i64::from(zone.offset_seconds) * SECOND_US, fsp)?;
    }
    Some(Parsed { value, cut: reader.at < bytes.len(), has_time, zoned: offset.is_some() })
}

/// Reads YYYYMMDD, YYMMDD, YYYYMMDDhhmmss or YYMMDDhhmmss.
pub fn datetime_from_number(number: i64) -> Option<DateTime> {
    let (date, clock) = match number {
        0 => (0, 0),
        101..=99_991_231 => (number, 0),
        TIMED..=99_991_231_235_959 => (number / 1_000_000, number % 1_000_000),
        _ => return None,
    };
    let mut year = date / 10_000;
    if year < 100 && number != 0 && (date <= 991_231) {
        year += if year < 70 { 2000 } else { 1900 };
    }
    let date = Date { year: year as u16, month: (date / 100 % 100) as u8, day: (date % 100) as u8 };
    let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
    if !date.is_valid() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(DateTime::new(date, (hour * 3600 + minute * 60 + second) * SECOND_US, 0))
}

/// Reads `[-][days ]h:m:s[.f]`, `h:m`, `hhmmss`; a full date with time gives its time of day. The second
/// flag of the result says whether the value had to be cut to the range of TIME.
pub fn time(text: &str) -> Option<(Parsed<Time>, bool)> {
    let text = text.trim_ascii();
    if let Some(parsed) = dated(text) {
        let value = Time { micros: parsed.value.micros_of_day(), fsp: parsed.value.fsp() };
        return Some((Parsed { value, cut: parsed.cut, has_time: true, zoned: parsed.zoned }, false));
    }
    // So many digits are no time by themselves.
    if text.bytes().take_while(u8::is_ascii_digit).count() >= 12 {
        return None;
    }
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut reader = Reader { bytes: body.as_bytes(), at: 0 };
    let first = reader.number(10)?;
    let mut days = 0;
    let (hours, minutes, seconds);
    if reader.peek() == Some(b' ') && reader.bytes.get(reader.at + 1).is_some_and(u8::is_ascii_digit) {
        days = first;
        reader.at += 1;
        hours = reader.number(4)?;
        minutes = reader.after(b':').unwrap_or(0);
        seconds = reader.after(b':').unwrap_or(0);
    } else if let Some(number) = reader.after(b':') {
        hours = first;
        minutes = number;
        seconds = reader.after(b':').unwrap_or(0);
    } else {
        (hours, minutes, seconds) = (first / 10_000, first / 100 % 100, first % 100);
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let (micros, fsp) = reader.fraction();
    // 1e10 is no second.
    if reader.exponent_ahead() {
        return None;
    }
    let total = ((days.min(1_000_000) * 24 + hours) * 3600 + minutes * 60 + seconds) * SECOND_US + micros;
    let (value, in_range) = Time::clamped(if negative { -total } else { total }, fsp);
    Some((Parsed { value, cut: reader.at < reader.bytes.len(), has_time: true, zoned: false }, !in_range))
}

/// Reads a date with a time, which is all that text for a time may have beside the time itself.
pub fn dated(text: &str) -> Option<Parsed<DateTime>> {
    let text = text.trim_ascii();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let may_be = digits >= 12 || (digits > 0 && matches!(text.as_bytes().get(digits), Some(b'-' | b'/')));
    if may_be { datetime(text, TimeZone::UTC).filter(|parsed| parsed.has_time) } else { None }
}

/// Reads hhmmss, or the time of day of YYYYMMDDhhmmss.
pub fn time_from_number(number: i64) -> Option<(Time, bool)> {
    let absolute = number.unsigned_abs();
    if absolute > 8_385_959 {
        if let Some(value) = datetime_from_number(number).filter(|_| absolute >= 10_000_000_000) {
            return Some((Time { micros: value.micros_of_day(), fsp: 0 }, false));
        }
        return Some((Time::clamped(if number < 0 { i64::MIN } else { i64::MAX }, 0).0, true));
    }
    let (hours, minutes, seconds) = (absolute / 10_000, absolute / 100 % 100, absolute % 100);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let micros = (hours * 3600 + minutes * 60 + seconds) as i64 * SECOND_US;
    let (value, in_range) = Time::clamped(if number < 0 { -micros } else { micros }, 0);
    Some((value, !in_range))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn digits_ahead(&self) -> usize {
        self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn number(&mut self, most_digits: usize) -> Option<i64> {
        let len = self.digits_ahead().min(most_digits);
        if len == 0 {
            return None;
        }
        let number =
            self.bytes[self.at..self.at + len].iter().fold(0i64, |number, digit| number * 10 + i64::from(digit - b'0'));
        self.at += len;
        Some(number)
    }

    /// The number behind `separator`, if both stand here.
    fn after(&mut self, separator: u8) -> Option<i64> {
        if self.peek() != Some(separator) || !self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        self.at += 1;
        self.number(2)
    }

    /// YYMMDD, YYYYMMDD, YYMMDDhhmmss or YYYYMMDDhhmmss (missing digits at the end are zero): how many parts
    /// there are, and whether the year lacks its century.
    fn compact(&mut self, digits: usize, parts: &mut [u32; 6]) -> Option<(usize, bool)> {
        let year_digits = if digits == 8 || digits >= 14 { 4 } else { 2 };
        let mut count = 0;
        for (place, part) in parts.iter_mut().enumerate() {
            let Some(number) = self.number(if place == 0 { year_digits } else { 2 }) else { break };
            *part = number as u32;
            count += 1;
        }
        // A date and `T` may be followed by a compact time.
        if count == 3 && self.peek() == Some(b'T') && self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            for part in &mut parts[3..] {
                let Some(number) = self.number(2) else { break };
                *part = number as u32;
                count += 1;
            }
        }
        Some((count, year_digits == 2))
    }

    /// As [`Reader::compact`], with delimiters.
    fn delimited(&mut self, parts: &mut [u32; 6]) -> Option<(usize, bool)> {
        let (mut count, mut short_year) = (0, false);
        for (place, part) in parts.iter_mut().enumerate() {
            let before = self.at;
            if place == 3 {
                let mut blanks = 0;
                while matches!(self.peek(), Some(b' ')) || (blanks == 0 && self.peek() == Some(b'T')) {
                    self.at += 1;
                    blanks += 1;
                }
                // A delimiter of another kind before the time is allowed as everywhere.
                if blanks == 0 && self.peek().is_some_and(|byte| byte.is_ascii_punctuation()) {
                    self.at += 1;
                }
            } else if place > 0 {
                while self.peek().is_some_and(|byte| byte.is_ascii_punctuation()) {
                    self.at += 1;
                }
                if self.at == before {
                    break;
                }
            }
            let digits = self.digits_ahead();
            let Some(number) = self.number(if place == 0 { 4 } else { 2 }) else {
                self.at = before;
                break;
            };
            *part = number as u32;
            short_year |= place == 0 && digits == 2;
            count += 1;
        }
        Some((count, short_year))
    }

    /// Microseconds of `.digits`, rounded at the sixth, and how many digits count.
    fn fraction(&mut self) -> (i64, u8) {
        if self.peek() != Some(b'.') {
            return (0, 0);
        }
        self.at += 1;
        let digits = self.digits_ahead();
        let mut micros = 0;
        for place in 0..6 {
            let digit = if place < digits { self.bytes[self.at + place] - b'0' } else { 0 };
            micros = micros * 10 + i64::from(digit);
        }
        if digits > 6 && self.bytes[self.at + 6] >= b'5' {
            micros += 1;
        }
        self.at += digits;
        (micros, digits.min(6) as u8)
    }

    fn exponent_ahead(&self) -> bool {
        match self.bytes.get(self.at..).unwrap_or_default() {
            [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
            _ => false,
        }
    }

    fn offset(&mut self) -> Option<TimeZone> {
        let rest = self.bytes.get(self.at..self.at + 6)?;
        if self.at + 6 != self.bytes.len() || !matches!(rest[0], b'+' | b'-') {
            return None;
        }
        let zone = TimeZone::parse(std::str::from_utf8(rest).ok()?).ok()?;
        self.at += 6;
        Some(zone)
    }
}
