use std::thread;

use super::MetadataMode as M;
use super::*;
use crate::store::Store;
use crate::tests::{Machine, until};

const NOW: Duration = Duration::ZERO;

fn store() -> Arc<Store> {
    Machine::new(1).recover().expect("a new store").0
}

fn table(id: u64) -> MetadataName {
    MetadataName::Table(id)
}

#[test]
fn a_session_holds_a_name_until_it_gives_it_up_or_ends() {
    let store = store();
    let (mut one, mut two) = (store.session_locks(), store.session_locks());
    assert_ne!(one.owner(), two.owner());
    let name = MetadataName::User("a".into());
    assert_eq!((one.holder(&name), store.metadata_locks().len()), (None, 0));
    assert_eq!(one.lock(&name, M::Exclusive, NOW, None), Ok(true));
    assert_eq!(one.lock(&name, M::Exclusive, NOW, None), Ok(false), "it has it");
    assert_eq!(one.held(), [(name.clone(), M::Exclusive)]);
    assert_eq!(one.holder(&name), Some(one.owner()));
    assert_eq!(two.lock(&name, M::Exclusive, NOW, None), Err(LockError::Timeout));
    assert_eq!(store.lock_stats(), [1, 0, 1], "waits, deadlocks, timeouts");
    one.unlock(&name, M::Exclusive);
    assert_eq!((one.held(), one.holder(&name)), (&[][..], None));
    assert_eq!(two.lock(&name, M::Exclusive, NOW, None), Ok(true));
    drop(two);
    assert_eq!(one.lock(&name, M::Exclusive, NOW, None), Ok(true), "a session that has ended holds nothing");
}

#[test]
fn a_backup_that_keeps_definitions_is_known_to_everybody() {
    let store = store();
    let (mut backup, mut other) = (store.session_locks(), store.session_locks());
    assert_eq!(other.lock(&MetadataName::Backup, M::IntentionExclusive, NOW, None), Ok(true));
    assert!(!store.is_locked_for_backup(), "a change of a definition");
    other.unlock(&MetadataName::Backup, M::IntentionExclusive);
    assert_eq!(backup.lock(&MetadataName::Backup, M::Shared, NOW, None), Ok(true));
    assert!(store.is_locked_for_backup());
    backup.unlock(&MetadataName::Backup, M::Shared);
    assert!(!store.is_locked_for_backup());
}

#[test]
fn one_lock_is_given_up_and_no_other() {
    let store = store();
    let mut locks = store.session_locks();
    let all = [(1, M::SharedRead), (2, M::SharedRead), (1, M::SharedNoReadWrite), (3, M::SharedReadOnly)];
    all.iter().for_each(|(id, mode)| assert_eq!(locks.lock(&table(*id), *mode, NOW, None), Ok(true)));
    locks.unlock(&table(1), M::SharedRead);
    locks.unlock(&table(2), M::SharedReadOnly);
    let kept = [(table(2), M::SharedRead), (table(1), M::SharedNoReadWrite), (table(3), M::SharedReadOnly)];
    assert_eq!(locks.held(), kept);
    let mut other = store.session_locks();
    let mut excluded = |id, mode| other.lock(&table(id), mode, NOW, None).is_err();
    assert!(excluded(1, M::SharedRead) && excluded(2, M::Exclusive) && excluded(3, M::SharedWrite));
    let mut transaction = store.begin();
    for id in 4..=6 {
        assert_eq!(transaction.lock_metadata(&table(id), M::SharedWrite, NOW), Ok(true));
    }
    let count = transaction.metadata_count();
    assert_eq!(transaction.lock_metadata(&table(7), M::SharedWrite, NOW), Ok(true));
    transaction.take_back_metadata(count);
    transaction.unlock_metadata(&table(5), M::SharedWrite);
    assert_eq!([4, 5, 6, 7].map(|id| excluded(id, M::Exclusive)), [true, false, true, false]);
}

/// What `performance_schema.metadata_locks` is made of.
#[test]
fn every_lock_is_shown_with_its_owner_and_whether_it_is_awaited() {
    let store = store();
    let (mut strong, mut awaited) = (store.session_locks(), store.session_locks());
    let mut weak = store.begin();
    weak.lock_metadata(&table(1), M::SharedWrite, NOW).expect("nobody else's");
    strong.lock(&table(2), M::Exclusive, NOW, None).expect("nobody else's");
    let (handle, waits) = (awaited.kill_handle(), awaited.owner());
    let waiting = thread::spawn(move || awaited.lock(&table(1), M::Exclusive, Duration::from_secs(600), None));
    until("it waits", || handle.is_waiting());
    let mut shown: Vec<_> = store.metadata_locks().into_iter().map(|l| (l.owner, l.name, l.mode, l.granted)).collect();
    shown.sort_by_key(|(owner, ..)| *owner);
    let mut expected = [
        (weak.owner(), table(1), M::SharedWrite, true),
        (strong.owner(), table(2), M::Exclusive, true),
        (waits, table(1), M::Exclusive, false),
    ];
    expected.sort_by_key(|(owner, ..)| *owner);
    assert_eq!(shown, expected);
    handle.kill();
    assert_eq!(waiting.join().expect("no panic"), Err(LockError::Killed));
}

#[test]
fn a_transaction_and_the_locks_of_its_session_do_not_exclude_each_other() {
    let store = store();
    let mut locks = store.session_locks();
    let (mut own, mut other) = (store.begin(), store.begin());
    own.belongs_to(&locks);
    for (of_session, of_transaction) in [(1, 2), (3, 4)] {
        let transaction = Some(own.owner());
        assert_eq!(locks.lock(&table(of_session), M::SharedNoReadWrite, NOW, transaction), Ok(true));
        assert_eq!(own.lock_metadata(&table(of_session), M::Exclusive, NOW), Ok(true));
        assert_eq!(other.lock_metadata(&table(of_session), M::SharedRead, NOW), Err(LockError::Timeout));
        assert_eq!(own.lock_metadata(&table(of_transaction), M::Exclusive, NOW), Ok(true));
        assert_eq!(locks.lock(&table(of_transaction), M::SharedRead, NOW, None), Err(LockError::Timeout));
        assert_eq!(locks.lock(&table(of_transaction), M::SharedRead, NOW, transaction), Ok(true));
    }
}
