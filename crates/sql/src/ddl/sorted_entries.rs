//! Sorts index entries, more of them than memory may hold: runs that are sorted in memory go to files without a name,
//! and come back merged.
//!
//! Format of a run: for each entry the lengths of key and value, four bytes each (little-endian), key and value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ER_ERROR_ON_READ, ER_ERROR_ON_WRITE, SqlError};
use crate::memory::{MemoryUse, key_bytes};

/// An index entry: key and value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Most bytes of entries that are sorted in memory at a time.
const RUN_BYTES: usize = 16 << 20;
/// Bytes that are read of a run at a time.
const READ_BYTES: usize = 64 << 10;

/// Takes entries in any order.
pub(super) struct SortedEntries<'m> {
    memory: &'m MemoryUse,
    run_bytes: usize,
    entries: Vec<Entry>,
    bytes: usize,
    runs: Vec<Run>,
}

/// A file of sorted entries.
struct Run {
    file: File,
    bytes: u64,
}

impl<'m> SortedEntries<'m> {
    /// Nothing yet. Entries in memory count to `memory`, and take no more than a part of what it has left.
    pub(super) fn new(memory: &'m MemoryUse) -> SortedEntries<'m> {
        let left = usize::try_from(memory.left() / 4).unwrap_or(usize::MAX);
        SortedEntries { memory, run_bytes: RUN_BYTES.min(left), entries: Vec::new(), bytes: 0, runs: Vec::new() }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), SqlError> {
        let bytes = key_bytes(&key) + size_of::<Entry>() + value.len();
        if self.bytes + bytes > self.run_bytes && !self.entries.is_empty() {
            self.spill().map_err(|error| SqlError::new(ER_ERROR_ON_WRITE, &[&"(sort)", &error]))?;
        }
        self.memory.hold_row(bytes)?;
        self.bytes += bytes;
        self.entries.push((key, value));
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        self.entries.sort_unstable();
        let mut out = BufWriter::new(unnamed_file()?);
        let mut written = 0;
        for (key, value) in self.entries.drain(..) {
            out.write_all(&(key.len() as u32).to_le_bytes())?;
            out.write_all(&(value.len() as u32).to_le_bytes())?;
            out.write_all(&key)?;
            out.write_all(&value)?;
            written += (8 + key.len() + value.len()) as u64;
        }
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.runs.push(Run { file, bytes: written });
        self.bytes = 0;
        self.memory.begin_row();
        Ok(())
    }

    /// Sorts what is in memory; no entry can be added any more.
    pub(super) fn end(&mut self) {
        self.entries.sort_unstable();
    }

    /// Whether there is no entry.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.runs.is_empty()
    }

    /// All entries in order, from the first; to be called after [`SortedEntries::end`].
    pub(super) fn iter(&self) -> Result<Merge<'_>, SqlError> {
        let mut merge = Merge { sources: Vec::new(), heads: BinaryHeap::new(), failed: None };
        merge.sources.push(Source::Memory(self.entries.iter()));
        merge.sources.extend(self.runs.iter().map(|run| Source::File(RunReader::new(run))));
        for at in 0..merge.sources.len() {
            merge.advance(at);
        }
        merge.result().map(|()| merge)
    }
}

/// Entries of several sources, in order.
pub(super) struct Merge<'s> {
    sources: Vec<Source<'s>>,
    heads: BinaryHeap<Reverse<(Entry, usize)>>,
    failed: Option<io::Error>,
}

enum Source<'s> {
    Memory(std::slice::Iter<'s, Entry>),
    File(RunReader<'s>),
}

impl Merge<'_> {
    fn advance(&mut self, at: usize) {
        let next = match &mut self.sources[at] {
            Source::Memory(entries) => Ok(entries.next().cloned()),
            Source::File(reader) => reader.next(),
        };
        match next {
            Ok(Some(entry)) => self.heads.push(Reverse((entry, at))),
            Ok(None) => {}
            Err(error) => self.failed = Some(error),
        }
    }

    /// An error if the entries ended because they could not be read.
    pub(super) fn result(&self) -> Result<(), SqlError> {
        match &self.failed {
            Some(error) => Err(SqlError::new(ER_ERROR_ON_READ, &[&"(sort)", error])),
            None => Ok(()),
        }
    }
}

impl Iterator for Merge<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.failed.is_some() {
            return None;
        }
        let Reverse((entry, at)) = self.heads.pop()?;
        self.advance(at);
        Some(entry)
    }
}

struct RunReader<'s> {
    run: &'s Run,
    /// Where the next bytes are read.
    at: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl RunReader<'_> {
    fn new(run: &Run) -> RunReader<'_> {
        RunReader { run, at: 0, buffer: Vec::new(), used: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.used == self.buffer.len() && self.at == self.run.bytes {
            return Ok(None);
        }
        let (key_len, value_len) = (self.length()?, self.length()?);
        Ok(Some((self.take(key_len)?.to_vec(), self.take(value_len)?.to_vec())))
    }

    fn length(&mut self) -> io::Result<usize> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn take(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.used < len {
            self.buffer.drain(..self.used);
            self.used = 0;
            let have = self.buffer.len();
            let left = usize::try_from(self.run.bytes - self.at).unwrap_or(usize::MAX);
            let more = (len - have).max(READ_BYTES).min(left);
            self.buffer.resize(have + more, 0);
            self.run.file.read_exact_at(&mut self.buffer[have..], self.at)?;
            self.at += more as u64;
        }
        let from = self.used;
        self.used += len;
        self.buffer.get(from..self.used).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A file that is gone when it is closed, however the process ends.
fn unnamed_file() -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path: PathBuf = std::env::temp_dir().join(format!("cohort-sort-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn entries_beyond_the_memory_come_back_in_order() {
        let memory = MemoryUse::new(Arc::default());
        memory.set_limit(400_000);
        let mut sorted = SortedEntries::new(&memory);
        assert!(sorted.is_empty());
        let entry = |number: u32| {
            let mixed = number.wrapping_mul(2_654_435_761);
            (mixed.to_be_bytes().to_vec(), vec![number as u8; (number % 300) as usize])
        };
        for number in 0..20_000 {
            let (key, value) = entry(number);
            sorted.add(key, value).unwrap();
        }
        sorted.end();
        assert!(sorted.runs.len() > 10, "{}", sorted.runs.len());
        let mut expected: Vec<Entry> = (0..20_000).map(entry).collect();
        expected.sort_unstable();
        for _ in 0..2 {
            let merged = sorted.iter().unwrap();
            assert!(merged.eq(expected.iter().cloned()));
        }
        assert!(!memory.is_exceeded());
    }
}
