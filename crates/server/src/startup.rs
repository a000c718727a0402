//! From settings to an open data directory, and the start and end of the process.
//!
//! Format of a data directory: `cohort.format` says that it is one and in which form, `cohort.lock` that
//! it is in use, `cohort.protocol` which commit protocol wrote the logs, `auto.cnf` holds the server's UUID,
//! `recovery.json` what the last start found, `statistics` what is known of tables ([`statistics`]), `*.pem` certificates and keys that the server made ([`Tls`]); `journal/`, `rocksdb/`, `redb/` and the binlog files belong to
//! their crates.
//!
//! Invariants
//! 1. Nothing is written to a directory that is neither empty nor ours.
//! 2. The lock is held until the process ends.

pub(crate) mod store;

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

use cohort_binlog::ServerUuid;
use cohort_io::{FileLock, FileSystem, RealFs, read_whole, replace_whole};
use cohort_sql::Database;
use cohort_sql::ast::AdminCommand;
use rustix::fs::{Mode, OFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::accounts::Accounts;
use crate::audit::Audit;
use crate::operator_log;
use crate::readiness::{self, Readiness};
use crate::server::{Server, StopReason};
use crate::session::variables::{apply_log_settings, durability_warnings};
use crate::statistics;
use crate::sysvars::{Globals, ids};
use crate::tls::Tls;

/// Why the server could not start, or not stop cleanly: one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

impl StartError {
    fn new(message: impl std::fmt::Display) -> StartError {
        StartError(message.to_string())
    }
}

/// What the format file begins with.
const FORMAT_TITLE: &str = "cohort data directory, format ";
const FORMAT_VERSION: u32 = 1;

/// Starts the server, serves until it is asked to end, and ends it.
pub fn serve(globals: Globals) -> Result<(), StartError> {
    raise_file_limit();
    // What the server makes is for its own user, and for its group to read.
    rustix::process::umask(Mode::from_raw_mode(0o027));
    let (stop, stopped) = mpsc::channel();
    readiness::report(Readiness::Starting);
    let dir = DataDir::open(&globals)?;
    open_log(&dir, &globals)?;
    for warning in durability_warnings(&globals) {
        log::warn!("{warning}");
    }
    let server = open_server(&dir, globals, stop.clone())?;
    // Before clients learn that the server is there: one may stop it at once.
    let signals = watch_signals(&server, stop)?;
    listen(&server, &dir)?;
    let cannot = |error| StartError::new(format_args!("no thread for old binlog files: {error}"));
    server.start_expiry().map_err(cannot)?;
    let cannot = |error| StartError::new(format_args!("no thread for statistics: {error}"));
    server.start_statistics(dir.fs.clone(), statistics::path_in(&dir.path)).map_err(cannot)?;
    readiness::report(Readiness::Ready);
    let reason = stopped.recv().unwrap_or(StopReason::Signal);
    log::info!(
        "stopping ({})",
        match reason {
            StopReason::Signal => "signal",
            StopReason::Statement => "SHUTDOWN",
        }
    );
    readiness::report(Readiness::Stopping);
    let closed = server.stop();
    signals.close();
    closed.map_err(|reason| StartError::new(format_args!("stopped, but the next start must recover: {reason}")))?;
    log::info!("stopped");
    Ok(())
}

fn open_log(dir: &DataDir, globals: &Globals) -> Result<(), StartError> {
    apply_log_settings(globals);
    let name = globals.get(ids::LOG_ERROR);
    if name == "stderr" {
        return Ok(());
    }
    let path = dir.path.join(&name);
    operator_log::write_to(&path)
        .map_err(|error| StartError::new(format_args!("cannot open --log-error={}: {error}", path.display())))?;
    globals.put(ids::LOG_ERROR, path.display().to_string());
    Ok(())
}

/// Every connection needs a file descriptor, and so do the engine's files: takes as many as the system
/// allows.
fn raise_file_limit() {
    let resource = rustix::process::Resource::Nofile;
    let limit = rustix::process::getrlimit(resource);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    // The old limit stays; open_files_limit shows it.
    let _ = rustix::process::setrlimit(resource, raised);
}

/// A data directory that is ours and locked.
struct DataDir {
    path: PathBuf,
    fs: Arc<dyn FileSystem>,
    uuid: ServerUuid,
    _lock: FileLock,
}

impl DataDir {
    fn open(globals: &Globals) -> Result<DataDir, StartError> {
        let path = PathBuf::from(globals.get(ids::DATADIR));
        let shown = path.display();
        let fs: Arc<dyn FileSystem> = Arc::new(RealFs::new());
        let cannot = |error: &dyn std::fmt::Display| {
            StartError::new(format_args!(
                "cannot use the data directory {shown}: {error}; check its path and permissions, or choose another with --datadir"
            ))
        };
        fs.create_dir_all(&path).map_err(|error| cannot(&error))?;
        let path = std::fs::canonicalize(&path).map_err(|error| cannot(&error))?;
        check_format(&*fs, &path)?;
        let lock = lock(&*fs, &path)?;
        close_to_others(&path).map_err(|error| cannot(&error))?;
        let format = format!("{FORMAT_TITLE}{FORMAT_VERSION}\n");
        let format_path = path.join("cohort.format");
        if !fs.exists(&format_path).map_err(|error| cannot(&error))? {
            replace_whole(&*fs, &format_path, format.as_bytes(), None).map_err(|error| cannot(&error))?;
        }
        let uuid = server_uuid(&*fs, &path.join("auto.cnf")).map_err(|error| cannot(&error))?;
        Ok(DataDir { path, fs, uuid, _lock: lock })
    }
}

/// Takes others' rights to a data directory away: it was made before the server did so, or by somebody else.
fn close_to_others(path: &Path) -> std::io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    match mode & 0o007 {
        0 => Ok(()),
        _ => std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7770)),
    }
}

/// An existing data directory of ours that no server uses, for those who look at it.
pub(crate) struct StoppedDir {
    pub(crate) path: PathBuf,
    pub(crate) fs: Arc<dyn FileSystem>,
    _lock: FileLock,
}

impl StoppedDir {
    /// Locks the directory, which makes `cohort.lock` where there is none, and changes nothing else.
    pub(crate) fn open(path: &Path) -> Result<StoppedDir, StartError> {
        let fs: Arc<dyn FileSystem> = Arc::new(RealFs::new());
        let shown = path.display();
        if !fs.exists(&path.join("cohort.format")).map_err(StartError::new)? {
            return Err(StartError::new(format_args!(
                "{shown} is no data directory of cohort: it has no cohort.format"
            )));
        }
        check_format(&*fs, path)?;
        let lock = lock(&*fs, path)?;
        Ok(StoppedDir { path: path.to_path_buf(), fs, _lock: lock })
    }
}

fn lock(fs: &dyn FileSystem, path: &Path) -> Result<FileLock, StartError> {
    let shown = path.display();
    fs.lock_exclusive(&path.join("cohort.lock")).map_err(|error| match error.is_locked() {
        true => StartError::new(format_args!(
            "the data directory {shown} is in use by another process; stop that server, or choose another directory"
        )),
        false => StartError::new(format_args!("cannot use the data directory {shown}: {error}; check its permissions")),
    })
}

/// Refuses a directory with other things in it, and one of a later format.
fn check_format(fs: &dyn FileSystem, path: &Path) -> Result<(), StartError> {
    let shown = path.display();
    let format_path = path.join("cohort.format");
    let found = fs.exists(&format_path).map_err(StartError::new)?;
    if !found {
        let names = fs.list(path).map_err(StartError::new)?;
        // What an interrupted first start leaves behind.
        let foreign =
            names.iter().find(|name| !matches!(name.as_str(), "cohort.lock" | "cohort.format.new" | "lost+found"));
        return match foreign {
            None => Ok(()),
            Some(name) => Err(StartError::new(format_args!(
                "the directory {shown} is no data directory of cohort and not empty (it has {name}); choose an empty one with --datadir"
            ))),
        };
    }
    let text = read_whole(fs, &format_path, 4096).map_err(StartError::new)?;
    let text = String::from_utf8_lossy(&text);
    let version = text.trim_end().strip_prefix(FORMAT_TITLE).and_then(|version| version.parse::<u32>().ok());
    match version {
        Some(version) if version <= FORMAT_VERSION => Ok(()),
        Some(version) => Err(StartError::new(format_args!(
            "the data directory {shown} has format {version}, this program knows up to {FORMAT_VERSION}: use the newer version that wrote it"
        ))),
        None => Err(StartError::new(format_args!(
            "{} is damaged; if the rest of the directory is intact, write '{FORMAT_TITLE}{FORMAT_VERSION}' into it",
            format_path.display()
        ))),
    }
}

/// The server's UUID from `auto.cnf`, made on first use.
fn server_uuid(fs: &dyn FileSystem, path: &Path) -> Result<ServerUuid, StartError> {
    if fs.exists(path).map_err(StartError::new)? {
        let text = read_whole(fs, path, 4096).map_err(StartError::new)?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find_map(|line| line.trim().strip_prefix("server-uuid="));
        let uuid = line.and_then(|uuid| uuid.trim().parse().ok());
        return uuid.ok_or_else(|| StartError::new(format_args!("{} has no valid server-uuid", path.display())));
    }
    let uuid = uuid::Builder::from_random_bytes(crate::random_bytes()).into_uuid();
    let text = format!("[auto]\nserver-uuid={uuid}\n");
    replace_whole(fs, path, text.as_bytes(), None).map_err(StartError::new)?;
    Ok(ServerUuid::from_bytes(uuid.into_bytes()))
}

fn open_server(dir: &DataDir, globals: Globals, stop: mpsc::Sender<StopReason>) -> Result<Arc<Server>, StartError> {
    let tls = Tls::open(&*dir.fs, &dir.path, &globals).map_err(|error| {
        StartError::new(format_args!("{error}; name other files, or turn TLS off with --tls-version="))
    })?;
    if globals.get(ids::REQUIRE_SECURE_TRANSPORT) && tls.config().is_none() && globals.get(ids::SOCKET).is_empty() {
        return Err(StartError::new("--require-secure-transport, but there is neither TLS nor a --socket"));
    }
    let audit = Audit::open(&dir.path, &globals).map_err(|error| {
        let name = globals.get(ids::AUDIT_LOG_FILE);
        StartError::new(format_args!("cannot open --audit-log-file={name}: {error}; choose another path"))
    })?;
    let store = store::open(dir, &globals)?;
    let database =
        Database::open(store).map_err(|error| StartError::new(format_args!("cannot read the catalog: {error}")))?;
    statistics::restore(&database, &*dir.fs, &statistics::path_in(&dir.path));
    let accounts = Accounts::load(&database, &globals)
        .map_err(|error| StartError::new(format_args!("cannot read the accounts: {error}")))?;
    for account in accounts.without_password() {
        log::warn!("account {account} has no password, nobody can use it; set one with ALTER USER");
    }
    if globals.get(ids::INSECURE_ROOT_ON_LOOPBACK) {
        log::warn!("insecure_root_on_loopback: whoever reaches this machine's loopback address is root");
    }
    tell_facts(&globals, dir);
    Server::new(database, globals, accounts, tls, audit, stop)
        .map_err(|error| StartError::new(format_args!("cannot start the worker pool: {error}")))
}

/// Fills in the variables that show the state of the server.
fn tell_facts(globals: &Globals, dir: &DataDir) {
    let path = |name: &str| dir.path.join(name).display().to_string();
    globals.put(ids::DATADIR, format!("{}/", dir.path.display()));
    globals.put(ids::LOG_BIN_BASENAME, path("binlog"));
    globals.put(ids::LOG_BIN_INDEX, path("binlog.index"));
    globals.put(ids::SERVER_UUID, dir.uuid.to_string());
    let host = rustix::system::uname();
    globals.put(ids::HOSTNAME, host.nodename().to_string_lossy());
    if let Some(base) = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned)) {
        globals.put(ids::BASEDIR, base.display().to_string());
    }
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    globals.put(ids::OPEN_FILES_LIMIT, files.current.unwrap_or(u64::MAX));
}

/// Opens the sockets and logs how to connect.
fn listen(server: &Arc<Server>, dir: &DataDir) -> Result<(), StartError> {
    let globals = &server.globals;
    let mut ways = Vec::new();
    if !globals.get(ids::SKIP_NETWORKING) {
        let host = globals.get(ids::BIND_ADDRESS);
        let port = globals.get(ids::PORT) as u16;
        let address = match host.as_str() {
            "*" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            host => {
                host.parse().map_err(|_| StartError::new(format_args!("--bind-address={host} is no IP address")))?
            }
        };
        let cannot = |error| {
            StartError::new(format_args!(
                "cannot listen on {address} port {port}: {error}; is another server running there? Choose another port with --port"
            ))
        };
        let listener = TcpListener::bind((address, port)).map_err(cannot)?;
        let bound = server.listen_tcp(listener).map_err(cannot)?;
        globals.put(ids::PORT, bound.port());
        let reached = if address.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address };
        let password = if globals.get(ids::INSECURE_ROOT_ON_LOOPBACK) { "" } else { " -p" };
        ways.push(format!("mysql -h{reached} -P{} -uroot{password}", bound.port()));
    }
    let socket = globals.get(ids::SOCKET);
    if !socket.is_empty() {
        let path = dir.path.join(&socket);
        match bind_unix(&path) {
            Ok(listener) => {
                let cannot = |error| StartError::new(format_args!("cannot listen on {}: {error}", path.display()));
                server.listen_unix(listener, &path).map_err(cannot)?;
                globals.put(ids::SOCKET, path.display().to_string());
                ways.push(format!("mysql -S {} -uroot", path.display()));
            }
            Err(error) => {
                return Err(StartError::new(format_args!(
                    "cannot listen on the Unix socket {}: {error}; choose another path with --socket, or none with --socket=",
                    path.display()
                )));
            }
        }
    }
    if ways.is_empty() {
        return Err(StartError::new("nothing to listen on: --skip-networking and no --socket"));
    }
    write_pid_file(globals)?;
    log::info!("ready for connections, version {}, data in {}", crate::VERSION, dir.path.display());
    for way in ways {
        log::info!("connect with: {way}");
    }
    Ok(())
}

/// Binds the socket file, replacing a socket that a dead server has left. Everybody may connect, as with MySQL.
fn bind_unix(path: &Path) -> std::io::Result<UnixListener> {
    let listener = bind_anew(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o777))?;
    Ok(listener)
}

fn bind_anew(path: &Path) -> std::io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let is_socket = std::fs::symlink_metadata(path)?.file_type().is_socket();
            if !is_socket || UnixStream::connect(path).is_ok() {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

fn write_pid_file(globals: &Globals) -> Result<(), StartError> {
    let path = globals.get(ids::PID_FILE);
    if path.is_empty() {
        return Ok(());
    }
    // A link could lead to any file of this user's.
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| StartError::new(format_args!("cannot write the pid file {path}: {error}")))
}

/// Sends a stop message for SIGTERM and SIGINT, and does what FLUSH LOGS does for SIGHUP.
fn watch_signals(
    server: &Arc<Server>,
    stop: mpsc::Sender<StopReason>,
) -> Result<signal_hook::iterator::Handle, StartError> {
    let cannot = |error| StartError::new(format_args!("cannot watch for signals: {error}"));
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(cannot)?;
    let handle = signals.handle();
    let server = Arc::downgrade(server);
    let watch = move || {
        for signal in signals.forever() {
            match (signal, server.upgrade()) {
                (SIGHUP, Some(server)) => {
                    if let Err(error) = server.administer(&AdminCommand::FlushLogs) {
                        log::error!("logs are not flushed: {error}");
                    }
                }
                (SIGHUP, None) => {}
                // Nobody listening means that the server is already stopping.
                _ => drop(stop.send(StopReason::Signal)),
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(cannot)?;
    Ok(handle)
}
