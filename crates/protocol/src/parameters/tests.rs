use super::*;

fn decode(payload: &[u8], count: usize) -> Result<Vec<Value>, Malformed> {
    let mut values = Vec::new();
    decode_parameters(&mut Decoder::new(payload), &mut Vec::new(), &vec![None; count], Charset::Utf8mb4, &mut values)?;
    Ok(values)
}

#[test]
fn every_type_is_read() {
    let mut payload = vec![0b1, 0b0, 1];
    for code in [6, 1, 2, 3, 8, 5, 253, 252, 246, 12] {
        payload.extend_from_slice(&[code, if code == 8 { UNSIGNED } else { 0 }]);
    }
    payload.extend_from_slice(&[0xff, 0xfe, 0xff, 1, 0, 0, 0]);
    payload.extend_from_slice(&[0xff; 8]);
    payload.extend_from_slice(&1.5f64.to_le_bytes());
    payload.extend_from_slice(b"\x02\xc3\xa9\x02ab\x04-1.5");
    payload.extend_from_slice(&[11, 0xe8, 7, 2, 29, 23, 59, 58, 1, 0, 0, 0]);
    let date = Date { year: 2024, month: 2, day: 29 };
    let expected = [
        Value::Null,
        Value::Int(-1),
        Value::Int(-2),
        Value::Int(1),
        Value::UInt(u64::MAX),
        Value::Double(1.5),
        Value::text("é"),
        Value::bytes(*b"ab"),
        Value::Decimal(decimal::Decimal::parse("-1.5").unwrap()),
        Value::DateTime(DateTime::new(date, 86_398 * SECOND_US + 1, 6)),
    ];
    assert_eq!(decode(&payload, 10).unwrap(), expected);
    for length in 0..payload.len() {
        assert!(decode(&payload[..length], 10).is_err(), "cut at {length}");
    }
    payload.push(0);
    assert_eq!(decode(&payload, 10), Err(Malformed("execute: bytes after the last parameter")));
}

#[test]
fn bytes_that_are_no_characters_stay_bytes() {
    assert_eq!(decode(&[0, 1, 253, 0, 2, 0xff, 0xfe], 1).unwrap(), [Value::bytes([0xff, 0xfe])]);
}

#[test]
fn types_bound_once_serve_again_but_not_before() {
    let mut types = Vec::new();
    let mut values = Vec::new();
    let long = vec![None];
    let unbound = decode_parameters(&mut Decoder::new(&[0, 0, 5]), &mut types, &long, Charset::Utf8mb4, &mut values);
    assert_eq!(unbound, Err(Malformed("execute: parameters without types")));
    decode_parameters(&mut Decoder::new(&[0, 1, 1, 0, 5]), &mut types, &long, Charset::Utf8mb4, &mut values).unwrap();
    decode_parameters(&mut Decoder::new(&[0, 0, 6]), &mut types, &long, Charset::Utf8mb4, &mut values).unwrap();
    assert_eq!(values, [Value::Int(6)]);
}

#[test]
fn long_data_takes_the_place_of_a_value() {
    let mut values = Vec::new();
    let long = vec![Some(b"long".to_vec()), None];
    let payload = [0, 1, 252, 0, 1, 0, 9];
    decode_parameters(&mut Decoder::new(&payload), &mut Vec::new(), &long, Charset::Utf8mb4, &mut values).unwrap();
    assert_eq!(values, [Value::bytes(*b"long"), Value::Int(9)]);
}

#[test]
fn impossible_dates_and_times_are_refused() {
    for payload in [
        &[0, 1, 12, 0, 5, 0, 0, 0, 0, 0][..],
        &[0, 1, 12, 0, 4, 0xe8, 7, 13, 1],
        &[0, 1, 12, 0, 7, 0xe8, 7, 1, 1, 24, 0, 0],
        &[0, 1, 11, 0, 8, 0, 0, 0, 0, 0, 25, 0, 0],
        &[0, 1, 11, 0, 3, 0, 0, 0],
        &[0, 1, 99, 0, 0],
        &[0, 1, 246, 0, 2, b'x', b'y'],
    ] {
        assert!(decode(payload, 1).is_err(), "{payload:?}");
    }
}

#[test]
fn a_time_of_more_days_than_there_are_is_the_longest_time() {
    let mut payload = vec![0, 1, 11, 0, 8, 0];
    payload.extend_from_slice(&u32::MAX.to_le_bytes());
    payload.extend_from_slice(&[1, 2, 3]);
    assert_eq!(decode(&payload, 1).unwrap(), [Value::Time(Time::clamped(i64::MAX, 0).0)]);
}
