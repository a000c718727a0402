//! Counting days in the proleptic Gregorian calendar, where the year 0 has 365 days as in MySQL.

/// 1970-01-01 as MySQL's TO_DAYS counts.
pub const EPOCH_TO_DAYS: i64 = 719_528;

/// 0001-01-01, the first day that MySQL makes of a number of days.
const FIRST_DAY: i64 = 366 - EPOCH_TO_DAYS;

/// Whether `year` has a 29th of February.
pub fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) && year != 0
}

/// Days of a month from 1 to 12.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01.
pub fn days_from_civil(year: u16, month: u8, day: u8) -> i64 {
    // The leap day that the year 0 does not have.
    let missing = i64::from(year == 0 && month <= 2);
    // Years start in March here, so that the leap day is a year's last.
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = i64::from(month);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468 + missing
}

/// Year, month and day of a day since 1970-01-01, within the years 1 to 9999. Those of the year 0 are
/// the zero date.
pub fn civil_from_days(days: i64) -> Option<(u16, u8, u8)> {
    if (-EPOCH_TO_DAYS..FIRST_DAY).contains(&days) {
        return Some((0, 0, 0));
    }
    let days = days.checked_add(719_468)?;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (1..=9999).contains(&year).then_some((year as u16, month as u8, day as u8))
}

/// 0 for Monday to 6 for Sunday.
pub fn weekday(days: i64) -> u8 {
    (days + 3).rem_euclid(7) as u8
}

/// 1 for the first of January.
pub fn day_of_year(year: u16, month: u8, day: u8) -> u16 {
    (days_from_civil(year, month.max(1), day.max(1)) - days_from_civil(year, 1, 1) + i64::from(day > 0)) as u16
}

/// The week of a day and the year that the week belongs to, under one of MySQL's modes 0 to 7: bit 0
/// lets weeks start on Monday, bit 1 numbers them from 1 (else days before the first week are in week
/// 0), bit 2 swaps the rule for the first week, which is the first whole one if weeks start on
/// Sunday and the first with four days if they start on Monday.
pub fn week(year: u16, month: u8, day: u8, mode: u8) -> (u16, u8) {
    let monday_first = mode & 1 != 0;
    let from_one = mode & 2 != 0;
    let first_whole = (mode & 4 != 0) == monday_first;
    let first_week_starts = |year: u16| {
        // The week with four days in the year holds the 4th of January; the first whole one starts
        // within the first seven days.
        let anchor = days_from_civil(year, 1, if first_whole { 7 } else { 4 });
        let into_week = if monday_first { weekday(anchor) } else { (weekday(anchor) + 1) % 7 };
        anchor - i64::from(into_week)
    };
    let today = days_from_civil(year, month, day);
    let week_since = |start: i64| ((today - start) / 7 + 1) as u8;
    let start = first_week_starts(year);
    if today < start {
        return match year {
            // Only the day before the year is before a first week that begins with it.
            _ if !from_one && start > days_from_civil(year, 1, 1) => (year, 0),
            // A year before it would have 365 days, as it has itself.
            0 => (0, 52),
            _ => (year - 1, week_since(first_week_starts(year - 1))),
        };
    }
    if from_one && today >= first_week_starts(year + 1) {
        return (year + 1, 1);
    }
    (year, week_since(start))
}
