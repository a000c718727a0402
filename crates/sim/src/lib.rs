//! The server below its sockets on a simulated disk, driven by a seed: one thread at a time, and every choice — which
//! session goes on, when a cohort is written, what fails, when the power goes — is the seed's. A seed and a
//! commit of this repository replay a run exactly.
//!
//! Outline
//! - [`client`] are sessions, which wait for locks in threads that take turns;
//! - [`machine`] is what a power cut takes down together, and how a database is opened on it;
//! - [`environment`] stands in for what a server gives to statements;
//! - [`mod@run`] makes the choices, and keeps what each client was told ([`history`]);
//! - [`seeds`] runs many of them;
//! - [`workload`] are the transactions: bank transfers and list-append;
//! - [`mod@mount`] puts the same disk below a real server;
//! - [`check`] judges: the history by [`cycles`], the tables, the binlog and the indexes against each other.
//!
//! Invariants
//! 1. Nothing here depends on time, on addresses or on the order of a hash map; `same_seed` breaks it.
//! 2. Expectations are never written down: checkers derive what may be from what clients were told.
//!
//! Not here: groups of several transactions under the classic protocols, whose leaders and followers wait for each
//! other in the middle of a commit (`txn`, `protocols/tests.rs`). RocksDB, whose files are below its own file layer:
//! an engine in memory with a log stands for it, and the real one is under power cuts in `tests/real_process`.

pub mod check;
pub mod client;
pub mod cycles;
pub mod environment;
pub mod history;
pub mod machine;
pub mod mount;
pub mod run;
pub mod seeds;
pub mod workload;

pub use run::{Report, Telling, run};
