//! From a data directory to an open store, whatever protocol wrote its logs.
//!
//! Outline of [`DataDirectory::open`]: read the mark; where it names another protocol than the one asked for,
//! recover as that one, close everything as a clean stop does, and only then change the mark; open.
//!
//! On crash: the mark names the protocol that wrote the logs for as long as something of it is not recovered,
//! closed and durable. The next one has written nothing before the mark names it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cohort_engine::{Engine, TwoPhase};
use cohort_io::{Clock, FileSystem};
use serde::Serialize;

use super::CommitProtocol;
use super::mark::{MarkError, ProtocolMark};
use super::recovery::TwoPhaseReport;
use crate::recovery::{RecoverError, RecoveryReport};
use crate::store::{Store, StoreOptions};

/// Why the engines could not be opened.
pub type EngineSourceError = Box<dyn std::error::Error + Send + Sync>;

/// The engines of a data directory, in the order of their ids, in the form that a protocol needs. They are
/// opened in one form at a time.
pub trait EngineSource {
    /// Driven by the journal.
    fn journaled(&self) -> Result<Vec<Arc<dyn Engine>>, EngineSourceError>;

    /// With logs of their own.
    fn two_phase(&self) -> Result<Vec<Arc<dyn TwoPhase>>, EngineSourceError>;
}

/// A data directory that a store is opened in.
pub struct DataDirectory<'a> {
    /// Where its files are.
    pub fs: Arc<dyn FileSystem>,
    /// What time it is for new events.
    pub clock: Arc<dyn Clock>,
    /// The file that says which protocol wrote the logs.
    pub mark: PathBuf,
    /// The other files, and settings.
    pub options: &'a dyn Fn() -> StoreOptions,
    /// The engines.
    pub engines: &'a dyn EngineSource,
}

/// What recovery found and did, by the protocol that wrote the logs: as one line for the operator, and as JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum StartReport {
    /// The journal's.
    Journal(RecoveryReport),
    /// A classic protocol's.
    TwoPhase(TwoPhaseReport),
}

impl StartReport {
    /// Whether there was nothing to do.
    pub fn is_clean(&self) -> bool {
        match self {
            StartReport::Journal(report) => report.is_clean(),
            StartReport::TwoPhase(report) => report.is_clean(),
        }
    }
}

impl fmt::Display for StartReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartReport::Journal(report) => report.fmt(f),
            StartReport::TwoPhase(report) => report.fmt(f),
        }
    }
}

/// What the operator is told while a store is opened.
pub enum Told<'l> {
    /// A line meanwhile.
    Progress(&'l str),
    /// What the recovery of what was there found and did, whichever protocol wrote it. Where binlog and engines differ
    /// it is told before anything is done, too: the next start may find no trace of that.
    Report(StartReport),
}

/// Opened engines.
enum Engines {
    Journaled(Vec<Arc<dyn Engine>>),
    TwoPhase(Vec<Arc<dyn TwoPhase>>),
}

impl DataDirectory<'_> {
    /// Opens the store with `protocol`.
    pub fn open(&self, protocol: CommitProtocol, tell: &mut dyn FnMut(Told<'_>)) -> Result<Arc<Store>, RecoverError> {
        let store = self.recover(protocol, tell)?;
        store.start_threads();
        Ok(store)
    }

    /// [`DataDirectory::open`] without threads, for simulators.
    pub fn recover(
        &self,
        protocol: CommitProtocol,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<Arc<Store>, RecoverError> {
        let (engines, settled) = self.hand_over(protocol, tell)?;
        let (options, fs, clock) = ((self.options)(), self.fs.clone(), self.clock.clone());
        // Behind another protocol everything is told.
        let mut tell = |told: Told<'_>| match told {
            Told::Report(_) if settled => {}
            told => tell(told),
        };
        match engines {
            Engines::Journaled(engines) => {
                let progress = &mut |line: &str| tell(Told::Progress(line));
                let (store, report) = Store::recover(options, fs, clock, engines, progress)?;
                tell(Told::Report(StartReport::Journal(report)));
                Ok(store)
            }
            Engines::TwoPhase(engines) => {
                let tell = &mut |report| tell(Told::Report(StartReport::TwoPhase(report)));
                Store::recover_two_phase(options, protocol, fs, clock, engines, tell)
            }
        }
    }

    /// Opens the engines for `protocol`, which the mark names afterwards. What another protocol wrote is
    /// recovered and closed before, and told: says whether there was such.
    fn hand_over(
        &self,
        protocol: CommitProtocol,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<(Engines, bool), RecoverError> {
        if protocol == CommitProtocol::TcMmap && (self.options)().log_bin {
            return Err(RecoverError::TcMmapWithBinlog);
        }
        let mark = ProtocolMark::new(self.fs.clone(), self.mark.clone());
        let marked = mark.read()?;
        let wrote = match marked {
            Some(wrote) => wrote,
            None if self.is_new()? => protocol,
            // Releases before the mark had the journal only.
            None => CommitProtocol::Journal,
        };
        let settled = wrote != protocol;
        if settled {
            let line = format!("the logs were written by commit protocol {wrote}, which hands over to {protocol}");
            tell(Told::Progress(&line));
            self.settle(wrote, protocol, tell)?;
        }
        // Before the mark is changed: a protocol that an engine has no form for must not get it.
        let engines = match protocol {
            CommitProtocol::Journal => Engines::Journaled(self.engines.journaled()?),
            _ => Engines::TwoPhase(self.engines.two_phase()?),
        };
        if marked != Some(protocol) {
            mark.write(protocol)?;
        }
        Ok((engines, settled))
    }

    fn settle(
        &self,
        wrote: CommitProtocol,
        next: CommitProtocol,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<(), RecoverError> {
        let (options, fs, clock) = ((self.options)(), self.fs.clone(), self.clock.clone());
        if wrote != CommitProtocol::Journal {
            let tell = &mut |report| tell(Told::Report(StartReport::TwoPhase(report)));
            return Store::settle_two_phase(options, wrote, next, fs, clock, self.engines.two_phase()?, tell);
        }
        let progress = &mut |line: &str| tell(Told::Progress(line));
        let report = Store::settle(options, fs, clock, self.engines.journaled()?, progress)?;
        tell(Told::Report(StartReport::Journal(report)));
        Ok(())
    }

    fn is_new(&self) -> Result<bool, MarkError> {
        let StoreOptions { journal_dir, binlog, .. } = (self.options)();
        let index = binlog.directory.join(format!("{}.index", binlog.base_name));
        Ok(!self.fs.exists(&journal_dir)? && !self.fs.exists(&index)?)
    }
}
