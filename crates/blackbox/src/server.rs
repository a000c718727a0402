//! The `cohort` binary as a process on a data directory.

use std::env;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row};
use rustix::process::Signal;

use crate::process::{Process, Usage, free_port};
use crate::strace;

/// Starting includes recovery, and a debug build on a busy machine is slow at it.
const START_PATIENCE: Duration = Duration::from_secs(90);
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// How to start a server: a data directory and options.
#[derive(Debug, Clone)]
pub struct Launch {
    datadir: PathBuf,
    /// What log and socket are named after.
    beside: PathBuf,
    options: Vec<String>,
    trace: Option<PathBuf>,
    messages: Option<Arc<OwnedFd>>,
    root_needs_password: bool,
    environment: Vec<(String, OsString)>,
    program: Option<PathBuf>,
    port: Option<u16>,
}

/// A running `cohort serve`. Dropping it kills it at once, as `kill -9` does, and panics if it has panicked or had
/// ended by itself: a test where it may end by itself asks [`Server::ended`] before.
#[derive(Debug)]
pub struct Server {
    process: Process,
    port: u16,
    launch: Launch,
}

/// A start that ended by itself.
#[derive(Debug)]
pub struct Refusal {
    /// How the process ended.
    pub status: ExitStatus,
    /// What it printed.
    pub log: String,
}

impl Launch {
    /// A server on `datadir`, which is created when it is missing.
    pub fn new(datadir: impl Into<PathBuf>) -> Launch {
        let datadir = datadir.into();
        Launch {
            beside: datadir.clone(),
            datadir,
            options: Vec::new(),
            trace: None,
            messages: None,
            root_needs_password: false,
            environment: Vec::new(),
            program: None,
            port: None,
        }
    }

    /// Names log and socket after `path` instead of the data directory, whose file system may fail.
    pub fn beside(mut self, path: impl Into<PathBuf>) -> Launch {
        self.beside = path.into();
        self
    }

    /// Adds an option such as `--sync_binlog=0`.
    pub fn option(mut self, option: impl Into<String>) -> Launch {
        self.options.push(option.into());
        self
    }

    /// Has `protocol` commit; one that has no binlog does without.
    pub fn protocol(self, protocol: CommitProtocol) -> Launch {
        let launch = self.option(format!("--commit-protocol={}", protocol.name()));
        let shown = protocol.to_string();
        let settings = shown.split(' ').skip(1);
        let launch = settings.fold(launch, |launch, setting| launch.option(format!("--{setting}")));
        if protocol.has_binlog() { launch } else { launch.option("--skip-log-bin") }
    }

    /// Lets root in over TCP with a password only, as servers do that are not for tests.
    pub fn root_needs_password(mut self) -> Launch {
        self.root_needs_password = true;
        self
    }

    /// Runs the server under `strace`, which writes its syncing system calls to `file`: see
    /// [`crate::strace`].
    pub fn traced(mut self, file: impl Into<PathBuf>) -> Launch {
        self.trace = Some(file.into());
        self
    }

    /// Runs this program with the server's arguments in place of the server, which it may become.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Launch {
        self.program = Some(program.into());
        self
    }

    /// Listens on this port in each of its lives; otherwise on another one each time.
    pub fn port(mut self, port: u16) -> Launch {
        self.port = Some(port);
        self
    }

    /// Sets a variable of the server's environment.
    pub fn environment(mut self, name: &str, value: impl Into<OsString>) -> Launch {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Gives the server this for its standard error, in place of its log.
    pub fn messages(mut self, fd: OwnedFd) -> Launch {
        self.messages = Some(Arc::new(fd));
        self
    }

    /// The data directory.
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// The Unix socket of the server.
    pub fn socket(&self) -> PathBuf {
        self.beside.with_extension("sock")
    }

    /// The file that takes what the server prints. It stands beside the data directory.
    pub fn log_file(&self) -> PathBuf {
        self.beside.with_extension("log")
    }

    /// Starts the server and waits until it answers. The error quotes its log.
    pub fn start(&self) -> Result<Server> {
        let mut server = self.spawn()?;
        let opts = if self.root_needs_password { server.socket_options() } else { server.options() };
        server.process.wait_until(START_PATIENCE, || {
            Conn::new(opts.clone())?.query_drop("SELECT 1")?;
            Ok(())
        })?;
        Ok(server)
    }

    /// Starts the server without waiting for anything: it may be killed while it recovers.
    pub fn spawn(&self) -> Result<Server> {
        let port = self.port.map_or_else(free_port, Ok)?;
        let mut command = self.command(port)?;
        let messages = self.messages.as_ref().map(|fd| fd.try_clone()).transpose()?;
        let process = Process::start("cohort", &mut command, &self.log_file(), messages)?;
        Ok(Server { process, port, launch: self.clone() })
    }

    /// Starts the server where it must not come up. An error if it does come up.
    pub fn start_refused(&self) -> Result<Refusal> {
        let before = std::fs::read_to_string(self.log_file()).unwrap_or_default().len();
        let mut server = self.spawn()?;
        let status = server.process.wait(START_PATIENCE).context("it should have refused")?;
        let log = server.process.log()?.get(before..).unwrap_or_default().to_owned();
        ensure!(!status.success(), "the server ended as if all were well:\n{log}");
        Ok(Refusal { status, log })
    }

    fn command(&self, port: u16) -> Result<Command> {
        let binary = match &self.program {
            Some(program) => program,
            None => binary()?,
        };
        let mut command = match &self.trace {
            Some(file) => strace::traced(binary, file),
            None => Command::new(binary),
        };
        command.arg("serve");
        // --defaults-file must stand first, as with mysqld; so the caller's options come first.
        command.args(&self.options);
        command.arg(format!("--datadir={}", self.datadir.display()));
        command.arg(format!("--port={port}")).arg("--bind-address=127.0.0.1");
        command.arg(format!("--socket={}", self.socket().display()));
        if !self.root_needs_password {
            command.arg("--insecure-root-on-loopback");
        }
        command.env("RUST_BACKTRACE", "1").envs(self.environment.iter().cloned());
        Ok(command)
    }
}

impl Server {
    /// The TCP port it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket it listens on.
    pub fn socket(&self) -> PathBuf {
        self.launch.socket()
    }

    /// The data directory.
    pub fn datadir(&self) -> &Path {
        self.launch.datadir()
    }

    /// How it was started.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Everything it has printed in all its lives on this data directory.
    pub fn log(&self) -> Result<String> {
        self.process.log()
    }

    /// CPU time and memory it has used.
    pub fn usage(&self) -> Result<Usage> {
        self.process.usage()
    }

    /// Connection options of `root` over TCP.
    pub fn options(&self) -> Opts {
        self.options_as("root", "")
    }

    /// Connection options of `root` over the Unix socket.
    pub fn socket_options(&self) -> Opts {
        OptsBuilder::new().socket(Some(self.socket().display().to_string())).user(Some("root")).into()
    }

    /// Connection options of some account over TCP.
    pub fn options_as(&self, user: &str, password: &str) -> Opts {
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .prefer_socket(false)
            .user(Some(user))
            .pass((!password.is_empty()).then_some(password))
            .tcp_connect_timeout(Some(Duration::from_secs(10)))
            .into()
    }

    /// A connection of `root`.
    pub fn connect(&self) -> Result<Conn> {
        Ok(Conn::new(self.options())?)
    }

    /// A connection of `root` with `database` as its default.
    pub fn connect_to(&self, database: &str) -> Result<Conn> {
        let mut conn = self.connect()?;
        conn.query_drop(format!("USE `{database}`"))?;
        Ok(conn)
    }

    /// Ends the process with SIGKILL and starts it again on the same data directory.
    pub fn kill_and_restart(self) -> Result<Server> {
        self.kill()?.start()
    }

    /// Ends the process with SIGKILL. An error if it has ended by itself.
    pub fn kill(mut self) -> Result<Launch> {
        self.signal_kill()?;
        self.wait_until_dead()?;
        Ok(self.launch.clone())
    }

    /// Ends the process with SIGTERM and checks that it says all went well.
    pub fn stop(mut self) -> Result<Launch> {
        self.process.signal(Signal::TERM)?;
        let status = self.process.wait(STOP_PATIENCE)?;
        if !status.success() {
            bail!("a clean stop ended with {status}:\n{}", self.process.log()?);
        }
        Ok(self.launch.clone())
    }

    /// How it ended, if it did without being asked.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    /// Sends SIGKILL and does not wait: other threads may be talking to it. An error if it has ended by itself.
    pub fn signal_kill(&mut self) -> Result<()> {
        self.process.signal(Signal::KILL)
    }

    /// Waits until SIGKILL has ended it. An error if something else has.
    pub fn wait_until_dead(&mut self) -> Result<()> {
        let status = self.process.wait(STOP_PATIENCE)?;
        ensure!(status.signal() == Some(Signal::KILL.as_raw()), "it ended with {status}:\n{}", self.process.log()?);
        Ok(())
    }
}

/// What a server prints when a thread of it has panicked.
const PANICS: [&str; 3] = ["panicked at", "ended by a defect of the server", "the commit path panicked"];

impl Drop for Server {
    fn drop(&mut self) {
        // Two panics at once would hide the first.
        if thread::panicking() {
            return;
        }
        let ended = self.process.ended_unseen().expect("a child can be asked for its status");
        let log = self.process.log().expect("its log can be read");
        assert!(!PANICS.iter().any(|panic| log.contains(panic)), "the server panicked:\n{log}");
        assert!(ended.is_none(), "the server had ended by itself, {ended:?}:\n{log}");
    }
}

/// The server binary: `COHORT_BIN`, or the one cargo builds in the profile of this very code.
///
/// It is built once in a process, because cargo does not build another package's binary for a
/// test, and a stale one would be tested in silence.
pub fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = BINARY.get_or_init(|| match env::var_os("COHORT_BIN") {
        Some(path) => Ok(PathBuf::from(path)),
        None => build().map_err(|error| format!("{error:#}")),
    });
    match found {
        Ok(path) => Ok(path),
        Err(reason) => bail!("no server binary: {reason}"),
    }
}

fn build() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "cohort-server", "--bin", "cohort"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");

    // This code runs from target/<profile>/deps/<test> or target/<profile>/<program>.
    let here = env::current_exe()?;
    let candidates = here.ancestors().skip(1).take(2).map(|folder| folder.join("cohort"));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("no cohort binary near {}", here.display()))
}

/// File and position of the end of the binlog.
pub fn binlog_end(conn: &mut Conn) -> Result<(String, u64)> {
    let row: Row = conn.query_first("SHOW MASTER STATUS")?.context("no binlog")?;
    Ok((row.get(0).context("no file")?, row.get(1).context("no position")?))
}
