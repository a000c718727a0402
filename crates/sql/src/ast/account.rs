//! Accounts: who may log in, and how.

use serde::{Deserialize, Serialize};

use super::{GrantStatement, RoleChoice, RoleStatement};

/// `'user'@'host'`
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountName {
    /// The user.
    pub user: String,
    /// The host, `%` if not written.
    pub host: String,
}

/// IDENTIFIED ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// BY 'password'
    Password {
        /// WITH plugin
        plugin: Option<String>,
        /// In clear.
        password: String,
    },
    /// WITH plugin [AS 'hash']
    Plugin {
        /// The plugin.
        plugin: String,
        /// The stored form.
        hash: Option<Vec<u8>>,
    },
}

/// One account of CREATE USER or ALTER USER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSpec {
    /// Who; `None` is the session's own account.
    pub name: Option<AccountName>,
    /// IDENTIFIED
    pub authentication: Option<Authentication>,
    /// REPLACE: the password until now, in clear.
    pub current: Option<String>,
}

/// What CREATE USER and ALTER USER say of all their accounts; `None` is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// DEFAULT ROLE
    pub default_roles: Option<RoleChoice>,
    /// REQUIRE
    pub requires: Option<TlsRequirement>,
    /// `MAX_QUERIES_PER_HOUR`, 0 for no limit.
    pub max_queries_per_hour: Option<u32>,
    /// `MAX_UPDATES_PER_HOUR`, 0 for no limit.
    pub max_updates_per_hour: Option<u32>,
    /// `MAX_CONNECTIONS_PER_HOUR`, 0 for no limit.
    pub max_connections_per_hour: Option<u32>,
    /// `MAX_USER_CONNECTIONS`, 0 for the global limit.
    pub max_user_connections: Option<u32>,
    /// PASSWORD EXPIRE
    pub expiry: Option<PasswordExpiry>,
    /// PASSWORD HISTORY: so many passwords are not to come back.
    pub history: Option<OrDefault<u16>>,
    /// PASSWORD REUSE INTERVAL: for so many days a password is not to come back.
    pub reuse_days: Option<OrDefault<u16>>,
    /// PASSWORD REQUIRE CURRENT: whether who changes the own password has to give the one until now.
    pub requires_current: Option<OrDefault<bool>>,
    /// `FAILED_LOGIN_ATTEMPTS`: so many wrong passwords in a row lock the account; 0 for never.
    pub failed_logins: Option<u16>,
    /// `PASSWORD_LOCK_TIME`: for how long.
    pub lock_time: Option<LockTime>,
    /// ACCOUNT LOCK, ACCOUNT UNLOCK
    pub locked: Option<bool>,
    /// COMMENT, ATTRIBUTE
    pub attribute: Option<AccountAttribute>,
}

/// What an account says for itself, or leaves to a system variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrDefault<T> {
    /// DEFAULT: as the variable says.
    #[default]
    Default,
    /// This.
    Own(T),
}

impl<T> OrDefault<T> {
    /// What holds where the variable says `default`.
    pub fn or(self, default: T) -> T {
        match self {
            OrDefault::Default => default,
            OrDefault::Own(own) => own,
        }
    }
}

/// How long wrong passwords lock an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockTime {
    /// So many days; 0 does not lock.
    Days(u16),
    /// UNBOUNDED: until somebody unlocks it.
    Unbounded,
}

impl Default for LockTime {
    fn default() -> LockTime {
        LockTime::Days(0)
    }
}

/// What is noted of an account, for people and tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountAttribute {
    /// COMMENT
    Comment(String),
    /// ATTRIBUTE: a JSON object, which is merged into what is there.
    Json(String),
}

/// REQUIRE: what the connection of an account has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsRequirement {
    /// NONE
    #[default]
    None,
    /// SSL: encrypted.
    Ssl,
    /// X509: encrypted, and the client has shown a certificate.
    X509,
    /// What is written of SUBJECT, ISSUER and CIPHER; the first two are those of the client's certificate.
    Specified {
        /// SUBJECT
        subject: Option<String>,
        /// ISSUER
        issuer: Option<String>,
        /// CIPHER
        cipher: Option<String>,
    },
}

/// When a password expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PasswordExpiry {
    /// PASSWORD EXPIRE: it has.
    Now,
    #[default]
    /// PASSWORD EXPIRE DEFAULT: as `default_password_lifetime` says.
    Default,
    /// PASSWORD EXPIRE NEVER
    Never,
    /// PASSWORD EXPIRE INTERVAL n DAY
    Days(u16),
}

/// Statements about accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountStatement {
    /// CREATE USER
    CreateUser {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Who.
        users: Vec<AccountSpec>,
        /// What holds for all of them.
        options: AccountOptions,
    },
    /// ALTER USER
    AlterUser {
        /// IF EXISTS
        if_exists: bool,
        /// Who.
        users: Vec<AccountSpec>,
        /// What holds for all of them.
        options: AccountOptions,
    },
    /// DROP USER
    DropUser {
        /// IF EXISTS
        if_exists: bool,
        /// Who.
        users: Vec<AccountName>,
    },
    /// RENAME USER: old and new names.
    RenameUser(Vec<(AccountName, AccountName)>),
    /// SET PASSWORD; `None` is the session's own account.
    SetPassword {
        /// FOR
        user: Option<AccountName>,
        /// In clear.
        password: String,
        /// REPLACE: the one until now, in clear.
        current: Option<String>,
    },
    /// GRANT, REVOKE
    Grant(GrantStatement),
    /// CREATE ROLE, SET ROLE and so on.
    Role(RoleStatement),
}
