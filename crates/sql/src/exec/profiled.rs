//! An operator that is watched for EXPLAIN ANALYZE: its rows are counted and timed, with those of its inputs. Only a run
//! that has a [`Profile`] wraps its operators so; others know nothing of this.

use std::sync::Arc;
use std::time::Instant;

use super::Run;
use super::operators::{Operator, Row};
use crate::error::SqlError;
use crate::plan::node::Node;
use crate::profile::{Measured, Profile};

/// Where a node is, by which a profile knows it.
pub(super) fn place(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

/// An operator that is watched.
pub(super) struct Profiled<'p> {
    inner: Box<dyn Operator + 'p>,
    node: &'p Node,
    profile: Arc<Profile>,
    /// Of the run that goes on.
    measured: Option<Measured>,
}

impl<'p> Profiled<'p> {
    /// Watches an operator whose opening began at `begun`.
    pub(super) fn new(
        inner: Box<dyn Operator + 'p>,
        node: &'p Node,
        profile: Arc<Profile>,
        begun: Instant,
    ) -> Profiled<'p> {
        let all = begun.elapsed();
        Profiled { inner, node, profile, measured: Some(Measured { all, ..Measured::default() }) }
    }

    /// So many rows more came since then.
    fn count(&mut self, begun: Instant, rows: u64) {
        let measured = self.measured.get_or_insert_default();
        measured.all += begun.elapsed();
        if measured.rows == 0 {
            measured.first = measured.all;
        }
        measured.rows += rows;
    }

    fn report(&mut self) {
        if let Some(measured) = self.measured.take() {
            self.profile.add(place(self.node), Measured { examined: self.inner.examined(), ..measured });
        }
    }
}

impl Operator for Profiled<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let begun = Instant::now();
        let given = self.inner.next(run, row);
        self.count(begun, u64::from(matches!(given, Ok(true))));
        given
    }

    fn skip(&mut self, count: u64, run: &mut Run<'_>, row: &mut Row) -> Result<u64, SqlError> {
        let begun = Instant::now();
        let skipped = self.inner.skip(count, run, row);
        self.count(begun, *skipped.as_ref().unwrap_or(&0));
        skipped
    }

    fn open_again(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        self.report();
        let begun = Instant::now();
        let again = self.inner.open_again(run, row)?;
        self.measured = again.then(|| Measured { all: begun.elapsed(), ..Measured::default() });
        Ok(again)
    }

    fn as_planned(&self) -> bool {
        self.inner.as_planned()
    }
}

impl Drop for Profiled<'_> {
    fn drop(&mut self) {
        self.report();
    }
}
