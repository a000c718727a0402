//! The coordinator of the classic protocols: the steps that they are made of.
//!
//! Invariants
//! 1. A member's XID is in the binlog before any engine has its commit record (two-phase protocols).
//! 2. A binlog file is followed by the next only when every member in it is decided and durable in the
//!    engines: recovery reads the last file only.
//! 3. The engines say that the binlog is durable up to a position only when it is ([`BinlogNote`]), and each has said
//!    so of a member's end before it gets its commit record, if the binlog is synced with every group.
//! 4. After a step that may have left something behind failed, no commit is acknowledged
//!    ([`ClassicCoordinator::seal`]).
//! 5. A member that readers see before it is durable stands in [`Progress::undurable`] from before the one until the
//!    other: what rests on it is answered then.
//!
//! Concurrency: `order` → `showing`, `order` → `progress`. `order` is held while the binlog file is written;
//! callers commit in engines under a lock of their protocol, in the order in which they wrote the binlog.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cohort_binlog::{BinlogPosition, FileStart};
use cohort_engine::{TwoPhase, WriteError, Xid};
use cohort_io::SyncStats;
use cohort_journal::{Journal, Lsn};

use super::binlog_note::BinlogNote;
use super::recovery::RecoverError;
use super::tc_mmap::TcMmap;
use super::{Protocol, TcLog, UNLOGGED, internal_xid};
use crate::binlog_order::BinlogOrder;
use crate::binlog_order::Chunk;
use crate::blocking_hook::blocking;
use crate::commit_path::{CommitPath, Worker};
use crate::given_gtids::NewGtids;
use crate::held_snapshot::UNREAD_KEPT;
use crate::lock_profile::{LockProfile, ProfiledMutex};
use crate::outcome::{CommitError, Committed, Reply};
use crate::shared::{ALL_DURABLE, AbortOnPanic, Closed, Member, READ_UNWRITTEN, Shared, sync_last};
use crate::stats::add;
use crate::sync::{AtomicU64, Condvar, Mutex};
use crate::transaction::Transaction;

/// How often the background thread looks.
const UPKEEP_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Progress {
    next_order: u64,
    /// Members with a place in the order that the engines have not all committed.
    undecided: u64,
    /// Sessions within a commit.
    committing: u64,
    unsynced_groups: u32,
    /// Transactions in the binlog that nobody has had wait for replicas.
    unreplicated: u64,
    /// Up to here the binlog is durable.
    synced: BinlogPosition,
    /// Members that readers may see and that no sync has made durable.
    undurable: BTreeSet<u64>,
    /// Answers that rest on such members up to an order.
    readers: Vec<(u64, Committed, Box<dyn Reply>)>,
    closed: Option<Closed>,
}

impl Progress {
    fn is_durable(&self, order: u64) -> bool {
        self.undurable.first().is_none_or(|oldest| order < *oldest)
    }
}

/// An engine's commit records so far.
#[derive(Default)]
struct Records {
    written: AtomicU64,
    synced: AtomicU64,
}

/// A classic protocol at work on the engines and the binlog.
pub(crate) struct ClassicCoordinator {
    shared: Arc<Shared>,
    engines: Vec<Arc<dyn TwoPhase>>,
    /// What commits transactions that are in the binlog; none where no transaction is.
    protocol: Option<Box<dyn Protocol>>,
    /// What commits the others.
    unlogged: TcMmap,
    order: ProfiledMutex<BinlogOrder>,
    /// Held from a member's first commit record to its being shown; what is left in the engines with it.
    showing: ProfiledMutex<BinlogNote>,
    progress: Mutex<Progress>,
    /// For those who wait until nobody is undecided, or committing.
    changed: Condvar,
    /// For the background thread, which no commit wakes.
    closing: Condvar,
    /// By engine.
    records: Vec<Records>,
    next_xid: AtomicU64,
}

impl ClassicCoordinator {
    /// Goes on after `shared`'s frontier; nothing in the engines is prepared.
    pub fn new(
        shared: Arc<Shared>,
        engines: Vec<Arc<dyn TwoPhase>>,
        protocol: Option<Box<dyn Protocol>>,
        tc_log: TcLog,
    ) -> Self {
        let order = BinlogOrder::after(&shared.frontier().note);
        let next_order = shared.published().order + 1;
        let synced = shared.published().position;
        let note = BinlogNote::everywhere(engines.len(), synced);
        let records = engines.iter().map(|_| Records::default()).collect();
        ClassicCoordinator {
            shared,
            engines,
            protocol,
            unlogged: TcMmap::new(tc_log),
            order: ProfiledMutex::new("binlog order", order),
            showing: ProfiledMutex::new("showing", note),
            progress: Mutex::new(Progress { next_order, synced, ..Progress::default() }),
            changed: Condvar::new(),
            closing: Condvar::new(),
            records,
            next_xid: AtomicU64::new(1),
        }
    }
}

impl CommitPath for ClassicCoordinator {
    fn commit(&self, mut transaction: Transaction, reply: Box<dyn Reply>) {
        // A panic would leave followers without their leader: it ends the process, and recovery decides.
        let abort_on_panic = AbortOnPanic;
        let outcome = blocking(|| self.run(&mut transaction));
        let seen = transaction.rests_on().take();
        drop(transaction);
        match outcome {
            // Its own sync need not have been one of the engine that has what it saw.
            Ok(committed) => self.answer(committed, seen, reply),
            Err(error) => reply.send(Err(error)),
        }
        std::mem::forget(abort_on_panic);
    }

    fn when_durable(&self, seen: Option<u64>, reply: Box<dyn Reply>) {
        self.answer(self.nothing_written(), seen, reply);
    }

    fn is_durable(&self, order: u64) -> bool {
        order < self.shared.oldest_undurable.load(Ordering::Acquire)
    }

    fn newest_ordered(&self) -> Option<u64> {
        None
    }

    fn closed(&self) -> Option<CommitError> {
        self.progress.lock().closed.clone().map(CommitError::from)
    }

    fn drain(&self) {
        let mut progress = self.progress.lock();
        progress.closed.get_or_insert(Closed::ShuttingDown);
        self.closing.notify_all();
        while progress.committing > 0 {
            self.changed.wait(&mut progress);
        }
    }

    fn begin_file(&self, start: FileStart, reply: Box<dyn Reply>) {
        let begun = blocking(|| {
            let room = self.shared.rotation_room();
            self.shared.reserve_binlog(room).map_err(|error| self.refused(error))?;
            let mut order = self.order.lock("begin file");
            self.next_file(&mut order, Member::of_file(start, room))
        });
        reply.send(begun);
    }

    fn workers(self: Arc<Self>) -> Vec<Worker> {
        vec![("upkeep", Box::new(move || self.run_upkeep()))]
    }

    fn stop(&self) {}

    /// Says in every engine that binlog and engines are durable to their ends.
    fn close(&self) -> Result<(), String> {
        self.close_logs().map_err(|error| error.to_string())
    }

    fn prepare_ahead(&self) {
        self.shared.prepare_binlog_file_ahead();
    }

    fn take_checkpoint(&self) -> Result<(), String> {
        Ok(())
    }

    fn want_checkpoint(&self) {}

    fn checkpoint_refusal(&self) -> Option<String> {
        None
    }

    fn purge_floor(&self) -> u64 {
        self.shared.frontier().note.position.file_number
    }

    fn numbers_xa(&self) -> bool {
        true
    }

    fn journal(&self) -> Option<&Journal> {
        None
    }

    fn coordinator_log(&self) -> Option<SyncStats> {
        Some(self.unlogged.stats())
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        [
            self.protocol.as_ref().map(|protocol| protocol.lock_profile()).unwrap_or_default(),
            self.order.profile(),
            self.showing.profile(),
        ]
        .concat()
    }
}

impl ClassicCoordinator {
    /// Leaves the present end of the binlog in every engine, durably: where the protocol begins.
    pub fn leave_note(&self) -> Result<(), RecoverError> {
        if self.showing.lock("start").leave(&self.engines)? {
            self.engines.iter().try_for_each(|engine| engine.sync_log())?;
        }
        Ok(())
    }

    fn answer(&self, committed: Committed, seen: Option<u64>, reply: Box<dyn Reply>) {
        let mut progress = self.progress.lock();
        match seen.filter(|seen| !progress.is_durable(*seen)) {
            None => {
                drop(progress);
                reply.send(Ok(committed));
            }
            Some(_) if matches!(progress.closed, Some(Closed::Sealed(_))) => {
                drop(progress);
                reply.send(Err(CommitError::Unknown(READ_UNWRITTEN.to_owned())));
            }
            Some(seen) => progress.readers.push((seen, committed, reply)),
        }
    }

    fn nothing_written(&self) -> Committed {
        Committed { gtid: None, position: self.shared.published().position }
    }

    /// Readers are going to see `member` before a sync.
    fn begin_undurable(&self, member: &Member) {
        let mut progress = self.progress.lock();
        progress.undurable.insert(member.order);
        self.note_oldest_undurable(&progress);
    }

    /// A sync has made `member` durable.
    fn end_undurable(&self, member: &Member) {
        if self.is_durable(member.order) {
            return;
        }
        let mut progress = self.progress.lock();
        if !progress.undurable.remove(&member.order) {
            return;
        }
        self.note_oldest_undurable(&progress);
        let oldest = progress.undurable.first().copied().unwrap_or(ALL_DURABLE);
        let answered: Vec<_> = progress.readers.extract_if(.., |(seen, ..)| *seen < oldest).collect();
        drop(progress);
        for (_, committed, reply) in answered {
            reply.send(Ok(committed));
        }
    }

    fn note_oldest_undurable(&self, progress: &Progress) {
        let newest = progress.undurable.last().copied().unwrap_or(ALL_DURABLE);
        self.shared.newest_undurable.store(newest, Ordering::Release);
        let oldest = progress.undurable.first().copied().unwrap_or(ALL_DURABLE);
        self.shared.oldest_undurable.store(oldest, Ordering::Release);
    }

    fn run(&self, transaction: &mut Transaction) -> Result<Committed, CommitError> {
        let (writes, mut events) = transaction.take_changes();
        let xid = self.next_xid.fetch_add(1, Ordering::Relaxed);
        events.iter_mut().for_each(|events| events.compress(xid));
        let gtid = transaction.take_gtid();
        let admitted = self.shared.admit(&writes, events).map_err(|error| self.refused(error))?;
        let Some(mut member) = admitted else {
            return Ok(self.nothing_written());
        };
        member.gtid = gtid;
        if let Err(closed) = self.enter() {
            self.shared.binlog.release(member.binlog_room);
            return Err(closed);
        }
        member.xid = xid;
        let outcome = match &self.protocol {
            Some(protocol) if member.events.is_some() => protocol.commit(self, member),
            _ => {
                member.xid |= UNLOGGED;
                self.unlogged.commit(self, member)
            }
        };
        add(&self.shared.stats.commits, u64::from(outcome.is_ok()));
        self.leave();
        outcome
    }

    /// A transaction of one engine that is not in the binlog has nothing to be kept together with.
    pub fn commit_in_engine_only(&self, mut member: Member) -> Result<Committed, CommitError> {
        self.take_place(&mut member);
        self.begin_undurable(&member);
        let showing = self.showing.lock("commit");
        let committed = self.commit_in_engines(&member, |engine, redo| engine.commit_unprepared(redo))?;
        drop(showing);
        self.decided();
        self.sync_engines(&member)?;
        Ok(committed)
    }

    /// Gives a member that is not in the binlog its place in the commit order.
    pub fn take_place(&self, member: &mut Member) {
        member.committed = Some(self.nothing_written());
        let mut progress = self.progress.lock();
        member.order = progress.next_order;
        progress.next_order += 1;
        progress.undecided += 1;
    }

    /// Prepares the member in every engine it changed; not durable before a sync. After an error nothing
    /// of it is left.
    pub fn prepare(&self, member: &Member) -> Result<(), CommitError> {
        let xid = self.xid(member);
        for (at, (engine, redo)) in member.redo.iter().enumerate() {
            if let Err(error) = self.engines[usize::from(engine.0)].prepare(&xid, redo) {
                for (engine, _) in &member.redo[..at] {
                    self.engines[usize::from(engine.0)].rollback_prepared(&xid).map_err(|e| self.seal(&e))?;
                }
                self.shared.binlog.release(member.binlog_room);
                return Err(self.refused(CommitError::of_engine(error)));
            }
        }
        Ok(())
    }

    /// Makes the member's records durable in the engines it changed, with those of everyone who waits; unless
    /// `flush_log_at_trx_commit` is 1, they are only handed to the operating system.
    pub fn sync_engines(&self, member: &Member) -> Result<(), CommitError> {
        self.sync_or_flush(member.redo.iter().map(|(engine, _)| usize::from(engine.0)))?;
        self.end_undurable(member);
        Ok(())
    }

    /// The same for every record in every engine.
    pub fn sync_all_engines(&self) -> Result<(), CommitError> {
        self.sync_or_flush(0..self.engines.len())
    }

    fn sync_or_flush(&self, mut engines: impl Iterator<Item = usize>) -> Result<(), CommitError> {
        match self.syncs_at_commit() {
            true => engines.try_for_each(|engine| self.sync_engine(engine)),
            false => engines.try_for_each(|engine| self.engines[engine].flush_log().map_err(|error| self.seal(&error))),
        }
    }

    fn sync_engine(&self, engine: usize) -> Result<(), CommitError> {
        let Records { written, synced } = &self.records[engine];
        let covered = written.load(Ordering::Acquire);
        self.engines[engine].sync_log().map_err(|error| self.seal(&error))?;
        synced.fetch_max(covered, Ordering::AcqRel);
        Ok(())
    }

    fn syncs_at_commit(&self) -> bool {
        self.shared.settings.durability.flush_log_at_trx_commit.load(Ordering::Relaxed) == 1
    }

    /// Fixes the members' order and writes their events into the binlog file, unsynced.
    pub fn write_binlog<'m>(&self, members: impl IntoIterator<Item = &'m mut Member>) -> Result<(), CommitError> {
        let mut members: Vec<&mut Member> = members.into_iter().collect();
        let mut order = self.order.lock("write");
        if order.file_is_full(&self.shared)
            && let Some(first) = members.first_mut()
        {
            let room = std::mem::take(&mut first.rotation_room);
            first.binlog_room -= room;
            self.next_file(&mut order, Member::of_file(FileStart::Rotation, room))?;
        }
        let count = members.len() as u64;
        let transactions = members.iter().filter(|member| member.events.is_some()).count() as u64;
        {
            let mut progress = self.progress.lock();
            if let Some(closed @ Closed::Sealed(_)) = &progress.closed {
                return Err(closed.clone().into());
            }
            let members = members.into_iter().zip(progress.next_order..).map(|(member, order)| {
                member.order = order;
                member
            });
            let chunks = order.lay_out(&self.shared, members, false);
            progress.next_order += count;
            progress.undecided += count;
            progress.unreplicated += transactions;
            drop(progress);
            chunks.into_iter().try_for_each(|chunk| self.append(chunk))?;
        }
        self.shared.stats.cohort_size.record(count);
        Ok(())
    }

    /// How long a leader holds its group back: only where the group's sync is due.
    pub fn sync_delay(&self) -> Option<(Instant, usize)> {
        let every = self.shared.settings.durability.sync_binlog.load(Ordering::Relaxed);
        let due = self.progress.lock().unsynced_groups + 1 >= every;
        due.then(|| self.shared.settings.sync_delay.begin()).flatten()
    }

    /// `binlog_order_commits`.
    pub fn orders_commits(&self) -> bool {
        self.shared.settings.order_commits.load(Ordering::Relaxed)
    }

    /// Syncs the binlog, as often as `sync_binlog` says; then waits for replicas, where that is enabled.
    pub fn sync_binlog(&self) -> Result<(), CommitError> {
        let transactions = std::mem::take(&mut self.progress.lock().unreplicated);
        let written = self.shared.binlog.end();
        self.sync_binlog_if_due()?;
        written.into_iter().for_each(|end| self.shared.wait_for_replicas(end, transactions));
        Ok(())
    }

    fn sync_binlog_if_due(&self) -> Result<(), CommitError> {
        let every = self.shared.settings.durability.sync_binlog.load(Ordering::Relaxed);
        {
            let mut progress = self.progress.lock();
            progress.unsynced_groups += 1;
            if every != 1 {
                // Commits do not wait for a sync then, and so readers do not.
                self.shared.binlog.tail().announce(self.shared.binlog.end().unwrap_or_default());
            }
            if every == 0 || progress.unsynced_groups < every {
                return Ok(());
            }
            progress.unsynced_groups = 0;
        }
        self.sync_whole_binlog()
    }

    fn sync_whole_binlog(&self) -> Result<(), CommitError> {
        let synced = self.shared.binlog.sync_all().map_err(|error| self.seal(&error))?.unwrap_or_default();
        let mut progress = self.progress.lock();
        progress.synced = progress.synced.max(synced);
        drop(progress);
        self.shared.binlog.tail().announce(synced);
        Ok(())
    }

    /// Writes the member's commit records and shows it to readers; not durable before a sync.
    pub fn commit_prepared(&self, member: &Member) -> Result<Committed, CommitError> {
        let xid = self.xid(member);
        let mut showing = self.showing.lock("commit");
        if member.events.is_some() {
            self.leave_note_for(member, &mut showing)?;
        }
        let committed = self.commit_in_engines(member, |engine, _| engine.commit_prepared(&xid))?;
        drop(showing);
        self.decided();
        Ok(committed)
    }

    /// Writes changes, binlog position and commit record at once, in engine after engine, and shows them to
    /// readers.
    pub fn commit_without_prepare(&self, member: &Member) -> Result<Committed, CommitError> {
        let position = member.committed.as_ref().expect("the binlog was laid out").position;
        let mut note = self.showing.lock("commit");
        let synced = self.progress.lock().synced;
        member.redo.iter().for_each(|(engine, _)| note.set(engine.0.into(), position, synced));
        if member.redo.is_empty() {
            // A statement that changed nothing is in the binlog alone; recovery must not take it for lost, and nobody
            // syncs the engine for it later.
            note.set(0, position, synced);
            let left = self.engines[0].commit_unprepared(&note.redo());
            left.map_err(|error| self.seal(&error))?;
            self.records[0].written.fetch_add(1, Ordering::AcqRel);
            self.sync_or_flush(std::iter::once(0))?;
        }
        let position = note.redo();
        self.begin_undurable(member);
        let committed =
            self.commit_in_engines(member, |engine, redo| engine.commit_unprepared(&[redo, &position[..]].concat()))?;
        drop(note);
        self.decided();
        Ok(committed)
    }

    /// With `showing` locked: writes the note that belongs before the commit records of a prepared member, where
    /// none of its group or after it was written. One that is in the binlog alone leaves it in the first engine.
    fn leave_note_for(&self, member: &Member, note: &mut BinlogNote) -> Result<(), CommitError> {
        let position = member.committed.as_ref().expect("the binlog was laid out").position;
        let synced = self.progress.lock().synced;
        let changed = member.redo.iter().map(|(engine, _)| usize::from(engine.0));
        let alone = member.redo.is_empty().then_some(0);
        for engine in changed.chain(alone) {
            if let Some(redo) = note.cover(engine, position, synced) {
                self.engines[engine].commit_unprepared(&redo).map_err(|error| self.seal(&error))?;
                self.records[engine].written.fetch_add(1, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// With `showing` locked: commits in engine after engine and shows that to readers, who never see a part
    /// of it.
    fn commit_in_engines(
        &self,
        member: &Member,
        commit: impl Fn(&dyn TwoPhase, &[u8]) -> Result<(), WriteError>,
    ) -> Result<Committed, CommitError> {
        self.check_open()?;
        let committed = member.committed.clone().expect("the binlog was laid out");
        let mut gtids = NewGtids::default();
        if let Some(gtid) = committed.gtid {
            gtids.set.insert(gtid);
        }
        for (engine, redo) in &member.redo {
            let engine = usize::from(engine.0);
            commit(&*self.engines[engine], redo).map_err(|error| self.seal(&error))?;
            self.records[engine].written.fetch_add(1, Ordering::AcqRel);
        }
        let wrote: Vec<_> = member.redo.iter().map(|(engine, _)| *engine).collect();
        self.shared.publish(member, &wrote, &gtids, Lsn(0));
        Ok(committed)
    }

    fn xid(&self, member: &Member) -> Xid {
        internal_xid(self.shared.identity.server_id, member.xid)
    }

    /// With `order` locked: waits until every member of the file is decided, makes that durable, and
    /// begins the next.
    fn next_file(&self, order: &mut BinlogOrder, mut file: Member) -> Result<Committed, CommitError> {
        let mut progress = self.progress.lock();
        // A shutdown waits for them too.
        while progress.undecided > 0 && !matches!(progress.closed, Some(Closed::Sealed(_))) {
            self.changed.wait(&mut progress);
        }
        file.order = progress.next_order - 1;
        drop(progress);
        self.check_open()?;
        self.engines.iter().try_for_each(|engine| engine.sync_log()).map_err(|error| self.seal(&error))?;
        // Those of transactions are new when these are shown.
        order.take_new_gtids();
        for chunk in order.lay_out(&self.shared, std::iter::once(&mut file), false) {
            // The file that ends here is durable to its last byte before there is another one.
            self.append(chunk)?;
            self.sync_whole_binlog()?;
        }
        let _showing = self.showing.lock("begin file");
        self.shared.publish(&file, &[], &order.take_new_gtids(), Lsn(0));
        Ok(file.committed.expect("the binlog was laid out"))
    }

    fn append(&self, chunk: Chunk<Vec<u8>>) -> Result<(), CommitError> {
        if chunk.bytes.is_empty() {
            return Ok(());
        }
        let at = chunk.place();
        self.shared.binlog.append(at, &chunk.bytes).map_err(|error| self.seal(&error))?;
        self.shared.binlog.tail().push(at, chunk.bytes);
        Ok(())
    }

    fn decided(&self) {
        let mut progress = self.progress.lock();
        progress.undecided -= 1;
        if progress.undecided == 0 {
            self.changed.notify_all();
        }
    }

    fn enter(&self) -> Result<(), CommitError> {
        let mut progress = self.progress.lock();
        if let Some(closed) = &progress.closed {
            return Err(closed.clone().into());
        }
        progress.committing += 1;
        Ok(())
    }

    fn leave(&self) {
        let mut progress = self.progress.lock();
        progress.committing -= 1;
        if progress.committing == 0 {
            self.changed.notify_all();
        }
    }

    fn check_open(&self) -> Result<(), CommitError> {
        match &self.progress.lock().closed {
            Some(Closed::Sealed(reason)) => Err(CommitError::Unknown(reason.clone())),
            _ => Ok(()),
        }
    }

    /// What to say of a member that was refused and of which nothing is left. An engine or a log that takes no
    /// more writes is the end for all.
    fn refused(&self, error: CommitError) -> CommitError {
        if let CommitError::Sealed(reason) = &error {
            self.seal_for(reason.clone());
        }
        error
    }

    /// Refuses every later commit; the outcome of those under way is unknown, which is what is returned.
    pub fn seal(&self, error: &dyn std::error::Error) -> CommitError {
        self.seal_for(error.to_string())
    }

    fn seal_for(&self, reason: String) -> CommitError {
        let mut progress = self.progress.lock();
        let reason = match &progress.closed {
            Some(Closed::Sealed(first)) => first.clone(),
            _ => reason,
        };
        progress.closed = Some(Closed::Sealed(reason.clone()));
        self.changed.notify_all();
        self.closing.notify_all();
        let readers = std::mem::take(&mut progress.readers);
        drop(progress);
        for (.., reply) in readers {
            reply.send(Err(CommitError::Unknown(READ_UNWRITTEN.to_owned())));
        }
        CommitError::Unknown(reason)
    }

    fn close_logs(&self) -> Result<(), CommitError> {
        self.sync_whole_binlog()?;
        let end = self.shared.binlog.end().unwrap_or_default();
        let note = BinlogNote::everywhere(self.engines.len(), end);
        note.leave(&self.engines).map_err(|error| self.seal(&error))?;
        for engine in &self.engines {
            sync_last(&**engine).map_err(|error| self.seal(&error))?;
        }
        self.shared.binlog.close().map_err(|error| self.seal(&error))
    }

    /// Makes commit records durable that had no sync: those `seen` at the last call, or all where commits do not
    /// sync. So no sync is doubled that a session is about to make.
    pub fn sync_left(&self, seen: &mut Vec<u64>) -> Result<(), CommitError> {
        seen.resize(self.records.len(), 0);
        for (engine, (Records { written, synced }, seen)) in self.records.iter().zip(seen).enumerate() {
            let written = written.load(Ordering::Acquire);
            let due = if self.syncs_at_commit() { *seen } else { written };
            *seen = written;
            if synced.load(Ordering::Acquire) < due {
                self.sync_engine(engine)?;
            }
        }
        Ok(())
    }

    /// Body of the background thread: the next binlog file made ready, and once a second a sync of commit records
    /// that had none, as InnoDB's master thread has it. Returns when commits are refused.
    pub fn run_upkeep(&self) {
        let mut seen = Vec::new();
        loop {
            self.prepare_ahead();
            self.shared.held_snapshots.give_up_unused(UNREAD_KEPT);
            if self.sync_left(&mut seen).is_err() {
                return;
            }
            let next = Instant::now() + UPKEEP_EVERY;
            let mut progress = self.progress.lock();
            while progress.closed.is_none() && !self.closing.wait_until(&mut progress, next).timed_out() {}
            if progress.closed.is_some() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
