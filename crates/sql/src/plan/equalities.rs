//! Columns that are equal to the same one are equal to each other: `a.x = c.x` where `a.x = b.x AND b.x = c.x`.
//!
//! What is implied finds rows and joins them as what is said does, so that an order may begin with `a` and `c`.
//!
//! Invariants of a class of columns
//! 1. Each is of another relation, and all of these are members of the nest whose conditions say that they are equal.
//! 2. For each two of them there is a condition. So who has joined some of the relations, and has judged that their columns are
//!    equal, needs to judge one of the conditions for the next relation.
//! 3. They compare alike with anything: numbers that are exact, or values of one type under one collation.

use super::query::{Relation, RelationSet, column_at, relations_read};
use crate::collation::Collation;
use crate::expr::{ColumnRef, CompareOp, Expr};
use crate::types::{Family, FieldType, ResultType};

/// Conditions are told from each other in a word.
const MOST: usize = 64;

/// The equalities of columns among the conditions of a nest.
pub(super) struct Equalities {
    /// Those that are implied and not said.
    pub(super) implied: Vec<Expr>,
    /// Of each condition, and then of each of these, the class of the columns that it is about: a number below [`MOST`].
    pub(super) classes: Vec<Option<usize>>,
}

/// Those of conditions that all hold, over these relations.
pub(super) fn of(conditions: &[&Expr], own: RelationSet, relations: &[Relation]) -> Equalities {
    let said: Vec<Option<[&ColumnRef; 2]>> = conditions
        .iter()
        .map(|condition| equality(condition).filter(|_| own.has_all(relations_read(relations, condition))))
        .collect();
    let (mut implied, mut classes) = (Vec::new(), vec![None; said.len()]);
    let is_of = |class: &[&ColumnRef], column: &ColumnRef| class.iter().any(|one| one.slot == column.slot);
    for (number, class) in columns_alike(&said).into_iter().filter(|class| are_apart(class, relations)).enumerate() {
        let is_about = |pair: &[&ColumnRef; 2], a: &ColumnRef, b: &ColumnRef| is_of(pair, a) && is_of(pair, b);
        let pairs = class.iter().enumerate().flat_map(|(at, b)| class[..at].iter().map(move |a| (*a, *b)));
        let is_said = |(a, b): &(&ColumnRef, &ColumnRef)| said.iter().flatten().any(|pair| is_about(pair, a, b));
        let more: Vec<Expr> = pairs.filter(|pair| !is_said(pair)).map(|(a, b)| equal(a, b)).collect();
        if classes.len() + more.len() > MOST {
            break;
        }
        for (of, pair) in classes.iter_mut().zip(&said) {
            if pair.is_some_and(|pair| is_of(&class, pair[0])) {
                *of = Some(number);
            }
        }
        classes.extend(more.iter().map(|_| Some(number)));
        implied.extend(more);
    }
    Equalities { implied, classes }
}

/// The columns that conditions say are equal, as far as they are more than two.
fn columns_alike<'c>(said: &[Option<[&'c ColumnRef; 2]>]) -> Vec<Vec<&'c ColumnRef>> {
    let mut classes: Vec<Vec<&ColumnRef>> = Vec::new();
    for pair in said.iter().flatten() {
        let (mut class, others): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|class| class.iter().any(|one| pair.iter().any(|of| of.slot == one.slot)));
        class.push(pair.to_vec());
        let mut class = class.concat();
        class.sort_by_key(|column| column.slot);
        class.dedup_by_key(|column| column.slot);
        classes = others;
        classes.push(class);
    }
    classes.retain(|class| class.len() > 2);
    classes
}

/// Whether each column is of another relation.
fn are_apart(class: &[&ColumnRef], relations: &[Relation]) -> bool {
    let of = |column: &ColumnRef| column_at(relations, column.slot).map(|(relation, _)| relation.first_slot);
    class.windows(2).all(|pair| of(pair[0]) != of(pair[1]))
}

/// The columns that a condition says are equal, if they are two and compare alike with anything.
fn equality(condition: &Expr) -> Option<[&ColumnRef; 2]> {
    let Expr::Compare(CompareOp::Equal, a, b, collation) = condition else { return None };
    let (Expr::Column(a), Expr::Column(b)) = (&**a, &**b) else { return None };
    (a.slot != b.slot && is_one_value(a.result_type, b.result_type, *collation)).then_some([a, b])
}

/// That they are; of strings under the collation that both have.
fn equal(a: &ColumnRef, b: &ColumnRef) -> Expr {
    let column = |of: &ColumnRef| Box::new(Expr::Column(of.clone()));
    Expr::Compare(CompareOp::Equal, column(a), column(b), a.result_type.collation)
}

/// Whether two columns that are equal under a collation compare in the same way with anything else.
pub(super) fn is_one_value(a: ResultType, b: ResultType, collation: Collation) -> bool {
    let is_exact = |of: ResultType| matches!(of.family(), Family::Integer | Family::Decimal);
    let is_plain = |of: ResultType| of.collation == collation && of.field != FieldType::Json;
    match (a.family(), b.family()) {
        (Family::String, Family::String) => is_plain(a) && is_plain(b),
        _ => (is_exact(a) && is_exact(b)) || a.field == b.field,
    }
}
