use super::*;
use crate::types::column_type::*;

fn encoded(part: &KeyPart, value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    encode(part, value, &mut key).unwrap();
    key
}

#[test]
fn integers_are_flipped_big_endian() {
    let part = |unsigned, nullable| KeyPart {
        column_type: ColumnType::Int(IntType { width: IntWidth::Int, unsigned, display_width: None }),
        nullable,
        prefix: None,
    };
    assert_eq!(encoded(&part(false, false), &Value::Int(1)), [0x80, 0, 0, 1]);
    assert_eq!(encoded(&part(false, false), &Value::Int(-1)), [0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(encoded(&part(true, true), &Value::UInt(1)), [1, 0, 0, 0, 1]);
    assert_eq!(encoded(&part(true, true), &Value::Null), [0]);
}

#[test]
fn prefixes_count_characters() {
    let part = KeyPart {
        column_type: ColumnType::Text(TextType::new(LobSize::Normal, Collation::Utf8mb4_0900Bin)),
        nullable: false,
        prefix: Some(2),
    };
    assert_eq!(encoded(&part, &Value::text("éab")), encoded(&part, &Value::text("éa")));
    assert_ne!(encoded(&part, &Value::text("éa")), encoded(&part, &Value::text("é")));
    assert_eq!(decode(&part, &encoded(&part, &Value::text("éab"))), Ok(None));
    assert_eq!(part.declared_bytes(), 8);
    assert!(KeyPart { prefix: None, ..part }.declared_bytes() > MAX_KEY_BYTES);
}

#[test]
fn values_of_another_type_are_refused() {
    let part = KeyPart { column_type: ColumnType::Date, nullable: false, prefix: None };
    assert_eq!(encode(&part, &Value::Int(1), &mut Vec::new()).unwrap_err().errno, 1105);
    assert_eq!(encode(&part, &Value::Null, &mut Vec::new()).unwrap_err().errno, 1105);
}

#[test]
fn successor_is_behind_every_longer_key() {
    let mut key = vec![1, 0xff, 0xff];
    assert!(successor(&mut key));
    assert_eq!(key, [2]);
    let mut last = vec![0xff, 0xff];
    assert!(!successor(&mut last));
}
