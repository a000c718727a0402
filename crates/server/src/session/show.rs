//! The SHOW statements that the server itself answers.

mod status;

use std::sync::Arc;

use cohort_engine::Engine;
use cohort_sql::ast::{AccountName, ShowKind};
use cohort_sql::collation::Collation;
use cohort_sql::error::{ER_CANNOT_USER, ER_NO_BINARY_LOGGING};
use cohort_sql::expr::VariableScope;
use cohort_sql::privilege::needs::{Holder, Need};
use cohort_sql::privilege::{PRIVILEGES, Privilege, PrivilegeRow, PrivilegeSet};
use cohort_sql::session::{SessionState, ShowTable};
use cohort_sql::types::{FieldType, ResultType};
use cohort_sql::{SqlError, Value};
use cohort_txn::LockProfile;

use crate::protocol::auth::AuthPlugin;
use crate::server::Server;
use crate::session::environment::SessionEnvironment;
use crate::session::variables;
use crate::sysvars::{VariableId, ids};

const fn text(chars: u32) -> ResultType {
    ResultType {
        field: FieldType::VarString,
        length: chars,
        decimals: 0,
        unsigned: false,
        nullable: true,
        collation: Collation::Utf8mb4_0900AiCi,
    }
}

const fn number() -> ResultType {
    ResultType {
        field: FieldType::LongLong,
        length: 20,
        decimals: 0,
        unsigned: true,
        nullable: false,
        collation: Collation::Binary,
    }
}

fn texts<const N: usize>(row: [&str; N]) -> Vec<Value> {
    row.into_iter().map(Value::text).collect()
}

/// The rows of `what`; 1235 for what is not there.
pub fn table(environment: &SessionEnvironment, session: &SessionState, what: &ShowKind) -> Result<ShowTable, SqlError> {
    let server = &*environment.server;
    Ok(match what {
        ShowKind::Variables(scope) => variables_table(environment, session, *scope),
        ShowKind::Status(scope) => status_table(environment, *scope),
        ShowKind::ProcessList { full } => process_table(server, *full, &session.holder),
        ShowKind::BinaryLogs => binary_logs(server)?,
        ShowKind::BinaryLogStatus => binary_log_status(server),
        ShowKind::Engines => engines(server, session),
        ShowKind::Engine { name, what } => engine(server, name, what)?,
        ShowKind::Collation => collations(),
        ShowKind::CharacterSet => character_sets(),
        ShowKind::Plugins => plugins(),
        ShowKind::Privileges => privileges(),
        ShowKind::Grants { account, roles } => grants(environment, session, account.as_ref(), roles)?,
        ShowKind::CreateUser { account } => create_user(environment, session, account.clone())?,
        ShowKind::ReplicaStatus => ShowTable { columns: vec![("Replica_IO_State", text(14))], rows: Vec::new() },
        ShowKind::Replicas => {
            let columns = vec![
                ("Server_Id", number()),
                ("Host", text(60)),
                ("Port", number()),
                ("Source_Id", number()),
                ("Replica_UUID", text(36)),
            ];
            ShowTable { columns, rows: Vec::new() }
        }
    })
}

fn variables_table(environment: &SessionEnvironment, session: &SessionState, scope: VariableScope) -> ShowTable {
    let global = scope == VariableScope::Global;
    let listed = VariableId::all().filter_map(|id| {
        // SHOW SESSION VARIABLES lists global ones as well, SHOW GLOBAL VARIABLES no session ones.
        let scope = if global { VariableScope::Global } else { VariableScope::Any };
        Some((id, variables::reads_global(id.row(), scope).ok()?))
    });
    let mut rows = Vec::new();
    for (id, global) in listed {
        let value = environment.shown(session, id, global);
        rows.push((id.row().name, value.clone()));
        rows.extend(id.row().alias.map(|alias| (alias, value)));
    }
    rows.sort();
    let rows = rows.into_iter().map(|(name, value)| vec![Value::text(name), Value::text(value)]).collect();
    ShowTable { columns: vec![("Variable_name", text(64)), ("Value", text(2048))], rows }
}

fn status_table(environment: &SessionEnvironment, scope: VariableScope) -> ShowTable {
    let mut list = status::list(&environment.server);
    let tls = environment.process.socket().tls().filter(|_| scope != VariableScope::Global);
    list.push(("Ssl_cipher".to_owned(), tls.map(|tls| tls.cipher.clone()).unwrap_or_default()));
    list.push(("Ssl_version".to_owned(), tls.map(|tls| tls.version.to_owned()).unwrap_or_default()));
    list.sort();
    let rows = list.into_iter().map(|(name, value)| vec![Value::text(name), Value::text(value)]).collect();
    ShowTable { columns: vec![("Variable_name", text(64)), ("Value", text(2048))], rows }
}

fn process_table(server: &Server, full: bool, holder: &Holder) -> ShowTable {
    // Without PROCESS one sees one's own.
    let seen = |user: &str| holder.grants.global().has(Privilege::Process) || *user == holder.user;
    let rows = server.processes.list().into_iter().filter_map(|process| {
        let activity = process.activity();
        if !seen(&activity.user) {
            return None;
        }
        let shown = if full { activity.info.len() } else { activity.info.len().min(100) };
        let info = match &activity.info[..shown] {
            [] => Value::Null,
            info => Value::text(String::from_utf8_lossy(info)),
        };
        let row = vec![
            Value::UInt(u64::from(process.id)),
            Value::Text(activity.user),
            Value::text(process.host.as_str()),
            activity.database.map_or(Value::Null, Value::Text),
            Value::text(if process.is_killed() { "Killed" } else { activity.command }),
            Value::UInt(activity.since.elapsed().as_secs()),
            Value::text(activity.state),
            info,
        ];
        Some(row)
    });
    let columns = vec![
        ("Id", number()),
        ("User", text(32)),
        ("Host", text(261)),
        ("db", text(64)),
        ("Command", text(16)),
        ("Time", number()),
        ("State", text(30)),
        ("Info", text(1024)),
    ];
    ShowTable { columns, rows: rows.collect() }
}

fn binary_logs(server: &Server) -> Result<ShowTable, SqlError> {
    if !server.store().log_bin() {
        return Err(SqlError::new(ER_NO_BINARY_LOGGING, &[]));
    }
    let files = server.store().binlog().list();
    let current = server.store().executed().0;
    let rows = files.into_iter().map(|file| {
        // Beyond this position the current file has space set aside, not events.
        let bytes = if file.number == current.file_number { current.offset } else { file.bytes };
        vec![Value::text(file.name), Value::UInt(bytes), Value::text("No")]
    });
    let columns = vec![("Log_name", text(255)), ("File_size", number()), ("Encrypted", text(3))];
    Ok(ShowTable { columns, rows: rows.collect() })
}

fn binary_log_status(server: &Server) -> ShowTable {
    let (position, gtids) = server.store().executed();
    let file = server.store().binlog().file_name(position.file_number);
    let row = vec![
        Value::text(file),
        Value::UInt(position.offset),
        Value::text(""),
        Value::text(""),
        Value::text(gtids.to_string()),
    ];
    let columns = vec![
        ("File", text(255)),
        ("Position", number()),
        ("Binlog_Do_DB", text(255)),
        ("Binlog_Ignore_DB", text(255)),
        ("Executed_Gtid_Set", text(2048)),
    ];
    let rows = if server.store().log_bin() { vec![row] } else { Vec::new() };
    ShowTable { columns, rows }
}

fn engines(server: &Server, session: &SessionState) -> ShowTable {
    let columns = vec![
        ("Engine", text(64)),
        ("Support", text(8)),
        ("Comment", text(80)),
        ("Transactions", text(3)),
        ("XA", text(3)),
        ("Savepoints", text(3)),
    ];
    let row = |name: &str, comment: &str| {
        let there = |engine: &Arc<dyn Engine>| engine.name() == name || name == "InnoDB";
        let default = session.default_engine.as_deref().unwrap_or("RocksDB").eq_ignore_ascii_case(name);
        let support = match server.store().engines().iter().any(there) {
            true if default => "DEFAULT",
            true => "YES",
            false => "DISABLED",
        };
        texts([name, support, comment, "YES", "YES", "YES"])
    };
    let rows = vec![
        row("InnoDB", "Another name for RocksDB"),
        row("RocksDB", "Log-structured tables"),
        row("redb", "B-tree tables"),
    ];
    ShowTable { columns, rows }
}

/// The commit path's locks, those that were waited for longest first: also `information_schema.commit_mutex`.
fn commit_mutex(server: &Server) -> ShowTable {
    let columns = vec![
        ("LOCK_NAME", text(64)),
        ("CALLER", text(64)),
        ("COUNT", number()),
        ("WAITS", number()),
        ("WAIT_SUM_NS", number()),
        ("WAIT_MEAN_NS", number()),
        ("WAIT_MAX_NS", number()),
        ("HOLD_SUM_NS", number()),
        ("HOLD_MEAN_NS", number()),
        ("HOLD_MAX_NS", number()),
    ];
    let rows = server.store().lock_profile().into_iter().map(|LockProfile { lock, caller, cost }| {
        let wait = [cost.wait_ns, cost.wait_mean_ns(), cost.wait_max_ns];
        let hold = [cost.hold_ns, cost.hold_mean_ns(), cost.hold_max_ns];
        let numbers = [cost.count, cost.waits].into_iter().chain(wait).chain(hold).map(Value::UInt);
        texts([lock, caller]).into_iter().chain(numbers).collect()
    });
    ShowTable { columns, rows: rows.collect() }
}

fn engine(server: &Server, name: &str, what: &str) -> Result<ShowTable, SqlError> {
    if name.eq_ignore_ascii_case("COMMIT") && what.eq_ignore_ascii_case("MUTEX") {
        return Ok(commit_mutex(server));
    }
    let wanted = if name.eq_ignore_ascii_case("InnoDB") { "RocksDB" } else { name };
    let engine = server.store().engines().iter().find(|engine| engine.name().eq_ignore_ascii_case(wanted));
    let Some(engine) = engine.filter(|_| what.eq_ignore_ascii_case("STATUS")) else {
        return Err(SqlError::unsupported(format_args!("SHOW ENGINE {name} {what}")));
    };
    let mut lines = String::new();
    for (stat, value) in engine.stats() {
        lines.push_str(&format!("{}.{stat} {value}\n", engine.name()));
    }
    let columns = vec![("Type", text(10)), ("Name", text(512)), ("Status", text(65535))];
    Ok(ShowTable { columns, rows: vec![texts([engine.name(), "", lines.as_str()])] })
}

const COLLATIONS: &[Collation] = &[
    Collation::Binary,
    Collation::Utf8mb4_0900AiCi,
    Collation::Utf8mb4_0900Bin,
    Collation::Utf8mb4Bin,
    Collation::Utf8mb4GeneralCi,
];

fn collations() -> ShowTable {
    let rows = COLLATIONS.iter().map(|collation| {
        let default = matches!(collation, Collation::Binary | Collation::Utf8mb4_0900AiCi);
        let pads = matches!(collation, Collation::Utf8mb4Bin | Collation::Utf8mb4GeneralCi);
        vec![
            Value::text(collation.name()),
            Value::text(collation.charset()),
            Value::UInt(u64::from(collation.id())),
            Value::text(if default { "Yes" } else { "" }),
            Value::text("Yes"),
            Value::UInt(if *collation == Collation::Utf8mb4_0900AiCi { 0 } else { 1 }),
            Value::text(if pads { "PAD SPACE" } else { "NO PAD" }),
        ]
    });
    let columns = vec![
        ("Collation", text(64)),
        ("Charset", text(64)),
        ("Id", number()),
        ("Default", text(3)),
        ("Compiled", text(3)),
        ("Sortlen", number()),
        ("Pad_attribute", text(9)),
    ];
    ShowTable { columns, rows: rows.collect() }
}

fn character_sets() -> ShowTable {
    let columns =
        vec![("Charset", text(64)), ("Description", text(2048)), ("Default collation", text(64)), ("Maxlen", number())];
    let row = |name: &str, description: &str, collation: Collation, bytes| {
        vec![Value::text(name), Value::text(description), Value::text(collation.name()), Value::UInt(bytes)]
    };
    let rows = vec![
        row("binary", "Binary pseudo charset", Collation::Binary, 1),
        row("utf8mb4", "UTF-8 Unicode", Collation::DEFAULT, 4),
    ];
    ShowTable { columns, rows }
}

fn plugins() -> ShowTable {
    let columns = vec![
        ("Name", text(64)),
        ("Status", text(10)),
        ("Type", text(80)),
        ("Library", text(64)),
        ("License", text(80)),
    ];
    let row = |name: &str, kind: &str| {
        vec![Value::text(name), Value::text("ACTIVE"), Value::text(kind), Value::Null, Value::text("Apache-2.0")]
    };
    let rows = vec![
        row("binlog", "STORAGE ENGINE"),
        row(AuthPlugin::NativePassword.name(), "AUTHENTICATION"),
        row(AuthPlugin::CachingSha2.name(), "AUTHENTICATION"),
        row("InnoDB", "STORAGE ENGINE"),
        row("RocksDB", "STORAGE ENGINE"),
        row("redb", "STORAGE ENGINE"),
    ];
    ShowTable { columns, rows }
}

fn privileges() -> ShowTable {
    let columns = vec![("Privilege", text(32)), ("Context", text(64)), ("Comment", text(255))];
    // Static privileges are shown as words, dynamic ones as they are written.
    let name = |row: &PrivilegeRow| match row.dynamic {
        true => row.name.to_owned(),
        false => row.name[..1].to_owned() + &row.name[1..].to_lowercase(),
    };
    let rows = PRIVILEGES.iter().map(|row| texts([&*name(row), row.context, row.meaning]));
    ShowTable { columns, rows: rows.collect() }
}

fn create_user(
    environment: &SessionEnvironment,
    session: &SessionState,
    account: Option<AccountName>,
) -> Result<ShowTable, SqlError> {
    let own = environment.identity().account();
    let account = account.unwrap_or_else(|| own.clone());
    if account != own {
        session.holder.check(&[Need::AnyOf(PrivilegeSet::of(&[Privilege::CreateUser, Privilege::Select]))])?;
    }
    let default = environment.server.globals.get(ids::DEFAULT_AUTHENTICATION_PLUGIN);
    let statement = environment.server.accounts.create_statement(&account, &default, session.sql_mode);
    let name = || format!("'{}'@'{}'", account.user, account.host);
    let statement = statement.ok_or_else(|| SqlError::new(ER_CANNOT_USER, &[&"SHOW CREATE USER", &name()]))?;
    Ok(ShowTable { columns: vec![("CREATE USER", text(1024))], rows: vec![vec![Value::text(statement)]] })
}

/// SHOW GRANTS; another account's are for those who may read `mysql`.
fn grants(
    environment: &SessionEnvironment,
    session: &SessionState,
    account: Option<&AccountName>,
    roles: &[AccountName],
) -> Result<ShowTable, SqlError> {
    let own = environment.identity().account();
    let name = account.unwrap_or(&own);
    if *name != own {
        session.holder.check(&[Need::OnDatabase("mysql".to_owned(), Privilege::Select.into())])?;
    }
    // One's own are shown with the roles that are active.
    let active: Vec<AccountName> = environment.active_roles().into_iter().collect();
    let with = if account.is_none() { &active } else { roles };
    let rows = environment.server.accounts.show_grants(name, with)?;
    let rows = rows.into_iter().map(|row| vec![Value::text(row)]).collect();
    Ok(ShowTable { columns: vec![("Grants", text(1024))], rows })
}
