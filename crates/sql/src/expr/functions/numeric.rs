//! Functions of numbers, and those that choose among values.

use super::super::EvalContext;
use super::super::compare::{alike, compare};
use super::super::complete::lacks_a_part;
use super::super::context::RandomSequence;
use super::super::convert::{Number, to_bits, to_decimal, to_f64, to_i64};
use super::super::{ArithmeticOp, Expr};
use super::{Arguments, Demand, Function, MANY, one, two};
use crate::error::{ER_DATA_OUT_OF_RANGE, SqlError};
use crate::types::decimal::{Decimal, MAX_SCALE};
use crate::types::{Family, FieldType, NOT_FIXED_DECIMALS, ResultType};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] =
    &[
        Function::new("abs", 1, 1, abs, same).doc("The absolute value.", "ABS(-32)", "32"),
        Function::new("sign", 1, 1, |a| Ok(Value::Int(sign(&Number::of(&a[0], a.cx)?))), |_| ResultType::integer(17))
            .doc("-1, 0 or 1 as the number is negative, zero or positive.", "SIGN(-32)", "-1"),
        Function::new("ceiling", 1, 1, |a| to_whole(a, f64::ceil, Decimal::ceil), whole).aliases(&["ceil"]).doc(
            "The least integer that is not less.",
            "CEILING(-1.23)",
            "-1",
        ),
        Function::new("floor", 1, 1, |a| to_whole(a, f64::floor, Decimal::floor), whole).doc(
            "The greatest integer that is not greater.",
            "FLOOR(-1.23)",
            "-2",
        ),
        Function::new("round", 1, 2, |a| round(a, false), rounded).digits_at(1).doc(
            "The number rounded to so many digits after the point.",
            "ROUND(1.298, 1)",
            "1.3",
        ),
        Function::new("truncate", 2, 2, |a| round(a, true), rounded).digits_at(1).in_grammar().doc(
            "The number cut to so many digits after the point.",
            "TRUNCATE(1.999, 1)",
            "1.9",
        ),
        Function::new("pow", 2, 2, power, double).aliases(&["power"]).doc(
            "A number raised to a power.",
            "POW(2, -2)",
            "0.25",
        ),
        Function::new("sqrt", 1, 1, |a| unary(a, |x| (x >= 0.0).then(|| x.sqrt())), double).doc(
            "The square root.",
            "SQRT(20)",
            "4.47213595499958",
        ),
        Function::new("exp", 1, 1, |a| unary(a, |x| Some(x.exp())), double).doc("e raised to a power.", "EXP(0)", "1"),
        Function::new("ln", 1, 1, |a| logarithm(a, f64::ln), double).doc(
            "The natural logarithm.",
            "LN(2)",
            "0.6931471805599453",
        ),
        Function::on_demand("log", 1, 2, logarithm_to_base, double).doc(
            "The natural logarithm, or that of the second argument with the first as base.",
            "LOG(2, 65536)",
            "16",
        ),
        Function::new("log2", 1, 1, |a| logarithm(a, f64::log2), double).doc(
            "The logarithm with base 2.",
            "LOG2(65536)",
            "16",
        ),
        Function::new("log10", 1, 1, |a| logarithm(a, f64::log10), double).doc(
            "The logarithm with base 10.",
            "LOG10(100)",
            "2",
        ),
        Function::new("sin", 1, 1, |a| unary(a, |x| Some(x.sin())), double).doc("The sine.", "SIN(0)", "0"),
        Function::new("cos", 1, 1, |a| unary(a, |x| Some(x.cos())), double).doc("The cosine.", "COS(0)", "1"),
        Function::new("tan", 1, 1, |a| unary(a, |x| Some(x.tan())), double).doc("The tangent.", "TAN(0)", "0"),
        Function::new("cot", 1, 1, |a| unary(a, |x| Some(1.0 / x.tan())), double).doc(
            "The cotangent.",
            "ROUND(COT(12), 6)",
            "-1.572673",
        ),
        Function::new("asin", 1, 1, |a| unary(a, |x| (x.abs() <= 1.0).then(|| x.asin())), double).doc(
            "The arc sine.",
            "ASIN(0)",
            "0",
        ),
        Function::new("acos", 1, 1, |a| unary(a, |x| (x.abs() <= 1.0).then(|| x.acos())), double).doc(
            "The arc cosine.",
            "ACOS(1)",
            "0",
        ),
        Function::new("atan", 1, 2, arc_tangent, double).aliases(&["atan2"]).doc(
            "The arc tangent of a number, or of a point's y and x.",
            "ATAN(-2, 2)",
            "-0.7853981633974483",
        ),
        Function::new("degrees", 1, 1, |a| unary(a, |x| Some(x.to_degrees())), double).doc(
            "Radians as degrees.",
            "DEGREES(PI())",
            "180",
        ),
        Function::new("radians", 1, 1, |a| unary(a, |x| Some(x.to_radians())), double).doc(
            "Degrees as radians.",
            "ROUND(RADIANS(90), 6)",
            "1.570796",
        ),
        Function::new(
            "pi",
            0,
            0,
            |_| Ok(Value::Double(std::f64::consts::PI)),
            |_| ResultType { length: 8, decimals: 6, ..ResultType::double() },
        )
        .doc("The ratio of a circle's circumference to its diameter.", "ROUND(PI(), 6)", "3.141593"),
        Function::new("rand", 0, 1, random, double).takes_null().volatile().doc(
            "A random number of at least 0 and less than 1; the argument starts a sequence that repeats.",
            "RAND(3) < 1",
            "1",
        ),
        Function::new(
            "bit_count",
            1,
            1,
            |a| Ok(Value::Int(to_bits(&a[0], a.cx)?.count_ones().into())),
            |_| ResultType::integer(2),
        )
        .doc("How many bits are set.", "BIT_COUNT(29)", "4"),
        Function::new("greatest", 2, MANY, |a| extreme(a, true), unified).unifies().chooses_exactly().doc(
            "The greatest argument.",
            "GREATEST(2, 0, 34)",
            "34",
        ),
        Function::new("least", 2, MANY, |a| extreme(a, false), unified).unifies().chooses_exactly().doc(
            "The least argument.",
            "LEAST(2, 0, 34)",
            "0",
        ),
        Function::on_demand("coalesce", 1, MANY, coalesce, unified)
            .unifies()
            .joins()
            .hands_on_dates()
            .in_grammar()
            .doc("The first argument that is not NULL.", "COALESCE(NULL, 1)", "1"),
        Function::on_demand("ifnull", 2, 2, coalesce, unified).unifies().joins().hands_on_dates().doc(
            "The first argument, or the second where that is NULL.",
            "IFNULL(NULL, 10)",
            "10",
        ),
        Function::new("nullif", 2, 2, null_if, |a| a[0].nullable(true))
            .takes_null()
            .keeps_collation_of_first()
            .compares()
            .doc("NULL where both arguments are equal, else the first.", "NULLIF(1, 2)", "1"),
        Function::on_demand("interval", 2, MANY, interval, |_| ResultType::integer(2)).doc(
            "How many of the numbers after the first, which ascend, are not greater than it.",
            "INTERVAL(23, 1, 15, 17, 30, 44)",
            "3",
        ),
        Function::rewritten("if", 3, 3, if_else).in_grammar().doc(
            "The second argument where the first is true, else the third.",
            "IF(1 > 2, 2, 3)",
            "3",
        ),
        Function::rewritten("mod", 2, 2, |args| two(args, |a, b| Expr::arithmetic(ArithmeticOp::Modulo, a, b)))
            .in_grammar()
            .doc("The remainder of a division.", "MOD(29, 9)", "2"),
        Function::rewritten("isnull", 1, 1, |args| {
            one(args, |operand| Ok(Expr::IsNull { operand: Box::new(operand), negated: false }))
        })
        .doc("Whether the argument is NULL.", "ISNULL(NULL)", "1"),
    ];

/// IF as a CASE.
fn if_else(mut args: Vec<Expr>) -> Result<Expr, SqlError> {
    let otherwise = args.pop();
    two(args, |when, then| Expr::case(None, vec![(when, then)], otherwise))
}

fn double(_: &[ResultType]) -> ResultType {
    ResultType::double()
}

fn unified(args: &[ResultType]) -> ResultType {
    args.iter().copied().reduce(ResultType::unify).unwrap_or_else(ResultType::null)
}

/// What a function makes of an integer may have a digit more than the column's type.
fn big(integer: ResultType) -> ResultType {
    ResultType { field: FieldType::LongLong, ..integer.nullable(true) }
}

fn same(args: &[ResultType]) -> ResultType {
    match args[0].family() {
        Family::Integer => big(args[0]),
        Family::Decimal => args[0].nullable(true),
        Family::Real => ResultType::double().with_decimals(args[0].decimals),
        Family::Null | Family::Temporal | Family::String => ResultType::double(),
    }
}

fn whole(args: &[ResultType]) -> ResultType {
    match args[0].family() {
        Family::Integer => big(args[0]),
        Family::Decimal if args[0].integer_digits() < 18 => {
            ResultType { unsigned: args[0].unsigned, ..ResultType::integer(args[0].integer_digits() + 2) }
        }
        Family::Decimal => ResultType::decimal(args[0].integer_digits() + 1, 0),
        Family::Null | Family::Real | Family::Temporal | Family::String => ResultType::double().with_decimals(0),
    }
}

/// A decimal keeps its digits where the argument that says how many is not known.
fn rounded(args: &[ResultType]) -> ResultType {
    match args[0].family() {
        Family::Integer => big(args[0]),
        Family::Decimal => {
            let decimals = if args.len() == 1 { 0 } else { args[0].decimals };
            let decimal = ResultType::decimal(args[0].integer_digits() + 1 + u32::from(decimals), decimals);
            ResultType { unsigned: args[0].unsigned, ..decimal }
        }
        Family::Null | Family::Real | Family::Temporal | Family::String => {
            let decimals = if args.len() == 1 { 0 } else { NOT_FIXED_DECIMALS };
            ResultType { decimals, ..ResultType::double() }
        }
    }
}

fn out_of_range(function: &str) -> SqlError {
    SqlError::new(ER_DATA_OUT_OF_RANGE, &[&"DOUBLE", &function])
}

fn abs(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(match Number::of(&args[0], args.cx)? {
        Number::Int(int) => {
            let absolute = int.checked_abs();
            Value::Int(
                absolute
                    .ok_or_else(|| SqlError::new(ER_DATA_OUT_OF_RANGE, &[&"BIGINT", &format_args!("abs({int})")]))?,
            )
        }
        Number::UInt(int) => Value::UInt(int),
        Number::Decimal(decimal) => Value::Decimal(decimal.abs()),
        Number::Double(double) => Value::Double(double.abs()),
    })
}

fn sign(number: &Number) -> i64 {
    number.compare(&Number::Int(0)) as i64
}

fn to_whole(
    args: &Arguments<'_, '_>,
    of_double: fn(f64) -> f64,
    of_decimal: fn(&Decimal) -> Decimal,
) -> Result<Value, SqlError> {
    Ok(match Number::of(&args[0], args.cx)? {
        Number::Decimal(decimal) => {
            let whole = of_decimal(&decimal);
            let derived = args.call.derive(args.cx.params);
            match u64::try_from(whole.to_i128().0) {
                Ok(int) if derived.family() == Family::Integer && derived.unsigned => Value::UInt(int),
                _ if derived.family() == Family::Integer => Value::Int(whole.to_i128().0 as i64),
                _ => Value::Decimal(whole),
            }
        }
        Number::Double(double) => Value::Double(of_double(double)),
        integer => integer.into(),
    })
}

/// ROUND and TRUNCATE to a number of digits, negative ones before the point.
fn round(args: &Arguments<'_, '_>, truncate: bool) -> Result<Value, SqlError> {
    let digits = args.get(1).map_or(Ok(0), |digits| to_i64(digits, args.cx))?.clamp(-100, 100);
    let exact = |decimal: &Decimal| {
        if digits < 0 {
            decimal.round_before_point(digits.unsigned_abs() as u32, truncate)
        } else {
            let scale = (digits as u8).min(MAX_SCALE);
            if truncate { decimal.truncate_to(scale) } else { decimal.round_to(scale) }
        }
    };
    Ok(match Number::of(&args[0], args.cx)? {
        Number::Int(int) if digits < 0 => match i64::try_from(exact(&Decimal::from(int)).to_i128().0) {
            Ok(rounded) => Value::Int(rounded),
            Err(_) => {
                return Err(SqlError::new(ER_DATA_OUT_OF_RANGE, &[&"BIGINT", &format_args!("round({int},{digits})")]));
            }
        },
        Number::UInt(int) if digits < 0 => match u64::try_from(exact(&Decimal::from(int)).to_i128().0) {
            Ok(rounded) => Value::UInt(rounded),
            Err(_) => {
                return Err(SqlError::new(
                    ER_DATA_OUT_OF_RANGE,
                    &[&"BIGINT UNSIGNED", &format_args!("round({int},{digits})")],
                ));
            }
        },
        Number::Decimal(decimal) => Value::Decimal(exact(&decimal)),
        Number::Double(double) => Value::Double(round_double(double, digits as i32, truncate)),
        integer => integer.into(),
    })
}

fn round_double(double: f64, digits: i32, truncate: bool) -> f64 {
    let unit = 10f64.powi(digits.abs());
    let scaled = if digits < 0 { double / unit } else { double * unit };
    if !scaled.is_finite() {
        return if digits < 0 { 0.0 } else { double };
    }
    let rounded = if truncate { scaled.trunc() } else { scaled.round_ties_even() };
    if digits < 0 { rounded * unit } else { rounded / unit }
}

fn unary(args: &Arguments<'_, '_>, function: impl Fn(f64) -> Option<f64>) -> Result<Value, SqlError> {
    match function(to_f64(&args[0], args.cx)?) {
        None => Ok(Value::Null),
        Some(result) if result.is_finite() => Ok(Value::Double(result)),
        Some(_) => Err(out_of_range(args.call.name())),
    }
}

fn logarithm(args: &Arguments<'_, '_>, function: impl Fn(f64) -> f64) -> Result<Value, SqlError> {
    let number = to_f64(&args[0], args.cx)?;
    if number > 0.0 { Ok(Value::Double(function(number))) } else { no_logarithm(args.cx) }
}

fn no_logarithm(cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    cx.statement.warn(SqlError::new(crate::error::ER_INVALID_ARGUMENT_FOR_LOGARITHM, &[]))?;
    Ok(Value::Null)
}

fn power(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let result = to_f64(&args[0], args.cx)?.powf(to_f64(&args[1], args.cx)?);
    if result.is_finite() { Ok(Value::Double(result)) } else { Err(out_of_range(args.call.name())) }
}

/// LOG(x), LOG(base, x)
fn logarithm_to_base(args: &Demand<'_, '_>) -> Result<Value, SqlError> {
    let (mut logarithms, count) = ([1.0; 2], args.count());
    for (at, logarithm) in logarithms.iter_mut().enumerate().take(count) {
        let value = args.get(at)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let number = to_f64(&value, args.cx)?;
        if number <= 0.0 {
            return no_logarithm(args.cx);
        }
        *logarithm = number.ln();
    }
    Ok(match logarithms {
        [of, _] if count == 1 => Value::Double(of),
        [0.0, _] => return no_logarithm(args.cx),
        [base, of] => Value::Double(of / base),
    })
}

fn arc_tangent(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let first = to_f64(&args[0], args.cx)?;
    Ok(Value::Double(match args.get(1) {
        Some(second) => first.atan2(to_f64(second, args.cx)?),
        None => first.atan(),
    }))
}

/// RAND() is uniform in 0..1; RAND(seed) goes through a sequence, row by row, from where a constant seed began
/// it, or from where each row's seed begins it.
fn random(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let Some(seed) = args.first() else {
        let mut bytes = [0; 8];
        args.cx.statement.random(&mut bytes);
        return Ok(Value::Double((u64::from_le_bytes(bytes) >> 11) as f64 / (1u64 << 53) as f64));
    };
    let place = std::ptr::from_ref(args.call) as usize;
    let begun = if args.call.args[0].has_columns() { None } else { args.cx.statement.sequence(place) };
    let mut sequence = match begun {
        Some(sequence) => sequence,
        None => RandomSequence::new(if seed.is_null() { 0 } else { to_i64(seed, args.cx)? as u32 }),
    };
    let next = sequence.next_double();
    args.cx.statement.keep_sequence(place, sequence);
    Ok(Value::Double(next))
}

fn extreme(args: &Arguments<'_, '_>, greatest: bool) -> Result<Value, SqlError> {
    let alike = alike(&args.iter().collect::<Vec<_>>(), args.cx)?;
    let compared = alike.as_deref().unwrap_or(args);
    let mut best = 0;
    for at in 1..compared.len() {
        if let Some(order) = compare(&compared[at], &compared[best], args.collation, args.cx)?
            && if greatest { order.is_gt() } else { order.is_lt() }
        {
            best = at;
        }
    }
    Ok(args[best].clone())
}

/// The first argument that is not NULL; those after it are not evaluated.
fn coalesce(args: &Demand<'_, '_>) -> Result<Value, SqlError> {
    for at in 0..args.count() {
        let value = args.get(at)?;
        if !(value.is_null() || args.complete && lacks_a_part(&value)) {
            return args.as_result(at, value);
        }
    }
    Ok(Value::Null)
}

fn null_if(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let equal = compare(&args[0], &args[1], args.collation, args.cx)?.is_some_and(|order| order.is_eq());
    Ok(if equal { Value::Null } else { args[0].clone() })
}

/// INTERVAL(n, a, b, …): how many of the rising numbers are not above n.
///
/// Those after the first that is above are not evaluated, but for constants.
fn interval(args: &Demand<'_, '_>) -> Result<Value, SqlError> {
    let wanted = args.get(0)?;
    if wanted.is_null() {
        return Ok(Value::Int(-1));
    }
    let wanted = to_decimal(&wanted, args.cx)?;
    for at in 1..args.count() {
        let bound = args.get(at)?;
        if !bound.is_null() && to_decimal(&bound, args.cx)? > wanted {
            for later in at + 1..args.count() {
                if args.call.args[later].is_constant() {
                    args.get(later)?;
                }
            }
            return Ok(Value::Int(at as i64 - 1));
        }
    }
    Ok(Value::Int(args.count() as i64 - 1))
}
