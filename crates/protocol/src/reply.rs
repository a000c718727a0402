//! OK, ERR and EOF packets.

use cohort_types::Charset;

use super::constants::{capability, session_track, status};
use super::encode::{put_length_encoded_bytes, put_length_encoded_int};

/// What an OK packet says.
#[derive(Clone, Copy, Debug, Default)]
pub struct OkFields<'a> {
    /// Rows changed (or found, as the client asked).
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value given out.
    pub last_insert_id: u64,
    /// Status flags.
    pub status: u16,
    /// Number of warnings.
    pub warnings: u16,
    /// "Records: 3  Duplicates: 0  Warnings: 0" and the like.
    pub info: &'a [u8],
    /// Changes of the session's state, as [`put_schema_change`] and [`put_variable_change`] write them.
    pub state_changes: &'a [u8],
}

/// Appends the payload of an OK packet.
pub fn encode_ok(out: &mut Vec<u8>, fields: &OkFields<'_>, capabilities: u32) {
    encode_ok_with_header(out, 0x00, fields, capabilities);
}

/// Appends the payload of the packet that ends the rows of a result, and the column definitions of
/// clients that still want an EOF packet.
pub fn encode_end_of_rows(out: &mut Vec<u8>, fields: &OkFields<'_>, capabilities: u32) {
    if capabilities & capability::DEPRECATE_EOF != 0 {
        encode_ok_with_header(out, 0xfe, fields, capabilities);
    } else {
        encode_eof(out, fields.warnings, fields.status);
    }
}

/// Appends the payload of an EOF packet.
pub fn encode_eof(out: &mut Vec<u8>, warnings: u16, status: u16) {
    out.push(0xfe);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.to_le_bytes());
}

fn encode_ok_with_header(out: &mut Vec<u8>, header: u8, fields: &OkFields<'_>, capabilities: u32) {
    let track = capabilities & capability::SESSION_TRACK != 0 && !fields.state_changes.is_empty();
    let flags = if track { fields.status | status::SESSION_STATE_CHANGED } else { fields.status };
    out.push(header);
    put_length_encoded_int(out, fields.affected_rows);
    put_length_encoded_int(out, fields.last_insert_id);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&fields.warnings.to_le_bytes());
    if track || !fields.info.is_empty() {
        put_length_encoded_bytes(out, fields.info);
    }
    if track {
        put_length_encoded_bytes(out, fields.state_changes);
    }
}

/// Appends "the default database is now `name`" to an OK packet's state changes.
pub fn put_schema_change(changes: &mut Vec<u8>, name: &[u8]) {
    let mut entry = Vec::with_capacity(name.len() + 9);
    put_length_encoded_bytes(&mut entry, name);
    changes.push(session_track::SCHEMA);
    put_length_encoded_bytes(changes, &entry);
}

/// Appends "the variable `name` is now `value`" to an OK packet's state changes.
pub fn put_variable_change(changes: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let mut entry = Vec::with_capacity(name.len() + value.len() + 18);
    put_length_encoded_bytes(&mut entry, name);
    put_length_encoded_bytes(&mut entry, value);
    changes.push(session_track::SYSTEM_VARIABLES);
    put_length_encoded_bytes(changes, &entry);
}

/// Appends "the session now knows of these GTIDs" to an OK packet's state changes.
pub fn put_gtids(changes: &mut Vec<u8>, gtids: &[u8]) {
    // How the set is written: as text.
    let mut entry = vec![0];
    put_length_encoded_bytes(&mut entry, gtids);
    changes.push(session_track::GTIDS);
    put_length_encoded_bytes(changes, &entry);
}

/// The longest message an ERR packet carries, in bytes; MySQL cuts at the same place.
const MESSAGE_MAX: usize = 511;

/// Appends the payload of an ERR packet, with the message in this character set.
pub fn encode_error(out: &mut Vec<u8>, errno: u16, sqlstate: &str, message: &str, charset: Charset) {
    out.push(0xff);
    out.extend_from_slice(&errno.to_le_bytes());
    out.push(b'#');
    out.extend_from_slice(sqlstate.as_bytes());
    let message = &message[..message.floor_char_boundary(MESSAGE_MAX)];
    match charset.first_outside(message) {
        None => out.extend_from_slice(&charset.encode(message)),
        Some(_) => {
            let shown = |c: char| if charset.has(c) { c.to_string() } else { format!("\\{:04X}", u32::from(c)) };
            let shown: String = message.chars().map(shown).collect();
            let shown = charset.encode(&shown);
            out.extend_from_slice(&shown[..shown.len().min(MESSAGE_MAX)]);
        }
    }
}

/// Appends the payload of an ERR packet for a client that does not know SQLSTATE yet: before the
/// handshake is through, and those of before 4.1.
pub fn encode_error_without_state(out: &mut Vec<u8>, errno: u16, message: &str) {
    out.push(0xff);
    out.extend_from_slice(&errno.to_le_bytes());
    out.extend_from_slice(&message.as_bytes()[..message.floor_char_boundary(MESSAGE_MAX)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_packets_have_the_documented_bytes() {
        let fields = OkFields { affected_rows: 300, last_insert_id: 7, status: 2, ..OkFields::default() };
        let mut out = Vec::new();
        encode_ok(&mut out, &fields, 0);
        assert_eq!(out, [0, 0xfc, 0x2c, 0x01, 7, 2, 0, 0, 0]);
        out.clear();
        encode_ok(&mut out, &OkFields { info: b"hi", warnings: 1, ..OkFields::default() }, 0);
        assert_eq!(out, [0, 0, 0, 0, 0, 1, 0, 2, b'h', b'i']);
    }

    #[test]
    fn messages_are_in_the_character_set_of_the_client() {
        let message = |charset| {
            let mut out = Vec::new();
            encode_error(&mut out, 1054, "42S22", "'éж'", charset);
            out[9..].to_vec()
        };
        assert_eq!(message(Charset::Latin1), b"'\xe9\\0436'");
        assert_eq!(message(Charset::Ascii), b"'\\00E9\\0436'");
        assert_eq!(message(Charset::Utf8mb3), "'éж'".as_bytes());
    }

    #[test]
    fn state_changes_go_only_to_clients_that_track_them() {
        let mut changes = Vec::new();
        put_schema_change(&mut changes, b"db");
        put_variable_change(&mut changes, b"a", b"ON");
        assert_eq!(changes, *b"\x01\x03\x02db\x00\x05\x01a\x02ON");
        let mut gtids = Vec::new();
        put_gtids(&mut gtids, b"u:1");
        assert_eq!(gtids, *b"\x03\x05\x00\x03u:1");
        let fields = OkFields { state_changes: &changes, ..OkFields::default() };
        let mut out = Vec::new();
        encode_ok(&mut out, &fields, 0);
        assert_eq!(out, [0, 0, 0, 0, 0, 0, 0]);
        out.clear();
        encode_ok(&mut out, &fields, capability::SESSION_TRACK);
        assert_eq!(out[..9], [0, 0, 0, 0, 0x40, 0, 0, 0, changes.len() as u8]);
        assert_eq!(out[9..], changes);
    }

    #[test]
    fn rows_end_as_the_client_asked() {
        let fields = OkFields { status: 2, warnings: 1, ..OkFields::default() };
        let mut out = Vec::new();
        encode_end_of_rows(&mut out, &fields, 0);
        assert_eq!(out, [0xfe, 1, 0, 2, 0]);
        out.clear();
        encode_end_of_rows(&mut out, &fields, capability::DEPRECATE_EOF);
        assert_eq!(out, [0xfe, 0, 0, 2, 0, 1, 0]);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut out = Vec::new();
        encode_error(&mut out, 1064, "42000", &"é".repeat(400), Charset::Utf8mb4);
        assert_eq!(out[..9], *b"\xff\x28\x04#42000");
        assert_eq!(out.len(), 9 + 510);
    }
}
