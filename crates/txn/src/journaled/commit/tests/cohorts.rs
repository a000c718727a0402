//! Who shares a write, and who waits for it.

use cohort_binlog::{BinlogReader, EventBody, ReaderOptions};

use super::*;

/// Sessions that come one by one share a write when the operator says that it waits for them.
#[test]
fn a_delay_holds_a_cohort_back_until_there_are_enough() {
    let machine = Machine::new(1);
    // Without log writers: one of them might have begun to lead before there was a delay.
    let (store, _) = machine.recover().expect("a new store");
    insert(&store, 1).expect("nobody to wait for");
    let delay = &store.settings().sync_delay;
    delay.max_us.store(3_600_000_000, Ordering::Relaxed);
    delay.enough.store(4, Ordering::Relaxed);
    let before = store.commit_stats().cohort_size.count();
    thread::scope(|scope| {
        for id in 2..=5 {
            let store = &store;
            scope.spawn(move || insert(store, id).expect("a commit"));
        }
    });
    assert_eq!(store.commit_stats().cohort_size.count() - before, 1);
    delay.max_us.store(0, Ordering::Relaxed);
    store.close().expect("a clean stop");
}

#[test]
fn members_of_a_cohort_depend_on_each_other_only_where_they_wrote_the_same_key() {
    let machine = Machine::new(8);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    store.path::<Coordinator>().queue.lock("test").unfinished = 1;
    struct Ignore;
    impl Reply for Ignore {
        fn send(self: Box<Self>, _: Result<Committed, CommitError>) {}
    }
    for key in [b"independent 1", b"independent 2", b"independent 1"] {
        let mut transaction = store.begin();
        transaction.put(ENGINES[0], key, b"value");
        transaction.events().write_row(&table(), &[0; 9]);
        transaction.events().end_statement();
        store.commit(transaction, Box::new(Ignore));
    }
    store.path::<Coordinator>().queue.lock("test").writes_in_flight += 1;
    store.path::<Coordinator>().lead();
    let file = store.binlog().list().last().expect("a file").name.clone();
    let path = Path::new(BINLOG).join(file);
    let mut reader = BinlogReader::open(&machine.disk, &path, ReaderOptions::default()).expect("a file");
    let mut clocks = Vec::new();
    while let Some(event) = reader.next_event().expect("an event") {
        if let EventBody::Gtid(gtid) = event.decode().expect("a known event") {
            clocks.push((gtid.last_committed, gtid.sequence_number));
        }
    }
    assert_eq!(clocks, [(0, 1), (1, 2), (1, 3), (2, 4)]);
}

#[test]
fn a_stop_waits_for_everyone_who_joined() {
    let (store, _) = Machine::new(20).recover().expect("a new store");
    store.hold_commits(true);
    let kept = Kept::default();
    store.commit(write_transfer(&store, 1), Box::new(kept.clone()));
    store.commit(write_transfer(&store, 2), Box::new(Kept::default()));
    thread::scope(|scope| {
        let stop = scope.spawn(|| {
            store.drain();
            kept.0.lock().is_some()
        });
        until("a stop", || store.path::<Coordinator>().closed().is_some());
        // Time for a stop that does not wait.
        thread::sleep(Duration::from_millis(20));
        let cohort = store.take_cohort().expect("they had joined");
        assert_eq!(cohort.members(), 2);
        cohort.write().finish();
        assert!(stop.join().expect("no panic"), "the stop was over first");
    });
    assert!(matches!(*kept.0.lock(), Some(Ok(_))));
}

/// Who joins while others are on the way leads no write: a log writer takes it, when nobody else comes at the latest.
#[test]
fn a_log_writer_takes_what_is_left_alone_and_else_what_is_worth_a_write() {
    let (store, _) = Machine::new(21).recover().expect("a new store");
    let coordinator = store.path::<Coordinator>();
    assert!(!coordinator.queue.lock("test").is_due(), "nobody waits");
    // Another writer has taken it all: there is nobody to wait for.
    coordinator.gather(true);
    store.hold_commits(true);
    store.commit(write_transfer(&store, 1), Box::new(Kept::default()));
    for (unfinished, last_cohort, writes_in_flight, due) in [
        (1, 5, 0, true),
        (1, 5, 1, true),
        (1, 5, 2, false),
        (3, 5, 1, false),
        (3, 2, 1, false),
        (3, 1, 1, true),
        (3, 1, 2, false),
    ] {
        let mut queue = coordinator.queue.lock("test");
        (queue.unfinished, queue.last_cohort, queue.writes_in_flight) = (unfinished, last_cohort, writes_in_flight);
        let context = format!("1 of {unfinished} waits, {last_cohort} before, {writes_in_flight} writes in flight");
        assert_eq!(queue.is_due(), due, "{context}");
    }
}
