//! TPC-H, small: both servers give the same answers.

use std::fs;
use std::process::Command;

use cohort_bench::tpch::Report;

#[test]
fn both_servers_answer_all_queries_alike() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report");
    let run = Command::new(env!("CARGO_BIN_EXE_cohort-bench"))
        .args(["tpch", "--scale=0.01", "--rounds=1", "--aging=0", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    println!("{said}");
    let report: Report = serde_json::from_slice(&fs::read(out.join("tpch.json")).unwrap()).unwrap();
    assert_eq!(report.queries.len(), 22);
    assert!(fs::read_to_string(out.join("tpch.md")).unwrap().contains("| Q22 |"));
}
