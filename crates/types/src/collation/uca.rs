//! `utf8mb4_unicode_ci` and `utf8mb4_unicode_520_ci`, and utf8mb3's: weights of the Unicode collation algorithm 4.0.0 and
//! 5.2.0, the first level of each character in turn; trailing spaces do not count.
//!
//! Characters without weights do not count. Those that the tables do not name weigh by their numbers, and in 4.0.0 those
//! beyond the basic plane weigh the same. `scripts/uca-weights.py` made the tables and describes their format.
//!
//! Keys: two bytes for each weight, a space being followed by what comes after it as in other padding collations.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::{SPACE_THEN_END, SPACE_THEN_GREATER, SPACE_THEN_LESS, compare_weights};

/// Which version of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V400,
    V520,
}

const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;
/// Of weights in a table's file, and in `Table::starts`: they follow from the character's number.
const IMPLICIT_LEN: u8 = 255;
const IMPLICIT: u32 = u32::MAX;
/// What all characters beyond the basic plane weigh in 4.0.0.
const SUPPLEMENTARY: u16 = 0xfffd;

struct Table {
    /// By page, its place in `starts`, if the table names any of its characters.
    pages: Vec<Option<u16>>,
    /// By character of these pages, where its weights start.
    starts: Vec<[u32; PAGE]>,
    /// Lists that end with 0, which is no weight.
    weights: Vec<u16>,
    /// What a space weighs.
    space: u16,
}

static V400: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("uca400.bin")));
static V520: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("uca520.bin")));

impl Table {
    /// Reads a table that is a part of the program.
    fn read(bytes: &[u8]) -> Table {
        let mut bytes = bytes.iter().copied();
        let mut table = Table { pages: vec![None; PAGES], starts: Vec::new(), weights: vec![0], space: 0 };
        let two = |high: u8, low: Option<u8>| u16::from_be_bytes([high, low.expect("a table of whole numbers")]);
        while let Some(high) = bytes.next() {
            let page = two(high, bytes.next());
            table.pages[usize::from(page)] = Some(table.starts.len() as u16);
            let mut starts = [IMPLICIT; PAGE];
            for start in &mut starts {
                let count = bytes.next().expect("a table of whole pages");
                if count == IMPLICIT_LEN {
                    continue;
                }
                *start = table.weights.len() as u32;
                for _ in 0..count {
                    let high = bytes.next().expect("a table of whole lists");
                    table.weights.push(two(high, bytes.next()));
                }
                table.weights.push(0);
            }
            table.starts.push(starts);
        }
        let starts = table.pages[0].map(|page| table.starts[usize::from(page)]);
        table.space = starts.map_or(0, |starts| table.weights[starts[usize::from(b' ')] as usize]);
        table
    }
}

impl Version {
    fn table(self) -> &'static Table {
        match self {
            Version::V400 => &V400,
            Version::V520 => &V520,
        }
    }
}

/// The weights of a text, one after the other.
struct Weights<'t> {
    version: Version,
    table: &'static Table,
    text: &'t [u8],
    /// What is left of a character's.
    listed: &'static [u16],
    /// The second one that followed from a number.
    implicit: Option<u16>,
}

impl<'t> Weights<'t> {
    fn of(version: Version, text: &'t [u8]) -> Weights<'t> {
        Weights { version, table: version.table(), text, listed: &[0], implicit: None }
    }

    /// The weights of the next character; what is no UTF-8 are replacement characters. False at the end.
    fn next_character(&mut self) -> bool {
        let Some((c, len)) = super::pattern::next_char(self.text) else { return false };
        self.text = &self.text[len..];
        let code = u32::from(c);
        let page = self.table.pages[code as usize / PAGE];
        let start = page.map_or(IMPLICIT, |page| self.table.starts[usize::from(page)][code as usize % PAGE]);
        if start != IMPLICIT {
            self.listed = &self.table.weights[start as usize..];
        } else if code > 0xffff && self.version == Version::V400 {
            self.implicit = Some(SUPPLEMENTARY);
        } else {
            self.implicit = Some((code & 0x7fff) as u16 | 0x8000);
            let base = match code {
                0x4e00..=0x9fa5 => 0xfb40,
                0x3400..=0x4db5 => 0xfb80,
                _ => 0xfbc0,
            };
            // The list ends with the first of the two.
            self.listed = first_of_implicit(base + (code >> 15) as u16);
        }
        true
    }
}

/// Lists of one weight: every first weight of a character that no table names.
fn first_of_implicit(weight: u16) -> &'static [u16] {
    static LISTS: LazyLock<Vec<[u16; 2]>> = LazyLock::new(|| (0xfb40..0xfc00).map(|weight| [weight, 0]).collect());
    &LISTS[usize::from(weight - 0xfb40)]
}

impl Iterator for Weights<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some((weight, rest)) = self.listed.split_first().filter(|(weight, _)| **weight != 0) {
                self.listed = rest;
                return Some(*weight);
            }
            if let Some(weight) = self.implicit.take() {
                return Some(weight);
            }
            if !self.next_character() {
                return None;
            }
        }
    }
}

pub fn compare(version: Version, a: &[u8], b: &[u8]) -> Ordering {
    compare_weights(Weights::of(version, a), Weights::of(version, b), version.table().space)
}

/// Whether two characters weigh the same, for LIKE.
pub fn equal_chars(version: Version, a: char, b: char) -> bool {
    let (mut of_a, mut of_b) = ([0; 4], [0; 4]);
    Weights::of(version, a.encode_utf8(&mut of_a).as_bytes())
        .eq(Weights::of(version, b.encode_utf8(&mut of_b).as_bytes()))
}

/// Appends the weights of a text.
pub fn write_weights(version: Version, text: &[u8], out: &mut Vec<u8>) {
    Weights::of(version, text).for_each(|weight| out.extend_from_slice(&weight.to_be_bytes()));
}

pub fn write_key(version: Version, text: &[u8], out: &mut Vec<u8>) {
    let space = version.table().space;
    out.reserve(2 * text.len() + 3);
    let mut spaces = 0;
    for weight in Weights::of(version, text) {
        if weight == space {
            spaces += 1;
            continue;
        }
        let marker = if weight < space { SPACE_THEN_LESS } else { SPACE_THEN_GREATER };
        for _ in 0..std::mem::take(&mut spaces) {
            out.extend_from_slice(&space.to_be_bytes());
            out.push(marker);
        }
        out.extend_from_slice(&weight.to_be_bytes());
    }
    out.extend_from_slice(&space.to_be_bytes());
    out.push(SPACE_THEN_END);
}

/// Length of the key that `bytes` start with; `None` if it does not end.
pub fn key_len(version: Version, bytes: &[u8]) -> Option<usize> {
    let space = version.table().space.to_be_bytes();
    let mut at = 0;
    loop {
        let weight = bytes.get(at..at + 2)?;
        at += 2;
        if weight == space {
            let marker = *bytes.get(at)?;
            at += 1;
            if marker == SPACE_THEN_END {
                return Some(at);
            }
        }
    }
}
