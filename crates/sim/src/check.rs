//! What must hold of a server that was just started, and of everything clients received.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::{Context, Result, anyhow, bail, ensure};
use cohort_io::FileSystem;
use cohort_sql::session::StandIn;
use cohort_sql::{Database, SessionState, Value, check_tables};
use cohort_txn::Store;

use crate::cycles;
use crate::history::{Fate, Put, Record, Seen};
use crate::replica::{self, Logged, Row};
use crate::rows::Rows;
use crate::workload::{ACCOUNTS, LISTS, OPENING_BALANCE, Shape, Step, TABLES, elements};

/// Rows by primary key, as text.
type Table = BTreeMap<i64, Row>;

/// Everything in the tables.
pub struct Tables(BTreeMap<&'static str, Table>);

impl Tables {
    /// Reads every table.
    pub fn read(database: &Database) -> Result<Tables> {
        let mut session = SessionState::new();
        session.database = Some("sim".into());
        let mut tables = BTreeMap::new();
        for name in TABLES {
            let mut rows = Rows::default();
            let sql = format!("SELECT * FROM {name}");
            drop(database.execute(&mut session, &StandIn, sql.as_bytes(), &mut rows)?);
            let mut table = Table::new();
            for row in rows.0 {
                let Value::Int(id) = row[0] else { bail!("{name}: a row with id {}", row[0]) };
                let row = row.iter().map(Value::to_string).collect();
                ensure!(table.insert(id, row).is_none(), "{name}: two rows {id}");
            }
            tables.insert(name, table);
        }
        Ok(Tables(tables))
    }

    fn list(&self, list: u64) -> Result<Vec<u64>> {
        let table = &self.0[TABLES[(list % 2) as usize]];
        let row = table.get(&(list as i64)).with_context(|| format!("list {list} is gone"))?;
        Ok(elements(&Value::text(row[1].clone())))
    }

    fn balance(&self, account: u64) -> Result<i64> {
        let table = &self.0[TABLES[2 + (account % 2) as usize]];
        let row = table.get(&(account as i64)).with_context(|| format!("account {account} is gone"))?;
        Ok(row[1].parse()?)
    }

    fn has_item(&self, engine: u64, item: u64) -> bool {
        self.0[TABLES[6 + engine as usize]].contains_key(&(item as i64))
    }

    fn has_token(&self, engine: u64, token: u64) -> bool {
        self.0[TABLES[4 + engine as usize]].contains_key(&(token as i64))
    }

    pub fn lists(&self) -> Result<HashMap<u64, Vec<u64>>> {
        (0..LISTS).map(|list| Ok((list, self.list(list)?))).collect()
    }
}

/// Settles what became of transactions in doubt, and checks that the others are there or not as their
/// clients received, whole.
pub fn settle(tables: &Tables, records: &mut [Record], now: u64) -> Result<()> {
    let lists = tables.lists()?;
    let mut writers: HashMap<u64, u64> = HashMap::new();
    for (list, elements) in &lists {
        for element in elements {
            let before = writers.insert(*element, *list);
            ensure!(before.is_none(), "element {element} is there twice");
        }
    }
    let mut balances: Vec<i64> = vec![OPENING_BALANCE; ACCOUNTS as usize];
    for record in records.iter_mut() {
        let traces: Vec<bool> = record
            .script
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Append { list, element } => Some(writers.remove(element) == Some(*list)),
                Step::Token { engine, token } => Some(tables.has_token(*engine, *token)),
                Step::Put { engine, item, .. } => Some(tables.has_item(*engine, *item)),
                _ => None,
            })
            .collect();
        let there = traces.first().copied();
        let id = record.id;
        ensure!(traces.iter().all(|trace| Some(*trace) == there), "transaction {id} is half there: {record:?}");
        match (record.fate, there) {
            (Fate::Committed, Some(false)) => bail!("transaction {id} was acknowledged and is gone: {record:?}"),
            (Fate::Absent, Some(true)) => bail!("transaction {id} was not committed and is there: {record:?}"),
            (Fate::InDoubt, there) => {
                record.fate = if there == Some(true) { Fate::Committed } else { Fate::Absent };
                record.ended = now;
            }
            _ => {}
        }
        for step in &record.script.steps {
            if let (Step::Move { account, amount }, Fate::Committed) = (step, record.fate) {
                balances[*account as usize] += amount;
            }
        }
    }
    ensure!(writers.is_empty(), "elements that nobody appended: {writers:?}");
    for account in 0..ACCOUNTS {
        let (found, expected) = (tables.balance(account)?, balances[account as usize]);
        ensure!(found == expected, "account {account} has {found}, its transfers say {expected}");
    }
    Ok(())
}

/// Checks every answer that clients got, against the final lists: nothing read that never was committed,
/// nothing half, no cycle, and constant sums.
pub fn answers(records: &[Record], tables: &Tables) -> Result<()> {
    let lists = tables.lists()?;
    let writers: HashMap<u64, u64> =
        records.iter().flat_map(|record| record.appends().map(|(_, element)| (element, record.id))).collect();
    for record in records {
        if record.script.shape == Shape::Audit && record.seen.len() == record.script.steps.len() {
            let sum: i64 = record.seen.iter().map(|seen| if let Seen::Sum(sum) = seen { *sum } else { 0 }).sum();
            ensure!(sum == OPENING_BALANCE * ACCOUNTS as i64, "the accounts' sum was {sum}: {record:?}");
        }
        // What a transaction was answered holds also where it was taken back itself: nothing is said before it is
        // durable.
        let kept = |element: &&u64| record.fate == Fate::Committed || writers[*element] != record.id;
        for (list, read) in record.reads() {
            let read: Vec<u64> = read.iter().filter(kept).copied().collect();
            let list = &lists[&list];
            ensure!(list.starts_with(&read), "{read:?} was read of {list:?}, which is no beginning: {record:?}");
            let (last, next) = (read.last(), list.get(read.len()));
            if let (Some(last), Some(next)) = (last, next) {
                let (last, next) = (writers[last], writers[next]);
                ensure!(last != next || last == record.id, "half of transaction {last} was read: {record:?}");
            }
        }
    }
    probes(records, tables)?;
    ranges(records)?;
    let committed: Vec<&Record> = records.iter().filter(|record| record.fate == Fate::Committed).collect();
    cycles::check(&committed, &lists).map_err(|cycle| anyhow!(cycle))
}

/// What was found in a range was put there, and by a transaction that is there or by the reader itself.
fn ranges(records: &[Record]) -> Result<()> {
    let puts: HashMap<u64, (&Record, Put)> =
        records.iter().flat_map(|record| record.puts().map(move |put| (put.item, (record, put)))).collect();
    for record in records {
        for (range, items) in record.ranges() {
            let distinct: HashSet<u64> = items.iter().copied().collect();
            ensure!(distinct.len() == items.len(), "an item was found twice: {record:?}");
            for item in items {
                let (writer, put) = puts.get(item).with_context(|| format!("nobody put item {item}: {record:?}"))?;
                ensure!(range.has(*put), "item {item} is not in {range:?}: {record:?}");
                let there = writer.fate == Fate::Committed || writer.id == record.id;
                ensure!(there, "item {item} was found and is gone: {record:?}");
            }
        }
    }
    Ok(())
}

/// Tokens are never removed: one that was found is there, and one that was missed had not been acknowledged.
fn probes(records: &[Record], tables: &Tables) -> Result<()> {
    let acknowledged: HashMap<u64, u64> = records
        .iter()
        .filter(|record| record.fate == Fate::Committed && record.script.shape == Shape::Transfer)
        .map(|record| (record.id, record.ended))
        .collect();
    for record in records {
        for (engine, token, found) in record.probes() {
            let there = tables.has_token(engine, token);
            ensure!(!found || there, "token {token} was found and is gone: {record:?}");
            let ended = acknowledged.get(&token);
            ensure!(found || ended.is_none_or(|ended| *ended >= record.began), "token {token} was missed: {record:?}");
        }
    }
    Ok(())
}

/// Checks that the binlog's events make the tables, that its GTIDs have no gap, and that indexes agree with
/// their rows.
pub fn logs_and_indexes(database: &Database, fs: &dyn FileSystem, tables: &Tables) -> Result<()> {
    let store = database.store();
    if store.log_bin() {
        binlog_makes_the_tables(store, fs, tables)
            .with_context(|| format!("binlog files {:?}, executed {:?}", store.binlog().list(), store.executed()))?;
    }
    let check = check_tables(store.engines(), &mut |_| ());
    ensure!(check.faults.is_empty(), "tables and indexes: {:?}", check.faults);
    Ok(())
}

fn binlog_makes_the_tables(store: &Store, fs: &dyn FileSystem, tables: &Tables) -> Result<()> {
    let mut rebuilt: BTreeMap<String, Table> = BTreeMap::new();
    for logged in replica::read(store, fs)? {
        let Logged::Rows(changes) = logged else { continue };
        for change in &changes {
            change.make(rebuilt.entry(change.table.clone()).or_default())?;
        }
    }
    for (name, table) in &tables.0 {
        let copy = rebuilt.remove(*name).unwrap_or_default();
        ensure!(*table == copy, "{name} is {table:?}, its binlog makes {copy:?}");
    }
    Ok(())
}
