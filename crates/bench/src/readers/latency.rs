//! From a commit's OK at its client to its event at a reader.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::Server;
use mysql::prelude::Queryable;

use super::follower::{AtEnd, Begin, Follower, WRITE_ROWS_EVENT, event_type, position};
use super::load::{self, prepared};
use super::{Goal, Plan, Wanted, percentile};

/// Clients whose commits are timed.
const PROBES: u64 = 4;
/// The first number of a probe; no other load writes such rows.
const FIRST: u64 = 0x5eed_0000_0000_0000;
/// Size of the event with one row of one BIGINT.
const PROBE_EVENT: usize = 44;

/// The 99th percentile over all probes beside the load of 32 clients.
pub fn measure(plan: &Plan<'_>) -> Result<Vec<Goal>> {
    let folder = tempfile::tempdir()?;
    let server = prepared(folder.path(), plan, &[])?;
    server.connect()?.query_drop("CREATE DATABASE probes; CREATE TABLE probes.p (id BIGINT UNSIGNED PRIMARY KEY)")?;
    let seconds = plan.effort.seconds * plan.effort.rounds;
    let begin = position(&server)?;
    let ended = AtomicBool::new(false);
    let (sent, arrived, figures) = thread::scope(|scope| -> Result<_> {
        let reader = scope.spawn(|| arrivals(&server, &begin));
        let probes: Vec<_> = (0..PROBES)
            .map(|probe| {
                scope.spawn({
                    let (server, ended) = (&server, &ended);
                    move || commits(server, ended, FIRST + (probe << 32))
                })
            })
            .collect();
        let figures = load::run(&server, plan, seconds);
        ended.store(true, Ordering::Relaxed);
        let mut sent = HashMap::new();
        for probe in probes {
            sent.extend(probe.join().expect("a probe does not panic")?);
        }
        server.connect()?.query_drop("INSERT INTO probes.p VALUES (18446744073709551615)")?;
        Ok((sent, reader.join().expect("the reader does not panic")?, figures?))
    })?;
    server.stop()?;
    let delay = |(id, ok): (&u64, &Instant)| -> Result<f64> {
        let arrival = arrived.get(id).context("a commit without an event")?;
        // An event may come before the OK.
        Ok(arrival.saturating_duration_since(*ok).as_secs_f64() * 1e3)
    };
    let mut delays: Vec<f64> = sent.iter().map(delay).collect::<Result<_>>()?;
    ensure!(!delays.is_empty(), "no commit was timed");
    let detail = format!(
        "median {:.2} ms, {} commits of {PROBES} probes beside {:.0}/s of {} clients",
        percentile(&mut delays, 0.5),
        delays.len(),
        figures.throughput,
        load::CLIENTS
    );
    let p99 = percentile(&mut delays, 0.99);
    Ok(vec![Goal::new("p99 from a commit's OK to its event at a reader", p99, "ms", Wanted::AtMost(5.0), detail)])
}

/// Commits rows with the numbers from `first` on, and notes when their OK came.
fn commits(server: &Server, ended: &AtomicBool, first: u64) -> Result<Vec<(u64, Instant)>> {
    let (mut conn, mut sent) = (server.connect()?, Vec::new());
    for id in first.. {
        conn.query_drop(format!("INSERT INTO probes.p VALUES ({id})"))?;
        sent.push((id, Instant::now()));
        if ended.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(sent)
}

/// When the events of probes came, up to that of the largest number.
fn arrivals(server: &Server, begin: &Begin) -> Result<HashMap<u64, Instant>> {
    let mut follower = Follower::attach(server.port(), begin, AtEnd::Wait)?;
    let mut arrived = HashMap::new();
    loop {
        let event = follower.next_event()?.context("the dump ended")?;
        if event_type(event) != WRITE_ROWS_EVENT || event.len() != PROBE_EVENT {
            continue;
        }
        let id = event.len() - 12;
        match u64::from_le_bytes(event[id..id + 8].try_into()?) {
            u64::MAX => return Ok(arrived),
            id => arrived.insert(id, Instant::now()),
        };
    }
}
