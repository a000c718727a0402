//! The commands of `docs/migration.md` move a database into Cohort and out of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, Server, SystemTables, tool, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};

const TABLES: [&str; 2] = ["customers", "orders"];

/// The shell commands of the part of the page below this heading, one text for each block.
fn commands(heading: &str) -> Result<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/migration.md");
    let page = std::fs::read_to_string(page)?;
    let part = page.split("\n## ").find(|part| part.starts_with(heading)).context("no such heading")?;
    let blocks = part.split("```sh\n").skip(1);
    blocks.map(|block| Ok(block.split_once("```").context("a block without an end")?.0.to_owned())).collect()
}

/// Runs commands of the page in `folder`, which knows the servers by the page's names.
fn run(folder: &Path, commands: &str, servers: &[(&str, u16)]) -> Result<()> {
    let login = |port: u16| format!("--host=127.0.0.1 --port={port} --user=root");
    let mut script = format!("cd '{}'\nexport COHORT_HOST=127.0.0.1\n", folder.display());
    for (name, port) in servers {
        script += &format!("export {name}='{}' {name}_PORT={port}\n", login(*port));
    }
    tool("sh", ["-euc", &(script + commands)])?.success().map(drop)
}

/// Fills `shop` with values of many types, and NULLs.
fn fill(conn: &mut Conn) -> Result<()> {
    conn.query_drop("CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")?;
    conn.query_drop("USE shop")?;
    conn.query_drop(
        "CREATE TABLE customers (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, \
         email VARCHAR(80) CHARACTER SET latin1, born DATE, UNIQUE KEY (email), KEY (name, born))",
    )?;
    conn.query_drop(
        "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT UNSIGNED NOT NULL, \
         total DECIMAL(12,2) NOT NULL DEFAULT 0, state ENUM('new', 'paid') NOT NULL DEFAULT 'new', flags SET('a', 'b'), \
         note TEXT, photo LONGBLOB, moment DATETIME(6), took TIME(3), y YEAR, bits BIT(9), d DOUBLE, KEY (customer))",
    )?;
    conn.query_drop(
        "INSERT INTO customers VALUES (1, 'Åsa ☃', 'åsa@example.org', '1980-02-29'), \
         (2, 'it''s', 'x\\\\y@example.org', NULL), (7, '', '', NULL)",
    )?;
    Ok(conn.query_drop(
        "INSERT INTO orders VALUES (1, 1, 12.50, 'paid', 'a,b', 'line\\nline\\0end', x'00ff41275c', \
         '2024-02-29 23:59:59.123456', '-838:59:59.000', 2024, b'101010101', 1e-300), \
         (9, 7, -0.01, 'new', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )?)
}

fn rows(conn: &mut Conn, table: &str) -> Result<Vec<Vec<Value>>> {
    let rows: Vec<Row> = conn.query(format!("SELECT * FROM shop.{table} ORDER BY id"))?;
    Ok(rows.into_iter().map(Row::unwrap).collect())
}

fn ensure_same(left: &mut Conn, right: &mut Conn) -> Result<()> {
    for table in TABLES {
        let (left, right) = (rows(left, table)?, rows(right, table)?);
        ensure!(!left.is_empty() && left == right, "{table}: {} rows and {}", left.len(), right.len());
    }
    Ok(())
}

/// Moves `shop` by the commands below a heading, and compares it with those of the page.
fn moves_in(folder: &Path, old: &MariaDb, heading: &str) -> Result<()> {
    let server = Launch::new(folder.join("cohort")).start()?;
    fill(&mut old.connect()?)?;
    let compare = commands("Into Cohort")?.pop().context("no comparison")?;
    let blocks = commands(heading)?.concat();
    ensure!(blocks.contains("read_only"), "{blocks}");
    let servers = [("OLD", old.port()), ("COHORT", server.port())];
    run(folder, &blocks, &servers)?;
    run(folder, &compare, &servers)?;
    ensure_same(&mut old.connect()?, &mut server.connect()?)?;
    // The comparison sees a row that differs.
    server.connect()?.query_drop("UPDATE shop.orders SET total = 13 WHERE id = 1")?;
    ensure!(run(folder, &compare, &servers).is_err(), "the page's comparison sees no difference");
    server.stop().map(drop)
}

#[test]
fn a_database_moves_in_from_mariadb() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("not run: mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let old = MariaDb::start(&folder.path().join("old"), SystemTables::Absent, &[], None)?;
    moves_in(folder.path(), &old, "Into Cohort")?;
    old.stop()
}

/// MySQL 5.6, if `scripts/peers.sh` has fetched it.
fn mysql() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("cohort/peers/mysql-5.6.24")).filter(|home| home.is_dir())
}

#[test]
fn a_database_moves_in_from_mysql_5_6() -> Result<()> {
    let Some(home) = mysql() else {
        println!("NOT RUN: MySQL 5.6 is not there; scripts/peers.sh fetches it");
        return Ok(());
    };
    if Command::new("mydumper").arg("--version").output().is_err() {
        println!("NOT RUN: mydumper is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let old = MariaDb::start_unpacked(&home, &folder.path().join("old"), &[], None)?;
    moves_in(folder.path(), &old, "From MySQL 5.6")?;
    old.stop()
}

/// Writes orders until the server takes none any more.
fn write(server: &Server, done: &AtomicU64) -> Result<()> {
    let mut conn = server.connect_to("shop")?;
    let mut order = || {
        conn.query_drop("BEGIN; INSERT INTO orders (customer, total) VALUES (2, 5); SAVEPOINT s")?;
        conn.query_drop(
            "DELETE FROM customers; ROLLBACK TO s; UPDATE orders SET total = total + 1 WHERE id = 1; COMMIT",
        )
    };
    loop {
        match order() {
            Ok(()) => done.fetch_add(1, Ordering::Relaxed),
            Err(mysql::Error::MySqlError(error)) if error.code == 1290 => return Ok(()),
            Err(error) => return Err(error.into()),
        };
    }
}

#[test]
fn a_database_moves_out_to_mariadb_while_it_is_written() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("not run: mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("cohort")).start()?;
    let new = MariaDb::start_replica(&folder.path().join("new"), &["--server-id=77", "--relay-log=relay"])?;
    fill(&mut server.connect()?)?;
    let blocks = commands("Out of Cohort")?;
    ensure!(blocks.len() == 5, "{blocks:?}");
    let servers = [("COHORT", server.port()), ("NEW", new.port())];
    let done = AtomicU64::new(0);
    let more = |count: u64| {
        let goal = done.load(Ordering::Relaxed) + count;
        wait_until("the load goes on", || Ok(done.load(Ordering::Relaxed) >= goal))
    };
    thread::scope(|scope| -> Result<()> {
        let writer = scope.spawn(|| write(&server, &done));
        let followed =
            more(5).and_then(|()| run(folder.path(), &blocks[..3].concat(), &servers)).and_then(|()| more(5));
        if followed.is_err() {
            server.connect()?.query_drop("SET GLOBAL super_read_only = ON")?;
        }
        followed?;
        // The page stops the writers.
        run(folder.path(), &blocks[3..].concat(), &servers)?;
        writer.join().expect("no panic")
    })?;
    ensure_same(&mut server.connect()?, &mut new.connect()?)?;
    // The page's question about collations sees one that MariaDB does not know.
    server
        .connect()?
        .query_drop("SET GLOBAL read_only = OFF; CREATE TABLE shop.other (v VARCHAR(9) COLLATE utf8mb4_0900_ai_ci)")?;
    ensure!(run(folder.path(), &blocks[0], &servers).is_err(), "the page overlooks a collation");
    new.stop()?;
    server.stop().map(drop)
}
