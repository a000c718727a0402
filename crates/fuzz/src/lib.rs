//! Bytes from network and disk, fed to whatever reads them: no panic, no hang, no memory but what they are
//! worth.
//!
//! Outline: a [`Target`] is a function of bytes. `fuzz/` at the root runs each under libFuzzer (`make fuzz`);
//! `tests/replay.rs` runs the kept inputs and changes of them with every `make test`. [`memory`] measures what
//! a run takes. What was run so far: `docs/fuzzing.md`.
//!
//! A checksum that does not fit would end most runs at once, so the targets that read logs put checksums
//! right, unless the input says not to.

pub mod binlog;
pub mod compose;
pub mod journal;
pub mod memory;
pub mod protocol;
pub mod sql;

use std::path::{Path, PathBuf};

/// Something that reads bytes of strangers.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder of inputs.
    pub name: &'static str,
    /// Reads them.
    run: fn(&[u8]),
    /// Inputs made by the code that writes what it reads.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// The most memory that a run may take, bytes, beside [`Target::bytes_per_byte`].
    bytes_max: usize,
    /// And for each byte of input.
    bytes_per_byte: usize,
}

/// All of them.
pub const TARGETS: [Target; 5] = [PROTOCOL, BINLOG, JOURNAL, SQL, COMPOSE];

/// What a client sends before and between statements.
pub const PROTOCOL: Target =
    Target { name: "protocol", run: protocol::run, seeds: protocol::seeds, bytes_max: 256 << 10, bytes_per_byte: 256 };

/// Binlog files, their index, and GTID sets.
pub const BINLOG: Target =
    Target { name: "binlog", run: binlog::run, seeds: binlog::seeds, bytes_max: 2 << 20, bytes_per_byte: 512 };

/// The journal's files.
pub const JOURNAL: Target =
    Target { name: "journal", run: journal::run, seeds: journal::seeds, bytes_max: 8 << 20, bytes_per_byte: 512 };

/// Statements, parsed, planned and executed.
pub const SQL: Target =
    Target { name: "sql", run: sql::run, seeds: sql::seeds, bytes_max: 64 << 20, bytes_per_byte: 64 << 10 };

/// Deep and long statements. What an input makes of itself is longer by far; a limit of memory bounds what that takes.
pub const COMPOSE: Target =
    Target { name: "compose", run: compose::run, seeds: compose::seeds, bytes_max: 192 << 20, bytes_per_byte: 0 };

impl Target {
    /// Runs an input.
    ///
    /// # Panics
    /// When what reads it does, or when it takes more memory than the input is worth.
    pub fn run(&self, bytes: &[u8]) {
        let taken = memory::peak_of(|| (self.run)(bytes));
        let allowed = self.bytes_max + bytes.len() * self.bytes_per_byte;
        assert!(taken <= allowed, "{}: {} bytes of input took {taken} bytes of memory", self.name, bytes.len());
    }

    /// Writes its seeds into the folder that `COHORT_FUZZ_SEEDS` names, if any.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn write_seeds(&self) {
        let Some(folder) = std::env::var_os("COHORT_FUZZ_SEEDS") else { return };
        for (number, seed) in (self.seeds)().iter().enumerate() {
            let path = Path::new(&folder).join(format!("seed-{number:03}"));
            std::fs::write(&path, seed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }

    /// Where its kept inputs are.
    pub fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }
}
