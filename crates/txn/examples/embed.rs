//! The commit coordinator as a library: two engines, one log write per cohort, and a change stream
//! that any MySQL binlog reader understands.
//!
//! `cargo run --release -p cohort-txn --example embed -- [DIRECTORY [SESSIONS [COMMITS]]]`
//! moves money between accounts from many sessions at once, says how many device writes that took,
//! and leaves `binlog.000001` in the directory for `mariadb-binlog -vv`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cohort_binlog::{BinlogOptions, ColumnMeta, FieldType, KeyColumn, ServerIdentity, TableMap};
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Engine, EngineId};
use cohort_engine_rocksdb::{RocksDb, RocksDbOptions};
use cohort_io::{RealFs, SystemClock};
use cohort_journal::JournalOptions;
use cohort_txn::{
    CommitProtocol, CommitSettings, Engines, GtidMode, Listener, LockMode, Read, Recovered, StartupEvent, Store,
    StoreOptions,
};

const ROWS: EngineId = EngineId(0);
const TOTALS: EngineId = EngineId(1);
const ACCOUNTS: u64 = 100_000;
/// The primary key.
const ID: KeyColumn = KeyColumn { column: 0, prefix: None };

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let directory: PathBuf = arguments.next().unwrap_or_else(|| "embed-data".to_owned()).into();
    let sessions: u64 = arguments.next().map_or(Ok(16), |text| text.parse())?;
    let commits: u64 = arguments.next().map_or(Ok(20_000), |text| text.parse())?;

    let store = open(&directory)?;
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<(), Failure> {
        let threads: Vec<_> = (0..sessions)
            .map(|session| {
                scope.spawn({
                    let store = &store;
                    move || run(store, session, commits / sessions)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a session does not panic"))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let syncs = store.journal().expect("the store commits through the journal").stats().log.syncs;
    println!(
        "{sessions} sessions: {:.0} commits/s, {:.3} device writes per commit, binlog at {:?}",
        commits as f64 / seconds,
        syncs as f64 / commits as f64,
        store.executed().0,
    );
    store.close()?;
    Ok(())
}

fn open(directory: &std::path::Path) -> Result<Arc<Store>, Failure> {
    let rows: Arc<dyn Engine> = Arc::new(RocksDb::open(&directory.join("rows"), &RocksDbOptions::default())?);
    let fs = Arc::new(RealFs::new());
    let totals = Redb::open(fs.clone(), &directory.join("totals"), &RedbOptions::default())?;
    let totals: Arc<dyn Engine> = Arc::new(totals);
    let options = StoreOptions {
        journal_dir: directory.join("journal"),
        journal: JournalOptions::default(),
        binlog: BinlogOptions::new(directory),
        binlog_cut_at: None,
        log_bin: true,
        tc_log: directory.join("tc.log"),
        identity: ServerIdentity { server_id: 1, server_version: "8.0.40-embed".to_owned() },
        gtid_mode: GtidMode::On,
        server_uuid: "5a8d1f0e-2f4b-4c6e-9d57-3a6f0b1c2d3e".parse()?,
        settings: CommitSettings::durable(1 << 30),
        checkpoint_bytes: 256 << 20,
    };
    let (clock, engines) = (Arc::new(SystemClock), Engines::Journaled(vec![rows, totals]));
    let listener: Listener<'_> = &mut |event| match event {
        StartupEvent::Progress(line) => println!("{line}"),
        StartupEvent::Report(report) => println!("{report}"),
    };
    Ok(Recovered::from_logs(options, CommitProtocol::Journal, fs, clock, engines, listener)?.start(listener)?)
}

/// One session: each transaction changes an account in one engine and a total in the other.
fn run(store: &Arc<Store>, session: u64, commits: u64) -> Result<(), Failure> {
    let table = TableMap::new(1, "bank", "accounts", &[column("id"), column("balance")], &[ID]);
    let total_key = [&b"total"[..], &session.to_be_bytes()].concat();
    let (mut row, mut total) = (Vec::new(), Vec::new());
    for n in 0..commits {
        let id = (session * 7919 + n * 104_729) % ACCOUNTS;
        let key = [&b"account"[..], &id.to_be_bytes()].concat();
        let mut transaction = store.begin();
        transaction.lock(ROWS, &key, LockMode::Exclusive)?;
        transaction.lock(TOTALS, &total_key, LockMode::Exclusive)?;
        transaction.get(ROWS, Read::Current, &key, &mut row)?;
        transaction.get(TOTALS, Read::Current, &total_key, &mut total)?;
        let (balance, sum) = (number(&row) + 1, number(&total) + 1);
        transaction.put(ROWS, &key, &balance.to_le_bytes());
        transaction.put(TOTALS, &total_key, &sum.to_le_bytes());
        transaction.events().update_row(&table, &image(id, balance - 1), &image(id, balance));
        transaction.events().end_statement();
        store.commit_and_wait(transaction)?;
    }
    Ok(())
}

fn column(name: &str) -> ColumnMeta {
    ColumnMeta {
        field: FieldType::LongLong,
        meta: Vec::new(),
        nullable: false,
        unsigned: false,
        charset: 63,
        name: name.to_owned(),
        members: Vec::new(),
    }
}

/// A row as the binlog has it: no NULLs, two BIGINTs.
fn image(id: u64, balance: u64) -> Vec<u8> {
    [&[0][..], &id.to_le_bytes(), &balance.to_le_bytes()].concat()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}
