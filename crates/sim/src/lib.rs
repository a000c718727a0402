//! The server below its sockets on a simulated disk, driven by a seed ([`mod@run`]): one thread at a time, and every
//! choice — which session goes on, when a cohort is written, what fails, when the power goes — is the seed's. A seed
//! and a commit of this repository replay a run exactly. Or driven by a script, with a fault at each operation in turn
//! ([`mod@sweep`]).
//!
//! Outline
//! - [`client`] are sessions, which wait for locks in threads that take turns;
//! - [`machine`] is what a power cut takes down together, and how a database is opened on it;
//! - [`rows`] keeps what statements give;
//! - [`mod@run`] makes the choices, and keeps what each client received ([`history`]);
//! - [`seeds`] runs many of them;
//! - [`mod@sweep`] runs one workload again and again, with a fault at every operation in turn;
//! - [`replica`] reads what a binlog holds;
//! - [`workload`] are the transactions: bank transfers and list-append;
//! - [`mod@mount`] puts the same disk below a real server;
//! - [`check`] judges: the history by [`cycles`], the tables, the binlog and the indexes against each other.
//!
//! Invariants
//! 1. No run of a seed depends on time, on addresses or on the order of a hash map; `same_seed` breaks it.
//! 2. Expectations are never written down: checkers derive what may be from what clients received.
//!
//! Not here: a whole server on such a disk (`tests/real_process`).

pub mod check;
pub mod client;
pub mod cycles;
pub mod history;
pub mod machine;
pub mod mount;
pub mod replica;
pub mod rows;
pub mod run;
pub mod seeds;
pub mod sweep;
pub mod workload;

pub use run::{Printing, Report, run};
