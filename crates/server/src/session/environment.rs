//! What the server gives to the statements of one session.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cohort_binlog::GtidSet;
use cohort_sql::ast::{AccountName, AccountStatement, AdminCommand, RoleStatement, ShowKind};
use cohort_sql::collation::Collation;
use cohort_sql::error::{
    ER_COLLATION_CHARSET_MISMATCH, ER_GTID_MODE_OFF, ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_BINLOG_FORMAT,
    ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN, ER_KILL_DENIED_ERROR, ER_LOCK_OR_ACTIVE_TRANSACTION,
    ER_NO_SUCH_THREAD, ER_QUERY_INTERRUPTED, ER_UNKNOWN_CHARACTER_SET,
};
use cohort_sql::expr::VariableScope;
use cohort_sql::parse::without_passwords;
use cohort_sql::privilege::Privilege::{
    ConnectionAdmin, ReplicationApplier, RoleAdmin, SessionVariablesAdmin, Super, SystemVariablesAdmin,
};
use cohort_sql::privilege::PrivilegeSet;
use cohort_sql::privilege::needs::{Holder, Need};
use cohort_sql::privilege::roster::Roster;
use cohort_sql::session::{DiagnosticLevel, Environment, KillTarget, LockOwner, SessionState, ShowTable};
use cohort_sql::types::Charset;
use cohort_sql::{SqlError, Value};
use cohort_txn::GtidMode;
use serde_json::json;

use crate::accounts::usage::{Limits, Place};
use crate::accounts::{AccountSession, Identity};
use crate::gtids;
use crate::processlist::Process;
use crate::protocol::reply::put_variable_change;
use crate::server::{Server, settle_memory_limits};
use crate::session::statement_place::StatementPlace;
use crate::session::{show, variables};
use crate::status::{KindIndex, Tally};
use crate::sysvars::{Effect, Id, SessionSettings, Setting, Source, Typed, VariableId, ids};

/// One session's side of [`Environment`].
pub struct SessionEnvironment {
    /// The server.
    pub server: Arc<Server>,
    /// The session's entry in the process list.
    pub process: Arc<Process>,
    /// What is counted for the session.
    pub tally: Arc<Tally>,
    identity: RefCell<Identity>,
    active_roles: RefCell<BTreeSet<AccountName>>,
    /// Of the accounts that the session's privileges are from.
    accounts_version: Cell<Option<u64>>,
    holder: RefCell<Holder>,
    /// At the account.
    place: RefCell<Option<Place>>,
    /// Of the account.
    limits: Cell<Limits>,
    settings: RefCell<SessionSettings>,
    /// Variables whose new values go into the next OK packet, in the order of their changes.
    changes: RefCell<Vec<VariableId>>,
    tracks_changes: Cell<bool>,
    settings_changed: Cell<bool>,
}

impl SessionEnvironment {
    /// For a session that begins; nobody has logged in yet.
    pub fn new(server: Arc<Server>, process: Arc<Process>, tally: Arc<Tally>) -> SessionEnvironment {
        let settings = SessionSettings::new(&server.globals);
        SessionEnvironment {
            server,
            process,
            tally,
            identity: RefCell::default(),
            active_roles: RefCell::default(),
            accounts_version: Cell::new(None),
            holder: RefCell::new(Holder::nobody()),
            place: RefCell::new(None),
            limits: Cell::default(),
            settings: RefCell::new(settings),
            changes: RefCell::default(),
            tracks_changes: Cell::new(false),
            settings_changed: Cell::new(true),
        }
    }

    /// Somebody has logged in: a session begins with fresh settings, and with the collation that the client named, if its
    /// character set is known.
    pub fn begin(&self, session: &mut SessionState, identity: Identity, collation: Option<Collation>) {
        self.process.set_user(&identity.user);
        let all_roles = self.server.globals.get(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
        self.active_roles.replace(self.server.accounts.default_roles(&identity.account(), all_roles));
        self.identity.replace(identity);
        // Nothing of whoever was logged in before is kept.
        session.holder = Holder::nobody();
        self.holder.replace(Holder::nobody());
        self.accounts_version.set(None);
        self.follow_accounts(session);
        let mut settings = SessionSettings::new(&self.server.globals);
        if let Some(collation) = collation {
            let set = |(id, setting): &(VariableId, Setting)| settings.set(*id, setting.clone());
            charset_settings(collation, collation).iter().for_each(set);
        }
        let own = u64::from(self.limits.get().user_connections);
        if own > 0 {
            settings.set(ids::MAX_USER_CONNECTIONS.into(), Setting::Int(own));
        }
        variables::apply_all(session, &settings);
        if let Some(collation) = collation {
            (session.client, session.results) = (collation, Some(collation));
        }
        session.database_collation = None;
        self.settings.replace(settings);
        self.changes.borrow_mut().clear();
        self.settings_changed.set(true);
    }

    /// Takes a place at the account that has logged in; 1226 or 1203 if it has none. Privileged accounts have as many
    /// as they need, unless they have a limit of their own.
    pub fn take_place(&self) -> Result<(), SqlError> {
        // A place of the same account may be free by this.
        self.place.replace(None);
        let any = PrivilegeSet::of(&[Super, ConnectionAdmin]);
        let most = match self.holder.borrow().grants.global().has_any(any) {
            true => 0,
            false => self.server.globals.get(ids::MAX_USER_CONNECTIONS),
        };
        let account = self.identity().account();
        self.place.replace(Some(self.server.accounts.usages.take_place(&account, self.limits.get(), most)?));
        Ok(())
    }

    /// A statement begins: 1226 if the account has no more of them in this hour.
    pub fn begin_query(&self) -> Result<(), SqlError> {
        let limits = self.limits.get();
        if limits.queries == 0 {
            return Ok(());
        }
        let account = self.identity().account();
        self.place.borrow().as_ref().map_or(Ok(()), |place| place.begin_query(&account, limits))
    }

    /// As [`SessionEnvironment::begin`] for whoever is logged in.
    pub fn reset(&self, session: &mut SessionState) {
        let identity = self.identity.borrow().clone();
        self.begin(session, identity, None);
    }

    /// `wait_timeout` begins as `interactive_timeout`: the client says that a person types.
    pub fn use_interactive_timeout(&self) {
        let timeout = self.get(ids::INTERACTIVE_TIMEOUT);
        self.settings.borrow_mut().set(ids::WAIT_TIMEOUT.into(), Setting::Int(timeout));
        self.settings_changed.set(true);
    }

    /// Takes over what the account and its active roles may do, if that may have changed.
    pub fn follow_accounts(&self, session: &mut SessionState) {
        let accounts = &self.server.accounts;
        let version = Some(accounts.version());
        if self.accounts_version.replace(version) != version {
            let lifetime = self.server.globals.get(ids::DEFAULT_PASSWORD_LIFETIME) as u32;
            // A session whose account is gone goes on as it was, as in MySQL.
            self.limits.set(accounts.limits(&self.identity.borrow().account()));
            if let Some(holder) = accounts.holder(&self.identity.borrow(), &self.active_roles.borrow(), lifetime) {
                session.holder = holder.clone();
                self.holder.replace(holder);
            }
        }
    }

    /// The session's active roles.
    pub fn active_roles(&self) -> BTreeSet<AccountName> {
        self.active_roles.borrow().clone()
    }

    /// Who is logged in.
    pub fn identity(&self) -> Identity {
        self.identity.borrow().clone()
    }

    /// Enters a statement into the audit log, if that takes them.
    pub fn audit_statement(&self, session: &SessionState, event: &str, sql: &[u8]) {
        let audit = &self.server.audit;
        if audit.takes_statements() {
            let sql = without_passwords(sql, session.sql_mode);
            audit.statement(&self.server.counters, event, self.process.id, &self.user(), &sql);
        }
    }

    /// Enters into the audit log that the user who is logged in now came in, or why not.
    pub fn audit_connect(&self, errno: u16) {
        let Server { audit, counters, .. } = &*self.server;
        audit.event(counters, "connect", || {
            let tls = self.process.socket().tls().map(|tls| tls.version);
            let fields = (self.process.id, self.user(), self.current_user());
            json!({
                "connection": fields.0, "user": fields.1, "account": fields.2, "host": self.process.host,
                "tls": tls, "errno": errno,
            })
        });
    }

    /// Whether the client wants to hear of state changes.
    pub fn set_tracks_changes(&self, tracks: bool) {
        self.tracks_changes.set(tracks);
    }

    /// The state changes since the last call, appended to `out`.
    pub fn take_changes(&self, out: &mut Vec<u8>) {
        for id in self.changes.borrow_mut().drain(..) {
            let value = self.settings.borrow().setting(id).to_text();
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

    /// The session's value of a variable.
    pub fn get<T: Typed>(&self, id: Id<T>) -> T {
        self.settings.borrow().get(id)
    }

    /// A variable's value, the global one if `global`.
    fn value(&self, session: &SessionState, id: VariableId, global: bool) -> Value {
        let row = id.row();
        match row.source {
            Source::Session(read) => read(session),
            Source::ConnectionId => Value::UInt(self.connection_id()),
            Source::GtidExecuted => Value::text(self.server.store().executed().1.to_string()),
            Source::GtidPurged => Value::text(self.server.gtid_purged()),
            Source::GtidOwned if global => Value::text(self.server.gtid_owned()),
            Source::GtidOwned => Value::text(session.gtid_owned()),
            Source::Setting if global => row.value(&self.server.globals.setting(id)),
            Source::DefaultDatabase(read) if !global => match self.server.database.collation_of_default(session) {
                Some(collation) => Value::text(read(collation)),
                None => row.value(self.settings.borrow().setting(id)),
            },
            Source::DefaultDatabase(_) => row.value(&self.server.globals.setting(id)),
            Source::Setting => row.value(self.settings.borrow().setting(id)),
        }
    }

    /// A variable as SHOW VARIABLES shows it.
    pub fn shown(&self, session: &SessionState, id: VariableId, global: bool) -> String {
        match id.row().source {
            Source::Setting if global => self.server.globals.setting(id).to_text(),
            Source::Setting => self.settings.borrow().setting(id).to_text(),
            _ => match self.value(session, id, global) {
                Value::Double(value) => format!("{value:.6}"),
                Value::UInt(value) => value.to_string(),
                Value::Text(text) => text.to_string(),
                other => unreachable!("{} is {other:?}", id.row().name),
            },
        }
    }

    fn set_in_session(&self, session: &mut SessionState, id: VariableId, setting: Setting) {
        let follower = id.row().follower(&setting);
        for (id, setting) in [Some((id, setting)), follower].into_iter().flatten() {
            id.row().apply_to(session, &setting);
            self.track(id);
            self.settings.borrow_mut().set(id, setting);
        }
        self.settings_changed.set(true);
    }

    fn set_globally(&self, id: VariableId, setting: Setting) {
        let follower = id.row().follower(&setting);
        let globals = &self.server.globals;
        for (id, setting) in [Some((id, setting)), follower].into_iter().flatten() {
            globals.set(id, setting);
        }
        match id.row().effect {
            Effect::Nothing => {}
            Effect::CommitPath => {
                variables::apply_commit_settings(self.server.store().settings(), globals);
                variables::apply_ack_options(self.server.store().binlog().acks(), globals);
                for warning in variables::durability_warnings(globals) {
                    log::warn!("{warning}");
                }
            }
            Effect::OperatorLog => variables::apply_log_settings(globals),
            Effect::MemoryLimits => {
                settle_memory_limits(globals);
                self.server.memory.limit.store(globals.get(ids::GLOBAL_CONNECTION_MEMORY_LIMIT), Ordering::Relaxed);
            }
            Effect::AuditLog => self.server.audit.apply_policy(globals),
            Effect::HostCache => self.server.hosts.flush(),
            Effect::MandatoryRoles => self.server.accounts.set_mandatory_roles(&globals.get(ids::MANDATORY_ROLES)),
            Effect::WrongPasswords => self.server.hosts.forget_wrong_passwords(),
            Effect::ReadOnly => variables::apply_read_only(&self.server.read_only, globals),
        }
    }

    /// The character set of this name, or that of the server's clients; 1115 for one that is not known.
    fn charset_or_default(&self, name: Option<&str>) -> Result<Charset, SqlError> {
        let default = self.server.globals.get(ids::CHARACTER_SET_CLIENT);
        let name = name.unwrap_or(&default);
        Charset::from_name(name).ok_or_else(|| SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[&name]))
    }

    /// The client writes and reads in the character set of one collation, and literals are of another one.
    fn use_collations(&self, session: &mut SessionState, client: Collation, connection: Collation) {
        for (id, setting) in charset_settings(client, connection) {
            self.set_in_session(session, id, setting);
        }
        (session.client, session.results) = (client, Some(client));
    }

    /// Notes a change for the next OK packet, if the client wants to hear of this variable.
    fn track(&self, id: VariableId) {
        if !self.tracks_changes.get() || self.changes.borrow().contains(&id) {
            return;
        }
        let row = id.row();
        let list = self.get(ids::SESSION_TRACK_SYSTEM_VARIABLES);
        let names = |name: &str| name == "*" || name.eq_ignore_ascii_case(row.name) || row.alias == Some(name);
        if list.split(',').map(str::trim).any(names) {
            self.changes.borrow_mut().push(id);
        }
    }
}

/// The variables of a session whose client uses the character set of one collation, and whose literals are of another
/// one.
fn charset_settings(client: Collation, connection: Collation) -> [(VariableId, Setting); 4] {
    [
        (ids::CHARACTER_SET_CLIENT.into(), Setting::text(client.charset().name())),
        (ids::CHARACTER_SET_RESULTS.into(), Setting::text(client.charset().name())),
        (ids::CHARACTER_SET_CONNECTION.into(), Setting::text(connection.charset().name())),
        (ids::COLLATION_CONNECTION.into(), Setting::text(connection.name())),
    ]
}

impl Environment for SessionEnvironment {
    fn connection_id(&self) -> u64 {
        u64::from(self.process.id)
    }

    fn has_connection(&self, id: u64) -> bool {
        self.server.processes.find(id).is_some()
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
        let global = variables::reads_global(id.row(), scope)?;
        Ok(self.value(session, id, global))
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
        if global {
            session.holder.check(&[Need::AnyOf(PrivilegeSet::of(&[Super, SystemVariablesAdmin]))])?;
        } else if row.restricted {
            let any = match id == ids::GTID_NEXT.into() {
                true => PrivilegeSet::of(&[Super, SystemVariablesAdmin, SessionVariablesAdmin, ReplicationApplier]),
                false => PrivilegeSet::of(&[Super, SystemVariablesAdmin, SessionVariablesAdmin]),
            };
            session.holder.check(&[Need::AnyOf(any)])?;
        }
        let setting = match value {
            Some(value) => {
                let before =
                    if global { self.server.globals.setting(id) } else { self.settings.borrow().setting(id).clone() };
                variables::check_value(session, row, &before, &value)?
            }
            None if global || row.scope == crate::sysvars::Scope::Session => row.default_setting(),
            None => self.server.globals.setting(id),
        };
        if id == ids::MANDATORY_ROLES.into() {
            session.holder.check(&[Need::AnyOf(PrivilegeSet::of(&[Super, RoleAdmin]))])?;
            self.server.accounts.may_be_mandatory(&session.holder, &setting.to_text())?;
        }
        if let Some(refusal) = gtids::refusal(&self.server.globals, id, &setting) {
            return Err(refusal);
        }
        if id == ids::GTID_PURGED.into() {
            return self.server.set_gtid_purged(&setting.to_text());
        }
        if id == ids::GTID_NEXT.into() {
            session.choose_gtid(self.server.database.store(), self.connection_id(), &setting.to_text())?;
        }
        if id == ids::BINLOG_FORMAT.into() && !global && session.in_transaction() {
            return Err(SqlError::new(ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_BINLOG_FORMAT, &[]));
        }
        if id == ids::SQL_LOG_BIN.into() && session.in_transaction() {
            return Err(SqlError::new(ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN, &[]));
        }
        match global {
            true if row.effect == Effect::ReadOnly && setting == Setting::Bool(true) => {
                self.server.database.while_nobody_changes(session, || self.set_globally(id, setting))?;
            }
            true if row.effect == Effect::ReadOnly && session.in_transaction() => {
                return Err(SqlError::new(ER_LOCK_OR_ACTIVE_TRANSACTION, &[]));
            }
            true => self.set_globally(id, setting),
            false => self.set_in_session(session, id, setting),
        }
        Ok(())
    }

    fn is_hintable(&self, name: &str) -> Result<bool, SqlError> {
        Ok(variables::find(name)?.row().hintable)
    }

    fn set_names(
        &self,
        session: &mut SessionState,
        charset_name: Option<&str>,
        collation_name: Option<&str>,
    ) -> Result<(), SqlError> {
        let charset = self.charset_or_default(charset_name)?;
        let collation = collation_name.map(Collation::named).transpose()?.unwrap_or(charset.default_collation());
        if collation.charset() != charset {
            return Err(SqlError::new(ER_COLLATION_CHARSET_MISMATCH, &[&collation.name(), &charset.name()]));
        }
        self.use_collations(session, collation, collation);
        Ok(())
    }

    fn set_character_set(&self, session: &mut SessionState, charset_name: Option<&str>) -> Result<(), SqlError> {
        let charset = self.charset_or_default(charset_name)?;
        let of_database =
            self.server.database.collation_of_default(session).unwrap_or_else(|| {
                Collation::from_name(&self.get(ids::COLLATION_DATABASE)).unwrap_or(Collation::DEFAULT)
            });
        self.use_collations(session, charset.default_collation(), of_database);
        Ok(())
    }

    fn show(&self, session: &SessionState, what: &ShowKind) -> Result<ShowTable, SqlError> {
        show::table(self, session, what)
    }

    fn roster(&self) -> Roster {
        let default = self.server.globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN);
        let accounts = self.server.accounts.records(&default);
        Roster { accounts, own: self.identity().account(), active: self.active_roles() }
    }

    fn kill(&self, connection_id: u64, target: KillTarget) -> Result<(), SqlError> {
        let process = self.server.processes.find(connection_id);
        let process = process.ok_or_else(|| SqlError::new(ER_NO_SUCH_THREAD, &[&connection_id]))?;
        let holder = self.holder.borrow();
        holder.check_password()?;
        let any = PrivilegeSet::of(&[Super, ConnectionAdmin]);
        let user = process.activity().user;
        let may_end = || holder.grants.global().has_any(any) && self.server.accounts.may_end(&holder, &user);
        if *user != *holder.user && !may_end() {
            return Err(SqlError::new(ER_KILL_DENIED_ERROR, &[&connection_id]));
        }
        if connection_id == u64::from(self.process.id) {
            // A statement that ends itself was interrupted.
            if target != KillTarget::Query {
                process.kill(target);
            }
            return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
        }
        process.kill(target);
        Ok(())
    }

    fn account(&self, session: &SessionState, statement: &AccountStatement) -> Result<(), SqlError> {
        let server = &self.server;
        let identity = self.identity();
        if let AccountStatement::Role(RoleStatement::Set(choice)) = statement {
            self.active_roles.replace(server.accounts.chosen_roles(choice, &identity.account())?);
            self.accounts_version.set(None);
            return Ok(());
        }
        let of = AccountSession {
            database: &server.database,
            session,
            env: self,
            identity: &identity,
            globals: &server.globals,
        };
        let result = server.accounts.execute(of, statement);
        server.audit.event(&server.counters, "account", || {
            let errno = result.as_ref().map_or_else(|error| error.errno, |()| 0);
            let sql = self.process.activity().info;
            json!({
                "connection": self.process.id, "user": self.user(), "sql": String::from_utf8_lossy(&sql),
                "errno": errno,
            })
        });
        result
    }

    fn administer(&self, session: &mut SessionState, command: &AdminCommand) -> Result<(), SqlError> {
        match command {
            AdminCommand::FlushStatus => {
                self.tally.flush();
                Ok(())
            }
            AdminCommand::PurgeBinaryLogsTo(name) => {
                note_left(session, self.server.purge_binlog_to(name)?);
                Ok(())
            }
            _ => self.server.administer(command),
        }
    }

    fn purge_binlog_before(&self, session: &mut SessionState, seconds: i64) -> Result<(), SqlError> {
        note_left(session, self.server.purge_binlog_before(seconds)?);
        Ok(())
    }

    fn wait_for_gtids(
        &self,
        set: &GtidSet,
        deadline: Option<Instant>,
        ended: &dyn Fn() -> bool,
    ) -> Result<bool, SqlError> {
        match self.server.store().gtid_mode() {
            GtidMode::On => Ok(self.server.store().wait_until_executed(set, deadline, ended)),
            GtidMode::Off => Err(SqlError::new(ER_GTID_MODE_OFF, &[&"use WAIT_FOR_EXECUTED_GTID_SET"])),
        }
    }

    fn lock_owner(&self, owner: u64) -> Option<LockOwner> {
        self.server.processes.lock_owner(owner)
    }

    fn version(&self) -> String {
        self.server.globals.get(ids::VERSION)
    }

    fn statement_place(&self, named: usize) -> Result<Box<dyn Send + Sync>, SqlError> {
        Ok(Box::new(StatementPlace::take(&self.server, named)?))
    }

    fn executes(&self, sql: &[u8]) {
        self.tally.statement(const { KindIndex::named("stmt_execute") });
        self.tally.statement(KindIndex::of_statement(sql));
    }

    fn begin_update(&self) -> Result<(), SqlError> {
        let limits = self.limits.get();
        if limits.updates == 0 {
            return Ok(());
        }
        let account = self.identity().account();
        self.place.borrow().as_ref().map_or(Ok(()), |place| place.begin_update(&account, limits))
    }
}

/// Tells a session of binlog files that stay although it purged them.
fn note_left(session: &SessionState, warning: Option<SqlError>) {
    warning.into_iter().for_each(|warning| session.push_diagnostic(DiagnosticLevel::Warning, warning));
}
