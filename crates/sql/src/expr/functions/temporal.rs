//! Functions of dates and times. "Now" is when the statement started, except in SYSDATE.

use super::super::convert::{
    at, has_time, incorrect, is_date, is_time, now, read_datetime, to_complete_datetime, to_datetime, to_decimal,
    to_i64, to_text, to_time, today, truncated,
};
use super::super::interval::in_full;
use super::super::{Expr, IntervalUnit};
use super::{Arguments, Form, Function, one};
use crate::collation::Collation;
use crate::error::{ER_WRONG_ARGUMENTS, ER_WRONG_VALUE_FOR_TYPE, SqlError};
use crate::types::decimal::Decimal;
use crate::types::temporal::calendar::{EPOCH_TO_DAYS, day_of_year, days_in_month, week, weekday};
use crate::types::temporal::{Date, DateTime, SECOND_US, Time, TimeZone, format};
use crate::types::{DateUse, Family, FieldType, NOT_FIXED_DECIMALS, ResultType, TemporalKind};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("now", 0, 1, statement_time, datetime)
        .digits_at(0)
        .aliases(&["current_timestamp", "localtime", "localtimestamp"])
        .form(Form::Bare)
        .doc("Date and time of the statement.", "NOW() = CURRENT_TIMESTAMP", "1"),
    Function::new("sysdate", 0, 1, |a| Ok(Value::DateTime(at(a.cx.statement.clock_us(), a.cx, a.fsp(0)?))), datetime)
        .digits_at(0)
        .volatile()
        .form(Form::Bare)
        .doc("Date and time of the call.", "SYSDATE() >= NOW()", "1"),
    Function::new("utc_timestamp", 0, 1, |a| a.utc().map(Value::DateTime), datetime).digits_at(0).form(Form::Bare).doc(
        "Date and time of the statement in UTC.",
        "UTC_TIMESTAMP() >= UTC_DATE()",
        "1",
    ),
    Function::new("utc_date", 0, 0, |a| a.utc().map(|value| Value::Date(value.date())), |_| date())
        .form(Form::Bare)
        .doc("The date of the statement in UTC.", "UTC_DATE() = DATE(UTC_TIMESTAMP())", "1"),
    Function::new("utc_time", 0, 1, |a| a.utc().map(of_day), |_| time(0)).digits_at(0).form(Form::Bare).doc(
        "The time of day of the statement in UTC.",
        "UTC_TIME() = TIME(UTC_TIMESTAMP())",
        "1",
    ),
    Function::new("curdate", 0, 0, |a| Ok(Value::Date(today(a.cx))), |_| date())
        .aliases(&["current_date"])
        .form(Form::Bare)
        .doc("The date of the statement.", "CURDATE() = DATE(NOW())", "1"),
    Function::new("curtime", 0, 1, |a| Ok(of_day(now(a.cx, a.fsp(0)?))), |_| time(0))
        .digits_at(0)
        .aliases(&["current_time"])
        .form(Form::Bare)
        .doc("The time of day of the statement.", "CURTIME() = TIME(NOW())", "1"),
    Function::new("date", 1, 1, |a| a.datetime(0, |value| Value::Date(value.date())), |_| date())
        .in_grammar()
        .hands_on_dates()
        .doc("The date of a date with a time.", "DATE('2003-12-31 01:02:03')", "2003-12-31"),
    Function::new(
        "time",
        1,
        1,
        |a| Ok(to_time(&a[0], a.cx)?.map_or(Value::Null, Value::Time)),
        |a| time(fraction(&a[0])),
    )
    .reads_times()
    .joins()
    .doc("The time of a date with a time.", "TIME('2003-12-31 01:02:03')", "01:02:03"),
    Function::new("timestamp", 1, 2, timestamp, |a| {
        ResultType::temporal(FieldType::DateTime, a.iter().map(fraction).max().unwrap_or(0))
    })
    .reads_times()
    .joins()
    .in_grammar()
    .hands_on_dates()
    .doc(
        "The argument as date and time, with a time added.",
        "TIMESTAMP('2003-12-31 12:00:00', '12:00:00')",
        "2004-01-01 00:00:00",
    ),
    Function::new("datediff", 2, 2, date_difference, |_| ResultType::integer(7)).of_complete_dates().doc(
        "Days from the second date to the first.",
        "DATEDIFF('2007-12-31 23:59:59', '2007-12-30')",
        "1",
    ),
    Function::new("timediff", 2, 2, time_difference, |a| time(fraction(&a[0]).max(fraction(&a[1]))))
        .reads_times()
        .joins()
        .doc("The time from the second argument to the first.", "TIMEDIFF('12:30:00', '11:15:00')", "01:15:00"),
    Function::new("addtime", 2, 2, |a| add_time(a, 1), add_time_type).takes_null().joins().doc(
        "The first argument with a time added.",
        "ADDTIME('2007-12-31 23:59:59', '1:1:1')",
        "2008-01-01 01:01:00",
    ),
    Function::new("subtime", 2, 2, |a| add_time(a, -1), add_time_type).takes_null().joins().doc(
        "The first argument with a time subtracted.",
        "SUBTIME('2007-12-31 23:59:59', '1:1:1')",
        "2007-12-31 22:58:58",
    ),
    Function::new("date_format", 2, 2, date_format, |a| text(a[1].length.saturating_mul(10))).joins().doc(
        "A date as a format writes it.",
        "DATE_FORMAT('2009-10-04 22:23:00', '%W %M %Y')",
        "Sunday October 2009",
    ),
    Function::new("time_format", 2, 2, time_format, |a| text(a[1].length.saturating_mul(10))).joins().doc(
        "A time as a format writes it.",
        "TIME_FORMAT('100:00:00', '%H %k %h %I %l')",
        "100 100 04 04 4",
    ),
    Function::new("str_to_date", 2, 2, str_to_date, |_| ResultType::temporal(FieldType::DateTime, 6))
        .hands_on_dates()
        .format_at(1)
        .joins()
        .doc("The date or time that a text has in a format.", "STR_TO_DATE('01,5,2013', '%d,%m,%Y')", "2013-05-01"),
    Function::new("unix_timestamp", 0, 1, unix_timestamp, |a| {
        a.first().map_or(ResultType::integer(11), |arg| seconds_type(fraction(arg)))
    })
    .reads_times()
    .doc("Seconds since 1970 in UTC.", "UNIX_TIMESTAMP('1970-01-02 00:00:00')", "86400"),
    Function::new("from_unixtime", 1, 2, from_unixtime, from_unixtime_type).joins().doc(
        "Date and time of so many seconds since 1970 in UTC, as a format writes it.",
        "FROM_UNIXTIME(1447430881)",
        "2015-11-13 16:08:01",
    ),
    Function::new("dayname", 1, 1, |a| a.day(|day| Value::text(format::day_name(weekday(day.days())))), |_| text(9))
        .of_complete_dates()
        .doc("The name of the day of the week.", "DAYNAME('2007-02-03')", "Saturday"),
    Function::new(
        "monthname",
        1,
        1,
        |a| a.datetime(0, |v| format::month_name(v.date().month).map_or(Value::Null, Value::text)),
        |_| text(9),
    )
    .doc("The name of the month.", "MONTHNAME('2008-02-03')", "February"),
    Function::new(
        "dayofweek",
        1,
        1,
        |a| a.day(|day| Value::Int(i64::from((weekday(day.days()) + 1) % 7 + 1))),
        |_| ResultType::integer(1),
    )
    .of_complete_dates()
    .doc("The day of the week: 1 is Sunday, 7 is Saturday.", "DAYOFWEEK('2007-02-03')", "7"),
    Function::new("weekday", 1, 1, |a| a.day(|day| Value::Int(weekday(day.days()).into())), |_| ResultType::integer(1))
        .of_complete_dates()
        .doc("The day of the week: 0 is Monday, 6 is Sunday.", "WEEKDAY('2008-02-03')", "6"),
    Function::new(
        "dayofyear",
        1,
        1,
        |a| a.day(|day| Value::Int(day_of_year(day.year, day.month, day.day).into())),
        |_| ResultType::integer(3),
    )
    .of_complete_dates()
    .doc("The day of the year, from 1.", "DAYOFYEAR('2007-02-03')", "34"),
    Function::new("week", 1, 2, week_of, |_| ResultType::integer(2)).in_grammar().of_complete_dates().doc(
        "The number of the week, counted as a mode says.",
        "WEEK('2008-02-20', 1)",
        "8",
    ),
    Function::new(
        "weekofyear",
        1,
        1,
        |a| a.day(|day| Value::Int(week(day.year, day.month, day.day, 3).1.into())),
        |_| ResultType::integer(2),
    )
    .of_complete_dates()
    .doc("The number of the week by ISO 8601.", "WEEKOFYEAR('2008-02-20')", "8"),
    Function::new("yearweek", 1, 2, year_week, |_| ResultType::integer(6)).of_complete_dates().doc(
        "Year and number of the week, counted as a mode says.",
        "YEARWEEK('1987-01-01')",
        "198652",
    ),
    Function::new("last_day", 1, 1, last_day, |_| date()).hands_on_dates().doc(
        "The last day of the month.",
        "LAST_DAY('2004-02-05')",
        "2004-02-29",
    ),
    Function::new("to_days", 1, 1, |a| a.day(|day| Value::Int(day.days() + EPOCH_TO_DAYS)), |_| ResultType::integer(6))
        .of_complete_dates()
        .doc("Days since the year 0.", "TO_DAYS('2007-10-07')", "733321"),
    Function::new("to_seconds", 1, 1, to_seconds, |_| ResultType::integer(12)).of_complete_dates().doc(
        "Seconds since the year 0.",
        "TO_SECONDS('2009-11-29')",
        "63426672000",
    ),
    Function::new("from_days", 1, 1, from_days, |_| date()).doc(
        "The date of so many days since the year 0.",
        "FROM_DAYS(730669)",
        "2000-07-03",
    ),
    Function::new("makedate", 2, 2, make_date, |_| date()).doc(
        "The date of a day of a year.",
        "MAKEDATE(2011, 32)",
        "2011-02-01",
    ),
    Function::new("maketime", 3, 3, make_time, |a| time(fraction_of_number(&a[2]))).joins().doc(
        "The time of hours, minutes and seconds.",
        "MAKETIME(12, 15, 30)",
        "12:15:30",
    ),
    Function::new("period_add", 2, 2, period_add, |_| ResultType::integer(6)).doc(
        "The month, as YYYYMM, so many months later.",
        "PERIOD_ADD(200801, 2)",
        "200803",
    ),
    Function::new("period_diff", 2, 2, period_difference, |_| ResultType::integer(6)).doc(
        "Months from the second month to the first, both as YYYYMM.",
        "PERIOD_DIFF(200802, 200703)",
        "11",
    ),
    Function::new("sec_to_time", 1, 1, sec_to_time, |a| time(fraction_of_number(&a[0]))).doc(
        "Seconds as a time.",
        "SEC_TO_TIME(2378)",
        "00:39:38",
    ),
    Function::new(
        "time_to_sec",
        1,
        1,
        |a| Ok(to_time(&a[0], a.cx)?.map_or(Value::Null, |t| Value::Int(t.micros / SECOND_US))),
        |_| ResultType::integer(10),
    )
    .doc("A time in seconds.", "TIME_TO_SEC('22:23:00')", "80580"),
    Function::new("convert_tz", 3, 3, convert_tz, |a| ResultType::temporal(FieldType::DateTime, fraction(&a[0])))
        .reads_times()
        .joins()
        .of_complete_dates()
        .doc(
            "Date and time of one time zone in another.",
            "CONVERT_TZ('2004-01-01 12:00:00', '+00:00', '+10:00')",
            "2004-01-01 22:00:00",
        ),
    Function::rewritten("year", 1, 1, |args| part(args, IntervalUnit::Year)).in_grammar().doc(
        "The year of a date.",
        "YEAR('1987-01-01')",
        "1987",
    ),
    Function::rewritten("quarter", 1, 1, |args| part(args, IntervalUnit::Quarter)).in_grammar().doc(
        "The quarter of a date, from 1.",
        "QUARTER('2008-04-01')",
        "2",
    ),
    Function::rewritten("month", 1, 1, |args| part(args, IntervalUnit::Month)).in_grammar().doc(
        "The month of a date, from 1.",
        "MONTH('2008-02-03')",
        "2",
    ),
    Function::rewritten("day", 1, 1, |args| part(args, IntervalUnit::Day)).in_grammar().doc(
        "The day of the month.",
        "DAY('2007-02-03')",
        "3",
    ),
    Function::rewritten("dayofmonth", 1, 1, |args| part(args, IntervalUnit::Day)).doc(
        "The day of the month.",
        "DAYOFMONTH('2007-02-03')",
        "3",
    ),
    Function::rewritten("hour", 1, 1, |args| part(args, IntervalUnit::Hour)).in_grammar().doc(
        "The hours of a time.",
        "HOUR('10:05:03')",
        "10",
    ),
    Function::rewritten("minute", 1, 1, |args| part(args, IntervalUnit::Minute)).in_grammar().doc(
        "The minutes of a time.",
        "MINUTE('2008-02-03 10:05:03')",
        "5",
    ),
    Function::rewritten("second", 1, 1, |args| part(args, IntervalUnit::Second)).in_grammar().doc(
        "The seconds of a time.",
        "SECOND('10:05:03')",
        "3",
    ),
    Function::rewritten("microsecond", 1, 1, |args| part(args, IntervalUnit::Microsecond)).in_grammar().doc(
        "The microseconds of a time.",
        "MICROSECOND('12:00:00.123456')",
        "123456",
    ),
    Function::new("get_format", 2, 2, get_format, |_| text(17)).form(Form::GetFormat).doc(
        "The format in which a region writes dates, times or both.",
        "GET_FORMAT(DATE, 'USA')",
        "%m.%d.%Y",
    ),
    Function::parsed("date_add", 2, 2, Form::DateArithmetic { negated: false, days: false }).doc(
        "The date with an interval added.",
        "DATE_ADD('2018-05-01', INTERVAL 1 DAY)",
        "2018-05-02",
    ),
    Function::parsed("date_sub", 2, 2, Form::DateArithmetic { negated: true, days: false }).doc(
        "The date with an interval subtracted.",
        "DATE_SUB('2018-05-01', INTERVAL 1 YEAR)",
        "2017-05-01",
    ),
    Function::parsed("adddate", 2, 2, Form::DateArithmetic { negated: false, days: true }).doc(
        "The date so many days later; also with INTERVAL.",
        "ADDDATE('2008-01-02', 31)",
        "2008-02-02",
    ),
    Function::parsed("subdate", 2, 2, Form::DateArithmetic { negated: true, days: true }).doc(
        "The date so many days earlier; also with INTERVAL.",
        "SUBDATE('2008-01-02', 31)",
        "2007-12-02",
    ),
    Function::parsed("extract", 2, 2, Form::Extract).doc(
        "A part of a date or time.",
        "EXTRACT(YEAR_MONTH FROM '2019-07-02 01:02:03')",
        "201907",
    ),
    Function::parsed("timestampadd", 3, 3, Form::TimestampAdd).doc(
        "Date and time so many units later.",
        "TIMESTAMPADD(MINUTE, 1, '2003-01-02')",
        "2003-01-02 00:01:00",
    ),
    Function::parsed("timestampdiff", 3, 3, Form::TimestampDiff).doc(
        "Whole units from the second argument to the third.",
        "TIMESTAMPDIFF(MONTH, '2003-02-01', '2003-05-01')",
        "3",
    ),
];

/// A part of a date or time.
fn part(args: Vec<Expr>, unit: IntervalUnit) -> Result<Expr, SqlError> {
    let part = one(args, |date| Ok(Expr::extract(unit, date)))?;
    // EXTRACT has the sign of a time.
    if unit.is_of_time() { Expr::call("abs", vec![part]) } else { Ok(part) }
}

fn date() -> ResultType {
    ResultType::temporal(FieldType::Date, 0)
}

fn time(fsp: u8) -> ResultType {
    ResultType::temporal(FieldType::Time, fsp)
}

fn datetime(_: &[ResultType]) -> ResultType {
    ResultType::temporal(FieldType::DateTime, 0)
}

fn text(chars: u32) -> ResultType {
    ResultType::string(chars, Collation::DEFAULT)
}

/// Fractional digits that a result made of an argument has.
fn fraction(arg: &ResultType) -> u8 {
    if arg.decimals == NOT_FIXED_DECIMALS { 6 } else { arg.decimals.min(6) }
}

/// Digits of a fraction of seconds; a text has any.
fn fraction_of_number(arg: &ResultType) -> u8 {
    if arg.family() == Family::String { 6 } else { fraction(arg) }
}

fn seconds_type(fsp: u8) -> ResultType {
    if fsp == 0 { ResultType::integer(11) } else { ResultType::decimal(11 + u32::from(fsp), fsp) }
}

fn from_unixtime_type(args: &[ResultType]) -> ResultType {
    match args {
        [arg] => ResultType::temporal(FieldType::DateTime, fraction_of_number(arg)),
        _ => text(100),
    }
}

fn of_day(value: DateTime) -> Value {
    Value::Time(Time { micros: value.micros_of_day(), fsp: value.fsp() })
}

impl Arguments<'_, '_> {
    /// The fractional digits that argument `at` asks for.
    fn fsp(&self, at: usize) -> Result<u8, SqlError> {
        let Some(arg) = self.get(at) else { return Ok(0) };
        let fsp = to_i64(arg, self.cx)?;
        u8::try_from(fsp)
            .ok()
            .filter(|fsp| *fsp <= 6)
            .ok_or_else(|| SqlError::new(crate::error::ER_TOO_BIG_PRECISION, &[&fsp, &self.call.name(), &6]))
    }

    fn utc(&self) -> Result<DateTime, SqlError> {
        let fsp = self.fsp(0)?;
        let unit = crate::types::temporal::fraction_unit(fsp);
        let micros = self.cx.statement.now_us().div_euclid(unit) * unit;
        DateTime::from_micros(micros, fsp).ok_or_else(|| SqlError::internal("the clock is outside of the calendar"))
    }

    /// Argument `arg` as date and time, of the calendar if that is wanted; `None` if it is not one.
    fn moment(&self, arg: usize) -> Result<Option<DateTime>, SqlError> {
        if self.complete { to_complete_datetime(&self[arg], self.cx) } else { to_datetime(&self[arg], self.cx) }
    }

    /// Argument `arg` as date and time whose time is wanted; `None` if it is neither.
    fn clock(&self, arg: usize) -> Result<Option<DateTime>, SqlError> {
        read_datetime(&self[arg], DateUse::Clock, self.cx)
    }

    /// Of argument `arg` as date and time; NULL if it is neither.
    fn datetime(&self, arg: usize, make: impl FnOnce(DateTime) -> Value) -> Result<Value, SqlError> {
        Ok(self.moment(arg)?.map_or(Value::Null, make))
    }

    /// Of the first argument as a date of the calendar; NULL if it is none or incomplete.
    fn day(&self, make: impl FnOnce(Date) -> Value) -> Result<Value, SqlError> {
        Ok(to_complete_datetime(&self[0], self.cx)?.map_or(Value::Null, |value| make(value.date())))
    }
}

fn statement_time(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::DateTime(now(args.cx, args.fsp(0)?)))
}

fn timestamp(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let Some(value) = args.moment(0)? else { return Ok(Value::Null) };
    let Some(added) = args.get(1) else { return Ok(Value::DateTime(value)) };
    let Some(added) = to_time(added, args.cx)? else { return Ok(Value::Null) };
    Ok(sum(value, added.micros, added.fsp).map_or(Value::Null, Value::DateTime))
}

/// Date and time so many microseconds later; `None` outside of the years 1 to 9999.
fn sum(start: DateTime, micros: i64, fsp: u8) -> Option<DateTime> {
    let sum = DateTime::from_micros(start.micros() + micros, start.fsp().max(fsp));
    sum.filter(|sum| sum.date().year > 0)
}

fn date_difference(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (a, b) = (to_complete_datetime(&args[0], args.cx)?, to_complete_datetime(&args[1], args.cx)?);
    Ok(a.zip(b).map_or(Value::Null, |(a, b)| Value::Int(a.date().days() - b.date().days())))
}

fn time_difference(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let dates = args.iter().any(is_date);
    // Beside a date a text is one too, unless the other side is a time.
    let spans = |arg: &Value| if dates { matches!(arg, Value::Time(_)) } else { is_time(arg) };
    let (difference, fsp) = match (spans(&args[0]), spans(&args[1])) {
        (true, true) => {
            let (Some(a), Some(b)) = (to_time(&args[0], args.cx)?, to_time(&args[1], args.cx)?) else {
                return Ok(Value::Null);
            };
            (a.micros - b.micros, a.fsp.max(b.fsp))
        }
        (false, false) if !dates || has_time(&args[0], args.cx) == has_time(&args[1], args.cx) => {
            let (Some(a), Some(b)) = (args.clock(0)?, args.clock(1)?) else { return Ok(Value::Null) };
            (a.micros() - b.micros(), a.fsp().max(b.fsp()))
        }
        // A time and a date have no difference, nor have a date and a date with a time. Each is read all the same.
        (first_spans, second_spans) => {
            for (at, spans) in [(0, first_spans), (1, second_spans)] {
                let is_one = if spans { to_time(&args[at], args.cx)?.is_some() } else { args.clock(at)?.is_some() };
                if !is_one {
                    break;
                }
            }
            return Ok(Value::Null);
        }
    };
    within_range(difference, fsp, args).map(Value::Time)
}

/// A time, cut to the range of TIME with a warning.
fn within_range(micros: i64, fsp: u8, args: &Arguments<'_, '_>) -> Result<Time, SqlError> {
    let (time, in_range) = Time::clamped(micros, fsp);
    if !in_range {
        let whole = Value::text(Time { micros, fsp }.to_string());
        args.cx.statement.warn(truncated("time", &whole))?;
    }
    Ok(time)
}

/// A date with a time stays one, a time one; of anything else the sum is text.
fn add_time_type(args: &[ResultType]) -> ResultType {
    let digits = fraction_of_number(&args[0]).max(fraction_of_number(&args[1]));
    match args[0].kind().temporal() {
        Some(TemporalKind::Time) => time(digits),
        Some(TemporalKind::DateTime | TemporalKind::Timestamp) => ResultType::temporal(FieldType::DateTime, digits),
        Some(TemporalKind::Date) | None => text(29),
    }
}

fn add_time(args: &Arguments<'_, '_>, sign: i64) -> Result<Value, SqlError> {
    // What is added is a span: a date with a time is none.
    let span = || if is_time(&args[1]) { to_time(&args[1], args.cx) } else { Ok(None) };
    let sum = if is_time(&args[0]) || matches!(args[0], Value::Date(_)) {
        let Some(start) = to_time(&args[0], args.cx)? else { return Ok(Value::Null) };
        let Some(added) = span()? else { return Ok(Value::Null) };
        Value::Time(within_range(start.micros + sign * added.micros, start.fsp.max(added.fsp), args)?)
    } else {
        let Some(start) = args.clock(0)? else { return Ok(Value::Null) };
        let Some(added) = span()? else { return Ok(Value::Null) };
        sum(start, sign * added.micros, added.fsp).map_or(Value::Null, Value::DateTime)
    };
    Ok(match (&args[0], sum) {
        (Value::Time(_) | Value::DateTime(_), sum) | (_, sum @ Value::Null) => sum,
        (_, sum) => in_full(sum),
    })
}

fn date_format(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let Some(value) = to_datetime(&args[0], args.cx)? else { return Ok(Value::Null) };
    let wanted = to_text(&args[1]);
    Ok(format::write(value, &wanted).filter(|_| !wanted.is_empty()).map_or(Value::Null, Value::text))
}

fn time_format(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let Some(time) = to_time(&args[0], args.cx)? else { return Ok(Value::Null) };
    let wanted = to_text(&args[1]);
    Ok(format::write_time(time, &wanted).filter(|_| !wanted.is_empty()).map_or(Value::Null, Value::text))
}

fn str_to_date(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mode = args.cx.statement.sql_mode();
    let allowed = |read: &format::Read| {
        let date = read.value.date();
        let whole = date.year > 0 && !date.is_incomplete();
        (!read.has_date && read.has_time) || (mode.allows(read.value, DateUse::Value) && (whole || !args.complete))
    };
    let Some(read) = format::read(&to_text(&args[0]), &to_text(&args[1])).filter(allowed) else {
        let what = [&"datetime" as &dyn std::fmt::Display, &args[0], &"str_to_date"];
        args.cx.statement.warn(SqlError::new(ER_WRONG_VALUE_FOR_TYPE, &what))?;
        return Ok(Value::Null);
    };
    if read.cut {
        let kind = match (read.has_date, read.has_time) {
            (false, true) => "time",
            (true, true) => "datetime",
            (_, false) => "date",
        };
        args.cx.statement.warn(truncated(kind, &args[0]))?;
    }
    // The format may make a date or a time of it.
    Ok(Value::DateTime(read.value))
}

/// The last moment of FROM_UNIXTIME and UNIX_TIMESTAMP, as of MySQL 8.0.28 where `time_t` has 64 bits: 3001-01-18 23:59:59
/// UTC. TIMESTAMP columns end in 2038.
const LAST_UNIX_TIME_US: i64 = 32_536_771_199 * SECOND_US + 999_999;

fn unix_timestamp(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let Some(arg) = args.first() else { return Ok(Value::Int(args.cx.statement.now_us() / SECOND_US)) };
    let complete = |value: &DateTime| !value.date().is_incomplete();
    let Some(value) = to_datetime(arg, args.cx)?.filter(complete) else { return Ok(Value::Int(0)) };
    let micros = value.micros() - i64::from(args.cx.statement.time_zone().offset_seconds) * SECOND_US;
    if !(SECOND_US..=LAST_UNIX_TIME_US).contains(&micros) {
        return Ok(Value::Int(0));
    }
    if value.fsp() == 0 {
        return Ok(Value::Int(micros / SECOND_US));
    }
    Ok(Value::Decimal(Decimal::new(micros.into(), 6).truncate_to(value.fsp())))
}

/// An argument in seconds: as microseconds, and how many digits of its fraction the result shows.
fn seconds(arg: &Value, args: &Arguments<'_, '_>) -> Result<(i128, u8), SqlError> {
    let number = to_decimal(arg, args.cx)?;
    let exact = matches!(arg, Value::Decimal(_) | Value::Int(_) | Value::UInt(_));
    let fsp = if exact { number.scale().min(6) } else { 6 };
    // Digits that a quotient does not show are cut, others that do not fit are rounded.
    let number = if number.scale() < 6 { number.truncate_to(number.scale()) } else { number };
    Ok((number.round_to(6).to_i128_unscaled(), fsp))
}

fn from_unixtime(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (micros, fsp) = seconds(&args[0], args)?;
    if !(0..=i128::from(LAST_UNIX_TIME_US)).contains(&micros) {
        return Ok(Value::Null);
    }
    let value = at(micros as i64, args.cx, fsp);
    let Some(wanted) = args.get(1) else { return Ok(Value::DateTime(value)) };
    Ok(format::write(value, &to_text(wanted)).map_or(Value::Null, Value::text))
}

fn week_of(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let default = || Ok(args.cx.statement.default_week_format().into());
    let mode = args.get(1).map_or_else(default, |mode| to_i64(mode, args.cx))?;
    args.day(|day| Value::Int(week(day.year, day.month, day.day, (mode & 7) as u8).1.into()))
}

fn year_week(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mode = args.get(1).map_or(Ok(0), |mode| to_i64(mode, args.cx))?;
    args.day(|day| {
        let (year, week) = week(day.year, day.month, day.day, (mode & 7) as u8 | 2);
        Value::Int(i64::from(year) * 100 + i64::from(week))
    })
}

fn last_day(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let Some(value) = args.moment(0)? else { return Ok(Value::Null) };
    let date = value.date();
    if date.month == 0 {
        args.cx.statement.warn(incorrect("datetime", &Value::Date(date)))?;
        return Ok(Value::Null);
    }
    Ok(Value::Date(Date { day: days_in_month(date.year, date.month), ..date }))
}

fn to_seconds(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let seconds = |value: DateTime| EPOCH_TO_DAYS * 86_400 + value.micros().div_euclid(SECOND_US);
    Ok(to_complete_datetime(&args[0], args.cx)?.map_or(Value::Null, |value| Value::Int(seconds(value))))
}

fn from_days(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let days = to_i64(&args[0], args.cx)?;
    Ok(Value::Date(
        days.checked_sub(EPOCH_TO_DAYS).filter(|_| days > 365).and_then(Date::from_days).unwrap_or(Date::ZERO),
    ))
}

fn make_date(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (year, day) = (to_i64(&args[0], args.cx)?, to_i64(&args[1], args.cx)?);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let (Ok(year), true) = (u16::try_from(year), day > 0) else { return Ok(Value::Null) };
    let first = Date { year, month: 1, day: 1 };
    Ok(first
        .days()
        .checked_add(day - 1)
        .filter(|_| year <= 9999)
        .and_then(Date::from_days)
        .map_or(Value::Null, Value::Date))
}

fn make_time(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (hours, minutes) = (to_i64(&args[0], args.cx)?, to_i64(&args[1], args.cx)?);
    let (micros, fsp) = seconds(&args[2], args)?;
    let micros = i64::try_from(micros).unwrap_or(-1);
    // A second that was rounded up is the next minute's first.
    if !(0..60).contains(&minutes)
        || !(0..=60 * SECOND_US).contains(&micros)
        || to_decimal(&args[2], args.cx)?.to_f64() >= 60.0
    {
        return Ok(Value::Null);
    }
    let span = (hours.unsigned_abs().min(10_000) as i64 * 3600 + minutes * 60) * SECOND_US + micros;
    within_range(if hours < 0 { -span } else { span }, fsp, args).map(Value::Time)
}

/// Months since the year 0 of YYYYMM or YYMM; error 1210 if it is none.
fn months_of_period(args: &Arguments<'_, '_>, at: usize) -> Result<i64, SqlError> {
    let period = to_i64(&args[at], args.cx)?;
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&args.call.name()]));
    }
    let century = match year {
        0..=69 => 2000,
        70..=99 => 1900,
        _ => 0,
    };
    Ok((year + century) * 12 + month - 1)
}

fn period_add(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let months = months_of_period(args, 0)?.saturating_add(to_i64(&args[1], args.cx)?);
    Ok(Value::Int(months.div_euclid(12).saturating_mul(100).saturating_add(months.rem_euclid(12) + 1)))
}

fn period_difference(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::Int(months_of_period(args, 0)? - months_of_period(args, 1)?))
}

fn sec_to_time(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (micros, fsp) = seconds(&args[0], args)?;
    let (time, in_range) = Time::clamped(micros.clamp(i64::MIN.into(), i64::MAX.into()) as i64, fsp);
    if !in_range {
        args.cx.statement.warn(truncated("time", &args[0]))?;
    }
    Ok(Value::Time(time))
}

fn convert_tz(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let zones = (TimeZone::parse(&to_text(&args[1])), TimeZone::parse(&to_text(&args[2])));
    // Unknown zones give NULL.
    let (Ok(from), Ok(to)) = zones else { return Ok(Value::Null) };
    let Some(value) = to_complete_datetime(&args[0], args.cx)? else { return Ok(Value::Null) };
    // Beyond the range of TIMESTAMP nothing is converted.
    let Some(point) = value.to_timestamp(from) else { return Ok(Value::DateTime(value)) };
    Ok(Value::DateTime(point.to_datetime(to)))
}

/// The formats of dates, of times, and of both.
const FORMATS: [(&str, [&str; 3]); 5] = [
    ("EUR", ["%d.%m.%Y", "%H.%i.%s", "%Y-%m-%d %H.%i.%s"]),
    ("INTERNAL", ["%Y%m%d", "%H%i%s", "%Y%m%d%H%i%s"]),
    ("ISO", ["%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"]),
    ("JIS", ["%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"]),
    ("USA", ["%m.%d.%Y", "%h:%i:%s %p", "%Y-%m-%d %H.%i.%s"]),
];

fn get_format(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let region = to_text(&args[1]);
    let formats = FORMATS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&region));
    let of_kind = |formats: &[&'static str; 3]| match &*to_text(&args[0]) {
        "DATE" => formats[0],
        "TIME" => formats[1],
        _ => formats[2],
    };
    Ok(formats.map_or(Value::Null, |(_, formats)| Value::text(of_kind(formats))))
}
