//! The classic commit protocols: two logs kept together by a two-phase commit.
//!
//! Each is a file that reads like its row of the table in `docs/decisions/0009-classic-protocols.md`; the
//! steps they are made of are in `steps.rs`, the queues and hand-offs in `group.rs`. What happens after a crash is in
//! `recovery.rs`, what it cannot repair in `divergence.rs`, and what if another protocol is asked for by then in
//! `switch.rs`. Sessions run their commits in their own threads, as the originals do.
//!
//! Row locks are held until the engines have the commit record; the overlay is not used.

pub(crate) mod binlog_note;
mod divergence;
mod group;
mod mariadb;
mod mariadb_naive;
pub(crate) mod mark;
mod mysql41;
mod mysql50;
mod mysql56;
mod mysql57;
mod plugin104;
pub(crate) mod recovery;
mod steps;
pub(crate) mod switch;
mod tc_log;
mod tc_mmap;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use cohort_engine::Xid;

use crate::commit::{CommitError, Committed, Member};
use crate::lock_profile::LockProfile;
pub(crate) use steps::Steps;
pub(crate) use tc_log::TcLog;
pub use tc_log::TcLogError;

/// Which protocol commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitProtocol {
    /// One journal record for everything: `commit.rs`.
    Journal,
    /// MySQL 4.1.
    Mysql41,
    /// MySQL 5.0 to 5.5 with the built-in InnoDB.
    Mysql50 {
        /// `innodb_support_xa`: with prepare.
        support_xa: bool,
    },
    /// InnoDB Plugin 1.0.4.
    Plugin104,
    /// MySQL 5.6.
    Mysql56,
    /// MySQL 5.7 and later.
    Mysql57,
    /// MariaDB's first group commit: each session signals the next.
    MariadbNaive,
    /// MariaDB 5.3 and later: the leader commits for all.
    Mariadb {
        /// Flush the engines' logs behind the commit records too.
        commit_flush: bool,
    },
    /// MariaDB without a binlog: a log of the coordinator's own keeps the engines together.
    TcMmap,
}

impl CommitProtocol {
    /// Every protocol there is.
    pub const ALL: [CommitProtocol; 11] = [
        CommitProtocol::Journal,
        CommitProtocol::Mysql41,
        CommitProtocol::Mysql50 { support_xa: true },
        CommitProtocol::Mysql50 { support_xa: false },
        CommitProtocol::Plugin104,
        CommitProtocol::Mysql56,
        CommitProtocol::Mysql57,
        CommitProtocol::MariadbNaive,
        CommitProtocol::Mariadb { commit_flush: true },
        CommitProtocol::Mariadb { commit_flush: false },
        CommitProtocol::TcMmap,
    ];

    /// The name in `commit_protocol`.
    pub fn name(self) -> &'static str {
        match self {
            CommitProtocol::Journal => "journal",
            CommitProtocol::Mysql41 => "mysql41",
            CommitProtocol::Mysql50 { .. } => "mysql50",
            CommitProtocol::Plugin104 => "plugin104",
            CommitProtocol::Mysql56 => "mysql56",
            CommitProtocol::Mysql57 => "mysql57",
            CommitProtocol::MariadbNaive => "mariadb-naive",
            CommitProtocol::Mariadb { .. } => "mariadb",
            CommitProtocol::TcMmap => "tc-mmap",
        }
    }

    /// Whether a transaction is prepared in its engines before the coordinator's log has it, so that recovery can decide.
    pub fn prepares(self) -> bool {
        !matches!(
            self,
            CommitProtocol::Journal | CommitProtocol::Mysql41 | CommitProtocol::Mysql50 { support_xa: false }
        )
    }

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

/// The name, and behind it what is not as usual: `mysql50 support_xa=OFF`.
impl fmt::Display for CommitProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            CommitProtocol::Mysql50 { support_xa: false } => f.write_str(" support_xa=OFF"),
            CommitProtocol::Mariadb { commit_flush: false } => f.write_str(" commit_flush=OFF"),
            _ => Ok(()),
        }
    }
}

/// No commit protocol is called that.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no commit protocol '{0}'")]
pub struct UnknownProtocol(pub String);

/// Reads what `Display` writes.
impl FromStr for CommitProtocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<CommitProtocol, UnknownProtocol> {
        let found = CommitProtocol::ALL.into_iter().find(|protocol| protocol.to_string() == text);
        found.ok_or_else(|| UnknownProtocol(text.to_owned()))
    }
}

/// A way to commit a transaction in the engines and the binlog.
pub(crate) trait Protocol: Send + Sync {
    /// Commits `member`, whose redo is in one engine at least and which has binlog events. Returns when it
    /// is durable as the settings say and visible, or with the reason why not: then either nothing of it
    /// is left, or [`Steps::seal`] was called and its outcome is unknown.
    fn commit(&self, steps: &Steps, member: Member) -> Result<Committed, CommitError>;

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
