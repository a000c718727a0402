//! How the rows of one relation are found: an access path, as plain data.
//!
//! Not here: which path is taken ([`super::paths`]), and the values of its terms, which are known when the statement runs
//! (`exec::key_range`).

use crate::catalog::table::{Index, Table};
use crate::expr::{CompareOp, Expr, Subquery};
use crate::value::Value;

/// How rows are found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    /// Which index; `None` are the rows themselves in their own order.
    pub(crate) index: Option<usize>,
    /// What its columns must be.
    pub(crate) seek: Seek,
    /// In the place of one index: rows that these find, each once.
    pub(crate) merged: Vec<Access>,
    /// Which of them.
    pub(crate) merge: Merge,
    /// Of what it finds, only a part is read.
    pub(crate) loose: Option<Loose>,
    /// Every row of the index is read from its end.
    pub(crate) reverse: bool,
    /// Rows come in the order that the statement wants.
    pub(crate) ordered: bool,
    /// The index has every column that is read: the rows themselves are not.
    pub(crate) covering: bool,
    /// FORCE INDEX: it is not left for a scan, however many rows it finds.
    pub(crate) forced: bool,
}

/// Which rows several paths find together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Those that one of them finds.
    Union,
    /// Those that all of them find, and perhaps more.
    Intersection,
}

/// What is read of each group of entries that are alike in the first columns of an index: the first one, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loose {
    /// How many columns; those of the primary key follow on those of another index.
    pub(crate) columns: usize,
    /// The first one in which the next column is not NULL.
    pub(crate) least: bool,
    /// The last one.
    pub(crate) greatest: bool,
}

/// What is asked of the columns of an index, from one of them on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seek {
    /// Values that the first of them must have.
    pub(crate) equal: Vec<Expr>,
    /// What the ones after those must be.
    pub(crate) tail: Tail,
}

/// What is asked of the first column of an index that is not fixed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tail {
    /// Nothing.
    Open,
    /// To be one of these; and then of the columns after it.
    In(Vec<Expr>, Box<Seek>),
    /// To be one of the values that a query gives, which are the same each time.
    Query(Box<Subquery>),
    /// To be in this range.
    Range(Bounds),
    /// To be like this pattern, with the character that makes the next one literal.
    Like(Expr, Option<char>),
    /// One of these, of this column and those after it.
    Union(Vec<Seek>),
}

/// The bounds of a range; the flag says whether the bound belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: Option<(Expr, bool)>,
    pub(crate) high: Option<(Expr, bool)>,
}

impl Seek {
    pub(crate) const NOTHING: Seek = Seek { equal: Vec::new(), tail: Tail::Open };

    pub(crate) fn is_nothing(&self) -> bool {
        self.equal.is_empty() && self.tail == Tail::Open
    }

    /// Of how many columns something is asked, at most.
    pub(crate) fn columns(&self) -> usize {
        let of_tail = match &self.tail {
            Tail::Open => 0,
            Tail::In(_, then) => 1 + then.columns(),
            Tail::Query(_) | Tail::Range(_) | Tail::Like(..) => 1,
            Tail::Union(all) => all.iter().map(Seek::columns).max().unwrap_or(0),
        };
        self.equal.len() + of_tail
    }

    /// Calls `visit` for what the columns are compared with.
    fn for_each_term(&self, visit: &mut dyn FnMut(&Expr)) {
        self.equal.iter().for_each(&mut *visit);
        match &self.tail {
            // A query that gives the same each time reads nothing.
            Tail::Open | Tail::Query(_) => {}
            Tail::Like(pattern, _) => visit(pattern),
            Tail::Range(Bounds { low, high }) => [low, high].into_iter().flatten().for_each(|(term, _)| visit(term)),
            Tail::Union(all) => all.iter().for_each(|seek| seek.for_each_term(visit)),
            Tail::In(list, then) => {
                list.iter().for_each(&mut *visit);
                then.for_each_term(visit);
            }
        }
    }
}

impl Access {
    /// Whether it is every row, or every entry of an index.
    pub(crate) fn is_whole(&self) -> bool {
        self.seek.is_nothing() && self.merged.is_empty()
    }

    /// Whether it looks for just those rows of which a condition is true, as long as its values are ones that the columns
    /// hold (`exact` in `exec::key_range`). `column_of` says which column of the table an expression is.
    pub(super) fn is_all_of(
        &self,
        condition: &Expr,
        table: &Table,
        column_of: &dyn Fn(&Expr) -> Option<usize>,
    ) -> bool {
        if let Expr::And(parts) = condition {
            return parts.iter().all(|part| self.is_all_of(part, table, column_of));
        }
        let Some(index) = self.key(table) else { return false };
        let place = |expr: &Expr| column_of(expr).and_then(|column| index.columns.iter().position(|of| *of == column));
        let Seek { equal, tail } = &self.seek;
        let equals = |place: usize, value: &Expr| equal.get(place) == Some(value);
        let after = |place: usize| place == equal.len();
        let (low_bound, high_bound) = match tail {
            Tail::Range(Bounds { low, high }) => (low.as_ref(), high.as_ref()),
            Tail::Open | Tail::In(..) | Tail::Query(_) | Tail::Like(..) | Tail::Union(_) => (None, None),
        };
        let is = |bound: Option<&(Expr, bool)>, value: &Expr, included: bool| {
            bound.is_some_and(|(bound, belongs)| bound == value && *belongs == included)
        };
        match condition {
            Expr::Compare(op, left, right, _) => {
                let (place, value, op) = match (place(left), place(right)) {
                    (Some(place), None) => (place, &**right, *op),
                    (None, Some(place)) => (place, &**left, op.flipped()),
                    _ => return false,
                };
                match op {
                    CompareOp::Equal => equals(place, value),
                    CompareOp::Less => after(place) && is(high_bound, value, false),
                    CompareOp::LessOrEqual => after(place) && is(high_bound, value, true),
                    CompareOp::Greater => after(place) && is(low_bound, value, false),
                    CompareOp::GreaterOrEqual => after(place) && is(low_bound, value, true),
                    CompareOp::NotEqual | CompareOp::NullSafeEqual => false,
                }
            }
            Expr::Between { operand, low, high, negated: false, .. } => {
                place(operand).is_some_and(after) && is(low_bound, low, true) && is(high_bound, high, true)
            }
            Expr::In { operand, list, negated: false, .. } => match (place(operand), list.as_slice(), tail) {
                (Some(place), [single], _) if equals(place, single) => true,
                (Some(place), list, Tail::In(looked_for, _)) => after(place) && looked_for == list,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether what it looks for depends on the rows that are read before.
    pub(crate) fn reads_row(&self) -> bool {
        let mut found = false;
        self.for_each_term(&mut |term| term.walk(&mut |part| found |= matches!(part, Expr::Column(_))));
        found
    }

    /// Calls `visit` for what columns are compared with.
    pub(super) fn for_each_term(&self, visit: &mut dyn FnMut(&Expr)) {
        self.with_merged().for_each(|one| one.seek.for_each_term(visit));
    }

    /// Every row, in the order they are stored.
    pub(crate) const SCAN: Access = Access {
        index: None,
        seek: Seek::NOTHING,
        merged: Vec::new(),
        merge: Merge::Union,
        loose: None,
        reverse: false,
        ordered: false,
        covering: false,
        forced: false,
    };

    /// It, and the paths that are merged in its place.
    pub(crate) fn with_merged(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(self).chain(&self.merged)
    }

    /// The index that the rows are kept in or that leads to them.
    pub(crate) fn key<'t>(&self, table: &'t Table) -> Option<&'t Index> {
        self.index.map(|index| &table.indexes[index])
    }

    /// Whether at most one row is found, by its whole key.
    pub(crate) fn is_point(&self, table: &Table) -> bool {
        self.key(table).is_some_and(|index| {
            index.is_unique()
                && self.seek.equal.len() == index.columns.len()
                && index.parts.iter().all(|part| part.prefix.is_none())
                && !self.seek.equal.contains(&Expr::Literal(Value::Null))
        })
    }
}
