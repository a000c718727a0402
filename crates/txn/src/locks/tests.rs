use std::sync::mpsc;
use std::thread;

use super::*;
use crate::tests::until;

pub(super) const SOON: Duration = Duration::from_millis(20);
pub(super) const LONG: Duration = Duration::from_secs(30);

pub(super) struct Party {
    pub(super) manager: Arc<LockManager>,
    pub(super) held: HeldLocks,
}

pub(super) fn parties<const N: usize>() -> [Party; N] {
    let manager = Arc::new(LockManager::new());
    std::array::from_fn(|n| Party { manager: manager.clone(), held: HeldLocks::new(TransactionId(n as u64 + 1)) })
}

impl Party {
    pub(super) fn lock(&mut self, name: &str, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        self.manager.lock(&mut self.held, name.as_bytes(), mode, timeout).map(|_| ())
    }

    pub(super) fn try_lock(&mut self, name: &str, mode: LockMode) -> bool {
        self.manager.try_lock(&mut self.held, name.as_bytes(), mode).is_some()
    }

    pub(super) fn release(&mut self) {
        self.manager.release_all(&mut self.held);
    }

    /// Returns once `count` transactions are parked.
    pub(super) fn wait_for_waiters(&self, count: u64) {
        until("waiters", || self.manager.stats()[0] >= count);
    }
}

use LockMode::{Exclusive, Shared};

#[test]
fn exclusive_excludes_everyone() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("row", Exclusive));
    assert!(!b.try_lock("row", Exclusive));
    assert!(!b.try_lock("row", Shared));
    assert!(b.try_lock("other", Exclusive));
    a.release();
    assert!(b.try_lock("row", Shared));
}

#[test]
fn shared_locks_are_held_together_and_block_exclusive_ones() {
    let [mut a, mut b, mut c] = parties();
    assert!(a.try_lock("row", Shared));
    assert!(b.try_lock("row", Shared));
    assert!(!c.try_lock("row", Exclusive));
    a.release();
    assert!(!c.try_lock("row", Exclusive));
    b.release();
    assert!(c.try_lock("row", Exclusive));
}

#[test]
fn a_holder_asks_again_without_waiting() {
    let [mut a] = parties();
    assert!(a.try_lock("row", Exclusive));
    assert!(a.try_lock("row", Shared));
    assert!(a.try_lock("row", Exclusive));
    a.release();
    let [mut b] = [Party { manager: a.manager.clone(), held: HeldLocks::new(TransactionId(9)) }];
    assert!(b.try_lock("row", Exclusive), "one release gives up the lock however often it was asked for");
}

#[test]
fn the_only_holder_turns_shared_into_exclusive() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("row", Shared));
    assert!(a.try_lock("row", Exclusive));
    assert!(!b.try_lock("row", Shared));
}

#[test]
fn waiters_are_served_in_order() {
    let [mut a, mut b, mut c] = parties();
    assert!(a.try_lock("row", Shared));
    let (served, order) = mpsc::channel();
    let manager = a.manager.clone();
    let writer = thread::spawn({
        let served = served.clone();
        move || {
            b.lock("row", Exclusive, LONG).unwrap();
            served.send("writer").unwrap();
            b.release();
        }
    });
    a.wait_for_waiters(1);
    // A shared lock would be compatible with the holder, and still must not overtake the writer.
    assert!(!c.try_lock("row", Shared));
    let reader = thread::spawn(move || {
        c.lock("row", Shared, LONG).unwrap();
        served.send("reader").unwrap();
        c.release();
    });
    until("waiters", || manager.stats()[0] >= 2);
    a.release();
    assert_eq!(order.recv().unwrap(), "writer");
    assert_eq!(order.recv().unwrap(), "reader");
    writer.join().unwrap();
    reader.join().unwrap();
    let left: usize = manager.shards.iter().map(|shard| shard.lock().len()).sum();
    assert_eq!(left, 0, "a lock that nobody wants leaves nothing behind");
}

#[test]
fn a_wait_that_takes_too_long_ends_and_leaves_the_queue() {
    let [mut a, mut b, mut c] = parties();
    assert!(a.try_lock("row", Exclusive));
    assert_eq!(b.lock("row", Exclusive, SOON), Err(LockError::Timeout));
    a.release();
    assert!(c.try_lock("row", Exclusive), "the one who gave up is not granted the lock");
}

#[test]
fn deadlock_is_found_when_it_closes() {
    let [mut a, mut b, mut c] = parties();
    assert!(a.try_lock("1", Exclusive) && b.try_lock("2", Exclusive) && c.try_lock("3", Exclusive));
    let manager = a.manager.clone();
    let first = thread::spawn(move || a.lock("2", Exclusive, LONG).map(|()| a.release()));
    let second = thread::spawn(move || b.lock("3", Exclusive, LONG).map(|()| b.release()));
    until("waiters", || manager.stats()[0] >= 2);
    assert_eq!(c.lock("1", Exclusive, LONG), Err(LockError::Deadlock));
    c.release();
    assert_eq!(second.join().unwrap(), Ok(()));
    assert_eq!(first.join().unwrap(), Ok(()));
}

#[test]
fn who_ends_waits_names_the_owner_of_the_locks() {
    let parties: [Party; 3] = parties();
    assert_eq!(parties.map(|party| party.held.kill_handle().owner()), [1, 2, 3]);
}

#[test]
fn two_readers_that_both_want_to_write_are_a_deadlock() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("row", Shared) && b.try_lock("row", Shared));
    let manager = a.manager.clone();
    let first = thread::spawn(move || a.lock("row", Exclusive, LONG));
    until("waiters", || manager.stats()[0] >= 1);
    assert_eq!(b.lock("row", Exclusive, LONG), Err(LockError::Deadlock));
    b.release();
    assert_eq!(first.join().unwrap(), Ok(()));
}

#[test]
fn a_chain_that_does_not_close_is_no_deadlock() {
    let [mut a, mut b, mut c] = parties();
    assert!(a.try_lock("1", Exclusive) && b.try_lock("2", Exclusive));
    let manager = a.manager.clone();
    let second = thread::spawn(move || b.lock("1", Exclusive, LONG).map(|()| b.release()));
    until("waiters", || manager.stats()[0] >= 1);
    assert_eq!(c.lock("2", Exclusive, SOON), Err(LockError::Timeout));
    a.release();
    assert_eq!(second.join().unwrap(), Ok(()));
}

#[test]
fn killing_ends_a_wait() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("row", Exclusive));
    let handle = b.held.kill_handle();
    let waiting = thread::spawn(move || b.lock("row", Exclusive, LONG));
    a.wait_for_waiters(1);
    handle.kill();
    assert_eq!(waiting.join().unwrap(), Err(LockError::Killed));
}

#[test]
fn a_handle_knows_of_the_wait_and_can_end_it() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("row", Exclusive));
    let handle = b.held.kill_handle();
    assert!(!handle.is_waiting() && !handle.is_granted() && !handle.is_killed());
    // Nothing waits: there is nothing to end, and the next wait is not ended by it.
    handle.expire();
    for end in ["expire", "kill", "release"] {
        handle.reset();
        let mut waiter = b;
        let waiting = thread::spawn(move || {
            let outcome = waiter.lock("row", Exclusive, LONG);
            (waiter, outcome)
        });
        until("a wait", || waiting.is_finished() || handle.is_waiting());
        assert!(!waiting.is_finished(), "{end}: it did not wait");
        assert!(!handle.is_granted() && !handle.is_killed());
        match end {
            "expire" => handle.expire(),
            "kill" => handle.kill(),
            _ => a.release(),
        }
        let (waiter, outcome) = waiting.join().unwrap();
        b = waiter;
        let expected = match end {
            "expire" => Err(LockError::Timeout),
            "kill" => Err(LockError::Killed),
            _ => Ok(()),
        };
        assert_eq!(outcome, expected, "{end}");
        assert!(!handle.is_waiting());
        assert_eq!((handle.is_killed(), handle.is_granted()), (end == "kill", end == "release"));
        assert_eq!(a.manager.stats()[2], 1, "{end}: only the first was a timeout");
    }
    // Expired and killed were no grants.
    assert_eq!(LockManager::modes(&b.manager, &b.held).len(), 1);
    assert!(!a.try_lock("row", Shared));
}

#[test]
fn whoever_was_granted_a_lock_meanwhile_does_not_leave_the_queue() {
    let [mut a, b] = parties();
    assert!(a.try_lock("row", Exclusive));
    let hash = a.manager.hasher.hash_one(&b"row"[..]);
    let obstacle = Obstacle::Lock(hash, b"row"[..].into());
    let queued = |party: &Party| {
        let mut shard = party.manager.shard(hash).lock();
        enqueue(find(&mut shard, hash, b"row").unwrap(), &party.held, Exclusive);
    };
    queued(&b);
    assert!(b.manager.withdraw(b.held.id, &obstacle));
    queued(&b);
    a.release();
    assert!(b.held.kill_handle().is_granted());
    assert!(!b.manager.withdraw(b.held.id, &obstacle), "it has the lock");
    assert!(!a.try_lock("row", Shared));
}

#[test]
fn many_threads_on_few_locks_never_hold_one_together() {
    let manager = Arc::new(LockManager::new());
    let inside: Arc<[AtomicU64; 3]> = Arc::default();
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let (manager, inside) = (manager.clone(), inside.clone());
            thread::spawn(move || {
                for round in 0..300usize {
                    let held = HeldLocks::new(TransactionId((n * 1000 + round + 1) as u64));
                    let mut party = Party { manager: manager.clone(), held };
                    let at = (n + round) % 3;
                    if party.lock(&at.to_string(), Exclusive, LONG).is_ok() {
                        assert_eq!(inside[at].fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside[at].fetch_sub(1, Ordering::SeqCst);
                    }
                    // A second lock in any order: deadlocks may come, and are the only error.
                    let second = party.lock(&((at + round) % 3).to_string(), Exclusive, LONG);
                    assert!(matches!(second, Ok(()) | Err(LockError::Deadlock)));
                    party.release();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_lock_that_is_given_up_early_lets_the_next_one_in() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("row", Exclusive));
    a.manager.unlock(&mut a.held, b"row");
    assert!(b.try_lock("row", Exclusive));
    a.release();
    assert!(!a.try_lock("row", Shared), "the release of a is not that of b's lock");
}

#[test]
fn an_exclusive_lock_that_becomes_shared_lets_readers_in() {
    let [mut a, mut b, mut c] = parties();
    assert!(a.try_lock("row", Exclusive));
    let reader = thread::spawn(move || b.lock("row", Shared, LONG));
    a.wait_for_waiters(1);
    a.manager.downgrade(&a.held, b"row");
    assert_eq!(reader.join().unwrap(), Ok(()));
    assert!(!c.try_lock("row", Exclusive));
}

#[test]
fn a_lock_says_whether_it_is_new_and_was_waited_for_and_when_it_was_given_up() {
    let [mut a, mut b] = parties();
    let first = a.manager.try_lock(&mut a.held, b"row", Exclusive);
    assert_eq!(first, Some(Granted { before: None, waited: false, changed: 0 }));
    let again = a.manager.try_lock(&mut a.held, b"row", Shared);
    assert_eq!(again, Some(Granted { before: Some(Exclusive), waited: false, changed: 0 }));
    let waiting = thread::spawn(move || b.manager.lock(&mut b.held, b"row", Shared, LONG));
    a.wait_for_waiters(1);
    a.release();
    assert_eq!(waiting.join().unwrap(), Ok(Granted { before: None, waited: true, changed: 1 }));
}

#[test]
fn many_locks_leave_no_room_behind() {
    let [mut a] = parties();
    (0..200_000_u32).for_each(|row| assert!(a.try_lock(&row.to_string(), Exclusive)));
    let capacity = || a.manager.shards.iter().map(|shard| shard.lock().capacity()).sum::<usize>();
    assert!(capacity() >= 200_000);
    a.manager.release_all(&mut a.held);
    assert!(capacity() <= SHARDS * SHARD_CAPACITY_KEPT * 2, "{} places kept", capacity());
}
