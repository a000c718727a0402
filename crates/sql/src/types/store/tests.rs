use super::*;
use crate::collation::Collation;
use crate::types::LobSize;

/// What is stored in strict mode, or the error's number; and what is stored in a permissive one, with
/// the number of its warning.
fn both(value: Value, column_type: &ColumnType) -> (Result<String, u16>, (String, Option<u16>)) {
    let run = |sql_mode| {
        let mut warning = None;
        let mut note = |error: SqlError| warning = Some(error.errno);
        let mut cx = StoreContext { column: "c", row: 1, sql_mode, time_zone: TimeZone::UTC, warnings: &mut note };
        let stored =
            store(value.clone(), column_type, &mut cx).map(|value| value.to_string()).map_err(|error| error.errno);
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
    ColumnType::Int { width, unsigned, display_width: None }
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
    assert_eq!(refused(-1, &int(IntWidth::Big, true)), (1264, "0".into()));
    assert_eq!(refused(1e30, &int(IntWidth::Big, false)), (1264, i64::MAX.to_string()));
    assert_eq!(stored(Value::UInt(u64::MAX), &int(IntWidth::Big, true)), u64::MAX.to_string());
}

#[test]
fn decimals_and_doubles() {
    let decimal = ColumnType::Decimal { precision: 5, scale: 2, unsigned: false };
    assert_eq!(stored("1.005", &decimal), "1.01");
    assert_eq!(stored(1, &decimal), "1.00");
    assert_eq!(refused(1000, &decimal), (1264, "999.99".into()));
    assert_eq!(refused("x", &decimal), (1366, "0.00".into()));
    let unsigned = ColumnType::Decimal { precision: 5, scale: 2, unsigned: true };
    assert_eq!(refused(-1, &unsigned), (1264, "0.00".into()));
    let float = ColumnType::Float { unsigned: false, digits: None };
    assert_eq!(stored("1.1", &float), "1.1");
    assert_eq!(refused(1e39, &float).0, 1264);
    assert_eq!(refused("1.1x", &ColumnType::Double { unsigned: false, digits: None }), (1265, "1.1".into()));
    assert_eq!(stored(1.256, &ColumnType::Double { unsigned: false, digits: Some((5, 2)) }), "1.26");
}

#[test]
fn strings() {
    let varchar = ColumnType::VarChar { chars: 3, collation: Collation::DEFAULT };
    assert_eq!(stored("éàü", &varchar), "éàü");
    assert_eq!(refused("abcd", &varchar), (1406, "abc".into()));
    assert_eq!(stored("abc  ", &varchar), "abc");
    assert_eq!(stored("a  ", &varchar), "a  ");
    assert_eq!(stored(12, &varchar), "12");
    assert_eq!(refused(Value::bytes(vec![b'a', 0xff]), &varchar), (1366, "a".into()));
    let fixed = ColumnType::Char { chars: 3, collation: Collation::DEFAULT };
    assert_eq!(stored("a  ", &fixed), "a");
    assert_eq!(refused("abcd", &fixed), (1406, "abc".into()));
    let tiny = ColumnType::Text { size: LobSize::Tiny, collation: Collation::DEFAULT };
    assert_eq!(refused(&*"é".repeat(128), &tiny), (1406, "é".repeat(127)));
    assert_eq!(stored("a", &ColumnType::Binary { bytes: 3 }), "a\0\0");
    assert_eq!(refused("abcd", &ColumnType::VarBinary { bytes: 3 }), (1406, "abc".into()));
}

#[test]
fn dates_and_times() {
    assert_eq!(stored("2020-02-29", &ColumnType::Date), "2020-02-29");
    assert_eq!(stored("2020-02-29 10:00:00", &ColumnType::Date), "2020-02-29");
    assert_eq!(stored(20200229, &ColumnType::Date), "2020-02-29");
    assert_eq!(refused("2019-02-29", &ColumnType::Date), (1292, "0000-00-00".into()));
    let datetime = ColumnType::DateTime { fsp: 1 };
    assert_eq!(stored("2020-01-01 10:11:12.96", &datetime), "2020-01-01 10:11:13.0");
    assert_eq!(refused("abc", &datetime), (1292, "0000-00-00 00:00:00.0".into()));
    let timestamp = ColumnType::Timestamp { fsp: 0 };
    assert_eq!(stored("2020-01-01 10:11:12", &timestamp), "2020-01-01 10:11:12");
    assert_eq!(refused("2039-01-01 00:00:00", &timestamp).0, 1292);
    let time = ColumnType::Time { fsp: 0 };
    assert_eq!(stored("-10:11:12.5", &time), "-10:11:13");
    assert_eq!(refused("900:00:00", &time), (1264, "838:59:59".into()));
    assert_eq!(stored(99, &ColumnType::Year), "1999");
    assert_eq!(stored("2000", &ColumnType::Year), "2000");
    assert_eq!(refused(1800, &ColumnType::Year), (1264, "0".into()));
}

#[test]
fn zero_dates_are_up_to_the_mode() {
    let (strict, (loose, warning)) = both("0000-00-00".into(), &ColumnType::Date);
    assert_eq!((strict, loose.as_str(), warning), (Err(1292), "0000-00-00", None));
    let (strict, (loose, warning)) = both("2020-00-00".into(), &ColumnType::Date);
    assert_eq!((strict, loose.as_str(), warning), (Err(1292), "2020-00-00", None));
}

#[test]
fn null_stays_null() {
    let mut cx = StoreContext {
        column: "c",
        row: 1,
        sql_mode: SqlMode::DEFAULT,
        time_zone: TimeZone::UTC,
        warnings: &mut |_| {},
    };
    assert_eq!(store(Value::Null, &ColumnType::Date, &mut cx).unwrap(), Value::Null);
}
