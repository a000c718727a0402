//! What happens at start: the journal is read from its checkpoint, and whatever a crash kept from
//! engines and binlog file is done again.
//!
//! Mirrors `commit.rs`:
//!
//! | crash | leaves | repaired by |
//! | --- | --- | --- |
//! | before the journal write | nothing | – |
//! | during the write | a torn record at the end, never acknowledged | the scan cuts it |
//! | after the write, before the binlog append | a whole record | appended byte for byte, applied |
//! | after the append, before the engines' sync | the binlog has it, an engine's memory is gone | redo past the engine's durable position |
//! | during a checkpoint | the older checkpoint | replayed again; redo and appends are idempotent |
//! | during recovery | as before it, or partly repaired | the next recovery starts over |
//!
//! Invariants
//! 1. Every record that the scan yields is applied to binlog and engines whole, in order.
//! 2. When recovery returns, engines and binlog are durable up to the journal's end and the journal has
//!    a checkpoint there: a second crash replays nothing twice for longer.
//! 3. The last binlog file is read before the first commit: damage, or transactions that the journal does
//!    not know, stop the start (`check_binlog`).
//! 4. Nothing is made of a record that is not on stable storage: what a process whose writes failed left in the
//!    system's cache is written again first. Else a power cut could take the record and leave the rest.
//! 5. The binlog file never has events that the journal does not have, unless a weaker durability
//!    setting allowed it; then they are cut and said. Under full durability they prove that the journal's
//!    last record was there and is damaged: the start stops, and the operator decides.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cohort_binlog::{BinlogFiles, GtidSet};
use cohort_engine::{Engine, Position};
use cohort_io::FileSystem;
use cohort_journal::{Journal, JournalOptions, Lsn, Scan, ScanEnd};

use super::checkpoint::NoteError;
use super::large_record::LargeRecord;
use super::record::{CohortRecord, CohortRecordError};
use crate::commit_protocol::CommitProtocol;
use crate::given_gtids::NewGtids;
use crate::inspect::forgets_gtids;
use crate::large;
use crate::shared::{Frontier, Note};

/// What the journal wrote cannot be recovered. Nothing was changed that the next start would not do again.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The journal cannot be opened or read.
    #[error(transparent)]
    Journal(#[from] cohort_journal::OpenError),
    /// The checkpoint's note is unreadable.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// Writing the first checkpoint failed.
    #[error(transparent)]
    JournalWrite(#[from] cohort_journal::JournalError),
    /// The binlog cannot be opened, or contradicts the journal.
    #[error(transparent)]
    Binlog(#[from] cohort_binlog::BinlogError),
    /// A record passed its checksum and says nothing this server understands.
    #[error("journal record at lsn {lsn}: {source}")]
    Record {
        /// Where the record begins.
        lsn: u64,
        source: CohortRecordError,
    },
    /// A record names an engine that the server was not started with.
    #[error("journal record at lsn {lsn} has changes for engine number {engine}, which is not there")]
    UnknownEngine {
        /// Where the record begins.
        lsn: u64,
        /// The engine's number.
        engine: u8,
    },
    /// The last binlog file is unreadable.
    #[error(transparent)]
    BinlogRead(#[from] cohort_binlog::ReadError),
    /// The binlog's last file ends with other transactions than the journal says.
    #[error(
        "the binlog holds transactions {binlog}, the journal says {journal}: they do not belong together, or a \
         binlog file was changed; restore both from one backup"
    )]
    BinlogDiffers {
        /// GTIDs by the last binlog file.
        binlog: String,
        /// GTIDs by the journal.
        journal: String,
    },
    /// An engine refused redo.
    #[error(transparent)]
    Engine(#[from] cohort_engine::WriteError),
    /// The engine lost changes that the journal no longer has.
    #[error(
        "{engine} holds changes up to lsn {durable} only, but had them up to lsn {noted} at the journal's last \
         checkpoint: its directory is an older one, or lost files; restore journal and engine from one backup"
    )]
    EngineBehind {
        /// The engine's name.
        engine: &'static str,
        /// Its durable position.
        durable: u64,
        /// By the checkpoint.
        noted: u64,
    },
    /// The engine is ahead of the journal: they do not belong together.
    #[error(
        "{engine} holds changes up to lsn {durable}, but the journal ends at lsn {end}: \
         journal and engine do not belong together, or the journal lost its end; restore both from one backup"
    )]
    EngineAhead {
        /// The engine's name.
        engine: &'static str,
        /// Its durable position.
        durable: u64,
        /// The journal's end.
        end: u64,
    },
    /// Another protocol wrote the logs since, and yet the journal was not closed before.
    #[error(
        "the journal holds a record at lsn {lsn} from before another commit protocol took over: journal and engines \
         do not belong together; restore both from one backup"
    )]
    JournalNotSettled {
        /// Where it begins.
        lsn: u64,
    },
}

/// What recovery found and did: as one line for the operator, and as JSON.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RecoveryReport {
    /// The protocol that wrote the logs.
    pub protocol: &'static str,
    /// Where the scan began, as position in the journal.
    pub checkpoint_lsn: u64,
    /// Where the journal ends.
    pub end_lsn: u64,
    /// Records scanned.
    pub records: u64,
    /// Transactions in them: all kept.
    pub transactions_kept: u64,
    /// Journal bytes that were cut off.
    pub bytes_cut: u64,
    /// Why they were cut.
    pub cut_reason: Option<String>,
    /// The operator asked for the cut: committed transactions may be lost.
    pub cut_by_operator: bool,
    /// Per engine.
    pub engines: Vec<EngineReport>,
    /// Binlog bytes that a file had lost and got again.
    pub binlog_bytes_rewritten: u64,
    /// Binlog bytes cut because the journal does not have them.
    pub binlog_bytes_cut: u64,
    /// Binlog files removed: no transaction reached them, or a purge or a rotation was interrupted.
    pub binlog_files_removed: Vec<String>,
    /// XA transactions that clients prepared and nobody has decided.
    pub xa_prepared: u64,
    /// Microseconds to scan the journal and do it again: the three below, and each engine's `apply_us`.
    pub replay_us: u64,
    /// Of these, to read the journal and check its records.
    pub scan_us: u64,
    /// Of these, to write what was only in the system's cache again.
    pub settle_us: u64,
    /// Of these, to compare the binlog's files with the records and write what they lack.
    pub binlog_replay_us: u64,
    /// Microseconds to cut and sync the binlog and to read its last file.
    pub binlog_us: u64,
    /// Microseconds to make the engines durable and take a checkpoint: each engine's `flush_us`, and the note.
    pub checkpoint_us: u64,
}

/// What recovery did to one engine.
#[derive(Clone, Debug, serde::Serialize)]
pub struct EngineReport {
    pub name: &'static str,
    /// Everything before it was durable there already.
    pub durable_lsn: u64,
    /// Transactions applied again.
    pub transactions_reapplied: u64,
    /// Microseconds to apply them.
    pub apply_us: u64,
    /// Microseconds to make them durable.
    pub flush_us: u64,
}

impl EngineReport {
    fn new(engine: &dyn Engine, durable: Position) -> EngineReport {
        EngineReport {
            name: engine.name(),
            durable_lsn: durable.0,
            transactions_reapplied: 0,
            apply_us: 0,
            flush_us: 0,
        }
    }
}

impl RecoveryReport {
    /// True when the server had been stopped cleanly.
    pub fn is_clean(&self) -> bool {
        self.records == 0 && self.bytes_cut == 0 && self.binlog_bytes_cut == 0
    }
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "recovery: from lsn {} to {}, {} records, {} transactions kept",
            self.checkpoint_lsn, self.end_lsn, self.records, self.transactions_kept
        )?;
        for engine in &self.engines {
            write!(f, ", {} re-applied to {}", engine.transactions_reapplied, engine.name)?;
        }
        write!(f, ", {} binlog bytes rewritten", self.binlog_bytes_rewritten)?;
        if self.bytes_cut > 0 {
            let why = self.cut_reason.as_deref().unwrap_or("torn write");
            let whose = if self.cut_by_operator { "as the operator asked" } else { "torn tail, never synced" };
            write!(f, ", {} journal bytes cut ({whose}: {why})", self.bytes_cut)?;
        }
        if self.binlog_bytes_cut > 0 {
            write!(f, ", {} binlog bytes cut (not in the journal)", self.binlog_bytes_cut)?;
        }
        if self.xa_prepared > 0 {
            write!(f, ", {} XA transactions wait for their decision", self.xa_prepared)?;
        }
        let ms = |us: u64| us as f64 / 1e3;
        let [replay, scan, settle] = [self.replay_us, self.scan_us, self.settle_us].map(ms);
        write!(f, "; {replay:.1} ms to replay (scan {scan:.1}, settle {settle:.1}")?;
        write!(f, ", binlog {:.1}", ms(self.binlog_replay_us))?;
        for engine in &self.engines {
            write!(f, ", {} {:.1}", engine.name, ms(engine.apply_us))?;
        }
        let [binlog, checkpoint] = [self.binlog_us, self.checkpoint_us].map(ms);
        write!(f, "), {binlog:.1} ms to check the binlog, {checkpoint:.1} ms to checkpoint")
    }
}

/// Where commits go on.
pub(crate) struct Start {
    pub frontier: Frontier,
    pub next_order: u64,
}

/// More is not held in memory: what was read is synced then.
const HELD_BYTES_MAX: usize = 64 << 20;

/// How often progress is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// Replays `scan` into `binlog` and `engines`; `progress` gets a line now and then.
pub(crate) fn recover(
    journal: &Journal,
    mut scan: Scan,
    binlog: &Arc<BinlogFiles>,
    engines: &[Arc<dyn Engine>],
    progress: &mut dyn FnMut(&str),
) -> Result<(Start, RecoveryReport), RecoverError> {
    let began = Instant::now();
    let mut reported = began;
    let durable: Vec<Position> = engines.iter().map(|engine| engine.durable_position()).collect();
    let mut report = RecoveryReport {
        protocol: CommitProtocol::Journal.name(),
        checkpoint_lsn: scan.start().0,
        engines: engines.iter().zip(&durable).map(|(engine, durable)| EngineReport::new(&**engine, *durable)).collect(),
        ..RecoveryReport::default()
    };
    let (mut note, noted) = Note::decode(scan.checkpoint_note())?;
    check_not_behind(engines, &noted)?;
    let mut next_order = 1;
    let mut held = Held::default();
    let mut steps = Steps { apply: vec![Duration::ZERO; engines.len()], ..Steps::default() };
    let mut goes_on = true;
    while goes_on {
        goes_on = timed(&mut steps.scan, || held.take_next(&mut scan))?;
        if !goes_on || held.bytes > HELD_BYTES_MAX {
            timed(&mut steps.settle, || scan.settle())?;
        }
        while let Some(HeldRecord { lsn, end, payload, .. }) = held.pop_durable(scan.durable()) {
            let payload = payload.as_deref().unwrap_or_else(|| scan.payload());
            let cohort = CohortRecord::decode(payload).map_err(|source| RecoverError::Record { lsn: lsn.0, source })?;
            timed(&mut steps.binlog, || replay_binlog(&cohort, lsn, binlog, &mut note))?;
            let end = Position(end.0);
            replay_redo(&cohort, lsn, end, engines, &durable, &mut steps, &mut report)?;
            if let Some(large) = &cohort.large {
                replay_large(large, lsn, end, binlog, engines, &durable, &mut steps, &mut report)?;
            }
            next_order = cohort.first_order + u64::from(cohort.members);
            report.records += 1;
            report.transactions_kept += u64::from(cohort.members);
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                progress(&format!("recovery: {} transactions, journal at lsn {}", report.transactions_kept, lsn.0));
            }
        }
    }
    let end = scan.end_lsn();
    // A journal that was never used is no authority on the files.
    let knows_binlog = report.records > 0 || !scan.checkpoint_note().is_empty();
    if knows_binlog
        && scan.was_always_synced()
        && let Some(at) = binlog.whole_event_after(note.position)?
    {
        let file = binlog.file_name(at.file_number);
        scan.contradict(&format!("{file} has its events at byte {}", at.offset))?;
    }
    if let ScanEnd::TornTail { bytes, reason } | ScanEnd::CutByOperator { bytes, reason } = scan.end() {
        report.bytes_cut = *bytes;
        report.cut_reason = Some(reason.clone());
        report.cut_by_operator = matches!(scan.end(), ScanEnd::CutByOperator { .. });
    }
    check_not_ahead(engines, end)?;
    report.end_lsn = end.0;
    report.replay_us = began.elapsed().as_micros() as u64;
    [report.scan_us, report.settle_us, report.binlog_replay_us] =
        [steps.scan, steps.settle, steps.binlog].map(|step| step.as_micros() as u64);
    for (engine, apply) in report.engines.iter_mut().zip(steps.apply) {
        engine.apply_us = apply.as_micros() as u64;
    }

    let began = Instant::now();
    let files = binlog.finish_recovery(knows_binlog.then_some(note.position))?;
    report.binlog_bytes_rewritten = files.rewritten_bytes;
    report.binlog_bytes_cut = files.cut_bytes;
    report.binlog_files_removed = files.removed_files;
    check_binlog(binlog, &note)?;
    report.binlog_us = began.elapsed().as_micros() as u64;
    // Last: with the new epoch the journal forgets that its end was in question.
    scan.finish()?;
    let began = Instant::now();
    let mut synced = Vec::new();
    for (engine, report) in engines.iter().zip(&mut report.engines) {
        let began = Instant::now();
        synced.push(engine.sync()?);
        report.flush_us = began.elapsed().as_micros() as u64;
    }
    journal.checkpoint(end, &note.encode(&synced))?;
    // Nothing needs the files of large transactions any more.
    report.binlog_files_removed.extend(binlog.remove_large_files()?);
    engines.iter().for_each(|engine| engine.discard_all_staged());
    report.checkpoint_us = began.elapsed().as_micros() as u64;
    let frontier = Frontier { lsn: end, note };
    Ok((Start { frontier, next_order }, report))
}

/// Makes the journal in `dir`, which is closed or not there yet, go on after a binlog that another protocol
/// wrote up to `note`. It is closed again.
pub(crate) fn take_over(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    options: JournalOptions,
    note: &Note,
) -> Result<(), RecoverError> {
    let (journal, mut scan) = Journal::open(fs, dir, options)?;
    if let Some(record) = scan.next()? {
        return Err(RecoverError::JournalNotSettled { lsn: record.lsn().0 });
    }
    let end = scan.end_lsn();
    scan.finish()?;
    Ok(journal.close(end, &note.encode(&[]))?)
}

/// Where the time of a replay goes.
#[derive(Default)]
struct Steps {
    scan: Duration,
    settle: Duration,
    binlog: Duration,
    /// Per engine.
    apply: Vec<Duration>,
}

/// Adds the time that `step` takes to `sum`.
fn timed<T>(sum: &mut Duration, step: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = step();
    *sum += began.elapsed();
    done
}

/// Records that were read and are not known to be on stable storage: those after the last ones show.
#[derive(Default)]
struct Held {
    records: VecDeque<HeldRecord>,
    bytes: usize,
}

struct HeldRecord {
    lsn: Lsn,
    end: Lsn,
    bytes: usize,
    /// A copy; `None` for the record that was read last, where that is so large that it is made durable and applied at
    /// once.
    payload: Option<Vec<u8>>,
}

impl Held {
    /// Reads a record; false at the end.
    fn take_next(&mut self, scan: &mut Scan) -> Result<bool, RecoverError> {
        let Some(record) = scan.next()? else { return Ok(false) };
        let bytes = record.payload().len();
        let payload = (bytes <= HELD_BYTES_MAX).then(|| record.payload().to_vec());
        self.bytes += bytes;
        self.records.push_back(HeldRecord { lsn: record.lsn(), end: record.end(), bytes, payload });
        Ok(true)
    }

    /// The oldest, if everything up to its end is durable.
    fn pop_durable(&mut self, durable: Lsn) -> Option<HeldRecord> {
        if self.records.front()?.end > durable {
            return None;
        }
        let record = self.records.pop_front()?;
        self.bytes -= record.bytes;
        Some(record)
    }
}

fn replay_binlog(
    cohort: &CohortRecord<'_>,
    lsn: Lsn,
    binlog: &BinlogFiles,
    note: &mut Note,
) -> Result<(), RecoverError> {
    let gtids =
        GtidSet::decode(cohort.gtids).map_err(|error| RecoverError::Record { lsn: lsn.0, source: error.into() })?;
    let forgets = cohort.chunks.iter().any(forgets_gtids);
    NewGtids { forgets, set: gtids }.add_to(&mut note.gtids);
    for chunk in cohort.chunks.iter().filter(|chunk| !chunk.bytes.is_empty()) {
        let at = chunk.place();
        match cohort.large.as_ref().filter(|large| large.is_begun_by(chunk)) {
            Some(large) => binlog.replay_large(large.id, large.file, chunk.bytes, large.end)?,
            None => binlog.replay(at, chunk.bytes)?,
        }
        note.position = chunk.end();
    }
    Ok(())
}

/// Applies a large transaction again where an engine lost it.
#[allow(clippy::too_many_arguments)]
fn replay_large(
    large: &LargeRecord,
    lsn: Lsn,
    end: Position,
    binlog: &Arc<BinlogFiles>,
    engines: &[Arc<dyn Engine>],
    durable: &[Position],
    steps: &mut Steps,
    report: &mut RecoveryReport,
) -> Result<(), RecoverError> {
    for redo in &large.redo {
        let at = usize::from(redo.engine.0);
        let engine = engines.get(at).ok_or(RecoverError::UnknownEngine { lsn: lsn.0, engine: redo.engine.0 })?;
        if end > durable[at] {
            timed(&mut steps.apply[at], || large::apply(binlog, &**engine, large.id, redo, end))?;
            report.engines[at].transactions_reapplied += 1;
        }
    }
    Ok(())
}

fn replay_redo(
    cohort: &CohortRecord<'_>,
    lsn: Lsn,
    end: Position,
    engines: &[Arc<dyn Engine>],
    durable: &[Position],
    steps: &mut Steps,
    report: &mut RecoveryReport,
) -> Result<(), RecoverError> {
    for (id, redo) in &cohort.redo {
        let at = usize::from(id.0);
        let engine = engines.get(at).ok_or(RecoverError::UnknownEngine { lsn: lsn.0, engine: id.0 })?;
        if end > durable[at] {
            timed(&mut steps.apply[at], || engine.apply(redo, end))?;
            report.engines[at].transactions_reapplied += redo.len() as u64;
        }
    }
    Ok(())
}

/// Reads the last binlog file: it must be whole, and its GTIDs those of the journal.
fn check_binlog(binlog: &BinlogFiles, note: &Note) -> Result<(), RecoverError> {
    let executed = binlog.executed_gtids()?;
    if executed == note.gtids {
        return Ok(());
    }
    Err(RecoverError::BinlogDiffers { binlog: executed.to_string(), journal: note.gtids.to_string() })
}

/// The engines by what the journal's checkpoint `noted` of them; replay would leave a gap in one that is behind.
pub(crate) fn check_not_behind(engines: &[Arc<dyn Engine>], noted: &[Position]) -> Result<(), RecoverError> {
    for (engine, noted) in engines.iter().zip(noted) {
        let durable = engine.durable_position();
        if durable < *noted {
            return Err(RecoverError::EngineBehind { engine: engine.name(), durable: durable.0, noted: noted.0 });
        }
    }
    Ok(())
}

fn check_not_ahead(engines: &[Arc<dyn Engine>], end: Lsn) -> Result<(), RecoverError> {
    for engine in engines {
        let durable = engine.durable_position();
        if durable.0 > end.0 {
            let engine = engine.name();
            return Err(RecoverError::EngineAhead { engine, durable: durable.0, end: end.0 });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
