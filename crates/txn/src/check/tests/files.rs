//! Index, directory and journal name the same files, up to the same ends.

use cohort_binlog::rotate_event;

use super::*;

/// The index with the lines of `numbers` alone.
fn list(machine: &Machine, numbers: &[u64]) {
    let listing = listed(machine);
    let lines: String = numbers.iter().map(|number| format!("./{}\n", listing.file_name(*number))).collect();
    let opened = machine.disk.open(&listing.index_path(), &OpenOptions::buffered(Create::Never));
    opened.and_then(|file| file.set_len(0).and_then(|()| file.write_at(0, lines.as_bytes()))).expect("an index");
}

/// The number of the file that the checkpoint of a killed server lies in, which is one in the middle.
fn checkpoint_file(machine: &Machine) -> u64 {
    let fs: Arc<dyn FileSystem> = Arc::new(machine.disk.clone());
    let scan = Journal::read(fs, &Machine::options(1).journal_dir).expect("a journal");
    let number = Note::decode(scan.checkpoint_note()).expect("a note").0.position.file_number;
    let files = listed(machine).listed;
    assert!(files.len() > 4 && files[1] < number && number + 1 < files[files.len() - 1], "{number} of {files:?}");
    number
}

/// An interrupted purge leaves files before those of the index. A file that the journal has bytes of was not purged.
#[test]
fn only_a_file_from_before_the_journal_may_be_one_that_was_purged() {
    let machine = machine(false);
    let durable = checkpoint_file(&machine);
    let all = listed(&machine).listed;
    let before: Vec<u64> = all.iter().copied().filter(|number| *number < durable).collect();
    list(&machine, &all[before.len()..]);
    let check = look(&machine);
    // Not all is known of the transactions in files that are gone, but the first file names them.
    assert!(check.faults.is_empty(), "{:?}", check.faults);
    let noted = |number: u64| {
        let note = format!("the next start removes {} or puts it into the index", listed(&machine).file_name(number));
        check.notes.contains(&note)
    };
    assert!(before.iter().all(|number| noted(*number)), "{:?}", check.notes);
    // Those of the journal are missing from the index, whatever it says of others.
    list(&machine, &all[all.len() - 1..]);
    let check = look(&machine);
    let unlisted = |number: u64| {
        let of = |fault: &&Fault| fault.file == listed(&machine).path(number);
        let fault = check.faults.iter().find(of);
        fault.is_some_and(|fault| fault.what == "the index does not list this file")
    };
    let is_durable = |number: &&u64| **number >= durable && **number < all[all.len() - 1];
    assert!(all.iter().filter(is_durable).all(|number| unlisted(*number)), "{:?}", check.faults);
    assert!(before.iter().all(|number| !unlisted(*number)), "{:?}", check.faults);
}

#[test]
fn an_index_without_the_file_of_the_checkpoint_is_a_fault_of_both() {
    let machine = machine(false);
    let durable = checkpoint_file(&machine);
    let all = listed(&machine).listed;
    let before: Vec<u64> = all.into_iter().filter(|number| *number < durable).collect();
    list(&machine, &before);
    let check = look(&machine);
    let says = |path: &Path, what: &str| check.faults.iter().any(|f| f.file == path && f.what.contains(what));
    let listing = listed(&machine);
    assert!(says(&listing.path(durable), "the index does not list this file"), "{:?}", check.faults);
    assert!(says(&listing.index_path(), "which the journal knows"), "{:?}", check.faults);
}

/// After the checkpoint the next start writes what a file lacks.
#[test]
fn a_file_may_lack_what_came_after_the_checkpoint_and_nothing_from_before_it() {
    let machine = Machine::new(1);
    let (store, _) = machine.recover().expect("a new store");
    store.settings().max_binlog_size.store(u64::MAX, std::sync::atomic::Ordering::Relaxed);
    (1..=3).for_each(|id| assert!(transfer(&store, id).is_ok()));
    store.take_checkpoint().expect("a checkpoint");
    let durable = store.published().position;
    transfer(&store, 4).expect("a commit");
    let end = store.published().position;
    assert_eq!(durable.file_number, end.file_number);
    let machine = machine.copy();
    let path = listed(&machine).path(end.file_number);
    cut(&machine, &path, end.offset - durable.offset);
    let check = look(&machine);
    assert!(check.faults.is_empty(), "{:?}", check.faults);
    let lost = format!("the next start writes {} binlog bytes again", end.offset - durable.offset);
    assert!(check.notes.contains(&lost), "{:?}", check.notes);
    cut(&machine, &path, 1);
    assert_eq!(look(&machine).faults[0].file, path);
}

/// What no transaction of the journal reached is cut, unless it proves that the journal has lost its end.
#[test]
fn whole_events_after_the_end_of_a_synced_journal_are_a_fault_and_a_torn_one_is_none() {
    for clean in [false, true] {
        let sound = machine(clean);
        let last = *listed(&sound).listed.last().expect("a file");
        let path = listed(&sound).path(last);
        let (length, bytes) = (len(&sound, &path), cohort_io::read_whole(&sound.disk, &path, 1 << 20).expect("a file"));
        // Torn, after the end of the last file.
        let machine = sound.copy();
        write(&machine, &path, length, b"more");
        let check = look(&machine);
        let cuts = |what: &str| format!("the next start cuts 4 bytes of {what}, which the journal does not have");
        match clean {
            true => assert_eq!(fault(&check, &path).offset, Some(length)),
            false => assert!(
                check.faults.is_empty() && check.notes.contains(&cuts(&listed(&sound).file_name(last))),
                "{:?}, {:?}",
                check.faults,
                check.notes
            ),
        }
        // A whole one there.
        let machine = sound.copy();
        write(&machine, &path, length, &rotate_event(1, 1_700_000_000, length, "binlog.000099"));
        let check = look(&machine);
        assert_eq!(check.faults.len(), 1, "clean: {clean}: {:?}, {:?}", check.faults, check.notes);
        // A file after the last one, of which the journal has nothing: whole, and torn.
        let next = listed(&sound).path(last + 1);
        for (content, faults) in [(&bytes[..], 1), (b"\xfebin", usize::from(clean))] {
            let machine = sound.copy();
            write(&machine, &next, 0, content);
            list(&machine, &[&listed(&sound).listed[..], &[last + 1]].concat());
            let check = look(&machine);
            assert_eq!(check.faults.len(), faults, "clean: {clean}: {:?}", check.faults);
        }
    }
}

#[test]
fn a_file_that_names_another_than_the_next_one_is_a_fault() {
    let machine = machine(true);
    let listing = listed(&machine);
    let path = listing.path(listing.listed[0]);
    let end = len(&machine, &path);
    let ending = |next: u64| rotate_event(1, 1_700_000_000, end, &listing.file_name(next));
    let at = end - ending(0).len() as u64;
    let ending = |next: u64| rotate_event(1, 1_700_000_000, at, &listing.file_name(next));
    write(&machine, &path, at, &ending(listing.listed[1]));
    assert_eq!(look(&machine).faults, [], "the event is as the server writes it");
    write(&machine, &path, at, &ending(99));
    let found = fault(&look(&machine), &path);
    assert_eq!((found.offset, found.what.contains("as the next file")), (Some(at), true), "{found}");
}
