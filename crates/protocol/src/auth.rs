//! Passwords: what is stored, and how a client proves that it knows one.
//!
//! Format: `mysql_native_password` stores SHA1(SHA1(password)), written `*` and 40 hexadecimal digits.
//! `caching_sha2_password` stores a salted hash of thousands of rounds, which only the password itself
//! can be checked against ([`Sha2Hash`]); once that has happened, SHA256(SHA256(password)) is kept in
//! memory ([`Sha2Digest`]) and a response to the challenge is enough.

pub mod sha256_crypt;

use pbkdf2::pbkdf2_hmac_array;
use sha1::{Digest, Sha1};
use sha2::Sha256;

use self::sha256_crypt::{HASH_CHARS, SALT_BYTES, sha256_crypt};
use super::handshake::Challenge;

/// The ways to authenticate that accounts can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthPlugin {
    /// SHA1 twice; MySQL's default up to 5.7.
    NativePassword,
    /// Salted SHA-256; MySQL's default from 8.0 on.
    CachingSha2,
}

impl AuthPlugin {
    /// The plugin's name in packets and statements.
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::NativePassword => "mysql_native_password",
            AuthPlugin::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The plugin of that name.
    pub fn from_name(name: &str) -> Option<AuthPlugin> {
        [AuthPlugin::NativePassword, AuthPlugin::CachingSha2].into_iter().find(|plugin| plugin.name() == name)
    }
}

/// SHA1(SHA1(password)).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NativeHash([u8; 20]);

impl NativeHash {
    /// Of a password in clear.
    pub fn of(password: &[u8]) -> NativeHash {
        NativeHash(Sha1::digest(Sha1::digest(password)).into())
    }

    /// From its text form, `*` and 40 hexadecimal digits.
    pub fn parse(text: &str) -> Option<NativeHash> {
        let bytes = decode_hex(text.strip_prefix('*')?)?;
        Some(NativeHash(bytes.try_into().ok()?))
    }

    /// The text form.
    pub fn to_text(self) -> String {
        format!("*{}", encode_hex(&self.0))
    }

    /// Whether `response` proves knowledge of the password.
    pub fn accepts(&self, challenge: &Challenge, response: &[u8]) -> bool {
        let Ok(response) = <[u8; 20]>::try_from(response) else { return false };
        let mask = Sha1::new().chain_update(challenge).chain_update(self.0).finalize();
        let once: [u8; 20] = std::array::from_fn(|index| response[index] ^ mask[index]);
        equal(&Sha1::digest(once), &self.0)
    }
}

/// SHA256(SHA256(password)): lives in memory only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sha2Digest([u8; 32]);

impl Sha2Digest {
    /// Of a password in clear.
    pub fn of(password: &[u8]) -> Sha2Digest {
        Sha2Digest(Sha256::digest(Sha256::digest(password)).into())
    }

    /// Whether `response` proves knowledge of the password.
    pub fn accepts(&self, challenge: &Challenge, response: &[u8]) -> bool {
        let Ok(response) = <[u8; 32]>::try_from(response) else { return false };
        let mask = Sha256::new().chain_update(self.0).chain_update(challenge).finalize();
        let once: [u8; 32] = std::array::from_fn(|index| response[index] ^ mask[index]);
        equal(&Sha256::digest(once), &self.0)
    }
}

/// The longest password of `caching_sha2_password`, bytes: the work of hashing grows with its square.
pub const SHA2_PASSWORD_BYTES_MAX: usize = 256;

/// A salted hash that is slow to compute, for keeping on disk. Its text form is MySQL's,
/// `$A$005$` with the thousands of rounds in hexadecimal, twenty bytes of salt and 43 characters of hash.
#[derive(Clone, PartialEq, Eq)]
pub enum Sha2Hash {
    /// What MySQL 8.0 stores.
    Crypt {
        /// Thousands of rounds.
        kilorounds: u32,
        /// Any ASCII but NUL and `$`.
        salt: [u8; SALT_BYTES],
        /// Of the password.
        hash: [u8; HASH_CHARS],
    },
    /// `$pbkdf2-sha256$rounds$salt$hash`, salt and hash in hexadecimal: what data directories of the first
    /// version may hold.
    Pbkdf2 {
        /// Rounds.
        rounds: u32,
        /// Random bytes.
        salt: [u8; 16],
        /// Of the password.
        hash: [u8; 32],
    },
}

/// Thousands of rounds for new hashes: some milliseconds of work.
const KILOROUNDS: u32 = 5;
const CRYPT_PREFIX: &str = "$A$";
const PBKDF2_PREFIX: &str = "$pbkdf2-sha256$";

impl Sha2Hash {
    /// Of a password in clear, with a salt made of `random`; `None` if it is too long.
    pub fn of(password: &[u8], random: [u8; SALT_BYTES]) -> Option<Sha2Hash> {
        if password.len() > SHA2_PASSWORD_BYTES_MAX {
            return None;
        }
        let salt = random.map(|byte| sha256_crypt::ALPHABET[usize::from(byte % 64)]);
        Some(Sha2Hash::Crypt { kilorounds: KILOROUNDS, salt, hash: sha256_crypt(password, &salt, KILOROUNDS * 1000) })
    }

    /// A hash of which nobody knows the password, as much work to check as any.
    pub fn nobodys(salt: [u8; SALT_BYTES]) -> Sha2Hash {
        Sha2Hash::Crypt { kilorounds: KILOROUNDS, salt, hash: [b'.'; HASH_CHARS] }
    }

    /// From its text form.
    pub fn parse(text: &str) -> Option<Sha2Hash> {
        if let Some(rest) = text.strip_prefix(PBKDF2_PREFIX) {
            let mut parts = rest.split('$');
            let rounds = parts.next()?.parse().ok().filter(|rounds| (1..=10_000_000).contains(rounds))?;
            let salt = decode_hex(parts.next()?)?.try_into().ok()?;
            let hash = decode_hex(parts.next()?)?.try_into().ok()?;
            return parts.next().is_none().then_some(Sha2Hash::Pbkdf2 { rounds, salt, hash });
        }
        let (kilorounds, rest) = text.strip_prefix(CRYPT_PREFIX)?.split_once('$')?;
        let digits = kilorounds.len() == 3 && kilorounds.bytes().all(|byte| byte.is_ascii_hexdigit());
        let kilorounds = u32::from_str_radix(kilorounds, 16).ok().filter(|rounds| digits && *rounds >= KILOROUNDS)?;
        let (salt, hash) = rest.as_bytes().split_first_chunk()?;
        let salt_fits = salt.iter().all(|byte| byte.is_ascii() && !matches!(byte, 0 | b'$'));
        let hash: [u8; HASH_CHARS] = hash.try_into().ok()?;
        let hash_fits = hash.iter().all(|char| sha256_crypt::ALPHABET.contains(char));
        (salt_fits && hash_fits).then_some(Sha2Hash::Crypt { kilorounds, salt: *salt, hash })
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        match self {
            Sha2Hash::Crypt { kilorounds, salt, hash } => {
                let characters = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
                format!("{CRYPT_PREFIX}{kilorounds:03X}${}{}", characters(salt), characters(hash))
            }
            Sha2Hash::Pbkdf2 { rounds, salt, hash } => {
                format!("{PBKDF2_PREFIX}{rounds}${}${}", encode_hex(salt), encode_hex(hash))
            }
        }
    }

    /// Whether this is the hash of `password`.
    pub fn accepts(&self, password: &[u8]) -> bool {
        match self {
            _ if password.len() > SHA2_PASSWORD_BYTES_MAX => false,
            Sha2Hash::Crypt { kilorounds, salt, hash } => equal(&sha256_crypt(password, salt, kilorounds * 1000), hash),
            Sha2Hash::Pbkdf2 { rounds, salt, hash } => {
                equal(&pbkdf2_hmac_array::<Sha256, 32>(password, salt, *rounds), hash)
            }
        }
    }
}

/// Compares without telling by its duration where the difference is.
fn equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &Challenge = b"abcdefghijklmnopqrst";

    fn native_response(password: &[u8]) -> Vec<u8> {
        let once = Sha1::digest(password);
        let mask = Sha1::new().chain_update(CHALLENGE).chain_update(Sha1::digest(once)).finalize();
        once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
    }

    fn sha2_response(password: &[u8]) -> Vec<u8> {
        let once = Sha256::digest(password);
        let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(CHALLENGE).finalize();
        once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
    }

    #[test]
    fn the_native_hash_is_what_password_gives() {
        let hash = NativeHash::of(b"password");
        assert_eq!(hash.to_text(), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        assert!(NativeHash::parse(&hash.to_text()) == Some(hash));
        assert!(NativeHash::parse("*2470").is_none() && NativeHash::parse("é").is_none());
    }

    #[test]
    fn only_the_right_password_is_accepted() {
        let native = NativeHash::of(b"secret");
        assert!(native.accepts(CHALLENGE, &native_response(b"secret")));
        assert!(!native.accepts(CHALLENGE, &native_response(b"Secret")));
        assert!(!native.accepts(b"tsrqponmlkjihgfedcba", &native_response(b"secret")));
        assert!(!native.accepts(CHALLENGE, b""));
        let digest = Sha2Digest::of(b"secret");
        assert!(digest.accepts(CHALLENGE, &sha2_response(b"secret")));
        assert!(!digest.accepts(CHALLENGE, &sha2_response(b"Secret")));
        assert!(!digest.accepts(CHALLENGE, &[]));
        let hash = Sha2Hash::parse(&Sha2Hash::of(b"secret", [9; 20]).unwrap().to_text()).unwrap();
        assert!(hash.accepts(b"secret") && !hash.accepts(b"secre") && !hash.accepts(b""));
        let old = Sha2Hash::Pbkdf2 {
            rounds: 9,
            salt: [1; 16],
            hash: pbkdf2_hmac_array::<Sha256, 32>(b"secret", &[1; 16], 9),
        };
        let old = Sha2Hash::parse(&old.to_text()).unwrap();
        assert!(old.accepts(b"secret") && !old.accepts(b"secre"));
    }

    #[test]
    fn a_password_too_long_to_hash_is_refused_unhashed() {
        let longest = [b'x'; SHA2_PASSWORD_BYTES_MAX];
        let hash = Sha2Hash::of(&longest, [1; 20]).unwrap();
        assert!(hash.accepts(&longest) && !hash.accepts(&[b'x'; SHA2_PASSWORD_BYTES_MAX + 1]));
        assert!(Sha2Hash::of(&[b'x'; SHA2_PASSWORD_BYTES_MAX + 1], [1; 20]).is_none());
    }

    #[test]
    fn damaged_hashes_are_not_parsed() {
        let text = Sha2Hash::of(b"x", [1; 20]).unwrap().to_text();
        for damaged in [
            text[..text.len() - 1].to_owned(),
            format!("{text}/"),
            text.replace("$005$", "$5$"),
            text.replace("$005$", "$+05$"),
            text.replace("$005$", "$000$"),
            text.replacen("$005$", "$005$$", 1)[..text.len()].to_owned(),
            format!("{}é", &text[..text.len() - 2]),
        ] {
            assert!(Sha2Hash::parse(&damaged).is_none(), "{damaged}");
        }
    }
}
