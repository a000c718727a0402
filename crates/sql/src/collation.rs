//! How strings compare.
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A collation; the discriminants are MySQL's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum Collation {
    /// `utf8mb4_general_ci`: pads, ignores case and accents, one weight a character.
    Utf8mb4GeneralCi = 45,
    /// `utf8mb4_bin`: pads, by code point.
    Utf8mb4Bin = 46,
    /// `binary`: bytes.
    Binary = 63,
    /// `utf8mb4_0900_ai_ci`: does not pad, Unicode collation, base letters only.
    Utf8mb4_0900AiCi = 255,
    /// `utf8mb4_0900_bin`: does not pad, by code point.
    Utf8mb4_0900Bin = 309,
}

impl Collation {
    /// The collation of new tables and of connections that name none.
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;
    /// By name, in any case.
    pub fn from_name(_name: &str) -> Option<Collation> {
        todo!()
    }
    /// By MySQL's id (handshake, column metadata).
    pub fn from_id(_id: u16) -> Option<Collation> {
        todo!()
    }
    /// The default collation of a character set (`utf8mb4`, `binary`).
    pub fn of_charset(_charset: &str) -> Option<Collation> {
        todo!()
    }
    /// MySQL's id.
    pub fn id(self) -> u16 {
        self as u16
    }
    /// MySQL's name.
    pub fn name(self) -> &'static str {
        todo!()
    }
    /// The character set's name.
    pub fn charset(self) -> &'static str {
        todo!()
    }
    /// Compares two strings.
    pub fn compare(self, _a: &[u8], _b: &[u8]) -> Ordering {
        todo!()
    }
    /// Appends bytes whose order is the order of [`Collation::compare`].
    pub fn write_sort_key(self, _text: &[u8], _out: &mut Vec<u8>) {
        todo!()
    }
}
