//! Transactions that leave a unique token in several tables, and the memory of what became of them.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::rng::Rng;
use anyhow::{Context, Result, ensure};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, params};

/// How often a test repeats itself: `COHORT_ROUNDS`, or so often.
pub fn rounds(default: u64) -> u64 {
    std::env::var("COHORT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Several workers at once.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Of all rounds of a test.
    pub seed: u64,
    pub number: u64,
    /// How many.
    pub workers: u64,
    /// What they must expect.
    pub faults: Faults,
}

impl Round {
    /// Runs the load until `meanwhile` is through with the server, and adds to `history` what it received.
    pub fn run(self, options: &Opts, history: &mut History, meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
        let stop = AtomicBool::new(false);
        let mut workers: Vec<Worker> = (0..self.workers).map(|number| Worker::new(number, self, history)).collect();
        thread::scope(|scope| {
            let running: Vec<_> = workers
                .iter_mut()
                .map(|worker| {
                    let (options, stop) = (options.clone(), &stop);
                    scope.spawn(move || worker.run(options, stop))
                })
                .collect();
            let done = meanwhile();
            stop.store(true, Ordering::Relaxed);
            let joined = running.into_iter().map(|thread| thread.join().expect("a worker panicked"));
            let outcome: Result<Vec<()>> = joined.collect();
            done.and(outcome.map(drop))
        })?;
        workers.into_iter().for_each(|worker| history.absorb(worker));
        Ok(())
    }
}

/// Accounts there are.
pub const ACCOUNTS: u64 = 60;
/// What each holds at the beginning.
pub const OPENING_BALANCE: i64 = 1000;

/// Where an account is: tables of two engines, so that half of the transfers move money between them.
pub fn table_of_account(id: u64) -> &'static str {
    if id.is_multiple_of(2) { "accounts" } else { "vault" }
}

/// The part of a transfer's token in the `ledger` table.
pub const PART_TRANSFER: u64 = 0;
/// The part of a later change's token.
pub const PART_TOUCH: u64 = 9;
/// The part that a savepoint undoes.
pub const PART_UNDONE: u64 = 66;

/// What a transaction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Moves money between two accounts; the token goes to transfers, labels, ledger and heap.
    Transfer,
    /// One statement that inserts three rows of the ledger.
    Batch,
    /// Changes an earlier transfer and its indexed columns; the token goes there and to the ledger.
    Touch,
    /// CREATE TABLE and CREATE INDEX of a table named by the token.
    Create,
    /// DROP TABLE of the table named by the token.
    Drop,
}

/// What is known of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The server said OK to its commit.
    Acknowledged,
    /// Its commit was sent and the server died: all of it or nothing of it may be there.
    InDoubt,
    /// It was rolled back, or the server died before its commit was sent.
    Absent,
}

/// Everything every worker did, by token.
#[derive(Debug, Default)]
pub struct History {
    /// What each transaction is and what is known of it.
    pub fates: BTreeMap<u64, (Kind, Fate)>,
    transfers: BTreeMap<u64, Vec<u64>>,
}

impl History {
    /// Takes over what a worker remembers.
    fn absorb(&mut self, worker: Worker) {
        for (token, kind, fate) in worker.done {
            self.fates.insert(token, (kind, fate));
        }
        self.transfers.insert(worker.number, worker.transfers);
    }

    /// Transactions that must be in the server.
    pub fn acknowledged(&self) -> u64 {
        self.fates.values().filter(|(_, fate)| *fate == Fate::Acknowledged).count() as u64
    }
}

/// One client connection's part of the load in one round.
struct Worker {
    number: u64,
    next_token: u64,
    rng: Rng,
    faults: Faults,
    done: Vec<(u64, Kind, Fate)>,
    /// Its own acknowledged transfers, in which it may touch rows later.
    transfers: Vec<u64>,
}

/// What may become of a server's disk, and with it of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Nothing: any error but a lock conflict or a connection that a kill took is a failure.
    None,
    /// It may be full, or fail for good: then statements fail, and an outcome may be unknown.
    Disk,
}

/// Why a transaction did not come to its end.
enum Stop {
    /// The server refused a statement; the transaction was rolled back.
    Refused,
    /// The connection is gone.
    Lost,
}

impl Worker {
    /// Worker `number` of a round, which goes on with its own rows of earlier ones.
    fn new(number: u64, round: Round, history: &History) -> Worker {
        let transfers = history.transfers.get(&number).cloned().unwrap_or_default();
        let next_token = (round.number + 1) << 32 | number << 24;
        let rng = Rng::stream(round.seed, round.number * round.workers + number);
        Worker { number, next_token, rng, faults: round.faults, done: Vec::new(), transfers }
    }

    /// Runs transactions until the connection is lost. An error is a wrong answer of the server.
    fn run(&mut self, options: Opts, stop: &AtomicBool) -> Result<()> {
        let opened = Conn::new(options).and_then(|mut conn| conn.query_drop("USE crash").map(|()| conn));
        let mut conn = match opened {
            Ok(conn) => conn,
            Err(error) => return classify(error, self.faults).map(drop),
        };
        while !stop.load(Ordering::Relaxed) {
            let token = self.next_token;
            self.next_token += 1;
            if self.number == 1 && self.rng.chance(10) {
                let altered = self.alter(&mut conn);
                if let Err(error) = altered
                    && let Stop::Lost = classify(error, self.faults)?
                {
                    return Ok(());
                }
            }
            let kind = match self.rng.below(100) {
                0..20 if self.number == 0 => Kind::Create,
                0..50 => Kind::Transfer,
                50..75 => Kind::Batch,
                _ => Kind::Touch,
            };
            let mut fate = Fate::Absent;
            let outcome = match kind {
                Kind::Transfer => self.transfer(&mut conn, token, &mut fate),
                Kind::Batch => self.batch(&mut conn, token, &mut fate),
                Kind::Touch => self.touch(&mut conn, token, &mut fate),
                Kind::Create | Kind::Drop => self.create(&mut conn, token, &mut fate),
            };
            self.done.push((token, kind, fate));
            if kind == Kind::Transfer && fate == Fate::Acknowledged {
                self.transfers.push(token);
            }
            match outcome {
                Ok(()) => {}
                Err(error) => match classify(error, self.faults)? {
                    Stop::Lost => return Ok(()),
                    Stop::Refused => {
                        if let Err(error) = conn.query_drop("ROLLBACK") {
                            return classify(error, self.faults).map(drop);
                        }
                    }
                },
            }
        }
        Ok(())
    }

    fn transfer(&mut self, conn: &mut Conn, token: u64, fate: &mut Fate) -> mysql::Result<()> {
        let from = self.rng.below(ACCOUNTS);
        let to = (from + 1 + self.rng.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = self.rng.below(100) as i64;
        conn.query_drop("BEGIN")?;
        let (from_table, to_table) = (table_of_account(from), table_of_account(to));
        conn.exec_drop(format!("SELECT balance FROM {from_table} WHERE id = ? FOR UPDATE"), (from,))?;
        // The two accounts are locked in no fixed order: deadlocks are part of the load.
        conn.exec_drop(format!("UPDATE {from_table} SET balance = balance - ? WHERE id = ?"), (amount, from))?;
        conn.exec_drop(format!("UPDATE {to_table} SET balance = balance + ? WHERE id = ?"), (amount, to))?;
        conn.exec_drop(
            "INSERT INTO transfers (token, src, dst, amount) VALUES (?, ?, ?, ?)",
            (token, from, to, amount),
        )?;
        if self.rng.chance(20) {
            conn.query_drop("SAVEPOINT half_way")?;
            self.ledger(conn, token, PART_UNDONE)?;
            conn.query_drop("ROLLBACK TO SAVEPOINT half_way")?;
        }
        let label = format!("label {token}");
        conn.exec_drop("INSERT INTO labels (token, label) VALUES (?, ?)", (token, label))?;
        self.ledger(conn, token, PART_TRANSFER)?;
        let bytes = if self.rng.chance(2) { 20_000 } else { self.rng.below(200) as usize };
        let body = self.rng.text(bytes);
        conn.exec_drop("INSERT INTO heap (token, body) VALUES (?, ?)", (token, body))?;
        if self.rng.chance(10) {
            return conn.query_drop("ROLLBACK");
        }
        decide(fate, conn.query_drop("COMMIT"))
    }

    fn batch(&mut self, conn: &mut Conn, token: u64, fate: &mut Fate) -> mysql::Result<()> {
        let payload = self.rng.text(30).replace('\\', "\\\\").replace('\'', "''");
        let rows: Vec<String> = (1..=3).map(|part| format!("({token}, {part}, '{payload}')")).collect();
        let sql = format!("INSERT INTO ledger (token, part, payload) VALUES {}", rows.join(", "));
        decide(fate, conn.query_drop(sql))
    }

    fn touch(&mut self, conn: &mut Conn, token: u64, fate: &mut Fate) -> mysql::Result<()> {
        if self.transfers.is_empty() {
            return Ok(());
        }
        let pick = self.rng.below(self.transfers.len() as u64) as usize;
        let target = self.transfers[pick];
        conn.query_drop("START TRANSACTION")?;
        let change = params! { "token" => token, "shelf" => self.rng.below(9), "target" => target };
        conn.exec_drop("UPDATE transfers SET touched_by = :token, shelf = :shelf WHERE token = :target", change)?;
        let label = format!("label {target} by {token}");
        conn.exec_drop("UPDATE labels SET label = ? WHERE token = ?", (label, target))?;
        self.ledger(conn, token, PART_TOUCH)?;
        decide(fate, conn.query_drop("COMMIT"))
    }

    fn create(&mut self, conn: &mut Conn, token: u64, fate: &mut Fate) -> mysql::Result<()> {
        let engine = if self.rng.chance(50) { "redb" } else { "RocksDB" };
        conn.query_drop(format!("SET default_storage_engine = {engine}"))?;
        let create = format!("CREATE TABLE made_{token} (id INT PRIMARY KEY, v VARCHAR(20))");
        decide(fate, conn.query_drop(create))?;
        conn.query_drop(format!("INSERT INTO made_{token} VALUES (1, 'one'), (2, 'two')"))?;
        conn.query_drop(format!("CREATE INDEX by_v ON made_{token} (v)"))?;
        if self.rng.chance(50) {
            let drop_token = self.next_token;
            self.next_token += 1;
            let mut dropped = Fate::Absent;
            let outcome = decide(&mut dropped, conn.query_drop(format!("DROP TABLE made_{token}")));
            self.done.push((drop_token, Kind::Drop, dropped));
            // The table of an acknowledged drop must be gone; of one in doubt, it may be.
            *fate = match dropped {
                Fate::Acknowledged => Fate::Absent,
                Fate::InDoubt => Fate::InDoubt,
                _ => *fate,
            };
            return outcome;
        }
        Ok(())
    }

    /// Changes a table that the others write to meanwhile, and none of its values.
    fn alter(&mut self, conn: &mut Conn) -> mysql::Result<()> {
        const CHANGES: [&str; 12] = [
            "transfers ADD KEY IF NOT EXISTS by_amount (amount, dst)",
            "transfers DROP KEY IF EXISTS by_amount",
            "transfers FORCE",
            "transfers MODIFY dst BIGINT NOT NULL",
            "transfers MODIFY dst INT NOT NULL",
            "labels ADD UNIQUE KEY IF NOT EXISTS by_both (label, token)",
            "labels DROP KEY IF EXISTS by_both",
            "ledger ADD KEY IF NOT EXISTS by_payload (payload)",
            "ledger DROP KEY IF EXISTS by_payload",
            "ledger FORCE",
            "heap ADD UNIQUE KEY IF NOT EXISTS by_token (token)",
            "heap FORCE, DROP KEY IF EXISTS by_token",
        ];
        let change = CHANGES[self.rng.below(CHANGES.len() as u64) as usize];
        conn.query_drop(format!("ALTER TABLE {change}"))
    }

    fn ledger(&mut self, conn: &mut Conn, token: u64, part: u64) -> mysql::Result<()> {
        let payload = self.rng.text(20);
        let sql = "INSERT INTO ledger (token, part, payload) VALUES (?, ?, ?)";
        conn.exec_drop(sql, (token, part, payload))
    }
}

/// There is no room for what a statement writes.
pub const ER_DISK_FULL: u16 = 1021;
/// The log takes no more writes; the transaction was rolled back.
const ER_ERROR_ON_WRITE: u16 = 1026;
/// The log could not be written: nobody knows what became of the transaction until the next start.
const ER_ERROR_DURING_COMMIT: u16 = 1180;

/// Sets the fate of a transaction from the answer to its commit.
fn decide(fate: &mut Fate, answer: mysql::Result<()>) -> mysql::Result<()> {
    *fate = match &answer {
        Ok(()) => Fate::Acknowledged,
        Err(mysql::Error::MySqlError(refusal)) if refusal.code == ER_ERROR_DURING_COMMIT => Fate::InDoubt,
        Err(mysql::Error::MySqlError(_)) => Fate::Absent,
        Err(_) => Fate::InDoubt,
    };
    answer
}

/// A lock conflict or a lost connection is part of the load, and what a failing disk does where there is one;
/// any other error is a failure.
fn classify(error: mysql::Error, faults: Faults) -> Result<Stop> {
    match &error {
        mysql::Error::MySqlError(refusal) if faults == Faults::Disk => match refusal.code {
            1205 | 1213 | ER_DISK_FULL => Ok(Stop::Refused),
            // With the last three it says that it is shutting down, that the connection was killed, or, to a statement
            // that waited for a lock then, that it was interrupted.
            ER_ERROR_ON_WRITE | ER_ERROR_DURING_COMMIT | 1053 | 1317 | 1927 => Ok(Stop::Lost),
            // What an engine could not read or write.
            1024 | 1030 | 1296 => Ok(Stop::Refused),
            _ => Err(error.into()),
        },
        mysql::Error::MySqlError(refusal) if matches!(refusal.code, 1205 | 1213) => Ok(Stop::Refused),
        lost if is_lost(lost) => Ok(Stop::Lost),
        _ => Err(error.into()),
    }
}

/// Whether the connection is gone, or there was none: all that the kill of a server may send its clients.
pub fn is_lost(error: &mysql::Error) -> bool {
    use mysql::DriverError::{ConnectTimeout, CouldNotConnect};
    match error {
        mysql::Error::IoError(_) | mysql::Error::DriverError(CouldNotConnect(_) | ConnectTimeout) => true,
        // Its other kinds are wrong packets.
        mysql::Error::CodecError(error) => error.source().is_some_and(|source| source.is::<io::Error>()),
        _ => false,
    }
}

/// A disk with less room than this is full: files that the servers of these tests begin take as much.
const ROOM: u64 = 1 << 20;
/// For what takes a moment: a busy machine may need many.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Writes until the server says that there is no room, or says nothing while there is none: it may hold a commit
/// whose log has room and whose engine has not. What it said.
pub fn write_until_full(datadir: &Path, options: Opts) -> Result<String> {
    let mut conn = Conn::new(options)?;
    conn.query_drop("USE crash")?;
    let (sender, outcomes) = mpsc::channel();
    thread::spawn(move || {
        let body = "x".repeat(30_000);
        // Ends with an error, or when nobody listens any more.
        while sender.send(conn.exec_drop("INSERT INTO wide (body) VALUES (?)", (&body,))).is_ok() {}
    });
    let mut answered = Instant::now();
    loop {
        match outcomes.recv_timeout(Duration::from_secs(3)) {
            Ok(Ok(())) => answered = Instant::now(),
            Ok(Err(mysql::Error::MySqlError(refusal))) if refusal.code == ER_DISK_FULL => {
                return Ok(refusal.message);
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => {
                let disk = rustix::fs::statvfs(datadir)?;
                let room = disk.f_bavail * disk.f_frsize;
                if room < ROOM {
                    return Ok(format!("nothing, with {room} bytes left"));
                }
                ensure!(answered.elapsed() < PATIENCE, "no answer, though there is room for {room} bytes");
            }
        }
    }
}

/// The tables of the load, with every account at its opening balance. The engine is the session's default
/// instead of the tables' own, so that the binlog runs on a server that does not have it.
pub fn create_tables(conn: &mut Conn) -> Result<()> {
    for statement in [
        "CREATE DATABASE crash",
        "USE crash",
        "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
        "CREATE TABLE transfers (token BIGINT UNSIGNED PRIMARY KEY, src INT NOT NULL, dst INT NOT NULL, \
         amount BIGINT NOT NULL, touched_by BIGINT UNSIGNED NOT NULL DEFAULT 0, shelf INT, \
         KEY by_src (src), KEY by_shelf (shelf, dst))",
        "CREATE TABLE heap (token BIGINT UNSIGNED NOT NULL, body TEXT)",
        "CREATE TABLE wide (id INT AUTO_INCREMENT PRIMARY KEY, body LONGTEXT)",
        "SET default_storage_engine = redb",
        "CREATE TABLE vault (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
        "CREATE TABLE labels (token BIGINT UNSIGNED PRIMARY KEY, label VARCHAR(80) NOT NULL, \
         UNIQUE KEY by_label (label))",
        "CREATE TABLE ledger (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
         token BIGINT UNSIGNED NOT NULL, part INT NOT NULL, payload VARCHAR(100), \
         UNIQUE KEY by_token (token, part), KEY by_part (part))",
    ] {
        conn.query_drop(statement)?;
    }
    for id in 0..ACCOUNTS {
        conn.query_drop(format!("INSERT INTO {} VALUES ({id}, {OPENING_BALANCE})", table_of_account(id)))?;
    }
    for (table, engine) in [("accounts", "RocksDB"), ("vault", "redb"), ("ledger", "redb")] {
        let status: mysql::Row = conn.query_first(format!("SHOW TABLE STATUS LIKE '{table}'"))?.context("a table")?;
        ensure!(status.get::<String, _>("Engine").as_deref() == Some(engine), "{table} is not in {engine}");
    }
    Ok(())
}
