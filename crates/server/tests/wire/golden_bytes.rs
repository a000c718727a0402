//! What goes over the wire, byte for byte.

use crate::client::{CAPABILITIES, Wire, errno, packet};
use cohort_blackbox::{Launch, Server};

const DEPRECATE_EOF: u32 = 1 << 24;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

fn server() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(folder.path().join("data")).start().unwrap();
    (folder, server)
}

#[test]
fn commands_and_results_have_the_documented_bytes() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    wire.command(0x0e, b"");
    assert_eq!(wire.read_answer(1), [OK]);

    wire.command(0x03, b"SELECT 1 AS n, NULL AS z, 'ab' AS t");
    let answer = wire.read_answer(7);
    assert_eq!(answer[0], [3]);
    assert_eq!(answer[1], *b"\x03def\0\0\0\x01n\0\x0c\x3f\0\x02\0\0\0\x08\x81\0\0\0\0".as_slice());
    assert!(answer[2].starts_with(b"\x03def\0\0\0\x01z\0\x0c\x3f\0") && answer[2][answer[2].len() - 6] == 6);
    assert!(answer[3].starts_with(b"\x03def\0\0\0\x01t\0\x0c\x2d\0\x08\0\0\0\xfd"), "{:?}", answer[3]);
    assert_eq!(answer[4], EOF);
    assert_eq!(answer[5], *b"\x011\xfb\x02ab");
    assert_eq!(answer[6], EOF);

    let mut wire = Wire::log_in(server.port(), CAPABILITIES | DEPRECATE_EOF);
    wire.command(0x03, b"SELECT 7");
    let answer = wire.read_answer(4);
    assert_eq!(answer[2], *b"\x017");
    assert_eq!(answer[3], [0xfe, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn status_flags_follow_the_transaction() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    for (sql, flags) in [("BEGIN", 3), ("COMMIT", 2), ("SET autocommit=0", 0), ("SET autocommit=1", 2)] {
        wire.command(0x03, sql.as_bytes());
        assert_eq!(wire.read_answer(1)[0][3], flags, "{sql}");
    }
}

#[test]
fn a_prepared_statement_answers_in_binary() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    wire.command(0x16, b"SELECT ? AS a");
    let answer = wire.read_answer(5);
    assert_eq!(answer[0], [0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!((answer[2].as_slice(), answer[4].as_slice()), (EOF, EOF));
    // Statement 1, no cursor, one iteration; no NULLs, types follow: BIGINT, value 300.
    let execute = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 0x2c, 1, 0, 0, 0, 0, 0, 0];
    wire.command(0x17, &execute);
    let answer = wire.read_answer(5);
    assert_eq!(answer[0], [1]);
    assert_eq!(answer[3][..2], [0, 0]);
    wire.command(0x17, &[9, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(errno(&wire.read_answer(1)[0]), 1243);
    wire.command(0x19, &[1, 0, 0, 0]);
    wire.command(0x17, &execute);
    assert_eq!(errno(&wire.read_answer(1)[0]), 1243);
}

#[test]
fn a_command_that_is_not_there_is_an_error() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    let replicas = [0x12, 0x15, 0x1e];
    let known = [0x01, 0x02, 0x03, 0x04, 0x07, 0x09, 0x0c, 0x0e, 0x11, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1f];
    for code in (0..=255).filter(|code| !known.contains(code) && !replicas.contains(code)) {
        wire.command(code, b"");
        let answer = wire.read_answer(1);
        assert_eq!(errno(&answer[0]), 1047, "command {code}");
        assert_eq!(answer[0][3..9], *b"#08S01");
    }
    wire.command(0x0e, b"");
    assert_eq!(wire.read_answer(1), [OK]);
}

#[test]
fn several_statements_answer_one_after_the_other_and_stop_at_the_first_error() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    wire.command(0x03, b"SET @a = 1; SELECT @a; SELECT nothing; SELECT 2");
    let answer = wire.read_answer(7);
    assert_eq!(answer[0], [0, 0, 0, 0x0a, 0, 0, 0]);
    assert_eq!(answer[5], [0xfe, 0, 0, 0x0a, 0]);
    assert_eq!(answer[6][0], 0xff);
    wire.command(0x1b, &[1, 0]);
    assert_eq!(wire.read_answer(1), [EOF]);
    wire.command(0x03, b"SELECT 1; SELECT 2");
    assert_eq!(errno(&wire.read_answer(1)[0]), 1064);
}

#[test]
fn commands_sent_ahead_are_answered_in_their_order() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)"] {
        wire.command(0x03, sql.as_bytes());
        assert_eq!(wire.read_answer(1)[0][0], 0, "{sql}");
    }
    // Commits are answered by whoever finishes them, the SELECTs between them by the session.
    let mut ahead = Vec::new();
    for id in 0..200 {
        ahead.extend(packet(0, format!("\x03INSERT INTO d.t VALUES ({id})").as_bytes()));
        ahead.extend(packet(0, b"\x03SELECT COUNT(*) FROM d.t"));
    }
    wire.send_raw(&ahead);
    for id in 0..200 {
        assert_eq!(wire.read_answer(1), [[0, 1, 0, 2, 0, 0, 0]], "insert {id}");
        let count = format!("{}", id + 1);
        let row = [&[count.len() as u8], count.as_bytes()].concat();
        assert_eq!(wire.read_answer(5)[3], row);
    }
}
