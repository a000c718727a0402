//! Which collation wins where strings of several meet: COLLATE beats columns, columns beat literals.

use super::{Ask, CastType, Expr, ParamKind};
use crate::collation::Collation;
use crate::error::{
    ER_CANT_AGGREGATE_2COLLATIONS, ER_CANT_AGGREGATE_3COLLATIONS, ER_CANT_AGGREGATE_NCOLLATIONS, SqlError,
};
use crate::types::{Charset, Family, FieldKind, ResultType};
use crate::value::Value;

/// How strongly an expression holds to its collation, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Coercibility {
    /// COLLATE.
    Explicit,
    /// Made of strings whose collations contradict each other: it cannot be compared.
    None,
    /// A column or variable.
    Implicit,
    /// USER(), VERSION() and so on.
    System,
    /// A literal or parameter.
    Coercible,
    /// A number or date: no say.
    Numeric,
}

/// Of what is no string.
pub(super) const NO_SAY: (Collation, Coercibility) = (Collation::DEFAULT, Coercibility::Numeric);

impl Expr {
    /// The collation under which the result is compared, sorted and grouped.
    pub fn collation(&self) -> Collation {
        self.own_collation().0
    }

    pub(super) fn own_collation(&self) -> (Collation, Coercibility) {
        let of_kind = |kind, level| match kind {
            Some(ParamKind::Binary | ParamKind::Hex) => (Collation::Binary, level),
            Some(ParamKind::Text(collation)) => (collation, level),
            None => (Collation::DEFAULT, level),
            Some(_) => NO_SAY,
        };
        match self {
            Expr::Literal(Value::Text(_)) => (Collation::DEFAULT, Coercibility::Coercible),
            Expr::Text(_, collation) => (*collation, Coercibility::Coercible),
            Expr::Literal(Value::Bytes(_) | Value::Hex(_)) => (Collation::Binary, Coercibility::Coercible),
            Expr::Param(param) => of_kind(param.kind, Coercibility::Coercible),
            Expr::Column(column) | Expr::Outer(column) if column.result_type.family() == Family::String => {
                (column.result_type.collation, level_of(column.gives_way))
            }
            Expr::Column(column) | Expr::Outer(column) if column.result_type.kind() == FieldKind::Bits => {
                (Collation::Binary, Coercibility::Implicit)
            }
            Expr::Collate(_, collation) => (*collation, Coercibility::Explicit),
            // It has no value yet, or NULL: what it meets decides.
            Expr::UserVariable(_, None) => (Collation::DEFAULT, Coercibility::Coercible),
            Expr::UserVariable(_, kind) => of_kind(*kind, Coercibility::Implicit),
            Expr::SystemVariable(_, _, kind) => of_kind(*kind, Coercibility::System),
            Expr::AssignUserVariable(_, value, _) => value.own_collation(),
            Expr::Cast(_, CastType::Char { collation, .. }) => (*collation, Coercibility::Implicit),
            Expr::Cast(_, CastType::Binary { .. }) => (Collation::Binary, Coercibility::Implicit),
            Expr::Cast(text, CastType::Encoded { .. }) => (Collation::Binary, text.own_collation().1),
            Expr::Case(case) => strongest(&case.results()).unwrap_or(NO_SAY),
            Expr::Call(call) => call.own_collation,
            Expr::Subquery(query) => match &query.ask {
                Ask::Value { result_type, gives_way } if result_type.family() == Family::String => {
                    (result_type.collation, level_of(*gives_way))
                }
                _ => NO_SAY,
            },
            _ => NO_SAY,
        }
    }
}

/// Of a column, or of a literal in its place.
fn level_of(gives_way: bool) -> Coercibility {
    if gives_way { Coercibility::Coercible } else { Coercibility::Implicit }
}

/// The collation that wins, without a complaint about contradictions.
pub(super) fn strongest(sides: &[&Expr]) -> Option<(Collation, Coercibility)> {
    sides.iter().map(|side| side.own_collation()).reduce(|a, b| join(a, b).unwrap_or(a))
}

/// The collation of two sides, by MySQL's rules; `None` if they contradict each other and neither gives way.
fn join(a: (Collation, Coercibility), b: (Collation, Coercibility)) -> Option<(Collation, Coercibility)> {
    let stronger = if b.1 < a.1 { b } else { a };
    if a.0 == b.0 {
        return Some(stronger);
    }
    let (of_a, of_b) = (a.0.charset(), b.0.charset());
    let binary = of_a == Charset::Binary || of_b == Charset::Binary;
    if of_a != of_b && !binary {
        // The other one is converted: to the character set that has all its characters, if it is but a literal, or to any
        // one of Unicode that has more say.
        let converts = |(to, level): (Collation, Coercibility), other: (Collation, Coercibility)| {
            let has_all = to.charset().is_superset(other.0.charset());
            let gives_way = other.1 >= Coercibility::System || to.charset().is_unicode();
            has_all && level <= other.1 || level < other.1 && gives_way
        };
        return if converts(a, b) {
            Some(a)
        } else if converts(b, a) {
            Some(b)
        } else {
            None
        };
    }
    match a.1 {
        _ if a.1 != b.1 => Some(stronger),
        Coercibility::Coercible | Coercibility::Numeric if !binary => Some(a),
        Coercibility::Explicit => None,
        _ if binary => Some(if of_a == Charset::Binary { a } else { b }),
        _ if a.0.is_bin() => Some(a),
        _ if b.0.is_bin() => Some(b),
        _ => Some((of_a.bin_collation(), Coercibility::None)),
    }
}

/// Joins the collations of `sides`; error 1267 where COLLATEs contradict each other.
fn joined(sides: &[&Expr], operation: &str) -> Result<(Collation, Coercibility), SqlError> {
    let mut joined: Option<(Collation, Coercibility)> = None;
    for side in sides {
        let own = side.own_collation();
        joined = Some(match joined {
            None => own,
            Some(joined) => join(joined, own).ok_or_else(|| contradiction(sides, operation))?,
        });
    }
    let joined = joined.unwrap_or((Collation::DEFAULT, Coercibility::Numeric));
    // A literal cannot be converted if the character set lacks one of its characters.
    let charset = joined.0.charset();
    let beyond = |side: &&Expr| match side {
        Expr::Literal(Value::Text(text)) => charset.first_outside(text).is_some(),
        Expr::Text(Value::Text(text), own) => own.charset() != charset && charset.first_outside(text).is_some(),
        _ => false,
    };
    if sides.iter().any(beyond) { Err(contradiction(sides, operation)) } else { Ok(joined) }
}

fn contradiction(sides: &[&Expr], operation: &str) -> SqlError {
    let shown: Vec<String> = sides
        .iter()
        .map(|side| side.own_collation())
        .map(|(collation, level)| format!("{},{}", collation.name(), level.name()))
        .collect();
    match shown.as_slice() {
        [a, b] => SqlError::new(ER_CANT_AGGREGATE_2COLLATIONS, &[a, b, &operation]),
        [a, b, c] => SqlError::new(ER_CANT_AGGREGATE_3COLLATIONS, &[a, b, c, &operation]),
        _ => SqlError::new(ER_CANT_AGGREGATE_NCOLLATIONS, &[&operation]),
    }
}

/// The collation under which `sides` are compared; error 1267, 1270 or 1271 if they contradict each other.
pub(super) fn settle(sides: &[&Expr], operation: &str) -> Result<Collation, SqlError> {
    match joined(sides, operation)? {
        // What is alone is not compared.
        (_, Coercibility::None) if sides.len() > 1 => Err(contradiction(sides, operation)),
        (collation, _) => Ok(collation),
    }
}

/// The same for what is compared: only strings can contradict each other, beside a number they are numbers.
pub(super) fn settle_compared(sides: &[&Expr], operation: &str) -> Result<Collation, SqlError> {
    match settle(sides, operation) {
        Err(_) if sides.iter().any(|side| side.result_type(&[]).family() != Family::String) => Ok(Collation::DEFAULT),
        settled => settled,
    }
}

/// Error 1267 or 1271 if `sides`, which become one column, contradict each other.
pub(super) fn check_columns(sides: &[&Expr], operation: &str) -> Result<(), SqlError> {
    match joined(sides, operation)? {
        (_, Coercibility::None) if sides.len() > 1 => Err(SqlError::new(ER_CANT_AGGREGATE_NCOLLATIONS, &[&operation])),
        _ => Ok(()),
    }
}

/// The collation of what `sides` are put together to; only COLLATEs can contradict each other there.
pub(super) fn join_all(sides: &[&Expr], operation: &str) -> Result<Collation, SqlError> {
    joined(sides, operation).map(|(collation, _)| collation)
}

/// A string type with the collation that wins among `sides`, `made` if they are no strings; any other type as it is.
pub(super) fn with_collation(result_type: ResultType, sides: &[&Expr], made: Collation) -> ResultType {
    if result_type.family() != Family::String || !result_type.collation.is_character() {
        return result_type;
    }
    match strongest(sides) {
        Some((collation, level)) if level < Coercibility::Numeric => ResultType { collation, ..result_type },
        _ => ResultType { collation: made, ..result_type },
    }
}

/// The expression where bytes are wanted: a text has those of its character set.
pub(super) fn in_bytes(expr: Expr) -> Expr {
    let charset = expr.collation().charset();
    if charset.is_recoded() && expr.result_type(&[]).family() == Family::String {
        return Expr::Cast(Box::new(expr), CastType::Encoded { charset });
    }
    expr
}

/// The expression as it meets others under `collation`: a text as bytes where bytes meet, bytes as the characters of a
/// character set that has bytes of its own, and a text of a character set that gave way with question marks for what the
/// other one lacks.
pub(super) fn as_met(expr: Expr, collation: Collation) -> Expr {
    if !collation.is_character() {
        return in_bytes(expr);
    }
    let (own, level) = expr.own_collation();
    let charset = collation.charset();
    let is_cut = |own: Charset| own != charset && !charset.is_superset(own) && level < Coercibility::System;
    let converts = if own.is_character() { is_cut(own.charset()) } else { charset.is_recoded() };
    let is_string = || expr.result_type(&[]).family() == Family::String;
    if converts && is_string() { Expr::Cast(Box::new(expr), CastType::Char { chars: None, collation }) } else { expr }
}
