use proptest::prelude::*;

use super::*;

fn key(collation: Collation, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    collation.write_key(text.as_bytes(), &mut key);
    key
}

fn equal(collation: Collation, a: &str, b: &str) -> bool {
    collation.equal(a.as_bytes(), b.as_bytes())
}

#[test]
fn default_collation_ignores_case_and_accents_and_counts_spaces() {
    let ai_ci = Collation::Utf8mb4_0900AiCi;
    assert!(equal(ai_ci, "Straße", "STRASSE"));
    assert!(equal(ai_ci, "é", "E"));
    assert!(equal(ai_ci, "e\u{301}", "é"));
    assert!(!equal(ai_ci, "a", "a "));
    assert!(!equal(ai_ci, "a-b", "ab"));
    assert_eq!(ai_ci.compare(b"a", b"B"), Ordering::Less);
    assert_eq!(ai_ci.compare(b"_", b"1"), Ordering::Less);
    assert_eq!(ai_ci.compare("z".as_bytes(), "я".as_bytes()), Ordering::Less);
}

#[test]
fn general_collation_pads_and_weighs_one_character_for_one() {
    let general = Collation::Utf8mb4GeneralCi;
    assert!(equal(general, "é", "E"));
    assert!(equal(general, "ß", "s"));
    assert!(equal(general, "a", "a  "));
    assert!(equal(general, "\u{1f600}", "\u{1f601}"));
    assert!(!equal(general, "e\u{301}", "é"));
    assert_eq!(general.compare(b"a", b"_"), Ordering::Less);
    assert_eq!(general.compare(b"a\t", b"a"), Ordering::Less);
}

/// As MySQL 5.6 answers.
#[test]
fn general_collation_compares_bytes_where_one_of_two_is_no_text() {
    let general = |a: &[u8], b: &[u8]| Collation::Utf8mb4GeneralCi.compare(a, b);
    assert_eq!(general("ä€".as_bytes(), b"\xac\x82"), Ordering::Greater);
    assert_eq!(general("ä€".as_bytes(), b"\xff"), Ordering::Less);
    assert_eq!(general("Äz".as_bytes(), b"\xc3\xa4\xff"), Ordering::Less);
    assert_eq!(general(b"\xe2\x82", b"\xe2\x82"), Ordering::Equal);
    assert_eq!(general(b"\xff ", b"\xff"), Ordering::Greater);
    assert_eq!(general("ä".as_bytes(), b"\xc3\xa4\xff"), Ordering::Less);
    let key = |bytes: &[u8]| {
        let mut key = Vec::new();
        Collation::Utf8mb4GeneralCi.write_key(bytes, &mut key);
        key
    };
    assert_eq!(key(b"\xc3\xa4\xff"), key(b"A\xff"));
    assert_ne!(key(b"\xc3\xa4\xff"), key(b"A\xfe"));
    assert_eq!(general("ä\u{fffd}".as_bytes(), b"A\xef\xbf\xbd \xff"), Ordering::Less);
}

#[test]
fn binary_collations_differ_in_padding() {
    assert!(equal(Collation::Utf8mb4Bin, "a", "a "));
    assert!(!equal(Collation::Utf8mb4_0900Bin, "a", "a "));
    assert!(!equal(Collation::Binary, "a", "A"));
}

#[test]
fn older_unicode_collations_pad_and_know_expansions() {
    for unicode in [Collation::Utf8mb4UnicodeCi, Collation::Utf8mb3Unicode520Ci] {
        assert!(equal(unicode, "Straße", "STRASSE  "));
        assert!(equal(unicode, "é", "E") && equal(unicode, "e\u{301}", "é"));
        assert_eq!(unicode.compare(b"a\t", b"a"), Ordering::Less);
        assert_eq!(unicode.compare("a".as_bytes(), "ż".as_bytes()), Ordering::Less);
        assert_eq!(unicode.compare("日".as_bytes(), "本".as_bytes()), "日".cmp("本"));
    }
    let (older, newer) = (Collation::Utf8mb4UnicodeCi, Collation::Utf8mb4Unicode520Ci);
    assert!(equal(older, "\u{1f600}", "\u{1f601}") && !equal(newer, "\u{1f600}", "\u{1f601}"));
    assert!(!equal(older, "ł", "l") && equal(newer, "ł", "l"));
    assert!(!equal(older, "Æ", "AE") && equal(newer, "Æ", "AE"));
}

#[test]
fn accents_and_case_count_where_the_name_says_so() {
    let differs = |a: &str, b: &str| {
        let collations = [Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4_0900AsCi, Collation::Utf8mb4_0900AsCs];
        collations.map(|collation| !equal(collation, a, b))
    };
    assert_eq!(differs("a", "á"), [false, true, true]);
    assert_eq!(differs("a", "A"), [false, false, true]);
    assert_eq!(differs("a", "b"), [true; 3]);
    assert_eq!(
        Collation::ALL.map(|collation| collation.is_case_sensitive()),
        Collation::ALL.map(|collation| !equal(collation, "a", "A"))
    );
    assert_eq!(
        Collation::ALL.map(|collation| collation.pads()),
        Collation::ALL.map(|collation| equal(collation, "a", "a "))
    );
}

#[test]
fn latin1_has_an_order_of_its_own() {
    assert!(equal(Collation::Latin1SwedishCi, "Ü", "y") && !equal(Collation::Latin1SwedishCi, "ö", "o"));
    assert!(equal(Collation::Latin1German1Ci, "ö", "O"));
    assert!(equal(Collation::Latin1GeneralCi, "ö", "Ö") && !equal(Collation::Latin1GeneralCs, "ö", "Ö"));
    // By bytes of latin1, in which the euro sign comes first.
    assert_eq!(Collation::Latin1Bin.compare("€".as_bytes(), "é".as_bytes()), Ordering::Less);
    assert_eq!(Collation::Utf8mb4Bin.compare("€".as_bytes(), "é".as_bytes()), Ordering::Greater);
}

#[test]
fn names_and_ids_lead_back() {
    for collation in Collation::ALL {
        assert_eq!(Collation::from_name(&collation.name().to_uppercase()), Some(collation));
        assert_eq!(Collation::from_id(collation.id()), Some(collation));
    }
    assert_eq!(Collation::from_name("utf8_general_ci"), Some(Collation::Utf8mb3GeneralCi));
    assert_eq!(Collation::from_name("latin1_danish_ci"), None);
    assert!(Collation::ALL.iter().filter(|collation| collation.is_default()).count() == Charset::ALL.len());
}

#[test]
fn patterns_match_under_the_collation() {
    let like =
        |text: &str, pattern: &str| like(Collation::DEFAULT, text.as_bytes(), pattern.as_bytes(), Some('\\'), &|| true);
    assert!(like("Hello", "h%O"));
    assert!(like("hello", "_____"));
    assert!(!like("hello", "____"));
    assert!(like("", "%"));
    assert!(!like("", "_"));
    assert!(like("50%", "50\\%"));
    assert!(!like("500", "50\\%"));
    assert!(like("aXbXc", "%x%x%"));
    assert!(like("é", "_"));
    assert!(like("Café au lait", "%fe au%"));
    assert!(!like("a ", "a"));
    assert!(like("abcabd", "%abd"));
    assert!(super::like(Collation::Binary, b"\xff\x00a", b"_%a", None, &|| true));
    assert!(!super::like(Collation::Utf8mb4Bin, b"A", b"a", None, &|| true));
}

/// Text of characters with something to them: case, accents, marks, spaces, controls, other scripts.
#[test]
fn every_plain_character_is_equal_to_its_other_case_alone() {
    for collation in Collation::ALL.into_iter().filter(|collation| collation.is_character()) {
        for plain in b' '..=b'~' {
            for other in 0..0x80_u8 {
                let equal = match collation.is_case_sensitive() {
                    true => plain == other,
                    false => plain.eq_ignore_ascii_case(&other),
                };
                let [a, b] = [plain, other].map(char::from);
                assert_eq!(collation.equal_chars(a, b), equal, "{}: {a:?} {b:?}", collation.name());
            }
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[a-cA-C \\t\\x00\\x01é-]{0,6}",
        "[a-eßéÉ\u{300}-\u{305}ａ日本я한\u{1f600}\u{1f601} ]{0,8}",
        "\\PC{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn keys_are_in_the_order_of_comparison(a in text(), b in text()) {
        for collation in Collation::ALL {
            let order = collation.compare(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(key(collation, &a).cmp(&key(collation, &b)), order, "{}", collation.name());
            prop_assert_eq!(collation.compare(b.as_bytes(), a.as_bytes()), order.reverse());
        }
    }

    #[test]
    fn starts_are_those_of_keys(a in prop_oneof![text(), "[\\x00-\\x7f]{0,40}", "[a-zA-Z0-9-]{12,20}[é ]?"]) {
        for collation in Collation::ALL {
            if let Some(start) = collation.key_start(a.as_bytes()) {
                let mut whole = key(collation, &a);
                whole.resize(whole.len().max(KEY_START), 0);
                prop_assert_eq!(&start[..], &whole[..KEY_START], "{} of {:?}", collation.name(), a);
            }
        }
    }

    #[test]
    fn keys_end_by_themselves(a in text(), rest in proptest::collection::vec(any::<u8>(), 0..4)) {
        for collation in Collation::ALL {
            let mut bytes = key(collation, &a);
            let len = bytes.len();
            bytes.extend_from_slice(&rest);
            prop_assert_eq!(collation.key_len(&bytes), Some(len), "{}", collation.name());
            prop_assert_eq!(collation.key_len(&bytes[..len - 1]), None, "{}", collation.name());
        }
    }

    #[test]
    fn keys_of_what_a_pattern_matches_begin_alike(a in text(), b in text()) {
        let literal: String = a.chars().flat_map(|c| ['\\', c]).collect();
        let pattern = literal.clone() + "%" + &b;
        for collation in Collation::ALL {
            let begins = beginning(collation, pattern.as_bytes(), Some('\\'), usize::MAX);
            prop_assert_eq!(&begins, a.as_bytes());
            let mut least = Vec::new();
            if !collation.write_key_of_beginning(&begins, &mut least) {
                prop_assert!(least.is_empty());
                continue;
            }
            for text in [a.clone(), a.clone() + &b, a.to_uppercase() + &b, a.to_lowercase() + &b, a.replace('e', "é") + &b] {
                if like(collation, text.as_bytes(), (literal.clone() + "%").as_bytes(), Some('\\'), &|| true) {
                    prop_assert!(key(collation, &text).starts_with(&least), "{}: {text:?}", collation.name());
                }
            }
        }
    }

    #[test]
    fn plain_characters_match_as_characters_do(
        text in prop_oneof!["[a-cA-C \\-\\t\\x00]{0,10}", "[ -~\\x00-\\x1f]{0,12}", text()],
        pattern in prop_oneof!["[%_a-cA-C \\\\-]{0,8}", "[%a-b]{0,6}", "[ -~]{0,4}"],
        one in "[ -~]", other in "[\\x00-\\x7f]",
        escape in prop_oneof![Just(None), Just(Some('\\')), Just(Some('a')), Just(Some('é'))],
    ) {
        for collation in Collation::ALL.into_iter().filter(|collation| collation.is_character()) {
            for (text, pattern) in [(&text, &pattern), (&other, &one), (&text, &format!("%{one}%"))] {
                let [text, pattern] = [text, pattern].map(|of| of.as_bytes());
                let found = like(collation, text, pattern, escape, &|| true);
                let expected = pattern::by_characters(collation, text, pattern, escape, &|| true);
                prop_assert_eq!(found, expected, "{}: {:?} LIKE {:?}", collation.name(), text, pattern);
            }
        }
    }

    #[test]
    fn table_for_ascii_gives_what_the_library_gives(a in text(), b in text(), plain in "[\\x00-\\x7f]{0,16}") {
        for level in [Level::Letters, Level::Accents, Level::Case] {
            let by_library = |a: &str, b: &str| unicode_ai_ci::compare_by_library(level, a.as_bytes(), b.as_bytes());
            prop_assert_eq!(unicode_ai_ci::compare(level, a.as_bytes(), b.as_bytes()), by_library(&a, &b));
            prop_assert_eq!(unicode_ai_ci::compare(level, a.as_bytes(), plain.as_bytes()), by_library(&a, &plain));
            prop_assert_eq!(unicode_ai_ci::compare_long(level, a.as_bytes(), b.as_bytes()), by_library(&a, &b));
        }
        let (mut table, mut library) = (Vec::new(), Vec::new());
        unicode_ai_ci::write_key(Level::Letters, plain.as_bytes(), &mut table);
        unicode_ai_ci::write_library_key(Level::Letters, plain.as_bytes(), &mut library);
        prop_assert_eq!(table, library);
    }

    #[test]
    fn binary_keys_read_back(bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(0xff), any::<u8>()], 0..12)) {
        let mut key = Vec::new();
        Collation::Binary.write_key(&bytes, &mut key);
        prop_assert_eq!(read_escaped_key(&key), Some(bytes));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_panic(a in proptest::collection::vec(any::<u8>(), 0..12), b in proptest::collection::vec(any::<u8>(), 0..12)) {
        for collation in Collation::ALL {
            let _ = (collation.compare(&a, &b), like(collation, &a, &b, Some('\\'), &|| true), collation.key_len(&a));
            collation.write_key(&a, &mut Vec::new());
        }
    }
}
