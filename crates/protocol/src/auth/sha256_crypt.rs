//! The SHA-256 crypt function, as `caching_sha2_password` uses it: salts of 20 bytes, and a result of 43
//! characters. The crate `sha-crypt` cuts a salt after 16 bytes, as crypt(3) does.

use sha2::{Digest, Sha256};

/// Bytes of a salt.
pub const SALT_BYTES: usize = 20;
/// Characters of the result.
pub const HASH_CHARS: usize = 43;

/// The characters of the result.
pub const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Hashes `password` in so many rounds. The work grows with the square of its length.
pub fn sha256_crypt(password: &[u8], salt: &[u8; SALT_BYTES], rounds: u32) -> [u8; HASH_CHARS] {
    let mut state = first_state(password, salt);
    let password_bytes = repeat(&digest_of(std::iter::repeat_n(password, password.len())), password.len());
    let salt_times = 16 + usize::from(state[0]);
    let salt_bytes = repeat(&digest_of(std::iter::repeat_n(&salt[..], salt_times)), SALT_BYTES);
    for round in 0..rounds {
        let (first, last) =
            if round % 2 == 1 { (&password_bytes[..], &state[..]) } else { (&state[..], &password_bytes[..]) };
        let mut hasher = Sha256::new_with_prefix(first);
        if round % 3 != 0 {
            hasher.update(&salt_bytes);
        }
        if round % 7 != 0 {
            hasher.update(&password_bytes);
        }
        hasher.update(last);
        state = hasher.finalize().into();
    }
    to_text(&state)
}

fn first_state(password: &[u8], salt: &[u8]) -> [u8; 32] {
    let mixed = digest_of([password, salt, password].into_iter());
    let mut hasher = Sha256::new_with_prefix(password);
    hasher.update(salt);
    hasher.update(repeat(&mixed, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        hasher.update(if bits % 2 == 1 { &mixed[..] } else { password });
        bits /= 2;
    }
    hasher.finalize().into()
}

fn digest_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    parts.for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

/// The first `len` bytes of `bytes`, said again and again.
fn repeat(bytes: &[u8], len: usize) -> Vec<u8> {
    bytes.iter().copied().cycle().take(len).collect()
}

/// Six bits a character, from the lowest on, of groups of three bytes that lie ten bytes apart.
fn to_text(state: &[u8; 32]) -> [u8; HASH_CHARS] {
    let mut text = [0; HASH_CHARS];
    for (group, chars) in text.chunks_mut(4).enumerate() {
        let at = |third: usize| usize::from(state[(group * 21 + third * 10) % 30]);
        let mut bits = match group {
            10 => usize::from(state[31]) << 8 | usize::from(state[30]),
            _ => at(0) << 16 | at(1) << 8 | at(2),
        };
        for char in chars {
            *char = ALPHABET[bits & 63];
            bits >>= 6;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0 stores the password `hashcat`, the published example of its format.
    #[test]
    fn the_hash_is_mysqls() {
        let salt = [
            0xf9, 0xcc, 0x98, 0xce, 0x08, 0x89, 0x29, 0x24, 0xf5, 0x0a, 0x21, 0x3b, 0x6b, 0xc5, 0x71, 0xa2, 0xc1, 0x17,
            0x78, 0xc5,
        ];
        let hash = sha256_crypt(b"hashcat", &salt, 5000);
        assert_eq!(std::str::from_utf8(&hash), Ok("bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/"));
    }
}
