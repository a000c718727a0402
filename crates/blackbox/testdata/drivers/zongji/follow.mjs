// zongji follows the binlog: PORT FILE. Prints each row that was changed, to the row that says 'end'.

import ZongJi from '@vlasky/zongji';

const [port, file] = process.argv.slice(2);
const zongji = new ZongJi({ host: '127.0.0.1', port: Number(port), user: 'root', password: '' });

function shown(row) {
  return Object.entries(row).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ');
}

zongji.on('error', (error) => {
  console.error(error);
  process.exit(1);
});

zongji.on('binlog', (event) => {
  const kind = event.getEventName();
  if (kind === 'tablemap') return;
  const table = event.tableMap[event.tableId];
  for (const row of event.rows) {
    const name = `${table.parentSchema}.${table.tableName}`;
    if (kind === 'updaterows') console.log(`${name} ${shown(row.before)} > ${shown(row.after)}`);
    else console.log(`${name} ${kind === 'writerows' ? '+' : '-'} ${shown(row)}`);
    if (kind === 'writerows' && Object.values(row).includes('end')) {
      zongji.stop();
      return;
    }
  }
});

zongji.on('stopped', () => process.exit(0));
zongji.start({
  serverId: process.pid, filename: file, position: 4,
  includeEvents: ['tablemap', 'writerows', 'updaterows', 'deleterows'],
});
