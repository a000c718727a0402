//! A temporary file of records, each of any length.
//!
//! Format: for each record its length, four bytes (little-endian), and its bytes.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::Spilling;
use crate::error::SqlError;

/// Bytes that are written, or read, at a time.
const BLOCK_BYTES: usize = 64 << 10;

/// Records are appended; what is there can be read at any time, from any record on.
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: File,
    /// What is not written yet.
    buffer: Vec<u8>,
    /// Where it begins.
    written: u64,
}

impl RecordFile {
    /// No record yet; 1021 on a full disk.
    pub(crate) fn create(with: &dyn Spilling) -> Result<RecordFile, SqlError> {
        Ok(RecordFile { file: with.temporary_files().create()?, buffer: Vec::new(), written: 0 })
    }

    /// Where the next record will begin.
    pub(crate) fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends a record, whose bytes `write` appends. 1021 on a full disk: the file is then of no use.
    pub(crate) fn append(&mut self, with: &dyn Spilling, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), SqlError> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        write(&mut self.buffer);
        let length = u32::try_from(self.buffer.len() - start - 4).map_err(|_| with.temporary_files().damaged())?;
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        if self.buffer.len() >= BLOCK_BYTES { self.flush(with) } else { Ok(()) }
    }

    /// Writes what is not written yet, to be called before it is read.
    pub(crate) fn flush(&mut self, with: &dyn Spilling) -> Result<(), SqlError> {
        with.check_killed()?;
        let written = self.file.write_all_at(&self.buffer, self.written);
        written.map_err(|error| with.temporary_files().not_written(&error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Reads from `start`, where a record begins, to `end`, where one does or the file ends.
    pub(crate) fn reader(&self, start: u64, end: u64) -> RecordReader {
        RecordReader { at: start, end, buffer: Vec::new(), used: 0, last: 0, block: BLOCK_BYTES }
    }

    /// The bytes of the record that begins at `at`, through a block of the file that is kept.
    pub(crate) fn record_at<'b>(
        &self,
        at: u64,
        block: &'b mut Block,
        with: &dyn Spilling,
    ) -> Result<&'b [u8], SqlError> {
        let length = u32::from_le_bytes(self.bytes_at(at, 4, block, with)?.try_into().unwrap_or_default());
        self.bytes_at(at + 4, length as usize, block, with)
    }

    fn bytes_at<'b>(
        &self,
        at: u64,
        length: usize,
        block: &'b mut Block,
        with: &dyn Spilling,
    ) -> Result<&'b [u8], SqlError> {
        let end = at + length as u64;
        if at < block.at || end > block.at + block.bytes.len() as u64 {
            if end > self.written {
                return Err(with.temporary_files().damaged());
            }
            with.check_killed()?;
            let bytes = length.max(BLOCK_BYTES / 4) as u64;
            block.bytes.resize(bytes.min(self.written - at) as usize, 0);
            block.at = at;
            let read = self.file.read_exact_at(&mut block.bytes, at);
            read.map_err(|error| with.temporary_files().not_read(&error))?;
        }
        let from = (at - block.at) as usize;
        block.bytes.get(from..from + length).ok_or_else(|| with.temporary_files().damaged())
    }
}

/// A block of a file that was read last.
#[derive(Debug, Default)]
pub(crate) struct Block {
    at: u64,
    bytes: Vec<u8>,
}

impl Block {
    /// What of the file it is.
    pub(super) fn range(&self) -> std::ops::Range<u64> {
        self.at..self.at + self.bytes.len() as u64
    }
}

/// Where someone reads in a file of records, one after another.
#[derive(Debug)]
pub(crate) struct RecordReader {
    /// Where the next bytes are read.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
    /// Bytes of the record that was given last.
    last: usize,
    block: usize,
}

impl RecordReader {
    /// The same in blocks of so many bytes.
    pub(super) fn in_blocks_of(self, block: usize) -> RecordReader {
        RecordReader { block, ..self }
    }

    /// The next record of `file`, which has been flushed; `None` at the end.
    pub(crate) fn next(&mut self, file: &RecordFile, with: &dyn Spilling) -> Result<Option<&[u8]>, SqlError> {
        if self.used == self.buffer.len() && self.at == self.end {
            return Ok(None);
        }
        let length = self.take(4, file, with)?;
        let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
        self.take(length as usize, file, with)?;
        self.last = length as usize;
        Ok(Some(self.last()))
    }

    /// The record that [`RecordReader::next`] gave last.
    pub(super) fn last(&self) -> &[u8] {
        &self.buffer[self.used - self.last..self.used]
    }

    fn take(&mut self, length: usize, file: &RecordFile, with: &dyn Spilling) -> Result<&[u8], SqlError> {
        if self.buffer.len() - self.used < length {
            self.fill(length, file, with)?;
        }
        let from = self.used;
        self.used += length;
        Ok(&self.buffer[from..self.used])
    }

    /// Reads on, at least until so many bytes are there.
    fn fill(&mut self, length: usize, file: &RecordFile, with: &dyn Spilling) -> Result<(), SqlError> {
        with.check_killed()?;
        let files = with.temporary_files();
        let have = self.buffer.len() - self.used;
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if length - have > left {
            return Err(files.damaged());
        }
        self.buffer.drain(..self.used);
        self.used = 0;
        let more = (length - have).max(self.block).min(left);
        self.buffer.resize(have + more, 0);
        let read = file.file.read_exact_at(&mut self.buffer[have..], self.at);
        read.map_err(|error| files.not_read(&error))?;
        self.at += more as u64;
        Ok(())
    }
}
