//! Files of large transactions that the journal counts on: they were on stable storage before it named them.

use std::path::PathBuf;
use std::sync::Arc;

use cohort_binlog::{BinlogListing, BinlogReader};
use cohort_engine::{Engine, Position};
use cohort_io::{FileSystem, IoError, OpenOptions};

use super::LogCheck;
use crate::inspect::Fault;
use crate::journaled::large_record::LargeRecord;
use crate::journaled::record::CohortRecord;
use crate::large::{LargeRedo, run_name, verify_run};

/// Where its events are: under their first name as long as there is a file of that name.
pub(super) fn events_path(
    fs: &dyn FileSystem,
    listing: &BinlogListing,
    large: &LargeRecord,
) -> Result<PathBuf, IoError> {
    let first = listing.large_events_path(large.id);
    Ok(if fs.exists(&first)? { first } else { listing.path(large.file) })
}

impl LogCheck {
    /// Reads what the next start needs of a large transaction, whose record ends at `end`.
    pub(super) fn large(
        &mut self,
        fs: &dyn FileSystem,
        listing: &BinlogListing,
        cohort: &CohortRecord<'_>,
        large: &LargeRecord,
        end: Position,
        engines: &[Arc<dyn Engine>],
    ) {
        let head = cohort.chunks.iter().find(|chunk| large.is_begun_by(chunk));
        let events = head.map_or(Ok(()), |head| events(fs, listing, large, head.bytes.len() as u64));
        self.faults.extend(events.err());
        for redo in &large.redo {
            let engine = engines.get(usize::from(redo.engine.0)).filter(|engine| engine.durable_position() < end);
            if let Some(engine) = engine {
                self.faults.extend(changes(fs, listing, large.id, redo, &**engine));
            }
        }
    }
}

/// Reads its events, which begin at `from`.
fn events(fs: &dyn FileSystem, listing: &BinlogListing, large: &LargeRecord, from: u64) -> Result<(), Fault> {
    let path = events_path(fs, listing, large)?;
    let mut reader = BinlogReader::open_events(fs, &path, from, large.end)?;
    while reader.next_event()?.is_some() {}
    Ok(())
}

/// What an engine that has not applied them lacks of its changes.
fn changes(fs: &dyn FileSystem, listing: &BinlogListing, id: u64, redo: &LargeRedo, engine: &dyn Engine) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, bytes) in &redo.runs {
        let path = listing.large_path(id, &run_name(*number));
        if redo.staged {
            if !engine.has_staged(id, *number) {
                let name = engine.name();
                let what = format!("{name} has lost part {number} of large transaction {id}, which it has to apply");
                faults.push(Fault::of(&path, what));
            }
            continue;
        }
        let whole = fs
            .open(&path, &OpenOptions::read())
            .map_err(Fault::from)
            .and_then(|file| verify_run(&*file, &path, *bytes).map_err(|error| Fault::of(&path, error.detail)));
        faults.extend(whole.err());
    }
    faults
}
