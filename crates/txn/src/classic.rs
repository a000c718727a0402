//! The classic commit protocols: the engines' logs and a binlog, most of them kept together by a two-phase commit.
//!
//! Each is a file that reads like its row of the table in `docs/decisions/0009-classic-protocols.md`; the
//! steps they are made of are in `coordinator.rs`, the queues and hand-offs in `group.rs`. What happens after a crash
//! is in `recovery.rs`, what it cannot repair in `divergence.rs`. Sessions run their commits in their own threads, as
//! the originals do.
//!
//! Row locks are held until the engines have the commit record; the overlay is not used.

pub(crate) mod binlog_note;
mod coordinator;
mod divergence;
mod group;
mod mariadb;
mod mariadb_naive;
mod mysql41;
mod mysql50;
mod mysql56;
mod mysql57;
mod plugin104;
pub(crate) mod recovery;
mod tc_log;
mod tc_mmap;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use cohort_binlog::BinlogFiles;
use cohort_engine::{Engine, TwoPhase, Xid};
use cohort_io::{Clock, FileSystem};
use cohort_journal::Lsn;

use crate::commit_protocol::CommitProtocol;
use crate::lock_profile::LockProfile;
use crate::options::StoreOptions;
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;
use crate::shared::{Frontier, Shared};
pub(crate) use coordinator::ClassicCoordinator;
use recovery::{ClassicReport, RecoverError};
pub(crate) use tc_log::TcLog;
pub use tc_log::TcLogError;

/// Recovers what the classic protocol `wrote` wrote: the binlog decides what becomes of the transactions that the
/// engines found prepared.
///
/// `listener` gets what was found in what binlog and engines differ before anything is done: nothing of that may be found
/// again by the next start, should this one end before.
pub(crate) fn recover(
    options: StoreOptions,
    wrote: CommitProtocol,
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    engines: Vec<Arc<dyn TwoPhase>>,
    listener: &mut dyn FnMut(ClassicReport),
) -> Result<(Arc<Shared>, Arc<ClassicCoordinator>, ClassicReport), RecoverError> {
    let binlog = Arc::new(BinlogFiles::open(fs.clone(), options.binlog)?);
    let tc_log = recovery::read_tc_log(&*fs, &options.tc_log, &engines)?;
    let (note, report) = recovery::recover(wrote, &binlog, options.binlog_cut_at, &tc_log, &engines, listener)?;
    // Everything is decided, durably: the names of this run can begin anew.
    let tc_log = TcLog::create(&*fs, &options.tc_log, clock.now_us())?;
    let shared = Arc::new(Shared::new(
        engines.iter().map(|engine| engine.clone() as Arc<dyn Engine>).collect(),
        binlog,
        options.log_bin,
        options.settings,
        clock,
        options.gtid_mode,
        options.server_uuid,
        options.identity,
        Frontier { lsn: Lsn(0), note },
        0,
    ));
    let coordinator = ClassicCoordinator::new(shared.clone(), engines, wrote.with_binlog(), tc_log);
    Ok((shared, Arc::new(coordinator), report))
}

impl CommitProtocol {
    /// The protocol of that kind whose coordinator log is the binlog; `None` for the others.
    pub(crate) fn with_binlog(self) -> Option<Box<dyn Protocol>> {
        Some(match self {
            CommitProtocol::Journal | CommitProtocol::TcMmap => return None,
            CommitProtocol::Mysql41 => Box::new(mysql41::Mysql41::new()),
            CommitProtocol::Mysql50 { support_xa } => Box::new(mysql50::Mysql50::new(support_xa)),
            CommitProtocol::Plugin104 => Box::new(plugin104::Plugin104::new()),
            CommitProtocol::Mysql56 => Box::new(mysql56::Mysql56::new()),
            CommitProtocol::Mysql57 => Box::new(mysql57::Mysql57::new()),
            CommitProtocol::MariadbNaive => Box::new(mariadb_naive::MariadbNaive::new()),
            CommitProtocol::Mariadb { commit_flush } => Box::new(mariadb::Mariadb::new(commit_flush)),
        })
    }
}

/// A way to commit a transaction in the engines and the binlog.
pub(crate) trait Protocol: Send + Sync {
    /// Commits `member`, whose redo is in one engine at least and which has binlog events. Returns when it
    /// is durable as the settings say and visible, or with the reason why not: then either nothing of it
    /// is left, or [`ClassicCoordinator::seal`] was called and its outcome is unknown.
    fn commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError>;

    /// Its locks, and what they cost so far.
    fn lock_profile(&self) -> Vec<LockProfile>;
}

/// The transaction's name in the engines' logs, as MySQL makes it: a prefix, the server, a number.
pub(crate) fn internal_xid(server_id: u32, number: u64) -> Xid {
    let name = [&XID_PREFIX[..], &server_id.to_le_bytes(), &number.to_le_bytes()].concat();
    Xid::new(&name).expect("twenty bytes")
}

/// In the numbers of transactions that are not in the binlog: `tc.log` decides about them. Nothing in the binlog
/// has such a number, also not in a file of an earlier run.
pub(crate) const UNLOGGED: u64 = 1 << 63;

/// The number in a name that [`internal_xid`] made.
pub(crate) fn internal_number(xid: &Xid) -> Option<u64> {
    let rest = xid.as_bytes().strip_prefix(XID_PREFIX)?;
    let number = rest.get(4..).filter(|number| number.len() == 8)?;
    number.try_into().ok().map(u64::from_le_bytes)
}

const XID_PREFIX: &[u8; 8] = b"MySQLXid";
