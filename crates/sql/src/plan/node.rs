//! What a plan is made of: operators, and the queries within.
//!
//! A node is plain data, made once by [`super::physical`] and opened for each run ([`crate::exec::operators`]), at the same
//! time by several sessions. All nodes of a tree share one row of slots (its layout: [`super::query`]); each fills slots of
//! its own and reads those that its input has filled. A query within another one is a plan of its own, with a row of its
//! own.

use std::ops::Range;
use std::sync::Arc;

use super::access::Access;
use super::json_table::JsonTable;
use super::query::{Grouping, LimitExprs, Locking, SortKey, Window};
use crate::ast::SetOperator;
use crate::catalog::system::Rows;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::expr::{EqualKey, Expr};
use crate::types::ResultType;

/// A query ready to run.
pub(crate) struct QueryPlan {
    pub(crate) root: Node,
    /// Length of the row.
    pub(crate) slots: usize,
    /// Where in the row the select list is.
    pub(crate) outputs: Range<usize>,
    /// The tables of its WITH that read values of the query around it, by their places: they are made anew for each run.
    pub(crate) made_anew: Vec<usize>,
    /// It reads values of the query around it.
    pub(crate) reads_outer: bool,
    /// Two runs over the same rows may differ, or have an effect.
    pub(crate) volatile: bool,
}

/// A query that is a part of an expression.
pub(crate) struct AskedQuery {
    pub(crate) plan: QueryPlan,
    pub(crate) all_answers: Option<Box<AllAnswers>>,
}

/// What gives all answers of a query that reads the row around, each under what has to be equal
/// ([`super::all_answers`]).
pub(crate) struct AllAnswers {
    /// Its rows are an answer and the values that it is for.
    pub(crate) plan: QueryPlan,
    /// On the left over the values of the row around ([`Expr::Outer`]), on the right over a row of the plan.
    pub(crate) keys: Vec<EqualKey>,
    /// That these are equal.
    pub(crate) same: Expr,
    /// It costs less than to find so many answers by themselves.
    pub(crate) worth_after: u64,
}

/// A table that WITH makes.
pub(crate) enum CommonPlan {
    Query(Box<QueryPlan>),
    Recursive(Box<Recursion>),
}

impl CommonPlan {
    /// The queries that make it.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &QueryPlan> {
        let (seeds, rounds) = match self {
            CommonPlan::Query(query) => (std::slice::from_ref(&**query), &[][..]),
            CommonPlan::Recursive(recursion) => (recursion.seeds.as_slice(), recursion.rounds.as_slice()),
        };
        seeds.iter().chain(rounds)
    }
}

/// A table that is made of itself: its first rows, and what is made of the rows of each round for the next.
pub(crate) struct Recursion {
    pub(crate) seeds: Vec<QueryPlan>,
    pub(crate) rounds: Vec<QueryPlan>,
    /// No row comes twice.
    pub(crate) distinct: bool,
    /// Rounds end with so many rows.
    pub(crate) limit: Option<LimitExprs>,
    /// For messages.
    pub(crate) names: Vec<Arc<str>>,
    /// The types of the columns, which the seeds decide.
    pub(crate) types: Vec<ResultType>,
    /// What values are compared by.
    pub(crate) collations: Vec<Collation>,
}

/// Where rows come from that are not stored.
pub(crate) enum RowSource {
    /// A query with the same values of queries around as this one.
    Query(Box<QueryPlan>),
    /// A query that reads these values of the row before it.
    Lateral {
        plan: Box<QueryPlan>,
        outer: Vec<Expr>,
    },
    /// JSON_TABLE, which may read the row before it.
    JsonTable(Box<JsonTable>),
    Set(Box<SetPlan>),
    /// VALUES; all columns have these types.
    Values {
        rows: Vec<Vec<Expr>>,
        types: Vec<ResultType>,
    },
    /// A table of WITH, by its place.
    Common(usize),
    /// One that reads the query around: it has other rows for each run of the query that it belongs to.
    Correlated(usize),
    /// The rows of the last round of a table of WITH RECURSIVE, by its place.
    LastRound(usize),
}

/// A set operation, from left to right.
pub(crate) struct SetPlan {
    pub(crate) operands: Vec<Operand>,
    /// The types of the columns.
    pub(crate) types: Vec<ResultType>,
    /// What values are compared by.
    pub(crate) collations: Vec<Collation>,
}

/// One operand.
pub(crate) struct Operand {
    pub(crate) plan: QueryPlan,
    /// What joins it to those before, and whether with ALL; `None` for the first.
    pub(crate) operator: Option<(SetOperator, bool)>,
}

/// One operator.
pub(crate) enum Node {
    /// One row without columns: SELECT without FROM.
    OneRow,
    Scan(Box<TableScan>),
    SystemRows(SystemRows),
    Made(Box<MadeRows>),
    Join(Box<Join>),
    /// Rows for which the condition is true.
    Filter(Box<Node>, Expr),
    Group(Box<Node>, Grouping),
    Window(Box<Node>, Window),
    Project(Box<Node>, Projection),
    Distinct(Box<Node>, Distinct),
    Sort(Box<Node>, Sort),
    /// All rows are found before the first is given.
    Collect(Box<Node>, Kept),
    Limit(Box<Node>, LimitExprs),
    /// Those rows if these conditions, which have no columns, are true, and none otherwise.
    When(Box<Node>, Vec<Expr>),
}

/// The rows of a stored table that match.
pub(crate) struct TableScan {
    pub(crate) table: Arc<Table>,
    /// The name it goes by.
    pub(crate) known_as: String,
    /// Where its columns are.
    pub(crate) first_slot: usize,
    pub(crate) access: Access,
    /// Columns that anything reads.
    pub(crate) wanted: Vec<usize>,
    /// Those of them that the filter reads, for each condition that AND joins those that none before it does; and the others.
    pub(crate) judged: Vec<Vec<usize>>,
    pub(crate) given: Vec<usize>,
    pub(crate) filter: Option<Expr>,
    /// The filter is what the access path looks for, and nothing else ([`Access::is_all_of`]).
    pub(crate) found_by_filter: bool,
    pub(crate) locking: Option<Locking>,
    /// The statement changes the rows: each comes with its key and its stored form.
    pub(crate) changed: bool,
    /// The same where rows of several tables are changed: key and stored form go to this slot and the next one.
    pub(crate) identity: Option<usize>,
}

/// The rows of a query within, and the like.
pub(crate) struct MadeRows {
    pub(crate) rows: RowSource,
    /// Where its columns go.
    pub(crate) first_slot: usize,
    /// How many it has.
    pub(crate) width: usize,
    /// The name of the relation.
    pub(crate) known_as: String,
}

/// Rows of both sides beside each other.
pub(crate) struct Join {
    pub(crate) left: Node,
    pub(crate) right: Node,
    pub(crate) method: JoinMethod,
    /// For which this holds.
    pub(crate) on: Option<Expr>,
    pub(crate) join_type: JoinType,
    /// The slots of each side that anything reads; of the right side of a semi- or anti-join, those that `on` reads.
    pub(crate) left_slots: Vec<usize>,
    pub(crate) right_slots: Vec<usize>,
    /// The relations of the right side come first in the order that was chosen; of a hash join it is the one that is kept.
    pub(crate) swapped: bool,
    /// The order of the left side is that of the query.
    pub(crate) keeps_order: bool,
}

/// Which rows a join gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinType {
    /// Each pair for which the condition holds.
    Inner,
    /// The same, and a row of the left side without a partner comes with NULLs.
    Left,
    /// Rows of the left side that have a partner, once each.
    Semi,
    /// Rows of the left side that have none.
    Anti,
}

impl JoinType {
    /// As EXPLAIN names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            JoinType::Inner => "inner join",
            JoinType::Left => "left join",
            JoinType::Semi => "semijoin",
            JoinType::Anti => "antijoin",
        }
    }

    /// Whether a row of the left side without a partner is given.
    pub(crate) fn gives_lonely(self) -> bool {
        matches!(self, JoinType::Left | JoinType::Anti)
    }

    /// Whether the first partner decides about a row of the left side, and nothing else of it is wanted.
    pub(crate) fn seeks_one(self) -> bool {
        matches!(self, JoinType::Semi | JoinType::Anti)
    }
}

/// How the rows of the right side are found for one of the left side.
pub(crate) enum JoinMethod {
    /// The right side is opened anew.
    Loop,
    /// All its rows are looked at, which are kept.
    Kept,
    /// Those that are kept under equal keys.
    Hashed(Vec<EqualKey>),
}

/// The rows of a system table.
pub(crate) struct SystemRows {
    pub(crate) table: Arc<Table>,
    /// The name it goes by.
    pub(crate) known_as: String,
    pub(crate) first_slot: usize,
    pub(crate) rows: Rows,
}

/// The select list.
pub(crate) struct Projection {
    pub(crate) exprs: Vec<Expr>,
    /// Where their values go.
    pub(crate) first_slot: usize,
    /// Their values are in the row already, elsewhere ([`QueryPlan::outputs`]).
    pub(crate) is_there: bool,
}

/// Rows whose values in these slots were not there yet.
pub(crate) struct Distinct {
    pub(crate) first_slot: usize,
    /// What the values are compared by.
    pub(crate) collations: Vec<Collation>,
    /// Where the row ends, with what is not compared.
    pub(crate) end: usize,
}

/// Rows in the order of the keys; rows that are equal stay in the order they come in.
pub(crate) struct Sort {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) kept: Kept,
    /// Of rows with equal keys the first is given alone: the keys are what DISTINCT compares.
    pub(crate) unique: bool,
    /// The access path gives this order: nothing is to be done where it can be used with the values of the run.
    pub(crate) by_path: bool,
}

/// What is kept of a row while others are found.
pub(crate) enum Kept {
    /// The values of these slots.
    Slots(Range<usize>),
    /// The stored form of a row that is to be changed, from which its columns are read again.
    Stored { table: Arc<Table>, first_slot: usize, wanted: Vec<usize> },
}

impl Node {
    /// The operator that it takes its rows from.
    pub(crate) fn input(&self) -> Option<&Node> {
        match self {
            Node::OneRow | Node::Scan(_) | Node::SystemRows(_) | Node::Made(_) => None,
            Node::Join(join) => Some(&join.left),
            Node::Filter(input, _)
            | Node::Group(input, _)
            | Node::Window(input, _)
            | Node::Project(input, _)
            | Node::Distinct(input, _)
            | Node::Sort(input, _)
            | Node::Collect(input, _)
            | Node::Limit(input, _)
            | Node::When(input, _) => Some(input),
        }
    }

    /// Takes out of it what makes the rows whose columns lie from a slot on.
    pub(super) fn take_made(&mut self, first_slot: usize) -> Option<RowSource> {
        match self {
            Node::OneRow | Node::Scan(_) | Node::SystemRows(_) => None,
            Node::Made(made) => {
                let nothing = RowSource::Common(usize::MAX);
                (made.first_slot == first_slot).then(|| std::mem::replace(&mut made.rows, nothing))
            }
            Node::Join(join) => join.left.take_made(first_slot).or_else(|| join.right.take_made(first_slot)),
            Node::Filter(input, _)
            | Node::Group(input, _)
            | Node::Window(input, _)
            | Node::Project(input, _)
            | Node::Distinct(input, _)
            | Node::Sort(input, _)
            | Node::Collect(input, _)
            | Node::Limit(input, _)
            | Node::When(input, _) => input.take_made(first_slot),
        }
    }

    /// Whether it is the rows of one relation.
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self, Node::Scan(_) | Node::SystemRows(_) | Node::Made(_))
    }

    /// Whether its rows are those of a loose index scan: one or two of each group.
    pub(crate) fn is_loose(&self) -> bool {
        self.chain().last().is_some_and(|node| matches!(node, Node::Scan(scan) if scan.access.loose.is_some()))
    }

    /// It and the operators below, of a join those of its left side.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(self), |node| node.input())
    }

    /// Calls `visit` for it and all operators below, in the order that was chosen for the relations.
    pub(crate) fn walk<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        if let Node::Join(join) = self
            && join.swapped
        {
            join.right.walk(visit);
            join.left.walk(visit);
            return visit(self);
        }
        if let Some(input) = self.input() {
            input.walk(visit);
        }
        if let Node::Join(join) = self {
            join.right.walk(visit);
        }
        visit(self);
    }
}

impl QueryPlan {
    /// Whether it has a LIMIT.
    pub(crate) fn has_limit(&self) -> bool {
        self.root.chain().any(|node| matches!(node, Node::Limit(..)))
    }

    /// Whether it gives the same rows each time, whatever is around it.
    pub(crate) fn is_same_each_time(&self) -> bool {
        !self.reads_outer && !self.volatile && self.made_anew.is_empty()
    }

    /// Whether no key bounds the rows of a table that it looks at.
    pub(crate) fn looks_at_every_row(&self) -> bool {
        let mut found = false;
        self.root.walk(&mut |node| found |= matches!(node, Node::Scan(scan) if scan.access.is_whole()));
        found
    }

    /// The expressions of the select list.
    pub(crate) fn select_list(&self) -> &[Expr] {
        let projection = self.root.chain().find_map(|node| match node {
            Node::Project(_, projection) => Some(projection.exprs.as_slice()),
            _ => None,
        });
        projection.unwrap_or_default()
    }
}

/// Where the key of a target's row goes, if those of all lie from a slot on: the stored form follows it.
pub(super) fn identity_slot(first: usize, target: usize) -> usize {
    first + 2 * target
}

impl QueryPlan {
    /// Where the key of the row of a target is, and after it its stored form; NULL without a row.
    pub(crate) fn identity(&self, target: usize) -> usize {
        identity_slot(self.outputs.end, target)
    }
}
