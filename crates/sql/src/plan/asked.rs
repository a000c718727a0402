//! What conditions ask of the columns of a relation, and of an index.
//!
//! Those that compare a column with something that is known before the relation is read become terms: what the statement's
//! rows do not change, and columns of the relations that are read before it. The parts of an OR that all ask something are
//! kept side by side.
//!
//! An index is asked column by column ([`Known::seek`]): equal values first, then a list, a range or the parts of an OR,
//! each with what is asked of the columns behind.

use super::access::{Bounds, Seek, Tail};
use super::cost;
use super::query::{Relation, RelationSet, relations_read};
use crate::collation::Collation;
use crate::expr::{Ask, CompareOp, CompareWith, Expr, Subquery};
use crate::types::{ColumnType, Kind};
use crate::value::Value;

/// A path looks at so many places at most, but for those that are listed.
const MOST_PLACES: f64 = 4096.0;

/// What a conjunct asks of one column.
struct Term {
    column: usize,
    wish: Wish,
    /// The relations that have to be read before.
    needs: RelationSet,
    /// Of which condition.
    condition: usize,
}

enum Wish {
    Equal(Expr),
    In(Vec<Expr>),
    Query(Box<Subquery>),
    Low(Expr, bool),
    High(Expr, bool),
    Like(Expr, Option<char>),
}

impl Wish {
    /// Calls `visit` for what the column is compared with.
    fn for_each_value(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Wish::Equal(value) | Wish::Low(value, _) | Wish::High(value, _) | Wish::Like(value, _) => visit(value),
            Wish::In(list) => list.iter().for_each(visit),
            // A query that gives the same each time reads nothing.
            Wish::Query(_) => {}
        }
    }
}

/// What conjuncts ask of the columns of a relation.
#[derive(Default)]
pub(super) struct Asked {
    terms: Vec<Term>,
    unions: Vec<Union>,
}

/// What the parts of an OR ask, each of which asks something.
struct Union {
    alternatives: Vec<Asked>,
    condition: usize,
}

impl Asked {
    fn is_nothing(&self) -> bool {
        self.terms.is_empty() && self.unions.is_empty()
    }

    /// The relations that have to be read before all of it is known.
    pub(super) fn needs(&self) -> RelationSet {
        let of_unions = self.unions.iter().map(Union::needs);
        self.terms.iter().map(|term| term.needs).chain(of_unions).fold(RelationSet::NONE, RelationSet::with)
    }

    /// The conditions that ask something, and whether that is one value.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (usize, bool)> {
        let of_terms = self.terms.iter().map(|term| (term.condition, matches!(term.wish, Wish::Equal(_))));
        of_terms.chain(self.unions.iter().map(|union| (union.condition, false)))
    }

    /// What of it is known where these relations are.
    pub(super) fn known(&self, relations: RelationSet) -> Known<'_> {
        Known {
            terms: self.terms.iter().filter(|term| relations.has_all(term.needs)).collect(),
            unions: self.unions.iter().filter(|union| relations.has_all(union.needs())).collect(),
        }
    }
}

impl Union {
    fn needs(&self) -> RelationSet {
        self.alternatives.iter().map(Asked::needs).fold(RelationSet::NONE, RelationSet::with)
    }
}

/// What is asked and known.
#[derive(Default)]
pub(super) struct Known<'q> {
    terms: Vec<&'q Term>,
    unions: Vec<&'q Union>,
}

impl<'q> Known<'q> {
    /// With what one of alternatives asks.
    fn and(&self, alternative: &'q Asked) -> Known<'q> {
        Known {
            terms: alternative.terms.iter().chain(self.terms.iter().copied()).collect(),
            unions: alternative.unions.iter().collect(),
        }
    }

    /// What it asks of the columns of an index from one of them on; `note` gets the conditions that say it.
    pub(super) fn seek(&self, columns: &[usize], note: &mut dyn FnMut(usize)) -> Seek {
        let mut seek = Seek::NOTHING;
        for (at, column) in columns.iter().enumerate() {
            let equal = self.terms.iter().filter(|term| term.column == *column).find_map(|term| match &term.wish {
                Wish::Equal(value) => Some((term, value)),
                _ => None,
            });
            let Some((term, value)) = equal else {
                seek.tail = self.tail(&columns[at..], note);
                break;
            };
            seek.equal.push(value.clone());
            note(term.condition);
        }
        seek
    }

    /// What it asks of the first of these columns, which is not fixed, and of those after it.
    fn tail(&self, columns: &[usize], note: &mut dyn FnMut(usize)) -> Tail {
        let Some((first, after)) = columns.split_first() else { return Tail::Open };
        let of_first = || self.terms.iter().filter(|term| term.column == *first);
        let list = of_first().find_map(|term| match &term.wish {
            Wish::In(list) => Some((term, list)),
            _ => None,
        });
        if let Some((term, list)) = list {
            let mut noted = vec![term.condition];
            let mut then = self.seek(after, &mut |condition| noted.push(condition));
            if list.len() as f64 * cost::places(&then) > MOST_PLACES {
                (then, noted) = (Seek::NOTHING, vec![term.condition]);
            }
            let listed = Tail::In(list.clone(), Box::new(then));
            // Rows of values: what is asked of each of their columns are more combinations than there are rows.
            if let Some((union, condition)) = self.union(columns)
                && is_narrower(&union, &listed)
            {
                note(condition);
                return union;
            }
            noted.into_iter().for_each(note);
            return listed;
        }
        let of_query = of_first().find_map(|term| match &term.wish {
            Wish::Query(query) => Some((term, query)),
            _ => None,
        });
        if let Some((term, query)) = of_query {
            note(term.condition);
            return Tail::Query(query.clone());
        }
        let mut bounds = Bounds::default();
        for term in of_first() {
            match &term.wish {
                // The first bound is used; others are left to the condition.
                Wish::Low(value, included) if bounds.low.is_none() => bounds.low = Some((value.clone(), *included)),
                Wish::High(value, included) if bounds.high.is_none() => bounds.high = Some((value.clone(), *included)),
                _ => {}
            }
        }
        if bounds != Bounds::default() {
            let of_range = |term: &&&Term| matches!(term.wish, Wish::Low(..) | Wish::High(..));
            of_first().filter(of_range).for_each(|term| note(term.condition));
            return Tail::Range(bounds);
        }
        let pattern = of_first().find_map(|term| match &term.wish {
            Wish::Like(pattern, escape) => Some((term, pattern, escape)),
            _ => None,
        });
        if let Some((term, pattern, escape)) = pattern {
            note(term.condition);
            return Tail::Like(pattern.clone(), *escape);
        }
        match self.union(columns) {
            Some((union, condition)) => {
                note(condition);
                union
            }
            None => Tail::Open,
        }
    }

    /// Each OR, as what is known where one of its parts holds, and its condition.
    pub(super) fn alternatives(&self) -> impl Iterator<Item = (usize, Vec<Known<'q>>)> {
        let parts = |union: &&'q Union| union.alternatives.iter().map(|one| self.and(one)).collect();
        self.unions.iter().map(move |union| (union.condition, parts(union)))
    }

    /// The first OR whose parts all ask something of the first of these columns, and its condition. Of what is asked beside
    /// it, only what does not make too many places of it.
    fn union(&self, columns: &[usize]) -> Option<(Tail, usize)> {
        self.unions.iter().find_map(|union| {
            let known = [|beside: &Known<'q>, one| beside.and(one), |_: &Known<'q>, one| Known::default().and(one)];
            let seeks = known.iter().find_map(|known| {
                few(union.alternatives.iter().map(|one| {
                    let seek = known(self, one).seek(columns, &mut |_| {});
                    let usable = !seek.is_nothing() && !matches!(seek.tail, Tail::Query(_));
                    usable.then(|| (cost::places(&seek), seek))
                }))
            });
            Some((Tail::Union(seeks?), union.condition))
        })
    }
}

/// All items, each with the number of its places; `None` if one is missing, or if they are too many places, for which no more
/// items are made.
pub(super) fn few<T>(items: impl ExactSizeIterator<Item = Option<(f64, T)>>) -> Option<Vec<T>> {
    let most = MOST_PLACES.max(items.len() as f64);
    let (mut places, mut all) = (0.0, Vec::new());
    for item in items {
        let (more, item) = item?;
        places += more;
        if places > most {
            return None;
        }
        all.push(item);
    }
    Some(all)
}

/// Whether a path is to look at fewer places, for as many columns.
fn is_narrower(tail: &Tail, than: &Tail) -> bool {
    let [tail, than] = [tail, than].map(|tail| Seek { equal: Vec::new(), tail: tail.clone() });
    tail.columns() >= than.columns() && cost::places(&tail) < cost::places(&than)
}

/// The column of the relation that `expr` is.
pub(super) fn column_of(relation: &Relation, expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(column) => relation.column_at(column.slot),
        _ => None,
    }
}

/// Whether a comparison under `collation` orders a column as its keys do.
pub(super) fn collation_fits(column_type: &ColumnType, collation: Collation) -> bool {
    match column_type.kind() {
        Kind::Characters(own) | Kind::Members(own) => own == collation,
        Kind::Integer | Kind::Number | Kind::Bytes | Kind::Date | Kind::Timestamp | Kind::Time => true,
        Kind::Json => false,
    }
}

/// Where terms are looked for.
pub(super) struct Terms<'q> {
    pub(super) relations: &'q [Relation],
    pub(super) relation: &'q Relation,
    /// Its place.
    pub(super) of: usize,
}

impl Terms<'_> {
    /// What conditions ask, each known by its place.
    pub(super) fn all_of(&self, conditions: &[&Expr]) -> Asked {
        let mut asked = Asked::default();
        for (place, condition) in conditions.iter().enumerate() {
            self.collect(condition, place, &mut asked);
        }
        asked
    }

    /// Whether an expression can be known before the relation is read.
    fn is_fixed(&self, expr: &Expr) -> bool {
        let mut fixed = !expr.is_volatile();
        expr.walk(&mut |part| fixed &= !matches!(part, Expr::AssignUserVariable(..)));
        fixed && !relations_read(self.relations, expr).has(self.of)
    }

    /// What a condition asks of a column, if what that is compared with is known.
    fn term(&self, column: usize, wish: Wish, condition: usize) -> Term {
        let mut needs = RelationSet::NONE;
        wish.for_each_value(&mut |value| needs = needs.with(relations_read(self.relations, value)));
        Term { column, wish, needs, condition }
    }

    /// Adds what `filter` asks, a part of this condition.
    fn collect(&self, filter: &Expr, condition: usize, asked: &mut Asked) {
        let Some(table) = self.relation.table() else { return };
        let relation = self.relation;
        let is_fixed = |expr: &Expr| self.is_fixed(expr);
        let column_type = |column: usize| &table.def.columns[column].column_type;
        let fits = |column: usize, collation| collation_fits(column_type(column), collation);
        // The order of an ENUM's and SET's keys is not that of a comparison.
        let orders = |column: usize| !matches!(column_type(column).kind(), Kind::Members(_));
        match filter {
            Expr::And(parts) => parts.iter().for_each(|part| self.collect(part, condition, asked)),
            Expr::Compare(op, left, right, collation) => {
                let (column, value, op) = match (column_of(relation, left), column_of(relation, right)) {
                    (Some(column), None) if is_fixed(right) => (column, right, *op),
                    (None, Some(column)) if is_fixed(left) => (column, left, op.flipped()),
                    _ => return,
                };
                if !fits(column, *collation) {
                    return;
                }
                let value = (**value).clone();
                let is_null = || Wish::Equal(Expr::Literal(Value::Null));
                let wish = match op {
                    CompareOp::Equal => Wish::Equal(value),
                    CompareOp::NullSafeEqual if value == Expr::Literal(Value::Null) => is_null(),
                    CompareOp::NullSafeEqual if !table.def.columns[column].nullable => Wish::Equal(value),
                    CompareOp::NullSafeEqual => {
                        let either = [Wish::Equal(value), is_null()]
                            .map(|wish| Asked { terms: vec![self.term(column, wish, condition)], unions: Vec::new() });
                        asked.unions.push(Union { alternatives: either.into(), condition });
                        return;
                    }
                    _ if !orders(column) => return,
                    CompareOp::Less => Wish::High(value, false),
                    CompareOp::LessOrEqual => Wish::High(value, true),
                    CompareOp::Greater => Wish::Low(value, false),
                    CompareOp::GreaterOrEqual => Wish::Low(value, true),
                    CompareOp::NotEqual => return,
                };
                asked.terms.push(self.term(column, wish, condition));
            }
            Expr::Between { operand, low, high, negated: false, collation } => {
                if let Some(column) = column_of(relation, operand)
                    && fits(column, *collation)
                    && orders(column)
                {
                    if is_fixed(low) {
                        asked.terms.push(self.term(column, Wish::Low((**low).clone(), true), condition));
                    }
                    if is_fixed(high) {
                        asked.terms.push(self.term(column, Wish::High((**high).clone(), true), condition));
                    }
                }
            }
            Expr::Like { operand, pattern, escape, negated: false, collation } => {
                if let Some(column) = column_of(relation, operand)
                    && matches!(column_type(column).kind(), Kind::Characters(_) | Kind::Bytes)
                    && fits(column, *collation)
                    && is_fixed(pattern)
                {
                    let wish = Wish::Like((**pattern).clone(), *escape);
                    asked.terms.push(self.term(column, wish, condition));
                }
            }
            Expr::In { operand, list, negated: false, collation, .. } => {
                if let Some(column) = column_of(relation, operand)
                    && fits(column, *collation)
                    && list.iter().all(&is_fixed)
                {
                    let wish = match list.as_slice() {
                        [single] => Wish::Equal(single.clone()),
                        _ => Wish::In(list.clone()),
                    };
                    asked.terms.push(self.term(column, wish, condition));
                }
            }
            Expr::Subquery(query) if query.outer.is_empty() && !query.volatile => {
                if let Ask::Compare(comparison) = &query.ask
                    && comparison.with == CompareWith::Any
                    && let [operand] = comparison.operands.as_slice()
                    && let Expr::Compare(CompareOp::Equal, _, _, collation) = &comparison.condition
                    && let Some(column) = column_of(relation, operand)
                    && fits(column, *collation)
                {
                    asked.terms.push(self.term(column, Wish::Query(query.clone()), condition));
                }
            }
            Expr::Or(parts) => {
                let alternatives = parts.iter().map(|part| {
                    let mut alternative = Asked::default();
                    self.collect(part, condition, &mut alternative);
                    (!alternative.is_nothing()).then_some(alternative)
                });
                if let Some(alternatives) = alternatives.collect() {
                    asked.unions.push(Union { alternatives, condition });
                }
            }
            Expr::IsNull { operand, negated: false } => {
                if let Some(column) = column_of(relation, operand) {
                    asked.terms.push(self.term(column, Wish::Equal(Expr::Literal(Value::Null)), condition));
                }
            }
            _ => {}
        }
    }
}
