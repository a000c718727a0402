//! What a query that reads the row around has answered, by the values that it was asked with.
//!
//! An answer is kept under the bytes of these values, so that it is found only where they are the same in every respect.
//! Where few are found nothing is kept any more. A query that has all its answers in one pass
//! ([`crate::plan::node::AllAnswers`]) makes that when it has been run so often that the pass would have cost less: the
//! values that it goes on with find their answers by the key of a join. Both end at `tmp_table_size`: what has no room is
//! found by a run of its own.
//!
//! A statement that changes rows keeps nothing where that could change an answer ([`crate::plan::Plan::answers_stay`]), nor an
//! answer that something was warned of, and makes no pass: in strict mode a row that nobody asks for could make it fail.

use std::cell::OnceCell;
use std::rc::Rc;

use hashbrown::HashMap;

use super::{Run, subquery};
use crate::error::SqlError;
use crate::expr::{JoinKey, Subquery, join_key_of};
use crate::memory::{key_bytes, row_bytes, value_bytes};
use crate::plan::node::{AllAnswers, AskedQuery};
use crate::spill::write_row;
use crate::value::Value;

/// After so many runs it is looked whether answers are found.
const TRIED: u64 = 256;
/// One answer of so many is to be one that was kept.
const WORTH_WHILE: u64 = 8;

/// What is known of one query.
#[derive(Default)]
pub(super) struct Remembered {
    answers: HashMap<Vec<u8>, Value>,
    bytes: usize,
    /// How often an answer was there, and how often the query was run for one.
    found: u64,
    runs: u64,
    /// No more are kept.
    given_up: bool,
    pass: Pass,
}

/// All answers in one pass.
#[derive(Clone, Default)]
enum Pass {
    #[default]
    NotMade,
    Made(Rc<Answers>),
    /// Memory has no room for them, or some value has no key.
    Impossible,
}

/// The rows of a pass by the keys of the values that they are for.
struct Answers {
    by_key: HashMap<Vec<u8>, Vec<Value>>,
    /// What is answered where no row has the values, once it is known.
    of_none: OnceCell<Value>,
}

/// What a pass says of some values.
enum Found {
    Answer(Value),
    /// No row has them.
    None,
    /// They have no key.
    Unknown,
}

/// The answer that a query gives to these values.
pub(super) fn answer(
    query: &Subquery,
    asked: &AskedQuery,
    outer: &[Value],
    operands: Vec<Value>,
    run: &mut Run<'_>,
) -> Result<Value, SqlError> {
    let nested = run.nested;
    let Some(kept) = nested.remembered(query.place) else {
        return subquery::ask(query, &asked.plan, outer, operands, run);
    };
    if let Some(all) = asked.all_answers.as_deref().filter(|_| !run.locks_reads) {
        let mut pass = kept.borrow().pass.clone();
        if matches!(pass, Pass::NotMade) && kept.borrow().runs >= all.worth_after {
            pass = Answers::make(all, run)?;
            kept.borrow_mut().pass = pass.clone();
        }
        if let Pass::Made(answers) = pass {
            match answers.find(all, outer, run)? {
                Found::Answer(answer) => return Ok(answer),
                Found::None => {
                    if let Some(answer) = answers.of_none.get() {
                        return Ok(answer.clone());
                    }
                    let answer = subquery::ask(query, &asked.plan, outer, operands, run)?;
                    return Ok(answers.of_none.get_or_init(|| answer).clone());
                }
                Found::Unknown => {}
            }
        }
    }
    let mut key = Vec::new();
    write_row(outer, &mut key);
    write_row(&operands, &mut key);
    if let Some(answer) = kept.borrow_mut().find(&key) {
        return Ok(answer);
    }
    let warnings = run.session.diagnostics_given();
    let answer = subquery::ask(query, &asked.plan, outer, operands, run)?;
    let mut kept = kept.borrow_mut();
    kept.look_whether_found(run);
    if nested.only_reads || run.session.diagnostics_given() == warnings {
        kept.keep(key, &answer, run)?;
    }
    Ok(answer)
}

impl Remembered {
    /// The answer that is kept under these bytes; without one, a run is counted.
    fn find(&mut self, key: &[u8]) -> Option<Value> {
        let known = self.answers.get(key).cloned();
        match known {
            Some(_) => self.found += 1,
            None => self.runs += 1,
        }
        known
    }

    /// Gives up after some runs if few answers were found.
    fn look_whether_found(&mut self, run: &Run<'_>) {
        if self.runs == TRIED && self.found < TRIED / WORTH_WHILE {
            self.given_up = true;
            self.answers = HashMap::new();
            run.session.memory.give_back(std::mem::take(&mut self.bytes), true);
        }
    }

    /// Keeps the answer of a run.
    fn keep(&mut self, key: Vec<u8>, answer: &Value, run: &mut Run<'_>) -> Result<(), SqlError> {
        let bytes = key_bytes(&key) + value_bytes(answer);
        if self.given_up || (self.bytes + bytes) as u64 > run.session.tmp_table_size {
            return Ok(());
        }
        run.keep_always(bytes)?;
        self.bytes += bytes;
        self.answers.insert(key, answer.clone());
        Ok(())
    }
}

impl Answers {
    /// Makes the pass.
    fn make(all: &AllAnswers, run: &mut Run<'_>) -> Result<Pass, SqlError> {
        let (mut by_key, mut bytes, mut possible) = (HashMap::new(), 0, true);
        let most = run.session.tmp_table_size;
        let mut of_row = Vec::new();
        subquery::for_each(&all.plan, &[], run, &mut |run, row| {
            let keys = all.keys.iter().map(|key| (&key.right, key.collation));
            let key = match run.evaluate(|cx| join_key_of(keys, row, cx, &mut of_row))? {
                JoinKey::Of(key) => key,
                JoinKey::Null => return Ok(true),
                JoinKey::None => {
                    possible = false;
                    return Ok(false);
                }
            };
            let added = key_bytes(key) + row_bytes(row);
            possible = (bytes + added) as u64 <= most && !by_key.contains_key(key);
            if possible {
                run.keep_always(added)?;
                bytes += added;
                by_key.insert(key.to_vec(), row.to_vec());
            }
            Ok(possible)
        })?;
        if possible {
            return Ok(Pass::Made(Rc::new(Answers { by_key, of_none: OnceCell::new() })));
        }
        run.session.memory.give_back(bytes, true);
        Ok(Pass::Impossible)
    }

    fn find(&self, all: &AllAnswers, outer: &[Value], run: &mut Run<'_>) -> Result<Found, SqlError> {
        let mut run = run.within(outer);
        let keys = all.keys.iter().map(|key| (&key.left, key.collation));
        let mut bytes = Vec::new();
        let row = match run.evaluate(|cx| join_key_of(keys, &[], cx, &mut bytes))? {
            JoinKey::Null => return Ok(Found::None),
            JoinKey::None => return Ok(Found::Unknown),
            JoinKey::Of(key) => match self.by_key.get(key) {
                Some(row) => row,
                None => return Ok(Found::None),
            },
        };
        // Other values may have the same key.
        let is_for_it = run.evaluate(|cx| all.same.holds(row, cx))?;
        let answer = row.first().cloned().unwrap_or(Value::Null);
        Ok(if is_for_it { Found::Answer(answer.computed()) } else { Found::Unknown })
    }
}
