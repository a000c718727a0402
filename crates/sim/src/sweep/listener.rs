//! A reader of the binlog, as a replica is one: what it got may not be taken back by any crash (I4).

use anyhow::{Context, Result, ensure};
use cohort_binlog::{BinlogPosition, Followed, Follower, ReadError};
use cohort_io::{FileSystem, read_whole};
use cohort_txn::Store;

/// Where the mark of a file in use stands: closing the file changes it.
const IN_USE_AT: u64 = 21;

/// A piece of a file, as a reader got it.
#[derive(Clone, Debug)]
pub struct Heard {
    at: BinlogPosition,
    bytes: Vec<u8>,
}

/// Follows a store's binlog from its present end.
pub struct Listener<'a> {
    follower: Option<Follower<'a>>,
}

impl<'a> Listener<'a> {
    pub fn begin(store: &'a Store) -> Result<Listener<'a>> {
        let binlog = store.binlog();
        let follower = store.log_bin().then(|| binlog.follow(binlog.tail().durable())).transpose();
        Ok(Listener { follower: follower.context("nobody can follow the binlog from its end")? })
    }

    /// Everything that a reader may have got by now. Nothing of it is read from the disk, which may be gone, so that it
    /// ends at a large transaction, whose events are in a file only.
    pub fn end(self) -> Result<Vec<Heard>> {
        let mut heard = Vec::new();
        let Some(mut follower) = self.follower else { return Ok(heard) };
        heard.push(Heard { at: follower.position(), bytes: Vec::new() });
        loop {
            let number = follower.position().file_number;
            let followed = match follower.next() {
                Err(ReadError::Io(_)) => return Ok(heard),
                followed => followed.context("a reader at the live end")?,
            };
            match followed {
                Followed::Known(_) => unreachable!("it follows by position"),
                Followed::UpToDate => return Ok(heard),
                Followed::NextFile => {
                    let at = BinlogPosition { file_number: number + 1, offset: 4 };
                    heard.push(Heard { at, bytes: Vec::new() });
                }
                Followed::Event { bytes, .. } => {
                    let last = heard.last_mut().context("there is a piece")?;
                    last.bytes.extend_from_slice(bytes);
                }
            }
        }
    }
}

/// Whether the files still have everything that readers got.
pub fn check(store: &Store, fs: &dyn FileSystem, heard: &[Heard]) -> Result<()> {
    for Heard { at, bytes } in heard {
        let file = read_whole(fs, &store.binlog().path(at.file_number), 1 << 30)
            .with_context(|| format!("readers got {} bytes from {at} on", bytes.len()))?;
        let there = file.get(at.offset as usize..).unwrap_or_default();
        let same = |(number, (ours, theirs)): (u64, (&u8, &u8))| ours == theirs || at.offset + number == IN_USE_AT;
        let kept = there.len() >= bytes.len() && (0..).zip(there.iter().zip(bytes)).all(same);
        ensure!(kept, "readers got {} bytes from {at} on, which are not in the binlog", bytes.len());
    }
    Ok(())
}
