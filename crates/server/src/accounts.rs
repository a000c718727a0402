//! Accounts: who may connect, and with which password.
//!
//! Accounts live in the system area of the database, their passwords hashed; all are in memory too. There
//! are no privileges: whoever may connect may do everything.
//!
//! A new data directory has `root@localhost` without a password, which lets in clients of the Unix socket only, and
//! for TCP on this machine `root@127.0.0.1` and `root@::1`, with a password that is logged once. Everything else on
//! this machine, a tunnel or a proxy too, arrives there as well. `insecure_root_on_loopback` lets root in without.
//!
//! Format of a system area entry: key `account`, zero byte, user, zero byte, host; value JSON ([`account`]). Key
//! `accounts made`: there were accounts once, so that none are made where all were dropped.
//!
//! A change is in the binlog as a statement that gives hashes in the place of passwords ([`logged`]). One
//! change runs at a time, so that memory, disk and binlog see them in one order.

pub mod account;
mod logged;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cohort_sql::ast::{AccountName, AccountStatement, Authentication, TlsRequirement};
use cohort_sql::collation::{Collation, like};
use cohort_sql::database::SystemEntry;
use cohort_sql::error::{ER_CANNOT_USER, ER_NOT_VALID_PASSWORD};
use cohort_sql::session::{Diagnostic, DiagnosticLevel, Environment, SessionState};
use cohort_sql::types::SqlMode;
use cohort_sql::{Database, SqlError};
use parking_lot::{Mutex, RwLock};

use crate::protocol::auth::{AuthPlugin, Sha2Digest, Sha2Hash};
use crate::socket::Peer;
use crate::sysvars::{Globals, ids};
use account::{Account, Credential};

/// The administrator's user.
pub const ADMINISTRATOR: &str = "root";
/// The host of accounts that may have no password: the Unix socket is the only way to them then.
const LOCAL_HOST: &str = "localhost";

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

/// User and host.
type Name = (String, String);

/// Every account.
#[derive(Default)]
pub struct Accounts {
    accounts: RwLock<BTreeMap<Name, Account>>,
    /// Chooses what unknown users are taken for; another with each start.
    decoys: RandomState,
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
const KEY_MADE: &[u8] = b"accounts made";

fn key(name: &Name) -> Vec<u8> {
    [KEY_PREFIX, name.0.as_bytes(), b"\0", name.1.as_bytes()].concat()
}

impl Accounts {
    /// Reads the accounts; makes those of root if there have never been any.
    pub fn load(database: &Database, globals: &Globals) -> Result<Accounts, SqlError> {
        let mut accounts = BTreeMap::new();
        for (key, value) in database.system_scan(KEY_PREFIX)? {
            let account = parse_entry(&key, &value);
            let damaged = || SqlError::internal(format_args!("the account entry {key:?} is damaged"));
            let (name, account) = account.ok_or_else(damaged)?;
            accounts.insert(name, account);
        }
        let has_begun = !database.system_scan(KEY_MADE)?.is_empty();
        let mut changes = Changes::new();
        if accounts.is_empty() && !has_begun {
            changes = first_accounts(globals);
        } else if globals.get(ids::RESET_ROOT) {
            log::warn!("{ADMINISTRATOR}@{LOCAL_HOST} has no password now; start without --reset-root from now on");
            changes.push((name(ADMINISTRATOR, LOCAL_HOST), Some(Account::default())));
        }
        let mut entries = entries_of(&changes)?;
        if !has_begun {
            entries.push((KEY_MADE.to_vec(), Some(Vec::new())));
        }
        if !entries.is_empty() {
            database.system_put(&SessionState::new(), &entries, None)?;
        }
        let accounts = Accounts { accounts: RwLock::new(accounts), ..Accounts::default() };
        accounts.show(changes);
        if accounts.accounts.read().is_empty() {
            log::error!("there are no accounts, nobody can log in: start with --reset-root once");
        }
        Ok(accounts)
    }

    /// The account that a client at `peer` who calls itself `user` is: of several that fit, the one with the most
    /// exact host.
    pub fn find(&self, user: &str, peer: &Peer) -> Option<(Identity, Account)> {
        let accounts = self.accounts.read();
        let fitting = accounts.iter().filter(|((name, host), _)| name == user && host_fits(host, peer));
        let ((_, host), account) = fitting.max_by_key(|((_, host), _)| exactness(host))?;
        let identity = Identity { user: user.to_owned(), account_host: host.clone(), client_host: peer.host() };
        Some((identity, account.clone()))
    }

    /// What an unknown user is asked for: a password as some account has one, which nobody knows. The same user always
    /// gets the same, so that nobody finds out by the exchange who is known.
    pub fn decoy(&self, user: &str, globals: &Globals) -> Credential {
        let accounts = self.accounts.read();
        let plugins: Vec<AuthPlugin> = accounts.values().filter_map(|account| account.credential.plugin()).collect();
        let default = || AuthPlugin::from_name(&globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN));
        let plugin = match plugins.len() {
            0 => default().unwrap_or(AuthPlugin::CachingSha2),
            several => plugins[(self.decoys.hash_one(user) % several as u64) as usize],
        };
        Credential::nobodys(plugin)
    }

    /// Keeps what the fast way of `caching_sha2_password` needs, after a password has proved right.
    pub fn remember(&self, identity: &Identity, hash: &Sha2Hash, digest: Sha2Digest) {
        let name = (identity.user.clone(), identity.account_host.clone());
        if let Some(Account { credential: Credential::Sha2(stored, known), .. }) = self.accounts.write().get_mut(&name)
            && stored == hash
        {
            *known = Some(digest);
        }
    }

    /// Accounts without a password for other hosts, which nobody can use, as `user@host`.
    pub fn without_password(&self) -> Vec<String> {
        let accounts = self.accounts.read();
        let is_useless =
            |host: &String, account: &Account| host != LOCAL_HOST && matches!(account.credential, Credential::Empty);
        let useless = accounts.iter().filter(|((_, host), account)| is_useless(host, account));
        useless.map(|((user, host), _)| format!("{user}@{host}")).collect()
    }

    /// Whether there is such an account.
    pub fn contains(&self, user: &str, host: &str) -> bool {
        self.accounts.read().contains_key(&name(user, host))
    }

    /// The statement that makes an account; `None` if there is none.
    pub fn create_statement(&self, account: &AccountName, default_plugin: &str, mode: SqlMode) -> Option<String> {
        let accounts = self.accounts.read();
        let found = accounts.get(&name(&account.user, &account.host))?;
        let identified = [(account, Some(plugin_and_hash(&found.credential, default_plugin)))];
        Some(logged::identified("CREATE USER", &identified, Some(&found.requires), mode))
    }

    /// Runs CREATE USER and the like; durable when it returns.
    pub fn execute(&self, of: AccountSession<'_>, statement: &AccountStatement) -> Result<(), SqlError> {
        let _changing = self.changing.lock();
        match statement {
            AccountStatement::CreateUser { if_not_exists, users, requires } => {
                let (there, new): (Vec<_>, Vec<_>) =
                    users.iter().partition(|(name, _)| self.contains(&name.user, &name.host));
                self.complain(of.session, "CREATE USER", there.iter().map(|(name, _)| name), *if_not_exists)?;
                let verb = if *if_not_exists { "CREATE USER IF NOT EXISTS" } else { "CREATE USER" };
                self.change(of, verb, new, requires.as_ref())
            }
            AccountStatement::AlterUser { if_exists, users, requires } => {
                let (there, missing): (Vec<_>, Vec<_>) =
                    users.iter().partition(|(name, _)| self.contains(&name.user, &name.host));
                self.complain(of.session, "ALTER USER", missing.iter().map(|(name, _)| name), *if_exists)?;
                let changes = |authentication: &Option<_>| authentication.is_some() || requires.is_some();
                let changed = there.into_iter().filter(|(_, authentication)| changes(authentication));
                let verb = if *if_exists { "ALTER USER IF EXISTS" } else { "ALTER USER" };
                self.change(of, verb, changed.collect(), requires.as_ref())
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
                self.change(of, "ALTER USER", vec![&(name, Some(authentication))], None)
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
        self.accounts.read().get(&(name.user.clone(), name.host.clone()))?.credential.plugin()
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

    /// Makes `users`, or gives them what a statement says of them, and logs that as `verb`.
    fn change(
        &self,
        of: AccountSession<'_>,
        verb: &str,
        users: Vec<&(AccountName, Option<Authentication>)>,
        requires: Option<&TlsRequirement>,
    ) -> Result<(), SqlError> {
        let default = of.globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN);
        let mut changes = Vec::with_capacity(users.len());
        let mut identified = Vec::with_capacity(users.len());
        for (account_name, authentication) in users {
            let name = name(&account_name.user, &account_name.host);
            let known = self.accounts.read().get(&name).cloned();
            let gets_password = authentication.is_some() || known.is_none();
            let mut account = known.unwrap_or_default();
            if gets_password {
                account.credential = Credential::of(authentication.as_ref(), &default)?;
                if matches!(account.credential, Credential::Empty) && account_name.host != LOCAL_HOST {
                    return Err(SqlError::new(ER_NOT_VALID_PASSWORD, &[]));
                }
            }
            account.requires = requires.unwrap_or(&account.requires).clone();
            identified.push((account_name, gets_password.then(|| plugin_and_hash(&account.credential, &default))));
            changes.push((name, Some(account)));
        }
        let sql = logged::identified(verb, &identified, requires, of.session.sql_mode);
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
        for (name, account) in changes {
            match account {
                Some(account) => accounts.insert(name, account),
                None => accounts.remove(&name),
            };
        }
    }
}

/// New accounts, or what they are now; without that an account is removed.
type Changes = Vec<(Name, Option<Account>)>;

fn name(user: &str, host: &str) -> Name {
    (user.to_owned(), host.to_owned())
}

/// Those of a new data directory.
fn first_accounts(globals: &Globals) -> Changes {
    let mut first = vec![(name(ADMINISTRATOR, LOCAL_HOST), Some(Account::default()))];
    if !globals.get(ids::INSECURE_ROOT_ON_LOOPBACK) {
        let password = URL_SAFE_NO_PAD.encode(crate::random_bytes::<15>());
        let plugin = AuthPlugin::from_name(&globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN));
        let credential = plugin.and_then(|plugin| Credential::of_password(plugin, &password));
        let credential = credential.expect("a plugin that takes short passwords");
        for host in ["127.0.0.1", "::1"] {
            let account = Account { credential: credential.clone(), ..Account::default() };
            first.push((name(ADMINISTRATOR, host), Some(account)));
        }
        log::warn!("the password of {ADMINISTRATOR} over TCP, logged this once: {password}");
    }
    first
}

fn entries_of(changes: &Changes) -> Result<Vec<SystemEntry>, SqlError> {
    let entry = |(name, account): &(Name, Option<Account>)| {
        Ok((key(name), account.as_ref().map(Account::to_json).transpose()?))
    };
    changes.iter().map(entry).collect()
}

fn parse_entry(key: &[u8], value: &[u8]) -> Option<(Name, Account)> {
    let name = std::str::from_utf8(key.strip_prefix(KEY_PREFIX)?).ok()?;
    let (user, host) = name.split_once('\0')?;
    Some(((user.to_owned(), host.to_owned()), Account::from_json(value)?))
}

fn plugin_and_hash(credential: &Credential, default_plugin: &str) -> (String, String) {
    let plugin = credential.plugin().map_or_else(|| default_plugin.to_owned(), |plugin| plugin.name().to_owned());
    (plugin, credential.hash_text())
}

fn host_fits(pattern: &str, peer: &Peer) -> bool {
    match pattern {
        "%" => true,
        LOCAL_HOST => peer.is_loopback(),
        _ => like(Collation::Utf8mb4GeneralCi, peer.host().as_bytes(), pattern.as_bytes(), None, &|| true),
    }
}

/// An address is more exact than `localhost`, which stands for several, and that more than a pattern: of those the one
/// with more before its first wildcard.
fn exactness(pattern: &str) -> (u8, usize) {
    match pattern.find(['%', '_']) {
        Some(before) => (0, before),
        None => (1 + u8::from(pattern != LOCAL_HOST), 0),
    }
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
            accounts.accounts.write().insert(("a".into(), host.into()), Account::default());
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
        accounts.accounts.write().insert(("a".into(), "127.0.0.1".into()), Account::default());
        assert_eq!(host(&remote("127.0.0.1")).as_deref(), Some("127.0.0.1"));
        assert_eq!(host(&remote("127.0.0.2")).as_deref(), Some("localhost"));
        assert_eq!(host(&Peer::Local).as_deref(), Some("localhost"));
        assert!(accounts.find("b", &Peer::Local).is_none());
    }

    #[test]
    fn root_at_localhost_is_not_let_in_from_elsewhere() {
        let accounts = Accounts::default();
        accounts.accounts.write().insert(("root".into(), "localhost".into()), Account::default());
        assert!(accounts.find("root", &remote("192.168.1.5")).is_none());
        assert!(accounts.find("root", &remote("::1")).is_some());
    }

    #[test]
    fn entries_name_user_and_host() {
        let name = ("u".to_owned(), "%".to_owned());
        let json = Account::default().to_json().unwrap();
        assert_eq!(parse_entry(&key(&name), &json).unwrap().0, name);
        assert!(parse_entry(b"account\0u", &json).is_none());
    }

    #[test]
    fn an_unknown_user_is_always_taken_for_the_same() {
        let (accounts, globals) = (Accounts::default(), Globals::new());
        let plugin = |user: &str| accounts.decoy(user, &globals).plugin().unwrap();
        assert_eq!(plugin("nobody"), AuthPlugin::CachingSha2);
        for (user, plugin) in [("old", AuthPlugin::NativePassword), ("new", AuthPlugin::CachingSha2)] {
            let credential = Credential::of_password(plugin, "x").unwrap();
            let account = Account { credential, ..Account::default() };
            accounts.accounts.write().insert((user.into(), "%".into()), account);
        }
        let users: Vec<String> = (0..64).map(|user| format!("user{user}")).collect();
        let first: Vec<AuthPlugin> = users.iter().map(|user| plugin(user)).collect();
        assert!(first.contains(&AuthPlugin::NativePassword) && first.contains(&AuthPlugin::CachingSha2));
        assert_eq!(first, users.iter().map(|user| plugin(user)).collect::<Vec<_>>());
    }
}
