//! One account: its password, what its connections have to be, and what it may do.
//!
//! Format of its value in the system area: JSON, without what is not set.

use std::collections::{BTreeMap, BTreeSet};

use cohort_sql::SqlError;
use cohort_sql::ast::{
    AccountAttribute, AccountName, AccountOptions, Authentication, OrDefault, PasswordExpiry, RoleChoice,
    TlsRequirement,
};
use cohort_sql::error::{ER_NOT_VALID_PASSWORD, ER_PLUGIN_IS_NOT_LOADED};
use cohort_sql::privilege::grants::Grants;
use serde::{Deserialize, Serialize};

use super::attributes::Attributes;
use super::usage::{Limits, Locking};
use crate::protocol::auth::{AuthPlugin, NativeHash, Sha2Digest, Sha2Hash};
use crate::socket::TlsSummary;

/// What is known of an account, besides its name.
#[derive(Clone, Default)]
pub struct Account {
    /// Its password.
    pub credential: Credential,
    /// REQUIRE
    pub requires: TlsRequirement,
    /// What is granted to itself, roles apart.
    pub grants: Grants,
    /// The roles granted to it, with whether it may pass them on (ADMIN OPTION).
    pub roles: BTreeMap<AccountName, bool>,
    /// The roles that are active when it logs in.
    pub default_roles: BTreeSet<AccountName>,
    /// ACCOUNT LOCK, and what roles are: nobody logs in as it.
    pub locked: bool,
    /// PASSWORD EXPIRE
    pub expiry: PasswordExpiry,
    /// When the password was set, seconds since 1970.
    pub password_set: i64,
    /// PASSWORD HISTORY
    pub history: OrDefault<u16>,
    /// PASSWORD REUSE INTERVAL, days
    pub reuse_days: OrDefault<u16>,
    /// PASSWORD REQUIRE CURRENT
    pub requires_current: OrDefault<bool>,
    /// Passwords that must not come back, the latest first, the one that holds among them.
    pub earlier: Vec<EarlierPassword>,
    /// `FAILED_LOGIN_ATTEMPTS`, `PASSWORD_LOCK_TIME`
    pub locking: Locking,
    /// `MAX_QUERIES_PER_HOUR` and the like
    pub limits: Limits,
    /// ATTRIBUTE, COMMENT
    pub attributes: Attributes,
}

/// A password that an account has had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierPassword {
    /// When it was set, seconds since 1970.
    set: i64,
    plugin: String,
    hash: String,
}

/// A stored password.
#[derive(Clone, Default)]
pub enum Credential {
    /// No password: an empty response is let in, any other is not.
    #[default]
    Empty,
    /// `mysql_native_password`
    Native(NativeHash),
    /// `caching_sha2_password`, with what its fast way needs once that is known.
    Sha2(Sha2Hash, Option<Sha2Digest>),
}

impl Account {
    /// Whether a connection, encrypted as `tls` says, is what the account requires.
    pub fn allows(&self, tls: Option<&TlsSummary>) -> bool {
        let fits = |wanted: &Option<String>, shown: Option<&String>| wanted.is_none() || wanted.as_ref() == shown;
        let client = tls.and_then(|tls| tls.client.as_ref());
        match &self.requires {
            TlsRequirement::None => true,
            TlsRequirement::Ssl => tls.is_some(),
            TlsRequirement::X509 => client.is_some(),
            TlsRequirement::Specified { subject, issuer, cipher } => {
                tls.is_some_and(|tls| fits(cipher, Some(&tls.cipher)))
                    && fits(subject, client.map(|client| &client.subject))
                    && fits(issuer, client.map(|client| &client.issuer))
            }
        }
    }

    /// A role: an account that nobody can log in as.
    pub(super) fn role() -> Account {
        Account { locked: true, expiry: PasswordExpiry::Now, ..Account::default() }
    }

    /// Changes what `options` name; roles are the caller's. 3982 for an attribute that is no JSON object.
    pub(super) fn apply(&mut self, options: &AccountOptions) -> Result<(), SqlError> {
        fn take<T: Clone>(place: &mut T, named: &Option<T>) {
            if let Some(named) = named {
                place.clone_from(named);
            }
        }
        take(&mut self.requires, &options.requires);
        take(&mut self.expiry, &options.expiry);
        take(&mut self.locked, &options.locked);
        take(&mut self.history, &options.history);
        take(&mut self.reuse_days, &options.reuse_days);
        take(&mut self.requires_current, &options.requires_current);
        take(&mut self.locking.after, &options.failed_logins);
        take(&mut self.locking.time, &options.lock_time);
        take(&mut self.limits.queries, &options.max_queries_per_hour);
        take(&mut self.limits.updates, &options.max_updates_per_hour);
        take(&mut self.limits.connections, &options.max_connections_per_hour);
        take(&mut self.limits.user_connections, &options.max_user_connections);
        options.attribute.iter().try_for_each(|attribute| self.attributes.apply(attribute))
    }

    /// Whether `password` must not come back yet, where variables say `policy`.
    pub(super) fn has_had(&self, password: &str, policy: ReusePolicy, now: i64) -> bool {
        let policy = policy.of(self);
        let remembered = self.earlier.iter().enumerate().filter(|(at, earlier)| policy.keeps(*at, earlier, now));
        remembered.map(|(_, earlier)| earlier).any(|earlier| {
            let plugin = AuthPlugin::from_name(&earlier.plugin);
            Credential::from_hash(plugin, &earlier.hash).is_some_and(|credential| credential.is_of(password))
        })
    }

    /// Keeps the present password in mind, and forgets those that may come back. An empty one always may.
    pub(super) fn remember_password(&mut self, policy: ReusePolicy, now: i64) {
        if let Some(plugin) = self.credential.plugin() {
            let (plugin, hash) = (plugin.name().to_owned(), self.credential.hash_text());
            self.earlier.insert(0, EarlierPassword { set: self.password_set, plugin, hash });
        }
        let policy = policy.of(self);
        let mut at = 0;
        self.earlier.retain(|earlier| {
            at += 1;
            policy.keeps(at - 1, earlier, now)
        });
    }

    /// What a statement has to say to make it so.
    pub(super) fn options(&self) -> AccountOptions {
        fn set<T: Default + PartialEq>(value: T) -> Option<T> {
            (value != T::default()).then_some(value)
        }
        let roles: Vec<AccountName> = self.default_roles.iter().cloned().collect();
        AccountOptions {
            default_roles: (!roles.is_empty()).then_some(RoleChoice::These(roles)),
            requires: Some(self.requires.clone()),
            max_queries_per_hour: set(self.limits.queries),
            max_updates_per_hour: set(self.limits.updates),
            max_connections_per_hour: set(self.limits.connections),
            max_user_connections: set(self.limits.user_connections),
            expiry: Some(self.expiry),
            locked: Some(self.locked),
            history: Some(self.history),
            reuse_days: Some(self.reuse_days),
            requires_current: Some(self.requires_current),
            failed_logins: set(self.locking.after),
            lock_time: set(self.locking.time),
            attribute: self.attributes.to_text().map(AccountAttribute::Json),
        }
    }

    /// Whether the password has to be changed before anything else, `now` and `lifetime` (seconds, days;
    /// `default_password_lifetime`, 0 for none).
    pub fn must_change_password(&self, now: i64, lifetime: u32) -> bool {
        let days = match self.expiry {
            PasswordExpiry::Now => return !self.locked,
            PasswordExpiry::Never => return false,
            PasswordExpiry::Default if lifetime == 0 => return false,
            PasswordExpiry::Default => i64::from(lifetime),
            PasswordExpiry::Days(days) => i64::from(days),
        };
        now >= self.password_set + days * 86_400
    }

    /// As it is stored.
    pub fn to_json(&self) -> Result<Vec<u8>, SqlError> {
        let plugin = self.credential.plugin().map(|plugin| plugin.name().to_owned());
        let requires = StoredRequirement::of(&self.requires);
        let name = |name: &AccountName| (name.user.clone(), name.host.clone());
        let stored = Stored {
            plugin,
            hash: self.credential.hash_text(),
            requires,
            grants: Some(self.grants.clone()),
            roles: self.roles.iter().map(|(role, admin)| (name(role), *admin)).collect(),
            default_roles: self.default_roles.iter().map(name).collect(),
            locked: self.locked,
            expiry: self.expiry,
            password_set: self.password_set,
            history: self.history,
            reuse_days: self.reuse_days,
            requires_current: self.requires_current,
            earlier: self.earlier.clone(),
            locking: self.locking,
            limits: self.limits,
            attributes: Some(self.attributes.clone()),
            comment: String::new(),
        };
        serde_json::to_vec(&stored).map_err(SqlError::internal)
    }

    /// From what was stored; `None` if that is damaged.
    pub fn from_json(json: &[u8]) -> Option<Account> {
        let stored: Stored = serde_json::from_slice(json).ok()?;
        let plugin = match &stored.plugin {
            Some(name) => Some(AuthPlugin::from_name(name)?),
            None => None,
        };
        let credential = Credential::from_hash(plugin, &stored.hash)?;
        let requires = stored.requires.map(StoredRequirement::into_requirement).unwrap_or_default();
        let name = |(user, host): (String, String)| AccountName { user, host };
        Some(Account {
            credential,
            requires,
            grants: stored.grants.unwrap_or_else(Grants::everything),
            roles: stored.roles.into_iter().map(|(role, admin)| (name(role), admin)).collect(),
            default_roles: stored.default_roles.into_iter().map(name).collect(),
            locked: stored.locked,
            expiry: stored.expiry,
            password_set: stored.password_set,
            history: stored.history,
            reuse_days: stored.reuse_days,
            requires_current: stored.requires_current,
            earlier: stored.earlier,
            locking: stored.locking,
            limits: stored.limits,
            attributes: stored.attributes.unwrap_or_else(|| Attributes::of_comment(stored.comment)),
        })
    }
}

/// How long a password must not come back (`password_history`, `password_reuse_interval`); 0 says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReusePolicy {
    /// So many passwords.
    pub last: u64,
    /// So many days.
    pub days: u64,
}

impl ReusePolicy {
    /// What holds for an account where variables say this.
    fn of(self, account: &Account) -> ReusePolicy {
        let own = |own: OrDefault<u16>, default| match own {
            OrDefault::Default => default,
            OrDefault::Own(own) => u64::from(own),
        };
        ReusePolicy { last: own(account.history, self.last), days: own(account.reuse_days, self.days) }
    }

    /// Whether the password at this place of the list is still one that must not come back.
    fn keeps(self, at: usize, earlier: &EarlierPassword, now: i64) -> bool {
        let age = u64::try_from(now - earlier.set).unwrap_or(0);
        (at as u64) < self.last || (self.days > 0 && age < self.days.saturating_mul(86_400))
    }
}

impl Credential {
    /// Whether it is that of this password, as it is written.
    pub fn is_of(&self, password: &str) -> bool {
        match self {
            Credential::Empty => password.is_empty(),
            Credential::Native(hash) => NativeHash::of(password.as_bytes()) == *hash,
            Credential::Sha2(hash, _) => hash.accepts(password.as_bytes()),
        }
    }

    /// The plugin that a client must use.
    pub fn plugin(&self) -> Option<AuthPlugin> {
        match self {
            Credential::Empty => None,
            Credential::Native(_) => Some(AuthPlugin::NativePassword),
            Credential::Sha2(..) => Some(AuthPlugin::CachingSha2),
        }
    }

    /// `None` if the password is too long for the plugin.
    pub fn of_password(plugin: AuthPlugin, password: &str) -> Option<Credential> {
        Some(match plugin {
            _ if password.is_empty() => Credential::Empty,
            AuthPlugin::NativePassword => Credential::Native(NativeHash::of(password.as_bytes())),
            AuthPlugin::CachingSha2 => {
                let hash = Sha2Hash::of(password.as_bytes(), crate::random_bytes())?;
                Credential::Sha2(hash, Some(Sha2Digest::of(password.as_bytes())))
            }
        })
    }

    /// One that no password fits.
    pub fn nobodys(plugin: AuthPlugin) -> Credential {
        match plugin {
            AuthPlugin::NativePassword => Credential::Native(NativeHash::of(&crate::random_bytes::<20>())),
            AuthPlugin::CachingSha2 => Credential::Sha2(Sha2Hash::nobodys(crate::random_bytes()), None),
        }
    }

    /// As a statement gives it.
    pub fn of(authentication: Option<&Authentication>, default_plugin: &str) -> Result<Credential, SqlError> {
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

    /// What is stored and logged of the password; nothing for none.
    pub fn hash_text(&self) -> String {
        match self {
            Credential::Empty => String::new(),
            Credential::Native(hash) => hash.to_text(),
            Credential::Sha2(hash, _) => hash.to_text(),
        }
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

/// What is missing was not there yet when the entry was written: grants are everything then, since every account could do
/// everything.
#[derive(Serialize, Deserialize)]
struct Stored {
    plugin: Option<String>,
    hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requires: Option<StoredRequirement>,
    grants: Option<Grants>,
    #[serde(default)]
    roles: Vec<((String, String), bool)>,
    #[serde(default)]
    default_roles: Vec<(String, String)>,
    #[serde(default)]
    locked: bool,
    #[serde(default)]
    expiry: PasswordExpiry,
    #[serde(default)]
    password_set: i64,
    #[serde(default)]
    history: OrDefault<u16>,
    #[serde(default)]
    reuse_days: OrDefault<u16>,
    #[serde(default)]
    requires_current: OrDefault<bool>,
    #[serde(default)]
    earlier: Vec<EarlierPassword>,
    #[serde(default)]
    locking: Locking,
    #[serde(default)]
    limits: Limits,
    attributes: Option<Attributes>,
    /// Before there were attributes.
    #[serde(default, skip_serializing)]
    comment: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredRequirement {
    Ssl,
    X509,
    Specified { subject: Option<String>, issuer: Option<String>, cipher: Option<String> },
}

impl StoredRequirement {
    fn of(requirement: &TlsRequirement) -> Option<StoredRequirement> {
        Some(match requirement.clone() {
            TlsRequirement::None => return None,
            TlsRequirement::Ssl => StoredRequirement::Ssl,
            TlsRequirement::X509 => StoredRequirement::X509,
            TlsRequirement::Specified { subject, issuer, cipher } => {
                StoredRequirement::Specified { subject, issuer, cipher }
            }
        })
    }

    fn into_requirement(self) -> TlsRequirement {
        match self {
            StoredRequirement::Ssl => TlsRequirement::Ssl,
            StoredRequirement::X509 => TlsRequirement::X509,
            StoredRequirement::Specified { subject, issuer, cipher } => {
                TlsRequirement::Specified { subject, issuer, cipher }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tls::peer_name::PeerName;

    use super::*;

    #[test]
    fn stored_accounts_come_back() {
        let specified = TlsRequirement::Specified { subject: Some("/CN=a".into()), issuer: None, cipher: None };
        for requires in [TlsRequirement::None, TlsRequirement::Ssl, TlsRequirement::X509, specified] {
            for credential in [
                Credential::Empty,
                Credential::of_password(AuthPlugin::NativePassword, "x").unwrap(),
                Credential::of_password(AuthPlugin::CachingSha2, "x").unwrap(),
            ] {
                let mut account = Account { credential, requires: requires.clone(), ..Account::default() };
                account.roles.insert(AccountName { user: "r".into(), host: "%".into() }, true);
                account.expiry = PasswordExpiry::Days(3);
                account.history = OrDefault::Own(3);
                account.limits.queries = 7;
                account.remember_password(ReusePolicy::default(), 0);
                let json = account.to_json().unwrap();
                assert!(!json.windows(3).any(|text| text == b"\"x\""), "a password is stored in clear");
                let back = Account::from_json(&json).unwrap();
                assert_eq!(back.to_json().unwrap(), json);
                assert_eq!(back.requires, requires);
                assert_eq!(back.credential.plugin(), account.credential.plugin());
                assert_eq!(back.credential.hash_text(), account.credential.hash_text());
            }
        }
        // As the first version stored them.
        let old = Account::from_json(br#"{"plugin":null,"hash":""}"#).unwrap();
        assert_eq!(old.grants, Grants::everything());
        let commented = Account::from_json(br#"{"plugin":null,"hash":"","comment":"old"}"#).unwrap();
        assert_eq!(commented.attributes.to_text().as_deref(), Some(r#"{"comment": "old"}"#));
        assert!(!old.must_change_password(i64::MAX, 0));
        assert!(Account::from_json(br#"{"plugin":"x","hash":"1"}"#).is_none());
        assert!(Account::from_json(b"{}").is_none());
    }

    #[test]
    fn a_connection_is_what_its_account_requires_or_is_refused() {
        let account = |requires| Account { requires, ..Account::default() };
        let specified = |subject: Option<&str>, issuer: Option<&str>, cipher: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let (subject, issuer, cipher) = (owned(subject), owned(issuer), owned(cipher));
            account(TlsRequirement::Specified { subject, issuer, cipher })
        };
        let tls = TlsSummary { version: "TLSv1.3", cipher: "C".to_owned(), client: None };
        let client = Some(PeerName { subject: "/CN=s".to_owned(), issuer: "/CN=i".to_owned() });
        let shown = TlsSummary { client, ..tls.clone() };
        for (account, plain, encrypted, with_certificate) in [
            (account(TlsRequirement::None), true, true, true),
            (account(TlsRequirement::Ssl), false, true, true),
            (account(TlsRequirement::X509), false, false, true),
            (specified(None, None, Some("C")), false, true, true),
            (specified(None, None, Some("D")), false, false, false),
            (specified(Some("/CN=s"), None, None), false, false, true),
            (specified(Some("/CN=s"), Some("/CN=i"), Some("C")), false, false, true),
            (specified(Some("/CN=s"), Some("/CN=x"), None), false, false, false),
            (specified(Some("/CN=S"), None, None), false, false, false),
        ] {
            let allowed = [None, Some(&tls), Some(&shown)].map(|tls| account.allows(tls));
            assert_eq!(allowed, [plain, encrypted, with_certificate], "{:?}", account.requires);
        }
    }

    #[test]
    fn a_password_comes_back_when_it_may() {
        let native = |password| Credential::of_password(AuthPlugin::NativePassword, password).unwrap();
        let mut account = Account { history: OrDefault::Own(2), ..Account::default() };
        let (none, day) = (ReusePolicy::default(), 86_400);
        for (at, password) in ["a", "b", "c"].into_iter().enumerate() {
            (account.credential, account.password_set) = (native(password), at as i64 * day);
            account.remember_password(none, account.password_set);
        }
        let had =
            |account: &Account, policy, now| ["a", "b", "c"].map(|password| account.has_had(password, policy, now));
        assert_eq!(had(&account, none, 3 * day), [false, true, true]);
        assert_eq!(account.earlier.len(), 2, "what may come back is forgotten");
        account.reuse_days = OrDefault::Own(5);
        account.history = OrDefault::Default;
        assert_eq!(had(&account, none, 6 * day - 1), [false, true, true]);
        assert_eq!(had(&account, none, 6 * day), [false, false, true]);
        assert_eq!(had(&account, ReusePolicy { last: 2, days: 0 }, 60 * day), [false, true, true]);
        account.credential = Credential::Empty;
        account.remember_password(none, 60 * day);
        assert!(account.earlier.is_empty() && !account.has_had("", ReusePolicy { last: 9, days: 9 }, 0));
    }

    #[test]
    fn a_password_expires_after_its_days() {
        let mut account = Account { password_set: 1_000_000, ..Account::default() };
        let day = 86_400;
        assert!(!account.must_change_password(1_000_000 + 10 * day, 0));
        assert!(account.must_change_password(1_000_000 + 10 * day, 10));
        assert!(!account.must_change_password(1_000_000 + 10 * day, 11));
        account.expiry = PasswordExpiry::Days(2);
        assert!(!account.must_change_password(1_000_000 + 2 * day - 1, 1));
        assert!(account.must_change_password(1_000_000 + 2 * day, 0));
        account.expiry = PasswordExpiry::Never;
        assert!(!account.must_change_password(i64::MAX, 1));
    }
}
