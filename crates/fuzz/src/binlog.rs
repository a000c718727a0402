//! Binlog files, the index of files, and GTID sets as text.
//!
//! Input: a byte of flags, then a file, an index, or a text. With [`RESEAL`] every event's position and
//! checksum is put right first.

use std::path::Path;

use cohort_binlog::{
    BinlogListing, BinlogOptions, BinlogReader, Event, EventBody, Gtid, GtidSet, HEADER_BYTES, ReadError,
    ReaderOptions, ServerUuid, TableMapEvent, Tables, events_of,
};
use cohort_io::{Create, FileSystem, OpenOptions, SimDisk, read_whole};
use cohort_sim::machine::{BINLOG_DIR, Machine, Settings};
use cohort_sim::rows::Rows;
use cohort_sql::SessionState;
use cohort_sql::session::{BinlogFormat, StandIn};
use cohort_txn::GtidMode;

/// Positions and checksums are put right.
const RESEAL: u8 = 1;
/// An index instead of a file.
const INDEX: u8 = 2;
/// The text of a GTID set instead of a file.
const TEXT: u8 = 4;

const MAGIC_BYTES: usize = 4;
const CRC_BYTES: usize = 4;

/// Reads `bytes` as the file they say.
pub fn run(bytes: &[u8]) {
    let Some((flags, bytes)) = bytes.split_first() else { return };
    if flags & TEXT != 0 {
        return text(bytes);
    }
    let disk = SimDisk::new(1);
    let options = BinlogOptions::new(BINLOG_DIR);
    if flags & INDEX != 0 {
        put(&disk, "binlog.index", bytes);
        if let Ok(listing) = BinlogListing::read(&disk, &options) {
            assert!(listing.listed.is_sorted(), "a list without order");
        }
        return;
    }
    let mut bytes = bytes.to_vec();
    if flags & RESEAL != 0 {
        reseal(&mut bytes);
    }
    put(&disk, "binlog.000001", &bytes);
    let path = Path::new(BINLOG_DIR).join("binlog.000001");
    read_file(&disk, &path, bytes.len() as u64);
    for event in events_of(&bytes, 0) {
        match event {
            Ok(event) => drop(event.decode()),
            Err((offset, _)) => assert!(offset <= bytes.len() as u64, "an error outside of the file"),
        }
    }
}

fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    let path = Path::new(BINLOG_DIR).join(name);
    let file = disk.open(&path, &OpenOptions::buffered(Create::New)).expect("a disk without faults");
    file.write_at(0, bytes).expect("a disk without faults");
}

fn read_file(disk: &SimDisk, path: &Path, len: u64) {
    let open = || BinlogReader::open(disk, path, ReaderOptions { event_bytes_max: 64 << 10, end: None });
    let Ok(mut reader) = open() else { return };
    let mut map: Option<TableMapEvent> = None;
    let mut at = reader.offset();
    loop {
        match reader.next_event() {
            Ok(Some(event)) => {
                assert!(event.offset == at && event.offset < len, "events follow each other within the file");
                look_into(&event, &mut map);
            }
            Ok(None) => break,
            Err(ReadError::Damaged { offset, .. } | ReadError::CutOff { offset, .. }) => {
                assert_eq!(offset, at, "the error names the event that has it");
                break;
            }
            Err(_) => break,
        }
        at = reader.offset();
    }
    drop(open().map(BinlogReader::executed_gtids));
}

fn look_into(event: &Event<'_>, map: &mut Option<TableMapEvent>) {
    match event.decode() {
        Ok(EventBody::TableMap(table)) => *map = Some(table),
        Ok(EventBody::Rows(rows)) => {
            if let Some(map) = map {
                for row in rows.rows(map) {
                    if row.is_err() {
                        break;
                    }
                }
            }
        }
        Ok(EventBody::Query(query)) => drop(query.ddl_xid()),
        Ok(EventBody::PreviousGtids(set)) => {
            let shown = set.to_string();
            assert_eq!(shown.parse::<GtidSet>().as_ref(), Ok(&set), "{shown}");
        }
        Ok(EventBody::TransactionPayload(payload)) => {
            if let Ok(inside) = payload.decompress(event.offset) {
                inside.events().flatten().for_each(|event| look_into(&event, map));
            }
        }
        Ok(body @ (EventBody::UserVar(_) | EventBody::IntVar(_))) => drop(body.describe(&mut Tables::new())),
        _ => {}
    }
}

fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    drop(text.parse::<ServerUuid>());
    if let Ok(gtid) = text.parse::<Gtid>() {
        assert_eq!(gtid.to_string().parse(), Ok(gtid));
    }
    if let Ok(set) = text.parse::<GtidSet>() {
        assert_eq!(set.to_string().parse::<GtidSet>().as_ref(), Ok(&set));
        let mut encoded = Vec::new();
        set.encode(&mut encoded);
        assert_eq!(GtidSet::decode(&encoded).as_ref(), Ok(&set));
    }
    drop(GtidSet::decode(bytes));
}

/// Puts the position and the checksum of every event right that lies within the file by its size.
fn reseal(bytes: &mut [u8]) {
    let mut at = MAGIC_BYTES;
    while let Some(size) = bytes.get(at + 9..at + 13) {
        let size = u32::from_le_bytes(size.try_into().expect("four bytes")) as usize;
        let Some(event) = bytes.get_mut(at..at.saturating_add(size)) else { return };
        if size < HEADER_BYTES + CRC_BYTES {
            return;
        }
        event[13..17].copy_from_slice(&((at + size) as u32).to_le_bytes());
        let (body, crc) = event.split_at_mut(size - CRC_BYTES);
        // The checksum of a format description is that of a file not in use.
        let mut checked = body.to_vec();
        if checked[4] == 15 {
            checked[17] &= !1;
        }
        crc.copy_from_slice(&crc32fast::hash(&checked).to_le_bytes());
        at += size;
    }
}

/// The binlog of a server that has made tables of every type and changed them, its index, GTID sets.
pub fn seeds() -> Vec<Vec<u8>> {
    let machine = Machine::new(1);
    let database = machine
        .open(Settings { segment_bytes: 1 << 20, binlog_bytes: 1 << 30, log_bin: true, gtid_mode: GtidMode::On })
        .expect("a new server");
    let mut state = SessionState::new();
    state.fixed_now_us = Some(1_700_000_000_000_000);
    let run = |state: &mut SessionState, sql: &str| {
        let outcome = database.execute(state, &StandIn, sql.as_bytes(), &mut Rows::default());
        if let Some(transaction) = outcome.expect(sql).commit {
            database.store().commit_and_wait(transaction).expect("a commit");
        }
    };
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a TINYINT UNSIGNED PRIMARY KEY, b SMALLINT, c MEDIUMINT, d INT, e BIGINT UNSIGNED, f FLOAT, \
         g DOUBLE, h DECIMAL(20,6), i CHAR(10), j VARCHAR(300), k TEXT, l BLOB, m DATE, n DATETIME(6), o TIME(3), \
         p TIMESTAMP NULL, q YEAR, s BINARY(4), t VARBINARY(9))",
        "INSERT INTO t VALUES (1,2,3,4,5,1.5,2.5,'3.25','char','varchar','text','blob','2024-02-29',\
         '2024-02-29 23:59:59.123456','-12:30:00.5','2024-02-29 12:00:00',2024,'bin','varbin')",
        "INSERT INTO t (a) VALUES (7), (8)",
        "UPDATE t SET b = -2, j = NULL, h = -99999.5 WHERE a = 1",
        "DELETE FROM t WHERE a > 1",
        "DROP TABLE t",
        "CREATE TABLE u (a INT PRIMARY KEY, b VARCHAR(20))",
    ] {
        run(&mut state, sql);
    }
    state.compresses_binlog = true;
    run(&mut state, "INSERT INTO u VALUES (1, 'again'), (2, 'again')");
    state.binlog_format = BinlogFormat::Statement;
    run(&mut state, "SET @n = 7, @s = 'x', @d = 1.5");
    run(&mut state, "INSERT INTO u VALUES (@n + LAST_INSERT_ID() + @d, @s)");
    let read = |name: &str| {
        read_whole(machine.disk(), &Path::new(BINLOG_DIR).join(name), 1 << 20).expect("a file of the server")
    };
    let flagged = |flags: u8, bytes: &[u8]| [&[flags][..], bytes].concat();
    vec![
        flagged(RESEAL, &read("binlog.000001")),
        flagged(0, &read("binlog.000001")),
        flagged(INDEX, &read("binlog.index")),
        flagged(INDEX, b"./binlog.000001\n./binlog.000002\n./binlog.000003\n./bin"),
        flagged(TEXT, b"11111111-2222-3333-4444-555555555555:1-5:7:9-12,\n21111111-2222-3333-4444-555555555555:1"),
    ]
}
