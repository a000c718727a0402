//! Statements that run beside the test, and may wait.

use std::thread::{self, JoinHandle};

use anyhow::Result;
use cohort_blackbox::{Server, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Waits until the connection's statement waits, as the process list says.
pub fn until_waiting(watcher: &mut Conn, id: u32, as_it_says: &str) -> Result<()> {
    wait_until(&format!("connection {id} in the state '{as_it_says}'"), || {
        let rows: Vec<mysql::Row> = watcher.query("SHOW PROCESSLIST")?;
        let state = |row: &mysql::Row| (row.get::<u32, _>("Id"), row.get::<Option<String>, _>("State").flatten());
        Ok(rows.iter().map(state).any(|(found, state)| found == Some(id) && state.as_deref() == Some(as_it_says)))
    })
}

/// A statement under way in a connection of its own.
pub struct Aside {
    /// The connection.
    pub id: u32,
    running: JoinHandle<(Conn, Result<Vec<mysql::Row>, mysql::Error>)>,
}

impl Aside {
    /// Runs `sql` in `conn`.
    pub fn run_in(mut conn: Conn, sql: impl Into<String>) -> Aside {
        let (id, sql) = (conn.connection_id(), sql.into());
        let running = thread::spawn(move || {
            let result = conn.query(sql);
            (conn, result)
        });
        Aside { id, running }
    }

    /// Runs `sql` in a new connection, with `d` as its database.
    pub fn run(server: &Server, sql: impl Into<String>) -> Result<Aside> {
        Ok(Aside::run_in(server.connect_to("d")?, sql))
    }

    /// Runs `sql`, which waits as the process list says.
    pub fn waits(server: &Server, watcher: &mut Conn, sql: &str, as_it_says: &str) -> Result<Aside> {
        let aside = Aside::run(server, sql)?;
        until_waiting(watcher, aside.id, as_it_says)?;
        Ok(aside)
    }

    /// Waits for its end: its errno, 0 for none.
    pub fn errno(self) -> Result<u16> {
        errno(self.end().1)
    }

    /// Waits for its end.
    pub fn end(self) -> (Conn, Result<Vec<mysql::Row>, mysql::Error>) {
        self.running.join().expect("no panic")
    }
}

/// The errno of a statement, 0 for none.
pub fn errno<T>(result: Result<T, mysql::Error>) -> Result<u16> {
    match result {
        Ok(_) => Ok(0),
        Err(mysql::Error::MySqlError(error)) => Ok(error.code),
        Err(error) => Err(error.into()),
    }
}
