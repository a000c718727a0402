//! Who sees a version when, and whose answer waits for it.

use cohort_binlog::XaId;

use super::*;
use crate::rests_on::RestsOn;

#[test]
fn snapshots_are_prefixes_of_the_binlog() {
    let machine = Machine::new(12);
    let store = machine.open();
    check_snapshots_are_prefixes(&machine.disk, &store, "journal");
    let profile = store.lock_profile();
    let used = |lock| profile.iter().any(|line| line.lock == lock && line.cost.count > 0);
    assert!(["queue", "section", "finish"].into_iter().all(used), "{profile:?}");
}

#[test]
fn a_snapshot_is_what_was_durable_when_it_was_taken() {
    let machine = Machine::new(6);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let (mut repeatable, mut committed) = (store.begin(), store.begin());
    committed.set_isolation(Isolation::ReadCommitted);
    let mut value = Vec::new();
    let mut sees = |reader: &mut Transaction, id| {
        reader.start_statement();
        reader.get(ENGINES[1], Read::Snapshot, &key(id), &mut value).expect("a read")
    };
    assert!(sees(&mut repeatable, 1) && sees(&mut committed, 1));
    transfer(&store, 2).expect("a commit");
    assert!(!sees(&mut repeatable, 2), "REPEATABLE READ keeps its snapshot");
    assert!(sees(&mut committed, 2), "READ COMMITTED sees what is committed when the statement begins");
}

#[test]
fn locks_go_at_ordering_and_current_reads_see_the_ordered_version() {
    let machine = Machine::new(7);
    let (store, _) = machine.recover().expect("a new store");
    let first = write_transfer(&store, 1);
    let mut queue = store.path::<Coordinator>().queue.lock("test");
    // Another commit on the way: the next committer is a follower and returns before its record is written.
    queue.unfinished = 1;
    drop(queue);
    let kept = Kept::default();
    store.commit(first, Box::new(kept.clone()));
    assert!(kept.0.lock().is_none(), "not written, not acknowledged");

    let mut second = store.begin();
    second.lock(ENGINES[0], COUNTER, LockMode::Exclusive).expect("the lock is free");
    let mut value = Vec::new();
    assert!(second.get(ENGINES[0], Read::Current, COUNTER, &mut value).expect("a read"));
    assert_eq!(number(&value), 1, "the ordered version");
    assert!(!second.get(ENGINES[0], Read::Snapshot, COUNTER, &mut value).expect("a read"), "I4: not durable");
    let range = KeyRange { lower: key(0), upper: key(9) };
    let mut scan = second.scan(ENGINES[0], Read::Current, &range, Direction::Forward).expect("a scan");
    assert_eq!(scan.next().expect("an entry").map(|entry| entry.key.to_vec()), Some(key(1)));
    drop(second);

    store.path::<Coordinator>().queue.lock("test").writes_in_flight += 1;
    store.path::<Coordinator>().lead();
    assert!(matches!(*kept.0.lock(), Some(Ok(_))), "written, applied, acknowledged");
}

/// Locks the counter, reads it and commits: what it saw may not be durable.
fn commit_reader(store: &Arc<Store>) -> (u64, Kept) {
    let mut reader = store.begin();
    reader.lock(ENGINES[0], COUNTER, LockMode::Shared).expect("the lock is free");
    let mut value = Vec::new();
    reader.get(ENGINES[0], Read::Current, COUNTER, &mut value).expect("a read");
    let kept = Kept::default();
    store.commit(reader, Box::new(kept.clone()));
    (number(&value), kept)
}

#[test]
fn a_transaction_that_only_read_receives_its_end_when_what_it_saw_is_durable() {
    let machine = Machine::new(13);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let (seen, before) = commit_reader(&store);
    assert!(seen == 1 && matches!(*before.0.lock(), Some(Ok(_))), "nothing in flight");
    store.hold_commits(true);
    let writer = Kept::default();
    store.commit(write_transfer(&store, 2), Box::new(writer.clone()));
    let (seen, reader) = commit_reader(&store);
    assert!(seen == 2 && reader.0.lock().is_none(), "it saw what is not durable");
    let cohort = store.take_cohort().expect("the writer");
    let written = cohort.write();
    assert!(reader.0.lock().is_none(), "durable, and not known to be");
    written.finish();
    assert!(matches!(*reader.0.lock(), Some(Ok(_))) && matches!(*writer.0.lock(), Some(Ok(_))));

    store.commit(write_transfer(&store, 3), Box::new(Kept::default()));
    let (_, early) = commit_reader(&store);
    let mut late = store.begin();
    late.lock(ENGINES[0], COUNTER, LockMode::Shared).expect("the lock is free");
    late.get(ENGINES[0], Read::Current, COUNTER, &mut Vec::new()).expect("a read");
    let cohort = store.take_cohort().expect("the writer");
    machine.disk.set_fault(machine.disk.operations(), Fault::Error);
    cohort.write().finish();
    assert!(matches!(*early.0.lock(), Some(Err(CommitError::Unknown(_)))), "what it saw may be lost");
    let outcome = store.commit_and_wait(late);
    assert!(matches!(outcome, Err(CommitError::Unknown(_))), "{outcome:?}");
}

/// What an answer rests on that says what the counter is, from a transaction that is rolled back.
fn look_at_counter(store: &Arc<Store>) -> RestsOn {
    let mut reader = store.begin();
    reader.lock(ENGINES[0], COUNTER, LockMode::Shared).expect("the lock is free");
    reader.get(ENGINES[0], Read::Current, COUNTER, &mut Vec::new()).expect("a read");
    reader.rests_on().clone()
}

#[test]
fn what_a_transaction_saw_is_withheld_though_it_is_rolled_back() {
    let machine = Machine::new(14);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    assert!(store.is_durable(&look_at_counter(&store)), "nothing in flight");
    store.hold_commits(true);
    store.commit(write_transfer(&store, 2), Box::new(Kept::default()));
    let (seen, forgotten, answer) = (look_at_counter(&store), look_at_counter(&store), Kept::default());
    let unasked = look_at_counter(&store);
    assert!(!store.is_durable(&seen) && !store.is_durable(&forgotten) && !store.is_durable(&unasked));
    forgotten.forget();
    assert!(store.is_durable(&forgotten), "nothing is noted");
    store.when_durable(&seen, Box::new(answer.clone()));
    let written = store.take_cohort().expect("the writer").write();
    assert!(answer.0.lock().is_none(), "durable, and not known to be");
    written.finish();
    assert!(matches!(*answer.0.lock(), Some(Ok(_))));
    assert!(store.is_durable(&seen), "an answer waits once");
    assert!(store.is_durable(&unasked));

    let cohorts = [3, 4].map(|id| {
        store.commit(write_transfer(&store, id), Box::new(Kept::default()));
        let answer = Kept::default();
        store.when_durable(&look_at_counter(&store), Box::new(answer.clone()));
        (store.take_cohort().expect("the writer").write(), answer)
    });
    let [(first, of_first), (second, of_second)] = cohorts;
    first.finish();
    assert!(matches!(*of_first.0.lock(), Some(Ok(_))) && of_second.0.lock().is_none(), "another cohort");
    second.finish();
    assert!(matches!(*of_second.0.lock(), Some(Ok(_))));

    store.commit(write_transfer(&store, 5), Box::new(Kept::default()));
    let (early, late) = (look_at_counter(&store), look_at_counter(&store));
    store.when_durable(&early, Box::new(answer.clone()));
    let cohort = store.take_cohort().expect("the writer");
    machine.disk.set_fault(machine.disk.operations(), Fault::Error);
    cohort.write().finish();
    assert!(matches!(*answer.0.lock(), Some(Err(CommitError::Unknown(_)))), "what it saw may be lost");
    let outcome = store.wait_until_durable(&late);
    assert!(matches!(outcome, Err(CommitError::Unknown(_))), "{outcome:?}");
}

/// A transaction that only read is prepared when what it saw under its locks is durable: its client may rely on that.
#[test]
fn a_reader_is_prepared_when_what_it_saw_is_durable() {
    let machine = Machine::new(1);
    let (store, _) = machine.recover().expect("a new store");
    store.hold_commits(true);
    let mut writer = store.begin();
    writer.put(ENGINES[0], &key(1), b"in flight");
    writer.lock(ENGINES[0], &key(1), LockMode::Exclusive).expect("the lock is free");
    let active = store.start_xa(&XaId::new(b"reader", b"", 1).expect("a name")).expect("a free name");
    let kept = Kept::default();
    store.commit(writer, Box::new(kept.clone()));
    let mut reader = store.begin();
    reader.lock(ENGINES[0], &key(1), LockMode::Shared).expect("its writer let go when it joined the queue");
    assert!(reader.get(ENGINES[0], Read::Current, &key(1), &mut Vec::new()).expect("a read"));
    thread::scope(|scope| {
        let prepared = scope.spawn(|| store.prepare_xa(active, reader));
        let waits = || !store.path::<Coordinator>().queue.lock("test").readers.is_empty();
        until("a reader that waits", || prepared.is_finished() || waits());
        let early = prepared.is_finished();
        let cohort = store.take_cohort().expect("the writer");
        machine.disk.set_fault(machine.disk.operations(), Fault::Error);
        cohort.write().finish();
        let prepared = prepared.join().expect("no panic");
        assert!(!early && prepared.is_err(), "{prepared:?}: what it saw may be lost");
    });
    assert!(matches!(*kept.0.lock(), Some(Err(_))));
}

/// Whoever has shut commits out: what had its place in the order before is in the binlog and seen when this returns.
#[test]
fn a_store_settles_when_what_is_ordered_is_seen() {
    let machine = Machine::new(17);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    store.settle().expect("nothing is on its way");
    store.hold_commits(true);
    let before = store.published().position;
    for (id, fault) in [(2, None), (3, Some(Fault::Error))] {
        store.commit(write_transfer(&store, id), Box::new(Kept::default()));
        thread::scope(|scope| {
            let settled = scope.spawn(|| (store.settle(), store.published().position));
            let waits = || !store.path::<Coordinator>().queue.lock("test").readers.is_empty();
            until("it waits", || settled.is_finished() || waits());
            let early = settled.is_finished();
            let cohort = store.take_cohort().expect("the writer");
            fault.into_iter().for_each(|fault| machine.disk.set_fault(machine.disk.operations(), fault));
            cohort.write().finish();
            let (settled, position) = settled.join().expect("no panic");
            assert!(!early && settled.is_ok() == fault.is_none(), "{settled:?}");
            assert!(position > before);
        });
    }
}

#[test]
fn a_view_that_an_open_transaction_does_not_read_is_given_up() {
    let machine = Machine::new(16);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let finds = |transaction: &mut Transaction, engine: usize, id: u64| {
        transaction.get(ENGINES[engine], Read::Snapshot, &key(id), &mut Vec::new())
    };
    let open = |engine| {
        let mut transaction = store.begin();
        assert!(finds(&mut transaction, engine, 1).expect("a read"));
        transaction
    };
    let (mut idle, mut early, mut second, mut backup) = (open(0), open(0), open(1), store.begin());
    backup.pin_snapshot();
    assert!(finds(&mut backup, 0, 1).expect("a read"), "one engine after the other");
    // More than a short list has room for.
    let mut more: Vec<_> = (0..20).map(|_| open(0)).collect();
    more.iter_mut().chain([&mut idle, &mut early, &mut second, &mut backup]).for_each(Transaction::stay_open);
    let view = Arc::downgrade(&store.published().views()[1]);
    store.shared.held_snapshots.give_up_unused(Duration::ZERO);
    assert!(early.pin_view(ENGINES[1]), "nothing has changed there");
    transfer(&store, 2).expect("a commit");
    assert!(!idle.pin_view(ENGINES[1]) && finds(&mut idle, 1, 1).is_err(), "what was there is gone");
    assert!(more.iter_mut().all(|transaction| !transaction.pin_view(ENGINES[1])));
    assert!(finds(&mut idle, 0, 1).expect("a read") && !finds(&mut idle, 0, 2).expect("a read"), "what it read stays");
    for whole in [&mut early, &mut second, &mut backup] {
        assert!(whole.pin_view(ENGINES[1]));
        assert!(finds(whole, 1, 1).expect("a read") && !finds(whole, 1, 2).expect("a read"));
    }
    assert!(view.upgrade().is_some());
    drop((early, second, backup));
    assert!(view.upgrade().is_none(), "nobody pins it");
}

/// A session's answer rests on what all of its transactions saw.
#[test]
fn a_read_in_flight_is_noted_where_the_session_asks() {
    let (store, _) = Machine::new(17).recover().expect("a new store");
    store.hold_commits(true);
    store.commit(write_transfer(&store, 1), Box::new(Kept::default()));
    let noted = RestsOn::default();
    let mut reader = store.begin();
    reader.set_rests_on(noted.clone());
    assert!(reader.get(ENGINES[0], Read::Current, &key(1), &mut Vec::new()).expect("a read"));
    drop(reader);
    assert!(!store.is_durable(&noted));
    store.take_cohort().expect("it had joined").write().finish();
    assert!(store.is_durable(&noted));
}

/// Without a binlog no file begins at a start, and the first snapshot is of nothing.
#[test]
fn the_order_of_a_snapshot_is_that_of_the_last_transaction_in_it() {
    let options = StoreOptions { log_bin: false, ..Machine::options(1) };
    let (store, _) = Machine::new(18).recover_with(options).expect("a new store");
    assert_eq!(store.published().order, 0);
    insert(&store, 1).expect("a commit");
    assert_eq!(store.published().order, 1);
}
