//! Statements about accounts.

use super::cursor::Cursor;
use super::grant;
use super::lexer::Kind;
use crate::ast::{
    AccountAttribute, AccountName, AccountOptions, AccountSpec, AccountStatement, Authentication, LockTime, OrDefault,
    PasswordExpiry, Statement, TlsRequirement,
};
use crate::error::{ER_WRONG_VALUE, SqlError};

/// Whether the statement is about accounts.
pub(super) fn sees(cursor: &Cursor<'_>) -> bool {
    cursor.sees_at(1, "USER") || cursor.sees_at(1, "ROLE") || cursor.sees("GRANT") || cursor.sees("REVOKE")
}

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let statement = if cursor.takes("CREATE USER") {
        let if_not_exists = cursor.takes("IF NOT EXISTS");
        let (users, options) = users(cursor)?;
        AccountStatement::CreateUser { if_not_exists, users, options }
    } else if cursor.takes("ALTER USER") {
        let if_exists = cursor.takes("IF EXISTS");
        let (users, options) = users(cursor)?;
        AccountStatement::AlterUser { if_exists, users, options }
    } else if cursor.takes("DROP USER") {
        AccountStatement::DropUser { if_exists: cursor.takes("IF EXISTS"), users: names(cursor)? }
    } else if cursor.sees("GRANT") {
        grant::grant(cursor)?
    } else if cursor.sees("REVOKE") {
        grant::revoke(cursor)?
    } else if cursor.sees("RENAME") {
        grant::rename(cursor)?
    } else {
        grant::role(cursor)?
    };
    Ok(Statement::Account(statement))
}

/// What follows SET at PASSWORD.
pub(super) fn set_password(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect("PASSWORD")?;
    let user = if cursor.takes("FOR") { name_or_current(cursor)? } else { None };
    if cursor.sees("TO RANDOM") {
        return Err(random());
    }
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
    let current = current(cursor)?;
    Ok(Statement::Account(AccountStatement::SetPassword { user, password, current }))
}

/// `[REPLACE 'password']`; a second password beside it is refused.
fn current(cursor: &mut Cursor<'_>) -> Result<Option<String>, SqlError> {
    let current = if cursor.takes("REPLACE") { Some(cursor.text()?) } else { None };
    if cursor.sees("RETAIN CURRENT PASSWORD") {
        return Err(SqlError::unsupported("RETAIN CURRENT PASSWORD: an account has one password"));
    }
    Ok(current)
}

fn random() -> SqlError {
    SqlError::unsupported("random passwords")
}

/// An account, or `None` for CURRENT_USER.
pub(super) fn name_or_current(cursor: &mut Cursor<'_>) -> Result<Option<AccountName>, SqlError> {
    // USER alone is a name like any other.
    let function = cursor.sees("USER") && cursor.kind_at(1) == Some(Kind::Operator) && cursor.bytes(1) == b"(";
    if function || cursor.sees("CURRENT_USER") {
        cursor.skip();
        if cursor.takes_operator("(") {
            cursor.expect_operator(")")?;
        }
        return Ok(None);
    }
    name(cursor).map(Some)
}

/// `user[@host]`; the lexer takes `@host` for a variable.
pub(super) fn name(cursor: &mut Cursor<'_>) -> Result<AccountName, SqlError> {
    let user = cursor.name_or_text()?;
    let host = match cursor.variable() {
        None => "%".to_owned(),
        Some(variable) if variable.starts_with("@@") => return Err(cursor.unexpected()),
        Some(variable) if variable.len() > 1 => super::literal::name(&variable.as_bytes()[1..])?,
        Some(_) => cursor.name_or_text()?,
    };
    Ok(AccountName { user, host })
}

pub(super) fn names(cursor: &mut Cursor<'_>) -> Result<Vec<AccountName>, SqlError> {
    let mut names = vec![name(cursor)?];
    while cursor.takes_operator(",") {
        names.push(name(cursor)?);
    }
    Ok(names)
}

/// `user [IDENTIFIED ...], ...` and what holds for all of them.
fn users(cursor: &mut Cursor<'_>) -> Result<(Vec<AccountSpec>, AccountOptions), SqlError> {
    let spec = |cursor: &mut Cursor<'_>| {
        let name = name_or_current(cursor)?;
        if cursor.sees("DISCARD OLD PASSWORD") {
            return Err(SqlError::unsupported("DISCARD OLD PASSWORD: an account has one password"));
        }
        let authentication = authentication(cursor)?;
        let current = if authentication.is_some() { current(cursor)? } else { None };
        Ok::<_, SqlError>(AccountSpec { name, authentication, current })
    };
    let users = cursor.separated(spec)?;
    Ok((users, options(cursor)?))
}

/// `[DEFAULT ROLE ...] [REQUIRE ...] [WITH limits] [about passwords and locks ...] [COMMENT '...' | ATTRIBUTE '...']`
fn options(cursor: &mut Cursor<'_>) -> Result<AccountOptions, SqlError> {
    let mut options = AccountOptions::default();
    if cursor.takes("DEFAULT ROLE") {
        options.default_roles = Some(grant::choice(cursor)?);
    }
    if cursor.takes("REQUIRE") {
        options.requires = Some(requirement(cursor)?);
    }
    if cursor.takes("WITH") {
        let start = cursor.at;
        while let Some(limit) = limit(cursor, &mut options) {
            *limit = Some(cursor.integer()?);
        }
        if cursor.at == start {
            return Err(cursor.unexpected());
        }
    }
    loop {
        if cursor.takes("PASSWORD EXPIRE") {
            options.expiry = Some(expiry(cursor)?);
        } else if cursor.takes("PASSWORD HISTORY") {
            options.history = Some(or_default(cursor, |cursor| cursor.integer())?);
        } else if cursor.takes("PASSWORD REUSE INTERVAL") {
            options.reuse_days = Some(or_default(cursor, |cursor| {
                let days = cursor.integer()?;
                cursor.expect("DAY").map(|()| days)
            })?);
        } else if cursor.takes("PASSWORD REQUIRE CURRENT") {
            let optional = cursor.takes("OPTIONAL");
            let default = !optional && cursor.takes("DEFAULT");
            options.requires_current = Some(if default { OrDefault::Default } else { OrDefault::Own(!optional) });
        } else if cursor.takes("FAILED_LOGIN_ATTEMPTS") {
            options.failed_logins = Some(up_to_32767(cursor, "FAILED_LOGIN_ATTEMPTS")?);
        } else if cursor.takes("PASSWORD_LOCK_TIME") {
            let unbounded = cursor.takes("UNBOUNDED");
            let days = |cursor| up_to_32767(cursor, "PASSWORD_LOCK_TIME").map(LockTime::Days);
            options.lock_time = Some(if unbounded { LockTime::Unbounded } else { days(cursor)? });
        } else if cursor.takes("ACCOUNT LOCK") {
            options.locked = Some(true);
        } else if cursor.takes("ACCOUNT UNLOCK") {
            options.locked = Some(false);
        } else {
            break;
        }
    }
    if cursor.takes("COMMENT") {
        options.attribute = Some(AccountAttribute::Comment(cursor.text()?));
    } else if cursor.takes("ATTRIBUTE") {
        options.attribute = Some(AccountAttribute::Json(cursor.text()?));
    }
    Ok(options)
}

fn or_default<T>(
    cursor: &mut Cursor<'_>,
    own: impl FnOnce(&mut Cursor<'_>) -> Result<T, SqlError>,
) -> Result<OrDefault<T>, SqlError> {
    if cursor.takes("DEFAULT") { Ok(OrDefault::Default) } else { own(cursor).map(OrDefault::Own) }
}

fn up_to_32767(cursor: &mut Cursor<'_>, what: &str) -> Result<u16, SqlError> {
    let number: u64 = cursor.integer()?;
    let fits = u16::try_from(number).ok().filter(|number| *number < 1 << 15);
    fits.ok_or_else(|| SqlError::new(ER_WRONG_VALUE, &[&what, &number]))
}

/// The limit that is named next.
fn limit<'o>(cursor: &mut Cursor<'_>, options: &'o mut AccountOptions) -> Option<&'o mut Option<u32>> {
    if cursor.takes("MAX_QUERIES_PER_HOUR") {
        Some(&mut options.max_queries_per_hour)
    } else if cursor.takes("MAX_UPDATES_PER_HOUR") {
        Some(&mut options.max_updates_per_hour)
    } else if cursor.takes("MAX_CONNECTIONS_PER_HOUR") {
        Some(&mut options.max_connections_per_hour)
    } else if cursor.takes("MAX_USER_CONNECTIONS") {
        Some(&mut options.max_user_connections)
    } else {
        None
    }
}

/// `NONE | SSL | X509 | SUBJECT '...' [AND] ISSUER '...' [AND] CIPHER '...'`
fn requirement(cursor: &mut Cursor<'_>) -> Result<TlsRequirement, SqlError> {
    if cursor.takes("NONE") {
        return Ok(TlsRequirement::None);
    }
    if cursor.takes("SSL") {
        return Ok(TlsRequirement::Ssl);
    }
    if cursor.takes("X509") {
        return Ok(TlsRequirement::X509);
    }
    let (mut subject, mut issuer, mut cipher) = (None, None, None);
    loop {
        let place = if cursor.takes("SUBJECT") {
            &mut subject
        } else if cursor.takes("ISSUER") {
            &mut issuer
        } else if cursor.takes("CIPHER") {
            &mut cipher
        } else {
            return Err(cursor.unexpected());
        };
        if place.is_some() {
            return Err(cursor.unexpected());
        }
        *place = Some(cursor.text()?);
        let more = cursor.takes("AND") || ["SUBJECT", "ISSUER", "CIPHER"].iter().any(|word| cursor.sees(word));
        if !more {
            return Ok(TlsRequirement::Specified { subject, issuer, cipher });
        }
    }
}

/// What follows PASSWORD EXPIRE.
fn expiry(cursor: &mut Cursor<'_>) -> Result<PasswordExpiry, SqlError> {
    if cursor.takes("DEFAULT") {
        return Ok(PasswordExpiry::Default);
    }
    if cursor.takes("NEVER") {
        return Ok(PasswordExpiry::Never);
    }
    if !cursor.takes("INTERVAL") {
        return Ok(PasswordExpiry::Now);
    }
    let days: u16 = cursor.integer()?;
    if days == 0 {
        return Err(SqlError::new(ER_WRONG_VALUE, &[&"DAY", &"0"]));
    }
    cursor.expect("DAY")?;
    Ok(PasswordExpiry::Days(days))
}

fn authentication(cursor: &mut Cursor<'_>) -> Result<Option<Authentication>, SqlError> {
    if !cursor.takes("IDENTIFIED") {
        return Ok(None);
    }
    if cursor.sees("BY RANDOM PASSWORD") {
        return Err(random());
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
