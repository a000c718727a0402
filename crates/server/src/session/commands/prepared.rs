//! Prepared statements: COM_STMT_PREPARE, _EXECUTE, _SEND_LONG_DATA, _RESET, _CLOSE.

use cohort_sql::error::{ER_NET_PACKET_TOO_LARGE, ER_PS_MANY_PARAM, ER_UNKNOWN_STMT_HANDLER};
use cohort_sql::{Prepared, SqlError};

use super::text::Ran;
use super::{Next, Session, malformed_error, status_flags};
use crate::protocol::columns::{encode_column, encode_parameter};
use crate::protocol::decode::Decoder;
use crate::protocol::parameters::{ParameterType, decode_head, decode_parameters};
use crate::session::results::{ResultWriter, RowForm};
use crate::session::statement_place::StatementPlace;
use crate::status::KindIndex;

/// Room for so many parameters is kept from one execution to the next.
const KEPT_PARAMS: usize = 1024;

/// A prepared statement of one session.
pub(super) struct Statement {
    prepared: Prepared,
    /// Its place among those of the server.
    _place: StatementPlace,
    /// What COM_STMT_SEND_LONG_DATA sent, one place per parameter.
    long_data: Vec<Option<Vec<u8>>>,
    /// A piece of it was refused: the next execution reports it.
    refused: Option<SqlError>,
    /// As bound by the last execution.
    types: Vec<ParameterType>,
    kind: KindIndex,
    text: Vec<u8>,
}

impl Session {
    pub(super) fn prepare(&mut self, sql: &[u8]) -> Result<(), SqlError> {
        let sql = &*self.state.client.charset().decode_statement(sql);
        self.environment.process.begin("Prepare", "preparing", sql);
        self.environment.audit_statement(&self.state, "prepare", sql);
        self.environment.tally.statement(const { KindIndex::named("stmt_prepare") });
        let place = StatementPlace::take(&self.server, self.statements.len())?;
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
            let results = self.output.results;
            for column in columns {
                self.output.packet(|out| encode_column(out, column, results));
            }
            self.output.end_of_columns(flags);
        }
    }

    pub(super) fn execute_statement(&mut self, body: &[u8]) -> Next {
        self.environment.tally.statement(const { KindIndex::named("stmt_execute") });
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
        let charset = self.state.client.charset();
        if let Err(malformed) = decode_parameters(&mut input, types, long_data, charset, &mut self.params) {
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
        self.environment.audit_statement(&self.state, "execute", text);
        if let Err(error) = self.environment.begin_query() {
            self.params.clear();
            self.output.error(&error);
            return Next::Command;
        }
        self.environment.tally.statement(*kind);
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
    pub(super) fn take_long_data(&mut self, body: &[u8]) {
        self.environment.tally.statement(const { KindIndex::named("stmt_send_long_data") });
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

    pub(super) fn close_statement(&mut self, body: &[u8]) {
        self.environment.tally.statement(const { KindIndex::named("stmt_close") });
        if let Ok(id) = Decoder::new(body).u32("close: statement")
            && let Some(statement) = self.statements.remove(&id)
        {
            let long_data = statement.long_data.iter().flatten().map(Vec::len).sum::<usize>();
            self.state.memory.release(statement.prepared.memory_bytes() + long_data);
        }
    }

    pub(super) fn reset_statement(&mut self, body: &[u8]) -> Result<(), SqlError> {
        self.environment.tally.statement(const { KindIndex::named("stmt_reset") });
        let id = Decoder::new(body).u32("reset: statement").map_err(malformed_error)?;
        let statement = self.statements.get_mut(&id).ok_or_else(|| unknown_statement(id, "mysqld_stmt_reset"))?;
        self.state.memory.release(statement.long_data.iter().flatten().map(Vec::len).sum());
        statement.long_data.iter_mut().for_each(|data| *data = None);
        statement.refused = None;
        self.put_ok(0, 0, "");
        Ok(())
    }
}

fn unknown_statement(id: u32, function: &str) -> SqlError {
    SqlError::new(ER_UNKNOWN_STMT_HANDLER, &[&id, &function])
}
