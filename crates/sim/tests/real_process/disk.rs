//! Power cuts that take what was not synced, writes and syncs that give EIO, a disk that is full and has room
//! again, all of them under load.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::load::{rounds, write_until_full};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::wait_until;
use cohort_io::Fault;

use crate::rig::Rig;

#[test]
fn a_power_cut_takes_nothing_that_was_acknowledged() -> Result<()> {
    let seed = rng::seed();
    let Some(mut rig) = Rig::new(seed)? else { return Ok(()) };
    let mut rng = Rng::new(seed);
    for round in 0..rounds(5) {
        let pause = Duration::from_millis(100 + rng.below(700));
        rig.run(|mounted| {
            thread::sleep(pause);
            mounted.power_off();
            Ok(())
        })?;
        if rng.chance(30) {
            // The power goes again while it recovers.
            rig.server.take().context("a server")?.kill()?;
            rig.mounted.power_on()?;
            let recovering = rig.launch.spawn()?;
            thread::sleep(Duration::from_millis(rng.below(200)));
            rig.mounted.power_off();
            rig.server = Some(recovering);
        }
        rig.restart()?;
        println!("round {round}: power cut after {pause:?}; {}", rig.check()?);
    }
    ensure!(rig.history.acknowledged() > 0, "the load did nothing");
    Ok(())
}

#[test]
fn after_an_error_of_the_disk_nothing_acknowledged_is_lost() -> Result<()> {
    let seed = rng::seed();
    let Some(mut rig) = Rig::new(seed)? else { return Ok(()) };
    let mut rng = Rng::new(seed);
    for round in 0..rounds(5) {
        let fault = if rng.chance(50) { Fault::Error } else { Fault::ShortWrite };
        let ahead = rng.below(400);
        rig.run(|mounted| {
            thread::sleep(Duration::from_millis(100));
            let operation = mounted.disk().operations() + ahead;
            mounted.disk().set_fault(operation, fault);
            wait_until("the fault", || Ok(mounted.disk().operations() > operation))?;
            // For it to be seen.
            thread::sleep(Duration::from_millis(100));
            mounted.power_off();
            Ok(())
        })?;
        rig.restart()?;
        println!("round {round}: {fault:?} {ahead} operations later; {}", rig.check()?);
    }
    ensure!(rig.history.acknowledged() > 0, "the load did nothing");
    Ok(())
}

#[test]
fn a_full_disk_stops_writes_and_room_lets_them_go_on() -> Result<()> {
    let seed = rng::seed();
    let Some(mut rig) = Rig::new(seed)? else { return Ok(()) };
    for round in 0..rounds(2) {
        let before = rig.history.acknowledged();
        let (datadir, options) = (rig.launch.datadir().to_owned(), rig.server.as_ref().context("a server")?.options());
        let mut said = String::new();
        rig.run(|mounted| {
            thread::sleep(Duration::from_millis(200));
            mounted.disk().set_capacity(mounted.disk().used_bytes() + (64 << 10));
            let full = write_until_full(&datadir, options);
            // Before anything else: the load waits for it.
            mounted.disk().set_capacity(u64::MAX);
            said = full?;
            Ok(())
        })?;
        // The same process goes on: its room is back, and commits are taken again.
        let full = rig.history.acknowledged();
        // On a busy machine it may take longer than once.
        let mut after = full;
        for _ in 0..20 {
            rig.run(|_| {
                thread::sleep(Duration::from_millis(800));
                Ok(())
            })?;
            after = rig.history.acknowledged();
            if after > full {
                break;
            }
        }
        ensure!(after > full, "round {round}: nothing was committed once there was room ({before}, {full}, {after})");
        println!("round {round}: on the full disk it said {said}, then {} commits; {}", after - full, rig.check()?);
    }
    rig.server.take().context("a server")?.stop()?;
    Ok(())
}
