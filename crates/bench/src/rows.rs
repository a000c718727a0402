//! Many rows for a table, in INSERT statements of many rows each.

use std::fmt::{Display, Write as _};

use anyhow::Result;
use mysql::Conn;
use mysql::prelude::Queryable;

/// Bytes of one statement, about.
const STATEMENT: usize = 256 << 10;

/// Rows on their way into a table. What was added since the last full statement is there after [`Rows::finish`] only.
pub struct Rows<'a> {
    conn: &'a mut Conn,
    table: &'static str,
    statement: String,
    count: u64,
}

impl<'a> Rows<'a> {
    /// None yet.
    pub fn new(conn: &'a mut Conn, table: &'static str) -> Rows<'a> {
        Rows { conn, table, statement: String::new(), count: 0 }
    }

    /// Adds a row: its values as SQL writes them, with commas between.
    pub fn add(&mut self, values: impl Display) -> Result<()> {
        match self.statement.is_empty() {
            true => write!(self.statement, "INSERT INTO {} VALUES ({values})", self.table)?,
            false => write!(self.statement, ", ({values})")?,
        }
        self.count += 1;
        if self.statement.len() >= STATEMENT { self.flush() } else { Ok(()) }
    }

    /// Sends what is left and returns how many rows there were.
    pub fn finish(mut self) -> Result<u64> {
        if !self.statement.is_empty() {
            self.flush()?;
        }
        Ok(self.count)
    }

    fn flush(&mut self) -> Result<()> {
        self.conn.query_drop(&self.statement)?;
        self.statement.clear();
        Ok(())
    }
}
