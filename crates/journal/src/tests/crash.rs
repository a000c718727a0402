//! Sweeps: one workload, a fault at its k-th call, for every k until none is reached.

use cohort_io::Fault;

use super::*;

/// What the workload received and what it asked for.
struct Story {
    laid_out: Vec<(Lsn, Vec<u8>)>,
    /// Ends of records whose durability was reported.
    acknowledged: Lsn,
    /// The one that counts, then those that may.
    checkpoints: Vec<(Lsn, Vec<u8>)>,
    /// Whether a call that may leave things open has failed.
    failed: bool,
}

/// How the workload writes.
#[derive(Clone, Copy, Debug)]
struct Mode {
    durability: fn(usize) -> Durability,
    /// The younger of each pair is written first.
    pairs: bool,
}

const MODES: [Mode; 4] = [
    Mode { durability: |_| Durability::Sync, pairs: false },
    Mode { durability: |_| Durability::Sync, pairs: true },
    Mode { durability: |number| if number % 3 == 0 { Durability::Sync } else { Durability::Flush }, pairs: true },
    Mode { durability: |_| Durability::Flush, pairs: false },
];

impl Story {
    /// Runs until something fails. `Err` only for an opening that found damage.
    fn run(&mut self, disk: &SimDisk, mode: Mode) -> Result<(), OpenError> {
        let journal = match open(disk) {
            Ok((journal, read)) => {
                self.check(&read);
                journal
            }
            Err(error @ (OpenError::Damaged { .. } | OpenError::Missing { .. } | OpenError::Newer { .. })) => {
                return Err(error);
            }
            Err(_) => {
                self.failed = true;
                return Ok(());
            }
        };
        if self.work(&journal, mode).is_none() {
            self.failed = true;
        }
        Ok(())
    }

    fn work(&mut self, journal: &Journal, mode: Mode) -> Option<()> {
        for number in 0..12 {
            let pair = if mode.pairs { 2 } else { 1 };
            let mut records = Vec::new();
            for member in 0..pair {
                let payload = payload(self.laid_out.len(), 1 + (number * 2 + member) * 1300);
                let mut room = journal.reserve(payload.len() as u64).ok()?;
                let record = journal.layout(&[&payload]).ok()?;
                room.release();
                self.laid_out.push((record.lsn(), payload));
                records.push(record);
            }
            for (member, record) in records.iter().enumerate().rev() {
                journal.write(record, (mode.durability)(number + member)).ok()?;
            }
            for record in &records {
                journal.mark_durable(record.end());
            }
            self.acknowledged = self.acknowledged.max(journal.durable_lsn());
            match number {
                4 | 9 => {
                    let (start, note) = (records[0].lsn(), vec![number as u8; number]);
                    self.checkpoints.push((start, note.clone()));
                    match journal.checkpoint(start, &note) {
                        Ok(()) => self.checkpoints.drain(..self.checkpoints.len() - 1).for_each(drop),
                        Err(JournalError::NoSpace(_)) => {}
                        Err(_) => return None,
                    }
                }
                7 => {
                    journal.sync().ok()?;
                    self.acknowledged = self.acknowledged.max(journal.durable_lsn());
                    match journal.prepare_segments() {
                        Ok(()) | Err(ReserveError::NoSpace { .. }) => {}
                        Err(_) => return None,
                    }
                }
                _ => {}
            }
        }
        let (start, note) = (records_end(journal), b"closed".to_vec());
        self.checkpoints.push((start, note.clone()));
        match journal.close(start, &note) {
            Ok(()) => self.checkpoints.drain(..self.checkpoints.len() - 1).for_each(drop),
            Err(_) => return None,
        }
        self.acknowledged = self.acknowledged.max(start);
        Some(())
    }

    /// What was read is a prefix of what was laid out, from a checkpoint that was asked for, and has
    /// everything that was reported durable. What it lacks was never there.
    fn check(&mut self, read: &Read) {
        let checkpoint = (read.start, read.note.clone());
        assert!(self.checkpoints.contains(&checkpoint), "{checkpoint:?} is none of {:?}", self.checkpoints);
        let expected: Vec<&(Lsn, Vec<u8>)> = self.laid_out.iter().filter(|(lsn, _)| *lsn >= read.start).collect();
        assert!(read.records.len() <= expected.len(), "records that were never laid out");
        for (found, expected) in read.records.iter().zip(&expected) {
            assert_eq!(&found, expected);
        }
        if let Some((lost, _)) = expected.get(read.records.len()) {
            assert!(*lost >= self.acknowledged, "lost the record at lsn {lost}, durable was {}", self.acknowledged);
        }
        if let ScanEnd::CutByOperator { .. } = read.end {
            panic!("nobody asked for a cut");
        }
        let count = self.laid_out.len() - (expected.len() - read.records.len());
        self.laid_out.truncate(count);
        self.checkpoints.retain(|checkpoint| *checkpoint == (read.start, read.note.clone()));
    }
}

fn records_end(journal: &Journal) -> Lsn {
    Lsn(journal.stats().next_lsn)
}

/// Two runs on one disk, with a fault at call `at` of the run number `in_run`, then recovery. Returns
/// whether the fault was reached.
fn one(mode: Mode, fault: Fault, in_run: usize, at: u64, seed: u64) -> bool {
    let context = format!("{mode:?} {fault:?} run {in_run} call {at} seed {seed}");
    let mut disk = SimDisk::new(seed);
    let mut story =
        Story { laid_out: Vec::new(), acknowledged: Lsn(0), checkpoints: vec![(Lsn(0), Vec::new())], failed: false };
    let mut reached = false;
    for run in 0..3 {
        if run == in_run {
            disk.set_fault(at, fault);
        }
        story.run(&disk, mode).unwrap_or_else(|error| panic!("{context}: {error}"));
        if run == in_run {
            reached = disk.operations() > at;
        }
        disk = if seed == 1 && fault != Fault::PowerCut && !story.failed { disk.kill() } else { disk.crash() };
        story.failed = false;
    }
    let (_, read) = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    story.check(&read);
    reached
}

fn sweep(fault: Fault) {
    for mode in MODES {
        for in_run in 0..2 {
            for seed in 0..2 {
                let mut at = 0;
                while one(mode, fault, in_run, at, seed) {
                    at += 1;
                }
                assert!(at > 50, "the workload makes calls: {at}");
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_durable() {
    sweep(Fault::PowerCut);
}

#[test]
fn an_error_at_any_call_loses_nothing_durable() {
    sweep(Fault::Error);
}

#[test]
fn a_full_disk_at_any_call_loses_nothing_durable() {
    sweep(Fault::NoSpace);
}

#[test]
fn recovery_cut_off_at_any_call_finds_the_same_when_repeated() {
    for seed in 0..10 {
        let disk = SimDisk::new(seed);
        let (journal, _) = open(&disk).unwrap();
        for number in 0..10 {
            append(&journal, &payload(number, number * 2000), Durability::Sync);
        }
        let _torn = lay_out(&journal, b"torn");
        let after = lay_out(&journal, b"after");
        journal.write(&after, Durability::Sync).unwrap();
        let image = disk.crash();
        let expected: Vec<(Lsn, Vec<u8>)> = {
            let (_, read) = open(&image.kill_copy()).unwrap();
            read.records
        };
        assert_eq!(expected.len(), 10);
        let mut disk = image;
        for at in 0.. {
            disk.set_fault(at, Fault::PowerCut);
            let ended = open(&disk).is_ok();
            disk = disk.crash();
            let (_, read) = open(&disk.kill_copy()).unwrap();
            assert_eq!(read.records, expected);
            if ended {
                break;
            }
        }
    }
}

#[test]
fn after_a_failed_write_or_sync_every_call_fails() {
    type Call = fn(&Journal) -> Result<(), JournalError>;
    let calls: [(&str, Call); 3] = [
        ("write", |journal| {
            let record = journal.layout(&[b"x"])?;
            journal.write(&record, Durability::Sync)
        }),
        ("sync", |journal| journal.sync()),
        ("checkpoint", |journal| journal.checkpoint(Lsn(0), b"")),
    ];
    for (name, call) in calls {
        let disk = SimDisk::new(1);
        let (journal, _) = open(&disk).unwrap();
        append(&journal, b"flushed", Durability::Flush);
        let in_flight = lay_out(&journal, b"in flight");
        disk.set_fault(disk.operations() + u64::from(name == "checkpoint"), Fault::Error);
        assert!(matches!(call(&journal), Err(JournalError::Failed(_))), "{name}");
        let durable = journal.durable_lsn();
        assert!(matches!(journal.write(&in_flight, Durability::Sync), Err(JournalError::Sealed(_))));
        assert!(matches!(journal.layout(&[b"y"]), Err(JournalError::Sealed(_))));
        assert!(matches!(journal.sync(), Err(JournalError::Sealed(_))));
        assert!(matches!(journal.checkpoint(Lsn(0), b""), Err(JournalError::Sealed(_))));
        assert!(journal.reserve(1).is_err());
        assert!(journal.prepare_segments().is_err());
        assert_eq!(journal.durable_lsn(), durable);
    }
}
