//! Small files that are read and replaced as a whole.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Create, File, FileSystem, IoError, OpenOptions, SyncCounters};
use std::sync::Arc;

/// All bytes of a file; fails with `InvalidData` when it is longer than `max_bytes`.
pub fn read_whole(fs: &dyn FileSystem, path: &Path, max_bytes: u64) -> Result<Vec<u8>, IoError> {
    let file = fs.open(path, &OpenOptions::read())?;
    let len = file.len()?;
    if len > max_bytes {
        let source = std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("the file has {len} bytes, more than the {max_bytes} it may have"),
        );
        return Err(IoError::new("read", path, source));
    }
    let mut bytes = vec![0; usize::try_from(len).expect("a file within the limit fits in memory")];
    let got = file.read_at(0, &mut bytes)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// Replaces the file's content atomically and durably: after a crash it is the old or the new one,
/// after `Ok` it is the new one. Goes through `<path>.new`, which a crash may leave behind. After an
/// error the content in place is the old or the new one, and which may change at a crash.
pub fn replace_whole(
    fs: &dyn FileSystem,
    path: &Path,
    bytes: &[u8],
    counters: Option<&Arc<SyncCounters>>,
) -> Result<(), IoError> {
    Replacement::write(fs, path, bytes, counters)?.put_in_place()
}

/// The new content of a file, durable beside the old one.
pub struct Replacement<'a> {
    fs: &'a dyn FileSystem,
    path: &'a Path,
    fresh: PathBuf,
    file: Arc<dyn File>,
    counters: Option<&'a Arc<SyncCounters>>,
}

impl<'a> Replacement<'a> {
    /// Writes `bytes` to `<path>.new`. After an error `path` is as it was.
    pub fn write(
        fs: &'a dyn FileSystem,
        path: &'a Path,
        bytes: &[u8],
        counters: Option<&'a Arc<SyncCounters>>,
    ) -> Result<Replacement<'a>, IoError> {
        let fresh = beside(path, ".new");
        if fs.exists(&fresh)? {
            fs.remove(&fresh)?;
        }
        let options = OpenOptions { counters: counters.cloned(), ..OpenOptions::buffered(Create::New) };
        let file = fs.open(&fresh, &options)?;
        file.write_at(0, bytes)?;
        file.sync_data()?;
        Ok(Replacement { fs, path, fresh, file, counters })
    }

    /// The file, under whichever name.
    pub fn file(&self) -> Arc<dyn File> {
        self.file.clone()
    }

    /// Replaces the old content. After an error either is in place, and which may change at a crash.
    pub fn put_in_place(self) -> Result<(), IoError> {
        self.fs.rename(&self.fresh, self.path)?;
        self.fs.sync_dir(self.path.parent().unwrap_or(Path::new(".")))?;
        if let Some(counters) = self.counters {
            counters.count_sync();
        }
        Ok(())
    }
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}
