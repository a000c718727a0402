use super::*;

fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr) -> Expr {
    Expr::arithmetic(op, a, b).unwrap()
}

fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    Expr::compare(op, a, b).unwrap()
}

#[test]
fn integers_are_exact_and_do_not_wrap() {
    use ArithmeticOp::{Add, Multiply, Subtract};
    check(arithmetic(Add, int(1), int(2)), "3");
    check(arithmetic(Add, int(i64::MAX), int(1)), "error 1690");
    check(arithmetic(Add, uint(u64::MAX), int(-1)), "18446744073709551614");
    check(arithmetic(Add, int(-1), uint(u64::MAX)), "18446744073709551614");
    check(arithmetic(Subtract, uint(1), int(2)), "error 1690");
    check(arithmetic(Subtract, int(1), uint(2)), "error 1690");
    check(arithmetic(Multiply, int(1 << 62), int(2)), "error 1690");
    check(arithmetic(Multiply, uint(u64::MAX), uint(u64::MAX)), "error 1690");
    let error = eval_in(&Session::new(), &arithmetic(Subtract, uint(1), int(2))).unwrap_err();
    assert_eq!(error.message, "BIGINT UNSIGNED value is out of range in '(1 - 2)'");
}

#[test]
fn text_counts_as_a_double() {
    use ArithmeticOp::Add;
    check(arithmetic(Add, text("5"), int(1)), "6");
    check(arithmetic(Add, text("1a"), int(1)), "2 !1292");
    check(arithmetic(Add, text(""), int(1)), "1");
    check(arithmetic(Add, text("  "), int(1)), "1");
    check(arithmetic(Add, text(" 1.5e1 "), int(1)), "16");
    check(arithmetic(Add, date("2020-01-01"), int(1)), "20200102");
    check(arithmetic(Add, null(), int(1)), "NULL");
}

#[test]
fn division_is_exact() {
    use ArithmeticOp::{Divide, IntDivide, Modulo};
    check(arithmetic(Divide, int(5), int(2)), "2.5000");
    check(arithmetic(Divide, int(1), int(0)), "NULL !1365");
    check(arithmetic(Divide, double(1.0), int(3)), "0.3333333333333333");
    check(arithmetic(Divide, decimal("1.00"), int(3)), "0.333333");
    let third = || arithmetic(Divide, int(1), int(3));
    check(arithmetic(ArithmeticOp::Multiply, third(), int(3)), "1.0000");
    check(arithmetic(ArithmeticOp::Multiply, third(), int(100)), "33.3333");
    check(arithmetic(ArithmeticOp::Add, third(), third()), "0.6667");
    check(arithmetic(Divide, third(), int(3)), "0.11111111");
    check(arithmetic(IntDivide, int(-7), int(2)), "-3");
    check(arithmetic(IntDivide, decimal("7.9"), decimal("2")), "3");
    check(arithmetic(IntDivide, uint(7), decimal("-2")), "error 1690");
    check(arithmetic(IntDivide, int(i64::MIN), int(-1)), "error 1690");
    check(arithmetic(IntDivide, decimal("-7.25"), uint(5)), "error 1690");
    check(arithmetic(IntDivide, decimal("-0.25"), uint(5)), "0");
    check(arithmetic(Modulo, int(-7), int(3)), "-1");
    check(arithmetic(Modulo, decimal("7.5"), int(2)), "1.5");
    check(arithmetic(Modulo, int(7), int(0)), "NULL !1365");
}

#[test]
fn warnings_end_a_strict_statement() {
    let session = Session { strict: true, ..Session::new() };
    let division = arithmetic(ArithmeticOp::Divide, int(1), int(0));
    assert_eq!(eval_in(&session, &division).unwrap_err().errno, 1365);
    let condition = compare(CompareOp::Equal, int(1), text("1a"));
    assert_eq!(eval_in(&session, &condition).unwrap_err().errno, 1292);
}

#[test]
fn the_bounds_of_a_null_are_not_evaluated() {
    let zero_divisor = || arithmetic(ArithmeticOp::Divide, int(1), int(0));
    check(Expr::between(null(), int(0), zero_divisor(), false).unwrap(), "NULL");
    check(Expr::between(int(2), int(1), zero_divisor(), false).unwrap(), "NULL !1365");
}

#[test]
fn bits_are_of_64() {
    use ArithmeticOp::{BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight};
    check(arithmetic(BitAnd, int(-1), int(5)), "5");
    check(arithmetic(BitOr, int(1), text("6")), "7");
    check(arithmetic(BitXor, int(1), int(3)), "2");
    check(arithmetic(ShiftLeft, int(1), int(63)), "9223372036854775808");
    check(arithmetic(ShiftLeft, int(1), int(64)), "0");
    check(arithmetic(ShiftRight, int(-1), int(60)), "15");
    check(Expr::Unary(UnaryOp::BitNot, Box::new(int(0))), "18446744073709551615");
    check(Expr::Unary(UnaryOp::Negate, Box::new(uint(1 << 63))), "-9223372036854775808");
    check(Expr::Unary(UnaryOp::Negate, Box::new(text("1.5"))), "-1.5");
}

#[test]
fn comparison_converts_to_the_stronger_kind() {
    use CompareOp::{Equal, Greater, Less};
    check(compare(Equal, text("a"), text("A")), "1");
    check(compare(Equal, text("a"), text("a ")), "0");
    check(compare(Equal, bytes(b"a"), text("A")), "0");
    check(compare(Equal, text("01"), int(1)), "1");
    check(compare(Equal, text("x"), int(0)), "1 !1292");
    check(compare(Less, int(-1), uint(u64::MAX)), "1");
    check(compare(Equal, decimal("1.10"), decimal("1.1")), "1");
    check(compare(Equal, int(i64::MAX), decimal("9223372036854775807.5")), "0");
    check(compare(Greater, date("2020-01-02"), text("2020-1-1")), "1");
    check(compare(Equal, date("2020-01-02"), text("junk")), "error 1525");
    check(compare(Greater, text("2024-02-30"), date("2020-01-02")), "error 1525");
    check(compare(Greater, date("2020-01-02"), text("0000-00-00")), "error 1525");
    check(compare(Equal, date("2020-01-02"), text("2020-01-02x")), "1 !1292");
    check(compare(Less, time("-10:00:00"), text("junk")), "1 !1292");
    check(Expr::in_list(date("2020-01-02"), vec![text("2020-1-2"), text("x")], false).unwrap(), "1");
    check(Expr::in_list(date("2020-01-02"), vec![text("x"), text("2020-1-2")], true).unwrap(), "error 1525");
    check(Expr::between(date("2020-01-02"), text("2020-01-01"), text("junk"), false).unwrap(), "error 1525");
    check(compare(Equal, date("2020-01-02"), datetime("2020-01-02 00:00:00")), "1");
    check(compare(Equal, datetime("2020-01-02 00:00:00"), int(20200102000000)), "1");
    check(compare(Equal, datetime("2020-01-02 00:00:00"), int(20200102)), "1");
    check(compare(Greater, datetime("2020-01-02 00:00:00"), int(20200101)), "1");
    check(compare(Greater, date("2020-01-02"), int(0)), "1");
    check(compare(Equal, date("2020-01-02"), decimal("200102.0")), "1");
    check(compare(Equal, time("10:00:00"), text("10:00")), "1");
    check(compare(Equal, null(), null()), "NULL");
    check(compare(CompareOp::NullSafeEqual, null(), null()), "1");
    check(compare(CompareOp::NullSafeEqual, int(1), null()), "0");
}

#[test]
fn hexadecimal_literals_are_numbers_where_numbers_are_wanted() {
    use ArithmeticOp::{Add, BitOr};
    check(arithmetic(Add, hex(b"A"), int(0)), "65");
    check(arithmetic(Add, hex(b""), int(0)), "0");
    check(arithmetic(BitOr, hex(b"\x01\x00"), int(0)), "256");
    check(arithmetic(Add, hex(b"\x01\0\0\0\0\0\0\0A"), int(0)), "65");
    check(compare(CompareOp::Equal, hex(b"A"), int(65)), "1");
    check(compare(CompareOp::Equal, hex(b"A"), text("A")), "1");
    check(Expr::in_list(int(65), vec![int(1), hex(b"A")], false).unwrap(), "1");
    check(Expr::between(int(10), hex(b"\x09"), hex(b"\x0b"), false).unwrap(), "1");
    check(call("abs", [hex(b"A")]), "65");
    check(call("concat", [hex(b"A"), text("b")]), "Ab");
    check(call("hex", [hex(b"A")]), "41");
    check(call("char_length", [hex("é".as_bytes())]), "2");
    check(Expr::Cast(Box::new(hex(b"A")), CastType::Signed), "65");
    check(Expr::Not(Box::new(hex(b"\0"))), "1");
    // Parameters that the plan cache took out are the same, other binary strings are read as digits.
    let session = Session::new();
    let sum = arithmetic(Add, param(0), int(0));
    for (param, expected) in [(Value::Hex((*b"A").into()), "65"), (Value::bytes(&b"5"[..]), "5")] {
        let params = [param];
        let cx = EvalContext::new(&params, &session);
        assert_eq!(sum.eval(&[], &cx).unwrap().to_string(), expected);
    }
}

#[test]
fn quotients_keep_digits_that_they_do_not_show() {
    use ArithmeticOp::{Divide, Multiply};
    let third = || arithmetic(Divide, int(1), int(3));
    let thrice = |expr| arithmetic(Multiply, expr, int(3));
    check(compare(CompareOp::Equal, third(), decimal("0.3333")), "0");
    check(compare(CompareOp::Equal, third(), decimal("0.333333333")), "1");
    check(call("round", [third(), int(6)]), "0.333333");
    check(call("truncate", [third(), int(7)]), "0.3333333");
    check(call("concat", [third()]), "0.3333");
    check(call("format", [third(), int(8)]), "0.33333333");
    check(Expr::Cast(Box::new(third()), CastType::Decimal { precision: 20, scale: 10 }), "0.3333333330");
    check(Expr::Cast(Box::new(third()), CastType::Double), "0.333333333");
    check(arithmetic(ArithmeticOp::Add, third(), double(0.0)), "0.333333333");
    check(thrice(call("ifnull", [third(), int(0)])), "1.0000");
    check(thrice(call("greatest", [third(), decimal("0.1")])), "1.0000");
    check(thrice(Expr::case(None, vec![(int(1), third())], Some(int(2))).unwrap()), "1.0000");
    check(thrice(call("abs", [Expr::Unary(UnaryOp::Negate, Box::new(third()))])), "1.0000");
    check(call("floor", [thrice(third())]), "0");
    check(call("ceil", [thrice(third())]), "1");
    check(Expr::case(None, vec![(int(0), int(1))], Some(int(5))).unwrap(), "5");
    check(call("if", [int(1), int(5), decimal("0.25")]), "5.00");
    check(thrice(Expr::AssignUserVariable("x".into(), Box::new(third()), Collation::DEFAULT)), "0.999999999");
}

#[test]
fn text_of_a_row_that_is_no_date_is_the_zero_date() {
    let session = Session::new();
    let column = Expr::column(0, "s", ResultType::string(10, Collation::DEFAULT));
    let condition = compare(CompareOp::Greater, date("2020-01-02"), column);
    let cx = EvalContext::new(&[], &session);
    assert_eq!(condition.condition(&[Value::text("junk")], &cx).unwrap(), Some(true));
    assert_eq!(*session.warnings.borrow(), [1292]);
}

#[test]
fn a_constant_beside_a_year_is_one() {
    let year = |year: u64| {
        let column_type = crate::types::ColumnType::Year.result_type(true);
        (Expr::column(0, "y", column_type), [Value::UInt(year)])
    };
    let session = Session::new();
    let cx = EvalContext::new(&[Value::Int(24)], &session);
    for (of_row, op, constant, expected) in [
        (2024, CompareOp::Equal, int(24), true),
        (2024, CompareOp::Equal, text("24"), true),
        (2024, CompareOp::Equal, param(0), true),
        (2024, CompareOp::Equal, decimal("24.0"), true),
        (2024, CompareOp::Equal, decimal("24.5"), false),
        (2024, CompareOp::Less, decimal("24.5"), true),
        (2024, CompareOp::Equal, int(124), false),
        (2024, CompareOp::Less, int(25), true),
        (2024, CompareOp::Greater, int(99), true),
        (0, CompareOp::Equal, int(0), true),
        (0, CompareOp::Equal, text("0"), false),
        (0, CompareOp::Equal, text("0000"), true),
        (0, CompareOp::Less, int(70), true),
    ] {
        let (column, row) = year(of_row);
        let condition = compare(op, column, constant);
        assert_eq!(condition.condition(&row, &cx).unwrap(), Some(expected), "{of_row}: {condition}");
    }
}

#[test]
fn the_negative_of_an_unsigned_number_has_a_range() {
    let negative = |operand| Expr::negate(operand).unwrap();
    let session = Session::new();
    let cx = EvalContext::new(&[], &session);
    for (value, expected) in [
        (Value::UInt(5), Ok("-5")),
        (Value::UInt(1 << 63), Ok("-9223372036854775808")),
        (Value::UInt((1 << 63) + 1), Err(1690)),
        (Value::Int(i64::MIN), Err(1690)),
    ] {
        let seen = negative(Expr::column(0, "c", ResultType::unsigned(20))).eval(&[value], &cx);
        assert_eq!(seen.map(|value| value.to_string()).map_err(|error| error.errno), expected.map(str::to_owned));
    }
    check(negative(uint((1 << 63) + 1)), "-9223372036854775809");
    check(negative(int(i64::MIN)), "9223372036854775808");
}

#[test]
fn the_negative_of_a_constant_goes_by_its_value() {
    use ArithmeticOp::{BitXor, ShiftLeft, Subtract};
    let of = |op, a, b| Expr::negate(arithmetic(op, int(a), int(b))).unwrap();
    for (expr, value, field) in [
        (of(BitXor, 7, 1), "-6", FieldType::LongLong),
        (of(ShiftLeft, 1, 63), "-9223372036854775808", FieldType::NewDecimal),
        (of(Subtract, 0, 5), "5", FieldType::NewDecimal),
        (of(Subtract, 5, 0), "-5", FieldType::LongLong),
    ] {
        assert_eq!(expr.result_type(&[]).field, field, "{expr}");
        check(expr, value);
    }
    // It has no value in any SQL mode; the other has one where differences are signed.
    let no_value = Expr::negate(arithmetic(ArithmeticOp::Add, uint(u64::MAX), int(3)));
    assert_eq!(no_value.unwrap_err().errno, 1690);
    assert!(Expr::negate(arithmetic(Subtract, uint(1), int(2))).is_ok());
}

#[test]
fn a_filter_does_not_evaluate_what_follows_the_unknown() {
    let session = Session::new();
    let cx = EvalContext::new(&[], &session);
    let fails = || arithmetic(ArithmeticOp::Add, uint(u64::MAX), int(3));
    let and = Expr::And(vec![null(), fails()]);
    assert!(and.condition(&[], &cx).is_err());
    assert!(!and.holds(&[], &cx).unwrap());
    assert!(Expr::Or(vec![and, int(1)]).holds(&[], &cx).unwrap());
    assert!(Expr::Or(vec![int(1), fails()]).holds(&[], &cx).unwrap());
    assert!(Expr::And(vec![int(1), fails()]).holds(&[], &cx).is_err());
}

#[test]
fn logic_knows_the_unknown() {
    let and = |a, b| Expr::And(vec![a, b]);
    let or = |a, b| Expr::Or(vec![a, b]);
    check(and(int(0), null()), "0");
    check(and(int(1), null()), "NULL");
    check(or(int(1), null()), "1");
    check(or(int(0), null()), "NULL");
    check(or(int(0), int(0)), "0");
    check(Expr::Xor(Box::new(int(1)), Box::new(int(0))), "1");
    check(Expr::Xor(Box::new(int(1)), Box::new(null())), "NULL");
    check(Expr::Not(Box::new(null())), "NULL");
    check(Expr::Not(Box::new(text("0"))), "1");
    let is = |truth, negated| Expr::IsTruth { operand: Box::new(null()), truth, negated };
    check(is(true, false), "0");
    check(is(false, true), "1");
    check(Expr::IsNull { operand: Box::new(null()), negated: true }, "0");
}

#[test]
fn between_and_in() {
    check(Expr::between(int(2), int(1), int(3), false).unwrap(), "1");
    check(Expr::between(int(2), int(3), int(1), false).unwrap(), "0");
    check(Expr::between(int(2), int(3), null(), true).unwrap(), "1");
    check(Expr::between(int(2), int(1), null(), false).unwrap(), "NULL");
    check(Expr::between(int(2), null(), int(1), false).unwrap(), "0");
    check(Expr::between(text("5"), int(1), text("10"), false).unwrap(), "1");
    check(Expr::between(text("5"), text("1"), text("10"), false).unwrap(), "0");
    check(Expr::between(text("5"), text("1"), int(10), true).unwrap(), "0");
    check(Expr::between(text("2024-01-15"), date("2024-01-01"), text("2024-2-1"), false).unwrap(), "1");
    check(Expr::between(text("2024-1-15"), text("2024-01-01"), date("2024-02-01"), false).unwrap(), "1");
    check(Expr::in_list(int(2), vec![int(1), text("2")], false).unwrap(), "1");
    check(Expr::in_list(int(2), vec![int(1), null()], false).unwrap(), "NULL");
    check(Expr::in_list(int(2), vec![int(1), null(), int(2)], true).unwrap(), "0");
    check(Expr::in_list(text("B"), vec![text("a"), text("b")], false).unwrap(), "1");
    check(Expr::like(text("abc"), text("A%"), Some('\\'), false).unwrap(), "1");
    check(Expr::like(text("a%c"), text("a|%c"), Some('|'), false).unwrap(), "1");
    check(Expr::like(int(123), text("1%"), Some('\\'), true).unwrap(), "0");
    check(Expr::like(null(), text("1%"), Some('\\'), true).unwrap(), "NULL");
}

#[test]
fn branches_become_one_type() {
    let case = |branches, otherwise| Expr::case(None, branches, otherwise).unwrap();
    check(case(vec![(int(0), int(1))], Some(decimal("2.50"))), "2.50");
    check(case(vec![(int(1), int(1))], Some(decimal("2.50"))), "1.00");
    check(case(vec![(int(1), int(1))], Some(text("x"))), "1");
    check(case(vec![(int(0), int(1))], None), "NULL");
    check(Expr::case(Some(text("B")), vec![(text("b"), int(7))], None).unwrap(), "7");
    check(call("if", [null(), int(1), int(2)]), "2");
    check(call("ifnull", [null(), int(2)]), "2");
    check(call("coalesce", [null(), null(), decimal("1.5")]), "1.5");
    // What comes after the value is not evaluated.
    let division = || arithmetic(ArithmeticOp::Divide, int(1), int(0));
    check(call("coalesce", [null(), int(1), division()]), "1.0000");
    check(call("ifnull", [int(1), division()]), "1.0000");
    check(Expr::case(Some(null()), vec![(division(), int(1))], Some(int(2))).unwrap(), "2");
    check(call("nullif", [int(1), text("1")]), "NULL");
    check(call("greatest", [int(1), decimal("2.25"), int(2)]), "2.25");
    check(call("least", [text("b"), text("A")]), "A");
    check(call("greatest", [int(1), null()]), "NULL");
    check(call("greatest", [text("10"), int(9), text("8")]), "10");
    check(call("least", [text("10"), int(9), text("8")]), "8");
    check(call("field", [text("05"), text("5"), int(5)]), "1");
    check(call("field", [text("05"), text("5"), text("05")]), "2");
}

#[test]
fn casts() {
    let cast = |expr: Expr, to| Expr::Cast(Box::new(expr), to);
    let to_char = |chars| CastType::Char { chars, collation: Collation::DEFAULT };
    check(cast(text("12abc"), CastType::Signed), "12 !1292");
    check(cast(double(1.5), CastType::Signed), "2");
    check(cast(int(-1), CastType::Unsigned), "18446744073709551615");
    check(cast(uint(u64::MAX), CastType::Signed), "-1");
    check(cast(text("-1"), CastType::Unsigned), "18446744073709551615");
    check(cast(text("99999999999999999999"), CastType::Signed), "-1 !1292");
    check(cast(decimal("1.55"), CastType::Decimal { precision: 5, scale: 1 }), "1.6");
    check(cast(int(1000), CastType::Decimal { precision: 3, scale: 1 }), "99.9 !1264");
    check(cast(int(123), to_char(Some(2))), "12 !1292");
    check(cast(bytes(b"ab"), to_char(None)), "ab");
    check(cast(text("a"), CastType::Binary { bytes: Some(2) }), "a\0");
    check(cast(text("2020-01-02 03:04:05"), CastType::Date), "2020-01-02");
    check(cast(text("2020-01-02 03:04:05.678"), CastType::DateTime { fsp: 1 }), "2020-01-02 03:04:05.7");
    check(cast(text("x"), CastType::Date), "NULL !1292");
    check(cast(text("10:11"), CastType::Time { fsp: 0 }), "10:11:00");
    check(cast(int(70), CastType::Year), "1970");
    check(cast(text("1.5"), CastType::Double), "1.5");
}

#[test]
fn columns_beat_literals_and_contradictions_are_refused() {
    let column = |collation| Expr::column(0, "c", ResultType::string(10, collation));
    let with_literal = compare(CompareOp::Equal, column(Collation::Utf8mb4Bin), text("a"));
    assert!(matches!(with_literal, Expr::Compare(_, _, _, Collation::Utf8mb4Bin)));
    let binary_wins = compare(CompareOp::Equal, column(Collation::DEFAULT), column(Collation::Utf8mb4Bin));
    assert!(matches!(binary_wins, Expr::Compare(_, _, _, Collation::Utf8mb4Bin)));
    let both = Expr::compare(CompareOp::Equal, column(Collation::DEFAULT), column(Collation::Utf8mb4GeneralCi));
    assert_eq!(both.unwrap_err().errno, 1267);
    let (general, cast) = (column(Collation::Utf8mb4GeneralCi), column(Collation::DEFAULT));
    for joined in ["coalesce", "ifnull", "concat", "concat_ws"] {
        let joined = call(joined, [general.clone(), cast.clone()]);
        let compared = Expr::compare(CompareOp::Equal, joined.clone(), text("a"));
        assert_eq!(
            compared.unwrap_err().message,
            "Illegal mix of collations (utf8mb4_bin,NONE) and \
             (utf8mb4_0900_ai_ci,COERCIBLE) for operation '='"
        );
        let settled = Expr::Collate(Box::new(joined), Collation::Utf8mb4Bin);
        assert!(Expr::compare(CompareOp::Equal, settled, text("a")).is_ok());
    }
    for compared in ["locate", "greatest", "nullif", "strcmp"] {
        assert_eq!(Expr::call(compared, vec![general.clone(), cast.clone()]).unwrap_err().errno, 1267, "{compared}");
    }
    assert_eq!(Expr::in_list(general, vec![cast, text("a")], false).unwrap_err().errno, 1270);
    let explicit = Expr::Collate(Box::new(column(Collation::DEFAULT)), Collation::Utf8mb4GeneralCi);
    let settled = compare(CompareOp::Equal, explicit, column(Collation::DEFAULT));
    assert!(matches!(settled, Expr::Compare(_, _, _, Collation::Utf8mb4GeneralCi)));
    let upper = call("upper", [column(Collation::Utf8mb4Bin)]);
    assert_eq!(upper.collation(), Collation::Utf8mb4Bin);
}

#[test]
fn timestamps_are_seen_in_the_sessions_zone() {
    let point =
        parse::datetime("2020-01-01 00:00:00", TimeZone::UTC).unwrap().value.to_timestamp(TimeZone::UTC).unwrap();
    let session = Session { zone: TimeZone::parse("+02:00").unwrap(), ..Session::new() };
    let column_type = crate::types::ColumnType::Timestamp(crate::types::column_type::TimestampType { fsp: 0 });
    let column = Expr::column(0, "t", column_type.result_type(true));
    let row = [Value::Timestamp(point)];
    let cx = EvalContext::new(&[], &session);
    assert_eq!(column.eval(&row, &cx).unwrap().to_string(), "2020-01-01 02:00:00");
    let condition = compare(CompareOp::Equal, column, text("2020-01-01 02:00:00"));
    assert_eq!(condition.condition(&row, &cx).unwrap(), Some(true));
}

#[test]
fn rows_and_parameters_that_are_missing_are_errors() {
    let session = Session::new();
    let column = Expr::column(3, "c", ResultType::boolean());
    assert_eq!(eval_in(&session, &column).unwrap_err().errno, 1105);
    assert_eq!(eval_in(&session, &param(0)).unwrap_err().errno, 1105);
    check(Expr::SystemVariable(VariableScope::Any, "nope".into(), None), "error 1193");
}

#[test]
fn group_keys_are_equal_for_equal_values() {
    let key = |value: &Value| {
        let mut key = Vec::new();
        write_group_key(value, Collation::DEFAULT, &mut key);
        key
    };
    let number = |text| Value::Decimal(Decimal::parse(text).unwrap());
    assert_eq!(key(&number("1.10")), key(&number("1.1")));
    assert_ne!(key(&number("1.10")), key(&number("11")));
    assert_eq!(key(&Value::Int(5)), key(&Value::UInt(5)));
    assert_ne!(key(&Value::Int(-1)), key(&Value::UInt(u64::MAX)));
    assert_eq!(key(&Value::text("É")), key(&Value::text("e")));
    assert_eq!(key(&Value::Double(0.0)), key(&Value::Double(-0.0)));
    assert_ne!(key(&Value::Null), key(&Value::text("")));
}

#[test]
fn nulls_come_first() {
    assert!(order_values(&Value::Null, &Value::Int(i64::MIN), Collation::DEFAULT).is_lt());
    assert!(order_values(&Value::Int(1), &Value::Null, Collation::DEFAULT).is_gt());
    assert!(order_values(&Value::Null, &Value::Null, Collation::DEFAULT).is_eq());
}

/// `column = ? + column` is a key of a hash join as its parameter is.
#[test]
fn parameters_decide_what_is_a_key() {
    let sum = Expr::arithmetic(ArithmeticOp::Add, param(0), int_column()).unwrap();
    let equal = compare(CompareOp::Equal, int_column(), sum);
    assert!(equal_keys(&equal).is_none());
    let keys = possible_keys(&equal).unwrap();
    let is_one = |value: Value| keys.iter().all(|key| key.is_one(std::slice::from_ref(&value)));
    assert!(is_one(Value::Int(1)) && is_one(Value::Decimal(Decimal::parse("1.5").unwrap())));
    assert!(!is_one(Value::Double(1.0)) && !is_one(Value::text("1")) && !is_one(Value::Null));
}
