//! The entry: statements in, results and transactions to commit out.

use std::sync::Arc;

use cohort_txn::Store;

use crate::error::SqlError;
use crate::session::{Environment, Outcome, ResultColumn, ResultSink, SessionState};
use crate::value::Value;

/// The databases of one data directory: catalog, plans and the store below.
pub struct Database {
    store: Arc<Store>,
}

/// A prepared statement; it outlives changes of the schema (it is planned anew when needed).
pub struct Prepared {
    param_count: usize,
    columns: Vec<ResultColumn>,
}

impl Prepared {
    /// How many parameters it takes.
    pub fn param_count(&self) -> usize {
        self.param_count
    }

    /// The columns of its result; empty if it gives none.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }
}

/// Figures for SHOW STATUS.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseFigures {
    /// Statements whose plan was found.
    pub plan_cache_hits: u64,
    /// Statements that were parsed and planned.
    pub plan_cache_misses: u64,
    /// Plans kept.
    pub plan_cache_entries: u64,
}

impl Database {
    /// Reads the catalog of `store` and erases what a crash left behind.
    pub fn open(_store: Arc<Store>) -> Result<Arc<Database>, SqlError> {
        todo!()
    }

    /// The store below.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Runs one statement (see [`crate::parse::split_statement`] for several). After an error the
    /// statement's changes are taken back; after 1213 the transaction is too.
    pub fn execute(
        &self,
        _session: &mut SessionState,
        _env: &dyn Environment,
        _sql: &[u8],
        _sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        todo!()
    }

    /// Parses and plans a statement with `?` parameters.
    pub fn prepare(
        &self,
        _session: &mut SessionState,
        _env: &dyn Environment,
        _sql: &[u8],
    ) -> Result<Prepared, SqlError> {
        todo!()
    }

    /// Runs a prepared statement; 1210 if the number of parameters is wrong.
    pub fn execute_prepared(
        &self,
        _session: &mut SessionState,
        _env: &dyn Environment,
        _prepared: &Prepared,
        _params: &[Value],
        _sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        todo!()
    }

    /// Makes `name` the default database (COM_INIT_DB, a database in the handshake); 1049 if unknown.
    pub fn use_database(&self, _session: &mut SessionState, _name: &str) -> Result<(), SqlError> {
        todo!()
    }

    /// Figures for SHOW STATUS.
    pub fn figures(&self) -> DatabaseFigures {
        todo!()
    }

    /// The value of a key of the system area (accounts and the like), newest version.
    pub fn system_get(&self, _key: &[u8]) -> Result<Option<Vec<u8>>, SqlError> {
        todo!()
    }

    /// All entries of the system area whose key starts with `prefix`, in key order.
    pub fn system_scan(&self, _prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, SqlError> {
        todo!()
    }

    /// Sets (`Some`) or removes keys of the system area in one transaction and waits until that is
    /// durable. With `statement` the change is a QUERY event of the binlog, else it is not in it.
    pub fn system_put(
        &self,
        _session: &SessionState,
        _changes: &[(Vec<u8>, Option<Vec<u8>>)],
        _statement: Option<&str>,
    ) -> Result<(), SqlError> {
        todo!()
    }
}
