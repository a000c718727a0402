use proptest::prelude::*;

use super::calendar::{EPOCH_TO_DAYS, week, weekday};
use super::*;

fn read(text: &str) -> String {
    parse::datetime(text, TimeZone::UTC)
        .map_or("none".to_owned(), |parsed| format!("{}{}", parsed.value, if parsed.cut { " cut" } else { "" }))
}

#[test]
fn datetimes_are_read_as_mysql_reads_them() {
    assert_eq!(read("2020-01-02 03:04:05"), "2020-01-02 03:04:05");
    assert_eq!(read("2020-1-2"), "2020-01-02 00:00:00");
    assert_eq!(read("2020/01/02T03:04"), "2020-01-02 03:04:00");
    assert_eq!(read("20-1-2"), "2020-01-02 00:00:00");
    assert_eq!(read("70-1-2"), "1970-01-02 00:00:00");
    // Only years of two digits are completed, and not in a date of zeros.
    assert_eq!(read("8-1-9"), "0008-01-09 00:00:00");
    assert_eq!(read("00:00:00"), "0000-00-00 00:00:00");
    assert_eq!(read("20200102030405"), "2020-01-02 03:04:05");
    assert_eq!(read("20200102"), "2020-01-02 00:00:00");
    assert_eq!(read("200102"), "2020-01-02 00:00:00");
    assert_eq!(read("2020-01-02 03:04:05.1234567"), "2020-01-02 03:04:05.123457");
    assert_eq!(read("2020-12-31 23:59:59.9999999"), "2021-01-01 00:00:00.000000");
    assert_eq!(read("2020-01-02 03:04:05xyz"), "2020-01-02 03:04:05 cut");
    assert_eq!(read("2020-01-02 03:04:05+02:00"), "2020-01-02 01:04:05");
    assert_eq!(read("0000-00-00"), "0000-00-00 00:00:00");
    for text in ["2020-13-01", "2020-02-30", "2019-02-29", "abc", "", "2020-01-01 24:00:00"] {
        assert_eq!(read(text), "none", "{text}");
    }
}

#[test]
fn numbers_are_dates() {
    assert_eq!(parse::datetime_from_number(20200102).unwrap().to_string(), "2020-01-02 00:00:00");
    assert_eq!(parse::datetime_from_number(700102).unwrap().to_string(), "1970-01-02 00:00:00");
    assert_eq!(parse::datetime_from_number(20200102030405).unwrap().to_string(), "2020-01-02 03:04:05");
    assert!(parse::datetime_from_number(20201302).is_none());
}

#[test]
fn times_are_read_as_mysql_reads_them() {
    let read = |text: &str| parse::time(text).map(|(parsed, clamped)| (parsed.value.to_string(), clamped));
    assert_eq!(read("10:11:12"), Some(("10:11:12".into(), false)));
    assert_eq!(read("10:11"), Some(("10:11:00".into(), false)));
    assert_eq!(read("101112"), Some(("10:11:12".into(), false)));
    assert_eq!(read("12"), Some(("00:00:12".into(), false)));
    assert_eq!(read("-2 03:00:01.5"), Some(("-51:00:01.5".into(), false)));
    assert_eq!(read("900:00:00"), Some(("838:59:59".into(), true)));
    assert_eq!(read("10:61:00"), None);
    assert_eq!(read("2:"), Some(("00:00:02".into(), false)));
    assert_eq!(read("1e2"), None);
    assert_eq!(read("792020323032342D"), None);
    assert_eq!(read("2020-01-02 03:04:05"), Some(("03:04:05".into(), false)));
}

#[test]
fn rounding_carries_into_the_date() {
    let value = parse::datetime("1999-12-31 23:59:59.6", TimeZone::UTC).unwrap().value;
    assert_eq!(value.round(0).to_string(), "2000-01-01 00:00:00");
    assert_eq!(value.round(3).to_string(), "1999-12-31 23:59:59.600");
}

#[test]
fn timestamps_have_a_range() {
    let at = |text: &str| parse::datetime(text, TimeZone::UTC).unwrap().value.to_timestamp(TimeZone::UTC);
    assert!(at("1970-01-01 00:00:00").is_none());
    assert_eq!(at("1970-01-01 00:00:01").unwrap().micros, SECOND_US);
    assert!(at("2038-01-19 03:14:07").is_some());
    assert!(at("2038-01-19 03:14:08").is_none());
    let zone = TimeZone::parse("+02:00").unwrap();
    let point = parse::datetime("2020-01-01 00:00:00", zone).unwrap().value.to_timestamp(zone).unwrap();
    assert_eq!(point.to_datetime(TimeZone::UTC).to_string(), "2019-12-31 22:00:00");
}

#[test]
fn zones_are_offsets() {
    assert_eq!(TimeZone::parse("-05:30").unwrap().to_string(), "-05:30");
    assert_eq!(TimeZone::parse("SYSTEM"), Ok(TimeZone::UTC));
    for name in ["Europe/Berlin", "+14:01", "-14:00", "+1:60", "+é:00", ""] {
        assert_eq!(TimeZone::parse(name).unwrap_err().errno, 1298, "{name}");
    }
}

#[test]
fn formats_are_written_and_read() {
    let value = parse::datetime("2021-03-04 15:06:07.08", TimeZone::UTC).unwrap().value;
    let written =
        format::write(value, "%W %a %M %b %e %D %d %j %H %h %l %i %s %f %p %r %T %y %Y %% %U %u %V %v %X %x").unwrap();
    assert_eq!(
        written,
        "Thursday Thu March Mar 4 4th 04 063 15 03 3 06 07 080000 PM 03:06:07 PM 15:06:07 21 2021 % 09 09 09 09 2021 2021"
    );
    let read = |text, wanted| format::read(text, wanted).map(|read| read.value.to_string());
    assert_eq!(read("4 Mar 2021", "%e %b %Y").unwrap(), "2021-03-04 00:00:00");
    assert_eq!(read("03:06 PM", "%h:%i %p").unwrap(), "0000-00-00 15:06:00");
    // Whether a month has that day is the SQL mode's to judge.
    assert_eq!(read("2021-02-30", "%Y-%m-%d").unwrap(), "2021-02-30 00:00:00");
    assert_eq!(read("2021-02-32", "%Y-%m-%d"), None);
    assert_eq!(read("x", "%Y"), None);
    // A name may be cut where it is no other's beginning.
    assert_eq!(read("Mar", "%M").unwrap(), "0000-03-00 00:00:00");
    assert_eq!(
        [read("Ma", "%M"), read("March", "%b"), read("Marchx", "%M"), read("J", "%b")],
        [None, None, None, None]
    );
}

#[test]
fn days_are_found_by_their_week() {
    let read = |text, wanted| format::read(text, wanted).map(|read| read.value.date().to_string());
    for (text, wanted, date) in [
        ("200442 Monday", "%X%V %W", "2004-10-18"),
        ("2008 1 Sunday", "%X %V %W", "2008-01-06"),
        ("2008 52 6", "%x %v %w", "2008-12-27"),
        ("2008 52 0", "%x %v %w", "2008-12-28"),
        ("2008 5 Mon", "%Y %U %a", "2008-02-04"),
        ("2008 5 Mon", "%Y %u %a", "2008-01-28"),
        ("2008 5 Su", "%Y %U %W", "2008-02-03"),
        ("2009 53 Sun", "%x %v %W", "2010-01-03"),
        ("2008 0 Sunday", "%Y %U %W", "2007-12-30"),
        ("2008-01-02 Mon", "%Y-%m-%d %a", "2008-01-02"),
        ("2008 5", "%Y %U", "2008-00-00"),
    ] {
        assert_eq!(read(text, wanted).as_deref(), Some(date), "{text} as {wanted}");
    }
    for (text, wanted) in [
        ("2008 0 Sunday", "%X %V %W"),
        ("2008 5 Mon", "%X %U %a"),
        ("2008 5 Mon", "%Y %V %a"),
        ("2008 1 Sunday", "%x %V %W"),
        ("2008 54 Mon", "%Y %u %a"),
        ("2008 5 7", "%Y %U %w"),
        ("2008 5 S", "%Y %U %W"),
    ] {
        assert_eq!(read(text, wanted), None, "{text} as {wanted}");
    }
}

#[test]
fn the_year_0_has_365_days() {
    let days = |month, day| Date { year: 0, month, day }.days() + EPOCH_TO_DAYS;
    assert_eq!([days(1, 1), days(2, 28), days(3, 1), days(12, 31)], [1, 59, 60, 365]);
    assert!(!Date { year: 0, month: 2, day: 29 }.is_valid());
    assert_eq!(Date::from_days(366 - EPOCH_TO_DAYS), Some(Date { year: 1, month: 1, day: 1 }));
    assert_eq!(Date::from_days(365 - EPOCH_TO_DAYS), Some(Date::ZERO));
    assert_eq!(Date::from_days(-1 - EPOCH_TO_DAYS), None);
}

#[test]
fn weeks_follow_the_eight_modes() {
    // From MySQL: SELECT WEEK('2008-02-20', m), WEEK('2000-01-01', m), WEEK('2008-12-31', m).
    let weeks = |y, m, d| (0..8).map(|mode| week(y, m, d, mode).1).collect::<Vec<_>>();
    assert_eq!(weeks(2008, 2, 20), [7, 8, 7, 8, 8, 7, 8, 7]);
    assert_eq!(weeks(2000, 1, 1), [0, 0, 52, 52, 0, 0, 52, 52]);
    assert_eq!(weeks(2008, 12, 31), [52, 53, 52, 1, 53, 52, 53, 52]);
}

proptest! {
    #[test]
    fn days_and_dates_are_each_others_inverse(days in -719_162i64..2_932_896) {
        let date = Date::from_days(days).unwrap();
        prop_assert!(date.is_valid() && !date.is_incomplete());
        prop_assert_eq!(date.days(), days);
        prop_assert_eq!(weekday(days + 7), weekday(days));
    }

    #[test]
    fn packed_form_keeps_the_order(a in -62_135_596_800_000_000i64..253_402_300_800_000_000, b in -62_135_596_800_000_000i64..253_402_300_800_000_000) {
        let (x, y) = (DateTime::from_micros(a, 6).unwrap(), DateTime::from_micros(b, 6).unwrap());
        prop_assert_eq!(x.packed().cmp(&y.packed()), a.cmp(&b));
        prop_assert_eq!(x.micros(), a);
        prop_assert_eq!(DateTime::from_packed(x.packed(), 6), Some(x));
    }

    #[test]
    fn reading_never_panics(text in "\\PC{0,30}", digits in "[-+0-9:. T/]{0,30}") {
        let _ = (read(&text), read(&digits), parse::time(&text), parse::time(&digits), format::read(&digits, &text));
    }
}
