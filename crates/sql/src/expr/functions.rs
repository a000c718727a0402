//! Built-in functions: one table a subject, and how a call is evaluated.
//!
//! A function gets its arguments' values. Unless it [takes NULL](Function::takes_null), a NULL among them
//! makes the result NULL without a call.
//!
//! Invariants
//! 1. No string that a function makes is longer than `max_allowed_packet`: it is NULL, with warning 1301
//!    ([`Arguments::bounded`]). Those that could be much longer than their arguments ask before they make it
//!    ([`Arguments::has_room`]).
//! 2. What functions make counts to the connection's memory.

mod address;
pub mod aggregate;
mod compression;
mod digest;
mod encoding;
mod encryption;
mod form;
mod gtid;
mod information;
mod json;
mod json_schema;
mod json_search;
mod list;
mod locale;
mod locking;
mod numeric;
mod regexp;
mod string;
mod temporal;
mod units;
pub mod window;
mod xml;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::collation::Collation;
use crate::error::{
    ER_SP_DOES_NOT_EXIST, ER_UNKNOWN_ERROR, ER_WARN_ALLOWED_PACKET_OVERFLOWED, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
    SqlError,
};
use crate::types::temporal::{format, parse};
use crate::types::{Family, FieldType, NOT_FIXED_DECIMALS, ResultType};
use crate::value::Value;

use super::build::{constant_as, constant_beside};
use super::coercion::{Coercibility, NO_SAY, as_met, join_all, settle, strongest, with_collation};
use super::convert::to_result_type;
use super::{EvalContext, Expr};

pub(crate) use form::Form;

/// No limit on the number of arguments.
const MANY: u8 = u8::MAX;

/// How a function gets its arguments.
#[derive(Debug)]
enum Evaluate {
    /// Their values.
    Values(fn(&Arguments<'_, '_>) -> Result<Value, SqlError>),
    /// It asks for those that it needs, and the others are not evaluated. What it makes is small, an argument, or made by
    /// [`Demand::over`].
    OnDemand(fn(&Demand<'_, '_>) -> Result<Value, SqlError>),
    /// A call is another expression of its arguments.
    Rewritten(fn(Vec<Expr>) -> Result<Expr, SqlError>),
    /// The parser makes another expression of a call.
    Parsed,
    /// The rows of a group.
    Aggregate(aggregate::Begin),
    /// The rows of a window.
    Window(window::Make),
}

/// Which dates a function wants as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dates {
    /// Any.
    Any,
    /// Those of the calendar: see [`Expr::complete`].
    Complete,
    /// Those that are wanted of its result.
    AsAsked,
}

/// A built-in function. `docs/functions.md` is made from these rows.
#[derive(Debug)]
pub(crate) struct Function {
    /// Lower case. A name with a blank is that of a form with a syntax of its own.
    pub(super) name: &'static str,
    /// Other names for it.
    pub(super) aliases: &'static [&'static str],
    /// What it gives, in one line.
    #[cfg_attr(not(test), allow(dead_code, reason = "the test that makes the page reads it"))]
    pub(super) meaning: &'static str,
    /// An expression, and the text of its value. A test evaluates it.
    #[cfg_attr(not(test), allow(dead_code, reason = "the test that makes the page reads it"))]
    pub(super) example: (&'static str, &'static str),
    /// How a call is written.
    pub(crate) form: Form,
    /// Least and greatest number of arguments.
    arity: (u8, u8),
    evaluate: Evaluate,
    derive: fn(&[ResultType]) -> ResultType,
    /// Gets called with NULL arguments too.
    takes_null: bool,
    /// Works on texts: a number comes with the digits that it is shown with.
    of_text: bool,
    /// Works on the bytes of texts, which are those of their character sets.
    of_bytes: bool,
    /// Does not give the same for the same arguments, or has an effect.
    pub(super) volatile: bool,
    /// How many of its first arguments the result is made of, so that it compares as they do.
    collated: u8,
    /// The result is one of the arguments, of a type that all of them fit.
    unifies: bool,
    /// Arguments that are numbers: their collations do not count, and they are not made texts.
    numbers_at: &'static [usize],
    /// Strings of any collations may stand beside each other in the result: they are not compared.
    joins: bool,
    /// The argument that says how many digits the result has after the point.
    digits_at: Option<u8>,
    /// The argument that is a format, which says what parts the result has.
    format_at: Option<u8>,
    /// Texts are read as dates and times: a literal has the digits after the point that are written.
    reads_times: bool,
    /// An exact context takes the chosen argument as it is, though the result is a DOUBLE.
    chooses_exactly: bool,
    /// The second argument is compared with the first as `=` does.
    compares: bool,
    /// Which dates it wants as arguments.
    dates: Dates,
    /// An argument that has to be the same for all rows, and error 1105 of others.
    constant_at: Option<(u8, &'static str)>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

impl Function {
    const fn new(
        name: &'static str,
        least: u8,
        greatest: u8,
        evaluate: fn(&Arguments<'_, '_>) -> Result<Value, SqlError>,
        derive: fn(&[ResultType]) -> ResultType,
    ) -> Function {
        Function {
            name,
            aliases: &[],
            meaning: "",
            example: ("", ""),
            form: Form::Plain,
            arity: (least, greatest),
            evaluate: Evaluate::Values(evaluate),
            derive,
            takes_null: false,
            of_text: false,
            of_bytes: false,
            volatile: false,
            collated: 0,
            unifies: false,
            numbers_at: &[],
            joins: false,
            digits_at: None,
            format_at: None,
            reads_times: false,
            chooses_exactly: false,
            compares: false,
            dates: Dates::Any,
            constant_at: None,
        }
    }

    const fn aliases(self, aliases: &'static [&'static str]) -> Function {
        Function { aliases, ..self }
    }

    const fn doc(self, meaning: &'static str, example: &'static str, answer: &'static str) -> Function {
        Function { meaning, example: (example, answer), ..self }
    }

    const fn form(self, form: Form) -> Function {
        Function { form, ..self }
    }

    const fn in_grammar(self) -> Function {
        self.form(Form::Grammar)
    }

    /// A function that is none of these in itself.
    const fn other(name: &'static str, least: u8, greatest: u8, evaluate: Evaluate) -> Function {
        Function { evaluate, ..Function::new(name, least, greatest, |_| Ok(Value::Null), |_| ResultType::null()) }
    }

    const fn parsed(name: &'static str, least: u8, greatest: u8, form: Form) -> Function {
        Function::other(name, least, greatest, Evaluate::Parsed).form(form)
    }

    /// A function that is another expression of its arguments.
    const fn rewritten(
        name: &'static str,
        least: u8,
        greatest: u8,
        rewrite: fn(Vec<Expr>) -> Result<Expr, SqlError>,
    ) -> Function {
        Function::other(name, least, greatest, Evaluate::Rewritten(rewrite))
    }

    const fn chooses_exactly(self) -> Function {
        Function { chooses_exactly: true, ..self }
    }

    const fn compares(self) -> Function {
        Function { compares: true, ..self }
    }

    const fn of_complete_dates(self) -> Function {
        Function { dates: Dates::Complete, ..self }
    }

    const fn hands_on_dates(self) -> Function {
        Function { dates: Dates::AsAsked, ..self }
    }

    const fn takes_null(self) -> Function {
        Function { takes_null: true, ..self }
    }

    const fn of_text(self) -> Function {
        Function { of_text: true, ..self }
    }

    const fn of_bytes(self) -> Function {
        Function { of_bytes: true, ..self }
    }

    /// A function that does not need all of its arguments.
    const fn on_demand(
        name: &'static str,
        least: u8,
        greatest: u8,
        evaluate: fn(&Demand<'_, '_>) -> Result<Value, SqlError>,
        derive: fn(&[ResultType]) -> ResultType,
    ) -> Function {
        Function { derive, ..Function::other(name, least, greatest, Evaluate::OnDemand(evaluate)) }
    }

    const fn volatile(self) -> Function {
        Function { volatile: true, ..self }
    }

    const fn keeps_collation(self) -> Function {
        Function { collated: MANY, ..self }
    }

    /// The result compares as the first argument does.
    const fn keeps_collation_of_first(self) -> Function {
        Function { collated: 1, ..self }
    }

    const fn numbers_at(self, numbers_at: &'static [usize]) -> Function {
        Function { numbers_at, ..self }
    }

    const fn constant_at(self, at: u8, otherwise: &'static str) -> Function {
        Function { constant_at: Some((at, otherwise)), ..self }
    }

    const fn joins(self) -> Function {
        Function { joins: true, ..self }
    }

    const fn digits_at(self, arg: u8) -> Function {
        Function { digits_at: Some(arg), ..self }
    }

    const fn format_at(self, arg: u8) -> Function {
        Function { format_at: Some(arg), ..self }
    }

    const fn reads_times(self) -> Function {
        Function { reads_times: true, ..self }
    }

    const fn unifies(self) -> Function {
        Function { unifies: true, collated: MANY, ..self }
    }

    /// The function of this name, in any case.
    pub(crate) fn named(name: &str) -> Option<&'static Function> {
        static BY_NAME: LazyLock<HashMap<&str, &Function>> =
            LazyLock::new(|| all().flat_map(|function| function.names().map(move |name| (name, function))).collect());
        BY_NAME.get(name.to_ascii_lowercase().as_str()).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether a replica that runs the same statement may get another value, or have no such effect. Not so
    /// LAST_INSERT_ID, which goes with the statement.
    pub(crate) fn may_differ_on_replica(&self) -> bool {
        const OF_SERVER: [&str; 16] = [
            "aes_decrypt",
            "aes_encrypt",
            "load_file",
            "version",
            "user",
            "current_user",
            "current_role",
            "row_count",
            "found_rows",
            "ps_thread_id",
            "ps_current_thread_id",
            // What they give is not what MySQL and MariaDB give.
            "statement_digest",
            "statement_digest_text",
            "weight_string",
            "compress",
            "roles_graphml",
        ];
        (self.volatile && self.name != "last_insert_id") || OF_SERVER.contains(&self.name)
    }

    /// Least and greatest number of arguments.
    pub(crate) fn arity(&self) -> (usize, usize) {
        let (least, greatest) = self.arity;
        (least.into(), if greatest == MANY { usize::MAX } else { greatest.into() })
    }

    /// The arguments whose collations count.
    fn texts<'a>(&'a self, args: &'a [Expr]) -> impl Iterator<Item = &'a Expr> {
        args.iter().enumerate().filter(|(at, _)| !self.is_number(*at)).map(|(_, arg)| arg)
    }

    /// Whether the argument of this place is a number, not a text.
    fn is_number(&self, at: usize) -> bool {
        self.numbers_at.contains(&at)
    }

    /// Whether a call needs an operator of its own: a function over windows, and GROUPING().
    #[cfg(test)]
    pub(super) fn is_over_rows(&self) -> bool {
        self.form == Form::Window || self.name == "grouping"
    }

    /// Examples of those functions, with their answers.
    #[cfg(test)]
    pub(crate) fn examples_over_rows() -> Vec<(&'static str, &'static str)> {
        all().filter(|function| function.is_over_rows()).map(|function| function.example).collect()
    }

    /// Whether it is one of the rows of a group, supported or not.
    pub(crate) fn is_aggregate(&self) -> bool {
        matches!(self.form, Form::Aggregate | Form::DistinctAggregate | Form::Count | Form::GroupConcat)
    }
}

/// What a function works on.
struct Arguments<'a, 'b> {
    values: &'a [Value],
    /// Under which strings among the arguments meet.
    collation: Collation,
    call: &'a Call,
    cx: &'a EvalContext<'b>,
    /// Bytes that have been counted before they were made.
    asked: Cell<usize>,
    /// Whether a date of the calendar is wanted.
    complete: bool,
}

impl Arguments<'_, '_> {
    /// Whether a string of so many bytes may be made; if not, the result is NULL, and the warning is given.
    fn has_room(&self, bytes: usize) -> Result<bool, SqlError> {
        let limit = self.cx.statement.max_allowed_packet();
        if bytes > limit {
            self.cx.statement.warn(SqlError::new(ER_WARN_ALLOWED_PACKET_OVERFLOWED, &[&self.call.name(), &limit]))?;
            return Ok(false);
        }
        let more = bytes.saturating_sub(self.asked.get());
        self.asked.set(self.asked.get() + more);
        self.cx.statement.hold_evaluated(more)?;
        Ok(true)
    }

    /// The result, or NULL if it is too long.
    fn bounded(&self, result: Value) -> Result<Value, SqlError> {
        match result.as_bytes() {
            // An argument that is handed on has been counted.
            Some(bytes)
                if !self.iter().any(|value| value.as_bytes().is_some_and(|own| own.as_ptr() == bytes.as_ptr())) =>
            {
                Ok(if self.has_room(bytes.len())? { result } else { Value::Null })
            }
            _ => Ok(result),
        }
    }
}

impl std::ops::Deref for Arguments<'_, '_> {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        self.values
    }
}

/// The arguments of a function that asks for those it needs.
struct Demand<'a, 'b> {
    call: &'a Call,
    row: &'a [Value],
    cx: &'a EvalContext<'b>,
    /// Whether a date that lacks a part is none.
    complete: bool,
}

impl<'b> Demand<'_, 'b> {
    /// The value of an argument.
    fn get(&self, at: usize) -> Result<Value, SqlError> {
        self.call.args[at].eval_dates(self.row, self.cx, self.complete)
    }

    /// The value of an argument that is the result.
    fn as_result(&self, at: usize, value: Value) -> Result<Value, SqlError> {
        self.call.args[at].as_one_of(value, &self.call.derive(self.cx.params), self.cx)
    }

    fn count(&self) -> usize {
        self.call.args.len()
    }

    /// The value of an argument as the function works on it.
    fn as_wanted(&self, at: usize, value: Value) -> Value {
        let is_text = self.call.function.of_text && !self.call.function.is_number(at);
        if is_text { self.call.args[at].as_shown(value, self.cx) } else { value }
    }

    /// What is made of values, one for each argument, within the limit of a string.
    fn over(
        &self,
        values: &[Value],
        evaluate: impl FnOnce(&Arguments<'_, '_>) -> Result<Value, SqlError>,
    ) -> Result<Value, SqlError> {
        self.cx.statement.check_killed()?;
        let arguments = Arguments {
            values,
            collation: self.call.collation,
            call: self.call,
            cx: self.cx,
            asked: Cell::new(0),
            complete: self.complete,
        };
        let result = evaluate(&arguments)?;
        arguments.bounded(result)
    }
}

/// A call of a built-in function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub(super) function: &'static Function,
    /// The arguments.
    pub args: Vec<Expr>,
    collation: Collation,
    /// Of texts that are not made of texts.
    made: Collation,
    /// What the result compares under. Kept, since types ask for collations and collations for types: to descend for both
    /// at each level doubles the work with each.
    pub(super) own_collation: (Collation, Coercibility),
}

impl Call {
    /// The function's name, in lower case.
    pub fn name(&self) -> &'static str {
        self.function.name
    }

    pub(super) fn eval(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        self.finished(self.value(row, cx, false)?, cx)
    }

    /// The value for a function that wants a date of the calendar: see [`Expr::complete`].
    pub(super) fn complete(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        self.finished(self.value(row, cx, true)?, cx)
    }

    /// A value as one of the result's type.
    fn finished(&self, result: Value, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        let function = self.function;
        if function.unifies || function.format_at.is_some() || function.reads_times {
            return to_result_type(result, &self.derive(cx.params), cx);
        }
        Ok(result.computed())
    }

    pub(super) fn chooses_exactly(&self) -> bool {
        self.function.chooses_exactly
    }

    /// Whether it asks its arguments for the dates that it is asked for.
    pub(super) fn hands_on_dates(&self) -> bool {
        self.function.dates == Dates::AsAsked
    }

    /// The value, before it is made one of the result's type. With `complete`, a date of the calendar is wanted.
    pub(super) fn value(&self, row: &[Value], cx: &EvalContext<'_>, complete: bool) -> Result<Value, SqlError> {
        let complete = match self.function.dates {
            Dates::Any => false,
            Dates::Complete => true,
            Dates::AsAsked => complete,
        };
        match self.function.evaluate {
            Evaluate::OnDemand(evaluate) => evaluate(&Demand { call: self, row, cx, complete }),
            Evaluate::Rewritten(_) | Evaluate::Parsed | Evaluate::Aggregate(_) | Evaluate::Window(_) => {
                Err(SqlError::internal(format_args!("{} has no calls", self.function.name)))
            }
            Evaluate::Values(evaluate) => {
                let mut values = Vec::with_capacity(self.args.len());
                let demand = Demand { call: self, row, cx, complete };
                for at in 0..self.args.len() {
                    let value = demand.get(at)?;
                    if value.is_null() && !self.function.takes_null {
                        return Ok(Value::Null);
                    }
                    values.push(demand.as_wanted(at, value));
                }
                demand.over(&values, evaluate)
            }
        }
    }

    pub(super) fn derive(&self, params: &[Value]) -> ResultType {
        let types: Vec<ResultType> = self.args.iter().map(|arg| self.argument_type(arg, params)).collect();
        let mut derived = (self.function.derive)(&types).computed();
        if let Some(digits) = self.known_digits(params) {
            derived = derived.with_decimals(digits);
        }
        if let Some(format) = self.known_format(params) {
            derived = type_of_format(&format);
        }
        if self.keeps_collation() {
            return with_collation(derived, &self.collated(), self.made);
        }
        if derived.family() == Family::String && derived.collation == Collation::DEFAULT {
            derived.collation = self.made;
        }
        derived
    }

    fn argument_type(&self, arg: &Expr, params: &[Value]) -> ResultType {
        let own = arg.result_type(params);
        if !self.function.reads_times || own.family() != Family::String {
            return own;
        }
        let text = arg.literal_with(params);
        let digits = match text {
            Some(Value::Text(text)) => match parse::dated(text) {
                Some(dated) => dated.value.fsp(),
                None => parse::time(text).map_or(0, |(parsed, _)| parsed.value.fsp),
            },
            _ => 6,
        };
        ResultType { decimals: digits, ..own }
    }

    /// Whether the result compares as arguments do.
    fn keeps_collation(&self) -> bool {
        self.function.collated > 0
    }

    /// What the result compares under, from the arguments.
    fn result_collation(&self) -> (Collation, Coercibility) {
        if self.keeps_collation() {
            return match strongest(&self.collated()).unwrap_or(NO_SAY) {
                (_, Coercibility::Numeric) => (self.made, Coercibility::Numeric),
                strongest => strongest,
            };
        }
        let derived = self.derive(&[]);
        if derived.family() != Family::String {
            return NO_SAY;
        }
        if derived.collation == Collation::Utf8mb4Bin {
            // Of documents and what is taken out of them.
            return (Collation::Utf8mb4Bin, Coercibility::Implicit);
        }
        let binary = !derived.collation.is_character();
        (if binary { Collation::Binary } else { self.made }, Coercibility::Coercible)
    }

    /// The arguments that have a say in the result's collation.
    pub(super) fn collated(&self) -> Vec<&Expr> {
        self.function.texts(&self.args).take(self.function.collated.into()).collect()
    }
}

impl Call {
    /// The format that says what the result is, where that is known before evaluation.
    fn known_format(&self, params: &[Value]) -> Option<Arc<str>> {
        match self.args.get(usize::from(self.function.format_at?))?.literal_with(params)? {
            Value::Text(format) => Some(format.clone()),
            Value::Bytes(format) => std::str::from_utf8(format).ok().map(Arc::from),
            _ => None,
        }
    }

    /// How many digits the result has, where an argument says so that is known before evaluation.
    fn known_digits(&self, params: &[Value]) -> Option<u8> {
        let value = match self.args.get(usize::from(self.function.digits_at?))? {
            Expr::Literal(value) => value,
            Expr::Param(param) => params.get(param.index)?,
            _ => return None,
        };
        match value {
            Value::Int(int) => Some((*int).clamp(0, i64::from(NOT_FIXED_DECIMALS)) as u8),
            Value::UInt(int) => Some((*int).min(u64::from(NOT_FIXED_DECIMALS)) as u8),
            _ => None,
        }
    }
}

/// What is read by a format of STR_TO_DATE.
fn type_of_format(format: &str) -> ResultType {
    let parts = format::parts(format);
    let fsp = if parts.fraction { 6 } else { 0 };
    match (parts.date, parts.time) {
        (_, false) => ResultType::temporal(FieldType::Date, 0),
        (false, true) => ResultType::temporal(FieldType::Time, fsp),
        (true, true) => ResultType::temporal(FieldType::DateTime, fsp),
    }
}

/// Every function, by subject.
const TABLES: &[&[Function]] = &[
    string::FUNCTIONS,
    numeric::FUNCTIONS,
    temporal::FUNCTIONS,
    information::FUNCTIONS,
    gtid::FUNCTIONS,
    locking::FUNCTIONS,
    list::FUNCTIONS,
    json::FUNCTIONS,
    encoding::FUNCTIONS,
    encryption::FUNCTIONS,
    compression::FUNCTIONS,
    digest::FUNCTIONS,
    json_schema::FUNCTIONS,
    json_search::FUNCTIONS,
    xml::FUNCTIONS,
    units::FUNCTIONS,
    address::FUNCTIONS,
    regexp::FUNCTIONS,
    aggregate::FUNCTIONS,
    window::FUNCTIONS,
    form::FUNCTIONS,
];

/// Every function.
pub(super) fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

pub(super) fn build(name: &str, mut args: Vec<Expr>, made: Collation) -> Result<Expr, SqlError> {
    let unknown = || SqlError::new(ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &name]);
    let function = Function::named(name).ok_or_else(unknown)?;
    let (least, greatest) = function.arity();
    if !(least..=greatest).contains(&args.len()) {
        return Err(SqlError::new(ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&name]));
    }
    match function.evaluate {
        Evaluate::Values(_) | Evaluate::OnDemand(_) => {}
        Evaluate::Rewritten(rewrite) => return rewrite(args),
        Evaluate::Parsed => return Err(unknown()),
        Evaluate::Aggregate(_) | Evaluate::Window(_) => return Err(SqlError::unsupported(name)),
    }
    if let Some((at, otherwise)) = function.constant_at {
        let mut of_rows = false;
        args[usize::from(at)].walk(&mut |expr| of_rows |= matches!(expr, Expr::Column(_) | Expr::Outer(_)));
        if of_rows {
            return Err(SqlError::new(ER_UNKNOWN_ERROR, &[&otherwise]));
        }
    }
    if function.compares {
        args[1] = constant_as(args[1].clone(), constant_beside(&args[0]));
    }
    let collation = if function.joins {
        join_all(&function.texts(&args).take(function.collated.into()).collect::<Vec<_>>(), function.name)
    } else {
        settle(&function.texts(&args).collect::<Vec<_>>(), function.name)
    }?;
    let met = if function.of_bytes { Collation::Binary } else { collation };
    let settled = |(at, arg)| if function.is_number(at) { arg } else { as_met(arg, met) };
    args = args.into_iter().enumerate().map(settled).collect();
    let mut call = Call { function, args, collation, made, own_collation: NO_SAY };
    call.own_collation = call.result_collation();
    Ok(Expr::Call(Box::new(call)))
}

fn one(args: Vec<Expr>, make: impl FnOnce(Expr) -> Result<Expr, SqlError>) -> Result<Expr, SqlError> {
    match <[Expr; 1]>::try_from(args) {
        Ok([a]) => make(a),
        Err(_) => Err(SqlError::internal("one argument was expected")),
    }
}

fn two(args: Vec<Expr>, make: impl FnOnce(Expr, Expr) -> Result<Expr, SqlError>) -> Result<Expr, SqlError> {
    match <[Expr; 2]>::try_from(args) {
        Ok([a, b]) => make(a, b),
        Err(_) => Err(SqlError::internal("two arguments were expected")),
    }
}
