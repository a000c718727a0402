//! GRANT, REVOKE and what is about roles.

use super::{AccountName, TableName};
use crate::privilege::Privilege;

/// GRANT and REVOKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantStatement {
    /// GRANT privileges ON ... TO ...
    Grant {
        /// What.
        privileges: Granted,
        /// On what.
        on: GrantOn,
        /// To whom.
        to: Vec<AccountName>,
        /// WITH GRANT OPTION
        grant_option: bool,
    },
    /// REVOKE privileges ON ... FROM ...
    Revoke {
        /// IF EXISTS
        if_exists: bool,
        /// What.
        privileges: Granted,
        /// On what.
        on: GrantOn,
        /// From whom.
        from: Vec<AccountName>,
        /// IGNORE UNKNOWN USER
        ignore_unknown_user: bool,
    },
    /// REVOKE ALL PRIVILEGES, GRANT OPTION FROM ...
    RevokeAll {
        /// IF EXISTS
        if_exists: bool,
        /// From whom.
        from: Vec<AccountName>,
        /// IGNORE UNKNOWN USER
        ignore_unknown_user: bool,
    },
    /// GRANT roles TO ...
    GrantRoles {
        /// Which.
        roles: Vec<AccountName>,
        /// To whom.
        to: Vec<AccountName>,
        /// WITH ADMIN OPTION
        admin_option: bool,
    },
    /// REVOKE roles FROM ...
    RevokeRoles {
        /// IF EXISTS
        if_exists: bool,
        /// Which.
        roles: Vec<AccountName>,
        /// From whom.
        from: Vec<AccountName>,
        /// IGNORE UNKNOWN USER
        ignore_unknown_user: bool,
    },
}

/// The privileges of a GRANT or REVOKE; none is USAGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    /// ALL PRIVILEGES: what there is at the level.
    All,
    /// These, each with its columns if it is for columns.
    These(Vec<(Privilege, Vec<String>)>),
}

/// What a GRANT or REVOKE is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantOn {
    /// `*.*`
    Global,
    /// `db.*`; `None` is `*`, the default database.
    Database(Option<String>),
    /// `[db.]table`
    Table(TableName),
}

/// Statements about roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleStatement {
    /// CREATE ROLE
    Create {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Which.
        roles: Vec<AccountName>,
    },
    /// DROP ROLE
    Drop {
        /// IF EXISTS
        if_exists: bool,
        /// Which.
        roles: Vec<AccountName>,
    },
    /// SET ROLE
    Set(RoleChoice),
    /// SET DEFAULT ROLE, ALTER USER ... DEFAULT ROLE
    SetDefault {
        /// Which.
        roles: RoleChoice,
        /// For whom.
        users: Vec<AccountName>,
    },
}

/// Which of an account's roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleChoice {
    /// DEFAULT
    Default,
    /// NONE
    None,
    /// ALL
    All,
    /// ALL EXCEPT
    AllExcept(Vec<AccountName>),
    /// These.
    These(Vec<AccountName>),
}
