//! The server below its sockets on a simulated disk, driven by a seed: one thread, and every choice — which
//! session goes on, when a cohort is written, what fails, when the power goes — is the seed's. A seed and a
//! commit of this repository replay a run exactly.
//!
//! Outline
//! - [`machine`] is what a power cut takes down together, and how a database is opened on it;
//! - [`environment`] stands in for what a server gives to statements;
//! - [`mod@run`] makes the choices, and keeps what each client was told ([`history`]);
//! - [`workload`] are the transactions: bank transfers and list-append;
//! - [`mod@mount`] puts the same disk below a real server;
//! - [`check`] judges: the history by [`cycles`], the tables, the binlog and the indexes against each other.
//!
//! Invariants
//! 1. Nothing here depends on time, on addresses or on the order of a hash map; `same_seed` breaks it.
//! 2. Expectations are never written down: checkers derive what may be from what clients were told.
//!
//! Not here: lock waits and deadlocks, which need threads (`txn`, `locks`): a statement that would wait fails
//! with 1205 and is tried again later. RocksDB, whose files are below its own file layer: the memory engine
//! stands for it, and the real one is under power cuts in `blackbox`.

pub mod check;
pub mod cycles;
pub mod environment;
pub mod history;
pub mod machine;
pub mod mount;
pub mod run;
pub mod workload;

pub use run::{Report, Telling, run};
