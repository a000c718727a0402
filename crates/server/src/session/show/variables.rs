//! SHOW VARIABLES.

use cohort_sql::Value;
use cohort_sql::expr::VariableScope;
use cohort_sql::session::{SessionState, ShowTable};

use super::text;
use crate::session::environment::SessionEnvironment;
use crate::session::variables;
use crate::sysvars::VariableId;

pub(super) fn variables_table(
    environment: &SessionEnvironment,
    session: &SessionState,
    scope: VariableScope,
) -> ShowTable {
    let global = scope == VariableScope::Global;
    let listed = VariableId::all().filter_map(|id| {
        // SHOW SESSION VARIABLES lists global ones as well, SHOW GLOBAL VARIABLES no session ones.
        let scope = if global { VariableScope::Global } else { VariableScope::Any };
        Some((id, variables::reads_global(id.row(), scope).ok()?))
    });
    let mut rows = Vec::new();
    for (id, global) in listed {
        let value = environment.shown(session, id, global);
        rows.push((id.row().name, value.clone()));
        rows.extend(id.row().alias.map(|alias| (alias, value)));
    }
    rows.sort();
    let rows = rows.into_iter().map(|(name, value)| vec![Value::text(name), Value::text(value)]).collect();
    ShowTable { columns: vec![("Variable_name", text(64)), ("Value", text(2048))], rows }
}
