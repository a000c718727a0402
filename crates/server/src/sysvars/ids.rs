//! Variables that the server's own code reads or sets, with their Rust types. A name that the table does not have, or has
//! with another type, does not compile.

use std::marker::PhantomData;

use super::{Kind, Setting, TABLE, VariableId};

/// A variable whose values are `T`s.
#[derive(Debug)]
pub struct Id<T> {
    id: VariableId,
    values: PhantomData<fn() -> T>,
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> From<Id<T>> for VariableId {
    fn from(typed: Id<T>) -> VariableId {
        typed.id
    }
}

/// A Rust type that values of variables have. Words, lists and names are text; NULL is empty text.
pub trait Typed: Sized {
    /// A kind of variable, for the compiler to compare with.
    const LIKE: Kind;
    /// The value of a variable of that kind.
    fn of(setting: &Setting) -> Option<Self>;
    /// The other way round.
    fn into_setting(self) -> Setting;
}

impl Typed for bool {
    const LIKE: Kind = Kind::Bool;
    fn of(setting: &Setting) -> Option<bool> {
        if let Setting::Bool(on) = setting { Some(*on) } else { None }
    }
    fn into_setting(self) -> Setting {
        Setting::Bool(self)
    }
}

impl Typed for u64 {
    const LIKE: Kind = Kind::Int { min: 0, max: 0 };
    fn of(setting: &Setting) -> Option<u64> {
        if let Setting::Int(value) = setting { Some(*value) } else { None }
    }
    fn into_setting(self) -> Setting {
        Setting::Int(self)
    }
}

impl Typed for f64 {
    const LIKE: Kind = Kind::Double { min: 0.0, max: 0.0 };
    fn of(setting: &Setting) -> Option<f64> {
        if let Setting::Double(value) = setting { Some(*value) } else { None }
    }
    fn into_setting(self) -> Setting {
        Setting::Double(self)
    }
}

impl Typed for String {
    const LIKE: Kind = Kind::Text;
    fn of(setting: &Setting) -> Option<String> {
        match setting {
            Setting::Text(text) => Some(text.as_ref().to_owned()),
            Setting::Null => Some(String::new()),
            _ => None,
        }
    }
    fn into_setting(self) -> Setting {
        Setting::text(self)
    }
}

const fn same_type(left: Kind, right: Kind) -> bool {
    const fn class(kind: Kind) -> u8 {
        match kind {
            Kind::Bool | Kind::OnlyFlag(_) => 0,
            Kind::Int { .. } => 1,
            Kind::Double { .. } => 2,
            Kind::Word(_)
            | Kind::Only(_)
            | Kind::Text
            | Kind::Roles
            | Kind::TextOrNull
            | Kind::Switches
            | Kind::SqlMode
            | Kind::TimeZone
            | Kind::Charset
            | Kind::CharsetOrNull
            | Kind::Collation
            | Kind::Engine => 3,
        }
    }
    class(left) == class(right)
}

const fn find<T: Typed>(name: &str) -> Id<T> {
    let mut index = 0;
    while !super::same(TABLE[index].name.as_bytes(), name.as_bytes()) {
        index += 1;
    }
    assert!(same_type(TABLE[index].kind, T::LIKE), "the variable has another type");
    Id { id: VariableId(index as u16), values: PhantomData }
}

macro_rules! ids {
    ($($id:ident: $type:ty = $name:literal,)*) => {
        $(#[doc = concat!("`", $name, "`")] pub const $id: Id<$type> = find($name);)*
    };
}

ids! {
    ACTIVATE_ALL_ROLES_ON_LOGIN: bool = "activate_all_roles_on_login",
    AUDIT_LOG_FILE: String = "audit_log_file",
    AUDIT_LOG_POLICY: String = "audit_log_policy",
    AUDIT_LOG_ROTATE_ON_SIZE: u64 = "audit_log_rotate_on_size",
    AUDIT_LOG_ROTATIONS: u64 = "audit_log_rotations",
    BACK_LOG: u64 = "back_log",
    BASEDIR: String = "basedir",
    BIND_ADDRESS: String = "bind_address",
    BINLOG_CACHE_SIZE: u64 = "binlog_cache_size",
    BINLOG_CUT_AT: String = "binlog_cut_at",
    BINLOG_EXPIRE_LOGS_SECONDS: u64 = "binlog_expire_logs_seconds",
    BINLOG_FORMAT: String = "binlog_format",
    BINLOG_GROUP_COMMIT_SYNC_DELAY: u64 = "binlog_group_commit_sync_delay",
    BINLOG_GROUP_COMMIT_SYNC_NO_DELAY_COUNT: u64 = "binlog_group_commit_sync_no_delay_count",
    BINLOG_ORDER_COMMITS: bool = "binlog_order_commits",
    BINLOG_ROW_METADATA: String = "binlog_row_metadata",
    CHARACTER_SET_CLIENT: String = "character_set_client",
    CHARACTER_SET_CONNECTION: String = "character_set_connection",
    CHARACTER_SET_RESULTS: String = "character_set_results",
    CHECKPOINT_BYTES: u64 = "checkpoint_bytes",
    COLLATION_CONNECTION: String = "collation_connection",
    COLLATION_DATABASE: String = "collation_database",
    COMMIT_FLUSH: bool = "commit_flush",
    COMMIT_PROTOCOL: String = "commit_protocol",
    CONNECT_TIMEOUT: u64 = "connect_timeout",
    CONNECTION_CONTROL_FAILED_CONNECTIONS_THRESHOLD: u64 = "connection_control_failed_connections_threshold",
    CONNECTION_CONTROL_MAX_CONNECTION_DELAY: u64 = "connection_control_max_connection_delay",
    CONNECTION_CONTROL_MIN_CONNECTION_DELAY: u64 = "connection_control_min_connection_delay",
    CONNECTION_MEMORY_LIMIT: u64 = "connection_memory_limit",
    DATADIR: String = "datadir",
    DEFAULT_AUTHENTICATION_PLUGIN: String = "default_authentication_plugin",
    DEFAULT_PASSWORD_LIFETIME: u64 = "default_password_lifetime",
    ENFORCE_GTID_CONSISTENCY: String = "enforce_gtid_consistency",
    GLOBAL_CONNECTION_MEMORY_LIMIT: u64 = "global_connection_memory_limit",
    GTID_MODE: String = "gtid_mode",
    GTID_NEXT: String = "gtid_next",
    GTID_PURGED: String = "gtid_purged",
    HAVE_OPENSSL: String = "have_openssl",
    HAVE_SSL: String = "have_ssl",
    HOST_CACHE_SIZE: u64 = "host_cache_size",
    HOSTNAME: String = "hostname",
    INNODB_BUFFER_POOL_SIZE: u64 = "innodb_buffer_pool_size",
    INNODB_FLUSH_LOG_AT_TRX_COMMIT: u64 = "innodb_flush_log_at_trx_commit",
    INNODB_ONLINE_ALTER_LOG_MAX_SIZE: u64 = "innodb_online_alter_log_max_size",
    INSECURE_ROOT_ON_LOOPBACK: bool = "insecure_root_on_loopback",
    INTERACTIVE_TIMEOUT: u64 = "interactive_timeout",
    JOURNAL_CUT_AT: u64 = "journal_cut_at",
    JOURNAL_SEGMENT_SIZE: u64 = "journal_segment_size",
    LOG_BIN: bool = "log_bin",
    LOG_BIN_BASENAME: String = "log_bin_basename",
    LOG_BIN_INDEX: String = "log_bin_index",
    LOG_ERROR: String = "log_error",
    LOG_ERROR_SERVICES: String = "log_error_services",
    LOG_ERROR_VERBOSITY: u64 = "log_error_verbosity",
    LONG_QUERY_TIME: f64 = "long_query_time",
    MAX_ALLOWED_PACKET: u64 = "max_allowed_packet",
    MAX_BINLOG_SIZE: u64 = "max_binlog_size",
    MAX_BINLOG_TOTAL_SIZE: u64 = "max_binlog_total_size",
    MAX_CONNECT_ERRORS: u64 = "max_connect_errors",
    MANDATORY_ROLES: String = "mandatory_roles",
    MAX_USER_CONNECTIONS: u64 = "max_user_connections",
    PASSWORD_HISTORY: u64 = "password_history",
    PASSWORD_REQUIRE_CURRENT: bool = "password_require_current",
    PASSWORD_REUSE_INTERVAL: u64 = "password_reuse_interval",
    DISCONNECT_ON_EXPIRED_PASSWORD: bool = "disconnect_on_expired_password",
    MAX_CONNECTIONS: u64 = "max_connections",
    MAX_PREPARED_STMT_COUNT: u64 = "max_prepared_stmt_count",
    MAX_SESSION_PREPARED_STMT_COUNT: u64 = "max_session_prepared_stmt_count",
    MAX_UNAUTHENTICATED_CONNECTIONS: u64 = "max_unauthenticated_connections",
    MAX_UNAUTHENTICATED_CONNECTIONS_PER_HOST: u64 = "max_unauthenticated_connections_per_host",
    NET_BUFFER_LENGTH: u64 = "net_buffer_length",
    NET_READ_TIMEOUT: u64 = "net_read_timeout",
    NET_WRITE_TIMEOUT: u64 = "net_write_timeout",
    OPEN_FILES_LIMIT: u64 = "open_files_limit",
    PID_FILE: String = "pid_file",
    PORT: u64 = "port",
    READ_ONLY: bool = "read_only",
    REDB_CACHE_SIZE: u64 = "redb_cache_size",
    REDB_LAYER_SIZE: u64 = "redb_layer_size",
    REQUIRE_SECURE_TRANSPORT: bool = "require_secure_transport",
    RESET_ROOT: bool = "reset_root",
    RPL_SEMI_SYNC_SOURCE_ENABLED: bool = "rpl_semi_sync_source_enabled",
    RPL_SEMI_SYNC_SOURCE_TIMEOUT: u64 = "rpl_semi_sync_source_timeout",
    RPL_SEMI_SYNC_SOURCE_WAIT_FOR_REPLICA_COUNT: u64 = "rpl_semi_sync_source_wait_for_replica_count",
    RPL_SEMI_SYNC_SOURCE_WAIT_NO_REPLICA: bool = "rpl_semi_sync_source_wait_no_replica",
    SERVER_ID: u64 = "server_id",
    SERVER_UUID: String = "server_uuid",
    SESSION_TRACK_GTIDS: String = "session_track_gtids",
    SESSION_TRACK_SCHEMA: bool = "session_track_schema",
    SESSION_TRACK_SYSTEM_VARIABLES: String = "session_track_system_variables",
    SKIP_NETWORKING: bool = "skip_networking",
    SOCKET: String = "socket",
    SQL_LOG_BIN: bool = "sql_log_bin",
    SSL_CA: String = "ssl_ca",
    SSL_CERT: String = "ssl_cert",
    SSL_KEY: String = "ssl_key",
    SUPER_READ_ONLY: bool = "super_read_only",
    SUPPORT_XA: bool = "support_xa",
    SYNC_BINLOG: u64 = "sync_binlog",
    THREAD_POOL_SIZE: u64 = "thread_pool_size",
    THREAD_POOL_STALL_LIMIT: u64 = "thread_pool_stall_limit",
    THREAD_STACK: u64 = "thread_stack",
    TLS_VERSION: String = "tls_version",
    TMPDIR: String = "tmpdir",
    VERSION: String = "version",
    WAIT_TIMEOUT: u64 = "wait_timeout",
    WRITE_BUFFER_SIZE: u64 = "write_buffer_size",
}
