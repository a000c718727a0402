//! AES_ENCRYPT and AES_DECRYPT. The cipher is the crate `aes`'s; here are the ways to chain its blocks that
//! `block_encryption_mode` names.

use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256, Block};

use super::super::VariableScope;
use super::super::convert::{to_bytes, to_text};
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{ER_AES_INVALID_IV, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, SqlError, WARN_OPTION_IGNORED};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("aes_encrypt", 2, 3, encrypt, |of| {
        ResultType::string((of[0].length / BLOCK as u32 + 1).saturating_mul(4 * BLOCK as u32), Collation::Binary)
    })
    .of_text()
    .of_bytes()
    .doc(
        "The text encrypted by AES under a key, as `block_encryption_mode` says; most modes need an initialization vector.",
        "HEX(AES_ENCRYPT('text', 'password'))",
        "F6BD0FA8DCB7F8CD4A2FAABC54668044",
    ),
    Function::new("aes_decrypt", 2, 3, decrypt, |of| ResultType::string(of[0].length, Collation::Binary))
        .of_text()
        .of_bytes()
        .doc(
            "What AES_ENCRYPT encrypted; NULL if the key or the text is another one.",
            "AES_DECRYPT(UNHEX('F6BD0FA8DCB7F8CD4A2FAABC54668044'), 'password')",
            "text",
        ),
];

/// Bytes of a block of AES, and of an initialization vector.
const BLOCK: usize = 16;

/// How blocks are chained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    /// So many bits are encrypted at once.
    Cfb(usize),
    Ofb,
}

/// A value of `block_encryption_mode`, such as `aes-256-cbc`.
struct Mode {
    key_bytes: usize,
    chaining: Chaining,
}

impl Mode {
    fn named(name: &str) -> Option<Mode> {
        let mut parts = name.split('-').skip(1);
        let key_bytes = match parts.next()? {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return None,
        };
        let chaining = match parts.next()? {
            "ecb" => Chaining::Ecb,
            "cbc" => Chaining::Cbc,
            "cfb1" => Chaining::Cfb(1),
            "cfb8" => Chaining::Cfb(8),
            "cfb128" => Chaining::Cfb(128),
            "ofb" => Chaining::Ofb,
            _ => return None,
        };
        Some(Mode { key_bytes, chaining })
    }
}

enum Cipher {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    /// The key may have any length: its bytes are folded into those that there are.
    fn new(key: &[u8], mode: &Mode) -> Option<Cipher> {
        let mut folded = vec![0; mode.key_bytes];
        key.iter().enumerate().for_each(|(at, byte)| folded[at % mode.key_bytes] ^= byte);
        Some(match mode.key_bytes {
            16 => Cipher::Aes128(Box::new(Aes128::new_from_slice(&folded).ok()?)),
            24 => Cipher::Aes192(Box::new(Aes192::new_from_slice(&folded).ok()?)),
            _ => Cipher::Aes256(Box::new(Aes256::new_from_slice(&folded).ok()?)),
        })
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        let block = Block::from_mut_slice(block);
        match self {
            Cipher::Aes128(cipher) => cipher.encrypt_block(block),
            Cipher::Aes192(cipher) => cipher.encrypt_block(block),
            Cipher::Aes256(cipher) => cipher.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        let block = Block::from_mut_slice(block);
        match self {
            Cipher::Aes128(cipher) => cipher.decrypt_block(block),
            Cipher::Aes192(cipher) => cipher.decrypt_block(block),
            Cipher::Aes256(cipher) => cipher.decrypt_block(block),
        }
    }
}

/// What a call works with; `None` where the mode is not known.
fn prepared(args: &Arguments<'_, '_>) -> Result<(Cipher, Chaining, [u8; BLOCK]), SqlError> {
    let name = args.cx.statement.system_variable(VariableScope::Any, "block_encryption_mode")?;
    let unknown = || SqlError::internal(format_args!("block_encryption_mode is {name}"));
    let mode = Mode::named(&to_text(&name).to_ascii_lowercase()).ok_or_else(unknown)?;
    let cipher = Cipher::new(&to_bytes(&args[1]), &mode).ok_or_else(unknown)?;
    let mut vector = [0; BLOCK];
    match (args.get(2), mode.chaining) {
        (None, Chaining::Ecb) => {}
        (None, _) => return Err(SqlError::new(ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&args.call.name()])),
        (Some(_), Chaining::Ecb) => args.cx.statement.warn(SqlError::new(WARN_OPTION_IGNORED, &[&"IV"]))?,
        (Some(given), _) => {
            let given = to_bytes(given);
            let first = given.first_chunk::<BLOCK>();
            vector = *first.ok_or_else(|| SqlError::new(ER_AES_INVALID_IV, &[&args.call.name(), &BLOCK]))?;
        }
    }
    Ok((cipher, mode.chaining, vector))
}

fn encrypt(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (cipher, chaining, vector) = prepared(args)?;
    let text = to_bytes(&args[0]);
    if !args.has_room(text.len() + BLOCK)? {
        return Ok(Value::Null);
    }
    let mut bytes = text.into_owned();
    match chaining {
        Chaining::Ecb | Chaining::Cbc => {
            let padding = BLOCK - bytes.len() % BLOCK;
            bytes.resize(bytes.len() + padding, padding as u8);
            let mut last = vector;
            for block in bytes.as_chunks_mut::<BLOCK>().0 {
                if chaining == Chaining::Cbc {
                    block.iter_mut().zip(last).for_each(|(byte, last)| *byte ^= last);
                }
                cipher.encrypt(block);
                last = *block;
            }
        }
        Chaining::Cfb(_) | Chaining::Ofb => stream(&cipher, chaining, vector, &mut bytes, false),
    }
    args.cx.statement.check_killed()?;
    Ok(Value::bytes(bytes))
}

fn decrypt(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (cipher, chaining, vector) = prepared(args)?;
    let mut bytes = to_bytes(&args[0]).into_owned();
    if !args.has_room(bytes.len())? {
        return Ok(Value::Null);
    }
    if matches!(chaining, Chaining::Cfb(_) | Chaining::Ofb) {
        stream(&cipher, chaining, vector, &mut bytes, true);
        return Ok(Value::bytes(bytes));
    }
    let mut last = vector;
    let (blocks, rest) = bytes.as_chunks_mut::<BLOCK>();
    if blocks.is_empty() || !rest.is_empty() {
        return Ok(Value::Null);
    }
    for block in blocks {
        let encrypted = *block;
        cipher.decrypt(block);
        if chaining == Chaining::Cbc {
            block.iter_mut().zip(last).for_each(|(byte, last)| *byte ^= last);
        }
        last = encrypted;
    }
    let padding = usize::from(bytes.last().copied().unwrap_or_default());
    let text = bytes.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding));
    match text.filter(|text| bytes[*text..].iter().all(|byte| usize::from(*byte) == padding)) {
        Some(text) => {
            bytes.truncate(text);
            Ok(Value::bytes(bytes))
        }
        None => Ok(Value::Null),
    }
}

/// The modes that encrypt any number of bytes: each unit of the text is combined with as many bits of an encrypted
/// register, into which the encrypted unit (OFB: those bits) is then shifted.
fn stream(cipher: &Cipher, chaining: Chaining, mut register: [u8; BLOCK], bytes: &mut [u8], decrypts: bool) {
    match chaining {
        Chaining::Cfb(1) => {
            for byte in bytes {
                for bit in (0..8).rev() {
                    let mut key = register;
                    cipher.encrypt(&mut key);
                    let given = *byte >> bit & 1;
                    let made = given ^ key[0] >> 7;
                    *byte = *byte & !(1 << bit) | made << bit;
                    let shifted = u128::from_be_bytes(register) << 1 | u128::from(if decrypts { given } else { made });
                    register = shifted.to_be_bytes();
                }
            }
        }
        Chaining::Cfb(8) => {
            for byte in bytes {
                let mut key = register;
                cipher.encrypt(&mut key);
                let given = *byte;
                *byte ^= key[0];
                let shifted = u128::from_be_bytes(register) << 8 | u128::from(if decrypts { given } else { *byte });
                register = shifted.to_be_bytes();
            }
        }
        _ => {
            for chunk in bytes.chunks_mut(BLOCK) {
                cipher.encrypt(&mut register);
                for (byte, key) in chunk.iter_mut().zip(&mut register) {
                    let given = *byte;
                    *byte ^= *key;
                    if chaining != Chaining::Ofb {
                        *key = if decrypts { given } else { *byte };
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As OpenSSL encrypts them.
    #[test]
    fn every_mode_is_the_standards() {
        let hex = |bytes: &[u8]| super::super::encoding::hex_of(bytes);
        for (name, expected) in [
            ("aes-128-cfb1", "f85eddb8301a1120ee5a4614f705e5c5"),
            ("aes-192-cfb8", "8eb8c9ef41f3fa43a1b588c71e3e7a65"),
            ("aes-256-cfb128", "630cac49ad535f2233462df92bb2dc49"),
            ("aes-128-ofb", "aebd76a9c9a19d55721982dd6d14facb"),
        ] {
            let mode = Mode::named(name).unwrap();
            let cipher = Cipher::new(b"My secret passphrase, longer than a key can be", &mode).unwrap();
            let mut bytes = b"some longer text".to_vec();
            stream(&cipher, mode.chaining, *b"0123456789abcdef", &mut bytes, false);
            assert_eq!(hex(&bytes), expected, "{name}");
            stream(&cipher, mode.chaining, *b"0123456789abcdef", &mut bytes, true);
            assert_eq!(bytes, b"some longer text", "{name}");
        }
    }
}
