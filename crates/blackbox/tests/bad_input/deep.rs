//! Statements that nest deeply or go on for long, against the least stack that a worker may have.

use anyhow::Result;
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;

/// What MySQL or this server says to what it does not take: syntax, not supported, stack, memory.
const REFUSALS: [u16; 7] = [1064, 1066, 1235, 1436, 4082, 1292, 1305];

fn with_least_stack(folder: &tempfile::TempDir) -> Result<Server> {
    let server = Launch::new(folder.path().join("data")).option("--thread-stack=256K").start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(30))")?;
    conn.query_drop("INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")?;
    Ok(server)
}

/// Executes it as text and prepared; both must be answered. Says how.
fn answer(server: &Server, sql: &str) -> Result<Option<u16>> {
    let shown = || format!("{}... ({} bytes)", &sql[..sql.len().min(60)], sql.len());
    let mut conn = server.connect_to("d")?;
    let text = conn.query_drop(sql);
    let prepared = conn.prep(sql).and_then(|statement| conn.exec_drop(statement, ()));
    let codes = [text, prepared].map(|outcome| match outcome {
        Ok(()) => None,
        Err(mysql::Error::MySqlError(error)) => {
            assert!(REFUSALS.contains(&error.code), "{}: {error:?}", shown());
            Some(error.code)
        }
        Err(other) => panic!("{}: {other:?}", shown()),
    });
    Ok(codes[0])
}

#[test]
fn no_depth_of_a_statement_overflows_the_least_stack() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = with_least_stack(&folder)?;
    for times in [190, 999, 20_000] {
        let chains = [
            " + 1",
            " + (1)",
            " - -1",
            " DIV 1",
            " IS NULL",
            " IS NOT TRUE",
            " LIKE 'a'",
            " REGEXP 'a'",
            " = 1",
            " BETWEEN 1 AND 1",
            " IN (1)",
            " COLLATE utf8mb4_bin",
            " XOR 1",
            " := 1",
            " * 2 AND 1",
            " OR 1 AND 0",
            " UNION SELECT 1",
            " INTERSECT SELECT 1",
            " MOD 7",
            " + INTERVAL 1 DAY",
        ];
        for chain in chains {
            answer(&server, &format!("SELECT 1{}", chain.repeat(times)))?;
        }
        let pairs = [
            ("(", ")"),
            ("- ", ""),
            ("~", ""),
            ("NOT ", ""),
            ("!", ""),
            ("ABS(", ")"),
            ("CONCAT('a',", ")"),
            ("IF(1,", ",2)"),
            ("CASE WHEN 1 THEN ", " END"),
            ("CASE 1 WHEN ", " THEN 1 END"),
            ("CAST(", " AS CHAR)"),
            ("@a := ", ""),
            ("(SELECT ", ")"),
            ("INTERVAL(1,", ")"),
            ("INTERVAL ", " DAY"),
            ("INTERVAL(", ")"),
            ("COALESCE(NULL,", ")"),
            ("1 + (2 * ", ")"),
            ("EXISTS (SELECT ", ")"),
            ("1 IN (", ")"),
        ];
        for (open, close) in pairs {
            answer(&server, &format!("SELECT {}1{}", open.repeat(times), close.repeat(times)))?;
        }
        for sql in [
            format!("SELECT 1 FROM t{}", " JOIN t".repeat(times)),
            format!("SELECT 1 FROM t{}", " JOIN t ON 1".repeat(times)),
            format!("SELECT 1 FROM {}t{}", "(".repeat(times), ")".repeat(times)),
            format!("SELECT 1 FROM t WHERE {}", vec!["id DIV 1"; times].join(" DIV ")),
            format!("SET {}1", "@a = ".repeat(times)),
            format!("SET @a = 1{}", " DIV 1".repeat(times)),
            format!("DO 1{}", " DIV 1".repeat(times)),
            format!("INSERT IGNORE INTO t VALUES (1{}, 'x')", " DIV 1".repeat(times)),
            format!("UPDATE t SET v = 1{} WHERE id = 77", " DIV 1".repeat(times)),
            format!("SELECT CAST(1 AS {}CHAR{})", "ARRAY<".repeat(times), ">".repeat(times)),
            format!("SELECT {}1", "/*! ".repeat(times)),
            format!("SELECT 1 FROM t{}", " WHERE 1".repeat(times)),
            format!("SELECT 1{},", " DIV 1".repeat(times)),
        ] {
            answer(&server, &sql)?;
        }
    }
    crate::serves_on(&server)
}

#[test]
fn flat_statements_are_as_long_as_programs_make_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = with_least_stack(&folder)?;
    let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    let whens: String = numbers[..5000].iter().map(|number| format!(" WHEN {number} THEN {number}")).collect();
    for sql in [
        format!("SELECT COUNT(*) FROM t WHERE id IN ({})", numbers.join(",")),
        format!("SELECT COUNT(*) FROM t WHERE {}", vec!["id = 1"; 30_000].join(" OR ")),
        format!("SELECT COUNT(*) FROM t WHERE {}", vec!["(id = 1)"; 30_000].join(" OR ")),
        format!("SELECT COUNT(*) FROM t WHERE {}", vec!["id < 7"; 30_000].join(" AND ")),
        format!("SELECT COUNT(*) FROM t WHERE {}", vec!["(id = 1 AND v = 'a')"; 20_000].join(" OR ")),
        format!("SELECT COUNT(*) FROM t WHERE id = CASE id{whens} END"),
        format!("SELECT 1{}", " + 1".repeat(190)),
        format!("SELECT LENGTH(CONCAT('a'{}))", ", 'b'".repeat(10_000)),
    ] {
        assert_eq!(answer(&server, &sql)?, None, "{}", &sql[..60]);
    }
    crate::serves_on(&server)
}
