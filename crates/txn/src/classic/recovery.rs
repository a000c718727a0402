//! What happens after a crash of a classic protocol.
//!
//! | crash | leaves | repaired by |
//! | --- | --- | --- |
//! | before the prepare is durable | nothing | – |
//! | before the binlog has the XID | a prepared transaction | rolled back |
//! | during the binlog write | a torn end of the file, a prepared transaction | cut, rolled back |
//! | – (the disk) | damage before the place up to which an engine knows the file to be durable | refused; the operator decides |
//! | after it, before the commit record is durable | a prepared transaction with its XID in the binlog | committed |
//! | without prepare (`mysql41`, `support_xa=0`) | a transaction in one log only | nothing can: reported |
//! | – (the disk) | damage in an engine's own log: transactions with rows that are nowhere prepared | nothing can: reported |
//!
//! The coordinator log is the last binlog file: a file is ended only when everything in it is durable in
//! the engines. For what is not in the binlog it is `tc.log`, which has an XID until its transaction is durable.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cohort_binlog::{BinlogFiles, BinlogPosition, BinlogReader, EventBody, Gtid, GtidSet, ReadError, ReaderOptions};
use cohort_engine::{TwoPhase, Xid};
use cohort_io::FileSystem;

use serde::Serialize;

use super::divergence::{EngineState, divergences};
use super::{TcLog, TcLogError, UNLOGGED, internal_number};
use crate::commit_protocol::CommitProtocol;
use crate::inspect::Fault;
use crate::shared::Note;

/// What a classic protocol wrote cannot be recovered. Nothing was changed that the next start would not do again.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The binlog cannot be opened or repaired.
    #[error(transparent)]
    Binlog(#[from] cohort_binlog::BinlogError),
    /// The last binlog file is unreadable.
    #[error(transparent)]
    BinlogRead(#[from] cohort_binlog::ReadError),
    /// The binlog lost bytes that were durable, which no crash does.
    #[error(
        "{path} is damaged at byte {offset}: {what}, and an engine knows the binlog to be durable up to {synced}; \
         nothing was changed; restore the file, or start once with --binlog-cut-at={cut_at} to keep what lies before \
         it and lose what the binlog had after it, with every transaction there that the engines only have prepared",
        path = .path.display()
    )]
    BinlogRot {
        path: PathBuf,
        /// Up to where it is whole.
        offset: u64,
        /// What was found there.
        what: String,
        /// Up to where it was durable, as `binlog.000003:4711`.
        synced: String,
        /// Where the operator may cut, in the same form.
        cut_at: String,
    },
    /// What a classic protocol left in an engine says nothing this server understands.
    #[error("the note of the binlog's position in {engine} is damaged; restore binlog and engines from one backup")]
    BinlogNote {
        /// The engine's name.
        engine: &'static str,
    },
    /// The coordinator's log cannot be read or begun.
    #[error(transparent)]
    TcLog(#[from] TcLogError),
    /// The coordinator's log is gone, and there are transactions that only it can decide.
    #[error("engines hold undecided transactions and {} is missing: restore it", .path.display())]
    NoTcLog {
        /// Where it should be.
        path: PathBuf,
    },
    /// An engine could not be read.
    #[error(transparent)]
    EngineRead(#[from] cohort_engine::ReadError),
    /// An engine refused to decide a transaction.
    #[error(transparent)]
    Engine(#[from] cohort_engine::WriteError),
}

/// What the recovery of a classic protocol found and did: as one line for the operator, and as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassicReport {
    /// The protocol that wrote the logs.
    pub protocol: String,
    /// The server had been stopped cleanly.
    pub clean_stop: bool,
    /// Transactions in the last binlog file.
    pub in_binlog: u64,
    /// Transactions in `tc.log`: of several engines and not in the binlog.
    pub in_tc_log: u64,
    /// Bytes cut off after them.
    pub binlog_bytes_cut: u64,
    /// Why they were cut.
    pub cut_reason: Option<String>,
    /// The operator asked for the cut: committed transactions are lost, in the binlog or altogether.
    pub cut_by_operator: bool,
    /// Per engine.
    pub engines: Vec<DecidedReport>,
    /// XA transactions that clients prepared and nobody has decided.
    pub xa_prepared: u64,
    /// Microseconds to read the last binlog file and cut its torn end.
    pub binlog_us: u64,
    /// In what binlog and engines differ, which a protocol without prepare leaves, weaker durability, or a cut that
    /// the operator asked for: nothing repairs it.
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
    /// Bytes that the engine cut off its own log, as the torn end of a write.
    pub log_bytes_cut: u64,
    /// Microseconds to decide them, durably.
    pub decide_us: u64,
}

impl ClassicReport {
    /// Whether there was nothing to do.
    pub fn is_clean(&self) -> bool {
        self.clean_stop
            && self.binlog_bytes_cut == 0
            && self.divergences.is_empty()
            && self.engines.iter().all(|engine| engine.prepared == 0 && engine.log_bytes_cut == 0)
    }
}

impl fmt::Display for ClassicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClassicReport { protocol, in_binlog, in_tc_log, .. } = self;
        write!(f, "recovery: {protocol}, {in_binlog} transactions in the last binlog file, {in_tc_log} in tc.log")?;
        for DecidedReport { name, prepared, committed, rolled_back, left, log_bytes_cut, .. } in &self.engines {
            write!(
                f,
                "; {name}: {prepared} prepared, of them {committed} committed, {rolled_back} rolled back, {left} left"
            )?;
            if *log_bytes_cut > 0 {
                write!(f, ", {log_bytes_cut} bytes cut off its log")?;
            }
        }
        let ms = |us: u64| us as f64 / 1e3;
        write!(f, "; {:.1} ms for the binlog", ms(self.binlog_us))?;
        for engine in &self.engines {
            write!(f, ", {:.1} ms for {}", ms(engine.decide_us), engine.name)?;
        }
        if self.binlog_bytes_cut > 0 {
            let reason = self.cut_reason.as_deref().unwrap_or("space set aside");
            let whose = if self.cut_by_operator { "as the operator asked: " } else { "" };
            write!(f, "; {} binlog bytes cut ({whose}{reason})", self.binlog_bytes_cut)?;
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
    transactions: Vec<LoggedTransaction>,
    /// Up to here there are whole events.
    whole: BinlogPosition,
    /// What is there instead of the next one.
    torn: Option<Fault>,
    /// Its file is not marked as closed.
    in_use: bool,
}

/// A transaction in the binlog.
pub(super) struct LoggedTransaction {
    /// Number in its XID; the journal gives XA transactions none.
    pub xid: Option<u64>,
    /// None of an anonymous one.
    pub gtid: Option<Gtid>,
    /// Where it ends.
    pub end: BinlogPosition,
    /// It is no DDL and nothing of XA.
    pub has_rows: bool,
}

/// Decides every prepared transaction by the last binlog file, whose torn end is cut, or where it was not to be
/// in that by `tc_log`, the numbers in `tc.log`. `wrote` is the protocol that wrote them; damage that is no torn end
/// is cut only at `cut_at`, where the operator asked for it.
///
/// In what binlog and engines differ is reported before anything is decided: what is committed leaves notes that hide it
/// from the next recovery, should this one be cut short.
pub(crate) fn recover(
    wrote: CommitProtocol,
    binlog: &BinlogFiles,
    cut_at: Option<BinlogPosition>,
    tc_log: &[u64],
    engines: &[Arc<dyn TwoPhase>],
    listener: &mut dyn FnMut(ClassicReport),
) -> Result<(Note, ClassicReport), RecoverError> {
    let began = Instant::now();
    let found = read_coordinator_log(binlog)?;
    let states = EngineState::read_all(engines)?;
    let synced = states.iter().map(|state| state.note.synced).max().unwrap_or_default();
    let mut cut_by_operator = false;
    if let Some(log) = &found {
        cut_by_operator = refuse_rot(binlog, log, synced, cut_at)?;
        // Of the rest it is not known whether it is on the disk or in the system's cache only.
        let known = if synced.file_number == log.end.file_number { synced.offset } else { 0 };
        binlog.write_again(known, log.end)?;
    }
    let files = binlog.finish_recovery(found.as_ref().map(|log| log.end))?;
    let log = found.unwrap_or_default();
    let mut report = ClassicReport {
        protocol: wrote.to_string(),
        clean_stop: !log.in_use,
        in_binlog: log.transactions.len() as u64,
        in_tc_log: tc_log.len() as u64,
        binlog_bytes_cut: files.cut_bytes,
        cut_reason: log.torn.filter(|_| files.cut_bytes > 0).map(|torn| torn.to_string()),
        cut_by_operator,
        ..ClassicReport::default()
    };
    report.binlog_us = began.elapsed().as_micros() as u64;
    let logged = log.transactions.iter().filter_map(|transaction| transaction.xid);
    let logged: Vec<u64> = logged.chain(tc_log.iter().copied()).collect();
    report.divergences = divergences(&states, wrote.prepares(), &log.transactions, log.end);
    if !report.divergences.is_empty() {
        listener(report.clone());
    }
    for (at, mut state) in states.into_iter().enumerate() {
        let note = state.note.raise(at, log.end);
        report.engines.push(decide(state, &logged, note)?);
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
    let found = TcLog::recover(fs, path)?;
    let mut undecided = engines.iter().flat_map(|engine| engine.prepared());
    if found.is_none() && undecided.any(|xid| internal_number(&xid).is_some_and(|number| number & UNLOGGED != 0)) {
        return Err(RecoverError::NoTcLog { path: path.to_path_buf() });
    }
    Ok(found.unwrap_or_default())
}

/// Commits what the coordinator's log has, in its order, after the change that leaves a `note`; rolls the rest back.
fn decide(state: EngineState, logged: &[u64], mut note: Option<Vec<u8>>) -> Result<DecidedReport, RecoverError> {
    let began = Instant::now();
    let EngineState { engine, prepared: mut undecided, foreign: left, .. } = state;
    let prepared = undecided.len() as u64 + left;
    let (name, log_bytes_cut) = (engine.name(), engine.log_bytes_cut());
    let mut report = DecidedReport { name, prepared, committed: 0, rolled_back: 0, left, log_bytes_cut, decide_us: 0 };
    for number in logged {
        if let Some(xid) = undecided.remove(number) {
            if let Some(note) = note.take() {
                engine.commit_unprepared(&note)?;
            }
            engine.commit_prepared(&xid)?;
            report.committed += 1;
        }
    }
    let undecided: BTreeSet<&Xid> = undecided.values().collect();
    undecided.iter().try_for_each(|xid| engine.rollback_prepared(xid))?;
    report.rolled_back = undecided.len() as u64;
    engine.sync_log()?;
    report.decide_us = began.elapsed().as_micros() as u64;
    Ok(report)
}

/// A crash leaves whole what was `synced` before. Says whether the operator has it cut all the same.
fn refuse_rot(
    binlog: &BinlogFiles,
    log: &CoordinatorLog,
    synced: BinlogPosition,
    cut_at: Option<BinlogPosition>,
) -> Result<bool, RecoverError> {
    if log.whole >= synced {
        return Ok(false);
    }
    let whole = match log.whole.file_number {
        0 => BinlogPosition { file_number: synced.file_number, offset: 0 },
        _ => log.whole,
    };
    if cut_at == Some(whole) {
        return Ok(true);
    }
    let shown = |at: BinlogPosition| format!("{}:{}", binlog.file_name(at.file_number), at.offset);
    Err(RecoverError::BinlogRot {
        path: binlog.path(whole.file_number),
        offset: whole.offset,
        what: log.torn.as_ref().map_or("it ends here", |torn| &torn.what).to_owned(),
        synced: shown(synced),
        cut_at: shown(whole),
    })
}

fn read_coordinator_log(binlog: &BinlogFiles) -> Result<Option<CoordinatorLog>, RecoverError> {
    let Some(BinlogPosition { file_number: number, .. }) = binlog.found_end() else {
        return Ok(first_file_is_empty(binlog).then(CoordinatorLog::default));
    };
    let not_begun = match begin_file(binlog, number) {
        Err(error) if was_not_begun(&error) => error,
        begun => return Ok(Some(read_on(begun?)?)),
    };
    // A crash can list a file before its header, or the file itself, is there. Nothing is in it, and
    // everything in the file before it was decided.
    let mut log = match number {
        1 => CoordinatorLog::default(),
        _ => read_file(binlog, number - 1)?,
    };
    if log.torn.is_none() {
        log.whole = BinlogPosition { file_number: number, offset: 0 };
        log.torn = Some(not_begun.into());
    }
    Ok(Some(log))
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

/// Reads a file up to the end of its last whole transaction.
fn read_file(binlog: &BinlogFiles, number: u64) -> Result<CoordinatorLog, ReadError> {
    read_on(begin_file(binlog, number)?)
}

/// Reads a file's header.
fn begin_file(binlog: &BinlogFiles, number: u64) -> Result<(BinlogReader, CoordinatorLog), ReadError> {
    let mut reader = binlog.reader(number, ReaderOptions::default())?;
    let (gtids, in_use) = (reader.previous_gtids()?, reader.is_in_use());
    let end = BinlogPosition { file_number: number, offset: reader.offset() };
    let log = CoordinatorLog { end, whole: end, gtids, in_use, ..CoordinatorLog::default() };
    Ok((reader, log))
}

/// Reads what lies after the header, up to what is no event.
fn read_on((mut reader, mut log): (BinlogReader, CoordinatorLog)) -> Result<CoordinatorLog, ReadError> {
    let mut unfinished: Option<LoggedTransaction> = None;
    loop {
        let event = match reader.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(log),
            // A sector that cannot be read may be readable tomorrow.
            Err(error @ ReadError::Io(_)) => return Err(error),
            Err(torn) => {
                log.torn = Some(torn.into());
                return Ok(log);
            }
        };
        let (offset, end) = (event.offset, event.offset + u64::from(event.header.event_bytes));
        let xid = match event.decode() {
            Ok(EventBody::Gtid(event)) => {
                let end = offset.saturating_add(event.transaction_bytes);
                let end = BinlogPosition { offset: end, ..log.end };
                unfinished = Some(LoggedTransaction { xid: None, gtid: event.gtid, end, has_rows: false });
                None
            }
            Ok(EventBody::Xid(event)) => {
                unfinished.iter_mut().for_each(|transaction| transaction.has_rows = true);
                Some(event.xid)
            }
            Ok(EventBody::TransactionPayload(payload)) => {
                unfinished.iter_mut().for_each(|transaction| transaction.has_rows = true);
                match payload.decompress(offset).and_then(|inside| inside.xid()) {
                    Ok(xid) => xid,
                    Err(error) => return Err(reader.damaged(offset, error)),
                }
            }
            Ok(EventBody::Query(query)) => query.ddl_xid(),
            Ok(EventBody::Rotate(_)) => {
                log.end.offset = end;
                None
            }
            Ok(_) => None,
            Err(error) => return Err(reader.damaged(offset, error)),
        };
        log.whole.offset = end;
        if let Some(transaction) = &mut unfinished {
            transaction.xid = xid.or(transaction.xid);
        }
        if let Some(transaction) = unfinished.take_if(|transaction| transaction.end.offset == end) {
            log.end = transaction.end;
            transaction.gtid.into_iter().for_each(|gtid| log.gtids.insert(gtid));
            log.transactions.push(transaction);
        }
    }
}

#[cfg(test)]
mod tests;
