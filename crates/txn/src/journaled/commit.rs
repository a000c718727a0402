//! A commit, from joining the queue to waking the session.
//!
//! Outline
//! 1. [`CommitPath::commit`] has the transaction's redo encoded and reserves room for its log bytes.
//! 2. *Join*: entering the queue fixes the order; the versions go into the overlay, the row locks go.
//! 3. *Lead*: whoever finds nobody else on the way leads, inline; else a log writer does. The leader takes
//!    everything queued and lays it out: GTIDs, binlog positions, one journal record ([`Ordered`]).
//! 4. *Write*: one device write makes the whole cohort durable ([`Durable`]).
//! 5. *Send*, in order, one cohort at a time: binlog file, and so to whoever follows it ([`Sent`]).
//! 6. *Finish*, in order, one cohort at a time: engines, snapshot ([`Visible`]). Where commits wait for replicas, a cohort
//!    is finished by the thread that brings their acknowledgement; no thread waits for it.
//! 7. *Acknowledge*: every member's reply goes out from this thread; no session is woken for it.
//!
//! The stages are owned types: only [`Ordered::write`] makes a [`Durable`], only [`Durable::send`] a [`Sent`],
//! only [`Sent::apply`] a [`Visible`], and only a [`Visible`] can acknowledge.
//!
//! Invariants (I1 to I9 of ARCHITECTURE.md)
//! 1. Queue order = order of versions in the overlay = order in the record: all three change under
//!    the queue's mutex, and a cohort is taken from the queue under the section's.
//! 2. Cohorts finish in the order in which they were laid out, whatever order their writes return in.
//! 3. After a write failed, nothing laid out at that time or later is acknowledged: the coordinator is
//!    sealed, and stays so until the server is started again.
//! 4. What rests on a version in flight is answered when that version is durable ([`RestsOn`](crate::RestsOn)).
//! 5. The binlog file gets bytes only when the journal record that holds them is durable.
//!
//! Concurrency: `section` → `queue`; `finish` → that of the [acknowledgements](cohort_binlog::Acks), which is not held while
//! commits are resumed, so that none of them is forgotten between a question and its place in the turns. Sessions hold only
//! `queue`, for a push; device writes happen under no mutex.
//!
//! On crash: a transaction is committed if and only if the journal holds its cohort's whole record and every record
//! before it. Recovery then repeats 5 from the record (see `recovery.rs`).
//!
//! Not here: how events and record are stamped (`commit/layout.rs`), what is in a record
//! (`record.rs`), when a checkpoint is due (`checkpoint.rs`), transactions that are in files already when they commit
//! (`commit/large.rs`).

mod gather;
mod large;
mod layout;
mod stepped;
mod turns;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cohort_binlog::{BinlogPosition, FileStart};
use cohort_engine::{Engine, EngineId, Position, WriteError};
use cohort_io::SyncStats;
use cohort_journal::{Durability, Journal, LaidOut, Reservation, ReserveError};

use super::checkpoint::{self, Background};
use crate::binlog_order::{BinlogOrder, Chunk};
use crate::blocking_hook::blocking;
use crate::commit_path::{CommitPath, Worker};
use crate::given_gtids::NewGtids;
use crate::large::LargeParts;
use crate::lock_profile::{LockProfile, ProfiledMutex};
use crate::outcome::{CommitError, Committed, Reply};
use crate::shared::{AbortOnPanic, Closed, Member, READ_UNWRITTEN, ROOM_RETRY, Shared};
use crate::stats::{CommitStats, add};
use crate::sync::Condvar;
use crate::transaction::Transaction;
use crate::write_set::WriteSet;
use gather::Yields;
use layout::redo_by_engine;
use turns::Turns;

pub use stepped::{LaidOutCohort, WrittenCohort};

/// One transaction in the queue.
struct Pending {
    member: Member,
    writes: WriteSet,
    joined: Instant,
    journal_room: Reservation,
    reply: Box<dyn Reply>,
}

/// A transaction with room in every log.
struct Admitted {
    member: Member,
    writes: WriteSet,
    journal_room: Reservation,
}

/// Those who wait to be taken into a cohort.
struct Queue {
    waiting: Vec<Pending>,
    next_order: u64,
    writes_in_flight: usize,
    /// Members that joined and have no reply yet.
    unfinished: usize,
    /// Every member with a lower order has its outcome.
    finished_order: u64,
    /// The first member whose outcome is unknown, because its log write failed.
    failed_from: Option<u64>,
    /// Answers that rest on the transaction with this order.
    readers: Vec<(u64, Box<dyn Reply>)>,
    /// Members of the last cohort that was taken.
    last_cohort: usize,
    closed: Option<Closed>,
    stop_writers: bool,
    /// Set by simulators: see `commit/stepped.rs`.
    held: bool,
}

impl Queue {
    /// The answers whose wait is over.
    fn take_readers(&mut self) -> Vec<Box<dyn Reply>> {
        let finished = self.finished_order;
        self.readers.extract_if(.., |(order, _)| *order < finished).map(|(_, reply)| reply).collect()
    }

    /// Whether nobody else is on the way: everything unfinished is still in the queue.
    fn is_alone(&self) -> bool {
        self.unfinished == self.waiting.len()
    }

    /// Whether a log writer should take what waits: at once where nothing is on the way, else when it is
    /// worth a write of its own. Those whose replies are just going out would miss a cohort taken earlier.
    fn is_due(&self) -> bool {
        let worth_it = self.waiting.len() >= self.last_cohort;
        !self.waiting.is_empty() && self.writes_in_flight < WRITES_IN_FLIGHT_MAX && (self.is_alone() || worth_it)
    }
}

/// What the order determines: held by one leader at a time while it lays a cohort out.
struct Section {
    next_cohort: u64,
    binlog: BinlogOrder,
    unsynced_cohorts: u32,
    head: Vec<u8>,
}

/// A cohort whose place in the log is fixed.
struct Ordered {
    cohort: u64,
    members: Vec<Pending>,
    gtids: NewGtids,
    chunks: Vec<Chunk<Vec<u8>>>,
    /// Where these end.
    end: Option<BinlogPosition>,
    record: LaidOut,
    durability: Durability,
}

/// A cohort on stable storage, or handed to the operating system where the operator asked for that.
struct Durable(Ordered);

/// A cohort that the binlog file has, too, and whoever follows it.
struct Sent(Ordered);

/// A cohort that readers have.
struct Visible {
    members: Vec<Pending>,
}

/// A cohort whose write failed.
struct Failed {
    cohort: u64,
    members: Vec<Pending>,
    reason: String,
}

/// How many device writes may be under way at once. Two overlap the device with the next layout;
/// more gained nothing.
const WRITES_IN_FLIGHT_MAX: usize = 2;

/// Orders commits, writes them, applies them and answers for them.
pub(crate) struct Coordinator {
    shared: Arc<Shared>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) background: Background,
    queue: ProfiledMutex<Queue>,
    writer_wanted: Condvar,
    joined: Condvar,
    drained: Condvar,
    yields: Yields,
    section: ProfiledMutex<Section>,
    sends: Turns<Result<Durable, Failed>>,
    /// A cohort was not sent, and so none behind it is. Looked at, and set, by whoever has the turn to send.
    unsent: AtomicBool,
    finishes: Turns<Result<Sent, Failed>>,
    ends: Arc<large::Ends>,
}

impl Deref for Coordinator {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

enum Role {
    Leader {
        /// The cohort before had one member, too.
        alone: bool,
    },
    Follower,
}

impl Coordinator {
    pub(crate) fn new(
        shared: Arc<Shared>,
        journal: Arc<Journal>,
        background: Background,
        next_order: u64,
    ) -> Arc<Self> {
        let binlog = BinlogOrder::after(&shared.frontier().note);
        let section = Section { next_cohort: 0, binlog, unsynced_cohorts: 0, head: Vec::new() };
        let queue = Queue {
            waiting: Vec::new(),
            next_order,
            writes_in_flight: 0,
            unfinished: 0,
            finished_order: next_order,
            failed_from: None,
            readers: Vec::new(),
            last_cohort: 0,
            closed: None,
            stop_writers: false,
            held: false,
        };
        let coordinator = Arc::new(Coordinator {
            shared,
            journal,
            background,
            queue: ProfiledMutex::new("queue", queue),
            writer_wanted: Condvar::new(),
            joined: Condvar::new(),
            drained: Condvar::new(),
            yields: Yields::default(),
            section: ProfiledMutex::new("section", section),
            sends: Turns::new("send"),
            unsent: AtomicBool::new(false),
            finishes: Turns::new("finish"),
            ends: Arc::default(),
        });
        let resumed = Arc::downgrade(&coordinator);
        let resume = move || resumed.upgrade().into_iter().for_each(|coordinator| coordinator.resume());
        coordinator.binlog.acks().set_resume(resume);
        coordinator
    }
}

impl CommitPath for Coordinator {
    fn commit(&self, mut transaction: Transaction, reply: Box<dyn Reply>) {
        if transaction.is_large() {
            return self.commit_large(transaction, reply);
        }
        let (writes, mut events) = transaction.take_changes();
        // Nothing goes by this number: the order, which gives numbers to others, is not known yet.
        events.iter_mut().for_each(|events| events.compress(transaction.owner()));
        let gtid = transaction.take_gtid();
        let admitted = match self.shared.admit(&writes, events) {
            Ok(Some(member)) => self.reserve(Member { gtid, ..member }, writes),
            Ok(None) => {
                let seen = transaction.rests_on().take();
                drop(transaction);
                return self.when_durable(seen, reply);
            }
            Err(error) => Err(self.refused(error)),
        };
        match admitted {
            Ok(admitted) => self.run(admitted, reply, move || drop(transaction)),
            Err(error) => {
                drop(transaction);
                reply.send(Err(error));
            }
        }
    }

    fn when_durable(&self, seen: Option<u64>, reply: Box<dyn Reply>) {
        if let Some(seen) = seen.filter(|seen| !self.is_durable(*seen)) {
            let mut queue = self.queue.lock("join");
            if seen >= queue.finished_order {
                return queue.readers.push((seen, reply));
            }
            if queue.failed_from.is_some_and(|first| seen >= first) {
                drop(queue);
                return reply.send(Err(CommitError::Unknown(READ_UNWRITTEN.to_owned())));
            }
        }
        reply.send(Ok(self.nothing_written()));
    }

    fn is_durable(&self, order: u64) -> bool {
        order <= self.published().order
    }

    fn newest_ordered(&self) -> Option<u64> {
        Some(self.queue.lock("newest").next_order - 1)
    }

    fn begin_file(&self, start: FileStart, reply: Box<dyn Reply>) {
        let bytes = self.rotation_room();
        let room = self.reserve_binlog(bytes).map_err(|error| self.refused(error));
        let member = Member::of_file(start, bytes);
        match room.and_then(|()| self.reserve(member, WriteSet::default())) {
            Ok(admitted) => self.run(admitted, reply, || ()),
            Err(error) => reply.send(Err(error)),
        }
    }

    fn closed(&self) -> Option<CommitError> {
        self.queue.lock("closed").closed.clone().map(CommitError::from)
    }

    fn drain(&self) {
        let mut queue = self.queue.lock("drain");
        queue.closed.get_or_insert(Closed::ShuttingDown);
        while queue.unfinished > 0 {
            queue.wait(&self.drained);
        }
        drop(queue);
        self.ends.wait();
    }

    fn workers(self: Arc<Self>) -> Vec<Worker> {
        let [first, second, times, upkeep, checkpoints] =
            [self.clone(), self.clone(), self.clone(), self.clone(), self];
        vec![
            ("log-writer-1", Box::new(move || first.write_log())),
            ("log-writer-2", Box::new(move || second.write_log())),
            ("replica-timeout", Box::new(move || times.binlog.acks().keep_time())),
            ("upkeep", Box::new(move || upkeep.background.run_upkeep(&upkeep))),
            ("checkpoint", Box::new(move || checkpoints.background.run_checkpoints(&checkpoints))),
        ]
    }

    fn stop(&self) {
        self.stop_writers();
        self.binlog.acks().close();
        self.background.stop();
    }

    fn close(&self) -> Result<(), String> {
        checkpoint::take_last(self).map_err(|error| error.to_string())
    }

    fn prepare_ahead(&self) {
        checkpoint::prepare_ahead(self);
    }

    fn take_checkpoint(&self) -> Result<(), String> {
        checkpoint::take(self).map_err(|error| error.to_string())
    }

    fn want_checkpoint(&self) {
        self.background.want_checkpoint();
    }

    fn checkpoint_refusal(&self) -> Option<String> {
        self.background.refusal()
    }

    fn purge_floor(&self) -> u64 {
        self.background.checkpoint_file()
    }

    fn numbers_xa(&self) -> bool {
        false
    }

    fn journal(&self) -> Option<&Journal> {
        Some(&self.journal)
    }

    fn coordinator_log(&self) -> Option<SyncStats> {
        None
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        [self.queue.profile(), self.section.profile(), self.sends.profile(), self.finishes.profile()].concat()
    }
}

impl Coordinator {
    fn nothing_written(&self) -> Committed {
        Committed { gtid: None, position: self.published().position }
    }

    /// Sets room aside in the journal too (I8). After an error that in the binlog is given back.
    fn reserve(&self, member: Member, writes: WriteSet) -> Result<Admitted, CommitError> {
        let bytes = member.log_bytes();
        if let Err(refused) = self.background.check_growth(&self.journal) {
            self.give_binlog_room_back(&member);
            return Err(refused);
        }
        let journal_room = self.journal.reserve(bytes).map_err(|error| {
            self.give_binlog_room_back(&member);
            match error {
                ReserveError::NoSpace { .. } => CommitError::NoSpace(error.to_string()),
                ReserveError::TooLarge { .. } => CommitError::TooLarge { bytes, max: self.transaction_bytes_max() },
                ReserveError::Journal(error) => self.refused(CommitError::Sealed(error.to_string())),
            }
        })?;
        Ok(Admitted { member, writes, journal_room })
    }

    /// What to say of a refusal: why the coordinator was sealed, if that came first.
    fn refused(&self, error: CommitError) -> CommitError {
        match error {
            CommitError::Sealed(_) => self.closed().unwrap_or(error),
            error => error,
        }
    }

    /// Joins the queue, lets the locks go, and leads if nobody else does.
    fn run(&self, admitted: Admitted, reply: Box<dyn Reply>, release_locks: impl FnOnce()) {
        let Admitted { member, writes, journal_room } = admitted;
        match self.join(Pending { member, writes, joined: Instant::now(), journal_room, reply }) {
            Err(refused) => {
                let (error, pending) = *refused;
                self.give_binlog_room_back(&pending.member);
                release_locks();
                pending.reply.send(Err(error));
            }
            Ok(Role::Follower) => release_locks(),
            Ok(Role::Leader { alone }) => {
                release_locks();
                add(&self.stats.inline_cohorts, 1);
                self.gather(!alone || self.open_transactions.load(Ordering::Relaxed) > 0);
                self.lead();
            }
        }
    }

    /// Gives `pending` its place in the order, or gives it back where commits are refused.
    fn join(&self, mut pending: Pending) -> Result<Role, Box<(CommitError, Pending)>> {
        let mut queue = self.queue.lock("join");
        if let Some(closed) = &queue.closed {
            return Err(Box::new((closed.clone().into(), pending)));
        }
        if let Err(refused) = self.check_header_room(&pending.member) {
            return Err(Box::new((refused, pending)));
        }
        let order = queue.next_order;
        pending.member.order = order;
        pending.member.xid = order;
        pending.member.depends_on = self.overlay.insert(&pending.writes, order);
        queue.next_order += 1;
        queue.unfinished += 1;
        queue.waiting.push(pending);
        self.joined.notify_all();
        if queue.unfinished == 1 && !queue.held {
            queue.writes_in_flight += 1;
            return Ok(Role::Leader { alone: queue.last_cohort <= 1 });
        }
        self.wake_writer(&queue);
        Ok(Role::Follower)
    }

    fn wake_writer(&self, queue: &Queue) {
        if queue.is_due() {
            self.writer_wanted.notify_one();
        }
    }

    /// Body of a log writer thread; returns when [`Coordinator::stop_writers`] was called.
    pub(crate) fn write_log(&self) {
        loop {
            {
                let mut queue = self.queue.lock("write log");
                while !queue.is_due() {
                    if queue.stop_writers {
                        return;
                    }
                    queue.wait(&self.writer_wanted);
                }
                queue.writes_in_flight += 1;
            }
            self.gather(true);
            self.lead();
        }
    }

    /// Steps 3 to 6 for everything queued; the caller counted itself among the writes in flight.
    ///
    /// A panic here would leave an ordered cohort without an outcome: it ends the process, and
    /// recovery finishes or cuts the cohort.
    fn lead(&self) {
        let abort_on_panic = AbortOnPanic;
        let written =
            self.lay_out_cohort().map(|ordered| ordered.and_then(|ordered| ordered.write(&self.journal, &self.stats)));
        self.end_write();
        if let Some(written) = written {
            self.finish(written);
        }
        std::mem::forget(abort_on_panic);
    }

    fn end_write(&self) {
        let mut queue = self.queue.lock("end write");
        queue.writes_in_flight -= 1;
        self.wake_writer(&queue);
    }

    /// Takes everything queued and fixes its GTIDs, positions and place in the journal.
    fn lay_out_cohort(&self) -> Option<Result<Ordered, Failed>> {
        let mut section = self.section.lock("lay out");
        let mut members = {
            let mut queue = self.queue.lock("lay out");
            let waiting = std::mem::take(&mut queue.waiting);
            let (cohort, later) = large::part(waiting);
            queue.last_cohort = cohort.len();
            queue.waiting = later;
            cohort
        };
        let first_order = members.first()?.member.order;
        let start = Instant::now();
        for member in &members {
            self.stats.queue_us.record(start.duration_since(member.joined).as_micros() as u64);
        }
        self.stats.cohort_size.record(members.len() as u64);
        let cohort = section.next_cohort;
        section.next_cohort += 1;
        let durability = self.durability(&mut section);
        let chunks = section.binlog.lay_out(&self.shared, members.iter_mut().map(|pending| &mut pending.member), true);
        let gtids = section.binlog.take_new_gtids();
        members.iter_mut().filter_map(|pending| pending.member.large.as_mut()).for_each(LargeParts::keep);
        let record = self.lay_out_record(&mut section, &members, first_order, &gtids.set, &chunks);
        members.iter_mut().for_each(|member| member.journal_room.release());
        self.stats.layout_us.record_since(start);
        Some(match record {
            Ok(record) => {
                Ok(Ordered { cohort, members, gtids, end: chunks.last().map(Chunk::end), chunks, record, durability })
            }
            Err(reason) => Err(Failed { cohort, members, reason }),
        })
    }

    /// Steps 5 to 7.
    fn finish(&self, written: Result<Durable, Failed>) {
        let cohort = match &written {
            Ok(durable) => durable.0.cohort,
            Err(failed) => failed.cohort,
        };
        let mut sent = Vec::new();
        self.sends.run([(cohort, written)], |_| true, |cohort, written| sent.push((cohort, self.send(written))));
        self.finish_sent(sent);
    }

    /// Goes on with cohorts that waited for replicas.
    fn resume(&self) {
        let abort_on_panic = AbortOnPanic;
        self.finish_sent([]);
        std::mem::forget(abort_on_panic);
    }

    fn finish_sent(&self, sent: impl IntoIterator<Item = (u64, Result<Sent, Failed>)>) {
        let may = |sent: &Result<Sent, Failed>| sent.as_ref().map_or(true, |sent| sent.has_replicas(self));
        self.finishes.run(sent, may, |_, sent| self.finish_cohort(sent));
    }

    fn send(&self, written: Result<Durable, Failed>) -> Result<Sent, Failed> {
        let stopped = self.unsent.load(Ordering::Relaxed) || self.is_sealed();
        let sent = match written {
            Ok(Durable(ordered)) if stopped => Err(ordered.behind_a_failure()),
            Ok(durable) => durable.send(self),
            Err(failed) => Err(failed),
        };
        self.unsent.fetch_or(sent.is_err(), Ordering::Relaxed);
        sent
    }

    fn finish_cohort(&self, sent: Result<Sent, Failed>) {
        let finished = match sent {
            Ok(Sent(ordered)) if self.is_sealed() => Err(ordered.behind_a_failure()),
            Ok(sent) => sent.apply(self),
            Err(failed) => Err(failed),
        };
        let (members, outcome) = match finished {
            Ok(visible) => (visible.acknowledge(&self.stats), Ok(())),
            Err(failed) => self.fail(failed),
        };
        let mut queue = self.queue.lock("acknowledge");
        queue.unfinished -= members;
        if outcome.is_err() {
            let first = queue.finished_order;
            queue.failed_from.get_or_insert(first);
        }
        queue.finished_order += members as u64;
        let readers = queue.take_readers();
        if queue.unfinished == 0 {
            self.drained.notify_all();
        }
        self.wake_writer(&queue);
        drop(queue);
        for reply in readers {
            reply.send(outcome.clone().map(|()| self.nothing_written()));
        }
    }

    /// Seals the coordinator and answers every member that its outcome is unknown (I6).
    fn fail(&self, failed: Failed) -> (usize, Result<(), CommitError>) {
        self.seal(&failed.reason);
        let count = failed.members.len();
        for member in failed.members {
            self.overlay.remove(&member.writes, member.member.order);
            member.reply.send(Err(CommitError::Unknown(failed.reason.clone())));
        }
        (count, Err(CommitError::Unknown(failed.reason)))
    }

    /// Refuses every later commit.
    pub(crate) fn seal(&self, reason: &str) {
        let mut queue = self.queue.lock("seal");
        if !matches!(queue.closed, Some(Closed::Sealed(_))) {
            queue.closed = Some(Closed::Sealed(reason.to_owned()));
        }
    }

    fn is_sealed(&self) -> bool {
        matches!(self.queue.lock("closed").closed, Some(Closed::Sealed(_)))
    }

    /// Ends the log writer threads; call after [`CommitPath::drain`].
    pub(crate) fn stop_writers(&self) {
        self.queue.lock("stop").stop_writers = true;
        self.writer_wanted.notify_all();
    }
}

impl Ordered {
    /// The one device write of the cohort. After an error the journal is sealed: whether the bytes
    /// are there is known only to the next start.
    fn write(self, journal: &Journal, stats: &CommitStats) -> Result<Durable, Failed> {
        let start = Instant::now();
        let written = journal.write(&self.record, self.durability);
        stats.write_us.record_since(start);
        match written {
            Ok(()) => Ok(Durable(self)),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    fn failed(self, reason: String) -> Failed {
        Failed { cohort: self.cohort, members: self.members, reason }
    }

    fn behind_a_failure(self) -> Failed {
        self.failed("a log write before this one failed".to_owned())
    }
}

impl Durable {
    /// Appends to the binlog file. In cohort order, one at a time. Followers get it before engines do: it is durable.
    fn send(mut self, coordinator: &Coordinator) -> Result<Sent, Failed> {
        coordinator.journal.mark_durable(self.0.record.end());
        let chunks = std::mem::take(&mut self.0.chunks);
        match self.append_chunks(coordinator, chunks) {
            Ok(()) => Ok(Sent(self.0)),
            Err(reason) => Err(self.0.failed(reason)),
        }
    }

    fn append_chunks(&self, coordinator: &Coordinator, chunks: Vec<Chunk<Vec<u8>>>) -> Result<(), String> {
        let tail = coordinator.binlog.tail();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.bytes.is_empty()) {
            let (at, end) = (chunk.place(), chunk.end());
            if at.offset == 0
                && let Some(events) = self.0.members.iter().find_map(|pending| pending.member.large_events())
            {
                large::append(coordinator, at.file_number, &chunk.bytes, events)?;
                continue;
            }
            coordinator.binlog.append(at, &chunk.bytes).map_err(|error| error.to_string())?;
            tail.push(at, chunk.bytes);
            tail.announce(end);
            if at.offset == 0 {
                coordinator.background.want_next_file();
            }
        }
        Ok(())
    }
}

impl Sent {
    /// Applies to every engine, publishes the snapshot; nothing of it is synced. In cohort order, one at a time.
    fn apply(self, coordinator: &Coordinator) -> Result<Visible, Failed> {
        let start = Instant::now();
        let wrote = self.apply_redo(coordinator);
        let Ordered { cohort, mut members, gtids, record, .. } = self.0;
        let wrote = match wrote {
            Ok(wrote) => wrote,
            Err(reason) => return Err(Failed { cohort, members, reason }),
        };
        let last = &members.last().expect("a cohort has members").member;
        coordinator.publish(last, &wrote, &gtids, record.end());
        for member in &members {
            coordinator.overlay.remove(&member.writes, member.member.order);
        }
        coordinator.keep_large_files(&mut members, record.end());
        coordinator.stats.apply_us.record_since(start);
        Ok(Visible { members })
    }

    /// Whether enough replicas have its events, where commits wait for that. If not, [`Coordinator::resume`] is called when
    /// that has changed.
    fn has_replicas(&self, coordinator: &Coordinator) -> bool {
        let acks = coordinator.binlog.acks();
        let Some(end) = self.0.end.filter(|_| acks.are_enabled()) else { return true };
        let transactions = self.0.members.iter().filter(|pending| pending.member.is_logged()).count() as u64;
        transactions == 0 || acks.lets_go(end, transactions)
    }

    /// Returns the engines that were changed.
    fn apply_redo(&self, coordinator: &Coordinator) -> Result<Vec<EngineId>, String> {
        let Ordered { members, record, .. } = &self.0;
        let redo_by_engine = redo_by_engine(members);
        for (engine, redo) in &redo_by_engine {
            let (engine, end) = (&*coordinator.engines[usize::from(engine.0)], Position(record.end().0));
            apply_when_there_is_room(coordinator, engine, || engine.apply(redo, end))
                .map_err(|error| error.to_string())?;
        }
        let large = members.iter().filter_map(|pending| pending.member.large.as_ref());
        let mut wrote: Vec<EngineId> = redo_by_engine.iter().map(|(engine, _)| *engine).collect();
        for parts in large {
            wrote.extend(large::apply(coordinator, parts, Position(record.end().0))?);
        }
        Ok(wrote)
    }
}

/// The cohort is durable in the journal, so an engine without room only delays it: every later one waits,
/// new statements are refused by [`Engine::ready`], and it goes on when there is room again.
fn apply_when_there_is_room(
    coordinator: &Coordinator,
    engine: &dyn Engine,
    apply: impl Fn() -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut reported = false;
    loop {
        match apply() {
            Err(WriteError::NoSpace { .. }) if coordinator.closed().is_none() => {
                if !reported {
                    log::warn!("{}: no space left; commits wait until there is room", engine.name());
                }
                reported = true;
                blocking(|| std::thread::sleep(ROOM_RETRY));
            }
            outcome => return outcome,
        }
    }
}

impl Visible {
    /// Hands every member its outcome; returns how many there were.
    fn acknowledge(self, stats: &CommitStats) -> usize {
        let start = Instant::now();
        let count = self.members.len();
        add(&stats.commits, count as u64);
        for member in self.members {
            let Member { committed, gtid, .. } = member.member;
            let committed = committed.expect("layout filled it in");
            // Readers see it: its session may ask for the same GTID again.
            drop(gtid);
            member.reply.send(Ok(committed));
        }
        stats.reply_us.record_since(start);
        count
    }
}

#[cfg(test)]
mod tests;
