//! From the greeting to a known identity.
//!
//! Outline: the server greets with a challenge for the oldest plugin; the client responds; if its
//! account wants another plugin, a new challenge follows; `caching_sha2_password` needs the password
//! itself, in clear over TLS or the Unix socket, else encrypted, until its account's digest is known. Before the client
//! responds it may ask for TLS. After several wrong passwords
//! the next one waits, right or wrong ([`crate::hosts`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cohort_sql::SqlError;
use cohort_sql::collation::Collation;
use cohort_sql::error::{
    ER_ACCESS_DENIED_ERROR, ER_ACCOUNT_HAS_BEEN_LOCKED, ER_CLIENT_DOES_NOT_SUPPORT_PROTOCOL, ER_CON_COUNT_ERROR,
    ER_HANDSHAKE_ERROR, ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER, ER_NET_READ_INTERRUPTED, ER_OUTOFMEMORY,
    ER_SECURE_TRANSPORT_REQUIRED, ER_UNKNOWN_CHARACTER_SET,
};
use cohort_sql::types::Charset;
use rustls::ServerConfig;
use serde_json::json;

use crate::accounts::account::{Account, Credential};
use crate::accounts::{ADMINISTRATOR, Identity};
use crate::protocol::auth::{AuthPlugin, Sha2Digest, Sha2Hash};
use crate::protocol::constants::capability;
use crate::protocol::handshake::{
    Challenge, Greeting, Login, LoginError, asks_for_tls, challenge_from, encode_auth_more, encode_auth_switch,
};
use crate::protocol::packet::ReadPacketError;
use crate::random_bytes;
use crate::server::Server;
use crate::session::connection::{Input, Output};
use crate::socket::{Peer, Socket};
use crate::status::{count, uncount};
use crate::sysvars::ids;

/// The longest packet of a client that has not logged in, bytes.
const LOGIN_PACKET_MAX: usize = 64 << 10;

/// The plugin that the greeting names. Every client has this one built in or says that it has another;
/// several threads of one libmariadb client that load another at once disturb each other's handshakes.
const GREETING_PLUGIN: AuthPlugin = AuthPlugin::NativePassword;

/// `caching_sha2_password`: the response is right.
const FAST_AUTH_SUCCESS: u8 = 3;
/// `caching_sha2_password`: send the password.
const FULL_AUTH: u8 = 4;

/// `caching_sha2_password`: a client wants the key to encrypt its password with.
const REQUEST_KEY: u8 = 2;

/// Why nobody was let in.
pub enum LoginFailure {
    /// By the rules.
    Refused(SqlError),
    /// The client does not keep to the protocol, or is too slow.
    BadHandshake(SqlError),
    /// The client is gone: nobody receives an error.
    Gone,
}

impl LoginFailure {
    /// The error that the client gets.
    pub fn error(&self) -> Option<&SqlError> {
        match self {
            LoginFailure::Refused(error) | LoginFailure::BadHandshake(error) => Some(error),
            LoginFailure::Gone => None,
        }
    }

    /// Whether it did not come to the end of the handshake: `max_connect_errors` counts this.
    pub fn is_handshake(&self) -> bool {
        !matches!(self, LoginFailure::Refused(_))
    }
}

impl From<SqlError> for LoginFailure {
    fn from(error: SqlError) -> Self {
        LoginFailure::Refused(error)
    }
}

impl From<ReadPacketError> for LoginFailure {
    fn from(error: ReadPacketError) -> Self {
        LoginFailure::BadHandshake(match error {
            ReadPacketError::Closed | ReadPacketError::Truncated | ReadPacketError::Io(_) => return LoginFailure::Gone,
            ReadPacketError::TimedOut { .. } => SqlError::new(ER_NET_READ_INTERRUPTED, &[]),
            ReadPacketError::OutOfOrder { .. } => SqlError::new(ER_NET_PACKETS_OUT_OF_ORDER, &[]),
            ReadPacketError::NoMemory => SqlError::new(ER_OUTOFMEMORY, &[&LOGIN_PACKET_MAX]),
            ReadPacketError::TooLarge { .. } => SqlError::new(ER_NET_PACKET_TOO_LARGE, &[]),
        })
    }
}

/// One connection that logs in.
pub struct LoginExchange<'a> {
    /// The server.
    pub server: &'a Server,
    /// From the client.
    pub input: &'a mut Input,
    /// To the client.
    pub output: &'a mut Output,
    /// The client's.
    pub socket: &'a Socket,
    /// CONNECTION_ID()
    pub connection: u32,
    /// Until when it has to be done.
    pub deadline: Instant,
}

impl LoginExchange<'_> {
    /// Greets, and reads who wants in.
    pub fn handshake(&mut self, status: u16) -> Result<(Login, Identity), LoginFailure> {
        let challenge = challenge_from(random_bytes());
        // What goes through the Unix socket stays on this machine.
        let tls = self.server.tls.config().filter(|_| *self.socket.peer() != Peer::Local);
        let version = self.server.globals.get(ids::VERSION);
        let greeting = Greeting {
            version: &version,
            connection_id: self.connection,
            challenge: &challenge,
            capabilities: capability::OFFERED | if tls.is_some() { capability::SSL } else { 0 },
            collation: 255,
            status,
            plugin: GREETING_PLUGIN.name(),
        };
        self.output.begin_reply(0);
        self.output.packet(|out| greeting.encode(out));
        self.flush()?;
        let mut payload = self.input.answer(1, LOGIN_PACKET_MAX, self.deadline)?;
        if asks_for_tls(payload) {
            let Some(config) = tls else {
                self.output.begin_reply(2);
                return Err(LoginFailure::BadHandshake(SqlError::new(ER_HANDSHAKE_ERROR, &[])));
            };
            self.start_tls(config)?;
            payload = self.input.answer(2, LOGIN_PACKET_MAX, self.deadline)?;
        }
        let decoded = Login::decode(payload);
        self.output.begin_reply(self.input.sequence());
        let login = match decoded {
            Ok(login) => login,
            Err(error) => {
                return Err(LoginFailure::BadHandshake(match error {
                    LoginError::TooOld => SqlError::new(ER_CLIENT_DOES_NOT_SUPPORT_PROTOCOL, &[]),
                    LoginError::Malformed(_) => SqlError::new(ER_HANDSHAKE_ERROR, &[]),
                }));
            }
        };
        self.output.capabilities = login.capabilities;
        if self.server.globals.get(ids::REQUIRE_SECURE_TRANSPORT) && !self.socket.is_secure() {
            return Err(SqlError::new(ER_SECURE_TRANSPORT_REQUIRED, &[]).into());
        }
        check_charset(&login)?;
        let identity = self.authenticate(&login, Some((GREETING_PLUGIN, challenge)))?;
        Ok((login, identity))
    }

    /// Encrypts what follows. A client that does not manage to has nobody to complain to: it is not encrypted, and it
    /// has stopped to read what is not.
    fn start_tls(&mut self, config: Arc<ServerConfig>) -> Result<(), LoginFailure> {
        let counters = &self.server.counters;
        count(&counters.tls_accepts);
        let received = self.input.take_received();
        self.socket.start_tls(config, &received, self.deadline).map_err(|_| LoginFailure::Gone)?;
        count(&counters.tls_finished_accepts);
        Ok(())
    }

    /// Logs in anew (COM_CHANGE_USER). The client's response is to a challenge it no longer has: it is
    /// always asked again.
    pub fn change_user(&mut self, login: &Login) -> Result<Identity, LoginFailure> {
        check_charset(login)?;
        self.authenticate(login, None)
    }

    /// Checks the response in `login` to `asked`, the plugin and challenge that it answers.
    fn authenticate(
        &mut self,
        login: &Login,
        asked: Option<(AuthPlugin, Challenge)>,
    ) -> Result<Identity, LoginFailure> {
        let charset = Collation::of_client(login.collation).map_or(Charset::Utf8mb4, Collation::charset);
        let user = String::from_utf8_lossy(&charset.decode_statement(&login.user)).into_owned();
        let checked =
            self.check(&user, login, asked).and_then(|(identity, account)| match account.allows(self.socket.tls()) {
                true if account.locked => {
                    Err(SqlError::new(ER_ACCOUNT_HAS_BEEN_LOCKED, &[&user, &identity.client_host]).into())
                }
                true => Ok(identity),
                false => Err(self.denied(&user, !login.auth_response.is_empty())),
            });
        if let Err(failure) = &checked {
            let Server { audit, counters, .. } = self.server;
            audit.event(counters, "connect", || {
                let errno = failure.error().map(|error| error.errno);
                let tls = self.socket.tls().map(|tls| tls.version);
                json!({
                    "connection": self.connection, "user": format!("{user}@{}", self.socket.peer().host()),
                    "host": self.socket.peer().host_and_port(), "tls": tls, "errno": errno,
                })
            });
        }
        checked
    }

    /// Checks the response in `login`, and asks again where that is not what the account wants. An unknown user is
    /// asked as one with a password.
    fn check(
        &mut self,
        user: &str,
        login: &Login,
        asked: Option<(AuthPlugin, Challenge)>,
    ) -> Result<(Identity, Account), LoginFailure> {
        let found = self.server.accounts.find(user, self.socket.peer());
        let found = found.filter(|(_, account)| account.credential.plugin().is_some() || self.may_lack_password(user));
        let credential = match &found {
            Some((_, account)) => account.credential.clone(),
            None => self.server.accounts.decoy(user, &self.server.globals),
        };
        let Some(wanted) = credential.plugin() else {
            return match login.auth_response.as_slice() {
                [] | [0] => {
                    self.judge(found.as_ref(), true)?;
                    found.ok_or_else(|| self.denied(user, false))
                }
                _ => {
                    self.judge(found.as_ref(), false)?;
                    Err(self.denied(user, true))
                }
            };
        };
        let offered = match &login.plugin {
            Some(name) => std::str::from_utf8(name).ok().and_then(AuthPlugin::from_name),
            None => Some(AuthPlugin::NativePassword),
        };
        let asked = asked.filter(|(plugin, _)| *plugin == wanted && offered == Some(wanted));
        let (response, challenge) = match asked {
            Some((_, challenge)) if !login.auth_response.is_empty() => (login.auth_response.clone(), challenge),
            _ if !login.has(capability::PLUGIN_AUTH) => {
                return Err(SqlError::new(ER_CLIENT_DOES_NOT_SUPPORT_PROTOCOL, &[]).into());
            }
            _ => {
                let fresh = challenge_from(random_bytes());
                (self.switch_plugin(wanted, &fresh)?, fresh)
            }
        };
        self.wait_for_turn(user)?;
        let accepted = match &credential {
            Credential::Empty => false,
            Credential::Native(hash) => hash.accepts(&challenge, &response),
            Credential::Sha2(hash, digest) => {
                let identity = found.as_ref().map(|(identity, _)| identity);
                // The short exchange says that a password is right: not of an account that wrong ones have locked.
                let usages = &self.server.accounts.usages;
                let locked =
                    |(identity, account): &(Identity, Account)| usages.is_locked(&identity.account(), account.locking);
                let digest = digest.as_ref().filter(|_| !found.as_ref().is_some_and(locked));
                self.accepts_sha2(identity, hash, digest, &challenge, &response)?
            }
        };
        match found {
            Some(found) if accepted => {
                self.judge(Some(&found), true)?;
                self.server.hosts.forgive(user, self.socket.peer());
                Ok(found)
            }
            found => {
                self.judge(found.as_ref(), false)?;
                Err(self.denied(user, !matches!(response.as_slice(), [] | [0])))
            }
        }
    }

    /// Counts a right or wrong password for the account; 3955 if wrong ones have locked it.
    fn judge(&self, found: Option<&(Identity, Account)>, right: bool) -> Result<(), LoginFailure> {
        let Some((identity, account)) = found else { return Ok(()) };
        let usages = &self.server.accounts.usages;
        Ok(usages.judge(&identity.account(), account.locking, right, &identity.client_host)?)
    }

    /// Whether an account without a password lets its user in: over the Unix socket, which only this machine's users
    /// reach.
    fn may_lack_password(&self, user: &str) -> bool {
        let insecure = || user == ADMINISTRATOR && self.server.globals.get(ids::INSECURE_ROOT_ON_LOOPBACK);
        *self.socket.peer() == Peer::Local || (self.socket.peer().is_loopback() && insecure())
    }

    /// Waits as long as wrong passwords make it: before anything is said of this one.
    fn wait_for_turn(&mut self, user: &str) -> Result<(), LoginFailure> {
        let Server { hosts, globals, counters, .. } = self.server;
        let attempt = hosts.attempt(user, self.socket.peer(), globals);
        if attempt.wait.is_zero() {
            return Ok(());
        }
        count(&counters.delayed_logins);
        // Those who wait must leave places for others, and for those who are known.
        let most = if attempt.known { u64::MAX } else { (globals.get(ids::MAX_CONNECTIONS) / 2).max(1) };
        let _waits =
            Waits::new(&counters.logins_waiting, most).ok_or_else(|| SqlError::new(ER_CON_COUNT_ERROR, &[]))?;
        if self.socket.wait_for_end(attempt.wait) {
            return Err(LoginFailure::Gone);
        }
        // This time is not the client's.
        self.deadline += attempt.wait;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoginFailure> {
        self.output.flush().map_err(|_| LoginFailure::Gone)
    }

    fn switch_plugin(&mut self, plugin: AuthPlugin, challenge: &Challenge) -> Result<Vec<u8>, LoginFailure> {
        self.output.packet(|out| encode_auth_switch(out, plugin.name(), challenge));
        self.read_answer()
    }

    fn read_answer(&mut self) -> Result<Vec<u8>, LoginFailure> {
        self.flush()?;
        let answer = self.input.answer(self.output.sequence(), LOGIN_PACKET_MAX, self.deadline)?.to_vec();
        self.output.begin_reply(self.input.sequence());
        Ok(answer)
    }

    /// Whether `response` proves the password. If it does not, the password itself is asked for, known or not what
    /// its digest is: so nobody sees by the exchange whether somebody has logged in, or is known at all.
    fn accepts_sha2(
        &mut self,
        identity: Option<&Identity>,
        hash: &Sha2Hash,
        digest: Option<&Sha2Digest>,
        challenge: &Challenge,
        response: &[u8],
    ) -> Result<bool, LoginFailure> {
        if response.is_empty() || response == [0] {
            return Ok(false);
        }
        if digest.is_some_and(|digest| digest.accepts(challenge, response)) {
            self.output.packet(|out| encode_auth_more(out, &[FAST_AUTH_SUCCESS]));
            return Ok(true);
        }
        self.output.packet(|out| encode_auth_more(out, &[FULL_AUTH]));
        let answer = self.read_answer()?;
        let password = self.clear_password(&answer, challenge)?;
        // What is no password is a wrong one.
        let accepted = hash.accepts(password.as_deref().unwrap_or_default()) && password.is_some();
        if let (true, Some(identity), Some(password)) = (accepted, identity, password) {
            self.server.accounts.remember(identity, hash, Sha2Digest::of(&password));
        }
        Ok(accepted)
    }

    /// The password that a client sends when it is asked for it: in clear where nobody can listen, else
    /// encrypted with the key it asks for. None if it is not in that form.
    fn clear_password(&mut self, answer: &[u8], challenge: &Challenge) -> Result<Option<Vec<u8>>, LoginFailure> {
        if self.socket.is_secure() {
            return Ok(answer.strip_suffix(&[0]).map(<[u8]>::to_vec));
        }
        let key = self.server.password_key().map_err(SqlError::internal)?;
        let encrypted = match answer {
            [REQUEST_KEY] => {
                self.output.packet(|out| encode_auth_more(out, key.public_pem().as_bytes()));
                self.read_answer()?
            }
            _ => answer.to_vec(),
        };
        Ok(key.decrypt(&encrypted, challenge))
    }

    fn denied(&self, user: &str, with_password: bool) -> LoginFailure {
        let using = if with_password { "YES" } else { "NO" };
        SqlError::new(ER_ACCESS_DENIED_ERROR, &[&user, &self.socket.peer().host(), &using]).into()
    }
}

/// Refuses a client whose character set has characters with a backslash or quote as their second byte: what it escapes
/// would be read as something else. Others send ASCII as ASCII.
fn check_charset(login: &Login) -> Result<(), LoginFailure> {
    const UNSAFE: [(&str, &[u16]); 5] = [
        ("big5", &[1, 84]),
        ("sjis", &[13, 88]),
        ("gbk", &[28, 87]),
        ("cp932", &[95, 96]),
        ("gb18030", &[248, 249, 250]),
    ];
    match UNSAFE.iter().find(|(_, collations)| collations.contains(&login.collation)) {
        Some((charset, _)) => Err(SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[charset]).into()),
        None => Ok(()),
    }
}

/// One of the logins that wait, counted for as long as it lives.
struct Waits<'a>(&'a AtomicU64);

impl<'a> Waits<'a> {
    /// `None` if `most` wait already.
    fn new(waiting: &'a AtomicU64, most: u64) -> Option<Waits<'a>> {
        let one_more = |waiting: u64| (waiting < most).then_some(waiting + 1);
        waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Waits(waiting))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        uncount(self.0);
    }
}
