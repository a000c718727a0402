//! Accounts: who may connect, and with which password.
//!
//! Accounts live in the system area of the database, their passwords hashed; all are in memory too. There
//! are no privileges: whoever may connect may do everything. A new data directory has `root@localhost`
//! without a password, which lets in clients of this machine only.
//!
//! Format of a system area entry: key `account`, zero byte, user, zero byte, host; value JSON.
//!
//! A change is in the binlog as a statement that gives hashes in the place of passwords ([`logged`]). One
//! change runs at a time, so that memory, disk and binlog see them in one order.

mod logged;

use std::collections::BTreeMap;

use cohort_sql::ast::{AccountName, AccountStatement, Authentication};
use cohort_sql::collation::{Collation, like};
use cohort_sql::database::SystemEntry;
use cohort_sql::error::{ER_CANNOT_USER, ER_NOT_VALID_PASSWORD, ER_PLUGIN_IS_NOT_LOADED};
use cohort_sql::session::{Diagnostic, DiagnosticLevel, Environment, SessionState};
use cohort_sql::{Database, SqlError};
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use crate::protocol::auth::{AuthPlugin, NativeHash, Sha2Digest, Sha2Hash};
use crate::socket::Peer;
use crate::sysvars::{Globals, ids};

/// Who a session belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The user's name.
    pub user: String,
    /// The host of the account, which may be a pattern.
    pub account_host: String,
    /// Where the client is.
    pub client_host: String,
}

/// A stored password.
#[derive(Clone)]
pub enum Credential {
    /// No password: an empty response is let in, any other is not.
    Empty,
    /// `mysql_native_password`
    Native(NativeHash),
    /// `caching_sha2_password`, with what its fast way needs once that is known.
    Sha2(Sha2Hash, Option<Sha2Digest>),
}

impl Credential {
    /// The plugin that a client must use.
    pub fn plugin(&self) -> Option<AuthPlugin> {
        match self {
            Credential::Empty => None,
            Credential::Native(_) => Some(AuthPlugin::NativePassword),
            Credential::Sha2(..) => Some(AuthPlugin::CachingSha2),
        }
    }

    /// `None` if the password is too long for the plugin.
    fn of_password(plugin: AuthPlugin, password: &str) -> Option<Credential> {
        Some(match plugin {
            _ if password.is_empty() => Credential::Empty,
            AuthPlugin::NativePassword => Credential::Native(NativeHash::of(password.as_bytes())),
            AuthPlugin::CachingSha2 => {
                let hash = Sha2Hash::of(password.as_bytes(), crate::random_bytes())?;
                Credential::Sha2(hash, Some(Sha2Digest::of(password.as_bytes())))
            }
        })
    }

    /// What is stored and logged of the password; nothing for none.
    fn hash_text(&self) -> String {
        match self {
            Credential::Empty => String::new(),
            Credential::Native(hash) => hash.to_text(),
            Credential::Sha2(hash, _) => hash.to_text(),
        }
    }

    fn to_stored(&self) -> Stored {
        Stored { plugin: self.plugin().map(|plugin| plugin.name().to_owned()), hash: self.hash_text() }
    }

    fn from_hash(plugin: Option<AuthPlugin>, hash: &str) -> Option<Credential> {
        match plugin {
            _ if hash.is_empty() => Some(Credential::Empty),
            Some(AuthPlugin::NativePassword) => NativeHash::parse(hash).map(Credential::Native),
            Some(AuthPlugin::CachingSha2) => Sha2Hash::parse(hash).map(|hash| Credential::Sha2(hash, None)),
            None => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    plugin: Option<String>,
    hash: String,
}

/// User and host.
type Name = (String, String);

/// Every account.
#[derive(Default)]
pub struct Accounts {
    accounts: RwLock<BTreeMap<Name, Credential>>,
    /// Held while a statement changes accounts.
    changing: Mutex<()>,
}

/// What account statements need of the session that runs them.
#[derive(Clone, Copy)]
pub struct AccountSession<'a> {
    /// Where accounts are stored.
    pub database: &'a Database,
    /// The session.
    pub session: &'a SessionState,
    /// What the server gives to its statements.
    pub env: &'a dyn Environment,
    /// Who runs them.
    pub identity: &'a Identity,
    /// The server's settings.
    pub globals: &'a Globals,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} accounts", self.accounts.read().len())
    }
}

const KEY_PREFIX: &[u8] = b"account\0";

fn key(name: &Name) -> Vec<u8> {
    [KEY_PREFIX, name.0.as_bytes(), b"\0", name.1.as_bytes()].concat()
}

impl Accounts {
    /// Reads the accounts; makes `root@localhost` if there are none yet.
    pub fn load(database: &Database) -> Result<Accounts, SqlError> {
        let mut accounts = BTreeMap::new();
        for (key, value) in database.system_scan(KEY_PREFIX)? {
            let account = parse_entry(&key, &value);
            let damaged = || SqlError::internal(format_args!("the account entry {key:?} is damaged"));
            let (name, credential) = account.ok_or_else(damaged)?;
            accounts.insert(name, credential);
        }
        let accounts = Accounts { accounts: RwLock::new(accounts), ..Accounts::default() };
        if accounts.accounts.read().is_empty() {
            let root = ("root".to_owned(), "localhost".to_owned());
            let changes = vec![(root, Some(Credential::Empty))];
            database.system_put(&SessionState::new(), &entries_of(&changes)?, None)?;
            accounts.show(changes);
        }
        Ok(accounts)
    }

    /// The account that a client at `peer` who calls itself `user` is, with its credential: of several
    /// that fit, the one with the most exact host.
    pub fn find(&self, user: &str, peer: &Peer) -> Option<(Identity, Credential)> {
        let accounts = self.accounts.read();
        let fitting = accounts.iter().filter(|((name, host), _)| name == user && host_fits(host, peer));
        let ((_, host), credential) = fitting.max_by_key(|((_, host), _)| exactness(host))?;
        let identity = Identity { user: user.to_owned(), account_host: host.clone(), client_host: peer.host() };
        Some((identity, credential.clone()))
    }

    /// Keeps what the fast way of `caching_sha2_password` needs, after a password has proved right.
    pub fn remember(&self, identity: &Identity, hash: &Sha2Hash, digest: Sha2Digest) {
        let name = (identity.user.clone(), identity.account_host.clone());
        if let Some(Credential::Sha2(stored, known)) = self.accounts.write().get_mut(&name)
            && stored == hash
        {
            *known = Some(digest);
        }
    }

    /// Accounts without a password, as `user@host`.
    pub fn without_password(&self) -> Vec<String> {
        let accounts = self.accounts.read();
        let empty = accounts.iter().filter(|(_, credential)| matches!(credential, Credential::Empty));
        empty.map(|((user, host), _)| format!("{user}@{host}")).collect()
    }

    /// Whether there is such an account.
    pub fn contains(&self, user: &str, host: &str) -> bool {
        self.accounts.read().contains_key(&(user.to_owned(), host.to_owned()))
    }

    /// Runs CREATE USER and the like; durable when it returns.
    pub fn execute(&self, of: AccountSession<'_>, statement: &AccountStatement) -> Result<(), SqlError> {
        let _changing = self.changing.lock();
        match statement {
            AccountStatement::CreateUser { if_not_exists, users } => {
                let (there, new): (Vec<_>, Vec<_>) =
                    users.iter().partition(|(name, _)| self.contains(&name.user, &name.host));
                self.complain(of.session, "CREATE USER", there.iter().map(|(name, _)| name), *if_not_exists)?;
                let verb = if *if_not_exists { "CREATE USER IF NOT EXISTS" } else { "CREATE USER" };
                self.identify(of, verb, new)
            }
            AccountStatement::AlterUser { if_exists, users } => {
                let (there, missing): (Vec<_>, Vec<_>) =
                    users.iter().partition(|(name, _)| self.contains(&name.user, &name.host));
                self.complain(of.session, "ALTER USER", missing.iter().map(|(name, _)| name), *if_exists)?;
                let changed = there.into_iter().filter(|(_, authentication)| authentication.is_some());
                let verb = if *if_exists { "ALTER USER IF EXISTS" } else { "ALTER USER" };
                self.identify(of, verb, changed.collect())
            }
            AccountStatement::DropUser { if_exists, users } => {
                let (there, missing): (Vec<_>, Vec<_>) =
                    users.iter().partition(|name| self.contains(&name.user, &name.host));
                self.complain(of.session, "DROP USER", missing.into_iter(), *if_exists)?;
                let gone = there.iter().map(|name| ((name.user.clone(), name.host.clone()), None)).collect();
                self.store(of, gone, &logged::drop_user(*if_exists, &there, of.session.sql_mode))
            }
            AccountStatement::SetPassword { user, password } => {
                let own = || AccountName { user: of.identity.user.clone(), host: of.identity.account_host.clone() };
                let name = user.clone().unwrap_or_else(own);
                if !self.contains(&name.user, &name.host) {
                    self.complain(of.session, "SET PASSWORD", [&name].into_iter(), false)?;
                }
                let plugin = self.plugin_of(&name).map(|plugin| plugin.name().to_owned());
                let authentication = Authentication::Password { plugin, password: password.clone() };
                self.identify(of, "ALTER USER", vec![&(name, Some(authentication))])
            }
            AccountStatement::Grant { privileges, on, users, grant_option } => {
                let all = privileges.iter().all(|name| matches!(name.as_str(), "ALL" | "ALL PRIVILEGES"));
                if !all || on != "*.*" {
                    return Err(SqlError::unsupported(
                        "GRANT of anything but ALL ON *.*: every account may do everything",
                    ));
                }
                let missing = users.iter().filter(|name| !self.contains(&name.user, &name.host));
                self.complain(of.session, "GRANT", missing, false)?;
                // Nothing changes here, but a reader of the binlog may have privileges.
                let sql = logged::grant_all(users, *grant_option, of.session.sql_mode);
                of.database.system_put(of.session, &[], Some((of.env, &sql)))
            }
            AccountStatement::Revoke { .. } => Err(SqlError::unsupported("REVOKE: every account may do everything")),
        }
    }

    fn plugin_of(&self, name: &AccountName) -> Option<AuthPlugin> {
        self.accounts.read().get(&(name.user.clone(), name.host.clone()))?.plugin()
    }

    /// Accounts that should, or should not, be there: an error, or a note with IF EXISTS or IF NOT EXISTS.
    fn complain<'a>(
        &self,
        session: &SessionState,
        operation: &str,
        names: impl Iterator<Item = &'a AccountName>,
        tolerated: bool,
    ) -> Result<(), SqlError> {
        let names: Vec<String> = names.map(|name| format!("'{}'@'{}'", name.user, name.host)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let error = SqlError::new(ER_CANNOT_USER, &[&operation, &names.join(",")]);
        if !tolerated {
            return Err(error);
        }
        session.diagnostics.borrow_mut().push(Diagnostic { level: DiagnosticLevel::Note, error });
        Ok(())
    }

    /// Gives `users` their credentials, and logs that as `verb`.
    fn identify(
        &self,
        of: AccountSession<'_>,
        verb: &str,
        users: Vec<&(AccountName, Option<Authentication>)>,
    ) -> Result<(), SqlError> {
        let default = of.globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN);
        let mut changes = Vec::with_capacity(users.len());
        let mut identified = Vec::with_capacity(users.len());
        for (name, authentication) in users {
            let credential = credential_of(authentication.as_ref(), &default)?;
            let plugin = credential.plugin().map_or_else(|| default.clone(), |plugin| plugin.name().to_owned());
            identified.push((name, plugin, credential.hash_text()));
            changes.push(((name.user.clone(), name.host.clone()), Some(credential)));
        }
        let sql = logged::identified(verb, &identified, of.session.sql_mode);
        self.store(of, changes, &sql)
    }

    /// Writes changed accounts, logged as `sql`, and shows them to new connections once they are durable.
    fn store(&self, of: AccountSession<'_>, changes: Changes, sql: &str) -> Result<(), SqlError> {
        if changes.is_empty() {
            return Ok(());
        }
        of.database.system_put(of.session, &entries_of(&changes)?, Some((of.env, sql)))?;
        self.show(changes);
        Ok(())
    }

    fn show(&self, changes: Changes) {
        let mut accounts = self.accounts.write();
        for (name, credential) in changes {
            match credential {
                Some(credential) => accounts.insert(name, credential),
                None => accounts.remove(&name),
            };
        }
    }
}

/// Accounts with their new credentials; without one an account is removed.
type Changes = Vec<(Name, Option<Credential>)>;

fn entries_of(changes: &Changes) -> Result<Vec<SystemEntry>, SqlError> {
    let entry = |(name, credential): &(Name, Option<Credential>)| {
        let value = credential.as_ref().map(|credential| serde_json::to_vec(&credential.to_stored())).transpose();
        Ok((key(name), value.map_err(SqlError::internal)?))
    };
    changes.iter().map(entry).collect()
}

fn parse_entry(key: &[u8], value: &[u8]) -> Option<(Name, Credential)> {
    let name = std::str::from_utf8(key.strip_prefix(KEY_PREFIX)?).ok()?;
    let (user, host) = name.split_once('\0')?;
    let stored: Stored = serde_json::from_slice(value).ok()?;
    let plugin = match &stored.plugin {
        Some(name) => Some(AuthPlugin::from_name(name)?),
        None => None,
    };
    let credential = Credential::from_hash(plugin, &stored.hash)?;
    Some(((user.to_owned(), host.to_owned()), credential))
}

fn credential_of(authentication: Option<&Authentication>, default_plugin: &str) -> Result<Credential, SqlError> {
    let named =
        |name: &str| AuthPlugin::from_name(name).ok_or_else(|| SqlError::new(ER_PLUGIN_IS_NOT_LOADED, &[&name]));
    match authentication {
        None => Ok(Credential::Empty),
        Some(Authentication::Password { plugin, password }) => {
            let plugin = named(plugin.as_deref().unwrap_or(default_plugin))?;
            Credential::of_password(plugin, password).ok_or_else(|| SqlError::new(ER_NOT_VALID_PASSWORD, &[]))
        }
        Some(Authentication::Plugin { plugin, hash }) => {
            let hash = hash.as_deref().unwrap_or_default();
            let credential = std::str::from_utf8(hash).ok();
            let credential = credential.and_then(|hash| Credential::from_hash(AuthPlugin::from_name(plugin), hash));
            named(plugin)?;
            credential.ok_or_else(|| SqlError::unsupported("a password hash of this form"))
        }
    }
}

fn host_fits(pattern: &str, peer: &Peer) -> bool {
    match pattern {
        "%" => true,
        "localhost" => peer.is_loopback(),
        _ => like(Collation::Utf8mb4GeneralCi, peer.host().as_bytes(), pattern.as_bytes(), None, &|| true),
    }
}

/// How much of a host pattern is no wildcard.
fn exactness(pattern: &str) -> (bool, usize) {
    let wild = pattern.contains(['%', '_']);
    (!wild, pattern.find(['%', '_']).unwrap_or(pattern.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(address: &str) -> Peer {
        Peer::Remote(address.parse().unwrap(), 1)
    }

    #[test]
    fn the_most_exact_host_wins() {
        let accounts = Accounts::default();
        for host in ["%", "10.%", "10.0.0.7", "localhost"] {
            accounts.accounts.write().insert(("a".into(), host.into()), Credential::Empty);
        }
        let host = |peer: &Peer| accounts.find("a", peer).map(|(identity, _)| identity.account_host);
        assert_eq!(host(&remote("10.0.0.7")).as_deref(), Some("10.0.0.7"));
        assert_eq!(host(&remote("10.0.0.8")).as_deref(), Some("10.%"));
        let endless = format!("{}x", "%".repeat(200));
        assert!(!host_fits(&endless, &remote("fe80:1234:5678:9abc:def0:1234:5678:9abc")));
        assert_eq!(host(&remote("11.0.0.8")).as_deref(), Some("%"));
        assert_eq!(host(&remote("127.0.0.1")).as_deref(), Some("localhost"));
        assert_eq!(host(&remote("::ffff:127.0.0.1")).as_deref(), Some("localhost"));
        assert_eq!(host(&Peer::Local).as_deref(), Some("localhost"));
        assert!(accounts.find("b", &Peer::Local).is_none());
    }

    #[test]
    fn root_at_localhost_is_not_let_in_from_elsewhere() {
        let accounts = Accounts::default();
        accounts.accounts.write().insert(("root".into(), "localhost".into()), Credential::Empty);
        assert!(accounts.find("root", &remote("192.168.1.5")).is_none());
        assert!(accounts.find("root", &remote("::1")).is_some());
    }

    #[test]
    fn stored_accounts_come_back() {
        for credential in [
            Credential::Empty,
            Credential::of_password(AuthPlugin::NativePassword, "x").unwrap(),
            Credential::of_password(AuthPlugin::CachingSha2, "x").unwrap(),
        ] {
            let name = ("u".to_owned(), "%".to_owned());
            let value = serde_json::to_vec(&credential.to_stored()).unwrap();
            assert!(!value.windows(3).any(|text| text == b"\"x\""), "a password is stored in clear");
            let (back, stored) = parse_entry(&key(&name), &value).unwrap();
            assert_eq!((back, stored.plugin()), (name, credential.plugin()));
        }
        assert!(parse_entry(b"account\0u", b"{}").is_none());
        assert!(parse_entry(b"account\0u\0%", b"{\"plugin\":\"x\",\"hash\":\"1\"}").is_none());
    }
}
