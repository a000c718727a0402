//! Converting a value into what a column stores.

use super::{ColumnType, SqlMode};
use super::temporal::TimeZone;
use crate::error::SqlError;
use crate::value::Value;

/// What the conversion of one value must know besides the type.
pub struct StoreContext<'a> {
    /// The column's name, for messages.
    pub column: &'a str,
    /// The number of the row in its statement, from 1, for messages.
    pub row: u64,
    /// The session's SQL mode. Statements with IGNORE clear the strict modes.
    pub sql_mode: SqlMode,
    /// The session's time zone.
    pub time_zone: TimeZone,
    /// Takes the warnings of a conversion that is not strict.
    pub warnings: &'a mut dyn FnMut(SqlError),
}

/// Converts `value` into one that a column of type `column_type` holds (NULL stays NULL: whether
/// the column takes it is the caller's check, error 1048). In strict mode a value that does not fit
/// is error 1264, 1265, 1292, 1366 or 1406, else the nearest value is stored with that warning.
pub fn store(_value: Value, _column_type: &ColumnType, _cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    todo!()
}
