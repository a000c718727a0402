//! Whether what a server has is what its clients received.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use cohort_io::FileSystem;
use cohort_sql::{Database, check_tables};
use cohort_txn::StartReport;

use super::clients::{Attempt, Memory, logged_label};
use super::listener;
use super::state::{Change, State};
use crate::history::Fate;
use crate::replica::{self, Logged};

/// Each doubles the work. In doubt are the sessions that were in a commit, and, where RocksDB takes no more definitions,
/// the statements of the workload that change them.
const DOUBTS_MAX: usize = 12;

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    Whole,
    /// Without prepare: each log has what was acknowledged, and nothing that was refused; they may differ.
    EachLog,
}

/// What a server has.
pub struct Found {
    /// By its tables.
    pub state: State,
    /// Whether that is not what the binlog makes of nothing.
    pub differs: bool,
}

/// Checks a server that was just started, or has come to rest, against `memory`, where it settles what was in doubt.
/// Returns what it found.
///
/// Acknowledged is there and refused is not, whole, in every engine, and in the binlog in the order in which it was
/// acknowledged; XA RECOVER lists what was prepared and not decided; the binlog makes the tables, its GTIDs have no
/// gap; indexes have their rows; what a reader of the binlog got is there.
pub fn judge(database: &Database, fs: &dyn FileSystem, promise: Promise, memory: &mut Memory) -> Result<Found> {
    let store = database.store();
    let found = State::of_server(database)?;
    listener::check(store, fs, &memory.heard)?;
    let logged = store.log_bin().then(|| replica::read(store, fs)).transpose().context("the binlog")?;
    let by_log = match &logged {
        Some(logged) => {
            let ddl = ddl(&memory.attempts, logged);
            let state = State::of_binlog(logged.clone(), &ddl).context("the binlog does not make sense")?;
            order(logged, &memory.attempts)?;
            Some(state)
        }
        None => None,
    };
    let candidates = candidates(&memory.attempts)?;
    match promise {
        Promise::Whole => {
            if let Some(difference) = by_log.as_ref().and_then(|by_log| found.difference(by_log)) {
                bail!("the tables and what the binlog makes of them: {difference}");
            }
            let (settled, _) = candidates
                .iter()
                .find(|(_, state)| found.difference(state).is_none())
                .with_context(|| format!("what clients received is not there: {}", differences(&found, &candidates)))?;
            memory.attempts.clone_from(settled);
        }
        Promise::EachLog => {
            for engine in [0, 1] {
                let fits = candidates.iter().any(|(_, state)| found.difference_in(state, engine).is_none());
                ensure!(fits, "engine {engine} has not what clients received: {}", differences(&found, &candidates));
            }
            if let Some(by_log) = &by_log {
                let fits = candidates.iter().any(|(_, state)| by_log.difference(state).is_none());
                ensure!(fits, "the binlog has not what clients received: {}", differences(by_log, &candidates));
            }
        }
    }
    let check = check_tables(store.engines(), &mut |_| ());
    ensure!(check.faults.is_empty(), "tables and indexes: {:?}", check.faults);
    let differs = by_log.is_some_and(|by_log| found.difference(&by_log).is_some());
    Ok(Found { state: found, differs })
}

/// What a start says about logs that differ.
pub fn divergences(report: &StartReport) -> &[String] {
    match report {
        StartReport::Journal(_) => &[],
        StartReport::Classic(report) => &report.divergences,
    }
}

/// Statements that were sent, for those that a binlog holds.
fn ddl<'t>(attempts: &'t [Attempt], logged: &[Logged]) -> HashMap<String, &'t Change> {
    let sent = |sql: &String| {
        attempts.iter().find(|attempt| attempt.label == *sql).and_then(|attempt| attempt.changes.first())
    };
    let statements = logged.iter().filter_map(|logged| match logged {
        Logged::Statement(sql) => Some((sql.clone(), sent(sql)?)),
        _ => None,
    });
    statements.collect()
}

/// Every transaction of the binlog was sent, was not refused, is there once, and is after those that were acknowledged
/// before its end was asked for.
fn order(logged: &[Logged], attempts: &[Attempt]) -> Result<()> {
    let mut before: Vec<&Attempt> = Vec::new();
    for logged in logged {
        let label = logged_label(logged);
        let sent = attempts.iter().find(|attempt| attempt.label == label && attempt.fate != Fate::Absent);
        let sent = sent.with_context(|| format!("the binlog has {label:?}, which was refused or never sent"))?;
        for earlier in &before {
            ensure!(earlier.label != label, "the binlog has {label:?} twice");
            ensure!(earlier.began <= sent.ended, "the binlog has {label:?} after {:?}", earlier.label);
        }
        before.push(sent);
    }
    let gone = attempts
        .iter()
        .find(|attempt| attempt.fate == Fate::Committed && !before.iter().any(|there| there.label == attempt.label));
    gone.map_or(Ok(()), |gone| bail!("{:?} was acknowledged and is not in the binlog", gone.label))
}

/// What may be there, and what became of everything then: each that is in doubt, or not.
fn candidates(attempts: &[Attempt]) -> Result<Vec<(Vec<Attempt>, State)>> {
    let doubts: Vec<usize> = (0..attempts.len()).filter(|at| attempts[*at].fate == Fate::InDoubt).collect();
    ensure!(doubts.len() <= DOUBTS_MAX, "{} in doubt: {attempts:?}", doubts.len());
    let mut candidates = Vec::new();
    for choice in 0..1_u32 << doubts.len() {
        let mut attempts = attempts.to_vec();
        for (bit, at) in doubts.iter().enumerate() {
            attempts[*at].fate = if choice >> bit & 1 == 1 { Fate::Committed } else { Fate::Absent };
        }
        let mut state = State::default();
        let there = attempts.iter().filter(|attempt| attempt.fate == Fate::Committed);
        // One that cannot be, like a row in a table whose creation was in doubt, was not.
        if there.flat_map(|attempt| &attempt.changes).all(|change| state.make(change).is_ok()) {
            candidates.push((attempts, state));
        }
    }
    Ok(candidates)
}

fn differences(found: &State, candidates: &[(Vec<Attempt>, State)]) -> String {
    let attempts = candidates.iter().map(|(attempts, state)| {
        let last = attempts.iter().rev().take(3).map(|attempt| format!("{} {:?}", attempt.label, attempt.fate));
        format!("\n  with {:?}: {:?}", last.collect::<Vec<_>>(), found.difference(state))
    });
    attempts.collect()
}
