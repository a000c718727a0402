//! What is measured: workloads, numbers of clients, and the ratios to reach.

use std::path::Path;

use crate::sysbench::{Bench, Way};

/// A sysbench script on tables of its own database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// Name in the report and for `--workload`.
    pub name: &'static str,
    /// Script that ships with sysbench.
    pub script: &'static str,
    /// Database that holds its table; workloads that only read or update rows share one.
    pub database: &'static str,
    /// Rows of its table before the run; `None` takes the number given on the command line.
    pub rows: Option<u64>,
    /// Numbers of clients, each with the least ratio of throughput to MariaDB's that is asked for.
    pub targets: &'static [(u32, f64)],
}

impl Workload {
    /// This workload on a server, its table in the engine that servers take if none is named.
    pub fn on<'a>(&self, socket: &'a Path, rows: u64) -> Bench<'a> {
        Bench { way: Way::Socket(socket), script: self.script, database: self.database, engine: "innodb", rows }
    }
}

/// Every workload, in the order it runs. The one that makes its table grow comes last.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "update_non_index",
        script: "oltp_update_non_index",
        database: "sbtest",
        rows: None,
        targets: &[(1, 2.3), (8, 3.0), (32, 2.5), (128, 2.0)],
    },
    Workload {
        name: "point_select",
        script: "oltp_point_select",
        database: "sbtest",
        rows: None,
        targets: &[(8, 1.0), (32, 1.0)],
    },
    Workload {
        name: "read_only",
        script: "oltp_read_only",
        database: "sbtest",
        rows: None,
        targets: &[(8, 1.2), (32, 1.2)],
    },
    Workload {
        name: "random_ranges",
        script: "select_random_ranges",
        database: "sbtest",
        rows: None,
        targets: &[(8, 1.2), (32, 1.2)],
    },
    Workload {
        name: "read_write",
        script: "oltp_read_write",
        database: "sbtest",
        rows: None,
        targets: &[(8, 1.5), (32, 1.5)],
    },
    Workload {
        name: "one_row",
        script: "oltp_update_non_index",
        database: "one_row",
        rows: Some(1),
        targets: &[(32, 4.0)],
    },
    Workload {
        name: "insert",
        script: "oltp_insert",
        database: "inserts",
        rows: Some(1),
        targets: &[(8, 1.0), (32, 1.0)],
    },
];

/// Numbers of clients at which syncs are counted, each with the most syncs of a commit allowed.
pub const SYNC_TARGETS: &[(u32, f64)] = &[(1, 1.05), (64, 0.1)];

/// Most memory an idle server may hold, bytes.
pub const IDLE_TARGET_BYTES: u64 = 100 << 20;

/// A workload with one number of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// What runs.
    pub workload: &'static Workload,
    /// By how many connections at once.
    pub clients: u32,
    /// Least ratio to MariaDB that is asked for.
    pub target: f64,
}

/// The cases of the workloads whose name contains `filter`, with at most `most_clients`.
pub fn cases(filter: Option<&str>, most_clients: u32) -> Vec<Case> {
    let chosen = WORKLOADS.iter().filter(|workload| filter.is_none_or(|part| workload.name.contains(part)));
    let cases = chosen.flat_map(|workload| {
        let targets = workload.targets.iter();
        targets.map(move |&(clients, target)| Case { workload, clients, target })
    });
    cases.filter(|case| case.clients <= most_clients).collect()
}
