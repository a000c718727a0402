//! What the commit path's locks cost, as the server reports it.

use std::thread;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use cohort_txn::CommitProtocol;
use mysql::Row;
use mysql::prelude::Queryable;

fn load(server: &Server) -> Result<()> {
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")?;
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut conn = server.connect()?;
                    Ok((0..50).try_for_each(|v| conn.query_drop(format!("INSERT INTO d.t (v) VALUES ({v})")))?)
                })
            })
            .collect();
        clients.into_iter().try_for_each(|client| client.join().expect("a client panicked"))
    })
}

#[test]
fn under_mysql50_the_hottest_lock_is_prepare_commit_mutex() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--commit-protocol=mysql50").start()?;
    load(&server)?;
    let mut conn = server.connect()?;
    let sql = "SELECT lock_name, caller, count, waits FROM information_schema.commit_mutex \
               ORDER BY wait_sum_ns DESC LIMIT 1";
    let hottest: (String, String, u64, u64) = conn.query_first(sql)?.context("a line")?;
    assert_eq!(hottest.0, "prepare_commit_mutex");
    assert!(hottest.2 >= 400 && hottest.3 > 0 && hottest.3 <= hottest.2, "{hottest:?}");
    let shown: Row = conn.query_first("SHOW ENGINE COMMIT MUTEX")?.context("a line")?;
    assert_eq!(shown.get::<String, _>("LOCK_NAME").as_deref(), Some("prepare_commit_mutex"));
    server.stop()?;
    Ok(())
}

#[test]
fn every_protocol_reports_what_its_locks_cost() -> Result<()> {
    for protocol in CommitProtocol::ALL {
        let folder = tempfile::tempdir()?;
        let server = Launch::new(folder.path().join("data")).protocol(protocol).start()?;
        load(&server)?;
        let sql = "SELECT SUM(count), SUM(hold_sum_ns), MIN(waits <= count AND wait_mean_ns <= wait_max_ns \
                   AND hold_mean_ns <= hold_max_ns) FROM information_schema.commit_mutex";
        let cost: Option<(u64, u64, u64)> = server.connect()?.query_first(sql)?;
        let (count, held_ns, in_order) = cost.context("a line")?;
        ensure!(count >= 400 && held_ns > 0 && in_order == 1, "{protocol}: {cost:?}");
        server.stop()?;
    }
    Ok(())
}
