//! Commits that wait until a replica has them: our server and MariaDB, each with a real MariaDB as its replica.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{MariaDb, SystemTables};
use mysql::prelude::Queryable;

use super::{Goal, Plan, Wanted};
use crate::contender::{Contender, Name, Start};
use crate::medians::median;
use crate::plan::{WORKLOADS, Workload};
use crate::sysbench::Figures;

/// Name, workload, clients, least ratio to MariaDB.
const CASES: [(&str, &str, u32, f64); 3] = [
    ("1 client", "update_non_index", 1, 1.5),
    ("32 clients", "update_non_index", 32, 3.0),
    ("32 clients, one row", "one_row", 32, 5.0),
];
/// Most acknowledgements of a commit with 32 clients.
const ACKS: f64 = 0.1;

/// A source and the replica that acknowledges its commits.
struct Pair {
    source: Contender,
    replica: MariaDb,
}

/// What one run found.
struct Run {
    figures: Figures,
    acks_per_commit: f64,
}

/// Throughput beside MariaDB's with AFTER_SYNC, and acknowledgements of a commit.
pub fn measure(plan: &Plan<'_>) -> Result<Vec<Goal>> {
    let folder = tempfile::tempdir()?;
    let ours = Pair::start(Name::Cohort, folder.path(), plan)?;
    let theirs = Pair::start(Name::MariaDb, folder.path(), plan)?;
    let mut goals = Vec::new();
    for (title, name, clients, least) in CASES {
        let workload = WORKLOADS.iter().find(|workload| workload.name == name).context("a workload")?;
        let run = |pair: &Pair| pair.run(workload, clients, plan);
        let rounds = (0..plan.effort.rounds).map(|round| {
            Ok(if round % 2 == 0 {
                let first = run(&ours)?;
                (first, run(&theirs)?)
            } else {
                let first = run(&theirs)?;
                (run(&ours)?, first)
            })
        });
        let rounds: Vec<(Run, Run)> = rounds.collect::<Result<_>>()?;
        let shown: Vec<String> = rounds
            .iter()
            .map(|(ours, theirs)| format!("{:.0} : {:.0}/s", ours.figures.throughput, theirs.figures.throughput))
            .collect();
        let ratios: Vec<f64> =
            rounds.iter().map(|(ours, theirs)| ours.figures.throughput / theirs.figures.throughput).collect();
        let title = format!("semi-sync, {title}, to MariaDB");
        goals.push(Goal::median(title, &ratios, "x", Wanted::AtLeast(least), &shown.join("; ")));
        if clients == 32 && name == "update_non_index" {
            let acks: Vec<f64> = rounds.iter().map(|(ours, _)| ours.acks_per_commit).collect();
            let detail = format!("MariaDB {:.2}", median(rounds.iter().map(|(_, theirs)| theirs.acks_per_commit)));
            goals.push(Goal::median(
                "acknowledgements of a commit, 32 clients",
                &acks,
                "",
                Wanted::AtMost(ACKS),
                &detail,
            ));
        }
    }
    ours.stop()?;
    theirs.stop()?;
    Ok(goals)
}

impl Pair {
    fn start(name: Name, folder: &Path, plan: &Plan<'_>) -> Result<Pair> {
        let start = Start { cohort_options: plan.options, trace: None, system_tables: SystemTables::Absent };
        let source = Contender::start(name, folder, &start)?;
        let options = ["--server-id=77", "--rpl-semi-sync-slave-enabled=ON", "--relay-log=relay", "--skip-slave-start"];
        let replica = MariaDb::start_replica(&folder.join(format!("replica of {}", name.title())), &options)?;
        let mut conn = source.connect()?;
        conn.query_drop("SET GLOBAL rpl_semi_sync_master_timeout = 60000")?;
        let row: mysql::Row = conn.query_first("SHOW MASTER STATUS")?.context("no binlog")?;
        let (file, position): (String, u64) = (row.get(0).context("a file")?, row.get(1).context("a position")?);
        let place = format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no");
        replica.follow(source.port(), &place)?;
        for workload in ["update_non_index", "one_row"] {
            let workload = WORKLOADS.iter().find(|one| one.name == workload).context("a workload")?;
            source.new_database(workload.database)?;
            let rows = workload.rows.unwrap_or(plan.effort.rows);
            workload.on(&source.socket(), rows).prepare()?;
        }
        let pair = Pair { source, replica };
        cohort_blackbox::wait_until("the replica acknowledges", || Ok(pair.status("clients")? == 1))?;
        // What it executes would take the processors that are measured.
        pair.replica.connect()?.query_drop("STOP SLAVE SQL_THREAD")?;
        conn.query_drop("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC")?;
        conn.query_drop("SET GLOBAL rpl_semi_sync_master_enabled = ON")?;
        Ok(pair)
    }

    fn status(&self, name: &str) -> Result<u64> {
        let sql = format!("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_{name}'");
        let (_, value): (String, u64) = self.source.connect()?.query_first(sql)?.context("a status variable")?;
        Ok(value)
    }

    fn run(&self, workload: &Workload, clients: u32, plan: &Plan<'_>) -> Result<Run> {
        let socket = self.source.socket();
        let bench = workload.on(&socket, workload.rows.unwrap_or(plan.effort.rows));
        bench.run(clients, 1)?;
        let before = (self.status("get_ack")?, self.status("no_tx")?, self.status("yes_tx")?);
        let figures = bench.run(clients, plan.effort.seconds)?;
        let acks = self.status("get_ack")? - before.0;
        ensure!(self.status("no_tx")? == before.1, "commits of {} did not wait", self.source.name().title());
        ensure!(self.status("yes_tx")? > before.2, "no commit of {} waited", self.source.name().title());
        Ok(Run { figures, acks_per_commit: acks as f64 / figures.transactions.max(1) as f64 })
    }

    fn stop(self) -> Result<()> {
        self.source.connect()?.query_drop("SET GLOBAL rpl_semi_sync_master_enabled = OFF")?;
        self.source.stop()?;
        self.replica.stop()
    }
}
