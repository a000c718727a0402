//! Statements of any kind: split, parsed, planned and executed, as text and prepared.
//!
//! Input: statements with semicolons between them. They find a few tables with rows; whatever they change is
//! gone before the next input: a server that committed something is thrown away, and the next one recovers from a
//! copy of the disk and the engines with those tables. Both engines are in memory.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cohort_sim::machine::{Machine, Settings};
use cohort_sim::rows::Rows;
use cohort_sql::error::{ER_PARSE_ERROR, ER_UNKNOWN_ERROR};
use cohort_sql::parse::split_statement;
use cohort_sql::session::StandIn;
use cohort_sql::types::temporal::{Date, DateTime};
use cohort_sql::{Database, Outcome, SessionState, SqlError, Value};
use cohort_txn::GtidMode;

const TABLES: [&str; 7] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b VARCHAR(40), c DECIMAL(12,3), KEY (a), KEY (b, a))",
    "CREATE TABLE d.u (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, d DATETIME(3), e DOUBLE, f BLOB, UNIQUE (d)) \
     ENGINE=redb",
    "CREATE TABLE d.v (k VARCHAR(20) COLLATE utf8mb4_bin, n TINYINT NOT NULL DEFAULT 3, y YEAR)",
    "INSERT INTO d.t VALUES (1, 10, 'one', 1.5), (2, NULL, 'Two', -2.25), (3, 30, NULL, NULL), (4, 10, '', 0)",
    "INSERT INTO d.u (d, e, f) VALUES ('2024-02-29 12:00:00.5', 1e10, 'blob'), (NULL, -0.0, NULL)",
    "INSERT INTO d.v (k, y) VALUES ('a', 2024), ('A', NULL), (NULL, 1999)",
];

const SETTINGS: Settings =
    Settings { segment_bytes: 64 << 10, binlog_bytes: 1 << 30, log_bin: true, gtid_mode: GtidMode::On };

/// Of one input.
const STATEMENTS_MAX: usize = 8;

/// A server whose tables are as made.
struct Server {
    database: Arc<Database>,
    order: u64,
}

thread_local! {
    static MADE: Machine = made();
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// Runs `bytes` as statements of one session.
pub fn run(bytes: &[u8]) {
    run_in(session, bytes);
}

/// The same in a session with a limit of memory.
pub fn run_limited(bytes: &[u8]) {
    run_in(limited_session, bytes);
}

fn run_in(session: fn() -> SessionState, bytes: &[u8]) {
    if bytes.to_ascii_lowercase().windows(5).any(|word| word == b"sleep" || word == b"bench") {
        return;
    }
    SERVER.with_borrow_mut(|server| {
        let found = server.get_or_insert_with(|| Server::start(&MADE.with(Machine::kill_copy)));
        found.run(session(), bytes);
        if found.database.store().published().order != found.order {
            *server = None;
        }
    });
}

/// A machine with the tables, its server closed.
fn made() -> Machine {
    let machine = Machine::in_memory(1);
    let server = Server::start(&machine);
    let mut session = session();
    for sql in TABLES {
        server.execute(&mut session, sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    server.database.store().close().expect("a disk without faults");
    machine
}

impl Server {
    fn start(machine: &Machine) -> Server {
        let database = machine.open(SETTINGS).expect("a machine without faults");
        let order = database.store().published().order;
        Server { database, order }
    }

    fn run(&self, mut session: SessionState, bytes: &[u8]) {
        self.execute(&mut session, b"SET @x = 5, @y = 'text'").expect("two variables");
        let mut rest = bytes;
        for _ in 0..STATEMENTS_MAX {
            let (statement, left) = split_statement(rest, session.sql_mode);
            assert!(left.len() < rest.len() || rest.is_empty(), "splitting gets on");
            // An error is an answer; what matters is that there is one, and that it is the client's fault.
            let text = self.execute(&mut session, statement);
            let is_nonsense = matches!(&text, Err(error) if error.is(ER_PARSE_ERROR)) && !statement.contains(&b'?');
            let prepared = if is_nonsense { Ok(()) } else { self.prepared(&mut session, statement) };
            for error in [text, prepared].into_iter().filter_map(Result::err) {
                assert!(!error.is(ER_UNKNOWN_ERROR), "{error}");
            }
            rest = left;
            if rest.is_empty() {
                break;
            }
        }
        session.rollback();
    }

    fn execute(&self, session: &mut SessionState, sql: &[u8]) -> Result<(), SqlError> {
        let mut rows = Rows::default();
        let outcome = self.database.execute(session, &StandIn, sql, &mut rows)?;
        self.finish(outcome, &rows);
        Ok(())
    }

    fn prepared(&self, session: &mut SessionState, sql: &[u8]) -> Result<(), SqlError> {
        let prepared = self.database.prepare(session, &StandIn, sql)?;
        let date = Date { year: 2024, month: 2, day: 29 };
        let some = [
            Value::Int(3),
            Value::text("one"),
            Value::Null,
            Value::DateTime(DateTime::new(date, 0, 0)),
            Value::bytes(&b"\xff\x00"[..]),
            Value::Double(-0.5),
            Value::UInt(u64::MAX),
        ];
        let params: Vec<Value> = some.into_iter().cycle().take(prepared.param_count()).collect();
        let mut rows = Rows::default();
        let outcome = self.database.execute_prepared(session, &StandIn, &prepared, &params, &mut rows)?;
        self.finish(outcome, &rows);
        Ok(())
    }

    fn finish(&self, outcome: Outcome, rows: &Rows) {
        for value in rows.0.iter().flatten() {
            std::hint::black_box(value.to_string());
        }
        if let Some(transaction) = outcome.commit {
            self.database.store().commit_and_wait(transaction).expect("a disk without faults");
        }
    }
}

fn session() -> SessionState {
    let mut session = SessionState::new();
    session.database = Some("d".into());
    session.row_lock_timeout = Duration::ZERO;
    session.table_lock_timeout = Duration::ZERO;
    session.max_allowed_packet = 256 << 10;
    session.fixed_now_us = Some(1_700_000_000_000_000);
    session
}

/// Bytes that a limited session may hold.
const MEMORY: u64 = 64 << 20;

fn limited_session() -> SessionState {
    let session = session();
    session.memory.set_limit(MEMORY);
    session
}

/// The statements of the golden scripts, a few an input.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/testdata");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the golden scripts").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let scripts = paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "test"));
    scripts
        .flat_map(|path| {
            let script = std::fs::read_to_string(path).expect("a golden script");
            let statements: Vec<&str> = script.lines().filter_map(|line| Some(line.split_once("> ")?.1)).collect();
            statements.chunks(4).map(|some| some.join(";").into_bytes()).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all tables hold, found as an input would.
    fn tables() -> Vec<Vec<String>> {
        run(b"");
        SERVER.with_borrow_mut(|server| {
            let server = server.as_ref().expect("an input without a change leaves the server");
            let rows = ["t", "u", "v"].map(|table| {
                let (mut rows, sql) = (Rows::default(), format!("SELECT * FROM {table}"));
                let outcome = server.database.execute(&mut session(), &StandIn, sql.as_bytes(), &mut rows);
                assert!(outcome.expect("a table").commit.is_none(), "a query");
                rows.0.iter().map(|row| format!("{row:?}")).collect()
            });
            rows.to_vec()
        })
    }

    #[test]
    fn nothing_is_left_of_an_input() {
        let made = tables();
        assert_eq!(made.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2, 3]);
        for input in [
            "DELETE FROM t; INSERT INTO u (e) VALUES (1)",
            "BEGIN; DELETE FROM t; DELETE FROM u",
            "SET autocommit = 0; UPDATE v SET n = 9; COMMIT; DELETE FROM v",
            "XA START 'a'; DELETE FROM t",
            "XA START 'a'; DELETE FROM t; DELETE FROM u; XA END 'a'; XA PREPARE 'a'",
            "ALTER TABLE t ADD COLUMN z INT; TRUNCATE TABLE u; DROP TABLE v",
            "DROP DATABASE d",
        ] {
            run(input.as_bytes());
            assert_eq!(tables(), made, "after {input}");
        }
    }
}
