use std::sync::Arc;

use super::*;
use crate::store::Loss;
use crate::temporal::*;
use crate::{SqlMode, decimal::Decimal};

/// 2024-02-29 12:30:45 UTC.
const NOW_US: i64 = 1_709_209_845_000_000;

/// What is stored in strict mode, or the error's number; and what is stored in a permissive one, with
/// the number of its warning.
fn both(value: Value, column_type: &ColumnType) -> (Result<String, u16>, (String, Option<u16>)) {
    let run = |sql_mode| {
        let mut warning = None;
        let mut note = |loss, error: SqlError| {
            if loss == Loss::Warning {
                warning = Some(error.errno);
            }
        };
        let mut cx = StoreContext {
            column: "c",
            row: 1,
            sql_mode,
            time_zone: TimeZone::UTC,
            now_us: NOW_US,
            warnings: &mut note,
        };
        let stored =
            column_type.store(value.clone(), &mut cx).map(|value| value.to_string()).map_err(|error| error.errno);
        (stored, warning)
    };
    let (strict, none) = run(SqlMode::DEFAULT);
    assert_eq!(none, None, "strict conversion does not warn");
    let (loose, warning) = run(SqlMode::EMPTY);
    (strict, (loose.unwrap(), warning))
}

fn stored(value: impl Into<Value>, column_type: &ColumnType) -> String {
    let (strict, (loose, warning)) = both(value.into(), column_type);
    assert_eq!(warning, None);
    assert_eq!(strict.as_ref(), Ok(&loose));
    loose
}

fn stored_value(value: impl Into<Value>, column_type: &ColumnType) -> Value {
    let mut cx = StoreContext {
        column: "c",
        row: 1,
        sql_mode: SqlMode::DEFAULT,
        time_zone: TimeZone::UTC,
        now_us: NOW_US,
        warnings: &mut |_, _| {},
    };
    column_type.store(value.into(), &mut cx).unwrap()
}

fn refused(value: impl Into<Value>, column_type: &ColumnType) -> (u16, String) {
    let (strict, (loose, warning)) = both(value.into(), column_type);
    let errno = strict.unwrap_err();
    assert!(warning.is_some());
    (errno, loose)
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Value {
        Value::Int(int)
    }
}

impl From<f64> for Value {
    fn from(double: f64) -> Value {
        Value::Double(double)
    }
}

fn int(width: IntWidth, unsigned: bool) -> ColumnType {
    ColumnType::Int(IntType { width, unsigned, display_width: None })
}

#[test]
fn integers() {
    let tiny = int(IntWidth::Tiny, false);
    assert_eq!(stored(127, &tiny), "127");
    assert_eq!(stored("12", &tiny), "12");
    assert_eq!(stored("1.5", &tiny), "2");
    assert_eq!(stored(" 12 ", &tiny), "12");
    assert_eq!(stored(1.5, &tiny), "2");
    assert_eq!(refused(128, &tiny), (1264, "127".into()));
    assert_eq!(refused(-129, &tiny), (1264, "-128".into()));
    assert_eq!(refused("abc", &tiny), (1366, "0".into()));
    assert_eq!(refused("", &tiny), (1366, "0".into()));
    assert_eq!(refused("12abc", &tiny), (1265, "12".into()));
    assert_eq!(refused("-1.2.3", &tiny), (1265, "-12".into()));
    assert_eq!(refused("1e1.2.3", &tiny), (1265, "10".into()));
    assert_eq!(refused(-1, &int(IntWidth::Big, true)), (1264, "0".into()));
    assert_eq!(refused(1e30, &int(IntWidth::Big, false)), (1264, i64::MAX.to_string()));
    assert_eq!(stored(Value::UInt(u64::MAX), &int(IntWidth::Big, true)), u64::MAX.to_string());
}

#[test]
fn decimals_and_doubles() {
    let decimal = ColumnType::Decimal(DecimalType { precision: 5, scale: 2, unsigned: false });
    assert_eq!(stored("1.005", &decimal), "1.01");
    assert_eq!(stored(1, &decimal), "1.00");
    assert_eq!(refused(1000, &decimal), (1264, "999.99".into()));
    assert_eq!(refused("x", &decimal), (1366, "0.00".into()));
    let unsigned = ColumnType::Decimal(DecimalType { precision: 5, scale: 2, unsigned: true });
    assert_eq!(refused(-1, &unsigned), (1264, "0.00".into()));
    let float = ColumnType::Float(FloatType { unsigned: false, digits: None });
    assert_eq!(stored("1.1", &float), "1.1");
    assert_eq!(refused(1e39, &float).0, 1264);
    assert_eq!(
        refused("1.1x", &ColumnType::Double(DoubleType { unsigned: false, digits: None })),
        (1265, "1.1".into())
    );
    assert_eq!(stored(1.256, &ColumnType::Double(DoubleType { unsigned: false, digits: Some((5, 2)) })), "1.26");
}

#[test]
fn strings() {
    let varchar = ColumnType::VarChar(VarCharType { chars: 3, collation: Collation::DEFAULT });
    assert_eq!(stored("éàü", &varchar), "éàü");
    assert_eq!(refused("abcd", &varchar), (1406, "abc".into()));
    assert_eq!(stored("abc  ", &varchar), "abc");
    assert_eq!(stored("a  ", &varchar), "a  ");
    assert_eq!(stored(12, &varchar), "12");
    assert_eq!(refused(Value::bytes(vec![b'a', 0xff]), &varchar), (1366, "a".into()));
    let fixed = ColumnType::Char(CharType { chars: 3, collation: Collation::DEFAULT });
    assert_eq!(stored("a  ", &fixed), "a");
    assert_eq!(refused("abcd", &fixed), (1406, "abc".into()));
    let tiny = ColumnType::Text(TextType::new(LobSize::Tiny, Collation::DEFAULT));
    assert_eq!(refused(&*"é".repeat(128), &tiny), (1406, "é".repeat(127)));
    assert_eq!(stored("a", &ColumnType::Binary(BinaryType { bytes: 3 })), "a\0\0");
    assert_eq!(refused("abcd", &ColumnType::VarBinary(VarBinaryType { bytes: 3 })), (1406, "abc".into()));
}

#[test]
fn dates_and_times() {
    assert_eq!(stored("2020-02-29", &ColumnType::Date), "2020-02-29");
    assert_eq!(stored("2020-02-29 10:00:00", &ColumnType::Date), "2020-02-29");
    assert_eq!(stored(20200229, &ColumnType::Date), "2020-02-29");
    assert_eq!(refused("2019-02-29", &ColumnType::Date), (1292, "0000-00-00".into()));
    let datetime = ColumnType::DateTime(DateTimeType { fsp: 1 });
    assert_eq!(stored("2020-01-01 10:11:12.96", &datetime), "2020-01-01 10:11:13.0");
    assert_eq!(refused("abc", &datetime), (1292, "0000-00-00 00:00:00.0".into()));
    let timestamp = ColumnType::Timestamp(TimestampType { fsp: 0 });
    assert_eq!(stored("2020-01-01 10:11:12", &timestamp), "2020-01-01 10:11:12");
    assert_eq!(refused("2039-01-01 00:00:00", &timestamp).0, 1292);
    let time = ColumnType::Time(TimeType { fsp: 0 });
    assert_eq!(stored("-10:11:12.5", &time), "-10:11:13");
    assert_eq!(refused("900:00:00", &time), (1292, "838:59:59".into()));
    assert_eq!(stored(99, &ColumnType::Year), "1999");
    assert_eq!(stored("2000", &ColumnType::Year), "2000");
    assert_eq!(refused(1800, &ColumnType::Year), (1264, "0".into()));
}

#[test]
fn zero_dates_are_up_to_the_mode() {
    let (_, (loose, _)) = both("00:00:00".into(), &ColumnType::Date);
    assert_eq!(loose, "0000-00-00");
    let (strict, (loose, warning)) = both("0000-00-00".into(), &ColumnType::Date);
    assert_eq!((strict, loose.as_str(), warning), (Err(1292), "0000-00-00", None));
    let (strict, (loose, warning)) = both("2020-00-00".into(), &ColumnType::Date);
    assert_eq!((strict, loose.as_str(), warning), (Err(1292), "2020-00-00", None));
}

/// Number and level of what a permissive conversion says.
fn said(value: impl Into<Value>, column_type: &ColumnType, sql_mode: SqlMode) -> Vec<(Loss, u16)> {
    let mut said = Vec::new();
    let mut note = |loss, error: SqlError| said.push((loss, error.errno));
    let mut cx =
        StoreContext { column: "c", row: 1, sql_mode, time_zone: TimeZone::UTC, now_us: NOW_US, warnings: &mut note };
    column_type.store(value.into(), &mut cx).unwrap();
    said
}

#[test]
fn losses_have_the_level_and_number_that_clients_know() {
    use Loss::{Note, Warning};
    let lax = SqlMode::EMPTY;
    let time = ColumnType::Time(TimeType { fsp: 0 });
    let timestamp = ColumnType::Timestamp(TimestampType { fsp: 0 });
    assert_eq!(said("abc", &ColumnType::Date, lax), [(Warning, 1265)]);
    assert_eq!(said("2024-01-01x", &ColumnType::Date, lax), [(Warning, 1265)]);
    assert_eq!(said("0000-00-00", &ColumnType::Date, SqlMode::NO_ZERO_DATE), [(Warning, 1264)]);
    assert_eq!(said("1960-01-01", &timestamp, lax), [(Warning, 1264)]);
    assert_eq!(said("859:00:00", &time, lax), [(Warning, 1264)]);
    assert_eq!(said("12:70:00", &time, lax), [(Warning, 1265)]);
    let decimal = ColumnType::Decimal(DecimalType { precision: 5, scale: 2, unsigned: false });
    let varchar = ColumnType::VarChar(VarCharType { chars: 3, collation: Collation::DEFAULT });
    // Notes are no matter of the mode.
    for mode in [lax, SqlMode::DEFAULT] {
        assert_eq!(said("2024-01-01 10:00:00", &ColumnType::Date, mode), [(Note, 1265)]);
        assert_eq!(said("2024-01-01 00:00:00", &ColumnType::Date, mode), []);
        assert_eq!(said(Value::Date(Date { year: 2024, month: 1, day: 1 }), &time, mode), [(Note, 1265)]);
        assert_eq!(said("1.005", &decimal, mode), [(Note, 1265)]);
        assert_eq!(said("1.0000", &decimal, mode), []);
        assert_eq!(said("abc ", &varchar, mode), [(Note, 1265)]);
    }
}

#[test]
fn fractions_of_numbers_are_those_of_seconds() {
    let number = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
    let time = |fsp| ColumnType::Time(TimeType { fsp });
    assert_eq!(stored(number("101112.6"), &time(0)), "10:11:13");
    assert_eq!(stored(number("101112.1256"), &time(3)), "10:11:12.126");
    assert_eq!(stored(number("-1.5"), &time(0)), "-00:00:02");
    assert_eq!(stored(number("0.1"), &time(3)), "00:00:00.100");
    assert_eq!(stored(Value::Double(125.25), &time(3)), "00:01:25.250");
    assert_eq!(stored(Value::Int(20_240_101_101_112), &time(0)), "10:11:12");
    assert_eq!(refused(Value::Int(6060), &time(0)), (1292, "00:00:00".into()));
    let datetime = |fsp| ColumnType::DateTime(DateTimeType { fsp });
    assert_eq!(stored(number("20240101101112.5678"), &datetime(3)), "2024-01-01 10:11:12.568");
    let (strict, (loose, warning)) = both(number("0.1"), &datetime(0));
    assert_eq!((strict, loose.as_str(), warning), (Err(1292), "0000-00-00 00:00:00", None));
    let (strict, (loose, warning)) = both(number("101.5"), &datetime(0));
    assert_eq!((strict, loose.as_str(), warning), (Err(1292), "2000-01-01 00:00:00", Some(1265)));
    assert_eq!(refused(number("1.5"), &datetime(0)), (1292, "0000-00-00 00:00:00".into()));
}

#[test]
fn a_time_in_a_date_is_one_of_today() {
    let time = |micros| Value::Time(Time { micros, fsp: 6 });
    assert_eq!(stored(time(36_000_500_000), &ColumnType::DateTime(DateTimeType { fsp: 1 })), "2024-02-29 10:00:00.5");
    assert_eq!(stored(time(36_000_000_000), &ColumnType::Date), "2024-02-29");
    assert_eq!(stored(time(-36_000_000_000), &ColumnType::Date), "2024-02-28");
}

#[test]
fn numbers_lose_nothing_that_the_column_has() {
    let decimal = |unsigned| ColumnType::Decimal(DecimalType { precision: 20, scale: 4, unsigned });
    assert_eq!(stored(Value::Float(16_777_216.0), &decimal(false)), "16777216.0000");
    assert_eq!(
        stored(Value::Float(0.1), &ColumnType::Decimal(DecimalType { precision: 20, scale: 10, unsigned: false })),
        "0.1000000015"
    );
    for tiny in ["-0.00001", "-0.0000000001"] {
        let tiny = Value::Decimal(Decimal::parse(tiny).unwrap());
        assert_eq!(refused(tiny, &decimal(true)), (1264, "0.0000".into()));
    }
    assert_eq!(refused(Value::Double(-1e-10), &decimal(true)), (1264, "0.0000".into()));
    assert_eq!(stored(Value::Decimal(Decimal::parse("-0.0").unwrap()), &decimal(true)), "0.0000");
}

#[test]
fn doubles_are_written_as_wide_as_the_column() {
    let chars = |chars| ColumnType::Char(CharType { chars, collation: Collation::DEFAULT });
    for (double, width, text) in [
        (1e10, 5, "1e10"),
        (1e5, 5, "1e5"),
        (123_456.0, 5, "1.2e5"),
        (16_777_216.0, 5, "1.7e7"),
        (1.234_567_89, 5, "1.235"),
        (1.0 / 3.0, 5, "0.333"),
        (-1.0 / 3.0, 6, "-0.333"),
        (1e-10, 5, "1e-10"),
        (0.000_123_45, 6, "1.2e-4"),
        (-1.25e-7, 6, "-1e-7"),
        (9.99, 2, "10"),
        (123_456.789, 8, "123456.8"),
        (99_999.5, 3, "1e5"),
        (99_999.5, 6, "100000"),
        (1.5e123, 6, "2e123"),
        (1.0 / 3.0, 30, "0.3333333333333333"),
    ] {
        assert_eq!(stored(Value::Double(double), &chars(width)), text, "{double} in {width}");
    }
    assert_eq!(
        stored(Value::Float(0.1), &ColumnType::VarChar(VarCharType { chars: 30, collation: Collation::DEFAULT })),
        "0.10000000149011612"
    );
    for (double, width) in [(1e10, 3), (1.5e100, 5), (0.5, 1), (-1.25e-7, 4)] {
        assert_eq!(refused(Value::Double(double), &chars(width)).0, 1406);
    }
}

#[test]
fn years_of_two_digits_are_of_two_centuries() {
    for (value, year) in [
        (Value::Int(0), "0"),
        ("0".into(), "2000"),
        ("00".into(), "2000"),
        ("000".into(), "2000"),
        ("0000".into(), "0"),
        (Value::Int(24), "2024"),
        ("24".into(), "2024"),
        (Value::Int(70), "1970"),
        (Value::Hex([10].into()), "2010"),
        (Value::Date(Date { year: 2024, month: 5, day: 6 }), "2024"),
        (Value::DateTime(Date { year: 1970, month: 1, day: 1 }.at_midnight()), "1970"),
        (Value::Time(Time { micros: 0, fsp: 0 }), "2024"),
    ] {
        assert_eq!(stored(value, &ColumnType::Year), year);
    }
    assert_eq!(refused("24x", &ColumnType::Year), (1265, "2024".into()));
}

#[test]
fn null_stays_null() {
    let mut cx = StoreContext {
        column: "c",
        row: 1,
        sql_mode: SqlMode::DEFAULT,
        time_zone: TimeZone::UTC,
        now_us: NOW_US,
        warnings: &mut |_, _| {},
    };
    assert_eq!(ColumnType::Date.store(Value::Null, &mut cx).unwrap(), Value::Null);
}

#[test]
fn types_are_described_as_table_maps_have_them() {
    let text = Collation::DEFAULT;
    let int = |width| ColumnType::Int(IntType { width, unsigned: false, display_width: None });
    for (column_type, expected) in [
        (int(IntWidth::Medium), (9, vec![])),
        (int(IntWidth::Big), (8, vec![])),
        (ColumnType::Decimal(DecimalType { precision: 10, scale: 2, unsigned: false }), (246, vec![10, 2])),
        (ColumnType::Char(CharType { chars: 255, collation: text }), (254, vec![0xce, 0xfc])),
        (ColumnType::Char(CharType { chars: 10, collation: text }), (254, vec![0xfe, 40])),
        (ColumnType::Binary(BinaryType { bytes: 16 }), (254, vec![0xfe, 16])),
        (ColumnType::VarChar(VarCharType { chars: 100, collation: text }), (15, vec![0x90, 0x01])),
        (ColumnType::VarBinary(VarBinaryType { bytes: 3 }), (15, vec![3, 0])),
        (ColumnType::Text(TextType::new(LobSize::Normal, text)), (252, vec![2])),
        (ColumnType::Blob(BlobType { size: LobSize::Long }), (252, vec![4])),
        (ColumnType::DateTime(DateTimeType { fsp: 6 }), (18, vec![6])),
        (ColumnType::Timestamp(TimestampType { fsp: 0 }), (17, vec![0])),
        (ColumnType::Time(TimeType { fsp: 3 }), (19, vec![3])),
        (ColumnType::Bit(BitType { bits: 10 }), (16, vec![2, 1])),
        (ColumnType::Date, (10, vec![])),
        (ColumnType::Year, (13, vec![])),
    ] {
        let (field, meta, len) = column_type.facts().binlog;
        assert_eq!((field as u8, meta[..len].to_vec()), expected, "{column_type}");
    }
}

#[test]
fn bits_are_stored_from_numbers_and_bytes() {
    let bit8 = ColumnType::Bit(BitType { bits: 8 });
    for (value, number) in [
        (Value::Int(255), 255),
        (Value::Double(1.5), 1),
        (Value::Decimal(Decimal::parse("2.5").unwrap()), 3),
        (Value::text("A"), 65),
        (Value::text(""), 0),
        (Value::bytes(&b"\0\0A"[..]), 65),
    ] {
        assert_eq!(stored(value, &bit8), number.to_string());
    }
    for value in [Value::Int(256), Value::Int(-1), Value::Double(-1.0), Value::Double(1e30), Value::text("65")] {
        assert_eq!(refused(value, &bit8), (1406, "255".to_owned()));
    }
    assert_eq!(refused(Value::Decimal(Decimal::parse("-0.4").unwrap()), &bit8), (1264, "0".to_owned()));
    let bit64 = ColumnType::Bit(BitType { bits: 64 });
    assert_eq!(stored(Value::Int(-1), &bit64), u64::MAX.to_string());
    assert_eq!(stored(Value::Double(1e19), &bit64), 10_000_000_000_000_000_000u64.to_string());
    assert_eq!(refused(Value::text("123456789"), &bit64), (1406, u64::MAX.to_string()));
}

/// Where another crate names a family, adding one would have to find it there.
#[test]
fn no_other_crate_names_a_family() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> =
        ["binlog", "txn", "sql", "protocol", "server"].map(|name| crates.join(name).join("src")).into();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("tests")).then_some(path));
            } else if !path.ends_with("tests.rs") {
                files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let named = text.split("ColumnType::").skip(1).any(|rest| rest.starts_with(char::is_uppercase));
                assert!(!named, "{} names a family of types", path.display());
            }
        }
    }
    assert!(files > 100);
}

#[test]
fn members_by_text_and_number() {
    let members = |texts: &[&str], collation| Arc::new(Members::new(texts.iter().copied(), collation));
    let size: ColumnType = EnumType { members: members(&["small", "?"], Collation::AsciiGeneralCi) }.into();
    assert_eq!(stored("SMALL ", &size), "small");
    assert_eq!(stored(1.9, &size), "small");
    // What the character set lacks is a question mark before it is looked for.
    assert_eq!(stored("é", &size), "?");
    let of_another: ColumnType = EnumType { members: members(&["a", "é"], Collation::DEFAULT) }.into();
    assert_eq!(stored(stored_value("é", &of_another), &size), "?");
    assert_eq!(refused("x", &size), (1265, String::new()));
    let flags: ColumnType = SetType { members: members(&["a", "b", "c"], Collation::DEFAULT) }.into();
    assert_eq!(stored("c,a", &flags), "a,c");
    assert_eq!(stored(Value::Decimal(Decimal::parse("5.9").unwrap()), &flags), "a,c");
    assert_eq!(refused(-1_i64, &flags), (1265, "a,b,c".to_owned()));
    // A DECIMAL is a DOUBLE first, whose bits beyond BIGINT are those of the least one.
    for beyond in ["99999999999.999999", "100000000000000000007"] {
        assert_eq!(refused(Value::Decimal(Decimal::parse(beyond).unwrap()), &flags), (1265, String::new()));
    }
    // A member of the same list stays what it is, though an equal text comes first.
    let twins: ColumnType = SetType { members: members(&["ä", "a"], Collation::DEFAULT) }.into();
    assert_eq!(stored(stored_value(2_i64, &twins), &twins), "a");
    let twins: ColumnType = EnumType { members: members(&["ä", "a"], Collation::DEFAULT) }.into();
    assert_eq!(stored(stored_value(2_i64, &twins), &twins), "a");
}
