//! Following the binlog: whole events in their order, from any position to the live end and on as it grows.
//!
//! A [`Follower`] near the end takes its events from the blocks that all followers share ([`Tail`](super::Tail)), and reads files
//! further back with a buffer of its own. Whatever the source, it sees what is durable and nothing else.
//!
//! Invariants
//! 1. Events come in the order of the binlog, without a gap; the first one begins at the position that was asked for.
//! 2. A position that no event begins at is found out: the first event comes from its file, whose reader checks it.

use std::sync::Arc;
use std::time::Instant;

use super::files::BinlogFiles;
use super::gtid::GtidSet;
use super::position::BinlogPosition;
use super::reader::{BinlogReader, ReadError, ReaderOptions, event_bytes};
use super::tail::Block;
use super::wire::MAGIC;

/// Nobody can follow the binlog from there.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// There is no such file.
    #[error("the binlog has no such file")]
    UnknownFile,
    /// No event begins before offset 4.
    #[error("no event begins there")]
    Impossible,
    /// The file is shorter.
    #[error("the position is after the end of the file")]
    BeyondEnd,
    /// The transactions of this set are not in the reader's, nor in any file.
    #[error("files with transactions that the reader lacks were purged")]
    Purged(GtidSet),
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Where the next event comes from.
enum Source {
    Unknown,
    /// A block, up to this offset in the file.
    Block(Arc<Block>, u64),
    File(BinlogReader),
}

/// What follows.
#[derive(Debug, PartialEq, Eq)]
pub enum Followed<'a> {
    /// A whole event with its checksum.
    Event {
        /// Where it begins in its file.
        offset: u64,
        bytes: &'a [u8],
    },
    /// The file has ended, and the next one begins.
    NextFile,
    /// What is before this offset of the file was left out: all of it is known.
    Known(u64),
    /// There is nothing more as yet.
    UpToDate,
}

/// A reader of everything from a position on.
pub struct Follower<'a> {
    files: &'a BinlogFiles,
    id: u64,
    /// Of the next event.
    at: BinlogPosition,
    source: Source,
    /// An event is known to begin at `at`.
    proven: bool,
    /// From the first offset it goes on at the second one.
    jump: Option<(u64, u64)>,
}

impl std::fmt::Debug for Follower<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        self.files.tail().leave(self.id);
    }
}

impl<'a> Follower<'a> {
    /// Follows `files` from `at` on.
    pub(crate) fn new(files: &'a BinlogFiles, at: BinlogPosition) -> Result<Follower<'a>, FollowError> {
        let first = MAGIC.len() as u64;
        // Before anything is looked at: from now on no purge removes the file.
        let id = files.tail().join(at.file_number);
        let mut follower = Follower { files, id, at, source: Source::Unknown, proven: at.offset == first, jump: None };
        let durable = files.tail().durable();
        let end = match at.file_number == durable.file_number {
            true => durable.offset,
            false => files.closed_bytes(at.file_number).ok_or(FollowError::UnknownFile)?,
        };
        match at.offset {
            offset if offset < first => return Err(FollowError::Impossible),
            offset if offset > end || at > durable => return Err(FollowError::BeyondEnd),
            offset => follower.proven |= offset == end,
        }
        Ok(follower)
    }

    /// Follows `files` from the beginning of the last one before which there is no transaction but those of `known`.
    pub(crate) fn after_gtids(files: &'a BinlogFiles, known: &GtidSet) -> Result<Follower<'a>, FollowError> {
        // Nothing is purged meanwhile.
        let held = Follower {
            files,
            id: files.tail().join(0),
            at: BinlogPosition::default(),
            source: Source::Unknown,
            proven: false,
            jump: None,
        };
        let durable = files.tail().durable();
        // After the files were listed: what is added later is in a later file.
        let numbers = files.numbers();
        let mut lacked = files.added_gtids();
        lacked.subtract(known);
        if !lacked.is_empty() {
            return Err(FollowError::Purged(lacked));
        }
        let numbers = &numbers[..numbers.partition_point(|number| *number <= durable.file_number)];
        let (mut from, mut to) = (0, numbers.len());
        let mut missing = GtidSet::new();
        while from < to {
            let middle = from + (to - from) / 2;
            let mut lacked = files.previous_gtids(numbers[middle])?;
            lacked.subtract(known);
            if lacked.is_empty() {
                from = middle + 1;
            } else {
                (to, missing) = (middle, lacked);
            }
        }
        let Some(last) = from.checked_sub(1) else {
            return Err(if numbers.is_empty() { FollowError::UnknownFile } else { FollowError::Purged(missing) });
        };
        let begin = BinlogPosition { file_number: numbers[last], offset: MAGIC.len() as u64 };
        let mut follower = Follower::new(files, begin)?;
        drop(held);
        follower.jump = follower.known_part(known, durable)?;
        Ok(follower)
    }

    /// What its file begins with, after the header, that is known.
    fn known_part(&self, known: &GtidSet, durable: BinlogPosition) -> Result<Option<(u64, u64)>, ReadError> {
        let number = self.at.file_number;
        let closed = if number == durable.file_number { None } else { self.files.closed_bytes(number) };
        let end = closed.unwrap_or(durable.offset);
        let Some(to) = self.files.last_known_point(number, known, end)? else { return Ok(None) };
        let mut header = self.files.reader(number, ReaderOptions { end: Some(end), ..ReaderOptions::default() })?;
        header.previous_gtids()?;
        Ok(Some((header.offset(), to)))
    }

    /// Where the next event begins.
    pub fn position(&self) -> BinlogPosition {
        self.at
    }

    /// What follows; never waits for a commit. After an error the follower stays where it is.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Followed<'_>, ReadError> {
        if let Some((_, to)) = self.jump.take_if(|(from, _)| *from == self.at.offset) {
            self.at.offset = to;
            // The event there comes from the file, whose reader checks it.
            (self.source, self.proven) = (Source::Unknown, false);
            return Ok(Followed::Known(to));
        }
        if let Some(nothing) = self.find_source()? {
            return Ok(nothing);
        }
        let offset = self.at.offset;
        let bytes = match &mut self.source {
            Source::Block(block, _) => {
                let rest = &block.bytes[(offset - block.at.offset) as usize..];
                &rest[..event_bytes(rest)]
            }
            Source::File(reader) => reader.next_bytes()?.expect("its end is after the event's begin"),
            Source::Unknown => unreachable!("a source was found"),
        };
        self.proven = true;
        self.at.offset += bytes.len() as u64;
        Ok(Followed::Event { offset, bytes })
    }

    /// Waits for more, as [`Tail::wait_beyond`](super::Tail::wait_beyond) does.
    pub fn wait(&self, deadline: Instant, ended: impl Fn() -> bool) -> bool {
        self.files.tail().wait_beyond(self.at, deadline, ended)
    }

    /// Finds where the next event is, or says that there is none in this file.
    fn find_source(&mut self) -> Result<Option<Followed<'static>>, ReadError> {
        if let Source::Block(_, to) = &self.source
            && self.at.offset < *to
        {
            return Ok(None);
        }
        let tail = self.files.tail();
        let durable = tail.durable();
        let has_next = durable.file_number > self.at.file_number;
        let end = match has_next {
            true => self.files.closed_bytes(self.at.file_number).unwrap_or(self.at.offset),
            false => durable.offset,
        };
        if self.at.offset >= end {
            // An idle follower has no buffer.
            self.source = Source::Unknown;
            if !has_next {
                return Ok(Some(Followed::UpToDate));
            }
            self.at = BinlogPosition { file_number: self.at.file_number + 1, offset: MAGIC.len() as u64 };
            self.proven = true;
            tail.enter_file(self.id, self.at.file_number);
            return Ok(Some(Followed::NextFile));
        }
        if self.proven
            && let Some(block) = tail.block_with(self.at)
        {
            let to = block.end().offset.min(end);
            self.source = Source::Block(block, to);
            return Ok(None);
        }
        match &mut self.source {
            Source::File(reader) => reader.extend_to(end),
            _ => {
                let options = ReaderOptions { end: Some(end), ..ReaderOptions::default() };
                let mut reader = self.files.reader(self.at.file_number, options)?;
                reader.seek(self.at.offset);
                self.source = Source::File(reader);
            }
        }
        Ok(None)
    }
}
