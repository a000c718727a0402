//! SHOW BINARY LOGS and SHOW MASTER STATUS; SHOW REPLICAS.

use cohort_sql::error::ER_NO_BINARY_LOGGING;
use cohort_sql::session::ShowTable;
use cohort_sql::{SqlError, Value};

use super::{number, text};
use crate::server::Server;

pub(super) fn binary_logs(server: &Server) -> Result<ShowTable, SqlError> {
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

pub(super) fn binary_log_status(server: &Server) -> ShowTable {
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

pub(super) fn replica_status() -> ShowTable {
    ShowTable { columns: vec![("Replica_IO_State", text(14))], rows: Vec::new() }
}

/// SHOW REPLICAS, or with the names of its columns under SHOW SLAVE HOSTS.
pub(super) fn replicas(server: &Server, old_names: bool) -> ShowTable {
    let [id, source, uuid] = match old_names {
        true => ["Server_id", "Master_id", "Slave_UUID"],
        false => ["Server_Id", "Source_Id", "Replica_UUID"],
    };
    let columns = vec![(id, number()), ("Host", text(60)), ("Port", number()), (source, number()), (uuid, text(36))];
    let source_id = u64::from(server.store().server_id());
    let rows = server.replicas.list().into_iter().map(|replica| {
        vec![
            Value::UInt(replica.server_id.into()),
            Value::text(replica.host),
            Value::UInt(replica.port.into()),
            Value::UInt(source_id),
            Value::text(replica.uuid),
        ]
    });
    ShowTable { columns, rows: rows.collect() }
}
