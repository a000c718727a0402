//! Counts the syncs of each log at the system call, for every protocol.
//!
//! Tracing slows a server down: these runs give counts and no speed.

use std::path::Path;

use anyhow::Result;
use cohort_blackbox::strace::Sync;

use crate::history::plan::{Contestant, Engine, Experiment, Scale};
use crate::history::result::{Absent, KernelCount};
use crate::history::run::{Field, one_line};
use crate::progress::Progress;
use crate::syncs::trace_runs;
use crate::sysbench::{Bench, Way};

const MOST_ROWS: u64 = 10_000;

/// Number of steps that [`count`] reports to a [`Progress`].
pub fn steps(contestants: &[Contestant]) -> u64 {
    contestants.len() as u64
}

/// Counts for each contestant, one after the other; adds those who could not run to `absent`.
pub fn count(
    field: &Field,
    contestants: &[Contestant],
    progress: &mut Progress,
    absent: &mut Vec<Absent>,
) -> Result<Vec<KernelCount>> {
    let mut counts = Vec::new();
    for &contestant in contestants {
        progress.now(&format!("counting syncs of {contestant}"));
        let counted = count_one(field, contestant);
        field.go_on()?;
        match counted {
            Ok(counted) => {
                progress.step(&format!("syncs of {contestant} counted"));
                counts.extend(counted);
            }
            Err(error) => {
                progress.step(&format!("syncs of {contestant}: {}", one_line(&error)));
                absent.push(Absent { contestant: Some(contestant), experiment: None, reason: one_line(&error) });
            }
        }
    }
    Ok(counts)
}

fn count_one(field: &Field, contestant: Contestant) -> Result<Vec<KernelCount>> {
    let folder = tempfile::tempdir_in(&field.disk)?;
    let trace = folder.path().join("trace");
    let sync_binlog = Experiment::GroupCommit.sync_binlog();
    let server = field.start(contestant, sync_binlog, &folder.path().join("server"), Some(&trace))?;
    server.new_database("sbtest")?;
    let socket = server.socket();
    let bench = Bench {
        way: Way::Socket(&socket),
        script: "oltp_update_non_index",
        database: "sbtest",
        engine: if contestant.engine == Engine::Redb { "redb" } else { "innodb" },
        rows: field.scale.rows().min(MOST_ROWS),
    };
    let seconds = if field.scale == Scale::Quick { 1 } else { 2 };
    let runs = trace_runs(server, &trace, &bench, field.scale.counted_clients(), seconds)?;
    Ok(runs.iter().map(|run| by_log(contestant, run.clients, run.commits, &run.syncs)).collect())
}

/// Distinguishes the logs by the names of their files.
fn by_log(contestant: Contestant, clients: u32, commits: u64, syncs: &[Sync]) -> KernelCount {
    let mut count =
        KernelCount { contestant, clients, commits, engine: 0, binlog: 0, coordinator: 0, journal: 0, other: 0 };
    for sync in syncs {
        let path = Path::new(&sync.path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let log = match (&*folder, &*name) {
            ("journal", _) => &mut count.journal,
            (_, "tc.log") => &mut count.coordinator,
            (_, name) if name.starts_with("ib_logfile") => &mut count.engine,
            ("rocksdb", name) if name.ends_with(".log") => &mut count.engine,
            ("redb", _) => &mut count.engine,
            (_, name) if name.starts_with("binlog.0") => &mut count.binlog,
            _ => &mut count.other,
        };
        *log += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::plan::entrant;

    #[test]
    fn logs_are_distinguished_by_their_files() {
        let files = [
            "/d/data/journal/000001.journal",
            "/d/data/rocksdb/000012.log",
            "/d/data/rocksdb/MANIFEST-000005",
            "/d/data/redb/rows.redb",
            "/d/data/binlog.000001",
            "/d/data/binlog.index",
            "/d/data/ib_logfile0",
            "/d/data/ibdata1",
            "/d/data/tc.log",
        ];
        let syncs = files.map(|path| Sync { begun: 0.0, ended: 0.0, path: path.to_owned(), is_write: false });
        let count = by_log(Contestant::new(entrant::MYSQL50), 4, 2, &syncs);
        assert_eq!((count.journal, count.engine, count.binlog), (1, 3, 1));
        assert_eq!((count.coordinator, count.other), (1, 3));
        assert_eq!(count.per_commit(count.logs()), 3.0);
    }
}
