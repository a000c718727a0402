//! Crashed and failed at every operation in turn.

use cohort_io::sync::Mutex;

use super::*;

const TRANSFERS: u64 = 17;

#[test]
fn a_run_without_faults_commits_everything() {
    let machine = Machine::new(1);
    let acknowledged = run(&machine, 1, TRANSFERS);
    assert_eq!(acknowledged.len() as u64, TRANSFERS);
    let machine = machine.crash();
    let (store, report) = machine.recover().expect("a recovery");
    check(&found(&machine.disk, &store), &acknowledged, "no fault");
    assert!(report.transactions_kept > 0, "the last checkpoint does not hold everything");
    assert!(store.binlog().list().len() > 3, "rotations happened");
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    crash_at_every_operation(Machine::new);
}

#[test]
fn a_crash_at_any_operation_of_log_or_tree_loses_nothing_acknowledged() {
    crash_at_every_operation(Machine::with_tree);
}

/// Crashes at operation 0, 1, 2 … until a run ends without reaching it. Every other recovery is itself
/// crashed on the way, and must come to the same.
fn crash_at_every_operation(machine: fn(u64) -> Machine) {
    let mut seed = 0;
    for operation in 0.. {
        seed += 1;
        let machine = machine(seed);
        machine.disk.set_fault(operation, Fault::PowerCut);
        let options = StoreOptions { gtid_mode: mode_of(operation), ..Machine::options(1) };
        let acknowledged = run_with(&machine, options, 1, TRANSFERS);
        let finished = machine.disk.operations() <= operation;
        let machine = machine.crash_again_and_again(operation);
        let context = format!("crash at operation {operation}");
        let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
        let there = found(&machine.disk, &store);
        check(&there, &acknowledged, &context);
        let next = there.counter + 1;
        transfer(&store, next).unwrap_or_else(|error| panic!("{context}: the server does not go on: {error}"));
        check(&found(&machine.disk, &store), &[next], &context);
        if finished {
            assert_eq!(acknowledged.len() as u64, TRANSFERS);
            assert!(operation > 60, "the sweep reached the log's writes");
            return;
        }
    }
}

#[test]
fn an_error_at_any_operation_loses_nothing_acknowledged() {
    fail_every_operation(Machine::new);
}

#[test]
fn an_error_at_any_operation_of_log_or_tree_loses_nothing_acknowledged() {
    fail_every_operation(Machine::with_tree);
}

/// I6 and I8: whatever fails, no acknowledged transaction is lost and none is half there; a full disk
/// fails the statement that needs room and nothing else.
fn fail_every_operation(machine: fn(u64) -> Machine) {
    for fault in [Fault::Error, Fault::NoSpace] {
        for operation in 0.. {
            let machine = machine(operation + 1);
            machine.disk.set_fault(operation, fault);
            let acknowledged = run(&machine, 1, TRANSFERS);
            let finished = machine.disk.operations() <= operation;
            let machine = machine.crash();
            let context = format!("{fault:?} at operation {operation}");
            let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&found(&machine.disk, &store), &acknowledged, &context);
            if finished {
                break;
            }
        }
    }
}

/// Where records are only flushed, a checkpoint syncs them before it makes an engine durable. When that fails, no
/// engine may come to hold what a power cut takes from the journal.
#[test]
fn a_failed_sync_of_the_journal_holds_every_engine_back() {
    let mut held_back = 0;
    for operation in 0.. {
        for seed in 0..4 {
            let machine = Machine::with_tree(100 * operation + seed);
            let (store, _) = machine.recover_with(Machine::options(0)).expect("a new store");
            for id in 1..=3 {
                transfer(&store, id).expect("a commit");
            }
            let before = machine.disk.operations();
            machine.disk.set_fault(before + operation, Fault::Error);
            let taken = checkpoint::take(store.path::<Coordinator>());
            let finished = machine.disk.operations() <= before + operation;
            held_back += u32::from(matches!(taken, Err(checkpoint::CheckpointError::Engine(_))));
            let after = machine.crash();
            drop(store);
            let context = format!("error at operation {operation} of a checkpoint, seed {seed}");
            let (store, _) = after.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
            let kept: &[u64] = if taken.is_ok() { &[1, 2, 3] } else { &[] };
            check(&found(&after.disk, &store), kept, &context);
            if finished {
                assert!(taken.is_ok() && held_back > 0, "{context}: no engine met the failed sync");
                return;
            }
        }
    }
}

/// Whatever step of a commit fails once its order is fixed: the journal's write, or the binlog file after it.
#[test]
fn after_a_failed_write_nothing_is_acknowledged_until_restart() {
    let mut failed_steps = 0;
    for skipped in 0.. {
        let machine = Machine::new(3);
        let (store, _) = machine.recover().expect("a new store");
        transfer(&store, 1).expect("a commit");
        let fault_at = machine.disk.operations() + skipped;
        machine.disk.set_fault(fault_at, Fault::Error);
        let outcome = transfer(&store, 2);
        if machine.disk.operations() <= fault_at {
            break;
        }
        // The first operations may prepare a segment: then the transaction is refused, and nothing was ordered.
        if !matches!(outcome, Err(CommitError::Unknown(_))) {
            continue;
        }
        failed_steps += 1;
        assert!(matches!(transfer(&store, 3), Err(CommitError::Sealed(_))), "operation {skipped}");
        let mut reader = store.begin();
        let mut value = Vec::new();
        assert!(reader.get(ENGINES[0], Read::Snapshot, &key(1), &mut value).expect("reads go on"));
        assert!(!reader.get(ENGINES[0], Read::Current, &key(2), &mut value).expect("reads go on"));
    }
    assert!(failed_steps >= 2, "{failed_steps} steps failed");
}

/// Power cuts take what was only flushed, from the journal more than from the binlog at times. That is no
/// damage, whatever start it is found by. No checkpoint here: memory engines do not lose power with the disk.
#[test]
fn a_power_cut_under_weaker_durability_is_not_taken_for_damage() {
    for operation in 0.. {
        let machine = Machine::new(operation + 1);
        machine.disk.set_fault(operation, Fault::PowerCut);
        run_with(&machine, Machine::options(0), 1, 4);
        let finished = machine.disk.operations() <= operation;
        let machine = machine.crash_again_and_again(operation);
        let context = format!("crash at operation {operation}");
        let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
        check(&found(&machine.disk, &store), &[], &context);
        if finished {
            return;
        }
    }
}

/// Many sessions at once with log writers and checkpoints; the power goes at some moment.
#[test]
fn concurrent_sessions_lose_nothing_acknowledged() {
    for round in 0..30 {
        let machine = if round % 2 == 0 { Machine::new(round) } else { Machine::with_tree(round) };
        let store = machine.open();
        machine.disk.set_fault(machine.disk.operations() + 20 + round * 3, Fault::PowerCut);
        let acknowledged = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..30 {
                        // The id is the counter's new value: it is only known under the lock.
                        let mut transaction = store.begin();
                        transaction.lock(ENGINES[0], COUNTER, LockMode::Exclusive).expect("a lock");
                        let mut value = Vec::new();
                        let there = transaction
                            .get(ENGINES[0], Read::Current, COUNTER, &mut value)
                            .expect("memory can be read");
                        let id = if there { number(&value) + 1 } else { 1 };
                        transaction.put(ENGINES[0], COUNTER, &id.to_le_bytes());
                        for engine in ENGINES {
                            transaction.put(engine, &key(id), b"row");
                        }
                        let image = [&[0u8][..], &(id as i64).to_le_bytes()].concat();
                        transaction.events().write_row(&table(), &image);
                        transaction.events().end_statement();
                        match store.commit_and_wait(transaction) {
                            Ok(_) => acknowledged.lock().push(id),
                            Err(_) => return,
                        }
                        store.want_checkpoint();
                    }
                });
            }
        });
        let machine = machine.crash();
        drop(store.close());
        let context = format!("round {round}");
        let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
        check(&found(&machine.disk, &store), &acknowledged.into_inner(), &context);
    }
}

#[test]
fn a_clean_stop_leaves_nothing_to_replay() {
    let machine = Machine::new(5);
    let store = machine.open();
    for id in 1..=5 {
        transfer(&store, id).expect("a commit");
    }
    store.close().expect("a last checkpoint");
    assert!(matches!(transfer(&store, 6), Err(CommitError::ShuttingDown)));
    let machine = machine.crash();
    let (store, report) = machine.recover().expect("a recovery");
    assert!(report.is_clean(), "{report}");
    check(&found(&machine.disk, &store), &[1, 2, 3, 4, 5], "clean stop");
}
