//! Column definitions: how a result describes its columns to a client.

use cohort_types::ResultColumn;
use cohort_types::{Charset, Collation, FieldKind, FieldType};

use super::constants::{BINARY_COLLATION, column_flag};
use super::encode::put_length_encoded_bytes;

/// Appends the payload of a column definition, for a client that reads texts in the character set of `results`; without
/// it, or where that is binary, in the one of each column.
pub fn encode_column(out: &mut Vec<u8>, column: &ResultColumn, results: Option<Collation>) {
    put_length_encoded_bytes(out, b"def");
    let of_names = results.map_or(Charset::Utf8mb4, Collation::charset);
    for name in [&column.database, &column.table, &column.original_table, &column.name, &column.original_name] {
        put_length_encoded_bytes(out, &of_names.encode_within(name));
    }
    let result = &column.result_type;
    let is_json = result.field == FieldType::Json;
    let text = result.field.is_string() && result.collation != Collation::Binary && !is_json;
    let sent = results.unwrap_or(result.collation);
    let char_bytes = sent.charset().char_bytes() as u32;
    let collation = if text { sent.id() } else { BINARY_COLLATION };
    let length = if is_json {
        u32::MAX
    } else if !text {
        result.length
    } else if result.kind() == FieldKind::Lob {
        // The type counts whole characters, which leave 3 of 255 bytes if they have four.
        let own_bytes = result.collation.charset().char_bytes() as u32;
        let bytes = result.length.saturating_mul(own_bytes).saturating_add(255 % own_bytes);
        // MySQL takes each byte of a TEXT for a character where it converts it.
        if results.is_some() { bytes.saturating_mul(char_bytes) } else { bytes }
    } else {
        result.length.saturating_mul(char_bytes)
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
    let stored = !column.original_table.is_empty();
    let binary = if result.field.is_string() {
        result.collation == Collation::Binary || is_json
    } else {
        // Clients take a BIT with this flag for bytes. MySQL has it in computed numbers, and in no column.
        !stored || result.kind().temporal().is_some()
    };
    let set = [
        (!result.nullable, column_flag::NOT_NULL),
        (column.primary_key, column_flag::PRI_KEY),
        (column.unique_key, column_flag::UNIQUE_KEY),
        (column.multiple_key, column_flag::MULTIPLE_KEY),
        (result.kind() == FieldKind::Lob || is_json, column_flag::BLOB),
        (result.unsigned, column_flag::UNSIGNED),
        (stored && result.field == FieldType::Year, column_flag::ZEROFILL),
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
        encode_column(&mut out, &column, Some(Collation::DEFAULT));
        assert_eq!(out, *b"\x03def\x01d\x01t\x01t\x01n\x04name\x0c\xff\x00\x50\0\0\0\xfd\x01\x00\x00\x00\x00");
        column.result_type.collation = Collation::Binary;
        column.result_type.field = FieldType::LongLong;
        column.result_type.unsigned = true;
        out.clear();
        encode_column(&mut out, &column, Some(Collation::DEFAULT));
        assert!(out.ends_with(b"\x0c\x3f\x00\x14\0\0\0\x08\x21\x00\x00\x00\x00"));
    }

    /// Connector/J takes a BIT(1) with the flag for bytes, and one without for a Boolean.
    #[test]
    fn numbers_are_binary_where_they_are_computed() {
        let mut result_type = ResultType {
            field: FieldType::Bit,
            length: 1,
            decimals: 0,
            unsigned: true,
            nullable: true,
            collation: Collation::Binary,
        };
        let mut column = ResultColumn::computed("n", result_type);
        assert_eq!(flags(&column), column_flag::UNSIGNED | column_flag::BINARY);
        column.original_table = "t".into();
        assert_eq!(flags(&column), column_flag::UNSIGNED);
        result_type.field = FieldType::Year;
        column.result_type = result_type;
        assert_eq!(flags(&column), column_flag::UNSIGNED | column_flag::ZEROFILL);
        result_type.field = FieldType::DateTime;
        result_type.unsigned = false;
        column.result_type = result_type;
        assert_eq!(flags(&column), column_flag::BINARY);
    }

    #[test]
    fn a_text_is_declared_as_long_as_in_mysql() {
        let type_of = |chars| ResultType { field: FieldType::Blob, ..ResultType::string(chars, Collation::DEFAULT) };
        for (bytes, length) in [(255, 1020u32), (65_535, 262_140), (16_777_215, 67_108_860), (u32::MAX, u32::MAX)] {
            let mut out = Vec::new();
            let column = ResultColumn::computed("c", type_of(bytes / 4));
            encode_column(&mut out, &column, Some(Collation::DEFAULT));
            let at = out.len() - 10;
            assert_eq!(out[at..at + 4], length.to_le_bytes());
        }
    }

    /// As MySQL 5.6 and MariaDB 10.11 send them.
    #[test]
    fn a_text_is_declared_in_the_character_set_of_the_client() {
        let varchar = ResultType::string(10, Collation::Latin1Bin);
        let text = ResultType { field: FieldType::Blob, ..ResultType::string(16_383, Collation::Utf8mb4GeneralCi) };
        let declared = |of: ResultType, results| {
            let mut out = Vec::new();
            encode_column(&mut out, &ResultColumn::computed("é", of), results);
            let at = out.len() - 12;
            let length = u32::from_le_bytes(out[at + 2..at + 6].try_into().expect("four bytes"));
            (out[7..at - 2].to_vec(), u16::from_le_bytes([out[at], out[at + 1]]), length)
        };
        for (results, name, of_varchar, of_text) in [
            (Some(Collation::Latin1SwedishCi), &b"\x01\xe9"[..], (8, 10), (8, 65_535)),
            (Some(Collation::Utf8mb3Bin), b"\x02\xc3\xa9", (83, 30), (83, 196_605)),
            (Some(Collation::Binary), b"\x02\xc3\xa9", (63, 10), (63, 65_535)),
            (None, b"\x02\xc3\xa9", (47, 10), (45, 65_535)),
        ] {
            assert_eq!(declared(varchar, results), (name.to_vec(), of_varchar.0, of_varchar.1));
            assert_eq!(declared(text, results), (name.to_vec(), of_text.0, of_text.1));
        }
    }
}
