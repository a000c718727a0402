use std::thread;

use super::super::tests::{LONG, Party, SOON, parties};
use super::super::{LockMode, WaitsFor};
use super::*;
use crate::tests::until;

fn table(id: u64) -> MetadataName {
    MetadataName::Table(id)
}

impl Party {
    fn meta(&mut self, id: u64, mode: MetadataMode, timeout: Duration) -> Result<bool, LockError> {
        self.manager.lock_metadata(&mut self.held, &table(id), mode, timeout)
    }

    /// Locks table 1 on a thread of its own, notes when it has it, and releases it. Returns when that waits.
    fn waiting(mut self, mode: MetadataMode, served: &Served) -> thread::JoinHandle<()> {
        let (handle, served) = (self.held.kill_handle(), served.clone());
        let thread = thread::spawn(move || {
            self.meta(1, mode, LONG).unwrap();
            served.lock().push(mode);
            self.release();
        });
        until("it waits", || handle.waits_for() == Some(WaitsFor::Metadata(table(1))));
        thread
    }
}

type Served = Arc<Mutex<Vec<MetadataMode>>>;

#[test]
fn modes_exclude_each_other_as_in_mysql() {
    // Asked for in the row, held in the column.
    let rows = [
        (M::Shared, "++++++++-"),
        (M::SharedHighPriority, "++++++++-"),
        (M::SharedRead, "+++++++--"),
        (M::SharedWrite, "+++++----"),
        (M::SharedUpgradable, "++++-+---"),
        (M::SharedReadOnly, "+++-+++--"),
        (M::SharedNoWrite, "+++--+---"),
        (M::SharedNoReadWrite, "++-------"),
        (M::Exclusive, "---------"),
    ];
    for (wanted, row) in rows {
        for ((held, _), sign) in rows.iter().zip(row.chars()) {
            let [mut a, mut b] = parties();
            a.meta(1, *held, Duration::ZERO).unwrap();
            let granted = b.meta(1, wanted, Duration::ZERO).is_ok();
            assert_eq!(granted, sign == '+', "{wanted:?} beside {held:?}");
        }
    }
}

#[test]
fn intentions_exclude_only_those_who_lock_the_server() {
    let [mut a, mut b, mut c] = parties();
    let lock = |party: &mut Party, mode| {
        party.manager.clone().lock_metadata(&mut party.held, &MetadataName::Global, mode, Duration::ZERO)
    };
    assert_eq!(lock(&mut a, M::IntentionExclusive), Ok(true));
    assert_eq!(lock(&mut b, M::IntentionExclusive), Ok(true));
    assert_eq!(lock(&mut c, M::Shared), Err(LockError::Timeout));
    a.release();
    b.release();
    assert_eq!(lock(&mut c, M::Shared), Ok(true));
    assert_eq!(lock(&mut b, M::Shared), Ok(true));
    assert_eq!(lock(&mut a, M::IntentionExclusive), Err(LockError::Timeout));
}

#[test]
fn a_strong_lock_meets_weak_ones_of_every_slot() {
    let mut all: [Party; 3 * SLOTS] = parties();
    let (changer, users) = all.split_first_mut().unwrap();
    for user in &mut *users {
        user.meta(1, M::SharedRead, Duration::ZERO).unwrap();
    }
    for user in users {
        assert_eq!(changer.meta(1, M::Exclusive, Duration::ZERO), Err(LockError::Timeout));
        user.release();
    }
    changer.meta(1, M::Exclusive, Duration::ZERO).unwrap();
    changer.release();
    assert!(changer.manager.all_metadata().is_empty());
    assert!(changer.manager.metadata.strong.iter().all(|count| count.load(Ordering::SeqCst) == 0));
}

#[test]
fn who_changes_a_definition_goes_before_readers_and_writers_who_waited_longer() {
    let served = Served::default();
    let [mut locker, reader, writer, changer] = parties();
    locker.meta(1, M::SharedNoReadWrite, Duration::ZERO).unwrap();
    let waiting = [reader.waiting(M::SharedRead, &served), writer.waiting(M::SharedWrite, &served)];
    let changing = changer.waiting(M::Exclusive, &served);
    locker.release();
    waiting.into_iter().chain([changing]).for_each(|thread| thread.join().unwrap());
    assert_eq!(served.lock()[0], M::Exclusive);
}

#[test]
fn readers_wait_while_an_exclusive_lock_is_awaited_and_go_on_when_it_times_out() {
    let served = Served::default();
    let [mut user, mut changer, reader] = parties();
    user.meta(1, M::SharedRead, Duration::ZERO).unwrap();
    let handle = changer.held.kill_handle();
    let changing = thread::spawn(move || changer.meta(1, M::Exclusive, LONG));
    until("it waits", || handle.is_waiting());
    let reading = reader.waiting(M::SharedRead, &served);
    handle.kill();
    assert_eq!(changing.join().unwrap(), Err(LockError::Killed));
    reading.join().unwrap();
    assert_eq!(*served.lock(), [M::SharedRead]);
}

#[test]
fn a_cycle_over_a_row_and_a_table_is_found() {
    let [mut a, mut b] = parties();
    a.meta(1, M::SharedWrite, Duration::ZERO).unwrap();
    b.lock("row", LockMode::Exclusive, Duration::ZERO).unwrap();
    let handle = a.held.kill_handle();
    let waiting = thread::spawn(move || (a.lock("row", LockMode::Exclusive, LONG), a).0);
    until("it waits", || handle.is_waiting());
    assert_eq!(b.meta(1, M::Exclusive, LONG), Err(LockError::Deadlock));
    b.release();
    waiting.join().unwrap().unwrap();
}

#[test]
fn who_reads_a_table_and_wants_more_of_it_is_the_victim_if_it_is_the_last_to_wait() {
    let [mut a, mut b] = parties();
    a.meta(1, M::SharedRead, Duration::ZERO).unwrap();
    b.meta(1, M::SharedRead, Duration::ZERO).unwrap();
    let handle = a.held.kill_handle();
    let waiting = thread::spawn(move || (a.meta(1, M::Exclusive, LONG), a).0);
    until("it waits", || handle.is_waiting());
    assert_eq!(b.meta(1, M::Exclusive, LONG), Err(LockError::Deadlock));
    b.release();
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_change_that_let_others_read_is_no_victim() {
    let [mut user, mut changer, mut other] = parties();
    user.meta(1, M::SharedRead, Duration::ZERO).unwrap();
    changer.meta(1, M::SharedNoWrite, Duration::ZERO).unwrap();
    other.lock("row", LockMode::Exclusive, Duration::ZERO).unwrap();
    other.meta(1, M::SharedRead, Duration::ZERO).unwrap();
    let wants = |mut party: Party| {
        let handle = party.held.kill_handle();
        let waiting = thread::spawn(move || {
            let got = party.meta(1, M::SharedWrite, LONG);
            party.release();
            got
        });
        until("it waits", || handle.is_waiting());
        waiting
    };
    let (first, second) = (wants(user), wants(other));
    assert_eq!(changer.meta(1, M::Exclusive, LONG), Ok(true));
    assert_eq!(first.join().unwrap(), Err(LockError::Deadlock));
    assert_eq!(second.join().unwrap(), Err(LockError::Deadlock));
}

#[test]
fn partners_do_not_exclude_each_other_and_wait_as_one() {
    let [mut session, mut transaction, mut other] = parties();
    session.meta(1, M::SharedNoReadWrite, Duration::ZERO).unwrap();
    transaction.held.set_partner(Some(session.held.id()));
    transaction.meta(1, M::Exclusive, Duration::ZERO).unwrap();
    transaction.release();
    other.lock("row", LockMode::Exclusive, Duration::ZERO).unwrap();
    let handle = other.held.kill_handle();
    let waiting = thread::spawn(move || (other.meta(1, M::SharedRead, LONG), other).0);
    until("it waits", || handle.is_waiting());
    assert_eq!(transaction.lock("row", LockMode::Exclusive, LONG), Err(LockError::Deadlock));
    session.release();
    waiting.join().unwrap().unwrap();
}

#[test]
fn what_an_owner_holds_covers_what_asks_for_less() {
    let [mut a, mut b] = parties();
    assert_eq!(a.meta(1, M::SharedWrite, Duration::ZERO), Ok(true));
    assert_eq!(a.meta(1, M::SharedRead, Duration::ZERO), Ok(false));
    assert_eq!(a.meta(1, M::Exclusive, SOON), Ok(true));
    assert_eq!(b.meta(1, M::SharedHighPriority, SOON), Err(LockError::Timeout));
}

#[test]
fn owners_of_any_number_find_a_slot() {
    let [mut party] = parties();
    for id in [0, 1, SLOTS as u64, (SLOTS * SLOTS) as u64, u64::MAX] {
        party.held = HeldLocks::new(TransactionId(id));
        assert_eq!(party.meta(1, M::SharedRead, Duration::ZERO), Ok(true), "{id}");
        assert_eq!(party.manager.all_metadata(), [(TransactionId(id), table(1), M::SharedRead, true)]);
        party.release();
        assert!(party.manager.all_metadata().is_empty(), "{id}");
    }
}
