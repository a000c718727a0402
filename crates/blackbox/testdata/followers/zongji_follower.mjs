// zongji follows a server from a file's beginning: PORT FILE FOLDER. It keeps its place in FOLDER and appends to
// FOLDER/changes until it is killed. The place of a change is file, end of the event, and row.

import fs from 'node:fs';
import path from 'node:path';
import ZongJi from '@vlasky/zongji';

process.env.TZ = 'UTC';
const [port, first, folder] = process.argv.slice(2);
const placeFile = path.join(folder, 'place');
const changes = cut(path.join(folder, 'changes'));

/** Opens the file of changes to append to it; what a kill left half written is cut off. */
function cut(name) {
  const file = fs.openSync(name, 'a+');
  const bytes = fs.readFileSync(name);
  fs.ftruncateSync(file, bytes.lastIndexOf(10) + 1);
  return file;
}

function escaped(text) {
  return text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n');
}

const table = Uint32Array.from({ length: 256 }, (_, number) => {
  let sum = number;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
  return sum;
});

function summed(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = table[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  return `#${bytes.length}:${((sum ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0')}`;
}

function real(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(number);
  return `f${bytes.toString('hex')}`;
}

function binary(bytes, padded) {
  let end = bytes.length;
  while (padded && end > 0 && bytes[end - 1] === 0) end--;
  return bytes.length > 100 ? summed(bytes) : `x${bytes.subarray(0, end).toString('hex')}`;
}

function trimmed(text) {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** The text of a document, of which a string alone comes without its quotes. */
function json(value) {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    JSON.parse(value);
    return value;
  } catch {
    return JSON.stringify(value);
  }
}

function shown(value, schema) {
  if (value === null) return '\\N';
  const type = schema.COLUMN_TYPE.toLowerCase();
  const name = type.split(/[( ]/)[0];
  switch (name) {
    case 'float': case 'double': return real(value);
    case 'json': return `j${escaped(json(value))}`;
    case 'binary': case 'varbinary': case 'tinyblob': case 'blob': case 'mediumblob': case 'longblob':
      return binary(Buffer.isBuffer(value) ? value : Buffer.from(value, 'latin1'), name === 'binary');
    case 'bit': return String(Buffer.isBuffer(value) ? BigInt(`0x${value.toString('hex')}`) : value);
    case 'set': return Array.isArray(value) ? value.join(',') : String(value);
    case 'date': case 'datetime': case 'timestamp': case 'time':
      if (value instanceof Date) {
        const text = value.toISOString().replace('T', ' ').replace('Z', '');
        return name === 'date' ? text.slice(0, 10) : trimmed(text);
      }
      return trimmed(String(value));
    default: {
      const text = String(value);
      const bytes = Buffer.from(text);
      return bytes.length > 100 ? summed(bytes) : escaped(text);
    }
  }
}

let file = first;
let position = 4;
if (fs.existsSync(placeFile)) {
  [file, position] = fs.readFileSync(placeFile, 'utf8').split(' ');
}

const zongji = new ZongJi({ host: '127.0.0.1', port: Number(port), user: 'root', password: '', timezone: 'Z' });
// The test starts it again.
zongji.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
zongji.on('stopped', () => process.exit(1));
zongji.on('binlog', (event) => {
  const kind = event.getEventName();
  if (kind === 'rotate') {
    file = event.binlogName;
    return;
  }
  if (kind === 'tablemap') return;
  if (kind === 'xid') {
    fs.writeFileSync(`${placeFile}.new`, `${file} ${event.nextPosition}`);
    fs.renameSync(`${placeFile}.new`, placeFile);
    return;
  }
  const map = event.tableMap[event.tableId];
  const image = (row) => Object.values(row).map((value, at) => shown(value, map.columnSchemas[at])).join('\t');
  const name = `${map.parentSchema}.${map.tableName}`;
  event.rows.forEach((row, number) => {
    const place = `${file} ${event.nextPosition} ${number}`;
    const line = kind === 'updaterows' ? `>\t${name}\t${image(row.before)}\t=>\t${image(row.after)}`
      : `${kind === 'writerows' ? '+' : '-'}\t${name}\t${image(row)}`;
    fs.writeSync(changes, `${place}\t${line}\n`);
  });
});
zongji.start({
  serverId: 5700, filename: file, position: Number(position),
  includeEvents: ['rotate', 'tablemap', 'writerows', 'updaterows', 'deleterows', 'xid'],
  includeSchema: { follow: true },
});
