//! Runs servers as their users do: as processes, over sockets, with the clients people have.
//!
//! Of the server's crates only [`CommitProtocol`](cohort_txn::CommitProtocol) is used, which lists the protocols: a test
//! in `tests/` can only see what a client, an operator or a reader of the files sees. The benchmark uses the same [`Server`] and [`MariaDb`].
//!
//! # Outline
//! * [`server`] starts, kills, stops and restarts the `cohort` binary on a data directory;
//! * [`mariadb`] starts a private MariaDB, the peer and the judge;
//! * [`mod@tool`] runs a client program to its end and keeps what it said;
//! * [`strace`] counts the syncing writes a traced server asked the kernel for;
//! * [`replica`] rebuilds tables from a binlog with a decoder that is not ours;
//! * [`Shape`] is what two servers' result columns are compared by;
//! * [`wire`] is a client by hand, without the manners of a library;
//! * [`load`] runs transactions and remembers what became of each, [`check`] looks for them;
//! * [`wait_until`] waits for a state, with a deadline;
//! * [`rng`] is the seed after everything random, printed so that a failure can be replayed.
//!
//! # Environment
//! | variable | effect |
//! | --- | --- |
//! | `COHORT_BIN` | the server binary to test; otherwise it is built and found next to the tests |
//! | `COHORT_SEED` | the seed of the random tests; otherwise taken from the clock and printed |
//! | `COHORT_ROUNDS` | rounds of the tests that kill the server |
//! | `COHORT_SECONDS` | how long a random comparison goes on, with fresh seeds |
//! | `COHORT_ATTACKS` | how many random packets and statements an attack sends; then others' p99 is judged as well |
//! | `COHORT_FOLLOW` | how many transactions the load for followers of the binlog has; then all of them follow |
//! | `COHORT_WHOLE` | a corpus is run as a whole, not a sample of it |
//! | `COHORT_DIFFERENCES` | how many differences end that of generated statements |

pub mod check;
pub mod load;
pub mod mariadb;
mod process;
pub mod processors;
pub mod replica;
pub mod rng;
pub mod server;
mod shape;
pub mod strace;
pub mod tool;
mod wait;
pub mod wire;

pub use mariadb::{MariaDb, SystemTables};
pub use process::{Usage, bytes_on_the_way, free_port};
pub use server::{Launch, Refusal, Server, binlog_end};
pub use shape::Shape;
pub use tool::{Output, fetched, tool};
pub use wait::wait_until;
