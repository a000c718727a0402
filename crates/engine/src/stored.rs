//! What every engine keeps beside its callers' entries, and why a directory is refused.
//!
//! Format: under the key `00`, which is shorter than any caller's, the version of the engine's format
//! (1 byte) and the position (8 bytes, big-endian).

use std::path::{Path, PathBuf};

use crate::Position;

/// The key of the position.
pub const POSITION_KEY: &[u8] = &[0];

/// The value under [`POSITION_KEY`].
pub fn encode(version: u8, position: Position) -> [u8; 9] {
    let mut value = [version; 9];
    value[1..].copy_from_slice(&position.0.to_be_bytes());
    value
}

/// Reads what [`encode`] wrote for the engine in `dir`, whose format is `known`.
pub fn decode(known: u8, value: &[u8], dir: &Path) -> Result<Position, OpenError> {
    let dir = dir.to_path_buf();
    match value.split_first() {
        Some((&version, _)) if version > known => {
            Err(OpenError::Newer { dir, detail: format!("format {version}, known up to {known}") })
        }
        Some((&version, position)) if version == known && position.len() == 8 => {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(position);
            Ok(Position(u64::from_be_bytes(bytes)))
        }
        _ => Err(OpenError::Foreign { dir, detail: "its first key is not this engine's".into() }),
    }
}

/// Why a directory could not be opened; nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or this one, has it open.
    #[error("{}: in use by another process", .dir.display())]
    InUse {
        /// The engine's directory.
        dir: PathBuf,
    },
    /// There is something in the directory that this engine did not put there.
    #[error("{}: not a directory of this engine: {detail}", .dir.display())]
    Foreign {
        /// The engine's directory.
        dir: PathBuf,
        /// What was found.
        detail: String,
    },
    /// Written by a later release.
    #[error("{}: written by a newer version: {detail}", .dir.display())]
    Newer {
        /// The engine's directory.
        dir: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The files do not hold what was written to them.
    #[error("{}: damaged: {detail}", .dir.display())]
    Damaged {
        /// The engine's directory.
        dir: PathBuf,
        /// What the engine's library said, with the file.
        detail: String,
    },
    /// A crash tore a file, and it was opened for reading only.
    #[error("{}: a crash tore {detail}; the next start of the server cuts it there", .dir.display())]
    Torn {
        /// The engine's directory.
        dir: PathBuf,
        /// The file and where.
        detail: String,
    },
    /// No room on the device.
    #[error("{}: no space left: {detail}", .dir.display())]
    NoSpace {
        /// The engine's directory.
        dir: PathBuf,
        /// What the engine's library said.
        detail: String,
    },
    /// The operating system refused something.
    #[error("{}: {detail}", .dir.display())]
    Io {
        /// The engine's directory.
        dir: PathBuf,
        /// What was refused.
        detail: String,
    },
}
