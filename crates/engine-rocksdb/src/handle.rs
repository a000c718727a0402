//! A database of RocksDB, with or without transactions of its own.

use rust_rocksdb::compaction::CompactionOptions;
use rust_rocksdb::properties::{self, PropName};
use rust_rocksdb::{
    DB, DBAccess, DBRawIteratorWithThreadMode, Error, FlushOptions, GetIntoBufferResult, LiveFile, MultiThreaded,
    Range, ReadOptions, TransactionDB, WriteOptions,
};

/// A database with transactions of its own.
pub(super) type Transactional = TransactionDB<MultiThreaded>;

/// An open database, with or without transactions of its own.
pub(super) trait Handle: DBAccess + Send + Sync + 'static {
    /// Reads `key` into `value` as far as it has room, and says how long the value is.
    fn read(&self, key: &[u8], value: &mut [u8], options: &ReadOptions) -> Result<Option<usize>, Error>;

    /// An iterator within the bounds of the options.
    fn walk(&self, options: ReadOptions) -> DBRawIteratorWithThreadMode<'_, Self>
    where
        Self: Sized;

    /// Puts one key.
    fn put(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<(), Error>;

    /// Writes the memtable into a file.
    fn flush(&self, options: &FlushOptions) -> Result<(), Error>;

    /// About how many bytes of its files these ranges have.
    fn sizes(&self, ranges: &[Range<'_>]) -> Result<Vec<u64>, Error>;

    /// Its files.
    fn live_files(&self) -> Vec<LiveFile>;

    /// Merges files of the youngest level into this one.
    fn compact(&self, options: &CompactionOptions, files: &[String], level: i32) -> Result<(), Error>;

    /// One of RocksDB's numbers, 0 where it has none.
    fn property(&self, property: &PropName) -> u64;

    /// Puts one key into a file, past any log.
    fn put_durably(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let mut past_the_log = WriteOptions::default();
        past_the_log.disable_wal(true);
        self.put(key, value, &past_the_log)?;
        self.flush(&FlushOptions::default())
    }

    /// Entries in the memtable, every version of a key counted.
    fn memtable_entries(&self) -> u64 {
        self.property(properties::NUM_ENTRIES_ACTIVE_MEM_TABLE)
    }

    /// Begins a flush that nobody waits for; if it fails, the event listener hears of it.
    fn begin_flush(&self) {
        let mut unattended = FlushOptions::default();
        unattended.set_wait(false);
        unattended.set_allow_write_stall(true);
        let _ = self.flush(&unattended);
    }
}

impl Handle for DB {
    fn read(&self, key: &[u8], value: &mut [u8], options: &ReadOptions) -> Result<Option<usize>, Error> {
        self.get_into_buffer_opt(key, value, options).map(|got| match got {
            GetIntoBufferResult::Found(len) | GetIntoBufferResult::BufferTooSmall(len) => Some(len),
            GetIntoBufferResult::NotFound => None,
        })
    }

    fn walk(&self, options: ReadOptions) -> DBRawIteratorWithThreadMode<'_, DB> {
        self.raw_iterator_opt(options)
    }

    fn put(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<(), Error> {
        self.put_opt(key, value, options)
    }

    fn flush(&self, options: &FlushOptions) -> Result<(), Error> {
        self.flush_opt(options)
    }

    fn sizes(&self, ranges: &[Range<'_>]) -> Result<Vec<u64>, Error> {
        self.get_approximate_sizes(ranges)
    }

    fn live_files(&self) -> Vec<LiveFile> {
        DB::live_files(self).unwrap_or_default()
    }

    fn compact(&self, options: &CompactionOptions, files: &[String], level: i32) -> Result<(), Error> {
        self.compact_files(options, files, level).map(drop)
    }

    fn property(&self, property: &PropName) -> u64 {
        self.property_int_value(property).ok().flatten().unwrap_or(0)
    }
}

impl Handle for Transactional {
    fn read(&self, key: &[u8], value: &mut [u8], options: &ReadOptions) -> Result<Option<usize>, Error> {
        let Some(found) = self.get_pinned_opt(key, options)? else { return Ok(None) };
        if let Some(room) = value.get_mut(..found.len()) {
            room.copy_from_slice(&found);
        }
        Ok(Some(found.len()))
    }

    fn walk(&self, options: ReadOptions) -> DBRawIteratorWithThreadMode<'_, Transactional> {
        self.raw_iterator_opt(options)
    }

    fn put(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<(), Error> {
        self.put_opt(key, value, options)
    }

    fn flush(&self, options: &FlushOptions) -> Result<(), Error> {
        self.flush_opt(options)
    }

    // The library has no such calls for one with transactions.
    fn sizes(&self, _: &[Range<'_>]) -> Result<Vec<u64>, Error> {
        Ok(Vec::new())
    }

    fn live_files(&self) -> Vec<LiveFile> {
        Vec::new()
    }

    fn compact(&self, _: &CompactionOptions, _: &[String], _: i32) -> Result<(), Error> {
        Ok(())
    }

    fn property(&self, property: &PropName) -> u64 {
        self.property_int_value(property).ok().flatten().unwrap_or(0)
    }
}
