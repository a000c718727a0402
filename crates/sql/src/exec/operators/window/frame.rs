//! Where the frames of a partition's rows begin and end.

use std::cmp::Ordering;

use super::Partition;
use crate::error::{ER_WINDOW_FRAME_ILLEGAL, SqlError};
use crate::exec::Run;
use crate::expr::{Expr, order_values};
use crate::plan::query::{Bound, SortKey, Window};
use crate::plan::window::is_negative;
use crate::value::Value;

/// The frames of a window, with the distances of this run.
pub(super) struct Frames<'p> {
    start: End<'p>,
    end: End<'p>,
    rows: bool,
}

/// One end.
enum End<'p> {
    First,
    Last,
    CurrentRow,
    Rows { distance: usize, following: bool },
    Range { limit: &'p Expr, key: &'p SortKey },
}

impl<'p> Frames<'p> {
    pub(super) fn open(plan: &'p Window, run: &mut Run<'_>) -> Result<Frames<'p>, SqlError> {
        let mut end = |bound: &'p Bound| {
            let illegal = || SqlError::new(ER_WINDOW_FRAME_ILLEGAL, &[&plan.name]);
            Ok(match bound {
                Bound::First => End::First,
                Bound::Last => End::Last,
                Bound::CurrentRow => End::CurrentRow,
                Bound::Rows { distance, following } => {
                    let distance = match run.evaluate(|cx| distance.eval(&[], cx))? {
                        Value::Int(int) => usize::try_from(int).map_err(|_| illegal())?,
                        Value::UInt(int) => usize::try_from(int).unwrap_or(usize::MAX),
                        _ => return Err(illegal()),
                    };
                    End::Rows { distance, following: *following }
                }
                Bound::Range { distance, limit, .. } => {
                    let distance = run.evaluate(|cx| distance.eval(&[], cx))?;
                    if distance.is_null() || is_negative(&distance) {
                        return Err(illegal());
                    }
                    let key = plan.keys.last().ok_or_else(|| SqlError::internal("a RANGE without ORDER BY"))?;
                    End::Range { limit, key }
                }
            })
        };
        Ok(Frames { start: end(&plan.frame.start)?, end: end(&plan.frame.end)?, rows: plan.frame.rows })
    }

    /// The frame of the row at `place`, which moves on from that of the row before; one that has no row may begin anywhere.
    pub(super) fn next(
        &self,
        partition: &Partition,
        place: &mut Place,
        run: &mut Run<'_>,
    ) -> Result<(usize, usize), SqlError> {
        let peers = &partition.peers;
        if peers.get(place.peer_groups) == Some(&place.at) {
            place.peer_groups += 1;
            place.peers = (place.at, peers.get(place.peer_groups).copied().unwrap_or(partition.rows.len()));
        }
        let start = self.one_end(&self.start, false, partition, place, run)?;
        let end = self.one_end(&self.end, true, partition, place, run)?;
        place.frame = (start, end);
        Ok((start, end.max(start)))
    }

    /// Where the frame begins, or where it has ended: the first row that is in, or is out again.
    fn one_end(
        &self,
        end: &End<'_>,
        ends: bool,
        partition: &Partition,
        place: &mut Place,
        run: &mut Run<'_>,
    ) -> Result<usize, SqlError> {
        let (count, more) = (partition.rows.len(), usize::from(ends));
        let (at, (first, last)) = (place.at, place.peers);
        Ok(match end {
            End::First => 0,
            End::Last => count,
            End::CurrentRow if self.rows => at + more,
            End::CurrentRow => [first, last][more],
            End::Rows { distance, following: true } => at.saturating_add(*distance).saturating_add(more).min(count),
            End::Rows { distance, following: false } => (at + more).saturating_sub(*distance),
            End::Range { .. } if first != at => [place.frame.0, place.frame.1][more],
            End::Range { limit, key } => {
                let row = partition.rows.get(at, run.session)?;
                let own = run.evaluate(|cx| key.expr.eval(&row, cx))?;
                // NULL is at no distance from anything but NULL.
                if own.is_null() {
                    return Ok([first, last][more]);
                }
                let limit = run.evaluate(|cx| limit.eval(&row, cx))?;
                let reached = &mut place.reached[more];
                while *reached < count {
                    run.step()?;
                    let row = partition.rows.get(*reached, run.session)?;
                    let value = run.evaluate(|cx| key.expr.eval(&row, cx))?;
                    let order = order_values(&value, &limit, key.collation);
                    let order = if key.descending { order.reverse() } else { order };
                    if order == Ordering::Greater || (order == Ordering::Equal && !ends) {
                        break;
                    }
                    *reached += 1;
                }
                *reached
            }
        })
    }
}

/// Where one is in a partition.
#[derive(Default)]
pub(super) struct Place {
    /// The row.
    pub(super) at: usize,
    /// Where its peers begin and end.
    pub(super) peers: (usize, usize),
    /// Groups of peers up to its own.
    pub(super) peer_groups: usize,
    /// Where its frame begins, and has ended.
    frame: (usize, usize),
    /// Of a RANGE: rows before these are not reached by its limits.
    reached: [usize; 2],
}
