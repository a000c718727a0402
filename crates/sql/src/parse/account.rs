//! Statements about accounts.

use super::cursor::Cursor;
use crate::ast::{AccountName, AccountStatement, Authentication, Statement, TlsRequirement};
use crate::error::SqlError;

/// Whether the statement is about accounts.
pub(super) fn sees(cursor: &Cursor<'_>) -> bool {
    cursor.sees_at(1, "USER") || cursor.sees_at(1, "ROLE") || cursor.sees("GRANT") || cursor.sees("REVOKE")
}

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let statement = if cursor.takes("CREATE USER") {
        let if_not_exists = cursor.takes("IF NOT EXISTS");
        let (users, requires) = (users(cursor)?, requirement(cursor)?);
        AccountStatement::CreateUser { if_not_exists, users, requires }
    } else if cursor.takes("ALTER USER") {
        let if_exists = cursor.takes("IF EXISTS");
        let (users, requires) = (users(cursor)?, requirement(cursor)?);
        AccountStatement::AlterUser { if_exists, users, requires }
    } else if cursor.takes("DROP USER") {
        AccountStatement::DropUser { if_exists: cursor.takes("IF EXISTS"), users: names(cursor)? }
    } else if cursor.takes("GRANT") {
        grant(cursor)?
    } else if cursor.takes("REVOKE") {
        revoke(cursor)?
    } else {
        return Err(SqlError::unsupported("roles and renaming accounts"));
    };
    Ok(Statement::Account(statement))
}

/// What follows SET at PASSWORD.
pub(super) fn set_password(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect("PASSWORD")?;
    let user = if cursor.takes("FOR") { name_or_current(cursor)? } else { None };
    if !cursor.takes_operator("=") {
        cursor.expect_operator(":=")?;
    }
    let password = if cursor.takes("PASSWORD") {
        cursor.expect_operator("(")?;
        let password = cursor.text()?;
        cursor.expect_operator(")")?;
        password
    } else {
        cursor.text()?
    };
    Ok(Statement::Account(AccountStatement::SetPassword { user, password }))
}

/// An account, or `None` for CURRENT_USER.
pub(super) fn name_or_current(cursor: &mut Cursor<'_>) -> Result<Option<AccountName>, SqlError> {
    if cursor.takes("CURRENT_USER") || cursor.takes("USER") {
        if cursor.takes_operator("(") {
            cursor.expect_operator(")")?;
        }
        return Ok(None);
    }
    name(cursor).map(Some)
}

/// `user[@host]`; the lexer takes `@host` for a variable.
fn name(cursor: &mut Cursor<'_>) -> Result<AccountName, SqlError> {
    let user = cursor.name_or_text()?;
    let host = match cursor.variable() {
        None => "%".to_owned(),
        Some(variable) if variable.starts_with("@@") => return Err(cursor.unexpected()),
        Some(variable) if variable.len() > 1 => super::literal::name(&variable.as_bytes()[1..])?,
        Some(_) => cursor.name_or_text()?,
    };
    Ok(AccountName { user, host })
}

fn names(cursor: &mut Cursor<'_>) -> Result<Vec<AccountName>, SqlError> {
    let mut names = vec![name(cursor)?];
    while cursor.takes_operator(",") {
        names.push(name(cursor)?);
    }
    Ok(names)
}

fn users(cursor: &mut Cursor<'_>) -> Result<Vec<(AccountName, Option<Authentication>)>, SqlError> {
    let mut users = Vec::new();
    loop {
        let user = name(cursor)?;
        users.push((user, authentication(cursor)?));
        if !cursor.takes_operator(",") {
            break;
        }
    }
    if !cursor.at_end() && !cursor.sees("REQUIRE") {
        return Err(SqlError::unsupported("options of accounts"));
    }
    Ok(users)
}

/// `REQUIRE {NONE | SSL | X509 | {SUBJECT | ISSUER | CIPHER} 'text' [[AND] ...]}`
fn requirement(cursor: &mut Cursor<'_>) -> Result<Option<TlsRequirement>, SqlError> {
    if !cursor.takes("REQUIRE") {
        return Ok(None);
    }
    for (word, requirement) in
        [("NONE", TlsRequirement::None), ("SSL", TlsRequirement::Ssl), ("X509", TlsRequirement::X509)]
    {
        if cursor.takes(word) {
            return Ok(Some(requirement));
        }
    }
    let (mut subject, mut issuer, mut cipher) = (None, None, None);
    loop {
        let part = match cursor.word().as_str() {
            "SUBJECT" => &mut subject,
            "ISSUER" => &mut issuer,
            "CIPHER" => &mut cipher,
            _ => return Err(cursor.unexpected()),
        };
        if part.is_some() {
            return Err(cursor.unexpected());
        }
        cursor.skip();
        *part = Some(cursor.text()?);
        if !cursor.takes("AND") && cursor.at_end() {
            return Ok(Some(TlsRequirement::Specified { subject, issuer, cipher }));
        }
    }
}

fn authentication(cursor: &mut Cursor<'_>) -> Result<Option<Authentication>, SqlError> {
    if !cursor.takes("IDENTIFIED") {
        return Ok(None);
    }
    if cursor.takes("BY") {
        return Ok(Some(Authentication::Password { plugin: None, password: cursor.text()? }));
    }
    cursor.expect("WITH")?;
    let plugin = cursor.name_or_text()?;
    Ok(Some(if cursor.takes("BY") {
        Authentication::Password { plugin: Some(plugin), password: cursor.text()? }
    } else {
        let hash = if cursor.takes("AS") { Some(cursor.binary()?) } else { None };
        Authentication::Plugin { plugin, hash }
    }))
}

fn privileges(cursor: &mut Cursor<'_>) -> Result<Vec<String>, SqlError> {
    let mut privileges = Vec::new();
    loop {
        let mut words = Vec::new();
        while !cursor.at_end()
            && !cursor.sees("ON")
            && !cursor.sees("TO")
            && !cursor.sees("FROM")
            && !cursor.sees_operator(",")
        {
            if cursor.word().is_empty() {
                return Err(SqlError::unsupported("roles and privileges of columns"));
            }
            words.push(cursor.word());
            cursor.skip();
        }
        if words.is_empty() {
            return Err(cursor.unexpected());
        }
        privileges.push(words.join(" "));
        if !cursor.takes_operator(",") {
            break;
        }
    }
    if !cursor.takes("ON") {
        return Err(SqlError::unsupported("roles"));
    }
    Ok(privileges)
}

fn level(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    cursor.takes("TABLE");
    let start = cursor.at;
    while !cursor.at_end() && !cursor.sees("TO") && !cursor.sees("FROM") {
        cursor.skip();
    }
    Ok(cursor.text_since(start))
}

fn grant(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    let privileges = privileges(cursor)?;
    let on = level(cursor)?;
    cursor.expect("TO")?;
    let users = names(cursor)?;
    let grant_option = cursor.takes("WITH GRANT OPTION");
    Ok(AccountStatement::Grant { privileges, on, users, grant_option })
}

fn revoke(cursor: &mut Cursor<'_>) -> Result<AccountStatement, SqlError> {
    let privileges = privileges(cursor)?;
    let on = level(cursor)?;
    cursor.expect("FROM")?;
    Ok(AccountStatement::Revoke { privileges, on, users: names(cursor)? })
}
