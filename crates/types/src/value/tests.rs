use super::*;

fn shown(value: Value, decimals: u8) -> String {
    let mut out = Vec::new();
    value.write_text(decimals, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_are_written_as_mysql_writes_them() {
    for (double, text) in [
        (0.1, "0.1"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (1.5e300, "1.5e300"),
        (1e-5, "0.00001"),
        (1e-20, "1e-20"),
        (1.0 / 3.0, "0.3333333333333333"),
    ] {
        assert_eq!(shown(Value::Double(double), 31), text);
    }
    for (double, decimals, text) in [
        (1.5, 2, "1.50"),
        (2.0, 0, "2"),
        (-3.0, 1, "-3.0"),
        (-0.0, 2, "0.00"),
        (1.255, 1, "1.3"),
        (1e23, 1, "100000000000000000000000.0"),
    ] {
        assert_eq!(shown(Value::Double(double), decimals), text);
    }
    assert_eq!(shown(Value::Float(0.1), 3), "0.100");
    assert_eq!(shown(Value::Float(2.718_281_7), 31), "2.71828");
    assert_eq!(shown(Value::Float(0.1), 31), "0.1");
    assert_eq!(shown(Value::Float(1e10), 31), "10000000000");
    assert_eq!(shown(Value::UInt(u64::MAX), 0), "18446744073709551615");
}
