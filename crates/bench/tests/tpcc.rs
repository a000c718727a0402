//! TPC-C, small, on a server that is killed under it: what it acknowledged is there, and its conditions hold.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use cohort_bench::tpcc::data::{DISTRICTS, Size};
use cohort_bench::tpcc::terminal::{Kind, Totals};
use cohort_bench::tpcc::{DATABASE, consistency, data, run};
use cohort_blackbox::load::rounds;
use cohort_blackbox::rng::{Rng, seed};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use mysql::{Opts, OptsBuilder};

const SIZE: Size = Size { warehouses: 2, items: 200, customers: 30 };
const CLIENTS: u32 = 6;

#[test]
fn tpcc_on_rocksdb_survives_kill_9() -> Result<()> {
    kill_again_and_again(|_| "InnoDB")
}

#[test]
fn tpcc_on_redb_survives_kill_9() -> Result<()> {
    kill_again_and_again(|_| "redb")
}

#[test]
fn tpcc_on_both_engines_at_once_survives_kill_9() -> Result<()> {
    kill_again_and_again(|table| if table % 2 == 0 { "InnoDB" } else { "redb" })
}

fn kill_again_and_again(engine: fn(usize) -> &'static str) -> Result<()> {
    let seed = seed();
    let mut rng = Rng::new(seed);
    let folder = tempfile::tempdir()?;
    // Small files, so that kills hit what moves them on as well.
    let launch = Launch::new(folder.path().join("data")).option("--write-buffer-size=1048576");
    let mut server = launch.option("--redb-layer-size=131072").start()?;
    server.connect()?.query_drop(format!("CREATE DATABASE {DATABASE}"))?;
    data::load(&options(&server), SIZE, engine, seed)?;
    consistency::check(&mut server.connect_to(DATABASE)?)?;

    let mut totals = Totals::default();
    for round in 0..rounds(2) {
        let (opts, milliseconds) = (options(&server), 100 + rng.below(700));
        let killed = run(&opts, SIZE, CLIENTS, seed + round, || {
            thread::sleep(Duration::from_millis(milliseconds));
            server.signal_kill()?;
            server.wait_until_dead()
        })?;
        totals.add(killed);
        server = server.launch().start()?;
        let mut conn = server.connect_to(DATABASE)?;
        consistency::check(&mut conn)?;
        let initial = u64::from(SIZE.warehouses * DISTRICTS * SIZE.customers);
        for (kind, table) in [(Kind::NewOrder, "orders"), (Kind::Payment, "history")] {
            let found: Option<u64> = conn.query_first(format!("SELECT COUNT(*) FROM {table}"))?;
            let found = found.unwrap_or(0) - initial;
            let (least, doubtful) = (totals.committed[kind as usize], totals.in_doubt[kind as usize]);
            let holds = (least..=least + doubtful).contains(&found);
            ensure!(holds, "{kind:?}: {least} acknowledged and {doubtful} in doubt, but there are {found}");
        }
    }
    println!("{:?} acknowledged, {:?} in doubt", totals.committed, totals.in_doubt);
    ensure!(totals.committed[Kind::NewOrder as usize] > 0, "no order was acknowledged");
    server.stop()?;
    Ok(())
}

fn options(server: &Server) -> Opts {
    OptsBuilder::from_opts(server.options()).db_name(Some(DATABASE)).into()
}
