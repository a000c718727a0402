use std::thread;

use cohort_engine::Direction::{Forward, Reverse};

use super::super::LockMode::Exclusive;
use super::super::tests::{LONG, Party, SOON, parties};
use super::super::{Granted, LockError};
use super::*;
use crate::tests::until;

impl Party {
    fn look(&mut self, from: &str, to: &str, direction: Direction, hold: Hold) -> Option<String> {
        let look = self.manager.look(&mut self.held, from.as_bytes(), to.as_bytes(), direction, hold);
        look.claim.map(|claimed| String::from_utf8_lossy(&claimed.name).into_owned())
    }

    fn hold(&mut self, from: &str, to: &str) -> Option<String> {
        self.look(from, to, Forward, Hold::UpToClaim)
    }

    fn claim(&mut self, name: &str) -> Claim {
        self.manager.claim(&mut self.held, name.as_bytes())
    }
}

const NEW: Claim = Claim::Granted { new: true };

#[test]
fn ranges_are_compatible() {
    let [mut a, mut b] = parties();
    assert_eq!(a.hold("index10", "index20"), None);
    assert_eq!(b.hold("index15", "index30"), None);
    assert_eq!(a.claim("index12"), NEW, "only a covers it");
    assert_eq!(a.claim("index17"), Claim::Covered);
    assert_eq!(b.claim("index17"), Claim::Covered);
    b.release();
    assert_eq!(a.claim("index17"), NEW);
    assert_eq!(b.claim("index20"), NEW, "the upper bound is not in the range");
}

#[test]
fn a_claim_waits_for_ranges_and_a_range_is_shown_claims() {
    let [mut a, mut b, mut c] = parties();
    assert_eq!(a.claim("index15"), NEW);
    assert_eq!(b.hold("index10", "index20"), Some("index15".into()));
    assert_eq!(b.look("index10", "index20", Reverse, Hold::Nothing), Some("index15".into()));
    assert_eq!(c.claim("index12"), Claim::Covered, "up to the claim it is locked");
    assert_eq!(c.claim("index17"), NEW, "after it, it is not");
    assert_eq!(b.look("index10", "index20", Reverse, Hold::Nothing), Some("index17".into()), "the first from the end");
    assert_eq!(b.look("index10", "index20", Forward, Hold::Everything), Some("index15".into()));
    assert_eq!(c.claim("index18"), Claim::Covered);
    assert_eq!(a.look("index10", "index16", Forward, Hold::Nothing), None, "not one's own");
}

#[test]
fn a_refused_claim_leaves_no_lock() {
    let [mut a, mut b] = parties();
    a.hold("index10", "index20");
    assert_eq!(b.claim("index15"), Claim::Covered);
    assert_eq!(a.claim("index15"), NEW, "whoever has the range inserts");
    assert_eq!(b.claim("index15"), Claim::Locked);
}

#[test]
fn a_claim_goes_on_when_the_last_range_over_it_is_gone() {
    let [mut a, mut b, mut c] = parties();
    a.hold("index10", "index20");
    b.hold("index14", "index16");
    let waiting = thread::spawn(move || {
        c.manager.await_ranges(&mut c.held, b"index15", LONG).unwrap();
        c
    });
    b.wait_for_waiters(1);
    a.release();
    assert!(!waiting.is_finished());
    assert_eq!(b.hold("index00", "index01"), None, "a range elsewhere");
    b.release();
    let mut c = waiting.join().unwrap();
    assert_eq!(c.claim("index15"), NEW);
    assert_eq!(c.manager.await_ranges(&mut c.held, b"index15", SOON), Ok(()), "nobody is in the way");
}

#[test]
fn two_that_look_and_then_insert_are_a_deadlock() {
    let [mut a, mut b] = parties();
    a.hold("index10", "index20");
    b.hold("index10", "index20");
    let waiting =
        thread::spawn(move || a.manager.await_ranges(&mut a.held, b"index15", LONG).map(|()| a.claim("index15")));
    b.wait_for_waiters(1);
    assert_eq!(b.manager.await_ranges(&mut b.held, b"index16", LONG), Err(LockError::Deadlock));
    b.release();
    assert_eq!(waiting.join().unwrap(), Ok(NEW));
}

#[test]
fn a_range_and_a_row_make_a_deadlock() {
    let [mut a, mut b] = parties();
    a.hold("index10", "index20");
    assert!(b.try_lock("row", Exclusive));
    let manager = b.manager.clone();
    let waiting = thread::spawn(move || b.manager.await_ranges(&mut b.held, b"index15", LONG).map(|()| b.release()));
    until("waiters", || manager.stats()[0] >= 1);
    assert_eq!(a.lock("row", Exclusive, LONG), Err(LockError::Deadlock));
    a.release();
    assert_eq!(waiting.join().unwrap(), Ok(()));
}

#[test]
fn a_wait_for_a_range_ends_after_its_time() {
    let [mut a, mut b] = parties();
    a.hold("index10", "index20");
    assert_eq!(b.manager.await_ranges(&mut b.held, b"index15", SOON), Err(LockError::Timeout));
    a.release();
    assert_eq!(b.claim("index15"), NEW);
}

#[test]
fn an_end_of_a_claim_shows() {
    let [mut a, mut b] = parties();
    let before = b.manager.ended_claims(b"index10");
    assert_eq!(a.claim("index15"), NEW);
    assert_eq!(b.manager.ended_claims(b"index10"), before);
    a.release();
    let look = b.manager.look(&mut b.held, b"index10", b"index20", Forward, Hold::UpToClaim);
    assert_ne!(look.ended, before);
    assert_eq!(b.manager.ended_claims(b"index10"), look.ended);
    assert!(look.claim.is_none());
}

#[test]
fn claims_are_taken_back_with_the_locks_they_took() {
    let [mut a, mut b] = parties();
    assert!(a.try_lock("index11", Exclusive));
    let mark = LockManager::claims(&a.held);
    assert_eq!(a.claim("index11"), Claim::Granted { new: false });
    assert_eq!(a.claim("index12"), NEW);
    assert_eq!(a.manager.claim_entry(&mut a.held, b"other12", b"index12"), Claim::Granted { new: false });
    a.manager.undo_claims(&mut a.held, mark, false);
    assert_eq!(b.hold("index10", "index20"), None);
    assert_eq!(b.hold("other10", "other20"), None);
    assert_eq!(b.claim("index11"), Claim::Locked, "it was locked before");
    assert_eq!(b.claim("index12"), NEW);
}

#[test]
fn an_entry_leads_to_the_lock_of_its_row() {
    let [mut a, mut b] = parties();
    assert_eq!(a.claim("table1"), NEW);
    assert_eq!(a.manager.claim_entry(&mut a.held, b"index15", b"table1"), Claim::Granted { new: false });
    let look = b.manager.look(&mut b.held, b"index10", b"index20", Forward, Hold::UpToClaim);
    let Claimed { name, row } = look.claim.unwrap();
    assert_eq!((&*name, &*row), (&b"index15"[..], &b"table1"[..]));
    let waiting = thread::spawn(move || b.manager.lock(&mut b.held, &row, Exclusive, LONG));
    a.wait_for_waiters(1);
    a.release();
    assert_eq!(waiting.join().unwrap(), Ok(Granted { before: None, waited: true, changed: 1 }));
}

#[test]
fn spaces_that_nobody_uses_are_forgotten() {
    let manager = LockManager::new();
    for index in 0..10_000_u32 {
        let mut held = HeldLocks::new(TransactionId(u64::from(index) + 1));
        let name = [&[0], &index.to_be_bytes()[..], b"key"].concat();
        assert_eq!(manager.claim(&mut held, &name), NEW);
        manager.look(&mut held, &name, &[&name[..], b"z"].concat(), Forward, Hold::Everything);
        manager.release_all(&mut held);
    }
    let left: usize = manager.gaps.shards.iter().map(|shard| shard.lock().spaces.len()).sum();
    assert!(left <= SHARDS * SPACES_KEPT, "{left} spaces");
}

#[test]
fn spaces_that_somebody_uses_stay() {
    let [mut others, mut a, mut b, mut c] = parties();
    for index in 0..5_000_u32 {
        let name = [&[0], &index.to_be_bytes()[..], b"key"].concat();
        assert_eq!(others.manager.claim(&mut others.held, &name), NEW);
    }
    // What one has in a space does not go with what another had there.
    a.hold("index10", "index20");
    assert_eq!(b.claim("index25"), NEW);
    b.release();
    assert_eq!(b.claim("index15"), Claim::Covered);
    assert_eq!(b.claim("index25"), NEW);
    assert_eq!(c.claim("index35"), NEW);
    a.release();
    c.release();
    assert_eq!(a.look("index20", "index30", Forward, Hold::Nothing).as_deref(), Some("index25"));
    // And all of them go in the end.
    others.release();
    let left: usize = a.manager.gaps.shards.iter().map(|shard| shard.lock().spaces.len()).sum();
    assert!(left <= SHARDS * SPACES_KEPT, "{left} spaces");
}

#[test]
fn a_key_that_is_claimed_twice_is_claimed_until_the_first_claim_ends() {
    let [mut a, mut b] = parties();
    assert_eq!(a.claim("index15"), NEW);
    let mark = LockManager::claims(&a.held);
    assert_eq!(a.claim("index15"), Claim::Granted { new: false });
    a.manager.undo_claims(&mut a.held, mark, false);
    let seen = |b: &mut Party| b.look("index10", "index20", Forward, Hold::Nothing);
    assert_eq!(seen(&mut b).as_deref(), Some("index15"));
    assert_eq!(b.claim("index15"), Claim::Locked);
    a.manager.undo_claims(&mut a.held, 0, false);
    assert_eq!(seen(&mut b), None);
    assert_eq!(b.claim("index15"), NEW);
}

#[test]
fn whoever_no_range_holds_up_any_more_does_not_leave_the_queue() {
    let [mut a, b] = parties();
    a.hold("index10", "index20");
    let name: Arc<[u8]> = b"index15"[..].into();
    assert!(b.manager.gaps.enqueue(&b.held, &name));
    assert!(b.manager.gaps.withdraw(b.held.id, &name));
    assert!(b.manager.gaps.enqueue(&b.held, &name));
    a.release();
    assert!(b.held.kill_handle().is_granted());
    assert!(!b.manager.gaps.withdraw(b.held.id, &name), "it may go on");
}

#[test]
fn ranges_grow_together() {
    let mut ranges = Ranges::default();
    let mut count = 0;
    for (lower, upper) in [("b", "d"), ("f", "h"), ("d", "e"), ("h", "h"), ("x", "z"), ("a", "b"), ("g", "i")] {
        count += ranges.add(lower.as_bytes(), upper.as_bytes());
    }
    assert_eq!(count, 3);
    assert_eq!(ranges.0.len(), 3, "{ranges:?}");
    count += ranges.add(b"c", b"y");
    assert_eq!((count, ranges.0.len()), (1, 1), "{ranges:?}");
    assert!(ranges.covers(b"a") && ranges.covers(b"yy") && !ranges.covers(b"z") && !ranges.covers(b"A"));
}

#[test]
fn ranges_cover_what_was_added_and_nothing_else() {
    // Against a set of numbers, by every order of a few ranges that overlap, touch and lie apart.
    let mut state = 7_u64;
    for _ in 0..2000 {
        let mut ranges = Ranges::default();
        let mut model = [false; 40];
        let mut count = 0;
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let lower = (state >> 33) as u8 % 40;
            let upper = lower + (state >> 45) as u8 % 8;
            count += ranges.add(&[lower], &[upper]);
            (lower..upper.min(40)).for_each(|at| model[usize::from(at)] = true);
        }
        for (at, covered) in model.iter().enumerate() {
            assert_eq!(ranges.covers(&[at as u8]), *covered, "{at} of {ranges:?}");
        }
        assert_eq!(count, ranges.0.len() as i64);
        let bounds: Vec<_> = ranges.0.iter().collect();
        assert!(bounds.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
    }
}
