//! The same statements on this server and on MariaDB must give the same answers.
//!
//! Scripts in `testdata/sql`, one rule each: statements end with `;` at the end of a line. Each runs on
//! both servers, over the text protocol and, where it takes no part in a transaction, prepared as well;
//! compared are column names, every value as text, affected rows, insert ids and error numbers.
//!
//! Comments steer: `-- unordered` compares the next result as a set, `-- mysql ERRNO` and
//! `-- mysql RESULT` state what MySQL 8 answers where MariaDB answers something else (values parted by
//! `|`, rows by ` / `), `-- status` compares only whether the statement succeeds.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::wire::{Wire, login_as};
use cohort_blackbox::{Launch, MariaDb, SystemTables};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// What a statement gave, as text.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Rows { columns: Vec<String>, rows: Vec<Vec<String>> },
    Done { affected: u64, insert_id: u64 },
    Refused { errno: u16, message: String },
}

#[derive(Default)]
struct Statement {
    sql: String,
    line: usize,
    unordered: bool,
    status_only: bool,
    mysql: Option<String>,
}

fn parse(script: &str) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut next = Statement::default();
    for (number, line) in script.lines().enumerate() {
        if let Some(comment) = line.strip_prefix("-- ").filter(|_| next.sql.is_empty()) {
            match comment.split_once(' ') {
                Some(("mysql", answer)) => next.mysql = Some(answer.to_owned()),
                _ if comment == "unordered" => next.unordered = true,
                _ if comment == "status" => next.status_only = true,
                _ => {}
            }
            continue;
        }
        if next.sql.is_empty() {
            if line.trim().is_empty() {
                continue;
            }
            next.line = number + 1;
        } else {
            next.sql.push('\n');
        }
        next.sql.push_str(line);
        if let Some(sql) = next.sql.strip_suffix(';') {
            next.sql = sql.to_owned();
            statements.push(std::mem::take(&mut next));
        }
    }
    assert!(next.sql.is_empty(), "the last statement has no semicolon: {}", next.sql);
    statements
}

fn text(value: Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => format!("{:02x?}", error.as_bytes()),
        },
        Value::Float(float) => float.to_string(),
        Value::Double(double) => double.to_string(),
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let (sign, hours) = (if negative { "-" } else { "" }, days * 24 + u32::from(hours));
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{micros:06}")
        }
        other => other.as_sql(true).trim_matches('\'').to_owned(),
    }
}

fn ask(conn: &mut Conn, sql: &str) -> Result<Answer> {
    let mut result = match conn.query_iter(sql) {
        Ok(result) => result,
        Err(mysql::Error::MySqlError(error)) => {
            return Ok(Answer::Refused { errno: error.code, message: error.message });
        }
        Err(error) => return Err(error).with_context(|| sql.to_owned()),
    };
    let columns: Vec<String> = result.columns().as_ref().iter().map(|column| column.name_str().into_owned()).collect();
    if columns.is_empty() {
        return Ok(Answer::Done { affected: result.affected_rows(), insert_id: result.last_insert_id().unwrap_or(0) });
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        match row {
            Ok(row) => rows.push(row.unwrap().into_iter().map(text).collect()),
            Err(mysql::Error::MySqlError(error)) => {
                return Ok(Answer::Refused { errno: error.code, message: error.message });
            }
            Err(error) => return Err(error).with_context(|| sql.to_owned()),
        }
    }
    Ok(Answer::Rows { columns, rows })
}

/// The rows of `sql` through the binary protocol.
fn ask_prepared(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<String>>> {
    let statement = conn.prep(sql).with_context(|| format!("preparing {sql}"))?;
    let rows: Vec<mysql::Row> = conn.exec(&statement, ()).with_context(|| format!("executing {sql}"))?;
    conn.close(statement)?;
    Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
}

/// Says how `ours` differs from what it should be, if it does.
fn difference(statement: &Statement, ours: &Answer, theirs: &Answer) -> Option<String> {
    if let Some(expected) = &statement.mysql {
        let found = match ours {
            Answer::Refused { errno, .. } => errno.to_string(),
            Answer::Done { affected, .. } => affected.to_string(),
            Answer::Rows { rows, .. } => rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" / "),
        };
        return (found != *expected).then(|| format!("expected {expected}, got {ours:?}"));
    }
    let same = match (ours, theirs) {
        (Answer::Refused { errno: ours, .. }, Answer::Refused { errno: theirs, .. }) => ours == theirs,
        _ if statement.status_only => {
            matches!(ours, Answer::Refused { .. }) == matches!(theirs, Answer::Refused { .. })
        }
        (Answer::Rows { columns: a, rows: ours }, Answer::Rows { columns: b, rows: theirs }) if statement.unordered => {
            let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
            ours.sort();
            theirs.sort();
            a == b && ours == theirs
        }
        _ => ours == theirs,
    };
    (!same).then(|| format!("\n    ours   {ours:?}\n    theirs {theirs:?}"))
}

/// Transactions and session state would be disturbed by running a SELECT twice; plain reads are not.
fn may_run_prepared(statement: &Statement) -> bool {
    statement.sql.starts_with("SELECT") && !statement.status_only && !statement.sql.contains('@')
}

fn run_script(path: &Path, ours: &mut Conn, theirs: &mut Conn) -> Result<String> {
    let mut report = String::new();
    for conn in [&mut *ours, &mut *theirs] {
        conn.query_drop("DROP DATABASE IF EXISTS same")?;
        conn.query_drop("CREATE DATABASE same")?;
        conn.query_drop("USE same")?;
        conn.query_drop("SET SESSION time_zone = '+00:00'")?;
    }
    for statement in parse(&std::fs::read_to_string(path)?) {
        let (mine, reference) = (ask(ours, &statement.sql)?, ask(theirs, &statement.sql)?);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(difference) = difference(&statement, &mine, &reference) {
            writeln!(report, "{name}:{}: {}\n  {difference}", statement.line, statement.sql)?;
        }
        if let Answer::Rows { rows, .. } = &mine
            && may_run_prepared(&statement)
        {
            let (mut rows, mut prepared) = (rows.clone(), ask_prepared(ours, &statement.sql)?);
            if statement.unordered {
                rows.sort();
                prepared.sort();
            }
            // Floating point goes over the binary protocol in full, as text in short.
            let same = rows.len() == prepared.len()
                && rows.iter().flatten().zip(prepared.iter().flatten()).all(|(a, b)| alike(a, b));
            if !same {
                writeln!(
                    report,
                    "{name}:{}: {}\n    text     {rows:?}\n    prepared {prepared:?}",
                    statement.line, statement.sql
                )?;
            }
        }
    }
    Ok(report)
}

fn alike(a: &str, b: &str) -> bool {
    // The binary protocol leaves out a midnight, and the client shows it with all its fractional digits.
    let trimmed = |text: &str| {
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        text.trim_end_matches(" 00:00:00").to_owned()
    };
    a == b
        || trimmed(a) == trimmed(b)
        || match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6 * a.abs().max(b.abs()),
            _ => false,
        }
}

#[test]
fn statements_give_the_answers_of_mariadb() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let options = ["--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"];
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &options, None)?;
    let mut report = String::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sql");
    let only = std::env::var("COHORT_SCRIPT").unwrap_or_default();
    let mut scripts: Vec<_> =
        std::fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    scripts.sort();
    for script in scripts.iter().filter(|path| path.to_string_lossy().contains(&only)) {
        let (mut ours, mut theirs) = (server.connect()?, peer.connect()?);
        let ran = run_script(script, &mut ours, &mut theirs);
        report += &ran.with_context(|| format!("{}", script.display()))?;
    }
    ensure!(report.is_empty(), "answers differ:\n{report}");
    Ok(())
}

/// A connection of a client that names this collation when it logs in.
fn log_in(port: u16, collation: u8) -> Result<Wire> {
    let mut wire = Wire::connect(port)?;
    let mut login = login_as("root", b"");
    login[8] = collation;
    wire.send(1, &login)?;
    let mut answer = wire.packet()?;
    if answer.first() == Some(&0xfe) {
        wire.send(3, b"")?;
        answer = wire.packet()?;
    }
    ensure!(answer.first() == Some(&0), "login refused: {answer:?}");
    Ok(wire)
}

/// The packets of an answer to `command`: of columns their collation, rows as they are, of an error its number.
fn raw(wire: &mut Wire, command: &[u8]) -> Result<Vec<Vec<u8>>> {
    let is_end = |packet: &[u8]| packet.first() == Some(&0xfe) && packet.len() < 9;
    wire.send(0, command)?;
    let head = wire.packet()?;
    if matches!(head.first(), Some(0 | 0xff)) {
        // Wording and flags are each server's own.
        return Ok(vec![head[..3].to_vec()]);
    }
    let mut packets = Vec::new();
    loop {
        let column = wire.packet()?;
        if is_end(&column) {
            break;
        }
        let at = column.len() - 12;
        packets.push(column[at..at + 2].to_vec());
    }
    loop {
        let row = wire.packet()?;
        if is_end(&row) {
            return Ok(packets);
        }
        packets.push(row);
    }
}

#[test]
fn clients_of_other_character_sets_get_the_bytes_of_mariadb() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &[], None)?;
    server.connect()?.query_drop("CREATE DATABASE bytes")?;
    peer.connect()?.query_drop("CREATE DATABASE bytes")?;
    let statements: [&[u8]; 16] = [
        b"DROP TABLE IF EXISTS bytes.t",
        b"CREATE TABLE bytes.t (l VARCHAR(9) CHARACTER SET latin1, u VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
          b VARBINARY(9), x TEXT CHARACTER SET latin1, c VARCHAR(9) CHARACTER SET utf8mb3)",
        b"INSERT INTO bytes.t VALUES (X'E980', CONVERT(X'C3A9F09F9880' USING utf8mb4), X'FF', X'E4', _utf8mb3 X'D0B6')",
        b"SELECT l, u, b, x, c FROM bytes.t",
        b"DELETE FROM bytes.t",
        b"INSERT INTO bytes.t (l, b, x) VALUES ('a', '\xe9\x80', 'x')",
        b"INSERT INTO bytes.t (l) VALUES ('\xc3\xa9')",
        b"SELECT HEX(l), HEX(b) FROM bytes.t ORDER BY l",
        b"SELECT l, x FROM bytes.t WHERE l = '\xc3\x89'",
        b"SELECT '\xc3\xa9' AS a, LENGTH('\xc3\xa9'), CHAR_LENGTH('\xc3\xa9'), CHARSET('a') = @@character_set_client",
        b"SELECT @@collation_connection, @@character_set_client, @@character_set_results",
        b"SET character_set_results = NULL",
        b"SELECT l, x, c FROM bytes.t ORDER BY l",
        b"SELECT * FROM bytes.`\xc3\xa9`",
        b"SET NAMES latin1",
        b"SELECT l, x, c, '\xe9' AS a, CHARSET('\xe9') FROM bytes.t ORDER BY l",
    ];
    // Of 8.0's own collations MariaDB has none.
    for collation in [8, 5, 47, 48, 33, 83, 45, 46, 63] {
        let (mut ours, mut theirs) = (log_in(server.port(), collation)?, log_in(peer.port(), collation)?);
        for statement in statements {
            let command = [b"\x03", statement].concat();
            let shown = String::from_utf8_lossy(statement);
            let (mine, reference) = (raw(&mut ours, &command)?, raw(&mut theirs, &command)?);
            ensure!(mine == reference, "{collation}: {shown}\n{mine:02x?}\n{reference:02x?}");
        }
        // A parameter: statement, no flags, once; no NULL, new types: VAR_STRING, BLOB.
        for wire in [&mut ours, &mut theirs] {
            let names = format!("SET NAMES {}", if collation < 33 || collation == 47 { "latin1" } else { "utf8mb3" });
            raw(wire, &[b"\x03", names.as_bytes()].concat())?;
        }
        let execute = |wire: &mut Wire| -> Result<Vec<Vec<u8>>> {
            let id = wire.prepare("SELECT CHARSET(?), HEX(?)")?;
            let mut command = vec![0x17];
            command.extend(id.to_le_bytes());
            command.extend([0, 1, 0, 0, 0, 0, 1, 0xfd, 0, 0xfd, 0]);
            command.extend(b"\x02\xc3\xa9\x02\xc3\xa9");
            let packets = raw(wire, &command)?;
            Ok(packets.into_iter().skip(2).collect())
        };
        let (mine, reference) = (execute(&mut ours)?, execute(&mut theirs)?);
        ensure!(mine == reference, "{collation}: parameters\n{mine:02x?}\n{reference:02x?}");
    }
    Ok(())
}
