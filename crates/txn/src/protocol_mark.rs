//! Which protocol wrote the logs of a data directory, in a file of its own.
//!
//! Recovery is that protocol's, whatever the setting says by then. The mark is written before the first
//! commit of a protocol, and changed only when everything of the one before is recovered, closed and durable.
//!
//! Format: two lines of text, `commit_protocol=mysql50 support_xa=OFF` and the CRC-32C of the first with its
//! line end, `crc32c=0a1b2c3d`.

use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::{FileSystem, IoError, read_whole, replace_whole};

use crate::commit_protocol::CommitProtocol;

const NAME: &str = "commit_protocol=";
const CHECKSUM: &str = "crc32c=";
const BYTES_MAX: u64 = 256;

/// The file of a data directory that names the protocol which wrote its logs.
pub struct ProtocolMark {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
}

/// The mark cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file does not hold what was written to it.
    #[error(
        "{} is damaged, so it is not known which commit protocol wrote the logs; restore the file from a backup, or \
         move it away if that was the journal",
        .0.display()
    )]
    Damaged(PathBuf),
}

impl ProtocolMark {
    /// The mark in the file at `path`.
    pub fn new(fs: Arc<dyn FileSystem>, path: PathBuf) -> ProtocolMark {
        ProtocolMark { fs, path }
    }

    /// The protocol that wrote the logs; `None` where no mark was ever set.
    pub fn read(&self) -> Result<Option<CommitProtocol>, MarkError> {
        if !self.fs.exists(&self.path)? {
            return Ok(None);
        }
        let bytes = read_whole(&*self.fs, &self.path, BYTES_MAX)?;
        decode(&bytes).map(Some).ok_or_else(|| MarkError::Damaged(self.path.clone()))
    }

    /// Says that `protocol` writes the logs from now on; durable when it returns.
    pub fn write(&self, protocol: CommitProtocol) -> Result<(), MarkError> {
        Ok(replace_whole(&*self.fs, &self.path, &encode(protocol), None)?)
    }
}

fn encode(protocol: CommitProtocol) -> Vec<u8> {
    let line = format!("{NAME}{protocol}\n");
    let checksum = crc32c::crc32c(line.as_bytes());
    format!("{line}{CHECKSUM}{checksum:08x}\n").into_bytes()
}

fn decode(bytes: &[u8]) -> Option<CommitProtocol> {
    let text = std::str::from_utf8(bytes).ok()?;
    let name = text.lines().next()?.strip_prefix(NAME)?;
    let protocol = name.parse().ok()?;
    (encode(protocol) == bytes).then_some(protocol)
}

#[cfg(test)]
mod tests {
    use cohort_io::SimDisk;

    use super::*;

    #[test]
    fn the_mark_is_there_after_a_power_cut() {
        let mut disk = SimDisk::new(1);
        disk.create_dir_all(&PathBuf::from("/data")).expect("a directory");
        let mark = |disk: &SimDisk| ProtocolMark::new(Arc::new(disk.clone()), "/data/mark".into());
        assert_eq!(mark(&disk).read().expect("no mark"), None);
        for protocol in CommitProtocol::ALL {
            mark(&disk).write(protocol).expect("a write");
            disk = disk.crash();
            assert_eq!(mark(&disk).read().expect("a mark"), Some(protocol));
        }
    }

    #[test]
    fn no_flip_and_no_cut_passes_for_another_protocol() {
        for protocol in CommitProtocol::ALL {
            let whole = encode(protocol);
            assert_eq!(decode(&whole), Some(protocol));
            for at in 0..whole.len() {
                assert_eq!(decode(&whole[..at]), None, "{protocol}, cut at {at}");
                for mask in 1..=u8::MAX {
                    let mut flipped = whole.clone();
                    flipped[at] ^= mask;
                    assert_eq!(decode(&flipped), None, "{protocol}, byte {at}, mask {mask:#x}");
                }
            }
        }
    }
}
