//! The column that holds the values of an expression: what CREATE TABLE ... SELECT makes of a select list.

use super::{
    BinaryType, BitType, BlobType, CharType, ColumnType, DateTimeType, DecimalType, DoubleType, FloatType, IntType,
    IntWidth, LobSize, TextType, TimeType, TimestampType, VarBinaryType, VarCharType,
};
use crate::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::{Collation, FieldKind, FieldType, ResultType};

/// Longer strings become TEXT and BLOB, as in MySQL.
const MAX_VARCHAR: u32 = 512;

/// The longest CHAR and BINARY.
const MAX_CHAR: u16 = 255;

/// So many digits may be too many for INT.
const INT_DIGITS: u32 = 10;

impl ColumnType {
    /// The type of a column for values of this type. NULL has BINARY(0).
    pub fn of_result(of: &ResultType) -> ColumnType {
        let digits = || (of.decimals < crate::NOT_FIXED_DECIMALS).then(|| (capped(of.length), of.decimals));
        match of.kind() {
            FieldKind::Null => BinaryType { bytes: 0 }.into(),
            FieldKind::Integer => IntType { width: width(of), unsigned: of.unsigned, display_width: None }.into(),
            FieldKind::Year => ColumnType::Year,
            FieldKind::Bits => BitType { bits: capped(of.length).clamp(1, 64) }.into(),
            FieldKind::Decimal => {
                let scale = of.decimals.min(MAX_SCALE);
                let signs = u32::from(!of.unsigned) + u32::from(scale > 0);
                let precision = capped(of.length.saturating_sub(signs)).clamp(scale.max(1), MAX_PRECISION);
                DecimalType { precision, scale, unsigned: of.unsigned }.into()
            }
            FieldKind::Float => FloatType { unsigned: of.unsigned, digits: digits() }.into(),
            FieldKind::Double => DoubleType { unsigned: of.unsigned, digits: digits() }.into(),
            FieldKind::Date => ColumnType::Date,
            FieldKind::Time => TimeType { fsp: of.decimals.min(6) }.into(),
            FieldKind::DateTime => DateTimeType { fsp: of.decimals.min(6) }.into(),
            FieldKind::Timestamp => TimestampType { fsp: of.decimals.min(6) }.into(),
            FieldKind::String if of.field == FieldType::Json => ColumnType::Json,
            FieldKind::String | FieldKind::Lob => string(of),
        }
    }
}

fn capped(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// Columns keep their width; what is computed gets INT if its digits say that it fits.
fn width(of: &ResultType) -> IntWidth {
    const OF_COLUMNS: [(FieldType, IntWidth); 5] = [
        (FieldType::Tiny, IntWidth::Tiny),
        (FieldType::Bool, IntWidth::Tiny),
        (FieldType::Short, IntWidth::Small),
        (FieldType::Int24, IntWidth::Medium),
        (FieldType::Long, IntWidth::Int),
    ];
    match OF_COLUMNS.into_iter().find(|(field, _)| *field == of.field) {
        Some((_, width)) => width,
        None if of.length < INT_DIGITS => IntWidth::Int,
        None => IntWidth::Big,
    }
}

fn string(of: &ResultType) -> ColumnType {
    let (bytes, collation) = (u64::from(of.length) * of.collation.charset().char_bytes(), of.collation);
    let is_short = of.kind() == FieldKind::String && of.length <= MAX_VARCHAR;
    let size = match bytes {
        // What is computed may be longer than its type says.
        _ if of.kind() == FieldKind::String => LobSize::Long,
        0..=0xff => LobSize::Tiny,
        0x100..=0xffff => LobSize::Normal,
        0x1_0000..=0xff_ffff => LobSize::Medium,
        _ => LobSize::Long,
    };
    // It is MAX_VARCHAR at most.
    let chars = u16::try_from(of.length).unwrap_or(u16::MAX);
    let is_fixed = of.field == FieldType::String && chars <= MAX_CHAR;
    match (is_short, collation) {
        (true, Collation::Binary) if is_fixed => BinaryType { bytes: chars }.into(),
        (true, collation) if is_fixed => CharType { chars, collation }.into(),
        (true, Collation::Binary) => VarBinaryType { bytes: chars }.into(),
        (true, collation) => VarCharType { chars, collation }.into(),
        (false, Collation::Binary) => BlobType { size }.into(),
        (false, collation) => TextType::new(size, collation).into(),
    }
}
