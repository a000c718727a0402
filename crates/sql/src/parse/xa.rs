//! The XA statements.

use cohort_binlog::XaId;

use super::cursor::Cursor;
use crate::ast::{Statement, XaJoin, XaStatement};
use crate::error::SqlError;

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect("XA")?;
    let statement = if cursor.takes_any(&["START", "BEGIN"]) {
        let xid = xid(cursor)?;
        let join = match () {
            () if cursor.takes("JOIN") => Some(XaJoin::Join),
            () if cursor.takes("RESUME") => Some(XaJoin::Resume),
            () => None,
        };
        XaStatement::Start { xid, join }
    } else if cursor.takes("END") {
        let xid = xid(cursor)?;
        let suspend = cursor.takes("SUSPEND");
        if suspend {
            cursor.takes("FOR MIGRATE");
        }
        XaStatement::End { xid, suspend }
    } else if cursor.takes("PREPARE") {
        XaStatement::Prepare(xid(cursor)?)
    } else if cursor.takes("COMMIT") {
        let xid = xid(cursor)?;
        XaStatement::Commit { xid, one_phase: cursor.takes("ONE PHASE") }
    } else if cursor.takes("ROLLBACK") {
        XaStatement::Rollback(xid(cursor)?)
    } else {
        cursor.expect("RECOVER")?;
        XaStatement::Recover { convert: cursor.takes("CONVERT XID") }
    };
    Ok(Statement::Xa(statement))
}

/// `gtrid [, bqual [, format id]]`
fn xid(cursor: &mut Cursor<'_>) -> Result<XaId, SqlError> {
    let unexpected = cursor.unexpected();
    let gtrid = cursor.binary()?;
    let (mut bqual, mut format_id) = (Vec::new(), XaId::DEFAULT_FORMAT_ID);
    if cursor.takes_operator(",") {
        bqual = cursor.binary()?;
        if cursor.takes_operator(",") {
            format_id = cursor.integer()?;
        }
    }
    XaId::new(&gtrid, &bqual, format_id).ok_or(unexpected)
}
