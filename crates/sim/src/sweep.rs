//! One workload, crashed and failed at every operation of the disk in turn, under every commit protocol.
//!
//! Outline of [`Sweep::run`]: for each [`Fault`] the workload ([`script`]) runs with that fault at operation 0, 1, 2 …
//! until it ends without reaching it. Then the power is cut, or the process killed; a recovery meets a second fault; and
//! one that meets none must bring back what clients received ([`mod@judge`]), go on with more transactions, and find all of
//! it again after another power cut. At every so many operations, the second fault is swept through the recovery as well.
//!
//! - [`clients`] are sessions that take turns, and the memory of what they received;
//! - [`listener`] follows the binlog, as a replica does, and says whether what it got is still there;
//! - [`state`] is what they change, as reported, as the tables show it, and as a binlog makes it.
//!
//! Invariants
//! 1. Nothing is expected but what clients received: runs need not be the same twice, and those with threads of
//!    their own (groups of a classic protocol, redb's and RocksDB's background) are not.
//! 2. A recovery that an error meets fails, or comes up with everything; the next start has everything in either case.
//!
//! Not here: schedules that a seed chooses, lock waits and changes from one protocol to another ([`mod@crate::run`]).

pub mod clients;
pub mod judge;
pub mod listener;
pub mod script;
pub mod state;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, ensure};
use cohort_io::sync::Mutex;
use cohort_io::{Fault, SeededRandom};
use cohort_sql::Database;
use cohort_txn::{CommitProtocol, GtidMode};

use crate::machine::{Machine, Settings};
use crate::mount::Mounted;
use clients::{Clients, Memory};
use judge::{Promise, divergences, judge};
use listener::Listener;

/// Everything that sweeps inject.
pub const FAULTS: [Fault; 4] = [Fault::PowerCut, Fault::Error, Fault::NoSpace, Fault::ShortWrite];
/// Journal segments of so many bytes: the large transaction reaches over several.
const SEGMENT_BYTES: u64 = 32 << 10;
/// A binlog file ends after so many bytes: a few transactions.
const BINLOG_BYTES: u64 = 16 << 10;

/// What is swept, and how closely.
pub struct Sweep {
    /// The commit protocol. [`CommitProtocol::TcMmap`] goes without a binlog.
    pub protocol: CommitProtocol,
    /// Where RocksDB's files are seen; without, the stand-in is the first engine.
    pub rocksdb: Option<Arc<Mutex<Mounted>>>,
    /// What the workload meets. Recoveries meet any of [`FAULTS`].
    pub faults: &'static [Fault],
    /// Chooses where strides begin, what a power cut keeps, and second faults.
    pub seed: u64,
    /// Every so many operations; 1 for all of them.
    pub stride: u64,
    /// At every so many of the runs, the recovery's operations too, at this stride as well.
    pub recovery_stride: u64,
}

/// What a sweep did.
#[derive(Clone, Debug, Default)]
pub struct SweepStats {
    /// Operations of the workload without faults.
    pub operations: u64,
    /// Of the longest recovery.
    pub recovery_operations: u64,
    /// Workloads that met a fault.
    pub runs: u64,
    /// Recoveries that met a second one.
    pub faulty_recoveries: u64,
    /// Of these, such as did not come up.
    pub refused_starts: u64,
    /// Transactions whose clients were never sent their outcome.
    pub in_doubt: u64,
    /// Starts that said that binlog and engines differ.
    pub divergences: u64,
}

impl fmt::Display for SweepStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SweepStats { operations, recovery_operations, runs, .. } = self;
        write!(f, "{operations} operations, {recovery_operations} of a recovery; {runs} runs with a fault, ")?;
        write!(f, "{} recoveries with one, of which {} failed; ", self.faulty_recoveries, self.refused_starts)?;
        write!(f, "{} transactions in doubt, {} divergences reported", self.in_doubt, self.divergences)
    }
}

/// A machine without a server, and what clients of its servers were reported.
#[derive(Clone)]
struct Stopped {
    machine: Machine,
    memory: Memory,
    /// What the next start is held to.
    promise: Promise,
}

/// Says which run it was that panicked.
struct Unwinding(String);

impl Drop for Unwinding {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

impl Sweep {
    /// Sweeps. An error is a violation, and says where.
    pub fn run(&self) -> Result<SweepStats> {
        let mut stats = SweepStats::default();
        let random = SeededRandom::new(self.seed);
        let (stopped, operations) = self.work(u64::MAX, Fault::PowerCut, &random).context("without a fault")?;
        stats.operations = operations;
        self.go_on(stopped, &mut stats).context("without a fault")?;
        let mut number = random.below(self.recovery_stride);
        for &fault in self.faults {
            for operation in (random.below(self.stride)..).step_by(self.stride as usize) {
                let at = Unwinding(format!("{}, {fault:?} at operation {operation}", self.protocol));
                let random = self.random((operation, format!("{fault:?}")));
                let (stopped, operations) = self.work(operation, fault, &random).with_context(|| at.0.clone())?;
                if operations <= operation {
                    break;
                }
                stats.runs += 1;
                stats.in_doubt += stopped.memory.in_doubt();
                number += 1;
                let recovered = match number.is_multiple_of(self.recovery_stride) {
                    true => self.sweep_recovery(&stopped, &random, &mut stats),
                    false => self.fail_recovery_once(stopped, &random, &mut stats),
                };
                recovered.with_context(|| at.0.clone())?;
            }
        }
        Ok(stats)
    }

    fn random(&self, what: impl Hash) -> SeededRandom {
        let mut hasher = DefaultHasher::new();
        (self.seed, what).hash(&mut hasher);
        SeededRandom::new(hasher.finish())
    }

    fn new_machine(&self, seed: u64) -> Machine {
        match &self.rocksdb {
            Some(mounted) => Machine::with_rocksdb(seed, mounted.clone()),
            None => Machine::new(seed),
        }
    }

    /// Starts a server; adds to `reported` in what it said that binlog and engines differ.
    fn open(&self, machine: &Machine, gtid_mode: GtidMode, reported: &mut Vec<String>) -> Result<Arc<Database>> {
        let log_bin = self.protocol.has_binlog();
        let settings = Settings { segment_bytes: SEGMENT_BYTES, binlog_bytes: BINLOG_BYTES, log_bin, gtid_mode };
        machine.open_listening(settings, self.protocol, &mut |report| reported.extend_from_slice(divergences(&report)))
    }

    /// Runs the workload on a new disk, with a fault at one operation. Returns what is left, and how many operations
    /// there were: not more than that one, if it was not reached.
    fn work(&self, operation: u64, fault: Fault, random: &SeededRandom) -> Result<(Stopped, u64)> {
        let machine = self.new_machine(random.below(u64::MAX));
        machine.disk().set_fault(operation, fault);
        let mut memory = Memory::default();
        let gtid_mode = if operation.is_multiple_of(3) { GtidMode::Off } else { GtidMode::On };
        let opened = self.open(&machine, gtid_mode, &mut Vec::new());
        let ran: Result<()> = opened.as_ref().map_or(Ok(()), |database| {
            let listener = Listener::begin(database.store())?;
            let mut clients = Clients::new(database.clone(), machine.disk(), machine.first_engine(), &mut memory);
            clients.run(&script::script())?;
            drop(clients);
            memory.heard.extend(listener.end()?);
            Ok(())
        });
        let operations = machine.disk().operations();
        // Before the engines are closed: what they do then is not to reach the disk.
        let left = end(&machine, random);
        if operations <= operation {
            opened?;
            ensure!(memory.refused.is_empty(), "refused without a fault: {:?}", memory.refused);
        }
        ran?;
        Ok((Stopped { machine: left, memory, promise: Promise::Whole }, operations))
    }

    /// A recovery with some fault at some operation, then one without.
    fn fail_recovery_once(&self, stopped: Stopped, random: &SeededRandom, stats: &mut SweepStats) -> Result<()> {
        let fault = FAULTS[random.below(FAULTS.len() as u64) as usize];
        let operation = random.below(stats.recovery_operations + 2);
        let at = Unwinding(format!("then {fault:?} at operation {operation} of the recovery"));
        let failed = self.fail_recovery(stopped, fault, operation, random, stats);
        let (stopped, _) = failed.with_context(|| at.0.clone())?;
        self.go_on(stopped, stats).with_context(|| at.0.clone())
    }

    /// The same for each fault at operation 0, 1, 2 … of the recovery.
    fn sweep_recovery(&self, stopped: &Stopped, random: &SeededRandom, stats: &mut SweepStats) -> Result<()> {
        for fault in FAULTS {
            for operation in (random.below(self.stride)..).step_by(self.stride as usize) {
                let copy = Stopped { machine: stopped.machine.kill_copy(), ..stopped.clone() };
                let at = Unwinding(format!("then {fault:?} at operation {operation} of the recovery"));
                let failed = self.fail_recovery(copy, fault, operation, random, stats);
                let (stopped, reached) = failed.with_context(|| at.0.clone())?;
                self.go_on(stopped, stats).with_context(|| at.0.clone())?;
                if !reached {
                    break;
                }
            }
        }
        Ok(())
    }

    /// A recovery with a fault: it fails, or comes up right. Returns what is left, and whether the fault was reached.
    fn fail_recovery(
        &self,
        stopped: Stopped,
        fault: Fault,
        operation: u64,
        random: &SeededRandom,
        stats: &mut SweepStats,
    ) -> Result<(Stopped, bool)> {
        let Stopped { machine, mut memory, mut promise } = stopped;
        machine.disk().set_fault(operation, fault);
        let mut reported = Vec::new();
        let opened = self.open(&machine, GtidMode::On, &mut reported);
        let operations = machine.disk().operations();
        let reached = operations > operation;
        stats.recovery_operations = stats.recovery_operations.max(operations);
        stats.faulty_recoveries += u64::from(reached);
        stats.refused_starts += u64::from(opened.is_err());
        self.hear(&reported, &mut promise)?;
        let judged = match &opened {
            Ok(database) => match judge(database, machine.disk(), promise, &mut memory) {
                // What an engine does by itself may be what it meets, at any time.
                Err(_) if !machine.disk().is_powered() => Ok(()),
                judged => judged.map(drop).context("it came up"),
            },
            Err(error) => {
                ensure!(reached, "no start without a fault: {error:#}");
                Ok(())
            }
        };
        let left = end(&machine, random);
        judged?;
        Ok((Stopped { machine: left, memory, promise }, reached))
    }

    /// What a start says to differ, the next one need not say again.
    fn hear(&self, reported: &[String], promise: &mut Promise) -> Result<()> {
        if !reported.is_empty() {
            ensure!(self.protocol.may_diverge(), "a protocol with prepare diverged: {reported:?}");
            *promise = Promise::EachLog;
        }
        Ok(())
    }

    /// A recovery without a fault brings everything back; more is done; and that is found by the next one as well.
    fn go_on(&self, stopped: Stopped, stats: &mut SweepStats) -> Result<()> {
        let Stopped { machine, mut memory, mut promise } = stopped;
        let mut reported = Vec::new();
        let database = self.open(&machine, GtidMode::On, &mut reported).context("the server does not start")?;
        stats.recovery_operations = stats.recovery_operations.max(machine.disk().operations());
        stats.divergences += u64::from(!reported.is_empty());
        self.hear(&reported, &mut promise)?;
        let found = judge(&database, machine.disk(), promise, &mut memory).context("after the recovery")?;
        if promise == Promise::EachLog {
            ensure!(found.differs || reported.is_empty(), "reported to differ, and do not: {reported:?}");
            return Ok(());
        }
        memory.refused.clear();
        let script = script::afterwards(&found.state);
        let listener = Listener::begin(database.store())?;
        Clients::new(database.clone(), machine.disk(), machine.first_engine(), &mut memory).run(&script)?;
        memory.heard.extend(listener.end()?);
        ensure!(memory.refused.is_empty(), "the server does not go on: {:?}", memory.refused);
        judge(&database, machine.disk(), promise, &mut memory).context("after going on")?;
        let machine = machine.after_power_cut();
        drop(database);
        let database = self.open(&machine, GtidMode::On, &mut Vec::new()).context("the server does not start again")?;
        judge(&database, machine.disk(), promise, &mut memory).context("after another power cut")?;
        // As above, for the engines that close now.
        machine.disk().crash();
        Ok(())
    }
}

/// The power goes, if it is still there, or the process is killed.
fn end(machine: &Machine, random: &SeededRandom) -> Machine {
    match machine.disk().is_powered() && random.below(2) == 0 {
        true => machine.after_kill(),
        false => machine.after_power_cut(),
    }
}
