//! Every commit protocol there is, by name.

use std::fmt;
use std::str::FromStr;

/// Hands every protocol, with a name for tests of it, to the macro `$then`.
#[macro_export]
macro_rules! for_each_commit_protocol {
    ($then:ident) => {
        $then! {
            journal: $crate::CommitProtocol::Journal;
            mysql41: $crate::CommitProtocol::Mysql41;
            mysql50: $crate::CommitProtocol::Mysql50 { support_xa: true };
            mysql50_without_xa: $crate::CommitProtocol::Mysql50 { support_xa: false };
            plugin104: $crate::CommitProtocol::Plugin104;
            mysql56: $crate::CommitProtocol::Mysql56;
            mysql57: $crate::CommitProtocol::Mysql57;
            mariadb_naive: $crate::CommitProtocol::MariadbNaive;
            mariadb: $crate::CommitProtocol::Mariadb { commit_flush: true };
            mariadb_without_commit_flush: $crate::CommitProtocol::Mariadb { commit_flush: false };
            tc_mmap: $crate::CommitProtocol::TcMmap;
        }
    };
}

macro_rules! all {
    ($($name:ident: $protocol:expr;)*) => {
        /// Every protocol there is.
        pub const ALL: [CommitProtocol; [$(stringify!($name)),*].len()] = [$($protocol),*];
    };
}

/// Which protocol commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitProtocol {
    /// One journal record for everything: `journaled/commit.rs`.
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
        /// Sync the engines' logs after the commit records too.
        commit_flush: bool,
    },
    /// MariaDB without a binlog: a log of the coordinator's own keeps the engines together.
    TcMmap,
}

impl CommitProtocol {
    for_each_commit_protocol!(all);

    /// The names in `commit_protocol`, each once.
    pub const NAMES: &[&str] =
        &["journal", "mysql41", "mysql50", "plugin104", "mysql56", "mysql57", "mariadb-naive", "mariadb", "tc-mmap"];

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

    /// Whether it writes a binlog.
    pub fn has_binlog(self) -> bool {
        self != CommitProtocol::TcMmap
    }

    /// Whether a crash may leave binlog and engines different, which the next start can only say.
    pub fn may_diverge(self) -> bool {
        self != CommitProtocol::Journal && !self.prepares()
    }

    /// Whether a transaction is prepared in its engines before the coordinator's log has it, so that recovery can decide.
    pub fn prepares(self) -> bool {
        !matches!(
            self,
            CommitProtocol::Journal | CommitProtocol::Mysql41 | CommitProtocol::Mysql50 { support_xa: false }
        )
    }
}

/// The name, and after it what is not as usual: `mysql50 support_xa=OFF`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_is_found_by_its_name() {
        for protocol in CommitProtocol::ALL {
            assert!(CommitProtocol::NAMES.contains(&protocol.name()), "{protocol}");
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
    }

    /// Which of them prepare, which may lose what another log has, and which write a binlog.
    #[test]
    fn what_a_protocol_promises() {
        for protocol in CommitProtocol::ALL {
            let promises = (protocol.prepares(), protocol.may_diverge(), protocol.has_binlog());
            let expected = match protocol {
                CommitProtocol::Journal => (false, false, true),
                CommitProtocol::Mysql41 | CommitProtocol::Mysql50 { support_xa: false } => (false, true, true),
                CommitProtocol::TcMmap => (true, false, false),
                _ => (true, false, true),
            };
            assert_eq!(promises, expected, "{protocol}");
        }
        let names = CommitProtocol::ALL.map(CommitProtocol::name);
        assert!(CommitProtocol::NAMES.iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(CommitProtocol::Mysql50 { support_xa: false }.to_string(), "mysql50 support_xa=OFF");
        assert_eq!("mysql".parse::<CommitProtocol>(), Err(UnknownProtocol("mysql".to_owned())));
    }
}
