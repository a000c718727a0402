//! What statements need, and whether an account holds it.
//!
//! Outline: a statement's [`Need`]s come from [`of_statement`], the one table from statements to privileges, or, where
//! rows are read or changed, from the planner, which knows the columns. [`Holder`] judges them.
//!
//! What a plan needs is asked each time it runs, since a plan is shared by all accounts.
//!
//! Source: MySQL 8.0 manual, "Privileges Provided by MySQL", and the page of each statement.

use std::sync::Arc;

use super::grants::Grants;
use super::{INFORMATION_SCHEMA, Privilege, PrivilegeSet};
use crate::ast::{
    AccountOptions, AccountStatement, AdminCommand, AlterAction, Assignment, BackupCommand, Ddl, Maintenance, ShowKind,
    ShowSchema, Statement, TableName, XaStatement,
};
use crate::error::{
    ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_MUST_CHANGE_PASSWORD, ER_SPECIFIC_ACCESS_DENIED_ERROR,
    ER_TABLEACCESS_DENIED_ERROR, ER_XAER_RMERR, SqlError,
};
use crate::expr::VariableScope;

/// Something a statement needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// One of these, on everything: else 1227.
    AnyOf(PrivilegeSet),
    /// One of these on the database: else 1044.
    OnDatabase(String, PrivilegeSet),
    /// Anything at all on the database or in it: else 1044.
    SeesDatabase(String),
    /// All of these on the table: else 1142.
    OnTable(String, String, PrivilegeSet),
    /// This on each of the columns: else 1142 if it is held on none of the table's, 1143 for the first one without.
    OnColumns(String, String, Privilege, Vec<String>),
    /// This on the table or any of its columns: else 1142.
    OnSomeColumn(String, String, Privilege),
    /// One of these on the table: else 1142.
    AnyOnTable(String, String, PrivilegeSet),
    /// Anything at all on the table or a column: else 1142 for SELECT.
    SeesTable(String, String),
    /// Anything at all on the table: else 1142 for SHOW.
    SeesAllOfTable(String, String),
    /// What XA RECOVER needs: else 1401.
    XaRecover,
}

/// What a plan needs.
#[derive(Debug)]
pub(crate) struct Needs {
    needs: Vec<Need>,
    /// Whoever holds these on everything holds what is needed; `None` if that cannot be said so.
    globally: Option<PrivilegeSet>,
}

impl Needs {
    pub(crate) fn new(needs: Vec<Need>) -> Needs {
        let of = |need: &Need| match need {
            Need::OnDatabase(_, all) | Need::OnTable(_, _, all) | Need::AnyOnTable(_, _, all) | Need::AnyOf(all) => {
                Some(*all)
            }
            Need::OnColumns(_, _, privilege, _) | Need::OnSomeColumn(_, _, privilege) => Some((*privilege).into()),
            Need::SeesDatabase(_) | Need::SeesTable(..) | Need::SeesAllOfTable(..) | Need::XaRecover => None,
        };
        let globally = needs.iter().map(of).try_fold(PrivilegeSet::NONE, |all, one| Some(all.with(one?)));
        Needs { needs, globally }
    }

    /// The error of the first need that is not held.
    pub(crate) fn check(&self, holder: &Holder) -> Result<(), SqlError> {
        holder.check_password()?;
        match self.globally {
            Some(all) if holder.grants.global().has_all(all) => Ok(()),
            _ => holder.check(&self.needs),
        }
    }
}

/// Whose privileges are asked.
#[derive(Clone, Debug)]
pub struct Holder {
    /// The account's user.
    pub user: String,
    /// The account's host, as errors show it.
    pub host: String,
    /// What the account and its active roles hold, together.
    pub grants: Arc<Grants>,
    /// The password has expired: nothing but a new one is taken.
    pub must_change_password: bool,
}

impl Holder {
    /// Somebody who may do everything: the server itself, and whoever embeds it.
    pub fn everything() -> Holder {
        Holder {
            user: String::new(),
            host: String::new(),
            grants: Arc::new(Grants::everything()),
            must_change_password: false,
        }
    }

    /// Nobody, who may do nothing.
    pub fn nobody() -> Holder {
        Holder { user: String::new(), host: String::new(), grants: Arc::default(), must_change_password: false }
    }

    /// Error 1820 if a new password has to be set first.
    pub fn check_password(&self) -> Result<(), SqlError> {
        if self.must_change_password { Err(SqlError::new(ER_MUST_CHANGE_PASSWORD, &[])) } else { Ok(()) }
    }

    /// The error of a statement that is not planned, if it needs what is not held. Names without a database are of the
    /// default one.
    pub(crate) fn check_statement(&self, statement: &Statement, default: Option<&str>) -> Result<(), SqlError> {
        if self.must_change_password && !Self::may_run_expired(statement) {
            self.check_password()?;
        }
        self.check(&of_statement(statement, default))
    }

    /// Whether a statement is taken from a session whose password has expired: a new one, which those who keep accounts
    /// see to be for its own, and what clients set for their session before that.
    fn may_run_expired(statement: &Statement) -> bool {
        match statement {
            Statement::Account(AccountStatement::SetPassword { .. }) => true,
            Statement::Account(AccountStatement::AlterUser { users, options, .. }) => {
                *options == AccountOptions::default() && users.iter().all(|user| user.authentication.is_some())
            }
            Statement::Set(assignments) => !assignments
                .iter()
                .any(|assignment| matches!(assignment, Assignment::System { scope: VariableScope::Global, .. })),
            _ => false,
        }
    }

    /// The error of the first of `needs` that is not held.
    pub fn check<'n>(&self, needs: impl IntoIterator<Item = &'n Need>) -> Result<(), SqlError> {
        needs.into_iter().try_for_each(|need| self.check_one(need))
    }

    fn check_one(&self, need: &Need) -> Result<(), SqlError> {
        let grants = &self.grants;
        match need {
            Need::AnyOf(any) if grants.global().has_any(*any) => Ok(()),
            Need::AnyOf(any) => Err(self.lacks(*any)),
            Need::OnDatabase(database, any) if grants.on_database(database).has_any(*any) => Ok(()),
            Need::SeesDatabase(database) if grants.sees_database(database) => Ok(()),
            Need::OnDatabase(database, _) | Need::SeesDatabase(database) => {
                Err(SqlError::new(ER_DBACCESS_DENIED_ERROR, &[&self.user, &self.host, database]))
            }
            Need::OnTable(database, table, all) => {
                let lacking = all.without(grants.on_table(database, table));
                if lacking.is_empty() { Ok(()) } else { Err(self.lacks_on_table(lacking, table)) }
            }
            Need::AnyOnTable(database, table, any) => {
                let held = grants.on_table_or_column(database, table).has_any(*any);
                if held { Ok(()) } else { Err(self.lacks_on_table(*any, table)) }
            }
            Need::OnColumns(database, table, privilege, columns) => {
                if grants.on_table(database, table).has(*privilege) {
                    return Ok(());
                }
                if !grants.on_table_or_column(database, table).has(*privilege) {
                    return Err(self.lacks_on_table((*privilege).into(), table));
                }
                let held = |column: &&String| grants.on_column(database, table, column).has(*privilege);
                match columns.iter().find(|column| !held(column)) {
                    None => Ok(()),
                    Some(column) => Err(SqlError::new(
                        ER_COLUMNACCESS_DENIED_ERROR,
                        &[privilege, &self.user, &self.host, column, table],
                    )),
                }
            }
            Need::OnSomeColumn(database, table, privilege) => {
                let held = grants.on_table_or_column(database, table).has(*privilege);
                if held { Ok(()) } else { Err(self.lacks_on_table((*privilege).into(), table)) }
            }
            Need::SeesTable(database, table) => {
                let seen = grants.sees_table(database, table);
                if seen { Ok(()) } else { Err(self.lacks_on_table(Privilege::Select.into(), table)) }
            }
            Need::SeesAllOfTable(database, table) => {
                let seen = grants.sees_all_of_table(database, table);
                let denied = || SqlError::new(ER_TABLEACCESS_DENIED_ERROR, &[&"SHOW", &self.user, &self.host, table]);
                if seen { Ok(()) } else { Err(denied()) }
            }
            Need::XaRecover if grants.global().has(Privilege::XaRecoverAdmin) => Ok(()),
            Need::XaRecover => Err(SqlError::new(ER_XAER_RMERR, &[])),
        }
    }

    /// Error 1227: one of these is needed.
    pub fn lacks(&self, any: PrivilegeSet) -> SqlError {
        let names: Vec<&str> = any.iter().map(|one| one.row().name).collect();
        SqlError::new(ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&names.join(" or ")])
    }

    fn lacks_on_table(&self, lacking: PrivilegeSet, table: &str) -> SqlError {
        // As a command GRANT OPTION is GRANT.
        let commands = lacking.to_string().replace("GRANT OPTION", "GRANT");
        SqlError::new(ER_TABLEACCESS_DENIED_ERROR, &[&commands, &self.user, &self.host, &table])
    }
}

/// What a statement needs that reads and changes no rows of tables, with names as they are without a database in the
/// default one. Needs that depend on whose a thing is (KILL, SET PASSWORD, GRANT) are asked where it is done, as are
/// those of single variables (SET).
fn of_statement(statement: &Statement, default: Option<&str>) -> Vec<Need> {
    use Privilege::{BackupAdmin, FlushTables, Insert, Reload, Select};
    match statement {
        // The planner says.
        Statement::Select(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => Vec::new(),
        Statement::Explain(_) => Vec::new(),
        Statement::Begin { .. } | Statement::Commit(_) | Statement::Rollback(_) => Vec::new(),
        Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::ReleaseSavepoint(_) => Vec::new(),
        Statement::Xa(XaStatement::Recover { .. }) => vec![Need::XaRecover],
        Statement::Xa(_) => Vec::new(),
        Statement::Set(_) | Statement::Do(_) | Statement::Kill { .. } => Vec::new(),
        // Asked where the database is made the default one, which packets do too.
        Statement::Use(_) => Vec::new(),
        Statement::Ddl(ddl) => of_ddl(ddl, default),
        Statement::ShowSchema { what, .. } => of_show_schema(what, default),
        Statement::Show { what, .. } => of_show(what),
        Statement::ShowDiagnostics { .. } => Vec::new(),
        Statement::Account(_) => Vec::new(),
        Statement::Admin(command) => of_admin(command),
        Statement::LockTables(tables) => tables.iter().flat_map(|table| to_lock(&table.name, default)).collect(),
        Statement::FlushTables(flush) => {
            // Those of information_schema are nobody's to lock.
            let is_locked = |name: &&TableName| {
                let database = name.database.as_deref().or(default).unwrap_or_default();
                flush.read_lock && !database.eq_ignore_ascii_case(INFORMATION_SCHEMA)
            };
            let read_lock = flush.tables.iter().filter(is_locked);
            let locks = read_lock.flat_map(|name| to_lock(name, default));
            any_of(&[Reload, FlushTables]).into_iter().chain(locks).collect()
        }
        Statement::Maintain(maintain) => {
            let needed: &[Privilege] = match maintain.what {
                Maintenance::Analyze | Maintenance::Optimize | Maintenance::Repair => &[Select, Insert],
                Maintenance::Check | Maintenance::Checksum => &[Select],
            };
            maintain.tables.iter().flat_map(|name| on_table(name, default, needed)).collect()
        }
        Statement::Backup(BackupCommand::LockInstance | BackupCommand::UnlockInstance) => any_of(&[BackupAdmin]),
        Statement::Backup(_) => any_of(&[Reload]),
        // What is executed is asked for when it is.
        Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_) => Vec::new(),
        Statement::UnlockTables | Statement::Nothing => Vec::new(),
    }
}

/// What a SHOW of the server needs, a table of information_schema that is made of one too.
pub(crate) fn of_show(what: &ShowKind) -> Vec<Need> {
    use Privilege::*;
    match what {
        ShowKind::BinaryLogs | ShowKind::BinaryLogStatus | ShowKind::ReplicaStatus => {
            any_of(&[Super, ReplicationClient])
        }
        ShowKind::Replicas { .. } | ShowKind::BinlogEvents { .. } => any_of(&[ReplicationSlave]),
        ShowKind::Engine { .. } => any_of(&[Process]),
        // Own rows only without PROCESS; another account's grants are asked for where they are shown.
        ShowKind::ProcessList { .. } | ShowKind::Grants { .. } | ShowKind::CreateUser { .. } => Vec::new(),
        ShowKind::Variables(_) | ShowKind::Status(_) | ShowKind::Engines | ShowKind::Collation => Vec::new(),
        ShowKind::CharacterSet | ShowKind::Plugins | ShowKind::Privileges => Vec::new(),
    }
}

/// What an operator's command needs, be it a statement or a packet.
pub fn of_admin(command: &AdminCommand) -> Vec<Need> {
    use Privilege::*;
    match command {
        AdminCommand::FlushLogs | AdminCommand::FlushHosts | AdminCommand::ResetBinaryLogs => any_of(&[Reload]),
        AdminCommand::FlushPrivileges => any_of(&[Reload, FlushPrivileges]),
        AdminCommand::FlushStatus => any_of(&[Reload, FlushStatus]),
        AdminCommand::FlushUserResources => any_of(&[Reload, FlushUserResources]),
        AdminCommand::PurgeBinaryLogsTo(_) | AdminCommand::PurgeBinaryLogsBefore(_) => any_of(&[Super, BinlogAdmin]),
        AdminCommand::Shutdown => any_of(&[Shutdown]),
        AdminCommand::ReloadTls => any_of(&[ConnectionAdmin]),
    }
}

fn any_of(privileges: &[Privilege]) -> Vec<Need> {
    vec![Need::AnyOf(PrivilegeSet::of(privileges))]
}

/// Database and table; without any database there is nothing to ask for, and the statement fails with 1046.
fn place<'n>(name: &'n TableName, default: Option<&'n str>) -> Option<(String, String)> {
    let database = name.database.as_deref().or(default)?;
    Some((database.to_owned(), name.table.clone()))
}

fn on_table(name: &TableName, default: Option<&str>, privileges: &[Privilege]) -> Vec<Need> {
    let place = place(name, default).into_iter();
    place.map(|(database, table)| Need::OnTable(database, table, PrivilegeSet::of(privileges))).collect()
}

/// To lock a table; without LOCK TABLES it is the database that is not to be used.
fn to_lock(name: &TableName, default: Option<&str>) -> Vec<Need> {
    let place = place(name, default).into_iter();
    let needs = place.flat_map(|(database, table)| {
        let lock = Need::OnDatabase(database.clone(), Privilege::LockTables.into());
        [lock, Need::OnTable(database, table, Privilege::Select.into())]
    });
    needs.collect()
}

fn of_ddl(ddl: &Ddl, default: Option<&str>) -> Vec<Need> {
    use Privilege::*;
    match ddl {
        Ddl::CreateDatabase { name, .. } => vec![Need::OnDatabase(name.clone(), Create.into())],
        Ddl::AlterDatabase { name, .. } => {
            let name = name.as_deref().or(default);
            name.map(|name| Need::OnDatabase(name.to_owned(), Alter.into())).into_iter().collect()
        }
        Ddl::DropDatabase { name, .. } => vec![Need::OnDatabase(name.clone(), Drop.into())],
        Ddl::CreateTable(table) if table.rows.is_some() => on_table(&table.name, default, &[Create, Insert]),
        Ddl::CreateTable(table) => on_table(&table.name, default, &[Create]),
        Ddl::CreateTableLike { name, like, .. } => {
            [on_table(name, default, &[Create]), on_table(like, default, &[Select])].concat()
        }
        Ddl::DropTables { names, .. } => names.iter().flat_map(|name| on_table(name, default, &[Drop])).collect(),
        Ddl::RenameTables(renamed) => {
            let needs =
                |(from, to)| [on_table(from, default, &[Alter, Drop]), on_table(to, default, &[Create, Insert])];
            renamed.iter().map(|(from, to)| (from, to)).flat_map(needs).flatten().collect()
        }
        Ddl::Truncate(name) => on_table(name, default, &[Drop]),
        Ddl::AlterTable(alter) => {
            let mut needs = on_table(&alter.name, default, &[if alter.of_index { Index } else { Alter }]);
            for action in &alter.actions {
                if let AlterAction::RenameTo(to) = action {
                    needs.extend(on_table(&alter.name, default, &[Drop]));
                    needs.extend(on_table(to, default, &[Create, Insert]));
                }
            }
            needs
        }
    }
}

fn of_show_schema(what: &ShowSchema, default: Option<&str>) -> Vec<Need> {
    let sees = |name: &TableName| {
        place(name, default).into_iter().map(|(database, table)| Need::SeesTable(database, table)).collect()
    };
    match what {
        // What cannot be seen is left out.
        ShowSchema::Databases => Vec::new(),
        ShowSchema::Tables { database, .. }
        | ShowSchema::TableStatus { database }
        | ShowSchema::Absent { database, .. } => {
            let database = database.as_deref().or(default);
            database.map(|database| Need::SeesDatabase(database.to_owned())).into_iter().collect()
        }
        ShowSchema::Columns { table, .. } | ShowSchema::Index { table } => sees(table),
        // It shows all columns: privileges on some are not enough.
        ShowSchema::CreateTable { table } => {
            let place = place(table, default).into_iter();
            place.map(|(database, table)| Need::SeesAllOfTable(database, table)).collect()
        }
        ShowSchema::CreateDatabase { name, .. } => vec![Need::SeesDatabase(name.clone())],
    }
}
