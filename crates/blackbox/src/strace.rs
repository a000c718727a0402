//! Counts the syncs a server asked the kernel for, from what `strace -f` wrote about it.
//!
//! A sync is a call after which data is on the device: `fsync`, `fdatasync`, `msync(MS_SYNC)`, or
//! a write to a file that was opened with `O_DSYNC` or `O_SYNC`, or with `RWF_DSYNC`/`RWF_SYNC`.
//! The tracer runs as the server's grandchild (`-D`), so the server stays the process that was
//! started and signals reach it; a seccomp filter keeps all other calls at full speed.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const CALLS: &str = "trace=openat,open,creat,close,dup,dup2,dup3,fcntl,fsync,fdatasync,msync,\
                     sync_file_range,write,writev,pwrite64,pwritev,pwritev2";

/// One sync: when it began and ended, and the file as the kernel named it then.
#[derive(Debug, Clone, PartialEq)]
pub struct Sync {
    /// Seconds since the epoch.
    pub begun: f64,
    /// Seconds since the epoch.
    pub ended: f64,
    /// Path of the file, empty where the call names none.
    pub path: String,
    /// Whether it was a write that syncs by itself.
    pub is_write: bool,
}

/// A command that runs `binary` traced into `file`.
pub(crate) fn traced(binary: &Path, file: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-D", "-q", "-f", "-y", "-s", "0", "-ttt", "-T", "--seccomp-bpf", "-e", CALLS]);
    command.arg("-o").arg(file).arg("--").arg(binary);
    command
}

/// Reads the trace of a server that has ended, waiting until the tracer has written all of it.
pub fn read(file: &Path, pid: u32) -> Result<Vec<Sync>> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let last_words = format!("{pid} ");
    loop {
        let text = fs::read_to_string(file).with_context(|| format!("no {}", file.display()))?;
        let mut lines = text.lines().rev();
        let ended = lines.any(|line| line.starts_with(&last_words) && line.contains("+++ "));
        if ended {
            return parse(&text);
        }
        if Instant::now() > deadline {
            bail!("{} does not say how the server ended", file.display());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The syncs in the text of a trace, oldest first.
///
/// # Errors
/// If a line is not understood: a count that leaves something out would prove nothing.
pub fn parse(text: &str) -> Result<Vec<Sync>> {
    let mut syncing: HashMap<u32, bool> = HashMap::new();
    let mut unfinished: HashMap<&str, (&str, &str)> = HashMap::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let (pid, rest) = line.split_once(' ').context("a line without a process id")?;
        let (mut begun, call) = rest.trim_start().split_once(' ').context("a line without a time")?;
        if call.starts_with("+++") || call.starts_with("---") {
            continue;
        }
        let whole = if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(pid, (begun, start));
            continue;
        } else if let Some(rest) = call.strip_prefix("<... ") {
            let (_, end) = rest.split_once(" resumed>").context("a resumed call without its end")?;
            let Some((at, start)) = unfinished.remove(pid) else {
                continue;
            };
            begun = at;
            [start, end].concat()
        } else {
            call.to_owned()
        };
        let begun: f64 = begun.parse().with_context(|| format!("no time in: {line}"))?;
        let understood = note(&whole, begun, &mut syncing, &mut found);
        understood.with_context(|| format!("not understood: {line}"))?;
    }
    Ok(found)
}

/// Follows one finished call; `None` if it does not read like one.
fn note(call: &str, begun: f64, syncing: &mut HashMap<u32, bool>, found: &mut Vec<Sync>) -> Option<()> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') || result.starts_with('?') {
        return Some(());
    }
    // How long it took stands at the end: `0 <0.000123>`.
    let (result, took) = result.strip_suffix('>')?.rsplit_once(" <")?;
    let ended = begun + took.parse::<f64>().ok()?;
    let first = arguments.split([',', ')']).next()?;
    let (fd, path) = descriptor(first);
    let synced = |is_write| Sync { begun, ended, path: path.to_owned(), is_write };
    match name {
        "openat" | "open" | "creat" => {
            let (fd, _) = descriptor(result);
            let syncs = arguments.contains("O_DSYNC") || arguments.contains("O_SYNC");
            syncing.insert(fd?, syncs);
        }
        "dup" | "dup2" | "dup3" | "fcntl" => {
            if name != "fcntl" || arguments.contains("F_DUPFD") {
                let syncs = syncing.get(&fd?).copied().unwrap_or(false);
                syncing.insert(descriptor(result).0?, syncs);
            }
        }
        "close" => drop(syncing.remove(&fd?)),
        "fsync" | "fdatasync" => found.push(synced(false)),
        "msync" if arguments.contains("MS_SYNC") => found.push(synced(false)),
        "msync" | "sync_file_range" => {}
        "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" => {
            let by_flag = arguments.contains("RWF_DSYNC") || arguments.contains("RWF_SYNC");
            if by_flag || syncing.get(&fd?).copied().unwrap_or(false) {
                found.push(synced(true));
            }
        }
        _ => return None,
    }
    Some(())
}

/// Splits `7</path>` into number and path.
fn descriptor(text: &str) -> (Option<u32>, &str) {
    let (number, path) = text.split_once('<').unwrap_or((text, ""));
    (number.trim().parse().ok(), path.trim_end_matches('>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"9 1700000000.000001 openat(AT_FDCWD</>, ""..., O_RDWR|O_DSYNC|O_DIRECT) = 7</d/j.1> <0.010000>
9 1700000000.000002 openat(AT_FDCWD</>, ""..., O_RDWR) = 8</d/b> <0.010000>
9 1700000000.100000 pwrite64(7</d/j.1>, ""..., 4096, 0) = 4096 <0.010000>
9 1700000000.200000 pwrite64(8</d/b>, ""..., 10, 0) = 10 <0.010000>
9 1700000000.300000 pwritev2(7</d/j.2>,  <unfinished ...>
10 1700000000.310000 fdatasync(8</d/b>) = 0 <0.010000>
9 1700000000.320000 <... pwritev2 resumed>[{iov_base=""..., iov_len=4096}], 1, 0, 0) = 4096 <0.020000>
9 1700000000.400000 fsync(99) = -1 EBADF (Bad file descriptor) <0.010000>
9 1700000000.500000 close(7</d/j.2>) = 0 <0.010000>
9 1700000000.600000 openat(AT_FDCWD</>, ""..., O_RDONLY) = 7</d/x> <0.010000>
9 1700000000.700000 write(7</d/x>, ""..., 1) = 1 <0.010000>
9 1700000000.800000 pwritev2(8</d/b>, [], 1, 0, RWF_DSYNC) = 1 <0.010000>
9 1700000000.900000 +++ killed by SIGKILL +++
"#;

    #[test]
    fn writes_count_where_the_descriptor_or_the_call_syncs() {
        let syncs = parse(TRACE).unwrap();
        let seen: Vec<_> = syncs.iter().map(|sync| (sync.path.as_str(), sync.is_write)).collect();
        let expected = [("/d/j.1", true), ("/d/b", false), ("/d/j.2", true), ("/d/b", true)];
        assert_eq!(seen, expected);
        let resumed = &syncs[2];
        assert_eq!((resumed.begun, resumed.ended), (1_700_000_000.3, 1_700_000_000.3 + 0.02));
    }

    #[test]
    fn an_unknown_line_is_an_error() {
        assert!(parse("9 1700000000.1 mystery(1) = 0\n").is_err());
    }
}
