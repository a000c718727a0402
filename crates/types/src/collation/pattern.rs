//! LIKE: patterns with `%` and `_`, character by character under a collation.

use super::Collation;

/// Steps between two questions whether to go on.
const ASKED_EVERY: usize = 1 << 16;

/// Whether `text` matches `pattern`. `escape` makes the character after it literal. A long search asks `go_on` now and
/// then, and ends with false if not.
pub fn like(collation: Collation, text: &[u8], pattern: &[u8], escape: Option<char>, go_on: &dyn Fn() -> bool) -> bool {
    // Characters that are printed are equal to themselves and their other case, under each collation.
    let is_plain = || pattern.iter().all(|byte| matches!(byte, b' '..=b'~')) && text.is_ascii();
    if collation == Collation::Binary || is_plain() {
        let escape = escape.and_then(|c| u8::try_from(c).ok());
        let cases_differ = collation.is_case_sensitive();
        let fold = |byte: u8| if cases_differ { byte } else { byte.to_ascii_lowercase() };
        let units = Units {
            next: |bytes: &[u8]| bytes.first().map(|&byte| (byte, 1)),
            code: |byte: &u8| u32::from(*byte),
            equal: |a: &u8, b: &u8| fold(*a) == fold(*b),
            find: |byte: &u8, text: &[u8]| match fold(*byte) {
                folded if folded.is_ascii_lowercase() && !cases_differ => {
                    memchr::memchr2(folded, folded.to_ascii_uppercase(), text)
                }
                _ => memchr::memchr(*byte, text),
            },
        };
        return units.matches(text, pattern, escape, go_on);
    }
    by_characters(collation, text, pattern, escape, go_on)
}

/// The same of any characters.
pub(super) fn by_characters(
    collation: Collation,
    text: &[u8],
    pattern: &[u8],
    escape: Option<char>,
    go_on: &dyn Fn() -> bool,
) -> bool {
    let units = Units {
        next: next_char,
        code: |c: &char| u32::from(*c),
        equal: |a: &char, b: &char| collation.equal_chars(*a, *b),
        // Others may be equal to it.
        find: |_: &char, _: &[u8]| Some(0),
    };
    units.matches(text, pattern, escape, go_on)
}

/// What all texts begin with that match a pattern: its characters up to the first `%` or `_`, so many at most.
pub fn beginning(collation: Collation, pattern: &[u8], escape: Option<char>, most: usize) -> Vec<u8> {
    let mut literal = Vec::new();
    let mut rest = pattern;
    let next = |bytes: &[u8]| match collation == Collation::Binary {
        true => bytes.first().map(|byte| (char::from(*byte), 1)),
        false => next_char(bytes),
    };
    for _ in 0..most {
        let Some((c, mut len)) = next(rest) else { break };
        if Some(c) == escape
            && let Some((_, escaped_len)) = next(&rest[len..])
        {
            rest = &rest[len..];
            len = escaped_len;
        } else if matches!(c, '%' | '_') {
            break;
        }
        literal.extend_from_slice(&rest[..len]);
        rest = &rest[len..];
    }
    literal
}

/// The first character and its length; bytes that are no UTF-8 are replacement characters one by one.
pub(super) fn next_char(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first.is_ascii() {
        return Some((char::from(first), 1));
    }
    let len = match first {
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    let c = bytes.get(..len).and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|text| text.chars().next());
    Some(c.map_or((char::REPLACEMENT_CHARACTER, 1), |c| (c, len)))
}

/// One element of a pattern.
enum Element<U> {
    Literal(U),
    One,
    Many,
}

/// What texts and patterns are made of.
struct Units<Next, Code, Equal, Find> {
    /// The first one, and its length.
    next: Next,
    code: Code,
    equal: Equal,
    /// Where in a text the first place is that may have one that is equal to this; `None` if there is none.
    find: Find,
}

impl<Next, Code, Equal, Find> Units<Next, Code, Equal, Find> {
    /// Matches greedily: on a mismatch the last `%` takes one more unit. Earlier ones never have to.
    fn matches<U: PartialEq + Copy>(
        &self,
        text: &[u8],
        pattern: &[u8],
        escape: Option<U>,
        go_on: &dyn Fn() -> bool,
    ) -> bool
    where
        Next: Fn(&[u8]) -> Option<(U, usize)>,
        Code: Fn(&U) -> u32,
        Equal: Fn(&U, &U) -> bool,
        Find: Fn(&U, &[u8]) -> Option<usize>,
    {
        let Units { next, code, equal, find } = self;
        let element = |at: usize| -> Option<(Element<U>, usize)> {
            let (unit, len) = next(&pattern[at..])?;
            if escape == Some(unit)
                && let Some((literal, literal_len)) = next(&pattern[at + len..])
            {
                return Some((Element::Literal(literal), at + len + literal_len));
            }
            let element = match code(&unit) {
                0x25 => Element::Many,
                0x5f => Element::One,
                _ => Element::Literal(unit),
            };
            Some((element, at + len))
        };
        let (mut in_text, mut in_pattern) = (0, 0);
        // Where to go on after a mismatch: after the last `%`, with the text it has to take at least.
        let mut retry: Option<(usize, usize)> = None;
        for steps in 1_usize.. {
            if steps.is_multiple_of(ASKED_EVERY) && !go_on() {
                return false;
            }
            let step = element(in_pattern);
            if let Some((Element::Many, rest)) = step {
                if rest == pattern.len() {
                    return true;
                }
                retry = Some((rest, in_text));
                in_pattern = rest;
                continue;
            }
            let unit = next(&text[in_text..]);
            let advanced = match (&step, &unit) {
                (None, None) => return true,
                (Some((Element::One, rest)), Some((_, len))) => Some((*rest, *len)),
                (Some((Element::Literal(literal), rest)), Some((unit, len))) if equal(literal, unit) => {
                    Some((*rest, *len))
                }
                _ => None,
            };
            if let Some((rest, len)) = advanced {
                in_pattern = rest;
                in_text += len;
                continue;
            }
            let Some((rest, from)) = retry else { return false };
            let Some((_, len)) = next(&text[from..]) else { return false };
            let passed = match element(rest) {
                Some((Element::Literal(literal), _)) => find(&literal, &text[from + len..]),
                _ => Some(0),
            };
            let Some(passed) = passed else { return false };
            in_pattern = rest;
            in_text = from + len + passed;
            retry = Some((rest, in_text));
        }
        false
    }
}
