//! Runs cases on both servers, and makes those that differ smaller.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;
use cohort_blackbox::Shape;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::answer::{Answer, Kind, Outcome, ask, difference};
use crate::documents;
use crate::exceptions::{self, Difference};
use crate::tree::Tree;

/// Makes a statement the server's own.
pub type Dialect = fn(String) -> String;

/// The table as it is.
const TABLE: &str = "SELECT * FROM t ORDER BY id";

/// How long one difference is made smaller.
const PATIENCE: Duration = Duration::from_secs(10);

/// A table, what was done to it, and the statement whose answers are compared.
#[derive(Clone)]
pub struct Case {
    mode: &'static str,
    create: Tree,
    pub history: Vec<Tree>,
    pub last: Tree,
    pub prepared: bool,
}

/// Two sessions, one on each server.
pub struct Pair {
    pub ours: Conn,
    pub theirs: Conn,
    /// Whether the last statement that was compared failed on both.
    pub refused: bool,
    /// Whether the table had a zero date after the last change.
    pub zero_dates: bool,
}

/// What became of a case's table.
pub enum Begun {
    Made,
    Refused,
    /// One of the servers refuses it.
    Differs(Found),
}

/// Two answers that differ.
pub struct Found {
    kind: Kind,
    zero_dates: bool,
    ours: Answer,
    theirs: Answer,
}

/// Our server takes statements as they are.
pub fn as_it_is(sql: String) -> String {
    sql
}

/// MariaDB cuts fractional seconds unless it is asked to round them. It has no collations of Unicode 9, and no redb. Those
/// of Unicode 5.2 that do not pad agree in all characters that are generated.
pub fn for_mariadb(sql: String) -> String {
    let sql = sql
        .replace("utf8mb4_0900_ai_ci", "utf8mb4_unicode_520_nopad_ci")
        .replace("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
        .replace(" ENGINE=redb", "")
        .replace("SET sql_mode = '", "SET sql_mode = 'TIME_ROUND_FRACTIONAL,");
    documents::for_mariadb(sql)
}

impl Case {
    pub fn new(mode: &'static str, create: Tree) -> Case {
        Case { mode, create, history: Vec::new(), last: Tree::from("SELECT 1"), prepared: false }
    }

    /// What makes the table as it is before the last statement.
    fn table(&self) -> String {
        let mut script = format!("{};\n", self.create.sql());
        for statement in &self.history {
            script += &format!("{};\n", statement.sql());
        }
        script
    }

    /// All of it, to be run by hand.
    pub fn script(&self) -> String {
        let mut script = format!("SET sql_mode='{}'; {}", self.mode, self.table());
        script += &format!("{};", self.last.sql());
        if self.prepared {
            script += &format!(" -- prepared: {}", self.last.prepared().0);
        }
        script
    }

    fn len(&self) -> usize {
        let history: usize = self.history.iter().map(|statement| statement.sql().len() + 10).sum();
        self.create.sql().len() + history + self.last.sql().len() + usize::from(self.prepared)
    }

    /// Cases that are smaller by one step.
    fn smaller(&self) -> Vec<Case> {
        let mut found = Vec::new();
        let mut run = self.history.len();
        while run > 0 {
            for start in (0..self.history.len()).step_by(run) {
                let mut copy = self.clone();
                copy.history.drain(start..(start + run).min(self.history.len()));
                found.push(copy);
            }
            run /= 2;
        }
        found.push(Case { prepared: false, ..self.clone() });
        found.extend(self.last.smaller().into_iter().map(|last| Case { last, ..self.clone() }));
        for column in (0..10).map(|at| format!("c{at}")) {
            found.push(Case {
                create: self.create.without_column(&column),
                history: self.history.iter().map(|statement| statement.without_column(&column)).collect(),
                last: self.last.without_column(&column),
                ..self.clone()
            });
        }
        found.extend(self.create.smaller().into_iter().map(|create| Case { create, ..self.clone() }));
        for (at, statement) in self.history.iter().enumerate() {
            for smaller in statement.smaller() {
                let mut copy = self.clone();
                copy.history[at] = smaller;
                found.push(copy);
            }
        }
        let len = self.len();
        found.retain(|case| case.len() < len);
        found
    }
}

impl Pair {
    /// Makes the case's table, with nothing in it.
    pub fn begin(&mut self, case: &Case) -> Result<Begun> {
        for (conn, dialect) in self.sessions() {
            conn.query_drop("DROP TABLE IF EXISTS t")?;
            conn.query_drop("SELECT LAST_INSERT_ID(0)")?;
            conn.query_drop(dialect(format!("SET sql_mode = '{}'", case.mode)))?;
        }
        let (ours, theirs) = self.ask(&case.create, false)?;
        let made = |answer: &Answer| matches!(answer.outcome, Outcome::Done { .. });
        Ok(match (made(&ours), made(&theirs)) {
            (true, true) => Begun::Made,
            (false, false) => Begun::Refused,
            _ => Begun::Differs(Found { kind: Kind::Create, zero_dates: false, ours, theirs }),
        })
    }

    fn sessions(&mut self) -> [(&mut Conn, Dialect); 2] {
        [(&mut self.ours, as_it_is), (&mut self.theirs, for_mariadb)]
    }

    fn ask(&mut self, statement: &Tree, prepared: bool) -> Result<(Answer, Answer)> {
        let [(ours, as_it_is), (theirs, for_mariadb)] = self.sessions();
        Ok((ask(ours, statement, prepared, as_it_is)?, ask(theirs, statement, prepared, for_mariadb)?))
    }

    /// Compares the answers to the last statement, and the table after it.
    pub fn compare(&mut self, case: &Case) -> Result<Option<Found>> {
        let sql = case.last.sql();
        let (ours, theirs) = self.ask(&case.last, case.prepared)?;
        self.refused = matches!(ours.outcome, Outcome::Refused { .. });
        let zero_dates = self.zero_dates;
        let warned = (ours.warnings.clone(), theirs.warnings.clone());
        let cut_a_time = ours.cut_a_time || theirs.cut_a_time;
        let found = difference(&sql, &ours, &theirs).map(|kind| Found { kind, zero_dates, ours, theirs });
        if sql.starts_with("SELECT") || found.as_ref().is_some_and(|found| found.kind == Kind::Error) {
            return Ok(found);
        }
        // Another table is worse than another count.
        let after = self.compare_tables()?;
        Ok(match after {
            Some(mut after) if after.kind == Kind::Table => {
                // The change's own warnings.
                (after.ours.warnings, after.theirs.warnings) = warned;
                after.ours.cut_a_time |= cut_a_time;
                Some(after)
            }
            after => found.or(after),
        })
    }

    /// Runs all of a case.
    fn replay(&mut self, case: &Case) -> Result<Option<Found>> {
        match self.begin(case)? {
            Begun::Made => {}
            Begun::Refused => return Ok(None),
            Begun::Differs(found) => return Ok(Some(found)),
        }
        for statement in &case.history {
            let (ours, theirs) = self.ask(statement, false)?;
            if difference(&statement.sql(), &ours, &theirs).is_some() {
                return Ok(None);
            }
        }
        if self.compare_tables()?.is_some() {
            return Ok(None);
        }
        self.compare(case)
    }

    fn compare_tables(&mut self) -> Result<Option<Found>> {
        let (ours, theirs) = self.ask(&Tree::from(TABLE), false)?;
        self.zero_dates = ours.to_string().contains("-00");
        let zero_dates = self.zero_dates;
        if difference(TABLE, &ours, &theirs).is_some() {
            return Ok(Some(Found { kind: Kind::Table, zero_dates, ours, theirs }));
        }
        let made = Tree::from("SELECT LAST_INSERT_ID()");
        let (ours, theirs) = self.ask(&made, false)?;
        Ok(difference(&made.sql(), &ours, &theirs).map(|_| Found { kind: Kind::InsertId, zero_dates, ours, theirs }))
    }
}

impl Found {
    /// Why this difference is meant, if it is.
    pub fn excepted(&self, case: &Case) -> Option<&'static str> {
        let sql = self.statement(case).sql();
        let Found { kind, zero_dates, ours, theirs } = self;
        let prepared = case.prepared;
        let mode = case.mode;
        exceptions::reason(&Difference {
            table: &case.table(),
            sql: &sql,
            prepared,
            mode,
            zero_dates: *zero_dates,
            kind: *kind,
            ours,
            theirs,
        })
    }

    /// The statement whose answers differ.
    fn statement<'c>(&self, case: &'c Case) -> &'c Tree {
        if self.kind == Kind::Create { &case.create } else { &case.last }
    }

    /// What differences of one cause have in common, more or less: the statement without its constants.
    pub fn signature(&self, case: &Case) -> String {
        let words: String = self
            .statement(case)
            .sql()
            .chars()
            .filter(|c| !c.is_ascii_digit() && !c.is_whitespace())
            .collect::<String>()
            .split('\'')
            .step_by(2)
            .collect();
        format!("{:?} {words}", self.kind)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "    {:?}\n    ours   {}\n    theirs {}", self.kind, self.ours, self.theirs)
    }
}

/// Why a difference that is as small as it can be is meant, if it is.
pub fn judge(pair: &mut Pair, case: &Case, found: &Found) -> Result<Option<&'static str>> {
    if let Some((part, found)) = cause(pair, case)? {
        if let Some(reason) = found.excepted(&part) {
            return Ok(Some(reason));
        }
        if found.kind == Kind::Rows && has_inexact_bits(pair, &part)? {
            return Ok(Some(
                "beside a bit operator MariaDB reads a DOUBLE by its shortest digits, and rounds its halves up",
            ));
        }
    }
    let of_a_key = is_of_a_key(pair, case, found)? || is_read_by_a_key(pair, case, found)?;
    Ok(of_a_key.then_some("MariaDB finds other rows by a key than without one, here they are the same"))
}

/// The first part of the last statement that differs by itself, read from the table as it is before that statement.
///
/// What is made of a value that differs differs in any way; so whether a difference is meant is judged by such a part.
fn cause(pair: &mut Pair, case: &Case) -> Result<Option<(Case, Found)>> {
    for part in case.last.expressions() {
        let read = Tree::Sequence(vec![Tree::from("SELECT "), part.clone(), Tree::from(" AS e0 FROM t")]);
        let read = Case { last: read, ..case.clone() };
        if let Some(found) = pair.replay(&read)? {
            return Ok(Some((read, found)));
        }
    }
    Ok(None)
}

/// Whether an operand of a bit operator of this part is a DOUBLE that is no integer, or has more digits than are shown.
fn has_inexact_bits(pair: &mut Pair, part: &Case) -> Result<bool> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let sql = part.last.sql();
    let expression = sql.trim_start_matches("SELECT ").trim_end_matches(" AS e0 FROM t");
    // An average's argument may be one, and what stands in parentheses.
    let inner = ["AVG(", "("].iter().find_map(|open| expression.strip_prefix(open)?.strip_suffix(')'));
    let of_bits =
        [Some(expression), inner].into_iter().flatten().map(operands_of_bits).filter(|(_, has_bits)| *has_bits);
    for operand in of_bits.flat_map(|(operands, _)| operands) {
        let read = Tree::from(format!("SELECT {operand} AS e0 FROM t"));
        let read = Case { last: read, prepared: false, ..part.clone() };
        pair.replay(&read)?;
        let (ours, _) = pair.ask(&read.last, false)?;
        let Outcome::Rows { columns, rows } = ours.outcome else { continue };
        let is_inexact =
            |value: &String| value.parse::<f64>().is_ok_and(|double| double.fract() != 0.0 || double.abs() >= EXACT);
        if columns.iter().all(Shape::is_approximate) && rows.iter().flatten().any(is_inexact) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What stands between the operators of an expression that bind no closer than those of bits do, and whether there are
/// any of bits.
fn operands_of_bits(expression: &str) -> (Vec<&str>, bool) {
    const OF_BITS: [&str; 5] = ["|", "&", "^", "<<", ">>"];
    const WEAKER: [&str; 11] = ["=", "<", ">", "<=", ">=", "<>", "<=>", "AND", "OR", "XOR", "BETWEEN"];
    let (mut depth, mut quoted, mut start, mut at, mut has_bits) = (0, false, 0, 0, expression.starts_with('~'));
    let mut operands = Vec::new();
    for word in expression.split_inclusive(' ') {
        let bare = word.trim_end();
        let is_of_bits = OF_BITS.contains(&bare);
        if depth == 0 && !quoted && (is_of_bits || WEAKER.contains(&bare)) {
            has_bits |= is_of_bits;
            operands.push(&expression[start..at]);
            start = at + word.len();
        }
        for byte in word.bytes() {
            match byte {
                b'\'' => quoted = !quoted,
                b'(' if !quoted => depth += 1,
                b')' if !quoted => depth -= 1,
                _ => {}
            }
        }
        at += word.len();
    }
    operands.push(&expression[start..]);
    (operands.into_iter().map(|operand| operand.trim().trim_start_matches('~')).collect(), has_bits)
}

/// Whether MariaDB answers as this server does where the table has no keys, or otherwise in a way that is meant, and this
/// server answers as it does with them.
fn is_of_a_key(pair: &mut Pair, case: &Case, found: &Found) -> Result<bool> {
    let bare = Case { create: case.create.without_keys(), ..case.clone() };
    if bare.len() == case.len() || found.kind == Kind::Create {
        return Ok(false);
    }
    let differs = pair.replay(&bare)?.is_some_and(|found| found.excepted(&bare).is_none());
    if differs || !matches!(pair.begin(&bare)?, Begun::Made) {
        return Ok(false);
    }
    for statement in &bare.history {
        pair.ask(statement, false)?;
    }
    let (mut ours, _) = pair.ask(&bare.last, bare.prepared)?;
    if found.kind == Kind::Table {
        (ours, _) = pair.ask(&Tree::from(TABLE), false)?;
    }
    Ok(difference(&bare.last.sql(), &found.ours, &ours).is_none())
}

/// The same for a SELECT that does not use the keys of its table: which rows there are may be up to a unique one.
fn is_read_by_a_key(pair: &mut Pair, case: &Case, found: &Found) -> Result<bool> {
    let create = case.create.sql();
    let names: Vec<&str> = create.split("KEY k").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    let sql = case.last.sql();
    if found.kind != Kind::Rows || names.is_empty() || !sql.starts_with("SELECT") {
        return Ok(false);
    }
    let hint = format!(" FROM t IGNORE INDEX (k{})", names.join(", k"));
    let scan = Case { last: Tree::from(sql.replacen(" FROM t", &hint, 1)), prepared: false, ..case.clone() };
    if pair.replay(&scan)?.is_some_and(|found| found.excepted(&scan).is_none()) {
        return Ok(false);
    }
    let (ours, _) = pair.ask(&scan.last, false)?;
    Ok(difference(&sql, &found.ours, &ours).is_none())
}

/// The smallest case found that differs in the same way and is not excepted.
pub fn shrink(pair: &mut Pair, case: Case, found: Found) -> Result<(Case, Found)> {
    let (mut best, mut reason) = (case, found);
    let deadline = Instant::now() + PATIENCE;
    'smaller: loop {
        for candidate in best.smaller() {
            if Instant::now() > deadline {
                break 'smaller;
            }
            if let Some(found) = pair.replay(&candidate)?
                && found.kind == reason.kind
                && found.excepted(&candidate).is_none()
            {
                (best, reason) = (candidate, found);
                continue 'smaller;
            }
        }
        break;
    }
    Ok((best, reason))
}
