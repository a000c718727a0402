//! The files that hold the journal's bytes.
//!
//! A segment is a window of the endless journal: one block that says which, then the bytes. All of it
//! is written with zeros before the first use, so that a synced write changes no metadata of the file
//! system. Segments appear under their name only when complete, one after the other, each name synced
//! before the next one's work begins: a gap in the numbers is damage.
//!
//! Concurrency: the list is changed by upkeep only, one thread at a time ([`Segments::add`],
//! [`Segments::retire_before`]); writers read it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_io::sync::RwLock;
use cohort_io::{AlignedBuf, BLOCK, Create, File, FileSystem, IoError, OpenOptions, SyncCounters};

use super::{FORMAT_VERSION, Lsn, OpenError};

const MAGIC: [u8; 8] = *b"COHJSEG\0";
const HEADER_BYTES: usize = 48;
const PREFIX: &str = "journal.";
const FRESH: &str = ".new";
/// How many bytes of zeros one call writes.
const ZEROS: usize = 1 << 20;
/// How many bytes are written again at a time.
const COPY: usize = 1 << 20;

/// One segment file, open.
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) first: Lsn,
    data_bytes: u64,
    pub(super) path: PathBuf,
    /// For synced writes.
    pub(super) direct: Arc<dyn File>,
    /// For flushed writes, syncs and reads.
    pub(super) buffered: Arc<dyn File>,
}

impl Segment {
    /// The place after its last byte.
    pub(super) fn end(&self) -> Lsn {
        Lsn(self.first.0 + self.data_bytes)
    }

    /// Where a place of the journal lies in the file.
    pub(super) fn offset(&self, lsn: Lsn) -> u64 {
        lsn.0 - self.first.0 + BLOCK as u64
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.data_bytes + BLOCK as u64
    }

    /// Writes the bytes that can be read of this part of the journal to their place; not synced.
    pub(super) fn write_again(&self, from: Lsn, to: Lsn) -> Result<(), IoError> {
        let end = self.offset(to.min(self.end()));
        let mut at = self.offset(from.max(self.first));
        let mut bytes = vec![0; COPY];
        while at < end {
            let len = COPY.min(usize::try_from(end - at).unwrap_or(COPY));
            let got = self.buffered.read_at(at, &mut bytes[..len])?;
            self.buffered.write_at(at, &bytes[..got])?;
            if got == 0 {
                break;
            }
            at += got as u64;
        }
        Ok(())
    }
}

/// The segments of a journal, and how to make more.
pub(super) struct Segments {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    journal_id: u64,
    /// Size of new segments, bytes, the header included.
    segment_bytes: u64,
    log: Arc<SyncCounters>,
    upkeep: Arc<SyncCounters>,
    list: RwLock<VecDeque<Arc<Segment>>>,
    purpose: Purpose,
}

/// What the files are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reading and appending.
    Append,
    /// Reading only: nothing is ever written.
    Read,
}

/// Why no segment was added.
pub(super) enum AddError {
    /// Nothing of it is left; try again when there is room.
    NoSpace(IoError),
    Failed(IoError),
}

impl AddError {
    fn new(error: IoError) -> AddError {
        if error.is_no_space() { AddError::NoSpace(error) } else { AddError::Failed(error) }
    }
}

/// The number in a segment's name.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?;
    let number = digits.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

/// A segment that was not complete when the server died.
pub(super) fn is_leftover(name: &str) -> bool {
    name.strip_suffix(FRESH).is_some_and(|name| number_of(name).is_some())
}

fn file_name(number: u64) -> String {
    format!("{PREFIX}{number:06}")
}

impl Segments {
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        journal_id: u64,
        segment_bytes: u64,
        [log, upkeep]: [Arc<SyncCounters>; 2],
        purpose: Purpose,
    ) -> Segments {
        let list = RwLock::default();
        Segments { fs, dir: dir.to_path_buf(), journal_id, segment_bytes, log, upkeep, list, purpose }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn path_of(&self, number: u64) -> PathBuf {
        self.dir.join(file_name(number))
    }

    /// Whether they were opened to append.
    pub(super) fn may_write(&self) -> bool {
        self.purpose == Purpose::Append
    }

    /// Opens an existing segment and checks its header; it is not in the list yet.
    pub(super) fn open_existing(&self, number: u64) -> Result<Arc<Segment>, OpenError> {
        let path = self.path_of(number);
        let damaged = |offset: u64, what: String| OpenError::Damaged { path: path.clone(), offset, lsn: None, what };
        let file = self.fs.open(&path, &OpenOptions::read())?;
        let mut block = [0; HEADER_BYTES];
        if file.read_at(0, &mut block)? < HEADER_BYTES {
            return Err(damaged(0, "it is cut short".to_owned()));
        }
        let header = match SegmentHeader::decode(&block) {
            Ok(header) => header,
            Err(HeaderError::Newer(found)) => {
                let supported = FORMAT_VERSION;
                return Err(OpenError::Newer { path: path.clone(), found, supported });
            }
            Err(HeaderError::Damaged(what)) => return Err(damaged(0, what.to_owned())),
        };
        if header.journal_id != self.journal_id {
            return Err(damaged(16, "it belongs to another journal".to_owned()));
        }
        if header.number != number {
            return Err(damaged(24, format!("it is segment {} by its content", header.number)));
        }
        let len = file.len()?;
        if header.data_bytes.checked_add(BLOCK as u64).is_none_or(|whole| whole > len) {
            return Err(damaged(len, "it is cut short".to_owned()));
        }
        Ok(self.open_handles(number, header.first, header.data_bytes)?)
    }

    fn open_handles(&self, number: u64, first: Lsn, data_bytes: u64) -> Result<Arc<Segment>, IoError> {
        let path = self.path_of(number);
        let (synced, flushed) = match self.purpose {
            Purpose::Append => (OpenOptions::direct_sync(), OpenOptions::buffered(Create::Never)),
            Purpose::Read => (OpenOptions::read(), OpenOptions::read()),
        };
        let direct = self.fs.open(&path, &synced.counted(&self.log))?;
        let buffered = self.fs.open(&path, &flushed.counted(&self.log))?;
        Ok(Arc::new(Segment { number, first, data_bytes, path, direct, buffered }))
    }

    /// Puts an opened segment at the list's end.
    pub(super) fn push(&self, segment: Arc<Segment>) {
        self.list.write().push_back(segment);
    }

    /// Makes the next segment, out of `used` if it fits, and returns how many bytes it adds. `number`
    /// and `first` are its place when the list is empty.
    pub(super) fn add(&self, used: Option<Arc<Segment>>, number: u64, first: Lsn) -> Result<u64, AddError> {
        let (number, first) = self.last().map_or((number, first), |last| (last.number + 1, last.end()));
        let data_bytes = self.segment_bytes - BLOCK as u64;
        let header = SegmentHeader { journal_id: self.journal_id, number, first, data_bytes };
        let fresh = self.dir.join(file_name(number) + FRESH);
        let made = match used {
            Some(used) => self.reuse(&used, &fresh, &header),
            None => self.fill(&fresh, &header),
        };
        if let Err(error) = made.and_then(|()| self.fs.rename(&fresh, &self.path_of(number))) {
            // What is left of it takes room at worst, and goes away at the next start.
            let _ = self.fs.remove(&fresh);
            return Err(AddError::new(error));
        }
        self.sync_dir().map_err(AddError::Failed)?;
        let segment = self.open_handles(number, first, data_bytes).map_err(AddError::Failed)?;
        self.push(segment);
        Ok(data_bytes)
    }

    fn fill(&self, path: &Path, header: &SegmentHeader) -> Result<(), IoError> {
        if self.fs.exists(path)? {
            self.fs.remove(path)?;
        }
        let options = OpenOptions::buffered(Create::New).counted(&self.upkeep);
        let file = self.fs.open(path, &options)?;
        file.reserve(0, self.segment_bytes)?;
        file.write_at(0, &header.block())?;
        let mut zeros = AlignedBuf::new();
        zeros.resize(ZEROS.min(usize::try_from(header.data_bytes).unwrap_or(ZEROS)));
        let mut at = BLOCK as u64;
        while at < self.segment_bytes {
            let len = zeros.len().min(usize::try_from(self.segment_bytes - at).unwrap_or(ZEROS));
            file.write_at(at, &zeros[..len])?;
            at += len as u64;
        }
        file.sync_data()
    }

    /// The old name goes first and for good: under it, the new header would be a contradiction.
    fn reuse(&self, used: &Segment, path: &Path, header: &SegmentHeader) -> Result<(), IoError> {
        self.fs.rename(&used.path, path)?;
        self.sync_dir()?;
        let options = OpenOptions::buffered(Create::Never).counted(&self.upkeep);
        let file = self.fs.open(path, &options)?;
        file.write_at(0, &header.block())?;
        file.sync_data()
    }

    /// Whether a used segment may become a new one.
    pub(super) fn fits(&self, used: &Segment) -> bool {
        used.file_bytes() == self.segment_bytes
    }

    pub(super) fn sync_dir(&self) -> Result<(), IoError> {
        self.fs.sync_dir(&self.dir)?;
        self.upkeep.count_sync();
        Ok(())
    }

    /// Takes segments that end at or before `lsn` out of the list, oldest first.
    pub(super) fn retire_before(&self, lsn: Lsn) -> Vec<Arc<Segment>> {
        let mut list = self.list.write();
        let count = list.iter().take_while(|segment| segment.end() <= lsn).count();
        list.drain(..count).collect()
    }

    /// The segment that holds the byte at `lsn`.
    pub(super) fn holding(&self, lsn: Lsn) -> Option<Arc<Segment>> {
        let list = self.list.read();
        let index = list.partition_point(|segment| segment.end() <= lsn);
        list.get(index).filter(|segment| segment.first <= lsn).cloned()
    }

    /// Every segment with bytes of `from..to`.
    pub(super) fn covering(&self, from: Lsn, to: Lsn) -> Vec<Arc<Segment>> {
        let list = self.list.read();
        let touches = |segment: &&Arc<Segment>| segment.end() > from && segment.first < to;
        list.iter().filter(touches).cloned().collect()
    }

    /// The oldest segment.
    pub(super) fn first(&self) -> Option<Arc<Segment>> {
        self.list.read().front().cloned()
    }

    /// The newest segment.
    pub(super) fn last(&self) -> Option<Arc<Segment>> {
        self.list.read().back().cloned()
    }

    /// How many there are, and how many begin at or after `lsn`.
    pub(super) fn count(&self, lsn: Lsn) -> (usize, usize) {
        let list = self.list.read();
        (list.len(), list.iter().filter(|segment| segment.first >= lsn).count())
    }

    /// Bytes on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.list.read().iter().map(|segment| segment.file_bytes()).sum()
    }
}

struct SegmentHeader {
    journal_id: u64,
    number: u64,
    first: Lsn,
    data_bytes: u64,
}

enum HeaderError {
    Newer(u32),
    Damaged(&'static str),
}

impl SegmentHeader {
    fn block(&self) -> AlignedBuf {
        let mut block = AlignedBuf::with_capacity(BLOCK);
        block.extend_from_slice(&MAGIC);
        block.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        block.extend_from_slice(&[0; 4]);
        for number in [self.journal_id, self.number, self.first.0, self.data_bytes] {
            block.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&block);
        block[12..16].copy_from_slice(&checksum.to_le_bytes());
        block.pad_to_block();
        block
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<SegmentHeader, HeaderError> {
        let u64_at = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        if bytes[..8] != MAGIC {
            return Err(HeaderError::Damaged("it is not a journal segment"));
        }
        let [version, checksum] = [u64_at(8) as u32, (u64_at(8) >> 32) as u32];
        if version > FORMAT_VERSION {
            return Err(HeaderError::Newer(version));
        }
        let mut unsigned = *bytes;
        unsigned[12..16].fill(0);
        if crc32c::crc32c(&unsigned) != checksum {
            return Err(HeaderError::Damaged("the checksum of its header is wrong"));
        }
        let (first, data_bytes) = (Lsn(u64_at(32)), u64_at(40));
        let fits = first.0.checked_add(data_bytes).is_some();
        if !fits || !first.is_aligned() || !Lsn(data_bytes).is_aligned() || data_bytes == 0 {
            return Err(HeaderError::Damaged("its header has impossible numbers"));
        }
        Ok(SegmentHeader { journal_id: u64_at(16), number: u64_at(24), first, data_bytes })
    }
}
