//! Measures `cohort` side by side with MariaDB, under unmodified sysbench.
//!
//! # Outline
//! 1. [`plan`] says which workloads run with how many clients, and what ratio is asked for;
//! 2. [`contender`] starts both servers, fully durable, and prepares the same tables in each;
//! 3. [`schedule`] runs every case on both in turn, round after round, so that whatever the machine
//!    does meanwhile hits both;
//! 4. [`syncs`] counts the syncing writes of a commit in runs of their own, under strace;
//! 5. [`recovery`] kills a server with 1 GiB of journal after its checkpoint and times the next start;
//! 6. [`encryption`] runs the same loads over plain TCP and over TLS, on our server alone;
//! 7. [`readers`] measures what readers of the binlog get, and what they cost;
//! 8. [`tpch`] asks both servers the queries of TPC-H and compares answers and times;
//! 9. [`tpcc`] runs the transactions of TPC-C on both;
//! 10. [`training`] runs small forms of them, for the release binary to be laid out by;
//! 11. [`report`] takes medians and writes the table, the JSON and, by [`chart`], the drawings.
//!
//! A ratio is the median of the ratios of each round, not the ratio of two medians: a slow minute
//! of the machine falls on both sides of the same round.

pub mod chart;
pub mod contender;
pub mod encryption;
pub mod history;
pub mod large;
pub mod machine;
pub mod medians;
pub mod plan;
pub mod progress;
pub mod readers;
pub mod recovery;
pub mod report;
pub mod rows;
pub mod schedule;
pub mod syncs;
pub mod sysbench;
pub mod tpcc;
pub mod tpch;
pub mod training;
