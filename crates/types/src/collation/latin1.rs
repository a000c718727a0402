//! Collations of latin1: a weight for each character; trailing spaces do not count.
//!
//! `scripts/uca-weights.py` made the table, in the order of [`Table`].

use std::cmp::Ordering;

use super::compare_padded;
use crate::charset::latin1_byte;

/// Which part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    SwedishCi,
    German1Ci,
    GeneralCi,
    GeneralCs,
}

static WEIGHTS: &[u8; 4 * 256] = include_bytes!("latin1.bin");

/// What a character weighs. One that latin1 does not have weighs more than any other: a value that is compared with a
/// column may have such.
pub fn weight(table: Table, c: char) -> u32 {
    latin1_byte(c).map_or(u32::from(c), |byte| byte_weight(table, byte).into())
}

/// Appends the weights of a text; what is no UTF-8 are replacement characters.
pub fn fold(table: Table, text: &[u8], out: &mut Vec<u8>) {
    fold_by(text, out, |byte| byte_weight(table, byte));
}

/// What a byte of the character set weighs.
pub fn byte_weight(table: Table, byte: u8) -> u8 {
    WEIGHTS[256 * table as usize + usize::from(byte)]
}

/// Appends the bytes of a text in latin1.
pub fn fold_bytes(text: &[u8], out: &mut Vec<u8>) {
    fold_by(text, out, |byte| byte);
}

fn fold_by(text: &[u8], out: &mut Vec<u8>, weight: impl Fn(u8) -> u8) {
    let mut rest = text;
    while let Some((c, len)) = super::pattern::next_char(rest) {
        match latin1_byte(c) {
            Some(byte) => out.push(weight(byte)),
            None => {
                out.push(0xff);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        rest = &rest[len..];
    }
}

pub fn compare(table: Table, a: &[u8], b: &[u8]) -> Ordering {
    let (mut of_a, mut of_b) = (Vec::with_capacity(a.len()), Vec::with_capacity(b.len()));
    fold(table, a, &mut of_a);
    fold(table, b, &mut of_b);
    compare_padded(&of_a, &of_b)
}
