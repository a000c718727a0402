//! CREATE USER, ALTER USER, DROP USER, RENAME USER, SET PASSWORD.

use std::collections::BTreeSet;

use cohort_sql::SqlError;
use cohort_sql::ast::{AccountName, AccountOptions, AccountSpec, AccountStatement, Authentication, PasswordExpiry};
use cohort_sql::error::{
    ER_CANNOT_USER, ER_CREDENTIALS_CONTRADICT_TO_HISTORY, ER_CURRENT_PASSWORD_NOT_REQUIRED,
    ER_INCORRECT_CURRENT_PASSWORD, ER_MISSING_CURRENT_PASSWORD, ER_NOT_VALID_PASSWORD,
};
use cohort_sql::privilege::Privilege::{CreateUser, Update};
use cohort_sql::privilege::needs::Need;
use cohort_sql::session::DiagnosticLevel;

use super::account::{Account, Credential, ReusePolicy};
use super::{
    AccountSession, Accounts, Changes, LOCAL_HOST, granting, logged, now_seconds, plugin_and_hash, tolerate, unknown,
};
use crate::sysvars::ids;

pub(super) fn run(accounts: &Accounts, of: AccountSession<'_>, statement: &AccountStatement) -> Result<(), SqlError> {
    let needs_create_user = |needed: bool| match needed {
        true => of.session.holder.check(&[Need::AnyOf(CreateUser.into())]),
        false => Ok(()),
    };
    // A session whose password has expired changes its own account only.
    let changes_others = |others: bool| match others {
        true => of.session.holder.check_password().and_then(|()| needs_create_user(true)),
        false => Ok(()),
    };
    let own = of.identity.account();
    match statement {
        AccountStatement::CreateUser { if_not_exists, users, options } => {
            needs_create_user(true)?;
            let users = named(users, &own);
            let (there, new): (Vec<_>, Vec<_>) = users.into_iter().partition(|(name, _)| accounts.contains(name));
            complain(of, "CREATE USER", there.iter().map(|(name, _)| name), *if_not_exists)?;
            let verb = if *if_not_exists { "CREATE USER IF NOT EXISTS" } else { "CREATE USER" };
            identify(accounts, of, verb, new, options, true)
        }
        AccountStatement::AlterUser { if_exists, users: specs, options } => {
            let users = named(specs, &own);
            // Everybody may change the own password.
            let own_password = *options == AccountOptions::default() && users.iter().all(|(name, _)| *name == own);
            changes_others(!own_password)?;
            specs
                .iter()
                .zip(&users)
                .filter(|(spec, _)| spec.authentication.is_some())
                .try_for_each(|(spec, (name, _))| check_current(accounts, of, name, spec.current.as_deref()))?;
            users.iter().try_for_each(|(name, _)| accounts.may_change(of, name))?;
            let (there, missing): (Vec<_>, Vec<_>) = users.into_iter().partition(|(name, _)| accounts.contains(name));
            complain(of, "ALTER USER", missing.iter().map(|(name, _)| name), *if_exists)?;
            let verb = if *if_exists { "ALTER USER IF EXISTS" } else { "ALTER USER" };
            identify(accounts, of, verb, there, options, false)
        }
        AccountStatement::DropUser { if_exists, users } => {
            needs_create_user(true)?;
            drop(accounts, of, "DROP USER", *if_exists, users)
        }
        AccountStatement::RenameUser(pairs) => {
            needs_create_user(true)?;
            pairs.iter().try_for_each(|(old, _)| accounts.may_change(of, old))?;
            rename(accounts, of, pairs)
        }
        AccountStatement::SetPassword { user, password, current } => {
            let name = user.clone().unwrap_or_else(|| own.clone());
            changes_others(name != own)?;
            check_current(accounts, of, &name, current.as_deref())?;
            accounts.may_change(of, &name)?;
            let Some(account) = accounts.get(&name) else {
                return complain(of, "SET PASSWORD", [&name].into_iter(), false);
            };
            let plugin = account.credential.plugin().map(|plugin| plugin.name().to_owned());
            let authentication = Authentication::Password { plugin, password: password.clone() };
            let users = vec![(name, Some(&authentication))];
            identify(accounts, of, "ALTER USER", users, &AccountOptions::default(), false)
        }
        AccountStatement::Grant(_) | AccountStatement::Role(_) => {
            Err(SqlError::internal("a statement about privileges was run as one about accounts"))
        }
    }
}

/// DROP USER, DROP ROLE.
pub(super) fn drop(
    accounts: &Accounts,
    of: AccountSession<'_>,
    verb: &str,
    if_exists: bool,
    names: &[AccountName],
) -> Result<(), SqlError> {
    names.iter().try_for_each(|name| accounts.may_change(of, name))?;
    accounts.none_is_mandatory(names.iter())?;
    let (there, missing): (Vec<_>, Vec<_>) = names.iter().partition(|name| accounts.contains(name));
    complain(of, verb, missing.into_iter(), if_exists)?;
    let gone: BTreeSet<&AccountName> = there.iter().copied().collect();
    let mut changes: Changes = there.iter().map(|name| ((*name).clone(), None)).collect();
    // Nobody keeps a role that is gone.
    for (name, mut account) in accounts.all() {
        let before = account.roles.len();
        account.roles.retain(|role, _| !gone.contains(role));
        if account.roles.len() < before && !gone.contains(&name) {
            account.default_roles.retain(|role| !gone.contains(role));
            changes.insert(name, Some(account));
        }
    }
    let sql = logged::named(
        if if_exists { format!("{verb} IF EXISTS") } else { verb.to_owned() },
        &there,
        of.session.sql_mode,
    );
    accounts.store(of, changes, &sql)
}

fn rename(accounts: &Accounts, of: AccountSession<'_>, pairs: &[(AccountName, AccountName)]) -> Result<(), SqlError> {
    let mut all: std::collections::BTreeMap<_, _> = accounts.all().into_iter().collect();
    let mut changes = Changes::new();
    let failed: Vec<&AccountName> =
        pairs.iter().filter(|(old, new)| !all.contains_key(old) || all.contains_key(new)).map(|(old, _)| old).collect();
    complain(of, "RENAME USER", failed.into_iter(), false)?;
    for (old, new) in pairs {
        let Some(account) = all.remove(old) else { return complain(of, "RENAME USER", [old].into_iter(), false) };
        check_empty_password(new, &account)?;
        all.insert(new.clone(), account.clone());
        changes.insert(old.clone(), None);
        changes.insert(new.clone(), Some(account));
        for (name, account) in &mut all {
            let Some(admin) = account.roles.remove(old) else { continue };
            account.roles.insert(new.clone(), admin);
            if account.default_roles.remove(old) {
                account.default_roles.insert(new.clone());
            }
            changes.insert(name.clone(), Some(account.clone()));
        }
    }
    accounts.store(of, changes, &logged::rename(pairs, of.session.sql_mode))
}

/// Accounts of a statement, the session's own where it says so, with how they are to be identified.
fn named<'s>(users: &'s [AccountSpec], own: &AccountName) -> Vec<(AccountName, Option<&'s Authentication>)> {
    let name = |spec: &AccountSpec| spec.name.clone().unwrap_or_else(|| own.clone());
    users.iter().map(|spec| (name(spec), spec.authentication.as_ref())).collect()
}

/// Accounts that should, or should not, be there: an error, or a note with IF EXISTS or IF NOT EXISTS.
pub(super) fn complain<'a>(
    of: AccountSession<'_>,
    operation: &str,
    names: impl Iterator<Item = &'a AccountName>,
    tolerated: bool,
) -> Result<(), SqlError> {
    let names: Vec<String> = names.map(|name| format!("'{}'@'{}'", name.user, name.host)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let error = SqlError::new(ER_CANNOT_USER, &[&operation, &names.join(",")]);
    tolerate(of.session, tolerated, DiagnosticLevel::Note, error)
}

/// Gives `users` their passwords and options, and logs that as `verb`.
fn identify(
    accounts: &Accounts,
    of: AccountSession<'_>,
    verb: &str,
    users: Vec<(AccountName, Option<&Authentication>)>,
    options: &AccountOptions,
    new: bool,
) -> Result<(), SqlError> {
    let policy =
        ReusePolicy { last: of.globals.get(ids::PASSWORD_HISTORY), days: of.globals.get(ids::PASSWORD_REUSE_INTERVAL) };
    let now = now_seconds();
    let default = of.globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN);
    let mut changes = Changes::new();
    let mut identified = Vec::with_capacity(users.len());
    for (name, authentication) in users {
        let before = accounts.get(&name).filter(|_| !new);
        let mut account = before.unwrap_or_default();
        let sets_password = new || authentication.is_some();
        // What the statement says of history holds for its own password.
        account.apply(options)?;
        if sets_password {
            if let Some(Authentication::Password { password, .. }) = authentication
                && account.has_had(password, policy, now)
            {
                return Err(SqlError::new(ER_CREDENTIALS_CONTRADICT_TO_HISTORY, &[&name.user, &name.host]));
            }
            account.credential = Credential::of(authentication, &default)?;
            account.password_set = now;
            account.remember_password(policy, now);
            // A new password is not expired.
            if account.expiry == PasswordExpiry::Now && options.expiry.is_none() {
                account.expiry = PasswordExpiry::Default;
            }
        }
        if sets_password || options.locked == Some(false) {
            check_empty_password(&name, &account)?;
        }
        if let Some(roles) = &options.default_roles {
            if new && let cohort_sql::ast::RoleChoice::These(roles) = roles {
                // CREATE USER ... DEFAULT ROLE grants them.
                granting::may_grant_roles(accounts, of, roles)?;
                roles.iter().try_for_each(|role| accounts.may_change(of, role))?;
                for role in roles {
                    accounts.get(role).ok_or_else(|| unknown(role))?;
                    account.roles.entry(role.clone()).or_insert(false);
                }
            }
            account.default_roles = granting::chosen(accounts, roles, &name, &account)?;
        }
        let password = sets_password.then(|| plugin_and_hash(&account.credential, &default));
        identified.push((name.clone(), password));
        changes.insert(name, Some(account));
    }
    let sql = logged::identified(verb, &identified, options, of.session.sql_mode);
    let changed: Vec<AccountName> = changes.keys().cloned().collect();
    accounts.store(of, changes, &sql)?;
    let limits = [
        options.max_queries_per_hour,
        options.max_updates_per_hour,
        options.max_connections_per_hour,
        options.max_user_connections,
    ];
    let unlocks = options.locked == Some(false) || options.failed_logins.is_some() || options.lock_time.is_some();
    for name in changed {
        if limits.iter().any(Option::is_some) {
            accounts.usages.forget_hour(&name);
        }
        if unlocks {
            accounts.usages.unlock(&name);
        }
    }
    Ok(())
}

/// Error 1819 for an account that lets somebody in from another machine without a password.
fn check_empty_password(name: &AccountName, account: &Account) -> Result<(), SqlError> {
    match matches!(account.credential, Credential::Empty) && name.host != LOCAL_HOST && !account.locked {
        true => Err(SqlError::new(ER_NOT_VALID_PASSWORD, &[])),
        false => Ok(()),
    }
}

/// Error 3893, 3891 or 3892 if the password until now is given for somebody else, is wrong, or is missing. Whoever may
/// create users need not give it.
fn check_current(
    accounts: &Accounts,
    of: AccountSession<'_>,
    name: &AccountName,
    current: Option<&str>,
) -> Result<(), SqlError> {
    let Some(account) = accounts.get(name) else { return Ok(()) };
    match current {
        Some(_) if *name != of.identity.account() => Err(SqlError::new(ER_CURRENT_PASSWORD_NOT_REQUIRED, &[])),
        Some(current) if !account.credential.is_of(current) => Err(SqlError::new(ER_INCORRECT_CURRENT_PASSWORD, &[])),
        Some(_) => Ok(()),
        None => {
            let required = account.requires_current.or(of.globals.get(ids::PASSWORD_REQUIRE_CURRENT));
            let grants = &of.session.holder.grants;
            let privileged = grants.global().has(CreateUser) || grants.on_database("mysql").has(Update);
            match required && !privileged {
                true => Err(SqlError::new(ER_MISSING_CURRENT_PASSWORD, &[])),
                false => Ok(()),
            }
        }
    }
}
