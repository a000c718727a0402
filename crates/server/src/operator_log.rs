//! Messages for the operator, on standard error, one line each; `log_error` makes a file the standard error.
//!
//! All crates log with the macros of the crate `log`; here is what takes their messages. A thread of its own writes
//! them, so that nobody who logs, the commit path above all, waits for a pipe that nobody reads or for a slow disk.
//!
//! Invariants
//! 1. Logging neither fails nor panics: what cannot be written is lost.
//! 2. Logging waits for no write. What does not fit into the queue is dropped, and how much it was is said later.
//! 3. Nothing else in the server's crates prints: clippy refuses it, except in the program and its tools.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use cohort_io::sync::{Condvar, Mutex};
use cohort_sql::types::temporal::DateTime;
use log::{Level, LevelFilter, Log, Metadata, Record};

/// Most bytes that wait to be written.
const QUEUE_BYTES: usize = 1 << 20;
/// How long [`Log::flush`] waits for the thread that writes.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

static LOG: OperatorLog = OperatorLog {
    queue: Mutex::new(Queue { lines: VecDeque::new(), bytes: 0, dropped: 0, writing: false, has_writer: false }),
    filled: Condvar::new(),
    emptied: Condvar::new(),
    json: AtomicBool::new(false),
    file: Mutex::new(None),
};

struct OperatorLog {
    queue: Mutex<Queue>,
    filled: Condvar,
    emptied: Condvar,
    json: AtomicBool,
    /// The file that has become the standard error.
    file: Mutex<Option<PathBuf>>,
}

struct Queue {
    lines: VecDeque<String>,
    bytes: usize,
    /// Messages that found no room.
    dropped: u64,
    /// One has been taken out and is not written yet.
    writing: bool,
    has_writer: bool,
}

/// Takes the messages of this process from now on.
pub fn install() {
    if log::set_logger(&LOG).is_err() {
        return;
    }
    log::set_max_level(LevelFilter::Info);
    let writer = std::thread::Builder::new().name("log".to_owned()).spawn(|| LOG.write_all());
    // Without the thread whoever logs writes.
    LOG.queue.lock().has_writer = writer.is_ok();
}

/// Appends messages to a file from now on, and with them all else that goes to standard error, such as a panic.
pub fn write_to(path: &Path) -> io::Result<()> {
    let mut current = LOG.file.lock();
    redirect(path)?;
    *current = Some(path.to_owned());
    Ok(())
}

/// Opens the file of [`write_to`] by its name again, which another may have after it was rotated.
pub fn reopen() -> io::Result<()> {
    let current = LOG.file.lock();
    current.as_deref().map_or(Ok(()), redirect)
}

fn redirect(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().create(true).append(true).mode(0o640).open(path)?;
    Ok(rustix::stdio::dup2_stderr(file)?)
}

/// Takes errors only (1), warnings too (2), or notes as well (3).
pub fn set_verbosity(verbosity: u64) {
    log::set_max_level(match verbosity {
        ..=1 => LevelFilter::Error,
        2 => LevelFilter::Warn,
        3.. => LevelFilter::Info,
    });
}

/// Writes each message as a JSON object, or as text.
pub fn set_json(json: bool) {
    LOG.json.store(json, Ordering::Relaxed);
}

impl Log for OperatorLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level() && metadata.target().starts_with("cohort")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = self.line(record.level(), record.target(), record.args());
        let mut queue = self.queue.lock();
        if !queue.has_writer {
            drop(queue);
            return write(line.as_bytes());
        }
        if queue.bytes + line.len() > QUEUE_BYTES {
            queue.dropped += 1;
            return;
        }
        queue.bytes += line.len();
        queue.lines.push_back(line);
        self.filled.notify_one();
    }

    /// Waits until all is written, but no longer than a moment.
    fn flush(&self) {
        let deadline = Instant::now() + FLUSH_PATIENCE;
        let mut queue = self.queue.lock();
        while queue.has_writer && (queue.writing || !queue.lines.is_empty()) {
            if self.emptied.wait_until(&mut queue, deadline).timed_out() {
                return;
            }
        }
    }
}

impl OperatorLog {
    fn write_all(&self) {
        let mut queue = self.queue.lock();
        loop {
            let next = match queue.lines.pop_front() {
                Some(line) => {
                    queue.bytes -= line.len();
                    line
                }
                None if queue.dropped > 0 => {
                    let dropped = std::mem::take(&mut queue.dropped);
                    self.line(
                        Level::Warn,
                        module_path!(),
                        &format_args!("{dropped} messages were lost: they came faster than they could be written"),
                    )
                }
                None => {
                    queue.writing = false;
                    self.emptied.notify_all();
                    self.filled.wait(&mut queue);
                    continue;
                }
            };
            queue.writing = true;
            cohort_io::sync::MutexGuard::unlocked(&mut queue, || write(next.as_bytes()));
        }
    }

    /// A message with the names that MySQL's sinks give its parts.
    fn line(&self, level: Level, target: &str, message: &std::fmt::Arguments<'_>) -> String {
        let (priority, label) = match level {
            Level::Error => (1, "Error"),
            Level::Warn => (2, "Warning"),
            _ => (3, "Note"),
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let time = DateTime::from_micros(now.as_micros() as i64, 3);
        let time = time.map(|time| time.to_string().replace(' ', "T") + "Z").unwrap_or_default();
        if !self.json.load(Ordering::Relaxed) {
            return format!("{time} [{label}] {message}\n");
        }
        let line = serde_json::json!({
            "time": time, "ts": now.as_millis() as u64, "prio": priority, "label": label,
            "subsystem": target.split("::").next(), "msg": message.to_string(),
        });
        format!("{line}\n")
    }
}

/// Without the lock of [`std::io::Stderr`], which a panic in another thread may want.
fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(std::io::stderr(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(10)),
            // Nobody is left to take it.
            Err(_) => return,
        }
    }
}
