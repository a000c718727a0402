//! Asks both servers, compares, and makes what differs smaller.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cohort_blackbox::{MariaDb, Server, SystemTables};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use tempfile::TempDir;

use crate::answer::{Answer, Kind, ask, difference};
use crate::generate::NEW_TABLE;
use crate::part::Part;
use crate::tables::{Schema, Table};

/// How long one difference is made smaller.
const PATIENCE: Duration = Duration::from_secs(20);

/// Seconds that MariaDB may take for a query: of some it makes plans that take hours. Changes have no such limit, as both
/// servers must have done them.
const QUERY_SECONDS: u32 = 10;

/// Milliseconds that our server may take for a query: more is a difference.
const OUR_MILLISECONDS: u32 = 240_000;

/// How long a server may keep an answer back. MariaDB may never end an EXCEPT ALL or INTERSECT ALL, and heeds neither its own
/// limit nor a signal there.
const ANSWER_PATIENCE: Duration = Duration::from_secs(40);

/// Tables, what was done to them, and the statement whose answers are compared.
#[derive(Clone)]
pub struct Case {
    tables: Vec<Table>,
    /// Whether statistics are made of the rows.
    analyzed: bool,
    pub history: Vec<Part>,
    pub last: Part,
}

/// Two answers that differ.
pub struct Found {
    kind: Kind,
    ours: Answer,
    theirs: Answer,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {:?}\n  ours:   {}\n  theirs: {}", self.kind, self.ours, self.theirs)
    }
}

/// MariaDB kept its answer back for longer than it may, or is gone: it is of no use until [`Pair::take_new_peer`].
#[derive(Debug)]
pub struct NoAnswer(String);

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MariaDB gives no answer to {}", self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// Two sessions, one on each server.
pub struct Pair {
    ours: Conn,
    theirs: Conn,
    peer: MariaDb,
    /// Where peers have their data.
    folder: TempDir,
    /// Rows of the last answer that was alike.
    pub rows: u64,
}

fn for_mariadb(sql: &str) -> String {
    sql.replace(" ENGINE=redb", "").replace("utf8mb4_0900_ai_ci", "utf8mb4_unicode_520_nopad_ci")
}

impl Case {
    pub fn new(schema: &Schema) -> Case {
        let (tables, analyzed) = (schema.tables.clone(), schema.large);
        Case { tables, analyzed, history: Vec::new(), last: Part::from("SELECT 1") }
    }

    /// What makes the tables and their rows. Duplicates of a unique key are left out.
    fn setup(&self) -> Vec<String> {
        let of_table = |table: &Table| {
            let rows = format!("INSERT IGNORE INTO {} VALUES ({})", table.name, table.rows.join("), ("));
            let rows = (!table.rows.is_empty()).then_some(rows);
            let analyze = self.analyzed.then(|| format!("ANALYZE TABLE {}", table.name));
            [Some(table.create.clone()), rows, analyze]
        };
        self.tables.iter().flat_map(of_table).flatten().collect()
    }

    /// All of it, to be run by hand.
    pub fn script(&self) -> String {
        let mut script = self.setup().join(";\n") + ";\n";
        for change in &self.history {
            script += &format!("{};\n", change.sql());
        }
        script + &self.last.sql() + ";"
    }

    /// Makes the tables on our server alone.
    pub fn begin(&self, conn: &mut Conn) -> Result<()> {
        for at in 0..6 {
            conn.query_drop(format!("DROP TABLE IF EXISTS t{at}"))?;
        }
        self.setup().iter().try_for_each(|sql| conn.query_drop(sql).with_context(|| sql.clone()))
    }

    fn smaller(&self) -> Vec<Case> {
        let mut found: Vec<Case> = self.last.smaller().into_iter().map(|last| Case { last, ..self.clone() }).collect();
        for at in 0..self.history.len() {
            let mut copy = self.clone();
            copy.history.remove(at);
            found.push(copy);
        }
        for (at, table) in self.tables.iter().enumerate() {
            let mut size = table.rows.len();
            while size > 0 {
                for from in (0..table.rows.len()).step_by(size) {
                    let mut copy = self.clone();
                    copy.tables[at].rows.drain(from..table.rows.len().min(from + size));
                    found.push(copy);
                }
                size /= 2;
            }
        }
        found
    }
}

/// What a session begins with.
const SESSION: [&str; 7] = [
    "CREATE DATABASE queries COLLATE utf8mb4_0900_ai_ci",
    "USE queries",
    "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
    "SET group_concat_max_len = 100000",
    // Both sort texts by their whole length; MariaDB wants room for fifteen of them.
    "SET max_sort_length = 100000",
    "SET sort_buffer_size = 16777216",
    "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'",
];

/// Begins a session of our server alone.
pub fn begin_session(conn: &mut Conn) -> Result<()> {
    SESSION.iter().try_for_each(|sql| conn.query_drop(sql).with_context(|| sql.to_string()))
}

/// Memory for rows that a session of our server has.
#[derive(Clone, Copy)]
pub enum Memory {
    /// What it has if nothing is said.
    Enough,
    /// So little that operators go through files for a schema.
    Little { large: bool },
}

impl Memory {
    /// What every second schema has.
    pub fn of(stream: u64, schema: &Schema) -> Memory {
        if stream % 2 == 1 { Memory::Little { large: schema.large } } else { Memory::Enough }
    }

    pub fn give(self, conn: &mut Conn) -> Result<()> {
        let value = match self {
            Memory::Enough => "DEFAULT",
            Memory::Little { large: false } => "1",
            // Some rows at once.
            Memory::Little { large: true } => "4000",
        };
        let names = ["sort_buffer_size", "join_buffer_size", "tmp_table_size"];
        names.iter().try_for_each(|name| Ok(conn.query_drop(format!("SET SESSION {name} = {value}"))?))
    }
}

fn connect(options: Opts) -> Result<Conn> {
    Ok(Conn::new(OptsBuilder::from_opts(options).read_timeout(Some(ANSWER_PATIENCE)))?)
}

/// A MariaDB with its data below `folder`, and a session on it.
fn start_peer(folder: &TempDir) -> Result<(MariaDb, Conn)> {
    let options = ["--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0"];
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &options, None)?;
    let mut conn = connect(peer.options())?;
    SESSION.iter().try_for_each(|sql| conn.query_drop(for_mariadb(sql)))?;
    // The judge asks queries within as they stand: of an IN below an EXISTS that MariaDB 10.11 has made joins of, the
    // condition may get lost where STRAIGHT_JOIN has it. A constant of a derived table that it has merged stays one where
    // an outer join has no row of the table. Groups that are made for each row of a join may have rows of another one. A
    // name becomes ambiguous when a condition gets into a derived table. Of `a <=> b AND a = b` a key that a derived table gets
    // asks for the first alone.
    let off = "semijoin,exists_to_in,derived_merge,split_materialized,condition_pushdown_for_derived,derived_with_keys"
        .split(',');
    let off: Vec<String> = off.map(|name| format!("{name}=off")).collect();
    conn.query_drop(format!("SET optimizer_switch = '{}'", off.join(",")))?;
    Ok((peer, conn))
}

impl Pair {
    pub fn new(server: &Server) -> Result<Pair> {
        let mut ours = server.connect()?;
        begin_session(&mut ours)?;
        ours.query_drop(format!("SET max_execution_time = {OUR_MILLISECONDS}"))?;
        let folder = tempfile::tempdir()?;
        let (peer, theirs) = start_peer(&folder)?;
        Ok(Pair { ours, theirs, peer, folder, rows: 0 })
    }

    /// Has another MariaDB in place of the one that gives no answer. It has no tables yet.
    pub fn take_new_peer(&mut self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (peer, theirs) = start_peer(&folder)?;
        // The one before is killed.
        (self.peer, self.theirs, self.folder) = (peer, theirs, folder);
        Ok(())
    }

    fn ask_theirs(&mut self, sql: &str) -> Result<Answer> {
        ask(&mut self.theirs, &for_mariadb(sql)).map_err(|error| match error.downcast_ref() {
            Some(mysql::Error::IoError(_) | mysql::Error::CodecError(_)) => NoAnswer(sql.to_owned()).into(),
            _ => error,
        })
    }

    /// Gives our session memory.
    pub fn give(&mut self, memory: Memory) -> Result<()> {
        memory.give(&mut self.ours)
    }

    fn both(&mut self, sql: &str) -> Result<()> {
        self.ours.query_drop(sql).with_context(|| sql.to_owned())?;
        self.theirs.query_drop(for_mariadb(sql)).with_context(|| sql.to_owned())
    }

    /// Makes the tables anew.
    pub fn begin(&mut self, case: &Case) -> Result<()> {
        for at in 0..6 {
            self.both(&format!("DROP TABLE IF EXISTS t{at}"))?;
        }
        case.setup().iter().try_for_each(|sql| self.both(sql))?;
        for change in &case.history {
            // What fails, fails on both.
            let sql = change.sql();
            let _ = ask(&mut self.ours, &sql)?;
            let _ = self.ask_theirs(&sql)?;
        }
        Ok(())
    }

    /// How the answers to the last statement differ, if they do, or what the tables then have.
    pub fn compare(&mut self, case: &Case) -> Result<Option<Found>> {
        let sql = case.last.sql();
        let is_change = !sql.starts_with("SELECT") && !sql.starts_with('(') && !sql.starts_with("WITH");
        let seconds = if is_change { 0 } else { QUERY_SECONDS };
        self.theirs.query_drop(format!("SET max_statement_time = {seconds}"))?;
        let (ours, theirs) = (ask(&mut self.ours, &sql)?, self.ask_theirs(&sql)?);
        if matches!(theirs, Answer::Refused(1969)) {
            println!("NOT JUDGED: MariaDB takes more than {QUERY_SECONDS} seconds for {sql}");
            return Ok(None);
        }
        if matches!((&ours, &theirs), (Answer::TooMany, Answer::TooMany)) {
            println!("NOT JUDGED: too many rows of {sql}");
            return Ok(None);
        }
        // BIT_AND of no row is the greatest number: whether something is added to it is up to the plan.
        let is_beyond = |answer: &Answer| matches!(answer, Answer::Refused(1690));
        if is_beyond(&ours) != is_beyond(&theirs) && sql.contains("BIT_AND") {
            println!("NOT JUDGED: one is out of range in {sql}");
            return Ok(None);
        }
        // Rows beside some derived tables are more than MariaDB does.
        if matches!(theirs, Answer::Refused(1235)) {
            return Ok(None);
        }
        if let Some(kind) = difference(&sql, &ours, &theirs) {
            if says_equal_twice(&sql) {
                println!("NOT JUDGED: <=> beside = in {sql}");
                return Ok(None);
            }
            return Ok(Some(Found { kind, ours, theirs }));
        }
        self.rows = if let Answer::Rows(_, rows) = &ours { rows.len() as u64 } else { 0 };
        let created = sql.starts_with("CREATE").then(|| NEW_TABLE.to_owned());
        let names = case.tables.iter().map(|table| &table.name);
        for table in names.chain(&created).filter(|_| is_change) {
            let sql = format!("SELECT * FROM {table}");
            let (ours, theirs) = (ask(&mut self.ours, &sql)?, self.ask_theirs(&sql)?);
            // What made a table says why its columns may differ, and nothing of the order of its rows.
            let made_by = format!("{sql} of {}", case.last.sql().replace("ORDER BY", ""));
            if let Some(kind) = difference(&made_by, &ours, &theirs) {
                return Ok(Some(Found { kind, ours, theirs }));
            }
        }
        self.both(&format!("DROP TABLE IF EXISTS {NEW_TABLE}"))?;
        Ok(None)
    }

    /// The smallest case that still differs, as far as patience goes.
    pub fn shrink(&mut self, mut case: Case, mut found: Found) -> Result<(Case, Found)> {
        let deadline = Instant::now() + PATIENCE;
        'again: while Instant::now() < deadline {
            for smaller in case.smaller() {
                if Instant::now() > deadline {
                    break;
                }
                let still = match self.begin(&smaller).and_then(|()| self.compare(&smaller)) {
                    Err(error) if error.is::<NoAnswer>() => {
                        self.take_new_peer()?;
                        continue;
                    }
                    still => still?,
                };
                // What is no statement any more is refused by both, or by one for its syntax alone.
                if let Some(still) = still.filter(|still| still.kind == found.kind && still.is_alike()) {
                    (case, found) = (smaller, still);
                    continue 'again;
                }
            }
            break;
        }
        Ok((case, found))
    }
}

/// Whether a column is compared with others by `<=>` and by `=` or `<>`: MariaDB then takes the one for the other, also
/// across queries within, and finds rows of NULLs that are not equal.
fn says_equal_twice(sql: &str) -> bool {
    let words: Vec<&str> = sql.split([' ', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
    let is_column = |word: &str| word.starts_with('x') && word.contains('.');
    let compared = |operator: &'static str| {
        let pairs = words.windows(3).filter(move |three| three[1] == operator).map(|three| [three[0], three[2]]);
        pairs.filter(move |pair| pair.iter().all(|word| is_column(word)))
    };
    let otherwise = || compared("=").chain(compared("<>")).flatten();
    compared("<=>").any(|pair| otherwise().any(|column| pair.contains(&column)))
}

impl Found {
    /// Whether it is no mere matter of names that are gone.
    fn is_alike(&self) -> bool {
        let is_gone = |answer: &Answer| matches!(answer, Answer::Refused(1054 | 1064 | 1109));
        !is_gone(&self.ours) && !is_gone(&self.theirs)
    }
}
