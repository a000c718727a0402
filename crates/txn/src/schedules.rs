//! Schedules of the commit path: a few sessions, a reader, a rotation and a fault, in many orders that shuttle chooses
//! (`sync.rs`). What clients and readers received is compared with what a recovery finds after a power cut.
//!
//! A step goes from one operation on locks, conditions and counters of this crate to the next. Journal, binlog files,
//! `tc.log`, engines and disk do what they do within one step.
//!
//! Longer: `make schedules SCHEDULES=100000`. A failure prints its schedule, and `COHORT_SCHEDULE` runs that again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cohort_binlog::BinlogPosition;
use cohort_engine::logged::LoggedEngine;
use cohort_engine::{Direction, Engine, KeyRange, TwoPhase};
use cohort_io::sync::Mutex;
use cohort_io::{Fault, SimClock, SimDisk};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use crate::classic::recovery::RecoverError;
use crate::journaled::commit::Coordinator;
use crate::open::{Engines, OpenError, Recovered};
use crate::store::Store;
use crate::sync::{explore, point, unexplored};
use crate::tests::{ENGINES, Machine, binlog_ids, found, insert, key, table};
use crate::transaction::{Read, Transaction};
use crate::{CommitError, CommitProtocol, Committed, LockMode, Published};

/// How many schedules of each protocol.
const SCHEDULES: usize = 1500;

/// The rows that every transaction of their kind writes.
const LAST: &[u8] = b"last";
const COUNTER: &[u8] = b"counter";

#[test]
fn the_journal_keeps_its_invariants_in_any_schedule() {
    explore(3 * SCHEDULES, || scenario(CommitProtocol::Journal, Order::OfTheBinlog));
}

#[test]
fn the_stages_of_mysql_keep_theirs() {
    explore(SCHEDULES, || scenario(CommitProtocol::Mysql56, Order::OfTheBinlog));
    explore(SCHEDULES, || scenario(CommitProtocol::Mysql57, Order::OfTheBinlog));
}

#[test]
fn members_that_are_handed_back_are_whole_in_every_snapshot() {
    explore(SCHEDULES, || scenario(CommitProtocol::Mysql57, Order::Any));
}

#[test]
fn sessions_that_signal_each_other_keep_theirs() {
    explore(SCHEDULES, || scenario(CommitProtocol::MariadbNaive, Order::OfTheBinlog));
}

#[test]
fn a_leader_that_commits_for_all_keeps_theirs() {
    explore(SCHEDULES, || scenario(CommitProtocol::Mariadb { commit_flush: false }, Order::OfTheBinlog));
}

/// However sessions come to a leader that waits for them, it takes all of them.
#[test]
fn a_delay_holds_back_until_there_are_enough_in_any_schedule() {
    let protocols = [
        CommitProtocol::Journal,
        CommitProtocol::Mysql57,
        CommitProtocol::MariadbNaive,
        CommitProtocol::Mariadb { commit_flush: true },
    ];
    for protocol in protocols {
        explore(SCHEDULES / 4, move || {
            let store = open(&SimDisk::new(1), protocol).expect("a new store");
            let delay = &store.settings().sync_delay;
            delay.max_us.store(1, Ordering::Relaxed);
            delay.enough.store(3, Ordering::Relaxed);
            let writes = || match protocol {
                CommitProtocol::Journal => store.commit_stats().cohort_size.count(),
                _ => store.binlog().stats().syncs,
            };
            let before = writes();
            let session = |id| {
                let store = store.clone();
                thread::spawn(move || assert!(insert(&store, id).is_ok()))
            };
            let sessions = [1, 2, 3].map(session);
            sessions.into_iter().for_each(|session| session.join().expect("no panic"));
            assert_eq!(writes() - before, 1, "{protocol}");
        });
    }
}

/// In which order engines commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    OfTheBinlog,
    /// `binlog_order_commits` is off.
    Any,
}

/// What a transaction does beside writing its row into the first engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Alone,
    /// It has a row in the second engine too, and is the last in both.
    Both,
    /// As `Both`, and it has counted itself, with the counter locked.
    Counted,
}

/// A snapshot as a reader found it.
#[derive(Debug)]
struct Seen {
    position: BinlogPosition,
    rows: [Vec<u64>; 2],
    last: [Option<u64>; 2],
    counter: u64,
}

/// What clients and readers received.
#[derive(Default)]
struct Received {
    acknowledged: Vec<(u64, Committed)>,
    refused: u64,
    unknown: bool,
    snapshots: Vec<Seen>,
    /// The binlog as it was read.
    binlogs: Vec<Vec<u64>>,
    /// Counters whose readers were answered.
    counters: Vec<u64>,
}

#[derive(Clone)]
struct Server {
    protocol: CommitProtocol,
    order: Order,
    disk: SimDisk,
    store: Arc<Store>,
    received: Arc<Mutex<Received>>,
    /// The operation that fails, if any.
    fault_at: u64,
}

fn open(disk: &SimDisk, protocol: CommitProtocol) -> Result<Arc<Store>, OpenError> {
    let engine = |name| LoggedEngine::open(disk, Path::new("/data"), name).map(Arc::new).map_err(RecoverError::from);
    let engines = [engine("one")?, engine("two")?];
    let (fs, clock) = (Arc::new(disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let options = Machine::options(1);
    let engines = match protocol {
        CommitProtocol::Journal => Engines::Journaled(engines.map(|engine| engine as Arc<dyn Engine>).to_vec()),
        _ => Engines::Classic(engines.map(|engine| engine as Arc<dyn TwoPhase>).to_vec()),
    };
    Recovered::from_logs(options, protocol, fs, clock, engines, &mut |_| ())?.start_stepped(&mut |_| ())
}

fn scenario(protocol: CommitProtocol, order: Order) {
    let mut random = thread_rng();
    let disk = SimDisk::new(random.r#gen());
    let store = open(&disk, protocol).expect("a new store");
    let fault_at = disk.operations() + random.gen_range(0..OPERATIONS);
    match random.gen_range(0..4) {
        0 => {}
        1 => disk.set_fault(fault_at, Fault::Error),
        _ => disk.set_fault(fault_at, Fault::PowerCut),
    }
    store.settings().order_commits.store(order == Order::OfTheBinlog, Ordering::Relaxed);
    let server = Server { protocol, order, disk, store, received: Arc::default(), fault_at };
    let journal = protocol == CommitProtocol::Journal;

    // Rare orders are met sooner where there is little to order.
    let small: bool = random.r#gen();
    let mut threads = Vec::new();
    let mut spawn = |wanted: bool, body: fn(&Server, u64), number: u64| {
        let server = server.clone();
        threads.extend(wanted.then(|| thread::spawn(move || body(&server, number))));
    };
    for session in 0..SESSIONS {
        spawn(true, if small { Server::commit_one } else { Server::commit_two }, session);
    }
    spawn(!small || random.r#gen(), Server::look, 0);
    spawn(!small, Server::read_counter, 0);
    spawn(!small, Server::rotate, 0);
    let writer = || {
        let store = server.store.clone();
        thread::spawn(move || store.path::<Coordinator>().write_log())
    };
    let writers = if journal { vec![writer(), writer()] } else { Vec::new() };
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    server.store.drain();
    if journal {
        server.store.path::<Coordinator>().stop_writers();
    }
    writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
    unexplored(|| server.check());
}

const SESSIONS: u64 = 3;

/// So many operations of the disk a run has, about.
const OPERATIONS: u64 = 80;

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

impl Server {
    /// Under the journal locks go when the order is fixed; those of a classic protocol keep others out of the group.
    fn kind(&self, id: u64) -> Kind {
        match (self.protocol, id) {
            (CommitProtocol::Journal, 4) => Kind::Both,
            (CommitProtocol::Journal, 5) => Kind::Alone,
            (CommitProtocol::Journal, _) => Kind::Counted,
            _ => [Kind::Counted, Kind::Both, Kind::Alone][(id % 3) as usize],
        }
    }

    fn commit_two(&self, session: u64) {
        self.commit(session + 1);
        self.commit(session + 1 + SESSIONS);
    }

    fn commit_one(&self, session: u64) {
        self.commit(session + 1);
    }

    fn commit(&self, id: u64) {
        let sealed = self.received.lock().unknown;
        let outcome = self.store.commit_and_wait(self.write(id));
        let mut received = self.received.lock();
        received.refused += u64::from(outcome.is_err());
        match outcome {
            Ok(committed) => {
                assert!(!sealed, "I6: {id} was acknowledged after an outcome was unknown");
                received.acknowledged.push((id, committed));
            }
            Err(error) => received.unknown |= matches!(error, CommitError::Unknown(_)),
        }
    }

    fn write(&self, id: u64) -> Transaction {
        let mut transaction = self.store.begin();
        let engines = if self.kind(id) == Kind::Alone { &ENGINES[..1] } else { &ENGINES };
        for engine in engines {
            transaction.put(*engine, &key(id), b"row");
            // Nothing else is written without a lock: where engines commit in any order, a recovery may too.
            if self.kind(id) != Kind::Alone && self.order == Order::OfTheBinlog {
                transaction.put(*engine, LAST, &id.to_le_bytes());
            }
        }
        if self.kind(id) == Kind::Counted {
            let count = self.lock_counter(&mut transaction, LockMode::Exclusive) + 1;
            transaction.put(ENGINES[0], COUNTER, &count.to_le_bytes());
        }
        transaction.events().write_row(&table(), &[&[0u8][..], &(id as i64).to_le_bytes()].concat());
        transaction.events().end_statement();
        transaction
    }

    fn lock_counter(&self, transaction: &mut Transaction, mode: LockMode) -> u64 {
        transaction.lock(ENGINES[0], COUNTER, mode).expect("a lock that everyone gives back");
        let mut value = Vec::new();
        let there = transaction.get(ENGINES[0], Read::Current, COUNTER, &mut value).expect("memory can be read");
        if there { number(&value) } else { 0 }
    }

    fn rotate(&self, _: u64) {
        // Without power there is none.
        let _ = self.store.rotate_binlog();
        let _ = self.store.take_checkpoint();
    }

    fn read_counter(&self, _: u64) {
        for _ in 0..2 {
            let mut transaction = self.store.begin();
            let counter = self.lock_counter(&mut transaction, LockMode::Shared);
            if self.store.commit_and_wait(transaction).is_ok() {
                self.received.lock().counters.push(counter);
            }
        }
    }

    fn look(&self, _: u64) {
        for _ in 0..3 {
            let seen = see(&self.store.published());
            self.received.lock().snapshots.push(seen);
            point();
            if self.protocol == CommitProtocol::Journal && self.disk.operations() <= self.fault_at {
                let ids = binlog_ids(&self.disk, &self.store);
                self.received.lock().binlogs.push(ids);
            }
        }
    }

    /// I1 to I5 and I9: compares what was received with what there is after a power cut.
    fn check(&self) {
        let faultless = self.disk.operations() <= self.fault_at;
        let disk = self.disk.crash();
        let store = open(&disk, self.protocol).expect("a recovery");
        let there = found(&disk, &store);
        let order = &there.binlog;
        let last = see(&store.published());
        let received = self.received.lock();
        for (id, committed) in &received.acknowledged {
            let at = order.iter().position(|there| there == id);
            let at = at.unwrap_or_else(|| panic!("I1: {id} was acknowledged, and there is {order:?}"));
            let gno = committed.gtid.as_ref().expect("it has events").gno;
            assert_eq!(gno, at as u64 + 1, "I2: the GTID of {id} in {order:?}");
        }
        assert!(!faultless || received.refused == 0, "{} were refused without a fault", received.refused);
        for binlog in &received.binlogs {
            assert!(order.starts_with(binlog), "I4: {binlog:?} was read, and there is {order:?}");
        }
        for seen in received.snapshots.iter().chain([&last]) {
            self.check_snapshot(seen, order, &received);
        }
        assert_eq!(last.rows[0].len(), order.len(), "I3: {last:?} and {order:?}");
        let newest = received.counters.iter().max().copied().unwrap_or(0);
        assert!(newest <= last.counter, "I9: {newest} was read and answered, and there is {}", last.counter);
    }

    /// I2, I3 and I5: a snapshot is a prefix of the binlog; in any case it has no half transaction.
    fn check_snapshot(&self, seen: &Seen, order: &[u64], received: &Received) {
        let prefix = match self.order {
            Order::OfTheBinlog => &order[..seen.rows[0].len().min(order.len())],
            Order::Any => &seen.rows[0],
        };
        let of = |wanted: fn(Kind) -> bool| -> Vec<u64> {
            prefix.iter().copied().filter(|id| wanted(self.kind(*id))).collect()
        };
        let both = of(|kind| kind != Kind::Alone);
        let last = if self.order == Order::Any { None } else { both.last().copied() };
        let rows = [prefix.to_vec(), both].map(|mut rows| {
            rows.sort_unstable();
            rows
        });
        let expected = (&rows, [last; 2], of(|kind| kind == Kind::Counted).len() as u64);
        assert_eq!((&seen.rows, seen.last, seen.counter), expected, "I5: a snapshot of {order:?}");
        if self.order == Order::Any {
            return;
        }
        let position = |at: usize| {
            let id = order.get(at)?;
            received
                .acknowledged
                .iter()
                .find(|(acknowledged, _)| acknowledged == id)
                .map(|(_, committed)| committed.position)
        };
        let before = prefix.len().checked_sub(1).and_then(position);
        assert!(before.is_none_or(|before| before <= seen.position), "I5: {before:?} after {seen:?}");
        let next = position(prefix.len());
        assert!(next.is_none_or(|next| seen.position < next), "I5: {next:?} before {seen:?}");
    }
}

fn see(published: &Published) -> Seen {
    let range = KeyRange { lower: key(0), upper: key(u64::MAX) };
    let rows = ENGINES.map(|engine| {
        let mut rows = Vec::new();
        let mut cursor = published.engine(engine).cursor(&range, Direction::Forward).expect("a cursor");
        while let Some(entry) = cursor.next().expect("an entry") {
            rows.push(u64::from_be_bytes(*entry.key.last_chunk().expect("keys end with a number")));
        }
        rows
    });
    let value = |engine, key: &[u8]| {
        let mut value = Vec::new();
        published.engine(engine).get(key, &mut value).expect("a read").then(|| number(&value))
    };
    let last = ENGINES.map(|engine| value(engine, LAST));
    Seen { position: published.position, rows, last, counter: value(ENGINES[0], COUNTER).unwrap_or(0) }
}
