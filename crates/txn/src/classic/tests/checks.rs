//! What `check_logs` says of logs that a classic protocol wrote, sound and with one thing wrong.

use cohort_binlog::{BinlogListing, BinlogReader, ReaderOptions};

use super::*;
use crate::check::{LogCheck, check_logs};
use crate::inspect::Fault as Found;

/// A disk on which a server committed transfers into several files and was stopped, or killed.
fn written(protocol: CommitProtocol, clean: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    let (store, _) = open(&disk, protocol).expect("a new store");
    for id in 1..=TRANSFERS {
        transfer(&store, id).expect("a commit");
        if id % 3 == 0 {
            store.rotate_binlog().expect("a file");
        }
    }
    if clean {
        store.close().expect("a clean stop");
    }
    disk.kill_copy()
}

fn check(disk: &SimDisk, protocol: CommitProtocol) -> LogCheck {
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let options = Machine::options(1);
    let engines: Vec<Arc<dyn Engine>> =
        engines(disk).expect("engines").into_iter().map(|engine| engine as Arc<dyn Engine>).collect();
    let (journal, tc_log) = (&options.journal_dir, &options.tc_log);
    check_logs(protocol, &fs, journal, tc_log, &options.binlog, &engines, &mut |_| ())
}

fn listing(disk: &SimDisk) -> BinlogListing {
    BinlogListing::read(disk, &Machine::options(1).binlog).expect("a directory")
}

fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
    cohort_io::read_whole(disk, path, 1 << 20).expect("a file")
}

fn write(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, &OpenOptions::buffered(Create::IfMissing)).expect("a file");
    file.set_len(0).and_then(|()| file.write_at(0, bytes)).expect("a write");
}

/// The only fault.
fn fault(check: &LogCheck) -> &Found {
    assert_eq!(check.faults.len(), 1, "{:?}, {:?}", check.faults, check.notes);
    &check.faults[0]
}

#[test]
fn classic_logs_are_sound_and_counted_and_a_kill_is_noted() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING).copied() {
        for clean in [true, false] {
            let disk = written(protocol, clean);
            let check = check(&disk, protocol);
            let context = format!("{protocol}, clean: {clean}: {:?}, {:?}", check.faults, check.notes);
            assert!(check.faults.is_empty() && check.clean_stop == clean, "{context}");
            assert_eq!(check.notes.len(), usize::from(!clean), "{context}");
            assert_eq!(check.protocol, protocol.to_string());
            let files = listing(&disk).listed;
            let (mut events, mut whole) = (0, 0);
            for number in &files {
                let path = listing(&disk).path(*number);
                let mut reader = BinlogReader::open(&disk, &path, ReaderOptions::default()).expect("a file");
                let begin = reader.offset();
                while reader.next_event().expect("a whole event").is_some() {
                    events += 1;
                }
                whole += reader.offset() - begin;
            }
            let found = &check.binlog;
            assert!(files.len() > 2, "{context}");
            assert_eq!((found.files, found.transactions, found.events), (files.len() as u64, TRANSFERS, events));
            assert!(found.bytes >= whole && found.gtids.ends_with(&format!(":1-{TRANSFERS}")), "{found:?}");
        }
    }
}

/// What an engine knows to be durable is no torn end; what is after it is one where the server was killed.
#[test]
fn a_classic_binlog_ends_where_the_engines_know_it_to_end_or_after_that() {
    let protocol = CommitProtocol::Mysql57;
    for clean in [true, false] {
        let disk = written(protocol, clean);
        let last = *listing(&disk).listed.last().expect("a file");
        let path = listing(&disk).path(last);
        let whole = bytes(&disk, &path);
        let longer = disk.kill_copy();
        write(&longer, &path, &[&whole[..], &[7; 40]].concat());
        let found = check(&longer, protocol);
        match clean {
            true => assert_eq!(fault(&found).file, path),
            false => {
                assert!(found.faults.is_empty(), "{:?}", found.faults);
                assert!(
                    found.notes.iter().any(|note| note.contains("cuts the binlog's last file")),
                    "{:?}",
                    found.notes
                );
            }
        }
        let shorter = disk.kill_copy();
        write(&shorter, &path, &whole[..whole.len() - 1]);
        let found = check(&shorter, protocol);
        assert!(fault(&found).what.contains("an engine knows the binlog to be durable"), "{:?}", found.faults);
        assert_eq!(fault(&found).file, path);
        assert!(found.binlog.gtids.is_empty(), "not all is known: {}", found.binlog.gtids);
    }
}

#[test]
fn the_index_and_the_directory_of_a_classic_binlog_name_the_same_files() {
    let protocol = CommitProtocol::Mysql57;
    for clean in [true, false] {
        let disk = written(protocol, clean);
        let listing = listing(&disk);
        let (first, last) = (listing.listed[0], *listing.listed.last().expect("a file"));
        let content = bytes(&disk, &listing.path(first));

        // A file that a purge or a rotation leaves is none of the index; one that nothing leaves is a fault.
        let next = disk.kill_copy();
        write(&next, &listing.path(last + 1), &content[..4]);
        let found = check(&next, protocol);
        match clean {
            true => assert_eq!(fault(&found).file, listing.path(last + 1)),
            false => assert_eq!((found.faults.len(), found.notes.len()), (0, 2), "{:?}", found.faults),
        }
        let purged = disk.kill_copy();
        let index = bytes(&disk, &listing.index_path());
        let line = index.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        write(&purged, &listing.index_path(), &index[line..]);
        let found = check(&purged, protocol);
        assert_eq!((found.faults.len(), found.notes.len()), (0, 1 + usize::from(!clean)), "{:?}", found.faults);

        let second = index[line..].iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        let skipped = disk.kill_copy();
        write(&skipped, &listing.index_path(), &[&index[..line], &index[line + second..]].concat());
        assert_eq!(fault(&check(&skipped, protocol)).file, listing.index_path());

        let missing = disk.kill_copy();
        missing.remove(&listing.path(first + 1)).expect("a file");
        let named: Vec<_> = check(&missing, protocol).faults.into_iter().map(|fault| fault.file).collect();
        let said = [first + 1, first + 2].map(|number| listing.path(number));
        assert_eq!(named, said[usize::from(!clean)..], "it is gone, and the next one says what it had");

        let torn = disk.kill_copy();
        write(&torn, &listing.index_path(), &[&index[..], b"./binl"].concat());
        let found = check(&torn, protocol);
        match clean {
            true => assert_eq!(fault(&found).file, listing.index_path()),
            false => assert_eq!((found.faults.len(), found.notes.len()), (0, 2), "{:?}", found.faults),
        }
    }
}

#[test]
fn damage_inside_a_closed_classic_file_is_named() {
    let protocol = CommitProtocol::Mysql57;
    for clean in [true, false] {
        let disk = written(protocol, clean);
        let listing = listing(&disk);
        let path = listing.path(listing.listed[1]);
        for at in [4, 130, bytes(&disk, &path).len() as u64 - 2] {
            let disk = disk.kill_copy();
            disk.corrupt(&path, at, 0x10);
            let found = check(&disk, protocol);
            assert_eq!(fault(&found).file, path, "byte {at}");
        }
        // It names another file as the next one.
        let renamed = disk.kill_copy();
        write(&renamed, &path, &bytes(&disk, &listing.path(listing.listed[0])));
        assert!(!check(&renamed, protocol).faults.is_empty());
    }
}
