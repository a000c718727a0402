use super::aggregate::{Accumulator, Aggregate};
use super::*;
use crate::types::FieldType;
use crate::types::column_type::{DecimalType, VarCharType};

fn decimal_column() -> Expr {
    Expr::column(
        0,
        "d",
        ColumnType::Decimal(DecimalType { precision: 10, scale: 2, unsigned: false }).result_type(true),
    )
}

/// Field, decimals, unsigned.
fn kind(expr: &Expr) -> (FieldType, u8, bool) {
    let result = expr.result_type(&[]);
    (result.field, result.decimals, result.unsigned)
}

#[test]
fn arithmetic_has_mysqls_types() {
    let arithmetic = |op, a, b| kind(&Expr::arithmetic(op, a, b).unwrap());
    assert_eq!(arithmetic(ArithmeticOp::Add, int_column(), int(1)), (FieldType::LongLong, 0, false));
    assert_eq!(arithmetic(ArithmeticOp::Add, int_column(), uint(1)), (FieldType::LongLong, 0, true));
    assert_eq!(arithmetic(ArithmeticOp::Divide, int_column(), int(2)), (FieldType::NewDecimal, 4, false));
    assert_eq!(
        arithmetic(ArithmeticOp::Multiply, decimal_column(), decimal_column()),
        (FieldType::NewDecimal, 4, false)
    );
    assert_eq!(arithmetic(ArithmeticOp::Add, text("1"), int(1)), (FieldType::Double, 31, false));
    assert_eq!(arithmetic(ArithmeticOp::BitOr, int(1), int(1)), (FieldType::LongLong, 0, true));
}

#[test]
fn branches_have_a_common_type() {
    let case = |a, b| kind(&Expr::case(None, vec![(int(1), a)], Some(b)).unwrap());
    assert_eq!(case(int(1), decimal_column()).0, FieldType::NewDecimal);
    assert_eq!(case(int(1), decimal_column()).1, 2);
    assert_eq!(case(int(1), text("a")).0, FieldType::VarString);
    assert_eq!(case(date("2020-01-01"), datetime("2020-01-01 00:00:00")).0, FieldType::DateTime);
    assert_eq!(case(null(), int(1)).0, FieldType::LongLong);
}

#[test]
fn values_are_of_the_declared_type() {
    let session = Session::new();
    let params = [Value::Int(1), Value::Decimal(Decimal::parse("2.50").unwrap())];
    let cx = EvalContext::new(&params, &session);
    let case = Expr::case(None, vec![(int(1), param(0))], Some(param(1))).unwrap();
    assert_eq!(case.result_type(&params).decimals, 2);
    assert_eq!(case.eval(&[], &cx).unwrap().to_string(), "1.00");
}

#[test]
fn digits_that_an_argument_names_are_in_the_type() {
    assert_eq!(kind(&call("now", [int(3)])), (FieldType::DateTime, 3, false));
    assert_eq!(kind(&call("now", [])), (FieldType::DateTime, 0, false));
    assert_eq!(kind(&call("round", [decimal_column(), int(1)])), (FieldType::NewDecimal, 1, false));
    assert_eq!(kind(&call("round", [decimal_column(), int_column()])), (FieldType::NewDecimal, 2, false));
    assert_eq!(kind(&call("round", [double(1.5), int(2)])), (FieldType::Double, 2, false));
    assert_eq!(kind(&call("round", [int_column(), int(1)])), (FieldType::LongLong, 0, false));
}

#[test]
fn texts_are_declared_as_long_as_mysqls() {
    let column = || Expr::column(0, "t", ResultType::string(20, Collation::DEFAULT));
    let other = || Expr::column(1, "u", ResultType::string(5, Collation::DEFAULT));
    let length = |expr: Expr| expr.result_type(&[]).length;
    assert_eq!(length(call("replace", [column(), other(), text("x")])), 20);
    assert_eq!(length(call("replace", [column(), text("x"), text("abc")])), 60);
    assert_eq!(length(call("insert", [column(), int(2), int(2), other()])), 25);
    assert_eq!(length(call("quote", [column()])), 42);
    assert_eq!(length(call("elt", [int(2), column(), other()])), 20);
    assert_eq!(length(call("hex", [column()])), 160);
    assert_eq!(length(call("hex", [int_column()])), 22);
    assert_eq!(length(call("unhex", [call("hex", [column()])])), 320);
    let binary = |of| Expr::Cast(Box::new(of), CastType::Binary { bytes: None });
    assert_eq!((length(binary(column())), length(binary(int_column()))), (80, 11));
}

#[test]
fn columns_keep_their_metadata() {
    let text = ColumnType::VarChar(VarCharType { chars: 10, collation: Collation::Utf8mb4Bin }).result_type(true);
    assert_eq!((text.field, text.length, text.collation), (FieldType::VarString, 10, Collation::Utf8mb4Bin));
    let tiny =
        ColumnType::Int(IntType { width: IntWidth::Tiny, unsigned: false, display_width: Some(1) }).result_type(false);
    assert_eq!((tiny.field, tiny.length, tiny.nullable), (FieldType::Tiny, 1, false));
}

fn run(name: &str, arg: Expr, distinct: bool, values: &[Value]) -> (String, ResultType) {
    let session = Session::new();
    let cx = EvalContext::new(&[], &session);
    let aggregate = Aggregate::new(Function::named(name).unwrap(), vec![arg], distinct).unwrap();
    let mut state: Accumulator = aggregate.accumulator(u64::MAX);
    for value in values {
        state.add(&aggregate, std::slice::from_ref(value), &cx).unwrap();
    }
    (state.finish(&aggregate, &cx).unwrap().to_string(), aggregate.result_type(&[]))
}

#[test]
fn aggregates() {
    let ints = [Value::Int(1), Value::Null, Value::Int(2), Value::Int(2)];
    assert_eq!(run("count", int_column(), false, &ints).0, "3");
    assert_eq!(run("count", int_column(), true, &ints).0, "2");
    let (sum, sum_type) = run("SUM", int_column(), false, &ints);
    assert_eq!((sum.as_str(), sum_type.field, sum_type.decimals), ("5", FieldType::NewDecimal, 0));
    assert_eq!(run("sum", int_column(), true, &ints).0, "3");
    let (avg, avg_type) = run("avg", int_column(), false, &ints);
    assert_eq!((avg.as_str(), avg_type.field, avg_type.decimals), ("1.6667", FieldType::NewDecimal, 4));
    assert_eq!(run("min", int_column(), false, &ints).0, "1");
    assert_eq!(run("max", int_column(), false, &ints).0, "2");
    assert_eq!(run("sum", int_column(), false, &[Value::Null]).0, "NULL");
    let null = || Expr::Literal(Value::Null);
    assert_eq!(["sum", "avg"].map(|name| run(name, null(), false, &[]).1.field), [FieldType::Double; 2]);
    assert_eq!(run("count", int_column(), false, &[]).0, "0");
    let most = [Value::Int(i64::MAX), Value::UInt(u64::MAX)];
    assert_eq!(run("sum", int_column(), false, &most).0, "27670116110564327422");
    let decimals = ["1.10", "2.25"].map(|text| Value::Decimal(Decimal::parse(text).unwrap()));
    assert_eq!(run("sum", decimal_column(), false, &decimals).0, "3.35");
    assert_eq!(run("avg", decimal_column(), false, &decimals).0, "1.675000");
    let texts = [Value::text("b"), Value::text("A"), Value::text("B")];
    let column = || Expr::column(0, "t", ResultType::string(10, Collation::DEFAULT));
    assert_eq!(run("min", column(), false, &texts).0, "A");
    assert_eq!(run("max", column(), false, &texts).0, "b");
    assert_eq!(run("count", column(), true, &texts).0, "2");
}

#[test]
fn aggregates_that_are_not_supported_say_so() {
    let named = |name| Function::named(name).unwrap();
    assert!(named("Group_Concat").is_aggregate() && named("COUNT").is_aggregate() && !named("concat").is_aggregate());
    assert_eq!(Aggregate::new(named("sum"), vec![], false).unwrap_err().errno, 1582);
    assert_eq!(Aggregate::new(named("sum"), vec![int(1), int(2)], false).unwrap_err().errno, 1582);
}

#[test]
fn expressions_can_be_walked_and_rewritten() {
    let mut expr = Expr::between(int_column(), param(0), call("abs", [int_column()]), false).unwrap();
    let mut columns = 0;
    expr.walk(&mut |part| columns += usize::from(matches!(part, Expr::Column(_))));
    assert_eq!(columns, 2);
    expr.walk_mut(&mut |part| {
        if let Expr::Column(column) = part {
            column.slot = 5;
        }
    });
    let mut slots = Vec::new();
    expr.walk(&mut |part| {
        if let Expr::Column(column) = part {
            slots.push(column.slot);
        }
    });
    assert_eq!(slots, [5, 5]);
    assert!(expr.has_columns());
}

/// 30 levels would take 3^30 steps if each one asked its argument three times.
#[test]
fn types_of_nested_calls_take_time_by_their_number() {
    let (done, until) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let nested = (0..30).fold(int(1), |inner, _| call("concat", [text("a"), call("hex", [inner])]));
        done.send((nested.collation(), kind(&nested).0)).unwrap();
    });
    let found = until.recv_timeout(std::time::Duration::from_secs(60)).expect("an answer within a minute");
    assert_eq!(found, (Collation::DEFAULT, FieldType::VarString));
}
