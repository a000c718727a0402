//! The session as the expressions of one statement see it.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use cohort_binlog::GtidSet;
use cohort_txn::blocking_hook::blocking;

use crate::collation::Collation;
use crate::error::SqlError;
use crate::expr::{Information, RandomSequence, StatementContext, VariableScope};
use crate::privilege::roster::Roster;
use crate::privilege::{Privilege, PrivilegeSet};
use crate::session::{DiagnosticLevel, Environment, SessionState, clock_us};
use crate::spill::Spilling;
use crate::types::temporal::TimeZone;
use crate::types::{Loss, SqlMode};
use crate::value::Value;

/// One running statement.
pub(crate) struct Statement<'a> {
    pub(crate) session: &'a SessionState,
    pub(crate) env: &'a dyn Environment,
    /// The number of the session's open transaction.
    transaction: Option<u64>,
    now_us: i64,
    /// A conversion that loses something is an error.
    strict: bool,
    /// It has IGNORE.
    pub(crate) ignores: bool,
    /// What would warn fails.
    trying: Cell<bool>,
    /// LAST_INSERT_ID(expr), if it was called.
    pub(crate) explicit_last_insert_id: Cell<Option<u64>>,
    /// The first AUTO_INCREMENT value that it made.
    pub(crate) first_made_id: Cell<Option<u64>>,
    random: Cell<u64>,
    /// The sequences of RAND(n), by place.
    sequences: RefCell<Vec<(usize, RandomSequence)>>,
}

impl<'a> Statement<'a> {
    /// A statement that starts now; `writes` rows strictly if the SQL mode says so.
    pub(crate) fn new(session: &'a SessionState, env: &'a dyn Environment, writes: bool) -> Statement<'a> {
        let now_us = session.now_us();
        Statement {
            session,
            env,
            transaction: session.transaction.as_ref().map(|open| open.transaction.owner()),
            now_us,
            strict: writes && session.sql_mode.is_strict(),
            ignores: false,
            trying: Cell::new(false),
            explicit_last_insert_id: Cell::new(None),
            first_made_id: Cell::new(None),
            random: Cell::new((now_us as u64) ^ (&raw const *session as u64).rotate_left(32)),
            sequences: RefCell::default(),
        }
    }

    /// The same, maybe with IGNORE: nothing is strict then.
    pub(crate) fn ignoring(self, ignores: bool) -> Statement<'a> {
        Statement { strict: self.strict && !ignores, ignores, ..self }
    }

    /// The same as part of the transaction with this number.
    pub(crate) fn within(self, transaction: u64) -> Statement<'a> {
        Statement { transaction: Some(transaction), ..self }
    }

    /// The same, started at another time.
    pub(crate) fn at(self, now_us: i64) -> Statement<'a> {
        Statement { now_us, ..self }
    }

    /// Has something evaluated that nobody may notice: what would warn is an error.
    pub(crate) fn trying<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.trying.set(true);
        let done = evaluate();
        self.trying.set(false);
        done
    }

    /// Keeps a warning.
    pub(crate) fn push_warning(&self, error: SqlError) {
        self.session.push_diagnostic(DiagnosticLevel::Warning, error);
    }

    /// Keeps what a conversion for a column lost.
    pub(crate) fn push_loss(&self, loss: Loss, error: SqlError) {
        let level = match loss {
            Loss::Note => DiagnosticLevel::Note,
            Loss::Warning => DiagnosticLevel::Warning,
        };
        self.session.push_diagnostic(level, error);
    }
}

impl StatementContext for Statement<'_> {
    fn now_us(&self) -> i64 {
        self.now_us
    }

    fn clock_us(&self) -> i64 {
        clock_us()
    }

    fn time_zone(&self) -> TimeZone {
        self.session.time_zone
    }

    fn sql_mode(&self) -> SqlMode {
        self.session.sql_mode
    }

    fn default_week_format(&self) -> u8 {
        self.session.default_week_format
    }

    fn warn(&self, warning: SqlError) -> Result<(), SqlError> {
        if self.strict || self.trying.get() {
            return Err(warning);
        }
        self.push_warning(warning);
        Ok(())
    }

    fn hold(&self, bytes: usize) -> Result<(), SqlError> {
        self.session.memory.hold(bytes)
    }

    fn hold_evaluated(&self, bytes: usize) -> Result<(), SqlError> {
        self.session.memory.hold_evaluated(bytes)
    }

    fn evaluated(&self) -> u64 {
        self.session.memory.evaluated()
    }

    fn forget_evaluated(&self, to: u64) {
        self.session.memory.forget_evaluated(to);
    }

    fn check_killed(&self) -> Result<(), SqlError> {
        self.session.check_killed()
    }

    fn spilling(&self) -> Option<&dyn Spilling> {
        Some(self.session)
    }

    fn user_variable(&self, name: &str) -> Value {
        self.session.user_variable(name)
    }

    fn set_user_variable(&self, name: &str, value: Value, collation: Collation) -> Result<(), SqlError> {
        self.session.set_user_variable(name, value, collation)
    }

    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        self.env.variable(self.session, scope, name)
    }

    fn information(&self, what: Information) -> Value {
        match what {
            Information::Database => {
                self.session.database.as_ref().map_or(Value::Null, |name| Value::Text(name.clone()))
            }
            Information::User => Value::text(self.env.user()),
            Information::CurrentUser => Value::text(self.env.current_user()),
            Information::CurrentRole => Value::text(self.env.roster().active_roles()),
            Information::RolesGraphml => {
                let may_see = PrivilegeSet::of(&[Privilege::RoleAdmin, Privilege::Super]);
                let sees = self.session.holder.grants.global().has_any(may_see);
                Value::text(if sees { self.env.roster().graphml() } else { Roster::EMPTY_GRAPHML.to_owned() })
            }
            Information::Version => Value::text(self.env.version()),
            Information::ConnectionId => Value::UInt(self.env.connection_id()),
            Information::LastInsertId => Value::UInt(self.session.last_insert_id.get()),
            Information::RowCount => Value::Int(self.session.row_count.get()),
            Information::FoundRows => Value::UInt(self.session.found_rows.get()),
        }
    }

    fn has_connection(&self, id: u64) -> bool {
        self.env.has_connection(id)
    }

    fn set_last_insert_id(&self, id: u64) {
        self.explicit_last_insert_id.set(Some(id));
        self.session.last_insert_id.set(id);
    }

    fn sleep(&self, duration: Duration) -> bool {
        const STEP: Duration = Duration::from_millis(20);
        let until = Instant::now().checked_add(duration);
        loop {
            if self.session.interrupt_ref().is_killed() {
                return true;
            }
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => STEP,
            };
            if left.is_zero() {
                return false;
            }
            blocking(|| std::thread::sleep(left.min(STEP)));
        }
    }

    fn wait_for_gtids(&self, set: &GtidSet, time: Option<Duration>) -> Result<bool, SqlError> {
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        self.env.wait_for_gtids(set, deadline, &|| self.session.interrupt_ref().is_killed())
    }

    fn lock_name(&self, name: &str, timeout: Duration) -> Result<bool, SqlError> {
        self.session.lock_name(name, timeout, self.transaction)
    }

    fn unlock_name(&self, name: &str) -> bool {
        self.session.unlock_name(name)
    }

    fn unlock_names(&self) -> u64 {
        self.session.unlock_names()
    }

    fn name_holder(&self, name: &str) -> Option<u64> {
        let (owner, own) = self.session.name_holder(name)?;
        if own { Some(self.env.connection_id()) } else { self.env.lock_owner(owner).map(|owner| owner.connection) }
    }

    /// Good enough for RAND and UUID, not for secrets.
    fn random(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut state = self.random.get();
            let number = cohort_io::splitmix64(&mut state);
            self.random.set(state);
            chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
        }
    }

    fn sequence(&self, place: usize) -> Option<RandomSequence> {
        self.sequences.borrow().iter().find(|(known, _)| *known == place).map(|(_, sequence)| *sequence)
    }

    fn keep_sequence(&self, place: usize, sequence: RandomSequence) {
        let mut sequences = self.sequences.borrow_mut();
        match sequences.iter_mut().find(|(known, _)| *known == place) {
            Some((_, kept)) => *kept = sequence,
            None => sequences.push((place, sequence)),
        }
    }

    fn max_allowed_packet(&self) -> usize {
        self.session.max_allowed_packet
    }
}
