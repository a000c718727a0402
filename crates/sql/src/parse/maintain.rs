//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.

use super::cursor::Cursor;
use crate::ast::{ChangeHistograms, Maintain, Maintenance, Statement};
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_DUP_FIELDNAME, SqlError};

/// Buckets of a histogram for which no number is given, and the most.
const BUCKETS: u16 = 100;
const MOST_BUCKETS: u16 = 1024;

/// The statement, which begins with `what`.
pub(super) fn maintain(cursor: &mut Cursor<'_>, what: Maintenance) -> Result<Statement, SqlError> {
    cursor.skip();
    if !matches!(what, Maintenance::Check | Maintenance::Checksum) {
        cursor.takes_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    }
    if !cursor.takes_any(&["TABLES", "TABLE"]) {
        return Err(cursor.unexpected());
    }
    let tables = cursor.separated(Cursor::table_name)?;
    let options: &[&str] = match what {
        Maintenance::Check => &["FOR UPGRADE", "QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"],
        Maintenance::Repair => &["QUICK", "EXTENDED", "USE_FRM"],
        Maintenance::Checksum => &["EXTENDED"],
        Maintenance::Analyze | Maintenance::Optimize => &[],
    };
    let quick = what == Maintenance::Checksum && cursor.takes("QUICK");
    if !quick {
        while cursor.takes_any(options) && what != Maintenance::Checksum {}
    }
    let histograms = if what == Maintenance::Analyze { histograms(cursor)? } else { None };
    Ok(Statement::Maintain(Maintain { what, tables, quick, histograms }))
}

/// `UPDATE HISTOGRAM ON c, c [WITH n BUCKETS]` and `DROP HISTOGRAM ON c, c`, if they are there. 1060 for a column that is named
/// twice, 1690 for a number of buckets that cannot be.
fn histograms(cursor: &mut Cursor<'_>) -> Result<Option<ChangeHistograms>, SqlError> {
    let updates = cursor.takes("UPDATE HISTOGRAM ON");
    if !updates && !cursor.takes("DROP HISTOGRAM ON") {
        return Ok(None);
    }
    let columns = cursor.separated(Cursor::ident)?;
    if updates && cursor.sees("USING DATA") {
        return Err(SqlError::unsupported("UPDATE HISTOGRAM ... USING DATA"));
    }
    let mut buckets = updates.then_some(BUCKETS);
    if updates && cursor.takes("WITH") {
        let given: u64 = cursor.integer()?;
        cursor.expect("BUCKETS")?;
        buckets = u16::try_from(given).ok().filter(|given| (1..=MOST_BUCKETS).contains(given));
        if buckets.is_none() {
            return Err(SqlError::new(ER_DATA_OUT_OF_RANGE, &[&"Number of buckets", &"ANALYZE TABLE"]));
        }
    }
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| other.eq_ignore_ascii_case(column)) {
            return Err(SqlError::new(ER_DUP_FIELDNAME, &[column]));
        }
    }
    Ok(Some(ChangeHistograms { columns, buckets }))
}
