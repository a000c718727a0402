//! A run: changes by key in a file of one large transaction.
//!
//! Format, integers little-endian:
//!
//! ```text
//! blocks, each: bytes u32 | CRC-32C of them u32 | entries
//! entry: key length u32 | value length u32, 0xffff_ffff where the key was removed | number u64 | key | value
//! ```
//!
//! Keys rise, numbers of one key fall; all versions of a key are in one block.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cohort_binlog::BinlogFiles;
use cohort_engine::{EngineId, ReadError};
use cohort_io::{File, IoError};

use super::Dead;
use crate::overlay::Version;

/// A block is written when it is so long.
const BLOCK_BYTES: usize = 32 << 10;
const BLOCK_HEAD: usize = 8;
const ENTRY_HEAD: usize = 16;
const REMOVED: u32 = u32::MAX;
/// Of the filter, for each key.
const FILTER_BITS: u64 = 10;
const FILTER_PROBES: u64 = 6;

struct Block {
    first_key: Box<[u8]>,
    offset: u64,
    bytes: u32,
}

/// A file with changes, and what finds them in it.
pub(super) struct Run {
    binlog: Arc<BinlogFiles>,
    id: u64,
    number: u32,
    level: u32,
    file: Arc<dyn File>,
    path: PathBuf,
    bytes: u64,
    blocks: Vec<Block>,
    /// Empty for a run that is read from begin to end.
    last_key: Box<[u8]>,
    /// Which keys may be there; empty for a run that is read from begin to end.
    filter: Vec<u64>,
    engines: u64,
    /// What it takes in memory, bytes.
    memory: u64,
    kept: AtomicBool,
}

/// One entry of a block that was read.
#[derive(Clone)]
pub(super) struct Entry {
    pub number: u64,
    pub key: Range<usize>,
    pub value: Option<Range<usize>>,
}

/// What the name of a run's file ends with.
pub(crate) fn run_name(number: u32) -> String {
    format!("redo-{number}")
}

/// What [`Run::get`] finds a key by.
pub(super) fn hash(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Where the filter has the bits of a key.
fn probes(hash: u64, words: usize) -> impl Iterator<Item = (usize, u64)> {
    let bits = words as u64 * 64;
    let step = (hash >> 32) | 1;
    (0..FILTER_PROBES).map(move |probe| {
        let bit = hash.wrapping_add(probe.wrapping_mul(step)) % bits;
        ((bit / 64) as usize, 1 << (bit % 64))
    })
}

impl Run {
    /// Opens a run that was written by another process, to be read from begin to end.
    pub fn open(binlog: Arc<BinlogFiles>, id: u64, number: u32, bytes: u64) -> Result<Run, ReadError> {
        let unreadable = |error: IoError| ReadError { engine: "run", detail: error.to_string() };
        let (file, path) = binlog.open_large_file(id, &run_name(number)).map_err(unreadable)?;
        let mut run = Run {
            binlog,
            id,
            number,
            level: 0,
            file,
            path,
            bytes,
            blocks: Vec::new(),
            last_key: Box::default(),
            filter: Vec::new(),
            engines: 0,
            memory: 0,
            kept: AtomicBool::new(true),
        };
        run.blocks = find_blocks(&*run.file, &run.path, bytes)?;
        Ok(run)
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// How many times what it has was written anew, at most.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub fn has_engine(&self, engine: EngineId) -> bool {
        self.engines >> engine.0 & 1 == 1
    }

    /// What it takes in memory once it is finished; asked for with each row that a statement changes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    pub fn sync(&self) -> Result<(), IoError> {
        self.file.sync_data()
    }

    /// Whether the file stays when this is dropped.
    pub fn keep(&self, keep: bool) {
        self.kept.store(keep, Ordering::Relaxed);
    }

    /// The block that has `key`, if one has; a run that was opened does not know.
    pub fn block_with(&self, key: &[u8]) -> Option<usize> {
        let is_known = !self.filter.is_empty();
        is_known.then(|| self.blocks.partition_point(|block| &*block.first_key <= key).saturating_sub(1))
    }

    /// Whether `key` lies between the first and the last one.
    pub fn spans(&self, key: &[u8]) -> bool {
        self.blocks.first().is_some_and(|block| *block.first_key <= *key && *key <= *self.last_key)
    }

    /// The newest version of `key` that is not dead, by its [`hash`].
    pub fn get(&self, key: &[u8], hash: u64, dead: &Dead) -> Result<Option<Version>, ReadError> {
        if !probes(hash, self.filter.len()).all(|(word, bit)| self.filter[word] & bit != 0) {
            return Ok(None);
        }
        let Some(at) = self.block_with(key).filter(|at| *at < self.blocks.len()) else { return Ok(None) };
        let bytes = self.read_block(at)?;
        let found = entries(&bytes).find(|entry| bytes[entry.key.clone()] == *key && !dead.has(entry.number));
        Ok(found.map(|entry| entry.value.map(|value| Arc::from(&bytes[value]))))
    }

    /// The entries' bytes of a block, which were checked.
    pub fn read_block(&self, at: usize) -> Result<Vec<u8>, ReadError> {
        read_block(&*self.file, &self.path, &self.blocks[at])
    }
}

/// Reads all of a run of so many bytes: whether it can be applied.
pub(crate) fn verify(file: &dyn File, path: &Path, bytes: u64) -> Result<(), ReadError> {
    find_blocks(file, path, bytes)?.iter().try_for_each(|block| read_block(file, path, block).map(drop))
}

/// The blocks of a run that another process wrote, without their keys.
fn find_blocks(file: &dyn File, path: &Path, bytes: u64) -> Result<Vec<Block>, ReadError> {
    let (mut blocks, mut offset) = (Vec::new(), 0);
    while offset < bytes {
        let mut head = [0; BLOCK_HEAD];
        read(file, path, offset, &mut head)?;
        let block = u32_at(&head, 0);
        let end = offset + BLOCK_HEAD as u64 + u64::from(block);
        if block == 0 || end > bytes {
            return Err(damaged(path, offset));
        }
        blocks.push(Block { first_key: Box::default(), offset, bytes: block });
        offset = end;
    }
    Ok(blocks)
}

fn read_block(file: &dyn File, path: &Path, block: &Block) -> Result<Vec<u8>, ReadError> {
    let Block { offset, bytes, .. } = block;
    let mut block = vec![0; BLOCK_HEAD + *bytes as usize];
    read(file, path, *offset, &mut block)?;
    let entries = block.split_off(BLOCK_HEAD);
    let checksum = crc32c::crc32c(&entries);
    if block[..4] != bytes.to_le_bytes() || block[4..] != checksum.to_le_bytes() || !are_whole(&entries) {
        return Err(damaged(path, *offset));
    }
    Ok(entries)
}

fn read(file: &dyn File, path: &Path, offset: u64, bytes: &mut [u8]) -> Result<(), ReadError> {
    match file.read_at(offset, bytes) {
        Ok(got) if got == bytes.len() => Ok(()),
        Ok(_) => Err(damaged(path, offset)),
        Err(error) => Err(ReadError { engine: "run", detail: error.to_string() }),
    }
}

fn damaged(path: &Path, offset: u64) -> ReadError {
    ReadError { engine: "run", detail: format!("{} is damaged at byte {offset}", path.display()) }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !*self.kept.get_mut() {
            // What stays is removed by the next start.
            let _ = self.binlog.remove_large_file(self.id, &run_name(self.number));
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Whether the lengths of all entries lie within the block.
fn are_whole(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        if bytes.len() - at < ENTRY_HEAD {
            return false;
        }
        let value = match u32_at(bytes, at + 4) {
            REMOVED => 0,
            value => value as usize,
        };
        at = at.saturating_add(ENTRY_HEAD + u32_at(bytes, at) as usize).saturating_add(value);
    }
    at == bytes.len()
}

/// The entries of a block that [`Run::read_block`] gave.
pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == bytes.len() {
            return None;
        }
        let (key_len, value_len) = (u32_at(bytes, at) as usize, u32_at(bytes, at + 4));
        let number = u64::from_le_bytes(bytes[at + 8..at + ENTRY_HEAD].try_into().expect("eight bytes"));
        let key = at + ENTRY_HEAD..at + ENTRY_HEAD + key_len;
        let value = (value_len != REMOVED).then(|| key.end..key.end + value_len as usize);
        at = value.as_ref().map_or(key.end, |value| value.end);
        Some(Entry { number, key, value })
    })
}

/// Writes a run.
pub(super) struct RunWriter {
    run: Run,
    block: Vec<u8>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    hashes: Vec<u64>,
}

impl RunWriter {
    pub fn new(binlog: Arc<BinlogFiles>, id: u64, number: u32, level: u32) -> Result<RunWriter, IoError> {
        let (file, path) = binlog.make_large_file(id, &run_name(number))?;
        let run = Run {
            binlog,
            id,
            number,
            level,
            file,
            path,
            bytes: 0,
            blocks: Vec::new(),
            last_key: Box::default(),
            filter: Vec::new(),
            engines: 0,
            memory: 0,
            kept: AtomicBool::new(false),
        };
        Ok(RunWriter { run, block: vec![0; BLOCK_HEAD], first_key: vec![], last_key: vec![], hashes: vec![] })
    }

    /// Adds a version: of the last key an older one, or of a key above it.
    pub fn push(&mut self, key: &[u8], number: u64, value: Option<&[u8]>) -> Result<(), IoError> {
        let is_new = key != self.last_key;
        if is_new && self.block.len() >= BLOCK_BYTES {
            self.write_block()?;
        }
        if self.block.len() == BLOCK_HEAD {
            self.first_key = key.to_vec();
        }
        if is_new {
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
            self.hashes.push(hash(key));
            self.run.engines |= 1 << key[0];
        }
        // Keys and values come from packets and are far shorter.
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("shorter than 4 GiB").to_le_bytes();
        self.block.extend_from_slice(&length(key));
        self.block.extend_from_slice(&value.map_or(REMOVED.to_le_bytes(), length));
        self.block.extend_from_slice(&number.to_le_bytes());
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(value.unwrap_or_default());
        Ok(())
    }

    fn write_block(&mut self) -> Result<(), IoError> {
        let entries = &self.block[BLOCK_HEAD..];
        let (bytes, checksum) = (entries.len() as u32, crc32c::crc32c(entries));
        self.block[..4].copy_from_slice(&bytes.to_le_bytes());
        self.block[4..BLOCK_HEAD].copy_from_slice(&checksum.to_le_bytes());
        let offset = self.run.bytes;
        self.run.file.write_at(offset, &self.block)?;
        self.run.bytes += self.block.len() as u64;
        self.run.blocks.push(Block { first_key: self.first_key.as_slice().into(), offset, bytes });
        self.block.truncate(BLOCK_HEAD);
        Ok(())
    }

    pub fn finish(mut self) -> Result<Run, IoError> {
        if self.block.len() > BLOCK_HEAD {
            self.write_block()?;
        }
        let words = (self.hashes.len() as u64 * FILTER_BITS).div_ceil(64).max(1) as usize;
        let mut filter = vec![0; words];
        for hash in &self.hashes {
            probes(*hash, words).for_each(|(word, bit)| filter[word] |= bit);
        }
        let blocks = self.run.blocks.iter().map(|block| size_of::<Block>() + block.first_key.len());
        self.run.memory = (blocks.sum::<usize>() + 8 * filter.len()) as u64;
        self.run.filter = filter;
        self.run.last_key = self.last_key.into();
        Ok(self.run)
    }
}
