use super::*;
use crate::read_whole;

const FILE: &str = "/data/file";

fn disk_with(content: &[u8]) -> SimDisk {
    let disk = SimDisk::new(1);
    let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::New)).unwrap();
    file.write_at(0, content).unwrap();
    file.sync_data().unwrap();
    disk.sync_dir(Path::new("/data")).unwrap();
    disk
}

fn content(disk: &SimDisk) -> Vec<u8> {
    read_whole(disk, Path::new(FILE), 1 << 20).unwrap()
}

fn outcomes(run: impl Fn(&SimDisk)) -> BTreeSet<Vec<u8>> {
    (0..200)
        .map(|seed| {
            let disk = disk_with(&[b'a'; 1024]);
            disk.state.lock().random = SeededRandom::new(seed);
            run(&disk);
            content(&disk.crash())
        })
        .collect()
}

#[test]
fn an_unsynced_write_is_kept_lost_or_torn_at_a_sector() {
    let found = outcomes(|disk| {
        let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::Never)).unwrap();
        file.write_at(0, &[b'b'; 1024]).unwrap();
    });
    let expected: BTreeSet<Vec<u8>> = [(b'a', b'a'), (b'b', b'b'), (b'b', b'a'), (b'a', b'b')]
        .iter()
        .map(|(first, second)| [[*first; 512], [*second; 512]].concat())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_synced_write_is_kept() {
    let found = outcomes(|disk| {
        let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::Never)).unwrap();
        file.write_at(0, &[b'b'; 1024]).unwrap();
        file.sync_data().unwrap();
    });
    assert_eq!(found, BTreeSet::from([vec![b'b'; 1024]]));
}

#[test]
fn a_direct_write_is_kept_and_must_be_aligned() {
    let mut block = crate::AlignedBuf::new();
    block.resize(crate::BLOCK);
    block.fill(b'c');
    let found = outcomes(|disk| {
        let file = disk.open(Path::new(FILE), &OpenOptions::direct_sync()).unwrap();
        file.write_at(0, &block).unwrap();
        assert!(file.write_at(512, &block).is_err());
        assert!(file.write_at(0, &block[..512]).is_err());
    });
    assert_eq!(found, BTreeSet::from([vec![b'c'; 4096]]));
}

#[test]
fn a_failed_sync_loses_pages_that_still_read_and_a_later_sync_does_not_bring_them_back() {
    let found = outcomes(|disk| {
        let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::Never)).unwrap();
        file.write_at(0, &[b'b'; 512]).unwrap();
        disk.set_fault(disk.operations(), Fault::Error);
        assert!(file.sync_data().is_err());
        assert_eq!(&content(disk)[..512], &[b'b'; 512]);
        file.sync_data().unwrap();
    });
    assert!(found.contains(&vec![b'a'; 1024]));
}

#[test]
fn a_rename_is_durable_only_after_the_directory_is_synced() {
    let mut found = BTreeSet::new();
    for seed in 0..50 {
        for synced in [false, true] {
            let disk = disk_with(b"x");
            disk.state.lock().random = SeededRandom::new(seed);
            disk.rename(Path::new(FILE), Path::new("/data/other")).unwrap();
            if synced {
                disk.sync_dir(Path::new("/data")).unwrap();
            }
            found.insert((synced, disk.crash().list(Path::new("/data")).unwrap()));
        }
    }
    let names = |name: &str| vec![name.to_string()];
    let expected = [(false, names("file")), (false, names("other")), (true, names("other"))];
    assert_eq!(found, BTreeSet::from(expected));
}

/// As many as were lost stay so: a later sync that succeeds has only what came later.
#[test]
fn a_failed_sync_of_a_directory_loses_names_that_are_still_seen_and_a_later_one_does_not_bring_them_back() {
    let dir = Path::new("/data");
    let mut found = BTreeSet::new();
    for seed in 0..100 {
        let disk = disk_with(b"x");
        disk.state.lock().random = SeededRandom::new(seed);
        disk.rename(Path::new(FILE), &dir.join("renamed")).unwrap();
        disk.open(&dir.join("made"), &OpenOptions::buffered(Create::New)).unwrap();
        disk.set_fault(disk.operations(), Fault::Error);
        assert!(disk.sync_dir(dir).is_err());
        assert_eq!(disk.list(dir).unwrap(), ["made", "renamed"]);
        disk.open(&dir.join("later"), &OpenOptions::buffered(Create::New)).unwrap();
        disk.sync_dir(dir).unwrap();
        found.insert(disk.crash().list(dir).unwrap().join(" "));
    }
    let expected = ["file later", "later made renamed", "later renamed"];
    assert_eq!(found, expected.map(str::to_owned).into());
}

#[test]
fn after_a_power_cut_everything_fails_until_the_crash_is_taken() {
    let disk = disk_with(b"x");
    disk.set_fault(disk.operations(), Fault::PowerCut);
    let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::Never)).unwrap();
    assert!(file.write_at(0, b"y").is_err());
    assert!(file.write_at(0, b"y").is_err());
    assert!(file.read_at(0, &mut [0]).is_err());
    assert!(disk.crash().exists(Path::new(FILE)).unwrap());
}

#[test]
fn a_short_write_leaves_its_first_bytes_and_says_that_there_is_no_room() {
    let seen: BTreeSet<usize> = (0..200)
        .map(|seed| {
            let disk = disk_with(&[b'a'; 8]);
            disk.state.lock().random = SeededRandom::new(seed);
            let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::Never)).unwrap();
            disk.set_fault(disk.operations(), Fault::ShortWrite);
            assert!(file.write_at(0, b"bbbb").unwrap_err().is_no_space());
            let content = content(&disk);
            let taken = content.iter().take_while(|byte| **byte == b'b').count();
            assert!(content[taken..].iter().all(|byte| *byte == b'a'));
            taken
        })
        .collect();
    assert_eq!(seen, BTreeSet::from([0, 1, 2, 3, 4]));
}

#[test]
fn a_full_disk_refuses_growth_and_takes_overwrites() {
    let disk = disk_with(&[0; 1024]);
    disk.set_capacity(1024);
    let file = disk.open(Path::new(FILE), &OpenOptions::buffered(Create::Never)).unwrap();
    file.write_at(512, &[1; 512]).unwrap();
    assert!(file.write_at(1000, &[1; 512]).unwrap_err().is_no_space());
    assert!(file.reserve(0, 2048).unwrap_err().is_no_space());
    // Others filled it before its capacity was known.
    disk.set_capacity(512);
    file.write_at(0, &[2; 1024]).unwrap();
}

#[test]
fn a_lock_is_held_by_one() {
    let disk = SimDisk::new(1);
    let held = disk.lock_exclusive(Path::new("/lock")).unwrap();
    assert!(disk.lock_exclusive(Path::new("/lock")).unwrap_err().is_locked());
    drop(held);
    let _again = disk.lock_exclusive(Path::new("/lock")).unwrap();
}
