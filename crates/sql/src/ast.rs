//! The syntax tree of the statements this server knows.
//!
//! It is the boundary of the front end: nothing behind it sees the parser's own types, and what the
//! tree cannot say is refused before it gets here (error 1235). Names are as written, not resolved.

use crate::collation::Collation;
use crate::expr::{ArithmeticOp, CastType, CompareOp, IntervalUnit, Param, ParamKind, UnaryOp, VariableScope};
use crate::isolation_level::IsolationLevel;
use crate::session::interrupt::KillTarget;
use crate::types::ColumnType;
use crate::value::Value;
use cohort_binlog::XaId;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT
    Select(Box<Select>),
    /// INSERT, REPLACE
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// EXPLAIN
    Explain(Box<Statement>),
    /// BEGIN, START TRANSACTION
    Begin {
        /// WITH CONSISTENT SNAPSHOT
        consistent_snapshot: bool,
        /// READ ONLY or READ WRITE, if said.
        read_only: Option<bool>,
    },
    /// COMMIT
    Commit(Completion),
    /// ROLLBACK
    Rollback(Completion),
    /// SAVEPOINT name
    Savepoint(String),
    /// ROLLBACK TO name
    RollbackTo(String),
    /// RELEASE SAVEPOINT name
    ReleaseSavepoint(String),
    /// XA START and so on.
    Xa(XaStatement),
    /// SET
    Set(Vec<Assignment>),
    /// USE name
    Use(String),
    /// KILL
    Kill {
        /// What to end.
        target: KillTarget,
        /// Whose.
        connection: Expr,
    },
    /// DO expressions
    Do(Vec<Expr>),
    /// A change of the schema.
    Ddl(Box<Ddl>),
    /// A SHOW that the catalog answers.
    ShowSchema {
        /// What to show.
        what: ShowSchema,
        /// LIKE or WHERE.
        filter: Option<ShowFilter>,
    },
    /// A SHOW that the server answers.
    Show {
        /// What to show.
        what: ShowKind,
        /// LIKE or WHERE.
        filter: Option<ShowFilter>,
    },
    /// SHOW WARNINGS, SHOW ERRORS and their counts.
    ShowDiagnostics {
        /// Errors only.
        errors_only: bool,
        /// SHOW COUNT(*) WARNINGS
        count: bool,
        /// LIMIT, as offset and count.
        limit: Option<(u64, u64)>,
    },
    /// CREATE USER, GRANT and so on.
    Account(AccountStatement),
    /// What an operator does.
    Admin(AdminCommand),
    /// UNLOCK TABLES
    UnlockTables,
    /// ALTER TABLE ... DISABLE KEYS: nothing to do.
    Nothing,
}

/// What follows the end of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// AND CHAIN
    pub chain: bool,
    /// RELEASE
    pub release: bool,
}

/// A statement about XA transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XaStatement {
    /// XA START, XA BEGIN
    Start {
        /// Its name.
        xid: XaId,
        /// JOIN or RESUME.
        join: Option<XaJoin>,
    },
    /// XA END
    End {
        /// Whose.
        xid: XaId,
        /// SUSPEND, with or without FOR MIGRATE.
        suspend: bool,
    },
    /// XA PREPARE
    Prepare(XaId),
    /// XA COMMIT
    Commit {
        /// Whose.
        xid: XaId,
        /// ONE PHASE
        one_phase: bool,
    },
    /// XA ROLLBACK
    Rollback(XaId),
    /// XA RECOVER
    Recover {
        /// CONVERT XID
        convert: bool,
    },
}

/// What XA START may say behind the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaJoin {
    /// JOIN
    Join,
    /// RESUME
    Resume,
}

/// One assignment of a SET.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `@name = expr`
    User(String, Expr),
    /// `name = expr`; `None` is DEFAULT. [`VariableScope::Any`] where no scope is written before `@@name`.
    System {
        /// GLOBAL, SESSION or neither.
        scope: VariableScope,
        /// In lower case.
        name: String,
        /// `None` is DEFAULT.
        value: Option<Expr>,
    },
    /// NAMES, CHARACTER SET; `None` is DEFAULT.
    Names {
        /// The character set.
        charset: Option<String>,
        /// COLLATE
        collation: Option<String>,
    },
    /// `SET [scope] TRANSACTION`
    Transaction {
        /// `Any` means the next transaction only.
        scope: VariableScope,
        /// ISOLATION LEVEL
        isolation: Option<IsolationLevel>,
        /// READ ONLY, READ WRITE
        read_only: Option<bool>,
    },
}

/// `[database.]table`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The database, if written.
    pub database: Option<String>,
    /// The table.
    pub table: String,
}

/// A table in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// Which.
    pub name: TableName,
    /// AS
    pub alias: Option<String>,
    /// USE/FORCE/IGNORE INDEX
    pub hints: Vec<IndexHint>,
}

/// USE INDEX and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHint {
    /// Which of the three.
    pub kind: IndexHintKind,
    /// Index names.
    pub indexes: Vec<String>,
}

/// Which index hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// SELECT over one table or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// DISTINCT
    pub distinct: bool,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// The table, if any.
    pub from: Option<TableRef>,
    /// WHERE
    pub filter: Option<Expr>,
    /// GROUP BY
    pub group_by: Vec<Expr>,
    /// HAVING
    pub having: Option<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// LIMIT
    pub limit: Option<Limit>,
    /// FOR UPDATE, FOR SHARE
    pub locking: Option<Locking>,
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
        /// The expression as written: its name without an alias.
        text: String,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locking {
    /// FOR UPDATE, not FOR SHARE.
    pub exclusive: bool,
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

/// INSERT or REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// Into what.
    pub table: TableName,
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
    /// SELECT
    Select(Box<Select>),
}

/// UPDATE of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Which table.
    pub table: TableRef,
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

/// DELETE from one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// Which table.
    pub table: TableRef,
    /// IGNORE
    pub ignore: bool,
    /// WHERE
    pub filter: Option<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// LIMIT
    pub limit: Option<Expr>,
}

/// `[[database.]table.]column`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// The database, if written.
    pub database: Option<String>,
    /// The table or alias, if written.
    pub table: Option<String>,
    /// The column.
    pub column: String,
}

/// An expression, unbound.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Value),
    /// A parameter.
    Param(Param),
    /// A column.
    Column(ColumnName),
    /// `-x`, `~x`
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic and bits.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// A comparison.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// All of them.
    And(Vec<Expr>),
    /// Any of them.
    Or(Vec<Expr>),
    /// XOR
    Xor(Box<Expr>, Box<Expr>),
    /// NOT
    Not(Box<Expr>),
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// x
        operand: Box<Expr>,
        /// Lower bound.
        low: Box<Expr>,
        /// Upper bound.
        high: Box<Expr>,
        /// NOT
        negated: bool,
    },
    /// `x [NOT] IN (list)`
    In {
        /// x
        operand: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT
        negated: bool,
    },
    /// `x [NOT] LIKE pattern`
    Like {
        /// x
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// ESCAPE; `None` for the empty string.
        escape: Option<char>,
        /// NOT
        negated: bool,
    },
    /// `x IS [NOT] NULL`
    IsNull {
        /// x
        operand: Box<Expr>,
        /// NOT
        negated: bool,
    },
    /// `x IS [NOT] TRUE`
    IsTruth {
        /// x
        operand: Box<Expr>,
        /// TRUE or FALSE.
        truth: bool,
        /// NOT
        negated: bool,
    },
    /// CASE
    Case {
        /// CASE x
        operand: Option<Box<Expr>>,
        /// WHEN, THEN
        branches: Vec<(Expr, Expr)>,
        /// ELSE
        otherwise: Option<Box<Expr>>,
    },
    /// CAST, CONVERT
    Cast(Box<Expr>, CastType),
    /// COLLATE
    Collate(Box<Expr>, Collation),
    /// A function, aggregates included.
    Call {
        /// As written.
        name: String,
        /// The arguments; none for `COUNT(*)`.
        args: Vec<Expr>,
        /// DISTINCT
        distinct: bool,
    },
    /// `date + INTERVAL amount unit`
    DateAdd {
        /// date
        date: Box<Expr>,
        /// How many units.
        amount: Box<Expr>,
        /// Which unit.
        unit: IntervalUnit,
        /// Subtract.
        negated: bool,
    },
    /// EXTRACT(unit FROM date)
    Extract(IntervalUnit, Box<Expr>),
    /// TIMESTAMPDIFF(unit, from, to)
    TimestampDiff(IntervalUnit, Box<Expr>, Box<Expr>),
    /// `@name`
    UserVariable(String, Option<ParamKind>),
    /// `@name := x`
    AssignUserVariable(String, Box<Expr>),
    /// `@@name`
    SystemVariable(VariableScope, String, Option<ParamKind>),
    /// VALUES(column) in ON DUPLICATE KEY UPDATE.
    Values(ColumnName),
    /// DEFAULT, DEFAULT(column)
    Default(Option<ColumnName>),
}

/// A change of the schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Ddl {
    /// CREATE DATABASE
    CreateDatabase {
        /// Its name.
        name: String,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// The default collation of its tables.
        collation: Option<Collation>,
    },
    /// DROP DATABASE
    DropDatabase {
        /// Its name.
        name: String,
        /// IF EXISTS
        if_exists: bool,
    },
    /// CREATE TABLE
    CreateTable(CreateTable),
    /// CREATE TABLE ... LIKE
    CreateTableLike {
        /// The new table.
        name: TableName,
        /// Its model.
        like: TableName,
        /// IF NOT EXISTS
        if_not_exists: bool,
    },
    /// DROP TABLE
    DropTables {
        /// Which.
        names: Vec<TableName>,
        /// IF EXISTS
        if_exists: bool,
    },
    /// TRUNCATE
    Truncate(TableName),
    /// ALTER TABLE, CREATE INDEX, DROP INDEX.
    AlterTable {
        /// Which table.
        name: TableName,
        /// What to do, in order.
        actions: Vec<AlterAction>,
    },
}

/// One action of an ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// ADD INDEX
    AddIndex(IndexSpec),
    /// DROP INDEX
    DropIndex(String),
    /// ENGINE = the one it has, AUTO_INCREMENT = n and such.
    AutoIncrement(u64),
    /// COMMENT = '...'
    Comment(String),
}

/// CREATE TABLE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: TableName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The columns.
    pub columns: Vec<ColumnSpec>,
    /// Keys outside of columns.
    pub indexes: Vec<IndexSpec>,
    /// ENGINE
    pub engine: Option<String>,
    /// COLLATE, or the default of CHARSET.
    pub collation: Option<Collation>,
    /// COMMENT
    pub comment: String,
    /// AUTO_INCREMENT
    pub auto_increment: Option<u64>,
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its type; strings carry the collation named here, or none.
    pub column_type: ColumnType,
    /// Whether the column names its own collation.
    pub own_collation: bool,
    /// NULL or NOT NULL, if said.
    pub nullable: Option<bool>,
    /// DEFAULT
    pub default: Option<Expr>,
    /// ON UPDATE CURRENT_TIMESTAMP
    pub on_update_now: bool,
    /// AUTO_INCREMENT
    pub auto_increment: bool,
    /// PRIMARY KEY
    pub primary_key: bool,
    /// UNIQUE
    pub unique: bool,
    /// COMMENT
    pub comment: String,
}

/// Which kind of key is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum KeySpec {
    Primary,
    Unique,
    Plain,
}

/// A key of CREATE TABLE or CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSpec {
    /// Its name, if given.
    pub name: Option<String>,
    /// Which kind.
    pub kind: KeySpec,
    /// Column names with prefix lengths.
    pub columns: Vec<(String, Option<u16>)>,
    /// COMMENT
    pub comment: String,
}

/// LIKE or WHERE of a SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    /// A pattern for the first column.
    Like(String),
    /// A condition over the columns shown.
    Where(Expr),
}

/// What the catalog can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShowSchema {
    /// SHOW DATABASES
    Databases,
    /// `SHOW [FULL] TABLES`
    Tables {
        /// FULL
        full: bool,
        /// FROM
        database: Option<String>,
    },
    /// SHOW TABLE STATUS
    TableStatus {
        /// FROM
        database: Option<String>,
    },
    /// `SHOW [FULL] COLUMNS`, `DESCRIBE`
    Columns {
        /// FULL
        full: bool,
        /// FROM
        table: TableName,
    },
    /// SHOW INDEX
    Index {
        /// FROM
        table: TableName,
    },
    /// SHOW CREATE TABLE
    CreateTable {
        /// Which.
        table: TableName,
    },
    /// SHOW CREATE DATABASE
    CreateDatabase {
        /// Which.
        name: String,
        /// IF NOT EXISTS
        if_not_exists: bool,
    },
}

/// What the server can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShowKind {
    /// SHOW VARIABLES
    Variables(VariableScope),
    /// SHOW STATUS
    Status(VariableScope),
    /// `SHOW [FULL] PROCESSLIST`
    ProcessList {
        /// FULL
        full: bool,
    },
    /// SHOW BINARY LOGS
    BinaryLogs,
    /// SHOW MASTER STATUS, SHOW BINARY LOG STATUS
    BinaryLogStatus,
    /// SHOW ENGINES
    Engines,
    /// SHOW ENGINE name STATUS and the like
    Engine {
        /// The engine.
        name: String,
        /// STATUS, MUTEX, LOGS
        what: String,
    },
    /// SHOW COLLATION
    Collation,
    /// SHOW CHARACTER SET
    CharacterSet,
    /// SHOW PLUGINS
    Plugins,
    /// SHOW PRIVILEGES
    Privileges,
    /// SHOW GRANTS
    Grants {
        /// FOR
        account: Option<AccountName>,
    },
    /// SHOW SLAVE STATUS, SHOW REPLICA STATUS
    ReplicaStatus,
    /// SHOW SLAVE HOSTS, SHOW REPLICAS
    Replicas,
}

/// `'user'@'host'`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountName {
    /// The user.
    pub user: String,
    /// The host, `%` if not written.
    pub host: String,
}

/// IDENTIFIED ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// BY 'password'
    Password {
        /// WITH plugin
        plugin: Option<String>,
        /// In clear.
        password: String,
    },
    /// WITH plugin [AS 'hash']
    Plugin {
        /// The plugin.
        plugin: String,
        /// The stored form.
        hash: Option<Vec<u8>>,
    },
}

/// Statements about accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountStatement {
    /// CREATE USER
    CreateUser {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Who.
        users: Vec<(AccountName, Option<Authentication>)>,
    },
    /// ALTER USER
    AlterUser {
        /// IF EXISTS
        if_exists: bool,
        /// Who.
        users: Vec<(AccountName, Option<Authentication>)>,
    },
    /// DROP USER
    DropUser {
        /// IF EXISTS
        if_exists: bool,
        /// Who.
        users: Vec<AccountName>,
    },
    /// SET PASSWORD; `None` is the session's own account.
    SetPassword {
        /// FOR
        user: Option<AccountName>,
        /// In clear.
        password: String,
    },
    /// GRANT
    Grant {
        /// Privileges as written, in upper case.
        privileges: Vec<String>,
        /// `*.*`, `db.*`, `db.t` as written.
        on: String,
        /// To whom.
        users: Vec<AccountName>,
        /// WITH GRANT OPTION
        grant_option: bool,
    },
    /// REVOKE
    Revoke {
        /// Privileges as written, in upper case.
        privileges: Vec<String>,
        /// `*.*`, `db.*`, `db.t` as written.
        on: String,
        /// From whom.
        users: Vec<AccountName>,
    },
}

/// What an operator does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// FLUSH LOGS, FLUSH BINARY LOGS
    FlushLogs,
    /// FLUSH TABLES
    FlushTables,
    /// FLUSH TABLES WITH READ LOCK
    FlushTablesWithReadLock,
    /// FLUSH PRIVILEGES
    FlushPrivileges,
    /// FLUSH STATUS
    FlushStatus,
    /// FLUSH HOSTS
    FlushHosts,
    /// PURGE BINARY LOGS TO 'file'
    PurgeBinaryLogsTo(String),
    /// PURGE BINARY LOGS BEFORE 'time'
    PurgeBinaryLogsBefore(String),
    /// RESET MASTER, RESET BINARY LOGS AND GTIDS
    ResetBinaryLogs,
    /// SHUTDOWN
    Shutdown,
}
