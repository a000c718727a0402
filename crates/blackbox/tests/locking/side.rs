//! One server with its sessions: sends a statement, and waits until every session has answered or waits for a lock.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, Row, Value};

use crate::innodb::Status;

/// A statement neither answers nor waits for that long only where something is broken.
const PATIENCE: Duration = Duration::from_secs(30);
/// How far apart two looks must agree that everybody waits: a deadlock is found after the wait has begun.
const CALM: Duration = Duration::from_millis(3);
/// Purging that has not gone on for so long has nothing to do.
const PURGE_PATIENCE: Duration = Duration::from_millis(100);
/// The state of a session of ours that waits.
const WAITS: &str = "waiting for lock";

/// What a statement gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Rows(Vec<Vec<String>>),
    Done(u64),
    Error(u16),
}

/// Which server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cohort,
    MariaDb,
}

/// What EXPLAIN says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The index; `None` where the planner has read the row already, or knows that there is none.
    pub key: Option<String>,
    /// How much of it bounds the range, if there is one.
    pub bounds: Option<String>,
    /// Whether the rows are sorted afterwards.
    pub sorts: bool,
    /// Whether several indexes are used at once.
    pub several: bool,
}

/// A connection with a thread of its own, so that it can wait.
struct Session {
    id: u64,
    statements: Sender<String>,
    answers: Receiver<Result<Answer>>,
    /// Has a statement that is not answered.
    busy: bool,
}

/// A server, a connection to look at it with, and its sessions.
pub struct Side {
    pub kind: Kind,
    options: Opts,
    control: Conn,
    sessions: Vec<Session>,
}

impl Side {
    pub fn new(kind: Kind, options: Opts) -> Result<Side> {
        let control = Conn::new(options.clone())?;
        Ok(Side { kind, options, control, sessions: Vec::new() })
    }

    /// Sees to it that there are `count` sessions, with database `d`.
    pub fn open(&mut self, count: usize) -> Result<()> {
        while self.sessions.len() < count {
            let mut conn = Conn::new(self.options.clone())?;
            conn.query_drop("USE d")?;
            let id = conn.query_first("SELECT CONNECTION_ID()")?.context("a connection has an id")?;
            let (statements, orders) = channel::<String>();
            let (sender, answers) = channel();
            thread::spawn(move || {
                while let Ok(sql) = orders.recv() {
                    if sender.send(ask(&mut conn, &sql)).is_err() {
                        return;
                    }
                }
            });
            self.sessions.push(Session { id, statements, answers, busy: false });
        }
        Ok(())
    }

    /// Gives up every session: one may have been left in any state.
    pub fn hang_up(&mut self) -> Result<()> {
        for Session { id, .. } in std::mem::take(&mut self.sessions) {
            self.control.query_drop(format!("KILL {id}"))?;
        }
        Ok(())
    }

    /// A statement of the connection that takes no part.
    pub fn control(&mut self, sql: &str) -> Result<Answer> {
        ask(&mut self.control, sql)
    }

    /// How a statement finds its rows.
    pub fn path_of(&mut self, sql: &str) -> Result<Path> {
        let row: Row = self.control.query_first(format!("EXPLAIN {sql}"))?.context("EXPLAIN has a line")?;
        let names: Vec<String> = row.columns_ref().iter().map(|column| column.name_str().to_lowercase()).collect();
        let values: Vec<String> = row.unwrap().into_iter().map(text).collect();
        let named = |name: &str| {
            let place = names.iter().position(|known| known == name);
            place.map(|at| values[at].clone()).filter(|value| value != "NULL")
        };
        let sorts = named("extra").is_some_and(|extra| extra.contains("filesort"));
        let kind = named("type").unwrap_or_default();
        let bounds = named("key_len").filter(|_| ["range", "ref"].contains(&kind.as_str()));
        // Without a key the rows themselves are read.
        let key = named("key").or_else(|| named("type").map(|_| "PRIMARY".to_owned()));
        Ok(Path { key, bounds, sorts, several: kind == "index_merge" })
    }

    /// Whether a session has a statement that was not answered.
    pub fn is_busy(&self, session: usize) -> bool {
        self.sessions[session].busy
    }

    /// The sessions whose statements wait.
    pub fn busy(&self) -> Vec<usize> {
        (0..self.sessions.len()).filter(|session| self.sessions[*session].busy).collect()
    }

    /// Sends a statement and returns what has been answered by whom, once all others wait.
    pub fn step(&mut self, session: usize, sql: &str) -> Result<Vec<(usize, Answer)>> {
        self.send(session, sql)?;
        self.settle()
    }

    /// Interrupts the statement of a session, and returns as [`Side::step`] does.
    pub fn interrupt(&mut self, session: usize) -> Result<Vec<(usize, Answer)>> {
        let id = self.sessions[session].id;
        self.control.query_drop(format!("KILL QUERY {id}"))?;
        self.until_answered(session)
    }

    /// Waits until a session has answered, then as [`Side::step`] does.
    pub fn until_answered(&mut self, session: usize) -> Result<Vec<(usize, Answer)>> {
        let answer = self.sessions[session].answers.recv_timeout(PATIENCE).context("no answer")??;
        self.sessions[session].busy = false;
        let mut answers = vec![(session, answer)];
        answers.extend(self.settle()?);
        answers.sort_by_key(|(session, _)| *session);
        Ok(answers)
    }

    fn send(&mut self, session: usize, sql: &str) -> Result<()> {
        let session = &mut self.sessions[session];
        assert!(!session.busy, "a session has one statement at a time");
        session.statements.send(sql.to_owned())?;
        session.busy = true;
        Ok(())
    }

    fn settle(&mut self) -> Result<Vec<(usize, Answer)>> {
        let deadline = Instant::now() + PATIENCE;
        let mut answers: Vec<(usize, Answer)> = Vec::new();
        let mut calm_since: Option<Instant> = None;
        loop {
            let before = answers.len();
            self.gather(&mut answers)?;
            let busy = self.busy();
            if busy.is_empty() {
                break;
            }
            if answers.len() > before {
                calm_since = None;
            }
            // Asked after the answers were gathered: who had not answered by then and waits now, waits.
            let waiting = self.waiting()?;
            if !busy.iter().all(|session| waiting.contains(&self.sessions[*session].id)) {
                calm_since = None;
            } else if calm_since.get_or_insert_with(Instant::now).elapsed() >= CALM {
                break;
            }
            if Instant::now() > deadline {
                bail!("{:?}: sessions {busy:?} neither answer nor wait", self.kind);
            }
            thread::sleep(Duration::from_micros(300));
        }
        if self.kind == Kind::MariaDb {
            self.until_purged()?;
        }
        answers.sort_by_key(|(session, _)| *session);
        Ok(answers)
    }

    fn gather(&mut self, answers: &mut Vec<(usize, Answer)>) -> Result<()> {
        for (index, session) in self.sessions.iter_mut().enumerate().filter(|(_, session)| session.busy) {
            match session.answers.recv_timeout(Duration::from_micros(200)) {
                Ok(answer) => {
                    answers.push((index, answer?));
                    session.busy = false;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the thread of session {index} is gone"),
            }
        }
        Ok(())
    }

    /// The connections whose statements wait for a lock.
    fn waiting(&mut self) -> Result<BTreeSet<u64>> {
        match self.kind {
            Kind::MariaDb => Ok(self.status()?.waiting),
            Kind::Cohort => {
                let rows: Vec<Row> = self.control.query("SHOW PROCESSLIST")?;
                let waits = |row: &Row| row.get::<Option<String>, _>("State").flatten().as_deref() == Some(WAITS);
                Ok(rows.iter().filter(|row| waits(row)).filter_map(|row| row.get("Id")).collect())
            }
        }
    }

    /// InnoDB's account of itself.
    pub fn status(&mut self) -> Result<Status> {
        let row: Row = self.control.query_first("SHOW ENGINE INNODB STATUS")?.context("a status")?;
        Ok(Status::parse(&row.get::<String, _>("Status").context("its text")?))
    }

    /// Waits until InnoDB has removed what is deleted for good: what is deleted only by a mark is locked like a row.
    /// It does so at once, unless somebody could still read it.
    fn until_purged(&mut self) -> Result<()> {
        let (mut history, mut since) = (0, Instant::now());
        loop {
            let status = self.status()?;
            if status.history != history {
                (history, since) = (status.history, Instant::now());
            }
            if history == 0 || (status.purge_is_idle && since.elapsed() > CALM) || since.elapsed() > PURGE_PATIENCE {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The connection of a session.
    pub fn connection_of(&self, session: usize) -> u64 {
        self.sessions[session].id
    }

    /// The session of a connection.
    pub fn session_of(&self, connection: u64) -> Option<usize> {
        self.sessions.iter().position(|session| session.id == connection)
    }
}

fn text(value: Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    }
}

fn ask(conn: &mut Conn, sql: &str) -> Result<Answer> {
    let refused = |error: mysql::Error| match error {
        mysql::Error::MySqlError(error) => Ok(Answer::Error(error.code)),
        error => Err(error).with_context(|| sql.to_owned()),
    };
    let mut result = match conn.query_iter(sql) {
        Ok(result) => result,
        Err(error) => return refused(error),
    };
    if result.columns().as_ref().is_empty() {
        return Ok(Answer::Done(result.affected_rows()));
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        match row {
            Ok(row) => rows.push(row.unwrap().into_iter().map(text).collect()),
            Err(error) => return refused(error),
        }
    }
    Ok(Answer::Rows(rows))
}
