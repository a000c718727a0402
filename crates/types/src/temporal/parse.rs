//! Reading dates and times from text and numbers.
//!
//! Text may be delimited by any punctuation (`2020-1-2 3:4:5.678`, `2020/01/02T03:04:05`) or be digits
//! only (`20200102030405`); two-digit years are 1970 to 2069. What follows a complete value is
//! reported as a cut, which a strict statement refuses and others warn of.

use super::{DAY_US, Date, DateTime, SECOND_US, Time, TimeZone};

/// Where numbers begin that have a time and not only a date.
pub const TIMED: i64 = 101_000_000;

/// What was read, and whether something after it was left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// Characters after the value were ignored.
    pub cut: bool,
    /// The text had a time of day.
    pub has_time: bool,
    /// The text had an offset from UTC.
    pub zoned: bool,
}

/// Places of the parts of a date with a time.
const DAY: usize = 2;
const SECOND: usize = 5;

/// What a text has of a date.
#[derive(Default)]
struct Parts {
    /// Year to second.
    numbers: [i64; SECOND + 1],
    /// How many of them are written.
    count: usize,
    /// The year lacks its century.
    short_year: bool,
    micros: i64,
    fsp: u8,
    offset: Option<TimeZone>,
}

/// Why a text is no date.
enum NoDate {
    /// It is not written like one.
    Form,
    /// Its parts do not exist in the calendar, or are too few.
    Parts,
}

/// Reads a date with or without a time; `None` if it is not one or its parts do not exist in the
/// calendar. The value's fractional digits are those written (up to 6, further ones rounded). A text
/// that ends in an offset (`+02:00`) is converted to `zone`.
pub fn datetime(text: &str, zone: TimeZone) -> Option<Parsed<DateTime>> {
    Reader::new(text).datetime(zone, false).ok()
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
    let mut reader = Reader::new(text);
    let negative = reader.skip(b'-');
    match reader.dated() {
        Ok(parsed) => {
            let value = Time { micros: parsed.value.micros_of_day(), fsp: parsed.value.fsp() };
            return Some((Parsed { value, cut: parsed.cut, has_time: true, zoned: parsed.zoned }, false));
        }
        Err(NoDate::Parts) => return None,
        Err(NoDate::Form) => {}
    }
    let start = reader.at;
    let first = reader.number(usize::MAX).unwrap_or(0);
    let before_blanks = reader.at;
    reader.skip_blanks();
    let (mut days, mut parts) = (0, [0; 3]);
    if reader.at > before_blanks && reader.digits_ahead() > 0 && reader.bytes.len() - reader.at > 1 {
        days = first;
        parts[0] = reader.number(usize::MAX)?;
        reader.after_colons(&mut parts[1..]);
    } else {
        parts[0] = first;
        if !reader.after_colons(&mut parts[1..]) {
            parts = [first / 10_000, first / 100 % 100, first % 100];
        }
    }
    let has_fraction = reader.bytes.get(reader.at + 1).is_none_or(u8::is_ascii_digit);
    let (micros, fsp) = if has_fraction { reader.fraction() } else { (0, 0) };
    let nothing_read = reader.at == start;
    // 1e10 is no second.
    if reader.exponent_ahead() || nothing_read || [first, parts[0]].iter().any(|number| *number > u32::MAX.into()) {
        return None;
    }
    let [hours, minutes, seconds] = parts;
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let total = ((days.min(1_000_000) * 24 + hours) * 3600 + minutes * 60 + seconds) * SECOND_US + micros;
    let (value, in_range) = Time::clamped(if negative { -total } else { total }, fsp);
    Some((Parsed { value, cut: !reader.is_at_end(), has_time: true, zoned: false }, !in_range))
}

/// Reads a date with a time, which is all that text for a time may have beside the time itself.
pub fn dated(text: &str) -> Option<Parsed<DateTime>> {
    let mut reader = Reader::new(text);
    reader.skip(b'-');
    reader.dated().ok()
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
    fn new(text: &str) -> Reader<'_> {
        Reader { bytes: text.trim_ascii_start().as_bytes(), at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Whether nothing is left but blanks.
    fn is_at_end(&self) -> bool {
        self.bytes[self.at..].iter().all(u8::is_ascii_whitespace)
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        self.at += self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn digits_ahead(&self) -> usize {
        self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn number(&mut self, most_digits: usize) -> Option<i64> {
        let len = self.digits_ahead().min(most_digits);
        if len == 0 {
            return None;
        }
        let digits = self.bytes[self.at..self.at + len].iter().map(|digit| i64::from(digit - b'0'));
        self.at += len;
        Some(digits.fold(0, |number: i64, digit| number.saturating_mul(10).saturating_add(digit)))
    }

    /// Reads `:` and a number, as often as there is a place for it. Whether there was one.
    fn after_colons(&mut self, numbers: &mut [i64]) -> bool {
        let mut found = false;
        for number in numbers {
            if self.peek() != Some(b':') || !self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
                break;
            }
            self.at += 1;
            *number = self.number(usize::MAX).unwrap_or(0);
            found = true;
        }
        found
    }

    /// A date with a time in what is to be a time: only a text as long as one is.
    fn dated(&mut self) -> Result<Parsed<DateTime>, NoDate> {
        const LEAST: usize = 12;
        if self.bytes.len() - self.at < LEAST {
            return Err(NoDate::Form);
        }
        let start = self.at;
        let parsed = self.datetime(TimeZone::UTC, true);
        self.at = start;
        parsed
    }

    /// With `timed`, what is delimited has a blank before the time.
    fn datetime(&mut self, zone: TimeZone, timed: bool) -> Result<Parsed<DateTime>, NoDate> {
        let parts = self.parts(timed)?;
        let [mut year, month, day, hour, minute, second] = parts.numbers;
        // The zero date has no century.
        if parts.short_year && (parts.numbers != [0; 6] || parts.micros != 0) {
            year += if year < 70 { 2000 } else { 1900 };
        }
        let small = |number: i64| u8::try_from(number).map_err(|_| NoDate::Parts);
        let year = u16::try_from(year).map_err(|_| NoDate::Parts)?;
        let date = Date { year, month: small(month)?, day: small(day)? };
        if parts.count <= DAY || !date.is_valid() || hour > 23 || minute > 59 || second > 59 {
            return Err(NoDate::Parts);
        }
        let micros = (hour * 3600 + minute * 60 + second) * SECOND_US + parts.micros;
        let mut value = if micros >= DAY_US || parts.micros >= SECOND_US {
            // The fraction was rounded up to a whole second.
            DateTime::from_micros(date.days() * DAY_US + micros, parts.fsp).ok_or(NoDate::Parts)?
        } else {
            DateTime::new(date, micros, parts.fsp)
        };
        if let Some(offset) = parts.offset {
            let utc = value.micros() - i64::from(offset.offset_seconds) * SECOND_US;
            let local = utc + i64::from(zone.offset_seconds) * SECOND_US;
            value = DateTime::from_micros(local, parts.fsp).ok_or(NoDate::Parts)?;
        }
        let cut = !self.is_at_end();
        Ok(Parsed { value, cut, has_time: parts.count > DAY + 1, zoned: parts.offset.is_some() })
    }

    /// Numbers up to the next delimiter, which is any punctuation, or blanks after the day. Digits alone are YYMMDD,
    /// YYYYMMDD, YYMMDDhhmmss or YYYYMMDDhhmmss, of which the last may be missing.
    fn parts(&mut self, timed: bool) -> Result<Parts, NoDate> {
        /// No part of a date is greater.
        const GREATEST: i64 = 999_999;
        let run = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
        let delimited = !matches!(self.bytes.get(self.at + run), None | Some(b'.'));
        let year_digits = if matches!(run, 4 | 8 | 14..) { 4 } else { 2 };
        let mut parts = Parts { short_year: year_digits == 2, ..Parts::default() };
        let (mut delimiters, mut blanks) = (false, false);
        let mut end = self.at;
        for place in 0..=SECOND {
            let digits = self.digits_ahead();
            let most = if place == 0 { year_digits } else { 2 };
            let Some(number) = self.number(if delimited { usize::MAX } else { most }) else { break };
            if number > GREATEST {
                return Err(NoDate::Form);
            }
            if place == 0 && delimited {
                parts.short_year = digits == 2;
            }
            parts.numbers[place] = number;
            parts.count = place + 1;
            end = self.at;
            if place == SECOND {
                break;
            }
            // A `T` must be followed by the time.
            if place == DAY && self.skip(b'T') {
                continue;
            }
            let skipped = self.delimiters();
            let blank = skipped.iter().any(u8::is_ascii_whitespace);
            if blank && place != DAY {
                return Err(NoDate::Form);
            }
            delimiters |= !skipped.is_empty();
            blanks |= blank;
            end = self.at;
        }
        self.at = end;
        if parts.count == 0 || (timed && delimiters && !blanks) {
            return Err(NoDate::Form);
        }
        if parts.count == SECOND + 1 {
            (parts.micros, parts.fsp) = self.fraction();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                parts.offset = Some(self.offset().ok_or(NoDate::Form)?);
            } else if parts.fsp > 0 {
                self.delimiters();
            }
        }
        Ok(parts)
    }

    /// Punctuation and blanks.
    fn delimiters(&mut self) -> &[u8] {
        let start = self.at;
        let is_delimiter = |byte: &&u8| byte.is_ascii_punctuation() || byte.is_ascii_whitespace();
        self.at += self.bytes[self.at..].iter().take_while(is_delimiter).count();
        &self.bytes[start..self.at]
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
