use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::*;

/// What has not come by then never will.
const DEADLINE: Duration = Duration::from_secs(20);

/// Where the record number `number` begins; each has one block.
fn place(number: u64) -> Lsn {
    Lsn(number * cohort_io::BLOCK as u64)
}

fn enter(progress: &Progress, number: u64, durability: Durability) -> Turn<'_> {
    progress.enter(place(number), place(number + 1), durability)
}

fn records(numbers: std::ops::Range<u64>) -> Option<Range> {
    Some(Range { from: place(numbers.start), to: place(numbers.end) })
}

/// Has a thread enter for a synced write, and returns when it waits or was let in. What comes is what it must sync first.
fn enter_in_a_thread(progress: &Arc<Progress>, number: u64) -> Receiver<Option<Range>> {
    let (sender, receiver) = channel();
    let shared = Arc::clone(progress);
    std::thread::spawn(move || sender.send(enter(&shared, number, Durability::Sync).sync_first()));
    let begun = Instant::now();
    while progress.modes.lock().newest_synced < Some(place(number)) {
        assert!(begun.elapsed() < DEADLINE, "the thread does not come");
        std::thread::yield_now();
    }
    receiver
}

#[test]
fn a_synced_write_waits_for_the_older_flushed_ones_and_for_no_younger() {
    let progress = Arc::default();
    let older = [0, 1].map(|number| enter(&progress, number, Durability::Flush));
    let _younger = enter(&progress, 3, Durability::Flush);
    let synced = enter_in_a_thread(&progress, 2);
    drop(older);
    assert_eq!(synced.recv_timeout(DEADLINE), Ok(records(0..2)), "it syncs what it waited for");
}

#[test]
fn nobody_waits_once_the_journal_is_sealed() {
    let progress = Arc::default();
    let _older = enter(&progress, 0, Durability::Flush);
    let waiting = enter_in_a_thread(&progress, 1);
    progress.wake_all();
    assert_eq!(waiting.recv_timeout(DEADLINE), Ok(None));
    assert_eq!(enter_in_a_thread(&progress, 2).recv_timeout(DEADLINE), Ok(None));
}

#[test]
fn the_durable_mark_passes_flushed_records_when_they_are_synced_and_not_when_that_failed() {
    let progress = Progress::default();
    drop(enter(&progress, 0, Durability::Flush));
    progress.complete(place(1));
    let failed = enter(&progress, 1, Durability::Sync);
    assert_eq!(failed.sync_first(), records(0..1));
    drop(failed);
    progress.complete(place(2));
    assert_eq!(progress.durable(), place(0));
    enter(&progress, 2, Durability::Sync).done();
    progress.complete(place(3));
    assert_eq!(progress.durable(), place(3));
}
