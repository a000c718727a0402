//! Everything a run of the history measured: the JSON that the page is made from.

use serde::{Deserialize, Serialize};

use crate::history::plan::{Contestant, Engine, Entrant, Experiment, Scale};
use crate::machine::Machine;
use crate::medians::median;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Where and when.
    pub machine: Machine,
    /// How large.
    pub scale: Scale,
    /// What was measured, in the order of the report.
    pub experiments: Vec<Outcome>,
    /// Syncs by log, counted at the system call.
    pub kernel: Vec<KernelCount>,
    /// Who could not take part, or not to the end.
    pub absent: Vec<Absent>,
}

/// How an experiment went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which.
    pub experiment: Experiment,
    /// Median time to write 4 KiB and sync it where the data are, microseconds.
    pub sync_us: f64,
    /// One for each contestant that ran to the end.
    pub series: Vec<Series>,
}

/// A contestant's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub contestant: Contestant,
    /// What it answers to `SELECT VERSION()`.
    pub version: String,
    /// One for each number of clients, ascending.
    pub points: Vec<Point>,
    /// The locks of its commit path, most waited for first; empty where the server does not report it.
    pub locks: Vec<LockUse>,
}

/// All runs with one number of clients; there is one at least.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Connections.
    pub clients: u32,
    /// One for each round.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Transactions that ended.
    pub commits: u64,
    /// Transactions per second.
    pub throughput: f64,
    /// 99th percentile of their latency, milliseconds; `None` where the client does not report it.
    pub p99_ms: Option<f64>,
    /// CPU time of the server for each transaction, microseconds.
    pub server_us: f64,
    /// Share of all processors' time that server and clients used, 0 to 1.
    pub busy: f64,
    /// Share of all processors' time that anything else used, 0 to 1.
    pub others: f64,
    /// Syncs during the run as the server counts them.
    pub syncs: Syncs,
}

/// Syncs of each log; `None` where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syncs {
    /// Of the engines' own logs.
    pub engine: Option<u64>,
    /// Of the binlog files.
    pub binlog: Option<u64>,
    /// Of the coordinator's log.
    pub coordinator: Option<u64>,
    /// Of the journal.
    pub journal: Option<u64>,
}

/// What one caller spent on one lock of the commit path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockUse {
    /// Its name in the protocol's sources.
    pub lock: String,
    /// Who took it.
    pub caller: String,
    /// How often.
    pub count: u64,
    /// How often it had to be waited for.
    pub waits: u64,
    /// Nanoseconds waited, in all.
    pub wait_ns: u64,
    /// The longest wait, nanoseconds.
    pub wait_max_ns: u64,
    /// Nanoseconds held, in all.
    pub hold_ns: u64,
    /// The longest hold, nanoseconds.
    pub hold_max_ns: u64,
}

/// Syncs of one traced run, by log, as the kernel was asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KernelCount {
    pub contestant: Contestant,
    /// Connections that committed at once.
    pub clients: u32,
    /// Commits of the run.
    pub commits: u64,
    /// Of engines' logs.
    pub engine: u64,
    /// Of binlog files.
    pub binlog: u64,
    /// Of the coordinator's log.
    pub coordinator: u64,
    /// Of the journal.
    pub journal: u64,
    /// Of anything else: data files written back, indexes of files.
    pub other: u64,
}

/// Somebody who could not take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Who; `None` for everybody in it.
    pub contestant: Option<Contestant>,
    /// In what: an experiment, or `None` for the counting at the system call.
    pub experiment: Option<Experiment>,
    /// Why, in one line.
    pub reason: String,
}

impl History {
    /// The outcome of an experiment, if it ran.
    pub fn outcome(&self, experiment: Experiment) -> Option<&Outcome> {
        self.experiments.iter().find(|outcome| outcome.experiment == experiment)
    }

    /// Share of all processors' time that something else used, 0 to 1: the mean over all runs.
    pub fn others(&self) -> f64 {
        let points = self.experiments.iter().flat_map(|outcome| &outcome.series).flat_map(|series| &series.points);
        let runs: Vec<f64> = points.flat_map(|point| &point.runs).map(|run| run.others).collect();
        runs.iter().sum::<f64>() / runs.len().max(1) as f64
    }

    /// The traced run of a contestant with so many clients.
    pub fn kernel(&self, contestant: Contestant, clients: u32) -> Option<&KernelCount> {
        self.kernel.iter().find(|count| count.contestant == contestant && count.clients == clients)
    }

    /// Whether a rung of ours could not take part, which is a failure; a peer or a RAM disk that is missing is
    /// none.
    pub fn lacks_a_rung(&self) -> bool {
        self.absent.iter().filter_map(|absent| absent.contestant).any(|contestant| !contestant.entrant.is_peer())
    }
}

impl Absent {
    /// As people read it.
    pub fn who(&self) -> String {
        self.contestant.map_or_else(|| "everybody".to_owned(), |contestant| contestant.to_string())
    }
}

impl Outcome {
    /// A contestant's figures.
    pub fn of(&self, contestant: Contestant) -> Option<&Series> {
        self.series.iter().find(|series| series.contestant == contestant)
    }

    /// The figures of a rung on RocksDB, or of a peer, with a binlog.
    pub fn entrant(&self, entrant: Entrant) -> Option<&Series> {
        self.of(Contestant::new(entrant))
    }

    /// The numbers of clients that were measured, ascending.
    pub fn clients(&self) -> Vec<u32> {
        let mut clients: Vec<u32> =
            self.series.iter().flat_map(|series| series.points.iter().map(|point| point.clients)).collect();
        clients.sort_unstable();
        clients.dedup();
        clients
    }

    /// The largest number of clients that was measured and is not above `wanted`.
    pub fn clients_up_to(&self, wanted: u32) -> Option<u32> {
        self.clients().into_iter().filter(|&clients| clients <= wanted).max()
    }

    /// The engines that rows were in, ours first.
    pub fn engines(&self) -> Vec<Engine> {
        let ours = [Engine::RocksDb, Engine::Redb];
        ours.into_iter().filter(|&engine| self.series.iter().any(|series| series.contestant.engine == engine)).collect()
    }
}

impl Series {
    /// The figures with so many clients.
    pub fn at(&self, clients: u32) -> Option<&Point> {
        self.points.iter().find(|point| point.clients == clients)
    }
}

impl Point {
    /// Median transactions per second.
    pub fn throughput(&self) -> f64 {
        median(self.runs.iter().map(|run| run.throughput))
    }

    /// Slowest and fastest run, transactions per second.
    pub fn spread(&self) -> (f64, f64) {
        let all = self.runs.iter().map(|run| run.throughput);
        all.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    }

    /// Median CPU time of the server for each transaction, microseconds.
    pub fn server_us(&self) -> f64 {
        median(self.runs.iter().map(|run| run.server_us))
    }

    /// Median share of the processors' time that server and clients used, 0 to 1.
    pub fn busy(&self) -> f64 {
        median(self.runs.iter().map(|run| run.busy))
    }

    /// Median of the 99th percentiles, milliseconds, where the client reports it.
    pub fn p99_ms(&self) -> Option<f64> {
        let known: Option<Vec<f64>> = self.runs.iter().map(|run| run.p99_ms).collect();
        known.map(|known| median(known.into_iter()))
    }

    /// Syncs of one kind for each commit, over all runs; `None` if a run does not report it.
    pub fn syncs_per_commit(&self, of: fn(&Syncs) -> Option<u64>) -> Option<f64> {
        let syncs: Option<u64> = self.runs.iter().map(|run| of(&run.syncs)).sum();
        let commits: u64 = self.runs.iter().map(|run| run.commits).sum();
        Some(syncs? as f64 / commits.max(1) as f64)
    }
}

impl Syncs {
    /// What happened between `before` and these.
    pub fn since(&self, before: &Syncs) -> Syncs {
        let of = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        Syncs {
            engine: of(self.engine, before.engine),
            binlog: of(self.binlog, before.binlog),
            coordinator: of(self.coordinator, before.coordinator),
            journal: of(self.journal, before.journal),
        }
    }

    /// Of all logs that make a commit durable, as far as they are known; `None` if none is.
    pub fn of_commits(&self) -> Option<u64> {
        let known = [self.engine, self.binlog, self.coordinator, self.journal];
        let counted = known.iter().any(Option::is_some);
        counted.then(|| known.iter().flatten().sum())
    }
}

impl KernelCount {
    /// `syncs` of this run for each commit.
    pub fn per_commit(&self, syncs: u64) -> f64 {
        syncs as f64 / self.commits.max(1) as f64
    }

    /// Syncs of all logs.
    pub fn logs(&self) -> u64 {
        self.engine + self.binlog + self.coordinator + self.journal
    }
}
