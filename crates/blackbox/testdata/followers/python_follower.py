"""mysql-replication follows a server from a file's beginning: PORT FILE FOLDER. It keeps its place in FOLDER and appends
to FOLDER/changes until it is killed. The place of a change is file, end of the event, and row."""

import datetime
import json
import os
import struct
import sys
import time
import zlib

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.constants import FIELD_TYPE
from pymysqlreplication.event import XidEvent
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

port, first, folder = sys.argv[1:]
place_file = os.path.join(folder, "place")


def cut(path):
    """Opens the file of changes to append to it; what a kill left half written is cut off."""
    file = open(path, "ab+")
    end = file.tell()
    while end > 0:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    file.truncate(end)
    return file


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def summed(data):
    return f"#{len(data)}:{zlib.crc32(data):08x}"


def fraction(micros):
    return f".{micros:06d}".rstrip("0") if micros else ""


def plain(value):
    """A document of bytes as one of texts."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


def shown(value, column):
    if value is None:
        return "\\N"
    if column.type == FIELD_TYPE.JSON:
        return "j" + escaped(json.dumps(plain(value)))
    if column.type == FIELD_TYPE.BIT:
        return str(int(value, 2))
    if isinstance(value, float):
        return "f" + struct.pack(">d", value).hex()
    if isinstance(value, set):
        return ",".join(member for member in column.set_values if member in value)
    if value == "" and column.character_set_name == "binary":
        # Python decodes no bytes as any text.
        value = b""
    if isinstance(value, bytes):
        if column.type == FIELD_TYPE.STRING:
            value = value.rstrip(b"\0")
        return summed(value) if len(value) > 100 else "x" + value.hex()
    if isinstance(value, datetime.datetime):
        whole = f"{value.year:04d}-{value.month:02d}-{value.day:02d} {value.hour:02d}:{value.minute:02d}:{value.second:02d}"
        return whole + fraction(value.microsecond)
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        seconds = abs(micros) // 1_000_000
        whole = f"{'-' if micros < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        return whole + fraction(abs(micros) % 1_000_000)
    text = str(value)
    return summed(text.encode()) if len(text.encode()) > 100 else escaped(text)


def follow(changes):
    try:
        file, position = open(place_file).read().split()
    except FileNotFoundError:
        file, position = first, 4
    stream = BinLogStreamReader(
        connection_settings={"host": "127.0.0.1", "port": int(port), "user": "root", "passwd": ""},
        server_id=5600, blocking=True, slave_heartbeat=1, log_file=file, log_pos=int(position), resume_stream=True,
        only_events=[DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent, XidEvent], only_schemas=["follow"],
    )
    for event in stream:
        if isinstance(event, XidEvent):
            changes.flush()
            with open(place_file + ".new", "w") as new:
                new.write(f"{stream.log_file} {stream.log_pos}")
            os.replace(place_file + ".new", place_file)
            continue
        kind = "+" if isinstance(event, WriteRowsEvent) else "-" if isinstance(event, DeleteRowsEvent) else ">"
        for number, row in enumerate(event.rows):
            images = [row["before_values"], row["after_values"]] if kind == ">" else [row["values"]]
            shows = ["\t".join(shown(value, column) for value, column in zip(image.values(), event.columns)) for image in images]
            line = f"{stream.log_file} {stream.log_pos} {number}\t{kind}\t{event.schema}.{event.table}\t" + "\t=>\t".join(shows)
            changes.write(line.encode() + b"\n")


changes = cut(os.path.join(folder, "changes"))
while True:
    try:
        follow(changes)
    except (pymysql.err.OperationalError, pymysql.err.InternalError, ConnectionError) as error:
        # The server went away. What was written of a transaction that has not ended comes again.
        print(error, file=sys.stderr)
        time.sleep(0.2)
