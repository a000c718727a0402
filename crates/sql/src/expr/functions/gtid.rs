//! Functions about sets of GTIDs, and those that wait for a place in the binlog.

use std::time::Duration;

use cohort_binlog::GtidSet;

use super::super::convert::{to_f64, to_text};
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{ER_MALFORMED_GTID_SET_SPECIFICATION, ER_WRONG_ARGUMENTS, SqlError};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "gtid_subset",
        2,
        2,
        |a| Ok(Value::bool(set(a, 0)?.is_subset(&set(a, 1)?))),
        |_| ResultType::integer(21),
    )
    .doc(
        "Whether every GTID of the first set is in the second.",
        "GTID_SUBSET('3e11fa47-71ca-11e1-9e33-c80aa9429562:3', '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5')",
        "1",
    ),
    Function::new("gtid_subtract", 2, 2, subtract, |_| ResultType::string(65_535, Collation::DEFAULT)).doc(
        "The GTIDs of the first set that are not in the second.",
        "GTID_SUBTRACT('3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5', '3e11fa47-71ca-11e1-9e33-c80aa9429562:2-5')",
        "3e11fa47-71ca-11e1-9e33-c80aa9429562:1",
    ),
    Function::new("wait_for_executed_gtid_set", 1, 2, wait, |_| ResultType::integer(21)).volatile().doc(
        "Waits until every GTID of the set is executed: 0; or so many seconds: 1.",
        "WAIT_FOR_EXECUTED_GTID_SET('')",
        "0",
    ),
    Function::new("master_pos_wait", 2, 4, |_| Ok(Value::Null), |_| ResultType::integer(21))
        .aliases(&["source_pos_wait"])
        .takes_null()
        .doc("NULL, since this server follows no other.", "MASTER_POS_WAIT('binlog.000001', 4) IS NULL", "1"),
];

fn set(args: &Arguments<'_, '_>, at: usize) -> Result<GtidSet, SqlError> {
    let text = to_text(&args[at]);
    text.parse().map_err(|_| SqlError::new(ER_MALFORMED_GTID_SET_SPECIFICATION, &[&text]))
}

fn subtract(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut left = set(args, 0)?;
    left.subtract(&set(args, 1)?);
    Ok(Value::text(left.to_string()))
}

fn wait(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let set = set(args, 0)?;
    let seconds = args.get(1).map_or(Ok(0.0), |seconds| to_f64(seconds, args.cx))?;
    let wrong = |_| SqlError::new(ER_WRONG_ARGUMENTS, &[&"WAIT_FOR_EXECUTED_GTID_SET."]);
    let time = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
    let executed = args.cx.statement.wait_for_gtids(&set, Some(time).filter(|time| !time.is_zero()))?;
    args.cx.statement.check_killed()?;
    Ok(Value::Int(i64::from(!executed)))
}
