//! Random packets, before a login and after one.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng::Rng;
use cohort_blackbox::wire::{Wire, login_as};

use crate::{ATTACKER, PASSWORD, Target, withstands};

/// The most bytes of one random packet, but for the few that are long.
const SHORT: u64 = 200;
const LONG: u64 = 100_000;

fn noise(rng: &mut Rng) -> Vec<u8> {
    let most = if rng.chance(1) { LONG } else { SHORT };
    (0..rng.below(most)).map(|_| rng.bits() as u8).collect()
}

/// Some of the bytes replaced, taken out, doubled, or put where they do harm.
fn damage(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    const HARMFUL: [u8; 10] = [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, b'\''];
    for _ in 0..=rng.below(4) {
        if bytes.is_empty() {
            return noise(rng);
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(5) {
            0 => bytes[at] = rng.bits() as u8,
            1 => bytes[at] = HARMFUL[rng.below(HARMFUL.len() as u64) as usize],
            2 => bytes.truncate(at),
            3 => drop(bytes.remove(at)),
            _ => {
                let end = at + rng.below((bytes.len() - at) as u64 + 1) as usize;
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

fn framed(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend(payload);
    packet
}

/// What somebody sends who has not logged in.
fn before_login(rng: &mut Rng) -> Vec<u8> {
    // Not root, which has no password here: damage may leave none of the response.
    let login = login_as([ATTACKER, "", "nobody"][rng.below(3) as usize], &[7; 20]);
    match rng.below(7) {
        0 => noise(rng),
        1 => framed(rng.below(3) as u8, &noise(rng)),
        2 => framed(1, &damage(rng, login)),
        3 => damage(rng, framed(1, &login)),
        // A statement in place of the login, or right after it.
        4 => framed(0, b"\x03SELECT USER()"),
        5 => [framed(1, &login), framed(0, b"\x03DROP DATABASE d"), framed(3, &noise(rng))].concat(),
        // TLS asked for, then something else.
        _ => {
            let mut request = login[..32].to_vec();
            request[1] |= 0x08;
            let hello = [b"\x16\x03\x01\x00\x50\x01\x00\x00\x4c\x03\x03".as_slice(), &noise(rng)].concat();
            [framed(1, &request), damage(rng, hello)].concat()
        }
    }
}

#[test]
fn random_packets_before_a_login() -> Result<()> {
    withstands("random packets before a login", |target| {
        for _ in 0..target.attempts {
            let host = [127, 0, 1, target.rng.below(8) as u8 + 1];
            // Without a place there is no greeting.
            let mut wire = Wire::connect_from(host, target.server.port())?;
            let bytes = before_login(&mut target.rng);
            // The server may close before it has all of it.
            let _ = wire.send_raw(&bytes);
            if target.rng.chance(80) {
                let _ = wire.stream().shutdown(Shutdown::Write);
                let mut answer = Vec::new();
                let _ = wire.stream().read_to_end(&mut answer);
                // After the greeting, whose number is 0, no packet is an OK or a result.
                ensure!(!lets_in(&answer), "let in by {bytes:?}: {answer:?}");
            }
        }
        Ok(())
    })
}

/// Whether a server's packets have an OK among them.
fn lets_in(mut bytes: &[u8]) -> bool {
    while bytes.len() > 4 {
        let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        let Some(payload) = bytes.get(4..4 + length) else { return false };
        if payload.first() == Some(&0) {
            return true;
        }
        bytes = &bytes[4 + length..];
    }
    false
}

/// A session of the attacker by hand. The response to the challenge is that of mysql_native_password.
pub fn log_in(target: &Target) -> Result<Wire> {
    let mut wire = Wire::connect_from([127, 0, 1, 1], target.server.port())?;
    let greeting = wire.packet()?;
    let version = greeting[1..].iter().position(|&byte| byte == 0).context("a version")?;
    let at = 1 + version + 1 + 4;
    let challenge = [&greeting[at..at + 8], &greeting[at + 8 + 19..at + 8 + 19 + 12]].concat();
    let response = mysql_common::auth::plugins::mysql_native_password::scramble_native(&challenge, PASSWORD.as_bytes())
        .context("a response")?;
    wire.send(1, &login_as(ATTACKER, &response))?;
    let answer = wire.packet()?;
    ensure!(answer.first() == Some(&0), "not let in: {answer:?}");
    Ok(wire)
}

/// Commands with what belongs to them: the first byte says which. None of them ends the session.
const COMMANDS: [&[u8]; 14] = [
    b"\x02junk",
    b"\x03SELECT 1, 'x', NULL FROM junk.t",
    b"\x03INSERT INTO junk.t (a, b) VALUES (7, 'z') ON DUPLICATE KEY UPDATE b = 'y'",
    b"\x04t\0%",
    b"\x16SELECT ?, ?, b FROM junk.t WHERE a = ?",
    b"\x16INSERT INTO junk.t VALUES (?, ?, ?)",
    b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfd\0\x0c\0\x07\0\0\0\0\0\0\0\x05hello\x07\xe8\x07\x02\x1d\x0c\x22\x38",
    b"\x18\x01\0\0\0\0\0some more of it",
    b"\x19\x01\0\0\0",
    b"\x1a\x01\0\0\0",
    b"\x1c\x01\0\0\0\x01\0\0\0",
    b"\x1b\x01\0",
    b"\x11mallory\0\x14aaaaaaaaaaaaaaaaaaaajunk\0\x2d\0mysql_native_password\0",
    b"\x12\x04\0\0\0\0\0\x01\0\0\0binlog.000001",
];

#[test]
fn random_packets_after_a_login() -> Result<()> {
    withstands("random packets after a login", |target| {
        let mut sent = 0;
        while sent < target.attempts {
            let mut wire = log_in(target)?;
            // Many at a time, in one stream; what the server answers is thrown away.
            let mut bytes = Vec::new();
            for _ in 0..=target.rng.below(6) {
                let rng = &mut target.rng;
                let command = COMMANDS[rng.below(COMMANDS.len() as u64) as usize].to_vec();
                bytes.extend(match rng.below(10) {
                    0 => damage(rng, framed(0, &command)),
                    1 => framed(rng.bits() as u8, &noise(rng)),
                    2 => framed(0, &noise(rng)),
                    3..6 => framed(0, &command),
                    _ => framed(0, &damage(rng, command)),
                });
                sent += 1;
            }
            let stream = wire.stream();
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            // The server may close before it has all of it.
            let _ = stream.write_all(&bytes);
            let _ = stream.shutdown(Shutdown::Write);
            let mut answers = Vec::new();
            match stream.read_to_end(&mut answers) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    anyhow::bail!("no end after {bytes:?}");
                }
                _ => {}
            }
        }
        Ok(())
    })
}
