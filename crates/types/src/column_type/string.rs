//! CHAR, VARCHAR and TEXT; how characters compare is in [`crate::collation`].
//!
//! Format: length and bytes of the character set in rows; the collation's keys in keys.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    BinaryType, BlobType, ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, VarBinaryType, length, read_le,
};
use crate::charset::Charset;
use crate::collation::{Collation, read_escaped_key};
use crate::error::{ER_DATA_TOO_LONG, ER_TOO_BIG_FIELDLENGTH, SqlError, WARN_DATA_TRUNCATED};
use crate::store::{StoreContext, to_text};
use crate::value::{double_within, first_chars};
use crate::{FieldType, ResultType, Value};

/// Most bytes of VARCHAR.
const MAX_VARCHAR_BYTES: u64 = 65_535;

/// Which of the four sizes of TEXT or BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LobSize {
    /// Up to 255 bytes.
    Tiny,
    /// Up to 65535 bytes.
    Normal,
    /// Up to 16 MiB - 1.
    Medium,
    /// Up to 4 GiB - 1.
    Long,
}

/// What all types of characters share, given the bytes of a length in rows. To the binlog's reader they are bytes.
macro_rules! characters {
    (|$of:ident| $length_bytes:expr) => {
        fn kind(&self) -> Kind {
            Kind::Characters(self.collation)
        }

        fn implicit_default(&self) -> Value {
            Value::text("")
        }

        fn default_literal(&self, _value: &Value) -> Option<String> {
            None
        }

        fn row_len(&self, row: &[u8]) -> Option<usize> {
            let $of = self;
            string_len($length_bytes, row)
        }

        fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
            let ($of, Value::Text(text)) = (self, value) else { return false };
            write_string(&self.collation.charset().encode(text), $length_bytes, row)
        }

        fn read_row(&self, bytes: &[u8]) -> Option<Value> {
            let $of = self;
            let text = self.collation.charset().decode(&bytes[usize::from($length_bytes)..]);
            text.ok().map(Value::text)
        }

        fn from_binlog(_field: FieldType, _meta: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
            None
        }

        fn key_bytes(&self) -> Option<usize> {
            None
        }

        fn write_key(&self, value: &Value, prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
            let Value::Text(text) = value else { return false };
            let text = prefix.map_or(&**text, |prefix| first_chars(text, usize::from(prefix)));
            self.collation.write_key(text.as_bytes(), key);
            true
        }

        fn read_key(&self, bytes: &[u8]) -> FromKey {
            // Of other collations keys hold weights, or lack spaces.
            if self.collation != Collation::Utf8mb4_0900Bin {
                return FromKey::Order;
            }
            FromKey::of(read_escaped_key(bytes).and_then(|bytes| String::from_utf8(bytes).ok()).map(Value::text))
        }
    };
}

/// Without trailing spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CharType {
    /// Characters, 0 to 255.
    pub chars: u16,
    /// How it compares.
    pub collation: Collation,
}

/// With the trailing spaces that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VarCharType {
    /// Characters.
    pub chars: u16,
    /// How it compares.
    pub collation: Collation,
}

/// Limited in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextType {
    /// Which one.
    pub size: LobSize,
    /// How it compares.
    pub collation: Collation,
    /// The characters of TEXT(n), before the character set is known that decides about its size.
    #[serde(skip)]
    pub(super) asked: Option<u64>,
}

impl TextType {
    /// Of this size.
    pub fn new(size: LobSize, collation: Collation) -> TextType {
        TextType { size, collation, asked: None }
    }

    /// Of the size that as many characters take under another collation.
    pub(super) fn converted(&self, collation: Collation) -> ColumnType {
        let chars = self.size.max_bytes() / self.collation.charset().char_bytes();
        TextType { asked: Some(chars), ..*self }.under(collation)
    }
}

impl LobSize {
    /// Most bytes of a value.
    pub fn max_bytes(self) -> u64 {
        (1 << (8 * self.length_bytes())) - 1
    }

    /// Bytes of the length in a row.
    pub(super) fn length_bytes(self) -> u8 {
        match self {
            LobSize::Tiny => 1,
            LobSize::Normal => 2,
            LobSize::Medium => 3,
            LobSize::Long => 4,
        }
    }

    /// The smallest size that holds so many bytes.
    pub(super) fn holding(bytes: u64) -> LobSize {
        match bytes {
            0..=0xff => LobSize::Tiny,
            0x100..=0xffff => LobSize::Normal,
            0x1_0000..=0xff_ffff => LobSize::Medium,
            _ => LobSize::Long,
        }
    }
}

impl VarCharType {
    /// 1074 if the character set allows a column no such length.
    pub(super) fn check_length(&self, column: &str) -> Result<(), SqlError> {
        let most = MAX_VARCHAR_BYTES / self.collation.charset().char_bytes();
        if u64::from(self.chars) <= most.min(u64::from(u16::MAX) - 1) {
            return Ok(());
        }
        Err(SqlError::new(ER_TOO_BIG_FIELDLENGTH, &[&column, &most]))
    }

    /// Whether a type has room for all values of this one, and the same bytes for them.
    pub(super) fn extends_to(&self, longer: &VarCharType) -> bool {
        let length = |of: &VarCharType| length_bytes(max_bytes(of.chars, of.collation));
        self.collation == longer.collation && self.chars <= longer.chars && length(self) == length(longer)
    }
}

impl Faces for VarCharType {
    characters!(|of| length_bytes(max_bytes(of.chars, of.collation)));

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        let found = match name {
            "VARCHAR" | "NVARCHAR" | "VARCHARACTER" => true,
            "CHAR" | "CHARACTER" => words.takes("VARYING"),
            "NCHAR" => words.takes("VARYING") || words.takes("VARCHAR") || words.takes("VARCHARACTER"),
            "NATIONAL" => {
                ["VARCHAR", "VARCHARACTER", "CHAR VARYING", "CHARACTER VARYING"].iter().any(|name| words.takes(name))
            }
            _ => false,
        };
        if !found {
            return Ok(None);
        }
        // How many there may be depends on the character set: `check_length`.
        let chars = words.number()?.ok_or_else(|| words.unexpected())?;
        let chars = u16::try_from(chars).unwrap_or(u16::MAX);
        Ok(Some(VarCharType { chars, collation: Collation::DEFAULT }.into()))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "varchar({})", self.chars)
    }

    fn facts(&self) -> Facts {
        let max_bytes = max_bytes(self.chars, self.collation);
        let binlog = (FieldType::VarChar, &(max_bytes as u16).to_le_bytes()[..]);
        Facts { max_bytes, ..Facts::scalar("varchar", Sizes::string(self.chars.into(), max_bytes), binlog) }
    }

    fn under(&self, collation: Collation) -> ColumnType {
        if collation.is_character() {
            VarCharType { collation, ..*self }.into()
        } else {
            VarBinaryType { bytes: self.chars }.into()
        }
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        store_chars(value, usize::from(self.chars), self.collation.charset(), false, cx)
    }

    fn result_type(&self) -> ResultType {
        ResultType { decimals: 0, ..ResultType::string(self.chars.into(), self.collation) }
    }
}

impl Faces for CharType {
    characters!(|of| length_bytes(max_bytes(of.chars, of.collation)));

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        match name {
            "CHAR" | "CHARACTER" | "NCHAR" => {}
            "NATIONAL" if words.takes("CHAR") || words.takes("CHARACTER") => {}
            "NATIONAL" => return Err(words.unexpected()),
            _ => return Ok(None),
        }
        let chars = length(words, 255, Some(1))?;
        Ok(Some(CharType { chars, collation: Collation::DEFAULT }.into()))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "char({})", self.chars)
    }

    fn facts(&self) -> Facts {
        let max_bytes = max_bytes(self.chars, self.collation);
        let sizes = Sizes::string(self.chars.into(), max_bytes);
        Facts { max_bytes, ..Facts::scalar("char", sizes, (FieldType::String, &fixed_meta(max_bytes))) }
    }

    fn under(&self, collation: Collation) -> ColumnType {
        if collation.is_character() {
            CharType { collation, ..*self }.into()
        } else {
            BinaryType { bytes: self.chars }.into()
        }
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        store_chars(value, usize::from(self.chars), self.collation.charset(), true, cx)
    }

    fn result_type(&self) -> ResultType {
        let string = ResultType::string(self.chars.into(), self.collation);
        ResultType { field: FieldType::String, decimals: 0, ..string }
    }
}

impl Faces for TextType {
    characters!(|of| of.size.length_bytes());

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        let size = match name {
            "TINYTEXT" => LobSize::Tiny,
            "TEXT" => {
                let asked = given_length(words)?;
                return Ok(Some(TextType { asked, ..TextType::new(LobSize::Normal, Collation::DEFAULT) }.into()));
            }
            "MEDIUMTEXT" => LobSize::Medium,
            "LONGTEXT" => LobSize::Long,
            "LONG" => {
                let _ = words.takes("VARCHAR") || words.takes("CHAR VARYING");
                LobSize::Medium
            }
            _ => return Ok(None),
        };
        Ok(Some(TextType::new(size, Collation::DEFAULT).into()))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().data_type)
    }

    fn facts(&self) -> Facts {
        let data_type = match self.size {
            LobSize::Tiny => "tinytext",
            LobSize::Normal => "text",
            LobSize::Medium => "mediumtext",
            LobSize::Long => "longtext",
        };
        let max_bytes = self.size.max_bytes();
        let binlog = (FieldType::Blob, &[self.size.length_bytes()][..]);
        Facts { max_bytes, is_lob: true, ..Facts::scalar(data_type, Sizes::string(max_bytes, max_bytes), binlog) }
    }

    fn under(&self, collation: Collation) -> ColumnType {
        let holding = |chars: u64| LobSize::holding(chars.saturating_mul(collation.charset().char_bytes()));
        let size = self.asked.map_or(self.size, holding);
        if collation.is_character() { TextType::new(size, collation).into() } else { BlobType { size }.into() }
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let charset = self.collation.charset();
        let text = to_text(value, charset, cx)?;
        let text = within(charset, &text, cx)?.map_or(text, Arc::from);
        let max_bytes = self.size.max_bytes();
        if text.len() as u64 <= max_bytes || charset.encoded_len(&text) as u64 <= max_bytes {
            return Ok(Value::Text(text));
        }
        cx.reject(too_long(cx))?;
        let max_bytes = max_bytes as usize;
        let kept = if charset.is_recoded() {
            first_chars(&text, max_bytes)
        } else {
            &text[..text.floor_char_boundary(max_bytes)]
        };
        Ok(Value::text(kept))
    }

    fn result_type(&self) -> ResultType {
        let char_bytes = self.collation.charset().char_bytes();
        let chars = u32::try_from(self.size.max_bytes() / char_bytes).unwrap_or(u32::MAX);
        ResultType { field: FieldType::Blob, decimals: 0, ..ResultType::string(chars, self.collation) }
    }
}

fn max_bytes(chars: u16, collation: Collation) -> u64 {
    collation.charset().char_bytes() * u64::from(chars)
}

/// The length of a TEXT or BLOB, of which 0 is none.
pub(super) fn given_length(words: &mut dyn TypeWords) -> Result<Option<u64>, SqlError> {
    Ok(words.number()?.filter(|length| *length > 0))
}

/// A text whose characters beyond the character set have become question marks, which a strict statement refuses; `None`
/// if there are none.
fn within(charset: Charset, text: &str, cx: &mut StoreContext<'_>) -> Result<Option<String>, SqlError> {
    let Some(at) = charset.first_outside(text) else { return Ok(None) };
    cx.reject_bytes(&text.as_bytes()[at..])?;
    Ok(Some(charset.within(text).into_owned()))
}

/// The error of a strict statement and the warning of another.
pub(super) fn too_long(cx: &StoreContext<'_>) -> crate::error::ErrorCode {
    if cx.sql_mode.is_strict() { ER_DATA_TOO_LONG } else { WARN_DATA_TRUNCATED }
}

fn store_chars(
    value: Value,
    chars: usize,
    charset: Charset,
    fixed: bool,
    cx: &mut StoreContext<'_>,
) -> Result<Value, SqlError> {
    let double = if let Value::Double(double) = value {
        Some(double)
    } else if let Value::Float(float) = value {
        Some(f64::from(float))
    } else {
        None
    };
    if let Some(text) = double.and_then(|double| double_within(double, chars)) {
        return Ok(Value::text(text));
    }
    let text = to_text(value, charset, cx)?;
    let trimmed = if fixed { text.trim_end_matches(' ') } else { &*text };
    // Characters are at least one byte, so that short strings need not be counted.
    let kept = if trimmed.len() > chars { first_chars(trimmed, chars) } else { trimmed };
    let replaced = within(charset, kept, cx)?;
    if kept.len() < trimmed.len() {
        if trimmed[kept.len()..].bytes().all(|byte| byte == b' ') {
            cx.note_truncated();
        } else if replaced.is_none() {
            cx.reject(too_long(cx))?;
        }
    }
    if replaced.is_none() && kept.len() == text.len() {
        return Ok(Value::Text(text));
    }
    let kept = replaced.as_deref().unwrap_or(kept);
    Ok(Value::text(if fixed { kept.trim_end_matches(' ') } else { kept }))
}

/// Metadata of CHAR and BINARY in table maps: the two upper bits of the length hide, inverted, in the type.
pub(super) fn fixed_meta(max_bytes: u64) -> [u8; 2] {
    [FieldType::String as u8 ^ ((max_bytes & 0x300) >> 4) as u8, max_bytes as u8]
}

/// Bytes of the length before a string of at most so many bytes.
pub(super) fn length_bytes(max_bytes: u64) -> u8 {
    if max_bytes > 255 { 2 } else { 1 }
}

/// Bytes of a length and of the string that it announces.
pub(super) fn string_len(length_bytes: u8, row: &[u8]) -> Option<usize> {
    let length_bytes = usize::from(length_bytes);
    Some(length_bytes + read_le(row.get(..length_bytes)?) as usize)
}

/// Appends length and bytes; false if the length does not fit.
pub(super) fn write_string(bytes: &[u8], length_bytes: u8, row: &mut Vec<u8>) -> bool {
    let len = bytes.len() as u64;
    if len >> (8 * u32::from(length_bytes)) != 0 {
        return false;
    }
    row.extend_from_slice(&len.to_le_bytes()[..usize::from(length_bytes)]);
    row.extend_from_slice(bytes);
    true
}
