//! Functions over a window: every row of the input, with their results for it. Rows come sorted by the window's keys,
//! so that those of a partition follow each other, and rows with equal keys in the order they come in.
//!
//! All rows are taken in before the first is given, sorted in files beyond `sort_buffer_size`; a partition at a time is
//! read by number, from a file beyond `tmp_table_size`, of which 16 bytes a row are in memory. A frame only ever moves on
//! from row to row, and so do the states of aggregates: what they cannot take away (sums of DOUBLEs, which would not be
//! exact) is made anew for each frame, MIN and MAX keep the values that may still be the best one.

mod extreme;
mod frame;

use super::sort::{by_keys, write_keys};
use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::aggregate::{Accumulator, Aggregate};
use crate::expr::{Which, WindowFunction};
use crate::plan::query::Window;
use crate::session::SessionState;
use crate::spill::{Budget, RowList, Sorted, Sorter, read_row, skip_keys, write_row};
use crate::value::Value;
use extreme::Extreme;
use frame::{Frames, Place};

pub(super) struct WindowScan<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Window,
    /// What counts rows in each function: [`WindowFunction::rows`].
    counts: Vec<usize>,
    frames: Frames<'p>,
    /// How many slots the rows have that are taken in: all up to the functions' own.
    slots: usize,
    /// The rows that are left, once all are taken in, and the one that is next.
    sorted: Option<Sorted>,
    next: Option<SortedRow>,
    /// The partition of the row that is next, and what is known up to there.
    partition: Option<Partition>,
    place: Place,
    states: Vec<FunctionState>,
}

/// A row, and what it was sorted by.
struct SortedRow {
    keys: Vec<u8>,
    values: Vec<Value>,
}

/// The rows of a partition.
struct Partition {
    rows: RowList,
    /// Where rows begin whose keys are equal.
    peers: Vec<usize>,
}

/// What is known of a function up to a row.
struct FunctionState {
    of: Option<State>,
    /// The rows that the state has taken.
    taken: (usize, usize),
    /// The frame of the row before, and the aggregate over it.
    before: Option<((usize, usize), Value)>,
}

impl FunctionState {
    fn give_back(self, session: &SessionState) {
        if let Some(State::Extreme(extreme)) = self.of {
            extreme.give_back(&session.memory);
        }
    }
}

impl<'p> WindowScan<'p> {
    /// Evaluates what is the same for all rows: numbers of rows and distances (1210, 3586).
    pub(super) fn open(
        input: Box<dyn Operator + 'p>,
        plan: &'p Window,
        slots: usize,
        run: &mut Run<'_>,
    ) -> Result<WindowScan<'p>, SqlError> {
        let mut count = |function: &WindowFunction| run.evaluate(|cx| function.rows(cx));
        let counts = plan.functions.iter().map(|(_, function)| count(function)).collect::<Result<_, SqlError>>()?;
        let frames = Frames::open(plan, run)?;
        let slots = plan.functions.iter().fold(slots, |least, (slot, _)| least.min(*slot));
        let (sorted, next, partition, place, states) = Default::default();
        Ok(WindowScan { input, plan, counts, frames, slots, sorted, next, partition, place, states })
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Sorted, SqlError> {
        let compare = by_keys(&self.plan.keys);
        let mut sorter = Sorter::new(Budget::of(run.session.sort_buffer_size));
        let mut keys = Vec::new();
        while self.input.next(run, row)? {
            run.step()?;
            let start = write_keys(&self.plan.keys, &row.values, run, &mut keys)?.start();
            sorter.push(start, &compare, run.session, |out| {
                out.extend_from_slice(&keys);
                write_row(&row.values[..self.slots], out);
            })?;
        }
        sorter.sorted(&compare, run.session)
    }

    fn next_sorted(&mut self, run: &Run<'_>) -> Result<Option<SortedRow>, SqlError> {
        let plan = self.plan;
        let Some(sorted) = &mut self.sorted else { return Ok(None) };
        let Some(bytes) = sorted.next(&by_keys(&plan.keys), run.session)? else { return Ok(None) };
        let read = || {
            let mut rest = bytes;
            skip_keys(plan.keys.len(), &mut rest)?;
            let keys = bytes[..bytes.len() - rest.len()].to_vec();
            Some(SortedRow { keys, values: read_row(self.slots, &mut rest)? })
        };
        read().ok_or_else(|| run.session.temporary_files.damaged()).map(Some)
    }

    /// Takes in the rows of the partition that is next; false if there is none.
    fn next_partition(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let Some(mut last) = self.next.take() else { return Ok(false) };
        let of_partition = by_keys(&self.plan.keys[..self.plan.partition_keys]);
        let of_all = by_keys(&self.plan.keys);
        let mut rows = RowList::new(Budget::of(run.session.tmp_table_size), self.slots).by_number();
        let mut peers = vec![0];
        loop {
            run.step()?;
            let next = self.next_sorted(run)?;
            rows.push(std::mem::take(&mut last.values), run.session)?;
            let Some(next) = next else { break };
            if of_partition(&last.keys, &next.keys).is_ne() {
                self.next = Some(next);
                break;
            }
            if of_all(&last.keys, &next.keys).is_ne() {
                run.session.memory.hold(size_of::<usize>())?;
                peers.push(rows.len());
            }
            last = next;
        }
        rows.end(run.session)?;
        let state = |(_, function): &(usize, WindowFunction)| match function {
            WindowFunction::Aggregate(aggregate) => Some(State::of(aggregate, run)),
            _ => None,
        };
        let states = self.plan.functions.iter().map(state);
        self.states = states.map(|of| FunctionState { of, taken: (0, 0), before: None }).collect();
        self.partition = Some(Partition { rows, peers });
        self.place = Place::default();
        Ok(true)
    }
}

impl Operator for WindowScan<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.take_in(run, row)?);
            self.next = self.next_sorted(run)?;
        }
        run.step()?;
        if let Some(partition) = self.partition.take_if(|partition| self.place.at == partition.rows.len()) {
            run.session.memory.give_back(partition.peers.len().saturating_sub(1) * size_of::<usize>(), false);
            partition.rows.give_back(run.session);
            self.states.drain(..).for_each(|state| state.give_back(run.session));
        }
        if self.partition.is_none() && !self.next_partition(run)? {
            return Ok(false);
        }
        let Some(partition) = &self.partition else { return Ok(false) };
        let frame = self.frames.next(partition, &mut self.place, run)?;
        let at = self.place.at;
        for (((slot, function), count), state) in self.plan.functions.iter().zip(&self.counts).zip(&mut self.states) {
            let value = partition.value(function, *count, &self.place, frame, state, run)?;
            row.values[*slot] = value.computed();
        }
        let values = partition.rows.get(at, run.session)?;
        row.values[..self.slots].clone_from_slice(&values);
        self.place.at += 1;
        Ok(true)
    }
}

impl Partition {
    /// The value of a function for the row at a place.
    fn value(
        &self,
        function: &WindowFunction,
        count: usize,
        place: &Place,
        (start, end): (usize, usize),
        state: &mut FunctionState,
        run: &mut Run<'_>,
    ) -> Result<Value, SqlError> {
        let (at, rows, (first, last)) = (place.at, self.rows.len(), place.peers);
        Ok(match function {
            WindowFunction::RowNumber => Value::UInt(at as u64 + 1),
            WindowFunction::Rank => Value::UInt(first as u64 + 1),
            WindowFunction::DenseRank => Value::UInt(place.peer_groups as u64),
            WindowFunction::PercentRank if rows < 2 => Value::Double(0.0),
            WindowFunction::PercentRank => Value::Double(first as f64 / (rows - 1) as f64),
            WindowFunction::CumeDist => Value::Double(last as f64 / rows as f64),
            WindowFunction::Tile(_) => Value::UInt(tile(at, rows, count) as u64 + 1),
            WindowFunction::Distant { value, otherwise, following, .. } => {
                let distant = if *following { at.checked_add(count) } else { at.checked_sub(count) };
                match (distant.filter(|distant| *distant < rows), otherwise) {
                    (Some(distant), _) => {
                        let row = self.rows.get(distant, run.session)?;
                        run.evaluate(|cx| function.as_result(value, value.eval(&row, cx)?, cx))?
                    }
                    (None, Some(otherwise)) => {
                        let row = self.rows.get(at, run.session)?;
                        run.evaluate(|cx| function.as_result(otherwise, otherwise.eval(&row, cx)?, cx))?
                    }
                    (None, None) => Value::Null,
                }
            }
            WindowFunction::OfFrame(value, which) => {
                let place = match which {
                    Which::First => Some(start),
                    Which::Last => end.checked_sub(1),
                    Which::Nth(_) => start.checked_add(count - 1),
                };
                match place.filter(|place| (start..end).contains(place)) {
                    Some(place) => {
                        let row = self.rows.get(place, run.session)?;
                        run.evaluate(|cx| value.eval(&row, cx))?
                    }
                    None => Value::Null,
                }
            }
            WindowFunction::Aggregate(aggregate) => self.aggregate(aggregate, (start, end), state, run)?,
        })
    }

    fn aggregate(
        &self,
        aggregate: &Aggregate,
        frame: (usize, usize),
        known: &mut FunctionState,
        run: &mut Run<'_>,
    ) -> Result<Value, SqlError> {
        if let Some((before, value)) = &known.before
            && *before == frame
        {
            return Ok(value.clone());
        }
        let state = known.of.get_or_insert_with(|| State::of(aggregate, run));
        if !state.move_to(aggregate, &self.rows, &mut known.taken, frame, run)? {
            *state = State::of(aggregate, run);
            known.taken = (frame.0, frame.0);
            state.move_to(aggregate, &self.rows, &mut known.taken, frame, run)?;
        }
        let value = state.finish(aggregate, run)?;
        known.before = Some((frame, value.clone()));
        Ok(value)
    }
}

/// What an aggregate knows of the rows of the frame.
enum State {
    Accumulator(Accumulator),
    Extreme(Extreme),
}

impl State {
    fn of(aggregate: &Aggregate, run: &Run<'_>) -> State {
        match Extreme::of(aggregate) {
            Some(extreme) => State::Extreme(extreme),
            None => State::Accumulator(aggregate.accumulator(run.session.tmp_table_size)),
        }
    }

    /// Goes on from the rows that were `taken` to those of another frame; false if that cannot be done.
    fn move_to(
        &mut self,
        aggregate: &Aggregate,
        rows: &RowList,
        taken: &mut (usize, usize),
        (start, end): (usize, usize),
        run: &mut Run<'_>,
    ) -> Result<bool, SqlError> {
        while taken.1 < end {
            run.step()?;
            let (at, row) = (taken.1, rows.get(taken.1, run.session)?);
            match self {
                State::Accumulator(state) => run.evaluate(|cx| state.add(aggregate, &row, cx))?,
                State::Extreme(extreme) => {
                    run.evaluate(|cx| extreme.add(at, aggregate, &row, cx))?;
                    extreme.count(&run.session.memory)?;
                }
            }
            taken.1 += 1;
        }
        while taken.0 < start.min(taken.1) {
            run.step()?;
            match self {
                State::Accumulator(state) => {
                    let row = rows.get(taken.0, run.session)?;
                    if !run.evaluate(|cx| state.remove(aggregate, &row, cx))? {
                        return Ok(false);
                    }
                }
                State::Extreme(extreme) => {
                    extreme.remove(taken.0);
                    extreme.count(&run.session.memory)?;
                }
            }
            taken.0 += 1;
        }
        Ok(true)
    }

    fn finish(&mut self, aggregate: &Aggregate, run: &mut Run<'_>) -> Result<Value, SqlError> {
        match self {
            State::Accumulator(state) => run.evaluate(|cx| state.finish(aggregate, cx)),
            State::Extreme(extreme) => Ok(extreme.value()),
        }
    }
}

/// Which of `tiles` parts a row is in: the first ones have one row more, if they cannot be equal.
fn tile(row: usize, rows: usize, tiles: usize) -> usize {
    let (each, larger) = (rows / tiles, rows % tiles);
    let in_larger = larger * (each + 1);
    if row < in_larger { row / (each + 1) } else { larger + (row - in_larger) / each }
}
