//! Commits by one journal record a cohort: `commit.rs` shows one step by step, `recovery.rs` mirrors it after a
//! crash, `checkpoint.rs` says what the journal can forget, `record.rs` and `large_record.rs` what is in a record.

pub(crate) mod checkpoint;
pub(crate) mod commit;
pub(crate) mod large_record;
pub(crate) mod record;
pub(crate) mod recovery;

use std::sync::Arc;

use cohort_binlog::BinlogFiles;
use cohort_engine::Engine;
use cohort_io::{Clock, FileSystem};
use cohort_journal::Journal;

use crate::options::StoreOptions;
use crate::shared::Shared;
use checkpoint::Background;
use commit::Coordinator;
use recovery::{RecoverError, RecoveryReport};

/// Recovers what the journal wrote; `progress` gets a line now and then.
pub(crate) fn recover(
    options: StoreOptions,
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    engines: Vec<Arc<dyn Engine>>,
    progress: &mut dyn FnMut(&str),
) -> Result<(Arc<Shared>, Arc<Coordinator>, RecoveryReport), RecoverError> {
    let (journal, scan) = Journal::open(fs.clone(), &options.journal_dir, options.journal)?;
    let journal = Arc::new(journal);
    for engine in &engines {
        let journal = journal.clone();
        // A failure seals the journal too, which the next commit reports.
        let sync_callers_log = move || journal.sync_completed().map_err(|error| error.to_string());
        engine.sync_callers_log_first(Box::new(sync_callers_log));
    }
    let binlog = Arc::new(BinlogFiles::open(fs, options.binlog)?);
    let (start, report) = recovery::recover(&journal, scan, &binlog, &engines, progress)?;
    let mut shared = Shared::new(
        engines,
        binlog,
        options.log_bin,
        options.settings,
        clock,
        options.gtid_mode,
        options.server_uuid,
        options.identity,
        start.frontier,
        start.next_order - 1,
    );
    shared.take_large_transactions();
    let shared = Arc::new(shared);
    let background = Background::new(options.checkpoint_bytes, shared.frontier().note.position.file_number);
    let coordinator = Coordinator::new(shared.clone(), journal, background, start.next_order);
    Ok((shared, coordinator, report))
}
