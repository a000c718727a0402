//! From the parser library's expressions to ours.

use sqlparser::ast as sql;

use crate::ast::{ColumnName, Expr};
use crate::collation::Collation;
use crate::error::{ER_UNKNOWN_CHARACTER_SET, SqlError};
use crate::expr::{ArithmeticOp, CastType, CompareOp, IntervalUnit, Param, ParamKind, UnaryOp, VariableScope};
use crate::value::Value;

use super::front::{NOT_REGEXP, REGEXP, nonsense, too_deep};
use super::literal;

fn unsupported<T>(what: &str) -> Result<T, SqlError> {
    Err(SqlError::unsupported(what))
}

/// Levels of one expression; a chain of AND or OR is one level.
pub(crate) const MAX_DEPTH: usize = 200;

pub(super) fn convert(expr: sql::Expr) -> Result<Expr, SqlError> {
    at_depth(expr, 0)
}

fn boxed(expr: sql::Expr, depth: usize) -> Result<Box<Expr>, SqlError> {
    at_depth(expr, depth).map(Box::new)
}

fn list(exprs: Vec<sql::Expr>, depth: usize) -> Result<Vec<Expr>, SqlError> {
    exprs.into_iter().map(|expr| at_depth(expr, depth)).collect()
}

fn at_depth(expr: sql::Expr, depth: usize) -> Result<Expr, SqlError> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    let depth = depth + 1;
    Ok(match expr {
        sql::Expr::Identifier(ident) => identifier(ident)?,
        sql::Expr::CompoundIdentifier(parts) => Expr::Column(column_name(parts)?),
        sql::Expr::Value(value) => constant(value.value)?,
        sql::Expr::Nested(inner) => at_depth(*inner, depth)?,
        sql::Expr::IsNull(operand) => Expr::IsNull { operand: boxed(*operand, depth)?, negated: false },
        sql::Expr::IsNotNull(operand) => Expr::IsNull { operand: boxed(*operand, depth)?, negated: true },
        sql::Expr::IsUnknown(operand) => Expr::IsNull { operand: boxed(*operand, depth)?, negated: false },
        sql::Expr::IsNotUnknown(operand) => Expr::IsNull { operand: boxed(*operand, depth)?, negated: true },
        sql::Expr::IsTrue(operand) => truth(*operand, true, false, depth)?,
        sql::Expr::IsNotTrue(operand) => truth(*operand, true, true, depth)?,
        sql::Expr::IsFalse(operand) => truth(*operand, false, false, depth)?,
        sql::Expr::IsNotFalse(operand) => truth(*operand, false, true, depth)?,
        sql::Expr::InList { expr, list: items, negated } => {
            Expr::In { operand: boxed(*expr, depth)?, list: list(items, depth)?, negated }
        }
        sql::Expr::Between { expr, negated, low, high } => Expr::Between {
            operand: boxed(*expr, depth)?,
            low: boxed(*low, depth)?,
            high: boxed(*high, depth)?,
            negated,
        },
        sql::Expr::Like { negated, any: false, expr, pattern, escape_char } => Expr::Like {
            operand: boxed(*expr, depth)?,
            pattern: boxed(*pattern, depth)?,
            escape: escape(escape_char)?,
            negated,
        },
        sql::Expr::BinaryOp { left, op, right } => binary(*left, op, *right, depth)?,
        sql::Expr::UnaryOp { op, expr } => unary(op, *expr, depth)?,
        sql::Expr::Case { operand, conditions, else_result, .. } => Expr::Case {
            operand: operand.map(|operand| boxed(*operand, depth)).transpose()?,
            branches: conditions
                .into_iter()
                .map(|when| Ok((at_depth(when.condition, depth)?, at_depth(when.result, depth)?)))
                .collect::<Result<_, SqlError>>()?,
            otherwise: else_result.map(|otherwise| boxed(*otherwise, depth)).transpose()?,
        },
        sql::Expr::Cast { kind: sql::CastKind::Cast, expr, data_type, format: None } => {
            Expr::Cast(boxed(*expr, depth)?, cast_type(data_type)?)
        }
        sql::Expr::Convert { expr, data_type: Some(data_type), charset: None, .. } => {
            Expr::Cast(boxed(*expr, depth)?, cast_type(data_type)?)
        }
        sql::Expr::Convert { expr, data_type: None, charset: Some(charset), .. } => {
            let charset = charset.to_string();
            let Some(collation) = Collation::of_charset(&charset) else {
                return Err(SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[&charset]));
            };
            let target = match collation {
                Collation::Binary => CastType::Binary { bytes: None },
                collation => CastType::Char { chars: None, collation },
            };
            Expr::Cast(boxed(*expr, depth)?, target)
        }
        sql::Expr::TypedString(sql::TypedString { data_type, value, .. }) => typed(data_type, constant(value.value)?)?,
        sql::Expr::Collate { expr, collation } => {
            let name = collation.to_string();
            let collation = Collation::named(name.trim_matches(['`', '\'', '"']))?;
            Expr::Collate(boxed(*expr, depth)?, collation)
        }
        sql::Expr::Extract { field, expr, .. } => Expr::Extract(unit(&field)?, boxed(*expr, depth)?),
        sql::Expr::Ceil { expr, .. } => call("CEIL", vec![at_depth(*expr, depth)?]),
        sql::Expr::Floor { expr, .. } => call("FLOOR", vec![at_depth(*expr, depth)?]),
        sql::Expr::Position { expr, r#in } => call("LOCATE", list(vec![*expr, *r#in], depth)?),
        sql::Expr::Substring { expr, substring_from, substring_for, .. } => {
            let args = std::iter::once(expr).chain(substring_from).chain(substring_for);
            call("SUBSTRING", list(args.map(|arg| *arg).collect(), depth)?)
        }
        sql::Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
            let text = at_depth(*expr, depth)?;
            let name = match trim_where {
                Some(sql::TrimWhereField::Leading) => "TRIM_LEADING",
                Some(sql::TrimWhereField::Trailing) => "TRIM_TRAILING",
                Some(sql::TrimWhereField::Both) | None => "TRIM_BOTH",
            };
            // Without anything to compare with, its collation need not be settled.
            let what = trim_what.map(|what| at_depth(*what, depth)).transpose()?;
            call(name, [Some(text), what].into_iter().flatten().collect())
        }
        sql::Expr::Function(function) => self::function(function, depth)?,
        sql::Expr::Interval(_) => return Err(nonsense("INTERVAL")),
        sql::Expr::Subquery(_) | sql::Expr::InSubquery { .. } | sql::Expr::Exists { .. } => {
            return unsupported("subqueries");
        }
        sql::Expr::AnyOp { .. } | sql::Expr::AllOp { .. } => return unsupported("subqueries"),
        sql::Expr::Tuple(_) => return unsupported("row expressions"),
        sql::Expr::MatchAgainst { .. } => return unsupported("MATCH ... AGAINST"),
        sql::Expr::MemberOf(_) => return unsupported("MEMBER OF"),
        other => return unsupported(&format!("the expression {other}")),
    })
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call { name: name.to_owned(), args, distinct: false }
}

fn truth(operand: sql::Expr, truth: bool, negated: bool, depth: usize) -> Result<Expr, SqlError> {
    Ok(Expr::IsTruth { operand: boxed(operand, depth)?, truth, negated })
}

fn escape(escape: Option<Box<sql::Expr>>) -> Result<Option<char>, SqlError> {
    let Some(escape) = escape else { return Ok(Some('\\')) };
    match convert(*escape)? {
        Expr::Literal(Value::Text(text)) if text.chars().count() <= 1 => Ok(text.chars().next()),
        _ => Err(SqlError::new(crate::error::ER_WRONG_ARGUMENTS, &[&"ESCAPE"])),
    }
}

fn identifier(ident: sql::Ident) -> Result<Expr, SqlError> {
    if ident.quote_style.is_some() {
        return Ok(Expr::Column(ColumnName { database: None, table: None, column: ident.value }));
    }
    if let Some(name) = ident.value.strip_prefix("@@") {
        let (scope, name) = system_variable(name)?;
        return Ok(Expr::SystemVariable(scope, name, None));
    }
    if let Some(name) = ident.value.strip_prefix('@') {
        return Ok(Expr::UserVariable(user_variable(name)?, None));
    }
    if ident.value.eq_ignore_ascii_case("DEFAULT") {
        return Ok(Expr::Default(None));
    }
    Ok(Expr::Column(ColumnName { database: None, table: None, column: ident.value }))
}

/// Scope and lower-case name of `@@...`, given without the at signs.
pub(super) fn system_variable(text: &str) -> Result<(VariableScope, String), SqlError> {
    let parts: Vec<String> =
        text.split('.').map(|part| literal::name(part.as_bytes())).collect::<Result<_, SqlError>>()?;
    let (scope, name) = match parts.as_slice() {
        [name] => (VariableScope::Any, name),
        [scope, name] if scope.eq_ignore_ascii_case("GLOBAL") => (VariableScope::Global, name),
        [scope, name] if scope.eq_ignore_ascii_case("SESSION") || scope.eq_ignore_ascii_case("LOCAL") => {
            (VariableScope::Session, name)
        }
        _ => return Err(nonsense(text)),
    };
    Ok((scope, name.to_lowercase()))
}

/// Lower-case name of `@...`, given without the at sign.
pub(super) fn user_variable(text: &str) -> Result<String, SqlError> {
    let name = literal::name(text.as_bytes())?;
    if name.is_empty() {
        return Err(nonsense("@"));
    }
    Ok(name.to_lowercase())
}

pub(super) fn column_name(parts: Vec<sql::Ident>) -> Result<ColumnName, SqlError> {
    let mut names = parts.into_iter().map(|part| part.value).rev();
    match (names.next(), names.next(), names.next(), names.next()) {
        (Some(column), table, database, None) => Ok(ColumnName { database, table, column }),
        _ => unsupported("names of this many parts"),
    }
}

pub(super) fn object_idents(name: sql::ObjectName) -> Result<Vec<sql::Ident>, SqlError> {
    name.0
        .into_iter()
        .map(|part| match part {
            sql::ObjectNamePart::Identifier(ident) => Ok(ident),
            sql::ObjectNamePart::Function(_) => Err(nonsense("(")),
        })
        .collect()
}

/// A variable with the letter of its kind before its name.
fn variable(text: &str) -> Result<Expr, SqlError> {
    let kind = text.bytes().next().and_then(ParamKind::from_letter);
    let name = text.get(1..).unwrap_or_default();
    Ok(match identifier(sql::Ident::new(name))? {
        Expr::UserVariable(name, _) => Expr::UserVariable(name, kind),
        Expr::SystemVariable(scope, name, _) => Expr::SystemVariable(scope, name, kind),
        _ => return Err(nonsense(name)),
    })
}

fn constant(value: sql::Value) -> Result<Expr, SqlError> {
    Ok(match value {
        sql::Value::Placeholder(text) if text.contains('@') => variable(&text)?,
        sql::Value::Placeholder(text) => Expr::Param(Param::from_placeholder(&text).ok_or_else(|| nonsense(&text))?),
        sql::Value::Number(digits, _) => Expr::Literal(literal::number(digits.as_bytes(), false)?),
        sql::Value::SingleQuotedString(text) => Expr::Literal(Value::text(text)),
        sql::Value::HexStringLiteral(digits) => Expr::Literal(literal::bytes(format!("0x{digits}").as_bytes())?),
        sql::Value::SingleQuotedByteStringLiteral(digits) => {
            Expr::Literal(match literal::bytes(format!("0x{digits}").as_bytes())? {
                Value::Hex(bytes) => Value::Bytes(bytes),
                other => other,
            })
        }
        sql::Value::Boolean(truth) => Expr::Literal(Value::bool(truth)),
        sql::Value::Null => Expr::Literal(Value::Null),
        other => return Err(nonsense(&other.to_string())),
    })
}

/// `DATE '...'` and the like.
fn typed(data_type: sql::DataType, text: Expr) -> Result<Expr, SqlError> {
    use sql::DataType as Type;
    let Expr::Literal(Value::Text(text)) = text else { return Err(nonsense("'")) };
    let literal = match data_type {
        Type::Date => literal::date(&text)?,
        Type::Time(..) => literal::time(&text)?,
        Type::Timestamp(..) | Type::Datetime(_) => match literal::timestamp(&text)? {
            (value, false) => value,
            // Which time this is depends on the session's zone.
            (value, true) => {
                let fsp = if let Value::DateTime(value) = value { value.fsp() } else { 0 };
                return Ok(Expr::Cast(Box::new(Expr::Literal(Value::Text(text))), CastType::DateTime { fsp }));
            }
        },
        other => return unsupported(&format!("literals of type {other}")),
    };
    Ok(Expr::Literal(literal))
}

fn unary(op: sql::UnaryOperator, operand: sql::Expr, depth: usize) -> Result<Expr, SqlError> {
    if let (sql::UnaryOperator::Minus, sql::Expr::Value(value)) = (&op, &operand)
        && let sql::Value::Number(digits, _) = &value.value
    {
        return Ok(Expr::Literal(literal::number(digits.as_bytes(), true)?));
    }
    let operand = boxed(operand, depth)?;
    Ok(match op {
        sql::UnaryOperator::Plus => *operand,
        sql::UnaryOperator::Minus => Expr::Unary(UnaryOp::Negate, operand),
        sql::UnaryOperator::BitwiseNot => Expr::Unary(UnaryOp::BitNot, operand),
        sql::UnaryOperator::Not | sql::UnaryOperator::BangNot => Expr::Not(operand),
        other => return Err(nonsense(&other.to_string())),
    })
}

fn binary(left: sql::Expr, op: sql::BinaryOperator, right: sql::Expr, depth: usize) -> Result<Expr, SqlError> {
    use sql::BinaryOperator as Op;
    match op {
        Op::And => return chain(left, Op::And, right, depth).map(Expr::And),
        Op::Or => return chain(left, Op::Or, right, depth).map(Expr::Or),
        Op::Assignment => {
            let Expr::UserVariable(name, _) = at_depth(left, depth)? else { return Err(nonsense(":=")) };
            return Ok(Expr::AssignUserVariable(name, boxed(right, depth)?));
        }
        Op::Plus | Op::Minus if matches!(right, sql::Expr::Interval(_)) => {
            return interval(left, right, op == Op::Minus, depth);
        }
        Op::Plus if matches!(left, sql::Expr::Interval(_)) => return interval(right, left, false, depth),
        _ => {}
    }
    let (left, right) = (boxed(left, depth)?, boxed(right, depth)?);
    let compare = |op, left, right| Ok(Expr::Compare(op, left, right));
    let arithmetic = |op, left, right| Ok(Expr::Arithmetic(op, left, right));
    match op {
        Op::Eq => compare(CompareOp::Equal, left, right),
        Op::NotEq => compare(CompareOp::NotEqual, left, right),
        Op::Lt => compare(CompareOp::Less, left, right),
        Op::LtEq => compare(CompareOp::LessOrEqual, left, right),
        Op::Gt => compare(CompareOp::Greater, left, right),
        Op::GtEq => compare(CompareOp::GreaterOrEqual, left, right),
        Op::Spaceship => compare(CompareOp::NullSafeEqual, left, right),
        Op::Plus => arithmetic(ArithmeticOp::Add, left, right),
        Op::Minus => arithmetic(ArithmeticOp::Subtract, left, right),
        Op::Multiply => arithmetic(ArithmeticOp::Multiply, left, right),
        Op::Divide => arithmetic(ArithmeticOp::Divide, left, right),
        Op::MyIntegerDivide => arithmetic(ArithmeticOp::IntDivide, left, right),
        Op::Modulo => arithmetic(ArithmeticOp::Modulo, left, right),
        Op::BitwiseAnd => arithmetic(ArithmeticOp::BitAnd, left, right),
        Op::BitwiseOr => arithmetic(ArithmeticOp::BitOr, left, right),
        Op::BitwiseXor => arithmetic(ArithmeticOp::BitXor, left, right),
        Op::PGBitwiseShiftLeft => arithmetic(ArithmeticOp::ShiftLeft, left, right),
        Op::PGBitwiseShiftRight => arithmetic(ArithmeticOp::ShiftRight, left, right),
        Op::Xor => Ok(Expr::Xor(left, right)),
        Op::StringConcat => Ok(call("CONCAT", vec![*left, *right])),
        Op::Custom(name) if name == REGEXP => Ok(call("REGEXP_LIKE", vec![*left, *right])),
        Op::Custom(name) if name == NOT_REGEXP => Ok(Expr::Not(Box::new(call("REGEXP_LIKE", vec![*left, *right])))),
        other => unsupported(&format!("the operator {other}")),
    }
}

/// The links of `a AND b AND c`, which the library nests to the left.
fn chain(mut left: sql::Expr, op: sql::BinaryOperator, right: sql::Expr, depth: usize) -> Result<Vec<Expr>, SqlError> {
    let mut links = vec![at_depth(right, depth)?];
    loop {
        match left {
            sql::Expr::BinaryOp { left: below, op: same, right } if same == op => {
                links.push(at_depth(*right, depth)?);
                left = *below;
            }
            last => {
                links.push(at_depth(last, depth)?);
                links.reverse();
                return Ok(links);
            }
        }
    }
}

fn interval(date: sql::Expr, interval: sql::Expr, negated: bool, depth: usize) -> Result<Expr, SqlError> {
    let sql::Expr::Interval(interval) = interval else { return Err(nonsense("INTERVAL")) };
    let field = interval.leading_field.ok_or_else(|| nonsense("INTERVAL"))?;
    Ok(Expr::DateAdd {
        date: boxed(date, depth)?,
        amount: boxed(*interval.value, depth)?,
        unit: unit(&field)?,
        negated,
    })
}

fn unit(field: &sql::DateTimeField) -> Result<IntervalUnit, SqlError> {
    unit_by_name(&field.to_string())
}

fn unit_by_name(name: &str) -> Result<IntervalUnit, SqlError> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "MICROSECOND" => IntervalUnit::Microsecond,
        "SECOND" => IntervalUnit::Second,
        "MINUTE" => IntervalUnit::Minute,
        "HOUR" => IntervalUnit::Hour,
        "DAY" => IntervalUnit::Day,
        "WEEK" => IntervalUnit::Week,
        "MONTH" => IntervalUnit::Month,
        "QUARTER" => IntervalUnit::Quarter,
        "YEAR" => IntervalUnit::Year,
        "SECOND_MICROSECOND" => IntervalUnit::SecondMicrosecond,
        "MINUTE_MICROSECOND" => IntervalUnit::MinuteMicrosecond,
        "MINUTE_SECOND" => IntervalUnit::MinuteSecond,
        "HOUR_MICROSECOND" => IntervalUnit::HourMicrosecond,
        "HOUR_SECOND" => IntervalUnit::HourSecond,
        "HOUR_MINUTE" => IntervalUnit::HourMinute,
        "DAY_MICROSECOND" => IntervalUnit::DayMicrosecond,
        "DAY_SECOND" => IntervalUnit::DaySecond,
        "DAY_MINUTE" => IntervalUnit::DayMinute,
        "DAY_HOUR" => IntervalUnit::DayHour,
        "YEAR_MONTH" => IntervalUnit::YearMonth,
        _ => return Err(nonsense(name)),
    })
}

fn function(function: sql::Function, depth: usize) -> Result<Expr, SqlError> {
    if function.over.is_some() {
        return unsupported("window functions");
    }
    if function.filter.is_some() || function.null_treatment.is_some() || !function.within_group.is_empty() {
        return Err(nonsense("("));
    }
    let idents = object_idents(function.name)?;
    let [name] = idents.as_slice() else { return unsupported("stored functions") };
    let name = name.value.clone();
    let arguments = match function.args {
        sql::FunctionArguments::None => return Ok(call(&name, Vec::new())),
        sql::FunctionArguments::Subquery(_) => return unsupported("subqueries"),
        sql::FunctionArguments::List(arguments) => arguments,
    };
    if !arguments.clauses.is_empty() {
        return unsupported(&format!("clauses inside of {name}()"));
    }
    let distinct = arguments.duplicate_treatment == Some(sql::DuplicateTreatment::Distinct);
    let mut args = Vec::with_capacity(arguments.args.len());
    for arg in arguments.args {
        match arg {
            sql::FunctionArg::Unnamed(sql::FunctionArgExpr::Expr(expr)) => args.push(expr),
            sql::FunctionArg::Unnamed(sql::FunctionArgExpr::Wildcard) if name.eq_ignore_ascii_case("COUNT") => {}
            other => return Err(nonsense(&other.to_string())),
        }
    }
    match name.to_ascii_uppercase().as_str() {
        "VALUES" => match list(args, depth)?.as_slice() {
            [Expr::Column(column)] => Ok(Expr::Values(column.clone())),
            _ => Err(nonsense("VALUES")),
        },
        "DEFAULT" => match list(args, depth)?.as_slice() {
            [Expr::Column(column)] => Ok(Expr::Default(Some(column.clone()))),
            _ => Err(nonsense("DEFAULT")),
        },
        upper @ ("DATE_ADD" | "ADDDATE" | "DATE_SUB" | "SUBDATE") if args.len() == 2 => {
            let negated = upper.contains("SUB");
            let amount = args.remove(1);
            let date = args.remove(0);
            match amount {
                amount @ sql::Expr::Interval(_) => interval(date, amount, negated, depth),
                _ if upper.starts_with("DATE_") => Err(nonsense(&name)),
                amount => Ok(Expr::DateAdd {
                    date: boxed(date, depth)?,
                    amount: boxed(amount, depth)?,
                    unit: IntervalUnit::Day,
                    negated,
                }),
            }
        }
        upper @ ("TIMESTAMPADD" | "TIMESTAMPDIFF") if args.len() == 3 => {
            let unit = unit_by_name(args.remove(0).to_string().trim_start_matches("SQL_TSI_"))?;
            let (first, second) = (boxed(args.remove(0), depth)?, boxed(args.remove(0), depth)?);
            Ok(match upper {
                "TIMESTAMPDIFF" => Expr::TimestampDiff(unit, first, second),
                _ => Expr::DateAdd { date: second, amount: first, unit, negated: false },
            })
        }
        _ => Ok(Expr::Call { args: list(args, depth)?, distinct, name }),
    }
}

fn cast_type(data_type: sql::DataType) -> Result<CastType, SqlError> {
    use sql::DataType as Type;
    let chars = |length: Option<sql::CharacterLength>| match length {
        None => Ok(None),
        Some(sql::CharacterLength::IntegerLength { length, .. }) => {
            u32::try_from(length).map(Some).map_err(|_| nonsense("CHAR"))
        }
        Some(sql::CharacterLength::Max) => Err(nonsense("MAX")),
    };
    let fsp = |fsp: Option<u64>| match fsp.unwrap_or(0) {
        fsp @ 0..=6 => Ok(fsp as u8),
        fsp => Err(SqlError::new(crate::error::ER_TOO_BIG_PRECISION, &[&fsp, &"CAST", &6])),
    };
    Ok(match data_type {
        Type::Signed | Type::SignedInteger | Type::Int(_) | Type::Integer(_) | Type::BigInt(_) => CastType::Signed,
        Type::Unsigned | Type::UnsignedInteger => CastType::Unsigned,
        Type::Char(length) | Type::Character(length) | Type::Varchar(length) | Type::Nvarchar(length) => {
            CastType::Char { chars: chars(length)?, collation: Collation::DEFAULT }
        }
        Type::Binary(length) => {
            CastType::Binary { bytes: length.map(u32::try_from).transpose().map_err(|_| nonsense("BINARY"))? }
        }
        Type::Date => CastType::Date,
        Type::Datetime(precision) | Type::Timestamp(precision, _) => CastType::DateTime { fsp: fsp(precision)? },
        Type::Time(precision, _) => CastType::Time { fsp: fsp(precision)? },
        Type::Float(_) | Type::Real => CastType::Float,
        Type::Double(_) | Type::DoublePrecision => CastType::Double,
        Type::Decimal(info) | Type::Dec(info) | Type::Numeric(info) => {
            let (precision, scale) = match info {
                sql::ExactNumberInfo::None => (10, 0),
                sql::ExactNumberInfo::Precision(precision) => (precision, 0),
                sql::ExactNumberInfo::PrecisionAndScale(precision, scale) => {
                    (precision, u64::try_from(scale).map_err(|_| nonsense("DECIMAL"))?)
                }
            };
            if precision > 65 || scale > 30 || scale > precision {
                return Err(SqlError::new(crate::error::ER_TOO_BIG_PRECISION, &[&precision, &"CAST", &65]));
            }
            CastType::Decimal { precision: precision as u8, scale: scale as u8 }
        }
        Type::Custom(name, _) if name.to_string().eq_ignore_ascii_case("YEAR") => CastType::Year,
        other => return unsupported(&format!("CAST to {other}")),
    })
}
