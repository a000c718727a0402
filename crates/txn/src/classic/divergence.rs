//! What the engines have before recovery decides, and in what that differs from the binlog.
//!
//! Nothing repairs a difference: it is reported. With prepare, not every one is seen: an engine that lost transactions
//! which others know of is reported where it has no later ones prepared.

use std::collections::HashMap;
use std::sync::Arc;

use cohort_binlog::{BinlogPosition, GtidSet};
use cohort_engine::{TwoPhase, Xid};

use super::binlog_note::BinlogNote;
use super::internal_number;
use super::recovery::{LoggedTransaction, RecoverError};

/// What an engine has.
pub(super) struct EngineState<'e> {
    pub engine: &'e dyn TwoPhase,
    pub note: BinlogNote,
    /// Prepared transactions of this server, by their number.
    pub prepared: HashMap<u64, Xid>,
    /// Prepared transactions with names that are not this server's.
    pub foreign: u64,
}

impl EngineState<'_> {
    pub fn read_all(engines: &[Arc<dyn TwoPhase>]) -> Result<Vec<EngineState<'_>>, RecoverError> {
        engines.iter().map(|engine| EngineState::read(&**engine, engines.len())).collect()
    }

    fn read(engine: &dyn TwoPhase, engines: usize) -> Result<EngineState<'_>, RecoverError> {
        let note = BinlogNote::read(engine, engines)?;
        let (mut prepared, mut foreign) = (HashMap::new(), 0);
        for xid in engine.prepared() {
            match internal_number(&xid) {
                Some(number) => drop(prepared.insert(number, xid)),
                None => foreign += 1,
            }
        }
        Ok(EngineState { engine, note, prepared, foreign })
    }

    /// Whether `one` was committed here, if it changed this engine and was ever prepared.
    fn must_have_committed(&self, one: &LoggedTransaction) -> bool {
        one.has_rows && one.xid.is_some_and(|number| !self.prepared.contains_key(&number))
    }
}

/// In what binlog and engines differ; `logged` are the transactions of the last binlog file, which ends at `end`.
/// With prepare, only such as have rows can be missed: others may be in the binlog alone, and nothing of them is prepared.
pub(super) fn divergences(
    engines: &[EngineState],
    prepares: bool,
    logged: &[LoggedTransaction],
    end: BinlogPosition,
) -> Vec<String> {
    let newest = engines.iter().flat_map(|state| state.note.last.iter().copied()).max().unwrap_or_default();
    let mut found = Vec::new();
    if newest > end {
        found.push(format!("the engines have transactions up to binlog position {newest}, the binlog ends at {end}"));
    }
    for (at, state) in engines.iter().enumerate() {
        let (own, name) = (state.note.last[at], state.engine.name());
        let known = engines.iter().map(|other| other.note.last[at]).max().unwrap_or_default();
        let between = || logged.iter().filter(|one| one.end > own && one.end <= known);
        let has_none = !prepares || between().all(|one| state.must_have_committed(one));
        if own < known && has_none {
            let lost = gtids(between());
            found.push(format!(
                "{name} ends at binlog position {own}, another engine knows of a change of it at {known}{lost}"
            ));
        }
    }
    let is_nowhere = |one: &LoggedTransaction| !prepares || engines.iter().all(|state| state.must_have_committed(one));
    let lost = || logged.iter().filter(|one| one.end > newest && is_nowhere(one));
    match lost().count() {
        0 => {}
        count => {
            let lost = gtids(lost());
            found.push(format!("the binlog has {count} transactions after {newest} that no engine has{lost}"));
        }
    }
    found
}

/// Names the transactions, as far as the binlog does.
fn gtids<'l>(transactions: impl Iterator<Item = &'l LoggedTransaction>) -> String {
    let mut set = GtidSet::new();
    transactions.filter_map(|one| one.gtid).for_each(|gtid| set.insert(gtid));
    match set.to_string() {
        empty if empty.is_empty() => empty,
        named => format!(": {named}"),
    }
}

#[cfg(test)]
mod tests;
