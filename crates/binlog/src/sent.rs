//! What readers get and no file holds: events made for them, and the first event of a file as it is sent.
//!
//! An event made for a reader has timestamp 0, and is artificial: the reader's position in the stream does not move by
//! it. Its checksum depends on what the reader knows of checksums.
//!
//! Format of a heartbeat's body: the name of the file; its `log_pos` is the position in it.

use super::events::format_description::CREATED_AT;
use super::gtid::{Gtid, ServerUuid};
use super::wire::{
    CRC_BYTES, EventHeader, EventType, FLAG_ARTIFICIAL, FLAG_IN_USE, FLAGS_AT, HEADER_BYTES, LOG_POS_AT, Origin,
    SIZE_AT, begin_event, place_event,
};

impl EventType {
    /// Nothing has happened: the source is alive, and its reader is up to date.
    pub const HEARTBEAT: EventType = EventType(27);
}

/// A ROTATE event that begins what a reader gets of a file.
pub fn artificial_rotate(server_id: u32, file_name: &str, position: u64, with_checksum: bool) -> Vec<u8> {
    let mut event = Vec::new();
    begin_event(&mut event, EventType::ROTATE, FLAG_ARTIFICIAL, Origin { timestamp_s: 0, server_id });
    event.extend_from_slice(&position.to_le_bytes());
    event.extend_from_slice(file_name.as_bytes());
    finish(event, 0, with_checksum)
}

/// A heartbeat at a position up to which the reader has everything.
pub fn heartbeat(server_id: u32, file_name: &str, position: u64, with_checksum: bool) -> Vec<u8> {
    let mut event = Vec::new();
    begin_event(&mut event, EventType::HEARTBEAT, 0, Origin { timestamp_s: 0, server_id });
    event.extend_from_slice(file_name.as_bytes());
    let log_pos = u32::try_from(position).expect("a file is shorter than 4 GiB");
    finish(event, log_pos, with_checksum)
}

fn finish(mut event: Vec<u8>, log_pos: u32, with_checksum: bool) -> Vec<u8> {
    let size = event.len() + if with_checksum { CRC_BYTES } else { 0 };
    event[SIZE_AT..SIZE_AT + 4].copy_from_slice(&(size as u32).to_le_bytes());
    event[LOG_POS_AT..LOG_POS_AT + 4].copy_from_slice(&log_pos.to_le_bytes());
    event.resize(size, 0);
    if with_checksum {
        place_event(&mut event, log_pos);
    }
    event
}

/// The format description `event` of a file, as a reader gets it: never in use, which its checksum does not cover. For
/// a reader who begins `within` the file it is artificial, and the server did not just start.
pub fn format_description_for_reader(event: &[u8], within: bool) -> Vec<u8> {
    let mut event = event.to_vec();
    let flags = u16::from_le_bytes([event[FLAGS_AT], event[FLAGS_AT + 1]]) & !FLAG_IN_USE;
    event[FLAGS_AT..FLAGS_AT + 2].copy_from_slice(&flags.to_le_bytes());
    if within {
        event[CREATED_AT..CREATED_AT + 4].fill(0);
        place_event(&mut event, 0);
    }
    event
}

/// The header of a whole event.
pub fn header_of_event(event: &[u8]) -> EventHeader {
    EventHeader::decode(event.first_chunk().expect("a whole event"))
}

/// The transaction that a whole event begins, if it is a GTID event.
pub fn gtid_of_event(event: &[u8]) -> Option<Gtid> {
    if header_of_event(event).event_type != EventType::GTID {
        return None;
    }
    let body = &event[HEADER_BYTES..];
    let uuid = ServerUuid::from_bytes(*body.get(1..)?.first_chunk()?);
    let gno = u64::from_le_bytes(*body.get(17..)?.first_chunk()?);
    Some(Gtid { uuid, gno })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileStart, ServerIdentity, file_header};

    #[test]
    fn events_for_readers_have_their_fields() {
        let name = [98, 46, 49];
        let rotate =
            [&[0; 4][..], &[4], &[7, 0, 0, 0], &[34, 0, 0, 0], &[0; 4], &[0x20, 0], &[9], &[0; 7], &name, &[0; 4]];
        let mut rotate = rotate.concat();
        let crc_at = rotate.len() - CRC_BYTES;
        let crc = crc32fast::hash(&rotate[..crc_at]);
        rotate[crc_at..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(artificial_rotate(7, "b.1", 9, true), rotate);
        rotate.truncate(crc_at);
        rotate[SIZE_AT] = 30;
        assert_eq!(artificial_rotate(7, "b.1", 9, false), rotate);
        let beat = [&[0; 4][..], &[27], &[7, 0, 0, 0], &[22, 0, 0, 0], &[9, 0, 0, 0], &[0; 2], &name];
        assert_eq!(heartbeat(7, "b.1", 9, false), beat.concat());
        assert_eq!(heartbeat(7, "b.1", 9, true).len(), 26);
    }

    #[test]
    fn a_format_description_is_sent_as_of_a_closed_file() {
        let identity = ServerIdentity { server_id: 7, server_version: "8.0.40".to_owned() };
        let header = file_header(&identity, FileStart::ServerStart, 5, &crate::GtidSet::new());
        let event = &header[4..4 + header_of_event(&header[4..]).event_bytes as usize];
        let valid = |event: &[u8]| {
            let (checked, crc) = event.split_at(event.len() - CRC_BYTES);
            crc32fast::hash(checked).to_le_bytes() == crc
        };
        assert!(!valid(event), "it is in use");
        let whole = format_description_for_reader(event, false);
        assert!(valid(&whole) && whole[LOG_POS_AT] != 0 && whole[CREATED_AT] == 5);
        let within = format_description_for_reader(event, true);
        assert!(valid(&within) && within[LOG_POS_AT..LOG_POS_AT + 4] == [0; 4] && within[CREATED_AT] == 0);
    }

    #[test]
    fn other_flags_of_a_format_description_stay() {
        let mut event = vec![0xaa; CREATED_AT + 4 + CRC_BYTES];
        event[FLAGS_AT..FLAGS_AT + 2].copy_from_slice(&[FLAG_IN_USE as u8 | 0x40, 0x02]);
        let mut sent = event.clone();
        sent[FLAGS_AT] = 0x40;
        assert_eq!(format_description_for_reader(&event, false), sent);
    }

    #[test]
    fn the_gtid_of_an_event_is_read() {
        let origin = Origin { timestamp_s: 1, server_id: 7 };
        let of_type = |event_type: EventType, body: &[u8]| {
            let mut event = Vec::new();
            begin_event(&mut event, event_type, 0, origin);
            event.extend_from_slice(body);
            finish(event, 100, true)
        };
        let body = [&[1][..], &[0x11; 16], &300u64.to_le_bytes(), &[2; 16]].concat();
        let gtid = Gtid { uuid: ServerUuid::from_bytes([0x11; 16]), gno: 300 };
        assert_eq!(gtid_of_event(&of_type(EventType::GTID, &body)), Some(gtid));
        assert_eq!(gtid_of_event(&of_type(EventType::HEARTBEAT, &body)), None);
        assert_eq!(gtid_of_event(&of_type(EventType::GTID, &body[..16])), None, "its checksum is no number");
    }
}
