"""mysql-replication follows the binlog: PORT FILE GTIDS. Prints each row that was changed, to the row that says 'end'."""

import os
import sys

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

port, file, gtids = sys.argv[1:]
place = {"auto_position": gtids} if gtids else {"log_file": file, "log_pos": 4, "resume_stream": True}
stream = BinLogStreamReader(
    connection_settings={"host": "127.0.0.1", "port": int(port), "user": "root", "passwd": ""},
    server_id=os.getpid(), blocking=True, slave_heartbeat=1,
    only_events=[DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent], **place,
)


def shown(values):
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def follow():
    for event in stream:
        for row in event.rows:
            if isinstance(event, WriteRowsEvent):
                print(f"{event.schema}.{event.table} + {shown(row['values'])}")
                if "end" in row["values"].values():
                    return
            elif isinstance(event, DeleteRowsEvent):
                print(f"{event.schema}.{event.table} - {shown(row['values'])}")
            else:
                print(f"{event.schema}.{event.table} {shown(row['before_values'])} > {shown(row['after_values'])}")


follow()
stream.close()
