//! Messages for the operator, on standard error, one line each.
//!
//! All crates say them with the macros of the crate `log`; here is what takes them. A thread of its own writes them, so
//! that nobody who logs, the commit path above all, waits for a pipe that nobody reads or for a slow disk.
//!
//! Invariants
//! 1. Logging neither fails nor panics: what cannot be written is lost.
//! 2. Logging waits for no write. What does not fit into the queue is dropped, and how much it was is said later.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::{Duration, Instant, SystemTime};

use cohort_sql::types::temporal::DateTime;
use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::{Condvar, Mutex};

/// Most bytes that wait to be written.
const QUEUE_BYTES: usize = 1 << 20;
/// How long [`Log::flush`] waits for the thread that writes.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

static LOG: OperatorLog = OperatorLog {
    queue: Mutex::new(Queue { lines: VecDeque::new(), bytes: 0, dropped: 0, writing: false, has_writer: false }),
    filled: Condvar::new(),
    emptied: Condvar::new(),
};

struct OperatorLog {
    queue: Mutex<Queue>,
    filled: Condvar,
    emptied: Condvar,
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

impl Log for OperatorLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("cohort")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = line(record.level(), record.args());
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
                    line(
                        Level::Warn,
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
            parking_lot::MutexGuard::unlocked(&mut queue, || write(next.as_bytes()));
        }
    }
}

fn line(level: Level, message: &std::fmt::Arguments<'_>) -> String {
    let level = match level {
        Level::Error => "Error",
        Level::Warn => "Warning",
        _ => "Note",
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = DateTime::from_micros(now.as_micros() as i64, 3);
    let time = time.map(|time| time.to_string()).unwrap_or_default();
    let mut line = time.replace(' ', "T");
    // A message whose parts cannot be shown is said without them.
    let _ = writeln!(line, "Z [{level}] {message}");
    line
}

/// Without the lock of [`std::io::Stderr`], which a panic in another thread may want.
fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(std::io::stderr(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(10)),
            // There is nobody left to tell.
            Err(_) => return,
        }
    }
}
