//! Where a scan looks for rows: an access path with the values of its terms.

use cohort_engine::{Direction, KeyRange};

use super::merged_keys;
use crate::catalog::table::{Table, prefix_range};
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::key_range::{Found, Keys, find};
use crate::plan::access::{Access, Merge};
use crate::value::Value;

/// An access path with the values of its terms.
pub(super) struct Path {
    /// The secondary index that is walked; `None` for the rows themselves.
    pub(super) index: Option<usize>,
    /// The keys to look at, in this order.
    pub(super) points: std::vec::IntoIter<Vec<u8>>,
    /// Else the ranges to walk, in this order.
    pub(super) ranges: std::vec::IntoIter<KeyRange>,
    pub(super) direction: Direction,
    /// Whether the path could be used as planned, its order included.
    pub(super) as_planned: bool,
    /// See [`Found::exact`].
    pub(super) exact: bool,
}

impl Path {
    /// The path for the row that is made so far.
    pub(super) fn of(table: &Table, access: &Access, row: &[Value], run: &mut Run<'_>) -> Result<Path, SqlError> {
        let index = access.index.filter(|index| table.primary != Some(*index));
        let direction = if access.reverse { Direction::Reverse } else { Direction::Forward };
        let (points, ranges) = (Vec::new().into_iter(), Vec::new().into_iter());
        let Found { keys, exact } = match access.merged.as_slice() {
            [] => find(access, table, row, run)?,
            _ => Found { keys: merged_keys::find(access, table, row, run)?, exact: false },
        };
        let mut path = Path { index, points, ranges, direction, as_planned: true, exact };
        match keys {
            Keys::Nothing => {}
            Keys::Points(mut points) => {
                if access.reverse {
                    points.reverse();
                }
                path.points = points.into_iter();
            }
            Keys::Ranges(mut ranges) => {
                if access.reverse {
                    ranges.reverse();
                }
                path.ranges = ranges.into_iter();
            }
            Keys::Everything => return Ok(Path::everything(table)),
        }
        Ok(path)
    }

    /// The same for rows that are locked as they are found. Keys that several indexes find are those of the snapshot, and no
    /// range of theirs is locked, so that the rows of one index are looked at instead, or all rows. Nothing is passed over.
    pub(super) fn to_lock(table: &Table, access: &Access, row: &[Value], run: &mut Run<'_>) -> Result<Path, SqlError> {
        match (access.merged.as_slice(), access.merge) {
            ([], _) if access.loose.is_some() && access.is_whole() => Ok(Path::everything(table)),
            ([], _) => Path::of(table, access, row, run),
            ([fewest, ..], Merge::Intersection) => Path::of(table, fewest, row, run),
            (_, Merge::Union) => Ok(Path::everything(table)),
        }
    }

    /// All rows in their own order, in the place of a path that cannot be used.
    pub(super) fn everything(table: &Table) -> Path {
        Path {
            index: None,
            points: Vec::new().into_iter(),
            ranges: vec![prefix_range(&table.row_prefix())].into_iter(),
            direction: Direction::Forward,
            as_planned: false,
            exact: false,
        }
    }
}
