//! The files of the binlog: appended to, rotated, purged, and repaired from the journal after a crash.
//!
//! Nothing here is synced on the commit path. Every byte, a new file's first and an old file's last
//! included, is in the journal before it comes here, so that after a crash [`BinlogFiles::replay`] can
//! write it again at the place it had.
//!
//! Outline of a start: [`BinlogFiles::open`], [`BinlogFiles::replay`] for what the journal holds from its
//! checkpoint on, [`BinlogFiles::finish_recovery`]; then [`BinlogFiles::append`] takes over.
//!
//! Invariants
//! 1. Bytes are appended at the end only, in one sequence of files without a gap in their numbers.
//! 2. After a failed write or sync nothing is written any more ([`BinlogError::Sealed`]).
//! 3. What [`BinlogFiles::sync_all`] names as durable is: data, lengths, names and index.
//! 4. Bytes the caller has reserved find room ([`BinlogFiles::reserve`]).
//!
//! Concurrency: one thread appends at a time. Locks in order: `syncing` or `preparing`, `writer`, `names`, `space`. Only
//! `syncing` and, in a purge, `names` are held during a sync, so that appending waits for one only when it
//! rotates in the middle of a purge.
//!
//! On crash: bytes not yet synced may be missing or zero, in any order; so may names and lines of the
//! index. Any other difference from the journal is damage.

use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::sync::Mutex;
use cohort_io::{Create, File, FileSystem, IoError, OpenOptions, SyncCounters, SyncStats};

use super::acks::Acks;
use super::follow::{FollowError, Follower};
use super::gtid::GtidSet;
use super::index::{Index, file_name, file_number};
use super::points::Points;
use super::position::BinlogPosition;
use super::reader::{BinlogReader, ReadError, ReaderOptions};
use super::space::{NextFile, Space};
use super::tail::Tail;
use super::transaction::LargeEvents;
use super::wire::{FLAG_IN_USE, FLAGS_AT, MAGIC};
use history::History;

mod history;
mod large;
mod points;
mod recovery;

pub(super) use large::{LARGE_EVENTS, is_large_name, large_name};
pub use recovery::RecoveredFiles;
pub(super) use recovery::{Found, compare};

/// Where the in-use mark stands in a file.
const IN_USE_AT: u64 = (MAGIC.len() + FLAGS_AT) as u64;
/// Ending of a file that is made ready and not begun.
const NEXT_ENDING: &str = ".next";
/// Events hold their positions in four bytes.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;

/// Where the files are and what they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinlogOptions {
    /// Directory of the files and the index; made when missing.
    pub directory: PathBuf,
    /// `binlog` in `binlog.000001` and `binlog.index`.
    pub base_name: String,
    /// Disk space set aside at a time, bytes.
    pub reserve_step_bytes: u64,
}

impl BinlogOptions {
    /// Files called `binlog` in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> BinlogOptions {
        BinlogOptions { directory: directory.into(), base_name: "binlog".to_owned(), reserve_step_bytes: 16 << 20 }
    }
}

/// The text is not a binlog position.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid binlog position '{0}': expected FILE:OFFSET, for example binlog.000003:4711")]
pub struct InvalidPosition(pub String);

impl BinlogOptions {
    /// The position that `text` names, as `binlog.000003:4711`.
    pub fn position(&self, text: &str) -> Result<BinlogPosition, InvalidPosition> {
        let parsed = text.rsplit_once(':').and_then(|(name, offset)| {
            let file_number = file_number(&self.base_name, name)?;
            Some(BinlogPosition { file_number, offset: offset.parse().ok()? })
        });
        parsed.ok_or_else(|| InvalidPosition(text.to_owned()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinlogFile {
    /// Number in its name.
    pub number: u64,
    /// Name without directory.
    pub name: String,
    /// Length.
    pub bytes: u64,
}

/// The binlog could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BinlogError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Damage that a crash does not explain.
    #[error("{path} is damaged at byte {offset}: {what}", path = path.display())]
    Damaged {
        path: PathBuf,
        offset: u64,
        /// What was found, and what the operator can do.
        what: String,
    },
    /// A file was written by a server with another format.
    #[error("{0}: start it with the server that wrote it")]
    OtherVersion(ReadError),
    /// An earlier write or sync failed: what the files hold is not known any more.
    #[error("the binlog takes no more writes because an earlier one failed; restart the server to recover it")]
    Sealed,
    /// Positions in a file have four bytes, and the next file could not be made.
    #[error("the binlog file would pass 4 GiB, and there is no next one yet: commit again later, or free disk space")]
    FileFull,
    /// The index does not list such a file, or it is the current one and cannot be purged.
    #[error("binlog file {0} is not one of the closed files in the index")]
    UnknownFile(u64),
}

impl BinlogError {
    /// No room on the device, or in the file: nothing was written, and freeing space cures it.
    pub fn is_no_space(&self) -> bool {
        match self {
            BinlogError::Io(error) => error.is_no_space(),
            BinlogError::FileFull => true,
            _ => false,
        }
    }
}

/// The file that is appended to.
struct Current {
    number: u64,
    file: Arc<dyn File>,
    end: u64,
}

struct Writer {
    current: Option<Current>,
    /// Files closed since the last sync, with their lengths.
    closed: Vec<(Arc<dyn File>, u64)>,
    data_dirty: bool,
    names_dirty: bool,
    sealed: bool,
}

/// A file that the index lists.
#[derive(Clone, Copy, Debug)]
struct Listed {
    number: u64,
    /// Length; of the current file as it was when it was opened.
    bytes: u64,
}

struct Names {
    index: Index,
    files: Vec<Listed>,
}

pub struct BinlogFiles {
    fs: Arc<dyn FileSystem>,
    options: BinlogOptions,
    counters: Arc<SyncCounters>,
    syncing: Mutex<()>,
    /// Held while the next file is prepared.
    preparing: Mutex<()>,
    writer: Mutex<Writer>,
    names: Mutex<Names>,
    space: Mutex<Space>,
    recovered: Mutex<RecoveredFiles>,
    tail: Tail,
    points: Points,
    acks: Acks,
    history: Mutex<History>,
}

impl std::fmt::Debug for BinlogFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BinlogFiles").field("options", &self.options).finish_non_exhaustive()
    }
}

impl BinlogFiles {
    /// `binlog.000007` for 7.
    pub fn file_name(&self, number: u64) -> String {
        file_name(&self.options.base_name, number)
    }

    /// The path of a file.
    pub fn path(&self, number: u64) -> PathBuf {
        self.options.directory.join(self.file_name(number))
    }

    /// Where the next byte goes; `None` while there is no file.
    pub fn end(&self) -> Option<BinlogPosition> {
        self.writer.lock().current.as_ref().map(Current::position)
    }

    /// Sets disk space aside, so that the next `bytes` appended cannot fail for lack of it, in this
    /// file or after a rotation to a prepared one. [`BinlogFiles::append`] uses it up; what will not be
    /// appended goes back by [`BinlogFiles::release`]. After an error nothing is set aside.
    pub fn reserve(&self, bytes: u64) -> Result<(), BinlogError> {
        let mut space = self.space.lock();
        if space.end_with(bytes) > FILE_BYTES_MAX {
            return Err(BinlogError::FileFull);
        }
        Ok(space.promise(bytes)?)
    }

    /// Gives back what [`BinlogFiles::reserve`] took for bytes that will not be appended.
    pub fn release(&self, bytes: u64) {
        self.space.lock().take_back(bytes);
    }

    /// Makes the next file ready, with space for everything reserved; off the commit path. Does nothing when
    /// it is ready.
    pub fn prepare_next(&self) -> Result<(), BinlogError> {
        let _alone = self.preparing.lock();
        let Some(current) = self.end() else {
            return Ok(());
        };
        let number = current.file_number + 1;
        if self.next_is_ready(number) {
            return Ok(());
        }
        let path = self.options.directory.join(self.file_name(number) + NEXT_ENDING);
        let file = self.fs.open(&path, &self.writable(Create::IfMissing))?;
        file.set_len(0)?;
        self.names.lock().index.reserve(4096)?;
        let writer = self.writer.lock();
        if writer.current.as_ref().is_none_or(|current| current.number + 1 != number) {
            // Another file has become the next one meanwhile.
            return Ok(self.fs.remove(&path)?);
        }
        Ok(self.space.lock().keep_next(NextFile { number, path, file })?)
    }

    /// Whether a rotation to the file `number` finds it prepared. While it does not, for want of space or because
    /// [`BinlogFiles::prepare_next`] was not called, the current file should grow on.
    pub fn next_is_ready(&self, number: u64) -> bool {
        self.space.lock().has_next(number)
    }

    /// Appends `bytes`, flushed, not synced. They go to the end of the current file, or, with offset 0 and the
    /// number after the current one, begin the next file and close this one; the first file of all may have
    /// any number.
    ///
    /// After an error the binlog is sealed: the journal has the bytes, and a restart brings them back.
    ///
    /// # Panics
    /// When `at` is another place: the order of commits would be broken.
    pub fn append(&self, at: BinlogPosition, bytes: &[u8]) -> Result<(), BinlogError> {
        let mut writer = self.writer.lock();
        if writer.sealed {
            return Err(BinlogError::Sealed);
        }
        let written = if at.offset == 0 {
            self.begin_file(&mut writer, at.file_number, bytes, None)
        } else {
            self.append_to_current(&mut writer, at, bytes)
        };
        writer.sealed |= written.is_err();
        self.space.lock().use_up(bytes.len() as u64);
        written
    }

    /// Syncs everything appended before the call, and returns the position up to which the binlog is durable
    /// (`None`: there is no file). After an error the binlog is sealed.
    pub fn sync_all(&self) -> Result<Option<BinlogPosition>, BinlogError> {
        let _alone = self.syncing.lock();
        let mut writer = self.writer.lock();
        if writer.sealed {
            return Err(BinlogError::Sealed);
        }
        let position = writer.current.as_ref().map(Current::position);
        let closed = std::mem::take(&mut writer.closed);
        let data = std::mem::take(&mut writer.data_dirty);
        let current = writer.current.as_ref().filter(|_| data).map(|current| Arc::clone(&current.file));
        let names = std::mem::take(&mut writer.names_dirty);
        drop(writer);
        let synced = self.sync_files(&closed, current, names);
        if synced.is_err() {
            self.writer.lock().sealed = true;
        }
        synced.map(|()| position)
    }

    /// Syncs the files closed since the last sync, so that [`BinlogFiles::sync_all`] does not find hundreds of them at
    /// once; what is durable is for that to say. After an error the binlog is sealed; a sealed one is left as it is.
    pub fn sync_closed(&self) -> Result<(), BinlogError> {
        let _alone = self.syncing.lock();
        let mut writer = self.writer.lock();
        let closed = if writer.sealed { Vec::new() } else { std::mem::take(&mut writer.closed) };
        drop(writer);
        let synced = self.sync_files(&closed, None, false);
        if synced.is_err() {
            self.writer.lock().sealed = true;
        }
        synced
    }

    /// The files in order, with their lengths (`SHOW BINARY LOGS`).
    pub fn list(&self) -> Vec<BinlogFile> {
        let end = self.end();
        let names = self.names.lock();
        let length = |file: &Listed| match end {
            Some(end) if end.file_number == file.number => end.offset,
            _ => file.bytes,
        };
        names
            .files
            .iter()
            .map(|file| BinlogFile { number: file.number, name: self.file_name(file.number), bytes: length(file) })
            .collect()
    }

    /// Removes the files before `first_kept`, which the index must list; first from the index, then from the
    /// directory. Returns the names removed. What a crash leaves of it goes at the next start. When it is not known
    /// whether the index was replaced, the binlog is sealed.
    pub fn purge_before(&self, first_kept: u64) -> Result<Vec<String>, BinlogError> {
        let mut names = self.names.lock();
        let Some(kept) = names.files.iter().position(|file| file.number == first_kept) else {
            return Err(BinlogError::UnknownFile(first_kept));
        };
        if kept == 0 {
            return Ok(Vec::new());
        }
        let Names { index, files } = &mut *names;
        let replaced = index.replace(&*self.fs, files[kept..].iter().map(|file| file.number), &self.counters);
        if let Err(replace) = replaced {
            drop(names);
            self.writer.lock().sealed |= replace.in_doubt;
            return Err(replace.into());
        }
        let Names { files, .. } = &mut *names;
        let purged: Vec<Listed> = files.drain(..kept).collect();
        drop(names);
        self.points.forget_before(first_kept);
        purged.iter().for_each(|file| self.remove_points(file.number));
        purged.iter().try_for_each(|file| self.fs.remove(&self.path(file.number)))?;
        Ok(purged.iter().map(|file| self.file_name(file.number)).collect())
    }

    /// Takes the in-use mark from the current file and syncs everything: the end of a clean shutdown. Nothing
    /// may be appended afterwards.
    pub fn close(&self) -> Result<(), BinlogError> {
        let mut writer = self.writer.lock();
        if writer.sealed {
            return Err(BinlogError::Sealed);
        }
        if let Some(current) = &writer.current {
            mark_in_use(&*current.file, false)?;
            writer.data_dirty = true;
        }
        drop(writer);
        self.sync_all()?;
        if let Some(current) = self.writer.lock().current.as_ref() {
            current.file.set_len(current.end)?;
        }
        self.store_points();
        Ok(())
    }

    /// The live end: what followers may read, and who they are.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Where readers by GTID may begin inside of files.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// What replicas have acknowledged, for commits to wait for.
    pub fn acks(&self) -> &Acks {
        &self.acks
    }

    /// Follows the binlog from `at` on, up to what is announced to [`BinlogFiles::tail`].
    pub fn follow(&self, at: BinlogPosition) -> Result<Follower<'_>, FollowError> {
        Follower::new(self, at)
    }

    /// Follows the binlog from the beginning of the last file that has every transaction that is not in `known`. After
    /// the file's header it leaves out what [`Points`] show to be known; some of `known` may still come.
    pub fn follow_after(&self, known: &GtidSet) -> Result<Follower<'_>, FollowError> {
        Follower::after_gtids(self, known)
    }

    /// Number of the file called `name`, if the index lists it.
    pub fn number_of(&self, name: &str) -> Option<u64> {
        let number = file_number(&self.options.base_name, name)?;
        self.names.lock().files.iter().any(|file| file.number == number).then_some(number)
    }

    /// Length of a file that is not the current one.
    pub(super) fn closed_bytes(&self, number: u64) -> Option<u64> {
        let names = self.names.lock();
        let at = names.files.binary_search_by_key(&number, |file| file.number).ok()?;
        Some(names.files[at].bytes)
    }

    /// A reader of one file, the current one included: that is read up to where it ends now.
    pub fn reader(&self, number: u64, options: ReaderOptions) -> Result<BinlogReader, ReadError> {
        let end = self.end().filter(|end| end.file_number == number).map(|end| end.offset);
        let options = ReaderOptions { end: options.end.or(end), ..options };
        BinlogReader::open(&*self.fs, &self.path(number), options)
    }

    /// The first file that was written to at `seconds` since 1970 or later, or the current one. A file ends when the next
    /// one begins.
    pub fn first_file_since(&self, seconds: i64) -> Result<Option<u64>, ReadError> {
        let files = self.list();
        for (file, next) in files.iter().zip(files.iter().skip(1)) {
            if i64::from(self.reader(next.number, ReaderOptions::default())?.begun_s()) >= seconds {
                return Ok(Some(file.number));
            }
        }
        Ok(files.last().map(|file| file.number))
    }

    /// The transactions in the files before `number`, as that file's header lists them.
    pub fn previous_gtids(&self, number: u64) -> Result<GtidSet, ReadError> {
        self.reader(number, ReaderOptions::default())?.previous_gtids()
    }

    /// Writes and syncs so far, of the files, the index and the directory.
    pub fn stats(&self) -> SyncStats {
        self.counters.stats()
    }

    fn append_to_current(&self, writer: &mut Writer, at: BinlogPosition, bytes: &[u8]) -> Result<(), BinlogError> {
        let current = writer.current.as_mut().filter(|current| current.position() == at);
        let current = current.expect("bytes are appended at the end of the binlog");
        current.file.write_at(at.offset, bytes)?;
        current.end += bytes.len() as u64;
        self.space.lock().set_end(current.end);
        writer.data_dirty = true;
        Ok(())
    }

    /// Begins the next file with `header`; it is `events`, where those are given, the file of a large transaction.
    fn begin_file(
        &self,
        writer: &mut Writer,
        number: u64,
        header: &[u8],
        events: Option<&LargeEvents>,
    ) -> Result<(), BinlogError> {
        let follows = writer.current.as_ref().is_none_or(|current| current.number + 1 == number);
        assert!(follows, "the next file has the next number");
        let mut names = self.names.lock();
        let mut space = self.space.lock();
        let path = self.path(number);
        let mut end = header.len() as u64;
        let prepared = if events.is_none() { space.take_next(number) } else { None };
        let (file, reserved_to) = match (prepared, events) {
            (Some((next, reserved_to)), _) => {
                self.fs.rename(&next.path, &path)?;
                (next.file, Some(reserved_to))
            }
            (None, Some(events)) => {
                self.fs.rename(events.file().path(), &path)?;
                end = events.end();
                let next = self.options.directory.join(self.file_name(number + 1) + NEXT_ENDING);
                if let Some(prepared) = space.put_next_off(number, &next) {
                    self.fs.rename(&prepared, &next)?;
                }
                (Arc::clone(events.file().file()), space.take_large(events.file().id()))
            }
            (None, None) => (self.fs.open(&path, &self.writable(Create::New))?, None),
        };
        file.write_at(0, header)?;
        names.index.append(number)?;
        if let Some(old) = writer.current.take() {
            mark_in_use(&*old.file, false)?;
            // Gives back the space that was set aside after the end: on a full disk others need it at once.
            old.file.set_len(old.end)?;
            if let Some(listed) = names.files.last_mut() {
                listed.bytes = old.end;
            }
            writer.closed.push((old.file, old.end));
        }
        names.files.push(Listed { number, bytes: end });
        space.set_current(&file, end, reserved_to);
        writer.current = Some(Current { number, file, end });
        writer.data_dirty = true;
        writer.names_dirty = true;
        Ok(())
    }

    fn sync_files(
        &self,
        closed: &[(Arc<dyn File>, u64)],
        current: Option<Arc<dyn File>>,
        names: bool,
    ) -> Result<(), BinlogError> {
        for (file, bytes) in closed {
            // What a recovery found after the end goes.
            file.set_len(*bytes)?;
            file.sync_data()?;
        }
        if let Some(file) = current {
            file.sync_data()?;
        }
        if names {
            let index = Arc::clone(self.names.lock().index.file());
            index.sync_data()?;
            self.sync_directory()?;
        }
        Ok(())
    }

    fn sync_directory(&self) -> Result<(), BinlogError> {
        self.fs.sync_dir(&self.options.directory)?;
        self.counters.count_sync();
        Ok(())
    }

    fn writable(&self, create: Create) -> OpenOptions {
        OpenOptions::buffered(create).counted(&self.counters)
    }
}

impl Current {
    fn position(&self) -> BinlogPosition {
        BinlogPosition { file_number: self.number, offset: self.end }
    }
}

/// Sets or takes the in-use mark; the checksum of the format description does not cover it.
fn mark_in_use(file: &dyn File, in_use: bool) -> Result<(), IoError> {
    let flags = if in_use { FLAG_IN_USE } else { 0 };
    file.write_at(IN_USE_AT, &flags.to_le_bytes())
}

#[cfg(test)]
mod tests;
