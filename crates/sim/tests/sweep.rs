//! The sweep under each commit protocol, with the stand-in for RocksDB and with RocksDB itself beside redb.
//!
//! `COHORT_STRIDE=1` visits every operation instead of every so many, by choices of its own that `COHORT_SEED` repeats;
//! else the choices are the same each time. They are printed. Where there is no `/dev/fuse`, RocksDB is not run, which
//! the output says.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cohort_io::sync::Mutex;
use cohort_io::{Fault, SimDisk};
use cohort_sim::mount::Mounted;
use cohort_sim::seeds::number;
use cohort_sim::sweep::{FAULTS, Sweep};
use cohort_txn::CommitProtocol;

/// So that all of them together take less than a minute and a half of two processors.
const STRIDE: u64 = 23;
/// The same for RocksDB, which takes longer.
const STRIDE_ROCKSDB: u64 = 101;
/// Of so many runs one has its recovery swept.
const RECOVERY_STRIDE: u64 = 23;
/// The same where every operation is visited, that of the recovery as well.
const RECOVERY_STRIDE_WHOLE: u64 = 100;
/// The same for RocksDB.
const RECOVERY_STRIDE_WHOLE_ROCKSDB: u64 = 2000;

fn sweep(protocol: CommitProtocol, faults: &'static [Fault], rocksdb: Option<Arc<Mutex<Mounted>>>) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (engines, stride, whole) = match rocksdb {
        Some(_) => ("RocksDB and redb", STRIDE_ROCKSDB, RECOVERY_STRIDE_WHOLE_ROCKSDB),
        None => ("stand-in and redb", STRIDE, RECOVERY_STRIDE_WHOLE),
    };
    let stride = number("COHORT_STRIDE").unwrap_or(stride).max(1);
    let seed = number("COHORT_SEED").unwrap_or(if stride == 1 { since.as_nanos() as u64 } else { 1 });
    let recovery_stride = if stride == 1 { whole } else { RECOVERY_STRIDE };
    let what = format!("{protocol}, {engines}, {faults:?} every {stride} operations, COHORT_SEED={seed}");
    println!("{what}");
    let began = Instant::now();
    let swept = Sweep { protocol, rocksdb, faults, seed, stride, recovery_stride }.run();
    let stats = swept.unwrap_or_else(|violation| panic!("{what}: {violation:?}"));
    println!("{what}: {stats}; {:.1} s", began.elapsed().as_secs_f64());
}

/// With a disk for each fault, side by side: RocksDB waits a second after every failed sync, and looks for room every
/// five seconds.
fn sweep_rocksdb(protocol: CommitProtocol) {
    if !Path::new("/dev/fuse").exists() {
        return println!("NOT RUN: there is no /dev/fuse on this machine");
    }
    thread::scope(|scope| {
        for faults in FAULTS.chunks(1) {
            scope.spawn(move || {
                let folder = tempfile::tempdir().expect("a folder");
                let mounted = Mounted::new(SimDisk::new(0), folder.path());
                let mounted = mounted.expect("cannot mount: this needs root, or fusermount3 (Debian: fuse3)");
                sweep(protocol, faults, Some(Arc::new(Mutex::new(mounted))));
            });
        }
    });
}

macro_rules! rungs {
    ($($name:ident: $protocol:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn with_the_stand_in() {
                sweep($protocol, &FAULTS, None);
            }

            #[test]
            fn with_rocksdb() {
                sweep_rocksdb($protocol);
            }
        }
    )*};
}

cohort_txn::for_each_commit_protocol!(rungs);
