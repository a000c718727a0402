//! Account statements as the binlog has them: made of what was done, so that they name just the accounts
//! that changed and give hashes in the place of passwords.

use cohort_sql::ast::{AccountName, TlsRequirement};
use cohort_sql::types::SqlMode;

/// An account, with plugin and hash if it gets a password; an empty hash is no password.
pub(super) type Identified<'a> = (&'a AccountName, Option<(String, String)>);

/// `verb` (CREATE USER, ALTER USER and their IF forms) for accounts.
pub(super) fn identified(
    verb: &str,
    accounts: &[Identified<'_>],
    requires: Option<&TlsRequirement>,
    mode: SqlMode,
) -> String {
    let account = |(name, password): &Identified<'_>| {
        let name = account(name, mode);
        match password {
            None => name,
            Some((plugin, hash)) if hash.is_empty() => format!("{name} IDENTIFIED WITH {}", quoted(plugin, mode)),
            Some((plugin, hash)) => {
                format!("{name} IDENTIFIED WITH {} AS {}", quoted(plugin, mode), quoted(hash, mode))
            }
        }
    };
    let requires = requires.map(|requirement| format!(" REQUIRE {}", requirement_text(requirement, mode)));
    let accounts = accounts.iter().map(account).collect::<Vec<_>>().join(",");
    format!("{verb} {accounts}{}", requires.unwrap_or_default())
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

/// DROP USER
pub(super) fn drop_user(if_exists: bool, accounts: &[&AccountName], mode: SqlMode) -> String {
    let names: Vec<String> = accounts.iter().map(|name| account(name, mode)).collect();
    format!("DROP USER {}{}", if if_exists { "IF EXISTS " } else { "" }, names.join(","))
}

/// `GRANT ALL ON *.*`
pub(super) fn grant_all(accounts: &[AccountName], grant_option: bool, mode: SqlMode) -> String {
    let names: Vec<String> = accounts.iter().map(|name| account(name, mode)).collect();
    let option = if grant_option { " WITH GRANT OPTION" } else { "" };
    format!("GRANT ALL PRIVILEGES ON *.* TO {}{option}", names.join(","))
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
    use super::*;

    fn name(user: &str) -> AccountName {
        AccountName { user: user.to_owned(), host: "%".to_owned() }
    }

    #[test]
    fn statements_name_plugins_and_hashes() {
        let mode = SqlMode::DEFAULT;
        let (ann, bob) = (name("ann"), name("bob"));
        let accounts =
            [(&ann, Some(("p".to_owned(), "*00".to_owned()))), (&bob, Some(("q".to_owned(), String::new())))];
        assert_eq!(
            identified("CREATE USER", &accounts, None, mode),
            "CREATE USER 'ann'@'%' IDENTIFIED WITH 'p' AS '*00','bob'@'%' IDENTIFIED WITH 'q'"
        );
        let specified = TlsRequirement::Specified {
            subject: Some("/CN=o'b".to_owned()),
            issuer: Some("/CN=i".to_owned()),
            cipher: None,
        };
        assert_eq!(
            identified("ALTER USER", &[(&ann, None)], Some(&specified), mode),
            "ALTER USER 'ann'@'%' REQUIRE SUBJECT '/CN=o''b' ISSUER '/CN=i'"
        );
        assert_eq!(drop_user(true, &[&ann, &bob], mode), "DROP USER IF EXISTS 'ann'@'%','bob'@'%'");
        assert_eq!(grant_all(&[bob], true, mode), "GRANT ALL PRIVILEGES ON *.* TO 'bob'@'%' WITH GRANT OPTION");
    }

    #[test]
    fn quotes_and_backslashes_in_names_stay_inside_of_the_literal() {
        let odd = name(r"a\'b");
        assert_eq!(drop_user(false, &[&odd], SqlMode::DEFAULT), r"DROP USER 'a\\''b'@'%'");
        assert_eq!(drop_user(false, &[&odd], SqlMode::NO_BACKSLASH_ESCAPES), r"DROP USER 'a\''b'@'%'");
    }
}
