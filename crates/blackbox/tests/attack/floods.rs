//! Connections: many, slow ones, halves of handshakes, and such that take no answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cohort_blackbox::wire::{Wire, login_as};
use rustix::net::sockopt::set_socket_linger;

use crate::{PATIENCE, Target, withstands};

/// From how many addresses attackers come, and with how many connections from each: more than a host has places.
const HOSTS: u8 = 8;
const EACH: usize = 150;

/// An attacker's connection, or nothing where the server has no place for it.
fn connect(target: &Target, host: u8) -> Option<Wire> {
    Wire::connect_from([127, 0, 1, host + 1], target.server.port()).ok()
}

fn hold(target: &Target) -> Vec<Wire> {
    (0..HOSTS).flat_map(|host| (0..EACH).filter_map(move |_| connect(target, host))).collect()
}

/// Waits until the server has closed all of them, while `poke` does what it does to each.
fn until_closed(mut held: Vec<Wire>, mut poke: impl FnMut(&mut Wire) -> bool) -> Result<()> {
    let begun = Instant::now();
    for wire in &mut held {
        wire.stream().set_nonblocking(true)?;
    }
    while !held.is_empty() {
        ensure!(begun.elapsed() < PATIENCE, "{} connections are still there", held.len());
        held.retain_mut(|wire| poke(wire) && !is_closed(wire.stream()));
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn is_closed(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn a_flood_of_connections() -> Result<()> {
    withstands("a flood of connections", |target| {
        for _ in 0..target.attempts {
            let host = target.rng.below(HOSTS.into()) as u8;
            let Some(mut wire) = connect(target, host) else { continue };
            match target.rng.below(4) {
                0 => {}
                // Closed with a reset.
                1 => set_socket_linger(wire.stream(), Some(Duration::ZERO))?,
                2 => wire.end_of_input()?,
                _ => drop(wire.answer()),
            }
        }
        Ok(())
    })
}

#[test]
fn connections_that_say_nothing() -> Result<()> {
    withstands("silent connections", |target| until_closed(hold(target), |_| true))
}

#[test]
fn logins_one_byte_at_a_time() -> Result<()> {
    withstands("slow logins", |target| {
        let login = login_as("root", &[7; 20]);
        let mut packet = (login.len() as u32 | 1 << 24).to_le_bytes().to_vec();
        packet.extend(login);
        let mut sent = 0;
        until_closed(hold(target), |wire| {
            sent += 1;
            wire.stream().write(&packet[sent / 1000 % packet.len()..][..1]).is_ok()
        })
    })
}

#[test]
fn halves_of_handshakes() -> Result<()> {
    withstands("halves of TLS handshakes", |target| {
        let mut held = hold(target);
        let request =
            [&[32, 0, 0, 1][..], &(1_u32 << 9 | 1 << 11 | 1 << 15 | 1 << 19).to_le_bytes(), &[0; 28]].concat();
        // The head of a ClientHello, of a whole record, and of one that never ends.
        let hellos: [&[u8]; 4] =
            [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x16\x03\x01\x40\x00\x01\xff\xff\xff"];
        for (number, wire) in held.iter_mut().enumerate() {
            // Some have been closed already.
            let _ = wire.send_raw(&[&request, hellos[number % hellos.len()]].concat());
        }
        until_closed(held, |wire| {
            wire.stream().write(b"\0").map_or_else(|error| error.kind() == std::io::ErrorKind::WouldBlock, |_| true)
        })
    })
}

#[test]
fn answers_that_nobody_takes() -> Result<()> {
    withstands("untaken answers", |target| {
        let sessions: Vec<Wire> = (0..60).filter_map(|_| crate::packets::log_in(target).ok()).collect();
        ensure!(sessions.len() > 30, "{} could log in", sessions.len());
        let mut held = Vec::new();
        for mut wire in sessions {
            // Many answers that fill the socket, and more commands than the server reads.
            let sql = b"\x03SELECT REPEAT('x', 900000)".as_slice();
            let packet = [&(sql.len() as u32).to_le_bytes()[..], sql].concat();
            wire.send_raw(&packet.repeat(20))?;
            held.push(wire);
        }
        // Not read, but looked at: the server ends them after net_write_timeout.
        let begun = Instant::now();
        let mut root = target.server.connect()?;
        loop {
            let (_, aborted): (String, u64) =
                mysql::prelude::Queryable::query_first(&mut root, "SHOW GLOBAL STATUS LIKE 'Aborted_clients'")?
                    .unwrap_or_default();
            if aborted as usize >= held.len() {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "{aborted} of {} were ended", held.len());
            std::thread::sleep(Duration::from_millis(50));
        }
    })
}
