//! Everything the server needs of the world outside: files, directories, the clock, randomness, and the kernel's help in
//! waiting for other threads ([`sync`]) and in sharing processors with them ([`scheduling`]).
//!
//! The rest of the server reaches the disk through [`FileSystem`] and [`File`] only, so that logs and
//! recovery run unchanged on [`RealFs`] and on [`SimDisk`], which forgets what was not synced.
//!
//! Words: *flush* = handed to the operating system; *sync* = on stable storage.
//!
//! Invariants
//! 1. An error keeps what was tried, on which path and at which offset ([`IoError`]).
//! 2. [`SyncCounters`] count system calls, not intentions: what they say is what the kernel counts.
//! 3. A write returns only when every byte was taken, or with an error.
//!
//! Not here: formats of any file (`cohort-journal`, `cohort-binlog`), sockets (`cohort-server`).

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod aligned;
mod clock;
mod counters;
mod error;
mod fs;
mod names;
mod random;
mod real;
pub mod scheduling;
mod scratch;
mod sim;
pub mod sync;
mod whole;

pub use aligned::{AlignedBuf, BLOCK};
pub use clock::{Clock, SimClock, SystemClock};
pub use counters::{SyncCounters, SyncStats};
pub use error::IoError;
pub use fs::{Access, Create, File, FileLock, FileSystem, OpenOptions};
pub use names::{own_name, renew_name, restore_names};
pub use random::{OsRandom, Randomness, SeededRandom, splitmix64};
pub use real::RealFs;
pub use scratch::ScratchFs;
pub use sim::{Fault, SimDisk};
pub use whole::{Replacement, read_whole, replace_whole};
