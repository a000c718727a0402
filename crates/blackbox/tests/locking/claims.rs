//! What open transactions must keep others from, whatever ranges a server locks beyond that.
//!
//! A transaction claims the rows that its locking statements found, the rows that it changed, as they were and as they
//! are, and, at REPEATABLE READ and above, that no row comes to match their conditions. A statement that contradicts
//! a claim has to wait. InnoDB locks more than that: whole gaps between neighbouring records, and records that do not
//! match.
//!
//! Rows are read and conditions evaluated by MariaDB, at READ UNCOMMITTED.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::generate::Plan;
use crate::side::{Answer, Side};
use crate::statement::{Effect, Lock, Statement};
use crate::table::Shape;

type Row = Vec<String>;

/// What a statement of an open transaction has claimed.
#[derive(Debug)]
struct Claim {
    exclusive: bool,
    /// Rows that it found, changed or brought.
    rows: Vec<Row>,
    /// Of these, those that are not as they were, before and after.
    changed: Vec<Row>,
    /// No row may come to match this.
    range: Option<String>,
}

#[derive(Debug, Default)]
struct Holder {
    open: bool,
    /// Whether the transaction has had to do with the table.
    touched: bool,
    level: usize,
    claims: Vec<Claim>,
    /// The statement that waits.
    pending: Option<Statement>,
    /// An INSERT of the transaction has put fewer rows than it brought.
    in_vain: bool,
    /// It waits in InnoDB for nobody who has claimed what it wants.
    needlessly: bool,
}

/// All claims of a run.
#[derive(Debug)]
pub struct Claims {
    shape: &'static Shape,
    sessions: Vec<Holder>,
    /// The rows as they are, committed or not.
    table: Vec<Row>,
}

impl Claims {
    pub fn new(plan: &Plan, side: &mut Side) -> Result<Claims> {
        let holder = |level: &usize| Holder { level: *level, ..Holder::default() };
        let sessions = plan.levels.iter().map(holder).collect();
        let mut claims = Claims { shape: plan.shape, sessions, table: Vec::new() };
        claims.table = claims.read(side, "SELECT * FROM t")?;
        Ok(claims)
    }

    /// Whether the session's transaction has done anything yet.
    pub fn has_touched(&self, session: usize) -> bool {
        self.sessions[session].touched
    }

    /// The statement of a session that waits.
    pub fn pending(&self, session: usize) -> Option<&Statement> {
        self.sessions[session].pending.as_ref()
    }

    /// Notes what a step brought: `statement` of `session`, unless that was interrupted.
    pub fn note(
        &mut self,
        side: &mut Side,
        session: usize,
        statement: Option<&Statement>,
        answers: &[(usize, Answer)],
    ) -> Result<()> {
        let before = std::mem::take(&mut self.table);
        self.table = self.read(side, "SELECT * FROM t")?;
        if let Some(statement) = statement {
            self.sessions[session].pending = Some(statement.clone());
            self.sessions[session].needlessly = self.waits_needlessly(side, session, statement)?;
        }
        for (answered, answer) in answers {
            let Some(statement) = self.sessions[*answered].pending.take() else { continue };
            if let Effect::Brings(rows) = &statement.effect {
                self.sessions[*answered].in_vain |= *answer != Answer::Done(rows.len() as u64);
            }
            let claim = match answer {
                Answer::Error(1213) => {
                    self.end(*answered, false);
                    continue;
                }
                Answer::Error(_) => continue,
                _ => self.claim(side, *answered, &statement, &before)?,
            };
            match statement.effect {
                Effect::Begin | Effect::End => self.end(*answered, statement.effect == Effect::Begin),
                Effect::Savepoint | Effect::RollbackTo => {}
                Effect::Finds { .. } | Effect::Brings(_) => {
                    let holder = &mut self.sessions[*answered];
                    holder.touched = holder.open;
                    if let Some(mut claim) = claim.filter(|_| holder.open) {
                        if answers.len() == 1 {
                            claim.changed = changes(&before, &self.table);
                            claim.rows.extend(claim.changed.iter().cloned());
                        }
                        holder.claims.push(claim);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether an INSERT of an open transaction of others has met a duplicate.
    pub fn has_insert_in_vain(&self, session: usize) -> bool {
        self.sessions.iter().enumerate().any(|(other, holder)| other != session && holder.in_vain)
    }

    /// Whether a statement is refused for a duplicate of a row that nobody is changing.
    pub fn is_refused(&self, side: &mut Side, session: usize, statement: &Statement) -> Result<bool> {
        let becoming = self.becoming(side, statement)?;
        let others = self.sessions.iter().enumerate().filter(|(other, _)| *other != session);
        let changed: Vec<&Row> =
            others.flat_map(|(_, holder)| holder.claims.iter().flat_map(|claim| &claim.changed)).collect();
        let stands = |row: &&Row| !changed.contains(row);
        Ok(self.table.iter().filter(stands).any(|row| becoming.iter().any(|new| self.clashes(new, row))))
    }

    /// Whether a session's statement wants nothing but rows that its transaction has changed.
    pub fn has_changed_all(&self, side: &mut Side, session: usize, statement: &Statement) -> Result<bool> {
        let Effect::Finds { condition, tail, .. } = &statement.effect else { return Ok(false) };
        let wanted = self.matching(side, &self.table, condition, tail, "*")?;
        let own: Vec<&Row> = self.sessions[session].claims.iter().flat_map(|claim| &claim.changed).collect();
        Ok(wanted.iter().all(|row| own.iter().any(|changed| self.is_same(row, changed))))
    }

    /// Whether somebody waits in InnoDB who need not, though others may make it wait here.
    pub fn has_needless_wait(&self) -> bool {
        self.sessions.iter().any(|holder| holder.pending.is_some() && holder.needlessly)
    }

    /// Whether a statement waits in InnoDB for those who have not claimed what it wants.
    pub fn waits_needlessly(&self, side: &mut Side, session: usize, statement: &Statement) -> Result<bool> {
        let (status, connection) = (side.status()?, side.connection_of(session));
        let blockers = status.blockers(connection);
        // Rows are brought one after the other: others may be in the way of a later one.
        let first = match &statement.effect {
            Effect::Brings(rows) => Statement::new(statement.sql.clone(), Effect::Brings(rows[..1].to_vec())),
            // It has found its rows, and only what becomes of them matters.
            Effect::Finds { .. } if status.waits_to_insert(connection) => {
                let rows = self.becoming(side, statement)?.iter().map(|row| row.join(",")).collect();
                Statement::new(statement.sql.clone(), Effect::Brings(rows))
            }
            _ => statement.clone(),
        };
        for blocker in &blockers {
            let Some(other) = side.session_of(*blocker) else { continue };
            let has_record =
                status.wanted_record(connection).is_none_or(|(index, key)| self.has_claimed(other, index, key));
            if has_record && self.conflict(side, session, &first, other)? {
                return Ok(false);
            }
        }
        Ok(!blockers.is_empty())
    }

    /// Whether a session waits in InnoDB for a record that none of those it waits for has claimed.
    pub fn waits_at_unclaimed(&self, side: &mut Side, session: usize) -> Result<bool> {
        let (status, connection) = (side.status()?, side.connection_of(session));
        let Some((index, key)) = status.wanted_record(connection) else { return Ok(false) };
        let blockers = status.blockers(connection);
        let others = blockers.iter().filter_map(|blocker| side.session_of(*blocker));
        Ok(!others.into_iter().any(|other| self.has_claimed(other, index, key)))
    }

    /// Whether a session has claimed a row whose entry in an index begins with `key`.
    fn has_claimed(&self, session: usize, index: &str, key: &str) -> bool {
        // Without a primary key, rows have numbers that nobody sees.
        let Some(index) = self.shape.indexes.iter().find(|known| known.name == index) else { return true };
        let mut rows = self.sessions[session].claims.iter().flat_map(|claim| &claim.rows);
        rows.any(|row| row[index.columns[0]] == key)
    }

    fn end(&mut self, session: usize, open: bool) {
        let level = self.sessions[session].level;
        self.sessions[session] = Holder { open, level, ..Holder::default() };
    }

    fn claim(&self, side: &mut Side, session: usize, statement: &Statement, before: &[Row]) -> Result<Option<Claim>> {
        Ok(match &statement.effect {
            Effect::Finds { condition, tail, .. } => {
                let lock = self.lock(session, statement);
                let mut rows = self.matching(side, before, condition, tail, "*")?;
                rows.extend(self.matching(side, &self.table, condition, tail, "*")?);
                let range = (self.sessions[session].level >= 2 && tail.is_empty()).then(|| condition.clone());
                let claim = Claim { exclusive: lock == Lock::Exclusive, rows, changed: Vec::new(), range };
                (lock != Lock::Plain).then_some(claim)
            }
            Effect::Brings(_) => Some(Claim { exclusive: true, rows: Vec::new(), changed: Vec::new(), range: None }),
            _ => None,
        })
    }

    /// How a session's statement locks what it finds.
    fn lock(&self, session: usize, statement: &Statement) -> Lock {
        match statement.effect {
            Effect::Finds { lock: Lock::Plain, .. }
                if self.sessions[session].open && self.sessions[session].level == 3 =>
            {
                Lock::Shared
            }
            Effect::Finds { lock, .. } => lock,
            _ => Lock::Exclusive,
        }
    }

    /// Whether a statement of `session` contradicts what `other` claims, so that it has to wait.
    pub fn conflict(&self, side: &mut Side, session: usize, statement: &Statement, other: usize) -> Result<bool> {
        let lock = self.lock(session, statement);
        let wanted = match &statement.effect {
            Effect::Finds { condition, tail, .. } if lock != Lock::Plain => {
                self.matching(side, &self.table, condition, tail, "*")?
            }
            Effect::Brings(_) => Vec::new(),
            _ => return Ok(false),
        };
        let becoming = self.becoming(side, statement)?;
        for claim in &self.sessions[other].claims {
            let exclusive = claim.exclusive || !claim.changed.is_empty();
            if !exclusive && lock != Lock::Exclusive {
                continue;
            }
            let found = wanted.iter().any(|row| claim.rows.iter().any(|held| self.is_same(row, held)));
            let taken = exclusive && becoming.iter().any(|row| claim.rows.iter().any(|held| self.is_same(row, held)));
            let double = becoming.iter().any(|row| claim.changed.iter().any(|held| self.clashes(row, held)));
            if found || taken || double {
                return Ok(true);
            }
            if let Effect::Finds { condition, .. } = &statement.effect
                && !self.matching(side, &claim.changed, condition, "", "*")?.is_empty()
            {
                return Ok(true);
            }
            if let Some(range) = &claim.range
                && !self.matching(side, &becoming, range, "", "*")?.is_empty()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rows that a statement puts, in place of others or new.
    fn becoming(&self, side: &mut Side, statement: &Statement) -> Result<Vec<Row>> {
        match &statement.effect {
            Effect::Finds { condition, tail, becomes: Some(columns), .. } => {
                self.matching(side, &self.table, condition, tail, &columns.join(", "))
            }
            Effect::Brings(rows) => Ok(rows.iter().map(|row| row.split(',').map(str::to_owned).collect()).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// The rows of `rows` that match, in order, as `columns`.
    fn matching(&self, side: &mut Side, rows: &[Row], condition: &str, tail: &str, columns: &str) -> Result<Vec<Row>> {
        let Some((first, others)) = rows.split_first() else { return Ok(Vec::new()) };
        let named = first.iter().zip(self.shape.columns).map(|(value, name)| format!("{value} AS {name}"));
        let mut table = format!("SELECT {}", named.collect::<Vec<_>>().join(", "));
        for row in others {
            table += &format!(" UNION ALL SELECT {}", row.join(", "));
        }
        self.read(side, &format!("SELECT {columns} FROM ({table}) t WHERE {condition}{tail}"))
    }

    fn read(&self, side: &mut Side, sql: &str) -> Result<Vec<Row>> {
        match side.control(sql)? {
            Answer::Rows(rows) => Ok(rows),
            other => bail!("{sql}: {other:?}"),
        }
    }

    /// Whether two versions are of one row.
    fn is_same(&self, row: &Row, other: &Row) -> bool {
        let key = &self.shape.indexes[0];
        if key.name == "PRIMARY" {
            key.columns.iter().all(|column| row[*column] == other[*column])
        } else {
            row == other
        }
    }

    /// Whether two rows cannot both be.
    fn clashes(&self, row: &Row, other: &Row) -> bool {
        let same = |column: &usize| row[*column] == other[*column] && row[*column] != "NULL";
        self.shape.indexes.iter().any(|index| index.unique && index.columns.iter().all(same))
    }
}

/// The rows that are in one table and not in the other.
fn changes(before: &[Row], after: &[Row]) -> Vec<Row> {
    let (before, after): (BTreeSet<&Row>, BTreeSet<&Row>) = (before.iter().collect(), after.iter().collect());
    before.symmetric_difference(&after).map(|row| (*row).clone()).collect()
}
