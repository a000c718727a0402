//! The MySQL protocol server around `cohort-sql`: the program `cohort`.
//!
//! Outline: [`options`] turns the command line into [`sysvars::Globals`]; [`startup`] opens the data
//! directory; [`server`] listens and stops everything; `session` is one connection, on top of [`protocol`],
//! which the workers of [`pool`] serve, encrypted by [`tls`]. [`accounts`], [`audit`], [`hosts`], [`processlist`] and [`status`] are shared by all.
//! [`tools`] are the other commands of the program, which look and change nothing.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod accounts;
mod arrivals;
pub mod audit;
mod gtids;
pub mod hosts;
mod machine_memory;
pub mod operator_log;
pub mod options;
pub mod pool;
pub mod processlist;
mod readiness;
mod replicas;
pub mod server;
pub mod session;
pub mod socket;
pub mod startup;
mod statistics;
pub mod status;
pub mod sysvars;
pub mod tls;
#[allow(clippy::print_stdout, clippy::print_stderr)]
pub mod tools;

pub use cohort_protocol as protocol;

use cohort_io::{OsRandom, Randomness};

/// What `VERSION()` gives: the MySQL version whose behaviour clients may expect.
pub const VERSION: &str = "8.0.40-cohort";

/// Random bytes from the operating system, for challenges, salts and UUIDs.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    OsRandom.fill(&mut bytes);
    bytes
}
