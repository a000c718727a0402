//! The syntax tree of the statements this server knows.
//!
//! It is the boundary of the front end: all that is syntax is settled before it, and nothing else. Names are as written,
//! not resolved. What a tree can say and the planner cannot do yet, the planner refuses (error 1235).
//!
//! Outline: statements here, queries and changes of rows in `query`, JSON_TABLE in `json_table`, expressions in `expression`,
//! accounts in `account`, changes of the schema in `schema`, privileges and roles in `grant`,
//! optimizer hints in `hints`.

mod account;
mod expression;
mod grant;
mod hints;
mod json_table;
mod query;
mod schema;

pub use account::*;
pub use expression::*;
pub use grant::*;
pub use hints::*;
pub use json_table::*;
pub use query::*;
pub use schema::*;

use crate::expr::VariableScope;
use crate::isolation_level::IsolationLevel;
use crate::session::interrupt::KillTarget;
use cohort_binlog::XaId;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, TABLE, VALUES, and what is made of them.
    Select(Box<Query>),
    /// INSERT, REPLACE
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// EXPLAIN
    Explain(Box<Explain>),
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
    /// FLUSH TABLES
    FlushTables(FlushTables),
    /// LOCK TABLES
    LockTables(Vec<TableLock>),
    /// UNLOCK TABLES
    UnlockTables,
    /// LOCK INSTANCE, BACKUP
    Backup(BackupCommand),
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE
    Maintain(Maintain),
    /// PREPARE
    Prepare { name: String, from: PreparedText },
    /// EXECUTE, with the user variables of USING, in lower case.
    Execute { name: String, using: Vec<String> },
    /// DEALLOCATE PREPARE, DROP PREPARE
    Deallocate(String),
    /// What changes nothing.
    Nothing,
}

/// What PREPARE makes a statement of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreparedText {
    Text(String),
    /// The value of a user variable, in lower case.
    Variable(String),
}

/// EXPLAIN
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub statement: Statement,
    pub format: ExplainFormat,
    /// ANALYZE: it runs.
    pub analyze: bool,
}

/// FORMAT
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Json,
    Tree,
}

/// ANALYZE TABLE and its relatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintain {
    pub what: Maintenance,
    pub tables: Vec<TableName>,
    /// CHECKSUM ... QUICK
    pub quick: bool,
    /// ANALYZE ... HISTOGRAM
    pub histograms: Option<ChangeHistograms>,
}

/// What becomes of the histograms of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeHistograms {
    /// No name is there twice.
    pub columns: Vec<String>,
    /// UPDATE: they are made anew, with at most so many buckets. `None` for DROP.
    pub buckets: Option<u16>,
}

/// What is done with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

impl Maintain {
    /// Its name, as answers show it.
    pub fn operation(&self) -> &'static str {
        match self.what {
            Maintenance::Analyze if self.histograms.is_some() => "histogram",
            Maintenance::Analyze => "analyze",
            Maintenance::Check => "check",
            Maintenance::Checksum => "checksum",
            Maintenance::Optimize => "optimize",
            Maintenance::Repair => "repair",
        }
    }
}

/// FLUSH TABLES
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlushTables {
    /// None for all.
    pub tables: Vec<TableName>,
    /// WITH READ LOCK
    pub read_lock: bool,
}

/// What a backup locks, or gives up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupCommand {
    /// LOCK INSTANCE FOR BACKUP
    LockInstance,
    /// UNLOCK INSTANCE
    UnlockInstance,
    /// BACKUP STAGE
    Stage(BackupStage),
    /// BACKUP LOCK
    LockTable(TableName),
    /// BACKUP UNLOCK
    UnlockTable,
}

/// The stages of BACKUP STAGE, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackupStage {
    /// Other backups wait.
    Start,
    /// There is nothing to be flushed.
    Flush,
    /// Changes of definitions wait.
    BlockDdl,
    /// Commits wait.
    BlockCommit,
    /// Everything goes on.
    End,
}

impl BackupStage {
    /// Every stage.
    pub const ALL: [BackupStage; 5] =
        [BackupStage::Start, BackupStage::Flush, BackupStage::BlockDdl, BackupStage::BlockCommit, BackupStage::End];

    /// As the statement names it.
    pub fn name(self) -> &'static str {
        match self {
            BackupStage::Start => "START",
            BackupStage::Flush => "FLUSH",
            BackupStage::BlockDdl => "BLOCK_DDL",
            BackupStage::BlockCommit => "BLOCK_COMMIT",
            BackupStage::End => "END",
        }
    }
}

/// One table of LOCK TABLES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLock {
    /// Which table.
    pub name: TableName,
    /// The name that statements will use.
    pub alias: Option<String>,
    /// WRITE rather than READ.
    pub write: bool,
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
        xid: XaId,
        /// JOIN or RESUME.
        join: Option<XaJoin>,
    },
    /// XA END
    End {
        xid: XaId,
        /// SUSPEND, with or without FOR MIGRATE.
        suspend: bool,
    },
    /// XA PREPARE
    Prepare(XaId),
    /// XA COMMIT
    Commit {
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

/// What XA START may say after the name.
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
    /// NAMES; `None` is DEFAULT.
    Names {
        /// The character set.
        charset: Option<String>,
        /// COLLATE
        collation: Option<String>,
    },
    /// CHARACTER SET; `None` is DEFAULT.
    CharacterSet(Option<String>),
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
    /// A SHOW whose list is empty here.
    Absent {
        /// Of what.
        what: Absent,
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

/// What there is none of here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// SHOW TRIGGERS
    Triggers,
    /// SHOW EVENTS
    Events,
    /// SHOW PROCEDURE STATUS, SHOW FUNCTION STATUS
    Routines,
    /// SHOW OPEN TABLES: there is no cache of tables.
    OpenTables,
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
        /// USING
        roles: Vec<AccountName>,
    },
    /// SHOW CREATE USER
    CreateUser {
        /// None for the session's own.
        account: Option<AccountName>,
    },
    /// SHOW BINLOG EVENTS
    BinlogEvents {
        /// IN; the oldest file if not named.
        file: Option<String>,
        /// FROM
        from: u64,
        /// LIMIT, as offset and count.
        limit: (u64, u64),
    },
    /// SHOW SLAVE STATUS, SHOW REPLICA STATUS
    ReplicaStatus,
    /// SHOW REPLICAS
    Replicas {
        /// SHOW SLAVE HOSTS
        old_names: bool,
    },
}

/// What an operator does.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminCommand {
    /// FLUSH LOGS, FLUSH BINARY LOGS
    FlushLogs,
    /// FLUSH PRIVILEGES
    FlushPrivileges,
    /// FLUSH STATUS
    FlushStatus,
    /// FLUSH HOSTS
    FlushHosts,
    /// FLUSH `USER_RESOURCES`
    FlushUserResources,
    /// PURGE BINARY LOGS TO 'file'
    PurgeBinaryLogsTo(String),
    /// PURGE BINARY LOGS BEFORE, with the time in seconds since 1970.
    PurgeBinaryLogsBefore(Box<Expr>),
    /// RESET MASTER, RESET BINARY LOGS AND GTIDS
    ResetBinaryLogs,
    /// ALTER INSTANCE RELOAD TLS
    ReloadTls,
    /// SHUTDOWN
    Shutdown,
}
