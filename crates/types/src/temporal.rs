//! Dates, times and time zones, with MySQL's ranges and packed forms.
//!
//! Outline: [`calendar`] counts days, [`parse`] reads what clients write, [`mod@format`] is the language of
//! DATE_FORMAT and STR_TO_DATE. Dates may have a zero month or day (`2020-00-00`) where the SQL mode lets
//! them into a column.

pub mod calendar;
pub mod format;
pub mod parse;

use std::cmp::Ordering;
use std::fmt;

use crate::error::{ER_UNKNOWN_TIME_ZONE, SqlError};
use calendar::{civil_from_days, days_from_civil, days_in_month};

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY_US: i64 = 86_400 * SECOND_US;
/// The largest TIME, 838:59:59, in microseconds.
pub const MAX_TIME_US: i64 = (838 * 3600 + 59 * 60 + 59) * SECOND_US;
/// The largest TIMESTAMP, 2038-01-19 03:14:07.999999 UTC, in microseconds.
pub const MAX_TIMESTAMP_US: i64 = i32::MAX as i64 * SECOND_US + 999_999;

/// A calendar date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12; 0 in incomplete dates.
    pub month: u8,
    /// 1 to 31; 0 in incomplete dates.
    pub day: u8,
}

/// Date and time without a zone, with the number of fractional digits it is written with.
#[derive(Clone, Copy, Debug)]
pub struct DateTime {
    /// MySQL's packed form: year * 13 + month, day, hour, minute, second, microsecond from the top; its
    /// order is the order of times.
    packed: i64,
    fsp: u8,
}

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    /// Microseconds since 1970-01-01 00:00:00 UTC; 0 stands for the zero date.
    pub micros: i64,
    /// Fractional digits it is written with.
    pub fsp: u8,
}

/// A time of day or a span.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Microseconds, within [`MAX_TIME_US`] either way.
    pub micros: i64,
    /// Fractional digits it is written with.
    pub fsp: u8,
}

/// A fixed offset from UTC; `SYSTEM` is UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeZone {
    /// Seconds east of UTC.
    pub offset_seconds: i32,
}

impl Date {
    /// `0000-00-00`
    pub const ZERO: Date = Date { year: 0, month: 0, day: 0 };

    /// The date that many days after 1970-01-01 (or before, if negative), `None`
    /// outside of the years 0 to 9999.
    pub fn from_days(days: i64) -> Option<Date> {
        let (year, month, day) = civil_from_days(days)?;
        Some(Date { year, month, day })
    }

    /// Days since 1970-01-01. As in MySQL, day 0 is the one before the first of its month, and month 0 is 31 days long.
    pub fn days(self) -> i64 {
        let first = days_from_civil(self.year, self.month.max(1), self.day.max(1));
        match (self.month, self.day) {
            _ if self.is_zero() => first - 1,
            (month, day) => first - if month == 0 { 31 } else { 0 } - i64::from(day == 0),
        }
    }

    /// Whether every part is zero.
    pub fn is_zero(self) -> bool {
        self == Date::ZERO
    }

    /// Whether month or day is zero.
    pub fn is_incomplete(self) -> bool {
        self.month == 0 || self.day == 0
    }

    /// Whether month and day exist in the calendar (zeros included).
    pub fn is_valid(self) -> bool {
        self.year <= 9999
            && self.month <= 12
            && self.day <= 31
            && (self.month == 0 || self.day <= days_in_month(self.year, self.month))
    }

    /// Midnight of the date.
    pub fn at_midnight(self) -> DateTime {
        DateTime::new(self, 0, 0)
    }

    /// YYYYMMDD.
    pub fn to_number(self) -> i64 {
        i64::from(self.year) * 10_000 + i64::from(self.month) * 100 + i64::from(self.day)
    }
}

impl DateTime {
    /// From a date and microseconds since its midnight, below [`DAY_US`].
    pub fn new(date: Date, micros_of_day: i64, fsp: u8) -> DateTime {
        let seconds = micros_of_day / SECOND_US;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let ymd = (i64::from(date.year) * 13 + i64::from(date.month)) << 5 | i64::from(date.day);
        let hms = hour << 12 | minute << 6 | second;
        DateTime { packed: (((ymd << 17) | hms) << 24) | (micros_of_day % SECOND_US), fsp }
    }

    /// From microseconds since 1970 on the clock it shows; `None` outside of the years 0 to 9999.
    pub fn from_micros(micros: i64, fsp: u8) -> Option<DateTime> {
        let date = Date::from_days(micros.div_euclid(DAY_US))?;
        Some(DateTime::new(date, micros.rem_euclid(DAY_US), fsp))
    }

    /// From MySQL's packed form; `None` if its parts are out of range.
    pub fn from_packed(packed: i64, fsp: u8) -> Option<DateTime> {
        let value = DateTime { packed, fsp };
        let date = value.date();
        let (hour, minute, second, micro) = value.clock();
        let ok = packed >= 0
            && date.year <= 9999
            && date.day <= 31
            && hour < 24
            && minute < 60
            && second < 60
            && micro < 1_000_000;
        ok.then_some(value)
    }

    /// MySQL's packed form; the low 24 bits are the microseconds.
    pub fn packed(self) -> i64 {
        self.packed
    }

    /// Fractional digits it is written with.
    pub fn fsp(self) -> u8 {
        self.fsp
    }

    /// The same time, written with other fractional digits (not rounded: see [`DateTime::round`]).
    pub fn with_fsp(self, fsp: u8) -> DateTime {
        DateTime { fsp, ..self }
    }

    /// The date.
    pub fn date(self) -> Date {
        let ymd = self.packed >> 41;
        let year_month = ymd >> 5;
        Date { year: (year_month / 13) as u16, month: (year_month % 13) as u8, day: (ymd & 31) as u8 }
    }

    /// Hour, minute, second, microsecond.
    pub fn clock(self) -> (u8, u8, u8, u32) {
        let hms = self.packed >> 24;
        ((hms >> 12 & 31) as u8, (hms >> 6 & 63) as u8, (hms & 63) as u8, (self.packed & 0xff_ffff) as u32)
    }

    /// Microseconds since midnight.
    pub fn micros_of_day(self) -> i64 {
        let (hour, minute, second, micro) = self.clock();
        (i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)) * SECOND_US + i64::from(micro)
    }

    /// Microseconds since 1970 on the clock it shows.
    pub fn micros(self) -> i64 {
        self.date().days() * DAY_US + self.micros_of_day()
    }

    /// Rounds to `fsp` fractional digits; cuts if rounding would leave the calendar or the date is incomplete.
    pub fn round(self, fsp: u8) -> DateTime {
        self.round_within_calendar(fsp).unwrap_or_else(|| self.cut(fsp))
    }

    /// Rounds to `fsp` fractional digits, and cuts if the date is incomplete; `None` if it would be after the year 9999.
    pub fn round_within_calendar(self, fsp: u8) -> Option<DateTime> {
        let unit = fraction_unit(fsp);
        let fraction = self.micros_of_day() % unit;
        if fraction * 2 < unit || self.date().is_incomplete() {
            return Some(self.cut(fsp));
        }
        DateTime::from_micros(self.micros() - fraction + unit, fsp)
    }

    /// Leaves out what is behind `fsp` fractional digits.
    pub fn cut(self, fsp: u8) -> DateTime {
        let unit = fraction_unit(fsp);
        DateTime::new(self.date(), self.micros_of_day() / unit * unit, fsp)
    }

    /// YYYYMMDDhhmmss.
    pub fn to_number(self) -> i64 {
        let (hour, minute, second, _) = self.clock();
        self.date().to_number() * 1_000_000 + i64::from(hour) * 10_000 + i64::from(minute) * 100 + i64::from(second)
    }

    /// The point in time if the clock it shows is of `zone`; `None` before 1970 and after 2038. The zero
    /// date is the zero timestamp.
    pub fn to_timestamp(self, zone: TimeZone) -> Option<Timestamp> {
        if self.packed == 0 {
            return Some(Timestamp { micros: 0, fsp: self.fsp });
        }
        let micros = self.micros() - i64::from(zone.offset_seconds) * SECOND_US;
        (SECOND_US..=MAX_TIMESTAMP_US).contains(&micros).then_some(Timestamp { micros, fsp: self.fsp })
    }
}

impl PartialEq for DateTime {
    fn eq(&self, other: &DateTime) -> bool {
        self.packed == other.packed
    }
}
impl Eq for DateTime {}
impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &DateTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for DateTime {
    fn cmp(&self, other: &DateTime) -> Ordering {
        self.packed.cmp(&other.packed)
    }
}

impl Timestamp {
    /// What a clock in `zone` shows.
    pub fn to_datetime(self, zone: TimeZone) -> DateTime {
        if self.micros == 0 {
            return Date::ZERO.at_midnight().with_fsp(self.fsp);
        }
        let local = self.micros + i64::from(zone.offset_seconds) * SECOND_US;
        DateTime::from_micros(local, self.fsp).unwrap_or_else(|| Date::ZERO.at_midnight())
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Timestamp) -> bool {
        self.micros == other.micros
    }
}
impl Eq for Timestamp {}

impl Time {
    /// A time, cut to the range of TIME; the flag says whether it was in range.
    pub fn clamped(micros: i64, fsp: u8) -> (Time, bool) {
        let clamped = micros.clamp(-MAX_TIME_US, MAX_TIME_US);
        (Time { micros: clamped, fsp }, clamped == micros)
    }

    /// Hours, minutes, seconds and microseconds of the absolute value.
    pub fn parts(self) -> (u32, u8, u8, u32) {
        let micros = self.micros.unsigned_abs();
        let seconds = micros / SECOND_US as u64;
        ((seconds / 3600) as u32, (seconds / 60 % 60) as u8, (seconds % 60) as u8, (micros % SECOND_US as u64) as u32)
    }

    /// Rounds to `fsp` fractional digits.
    pub fn round(self, fsp: u8) -> Time {
        let unit = fraction_unit(fsp);
        let fraction = self.micros % unit;
        let mut micros = self.micros - fraction;
        if fraction.abs() * 2 >= unit {
            micros += unit * fraction.signum();
        }
        Time::clamped(micros, fsp).0
    }

    /// hhmmss, with the sign.
    pub fn to_number(self) -> i64 {
        let (hours, minutes, seconds, _) = self.parts();
        let number = i64::from(hours) * 10_000 + i64::from(minutes) * 100 + i64::from(seconds);
        if self.micros < 0 { -number } else { number }
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Time) -> bool {
        self.micros == other.micros
    }
}
impl Eq for Time {}
impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        self.micros.cmp(&other.micros)
    }
}

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone { offset_seconds: 0 };

    /// `SYSTEM` and `UTC`, or an offset from `-13:59` to `+14:00`; anything else is error 1298, as on a
    /// MySQL server whose tables of named zones are empty.
    pub fn parse(name: &str) -> Result<TimeZone, SqlError> {
        let unknown = || SqlError::new(ER_UNKNOWN_TIME_ZONE, &[&name]);
        if name.eq_ignore_ascii_case("SYSTEM") || name.eq_ignore_ascii_case("UTC") {
            return Ok(TimeZone::UTC);
        }
        let (sign, rest) = match name.as_bytes().first() {
            Some(b'+') => (1, &name[1..]),
            Some(b'-') => (-1, &name[1..]),
            _ => return Err(unknown()),
        };
        let (hours, minutes) = rest.split_once(':').ok_or_else(unknown)?;
        let number = |text: &str| -> Option<i32> {
            let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            if digits { text.parse().ok() } else { None }
        };
        let (hours, minutes) = (number(hours).ok_or_else(unknown)?, number(minutes).ok_or_else(unknown)?);
        let offset = sign * (hours * 3600 + minutes * 60);
        if minutes > 59 || !(-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&offset) {
            return Err(unknown());
        }
        Ok(TimeZone { offset_seconds: offset })
    }
}

/// Microseconds of the last of `fsp` fractional digits.
pub fn fraction_unit(fsp: u8) -> i64 {
    10i64.pow(6 - u32::from(fsp.min(6)))
}

fn write_fraction(f: &mut fmt::Formatter<'_>, micros: u32, fsp: u8) -> fmt::Result {
    if fsp == 0 {
        return Ok(());
    }
    let fsp = fsp.min(6);
    write!(f, ".{:0width$}", i64::from(micros) / fraction_unit(fsp), width = fsp as usize)
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second, micro) = self.clock();
        write!(f, "{} {hour:02}:{minute:02}:{second:02}", self.date())?;
        write_fraction(f, micro, self.fsp)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hours, minutes, seconds, micro) = self.parts();
        let sign = if self.micros < 0 { "-" } else { "" };
        write!(f, "{sign}{hours:02}:{minutes:02}:{seconds:02}")?;
        write_fraction(f, micro, self.fsp)
    }
}

/// `+hh:mm` or `-hh:mm`.
impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        let minutes = self.offset_seconds.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests;
