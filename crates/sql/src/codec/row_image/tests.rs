use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::catalog::definition::DefaultValue;
use crate::collation::Collation;
use crate::types::column_type::*;
use crate::types::decimal::Decimal;
use crate::types::temporal::{Date, DateTime, MAX_TIME_US, MAX_TIMESTAMP_US, Time, Timestamp};

pub(crate) fn column(column_type: ColumnType) -> ColumnDef {
    ColumnDef {
        name: "c".into(),
        column_type,
        nullable: true,
        default: DefaultValue::None,
        on_update_now: false,
        auto_increment: false,
        since_version: 1,
        before: None,
        comment: String::new(),
    }
}

fn int(width: IntWidth, unsigned: bool) -> ColumnType {
    ColumnType::Int(IntType { width, unsigned, display_width: None })
}

fn varchar(chars: u16) -> ColumnType {
    ColumnType::VarChar(VarCharType { chars, collation: Collation::DEFAULT })
}

fn members(count: usize) -> Arc<Members> {
    let texts: Vec<String> = (0..count).map(|at| format!("m{at}")).collect();
    Arc::new(Members::new(texts.iter().map(String::as_str), Collation::DEFAULT))
}

/// A value of an ENUM or SET by its number.
fn member(column_type: ColumnType, number: u64) -> (ColumnType, Value) {
    let len = column_type.key_bytes().unwrap();
    let value = column_type.read_row(&number.to_le_bytes()[..len]).unwrap();
    (column_type, value)
}

/// Every type with a strategy for values that a column of it stores.
fn typed_value() -> impl Strategy<Value = (ColumnType, Value)> {
    let widths = prop_oneof![
        Just(IntWidth::Tiny),
        Just(IntWidth::Small),
        Just(IntWidth::Medium),
        Just(IntWidth::Int),
        Just(IntWidth::Big)
    ];
    let integers = (widths, any::<bool>(), any::<i64>(), any::<bool>()).prop_map(|(width, unsigned, seed, extreme)| {
        let (least, greatest) = width.range(unsigned);
        let number = if extreme {
            if seed < 0 { least } else { greatest }
        } else {
            least + i128::from(seed as u64) % (greatest - least + 1)
        };
        (int(width, unsigned), if unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) })
    });
    let fsp = 0u8..=6;
    let micros = |fsp: u8, micros: i64| micros - micros % crate::types::temporal::fraction_unit(fsp);
    let datetimes = (fsp.clone(), -62_167_219_200_000_000i64..253_402_300_800_000_000).prop_map(move |(fsp, at)| {
        let at = at - at.rem_euclid(crate::types::temporal::fraction_unit(fsp));
        (ColumnType::DateTime(DateTimeType { fsp }), Value::DateTime(DateTime::from_micros(at, fsp).unwrap()))
    });
    let timestamps = (fsp.clone(), 0..=MAX_TIMESTAMP_US).prop_map(move |(fsp, at)| {
        (ColumnType::Timestamp(TimestampType { fsp }), Value::Timestamp(Timestamp { micros: micros(fsp, at), fsp }))
    });
    let times = (fsp, -MAX_TIME_US..=MAX_TIME_US).prop_map(move |(fsp, at)| {
        (ColumnType::Time(TimeType { fsp }), Value::Time(Time { micros: micros(fsp, at), fsp }))
    });
    prop_oneof![
        integers,
        (0i64..10_i64.pow(12), any::<bool>()).prop_map(|(n, negative)| {
            let number = Decimal::new(if negative { -i128::from(n) } else { i128::from(n) }, 4);
            (ColumnType::Decimal(DecimalType { precision: 12, scale: 4, unsigned: false }), Value::Decimal(number))
        }),
        any::<f32>()
            .prop_filter("no NaN", |f| !f.is_nan())
            .prop_map(|f| (ColumnType::Float(FloatType { unsigned: false, digits: None }), Value::Float(f))),
        any::<f64>()
            .prop_filter("no NaN", |f| !f.is_nan())
            .prop_map(|f| (ColumnType::Double(DoubleType { unsigned: false, digits: None }), Value::Double(f))),
        "\\PC{0,20}".prop_map(|text| (varchar(20), Value::text(text))),
        "\\PC{0,80}".prop_map(|text| (varchar(80), Value::text(text))),
        "[a-z]{0,9}".prop_map(|text| (
            ColumnType::Char(CharType { chars: 255, collation: Collation::DEFAULT }),
            Value::text(text)
        )),
        "\\PC{0,80}"
            .prop_map(|text| (ColumnType::Text(TextType::new(LobSize::Medium, Collation::DEFAULT)), Value::text(text))),
        proptest::collection::vec(any::<u8>(), 8)
            .prop_map(|bytes| (ColumnType::Binary(BinaryType { bytes: 8 }), Value::bytes(bytes))),
        proptest::collection::vec(0u8..2, 0..8)
            .prop_map(|bytes| (ColumnType::VarBinary(VarBinaryType { bytes: 300 }), Value::bytes(bytes))),
        proptest::collection::vec(any::<u8>(), 0..300)
            .prop_map(|bytes| (ColumnType::Blob(BlobType { size: LobSize::Long }), Value::bytes(bytes))),
        (366i64..3_652_424).prop_map(|days| (ColumnType::Date, Value::Date(Date::from_days(days - 719_528).unwrap()))),
        (1901u64..2156).prop_map(|year| (ColumnType::Year, Value::UInt(year))),
        (1u8..=64, any::<u64>())
            .prop_map(|(bits, n)| (ColumnType::Bit(BitType { bits }), Value::UInt(n >> (64 - u32::from(bits))))),
        (1usize..400, any::<u64>())
            .prop_map(|(count, n)| member(EnumType { members: members(count) }.into(), n % (count as u64 + 1))),
        (1usize..=64, any::<u64>())
            .prop_map(|(count, n)| member(SetType { members: members(count) }.into(), n >> (64 - count))),
        datetimes,
        timestamps,
        times,
    ]
}

fn typed_row() -> impl Strategy<Value = (Vec<ColumnDef>, Vec<Value>)> {
    proptest::collection::vec((typed_value(), any::<bool>()), 1..12).prop_map(|columns| {
        let defs = columns.iter().map(|((column_type, _), _)| column(column_type.clone())).collect();
        let values = columns.into_iter().map(|((_, value), null)| if null { Value::Null } else { value }).collect();
        (defs, values)
    })
}

fn read_all(codec: &RowCodec, stored: &[u8], columns: usize) -> Result<Vec<Value>, DamagedBytes> {
    let mut offsets = RowOffsets::default();
    let reader = codec.open(stored, &mut offsets)?;
    (0..columns).map(|column| reader.get(column)).collect()
}

#[test]
fn image_is_the_binlogs() {
    let columns = [
        int(IntWidth::Int, false),
        varchar(10),
        ColumnType::DateTime(DateTimeType { fsp: 3 }),
        ColumnType::Time(TimeType { fsp: 2 }),
        varchar(100),
    ]
    .map(column);
    let codec = RowCodec::new(&columns, 200);
    let values = [
        Value::Int(-2),
        Value::text("ab"),
        Value::DateTime(DateTime::new(Date { year: 2020, month: 1, day: 2 }, 10_000_123_000, 3)),
        Value::Time(Time { micros: -100_000, fsp: 2 }),
        Value::Null,
    ];
    let mut stored = Vec::new();
    codec.encode(&values, &mut stored).unwrap();
    assert_eq!(stored[..2], [0xc8, 0x01], "version 200");
    let expected: &[u8] = &[
        0b1_0000, // the last column is NULL
        0xfe, 0xff, 0xff, 0xff, // INT
        2, b'a', b'b', // VARCHAR of at most 40 bytes
        0x99, 0xa5, 0x44, 0x2b, 0xa8, 0x04, 0xce, // 2020-01-02 02:46:40.123
        0x7f, 0xff, 0xff, 0xf6, // -00:00:00.10, as MySQL's my_time_packed_to_binary gives it
    ];
    assert_eq!(codec.image(&stored).unwrap(), expected);
}

#[test]
fn rows_of_older_versions_get_what_their_columns_began_with() {
    let old = [column(int(IntWidth::Int, false))];
    let mut stored = Vec::new();
    RowCodec::new(&old, 1).encode(&[Value::Int(7)], &mut stored).unwrap();
    let mut added: Vec<ColumnDef> = (0..9).map(|_| ColumnDef { since_version: 2, ..column(varchar(5)) }).collect();
    added[0].before = Some(Value::text("x"));
    // It was set after the column was added.
    added[0].default = DefaultValue::Literal(Value::text("y"));
    (added[1].before, added[1].nullable) = (Some(Value::text("")), false);
    let codec = RowCodec::new(&[&old[..], &added].concat(), 3);
    let row = read_all(&codec, &stored, 10).unwrap();
    assert_eq!(row[..4], [Value::Int(7), Value::text("x"), Value::text(""), Value::Null]);
    let mut offsets = RowOffsets::default();
    let reader = codec.open(&stored, &mut offsets).unwrap();
    assert!(!reader.is_current());
    assert!(codec.image(&stored).is_err());
    let mut upgraded = Vec::new();
    reader.write_changed(&[(3, Value::text("new"))], &mut upgraded).unwrap();
    assert!(codec.image(&upgraded).is_ok());
    assert_eq!(read_all(&codec, &upgraded, 4).unwrap()[3], Value::text("new"));
    assert!(RowCodec::new(&old, 1).open(&upgraded, &mut RowOffsets::default()).is_err(), "a newer row is refused");
}

#[test]
fn who_reads_the_first_columns_learns_nothing_of_the_others() {
    let columns: Vec<ColumnDef> = (0..4).map(|_| column(varchar(5))).collect();
    let values = ["a", "", "bc", "d"].map(Value::text);
    let codec = RowCodec::new(&columns, 3);
    let mut stored = Vec::new();
    codec.encode(&values, &mut stored).unwrap();
    let damaged = &stored[..stored.len() - 1];
    assert!(codec.open(damaged, &mut RowOffsets::default()).is_err());
    let mut offsets = RowOffsets::default();
    let reader = codec.open_first(3, damaged, &mut offsets).unwrap();
    assert_eq!((0..3).map(|column| reader.get(column).unwrap()).collect::<Vec<_>>(), values[..3]);
    assert!(reader.get(3).is_err(), "it was not looked for");
    // A row without the last columns has what they began with.
    let mut older = Vec::new();
    RowCodec::new(&columns[..2], 1).encode(&values[..2], &mut older).unwrap();
    let added = ColumnDef { since_version: 2, before: Some(Value::text("x")), ..column(varchar(5)) };
    let codec = RowCodec::new(&[&columns[..2], &[added.clone(), added]].concat(), 3);
    let reader = codec.open_first(3, &older, &mut offsets).unwrap();
    assert_eq!((reader.get(1).unwrap(), reader.get(2).unwrap()), (Value::text(""), Value::text("x")));
}

#[test]
fn rows_of_former_layouts_lack_what_was_dropped_and_get_what_came_between() {
    let [number, text] = [int(IntWidth::Int, false), varchar(5)];
    let old = [column(number.clone()), column(text.clone()), ColumnDef { since_version: 2, ..column(number.clone()) }];
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    RowCodec::new(&old[..2], 1).encode(&[Value::Int(7), Value::text("x")], &mut first).unwrap();
    RowCodec::new(&old, 2).encode(&[Value::Int(8), Value::Null, Value::Int(9)], &mut second).unwrap();
    // Version 3 drops the text, and has another one before the last column.
    let former = |column_type: &ColumnType, since_version, column| FormerColumn {
        column_type: column_type.clone(),
        since_version,
        column,
    };
    let columns = vec![former(&number, 1, Some(0)), former(&text, 1, None), former(&number, 2, Some(2))];
    let layouts = [FormerLayout { until_version: 2, columns }];
    let at_3 = |column_type: &ColumnType, before: Option<Value>| ColumnDef {
        since_version: 3,
        before,
        ..column(column_type.clone())
    };
    let present = [at_3(&number, None), at_3(&text, Some(Value::text("new"))), at_3(&number, Some(Value::Int(5)))];
    let codec = RowCodec::new(&present, 3).with_former(&layouts);
    let new = Value::text("new");
    assert_eq!(read_all(&codec, &first, 3).unwrap(), [Value::Int(7), new.clone(), Value::Int(5)]);
    assert_eq!(read_all(&codec, &second, 3).unwrap(), [Value::Int(8), new, Value::Int(9)]);
    for stored in [&first, &second] {
        for len in 0..stored.len() {
            assert!(codec.open(&stored[..len], &mut RowOffsets::default()).is_err(), "it ends early");
        }
        let mut offsets = RowOffsets::default();
        let reader = codec.open(stored, &mut offsets).unwrap();
        let mut upgraded = Vec::new();
        reader.write_changed(&[(1, Value::Null)], &mut upgraded).unwrap();
        let expected = [reader.get(0).unwrap(), Value::Null, reader.get(2).unwrap()];
        assert!(codec.image(&upgraded).is_ok() && read_all(&codec, &upgraded, 3).unwrap() == expected);
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let codec = RowCodec::new(&[column(int(IntWidth::Int, false))], 1);
    let mut out = vec![9];
    assert_eq!(codec.encode(&[Value::text("1")], &mut out).unwrap_err().errno, 1105);
    assert_eq!(codec.encode(&[], &mut out).unwrap_err().errno, 1105);
    assert_eq!(out, [9]);
}

proptest! {
    #[test]
    fn rows_read_back((columns, values) in typed_row()) {
        let codec = RowCodec::new(&columns, 1);
        let mut stored = Vec::new();
        codec.encode(&values, &mut stored).unwrap();
        prop_assert_eq!(read_all(&codec, &stored, columns.len()).unwrap(), values);
    }

    #[test]
    fn changed_rows_are_what_encoding_anew_gives((columns, values) in typed_row(), picks in proptest::collection::vec(any::<bool>(), 12)) {
        let codec = RowCodec::new(&columns, 1);
        let mut before = Vec::new();
        codec.encode(&vec![Value::Null; columns.len()], &mut before).unwrap();
        // Through a row of NULLs and back, column by column as picked.
        let mut changed = values.clone();
        let mut full = Vec::new();
        codec.encode(&values, &mut full).unwrap();
        let changes: Vec<(usize, Value)> = (0..columns.len()).filter(|&at| picks[at]).map(|at| (at, Value::Null)).collect();
        changes.iter().for_each(|(at, value)| changed[*at] = value.clone());
        let mut expected = Vec::new();
        codec.encode(&changed, &mut expected).unwrap();
        let mut offsets = RowOffsets::default();
        let mut out = Vec::new();
        codec.open(&full, &mut offsets).unwrap().write_changed(&changes, &mut out).unwrap();
        prop_assert_eq!(&out, &expected);
        let back: Vec<(usize, Value)> = changes.iter().map(|(at, _)| (*at, values[*at].clone())).collect();
        let mut again = Vec::new();
        codec.open(&out, &mut offsets).unwrap().write_changed(&back, &mut again).unwrap();
        prop_assert_eq!(again, full);
    }

    #[test]
    fn damage_is_an_error_or_another_row_never_a_panic((columns, values) in typed_row(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let codec = RowCodec::new(&columns, 1);
        let mut stored = Vec::new();
        codec.encode(&values, &mut stored).unwrap();
        for len in 0..stored.len() {
            prop_assert!(read_all(&codec, &stored[..len], columns.len()).is_err());
        }
        let at = at.index(stored.len());
        stored[at] ^= flip;
        let _ = read_all(&codec, &stored, columns.len());
    }

    #[test]
    fn key_order_is_value_order((column_type, a) in typed_value(), (_, b) in typed_value(), (other_type, c) in typed_value()) {
        use super::super::key::{self, KeyPart};
        let part = KeyPart { column_type: column_type.clone(), nullable: true, prefix: None };
        let encode = |part: &KeyPart, value: &Value| {
            let mut out = Vec::new();
            key::encode(part, value, &mut out).map(|()| out)
        };
        let first = encode(&part, &a).unwrap();
        if let Ok(second) = encode(&part, &b) {
            let collation = column_type.collation().unwrap_or(Collation::Binary);
            let small_enough = |value: &Value| RowCodec::new(&[column(column_type.clone())], 1).encode(std::slice::from_ref(value), &mut Vec::new()).is_ok();
            let in_range = |value: &Value| match (&column_type, value) {
                (ColumnType::Int(IntType { width, unsigned, .. }), Value::Int(n)) => { let (l, g) = width.range(*unsigned); (l..=g).contains(&i128::from(*n)) }
                (ColumnType::Int(IntType { width, unsigned, .. }), Value::UInt(n)) => { let (l, g) = width.range(*unsigned); (l..=g).contains(&i128::from(*n)) }
                (ColumnType::Year, _) => matches!(value, Value::UInt(1901..=2155)),
                (ColumnType::DateTime(DateTimeType { fsp }) | ColumnType::Timestamp(TimestampType { fsp }) | ColumnType::Time(TimeType { fsp }), Value::DateTime(_) | Value::Time(_) | Value::Timestamp(_)) => {
                    matches!(value, Value::DateTime(v) if v.fsp() <= *fsp) || matches!(value, Value::Time(v) if v.fsp <= *fsp) || matches!(value, Value::Timestamp(v) if v.fsp <= *fsp)
                }
                _ => true,
            };
            if small_enough(&b) && in_range(&b) {
                prop_assert_eq!(first.cmp(&second), crate::expr::order_values(&a, &b, collation));
            }
        }
        prop_assert!(encode(&part, &Value::Null).unwrap() < first);
        // Parts end by themselves, and fixed ones read back.
        let mut both = first.clone();
        let other = KeyPart { column_type: other_type, nullable: false, prefix: None };
        both.extend(encode(&other, &c).unwrap());
        prop_assert_eq!(key::part_len(&part, &both).unwrap(), first.len());
        prop_assert_eq!(key::part_len(&other, &both[first.len()..]).unwrap(), both.len() - first.len());
        if let Some(back) = key::decode(&part, &both).unwrap() {
            prop_assert_eq!(crate::expr::order_values(&back, &a, Collation::Binary), std::cmp::Ordering::Equal);
        }
        for len in 0..first.len() {
            prop_assert!(key::part_len(&part, &first[..len]).is_err());
            let _ = key::decode(&part, &first[..len]);
        }
    }
}
