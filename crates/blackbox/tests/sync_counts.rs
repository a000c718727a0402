//! The server's sync counters against the kernel's view of the same process.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, strace};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Journal syncs, and syncs of the journal's upkeep (new segments, checkpoints).
fn counters(conn: &mut Conn) -> Result<(u64, u64)> {
    let rows: Vec<(String, String)> = conn.query("SHOW GLOBAL STATUS LIKE 'Journal%'")?;
    let count = |name: &str| -> Result<u64> {
        let found = rows.iter().find(|(row, _)| row == name);
        Ok(found.with_context(|| format!("no {name} in {rows:?}"))?.1.parse()?)
    };
    Ok((count("Journal_syncs")?, count("Journal_upkeep_syncs")?))
}

fn now_s() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}

#[test]
fn sync_counts_equal_strace() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace");
    let server = Launch::new(folder.path().join("data")).traced(&trace).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")?;
    // What starting left to be done in the background is over when the counters stand still.
    let mut before = counters(&mut conn)?;
    loop {
        thread::sleep(Duration::from_millis(400));
        let now = counters(&mut conn)?;
        if now == before {
            break;
        }
        before = now;
    }

    let from = now_s()?;
    for (clients, commits) in [(1, 100), (6, 60)] {
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                let mut conn = server.connect()?;
                Ok(thread::spawn(move || -> mysql::Result<()> {
                    (0..commits).try_for_each(|v| conn.query_drop(format!("INSERT INTO d.t (v) VALUES ({v})")))
                }))
            })
            .collect::<Result<_>>()?;
        for thread in threads {
            thread.join().expect("a client panicked")?;
        }
    }
    thread::sleep(Duration::from_millis(400));
    let to = now_s()?;
    let after = counters(&mut conn)?;

    let (pid, journal) = (server.pid(), server.datadir().join("journal"));
    server.stop()?;
    let syncs = strace::read(&trace, pid)?;
    let window = syncs.iter().filter(|sync| sync.at >= from && sync.at <= to);
    let ours: Vec<_> = window.filter(|sync| sync.path.starts_with(&journal.display().to_string())).collect();
    let counted = (after.0 - before.0) + (after.1 - before.1);
    assert_eq!(counted, ours.len() as u64, "counters {before:?} to {after:?}");
    let inline: u64 = ours.iter().filter(|sync| sync.is_write).count() as u64;
    assert!(inline >= after.0 - before.0, "{inline} syncing writes");
    // 100 commits alone need a write each; 360 of six clients share theirs.
    let commits = 100 + 360;
    assert!((100..commits).contains(&(after.0 - before.0)), "{before:?} to {after:?}");
    Ok(())
}
