//! Account statements as the binlog has them: made of what was done, so that they name just the accounts
//! that changed and give hashes in the place of passwords.

use cohort_sql::ast::{
    AccountAttribute, AccountName, AccountOptions, LockTime, OrDefault, PasswordExpiry, RoleChoice, TlsRequirement,
};
use cohort_sql::privilege::grants::{On, quoted as backquoted};
use cohort_sql::types::SqlMode;

use super::granting::Requested;

/// `verb` (CREATE USER, ALTER USER and their IF forms) for accounts with plugin and hash where those are set; an empty
/// hash is no password.
pub(super) fn identified(
    verb: &str,
    accounts: &[(AccountName, Option<(String, String)>)],
    options: &AccountOptions,
    mode: SqlMode,
) -> String {
    let one = |(name, password): &(AccountName, Option<(String, String)>)| {
        let password = password.as_ref().map(|password| identification(password, mode));
        account(name, mode) + &password.unwrap_or_default()
    };
    format!("{verb} {}{}", accounts.iter().map(one).collect::<Vec<_>>().join(","), self::options(options, mode))
}

/// The statement that makes one account, as SHOW CREATE USER shows it.
pub(super) fn shown(
    name: &AccountName,
    password: &(String, String),
    options: &AccountOptions,
    mode: SqlMode,
) -> String {
    let name = super::backquoted(name);
    format!("CREATE USER {name}{}{}", identification(password, mode), self::options(options, mode))
}

/// ` IDENTIFIED WITH plugin AS hash`; an empty hash is no password.
fn identification((plugin, hash): &(String, String), mode: SqlMode) -> String {
    let hash = if hash.is_empty() { String::new() } else { format!(" AS {}", quoted(hash, mode)) };
    format!(" IDENTIFIED WITH {}{hash}", quoted(plugin, mode))
}

/// What holds for all accounts of a statement, each part after a space.
pub(super) fn options(options: &AccountOptions, mode: SqlMode) -> String {
    let AccountOptions {
        default_roles,
        requires,
        max_queries_per_hour,
        max_updates_per_hour,
        max_connections_per_hour,
        max_user_connections,
        expiry,
        history,
        reuse_days,
        requires_current,
        failed_logins,
        lock_time,
        locked,
        attribute,
    } = options;
    let mut text = String::new();
    if let Some(roles) = default_roles {
        text += &format!(" DEFAULT ROLE {}", choice(roles, mode));
    }
    if let Some(requirement) = requires {
        text += &format!(" REQUIRE {}", requirement_text(requirement, mode));
    }
    let limits = [
        ("MAX_QUERIES_PER_HOUR", max_queries_per_hour),
        ("MAX_UPDATES_PER_HOUR", max_updates_per_hour),
        ("MAX_CONNECTIONS_PER_HOUR", max_connections_per_hour),
        ("MAX_USER_CONNECTIONS", max_user_connections),
    ];
    let limits: String = limits.iter().filter_map(|(word, most)| most.map(|most| format!(" {word} {most}"))).collect();
    if !limits.is_empty() {
        text += &format!(" WITH{limits}");
    }
    match expiry {
        None => {}
        Some(PasswordExpiry::Now) => text += " PASSWORD EXPIRE",
        Some(PasswordExpiry::Default) => text += " PASSWORD EXPIRE DEFAULT",
        Some(PasswordExpiry::Never) => text += " PASSWORD EXPIRE NEVER",
        Some(PasswordExpiry::Days(days)) => text += &format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
    }
    match locked {
        None => {}
        Some(true) => text += " ACCOUNT LOCK",
        Some(false) => text += " ACCOUNT UNLOCK",
    }
    match history {
        None => {}
        Some(OrDefault::Default) => text += " PASSWORD HISTORY DEFAULT",
        Some(OrDefault::Own(last)) => text += &format!(" PASSWORD HISTORY {last}"),
    }
    match reuse_days {
        None => {}
        Some(OrDefault::Default) => text += " PASSWORD REUSE INTERVAL DEFAULT",
        Some(OrDefault::Own(days)) => text += &format!(" PASSWORD REUSE INTERVAL {days} DAY"),
    }
    match requires_current {
        None => {}
        Some(OrDefault::Default) => text += " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(OrDefault::Own(true)) => text += " PASSWORD REQUIRE CURRENT",
        Some(OrDefault::Own(false)) => text += " PASSWORD REQUIRE CURRENT OPTIONAL",
    }
    if let Some(most) = failed_logins {
        text += &format!(" FAILED_LOGIN_ATTEMPTS {most}");
    }
    match lock_time {
        None => {}
        Some(LockTime::Unbounded) => text += " PASSWORD_LOCK_TIME UNBOUNDED",
        Some(LockTime::Days(days)) => text += &format!(" PASSWORD_LOCK_TIME {days}"),
    }
    match attribute {
        None => {}
        Some(AccountAttribute::Comment(comment)) => text += &format!(" COMMENT {}", quoted(comment, mode)),
        Some(AccountAttribute::Json(json)) => text += &format!(" ATTRIBUTE {}", quoted(json, mode)),
    }
    text
}

fn requirement_text(requirement: &TlsRequirement, mode: SqlMode) -> String {
    match requirement {
        TlsRequirement::None => "NONE".to_owned(),
        TlsRequirement::Ssl => "SSL".to_owned(),
        TlsRequirement::X509 => "X509".to_owned(),
        TlsRequirement::Specified { subject, issuer, cipher } => {
            let parts = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
            let part = |(word, text): (&str, &Option<String>)| Some(format!("{word} {}", quoted(text.as_ref()?, mode)));
            parts.into_iter().filter_map(part).collect::<Vec<_>>().join(" ")
        }
    }
}

/// `verb` with names: DROP USER, CREATE ROLE, DROP ROLE.
pub(super) fn named(verb: impl std::fmt::Display, names: &[&AccountName], mode: SqlMode) -> String {
    format!("{verb} {}", names.iter().map(|name| account(name, mode)).collect::<Vec<_>>().join(","))
}

/// RENAME USER
pub(super) fn rename(pairs: &[(AccountName, AccountName)], mode: SqlMode) -> String {
    let pair = |(old, new): &(AccountName, AccountName)| format!("{} TO {}", account(old, mode), account(new, mode));
    format!("RENAME USER {}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
}

/// Privileges and their level.
fn granted(requested: &Requested) -> String {
    let on = match &requested.on {
        On::Global => "*.*".to_owned(),
        On::Database(pattern) => format!("{}.*", backquoted(pattern)),
        On::Table(database, table) => format!("{}.{}", backquoted(database), backquoted(table)),
    };
    let mut parts: Vec<String> = match requested.all {
        true => vec!["ALL PRIVILEGES".to_owned()],
        false => requested.whole.iter().map(|one| one.to_string()).collect(),
    };
    for (privilege, columns) in &requested.columns {
        let columns: Vec<String> = columns.iter().map(|column| backquoted(column)).collect();
        parts.push(format!("{privilege} ({})", columns.join(", ")));
    }
    let what = if parts.is_empty() { "USAGE".to_owned() } else { parts.join(", ") };
    format!("{what} ON {on}")
}

/// GRANT
pub(super) fn grant(requested: &Requested, to: &[AccountName], grant_option: bool, mode: SqlMode) -> String {
    let option = if grant_option { " WITH GRANT OPTION" } else { "" };
    format!("GRANT {} TO {}{option}", granted(requested), list(to, mode))
}

/// REVOKE
pub(super) fn revoke(requested: &Requested, from: &[AccountName], mode: SqlMode) -> String {
    format!("REVOKE {} FROM {}", granted(requested), list(from, mode))
}

/// REVOKE ALL PRIVILEGES, GRANT OPTION
pub(super) fn revoke_all(from: &[AccountName], mode: SqlMode) -> String {
    format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}", list(from, mode))
}

/// GRANT of roles
pub(super) fn grant_roles(roles: &[AccountName], to: &[AccountName], admin_option: bool, mode: SqlMode) -> String {
    let option = if admin_option { " WITH ADMIN OPTION" } else { "" };
    format!("GRANT {} TO {}{option}", list(roles, mode), list(to, mode))
}

/// REVOKE of roles
pub(super) fn revoke_roles(roles: &[AccountName], from: &[AccountName], mode: SqlMode) -> String {
    format!("REVOKE {} FROM {}", list(roles, mode), list(from, mode))
}

/// SET DEFAULT ROLE
pub(super) fn default_roles(roles: &RoleChoice, users: &[AccountName], mode: SqlMode) -> String {
    format!("SET DEFAULT ROLE {} TO {}", choice(roles, mode), list(users, mode))
}

fn choice(roles: &RoleChoice, mode: SqlMode) -> String {
    match roles {
        RoleChoice::Default => "DEFAULT".to_owned(),
        RoleChoice::None => "NONE".to_owned(),
        RoleChoice::All => "ALL".to_owned(),
        RoleChoice::AllExcept(roles) => format!("ALL EXCEPT {}", list(roles, mode)),
        RoleChoice::These(roles) => list(roles, mode),
    }
}

fn list(names: &[AccountName], mode: SqlMode) -> String {
    names.iter().map(|name| account(name, mode)).collect::<Vec<_>>().join(",")
}

fn account(name: &AccountName, mode: SqlMode) -> String {
    format!("{}@{}", quoted(&name.user, mode), quoted(&name.host, mode))
}

/// The text as a string literal under `mode`, which the event carries.
fn quoted(text: &str, mode: SqlMode) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for char in text.chars() {
        match char {
            '\'' => quoted.push_str("''"),
            '\\' if !mode.contains(SqlMode::NO_BACKSLASH_ESCAPES) => quoted.push_str("\\\\"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use cohort_sql::privilege::Privilege;

    use super::*;

    fn name(user: &str) -> AccountName {
        AccountName { user: user.to_owned(), host: "%".to_owned() }
    }

    #[test]
    fn statements_name_plugins_and_hashes() {
        let mode = SqlMode::DEFAULT;
        let accounts = [
            (name("ann"), Some(("p".to_owned(), "*00".to_owned()))),
            (name("bob"), Some(("q".to_owned(), String::new()))),
            (name("cat"), None),
        ];
        let options = AccountOptions {
            requires: Some(TlsRequirement::Specified { subject: Some("/CN='x'".into()), issuer: None, cipher: None }),
            max_queries_per_hour: Some(3),
            expiry: Some(PasswordExpiry::Days(9)),
            locked: Some(true),
            ..AccountOptions::default()
        };
        assert_eq!(
            identified("CREATE USER", &accounts, &options, mode),
            "CREATE USER 'ann'@'%' IDENTIFIED WITH 'p' AS '*00','bob'@'%' IDENTIFIED WITH 'q','cat'@'%' \
             REQUIRE SUBJECT '/CN=''x''' WITH MAX_QUERIES_PER_HOUR 3 PASSWORD EXPIRE INTERVAL 9 DAY ACCOUNT LOCK"
        );
        let requested = Requested {
            on: On::Table("d".into(), "t".into()),
            whole: Privilege::Insert.into(),
            columns: vec![(Privilege::Select, vec!["a".to_owned(), "b`".to_owned()])],
            all: false,
        };
        assert_eq!(
            grant(&requested, &[name("bob")], true, mode),
            "GRANT INSERT, SELECT (`a`, `b```) ON `d`.`t` TO 'bob'@'%' WITH GRANT OPTION"
        );
    }

    #[test]
    fn quotes_and_backslashes_in_names_stay_inside_of_the_literal() {
        let odd = name(r"a\'b");
        assert_eq!(named("DROP USER", &[&odd], SqlMode::DEFAULT), r"DROP USER 'a\\''b'@'%'");
        assert_eq!(named("DROP USER", &[&odd], SqlMode::NO_BACKSLASH_ESCAPES), r"DROP USER 'a\''b'@'%'");
    }
}
