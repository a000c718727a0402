//! The RSA key with which clients encrypt a password that `caching_sha2_password` asks for over TCP.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::protocol::handshake::Challenge;

/// A key pair; new with every start of the server.
pub struct PasswordKey {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl PasswordKey {
    /// A fresh key of 2048 bits; takes a noticeable fraction of a second.
    pub fn generate() -> Option<PasswordKey> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
        let der: PublicKeyX509Der<'_> = key.public_key().as_der().ok()?;
        let public_pem = pem(der.as_ref());
        Some(PasswordKey { private: OaepPrivateDecryptingKey::new(key).ok()?, public_pem })
    }

    /// The public half, as clients want it.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The password in what a client made of it: zero-terminated, combined with the challenge byte by
    /// byte, encrypted.
    pub fn decrypt(&self, encrypted: &[u8], challenge: &Challenge) -> Option<Vec<u8>> {
        let mut room = vec![0; self.private.min_output_size()];
        let plain = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None).ok()?;
        let mut password: Vec<u8> =
            plain.iter().zip(challenge.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        (password.pop() == Some(0)).then_some(password)
    }
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, left) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = left;
    }
    pem.push_str("-----END PUBLIC KEY-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};

    #[test]
    fn what_a_client_encrypts_comes_back() {
        let key = PasswordKey::generate().unwrap();
        let lines: Vec<&str> = key.public_pem().lines().collect();
        let der = STANDARD.decode(lines[1..lines.len() - 1].concat()).unwrap();
        let public = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap()).unwrap();
        let challenge: &Challenge = b"abcdefghijklmnopqrst";
        let masked: Vec<u8> = b"a password longer than its challenge\0"
            .iter()
            .zip(challenge.iter().cycle())
            .map(|(a, b)| a ^ b)
            .collect();
        let mut room = vec![0; public.ciphertext_size()];
        let encrypted = public.encrypt(&OAEP_SHA1_MGF1SHA1, &masked, &mut room, None).unwrap();
        assert_eq!(key.decrypt(encrypted, challenge).as_deref(), Some(&b"a password longer than its challenge"[..]));
        assert_eq!(key.decrypt(encrypted, b"tsrqponmlkjihgfedcba"), None);
        assert_eq!(key.decrypt(&encrypted[1..], challenge), None);
        assert_eq!(key.decrypt(b"", challenge), None);
    }
}
