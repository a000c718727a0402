//! Runs a client program to its end under a time limit and keeps what it printed.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// A client program gives up after this long: no test may hang.
const PATIENCE: Duration = Duration::from_secs(240);

/// What a program left behind when it ended.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Everything it wrote to standard output.
    pub stdout: Vec<u8>,
    /// Everything it wrote to standard error.
    pub stderr: Vec<u8>,
    command: String,
}

impl Output {
    /// Standard output as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn complaints(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// This output if the program succeeded, else an error that quotes what it said.
    pub fn success(self) -> Result<Output> {
        ensure!(
            self.status.success(),
            "{} ended with {}\n{}\n{}",
            self.command,
            self.status,
            tail(&self.text()),
            tail(&self.complaints())
        );
        Ok(self)
    }
}

/// Runs `program` with `arguments`, with nothing on its standard input.
pub fn tool<I, S>(program: &str, arguments: I) -> Result<Output>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    tool_with_input(program, arguments, Vec::new())
}

/// As [`tool`], for a program that may take as long as `patience`.
pub fn tool_within<I, S>(patience: Duration, program: &str, arguments: I) -> Result<Output>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    run(patience, program, arguments, Vec::new())
}

/// Runs `program` with `arguments` and `input` on its standard input.
pub fn tool_with_input<I, S>(program: &str, arguments: I, input: Vec<u8>) -> Result<Output>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    run(PATIENCE, program, arguments, input)
}

/// A file or folder of the cache that `script` fetches. If it is not there, a word is printed that a test was not run.
pub fn fetched(name: &str, script: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
    let path = cache.join("cohort").join(name);
    if !path.exists() {
        println!("NOT RUN: {} is not there; {script} fetches it", path.display());
        return None;
    }
    Some(path)
}

fn run<I, S>(patience: Duration, program: &str, arguments: I, input: Vec<u8>) -> Result<Output>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let mut child = command.spawn().with_context(|| format!("cannot run {shown}"))?;

    let mut stdin = child.stdin.take().context("no standard input")?;
    let mut stdout = child.stdout.take().context("no standard output")?;
    let mut stderr = child.stderr.take().context("no standard error")?;
    // A program may end without reading all its input: that is no failure of this run.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let out = thread::spawn(move || collect(&mut stdout));
    let err = thread::spawn(move || collect(&mut stderr));

    let deadline = Instant::now() + patience;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill()?;
                child.wait()?;
                bail!("{shown} did not end within {patience:?}");
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let joined = "a thread that only copies bytes does not panic";
    writer.join().expect(joined);
    let (stdout, stderr) = (out.join().expect(joined)?, err.join().expect(joined)?);
    Ok(Output { status, stdout, stderr, command: shown })
}

fn collect(source: &mut impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last 4000 characters or so: what a failure message can carry.
pub(crate) fn tail(text: &str) -> &str {
    let start = text.len().saturating_sub(4000);
    let start = (start..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    &text[start..]
}
