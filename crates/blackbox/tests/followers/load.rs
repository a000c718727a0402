//! The load that every follower is judged by: what each transaction changed, as its own session saw it, and what became
//! of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::load::is_lost;
use cohort_blackbox::rng::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, Row};

use crate::shown::shown;
use crate::tables;

/// A transaction. Its first change is its token's row in `begun`.
#[derive(Debug, Clone)]
pub struct Done {
    pub token: u64,
    /// Kind, table and values of each change, in order.
    pub changes: Vec<String>,
    pub fate: Fate,
    /// When its commit was sent, and when its OK came, on one clock of all sessions.
    pub sent: u64,
    pub answered: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Committed,
    /// The server died during the commit.
    InDoubt,
    Absent,
}

/// The load. It goes on until [`Load::finish`], and through crashes of its server.
pub struct Load {
    options: Opts,
    clock: AtomicU64,
    stop: AtomicBool,
    done: Mutex<Vec<Done>>,
    /// Held by whoever changes definitions, or must not have them changed.
    definitions: Mutex<()>,
    /// Whether the load is light.
    light: AtomicBool,
    seed: u64,
    sessions: u64,
}

/// The token of the last transaction.
pub const END: u64 = u64::MAX;
const FIRST: u64 = 1;
/// Rows that all sessions change.
const SHARED: u64 = 12;

impl Load {
    /// Creates the tables.
    pub fn begin(options: Opts, seed: u64, sessions: u64) -> Result<Load> {
        let mut conn = Conn::new(options.clone())?;
        tables::create(&mut conn)?;
        let load = Load {
            options,
            clock: AtomicU64::new(1),
            stop: AtomicBool::new(false),
            done: Mutex::default(),
            definitions: Mutex::default(),
            light: AtomicBool::new(false),
            seed,
            sessions,
        };
        load.one(FIRST, |session| {
            for id in 0..SHARED {
                session.insert("pair_a", id, &format!("({id}, 0, 'of all')"))?;
                session.insert("pair_b", id, &format!("({id}, 0, 'of all')"))?;
            }
            Ok(())
        })?;
        Ok(load)
    }

    /// Runs the sessions while `meanwhile` runs, which gets a way to wait until so many transactions more have ended.
    pub fn run(&self, round: u64, meanwhile: impl FnOnce(&dyn Fn(usize) -> Result<()>) -> Result<()>) -> Result<()> {
        self.stop.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            let sessions: Vec<_> =
                (0..self.sessions).map(|number| scope.spawn(move || self.session(round, number))).collect();
            let broken = || sessions.iter().any(|session| session.is_finished());
            let wait = |more: usize| {
                let (from, deadline) = (self.count(), Instant::now() + Duration::from_secs(300));
                while self.count() < from + more {
                    ensure!(!broken(), "a session has ended");
                    ensure!(Instant::now() < deadline, "{} transactions of {more}", self.count() - from);
                    thread::sleep(Duration::from_millis(5));
                }
                Ok(())
            };
            let outcome = meanwhile(&wait);
            self.stop.store(true, Ordering::Relaxed);
            let ends: Result<Vec<()>> =
                sessions.into_iter().map(|session| session.join().expect("a session panicked")).collect();
            ends?;
            outcome
        })
    }

    /// The load changes rows only until the guard is dropped.
    pub fn hold_definitions(&self) -> MutexGuard<'_, ()> {
        self.definitions.lock().expect("no panic")
    }

    /// Runs something while the load changes rows only, and few of them, as this may take minutes.
    pub fn without_definitions<T>(&self, body: impl FnOnce() -> T) -> T {
        let _definitions = self.hold_definitions();
        self.light.store(true, Ordering::Relaxed);
        let outcome = body();
        self.light.store(false, Ordering::Relaxed);
        outcome
    }

    /// One transaction of its own, on a server that does not fail.
    pub fn one(&self, token: u64, body: impl FnOnce(&mut Session) -> mysql::Result<()>) -> Result<()> {
        let mut session = self.connect(token, Rng::new(token))?;
        let done = session.transaction(token, body)?;
        ensure!(done.fate == Fate::Committed, "{done:?}");
        self.done.lock().expect("no panic").push(done);
        Ok(())
    }

    /// The last transaction, and all that was done.
    pub fn finish(self) -> Result<Vec<Done>> {
        self.one(END, |_| Ok(()))?;
        Ok(self.done.into_inner()?)
    }

    fn count(&self) -> usize {
        self.done.lock().expect("no panic").len()
    }

    fn connect(&self, number: u64, rng: Rng) -> mysql::Result<Session<'_>> {
        let mut conn = Conn::new(self.options.clone())?;
        conn.query_drop("USE follow")?;
        conn.query_drop("SET time_zone = '+00:00'")?;
        Ok(Session { conn, rng, number, clock: &self.clock, changes: Vec::new() })
    }

    /// Connects again whenever the server has gone.
    fn session(&self, round: u64, number: u64) -> Result<()> {
        let mut rng = Rng::stream(self.seed, round << 8 | number);
        let mut next = (round + 1) << 40 | number << 32;
        while !self.stop.load(Ordering::Relaxed) {
            let mut session = match self.connect(number, rng.clone()) {
                Ok(session) => session,
                Err(error) if is_lost(&error) => {
                    thread::sleep(Duration::from_millis(20));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            while !self.stop.load(Ordering::Relaxed) {
                if self.light.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(100));
                }
                next += 1;
                let token = next;
                let done = if number == 0 && session.rng.chance(4) {
                    let _definitions = self.hold_definitions();
                    session.definitions(&mut next, &self.done)
                } else {
                    session.transaction(token, |session| session.any(token)).map(Some)
                };
                match done {
                    Ok(Some(done)) => {
                        let lost = done.fate == Fate::InDoubt;
                        self.done.lock().expect("no panic").push(done);
                        if lost {
                            break;
                        }
                    }
                    Ok(None) => {}
                    Err(error) if is_lost(&error) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            rng = session.rng;
        }
        Ok(())
    }
}

/// A connection, and the changes of its transaction.
pub struct Session<'a> {
    pub conn: Conn,
    pub rng: Rng,
    number: u64,
    clock: &'a AtomicU64,
    changes: Vec<String>,
}

impl Session<'_> {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A transaction that `body` fills. An error is not a deadlock.
    fn transaction(&mut self, token: u64, body: impl FnOnce(&mut Self) -> mysql::Result<()>) -> mysql::Result<Done> {
        self.changes.clear();
        let filled = self.conn.query_drop("BEGIN").and_then(|()| {
            let number = self.number;
            self.conn.query_drop(format!("INSERT INTO begun VALUES ({token}, {number})"))?;
            self.changes.push(format!("+\tfollow.begun\t{token}\t{number}"));
            body(self)
        });
        let mut done = Done { token, changes: Vec::new(), fate: Fate::Absent, sent: 0, answered: u64::MAX };
        match filled {
            Ok(()) => {}
            // A deadlock, or a wait that took too long.
            Err(mysql::Error::MySqlError(error)) if matches!(error.code, 1205 | 1213) => {
                self.conn.query_drop("ROLLBACK")?;
                return Ok(done);
            }
            Err(error) => return Err(error),
        }
        if token != END && token != FIRST && self.rng.chance(8) {
            self.conn.query_drop("ROLLBACK")?;
            return Ok(done);
        }
        done.changes = std::mem::take(&mut self.changes);
        done.sent = self.now();
        match self.conn.query_drop("COMMIT") {
            Ok(()) => {
                done.answered = self.now();
                done.fate = Fate::Committed;
            }
            Err(error) if is_lost(&error) => done.fate = Fate::InDoubt,
            Err(error) => return Err(error),
        }
        Ok(done)
    }

    /// A few changes of one or of several tables.
    fn any(&mut self, token: u64) -> mysql::Result<()> {
        let own = token & 0xff_ffff;
        let id = (token >> 40) * 100_000_000 + self.number * 10_000_000 + own * 4;
        for _ in 0..=self.rng.below(3) {
            match self.rng.below(8) {
                0 | 1 => {
                    let (a, b) = (self.rng.below(SHARED), self.rng.below(SHARED));
                    self.update("pair_a", &[a], &format!("token = {token}"))?;
                    self.update("pair_b", &[b], &format!("token = {token}, v = CONCAT(LEFT(v, 20), '{own}')"))?;
                }
                2 | 3 => {
                    let exists = self.rng.chance(50);
                    let id = id + self.rng.below(4);
                    self.random_row(id)?;
                    if exists {
                        let assignments = tables::assignments(&mut self.rng);
                        self.update("all_types", &[id], &assignments)?;
                    }
                }
                4 => {
                    self.conn.query_drop("SAVEPOINT s")?;
                    let before = self.changes.len();
                    let _ = self.upsert("pair_a", id + 1, &format!("({}, {token}, 'undone')", id + 1))?;
                    self.upsert("pair_b", id + 1, &format!("({}, {token}, NULL)", id + 1))?;
                    if self.rng.chance(60) {
                        self.conn.query_drop("ROLLBACK TO SAVEPOINT s")?;
                        self.changes.truncate(before);
                    }
                }
                5 => {
                    let document = tables::document(&mut self.rng);
                    self.upsert("documents", id, &format!("({id}, {document})"))?;
                }
                6 => {
                    let ids: Vec<u64> = (0..3).map(|n| id + n).collect();
                    let gone: Vec<String> = ids.iter().map(u64::to_string).collect();
                    self.delete("pair_b", &ids)?;
                    let rows: Vec<String> = gone.iter().map(|id| format!("({id}, {token}, 'of three')")).collect();
                    self.conn.query_drop(format!("INSERT INTO pair_b VALUES {}", rows.join(", ")))?;
                    for id in ids {
                        let image = self.image("pair_b", id)?;
                        self.changes.extend(image.map(|image| format!("+\tfollow.pair_b\t{image}")));
                    }
                }
                _ => {
                    let earlier = id.saturating_sub(4 * self.rng.below(20));
                    self.delete("all_types", &[earlier])?;
                    self.update("pair_b", &[earlier], "v = NULL")?;
                }
            }
        }
        Ok(())
    }

    fn random_row(&mut self, id: u64) -> mysql::Result<()> {
        let values = tables::values(&mut self.rng);
        self.upsert("all_types", id, &format!("({id}, {values})")).map(drop)
    }

    /// DDL that goes with a table of this session, and rows between.
    fn definitions(&mut self, next: &mut u64, all: &Mutex<Vec<Done>>) -> mysql::Result<Option<Done>> {
        let name = format!("made_{next}");
        let renamed = format!("{name}_later");
        self.conn.query_drop(format!("CREATE TABLE {name} (id BIGINT PRIMARY KEY, v VARCHAR(20)) ENGINE=redb"))?;
        let steps = [
            (String::new(), &name, "'one'"),
            (format!("ALTER TABLE {name} ADD COLUMN w INT NOT NULL DEFAULT 7 AFTER id"), &name, "2, 'two'"),
            (format!("RENAME TABLE {name} TO {renamed}"), &renamed, "3, NULL"),
            (format!("TRUNCATE TABLE {renamed}"), &renamed, "4, 'four'"),
            (format!("CREATE INDEX by_v ON {renamed} (v)"), &renamed, "5, 'five'"),
            (format!("ALTER TABLE {renamed} DROP COLUMN v"), &renamed, "6"),
        ];
        for (ddl, table, values) in steps {
            if !ddl.is_empty() {
                self.conn.query_drop(ddl)?;
            }
            *next += 1;
            let token = *next;
            let done =
                self.transaction(token, |session| session.insert(table, token, &format!("({token}, {values})")))?;
            let lost = done.fate == Fate::InDoubt;
            all.lock().expect("no panic").push(done);
            if lost {
                return Err(mysql::Error::IoError(std::io::ErrorKind::ConnectionReset.into()));
            }
        }
        if self.rng.chance(50) {
            self.conn.query_drop(format!("DROP TABLE {renamed}"))?;
        }
        Ok(None)
    }

    fn image(&mut self, table: &str, id: u64) -> mysql::Result<Option<String>> {
        let row: Option<Row> = self.conn.query_first(format!("SELECT * FROM {table} WHERE id = {id} FOR UPDATE"))?;
        Ok(row.map(|row| shown(&row).expect("a row can be shown")))
    }

    pub fn insert(&mut self, table: &str, id: u64, row: &str) -> mysql::Result<()> {
        self.conn.query_drop(format!("INSERT INTO {table} VALUES {row}"))?;
        let image = self.image(table, id)?.unwrap_or_default();
        self.changes.push(format!("+\tfollow.{table}\t{image}"));
        Ok(())
    }

    /// Inserts a row, or replaces the one that is there. Whether there was one.
    fn upsert(&mut self, table: &str, id: u64, row: &str) -> mysql::Result<bool> {
        let gone = self.delete(table, &[id])?;
        self.insert(table, id, row)?;
        Ok(gone)
    }

    fn delete(&mut self, table: &str, ids: &[u64]) -> mysql::Result<bool> {
        let mut lines = Vec::new();
        for id in ids {
            lines.extend(self.image(table, *id)?.map(|image| format!("-\tfollow.{table}\t{image}")));
        }
        let list: Vec<String> = ids.iter().map(u64::to_string).collect();
        self.conn.query_drop(format!("DELETE FROM {table} WHERE id IN ({})", list.join(", ")))?;
        let gone = !lines.is_empty();
        self.changes.extend(lines);
        Ok(gone)
    }

    fn update(&mut self, table: &str, ids: &[u64], assignments: &str) -> mysql::Result<()> {
        let mut before = Vec::new();
        for id in ids {
            before.extend(self.image(table, *id)?.map(|image| (*id, image)));
        }
        let list: Vec<String> = ids.iter().map(u64::to_string).collect();
        self.conn.query_drop(format!("UPDATE {table} SET {assignments} WHERE id IN ({})", list.join(", ")))?;
        for (id, before) in before {
            let after = self.image(table, id)?.unwrap_or_default();
            if before != after {
                self.changes.push(format!(">\tfollow.{table}\t{before}\t=>\t{after}"));
            }
        }
        Ok(())
    }
}

/// Which tokens are in the server.
pub fn tokens(options: Opts) -> Result<std::collections::BTreeSet<u64>> {
    let mut conn = Conn::new(options)?;
    Ok(conn.query("SELECT token FROM follow.begun").context("the tokens")?.into_iter().collect())
}
