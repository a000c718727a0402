//! What a statement has around it: the session's state, what the server gives, where rows go.
//!
//! Outline: [`SessionState`] lives as long as a connection and is changed by one statement at a time;
//! [`Environment`] is implemented by the server; [`ResultSink`] takes a result set row by row;
//! [`Outcome`] is what is left to do and to say when a statement has run.
//!
//! A statement never commits its own changes, DDL apart: it hands the transaction to be committed to
//! its caller in [`Outcome::commit`], together with what to say once that is durable, so that whoever
//! finishes the commit can send the OK itself. Other answers, errors too, wait for what they rest on
//! ([`SessionState::rests_on`]).

mod diagnostics;
pub(crate) mod gtid_next;
pub(crate) mod interrupt;
pub(crate) mod locked_tables;
pub(crate) mod meaning;
pub mod optimizer_switch;
mod own_locks;
pub(crate) mod row_counts;
mod server_read_only;
mod stand_in;
pub(crate) mod xa;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cohort_binlog::{BinlogPosition, GtidSet};
use cohort_txn::{Committed, Isolation, RestsOn, Store, Transaction};

use crate::ast::{AccountStatement, AdminCommand, ShowKind};
use crate::collation::Collation;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::failure::commit_failed;
use crate::expr::{Literals, VariableScope};
use crate::memory::{self, MemoryUse, ServerMemory};
use crate::parse::fingerprint::Fingerprint;
use crate::privilege::needs::Holder;
use crate::privilege::roster::Roster;
use crate::profile::Profile;
use crate::spill::{Spilling, TemporaryFiles};
use crate::types::temporal::TimeZone;
use crate::types::{ResultColumn, ResultType, SqlMode};
use crate::value::Value;
use gtid_next::GtidNext;
use locked_tables::LockedTable;
use own_locks::OwnLocks;
use row_counts::{CountMark, RowCounts};
use xa::SessionXa;

use diagnostics::DiagnosticCounts;
pub use diagnostics::{Diagnostic, DiagnosticLevel};
pub use interrupt::{Interrupt, KillTarget};
pub use server_read_only::ServerReadOnly;
pub use stand_in::StandIn;

/// The default of `group_concat_max_len`, bytes.
pub(crate) const GROUP_CONCAT_MAX_LEN: u64 = 1024;

/// The state of one connection that statements read and change. The server keeps the public fields in
/// step with its session variables.
pub struct SessionState {
    /// The default database.
    pub database: Option<Arc<str>>,
    /// `autocommit`
    pub autocommit: bool,
    /// `transaction_isolation` of the session.
    pub isolation: Isolation,
    /// `transaction_read_only` of the session.
    pub read_only: bool,
    /// `sql_mode`
    pub sql_mode: SqlMode,
    /// `time_zone`
    pub time_zone: TimeZone,
    /// The character set in which the client writes (`character_set_client`), as a collation of it.
    pub client: Collation,
    /// That in which it reads (`character_set_results`); `None` for that of each column.
    pub results: Option<Collation>,
    /// `collation_connection`
    pub collation: Collation,
    /// `collation_server`: of new databases.
    pub server_collation: Collation,
    /// `collation_database`, if it was set since the default database is what it is.
    pub database_collation: Option<Collation>,
    /// `innodb_lock_wait_timeout`
    pub row_lock_timeout: Duration,
    /// `lock_wait_timeout`, for table definitions.
    pub table_lock_timeout: Duration,
    /// `sql_log_bin`
    pub log_to_binlog: bool,
    /// `binlog_format`
    pub binlog_format: BinlogFormat,
    /// `binlog_row_image`
    pub row_image: RowImage,
    /// `binlog_transaction_compression`
    pub compresses_binlog: bool,
    /// `binlog_transaction_compression_level_zstd`
    pub compression_level: i32,
    /// `binlog_rows_query_log_events`
    pub log_rows_query: bool,
    /// `default_week_format`: the mode of WEEK() without one.
    pub default_week_format: u8,
    /// `default_storage_engine`, for tables that name none; `None` for the store's first engine.
    pub default_engine: Option<Arc<str>>,
    /// Whether new JSON columns are LONGTEXT.
    pub json_as_longtext: bool,
    /// `auto_increment_increment`, at least 1.
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`, at least 1.
    pub auto_increment_offset: u64,
    /// `group_concat_max_len`, bytes.
    pub group_concat_max_len: u64,
    /// `max_allowed_packet` of the session, bytes.
    pub max_allowed_packet: usize,
    /// `max_binlog_cache_size`: the longest transaction in the binlog, bytes.
    pub max_binlog_cache_size: u64,
    /// `max_error_count`: how many diagnostics are kept of a statement.
    pub max_diagnostics: usize,
    /// `sql_notes`
    pub notes: bool,
    /// `sql_select_limit`: rows of a SELECT without LIMIT.
    pub select_limit: u64,
    /// `cte_max_recursion_depth`: rounds of a table that WITH RECURSIVE makes.
    pub cte_max_recursion_depth: u64,
    /// `sql_safe_updates`: a change that looks at every row needs a LIMIT.
    pub safe_updates: bool,
    /// `max_execution_time`, for SELECT.
    pub max_execution_time: Option<Duration>,
    /// `derived_condition_pushdown` of `optimizer_switch`.
    pub pushes_conditions: bool,
    /// What the connection holds in memory.
    pub memory: MemoryUse,
    /// `sort_buffer_size`: what a sort holds in memory, bytes.
    pub sort_buffer_size: u64,
    /// `join_buffer_size`: what a join keeps of one side, bytes.
    pub join_buffer_size: u64,
    /// `tmp_table_size`: what groups, distinct rows, set operations, windows and tables of WITH hold, bytes each.
    pub tmp_table_size: u64,
    /// Where what is more than that goes.
    pub temporary_files: Arc<TemporaryFiles>,
    /// Whether the server takes changes.
    pub server_read_only: Arc<ServerReadOnly>,
    /// `timestamp`, microseconds since 1970, if it was set.
    pub fixed_now_us: Option<i64>,
    /// `insert_id`: the next value an AUTO_INCREMENT column gets, once.
    pub insert_id: Cell<Option<u64>>,
    /// Who runs statements here, and what they may do. The server keeps it in step with accounts.
    pub holder: Holder,
    /// CLIENT_FOUND_ROWS: UPDATE counts rows that were found, not those that changed.
    pub client_found_rows: bool,
    /// What LAST_INSERT_ID() gives.
    pub last_insert_id: Cell<u64>,
    /// What ROW_COUNT() gives.
    pub row_count: Cell<i64>,
    /// What FOUND_ROWS() gives.
    pub found_rows: Cell<u64>,
    /// What SHOW WARNINGS shows: of the last statement that may have left some.
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    /// How many warnings and errors there were before they were forgotten.
    diagnostic_counts: DiagnosticCounts,
    /// `session_track_gtids`: [`SessionState::take_own_gtids`] is asked after each statement.
    pub tracks_gtids: bool,
    own_gtids: RefCell<GtidSet>,
    gtid_next: RefCell<GtidNext>,
    /// Values, and the collations of those that are texts.
    user_variables: RefCell<HashMap<String, (Value, Collation)>>,
    /// What PREPARE has made, by its name in lower case; `database::named` knows what it is.
    pub(crate) named_statements: RefCell<HashMap<String, Arc<dyn Any + Send + Sync>>>,
    interrupt: Arc<Interrupt>,
    rests_on: RestsOn,
    /// The XA transaction that `transaction` is, or was before a deadlock. Its name is free again before the
    /// transaction's locks are.
    pub(crate) xa: Option<SessionXa>,
    pub(crate) transaction: Option<OpenTransaction>,
    /// Where the next statement's operators keep what they do (EXPLAIN ANALYZE).
    pub(crate) profile: Option<Arc<Profile>>,
    /// The rows that its transaction has changed.
    pub(crate) row_counts: RowCounts,
    /// What it has locked beside its transactions.
    pub(crate) locks: OwnLocks,
    /// The tables among them, of LOCK TABLES.
    pub(crate) locked_tables: Vec<LockedTable>,
    pub(crate) next_isolation: Option<Isolation>,
    pub(crate) next_read_only: Option<bool>,
    /// Reused from statement to statement.
    pub(crate) scratch: Fingerprint,
}

/// How statements that change rows are logged (`binlog_format`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinlogFormat {
    /// As those rows.
    Row,
    /// As their text, unless a replica could come to other rows.
    Statement,
    /// The same without a warning where the rows are logged.
    Mixed,
}

/// Which columns the images of row events have (`binlog_row_image`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowImage {
    /// All.
    Full,
    /// Before: the primary key. After an update: what it changed. After an insert, and without a primary key: all.
    Minimal,
    /// All but BLOB and TEXT columns that are neither changed nor in the primary key.
    NoBlob,
}

/// A savepoint that a client set.
pub(crate) struct NamedSavepoint {
    pub(crate) name: String,
    pub(crate) point: cohort_txn::Savepoint,
    pub(crate) counts: CountMark,
    /// How many metadata locks the transaction had.
    pub(crate) metadata: usize,
}

/// The transaction a session has open.
pub(crate) struct OpenTransaction {
    pub(crate) transaction: Transaction,
    /// Begun by BEGIN: autocommit rests until it ends.
    pub(crate) explicit: bool,
    pub(crate) read_only: bool,
    pub(crate) savepoints: Vec<NamedSavepoint>,
    /// Where its snapshot ends in the binlog, and the GTIDs up to there (WITH CONSISTENT SNAPSHOT).
    pub(crate) snapshot_at: Option<(BinlogPosition, GtidSet)>,
}

impl Spilling for SessionState {
    fn memory(&self) -> &MemoryUse {
        &self.memory
    }

    fn temporary_files(&self) -> &TemporaryFiles {
        &self.temporary_files
    }

    fn check_killed(&self) -> Result<(), SqlError> {
        match self.interrupt.is_killed() {
            true => Err(SqlError::new(ER_QUERY_INTERRUPTED, &[])),
            false => Ok(()),
        }
    }
}

impl Default for SessionState {
    fn default() -> Self {
        SessionState::new()
    }
}

/// The present, microseconds since 1970.
pub(crate) fn clock_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl SessionState {
    /// A session with MySQL's defaults, by itself.
    pub fn new() -> SessionState {
        SessionState::of(Arc::default())
    }

    /// A session with MySQL's defaults whose memory is counted with that of others.
    pub fn of(server: Arc<ServerMemory>) -> SessionState {
        SessionState {
            database: None,
            autocommit: true,
            isolation: Isolation::RepeatableRead,
            read_only: false,
            sql_mode: SqlMode::DEFAULT,
            time_zone: TimeZone { offset_seconds: 0 },
            client: Collation::DEFAULT,
            results: Some(Collation::DEFAULT),
            collation: Collation::DEFAULT,
            server_collation: Collation::DEFAULT,
            database_collation: None,
            row_lock_timeout: Duration::from_secs(50),
            table_lock_timeout: Duration::from_secs(31_536_000),
            log_to_binlog: true,
            binlog_format: BinlogFormat::Row,
            row_image: RowImage::Full,
            compresses_binlog: false,
            compression_level: 3,
            log_rows_query: false,
            default_week_format: 0,
            default_engine: None,
            json_as_longtext: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            group_concat_max_len: GROUP_CONCAT_MAX_LEN,
            max_allowed_packet: 64 << 20,
            max_binlog_cache_size: u64::MAX,
            max_execution_time: None,
            pushes_conditions: true,
            memory: MemoryUse::new(server),
            sort_buffer_size: 8 << 20,
            join_buffer_size: 8 << 20,
            tmp_table_size: 16 << 20,
            temporary_files: Arc::default(),
            server_read_only: Arc::default(),
            fixed_now_us: None,
            max_diagnostics: 1024,
            notes: true,
            select_limit: u64::MAX,
            cte_max_recursion_depth: 1000,
            safe_updates: false,
            insert_id: Cell::new(None),
            holder: Holder::everything(),
            client_found_rows: false,
            last_insert_id: Cell::new(0),
            row_count: Cell::new(0),
            found_rows: Cell::new(0),
            diagnostics: RefCell::new(Vec::new()),
            diagnostic_counts: DiagnosticCounts::default(),
            tracks_gtids: false,
            own_gtids: RefCell::new(GtidSet::new()),
            gtid_next: RefCell::default(),
            user_variables: RefCell::new(HashMap::new()),
            named_statements: RefCell::default(),
            interrupt: Arc::default(),
            rests_on: RestsOn::default(),
            transaction: None,
            profile: None,
            row_counts: RowCounts::default(),
            xa: None,
            locks: OwnLocks::default(),
            locked_tables: Vec::new(),
            next_isolation: None,
            next_read_only: None,
            scratch: Fingerprint::default(),
        }
    }

    /// Whether a transaction is open that the next statement will be part of (SERVER_STATUS_IN_TRANS).
    pub fn in_transaction(&self) -> bool {
        self.transaction.is_some() || self.xa.is_some()
    }

    /// Whether a transaction is open that may not change anything.
    pub fn in_read_only_transaction(&self) -> bool {
        self.transaction.as_ref().is_some_and(|open| open.read_only)
    }

    /// Where the snapshot of the open transaction ends in the binlog, and the GTIDs up to there, if it was begun WITH
    /// CONSISTENT SNAPSHOT and reads nothing newer.
    pub fn snapshot_at(&self) -> Option<&(BinlogPosition, GtidSet)> {
        self.transaction.as_ref()?.snapshot_at.as_ref()
    }

    /// Sets the isolation of the next transaction only (SET TRANSACTION ISOLATION LEVEL).
    pub fn set_next_isolation(&mut self, isolation: Isolation) {
        self.next_isolation = Some(isolation);
    }

    /// Sets whether the next transaction only may write (SET TRANSACTION READ ONLY).
    pub fn set_next_read_only(&mut self, read_only: bool) {
        self.next_read_only = Some(read_only);
    }

    /// Whether the transaction that the next statement is part of only reads.
    pub(crate) fn reads_only(&self) -> bool {
        let open = self.transaction.as_ref().map(|open| open.read_only);
        open.or(self.next_read_only).unwrap_or(self.read_only)
    }

    /// Rolls an open transaction back (end of the connection, COM_RESET_CONNECTION).
    pub fn rollback(&mut self) {
        self.xa = None;
        self.transaction = None;
        self.release_gtid();
        self.interrupt.watch(None);
    }

    /// Ends the session: rolls back, and gives up what is locked.
    pub fn end(&mut self) {
        self.rollback();
        self.locked_tables.clear();
        self.locks.end();
    }

    /// Forgets user variables and the like; the server sets its variables anew (COM_RESET_CONNECTION).
    pub fn reset(&mut self) {
        self.end();
        let (interrupt, rests_on) = (self.interrupt.clone(), self.rests_on.clone());
        let database = self.database.take();
        let (client_found_rows, holder) = (self.client_found_rows, self.holder.clone());
        let fresh = SessionState::of(self.memory.server());
        let server_read_only = self.server_read_only.clone();
        let temporary_files = self.temporary_files.clone();
        *self = SessionState {
            server_read_only,
            temporary_files,
            interrupt,
            rests_on,
            database,
            client_found_rows,
            holder,
            ..fresh
        };
    }

    /// What the session's next answer rests on, be it rows, an OK or an error: nothing of it may leave before
    /// [`Store::wait_until_durable`](cohort_txn::Store::wait_until_durable) and the like say so. If what it rests on
    /// could not be made durable, [`SessionState::rollback`] and [`RestsOn::forget`] are due.
    pub fn rests_on(&self) -> &RestsOn {
        &self.rests_on
    }

    /// Begins a transaction of `store` whose reads count as the session's.
    pub(crate) fn begin(&self, store: &Arc<Store>) -> Transaction {
        let mut transaction = store.begin();
        transaction.set_rests_on(self.rests_on.clone());
        self.adopt(&mut transaction);
        transaction
    }

    /// The time of a statement that starts now: the present, unless `timestamp` was set, microseconds since 1970.
    pub(crate) fn now_us(&self) -> i64 {
        self.fixed_now_us.unwrap_or_else(clock_us)
    }

    /// Commits a transaction of the session, under the GTID that it has chosen, and waits for the outcome.
    pub(crate) fn commit(&self, store: &Store, mut transaction: Transaction) -> Result<(), SqlError> {
        // What is never logged, such as the server's own notes, is not the transaction that is meant.
        if transaction.is_logged() {
            self.give_gtid(&mut transaction)?;
        }
        let committed = store.commit_and_wait(transaction).map_err(|error| commit_failed(&error))?;
        self.note_committed(&committed);
        Ok(())
    }

    /// Notes what a commit of the session gave.
    pub fn note_committed(&self, committed: &Committed) {
        if let Some(gtid) = committed.gtid.filter(|_| self.tracks_gtids) {
            self.own_gtids.borrow_mut().insert(gtid);
        }
    }

    /// The GTIDs of the session's commits since the last call, while they are tracked.
    pub fn take_own_gtids(&self) -> GtidSet {
        self.own_gtids.take()
    }

    /// What stops this session's statements.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        self.interrupt.clone()
    }

    /// `@name`, NULL if never set. The name is in lower case.
    pub fn user_variable(&self, name: &str) -> Value {
        self.user_variables.borrow().get(name).map(|(value, _)| value.clone()).unwrap_or_default()
    }

    /// The collation of a user variable, if it is a text.
    pub(crate) fn collation_of_variable(&self, name: &str) -> Option<Collation> {
        match self.user_variables.borrow().get(name)? {
            (Value::Text(_), collation) => Some(*collation),
            _ => None,
        }
    }

    /// How the literals of its statements are read.
    pub(crate) fn literals(&self) -> Literals {
        Literals { client: self.client.charset(), collation: self.collation }
    }

    /// `SET @name = value`, a text of this collation; 4082 if the connection then holds too much.
    pub fn set_user_variable(&self, name: &str, value: Value, collation: Collation) -> Result<(), SqlError> {
        let value = value.for_variable();
        let collation = if collation.is_character() { collation } else { Collation::DEFAULT };
        let bytes = |value: &Value| memory::key_bytes(name.as_bytes()) + memory::value_bytes(value);
        self.memory.keep(bytes(&value))?;
        let before = self.user_variables.borrow_mut().insert(name.to_owned(), (value, collation));
        before.iter().for_each(|(before, _)| self.memory.release(bytes(before)));
        Ok(())
    }

    /// How many warnings the last statement left, as the OK packet says.
    pub fn warning_count(&self) -> u16 {
        self.diagnostic_counts.current().0.min(u16::MAX.into()) as u16
    }

    /// How many warnings (all levels) and errors the statement at hand has given so far.
    pub fn diagnostics_given(&self) -> (u64, u64) {
        self.diagnostic_counts.current()
    }

    /// Keeps a diagnostic for SHOW WARNINGS, unless `max_error_count` are kept, or it is a note that `sql_notes` does not
    /// want.
    pub fn push_diagnostic(&self, level: DiagnosticLevel, error: SqlError) {
        if level == DiagnosticLevel::Note && !self.notes {
            return;
        }
        self.diagnostic_counts.add(level);
        let mut kept = self.diagnostics.borrow_mut();
        if kept.len() < self.max_diagnostics {
            kept.push(Diagnostic { level, error });
        }
    }

    /// Forgets the diagnostics of the statement at hand, which begins once more.
    pub(crate) fn forget_diagnostics(&self) {
        self.diagnostics.borrow_mut().clear();
        self.diagnostic_counts.begin_again();
    }

    /// `@@warning_count` and `@@error_count`, for the statement at hand.
    pub fn diagnostic_counts(&self) -> (u64, u64) {
        self.diagnostic_counts.get()
    }

    /// Forgets what the last statement left for SHOW WARNINGS, but for how much that was. A statement that reads the counts
    /// (`reads`) leaves them to the next one.
    pub(crate) fn begin_diagnostics(&self, reads: bool) {
        self.diagnostic_counts.begin(reads);
        self.diagnostics.borrow_mut().clear();
    }

    pub(crate) fn interrupt_ref(&self) -> &Interrupt {
        &self.interrupt
    }
}

/// A result set that the server makes (SHOW VARIABLES and the like).
#[derive(Clone, Debug, Default)]
pub struct ShowTable {
    /// Names and types of the columns.
    pub columns: Vec<(&'static str, ResultType)>,
    /// The rows; LIKE and WHERE are applied by the caller.
    pub rows: Vec<Vec<Value>>,
}

/// A session that has locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOwner {
    /// CONNECTION_ID()
    pub connection: u64,
    /// They are the session's, not its transaction's.
    pub beside_transaction: bool,
}

/// What the server gives to statements.
pub trait Environment {
    /// CONNECTION_ID()
    fn connection_id(&self) -> u64;
    /// Whether there is a connection of this number.
    fn has_connection(&self, id: u64) -> bool {
        id == self.connection_id()
    }
    /// USER(): as the client named itself, with its host.
    fn user(&self) -> String;
    /// CURRENT_USER(): the account.
    fn current_user(&self) -> String;
    /// `@@name`; an unknown name is error 1193, a scope it does not have 1238. The name is in lower case.
    fn variable(&self, session: &SessionState, scope: VariableScope, name: &str) -> Result<Value, SqlError>;
    /// SET; `None` is DEFAULT. [`VariableScope::Any`] never comes here: `SET x` is SESSION, and
    /// `SET @@transaction_isolation` or SET TRANSACTION without a scope goes to
    /// [`SessionState::set_next_isolation`] and needs no environment.
    fn set_variable(
        &self,
        session: &mut SessionState,
        scope: VariableScope,
        name: &str,
        value: Option<Value>,
    ) -> Result<(), SqlError>;
    /// Whether SET_VAR takes the variable `name`, in lower case; an unknown name is error 1193.
    fn is_hintable(&self, name: &str) -> Result<bool, SqlError>;
    /// SET NAMES; `None` is DEFAULT.
    fn set_names(
        &self,
        session: &mut SessionState,
        charset: Option<&str>,
        collation: Option<&str>,
    ) -> Result<(), SqlError>;
    /// SET CHARACTER SET: of what the client writes and reads, beside literals of the default database's; `None` is
    /// DEFAULT.
    fn set_character_set(&self, session: &mut SessionState, charset: Option<&str>) -> Result<(), SqlError>;
    /// The rows of a SHOW that the server answers.
    fn show(&self, session: &SessionState, what: &ShowKind) -> Result<ShowTable, SqlError>;
    /// Every account, and who asks: what system tables show of them.
    fn roster(&self) -> Roster;
    /// KILL; `query_only` leaves the connection. 1094 if there is none.
    fn kill(&self, connection_id: u64, target: KillTarget) -> Result<(), SqlError>;
    /// CREATE USER, GRANT and so on; commits by itself.
    fn account(&self, session: &SessionState, statement: &AccountStatement) -> Result<(), SqlError>;
    /// FLUSH LOGS, PURGE BINARY LOGS and so on.
    fn administer(&self, session: &mut SessionState, command: &AdminCommand) -> Result<(), SqlError>;
    /// PURGE BINARY LOGS BEFORE a time, in seconds since 1970.
    fn purge_binlog_before(&self, session: &mut SessionState, seconds: i64) -> Result<(), SqlError>;
    /// Waits until all of `set` is executed; false if `deadline` came first, or the statement was to end. 3062 where
    /// transactions are anonymous.
    fn wait_for_gtids(
        &self,
        set: &GtidSet,
        deadline: Option<Instant>,
        ended: &dyn Fn() -> bool,
    ) -> Result<bool, SqlError>;
    /// Who has the locks with this number; none if that is no session, or ended just now.
    fn lock_owner(&self, owner: u64) -> Option<LockOwner>;
    /// VERSION()
    fn version(&self) -> String;
    /// A place for one more statement that the session prepares by name, beside `named` that it has; the server's count goes
    /// down when it is dropped. 1461 if there is none.
    fn statement_place(&self, _named: usize) -> Result<Box<dyn Send + Sync>, SqlError> {
        Ok(Box::new(()))
    }
    /// EXECUTE runs this statement.
    fn executes(&self, _sql: &[u8]) {}
    /// A statement that changes something begins: 1226 if the account has no more of them in this hour.
    fn begin_update(&self) -> Result<(), SqlError> {
        Ok(())
    }
}

/// Takes a result set. An error (the client is gone, a row is too large) ends the statement.
pub trait ResultSink {
    /// The columns; once, before any row.
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError>;
    /// One row, as many values as columns.
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError>;
}

/// What a statement gave and what is left to do.
#[must_use = "a transaction may have to be committed"]
pub struct Outcome {
    /// What the client receives.
    pub result: StatementResult,
    /// To be committed before the client is answered; its failure is the statement's.
    pub commit: Option<Transaction>,
    /// Close the connection afterwards (COMMIT RELEASE).
    pub release: bool,
}

/// What a client receives for a statement that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementResult {
    /// The sink has got columns and all rows.
    Rows,
    /// An OK packet.
    Done {
        /// Rows that changed (or were found).
        affected: u64,
        /// First AUTO_INCREMENT value that was made, or LAST_INSERT_ID(expr)'s; 0 for none.
        last_insert_id: u64,
        /// `Records: 2  Duplicates: 0  Warnings: 0`; often empty.
        info: String,
    },
}

impl Outcome {
    pub(crate) fn ok() -> Outcome {
        Outcome::done(0)
    }

    pub(crate) fn done(affected: u64) -> Outcome {
        let result = StatementResult::Done { affected, last_insert_id: 0, info: String::new() };
        Outcome { result, commit: None, release: false }
    }

    /// OK with a text.
    pub(crate) fn told(info: &str) -> Outcome {
        let result = StatementResult::Done { affected: 0, last_insert_id: 0, info: info.to_owned() };
        Outcome { result, ..Outcome::ok() }
    }

    pub(crate) fn rows() -> Outcome {
        Outcome { result: StatementResult::Rows, commit: None, release: false }
    }
}
