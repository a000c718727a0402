//! The keys of the rows that several indexes find together, each once, in the order of the rows.
//!
//! Contract
//! 1. Of a union, they are the keys that any path finds; of an intersection, those that all paths find, and perhaps more: the
//!    conditions are judged again for each row.
//! 2. They are as many as are looked up sooner than all rows are read, and take some megabytes at most. A union that finds
//!    more reads all rows; of an intersection, a path that does is left out.
//! 3. So is a path of an intersection that has been walked for as long as it takes to look up the rows that are left: how
//!    many rows have a value is not what the plan was made for. So it costs at most about twice the better choice.

use cohort_engine::{Direction, KeyRange};
use cohort_txn::Read;

use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::failure::read_failed;
use crate::exec::key_range::{self, Keys};
use crate::plan::access::{Access, Merge};
use crate::plan::cost;
use crate::value::Value;

/// So many keys are kept, whatever share of the rows they are.
const ALWAYS_KEPT: u64 = 1000;
/// So many are kept at most, which take some megabytes.
const MOST_KEPT: u64 = 100_000;

/// Finds the keys; they are [`Keys::Everything`] if all rows are read sooner, or if the paths cannot be used with the values of
/// their terms.
pub(super) fn find(access: &Access, table: &Table, row: &[Value], run: &mut Run<'_>) -> Result<Keys, SqlError> {
    let rows = table.counters.statistics.rows().unwrap_or_default();
    let most = (cost::most_looked_up(rows as f64) as u64).clamp(ALWAYS_KEPT, MOST_KEPT) as usize;
    let mut keys_of = |path: &Access, most: usize| keys_of(path, table, row, run, most);
    let found = match access.merge {
        Merge::Union => union(&access.merged, most, &mut keys_of)?,
        Merge::Intersection => intersection(&access.merged, most, &mut keys_of)?,
    };
    Ok(found.map_or(Keys::Everything, Keys::Points))
}

/// What [`keys_of`] finds by a path, up to so many keys.
type KeysOf<'k> = dyn FnMut(&Access, usize) -> Result<Option<Vec<Vec<u8>>>, SqlError> + 'k;

fn union(paths: &[Access], most: usize, keys_of: &mut KeysOf<'_>) -> Result<Option<Vec<Vec<u8>>>, SqlError> {
    let mut all = Vec::new();
    for path in paths {
        let Some(found) = keys_of(path, most - all.len())? else { return Ok(None) };
        all.extend(found);
    }
    all.sort_unstable();
    all.dedup();
    Ok(Some(all))
}

fn intersection(paths: &[Access], most: usize, keys_of: &mut KeysOf<'_>) -> Result<Option<Vec<Vec<u8>>>, SqlError> {
    let mut left: Option<Vec<Vec<u8>>> = None;
    for path in paths {
        let most = left.as_ref().map_or(most, |left| cost::most_to_leave_out(left.len() as f64) as usize);
        if most == 0 {
            break;
        }
        let Some(mut found) = keys_of(path, most)? else { continue };
        found.sort_unstable();
        found.dedup();
        match &mut left {
            Some(left) => left.retain(|key| found.binary_search(key).is_ok()),
            None => left = Some(found),
        }
    }
    Ok(left)
}

/// The keys that a path finds, in its order; `None` if they are more than so many, or if it cannot be used with the values of
/// its terms.
fn keys_of(
    path: &Access,
    table: &Table,
    row: &[Value],
    run: &mut Run<'_>,
    most: usize,
) -> Result<Option<Vec<Vec<u8>>>, SqlError> {
    let mut found = Vec::new();
    match key_range::find(path, table, row, run)?.keys {
        Keys::Nothing => {}
        Keys::Everything => return Ok(None),
        Keys::Points(points) => {
            for key in points {
                if found.len() > most {
                    break;
                }
                run.step()?;
                of_point(path, table, key, run, &mut found)?;
            }
        }
        Keys::Ranges(ranges) => {
            for range in ranges {
                if found.len() > most {
                    break;
                }
                of_range(path, table, &range, run, most, &mut found)?;
            }
        }
    }
    Ok((found.len() <= most).then_some(found))
}

fn of_point(
    path: &Access,
    table: &Table,
    key: Vec<u8>,
    run: &mut Run<'_>,
    found: &mut Vec<Vec<u8>>,
) -> Result<(), SqlError> {
    let Some(index) = path.key(table).filter(|_| path.index != table.primary) else {
        found.push(key);
        return Ok(());
    };
    let (mut value, mut row_key) = (Vec::new(), Vec::new());
    if run.transaction.get(table.engine, Read::Snapshot, &key, &mut value).map_err(read_failed)? {
        table.row_key_of(index, &key, &value, &mut row_key)?;
        found.push(row_key);
    }
    Ok(())
}

/// Ends with the first key that is one too many.
fn of_range(
    path: &Access,
    table: &Table,
    range: &KeyRange,
    run: &mut Run<'_>,
    most: usize,
    found: &mut Vec<Vec<u8>>,
) -> Result<(), SqlError> {
    let index = path.key(table).filter(|_| path.index != table.primary);
    let mut scan =
        run.transaction.scan(table.engine, Read::Snapshot, range, Direction::Forward).map_err(read_failed)?;
    while found.len() <= most {
        run.step()?;
        let Some(entry) = scan.next().map_err(read_failed)? else { break };
        let mut row_key = Vec::new();
        match index {
            Some(index) => table.row_key_of(index, entry.key, entry.value, &mut row_key)?,
            None => row_key.extend_from_slice(entry.key),
        }
        found.push(row_key);
    }
    Ok(())
}
