//! `utf8mb4_general_ci`: a character weighs as the upper-case form of its base letter, characters
//! beyond the basic plane weigh the same.

use std::cmp::Ordering;

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};

use super::compare_padded;

/// What all characters beyond the basic plane weigh.
const SUPPLEMENTARY: char = '\u{fffd}';

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
    let (mut folded_a, mut folded_b) = (Vec::new(), Vec::new());
    fold(a, &mut folded_a);
    fold(b, &mut folded_b);
    compare_padded(&folded_a, &folded_b)
}

/// Appends the weights of `text`, as UTF-8, whose order is theirs.
pub fn fold(text: &[u8], out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend(text.iter().map(u8::to_ascii_uppercase));
        return;
    }
    for c in String::from_utf8_lossy(text).chars() {
        out.extend_from_slice(weight(c).encode_utf8(&mut [0; 4]).as_bytes());
    }
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
