//! Commands about the connection and the server: default database, options, COM_REFRESH, KILL, change of user.

use std::time::{Duration, Instant};

use cohort_sql::SqlError;
use cohort_sql::ast::AdminCommand;
use cohort_sql::collation::Collation;
use cohort_sql::error::ER_UNKNOWN_COM_ERROR;
use cohort_sql::privilege::needs::of_admin;
use cohort_sql::session::{Environment, KillTarget};

use super::{Session, malformed_error};
use crate::protocol::columns::encode_column;
use crate::protocol::constants::capability;
use crate::protocol::decode::Decoder;
use crate::protocol::handshake::Login;
use crate::protocol::reply::OkFields;
use crate::session::connection::Input;
use crate::session::login::LoginExchange;
use crate::session::results::ColumnCollector;
use crate::session::{check_expired, use_database};
use crate::socket::Socket;
use crate::status::KindIndex;
use crate::sysvars::ids;

impl Session {
    pub(super) fn init_database(&mut self, body: &[u8]) -> Result<(), SqlError> {
        self.environment.tally.statement(const { KindIndex::named("change_db") });
        self.state.holder.check_password()?;
        use_database(&self.server.database, &mut self.state, body)?;
        self.put_ok(0, 0, "");
        Ok(())
    }

    pub(super) fn set_option(&mut self, body: &[u8]) -> Result<(), SqlError> {
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
    pub(super) fn flush(&mut self, body: &[u8]) -> Result<(), SqlError> {
        const TABLES: u8 = 0x04;
        const KINDS: [(u8, AdminCommand); 4] = [
            (0x01, AdminCommand::FlushPrivileges),
            (0x02, AdminCommand::FlushLogs),
            (0x08, AdminCommand::FlushHosts),
            (0x10, AdminCommand::FlushStatus),
        ];
        let wanted = Decoder::new(body).u8("refresh: options").map_err(malformed_error)?;
        let known = KINDS.iter().fold(TABLES, |known, (bit, _)| known | bit);
        if wanted & !known != 0 {
            return Err(SqlError::unsupported("this option of COM_REFRESH"));
        }
        self.state.holder.check_password()?;
        for (_, command) in KINDS.iter().filter(|(bit, _)| wanted & bit != 0) {
            self.state.holder.check(&of_admin(command))?;
            self.environment.administer(&mut self.state, command)?;
        }
        if wanted & TABLES != 0 {
            let mut nothing = ColumnCollector::default();
            let flushed =
                self.server.database.execute(&mut self.state, &self.environment, b"FLUSH TABLES", &mut nothing)?;
            debug_assert!(flushed.commit.is_none(), "it commits by itself");
        }
        self.put_ok(0, 0, "");
        Ok(())
    }

    pub(super) fn kill(&mut self, body: &[u8]) -> Result<(), SqlError> {
        let id = Decoder::new(body).u32("kill").map_err(malformed_error)?;
        self.environment.kill(u64::from(id), KillTarget::Connection)?;
        self.put_ok(0, 0, "");
        Ok(())
    }

    /// The columns of a table, as the command line client asks for them.
    pub(super) fn field_list(&mut self, body: &[u8]) -> Result<(), SqlError> {
        let mut input = Decoder::new(body);
        let table = input.nul_terminated("field list: table").map_err(malformed_error)?;
        let table = self.state.client.charset().decode_statement(table);
        let quoted = String::from_utf8_lossy(&table).replace('`', "``");
        let sql = format!("SELECT * FROM `{quoted}` LIMIT 0");
        let mut sink = ColumnCollector::default();
        let outcome = self.server.database.execute(&mut self.state, &self.environment, sql.as_bytes(), &mut sink)?;
        if let Some(transaction) = outcome.commit {
            self.commit_and_wait(transaction)?;
        }
        let results = self.output.results;
        for column in &sink.columns {
            self.output.packet(|out| {
                encode_column(out, column, results);
                // The default value is not sent.
                out.push(0xfb);
            });
        }
        let fields = OkFields { status: self.status_flags(false), ..OkFields::default() };
        self.output.end_of_rows(&fields);
        Ok(())
    }

    /// Makes the session as new (COM_RESET_CONNECTION).
    pub(super) fn reset(&mut self) {
        self.statements.clear();
        self.state.reset();
        self.environment.reset(&mut self.state);
        self.begin();
    }

    /// Logs in anew (COM_CHANGE_USER); false if that failed, which ends the connection.
    pub fn change_user(&mut self, input: &mut Input, socket: &Socket, login: &Login) -> bool {
        let deadline = Instant::now() + Duration::from_secs(self.server.globals.get(ids::CONNECT_TIMEOUT));
        let (server, connection) = (&*self.server, self.environment.process.id);
        let mut exchange = LoginExchange { server, input, output: &mut self.output, socket, connection, deadline };
        let result = exchange.change_user(login).and_then(|identity| {
            self.statements.clear();
            self.state.reset();
            self.state.database = None;
            self.environment.begin(&mut self.state, identity, Collation::of_client(login.collation));
            let can_change = login.has(capability::CAN_HANDLE_EXPIRED_PASSWORDS);
            let admitted = check_expired(&self.server, &self.state, can_change);
            if let Err(error) = admitted.and_then(|()| self.environment.take_place()) {
                self.environment.audit_connect(error.errno);
                return Err(error.into());
            }
            self.environment.audit_connect(0);
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
