//! Commits and recoveries of the journal on the simulated disk.

mod checkpoints;
mod cohorts;
mod crashes;
mod damage;
mod full_engine;
mod large;
mod visibility;

use std::path::Path;
use std::thread;
use std::time::Duration;

use cohort_engine::{Direction, KeyRange};
use cohort_io::{Fault, FileSystem};

use super::*;
use crate::options::StoreOptions;
use crate::store::Store;
use crate::tests::*;
use crate::transaction::Read;
use crate::{Isolation, LockMode};

/// Runs transfers one after the other, with checkpoints and rotations between; returns the ids that
/// were acknowledged.
fn run(machine: &Machine, first: u64, last: u64) -> Vec<u64> {
    run_with(machine, Machine::options(1), first, last)
}

fn run_with(machine: &Machine, options: StoreOptions, first: u64, last: u64) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let Ok((store, _)) = machine.recover_with(options) else { return acknowledged };
    for id in first..=last {
        match transfer(&store, id) {
            Ok(_) => acknowledged.push(id),
            // Rolled back, nothing ordered: the server goes on.
            Err(CommitError::NoSpace(_)) => break,
            Err(_) => break,
        }
        if id % 5 == 0 && checkpoint::take(store.path::<Coordinator>()).is_err() {
            break;
        }
        if id % 3 == 0 {
            checkpoint::prepare_ahead(store.path::<Coordinator>());
        }
    }
    acknowledged
}
