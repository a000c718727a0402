use super::super::functions;
use super::*;

#[test]
fn strings() {
    check(call("concat", [text("a"), int(1), decimal("1.50")]), "a11.50");
    check(call("concat", [text("a"), null()]), "NULL");
    check(call("concat_ws", [text(","), text("a"), null(), text("b")]), "a,b");
    check(call("length", [text("é")]), "2");
    check(call("char_length", [text("é")]), "1");
    check(call("char_length", [bytes("é".as_bytes())]), "2");
    check(call("upper", [text("aé")]), "AÉ");
    check(call("lower", [text("AÉ")]), "aé");
    check(call("substring", [text("Quadratically"), int(5)]), "ratically");
    check(call("substring", [text("Quadratically"), int(5), int(6)]), "ratica");
    check(call("substr", [text("Sakila"), int(-3)]), "ila");
    check(call("substr", [text("Sakila"), int(-5), int(3)]), "aki");
    check(call("substr", [text("abc"), int(0)]), "");
    check(call("substr", [text("abc"), int(-9)]), "");
    check(call("left", [text("éàü"), int(2)]), "éà");
    check(call("right", [text("éàü"), int(2)]), "àü");
    check(call("substring_index", [text("www.mysql.com"), text("."), int(2)]), "www.mysql");
    check(call("substring_index", [text("www.mysql.com"), text("."), int(-2)]), "mysql.com");
    check(call("substring_index", [text("a"), text("."), int(-9)]), "a");
    check(call("trim", [text("  bar ")]), "bar");
    check(call("trim leading", [text("xxbarxx"), text("x")]), "barxx");
    check(call("trim trailing", [text("barxyz"), text("xyz")]), "bar");
    check(call("trim", [text("xxbarxx"), text("x")]), "bar");
    check(call("replace", [text("www.mysql.com"), text("w"), text("Ww")]), "WwWwWw.mysql.com");
    check(call("repeat", [text("ab"), int(3)]), "ababab");
    check(call("repeat", [text("ab"), int(501)]), "NULL !1301");
    check(call("space", [int(3)]), "   ");
    check(call("lpad", [text("hi"), int(5), text("?!")]), "?!?hi");
    check(call("rpad", [text("hi"), int(1), text("?")]), "h");
    check(call("lpad", [text("hi"), int(-1), text("?")]), "NULL");
    check(call("instr", [text("foobarbar"), text("BAR")]), "4");
    check(call("locate", [text("bar"), text("foobarbar"), int(5)]), "7");
    check(call("locate", [text("x"), text("foobar")]), "0");
    check(call("reverse", [text("abé")]), "éba");
    check(call("insert", [text("Quadratic"), int(3), int(4), text("What")]), "QuWhattic");
    check(call("ascii", [text("2")]), "50");
    check(call("ord", [text("é")]), "50089");
    check(call("char", [int(77), int(121), text("83")]), "MyS");
    check(call("strcmp", [text("a"), text("B")]), "-1");
    check(call("field", [text("Bb"), text("Aa"), text("bb")]), "2");
    check(call("elt", [int(2), text("a"), text("b")]), "b");
    check(call("find_in_set", [text("b"), text("a,b,c")]), "2");
    check(call("quote", [text("Don't!")]), "'Don\\'t!'");
    check(call("format", [decimal("12332.123456"), int(4)]), "12,332.1235");
    check(call("format", [int(-1234567), int(0)]), "-1,234,567");
    check(call("bin", [int(12)]), "1100");
}

#[test]
fn digits_and_digests() {
    check(call("hex", [int(255)]), "FF");
    check(call("hex", [text("abc")]), "616263");
    check(call("unhex", [text("4D7953514C")]), "MySQL");
    check(call("unhex", [text("GG")]), "NULL");
    check(call("md5", [text("testing")]), "ae2b1fca515949e5d54fb22b8ed95575");
    check(call("sha1", [text("abc")]), "a9993e364706816aba3e25717850c26c9cd0d89d");
    check(call("sha2", [text("abc"), int(224)]), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
    check(call("sha2", [text("abc"), int(1)]), "NULL");
    check(call("crc32", [text("MySQL")]), "3259397556");
    check(call("bit_count", [int(29)]), "4");
}

#[test]
fn numbers() {
    check(call("abs", [int(-32)]), "32");
    check(call("abs", [int(i64::MIN)]), "error 1690");
    check(call("sign", [text("-3")]), "-1");
    check(call("ceil", [decimal("1.23")]), "2");
    check(call("floor", [decimal("-1.23")]), "-2");
    check(call("ceiling", [double(1.5)]), "2");
    check(call("round", [decimal("-1.58")]), "-2");
    check(call("round", [decimal("1.298"), int(1)]), "1.3");
    check(call("round", [decimal("1.2"), int(5)]), "1.20000");
    check(call("round", [int(125), int(-1)]), "130");
    check(call("round", [double(2.5)]), "2");
    check(call("truncate", [double(1.999), int(1)]), "1.9");
    check(call("truncate", [int(122), int(-2)]), "100");
    check(call("mod", [int(29), int(9)]), "2");
    check(call("pow", [int(2), int(-2)]), "0.25");
    check(call("pow", [int(10), int(1000)]), "error 1690");
    check(call("sqrt", [int(-16)]), "NULL");
    check(call("ln", [int(0)]), "NULL !3020");
    check(call("log", [int(2), int(65536)]), "16");
    check(call("interval", [int(23), int(1), int(15), int(30)]), "2");
    check(call("rand", []), "0.33333333333333326");
}

#[test]
fn the_present_is_the_statements() {
    check(call("now", []), "2024-02-29 12:30:45");
    check(call("now", [int(3)]), "2024-02-29 12:30:45.678");
    check(call("sysdate", [int(6)]), "2024-02-29 12:30:46.678901");
    check(call("curdate", []), "2024-02-29");
    check(call("curtime", []), "12:30:45");
    check(call("unix_timestamp", []), "1709209845");
    check(call("now", [int(7)]), "error 1426");
    let session = Session { zone: TimeZone::parse("-13:00").unwrap(), ..Session::new() };
    assert_eq!(eval_in(&session, &call("curdate", [])).unwrap().to_string(), "2024-02-28");
    assert_eq!(eval_in(&session, &call("utc_timestamp", [])).unwrap().to_string(), "2024-02-29 12:30:45");
}

#[test]
fn dates() {
    check(call("date", [text("2003-12-31 01:02:03")]), "2003-12-31");
    check(call("time", [text("2003-12-31 01:02:03.4")]), "01:02:03.4");
    check(call("datediff", [text("2007-12-31 23:59:59"), text("2007-12-30")]), "1");
    check(call("timediff", [text("10:00:00"), text("11:30:00")]), "-01:30:00");
    check(call("date_format", [text("2009-10-04 22:23:00"), text("%W %M %Y")]), "Sunday October 2009");
    check(call("str_to_date", [text("01,5,2013"), text("%d,%m,%Y")]), "2013-05-01");
    check(call("str_to_date", [text("x"), text("%d")]), "NULL !1411");
    check(call("str_to_date", [text("9"), text("%m")]), "NULL !1411");
    check(call("str_to_date", [text("May 1, 2013"), text("%M %d,%Y")]), "2013-05-01");
    check(call("unix_timestamp", [text("2015-11-13 10:20:19.012")]), "1447410019.012");
    check(call("from_unixtime", [int(1447430881)]), "2015-11-13 16:08:01");
    check(call("from_unixtime", [int(-1)]), "NULL");
    check(call("dayname", [text("2007-02-03")]), "Saturday");
    check(call("monthname", [text("2008-02-03")]), "February");
    check(call("dayofweek", [text("2007-02-03")]), "7");
    check(call("weekday", [text("2008-02-03 22:23:00")]), "6");
    check(call("dayofyear", [text("2007-02-03")]), "34");
    check(call("week", [text("2008-02-20"), int(1)]), "8");
    check(call("yearweek", [text("1987-01-01")]), "198652");
    check(call("last_day", [text("2003-02-05")]), "2003-02-28");
    check(call("to_days", [text("2007-10-07")]), "733321");
    check(call("from_days", [int(730669)]), "2000-07-03");
    check(call("makedate", [int(2011), int(32)]), "2011-02-01");
    check(call("maketime", [int(12), int(15), int(30)]), "12:15:30");
    check(call("sec_to_time", [int(2378)]), "00:39:38");
    check(call("time_to_sec", [text("22:23:00")]), "80580");
    check(call("convert_tz", [text("2004-01-01 12:00:00"), text("+00:00"), text("+10:00")]), "2004-01-01 22:00:00");
    check(call("convert_tz", [text("2001-01-01 01:00:00"), text("UTC"), text("UTC")]), "2001-01-01 01:00:00");
    check(call("convert_tz", [text("2004-01-01 12:00:00"), text("MET"), text("UTC")]), "NULL");
    check(call("year", [text("1987-01-01")]), "1987");
    check(call("hour", [text("272:59:59")]), "272");
    check(call("microsecond", [text("12:00:00.123456")]), "123456");
    check(call("month", [text("2008-02-00")]), "2");
    check(call("date", [text("nonsense")]), "NULL !1292");
}

#[test]
fn times_have_a_sign_and_any_number_of_hours() {
    let format = |time, format| call("time_format", [text(time), text(format)]);
    check(format("30:00:00", "%H %h %k %l %i %p %r %T"), "30 06 30 6 00 AM 06:00:00 AM 30:00:00");
    check(format("-30:10:00", "%H"), "-30");
    check(format("100:00:00", "%H %k %h %I %l"), "100 100 04 04 4");
    check(format("10:11:12.123456", "%f %s %S"), "123456 12 12");
    check(format("10:00:00", "%a"), "NULL");
    for (part, expected) in [("hour", "10"), ("minute", "20"), ("second", "30")] {
        check(call(part, [text("-10:20:30")]), expected);
        check(call(part, [time("-10:20:30")]), expected);
    }
    check(call("microsecond", [text("-10:20:30.123")]), "123000");
    check(Expr::extract(IntervalUnit::Hour, text("-10:20:30")), "-10");
    check(Expr::extract(IntervalUnit::HourSecond, time("-10:20:30")), "-102030");
    check(Expr::extract(IntervalUnit::DayHour, time("-30:20:10")), "-30");
    check(Expr::extract(IntervalUnit::DaySecond, text("2024-01-05 10:20:30")), "5102030");
    check(call("time_to_sec", [text("-10:20:30")]), "-37230");
    let difference = |a: Expr, b: Expr| call("timediff", [a, b]);
    check(difference(text("-10:00:00"), text("10:00:00")), "-20:00:00");
    check(difference(text("10:00:00"), text("-10:00:00")), "20:00:00");
    check(difference(text("-1:0:0"), text("-2:0:0")), "01:00:00");
    check(difference(text("10:00:00"), text("2024-01-01 00:00:00")), "NULL");
    check(difference(text("2024-01-01 00:00:00"), text("2024-01-02 00:00:00")), "-24:00:00");
    check(difference(text("838:00:00"), text("-838:00:00")), "838:59:59 !1292");
    check(difference(text("10:00:00.5"), text("1:0:0.25")), "09:00:00.25");
    check(difference(int(100_000), int(95_959)), "00:00:01");
    check(difference(int(20_240_102_000_000), int(20_240_101_000_000)), "24:00:00");
}

#[test]
fn sums_with_a_time_keep_its_kind() {
    let add = |a: Expr, b: Expr| call("addtime", [a, b]);
    check(add(text("10:00:00"), text("1:0:0.5")), "11:00:00.500000");
    check(add(time("10:00:00"), text("1:0:0.5")), "11:00:00.5");
    check(add(text("2024-01-01 10:00:00"), text("1:0:0")), "2024-01-01 11:00:00");
    check(add(text("2024-01-01 10:00:00.5"), text("1:0:0")), "2024-01-01 11:00:00.500000");
    check(add(datetime("2024-01-01 10:00:00"), text("1:0:0.25")), "2024-01-01 11:00:00.25");
    check(call("subtime", [text("10:00:00.5"), text("1:0:0.5")]), "09:00:00");
    check(call("subtime", [time("10:00:00.5"), time("1:0:0.5")]), "09:00:00.0");
    check(add(int(100_000), int(1)), "10:00:01");
    check(add(decimal("100000.5"), int(1)), "10:00:01.500000");
    check(add(date("2024-01-01"), text("1:0:0")), "01:00:00");
    check(add(text("10:00:00"), text("2024-01-01 10:00:00")), "NULL");
    check(add(text("10:00:00"), datetime("2024-01-01 10:00:00")), "NULL");
    check(add(text("838:00:00"), text("10:00:00")), "838:59:59 !1292");
    check(add(text("-10:00:00"), text("1:0:0")), "-09:00:00");
    let field = |first: Expr| call("addtime", [first, text("1:0:0")]).result_type(&[]).field;
    assert_eq!(field(time("10:00:00")), FieldType::Time);
    assert_eq!(field(datetime("2024-01-01 10:00:00")), FieldType::DateTime);
    assert_eq!(field(text("10:00:00")), FieldType::VarString);
}

#[test]
fn text_that_ends_before_its_format_is_read_so_far() {
    let read = |text: &str, format: &str| {
        let session = Session { sql_mode: SqlMode::EMPTY, ..Session::new() };
        let read = call("str_to_date", [self::text(text), self::text(format)]);
        let read = eval_in(&session, &read).unwrap().to_string();
        let warnings = session.warnings.borrow().len();
        (read, warnings)
    };
    for (text, format, expected, warnings) in [
        ("2024-05-06", "%Y-%m-%d %H:%i:%s", "2024-05-06 00:00:00", 0),
        ("2024-05-06 10", "%Y-%m-%d %H:%i:%s", "2024-05-06 10:00:00", 0),
        ("2024-05", "%Y-%m-%d", "2024-05-00", 0),
        ("2024-", "%Y-%m-%d", "2024-00-00", 0),
        ("10", "%H", "10:00:00", 0),
        ("", "%Y", "0000-00-00", 0),
        ("abc", "abc", "0000-00-00", 0),
        ("2024-01-01", "%Y-%m-%d %f", "2024-01-01 00:00:00.000000", 0),
        ("2024-05-06 10:11:12", "%Y-%m-%d", "2024-05-06", 1),
        ("2024-01-01abc", "%Y-%m-%d", "2024-01-01", 1),
        ("25:00:00", "%H:%i:%s", "NULL", 1),
    ] {
        assert_eq!(read(text, format), (expected.to_owned(), warnings), "{text}, {format}");
    }
    check(call("str_to_date", [text("2024-05"), text("%Y-%m-%d")]), "NULL !1411");
}

#[test]
fn seconds_show_the_digits_of_their_number() {
    let two_thirds = || Expr::arithmetic(ArithmeticOp::Divide, int(2), int(3)).unwrap();
    check(call("sec_to_time", [two_thirds()]), "00:00:00.6666");
    check(call("maketime", [int(1), int(1), two_thirds()]), "01:01:00.6666");
    check(call("from_unixtime", [two_thirds()]), "1970-01-01 00:00:00.6666");
    check(call("sec_to_time", [decimal("1.1234567")]), "00:00:01.123457");
    check(call("sec_to_time", [text("1.5")]), "00:00:01.500000");
    check(call("sec_to_time", [double(1.5)]), "00:00:01.500000");
    check(call("sec_to_time", [decimal("-1.5")]), "-00:00:01.5");
    check(call("maketime", [int(900), int(0), int(0)]), "838:59:59 !1292");
}

#[test]
fn locales_write_numbers_their_way() {
    let format = |locale: Expr| call("format", [decimal("123456789.891"), int(2), locale]);
    for (locale, expected) in [
        ("en_US", "123,456,789.89"),
        ("de_DE", "123.456.789,89"),
        ("DE_de", "123.456.789,89"),
        ("fr_FR", "123456789,89"),
        ("de_CH", "123'456'789.89"),
        ("en_IN", "12,34,56,789.89"),
        ("ru_RU", "123 456 789,89"),
        ("ar_SA", "123456789.89"),
        ("xx", "123,456,789.89 !1649"),
    ] {
        check(format(text(locale)), expected);
    }
    check(format(null()), "123,456,789.89 !1649");
    check(call("format", [decimal("-1234.5"), int(0), text("de_DE")]), "-1.235");
    check(call("format", [null(), int(0)]), "NULL");
}

#[test]
fn a_seed_begins_a_sequence() {
    let session = Session::new();
    let next = |expr: &Expr| eval_in(&session, expr).unwrap().to_string();
    let rand = call("rand", [int(3)]);
    assert_eq!(
        [next(&rand), next(&rand), next(&rand)],
        ["0.9057697559760601", "0.37307905813034536", "0.14808605345719125"]
    );
    check(call("rand", [null()]), "0.15522042769493574");
    check(call("rand", [int(-1)]), "0.9050373219931845");
    // A seed of the row begins anew.
    let rand = call("rand", [Expr::column(0, "n", ResultType::integer(11))]);
    let cx = EvalContext::new(&[], &session);
    for (n, expected) in [(1, "0.40540353712197724"), (2, "0.6555866465490187"), (1, "0.40540353712197724")] {
        assert_eq!(rand.eval(&[Value::Int(n)], &cx).unwrap().to_string(), expected);
    }
}

#[test]
fn letters_are_found_as_the_collation_folds_them_in_as_many_bytes() {
    let column = |collation, text: &str| {
        let column = Expr::column(0, "c", ResultType::string(10, collation));
        (column, [Value::text(text)])
    };
    let session = Session::new();
    let cx = EvalContext::new(&[], &session);
    for (collation, text, wanted, expected) in [
        (Collation::Utf8mb4_0900AiCi, "straße", "SS", 5),
        (Collation::Utf8mb4_0900AiCi, "xß", "s", 0),
        (Collation::Utf8mb4UnicodeCi, "xsse", "ß", 2),
        (Collation::Utf8mb4GeneralCi, "straße", "s", 1),
        (Collation::Utf8mb4GeneralCi, "xß", "s", 0),
        (Collation::Utf8mb4GeneralCi, "sS", "ß", 0),
        (Collation::Utf8mb4GeneralCi, "xssé", "ß", 0),
        (Collation::Utf8mb4GeneralCi, "xÉ", "e", 0),
        (Collation::Utf8mb4GeneralCi, "xÉ", "é", 2),
        (Collation::Utf8mb4GeneralCi, "xe e", "é", 0),
        (Collation::Utf8mb4GeneralCi, "xe é", "e ", 2),
        (Collation::Latin1SwedishCi, "xÉy", "ey", 2),
        (Collation::Utf8mb4Bin, "xÉ", "é", 0),
    ] {
        let (column, row) = column(collation, text);
        let found = call("locate", [self::text(wanted), column]).eval(&row, &cx).unwrap();
        assert_eq!(found, Value::Int(expected), "{wanted} in {text} under {collation:?}");
    }
}

#[test]
fn intervals() {
    use IntervalUnit::{Day, DaySecond, Hour, HourMinute, Microsecond, Minute, Month, Second, Week, Year, YearMonth};
    let add = |date: Expr, amount: Expr, unit| Expr::DateAdd {
        date: Box::new(date),
        amount: Box::new(amount),
        unit,
        negated: false,
    };
    let subtract = |date: Expr, amount: Expr, unit| Expr::DateAdd {
        date: Box::new(date),
        amount: Box::new(amount),
        unit,
        negated: true,
    };
    check(add(text("2018-05-01"), int(1), Day), "2018-05-02");
    check(subtract(text("2018-05-01"), int(1), Year), "2017-05-01");
    check(add(text("2020-12-31 23:59:59"), int(1), Second), "2021-01-01 00:00:00");
    check(add(text("2100-12-31 23:59:59"), text("1:1"), IntervalUnit::MinuteSecond), "2101-01-01 00:01:00");
    check(subtract(text("2025-01-01 00:00:00"), text("1 1:1:1"), DaySecond), "2024-12-30 22:58:59");
    check(add(text("1900-01-01 00:00:00"), text("-1 10"), IntervalUnit::DayHour), "1899-12-30 14:00:00");
    check(add(date("2024-01-31"), int(1), Month), "2024-02-29");
    check(add(date("2024-01-31"), int(1), Hour), "2024-01-31 01:00:00");
    check(add(date("2024-01-31"), int(1), IntervalUnit::Microsecond), "2024-01-31 00:00:00.000001");
    check(add(date("2024-01-31"), decimal("1.5"), Second), "2024-01-31 00:00:01.5");
    check(add(date("2024-01-31"), text("1-1"), YearMonth), "2025-02-28");
    check(
        add(text("1992-12-31 23:59:59.000002"), text("1.999999"), IntervalUnit::SecondMicrosecond),
        "1993-01-01 00:00:01.000001",
    );
    check(add(time("10:00:00"), int(90), Minute), "11:30:00");
    check(add(time("10:00:00"), text("1:30"), HourMinute), "11:30:00");
    check(add(date("9999-12-31"), int(1), Day), "NULL !1441");
    check(add(date("2024-01-31"), int(i64::MAX), Year), "NULL !1441");
    check(add(date("2024-01-31"), int(i64::MIN), Week), "NULL !1441");
    check(add(date("2024-01-31"), int(1), Microsecond), "2024-01-31 00:00:00.000001");
    check(add(date("2024-01-31"), null(), Day), "NULL");
    check(add(int(20_240_506), int(1), Day), "2024-05-07");
    check(add(int(20_240_506), int(1), Hour), "2024-05-06 01:00:00");
    check(add(int(20_240_506_070_809), int(1), Day), "2024-05-07 07:08:09");
    check(add(text("2024-01-01 00:00:00"), decimal("1.5"), Second), "2024-01-01 00:00:01.500000");
    check(add(text("2024-01-01 00:00:00"), text("2"), Second), "2024-01-01 00:00:02");
    check(add(datetime("2024-01-01 00:00:00"), decimal("1.50"), Second), "2024-01-01 00:00:01.50");
    check(add(datetime("2024-01-01 00:00:00"), text("2"), Second), "2024-01-01 00:00:02.000000");
    check(add(time("10:00:00"), decimal("1.5"), Second), "10:00:01.5");
    check(Expr::extract(YearMonth, text("2019-07-02 01:02:03")), "201907");
    check(Expr::extract(IntervalUnit::DayMinute, text("2019-07-02 01:02:03")), "20102");
    check(Expr::timestamp_diff(Month, text("2003-02-01"), text("2003-05-01")), "3");
    check(Expr::timestamp_diff(Year, text("2002-05-01"), text("2001-01-01")), "-1");
    check(Expr::timestamp_diff(Minute, text("2003-02-01"), text("2003-05-01 12:05:55")), "128885");
}

#[test]
fn the_session() {
    check(call("connection_id", []), "7");
    check(call("database", []), "db");
    check(call("substr", [call("uuid", []), int(15), int(1)]), "1");
    check(call("sleep", [int(0)]), "0");
    check(call("sleep", [int(-1)]), "error 1210");
    let session = Session::new();
    let assign = Expr::AssignUserVariable("a".into(), Box::new(int(5)), Collation::DEFAULT);
    assert_eq!(eval_in(&session, &assign).unwrap(), Value::Int(5));
    assert_eq!(eval_in(&session, &Expr::UserVariable("a".into(), None)).unwrap(), Value::Int(5));
    assert!(assign.is_volatile() && call("rand", []).is_volatile() && !call("now", []).is_volatile());
}

#[test]
fn unknown_functions_and_wrong_counts_are_errors() {
    let errno = |name, args: Vec<Expr>| Expr::call(name, args).unwrap_err().errno;
    assert_eq!(errno("no_such_function", vec![]), 1305);
    assert_eq!(errno("concat", vec![]), 1582);
    assert_eq!(errno("left", vec![int(1)]), 1582);
    assert_eq!(errno("if", vec![int(1)]), 1582);
    assert_eq!(errno("year", vec![]), 1582);
    assert_eq!(errno("mod", vec![int(1)]), 1582);
    assert_eq!(Expr::call("nope", vec![]).unwrap_err().message, "FUNCTION nope does not exist");
}

#[test]
fn no_function_panics_whatever_it_gets() {
    let values = [
        Value::Null,
        Value::Int(i64::MIN),
        Value::Int(-1),
        Value::Int(0),
        Value::Int(i64::MAX),
        Value::UInt(u64::MAX),
        Value::Double(f64::MAX),
        Value::Double(f64::NAN),
        Value::Double(-1e-300),
        Value::Decimal(Decimal::largest(65, 30, true)),
        Value::Decimal(Decimal::largest(65, 0, false)),
        Value::text(""),
        Value::text("é-1:2.3"),
        Value::text("9999-12-31 23:59:59.999999"),
        Value::text("%Y%é%"),
        Value::bytes(vec![0xff, 0, 0x25]),
        Value::Hex([0xff, 0, 0x25].into()),
        Value::Date(crate::types::temporal::Date::ZERO),
        Value::DateTime(parse::datetime("9999-12-31 23:59:59", TimeZone::UTC).unwrap().value),
        Value::Time(crate::types::temporal::Time { micros: -crate::types::temporal::MAX_TIME_US, fsp: 6 }),
    ];
    let session = Session::new();
    // BENCHMARK takes as long as its argument says.
    for name in functions::all().map(|function| function.name).filter(|name| *name != "benchmark") {
        for count in 0..=4usize {
            let places: Vec<Expr> = (0..count).map(param).collect();
            let Ok(expr) = Expr::call(name, places) else { continue };
            // Every pair of values in the first two places, the others following along.
            for (i, first) in values.iter().enumerate() {
                for (j, second) in values.iter().enumerate() {
                    let params = [
                        first.clone(),
                        second.clone(),
                        values[(i + j) % values.len()].clone(),
                        values[(i * 7 + j) % values.len()].clone(),
                    ];
                    let cx = EvalContext::new(&params, &session);
                    let _ = expr.eval(&[], &cx);
                    let _ = expr.result_type(&params[..count]);
                    if count < 2 {
                        break;
                    }
                }
            }
        }
    }
    for unit in (0..).map_while(super::super::interval::unit_at) {
        for (first, second) in values.iter().flat_map(|a| values.iter().map(move |b| (a.clone(), b.clone()))) {
            let (a, b) = (Box::new(Expr::Literal(first.clone())), Box::new(Expr::Literal(second)));
            for expr in [
                Expr::DateAdd { date: a.clone(), amount: b.clone(), unit, negated: true },
                Expr::TimestampDiff(unit, a.clone(), b),
                Expr::Extract(unit, a),
            ] {
                let _ = eval_in(&session, &expr);
            }
        }
    }
    use ArithmeticOp::{Add, BitAnd, Divide, IntDivide, Modulo, Multiply, ShiftLeft, Subtract};
    for (first, second) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
        let (a, b) = (Expr::Literal(first.clone()), Expr::Literal(second.clone()));
        for op in [Add, BitAnd, Divide, IntDivide, Modulo, Multiply, ShiftLeft, Subtract] {
            let _ = eval_in(&session, &Expr::arithmetic(op, a.clone(), b.clone()).unwrap());
        }
        let _ = eval_in(&session, &Expr::compare(CompareOp::Less, a.clone(), b).unwrap());
        for to in [
            CastType::Signed,
            CastType::Unsigned,
            CastType::Decimal { precision: 10, scale: 2 },
            CastType::Date,
            CastType::Time { fsp: 3 },
            CastType::Year,
        ] {
            let _ = eval_in(&session, &Expr::Cast(Box::new(a.clone()), to));
        }
    }
}

/// Names of MySQL 8.0's function reference, but for operators and what the grammar reads by itself (CAST, EXTRACT, ...).
const MYSQL_80: &str = "abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin asymmetric_decrypt \
    asymmetric_derive asymmetric_encrypt asymmetric_sign asymmetric_verify atan atan2 benchmark bin bin_to_uuid bit_count \
    bit_length ceil ceiling char char_length character_length charset coalesce coercibility collation compress concat \
    concat_ws connection_id conv convert_tz cos cot crc32 curdate current_date current_role current_time \
    current_timestamp current_user curtime database date date_format datediff day dayname dayofmonth dayofweek dayofyear \
    degrees elt exp export_set extractvalue field find_in_set floor format format_bytes format_pico_time \
    found_rows from_base64 from_days from_unixtime get_format get_lock greatest grouping hex hour icu_version if ifnull \
    inet_aton inet_ntoa inet6_aton inet6_ntoa insert instr interval is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped \
    is_ipv6 is_used_lock is_uuid isnull json_array json_array_append json_array_insert json_contains json_contains_path \
    json_depth json_extract json_insert json_keys json_length json_merge_patch json_merge_preserve json_object \
    json_overlaps json_pretty json_quote json_remove json_replace json_schema_valid json_schema_validation_report \
    json_search json_set json_storage_free json_storage_size json_type json_unquote json_valid json_value last_day \
    last_insert_id lcase least left length ln load_file localtime localtimestamp locate log log10 log2 lower lpad ltrim \
    make_set makedate maketime master_pos_wait md5 microsecond mid minute mod month monthname name_const now nullif oct \
    octet_length ord period_add period_diff pi position pow power ps_current_thread_id ps_thread_id quarter quote radians \
    rand random_bytes regexp_instr regexp_like regexp_replace regexp_substr release_all_locks release_lock repeat replace \
    reverse right roles_graphml round row_count rpad rtrim schema sec_to_time second session_user sha sha1 sha2 sign sin \
    sleep soundex source_pos_wait space sqrt statement_digest statement_digest_text str_to_date strcmp subdate substr \
    substring substring_index subtime sysdate system_user tan time time_format time_to_sec timediff timestamp to_base64 \
    to_days to_seconds trim truncate ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper user \
    utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin validate_password_strength \
    version wait_for_executed_gtid_set week weekday weekofyear weight_string year yearweek";

/// `docs/functions.md`
fn page() -> String {
    let mut rows: Vec<_> = functions::all().collect();
    rows.sort_by_key(|function| function.name);
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    let upper = |name: &str| code(&name.to_uppercase());
    let mut page = String::from(
        "# Functions\n\n\
         Besides operators and CASE. In the examples of aggregates `x` is 1, 2, 2 and NULL in the rows of the group. In those of\n\
         functions over windows, and of GROUPING, it is 4, 2, 1 and 2, and the answer is that of the last row.\n\n\
         | function | meaning | example | answer |\n| --- | --- | --- | --- |\n",
    );
    for row in &rows {
        let names: Vec<String> = row.names().map(upper).collect();
        let (example, answer) = row.example;
        page += &format!("| {} | {} | {} | {} |\n", names.join(", "), row.meaning, code(example), code(answer));
    }
    let mut missing: Vec<&str> = MYSQL_80.split_whitespace().filter(|name| Function::named(name).is_none()).collect();
    missing.sort_unstable();
    page += "\n## Missing\n\nFunctions of MySQL 8.0 that are not there, besides spatial and GTID functions:\n\n";
    page += &missing.into_iter().map(upper).collect::<Vec<String>>().join(",\n");
    page += "\n";
    page
}

#[test]
fn the_page_lists_every_function() {
    let names: Vec<&str> = functions::all().flat_map(|function| function.names()).collect();
    let distinct: std::collections::HashSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len(), "a name stands twice");
    assert!(functions::all().all(|function| function.meaning.ends_with('.')));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/functions.md");
    if std::env::var_os("COHORT_RECORD").is_some() {
        std::fs::write(path, page()).expect("the page can be written");
    }
    let written = std::fs::read_to_string(path).expect("the page is there");
    assert!(written == page(), "docs/functions.md is old: run this test with COHORT_RECORD=1");
}

#[test]
fn every_example_gives_its_answer() {
    let mut wrong = Vec::new();
    for function in functions::all() {
        let (example, answer) = function.example;
        if !function.is_over_rows() && shown_over(&group(), example) != answer {
            let found = shown_over(&group(), example);
            wrong.push(format!("{example} is {found}, not {answer}"));
        }
        let name = function.name.split(' ').next().unwrap_or_default().to_uppercase();
        let calls = |name: &str| example.contains(&format!("{name}("));
        if !calls(&name) && !calls(&function.name.to_uppercase()) {
            wrong.push(format!("{example} does not call {name}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What operators and other syntax call is in the tables.
#[test]
fn the_grammar_calls_functions_that_there_are() {
    for (sql, answer) in [
        ("'abc' REGEXP 'b'", "1"),
        ("INTERVAL(23, 1, 30)", "1"),
        ("TRIM(LEADING 'x' FROM 'xax')", "ax"),
        ("TRIM(TRAILING FROM 'a ')", "a"),
        ("'Robert' SOUNDS LIKE 'Rupert'", "1"),
    ] {
        assert_eq!(shown_over(&[], sql), answer, "{sql}");
    }
}

/// As MySQL 5.6 answers.
#[test]
fn what_chooses_between_texts_and_bytes_gives_bytes() {
    for chosen in ["IF(1, 'яb', x'00')", "IFNULL('яb', x'00')", "GREATEST('яb', x'00')", "ELT(1, 'яb', x'00')"]
        .into_iter()
        .chain(["CASE WHEN 1 THEN 'яb' ELSE x'00' END", "COALESCE(NULL, 'яb', x'00')"])
    {
        assert_eq!(shown_over(&[], &format!("CHAR_LENGTH({chosen})")), "3", "{chosen}");
        assert_eq!(shown_over(&[], &format!("UPPER({chosen}) = x'D18F62'")), "1", "{chosen}");
    }
    assert_eq!(shown_over(&[], "IF(1, 5, x'00') = '5'"), "1");
    assert_eq!(shown_over(&[], "CHAR_LENGTH(IF(1, 'я', 'a'))"), "1");
}

/// As MariaDB 10.11 answers.
#[test]
fn functions_of_lists_codes_and_addresses() {
    let wrong: Vec<String> = [
        ("SOUNDEX('Honeyman')", "H500"),
        ("SOUNDEX('Tymczak')", "T520"),
        ("SOUNDEX('éa')", "é000"),
        ("SOUNDEX('1a b')", "A100"),
        ("SOUNDEX('123')", ""),
        ("MAKE_SET(1 | 4, 'hello', 'nice', NULL, 'world')", "hello"),
        ("MAKE_SET(-1, 'a', NULL, 'b')", "a,b"),
        ("MAKE_SET(0, 'a')", ""),
        ("MAKE_SET(NULL, 'a')", "NULL"),
        ("EXPORT_SET(5, 'Y', 'N', ',', 4)", "Y,N,Y,N"),
        ("LENGTH(EXPORT_SET(3, 'a', 'b', '-', 70))", "127"),
        ("LENGTH(EXPORT_SET(3, 'a', 'b', '', -1))", "64"),
        ("EXPORT_SET(3, 'a', 'b', '-', 0)", ""),
        ("EXPORT_SET(3, 'a', 'b', '-', NULL)", "NULL"),
        ("CONV('a', 16, 2)", "1010"),
        ("CONV(-17, 10, -18)", "-H"),
        ("CONV('zz', 36, 10)", "1295"),
        ("CONV('xyz', 10, 16)", "0"),
        ("CONV('', 10, 2)", "NULL"),
        ("CONV(1, 1, 2)", "NULL"),
        ("CONV('18446744073709551616', 10, 16)", "FFFFFFFFFFFFFFFF"),
        ("CONV('-18446744073709551616', 10, 16)", "FFFFFFFFFFFFFFFF"),
        ("CONV(-1, 10, 16)", "FFFFFFFFFFFFFFFF"),
        ("CONV('-1', -10, 16)", "FFFFFFFFFFFFFFFF"),
        ("CONV('9223372036854775808', -10, 10)", "9223372036854775807"),
        ("CONV(' 12', 10, 16)", "C"),
        ("CONV(3.7, 10, 2)", "11"),
        ("CONV('ffffffffffffffff', 16, -10)", "-1"),
        ("CONV('-0', 10, 16)", "0"),
        (
            "TO_BASE64(REPEAT('a', 58))",
            "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh\nYQ==",
        ),
        ("LENGTH(TO_BASE64(REPEAT('a', 57)))", "76"),
        ("FROM_BASE64('YW Jj\\n')", "abc"),
        ("FROM_BASE64('YR==')", "a"),
        ("FROM_BASE64('YQ= =')", "a"),
        ("FROM_BASE64('YWJ')", "NULL"),
        ("FROM_BASE64('YQ==YQ==')", "NULL"),
        ("FROM_BASE64('')", ""),
        ("INET_ATON('127.1')", "2130706433"),
        ("INET_ATON('1.2.3')", "16908291"),
        ("INET_ATON('1..2')", "16777218"),
        ("INET_ATON('.1')", "1"),
        ("INET_ATON('1.2.3.4.5')", "4328719365"),
        ("INET_ATON('1.2.3.4.5.6.7.8.9.10')", "217304205466536202"),
        ("INET_ATON('256.1.1.1')", "NULL"),
        ("INET_ATON('1.2.3.')", "NULL"),
        ("INET_ATON('')", "NULL"),
        ("INET_ATON(' 1.2.3.4')", "NULL"),
        ("INET_NTOA(-1)", "NULL"),
        ("INET_NTOA(4294967296)", "NULL"),
        ("INET_NTOA(1.5)", "0.0.0.2"),
        ("INET_NTOA('x')", "0.0.0.0 !1292"),
        ("HEX(INET6_ATON('001.02.3.4'))", "01020304"),
        ("HEX(INET6_ATON('::ffff:01.2.3.4'))", "00000000000000000000FFFF01020304"),
        ("HEX(INET6_ATON('1:2:3:4:5:6:1.2.3.4'))", "00010002000300040005000601020304"),
        ("HEX(INET6_ATON('1:2:3:4:5:6:7::'))", "00010002000300040005000600070000"),
        ("INET6_ATON('1:2:3:4:5:6:7:8:9')", "NULL"),
        ("INET6_ATON('1.2.3.4::')", "NULL"),
        ("INET6_ATON('0000:0000:0000:0000:0000:ffff:192.168.100.228')", "NULL"),
        ("INET6_ATON('fe80::1%eth0')", "NULL"),
        ("INET6_NTOA('abcd')", "NULL"),
        ("INET6_NTOA(INET6_ATON('::'))", "::"),
        ("INET6_NTOA(INET6_ATON('::1'))", "::1"),
        ("INET6_NTOA(INET6_ATON('::1:0'))", "::0.1.0.0"),
        ("INET6_NTOA(INET6_ATON('::ffff:1.2.3.4'))", "::ffff:1.2.3.4"),
        ("INET6_NTOA(INET6_ATON('0:0:0:0:0:fffe:1:2'))", "::fffe:1:2"),
        ("INET6_NTOA(INET6_ATON('1:0:2:3:4:5:6:7'))", "1::2:3:4:5:6:7"),
        ("INET6_NTOA(INET6_ATON('1:0:0:2:0:0:0:7'))", "1:0:0:2::7"),
        ("INET6_NTOA(INET6_ATON('1:0:0:2:0:0:3:7'))", "1::2:0:0:3:7"),
        ("INET6_NTOA(INET6_ATON('1::'))", "1::"),
        ("IS_IPV4('0001.2.3.4')", "0"),
        ("IS_IPV4(NULL)", "0"),
        ("IS_IPV6('10.0.5.9')", "0"),
        ("IS_IPV4_COMPAT(INET6_ATON('::1'))", "0"),
        ("IS_IPV4_COMPAT(INET6_ATON('::ffff:10.0.5.9'))", "0"),
        ("IS_IPV4_MAPPED(INET6_ATON('::ffff:10.0.5.9'))", "1"),
        ("IS_IPV4_MAPPED('abc')", "0"),
        // MySQL's alone.
        ("IS_UUID('{6ccd780c-baba-1026-9564-5b8c656024db}')", "1"),
        ("IS_UUID('6ccd780cbaba102695645b8c656024db')", "1"),
        ("IS_UUID('6ccd780c-baba-1026-9564-5b8c6560')", "0"),
        ("HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db'))", "6CCD780CBABA102695645B8C656024DB"),
        (
            "BIN_TO_UUID(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1), 1)",
            "6ccd780c-baba-1026-9564-5b8c656024db",
        ),
        ("UUID_TO_BIN('x')", "error 1411"),
        ("BIN_TO_UUID('x')", "error 1411"),
        ("UUID_TO_BIN(NULL)", "NULL"),
        ("HEX(AES_ENCRYPT('', 'k'))", "932F1B1E9189536B938A6B67666D4031"),
        (
            "HEX(AES_ENCRYPT('0123456789abcdef', '0123456789abcdefg'))",
            "34B018E86D635BE61DAF557769468368973D5AA76F88B9E2873712D037D1975D",
        ),
        ("HEX(AES_ENCRYPT('é', ''))", "6A3FDA80898254411ED3A9EDB833912A"),
        ("AES_DECRYPT('abc', 'k')", "NULL"),
        ("AES_DECRYPT(AES_ENCRYPT('abc', 'k'), 'z')", "NULL"),
        ("AES_DECRYPT(AES_ENCRYPT('abc', 'k'), 'k')", "abc"),
        ("HEX(COMPRESS(''))", ""),
        ("LENGTH(COMPRESS(REPEAT('a', 1000))) < 50", "1"),
        ("UNCOMPRESS('x')", "NULL !1259"),
        ("UNCOMPRESS('')", ""),
        ("UNCOMPRESSED_LENGTH('xxxxxxx')", "947419256"),
        ("UNCOMPRESS('xxxxxxx')", "NULL !1256"),
        ("UNCOMPRESS(CONCAT(X'01000000', 'xxxxxxx'))", "NULL !1259"),
        ("BENCHMARK(NULL, 1)", "NULL"),
        ("BENCHMARK(-1, 1)", "NULL !1411"),
        ("BENCHMARK(2.7, NULL)", "0"),
        ("BENCHMARK('x', 1)", "0 !1292"),
        ("COERCIBILITY('abc' COLLATE utf8mb4_bin)", "0"),
        ("COERCIBILITY(USER())", "3"),
        ("COERCIBILITY(1)", "5"),
        ("COERCIBILITY(NULL)", "6"),
        ("COERCIBILITY(CAST('a' AS CHAR))", "2"),
        ("NAME_CONST('b', -1)", "-1"),
        ("FORMAT_BYTES(512)", " 512 bytes"),
        ("FORMAT_BYTES(1024)", "1.00 KiB"),
        ("FORMAT_BYTES(NULL)", "NULL"),
        ("FORMAT_PICO_TIME(34)", " 34 ps"),
        ("FORMAT_PICO_TIME(3501)", "3.50 ns"),
        ("JSON_SEARCH('[\"abc\", {\"x\": \"abc\"}]', 'one', 'abc')", "\"$[0]\""),
        ("JSON_SEARCH('[\"abc\", [{\"k\": \"10\"}, \"def\"]]', 'all', '10', NULL, '$[*][0].k')", "\"$[1][0].k\""),
        ("JSON_SEARCH('[\"abc\", {\"y\": \"bcd\"}]', 'all', '%b%', '', '$[1]')", "\"$[1].y\""),
        ("JSON_SEARCH('\"abc\"', 'one', 'abc')", "\"$\""),
        ("JSON_SEARCH('{\"a b\": \"x\", \"c\": {\"d\": \"x\"}}', 'all', 'x')", "[\"$.c.d\", \"$.\\\"a b\\\"\"]"),
        ("JSON_SEARCH('[\"a%c\", \"abc\"]', 'all', 'a|%c', '|')", "\"$[0]\""),
        ("JSON_SEARCH('[\"x\"]', 'all', 'x', NULL, '$[0]', '$**[0]')", "\"$[0]\""),
        ("JSON_SEARCH('[\"10\", 10]', 'all', '10')", "\"$[0]\""),
        ("JSON_SEARCH('[\"A\"]', 'all', 'a')", "NULL"),
        ("JSON_SEARCH(NULL, 'one', 'x')", "NULL"),
        ("JSON_SEARCH('[]', 'two', 'x')", "error 3154"),
        ("JSON_SEARCH('[]', 'one', 'x', 'ab')", "error 1210"),
        ("JSON_VALUE('{\"a\": 1.50}', '$.a')", "1.5"),
        ("JSON_VALUE('{\"a\": [1]}', '$.a')", "NULL"),
        ("JSON_VALUE('{\"a\": null}', '$.a')", "NULL"),
        ("JSON_VALUE('{\"a\": true}', '$.a')", "true"),
        ("JSON_VALUE('{}', '$.a')", "NULL"),
        ("JSON_VALUE('x', '$.a')", "error 3141"),
        ("'ab' MEMBER OF('[23, \"abc\", 17, \"ab\", 10]')", "1"),
        ("'17' MEMBER OF('[23, 17]')", "0"),
        ("CAST('[4,5]' AS JSON) MEMBER OF('[[3,4],[4,5]]')", "1"),
        ("NULL MEMBER OF('[1]')", "NULL"),
        ("1 MEMBER OF('1')", "1"),
        ("REGEXP_INSTR('dog cat dog', 'dog', 1, 2, 1)", "12"),
        ("REGEXP_INSTR('aa aaa', 'a{4}')", "0"),
        ("REGEXP_INSTR('éab', 'a')", "2"),
        ("REGEXP_INSTR('abc', 'b', 5)", "error 3686"),
        ("REGEXP_INSTR('abc', '$', 4)", "4"),
        ("REGEXP_INSTR('abc', 'b', 0)", "error 3686"),
        ("REGEXP_INSTR('abc', 'b', 1, 1, 2)", "error 1210"),
        ("REGEXP_SUBSTR('abc def ghi', '[a-z]+')", "abc"),
        ("REGEXP_SUBSTR('abc', 'x')", "NULL"),
        ("REGEXP_SUBSTR('aébc', '.', 2)", "é"),
        ("REGEXP_REPLACE('a b c', 'b', 'X')", "a X c"),
        ("REGEXP_REPLACE('abc', 'B', 'X')", "aXc"),
        ("REGEXP_REPLACE('abc', 'B', 'X', 1, 0, 'c')", "abc"),
        ("REGEXP_REPLACE('aébb', 'x*', '-')", "-a-é-b-b-"),
        ("REGEXP_REPLACE('abc', '(b)', '[$1\\\\$]')", "a[b$]c"),
        ("REGEXP_REPLACE('abc', '(b)', '$2')", "error 3686"),
        ("REGEXP_REPLACE('abc', '(b)', '$x')", "error 3887"),
        ("REGEXP_REPLACE('aaa', 'a', 'b', 2, 2)", "aab"),
        ("REGEXP_REPLACE(NULL, 'a', 'b')", "NULL"),
        ("REGEXP_REPLACE(REPEAT('a', 900), 'a', 'bb')", "NULL !1301"),
        ("GET_FORMAT(TIME, 'usa')", "%h:%i:%s %p"),
        ("GET_FORMAT(TIMESTAMP, 'INTERNAL')", "%Y%m%d%H%i%s"),
        ("GET_FORMAT(DATE, 'x')", "NULL"),
    ]
    .into_iter()
    .filter(|(sql, answer)| shown_over(&[], sql) != *answer)
    .map(|(sql, answer)| format!("{sql} is {}, not {answer}", shown_over(&[], sql)))
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The values of `x` in the rows of a group.
fn group() -> [Value; 4] {
    [Value::Int(1), Value::Int(2), Value::Int(2), Value::Null]
}

/// The value of an expression over a group, as [`shown`].
pub(super) fn shown_over(group: &[Value], sql: &str) -> String {
    let session = Session::new();
    let cx = EvalContext::new(&[], &session);
    let (expr, aggregates) = bound(sql);
    let results: Vec<Value> = aggregates
        .iter()
        .map(|aggregate| {
            let mut state = aggregate.accumulator(u64::MAX);
            for value in group {
                state.add(aggregate, std::slice::from_ref(value), &cx).unwrap();
            }
            state.finish(aggregate, &cx).unwrap()
        })
        .collect();
    shown_of(&expr, &results)
}

/// An expression as a statement has it, and its aggregates.
fn bound(sql: &str) -> (Expr, Vec<functions::aggregate::Aggregate>) {
    use crate::ast::{QueryBody, SelectItem, Statement};
    use crate::plan::aggregated::Aggregated;
    let memory = crate::memory::MemoryUse::new(Default::default());
    let statement = format!("SELECT {sql}");
    let parsed = crate::parse::parse(statement.as_bytes(), SqlMode::DEFAULT, &memory, None, &|_| None);
    let Statement::Select(query) = parsed.unwrap_or_else(|error| panic!("{sql}: {error}")).statement else {
        panic!("{sql}")
    };
    let QueryBody::Select(select) = query.body else { panic!("{sql}") };
    let SelectItem::Expr { expr, .. } = &select.items[0] else { panic!("{sql}") };
    let collected = std::cell::RefCell::new(Aggregated::new(&[], 1024));
    let mut scope = crate::plan::bind::Scope::new(&[], "field list");
    scope.aliases = vec![("x", Expr::column(0, "x", ResultType::integer(11)))];
    scope.aggregates = Some(&collected);
    let bound = scope.bind(expr).unwrap_or_else(|error| panic!("{sql}: {error}"));
    (bound, collected.into_inner().aggregates)
}

/// As MariaDB 10.11 answers.
#[test]
fn weights_are_those_of_the_collation() {
    let mut wrong = Vec::new();
    for (of, weights) in [
        ("'AB cé' COLLATE utf8mb4_general_ci", "00410042002000430045"),
        ("'ß😀' COLLATE utf8mb4_general_ci", "0053FFFD"),
        ("'Ab ' COLLATE utf8mb4_general_ci", "004100420020"),
        ("'Ab é😀' COLLATE utf8mb4_bin", "0000410000620000200000E901F600"),
        ("CONVERT('Abé' USING utf8mb3) COLLATE utf8mb3_bin", "0041006200E9"),
        ("CONVERT('Abé' USING utf8mb3) COLLATE utf8mb3_general_ci", "004100420045"),
        ("'Ab é😀' COLLATE utf8mb4_unicode_ci", "0E330E4A02090E8BFFFD"),
        ("'Ab é😀' COLLATE utf8mb4_unicode_520_ci", "120F1225020A126BFBC3F600"),
        ("CONVERT('Abé' USING latin1) COLLATE latin1_swedish_ci", "414245"),
        ("CONVERT('Abé' USING latin1) COLLATE latin1_bin", "4162E9"),
        ("CONVERT('Abé' USING latin1) COLLATE latin1_general_cs", "415260"),
        ("CONVERT('Ab' USING ascii) COLLATE ascii_general_ci", "4142"),
        ("'ab' COLLATE utf8mb4_general_ci AS CHAR(4)", "0041004200200020"),
        ("'abcdef' COLLATE utf8mb4_general_ci AS CHAR(4)", "0041004200430044"),
        ("'ab' COLLATE utf8mb4_unicode_ci AS CHAR(4)", "0E330E4A02090209"),
        ("'ab' COLLATE utf8mb4_bin AS CHAR(3)", "000061000062000020"),
        ("CONVERT('ab' USING latin1) AS CHAR(4)", "41422020"),
        ("'ab' AS BINARY(4)", "61620000"),
        ("'abcdef' AS BINARY(4)", "61626364 !1292"),
        ("BINARY 'ab' AS CHAR(4)", "61620000"),
        ("BINARY 'ab'", "6162"),
        ("123", "NULL"),
        ("1.5", "NULL"),
        ("123 AS CHAR(4)", "NULL"),
        ("123 AS BINARY(4)", "31323300"),
        ("NULL", "NULL"),
        ("''", ""),
    ] {
        let found = shown_over(&[], &format!("HEX(WEIGHT_STRING({of}))"));
        if found != weights {
            wrong.push(format!("{of}: {found}, not {weights}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for same in ["WEIGHT_STRING('résumé') = WEIGHT_STRING('RESUME')", "WEIGHT_STRING('a') < WEIGHT_STRING('B')"] {
        assert_eq!(shown_over(&[], same), "1", "{same}");
    }
    // It is too long for a packet.
    assert_eq!(shown_over(&[], "WEIGHT_STRING('a' AS CHAR(4000000000))"), "NULL !1301");
}
