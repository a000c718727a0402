//! One connection: a thread that logs a client in, reads its commands and answers them.
//!
//! Outline: [`run`] is the thread's whole life. [`login`] lets the client in; [`commands`] dispatches
//! what it sends; [`results`] encodes rows; [`handover`] gives the OK of a commit to whoever finishes
//! the commit. [`environment`], [`variables`] and [`show`] are what statements see of the server.
//!
//! Invariants
//! 1. Packets go out in the order of the commands: before a command is executed, the reply of the one
//!    before has been sent ([`handover::Handover::wait`]).
//! 2. Whatever way the thread ends, its transaction is rolled back and its entry in the process list
//!    is gone.
//! 3. A panic in a statement ends its connection only. A panic in the commit path ends the process:
//!    other sessions may wait for what it left undone.
//!
//! Concurrency: a session blocks only its own thread: in reads and writes of its socket, in row lock
//! waits, in commits of its own that it must wait for.

pub mod commands;
pub mod connection;
pub mod environment;
pub mod errors;
pub mod handover;
pub mod login;
pub mod password_key;
pub mod results;
pub mod show;
pub mod variables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cohort_sql::error::{
    ER_CLIENT_INTERACTION_TIMEOUT, ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER, ER_NET_READ_INTERRUPTED,
};
use cohort_sql::session::SessionState;
use cohort_sql::{Database, SqlError};

use crate::operator_log;
use crate::processlist::Process;
use crate::protocol::constants::{capability, status};
use crate::protocol::packet::ReadPacketError;
use crate::protocol::reply::OkFields;
use crate::server::Server;
use crate::socket::Socket;
use crate::status::{count, uncount};
use commands::{Next, Session};
use connection::{Input, Output};
use environment::SessionEnvironment;
use handover::Handover;
use login::{LoginExchange, LoginFailure};

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

/// Serves one client to its end. The body of a connection's thread.
pub fn run(admitted: Admitted) {
    let Admitted { server, socket, process, state } = admitted;
    let id = process.id;
    let serve = || serve(&server, &socket, process, state);
    if catch_unwind(AssertUnwindSafe(serve)).is_err() {
        // The panic's message and place are already on standard error.
        count(&server.counters.panics);
        operator_log::error(format_args!(
            "connection {id} ended by a defect of the server; its transaction was rolled back"
        ));
    }
    socket.close_output();
    uncount(&server.counters.threads_connected);
    server.processes.leave(id);
}

fn serve(server: &Arc<Server>, socket: &Arc<Socket>, process: Arc<Process>, mut state: SessionState) {
    let mut input = Input::new(socket.clone(), server.counters.clone());
    let mut output = Output::new(socket.clone(), server.counters.clone());
    let environment = SessionEnvironment::new(server.clone(), process);
    match log_in(server, socket, &environment, &mut input, &mut output, &mut state) {
        Ok(()) => {}
        Err(failure) => {
            count(&server.counters.aborted_connects);
            if let LoginFailure::Refused(error) = failure {
                output.error(&error);
                // The client may already be gone, which is no news then.
                let _ = output.flush();
            }
            return;
        }
    }
    let handover = Handover::new(socket.clone(), server.counters.clone());
    let mut session = Session::new(server.clone(), environment, state, output, handover);
    let orderly = serve_commands(socket, &mut input, &mut session);
    session.end();
    if !orderly {
        count(&server.counters.aborted_clients);
    }
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
    let timeout = Duration::from_secs(server.globals.int("connect_timeout"));
    let gone = |_| LoginFailure::Gone;
    socket.set_read_timeout(timeout).map_err(gone)?;
    socket.set_write_timeout(timeout).map_err(gone)?;
    input.set_deadline(Some(Instant::now() + timeout));
    let mut exchange = LoginExchange { server, input, output, peer: socket.peer() };
    let (login, identity) = exchange.handshake(environment.process.id, status::AUTOCOMMIT)?;
    input.set_deadline(None);
    environment.begin(state, identity, login.collation);
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

/// Makes the database that a packet names the default one.
fn use_database(database: &Database, state: &mut SessionState, name: &[u8]) -> Result<(), SqlError> {
    database.use_database(state, &String::from_utf8_lossy(name))
}

/// Reads and executes until the client leaves, or must: false if that was not in order.
fn serve_commands(socket: &Socket, input: &mut Input, session: &mut Session) -> bool {
    let mut idle = IdleClock::default();
    loop {
        if session.environment.take_settings_changed() {
            session.refresh();
            if idle.set(socket, &session.environment).is_err() {
                return false;
            }
        }
        let command = input.command(session.max_packet());
        // A killed session takes no command, not even one that arrived at the same moment.
        if session.environment.process.is_killed() {
            session.handover.wait();
            return false;
        }
        match command {
            Ok([]) => {
                session.refuse(input.sequence(), &SqlError::new(cohort_sql::error::ER_UNKNOWN_COM_ERROR, &[]));
            }
            Ok(payload) => {
                // The packet is one sequence number long unless it has parts.
                let sequence = (payload.len() / crate::protocol::packet::PART_LEN + 1) as u8;
                session.handover.wait();
                idle.reset();
                match session.execute(sequence, payload) {
                    Next::Command => {}
                    Next::ChangeUser(login) => {
                        if !session.change_user(input, socket, &login) {
                            return false;
                        }
                    }
                    Next::Quit => return true,
                    Next::Close => return false,
                }
            }
            Err(ReadPacketError::TimedOut { started: false }) if !idle.is_over() => {}
            Err(error) => {
                session.handover.wait();
                return leave(input, session, error);
            }
        }
    }
}

/// No further command can be read: says why, where there is somebody to hear it.
fn leave(input: &mut Input, session: &mut Session, error: ReadPacketError) -> bool {
    let sequence = input.sequence().wrapping_add(1);
    match error {
        ReadPacketError::Closed | ReadPacketError::Truncated | ReadPacketError::Io(_) => {}
        ReadPacketError::TimedOut { started: true } => {
            session.refuse(sequence, &SqlError::new(ER_NET_READ_INTERRUPTED, &[]));
        }
        ReadPacketError::TimedOut { started: false } => {
            session.refuse(0, &SqlError::new(ER_CLIENT_INTERACTION_TIMEOUT, &[]));
        }
        ReadPacketError::OutOfOrder { .. } => {
            session.refuse(sequence, &SqlError::new(ER_NET_PACKETS_OUT_OF_ORDER, &[]));
        }
        ReadPacketError::TooLarge { unread, more } => {
            input.drain(unread, more);
            session.refuse(sequence, &SqlError::new(ER_NET_PACKET_TOO_LARGE, &[]));
        }
    }
    false
}

/// How long a connection has been idle, in ticks of its read time-out: no clock is read per command.
#[derive(Default)]
struct IdleClock {
    tick: Duration,
    write: Duration,
    limit: Duration,
    idle: Duration,
}

impl IdleClock {
    /// Takes over the session's time-outs.
    fn set(&mut self, socket: &Socket, environment: &SessionEnvironment) -> std::io::Result<()> {
        let seconds = |name| Duration::from_secs(environment.int(name));
        self.limit = seconds("wait_timeout");
        let (tick, write) = (seconds("net_read_timeout").min(self.limit), seconds("net_write_timeout"));
        if (tick, write) != (self.tick, self.write) {
            socket.set_read_timeout(tick)?;
            socket.set_write_timeout(write)?;
        }
        (self.tick, self.write) = (tick, write);
        Ok(())
    }

    fn reset(&mut self) {
        self.idle = Duration::ZERO;
    }

    /// One more tick has passed without a command: whether that was the last.
    fn is_over(&mut self) -> bool {
        self.idle += self.tick;
        self.idle >= self.limit
    }
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
