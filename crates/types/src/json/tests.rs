use proptest::prelude::*;

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(json(text).write_binary(&mut bytes));
    bytes
}

#[test]
fn text_is_written_as_mysql_writes_it() {
    let same = |text: &str, written: &str| assert_eq!(json(text).to_string(), written, "{text}");
    same(r#" {"bb":1 , "a": [1,2.50,1e3, true,null, {}], "a":"last"} "#, r#"{"a": "last", "bb": 1}"#);
    same("[1,2.50,1e3,1e100,-0.5,100000000000000000000]", "[1, 2.5, 1000.0, 1e100, -0.5, 1e20]");
    same("[]", "[]");
    same(r#""\u00e9\n\"\\\/\u0001""#, r#""é\n\"\\/\u0001""#);
    same("18446744073709551615", "18446744073709551615");
    assert_eq!(json("\"a\\tb\"").unquoted(), "a\tb");
}

#[test]
fn kinds_are_named() {
    let kinds = ["null", "true", "1", "4294967295", "4294967296", "-5000000000", "1.5", "\"a\"", "[]", "{}"];
    let names = kinds.map(|text| json(text).type_name());
    assert_eq!(
        names,
        ["NULL", "BOOLEAN", "INTEGER", "INTEGER", "UNSIGNED INTEGER", "INTEGER", "DOUBLE", "STRING", "ARRAY", "OBJECT"]
    );
}

#[test]
fn what_is_no_document_is_refused_where_it_is_wrong() {
    let wrong = |text: &str| match Json::parse(text) {
        Err(TextError::Invalid(what, at)) => (what, at),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(wrong(""), ("The document is empty.", 0));
    assert_eq!(wrong("abc").0, "Invalid value.");
    assert_eq!(wrong("[1, 2").0, "Missing a comma or ']' after an array element.");
    assert_eq!(wrong("{\"a\" 1}").0, "Missing a colon after a name of object member.");
    assert_eq!(wrong("{1: 2}").0, "Missing a name for object member.");
    assert_eq!(wrong("[1] 2"), ("The document root must not be followed by other values.", 4));
    assert_eq!(wrong("1e999").0, "Number too big to be stored in double.");
    assert_eq!(wrong("\"a").0, "Missing a closing quotation mark in string.");
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(json(&nested(MAX_DEPTH)).depth(), MAX_DEPTH);
    assert_eq!(Json::parse(&nested(MAX_DEPTH + 1)), Err(TextError::TooDeep));
    assert_eq!(Json::parse(&nested(100_000)), Err(TextError::TooDeep));
    assert!(Json::Array(vec![json(&nested(MAX_DEPTH))]).bounded().is_err());
    // Bytes that are deeper than any document.
    let deep = |depth: usize| {
        let mut bytes = vec![12, 0];
        for _ in 1..depth {
            let len = (bytes.len() - 1 + 7) as u16;
            bytes = [&[2, 1, 0, len as u8, (len >> 8) as u8, bytes[0], 7, 0][..], &bytes[1..]].concat();
        }
        Json::read_binary(&bytes)
    };
    assert_eq!(deep(MAX_DEPTH).map(|json| json.depth()), Some(MAX_DEPTH));
    assert_eq!(deep(MAX_DEPTH + 2), None);
}

#[test]
fn bytes_that_unfold_without_end_are_none() {
    // Each array has the next one four times; all of it takes 500 bytes.
    let mut bytes = vec![12, 1, b'x'];
    for _ in 0..30 {
        let len = (bytes.len() - 1 + 16) as u16;
        let entry = [bytes[0], 16, 0];
        let head = [2, 4, 0, len as u8, (len >> 8) as u8];
        bytes = [&head[..], &entry, &entry, &entry, &entry, &bytes[1..]].concat();
    }
    assert_eq!(Json::read_binary(&bytes), None);
}

#[test]
fn bytes_are_those_of_mysql() {
    assert_eq!(bytes("null"), [4, 0]);
    assert_eq!(bytes("true"), [4, 1]);
    assert_eq!(bytes("-1"), [5, 0xff, 0xff]);
    assert_eq!(bytes("65536"), [7, 0, 0, 1, 0]);
    assert_eq!(bytes("1.5"), [[11].as_slice(), &1.5f64.to_le_bytes()].concat());
    assert_eq!(bytes("\"ab\""), [12, 2, b'a', b'b']);
    // Count, bytes, the entry with the number in it, that with the text's offset, the text.
    assert_eq!(bytes("[1, \"a\"]"), [2, 2, 0, 12, 0, 5, 1, 0, 12, 10, 0, 1, b'a']);
    // Count, bytes, the keys' offsets and lengths, the entries, the keys.
    assert_eq!(
        bytes(r#"{"bb": 1, "a": null}"#),
        [0, 2, 0, 21, 0, 18, 0, 1, 0, 19, 0, 2, 0, 4, 0, 0, 5, 1, 0, b'a', b'b', b'b']
    );
    // 70,000 bytes: the large form, in which numbers of 32 bits stand in their entries.
    let large = bytes(&format!("[70000, \"{}\"]", "x".repeat(70_000)));
    let length = (8 + 10 + 3 + 70_000u32).to_le_bytes();
    let text_at = 18u32.to_le_bytes();
    let head = [&[3, 2, 0, 0, 0][..], &length, &[7], &70_000u32.to_le_bytes(), &[12], &text_at, &[0xf0, 0xa2, 0x04]];
    assert_eq!(large[..head.concat().len()], head.concat());
}

#[test]
fn scalars_of_sql_keep_their_types() {
    let decimal = Json::Decimal(Decimal::parse("-12.340").unwrap());
    let date = Date { year: 2015, month: 1, day: 15 };
    let time = Time { micros: -3_661_000_001, fsp: 6 };
    let datetime = DateTime::new(date, 84_265_000_000, 6);
    let opaque = Json::Opaque(FieldType::VarString, [1, 2, 255].as_slice().into());
    for (json, text) in [
        (decimal, "-12.340"),
        (Json::Date(date), "\"2015-01-15\""),
        (Json::Time(time), "\"-01:01:01.000001\""),
        (Json::DateTime(datetime), "\"2015-01-15 23:24:25.000000\""),
        (opaque, "\"base64:type253:AQL/\""),
    ] {
        assert_eq!(json.to_string(), text);
        let mut bytes = Vec::new();
        assert!(json.write_binary(&mut bytes));
        assert_eq!(Json::read_binary(&bytes), Some(json), "{text}");
    }
}

fn found(document: &str, path: &str) -> Vec<String> {
    let json = json(document);
    json.seek(&Path::parse(path).unwrap()).into_iter().map(Json::to_string).collect()
}

#[test]
fn paths_lead_where_mysql_s_lead() {
    let document = r#"{"a": [1, {"b": 2, "c d": 3}, [4, 5]], "b": 6, "é": 7}"#;
    assert_eq!(found(document, "$.a[1].b"), ["2"]);
    assert_eq!(found(document, "$ . a [ 1 ] . \"c d\""), ["3"]);
    assert_eq!(found(document, "$.é"), ["7"]);
    assert_eq!(found(document, "$.a[last][last - 1]"), ["4"]);
    assert_eq!(found(document, "$.a[0 to 1]"), ["1", r#"{"b": 2, "c d": 3}"#]);
    assert_eq!(found(document, "$.a[last-9 to 0]"), ["1"]);
    assert_eq!(found(document, "$.a[*]").len(), 3);
    assert_eq!(found(document, "$**.b"), ["6", "2"]);
    assert_eq!(found(document, "$**[0]").len(), 9);
    assert_eq!(found(document, "$.b[0]"), ["6"]);
    assert_eq!(found(document, "$.b[1]"), [""; 0]);
    assert_eq!(found(document, "$.*[0]"), ["1", "6", "7"]);
    for wrong in ["", "a", "$.", "$.1a", "$[", "$[-1]", "$[1 to 0]", "$**", "$a", "$.\"a", "$.a b"] {
        assert!(Path::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn changes_are_made_as_by_mysql() {
    let changed = |document: &str, change: &dyn Fn(&mut Json)| {
        let mut json = json(document);
        change(&mut json);
        json.to_string()
    };
    let path = |text: &str| Path::parse(text).unwrap();
    let set = |document: &str, at: &str| changed(document, &|json| json.set(&path(at), Json::Int(9), true, true));
    assert_eq!(set("{\"a\": 1}", "$.a"), "{\"a\": 9}");
    assert_eq!(set("{\"a\": 1}", "$.b"), "{\"a\": 1, \"b\": 9}");
    assert_eq!(set("{\"a\": 1}", "$.b.c"), "{\"a\": 1}");
    assert_eq!(set("[1]", "$[5]"), "[1, 9]");
    assert_eq!(set("{\"a\": 1}", "$.a[1]"), "{\"a\": [1, 9]}");
    assert_eq!(set("{\"a\": 1}", "$.a[0]"), "{\"a\": 9}");
    assert_eq!(set("1", "$"), "9");
    let remove = |document: &str, at: &str| changed(document, &|json| json.remove(&path(at)));
    assert_eq!(remove("[1, [2, 3]]", "$[1][0]"), "[1, [3]]");
    assert_eq!(remove("{\"a\": 1}", "$.b"), "{\"a\": 1}");
    assert_eq!(remove("[1, 2]", "$[last]"), "[1]");
    let append = |document: &str, at: &str| changed(document, &|json| json.append(&path(at), Json::Int(9)));
    assert_eq!(append("[1, [2]]", "$[1]"), "[1, [2, 9]]");
    assert_eq!(append("{\"a\": 1}", "$.a"), "{\"a\": [1, 9]}");
    let insert = |document: &str, at: &str| changed(document, &|json| json.insert_before(&path(at), Json::Int(9)));
    assert_eq!(insert("[1, 2]", "$[1]"), "[1, 9, 2]");
    assert_eq!(insert("[1, 2]", "$[7]"), "[1, 2, 9]");
    let patched = json(r#"{"a": 1, "b": {"c": 2}}"#).patched(&json(r#"{"a": null, "b": {"d": 3}}"#));
    assert_eq!(patched.to_string(), r#"{"b": {"c": 2, "d": 3}}"#);
    assert_eq!(json("[1]").merged(json("{\"a\": 2}")).to_string(), "[1, {\"a\": 2}]");
    assert_eq!(json(r#"{"a": 1}"#).merged(json(r#"{"a": 2, "b": 3}"#)).to_string(), r#"{"a": [1, 2], "b": 3}"#);
}

#[test]
fn the_order_is_that_of_kinds_and_then_of_values() {
    let rising = [
        "null",
        "-1",
        "0.5",
        "1",
        "18446744073709551615",
        "\"A\"",
        "\"a\"",
        "\"ab\"",
        "{}",
        "[]",
        "[1]",
        "[1, 2]",
        "[2]",
        "false",
        "true",
    ];
    for (at, a) in rising.iter().enumerate() {
        for (other, b) in rising.iter().enumerate() {
            assert_eq!(json(a).compare(&json(b)), at.cmp(&other), "{a} {b}");
        }
    }
    assert!(json("1").compare(&json("1.0")).is_eq());
    assert!(json(r#"{"a": 1, "b": 2}"#).compare(&json(r#"{"b": 2, "a": 1.0}"#)).is_eq());
    assert!(json("[1, [2, 3]]").contains(&json("[1]")));
    assert!(json("[1, [2, 3]]").contains(&json("[[2]]")));
    assert!(json("[1, [2, 3]]").contains(&json("[2]")));
    assert!(!json("[1, [2, 3]]").contains(&json("[4]")));
    assert!(!json("[1, {\"a\": 2}]").contains(&json("2")));
    assert!(json(r#"{"a": 1, "b": [2]}"#).contains(&json(r#"{"b": 2}"#)));
}

fn documents() -> impl Strategy<Value = Json> {
    let scalars = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        (-70_000i64..70_000).prop_map(Json::Int),
        any::<u64>().prop_map(Json::UInt),
        any::<f64>().prop_filter("finite", |double| double.is_finite()).prop_map(Json::Double),
        "\\PC{0,40}".prop_map(|text| Json::Text(text.into())),
        "[a-z]{100,200}".prop_map(|text| Json::Text(text.repeat(200).into())),
        (any::<i64>(), 0u8..30).prop_map(|(number, scale)| Json::Decimal(Decimal::new(number.into(), scale))),
    ];
    scalars.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Json::Array),
            proptest::collection::vec(("\\PC{0,6}", inner), 0..8).prop_map(|members| Json::Object(Object::of(
                members.into_iter().map(|(key, value)| (key.into(), value))
            ))),
        ]
    })
}

proptest! {
    #[test]
    fn bytes_read_back(document in documents()) {
        let mut bytes = Vec::new();
        prop_assert!(document.write_binary(&mut bytes));
        let back = Json::read_binary(&bytes);
        prop_assert_eq!(back.as_ref(), Some(&document));
        let (mut key, mut same) = (Vec::new(), Vec::new());
        document.write_group_key(&mut key);
        back.unwrap().write_group_key(&mut same);
        prop_assert_eq!(key, same);
    }

    #[test]
    fn damaged_bytes_end_in_no_panic(document in documents(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut bytes = Vec::new();
        document.write_binary(&mut bytes);
        let at = at.index(bytes.len());
        let _ = Json::read_binary(&bytes[..at]);
        bytes[at] ^= flip;
        let _ = Json::read_binary(&bytes);
    }

    #[test]
    fn text_reads_back_as_the_same_text(document in documents()) {
        // A decimal is a double afterwards.
        let text = Json::parse(&document.to_string()).unwrap().to_string();
        prop_assert_eq!(Json::parse(&text).unwrap().to_string(), text);
    }
}
