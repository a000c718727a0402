//! Character sets: what characters a column can hold, and their bytes in its rows, which are the binlog's.
//!
//! A text is UTF-8 everywhere else, whatever its column's character set: only rows, and what asks for the bytes of a
//! text, see those of the character set. utf8mb3 and ascii are parts of UTF-8 with the same bytes; latin1, which is
//! cp1252 as in MySQL, has bytes of its own.
//!
//! Invariants
//! 1. [`Charset::decode`] gives back what [`Charset::encode`] was given.

use std::borrow::Cow;

use crate::collation::Collation;

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// `utf8mb4`: all of Unicode.
    Utf8mb4,
    /// `utf8mb3`, also called `utf8`: the basic plane.
    Utf8mb3,
    /// `latin1`: cp1252.
    Latin1,
    /// `ascii`
    Ascii,
    /// `binary`: bytes that are no characters.
    Binary,
}

/// Latin1's characters of the bytes 0x80 to 0x9f; those that cp1252 leaves out are control characters.
const LATIN1_0X80: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Charset {
    /// Every character set.
    pub const ALL: [Charset; 5] =
        [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Latin1, Charset::Ascii, Charset::Binary];

    /// By name, in any case; `utf8` is utf8mb3.
    pub fn from_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Self::ALL.into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    /// As SHOW CHARACTER SET describes it.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// The collation of what names the character set only.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::DEFAULT,
            Charset::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Charset::Latin1 => Collation::Latin1SwedishCi,
            Charset::Ascii => Collation::AsciiGeneralCi,
            Charset::Binary => Collation::Binary,
        }
    }

    /// The collation that compares bytes, and pads if there are characters.
    pub fn bin_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
            Charset::Utf8mb3 => Collation::Utf8mb3Bin,
            Charset::Latin1 => Collation::Latin1Bin,
            Charset::Ascii => Collation::AsciiBin,
            Charset::Binary => Collation::Binary,
        }
    }

    /// Most bytes of a character.
    pub fn char_bytes(self) -> u64 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
        }
    }

    /// Whether every text of `other` is one of this character set, so that MySQL converts it without being asked.
    pub fn is_superset(self, other: Charset) -> bool {
        match (self, other) {
            (Charset::Binary, _) | (_, Charset::Binary) => false,
            (Charset::Utf8mb4, _) | (_, Charset::Ascii) => self != other,
            (Charset::Utf8mb3, Charset::Latin1) => true,
            _ => false,
        }
    }

    /// Whether it is one of Unicode.
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }

    /// Whether the bytes of a text are not those of UTF-8.
    pub fn is_recoded(self) -> bool {
        self == Charset::Latin1
    }

    /// Whether it has a character.
    pub fn has(self, c: char) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => u32::from(c) <= 0xffff,
            Charset::Latin1 => latin1_byte(c).is_some(),
            Charset::Ascii => c.is_ascii(),
        }
    }

    /// Where the first character begins that it does not have.
    pub fn first_outside(self, text: &str) -> Option<usize> {
        let has_all = match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => !text.bytes().any(|byte| byte >= 0xf0),
            Charset::Latin1 | Charset::Ascii => text.is_ascii(),
        };
        if has_all { None } else { text.char_indices().find(|(_, c)| !self.has(*c)).map(|(at, _)| at) }
    }

    /// The text with question marks for what it does not have.
    pub fn within(self, text: &str) -> Cow<'_, str> {
        match self.first_outside(text) {
            None => Cow::Borrowed(text),
            Some(_) => Cow::Owned(text.chars().map(|c| if self.has(c) { c } else { '?' }).collect()),
        }
    }

    /// The capital letter of a character, if it is one character; latin1 knows those of its upper half only.
    pub fn upper(self, c: char) -> char {
        if c.is_ascii() {
            return c.to_ascii_uppercase();
        }
        let mut upper = c.to_uppercase();
        let changes = self != Charset::Latin1 || matches!(c, 'à'..='þ' if c != '÷');
        if changes && upper.len() == 1 { upper.next().unwrap_or(c) } else { c }
    }

    /// The small letter of a character; of more than one, the first.
    pub fn lower(self, c: char) -> char {
        if c.is_ascii() {
            return c.to_ascii_lowercase();
        }
        let changes = self != Charset::Latin1 || matches!(c, 'À'..='Þ' if c != '×');
        if changes { c.to_lowercase().next().unwrap_or(c) } else { c }
    }

    /// The bytes of a text; of a character that it does not have, a question mark.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        if !self.is_recoded() || text.is_ascii() {
            return Cow::Borrowed(text.as_bytes());
        }
        Cow::Owned(text.chars().map(|c| latin1_byte(c).unwrap_or(b'?')).collect())
    }

    /// The bytes of a text for somebody who wants it in this character set, with question marks for what it does not have.
    pub fn encode_within(self, text: &str) -> Cow<'_, [u8]> {
        match self {
            Charset::Utf8mb3 | Charset::Ascii => match self.within(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            Charset::Utf8mb4 | Charset::Latin1 | Charset::Binary => self.encode(text),
        }
    }

    /// What somebody wrote in this character set, in UTF-8 but for bytes that are no characters: those of ascii become
    /// question marks, others stay.
    pub fn decode_statement(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary => Cow::Borrowed(bytes),
            Charset::Latin1 | Charset::Ascii if bytes.is_ascii() => Cow::Borrowed(bytes),
            Charset::Latin1 => {
                let text: String = bytes.iter().map(|byte| latin1_char(*byte)).collect();
                Cow::Owned(text.into_bytes())
            }
            Charset::Ascii => Cow::Owned(bytes.iter().map(|byte| if byte.is_ascii() { *byte } else { b'?' }).collect()),
        }
    }

    /// How many bytes [`Charset::encode`] gives.
    pub fn encoded_len(self, text: &str) -> usize {
        if self.is_recoded() { text.chars().count() } else { text.len() }
    }

    /// The text of which these are the bytes; or of how many of them, up to the first that begins no character.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
        if self.is_recoded() && !bytes.is_ascii() {
            return Ok(Cow::Owned(bytes.iter().map(|byte| latin1_char(*byte)).collect()));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?;
        match self.first_outside(text) {
            None => Ok(Cow::Borrowed(text)),
            Some(at) => Err(at),
        }
    }
}

/// Latin1's character of a byte.
pub(crate) fn latin1_char(byte: u8) -> char {
    match byte {
        0x80..0xa0 => LATIN1_0X80[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Latin1's byte of a character.
pub(crate) fn latin1_byte(c: char) -> Option<u8> {
    match u8::try_from(c) {
        Ok(byte) if latin1_char(byte) == c => Some(byte),
        _ => LATIN1_0X80.iter().position(|other| *other == c).map(|at| 0x80 + at as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for charset in Charset::ALL {
            assert_eq!(Charset::from_name(&charset.name().to_uppercase()), Some(charset));
            assert_eq!((charset.default_collation().charset(), charset.bin_collation().charset()), (charset, charset));
        }
        assert_eq!((Charset::from_name("UTF8"), Charset::from_name("koi8r")), (Some(Charset::Utf8mb3), None));
    }

    #[test]
    fn every_byte_of_latin1_is_a_character_of_its_own() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = Charset::Latin1.decode(&bytes).expect("each byte is a character");
        assert_eq!(text.chars().count(), 256);
        assert_eq!(*Charset::Latin1.encode(&text), *bytes);
        assert_eq!(Charset::Latin1.encoded_len(&text), 256);
        assert_eq!(*Charset::Latin1.encode("€Äж\u{1f600}"), *b"\x80\xc4??");
        assert_eq!(Charset::Latin1.decode_statement(&bytes), text.as_bytes());
    }

    #[test]
    fn what_a_client_writes_and_reads_is_in_its_character_set() {
        let written = |charset: Charset| charset.decode_statement(b"a\xe9\xff").into_owned();
        let as_they_are = b"a\xe9\xff".to_vec();
        let expected =
            [as_they_are.clone(), as_they_are.clone(), "aéÿ".as_bytes().to_vec(), b"a??".to_vec(), as_they_are];
        assert_eq!(Charset::ALL.map(written), expected);
        let read = |charset: Charset| charset.encode_within("aé\u{1f600}").into_owned();
        let utf8 = "aé\u{1f600}".as_bytes().to_vec();
        let expected = [utf8.clone(), "aé?".as_bytes().to_vec(), b"a\xe9?".to_vec(), b"a??".to_vec(), utf8];
        assert_eq!(Charset::ALL.map(read), expected);
    }

    #[test]
    fn each_has_its_characters() {
        let outside = |charset: Charset| charset.first_outside("aé€ж\u{1f600}");
        assert_eq!(Charset::ALL.map(outside), [None, Some(8), Some(6), Some(1), None]);
        assert_eq!(Charset::Ascii.decode(b"ab\xc3\xa9"), Err(2));
        assert_eq!(Charset::Utf8mb3.decode("a\u{1f600}".as_bytes()), Err(1));
        assert_eq!(Charset::Utf8mb4.decode(b"a\xff"), Err(1));
    }

    #[test]
    fn letters_have_the_case_of_mysql() {
        let (small, capital) = ("aÿµßžœšàþ÷я", "AŸŽŒŠÀÞ×İЯ");
        let upper = |charset: Charset| small.chars().map(|c| charset.upper(c)).collect::<String>();
        let lower = |charset: Charset| capital.chars().map(|c| charset.lower(c)).collect::<String>();
        assert_eq!((upper(Charset::Utf8mb4), lower(Charset::Utf8mb4)), ("AŸΜßŽŒŠÀÞ÷Я".into(), "aÿžœšàþ×iя".into()));
        assert_eq!((upper(Charset::Latin1), lower(Charset::Latin1)), ("AÿµßžœšÀÞ÷я".into(), "aŸŽŒŠàþ×İЯ".into()));
    }

    #[test]
    fn supersets_are_those_of_mysql() {
        let names = |of: Charset| Charset::ALL.map(|charset| charset.is_superset(of));
        assert_eq!(names(Charset::Ascii), [true, true, true, false, false]);
        assert_eq!(names(Charset::Latin1), [true, true, false, false, false]);
        assert_eq!(names(Charset::Utf8mb3), [true, false, false, false, false]);
        assert_eq!(names(Charset::Utf8mb4), [false; 5]);
        assert_eq!(names(Charset::Binary), [false; 5]);
    }
}
