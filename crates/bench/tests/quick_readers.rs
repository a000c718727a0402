//! What readers of the binlog get and cost, small: it must not be found broken on the day it is needed.

use std::fs;
use std::process::Command;

use cohort_bench::readers::Report;

#[test]
fn a_quick_run_measures_every_part_and_writes_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report");
    let run = Command::new(env!("CARGO_BIN_EXE_cohort-bench"))
        .args(["readers", "--quick", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report: Report = serde_json::from_slice(&fs::read(out.join("readers.json")).unwrap()).unwrap();
    let names: Vec<&str> = report.goals.iter().map(|goal| goal.name.as_str()).collect();
    for part in
        ["commits with 4 readers", "p99 from a commit's OK", "semi-sync, 32 clients, one row", "dump of old files"]
    {
        assert_eq!(names.iter().filter(|name| name.starts_with(part)).count(), 1, "{part} of {names:?}");
    }
    for goal in &report.goals {
        let may_be_nothing = goal.name.starts_with("memory") || goal.name.starts_with("p99 from");
        assert!(goal.found > 0.0 || may_be_nothing, "{goal:?}");
    }
    let text = fs::read_to_string(out.join("readers.txt")).unwrap();
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}
