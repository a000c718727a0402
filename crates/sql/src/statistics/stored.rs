//! The form in which statistics survive a restart.
//!
//! Format: the CRC-32 of the rest, 8 hexadecimal digits and a line feed; then JSON, `{"format": 1, "tables": {id:
//! [`Collected`]}}`. Nobody has to make it durable: what a crash leaves of it is whole, or is not read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Collected;

const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Document {
    format: u32,
    tables: BTreeMap<u64, Collected>,
}

/// The stored form of the statistics of tables, by their ids.
pub(crate) fn to_bytes(tables: BTreeMap<u64, Collected>) -> Vec<u8> {
    let text = serde_json::to_vec(&Document { format: FORMAT, tables }).unwrap_or_default();
    let mut bytes = format!("{:08x}\n", crc32fast::hash(&text)).into_bytes();
    bytes.extend_from_slice(&text);
    bytes
}

/// Reads what [`to_bytes`] wrote; `None` for anything else.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<BTreeMap<u64, Collected>> {
    let (head, text) = bytes.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(head).ok()?.strip_suffix('\n')?, 16).ok()?;
    let document: Document = serde_json::from_slice(text).ok().filter(|_| crc32fast::hash(text) == sum)?;
    (document.format == FORMAT).then_some(document.tables)
}
