//! With GTIDs and without, one mode after the other on the same disk.

use super::*;
use crate::options::GtidMode;

fn open_in(disk: &SimDisk, protocol: CommitProtocol, gtid_mode: GtidMode) -> Arc<Store> {
    let options = move || StoreOptions { gtid_mode, ..Machine::options(1) };
    hand_over_with(disk, protocol, &options).unwrap_or_else(|error| panic!("{protocol}: {error}")).0
}

/// Each protocol follows another, and each mode the other one, after kills and power cuts.
#[test]
fn what_is_executed_stays_from_mode_to_mode_and_numbers_go_on() {
    let mut disk = SimDisk::new(1);
    let (mut id, mut expected) = (0, Vec::new());
    for (life, protocol) in CONSISTENT.iter().chain(&[CommitProtocol::Journal]).flat_map(|one| [*one; 2]).enumerate() {
        let mode = if life % 3 == 1 { GtidMode::On } else { GtidMode::Off };
        let store = open_in(&disk, protocol, mode);
        for _ in 0..3 {
            id += 1;
            let committed = transfer(&store, id).expect("a commit");
            let number = (mode == GtidMode::On).then(|| expected.iter().flatten().count() as u64 + 1);
            assert_eq!(committed.gtid.map(|gtid| gtid.gno), number, "{protocol}, {mode:?}");
            expected.push(number);
        }
        assert_eq!(numbers_in_binlog(&disk, &store), expected, "{protocol}, {mode:?}");
        disk = if life % 2 == 0 { disk.crash() } else { disk.kill() };
    }
    let store = open_in(&disk, CommitProtocol::Journal, GtidMode::Off);
    check(&found(&disk, &store), &(1..=id).collect::<Vec<_>>(), "the last start");
    assert_eq!(numbers_in_binlog(&disk, &store), expected);
}
