//! An engine without room, when the journal has what it is to apply.

use std::sync::atomic::AtomicU64;

use cohort_engine::memory::MemoryEngine;
use cohort_engine::{Cursor, ReadError, Snapshot, SyncCallersLog};
use cohort_io::{SimClock, SimDisk};

use super::*;
use crate::commit_protocol::CommitProtocol;
use crate::open::{Engines, Recovered};

/// Has no room for so many applies, and so many syncs.
struct Full {
    engine: MemoryEngine,
    applies: AtomicU64,
    syncs: AtomicU64,
}

impl Full {
    fn new() -> Full {
        Full { engine: MemoryEngine::new(), applies: AtomicU64::new(0), syncs: AtomicU64::new(0) }
    }
}

fn take_one(refusals: &AtomicU64) -> Result<(), WriteError> {
    match refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
        Ok(_) => Err(WriteError::NoSpace { engine: "FULL", detail: "the disk is full".to_owned() }),
        Err(_) => Ok(()),
    }
}

impl Engine for Full {
    fn name(&self) -> &'static str {
        "FULL"
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.engine.snapshot()
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        self.engine.get(key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        self.engine.cursor(range, direction)
    }

    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        take_one(&self.applies)?;
        self.engine.apply(cohort, position)
    }

    fn durable_position(&self) -> Position {
        self.engine.durable_position()
    }

    fn sync(&self) -> Result<Position, WriteError> {
        take_one(&self.syncs)?;
        self.engine.sync()
    }

    fn ready(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        self.engine.sync_callers_log_first(sync_callers_log);
    }

    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        self.engine.load(entries)
    }

    fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        self.engine.erase(range)
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        self.engine.stats()
    }
}

fn open(engine: &Arc<Full>) -> Arc<Store> {
    let (disk, clock) = (Arc::new(SimDisk::new(1)), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let engines: Vec<Arc<dyn Engine>> = vec![engine.clone(), Arc::new(MemoryEngine::new())];
    let (options, engines) = (Machine::options(1), Engines::Journaled(engines));
    let recovered = Recovered::from_logs(options, CommitProtocol::Journal, disk, clock, engines, &mut |_| ());
    recovered.and_then(|recovered| recovered.start_stepped(&mut |_| ())).expect("a new store")
}

/// The commit is durable: it is late, and no failure.
#[test]
fn a_commit_waits_for_an_engine_that_has_no_room() {
    let engine = Arc::new(Full::new());
    let store = open(&engine);
    engine.applies.store(2, Ordering::SeqCst);
    transfer(&store, 1).expect("a commit");
    assert_eq!(engine.applies.load(Ordering::SeqCst), 0, "it was asked until there was room");
    assert!(store.closed().is_none());
}

/// Nobody waits for room in a server that stops: the next start applies what the journal has.
#[test]
fn a_stop_does_not_wait_for_room() {
    let engine = Arc::new(Full::new());
    let store = open(&engine);
    engine.applies.store(u64::MAX, Ordering::SeqCst);
    thread::scope(|scope| {
        let commit = scope.spawn(|| transfer(&store, 1));
        until("an apply without room", || engine.applies.load(Ordering::SeqCst) < u64::MAX);
        store.path::<Coordinator>().queue.lock("test").closed = Some(Closed::ShuttingDown);
        let unknown = commit.join().expect("no panic");
        assert!(matches!(unknown, Err(CommitError::Unknown(_))), "{unknown:?}");
    });
}

/// At a stop an engine may have to find out that there is room again.
#[test]
fn the_last_sync_is_tried_again_for_a_while() {
    let engine = Arc::new(Full::new());
    let store = open(&engine);
    transfer(&store, 1).expect("a commit");
    engine.syncs.store(2, Ordering::SeqCst);
    store.close().expect("there is room at the third time");
    assert_eq!(engine.syncs.load(Ordering::SeqCst), 0);
}
