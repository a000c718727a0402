use super::*;
use crate::types::LobSize;

#[test]
fn types_are_described_as_table_maps_have_them() {
    let text = Collation::DEFAULT;
    let int = |width| ColumnType::Int { width, unsigned: false, display_width: None };
    for (column_type, expected) in [
        (int(IntWidth::Medium), (9, vec![])),
        (int(IntWidth::Big), (8, vec![])),
        (ColumnType::Decimal { precision: 10, scale: 2, unsigned: false }, (246, vec![10, 2])),
        (ColumnType::Char { chars: 255, collation: text }, (254, vec![0xce, 0xfc])),
        (ColumnType::Char { chars: 10, collation: text }, (254, vec![0xfe, 40])),
        (ColumnType::Binary { bytes: 16 }, (254, vec![0xfe, 16])),
        (ColumnType::VarChar { chars: 100, collation: text }, (15, vec![0x90, 0x01])),
        (ColumnType::VarBinary { bytes: 3 }, (15, vec![3, 0])),
        (ColumnType::Text { size: LobSize::Normal, collation: text }, (252, vec![2])),
        (ColumnType::Blob { size: LobSize::Long }, (252, vec![4])),
        (ColumnType::DateTime { fsp: 6 }, (18, vec![6])),
        (ColumnType::Timestamp { fsp: 0 }, (17, vec![0])),
        (ColumnType::Time { fsp: 3 }, (19, vec![3])),
        (ColumnType::Date, (10, vec![])),
        (ColumnType::Year, (13, vec![])),
    ] {
        let (field, meta) = field_and_meta(&column_type);
        assert_eq!((field as u8, meta), expected, "{column_type}");
    }
}
