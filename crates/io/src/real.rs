//! The operating system's files.
//!
//! A write that the kernel cuts short is continued; each call to the kernel is counted by itself.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags};

use crate::{Access, Create, File, FileLock, FileSystem, IoError, OpenOptions, SyncCounters};

/// The machine's file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

impl RealFs {
    /// The machine's file systems.
    pub fn new() -> RealFs {
        RealFs
    }
}

struct RealFile {
    file: fs::File,
    path: PathBuf,
    access: Access,
    direct: AtomicBool,
    counters: Option<Arc<SyncCounters>>,
}

impl FileSystem for RealFs {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError> {
        let opened = match options.access {
            Access::DirectSync => match open_with(path, options, OFlags::DIRECT | OFlags::DSYNC) {
                Err(error) if refuses_direct(&error) => {
                    open_with(path, options, OFlags::DSYNC).map(|file| (file, false))
                }
                opened => opened.map(|file| (file, true)),
            },
            Access::Read | Access::Buffered => open_with(path, options, OFlags::empty()).map(|file| (file, false)),
        };
        let (file, direct) = opened.map_err(|source| IoError::new("open", path, source))?;
        Ok(Arc::new(RealFile {
            file,
            path: path.to_path_buf(),
            access: options.access,
            direct: AtomicBool::new(direct),
            counters: options.counters.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        fs::rename(from, to).map_err(|source| IoError::new("rename", from, source))
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        fs::remove_file(path).map_err(|source| IoError::new("remove", path, source))
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), IoError> {
        let mut missing = Vec::new();
        let mut above = Some(path);
        while let Some(dir) = above.filter(|dir| !dir.as_os_str().is_empty()) {
            if self.exists(dir)? {
                break;
            }
            missing.push(dir);
            above = dir.parent();
        }
        for dir in missing.into_iter().rev() {
            match fs::create_dir(dir) {
                Err(source) if source.kind() != ErrorKind::AlreadyExists => {
                    return Err(IoError::new("create directory", dir, source));
                }
                _ => self.sync_dir(parent(dir))?,
            }
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, IoError> {
        let failed = |source| IoError::new("list", dir, source);
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        fs::exists(path).map_err(|source| IoError::new("look up", path, source))
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), IoError> {
        fs::File::open(dir)
            .and_then(|opened| opened.sync_all())
            .map_err(|source| IoError::new("sync directory", dir, source))
    }

    fn available_bytes(&self, dir: &Path) -> Result<u64, IoError> {
        let space = rustix::fs::statvfs(dir).map_err(|source| IoError::new("measure", dir, source.into()))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn lock_exclusive(&self, path: &Path) -> Result<FileLock, IoError> {
        let failed = |source| IoError::new("lock", path, source);
        let file =
            fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        Ok(FileLock::new(file))
    }
}

fn open_with(path: &Path, options: &OpenOptions, flags: OFlags) -> io::Result<fs::File> {
    let flags = i32::try_from(flags.bits()).expect("open flags fit the system call");
    let mut open = fs::OpenOptions::new();
    open.read(true).write(options.access != Access::Read).custom_flags(flags);
    match options.create {
        Create::Never => {}
        Create::IfMissing => {
            open.create(true);
        }
        Create::New => {
            open.create_new(true);
        }
    }
    open.open(path)
}

fn refuses_direct(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

impl RealFile {
    /// Some file systems take `O_DIRECT` at opening and refuse the first write with `EINVAL`, before
    /// any byte moved: that file goes on without it.
    fn give_up_direct(&self) -> io::Result<()> {
        let flags = rustix::fs::fcntl_getfl(&self.file)?;
        rustix::fs::fcntl_setfl(&self.file, flags.difference(OFlags::DIRECT))?;
        self.direct.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write_at(bytes, offset) {
            Err(error) if refuses_direct(&error) && self.is_direct() => {
                self.give_up_direct()?;
                self.file.write_at(bytes, offset)
            }
            written => written,
        }
    }

    fn count_write(&self, bytes: usize) {
        if let Some(counters) = &self.counters {
            counters.count_write(bytes as u64);
            if self.access == Access::DirectSync {
                counters.count_sync();
            }
        }
    }
}

impl File for RealFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError> {
        let mut filled = 0;
        while filled < buf.len() {
            let at = offset + filled as u64;
            match self.file.read_at(&mut buf[filled..], at) {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(IoError::at("read", &self.path, at, source)),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let mut written = 0;
        while written < bytes.len() {
            let at = offset + written as u64;
            match self.write_some(at, &bytes[written..]) {
                Ok(0) => {
                    let source = io::Error::from(ErrorKind::WriteZero);
                    return Err(IoError::at("write", &self.path, at, source));
                }
                Ok(taken) => {
                    written += taken;
                    self.count_write(taken);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(IoError::at("write", &self.path, at, source)),
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.file.sync_data().map_err(|source| IoError::new("sync", &self.path, source))?;
        if let Some(counters) = &self.counters {
            counters.count_sync();
        }
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|source| IoError::new("measure", &self.path, source))?.len())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.file.set_len(len).map_err(|source| IoError::at("set length of", &self.path, len, source))
    }

    fn reserve(&self, offset: u64, len: u64) -> Result<(), IoError> {
        match rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, len) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
            Err(error) => Err(IoError::at("reserve space in", &self.path, offset, error.into())),
        }
    }

    fn allocated_bytes(&self) -> Result<u64, IoError> {
        let metadata = self.file.metadata();
        // In the units of stat(2), whatever the blocks of the file system.
        Ok(metadata.map_err(|source| IoError::new("measure", &self.path, source))?.blocks() * 512)
    }

    fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
