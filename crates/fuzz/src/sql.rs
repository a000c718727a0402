//! Statements of any kind: split, parsed, planned and executed, as text and prepared.
//!
//! Input: statements with semicolons between them. They find a few tables with rows; whatever they change is
//! gone before the next input.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cohort_sim::environment::{Rows, SimEnvironment};
use cohort_sim::machine::{Machine, Sizes};
use cohort_sql::parse::split_statement;
use cohort_sql::types::temporal::{Date, DateTime};
use cohort_sql::{Database, Outcome, SessionState, SqlError, Value};

const TABLES: [&str; 8] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b VARCHAR(40), c DECIMAL(12,3), KEY (a), KEY (b, a))",
    "CREATE TABLE d.u (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, d DATETIME(3), e DOUBLE, f BLOB, UNIQUE (d)) \
     ENGINE=redb",
    "CREATE TABLE d.v (k VARCHAR(20) COLLATE utf8mb4_bin, n TINYINT NOT NULL DEFAULT 3, y YEAR)",
    "INSERT INTO d.t VALUES (1, 10, 'one', 1.5), (2, NULL, 'Two', -2.25), (3, 30, NULL, NULL), (4, 10, '', 0)",
    "INSERT INTO d.u (d, e, f) VALUES ('2024-02-29 12:00:00.5', 1e10, 'blob'), (NULL, -0.0, NULL)",
    "INSERT INTO d.v (k, y) VALUES ('a', 2024), ('A', NULL), (NULL, 1999)",
    "SET @x = 5, @y = 'text'",
];

/// A server whose tables are as made.
struct Server {
    database: Arc<Database>,
    order: u64,
}

thread_local! {
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// Runs `bytes` as statements of one session.
pub fn run(bytes: &[u8]) {
    if bytes.to_ascii_lowercase().windows(5).any(|word| word == b"sleep" || word == b"bench") {
        return;
    }
    SERVER.with_borrow_mut(|server| {
        let server = server.get_or_insert_with(Server::new);
        server.run(bytes);
        if server.database.store().published().order != server.order {
            *server = Server::new();
        }
    });
}

impl Server {
    fn new() -> Server {
        let machine = Machine::new(1);
        let database = machine.open(Sizes { segment_bytes: 64 << 10, binlog_bytes: 1 << 30 }).expect("a new server");
        let mut server = Server { database, order: 0 };
        let mut session = session();
        for sql in TABLES {
            server.execute(&mut session, sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        server.order = server.database.store().published().order;
        server
    }

    fn run(&self, bytes: &[u8]) {
        let mut session = session();
        let mut rest = bytes;
        for _ in 0..20 {
            let (statement, behind) = split_statement(rest, session.sql_mode);
            assert!(behind.len() < rest.len() || rest.is_empty(), "splitting gets on");
            // An error is an answer; what matters is that there is one.
            drop(self.execute(&mut session, statement));
            drop(self.prepared(&mut session, statement));
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        session.rollback();
    }

    fn execute(&self, session: &mut SessionState, sql: &[u8]) -> Result<(), SqlError> {
        let mut rows = Rows::default();
        let outcome = self.database.execute(session, &SimEnvironment, sql, &mut rows)?;
        self.finish(outcome, &rows);
        Ok(())
    }

    fn prepared(&self, session: &mut SessionState, sql: &[u8]) -> Result<(), SqlError> {
        let prepared = self.database.prepare(session, &SimEnvironment, sql)?;
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
        let outcome = self.database.execute_prepared(session, &SimEnvironment, &prepared, &params, &mut rows)?;
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

/// The statements of the golden scripts, a script an input.
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
            statements.chunks(12).map(|some| some.join(";").into_bytes()).collect::<Vec<_>>()
        })
        .collect()
}
