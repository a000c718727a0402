//! The commands of a logged-in client.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cohort_sql::ast::AdminCommand;
use cohort_sql::error::{
    ER_MALFORMED_PACKET, ER_MAX_PREPARED_STMT_COUNT_REACHED, ER_NET_PACKET_TOO_LARGE, ER_NO_SUCH_THREAD,
    ER_PARSE_ERROR, ER_PS_MANY_PARAM, ER_UNKNOWN_COM_ERROR, ER_UNKNOWN_STMT_HANDLER,
};
use cohort_sql::parse::split_statement;
use cohort_sql::session::{Interrupt, KillTarget, Outcome, SessionState, StatementResult};
use cohort_sql::types::{ResultType, SqlMode};
use cohort_sql::{Prepared, SqlError, Value};
use cohort_txn::Transaction;

use super::connection::{Input, Output, OutputMark};
use super::environment::SessionEnvironment;
use super::errors::commit_error;
use super::handover::Handover;
use super::login::LoginExchange;
use super::results::{ColumnCollector, ResultWriter, RowForm};
use super::{Running, use_database};
use crate::protocol::columns::{encode_column, encode_parameter};
use crate::protocol::constants::{capability, command, status};
use crate::protocol::decode::{Decoder, Malformed};
use crate::protocol::handshake::Login;
use crate::protocol::parameters::{ParameterType, decode_head, decode_parameters};
use crate::protocol::reply::{OkFields, put_schema_change};
use crate::server::Server;
use crate::socket::Socket;
use crate::status::{Counters, KindIndex, count, uncount};
use crate::sysvars::ids;

/// Room for so many parameters is kept from one execution to the next.
const KEPT_PARAMS: usize = 1024;

/// What follows a command.
pub enum Next {
    /// The next command.
    Command,
    /// The client wants to log in anew.
    ChangeUser(Box<Login>),
    /// The client has said goodbye.
    Quit,
    /// The connection cannot go on.
    Close,
}

/// A prepared statement of one session.
struct Statement {
    prepared: Prepared,
    /// Its place among those of the server.
    _place: StatementPlace,
    /// What COM_STMT_SEND_LONG_DATA sent, one place per parameter.
    long_data: Vec<Option<Vec<u8>>>,
    /// A piece of it was refused: the next execution tells.
    refused: Option<SqlError>,
    /// As bound by the last execution.
    types: Vec<ParameterType>,
    kind: KindIndex,
    text: Vec<u8>,
}

/// One of the prepared statements that the server has; gives its place back.
struct StatementPlace(Arc<Counters>);

impl Drop for StatementPlace {
    fn drop(&mut self) {
        uncount(&self.0.prepared_statements);
    }
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

    /// Ends the session: rolls back, forgets its statements.
    pub fn end(&mut self) {
        self.handover.wait_for_send();
        self.state.rollback();
        self.statements.clear();
    }

    /// Executes one command and answers it. `sequence` is the number of the answer's first packet.
    pub fn execute(&mut self, sequence: u8, payload: &[u8]) -> Next {
        let server = self.server.clone();
        let _running = Running::new(&server);
        self.output.begin_reply(sequence);
        self.end_if_doomed();
        self.interrupt.reset();
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
            count(&server.counters.questions);
            count(&server.counters.queries);
            if took >= self.slow_from {
                count(&server.counters.slow_queries);
            }
        }
        match (flushed, next) {
            (Err(_), _) => Next::Close,
            (Ok(()), _) if self.output.is_broken() => Next::Close,
            // What it was told: a limit of memory ends the connection.
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

    /// Tells process list and client of a new default database.
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

    // --- statements as text ---

    fn query(&mut self, sql: &[u8]) -> Next {
        let mut rest = sql;
        loop {
            let (statement, following) = match rest.contains(&b';') {
                true => split_statement(rest, self.state.sql_mode),
                false => (rest, &rest[rest.len()..]),
            };
            if !following.is_empty() && !self.multi_statements {
                let near = String::from_utf8_lossy(&following[..following.len().min(80)]).into_owned();
                self.output.error(&SqlError::new(ER_PARSE_ERROR, &[&near, &1]));
                return Next::Command;
            }
            match self.run_text(statement, !following.is_empty()) {
                Ran::Succeeded if !following.is_empty() => rest = following,
                Ran::Succeeded | Ran::Failed => return Next::Command,
                Ran::Release => return Next::Close,
            }
            // However many statements there are, their answers take no more room than one's.
            if self.output.pending().len() >= self.flush_at && self.send().is_err() {
                return Next::Close;
            }
        }
    }

    fn run_text(&mut self, sql: &[u8], more: bool) -> Ran {
        self.environment.process.begin("Query", "executing", sql);
        KindIndex::of_statement(sql).count(&self.server.counters);
        let flags = self.status_flags(more);
        let start = self.output.mark();
        let mut sink = ResultWriter::new(&mut self.output, &mut self.types, RowForm::Text, flags, self.flush_at);
        let outcome = self.server.database.execute(&mut self.state, &self.environment, sql, &mut sink);
        self.finish(outcome, start, more)
    }

    /// Commits what a statement left to commit, and answers. An error takes the place of a result that
    /// began at `start`, or follows what has been sent of it.
    fn finish(&mut self, outcome: Result<Outcome, SqlError>, start: OutputMark, more: bool) -> Ran {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.note_database();
                self.output.undo(start);
                self.output.error(&error);
                return Ran::Failed;
            }
        };
        let after = if outcome.release { Ran::Release } else { Ran::Succeeded };
        match (outcome.result, outcome.commit) {
            (StatementResult::Done { affected, last_insert_id, info }, None) => {
                self.put_ok_with(affected, last_insert_id, &info, more);
            }
            (StatementResult::Done { affected, last_insert_id, info }, Some(transaction)) => {
                // Packets of earlier statements, or a connection that ends here, go the slow way.
                if self.output.pending().is_empty() && !more && !outcome.release {
                    self.put_ok_with(affected, last_insert_id, &info, more);
                    return self.commit_with_reply(transaction, start);
                }
                if let Err(error) = self.commit_and_wait(transaction) {
                    self.output.error(&error);
                    return Ran::Failed;
                }
                self.put_ok_with(affected, last_insert_id, &info, more);
            }
            (StatementResult::Rows, commit) => {
                if let Some(transaction) = commit
                    && let Err(error) = self.commit_and_wait(transaction)
                {
                    self.output.undo(start);
                    self.output.error(&error);
                    return Ran::Failed;
                }
                let fields = OkFields {
                    status: self.status_flags(more),
                    warnings: self.state.warning_count(),
                    ..OkFields::default()
                };
                self.output.end_of_rows(&fields);
            }
        }
        after
    }

    /// Gives the OK behind `start` in the output to the commit.
    fn commit_with_reply(&mut self, transaction: Transaction, start: OutputMark) -> Ran {
        let Some(reply) = self.handover.reply(self.output.pending()) else {
            // Longer than a reply may be: an info text or state changes of unusual length.
            return match self.commit_and_wait(transaction) {
                Ok(()) => Ran::Succeeded,
                Err(error) => {
                    self.output.undo(start);
                    self.output.error(&error);
                    Ran::Failed
                }
            };
        };
        self.output.give_away();
        count(&self.server.counters.handed_over);
        let _guard = AbortOnPanic;
        self.server.store().commit(transaction, reply);
        Ran::Succeeded
    }

    fn commit_and_wait(&self, transaction: Transaction) -> Result<(), SqlError> {
        self.environment.process.set_state("waiting for commit");
        let _guard = AbortOnPanic;
        let committed = self.server.store().commit_and_wait(transaction);
        committed.map(drop).map_err(|error| commit_error(&error))
    }

    // --- prepared statements ---

    fn prepare(&mut self, sql: &[u8]) -> Result<(), SqlError> {
        self.environment.process.begin("Prepare", "preparing", sql);
        const { KindIndex::named("stmt_prepare") }.count(&self.server.counters);
        let place = self.statement_place()?;
        let prepared = self.server.database.prepare(&mut self.state, &self.environment, sql)?;
        // The protocol has two bytes for their number.
        if prepared.param_count() > usize::from(u16::MAX) {
            return Err(SqlError::new(ER_PS_MANY_PARAM, &[]));
        }
        self.state.memory.keep(prepared.memory_bytes())?;
        let id = self.free_statement_id();
        self.put_prepared(id, &prepared);
        let long_data = vec![None; prepared.param_count()];
        let kind = KindIndex::of_statement(sql);
        let text = sql[..sql.len().min(1024)].to_vec();
        self.statements
            .insert(id, Statement { prepared, _place: place, long_data, refused: None, types: Vec::new(), kind, text });
        Ok(())
    }

    /// A place for one more prepared statement; 1461 if the server or this session has no more.
    fn statement_place(&self) -> Result<StatementPlace, SqlError> {
        let globals = &self.server.globals;
        let reached = |name, max: u64| SqlError::new(ER_MAX_PREPARED_STMT_COUNT_REACHED, &[&name, &max]);
        let own_max = globals.get(ids::MAX_SESSION_PREPARED_STMT_COUNT);
        if self.statements.len() as u64 >= own_max {
            return Err(reached("max_session_prepared_stmt_count", own_max));
        }
        let max = globals.get(ids::MAX_PREPARED_STMT_COUNT);
        let counters = &self.server.counters;
        let one_more = |open: u64| (open < max).then_some(open + 1);
        let taken = counters.prepared_statements.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.map_err(|_| reached("max_prepared_stmt_count", max))?;
        Ok(StatementPlace(counters.clone()))
    }

    fn free_statement_id(&mut self) -> u32 {
        loop {
            self.last_statement_id = self.last_statement_id.wrapping_add(1);
            if self.last_statement_id != 0 && !self.statements.contains_key(&self.last_statement_id) {
                return self.last_statement_id;
            }
        }
    }

    fn put_prepared(&mut self, id: u32, prepared: &Prepared) {
        let (columns, params) = (prepared.columns(), prepared.param_count());
        let (flags, warnings) = (self.status_flags(false), self.state.warning_count());
        self.output.packet(|out| {
            out.push(0);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            out.extend_from_slice(&(params as u16).to_le_bytes());
            out.push(0);
            out.extend_from_slice(&warnings.to_le_bytes());
        });
        if params > 0 {
            for _ in 0..params {
                self.output.packet(encode_parameter);
            }
            self.output.end_of_columns(flags);
        }
        if !columns.is_empty() {
            for column in columns {
                self.output.packet(|out| encode_column(out, column));
            }
            self.output.end_of_columns(flags);
        }
    }

    fn execute_statement(&mut self, body: &[u8]) -> Next {
        const { KindIndex::named("stmt_execute") }.count(&self.server.counters);
        let mut input = Decoder::new(body);
        let head = match decode_head(&mut input) {
            Ok(head) => head,
            Err(malformed) => {
                self.output.error(&malformed_error(malformed));
                return Next::Command;
            }
        };
        let Some(statement) = self.statements.get_mut(&head.statement_id) else {
            self.output.error(&unknown_statement(head.statement_id, "mysqld_stmt_execute"));
            return Next::Command;
        };
        let Statement { prepared, long_data, refused, types, kind, text, .. } = statement;
        if let Some(error) = refused.take() {
            self.output.error(&error);
            return Next::Command;
        }
        if let Err(malformed) = decode_parameters(&mut input, types, long_data, &mut self.params) {
            self.output.error(&malformed_error(malformed));
            return Next::Command;
        }
        self.state.memory.release(long_data.iter().flatten().map(Vec::len).sum());
        let longest = long_data.iter_mut().filter_map(Option::take).map(|data| data.len()).max();
        if longest > Some(self.max_packet) {
            self.output.error(&SqlError::new(ER_NET_PACKET_TOO_LARGE, &[]));
            return Next::Command;
        }
        self.environment.process.begin("Execute", "executing", text);
        kind.count(&self.server.counters);
        let flags = status_flags(&self.state, false);
        let start = self.output.mark();
        let mut sink = ResultWriter::new(&mut self.output, &mut self.types, RowForm::Binary, flags, self.flush_at);
        let outcome = self.server.database.execute_prepared(
            &mut self.state,
            &self.environment,
            prepared,
            &self.params,
            &mut sink,
        );
        self.params.clear();
        self.params.shrink_to(KEPT_PARAMS);
        match self.finish(outcome, start, false) {
            Ran::Release => Next::Close,
            Ran::Succeeded | Ran::Failed => Next::Command,
        }
    }

    /// Keeps a piece of a long parameter. This command has no answer: what is wrong with it shows when
    /// the statement is executed.
    fn take_long_data(&mut self, body: &[u8]) {
        const { KindIndex::named("stmt_send_long_data") }.count(&self.server.counters);
        let mut input = Decoder::new(body);
        let (Ok(id), Ok(index)) = (input.u32("long data: statement"), input.u16("long data: parameter")) else {
            return;
        };
        let max = self.max_packet;
        let Some(statement) = self.statements.get_mut(&id) else { return };
        let Some(data) = statement.long_data.get_mut(usize::from(index)) else { return };
        let data = data.get_or_insert_default();
        let room = max.saturating_sub(data.len());
        let piece = &input.rest()[..input.rest().len().min(room.saturating_add(1))];
        match self.state.memory.keep(piece.len()) {
            Ok(()) => data.extend_from_slice(piece),
            Err(error) => statement.refused = Some(error),
        }
    }

    fn close_statement(&mut self, body: &[u8]) {
        const { KindIndex::named("stmt_close") }.count(&self.server.counters);
        if let Ok(id) = Decoder::new(body).u32("close: statement")
            && let Some(statement) = self.statements.remove(&id)
        {
            let long_data = statement.long_data.iter().flatten().map(Vec::len).sum::<usize>();
            self.state.memory.release(statement.prepared.memory_bytes() + long_data);
        }
    }

    fn reset_statement(&mut self, body: &[u8]) -> Result<(), SqlError> {
        const { KindIndex::named("stmt_reset") }.count(&self.server.counters);
        let id = Decoder::new(body).u32("reset: statement").map_err(malformed_error)?;
        let statement = self.statements.get_mut(&id).ok_or_else(|| unknown_statement(id, "mysqld_stmt_reset"))?;
        self.state.memory.release(statement.long_data.iter().flatten().map(Vec::len).sum());
        statement.long_data.iter_mut().for_each(|data| *data = None);
        statement.refused = None;
        self.put_ok(0, 0, "");
        Ok(())
    }

    // --- the rest ---

    fn init_database(&mut self, body: &[u8]) -> Result<(), SqlError> {
        const { KindIndex::named("change_db") }.count(&self.server.counters);
        use_database(&self.server.database, &mut self.state, body)?;
        self.put_ok(0, 0, "");
        Ok(())
    }

    fn set_option(&mut self, body: &[u8]) -> Result<(), SqlError> {
        self.multi_statements = match Decoder::new(body).u16("set option").map_err(malformed_error)? {
            0 => true,
            1 => false,
            _ => return Err(SqlError::new(ER_UNKNOWN_COM_ERROR, &[])),
        };
        let fields = OkFields { status: self.status_flags(false), ..OkFields::default() };
        self.output.end_of_rows(&fields);
        Ok(())
    }

    /// COM_REFRESH, as the command line's `mysqladmin flush-...` sends it.
    fn flush(&mut self, body: &[u8]) -> Result<(), SqlError> {
        const KINDS: [(u8, AdminCommand); 5] = [
            (0x01, AdminCommand::FlushPrivileges),
            (0x02, AdminCommand::FlushLogs),
            (0x04, AdminCommand::FlushTables),
            (0x08, AdminCommand::FlushHosts),
            (0x10, AdminCommand::FlushStatus),
        ];
        let wanted = Decoder::new(body).u8("refresh: options").map_err(malformed_error)?;
        let known = KINDS.iter().fold(0, |known, (bit, _)| known | bit);
        if wanted & !known != 0 {
            return Err(SqlError::unsupported("this option of COM_REFRESH"));
        }
        for (_, command) in KINDS.iter().filter(|(bit, _)| wanted & bit != 0) {
            self.server.administer(command)?;
        }
        self.put_ok(0, 0, "");
        Ok(())
    }

    fn kill(&mut self, body: &[u8]) -> Result<(), SqlError> {
        let id = Decoder::new(body).u32("kill").map_err(malformed_error)?;
        let process = self.server.processes.find(u64::from(id));
        process.ok_or_else(|| SqlError::new(ER_NO_SUCH_THREAD, &[&id]))?.kill(KillTarget::Connection);
        self.put_ok(0, 0, "");
        Ok(())
    }

    /// The columns of a table, as the command line client asks for them.
    fn field_list(&mut self, body: &[u8]) -> Result<(), SqlError> {
        let mut input = Decoder::new(body);
        let table = input.nul_terminated("field list: table").map_err(malformed_error)?;
        let quoted = String::from_utf8_lossy(table).replace('`', "``");
        let sql = format!("SELECT * FROM `{quoted}` LIMIT 0");
        let mut sink = ColumnCollector::default();
        let outcome = self.server.database.execute(&mut self.state, &self.environment, sql.as_bytes(), &mut sink)?;
        if let Some(transaction) = outcome.commit {
            self.commit_and_wait(transaction)?;
        }
        for column in &sink.columns {
            self.output.packet(|out| {
                encode_column(out, column);
                // The default value: not told.
                out.push(0xfb);
            });
        }
        let fields = OkFields { status: self.status_flags(false), ..OkFields::default() };
        self.output.end_of_rows(&fields);
        Ok(())
    }

    /// Makes the session as new (COM_RESET_CONNECTION).
    fn reset(&mut self) {
        self.statements.clear();
        self.state.reset();
        self.environment.reset(&mut self.state);
        self.begin();
    }

    /// Logs in anew (COM_CHANGE_USER); false if that failed, which ends the connection.
    pub fn change_user(&mut self, input: &mut Input, socket: &Socket, login: &Login) -> bool {
        let deadline = Instant::now() + Duration::from_secs(self.server.globals.get(ids::CONNECT_TIMEOUT));
        let server = &*self.server;
        let mut exchange = LoginExchange { server, input, output: &mut self.output, socket, deadline };
        let result = exchange.change_user(login).and_then(|identity| {
            self.statements.clear();
            self.state.reset();
            self.state.database = None;
            self.environment.begin(&mut self.state, identity, login.collation);
            match &login.database {
                Some(name) => Ok(use_database(&self.server.database, &mut self.state, name)?),
                None => Ok(()),
            }
        });
        match result {
            Ok(()) => {
                self.begin();
                self.put_ok(0, 0, "");
            }
            Err(failure) => {
                if let Some(error) = failure.error() {
                    self.output.error(error);
                    // The connection ends either way.
                    let _ = self.output.flush();
                }
                return false;
            }
        }
        self.output.flush().is_ok()
    }
}

/// How a statement went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    Succeeded,
    Failed,
    /// It succeeded, and the connection is to be closed.
    Release,
}

/// Ends the process when a panic passes: the commit path has no way back in the middle.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn status_flags(state: &SessionState, more: bool) -> u16 {
    let set = [
        (state.autocommit, status::AUTOCOMMIT),
        (state.in_transaction(), status::IN_TRANS),
        (more, status::MORE_RESULTS_EXISTS),
        (state.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES), status::NO_BACKSLASH_ESCAPES),
    ];
    set.iter().filter(|(on, _)| *on).fold(0, |flags, (_, flag)| flags | flag)
}

fn malformed_error(malformed: Malformed) -> SqlError {
    SqlError::new(ER_MALFORMED_PACKET, &[&malformed.0])
}

fn unknown_statement(id: u32, function: &str) -> SqlError {
    SqlError::new(ER_UNKNOWN_STMT_HANDLER, &[&id, &function])
}
