//! The audit log: who came in, who did not, who changed accounts, and every statement if that is asked for.
//!
//! Format: one JSON object a line, with `time` (UTC), `event` and what belongs to it: `connect` (also of a change of
//! user; `errno` is 0, or why not), `disconnect`, `account` (a statement about accounts, `errno` as before),
//! `statement`, `prepare` and `execute` (before they are executed; `execute` with the beginning of the text only).
//! Passwords are masked. Whatever a client sends stays within its field.
//!
//! The file becomes `FILE.1` when it is as long as `audit_log_rotate_on_size` says, that `FILE.2`, and so on, up to
//! `audit_log_rotations`; FLUSH LOGS and SIGHUP open it again by its name, for those who rename it themselves.
//!
//! Invariants
//! 1. An entry is with the operating system before its statement begins, or its client hears of its login.
//! 2. No commit waits for it: only the thread that serves the client writes.
//! 3. What cannot be written is counted, and said in the operator's log once until writing succeeds again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::SystemTime;

use cohort_io::sync::Mutex;
use cohort_sql::types::temporal::DateTime;
use rustix::fs::OFlags;
use serde_json::{Map, Value, json};

use crate::status::{Counters, count};
use crate::sysvars::{Globals, ids};

/// Most bytes of a statement's text that are kept.
const TEXT_MAX: usize = 64 << 10;

const NONE: u8 = 0;
const LOGINS: u8 = 1;
const ALL: u8 = 2;

/// Where entries go, and which.
#[derive(Debug, Default)]
pub struct Audit {
    log: Option<Mutex<AuditFile>>,
    policy: AtomicU8,
}

#[derive(Debug)]
struct AuditFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// 0 for no rotation.
    rotate_at: u64,
    rotations: u64,
    fails: bool,
}

impl Audit {
    /// The log that `globals` name, below `dir` if its name is relative; none if there is no name.
    pub fn open(dir: &Path, globals: &Globals) -> io::Result<Audit> {
        let name = globals.get(ids::AUDIT_LOG_FILE);
        if name.is_empty() {
            return Ok(Audit::default());
        }
        let path = dir.join(name);
        let (file, bytes) = append_to(&path)?;
        let rotate_at = globals.get(ids::AUDIT_LOG_ROTATE_ON_SIZE);
        let rotations = globals.get(ids::AUDIT_LOG_ROTATIONS);
        let log = AuditFile { path, file, bytes, rotate_at, rotations, fails: false };
        let audit = Audit { log: Some(Mutex::new(log)), policy: AtomicU8::new(NONE) };
        audit.apply_policy(globals);
        Ok(audit)
    }

    /// Takes over `audit_log_policy`.
    pub fn apply_policy(&self, globals: &Globals) {
        let policy = match globals.get(ids::AUDIT_LOG_POLICY).as_str() {
            _ if self.log.is_none() => NONE,
            "ALL" => ALL,
            "LOGINS" => LOGINS,
            _ => NONE,
        };
        self.policy.store(policy, Ordering::Relaxed);
    }

    /// Opens the file by its name again.
    pub fn reopen(&self) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut log = log.lock();
        (log.file, log.bytes) = append_to(&log.path)?;
        Ok(())
    }

    /// Whether statements are to be entered.
    pub fn takes_statements(&self) -> bool {
        self.policy.load(Ordering::Relaxed) == ALL
    }

    /// Enters a statement, whose passwords are masked.
    pub fn statement(&self, counters: &Counters, event: &str, connection: u32, user: &str, sql: &[u8]) {
        if self.takes_statements() {
            let text = String::from_utf8_lossy(&sql[..sql.len().min(TEXT_MAX)]);
            let mut fields = json!({ "connection": connection, "user": user, "sql": text });
            if sql.len() > TEXT_MAX {
                fields["bytes"] = json!(sql.len());
            }
            self.write(counters, event, fields);
        }
    }

    /// Enters something else, with its fields in an object.
    pub fn event(&self, counters: &Counters, event: &str, fields: impl FnOnce() -> Value) {
        if self.policy.load(Ordering::Relaxed) != NONE {
            self.write(counters, event, fields());
        }
    }

    fn write(&self, counters: &Counters, event: &str, fields: Value) {
        let Some(log) = &self.log else { return };
        let mut entry = Map::new();
        entry.insert("time".to_owned(), json!(now()));
        entry.insert("event".to_owned(), json!(event));
        if let Value::Object(fields) = fields {
            entry.extend(fields);
        }
        let line = format!("{}\n", Value::Object(entry));
        let mut log = log.lock();
        match log.append(line.as_bytes()) {
            Ok(()) => {
                log.fails = false;
                count(&counters.audit_events);
            }
            Err(error) => {
                if !log.fails {
                    log::error!("entries of the audit log are lost: {}: {error}", log.path.display());
                }
                log.fails = true;
                count(&counters.audit_events_lost);
            }
        }
    }
}

impl AuditFile {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.rotate_at > 0 && self.bytes > 0 && self.bytes + line.len() as u64 > self.rotate_at {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |number: u64| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..self.rotations).rev() {
            match std::fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match self.rotations {
            0 => std::fs::remove_file(&self.path)?,
            _ => std::fs::rename(&self.path, numbered(1))?,
        }
        (self.file, self.bytes) = append_to(&self.path)?;
        Ok(())
    }
}

/// Opens a file to append to it, which no link leads to elsewhere; says how long it is.
fn append_to(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().create(true).append(true).mode(0o640).custom_flags(flags).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

fn now() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = DateTime::from_micros(now.as_micros() as i64, 6);
    time.map(|time| time.to_string().replace(' ', "T") + "Z").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn entries_are_bounded_and_stay_in_their_lines() {
        let dir = tempfile::tempdir().unwrap();
        let (globals, counters) = (Globals::new(), Counters::new());
        globals.put(ids::AUDIT_LOG_FILE, "audit.log");
        globals.put(ids::AUDIT_LOG_POLICY, "ALL");
        globals.put(ids::AUDIT_LOG_ROTATE_ON_SIZE, 4096_u64);
        globals.put(ids::AUDIT_LOG_ROTATIONS, 2_u64);
        let audit = Audit::open(dir.path(), &globals).unwrap();
        let path = |name: &str| dir.path().join(name);
        audit.statement(&counters, "statement", 7, "ann", b"SELECT 'a\n{\"event\":\"connect\"}\xff'");
        let first = lines(&path("audit.log")).remove(0);
        assert_eq!((&first["event"], &first["connection"]), (&json!("statement"), &json!(7)));
        assert_eq!(first["sql"], "SELECT 'a\n{\"event\":\"connect\"}\u{fffd}'");
        for _ in 0..200 {
            audit.event(&counters, "disconnect", || json!({ "connection": 7 }));
        }
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            assert!(entry.metadata().unwrap().len() <= 4096);
            names.push(entry.file_name().into_string().unwrap());
        }
        names.sort();
        assert_eq!(names, ["audit.log", "audit.log.1", "audit.log.2"]);
        audit.statement(&counters, "statement", 7, "ann", &vec![b'x'; TEXT_MAX + 1]);
        let long = lines(&path("audit.log")).pop().unwrap();
        assert_eq!((long["sql"].as_str().unwrap().len(), &long["bytes"]), (TEXT_MAX, &json!(TEXT_MAX + 1)));
        // Renamed by somebody else.
        std::fs::rename(path("audit.log"), path("moved")).unwrap();
        audit.reopen().unwrap();
        globals.put(ids::AUDIT_LOG_POLICY, "LOGINS");
        audit.apply_policy(&globals);
        audit.statement(&counters, "statement", 7, "ann", b"SELECT 1");
        audit.event(&counters, "connect", || json!({}));
        let found = lines(&path("audit.log"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["event"], "connect");
        assert_eq!(counters.audit_events.load(Ordering::Relaxed), 203);
    }

    #[test]
    fn what_is_lost_is_counted() {
        let (globals, counters) = (Globals::new(), Counters::new());
        globals.put(ids::AUDIT_LOG_FILE, "/dev/full");
        let audit = Audit::open(Path::new("/"), &globals).unwrap();
        audit.event(&counters, "connect", || json!({}));
        assert_eq!(counters.audit_events_lost.load(Ordering::Relaxed), 1);
        let none = Audit::open(Path::new("/"), &Globals::new()).unwrap();
        none.event(&counters, "connect", || unreachable!("there is no log"));
    }
}
