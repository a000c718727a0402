//! A server process: its log, its end, and what it has used.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::tool::tail;

/// What a process has used so far, as the kernel counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// User and system time of all its threads, microseconds.
    pub cpu_us: u64,
    /// Resident set size, bytes.
    pub resident_bytes: u64,
}

/// A port of 127.0.0.1 that was free a moment ago, and that no other caller in this process got.
pub fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return Ok(port);
        }
    }
}

/// Bytes that the kernel keeps for the connections of the server at `port` of 127.0.0.1: from it, which its clients do
/// not take, and to it, which it has not read.
pub fn bytes_on_the_way(port: u16) -> Result<(u64, u64)> {
    let (table, local) = (fs::read_to_string("/proc/net/tcp")?, format!("0100007F:{port:04X}"));
    let mut sums = (0, 0);
    for line in table.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Established, not the one that listens.
        if let [_, address, _, "01", queues, ..] = fields[..]
            && address == local
        {
            let (sent, received) = queues.split_once(':').context("two queues")?;
            sums.0 += u64::from_str_radix(sent, 16)?;
            sums.1 += u64::from_str_radix(received, 16)?;
        }
    }
    Ok(sums)
}

/// A running server. Dropping it kills it; while a test is failing, its log is printed first.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    name: &'static str,
    log: PathBuf,
    ended: Option<ExitStatus>,
    signalled: bool,
}

impl Process {
    /// Starts `command` with both its outputs appended to `log`, or its messages written to `messages`.
    pub fn start(name: &'static str, command: &mut Command, log: &Path, messages: Option<OwnedFd>) -> Result<Process> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.with_context(|| format!("cannot open {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?);
        command.stderr(messages.map_or_else(|| file.into(), Stdio::from));
        // An interrupt typed at the terminal is for the test or benchmark, not for the server.
        command.process_group(0);
        let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        Ok(Process { child, name, log: log.to_owned(), ended: None, signalled: false })
    }

    /// Tries `ready` until it holds. An error says how the server ended or what it still lacks.
    pub fn wait_until(&mut self, patience: Duration, ready: impl Fn() -> Result<()>) -> Result<()> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.try_wait()? {
                bail!("{} ended with {status}:\n{}", self.name, tail(&self.log()?));
            }
            match ready() {
                Ok(()) => return Ok(()),
                Err(lacking) if Instant::now() > deadline => {
                    let log = self.log()?;
                    return Err(lacking.context(format!("{} not ready:\n{}", self.name, tail(&log))));
                }
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has written so far.
    pub fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.log)?).into_owned())
    }

    /// Sends `signal`, which ends it. An error with its log if it has ended by itself.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if let Some(status) = self.try_wait()? {
            bail!("{} had ended by itself with {status}:\n{}", self.name, tail(&self.log()?));
        }
        let pid = Pid::from_raw(self.pid() as i32).context("process id 0")?;
        self.signalled = true;
        Ok(kill_process(pid, signal)?)
    }

    /// How it ended, if it did without a signal of ours and nobody has asked before.
    pub fn ended_unseen(&mut self) -> Result<Option<ExitStatus>> {
        if self.signalled || self.ended.is_some() { Ok(None) } else { self.try_wait() }
    }

    /// How it ended, if it did.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended)
    }

    /// Waits for its end; an error after `patience`.
    pub fn wait(&mut self, patience: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("{} did not end within {patience:?}:\n{}", self.name, tail(&self.log()?));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// CPU time and memory of the process, from /proc.
    pub fn usage(&self) -> Result<Usage> {
        usage(self.pid())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = self.log().unwrap_or_default();
            println!("--- log of {} ---\n{}\n--- end ---", self.name, tail(&log));
        }
        if matches!(self.try_wait(), Ok(None)) {
            // Nothing is left to report if this fails: the process is already gone.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn usage(pid: u32) -> Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    parse_usage(&stat, &status).with_context(|| format!("cannot read the usage of process {pid}"))
}

/// Reads fields 14 and 15 of `stat` (clock ticks of 10 ms) and `VmRSS` of `status`.
fn parse_usage(stat: &str, status: &str) -> Option<Usage> {
    // The second field is a name in brackets that may itself hold spaces and brackets.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(Usage { cpu_us: ticks * 10_000, resident_bytes: kilobytes * 1024 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_past_a_name_with_brackets() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 1 2 3";
        let usage = parse_usage(stat, "Name:\tx\nVmRSS:\t    2048 kB\n").unwrap();
        assert_eq!(usage, Usage { cpu_us: 2_000_000, resident_bytes: 2048 * 1024 });
    }
}
