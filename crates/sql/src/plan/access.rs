//! Third stage: chooses in which order the relations are read, and how the rows of each are found.
//!
//! The order is that of FROM: there is one relation at most.
//!
//! The conjuncts of WHERE that compare a column with something the row does not change become terms; an
//! index is the better the longer its leading columns are fixed by terms. The whole condition is
//! evaluated again for each row, so a path may give more rows than match but never fewer.
//!
//! Not here: the values of the terms, which are known when the statement runs (`exec::key_range`).

use crate::ast::{IndexHint, IndexHintKind};
use crate::catalog::definition::IndexKind;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::error::{ER_KEY_DOES_NOT_EXITS, SqlError};
use crate::expr::{CompareOp, Expr};
use crate::types::{ColumnType, Kind};
use crate::value::Value;

use super::query::{Query, Relation, SortKey};

/// How rows are found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    /// Which index; `None` are the rows themselves in their own order.
    pub(crate) index: Option<usize>,
    /// Values that the leading columns of the index must have.
    pub(crate) equal: Vec<Expr>,
    /// What the column after those must be.
    pub(crate) tail: Tail,
    /// Every row of the index is read from its end.
    pub(crate) reverse: bool,
    /// Rows come in the order that the statement wants.
    pub(crate) ordered: bool,
    /// The index has every column that is read: the rows themselves are not.
    pub(crate) covering: bool,
}

/// What is asked of the first column of an index that is not fixed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tail {
    /// Nothing.
    Open,
    /// One of these.
    In(Vec<Expr>),
    /// In this range.
    Range(Bounds),
    /// In one of these ranges.
    Union(Vec<Bounds>),
}

/// The bounds of a range; the flag says whether the bound belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: Option<(Expr, bool)>,
    pub(crate) high: Option<(Expr, bool)>,
}

impl Access {
    /// Whether it is every row, or every entry of an index.
    pub(crate) fn is_whole(&self) -> bool {
        self.equal.is_empty() && self.tail == Tail::Open
    }

    /// Every row, in the order they are stored.
    pub(crate) const SCAN: Access =
        Access { index: None, equal: Vec::new(), tail: Tail::Open, reverse: false, ordered: false, covering: false };

    /// The index that the rows are kept in or that leads to them.
    pub(crate) fn key<'t>(&self, table: &'t Table) -> Option<&'t crate::catalog::table::Index> {
        self.index.map(|index| &table.indexes[index])
    }

    /// Whether at most one row is found, by its whole key.
    pub(crate) fn is_point(&self, table: &Table) -> bool {
        self.key(table).is_some_and(|index| {
            index.is_unique()
                && self.equal.len() == index.columns.len()
                && index.parts.iter().all(|part| part.prefix.is_none())
                && !self.equal.contains(&Expr::Literal(Value::Null))
        })
    }
}

/// What a conjunct asks of one column.
struct Term {
    column: usize,
    ask: Ask,
}

enum Ask {
    Equal(Expr),
    In(Vec<Expr>),
    Low(Expr, bool),
    High(Expr, bool),
    Union(Vec<Bounds>),
}

/// Chooses an access path for each relation of a query; 1176 for a hint that names an unknown index.
pub(super) fn choose(query: &Query) -> Result<Vec<Access>, SqlError> {
    // What is grouped or distinguished is sorted after that.
    let found_in_order = query.grouping.is_none() && !query.distinct;
    let sort: &[SortKey] = if found_in_order { &query.sort } else { &[] };
    let path = |relation| path(relation, query.filter.as_ref(), sort, query.limit.is_some());
    query.relations.iter().map(path).collect()
}

/// The path for a relation, its condition, the order its rows are wanted in and whether there is a LIMIT.
fn path(relation: &Relation, filter: Option<&Expr>, sort: &[SortKey], limited: bool) -> Result<Access, SqlError> {
    let (table, hints) = (&*relation.table, &relation.hints);
    let allowed = allowed_indexes(table, hints)?;
    let mut terms = Vec::new();
    if let Some(filter) = filter {
        collect_terms(relation, filter, &mut terms);
    }
    let mut best: Option<(u32, Access)> = None;
    for index in (0..table.indexes.len()).filter(|index| allowed[*index]) {
        let (mut score, mut access) = candidate(table, index, &terms);
        if score == 0 {
            continue;
        }
        order(relation, &mut access, sort);
        // Among equals, the one that saves sorting, then the rows' own order.
        score = score * 4 + u32::from(access.ordered) * 2 + u32::from(table.primary == Some(index));
        if best.as_ref().is_none_or(|(known, _)| score > *known) {
            best = Some((score, access));
        }
    }
    if let Some((_, access)) = best {
        return Ok(access);
    }
    let mut scan = Access::SCAN;
    scan.index = table.primary;
    order(relation, &mut scan, sort);
    if scan.ordered || sort.is_empty() || !limited {
        return Ok(scan);
    }
    // The first few rows in the order of some index are found without sorting all.
    for index in (0..table.indexes.len()).filter(|index| allowed[*index]) {
        let mut access = Access { index: Some(index), ..Access::SCAN };
        order(relation, &mut access, sort);
        if access.ordered {
            return Ok(access);
        }
    }
    Ok(scan)
}

fn allowed_indexes(table: &Table, hints: &[IndexHint]) -> Result<Vec<bool>, SqlError> {
    let restricted = hints.iter().any(|hint| hint.kind != IndexHintKind::Ignore);
    let mut allowed = vec![!restricted; table.indexes.len()];
    for hint in hints {
        for name in &hint.indexes {
            let found = table.def.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(name));
            let Some(found) = found else {
                return Err(SqlError::new(ER_KEY_DOES_NOT_EXITS, &[name, &table.def.name]));
            };
            allowed[found] = hint.kind != IndexHintKind::Ignore;
        }
    }
    Ok(allowed)
}

/// Whether an expression is the same for every row of the statement.
fn is_fixed(expr: &Expr) -> bool {
    let mut fixed = !expr.is_volatile();
    expr.walk(&mut |part| fixed &= !matches!(part, Expr::Column(_) | Expr::AssignUserVariable(..)));
    fixed
}

/// The column of the relation that `expr` is.
fn column_of(relation: &Relation, expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(column) => relation.column_at(column.slot),
        _ => None,
    }
}

/// Whether a comparison under `collation` orders a column as its keys do.
fn collation_fits(column_type: &ColumnType, collation: Collation) -> bool {
    match column_type.kind() {
        Kind::Characters(own) | Kind::Members(own) => own == collation,
        Kind::Integer | Kind::Number | Kind::Bytes | Kind::Date | Kind::Timestamp | Kind::Time => true,
        Kind::Json => false,
    }
}

fn collect_terms(relation: &Relation, filter: &Expr, terms: &mut Vec<Term>) {
    let column_type = |column: usize| &relation.table.def.columns[column].column_type;
    let fits = |column: usize, collation| collation_fits(column_type(column), collation);
    // The order of an ENUM's and SET's keys is not that of a comparison.
    let orders = |column: usize| !matches!(column_type(column).kind(), Kind::Members(_));
    match filter {
        Expr::And(parts) => parts.iter().for_each(|part| collect_terms(relation, part, terms)),
        Expr::Compare(op, left, right, collation) => {
            let (column, value, op) = match (column_of(relation, left), column_of(relation, right)) {
                (Some(column), None) if is_fixed(right) => (column, right, *op),
                (None, Some(column)) if is_fixed(left) => (column, left, flipped(*op)),
                _ => return,
            };
            if !fits(column, *collation) {
                return;
            }
            let value = (**value).clone();
            let ask = match op {
                CompareOp::Equal => Ask::Equal(value),
                _ if !orders(column) => return,
                CompareOp::Less => Ask::High(value, false),
                CompareOp::LessOrEqual => Ask::High(value, true),
                CompareOp::Greater => Ask::Low(value, false),
                CompareOp::GreaterOrEqual => Ask::Low(value, true),
                CompareOp::NotEqual | CompareOp::NullSafeEqual => return,
            };
            terms.push(Term { column, ask });
        }
        Expr::Between { operand, low, high, negated: false, collation } => {
            if let Some(column) = column_of(relation, operand)
                && fits(column, *collation)
                && orders(column)
            {
                if is_fixed(low) {
                    terms.push(Term { column, ask: Ask::Low((**low).clone(), true) });
                }
                if is_fixed(high) {
                    terms.push(Term { column, ask: Ask::High((**high).clone(), true) });
                }
            }
        }
        Expr::In { operand, list, negated: false, collation } => {
            if let Some(column) = column_of(relation, operand)
                && fits(column, *collation)
                && list.iter().all(is_fixed)
            {
                let ask = match list.as_slice() {
                    [single] => Ask::Equal(single.clone()),
                    _ => Ask::In(list.clone()),
                };
                terms.push(Term { column, ask });
            }
        }
        Expr::Or(parts) => {
            if let Some(term) = union(relation, parts) {
                terms.push(term);
            }
        }
        Expr::IsNull { operand, negated: false } => {
            if let Some(column) = column_of(relation, operand) {
                terms.push(Term { column, ask: Ask::Equal(Expr::Literal(Value::Null)) });
            }
        }
        _ => {}
    }
}

/// The ranges of one column that the alternatives of an OR ask for, if each asks for some of it.
fn union(relation: &Relation, alternatives: &[Expr]) -> Option<Term> {
    let mut ranges = Vec::with_capacity(alternatives.len());
    let mut column = None;
    for alternative in alternatives {
        let mut terms = Vec::new();
        collect_terms(relation, alternative, &mut terms);
        let first = *column.get_or_insert(terms.first()?.column);
        match tail(first, &terms) {
            Tail::Open => ranges.push(point(terms.iter().find_map(|term| match &term.ask {
                // NULL, as IS NULL asks for it, lies between no bounds.
                Ask::Equal(value) if term.column == first && *value != Expr::Literal(Value::Null) => Some(value),
                _ => None,
            })?)),
            Tail::In(list) => ranges.extend(list.iter().map(point)),
            Tail::Range(bounds) => ranges.push(bounds),
            Tail::Union(more) => ranges.extend(more),
        }
    }
    Some(Term { column: column?, ask: Ask::Union(ranges) })
}

fn point(value: &Expr) -> Bounds {
    Bounds { low: Some((value.clone(), true)), high: Some((value.clone(), true)) }
}

fn flipped(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
        same => same,
    }
}

/// What an index can do with the terms, and how good that is (0: nothing).
fn candidate(table: &Table, at: usize, terms: &[Term]) -> (u32, Access) {
    let index = &table.indexes[at];
    let mut access = Access { index: Some(at), ..Access::SCAN };
    let mut score = 0;
    for column in &index.columns {
        let asked = |pick: fn(&Ask) -> Option<&Expr>| {
            terms.iter().filter(|term| term.column == *column).find_map(|term| pick(&term.ask))
        };
        let equal = asked(|ask| match ask {
            Ask::Equal(value) => Some(value),
            _ => None,
        });
        if let Some(value) = equal {
            access.equal.push(value.clone());
            score += 10;
            continue;
        }
        access.tail = tail(*column, terms);
        score += match &access.tail {
            Tail::Open => 0,
            Tail::In(_) => 8,
            Tail::Range(Bounds { low: Some(_), high: Some(_) }) => 5,
            Tail::Union(_) => 4,
            Tail::Range(_) => 3,
        };
        break;
    }
    if access.is_point(table) {
        score += if index.kind == IndexKind::Primary { 1000 } else { 900 };
    }
    (score, access)
}

fn tail(column: usize, terms: &[Term]) -> Tail {
    let mut bounds = Bounds::default();
    let mut union = None;
    for term in terms.iter().filter(|term| term.column == column) {
        match &term.ask {
            Ask::In(list) => return Tail::In(list.clone()),
            // The first bound is used; others are left to the condition.
            Ask::Low(value, included) if bounds.low.is_none() => bounds.low = Some((value.clone(), *included)),
            Ask::High(value, included) if bounds.high.is_none() => bounds.high = Some((value.clone(), *included)),
            Ask::Union(ranges) => union = Some(ranges),
            _ => {}
        }
    }
    match union {
        _ if bounds != Bounds::default() => Tail::Range(bounds),
        Some(ranges) => Tail::Union(ranges.clone()),
        None => Tail::Open,
    }
}

/// Finds out whether the path gives rows in the order of `sort`, forwards or backwards.
fn order(relation: &Relation, access: &mut Access, sort: &[SortKey]) {
    let table = &*relation.table;
    if sort.is_empty() {
        return;
    }
    if access.is_point(table) {
        access.ordered = true;
        return;
    }
    let Some(index) = access.key(table) else { return };
    if index.parts[..access.equal.len()].iter().any(|part| part.prefix.is_some()) {
        return;
    }
    // Rows under equal keys of a secondary index come in the order of the primary key.
    let behind = table.primary.filter(|primary| Some(*primary) != access.index);
    let behind = behind.map(|primary| &table.indexes[primary]);
    let mut columns = index
        .columns
        .iter()
        .zip(&index.parts)
        .chain(behind.iter().flat_map(|primary| primary.columns.iter().zip(&primary.parts)))
        .skip(access.equal.len());
    let fixed = &index.columns[..access.equal.len()];
    let mut descending = None;
    for key in sort {
        let Some(column) = column_of(relation, &key.expr) else { return };
        if fixed.contains(&column) {
            continue;
        }
        match columns.next() {
            Some((next, part)) if *next == column && part.prefix.is_none() => {}
            _ => return,
        }
        if *descending.get_or_insert(key.descending) != key.descending {
            return;
        }
    }
    access.ordered = true;
    access.reverse = descending.unwrap_or(false);
}
