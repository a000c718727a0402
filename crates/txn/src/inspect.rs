//! Looking into the journal without recovering it: every record as the operator's tools show it.
//!
//! Nothing is written, and nothing that is read is believed: what does not check out is a [`Fault`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_binlog::{BinlogError, Event, EventBody, GtidSet, ReadError, events_of};
use cohort_io::{FileSystem, IoError};
use cohort_journal::{Journal, OpenError, Place, Record, Scan, ScanEnd};
use serde::Serialize;

use crate::binlog_order::Chunk;
use crate::given_gtids::NewGtids;
use crate::journaled::record::CohortRecord;

/// Something that is not as it must be, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}{}{}: {what}", file.display(), At(" at byte ", *offset), At(", lsn ", *lsn))]
pub struct Fault {
    /// The file, or the directory of files that belong together.
    pub file: PathBuf,
    /// Byte offset in it, where one is known.
    pub offset: Option<u64>,
    /// Place in the journal, where it is about one.
    pub lsn: Option<u64>,
    pub what: String,
}

struct At(&'static str, Option<u64>);

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.1.map_or(Ok(()), |number| write!(f, "{}{number}", self.0))
    }
}

impl Fault {
    /// A fault at an offset of a file.
    pub fn at(file: &Path, offset: u64, what: impl ToString) -> Fault {
        Fault { file: file.to_path_buf(), offset: Some(offset), lsn: None, what: what.to_string() }
    }

    /// A fault of a whole file or directory.
    pub fn of(file: &Path, what: impl ToString) -> Fault {
        Fault { file: file.to_path_buf(), offset: None, lsn: None, what: what.to_string() }
    }
}

impl From<IoError> for Fault {
    fn from(error: IoError) -> Fault {
        let what = format!("cannot {}: {}", error.op, error.source);
        Fault { file: error.path, offset: error.offset, lsn: None, what }
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Fault {
        match error {
            OpenError::Io(error) => error.into(),
            OpenError::Damaged { path, offset, lsn, what } => {
                Fault { file: path, offset: Some(offset), lsn: lsn.map(|lsn| lsn.0), what }
            }
            OpenError::Missing { path, why } => Fault::of(&path, format_args!("it is missing although {why}")),
            OpenError::Newer { path, found, supported } => Fault::at(
                &path,
                8,
                format_args!("journal format version {found}, this program reads up to {supported}"),
            ),
            OpenError::Journal(error) => Fault::of(Path::new("journal"), error),
        }
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Fault {
        match error {
            ReadError::Io(error) => error.into(),
            ReadError::NotBinlog { path } => Fault::at(&path, 0, "it does not begin as a binlog file"),
            ReadError::CutOff { path, offset } => Fault::at(&path, offset, "the file ends within this event"),
            ReadError::Damaged { path, offset, what } => Fault::at(&path, offset, what),
            ReadError::NoChecksums { path } => Fault::at(&path, 4, "its events have no checksums"),
            ReadError::Version { path, binlog_version, .. } => {
                Fault::at(&path, 4, format_args!("binlog format {binlog_version}, only 4 can be read"))
            }
        }
    }
}

impl From<BinlogError> for Fault {
    fn from(error: BinlogError) -> Fault {
        match error {
            BinlogError::Io(error) => error.into(),
            BinlogError::Damaged { path, offset, what } => Fault::at(&path, offset, what),
            BinlogError::OtherVersion(error) => error.into(),
            error @ (BinlogError::Sealed | BinlogError::FileFull | BinlogError::UnknownFile(_)) => {
                Fault::of(Path::new("binlog"), error)
            }
        }
    }
}

/// A record of the journal that checks out.
#[derive(Clone, Debug, Serialize)]
pub struct RecordReport {
    /// The segment file that it begins in.
    pub segment: String,
    pub offset: u64,
    /// Its place in the journal.
    pub lsn: u64,
    /// Where the next one begins.
    pub end_lsn: u64,
    /// Which opening of the journal wrote it.
    pub epoch: u64,
    /// Its number in that epoch.
    pub sequence: u64,
    /// Everything before it was known to be durable when it was laid out.
    pub durable_lsn: u64,
    /// Bytes of its payload; zeros up to a full block follow.
    pub payload_bytes: u64,
    /// Of header and payload: a record with another state is a fault.
    pub checksum: &'static str,
    /// Place of its first member in the commit order.
    pub first_order: u64,
    /// Transactions in the cohort, those without a GTID included.
    pub members: u32,
    /// The members in the binlog, in order.
    pub transactions: Vec<TransactionReport>,
    /// Where its binlog bytes go.
    pub binlog: Vec<ChunkReport>,
    /// Changes to engines.
    pub redo: Vec<RedoReport>,
}

/// A transaction of a cohort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TransactionReport {
    /// ANONYMOUS if it has none.
    pub gtid: String,
    /// Number of its binlog file.
    pub file: u64,
    /// Where its first event is in that.
    pub offset: u64,
    /// Bytes of its events.
    pub bytes: u64,
}

/// Binlog bytes of a cohort.
#[derive(Clone, Debug, Serialize)]
pub struct ChunkReport {
    /// Number of the file.
    pub file: u64,
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A cohort's changes to one engine.
#[derive(Clone, Debug, Serialize)]
pub struct RedoReport {
    /// The engine's number.
    pub engine: u8,
    /// Bytes of each member that has some, in commit order.
    pub bytes: Vec<u64>,
}

/// The journal as a whole, as far as a scan got.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JournalReport {
    /// Where recovery begins.
    pub checkpoint_lsn: u64,
    /// Where the records end.
    pub end_lsn: u64,
    /// It was closed by a clean stop.
    pub closed: bool,
    /// Records that check out.
    pub records: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Bytes of a torn tail, which the next start cuts.
    pub torn_bytes: u64,
    pub torn_reason: Option<String>,
}

/// Which records to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Those that recovery would read.
    AfterCheckpoint,
    /// And those before that are still on the disk.
    OnDisk,
}

/// Reads the journal in `dir` and hands out each record, up to the end or the first fault.
pub fn read_journal(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    records: Records,
    each: &mut dyn FnMut(&RecordReport),
) -> Result<JournalReport, Fault> {
    let mut scan = Journal::read(fs, dir)?;
    if records == Records::OnDisk {
        scan.rewind()?;
    }
    let mut report = JournalReport::of(&scan);
    while let Some((place, record)) = next_record(&mut scan)? {
        let cohort = decode(&record, &place)?;
        each(&record_report(&place, &record, &cohort)?);
        report.count(&cohort);
    }
    report.end(&scan);
    Ok(report)
}

impl JournalReport {
    pub(crate) fn of(scan: &Scan) -> JournalReport {
        JournalReport { checkpoint_lsn: scan.start().0, closed: scan.was_closed(), ..JournalReport::default() }
    }

    pub(crate) fn count(&mut self, cohort: &CohortRecord<'_>) {
        self.records += 1;
        self.transactions += u64::from(cohort.members);
    }

    /// Notes how the journal ends.
    pub(crate) fn end(&mut self, scan: &Scan) {
        self.end_lsn = scan.end_lsn().0;
        if let ScanEnd::TornTail { bytes, reason } = scan.end() {
            self.torn_bytes = *bytes;
            self.torn_reason = Some(reason.clone());
        }
    }
}

/// The next record and where it is on the disk.
pub(crate) fn next_record(scan: &mut Scan) -> Result<Option<(Place, Record<'_>)>, Fault> {
    let place = scan.place(scan.end_lsn());
    match (scan.next()?, place) {
        (Some(record), Some(place)) => Ok(Some((place, record))),
        _ => Ok(None),
    }
}

pub(crate) fn decode<'r>(record: &Record<'r>, place: &Place) -> Result<CohortRecord<'r>, Fault> {
    CohortRecord::decode(record.payload()).map_err(|error| in_record(record, place, error))
}

/// A fault within a record whose checksum is right.
pub(crate) fn in_record(record: &Record<'_>, place: &Place, what: impl ToString) -> Fault {
    Fault { lsn: Some(record.lsn().0), ..Fault::at(&place.path, place.offset, what) }
}

fn record_report(place: &Place, record: &Record<'_>, cohort: &CohortRecord<'_>) -> Result<RecordReport, Fault> {
    let mut transactions = Vec::new();
    for chunk in cohort.chunks.iter().filter(|chunk| !cohort.is_closed_by(chunk)) {
        transactions.extend(transactions_of(chunk).map_err(|what| in_record(record, place, what))?);
    }
    let stamp = record.stamp();
    let chunks = cohort.chunks.iter().filter(|chunk| !chunk.bytes.is_empty());
    Ok(RecordReport {
        segment: place.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        offset: place.offset,
        lsn: record.lsn().0,
        end_lsn: record.end().0,
        epoch: stamp.epoch,
        sequence: stamp.sequence,
        durable_lsn: stamp.durable.0,
        payload_bytes: record.payload().len() as u64,
        checksum: "ok",
        first_order: cohort.first_order,
        members: cohort.members,
        transactions,
        binlog: chunks
            .map(|chunk| ChunkReport { file: chunk.file, offset: chunk.offset, bytes: chunk.bytes.len() as u64 })
            .collect(),
        redo: cohort
            .redo
            .iter()
            .map(|(engine, redo)| RedoReport {
                engine: engine.0,
                bytes: redo.iter().map(|bytes| bytes.len() as u64).collect(),
            })
            .collect(),
    })
}

/// The transactions whose events a chunk holds; an error says which of its events is damaged.
pub(crate) fn transactions_of(chunk: &Chunk<&[u8]>) -> Result<Vec<TransactionReport>, String> {
    let mut transactions: Vec<TransactionReport> = Vec::new();
    for event in events_of(chunk.bytes, chunk.offset) {
        let wrong = |at: u64, what: &str| format!("its event for byte {at} of binlog file {}: {what}", chunk.file);
        let event = event.map_err(|(at, what)| wrong(at, &what))?;
        match event.decode().map_err(|error| wrong(event.offset, &error.to_string()))? {
            EventBody::Gtid(gtid) => transactions.push(TransactionReport {
                gtid: gtid.gtid_text(),
                file: chunk.file,
                offset: event.offset,
                bytes: u64::from(event.header.event_bytes),
            }),
            EventBody::Rotate(_) | EventBody::FormatDescription(_) | EventBody::PreviousGtids(_) => {}
            _ => match transactions.last_mut() {
                Some(transaction) => transaction.bytes += u64::from(event.header.event_bytes),
                None => return Err(wrong(event.offset, "it is outside of a transaction")),
            },
        }
    }
    Ok(transactions)
}

/// Whether a file begins here for which an operator has had all GTIDs forgotten.
pub(crate) fn forgets_gtids<B: AsRef<[u8]>>(chunk: &Chunk<B>) -> bool {
    let begins_anew = |event: Event<'_>| {
        event.changes_gtids() && matches!(event.decode(), Ok(EventBody::PreviousGtids(set)) if set.is_empty())
    };
    // It is the second event of the file.
    chunk.offset == 0 && events_of(chunk.bytes.as_ref(), 0).take(2).flatten().any(begins_anew)
}

/// What a record changes in the set of executed GTIDs: those of its events, and those that an operator has added.
pub(crate) fn gtids_of(cohort: &CohortRecord<'_>) -> Result<NewGtids, String> {
    let named = GtidSet::decode(cohort.gtids).map_err(|error| error.to_string())?;
    let (mut found, mut added, mut forgets) = (GtidSet::new(), GtidSet::new(), false);
    for chunk in &cohort.chunks {
        for event in events_of(chunk.bytes, chunk.offset).flatten() {
            match event.decode() {
                Ok(EventBody::Gtid(event)) => event.gtid.into_iter().for_each(|gtid| found.insert(gtid)),
                Ok(EventBody::PreviousGtids(set)) if event.changes_gtids() && set.is_empty() => {
                    (found, added, forgets) = (GtidSet::new(), GtidSet::new(), true);
                }
                // What of it was added, only the record says.
                Ok(EventBody::PreviousGtids(set)) if event.changes_gtids() => added.union(&set),
                _ => {}
            }
        }
    }
    let mut possible = found.clone();
    possible.union(&added);
    match found.is_subset(&named) && named.is_subset(&possible) {
        true => Ok(NewGtids { forgets, set: named }),
        false => Err(format!("it names the transactions {named} and has the events of {found}")),
    }
}
