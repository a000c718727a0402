//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, MariaDb, SystemTables};
use mysql::Conn;
use mysql::prelude::Queryable;

type Answer = Vec<(String, String, String, String)>;

fn answer(conn: &mut Conn, sql: &str) -> Result<Answer> {
    Ok(conn.query(sql)?)
}

fn row(table: &str, operation: &str, kind: &str, text: &str) -> (String, String, String, String) {
    (table.to_owned(), operation.to_owned(), kind.to_owned(), text.to_owned())
}

/// Tables with columns whose rows stand in memory as differently as may be.
const TABLES: &[&str] = &[
    "CREATE TABLE a (id INT PRIMARY KEY, v BIGINT UNSIGNED NOT NULL, d DECIMAL(20,6) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE b (id INT PRIMARY KEY, a TINYINT, b SMALLINT, c MEDIUMINT, d INT, e BIGINT, f FLOAT, g DOUBLE) ENGINE=InnoDB",
    "CREATE TABLE c (id INT PRIMARY KEY, s VARCHAR(10), l VARCHAR(300) NOT NULL, c CHAR(5), n CHAR(80) CHARACTER SET latin1, \
     t TEXT, b BLOB, x VARBINARY(9), y BINARY(4)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    "CREATE TABLE d (id INT PRIMARY KEY, a DATE, b DATETIME, c DATETIME(3), d TIMESTAMP NULL, e TIMESTAMP(6) NULL, f TIME, \
     g TIME(2), h YEAR) ENGINE=InnoDB",
    "CREATE TABLE e (id INT PRIMARY KEY, a BIT(1), b BIT(13), c ENUM('x', 'y'), d SET('p', 'q', 'r')) ENGINE=InnoDB",
    "CREATE TABLE f (id INT NOT NULL, c CHAR(3)) ENGINE=InnoDB DEFAULT CHARSET=latin1",
    "CREATE TABLE g (id INT NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE h (id INT NOT NULL, c1 INT, c2 INT, c3 INT, c4 INT, c5 INT, c6 INT, c7 INT) ENGINE=InnoDB",
    "CREATE TABLE i (id INT NOT NULL, c1 INT, c2 INT, c3 INT, c4 INT, c5 INT, c6 INT, c7 INT, v VARCHAR(3)) ENGINE=InnoDB",
    "CREATE TABLE empty (id INT PRIMARY KEY) ENGINE=InnoDB",
];

const ROWS: &[&str] = &[
    "INSERT INTO a VALUES (1, 18446744073709551615, -1.5), (2, 0, 12345678901234.567891)",
    "INSERT INTO b VALUES (1, -1, -2, -3, -4, -5, 1.5, -2.5e100), (2, NULL, NULL, 7, NULL, NULL, NULL, 0)",
    "INSERT INTO c VALUES (1, 'é', 'long', 'ab', 'ü', 'a text', 'blob', 'vb', 'b'), (2, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO d VALUES (1, '2024-02-29', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56', \
     '2024-02-29 12:34:56.123456', '-12:30:00', '12:30:00.25', 2024), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO e VALUES (1, b'1', 4097, 'y', 'p,r'), (2, NULL, 1, NULL, '')",
    "INSERT INTO f VALUES (1, 'é'), (2, NULL)",
    "INSERT INTO g VALUES (1), (2), (2)",
    "INSERT INTO h VALUES (1, 1, NULL, 3, 4, 5, 6, NULL), (2, 1, 2, 3, 4, 5, 6, 7)",
    "INSERT INTO i VALUES (1, 1, NULL, 3, 4, 5, 6, NULL, 'x'), (2, 1, 2, 3, 4, 5, 6, 7, NULL)",
];

fn checksums(conn: &mut Conn) -> Result<Vec<(String, Option<i64>)>> {
    Ok(conn.query("CHECKSUM TABLE a, b, c, d, e, f, g, h, i, empty")?)
}

fn fill(conn: &mut Conn) -> Result<()> {
    conn.query_drop("CREATE DATABASE d; USE d; SET time_zone = '+00:00', NAMES utf8mb4")?;
    TABLES.iter().chain(ROWS).try_for_each(|sql| conn.query_drop(sql).context(*sql))
}

#[test]
fn checksums_are_those_of_innodb() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("NOT RUN: mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &[], None)?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let (mut here, mut there) = (server.connect()?, peer.connect()?);
    fill(&mut here)?;
    fill(&mut there)?;
    let found = checksums(&mut here)?;
    assert_eq!(found, checksums(&mut there)?);
    // A session sees its own changes, and one row more makes another sum.
    here.query_drop("BEGIN; INSERT INTO g VALUES (3)")?;
    assert_ne!(checksums(&mut here)?, found);
    here.query_drop("ROLLBACK")?;
    assert_eq!(checksums(&mut here)?, found);
    let quick: Vec<(String, Option<i64>)> = here.query("CHECKSUM TABLE g QUICK")?;
    assert_eq!(quick, [("d.g".to_owned(), None)]);
    let missing: Vec<(String, Option<i64>)> = here.query("CHECKSUM TABLE nothing, g EXTENDED")?;
    assert_eq!((missing[0].clone(), missing.len()), (("d.nothing".to_owned(), None), 2));
    let warnings: Vec<(String, u16, String)> = here.query("SHOW WARNINGS")?;
    assert_eq!(warnings, [("Error".to_owned(), 1146, "Table 'd.nothing' doesn't exist".to_owned())]);
    peer.stop()?;
    server.stop().map(drop)
}

#[test]
fn tables_are_checked_while_others_write() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))")?;
    conn.query_drop("CREATE TABLE u (id INT, UNIQUE KEY (id)) ENGINE=redb; INSERT INTO u VALUES (1), (NULL), (NULL)")?;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let writes = |conn: &mut Conn| -> Result<()> {
        for id in 0.. {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
            conn.query_drop(format!("INSERT INTO t VALUES ({id}, {id}); UPDATE t SET v = v + 1 WHERE id > {id} - 5"))?;
        }
        Ok(())
    };
    let mut writer = server.connect_to("d")?;
    std::thread::scope(|scope| -> Result<()> {
        let writing = scope.spawn(|| writes(&mut writer));
        let expected = [row("d.t", "check", "status", "OK"), row("d.u", "check", "status", "OK")];
        for options in ["", "QUICK FAST", "EXTENDED", "FOR UPGRADE"].repeat(5) {
            assert_eq!(answer(&mut conn, &format!("CHECK TABLE t, d.u {options}"))?, expected);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writing.join().expect("no panic")
    })?;
    assert_eq!(answer(&mut conn, "ANALYZE LOCAL TABLE t")?, [row("d.t", "analyze", "status", "OK")]);
    let note = "The storage engine for the table doesn't support";
    assert_eq!(answer(&mut conn, "OPTIMIZE TABLES t")?, [row("d.t", "optimize", "note", &format!("{note} optimize"))]);
    assert_eq!(answer(&mut conn, "REPAIR TABLE t QUICK")?, [row("d.t", "repair", "note", &format!("{note} repair"))]);
    let missing = [
        row("d.nothing", "check", "Error", "Table 'd.nothing' doesn't exist"),
        row("d.nothing", "check", "status", "Operation failed"),
    ];
    assert_eq!(answer(&mut conn, "CHECK TABLE nothing")?, missing);
    // The statement commits what is open; a checksum does not.
    conn.query_drop("BEGIN; DELETE FROM u WHERE id = 1; CHECKSUM TABLE u")?;
    conn.query_drop("ROLLBACK; BEGIN; DELETE FROM u WHERE id IS NULL")?;
    drop(answer(&mut conn, "CHECK TABLE u")?);
    conn.query_drop("ROLLBACK")?;
    assert_eq!(conn.query::<Option<i32>, _>("SELECT id FROM u")?, [Some(1)]);
    let prepared = conn.prep("ANALYZE TABLE u")?;
    assert_eq!(prepared.num_columns(), 4);
    assert_eq!(
        conn.exec_first::<(String, String, String, String), _, _>(prepared, ())?,
        Some(row("d.u", "analyze", "status", "OK"))
    );
    server.stop().map(drop)
}

/// A range of an index that turns out to lead to many of the rows gives way to a scan, and an index that gives their order
/// to sorting them, but for FORCE INDEX. Rows come in the order in which they are read.
#[test]
fn a_forced_index_is_used_however_many_rows_it_finds() -> Result<()> {
    const ROWS: i32 = 80_000;
    let folder = tempfile::tempdir()?;
    // How much of an index a range is shows in files only.
    let server = Launch::new(folder.path().join("data")).option("--write-buffer-size=1M").start()?;
    let mut conn = server.connect()?;
    conn.query_drop(format!("CREATE DATABASE d; USE d; SET cte_max_recursion_depth = {ROWS}"))?;
    conn.query_drop(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, m INT NOT NULL, s CHAR(10) NOT NULL DEFAULT '', \
         filler CHAR(40) NOT NULL, KEY n (n, filler), KEY m (m, n, filler))",
    )?;
    conn.query_drop(format!(
        "INSERT INTO t (id, n, m, filler) \
         WITH RECURSIVE ids AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM ids WHERE id < {ROWS}) \
         SELECT id, {ROWS} - id, id DIV 10000, MD5(id) FROM ids"
    ))?;
    conn.query_drop("ANALYZE TABLE t")?;
    let mut first = |query: &str| -> Result<Option<(i32, String)>> {
        Ok(conn.query_first(format!("SELECT id, s FROM t {query}"))?)
    };
    let row = |id| Some((id, String::new()));
    assert_eq!(first(&format!("WHERE n < {ROWS} / 2"))?, row(ROWS / 2 + 1));
    assert_eq!(first(&format!("FORCE INDEX (n) WHERE n < {ROWS} / 2"))?, row(ROWS));
    // Of rows that are alike the index has the last first.
    assert_eq!(first("ORDER BY m LIMIT 20")?, row(9_999));
    assert_eq!(first("ORDER BY m LIMIT 70000")?, row(1));
    assert_eq!(first("FORCE INDEX (m) ORDER BY m LIMIT 70000")?, row(9_999));
    assert_eq!(first("WHERE m > 2 ORDER BY m LIMIT 70000")?, row(30_000));
    assert_eq!(first("WHERE m > 6 ORDER BY m LIMIT 70000")?, row(79_999));
    // What is skipped is not looked up, unless it is judged.
    assert_eq!(first("ORDER BY m LIMIT 70000, 10")?, row(79_998));
    assert_eq!(first("WHERE s = '' ORDER BY m LIMIT 70000, 10")?, row(70_001));
    server.stop()?;
    Ok(())
}
