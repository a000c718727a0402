//! Starts the servers of an experiment and gives them its load in turn.
//!
//! All of them are up at once and take turns for each number of clients, so that whatever the machine does
//! meanwhile hits all; who goes first changes with every turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, SystemTables};

use crate::contender::Contender;
use crate::history::load::Client;
use crate::history::plan::{Contestant, Entrant, Experiment, Peer, Scale, counted_at_the_kernel};
use crate::history::result::{Absent, History, Outcome, Point, Run, Series};
use crate::history::{counters, kernel};
use crate::machine::{Machine, Ticks, programs_cpu_us, sync_us};
use crate::progress::Progress;

/// Where and how large.
#[derive(Debug, Clone)]
pub struct Field {
    /// How large.
    pub scale: Scale,
    /// Folder on the disk.
    pub disk: PathBuf,
    /// Folder in memory.
    pub memory: PathBuf,
    /// Where `scripts/peers.sh` puts the old servers.
    pub peers: PathBuf,
    /// Options of our server besides those of the contestant.
    pub cohort_options: Vec<String>,
    /// Set when the run is to end: its servers are ended and their data removed.
    pub interrupted: Arc<AtomicBool>,
}

impl Field {
    /// An error if the run is to end.
    pub fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Starts a contestant on a new data directory in `folder`, which is created. With `trace` it runs under
    /// strace.
    pub fn start(
        &self,
        contestant: Contestant,
        sync_binlog: u32,
        folder: &Path,
        trace: Option<&Path>,
    ) -> Result<Contender> {
        std::fs::create_dir_all(folder)?;
        let mut options = vec![format!("--sync-binlog={sync_binlog}")];
        if !contestant.binlog {
            options.push("--skip-log-bin".to_owned());
        }
        let protocol = match contestant.entrant {
            Entrant::Ours(protocol) => protocol,
            Entrant::Peer(peer) => return self.start_peer(peer, &options, folder, trace),
        };
        options.push("--innodb-flush-log-at-trx-commit=1".to_owned());
        options.extend(self.cohort_options.iter().cloned());
        let launch = options.into_iter().fold(Launch::new(folder.join("data")).protocol(protocol), Launch::option);
        let launch = trace.into_iter().fold(launch, |launch, file| launch.traced(file));
        Ok(Contender::Cohort(launch.start()?))
    }

    fn start_peer(&self, peer: Peer, more: &[String], folder: &Path, trace: Option<&Path>) -> Result<Contender> {
        let options: Vec<String> = MariaDb::full_durability(folder).into_iter().chain(more.iter().cloned()).collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let home = match peer {
            Peer::Mysql55 => self.peers.join("mysql-5.5.9"),
            Peer::Mysql56 => self.peers.join("mysql-5.6.24"),
            Peer::Mariadb1011 => {
                let quick = self.scale == Scale::Quick;
                let tables = if quick { SystemTables::Absent } else { SystemTables::Installed };
                return Ok(Contender::MariaDb(MariaDb::start(folder, tables, &options, trace)?));
            }
        };
        ensure!(home.is_dir(), "not found in {}", home.display());
        Ok(Contender::MariaDb(MariaDb::start_unpacked(&home, folder, &options, trace)?))
    }
}

/// A server that takes part, with what it has shown so far.
struct Player {
    contestant: Contestant,
    server: Contender,
    client: Client,
    version: String,
    points: Vec<Point>,
}

/// Number of steps that [`experiment`] reports to a [`Progress`].
fn steps(experiment: Experiment, contestants: &[Contestant], scale: Scale) -> u64 {
    let turns = experiment.clients(scale).len() as u64 * u64::from(scale.rounds());
    contestants.len() as u64 * turns
}

/// Runs these experiments with the contestants whose names contain one of `only`, or with all if there is
/// none, and counts syncs at the system call if `traced`.
pub fn all(field: &Field, experiments: &[Experiment], only: &[String], traced: bool) -> Result<History> {
    ensure!(!in_memory(&field.disk)?, "{} is in memory: name a folder on a disk", field.disk.display());
    let chosen = |contestants: Vec<Contestant>| {
        let named = |contestant: &Contestant| {
            let name = contestant.to_string();
            only.is_empty() || only.iter().any(|part| name.contains(part.as_str()))
        };
        contestants.into_iter().filter(named).collect::<Vec<_>>()
    };
    let plan: Vec<(Experiment, Vec<Contestant>)> =
        experiments.iter().map(|&experiment| (experiment, chosen(experiment.contestants()))).collect();
    let counted = if traced { chosen(counted_at_the_kernel()) } else { Vec::new() };
    let turns: u64 = plan.iter().map(|(experiment, contestants)| steps(*experiment, contestants, field.scale)).sum();
    let mut progress = Progress::new(turns + kernel::steps(&counted));

    let machine = Machine::here()?;
    let (mut outcomes, mut absent) = (Vec::new(), Vec::new());
    for (which, contestants) in &plan {
        let lacking = if which.in_memory() { no_ram_disk(&field.memory, contestants.len())? } else { None };
        if let Some(reason) = lacking {
            progress.skip(steps(*which, contestants, field.scale), &reason);
            absent.push(Absent { contestant: None, experiment: Some(*which), reason });
            continue;
        }
        outcomes.push(experiment(field, *which, contestants, &mut progress, &mut absent)?);
    }
    let kernel = kernel::count(field, &counted, &mut progress, &mut absent)?;
    progress.finish();
    Ok(History { machine, scale: field.scale, experiments: outcomes, kernel, absent })
}

/// Whether a folder is on a RAM disk.
fn in_memory(folder: &Path) -> Result<bool> {
    const TMPFS: u64 = 0x0102_1994;
    let found = rustix::fs::statfs(folder).with_context(|| format!("no folder {}", folder.display()))?;
    Ok(found.f_type as u64 == TMPFS)
}

/// Why `folder` is no RAM disk that so many servers fit on, if it is none.
fn no_ram_disk(folder: &Path, servers: usize) -> Result<Option<String>> {
    const EACH_BYTES: u64 = 1 << 30;
    if !in_memory(folder).unwrap_or(false) {
        return Ok(Some(format!("{} is not in memory", folder.display())));
    }
    let space = rustix::fs::statvfs(folder)?;
    let (free, needed) = (space.f_bavail * space.f_frsize, EACH_BYTES * servers as u64);
    Ok((free < needed)
        .then(|| format!("{} has {} MiB free, {} are needed", folder.display(), free >> 20, needed >> 20)))
}

/// Runs an experiment with these contestants; adds those who could not take part to `absent`.
fn experiment(
    field: &Field,
    experiment: Experiment,
    contestants: &[Contestant],
    progress: &mut Progress,
    absent: &mut Vec<Absent>,
) -> Result<Outcome> {
    let place = if experiment.in_memory() { &field.memory } else { &field.disk };
    let folder = tempfile::tempdir_in(place).with_context(|| format!("no room in {}", place.display()))?;
    let sync_us = sync_us(folder.path())?;
    let clients = experiment.clients(field.scale);
    let mut leave = |contestant: Contestant, reason: &anyhow::Error| {
        let reason = one_line(reason);
        absent.push(Absent { contestant: Some(contestant), experiment: Some(experiment), reason });
    };

    let mut players = Vec::new();
    for (number, &contestant) in contestants.iter().enumerate() {
        progress.now(&format!("{experiment:?}: starting {contestant}"));
        let folder = folder.path().join(number.to_string());
        let started = Player::start(field, experiment, contestant, &folder);
        field.go_on()?;
        match started {
            Ok(player) => players.push(player),
            Err(error) => {
                leave(contestant, &error);
                progress.skip(
                    steps(experiment, &[contestant], field.scale),
                    &format!("{contestant}: {}", one_line(&error)),
                );
            }
        }
    }

    for round in 0..field.scale.rounds() {
        for (turn, &clients) in clients.iter().enumerate() {
            if !players.is_empty() {
                let first = (round as usize + turn) % players.len();
                players.rotate_left(first);
            }
            let mut staying = Vec::new();
            for mut player in players {
                let what = format!("{experiment:?} round {} {} clients {}", round + 1, clients, player.contestant);
                progress.now(&what);
                let turn = player.turn(clients);
                field.go_on()?;
                match turn {
                    Ok(run) => {
                        progress.step(&format!("{what}: {:.0} tps, {:.0} µs CPU", run.throughput, run.server_us));
                        staying.push(player);
                    }
                    Err(error) => {
                        leave(player.contestant, &error);
                        progress.step(&format!("{what}: {}", one_line(&error)));
                    }
                }
            }
            players = staying;
        }
    }

    let mut series = Vec::new();
    for player in players {
        let contestant = player.contestant;
        match player.finish() {
            Ok(finished) => series.push(finished),
            Err(error) => leave(contestant, &error),
        }
    }
    // In the order of the plan, whatever the turns were.
    series.sort_by_key(|series| contestants.iter().position(|contestant| *contestant == series.contestant));
    Ok(Outcome { experiment, sync_us, series })
}

impl Player {
    fn start(field: &Field, experiment: Experiment, contestant: Contestant, folder: &Path) -> Result<Player> {
        let server = field.start(contestant, experiment.sync_binlog(), folder, None)?;
        let version = server.version()?;
        let client = Client::prepare(&server, contestant, experiment, field.scale, folder)?;
        Ok(Player { contestant, server, client, version, points: Vec::new() })
    }

    fn turn(&mut self, clients: u32) -> Result<Run> {
        let index = match self.points.iter().position(|point| point.clients == clients) {
            Some(index) => index,
            None => {
                self.points.push(Point { clients, runs: Vec::new() });
                self.points.len() - 1
            }
        };
        let expected = match self.points[index].runs.last() {
            Some(run) => run.throughput,
            // What only warms up is not counted.
            None => self.client.warm_up(clients)?,
        };
        let mut conn = self.server.connect()?;
        let syncs = counters::syncs(&mut conn)?;
        let (usage, programs_us, ticks, start) =
            (self.server.usage()?, programs_cpu_us()?, Ticks::now()?, Instant::now());
        let seen = self.client.run(clients, expected)?;
        let there_were_us = start.elapsed().as_micros() as f64 * std::thread::available_parallelism()?.get() as f64;
        let server_us = (self.server.usage()?.cpu_us - usage.cpu_us) as f64;
        let busy = (server_us + (programs_cpu_us()? - programs_us) as f64) / there_were_us;
        let run = Run {
            commits: seen.commits,
            throughput: seen.throughput,
            p99_ms: seen.p99_ms,
            server_us: server_us / seen.commits.max(1) as f64,
            busy,
            others: (Ticks::now()?.busy_since(ticks) - busy).max(0.0),
            syncs: counters::syncs(&mut conn)?.since(&syncs),
        };
        self.points[index].runs.push(run);
        Ok(run)
    }

    fn finish(self) -> Result<Series> {
        let locks = counters::locks(&mut self.server.connect()?)?;
        self.server.stop()?;
        let mut points = self.points;
        points.sort_by_key(|point| point.clients);
        Ok(Series { contestant: self.contestant, version: self.version, points, locks })
    }
}

/// The line of an error that a report can carry: the one in which a program says what was fatal, or the first.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let fatal = text.lines().find_map(|line| Some(&line[line.find("FATAL")?..]));
    let line = fatal.or_else(|| text.lines().map(str::trim).find(|line| !line.is_empty())).unwrap_or_default();
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_carries_the_line_that_says_why() {
        let failed =
            anyhow::anyhow!("\"sysbench\" ended with 1\nCreating table\nFATAL: mysql_drv_query(): error 1286\n");
        assert_eq!(one_line(&failed), "FATAL: mysql_drv_query(): error 1286");
        assert_eq!(one_line(&anyhow::anyhow!("\n not found in x\nmore")), "not found in x");
    }
}
