//! Accounts: who may connect, with which password, and what they may do.
//!
//! Outline: [`Accounts`] has every account and role in memory and in the system area of the database; [`account`] is one
//! of them with its stored form; [`identifying`] runs CREATE USER, ALTER USER and the like, [`granting`] GRANT, REVOKE and
//! what is about roles; [`logged`] writes their statements for the binlog; [`usage`] counts what their limits are for.
//!
//! A new data directory has `root@localhost` without a password, which lets in clients of the Unix socket only, and
//! for TCP on this machine `root@127.0.0.1` and `root@::1`, with a password that is logged once. Everything else on
//! this machine, a tunnel or a proxy too, arrives there as well. `insecure_root_on_loopback` lets root in without.
//!
//! Format of a system area entry: key `account`, zero byte, user, zero byte, host; value JSON ([`account`]). Key
//! `accounts made`: there were accounts once, so that none are made where all were dropped.
//!
//! Invariants
//! 1. One change runs at a time, so that memory, disk and binlog see them in one order. A change is in memory once it
//!    is durable.
//! 2. The binlog has hashes in the place of passwords, and statements of what was done.
//! 3. A session's privileges are those of the present accounts: [`Accounts::version`] says when they may have changed.

pub mod account;
pub mod attributes;
mod granting;
mod identifying;
mod logged;
pub mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cohort_io::sync::{Mutex, RwLock};
use cohort_sql::ast::{AccountName, AccountStatement, RoleChoice};
use cohort_sql::collation::{Collation, like};
use cohort_sql::database::SystemEntry;
use cohort_sql::error::{ER_MANDATORY_ROLE, ER_NONEXISTING_GRANT, ER_UNKNOWN_AUTHID, ER_WRONG_STRING_LENGTH};
use cohort_sql::parse::account_names;
use cohort_sql::privilege::grants::{Grants, quoted};
use cohort_sql::privilege::needs::Holder;
use cohort_sql::privilege::roster::AccountRecord;
use cohort_sql::session::{DiagnosticLevel, Environment, SessionState};
use cohort_sql::types::SqlMode;
use cohort_sql::{Database, SqlError};

use crate::protocol::auth::{AuthPlugin, Sha2Digest, Sha2Hash};
use crate::socket::Peer;
use crate::sysvars::{Globals, ids};
use account::{Account, Credential};
use usage::{Limits, Usages};

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

impl Identity {
    /// The account.
    pub fn account(&self) -> AccountName {
        AccountName { user: self.user.clone(), host: self.account_host.clone() }
    }
}

/// Every account.
#[derive(Default)]
pub struct Accounts {
    accounts: RwLock<BTreeMap<AccountName, Account>>,
    /// Chooses what unknown users are taken for; another with each start.
    decoys: RandomState,
    /// Grows with each change.
    version: AtomicU64,
    /// Roles that every account has (`mandatory_roles`), be they there or not.
    mandatory: RwLock<BTreeSet<AccountName>>,
    /// What is used of them.
    pub usages: Usages,
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

fn key(name: &AccountName) -> Vec<u8> {
    [KEY_PREFIX, name.user.as_bytes(), b"\0", name.host.as_bytes()].concat()
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
            changes.insert(name(ADMINISTRATOR, LOCAL_HOST), Some(administrator(Credential::Empty)));
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
        accounts.set_mandatory_roles(&globals.get(ids::MANDATORY_ROLES));
        if accounts.accounts.read().is_empty() {
            log::error!("there are no accounts, nobody can log in: start with --reset-root once");
        }
        Ok(accounts)
    }

    /// The account that a client at `peer` who calls itself `user` is: of several that fit, the one with the most
    /// exact host.
    pub fn find(&self, user: &str, peer: &Peer) -> Option<(Identity, Account)> {
        let accounts = self.accounts.read();
        let fitting = accounts.iter().filter(|(name, _)| name.user == user && host_fits(&name.host, peer));
        let (name, account) = fitting.max_by_key(|(name, _)| exactness(&name.host))?;
        let identity = Identity { user: user.to_owned(), account_host: name.host.clone(), client_host: peer.host() };
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
        let account = identity.account();
        if let Some(Account { credential: Credential::Sha2(stored, known), .. }) =
            self.accounts.write().get_mut(&account)
            && stored == hash
        {
            *known = Some(digest);
        }
    }

    /// Accounts without a password for other hosts, which nobody can use, as `user@host`.
    pub fn without_password(&self) -> Vec<String> {
        let accounts = self.accounts.read();
        let is_useless = |name: &AccountName, account: &Account| {
            name.host != LOCAL_HOST && matches!(account.credential, Credential::Empty) && !account.locked
        };
        let useless = accounts.iter().filter(|(name, account)| is_useless(name, account));
        useless.map(|(name, _)| format!("{}@{}", name.user, name.host)).collect()
    }

    /// Whether there is such an account.
    pub fn contains(&self, name: &AccountName) -> bool {
        self.accounts.read().contains_key(name)
    }

    /// The account of this name.
    pub fn get(&self, name: &AccountName) -> Option<Account> {
        self.accounts.read().get(name).cloned()
    }

    /// Every account and role, in order.
    pub fn all(&self) -> Vec<(AccountName, Account)> {
        self.accounts.read().iter().map(|(name, account)| (name.clone(), account.clone())).collect()
    }

    /// Every account and role as system tables show it; one without a password has the default plugin.
    pub fn records(&self, default_plugin: &str) -> Vec<AccountRecord> {
        let record = |(name, account): (&AccountName, &Account)| {
            let (plugin, hash) = plugin_and_hash(&account.credential, default_plugin);
            AccountRecord {
                name: name.clone(),
                plugin,
                hash,
                password_set: account.password_set,
                options: account.options(),
                grants: account.grants.clone(),
                roles: account.roles.clone(),
                default_roles: account.default_roles.clone(),
            }
        };
        self.accounts.read().iter().map(record).collect()
    }

    /// Which change was the last: if it is what it was, so are all privileges.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The limits of an account; none if it is gone.
    pub fn limits(&self, name: &AccountName) -> Limits {
        self.accounts.read().get(name).map(|account| account.limits).unwrap_or_default()
    }

    /// The roles that are active when the account logs in.
    pub fn default_roles(&self, name: &AccountName, all: bool) -> BTreeSet<AccountName> {
        match self.get(name) {
            None => BTreeSet::new(),
            Some(account) if all => self.roles_of(name, &account).into_keys().collect(),
            Some(account) => account.default_roles,
        }
    }

    /// The roles that SET ROLE chooses for an account; 3530 if one is not granted to it.
    pub fn chosen_roles(&self, choice: &RoleChoice, name: &AccountName) -> Result<BTreeSet<AccountName>, SqlError> {
        granting::chosen(self, choice, name, &self.get(name).ok_or_else(|| unknown(name))?)
    }

    /// What an account holds with those of `active` that are still granted to it; `None` if it is gone. `lifetime` is how
    /// long a password lasts, days (`default_password_lifetime`; 0 for ever).
    pub fn holder(&self, identity: &Identity, active: &BTreeSet<AccountName>, lifetime: u32) -> Option<Holder> {
        let mandatory = self.mandatory.read().clone();
        let accounts = self.accounts.read();
        let account = accounts.get(&identity.account())?;
        let mut grants = account.grants.clone();
        let has = |role: &&AccountName| account.roles.contains_key(role) || mandatory.contains(role);
        let mut seen = BTreeSet::new();
        let mut open: Vec<&AccountName> = active.iter().filter(has).collect();
        // A role brings what is granted to it, roles included.
        while let Some(name) = open.pop() {
            if let Some(role) = accounts.get(name).filter(|_| seen.insert(name)) {
                grants.add(&role.grants);
                open.extend(role.roles.keys());
            }
        }
        Some(Holder {
            user: identity.user.clone(),
            host: identity.client_host.clone(),
            grants: Arc::new(grants),
            must_change_password: account.must_change_password(now_seconds(), lifetime),
        })
    }

    /// The rows of SHOW GRANTS for an account with some of its roles; 1141 if there is no such account, 3530 if a role
    /// is not granted to it.
    pub fn show_grants(&self, name: &AccountName, with: &[AccountName]) -> Result<Vec<String>, SqlError> {
        let account = self.get(name);
        let account = account.ok_or_else(|| SqlError::new(ER_NONEXISTING_GRANT, &[&name.user, &name.host]))?;
        let chosen = granting::chosen(self, &RoleChoice::These(with.to_vec()), name, &account)?;
        let identity = Identity { user: name.user.clone(), account_host: name.host.clone(), ..Identity::default() };
        let held = self.holder(&identity, &chosen, 0).map(|holder| holder.grants).unwrap_or_default();
        let mut lines = held.statements(&backquoted(name));
        let granted = self.roles_of(name, &account);
        for admin in [false, true] {
            let roles: Vec<String> =
                granted.iter().filter(|(_, has)| **has == admin).map(|(role, _)| backquoted(role)).collect();
            if !roles.is_empty() {
                let option = if admin { " WITH ADMIN OPTION" } else { "" };
                lines.push(format!("GRANT {} TO {}{option}", roles.join(","), backquoted(name)));
            }
        }
        Ok(lines)
    }

    /// The statement that makes an account; `None` if there is none.
    pub fn create_statement(&self, name: &AccountName, default_plugin: &str, mode: SqlMode) -> Option<String> {
        let found = self.get(name)?;
        let password = plugin_and_hash(&found.credential, default_plugin);
        Some(logged::shown(name, &password, &found.options(), mode))
    }

    /// Takes over `mandatory_roles`, which is a list of names.
    pub fn set_mandatory_roles(&self, list: &str) {
        *self.mandatory.write() = account_names(list).unwrap_or_default().into_iter().collect();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Error 1227 if one of the roles brings SYSTEM_USER, which whoever sets `mandatory_roles` would give away to all.
    pub fn may_be_mandatory(&self, holder: &Holder, list: &str) -> Result<(), SqlError> {
        account_names(list)?.iter().try_for_each(|role| self.may_touch(holder, role))
    }

    /// The roles of an account with whether it may pass them on: those granted to it, and the mandatory ones that are
    /// there.
    fn roles_of(&self, name: &AccountName, account: &Account) -> BTreeMap<AccountName, bool> {
        let mut roles = account.roles.clone();
        let mandatory = self.mandatory.read().clone();
        for role in mandatory.into_iter().filter(|role| role != name && self.contains(role)) {
            roles.entry(role).or_insert(false);
        }
        roles
    }

    /// Error 3628 if one of `names` is a mandatory role.
    fn none_is_mandatory<'a>(&self, mut names: impl Iterator<Item = &'a AccountName>) -> Result<(), SqlError> {
        let mandatory = self.mandatory.read();
        match names.find(|name| mandatory.contains(name)) {
            None => Ok(()),
            Some(name) => Err(SqlError::new(ER_MANDATORY_ROLE, &[&backquoted(name)])),
        }
    }

    /// Runs a statement about accounts, SET ROLE apart; durable when it returns.
    pub fn execute(&self, of: AccountSession<'_>, statement: &AccountStatement) -> Result<(), SqlError> {
        let _changing = self.changing.lock();
        match statement {
            AccountStatement::Grant(statement) => granting::grant(self, of, statement),
            AccountStatement::Role(statement) => granting::role(self, of, statement),
            _ => identifying::run(self, of, statement),
        }
    }

    /// Error 1227 if the session's account may not change `name`: one with SYSTEM_USER is changed only by another.
    fn may_change(&self, of: AccountSession<'_>, name: &AccountName) -> Result<(), SqlError> {
        self.may_touch(&of.session.holder, name)
    }

    /// Whether `holder` may end sessions of `user`, from whatever host: those of accounts with SYSTEM_USER are ended only
    /// by one that has it.
    pub fn may_end(&self, holder: &Holder, user: &str) -> bool {
        let names: Vec<AccountName> = self.accounts.read().keys().filter(|name| name.user == user).cloned().collect();
        names.iter().all(|name| self.may_touch(holder, name).is_ok())
    }

    /// Error 1227 if `name` has SYSTEM_USER, by itself or by a role, and `holder` has not.
    fn may_touch(&self, holder: &Holder, name: &AccountName) -> Result<(), SqlError> {
        use cohort_sql::privilege::Privilege::SystemUser;
        if holder.grants.global().has(SystemUser) {
            return Ok(());
        }
        let all = self.accounts.read();
        let (mut open, mut seen) = (vec![name], BTreeSet::new());
        while let Some(name) = open.pop() {
            let Some(account) = all.get(name).filter(|_| seen.insert(name)) else { continue };
            if account.grants.global().has(SystemUser) {
                return Err(holder.lacks(SystemUser.into()));
            }
            open.extend(account.roles.keys());
        }
        Ok(())
    }

    /// Writes changed accounts, logged as `sql`, and shows them to new connections once they are durable.
    fn store(&self, of: AccountSession<'_>, changes: Changes, sql: &str) -> Result<(), SqlError> {
        if changes.is_empty() {
            return Ok(());
        }
        for name in changes.iter().filter_map(|(name, account)| account.as_ref().map(|_| name)) {
            check_name(name)?;
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
                None => {
                    self.usages.forget(&name);
                    accounts.remove(&name)
                }
            };
        }
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// New accounts, or what they are now; without that an account is removed.
type Changes = BTreeMap<AccountName, Option<Account>>;

fn name(user: &str, host: &str) -> AccountName {
    AccountName { user: user.to_owned(), host: host.to_owned() }
}

/// Who may do everything.
fn administrator(credential: Credential) -> Account {
    Account { credential, grants: Grants::everything(), ..Account::default() }
}

/// A note or warning for what is tolerated, else the error.
fn tolerate(session: &SessionState, tolerated: bool, level: DiagnosticLevel, error: SqlError) -> Result<(), SqlError> {
    if !tolerated {
        return Err(error);
    }
    session.push_diagnostic(level, error);
    Ok(())
}

/// Seconds since 1970.
pub fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs().try_into().unwrap_or(i64::MAX)
}

/// `` `user`@`host` ``
pub fn backquoted(name: &AccountName) -> String {
    format!("{}@{}", quoted(&name.user), quoted(&name.host))
}

/// Errors 1470 and 1235 for names that would be others after they were stored, or are longer than MySQL's.
fn check_name(name: &AccountName) -> Result<(), SqlError> {
    for (part, what, most) in [(&name.user, "user name", 32), (&name.host, "host name", 255)] {
        if part.contains('\0') {
            return Err(SqlError::unsupported("a zero byte in the name of an account"));
        }
        if part.chars().count() > most {
            return Err(SqlError::new(ER_WRONG_STRING_LENGTH, &[part, &what, &most]));
        }
    }
    Ok(())
}

fn unknown(name: &AccountName) -> SqlError {
    SqlError::new(ER_UNKNOWN_AUTHID, &[&backquoted(name)])
}

/// Those of a new data directory.
fn first_accounts(globals: &Globals) -> Changes {
    let mut first = Changes::from([(name(ADMINISTRATOR, LOCAL_HOST), Some(administrator(Credential::Empty)))]);
    if !globals.get(ids::INSECURE_ROOT_ON_LOOPBACK) {
        let password = URL_SAFE_NO_PAD.encode(crate::random_bytes::<15>());
        let plugin = AuthPlugin::from_name(&globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN));
        let credential = plugin.and_then(|plugin| Credential::of_password(plugin, &password));
        let credential = credential.expect("a plugin that takes short passwords");
        for host in ["127.0.0.1", "::1"] {
            first.insert(name(ADMINISTRATOR, host), Some(administrator(credential.clone())));
        }
        log::warn!("the password of {ADMINISTRATOR} over TCP, logged this once: {password}");
    }
    first
}

fn entries_of(changes: &Changes) -> Result<Vec<SystemEntry>, SqlError> {
    let entry = |(name, account): (&AccountName, &Option<Account>)| {
        Ok((key(name), account.as_ref().map(Account::to_json).transpose()?))
    };
    changes.iter().map(entry).collect()
}

fn parse_entry(key: &[u8], value: &[u8]) -> Option<(AccountName, Account)> {
    let name = std::str::from_utf8(key.strip_prefix(KEY_PREFIX)?).ok()?;
    let (user, host) = name.split_once('\0')?;
    Some((self::name(user, host), Account::from_json(value)?))
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
            accounts.accounts.write().insert(name("a", host), Account::default());
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
        accounts.accounts.write().insert(name("a", "127.0.0.1"), Account::default());
        assert_eq!(host(&remote("127.0.0.1")).as_deref(), Some("127.0.0.1"));
        assert_eq!(host(&remote("127.0.0.2")).as_deref(), Some("localhost"));
        assert_eq!(host(&Peer::Local).as_deref(), Some("localhost"));
        assert!(accounts.find("b", &Peer::Local).is_none());
    }

    #[test]
    fn root_at_localhost_is_not_let_in_from_elsewhere() {
        let accounts = Accounts::default();
        accounts.accounts.write().insert(name("root", "localhost"), Account::default());
        assert!(accounts.find("root", &remote("192.168.1.5")).is_none());
        assert!(accounts.find("root", &remote("::1")).is_some());
    }

    #[test]
    fn entries_name_user_and_host() {
        let name = name("u", "%");
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
            accounts.accounts.write().insert(name(user, "%"), account);
        }
        let users: Vec<String> = (0..64).map(|user| format!("user{user}")).collect();
        let first: Vec<AuthPlugin> = users.iter().map(|user| plugin(user)).collect();
        assert!(first.contains(&AuthPlugin::NativePassword) && first.contains(&AuthPlugin::CachingSha2));
        assert_eq!(first, users.iter().map(|user| plugin(user)).collect::<Vec<_>>());
    }

    #[test]
    fn active_roles_bring_what_is_granted_to_them_and_to_theirs() {
        use cohort_sql::privilege::Privilege::{Delete, Insert, Select};
        use cohort_sql::privilege::grants::On;
        let accounts = Accounts::default();
        accounts.show(["u", "r", "s", "x"].map(|user| (name(user, "%"), Some(Account::default()))).into());
        {
            let mut all = accounts.accounts.write();
            let mut grant = |of: &str, privilege: cohort_sql::privilege::Privilege| {
                all.get_mut(&name(of, "%")).unwrap().grants.grant(&On::Global, privilege.into(), false);
            };
            grant("r", Select);
            grant("s", Insert);
            grant("x", Delete);
            for (role, to) in [("r", "u"), ("s", "r"), ("r", "s")] {
                all.get_mut(&name(to, "%")).unwrap().roles.insert(name(role, "%"), false);
            }
        }
        let identity = Identity { user: "u".into(), account_host: "%".into(), client_host: "h".into() };
        let held = |active: &[&str]| {
            accounts.holder(&identity, &active.iter().map(|role| name(role, "%")).collect(), 0).unwrap().grants.global()
        };
        assert!(held(&[]).is_empty());
        assert_eq!(held(&["r"]).to_string(), "SELECT, INSERT");
        assert!(held(&["x"]).is_empty(), "a role that is not granted brings nothing");
    }
}
