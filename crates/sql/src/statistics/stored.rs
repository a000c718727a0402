//! The form in which statistics survive a restart.
//!
//! Format: the CRC-32 of the rest, 8 hexadecimal digits and a line feed; then JSON, `{"format": 1, "tables": {id:
//! [`Collected`]}, "histograms": {id: {column: [`Histogram`]}}}`, where the last may be missing. Nobody has to make it durable:
//! what a crash leaves of it is whole, or is not read.
//!
//! [`Histogram`]: super::histogram::Histogram

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Collected;
use super::histogram::Histograms;

const FORMAT: u32 = 1;

/// What is kept of tables, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    format: u32,
    pub(crate) tables: BTreeMap<u64, Collected>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) histograms: BTreeMap<u64, Histograms>,
}

impl Kept {
    pub(crate) fn of(tables: BTreeMap<u64, Collected>, histograms: BTreeMap<u64, Histograms>) -> Kept {
        Kept { format: FORMAT, tables, histograms }
    }

    /// The stored form.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = format!("{:08x}\n", crc32fast::hash(&text)).into_bytes();
        bytes.extend_from_slice(&text);
        bytes
    }

    /// Reads what [`Kept::to_bytes`] wrote; `None` for anything else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Kept> {
        let (head, text) = bytes.split_at_checked(9)?;
        let sum = u32::from_str_radix(std::str::from_utf8(head).ok()?.strip_suffix('\n')?, 16).ok()?;
        let kept: Kept = serde_json::from_slice(text).ok().filter(|_| crc32fast::hash(text) == sum)?;
        (kept.format == FORMAT).then_some(kept)
    }
}
