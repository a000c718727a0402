//! BINARY, VARBINARY and BLOB.
//!
//! Format: length and bytes in rows; escaped bytes in keys.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::string::{fixed_meta, given_length, length_bytes, string_len, too_long, write_string};
use super::{ColumnType, Faces, Facts, FromKey, Kind, LobSize, Sizes, TypeWords, length};
use crate::collation::{Collation, read_escaped_key};
use crate::error::SqlError;
use crate::store::{StoreContext, to_bytes};
use crate::{FieldType, ResultType, Value};

/// What all types of bytes share.
macro_rules! bytes {
    () => {
        fn kind(&self) -> Kind {
            Kind::Bytes
        }

        fn key_bytes(&self) -> Option<usize> {
            None
        }

        fn write_key(&self, value: &Value, prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
            let Value::Bytes(bytes) = value else { return false };
            let len = prefix.map_or(bytes.len(), |prefix| bytes.len().min(usize::from(prefix)));
            Collation::Binary.write_key(&bytes[..len], key);
            true
        }

        fn read_key(&self, bytes: &[u8]) -> FromKey {
            FromKey::of(read_escaped_key(bytes).map(Value::bytes))
        }
    };
}

/// Filled with zero bytes, which rows do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryType {
    /// Bytes, 0 to 255.
    pub bytes: u16,
}

/// As it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VarBinaryType {
    /// Bytes.
    pub bytes: u16,
}

/// As it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobType {
    /// Which one.
    pub size: LobSize,
}

impl Faces for BinaryType {
    no_characters!();
    bytes!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok(if name == "BINARY" { Some(BinaryType { bytes: length(words, 255, Some(1))? }.into()) } else { None })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "binary({})", self.bytes)
    }

    fn facts(&self) -> Facts {
        let max_bytes = u64::from(self.bytes);
        let sizes = Sizes::string(max_bytes, max_bytes);
        Facts { max_bytes, ..Facts::scalar("binary", sizes, (FieldType::String, &fixed_meta(max_bytes))) }
    }

    fn implicit_default(&self) -> Value {
        Value::bytes(vec![0; usize::from(self.bytes)])
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let stored = store(value, self.bytes.into(), cx)?;
        let len = usize::from(self.bytes);
        match stored.as_bytes() {
            Some(bytes) if bytes.len() < len => {
                let mut padded = bytes.to_vec();
                padded.resize(len, 0);
                Ok(Value::bytes(padded))
            }
            _ => Ok(stored),
        }
    }

    fn result_type(&self) -> ResultType {
        let string = ResultType::string(self.bytes.into(), Collation::Binary);
        ResultType { field: FieldType::String, decimals: 0, ..string }
    }

    fn row_len(&self, row: &[u8]) -> Option<usize> {
        string_len(length_bytes(self.bytes.into()), row)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Bytes(bytes) = value else { return false };
        let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
        write_string(&bytes[..len], length_bytes(self.bytes.into()), row)
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        let stored = &bytes[usize::from(length_bytes(self.bytes.into()))..];
        let mut padded = vec![0; usize::from(self.bytes)];
        padded.get_mut(..stored.len())?.copy_from_slice(stored);
        Some(Value::bytes(padded))
    }

    fn from_binlog(_field: FieldType, _meta: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        None
    }
}

impl VarBinaryType {
    /// Whether a type has room for all values of this one, and the same bytes for them.
    pub(super) fn extends_to(&self, longer: &VarBinaryType) -> bool {
        let length = |of: &VarBinaryType| length_bytes(of.bytes.into());
        self.bytes <= longer.bytes && length(self) == length(longer)
    }
}

impl Faces for VarBinaryType {
    no_characters!();
    bytes!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok(if name == "VARBINARY" {
            Some(VarBinaryType { bytes: length(words, MAX_VARBINARY_BYTES, None)? }.into())
        } else {
            None
        })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "varbinary({})", self.bytes)
    }

    fn facts(&self) -> Facts {
        let max_bytes = u64::from(self.bytes);
        let binlog = (FieldType::VarChar, &self.bytes.to_le_bytes()[..]);
        Facts { max_bytes, ..Facts::scalar("varbinary", Sizes::string(max_bytes, max_bytes), binlog) }
    }

    fn implicit_default(&self) -> Value {
        Value::bytes(Vec::new())
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        store(value, self.bytes.into(), cx)
    }

    fn result_type(&self) -> ResultType {
        ResultType { decimals: 0, ..ResultType::string(self.bytes.into(), Collation::Binary) }
    }

    fn row_len(&self, row: &[u8]) -> Option<usize> {
        string_len(length_bytes(self.bytes.into()), row)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        write_bytes(value, length_bytes(self.bytes.into()), row)
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Some(Value::bytes(&bytes[usize::from(length_bytes(self.bytes.into()))..]))
    }

    fn from_binlog(field: FieldType, meta: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        let bytes = if matches!(field, FieldType::VarChar | FieldType::VarString) {
            u16::from_le_bytes(meta)
        } else if field == FieldType::String {
            // As `fixed_meta` has it.
            u16::from(meta[1]) | u16::from(!meta[0] & 0x30) << 4
        } else {
            return None;
        };
        Some(VarBinaryType { bytes }.into())
    }
}

impl Faces for BlobType {
    no_characters!();
    bytes!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        let size = match name {
            "TINYBLOB" => LobSize::Tiny,
            "BLOB" => given_length(words)?.map_or(LobSize::Normal, LobSize::holding),
            "MEDIUMBLOB" => LobSize::Medium,
            "LONGBLOB" => LobSize::Long,
            _ => return Ok(None),
        };
        Ok(Some(BlobType { size }.into()))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().data_type)
    }

    fn facts(&self) -> Facts {
        let data_type = match self.size {
            LobSize::Tiny => "tinyblob",
            LobSize::Normal => "blob",
            LobSize::Medium => "mediumblob",
            LobSize::Long => "longblob",
        };
        let max_bytes = self.size.max_bytes();
        let binlog = (FieldType::Blob, &[self.size.length_bytes()][..]);
        Facts { max_bytes, is_lob: true, ..Facts::scalar(data_type, Sizes::string(max_bytes, max_bytes), binlog) }
    }

    fn implicit_default(&self) -> Value {
        Value::bytes(Vec::new())
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        store(value, self.size.max_bytes(), cx)
    }

    fn result_type(&self) -> ResultType {
        let bytes = u32::try_from(self.size.max_bytes()).unwrap_or(u32::MAX);
        ResultType { field: FieldType::Blob, decimals: 0, ..ResultType::string(bytes, Collation::Binary) }
    }

    fn row_len(&self, row: &[u8]) -> Option<usize> {
        string_len(self.size.length_bytes(), row)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        write_bytes(value, self.size.length_bytes(), row)
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Some(Value::bytes(&bytes[usize::from(self.size.length_bytes())..]))
    }

    fn from_binlog(field: FieldType, [length_bytes, _]: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        if !matches!(field, FieldType::Blob | FieldType::Geometry) {
            return None;
        }
        let sizes = [LobSize::Tiny, LobSize::Normal, LobSize::Medium, LobSize::Long];
        sizes.into_iter().find(|size| size.length_bytes() == length_bytes).map(|size| BlobType { size }.into())
    }
}

/// Most bytes of VARBINARY.
const MAX_VARBINARY_BYTES: u16 = 65535;

fn store(value: Value, max_bytes: u64, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let bytes = to_bytes(value, cx);
    if bytes.len() as u64 <= max_bytes {
        return Ok(Value::Bytes(bytes));
    }
    cx.reject(too_long(cx))?;
    Ok(Value::bytes(&bytes[..max_bytes as usize]))
}

fn write_bytes(value: &Value, length_bytes: u8, row: &mut Vec<u8>) -> bool {
    let Value::Bytes(bytes) = value else { return false };
    write_string(bytes, length_bytes, row)
}
