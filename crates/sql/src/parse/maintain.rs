//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.

use super::cursor::Cursor;
use crate::ast::{Maintain, Maintenance, Statement};
use crate::error::SqlError;

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
        Maintenance::Analyze if cursor.sees("UPDATE") || cursor.sees("DROP") => {
            return Err(SqlError::unsupported("histograms"));
        }
        Maintenance::Analyze | Maintenance::Optimize => &[],
    };
    let quick = what == Maintenance::Checksum && cursor.takes("QUICK");
    if !quick {
        while cursor.takes_any(options) && what != Maintenance::Checksum {}
    }
    Ok(Statement::Maintain(Maintain { what, tables, quick }))
}
