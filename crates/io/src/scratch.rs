//! [`ScratchFs`]: files as they are, and writes to them that nobody else ever sees.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sync::Mutex;

use crate::{File, FileLock, FileSystem, IoError, OpenOptions};

const PAGE: u64 = 4096;

/// Another file system's files, opened for reading only; what is written to one of them is kept in memory
/// for as long as it is open. For tools that must open what they only want to look at. Names cannot be
/// changed.
pub struct ScratchFs {
    below: Arc<dyn FileSystem>,
}

impl ScratchFs {
    /// The files of `below`.
    pub fn over(below: Arc<dyn FileSystem>) -> ScratchFs {
        ScratchFs { below }
    }
}

fn refused<T>(op: &'static str, path: &Path) -> Result<T, IoError> {
    Err(IoError::new(op, path, io::Error::from(io::ErrorKind::ReadOnlyFilesystem)))
}

impl FileSystem for ScratchFs {
    fn open(&self, path: &Path, _: &OpenOptions) -> Result<Arc<dyn File>, IoError> {
        let below = self.below.open(path, &OpenOptions::read())?;
        let len = below.len()?;
        let changed = Changed { len, below_len: len, pages: HashMap::new() };
        Ok(Arc::new(ScratchFile { below, path: path.to_path_buf(), changed: Mutex::new(changed) }))
    }

    fn rename(&self, from: &Path, _: &Path) -> Result<(), IoError> {
        refused("rename", from)
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        refused("remove", path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), IoError> {
        if self.below.exists(path)? { Ok(()) } else { refused("create", path) }
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, IoError> {
        self.below.list(dir)
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        self.below.exists(path)
    }

    fn sync_dir(&self, _: &Path) -> Result<(), IoError> {
        Ok(())
    }

    fn available_bytes(&self, dir: &Path) -> Result<u64, IoError> {
        self.below.available_bytes(dir)
    }

    fn lock_exclusive(&self, path: &Path) -> Result<FileLock, IoError> {
        if self.below.exists(path)? { self.below.lock_exclusive(path) } else { refused("lock", path) }
    }
}

struct ScratchFile {
    below: Arc<dyn File>,
    path: PathBuf,
    changed: Mutex<Changed>,
}

struct Changed {
    len: u64,
    /// How much of the file below still counts: no more than the shortest length it was cut to.
    below_len: u64,
    pages: HashMap<u64, Box<[u8; PAGE as usize]>>,
}

impl ScratchFile {
    fn page(&self, changed: &Changed, number: u64) -> Result<Box<[u8; PAGE as usize]>, IoError> {
        if let Some(page) = changed.pages.get(&number) {
            return Ok(page.clone());
        }
        let mut page = Box::new([0; PAGE as usize]);
        let there = changed.below_len.saturating_sub(number * PAGE).min(PAGE) as usize;
        self.below.read_at(number * PAGE, &mut page[..there])?;
        Ok(page)
    }
}

impl File for ScratchFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError> {
        let changed = self.changed.lock();
        let wanted = changed.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        let mut done = 0;
        while done < wanted {
            let at = offset + done as u64;
            let from = (at % PAGE) as usize;
            let part = (PAGE as usize - from).min(wanted - done);
            buf[done..done + part].copy_from_slice(&self.page(&changed, at / PAGE)?[from..from + part]);
            done += part;
        }
        Ok(wanted)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let mut changed = self.changed.lock();
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let from = (at % PAGE) as usize;
            let part = (PAGE as usize - from).min(bytes.len() - done);
            let mut page = self.page(&changed, at / PAGE)?;
            page[from..from + part].copy_from_slice(&bytes[done..done + part]);
            changed.pages.insert(at / PAGE, page);
            done += part;
        }
        changed.len = changed.len.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        Ok(self.changed.lock().len)
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        let mut changed = self.changed.lock();
        if len < changed.len {
            changed.below_len = changed.below_len.min(len);
            changed.pages.retain(|number, _| number * PAGE < len);
            if let Some(page) = changed.pages.get_mut(&(len / PAGE)) {
                page[(len % PAGE) as usize..].fill(0);
            }
        }
        changed.len = len;
        Ok(())
    }

    fn reserve(&self, _: u64, _: u64) -> Result<(), IoError> {
        Ok(())
    }

    fn allocated_bytes(&self) -> Result<u64, IoError> {
        self.len()
    }

    fn is_direct(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for ScratchFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScratchFile").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Create, SimDisk};

    #[test]
    fn writes_show_and_the_file_below_stays_as_it_was() {
        let disk = SimDisk::new(1);
        let path = Path::new("/file");
        let before: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        disk.open(path, &OpenOptions::buffered(Create::New)).unwrap().write_at(0, &before).unwrap();

        let scratch = ScratchFs::over(Arc::new(disk.clone()));
        let file = scratch.open(path, &OpenOptions::buffered(Create::Never)).unwrap();
        let mut expected = before.clone();
        let read = |file: &Arc<dyn File>| {
            let mut bytes = vec![0; 30_000];
            let len = file.read_at(0, &mut bytes).unwrap();
            bytes.truncate(len);
            bytes
        };
        assert_eq!(read(&file), expected);
        file.write_at(4000, &[7; 5000]).unwrap();
        expected[4000..9000].fill(7);
        assert_eq!(read(&file), expected);
        file.set_len(4500).unwrap();
        file.set_len(12_000).unwrap();
        expected.truncate(4500);
        expected.resize(12_000, 0);
        assert_eq!(read(&file), expected);
        file.write_at(20_000, b"end").unwrap();
        expected.resize(20_000, 0);
        expected.extend_from_slice(b"end");
        assert_eq!(read(&file), expected);

        let below = disk.open(path, &OpenOptions::read()).unwrap();
        assert_eq!(read(&below), before);
        assert!(scratch.remove(path).is_err() && disk.exists(path).unwrap());
        assert!(scratch.open(Path::new("/other"), &OpenOptions::buffered(Create::IfMissing)).is_err());
    }
}
