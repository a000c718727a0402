//! How strings compare, and keys in that order.
//!
//! The collations and what they rest on:
//! - `utf8mb4_0900_ai_ci`: primary weights of the Unicode collation algorithm's root (`icu_collator`),
//!   punctuation counts, trailing spaces count;
//! - `utf8mb4_general_ci`: one weight a character, the upper-case form of its base letter; trailing
//!   spaces do not count;
//! - `utf8mb4_bin` (trailing spaces do not count), `utf8mb4_0900_bin`, `binary`: bytes.
//!
//! Format of keys ([`Collation::write_key`]), each self-delimiting:
//! - 0900_ai_ci: the library's sort key, which has no zero byte, and a zero byte;
//! - padding collations: characters, a space being followed by `SPACE_THEN_LESS` or
//!   `SPACE_THEN_GREATER` by what the next character other than a space is; the end is a space and
//!   `SPACE_THEN_END`, as if spaces followed for ever;
//! - others: bytes, a zero byte being followed by 0xff; the end is two zero bytes.
//!
//! Stored keys hold weights of the library's data: its version is pinned in the workspace, and raising it
//! means to rebuild indexes over strings.
//!
//! Invariants
//! 1. The order of keys is [`Collation::compare`]'s, keys of equal strings are equal (property tests).
//! 2. The table for ASCII text gives what the library gives (property test).

mod general_ci;
mod pattern;
mod unicode_ai_ci;

pub use pattern::like;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::error::{ER_UNKNOWN_COLLATION, SqlError};

const SPACE: u8 = b' ';
const SPACE_THEN_LESS: u8 = 1;
const SPACE_THEN_END: u8 = 2;
const SPACE_THEN_GREATER: u8 = 3;

/// A collation; the discriminants are MySQL's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum Collation {
    /// `utf8mb4_general_ci`: pads, ignores case and accents, one weight a character.
    Utf8mb4GeneralCi = 45,
    /// `utf8mb4_bin`: pads, by code point.
    Utf8mb4Bin = 46,
    /// `binary`: bytes.
    Binary = 63,
    /// `utf8mb4_0900_ai_ci`: does not pad, Unicode collation, base letters only.
    Utf8mb4_0900AiCi = 255,
    /// `utf8mb4_0900_bin`: does not pad, by code point.
    Utf8mb4_0900Bin = 309,
}

/// Collations that a connection may name although nothing is compared under them, with MySQL's ids.
const OF_CONNECTIONS: [(&str, u16); 2] = [("utf8mb4_unicode_ci", 224), ("utf8mb4_unicode_520_ci", 246)];

/// How MySQL writes the name of a collation that a connection may have, and its character set.
pub fn of_connection(name: &str) -> Option<(&'static str, &'static str)> {
    let known = Collation::from_name(name).map(|collation| (collation.name(), collation.charset()));
    let named = |known: &&(&'static str, u16)| known.0.eq_ignore_ascii_case(name);
    known.or_else(|| OF_CONNECTIONS.iter().find(named).map(|(name, _)| (*name, "utf8mb4")))
}

/// The name of a connection's collation by MySQL's id.
pub fn of_connection_by_id(id: u16) -> Option<&'static str> {
    let known = Collation::from_id(id).map(Collation::name);
    known.or_else(|| OF_CONNECTIONS.iter().find(|known| known.1 == id).map(|(name, _)| *name))
}

impl Collation {
    /// The collation of new tables and of connections that name none.
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;

    /// Every collation.
    pub const ALL: [Collation; 5] = [
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Bin,
        Collation::Binary,
        Collation::Utf8mb4_0900AiCi,
        Collation::Utf8mb4_0900Bin,
    ];

    /// By name, in any case.
    pub fn from_name(name: &str) -> Option<Collation> {
        Self::ALL.into_iter().find(|collation| collation.name().eq_ignore_ascii_case(name))
    }

    /// The collation that a statement names for a column or an expression; 1235 for one that only connections may
    /// have, 1273 for others that are not known.
    pub fn named(name: &str) -> Result<Collation, SqlError> {
        Self::from_name(name).ok_or_else(|| match of_connection(name) {
            Some((name, _)) => SqlError::unsupported(format_args!("columns and expressions of {name}")),
            None => SqlError::new(ER_UNKNOWN_COLLATION, &[&name]),
        })
    }

    /// Whether letters that differ in case only are different.
    pub fn is_case_sensitive(self) -> bool {
        !matches!(self, Collation::Utf8mb4GeneralCi | Collation::Utf8mb4_0900AiCi)
    }

    /// By MySQL's id (handshake, column metadata).
    pub fn from_id(id: u16) -> Option<Collation> {
        Self::ALL.into_iter().find(|collation| collation.id() == id)
    }

    /// The default collation of a character set (`utf8mb4`, `binary`).
    pub fn of_charset(charset: &str) -> Option<Collation> {
        if charset.eq_ignore_ascii_case("utf8mb4") {
            Some(Collation::DEFAULT)
        } else if charset.eq_ignore_ascii_case("binary") {
            Some(Collation::Binary)
        } else {
            None
        }
    }

    /// MySQL's id.
    pub fn id(self) -> u16 {
        self as u16
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Collation::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Binary => "binary",
            Collation::Utf8mb4_0900AiCi => "utf8mb4_0900_ai_ci",
            Collation::Utf8mb4_0900Bin => "utf8mb4_0900_bin",
        }
    }

    /// The character set's name.
    pub fn charset(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            Collation::Utf8mb4GeneralCi
            | Collation::Utf8mb4Bin
            | Collation::Utf8mb4_0900AiCi
            | Collation::Utf8mb4_0900Bin => "utf8mb4",
        }
    }

    /// Whether strings of this collation are characters, not bytes.
    pub fn is_character(self) -> bool {
        self != Collation::Binary
    }

    /// Whether shorter strings compare as if filled up with spaces.
    pub fn pads(self) -> bool {
        matches!(self, Collation::Utf8mb4GeneralCi | Collation::Utf8mb4Bin)
    }

    /// Compares two strings; character strings must be UTF-8 (other bytes compare as replacement
    /// characters).
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Utf8mb4_0900AiCi => unicode_ai_ci::compare(a, b),
            Collation::Utf8mb4GeneralCi => general_ci::compare(a, b),
            Collation::Utf8mb4Bin => compare_padded(a, b),
            Collation::Binary | Collation::Utf8mb4_0900Bin => a.cmp(b),
        }
    }

    /// Whether two strings are equal.
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b) == Ordering::Equal
    }

    /// Appends the key of a string: self-delimiting bytes whose order is the order of
    /// [`Collation::compare`].
    pub fn write_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Collation::Utf8mb4_0900AiCi => {
                unicode_ai_ci::write_key(text, out);
                out.push(0);
            }
            Collation::Utf8mb4GeneralCi => {
                let mut folded = Vec::with_capacity(text.len());
                general_ci::fold(text, &mut folded);
                write_padded_key(&folded, out);
            }
            Collation::Utf8mb4Bin => write_padded_key(text, out),
            Collation::Binary | Collation::Utf8mb4_0900Bin => write_escaped_key(text, out),
        }
    }

    /// Length of the key of a string that `bytes` start with; `None` if it does not end.
    pub fn key_len(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Collation::Utf8mb4_0900AiCi => bytes.iter().position(|&byte| byte == 0).map(|at| at + 1),
            Collation::Utf8mb4GeneralCi | Collation::Utf8mb4Bin => find_end(bytes, SPACE, SPACE_THEN_END),
            Collation::Binary | Collation::Utf8mb4_0900Bin => find_end(bytes, 0, 0),
        }
    }
}

/// Compares bytes, the shorter ones filled up with spaces.
fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    let order = a[..common].cmp(&b[..common]);
    if order != Ordering::Equal {
        return order;
    }
    let rest_order = |rest: &[u8]| match rest.iter().find(|&&byte| byte != SPACE) {
        Some(byte) => byte.cmp(&SPACE),
        None => Ordering::Equal,
    };
    rest_order(&a[common..]).then_with(|| rest_order(&b[common..]).reverse())
}

fn write_padded_key(text: &[u8], out: &mut Vec<u8>) {
    let text = text.trim_ascii_end_spaces();
    out.reserve(text.len() + 2);
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == SPACE) {
        out.extend_from_slice(&rest[..at]);
        let run = rest[at..].iter().take_while(|&&byte| byte == SPACE).count();
        // Trailing spaces were cut, so that something follows the run.
        let next = rest.get(at + run).copied().unwrap_or(SPACE);
        let marker = if next < SPACE { SPACE_THEN_LESS } else { SPACE_THEN_GREATER };
        (0..run).for_each(|_| out.extend_from_slice(&[SPACE, marker]));
        rest = &rest[at + run..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[SPACE, SPACE_THEN_END]);
}

fn write_escaped_key(mut bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    while let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        out.extend_from_slice(&bytes[..at]);
        out.extend_from_slice(&[0, 0xff]);
        bytes = &bytes[at + 1..];
    }
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0, 0]);
}

/// The bytes of an escaped key ([`Collation::Binary`]) that `key` starts with.
pub fn read_escaped_key(key: &[u8]) -> Option<Vec<u8>> {
    let end = find_end(key, 0, 0)? - 2;
    let mut bytes = Vec::with_capacity(end);
    let mut at = 0;
    while at < end {
        bytes.push(key[at]);
        at += if key[at] == 0 { 2 } else { 1 };
    }
    Some(bytes)
}

/// One after the first `lead` that `end` follows; other bytes after a `lead` are skipped.
fn find_end(bytes: &[u8], lead: u8, end: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == lead)?;
        if *bytes.get(at + 1)? == end {
            return Some(at + 2);
        }
        at += 2;
    }
}

trait TrimSpaces {
    fn trim_ascii_end_spaces(&self) -> &[u8];
}

impl TrimSpaces for [u8] {
    /// Without spaces at the end (other white space stays).
    fn trim_ascii_end_spaces(&self) -> &[u8] {
        let len = self.iter().rposition(|&byte| byte != SPACE).map_or(0, |at| at + 1);
        &self[..len]
    }
}

#[cfg(test)]
mod tests;
