//! A connection that reads the binlog, as a replica or a tool that asked for it (COM_BINLOG_DUMP).
//!
//! Outline: such a connection leaves the pool ([why](../../../docs/decisions/0018-binlog-readers.md)); [`Connection::start_dump`] gives
//! it a thread. There [`Session::dump`] finds out what the reader knows, finds its place in the binlog, and sends events until
//! the reader goes, is killed, or, if it asked for that, has everything.
//!
//! What a reader gets, as MySQL sends it: before each file an artificial ROTATE event with its name, then the events of the
//! file as they stand there. One that begins within a file gets the file's format description first, made artificial.
//! Transactions of a reader's GTID set are left out; a heartbeat moves its position over them.
//!
//! Invariants
//! 1. Nothing is sent that a crash could take back: events come from a [`Follower`].
//! 2. A reader that does not read is given up after `net_write_timeout`; no commit waits for one.
//! 3. A kill is noticed within a wait, a write or 128 KiB of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cohort_binlog::{
    BinlogFiles, BinlogPosition, EventType, FollowError, Followed, Follower, GtidSet, ReadError, artificial_rotate,
    format_description_for_reader, gtid_of_event, header_of_event, heartbeat,
};
use cohort_io::sync::Mutex;
use cohort_sql::error::{ER_CANT_CREATE_THREAD, ER_MASTER_FATAL_ERROR_READING_BINLOG};
use cohort_sql::{SqlError, Value};
use cohort_txn::GtidMode;

mod acking;

use super::Connection;
use super::commands::Session;
use super::connection::Input;
use crate::processlist::Process;
use crate::protocol::packet::PacketBuffer;
use crate::protocol::replication::{DUMP_NON_BLOCK, DumpRequest, SEMI_SYNC_MAGIC};
use crate::server::Server;
use crate::socket::Socket;
use crate::status::{add, count};
use acking::AckingReplica;

/// So many bytes are sent together, if there are as many.
const SEND_BYTES: usize = 128 << 10;
/// How often an idle reader's socket is asked whether the client has gone.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Where the first event of a file begins.
const FIRST_EVENT: u64 = 4;
/// Of a GTID set in an error, bytes.
const SHOWN_SET_BYTES: usize = 100;

const SENDING: &str = "Sending binlog event to replica";
const SWITCHING: &str = "Finished reading one binlog; switching to next binlog";
const UP_TO_DATE: &str = "Source has sent all binlog to replica; waiting for more updates";

impl Connection {
    /// Serves the dump that it was asked for, on a thread of its own.
    pub fn start_dump(self) {
        let (id, server) = (self.id(), self.presence.server.clone());
        // The thread takes it, or this one if there is no thread.
        let held = Arc::new(Mutex::new(Some(self)));
        let take = {
            let held = held.clone();
            move || held.lock().take()
        };
        let spawned = std::thread::Builder::new().name(format!("dump-{id}")).spawn({
            let take = take.clone();
            move || take().map(Connection::dump)
        });
        if let Err(error) = spawned
            && let Some(mut connection) = take()
        {
            count(&server.counters.internal_errors);
            connection.session.refuse(1, &SqlError::new(ER_CANT_CREATE_THREAD, &[&error]));
        }
    }

    fn dump(mut self) {
        let Connection { session, presence, dump, input, .. } = &mut self;
        session.end();
        if let Some((request, sequence)) = dump.take() {
            session.dump(&request, sequence, input, &presence.server, &presence.socket);
        }
    }
}

/// How a dump ends.
enum End {
    /// The reader has everything, or somebody else wants it to end.
    InOrder,
    /// The client is gone, or does not read.
    Gone,
    Fatal(SqlError),
}

impl From<SqlError> for End {
    fn from(error: SqlError) -> End {
        End::Fatal(error)
    }
}

/// What a reader knows of checksums: its `@source_binlog_checksum`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checksums {
    Unknown,
    Known { of_first_event: bool },
}

impl Session {
    /// The value of the user variable that a replica has set to say `what` of itself, under its new name or its old one.
    fn variable_of_replica(&self, what: &str) -> Value {
        let [new, old] = match what {
            "semi_sync" => ["rpl_semi_sync_replica", "rpl_semi_sync_slave"],
            "uuid" => ["replica_uuid", "slave_uuid"],
            "binlog_checksum" => ["source_binlog_checksum", "master_binlog_checksum"],
            "heartbeat_period" => ["source_heartbeat_period", "master_heartbeat_period"],
            other => unreachable!("replicas set no @source_{other}"),
        };
        match self.state().user_variable(new) {
            Value::Null => self.state().user_variable(old),
            value => value,
        }
    }

    /// What a replica has said to be its `server_uuid`; empty if nothing.
    pub(super) fn replica_uuid(&self) -> String {
        match self.variable_of_replica("uuid") {
            Value::Null => String::new(),
            uuid => uuid.to_string(),
        }
    }

    fn dump(&mut self, request: &DumpRequest, sequence: u8, input: &mut Input, server: &Server, socket: &Socket) {
        let process = self.environment.process.clone();
        let command = if request.gtids.is_some() { "Binlog Dump GTID" } else { "Binlog Dump" };
        process.begin(command, SENDING, b"");
        let store = server.database.store().clone();
        process.set_wake(move || store.binlog().tail().wake());
        let uuid = self.replica_uuid();
        let replaced = server.replicas.begin_dump(&process, request.server_id, &uuid);
        let acknowledges = self.variable_of_replica("semi_sync").to_string() == "1";
        let acking = acknowledges.then(|| AckingReplica::join(server.store().binlog()));
        let mut sender = Sender {
            server,
            process: &process,
            socket,
            files: server.store().binlog(),
            packets: PacketBuffer::default(),
            checksums: self.checksums(),
            heartbeat: self.heartbeat_period(),
            non_blocking: request.flags & DUMP_NON_BLOCK != 0,
            source_id: server.store().server_id(),
            by_gtid: request.gtids.is_some(),
            known: GtidSet::new(),
            excluded: false,
            excluded_to: None,
            file: String::new(),
            first: (String::new(), 0),
            last: 0,
            sent: Instant::now(),
            replaced,
            acking: acking.as_ref(),
            wants_ack: None,
        };
        sender.packets.set_sequence(sequence);
        let id = process.id;
        log::info!(
            "connection {id}: binlog dump to replica {} ({uuid}) from {}:{}{}",
            request.server_id,
            request.file,
            request.offset,
            if request.gtids.is_some() { ", by GTID" } else { "" }
        );
        let end = std::thread::scope(|scope| {
            let reads = acking.as_ref().map(|replica| {
                let reads = move || replica.read(input, socket);
                std::thread::Builder::new().name(format!("acks-{id}")).spawn_scoped(scope, reads)
            });
            let end = match reads {
                Some(Err(error)) => End::Fatal(SqlError::new(ER_CANT_CREATE_THREAD, &[&error])),
                _ => sender.run(request),
            };
            // It waits for input.
            socket.close_input();
            end
        });
        let sequence = sender.packets.sequence();
        match end {
            End::InOrder => self.end_dump(sequence, None),
            End::Fatal(error) => {
                log::warn!("connection {id}: binlog dump ended: {}", error.message);
                self.end_dump(sequence, Some(&error));
            }
            End::Gone => count(&server.counters.aborted_clients),
        }
    }

    fn checksums(&self) -> Checksums {
        match self.variable_of_replica("binlog_checksum") {
            Value::Null => Checksums::Unknown,
            value => Checksums::Known { of_first_event: value.to_string().eq_ignore_ascii_case("CRC32") },
        }
    }

    /// Nanoseconds, if it is set and not 0.
    fn heartbeat_period(&self) -> Option<Duration> {
        let nanoseconds: f64 = self.variable_of_replica("heartbeat_period").to_string().parse().ok()?;
        (nanoseconds >= 1.0).then(|| Duration::from_nanos(nanoseconds as u64))
    }
}

/// A dump on its way.
struct Sender<'a> {
    server: &'a Server,
    process: &'a Process,
    socket: &'a Socket,
    files: &'a BinlogFiles,
    packets: PacketBuffer,
    checksums: Checksums,
    heartbeat: Option<Duration>,
    non_blocking: bool,
    source_id: u32,
    /// The reader has said which transactions it has.
    by_gtid: bool,
    /// Those.
    known: GtidSet,
    /// The event's transaction is one of them.
    excluded: bool,
    /// The reader does not know yet that the binlog has come to here.
    excluded_to: Option<u64>,
    /// The present file.
    file: String,
    /// Where the dump began, for errors.
    first: (String, u64),
    /// Where the last event ended.
    last: u64,
    /// When something was sent last.
    sent: Instant,
    /// The same replica has begun another dump.
    replaced: Arc<AtomicBool>,
    /// The reader acknowledges what it gets.
    acking: Option<&'a AckingReplica<'a>>,
    /// Where the packet of the last event says whether it is to be acknowledged.
    wants_ack: Option<usize>,
}

impl<'a> Sender<'a> {
    fn run(&mut self, request: &DumpRequest) -> End {
        match self.dump(request) {
            Ok(()) => match self.flush() {
                Ok(()) => End::InOrder,
                Err(end) => end,
            },
            Err(End::Fatal(error)) => match self.flush() {
                Ok(()) => End::Fatal(error),
                Err(end) => end,
            },
            Err(end) => end,
        }
    }

    fn dump(&mut self, request: &DumpRequest) -> Result<(), End> {
        let mut follower = self.find(request)?;
        let begin = follower.position();
        self.begin_file(begin, self.checksums == Checksums::Known { of_first_event: true });
        self.first = (self.file.clone(), begin.offset);
        self.last = begin.offset;
        self.acking.into_iter().for_each(|replica| replica.has(begin));
        if self.checksums == Checksums::Unknown {
            let what = "Replica can not handle replication events with the checksum that source is configured to log";
            return Err(fatal(what).into());
        }
        if begin.offset > FIRST_EVENT {
            let mut start = self.follow(BinlogPosition { offset: FIRST_EVENT, ..begin })?;
            if let Followed::Event { bytes, .. } = start.next().map_err(|error| self.unreadable(&error))? {
                self.put(&format_description_for_reader(bytes, true));
            }
        }
        loop {
            if self.has_ended() {
                return self.ended();
            }
            match follower.next() {
                Ok(Followed::Event { offset, bytes }) => self.event(offset, bytes)?,
                Ok(Followed::NextFile) => {
                    self.process.set_state(SWITCHING);
                    self.begin_file(follower.position(), true);
                    self.process.set_state(SENDING);
                }
                Ok(Followed::Known(to)) => {
                    self.last = to;
                    self.excluded_to = Some(to);
                }
                Ok(Followed::UpToDate) => {
                    if self.excluded_to.is_some() {
                        self.catch_up_with_excluded();
                        self.acking.into_iter().for_each(|replica| replica.has(follower.position()));
                    }
                    self.flush_to(follower.position())?;
                    if self.non_blocking {
                        return Ok(());
                    }
                    self.wait(&follower)?;
                }
                Err(error) => return Err(self.unreadable(&error).into()),
            }
            if self.packets.len() >= SEND_BYTES {
                self.flush_to(follower.position())?;
            }
        }
    }

    /// Finds the reader's place in the binlog, or says why there is none.
    fn find(&mut self, request: &DumpRequest) -> Result<Follower<'a>, SqlError> {
        if !self.server.store().log_bin() {
            return Err(fatal("Binary log is not open"));
        }
        if let Some(set) = &request.gtids {
            if self.gtid_mode() == GtidMode::Off {
                let what = "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = OFF \
                            instead of ON.";
                return Err(fatal(what));
            }
            self.known = GtidSet::decode(set).map_err(|_| fatal("The GTID set of the replica is malformed"))?;
            self.check_history()?;
            if request.file.is_empty() {
                return self.files.follow_after(&self.known).map_err(|error| self.no_place(error));
            }
        }
        let number = match request.file.as_str() {
            "" => self.files.list().first().map(|file| file.number),
            // Some readers name it as the index does.
            name => self.files.number_of(name.strip_prefix("./").unwrap_or(name)),
        };
        let number = number.ok_or_else(|| self.no_place(FollowError::UnknownFile))?;
        self.follow(BinlogPosition { file_number: number, offset: request.offset })
    }

    fn follow(&self, at: BinlogPosition) -> Result<Follower<'a>, SqlError> {
        self.files.follow(at).map_err(|error| self.no_place(error))
    }

    /// A reader cannot have transactions of this server that this server has not.
    fn check_history(&self) -> Result<(), SqlError> {
        let uuid = self.server.store().server_uuid();
        let ours = self.known.of_server(uuid);
        if ours.is_subset(&self.server.store().executed().1) {
            return Ok(());
        }
        // Readers get a transaction before it counts as executed here.
        let written = self.files.executed_gtids().map_err(|error| self.unreadable(&error))?;
        if ours.is_subset(&written) {
            return Ok(());
        }
        Err(fatal(
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID. This may indicate that the end of \
             the binary log was truncated or that the last binary log file was lost, e.g., after a power or disk failure when \
             sync_binlog != 1. The source may or may not have rolled back transactions that were already replicated to the \
             replica. Suggest to replicate any transactions that source has rolled back from replica to source, and/or commit \
             empty transactions on source to account for transactions that have been committed on source but are not included \
             in GTID_EXECUTED.",
        ))
    }

    fn no_place(&self, error: FollowError) -> SqlError {
        let first = self.files.list().into_iter().next();
        let available = first.map_or_else(String::new, |file| {
            let purged = self.files.purged_gtids().unwrap_or_default();
            format!("; the first available file is '{}', and gtid_purged is '{}'", file.name, shown(&purged))
        });
        match error {
            FollowError::UnknownFile => {
                fatal(&format!("Could not find first log file name in binary log index file{available}"))
            }
            FollowError::Impossible => fatal("Client requested source to start replication from position < 4"),
            FollowError::BeyondEnd => fatal("Client requested source to start replication from position > file size"),
            FollowError::Purged(missing) => fatal(&format!(
                "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from \
                 elsewhere, or provision a new replica from backup. Consider increasing the source's binary log expiration \
                 period. The GTID set sent by the replica is '{}', and the missing transactions are '{}'{available}",
                shown(&self.known),
                shown(&missing)
            )),
            FollowError::Read(error) => self.unreadable(&error),
        }
    }

    fn unreadable(&self, error: &ReadError) -> SqlError {
        log::error!("connection {}: {error}", self.process.id);
        self.fatal_within(match error {
            ReadError::Io(_) => "I/O error reading log event",
            ReadError::CutOff { .. } => "binlog truncated in the middle of event; consider out of disk space on source",
            _ => "bogus data in log event",
        })
    }

    /// An error of a dump that has begun, which says how far it has come.
    fn fatal_within(&self, what: &str) -> SqlError {
        let (file, (first, begin), last) = (&self.file, &self.first, self.last);
        if first.is_empty() {
            return fatal(what);
        }
        fatal(&format!(
            "{what}; the first event '{first}' at {begin}, the last event read from '{file}' at {last}, the last byte read \
             from '{file}' at {last}."
        ))
    }

    /// Sends the name of the file that begins for the reader.
    fn begin_file(&mut self, at: BinlogPosition, with_checksum: bool) {
        self.catch_up_with_excluded();
        self.file = self.files.file_name(at.file_number);
        self.last = at.offset;
        let rotate = artificial_rotate(self.source_id, &self.file, at.offset, with_checksum);
        self.put(&rotate);
    }

    fn gtid_mode(&self) -> GtidMode {
        self.server.store().gtid_mode()
    }

    /// Why a reader does not get a transaction that begins with such an event: a source sends those of its own mode only.
    fn refusal(&self, event_type: EventType) -> Option<&'static str> {
        match (event_type, self.gtid_mode()) {
            (EventType::ANONYMOUS_GTID, _) if self.by_gtid => Some("anonymous transaction when AUTO_POSITION = 1"),
            (EventType::ANONYMOUS_GTID, GtidMode::On) => Some("anonymous transaction when @@GLOBAL.GTID_MODE = ON"),
            (EventType::GTID, GtidMode::Off) => Some("GTID-transaction when @@GLOBAL.GTID_MODE = OFF"),
            _ => None,
        }
    }

    fn event(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SqlError> {
        self.last += bytes.len() as u64;
        let event_type = header_of_event(bytes).event_type;
        if let Some(what) = self.refusal(event_type) {
            return Err(
                self.fatal_within(&format!("Cannot replicate {what}, at file {}, position {offset}.", self.file))
            );
        }
        if !self.known.is_empty() {
            match event_type {
                EventType::GTID => self.excluded = gtid_of_event(bytes).is_some_and(|gtid| self.known.contains(gtid)),
                EventType::FORMAT_DESCRIPTION | EventType::PREVIOUS_GTIDS | EventType::ROTATE => self.excluded = false,
                _ => {}
            }
            if self.excluded {
                self.excluded_to = Some(self.last);
                return Ok(());
            }
            self.catch_up_with_excluded();
        }
        let wants_ack = match event_type {
            EventType::FORMAT_DESCRIPTION => self.put(&format_description_for_reader(bytes, false)),
            _ => self.put(bytes),
        };
        self.wants_ack = self.acking.map(|_| wants_ack);
        Ok(())
    }

    /// Lets the reader know that what was left out is over.
    fn catch_up_with_excluded(&mut self) {
        if let Some(position) = self.excluded_to.take() {
            let beat = heartbeat(self.source_id, &self.file, position, true);
            self.put(&beat);
        }
    }

    /// Returns where the packet says whether it is to be acknowledged, if the reader does that.
    fn put(&mut self, event: &[u8]) -> usize {
        let payload = self.packets.begin();
        payload.push(0);
        let wants_ack = payload.len() + 1;
        if self.acking.is_some() {
            payload.extend_from_slice(&[SEMI_SYNC_MAGIC, 0]);
        }
        payload.extend_from_slice(event);
        self.packets.end();
        self.wants_ack = None;
        wants_ack
    }

    /// Sends what there is before `position`; the last event asks for an acknowledgement if there is nothing more.
    fn flush_to(&mut self, position: BinlogPosition) -> Result<(), End> {
        let asks = match (self.acking, self.wants_ack.take()) {
            (Some(replica), Some(at)) if replica.is_asked(position) => {
                self.packets.payload()[at] = 1;
                true
            }
            _ => false,
        };
        self.flush()?;
        if asks {
            // The acknowledgement has number 0.
            self.packets.set_sequence(1);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), End> {
        if self.packets.is_empty() {
            return Ok(());
        }
        add(&self.server.counters.bytes_sent, self.packets.len() as u64);
        let written = self.socket.write_all(self.packets.bytes());
        self.packets.clear();
        self.sent = Instant::now();
        written.map_err(|_| End::Gone)
    }

    /// Waits for more, with heartbeats. A reader that acknowledges what it gets has the events that are there by then;
    /// for others, for whom no commit waits, some may gather.
    fn wait(&mut self, follower: &Follower<'_>) -> Result<(), End> {
        self.process.set_state(UP_TO_DATE);
        if self.acking.is_none() {
            std::thread::sleep(self.files.tail().time_to_gather());
        }
        loop {
            let look = Instant::now() + LOOK_EVERY;
            let beat = self.heartbeat.and_then(|period| self.sent.checked_add(period));
            let more = follower.wait(beat.map_or(look, |beat| beat.min(look)), || self.has_ended());
            if more || self.has_ended() {
                self.process.set_state(SENDING);
                return Ok(());
            }
            if self.socket.wait_for_end(Duration::ZERO) && !self.has_ended() {
                return Err(End::Gone);
            }
            if beat.is_some_and(|beat| Instant::now() >= beat) {
                let beat = heartbeat(self.source_id, &self.file, follower.position().offset, true);
                self.put(&beat);
                self.flush()?;
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.process.is_killed() || self.process.is_interrupted()
    }

    /// The end that somebody else wants.
    fn ended(&self) -> Result<(), End> {
        if self.replaced.load(Ordering::SeqCst) {
            let what = "A replica with the same server_uuid/server_id as this replica has connected to the source";
            return Err(self.fatal_within(what).into());
        }
        Ok(())
    }
}

fn fatal(what: &str) -> SqlError {
    SqlError::new(ER_MASTER_FATAL_ERROR_READING_BINLOG, &[&what])
}

/// A set for a message, cut.
fn shown(set: &GtidSet) -> String {
    let text = set.to_string().replace('\n', "");
    match text.char_indices().nth(SHOWN_SET_BYTES) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
