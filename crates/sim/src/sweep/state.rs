//! What a server holds, as a client, a binlog or the memory of what clients received can say it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context, Result, ensure};
use cohort_binlog::XaId;
use cohort_sql::{Database, Value};

use super::clients::query;
use crate::replica::{Logged, Row, RowChange, id_of};

/// The database that everything is in.
pub const DATABASE: &str = "sweep";
/// Values of more bytes are kept as a digest.
const DIGEST_FROM: usize = 64;
/// Every index that a script makes beside those of CREATE TABLE.
pub const INDEX: &str = "extra";

/// A table: all have a number as primary key, another one with an index, and a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// 0 or 1.
    pub engine: usize,
    rows: BTreeMap<i64, Row>,
    has_index: bool,
    comment: String,
}

/// What there is.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Whether CREATE DATABASE was done.
    pub database: bool,
    tables: BTreeMap<String, Table>,
    /// XA transactions that wait for their decision, and what they would change, if that is known.
    pub prepared: BTreeMap<String, Vec<Change>>,
}

/// A change, of rows or of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Database,
    /// CREATE TABLE in an engine.
    Create(&'static str, usize),
    Drop(&'static str),
    Truncate(&'static str),
    AddIndex(&'static str),
    DropIndex(&'static str),
    /// ALTER TABLE ... COMMENT
    Comment(&'static str, &'static str),
    /// ALTER TABLE ... FORCE: its rows are copied.
    Rebuild(&'static str),
    /// ALTER TABLE ... ENGINE: its rows are copied to the other one.
    Move(&'static str, usize),
    /// RENAME TABLE: two tables change places.
    Swap(&'static str, &'static str),
    /// A new row with a text of so many bytes.
    Insert(&'static str, i64, usize),
    /// Adds to the second column of a row.
    Add(&'static str, i64, i64),
    /// Removes a row.
    Delete(&'static str, i64),
    Prepare(String, Vec<Change>),
    CommitXa(String),
    RollBackXa(String),
    /// As a binlog says it.
    Row(RowChange),
}

/// A name of an XA transaction, as SQL, the binlog and [`State`] have it.
pub fn xa_name(name: &str) -> String {
    XaId::new(name.as_bytes(), b"", XaId::DEFAULT_FORMAT_ID).expect("names are short").to_string()
}

/// The text of a row: no two rows have the same.
fn text(id: i64, bytes: usize) -> String {
    let mut text = format!("row {id} ").repeat(bytes / 6 + 1);
    text.truncate(bytes);
    text
}

fn digest(text: &str) -> String {
    if text.len() < DIGEST_FROM {
        return text.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{} bytes {:016x}", text.len(), hasher.finish())
}

fn digested(mut row: Row) -> Row {
    row.iter_mut().for_each(|value| *value = digest(value));
    row
}

impl Change {
    /// The statement, if it is one; `engines` are the engines' names.
    pub fn sql(&self, engines: [&str; 2]) -> String {
        match self {
            Change::Database => format!("CREATE DATABASE {DATABASE}"),
            Change::Create(table, engine) => format!(
                "CREATE TABLE {table} (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v LONGTEXT NOT NULL, KEY (n)) \
                 ENGINE={}",
                engines[*engine]
            ),
            Change::Drop(table) => format!("DROP TABLE {table}"),
            Change::Truncate(table) => format!("TRUNCATE TABLE {table}"),
            Change::AddIndex(table) => format!("CREATE INDEX {INDEX} ON {table} (n, id)"),
            Change::DropIndex(table) => format!("DROP INDEX {INDEX} ON {table}"),
            Change::Comment(table, comment) => format!("ALTER TABLE {table} COMMENT = '{comment}'"),
            Change::Rebuild(table) => format!("ALTER TABLE {table} FORCE, COMMENT='rebuilt'"),
            Change::Move(table, engine) => format!("ALTER TABLE {table} ENGINE = {}", engines[*engine]),
            Change::Swap(one, other) => {
                format!("RENAME TABLE {one} TO swapped, {other} TO {one}, swapped TO {other}")
            }
            Change::Insert(table, id, bytes) => {
                format!("INSERT INTO {table} VALUES ({id}, 0, '{}')", text(*id, *bytes))
            }
            Change::Add(table, id, amount) => format!("UPDATE {table} SET n = n + {amount} WHERE id = {id}"),
            Change::Delete(table, id) => format!("DELETE FROM {table} WHERE id = {id}"),
            Change::Prepare(name, _) => format!("XA PREPARE {name}"),
            Change::CommitXa(name) => format!("XA COMMIT {name}"),
            Change::RollBackXa(name) => format!("XA ROLLBACK {name}"),
            Change::Row(_) => unreachable!("a binlog has it, and nobody says it"),
        }
    }

    /// Whether it is one of the schema's.
    pub fn is_ddl(&self) -> bool {
        use Change::{AddIndex, Comment, Create, Database, Drop, DropIndex, Move, Rebuild, Swap, Truncate};
        matches!(
            self,
            Database
                | Create(..)
                | Drop(_)
                | Truncate(_)
                | AddIndex(_)
                | DropIndex(_)
                | Comment(..)
                | Rebuild(_)
                | Move(..)
                | Swap(..)
        )
    }
}

impl State {
    /// Makes a change. An error says why it was not possible.
    pub fn make(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Database => self.database = true,
            Change::Create(table, engine) => {
                let new = Table { engine: *engine, ..Table::default() };
                ensure!(self.tables.insert((*table).to_owned(), new).is_none(), "{table} is there already");
            }
            Change::Drop(table) => drop(self.tables.remove(*table).with_context(|| format!("no {table} to drop"))?),
            Change::Truncate(table) => self.table(table)?.rows.clear(),
            Change::AddIndex(table) => self.table(table)?.has_index = true,
            Change::DropIndex(table) => self.table(table)?.has_index = false,
            Change::Comment(table, comment) => self.table(table)?.comment = (*comment).to_owned(),
            // The comment shows whether it has been.
            Change::Rebuild(table) => self.table(table)?.comment = "rebuilt".to_owned(),
            Change::Move(table, engine) => self.table(table)?.engine = *engine,
            Change::Swap(one, other) => {
                let [first, second] = [one, other].map(|name| self.table(name).cloned());
                self.tables.insert((*one).to_owned(), second?);
                self.tables.insert((*other).to_owned(), first?);
            }
            Change::Insert(table, id, bytes) => {
                let row = vec![id.to_string(), "0".to_owned(), digest(&text(*id, *bytes))];
                ensure!(self.table(table)?.rows.insert(*id, row).is_none(), "{table} has a row {id} already");
            }
            Change::Add(table, id, amount) => {
                if let Some(row) = self.table(table)?.rows.get_mut(id) {
                    row[1] = (row[1].parse::<i64>()? + amount).to_string();
                }
            }
            Change::Delete(table, id) => drop(self.table(table)?.rows.remove(id)),
            Change::Prepare(name, changes) => {
                let before = self.prepared.insert(name.clone(), changes.clone());
                ensure!(before.is_none(), "{name} is prepared already");
            }
            Change::CommitXa(name) => {
                let changes = self.prepared.remove(name).with_context(|| format!("{name} is not prepared"))?;
                changes.iter().try_for_each(|change| self.make(change))?;
            }
            Change::RollBackXa(name) => {
                self.prepared.remove(name).with_context(|| format!("{name} is not prepared"))?;
            }
            Change::Row(change) => change.make(&mut self.table(&change.table)?.rows)?,
        }
        Ok(())
    }

    fn table(&mut self, name: &str) -> Result<&mut Table> {
        self.tables.get_mut(name).with_context(|| format!("no table {name}"))
    }

    /// What a binlog's transactions make of nothing; `ddl` are the statements that were sent.
    pub fn of_binlog(logged: Vec<Logged>, ddl: &HashMap<String, &Change>) -> Result<State> {
        let rows = |changes: Vec<RowChange>| {
            changes.into_iter().map(|RowChange { table, before, after }| {
                Change::Row(RowChange { table, before: before.map(digested), after: after.map(digested) })
            })
        };
        let mut state = State::default();
        for logged in logged {
            match logged {
                Logged::Rows(changes) => rows(changes).try_for_each(|change| state.make(&change))?,
                Logged::Prepared(name, changes) => state.make(&Change::Prepare(name, rows(changes).collect()))?,
                Logged::Committed(name) => state.make(&Change::CommitXa(name))?,
                Logged::RolledBack(name) => state.make(&Change::RollBackXa(name))?,
                Logged::Statement(sql) => {
                    state.make(ddl.get(&sql).with_context(|| format!("nobody sent {sql:?}"))?)?;
                }
            }
        }
        Ok(state)
    }

    /// What a server shows.
    pub fn of_server(database: &Database) -> Result<State> {
        let mut state = State::default();
        for row in query(database, "XA RECOVER")? {
            let [Value::Int(format), Value::Int(gtrid), _, data] = &row[..] else { anyhow::bail!("{row:?}") };
            let data = data.as_bytes().context("a name")?;
            let (gtrid, bqual) = data.split_at(*gtrid as usize);
            let name = XaId::new(gtrid, bqual, u32::try_from(*format)?).context("a name")?;
            state.prepared.insert(name.to_string(), Vec::new());
        }
        let databases = query(database, "SHOW DATABASES")?;
        state.database = databases.iter().any(|row| row[0].to_string() == DATABASE);
        if !state.database {
            return Ok(state);
        }
        for row in query(database, "SHOW TABLES")? {
            let name = row[0].to_string();
            let shown = query(database, &format!("SHOW CREATE TABLE {name}"))?;
            let sql = shown.first().context("a table")?[1].to_string();
            let between = |begin: &str, end: char| Some(sql.split_once(begin)?.1.split(end).next()?.to_owned());
            let mut table = Table {
                engine: usize::from(between("ENGINE=", ' ').context("an engine")? == "redb"),
                rows: BTreeMap::new(),
                has_index: sql.contains(&format!("KEY `{INDEX}`")),
                comment: between("COMMENT='", '\'').unwrap_or_default(),
            };
            for row in query(database, &format!("SELECT * FROM {name}"))? {
                let row = digested(row.iter().map(Value::to_string).collect());
                let id = id_of(&row)?;
                ensure!(table.rows.insert(id, row).is_none(), "{name}: two rows {id}");
            }
            state.tables.insert(name, table);
        }
        Ok(state)
    }

    /// How two differ, if they do.
    pub fn difference(&self, other: &State) -> Option<String> {
        self.difference_in(other, 0).or_else(|| self.difference_in(other, 1))
    }

    /// How two differ in what one engine has; the first one has the catalog as well.
    pub fn difference_in(&self, other: &State, engine: usize) -> Option<String> {
        let differ = |what: &str, one: String, other: String| Some(format!("{what}: {one} and {other}"));
        if engine == 0 {
            if self.database != other.database {
                return differ("database", self.database.to_string(), other.database.to_string());
            }
            if !self.prepared.keys().eq(other.prepared.keys()) {
                let [one, other] = [self, other].map(|state| format!("{:?}", state.prepared.keys()));
                return differ("prepared", one, other);
            }
            let schema = |table: &Table| Table { rows: BTreeMap::new(), ..table.clone() };
            let schemas = |state: &State| -> BTreeMap<String, Table> {
                state.tables.iter().map(|(name, table)| (name.clone(), schema(table))).collect()
            };
            if schemas(self) != schemas(other) {
                return differ("tables", format!("{:?}", schemas(self)), format!("{:?}", schemas(other)));
            }
        }
        self.tables.iter().find_map(|(name, table)| {
            let copy = other.tables.get(name).filter(|copy| copy.engine == engine && table.engine == engine)?;
            (copy.rows != table.rows).then(|| {
                let lacks = |one: &Table, other: &Table| {
                    let rows = one.rows.iter().filter(|(id, row)| other.rows.get(id) != Some(row));
                    rows.map(|(_, row)| row.join(",")).collect::<BTreeSet<String>>()
                };
                format!("table {name}: {:?} and {:?}", lacks(table, copy), lacks(copy, table))
            })
        })
    }
}
