//! How strings compare, and keys in that order.
//!
//! The collations and what they rest on:
//! - `utf8mb4_0900_ai_ci`, `_as_ci`, `_as_cs`: weights of the Unicode collation algorithm's root (`icu_collator`), one
//!   to three levels of them; punctuation counts, trailing spaces count;
//! - `unicode_ci`, `unicode_520_ci`: the first level of earlier versions of it; trailing spaces do not count, as in all
//!   that follow;
//! - `general_ci`: one weight a character, the upper-case form of its base letter;
//! - latin1's: one weight a character, by a table;
//! - `bin`: the bytes of the character set. Of `utf8mb4_0900_bin` and `binary` trailing spaces count.
//!
//! Format of keys ([`Collation::write_key`]), each self-delimiting:
//! - 0900: the library's sort key, which has no zero byte, and a zero byte;
//! - padding collations: characters, a space being followed by `SPACE_THEN_LESS` or
//!   `SPACE_THEN_GREATER` by what the next character other than a space is; the end is a space and
//!   `SPACE_THEN_END`, as if spaces followed for ever (of two bytes each in `unicode_ci`);
//! - others: bytes, a zero byte being followed by 0xff; the end is two zero bytes.
//!
//! Stored keys hold weights of the library's data: its version is pinned in the workspace, and raising it
//! means to rebuild indexes over strings.
//!
//! Invariants
//! 1. The order of keys is [`Collation::compare`]'s, keys of equal strings are equal (property tests).
//! 2. The table for ASCII text gives what the library gives (property test).

mod general_ci;
mod latin1;
mod pattern;
mod uca;
mod unicode_ai_ci;

pub use pattern::{beginning, like};

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::charset::Charset;
use crate::error::{ER_UNKNOWN_COLLATION, SqlError};
use latin1::Table;
use uca::Version;
use unicode_ai_ci::Level;

/// Bytes of [`Collation::key_start`].
pub const KEY_START: usize = 16;

const SPACE: u8 = b' ';
const SPACE_THEN_LESS: u8 = 1;
const SPACE_THEN_END: u8 = 2;
const SPACE_THEN_GREATER: u8 = 3;

/// A collation; the discriminants are MySQL's ids. Definitions are stored with their place in this list: new ones come
/// last.
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
    /// `utf8mb4_unicode_ci`: pads, Unicode collation 4.0.0, base letters only.
    Utf8mb4UnicodeCi = 224,
    /// `utf8mb4_unicode_520_ci`: the same with 5.2.0.
    Utf8mb4Unicode520Ci = 246,
    /// `utf8mb4_0900_as_ci`: does not pad, Unicode collation, letters and accents.
    Utf8mb4_0900AsCi = 305,
    /// `utf8mb4_0900_as_cs`: does not pad, Unicode collation, letters, accents and case.
    Utf8mb4_0900AsCs = 278,
    /// `utf8mb3_general_ci`: as utf8mb4's.
    Utf8mb3GeneralCi = 33,
    /// `utf8mb3_bin`: as utf8mb4's.
    Utf8mb3Bin = 83,
    /// `utf8mb3_unicode_ci`: as utf8mb4's.
    Utf8mb3UnicodeCi = 192,
    /// `utf8mb3_unicode_520_ci`: as utf8mb4's.
    Utf8mb3Unicode520Ci = 214,
    /// `latin1_swedish_ci`: pads, ignores case and most accents.
    Latin1SwedishCi = 8,
    /// `latin1_bin`: pads, by byte.
    Latin1Bin = 47,
    /// `latin1_general_ci`: pads, ignores case.
    Latin1GeneralCi = 48,
    /// `latin1_general_cs`: pads.
    Latin1GeneralCs = 49,
    /// `latin1_german1_ci`: pads, ignores case and accents.
    Latin1German1Ci = 5,
    /// `ascii_general_ci`: pads, ignores case.
    AsciiGeneralCi = 11,
    /// `ascii_bin`: pads, by byte.
    AsciiBin = 65,
}

/// How a collation orders.
#[derive(Clone, Copy)]
enum Order {
    /// By bytes; trailing spaces count.
    Bytes,
    /// By bytes of the character set.
    PaddedBytes,
    GeneralCi,
    /// ASCII without case.
    AsciiCi,
    Latin1(Table),
    Unicode(Version),
    /// Trailing spaces count.
    Root(Level),
}

/// What a collation is.
struct Facts {
    name: &'static str,
    charset: Charset,
    order: Order,
}

impl Collation {
    /// The collation of new tables and of connections that name none.
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;

    /// Every collation, by character set.
    pub const ALL: [Collation; 20] = [
        Collation::Utf8mb4_0900AiCi,
        Collation::Utf8mb4_0900AsCi,
        Collation::Utf8mb4_0900AsCs,
        Collation::Utf8mb4_0900Bin,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Unicode520Ci,
        Collation::Utf8mb4UnicodeCi,
        Collation::Utf8mb3Bin,
        Collation::Utf8mb3GeneralCi,
        Collation::Utf8mb3Unicode520Ci,
        Collation::Utf8mb3UnicodeCi,
        Collation::Latin1Bin,
        Collation::Latin1GeneralCi,
        Collation::Latin1GeneralCs,
        Collation::Latin1German1Ci,
        Collation::Latin1SwedishCi,
        Collation::AsciiBin,
        Collation::AsciiGeneralCi,
        Collation::Binary,
    ];

    fn facts(self) -> Facts {
        use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};
        let (name, charset, order) = match self {
            Collation::Utf8mb4_0900AiCi => ("utf8mb4_0900_ai_ci", Utf8mb4, Order::Root(Level::Letters)),
            Collation::Utf8mb4_0900AsCi => ("utf8mb4_0900_as_ci", Utf8mb4, Order::Root(Level::Accents)),
            Collation::Utf8mb4_0900AsCs => ("utf8mb4_0900_as_cs", Utf8mb4, Order::Root(Level::Case)),
            Collation::Utf8mb4_0900Bin => ("utf8mb4_0900_bin", Utf8mb4, Order::Bytes),
            Collation::Utf8mb4Bin => ("utf8mb4_bin", Utf8mb4, Order::PaddedBytes),
            Collation::Utf8mb4GeneralCi => ("utf8mb4_general_ci", Utf8mb4, Order::GeneralCi),
            Collation::Utf8mb4Unicode520Ci => ("utf8mb4_unicode_520_ci", Utf8mb4, Order::Unicode(Version::V520)),
            Collation::Utf8mb4UnicodeCi => ("utf8mb4_unicode_ci", Utf8mb4, Order::Unicode(Version::V400)),
            Collation::Utf8mb3Bin => ("utf8mb3_bin", Utf8mb3, Order::PaddedBytes),
            Collation::Utf8mb3GeneralCi => ("utf8mb3_general_ci", Utf8mb3, Order::GeneralCi),
            Collation::Utf8mb3Unicode520Ci => ("utf8mb3_unicode_520_ci", Utf8mb3, Order::Unicode(Version::V520)),
            Collation::Utf8mb3UnicodeCi => ("utf8mb3_unicode_ci", Utf8mb3, Order::Unicode(Version::V400)),
            Collation::Latin1Bin => ("latin1_bin", Latin1, Order::PaddedBytes),
            Collation::Latin1GeneralCi => ("latin1_general_ci", Latin1, Order::Latin1(Table::GeneralCi)),
            Collation::Latin1GeneralCs => ("latin1_general_cs", Latin1, Order::Latin1(Table::GeneralCs)),
            Collation::Latin1German1Ci => ("latin1_german1_ci", Latin1, Order::Latin1(Table::German1Ci)),
            Collation::Latin1SwedishCi => ("latin1_swedish_ci", Latin1, Order::Latin1(Table::SwedishCi)),
            Collation::AsciiBin => ("ascii_bin", Ascii, Order::PaddedBytes),
            Collation::AsciiGeneralCi => ("ascii_general_ci", Ascii, Order::AsciiCi),
            Collation::Binary => ("binary", Binary, Order::Bytes),
        };
        Facts { name, charset, order }
    }

    /// By name, in any case; utf8mb3's also by their former names (`utf8_general_ci`).
    pub fn from_name(name: &str) -> Option<Collation> {
        let former = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("utf8_"));
        let name = if former { Cow::Owned(format!("utf8mb3_{}", &name[5..])) } else { Cow::Borrowed(name) };
        Self::ALL.into_iter().find(|collation| collation.name().eq_ignore_ascii_case(&name))
    }

    /// The collation that a statement names; 1273 for one that is not known.
    pub fn named(name: &str) -> Result<Collation, SqlError> {
        Self::from_name(name).ok_or_else(|| SqlError::new(ER_UNKNOWN_COLLATION, &[&name]))
    }

    /// Whether letters that differ in case only are different.
    pub fn is_case_sensitive(self) -> bool {
        match self.facts().order {
            Order::Bytes | Order::PaddedBytes | Order::Latin1(Table::GeneralCs) | Order::Root(Level::Case) => true,
            Order::GeneralCi | Order::AsciiCi | Order::Unicode(_) | Order::Root(Level::Letters | Level::Accents) => {
                false
            }
            Order::Latin1(Table::SwedishCi | Table::German1Ci | Table::GeneralCi) => false,
        }
    }

    /// By MySQL's id (handshake, column metadata).
    pub fn from_id(id: u16) -> Option<Collation> {
        Self::ALL.into_iter().find(|collation| collation.id() == id)
    }

    /// The collation of a client that names it by this id when it logs in: where its character set is known, but not the
    /// collation, the default one of that. `None` for other character sets.
    pub fn of_client(id: u16) -> Option<Collation> {
        let charset = match id {
            8 | 5 | 15 | 31 | 47..=49 | 94 => Charset::Latin1,
            11 | 65 => Charset::Ascii,
            33 | 76 | 83 | 192..=215 | 223 => Charset::Utf8mb3,
            45 | 46 | 224..=247 | 255..=323 => Charset::Utf8mb4,
            63 => Charset::Binary,
            _ => return None,
        };
        Some(Self::from_id(id).unwrap_or_else(|| charset.default_collation()))
    }

    /// MySQL's id.
    pub fn id(self) -> u16 {
        self as u16
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The character set.
    pub fn charset(self) -> Charset {
        self.facts().charset
    }

    /// Whether what names its character set only has it.
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// Whether it is a character set's `_bin`.
    pub fn is_bin(self) -> bool {
        self.is_character() && matches!(self.facts().order, Order::Bytes | Order::PaddedBytes)
    }

    /// Whether strings of this collation are characters, not bytes.
    pub fn is_character(self) -> bool {
        self != Collation::Binary
    }

    /// Whether shorter strings compare as if filled up with spaces.
    pub fn pads(self) -> bool {
        !matches!(self.facts().order, Order::Bytes | Order::Root(_))
    }

    /// Compares two strings; character strings must be UTF-8 (other bytes compare as replacement
    /// characters, under the general collations as bytes).
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.facts().order {
            Order::Root(level) => unicode_ai_ci::compare(level, a, b),
            Order::GeneralCi => general_ci::compare(a, b),
            Order::Unicode(version) => uca::compare(version, a, b),
            Order::AsciiCi => {
                let (a, b) = (a.iter().map(u8::to_ascii_uppercase), b.iter().map(u8::to_ascii_uppercase));
                compare_weights(a, b, SPACE)
            }
            Order::Latin1(table) => latin1::compare(table, a, b),
            Order::PaddedBytes => compare_padded(&self.bytes_of(a), &self.bytes_of(b)),
            Order::Bytes => a.cmp(b),
        }
    }

    /// The bytes of UTF-8 in the character set, if they are others.
    fn bytes_of(self, text: &[u8]) -> Cow<'_, [u8]> {
        if !self.charset().is_recoded() || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut bytes = Vec::with_capacity(text.len());
        latin1::fold_bytes(text, &mut bytes);
        Cow::Owned(bytes)
    }

    /// Whether two strings are equal.
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b) == Ordering::Equal
    }

    /// Whether two strings are equal with the spaces at their ends: the collation does not pad.
    pub fn equal_unpadded(self, a: &[u8], b: &[u8]) -> bool {
        let spaces = |bytes: &[u8]| bytes.len() - bytes.trim_ascii_end_spaces().len();
        a == b || (spaces(a) == spaces(b) && self.equal(a, b))
    }

    /// Appends the key of a string: self-delimiting bytes whose order is the order of
    /// [`Collation::compare`].
    pub fn write_key(self, text: &[u8], out: &mut Vec<u8>) {
        let mut folded = Vec::new();
        match self.facts().order {
            Order::Root(level) => {
                unicode_ai_ci::write_key(level, text, out);
                out.push(0);
            }
            Order::GeneralCi => {
                folded.reserve(text.len());
                general_ci::fold(text, &mut folded);
                write_padded_key(&folded, out);
            }
            Order::AsciiCi => write_padded_key(&text.to_ascii_uppercase(), out),
            Order::Latin1(table) => {
                latin1::fold(table, text, &mut folded);
                write_padded_key(&folded, out);
            }
            Order::Unicode(version) => uca::write_key(version, text, out),
            Order::PaddedBytes => write_padded_key(&self.bytes_of(text), out),
            Order::Bytes => write_escaped_key(text, out),
        }
    }

    /// The first sixteen bytes of the key of a string, zeros after its end; `None` where they cost as much as the whole key.
    pub fn key_start(self, text: &[u8]) -> Option<[u8; KEY_START]> {
        // Of padding collations each character of ASCII is a byte of the key, but for a space.
        let first = || text.first_chunk::<KEY_START>().filter(|first| first.is_ascii() && !first.contains(&SPACE));
        Some(match self.facts().order {
            Order::Root(Level::Letters) if text.is_ascii() => unicode_ai_ci::ascii_start(text),
            Order::GeneralCi | Order::AsciiCi => first()?.map(|byte| byte.to_ascii_uppercase()),
            Order::Latin1(table) => first()?.map(|byte| latin1::byte_weight(table, byte)),
            Order::PaddedBytes => *first()?,
            Order::Root(_) | Order::Unicode(_) | Order::Bytes => return None,
        })
    }

    /// Appends what the characters of a text weigh, with the spaces at its end, as MySQL has the weights; those of
    /// [`Order::Root`] are the library's.
    pub fn write_weights(self, text: &[u8], out: &mut Vec<u8>) {
        let chars = || text.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
        match self.facts().order {
            Order::Root(level) => unicode_ai_ci::write_key(level, text, out),
            Order::GeneralCi => {
                chars().for_each(|c| out.extend_from_slice(&u32::from(general_ci::weight(c)).to_be_bytes()[2..]));
            }
            Order::Unicode(version) => uca::write_weights(version, text, out),
            Order::AsciiCi => out.extend_from_slice(&text.to_ascii_uppercase()),
            Order::Latin1(table) => latin1::fold(table, text, out),
            Order::PaddedBytes => match self.charset() {
                Charset::Utf8mb4 => chars().for_each(|c| out.extend_from_slice(&u32::from(c).to_be_bytes()[1..])),
                Charset::Utf8mb3 => chars().for_each(|c| out.extend_from_slice(&u32::from(c).to_be_bytes()[2..])),
                Charset::Latin1 | Charset::Ascii | Charset::Binary => out.extend_from_slice(&self.bytes_of(text)),
            },
            Order::Bytes => out.extend_from_slice(text),
        }
    }

    /// Appends what the keys of all strings begin with that begin with these characters, or with ones that LIKE takes for the
    /// same. False, with nothing appended, where keys do not show that.
    pub fn write_key_of_beginning(self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let end = match self.facts().order {
            // Characters after ASCII ones do not change what these stand for.
            Order::Root(Level::Letters) if text.is_ascii() => 1,
            Order::Root(_) | Order::Unicode(_) => return false,
            Order::GeneralCi | Order::AsciiCi | Order::Latin1(_) | Order::PaddedBytes | Order::Bytes => 2,
        };
        // What a space at the end is followed by is not known.
        let text = if self.pads() { text.trim_ascii_end_spaces() } else { text };
        self.write_key(text, out);
        out.truncate(out.len() - end);
        true
    }

    /// Length of the key of a string that `bytes` start with; `None` if it does not end.
    pub fn key_len(self, bytes: &[u8]) -> Option<usize> {
        match self.facts().order {
            Order::Root(_) => bytes.iter().position(|&byte| byte == 0).map(|at| at + 1),
            Order::Unicode(version) => uca::key_len(version, bytes),
            Order::GeneralCi | Order::AsciiCi | Order::Latin1(_) | Order::PaddedBytes => {
                find_end(bytes, SPACE, SPACE_THEN_END)
            }
            Order::Bytes => find_end(bytes, 0, 0),
        }
    }

    /// Whether LIKE takes two characters for the same one.
    fn equal_chars(self, a: char, b: char) -> bool {
        a == b
            || match self.facts().order {
                Order::Root(level) => {
                    let (mut of_a, mut of_b) = ([0; 4], [0; 4]);
                    let (a, b) = (a.encode_utf8(&mut of_a), b.encode_utf8(&mut of_b));
                    unicode_ai_ci::compare(level, a.as_bytes(), b.as_bytes()) == Ordering::Equal
                }
                Order::GeneralCi => general_ci::weight(a) == general_ci::weight(b),
                Order::AsciiCi => a.eq_ignore_ascii_case(&b),
                Order::Latin1(table) => latin1::weight(table, a) == latin1::weight(table, b),
                Order::Unicode(version) => uca::equal_chars(version, a, b),
                Order::PaddedBytes | Order::Bytes => false,
            }
    }
}

/// Compares weights, the shorter ones filled up with those of spaces.
fn compare_weights<W: Ord + Copy>(
    mut a: impl Iterator<Item = W>,
    mut b: impl Iterator<Item = W>,
    space: W,
) -> Ordering {
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => a.unwrap_or(space).cmp(&b.unwrap_or(space)),
        };
        if order != Ordering::Equal {
            return order;
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
