use std::sync::Arc;

use cohort_binlog::{FollowError, Gtid, ReaderOptions, ServerUuid};
use cohort_io::{Fault, SimDisk};

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::given_gtids::GtidClaim;
use crate::tests::{Machine, transfer};

const OTHER: &str = "eeeeeeee-eeee-eeee-eeee-eeeeeeeeeeee";
const OWN: &str = "11111111-2222-3333-4444-555555555555";

/// A disk with a store under the journal, or under a protocol that recovers from the binlog.
enum Rig {
    Journal(Machine),
    Classic(SimDisk),
}

impl Rig {
    fn all(seed: u64) -> [Rig; 2] {
        [Rig::Journal(Machine::new(seed)), Rig::Classic(SimDisk::new(seed))]
    }

    fn open(&self) -> Option<Arc<Store>> {
        match self {
            Rig::Journal(machine) => machine.recover().ok().map(|(store, _)| store),
            Rig::Classic(disk) => open(disk, CommitProtocol::Mysql57).ok().map(|(store, _)| store),
        }
    }

    fn disk(&self) -> &SimDisk {
        match self {
            Rig::Journal(machine) => &machine.disk,
            Rig::Classic(disk) => disk,
        }
    }

    fn crash(&self) -> Rig {
        match self {
            Rig::Journal(machine) => Rig::Journal(machine.crash()),
            Rig::Classic(disk) => Rig::Classic(disk.crash()),
        }
    }
}

fn set(text: &str) -> GtidSet {
    text.replace("own", OWN).replace("other", OTHER).parse().expect("a set")
}

fn short(set: &GtidSet) -> String {
    set.to_string().replace(",\n", " ").replace(OWN, "own").replace(OTHER, "other")
}

/// Executed and purged.
fn sets(store: &Store) -> [String; 2] {
    [short(&store.executed().1), short(&store.purged_gtids().expect("headers"))]
}

/// The GTIDs that a reader gets that has `known`, or those that it lacks and cannot get.
fn followed(store: &Store, known: &str) -> Result<String, String> {
    let binlog = store.binlog();
    let known = set(known);
    let follower = match binlog.follow_after(&known) {
        Ok(follower) => follower,
        Err(FollowError::Purged(missing)) => return Err(short(&missing)),
        Err(other) => panic!("{other}"),
    };
    let mut got = GtidSet::new();
    for number in follower.position().file_number..=binlog.end().expect("a file").file_number {
        let mut file =
            binlog.reader(number, ReaderOptions::default()).expect("it is there").executed_gtids().expect("whole");
        file.subtract(&binlog.previous_gtids(number).expect("a header"));
        got.union(&file);
    }
    got.subtract(&known);
    Ok(short(&got))
}

#[test]
fn added_gtids_are_executed_and_purged_also_after_a_restart() {
    for rig in Rig::all(11) {
        let store = rig.open().expect("a new store");
        for id in 1..=2 {
            transfer(&store, id).expect("a commit");
        }
        store.add_purged_gtids(&set("other:1-5,own:7")).expect("they are nobody's");
        assert_eq!(transfer(&store, 3).expect("a commit").gtid.expect("it is logged").gno, 3);
        assert_eq!(
            store.add_purged_gtids(&set("other:5-6")).expect_err("5 is there").to_string(),
            "the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED"
        );
        store.add_purged_gtids(&set("other:9")).expect("it is nobody's");
        let expected = ["own:1-3:7 other:1-5:9", "own:7 other:1-5:9"];
        assert_eq!(sets(&store), expected);
        let rig = rig.crash();
        let store = rig.open().expect("a disk without faults");
        assert_eq!(sets(&store), expected);
        assert_eq!(followed(&store, ""), Err("own:7 other:1-5:9".to_owned()));
        assert_eq!(followed(&store, "own:7,other:1-5"), Err("other:9".to_owned()));
        assert_eq!(followed(&store, "own:1:7,other:1-9"), Ok("own:2-3".to_owned()));
        transfer(&store, 4).expect("a commit");
        store.rotate_binlog().expect("another file");
        let last = store.binlog().end().expect("a file").file_number;
        store.purge_binlog(last).expect("they are closed");
        assert_eq!(sets(&store), ["own:1-4:7 other:1-5:9", "own:1-4:7 other:1-5:9"]);
        assert_eq!(followed(&store, "own:1-3:7,other:1-9"), Err("own:4".to_owned()));
    }
}

#[test]
fn an_owned_gtid_is_not_added_and_an_added_one_not_owned() {
    for rig in Rig::all(12) {
        let store = rig.open().expect("a new store");
        let gtid = Gtid { uuid: OTHER.parse::<ServerUuid>().expect("a UUID"), gno: 4 };
        let owned = store.claim_gtid(gtid, 7, &|| false);
        let error = store.add_purged_gtids(&set("other:1-5")).expect_err("4 is owned");
        assert_eq!(error.to_string(), "the added gtid set must not overlap with @@GLOBAL.GTID_OWNED");
        drop(owned);
        store.add_purged_gtids(&set("other:1-5")).expect("they are nobody's");
        assert!(matches!(store.claim_gtid(gtid, 7, &|| false), GtidClaim::Executed));
    }
}

#[test]
fn a_reset_forgets_everything_and_numbers_begin_with_one() {
    for rig in Rig::all(13) {
        let store = rig.open().expect("a new store");
        for id in 1..=3 {
            transfer(&store, id).expect("a commit");
        }
        store.add_purged_gtids(&set("other:1-5")).expect("they are nobody's");
        let before = store.binlog().end().expect("a file").file_number;
        let follower = store.binlog().follow_after(&set("own:1-3,other:1-5")).expect("it has all");
        assert!(matches!(store.reset_binlog(), Err(ResetError::Readers)));
        drop(follower);
        store.reset_binlog().expect("nobody reads");
        assert_eq!(sets(&store), ["", ""]);
        let files: Vec<u64> = store.binlog().list().into_iter().map(|file| file.number).collect();
        assert_eq!(files, [before + 1]);
        assert_eq!(transfer(&store, 4).expect("a commit").gtid.expect("it is logged").gno, 1);
        store.reset_binlog().expect("once more");
        assert_eq!(transfer(&store, 5).expect("a commit").gtid.expect("it is logged").gno, 1);
        store.add_purged_gtids(&set("other:5")).expect("it was forgotten");
        let store = rig.crash().open().expect("a disk without faults");
        assert_eq!(sets(&store), ["own:1 other:5", "other:5"]);
        assert_eq!(followed(&store, "other:5"), Ok("own:1".to_owned()));
    }
}

#[test]
fn a_set_that_finds_no_room_is_not_added() {
    for rig in Rig::all(16) {
        let store = rig.open().expect("a new store");
        transfer(&store, 1).expect("a commit");
        rig.disk().set_capacity(rig.disk().used_bytes());
        store.add_purged_gtids(&set("other:1-5")).expect_err("the disk is full");
        assert_eq!(sets(&store), ["own:1", ""]);
        assert_eq!(followed(&store, ""), Ok("own:1".to_owned()));
        rig.disk().set_capacity(u64::MAX);
        store.add_purged_gtids(&set("other:1-5")).expect("there is room again");
        assert_eq!(sets(&store), ["own:1 other:1-5", "other:1-5"]);
    }
}

/// Crashes at every operation of `change` on the disk: afterwards the sets are those before or after, and those after if
/// the change was acknowledged.
fn crash_everywhere(seed: u64, change: impl Fn(&Store) -> bool, before: [&str; 2], after: [&str; 2]) {
    for which in 0..2 {
        let mut changed_at_all = [false; 2];
        for operation in 0..1000 {
            let [journal, classic] = Rig::all(seed);
            let rig = if which == 0 { journal } else { classic };
            let store = rig.open().expect("a new store");
            transfer(&store, 1).expect("a commit");
            store.rotate_binlog().expect("another file");
            transfer(&store, 2).expect("a commit");
            let last = store.binlog().end().expect("a file").file_number;
            rig.disk().set_fault(rig.disk().operations() + operation, Fault::PowerCut);
            let changed = change(&store);
            let reached = !rig.disk().is_powered();
            drop(store);
            let rig = rig.crash();
            let store = rig.open().unwrap_or_else(|| panic!("operation {operation} of rig {which}"));
            let found = sets(&store);
            let is_after = found == after;
            assert!(is_after || found == before && !changed, "operation {operation} of rig {which}: {found:?}");
            changed_at_all[usize::from(is_after)] = true;
            transfer(&store, 3).expect("it goes on");
            if is_after && after[0].is_empty() {
                assert_eq!(followed(&store, ""), Ok("own:1".to_owned()), "operation {operation} of rig {which}");
                let files = store.binlog().list();
                assert!(files.iter().all(|file| file.number > last), "operation {operation}: old files are gone");
            }
            if !reached {
                break;
            }
            assert!(operation < 999, "the change never ends");
        }
        assert_eq!(changed_at_all, [true; 2], "rig {which}: a crash before and one after");
    }
}

#[test]
fn a_crash_leaves_added_gtids_or_none_of_them() {
    let change = |store: &Store| store.add_purged_gtids(&set("other:1-5")).is_ok();
    crash_everywhere(14, change, ["own:1-2", ""], ["own:1-2 other:1-5", "other:1-5"]);
}

#[test]
fn a_crash_leaves_everything_or_a_reset_binlog() {
    crash_everywhere(15, |store| store.reset_binlog().is_ok(), ["own:1-2", ""], ["", ""]);
}
