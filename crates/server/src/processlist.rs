//! Who is connected and does what; KILL, and the end of those who are idle for too long.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cohort_io::sync::{Condvar, Mutex};
use cohort_sql::parse::without_passwords;
use cohort_sql::session::{Interrupt, KillTarget, LockOwner};
use cohort_sql::types::SqlMode;
use cohort_txn::{MetadataName, WaitsFor};

use crate::session::handover::Handover;
use crate::socket::Socket;

/// The command of a connection that executes nothing.
const IDLE: &str = "Sleep";
/// What one does whose client waits for the outcome of a commit, as MySQL shows it.
const COMMITS: (&str, &str) = ("Query", "waiting for handler commit");
/// Bytes of a statement that the list keeps, as in MySQL.
const INFO_LEN: usize = 65535;
/// Bytes of that which a connection keeps room for between two statements.
const INFO_KEPT: usize = 1024;
/// Bytes of a statement in which passwords are looked for, since they may be longer than what stands for them.
const MASKED_LEN: usize = 4 * INFO_LEN;

/// The state of one whose statement waits for a lock, as MySQL shows those of metadata locks.
fn waiting_for(lock: &WaitsFor) -> &'static str {
    match lock {
        WaitsFor::Rows => "waiting for lock",
        WaitsFor::Metadata(MetadataName::Table(_)) => "Waiting for table metadata lock",
        WaitsFor::Metadata(MetadataName::Global) => "Waiting for global read lock",
        WaitsFor::Metadata(MetadataName::Commit) => "Waiting for commit lock",
        WaitsFor::Metadata(MetadataName::Backup | MetadataName::BackupStage) => "Waiting for backup lock",
        WaitsFor::Metadata(MetadataName::User(_)) => "User lock",
    }
}

/// What a connection does, as the process list shows it.
#[derive(Clone, Debug)]
pub struct Activity {
    /// The account's name.
    pub user: Arc<str>,
    /// The default database.
    pub database: Option<Arc<str>>,
    /// The command: "Sleep", "Query" and so on.
    pub command: &'static str,
    /// What exactly it is doing.
    pub state: &'static str,
    /// The statement, cut.
    pub info: Vec<u8>,
    /// Since when.
    pub since: Instant,
    /// When it was last seen that the client waits for the outcome of a commit.
    owed_until: Option<Instant>,
    /// Since when the rest of a command is awaited.
    receives: Option<Instant>,
    /// How long it may be idle.
    limits: IdleLimits,
    /// What it was too slow with; its input has ended.
    overdue: Option<Overdue>,
}

/// How long a connection may keep the server waiting.
#[derive(Clone, Copy, Debug)]
pub struct IdleLimits {
    /// Between two commands (`wait_timeout`).
    pub command: Duration,
    /// In the middle of a command (`net_read_timeout`).
    pub read: Duration,
}

/// What a client was too slow with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// Its next command.
    Command,
    /// The rest of a command.
    Rest,
}

impl Activity {
    fn overdue_at(&self, now: Instant) -> Option<Overdue> {
        let passed = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        match self.receives {
            Some(since) => passed(since, self.limits.read).then_some(Overdue::Rest),
            None => {
                let since = self.owed_until.unwrap_or(self.since).max(self.since);
                (self.command == IDLE && passed(since, self.limits.command)).then_some(Overdue::Command)
            }
        }
    }
}

/// One connection.
pub struct Process {
    /// CONNECTION_ID()
    pub id: u32,
    /// Host and port of the client.
    pub host: String,
    socket: Arc<Socket>,
    interrupt: Arc<Interrupt>,
    /// Once it has logged in.
    handover: OnceLock<Arc<Handover>>,
    /// Wakes it from a wait of its own.
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
    killed: AtomicBool,
    /// Has a place among `max_connections`.
    logged_in: AtomicBool,
    joined: Instant,
    activity: Mutex<Activity>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "connection {} from {}", self.id, self.host)
    }
}

impl Process {
    /// The client's socket.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// What the connection does now.
    pub fn activity(&self) -> Activity {
        let mut activity = self.activity.lock().clone();
        if activity.command == IDLE && self.owes_reply() {
            (activity.command, activity.state) = COMMITS;
        } else if activity.command != IDLE
            && let Some(lock) = self.interrupt.waits_for()
        {
            activity.state = waiting_for(&lock);
        }
        activity
    }

    /// Notes where its commits are answered.
    pub fn set_handover(&self, handover: Arc<Handover>) {
        assert!(self.handover.set(handover).is_ok(), "a connection logs in once");
    }

    /// Notes what wakes it, when it is killed, from a wait that neither its socket nor its locks end.
    pub fn set_wake(&self, wake: impl Fn() + Send + Sync + 'static) {
        assert!(self.wake.set(Box::new(wake)).is_ok(), "a connection has one such wait");
    }

    /// Whether its command is to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_killed()
    }

    fn owes_reply(&self) -> bool {
        self.handover.get().is_some_and(|handover| handover.owes_reply())
    }

    /// Whether it has a place among `max_connections`.
    pub fn is_logged_in(&self) -> bool {
        self.logged_in.load(Ordering::Relaxed)
    }

    /// Whether the connection is to end.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Notes who has logged in.
    pub fn set_user(&self, user: &str) {
        self.activity.lock().user = user.into();
    }

    /// Notes the default database.
    pub fn set_database(&self, database: Option<Arc<str>>) {
        self.activity.lock().database = database;
    }

    /// Notes that a command begins.
    pub fn begin(&self, command: &'static str, state: &'static str, info: &[u8]) {
        let mut activity = self.activity.lock();
        activity.command = command;
        activity.state = state;
        activity.since = Instant::now();
        activity.info.clear();
        let shown = without_passwords(&info[..info.len().min(MASKED_LEN)], SqlMode::DEFAULT);
        activity.info.extend_from_slice(&shown[..shown.len().min(INFO_LEN)]);
    }

    /// Notes a new state of the running command.
    pub fn set_state(&self, state: &'static str) {
        self.activity.lock().state = state;
    }

    /// Notes that the command has ended, and says how long it took.
    pub fn end(&self) -> Duration {
        let mut activity = self.activity.lock();
        let now = Instant::now();
        let took = now - activity.since;
        activity.since = now;
        activity.command = IDLE;
        activity.state = "";
        activity.info.clear();
        activity.info.shrink_to(INFO_KEPT);
        took
    }

    /// Notes that the rest of a command is awaited from now on, or (`false`) that all of it has arrived.
    pub fn set_receives(&self, part: bool) {
        self.activity.lock().receives = part.then(Instant::now);
    }

    /// Sets how long the connection may be idle from now on.
    pub fn set_limits(&self, limits: IdleLimits) {
        self.activity.lock().limits = limits;
    }

    /// What the client was too slow with, if that is why its input has ended.
    pub fn overdue(&self) -> Option<Overdue> {
        self.activity.lock().overdue
    }

    /// Ends the running statement, or the connection.
    pub fn kill(&self, target: KillTarget) {
        if target == KillTarget::Connection {
            self.killed.store(true, Ordering::SeqCst);
            self.socket.hang_up();
        }
        self.interrupt.kill();
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }
}

/// How many connections may be there whose clients have not logged in.
#[derive(Clone, Copy, Debug)]
pub struct LoginPlaces {
    /// In all.
    pub all: usize,
    /// From one host.
    pub per_host: usize,
}

/// A client that has not logged in for so long may lose its place to another one.
const LOGIN_PATIENCE: Duration = Duration::from_secs(1);

/// Every connection.
#[derive(Debug, Default)]
pub struct ProcessList {
    next_id: AtomicU64,
    processes: Mutex<BTreeMap<u32, Arc<Process>>>,
    left: Condvar,
}

impl ProcessList {
    /// Adds a connection whose client has not logged in. Where there are too many of them, [another](makes_room) ends;
    /// `None` if none may.
    pub fn join(&self, socket: Arc<Socket>, interrupt: Arc<Interrupt>, places: LoginPlaces) -> Option<Arc<Process>> {
        let mut processes = self.processes.lock();
        let strangers = || processes.values().filter(|process| !process.is_logged_in());
        let waiting = || strangers().filter(|process| !process.is_killed());
        let of_host = waiting().filter(|process| process.socket.peer().host_address() == socket.peer().host_address());
        let (all, of_host) = (waiting().count(), of_host.count());
        if all >= places.all || of_host >= places.per_host {
            // Those that were ended are there until their threads have run.
            if strangers().count() >= 2 * places.all {
                return None;
            }
            makes_room(waiting, &socket, of_host, of_host >= places.per_host)?.kill(KillTarget::Connection);
        }
        let id = loop {
            let id = self.next_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1) as u32;
            if id != 0 && !processes.contains_key(&id) {
                break id;
            }
        };
        let activity = Activity {
            user: "unauthenticated user".into(),
            database: None,
            command: "Connect",
            state: "login",
            info: Vec::new(),
            since: Instant::now(),
            owed_until: None,
            receives: None,
            limits: IdleLimits { command: Duration::MAX, read: Duration::MAX },
            overdue: None,
        };
        let process = Arc::new(Process {
            id,
            host: socket.peer().host_and_port(),
            socket,
            interrupt,
            handover: OnceLock::new(),
            wake: OnceLock::new(),
            killed: AtomicBool::new(false),
            logged_in: AtomicBool::new(false),
            joined: Instant::now(),
            activity: Mutex::new(activity),
        });
        processes.insert(id, process.clone());
        Some(process)
    }

    /// Gives a connection whose client has logged in one of `places` places; false if they are taken.
    pub fn take_place(&self, process: &Process, places: usize) -> bool {
        let processes = self.processes.lock();
        let taken = processes.values().filter(|process| process.is_logged_in()).count();
        let free = taken < places;
        process.logged_in.store(free, Ordering::Relaxed);
        free
    }

    /// Removes a connection.
    pub fn leave(&self, id: u32) {
        self.processes.lock().remove(&id);
        self.left.notify_all();
    }

    /// Ends the input of everybody who is idle for too long.
    pub fn end_overdue(&self, now: Instant) {
        for process in self.list() {
            process.interrupt.end_overdue_wait();
            let mut activity = process.activity.lock();
            if process.owes_reply() {
                activity.owed_until = Some(now);
            }
            if activity.overdue.is_none() {
                activity.overdue = activity.overdue_at(now);
                if activity.overdue.is_some() {
                    process.socket.close_input();
                }
            }
        }
    }

    /// The connection with that id.
    pub fn find(&self, id: u64) -> Option<Arc<Process>> {
        self.processes.lock().get(&u32::try_from(id).ok()?).cloned()
    }

    /// The connection whose locks have this number.
    pub fn lock_owner(&self, locks: u64) -> Option<LockOwner> {
        let processes = self.processes.lock();
        let mut found = processes.values().filter_map(|process| {
            let beside_transaction = process.interrupt.owns(locks)?;
            Some(LockOwner { connection: process.id.into(), beside_transaction })
        });
        found.next()
    }

    /// Every connection, oldest first.
    pub fn list(&self) -> Vec<Arc<Process>> {
        self.processes.lock().values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.processes.lock().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until there are no more than `most`, to `deadline`; false if there still are.
    pub fn wait_until_at_most(&self, most: usize, deadline: Instant) -> bool {
        let mut processes = self.processes.lock();
        while processes.len() > most {
            if self.left.wait_until(&mut processes, deadline).timed_out() {
                return processes.len() <= most;
            }
        }
        true
    }
}

/// Which of those that are `waiting` to log in ends for a newcomer, whose host has `of_host` of them and no place for
/// more if it `is_full`: of that host, or else of the one with the most, the one that has waited longest. Unless another
/// host takes more than its share, it must have waited for [`LOGIN_PATIENCE`].
fn makes_room<'a, W: Iterator<Item = &'a Arc<Process>>>(
    waiting: impl Fn() -> W,
    newcomer: &Socket,
    of_host: usize,
    is_full: bool,
) -> Option<&'a Arc<Process>> {
    let host = |process: &Process| process.socket.peer().host_address();
    let mut counts = HashMap::<_, usize>::new();
    for process in waiting() {
        *counts.entry(host(process)).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let is_crowded = !is_full && most > of_host + 1;
    let may_end = |process: &&Arc<Process>| match is_full {
        true => host(process) == newcomer.peer().host_address(),
        false => counts[&host(process)] == most,
    };
    let oldest = waiting().filter(may_end).min_by_key(|process| process.joined)?;
    (is_crowded || oldest.joined.elapsed() >= LOGIN_PATIENCE).then_some(oldest)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::status::Tally;

    const ONE: LoginPlaces = LoginPlaces { all: 1, per_host: 1 };

    fn client() -> (Arc<Socket>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        (Arc::new(Socket::from_unix(ours)), theirs)
    }

    #[test]
    fn who_does_not_log_in_makes_room_and_takes_no_place_of_others() {
        let list = ProcessList::default();
        let (socket, _client) = client();
        let first = list.join(socket.clone(), Arc::default(), ONE).expect("room for one");
        assert!(list.join(socket.clone(), Arc::default(), ONE).is_none(), "it has only just come");
        std::thread::sleep(LOGIN_PATIENCE);
        let second = list.join(socket.clone(), Arc::default(), ONE).expect("the first has waited long");
        assert!(first.is_killed() && !second.is_killed());
        assert!(list.take_place(&second, 1));
        let third = list.join(socket, Arc::default(), ONE).expect("the second has logged in");
        assert!(!list.take_place(&third, 1), "the only place is taken");
        assert!(list.take_place(&third, 2));
    }

    #[test]
    fn a_statement_is_listed_in_full() {
        let list = ProcessList::default();
        let (socket, _client) = client();
        let process = list.join(socket, Arc::default(), ONE).expect("room for one");
        for (length, shown) in [(3000, 3000), (INFO_LEN + 1, INFO_LEN)] {
            let sql = [b"SELECT 1", vec![b' '; length - 8].as_slice()].concat();
            process.begin("Query", "executing", &sql);
            assert_eq!(process.activity().info, sql[..shown]);
            process.end();
            assert!(process.activity().info.is_empty());
        }
        let (start, end) = ("CREATE USER u IDENTIFIED BY '", "' COMMENT 'x'");
        process.begin("Query", "executing", [start, &"p".repeat(INFO_LEN), end].concat().as_bytes());
        assert_eq!(process.activity().info, b"CREATE USER u IDENTIFIED BY <secret> COMMENT 'x'");
    }

    #[test]
    fn a_host_that_takes_more_than_its_share_makes_room_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let crowd = || {
            let theirs = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
            let ours = listener.accept().expect("accepted").0;
            (Arc::new(Socket::from_tcp(ours).expect("a socket")), theirs)
        };
        let list = ProcessList::default();
        let places = LoginPlaces { all: 3, per_host: 3 };
        let held: Vec<_> = (0..3).map(|_| crowd()).collect();
        let join = |socket: &Arc<Socket>| list.join(socket.clone(), Arc::default(), places);
        let crowding: Vec<_> = held.iter().map(|(socket, _)| join(socket).expect("room")).collect();
        assert!(join(&held[0].0).is_none(), "its host has enough");
        let (local, _client) = client();
        let others: Vec<_> = (0..2).filter_map(|_| join(&local)).collect();
        assert_eq!(others.len(), 1, "no host has more than its share now");
        assert!(!others[0].is_killed());
        assert_eq!(crowding.iter().map(|process| process.is_killed()).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn a_client_that_waits_for_its_commit_is_not_idle() {
        let (ours, _client) = UnixStream::pair().expect("a pair of sockets");
        let socket = Arc::new(Socket::from_unix(ours));
        let list = ProcessList::default();
        let process = list.join(socket.clone(), Arc::default(), ONE).expect("room for one");
        let handover = Handover::new(socket, Arc::new(Tally::new(Arc::default())));
        process.set_handover(handover.clone());
        let second = Duration::from_secs(1);
        process.set_limits(IdleLimits { command: second, read: second });
        process.end();
        let reply = handover.reply(b"OK").expect("a short packet");
        assert_eq!((process.activity().command, process.activity().state), COMMITS);
        let now = Instant::now();
        list.end_overdue(now + 5 * second);
        drop(reply);
        assert_eq!(process.activity().command, IDLE);
        list.end_overdue(now + 5 * second + second / 2);
        assert_eq!(process.overdue(), None);
        list.end_overdue(now + 6 * second);
        assert_eq!(process.overdue(), Some(Overdue::Command));
    }
}
