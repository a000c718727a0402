//! INTERVAL arithmetic, EXTRACT and TIMESTAMPDIFF.

use std::fmt;

use super::convert::{Number, has_time, is_time, read_datetime, to_complete_datetime, to_i64, to_text, to_time};
use super::{EvalContext, IntervalUnit};
use crate::error::{ER_DATETIME_FUNCTION_OVERFLOW, SqlError};
use crate::types::temporal::calendar::{days_in_month, week};
use crate::types::temporal::{DAY_US, Date, DateTime, SECOND_US, Time};
use crate::types::{DateUse, NOT_FIXED_DECIMALS};
use crate::value::Value;

/// An amount of time: months change the calendar's fields, the rest is a span.
struct Interval {
    months: i64,
    micros: i128,
}

const MINUTE_US: i128 = 60 * SECOND_US as i128;
const HOUR_US: i128 = 60 * MINUTE_US;

/// A date or time as text, which shows a fraction with all its digits, or none.
pub(super) fn in_full(value: Value) -> Value {
    let digits = |micros: i64| if micros % SECOND_US == 0 { 0 } else { 6 };
    Value::text(match value {
        Value::DateTime(value) => value.with_fsp(digits(value.micros_of_day())).to_string(),
        Value::Time(time) => Time { fsp: digits(time.micros), ..time }.to_string(),
        other => other.to_string(),
    })
}

/// `date + INTERVAL amount unit`, or minus if `negated`. A date that is text or a number gives text, a date with a unit below
/// days a datetime, a time a time. Leaving the calendar gives NULL with a warning.
pub(super) fn add(
    date: &Value,
    amount: &Value,
    unit: IntervalUnit,
    negated: bool,
    cx: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    if date.is_null() || amount.is_null() {
        return Ok(Value::Null);
    }
    let Some(mut interval) = Interval::read(amount, unit, cx)? else { return overflow(cx) };
    if negated {
        interval = Interval { months: interval.months.saturating_neg(), micros: -interval.micros };
    }
    let fraction = match (date, amount) {
        // A text has as many digits as it takes.
        (Value::Text(_) | Value::Bytes(_), _) if interval.micros % i128::from(SECOND_US) != 0 => 6,
        (Value::Text(_) | Value::Bytes(_), _) => unit.fraction(0),
        (_, Value::Decimal(amount)) => unit.fraction(amount.scale()),
        (_, Value::Int(_) | Value::UInt(_)) => unit.fraction(0),
        _ => unit.fraction(NOT_FIXED_DECIMALS),
    };
    if let Value::Time(time) = date
        && interval.months == 0
    {
        let total = i128::from(time.micros) + interval.micros;
        let (sum, in_range) = Time::clamped(i64::try_from(total).unwrap_or(i64::MAX), time.fsp.max(fraction));
        return if in_range { Ok(Value::Time(sum)) } else { overflow(cx) };
    }
    let Some(start) = to_complete_datetime(date, cx)? else { return Ok(Value::Null) };
    let Some(sum) = interval.add_to(start, unit, fraction) else { return overflow(cx) };
    let sum = if !has_time(date, cx) && unit.is_of_days() { Value::Date(sum.date()) } else { Value::DateTime(sum) };
    Ok(if date.is_temporal() { sum } else { in_full(sum) })
}

/// NULL, and the warning that a date is beyond the calendar.
pub(super) fn overflow(cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    cx.statement.warn(SqlError::new(ER_DATETIME_FUNCTION_OVERFLOW, &[&"datetime"]))?;
    Ok(Value::Null)
}

impl Interval {
    /// `None` if the amount is beyond all calendars.
    fn read(amount: &Value, unit: IntervalUnit, cx: &EvalContext<'_>) -> Result<Option<Interval>, SqlError> {
        if let Some(units) = unit.parts() {
            return Ok(Interval::read_parts(&to_text(amount), units));
        }
        if unit == IntervalUnit::Second {
            // Seconds are the one unit with a fraction.
            let micros = match Number::of(amount, cx)? {
                Number::Int(int) => i128::from(int) * i128::from(SECOND_US),
                other => {
                    let scaled = other.to_decimal().multiply(&crate::types::decimal::Decimal::from(SECOND_US));
                    scaled.map_or(i128::MAX, |scaled| scaled.to_i128().0)
                }
            };
            // Beyond every calendar, but not beyond further arithmetic.
            let micros = micros.clamp(-(1 << 100), 1 << 100);
            return Ok(Some(Interval { months: 0, micros }));
        }
        Ok(Interval::of(unit, to_i64(amount, cx)?))
    }

    fn of(unit: IntervalUnit, count: i64) -> Option<Interval> {
        let micros_each = match unit {
            IntervalUnit::Microsecond => 1,
            IntervalUnit::Second => i128::from(SECOND_US),
            IntervalUnit::Minute => MINUTE_US,
            IntervalUnit::Hour => HOUR_US,
            IntervalUnit::Day => i128::from(DAY_US),
            IntervalUnit::Week => 7 * i128::from(DAY_US),
            IntervalUnit::Month => return Some(Interval { months: count, micros: 0 }),
            IntervalUnit::Quarter => return Some(Interval { months: count.checked_mul(3)?, micros: 0 }),
            _ => return Some(Interval { months: count.checked_mul(12)?, micros: 0 }),
        };
        Some(Interval { months: 0, micros: i128::from(count) * micros_each })
    }

    /// `'1:30'` and the like: numbers between any punctuation, for the last units if there are fewer.
    fn read_parts(text: &str, units: &[IntervalUnit]) -> Option<Interval> {
        let text = text.trim();
        let (sign, body) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let numbers: Vec<&str> = body.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
        let mut total = Interval { months: 0, micros: 0 };
        let count = numbers.len().min(units.len());
        for (number, unit) in numbers.iter().zip(&units[units.len() - count..]) {
            let mut value: i64 = number.parse().ok()?;
            if *unit == IntervalUnit::Microsecond && number.len() < 6 {
                // The last part is a fraction: `1.5` is 500000 microseconds.
                value *= 10i64.pow(6 - number.len() as u32);
            }
            let part = Interval::of(*unit, value)?;
            total = Interval { months: total.months.checked_add(part.months)?, micros: total.micros + part.micros };
        }
        Some(Interval { months: sign * total.months, micros: i128::from(sign) * total.micros })
    }

    /// The date and time that is later by it, an interval in `unit`. One in months goes by the calendar, where there is a
    /// year 0, one in days by their number, which has none.
    fn add_to(&self, start: DateTime, unit: IntervalUnit, fraction: u8) -> Option<DateTime> {
        let (mut date, fsp) = (start.date(), start.fsp().max(fraction));
        if self.months != 0 {
            let months = (i64::from(date.year) * 12 + i64::from(date.month) - 1).checked_add(self.months)?;
            let year = u16::try_from(months.div_euclid(12)).ok().filter(|year| *year <= 9999)?;
            let month = months.rem_euclid(12) as u8 + 1;
            date = Date { year, month, day: date.day.min(days_in_month(year, month)) };
        }
        if unit.is_of_months() {
            return Some(DateTime::new(date, start.micros_of_day(), fsp));
        }
        let total = i128::from(date.days()) * i128::from(DAY_US) + i128::from(start.micros_of_day()) + self.micros;
        DateTime::from_micros(i64::try_from(total).ok()?, fsp).filter(|sum| !sum.date().is_zero())
    }
}

impl IntervalUnit {
    /// By name, in any case.
    pub fn from_name(name: &str) -> Option<IntervalUnit> {
        NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(unit, _)| *unit)
    }

    /// The units of a compound one, from the largest.
    fn parts(self) -> Option<&'static [IntervalUnit]> {
        use IntervalUnit::{Day, Hour, Microsecond, Minute, Month, Second, Year};
        const ALL: [IntervalUnit; 5] = [Day, Hour, Minute, Second, Microsecond];
        Some(match self {
            IntervalUnit::SecondMicrosecond => &ALL[3..],
            IntervalUnit::MinuteMicrosecond => &ALL[2..],
            IntervalUnit::MinuteSecond => &ALL[2..4],
            IntervalUnit::HourMicrosecond => &ALL[1..],
            IntervalUnit::HourSecond => &ALL[1..4],
            IntervalUnit::HourMinute => &ALL[1..3],
            IntervalUnit::DayMicrosecond => &ALL,
            IntervalUnit::DaySecond => &ALL[..4],
            IntervalUnit::DayMinute => &ALL[..3],
            IntervalUnit::DayHour => &ALL[..2],
            IntervalUnit::YearMonth => &[Year, Month],
            _ => return None,
        })
    }

    /// Digits and sign of what EXTRACT gives.
    pub(super) fn extracted_length(self) -> u32 {
        use IntervalUnit::*;
        match self {
            Year => 5,
            Quarter => 2,
            Month | Week | Day | Hour | Minute | Second => 3,
            DayHour | HourMinute | MinuteSecond => 5,
            YearMonth | Microsecond => 7,
            DayMinute | HourSecond => 8,
            SecondMicrosecond => 9,
            DaySecond => 10,
            MinuteMicrosecond => 11,
            HourMicrosecond => 14,
            DayMicrosecond => 17,
        }
    }

    /// Fractional digits that adding an amount of so many `decimals` may need.
    pub(super) fn fraction(self, decimals: u8) -> u8 {
        match self {
            IntervalUnit::Microsecond => 6,
            IntervalUnit::Second => decimals.min(6),
            _ if self.parts().is_some_and(|parts| parts.contains(&IntervalUnit::Microsecond)) => 6,
            _ => 0,
        }
    }

    /// Whether adding it to a date leaves a date.
    pub(super) fn is_of_days(self) -> bool {
        self.is_of_months() || matches!(self, IntervalUnit::Day | IntervalUnit::Week)
    }

    /// Whether it is about months only.
    fn is_of_months(self) -> bool {
        use IntervalUnit::{Month, Quarter, Year, YearMonth};
        matches!(self, Month | Quarter | Year | YearMonth)
    }

    /// Whether it is about the time of day only.
    pub(super) fn is_of_time(self) -> bool {
        !self.is_of_days() && !self.is_of_days_and_time()
    }

    fn is_of_days_and_time(self) -> bool {
        self.parts().is_some_and(|parts| parts[0] == IntervalUnit::Day)
    }
}

/// `EXTRACT(unit FROM date)`: compound units are written as one number (`DAY_HOUR` of the 7th, 15 h is 715).
pub(super) fn extract(unit: IntervalUnit, date: &Value, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    // Of a time, the hours of a day are all its hours.
    let (date, clock, sign) = if unit.is_of_time() || (unit.is_of_days_and_time() && is_time(date)) {
        let Some(time) = to_time(date, cx)? else { return Ok(Value::Null) };
        let (hours, minutes, seconds, micros) = time.parts();
        let clock = (i64::from(hours), i64::from(minutes), i64::from(seconds), i64::from(micros));
        (Date::ZERO, clock, if time.micros < 0 { -1 } else { 1 })
    } else {
        let use_of_date = if unit.is_of_days_and_time() { DateUse::Clock } else { DateUse::Operand };
        let Some(value) = read_datetime(date, use_of_date, cx)? else { return Ok(Value::Null) };
        let (hour, minute, second, micro) = value.clock();
        (value.date(), (i64::from(hour), i64::from(minute), i64::from(second), i64::from(micro)), 1)
    };
    let (hour, minute, second, micro) = clock;
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let number = match unit {
        IntervalUnit::Microsecond => micro,
        IntervalUnit::Second => second,
        IntervalUnit::Minute => minute,
        IntervalUnit::Hour => hour,
        IntervalUnit::Day => day,
        IntervalUnit::Week if date.is_incomplete() => return Ok(Value::Null),
        IntervalUnit::Week => i64::from(week(date.year, date.month, date.day, 0).1),
        IntervalUnit::Month => month,
        IntervalUnit::Quarter => (month + 2) / 3,
        IntervalUnit::Year => year,
        IntervalUnit::SecondMicrosecond => second * 1_000_000 + micro,
        IntervalUnit::MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micro,
        IntervalUnit::MinuteSecond => minute * 100 + second,
        IntervalUnit::HourMicrosecond => ((hour * 100 + minute) * 100 + second) * 1_000_000 + micro,
        IntervalUnit::HourSecond => (hour * 100 + minute) * 100 + second,
        IntervalUnit::HourMinute => hour * 100 + minute,
        IntervalUnit::DayMicrosecond => (((day * 100 + hour) * 100 + minute) * 100 + second) * 1_000_000 + micro,
        IntervalUnit::DaySecond => ((day * 100 + hour) * 100 + minute) * 100 + second,
        IntervalUnit::DayMinute => (day * 100 + hour) * 100 + minute,
        IntervalUnit::DayHour => day * 100 + hour,
        IntervalUnit::YearMonth => year * 100 + month,
    };
    Ok(Value::Int(sign * number))
}

/// `TIMESTAMPDIFF(unit, from, to)`: whole units between the two.
pub(super) fn difference(
    unit: IntervalUnit,
    from: &Value,
    to: &Value,
    cx: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    let (from, to) = (to_complete_datetime(from, cx)?, to_complete_datetime(to, cx)?);
    let Some((from, to)) = from.zip(to) else { return Ok(Value::Null) };
    let micros = to.micros() - from.micros();
    let months_each = match unit {
        IntervalUnit::Month => 1,
        IntervalUnit::Quarter => 3,
        IntervalUnit::Year => 12,
        other => {
            let each = Interval::of(other, 1).map_or(1, |one| one.micros.max(1));
            return Ok(Value::Int((i128::from(micros) / each) as i64));
        }
    };
    let (early, late) = if micros < 0 { (to, from) } else { (from, to) };
    let month_of = |value: DateTime| i64::from(value.date().year) * 12 + i64::from(value.date().month);
    let into_month = |value: DateTime| i64::from(value.date().day) * DAY_US + value.micros_of_day();
    let months = month_of(late) - month_of(early) - i64::from(into_month(late) < into_month(early));
    Ok(Value::Int(micros.signum() * (months / months_each)))
}

/// The units by number.
#[cfg(test)]
pub(super) fn unit_at(number: usize) -> Option<IntervalUnit> {
    NAMES.get(number).map(|(unit, _)| *unit)
}

impl IntervalUnit {
    /// The unit of this name, in any case.
    pub(crate) fn named(name: &str) -> Option<IntervalUnit> {
        NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(unit, _)| *unit)
    }
}

const NAMES: &[(IntervalUnit, &str)] = &[
    (IntervalUnit::Microsecond, "microsecond"),
    (IntervalUnit::Second, "second"),
    (IntervalUnit::Minute, "minute"),
    (IntervalUnit::Hour, "hour"),
    (IntervalUnit::Day, "day"),
    (IntervalUnit::Week, "week"),
    (IntervalUnit::Month, "month"),
    (IntervalUnit::Quarter, "quarter"),
    (IntervalUnit::Year, "year"),
    (IntervalUnit::SecondMicrosecond, "second_microsecond"),
    (IntervalUnit::MinuteMicrosecond, "minute_microsecond"),
    (IntervalUnit::MinuteSecond, "minute_second"),
    (IntervalUnit::HourMicrosecond, "hour_microsecond"),
    (IntervalUnit::HourSecond, "hour_second"),
    (IntervalUnit::HourMinute, "hour_minute"),
    (IntervalUnit::DayMicrosecond, "day_microsecond"),
    (IntervalUnit::DaySecond, "day_second"),
    (IntervalUnit::DayMinute, "day_minute"),
    (IntervalUnit::DayHour, "day_hour"),
    (IntervalUnit::YearMonth, "year_month"),
];

impl fmt::Display for IntervalUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(unit, _)| unit == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}
