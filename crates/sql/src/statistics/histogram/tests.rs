//! Buckets, and the shares that follow from them.

use super::*;
use crate::types::column_type::VarCharType;
use crate::types::{IntType, IntWidth};

fn int() -> ColumnType {
    IntType { width: IntWidth::Int, unsigned: false, display_width: None }.into()
}

fn text() -> ColumnType {
    VarCharType { chars: 100, collation: Collation::Utf8mb4GeneralCi }.into()
}

/// Of values in any order, each with how many rows have it.
fn sample(column_type: &ColumnType, values: &[(Value, u64)], nulls: u64) -> Sample {
    let mut sample = Sample { nulls, rows: nulls, ..Sample::default() };
    for (value, rows) in values {
        let mut key = Vec::new();
        assert!(column_type.write_key(value, None, &mut key));
        sample.values.entry(key).or_insert((value.clone(), 0)).1 += rows;
        sample.rows += rows;
    }
    sample.of_rows = sample.rows;
    sample
}

fn ints(values: impl IntoIterator<Item = (i64, u64)>, nulls: u64, most: u16) -> Histogram {
    let values: Vec<_> = values.into_iter().map(|(value, rows)| (Value::Int(value), rows)).collect();
    Histogram::of(int(), sample(&int(), &values, nulls), most, 1_000_000)
}

fn share(histogram: &Histogram, op: CompareOp, value: i64) -> f64 {
    histogram.share(op, &Value::Int(value), Collation::Binary).expect("a number")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn few_values_have_a_bucket_each() {
    let histogram = ints([(7, 60), (-1, 20), (9, 10)], 10, 3);
    assert!(histogram.singleton);
    assert_eq!((histogram.distinct(), histogram.nulls(), histogram.present()), (3.0, 0.1, 0.9));
    let expected = [
        (CompareOp::Equal, 7, 0.6),
        (CompareOp::Equal, 8, LEAST),
        (CompareOp::NotEqual, 7, 0.3),
        (CompareOp::Less, 7, 0.2),
        (CompareOp::Less, -1, LEAST),
        (CompareOp::LessOrEqual, 7, 0.8),
        (CompareOp::Greater, 7, 0.1),
        (CompareOp::Greater, 8, 0.1),
        (CompareOp::GreaterOrEqual, 7, 0.7),
        (CompareOp::GreaterOrEqual, 100, LEAST),
    ];
    for (op, value, kept) in expected {
        assert!(close(share(&histogram, op, value), kept), "{op:?} {value}: {}", share(&histogram, op, value));
    }
    let between = |low, high| histogram.between(&Value::Int(low), &Value::Int(high), Collation::Binary);
    assert!(close(between(-1, 7).expect("numbers"), 0.8));
    assert!(close(between(8, 100).expect("numbers"), 0.1));
    assert!(close(between(9, 7).expect("numbers"), LEAST), "nothing lies between");
}

#[test]
fn many_values_share_buckets_and_a_frequent_one_is_alone() {
    let values = (0..1000).map(|value| (value, if value == 500 { 1000 } else { 1 }));
    let histogram = ints(values, 0, 10);
    assert!(!histogram.singleton);
    assert!(histogram.buckets.len() <= 10 && histogram.buckets.len() > 5, "{:?}", histogram.buckets);
    assert!(histogram.buckets.iter().any(|bucket| bucket.low == Value::Int(500) && bucket.high == Value::Int(500)));
    assert!(histogram.buckets.windows(2).all(|pair| histogram.order(&pair[0].high, &pair[1].low).is_lt()));
    assert_eq!(histogram.buckets.iter().map(|bucket| bucket.rows).sum::<u64>(), 1999);
    assert!(close(share(&histogram, CompareOp::Equal, 500), 1000.0 / 1999.0));
    assert!(close(share(&histogram, CompareOp::Equal, 3), LEAST));
    let below = share(&histogram, CompareOp::Less, 250);
    assert!((0.11..0.14).contains(&below), "{below} of an eighth");
    assert_eq!(histogram.distinct(), 1000.0);
    let one = ints((0..1000).map(|value| (value, 1)), 0, 1);
    assert_eq!(one.buckets.len(), 1);
    let half = share(&one, CompareOp::Less, 500);
    assert!((0.49..0.51).contains(&half), "{half}");
}

#[test]
fn however_values_are_spread_there_are_no_more_buckets_than_asked_for() {
    for most in [1, 2, 3, 7, 100, 1024] {
        for spread in [1_u64, 2, 17, 1000] {
            let values = (0..2000_u64).map(|value| (value as i64, 1 + value * value % spread));
            let histogram = ints(values, 5, most);
            assert!(histogram.buckets.len() <= usize::from(most), "{most} {spread}: {}", histogram.buckets.len());
            assert!(histogram.buckets.len() * 3 >= usize::from(most), "{most} {spread}: {}", histogram.buckets.len());
        }
    }
}

#[test]
fn what_a_sample_lacks_counts() {
    let mut whole = sample(&int(), &(0..1000).map(|value| (Value::Int(value), 1)).collect::<Vec<_>>(), 0);
    whole.of_rows = 100_000;
    let histogram = Histogram::of(int(), whole, 10, 0);
    assert!((9_000.0..11_000.0).contains(&histogram.distinct()), "{}", histogram.distinct());
    let mut often = sample(&int(), &(0..100).map(|value| (Value::Int(value), 10)).collect::<Vec<_>>(), 0);
    often.of_rows = 100_000;
    assert_eq!(Histogram::of(int(), often, 10, 0).distinct(), 100.0);
}

#[test]
fn texts_compare_under_the_collation_of_their_column_only() {
    let values: Vec<_> = ["Ada", "bob", "Cleo"].into_iter().map(|name| (Value::text(name), 10)).collect();
    let histogram = Histogram::of(text(), sample(&text(), &values, 0), 100, 0);
    let equal = |name: &str, collation| histogram.share(CompareOp::Equal, &Value::text(name), collation);
    assert_eq!(equal("ADA", Collation::Utf8mb4GeneralCi), Some(1.0 / 3.0));
    assert_eq!(equal("Ada", Collation::Utf8mb4Bin), None);
    assert_eq!(histogram.share(CompareOp::Equal, &Value::Int(1), Collation::Utf8mb4GeneralCi), None);
    let below = histogram.share(CompareOp::Less, &Value::text("BZ"), Collation::Utf8mb4GeneralCi);
    assert_eq!(below, Some(2.0 / 3.0));
    let long = "x".repeat(60);
    assert_eq!(shortened(Value::text(long.as_str())), Value::text(&long[..42]));
    assert_eq!(shortened(Value::text("ä".repeat(50))), Value::text("ä".repeat(42)));
}

#[test]
fn no_rows_make_a_histogram_that_says_nothing() {
    let histogram = ints([], 0, 10);
    assert!(histogram.is_empty());
    assert!(!ints([], 3, 10).is_empty());
    assert_eq!(ints([], 3, 10).nulls(), 1.0);
    let json = histogram.to_json().to_string();
    assert!(json.starts_with(r#"{"buckets": [], "data-type": "int", "null-values": 0.0, "collation-id": 8"#), "{json}");
}

#[test]
fn the_document_is_that_of_mysql() {
    let singleton = ints([(1, 5), (2, 3)], 2, 128);
    let expected = r#"{"buckets": [[1, 0.5], [2, 0.8]], "data-type": "int", "null-values": 0.2, "collation-id": 8, "last-updated": "1970-01-01 00:00:01.000000", "sampling-rate": 1.0, "histogram-type": "singleton", "number-of-buckets-specified": 128}"#;
    assert_eq!(singleton.to_json().to_string(), expected);
    let names: Vec<_> = ["a", "b", "c", "d"].into_iter().map(|name| (Value::text(name), 1)).collect();
    let equi_height = Histogram::of(text(), sample(&text(), &names, 0), 2, 0).to_json().to_string();
    let buckets = r#"{"buckets": [["base64:type254:YQ==", "base64:type254:Yg==", 0.5, 2], ["base64:type254:Yw==", "base64:type254:ZA==", 1.0, 2]], "data-type": "string", "null-values": 0.0, "collation-id": 45"#;
    assert!(equi_height.starts_with(buckets), "{equi_height}");
    assert!(equi_height.contains(r#""histogram-type": "equi-height", "number-of-buckets-specified": 2"#));
}
