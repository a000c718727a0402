//! Whether the logs of a stopped data directory hold what they must, without changing anything.
//!
//! What a crash leaves and the next start repairs is no fault; it is reported as a note. Where recovery takes
//! the binlog's word or the journal's, this reads both, closed files included.

mod large;

use std::path::Path;
use std::sync::Arc;

use cohort_binlog::{
    BinlogListing, BinlogOptions, BinlogPosition, BinlogReader, EventBody, GtidSet, InFile, ReadError, ReaderOptions,
    look_for,
};
use cohort_engine::{Engine, Position};
use cohort_io::{FileSystem, OpenOptions};
use cohort_journal::{Journal, Scan};
use serde::Serialize;

use crate::classic::{TcLog, binlog_note};
use crate::commit_protocol::CommitProtocol;
use crate::inspect::{Fault, JournalReport, decode, gtids_of, in_record, next_record, transactions_of};
use crate::journaled::recovery::check_not_behind;
use crate::shared::Note;

/// What a check of the logs looked at and found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LogCheck {
    /// The protocol that wrote the logs.
    pub protocol: String,
    /// The server was stopped cleanly.
    pub clean_stop: bool,
    /// The journal; with another protocol it is not looked at.
    pub journal: JournalReport,
    pub binlog: BinlogReport,
    /// What the next start repairs.
    pub notes: Vec<String>,
    /// What no start repairs.
    pub faults: Vec<Fault>,
}

/// The binlog's files together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BinlogReport {
    /// Files read.
    pub files: u64,
    /// Bytes of whole events in them.
    pub bytes: u64,
    /// Events in them.
    pub events: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Every GTID in them or in files purged before.
    pub gtids: String,
}

/// What the journal says about the binlog.
#[derive(Default)]
struct Journaled {
    /// Up to here the files must be whole: the checkpoint made them durable.
    durable: Note,
    /// Where the binlog ends.
    end: Note,
    /// What the checkpoint noted of the engines.
    engines: Vec<Position>,
    /// The oldest file that the journal has anything of.
    first_file: u64,
    /// The journal was used: it is an authority on the files.
    is_authority: bool,
    /// Another protocol wrote the logs: nothing stands above the files.
    binlog_decides: bool,
    /// Then the engines know that the files were durable up to here.
    synced: BinlogPosition,
}

/// Checks journal, binlog, and where the engines stand between them; where `wrote` is another protocol, the
/// binlog and the coordinator's log `tc_log`, if there is one. `progress` gets a line for each step.
pub fn check_logs(
    wrote: CommitProtocol,
    fs: &Arc<dyn FileSystem>,
    journal_dir: &Path,
    tc_log: &Path,
    binlog: &BinlogOptions,
    engines: &[Arc<dyn Engine>],
    progress: &mut dyn FnMut(&str),
) -> LogCheck {
    let mut check = LogCheck { protocol: wrote.to_string(), ..LogCheck::default() };
    let listing = BinlogListing::read(&**fs, binlog).map_err(|error| check.faults.push(error.into())).ok();
    let mut journaled = Journaled::default();
    let scan = match wrote {
        CommitProtocol::Journal => {
            let scanned = check.journal(fs, journal_dir, listing.as_ref(), engines, &mut journaled);
            let JournalReport { records, transactions, checkpoint_lsn, end_lsn, .. } = check.journal;
            progress(&format!(
                "journal: {records} records with {transactions} transactions from lsn {checkpoint_lsn} to {end_lsn}"
            ));
            scanned.map_err(|fault| check.faults.push(fault)).ok()
        }
        _ => {
            journaled.binlog_decides = true;
            check.classic(&**fs, listing.as_ref());
            match binlog_note::synced(engines.iter().map(|engine| &**engine)) {
                Ok(synced) => journaled.synced = synced,
                Err(error) => check.faults.push(Fault::of(&binlog.directory, error)),
            }
            match TcLog::read(&**fs, tc_log) {
                Ok(Some(numbers)) => progress(&format!("tc.log: {} transactions", numbers.len())),
                Ok(None) => {}
                Err(error) => check.faults.push(Fault::of(tc_log, error)),
            }
            None
        }
    };
    if let Some(scan) = &scan {
        check.engines(scan, engines, &journaled, journal_dir);
    }
    if let Some(listing) = &listing {
        check.listing(listing, &journaled);
        check.files(&**fs, listing, &journaled, scan, progress);
    }
    check
}

impl LogCheck {
    fn journal(
        &mut self,
        fs: &Arc<dyn FileSystem>,
        dir: &Path,
        listing: Option<&BinlogListing>,
        engines: &[Arc<dyn Engine>],
        journaled: &mut Journaled,
    ) -> Result<Scan, Fault> {
        let mut scan = Journal::read(fs.clone(), dir)?;
        self.journal = JournalReport::of(&scan);
        (journaled.durable, journaled.engines) =
            Note::decode(scan.checkpoint_note()).map_err(|error| Fault::of(&dir.join("checkpoint"), error))?;
        journaled.end = journaled.durable.clone();
        journaled.first_file = journaled.durable.position.file_number;
        journaled.is_authority = !scan.checkpoint_note().is_empty();
        let mut lost = 0;
        while let Some((place, record)) = next_record(&mut scan)? {
            let cohort = decode(&record, &place)?;
            let gtids = gtids_of(&cohort).map_err(|what| in_record(&record, &place, what))?;
            gtids.add_to(&mut journaled.end.gtids);
            journaled.is_authority = true;
            for chunk in cohort.chunks.iter().filter(|chunk| !chunk.bytes.is_empty()) {
                if !cohort.is_closed_by(chunk) {
                    transactions_of(chunk).map_err(|what| in_record(&record, &place, what))?;
                }
                if journaled.first_file == 0 {
                    journaled.first_file = chunk.file;
                }
                let end = &mut journaled.end.position;
                let follows = match chunk.offset {
                    0 => end.file_number == 0 || end.file_number + 1 == chunk.file,
                    _ => *end == chunk.place(),
                };
                if !follows {
                    let what = format!("its binlog bytes do not follow those before, which end at {end:?}");
                    return Err(in_record(&record, &place, what));
                }
                *end = chunk.end();
                if let Some(large) = cohort.large.as_ref().filter(|large| large.is_begun_by(chunk)) {
                    // Its events were on stable storage before this record was.
                    end.offset = large.end;
                }
                let Some(listing) = listing else { continue };
                let path = match &cohort.large {
                    Some(large) if large.file == chunk.file => large::events_path(&**fs, listing, large)?,
                    _ => listing.path(chunk.file),
                };
                match look_for(&**fs, &path, chunk.offset, chunk.bytes)? {
                    InFile::Missing(bytes) => lost += bytes,
                    InFile::Differs(offset) => {
                        self.faults.push(Fault::at(&path, offset, "the byte is another one than in the journal"));
                    }
                }
            }
            if let (Some(listing), Some(parts)) = (listing, &cohort.large) {
                self.large(&**fs, listing, &cohort, parts, Position(record.end().0), engines);
            }
            self.journal.count(&cohort);
        }
        self.journal.end(&scan);
        self.clean_stop = self.journal.closed;
        let journal = &self.journal;
        if let Some(reason) = &journal.torn_reason {
            self.notes.push(format!("the next start cuts a torn tail of the journal: {reason}"));
        }
        if !journal.closed {
            self.notes.push(format!(
                "not stopped cleanly: the next start replays {} records, after which the tables may still be",
                journal.records
            ));
        }
        if lost > 0 {
            self.notes.push(format!("the next start writes {lost} binlog bytes again"));
        }
        Ok(scan)
    }

    /// The binlog decides, and its last file says whether it was closed.
    fn classic(&mut self, fs: &dyn FileSystem, listing: Option<&BinlogListing>) {
        let last = listing.and_then(|listing| Some(listing.path(*listing.listed.last()?)));
        let opened = last.map(|path| BinlogReader::open(fs, &path, ReaderOptions::default()));
        self.clean_stop = opened.is_some_and(|reader| reader.is_ok_and(|reader| !reader.is_in_use()));
        if !self.clean_stop {
            self.notes.push(format!(
                "not stopped cleanly: the next start recovers as commit_protocol {}, after which the tables may still be",
                self.protocol
            ));
        }
    }

    fn engines(&mut self, scan: &Scan, engines: &[Arc<dyn Engine>], journaled: &Journaled, dir: &Path) {
        if let Err(error) = check_not_behind(engines, &journaled.engines) {
            self.faults.push(Fault::of(dir, error));
        }
        for engine in engines {
            let (durable, end) = (engine.durable_position().0, scan.end_lsn().0);
            if durable > end {
                let name = engine.name();
                let what = format!("it ends at lsn {end}, and {name} holds changes up to lsn {durable}");
                self.faults.push(Fault { lsn: Some(end), ..Fault::of(dir, what) });
            }
        }
    }

    /// Index and directory name the same files, but for what a crash leaves.
    fn listing(&mut self, listing: &BinlogListing, journaled: &Journaled) {
        if !listing.large.is_empty() {
            let files = listing.large.len();
            self.notes.push(format!("the next start removes {files} files of large transactions, or uses them before"));
        }
        let durable = journaled.durable.position.file_number;
        let index = listing.index_path();
        if listing.index_bytes_torn > 0 {
            match self.clean_stop {
                true => self.faults.push(Fault::at(&index, listing.index_bytes, "the line is damaged")),
                false => self.notes.push("the next start writes the last lines of the binlog's index again".to_owned()),
            }
        }
        for number in &listing.missing {
            if *number <= durable || self.clean_stop {
                self.faults.push(Fault::of(&listing.path(*number), "the index lists this file, and it is missing"));
            }
        }
        for number in &listing.unlisted {
            let name = listing.file_name(*number);
            let unknown = journaled.binlog_decides || *number < journaled.first_file;
            let purged = listing.listed.first().is_some_and(|first| number < first) && unknown;
            let begun = !self.clean_stop && *number > durable.max(listing.listed.last().copied().unwrap_or(0));
            if purged || begun {
                self.notes.push(format!("the next start removes {name} or puts it into the index"));
            } else {
                self.faults.push(Fault::of(&listing.path(*number), "the index does not list this file"));
            }
        }
        if durable > 0 && !listing.listed.contains(&durable) {
            let what = format!("it does not list {}, which the journal knows", listing.file_name(durable));
            self.faults.push(Fault::of(&index, what));
        }
    }

    /// Reads every file up to where it must be whole.
    fn files(
        &mut self,
        fs: &dyn FileSystem,
        listing: &BinlogListing,
        journaled: &Journaled,
        scan: Option<Scan>,
        progress: &mut dyn FnMut(&str),
    ) {
        let mut walk = Walk::default();
        for number in listing.listed.iter().filter(|number| !listing.missing.contains(number)) {
            let end = match (journaled.is_authority, journaled.end.position) {
                (true, end) if *number > end.file_number => break,
                (true, end) if *number == end.file_number => Some(end.offset),
                _ => None,
            };
            // After the checkpoint the file was compared with the journal byte for byte.
            let durable = journaled.durable.position;
            let end = match self.clean_stop {
                false if *number == durable.file_number => Some(durable.offset),
                false if *number > durable.file_number && journaled.is_authority => break,
                _ => end,
            };
            let is_last = listing.listed.last() == Some(number);
            match self.file(fs, listing, *number, end, is_last, &mut walk) {
                Ok(()) => {}
                // Damage before the place that the engines know is reported below.
                Err(_) if is_last && journaled.synced > walk.whole => {}
                Err(fault) if is_last && journaled.binlog_decides && !self.clean_stop => {
                    self.notes.push(format!("the next start cuts the binlog's last file: {fault}"));
                }
                Err(fault) => {
                    self.faults.push(fault);
                    walk.gtids = None;
                }
            }
            progress(&format!("{}: {} events so far", listing.file_name(*number), self.binlog.events));
        }
        if journaled.synced > walk.whole {
            let BinlogPosition { file_number, offset } = journaled.synced;
            let what = format!(
                "it is whole up to here only, and an engine knows the binlog to be durable up to {}:{offset}",
                listing.file_name(file_number)
            );
            let number = walk.whole.file_number.max(1);
            self.faults.push(Fault::at(&listing.path(number), walk.whole.offset, what));
            walk.gtids = None;
        }
        if let (Some(gtids), true) = (&walk.gtids, journaled.is_authority || journaled.binlog_decides) {
            self.binlog.gtids = gtids.to_string();
            if *gtids != journaled.durable.gtids && journaled.is_authority {
                let what = format!("the files hold {gtids}, the journal's checkpoint says {}", journaled.durable.gtids);
                self.faults.push(Fault::of(&listing.index_path(), what));
            }
        }
        if let Some(scan) = scan.filter(|_| journaled.is_authority) {
            self.tail(fs, listing, journaled.end.position, scan);
        }
    }

    /// Reads one file up to `end`, or to its own.
    fn file(
        &mut self,
        fs: &dyn FileSystem,
        listing: &BinlogListing,
        number: u64,
        end: Option<u64>,
        is_last: bool,
        walk: &mut Walk,
    ) -> Result<(), Fault> {
        let path = listing.path(number);
        let length = fs.open(&path, &OpenOptions::read())?.len()?;
        if let Some(end) = end.filter(|end| *end > length) {
            return Err(Fault::at(&path, length, format!("the file ends here, and the journal says it ends at {end}")));
        }
        self.binlog.files += 1;
        walk.whole = BinlogPosition { file_number: number, offset: 0 };
        let mut reader = BinlogReader::open(fs, &path, ReaderOptions { end, ..ReaderOptions::default() })?;
        let mut ended_by_rotate = false;
        let mut sequence_number = 0;
        loop {
            let at = reader.offset();
            let Some(event) = reader.next_event()? else { break };
            let size = u64::from(event.header.event_bytes);
            let body = event.decode().map_err(|error| Fault::at(&path, at, error))?;
            let wrong = |what: String| Fault::at(&path, at, what);
            if ended_by_rotate {
                return Err(wrong("there is an event after the one that ends the file".to_owned()));
            }
            match body {
                EventBody::PreviousGtids(set) => walk.continue_with(set, event.changes_gtids()).map_err(wrong)?,
                EventBody::Gtid(event) => {
                    // GTIDs may have been chosen, so that numbers of a source need not follow each other. These do.
                    if event.sequence_number != sequence_number + 1 {
                        let number = event.sequence_number;
                        return Err(wrong(format!(
                            "transaction {number} of the file follows number {sequence_number}"
                        )));
                    }
                    sequence_number += 1;
                    if let Some(gtid) = event.gtid {
                        let set = walk.gtids.get_or_insert_default();
                        if set.contains(gtid) {
                            return Err(wrong(format!("transaction {gtid} is there for the second time")));
                        }
                        set.insert(gtid);
                    }
                    self.binlog.transactions += 1;
                }
                EventBody::TransactionPayload(payload) => {
                    let sound = payload.decompress(at).and_then(|inside| inside.verify());
                    sound.map_err(|error| wrong(error.to_string()))?;
                }
                EventBody::Rotate(rotate) => {
                    let next = listing.file_name(number + 1);
                    if rotate.file_name != next {
                        return Err(wrong(format!("it names {} as the next file, not {next}", rotate.file_name)));
                    }
                    ended_by_rotate = true;
                }
                _ => {}
            }
            self.binlog.events += 1;
            self.binlog.bytes += size;
            walk.whole.offset = at + size;
        }
        if ended_by_rotate && is_last && self.clean_stop {
            return Err(Fault::at(&path, reader.offset(), "it names a next file, and there is none"));
        }
        Ok(())
    }

    /// What the files hold after the place where the journal says that the binlog ends.
    fn tail(&mut self, fs: &dyn FileSystem, listing: &BinlogListing, end: BinlogPosition, mut scan: Scan) {
        for number in listing.listed.iter().filter(|number| **number >= end.file_number) {
            let path = listing.path(*number);
            let from = if *number == end.file_number { end.offset } else { 0 };
            let Ok(length) = fs.open(&path, &OpenOptions::read()).and_then(|file| file.len()) else { continue };
            if length <= from {
                continue;
            }
            let whole = BinlogReader::open(fs, &path, ReaderOptions::default()).and_then(|mut reader| {
                if from > 0 {
                    reader.seek(from);
                }
                Ok::<_, ReadError>(reader.next_event()?.is_some())
            });
            let bytes = length - from;
            if self.clean_stop {
                let what = format!("{bytes} bytes stand after the end that the journal says");
                self.faults.push(Fault::at(&path, from, what));
            } else if whole.unwrap_or(false) && scan.was_always_synced() {
                let proof = format!("{} has its events at byte {from}", listing.file_name(*number));
                if let Err(error) = scan.contradict(&proof) {
                    self.faults.push(error.into());
                    return;
                }
            } else {
                let name = listing.file_name(*number);
                self.notes
                    .push(format!("the next start cuts {bytes} bytes of {name}, which the journal does not have"));
            }
        }
    }
}

/// What is known on the way from file to file.
#[derive(Default)]
struct Walk {
    /// Every GTID so far; `None` at the first file and after a fault.
    gtids: Option<GtidSet>,
    /// Up to here the file that is read is whole.
    whole: BinlogPosition,
}

impl Walk {
    /// Goes on with a file before which there is `previous`; `changed` if an operator has changed that set.
    fn continue_with(&mut self, previous: GtidSet, changed: bool) -> Result<(), String> {
        let follows = |gtids: &GtidSet| match changed {
            true => previous.is_empty() || gtids.is_subset(&previous),
            false => *gtids == previous,
        };
        if let Some(gtids) = &self.gtids
            && !follows(gtids)
        {
            return Err(format!("the file says that {previous} is in the files before, which hold {gtids}"));
        }
        self.gtids = Some(previous);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
