//! A reader of the binlog that looks at no more than each event's header.

use std::io::{BufRead, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail, ensure};
use cohort_blackbox::Server;
use cohort_blackbox::wire::Wire;
use mysql::prelude::Queryable;

/// Type code of an event that begins a transaction.
pub const GTID_EVENT: u8 = 33;
/// Type code of an event with new rows.
pub const WRITE_ROWS_EVENT: u8 = 30;

const HEADER: usize = 19;
const LARGEST_PACKET: usize = 0xff_ffff;

/// Where a reader begins.
#[derive(Debug, Clone)]
pub enum Begin {
    /// In this file, at this offset.
    Position(String, u32),
    /// After the transactions 1 to this one of the server with this UUID, in hexadecimal without dashes.
    Gtid(String, u64),
}

/// Whether it waits for more at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    Wait,
    Stop,
}

/// A connection that gets events.
#[derive(Debug)]
pub struct Follower {
    stream: BufReader<TcpStream>,
    event: Vec<u8>,
}

impl Follower {
    /// Logs in as root and asks for events. The first one may not have been sent when this returns.
    pub fn attach(port: u16, begin: &Begin, at_end: AtEnd) -> Result<Follower> {
        static SERVER_ID: AtomicU32 = AtomicU32::new(1000);
        let server_id = SERVER_ID.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let mut wire = Wire::log_in(port)?;
        wire.send(0, b"\x03SET @master_binlog_checksum = 'CRC32'")?;
        let answer = wire.packet()?;
        ensure!(answer.first() == Some(&0), "refused: {}", String::from_utf8_lossy(&answer));
        let flags = u16::from(at_end == AtEnd::Stop).to_le_bytes();
        let command = match begin {
            Begin::Position(file, offset) => {
                [&[0x12][..], &offset.to_le_bytes(), &flags, &server_id, file.as_bytes()].concat()
            }
            Begin::Gtid(uuid, last) => {
                let mut set = 1_u64.to_le_bytes().to_vec();
                for at in (0..uuid.len()).step_by(2) {
                    set.push(u8::from_str_radix(uuid.get(at..at + 2).context("a UUID")?, 16)?);
                }
                for number in [1, 1, last + 1] {
                    set.extend(number.to_le_bytes());
                }
                let (no_name, start) = (0_u32.to_le_bytes(), 4_u64.to_le_bytes());
                let length = (set.len() as u32).to_le_bytes();
                [&[0x1e][..], &flags, &server_id, &no_name, &start, &length, &set].concat()
            }
        };
        wire.send(0, &command)?;
        let stream = wire.stream().try_clone()?;
        Ok(Follower { stream: BufReader::with_capacity(1 << 20, stream), event: Vec::new() })
    }

    /// The next event with its header, artificial ones too; none at the end of a dump that does not wait.
    pub fn next_event(&mut self) -> Result<Option<&[u8]>> {
        self.event.clear();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header)?;
            header[3] = 0;
            let length = u32::from_le_bytes(header) as usize;
            let read = self.stream.by_ref().take(length as u64).read_to_end(&mut self.event)?;
            ensure!(read == length, "the connection ended within a packet");
            if length < LARGEST_PACKET {
                break;
            }
        }
        match self.event.as_slice() {
            [0, event @ ..] if event.len() >= HEADER => Ok(Some(event)),
            [0xfe, ..] if self.event.len() < 9 => Ok(None),
            [0xff, _, _, text @ ..] => bail!("the dump ended: {}", String::from_utf8_lossy(text)),
            other => bail!("neither event nor end: {other:?}"),
        }
    }
}

/// The type code of a whole event.
pub fn event_type(event: &[u8]) -> u8 {
    event[4]
}

/// The transaction's number of a GTID event.
pub fn gno(event: &[u8]) -> Result<u64> {
    let bytes = event.get(HEADER + 17..HEADER + 25).context("a short GTID event")?;
    Ok(u64::from_le_bytes(bytes.try_into()?))
}

/// The server's binlog position.
pub fn position(server: &Server) -> Result<Begin> {
    let row: mysql::Row = server.connect()?.query_first("SHOW MASTER STATUS")?.context("no binlog")?;
    Ok(Begin::Position(row.get(0).context("no file")?, row.get(1).context("no position")?))
}

/// Readers at the live end, a thread each, which take what comes and throw it away, unread: what readers do with events they
/// do on machines of their own.
#[derive(Debug)]
pub struct Live {
    streams: Vec<TcpStream>,
    threads: Vec<JoinHandle<u64>>,
}

impl Live {
    /// Attaches `count` readers where the server is now; each has got its first event.
    pub fn attach(server: &Server, count: usize) -> Result<Live> {
        let begin = position(server)?;
        let mut live = Live { streams: Vec::new(), threads: Vec::new() };
        for _ in 0..count {
            let mut follower = Follower::attach(server.port(), &begin, AtEnd::Wait)?;
            follower.next_event()?.context("a dump that ended")?;
            live.streams.push(follower.stream.get_ref().try_clone()?);
            live.threads.push(thread::spawn(move || {
                let mut bytes = 0;
                // The end of the connection is the end of this.
                while let Ok(got @ 1..) = follower.stream.fill_buf().map(<[u8]>::len) {
                    follower.stream.consume(got);
                    bytes += got as u64;
                }
                bytes
            }));
        }
        Ok(live)
    }

    /// Ends them; bytes that each of them got.
    pub fn detach(self) -> Result<Vec<u64>> {
        for stream in &self.streams {
            stream.shutdown(Shutdown::Both)?;
        }
        Ok(self.threads.into_iter().map(|thread| thread.join().expect("a reader does not panic")).collect())
    }
}
