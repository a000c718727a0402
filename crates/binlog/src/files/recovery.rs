//! The start of [`BinlogFiles`]: what a crash left is found, completed from the journal, and cut.

use std::sync::Arc;

use cohort_io::sync::Mutex;
use cohort_io::{Create, File, FileSystem, IoError, SyncCounters, renew_name, restore_names};

use super::super::acks::Acks;
use super::super::index::{Index, file_number};
use super::super::points::Points;
use super::super::position::BinlogPosition;
use super::super::reader::{BinlogReader, ReadError, ReaderOptions};
use super::super::space::Space;
use super::{
    BinlogError, BinlogFiles, BinlogOptions, Current, FLAG_IN_USE, IN_USE_AT, Listed, NEXT_ENDING, Names, Tail, Writer,
    mark_in_use,
};

/// How much of a file is compared at a time.
const COMPARE_BYTES: usize = 1 << 20;

/// The first event of a file is shorter, by far.
const FIRST_EVENT_BYTES_MAX: u64 = 4096;

/// What [`BinlogFiles::finish_recovery`] found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveredFiles {
    /// Bytes of the journal that were compared with the files.
    pub replayed_bytes: u64,
    /// Of these, bytes that a file had lost and got again.
    pub rewritten_bytes: u64,
    /// Bytes cut off after the last transaction.
    pub cut_bytes: u64,
    /// Names of files removed: no transaction reached them, or a purge or a rotation was interrupted.
    pub removed_files: Vec<String>,
}

impl BinlogFiles {
    /// Opens the files that the index lists; none at the first start. Nothing but names that a crash left changed and a
    /// cut-off last line of the index is changed before [`BinlogFiles::replay`].
    pub fn open(fs: Arc<dyn FileSystem>, options: BinlogOptions) -> Result<BinlogFiles, BinlogError> {
        fs.create_dir_all(&options.directory)?;
        let counters = Arc::new(SyncCounters::default());
        let index_name = format!("{}.index", options.base_name);
        let is_own = |name: &str| name == index_name || file_number(&options.base_name, name).is_some();
        restore_names(&*fs, &options.directory, is_own)?;
        let index_path = options.directory.join(&index_name);
        let (index, numbers) = Index::open(&*fs, index_path, &options.base_name, &counters)?;
        let space = Mutex::new(Space::new(options.reserve_step_bytes));
        let writer = Writer { current: None, closed: Vec::new(), data_dirty: false, names_dirty: true, sealed: false };
        let files = BinlogFiles {
            names: Mutex::new(Names { index, files: Vec::with_capacity(numbers.len()) }),
            fs,
            options,
            counters,
            syncing: Mutex::new(()),
            preparing: Mutex::new(()),
            writer: Mutex::new(writer),
            space,
            recovered: Mutex::new(RecoveredFiles::default()),
            tail: Tail::default(),
            points: Points::default(),
            acks: Acks::default(),
            history: Mutex::default(),
        };
        for number in numbers {
            let bytes = files.length_on_disk(number)?;
            files.refuse_other_version(number, bytes)?;
            files.names.lock().files.push(Listed { number, bytes });
        }
        Ok(files)
    }

    /// Looks at the version in a file's first event. A beginning that cannot be read at all is left to
    /// [`BinlogFiles::replay`], which knows what the file should hold.
    fn refuse_other_version(&self, number: u64, bytes: u64) -> Result<(), BinlogError> {
        let options = ReaderOptions { end: Some(bytes.min(FIRST_EVENT_BYTES_MAX)), ..ReaderOptions::default() };
        match BinlogReader::open(&*self.fs, &self.path(number), options) {
            Err(other @ ReadError::Version { .. }) => Err(BinlogError::OtherVersion(other)),
            _ => Ok(()),
        }
    }

    /// The last file that the index lists and its length, before [`BinlogFiles::finish_recovery`].
    pub fn found_end(&self) -> Option<BinlogPosition> {
        let names = self.names.lock();
        names.files.last().map(|file| BinlogPosition { file_number: file.number, offset: file.bytes })
    }

    /// Where the files have the first whole event at or after `end`, which is where the journal says that
    /// they end (file number 0: that there are none). What a crash leaves of bytes that were not synced is none. Nothing is changed.
    pub fn whole_event_after(&self, end: BinlogPosition) -> Result<Option<BinlogPosition>, ReadError> {
        let numbers: Vec<u64> = self.names.lock().files.iter().map(|file| file.number).collect();
        for number in numbers.into_iter().filter(|number| *number >= end.file_number) {
            let mut reader = match BinlogReader::open(&*self.fs, &self.path(number), ReaderOptions::default()) {
                Ok(reader) => reader,
                Err(error) if number == end.file_number => return Err(error),
                // Its name never reached the disk, only its line in the index.
                Err(ReadError::Io(error)) if error.is_not_found() => continue,
                Err(error @ ReadError::Io(_)) => return Err(error),
                // Its beginning never reached the disk.
                Err(_) => continue,
            };
            if number == end.file_number {
                reader.seek(end.offset);
            }
            if let Ok(Some(event)) = reader.next_event() {
                return Ok(Some(BinlogPosition { file_number: number, offset: event.offset }));
            }
        }
        Ok(None)
    }

    /// Puts `bytes` at a position where they may already stand, whole, in part, or not at all. Positions are
    /// those of [`BinlogFiles::append`], in the same order, from any one on.
    ///
    /// The bytes are written again, also where they can be read: they may be in the system's cache only. Another byte
    /// in their place that is not zero is damage: the error names file and offset, and nothing was written over it.
    pub fn replay(&self, at: BinlogPosition, bytes: &[u8]) -> Result<(), BinlogError> {
        let mut writer = self.writer.lock();
        let mut names = self.names.lock();
        self.go_to_file(&mut writer, &mut names, at)?;
        let Writer { current, data_dirty, .. } = &mut *writer;
        let current = current.as_mut().expect("the file was just gone to");
        if current.end != at.offset {
            let what = format!("the journal goes on at {} instead", at.offset);
            return Err(self.damaged(at.file_number, current.end, what));
        }
        let found = current.file.len()?;
        if found < at.offset {
            let what = format!("the file ends here, and the journal holds its bytes from {} on only", at.offset);
            return Err(self.damaged(at.file_number, found, what));
        }
        let present = match compare(&*current.file, at.offset, bytes)? {
            Found::Intact(present) => present,
            Found::Other(offset) => {
                let what = "the byte is another one than in the journal; copy the file away, cut it here, and start \
                            again to have the rest written from the journal";
                return Err(self.damaged(at.file_number, offset, what.to_owned()));
            }
        };
        current.end = at.offset + bytes.len() as u64;
        *data_dirty = true;
        // All of them, since a sync that failed leaves bytes that can be read and are not on the disk.
        current.file.write_at(at.offset, bytes)?;
        let mut recovered = self.recovered.lock();
        recovered.replayed_bytes += bytes.len() as u64;
        recovered.rewritten_bytes += (bytes.len() - present) as u64;
        Ok(())
    }

    /// Writes a file's bytes from offset `from` to `end` again, for [`BinlogFiles::finish_recovery`] to sync: after a
    /// sync that failed they can be read and may not be on the disk.
    pub fn write_again(&self, from: u64, end: BinlogPosition) -> Result<(), BinlogError> {
        if from >= end.offset {
            return Ok(());
        }
        let file = self.fs.open(&self.path(end.file_number), &self.writable(Create::Never))?;
        let mut bytes = vec![0; COMPARE_BYTES.min(usize::try_from(end.offset - from).unwrap_or(COMPARE_BYTES))];
        let mut at = from;
        while at < end.offset {
            let wanted = (end.offset - at).min(bytes.len() as u64) as usize;
            let got = file.read_at(at, &mut bytes[..wanted])?;
            if got == 0 {
                let what = "the file ends here, a moment ago it did not".to_owned();
                return Err(self.damaged(end.file_number, at, what));
            }
            file.write_at(at, &bytes[..got])?;
            at += got as u64;
        }
        Ok(())
    }

    /// Ends recovery: `end` is where the journal says the binlog ends, file number 0 when it says that there
    /// is none. Cuts what lies after it, removes what interrupted rotations and purges left, and syncs
    /// everything. With `None` the journal says nothing, and the files are taken as they are.
    pub fn finish_recovery(&self, end: Option<BinlogPosition>) -> Result<RecoveredFiles, BinlogError> {
        let mut writer = self.writer.lock();
        let mut names = self.names.lock();
        names.index.make_again(&*self.fs)?;
        let found = names.files.last().map(|file| BinlogPosition { file_number: file.number, offset: file.bytes });
        let end_is_known = end.is_some();
        let Some(end) = end.or(found) else {
            drop((writer, names));
            self.remove_unlisted(false)?;
            self.sync_all()?;
            return Ok(self.recovered.lock().clone());
        };
        self.cut_files_after(&mut names, end.file_number)?;
        if end.file_number == 0 {
            drop((writer, names));
            self.remove_unlisted(true)?;
            self.sync_all()?;
            return Ok(self.recovered.lock().clone());
        }
        self.check_closed_files(&mut writer, &names)?;
        self.go_to_file(&mut writer, &mut names, end)?;
        let current = writer.current.as_mut().expect("the file was just gone to");
        let length = current.file.len()?;
        if length < end.offset {
            let what = format!("the file ends here, and the journal says it ends at {}", end.offset);
            return Err(self.damaged(end.file_number, length, what));
        }
        current.file.set_len(end.offset)?;
        current.end = end.offset;
        mark_in_use(&*current.file, true)?;
        self.recovered.lock().cut_bytes += length - end.offset;
        self.space.lock().set_current(&current.file, end.offset, None);
        if let Some(listed) = names.files.last_mut() {
            listed.bytes = end.offset;
        }
        writer.data_dirty = true;
        writer.names_dirty = true;
        drop((writer, names));
        self.remove_unlisted(end_is_known)?;
        self.sync_all()?;
        Ok(self.recovered.lock().clone())
    }

    /// Makes the file of `at` the current one; begins it when it is the one after the last.
    fn go_to_file(&self, writer: &mut Writer, names: &mut Names, at: BinlogPosition) -> Result<(), BinlogError> {
        if writer.current.as_ref().is_some_and(|current| current.number == at.file_number) {
            return Ok(());
        }
        let listed = names.files.iter().any(|file| file.number == at.file_number);
        if !listed {
            let follows = names.files.last().is_none_or(|last| last.number + 1 == at.file_number);
            if !follows || at.offset != 0 {
                let what = "the index does not list this file; put its name back into the index".to_owned();
                return Err(self.damaged(at.file_number, at.offset, what));
            }
            names.index.append(at.file_number)?;
            names.files.push(Listed { number: at.file_number, bytes: 0 });
            writer.names_dirty = true;
        }
        let create = if at.offset == 0 { Create::IfMissing } else { Create::Never };
        let path = self.path(at.file_number);
        if self.fs.exists(&path)? {
            // The process before may have failed to make it durable.
            renew_name(&*self.fs, &path)?;
            writer.names_dirty = true;
        }
        let file = self.fs.open(&path, &self.writable(create))?;
        if let Some(old) = writer.current.take() {
            self.finish_replayed_file(writer, names, old)?;
        }
        writer.current = Some(Current { number: at.file_number, file, end: at.offset });
        Ok(())
    }

    /// A file that replay has left is complete: what lies after its end was never committed.
    fn finish_replayed_file(&self, writer: &mut Writer, names: &mut Names, old: Current) -> Result<(), BinlogError> {
        let length = old.file.len()?;
        if length > old.end {
            self.recovered.lock().cut_bytes += length - old.end;
        }
        if let Some(listed) = names.files.iter_mut().find(|file| file.number == old.number) {
            listed.bytes = old.end;
        }
        writer.closed.push((old.file, old.end));
        Ok(())
    }

    /// Takes files after `last` from the index; [`BinlogFiles::remove_unlisted`] removes them.
    fn cut_files_after(&self, names: &mut Names, last: u64) -> Result<(), BinlogError> {
        let kept = names.files.partition_point(|file| file.number <= last);
        if kept == names.files.len() {
            return Ok(());
        }
        let Names { index, files } = names;
        self.recovered.lock().cut_bytes += files[kept..].iter().map(|file| file.bytes).sum::<u64>();
        files.truncate(kept);
        index.replace(&*self.fs, files.iter().map(|file| file.number), &self.counters)?;
        Ok(())
    }

    /// Closed files must be there; a rotation that a crash interrupted may have left one marked as in use.
    fn check_closed_files(&self, writer: &mut Writer, names: &Names) -> Result<(), BinlogError> {
        let closed = names.files.len().saturating_sub(1);
        for listed in &names.files[..closed] {
            let path = self.path(listed.number);
            if !self.fs.exists(&path)? {
                let what = "the index lists this file, and it is missing".to_owned();
                return Err(self.damaged(listed.number, 0, what));
            }
            let file = self.fs.open(&path, &self.writable(Create::Never))?;
            let mut flags = [0; 2];
            let got = file.read_at(IN_USE_AT, &mut flags)?;
            if got == 2 && u16::from_le_bytes(flags) & FLAG_IN_USE != 0 {
                mark_in_use(&*file, false)?;
                writer.closed.push((file, listed.bytes));
            }
        }
        Ok(())
    }

    /// Removes prepared files and files that the index does not list: those before its first are left of a
    /// purge, those after its last (where `end_is_known`) were begun and never reached.
    fn remove_unlisted(&self, end_is_known: bool) -> Result<(), BinlogError> {
        let listed: Vec<u64> = self.names.lock().files.iter().map(|file| file.number).collect();
        for name in self.fs.list(&self.options.directory)? {
            if self.points_number(&name).is_some_and(|number| !listed.contains(&number)) {
                self.fs.remove(&self.options.directory.join(&name))?;
                continue;
            }
            let begun = name.strip_suffix(NEXT_ENDING).unwrap_or(&name);
            let Some(number) = file_number(&self.options.base_name, begun) else {
                continue;
            };
            let prepared = begun.len() < name.len();
            if !prepared && listed.contains(&number) {
                continue;
            }
            let purged = listed.first().is_some_and(|first| number < *first);
            if !prepared && !purged && !end_is_known {
                let what = "neither index nor journal knows this file; move it away, or put its name into the index";
                return Err(self.damaged(number, 0, what.to_owned()));
            }
            self.fs.remove(&self.options.directory.join(&name))?;
            self.recovered.lock().removed_files.push(name);
        }
        Ok(())
    }

    pub(super) fn length_on_disk(&self, number: u64) -> Result<u64, IoError> {
        let path = self.path(number);
        if !self.fs.exists(&path)? {
            return Ok(0);
        }
        self.fs.open(&path, &cohort_io::OpenOptions::read())?.len()
    }

    pub(super) fn damaged(&self, number: u64, offset: u64, what: String) -> BinlogError {
        BinlogError::Damaged { path: self.path(number), offset, what }
    }
}

/// What stands where the journal's bytes belong.
pub(in super::super) enum Found {
    /// The first so many bytes are there; each one after them is there, missing, or zero.
    Intact(usize),
    /// At this offset there is a byte that is neither the journal's nor zero.
    Other(u64),
}

pub(in super::super) fn compare(file: &dyn File, offset: u64, bytes: &[u8]) -> Result<Found, IoError> {
    let mut present = None;
    let mut found = vec![0; COMPARE_BYTES.min(bytes.len())];
    for (i, chunk) in bytes.chunks(COMPARE_BYTES).enumerate() {
        let from = i * COMPARE_BYTES;
        let got = file.read_at(offset + from as u64, &mut found[..chunk.len()])?;
        if found[..got] == *chunk {
            continue;
        }
        for (j, (there, wanted)) in found[..got].iter().zip(chunk).enumerate() {
            let at = offset + (from + j) as u64;
            // The in-use mark goes when a file is closed; its other bits belong to the journal's bytes.
            let ignored = if at == IN_USE_AT { FLAG_IN_USE as u8 } else { 0 };
            if (there ^ wanted) & !ignored == 0 {
                continue;
            }
            if *there != 0 {
                return Ok(Found::Other(at));
            }
            present.get_or_insert(from + j);
        }
        if got < chunk.len() {
            present.get_or_insert(from + got);
            break;
        }
    }
    Ok(Found::Intact(present.unwrap_or(bytes.len())))
}
