//! What mariadb-dump writes of a database, restored, is that database again.

use anyhow::{Context, Result, ensure};
use cohort_blackbox::tool::tool_with_input;
use cohort_blackbox::{Launch, tool};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

const TABLES: [&str; 3] = ["kinds", "rows", "empty"];

fn fill(conn: &mut Conn) -> Result<()> {
    conn.query_drop("CREATE DATABASE source")?;
    conn.query_drop("USE source")?;
    conn.query_drop(
        "CREATE TABLE kinds (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, b BIGINT, d DECIMAL(20,6), f DOUBLE, \
         s VARCHAR(40) COLLATE utf8mb4_bin NOT NULL DEFAULT 'it''s', t TEXT, bin VARBINARY(20), blb BLOB, day DATE, \
         moment DATETIME(6), stamp TIMESTAMP NULL, span TIME(3), y YEAR, UNIQUE KEY s (s), KEY (b, d)) COMMENT='all kinds'",
    )?;
    conn.query_drop(
        "INSERT INTO kinds VALUES \
         (1, -9223372036854775808, -1.5, 1e-300, 'a\\'b\\\"c\\\\d', 'line\\nline\\0end', x'00ff41275c', x'', '2024-02-29', \
          '2024-02-29 23:59:59.123456', '2024-02-29 12:00:00', '-838:59:59.000', 2024), \
         (2, NULL, NULL, NULL, 'ünï ☃ 🙂', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
         (40, 0, 0, 0, '', '', x'', x'0a0d1a25', '1000-01-01', '1000-01-01 00:00:00', '1970-01-02 00:00:00', '00:00:00', 1901)",
    )?;
    conn.query_drop("CREATE TABLE `rows` (`key` INT PRIMARY KEY, `select` VARCHAR(100)) ENGINE=redb")?;
    let rows: Vec<String> = (0..2000).map(|id| format!("({id}, 'row number {id}')")).collect();
    conn.query_drop(format!("INSERT INTO `rows` VALUES {}", rows.join(", ")))?;
    conn.query_drop("CREATE TABLE empty (a INT NOT NULL)")?;
    Ok(())
}

#[test]
fn a_dump_restores_what_was_dumped() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    fill(&mut conn)?;
    let socket = format!("--socket={}", server.socket().display());
    for options in [&["--single-transaction"][..], &["--lock-tables", "--hex-blob", "--skip-extended-insert"]] {
        let fixed = ["--no-defaults", "--user=root", socket.as_str(), "--no-tablespaces"];
        let dump = tool("mariadb-dump", fixed.iter().chain(options).chain(&["source"]))?.success()?;
        ensure!(dump.complaints().trim().is_empty(), "{}", dump.complaints());
        conn.query_drop("DROP DATABASE IF EXISTS copy")?;
        conn.query_drop("CREATE DATABASE copy")?;
        let restored =
            tool_with_input("mariadb", ["--no-defaults", "--user=root", socket.as_str(), "copy"], dump.stdout.clone())?;
        restored.success().with_context(|| dump.text())?;
        for table in TABLES {
            for query in ["SHOW CREATE TABLE X", "SELECT * FROM X", "SELECT COUNT(*) FROM X"] {
                let of = |database: &str| query.replace('X', &format!("{database}.`{table}`"));
                let (before, after): (Vec<Row>, Vec<Row>) = (conn.query(of("source"))?, conn.query(of("copy"))?);
                let (before, after) = (before.into_iter().map(Row::unwrap), after.into_iter().map(Row::unwrap));
                let (before, after): (Vec<_>, Vec<_>) = (before.collect(), after.collect());
                ensure!(before == after, "{} {options:?}:\n{before:?}\n{after:?}", of("copy"));
            }
        }
    }
    Ok(())
}
