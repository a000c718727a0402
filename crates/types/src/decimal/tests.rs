use proptest::prelude::*;

use super::*;

fn dec(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

#[test]
fn text_reads_back() {
    for text in [
        "0",
        "-1",
        "1.50",
        "-0.05",
        "99999999999999999999999999999999999999.5",
        "123456789012345678901234567890123456789012345.678",
    ] {
        assert_eq!(dec(text).to_string(), text);
    }
    assert_eq!(dec("1e3").to_string(), "1000");
    assert_eq!(dec("1.25e-2").to_string(), "0.0125");
    assert_eq!(dec(".5").to_string(), "0.5");
    assert_eq!(Decimal::parse_prefix(b"12abc").unwrap().1, 2);
    assert!(Decimal::parse_prefix(b"abc").is_none());
    assert_eq!(dec("1e-500").to_string(), "0.000000000000000000000000000000");
    assert_eq!(dec("1e500").to_string().len(), 65);
}

#[test]
fn division_adds_four_digits() {
    let divide = |a: &str, b: &str| dec(a).divide(&dec(b), 4).unwrap().unwrap().to_string();
    assert_eq!(divide("5", "2"), "2.5000");
    assert_eq!(divide("10.00", "3"), "3.333333");
    assert_eq!(divide("-2", "3"), "-0.6667");
    assert_eq!(divide("0", "3"), "0.0000");
    assert_eq!(divide("1", "32"), "0.0313");
    assert_eq!(divide("1", "-32"), "-0.0313");
    assert_eq!(divide("1", "0.001"), "1000.0000");
    assert_eq!(dec("1").divide(&dec("0.0"), 4), Ok(None));
}

#[test]
fn a_quotient_has_the_digits_of_whole_groups() {
    let all = |number: Decimal| number.showing_all().to_string();
    let divide = |a: &Decimal, b: &Decimal| a.divide(b, 4).unwrap().unwrap();
    // From MySQL 5.6: INSERT of the quotient into a VARCHAR.
    for (a, b, digits) in [
        ("1", "3", "0.333333333"),
        ("10", "5", "2.000000000"),
        ("0", "3", "0"),
        ("1.00", "3", "0.333333333"),
        ("1.00", "3.00", "0.333333333333333333"),
        ("1.0000000001", "3", "0.333333333366666666"),
    ] {
        assert_eq!(all(divide(&dec(a), &dec(b))), digits, "{a}/{b}");
    }
    let third = divide(&dec("1"), &dec("3"));
    assert_eq!(third.scale(), 4);
    assert_eq!(all(divide(&third, &dec("3"))), "0.111111111000000000");
    let one = divide(&third, &third);
    assert_eq!(all(one.clone()), "1.000000000000000000000000000");
    assert_eq!(all(divide(&one, &third)), "3.000000003000000003000000003000000003000000003");
    assert_eq!(third.multiply(&dec("3")).unwrap().to_string(), "1.0000");
    assert_eq!(all(third.multiply(&dec("3")).unwrap()), "0.999999999");
    assert_eq!(third.add(&third).unwrap().to_string(), "0.6667");
    assert_eq!(all(dec("0.00").multiply(&dec("1.50")).unwrap()), "0.0000");
    assert_eq!(all(dec("0.00").multiply(&dec("-1.50")).unwrap()), "0");
    assert_eq!(all(dec("3.00").remainder(&dec("1.50")).unwrap()), "0");
    let zero = third.subtract(&third).unwrap();
    assert_eq!((zero.to_string(), all(zero)), ("0.0000".to_owned(), "0".to_owned()));
    assert_eq!(third.negate().to_string(), "-0.3333");
    assert_eq!(third.round_to(6).to_string(), "0.333333");
    assert_eq!(third.as_shown(), dec("0.3333"));
    assert_ne!(third, dec("0.3333"));
    assert_eq!(third.to_f64(), 0.333_333_333);
    assert_eq!(dec("-0.00001").showing(4).to_string(), "0.0000");
    assert_eq!(dec("5").showing(2).to_string(), "5.00");
}

#[test]
fn half_rounds_away_from_zero() {
    assert_eq!(dec("2.5").round_to(0).to_string(), "3");
    assert_eq!(dec("-2.5").round_to(0).to_string(), "-3");
    assert_eq!(dec("-2.49").round_to(0).to_string(), "-2");
    assert_eq!(dec("1250").round_before_point(2, false).to_string(), "1300");
    assert_eq!(dec("1250").round_before_point(2, true).to_string(), "1200");
    assert_eq!(dec("-1.1").floor().to_string(), "-2");
    assert_eq!(dec("-1.1").ceil().to_string(), "-1");
}

#[test]
fn sums_beyond_65_digits_overflow() {
    let most = Decimal::largest(65, 0, false);
    assert_eq!(most.add(&dec("1")), Err(DecimalOverflow));
    assert_eq!(most.to_string(), "9".repeat(65));
    assert_eq!(most.multiply(&most), Err(DecimalOverflow));
}

#[test]
fn binary_form_is_the_binlogs() {
    // MySQL's manual: 1234567890.1234 in DECIMAL(14,4) is 81 0D FB 38 D2 04 D2.
    let mut bytes = Vec::new();
    dec("1234567890.1234").write_binary(14, 4, &mut bytes);
    assert_eq!(bytes, [0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2]);
    bytes.clear();
    dec("-1234567890.1234").write_binary(14, 4, &mut bytes);
    assert_eq!(bytes, [0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d]);
}

#[test]
fn damaged_binary_form_is_refused() {
    assert!(Decimal::read_binary(9, 0, &[0xff, 0xff, 0xff, 0xff]).is_none());
    assert!(Decimal::read_binary(9, 0, &[0x80]).is_none());
}

fn number() -> impl Strategy<Value = (Decimal, u8, u8)> {
    (1u8..=65, 0u8..=30)
        .prop_map(|(precision, scale)| (precision.max(scale), scale))
        .prop_flat_map(|(precision, scale)| {
            (proptest::collection::vec(0u8..10, precision as usize), any::<bool>(), Just(precision), Just(scale))
        })
        .prop_map(|(digits, negative, precision, scale)| {
            let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
            let (integer, fraction) = text.split_at(text.len() - scale as usize);
            let text = format!("{}0{integer}.{fraction}", if negative { "-" } else { "" });
            let (number, _) = Decimal::parse_prefix(text.as_bytes()).unwrap();
            (number.round_to(scale), precision, scale)
        })
}

proptest! {
    #[test]
    fn binary_form_reads_back_and_keeps_the_order((a, precision, scale) in number(), coefficient in any::<i64>()) {
        let mut bytes = Vec::new();
        a.write_binary(precision, scale, &mut bytes);
        prop_assert_eq!(bytes.len(), Decimal::binary_len(precision, scale));
        prop_assert_eq!(Decimal::read_binary(precision, scale, &bytes).unwrap().to_string(), a.to_string());
        let b = Decimal::new(i128::from(coefficient), scale);
        if b.fits(precision, scale) {
            let mut others = Vec::new();
            b.write_binary(precision, scale, &mut others);
            prop_assert_eq!(bytes.cmp(&others), a.cmp(&b));
        }
    }

    #[test]
    fn arithmetic_of_both_widths_agrees(a in any::<i128>(), b in any::<i128>(), sa in 0u8..6, sb in 0u8..6) {
        let (a, b) = (a >> 8, b >> 70);
        let small = (Decimal::new(a, sa), Decimal::new(b, sb));
        let wide = |coefficient, places| {
            Decimal(Repr::Big(Box::new(BigRepr { coefficient: BigInt::from(coefficient), places, shown: places })))
        };
        let big = (wide(a, sa), wide(b, sb));
        prop_assert_eq!(small.0.add(&small.1), big.0.add(&big.1));
        prop_assert_eq!(small.0.multiply(&small.1), big.0.multiply(&big.1));
        prop_assert_eq!(small.0.cmp(&small.1), big.0.cmp(&big.1));
        if b != 0 {
            prop_assert_eq!(small.0.divide(&small.1, 4), big.0.divide(&big.1, 4));
            prop_assert_eq!(small.0.remainder(&small.1), big.0.remainder(&big.1));
        }
    }
}
