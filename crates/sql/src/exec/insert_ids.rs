//! The AUTO_INCREMENT values of one INSERT.
//!
//! As in MySQL with `innodb_autoinc_lock_mode` 1 and 2: with the first value that it makes, a statement sets
//! aside one for each of its rows; where there are more, or rows come from a SELECT, twice as many each time. A row that is not
//! inserted gives its value back to the next row; what the statement has left at its end is lost.

use super::Run;
use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::value::Value;

/// Most values that a statement sets aside at once whose rows are not known.
const MOST_AT_ONCE: u64 = 65_535;

/// What a statement has made and may make.
#[derive(Debug, Default)]
pub(super) struct InsertIds {
    /// The statement's rows, if they are known.
    rows: Option<u64>,
    /// How often values were set aside, and attempts to insert a row since the first time.
    reservations: u32,
    attempts: u64,
    /// The next of the values that are set aside, and how many there are.
    next: u64,
    left: u64,
    /// Whether the values are those from `insert_id` on, and not the table's.
    forced: bool,
    /// The value that was made for the row at hand.
    made: Option<u64>,
    /// What was set aside before a row brought its own value.
    before: (u64, u64),
    /// The first value that was made for a row which was inserted.
    first_inserted: Option<u64>,
    /// Whether a row was inserted or changed.
    wrote: bool,
    /// The column's value in the row that was last at hand.
    last: u64,
    /// Whether that is below zero, so that it has wrapped around.
    negative: bool,
}

impl InsertIds {
    /// Of a statement of so many rows, or of a SELECT.
    pub(super) fn new(rows: Option<u64>) -> InsertIds {
        InsertIds { rows, ..InsertIds::default() }
    }

    /// A value for the row at hand.
    pub(super) fn make(&mut self, table: &Table, run: &mut Run<'_>) -> Result<u64, SqlError> {
        let session = run.session;
        let fixed = if self.reservations == 0 { session.insert_id.take() } else { None };
        let step = session.auto_increment_increment.max(1);
        if let Some(fixed) = fixed {
            self.reservations += 1;
            (self.next, self.left, self.forced) = (fixed, u64::MAX, true);
        } else if self.left == 0 {
            let count = match self.rows {
                Some(rows) if rows > self.attempts => rows - self.attempts,
                _ => (1 << self.reservations.min(16)).min(MOST_AT_ONCE),
            };
            let first =
                table.take_auto_increment(run.transaction, step, session.auto_increment_offset.max(1), count)?;
            self.reservations += 1;
            (self.next, self.left) = (first, count);
        }
        let id = self.next;
        if self.forced {
            table.pass_auto_increment(run.transaction, id)?;
        }
        self.next = id.saturating_add(step);
        self.left -= 1;
        self.attempts += 1;
        self.made = Some(id);
        run.statement.first_made_id.set(run.statement.first_made_id.get().or(Some(id)));
        (self.last, self.negative) = (id, false);
        Ok(id)
    }

    /// The row at hand brings its own value: those that are made for later rows of the statement are above it.
    pub(super) fn given(&mut self, value: &Value, run: &Run<'_>) {
        self.made = None;
        self.before = (self.next, self.left);
        self.again();
        self.take(value);
        let step = run.session.auto_increment_increment.max(1);
        if self.left > 0 && self.next <= self.last && !self.negative {
            let passed = ((self.last - self.next) / step + 1).min(self.left);
            self.next = self.next.saturating_add(passed.saturating_mul(step));
            self.left -= passed;
        }
    }

    /// There is another attempt to insert a row: REPLACE has removed one that was in the way.
    pub(super) fn again(&mut self) {
        self.attempts += u64::from(self.reservations > 0);
    }

    /// Later statements make values above the one that the row at hand brought.
    pub(super) fn pass(&self, table: &Table, run: &mut Run<'_>) -> Result<(), SqlError> {
        if self.made.is_some() || table.auto_increment.is_none() || self.negative {
            return Ok(());
        }
        table.pass_auto_increment(run.transaction, self.last)
    }

    /// Whether the value of the row at hand was made.
    pub(super) fn has_made(&self) -> bool {
        self.made.is_some()
    }

    /// The row at hand was inserted.
    pub(super) fn inserted(&mut self) {
        self.wrote = true;
        self.first_inserted = self.first_inserted.or(self.made);
    }

    /// The row at hand was not inserted.
    pub(super) fn skipped(&mut self) {
        match self.made.take() {
            Some(id) => (self.next, self.left) = (id, self.left + 1),
            None => (self.next, self.left) = self.before,
        }
    }

    /// Another row, with this value in the column, was changed for the one at hand, or was found to be as it should.
    pub(super) fn updated(&mut self, value: &Value, changed: bool) {
        self.wrote |= changed;
        self.take(value);
    }

    fn take(&mut self, value: &Value) {
        self.last = id_of(value);
        self.negative = matches!(value, Value::Int(id) if *id < 0);
    }

    /// What LAST_INSERT_ID() becomes.
    pub(super) fn first_inserted(&self) -> Option<u64> {
        self.first_inserted
    }

    /// The insert id that a client receives where no value was made.
    pub(super) fn last_written(&self) -> u64 {
        if self.wrote { self.last } else { 0 }
    }
}

/// A value of the column as clients receive it; a negative one wraps around.
fn id_of(value: &Value) -> u64 {
    match value {
        Value::Int(id) => *id as u64,
        Value::UInt(id) => *id,
        Value::Double(id) => id.max(0.0) as u64,
        Value::Float(id) => id.max(0.0) as u64,
        _ => 0,
    }
}
