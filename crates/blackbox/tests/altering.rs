//! Random ALTER TABLE on this server and on MariaDB: both do it, or neither; then columns, indexes and rows are the same.
//!
//! | variable | effect |
//! | --- | --- |
//! | `COHORT_SECONDS` | how long, with a fresh seed; otherwise the same statements each time |
//! | `COHORT_SEED` | the seed of that |

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, MariaDb, SystemTables};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// Statements of a run without `COHORT_SECONDS`.
const STATEMENTS: usize = 600;
/// Changes of one table before another one takes its place.
const CHANGES: usize = 12;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const TYPES: [&str; 16] = [
    "INT",
    "BIGINT",
    "TINYINT",
    "INT UNSIGNED",
    "VARCHAR(3)",
    "VARCHAR(20)",
    "VARCHAR(80)",
    "CHAR(4)",
    "DECIMAL(6,2)",
    "DATE",
    "DATETIME",
    "ENUM('x','y')",
    "ENUM('x','y','12')",
    "ENUM('y','x')",
    "TEXT",
    "VARBINARY(9)",
];
const VALUES: [&str; 9] = ["NULL", "'1'", "'12'", "'x'", "'y'", "'2020-01-02'", "300", "'long text'", "-7"];
/// Errors of values that do not fit, which the two name differently in some places: NULL, too long, no number.
const OF_VALUES: [u16; 7] = [1048, 1138, 1264, 1265, 1292, 1366, 1406];
/// Errors of ours where MariaDB does more, or otherwise: a key over a whole TEXT, NULL for a column of the primary key.
const OURS_ALONE: [u16; 3] = [1170, 1171, 1067];

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.below(from.len() as u64) as usize]
}

fn column(rng: &mut Rng) -> String {
    let kind = pick(rng, &TYPES);
    let mut text = kind.to_owned();
    if rng.chance(40) {
        text += " NOT NULL";
    }
    let default = match kind {
        _ if rng.chance(50) => None,
        "TEXT" => None,
        "DATE" | "DATETIME" => Some("'2021-05-06'"),
        _ if kind.starts_with("ENUM") => Some("'x'"),
        _ => Some("'12'"),
    };
    if let Some(default) = default {
        text += &format!(" DEFAULT {default}");
    }
    text
}

fn place(rng: &mut Rng) -> String {
    match rng.below(5) {
        0 => " FIRST".to_owned(),
        1 => format!(" AFTER {}", pick(rng, &NAMES)),
        _ => String::new(),
    }
}

fn clause(rng: &mut Rng) -> String {
    let name = pick(rng, &NAMES);
    let other = pick(rng, &NAMES);
    match rng.below(20) {
        0..=3 => format!("ADD COLUMN {name} {}{}", column(rng), place(rng)),
        4 | 5 => format!("DROP COLUMN {name}"),
        6..=9 => format!("MODIFY {name} {}{}", column(rng), place(rng)),
        10 => format!("CHANGE {name} {other} {}{}", column(rng), place(rng)),
        11 => format!("RENAME COLUMN {name} TO {other}"),
        12 => format!("ALTER COLUMN {name} SET DEFAULT '12'"),
        13 => format!("ALTER COLUMN {name} DROP DEFAULT"),
        14 => format!("ADD INDEX k{name} ({name}, {other})"),
        15 => format!("ADD UNIQUE u{name} ({name})"),
        16 => format!("DROP INDEX {}{name}", pick(rng, &["k", "u"])),
        17 => "DROP PRIMARY KEY".to_owned(),
        18 => format!("ADD PRIMARY KEY ({name})"),
        _ => pick(
            rng,
            &[
                "FORCE",
                "RENAME INDEX ka TO kb",
                "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                "COMMENT = 'x'",
            ],
        )
        .to_owned(),
    }
}

/// The number of the error, 0 for none.
fn run(conn: &mut Conn, sql: &str) -> Result<(u16, String)> {
    match conn.query_drop(sql) {
        Ok(()) => Ok((0, String::new())),
        Err(mysql::Error::MySqlError(error)) => Ok((error.code, error.message)),
        Err(error) => Err(error).with_context(|| sql.to_owned()),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    }
}

fn rows(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<String>>> {
    let rows: Vec<mysql::Row> = conn.query(sql).with_context(|| sql.to_owned())?;
    Ok(rows.into_iter().map(|row| row.unwrap().iter().map(text).collect()).collect())
}

/// What a table is and holds, where the two say the same of the same.
fn shown(conn: &mut Conn) -> Result<String> {
    let mut shown = String::new();
    for row in rows(conn, "SHOW COLUMNS FROM t")? {
        // MySQL 8.0 shows no display widths.
        let digits = row[1]
            .split_once("int(")
            .map(|(before, after)| format!("{before}int{}", after.split_once(')').map_or("", |(_, rest)| rest)));
        writeln!(shown, "{} {} {} default {}", row[0], digits.unwrap_or_else(|| row[1].clone()), row[2], row[4])?;
    }
    for row in rows(conn, "SHOW INDEX FROM t")? {
        writeln!(shown, "unique {} {} {} {} {}", row[1] == "0", row[2], row[3], row[4], row[7])?;
    }
    let mut all = rows(conn, "SELECT * FROM t")?;
    all.sort();
    for row in all {
        writeln!(shown, "{row:?}")?;
    }
    Ok(shown)
}

struct Pair {
    ours: Conn,
    theirs: Conn,
}

impl Pair {
    /// Runs a statement of both, which must be of one mind; false where they may not be, and are not.
    fn both(&mut self, sql: &str) -> Result<(u16, u16)> {
        let (ours, theirs) = (run(&mut self.ours, sql)?, run(&mut self.theirs, sql)?);
        let same = (ours.0 == 0) == (theirs.0 == 0) || OURS_ALONE.contains(&ours.0) || theirs.0 == 1072;
        ensure!(same, "{sql}\n  ours   {ours:?}\n  theirs {theirs:?}");
        Ok((ours.0, theirs.0))
    }

    fn table(&mut self, rng: &mut Rng) -> Result<Vec<String>> {
        let mode = pick(rng, &["STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_ZERO_DATE,NO_ZERO_IN_DATE", ""]);
        let mut done = vec![
            "DROP TABLE IF EXISTS t".to_owned(),
            format!("SET sql_mode = '{mode}'"),
            format!(
                "CREATE TABLE t (a INT PRIMARY KEY, b {}, c {}, KEY ka (a, b)) COLLATE utf8mb4_general_ci",
                pick(rng, &TYPES[..14]),
                column(rng)
            ),
        ];
        for sql in &done {
            let (ours, theirs) = self.both(sql)?;
            ensure!(ours == 0 && theirs == 0, "{sql}: {ours} {theirs}");
        }
        for id in 1..=rng.below(6) {
            let sql = format!("INSERT INTO t VALUES ({id}, {}, {})", pick(rng, &VALUES), pick(rng, &VALUES));
            if self.both(&sql)?.0 == 0 {
                done.push(sql);
            }
        }
        Ok(done)
    }

    /// Changes one table several times, and returns how often it did; an error is a difference.
    fn changes(&mut self, rng: &mut Rng) -> Result<usize> {
        let mut done = self.table(rng)?;
        if shown(&mut self.ours)? != shown(&mut self.theirs)? {
            // Values that the two take differently are compared elsewhere.
            return Ok(0);
        }
        for change in 0..CHANGES {
            let clauses: Vec<String> = (0..=rng.below(3)).map(|_| clause(rng)).collect();
            let sql = format!("ALTER TABLE t {}", clauses.join(", "));
            let context = |what: String| format!("{what}\nafter\n{};", done.join(";\n"));
            let (ours, theirs) = self.both(&sql).map_err(|error| anyhow::anyhow!(context(error.to_string())))?;
            let alike = ours == theirs || OF_VALUES.contains(&ours) && OF_VALUES.contains(&theirs);
            // Of several errors each may name another one.
            if clauses.len() == 1 && !alike && ours != 0 && theirs != 0 && theirs != 1072 && !OURS_ALONE.contains(&ours)
            {
                bail!(context(format!("{sql}: {ours} and {theirs}")));
            }
            if (ours == 0) != (theirs == 0) {
                return Ok(change);
            }
            if ours == 0 {
                let (mine, reference) = (shown(&mut self.ours)?, shown(&mut self.theirs)?);
                ensure!(mine == reference, context(format!("{sql}\nours\n{mine}theirs\n{reference}")));
                done.push(sql);
            }
        }
        Ok(CHANGES)
    }
}

#[test]
fn tables_are_changed_as_mariadb_changes_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let options = ["--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"];
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &options, None)?;
    let mut pair = Pair { ours: server.connect()?, theirs: peer.connect()? };
    for sql in ["CREATE DATABASE altered", "USE altered"] {
        pair.both(sql)?;
    }
    let seconds = std::env::var("COHORT_SECONDS").ok().and_then(|text| text.parse().ok());
    let mut rng = Rng::new(if seconds.is_some() { rng::seed() } else { 8 });
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut changes, mut report) = (0, Vec::new());
    while end.map_or(changes < STATEMENTS, |end| Instant::now() < end) {
        match pair.changes(&mut rng) {
            Ok(made) => changes += made.max(1),
            Err(error) => {
                changes += 1;
                report.push(format!("{error:#}"));
            }
        }
        if report.len() >= 8 {
            break;
        }
    }
    println!("{changes} changes");
    ensure!(report.is_empty(), "{} differences in {changes} changes:\n{}", report.len(), report.join("\n\n"));
    Ok(())
}
