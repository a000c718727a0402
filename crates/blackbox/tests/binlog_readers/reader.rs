//! A reader of the binlog by hand.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cohort_blackbox::wire::{Wire, login_as};
use cohort_blackbox::{Server, binlog_end};
use mysql::prelude::Queryable;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;

pub const FORMAT_DESCRIPTION: u8 = 15;
pub const GTID: u8 = 33;
pub const ANONYMOUS_GTID: u8 = 34;
pub const HEARTBEAT: u8 = 27;
pub const PREVIOUS_GTIDS: u8 = 35;
pub const QUERY: u8 = 2;
pub const ROTATE: u8 = 4;
pub const XID: u8 = 16;

/// Dump flag: end where there is nothing more.
pub const NON_BLOCK: u16 = 1;

/// What comes.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Event(Event),
    /// The end of a dump.
    End,
    /// Number and text.
    Error(u16, String),
}

/// A whole event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event(pub Vec<u8>);

impl Event {
    pub fn event_type(&self) -> u8 {
        self.0[4]
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    pub fn timestamp(&self) -> u32 {
        self.u32_at(0)
    }

    pub fn size(&self) -> u32 {
        self.u32_at(9)
    }

    pub fn log_pos(&self) -> u32 {
        self.u32_at(13)
    }

    pub fn flags(&self) -> u16 {
        u16::from_le_bytes(self.0[17..19].try_into().expect("two bytes"))
    }

    /// What follows the header, checksum included.
    pub fn body(&self) -> &[u8] {
        &self.0[19..]
    }

    pub fn has_valid_checksum(&self) -> bool {
        let (bytes, crc) = self.0.split_at(self.0.len() - 4);
        crc32fast::hash(bytes).to_le_bytes() == crc
    }
}

/// A connection that reads the binlog.
pub struct Reader(pub Wire);

impl Reader {
    /// Logs in as root, and knows of checksums.
    pub fn log_in(server: &Server) -> Result<Reader> {
        let mut reader = Reader::unaware(server)?;
        reader.query("SET @master_binlog_checksum = @@global.binlog_checksum")?;
        Ok(reader)
    }

    /// Logs in as root, and does not say that it knows of checksums.
    pub fn unaware(server: &Server) -> Result<Reader> {
        let mut wire = Wire::log_in(server.port())?;
        wire.set_patience(Duration::from_secs(30))?;
        Ok(Reader(wire))
    }

    /// Logs in as a user of mysql_native_password.
    pub fn log_in_as(server: &Server, user: &str, password: &str) -> Result<Reader> {
        let mut wire = Wire::connect_from([127, 0, 0, 1], server.port())?;
        let greeting = wire.packet()?;
        let at = greeting.iter().position(|byte| *byte == 0).context("a version")? + 5;
        let challenge = [&greeting[at..at + 8], &greeting[at + 27..at + 39]].concat();
        let response = scramble_native(&challenge, password.as_bytes()).context("a password")?;
        wire.send(1, &login_as(user, &response))?;
        let answer = wire.packet()?;
        ensure!(answer.first() == Some(&0), "login refused: {}", String::from_utf8_lossy(&answer));
        Ok(Reader(wire))
    }

    /// Logs in as root, and wants to hear of changes of its session's state.
    pub fn tracking(server: &Server) -> Result<Reader> {
        let mut wire = Wire::connect(server.port())?;
        let mut login = login_as("root", b"");
        // CLIENT_SESSION_TRACK
        login[2] |= 1 << 7;
        wire.send(1, &login)?;
        let answer = wire.packet()?;
        ensure!(answer.first() == Some(&0), "login refused: {answer:?}");
        Ok(Reader(wire))
    }

    /// Runs a statement without rows.
    pub fn query(&mut self, sql: &str) -> Result<()> {
        self.answer(sql).map(drop)
    }

    /// The OK packet of a statement without rows.
    pub fn answer(&mut self, sql: &str) -> Result<Vec<u8>> {
        self.0.send(0, &[&[3], sql.as_bytes()].concat())?;
        let answer = self.0.packet()?;
        ensure!(answer.first() == Some(&0), "{sql}: {}", String::from_utf8_lossy(&answer));
        Ok(answer)
    }

    /// Registers as a replica.
    pub fn register(&mut self, server_id: u32, host: &str, port: u16) -> Result<Next> {
        let mut command = vec![0x15];
        command.extend(server_id.to_le_bytes());
        command.push(host.len() as u8);
        command.extend(host.as_bytes());
        command.extend([0, 0]);
        command.extend(port.to_le_bytes());
        command.extend([0; 8]);
        self.0.send(0, &command)?;
        self.next()
    }

    pub fn dump(&mut self, file: &str, offset: u32, flags: u16, server_id: u32) -> Result<()> {
        let mut command = vec![0x12];
        command.extend(offset.to_le_bytes());
        command.extend(flags.to_le_bytes());
        command.extend(server_id.to_le_bytes());
        command.extend(file.as_bytes());
        self.0.send(0, &command)
    }

    /// Asks for everything but one server's transactions of these numbers; `last` is included.
    pub fn dump_gtid(&mut self, uuid: &str, intervals: &[(u64, u64)], flags: u16, server_id: u32) -> Result<()> {
        let mut set = 1_u64.to_le_bytes().to_vec();
        if intervals.is_empty() {
            set = vec![0; 8];
        } else {
            let hex: Vec<u8> = uuid.bytes().filter(|byte| *byte != b'-').collect();
            set.extend(hex.chunks(2).map(|pair| {
                u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal digits")
            }));
            set.extend((intervals.len() as u64).to_le_bytes());
            for (first, last) in intervals {
                set.extend(first.to_le_bytes());
                set.extend((last + 1).to_le_bytes());
            }
        }
        self.dump_set(&set, flags, server_id)
    }

    pub fn dump_set(&mut self, set: &[u8], flags: u16, server_id: u32) -> Result<()> {
        let mut command = vec![0x1e];
        command.extend(flags.to_le_bytes());
        command.extend(server_id.to_le_bytes());
        command.extend(0_u32.to_le_bytes());
        command.extend(4_u64.to_le_bytes());
        command.extend((set.len() as u32).to_le_bytes());
        command.extend(set);
        self.0.send(0, &command)
    }

    pub fn next(&mut self) -> Result<Next> {
        let packet = self.0.packet()?;
        Ok(match packet.as_slice() {
            [0xfe, ..] if packet.len() < 9 => Next::End,
            [0xff, low, high, text @ ..] => {
                let text = text.strip_prefix(b"#").map_or(text, |rest| &rest[5..]);
                Next::Error(u16::from_le_bytes([*low, *high]), String::from_utf8_lossy(text).into_owned())
            }
            [0, event @ ..] if event.len() >= 19 => {
                let event = Event(event.to_vec());
                ensure!(event.size() as usize == event.0.len(), "an event of another size: {event:?}");
                Next::Event(event)
            }
            // The OK of a command that is not a dump.
            [0, ..] => Next::End,
            other => bail!("neither event nor end nor error: {other:?}"),
        })
    }

    pub fn event(&mut self) -> Result<Event> {
        match self.next()? {
            Next::Event(event) => Ok(event),
            other => bail!("an event was expected: {other:?}"),
        }
    }

    /// The events up to one of this type, which is the last.
    pub fn events_to(&mut self, event_type: u8) -> Result<Vec<Event>> {
        let mut events = vec![self.event()?];
        while events.last().context("there is one")?.event_type() != event_type {
            events.push(self.event()?);
        }
        Ok(events)
    }

    /// Everything to the end of a dump that does not wait.
    pub fn events_to_end(&mut self) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            match self.next()? {
                Next::Event(event) => events.push(event),
                Next::End => return Ok(events),
                error @ Next::Error(..) => bail!("{error:?} after {} events", events.len()),
            }
        }
    }

    /// The server has closed the connection, or does so now.
    pub fn is_closed(&mut self) -> bool {
        self.0.packet().is_err()
    }
}

/// File and position that the server is at.
pub fn status(server: &Server) -> Result<(String, u32)> {
    let (file, position) = binlog_end(&mut server.connect()?)?;
    Ok((file, position.try_into()?))
}

/// The bytes of a file of the binlog, as of a closed one: up to this offset.
pub fn file(server: &Server, name: &str, end: u32) -> Result<Vec<u8>> {
    let mut bytes = std::fs::read(server.datadir().join(name))?;
    bytes.truncate(end as usize);
    if let Some(flags) = bytes.get_mut(4 + 17) {
        *flags &= !1;
    }
    Ok(bytes)
}

/// Waits until a dump's entry of the process list is as `wanted`.
pub fn wait_for_process(server: &Server, wanted: impl Fn(&[(u64, String, String)]) -> bool) -> Result<()> {
    let mut conn = server.connect()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let rows: Vec<mysql::Row> = conn.query("SHOW PROCESSLIST")?;
        let cell = |row: &mysql::Row, at| row.get::<Option<String>, _>(at).flatten().unwrap_or_default();
        let dumps: Vec<(u64, String, String)> = rows
            .iter()
            .map(|row| (row.get(0).unwrap_or_default(), cell(row, 4), cell(row, 6)))
            .filter(|(_, command, _)| command.starts_with("Binlog Dump") || command == "Killed")
            .collect();
        if wanted(&dumps) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the dumps are {dumps:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
