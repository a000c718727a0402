//! `tc.log`: the coordinator's log of [`super::tc_mmap`], which names the transactions that are decided and
//! may not be committed in every engine yet.
//!
//! Format, integers little-endian. Pages of 4096 bytes; the first holds the header and nothing else.
//!
//! ```text
//! byte 0         8         12         16      24
//!      | COHTCLG | version | pages    | run   | CRC-32C of the bytes | zeros … 4096
//!      | \0      | u32 = 1 | u32      | u64   | before, u32          |
//! ```
//!
//! Each further page has 256 slots of 16 bytes, free ones all zeros:
//!
//! ```text
//! byte 0                8                     12
//!      | the transac-   | CRC-32C of run,     | zeros |
//!      | tion's number  | slot and number     |       |
//! ```
//!
//! Invariants
//! 1. No slot reaches over a 512-byte boundary, so a torn write of a page leaves each of its slots as it was
//!    or as it should be: one that is neither is damage.
//! 2. A slot is written on the disk only by a transaction that takes it; an erased one stays there until its
//!    page is written again. Numbers are therefore never used twice in a run, and a start begins a new file
//!    before it gives out numbers.
//!
//! Concurrency: any number of callers. Who waits for the device shares a write with those who came meanwhile
//! ([`GroupSync`]).

use std::path::Path;
use std::sync::Arc;

use cohort_engine::{GroupSync, WriteError};
use cohort_io::sync::{Condvar, Mutex};
use cohort_io::{
    AlignedBuf, BLOCK, File, FileSystem, IoError, OpenOptions, SyncCounters, SyncStats, read_whole, replace_whole,
};

const NAME: &str = "tc.log";
const MAGIC: &[u8; 8] = b"COHTCLG\0";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 28;
/// Pages with slots; 2048 transactions may be between their decision and the sync after it.
const PAGES: usize = 8;
const FILE_BYTES: usize = (1 + PAGES) * BLOCK;
const SLOT_BYTES: usize = 16;
const SLOTS: usize = PAGES * BLOCK / SLOT_BYTES;

/// Why `tc.log` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TcLogError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file does not hold what was written to it, or was written by a later release.
    #[error("{file}: {what} at byte {at}")]
    Damaged {
        file: String,
        /// What was found.
        what: &'static str,
        at: usize,
    },
}

/// The place of a transaction in the log.
#[derive(Debug)]
#[must_use = "a place is taken until it is erased"]
pub(crate) struct Place(usize);

struct State {
    pages: AlignedBuf,
    free: Vec<usize>,
    /// Pages with slots that were taken since they were written last.
    changed: [bool; PAGES],
}

pub(crate) struct TcLog {
    file: Arc<dyn File>,
    run: u64,
    state: Mutex<State>,
    freed: Condvar,
    log_sync: GroupSync,
    counters: Arc<SyncCounters>,
}

impl TcLog {
    /// The numbers in the file, lowest first; `None` where there is no file.
    pub fn read(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u64>>, TcLogError> {
        let Some(bytes) = read_file(fs, path)? else { return Ok(None) };
        decode(&bytes, path).map(Some)
    }

    /// [`TcLog::read`] for a start, which makes something of what it finds: that is on stable storage when this returns.
    /// Of a write that failed, some may be in the system's cache and nowhere else; what was committed in one engine for
    /// it would outlast it there.
    pub fn recover(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u64>>, TcLogError> {
        let Some(bytes) = read_file(fs, path)? else { return Ok(None) };
        let numbers = decode(&bytes, path)?;
        // Written again, not synced: a sync reports a failed write once, and may have done so.
        replace_whole(fs, path, &bytes, None)?;
        Ok(Some(numbers))
    }

    /// Begins a new, empty log in place of what is there; `run` is another one than any before.
    pub fn create(fs: &dyn FileSystem, path: &Path, run: u64) -> Result<TcLog, TcLogError> {
        let counters = Arc::new(SyncCounters::default());
        let mut bytes = encode_header(run);
        bytes.resize(FILE_BYTES, 0);
        replace_whole(fs, path, &bytes, Some(&counters))?;
        let file = fs.open(path, &OpenOptions::direct_sync().counted(&counters))?;
        let mut pages = AlignedBuf::with_capacity(PAGES * BLOCK);
        pages.resize(PAGES * BLOCK);
        let state = State { pages, free: (0..SLOTS).rev().collect(), changed: [false; PAGES] };
        Ok(TcLog {
            file,
            run,
            state: Mutex::new(state),
            freed: Condvar::new(),
            log_sync: GroupSync::default(),
            counters,
        })
    }

    /// Returns when the number is on stable storage. After an error every later call fails too.
    pub fn log_xid(&self, number: u64) -> Result<Place, WriteError> {
        let slot = self.take(number);
        self.log_sync.sync(NAME, || {
            self.write_changed().map_err(|error| WriteError::Failed { engine: NAME, detail: error.to_string() })
        })?;
        Ok(Place(slot))
    }

    /// Gives the place up: the transaction is durable in every engine.
    pub fn unlog(&self, place: Place) {
        let mut state = self.state.lock();
        let at = place.0 * SLOT_BYTES;
        state.pages[at..at + SLOT_BYTES].fill(0);
        state.free.push(place.0);
        drop(state);
        self.freed.notify_one();
    }

    /// Writes and syncs so far.
    pub fn stats(&self) -> SyncStats {
        self.counters.stats()
    }

    fn take(&self, number: u64) -> usize {
        let mut state = self.state.lock();
        let slot = loop {
            match state.free.pop() {
                Some(slot) => break slot,
                None => self.freed.wait(&mut state),
            }
        };
        let at = slot * SLOT_BYTES;
        state.pages[at..at + SLOT_BYTES].copy_from_slice(&encode_slot(self.run, slot, number));
        state.changed[at / BLOCK] = true;
        slot
    }

    fn write_changed(&self) -> Result<(), IoError> {
        let mut page = AlignedBuf::with_capacity(BLOCK);
        for number in 0..PAGES {
            {
                let mut state = self.state.lock();
                if !std::mem::take(&mut state.changed[number]) {
                    continue;
                }
                page.clear();
                page.extend_from_slice(&state.pages[number * BLOCK..(number + 1) * BLOCK]);
            }
            self.file.write_at(((1 + number) * BLOCK) as u64, &page)?;
        }
        Ok(())
    }
}

fn read_file(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>, IoError> {
    fs.exists(path)?.then(|| read_whole(fs, path, FILE_BYTES as u64)).transpose()
}

/// The numbers in a file's bytes, lowest first.
fn decode(bytes: &[u8], path: &Path) -> Result<Vec<u64>, TcLogError> {
    let damaged = |what, at| TcLogError::Damaged { file: path.display().to_string(), what, at };
    let run = read_header(bytes).map_err(|(what, at)| damaged(what, at))?;
    let mut numbers = Vec::new();
    for (slot, taken) in bytes[BLOCK..].chunks_exact(SLOT_BYTES).enumerate() {
        if taken.iter().all(|byte| *byte == 0) {
            continue;
        }
        let number = u64_at(taken, 0);
        if taken != encode_slot(run, slot, number) {
            return Err(damaged("a slot is not as it was written", BLOCK + slot * SLOT_BYTES));
        }
        numbers.push(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn encode_header(run: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(PAGES as u32).to_le_bytes());
    bytes.extend_from_slice(&run.to_le_bytes());
    let sum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The run that wrote the file, or what is wrong with it and where.
fn read_header(bytes: &[u8]) -> Result<u64, (&'static str, usize)> {
    if bytes.len() != FILE_BYTES {
        return Err(("the file is cut off", bytes.len()));
    }
    let run = u64_at(bytes, 16);
    match bytes[..HEADER_BYTES] == encode_header(run) {
        true => Ok(run),
        false => Err(("the header is not one that this server wrote", 0)),
    }
}

fn encode_slot(run: u64, slot: usize, number: u64) -> [u8; SLOT_BYTES] {
    let named = [run, slot as u64, number].map(u64::to_le_bytes).concat();
    let mut bytes = [0; SLOT_BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..12].copy_from_slice(&crc32c::crc32c(&named).to_le_bytes());
    bytes
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the caller looked at the length"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cohort_io::{Fault, SimDisk};

    use super::*;

    fn path() -> PathBuf {
        "/data/tc.log".into()
    }

    fn new_log(disk: &SimDisk, run: u64) -> TcLog {
        disk.create_dir_all(Path::new("/data")).expect("a directory");
        TcLog::create(disk, &path(), run).expect("a new log")
    }

    fn read(disk: &SimDisk) -> Vec<u64> {
        TcLog::read(disk, &path()).expect("a sound log").expect("a file")
    }

    #[test]
    fn what_was_logged_and_not_given_up_is_found_after_a_crash() {
        let disk = SimDisk::new(1);
        assert_eq!(TcLog::read(&disk, &path()).expect("no file"), None);
        let log = new_log(&disk, 1);
        let places: Vec<_> = (1..=300).map(|number| log.log_xid(number).expect("logged")).collect();
        assert_eq!(read(&disk), (1..=300).collect::<Vec<_>>());
        places.into_iter().take(299).for_each(|place| log.unlog(place));
        // Each of the three takes a page that had erased slots: those go with it.
        for number in 301..=303 {
            let _ = log.log_xid(number).expect("logged");
        }
        let disk = disk.crash();
        let found = read(&disk);
        assert!(found.ends_with(&[300, 301, 302, 303]) && found.len() < 300, "{found:?}");
        drop(new_log(&disk, 2));
        assert_eq!(read(&disk.crash()), Vec::<u64>::new());
    }

    #[test]
    fn a_torn_write_leaves_the_slots_of_others() {
        for seed in 0..64 {
            let disk = SimDisk::new(seed);
            let log = new_log(&disk, 1);
            let places: Vec<_> = (1..=100).map(|number| log.log_xid(number).expect("logged")).collect();
            places.into_iter().take(50).for_each(|place| log.unlog(place));
            disk.set_fault(disk.operations(), Fault::PowerCut);
            log.log_xid(101).expect_err("the power is gone");
            log.log_xid(102).expect_err("nothing is tried again");
            let found = read(&disk.crash());
            assert!((51..=100).all(|number| found.contains(&number)), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn what_a_start_found_is_there_after_a_power_cut() {
        let mut found_after_a_failure = 0;
        for seed in 0..64 {
            let disk = SimDisk::new(seed);
            let log = new_log(&disk, 1);
            let _ = log.log_xid(1).expect("logged");
            disk.set_fault(disk.operations(), Fault::NoSpace);
            log.log_xid(2).expect_err("the disk is full");
            let disk = disk.kill_copy();
            let found = TcLog::recover(&disk, &path()).expect("a sound log").expect("a file");
            found_after_a_failure += usize::from(found.contains(&2));
            assert_eq!(read(&disk.crash()), found, "seed {seed}");
        }
        assert!(found_after_a_failure > 0, "the write never left anything");
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let disk = SimDisk::new(1);
        let log = new_log(&disk, 1);
        let _ = [7, 8].map(|number| log.log_xid(number).expect("logged"));
        let (first, second) = (BLOCK as u64, (BLOCK + SLOT_BYTES) as u64);
        for at in [0, 9, 20, 27, first, first + 8, first + 13, second, second + 13] {
            let disk = disk.kill_copy();
            disk.corrupt(&path(), at, 0x20);
            let error = TcLog::read(&disk, &path()).expect_err("damaged").to_string();
            let begin = [second, first, 0].into_iter().find(|begin| at >= *begin).expect("a place");
            let place = format!("byte {begin}");
            assert!(error.contains("tc.log") && error.ends_with(&place), "byte {at}: {error}");
        }
    }

    #[test]
    fn every_slot_of_the_file_holds_a_number_and_none_is_beyond_it() {
        let disk = SimDisk::new(1);
        let log = new_log(&disk, 1);
        let numbers: Vec<u64> = (1..=SLOTS as u64).collect();
        let places: Vec<Place> = numbers.iter().map(|number| log.log_xid(*number).expect("logged")).collect();
        assert!(log.state.lock().free.is_empty());
        assert_eq!(read(&disk.kill_copy()), numbers);
        places.into_iter().for_each(|place| log.unlog(place));
    }

    #[test]
    fn places_are_used_again() {
        let disk = SimDisk::new(1);
        let log = new_log(&disk, 1);
        for number in 0..2 * SLOTS as u64 {
            let place = log.log_xid(number).expect("logged");
            log.unlog(place);
        }
        assert_eq!(read(&disk).len(), 1);
    }
}
