//! What the server gives to the statements of one session.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cohort_sql::ast::{AccountStatement, AdminCommand, ShowKind};
use cohort_sql::collation::{self, Collation};
use cohort_sql::error::{
    ER_COLLATION_CHARSET_MISMATCH, ER_NO_SUCH_THREAD, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION,
};
use cohort_sql::expr::VariableScope;
use cohort_sql::session::{Environment, KillTarget, SessionState, ShowTable};
use cohort_sql::{SqlError, Value};

use crate::accounts::{AccountSession, Identity};
use crate::processlist::Process;
use crate::protocol::reply::put_variable_change;
use crate::server::{Server, settle_memory_limits};
use crate::session::{show, variables};
use crate::sysvars::{SessionSettings, Setting, VariableId, charset};

/// One session's side of [`Environment`].
pub struct SessionEnvironment {
    /// The server.
    pub server: Arc<Server>,
    /// The session's entry in the process list.
    pub process: Arc<Process>,
    identity: RefCell<Identity>,
    settings: RefCell<SessionSettings>,
    /// Variables whose new values go into the next OK packet, in the order of their changes.
    changes: RefCell<Vec<VariableId>>,
    tracks_changes: Cell<bool>,
    settings_changed: Cell<bool>,
}

impl SessionEnvironment {
    /// For a session that begins; nobody has logged in yet.
    pub fn new(server: Arc<Server>, process: Arc<Process>) -> SessionEnvironment {
        let settings = SessionSettings::new(&server.globals);
        SessionEnvironment {
            server,
            process,
            identity: RefCell::default(),
            settings: RefCell::new(settings),
            changes: RefCell::default(),
            tracks_changes: Cell::new(false),
            settings_changed: Cell::new(true),
        }
    }

    /// Somebody has logged in: a session begins with fresh settings and the collation that the client
    /// named.
    pub fn begin(&self, session: &mut SessionState, identity: Identity, collation: u16) {
        self.process.set_user(&identity.user);
        self.identity.replace(identity);
        let mut settings = SessionSettings::new(&self.server.globals);
        if let Some(name) = collation::of_connection_by_id(collation).filter(|name| *name != Collation::Binary.name()) {
            settings.set(named("collation_connection"), Setting::text(name));
        }
        variables::apply_all(session, &settings);
        self.settings.replace(settings);
        self.changes.borrow_mut().clear();
        self.settings_changed.set(true);
    }

    /// As [`SessionEnvironment::begin`] for whoever is logged in.
    pub fn reset(&self, session: &mut SessionState) {
        let identity = self.identity.borrow().clone();
        self.begin(session, identity, session.collation.id());
    }

    /// `wait_timeout` begins as `interactive_timeout`: the client says that a person types.
    pub fn use_interactive_timeout(&self) {
        let timeout = self.int("interactive_timeout");
        self.settings.borrow_mut().set(named("wait_timeout"), Setting::Int(timeout));
        self.settings_changed.set(true);
    }

    /// Who is logged in.
    pub fn identity(&self) -> Identity {
        self.identity.borrow().clone()
    }

    /// Whether the client wants to hear of state changes.
    pub fn set_tracks_changes(&self, tracks: bool) {
        self.tracks_changes.set(tracks);
    }

    /// The state changes since the last call, appended to `out`.
    pub fn take_changes(&self, out: &mut Vec<u8>) {
        for id in self.changes.borrow_mut().drain(..) {
            let value = self.settings.borrow().get(id).to_text();
            put_variable_change(out, id.row().name.as_bytes(), value.as_bytes());
        }
    }

    /// What the next call of [`SessionEnvironment::take_settings_changed`] will say.
    pub fn settings_have_changed(&self) -> bool {
        self.settings_changed.get()
    }

    /// Whether settings may have changed since the last call.
    pub fn take_settings_changed(&self) -> bool {
        self.settings_changed.replace(false)
    }

    /// An integer setting of the session.
    ///
    /// # Panics
    /// When `name` is no integer row of the table.
    pub fn int(&self, name: &'static str) -> u64 {
        match self.settings.borrow().get(named(name)) {
            Setting::Int(value) => *value,
            other => panic!("{name} is {other:?}, not a number"),
        }
    }

    /// A boolean setting of the session.
    pub fn flag(&self, name: &'static str) -> bool {
        *self.settings.borrow().get(named(name)) == Setting::Bool(true)
    }

    /// `long_query_time`
    pub fn long_query_time(&self) -> Duration {
        match self.settings.borrow().get(named("long_query_time")) {
            Setting::Double(seconds) => Duration::from_secs_f64(*seconds),
            _ => Duration::MAX,
        }
    }

    /// A variable as SHOW VARIABLES shows it.
    pub fn shown(&self, session: &SessionState, id: VariableId, global: bool) -> String {
        let row = id.row();
        match row.name {
            "gtid_executed" => return self.server.store().executed().1.to_string(),
            "gtid_purged" => return self.server.gtid_purged(),
            _ => {}
        }
        match variables::live_value(session, self.connection_id(), row.name) {
            Some(Value::UInt(value)) => value.to_string(),
            Some(Value::Double(value)) => format!("{value:.6}"),
            _ if global => self.server.globals.get(id).to_text(),
            _ => self.settings.borrow().get(id).to_text(),
        }
    }

    fn set_in_session(&self, session: &mut SessionState, id: VariableId, setting: Setting) {
        let row = id.row();
        variables::apply(session, row, &setting);
        self.settings_changed.set(true);
        self.track(id);
        let follower = variables::follower(row, &setting);
        self.settings.borrow_mut().set(id, setting);
        if let Some((name, setting)) = follower {
            let id = named(name);
            variables::apply(session, id.row(), &setting);
            self.track(id);
            self.settings.borrow_mut().set(id, setting);
        }
    }

    fn set_globally(&self, id: VariableId, setting: Setting) {
        let follower = variables::follower(id.row(), &setting);
        let globals = &self.server.globals;
        let commit_related = matches!(
            id.row().name,
            "sync_binlog"
                | "innodb_flush_log_at_trx_commit"
                | "max_binlog_size"
                | "binlog_row_metadata"
                | "binlog_order_commits"
                | "binlog_group_commit_sync_delay"
                | "binlog_group_commit_sync_no_delay_count"
        );
        globals.set(id, setting);
        if let Some((name, setting)) = follower {
            globals.set(named(name), setting);
        }
        match id.row().name {
            "connection_memory_limit" => settle_memory_limits(globals),
            "global_connection_memory_limit" => {
                settle_memory_limits(globals);
                let limit = globals.int("global_connection_memory_limit");
                self.server.memory.limit.store(limit, Ordering::Relaxed);
            }
            "host_cache_size" => self.server.hosts.flush(),
            "log_error_services" | "log_error_verbosity" => variables::apply_log_settings(globals),
            "connection_control_failed_connections_threshold" => self.server.hosts.forget_wrong_passwords(),
            _ => {}
        }
        if commit_related {
            variables::apply_commit_settings(self.server.store().settings(), globals);
            for warning in variables::durability_warnings(globals) {
                log::warn!("{warning}");
            }
        }
    }

    /// Notes a change for the next OK packet, if the client wants to hear of this variable.
    fn track(&self, id: VariableId) {
        if !self.tracks_changes.get() || self.changes.borrow().contains(&id) {
            return;
        }
        let row = id.row();
        let settings = self.settings.borrow();
        let list = settings.get(named("session_track_system_variables")).to_text();
        let names = |name: &str| name == "*" || name.eq_ignore_ascii_case(row.name) || row.alias == Some(name);
        if list.split(',').map(str::trim).any(names) {
            self.changes.borrow_mut().push(id);
        }
    }
}

fn named(name: &'static str) -> VariableId {
    VariableId::of(name).expect("the name is in the table")
}

impl Environment for SessionEnvironment {
    fn connection_id(&self) -> u64 {
        u64::from(self.process.id)
    }

    fn user(&self) -> String {
        let identity = self.identity.borrow();
        format!("{}@{}", identity.user, identity.client_host)
    }

    fn current_user(&self) -> String {
        let identity = self.identity.borrow();
        format!("{}@{}", identity.user, identity.account_host)
    }

    fn variable(&self, session: &SessionState, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        let id = variables::find(name)?;
        let row = id.row();
        let global = variables::reads_global(row, scope)?;
        if let Some(value) = variables::live_value(session, self.connection_id(), row.name) {
            return Ok(value);
        }
        Ok(match row.name {
            "gtid_executed" | "gtid_purged" => Value::text(self.shown(session, id, true)),
            _ if global => row.value(&self.server.globals.get(id)),
            _ => row.value(self.settings.borrow().get(id)),
        })
    }

    fn set_variable(
        &self,
        session: &mut SessionState,
        scope: VariableScope,
        name: &str,
        value: Option<Value>,
    ) -> Result<(), SqlError> {
        let id = variables::find(name)?;
        let row = id.row();
        variables::check_settable(row, scope)?;
        let global = scope == VariableScope::Global;
        let setting = match value {
            Some(value) => variables::check_value(session, row, &value)?,
            None if global || row.scope == crate::sysvars::Scope::Session => row.default_setting(),
            None => self.server.globals.get(id),
        };
        match global {
            true => self.set_globally(id, setting),
            false => self.set_in_session(session, id, setting),
        }
        Ok(())
    }

    fn set_names(
        &self,
        session: &mut SessionState,
        charset_name: Option<&str>,
        collation_name: Option<&str>,
    ) -> Result<(), SqlError> {
        let charset_name = charset_name.unwrap_or("utf8mb4");
        let charset = charset(charset_name).ok_or_else(|| SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[&charset_name]))?;
        let collation = match collation_name {
            Some(name) => {
                let known = collation::of_connection(name);
                let (name, of_charset) = known.ok_or_else(|| SqlError::new(ER_UNKNOWN_COLLATION, &[&name]))?;
                if of_charset != charset {
                    return Err(SqlError::new(ER_COLLATION_CHARSET_MISMATCH, &[&name, &charset]));
                }
                name
            }
            None => Collation::of_charset(charset).unwrap_or(Collation::DEFAULT).name(),
        };
        for name in ["character_set_client", "character_set_results"] {
            self.set_in_session(session, named(name), Setting::text(charset));
        }
        self.set_in_session(session, named("collation_connection"), Setting::text(collation));
        Ok(())
    }

    fn show(&self, session: &SessionState, what: &ShowKind) -> Result<ShowTable, SqlError> {
        show::table(self, session, what)
    }

    fn kill(&self, connection_id: u64, target: KillTarget) -> Result<(), SqlError> {
        let process = self.server.processes.find(connection_id);
        process.ok_or_else(|| SqlError::new(ER_NO_SUCH_THREAD, &[&connection_id]))?.kill(target);
        Ok(())
    }

    fn account(&self, session: &SessionState, statement: &AccountStatement) -> Result<(), SqlError> {
        let server = &self.server;
        let identity = self.identity();
        let of = AccountSession {
            database: &server.database,
            session,
            env: self,
            identity: &identity,
            globals: &server.globals,
        };
        server.accounts.execute(of, statement)
    }

    fn administer(&self, _session: &mut SessionState, command: &AdminCommand) -> Result<(), SqlError> {
        self.server.administer(command)
    }

    fn version(&self) -> String {
        crate::VERSION.to_owned()
    }
}
