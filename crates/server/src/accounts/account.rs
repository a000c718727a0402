//! One account: its password, what its connections have to be, and what it may do.
//!
//! Format of its value in the system area: JSON, without what is not set.

use std::collections::{BTreeMap, BTreeSet};

use cohort_sql::SqlError;
use cohort_sql::ast::{AccountName, AccountOptions, Authentication, PasswordExpiry, RoleChoice, TlsRequirement};
use cohort_sql::error::{ER_NOT_VALID_PASSWORD, ER_PLUGIN_IS_NOT_LOADED};
use cohort_sql::privilege::grants::Grants;
use serde::{Deserialize, Serialize};

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
    /// COMMENT
    pub comment: String,
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

    /// Changes what `options` name; roles are the caller's, and limits there are none.
    pub(super) fn apply(&mut self, options: &AccountOptions) {
        let AccountOptions { requires, expiry, locked, comment, .. } = options;
        self.requires = requires.clone().unwrap_or_else(|| std::mem::take(&mut self.requires));
        self.expiry = expiry.unwrap_or(self.expiry);
        self.locked = locked.unwrap_or(self.locked);
        self.comment = comment.clone().unwrap_or_else(|| std::mem::take(&mut self.comment));
    }

    /// What a statement has to say to make it so.
    pub(super) fn options(&self) -> AccountOptions {
        let roles: Vec<AccountName> = self.default_roles.iter().cloned().collect();
        AccountOptions {
            default_roles: (!roles.is_empty()).then_some(RoleChoice::These(roles)),
            requires: Some(self.requires.clone()),
            expiry: Some(self.expiry),
            locked: Some(self.locked),
            comment: (!self.comment.is_empty()).then(|| self.comment.clone()),
            ..AccountOptions::default()
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
            comment: self.comment.clone(),
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
            comment: stored.comment,
        })
    }
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
