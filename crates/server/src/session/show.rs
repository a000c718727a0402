//! The SHOW statements that the server itself answers: what they share, and which file has which.

mod accounts;
mod binary_log;
mod charsets;
mod engines;
mod processes;
mod status;
mod variables;

use cohort_sql::ast::ShowKind;
use cohort_sql::collation::Collation;
use cohort_sql::session::{SessionState, ShowTable};
use cohort_sql::types::{FieldType, ResultType};
use cohort_sql::{SqlError, Value};

use crate::protocol::auth::AuthPlugin;
use crate::session::environment::SessionEnvironment;

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
        ShowKind::Variables(scope) => variables::variables_table(environment, session, *scope),
        ShowKind::Status(scope) => status::status_table(environment, session, *scope),
        ShowKind::ProcessList { full } => processes::process_table(server, *full, &session.holder),
        ShowKind::BinaryLogs => binary_log::binary_logs(server)?,
        ShowKind::BinlogEvents { file, from, limit } => {
            binary_log::events(server, session, file.as_deref(), *from, *limit)?
        }
        ShowKind::BinaryLogStatus => binary_log::binary_log_status(server),
        ShowKind::Engines => engines::engines(server, session),
        ShowKind::Engine { name, what } => engines::engine(server, name, what)?,
        ShowKind::Collation => charsets::collations(),
        ShowKind::CharacterSet => charsets::character_sets(),
        ShowKind::Plugins => plugins(),
        ShowKind::Privileges => accounts::privileges(),
        ShowKind::Grants { account, roles } => accounts::grants(environment, session, account.as_ref(), roles)?,
        ShowKind::CreateUser { account } => accounts::create_user(environment, session, account.clone())?,
        ShowKind::ReplicaStatus => binary_log::replica_status(),
        ShowKind::Replicas { old_names } => binary_log::replicas(server, *old_names),
    })
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
