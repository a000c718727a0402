//! From a data directory to an open store, whatever protocol wrote its logs.
//!
//! Outline
//! 1. [`DataDirectory::open`] reads the mark. Where it names another protocol than the one asked for, the logs are
//!    recovered as that one's and settled: closed as a clean stop does. Only then is the mark changed.
//! 2. [`Recovered::from_logs`] makes whole and durable what is there; nothing new is begun.
//! 3. [`Recovered::start`] begins what the first commit needs and starts the threads.
//!
//! On crash: the mark names the protocol that wrote the logs for as long as something of it is not recovered,
//! closed and durable. The next one has written nothing before the mark names it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cohort_binlog::FileStart;
use cohort_engine::{Engine, TwoPhase};
use cohort_io::{Clock, FileSystem};
use cohort_journal::JournalOptions;
use serde::Serialize;

use crate::classic::recovery::ClassicReport;
use crate::classic::{self, ClassicCoordinator};
use crate::commit_protocol::CommitProtocol;
use crate::journaled;
use crate::journaled::recovery::{self, RecoveryReport};
use crate::options::StoreOptions;
use crate::outcome::CommitError;
use crate::protocol_mark::{MarkError, ProtocolMark};
use crate::store::Store;
use crate::xa::XaRestoreError;

/// Why the engines could not be opened.
pub type EngineSourceError = Box<dyn std::error::Error + Send + Sync>;

/// Why the server cannot start. Nothing was changed that the next start would not do again.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What the journal wrote cannot be recovered.
    #[error(transparent)]
    Journaled(#[from] journaled::recovery::RecoverError),
    /// What a classic protocol wrote cannot be recovered.
    #[error(transparent)]
    Classic(#[from] classic::recovery::RecoverError),
    /// The prepared XA transactions cannot be restored.
    #[error(transparent)]
    Xa(#[from] XaRestoreError),
    /// The first binlog file of this run could not be begun.
    #[error("cannot begin a new binlog file: {0}")]
    FirstCommit(#[from] CommitError),
    /// Logs were recovered, and could not be closed for another protocol.
    #[error("cannot close the logs for another commit protocol: {0}")]
    Settle(String),
    /// The engines hold transactions that only clients may decide, and the journal knows nothing of them.
    #[error(
        "{0} XA transactions are prepared: start with the commit protocol that wrote them, and commit or roll them \
         back (XA RECOVER lists them)"
    )]
    PreparedLeft(u64),
    /// `tc-mmap` was asked for beside a binlog, which it does not write.
    #[error("commit_protocol=tc-mmap is for engines without a binlog: start with --skip-log-bin")]
    TcMmapWithBinlog,
    /// It is unknown which protocol wrote the logs.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// An engine could not be opened.
    #[error(transparent)]
    Engines(#[from] EngineSourceError),
}

/// Opened engines, in the order of their ids, in the form that a protocol needs.
pub enum Engines {
    /// Driven by the journal.
    Journaled(Vec<Arc<dyn Engine>>),
    /// With logs of their own.
    Classic(Vec<Arc<dyn TwoPhase>>),
}

/// The engines of a data directory, in the order of their ids. They are opened in one form at a time.
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
    pub engines: &'a dyn EngineSource,
}

/// What recovery found and did, by the protocol that wrote the logs: as one line for the operator, and as JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum StartReport {
    Journal(RecoveryReport),
    /// A classic protocol's.
    Classic(ClassicReport),
}

impl StartReport {
    /// Whether there was nothing to do.
    pub fn is_clean(&self) -> bool {
        match self {
            StartReport::Journal(report) => report.is_clean(),
            StartReport::Classic(report) => report.is_clean(),
        }
    }

    fn xa_prepared(&mut self) -> &mut u64 {
        match self {
            StartReport::Journal(report) => &mut report.xa_prepared,
            StartReport::Classic(report) => &mut report.xa_prepared,
        }
    }
}

impl fmt::Display for StartReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartReport::Journal(report) => report.fmt(f),
            StartReport::Classic(report) => report.fmt(f),
        }
    }
}

/// What is reported while a store is opened.
pub enum StartupEvent<'l> {
    /// A line meanwhile.
    Progress(&'l str),
    /// What the recovery of what was there found and did, whichever protocol wrote it. Where binlog and engines differ
    /// it is reported before anything is done, too: the next start may find no trace of that.
    Report(StartReport),
}

/// Who gets the events of a start.
pub type Listener<'l> = &'l mut dyn FnMut(StartupEvent<'_>);

/// Logs and engines as recovery leaves them: what was there is whole and durable, nothing new is begun.
pub struct Recovered {
    store: Arc<Store>,
    report: StartReport,
    fs: Arc<dyn FileSystem>,
    journal: (PathBuf, JournalOptions),
    classic: Option<Arc<ClassicCoordinator>>,
}

impl Recovered {
    /// Recovers what the protocol `wrote` wrote, if there is something.
    ///
    /// # Panics
    /// When the engines are not in the form that `wrote` needs.
    pub fn from_logs(
        options: StoreOptions,
        wrote: CommitProtocol,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Engines,
        listener: Listener<'_>,
    ) -> Result<Recovered, OpenError> {
        let journal = (options.journal_dir.clone(), options.journal.clone());
        match engines {
            Engines::Journaled(engines) => {
                assert_eq!(wrote, CommitProtocol::Journal, "engines for the journal");
                let progress = &mut |line: &str| listener(StartupEvent::Progress(line));
                let (shared, path, report) = journaled::recover(options, fs.clone(), clock, engines, progress)?;
                let store = Store::new(shared, path);
                Ok(Recovered { store, report: StartReport::Journal(report), fs, journal, classic: None })
            }
            Engines::Classic(engines) => {
                assert_ne!(wrote, CommitProtocol::Journal, "engines for a protocol with two phases");
                let listener = &mut |report| listener(StartupEvent::Report(StartReport::Classic(report)));
                let (shared, path, report) = classic::recover(options, wrote, fs.clone(), clock, engines, listener)?;
                let (store, classic) = (Store::new(shared, path.clone()), Some(path));
                Ok(Recovered { store, report: StartReport::Classic(report), fs, journal, classic })
            }
        }
    }

    /// The open store, its background threads running.
    pub fn start(self, listener: Listener<'_>) -> Result<Arc<Store>, OpenError> {
        let store = self.start_stepped(listener)?;
        store.start_threads();
        Ok(store)
    }

    /// [`Recovered::start`] without threads, for simulators: every commit is written by its session or step by step
    /// ([`Store::hold_commits`]), and upkeep is done by hand ([`Store::prepare_ahead`], [`Store::take_checkpoint`]).
    pub fn start_stepped(mut self, listener: Listener<'_>) -> Result<Arc<Store>, OpenError> {
        *self.report.xa_prepared() = self.store.restore_xa()?;
        listener(StartupEvent::Report(self.report));
        if let Some(classic) = self.classic {
            classic.leave_note()?;
        }
        let history = self.store.shared.binlog.find_history();
        self.store.prepare_ahead();
        self.store.begin_file(FileStart::ServerStart)?;
        history.into_iter().for_each(|first_file| self.store.purge_before_history(first_file));
        Ok(self.store)
    }

    /// Closes everything as a clean stop does, so that the protocol `next` can go on here; the journal gets a
    /// checkpoint at the end of the binlog.
    pub fn settle(self, next: CommitProtocol, listener: Listener<'_>) -> Result<(), OpenError> {
        let left = match &self.report {
            // The next protocol's recovery reads the last file, and nothing in that is to look lost to it.
            StartReport::Journal(_) => self.store.begin_file(FileStart::ServerStart).map(|_| 0)?,
            StartReport::Classic(report) => report.engines.iter().map(|engine| engine.left).sum(),
        };
        listener(StartupEvent::Report(self.report));
        if next == CommitProtocol::Journal && left > 0 {
            return Err(OpenError::PreparedLeft(left));
        }
        self.store.close().map_err(OpenError::Settle)?;
        if next == CommitProtocol::Journal {
            let (dir, options) = self.journal;
            recovery::take_over(self.fs, &dir, options, &self.store.shared.frontier().note)?;
        }
        Ok(())
    }
}

impl DataDirectory<'_> {
    /// Opens the store with `protocol`.
    pub fn open(&self, protocol: CommitProtocol, listener: Listener<'_>) -> Result<Arc<Store>, OpenError> {
        let store = self.open_stepped(protocol, listener)?;
        store.start_threads();
        Ok(store)
    }

    /// [`DataDirectory::open`] without threads, for simulators: see [`Recovered::start_stepped`].
    pub fn open_stepped(&self, protocol: CommitProtocol, listener: Listener<'_>) -> Result<Arc<Store>, OpenError> {
        let (engines, settled) = self.hand_over(protocol, listener)?;
        // After another protocol everything was reported.
        let listener: Listener<'_> = &mut |event: StartupEvent<'_>| match event {
            StartupEvent::Report(_) if settled => {}
            event => listener(event),
        };
        self.recovered(protocol, engines, listener)?.start_stepped(listener)
    }

    fn recovered(
        &self,
        wrote: CommitProtocol,
        engines: Engines,
        listener: Listener<'_>,
    ) -> Result<Recovered, OpenError> {
        Recovered::from_logs((self.options)(), wrote, self.fs.clone(), self.clock.clone(), engines, listener)
    }

    /// Opens the engines for `protocol`, which the mark names afterwards. What another protocol wrote is
    /// recovered, closed and reported before: says whether there was such.
    fn hand_over(&self, protocol: CommitProtocol, listener: Listener<'_>) -> Result<(Engines, bool), OpenError> {
        if protocol == CommitProtocol::TcMmap && (self.options)().log_bin {
            return Err(OpenError::TcMmapWithBinlog);
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
            listener(StartupEvent::Progress(&line));
            self.recovered(wrote, self.engines_for(wrote)?, listener)?.settle(protocol, listener)?;
        }
        // Before the mark is changed: a protocol that an engine has no form for must not get it.
        let engines = self.engines_for(protocol)?;
        // Also where it is there: the process that wrote it may have failed to make it durable.
        mark.write(protocol)?;
        Ok((engines, settled))
    }

    fn engines_for(&self, protocol: CommitProtocol) -> Result<Engines, EngineSourceError> {
        match protocol {
            CommitProtocol::Journal => self.engines.journaled().map(Engines::Journaled),
            _ => self.engines.two_phase().map(Engines::Classic),
        }
    }

    fn is_new(&self) -> Result<bool, MarkError> {
        let StoreOptions { journal_dir, binlog, .. } = (self.options)();
        let index = binlog.directory.join(format!("{}.index", binlog.base_name));
        Ok(!self.fs.exists(&journal_dir)? && !self.fs.exists(&index)?)
    }
}
