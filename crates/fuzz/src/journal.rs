//! The journal's files: checkpoint, segments, records, and what records say.
//!
//! Input: a byte of flags, then changes to the files of a real journal, five bytes each: file, offset (three
//! bytes, little end first, taken modulo the file), and what its byte is changed by. With [`RESEAL`] the
//! checksums of checkpoint, segments and records are put right afterwards. With [`PAYLOAD`] the bytes are the
//! payload of the first record instead.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cohort_io::{BLOCK, Create, FileSystem, OpenOptions, SimDisk, read_whole};
use cohort_journal::{Journal, JournalOptions, Lsn};
use cohort_sim::machine::{JOURNAL_DIR, Machine, Settings};
use cohort_sim::rows::Rows;
use cohort_sql::SessionState;
use cohort_sql::session::StandIn;
use cohort_txn::{GtidMode, Records, read_journal};

/// Checksums are put right.
const RESEAL: u8 = 1;
/// Everything on the disk is read, not only what lies after the checkpoint.
const ON_DISK: u8 = 2;
/// The input is a record's payload.
const PAYLOAD: u8 = 4;
/// The journal is opened as by a start, that may have to cut.
const START: u8 = 8;
/// As [`START`], with the operator's leave to cut at the first record.
const CUT: u8 = 16;

const HEADER_BYTES: usize = 72;
const CHANGE_BYTES: usize = 5;

/// Name and content of the journal's files, checkpoint first.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// Reads the journal that `bytes` make of a real one.
pub fn run(bytes: &[u8]) {
    let Some((flags, bytes)) = bytes.split_first() else { return };
    let mut files = journal().clone();
    if flags & PAYLOAD != 0 {
        put_payload(&mut files, bytes);
    } else {
        change(&mut files, bytes);
    }
    if flags & (RESEAL | PAYLOAD) != 0 {
        reseal(&mut files);
    }
    let disk = SimDisk::new(1);
    let mut disk_bytes = 0;
    for (path, content) in &files {
        let file = disk.open(path, &OpenOptions::buffered(Create::New)).expect("a disk without faults");
        file.write_at(0, content).expect("a disk without faults");
        disk_bytes += content.len();
    }
    if flags & (START | CUT) != 0 {
        let cut_at = (flags & CUT != 0).then_some(Lsn(0));
        start(&disk, JournalOptions { segment_bytes: 2 * BLOCK as u64, cut_at, ..JournalOptions::default() });
        return;
    }
    let records = if flags & ON_DISK != 0 { Records::OnDisk } else { Records::AfterCheckpoint };
    let mut seen = 0;
    let report = read_journal(Arc::new(disk), JOURNAL_DIR.as_ref(), records, &mut |record| {
        seen += 1;
        assert!(record.payload_bytes as usize <= disk_bytes, "a record longer than all files");
    });
    if let Ok(report) = report {
        assert_eq!(report.records, seen);
    }
}

/// Opens the journal to append, and appends.
fn start(disk: &SimDisk, options: JournalOptions) {
    let Ok((journal, mut scan)) = Journal::open(Arc::new(disk.clone()), JOURNAL_DIR.as_ref(), options) else { return };
    loop {
        match scan.next() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(_) => return,
        }
    }
    if scan.finish().is_err() {
        return;
    }
    let Ok(_room) = journal.reserve(100) else { return };
    let Ok(record) = journal.layout(&[b"one more"]) else { return };
    journal.write(&record, cohort_journal::Durability::Sync).expect("a disk without faults");
    journal.mark_durable(record.end());
}

fn change(files: &mut Files, bytes: &[u8]) {
    for change in bytes.chunks_exact(CHANGE_BYTES) {
        let at = usize::from(change[0]) % files.len();
        let content = &mut files[at].1;
        let offset = u32::from_le_bytes([change[1], change[2], change[3], 0]) as usize % content.len();
        content[offset] ^= change[4];
    }
}

/// Makes `bytes` the payload of the first record in the first segment, as far as they fit in it.
fn put_payload(files: &mut Files, bytes: &[u8]) {
    let (_, segment) = &mut files[1];
    let room = segment.len() - BLOCK - HEADER_BYTES;
    let bytes = &bytes[..bytes.len().min(room)];
    segment[BLOCK + 56..BLOCK + 64].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    segment[BLOCK + HEADER_BYTES..][..bytes.len()].copy_from_slice(bytes);
}

/// Puts the checksums right of everything that begins as it should.
fn reseal(files: &mut Files) {
    let (_, checkpoint) = &mut files[0];
    let body = checkpoint.len() - 4;
    let sum = crc32c::crc32c(&checkpoint[..body]);
    checkpoint[body..].copy_from_slice(&sum.to_le_bytes());
    for (_, segment) in &mut files[1..] {
        segment[12..16].fill(0);
        let sum = crc32c::crc32c(&segment[..48]);
        segment[12..16].copy_from_slice(&sum.to_le_bytes());
        for at in (BLOCK..segment.len()).step_by(BLOCK) {
            let record = &mut segment[at..];
            if !record.starts_with(b"COHJREC\x01") {
                continue;
            }
            let sum = crc32c::crc32c(&record[..64]);
            record[64..68].copy_from_slice(&sum.to_le_bytes());
            let length = u64::from_le_bytes(record[56..64].try_into().expect("eight bytes"));
            let payload = usize::try_from(length).ok().and_then(|length| record[HEADER_BYTES..].get(..length));
            if let Some(payload) = payload {
                let sum = crc32c::crc32c_append(sum, payload);
                record[68..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// A journal of three segments, some of its records after the checkpoint.
fn journal() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let machine = Machine::new(1);
        let sizes =
            Settings { segment_bytes: 6 * BLOCK as u64, binlog_bytes: 700, log_bin: true, gtid_mode: GtidMode::On };
        let database = machine.open(sizes).expect("a new server");
        let mut state = SessionState::new();
        state.fixed_now_us = Some(1_700_000_000_000_000);
        let mut statements: Vec<String> =
            ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9000))"]
                .map(str::to_owned)
                .into();
        statements.extend((0..4).map(|id| format!("INSERT INTO t VALUES ({id}, '{}')", "x".repeat(id * 1500))));
        for sql in statements {
            let outcome = database.execute(&mut state, &StandIn, sql.as_bytes(), &mut Rows::default());
            if let Some(transaction) = outcome.expect(&sql).commit {
                database.store().commit_and_wait(transaction).expect("a commit");
            }
        }
        database.store().prepare_ahead();
        let disk = machine.disk();
        let names = disk.list(JOURNAL_DIR.as_ref()).expect("a disk without faults");
        let names = names.iter().filter(|name| !name.ends_with(".new"));
        names
            .map(|name| {
                let path = Path::new(JOURNAL_DIR).join(name);
                let content = read_whole(disk, &path, 1 << 20).expect("a file of the server");
                (path, content)
            })
            .collect()
    })
}

/// No change, and one in each part that has a meaning.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![vec![0], vec![ON_DISK], vec![START], vec![CUT]];
    for flags in [0, RESEAL, RESEAL | START] {
        for (file, offset) in [(0, 8), (0, 24), (0, 40), (1, 16), (1, 32), (1, 4096 + 12), (1, 4096 + 56), (2, 4096)] {
            let [low, middle, high, _] = u32::to_le_bytes(offset);
            seeds.push(vec![flags, file, low, middle, high, 1]);
        }
    }
    let (_, segment) = &journal()[1];
    let length = u64::from_le_bytes(segment[BLOCK + 56..BLOCK + 64].try_into().expect("eight bytes")) as usize;
    seeds.push([&[PAYLOAD][..], &segment[BLOCK + HEADER_BYTES..][..length]].concat());
    seeds
}
