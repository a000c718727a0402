//! Who takes part in which experiment, and how large it is.

use std::fmt;

use cohort_txn::{CommitProtocol, UnknownProtocol};
use serde::{Deserialize, Serialize};

/// A commit protocol of our server, or a real peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Entrant {
    Ours(CommitProtocol),
    Peer(Peer),
}

/// A real server of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// With InnoDB 1.1.5.
    Mysql55,
    Mysql56,
    /// Of the system's packages.
    Mariadb1011,
}

impl Peer {
    /// All that take part.
    pub const ALL: [Peer; 3] = [Peer::Mysql55, Peer::Mysql56, Peer::Mariadb1011];
}

/// Those whose figures were published or are compared by name.
pub mod entrant {
    use super::{CommitProtocol, Entrant, Peer};

    pub const MYSQL50: Entrant = Entrant::Ours(CommitProtocol::Mysql50 { support_xa: true });
    pub const MYSQL50_WITHOUT_XA: Entrant = Entrant::Ours(CommitProtocol::Mysql50 { support_xa: false });
    pub const PLUGIN104: Entrant = Entrant::Ours(CommitProtocol::Plugin104);
    pub const MYSQL56: Entrant = Entrant::Ours(CommitProtocol::Mysql56);
    pub const MYSQL57: Entrant = Entrant::Ours(CommitProtocol::Mysql57);
    pub const MARIADB_NAIVE: Entrant = Entrant::Ours(CommitProtocol::MariadbNaive);
    pub const MARIADB: Entrant = Entrant::Ours(CommitProtocol::Mariadb { commit_flush: true });
    pub const MARIADB_WITHOUT_COMMIT_FLUSH: Entrant = Entrant::Ours(CommitProtocol::Mariadb { commit_flush: false });
    pub const JOURNAL: Entrant = Entrant::Ours(CommitProtocol::Journal);
    pub const REAL_MYSQL55: Entrant = Entrant::Peer(Peer::Mysql55);
    pub const REAL_MYSQL56: Entrant = Entrant::Peer(Peer::Mysql56);
    pub const REAL_MARIADB1011: Entrant = Entrant::Peer(Peer::Mariadb1011);
}

/// As it is written in the report.
impl fmt::Display for Entrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entrant::Ours(protocol) => protocol.fmt(f),
            Entrant::Peer(Peer::Mysql55) => f.write_str("MySQL 5.5.9"),
            Entrant::Peer(Peer::Mysql56) => f.write_str("MySQL 5.6.24"),
            Entrant::Peer(Peer::Mariadb1011) => f.write_str("MariaDB of the system"),
        }
    }
}

impl From<Entrant> for String {
    fn from(entrant: Entrant) -> String {
        entrant.to_string()
    }
}

impl TryFrom<String> for Entrant {
    type Error = UnknownProtocol;

    fn try_from(text: String) -> Result<Entrant, UnknownProtocol> {
        let peer = Peer::ALL.into_iter().map(Entrant::Peer).find(|peer| peer.to_string() == text);
        peer.map_or_else(|| text.parse().map(Entrant::Ours), Ok)
    }
}

impl Entrant {
    /// Whether this is a real server of its time.
    pub fn is_peer(self) -> bool {
        matches!(self, Entrant::Peer(_))
    }
}

/// What keeps the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Our first one, a log-structured tree.
    RocksDb,
    /// Our second one, a B-tree.
    Redb,
    /// The peers'.
    InnoDb,
}

impl Engine {
    /// As in `ENGINE=`.
    pub fn title(self) -> &'static str {
        match self {
            Engine::RocksDb => "RocksDB",
            Engine::Redb => "redb",
            Engine::InnoDb => "InnoDB",
        }
    }
}

/// An entrant as it takes part in an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contestant {
    /// Which protocol or peer.
    pub entrant: Entrant,
    /// Where its rows are.
    pub engine: Engine,
    /// Whether it writes a binlog.
    pub binlog: bool,
}

impl Contestant {
    /// With its usual engine and a binlog.
    pub const fn new(entrant: Entrant) -> Contestant {
        let engine = match entrant {
            Entrant::Peer(_) => Engine::InnoDb,
            Entrant::Ours(_) => Engine::RocksDb,
        };
        Contestant { entrant, engine, binlog: true }
    }

    const fn on_redb(entrant: Entrant) -> Contestant {
        Contestant { entrant, engine: Engine::Redb, binlog: true }
    }

    /// The same without a binlog.
    pub const fn without_binlog(self) -> Contestant {
        Contestant { binlog: false, ..self }
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entrant.fmt(f)?;
        if self.engine == Engine::Redb {
            f.write_str(", redb")?;
        }
        if !self.binlog {
            f.write_str(", no binlog")?;
        }
        Ok(())
    }
}

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// mysqlslap's generated inserts.
    Slap,
    /// sysbench `oltp_read_write`.
    ReadWrite,
    /// sysbench `oltp_update_non_index`.
    UpdateNonIndex,
    /// `REPLACE INTO t (a,b) VALUES (?,?)`, prepared.
    Replace,
}

/// An experiment that somebody published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// What broke group commit, and what mended it: inserts by mysqlslap.
    WriteLoad,
    /// What a binlog costs: sysbench read/write.
    BinlogCost,
    /// Every protocol, both engines: sysbench update_non_index.
    GroupCommit,
    /// Who commits for a group: prepared REPLACE on a RAM disk.
    HandOff,
}

impl Experiment {
    /// All, in the order of the report.
    pub const ALL: [Experiment; 4] =
        [Experiment::WriteLoad, Experiment::BinlogCost, Experiment::GroupCommit, Experiment::HandOff];

    /// What the clients do.
    pub fn load(self) -> Load {
        match self {
            Experiment::WriteLoad => Load::Slap,
            Experiment::BinlogCost => Load::ReadWrite,
            Experiment::GroupCommit => Load::UpdateNonIndex,
            Experiment::HandOff => Load::Replace,
        }
    }

    /// `sync_binlog` of every server in it.
    pub fn sync_binlog(self) -> u32 {
        match self {
            Experiment::WriteLoad | Experiment::BinlogCost => 0,
            Experiment::GroupCommit | Experiment::HandOff => 1,
        }
    }

    /// Whether the data are on a RAM disk.
    pub fn in_memory(self) -> bool {
        self == Experiment::HandOff
    }

    /// Who takes part.
    pub fn contestants(self) -> Vec<Contestant> {
        use entrant::*;
        let with = |entrants: &[Entrant]| entrants.iter().map(|&entrant| Contestant::new(entrant)).collect::<Vec<_>>();
        match self {
            Experiment::WriteLoad => {
                with(&[MYSQL50, MYSQL50_WITHOUT_XA, PLUGIN104, JOURNAL, REAL_MYSQL55, REAL_MYSQL56, REAL_MARIADB1011])
            }
            Experiment::BinlogCost => {
                let both = with(&[MYSQL50, PLUGIN104, JOURNAL, REAL_MYSQL55]);
                both.into_iter().flat_map(|contestant| [contestant, contestant.without_binlog()]).collect()
            }
            Experiment::GroupCommit => {
                let (with_binlog, without): (Vec<CommitProtocol>, Vec<CommitProtocol>) =
                    CommitProtocol::ALL.into_iter().partition(|protocol| protocol.has_binlog());
                let ours = |protocol| Contestant::new(Entrant::Ours(protocol));
                let mut all: Vec<Contestant> = with_binlog.into_iter().map(ours).collect();
                let on_redb = [MYSQL50, MYSQL56, MYSQL57, MARIADB, MARIADB_WITHOUT_COMMIT_FLUSH, JOURNAL];
                all.extend(on_redb.map(Contestant::on_redb));
                let alone = without.into_iter().map(ours).chain([Contestant::new(JOURNAL)]);
                all.extend(alone.map(Contestant::without_binlog));
                all.extend(Peer::ALL.map(|peer| Contestant::new(Entrant::Peer(peer))));
                all
            }
            Experiment::HandOff => with(&[MARIADB_NAIVE, MARIADB, JOURNAL, REAL_MARIADB1011]),
        }
    }

    /// Numbers of clients at this scale.
    pub fn clients(self, scale: Scale) -> &'static [u32] {
        match (self, scale) {
            (_, Scale::Quick) => &[1, 8],
            (Experiment::WriteLoad, _) => &[1, 5, 10, 20, 30, 50],
            (Experiment::BinlogCost, Scale::Usual) => &[1, 8, 32, 64],
            (Experiment::BinlogCost, Scale::Full) => &[1, 2, 4, 8, 16, 32, 64],
            (Experiment::GroupCommit, Scale::Usual) => &[1, 4, 32, 128, 256],
            (Experiment::GroupCommit, Scale::Full) => &[1, 2, 4, 8, 16, 32, 64, 128, 256],
            (Experiment::HandOff, Scale::Usual) => &[1, 16, 64, 128],
            (Experiment::HandOff, Scale::Full) => &[1, 4, 16, 32, 64, 128, 256],
        }
    }
}

/// Whose syncs are counted at the system call.
pub fn counted_at_the_kernel() -> Vec<Contestant> {
    Experiment::GroupCommit.contestants()
}

/// How large the experiments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Shows that everything works, measures nothing.
    Quick,
    /// Some minutes for each experiment.
    Usual,
    /// As large as what was published.
    Full,
}

impl Scale {
    /// Length of one run, seconds; mysqlslap has no such option and is given a number of queries that takes
    /// about as long, but for [`Scale::queries`].
    pub fn seconds(self) -> u32 {
        match self {
            Scale::Quick => 1,
            Scale::Usual => 3,
            Scale::Full => 20,
        }
    }

    /// How often each case runs.
    pub fn rounds(self) -> u32 {
        match self {
            Scale::Quick => 1,
            Scale::Usual => 2,
            Scale::Full => 3,
        }
    }

    /// Rows of sysbench's table.
    pub fn rows(self) -> u64 {
        match self {
            Scale::Quick => 1000,
            Scale::Usual => 100_000,
            Scale::Full => 1_000_000,
        }
    }

    /// Queries of a mysqlslap run, where the published number is taken.
    pub fn queries(self) -> Option<u64> {
        (self == Scale::Full).then_some(100_000)
    }

    /// Numbers of clients at which syncs are counted at the system call.
    pub fn counted_clients(self) -> &'static [u32] {
        match self {
            Scale::Quick => &[1, 8],
            _ => &[1, 4, 32],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_has_journal_and_no_contestant_twice() {
        for experiment in Experiment::ALL {
            let contestants = experiment.contestants();
            assert!(contestants.contains(&Contestant::new(entrant::JOURNAL)), "{experiment:?}");
            let names: BTreeSet<String> = contestants.iter().map(ToString::to_string).collect();
            assert_eq!(names.len(), contestants.len(), "{experiment:?}");
        }
    }

    #[test]
    fn the_published_numbers_of_clients_are_there_at_full_scale() {
        let highest = |experiment: Experiment| *experiment.clients(Scale::Full).last().unwrap();
        assert_eq!(Experiment::WriteLoad.clients(Scale::Full), [1, 5, 10, 20, 30, 50]);
        assert_eq!(highest(Experiment::BinlogCost), 64);
        assert_eq!(highest(Experiment::GroupCommit), 256);
        for experiment in Experiment::ALL {
            for scale in [Scale::Quick, Scale::Usual, Scale::Full] {
                assert!(experiment.clients(scale).is_sorted(), "{experiment:?}");
            }
        }
    }
}
