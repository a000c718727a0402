//! What happens after a crash of a classic protocol.
//!
//! | crash | leaves | repaired by |
//! | --- | --- | --- |
//! | before the prepare is durable | nothing | – |
//! | before the binlog has the XID | a prepared transaction | rolled back |
//! | during the binlog write | a torn end of the file, a prepared transaction | cut, rolled back |
//! | behind it, before the commit record is durable | a prepared transaction with its XID in the binlog | committed |
//! | without prepare (`mysql41`, `support_xa=0`) | a transaction in one log only | nothing can |
//!
//! The coordinator log is the last binlog file: a file is ended only when everything in it is durable in
//! the engines. For what is not in the binlog it is `tc.log`, which has an XID until its transaction is durable.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cohort_engine::{TwoPhase, Xid};
use cohort_io::FileSystem;
use cohort_log::binlog::{BinlogFiles, BinlogPosition, EventBody, Gtid, GtidSet, ReadError, ReaderOptions};

use serde::Serialize;

use super::{CommitProtocol, TcLog, UNLOGGED, binlog_note, internal_number};
use crate::checkpoint::Note;
use crate::recovery::RecoverError;

/// What the recovery of a classic protocol found and did: as one line for the operator, and as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TwoPhaseReport {
    /// The protocol that wrote the logs.
    pub protocol: String,
    /// The server had been stopped cleanly.
    pub clean_stop: bool,
    /// Transactions in the last binlog file.
    pub in_binlog: u64,
    /// Transactions in `tc.log`: of several engines and not in the binlog.
    pub in_tc_log: u64,
    /// Bytes cut off behind them.
    pub binlog_bytes_cut: u64,
    /// Why they were cut.
    pub cut_reason: Option<String>,
    /// Per engine.
    pub engines: Vec<DecidedReport>,
    /// XA transactions that clients prepared and nobody has decided.
    pub xa_prepared: u64,
    /// Microseconds to read the last binlog file and cut its torn end.
    pub binlog_us: u64,
    /// In what binlog and engines differ, which only a protocol without prepare leaves: nothing repairs it.
    pub divergences: Vec<String>,
}

/// What became of the prepared transactions that recovery found in one engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecidedReport {
    /// The engine's name.
    pub name: &'static str,
    /// Prepared transactions found.
    pub prepared: u64,
    /// Of these, committed: the coordinator's log has them.
    pub committed: u64,
    /// Rolled back: it does not have them.
    pub rolled_back: u64,
    /// With names that are not this server's, left as they are.
    pub left: u64,
    /// Microseconds to find and decide them, durably.
    pub decide_us: u64,
}

impl TwoPhaseReport {
    /// Whether there was nothing to do.
    pub fn is_clean(&self) -> bool {
        self.clean_stop
            && self.binlog_bytes_cut == 0
            && self.divergences.is_empty()
            && self.engines.iter().all(|engine| engine.prepared == 0)
    }
}

impl fmt::Display for TwoPhaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TwoPhaseReport { protocol, in_binlog, in_tc_log, .. } = self;
        write!(f, "recovery: {protocol}, {in_binlog} transactions in the last binlog file, {in_tc_log} in tc.log")?;
        for DecidedReport { name, prepared, committed, rolled_back, left, .. } in &self.engines {
            write!(
                f,
                "; {name}: {prepared} prepared, of them {committed} committed, {rolled_back} rolled back, {left} left"
            )?;
        }
        let ms = |us: u64| us as f64 / 1e3;
        write!(f, "; {:.1} ms for the binlog", ms(self.binlog_us))?;
        for engine in &self.engines {
            write!(f, ", {:.1} ms for {}", ms(engine.decide_us), engine.name)?;
        }
        if self.binlog_bytes_cut > 0 {
            let reason = self.cut_reason.as_deref().unwrap_or("space set aside");
            write!(f, "; {} binlog bytes cut ({reason})", self.binlog_bytes_cut)?;
        }
        if self.xa_prepared > 0 {
            write!(f, "; {} XA transactions wait for their decision", self.xa_prepared)?;
        }
        self.divergences.iter().try_for_each(|divergence| write!(f, "; DIVERGED: {divergence}"))
    }
}

/// The coordinator log as a crash left it.
#[derive(Default)]
struct CoordinatorLog {
    end: BinlogPosition,
    gtids: GtidSet,
    /// In order.
    transactions: Vec<LoggedTransaction>,
    cut_reason: Option<String>,
    /// Its file is not marked as closed.
    in_use: bool,
}

/// A transaction in the binlog.
pub(super) struct LoggedTransaction {
    /// Number in its XID; the journal gives XA transactions none.
    pub xid: Option<u64>,
    pub gtid: Gtid,
    /// Where it ends.
    pub end: BinlogPosition,
}

/// Decides every prepared transaction by the last binlog file, whose torn end is cut, or where it was not to be
/// in that by `tc_log`, the numbers in `tc.log`. `wrote` is the protocol that wrote them.
pub(crate) fn recover(
    wrote: CommitProtocol,
    binlog: &BinlogFiles,
    tc_log: &[u64],
    engines: &[Arc<dyn TwoPhase>],
) -> Result<(Note, TwoPhaseReport), RecoverError> {
    let began = Instant::now();
    let found = read_coordinator_log(binlog)?;
    if let Some(log) = found.as_ref().filter(|log| log.in_use && log.end.file_number > 0) {
        binlog.write_again(log.end)?;
    }
    let files = binlog.finish_recovery(found.as_ref().map(|log| log.end))?;
    let log = found.unwrap_or_default();
    let mut report = TwoPhaseReport {
        protocol: wrote.to_string(),
        clean_stop: !log.in_use,
        in_binlog: log.transactions.len() as u64,
        in_tc_log: tc_log.len() as u64,
        binlog_bytes_cut: files.cut_bytes,
        cut_reason: log.cut_reason.filter(|_| files.cut_bytes > 0),
        ..TwoPhaseReport::default()
    };
    report.binlog_us = began.elapsed().as_micros() as u64;
    let logged = log.transactions.iter().filter_map(|transaction| transaction.xid);
    let logged: Vec<u64> = logged.chain(tc_log.iter().copied()).collect();
    for engine in engines {
        report.engines.push(decide(&**engine, &logged)?);
    }
    if !wrote.prepares() {
        report.divergences = binlog_note::divergences(engines, &log.transactions, log.end)?;
    }
    Ok((Note { position: log.end, gtids: log.gtids }, report))
}

/// Reads `tc.log` at `path`. It is there before any transaction that it decides is prepared: where it is
/// missing, `engines` may hold none of those.
pub(crate) fn read_tc_log(
    fs: &dyn FileSystem,
    path: &Path,
    engines: &[Arc<dyn TwoPhase>],
) -> Result<Vec<u64>, RecoverError> {
    let found = TcLog::read(fs, path)?;
    let mut undecided = engines.iter().flat_map(|engine| engine.prepared());
    if found.is_none() && undecided.any(|xid| internal_number(&xid).is_some_and(|number| number & UNLOGGED != 0)) {
        return Err(RecoverError::NoTcLog { path: path.to_path_buf() });
    }
    Ok(found.unwrap_or_default())
}

/// Commits what the coordinator's log has, in its order, and rolls the rest back.
fn decide(engine: &dyn TwoPhase, logged: &[u64]) -> Result<DecidedReport, RecoverError> {
    let began = Instant::now();
    let found = engine.prepared();
    let (name, prepared) = (engine.name(), found.len() as u64);
    let mut report = DecidedReport { name, prepared, committed: 0, rolled_back: 0, left: 0, decide_us: 0 };
    let mut undecided: HashMap<u64, Xid> = HashMap::new();
    for xid in found {
        match internal_number(&xid) {
            Some(number) => drop(undecided.insert(number, xid)),
            None => report.left += 1,
        }
    }
    for number in logged {
        if let Some(xid) = undecided.remove(number) {
            engine.commit_prepared(&xid)?;
            report.committed += 1;
        }
    }
    let undecided: BTreeSet<&Xid> = undecided.values().collect();
    undecided.iter().try_for_each(|xid| engine.rollback_prepared(xid))?;
    report.rolled_back = undecided.len() as u64;
    engine.flush_log()?;
    report.decide_us = began.elapsed().as_micros() as u64;
    Ok(report)
}

fn read_coordinator_log(binlog: &BinlogFiles) -> Result<Option<CoordinatorLog>, RecoverError> {
    let Some(last) = binlog.found_end() else {
        return Ok(first_file_is_empty(binlog).then(CoordinatorLog::default));
    };
    match read_file(binlog, last.file_number) {
        // A crash can list a file before its header, or the file itself, is there. Nothing is in it, and
        // everything in the file before it was decided.
        Err(error) if was_not_begun(&error) && last.file_number == 1 => Ok(Some(CoordinatorLog::default())),
        Err(error) if was_not_begun(&error) => Ok(Some(read_file(binlog, last.file_number - 1)?)),
        read => Ok(Some(read?)),
    }
}

/// Whether the index is empty because a crash came before its first line was there.
fn first_file_is_empty(binlog: &BinlogFiles) -> bool {
    let has_transactions = |number| read_file(binlog, number).is_ok_and(|log| !log.transactions.is_empty());
    !has_transactions(1) && read_file(binlog, 2).is_err()
}

fn was_not_begun(error: &ReadError) -> bool {
    match error {
        ReadError::Io(error) => error.is_not_found(),
        ReadError::NotBinlog { .. } | ReadError::CutOff { .. } | ReadError::Damaged { .. } => true,
        _ => false,
    }
}

/// Reads a file up to the end of its last whole transaction. An error says that its header is not there.
fn read_file(binlog: &BinlogFiles, number: u64) -> Result<CoordinatorLog, ReadError> {
    let mut reader = binlog.reader(number, ReaderOptions::default())?;
    let (gtids, in_use) = (reader.previous_gtids()?, reader.is_in_use());
    let mut log = CoordinatorLog { gtids, in_use, ..CoordinatorLog::default() };
    log.end = BinlogPosition { file_number: number, offset: reader.offset() };
    let mut unfinished: Option<LoggedTransaction> = None;
    loop {
        let event = match reader.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(log),
            Err(torn) => {
                log.cut_reason = Some(torn.to_string());
                return Ok(log);
            }
        };
        let (offset, end) = (event.offset, event.offset + u64::from(event.header.event_bytes));
        let xid = match event.decode() {
            Ok(EventBody::Gtid(event)) => {
                let end = offset.saturating_add(event.transaction_bytes);
                let end = BinlogPosition { file_number: number, offset: end };
                unfinished = Some(LoggedTransaction { xid: None, gtid: event.gtid, end });
                None
            }
            Ok(EventBody::Xid(xid)) => Some(xid),
            Ok(EventBody::Query(query)) => query.ddl_xid(),
            Ok(EventBody::Rotate(_)) => {
                log.end.offset = end;
                None
            }
            Ok(_) => None,
            Err(error) => return Err(reader.damaged(offset, error)),
        };
        if let Some(transaction) = &mut unfinished {
            transaction.xid = xid.or(transaction.xid);
        }
        if let Some(transaction) = unfinished.take_if(|transaction| transaction.end.offset == end) {
            log.end = transaction.end;
            log.gtids.insert(transaction.gtid);
            log.transactions.push(transaction);
        }
    }
}
