//! The classic protocols on the simulated disk.

mod checks;
mod crashes;
mod divergence;
mod gtid_modes;
mod handover;
mod sessions;
mod starts;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::thread;

use cohort_binlog::BinlogPosition;
use cohort_engine::logged::LoggedEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Engine, Redo, TwoPhase, WriteError};
use cohort_io::{Create, Fault, FileSystem, OpenOptions, SimClock, SimDisk};

use super::recovery::DecidedReport;
use super::*;
use crate::open::{
    DataDirectory, EngineSource, EngineSourceError, Engines, OpenError, Recovered, StartReport, StartupEvent,
};
use crate::store::Store;
use crate::tests::*;
use crate::transaction::Read;

fn those(has: impl Fn(CommitProtocol) -> bool) -> Vec<CommitProtocol> {
    CommitProtocol::ALL.into_iter().filter(|protocol| has(*protocol)).collect()
}

static CONSISTENT: LazyLock<Vec<CommitProtocol>> =
    LazyLock::new(|| those(|protocol| protocol.prepares() && protocol.has_binlog()));
/// Those that keep two engines together, with a binlog or without.
static COORDINATED: LazyLock<Vec<CommitProtocol>> = LazyLock::new(|| those(CommitProtocol::prepares));
static DIVERGING: LazyLock<Vec<CommitProtocol>> = LazyLock::new(|| those(CommitProtocol::may_diverge));
const TRANSFERS: u64 = 11;

/// Two engines of different kinds: one with a log beside its map, one whose tree is its log.
fn engines(disk: &SimDisk) -> Result<Vec<Arc<dyn TwoPhase>>, WriteError> {
    let logged = LoggedEngine::open(disk, Path::new("/data"), "one")?;
    let redb = Redb::open(Arc::new(disk.clone()), Path::new("/data/redb"), &RedbOptions::default())
        .map_err(|error| WriteError::Failed { engine: "redb", detail: error.to_string() })?;
    Ok(vec![Arc::new(logged), Arc::new(redb)])
}

pub(crate) fn open(disk: &SimDisk, protocol: CommitProtocol) -> Result<(Arc<Store>, ClassicReport), OpenError> {
    open_with(disk, protocol, protocol != CommitProtocol::TcMmap)
}

fn open_with(
    disk: &SimDisk,
    protocol: CommitProtocol,
    log_bin: bool,
) -> Result<(Arc<Store>, ClassicReport), OpenError> {
    open_as(disk, protocol, StoreOptions { log_bin, ..Machine::options(1) })
}

fn open_as(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: StoreOptions,
) -> Result<(Arc<Store>, ClassicReport), OpenError> {
    let mut report = None;
    let store = open_listening(disk, protocol, options, &mut |found| report = Some(found))?;
    Ok((store, report.expect("a start reports what it found")))
}

fn open_listening(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: StoreOptions,
    listener: &mut dyn FnMut(ClassicReport),
) -> Result<Arc<Store>, OpenError> {
    recover_with(disk, protocol, options, engines(disk).map_err(RecoverError::from)?, listener)
}

fn recover_with(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: StoreOptions,
    engines: Vec<Arc<dyn TwoPhase>>,
    listener: &mut dyn FnMut(ClassicReport),
) -> Result<Arc<Store>, OpenError> {
    let (fs, clock) = (Arc::new(disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let listener = &mut |event: StartupEvent<'_>| {
        if let StartupEvent::Report(StartReport::Classic(report)) = event {
            listener(report);
        }
    };
    let engines = Engines::Classic(engines);
    Recovered::from_logs(options, protocol, fs, clock, engines, listener)?.start_stepped(listener)
}

fn insert_all(store: &Arc<Store>, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        insert(store, id).expect("a commit");
    }
}

/// Runs transfers one after the other, with rotations between; returns the ids that were acknowledged.
fn run(disk: &SimDisk, protocol: CommitProtocol) -> Vec<u64> {
    let log_bin = protocol != CommitProtocol::TcMmap;
    run_with(disk, protocol, StoreOptions { log_bin, ..Machine::options(1) })
}

fn run_with(disk: &SimDisk, protocol: CommitProtocol, options: StoreOptions) -> Vec<u64> {
    let Ok((store, _)) = open_as(disk, protocol, options) else { return Vec::new() };
    let mut acknowledged = Vec::new();
    for id in 1..=TRANSFERS {
        match transfer(&store, id) {
            Ok(_) => acknowledged.push(id),
            Err(_) => break,
        }
        if id % 3 == 0 {
            store.prepare_ahead();
        }
    }
    acknowledged
}

/// The engines of a disk in either form.
struct Source<'d>(&'d SimDisk);

impl Source<'_> {
    fn engines(&self) -> Result<[Arc<LoggedEngine>; 2], WriteError> {
        let open = |name| LoggedEngine::open(self.0, Path::new("/data"), name).map(Arc::new);
        Ok([open("one")?, open("two")?])
    }
}

impl EngineSource for Source<'_> {
    fn journaled(&self) -> Result<Vec<Arc<dyn Engine>>, EngineSourceError> {
        let [one, two] = self.engines()?;
        Ok(vec![one, two])
    }

    fn two_phase(&self) -> Result<Vec<Arc<dyn TwoPhase>>, EngineSourceError> {
        let [one, two] = self.engines()?;
        Ok(vec![one, two])
    }
}

/// Opens with any protocol, after whichever wrote the logs.
fn hand_over(disk: &SimDisk, protocol: CommitProtocol) -> Result<(Arc<Store>, StartReport), OpenError> {
    hand_over_with(disk, protocol, &|| Machine::options(1))
}

const MARK: &str = "/data/mark";

fn hand_over_with(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: &dyn Fn() -> StoreOptions,
) -> Result<(Arc<Store>, StartReport), OpenError> {
    let (fs, clock) = (Arc::new(disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let (mark, engines) = (MARK.into(), Source(disk));
    let directory = DataDirectory { fs: fs.clone(), clock: clock.clone(), mark, options, engines: &engines };
    let mut report = None;
    let store = directory.open_stepped(protocol, &mut |reported| match reported {
        StartupEvent::Progress(_) => {}
        StartupEvent::Report(found) => assert!(report.replace(found).is_none(), "reported once"),
    })?;
    Ok((store, report.expect("a start reports what it found")))
}
