//! The content of a simulated disk: what readers see and what a power cut leaves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sync::Mutex;

use crate::SeededRandom;

/// The unit in which a disk writes whole or not at all, in bytes.
const SECTOR: usize = 512;

type Names = BTreeMap<PathBuf, Arc<Mutex<Inode>>>;

/// Names and files.
#[derive(Default)]
pub(super) struct Image {
    names: Names,
    durable_names: Names,
    /// Changes of `names` not carried over yet, oldest first.
    changes: Vec<NameChange>,
}

struct NameChange {
    dir: PathBuf,
    path: PathBuf,
    /// What the name stands for afterwards.
    inode: Option<Arc<Mutex<Inode>>>,
    /// Changes with the same number are kept or lost together (the two halves of a rename).
    group: usize,
}

fn dir_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

impl Image {
    pub(super) fn find(&self, path: &Path) -> Option<Arc<Mutex<Inode>>> {
        self.names.get(path).cloned()
    }

    pub(super) fn names(&self, path: &Path) -> usize {
        let named = |file| self.names.values().filter(|other| Arc::ptr_eq(file, other)).count();
        self.names.get(path).map_or(0, named)
    }

    pub(super) fn create(&mut self, path: &Path) {
        self.apply(&[(path, Some(Arc::default()))]);
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> std::io::Result<()> {
        let inode = self.find(from).ok_or_else(not_found)?;
        if from != to {
            self.apply(&[(from, None), (to, Some(inode))]);
        }
        Ok(())
    }

    pub(super) fn link(&mut self, from: &Path, to: &Path) -> std::io::Result<()> {
        let inode = self.find(from).ok_or_else(not_found)?;
        if self.find(to).is_some() {
            return Err(std::io::Error::from_raw_os_error(libc::EEXIST));
        }
        self.apply(&[(to, Some(inode))]);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> std::io::Result<()> {
        self.find(path).ok_or_else(not_found)?;
        self.apply(&[(path, None)]);
        Ok(())
    }

    fn apply(&mut self, changes: &[(&Path, Option<Arc<Mutex<Inode>>>)]) {
        let group = self.changes.last().map_or(0, |last| last.group + 1);
        for (path, inode) in changes {
            set_name(&mut self.names, path, inode.as_ref());
            self.changes.push(NameChange { dir: dir_of(path), path: path.to_path_buf(), inode: inode.clone(), group });
        }
    }

    pub(super) fn list(&self, dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = self
            .names
            .keys()
            .filter_map(|path| path.strip_prefix(dir).ok()?.components().next())
            .map(|name| name.as_os_str().to_string_lossy().into_owned())
            .collect();
        names.dedup();
        names
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let (synced, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|change| change.dir == dir);
        for change in synced {
            set_name(&mut self.durable_names, &change.path, change.inode.as_ref());
        }
        self.changes = waiting;
    }

    /// A sync of a directory that failed: of its changes some first ones arrived, and the rest will never be tried again.
    pub(super) fn sync_dir_in_vain(&mut self, dir: &Path, random: &SeededRandom) {
        let (tried, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|change| change.dir == dir);
        self.changes = waiting;
        self.keep_first(tried, random);
    }

    /// Makes some first ones of these changes durable.
    fn keep_first(&mut self, changes: Vec<NameChange>, random: &SeededRandom) {
        let first = changes.first().map_or(0, |change| change.group);
        let last = changes.last().map_or(0, |change| change.group + 1);
        let kept = first + random.below((last - first) as u64 + 1) as usize;
        for change in changes.iter().filter(|change| change.group < kept) {
            set_name(&mut self.durable_names, &change.path, change.inode.as_ref());
        }
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.names.values().map(|inode| inode.lock().allocated_bytes()).sum()
    }

    /// The same content; the copy's names all count as synced.
    pub(super) fn copy(&self) -> Image {
        let copied =
            |(path, inode): (&PathBuf, &Arc<Mutex<Inode>>)| (path.clone(), Arc::new(Mutex::new(inode.lock().clone())));
        let names: Names = self.names.iter().map(copied).collect();
        Image { durable_names: names.clone(), names, changes: Vec::new() }
    }

    pub(super) fn after_crash(&mut self, random: &SeededRandom) -> Image {
        let changes = std::mem::take(&mut self.changes);
        self.keep_first(changes, random);
        let mut found = Names::new();
        for (path, inode) in &self.durable_names {
            let inode = inode.lock().after_crash(random);
            found.insert(path.clone(), Arc::new(Mutex::new(inode)));
        }
        Image { names: found.clone(), durable_names: found, changes: Vec::new() }
    }
}

fn set_name(names: &mut Names, path: &Path, inode: Option<&Arc<Mutex<Inode>>>) {
    match inode {
        Some(inode) => names.insert(path.to_path_buf(), Arc::clone(inode)),
        None => names.remove(path),
    };
}

fn not_found() -> std::io::Error {
    std::io::Error::from_raw_os_error(libc::ENOENT)
}

/// One file.
#[derive(Clone, Default)]
pub(super) struct Inode {
    content: Vec<u8>,
    durable: Vec<u8>,
    /// Changes of `content` not carried over yet, oldest first.
    changes: Vec<ContentChange>,
    reserved_bytes: u64,
}

#[derive(Clone)]
enum ContentChange {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl Inode {
    pub(super) fn len(&self) -> u64 {
        self.content.len() as u64
    }

    pub(super) fn allocated_bytes(&self) -> u64 {
        self.len().max(self.reserved_bytes)
    }

    pub(super) fn allocate(&mut self, bytes: u64) {
        self.reserved_bytes = self.reserved_bytes.max(bytes);
    }

    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.content.len());
        let got = buf.len().min(self.content.len() - start);
        buf[..got].copy_from_slice(&self.content[start..start + got]);
        got
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.content, offset, bytes);
        self.changes.push(ContentChange::Write { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.content.resize(len, 0);
        self.changes.push(ContentChange::Length(len));
    }

    pub(super) fn sync(&mut self) {
        for change in self.changes.drain(..) {
            change.keep(&mut self.durable);
        }
    }

    /// The newest write reaches the disk at once: whole, or in whatever part.
    pub(super) fn settle_last(&mut self, random: &SeededRandom, whole: bool) {
        if let Some(last) = self.changes.pop() {
            if whole {
                last.keep(&mut self.durable);
            } else {
                last.keep_some(&mut self.durable, random);
            }
        }
    }

    /// A sync that failed: any part of the changes arrived, and the rest will never be tried again.
    pub(super) fn sync_in_vain(&mut self, random: &SeededRandom) {
        for change in self.changes.drain(..) {
            change.keep_some(&mut self.durable, random);
        }
    }

    fn after_crash(&mut self, random: &SeededRandom) -> Inode {
        self.sync_in_vain(random);
        Inode {
            content: self.durable.clone(),
            durable: self.durable.clone(),
            changes: Vec::new(),
            reserved_bytes: self.reserved_bytes,
        }
    }

    pub(super) fn corrupt(&mut self, offset: usize, mask: u8) {
        self.content[offset] ^= mask;
        if let Some(byte) = self.durable.get_mut(offset) {
            *byte ^= mask;
        }
    }
}

impl ContentChange {
    fn keep(self, durable: &mut Vec<u8>) {
        match self {
            ContentChange::Write { offset, bytes } => put(durable, offset, &bytes),
            ContentChange::Length(len) => durable.resize(len, 0),
        }
    }

    /// Kept, lost, cut at a sector, or any of its sectors.
    fn keep_some(self, durable: &mut Vec<u8>, random: &SeededRandom) {
        match random.below(4) {
            0 => self.keep(durable),
            1 => {}
            course => match self {
                ContentChange::Length(len) => durable.resize(len, 0),
                ContentChange::Write { offset, bytes } => {
                    let cut = (random.below(bytes.len() as u64 + 1) as usize).next_multiple_of(SECTOR);
                    for (at, sector) in sectors(offset, &bytes) {
                        let keeps = if course == 2 { at < offset + cut } else { random.below(2) == 0 };
                        if keeps {
                            put(durable, at, sector);
                        }
                    }
                }
            },
        }
    }
}

/// The parts of a write that lie in one sector each, with their offsets.
fn sectors(offset: usize, bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let (part, left) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
        parts.push((at, part));
        at += part.len();
        rest = left;
    }
    parts
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(offset, 0);
        content.extend_from_slice(bytes);
    } else {
        content[offset..end].copy_from_slice(bytes);
    }
}
