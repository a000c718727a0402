//! Constructors: they check arguments and settle the collation under which strings meet.

use std::sync::Arc;

use super::coercion::{Coercibility, as_met, in_bytes, join_all, settle, settle_compared};
use super::functions::{self, Call};
use super::{ArithmeticOp, Case, CastType, ColumnRef, CompareOp, Expr, IntervalUnit, ParamKind, UnaryOp};
use crate::collation::Collation;
use crate::error::{ER_COLLATION_CHARSET_MISMATCH, SqlError};
use crate::types::decimal::MAX_PRECISION;
use crate::types::{Family, FieldKind, ResultType};
use crate::value::{Value, hex_number};

/// Calls `visit` for the expressions that one is made of, by reference or by mutable reference.
macro_rules! children {
    ($expr:expr, $visit:ident, $iter:ident, $($mutable:tt)?) => {
        match $expr {
            Expr::Literal(_)
            | Expr::Text(..)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::Outer(_)
            | Expr::UserVariable(..)
            | Expr::SystemVariable(..) => {}
            Expr::Unary(_, a)
            | Expr::Not(a)
            | Expr::IsNull { operand: a, .. }
            | Expr::IsTruth { operand: a, .. }
            | Expr::Cast(a, _)
            | Expr::Collate(a, _)
            | Expr::Extract(_, a)
            | Expr::AssignUserVariable(_, a, _) => $visit(a),
            Expr::Arithmetic(_, a, b)
            | Expr::Compare(_, a, b, _)
            | Expr::Xor(a, b)
            | Expr::Like { operand: a, pattern: b, .. }
            | Expr::DateAdd { date: a, amount: b, .. }
            | Expr::TimestampDiff(_, a, b) => {
                $visit(a);
                $visit(b);
            }
            Expr::Between { operand, low, high, .. } => {
                $visit(operand);
                $visit(low);
                $visit(high);
            }
            Expr::And(all) | Expr::Or(all) => all.$iter().for_each($visit),
            Expr::In { operand, list, .. } => {
                $visit(operand);
                list.$iter().for_each($visit);
            }
            Expr::Case(case) => {
                case.operand.$iter().for_each(&mut *$visit);
                for (when, then) in case.branches.$iter() {
                    $visit(when);
                    $visit(then);
                }
                case.otherwise.$iter().for_each($visit);
            }
            Expr::Call(call) => call.args.$iter().for_each($visit),
            // The condition of a comparison is over a row of its own.
            Expr::Subquery(query) => {
                query.outer.$iter().for_each(&mut *$visit);
                if let $crate::expr::Ask::Compare(comparison) = &$($mutable)? query.ask {
                    comparison.operands.$iter().for_each($visit);
                }
            }
        }
    };
}

impl Expr {
    /// A reference to a place of the row.
    pub fn column(slot: usize, name: impl Into<Arc<str>>, result_type: ResultType) -> Expr {
        Expr::Column(ColumnRef { slot, name: name.into(), result_type, gives_way: false })
    }

    /// A value of the row of a query around.
    pub(crate) fn outer(slot: usize, name: impl Into<Arc<str>>, result_type: ResultType) -> Expr {
        Expr::Outer(ColumnRef { slot, name: name.into(), result_type, gives_way: false })
    }

    /// A place that holds the value of this expression.
    pub(crate) fn at(&self, slot: usize) -> Expr {
        let name = match self {
            Expr::Column(column) | Expr::Outer(column) => column.name.clone(),
            _ => Arc::from(""),
        };
        Expr::Column(ColumnRef { slot, name, result_type: self.result_type(&[]), gives_way: self.gives_way() })
    }

    /// `left op right`; the collation is settled from both sides (1267 if they contradict).
    pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        let collation = settle_compared(&[&left, &right], op.symbol())?;
        let is_number = |side: &Expr| side.result_type(&[]).family().is_number();
        let (left, right) = match (is_number(&left), is_number(&right)) {
            (true, false) => (left, hex_as_number(right)),
            (false, true) => (hex_as_number(left), right),
            _ => (left, right),
        };
        let (for_left, for_right) = (constant_beside(&right), constant_beside(&left));
        let (left, right) = (constant_as(left, for_left), constant_as(right, for_right));
        let [left, right] = [left, right].map(|side| as_met(side, collation));
        Ok(Expr::Compare(op, Box::new(left), Box::new(right), collation))
    }

    /// `CAST(operand AS target)`
    pub fn cast(operand: Expr, target: CastType) -> Expr {
        let operand = if let CastType::Binary { .. } = target { in_bytes(operand) } else { operand };
        Expr::Cast(Box::new(operand), target)
    }

    /// The expression as a value of a column of bytes: a text has those of its character set.
    pub fn for_bytes(self) -> Expr {
        in_bytes(self)
    }

    /// `operand COLLATE collation`; 1253 if the collation is not of its character set.
    pub fn collate(operand: Expr, collation: Collation) -> Result<Expr, SqlError> {
        let charset = operand.collation().charset();
        if charset != collation.charset() {
            return Err(SqlError::new(ER_COLLATION_CHARSET_MISMATCH, &[&collation.name(), &charset.name()]));
        }
        Ok(Expr::Collate(Box::new(operand), collation))
    }

    /// `left op right`
    pub fn arithmetic(op: ArithmeticOp, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        Ok(Expr::Arithmetic(op, Box::new(hex_as_number(left)), Box::new(hex_as_number(right))))
    }

    /// `-operand`. The negative of a constant integer is a DECIMAL where no BIGINT may hold it: where the constant,
    /// taken for unsigned, is 2^63 or more. (A literal is looked at by [`Expr::result_type`].) That takes its value, so a
    /// constant that has none is an error, whether or not a row asks for it: 1690 of one that is out of range.
    pub fn negate(operand: Expr) -> Result<Expr, SqlError> {
        let own = operand.result_type(&[]);
        let literal = operand.is_literal();
        let beyond = own.family() == Family::Integer
            && !literal
            && match operand.constant().transpose()? {
                Some(Value::Int(int)) => int < 0,
                Some(Value::UInt(int)) => int > i64::MAX.unsigned_abs(),
                _ => false,
            };
        let operand = if beyond {
            let precision = own.length.min(MAX_PRECISION.into()) as u8;
            Expr::Cast(Box::new(operand), CastType::Decimal { precision, scale: 0 })
        } else {
            operand
        };
        Ok(Expr::Unary(UnaryOp::Negate, Box::new(operand)))
    }

    /// `x [NOT] BETWEEN low AND high`
    pub fn between(operand: Expr, low: Expr, high: Expr, negated: bool) -> Result<Expr, SqlError> {
        let collation = settle_compared(&[&operand, &low, &high], "between")?;
        let dates = [&operand, &low, &high].into_iter().find_map(constant_date_beside);
        let target = dates.or_else(|| constant_beside(&operand));
        let [operand, low, high] = [operand, low, high].map(|side| as_met(constant_as(side, target), collation));
        Ok(Expr::Between { operand: Box::new(operand), low: Box::new(low), high: Box::new(high), negated, collation })
    }

    /// `x [NOT] IN (list)`
    pub fn in_list(operand: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr, SqlError> {
        let sides: Vec<&Expr> = std::iter::once(&operand).chain(&list).collect();
        let collation = settle_compared(&sides, " IN ")?;
        // Beside what is no constant, MySQL and MariaDB leave the constants of a YEAR as they are.
        let years = list.iter().all(Expr::is_constant);
        let target = if years { constant_beside(&operand) } else { constant_date_beside(&operand) };
        let list = list.into_iter().map(|item| as_met(constant_as(item, target), collation)).collect();
        let operand = as_met(operand, collation);
        Ok(Expr::In { operand: Box::new(operand), list, negated, collation, sorted: None })
    }

    /// `x [NOT] LIKE pattern [ESCAPE e]`; pass `Some('\\')` where the statement has no ESCAPE.
    pub fn like(operand: Expr, pattern: Expr, escape: Option<char>, negated: bool) -> Result<Expr, SqlError> {
        let collation = settle(&[&operand, &pattern], "like")?;
        let [operand, pattern] = [operand, pattern].map(|side| as_met(side, collation));
        Ok(Expr::Like { operand: Box::new(operand), pattern: Box::new(pattern), escape, negated, collation })
    }

    /// `CASE [operand] WHEN … THEN … [ELSE …] END`
    pub fn case(operand: Option<Expr>, branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr, SqlError> {
        let compared: Vec<&Expr> =
            operand.iter().chain(branches.iter().filter(|_| operand.is_some()).map(|(when, _)| when)).collect();
        let collation = settle_compared(&compared, "case")?;
        let mut case = Case { operand, branches, otherwise, collation, unified: None };
        let of_results = join_all(&case.results(), "case")?;
        case.meet(of_results);
        if case.results().iter().all(|result| !result.has_params()) {
            case.unified = Some(case.result_type(&[]));
        }
        Ok(Expr::Case(Box::new(case)))
    }

    /// A call of the built-in function `name` (in any case; IF, IFNULL, COALESCE, MOD and so on
    /// included). 1305 if there is none, 1582 if it takes another number of arguments. Functions with a
    /// syntax of their own are built as: `TRIM(LEADING x FROM s)` = `call("trim leading", [s, x])`
    /// (`trim trailing`, `trim both`), `POSITION(a IN b)` = `locate(a, b)`, `EXTRACT(unit FROM d)` =
    /// [`Expr::extract`], `TIMESTAMPDIFF` and `TIMESTAMPADD` = [`Expr::timestamp_diff`] and
    /// [`Expr::DateAdd`].
    pub fn call(name: &str, args: Vec<Expr>) -> Result<Expr, SqlError> {
        functions::build(name, args, Collation::DEFAULT)
    }

    /// The same where texts that are not made of texts are of the collation `made`.
    pub(crate) fn call_in(made: Collation, name: &str, args: Vec<Expr>) -> Result<Expr, SqlError> {
        functions::build(name, args, made)
    }

    /// Whether its collation gives way to that of columns.
    pub(crate) fn gives_way(&self) -> bool {
        self.own_collation().1 >= Coercibility::Coercible
    }

    /// Whether it is a literal, as it stands or taken out of the statement.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Expr::Literal(_) | Expr::Text(..) | Expr::Param(_))
    }

    /// The value of a literal that stands in the statement.
    pub(super) fn literal(&self) -> Option<&Value> {
        match self {
            Expr::Literal(value) | Expr::Text(value, _) => Some(value),
            _ => None,
        }
    }

    /// The value of a literal, as it stands or taken out of the statement.
    pub(crate) fn literal_with<'a>(&'a self, params: &'a [Value]) -> Option<&'a Value> {
        match self {
            Expr::Param(param) => params.get(param.index),
            other => other.literal(),
        }
    }

    /// `EXTRACT(unit FROM date)`
    pub fn extract(unit: IntervalUnit, date: Expr) -> Expr {
        Expr::Extract(unit, Box::new(date))
    }

    /// `TIMESTAMPDIFF(unit, from, to)`
    pub fn timestamp_diff(unit: IntervalUnit, from: Expr, to: Expr) -> Expr {
        Expr::TimestampDiff(unit, Box::new(from), Box::new(to))
    }

    /// Whether two evaluations over the same row may differ, or have an effect (RAND, UUID, SLEEP,
    /// assignments of variables).
    pub fn is_volatile(&self) -> bool {
        let mut volatile = false;
        self.walk(&mut |expr| {
            volatile |= match expr {
                Expr::AssignUserVariable(..) | Expr::UserVariable(..) => true,
                Expr::Call(call) => call.is_volatile(),
                Expr::Subquery(query) => query.volatile,
                _ => false,
            };
        });
        volatile
    }

    /// Whether a replica that evaluates it for the same rows may come to another value.
    pub(crate) fn may_differ_on_replica(&self) -> bool {
        let mut differs = self.is_volatile();
        self.walk(&mut |expr| differs |= matches!(expr, Expr::Call(call) if call.function.may_differ_on_replica()));
        differs
    }

    /// Whether its value is known to be none of NULL, although its type takes NULL as well: sums, differences and products
    /// of such values.
    pub(crate) fn is_never_null(&self) -> bool {
        use super::ArithmeticOp::{Add, Multiply, Subtract};
        match self {
            Expr::Arithmetic(Add | Subtract | Multiply, a, b) => a.is_never_null() && b.is_never_null(),
            Expr::Unary(_, a) | Expr::Cast(a, CastType::Signed | CastType::Unsigned | CastType::Decimal { .. }) => {
                a.is_never_null()
            }
            other => !other.result_type(&[]).nullable,
        }
    }

    /// The same with the values of its parameters, as messages show it.
    pub(super) fn with_values(&self, params: &[Value]) -> Expr {
        let mut shown = self.clone();
        shown.walk_mut(&mut |part| {
            if let Expr::Param(param) = part
                && let Some(value) = params.get(param.index)
            {
                *part = match (value, param.kind) {
                    (Value::Text(_), Some(ParamKind::Text(collation))) => Expr::Text(value.clone(), collation),
                    _ => Expr::Literal(value.clone()),
                };
            }
        });
        shown
    }

    /// Whether a parameter has a say in the value.
    pub(crate) fn has_params(&self) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found |= matches!(expr, Expr::Param(_)));
        found
    }

    /// Whether its value may differ from row to row or comes from rows of a query: it names a place of the row or of a
    /// row around, or has a query in it.
    pub fn has_columns(&self) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found |= matches!(expr, Expr::Column(_) | Expr::Outer(_) | Expr::Subquery(_)));
        found
    }

    /// Whether a query is a part of it.
    pub(crate) fn has_queries(&self) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found |= matches!(expr, Expr::Subquery(_)));
        found
    }

    /// Whether it has the same value in every row.
    pub(crate) fn is_constant(&self) -> bool {
        !self.has_columns() && !self.is_volatile()
    }

    /// Calls `visit` for this expression and all below it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        self.children(&mut |child| child.walk(visit));
    }

    /// Calls `visit` for this expression and all below it, which it may replace (children first).
    pub fn walk_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.children_mut(&mut |child| child.walk_mut(visit));
        visit(self);
    }

    /// Replaces the outermost parts that `with` gives another expression for.
    pub(crate) fn replace(
        &mut self,
        with: &mut dyn FnMut(&Expr) -> Result<Option<Expr>, SqlError>,
    ) -> Result<(), SqlError> {
        if let Some(other) = with(self)? {
            *self = other;
            return Ok(());
        }
        let mut replaced = Ok(());
        self.children_mut(&mut |child| {
            if replaced.is_ok() {
                replaced = child.replace(with);
            }
        });
        replaced
    }

    fn children(&self, visit: &mut dyn FnMut(&Expr)) {
        children!(self, visit, iter,)
    }

    fn children_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        children!(self, visit, iter_mut, mut)
    }
}

/// What a constant is that is compared with a value of this type, if that is not as it is with others.
pub(super) fn constant_beside(other: &Expr) -> Option<CastType> {
    let is_year = matches!(other, Expr::Column(column) if column.result_type.kind() == FieldKind::Year);
    if is_year { Some(CastType::YearConstant) } else { constant_date_beside(other) }
}

fn constant_date_beside(other: &Expr) -> Option<CastType> {
    let field = other.result_type(&[]).field;
    field.kind().has_date().then_some(CastType::DateConstant { field })
}

/// A constant as this type, anything else as it is.
pub(super) fn constant_as(operand: Expr, target: Option<CastType>) -> Expr {
    let Some(target) = target else { return operand };
    let family = operand.result_type(&[]).family();
    let constant = matches!(family, Family::String | Family::Integer | Family::Decimal) && operand.is_constant();
    if constant { Expr::Cast(Box::new(operand), target) } else { operand }
}

/// A hexadecimal or bit literal where a number is wanted, so that the result has a number's type.
fn hex_as_number(operand: Expr) -> Expr {
    match &operand {
        Expr::Literal(Value::Hex(bytes)) => Expr::Literal(Value::UInt(hex_number(bytes))),
        _ => operand,
    }
}

impl Case {
    /// Makes bytes of texts, or texts of bytes, as they are compared and as the result is.
    fn meet(&mut self, of_results: Collation) {
        let replace = |part: &mut Expr, collation| {
            *part = as_met(std::mem::replace(part, Expr::Literal(Value::Null)), collation);
        };
        if let Some(operand) = &mut self.operand {
            replace(operand, self.collation);
            self.branches.iter_mut().for_each(|(when, _)| replace(when, self.collation));
        }
        let results = self.branches.iter_mut().map(|(_, then)| then).chain(&mut self.otherwise);
        results.for_each(|result| replace(result, of_results));
    }

    /// The THEN and ELSE expressions.
    pub(super) fn results(&self) -> Vec<&Expr> {
        self.branches.iter().map(|(_, then)| then).chain(&self.otherwise).collect()
    }

    /// The type that all results fit.
    pub(super) fn result_type(&self, params: &[Value]) -> ResultType {
        if let Some(unified) = self.unified {
            return unified;
        }
        let types = self.results().into_iter().map(|result| result.result_type(params));
        let joined = types.reduce(ResultType::unify).unwrap_or_else(ResultType::null);
        let joined = joined.nullable(joined.nullable || self.otherwise.is_none());
        super::coercion::with_collation(joined, &self.results(), Collation::DEFAULT)
    }
}

impl Call {
    /// Whether the function's result may differ from call to call.
    fn is_volatile(&self) -> bool {
        self.function.volatile
    }
}

impl Coercibility {
    /// As messages name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::System => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
        }
    }
}
