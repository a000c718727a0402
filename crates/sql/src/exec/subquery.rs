//! Queries within a statement, and what expressions ask of them.
//!
//! A query that reads nothing of the query around it, and gives the same each time, runs once: what it gave is kept. Of one
//! that reads the row around, answers are kept ([`super::remembered`]) where they stay what they are
//! ([`Plan::answers_stay`]). All others run whenever they are asked, as far as the answer needs.

use std::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;

use super::Run;
use super::operators::{self, Row};
use super::remembered::{self, Remembered};
use crate::collation::Collation;
use crate::error::{ER_SUBQUERY_NO_1_ROW, SqlError};
use crate::expr::{Ask, CompareWith, Comparison, EvalContext, Expr, Queries, Subquery, join_key};
use crate::memory::row_bytes;
use crate::plan::Plan;
use crate::plan::node::{AskedQuery, CommonPlan, QueryPlan};
use crate::session::SessionState;
use crate::spill::RowList;
use crate::stack;
use crate::value::Value;

/// The queries within a statement, and what they have given so far.
pub(crate) struct Nested<'a> {
    plans: &'a [Option<AskedQuery>],
    pub(super) commons: &'a [CommonPlan],
    answers: RefCell<Vec<Option<Rc<Answer>>>>,
    /// Of queries that read the row around; `None` where nothing is kept of them.
    remembered: Option<Vec<RefCell<Remembered>>>,
    /// The statement changes no rows: answers are kept that something was warned of, as it need not tell how many warnings it
    /// had.
    pub(super) only_reads: bool,
    /// The tables of WITH that are made, and the last rounds of those that are being made.
    made: RefCell<Vec<Option<MadeRows>>>,
    /// Derived tables that queries ask for which run for rows around them, by where their plans are.
    derived: RefCell<HashMap<*const QueryPlan, Derived>>,
    rounds: RefCell<Vec<Option<MadeRows>>>,
    /// The values around the query that a table of WITH belongs to, of those that read them.
    around: RefCell<Vec<Option<Rc<[Value]>>>>,
}

/// Rows that are made once and read often.
pub(super) type MadeRows = Rc<RowList>;

/// What is known of a derived table that may be asked for again.
#[derive(Clone)]
pub(super) enum Derived {
    /// It was asked for, and its rows were not kept.
    Asked,
    Made(MadeRows),
}

/// Puts something in the place of a table of WITH; gives what was there.
fn put<T: Clone>(list: &RefCell<Vec<Option<T>>>, places: usize, place: usize, new: Option<T>) -> Option<T> {
    let mut list = list.borrow_mut();
    if list.is_empty() {
        list.resize(places, None);
    }
    std::mem::replace(&mut list[place], new)
}

impl<'a> Nested<'a> {
    /// Nothing has been asked yet.
    pub(crate) fn of(plan: &'a Plan) -> Nested<'a> {
        let (answers, made, rounds, around) = Default::default();
        let keeps = !plan.queries.is_empty() && plan.answers_stay();
        let remembered = keeps.then(|| plan.queries.iter().map(|_| RefCell::default()).collect());
        let only_reads = !plan.kind.writes();
        let (plans, commons) = (plan.queries.as_slice(), plan.commons.as_slice());
        Nested { plans, commons, answers, remembered, only_reads, made, derived: RefCell::default(), rounds, around }
    }

    /// The rows of a table of WITH, if they are made.
    pub(super) fn made(&self, place: usize) -> Option<MadeRows> {
        self.made.borrow().get(place)?.clone()
    }

    pub(super) fn derived(&self, query: &QueryPlan) -> Option<Derived> {
        self.derived.borrow().get(&std::ptr::from_ref(query)).cloned()
    }

    pub(super) fn keep_derived(&self, query: &QueryPlan, now: Derived) {
        self.derived.borrow_mut().insert(std::ptr::from_ref(query), now);
    }

    pub(super) fn keep_made(&self, place: usize, rows: MadeRows) {
        put(&self.made, self.commons.len(), place, Some(rows));
    }

    /// A query runs with these values around it: the tables of its WITH that read them have other rows from here on.
    pub(super) fn begin(&self, plan: &QueryPlan, outer: &[Value], session: &SessionState) {
        for place in &plan.made_anew {
            put(&self.around, self.commons.len(), *place, Some(Rc::from(outer)));
            let before = put(&self.made, self.commons.len(), *place, None);
            if let Some(Ok(before)) = before.map(Rc::try_unwrap) {
                before.give_back(session);
            }
        }
    }

    /// The values around the query that a table of WITH belongs to, if it reads them.
    pub(super) fn around(&self, place: usize) -> Option<Rc<[Value]>> {
        self.around.borrow().get(place)?.clone()
    }

    /// The rows of the last round of a table of WITH RECURSIVE.
    pub(super) fn last_round(&self, place: usize) -> Result<MadeRows, SqlError> {
        let rows = self.rounds.borrow().get(place).cloned().flatten();
        rows.ok_or_else(|| SqlError::internal("a recursive table is read before its first round"))
    }

    pub(super) fn set_last_round(&self, place: usize, rows: Option<MadeRows>) {
        put(&self.rounds, self.commons.len(), place, rows);
    }

    fn plan(&self, place: usize) -> Option<&'a AskedQuery> {
        self.plans.get(place)?.as_ref()
    }

    /// What is kept of a query that reads the row around, if anything is.
    pub(super) fn remembered(&self, place: usize) -> Option<&RefCell<Remembered>> {
        self.remembered.as_ref()?.get(place)
    }

    fn answer(&self, place: usize) -> Option<Rc<Answer>> {
        self.answers.borrow().get(place)?.clone()
    }

    fn keep_answer(&self, place: usize, answer: Answer) -> Rc<Answer> {
        let answer = Rc::new(answer);
        let mut answers = self.answers.borrow_mut();
        if answers.is_empty() {
            answers.resize(self.plans.len(), None);
        }
        answers[place] = Some(answer.clone());
        answer
    }
}

/// What a query gave that is the same each time.
enum Answer {
    /// A value, or whether there are rows.
    Value(Value),
    Rows(KeptRows),
}

/// Rows that are compared with.
#[derive(Default)]
struct KeptRows {
    rows: Vec<Vec<Value>>,
    /// By keys, where equality is asked.
    by_key: HashMap<Vec<u8>, Vec<usize>>,
    /// Those without a key: some value is NULL, or has none.
    without_key: Vec<usize>,
}

/// Answers what expressions ask while a run waits for them.
pub(crate) struct Runner<'r, 'a>(RefCell<&'r mut Run<'a>>);

impl<'r, 'a> Runner<'r, 'a> {
    pub(crate) fn new(run: &'r mut Run<'a>) -> Runner<'r, 'a> {
        Runner(RefCell::new(run))
    }
}

impl Queries for Runner<'_, '_> {
    fn answer(&self, query: &Subquery, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        let values = |exprs: &[Expr]| exprs.iter().map(|expr| expr.eval(row, cx)).collect::<Result<Vec<_>, SqlError>>();
        let outer = values(&query.outer)?;
        let operands = match &query.ask {
            Ask::Compare(comparison) => values(&comparison.operands)?,
            Ask::Value { .. } | Ask::Exists => Vec::new(),
        };
        let mut run = self.0.try_borrow_mut().map_err(|_| SqlError::internal("a query runs within itself"))?;
        stack::with_room_for_query(|| answer(query, &outer, operands, &mut run))
    }
}

/// All rows of a query.
fn all_rows(plan: &QueryPlan, run: &mut Run<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut rows = Vec::new();
    for_each(plan, &[], run, &mut |run, row| {
        run.keep_always(row_bytes(row))?;
        rows.push(row.to_vec());
        Ok(true)
    })?;
    Ok(rows)
}

/// What takes a row, and says whether it wants another.
type Take<'t> = &'t mut dyn FnMut(&mut Run<'_>, &[Value]) -> Result<bool, SqlError>;

/// Hands the rows of a query to `take` until that says that it has seen enough.
pub(super) fn for_each(plan: &QueryPlan, outer: &[Value], run: &mut Run<'_>, take: Take<'_>) -> Result<(), SqlError> {
    let held = run.session.memory.held();
    let mut inner = run.within(outer);
    inner.nested.begin(plan, inner.outer, inner.session);
    let mut row = Row::new(plan.slots);
    let mut rows = operators::open(&plan.root, &mut inner, &mut row)?;
    while rows.next(&mut inner, &mut row)? && take(&mut inner, &row.values[plan.outputs.clone()])? {}
    let steps = inner.steps;
    run.steps = steps;
    run.step()?;
    run.release(held);
    Ok(())
}

fn answer(query: &Subquery, outer: &[Value], operands: Vec<Value>, run: &mut Run<'_>) -> Result<Value, SqlError> {
    let nested = run.nested;
    let Some(asked) = nested.plan(query.place) else {
        return Err(SqlError::internal("a query within has no plan"));
    };
    if query.volatile {
        return ask(query, &asked.plan, outer, operands, run);
    }
    if !query.outer.is_empty() {
        return remembered::answer(query, asked, outer, operands, run);
    }
    let known = match (nested.answer(query.place), &query.ask) {
        (Some(known), _) => known,
        (None, Ask::Compare(comparison)) => {
            let kept = KeptRows::of(&asked.plan, comparison, run)?;
            nested.keep_answer(query.place, Answer::Rows(kept))
        }
        (None, _) => {
            let value = ask(query, &asked.plan, outer, operands, run)?;
            nested.keep_answer(query.place, Answer::Value(value.clone()));
            return Ok(value);
        }
    };
    match (&*known, &query.ask) {
        (Answer::Value(value), _) => Ok(value.clone()),
        (Answer::Rows(rows), Ask::Compare(comparison)) => {
            let truth = rows.compare(comparison, operands, run);
            unless_ignored(truth, run)
        }
        _ => Err(SqlError::internal("a query within is asked for two things")),
    }
}

/// Runs a query as far as the answer needs.
pub(super) fn ask(
    query: &Subquery,
    plan: &QueryPlan,
    outer: &[Value],
    operands: Vec<Value>,
    run: &mut Run<'_>,
) -> Result<Value, SqlError> {
    let answer = match &query.ask {
        Ask::Value { .. } => the_value(plan, outer, run),
        Ask::Exists => {
            let mut exists = false;
            for_each(plan, outer, run, &mut |_, _| {
                exists = true;
                Ok(false)
            })?;
            Ok(Value::bool(exists))
        }
        Ask::Compare(comparison) => compare_each(plan, comparison, outer, operands, run),
    };
    unless_ignored(answer, run)
}

/// The answer; where IGNORE makes a warning of its error 1242, NULL.
fn unless_ignored(answer: Result<Value, SqlError>, run: &Run<'_>) -> Result<Value, SqlError> {
    match answer {
        Err(error) if run.statement.ignores && error.is(ER_SUBQUERY_NO_1_ROW) => {
            run.statement.push_warning(error);
            Ok(Value::Null)
        }
        answer => answer,
    }
}

/// The values with which a query that gives the same each time is compared, if they are not more than `most`.
pub(super) fn values(query: &Subquery, most: usize, run: &mut Run<'_>) -> Result<Option<Vec<Value>>, SqlError> {
    let (nested, Ask::Compare(comparison)) = (run.nested, &query.ask) else { return Ok(None) };
    let known = match nested.answer(query.place) {
        Some(known) => known,
        None => {
            let Some(asked) = nested.plan(query.place) else { return Ok(None) };
            let kept = stack::with_room_for_query(|| KeptRows::of(&asked.plan, comparison, run))?;
            nested.keep_answer(query.place, Answer::Rows(kept))
        }
    };
    let Answer::Rows(kept) = &*known else { return Ok(None) };
    Ok((kept.rows.len() <= most).then(|| kept.rows.iter().filter_map(|row| row.first().cloned()).collect()))
}

/// The value of the one row, NULL if there is none; 1242 if there are more.
fn the_value(plan: &QueryPlan, outer: &[Value], run: &mut Run<'_>) -> Result<Value, SqlError> {
    let mut found = None;
    for_each(plan, outer, run, &mut |_, row| match found {
        Some(_) => Err(SqlError::new(ER_SUBQUERY_NO_1_ROW, &[])),
        None => {
            found = row.first().cloned();
            Ok(true)
        }
    })?;
    Ok(found.unwrap_or(Value::Null).computed())
}

/// What the rows seen so far say.
struct Verdict {
    with: CompareWith,
    rows: u64,
    unknown: bool,
    /// That of the one row.
    only: Option<bool>,
}

impl Verdict {
    fn new(with: CompareWith) -> Verdict {
        Verdict { with, rows: 0, unknown: false, only: None }
    }

    /// Takes what the condition is for a row; the verdict if no more rows are needed.
    fn take(&mut self, holds: Option<bool>) -> Result<Option<bool>, SqlError> {
        self.rows += 1;
        self.unknown |= holds.is_none();
        match self.with {
            CompareWith::One if self.rows > 1 => return Err(SqlError::new(ER_SUBQUERY_NO_1_ROW, &[])),
            CompareWith::One => self.only = holds,
            CompareWith::Any if holds == Some(true) => return Ok(holds),
            CompareWith::All if holds == Some(false) => return Ok(holds),
            CompareWith::Any | CompareWith::All => {}
        }
        Ok(None)
    }

    /// The verdict after the last row.
    fn end(&self) -> Option<bool> {
        match self.with {
            CompareWith::One => self.only,
            _ if self.unknown => None,
            with => Some(with == CompareWith::All),
        }
    }
}

fn truth(verdict: Option<bool>) -> Value {
    verdict.map_or(Value::Null, Value::bool)
}

/// Whether the condition holds for a row that begins with the operands.
fn holds(
    comparison: &Comparison,
    pair: &mut Vec<Value>,
    row: &[Value],
    run: &mut Run<'_>,
) -> Result<Option<bool>, SqlError> {
    pair.truncate(comparison.operands.len());
    pair.extend_from_slice(row);
    run.step()?;
    run.evaluate(|cx| comparison.condition.condition(pair, cx))
}

/// Runs a query as far as the comparison needs.
fn compare_each(
    plan: &QueryPlan,
    comparison: &Comparison,
    outer: &[Value],
    mut pair: Vec<Value>,
    run: &mut Run<'_>,
) -> Result<Value, SqlError> {
    let mut verdict = Verdict::new(comparison.with);
    let mut decided = None;
    for_each(plan, outer, run, &mut |run, row| {
        decided = verdict.take(holds(comparison, &mut pair, row, run)?)?;
        Ok(decided.is_none())
    })?;
    Ok(truth(decided.or_else(|| verdict.end())))
}

/// The key of values of a pair, and whether all of them have one. All are evaluated, as the comparison does.
fn key_of<'e>(
    mut exprs: impl Iterator<Item = (&'e Expr, Collation)>,
    pair: &[Value],
    run: &mut Run<'_>,
) -> Result<(bool, Vec<u8>), SqlError> {
    let mut key = Vec::new();
    let has_key = run.evaluate(|cx| {
        exprs.try_fold(true, |all, (expr, collation)| {
            let value = expr.eval(pair, cx)?;
            Ok(all && join_key(&value, collation, &mut key))
        })
    })?;
    Ok((has_key, key))
}

impl KeptRows {
    fn of(plan: &QueryPlan, comparison: &Comparison, run: &mut Run<'_>) -> Result<KeptRows, SqlError> {
        let rows = all_rows(plan, run)?;
        let mut kept = KeptRows { rows, ..KeptRows::default() };
        let Some(keys) = comparison.keys.as_ref().filter(|_| comparison.with == CompareWith::Any) else {
            return Ok(kept);
        };
        let mut pair = vec![Value::Null; comparison.operands.len()];
        for (at, row) in kept.rows.iter().enumerate() {
            pair.truncate(comparison.operands.len());
            pair.extend_from_slice(row);
            let (has_key, key) = key_of(keys.iter().map(|key| (&key.right, key.collation)), &pair, run)?;
            run.keep_always(key.len() + size_of::<usize>())?;
            if has_key {
                kept.by_key.entry(key).or_default().push(at);
            } else {
                kept.without_key.push(at);
            }
        }
        Ok(kept)
    }

    fn compare(&self, comparison: &Comparison, mut pair: Vec<Value>, run: &mut Run<'_>) -> Result<Value, SqlError> {
        let mut verdict = Verdict::new(comparison.with);
        if let Some(key) = self.key_for(comparison, &pair, run)? {
            let keyed = self.by_key.get(&key).map_or(&[][..], Vec::as_slice);
            for at in keyed.iter().chain(&self.without_key) {
                if let Some(decided) = verdict.take(holds(comparison, &mut pair, &self.rows[*at], run)?)? {
                    return Ok(truth(Some(decided)));
                }
            }
            return Ok(truth(verdict.end()));
        }
        for row in &self.rows {
            if let Some(decided) = verdict.take(holds(comparison, &mut pair, row, run)?)? {
                return Ok(truth(Some(decided)));
            }
        }
        Ok(truth(verdict.end()))
    }

    /// The key under which equal rows are; `None` if all rows have to be looked at.
    fn key_for(&self, comparison: &Comparison, pair: &[Value], run: &mut Run<'_>) -> Result<Option<Vec<u8>>, SqlError> {
        let Some(keys) = comparison.keys.as_ref().filter(|_| comparison.with == CompareWith::Any) else {
            return Ok(None);
        };
        let (has_key, key) = key_of(keys.iter().map(|key| (&key.left, key.collation)), pair, run)?;
        Ok(has_key.then_some(key))
    }
}
