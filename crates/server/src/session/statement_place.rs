//! The places of prepared statements, of which the server has `max_prepared_stmt_count`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cohort_sql::SqlError;
use cohort_sql::error::ER_MAX_PREPARED_STMT_COUNT_REACHED;

use crate::server::Server;
use crate::status::{Counters, uncount};
use crate::sysvars::ids;

/// One of the prepared statements that the server has; gives its place back.
pub(super) struct StatementPlace(Arc<Counters>);

impl StatementPlace {
    /// A place for one more, of a session that has `own`; 1461 if the server or the session has no more.
    pub(super) fn take(server: &Server, own: usize) -> Result<StatementPlace, SqlError> {
        let reached = |name, max: u64| SqlError::new(ER_MAX_PREPARED_STMT_COUNT_REACHED, &[&name, &max]);
        let own_max = server.globals.get(ids::MAX_SESSION_PREPARED_STMT_COUNT);
        if own as u64 >= own_max {
            return Err(reached("max_session_prepared_stmt_count", own_max));
        }
        let max = server.globals.get(ids::MAX_PREPARED_STMT_COUNT);
        let one_more = |open: u64| (open < max).then_some(open + 1);
        let taken = server.counters.prepared_statements.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.map_err(|_| reached("max_prepared_stmt_count", max))?;
        Ok(StatementPlace(server.counters.clone()))
    }
}

impl Drop for StatementPlace {
    fn drop(&mut self) {
        uncount(&self.0.prepared_statements);
    }
}
