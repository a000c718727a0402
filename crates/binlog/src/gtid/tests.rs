use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const A: ServerUuid = ServerUuid::from_bytes([0xaa; 16]);
const A_TEXT: &str = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
const B_TEXT: &str = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb";

fn parse(text: &str) -> GtidSet {
    text.parse().expect("a GTID set")
}

#[test]
fn text_is_taken_as_mysql_takes_it_and_given_in_its_normal_form() {
    let set = parse(&format!(" {B_TEXT}:3 , ,\n{A_TEXT} : 5-7:1-3 :4:9-8, {}:11", A_TEXT.to_uppercase()));
    assert_eq!(set.to_string(), format!("{A_TEXT}:1-7:11,\n{B_TEXT}:3"));
    assert_eq!(parse(""), GtidSet::new());
    assert_eq!(parse(&set.to_string()), set);
    assert_eq!(parse(&A_TEXT.replace('-', "").as_str().to_owned().add_interval()).to_string(), format!("{A_TEXT}:1"));
}

trait AddInterval {
    fn add_interval(self) -> String;
}

impl AddInterval for String {
    fn add_interval(self) -> String {
        self + ":1"
    }
}

#[test]
fn the_encoded_length_is_known_without_encoding() {
    for text in [String::new(), format!("{A_TEXT}:1"), format!("{A_TEXT}:1-3:5:7-9,{B_TEXT}:2")] {
        let mut encoded = Vec::new();
        parse(&text).encode(&mut encoded);
        assert_eq!(parse(&text).encoded_len(), encoded.len() as u64, "{text}");
    }
}

#[test]
fn what_is_no_set_is_refused() {
    let tagged = format!("{A_TEXT}:audit:1-5");
    assert_eq!(tagged.parse::<GtidSet>(), Err(GtidParseError::Tagged("audit".to_owned())));
    assert_eq!(format!("{A_TEXT}:audit:1").parse::<Gtid>(), Err(GtidParseError::Tagged("audit:1".to_owned())));
    for text in ["x", "x:1", A_TEXT, &format!("{A_TEXT}:"), &format!("{A_TEXT}:1::2")] {
        assert!(text.parse::<GtidSet>().is_err(), "{text}");
    }
    for number in ["0", "-1", "+1", "1-", "-", "0-5", "1-2-3", "9223372036854775807", "99999999999999999999"] {
        let text = format!("{A_TEXT}:{number}");
        assert!(text.parse::<GtidSet>().is_err(), "{text}");
    }
    parse(&format!("{A_TEXT}:9223372036854775806"));
}

#[test]
fn the_last_number_is_the_one_to_go_on_from() {
    let set = parse(&format!("{A_TEXT}:1-5:8"));
    assert_eq!(set.last_gno(A), 8);
    assert_eq!(set.count(), 6);
    assert_eq!(GtidSet::new().last_gno(A), 0);
}

#[test]
fn binary_form_out_of_order_or_cut_off_is_refused() {
    let mut bytes = Vec::new();
    parse(&format!("{A_TEXT}:1-5:8,{B_TEXT}:2")).encode(&mut bytes);
    assert!(GtidSet::decode(&bytes).is_ok());
    for len in 0..bytes.len() {
        assert!(GtidSet::decode(&bytes[..len]).is_err(), "{len}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(GtidSet::decode(&longer), Err(GtidParseError::Binary(bytes.len())));
    // The first interval's end before its beginning.
    bytes[40..48].copy_from_slice(&0u64.to_le_bytes());
    assert!(GtidSet::decode(&bytes).is_err());
}

#[test]
fn binary_form_has_numbers_up_to_the_highest() {
    let form = |behind: u64| {
        let mut bytes = Vec::new();
        parse(&format!("{A_TEXT}:7")).encode(&mut bytes);
        let end = bytes.len();
        bytes[end - 8..].copy_from_slice(&behind.to_le_bytes());
        GtidSet::decode(&bytes).map(|set| set.to_string())
    };
    assert_eq!(form(i64::MAX as u64), Ok(format!("{A_TEXT}:7-9223372036854775806")));
    for behind in [0, 7, i64::MAX as u64 + 1, u64::MAX] {
        assert_eq!(form(behind), Err(GtidParseError::Binary(48)), "{behind}");
    }
}

/// A set the slow way.
type Model = BTreeSet<(u8, u64)>;

fn model() -> impl Strategy<Value = Model> {
    proptest::collection::btree_set((0u8..3, 1u64..40), 0..60)
}

fn gtid(server: u8, gno: u64) -> Gtid {
    Gtid { uuid: ServerUuid::from_bytes([server; 16]), gno }
}

fn set_of<'a>(model: impl IntoIterator<Item = &'a (u8, u64)>) -> GtidSet {
    let mut set = GtidSet::new();
    model.into_iter().for_each(|(server, gno)| set.insert(gtid(*server, *gno)));
    set
}

proptest! {
    #[test]
    fn a_set_holds_what_was_put_in(model in model(), order in any::<prop::sample::Index>()) {
        let mut turned: Vec<_> = model.iter().copied().collect();
        if !turned.is_empty() {
            let by = order.index(turned.len());
            turned.rotate_left(by);
        }
        let set = set_of(&turned);
        prop_assert_eq!(&set, &set_of(&model));
        for server in 0..3 {
            for gno in 1..45 {
                prop_assert_eq!(set.contains(gtid(server, gno)), model.contains(&(server, gno)));
            }
        }
        prop_assert_eq!(set.count(), model.len() as u64);
        prop_assert_eq!(set.is_empty(), model.is_empty());
    }

    #[test]
    fn text_and_binary_forms_come_back(model in model()) {
        let set = set_of(&model);
        prop_assert_eq!(set.to_string().parse::<GtidSet>().expect("own text"), set.clone());
        let mut bytes = Vec::new();
        set.encode(&mut bytes);
        prop_assert_eq!(GtidSet::decode(&bytes).expect("own bytes"), set);
    }

    #[test]
    fn union_and_difference_are_those_of_sets(a in model(), b in model()) {
        let (left, right) = (set_of(&a), set_of(&b));
        let mut union = left.clone();
        union.union(&right);
        prop_assert_eq!(&union, &set_of(a.union(&b)));
        let mut difference = left.clone();
        difference.subtract(&right);
        prop_assert_eq!(&difference, &set_of(a.difference(&b)));
        prop_assert_eq!(left.is_subset(&right), a.is_subset(&b));
        prop_assert!(left.is_subset(&union) && right.is_subset(&union));
    }
}

#[test]
fn the_lowest_number_that_is_free() {
    let mut set = GtidSet::of_range(A, 1, 3);
    set.insert(Gtid { uuid: A, gno: 5 });
    for (from, free) in [(1, 4), (3, 4), (4, 4), (5, 6), (6, 6), (9, 9)] {
        assert_eq!(set.first_free(A, from), free, "from {from} on");
    }
    assert_eq!(GtidSet::new().first_free(A, 1), 1);
}
