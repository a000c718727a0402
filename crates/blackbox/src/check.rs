//! What must hold after a crash, seen through a client and through the binlog files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use crate::load::{ACCOUNTS, Fate, History, Kind, OPENING_BALANCE, PART_TOUCH, PART_TRANSFER, PART_UNDONE};
use crate::replica::{Replica, Rows, show};
use crate::{MariaDb, Server, SystemTables, tool};

const TABLES: [&str; 6] = ["accounts", "vault", "transfers", "labels", "ledger", "heap"];

/// What one check found, for the test's output.
#[derive(Debug)]
pub struct Found {
    acknowledged: u64,
    resolved: u64,
    rows: u64,
    binlog_files: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { acknowledged, resolved, rows, binlog_files } = self;
        write!(f, "{acknowledged} transactions kept, {resolved} in doubt survived, ")?;
        write!(f, "{rows} rows, {binlog_files} binlog files")
    }
}

/// Checks one server again and again. Remembers what the closed binlog files held.
#[derive(Debug, Default)]
pub struct Checker {
    closed: Replica,
    closed_files: usize,
}

impl Checker {
    /// Checks everything; settles in `history` what became of the transactions in doubt.
    pub fn check(&mut self, server: &Server, history: &mut History) -> Result<Found> {
        let mut conn = server.connect_to("crash")?;
        let tables = read_tables(&mut conn)?;
        let resolved = transactions_are_whole(&tables, &mut conn, history)?;
        money_is_neither_made_nor_lost(&tables)?;
        indexes_agree_with_tables(&mut conn, &tables)?;
        let files = binlog_files(&mut conn)?;
        let replica = self.read_binlog(server.datadir(), &files)?;
        for name in TABLES {
            same_rows(name, &tables[name], &replica.table(&format!("crash.{name}")))?;
        }
        let acknowledged = history.acknowledged();
        let rows = tables.values().map(|rows| rows.values().sum::<u64>()).sum();
        Ok(Found { acknowledged, resolved, rows, binlog_files: files.len() })
    }

    /// Applies the files not seen closed before; the newest is read anew every time.
    fn read_binlog(&mut self, datadir: &Path, files: &[String]) -> Result<Replica> {
        let (newest, older) = files.split_last().context("no binlog")?;
        for file in older.iter().skip(self.closed_files) {
            self.closed.apply_file(&datadir.join(file))?;
        }
        self.closed_files = older.len();
        let mut replica = self.closed.clone();
        replica.apply_file(&datadir.join(newest))?;
        let gtids = replica.gtids();
        if let (Some(first), Some(last)) = (gtids.first(), gtids.last()) {
            let whole = *first == 1 && *last == gtids.len() as u64;
            ensure!(whole, "GTIDs {first}-{last} hold only {}", gtids.len());
        }
        Ok(replica)
    }
}

/// Every acknowledged transaction is there, every other one is not, and none is half there.
fn transactions_are_whole(
    tables: &BTreeMap<&'static str, Rows>,
    conn: &mut Conn,
    history: &mut History,
) -> Result<u64> {
    let transfers = tokens(&tables["transfers"], 0)?;
    let labels = tokens(&tables["labels"], 0)?;
    let heap = tokens(&tables["heap"], 0)?;
    let mut parts: HashMap<u64, BTreeSet<u64>> = HashMap::new();
    for row in tables["ledger"].keys() {
        let (token, part) = (number(row, 1)?, number(row, 2)?);
        ensure!(parts.entry(token).or_default().insert(part), "ledger doubles {token}/{part}");
    }
    let made: BTreeSet<String> = conn.query("SHOW TABLES LIKE 'made%'")?.into_iter().collect();
    for row in tables["transfers"].keys() {
        let by = number(row, 4)?;
        let half = by != 0 && !parts.get(&by).is_some_and(|parts| parts.contains(&PART_TOUCH));
        ensure!(!half, "transaction {by} is in transfers but not in the ledger");
    }

    let mut resolved = 0;
    let tokens_found = transfers.keys().chain(labels.keys()).chain(heap.keys()).chain(parts.keys());
    for token in tokens_found {
        ensure!(history.fates.contains_key(token), "nobody ever wrote {token}");
    }
    let none = BTreeSet::new();
    for (&token, (kind, fate)) in &mut history.fates {
        let in_ledger = parts.get(&token).unwrap_or(&none);
        ensure!(!in_ledger.contains(&PART_UNDONE), "{token} holds what a savepoint undid");
        let traces = match kind {
            Kind::Transfer => vec![
                once(transfers.get(&token))?,
                once(labels.get(&token))?,
                once(heap.get(&token))?,
                in_ledger.contains(&PART_TRANSFER),
            ],
            Kind::Batch => (1..=3).map(|part| in_ledger.contains(&part)).collect(),
            Kind::Touch => vec![in_ledger.contains(&PART_TOUCH)],
            Kind::Create => vec![made.contains(&format!("made_{token}"))],
            Kind::Drop => continue,
        };
        let there = traces[0];
        ensure!(traces.iter().all(|&trace| trace == there), "{kind:?} {token} is half there: {traces:?}");
        match (*fate, there) {
            (Fate::Acknowledged, false) => bail!("{kind:?} {token} was acknowledged and is gone"),
            (Fate::Absent, true) if *kind == Kind::Touch && in_ledger.is_empty() => {}
            (Fate::Absent, true) => bail!("{kind:?} {token} was not committed and is there"),
            (Fate::InDoubt, true) => {
                resolved += 1;
                *fate = Fate::Acknowledged;
            }
            (Fate::InDoubt, false) => *fate = Fate::Absent,
            _ => {}
        }
    }
    Ok(resolved)
}

/// Every balance is what the transfers in the table make of the opening balance.
fn money_is_neither_made_nor_lost(tables: &BTreeMap<&'static str, Rows>) -> Result<()> {
    let mut expected: BTreeMap<u64, i64> = (0..ACCOUNTS).map(|id| (id, OPENING_BALANCE)).collect();
    for row in tables["transfers"].keys() {
        let amount = number(row, 3)? as i64;
        *expected.get_mut(&number(row, 1)?).context("a transfer from nowhere")? -= amount;
        *expected.get_mut(&number(row, 2)?).context("a transfer to nowhere")? += amount;
    }
    for row in tables["accounts"].keys().chain(tables["vault"].keys()) {
        let balance: i64 = text(row, 1)?.parse()?;
        let id = number(row, 0)?;
        ensure!(expected.remove(&id) == Some(balance), "account {id} holds {balance}");
    }
    ensure!(expected.is_empty(), "accounts are missing: {expected:?}");
    Ok(())
}

/// Each index finds exactly the rows that a scan of the table finds.
fn indexes_agree_with_tables(conn: &mut Conn, tables: &BTreeMap<&'static str, Rows>) -> Result<()> {
    let indexed = [("transfers", "src", 1), ("transfers", "shelf", 5), ("ledger", "part", 2)];
    for (table, column, at) in indexed {
        let mut scanned: BTreeMap<Option<Vec<u8>>, BTreeSet<u64>> = BTreeMap::new();
        let token_at = if table == "ledger" { 1 } else { 0 };
        for row in tables[table].keys() {
            scanned.entry(row[at].clone()).or_default().insert(number(row, token_at)?);
        }
        for (value, expected) in scanned {
            let condition = match &value {
                Some(value) => format!("= {}", String::from_utf8_lossy(value)),
                None => "IS NULL".to_owned(),
            };
            let sql = format!("SELECT token FROM {table} WHERE {column} {condition}");
            let found: Vec<u64> = conn.query(&sql)?;
            ensure!(found.len() == expected.len(), "{sql}: {} rows, not {}", found.len(), expected.len());
            ensure!(found.iter().all(|token| expected.contains(token)), "{sql} finds other rows");
        }
    }
    for row in tables["labels"].keys().step_by(37) {
        let found: Vec<u64> = conn.exec("SELECT token FROM labels WHERE label = ?", (text(row, 1)?,))?;
        ensure!(found == [number(row, 0)?], "label {:?} finds {found:?}", row[1]);
    }
    Ok(())
}

/// Applies every binlog file to an empty MariaDB with `mariadb-binlog` and compares all tables.
pub fn binlog_rebuilds_the_tables_elsewhere(server: &Server, folder: &Path) -> Result<()> {
    let mut source = server.connect_to("crash")?;
    let files = binlog_files(&mut source)?;
    let judge =
        MariaDb::start(&folder.join("judge"), SystemTables::Absent, &["--innodb-flush-log-at-trx-commit=0"], None)?;
    let paths = files.iter().map(|file| server.datadir().join(file).display().to_string());
    let sql = tool("mariadb-binlog", ["--no-defaults".to_owned()].into_iter().chain(paths))?.success()?;
    let arguments = ["--no-defaults", "-uroot", "-S", &judge.socket().display().to_string()];
    tool::tool_with_input("mariadb", arguments, sql.stdout)?.success()?;

    let mut copy = judge.connect()?;
    copy.query_drop("USE crash")?;
    let (ours, theirs) = (read_tables(&mut source)?, read_tables(&mut copy)?);
    for name in TABLES {
        same_rows(name, &ours[name], &theirs[name])?;
    }
    let names: Vec<String> = source.query("SHOW TABLES")?;
    let copied: Vec<String> = copy.query("SHOW TABLES")?;
    ensure!(names == copied, "tables {names:?} became {copied:?}");
    for name in names.iter().filter(|name| name.starts_with("made")) {
        same_rows(name, &read_table(&mut source, name)?, &read_table(&mut copy, name)?)?;
    }
    judge.stop()
}

fn binlog_files(conn: &mut Conn) -> Result<Vec<String>> {
    let rows: Vec<mysql::Row> = conn.query("SHOW BINARY LOGS")?;
    rows.into_iter().map(|row| row.get(0).context("SHOW BINARY LOGS without a name")).collect()
}

fn read_tables(conn: &mut Conn) -> Result<BTreeMap<&'static str, Rows>> {
    TABLES.iter().map(|&name| Ok((name, read_table(conn, name)?))).collect()
}

fn read_table(conn: &mut Conn, name: &str) -> Result<Rows> {
    let mut rows = Rows::new();
    for row in conn.query_iter(format!("SELECT * FROM {name}"))? {
        let cells = row?.unwrap().into_iter().map(|value| match value {
            Value::NULL => Ok(None),
            Value::Bytes(bytes) => Ok(Some(bytes)),
            other => bail!("a text row holds {other:?}"),
        });
        *rows.entry(cells.collect::<Result<_>>()?).or_default() += 1;
    }
    Ok(rows)
}

fn same_rows(name: &str, table: &Rows, copy: &Rows) -> Result<()> {
    let lost = table.iter().find(|(row, count)| copy.get(*row) != Some(count));
    let invented = copy.iter().find(|(row, count)| table.get(*row) != Some(count));
    if let Some((row, count)) = lost {
        bail!("{name} holds {} {count} times, its copy by binlog {:?}", show(row), copy.get(row));
    }
    if let Some((row, count)) = invented {
        bail!("the copy of {name} by binlog holds {} {count} times, the table does not", show(row));
    }
    Ok(())
}

/// How often each token stands in a column.
fn tokens(rows: &Rows, column: usize) -> Result<HashMap<u64, u64>> {
    let mut counts = HashMap::new();
    for (row, count) in rows {
        *counts.entry(number(row, column)?).or_default() += count;
    }
    Ok(counts)
}

fn once(count: Option<&u64>) -> Result<bool> {
    match count.copied().unwrap_or(0) {
        0 => Ok(false),
        1 => Ok(true),
        more => bail!("a token is there {more} times"),
    }
}

fn text(row: &[Option<Vec<u8>>], column: usize) -> Result<String> {
    let cell = row.get(column).context("too few columns")?.clone().context("NULL")?;
    Ok(String::from_utf8(cell)?)
}

fn number(row: &[Option<Vec<u8>>], column: usize) -> Result<u64> {
    Ok(text(row, column)?.parse()?)
}
