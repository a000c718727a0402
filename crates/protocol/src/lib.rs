//! The MySQL client/server protocol, seen from the server: bytes in, bytes out, no sockets.
//!
//! Outline: [`packet`] cuts a byte stream into packets and frames what goes out; [`decode`] and
//! [`encode`] are the primitive types; [`handshake`] the first two packets, [`auth`] the passwords,
//! [`reply`] OK, ERR and EOF, [`columns`] and [`rows`] result sets, [`parameters`] what a prepared
//! statement is executed with.
//!
//! Invariants
//! 1. Nothing here trusts a length that came from a client: every read goes through
//!    [`decode::Decoder`], and memory grows with the bytes received, not with the bytes announced.
//! 2. A packet of 16 MiB - 1 bytes or more goes out in parts, the last one shorter, as the format wants.
//!
//! Not here: what a command does (`session`), and which errors exist ([`cohort_types::error`]).

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod auth;
pub mod columns;
pub mod constants;
pub mod decode;
pub mod encode;
pub mod handshake;
pub mod packet;
pub mod parameters;
pub mod replication;
pub mod reply;
pub mod rows;
