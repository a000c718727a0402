//! The keys of the rows that several indexes find, each once, in the order of the rows.

use cohort_engine::{Direction, KeyRange};
use cohort_txn::Read;

use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::failure::read_failed;
use crate::exec::key_range::{self, Keys};
use crate::plan::access::Access;
use crate::plan::cost;
use crate::value::Value;

/// So many keys are kept, whatever share of the rows they are.
const ALWAYS_KEPT: u64 = 1000;
/// So many are kept at most, which take some megabytes.
const MOST_KEPT: u64 = 100_000;

/// Finds the keys; they are [`Keys::Everything`] if all rows are read sooner, or a path cannot be used with the values of its
/// terms.
pub(super) fn find(paths: &[Access], table: &Table, row: &[Value], run: &mut Run<'_>) -> Result<Keys, SqlError> {
    let rows = table.counters.statistics.rows().unwrap_or_default();
    let most = (cost::most_looked_up(rows as f64) as u64).clamp(ALWAYS_KEPT, MOST_KEPT) as usize;
    let mut found = Vec::new();
    for path in paths {
        match key_range::find(path, table, row, run)?.keys {
            Keys::Nothing => {}
            Keys::Everything => return Ok(Keys::Everything),
            Keys::Points(points) => {
                for key in points {
                    run.step()?;
                    of_point(path, table, key, run, &mut found)?;
                }
            }
            Keys::Ranges(ranges) => {
                for range in ranges {
                    of_range(path, table, &range, run, most, &mut found)?;
                }
            }
        }
        if found.len() > most {
            return Ok(Keys::Everything);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(Keys::Points(found))
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
