//! SHOW WARNINGS, SHOW ERRORS and their counts.

use super::show::text_type;
use crate::error::SqlError;
use crate::session::{DiagnosticLevel, ResultSink, SessionState};
use crate::types::{ResultColumn, ResultType};
use crate::value::Value;

/// SHOW WARNINGS, SHOW ERRORS and their counts.
pub(super) fn run(
    errors_only: bool,
    count: bool,
    limit: Option<(u64, u64)>,
    session: &SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    if count {
        let name = if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
        sink.columns(&[ResultColumn::computed(name, ResultType::unsigned(21))])?;
        let (all, errors) = session.diagnostics_given();
        return sink.row(&[Value::UInt(if errors_only { errors } else { all })]);
    }
    let diagnostics = session.diagnostics.borrow().clone();
    let shown = diagnostics.iter().filter(|one| !errors_only || one.level == DiagnosticLevel::Error);
    let text = text_type(512);
    sink.columns(&[
        ResultColumn::computed("Level", text_type(7)),
        ResultColumn::computed("Code", ResultType::unsigned(5)),
        ResultColumn::computed("Message", text),
    ])?;
    let (offset, most) = limit.unwrap_or((0, u64::MAX));
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    for one in shown.skip(skip).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        let level = match one.level {
            DiagnosticLevel::Note => "Note",
            DiagnosticLevel::Warning => "Warning",
            DiagnosticLevel::Error => "Error",
        };
        sink.row(&[Value::text(level), Value::UInt(one.error.errno.into()), Value::text(one.error.message.as_str())])?;
    }
    Ok(())
}
