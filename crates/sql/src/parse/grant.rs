//! GRANT, REVOKE and what is about roles.

use super::account::{name, names};
use super::cursor::Cursor;
use super::lexer::Kind;
use crate::ast::{
    AccountName, AccountStatement, GrantOn, GrantStatement, Granted, RoleChoice, RoleStatement, TableName,
};
use crate::error::{ER_SYNTAX_ERROR, SqlError};
use crate::privilege::Privilege;

/// `GRANT privileges ON [TABLE] level TO user, ... [WITH GRANT OPTION]`
///
/// `GRANT role, ... TO user, ... [WITH ADMIN OPTION]`
pub(super) fn grant(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    cursor.expect("GRANT")?;
    refuse_proxy(cursor)?;
    let statement = if says_on(cursor) {
        let privileges = privileges(cursor)?;
        let on = level(cursor)?;
        cursor.expect("TO")?;
        let to = names(cursor)?;
        if cursor.sees("AS") {
            return Err(SqlError::unsupported("GRANT ... AS"));
        }
        GrantStatement::Grant { privileges, on, to, grant_option: cursor.takes("WITH GRANT OPTION") }
    } else {
        let roles = names(cursor)?;
        cursor.expect("TO")?;
        GrantStatement::GrantRoles { roles, to: names(cursor)?, admin_option: cursor.takes("WITH ADMIN OPTION") }
    };
    Ok(AccountStatement::Grant(statement))
}

/// `REVOKE [IF EXISTS] privileges ON [TABLE] level FROM user, ... [IGNORE UNKNOWN USER]`
///
/// `REVOKE [IF EXISTS] ALL [PRIVILEGES], GRANT OPTION FROM user, ... [IGNORE UNKNOWN USER]`
///
/// `REVOKE [IF EXISTS] role, ... FROM user, ... [IGNORE UNKNOWN USER]`
pub(super) fn revoke(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    cursor.expect("REVOKE")?;
    let if_exists = cursor.takes("IF EXISTS");
    refuse_proxy(cursor)?;
    let from = |cursor: &mut Cursor<'_>| {
        cursor.expect("FROM")?;
        let from = names(cursor)?;
        Ok::<_, SqlError>((from, cursor.takes("IGNORE UNKNOWN USER")))
    };
    let statement = if says_on(cursor) {
        let privileges = privileges(cursor)?;
        let on = level(cursor)?;
        let (from, ignore_unknown_user) = from(cursor)?;
        GrantStatement::Revoke { if_exists, privileges, on, from, ignore_unknown_user }
    } else if takes_all(cursor) {
        cursor.expect_operator(",")?;
        cursor.expect("GRANT OPTION")?;
        let (from, ignore_unknown_user) = from(cursor)?;
        GrantStatement::RevokeAll { if_exists, from, ignore_unknown_user }
    } else {
        let roles = names(cursor)?;
        let (from, ignore_unknown_user) = from(cursor)?;
        GrantStatement::RevokeRoles { if_exists, roles, from, ignore_unknown_user }
    };
    Ok(AccountStatement::Grant(statement))
}

/// PROXY ON is about an account, in the place of a level.
fn refuse_proxy(cursor: &Cursor<'_>) -> Result<(), SqlError> {
    match cursor.sees("PROXY ON") {
        true => Err(SqlError::unsupported("proxy users (GRANT PROXY)")),
        false => Ok(()),
    }
}

/// `CREATE ROLE [IF NOT EXISTS] role, ...`, `DROP ROLE [IF EXISTS] role, ...`
pub(super) fn role(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    let statement = if cursor.takes("CREATE ROLE") {
        RoleStatement::Create { if_not_exists: cursor.takes("IF NOT EXISTS"), roles: names(cursor)? }
    } else {
        cursor.expect("DROP ROLE")?;
        RoleStatement::Drop { if_exists: cursor.takes("IF EXISTS"), roles: names(cursor)? }
    };
    Ok(AccountStatement::Role(statement))
}

/// What follows SET at ROLE or DEFAULT ROLE.
pub(super) fn set_role(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    let statement = if cursor.takes("DEFAULT ROLE") {
        let roles = choice(cursor)?;
        cursor.expect("TO")?;
        RoleStatement::SetDefault { roles, users: names(cursor)? }
    } else {
        cursor.expect("ROLE")?;
        if cursor.takes("DEFAULT") {
            RoleStatement::Set(RoleChoice::Default)
        } else if cursor.takes("ALL EXCEPT") {
            RoleStatement::Set(RoleChoice::AllExcept(names(cursor)?))
        } else {
            RoleStatement::Set(choice(cursor)?)
        }
    };
    Ok(AccountStatement::Role(statement))
}

/// `NONE | ALL | role, ...`
pub(super) fn choice(cursor: &mut Cursor<'_>) -> Result<RoleChoice, SqlError> {
    Ok(if cursor.takes("NONE") {
        RoleChoice::None
    } else if cursor.takes("ALL") {
        RoleChoice::All
    } else {
        RoleChoice::These(names(cursor)?)
    })
}

/// `RENAME USER old TO new, ...`
pub(super) fn rename(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    cursor.expect("RENAME USER")?;
    let pair = |cursor: &mut Cursor<'_>| -> Result<(AccountName, AccountName), SqlError> {
        let old = name(cursor)?;
        cursor.expect("TO")?;
        Ok((old, name(cursor)?))
    };
    cursor.separated(pair).map(AccountStatement::RenameUser)
}

/// Whether it is about privileges: ON comes before TO or FROM.
fn says_on(cursor: &Cursor<'_>) -> bool {
    let words = (0..).map(|ahead| (cursor.kind_at(ahead), cursor.keyword_at(ahead)));
    let ends = words.take_while(|(kind, _)| kind.is_some());
    let first = ends.map(|(_, word)| word).find(|word| matches!(word.as_str(), "ON" | "TO" | "FROM"));
    first.is_some_and(|word| word.as_str() == "ON")
}

fn takes_all(cursor: &mut Cursor<'_>) -> bool {
    cursor.takes("ALL PRIVILEGES") || cursor.takes("ALL")
}

fn privileges(cursor: &mut Cursor<'_>) -> Result<Granted, SqlError> {
    if takes_all(cursor) {
        return Ok(Granted::All);
    }
    if cursor.sees("PROXY") {
        return Err(SqlError::unsupported("proxy users"));
    }
    let listed = cursor.separated(privilege)?;
    Ok(Granted::These(listed.into_iter().flatten().collect()))
}

/// One privilege with its columns; USAGE is none.
fn privilege(cursor: &mut Cursor<'_>) -> Result<Option<(Privilege, Vec<String>)>, SqlError> {
    if cursor.takes("USAGE") {
        return Ok(None);
    }
    let mut words: Vec<String> = Vec::new();
    let start = cursor.at;
    while cursor.kind() == Some(Kind::Word) && !cursor.sees("ON") {
        words.push(cursor.word());
        cursor.skip();
    }
    let name = if words.is_empty() { cursor.ident_or_text()?.to_uppercase() } else { words.join(" ") };
    let Some(privilege) = Privilege::named(&name) else {
        if words.len() > 1 {
            cursor.at = start;
            return Err(cursor.unexpected());
        }
        return Err(SqlError::new(ER_SYNTAX_ERROR, &[]));
    };
    let columns = if cursor.sees_operator("(") { cursor.idents()? } else { Vec::new() };
    Ok(Some((privilege, columns)))
}

/// `ON [TABLE] { * | *.* | db.* | [db.]table }`
fn level(cursor: &mut Cursor<'_>) -> Result<GrantOn, SqlError> {
    cursor.expect("ON")?;
    if cursor.takes_any(&["FUNCTION", "PROCEDURE"]) {
        return Err(SqlError::unsupported("privileges on stored programs"));
    }
    cursor.takes("TABLE");
    if cursor.takes_operator("*") {
        if !cursor.takes_operator(".") {
            return Ok(GrantOn::Database(None));
        }
        cursor.expect_operator("*")?;
        return Ok(GrantOn::Global);
    }
    let first = cursor.ident()?;
    if !cursor.takes_operator(".") {
        return Ok(GrantOn::Table(TableName { database: None, table: first }));
    }
    if cursor.takes_operator("*") {
        return Ok(GrantOn::Database(Some(first)));
    }
    Ok(GrantOn::Table(TableName { database: Some(first), table: cursor.name_after_point()? }))
}
