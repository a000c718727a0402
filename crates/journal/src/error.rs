//! What can go wrong with the journal, split by what the caller must do.

use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::IoError;

use super::Lsn;

/// The journal takes nothing more; only a restart, with its recovery, shows what is there. Cloned to
/// everyone whose commit was in the write.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// This call's write or sync failed, and the journal is sealed now.
    #[error("journal: {0}")]
    Failed(Arc<IoError>),
    /// An earlier write or sync failed, or the journal was closed. Nothing was written.
    #[error("journal is sealed: {0}")]
    Sealed(Arc<str>),
    /// The scan was not read to its end, so that the journal's end is not known. Nothing was written.
    #[error("journal is not recovered yet")]
    NotRecovered,
    /// More was laid out than was reserved. Nothing was written.
    #[error("journal: {needed} bytes laid out without a reservation, {left} are left")]
    NotReserved {
        /// Bytes of the record.
        needed: u64,
        /// Bytes left in prepared segments.
        left: u64,
    },
    /// No room for a new checkpoint. The one before still counts, and the journal goes on.
    #[error("journal: {0}")]
    NoSpace(Arc<IoError>),
}

/// Room could not be set aside.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReserveError {
    /// The disk is full: fail the statement. The journal goes on, and works again with room.
    #[error("no space left for {needed} bytes of journal: {source}")]
    NoSpace {
        /// Bytes asked for.
        needed: u64,
        /// What the system said.
        source: Arc<IoError>,
    },
    /// More than the journal takes for one transaction: fail the statement.
    #[error("{needed} bytes of journal for one transaction, the most is {max}")]
    TooLarge {
        /// Bytes asked for.
        needed: u64,
        /// [`JournalOptions::reservation_bytes_max`](super::JournalOptions::reservation_bytes_max).
        max: u64,
    },
    /// The journal takes nothing more.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Why a journal cannot be opened. Records and segments were left as they were.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system refused; try again when its cause is gone.
    #[error("journal: {0}")]
    Io(#[from] IoError),
    /// Making what was found durable failed. What a later start finds may be less.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Written by a newer server: start that one.
    #[error(
        "{path} has journal format version {found} at byte 8, this server reads up to {supported}: \
         start it with the server that wrote it", path = path.display()
    )]
    Newer {
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The highest one known here.
        supported: u32,
    },
    /// A file that must be there is not.
    #[error("{path} is missing although {why}: restore it, or the whole data directory, from a backup", path = path.display())]
    Missing {
        path: PathBuf,
        /// What needs it.
        why: String,
    },
    /// Damage that no crash explains.
    #[error("{path} is damaged at byte {offset}{at}: {what}; {choice}", path = path.display(), at = At(*lsn), choice = Choice(*lsn))]
    Damaged {
        path: PathBuf,
        /// Byte offset in it.
        offset: u64,
        /// The record's place in the journal, where one is concerned.
        lsn: Option<Lsn>,
        what: String,
    },
}

struct At(Option<Lsn>);

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |lsn| write!(f, " (lsn {lsn})"))
    }
}

struct Choice(Option<Lsn>);

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing was changed; restore the file from a copy")?;
        match self.0 {
            Some(lsn) => write!(
                f,
                ", or start once with --journal-cut-at={lsn} to keep what lies before it and lose \
                 every commit from there on"
            ),
            None => f.write_str(", or the whole data directory from a backup"),
        }
    }
}
