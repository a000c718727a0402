//! MIN and MAX over frames that move on: the values that may still be the best, the best one first.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::error::SqlError;
use crate::expr::aggregate::Aggregate;
use crate::expr::{EvalContext, compare_values};
use crate::memory::{MemoryUse, value_bytes};
use crate::value::Value;

pub(super) struct Extreme {
    better: fn(Ordering) -> bool,
    /// Rows and their values: each is better than those of the rows after it.
    candidates: VecDeque<(usize, Value)>,
    /// What these take in memory, and how much of it is counted, bytes.
    bytes: usize,
    counted: usize,
}

impl Extreme {
    /// If the aggregate is one of these.
    pub(super) fn of(aggregate: &Aggregate) -> Option<Extreme> {
        let better = match aggregate.name() {
            "min" => Ordering::is_lt,
            "max" => Ordering::is_gt,
            _ => return None,
        };
        Some(Extreme { better, candidates: VecDeque::new(), bytes: 0, counted: 0 })
    }

    pub(super) fn add(
        &mut self,
        at: usize,
        aggregate: &Aggregate,
        row: &[Value],
        cx: &EvalContext<'_>,
    ) -> Result<(), SqlError> {
        let Some(arg) = aggregate.args.first() else { return Ok(()) };
        let value = match arg.eval(row, cx)? {
            Value::Null => return Ok(()),
            value => value.computed(),
        };
        let is_no_better = |known: &Value| {
            let order = compare_values(known, &value, aggregate.collation());
            !order.is_some_and(|order| order.is_eq() || (self.better)(order))
        };
        while let Some((_, known)) = self.candidates.back().filter(|(_, known)| is_no_better(known)) {
            self.bytes -= value_bytes(known);
            self.candidates.pop_back();
        }
        self.bytes += value_bytes(&value);
        self.candidates.push_back((at, value));
        Ok(())
    }

    pub(super) fn remove(&mut self, at: usize) {
        if let Some((_, gone)) = self.candidates.front().filter(|(row, _)| *row == at) {
            self.bytes -= value_bytes(gone);
            self.candidates.pop_front();
        }
    }

    /// Has its values counted as they are now.
    pub(super) fn count(&mut self, memory: &MemoryUse) -> Result<(), SqlError> {
        let before = std::mem::replace(&mut self.counted, self.bytes);
        if self.bytes > before {
            return memory.hold(self.bytes - before);
        }
        memory.give_back(before - self.bytes, false);
        Ok(())
    }

    /// It is not needed any more.
    pub(super) fn give_back(self, memory: &MemoryUse) {
        memory.give_back(self.counted, false);
    }

    pub(super) fn value(&self) -> Value {
        self.candidates.front().map_or(Value::Null, |(_, value)| value.clone())
    }
}
