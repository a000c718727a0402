//! SHOW BINARY LOGS, SHOW MASTER STATUS and SHOW BINLOG EVENTS; SHOW REPLICAS.

use cohort_binlog::{BinlogPosition, Event, EventBody, Followed};
use cohort_sql::error::{ER_ERROR_WHEN_EXECUTING_COMMAND, ER_NO_BINARY_LOGGING, ER_QUERY_INTERRUPTED};
use cohort_sql::memory::MemoryUse;
use cohort_sql::session::{SessionState, ShowTable};
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

/// SHOW BINLOG EVENTS: of a file, what is durable of it.
pub(super) fn events(
    server: &Server,
    session: &SessionState,
    file: Option<&str>,
    from: u64,
    limit: (u64, u64),
) -> Result<ShowTable, SqlError> {
    let columns = vec![
        ("Log_name", text(20)),
        ("Pos", number()),
        ("Event_type", text(20)),
        ("Server_id", number()),
        ("End_log_pos", number()),
        ("Info", text(20)),
    ];
    if !server.store().log_bin() {
        return Ok(ShowTable { columns, rows: Vec::new() });
    }
    let failed =
        |what: &dyn std::fmt::Display| SqlError::new(ER_ERROR_WHEN_EXECUTING_COMMAND, &[&"SHOW BINLOG EVENTS", what]);
    let binlog = server.store().binlog();
    let file_number = match file {
        Some(name) => binlog.number_of(name),
        None => binlog.list().first().map(|file| file.number),
    };
    let file_number = file_number.ok_or_else(|| failed(&"Could not find target log"))?;
    let name = Value::text(binlog.file_name(file_number));
    let begin = BinlogPosition { file_number, offset: from.max(4) };
    let mut follower = binlog.follow(begin).map_err(|_| failed(&"Wrong offset or I/O error"))?;
    let (mut skip, mut left) = limit;
    // The rows are held in memory until they are sent.
    let mut held = Held { memory: &session.memory, bytes: 0 };
    let mut rows = Vec::new();
    while left > 0
        && let Followed::Event { offset, bytes } = follower.next().map_err(|_| failed(&"Wrong offset or I/O error"))?
    {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        left -= 1;
        if session.interrupt().is_killed() {
            return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
        }
        let event = Event::of(offset, bytes);
        let end = event.header.log_pos;
        let mut show = |event: &Event<'_>, info: String| {
            held.take(ROW_BYTES + info.len())?;
            rows.push(vec![
                name.clone(),
                Value::UInt(offset),
                Value::text(event.header.event_type.name()),
                Value::UInt(event.header.server_id.into()),
                Value::UInt(end.into()),
                Value::text(info),
            ]);
            Ok::<(), SqlError>(())
        };
        match event.decode() {
            Ok(EventBody::TransactionPayload(payload)) => {
                show(&event, EventBody::from(payload).info())?;
                // The events in it follow, at its place.
                let bytes = usize::try_from(payload.decompressed_bytes).unwrap_or(usize::MAX);
                let mut decompressed = Held { memory: &session.memory, bytes: 0 };
                decompressed.take(bytes)?;
                let inside = payload.decompress(offset).map_err(|error| failed(&error))?;
                for event in inside.events() {
                    let event = event.map_err(|error| failed(&error))?;
                    show(&event, event.decode().map_or_else(|error| error.to_string(), |body| body.info()))?;
                }
            }
            Ok(body) => show(&event, body.info())?,
            Err(error) => show(&event, error.to_string())?,
        }
    }
    Ok(ShowTable { columns, rows })
}

/// Memory of a row without its text.
const ROW_BYTES: usize = 200;

/// Memory counted for as long as rows are gathered.
struct Held<'a> {
    memory: &'a MemoryUse,
    bytes: usize,
}

impl Held<'_> {
    fn take(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.memory.keep(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
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
