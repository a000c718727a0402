//! Processors that have nothing else to do.
//!
//! What keeps others waiting may be what is done, or only that a processor is busy: the second is seen beside threads that
//! give way to everybody.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::tool;

/// Has this thread, and those that it starts, run only where a processor has nothing else to do.
pub fn only_idle_ones() -> Result<()> {
    let thread = std::fs::read_link("/proc/thread-self")?;
    let id = thread.file_name().and_then(|name| name.to_str()).context("no number of a thread")?;
    tool("chrt", ["--idle", "--pid", "0", id])?.success().map(drop)
}

/// Keeps all processors busy for so long, with threads that give way to everybody.
pub fn all_busy(time: Duration) -> Result<()> {
    let ends = Instant::now() + time;
    let spin = || {
        only_idle_ones()?;
        while Instant::now() < ends {
            std::hint::spin_loop();
        }
        anyhow::Ok(())
    };
    let processors = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let spinning: Vec<_> = (0..processors).map(|_| scope.spawn(spin)).collect();
        spinning.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}
