//! Damaged sessions: whatever bytes come, the server answers with an error or closes, and serves on.

use std::time::Duration;

use crate::client::{CAPABILITIES, Wire, login_response, packet};
use cohort_blackbox::Launch;
use mysql::prelude::Queryable;

/// What a well-behaved client sends after its login.
fn commands() -> Vec<Vec<u8>> {
    let execute = [
        &[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1][..],
        &[8, 0, 253, 0, 12, 0, 246, 0, 11, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        b"\x05hello",
        &[11, 0xe8, 7, 2, 29, 23, 59, 58, 1, 0, 0, 0],
        b"\x0412.5",
        &[8, 0, 0, 0, 0, 0, 1, 2, 3],
    ];
    vec![
        b"\x03SELECT 1; SELECT 'a', NULL".to_vec(),
        b"\x16SELECT ?, ?, ?, ?, ?".to_vec(),
        execute.concat(),
        b"\x18\x01\0\0\0\x01\0long data".to_vec(),
        execute.concat(),
        b"\x1a\x01\0\0\0".to_vec(),
        b"\x02information_schema".to_vec(),
        b"\x04t\0%".to_vec(),
        b"\x11root\0\0\0\x2d\0mysql_native_password\0".to_vec(),
        b"\x1f".to_vec(),
        b"\x0e".to_vec(),
    ]
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.below(6)],
            2 => bytes.truncate(at),
            3 if !bytes.is_empty() => drop(bytes.remove(at)),
            4 => bytes.insert(at, random.below(256) as u8),
            _ => bytes.extend_from_within(at..),
        }
    }
}

#[test]
fn no_damage_to_a_session_stops_the_server_or_makes_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(folder.path().join("data"))
        .option("--net_read_timeout=1")
        .option("--connect_timeout=2")
        .start()
        .unwrap();
    let mut random = Random(0x5eed_c040);
    for round in 0..400 {
        let mut wire = Wire::connect(server.port());
        wire.read().unwrap();
        let mut login = packet(1, &login_response(CAPABILITIES));
        if round % 5 == 0 {
            damage(&mut login, &mut random);
        }
        wire.send_raw(&login);
        for mut command in commands() {
            // Half of the damage is inside of well-framed packets, half of it in the framing too.
            let inside = random.below(2) == 0;
            if inside && random.below(2) == 0 {
                damage(&mut command, &mut random);
            }
            let mut bytes = packet(0, &command);
            if !inside && random.below(4) == 0 {
                damage(&mut bytes, &mut random);
            }
            wire.send_raw(&bytes);
        }
        wire.finish();
        assert!(wire.drain(Duration::from_secs(20)), "round {round}: the connection hangs");
    }
    let mut conn = server.connect().unwrap();
    let panics: Option<(String, u64)> = conn.query_first("SHOW GLOBAL STATUS LIKE 'Cohort_session_panics'").unwrap();
    assert_eq!(panics, Some(("Cohort_session_panics".to_owned(), 0)));
    let open: Option<(String, u64)> = conn.query_first("SHOW GLOBAL STATUS LIKE 'Threads_connected'").unwrap();
    assert_eq!(open.map(|(_, count)| count), Some(1));
}
