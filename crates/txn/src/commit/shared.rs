//! What every way to commit shares: the engines, the binlog, and what readers see of them.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use cohort_engine::{Engine, EngineId, Snapshot};
use cohort_io::Clock;
use cohort_log::binlog::{
    BinlogFiles, BinlogPosition, FileStart, GtidSet, ServerIdentity, ServerUuid, TransactionEvents,
};
use cohort_log::journal::{Lsn, Reservation};
use parking_lot::Mutex;

use super::outcome::{CommitSettings, Committed, Reply};
use crate::checkpoint::Note;
use crate::figures::CommitFigures;
use crate::overlay::Overlay;
use crate::write_set::WriteSet;

/// A prefix of the commit order, readable in every engine.
pub struct Published {
    /// Order of the last transaction in it.
    pub order: u64,
    /// Where it ends in the binlog.
    pub position: BinlogPosition,
    snapshots: Vec<Arc<dyn Snapshot>>,
}

impl Published {
    pub(crate) fn engine(&self, engine: EngineId) -> &dyn Snapshot {
        &*self.snapshots[usize::from(engine.0)]
    }
}

/// Up to where everything is applied: where a checkpoint may be taken.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    pub lsn: Lsn,
    pub note: Note,
}

/// One transaction on its way.
pub(crate) struct Pending {
    pub order: u64,
    pub writes: WriteSet,
    pub redo: Vec<(EngineId, Vec<u8>)>,
    pub events: Option<TransactionEvents>,
    /// A file that begins here; such a member has no events.
    pub begins_file: Option<FileStart>,
    pub depends_on: Option<u64>,
    pub joined: Instant,
    pub journal_room: Option<Reservation>,
    pub binlog_room: u64,
    pub reply: Box<dyn Reply>,
    pub committed: Option<Committed>,
}

impl Pending {
    /// One without changes.
    pub fn new(binlog_room: u64, reply: Box<dyn Reply>) -> Pending {
        Pending {
            order: 0,
            writes: WriteSet::default(),
            redo: Vec::new(),
            events: None,
            begins_file: None,
            depends_on: None,
            joined: Instant::now(),
            journal_room: None,
            binlog_room,
            reply,
            committed: None,
        }
    }
}

/// See the module.
pub(crate) struct Shared {
    pub engines: Vec<Arc<dyn Engine>>,
    pub overlay: Overlay,
    pub binlog: BinlogFiles,
    pub settings: CommitSettings,
    pub figures: CommitFigures,
    pub clock: Arc<dyn Clock>,
    pub server_uuid: ServerUuid,
    pub identity: ServerIdentity,
    frontier: Mutex<Frontier>,
    published: ArcSwap<Published>,
}

impl Shared {
    /// Begins behind the last transaction of `frontier`, whose order is `order`.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        engines: Vec<Arc<dyn Engine>>,
        binlog: BinlogFiles,
        settings: CommitSettings,
        clock: Arc<dyn Clock>,
        server_uuid: ServerUuid,
        identity: ServerIdentity,
        frontier: Frontier,
        order: u64,
    ) -> Self {
        let snapshots = engines.iter().map(|engine| engine.snapshot()).collect();
        let published = Published { order, position: frontier.note.position, snapshots };
        Shared {
            overlay: Overlay::new(engines.len()),
            engines,
            binlog,
            settings,
            figures: CommitFigures::default(),
            clock,
            server_uuid,
            identity,
            frontier: Mutex::new(frontier),
            published: ArcSwap::from_pointee(published),
        }
    }

    /// The newest snapshot.
    pub fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    pub fn frontier(&self) -> Frontier {
        self.frontier.lock().clone()
    }

    /// Shows readers everything up to `last`, which the engines have; `gtids` are those new since the
    /// call before, and the log ends at `end`.
    pub fn publish(&self, last: &Pending, gtids: &GtidSet, end: Lsn) {
        let position = last.committed.as_ref().expect("layout filled it in").position;
        self.published.store(Arc::new(Published {
            order: last.order,
            position,
            snapshots: self.engines.iter().map(|engine| engine.snapshot()).collect(),
        }));
        let mut frontier = self.frontier.lock();
        frontier.lsn = end;
        frontier.note.position = position;
        frontier.note.gtids.union(gtids);
    }
}
