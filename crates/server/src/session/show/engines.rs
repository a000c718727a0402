//! SHOW ENGINES and SHOW ENGINE.

use std::sync::Arc;

use cohort_engine::Engine;
use cohort_sql::session::{SessionState, ShowTable};
use cohort_sql::{SqlError, Value};
use cohort_txn::LockProfile;

use super::{number, text, texts};
use crate::server::Server;

pub(super) fn engines(server: &Server, session: &SessionState) -> ShowTable {
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

pub(super) fn engine(server: &Server, name: &str, what: &str) -> Result<ShowTable, SqlError> {
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
