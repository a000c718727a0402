//! Chooses a run by its seed: a table, sessions, and what they do one after the other.

use cohort_blackbox::rng::Rng;

use crate::statement::{Effect, Lock, Statement};
use crate::table::{Index, KEYS, SHAPES, Shape};

/// The isolation levels, in SQL.
pub const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// What a session does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a statement, unless it waits.
    Say(Statement),
    /// Is interrupted, if it waits.
    Interrupt,
}

/// One step of a run.
#[derive(Clone, Debug)]
pub struct Step {
    pub session: usize,
    pub action: Action,
}

/// Everything about a run that its seed decides.
#[derive(Clone, Debug)]
pub struct Plan {
    pub shape: &'static Shape,
    /// The engine of our table; InnoDB's is always itself.
    pub engine: &'static str,
    pub rows: Vec<String>,
    /// Each session's isolation level.
    pub levels: Vec<usize>,
    /// A session whose waits time out.
    pub impatient: Option<usize>,
    pub steps: Vec<Step>,
}

/// Statements of one session, as they are chosen.
struct Speaker<'a> {
    shape: &'static Shape,
    rng: &'a mut Rng,
}

impl Plan {
    pub fn new(seed: u64) -> Plan {
        let mut rng = Rng::new(seed);
        let shape = &SHAPES[rng.below(SHAPES.len() as u64) as usize];
        let engine = if rng.chance(50) { "InnoDB" } else { "redb" };
        let sessions = 2 + [0, 0, 0, 0, 1, 1, 1, 2, 3, 4][rng.below(10) as usize];
        // Often all alike: mixtures hide what one level does.
        let common = level(&mut rng);
        let alike = rng.chance(60);
        let levels = (0..sessions).map(|_| if alike { common } else { level(&mut rng) }).collect();
        let impatient = rng.chance(3).then(|| rng.below(sessions) as usize);
        let rows = shape.rows(&mut rng);
        let mut open = vec![false; sessions as usize];
        let count = 6 + rng.below(10 * sessions);
        let steps = (0..count).map(|_| {
            let session = rng.below(sessions) as usize;
            let action = Speaker { shape, rng: &mut rng }.action(&mut open[session]);
            Step { session, action }
        });
        Plan { shape, engine, levels, impatient, steps: steps.collect(), rows }
    }

    /// The statements that put every session in place.
    pub fn setting(&self, session: usize) -> Vec<String> {
        let patience = if self.impatient == Some(session) { 1 } else { 600 };
        vec![
            "ROLLBACK".to_owned(),
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", LEVELS[self.levels[session]]),
            format!("SET SESSION innodb_lock_wait_timeout = {patience}"),
        ]
    }
}

fn level(rng: &mut Rng) -> usize {
    [0, 1, 1, 1, 2, 2, 2, 2, 3, 3][rng.below(10) as usize]
}

impl Speaker<'_> {
    fn action(&mut self, open: &mut bool) -> Action {
        if self.rng.chance(2) {
            return Action::Interrupt;
        }
        let choice = self.rng.below(100);
        if !*open && choice < 60 {
            *open = true;
            return Action::Say(Statement::new("BEGIN", Effect::Begin));
        }
        Action::Say(match choice {
            0..18 => {
                *open = false;
                Statement::new(if choice < 12 { "COMMIT" } else { "ROLLBACK" }, Effect::End)
            }
            18..21 => Statement::new("SAVEPOINT s", Effect::Savepoint),
            21..24 => Statement::new("ROLLBACK TO s", Effect::RollbackTo),
            _ => self.statement(),
        })
    }

    fn statement(&mut self) -> Statement {
        match self.rng.below(100) {
            0..8 => self.select("", Lock::Plain),
            8..25 => self.select(" FOR UPDATE", Lock::Exclusive),
            25..35 => self.select(" LOCK IN SHARE MODE", Lock::Shared),
            35..60 => self.update(),
            60..75 => self.delete(),
            75..87 => self.insert("INSERT", ""),
            87..91 => self.insert("REPLACE", ""),
            91..93 => self.insert("INSERT IGNORE", ""),
            _ => {
                let column = self.changed_column();
                let value = self.shape.value(column, self.rng);
                let name = self.shape.columns[column];
                self.insert("INSERT", &format!(" ON DUPLICATE KEY UPDATE {name} = {value}"))
            }
        }
    }

    fn select(&mut self, clause: &str, lock: Lock) -> Statement {
        let (hint, condition, tail) = self.condition();
        let sql = format!("SELECT * FROM t{hint} WHERE {condition}{tail}{clause}");
        Statement::new(sql, Effect::Finds { condition, tail, lock, becomes: None })
    }

    fn update(&mut self) -> Statement {
        let (hint, condition, tail) = self.condition();
        let column = self.changed_column();
        let name = self.shape.columns[column];
        let change = match self.rng.below(3) {
            0 => self.shape.value(column, self.rng),
            // Within the range that is scanned, or out of it.
            1 => format!("{name} + {}", 1 + self.rng.below(4)),
            _ => format!("{name} + 100"),
        };
        let sql = format!("UPDATE t{hint} SET {name} = {change} WHERE {condition}{tail}");
        let mut becomes: Vec<String> = self.shape.columns.iter().map(|name| (*name).to_owned()).collect();
        becomes[column] = change;
        Statement::new(sql, Effect::Finds { condition, tail, lock: Lock::Exclusive, becomes: Some(becomes) })
    }

    fn delete(&mut self) -> Statement {
        // A DELETE takes no hint: what it scans is compared before it is sent.
        let (_, condition, tail) = self.condition();
        let sql = format!("DELETE FROM t WHERE {condition}{tail}");
        Statement::new(sql, Effect::Finds { condition, tail, lock: Lock::Exclusive, becomes: None })
    }

    fn insert(&mut self, verb: &str, tail: &str) -> Statement {
        let count = if self.rng.chance(15) { 2 } else { 1 };
        let row = |rng: &mut Rng| {
            let mut values: Vec<String> =
                (0..self.shape.columns.len()).map(|column| self.shape.value(column, rng)).collect();
            if verb == "REPLACE" {
                // What replaces its like counts as one row or as two.
                values[self.shape.free_column()] = (4 + rng.below(1_000_000)).to_string();
            }
            values.join(",")
        };
        let rows: Vec<String> = (0..count).map(|_| row(self.rng)).collect();
        Statement::new(format!("{verb} INTO t VALUES ({}){tail}", rows.join("),(")), Effect::Brings(rows))
    }

    fn changed_column(&mut self) -> usize {
        if self.rng.chance(50) {
            self.shape.free_column()
        } else {
            self.rng.below(self.shape.columns.len() as u64) as usize
        }
    }

    /// A hint, a condition that its index serves, and ORDER BY with LIMIT or neither.
    fn condition(&mut self) -> (String, String, String) {
        let place = self.rng.below(self.shape.indexes.len() as u64 + 1) as usize;
        let Some(index) = self.shape.indexes.get(place) else {
            let condition = self.on_column(self.shape.free_column());
            return (String::new(), condition, self.tail(None, false));
        };
        let mut condition = self.on_column(index.columns[0]);
        if index.columns.len() > 1 && self.rng.chance(60) {
            condition = format!("({condition}) AND ({})", self.on_column(index.columns[1]));
        }
        if self.rng.chance(20) {
            condition = format!("({condition}) AND {}", self.on_column(self.shape.free_column()));
        }
        let has_points = condition.contains(" = ") || condition.contains(" IN ");
        (format!(" FORCE INDEX ({})", index.name), condition, self.tail(Some(index), has_points))
    }

    fn tail(&mut self, index: Option<&Index>, has_points: bool) -> String {
        if !self.rng.chance(12) {
            return String::new();
        }
        let column = match index {
            Some(index) => self.shape.columns[index.columns[0]],
            None => self.shape.columns[self.rng.below(self.shape.columns.len() as u64) as usize],
        };
        // MariaDB reads the rows of a point forwards even where it reads points backwards.
        let is_ordered = index.is_none_or(|index| index.unique || !has_points);
        let direction = if self.rng.chance(40) && is_ordered { " DESC" } else { "" };
        // By an index, equal rows come in its order; otherwise every column makes the order whole.
        let others = self.shape.columns.iter().filter(|name| index.is_none() && **name != column);
        let rest: String = others.map(|name| format!(", {name}{direction}")).collect();
        format!(" ORDER BY {column}{direction}{rest} LIMIT {}", 1 + self.rng.below(3))
    }

    fn on_column(&mut self, column: usize) -> String {
        let name = self.shape.columns[column];
        if column == self.shape.free_column() {
            let value = self.rng.below(4);
            return match self.rng.below(3) {
                0 => format!("{name} >= {value}"),
                1 => format!("{name} <> {value}"),
                _ => format!("{name} = {value}"),
            };
        }
        let bound = if name == "b" { 4 } else { KEYS };
        let some = |rng: &mut Rng| rng.below(bound);
        let (a, b, c) = (some(self.rng), some(self.rng), some(self.rng));
        let (low, high) = (a.min(b), a.max(b));
        match self.rng.below(11) {
            0..4 => format!("{name} = {a}"),
            4 => format!("{name} IN ({a}, {b}, {c})"),
            5 => format!("{name} BETWEEN {low} AND {high}"),
            6 => format!("{name} > {low} AND {name} < {}", high + 2),
            7 => format!("{name} >= {a}"),
            8 => format!("{name} < {a}"),
            9 if self.shape.nullable == Some(column) => format!("{name} IS NULL"),
            9 => format!("{name} <= {low} OR {name} >= {}", high + 1),
            _ => format!("{name} BETWEEN {low} AND {} OR {name} = {}", low + 3, high + 5),
        }
    }
}
