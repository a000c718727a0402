//! Keeps the statistics of tables up to date, and in a file of the data directory.
//!
//! The thread gives way to others and is on no statement's path. The file is for the next start only: it is replaced by a
//! rename that nobody makes durable, since what a crash damages is collected again.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use cohort_io::scheduling::{give_way, take_long_slices};
use cohort_io::{Create, FileSystem, IoError, OpenOptions, read_whole};
use cohort_sql::Database;

/// How often tables are looked through for those that have changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The longest file that is read.
const MAX_BYTES: u64 = 1 << 30;

/// Where they are kept in a data directory.
pub fn path_in(dir: &Path) -> PathBuf {
    dir.join("statistics")
}

/// Takes what was kept; the log says so if it is damaged.
pub fn restore(database: &Database, fs: &dyn FileSystem, path: &Path) {
    let kept = match fs.exists(path) {
        Ok(false) => return,
        there => there.and_then(|_| read_whole(fs, path, MAX_BYTES)),
    };
    match kept {
        Ok(kept) if database.restore_statistics(&kept) => {}
        Ok(_) => log::warn!("{} is damaged: statistics are collected again", path.display()),
        Err(error) => log::warn!("{error}: statistics are collected again"),
    }
}

/// Collects statistics until the other end of `stopped` is gone, and keeps them.
pub fn keep(database: &Database, fs: &dyn FileSystem, path: &Path, stopped: &Receiver<()>) {
    give_way(None);
    take_long_slices(None);
    let goes_on = || stopped.try_recv() == Err(TryRecvError::Empty);
    loop {
        let ended = stopped.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout);
        let changed = ended || database.collect_statistics(&goes_on) > 0;
        if changed && let Err(error) = replace(fs, path, &database.statistics_to_keep()) {
            log::warn!("statistics are not kept: {error}");
        }
        if ended {
            return;
        }
    }
}

fn replace(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let fresh = path.with_extension("new");
    if fs.exists(&fresh)? {
        fs.remove(&fresh)?;
    }
    fs.open(&fresh, &OpenOptions::buffered(Create::New))?.write_at(0, bytes)?;
    fs.rename(&fresh, path)
}
