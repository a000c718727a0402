//! JSON: documents, as [`crate::json`] has them.

use std::fmt;
use std::sync::Arc;

use super::string::{string_len, write_string};
use super::{ColumnType, Faces, Facts, FromKey, Kind, LobSize, Sizes, TypeWords};
use crate::collation::Collation;
use crate::error::{ER_INVALID_JSON_CHARSET, ER_INVALID_JSON_TEXT, SqlError};
use crate::json::Json;
use crate::store::StoreContext;
use crate::{FieldType, ResultType, Value};

/// Four bytes of length and the document's bytes in rows; there are no keys of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonType;

impl Faces for JsonType {
    fn under(&self, _collation: Collation) -> ColumnType {
        ColumnType::Json
    }

    fn default_literal(&self, _value: &Value) -> Option<String> {
        None
    }

    fn parse(name: &str, _words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok((name == "JSON").then_some(ColumnType::Json))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("json")
    }

    fn facts(&self) -> Facts {
        let binlog = (FieldType::Json, &[LobSize::Long.length_bytes()][..]);
        Facts { max_bytes: LobSize::Long.max_bytes(), is_lob: true, ..Facts::scalar("json", Sizes::default(), binlog) }
    }

    fn kind(&self) -> Kind {
        Kind::Json
    }

    /// The document null, as it is when nothing else is said.
    fn implicit_default(&self) -> Value {
        Value::Json(Arc::new(Json::Null))
    }

    /// What is no document is an error in every SQL mode.
    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let invalid = |what: &str, at: usize| SqlError::new(ER_INVALID_JSON_TEXT, &[&what, &at, &cx.column]);
        let json = if let Value::Json(json) = value {
            return Ok(Value::Json(json));
        } else if let Value::Text(text) = &value {
            Json::parse(text).map_err(|error| error.into_error(invalid))?
        } else if let Value::Member(member) = &value {
            Json::parse(&member.text).map_err(|error| error.into_error(invalid))?
        } else if value.is_binary_string() {
            return Err(SqlError::new(ER_INVALID_JSON_CHARSET, &[&"binary"]));
        } else {
            return Err(invalid("not a JSON text, may need CAST", 0));
        };
        Ok(Value::Json(Arc::new(json)))
    }

    fn result_type(&self) -> ResultType {
        ResultType { decimals: 0, ..ResultType::json() }
    }

    fn row_len(&self, row: &[u8]) -> Option<usize> {
        string_len(LobSize::Long.length_bytes(), row)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Json(json) = value else { return false };
        let mut bytes = Vec::new();
        json.write_binary(&mut bytes) && write_string(&bytes, LobSize::Long.length_bytes(), row)
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        let document = &bytes[usize::from(LobSize::Long.length_bytes())..];
        Json::read_binary(document).map(|json| Value::Json(Arc::new(json)))
    }

    fn from_binlog(field: FieldType, [length_bytes, _]: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Json && length_bytes == LobSize::Long.length_bytes()).then_some(ColumnType::Json)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(0)
    }

    fn write_key(&self, _value: &Value, _prefix: Option<u16>, _key: &mut Vec<u8>) -> bool {
        false
    }

    fn read_key(&self, _bytes: &[u8]) -> FromKey {
        FromKey::Damaged
    }
}
