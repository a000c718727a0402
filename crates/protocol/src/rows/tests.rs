use super::*;
use cohort_types::NOT_FIXED_DECIMALS;
use cohort_types::collation::Collation;
use cohort_types::decimal::Decimal;
use cohort_types::temporal::{Date, SECOND_US};

fn column(field: FieldType) -> ResultType {
    ResultType { field, length: 0, decimals: 0, unsigned: false, nullable: true, collation: Collation::Binary }
}

fn text(value: Value) -> String {
    text_of(value, NOT_FIXED_DECIMALS)
}

fn text_of(value: Value, decimals: u8) -> String {
    let mut out = Vec::new();
    encode_text_row(&mut out, &[value], &[column(FieldType::Double).with_decimals(decimals)]);
    let length = match out[0] {
        0xfc => usize::from(u16::from_le_bytes([out[1], out[2]])),
        length => usize::from(length),
    };
    String::from_utf8(out[out.len() - length..].to_vec()).unwrap()
}

#[test]
fn text_values_read_as_mysql_writes_them() {
    assert_eq!(text(Value::Int(i64::MIN)), "-9223372036854775808");
    assert_eq!(text(Value::UInt(u64::MAX)), "18446744073709551615");
    assert_eq!(text(Value::Int(0)), "0");
    assert_eq!(text(Value::Decimal(Decimal::parse("-12.340").unwrap())), "-12.340");
    assert_eq!(text(Value::text("é")), "é");
    let date = Date { year: 2024, month: 2, day: 29 };
    assert_eq!(text(Value::Date(date)), "2024-02-29");
    assert_eq!(text(Value::DateTime(DateTime::new(date, 1_500_000, 3))), "2024-02-29 00:00:01.500");
    assert_eq!(text(Value::Time(Time::clamped(-3_661 * SECOND_US, 0).0)), "-01:01:01");
}

#[test]
fn floating_point_text_is_short_as_mysql_has_it() {
    for (value, expected) in [
        (0.0, "0"),
        (-0.5, "-0.5"),
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (1.5e20, "1.5e20"),
        (123456.75, "123456.75"),
        (1e-5, "0.00001"),
        (1e-15, "0.000000000000001"),
        (1.25e-16, "1.25e-16"),
        (123_456_789_012_345_680.0, "1.2345678901234568e17"),
    ] {
        assert_eq!(text(Value::Double(value)), expected);
    }
    assert_eq!(text(Value::Float(0.1)), "0.1");
    assert_eq!(text_of(Value::Double(1.5), 3), "1.500");
    let longest = text_of(Value::Double(-f64::MAX), 30);
    assert_eq!((longest.len(), &longest[..4], &longest[308..312]), (1 + 309 + 1 + 30, "-179", "00.0"));
    assert_eq!(text(Value::Float(16_777_216.0)), "16777200");
}

#[test]
fn nulls_are_marked_in_both_forms() {
    let mut out = Vec::new();
    encode_text_row(&mut out, &[Value::Null, Value::Int(7), Value::Null], &[column(FieldType::Long); 3]);
    assert_eq!(out, [0xfb, 1, b'7', 0xfb]);
    out.clear();
    let row: Vec<Value> = (0..8).map(|index| if index % 7 == 6 { Value::Null } else { Value::Int(index) }).collect();
    encode_binary_row(&mut out, &row, &[column(FieldType::Tiny); 8]).unwrap();
    assert_eq!(out, [0, 0, 1, 0, 1, 2, 3, 4, 5, 7]);
}

#[test]
fn binary_values_have_their_columns_width() {
    let mut out = Vec::new();
    let row = [
        Value::Int(-2),
        Value::Int(300),
        Value::Int(70_000),
        Value::UInt(u64::MAX),
        Value::Double(1.5),
        Value::Float(2.5),
    ];
    let types =
        [FieldType::Tiny, FieldType::Short, FieldType::Long, FieldType::LongLong, FieldType::Double, FieldType::Float];
    encode_binary_row(&mut out, &row, &types.map(column)).unwrap();
    let mut expected = vec![0, 0, 0xfe, 0x2c, 1, 0x70, 0x11, 1, 0];
    expected.extend_from_slice(&[0xff; 8]);
    expected.extend_from_slice(&1.5f64.to_le_bytes());
    expected.extend_from_slice(&2.5f32.to_le_bytes());
    assert_eq!(out, expected);
}

#[test]
fn binary_dates_and_times_leave_out_their_zero_ends() {
    let date = Date { year: 2024, month: 2, day: 29 };
    let encode = |value: Value, field| {
        let mut out = Vec::new();
        encode_binary_row(&mut out, &[value], &[column(field)]).unwrap();
        out[2..].to_vec()
    };
    assert_eq!(encode(Value::DateTime(date.at_midnight()), FieldType::DateTime), [4, 0xe8, 7, 2, 29]);
    assert_eq!(
        encode(Value::DateTime(DateTime::new(date, 61 * SECOND_US, 0)), FieldType::DateTime),
        [7, 0xe8, 7, 2, 29, 0, 1, 1]
    );
    assert_eq!(
        encode(Value::DateTime(DateTime::new(date, 5, 6)), FieldType::DateTime),
        [11, 0xe8, 7, 2, 29, 0, 0, 0, 5, 0, 0, 0]
    );
    assert_eq!(encode(Value::DateTime(Date::ZERO.at_midnight()), FieldType::DateTime), [0]);
    assert_eq!(encode(Value::Date(date), FieldType::Date), [4, 0xe8, 7, 2, 29]);
    assert_eq!(encode(Value::Time(Time::clamped(0, 0).0), FieldType::Time), [0]);
    let time = Time::clamped(-(25 * 3600 * SECOND_US + 7), 6).0;
    assert_eq!(encode(Value::Time(time), FieldType::Time), [12, 1, 1, 0, 0, 0, 1, 0, 0, 7, 0, 0, 0]);
}

#[test]
fn a_value_that_its_column_cannot_take_is_an_error() {
    let mut out = Vec::new();
    assert!(encode_binary_row(&mut out, &[Value::text("x")], &[column(FieldType::Long)]).is_err());
    assert!(encode_binary_row(&mut out, &[Value::Int(1)], &[column(FieldType::Time)]).is_ok());
    assert!(encode_binary_row(&mut out, &[Value::text("x")], &[column(FieldType::Date)]).is_err());
}
