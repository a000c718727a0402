//! One connection: logged in by a thread of its own, then served by the workers of the pool.
//!
//! Outline: [`run`] is the login thread's whole life; [`login`] lets the client in. From then on
//! [`Connection::serve`] executes whatever has arrived, on the worker that heard of it: [`commands`]
//! dispatches, [`results`] encodes rows, [`handover`] gives the OK of a commit to whoever finishes the
//! commit; [`dump`] sends the binlog. [`environment`], [`variables`] and [`show`] are what statements see of the server.
//!
//! Invariants
//! 1. Packets go out in the order of the commands: a command begins when the outcome of the one before is
//!    known, and nothing of its answer is written before that one's reply is out ([`handover`]). An answer that rests
//!    on a version in flight goes out when that version is durable ([`connection`]).
//! 2. Whatever way a connection ends, its transaction is rolled back and its entry in the process list
//!    is gone ([`Presence`]).
//! 3. A panic in a statement ends its connection only. A panic in the commit path ends the process:
//!    other sessions may wait for what it left undone.
//!
//! Concurrency: one thread at a time serves a connection. It blocks where its statement does: in row lock
//! waits, in commits that must be waited for, in writes that its client is slow to take. In each of these
//! the pool runs another worker instead ([`cohort_txn::blocking_hook`]).

pub mod commands;
pub mod connection;
pub mod dump;
pub mod environment;
pub mod errors;
pub mod handover;
pub mod login;
pub mod password_key;
pub mod results;
pub mod show;
mod statement_place;
pub mod variables;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cohort_io::scheduling::give_way;
use cohort_sql::collation::Collation;
use cohort_sql::error::{
    ER_CLIENT_INTERACTION_TIMEOUT, ER_CON_COUNT_ERROR, ER_GLOBAL_CONN_LIMIT, ER_MUST_CHANGE_PASSWORD_LOGIN,
    ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER, ER_NET_READ_INTERRUPTED,
};
use cohort_sql::privilege::{Privilege, PrivilegeSet};
use cohort_sql::session::SessionState;
use cohort_sql::{Database, SqlError};

use crate::processlist::{IdleLimits, Overdue, Process};
use crate::protocol::constants::{capability, status};
use crate::protocol::packet::ReadPacketError;
use crate::protocol::replication::DumpRequest;
use crate::protocol::reply::OkFields;
use crate::server::Server;
use crate::socket::Socket;
use crate::status::{Tally, count, uncount};
use crate::sysvars::ids;
use commands::{Next, Session};
use connection::{Input, Output};
use environment::SessionEnvironment;
use handover::Handover;
use login::{LoginExchange, LoginFailure};

/// So much more of a packet, bytes, gives its sender another `net_read_timeout`.
const PROGRESS: usize = 16 << 10;

/// A connection that has been admitted, not yet greeted.
pub struct Admitted {
    /// The server.
    pub server: Arc<Server>,
    /// The client's socket.
    pub socket: Arc<Socket>,
    /// Its entry in the process list.
    pub process: Arc<Process>,
    /// What its statements will see.
    pub state: SessionState,
}

/// Logs one client in and gives it to the pool. The body of a login thread, which gives way to those that serve clients
/// who have logged in, and so serves none.
pub fn run(admitted: Admitted) {
    give_way(None);
    let Admitted { server, socket, process, state } = admitted;
    let presence = Presence { server: server.clone(), socket, process };
    let id = presence.process.id;
    match catch_unwind(AssertUnwindSafe(|| Connection::log_in(presence, state))) {
        Ok(None) => count(&server.counters.aborted_connects),
        Ok(Some(connection)) => {
            if let Err(error) = server.pool.adopt(connection) {
                count(&server.counters.internal_errors);
                log::warn!("connection {id} cannot be served: {error}");
            }
        }
        Err(_) => {
            count(&server.counters.panics);
            log::error!("connection {id} ended by a defect of the server while it logged in");
        }
    }
}

/// That a client is there: ends with its connection, in whatever way that ends.
struct Presence {
    server: Arc<Server>,
    socket: Arc<Socket>,
    process: Arc<Process>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.socket.close_output();
        if self.process.is_logged_in() {
            let Server { audit, counters, .. } = &*self.server;
            audit.event(counters, "disconnect", || serde_json::json!({ "connection": self.process.id }));
        }
        uncount(&self.server.counters.threads_connected);
        self.server.replicas.leave(self.process.id);
        self.server.processes.leave(self.process.id);
    }
}

/// What has become of a connection that was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Everything that has arrived is executed, and it was this many commands.
    Commands(u64),
    /// It is to read the binlog, on a thread of its own ([`Connection::start_dump`]).
    Dumps,
    /// It has ended.
    Ended,
}

/// A client that has logged in.
pub struct Connection {
    input: Input,
    session: Session,
    /// Part of a command has arrived: how many bytes when its time-out began.
    receives: Option<usize>,
    /// The dump that it was asked for, with the number of the first packet.
    dump: Option<(Box<DumpRequest>, u8)>,
    /// Last: the process list is left when the transaction is rolled back.
    presence: Presence,
}

impl Connection {
    /// Lets a client in; None if that failed, which has been reported to it.
    fn log_in(presence: Presence, mut state: SessionState) -> Option<Connection> {
        let (server, socket) = (presence.server.clone(), presence.socket.clone());
        let tally = Arc::new(Tally::new(server.counters.clone()));
        let mut input = Input::new(socket.clone(), tally.clone(), server.memory.clone());
        let handover = Handover::new(socket.clone(), tally.clone());
        presence.process.set_handover(handover.clone());
        let mut output = Output::new(
            socket.clone(),
            tally.clone(),
            handover.clone(),
            server.database.store().clone(),
            state.rests_on().clone(),
        );
        let environment = SessionEnvironment::new(server.clone(), presence.process.clone(), tally);
        if let Err(failure) = log_in(&server, &socket, &environment, &mut input, &mut output, &mut state) {
            if failure.is_handshake() {
                server.hosts.count_broken_off(socket.peer(), &server.globals);
            }
            if let Some(error) = failure.error() {
                output.error(error);
                // The client may already be gone, which is no news then.
                let _ = output.flush();
            }
            return None;
        }
        socket.log_in();
        let session = Session::new(server, environment, state, output, handover);
        let mut connection = Connection { input, session, receives: None, dump: None, presence };
        connection.take_settings().then_some(connection)
    }

    /// Whether there may be input that its socket does not report.
    pub fn has_input(&self) -> bool {
        !self.input.is_drained()
    }

    /// Acts upon settings that have changed; false if the connection is gone.
    fn take_settings(&mut self) -> bool {
        if !self.session.environment.take_settings_changed() {
            return true;
        }
        self.session.refresh();
        set_limits(&self.presence.socket, &self.session.environment).is_ok()
    }

    /// CONNECTION_ID()
    pub fn id(&self) -> u32 {
        self.presence.process.id
    }

    /// The client's socket.
    pub fn socket(&self) -> &Arc<Socket> {
        &self.presence.socket
    }

    /// Reads and executes the commands that have arrived. After [`Served::Ended`] the connection is only
    /// good for being dropped; `to_the_end` says that the client has sent its last byte.
    pub fn serve(&mut self, to_the_end: bool) -> Served {
        let mut commands = 0;
        loop {
            let orderly = match self.next_command() {
                Flow::Next => {
                    commands += 1;
                    // Changed settings hold from now on, not from the next command on.
                    let changed = self.session.environment.settings_have_changed();
                    if !changed && !to_the_end && self.input.is_drained() {
                        return Served::Commands(commands);
                    }
                    continue;
                }
                Flow::Nothing => return Served::Commands(commands),
                Flow::Dump => return Served::Dumps,
                Flow::End { orderly } => orderly,
            };
            self.session.end();
            if !orderly {
                count(&self.presence.server.counters.aborted_clients);
            }
            return Served::Ended;
        }
    }

    fn next_command(&mut self) -> Flow {
        if !self.take_settings() {
            return Flow::End { orderly: false };
        }
        let Connection { input, session, receives, dump, presence } = self;
        let (socket, process) = (&presence.socket, &presence.process);
        let command = input.command(session.max_packet());
        // A killed session takes no command, not even one that arrived at the same moment.
        if process.is_killed() {
            return Flow::End { orderly: false };
        }
        if command.is_ok() && receives.take().is_some() {
            process.set_receives(false);
        }
        match command {
            Ok([]) => {
                if !session.refuse(input.sequence(), &SqlError::new(cohort_sql::error::ER_UNKNOWN_COM_ERROR, &[])) {
                    return Flow::End { orderly: false };
                }
            }
            Ok(payload) => {
                // The packet is one sequence number long unless it has parts.
                let sequence = (payload.len() / crate::protocol::packet::PART_LEN + 1) as u8;
                session.handover.wait_for_outcome();
                match session.execute(sequence, payload) {
                    Next::Command => {}
                    Next::ChangeUser(login) => {
                        if !session.change_user(input, socket, &login) {
                            return Flow::End { orderly: false };
                        }
                    }
                    Next::Dump(request) => {
                        *dump = Some((request, sequence));
                        return Flow::Dump;
                    }
                    Next::Quit => return Flow::End { orderly: true },
                    Next::Close => return Flow::End { orderly: false },
                }
                input.end_command();
            }
            Err(ReadPacketError::TimedOut { started: false }) => return Flow::Nothing,
            Err(ReadPacketError::TimedOut { started: true }) => {
                let received = input.received();
                if receives.is_none_or(|before| received >= before + PROGRESS) {
                    *receives = Some(received);
                    process.set_receives(true);
                }
                return Flow::Nothing;
            }
            Err(error) => {
                say_farewell(input, session, error, process.overdue());
                return Flow::End { orderly: false };
            }
        }
        Flow::Next
    }
}

/// How a connection goes on.
enum Flow {
    /// With its next command.
    Next,
    /// When there is more to read.
    Nothing,
    /// With a dump.
    Dump,
    /// Not at all.
    End {
        /// The client has said goodbye.
        orderly: bool,
    },
}

/// Greeting, authentication, default database, OK.
fn log_in(
    server: &Server,
    socket: &Socket,
    environment: &SessionEnvironment,
    input: &mut Input,
    output: &mut Output,
    state: &mut SessionState,
) -> Result<(), LoginFailure> {
    let timeout = Duration::from_secs(server.globals.get(ids::CONNECT_TIMEOUT));
    socket.set_write_timeout(timeout).map_err(|_| LoginFailure::Gone)?;
    let deadline = Instant::now() + timeout;
    let connection = environment.process.id;
    let mut exchange = LoginExchange { server, input, output, socket, connection, deadline };
    let (login, identity) = exchange.handshake(status::AUTOCOMMIT)?;
    server.hosts.count_success(socket.peer());
    environment.begin(state, identity, Collation::of_client(login.collation));
    let admitted = check_expired(server, state, login.has(capability::CAN_HANDLE_EXPIRED_PASSWORDS));
    if let Err(error) = admitted.and_then(|()| environment.take_place()) {
        environment.audit_connect(error.errno);
        return Err(error.into());
    }
    // One place more is kept for administrators than `max_connections` says.
    let any = PrivilegeSet::of(&[Privilege::Super, Privilege::ConnectionAdmin]);
    let one_more = usize::from(state.holder.grants.global().has_any(any));
    let places = server.globals.get(ids::MAX_CONNECTIONS) as usize + one_more;
    if !server.processes.take_place(&environment.process, places) {
        count(&server.counters.refused_max_connections);
        environment.audit_connect(ER_CON_COUNT_ERROR.errno);
        return Err(SqlError::new(ER_CON_COUNT_ERROR, &[]).into());
    }
    environment.audit_connect(0);
    environment.set_tracks_changes(login.has(capability::SESSION_TRACK));
    state.client_found_rows = login.has(capability::FOUND_ROWS);
    if let Some(database) = &login.database {
        use_database(&server.database, state, database)?;
    }
    if login.has(capability::INTERACTIVE) {
        environment.use_interactive_timeout();
    }
    output.ok(&OkFields { status: status::AUTOCOMMIT, ..OkFields::default() });
    output.flush()?;
    Ok(())
}

/// Error 1862 for a client whose password has expired and that `can_change` none.
fn check_expired(server: &Server, state: &SessionState, can_change: bool) -> Result<(), SqlError> {
    let refuses = !can_change && server.globals.get(ids::DISCONNECT_ON_EXPIRED_PASSWORD);
    match state.holder.must_change_password && refuses {
        true => Err(SqlError::new(ER_MUST_CHANGE_PASSWORD_LOGIN, &[])),
        false => Ok(()),
    }
}

/// Makes the database that a packet names the default one.
fn use_database(database: &Database, state: &mut SessionState, name: &[u8]) -> Result<(), SqlError> {
    let name = state.client.charset().decode_statement(name);
    database.use_database(state, &String::from_utf8_lossy(&name))
}

/// No further command can be read: says why, where there is somebody to hear it.
fn say_farewell(input: &mut Input, session: &mut Session, error: ReadPacketError, overdue: Option<Overdue>) {
    let sequence = input.sequence().wrapping_add(1);
    let (sequence, why) = match (error, overdue) {
        (ReadPacketError::OutOfOrder { .. }, _) => (sequence, ER_NET_PACKETS_OUT_OF_ORDER),
        (ReadPacketError::NoMemory, _) => (sequence, ER_GLOBAL_CONN_LIMIT),
        (ReadPacketError::TooLarge { unread, more }, _) => {
            let patience = Duration::from_secs(session.environment.get(ids::NET_READ_TIMEOUT));
            input.drain(unread, more, Instant::now() + patience);
            (sequence, ER_NET_PACKET_TOO_LARGE)
        }
        (_, Some(Overdue::Rest)) => (sequence, ER_NET_READ_INTERRUPTED),
        (_, Some(Overdue::Command)) => (0, ER_CLIENT_INTERACTION_TIMEOUT),
        (_, None) => return,
    };
    // A client that is gone needs no error.
    let memory = &session.environment.server.memory;
    let _ = session.refuse(sequence, &SqlError::new(why, &[&memory.limit.load(Ordering::Relaxed), &memory.used()]));
}

/// Takes over the session's time-outs.
fn set_limits(socket: &Socket, environment: &SessionEnvironment) -> io::Result<()> {
    let seconds = |id| Duration::from_secs(environment.get(id));
    let limits = IdleLimits { command: seconds(ids::WAIT_TIMEOUT), read: seconds(ids::NET_READ_TIMEOUT) };
    environment.process.set_limits(limits);
    socket.set_write_timeout(seconds(ids::NET_WRITE_TIMEOUT))
}

/// Counts a thread that executes something for as long as it lives.
struct Running<'a>(&'a Server);

impl<'a> Running<'a> {
    fn new(server: &'a Server) -> Running<'a> {
        server.counters.threads_running.fetch_add(1, Ordering::Relaxed);
        Running(server)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        uncount(&self.0.counters.threads_running);
    }
}
