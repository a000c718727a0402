//! The commands of a logged-in client.

mod connection;
mod prepared;
mod replication;
mod text;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cohort_sql::error::{ER_MALFORMED_PACKET, ER_UNKNOWN_COM_ERROR};
use cohort_sql::session::{Interrupt, SessionState};
use cohort_sql::types::{ResultType, SqlMode};
use cohort_sql::{SqlError, Value};

use super::Running;
use super::connection::Output;
use super::environment::SessionEnvironment;
use super::handover::Handover;
use crate::protocol::constants::{capability, command, status};
use crate::protocol::decode::Malformed;
use crate::protocol::handshake::Login;
use crate::protocol::replication::DumpRequest;
use crate::protocol::reply::{OkFields, put_gtids, put_schema_change};
use crate::server::Server;
use crate::sysvars::ids;
use prepared::Statement;

/// What follows a command.
pub enum Next {
    /// The next command.
    Command,
    /// The client wants to log in anew.
    ChangeUser(Box<Login>),
    /// The client wants the binlog, and nothing else from now on.
    Dump(Box<DumpRequest>),
    /// The client has said goodbye.
    Quit,
    /// The connection cannot go on.
    Close,
}

/// A logged-in client.
pub struct Session {
    server: Arc<Server>,
    /// What statements see of the server.
    pub environment: SessionEnvironment,
    state: SessionState,
    output: Output,
    /// The way of commit replies.
    pub handover: Arc<Handover>,
    interrupt: Arc<Interrupt>,
    statements: HashMap<u32, Statement>,
    last_statement_id: u32,
    /// Parameters of the running execution; kept for its memory.
    params: Vec<Value>,
    /// Column types of the running execution; kept for its memory.
    types: Vec<ResultType>,
    /// State changes for the next OK; kept for its memory.
    changes: Vec<u8>,
    /// The default database that process list and client know of.
    known_database: Option<Arc<str>>,
    /// Settings that every command needs.
    max_packet: usize,
    flush_at: usize,
    slow_from: Duration,
    multi_statements: bool,
}

impl Session {
    /// A session whose client has just logged in.
    pub fn new(
        server: Arc<Server>,
        environment: SessionEnvironment,
        state: SessionState,
        output: Output,
        handover: Arc<Handover>,
    ) -> Session {
        let mut session = Session {
            server,
            environment,
            interrupt: state.interrupt(),
            multi_statements: output.has(capability::MULTI_STATEMENTS),
            state,
            output,
            handover,
            statements: HashMap::new(),
            last_statement_id: 0,
            params: Vec::new(),
            types: Vec::new(),
            changes: Vec::new(),
            known_database: None,
            max_packet: 0,
            flush_at: 0,
            slow_from: Duration::MAX,
        };
        session.begin();
        session
    }

    /// Takes over the settings of a session that begins.
    fn begin(&mut self) {
        self.refresh();
        self.known_database.clone_from(&self.state.database);
        self.environment.process.set_database(self.state.database.clone());
        self.environment.process.end();
    }

    /// Takes over changed settings.
    pub fn refresh(&mut self) {
        self.max_packet = self.environment.get(ids::MAX_ALLOWED_PACKET) as usize;
        self.flush_at = self.environment.get(ids::NET_BUFFER_LENGTH) as usize;
        self.slow_from = Duration::from_secs_f64(self.environment.get(ids::LONG_QUERY_TIME));
    }

    /// The longest command the client may send, bytes.
    pub fn max_packet(&self) -> usize {
        self.max_packet
    }

    /// Answers with an error that belongs to no command; false if that cannot be written.
    pub fn refuse(&mut self, sequence: u8, error: &SqlError) -> bool {
        self.output.begin_reply(sequence);
        self.output.error(error);
        self.output.flush().is_ok()
    }

    /// What statements see of the session.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Answers a dump that has ended, from packet `sequence` on: with its error, or as rows end.
    pub fn end_dump(&mut self, sequence: u8, error: Option<&SqlError>) {
        self.output.begin_reply(sequence);
        match error {
            Some(error) => self.output.error(error),
            None => self.output.end_of_rows(&OkFields { status: status::AUTOCOMMIT, ..OkFields::default() }),
        }
        // A client that is gone needs no answer.
        let _ = self.output.flush();
    }

    /// Ends the session: rolls back, forgets its statements.
    pub fn end(&mut self) {
        self.handover.wait_for_send();
        self.state.end();
        self.statements.clear();
    }

    /// Executes one command and answers it. `sequence` is the number of the answer's first packet.
    pub fn execute(&mut self, sequence: u8, payload: &[u8]) -> Next {
        let server = self.server.clone();
        let _running = Running::new(&server);
        self.output.begin_reply(sequence);
        self.output.results = self.state.results;
        self.end_if_doomed();
        self.interrupt.reset();
        self.environment.follow_accounts(&mut self.state);
        // That may have been the kill of the connection.
        if self.environment.process.is_killed() {
            return Next::Close;
        }
        let (code, body) = payload.split_first().map_or((0, payload), |(code, body)| (*code, body));
        let next = self.dispatch(code, body);
        if matches!(next, Next::Command) {
            self.output.hold();
        }
        let flushed = self.send();
        let took = self.environment.process.end();
        if matches!(code, command::QUERY | command::STMT_EXECUTE | command::STMT_PREPARE) {
            self.environment.tally.question(took >= self.slow_from);
        }
        match (flushed, next) {
            (Err(_), _) => Next::Close,
            (Ok(()), _) if self.output.is_broken() => Next::Close,
            // What it received: a limit of memory ends the connection.
            (Ok(()), _) if self.state.memory.is_exceeded() && code != command::STMT_SEND_LONG_DATA => Next::Close,
            (Ok(()), next) => next,
        }
    }

    /// Sends what waits, or the error for which it cannot be sent; `Err` when the client is gone.
    fn send(&mut self) -> Result<(), SqlError> {
        let flushed = self.output.flush();
        match flushed {
            Err(error) if !self.output.is_broken() => {
                self.output.error(&error);
                self.end_if_doomed();
                self.output.flush()
            }
            flushed => flushed,
        }
    }

    /// Rolls back what has seen what is lost.
    fn end_if_doomed(&mut self) {
        if self.output.take_doom() {
            self.state.rollback();
            self.state.rests_on().forget();
        }
    }

    fn dispatch(&mut self, code: u8, body: &[u8]) -> Next {
        let done = match code {
            command::QUERY => return self.query(body),
            command::STMT_EXECUTE => return self.execute_statement(body),
            command::QUIT => return Next::Quit,
            command::CHANGE_USER => match Login::decode_change_user(body, self.output.capabilities) {
                Ok(login) => return Next::ChangeUser(Box::new(login)),
                Err(malformed) => Err(malformed_error(malformed)),
            },
            command::STMT_SEND_LONG_DATA => {
                self.take_long_data(body);
                return Next::Command;
            }
            command::STMT_CLOSE => {
                self.close_statement(body);
                return Next::Command;
            }
            command::STMT_PREPARE => self.prepare(body),
            command::STMT_RESET => self.reset_statement(body),
            command::STMT_FETCH => Err(SqlError::unsupported("cursors (COM_STMT_FETCH)")),
            command::INIT_DB => self.init_database(body),
            command::PING => {
                self.put_ok(0, 0, "");
                Ok(())
            }
            command::RESET_CONNECTION => {
                self.reset();
                self.put_ok(0, 0, "");
                Ok(())
            }
            command::SET_OPTION => self.set_option(body),
            command::STATISTICS => {
                let line = self.server.statistics();
                self.output.packet(|out| out.extend_from_slice(line.as_bytes()));
                Ok(())
            }
            command::FIELD_LIST => self.field_list(body),
            command::REFRESH => self.flush(body),
            command::PROCESS_KILL => self.kill(body),
            command::REGISTER_SLAVE => self.register_replica(body),
            command::BINLOG_DUMP => return self.begin_dump(DumpRequest::decode(body)),
            command::BINLOG_DUMP_GTID => return self.begin_dump(DumpRequest::decode_gtid(body)),
            _ => Err(SqlError::new(ER_UNKNOWN_COM_ERROR, &[])),
        };
        if let Err(error) = done {
            self.output.error(&error);
        }
        Next::Command
    }

    fn status_flags(&self, more: bool) -> u16 {
        status_flags(&self.state, more)
    }

    fn put_ok(&mut self, affected_rows: u64, last_insert_id: u64, info: &str) {
        self.put_ok_with(affected_rows, last_insert_id, info, false);
    }

    fn put_ok_with(&mut self, affected_rows: u64, last_insert_id: u64, info: &str, more: bool) {
        self.note_database();
        let mut changes = std::mem::take(&mut self.changes);
        self.environment.take_changes(&mut changes);
        self.put_gtids(&mut changes);
        self.output.ok(&OkFields {
            affected_rows,
            last_insert_id,
            status: self.status_flags(more),
            warnings: self.state.warning_count(),
            info: info.as_bytes(),
            state_changes: &changes,
        });
        changes.clear();
        self.changes = changes;
    }

    /// Whether the OK of a commit has to say what was committed.
    fn reports_gtids(&self) -> bool {
        self.state.tracks_gtids && self.output.has(capability::SESSION_TRACK)
    }

    /// Adds what was committed since the last OK, if the client wants to know.
    fn put_gtids(&self, changes: &mut Vec<u8>) {
        if !self.state.tracks_gtids {
            return;
        }
        let own = self.state.take_own_gtids();
        if own.is_empty() || !self.reports_gtids() {
            return;
        }
        let all = self.environment.get(ids::SESSION_TRACK_GTIDS) == "ALL_GTIDS";
        let gtids = if all { self.server.store().executed().1 } else { own };
        put_gtids(changes, gtids.to_string().as_bytes());
    }

    /// Gives process list and client a new default database.
    fn note_database(&mut self) {
        let same = match (&self.known_database, &self.state.database) {
            (Some(known), Some(present)) => Arc::ptr_eq(known, present) || known == present,
            (None, None) => true,
            _ => false,
        };
        if same {
            return;
        }
        self.known_database.clone_from(&self.state.database);
        self.environment.process.set_database(self.state.database.clone());
        if self.output.has(capability::SESSION_TRACK) && self.environment.get(ids::SESSION_TRACK_SCHEMA) {
            let name = self.state.database.as_deref().unwrap_or_default();
            put_schema_change(&mut self.changes, name.as_bytes());
        }
    }
}

fn status_flags(state: &SessionState, more: bool) -> u16 {
    let set = [
        (state.autocommit, status::AUTOCOMMIT),
        (state.in_transaction(), status::IN_TRANS),
        (state.in_read_only_transaction(), status::IN_TRANS_READONLY),
        (more, status::MORE_RESULTS_EXISTS),
        (state.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES), status::NO_BACKSLASH_ESCAPES),
    ];
    set.iter().filter(|(on, _)| *on).fold(0, |flags, (_, flag)| flags | flag)
}

fn malformed_error(malformed: Malformed) -> SqlError {
    SqlError::new(ER_MALFORMED_PACKET, &[&malformed.0])
}
