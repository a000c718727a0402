//! Events are built, laid out, written to a file, and judged by our reader, by `mysql_common`'s and by
//! `mariadb-binlog`.

mod columns;
mod compression;
mod damage;
mod events;
mod oracles;
mod reading;
mod spilled;
mod statements;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_io::RealFs;

use super::*;

/// The server every test writes as.
const UUID: ServerUuid = ServerUuid::from_bytes(*b"cohort test uuid");

fn identity() -> ServerIdentity {
    ServerIdentity { server_id: 7, server_version: "8.0.40-cohort".to_owned() }
}

fn new_events() -> TransactionEvents {
    new_events_with(RowMetadata::Minimal)
}

fn new_events_with(row_metadata: RowMetadata) -> TransactionEvents {
    let options = EventOptions { server_id: 7, row_metadata, ..EventOptions::default() };
    let mut events = TransactionEvents::new(options);
    events.set_timestamp(1_700_000_000);
    events.set_context(&QueryContext { thread_id: 42, ..QueryContext::default() }, "shop");
    events
}

fn stamp(number: u64) -> Stamp {
    Stamp {
        gtid: Some(Gtid { uuid: UUID, gno: number }),
        last_committed: number - 1,
        sequence_number: number,
        xid: 1000 + number,
        commit_time_us: 1_700_000_000_123_456,
    }
}

/// A whole file, transaction after transaction.
struct FileUnderTest {
    bytes: Vec<u8>,
    transactions: u64,
}

impl FileUnderTest {
    fn new() -> FileUnderTest {
        FileUnderTest {
            bytes: file_header(&identity(), FileStart::ServerStart, 1_700_000_000, &GtidSet::new()),
            transactions: 0,
        }
    }

    fn commit(&mut self, events: &mut TransactionEvents) {
        self.transactions += 1;
        let at = self.bytes.len() as u64;
        events.seal();
        let announced = events.laid_out_len();
        assert!(announced <= events.byte_len());
        let end = events.lay_out(&mut self.bytes, at, &stamp(self.transactions));
        assert_eq!(end, self.bytes.len() as u64);
        assert_eq!(end, at + announced);
        events.clear();
    }

    /// Writes the file; the directory goes with the returned guard.
    fn write(&self) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("binlog.000001");
        std::fs::write(&path, &self.bytes).expect("the file is written");
        (directory, path)
    }
}

/// An event with its body copied out of the reader.
#[derive(Clone, Debug)]
struct OwnedEvent {
    offset: u64,
    header: EventHeader,
    body: Vec<u8>,
}

impl OwnedEvent {
    fn decode(&self) -> EventBody<'_> {
        let event = Event { offset: self.offset, header: self.header, body: &self.body };
        event.decode().expect("an event that was written can be decoded")
    }
}

fn read_events(path: &Path) -> Vec<OwnedEvent> {
    let mut reader = BinlogReader::open(&RealFs, path, ReaderOptions::default()).expect("opens");
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().expect("an undamaged event") {
        events.push(OwnedEvent { offset: event.offset, header: event.header, body: event.body.to_vec() });
    }
    events
}

fn column(name: &str, code: u8, meta: &[u8]) -> ColumnMeta {
    let field = FieldType::from_code(code).expect("a code of MySQL's");
    ColumnMeta {
        field,
        meta: meta.to_vec(),
        nullable: true,
        unsigned: false,
        charset: 255,
        name: name.to_owned(),
        members: Vec::new(),
    }
}

/// A table `(id INT, text VARCHAR(1000))`, and an image of a row of it.
fn simple_table(id: u64) -> Arc<TableMap> {
    let columns = [column("id", 3, &[]), column("text", 15, &1000u16.to_le_bytes())];
    Arc::new(TableMap::new(id, "shop", &format!("t{id}"), &columns, &[]))
}

fn simple_row(id: i32, text: &[u8]) -> Vec<u8> {
    let mut image = vec![0];
    image.extend_from_slice(&id.to_le_bytes());
    image.extend_from_slice(&(text.len() as u16).to_le_bytes());
    image.extend_from_slice(text);
    image
}
