//! Queries, and the statements that change rows.

use super::{BlockRef, ColumnName, Expr, JsonTable, WindowSpec};

/// Where something stands in the statement: offsets of its first byte and of the one after its last. It has no part in
/// whether two trees are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// After the last one.
    pub end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

/// `[database.]table`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableName {
    /// The database, if written.
    pub database: Option<String>,
    /// The table.
    pub table: String,
}

/// What SELECT, TABLE and VALUES are put together to: a statement, a subquery, a derived table.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// WITH
    pub with: Option<With>,
    /// What gives the rows.
    pub body: QueryBody,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// LIMIT
    pub limit: Option<Limit>,
    /// FOR UPDATE and the like, in order.
    pub locking: Vec<Locking>,
    /// INTO
    pub into: Option<Into>,
    /// Where it stands.
    pub span: Span,
}

/// WITH
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// RECURSIVE
    pub recursive: bool,
    /// The common table expressions.
    pub tables: Vec<CommonTable>,
}

/// `name [(columns)] AS (query)`
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTable {
    pub name: String,
    /// Its columns, if named.
    pub columns: Vec<String>,
    /// Its rows.
    pub query: Query,
    /// How often tables are called so up to the end of the query that has the WITH, in all that stands before as well.
    pub named: usize,
}

/// What gives the rows of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// SELECT
    Select(Box<Select>),
    /// VALUES ROW(...), ...
    Values(Vec<Vec<Expr>>),
    /// TABLE name
    Table(TableName),
    /// `(query)`
    Nested(Box<Query>),
    /// UNION, EXCEPT and INTERSECT, from left to right.
    Set {
        /// The first operand.
        first: Box<QueryBody>,
        /// Operators with what follows them.
        rest: Vec<SetOperand>,
    },
}

impl QueryBody {
    /// The first query block.
    pub fn outermost_block(&self) -> Option<&BlockRef> {
        match self {
            QueryBody::Select(select) => Some(&select.block),
            QueryBody::Nested(query) => query.body.outermost_block(),
            QueryBody::Set { first, rest } => {
                let mut bodies = std::iter::once(&**first).chain(rest.iter().map(|operand| &operand.body));
                bodies.find_map(QueryBody::outermost_block)
            }
            QueryBody::Values(_) | QueryBody::Table(_) => None,
        }
    }
}

/// One set operator and what follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOperand {
    /// Which.
    pub operator: SetOperator,
    /// ALL
    pub all: bool,
    /// What follows.
    pub body: QueryBody,
}

/// Which set operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

/// SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... WINDOW
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// Its hints.
    pub block: BlockRef,
    /// DISTINCT
    pub distinct: bool,
    /// STRAIGHT_JOIN
    pub straight_join: bool,
    /// SQL_CALC_FOUND_ROWS
    pub calc_found_rows: bool,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// INTO before FROM.
    pub into: Option<Into>,
    /// FROM; empty for none and for DUAL.
    pub from: Vec<TableExpr>,
    /// WHERE
    pub filter: Option<Expr>,
    /// GROUP BY
    pub group_by: Vec<Expr>,
    /// WITH ROLLUP
    pub rollup: bool,
    /// HAVING
    pub having: Option<Expr>,
    /// WINDOW
    pub windows: Vec<(String, WindowSpec)>,
}

/// One item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*` or `t.*`
    Wildcard {
        /// The table.
        table: Option<TableName>,
    },
    /// An expression.
    Expr {
        /// The expression.
        expr: Expr,
        /// AS
        alias: Option<String>,
        /// Its name without an alias: the expression as written, or what a string says.
        text: String,
        /// Where the expression stands.
        span: Span,
    },
}

/// One key of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    /// By what.
    pub expr: Expr,
    /// DESC
    pub descending: bool,
}

/// LIMIT
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Rows to skip.
    pub offset: Option<Expr>,
    /// Rows at most.
    pub count: Expr,
}

/// A locking clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    /// FOR UPDATE, not FOR SHARE.
    pub exclusive: bool,
    /// OF: which tables; empty for all.
    pub tables: Vec<TableName>,
    /// What to do where a row is locked.
    pub wait: RowWait,
}

/// What a locking read does where a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowWait {
    /// Wait.
    Wait,
    /// NOWAIT
    NoWait,
    /// SKIP LOCKED
    SkipLocked,
}

/// Where a query's rows go if not to the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Into {
    /// `@name, ...`: user variables in lower case, each after its `@`, or names of a stored program's own.
    Variables(Vec<String>),
    /// OUTFILE
    Outfile {
        /// The file.
        file: Expr,
        /// CHARACTER SET
        charset: Option<String>,
        /// How rows are written.
        format: Box<FileFormat>,
    },
    /// DUMPFILE
    Dumpfile(Expr),
}

/// FIELDS and LINES: strings, or parameters, where they are said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileFormat {
    /// FIELDS TERMINATED BY
    pub fields_terminated: Option<Expr>,
    /// FIELDS ENCLOSED BY
    pub enclosed: Option<Expr>,
    /// OPTIONALLY
    pub optionally: bool,
    /// FIELDS ESCAPED BY
    pub escaped: Option<Expr>,
    /// LINES STARTING BY
    pub lines_starting: Option<Expr>,
    /// LINES TERMINATED BY
    pub lines_terminated: Option<Expr>,
}

/// A table in FROM, or several.
#[derive(Clone, Debug, PartialEq)]
pub enum TableExpr {
    /// A table by its name.
    Table(TableRef),
    /// A query.
    Derived(Box<Derived>),
    /// Rows that are made of a document.
    JsonTable(Box<JsonTable>),
    /// Tables joined, from left to right.
    Joined {
        /// The first one.
        first: Box<TableExpr>,
        /// What is joined to it.
        joins: Vec<Join>,
    },
    /// `(t, u)`: all combinations.
    List(Vec<TableExpr>),
}

/// A table by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// Which.
    pub name: TableName,
    /// PARTITION
    pub partitions: Vec<String>,
    /// AS
    pub alias: Option<String>,
    /// USE/FORCE/IGNORE INDEX
    pub hints: Vec<IndexHint>,
    /// Where its name stands.
    pub span: Span,
}

/// `[LATERAL] (query) AS alias [(columns)]`
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// LATERAL
    pub lateral: bool,
    /// The query.
    pub query: Query,
    pub alias: String,
    /// Its columns, if named.
    pub columns: Vec<String>,
}

/// What is joined to the tables before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// How.
    pub kind: JoinKind,
    /// With what.
    pub table: TableExpr,
    /// On what.
    pub condition: JoinCondition,
}

/// How tables are joined; CROSS JOIN is an inner one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Straight,
}

/// Which rows of two tables belong together.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// All.
    None,
    /// ON
    On(Expr),
    /// USING
    Using(Vec<String>),
    /// NATURAL
    Natural,
}

/// USE INDEX and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHint {
    /// Which of the three.
    pub kind: IndexHintKind,
    /// FOR, if said.
    pub purpose: Option<IndexPurpose>,
    /// Index names.
    pub indexes: Vec<String>,
}

/// Which index hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// What an index hint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPurpose {
    Join,
    OrderBy,
    GroupBy,
}

/// INSERT or REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// Its hints; those of its query are with it.
    pub block: BlockRef,
    /// Into what.
    pub table: TableName,
    /// PARTITION
    pub partitions: Vec<String>,
    /// REPLACE
    pub replace: bool,
    /// IGNORE
    pub ignore: bool,
    /// The columns, if named.
    pub columns: Option<Vec<String>>,
    /// Where rows come from.
    pub source: InsertSource,
    /// AS new(a, b): what the new row is called in ON DUPLICATE KEY UPDATE.
    pub row_alias: Option<(String, Vec<String>)>,
    /// ON DUPLICATE KEY UPDATE
    pub on_duplicate: Vec<(ColumnName, Expr)>,
}

/// Where inserted rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// VALUES lists.
    Values(Vec<Vec<Expr>>),
    /// SELECT, TABLE and the like.
    Query(Box<Query>),
}

/// UPDATE
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Its hints.
    pub block: BlockRef,
    /// WITH
    pub with: Option<With>,
    /// Which tables.
    pub tables: Vec<TableExpr>,
    /// IGNORE
    pub ignore: bool,
    /// SET
    pub assignments: Vec<(ColumnName, Expr)>,
    /// WHERE
    pub filter: Option<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// LIMIT
    pub limit: Option<Expr>,
}

/// DELETE
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// Its hints.
    pub block: BlockRef,
    /// WITH
    pub with: Option<With>,
    /// From which tables rows go, where it says so: `DELETE t, u FROM ...`, `DELETE FROM t, u USING ...`.
    pub targets: Vec<TableName>,
    /// Which tables are read.
    pub tables: Vec<TableExpr>,
    /// IGNORE
    pub ignore: bool,
    /// WHERE
    pub filter: Option<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// LIMIT
    pub limit: Option<Expr>,
}
