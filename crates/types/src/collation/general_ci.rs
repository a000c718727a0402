//! `utf8mb4_general_ci`: a character weighs as the upper-case form of its base letter, characters
//! beyond the basic plane weigh the same.

use std::cmp::Ordering;

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};

use super::compare_padded;
use super::pattern::next_char;

/// What all characters beyond the basic plane weigh.
const SUPPLEMENTARY: char = '\u{fffd}';

/// The order of two texts. Either may be bytes that are none: from the first place on where one of them has no character
/// their bytes compare, as in MySQL.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        if !x.is_ascii() || !y.is_ascii() {
            break;
        }
        let order = x.to_ascii_uppercase().cmp(&y.to_ascii_uppercase());
        if order != Ordering::Equal {
            return order;
        }
    }
    if str::from_utf8(a).is_err() || str::from_utf8(b).is_err() {
        return compare_broken(a, b);
    }
    let (mut folded_a, mut folded_b) = (Vec::new(), Vec::new());
    fold(a, &mut folded_a);
    fold(b, &mut folded_b);
    compare_padded(&folded_a, &folded_b)
}

fn compare_broken(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while !a.is_empty() && !b.is_empty() {
        let (Some((x, x_len)), Some((y, y_len))) = (first_char(a), first_char(b)) else { return a.cmp(b) };
        let order = weight(x).cmp(&weight(y));
        if order.is_ne() {
            return order;
        }
        (a, b) = (&a[x_len..], &b[y_len..]);
    }
    compare_padded(a, b)
}

/// The character that bytes begin with, and its length; `None` if they begin with none.
fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    next_char(bytes).filter(|(c, len)| c.len_utf8() == *len)
}

/// Appends the weights of `text`, as UTF-8, whose order is theirs. Bytes follow as they are from the first one on that is
/// no character.
pub fn fold(text: &[u8], out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend(text.iter().map(u8::to_ascii_uppercase));
        return;
    }
    let characters = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    for c in characters.chars() {
        out.extend_from_slice(weight(c).encode_utf8(&mut [0; 4]).as_bytes());
    }
    out.extend_from_slice(&text[characters.len()..]);
}

/// The weight of a character, as a character.
pub fn weight(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    if u32::from(c) > 0xffff {
        return SUPPLEMENTARY;
    }
    let decompositions = CanonicalDecompositionBorrowed::new();
    let mut base = c;
    // Letters with several marks decompose in several steps. Hangul syllables weigh as themselves.
    while let Decomposed::Expansion(first, _) | Decomposed::Singleton(first) = decompositions.decompose(base) {
        if ('\u{ac00}'..='\u{d7a3}').contains(&base) {
            break;
        }
        base = first;
    }
    if base == 'ß' {
        return 'S';
    }
    let mut upper = base.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) if u32::from(upper) <= 0xffff => upper,
        _ => base,
    }
}
