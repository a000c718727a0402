//! A disk in memory that forgets what was not synced.
//!
//! It holds two images: what readers see, and what a power cut leaves. A buffered write, a new length,
//! a made, moved or removed name change the first; a sync carries the changes of that file over, and
//! [`FileSystem::sync_dir`] those of that directory. A write to a file opened for
//! [`Access::DirectSync`] is in both when it returns. [`SimDisk::crash`] gives the disk as found when
//! power is back: each write that was not synced was kept, lost, or torn at a 512-byte boundary,
//! whatever became of the others; of the name changes that were not synced some first ones were kept,
//! as on a file system that journals its metadata.
//!
//! Faults are set before the operation they hit. Every mutating call has a number, counted from 0; a
//! sweep sets a fault at 0, 1, 2, … until a run ends without reaching it ([`SimDisk::operations`]). A
//! failing sync leaves the pages clean and lost, as Linux does: readers still see them, a later sync
//! succeeds, and a crash does not bring them back. The same holds of names after a failing sync of their
//! directory.
//!
//! Not here: directories do not exist by themselves; any path can hold a file.

mod image;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sync::Mutex;

use crate::{Access, Create, File, FileLock, FileSystem, IoError, OpenOptions, SeededRandom, SyncCounters};
use image::{Image, Inode};

/// What happens to the operation a fault is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes off in the middle of it; it and everything later fails until
    /// [`SimDisk::crash`].
    PowerCut,
    /// It fails with `EIO`; what it wrote may be there in part.
    Error,
    /// It fails with `ENOSPC`; what it wrote may be there in part. Removing and syncing do not fail
    /// so, and pass.
    NoSpace,
    /// A write whose first part was taken, up to any byte (any block where writes are direct), before it
    /// fails with `ENOSPC`. Anything else passes.
    ShortWrite,
}

/// A simulated disk. Clones share it.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

struct State {
    image: Image,
    random: SeededRandom,
    operations: u64,
    faults: Vec<(u64, Fault)>,
    powered: bool,
    capacity_bytes: u64,
    locks: BTreeSet<PathBuf>,
}

/// How an operation goes on after its fault was looked up.
enum Course {
    Normal,
    /// Do it in part, then report this.
    Broken(std::io::Error),
    /// Write the first part, then report `ENOSPC`.
    Short,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Takes room and has bytes: `ENOSPC` can hit it before or within them.
    Write,
    /// Takes room: `ENOSPC` can hit it.
    Growing,
    Other,
}

impl SimDisk {
    /// An empty disk without faults; `seed` decides what a crash keeps and where it tears.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::with_image(Image::default(), SeededRandom::new(seed))
    }

    fn with_image(image: Image, random: SeededRandom) -> SimDisk {
        let state = State {
            image,
            random,
            operations: 0,
            faults: Vec::new(),
            powered: true,
            capacity_bytes: u64::MAX,
            locks: BTreeSet::new(),
        };
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Sets `fault` for the mutating call number `operation`, counted from 0 since the disk was made
    /// or found after a crash.
    pub fn set_fault(&self, operation: u64, fault: Fault) {
        self.state.lock().faults.push((operation, fault));
    }

    /// Forgets the faults not reached yet.
    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    /// Whether the power is still on; off from a [`Fault::PowerCut`] or a crash on.
    pub fn is_powered(&self) -> bool {
        self.state.lock().powered
    }

    /// Mutating calls so far, those that failed included.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// The bytes that all files together have, space set aside included.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().image.total_bytes()
    }

    /// Limits the bytes all files together may have; writes beyond fail with `ENOSPC`.
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().capacity_bytes = bytes;
    }

    /// Cuts the power, if it is still on, and gives the disk as it is found afterwards. The old disk
    /// and files opened on it fail from here on.
    pub fn crash(&self) -> SimDisk {
        let state = &mut *self.state.lock();
        state.powered = false;
        let image = state.image.after_crash(&state.random);
        let random = SeededRandom::new(state.random.below(u64::MAX));
        SimDisk::with_image(image, random)
    }

    /// Ends the process without a power cut: what was flushed is there, locks are gone, handles fail.
    pub fn kill(&self) -> SimDisk {
        let mut state = self.state.lock();
        state.powered = false;
        let image = std::mem::take(&mut state.image);
        let random = SeededRandom::new(state.random.below(u64::MAX));
        SimDisk::with_image(image, random)
    }

    /// A disk with the same content as a killed process would leave it; this one goes on.
    pub fn kill_copy(&self) -> SimDisk {
        let state = self.state.lock();
        let random = SeededRandom::new(state.random.below(u64::MAX));
        SimDisk::with_image(state.image.copy(), random)
    }

    /// Gives a file a second name, as a file system can and [`FileSystem`] does not ask for: for those who mount the
    /// disk. After a crash the names stand for two files of the same content.
    pub fn link(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.state
            .lock()
            .change_names(Kind::Growing, |image| image.link(from, to))
            .map_err(|source| IoError::new("link", from, source))
    }

    /// How many names the file has that `path` names: none if there is no such file.
    pub fn names(&self, path: &Path) -> usize {
        self.state.lock().image.names(path)
    }

    /// Flips the bits of `mask` in one byte, on the disk and in what readers see.
    ///
    /// # Panics
    /// When there is no such file or byte.
    pub fn corrupt(&self, path: &Path, offset: u64, mask: u8) {
        let state = self.state.lock();
        let inode = state.image.find(path).expect("the file to damage exists");
        inode.lock().corrupt(usize::try_from(offset).expect("an offset in memory"), mask);
    }
}

impl State {
    fn check_power(&self) -> std::io::Result<()> {
        if self.powered { Ok(()) } else { Err(std::io::Error::other("the power is off")) }
    }

    fn begin(&mut self, kind: Kind) -> std::io::Result<Course> {
        self.check_power()?;
        let number = self.operations;
        self.operations += 1;
        let Some(at) = self.faults.iter().position(|(operation, _)| *operation == number) else {
            return Ok(Course::Normal);
        };
        let (_, fault) = self.faults.swap_remove(at);
        Ok(match fault {
            Fault::PowerCut => {
                self.powered = false;
                Course::Broken(std::io::Error::other("the power is off"))
            }
            Fault::Error => Course::Broken(std::io::Error::from_raw_os_error(libc::EIO)),
            Fault::NoSpace if kind != Kind::Other => Course::Broken(std::io::Error::from_raw_os_error(libc::ENOSPC)),
            Fault::ShortWrite if kind == Kind::Write => Course::Short,
            Fault::NoSpace | Fault::ShortWrite => Course::Normal,
        })
    }

    /// Whether the disk has room for the file to grow to `end` bytes. What replaces bytes needs none, also where the
    /// capacity is less than what there is. Locks every file in turn.
    fn check_room(&self, inode: &Mutex<Inode>, end: u64) -> std::io::Result<()> {
        let more = end.saturating_sub(inode.lock().allocated_bytes());
        if more > 0 && self.image.total_bytes().saturating_add(more) > self.capacity_bytes {
            return Err(std::io::Error::from_raw_os_error(libc::ENOSPC));
        }
        Ok(())
    }

    /// A change of names: done or not done when it breaks.
    fn change_names(
        &mut self,
        kind: Kind,
        change: impl FnOnce(&mut Image) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match self.begin(kind)? {
            Course::Normal => change(&mut self.image),
            Course::Short => unreachable!("no write"),
            Course::Broken(error) => {
                if self.random.below(2) == 0 {
                    change(&mut self.image)?;
                }
                Err(error)
            }
        }
    }
}

impl FileSystem for SimDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError> {
        let failed = |source| IoError::new("open", path, source);
        let mut state = self.state.lock();
        state.check_power().map_err(failed)?;
        let inode = match (state.image.find(path), options.create) {
            (Some(_), Create::New) => {
                return Err(failed(std::io::Error::from_raw_os_error(libc::EEXIST)));
            }
            (Some(inode), Create::Never | Create::IfMissing) => inode,
            (None, Create::Never) => {
                return Err(failed(std::io::Error::from_raw_os_error(libc::ENOENT)));
            }
            (None, Create::New | Create::IfMissing) => {
                state
                    .change_names(Kind::Growing, |image| {
                        image.create(path);
                        Ok(())
                    })
                    .map_err(failed)?;
                state.image.find(path).expect("a file just made is found")
            }
        };
        Ok(Arc::new(SimFile {
            disk: self.clone(),
            inode,
            path: path.to_path_buf(),
            access: options.access,
            counters: options.counters.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.state
            .lock()
            .change_names(Kind::Growing, |image| image.rename(from, to))
            .map_err(|source| IoError::new("rename", from, source))
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.state
            .lock()
            .change_names(Kind::Other, |image| image.remove(path))
            .map_err(|source| IoError::new("remove", path, source))
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), IoError> {
        let state = self.state.lock();
        state.check_power().map_err(|source| IoError::new("create directory", path, source))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, IoError> {
        let state = self.state.lock();
        state.check_power().map_err(|source| IoError::new("list", dir, source))?;
        Ok(state.image.list(dir))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        let state = self.state.lock();
        state.check_power().map_err(|source| IoError::new("look up", path, source))?;
        Ok(state.image.find(path).is_some() || !state.image.list(path).is_empty())
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), IoError> {
        let mut state = self.state.lock();
        let failed = |source| IoError::new("sync directory", dir, source);
        match state.begin(Kind::Other).map_err(failed)? {
            Course::Normal => {
                state.image.sync_dir(dir);
                Ok(())
            }
            Course::Short => unreachable!("no write"),
            Course::Broken(error) => {
                let State { image, random, .. } = &mut *state;
                image.sync_dir_in_vain(dir, random);
                Err(failed(error))
            }
        }
    }

    fn available_bytes(&self, _dir: &Path) -> Result<u64, IoError> {
        let state = self.state.lock();
        Ok(state.capacity_bytes.saturating_sub(state.image.total_bytes()))
    }

    fn lock_exclusive(&self, path: &Path) -> Result<FileLock, IoError> {
        if !self.state.lock().locks.insert(path.to_path_buf()) {
            let source = std::io::Error::from_raw_os_error(libc::EWOULDBLOCK);
            return Err(IoError::new("lock", path, source));
        }
        Ok(FileLock::new(SimLock { disk: self.clone(), path: path.to_path_buf() }))
    }
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state.lock().locks.remove(&self.path);
    }
}

struct SimFile {
    disk: SimDisk,
    inode: Arc<Mutex<Inode>>,
    path: PathBuf,
    access: Access,
    counters: Option<Arc<SyncCounters>>,
}

impl SimFile {
    fn check_alignment(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        let block = crate::BLOCK;
        let aligned = offset.is_multiple_of(block as u64)
            && bytes.len().is_multiple_of(block)
            && (bytes.as_ptr() as usize).is_multiple_of(block);
        match self.access {
            Access::Read => Err(std::io::Error::from_raw_os_error(libc::EBADF)),
            Access::DirectSync if !aligned => Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
            Access::DirectSync | Access::Buffered => Ok(()),
        }
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        let mut state = self.disk.state.lock();
        self.check_alignment(offset, bytes)?;
        let course = state.begin(Kind::Write)?;
        state.check_room(&self.inode, offset + bytes.len() as u64)?;
        let mut inode = self.inode.lock();
        let start = usize::try_from(offset).expect("an offset in memory");
        match course {
            Course::Normal => {
                inode.write(start, bytes);
                if self.access == Access::DirectSync {
                    inode.settle_last(&state.random, true);
                }
                Ok(())
            }
            Course::Short => {
                let unit = if self.access == Access::DirectSync { crate::BLOCK } else { 1 };
                let taken = state.random.below((bytes.len() / unit) as u64 + 1) as usize * unit;
                if taken > 0 {
                    inode.write(start, &bytes[..taken]);
                }
                if taken > 0 && self.access == Access::DirectSync {
                    inode.settle_last(&state.random, true);
                }
                Err(std::io::Error::from_raw_os_error(libc::ENOSPC))
            }
            Course::Broken(error) => {
                if state.random.below(4) > 0 {
                    inode.write(start, bytes);
                    if self.access == Access::DirectSync {
                        inode.settle_last(&state.random, false);
                    }
                }
                Err(error)
            }
        }
    }

    /// A change after which the file takes `end` bytes of the disk.
    fn change(&self, end: u64, change: impl FnOnce(&mut Inode)) -> std::io::Result<()> {
        let mut state = self.disk.state.lock();
        match state.begin(Kind::Growing)? {
            Course::Normal => {
                state.check_room(&self.inode, end)?;
                change(&mut self.inode.lock());
                Ok(())
            }
            Course::Short => unreachable!("no write"),
            Course::Broken(error) => Err(error),
        }
    }
}

impl File for SimFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError> {
        let state = self.disk.state.lock();
        state.check_power().map_err(|source| IoError::at("read", &self.path, offset, source))?;
        Ok(self.inode.lock().read(offset, buf))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.write(offset, bytes).map_err(|source| IoError::at("write", &self.path, offset, source))?;
        if let Some(counters) = &self.counters {
            counters.count_write(bytes.len() as u64);
            if self.access == Access::DirectSync {
                counters.count_sync();
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<(), IoError> {
        let failed = |source| IoError::new("sync", &self.path, source);
        let mut state = self.disk.state.lock();
        match state.begin(Kind::Other).map_err(failed)? {
            Course::Normal => {
                self.inode.lock().sync();
                if let Some(counters) = &self.counters {
                    counters.count_sync();
                }
                Ok(())
            }
            Course::Short => unreachable!("no write"),
            Course::Broken(error) => {
                self.inode.lock().sync_in_vain(&state.random);
                Err(failed(error))
            }
        }
    }

    fn len(&self) -> Result<u64, IoError> {
        Ok(self.inode.lock().len())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.change(len, |inode| {
            inode.set_len(usize::try_from(len).expect("a length in memory"));
        })
        .map_err(|source| IoError::at("set length of", &self.path, len, source))
    }

    fn reserve(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.change(offset + len, |inode| inode.allocate(offset + len))
            .map_err(|source| IoError::at("reserve space in", &self.path, offset, source))
    }

    fn allocated_bytes(&self) -> Result<u64, IoError> {
        Ok(self.inode.lock().allocated_bytes())
    }

    fn is_direct(&self) -> bool {
        self.access == Access::DirectSync
    }
}

#[cfg(test)]
mod tests;
