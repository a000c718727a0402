//! GRANT, REVOKE, CREATE ROLE, DROP ROLE, SET DEFAULT ROLE.

use std::collections::BTreeSet;

use cohort_sql::SqlError;
use cohort_sql::ast::{AccountName, GrantOn, GrantStatement, Granted, RoleChoice, RoleStatement, TableName};
use cohort_sql::error::{
    ER_ACCESS_DENIED_ERROR, ER_BAD_FIELD_ERROR, ER_CANT_CREATE_USER_WITH_GRANT, ER_DBACCESS_DENIED_ERROR,
    ER_ILLEGAL_GRANT_FOR_TABLE, ER_ILLEGAL_PRIVILEGE_LEVEL, ER_NO_DB_ERROR, ER_NO_SUCH_TABLE, ER_NONEXISTING_GRANT,
    ER_NONEXISTING_TABLE_GRANT, ER_REVOKE_GRANTS, ER_ROLE_GRANTED_TO_ITSELF, ER_ROLE_NOT_GRANTED, ER_WRONG_USAGE,
};
use cohort_sql::privilege::grants::{Grants, On, escaped};
use cohort_sql::privilege::needs::Need;
use cohort_sql::privilege::{Level, Privilege, PrivilegeSet};
use cohort_sql::session::DiagnosticLevel::Warning;

use super::account::Account;
use super::{AccountSession, Accounts, Changes, backquoted, identifying, logged, tolerate, unknown};

/// What a GRANT or REVOKE is about, checked.
pub(super) struct Requested {
    pub(super) on: On,
    /// On the whole of it.
    pub(super) whole: PrivilegeSet,
    /// On columns.
    pub(super) columns: Vec<(Privilege, Vec<String>)>,
    /// ALL PRIVILEGES
    pub(super) all: bool,
}

pub(super) fn grant(accounts: &Accounts, of: AccountSession<'_>, statement: &GrantStatement) -> Result<(), SqlError> {
    let mode = of.session.sql_mode;
    let mut changes = Changes::new();
    let names = |changes: &Changes| changes.keys().cloned().collect::<Vec<AccountName>>();
    let sql = match statement {
        GrantStatement::Grant { privileges, on, to, grant_option } => {
            let requested = requested(of, privileges, on)?;
            objects_exist(of, &requested)?;
            may_pass_on(of, &requested, *grant_option)?;
            for name in to {
                accounts.may_change(of, name)?;
                let account = accounts.get(name);
                let mut account = account.ok_or_else(|| SqlError::new(ER_CANT_CREATE_USER_WITH_GRANT, &[]))?;
                give(&mut account.grants, &requested, *grant_option);
                changes.insert(name.clone(), Some(account));
            }
            logged::grant(&requested, to, *grant_option, mode)
        }
        GrantStatement::Revoke { if_exists, privileges, on, from, ignore_unknown_user } => {
            let requested = requested(of, privileges, on)?;
            may_pass_on(of, &requested, false)?;
            for name in from {
                accounts.may_change(of, name)?;
                let Some(mut account) = accounts.get(name) else {
                    let error = SqlError::new(ER_NONEXISTING_GRANT, &[&name.user, &name.host]);
                    tolerate(of.session, *ignore_unknown_user, Warning, error)?;
                    continue;
                };
                if take(&mut account.grants, &requested) {
                    changes.insert(name.clone(), Some(account));
                } else {
                    tolerate(of.session, *if_exists, Warning, no_grant(&requested.on, name))?;
                }
            }
            logged::revoke(&requested, &names(&changes), mode)
        }
        GrantStatement::RevokeAll { if_exists, from, ignore_unknown_user } => {
            of.session.holder.check(&[Need::AnyOf(Privilege::CreateUser.into())])?;
            for name in from {
                accounts.may_change(of, name)?;
                let Some(mut account) = accounts.get(name) else {
                    let error = SqlError::new(ER_REVOKE_GRANTS, &[]);
                    tolerate(of.session, *if_exists || *ignore_unknown_user, Warning, error)?;
                    continue;
                };
                account.grants = Grants::default();
                changes.insert(name.clone(), Some(account));
            }
            logged::revoke_all(&names(&changes), mode)
        }
        GrantStatement::GrantRoles { roles, to, admin_option } => {
            may_grant_roles(accounts, of, roles)?;
            if let Some(missing) = to.iter().chain(roles).find(|name| !accounts.contains(name)) {
                return Err(unknown(missing));
            }
            // Whoever lacks SYSTEM_USER gets it by no role, and gives none to those who have it.
            to.iter().chain(roles).try_for_each(|name| accounts.may_change(of, name))?;
            for name in to {
                let mut account = accounts.get(name).ok_or_else(|| unknown(name))?;
                for role in roles {
                    if reaches(accounts, role, name) {
                        let (name, role) = (backquoted(name), backquoted(role));
                        return Err(SqlError::new(ER_ROLE_GRANTED_TO_ITSELF, &[&name, &role]));
                    }
                    *account.roles.entry(role.clone()).or_insert(false) |= admin_option;
                }
                changes.insert(name.clone(), Some(account));
            }
            logged::grant_roles(roles, to, *admin_option, mode)
        }
        GrantStatement::RevokeRoles { if_exists, roles, from, ignore_unknown_user } => {
            may_grant_roles(accounts, of, roles)?;
            accounts.none_is_mandatory(roles.iter())?;
            for role in roles.iter().filter(|role| !accounts.contains(role)) {
                tolerate(of.session, *if_exists, Warning, unknown(role))?;
            }
            for name in from {
                accounts.may_change(of, name)?;
                let Some(mut account) = accounts.get(name) else {
                    tolerate(of.session, *ignore_unknown_user, Warning, unknown(name))?;
                    continue;
                };
                account.roles.retain(|role, _| !roles.contains(role));
                account.default_roles.retain(|role| !roles.contains(role));
                changes.insert(name.clone(), Some(account));
            }
            logged::revoke_roles(roles, &names(&changes), mode)
        }
    };
    accounts.store(of, changes, &sql)
}

pub(super) fn role(accounts: &Accounts, of: AccountSession<'_>, statement: &RoleStatement) -> Result<(), SqlError> {
    let any = |privileges: &[Privilege]| of.session.holder.check(&[Need::AnyOf(PrivilegeSet::of(privileges))]);
    let mode = of.session.sql_mode;
    match statement {
        RoleStatement::Create { if_not_exists, roles } => {
            any(&[Privilege::CreateUser, Privilege::CreateRole])?;
            let (there, new): (Vec<_>, Vec<_>) = roles.iter().partition(|name| accounts.contains(name));
            identifying::complain(of, "CREATE ROLE", there.into_iter(), *if_not_exists)?;
            let changes = new.iter().map(|name| ((*name).clone(), Some(Account::role()))).collect();
            let verb = if *if_not_exists { "CREATE ROLE IF NOT EXISTS" } else { "CREATE ROLE" };
            accounts.store(of, changes, &logged::named(verb, &new, mode))
        }
        RoleStatement::Drop { if_exists, roles } => {
            any(&[Privilege::CreateUser, Privilege::DropRole])?;
            identifying::drop(accounts, of, "DROP ROLE", *if_exists, roles)
        }
        RoleStatement::SetDefault { roles, users } => {
            if users.iter().any(|name| *name != of.identity.account()) {
                any(&[Privilege::CreateUser])?;
            }
            let mut changes = Changes::new();
            for name in users {
                accounts.may_change(of, name)?;
                let mut account = accounts.get(name).ok_or_else(|| unknown(name))?;
                account.default_roles = chosen(accounts, roles, name, &account)?;
                changes.insert(name.clone(), Some(account));
            }
            accounts.store(of, changes, &logged::default_roles(roles, users, mode))
        }
        RoleStatement::Set(_) => Err(SqlError::internal("SET ROLE is the session's")),
    }
}

/// The roles of an account that are chosen; 3530 if one is not granted to it.
pub(super) fn chosen(
    accounts: &Accounts,
    choice: &RoleChoice,
    name: &AccountName,
    account: &Account,
) -> Result<BTreeSet<AccountName>, SqlError> {
    let all = accounts.roles_of(name, account);
    let granted = |roles: &[AccountName]| match roles.iter().find(|role| !all.contains_key(role)) {
        None => Ok(()),
        Some(role) => Err(SqlError::new(ER_ROLE_NOT_GRANTED, &[&backquoted(role), &backquoted(name)])),
    };
    Ok(match choice {
        RoleChoice::Default => account.default_roles.clone(),
        RoleChoice::None => BTreeSet::new(),
        RoleChoice::All => all.into_keys().collect(),
        RoleChoice::AllExcept(roles) => {
            granted(roles)?;
            all.into_keys().filter(|role| !roles.contains(role)).collect()
        }
        RoleChoice::These(roles) => {
            granted(roles)?;
            roles.iter().cloned().collect()
        }
    })
}

/// Resolves names, and checks that each privilege can be granted at the level.
fn requested(of: AccountSession<'_>, granted: &Granted, on: &GrantOn) -> Result<Requested, SqlError> {
    let default = || {
        let database = of.session.database.as_deref();
        database.map(str::to_owned).ok_or_else(|| SqlError::new(ER_NO_DB_ERROR, &[]))
    };
    let on = match on {
        GrantOn::Global => On::Global,
        GrantOn::Database(Some(pattern)) => On::Database(pattern.clone()),
        GrantOn::Database(None) => On::Database(escaped(&default()?)),
        GrantOn::Table(TableName { database: Some(database), table }) => On::Table(database.clone(), table.clone()),
        GrantOn::Table(TableName { database: None, table }) => On::Table(default()?, table.clone()),
    };
    let level = on.level();
    let Granted::These(listed) = granted else {
        return Ok(Requested { whole: PrivilegeSet::all_at(level), columns: Vec::new(), all: true, on });
    };
    let (mut whole, mut by_column) = (PrivilegeSet::NONE, Vec::new());
    for (privilege, columns) in listed {
        let row = privilege.row();
        if columns.is_empty() && row.lowest >= level {
            whole = whole.with((*privilege).into());
        } else if level == Level::Table && row.lowest == Level::Column {
            by_column.push((*privilege, columns.clone()));
        } else {
            return Err(match (level, columns.is_empty()) {
                (Level::Table, false) => SqlError::new(ER_WRONG_USAGE, &[&"COLUMN GRANT", &"NON-COLUMN PRIVILEGES"]),
                (_, true) if row.dynamic => SqlError::new(ER_ILLEGAL_PRIVILEGE_LEVEL, &[&row.name]),
                (Level::Database, true) => SqlError::new(ER_WRONG_USAGE, &[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
                _ => SqlError::new(ER_ILLEGAL_GRANT_FOR_TABLE, &[]),
            });
        }
    }
    Ok(Requested { on, whole, columns: by_column, all: false })
}

/// A table that something is granted on must be there, unless CREATE is granted; its columns must be.
fn objects_exist(of: AccountSession<'_>, requested: &Requested) -> Result<(), SqlError> {
    let On::Table(database, table) = &requested.on else { return Ok(()) };
    let Some(known) = of.database.column_names(database, table) else {
        return match requested.whole.has(Privilege::Create) && requested.columns.is_empty() {
            true => Ok(()),
            false => Err(SqlError::new(ER_NO_SUCH_TABLE, &[database, table])),
        };
    };
    let mut columns = requested.columns.iter().flat_map(|(_, columns)| columns);
    match columns.find(|column| !known.iter().any(|name| name.eq_ignore_ascii_case(column))) {
        None => Ok(()),
        Some(column) => Err(SqlError::new(ER_BAD_FIELD_ERROR, &[column, table])),
    }
}

/// The session's account must hold what it passes on, with GRANT OPTION.
fn may_pass_on(of: AccountSession<'_>, requested: &Requested, grant_option: bool) -> Result<(), SqlError> {
    let holder = &of.session.holder;
    let of_columns = requested.columns.iter().map(|(privilege, _)| *privilege).collect();
    let option = if grant_option { Privilege::GrantOption.into() } else { PrivilegeSet::NONE };
    let passed = requested.whole.with(of_columns).with(option);
    if holder.grants.may_grant(&requested.on, passed) {
        return Ok(());
    }
    let (user, host) = (&holder.user, &holder.host);
    match &requested.on {
        On::Global => Err(SqlError::new(ER_ACCESS_DENIED_ERROR, &[user, host, &"YES"])),
        On::Database(pattern) => Err(SqlError::new(ER_DBACCESS_DENIED_ERROR, &[user, host, pattern])),
        On::Table(database, table) => {
            let needed = passed.with(Privilege::GrantOption.into());
            holder.check(&[Need::OnTable(database.clone(), table.clone(), needed)])
        }
    }
}

fn give(grants: &mut Grants, requested: &Requested, grant_option: bool) {
    let whole = requested.whole.without(Privilege::GrantOption.into());
    grants.grant(&requested.on, whole, grant_option || requested.whole.has(Privilege::GrantOption));
    if let On::Table(database, table) = &requested.on {
        for (privilege, columns) in &requested.columns {
            grants.grant_columns(database, table, columns, (*privilege).into());
        }
    }
}

/// Takes away what is asked; whether there was anything to take it from.
fn take(grants: &mut Grants, requested: &Requested) -> bool {
    let whole = || requested.columns.is_empty() || !requested.whole.is_empty();
    if whole() && !grants.revoke(&requested.on, requested.whole) {
        return false;
    }
    let On::Table(database, table) = &requested.on else { return true };
    let mut columns = requested.columns.iter();
    columns.all(|(privilege, columns)| grants.revoke_columns(database, table, columns, (*privilege).into()))
}

fn no_grant(on: &On, name: &AccountName) -> SqlError {
    match on {
        On::Table(_, table) => SqlError::new(ER_NONEXISTING_TABLE_GRANT, &[&name.user, &name.host, table]),
        _ => SqlError::new(ER_NONEXISTING_GRANT, &[&name.user, &name.host]),
    }
}

/// Roles are granted by whoever has `ROLE_ADMIN`, or each of them WITH ADMIN OPTION.
pub(super) fn may_grant_roles(
    accounts: &Accounts,
    of: AccountSession<'_>,
    roles: &[AccountName],
) -> Result<(), SqlError> {
    let own = accounts.get(&of.identity.account());
    let admin = |role: &AccountName| own.as_ref().is_some_and(|own| own.roles.get(role) == Some(&true));
    match roles.iter().all(admin) {
        true => Ok(()),
        false => of.session.holder.check(&[Need::AnyOf(Privilege::RoleAdmin.into())]),
    }
}

/// Whether `name` is `role`, or granted to it, directly or through other roles.
fn reaches(accounts: &Accounts, role: &AccountName, name: &AccountName) -> bool {
    let all = accounts.accounts.read();
    let (mut open, mut seen) = (vec![role], BTreeSet::new());
    while let Some(at) = open.pop() {
        if at == name {
            return true;
        }
        if seen.insert(at) {
            open.extend(all.get(at).into_iter().flat_map(|account| account.roles.keys()));
        }
    }
    false
}
