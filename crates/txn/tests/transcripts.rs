//! What each commit protocol asks of the disk, as text: `testdata/transcripts`, one file a protocol.
//!
//! Sessions are threads. The disk lets one operation pass at a time, and only when every session waits: for the disk,
//! for another session, or for nothing any more. Syncs are slow: one returns when nobody can do anything else, and a
//! session that has not come yet comes before that. So a transcript shows what a protocol lets others do while one
//! waits for the device.
//!
//! Sessions that one sync wakes together may go on in either order. B, C and D do the same, so they are named as suits
//! the text; where more than names can differ, the text is what was seen most often. A run has to show it again, or else to write
//! the same transactions together.
//!
//! `COHORT_RECORD=1` writes the files. The engines are stand-ins that write a record a call to a plain log; under the
//! journal they have none. A test of its own process: it looks at the states of all threads.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cohort_binlog::{BinlogOptions, ColumnMeta, FieldType, ServerIdentity, TableMap};
use cohort_engine::logged::LoggedEngine;
use cohort_engine::memory::MemoryEngine;
use cohort_engine::{EngineId, TwoPhase};
use cohort_io::sync::{Condvar, Mutex};
use cohort_io::{Create, File, FileLock, FileSystem, IoError, OpenOptions, SimClock, SimDisk};
use cohort_journal::JournalOptions;
use cohort_txn::{CommitProtocol, CommitSettings, Engines, GtidMode, Recovered, Store, StoreOptions};

const PATIENCE: Duration = Duration::from_secs(30);
const SESSIONS: [&str; 4] = ["A", "B", "C", "D"];
const FIRST: EngineId = EngineId(0);
const SECOND: EngineId = EngineId(1);

/// Runs until one has to look as recorded.
const TRIES: usize = 200;

#[test]
fn the_disk_sees_what_the_transcripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/transcripts");
    let record = std::env::var_os("COHORT_RECORD").is_some();
    let mut differing = Vec::new();
    for protocol in CommitProtocol::ALL {
        let file = folder.join(format!("{}.txt", protocol.to_string().replace(' ', "_")));
        let mut text = format!("commit_protocol={protocol}\n");
        for scene in SCENES {
            if !protocol.has_binlog() && scene.needs_binlog {
                continue;
            }
            let part = |seen: &str| format!("\n== {}\n{seen}", scene.title);
            if record {
                text += &part(&usual(protocol, scene));
                continue;
            }
            let expected = std::fs::read_to_string(&file).unwrap_or_default();
            let mut last = String::new();
            let mut seen = Vec::new();
            let shown = (0..TRIES).any(|_| {
                last = part(&play(protocol, scene));
                seen.push(log_writes(&last));
                expected.contains(&last)
            });
            // On some machines the usual run is rare: what is written to the logs, and by how many at a time, is not.
            let recorded = expected.split("\n== ").find(|part| part.starts_with(scene.title)).map(log_writes);
            if !shown && !recorded.is_some_and(|recorded| scene.sessions.len() > 1 && seen.contains(&recorded)) {
                differing.push(format!("{}:\n{last}", file.display()));
            }
        }
        if record {
            std::fs::write(&file, &text).expect("the folder can be written");
        }
    }
    assert!(differing.is_empty(), "not as recorded (COHORT_RECORD=1 records again): {}", differing.join("\n"));
}

/// What a run writes, whoever does it, in the order of file and place.
fn log_writes(text: &str) -> Vec<String> {
    let write = |line: &str| Some(line.split_once(" write ")?.1.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut writes: Vec<String> = text.lines().filter_map(write).filter(|write| !write.contains("record")).collect();
    writes.sort();
    writes
}

struct Scene {
    title: &'static str,
    sessions: &'static [&'static str],
    needs_binlog: bool,
    body: fn(&Arc<Store>, u64),
}

const SCENES: &[Scene] = &[
    Scene {
        title: "A commits alone",
        sessions: &["A"],
        needs_binlog: false,
        body: |store, session| commit(store, session, &[FIRST]),
    },
    Scene {
        title: "A commits; B, C and D come while it waits for the device",
        sessions: &SESSIONS,
        needs_binlog: false,
        body: |store, session| commit(store, session, &[FIRST]),
    },
    Scene {
        title: "A commits in two engines",
        sessions: &["A"],
        needs_binlog: false,
        body: |store, session| commit(store, session, &[FIRST, SECOND]),
    },
    Scene {
        title: "A begins a new binlog file",
        sessions: &["A"],
        needs_binlog: true,
        body: |store, _| {
            store.rotate_binlog().expect("a disk without faults");
        },
    },
];

/// What is seen most often.
fn usual(protocol: CommitProtocol, scene: &Scene) -> String {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..25 {
        *seen.entry(play(protocol, scene)).or_default() += 1;
    }
    println!("{protocol}, {}: {:?}", scene.title, seen.values().collect::<Vec<_>>());
    seen.into_iter().max_by_key(|(_, times)| *times).expect("some runs").0
}

/// Runs the sessions on a store that has committed before, and returns what the disk saw.
fn play(protocol: CommitProtocol, scene: &Scene) -> String {
    let disk = Arc::new(Watched { disk: SimDisk::new(1), protocol, turns: Arc::default() });
    let store = open(protocol, &disk);
    commit(&store, SESSIONS.len() as u64, &[FIRST, SECOND]);
    let turns = &disk.turns;
    turns.state.lock().watched = true;
    thread::scope(|scope| {
        for (number, name) in scene.sessions.iter().enumerate() {
            let store = &store;
            let session = move || {
                turns.pass("", None);
                (scene.body)(store, number as u64);
                turns.state.lock().answered.insert(name);
            };
            thread::Builder::new().name((*name).to_owned()).spawn_scoped(scope, session).expect("a thread");
        }
        turns.give(scene.sessions);
    });
    let seen = std::mem::take(&mut *turns.state.lock()).seen;
    store.close().expect("a disk without faults");
    well_named(seen)
}

/// The lines with B, C and D named such that the text comes first in the alphabet.
fn well_named(lines: Vec<Line>) -> String {
    let text = |names: [&'static str; 4]| {
        let rename =
            |name: &&'static str| SESSIONS.iter().position(|session| session == name).map_or(*name, |at| names[at]);
        let mut text = String::new();
        for line in &lines {
            let mut who: Vec<_> = line.who.iter().map(rename).collect();
            who.sort_unstable();
            writeln!(text, "{:<14}{}", who.join(", "), line.what).expect("a string takes text");
        }
        text
    };
    let orders = [["B", "C", "D"], ["B", "D", "C"], ["C", "B", "D"], ["C", "D", "B"], ["D", "B", "C"], ["D", "C", "B"]];
    orders.into_iter().map(|[b, c, d]| text(["A", b, c, d])).min().expect("six texts")
}

fn open(protocol: CommitProtocol, disk: &Arc<Watched>) -> Arc<Store> {
    let options = StoreOptions {
        journal_dir: "/data/journal".into(),
        journal: JournalOptions { segment_bytes: 1 << 20, ..JournalOptions::default() },
        binlog: BinlogOptions::new("/data"),
        binlog_cut_at: None,
        log_bin: protocol.has_binlog(),
        tc_log: "/data/tc.log".into(),
        identity: ServerIdentity { server_id: 1, server_version: "8.0.40-test".to_owned() },
        gtid_mode: GtidMode::On,
        server_uuid: "11111111-2222-3333-4444-555555555555".parse().expect("a UUID"),
        settings: CommitSettings::durable(1 << 30),
        checkpoint_bytes: 1 << 30,
    };
    let clock = Arc::new(SimClock::new(1_700_000_000_000_000));
    let engine = |name| -> Arc<dyn TwoPhase> {
        Arc::new(LoggedEngine::open(&**disk, Path::new("/data"), name).expect("a new directory"))
    };
    let engines = match protocol {
        CommitProtocol::Journal => {
            Engines::Journaled(vec![Arc::new(MemoryEngine::new()), Arc::new(MemoryEngine::new())])
        }
        _ => Engines::Classic(vec![engine("first"), engine("second")]),
    };
    let recovered = Recovered::from_logs(options, protocol, disk.clone(), clock, engines, &mut |_| ());
    let recovered = recovered.expect("a new directory");
    // The journal has log writers; under a classic protocol sessions do everything themselves.
    let opened = match protocol {
        CommitProtocol::Journal => recovered.start(&mut |_| ()),
        _ => recovered.start_stepped(&mut |_| ()),
    };
    opened.expect("a new directory")
}

fn commit(store: &Arc<Store>, id: u64, engines: &[EngineId]) {
    let column = ColumnMeta {
        field: FieldType::LongLong,
        meta: Vec::new(),
        nullable: false,
        unsigned: false,
        charset: 63,
        name: "id".to_owned(),
        members: Vec::new(),
    };
    let mut transaction = store.begin();
    for engine in engines {
        transaction.put(*engine, &id.to_be_bytes(), b"row");
    }
    let image = [&[0][..], &id.to_le_bytes()].concat();
    transaction.events().write_row(&TableMap::new(7, "bank", "transfers", &[column], &[]), &image);
    transaction.events().end_statement();
    store.commit_and_wait(transaction).expect("a disk without faults");
}

/// Lets one operation pass at a time.
#[derive(Default)]
struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    watched: bool,
    waiting: Vec<Waiting>,
    /// Whose turn it is.
    passing: Option<String>,
    answered: BTreeSet<&'static str>,
    seen: Vec<Line>,
}

/// A thread before an operation.
struct Waiting {
    thread: String,
    /// None where a session begins.
    sync: Option<bool>,
    what: String,
    /// How many lines there were when its sync began.
    since: Option<usize>,
}

struct Line {
    who: Vec<&'static str>,
    what: String,
}

impl Turns {
    /// Waits for this operation's turn. `sync` is none where a session begins.
    fn pass(&self, what: &str, sync: Option<bool>) {
        let mut state = self.state.lock();
        let thread = thread::current().name().unwrap_or_default().to_owned();
        // The background of the journal is not shown.
        if !state.watched || actor(&thread).is_none() {
            return;
        }
        state.waiting.push(Waiting { thread: thread.clone(), sync, what: what.to_owned(), since: None });
        while state.passing.as_ref() != Some(&thread) {
            self.changed.wait(&mut state);
        }
        state.passing = None;
    }

    /// Gives turns until all sessions have their answers.
    fn give(&self, sessions: &[&'static str]) {
        let deadline = Instant::now() + PATIENCE;
        let (mut answered, mut blocked) = (BTreeSet::new(), BTreeSet::new());
        loop {
            if Instant::now() > deadline {
                // Threads that wait for each other would keep a panic from ending the test.
                eprintln!("the sessions do not end");
                std::process::abort();
            }
            if !others_sleep() {
                thread::sleep(Duration::from_micros(20));
                continue;
            }
            let mut state = self.state.lock();
            state.begin_syncs();
            let now: BTreeSet<_> = sessions.iter().copied().filter(|name| state.is_blocked(name)).collect();
            state.say(&now - &blocked, "waits for another", "wait for another");
            blocked = now;
            let new = &state.answered - &answered;
            answered.extend(new.iter().copied());
            state.say(new, "has its answer", "have their answers");
            if answered.len() == sessions.len() {
                return;
            }
            let rank = |waiting: &Waiting| (waiting.sync.map_or(1, |sync| 2 * u8::from(sync)), waiting.since);
            let next = (0..state.waiting.len()).min_by_key(|at| {
                let waiting = &state.waiting[*at];
                (rank(waiting), waiting.thread.clone())
            });
            let Some(next) = next else { continue };
            let next = state.waiting.remove(next);
            let who = vec![actor(&next.thread).expect("only those wait")];
            match next.since {
                // Its line is the last one: nothing was done meanwhile.
                Some(since) if since == state.seen.len() => {}
                Some(_) => state.seen.push(Line { who, what: format!("  … has done: {}", next.what) }),
                None if next.sync.is_some() => state.seen.push(Line { who, what: next.what }),
                None => {}
            }
            state.passing = Some(next.thread);
            self.changed.notify_all();
        }
    }
}

impl State {
    /// Shows the syncs that have begun since the last turn.
    fn begin_syncs(&mut self) {
        self.waiting.sort_by(|one, other| one.thread.cmp(&other.thread));
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.sync == Some(true) && waiting.since.is_none()) {
            let who = vec![actor(&waiting.thread).expect("only those wait")];
            self.seen.push(Line { who, what: waiting.what.clone() });
            waiting.since = Some(self.seen.len());
        }
    }

    fn say(&mut self, who: BTreeSet<&'static str>, one: &str, several: &str) {
        if !who.is_empty() {
            let what = if who.len() == 1 { one } else { several };
            self.seen.push(Line { what: what.to_owned(), who: who.into_iter().collect() });
        }
    }

    fn is_blocked(&self, name: &str) -> bool {
        !self.answered.contains(name) && !self.waiting.iter().any(|waiting| waiting.thread == name)
    }
}

/// What the transcripts call a thread; none for those they leave out.
fn actor(thread: &str) -> Option<&'static str> {
    let session = SESSIONS.into_iter().find(|session| *session == thread);
    session.or_else(|| thread.starts_with("log-writer").then_some("a log writer"))
}

/// Whether every other thread of this process sleeps: each was asleep twice and did not run in between, so all were at
/// the moment between. Nobody is left to wake them but the caller.
fn others_sleep() -> bool {
    let first = sleepers();
    first.is_some() && first == sleepers()
}

/// The other threads and how often each has run; none if one does not sleep.
fn sleepers() -> Option<Vec<(OsString, String)>> {
    let own = std::fs::read_link("/proc/thread-self").expect("Linux");
    let own = own.file_name().expect("a thread's number");
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let others = tasks.filter(|task| task.file_name() != own).map(|task| {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let asleep = status.contains("\nState:\tS");
        let runs = status.split_once("voluntary_ctxt_switches").map(|(_, runs)| runs.to_owned());
        asleep.then_some((task.file_name(), runs?))
    });
    others.collect()
}

/// A simulated disk whose changes wait for their turn.
struct Watched {
    disk: SimDisk,
    protocol: CommitProtocol,
    turns: Arc<Turns>,
}

struct WatchedFile {
    file: Arc<dyn File>,
    protocol: CommitProtocol,
    path: PathBuf,
    turns: Arc<Turns>,
}

/// A file's name as the transcripts have it.
fn shown(path: &Path) -> String {
    path.strip_prefix("/data").unwrap_or(path).display().to_string()
}

impl FileSystem for Watched {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError> {
        if options.create != Create::Never && !self.disk.exists(path)? {
            self.turns.pass(&format!("create   {}", shown(path)), Some(false));
        }
        let file = self.disk.open(path, options)?;
        Ok(Arc::new(WatchedFile { file, protocol: self.protocol, path: path.to_owned(), turns: self.turns.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.turns.pass(&format!("rename   {} to {}", shown(from), shown(to)), Some(false));
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.turns.pass(&format!("remove   {}", shown(path)), Some(false));
        self.disk.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), IoError> {
        self.disk.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, IoError> {
        self.disk.list(dir)
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        self.disk.exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), IoError> {
        self.turns.pass("SYNC     the directory", Some(true));
        self.disk.sync_dir(dir)
    }

    fn available_bytes(&self, dir: &Path) -> Result<u64, IoError> {
        self.disk.available_bytes(dir)
    }

    fn lock_exclusive(&self, path: &Path) -> Result<FileLock, IoError> {
        self.disk.lock_exclusive(path)
    }
}

impl File for WatchedFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let verb = if self.is_direct() { "WRITE and SYNC" } else { "write   " };
        let line = format!("{verb} {} at {offset}: {}", shown(&self.path), content(self.protocol, &self.path, bytes));
        self.turns.pass(&line, Some(self.is_direct()));
        self.file.write_at(offset, bytes)
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.turns.pass(&format!("SYNC     {}", shown(&self.path)), Some(true));
        self.file.sync_data()
    }

    fn len(&self) -> Result<u64, IoError> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.turns.pass(&format!("cut      {} at {len}", shown(&self.path)), Some(false));
        self.file.set_len(len)
    }

    fn reserve(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.turns.pass(&format!("reserve  {} from {offset} to {}", shown(&self.path), offset + len), Some(false));
        self.file.reserve(offset, len)
    }

    fn allocated_bytes(&self) -> Result<u64, IoError> {
        self.file.allocated_bytes()
    }

    fn is_direct(&self) -> bool {
        self.file.is_direct()
    }
}

/// What is written, in the words of the file that takes it.
fn content(protocol: CommitProtocol, path: &Path, bytes: &[u8]) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let what = match &*name {
        "first.log" | "second.log" => match bytes.get(8).copied().unwrap_or_default() {
            1 => "prepare record".to_owned(),
            2 => "commit record".to_owned(),
            4 if protocol.prepares() => "how far the binlog is synced".to_owned(),
            4 => "changes and commit record".to_owned(),
            kind => format!("record of kind {kind}"),
        },
        _ if name.starts_with("binlog.0") => events(bytes),
        _ if path.starts_with("/data/journal") => "journal record".to_owned(),
        _ => String::new(),
    };
    format!("{what}{}{} bytes", if what.is_empty() { "" } else { ", " }, bytes.len())
}

/// The events of a piece of a binlog file: transactions by their GTIDs' numbers, others by name.
fn events(mut bytes: &[u8]) -> String {
    let mut transactions = Vec::new();
    let mut others = Vec::new();
    if let Some(rest) = bytes.strip_prefix(b"\xfebin") {
        bytes = rest;
    }
    while bytes.len() >= 19 {
        let length = u32::from_le_bytes(bytes[9..13].try_into().expect("four bytes")) as usize;
        match bytes[4] {
            33 => transactions.push(u64::from_le_bytes(bytes[36..44].try_into().expect("eight bytes")).to_string()),
            4 => others.push("ROTATE"),
            15 => others.push("FORMAT_DESCRIPTION"),
            35 => others.push("PREVIOUS_GTIDS"),
            _ => {}
        }
        bytes = &bytes[length.clamp(19, bytes.len())..];
    }
    if !transactions.is_empty() {
        let plural = if transactions.len() == 1 { "" } else { "s" };
        return format!("transaction{plural} {}", transactions.join(", "));
    }
    if others.is_empty() { "mark of a file that is closed".to_owned() } else { others.join(", ") }
}
