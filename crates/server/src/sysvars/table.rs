//! The table of system variables, sorted by name: a variable is a row here, with all that belongs to it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cohort_sql::Value;
use cohort_sql::collation::Collation as Coll;
use cohort_sql::isolation_level::IsolationLevel;
use cohort_sql::session::optimizer_switch::{DERIVED_CONDITION_PUSHDOWN, OptimizerSwitch};
use cohort_sql::session::{BinlogFormat, RowImage, SessionState};
use cohort_sql::types::Charset as Chars;
use cohort_sql::types::SqlMode as Modes;
use cohort_sql::types::temporal::TimeZone as Zone;
use cohort_txn::{CommitProtocol, Isolation};

use super::{Apply, Change, Effect, Kind, Scope, Source, SystemVariable};
use Change::{Anytime, AtStart, BySet, Never};
use Kind::{
    Bool, Charset, CharsetOrNull, Collation, Double, Engine, Only, OnlyFlag, SqlMode, Text, TextOrNull, TimeZone, Word,
};
use Scope::{Both, Global, GlobalSessionReadOnly, Session};

const fn row(
    name: &'static str,
    scope: Scope,
    change: Change,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> SystemVariable {
    SystemVariable {
        name,
        alias: None,
        scope,
        kind,
        default,
        change,
        meaning,
        source: Source::Setting,
        apply: Apply::Nothing,
        effect: Effect::Nothing,
        restricted: false,
        hintable: is_hintable(name),
        leads: None,
    }
}

/// The values of `gtid_mode`, each a step from the one before.
pub const GTID_MODES: &[&str] = &["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"];

/// The variables that MySQL 8.0 has SET_VAR take, as far as there are such here.
pub(super) const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "cte_max_recursion_depth",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_join_size",
    "max_sort_length",
    "optimizer_switch",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
];

const fn is_hintable(name: &str) -> bool {
    let mut at = 0;
    while at < HINTABLE.len() {
        if is_same(name.as_bytes(), HINTABLE[at].as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

impl SystemVariable {
    const fn alias(self, alias: &'static str) -> SystemVariable {
        SystemVariable { alias: Some(alias), ..self }
    }

    const fn read(self, source: Source) -> SystemVariable {
        SystemVariable { source, ..self }
    }

    const fn apply(self, apply: Apply) -> SystemVariable {
        SystemVariable { apply, ..self }
    }

    const fn effect(self, effect: Effect) -> SystemVariable {
        SystemVariable { effect, ..self }
    }

    const fn restricted(self) -> SystemVariable {
        SystemVariable { restricted: true, ..self }
    }

    const fn leads(self, other: &'static str, value: fn(&str) -> Option<&'static str>) -> SystemVariable {
        SystemVariable { leads: Some((other, value)), ..self }
    }
}

const fn int(min: i64, max: u64) -> Kind {
    Kind::Int { min, max }
}

fn collation_of(charset: &str) -> Option<&'static str> {
    Chars::from_name(charset).map(|charset| charset.default_collation().name())
}

fn default_collation(charset: &str) -> Coll {
    Chars::from_name(charset).map_or(Coll::DEFAULT, Chars::default_collation)
}

fn charset_of(collation: &str) -> Option<&'static str> {
    Coll::from_name(collation).map(|collation| collation.charset().name())
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as i64
}

fn last_insert_id(session: &SessionState) -> Value {
    Value::UInt(session.last_insert_id.get())
}

fn pushes_conditions(switches: &str) -> bool {
    OptimizerSwitch::default().with(switches).is_ok_and(|switches| switches.is_on(DERIVED_CONDITION_PUSHDOWN))
}

fn binlog_format(name: &str) -> BinlogFormat {
    match name {
        "STATEMENT" => BinlogFormat::Statement,
        "MIXED" => BinlogFormat::Mixed,
        _ => BinlogFormat::Row,
    }
}

fn row_image(name: &str) -> RowImage {
    match name {
        "MINIMAL" => RowImage::Minimal,
        "NOBLOB" => RowImage::NoBlob,
        _ => RowImage::Full,
    }
}

/// Seconds in 365 days, the most a time-out can be.
const YEAR: u64 = 31_536_000;

/// Messages for the operator as text, and as JSON.
const LOG_SERVICES: &[&str] = &["log_filter_internal; log_sink_internal", "log_filter_internal; log_sink_json"];

/// Of AES: length of the key, chaining of the blocks.
const ENCRYPTION_MODES: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb1",
    "aes-192-cfb1",
    "aes-256-cfb1",
    "aes-128-cfb8",
    "aes-192-cfb8",
    "aes-256-cfb8",
    "aes-128-cfb128",
    "aes-192-cfb128",
    "aes-256-cfb128",
    "aes-128-ofb",
    "aes-192-ofb",
    "aes-256-ofb",
];

/// Every system variable.
#[rustfmt::skip]
pub const TABLE: &[SystemVariable] = &[
    row("activate_all_roles_on_login", Global, Anytime, Bool, "OFF", "Every role that is granted to an account is active when it logs in, not just the default ones."),
    row("audit_log_file", Global, AtStart, Text, "", "File of the audit log, from the data directory if relative; none if empty."),
    row("audit_log_policy", Global, Anytime, Word(&["LOGINS", "ALL", "NONE"]), "LOGINS", "What the audit log takes: logins, those that failed and changes of accounts, every statement as well, or nothing.")
        .effect(Effect::AuditLog),
    row("audit_log_rotate_on_size", Global, AtStart, int(0, 1 << 40), "64M", "Bytes after which the audit log begins a new file; 0 for never."),
    row("audit_log_rotations", Global, AtStart, int(0, 999), "8", "Earlier files of the audit log that are kept."),
    row("auto_increment_increment", Both, Anytime, int(1, 65535), "1", "Distance between AUTO_INCREMENT values.")
        .apply(Apply::Int(|session, value| session.auto_increment_increment = value)),
    row("auto_increment_offset", Both, Anytime, int(1, 65535), "1", "First AUTO_INCREMENT value.")
        .apply(Apply::Int(|session, value| session.auto_increment_offset = value)),
    row("autocommit", Both, Anytime, Bool, "ON", "Each statement outside of BEGIN is a transaction of its own.")
        .apply(Apply::Flag(|session, on| session.autocommit = on)),
    row("automatic_sp_privileges", Global, Never, OnlyFlag(false), "OFF", "There are no stored routines."),
    row("back_log", Global, AtStart, int(1, 65535), "512", "Connections that the operating system queues before they are accepted."),
    row("basedir", Global, Never, Text, "", "Directory of the program."),
    row("big_tables", Both, Anytime, Bool, "OFF", "Nothing depends on it."),
    row("bind_address", Global, AtStart, Text, "127.0.0.1", "Address to listen on: one IP address, or * for all."),
    row("binlog_cache_size", Global, Anytime, int(4096, 18_446_744_073_709_547_520), "4M", "Events of a transaction that memory takes, bytes, and four times as much of its changes; more goes to files while it runs, and its binlog file is one of them.")
        .effect(Effect::CommitPath),
    row("binlog_checksum", Global, Anytime, Only("CRC32"), "CRC32", "Every binlog event ends with a CRC32."),
    row("binlog_cut_at", Global, AtStart, Text, "", "Give up the binlog from FILE:OFFSET on, if the start of a classic commit protocol stops there for damage; see docs/damaged-logs.md."),
    row("binlog_error_action", Global, Anytime, Only("ABORT_SERVER"), "ABORT_SERVER", "After a failed log write no commit is acknowledged any more."),
    row("binlog_expire_logs_seconds", Global, Anytime, int(0, 4_294_967_295), "2592000", "Age of binlog files that are purged: at a start, at FLUSH BINARY LOGS, and once a minute; 0 for none."),
    row("binlog_format", Both, Anytime, Word(&["MIXED", "STATEMENT", "ROW"]), "ROW", "How changes of rows are logged: as rows; as statements, with warning 1592 where a replica could come to other rows, which are then logged as rows; or the same without a warning.")
        .restricted()
        .apply(Apply::Text(|session, format| session.binlog_format = binlog_format(format))),
    row("binlog_group_commit_sync_delay", Global, Anytime, int(0, 1_000_000), "0", "Microseconds to wait for more members before a group's sync; 0 takes those who are there.")
        .effect(Effect::CommitPath),
    row("binlog_group_commit_sync_no_delay_count", Global, Anytime, int(0, 1_000_000), "0", "With so many members a group waits no longer; 0 for no such number.")
        .effect(Effect::CommitPath),
    row("binlog_gtid_simple_recovery", Global, Never, Bool, "ON", "GTID sets are read from the ends of the binlog."),
    row("binlog_order_commits", Global, Anytime, Bool, "ON", "Transactions commit in binlog order; OFF lets those of commit_protocol=mysql56 and mysql57 do it in any.")
        .effect(Effect::CommitPath),
    row("binlog_row_image", Both, Anytime, Word(&["MINIMAL", "NOBLOB", "FULL"]), "FULL", "Which columns row events hold: all; the primary key before a change and what was changed after it; or all but BLOB and TEXT that are not needed.")
        .restricted()
        .apply(Apply::Text(|session, image| session.row_image = row_image(image))),
    row("binlog_row_metadata", Global, Anytime, Word(&["MINIMAL", "FULL"]), "MINIMAL", "What table events say of columns; FULL adds names and keys.")
        .effect(Effect::CommitPath),
    row("binlog_row_value_options", Both, Anytime, Only(""), "", "Row events hold whole values: PARTIAL_JSON is not there."),
    row("binlog_rows_query_log_events", Both, Anytime, Bool, "OFF", "Log each statement's text before its rows, for people and tools; readers ignore it.")
        .restricted()
        .apply(Apply::Flag(|session, on| session.log_rows_query = on)),
    row("binlog_transaction_compression", Both, Anytime, Bool, "OFF", "Compress the events of each transaction of rows with zstd, where that makes them shorter.")
        .restricted()
        .apply(Apply::Flag(|session, on| session.compresses_binlog = on)),
    row("binlog_transaction_compression_level_zstd", Both, Anytime, int(1, 22), "3", "How much time that takes, and how short they become.")
        .restricted()
        .apply(Apply::Int(|session, level| session.compression_level = level as i32)),
    row("block_encryption_mode", Both, Anytime, Word(ENCRYPTION_MODES), "aes-128-ecb", "Length of the key and chaining of the blocks of AES_ENCRYPT and AES_DECRYPT."),
    row("bulk_insert_buffer_size", Both, Anytime, int(0, u64::MAX), "8388608", "Nothing depends on it."),
    row("character_set_client", Both, Anytime, Charset, "utf8mb4", "Character set of statements, in which they arrive.")
        .apply(Apply::Text(|session, name| session.client = default_collation(name))),
    row("character_set_connection", Both, Anytime, Charset, "utf8mb4", "Character set of literals.")
        .leads("collation_connection", collation_of),
    row("character_set_database", Both, Anytime, Charset, "utf8mb4", "Character set of the default database.")
        .read(Source::DefaultDatabase(|collation| collation.charset().name()))
        .leads("collation_database", collation_of),
    row("character_set_filesystem", Both, Anytime, Charset, "binary", "Character set of file names."),
    row("character_set_results", Both, Anytime, CharsetOrNull, "utf8mb4", "Character set of results and messages, in which they leave; NULL and binary for that of each column.")
        .apply(Apply::TextOrNull(|session, name| session.results = name.map(|name| default_collation(name)))),
    row("character_set_server", Both, Anytime, Charset, "utf8mb4", "Character set of new databases.")
        .leads("collation_server", collation_of),
    row("character_set_system", Global, Never, Text, "utf8mb3", "Character set of identifiers."),
    row("character_sets_dir", Global, Never, Text, "", "Character sets are built in."),
    row("checkpoint_bytes", Global, AtStart, int(1 << 20, 1 << 40), "256M", "Journal bytes between two checkpoints: less makes recovery shorter."),
    row("collation_connection", Both, Anytime, Collation, "utf8mb4_0900_ai_ci", "Collation of literals.")
        .apply(Apply::Text(|session, name| session.collation = Coll::from_name(name).unwrap_or(Coll::DEFAULT)))
        .leads("character_set_connection", charset_of),
    row("collation_database", Both, Anytime, Collation, "utf8mb4_0900_ai_ci", "Collation of the default database.")
        .read(Source::DefaultDatabase(Coll::name))
        .apply(Apply::Text(|session, name| session.database_collation = Coll::from_name(name)))
        .leads("character_set_database", charset_of),
    row("collation_server", Both, Anytime, Collation, "utf8mb4_0900_ai_ci", "Collation of new databases.")
        .apply(Apply::Text(|session, name| session.server_collation = Coll::from_name(name).unwrap_or(Coll::DEFAULT)))
        .leads("character_set_server", charset_of),
    row("commit_flush", Global, AtStart, Bool, "ON", "Under commit_protocol=mariadb the engines' logs are synced after the commit records too."),
    row("commit_protocol", Global, AtStart, Word(CommitProtocol::NAMES), "journal", "How binlog and engines are kept together: by the journal, or as a historical server did it. tc-mmap is for engines alone and needs --skip-log-bin."),
    row("completion_type", Both, Anytime, Only("NO_CHAIN"), "NO_CHAIN", "COMMIT begins no new transaction."),
    row("connect_timeout", Global, Anytime, int(2, YEAR), "10", "Seconds a client may take to log in."),
    row("connection_control_failed_connections_threshold", Global, Anytime, int(0, 2_147_483_647), "3", "Wrong passwords in a row for one user from one host after which answers are delayed, by a second more each time, and after ten times as many for all users of the host; 0 for never.")
        .effect(Effect::WrongPasswords),
    row("connection_control_max_connection_delay", Global, Anytime, int(1000, 2_147_483_647), "5000", "Longest such delay, milliseconds."),
    row("connection_control_min_connection_delay", Global, Anytime, int(1000, 2_147_483_647), "1000", "Shortest such delay, milliseconds."),
    row("connection_memory_limit", Both, Anytime, int(2_097_152, u64::MAX), "18446744073709551615", "Most memory that a connection may hold for its statement, its transaction and what it keeps, bytes; then error 4082, and the connection ends. The greatest value stands for three quarters of global_connection_memory_limit.")
        .apply(Apply::Int(|session, value| session.memory.set_limit(value)))
        .effect(Effect::MemoryLimits),
    row("cte_max_recursion_depth", Both, Anytime, int(0, 4_294_967_295), "1000", "Most rounds of a recursive common table expression.")
        .apply(Apply::Int(|session, value| session.cte_max_recursion_depth = value)),
    row("datadir", Global, AtStart, Text, "./data", "Directory of all data."),
    row("default_authentication_plugin", Global, AtStart, Word(&["mysql_native_password", "caching_sha2_password"]), "caching_sha2_password", "How accounts authenticate that do not say how."),
    row("default_collation_for_utf8mb4", Both, Anytime, Only("utf8mb4_0900_ai_ci"), "utf8mb4_0900_ai_ci", "Collation of utf8mb4 where none is named."),
    row("default_password_lifetime", Global, Anytime, int(0, 65535), "0", "Days after which a password has to be changed, for accounts that say nothing else; 0 for never."),
    row("default_storage_engine", Both, Anytime, Engine, "RocksDB", "Engine of tables that name none, RocksDB or redb; InnoDB means RocksDB.")
        .alias("storage_engine")
        .apply(Apply::Text(|session, name| session.default_engine = Some(Arc::clone(name)))),
    row("default_tmp_storage_engine", Both, Anytime, Engine, "RocksDB", "Engine of temporary tables that name none."),
    row("default_week_format", Both, Anytime, int(0, 7), "0", "Mode of WEEK() without one.")
        .apply(Apply::Int(|session, mode| session.default_week_format = mode as u8)),
    row("disabled_storage_engines", Global, Never, Text, "", "Engines that new tables may not use."),
    row("disconnect_on_expired_password", Global, AtStart, Bool, "ON", "Refuse a client whose password has expired, unless it says that it can set a new one (error 1862); OFF lets it in for that."),
    row("div_precision_increment", Both, Anytime, Only("4"), "4", "Digits that a division adds."),
    row("enforce_gtid_consistency", Global, Anytime, Word(&["OFF", "ON", "WARN"]), "ON", "Nothing depends on it: every statement can have its GTIDs. gtid_mode=ON needs it to be ON."),
    row("eq_range_index_dive_limit", Both, Anytime, int(0, 4_294_967_295), "200", "Nothing depends on it."),
    row("error_count", Session, Never, int(0, 65535), "0", "Errors of the last statement.")
        .read(Source::Session(|session| Value::UInt(session.diagnostic_counts().1))),
    row("event_scheduler", Global, Anytime, Only("OFF"), "OFF", "There are no events."),
    row("explicit_defaults_for_timestamp", Both, Anytime, OnlyFlag(true), "ON", "TIMESTAMP columns get no default of their own."),
    row("external_user", Session, Never, TextOrNull, "NULL", "Name given by the authentication plugin."),
    row("foreign_key_checks", Both, Anytime, Bool, "ON", "Check foreign keys."),
    row("general_log", Global, Anytime, OnlyFlag(false), "OFF", "There is no general log."),
    row("global_connection_memory_limit", Global, Anytime, int(16_777_216, u64::MAX), "18446744073709551615", "The same for all connections together, and what arrives from them; then error 4081 for the one that asks for more. The greatest value stands for three eighths of the memory that the server may use.")
        .effect(Effect::MemoryLimits),
    row("group_concat_max_len", Both, Anytime, int(4, u64::MAX), "1024", "Longest result of GROUP_CONCAT, bytes.")
        .apply(Apply::Int(|session, value| session.group_concat_max_len = value)),
    row("gtid_executed", Global, Never, Text, "", "GTIDs of every transaction in the binlog or purged from it.")
        .read(Source::GtidExecuted),
    row("gtid_mode", Global, Anytime, Word(GTID_MODES), "ON", "Whether new transactions have GTIDs: ON, or OFF for anonymous ones. It is chosen at the start; what is in between is not supported."),
    row("gtid_next", Session, Anytime, Text, "AUTOMATIC", "GTID of the next transaction, as UUID:NUMBER, or AUTOMATIC; with gtid_mode=OFF AUTOMATIC or ANONYMOUS.")
        .restricted()
        .read(Source::Session(|session| Value::text(session.gtid_next()))),
    row("gtid_owned", Both, Never, Text, "", "GTIDs that sessions have chosen for their next transactions.")
        .read(Source::GtidOwned),
    row("gtid_purged", Global, BySet, Text, "", "GTIDs of executed transactions that are not in the binlog. SET adds some: those of a set with all until now in it, or of one after a +.")
        .read(Source::GtidPurged),
    row("have_compress", Global, Never, Text, "NO", "Whether the protocol can be compressed."),
    row("have_dynamic_loading", Global, Never, Text, "NO", "Whether plugins can be loaded."),
    row("have_openssl", Global, Never, Text, "DISABLED", "Whether connections can be encrypted."),
    row("have_profiling", Global, Never, Text, "NO", "Whether statements can be profiled."),
    row("have_query_cache", Global, Never, Text, "NO", "Whether results are cached."),
    row("have_ssl", Global, Never, Text, "DISABLED", "Whether connections can be encrypted."),
    row("host_cache_size", Global, Anytime, int(0, 65536), "654", "Hosts with connection errors that are remembered; 0 turns max_connect_errors off. Setting it is a FLUSH HOSTS.")
        .effect(Effect::HostCache),
    row("hostname", Global, Never, Text, "", "Name of this machine."),
    row("identity", Session, Anytime, int(0, u64::MAX), "0", "The same as last_insert_id.")
        .apply(Apply::Int(|session, value| session.last_insert_id.set(value)))
        .read(Source::Session(last_insert_id)),
    row("immediate_server_version", Session, Anytime, int(0, 4_294_967_295), "999999", "What mysqlbinlog says of the source; nothing depends on it."),
    row("information_schema_stats_expiry", Both, Anytime, int(0, 31_536_000), "86400", "Nothing depends on it: INFORMATION_SCHEMA has the statistics of the moment."),
    row("init_connect", Global, Anytime, Only(""), "", "Statements run for every new connection."),
    row("innodb_autoinc_lock_mode", Global, Never, int(0, 2), "2", "AUTO_INCREMENT values are given out without a lock."),
    row("innodb_buffer_pool_size", Global, AtStart, int(1 << 20, 1 << 46), "256M", "Most memory for blocks of files, bytes; taken as they are read.")
        .alias("rocksdb_block_cache_size"),
    row("innodb_file_per_table", Global, Never, Bool, "ON", "Tables are kept apart."),
    row("innodb_flush_log_at_trx_commit", Global, Anytime, int(0, 2), "1", "1: a commit is acknowledged when it is on disk; 0 and 2: when the operating system has it.")
        .alias("flush_log_at_trx_commit")
        .effect(Effect::CommitPath),
    row("innodb_lock_wait_timeout", Both, Anytime, int(1, 1_073_741_824), "50", "Seconds to wait for a row lock; then error 1205.")
        .apply(Apply::Int(|session, value| session.row_lock_timeout = Duration::from_secs(value))),
    row("innodb_online_alter_log_max_size", Global, Anytime, int(65536, u64::MAX), "128M", "Memory for the keys that others change while ALTER TABLE copies a table or fills indexes; beyond it that ends with error 1799.")
        .effect(Effect::CommitPath),
    row("innodb_read_only", Global, Never, Bool, "OFF", "Tables cannot be changed."),
    row("innodb_rollback_on_timeout", Global, Never, Bool, "OFF", "A lock wait that times out rolls only its statement back."),
    row("innodb_strict_mode", Both, Anytime, Bool, "ON", "Wrong table options are errors."),
    row("innodb_table_locks", Both, Anytime, Bool, "ON", "LOCK TABLES takes part in the engine's locking."),
    row("innodb_version", Global, Never, Text, "8.0.40", "Version of the engine."),
    row("insecure_root_on_loopback", Global, AtStart, Bool, "OFF", "Let root in over TCP from this machine without a password, while it has none; for trying out, never where others have tunnels or proxies to it."),
    row("insert_id", Session, Anytime, int(0, u64::MAX), "0", "The next AUTO_INCREMENT value of this session, once.")
        .apply(Apply::Int(|session, value| session.insert_id.set((value != 0).then_some(value))))
        .read(Source::Session(|session| Value::UInt(session.insert_id.get().unwrap_or(0)))),
    row("interactive_timeout", Both, Anytime, int(1, YEAR), "28800", "wait_timeout of clients that call themselves interactive."),
    row("internal_tmp_mem_storage_engine", Both, Anytime, Word(&["MEMORY", "TempTable"]), "TempTable", "Nothing depends on it."),
    row("join_buffer_size", Both, Anytime, int(128, u64::MAX), "8388608", "Most memory, bytes, for the rows that a join keeps of one side; more of them are joined in temporary files.")
        .apply(Apply::Int(|session, value| session.join_buffer_size = value)),
    row("journal_cut_at", Global, AtStart, int(0, u64::MAX), "18446744073709551615", "Give up the journal from this lsn on, if the start stops there for damage; see docs/damaged-logs.md."),
    row("journal_segment_size", Global, AtStart, int(1 << 20, 1 << 32), "64M", "Size of the journal's files; they are reused."),
    row("json_as_longtext", Both, Anytime, Bool, "OFF", "CREATE TABLE makes JSON columns LONGTEXT, as MariaDB does, whose replicas take no JSON.")
        .apply(Apply::Flag(|session, on| session.json_as_longtext = on)),
    row("key_buffer_size", Global, Anytime, int(0, u64::MAX), "8388608", "Nothing depends on it: there is no MyISAM."),
    row("last_insert_id", Session, Anytime, int(0, u64::MAX), "0", "What LAST_INSERT_ID() gives.")
        .apply(Apply::Int(|session, value| session.last_insert_id.set(value)))
        .read(Source::Session(last_insert_id)),
    row("lc_messages", Both, Anytime, Only("en_US"), "en_US", "Language of messages."),
    row("lc_time_names", Both, Anytime, Only("en_US"), "en_US", "Language of names of days and months."),
    row("license", Global, Never, Text, "Apache-2.0", "License of the server."),
    row("local_infile", Global, Anytime, OnlyFlag(false), "OFF", "LOAD DATA LOCAL is not there."),
    row("lock_wait_timeout", Both, Anytime, int(1, YEAR), "31536000", "Seconds to wait for a table's definition; then error 1205.")
        .apply(Apply::Int(|session, value| session.table_lock_timeout = Duration::from_secs(value))),
    row("log_bin", Global, AtStart, Bool, "ON", "Every commit is in the binlog; OFF (--skip-log-bin) leaves its files as they are."),
    row("log_bin_basename", Global, Never, Text, "", "Path of the binlog files, without their number."),
    row("log_bin_index", Global, Never, Text, "", "Path of the list of binlog files."),
    row("log_bin_trust_function_creators", Global, Anytime, Bool, "OFF", "Nothing depends on it: there are no stored functions."),
    row("log_error", Global, AtStart, Text, "stderr", "File that messages for the operator are appended to, in the data directory unless it has a path; FLUSH LOGS and SIGHUP open it again."),
    row("log_error_services", Global, Anytime, Word(LOG_SERVICES), LOG_SERVICES[0], "Write messages for the operator as lines of text, or of JSON.")
        .effect(Effect::OperatorLog),
    row("log_error_verbosity", Global, Anytime, int(1, 3), "3", "Messages for the operator: 1 errors, 2 warnings too, 3 notes as well.")
        .effect(Effect::OperatorLog),
    row("log_output", Global, Anytime, Only("NONE"), "NONE", "Statements are not logged."),
    row("log_replica_updates", Global, Never, Bool, "ON", "What a replica applies is in its binlog.")
        .alias("log_slave_updates"),
    row("log_timestamps", Global, Anytime, Only("UTC"), "UTC", "Time zone of messages for the operator."),
    row("long_query_time", Both, Anytime, Double { min: 0.0, max: 31_536_000.0 }, "10", "Seconds from which a statement counts in Slow_queries."),
    row("low_priority_updates", Both, Anytime, OnlyFlag(false), "OFF", "Changes do not wait for reads."),
    row("lower_case_file_system", Global, Never, Bool, "OFF", "Names of files differ by case."),
    row("lower_case_table_names", Global, AtStart, Only("0"), "0", "Names of tables differ by case."),
    row("mandatory_roles", Global, Anytime, Kind::Roles, "", "Roles that every account has, as if granted; they cannot be revoked or dropped. Setting it takes ROLE_ADMIN as well.")
        .effect(Effect::MandatoryRoles),
    row("max_allowed_packet", GlobalSessionReadOnly, Anytime, int(1024, 1 << 30), "64M", "Longest packet from a client and longest string, bytes.")
        .apply(Apply::Int(|session, value| session.max_allowed_packet = value as usize)),
    row("max_binlog_cache_size", Global, Anytime, int(4096, 18_446_744_073_709_547_520), "18446744073709547520", "Longest transaction in the binlog, bytes; then error 1197. For sessions that begin later. 4 GiB less 64 MiB is the most in any case; under a classic commit protocol, and in an XA transaction, 1 GiB.")
        .apply(Apply::Int(|session, value| session.max_binlog_cache_size = value)),
    row("max_binlog_size", Global, Anytime, int(4096, 1 << 30), "1G", "Size at which a new binlog file begins, bytes.")
        .effect(Effect::CommitPath),
    row("max_binlog_total_size", Global, Anytime, int(0, 1 << 62), "0", "Size of all binlog files together at which the oldest are purged, bytes: at a start, at FLUSH BINARY LOGS, and once a minute; 0 for any.")
        .alias("binlog_space_limit"),
    row("max_connect_errors", Global, Anytime, int(1, u64::MAX), "100", "Handshakes that a host may break off in a row, wrong passwords not counted; then error 1129 until FLUSH HOSTS. Not for 127.0.0.1 and ::1."),
    row("max_connections", Global, Anytime, int(1, 100_000), "1024", "Most clients at a time; then error 1040. One more may be root. Those who have not logged in have places of their own."),
    row("max_digest_length", Global, AtStart, int(0, 1_048_576), "1024", "Longest digest of a statement."),
    row("max_error_count", Both, Anytime, int(0, 65535), "1024", "Most warnings kept of a statement; all of them are counted.")
        .apply(Apply::Int(|session, value| session.max_diagnostics = value as usize)),
    row("max_execution_time", Both, Anytime, int(0, 4_294_967_295), "0", "Milliseconds that a SELECT may take; then error 3024. 0 for no limit.")
        .apply(Apply::Int(|session, value| session.max_execution_time = (value != 0).then(|| Duration::from_millis(value)))),
    row("max_heap_table_size", Both, Anytime, int(16_384, u64::MAX), "16777216", "Nothing depends on it: there are no MEMORY tables."),
    row("max_join_size", Both, Anytime, int(1, u64::MAX), "18446744073709551615", "Most rows that a SELECT may look at."),
    row("max_prepared_stmt_count", Global, Anytime, int(0, 4_194_304), "16382", "Most prepared statements of all sessions; then error 1461."),
    row("max_session_prepared_stmt_count", Global, Anytime, int(0, 4_194_304), "8192", "Most prepared statements of one session; then error 1461."),
    row("max_sort_length", Both, Anytime, int(4, 8_388_608), "1024", "Strings are sorted by their whole length."),
    row("max_unauthenticated_connections", Global, Anytime, int(1, 100_000), "1024", "Most clients at a time that have not logged in yet; the one that has waited longest makes room for another."),
    row("max_unauthenticated_connections_per_host", Global, Anytime, int(1, 100_000), "512", "The same for each host. The Unix socket is a host."),
    row("max_user_connections", GlobalSessionReadOnly, Anytime, int(0, 4_294_967_295), "0", "Most connections of an account at a time that has no limit of its own; then error 1203. 0 for none. Accounts with CONNECTION_ADMIN have no limit but their own."),
    row("net_buffer_length", GlobalSessionReadOnly, Anytime, int(1024, 1 << 20), "16K", "Bytes of a result collected before they are sent."),
    row("net_read_timeout", Both, Anytime, int(1, YEAR), "30", "Seconds to wait for the rest of a packet, or for 16 KB more of it."),
    row("net_retry_count", Both, Anytime, int(1, u64::MAX), "10", "Interrupted reads are always repeated."),
    row("net_write_timeout", Both, Anytime, int(1, YEAR), "60", "Seconds to wait for a client to take its result."),
    row("old_alter_table", Both, Anytime, OnlyFlag(false), "OFF", "ALTER TABLE chooses its way itself."),
    row("open_files_limit", Global, Never, int(0, u64::MAX), "0", "Files that the process may open."),
    row("optimizer_search_depth", Both, Anytime, int(0, 62), "62", "Nothing depends on it."),
    row("optimizer_switch", Both, Anytime, Kind::Switches, "default", "Switches of the planner, of which derived_condition_pushdown has an effect: conditions on derived tables get into them.")
        .apply(Apply::Text(|session, value| session.pushes_conditions = pushes_conditions(value))),
    row("original_commit_timestamp", Session, Anytime, int(0, 36_028_797_018_963_968), "36028797018963968", "What mysqlbinlog says of a transaction; nothing depends on it."),
    row("original_server_version", Session, Anytime, int(0, 4_294_967_295), "999999", "What mysqlbinlog says of a transaction; nothing depends on it."),
    row("partial_revokes", Global, Anytime, OnlyFlag(false), "OFF", "What is granted globally cannot be revoked for single databases."),
    row("password_history", Global, Anytime, int(0, 4_294_967_295), "0", "So many passwords of an account are not to come back, where it says nothing else; 0 for none."),
    row("password_require_current", Global, Anytime, Bool, "OFF", "Who changes the own password has to give the one until now (REPLACE), where the account says nothing else."),
    row("password_reuse_interval", Global, Anytime, int(0, 4_294_967_295), "0", "For so many days a password is not to come back, where the account says nothing else; 0 for none."),
    row("performance_schema", Global, Never, Bool, "OFF", "Of the performance schema there is metadata_locks only."),
    row("pid_file", Global, AtStart, Text, "", "File to write the process id to; none if empty."),
    row("plugin_dir", Global, Never, Text, "", "Plugins cannot be loaded."),
    row("port", Global, AtStart, int(0, 65535), "3306", "TCP port to listen on; 0 lets the system choose one."),
    row("protocol_version", Global, Never, int(0, 255), "10", "Version of the protocol."),
    row("proxy_user", Session, Never, TextOrNull, "NULL", "The account that stands in for another."),
    row("pseudo_replica_mode", Session, Anytime, Bool, "OFF", "What mysqlbinlog sets before it has events applied; nothing depends on it."),
    row("pseudo_slave_mode", Session, Anytime, Bool, "OFF", "The same under its former name, as mariadb-binlog writes it."),
    row("pseudo_thread_id", Session, Anytime, int(0, u64::MAX), "0", "The connection's id in binlog statements.")
        .restricted()
        .read(Source::ConnectionId),
    row("query_alloc_block_size", Both, Anytime, int(1024, 4_294_967_295), "8192", "Taken and shown, without effect."),
    row("read_buffer_size", Both, Anytime, int(8192, 2_147_479_552), "131072", "Nothing depends on it."),
    row("read_only", Global, Anytime, Bool, "OFF", "Refuse changes (error 1290), but for accounts with CONNECTION_ADMIN or SUPER. SET waits for what is under way.")
        .leads("super_read_only", |on| (on == "OFF").then_some("OFF"))
        .effect(Effect::ReadOnly),
    row("read_rnd_buffer_size", Both, Anytime, int(1, 2_147_483_647), "262144", "Nothing depends on it."),
    row("redb_cache_size", Global, AtStart, int(1 << 20, 1 << 46), "64M", "Most memory for pages of redb tables, bytes; taken as they are read and written."),
    row("redb_layer_size", Global, AtStart, int(1 << 16, 1 << 32), "8M", "Changes of redb tables kept in memory before they are written into the tree, bytes."),
    row("require_secure_transport", Global, Anytime, Bool, "OFF", "Refuse connections over TCP that are not encrypted."),
    row("reset_root", Global, AtStart, Bool, "OFF", "Make root@localhost anew, without a password: for the Unix socket."),
    row("rpl_semi_sync_source_enabled", Global, Anytime, Bool, "OFF", "Commits wait until replicas have their events.")
        .alias("rpl_semi_sync_master_enabled")
        .effect(Effect::CommitPath),
    row("rpl_semi_sync_source_timeout", Global, Anytime, int(0, 4_294_967_295), "10000", "Milliseconds that a commit waits for replicas; then replication is asynchronous until they are up to date again.")
        .alias("rpl_semi_sync_master_timeout")
        .effect(Effect::CommitPath),
    row("rpl_semi_sync_source_wait_for_replica_count", Global, Anytime, int(1, 65535), "1", "So many replicas have to have a commit's events.")
        .alias("rpl_semi_sync_master_wait_for_slave_count")
        .effect(Effect::CommitPath),
    row("rpl_semi_sync_source_wait_no_replica", Global, Anytime, Bool, "ON", "Commits wait although fewer replicas are connected than have to have their events.")
        .alias("rpl_semi_sync_master_wait_no_slave")
        .effect(Effect::CommitPath),
    row("rpl_semi_sync_source_wait_point", Global, Anytime, Only("AFTER_SYNC"), "AFTER_SYNC", "Nobody sees a transaction before replicas have it.")
        .alias("rpl_semi_sync_master_wait_point"),
    row("secure_file_priv", Global, Never, TextOrNull, "NULL", "Statements cannot read or write files."),
    row("server_id", Global, AtStart, int(1, 4_294_967_295), "1", "Number of this server in binlog events; different for every server."),
    row("server_uuid", Global, Never, Text, "", "The source in this server's GTIDs, kept in auto.cnf."),
    row("session_track_gtids", Both, Anytime, Word(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF", "GTIDs in the OK packets of commits: the transaction's own, or all that are executed.")
        .apply(Apply::Text(|session, which| session.tracks_gtids = &**which != "OFF")),
    row("session_track_schema", Both, Anytime, Bool, "ON", "Report a new default database in OK packets."),
    row("session_track_state_change", Both, Anytime, OnlyFlag(false), "OFF", "State changes in general are not reported."),
    row("session_track_system_variables", Both, Anytime, Text, "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", "Variables whose new values are reported in OK packets; * for all."),
    row("session_track_transaction_info", Both, Anytime, Only("OFF"), "OFF", "Transaction states are not reported."),
    row("skip_external_locking", Global, Never, Bool, "ON", "Files are not shared with other servers."),
    row("skip_name_resolve", Global, AtStart, OnlyFlag(true), "ON", "Hosts are known by their addresses."),
    row("skip_networking", Global, AtStart, Bool, "OFF", "Listen on the Unix socket only."),
    row("skip_show_database", Global, Never, Bool, "OFF", "Everyone sees every database."),
    row("slow_query_log", Global, Anytime, OnlyFlag(false), "OFF", "There is no log of slow statements."),
    row("socket", Global, AtStart, Text, "cohort.sock", "Path of the Unix socket, from the data directory if relative; empty for none."),
    row("sort_buffer_size", Both, Anytime, int(32_768, u64::MAX), "8388608", "Most memory, bytes, for the rows of a sort; more of them are sorted in temporary files.")
        .apply(Apply::Int(|session, value| session.sort_buffer_size = value)),
    row("sql_auto_is_null", Both, Anytime, OnlyFlag(false), "OFF", "IS NULL does not find the last inserted row."),
    row("sql_big_selects", Both, Anytime, OnlyFlag(true), "ON", "SELECT may look at any number of rows."),
    row("sql_buffer_result", Both, Anytime, OnlyFlag(false), "OFF", "Results are sent as they are made."),
    row("sql_generate_invisible_primary_key", Both, Anytime, OnlyFlag(false), "OFF", "Tables without a primary key get none."),
    row("sql_log_bin", Session, Anytime, Bool, "ON", "Put this session's transactions into the binlog.")
        .restricted()
        .apply(Apply::Flag(|session, on| session.log_to_binlog = on)),
    row("sql_log_off", Both, Anytime, OnlyFlag(false), "OFF", "There is no general log."),
    row("sql_mode", Both, Anytime, SqlMode, "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", "Which values and statements are accepted.")
        .apply(Apply::Text(|session, list| session.sql_mode = Modes::parse(list).unwrap_or(Modes::DEFAULT))),
    row("sql_notes", Both, Anytime, Bool, "ON", "Keep notes beside warnings.")
        .apply(Apply::Flag(|session, on| session.notes = on)),
    row("sql_quote_show_create", Both, Anytime, OnlyFlag(true), "ON", "SHOW CREATE TABLE quotes names."),
    row("sql_require_primary_key", Both, Anytime, OnlyFlag(false), "OFF", "Tables need no primary key."),
    row("sql_safe_updates", Both, Anytime, Bool, "OFF", "UPDATE and DELETE must use a key, or have a LIMIT: else error 1175.")
        .apply(Apply::Flag(|session, on| session.safe_updates = on)),
    row("sql_select_limit", Both, Anytime, int(0, u64::MAX), "18446744073709551615", "Rows that a SELECT without LIMIT gives.")
        .apply(Apply::Int(|session, value| session.select_limit = value)),
    row("sql_warnings", Both, Anytime, OnlyFlag(false), "OFF", "INSERT of one row gives no info text."),
    row("ssl_ca", Global, Anytime, Text, "", "File of certificates, in PEM, whose issuers' certificates clients may show; from the data directory if relative. ALTER INSTANCE RELOAD TLS reads it again."),
    row("ssl_cert", Global, Anytime, Text, "", "File of the server's certificate, in PEM, with those that lead to its issuer. Where neither this nor ssl_key is set, both are made in the data directory."),
    row("ssl_key", Global, Anytime, Text, "", "File of the certificate's key, in PEM."),
    row("super_read_only", Global, Anytime, Bool, "OFF", "Refuse changes by anybody.")
        .leads("read_only", |on| (on == "ON").then_some("ON"))
        .effect(Effect::ReadOnly),
    row("support_xa", Global, AtStart, Bool, "ON", "Under commit_protocol=mysql50 transactions are prepared; without, a crash can leave binlog and engine different.")
        .alias("innodb_support_xa"),
    row("sync_binlog", Global, Anytime, int(0, 4_294_967_295), "1", "Sync the log with every N-th cohort; 1 is durable, 0 leaves it to the operating system.")
        .effect(Effect::CommitPath),
    row("system_time_zone", Global, Never, Text, "UTC", "Time zone of this machine."),
    row("table_definition_cache", Global, Anytime, int(400, 524_288), "2000", "Table definitions are all in memory."),
    row("table_open_cache", Global, Anytime, int(1, 524_288), "4000", "Tables are not opened one by one."),
    row("thread_cache_size", Global, Anytime, Only("0"), "0", "Threads of the pool are kept for a minute."),
    row("thread_handling", Global, Never, Text, "pool-of-threads", "How connections get their threads."),
    row("thread_pool_size", Global, AtStart, int(0, 1024), "0", "Workers that run at a time; 0 for one more than processors."),
    row("thread_pool_stall_limit", Global, AtStart, int(4, 600_000), "10", "Milliseconds that a command may compute before it gives way to others, and another worker runs beside it if they wait."),
    row("thread_stack", Global, AtStart, int(256 << 10, 64 << 20), "1M", "Stack of a worker, bytes; taken as it is used."),
    row("time_zone", Both, Anytime, TimeZone, "SYSTEM", "The session's time zone: SYSTEM, or an offset such as +02:00.")
        .apply(Apply::Text(|session, name| session.time_zone = Zone::parse(name).unwrap_or(Zone::UTC))),
    row("timestamp", Session, Anytime, Double { min: 0.0, max: 2_147_483_647.0 }, "0", "The session's present time, seconds since 1970; 0 for the clock's.")
        .apply(Apply::Double(|session, seconds| session.fixed_now_us = (seconds != 0.0).then_some((seconds * 1e6) as i64)))
        .read(Source::Session(|session| Value::Double(session.fixed_now_us.unwrap_or_else(now_us) as f64 / 1e6))),
    row("tls_version", Global, Anytime, Word(&["TLSv1.2,TLSv1.3", "TLSv1.3", "TLSv1.2", ""]), "TLSv1.2,TLSv1.3", "Versions of TLS that clients are offered, from the start or ALTER INSTANCE RELOAD TLS on; empty for no encryption."),
    row("tmp_table_size", Both, Anytime, int(1024, u64::MAX), "16777216", "Most memory, bytes, for the groups of a query, its distinct rows, a set operation, the rows of a window or of a table of WITH, each; what is more is kept in temporary files.")
        .apply(Apply::Int(|session, value| session.tmp_table_size = value)),
    row("tmpdir", Global, AtStart, Text, "/tmp", "Directory of temporary files, which have no names."),
    row("transaction_isolation", Both, Anytime, Word(&["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]), "REPEATABLE-READ", "When transactions take their snapshot, and what they lock; READ-UNCOMMITTED is taken as READ-COMMITTED.")
        .alias("tx_isolation")
        .apply(Apply::Text(|session, level| session.isolation = IsolationLevel::named(level).map_or(Isolation::RepeatableRead, IsolationLevel::isolation))),
    row("transaction_read_only", Both, Anytime, Bool, "OFF", "Transactions may not write.")
        .alias("tx_read_only")
        .apply(Apply::Flag(|session, on| session.read_only = on)),
    row("unique_checks", Both, Anytime, Bool, "ON", "Unique keys are checked either way."),
    row("updatable_views_with_limit", Both, Anytime, Only("YES"), "YES", "There are no views to update."),
    row("version", Global, AtStart, Text, crate::VERSION, "Version that clients are given; 5.7.44 for those that do not know 8.0, such as mariadb-binlog."),
    row("version_comment", Global, Never, Text, "Cohort", "What the server is."),
    row("version_compile_machine", Global, Never, Text, std::env::consts::ARCH, "Processor the server was built for."),
    row("version_compile_os", Global, Never, Text, std::env::consts::OS, "Operating system the server was built for."),
    row("wait_timeout", Both, Anytime, int(1, YEAR), "28800", "Seconds a connection may be idle."),
    row("warning_count", Session, Never, int(0, 65535), "0", "Warnings of the last statement.")
        .read(Source::Session(|session| Value::UInt(session.diagnostic_counts().0))),
    row("write_buffer_size", Global, AtStart, int(1 << 20, 1 << 32), "16M", "Changes that RocksDB keeps in memory before it writes a file, bytes."),
    row("xa_detach_on_prepare", Both, Anytime, OnlyFlag(true), "ON", "A prepared XA transaction belongs to no session any more."),
];
