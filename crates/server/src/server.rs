//! The running server: what all sessions share, its listeners, its end.
//!
//! Outline: [`Server::listen_tcp`] and [`Server::listen_unix`] start a thread per listening socket; each
//! accepted connection is admitted in [turn](Arrivals) or refused, logs in on a thread of its own (`session::run`) and is
//! then served by the [`Pool`]. [`Server::stop`] ends it all.
//!
//! Concurrency: listener threads never wait for a client. `stop` waits for sessions, sessions for
//! their commits, commits for the log writers, which `Store::close` ends last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cohort_io::FileSystem;
use cohort_io::sync::Mutex;
use cohort_sql::ast::AdminCommand;
use cohort_sql::error::{
    ER_CANT_CREATE_THREAD, ER_CON_COUNT_ERROR, ER_DA_SSL_LIBRARY_ERROR, ER_ERROR_ON_READ, ER_HOST_IS_BLOCKED,
    ER_WARN_PURGE_LOG_IN_USE,
};
use cohort_sql::memory::ServerMemory;
use cohort_sql::session::{ServerReadOnly, SessionState};
use cohort_sql::spill::TemporaryFiles;
use cohort_sql::types::Charset;
use cohort_sql::{Database, SqlError};
use cohort_txn::Store;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::accounts::Accounts;
use crate::arrivals::{Arrivals, Turn};
use crate::audit::Audit;
use crate::hosts::Hosts;
use crate::machine_memory;
use crate::operator_log;
use crate::pool::{Pool, PoolOptions};
use crate::processlist::{LoginPlaces, Process, ProcessList};
use crate::protocol::packet::PacketBuffer;
use crate::protocol::reply::encode_error;
use crate::replicas::Replicas;
use crate::session::errors::commit_error;
use crate::session::password_key::PasswordKey;
use crate::session::variables::{apply_ack_options, apply_read_only};
use crate::session::{self, Admitted};
use crate::socket::Socket;
use crate::statistics;
use crate::status::{Counters, count, uncount};
use crate::sysvars::{Globals, ids};
use crate::tls::Tls;

/// How long sessions may take to end before the server ends without them.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often old binlog files are looked for.
const EXPIRY_EVERY: Duration = Duration::from_secs(60);

/// A thread that ends with the sender.
type Background = Mutex<Option<(Sender<()>, JoinHandle<()>)>>;

/// Why the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// SIGTERM or SIGINT.
    Signal,
    /// The statement SHUTDOWN.
    Statement,
}

/// What all sessions share.
pub struct Server {
    /// Catalog, plans and the store.
    pub database: Arc<Database>,
    /// Global system variables.
    pub globals: Globals,
    /// Status counters.
    pub counters: Arc<Counters>,
    /// Who is connected.
    pub processes: Arc<ProcessList>,
    /// Who serves them.
    pub pool: Arc<Pool>,
    /// Which of them read the binlog.
    pub replicas: Replicas,
    /// Whether anybody may change something.
    pub read_only: Arc<ServerReadOnly>,
    /// Who may connect.
    pub accounts: Accounts,
    /// Who tried in vain.
    pub hosts: Hosts,
    /// What connections are encrypted with.
    pub tls: Tls,
    /// Who did what.
    pub audit: Audit,
    /// What all sessions hold in memory.
    pub memory: Arc<ServerMemory>,
    /// Where what is more than memory is for goes.
    pub temporary_files: Arc<TemporaryFiles>,
    password_key: OnceLock<Option<PasswordKey>>,
    stopping: AtomicBool,
    stop: Mutex<Sender<StopReason>>,
    listeners: Mutex<Vec<(Listener, JoinHandle<()>)>>,
    /// Removes old binlog files.
    expiry: Background,
    /// Keeps statistics up to date.
    statistics: Background,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Server")
    }
}

/// A listening socket.
enum Listener {
    Tcp(Arc<TcpListener>),
    Unix(Arc<UnixListener>, PathBuf),
}

impl Server {
    /// A server that does not listen yet. `stop` gets a message when a client asks for the end.
    /// Fails when its threads cannot be started.
    pub fn new(
        database: Arc<Database>,
        globals: Globals,
        accounts: Accounts,
        tls: Tls,
        audit: Audit,
        stop: Sender<StopReason>,
    ) -> io::Result<Arc<Server>> {
        let (counters, processes) = (Arc::<Counters>::default(), Arc::<ProcessList>::default());
        let pool = Pool::start(pool_options(&globals), processes.clone(), counters.clone())?;
        let memory = Arc::<ServerMemory>::default();
        let temporary_files = Arc::new(temporary_files(&globals)?);
        apply_ack_options(database.store().binlog().acks(), &globals);
        settle_memory_limits(&globals);
        memory.limit.store(globals.get(ids::GLOBAL_CONNECTION_MEMORY_LIMIT), Ordering::Relaxed);
        let read_only = Arc::<ServerReadOnly>::default();
        apply_read_only(&read_only, &globals);
        Ok(Arc::new(Server {
            database,
            globals,
            counters,
            processes,
            pool,
            replicas: Replicas::default(),
            read_only,
            accounts,
            hosts: Hosts::default(),
            tls,
            audit,
            memory,
            temporary_files,
            password_key: OnceLock::new(),
            stopping: AtomicBool::new(false),
            stop: Mutex::new(stop),
            listeners: Mutex::default(),
            expiry: Mutex::default(),
            statistics: Mutex::default(),
        }))
    }

    /// The store below the database.
    pub fn store(&self) -> &Store {
        self.database.store()
    }

    /// Accepts connections of `listener` from now on; says at which address.
    pub fn listen_tcp(self: &Arc<Self>, listener: TcpListener) -> io::Result<SocketAddr> {
        let address = listener.local_addr()?;
        rustix::net::listen(&listener, self.globals.get(ids::BACK_LOG) as i32)?;
        listener.set_nonblocking(true)?;
        let listener = Arc::new(listener);
        let (server, accepting) = (self.clone(), listener.clone());
        let thread = std::thread::Builder::new().name("accept-tcp".to_owned()).spawn(move || {
            server.accept_all(&accepting, || Ok(Socket::from_tcp(accepting.accept()?.0).ok()));
        })?;
        self.listeners.lock().push((Listener::Tcp(listener), thread));
        Ok(address)
    }

    /// Accepts connections of the Unix socket at `path` from now on.
    pub fn listen_unix(self: &Arc<Self>, listener: UnixListener, path: &Path) -> io::Result<()> {
        rustix::net::listen(&listener, self.globals.get(ids::BACK_LOG) as i32)?;
        listener.set_nonblocking(true)?;
        let listener = Arc::new(listener);
        let (server, accepting) = (self.clone(), listener.clone());
        let thread = std::thread::Builder::new().name("accept-unix".to_owned()).spawn(move || {
            server.accept_all(&accepting, || Ok(Some(Socket::from_unix(accepting.accept()?.0))));
        })?;
        self.listeners.lock().push((Listener::Unix(listener, path.to_owned()), thread));
        Ok(())
    }

    /// Takes in what has arrived before it admits the next one, so that every host has its turn. `accept` gives `None`
    /// for a connection that its client has reset.
    fn accept_all(self: &Arc<Self>, listener: &impl AsFd, accept: impl Fn() -> io::Result<Option<Socket>>) {
        let mut arrivals = Arrivals::default();
        while !self.stopping.load(Ordering::SeqCst) {
            let accepted = accept();
            // Whatever goes wrong with one connection, the next ones find a listener.
            let done = catch_unwind(AssertUnwindSafe(|| match accepted {
                Ok(None) => {
                    count(&self.counters.connections);
                    count(&self.counters.aborted_connects);
                }
                Ok(Some(socket)) => {
                    let is_known = self.hosts.is_known(socket.peer());
                    if let Some(displaced) = arrivals.push(socket, is_known) {
                        self.refuse_newcomer(&displaced);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                    count(&self.counters.aborted_connects);
                }
                Err(error) => match arrivals.pop(Instant::now()) {
                    Turn::Admit(socket) => self.admit(Arc::new(socket)),
                    Turn::Wait(time) => wait_for_arrivals(listener, Some(time)),
                    Turn::Empty if error.kind() == io::ErrorKind::WouldBlock => wait_for_arrivals(listener, None),
                    Turn::Empty if self.stopping.load(Ordering::SeqCst) => {}
                    Turn::Empty => {
                        // Out of file descriptors or memory, most likely.
                        log::warn!("a connection could not be accepted: {error}");
                        std::thread::sleep(Duration::from_millis(20));
                    }
                },
            }));
            if done.is_err() {
                count(&self.counters.panics);
                log::error!("a connection was lost to a defect of the server before its login");
            }
        }
    }

    fn refuse_newcomer(&self, socket: &Socket) {
        count(&self.counters.connections);
        count(&self.counters.refused_max_connections);
        refuse(socket, &SqlError::new(ER_CON_COUNT_ERROR, &[]));
    }

    /// Gives a connection a thread to log in on, or sends it the reason why not.
    fn admit(self: &Arc<Self>, socket: Arc<Socket>) {
        count(&self.counters.connections);
        if self.hosts.is_blocked(socket.peer(), &self.globals) {
            count(&self.counters.aborted_connects);
            return refuse(&socket, &SqlError::new(ER_HOST_IS_BLOCKED, &[&socket.peer().host()]));
        }
        let mut state = SessionState::of(self.memory.clone());
        state.server_read_only = self.read_only.clone();
        state.temporary_files = self.temporary_files.clone();
        // In a flood most are: a thread for each would take more time than all that is before it.
        if socket.is_gone() {
            count(&self.counters.aborted_connects);
            return self.hosts.count_broken_off(socket.peer(), &self.globals);
        }
        // Whether there is a place among `max_connections` shows when it has logged in.
        let places = LoginPlaces {
            all: self.globals.get(ids::MAX_UNAUTHENTICATED_CONNECTIONS) as usize,
            per_host: self.globals.get(ids::MAX_UNAUTHENTICATED_CONNECTIONS_PER_HOST) as usize,
        };
        let Some(process) = self.processes.join(socket.clone(), state.interrupt(), places) else {
            count(&self.counters.refused_max_connections);
            return refuse(&socket, &SqlError::new(ER_CON_COUNT_ERROR, &[]));
        };
        count(&self.counters.threads_connected);
        let connected = self.counters.threads_connected.load(Ordering::Relaxed);
        self.counters.max_used_connections.fetch_max(connected, Ordering::Relaxed);
        let id = process.id;
        let admitted = Admitted { server: self.clone(), socket: socket.clone(), process, state };
        let thread = std::thread::Builder::new()
            .name(format!("login-{id}"))
            .stack_size(self.globals.get(ids::THREAD_STACK) as usize)
            .spawn(move || session::run(admitted));
        if let Err(error) = thread {
            count(&self.counters.internal_errors);
            uncount(&self.counters.threads_connected);
            self.processes.leave(id);
            refuse(&socket, &SqlError::new(ER_CANT_CREATE_THREAD, &[&error]));
        }
    }

    /// Ends listeners and sessions, finishes queued commits and closes the store. An error says what
    /// the next start will have to repair.
    pub fn stop(&self) -> Result<(), String> {
        self.stopping.store(true, Ordering::SeqCst);
        for (listener, thread) in self.listeners.lock().drain(..) {
            listener.close();
            // A panic in a listener has been reported and leaves nothing behind.
            let _ = thread.join();
        }
        self.end_sessions();
        if !self.processes.wait_until_at_most(0, Instant::now() + PATIENCE) {
            for process in self.processes.list() {
                log::warn!("{process:?} does not end");
            }
        }
        self.pool.stop();
        for (running, thread) in [&self.expiry, &self.statistics].into_iter().filter_map(|of| of.lock().take()) {
            drop(running);
            // A panic there has been reported.
            let _ = thread.join();
        }
        self.store().close()
    }

    /// Kills all sessions; readers of the binlog last, for others may wait until one has acknowledged a commit.
    fn end_sessions(&self) {
        let dumps = self.replicas.dumps();
        let (readers, others): (Vec<_>, Vec<_>) =
            self.processes.list().into_iter().partition(|process| dumps.contains(&process.id));
        let kill = |process: &Arc<Process>| process.kill(cohort_sql::session::KillTarget::Connection);
        others.iter().for_each(kill);
        if !self.processes.wait_until_at_most(readers.len(), Instant::now() + PATIENCE) {
            self.store().binlog().acks().give_up();
        }
        readers.iter().for_each(kill);
    }

    /// FLUSH, PURGE, SHUTDOWN and so on.
    pub fn administer(&self, command: &AdminCommand) -> Result<(), SqlError> {
        match command {
            AdminCommand::FlushLogs => {
                if let Err(error) = operator_log::reopen() {
                    log::error!("log_error stays the file that it was: {error}");
                }
                if let Err(error) = self.audit.reopen() {
                    log::error!("audit_log_file stays the file that it was: {error}");
                }
                self.store().rotate_binlog().map_err(|error| commit_error(&error))?;
                self.expire_binlog();
                Ok(())
            }
            AdminCommand::FlushPrivileges => {
                self.accounts.usages.unlock_all();
                Ok(())
            }
            AdminCommand::FlushUserResources => {
                self.accounts.usages.forget_hours();
                Ok(())
            }
            AdminCommand::FlushHosts => {
                self.hosts.flush();
                Ok(())
            }
            AdminCommand::FlushStatus | AdminCommand::PurgeBinaryLogsTo(_) | AdminCommand::PurgeBinaryLogsBefore(_) => {
                Err(SqlError::internal("it is the session's"))
            }
            AdminCommand::ResetBinaryLogs => self.reset_binlog(),
            AdminCommand::ReloadTls => self.reload_tls(),
            AdminCommand::Shutdown => {
                // Nobody listening means that the server is already stopping.
                let _ = self.stop.lock().send(StopReason::Statement);
                Ok(())
            }
        }
    }

    fn reload_tls(&self) -> Result<(), SqlError> {
        self.tls.reload(&self.globals).map_err(|error| {
            log::error!("TLS stays as it is: {error}");
            SqlError::new(ER_DA_SSL_LIBRARY_ERROR, &[&error])
        })?;
        log::info!("certificate and key were read again");
        Ok(())
    }

    /// Removes the binlog files before this one. Warning 1867 if some of them stay, since they are read.
    pub fn purge_binlog_to(&self, name: &str) -> Result<Option<SqlError>, SqlError> {
        let file = self.store().binlog().list().into_iter().find(|file| file.name == name);
        let file = file.ok_or_else(|| SqlError::new(cohort_sql::error::ER_UNKNOWN_TARGET_BINLOG, &[]))?;
        self.purge_binlog_to_number(file.number)
    }

    /// Removes the binlog files that were written to before a time only, seconds since 1970. Warning 1867 likewise.
    pub fn purge_binlog_before(&self, seconds: i64) -> Result<Option<SqlError>, SqlError> {
        if !self.store().log_bin() {
            return Ok(None);
        }
        let binlog = self.store().binlog();
        let oldest = binlog.list().first().map(|file| file.number);
        let first = binlog.first_file_since(seconds);
        let first = first.map_err(|error| SqlError::new(ER_ERROR_ON_READ, &[&"the binlog", &error]))?;
        match first {
            Some(number) if first > oldest => self.purge_binlog_to_number(number),
            _ => Ok(None),
        }
    }

    /// Removes the binlog files that have reached `binlog_expire_logs_seconds`, and the oldest of more than
    /// `max_binlog_total_size`.
    pub fn expire_binlog(&self) {
        if self.store().is_locked_for_backup() {
            return;
        }
        let age = self.globals.get(ids::BINLOG_EXPIRE_LOGS_SECONDS) as i64;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
        let by_age = if age > 0 { self.purge_binlog_before(now - age) } else { Ok(None) };
        let size = self.globals.get(ids::MAX_BINLOG_TOTAL_SIZE);
        let by_size = if size > 0 { self.purge_binlog_beyond(size) } else { Ok(None) };
        for error in [by_age, by_size].into_iter().filter_map(Result::err) {
            log::warn!("old binlog files are not purged: {}", error.message);
        }
    }

    /// Removes the oldest binlog files until all together have so many bytes at most.
    fn purge_binlog_beyond(&self, bytes: u64) -> Result<Option<SqlError>, SqlError> {
        let files = self.store().binlog().list();
        let mut left = bytes;
        let kept = files.iter().rev().take_while(|file| {
            let fits = file.bytes <= left;
            left = left.saturating_sub(file.bytes);
            fits
        });
        // The current file stays, whatever its size.
        let kept = kept.count().max(1);
        match files.len().checked_sub(kept).and_then(|first| files.get(first)) {
            Some(first) if kept < files.len() => self.purge_binlog_to_number(first.number),
            _ => Ok(None),
        }
    }

    fn purge_binlog_to_number(&self, first: u64) -> Result<Option<SqlError>, SqlError> {
        let binlog = self.store().binlog();
        let to_go: Vec<_> = binlog.list().into_iter().filter(|file| file.number < first).collect();
        let purged = self.store().purge_binlog(first);
        let purged = purged.map_err(|error| SqlError::new(ER_ERROR_ON_READ, &[&"the binlog", &error]))?;
        if let Some(last) = purged.last() {
            log::info!("{} binlog files purged, to {last}", purged.len());
        }
        let left = to_go.get(purged.len()).map(|file| (&file.name, binlog.tail().readers_of(file.number)));
        let read = left.filter(|(_, readers)| *readers > 0);
        Ok(read.map(|(name, readers)| {
            SqlError::new(ER_WARN_PURGE_LOG_IN_USE, &[name, &readers, &purged.len(), &to_go.len()])
        }))
    }

    /// Has old binlog files removed from now on, to the stop.
    pub fn start_expiry(self: &Arc<Self>) -> io::Result<()> {
        let (running, stopped) = mpsc::channel::<()>();
        let server = Arc::downgrade(self);
        let expire = move || {
            loop {
                let Some(server) = server.upgrade() else { return };
                server.expire_binlog();
                drop(server);
                if stopped.recv_timeout(EXPIRY_EVERY) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("binlog-expiry".to_owned()).spawn(expire)?;
        *self.expiry.lock() = Some((running, thread));
        Ok(())
    }

    /// Has statistics kept up to date from now on, to the stop, and in a file (see [`statistics::keep`]).
    pub fn start_statistics(self: &Arc<Self>, fs: Arc<dyn FileSystem>, path: PathBuf) -> io::Result<()> {
        let (running, stopped) = mpsc::channel::<()>();
        let database = self.database.clone();
        let keep = move || statistics::keep(&database, &*fs, &path, &stopped);
        let thread = std::thread::Builder::new().name("statistics".to_owned()).spawn(keep)?;
        *self.statistics.lock() = Some((running, thread));
        Ok(())
    }

    /// The key that passwords are encrypted with on their way; made when it is first asked for.
    pub fn password_key(&self) -> Result<&PasswordKey, &'static str> {
        let key = self.password_key.get_or_init(PasswordKey::generate);
        key.as_ref().ok_or("no RSA key could be made")
    }

    /// The line that COM_STATISTICS answers.
    pub fn statistics(&self) -> String {
        let counters = &self.counters;
        let questions = counters.questions.load(Ordering::Relaxed);
        let uptime = counters.uptime_s();
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {:.3}",
            counters.threads_connected.load(Ordering::Relaxed),
            counters.slow_queries.load(Ordering::Relaxed),
            questions as f64 / uptime.max(1) as f64,
        )
    }
}

/// Temporary files in `tmpdir`; fails if none can be made there.
fn temporary_files(globals: &Globals) -> io::Result<TemporaryFiles> {
    let directory = globals.get(ids::TMPDIR);
    let files = TemporaryFiles::new(directory.clone().into());
    files.check().map_err(|error| io::Error::new(error.kind(), format!("tmpdir {directory}: {error}")))?;
    Ok(files)
}

/// Puts numbers in the place of memory limits that are to follow from the machine's memory.
pub fn settle_memory_limits(globals: &Globals) {
    if globals.get(ids::GLOBAL_CONNECTION_MEMORY_LIMIT) == u64::MAX {
        let limit = (machine_memory::usable_bytes() / 8 * 3).max(64 << 20);
        globals.put(ids::GLOBAL_CONNECTION_MEMORY_LIMIT, limit);
    }
    if globals.get(ids::CONNECTION_MEMORY_LIMIT) == u64::MAX {
        let limit = globals.get(ids::GLOBAL_CONNECTION_MEMORY_LIMIT) / 4 * 3;
        globals.put(ids::CONNECTION_MEMORY_LIMIT, limit);
    }
}

fn pool_options(globals: &Globals) -> PoolOptions {
    let workers = match globals.get(ids::THREAD_POOL_SIZE) as usize {
        // One more than processors: it serves while a cohort's leader waits for the device.
        0 => std::thread::available_parallelism().map_or(1, |processors| processors.get()) + 1,
        workers => workers,
    };
    PoolOptions {
        workers,
        stall_limit: Duration::from_millis(globals.get(ids::THREAD_POOL_STALL_LIMIT)),
        stack_bytes: globals.get(ids::THREAD_STACK) as usize,
    }
}

impl Listener {
    /// Wakes the thread that accepts, with an error.
    fn close(&self) {
        let fd = match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, path) => {
                // A socket file that cannot be removed is replaced by the next start.
                let _ = std::fs::remove_file(path);
                listener.as_fd()
            }
        };
        // On Linux this makes a blocked accept return; nothing else can fail here.
        let _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Both);
    }
}

/// Waits until somebody connects, so long at most. A listener whose server stops has been closed, which wakes it.
fn wait_for_arrivals(listener: &impl AsFd, time: Option<Duration>) {
    let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
    // An error shows again when something is accepted.
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], time.as_ref());
}

/// Sends a client the reason why it is not served, without waiting for it.
fn refuse(socket: &Socket, error: &SqlError) {
    let mut out = PacketBuffer::default();
    encode_error(out.begin(), error.errno, error.sqlstate, &error.message, Charset::Utf8mb4);
    out.end();
    socket.write_now_or_close(out.bytes());
    socket.close_output();
}
