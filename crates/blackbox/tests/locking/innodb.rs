//! What SHOW ENGINE INNODB STATUS says about transactions, with `innodb_status_output_locks=ON`.

use std::collections::BTreeSet;
use std::fmt;

/// The part of the status that concerns locks.
#[derive(Debug, Default)]
pub struct Status {
    /// Connections whose transactions wait for a lock.
    pub waiting: BTreeSet<u64>,
    /// Transactions whose old versions are kept.
    pub history: u64,
    /// Whether the removal of old versions rests.
    pub purge_is_idle: bool,
    /// The record locks of each connection.
    pub locks: Vec<(u64, Vec<RecordLock>)>,
}

/// Locks of one kind on records of one index.
#[derive(Debug)]
pub struct RecordLock {
    index: String,
    shared: bool,
    place: Place,
    waits: bool,
    records: Vec<Record>,
}

/// What of a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Record,
    /// Only the gap before it.
    Gap,
    /// Both.
    NextKey,
    /// The gap before it, for a new record.
    Insert,
}

#[derive(Debug)]
struct Record {
    /// Its first two fields, which no other record has.
    identity: String,
    /// Its first field, to be shown.
    key: String,
}

impl Status {
    pub fn parse(text: &str) -> Status {
        let mut status = Status::default();
        let transactions = text.split("\nTRANSACTIONS\n").nth(1).unwrap_or_default();
        let transactions = transactions.split("\nFILE I/O\n").next().unwrap_or_default();
        status.purge_is_idle = transactions.contains("state: running but idle");
        let history = transactions.split("History list length ").nth(1).and_then(|rest| rest.lines().next());
        status.history = history.and_then(|number| number.trim().parse().ok()).unwrap_or(0);
        for transaction in transactions.split("---TRANSACTION ").skip(1) {
            let Some(connection) = number_after(transaction, "MariaDB thread id ") else { continue };
            if transaction.lines().any(|line| line.starts_with("LOCK WAIT ")) {
                status.waiting.insert(connection);
            }
            status.locks.push((connection, locks(transaction)));
        }
        status
    }

    /// The connections that hold what `connection` waits for.
    pub fn blockers(&self, connection: u64) -> Vec<u64> {
        let own = self.locks.iter().find(|(holder, _)| *holder == connection).map(|(_, locks)| locks.as_slice());
        let Some(wanted) = own.unwrap_or_default().iter().find(|lock| lock.waits) else { return Vec::new() };
        let others = self.locks.iter().filter(|(holder, _)| *holder != connection);
        let blocks = |locks: &[RecordLock]| locks.iter().any(|lock| lock.blocks(wanted));
        others.filter(|(_, locks)| blocks(locks)).map(|(holder, _)| *holder).collect()
    }

    /// The index and the key of the record that `connection` waits for, unless it is the gap before it.
    pub fn wanted_record(&self, connection: u64) -> Option<(&str, &str)> {
        let (_, own) = self.locks.iter().find(|(holder, _)| *holder == connection)?;
        let wanted = own.iter().find(|lock| lock.waits && lock.place != Place::Insert)?;
        let key = wanted.records.first()?.key.trim_start_matches("deleted ");
        Some((&wanted.index, key))
    }

    /// Whether `connection` waits to put a record into a gap.
    pub fn waits_to_insert(&self, connection: u64) -> bool {
        let own = self.locks.iter().filter(|(holder, _)| *holder == connection);
        own.flat_map(|(_, locks)| locks).any(|lock| lock.waits && lock.place == Place::Insert)
    }

    /// Whether those that `connection` waits for wait, at any remove, for it.
    pub fn is_deadlocked(&self, connection: u64) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![connection]);
        while let Some(waiting) = open.pop() {
            for blocker in self.blockers(waiting) {
                if blocker == connection {
                    return true;
                }
                if seen.insert(blocker) {
                    open.push(blocker);
                }
            }
        }
        false
    }
}

impl RecordLock {
    fn blocks(&self, wanted: &RecordLock) -> bool {
        let place = match wanted.place {
            Place::Insert => matches!(self.place, Place::Gap | Place::NextKey),
            _ => matches!(self.place, Place::Record | Place::NextKey) && !(self.shared && wanted.shared),
        };
        let same = |record: &Record| wanted.records.iter().any(|other| record.identity == other.identity);
        place && !self.waits && self.index == wanted.index && self.records.iter().any(same)
    }
}

impl fmt::Display for RecordLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Record => "record",
            Place::Gap => "gap",
            Place::NextKey => "next-key",
            Place::Insert => "insert intention",
        };
        let waits = if self.waits { " WAITS" } else { "" };
        write!(f, "{} {} {place}{waits}:", self.index, if self.shared { "S" } else { "X" })?;
        self.records.iter().try_for_each(|record| write!(f, " {}", record.key))
    }
}

fn number_after(text: &str, mark: &str) -> Option<u64> {
    let rest = text.split(mark).nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The record locks of one transaction.
fn locks(transaction: &str) -> Vec<RecordLock> {
    let mut locks: Vec<RecordLock> = Vec::new();
    // What is waited for is described twice.
    let mut twice = false;
    for line in transaction.lines() {
        if line.starts_with("-----") {
            twice = line.contains("TRX HAS BEEN WAITING");
        } else if twice {
            continue;
        } else if let Some(rest) = line.strip_prefix("RECORD LOCKS ") {
            locks.push(record_lock(rest));
        } else if let (Some(rest), Some(lock)) = (line.strip_prefix("Record lock, heap no "), locks.last_mut()) {
            let supremum = rest.starts_with("1 ");
            let key = if supremum {
                "supremum"
            } else if rest.ends_with("info bits 32") {
                "deleted "
            } else {
                ""
            };
            let identity = if supremum { "supremum" } else { "" };
            lock.records.push(Record { identity: identity.to_owned(), key: key.to_owned() });
        } else if let Some(record) = locks.last_mut().and_then(|lock| lock.records.last_mut())
            && record.identity != "supremum"
        {
            if let Some(first) = line.strip_prefix(" 0: ") {
                record.key += &field(first);
                record.identity += first;
            } else if let Some(second) = line.strip_prefix(" 1: ") {
                record.identity += second;
            }
        }
    }
    locks
}

fn record_lock(text: &str) -> RecordLock {
    let index = text.split("index ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("?");
    let mode = text.split(" trx id ").nth(1).unwrap_or_default();
    let place = if mode.contains("insert intention") {
        Place::Insert
    } else if mode.contains("rec but not gap") {
        Place::Record
    } else if mode.contains("gap before rec") {
        Place::Gap
    } else {
        Place::NextKey
    };
    let shared = mode.contains("lock mode S") || mode.contains("lock_mode S");
    RecordLock { index: index.to_owned(), shared, place, waits: mode.ends_with(" waiting"), records: Vec::new() }
}

/// The first field of a record: an INT, or NULL.
fn field(text: &str) -> String {
    if text.contains("SQL NULL") {
        return "NULL".to_owned();
    }
    let hex = text.split("hex ").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
    match u64::from_str_radix(hex, 16) {
        Ok(number) if hex.len() == 8 => (i64::try_from(number).unwrap_or(0) - 0x8000_0000).to_string(),
        _ => format!("row {}", hex.trim_start_matches('0')),
    }
}
