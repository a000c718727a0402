//! A simulated disk as a file system that processes use: what a real server left unsynced is lost, torn or
//! kept when the power is cut, and its writes fail where a test wants it.
//!
//! FUSE, because the server and its engines reach the kernel by different ways (RocksDB through the C library,
//! our own code by system calls), and all of them go through the kernel's file system layer:
//! `docs/decisions/0010-power-cuts.md`. Files bypass the page cache, so that what readers see is the disk's one
//! state; a write through a handle that was opened with `O_DSYNC` or `O_SYNC` is durable when it returns.
//!
//! A directory whose sync failed fails all later ones, until another process has the disk: a file system that journals
//! its metadata stops when its journal does. RocksDB relies on that, whose threads sync one directory for each other.
//!
//! Not as on a disk: directories are durable when made. Times and permissions are not kept. A link is a node of its own
//! for the kernel, and a file of its own after a power cut: made for files that nobody writes any more.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cohort_io::sync::{Condvar, Mutex};
use cohort_io::{AlignedBuf, BLOCK, Create, File, FileSystem, IoError, OpenOptions, SimDisk};
use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

/// Nothing is cached: the disk may change hands.
const TTL: Duration = Duration::ZERO;
const GENERATION: Generation = Generation(0);
/// What an unlimited disk says it has left, bytes.
const PLENTY: u64 = 1 << 40;
/// Threads that answer the kernel: more than writes can be held back at a time.
const THREADS: usize = 8;

/// A mounted disk. Dropping it unmounts it.
pub struct Mounted {
    disk: SimDisk,
    /// What processes see; after a power cut still the disk without power.
    served: Arc<Mutex<SimDisk>>,
    nodes: Arc<Mutex<Nodes>>,
    directories: Directories,
    mountpoint: PathBuf,
    session: Option<BackgroundSession>,
    gate: Arc<Gate>,
}

/// Holds synced writes back.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicUsize,
}

impl Gate {
    fn pass(&self) {
        let mut closed = self.closed.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while *closed {
            self.opened.wait(&mut closed);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The directories there are; the simulated disk knows files only.
type Directories = Arc<Mutex<BTreeSet<PathBuf>>>;

impl Mounted {
    /// Mounts `disk` at an existing directory. Needs `/dev/fuse`, and root or `fusermount3`.
    pub fn new(disk: SimDisk, mountpoint: &Path) -> io::Result<Mounted> {
        let mut mounted = Mounted {
            served: Arc::new(Mutex::new(disk.clone())),
            nodes: Arc::default(),
            disk,
            directories: Directories::default(),
            mountpoint: mountpoint.to_path_buf(),
            session: None,
            gate: Arc::default(),
        };
        mounted.mount(MountOption::RW)?;
        Ok(mounted)
    }

    /// Mounts the same disk anew for reading only. No process may have a file of it open.
    pub fn remount_read_only(&mut self) -> io::Result<()> {
        self.unmount()?;
        self.mount(MountOption::RO)
    }

    /// From now on writes through handles with `O_DSYNC` do not return before [`Mounted::release_writes`].
    pub fn hold_writes(&self) {
        *self.gate.closed.lock() = true;
    }

    /// Lets held writes go on.
    pub fn release_writes(&self) {
        *self.gate.closed.lock() = false;
        self.gate.opened.notify_all();
    }

    /// Writes that are held back now.
    pub fn held_writes(&self) -> usize {
        self.gate.waiting.load(Ordering::SeqCst)
    }

    fn mount(&mut self, access: MountOption) -> io::Result<()> {
        self.serve();
        let layer = Layer {
            disk: self.served.clone(),
            directories: self.directories.clone(),
            nodes: self.nodes.clone(),
            gate: self.gate.clone(),
        };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("cohort-simulated-disk".to_owned()), access];
        config.n_threads = Some(THREADS);
        self.session = Some(fuser::spawn_mount(layer, &self.mountpoint, &config)?);
        Ok(())
    }

    /// The disk, to set faults and its size.
    pub fn disk(&self) -> &SimDisk {
        &self.disk
    }

    /// Cuts the power: from now on everything fails. Processes have to be ended before
    /// [`Mounted::power_on`].
    pub fn power_off(&mut self) {
        self.disk = self.disk.crash();
    }

    /// Mounts the disk as it is found.
    pub fn power_on(&mut self) -> io::Result<()> {
        self.release_writes();
        self.unmount()?;
        self.find_directories(Path::new("/"));
        self.mount(MountOption::RW)
    }

    /// Puts another disk in the place of the one that is mounted, of which nobody may have a file open. The kernel
    /// keeps nothing of a disk and asks for every name anew; numbers that it had are never used again.
    pub fn exchange(&mut self, disk: SimDisk) {
        self.disk = disk;
        self.directories.lock().clear();
        self.serve();
        self.find_directories(Path::new("/"));
    }

    /// From now on processes see the present disk, and nothing that they had open.
    fn serve(&self) {
        let mut nodes = self.nodes.lock();
        let Nodes { last_number, last_handle, .. } = *nodes;
        *nodes = Nodes { last_number, last_handle, ..Nodes::default() };
        *self.served.lock() = self.disk.clone();
    }

    /// Where processes find what the disk has at `path`, which begins with a slash.
    pub fn path(&self, path: &str) -> PathBuf {
        self.mountpoint.join(path.trim_start_matches('/'))
    }

    /// A file whose removal was lost brings the directories above it back.
    fn find_directories(&self, dir: &Path) {
        for name in self.disk.list(dir).unwrap_or_default() {
            let path = dir.join(name);
            if self.disk.open(&path, &OpenOptions::read()).is_err() {
                self.find_directories(&path);
                self.directories.lock().insert(path);
            }
        }
    }

    fn unmount(&mut self) -> io::Result<()> {
        self.session.take().map_or(Ok(()), BackgroundSession::umount_and_join)
    }
}

/// What the kernel calls a file or directory, and what it is.
struct Node {
    path: PathBuf,
    /// None for a directory. Open, so that a file without a name can still be read.
    file: Option<Arc<dyn File>>,
}

/// An open file of a process.
#[derive(Clone)]
struct Handle {
    file: Arc<dyn File>,
    /// For whole blocks, where the process asked for synced writes.
    synced: Option<Arc<dyn File>>,
}

#[derive(Default)]
struct Nodes {
    by_number: HashMap<u64, Node>,
    by_path: HashMap<PathBuf, u64>,
    last_number: u64,
    handles: HashMap<u64, Handle>,
    /// A sync of a directory has failed.
    names_are_lost: bool,
    /// Directories that processes read, as they were when they were opened.
    listings: HashMap<u64, Vec<(INodeNo, FileType, String)>>,
    last_handle: u64,
}

struct Layer {
    disk: Arc<Mutex<SimDisk>>,
    directories: Directories,
    nodes: Arc<Mutex<Nodes>>,
    gate: Arc<Gate>,
}

/// A disk without power gives no number.
fn errno(error: &IoError) -> Errno {
    Errno::from_i32(error.source.raw_os_error().unwrap_or(Errno::EIO.code()))
}

fn attributes(number: u64, len: Option<u64>, names: usize) -> FileAttr {
    let size = len.unwrap_or(0);
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if len.is_some() { FileType::RegularFile } else { FileType::Directory },
        perm: 0o777,
        nlink: u32::try_from(names).unwrap_or(u32::MAX),
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        rdev: 0,
        blksize: BLOCK as u32,
        flags: 0,
    }
}

impl Layer {
    fn disk(&self) -> SimDisk {
        self.disk.lock().clone()
    }

    fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("/") || self.directories.lock().contains(path)
    }

    fn path_of(&self, number: INodeNo) -> Result<PathBuf, Errno> {
        if number == INodeNo::ROOT {
            return Ok(PathBuf::from("/"));
        }
        self.nodes.lock().by_number.get(&number.0).map(|node| node.path.clone()).ok_or(Errno::ENOENT)
    }

    fn child(&self, parent: INodeNo, name: &OsStr) -> Result<PathBuf, Errno> {
        Ok(self.path_of(parent)?.join(name))
    }

    /// The node of a path, made if the kernel has not asked for it before.
    fn node(&self, path: &Path) -> Result<FileAttr, Errno> {
        let known = self.nodes.lock().by_path.get(path).copied();
        if let Some(number) = known {
            return self.attributes_of(INodeNo(number));
        }
        let file = match self.is_directory(path) {
            true => None,
            false => {
                Some(self.disk().open(path, &OpenOptions::buffered(Create::Never)).map_err(|error| errno(&error))?)
            }
        };
        let mut nodes = self.nodes.lock();
        nodes.last_number += 1;
        // The root has number 1.
        let number = nodes.last_number + 1;
        nodes.by_path.insert(path.to_path_buf(), number);
        nodes.by_number.insert(number, Node { path: path.to_path_buf(), file });
        drop(nodes);
        self.attributes_of(INodeNo(number))
    }

    fn attributes_of(&self, number: INodeNo) -> Result<FileAttr, Errno> {
        if number == INodeNo::ROOT {
            return Ok(attributes(1, None, 1));
        }
        let disk = self.disk();
        let nodes = self.nodes.lock();
        let node = nodes.by_number.get(&number.0).ok_or(Errno::ENOENT)?;
        let (len, names) = match &node.file {
            Some(file) => (Some(file.len().map_err(|error| errno(&error))?), disk.names(&node.path)),
            None => (None, 1),
        };
        Ok(attributes(number.0, len, names))
    }

    fn file(&self, number: INodeNo) -> Result<Arc<dyn File>, Errno> {
        let nodes = self.nodes.lock();
        nodes.by_number.get(&number.0).and_then(|node| node.file.clone()).ok_or(Errno::EISDIR)
    }

    fn open_file(&self, number: INodeNo, flags: i32) -> Result<FileHandle, Errno> {
        let file = self.file(number)?;
        let path = self.path_of(number)?;
        let wants_sync = flags & rustix::fs::OFlags::DSYNC.bits() as i32 != 0;
        let synced = match wants_sync {
            true => Some(self.disk().open(&path, &OpenOptions::direct_sync()).map_err(|error| errno(&error))?),
            false => None,
        };
        if flags & rustix::fs::OFlags::TRUNC.bits() as i32 != 0 {
            file.set_len(0).map_err(|error| errno(&error))?;
        }
        let mut nodes = self.nodes.lock();
        nodes.last_handle += 1;
        let handle = nodes.last_handle;
        nodes.handles.insert(handle, Handle { file, synced });
        Ok(FileHandle(handle))
    }

    fn handle(&self, handle: FileHandle) -> Result<Handle, Errno> {
        let nodes = self.nodes.lock();
        nodes.handles.get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    fn write_to(&self, handle: FileHandle, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let Handle { file, synced } = self.handle(handle)?;
        if synced.is_some() {
            self.gate.pass();
        }
        let whole = offset.is_multiple_of(BLOCK as u64) && data.len().is_multiple_of(BLOCK);
        let written = match synced {
            Some(synced) if whole => {
                let mut block = AlignedBuf::new();
                block.extend_from_slice(data);
                synced.write_at(offset, &block)
            }
            Some(_) => file.write_at(offset, data).and_then(|()| file.sync_data()),
            None => file.write_at(offset, data),
        };
        written.map_err(|error| errno(&error))
    }

    fn rename_to(&self, from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
        let there = self.disk().exists(to).map_err(|error| errno(&error))?;
        if self.is_directory(from) || !(flags & !RenameFlags::RENAME_NOREPLACE).is_empty() {
            return Err(Errno::EOPNOTSUPP);
        }
        if there && flags.contains(RenameFlags::RENAME_NOREPLACE) {
            return Err(Errno::EEXIST);
        }
        self.disk().rename(from, to).map_err(|error| errno(&error))?;
        let mut nodes = self.nodes.lock();
        nodes.by_path.remove(to);
        if let Some(number) = nodes.by_path.remove(from) {
            nodes.by_path.insert(to.to_path_buf(), number);
            nodes.by_number.get_mut(&number).expect("a number with a path").path = to.to_path_buf();
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), Errno> {
        self.disk().remove(path).map_err(|error| errno(&error))?;
        self.nodes.lock().by_path.remove(path);
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> Result<(), Errno> {
        if !self.names(path)?.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        match self.directories.lock().remove(path) {
            true => drop(self.nodes.lock().by_path.remove(path)),
            false => return Err(Errno::ENOENT),
        }
        Ok(())
    }

    fn listing(&self, number: INodeNo) -> Result<Vec<(INodeNo, FileType, String)>, Errno> {
        let path = self.path_of(number)?;
        let mut entries =
            vec![".", ".."].into_iter().map(|name| (number, FileType::Directory, name.to_owned())).collect::<Vec<_>>();
        for name in self.names(&path)? {
            if let Ok(attributes) = self.node(&path.join(&name)) {
                entries.push((attributes.ino, attributes.kind, name));
            }
        }
        Ok(entries)
    }

    /// Names in a directory: files and directories.
    fn names(&self, path: &Path) -> Result<BTreeSet<String>, Errno> {
        let mut names: BTreeSet<String> = self.disk().list(path).map_err(|error| errno(&error))?.into_iter().collect();
        let directories = self.directories.lock();
        let below = directories.iter().filter(|directory| directory.parent() == Some(path));
        names.extend(below.filter_map(|directory| Some(directory.file_name()?.to_string_lossy().into_owned())));
        Ok(names)
    }
}

impl Filesystem for Layer {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.child(parent, name).and_then(|path| self.node(&path)) {
            Ok(attributes) => reply.entry(&TTL, &attributes, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes_of(number) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let resized = size.map_or(Ok(()), |size| {
            self.file(number).and_then(|file| file.set_len(size).map_err(|error| errno(&error)))
        });
        match resized.and_then(|()| self.attributes_of(number)) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        let made = self.child(parent, name).and_then(|path| {
            self.directories.lock().insert(path.clone());
            self.node(&path)
        });
        match made {
            Ok(attributes) => reply.entry(&TTL, &attributes, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.child(parent, name).and_then(|path| self.remove(&path)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.child(parent, name).and_then(|path| self.remove_directory(&path)), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = self.child(parent, name).and_then(|from| {
            let to = self.child(to_parent, to_name)?;
            self.rename_to(&from, &to, flags)
        });
        answer(renamed, reply);
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.path_of(number).and_then(|from| {
            let to = self.child(parent, name)?;
            self.disk().link(&from, &to).map_err(|error| errno(&error))?;
            self.node(&to)
        });
        match linked {
            Ok(attributes) => reply.entry(&TTL, &attributes, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_file(number, flags.0) {
            Ok(handle) => reply.opened(handle, FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let created = self.child(parent, name).and_then(|path| {
            self.disk().open(&path, &OpenOptions::buffered(Create::IfMissing)).map_err(|error| errno(&error))?;
            let attributes = self.node(&path)?;
            Ok((attributes, self.open_file(attributes.ino, flags)?))
        });
        match created {
            Ok((attributes, handle)) => {
                reply.created(&TTL, &attributes, GENERATION, handle, FopenFlags::FOPEN_DIRECT_IO);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        let read = self
            .handle(handle)
            .and_then(|Handle { file, .. }| file.read_at(offset, &mut buffer).map_err(|error| errno(&error)));
        match read {
            Ok(got) => reply.data(&buffer[..got]),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_to(handle, offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.nodes.lock().handles.remove(&handle.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let synced =
            self.handle(handle).and_then(|Handle { file, .. }| file.sync_data().map_err(|error| errno(&error)));
        answer(synced, reply);
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let synced = self.path_of(number).and_then(|path| {
            let synced = self.disk().sync_dir(&path).map_err(|error| errno(&error));
            let mut nodes = self.nodes.lock();
            nodes.names_are_lost |= synced.is_err();
            if nodes.names_are_lost { synced.and(Err(Errno::EIO)) } else { synced }
        });
        answer(synced, reply);
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.listing(number) {
            Ok(listing) => {
                let mut nodes = self.nodes.lock();
                nodes.last_handle += 1;
                let handle = nodes.last_handle;
                nodes.listings.insert(handle, listing);
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let nodes = self.nodes.lock();
        let listing = nodes.listings.get(&handle.0).into_iter().flatten();
        for (at, (number, kind, name)) in listing.enumerate().skip(offset as usize) {
            if reply.add(*number, at as u64 + 1, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.nodes.lock().listings.remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let left = self.disk().available_bytes(Path::new("/")).unwrap_or(0).min(PLENTY) / BLOCK as u64;
        reply.statfs(PLENTY / BLOCK as u64, left, left, 1 << 20, 1 << 20, BLOCK as u32, 255, BLOCK as u32);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let keeps_size = rustix::fs::FallocateFlags::KEEP_SIZE.bits() as i32;
        let allocated = match mode {
            0 => self.handle(handle).and_then(|Handle { file, .. }| {
                file.reserve(offset, length).map_err(|error| errno(&error))?;
                let end = offset + length;
                match file.len().map_err(|error| errno(&error))? < end {
                    true => file.set_len(end).map_err(|error| errno(&error)),
                    false => Ok(()),
                }
            }),
            mode if mode == keeps_size => self
                .handle(handle)
                .and_then(|Handle { file, .. }| file.reserve(offset, length).map_err(|error| errno(&error))),
            _ => Err(Errno::EOPNOTSUPP),
        };
        answer(allocated, reply);
    }
}

fn answer(outcome: Result<(), Errno>, reply: ReplyEmpty) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}
