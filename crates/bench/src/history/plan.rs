//! Who takes part in which experiment, and how large it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A server with a commit protocol: a rung of the ladder on our server, or a real peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entrant {
    /// MySQL 4.1: no prepare.
    Mysql41,
    /// MySQL 5.0, `prepare_commit_mutex`.
    Mysql50,
    /// The same, without prepare.
    Mysql50WithoutXa,
    /// InnoDB Plugin 1.0.4.
    Plugin104,
    /// MySQL 5.6.
    Mysql56,
    /// MySQL 5.7.
    Mysql57,
    /// MariaDB's first version: members commit in their own sessions and signal the next.
    MariadbNaive,
    /// MariaDB 5.3: the leader commits for all.
    Mariadb,
    /// MariaDB 10.0: the same without the flush in the commit phase.
    MariadbWithoutCommitFlush,
    /// Without a binlog: the coordinator has a log of its own.
    TcMmap,
    /// Ours: one record for everything.
    Journal,
    /// The real one, with InnoDB 1.1.5.
    RealMysql55,
    /// The real one.
    RealMysql56,
    /// The real one, of the system's packages.
    RealMariadb1011,
}

impl Entrant {
    /// As it is written in the report.
    pub fn title(self) -> &'static str {
        match self {
            Entrant::Mysql41 => "mysql41",
            Entrant::Mysql50 => "mysql50",
            Entrant::Mysql50WithoutXa => "mysql50 without XA",
            Entrant::Plugin104 => "plugin104",
            Entrant::Mysql56 => "mysql56",
            Entrant::Mysql57 => "mysql57",
            Entrant::MariadbNaive => "mariadb-naive",
            Entrant::Mariadb => "mariadb",
            Entrant::MariadbWithoutCommitFlush => "mariadb, no commit flush",
            Entrant::TcMmap => "tc-mmap",
            Entrant::Journal => "journal",
            Entrant::RealMysql55 => "MySQL 5.5.9",
            Entrant::RealMysql56 => "MySQL 5.6.24",
            Entrant::RealMariadb1011 => "MariaDB of the system",
        }
    }

    /// Options of our server that choose it; `None` for a real peer.
    pub fn options(self) -> Option<&'static [&'static str]> {
        Some(match self {
            Entrant::Mysql41 => &["--commit-protocol=mysql41"],
            Entrant::Mysql50 => &["--commit-protocol=mysql50"],
            Entrant::Mysql50WithoutXa => &["--commit-protocol=mysql50", "--support-xa=0"],
            Entrant::Plugin104 => &["--commit-protocol=plugin104"],
            Entrant::Mysql56 => &["--commit-protocol=mysql56"],
            Entrant::Mysql57 => &["--commit-protocol=mysql57"],
            Entrant::MariadbNaive => &["--commit-protocol=mariadb-naive"],
            Entrant::Mariadb => &["--commit-protocol=mariadb"],
            Entrant::MariadbWithoutCommitFlush => &["--commit-protocol=mariadb", "--commit-flush=0"],
            Entrant::TcMmap => &["--commit-protocol=tc-mmap"],
            Entrant::Journal => &["--commit-protocol=journal"],
            Entrant::RealMysql55 | Entrant::RealMysql56 | Entrant::RealMariadb1011 => return None,
        })
    }

    /// Whether this is a real server of its time.
    pub fn is_peer(self) -> bool {
        self.options().is_none()
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
            Entrant::RealMysql55 | Entrant::RealMysql56 | Entrant::RealMariadb1011 => Engine::InnoDb,
            _ => Engine::RocksDb,
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
        f.write_str(self.entrant.title())?;
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
        use Entrant::*;
        let with = |entrants: &[Entrant]| entrants.iter().map(|&entrant| Contestant::new(entrant)).collect::<Vec<_>>();
        match self {
            Experiment::WriteLoad => {
                with(&[Mysql50, Mysql50WithoutXa, Plugin104, Journal, RealMysql55, RealMysql56, RealMariadb1011])
            }
            Experiment::BinlogCost => {
                let both = with(&[Mysql50, Plugin104, Journal, RealMysql55]);
                both.into_iter().flat_map(|contestant| [contestant, contestant.without_binlog()]).collect()
            }
            Experiment::GroupCommit => {
                let mut all = with(&[
                    Mysql41,
                    Mysql50,
                    Mysql50WithoutXa,
                    Plugin104,
                    Mysql56,
                    Mysql57,
                    MariadbNaive,
                    Mariadb,
                    MariadbWithoutCommitFlush,
                    Journal,
                ]);
                let on_redb = [Mysql50, Mysql56, Mysql57, Mariadb, MariadbWithoutCommitFlush, Journal];
                all.extend(on_redb.map(Contestant::on_redb));
                all.extend(with(&[TcMmap, Journal]).into_iter().map(Contestant::without_binlog));
                all.extend(with(&[RealMysql55, RealMysql56, RealMariadb1011]));
                all
            }
            Experiment::HandOff => with(&[MariadbNaive, Mariadb, Journal, RealMariadb1011]),
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
            assert!(contestants.contains(&Contestant::new(Entrant::Journal)), "{experiment:?}");
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

    #[test]
    fn all_protocols_of_the_ladder_take_part_in_group_commit() {
        let chosen: BTreeSet<&str> = Experiment::GroupCommit
            .contestants()
            .iter()
            .filter_map(|contestant| contestant.entrant.options()?.first()?.strip_prefix("--commit-protocol="))
            .collect();
        let ladder = cohort_txn::CommitProtocol::NAMES.iter().copied().collect();
        assert_eq!(chosen, ladder);
    }
}
