//! The history, small: it must not be found broken on the day it is needed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use cohort_bench::history::History;
use cohort_bench::history::plan::{Contestant, Experiment, entrant};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn a_quick_history_runs_its_loads_and_writes_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report");
    let run = Command::new(env!("CARGO_BIN_EXE_cohort-bench"))
        .args(["history", "--quick", "--experiment=write-load", "--experiment=hand-off"])
        // Nobody has fetched the old servers here: one is looked for in vain.
        .args(["--only=journal", "--only=MySQL 5.5.9", "--peers=/nonexistent", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");

    let history: History = serde_json::from_slice(&fs::read(out.join("history.json")).unwrap()).unwrap();
    let journal = Contestant::new(entrant::JOURNAL);
    // A machine may have no RAM disk that is large enough; then the page says so.
    let everybody = history.absent.iter().filter(|absent| absent.contestant.is_none());
    let left_out: Vec<Option<Experiment>> = everybody.map(|absent| absent.experiment).collect();
    for experiment in [Experiment::WriteLoad, Experiment::HandOff] {
        if left_out.contains(&Some(experiment)) {
            assert_eq!(experiment, Experiment::HandOff, "{said}");
            continue;
        }
        let points = &history.outcome(experiment).unwrap().of(journal).unwrap().points;
        assert_eq!(points.iter().map(|point| point.clients).collect::<Vec<_>>(), [1, 8]);
        for point in points {
            assert!(point.throughput() > 0.0 && point.busy() > 0.0, "{point:?}");
            let syncs = point.syncs_per_commit(|syncs| syncs.journal).unwrap();
            assert!(syncs > 0.0 && syncs < 1.5, "{syncs} at {}", point.clients);
        }
    }
    let counted = history.kernel(journal, 1).unwrap();
    assert!((0.95..1.2).contains(&counted.per_commit(counted.logs())), "{counted:?}");
    assert!(
        history.absent.iter().any(|absent| absent.contestant == Some(Contestant::new(entrant::REAL_MYSQL55))),
        "{said}"
    );
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("How group commit was broken") && page.contains("MySQL 5.5.9 (mysqlslap writes)"));
}

#[test]
fn an_interrupted_history_leaves_no_server_and_no_data() {
    // Not where temporary files are: that may be in memory.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_cohort-bench"))
        .args(["history", "--quick", "--experiment=write-load", "--only=journal", "--out=/nonexistent", "--disk"])
        .arg(disk.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap().starts_with("[1/")), "it never began");
    assert_eq!(processes_in(disk.path()), 1, "the server, which is to end");

    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert!(!run.wait().unwrap().success());
    assert!(lines.any(|line| line.unwrap().contains("interrupted")));
    assert_eq!(processes_in(disk.path()), 0);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
}

/// Servers with their data somewhere in this folder.
fn processes_in(folder: &Path) -> usize {
    let datadir = format!("--datadir={}", folder.display());
    let names = |entry: &fs::DirEntry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&datadir)
    };
    fs::read_dir("/proc").unwrap().filter(|entry| names(entry.as_ref().unwrap())).count()
}
