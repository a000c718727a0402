//! XA transactions on the simulated disk, below the journal and below protocols of other kinds.

use std::path::Path;

use cohort_binlog::{BinlogReader, EventBody, ReaderOptions, Value};
use cohort_engine::WriteError;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_io::{Fault, FileSystem, SimClock, SimDisk};

use super::*;
use crate::classic::recovery::RecoverError;
use crate::commit_protocol::CommitProtocol;
use crate::open::{Engines, Listener, OpenError, Recovered, StartReport, StartupEvent};
use crate::options::StoreOptions;
use crate::tests::{BINLOG, ENGINES, Machine, key, table};
use crate::transaction::Read;

const PROTOCOLS: [CommitProtocol; 4] =
    [CommitProtocol::Journal, CommitProtocol::Mysql57, CommitProtocol::TcMmap, CommitProtocol::Plugin104];
const LAST: u64 = 5;

fn open(disk: &SimDisk, protocol: CommitProtocol) -> Result<Arc<Store>, OpenError> {
    open_listening(disk, protocol, &mut |_| ())
}

fn open_listening(disk: &SimDisk, protocol: CommitProtocol, listener: Listener<'_>) -> Result<Arc<Store>, OpenError> {
    let (fs, clock) = (Arc::new(disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let redb = |name: &str| {
        Redb::open(fs.clone(), &Path::new("/data").join(name), &RedbOptions::default())
            .map_err(|error| WriteError::Failed { engine: "redb", detail: error.to_string() })
    };
    let (one, two) =
        (Arc::new(redb("one").map_err(RecoverError::from)?), Arc::new(redb("two").map_err(RecoverError::from)?));
    let options = StoreOptions { log_bin: protocol.has_binlog(), ..Machine::options(1) };
    let engines = match protocol {
        CommitProtocol::Journal => Engines::Journaled(vec![one, two]),
        _ => Engines::Classic(vec![one, two]),
    };
    Recovered::from_logs(options, protocol, fs, clock, engines, &mut |_| ())?.start_stepped(listener)
}

fn name(id: u64) -> XaId {
    XaId::new(&id.to_be_bytes(), b"branch", 7).expect("a short name")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Prepare,
    Commit,
    Rollback,
}

/// What becomes of a transaction in the end: some stay prepared.
fn steps(id: u64) -> &'static [Step] {
    match id % 3 {
        0 => &[Step::Prepare],
        1 => &[Step::Prepare, Step::Commit],
        _ => &[Step::Prepare, Step::Rollback],
    }
}

fn take(store: &Arc<Store>, id: u64, step: Step) -> Result<(), String> {
    if step != Step::Prepare {
        return store.decide_xa(&name(id), step == Step::Commit, |_| ()).map_err(|error| error.to_string());
    }
    let active = store.start_xa(&name(id)).expect("a free name");
    let mut transaction = store.begin();
    transaction.events().start_xa(name(id));
    for engine in ENGINES {
        transaction.lock(engine, &key(id), LockMode::Exclusive).expect("nobody else's row");
        transaction.put(engine, &key(id), b"row");
    }
    let image = [&[0u8][..], &(id as i64).to_le_bytes()].concat();
    transaction.events().write_row(&table(), &image);
    store.prepare_xa(active, transaction).map_err(|error| error.to_string())
}

/// Runs every step; returns those that were acknowledged.
fn run(disk: &SimDisk, protocol: CommitProtocol) -> Vec<(u64, Step)> {
    open(disk, protocol).map_or_else(|_| Vec::new(), |store| run_in(&store))
}

fn run_in(store: &Arc<Store>) -> Vec<(u64, Step)> {
    let mut acknowledged = Vec::new();
    for id in 1..=LAST {
        for step in steps(id) {
            if take(store, id, *step).is_err() {
                return acknowledged;
            }
            acknowledged.push((id, *step));
        }
        store.prepare_ahead();
    }
    acknowledged
}

/// The steps in the binlog, in order.
fn logged(disk: &SimDisk, store: &Store) -> Option<Vec<(u64, Step)>> {
    let mut steps = Vec::new();
    for file in store.log_bin().then(|| store.binlog().list())? {
        let path = Path::new(BINLOG).join(&file.name);
        let mut reader = BinlogReader::open(disk, &path, ReaderOptions::default()).expect("a binlog file");
        let (mut map, mut started) = (None, None);
        while let Some(event) = reader.next_event().expect("a whole event") {
            match event.decode().expect("a known event") {
                EventBody::TableMap(table) => map = Some(table),
                EventBody::Rows(rows) => {
                    let row = rows.rows(map.as_ref().expect("a table map")).next().expect("a row").expect("readable");
                    let Some([Value::Int(id)]) = row.after.as_deref() else { panic!("unexpected row {row:?}") };
                    assert_eq!(started, Some(name(*id as u64).to_string()), "rows within XA START");
                }
                EventBody::XaPrepare(event) => {
                    assert!(!event.one_phase);
                    assert_eq!(started.take(), Some(event.xid.to_string()), "XA START, XA END and the event agree");
                    steps.push((u64::from_be_bytes(event.xid.gtrid().try_into().expect("a number")), Step::Prepare));
                }
                EventBody::Query(query) => {
                    let sql = std::str::from_utf8(query.sql).expect("text");
                    let of = |text: &str| (1..=LAST).find(|id| name(*id).to_string() == text).expect("one of ours");
                    if let Some(xid) = sql.strip_prefix("XA START ") {
                        started = Some(xid.to_owned());
                    } else if let Some(xid) = sql.strip_prefix("XA COMMIT ") {
                        steps.push((of(xid), Step::Commit));
                    } else if let Some(xid) = sql.strip_prefix("XA ROLLBACK ") {
                        steps.push((of(xid), Step::Rollback));
                    } else {
                        assert_eq!(Some(sql), started.as_ref().map(|xid| format!("XA END {xid}")).as_deref());
                    }
                }
                EventBody::Xid(_) => panic!("an XA transaction has no XID event"),
                _ => {}
            }
        }
    }
    Some(steps)
}

/// Whether the row of `id` can be locked, and whether each engine has it.
fn row(store: &Arc<Store>, id: u64) -> (bool, [bool; 2]) {
    let mut transaction = store.begin();
    let free = transaction.try_lock(ENGINES[0], &key(id), LockMode::Exclusive);
    let there = ENGINES.map(|engine| {
        let seen = |read| store.begin().get(engine, read, &key(id), &mut Vec::new()).expect("a read");
        assert_eq!(seen(Read::Current), seen(Read::Snapshot));
        seen(Read::Current)
    });
    (free.is_some(), there)
}

/// Rows, locks, list and binlog say the same, and have everything acknowledged.
fn check(disk: &SimDisk, store: &Arc<Store>, acknowledged: &[(u64, Step)], context: &str) {
    let logged = logged(disk, store);
    for id in 1..=LAST {
        let prepared = store.prepared_xa().contains(&name(id));
        let (free, rows) = row(store, id);
        let done: Vec<Step> = acknowledged.iter().filter(|(of, _)| *of == id).map(|(_, step)| *step).collect();
        let context = format!("{context}: transaction {id}, acknowledged {done:?}, prepared {prepared}, rows {rows:?}");
        assert_eq!(rows[0], rows[1], "{context}: the engines differ");
        assert!(!(rows[0] && prepared), "{context}");
        assert_eq!(free, !prepared, "{context}: a prepared transaction keeps its locks, and no other does");
        let may_be = steps(id);
        match done.last() {
            None => assert!(!rows[0], "{context}"),
            Some(Step::Prepare) => assert!(prepared || may_be.len() == 2, "{context}"),
            Some(decision) => assert!(!prepared && rows[0] == (*decision == Step::Commit), "{context}"),
        }
        if prepared || rows[0] {
            assert!(may_be.contains(&Step::Commit) || !rows[0], "{context}");
        }
        let Some(logged) = &logged else { continue };
        let logged: Vec<Step> = logged.iter().filter(|(of, _)| *of == id).map(|(_, step)| *step).collect();
        assert!(logged.len() >= done.len() && may_be.starts_with(&logged), "{context}: the binlog has {logged:?}");
        assert_eq!(prepared, logged == [Step::Prepare], "{context}: the binlog has {logged:?}");
        assert_eq!(rows[0], logged.contains(&Step::Commit), "{context}: the binlog has {logged:?}");
    }
}

#[test]
fn a_run_without_faults_leaves_what_was_said() {
    for protocol in PROTOCOLS {
        let disk = SimDisk::new(1);
        let acknowledged = run(&disk, protocol);
        assert_eq!(acknowledged.len(), 9, "{protocol:?}");
        let disk = disk.crash();
        let store = open(&disk, protocol).unwrap_or_else(|error| panic!("{protocol:?}: {error}"));
        check(&disk, &store, &acknowledged, &format!("{protocol:?}"));
        assert_eq!(store.prepared_xa(), [name(3)], "{protocol:?}");
    }
}

/// The journal gives XA transactions no numbers in the binlog: whoever goes on after it finds their ends all the same.
#[test]
fn what_the_journal_wrote_is_whole_to_another_protocol() {
    let disk = SimDisk::new(1);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    let acknowledged = run_in(&store);
    let executed = store.executed().1;
    store.close().expect("a clean stop");
    drop(store);
    let store = open(&disk, CommitProtocol::Mysql57).expect("a start");
    assert_eq!(store.executed().1, executed);
    check(&disk, &store, &acknowledged, "after the journal");
}

/// Crashes at operation 0, 1, 2 … until a run ends without reaching it; then what was left is decided.
#[test]
fn a_crash_at_any_operation_keeps_prepared_transactions_whole() {
    for protocol in PROTOCOLS {
        let mut found_prepared = 0;
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            disk.set_fault(operation, Fault::PowerCut);
            let acknowledged = run(&disk, protocol);
            let finished = disk.operations() <= operation;
            let disk = disk.crash();
            let context = format!("{protocol:?}, crash at operation {operation}");
            let store = open(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&disk, &store, &acknowledged, &context);
            for xid in store.prepared_xa() {
                found_prepared += 1;
                let id = u64::from_be_bytes(xid.gtrid().try_into().expect("a number"));
                assert!(store.start_xa(&xid).is_none(), "{context}: the name is in use");
                store.decide_xa(&xid, operation % 2 == 0, |_| ()).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!(row(&store, id), (true, [operation % 2 == 0; 2]), "{context}");
                let again = store.decide_xa(&xid, true, |_| ());
                assert!(matches!(again, Err(XaError::Unknown(_))), "{context}");
            }
            drop(store);
            let store = open(&disk.crash(), protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(store.prepared_xa(), [], "{context}: a decision is durable");
            if finished {
                assert!(operation > 60, "the sweep reached the logs' writes");
                break;
            }
        }
        assert!(found_prepared > 20, "{protocol:?}: {found_prepared} were found prepared");
    }
}

/// I6: an error anywhere takes back nothing that was acknowledged.
#[test]
fn an_error_at_any_operation_keeps_prepared_transactions_whole() {
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql57, CommitProtocol::TcMmap] {
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            disk.set_fault(operation, Fault::Error);
            let acknowledged = run(&disk, protocol);
            let finished = disk.operations() <= operation;
            let disk = disk.crash();
            let context = format!("{protocol:?}, error at operation {operation}");
            let store = open(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&disk, &store, &acknowledged, &context);
            if finished {
                break;
            }
        }
    }
}

#[test]
fn a_name_is_used_once_and_free_again() {
    let disk = SimDisk::new(1);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    let active = store.start_xa(&name(1)).expect("a free name");
    assert!(store.start_xa(&name(1)).is_none());
    assert!(matches!(store.decide_xa(&name(1), true, |_| ()), Err(XaError::Unknown(_))), "it is not prepared");
    drop(active);
    take(&store, 1, Step::Prepare).expect("prepared");
    assert!(store.start_xa(&name(1)).is_none());
    take(&store, 1, Step::Rollback).expect("rolled back");
    assert!(store.start_xa(&name(1)).is_some());
}

#[test]
fn a_decision_without_room_can_be_tried_again() {
    let disk = SimDisk::new(1);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    take(&store, 1, Step::Prepare).expect("prepared");
    let used = u64::MAX - disk.available_bytes(Path::new("/data")).expect("a simulated disk");
    disk.set_capacity(used);
    let mut filler = 0;
    let refused = loop {
        filler += 1;
        assert!(filler < 10_000, "the disk is never full");
        let mut transaction = store.begin();
        transaction.put(ENGINES[0], &[b"fill", &[filler as u8; 4][..]].concat(), &[1; 3000]);
        if store.commit_and_wait(transaction).is_err() {
            break store.decide_xa(&name(1), true, |_| ()).expect_err("no room");
        }
    };
    assert!(matches!(refused, XaError::Commit(CommitError::NoSpace(_))), "{refused}");
    assert_eq!((store.prepared_xa(), row(&store, 1)), (vec![name(1)], (false, [false; 2])), "it is still prepared");
    disk.set_capacity(u64::MAX);
    take(&store, 1, Step::Commit).expect("there is room again");
    assert_eq!(row(&store, 1), (true, [true; 2]));
}

#[test]
fn a_transaction_that_wrote_nothing_is_not_logged() {
    let disk = SimDisk::new(1);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    let active = store.start_xa(&name(1)).expect("a free name");
    let mut transaction = store.begin();
    transaction.events().start_xa(name(1));
    transaction.lock(ENGINES[0], &key(1), LockMode::Shared).expect("a lock");
    store.prepare_xa(active, transaction).expect("prepared");
    assert_eq!((store.prepared_xa(), row(&store, 1).0), (vec![name(1)], false));
    take(&store, 1, Step::Commit).expect("committed");
    assert_eq!(logged(&disk, &store), Some(Vec::new()));
    assert!(row(&store, 1).0, "its locks are gone");
}

/// What a prepared transaction holds after a restart is what it held before: rows by mode, and the table's definition.
#[test]
fn locks_come_back_as_they_were() {
    let disk = SimDisk::new(1);
    let (table, engine) = (MetadataName::Table(7), ENGINES[0]);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    let active = store.start_xa(&name(1)).expect("a free name");
    let mut transaction = store.begin();
    transaction.events().start_xa(name(1));
    assert_eq!(transaction.lock_metadata(&table, MetadataMode::SharedWrite, Duration::ZERO), Ok(true));
    transaction.lock(engine, &key(1), LockMode::Shared).expect("a lock");
    transaction.lock(engine, &key(2), LockMode::Exclusive).expect("a lock");
    transaction.put(engine, &key(2), b"row");
    store.prepare_xa(active, transaction).expect("prepared");
    drop(store);
    let store = open(&disk.crash(), CommitProtocol::Journal).expect("a start");
    assert_eq!(store.prepared_xa(), [name(1)]);
    let mut other = store.begin();
    let mut free = |id, mode| other.try_lock(engine, &key(id), mode).is_some();
    let rows = [(1, LockMode::Shared), (1, LockMode::Exclusive), (2, LockMode::Shared), (2, LockMode::Exclusive)];
    assert_eq!(rows.map(|(id, mode)| free(id, mode)), [true, false, false, false]);
    drop(other);
    let changed = |mode| store.begin().lock_metadata(&table, mode, Duration::ZERO).is_ok();
    assert!(changed(MetadataMode::SharedWrite) && !changed(MetadataMode::Exclusive));
    take(&store, 1, Step::Commit).expect("committed");
    assert!(changed(MetadataMode::Exclusive), "the decision lets go of it");
}

/// It belongs to no session any more: what keeps a session's changes and commits apart from FLUSH TABLES WITH READ LOCK
/// is not its own, and neither are the locks of the session.
#[test]
fn a_prepared_transaction_keeps_of_its_metadata_locks_those_of_tables() {
    let disk = SimDisk::new(1);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    let (mut session, table) = (store.session_locks(), MetadataName::Table(9));
    let active = store.start_xa(&name(1)).expect("a free name");
    let mut transaction = store.begin();
    transaction.belongs_to(&session);
    transaction.events().start_xa(name(1));
    for name in [MetadataName::Global, MetadataName::Commit] {
        transaction.lock_metadata(&name, MetadataMode::IntentionExclusive, Duration::ZERO).expect("a lock");
    }
    transaction.lock_metadata(&table, MetadataMode::SharedWrite, Duration::ZERO).expect("a lock");
    transaction.put(ENGINES[0], &key(1), b"row");
    let owner = transaction.owner();
    store.prepare_xa(active, transaction).expect("prepared");
    let held: Vec<_> = store.metadata_locks().into_iter().map(|lock| (lock.owner, lock.name)).collect();
    assert_eq!(held, [(owner, table.clone())]);
    let changed = session.lock(&table, MetadataMode::Exclusive, Duration::ZERO, None);
    assert_eq!(changed, Err(crate::LockError::Timeout));
}

#[test]
fn a_start_says_how_many_wait_for_their_decision() {
    for protocol in PROTOCOLS {
        let disk = SimDisk::new(1);
        run(&disk, protocol);
        let mut waiting = None;
        let store = open_listening(&disk.crash(), protocol, &mut |event| {
            if let StartupEvent::Report(report) = event {
                waiting = Some(match report {
                    StartReport::Journal(report) => report.xa_prepared,
                    StartReport::Classic(report) => report.xa_prepared,
                });
            }
        });
        let prepared = store.expect("a start").prepared_xa().len() as u64;
        assert_eq!((waiting, prepared), (Some(LAST / 3), LAST / 3), "{protocol}: every third stays prepared");
    }
}

#[test]
fn an_entry_of_a_form_that_is_not_known_stops_the_start_and_the_older_form_does_not() {
    for (version, known) in [(0, false), (VERSION_WITHOUT_CLAIMS, true), (VERSION, true), (VERSION + 1, false)] {
        let disk = SimDisk::new(1);
        let store = open(&disk, CommitProtocol::Journal).expect("a new store");
        let mut entry = vec![version, 1];
        // No locks, no claims where the form has them, no changes.
        let counts = if version == VERSION_WITHOUT_CLAIMS { 1 } else { 2 };
        entry.extend_from_slice(&[0; 8][..4 * counts]);
        entry.push(0);
        let mut transaction = store.begin();
        transaction.put(ENGINE, &encode_key(&name(1)), &entry);
        store.commit_and_wait(transaction).expect("committed");
        drop(store);
        match open(&disk.crash(), CommitProtocol::Journal) {
            Ok(store) => assert_eq!((known, store.prepared_xa()), (true, vec![name(1)])),
            Err(error) => assert!(!known && error.to_string().contains("version"), "{version}: {error}"),
        }
    }
}

#[test]
fn what_was_not_logged_before_a_restart_is_not_logged_after_it() {
    for log_it in [false, true] {
        let disk = SimDisk::new(1);
        let store = open(&disk, CommitProtocol::Journal).expect("a new store");
        let active = store.start_xa(&name(1)).expect("a free name");
        let mut transaction = store.begin();
        transaction.set_binlog(log_it);
        transaction.events().start_xa(name(1));
        transaction.lock(ENGINES[0], &key(1), LockMode::Exclusive).expect("a lock");
        transaction.put(ENGINES[0], &key(1), b"row");
        let image = [&[0u8][..], &1i64.to_le_bytes()].concat();
        transaction.events().write_row(&table(), &image);
        store.prepare_xa(active, transaction).expect("prepared");
        drop(store);
        let disk = disk.crash();
        let store = open(&disk, CommitProtocol::Journal).expect("a start");
        take(&store, 1, Step::Commit).expect("committed");
        let both = vec![(1, Step::Prepare), (1, Step::Commit)];
        assert_eq!(logged(&disk, &store), Some(if log_it { both } else { Vec::new() }));
    }
}

#[test]
fn a_damaged_entry_stops_the_start() {
    let disk = SimDisk::new(1);
    let store = open(&disk, CommitProtocol::Journal).expect("a new store");
    let mut transaction = store.begin();
    transaction.put(ENGINE, &encode_key(&name(1)), &[VERSION, 1, 9]);
    store.commit_and_wait(transaction).expect("committed");
    drop(store);
    let error = open(&disk.crash(), CommitProtocol::Journal).expect_err("refused");
    assert!(matches!(&error, OpenError::Xa(XaRestoreError::Entry { .. })), "{error}");
}

#[test]
fn keys_come_back_as_the_names_they_are() {
    for (gtrid, bqual) in [(&b"a"[..], &b""[..]), (b"", b"b"), (&[0xff; 64], &[0; 64])] {
        let xid = XaId::new(gtrid, bqual, XaId::FORMAT_ID_MAX).expect("a name");
        let key = encode_key(&xid);
        assert_eq!(decode_key(&key).expect("a name"), xid);
        assert!((0..key.len()).all(|cut| decode_key(&key[..cut]).is_err()));
    }
    assert!(XaId::new(&[0; 65], b"", 1).is_none() && XaId::new(b"", b"", u32::MAX).is_none());
}
