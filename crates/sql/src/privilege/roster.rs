//! Accounts as system tables show them.

use std::collections::{BTreeMap, BTreeSet};

use super::Privilege;
use super::grants::Grants;
use crate::ast::{AccountName, AccountOptions};

/// Every account and role, and who asks.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// In the order of their names.
    pub accounts: Vec<AccountRecord>,
    /// The account of the session that asks.
    pub own: AccountName,
    /// The roles that are active in that session.
    pub active: BTreeSet<AccountName>,
}

/// An account or a role.
#[derive(Clone, Debug)]
pub struct AccountRecord {
    /// Its name.
    pub name: AccountName,
    /// The authentication plugin.
    pub plugin: String,
    /// The password as it is stored; empty for none.
    pub hash: String,
    /// When the password was set, seconds since 1970; 0 if that is not known.
    pub password_set: i64,
    /// What CREATE USER would have to say.
    pub options: AccountOptions,
    /// What is granted to itself.
    pub grants: Grants,
    /// The roles that are granted to it, with ADMIN OPTION or without.
    pub roles: BTreeMap<AccountName, bool>,
    /// The roles that are active when it logs in.
    pub default_roles: BTreeSet<AccountName>,
}

impl Roster {
    /// The accounts whose privileges the asker may see: all of them for whoever may read `mysql`, else the own one.
    pub(crate) fn seen(&self, asker: &Grants) -> impl Iterator<Item = &AccountRecord> {
        let all = asker.on_database("mysql").has(Privilege::Select);
        self.accounts.iter().filter(move |account| all || account.name == self.own)
    }

    /// The active roles as CURRENT_ROLE() gives them.
    pub(crate) fn active_roles(&self) -> String {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let roles = self.active.iter().map(|role| format!("{}@{}", quoted(&role.user), quoted(&role.host)));
        let roles: Vec<String> = roles.collect();
        if roles.is_empty() { "NONE".to_owned() } else { roles.join(",") }
    }

    /// The account that asks.
    pub(crate) fn own_record(&self) -> Option<&AccountRecord> {
        self.accounts.iter().find(|account| account.name == self.own)
    }
}
