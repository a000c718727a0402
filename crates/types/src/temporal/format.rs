//! The format language of DATE_FORMAT and STR_TO_DATE.

use std::fmt::Write as _;

use super::calendar::{day_of_year, days_from_civil, week, weekday};
use super::{Date, DateTime, SECOND_US, Time};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The English name of a month from 1 to 12.
pub fn month_name(month: u8) -> Option<&'static str> {
    MONTHS.get(usize::from(month).checked_sub(1)?).copied()
}

/// The English name of a weekday, 0 for Monday.
pub fn day_name(weekday: u8) -> &'static str {
    DAYS[usize::from(weekday % 7)]
}

/// Writes `value` as `format` says; `None` where it asks for the name or a week of a zero month, or for a weekday of one in
/// the year 0.
pub fn write(value: DateTime, format: &str) -> Option<String> {
    let (hour, minute, second, micro) = value.clock();
    write_parts(Some(value.date()), (u32::from(hour), minute, second, micro), format)
}

/// Writes a time, which may have more than 24 hours; `None` where `format` asks for what only a date has.
pub fn write_time(value: Time, format: &str) -> Option<String> {
    let text = write_parts(None, value.parts(), format)?;
    Some(if value.micros < 0 { format!("-{text}") } else { text })
}

fn write_parts(date: Option<Date>, clock: (u32, u8, u8, u32), format: &str) -> Option<String> {
    let (hour, minute, second, micro) = clock;
    let hour12 = (hour % 24 + 11) % 12 + 1;
    let (of_date, date) = (date, date.unwrap_or(Date::ZERO));
    let mut out = String::with_capacity(format.len() + 16);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        // Day 0 is the one before the first of its month; month 0 has no days.
        let weekday_of = || (date.month > 0 || date.year > 0).then(|| weekday(date.days()));
        let week_of = |mode| (date.month > 0).then(|| week(date.year, date.month, date.day, mode));
        // Writing to a String cannot fail.
        let _ = match chars.next() {
            None => out.write_char('%'),
            Some('a') => out.write_str(&day_name(weekday_of()?)[..3]),
            Some('b') => out.write_str(&month_name(date.month)?[..3]),
            Some('c') => write!(out, "{}", of_date?.month),
            Some('D') => write!(out, "{}{}", of_date?.day, ordinal_suffix(date.day)),
            Some('d') => write!(out, "{:02}", date.day),
            Some('e') => write!(out, "{}", of_date?.day),
            Some('f') => write!(out, "{micro:06}"),
            Some('H') => write!(out, "{hour:02}"),
            Some('h' | 'I') => write!(out, "{hour12:02}"),
            Some('i') => write!(out, "{minute:02}"),
            Some('j') => of_date.map(|date| write!(out, "{:03}", day_of_year(date.year, date.month, date.day)))?,
            Some('k') => write!(out, "{hour}"),
            Some('l') => write!(out, "{hour12}"),
            Some('M') => out.write_str(month_name(date.month)?),
            Some('m') => write!(out, "{:02}", date.month),
            Some('p') => out.write_str(half_of_day(hour)),
            Some('r') => write!(out, "{hour12:02}:{minute:02}:{second:02} {}", half_of_day(hour)),
            Some('S' | 's') => write!(out, "{second:02}"),
            Some('T') => write!(out, "{hour:02}:{minute:02}:{second:02}"),
            Some('U') => write!(out, "{:02}", week_of(0)?.1),
            Some('u') => write!(out, "{:02}", week_of(1)?.1),
            Some('V') => write!(out, "{:02}", week_of(2)?.1),
            Some('v') => write!(out, "{:02}", week_of(3)?.1),
            Some('W') => out.write_str(day_name(weekday_of()?)),
            Some('w') => write!(out, "{}", (weekday_of()? + 1) % 7),
            Some('X') => write!(out, "{:04}", week_of(2)?.0),
            Some('x') => write!(out, "{:04}", week_of(3)?.0),
            Some('Y') => write!(out, "{:04}", date.year),
            Some('y') => write!(out, "{:02}", date.year % 100),
            Some(other) => out.write_char(other),
        };
    }
    Some(out)
}

fn half_of_day(hour: u32) -> &'static str {
    if hour % 24 < 12 { "AM" } else { "PM" }
}

fn ordinal_suffix(day: u8) -> &'static str {
    match (day % 10, day / 10) {
        (_, 1) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

/// What [`read`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The value; parts that the format does not name are zero.
    pub value: DateTime,
    /// The format names a part of a date.
    pub has_date: bool,
    /// The format names a part of a time.
    pub has_time: bool,
    /// Text that the format does not name was left over.
    pub cut: bool,
}

/// Which parts a format names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// A part of a date.
    pub date: bool,
    /// A part of a time.
    pub time: bool,
    /// The fraction of a second.
    pub fraction: bool,
}

impl Parts {
    fn add(&mut self, specifier: char) {
        match specifier {
            'Y' | 'y' | 'c' | 'm' | 'd' | 'e' | 'M' | 'b' | 'D' | 'j' => self.date = true,
            'a' | 'W' | 'w' | 'U' | 'u' | 'V' | 'v' | 'X' | 'x' => self.date = true,
            'H' | 'k' | 'h' | 'I' | 'l' | 'i' | 'S' | 's' | 'f' | 'p' => self.time = true,
            _ => {}
        }
        self.fraction |= specifier == 'f';
    }
}

/// The parts that `format` names.
pub fn parts(format: &str) -> Parts {
    let (mut parts, mut chars) = (Parts::default(), expand(format).into_iter());
    while let Some(c) = chars.next() {
        if c == '%' {
            chars.next().into_iter().for_each(|specifier| parts.add(specifier));
        }
    }
    parts
}

/// Reads `text` as `format` says; `None` if it does not match or is no date. Where the text ends before the format, the
/// other parts are zero.
pub fn read(text: &str, format: &str) -> Option<Read> {
    let mut rest = text.trim_ascii_start();
    let (mut date, mut week) = (Date::ZERO, Week::default());
    let (mut hour, mut minute, mut second, mut micro) = (0, 0, 0, 0);
    let (mut afternoon, mut twelve_hours) = (false, false);
    let parts = parts(format);
    let fsp = if parts.fraction { 6 } else { 0 };
    let format = expand(format);
    let mut chars = format.iter().copied();
    while let Some(c) = chars.next() {
        // Blanks match any number of blanks, and may stand before everything.
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            break;
        }
        if c.is_whitespace() {
            continue;
        }
        if c != '%' {
            rest = rest.strip_prefix(c)?;
            continue;
        }
        let specifier = chars.next()?;
        match specifier {
            'Y' | 'y' => {
                let before = rest.len();
                date.year = number(&mut rest, if specifier == 'Y' { 4 } else { 2 })? as u16;
                // Two digits lack the century.
                if before - rest.len() <= 2 {
                    date.year += if date.year < 70 { 2000 } else { 1900 };
                }
            }
            'c' | 'm' => date.month = number(&mut rest, 2)? as u8,
            'd' | 'e' => date.day = number(&mut rest, 2)? as u8,
            'D' => {
                date.day = number(&mut rest, 2)? as u8;
                rest = rest.get(2..)?;
            }
            'M' => date.month = name(&mut rest, &MONTHS, usize::MAX)?,
            'b' => date.month = name(&mut rest, &MONTHS, 3)?,
            'a' => week.day = Some(name(&mut rest, &DAYS, 3)?),
            'W' => week.day = Some(name(&mut rest, &DAYS, usize::MAX)?),
            'w' => week.day = Some(number(&mut rest, 1).filter(|day| *day < 7)?.checked_sub(1).unwrap_or(6) as u8 + 1),
            'U' | 'u' | 'V' | 'v' => week.number = Some((specifier, number(&mut rest, 2).filter(|week| *week <= 53)?)),
            'X' | 'x' => week.year = Some((specifier, number(&mut rest, 4)? as u16)),
            'j' => {
                let day = number(&mut rest, 3)?;
                date = Date::from_days(Date { year: date.year, month: 1, day: 1 }.days() + i64::from(day) - 1)?;
            }
            'H' | 'k' => hour = number(&mut rest, 2)?,
            'h' | 'I' | 'l' => {
                hour = number(&mut rest, 2).filter(|hour| (1..=12).contains(hour))? % 12;
                twelve_hours = true;
            }
            'i' => minute = number(&mut rest, 2)?,
            'S' | 's' => second = number(&mut rest, 2)?,
            'f' => {
                let before = rest.len();
                let digits = number(&mut rest, 6)?;
                micro = digits * 10u32.pow(6 - (before - rest.len()) as u32);
            }
            'p' => {
                afternoon = match rest.get(..2)?.to_ascii_uppercase().as_str() {
                    "AM" => false,
                    "PM" => true,
                    _ => return None,
                };
                rest = &rest[2..];
            }
            '%' => rest = rest.strip_prefix('%')?,
            _ => return None,
        }
    }
    if let (Some(number), Some(day)) = (week.number, week.day) {
        date = date_of_week(number, day, week.year, date.year)?;
    }
    if twelve_hours && afternoon {
        hour += 12;
    }
    // Whether the month has that day is not checked.
    if date.month > 12 || date.day > 31 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    let value = DateTime::new(date, seconds * SECOND_US + i64::from(micro), fsp);
    Some(Read { value, has_date: parts.date, has_time: parts.time, cut: !rest.trim_ascii().is_empty() })
}

/// What a text has of a week.
#[derive(Clone, Copy, Default)]
struct Week {
    /// The specifier, and the number.
    number: Option<(char, u32)>,
    /// The specifier, and the year that the week is of.
    year: Option<(char, u16)>,
    /// From 1 for Monday to 7.
    day: Option<u8>,
}

/// The day of a week: `%V` is of the year `%X`, `%v` of `%x`, `%U` and `%u` of the year of the date.
fn date_of_week((kind, number): (char, u32), day: u8, year: Option<(char, u16)>, of_date: u16) -> Option<Date> {
    let year = match (kind, year) {
        ('V', Some(('X', year))) | ('v', Some(('x', year))) if number > 0 => year,
        ('U' | 'u', None) => of_date,
        _ => return None,
    };
    let first = days_from_civil(year, 1, 1);
    // Weeks of U and V begin on Sunday, and the first is the first whole one; others have four days of the year.
    let (before, into_week) = match kind {
        'U' | 'V' => ((weekday(first) + 1) % 7, day % 7),
        _ => (weekday(first), day - 1),
    };
    let first_week = match (kind, before) {
        ('U' | 'V', 0) | ('u' | 'v', 0..=3) => first - i64::from(before),
        _ => first + 7 - i64::from(before),
    };
    Date::from_days(first_week + (i64::from(number) - 1) * 7 + i64::from(into_week))
}

/// Writes out the two specifiers that stand for others.
fn expand(format: &str) -> Vec<char> {
    format.replace("%T", "%H:%i:%S").replace("%r", "%I:%i:%S %p").chars().collect()
}

fn number(rest: &mut &str, most_digits: usize) -> Option<u32> {
    let len = rest.bytes().take(most_digits).take_while(u8::is_ascii_digit).count();
    let number = rest.get(..len)?.parse().ok()?;
    *rest = &rest[len..];
    Some(number)
}

/// The place (from 1) of the name that the next word is, or begins if it begins no other. Of a name `most` letters count.
fn name(rest: &mut &str, names: &[&str], most: usize) -> Option<u8> {
    let (word, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii_alphabetic).count());
    let begins = |name: &str| {
        name[..name.len().min(most)].get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    let mut found = names.iter().zip(1..).filter(|(name, _)| begins(name));
    let (Some((_, place)), None) = (found.next(), found.next()) else { return None };
    *rest = after;
    Some(place)
}
