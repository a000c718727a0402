//! Reads a binlog file event by event and believes nothing it finds.
//!
//! Invariants
//! 1. An event is given out only when it lies within the file, its checksum is right, and its `log_pos` is
//!    the offset after it.
//! 2. Memory is bounded by the longest event the caller allows, and never asked for on the word of a length
//!    that points outside of the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_io::{File, FileSystem, IoError, OpenOptions};

use super::events::format_description::{CHECKSUM_CRC32, FormatDescription};
use super::events::gtid::GtidEvent;
use super::events::{Event, EventBody};
use super::fields::DecodeError;
use super::gtid::GtidSet;
use super::wire::{CRC_BYTES, EventHeader, EventType, FLAG_IN_USE, FLAGS_AT, HEADER_BYTES, MAGIC};

/// How much is read at a time, unless an event is longer.
const READ_BYTES: usize = 256 << 10;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderOptions {
    /// A longer event is refused, bytes.
    pub event_bytes_max: u32,
    /// Reads up to this offset instead of the end that the file has when it is opened.
    pub end: Option<u64>,
}

impl Default for ReaderOptions {
    /// Events of up to 1 GiB and a bit, as long as a row with `max_allowed_packet` at its maximum.
    fn default() -> ReaderOptions {
        ReaderOptions { event_bytes_max: (1 << 30) + (1 << 20), end: None }
    }
}

/// A binlog file cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file does not begin as a binlog does.
    #[error("{path} is not a binlog file", path = path.display())]
    NotBinlog { path: PathBuf },
    /// Another version of the format.
    #[error("{path} has binlog format {binlog_version} of server {server_version}; only format 4 can be read",
            path = path.display())]
    Version {
        path: PathBuf,
        binlog_version: u16,
        /// Of the server that wrote it.
        server_version: String,
    },
    /// A file whose events have no checksums; this server always writes them.
    #[error("{path} has no checksums", path = path.display())]
    NoChecksums { path: PathBuf },
    /// The file ends within an event: it is being written, or a crash cut it.
    #[error("{path} ends within the event at byte {offset}", path = path.display())]
    CutOff {
        path: PathBuf,
        /// Where the event begins.
        offset: u64,
    },
    /// The bytes are no event.
    #[error("{path} is damaged at byte {offset}: {what}", path = path.display())]
    Damaged {
        path: PathBuf,
        /// Where the event begins.
        offset: u64,
        /// What was found.
        what: String,
    },
}

/// What came before a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHistory {
    /// The transactions.
    pub before: GtidSet,
    /// An operator has changed that set: they are not just those in the files before.
    pub changed: bool,
}

impl FileHistory {
    /// Nothing counts as written before: the files before this one are to go.
    pub fn begins_anew(&self) -> bool {
        self.changed && self.before.is_empty()
    }
}

/// Reads one file from its first event to its end.
pub struct BinlogReader {
    file: Arc<dyn File>,
    path: PathBuf,
    event_bytes_max: u32,
    in_use: bool,
    begun_s: u32,
    end: u64,
    /// Offset of the next event.
    at: u64,
    buffer: Vec<u8>,
    /// Offset in the file of the buffer's first byte.
    buffer_at: u64,
    /// How much is read at a time, at least.
    read_ahead: usize,
}

impl BinlogReader {
    /// Opens a file at its first event.
    pub fn open(fs: &dyn FileSystem, path: &Path, options: ReaderOptions) -> Result<BinlogReader, ReadError> {
        let file = fs.open(path, &OpenOptions::read())?;
        let end = match options.end {
            Some(end) => end,
            None => file.len()?,
        };
        let mut magic = [0; MAGIC.len()];
        file.read_at(0, &mut magic)?;
        if magic != MAGIC {
            return Err(ReadError::NotBinlog { path: path.to_path_buf() });
        }
        let mut reader = BinlogReader {
            file,
            path: path.to_path_buf(),
            event_bytes_max: options.event_bytes_max,
            in_use: false,
            begun_s: 0,
            end,
            at: MAGIC.len() as u64,
            buffer: Vec::new(),
            buffer_at: 0,
            read_ahead: READ_BYTES,
        };
        let description = reader.format_description()?;
        if description.binlog_version != 4 {
            return Err(ReadError::Version {
                path: reader.path,
                binlog_version: description.binlog_version,
                server_version: description.server_version,
            });
        }
        reader.in_use = description.in_use;
        reader.at = MAGIC.len() as u64;
        Ok(reader)
    }

    /// Reads so many bytes at a time from now on, unless an event is longer.
    pub(super) fn reading_ahead(self, bytes: usize) -> BinlogReader {
        BinlogReader { read_ahead: bytes, ..self }
    }

    /// Opens a file whose header may not be written yet at the event that begins at `from`; it is read up to `end`.
    pub fn open_events(fs: &dyn FileSystem, path: &Path, from: u64, end: u64) -> Result<BinlogReader, ReadError> {
        let event_bytes_max = ReaderOptions::default().event_bytes_max;
        Ok(BinlogReader {
            file: fs.open(path, &OpenOptions::read())?,
            path: path.to_path_buf(),
            event_bytes_max,
            in_use: true,
            begun_s: 0,
            end,
            at: from,
            buffer: Vec::new(),
            buffer_at: 0,
            read_ahead: READ_BYTES,
        })
    }

    /// Whether the file is marked as in use: a server is writing it, or did so when it ended.
    pub fn is_in_use(&self) -> bool {
        self.in_use
    }

    /// When the file was begun, seconds since 1970.
    pub fn begun_s(&self) -> u32 {
        self.begun_s
    }

    /// Offset of the next event.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Goes on at the event that begins at `offset`; what does not begin there is found out by
    /// [`BinlogReader::next_event`].
    pub fn seek(&mut self, offset: u64) {
        self.at = offset;
    }

    /// Lets the reader see what was appended to the file since, up to `end`.
    pub fn extend_to(&mut self, end: u64) {
        self.end = self.end.max(end);
    }

    /// The next event, or `None` at the end. After an error the reader stays at the event that has it.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, ReadError> {
        let offset = self.at;
        Ok(self.next_bytes()?.map(|bytes| Event {
            offset,
            header: header_of(bytes),
            body: &bytes[HEADER_BYTES..bytes.len() - CRC_BYTES],
        }))
    }

    /// The bytes of the next event, header and checksum included; as [`BinlogReader::next_event`].
    pub(super) fn next_bytes(&mut self) -> Result<Option<&[u8]>, ReadError> {
        if self.at == self.end {
            return Ok(None);
        }
        let offset = self.at;
        let size = self.event_size()?;
        self.fill(size)?;
        let from = (offset - self.buffer_at) as usize;
        let bytes = &self.buffer[from..from + size];
        if let Some(what) = fault(bytes, &header_of(bytes), offset) {
            return Err(ReadError::Damaged { path: self.path.clone(), offset, what });
        }
        self.at = offset + size as u64;
        Ok(Some(bytes))
    }

    /// An error about an event of this file whose body could not be decoded.
    pub fn damaged(&self, offset: u64, error: DecodeError) -> ReadError {
        ReadError::Damaged { path: self.path.clone(), offset, what: error.to_string() }
    }

    /// The transactions before this file. Leaves the reader after the event that says so.
    pub fn previous_gtids(&mut self) -> Result<GtidSet, ReadError> {
        self.history().map(|history| history.before)
    }

    /// What the file's header says of the transactions before it. Leaves the reader after the event that says so.
    pub fn history(&mut self) -> Result<FileHistory, ReadError> {
        let path = self.path.clone();
        while let Some(event) = self.next_event()? {
            let offset = event.offset;
            let changed = event.changes_gtids();
            match event.decode() {
                Ok(EventBody::PreviousGtids(before)) => return Ok(FileHistory { before, changed }),
                Ok(EventBody::FormatDescription(_)) => {}
                Ok(_) => break,
                Err(error) => {
                    return Err(ReadError::Damaged { path, offset, what: error.to_string() });
                }
            }
        }
        let what = "the event with the GTIDs of the files before is missing".to_owned();
        Err(ReadError::Damaged { path, offset: self.at, what })
    }

    /// The transactions in this file and those before it. Reads to the end.
    pub fn executed_gtids(mut self) -> Result<GtidSet, ReadError> {
        let mut set = self.previous_gtids()?;
        let path = self.path.clone();
        while let Some(event) = self.next_event()? {
            if event.header.event_type != EventType::GTID {
                continue;
            }
            match event.decode() {
                Ok(EventBody::Gtid(GtidEvent { gtid: Some(gtid), .. })) => set.insert(gtid),
                Ok(_) => {}
                Err(error) => {
                    return Err(ReadError::Damaged { path, offset: event.offset, what: error.to_string() });
                }
            }
        }
        Ok(set)
    }

    fn format_description(&mut self) -> Result<FormatDescription, ReadError> {
        let path = self.path.clone();
        let not_binlog = || ReadError::NotBinlog { path: path.clone() };
        let size = self.event_size()?;
        self.fill(size)?;
        let from = (self.at - self.buffer_at) as usize;
        let bytes = &self.buffer[from..from + size];
        let header = header_of(bytes);
        self.begun_s = header.timestamp_s;
        if header.event_type != EventType::FORMAT_DESCRIPTION {
            return Err(not_binlog());
        }
        let event = Event { offset: self.at, header, body: &bytes[HEADER_BYTES..size - CRC_BYTES] };
        match event.decode() {
            Ok(EventBody::FormatDescription(description)) => {
                if description.checksum_algorithm != CHECKSUM_CRC32 {
                    return Err(ReadError::NoChecksums { path });
                }
                if let Some(what) = fault(bytes, &header, self.at) {
                    return Err(ReadError::Damaged { path, offset: self.at, what });
                }
                Ok(description)
            }
            Ok(_) => Err(not_binlog()),
            Err(error) => Err(ReadError::Damaged { path, offset: self.at, what: error.to_string() }),
        }
    }

    /// Length of the event at the present offset, checked against file and limit.
    fn event_size(&mut self) -> Result<usize, ReadError> {
        let cut_off = ReadError::CutOff { path: self.path.clone(), offset: self.at };
        let left = self.end.saturating_sub(self.at);
        if left < HEADER_BYTES as u64 {
            return Err(cut_off);
        }
        self.fill(HEADER_BYTES)?;
        let size = header_of(&self.buffer[(self.at - self.buffer_at) as usize..]).event_bytes;
        let what = if (size as usize) < HEADER_BYTES + CRC_BYTES {
            "the event is shorter than its header".to_owned()
        } else if size > self.event_bytes_max {
            format!("the event has {size} bytes, more than the {} allowed", self.event_bytes_max)
        } else if u64::from(size) > left {
            return Err(cut_off);
        } else {
            return Ok(size as usize);
        };
        Err(ReadError::Damaged { path: self.path.clone(), offset: self.at, what })
    }

    /// Brings `bytes` from the present offset into the buffer; they lie before the end.
    fn fill(&mut self, bytes: usize) -> Result<(), ReadError> {
        let buffered = self.buffer_at..self.buffer_at + self.buffer.len() as u64;
        if buffered.start <= self.at && self.at + bytes as u64 <= buffered.end {
            return Ok(());
        }
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = bytes.max(self.read_ahead).min(left);
        self.buffer.shrink_to(self.read_ahead.max(wanted));
        self.buffer.resize(wanted, 0);
        self.buffer_at = self.at;
        let got = self.file.read_at(self.at, &mut self.buffer)?;
        self.buffer.truncate(got);
        if got < bytes {
            return Err(ReadError::CutOff { path: self.path.clone(), offset: self.at });
        }
        Ok(())
    }
}

/// The events that follow each other in `bytes`, whose first byte stands at `offset` of a file. An error, which
/// says where and what, ends them.
pub fn events_of(bytes: &[u8], offset: u64) -> impl Iterator<Item = Result<Event<'_>, (u64, String)>> {
    let begin = if offset == 0 && bytes.starts_with(&MAGIC) { MAGIC.len() } else { 0 };
    let mut rest = &bytes[begin..];
    let mut at = offset + begin as u64;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let size = rest.first_chunk::<HEADER_BYTES>().map(|header| EventHeader::decode(header).event_bytes as usize);
        let size = size.filter(|size| (HEADER_BYTES + CRC_BYTES..=rest.len()).contains(size));
        let Some(size) = size else {
            rest = &[];
            return Some(Err((at, "the event is cut off".to_owned())));
        };
        let (event, left) = rest.split_at(size);
        let (header, event_at) = (header_of(event), at);
        if let Some(what) = fault(event, &header, event_at) {
            rest = &[];
            return Some(Err((event_at, what)));
        }
        rest = left;
        at += size as u64;
        Some(Ok(Event { offset: event_at, header, body: &event[HEADER_BYTES..size - CRC_BYTES] }))
    })
}

impl std::fmt::Debug for BinlogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BinlogReader").field("path", &self.path).field("at", &self.at).finish_non_exhaustive()
    }
}

/// Bytes of the whole event that `bytes` begin with.
pub(super) fn event_bytes(bytes: &[u8]) -> usize {
    header_of(bytes).event_bytes as usize
}

fn header_of(bytes: &[u8]) -> EventHeader {
    let mut header = [0; HEADER_BYTES];
    header.copy_from_slice(&bytes[..HEADER_BYTES]);
    EventHeader::decode(&header)
}

/// What is wrong with a whole event, if anything.
fn fault(bytes: &[u8], header: &EventHeader, offset: u64) -> Option<String> {
    let (checked, crc) = bytes.split_at(bytes.len() - CRC_BYTES);
    if crc != checksum_of(checked, header).to_le_bytes() {
        return Some("the checksum is wrong".to_owned());
    }
    let end = offset + bytes.len() as u64;
    if u64::from(header.log_pos) != end {
        return Some(format!("the event says that it ends at {} and ends at {end}", header.log_pos));
    }
    None
}

/// The checksum of an event; that of a format description does not cover the in-use mark.
fn checksum_of(checked: &[u8], header: &EventHeader) -> u32 {
    if header.event_type != EventType::FORMAT_DESCRIPTION {
        return crc32fast::hash(checked);
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&checked[..FLAGS_AT]);
    hasher.update(&(header.flags & !FLAG_IN_USE).to_le_bytes());
    hasher.update(&checked[FLAGS_AT + 2..]);
    hasher.finalize()
}
