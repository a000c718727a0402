//! Groups, the queues they form in, and how a leader hands over to those it does the work for.
//!
//! Invariants
//! 1. A member is in one queue or one group at a time; whoever holds its group gives it an outcome.
//! 2. Members leave a queue in the order in which they entered it.

use std::sync::Arc;
use std::time::Instant;

use crate::lock_profile::{LockProfile, ProfiledGuard, ProfiledMutex};
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;
use crate::sync::{Condvar, Mutex};

type Outcome = Result<Committed, CommitError>;

/// What a session waits for.
enum Turn {
    Waiting,
    /// Commit the first of the group, which is the session's own, and hand the rest on.
    Commit(Group),
    /// Commit the session's own, whenever it likes.
    Alone(Box<Member>),
    Done(Outcome),
}

struct Slot {
    turn: Mutex<Turn>,
    changed: Condvar,
}

impl Slot {
    fn set(&self, turn: Turn) {
        *self.turn.lock() = turn;
        self.changed.notify_one();
    }

    fn wait(&self) -> Turn {
        let mut turn = self.turn.lock();
        while matches!(*turn, Turn::Waiting) {
            self.changed.wait(&mut turn);
        }
        std::mem::replace(&mut *turn, Turn::Waiting)
    }
}

/// A session's claim to the outcome of its member.
pub(super) struct Ticket(Arc<Slot>);

struct Entry {
    member: Member,
    outcome: Option<Outcome>,
    slot: Arc<Slot>,
}

/// Members on their way together, in commit order.
pub(super) struct Group {
    entries: Vec<Entry>,
}

impl Ticket {
    /// A group of one, and the claim to its outcome.
    pub fn of(member: Member) -> (Ticket, Group) {
        let slot = Arc::new(Slot { turn: Mutex::new(Turn::Waiting), changed: Condvar::new() });
        let entry = Entry { member, outcome: None, slot: slot.clone() };
        (Ticket(slot), Group { entries: vec![entry] })
    }

    /// Waits for a leader to finish the group.
    pub fn wait(&self) -> Outcome {
        self.wait_or_commit(|_| unreachable!("a leader that hands members back is waited for by those who take them"))
    }

    /// Waits for a leader to finish the group, or to hand the member back for `commit`.
    pub fn wait_or_commit(&self, commit: impl FnOnce(&Member) -> Outcome) -> Outcome {
        match self.0.wait() {
            Turn::Done(outcome) => outcome,
            Turn::Alone(member) => commit(&member),
            Turn::Commit(_) | Turn::Waiting => {
                unreachable!("a leader that hands turns out is waited for by their takers")
            }
        }
    }

    /// Waits for the session before this one, commits, and signals the next.
    pub fn wait_for_turn(&self, queue_busy: &QueueBusy, commit: impl FnOnce(&Member) -> Outcome) -> Outcome {
        match self.0.wait() {
            Turn::Done(outcome) => outcome,
            Turn::Commit(group) => group.commit_first(queue_busy, commit),
            Turn::Alone(_) | Turn::Waiting => unreachable!("a wait ends when there is something to do"),
        }
    }
}

impl Group {
    pub fn members(&mut self) -> impl Iterator<Item = &mut Member> {
        self.entries.iter_mut().map(|entry| &mut entry.member)
    }

    /// Gives each member the outcome of `commit`, in order.
    pub fn commit_all(&mut self, mut commit: impl FnMut(&Member) -> Outcome) {
        for entry in &mut self.entries {
            entry.outcome = Some(commit(&entry.member));
        }
    }

    /// Wakes every member's session with its outcome.
    pub fn finish(self) {
        for Entry { member, outcome, slot } in self.entries {
            drop(member);
            slot.set(Turn::Done(outcome.expect("a group is finished once every member has an outcome")));
        }
    }

    /// Hands every member back to its session, which commits it in no order.
    pub fn hand_back(self) {
        for Entry { member, slot, .. } in self.entries {
            slot.set(Turn::Alone(Box::new(member)));
        }
    }

    /// Gives every member `error`, the leader among them, whose outcome is returned.
    pub fn fail(mut self, leader: &Ticket, error: &CommitError) -> Outcome {
        self.commit_all(|_| Err(error.clone()));
        self.finish();
        leader.wait()
    }

    /// Commits the first member, in its own session, and signals the next; the last one frees the queue.
    pub fn commit_first(mut self, queue_busy: &QueueBusy, commit: impl FnOnce(&Member) -> Outcome) -> Outcome {
        let first = self.entries.remove(0);
        let outcome = commit(&first.member);
        match self.entries.first().map(|next| next.slot.clone()) {
            Some(next) => next.set(Turn::Commit(self)),
            None => queue_busy.free(),
        }
        outcome
    }
}

/// A stage of the commit: its queue and its lock.
pub(super) struct Stage {
    queue: Mutex<Vec<Entry>>,
    joined: Condvar,
    lock: ProfiledMutex<()>,
}

impl Stage {
    pub fn new(lock: &'static str) -> Self {
        Stage { queue: Mutex::default(), joined: Condvar::new(), lock: ProfiledMutex::new(lock, ()) }
    }

    /// Puts `group` into the queue, then lets the lock of the stage before go. Whoever finds the queue
    /// empty leads: it waits for the stage's lock, and where `delay` says so for more to join, and takes
    /// everything that is queued by then. `None` for followers: their group belongs to a leader from here on.
    pub fn enter(
        &self,
        group: Group,
        before: Option<ProfiledGuard<'_, ()>>,
        step: &'static str,
        delay: impl FnOnce() -> Option<(Instant, usize)>,
    ) -> Option<(ProfiledGuard<'_, ()>, Group)> {
        let leads = {
            let mut queue = self.queue.lock();
            let leads = queue.is_empty();
            queue.extend(group.entries);
            leads
        };
        if !leads {
            self.joined.notify_one();
        }
        drop(before);
        leads.then(|| {
            let lock = self.lock.lock(step);
            let mut queue = self.queue.lock();
            if let Some((until, enough)) = delay() {
                while queue.len() < enough && !self.joined.wait_until(&mut queue, until).timed_out() {}
            }
            let entries = std::mem::take(&mut *queue);
            drop(queue);
            (lock, Group { entries })
        })
    }

    pub fn lock_profile(&self) -> Vec<LockProfile> {
        self.lock.profile()
    }
}

/// Whether a group's ordered commits are under way (`group_commit_queue_busy`): the next group's wait.
#[derive(Default)]
pub(super) struct QueueBusy {
    busy: Mutex<bool>,
    freed: Condvar,
}

impl QueueBusy {
    pub fn occupy(&self) {
        let mut busy = self.busy.lock();
        while *busy {
            self.freed.wait(&mut busy);
        }
        *busy = true;
    }

    fn free(&self) {
        *self.busy.lock() = false;
        self.freed.notify_one();
    }
}
