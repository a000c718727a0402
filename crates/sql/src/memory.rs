//! What a connection holds in memory, against its limit and the server's.
//!
//! Counted is what a client can make grow: the packet of a statement while it arrives, its lexemes and values with the
//! tree they become, the columns that it selects, what its expressions make, the row that is put together or sent, rows that are kept to be sorted,
//! grouped or distinguished, what an open transaction has changed and locked, and what stays between statements (user
//! variables, prepared statements, parameters sent in pieces). Sizes are those of what is in them, with a little for
//! what holds it; they are not the allocator's.
//!
//! Invariants
//! 1. Nothing that is counted grows by more than one row, value or lexeme beyond the limit.
//! 2. Beyond the limit the statement fails with 4082, or 4081 where the limit is the server's, and is taken back;
//!    [`MemoryUse::is_exceeded`] then says that the connection is to end, as with MySQL.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ER_CONN_LIMIT, ER_GLOBAL_CONN_LIMIT, ER_OUTOFMEMORY, SqlError};
use crate::value::{Member, Value};

/// From this size on it is tried whether the machine has the memory for a string before it is made: the limits may be
/// higher than what there is, and an allocation that fails ends the process. Below, that is not worth the time.
const LARGE_BYTES: usize = 1 << 20;
/// What a lexeme may come to as a part of a tree and of a plan, bytes.
pub(crate) const LEXEME_BYTES: usize = 256;
/// What a column of a result may come to in a plan, bytes.
pub(crate) const PLANNED_COLUMN_BYTES: usize = 640;
/// What holds a kept row, key or variable beside its values, bytes.
const HOLDER_BYTES: usize = 64;
/// Changes below this are not reported to the server, bytes.
const REPORTED_BYTES: u64 = 64 << 10;

/// Whether the machine has so much memory for one string.
fn is_to_be_had(bytes: usize) -> bool {
    let mut memory = Vec::<u8>::new();
    let is_there = memory.try_reserve_exact(bytes).is_ok();
    // An allocation that nobody uses may be left out by the compiler.
    std::hint::black_box(&memory);
    is_there
}

/// What all connections hold.
#[derive(Debug)]
pub struct ServerMemory {
    used: AtomicU64,
    /// `global_connection_memory_limit`, bytes.
    pub limit: AtomicU64,
}

impl Default for ServerMemory {
    fn default() -> Self {
        ServerMemory { used: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX) }
    }
}

impl ServerMemory {
    /// Adds what arrives from a client and is no statement yet; false, and nothing added, beyond the limit.
    pub fn take_input(&self, bytes: usize) -> bool {
        let used = self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        let fits = used.saturating_add(bytes as u64) <= self.limit.load(Ordering::Relaxed);
        if !fits {
            self.give_input_back(bytes);
        }
        fits
    }

    /// Takes away what [`ServerMemory::take_input`] added.
    pub fn give_input_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes now, but for what each connection has not reported yet.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// What one connection holds.
#[derive(Debug)]
pub struct MemoryUse {
    server: Arc<ServerMemory>,
    /// `connection_memory_limit`, bytes.
    limit: Cell<u64>,
    statement: Cell<u64>,
    /// Of that, what stays to its end.
    staying: Cell<u64>,
    /// Of the running statement, what the present evaluation has made, and the present row.
    evaluation: Cell<u64>,
    row: Cell<u64>,
    transaction: Cell<u64>,
    kept: Cell<u64>,
    reported: Cell<u64>,
    exceeded: Cell<bool>,
}

impl MemoryUse {
    /// Nothing yet.
    pub fn new(server: Arc<ServerMemory>) -> MemoryUse {
        MemoryUse {
            server,
            limit: Cell::new(u64::MAX),
            statement: Cell::new(0),
            staying: Cell::new(0),
            evaluation: Cell::new(0),
            row: Cell::new(0),
            transaction: Cell::new(0),
            kept: Cell::new(0),
            reported: Cell::new(0),
            exceeded: Cell::new(false),
        }
    }

    /// Sets `connection_memory_limit`, bytes.
    pub fn set_limit(&self, limit: u64) {
        self.limit.set(limit);
    }

    /// What all connections hold.
    pub fn server(&self) -> Arc<ServerMemory> {
        self.server.clone()
    }

    /// What the connection may still take, bytes.
    pub(crate) fn left(&self) -> u64 {
        let of_all = self.server.limit.load(Ordering::Relaxed).saturating_sub(self.server.used());
        self.limit.get().saturating_sub(self.total()).min(of_all)
    }

    /// Whether a limit was reached: the connection is to end.
    pub fn is_exceeded(&self) -> bool {
        self.exceeded.get()
    }

    /// Adds what stays between statements; nothing after an error.
    pub fn keep(&self, bytes: usize) -> Result<(), SqlError> {
        let before = self.kept.get();
        self.kept.set(before.saturating_add(bytes as u64));
        let checked = self.check();
        if checked.is_err() {
            self.kept.set(before);
            self.report();
        }
        checked
    }

    /// Takes away what stayed between statements.
    pub fn release(&self, bytes: usize) {
        self.kept.set(self.kept.get().saturating_sub(bytes as u64));
        self.report();
    }

    /// Adds to what the running statement holds.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), SqlError> {
        self.statement.set(self.statement.get().saturating_add(bytes as u64));
        self.check()
    }

    /// What the running statement holds, bytes, but for what stays to its end.
    pub(crate) fn held(&self) -> u64 {
        self.statement.get().saturating_sub(self.staying.get())
    }

    /// So much of what was added stays to the statement's end.
    pub(crate) fn stays(&self, bytes: usize) {
        self.staying.set(self.staying.get().saturating_add(bytes as u64));
    }

    /// So much of what was added is gone; of what was to stay if `stayed`.
    pub(crate) fn give_back(&self, bytes: usize, stayed: bool) {
        self.statement.set(self.statement.get().saturating_sub(bytes as u64));
        if stayed {
            self.staying.set(self.staying.get().saturating_sub(bytes as u64));
        }
        self.report();
    }

    /// What was added since the statement [held](MemoryUse::held) so much is gone.
    pub(crate) fn release_to(&self, held: u64) {
        self.statement.set(held.saturating_add(self.staying.get()).min(self.statement.get()));
    }

    /// Says what the statement's own text has come to so far.
    pub(crate) fn hold_text(&self, lexemes: usize, values: usize, sql: &[u8]) -> Result<(), SqlError> {
        self.statement.set((lexemes * LEXEME_BYTES + values * size_of::<Value>() + sql.len()) as u64);
        self.check()
    }

    /// The evaluation of an expression begins: what the last one made is gone, or counted where it is kept.
    pub(crate) fn begin_evaluation(&self) {
        self.evaluation.set(0);
    }

    /// What the present evaluation has made so far, bytes.
    pub(crate) fn evaluated(&self) -> u64 {
        self.evaluation.get()
    }

    /// Some of that is gone.
    pub(crate) fn forget_evaluated(&self, to: u64) {
        self.evaluation.set(to);
    }

    /// Adds what the present evaluation has made, or is about to.
    pub(crate) fn hold_evaluated(&self, bytes: usize) -> Result<(), SqlError> {
        self.evaluation.set(self.evaluation.get().saturating_add(bytes as u64));
        self.check()?;
        match bytes >= LARGE_BYTES && !is_to_be_had(bytes) {
            true => Err(SqlError::new(ER_OUTOFMEMORY, &[&bytes])),
            false => Ok(()),
        }
    }

    /// A row begins: the one before is gone, or counted where it is kept.
    pub(crate) fn begin_row(&self) {
        self.row.set(0);
    }

    /// Adds to the present row.
    pub(crate) fn hold_row(&self, bytes: usize) -> Result<(), SqlError> {
        self.row.set(self.row.get().saturating_add(bytes as u64));
        self.check()
    }

    /// Says what the open transaction holds; 0 for none.
    pub(crate) fn hold_transaction(&self, bytes: u64) -> Result<(), SqlError> {
        self.transaction.set(bytes);
        self.check()
    }

    /// The statement has ended, and left a transaction that holds so much.
    pub(crate) fn end_statement(&self, transaction: u64) {
        self.statement.set(0);
        self.staying.set(0);
        self.begin_evaluation();
        self.begin_row();
        self.transaction.set(transaction);
        self.report();
    }

    fn total(&self) -> u64 {
        let parts = [&self.statement, &self.evaluation, &self.row, &self.transaction, &self.kept];
        parts.into_iter().fold(0, |total: u64, part| total.saturating_add(part.get()))
    }

    fn report(&self) {
        let (total, reported) = (self.total(), self.reported.get());
        if total.abs_diff(reported) >= REPORTED_BYTES {
            // Wraps where it shrinks.
            self.server.used.fetch_add(total.wrapping_sub(reported), Ordering::Relaxed);
            self.reported.set(total);
        }
    }

    fn check(&self) -> Result<(), SqlError> {
        self.report();
        let (total, limit) = (self.total(), self.limit.get());
        let (of_all, limit_of_all) = (self.server.used(), self.server.limit.load(Ordering::Relaxed));
        let error = if total > limit {
            SqlError::new(ER_CONN_LIMIT, &[&limit, &total])
        } else if of_all > limit_of_all && total >= REPORTED_BYTES {
            SqlError::new(ER_GLOBAL_CONN_LIMIT, &[&limit_of_all, &of_all])
        } else {
            return Ok(());
        };
        self.exceeded.set(true);
        Err(error)
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        self.server.used.fetch_sub(self.reported.get(), Ordering::Relaxed);
    }
}

/// A row that is kept, bytes.
pub(crate) fn row_bytes(row: &[Value]) -> usize {
    HOLDER_BYTES + row.iter().map(value_bytes).sum::<usize>()
}

/// A value, bytes.
pub(crate) fn value_bytes(value: &Value) -> usize {
    let apart = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) | Value::Hex(bytes) => bytes.len(),
        Value::Member(member) => size_of::<Member>() + member.text.len(),
        Value::Json(json) => json.memory_bytes(),
        _ => 0,
    };
    size_of::<Value>() + apart
}

/// A key that is kept, bytes.
pub(crate) fn key_bytes(key: &[u8]) -> usize {
    HOLDER_BYTES + key.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_for_the_sum_and_what_has_ended_counts_no_more() {
        let memory = MemoryUse::new(Arc::default());
        memory.set_limit(1000);
        memory.keep(400).unwrap();
        memory.hold_transaction(300).unwrap();
        memory.hold(300).unwrap();
        assert!(!memory.is_exceeded());
        assert_eq!(memory.hold(1).unwrap_err().errno, 4082);
        assert!(memory.is_exceeded());
        memory.end_statement(300);
        memory.hold(300).unwrap();
        memory.release(400);
        memory.end_statement(0);
        memory.hold_evaluated(600).unwrap();
        memory.begin_evaluation();
        memory.hold_evaluated(600).unwrap();
        memory.hold_row(400).unwrap();
        assert_eq!(memory.hold_row(1).unwrap_err().errno, 4082, "evaluation and row count together");
        memory.end_statement(0);
        memory.hold(1000).unwrap();
        assert_eq!(memory.hold(usize::MAX).unwrap_err().errno, 4082, "no overflow");
    }

    #[test]
    fn the_server_hears_of_what_connections_hold_and_give_back() {
        let server = Arc::<ServerMemory>::default();
        let (one, other) = (MemoryUse::new(server.clone()), MemoryUse::new(server.clone()));
        one.hold(300_000).unwrap();
        other.keep(500_000).unwrap();
        assert_eq!(server.used(), 800_000);
        server.limit.store(900_000, Ordering::Relaxed);
        assert_eq!(one.hold(200_000).unwrap_err().errno, 4081);
        let small = MemoryUse::new(server.clone());
        small.hold(1000).unwrap();
        one.end_statement(0);
        assert_eq!(server.used(), 500_000);
        drop(other);
        assert_eq!(server.used(), 0);
    }
}
