//! Exact decimal numbers.
/// placeholder
#[derive(Clone, Debug, PartialEq)]
pub struct Decimal { hi: i64, lo: u64, scale: u8 }
