//! Where a scan looks for rows: an access path with the values of its terms.

use cohort_engine::{Direction, KeyRange};

use crate::catalog::table::{Table, prefix_range};
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::key_range::{Keys, keys};
use crate::plan::access::Access;

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
}

impl Path {
    pub(super) fn of(table: &Table, access: &Access, run: &Run<'_>) -> Result<Path, SqlError> {
        let index = access.index.filter(|index| table.primary != Some(*index));
        let direction = if access.reverse { Direction::Reverse } else { Direction::Forward };
        let mut path =
            Path { index, points: Vec::new().into_iter(), ranges: Vec::new().into_iter(), direction, as_planned: true };
        match keys(access, table, run)? {
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
            Keys::Everything => {
                path.index = None;
                path.as_planned = false;
                path.direction = Direction::Forward;
                path.ranges = vec![prefix_range(&table.row_prefix())].into_iter();
            }
        }
        Ok(path)
    }
}
