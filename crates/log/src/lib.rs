//! The server's logs: the journal, which makes commits durable, and the binlog, which tells the world.
//!
//! Neither knows who writes to it: order, durability and recovery are decided by `cohort-txn`.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod binlog;
pub mod journal;
