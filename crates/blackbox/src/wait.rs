//! Waiting for a state that comes by itself.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Longer than anything takes that is not broken, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns when `holds` does. An error says that it waited in vain for `what`.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !holds()? {
        ensure!(Instant::now() < deadline, "in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
