//! A commit of a transaction that has its events and changes in files already.
//!
//! What differs from `commit.rs`:
//! 1. Before it joins the queue, everything is on stable storage: the events in the file that becomes its binlog file,
//!    the changes in runs or with the engines (`large.rs`). Nobody waits for that but its session.
//! 2. Its versions do not go into the overlay, and its locks are held until it can be seen.
//! 3. It is a cohort of its own, whose record is short: what precedes and follows the events in their file, and which
//!    files and runs belong to it.
//! 4. The binlog file gets its name, and engines take in what they kept.
//!
//! On crash: the record decides as for any other transaction. Files of one that has none are removed, those of one that
//! has are used again (`recovery.rs`) until a checkpoint is beyond the record.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cohort_binlog::LargeEvents;
use cohort_engine::{EngineId, Position};
use cohort_journal::Lsn;

use super::{Admitted, Coordinator, Pending, apply_when_there_is_room};
use crate::large::{self, LargeParts};
use crate::outcome::{CommitError, Committed, Reply};
use crate::shared::{Member, refused};
use crate::sync::{Condvar, Mutex};
use crate::transaction::Transaction;
use crate::write_set::WriteSet;

/// Locks that take so much memory take long to release.
const LOCKS_AT_ONCE_BYTES: u64 = 1 << 20;

/// How many transactions are being ended by threads of their own.
#[derive(Default)]
pub(super) struct Ends {
    running: Mutex<usize>,
    ended: Condvar,
}

impl Ends {
    fn begin(self: &Arc<Self>) -> End {
        *self.running.lock() += 1;
        End(self.clone())
    }

    /// Waits until none is.
    pub(super) fn wait(&self) {
        let mut running = self.running.lock();
        while *running > 0 {
            self.ended.wait(&mut running);
        }
    }
}

/// One of them; dropped when its outcome has gone out.
struct End(Arc<Ends>);

impl Drop for End {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_all();
    }
}

/// Releases the locks of a transaction before its outcome goes out.
struct LockedReply {
    transaction: Transaction,
    reply: Box<dyn Reply>,
    ends: Arc<Ends>,
}

impl Reply for LockedReply {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        let LockedReply { transaction, reply, ends } = *self;
        if transaction.locks.memory_bytes() < LOCKS_AT_ONCE_BYTES {
            drop(transaction);
            return reply.send(outcome);
        }
        // Every commit after this one waits for this thread.
        let to_end = Arc::new(Mutex::new(Some((transaction, reply, outcome, ends.begin()))));
        let end = move || {
            let taken = to_end.lock().take();
            if let Some((transaction, reply, outcome, _end)) = taken {
                drop(transaction);
                reply.send(outcome);
            }
        };
        if std::thread::Builder::new().name("end-of-large".to_owned()).spawn(end.clone()).is_err() {
            end();
        }
    }
}

impl Coordinator {
    /// [`CommitPath::commit`](crate::commit_path::CommitPath::commit) of a large transaction.
    pub(super) fn commit_large(&self, mut transaction: Transaction, reply: Box<dyn Reply>) {
        match self.admit_large(&mut transaction) {
            Ok(Some(admitted)) => {
                let ends = self.ends.clone();
                self.run(admitted, Box::new(LockedReply { transaction, reply, ends }), || ());
            }
            Ok(None) => {
                let seen = transaction.rests_on().take();
                drop(transaction);
                super::CommitPath::when_durable(self, seen, reply);
            }
            Err(error) => {
                drop(transaction);
                reply.send(Err(self.refused(error)));
            }
        }
    }

    /// Makes everything durable and sets room aside; `None` where nothing is left to commit. After an error nothing is
    /// set aside.
    pub(super) fn admit_large(&self, transaction: &mut Transaction) -> Result<Option<Admitted>, CommitError> {
        if let Some(closed) = super::CommitPath::closed(self) {
            return Err(closed);
        }
        let (parts, events) = transaction.take_large()?;
        if parts.events.is_none() && events.is_none() && parts.redo.is_empty() {
            return Ok(None);
        }
        for redo in &parts.redo {
            self.engine(redo.engine).ready().map_err(CommitError::of_engine)?;
        }
        let mut member = Member::new(Vec::new(), None, 0);
        if let Some(events) = &parts.events {
            member.rotation_room = self.rotation_room();
            member.binlog_room = member.rotation_room + events.begin() + LargeEvents::CLOSE_BYTES_MAX;
            self.binlog.admit_large(events).map_err(|error| refused(&error))?;
            if let Err(error) = self.reserve_binlog(member.binlog_room) {
                self.binlog.refuse_large(events);
                return Err(error);
            }
        } else if let Some(events) = events {
            member.rotation_room = self.rotation_room();
            member.binlog_room = member.rotation_room + events.byte_len();
            self.reserve_binlog(member.binlog_room)?;
            member.events = Some(events);
        }
        if let Some(writes) = &parts.writes {
            let most = self.settings.capture_bytes_max.load(Ordering::Relaxed);
            let noted = self.captures.note_large(most, |engine, range, most| writes.keys(engine, range, most));
            member.captured = match noted {
                Ok(captured) => captured,
                Err(error) => {
                    member.large = Some(parts);
                    self.give_binlog_room_back(&member);
                    return Err(error);
                }
            };
        }
        member.gtid = transaction.take_gtid();
        member.large = Some(parts);
        self.reserve(member, WriteSet::default()).map(Some)
    }

    /// Refuses a transaction whose file has no room for the header that it would get if it were ordered now. To be called
    /// where the order is fixed: whatever makes the header longer is ordered before, and counted, or after.
    pub(super) fn check_header_room(&self, member: &Member) -> Result<(), CommitError> {
        match member.large_events() {
            Some(events) if events.header_bytes_max() < self.rotation_room() => {
                let what = "its file has no room for the GTIDs that were executed meanwhile; run it again".to_owned();
                Err(CommitError::Spill(what))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the files of large transactions for recovery, until a checkpoint is beyond `end`, which is asked for.
    pub(super) fn keep_large_files(&self, members: &mut [Pending], end: Lsn) {
        let large = members.iter_mut().filter_map(|pending| pending.member.large.as_mut());
        for writes in large.filter_map(|parts| parts.writes.take()) {
            self.background.keep_large(end, writes);
        }
    }
}

/// The first cohort of those who wait, and the rest: a large transaction is one by itself.
pub(super) fn part(mut waiting: Vec<Pending>) -> (Vec<Pending>, Vec<Pending>) {
    let is_large = |pending: &Pending| pending.member.large.is_some();
    let later = match waiting.iter().position(is_large) {
        None => Vec::new(),
        Some(0) => waiting.split_off(1),
        Some(first) => waiting.split_off(first),
    };
    (waiting, later)
}

/// Makes the file of a large transaction's events the binlog file with this number.
pub(super) fn append(coordinator: &Coordinator, number: u64, head: &[u8], events: &LargeEvents) -> Result<(), String> {
    coordinator.binlog.append_large(number, head, events).map_err(|error| error.to_string())?;
    coordinator.background.want_next_file();
    Ok(())
}

/// Applies a large transaction; returns the engines that were changed.
pub(super) fn apply(
    coordinator: &Coordinator,
    parts: &LargeParts,
    position: Position,
) -> Result<Vec<EngineId>, String> {
    for redo in &parts.redo {
        let engine = coordinator.engine(redo.engine);
        let apply = || large::apply(&coordinator.binlog, engine, parts.id, redo, position);
        apply_when_there_is_room(coordinator, engine, apply).map_err(|error| error.to_string())?;
    }
    Ok(parts.redo.iter().map(|redo| redo.engine).collect())
}
