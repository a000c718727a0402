//! SHOW PROCESSLIST.

use cohort_sql::Value;
use cohort_sql::privilege::Privilege;
use cohort_sql::privilege::needs::Holder;
use cohort_sql::session::ShowTable;

use super::{number, text};
use crate::server::Server;

pub(super) fn process_table(server: &Server, full: bool, holder: &Holder) -> ShowTable {
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
