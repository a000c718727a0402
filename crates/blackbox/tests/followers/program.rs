//! Programs that follow a server and write its changes down.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::judge::History;
use crate::load::END;

/// A process that is started again whenever it ends, and killed with everything that it has started.
pub struct Kept {
    command: Vec<String>,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    child: Option<Child>,
}

impl Kept {
    pub fn start(folder: PathBuf, environment: &[(&str, &str)], command: &[&str]) -> Result<Kept> {
        fs::create_dir_all(&folder)?;
        let owned = |text: &&str| (*text).to_owned();
        let environment = environment.iter().map(|(name, value)| (owned(name), owned(value))).collect();
        let mut kept = Kept { command: command.iter().map(owned).collect(), environment, folder, child: None };
        kept.start_again()?;
        Ok(kept)
    }

    fn start_again(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = Command::new("sh");
        command.args(["-c", r#"while :; do "$@"; sleep 0.3; done"#, "sh"]).args(&self.command);
        command.envs(self.environment.iter().cloned()).current_dir(&self.folder).process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn().with_context(|| format!("cannot run {command:?}"))?);
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            kill_process_group(Pid::from_raw(child.id() as i32).context("process id 0")?, Signal::KILL)?;
            child.wait()?;
        }
        Ok(())
    }

    /// As `kill -9` does, and starts it again.
    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.kill()?;
        self.start_again()
    }

    /// The end of what it has printed.
    fn said(&self) -> String {
        let log = String::from_utf8_lossy(&fs::read(self.log()).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A program, or several, whose changes arrive in one file.
pub struct Program {
    pub name: &'static str,
    /// The last one writes `changes` in its folder.
    pub parts: Vec<Kept>,
    /// Columns of `all_types` that it decodes otherwise.
    pub unjudged: &'static [&'static str],
    /// It keeps the order within each table.
    pub by_table: bool,
    /// Whether it goes on from what it has, wherever it is killed.
    pub settled: Box<dyn Fn() -> Result<bool>>,
    /// How much it had written when a part was last killed.
    pub killed_at: u64,
}

impl Program {
    /// One that decodes everything, keeps the order of all changes and begins in the binlog.
    pub fn new(name: &'static str, parts: Vec<Kept>) -> Program {
        Program { name, parts, unjudged: &[], by_table: false, settled: Box::new(|| Ok(true)), killed_at: 0 }
    }

    fn changes(&self) -> PathBuf {
        self.parts.last().expect("a program has parts").folder.join("changes")
    }

    fn written(&self) -> u64 {
        fs::metadata(self.changes()).map_or(0, |file| file.len())
    }

    /// Waits until it has written a change that is not of a snapshot, and would go on there.
    pub fn wait_until_live(&self) -> Result<()> {
        let streams = |text: &str| text.lines().any(|line| line.contains("\t+\t"));
        self.wait("does not begin", || fs::read_to_string(self.changes()).is_ok_and(|text| streams(&text)))?;
        self.wait("does not keep its place", || (self.settled)().unwrap_or(false))
    }

    /// Waits until it has written something since a part was last killed.
    pub fn wait_until_gone_on(&self) -> Result<()> {
        self.wait("does not go on", || self.written() > self.killed_at)
    }

    /// Kills one part.
    pub fn kill_and_restart(&mut self, part: usize) -> Result<()> {
        self.killed_at = self.written();
        self.parts[part].kill_and_restart()
    }

    fn wait(&self, otherwise: &str, condition: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(300);
        while !condition() {
            ensure!(Instant::now() < deadline, "{} {otherwise}:\n{}", self.name, self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Waits until it has come to the end, and judges what it wrote.
    pub fn judge(&self, history: &History) -> Result<()> {
        let end = format!("\t+\tfollow.begun\t{END}\t");
        let (deadline, mut size, mut grown) = (Instant::now() + Duration::from_secs(900), 0, Instant::now());
        loop {
            let written = self.written();
            if written != size {
                (size, grown) = (written, Instant::now());
            }
            // What follows the end is of other tables, or comes again.
            if grown.elapsed() > Duration::from_millis(600) && written > 0 {
                let text = String::from_utf8_lossy(&fs::read(self.changes())?).into_owned();
                if text.contains(&end) {
                    match history.judge(&text, self.unjudged, self.by_table) {
                        Ok(()) => return Ok(()),
                        Err(error) if !self.by_table || grown.elapsed() > Duration::from_secs(60) => {
                            return Err(error.context(format!("{}\n{}", self.name, self.said())));
                        }
                        // Other topics are on their way.
                        Err(_) => {}
                    }
                }
            }
            if Instant::now() > deadline || grown.elapsed() > Duration::from_secs(300) {
                bail!("{} does not come to the end, {size} bytes are there:\n{}", self.name, self.said());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn said(&self) -> String {
        self.parts.iter().map(Kept::said).collect::<Vec<_>>().join("\n--\n")
    }
}
