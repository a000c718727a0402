//! `utf8mb4_0900_ai_ci`, with a table for ASCII text, `utf8mb4_0900_as_ci` and `utf8mb4_0900_as_cs`: the collation library.
//!
//! In the root collation, ASCII characters take part in no contraction, expansion or compression, so
//! that the key of an ASCII text is its characters' keys in a row.

use std::cmp::Ordering;
use std::sync::LazyLock;

use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{CollationKeySink, Collator, CollatorBorrowed};

/// The weights that distinguish texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Letters,
    /// Letters and accents.
    Accents,
    /// Letters, accents and case.
    Case,
}

struct Library {
    collator: CollatorBorrowed<'static>,
    /// By ASCII character: the order of its key, 0 for characters that do not count.
    ranks: [u8; 128],
    /// By ASCII character: its key, and how many of the bytes are used.
    keys: [([u8; 2], u8); 128],
}

fn collator(strength: Strength) -> CollatorBorrowed<'static> {
    let mut options = CollatorOptions::default();
    options.strength = Some(strength);
    Collator::try_new(Default::default(), options).expect("the root collation is compiled in")
}

static ACCENTS: LazyLock<CollatorBorrowed<'static>> = LazyLock::new(|| collator(Strength::Secondary));
static CASE: LazyLock<CollatorBorrowed<'static>> = LazyLock::new(|| collator(Strength::Tertiary));

/// Of letters only.
static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let collator = collator(Strength::Primary);
    let mut all_keys: Vec<Vec<u8>> = Vec::with_capacity(128);
    let mut keys = [([0; 2], 0); 128];
    for (byte, slot) in (0u8..).zip(keys.iter_mut()) {
        let mut key = Vec::new();
        let Ok(()) = collator.write_sort_key_to(char::from(byte).encode_utf8(&mut [0; 4]), &mut key);
        assert!(key.len() <= 2, "primary weights of ASCII take at most two bytes");
        slot.0[..key.len()].copy_from_slice(&key);
        slot.1 = key.len() as u8;
        all_keys.push(key);
    }
    let mut distinct = all_keys.clone();
    distinct.push(Vec::new());
    distinct.sort();
    distinct.dedup();
    let mut ranks = [0; 128];
    for (rank, key) in ranks.iter_mut().zip(&all_keys) {
        *rank = distinct.binary_search(key).unwrap_or_default() as u8;
    }
    Library { collator, ranks, keys }
});

impl Level {
    fn collator(self) -> &'static CollatorBorrowed<'static> {
        match self {
            Level::Letters => &LIBRARY.collator,
            Level::Accents => &ACCENTS,
            Level::Case => &CASE,
        }
    }
}

pub fn compare(level: Level, a: &[u8], b: &[u8]) -> Ordering {
    let by_table = if level == Level::Letters { compare_ascii(a, b, &LIBRARY.ranks) } else { None };
    by_table.unwrap_or_else(|| match a.len().min(b.len()) {
        LONG.. => compare_long(level, a, b),
        _ => level.collator().compare_utf8(a, b),
    })
}

/// From this length on, in bytes, texts are compared by their keys: the library keeps sixteen bytes for each character
/// of what it compares.
const LONG: usize = 64 << 10;

/// Compares by sort keys, of which one is made, and the other compared with it while it is made.
pub(super) fn compare_long(level: Level, a: &[u8], b: &[u8]) -> Ordering {
    if a.len() > b.len() {
        return compare_long(level, b, a).reverse();
    }
    let collator = level.collator();
    let mut key = Vec::with_capacity(a.len());
    let Ok(()) = collator.write_sort_key_utf8_to(a, &mut key);
    let order_of_b = match collator.write_sort_key_utf8_to(b, &mut Against(&key)) {
        Ok(true) => Ordering::Less,
        Ok(false) => Ordering::Equal,
        Err(order) => order,
    };
    order_of_b.reverse()
}

/// Compares the key that is written into it with what is left of another; its error is the order of the two.
struct Against<'k>(&'k [u8]);

impl CollationKeySink for Against<'_> {
    type Error = Ordering;
    type State = ();
    /// Whether anything is left of the other.
    type Output = bool;

    fn write(&mut self, _: &mut (), bytes: &[u8]) -> Result<(), Ordering> {
        let (same, rest) = self.0.split_at(bytes.len().min(self.0.len()));
        self.0 = rest;
        match bytes.cmp(same) {
            Ordering::Equal => Ok(()),
            order @ (Ordering::Less | Ordering::Greater) => Err(order),
        }
    }

    fn finish(&mut self, _: ()) -> Result<bool, Ordering> {
        Ok(!self.0.is_empty())
    }
}

/// The order, or `None` if a character beyond ASCII has a say in it.
fn compare_ascii(a: &[u8], b: &[u8], ranks: &[u8; 128]) -> Option<Ordering> {
    let same = equal_ascii_len(a, b);
    let (mut rest_a, mut rest_b) = (a[same..].iter(), b[same..].iter());
    loop {
        let rank_a = next_rank(&mut rest_a, ranks)?;
        let rank_b = next_rank(&mut rest_b, ranks)?;
        if rank_a != rank_b || rank_a == 0 {
            // A mark after the character could make it another letter: leave that to the library.
            let plain = |rest: &[u8]| rest.first().is_none_or(u8::is_ascii);
            return (plain(rest_a.as_slice()) && plain(rest_b.as_slice())).then(|| rank_a.cmp(&rank_b));
        }
    }
}

/// How many bytes at the start are the same and ASCII, give or take a few.
fn equal_ascii_len(a: &[u8], b: &[u8]) -> usize {
    const WORD: usize = size_of::<u64>();
    const NOT_ASCII: u64 = 0x8080_8080_8080_8080;
    let word = |bytes: &[u8]| <[u8; WORD]>::try_from(bytes).map(u64::from_ne_bytes).unwrap_or(NOT_ASCII);
    let words = a.chunks_exact(WORD).zip(b.chunks_exact(WORD)).map(|(a, b)| (word(a), word(b)));
    words.take_while(|(a, b)| a == b && a & NOT_ASCII == 0).count() * WORD
}

/// The rank of the next character that counts, 0 at the end; `None` for one beyond ASCII.
fn next_rank(rest: &mut std::slice::Iter<'_, u8>, ranks: &[u8; 128]) -> Option<u8> {
    for &byte in rest {
        let rank = *ranks.get(usize::from(byte))?;
        if rank != 0 {
            return Some(rank);
        }
    }
    Some(0)
}

/// Appends the sort key, which has no zero byte.
pub fn write_key(level: Level, text: &[u8], out: &mut Vec<u8>) {
    if level != Level::Letters || !text.is_ascii() {
        return write_library_key(level, text, out);
    }
    let library = &*LIBRARY;
    // Through a buffer with room for the longest keys, so that no byte needs a check of its own.
    const CHUNK: usize = 64;
    // Most characters take one byte.
    out.reserve(text.len());
    let mut buffer = [0; 2 * CHUNK + 1];
    for chunk in text.chunks(CHUNK) {
        let mut filled = 0;
        for byte in chunk {
            let (key, len) = &library.keys[usize::from(byte & 0x7f)];
            buffer[filled..filled + 2].copy_from_slice(key);
            filled += usize::from(*len);
        }
        out.extend_from_slice(&buffer[..filled]);
    }
}

/// What an ASCII text's key of letters begins with, zeros after its end.
pub(super) fn ascii_start<const N: usize>(text: &[u8]) -> [u8; N] {
    let library = &*LIBRARY;
    let (mut start, mut filled) = ([0; N], 0);
    for byte in text {
        let (key, len) = &library.keys[usize::from(byte & 0x7f)];
        let taken = usize::from(*len).min(N - filled);
        start[filled..filled + taken].copy_from_slice(&key[..taken]);
        filled += taken;
        if filled == N {
            break;
        }
    }
    start
}

pub(super) fn write_library_key(level: Level, text: &[u8], out: &mut Vec<u8>) {
    let Ok(()) = level.collator().write_sort_key_utf8_to(text, out);
}

#[cfg(test)]
pub(super) fn compare_by_library(level: Level, a: &[u8], b: &[u8]) -> Ordering {
    level.collator().compare_utf8(a, b)
}
