//! Column definitions: what a client is told of a result's columns.

use cohort_types::ResultColumn;
use cohort_types::{Charset, Collation, FieldKind, FieldType};

use super::constants::{BINARY_COLLATION, column_flag};
use super::encode::put_length_encoded_bytes;

/// Appends the payload of a column definition.
pub fn encode_column(out: &mut Vec<u8>, column: &ResultColumn) {
    put_length_encoded_bytes(out, b"def");
    for name in [&column.database, &column.table, &column.original_table, &column.name, &column.original_name] {
        put_length_encoded_bytes(out, name.as_bytes());
    }
    let result = &column.result_type;
    let is_json = result.field == FieldType::Json;
    let text = result.field.is_string() && result.collation != Collation::Binary && !is_json;
    // Texts are sent as utf8mb4.
    let charset = result.collation.charset();
    let collation = match text {
        true if charset == Charset::Utf8mb4 => result.collation.id(),
        true => Collation::DEFAULT.id(),
        false => BINARY_COLLATION,
    };
    let length = if is_json {
        u32::MAX
    } else if !text {
        result.length
    } else if result.kind() == FieldKind::Lob {
        // MySQL takes each byte of a TEXT for a character. The type counts whole characters, which leave 3 of 255 bytes
        // if they have four.
        let char_bytes = charset.char_bytes() as u32;
        let rest = 255 % char_bytes;
        result.length.saturating_mul(char_bytes).saturating_add(rest).saturating_mul(4)
    } else {
        result.length.saturating_mul(4)
    };
    put_fixed_part(out, collation, length, result.field, flags(column), result.decimals);
}

/// Appends the payload of the definition of a parameter of a prepared statement. Its type is not known
/// before it is bound: MySQL says a string, as does this.
pub fn encode_parameter(out: &mut Vec<u8>) {
    put_length_encoded_bytes(out, b"def");
    for name in [&b""[..], b"", b"", b"?", b""] {
        put_length_encoded_bytes(out, name);
    }
    put_fixed_part(out, BINARY_COLLATION, 0, FieldType::VarString, column_flag::BINARY, 0);
}

fn put_fixed_part(out: &mut Vec<u8>, collation: u16, length: u32, field: FieldType, flags: u16, decimals: u8) {
    out.push(12);
    out.extend_from_slice(&collation.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    // What an ENUM or SET is, its flag says.
    out.push(if matches!(field, FieldType::Enum | FieldType::Set) { FieldType::String } else { field } as u8);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[decimals, 0, 0]);
}

fn flags(column: &ResultColumn) -> u16 {
    let result = &column.result_type;
    let is_json = result.field == FieldType::Json;
    let binary = !result.field.is_string() || result.collation == Collation::Binary || is_json;
    let set = [
        (!result.nullable, column_flag::NOT_NULL),
        (column.primary_key, column_flag::PRI_KEY),
        (column.unique_key, column_flag::UNIQUE_KEY),
        (column.multiple_key, column_flag::MULTIPLE_KEY),
        (result.kind() == FieldKind::Lob || is_json, column_flag::BLOB),
        (result.unsigned, column_flag::UNSIGNED),
        (binary, column_flag::BINARY),
        (result.field == FieldType::Enum, column_flag::ENUM),
        (result.field == FieldType::Set, column_flag::SET),
        (column.auto_increment, column_flag::AUTO_INCREMENT),
    ];
    set.iter().filter(|(on, _)| *on).fold(0, |flags, (_, flag)| flags | flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_types::ResultType;

    #[test]
    fn a_definition_has_the_documented_bytes() {
        let result_type = ResultType {
            field: FieldType::VarString,
            length: 20,
            decimals: 0,
            unsigned: false,
            nullable: false,
            collation: Collation::Utf8mb4_0900AiCi,
        };
        let mut column = ResultColumn::computed("n", result_type);
        column.database = "d".into();
        column.table = "t".into();
        column.original_table = "t".into();
        column.original_name = "name".into();
        let mut out = Vec::new();
        encode_column(&mut out, &column);
        assert_eq!(out, *b"\x03def\x01d\x01t\x01t\x01n\x04name\x0c\xff\x00\x50\0\0\0\xfd\x01\x00\x00\x00\x00");
        column.result_type.collation = Collation::Binary;
        column.result_type.field = FieldType::LongLong;
        column.result_type.unsigned = true;
        out.clear();
        encode_column(&mut out, &column);
        assert!(out.ends_with(b"\x0c\x3f\x00\x14\0\0\0\x08\xa1\x00\x00\x00\x00"));
    }

    #[test]
    fn a_text_is_declared_as_long_as_in_mysql() {
        let type_of = |chars| ResultType { field: FieldType::Blob, ..ResultType::string(chars, Collation::DEFAULT) };
        for (bytes, length) in [(255, 1020u32), (65_535, 262_140), (16_777_215, 67_108_860), (u32::MAX, u32::MAX)] {
            let mut out = Vec::new();
            encode_column(&mut out, &ResultColumn::computed("c", type_of(bytes / 4)));
            let at = out.len() - 10;
            assert_eq!(out[at..at + 4], length.to_le_bytes());
        }
    }
}
