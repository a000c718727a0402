//! The rows of a result, kept.

use cohort_sql::{ResultColumn, ResultSink, SqlError, Value};

/// Keeps the rows of a result.
#[derive(Debug, Default)]
pub struct Rows(pub Vec<Vec<Value>>);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.0.push(row.to_vec());
        Ok(())
    }
}
