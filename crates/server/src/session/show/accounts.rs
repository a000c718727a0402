//! SHOW GRANTS, SHOW CREATE USER and SHOW PRIVILEGES.

use cohort_sql::ast::AccountName;
use cohort_sql::error::ER_CANNOT_USER;
use cohort_sql::privilege::needs::Need;
use cohort_sql::privilege::{PRIVILEGES, Privilege, PrivilegeRow, PrivilegeSet};
use cohort_sql::session::{SessionState, ShowTable};
use cohort_sql::{SqlError, Value};

use super::{text, texts};
use crate::session::environment::SessionEnvironment;
use crate::sysvars::ids;

/// SHOW GRANTS; another account's are for those who may read `mysql`.
pub(super) fn grants(
    environment: &SessionEnvironment,
    session: &SessionState,
    account: Option<&AccountName>,
    roles: &[AccountName],
) -> Result<ShowTable, SqlError> {
    let own = environment.identity().account();
    let name = account.unwrap_or(&own);
    if *name != own {
        session.holder.check(&[Need::OnDatabase("mysql".to_owned(), Privilege::Select.into())])?;
    }
    // One's own are shown with the roles that are active.
    let active: Vec<AccountName> = environment.active_roles().into_iter().collect();
    let with = if account.is_none() { &active } else { roles };
    let rows = environment.server.accounts.show_grants(name, with)?;
    let rows = rows.into_iter().map(|row| vec![Value::text(row)]).collect();
    Ok(ShowTable { columns: vec![("Grants", text(1024))], rows })
}

pub(super) fn create_user(
    environment: &SessionEnvironment,
    session: &SessionState,
    account: Option<AccountName>,
) -> Result<ShowTable, SqlError> {
    let own = environment.identity().account();
    let account = account.unwrap_or_else(|| own.clone());
    if account != own {
        session.holder.check(&[Need::AnyOf(PrivilegeSet::of(&[Privilege::CreateUser, Privilege::Select]))])?;
    }
    let default = environment.server.globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN);
    let statement = environment.server.accounts.create_statement(&account, &default, session.sql_mode);
    let name = || format!("'{}'@'{}'", account.user, account.host);
    let statement = statement.ok_or_else(|| SqlError::new(ER_CANNOT_USER, &[&"SHOW CREATE USER", &name()]))?;
    Ok(ShowTable { columns: vec![("CREATE USER", text(1024))], rows: vec![vec![Value::text(statement)]] })
}

pub(super) fn privileges() -> ShowTable {
    let columns = vec![("Privilege", text(32)), ("Context", text(64)), ("Comment", text(255))];
    // Static privileges are shown as words, dynamic ones as they are written.
    let name = |row: &PrivilegeRow| match row.dynamic {
        true => row.name.to_owned(),
        false => row.name[..1].to_owned() + &row.name[1..].to_lowercase(),
    };
    let rows = PRIVILEGES.iter().map(|row| texts([&*name(row), row.context, row.meaning]));
    ShowTable { columns, rows: rows.collect() }
}
