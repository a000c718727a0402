//! The whole benchmark, small: it must not be found broken on the day it is needed.

use std::fs;
use std::process::Command;

use cohort_bench::contender::Name;
use cohort_bench::plan::WORKLOADS;
use cohort_bench::report::Report;

#[test]
fn a_quick_run_measures_both_servers_and_writes_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report");
    let run = Command::new(env!("CARGO_BIN_EXE_cohort-bench"))
        .args(["run", "--quick", "--workload=update_non_index", "--most-clients=8", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    assert!(said.contains("[4/4]"), "plain progress lines in a log:\n{said}");

    let report: Report = serde_json::from_slice(&fs::read(out.join("bench.json")).unwrap()).unwrap();
    assert_eq!(report.cases.len(), 2);
    for case in &report.cases {
        assert!(case.cohort.throughput > 0.0 && case.mariadb.throughput > 0.0, "{case:?}");
        assert!(case.cohort.server_us > 0.0 && case.ratio > 0.0, "{case:?}");
    }
    let alone = |server| report.syncs.iter().find(move |count| count.server == server && count.clients == 1);
    let mariadb = alone(Name::MariaDb).unwrap().per_commit();
    assert!((1.9..2.3).contains(&mariadb), "MariaDB syncs two logs for a commit, not {mariadb}");
    let cohort = alone(Name::Cohort).unwrap().per_commit();
    assert!((0.99..1.2).contains(&cohort), "one write makes a commit durable, not {cohort}");
    let [encryption] = &report.encryption[..] else { panic!("{:?}", report.encryption) };
    assert!(encryption.plain.throughput > 0.0 && encryption.tls.throughput > 0.0, "{encryption:?}");
    let recovery = report.recovery.unwrap();
    assert!(recovery.journal_bytes >= 8 << 20 && recovery.recovery_s > 0.0, "{recovery:?}");
    let reapplied = recovery.report["engines"][0]["transactions_reapplied"].as_u64().unwrap();
    assert!(reapplied > 100, "{recovery:?}");
    assert!(fs::read_to_string(out.join("bench.txt")).unwrap().contains(&recovery.line));
    for drawing in ["throughput.svg", "ratios.svg"] {
        let svg = fs::read_to_string(out.join(drawing)).unwrap();
        assert!(svg.contains("update_non_index") && svg.trim_end().ends_with("</svg>"), "{drawing}");
    }
}

#[test]
fn training_runs_every_load() {
    let run = Command::new(env!("CARGO_BIN_EXE_cohort-bench")).args(["train", "--seconds", "1"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    for load in WORKLOADS.iter().map(|workload| workload.name).chain(["TPC-C", "TPC-H"]) {
        assert!(said.contains(&format!("{load}: ")), "{load}:\n{said}");
    }
}
