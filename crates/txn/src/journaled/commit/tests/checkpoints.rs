//! Checkpoints, syncs and room, and what refuses them.

use super::*;

#[test]
fn a_full_disk_fails_the_statement_and_not_the_server() {
    let machine = Machine::new(4);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("room for one");
    machine.disk.set_capacity(100_000);
    let mut id = 2;
    let error = loop {
        match transfer(&store, id) {
            Ok(_) => id += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CommitError::NoSpace(_)), "{error}");
    machine.disk.set_capacity(u64::MAX);
    transfer(&store, id).expect("room again");
    check(&found(&machine.disk, &store), &[id], "after the disk was full");
}

#[test]
fn sync_binlog_says_nothing_where_there_is_no_binlog() {
    for (log_bin, synced) in [(true, true), (false, false)] {
        let options = StoreOptions { log_bin, ..Machine::options(1) };
        options.settings.durability.flush_log_at_trx_commit.store(2, Ordering::Relaxed);
        let (store, _) = Machine::new(15).recover_with(options).expect("a new store");
        let journal = store.journal().expect("a journal");
        let before = journal.stats();
        insert(&store, 1).expect("a commit");
        let after = journal.stats();
        assert!(after.next_lsn > before.next_lsn, "it has a record");
        assert_eq!(after.durable_lsn == after.next_lsn, synced, "log_bin {log_bin}");
    }
}

#[test]
fn a_sync_that_takes_long_does_not_hold_the_sync_up() {
    let machine = Machine::new(17);
    let (store, _) = machine.recover_with(Machine::options(0)).expect("a new store");
    store.start_threads();
    let closed = machine.first.gate().lock();
    let before = machine.first.gate_reached();
    store.want_checkpoint();
    until("a sync of an engine", || machine.first.gate_reached() > before);
    insert(&store, 1).expect("a commit");
    let journal = store.journal().expect("a journal");
    until("a sync of the journal", || journal.stats().durable_lsn == journal.stats().next_lsn);
    drop(closed);
    store.close().expect("a clean stop");
}

#[test]
fn a_checkpoint_is_taken_when_enough_is_written_or_somebody_wants_one() {
    for (checkpoint_bytes, wants) in [(4 * 4096, false), (1 << 40, true)] {
        let options = StoreOptions { checkpoint_bytes, ..Machine::options(1) };
        let (store, _) = Machine::new(19).recover_with(options).expect("a new store");
        let journal = store.journal().expect("a journal");
        let before = journal.stats().checkpoint_lsn;
        store.start_threads();
        if wants {
            store.want_checkpoint();
        }
        let mut ids = 1..;
        until("a checkpoint", || {
            insert(&store, ids.next().expect("numbers do not end")).expect("a commit");
            journal.stats().checkpoint_lsn > before
        });
        let written = journal.stats().checkpoint_lsn - before;
        assert!(wants || written >= checkpoint_bytes, "a checkpoint after {written} bytes");
    }
}

#[test]
fn an_engine_that_refuses_its_sync_holds_up_itself_and_not_the_disk() {
    let machine = Machine::new(18);
    let Second::Memory(second) = &machine.second else { panic!("an engine in memory") };
    let (store, _) =
        machine.recover_with(StoreOptions { checkpoint_bytes: 4096, ..Machine::options(1) }).expect("a new store");
    transfer(&store, 1).expect("a commit");
    (1000..1020).for_each(|id| assert!(insert(&store, id).is_ok()));
    store.take_checkpoint().expect("nobody refuses");
    transfer(&store, 2).expect("a commit");
    *machine.first.gate().lock() = true;
    let before = second.durable_position();
    store.take_checkpoint().expect_err("an engine refuses");
    assert!(second.durable_position() > before, "the other one is synced");
    assert!(store.checkpoint_refusal().is_some_and(|refusal| refusal.contains("the gate is closed")));
    let growth = || store.journal().map(|journal| journal.stats()).map(|now| now.next_lsn - now.checkpoint_lsn);
    let refused = (3..100).find_map(|id| {
        let too_far = growth() > Some(8 * 4096);
        let refused = insert(&store, id).err();
        assert_eq!(refused.is_some(), too_far, "{refused:?}");
        refused
    });
    let refusal = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(refusal.contains("bytes since the last checkpoint") && refusal.contains("the gate is closed"), "{refusal}");
    let stats = store.journal().expect("a journal").stats();
    assert!(stats.next_lsn - stats.checkpoint_lsn < 20 * 4096, "{stats:?}");
    *machine.first.gate().lock() = false;
    store.take_checkpoint().expect("nobody refuses");
    assert_eq!(store.checkpoint_refusal(), None);
    insert(&store, 200).expect("a commit");
}
