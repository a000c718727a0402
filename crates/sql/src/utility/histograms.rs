//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM.
//!
//! The answer has a row for each column, in the order of their names, as MySQL's has. A column that can have no histogram
//! keeps no other from having one.

use super::maintain::message;
use crate::ast::{ChangeHistograms, Maintain};
use crate::catalog::store::database_or;
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::database::Database;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::failure::commit_failed;
use crate::session::SessionState;
use crate::statistics::histogram::{Histograms, refusal};
use crate::value::Value;

/// What is said of a column: its name, by which the answer is in order, the kind of message, and the text.
type Said = (String, &'static str, String);

fn failed(column: &str, text: String) -> Said {
    (column.to_owned(), "Error", text)
}

fn done(column: &str, what: &str) -> Said {
    (column.to_owned(), "status", format!("Histogram statistics {what} for column '{column}'."))
}

fn not_found(column: &str) -> Said {
    failed(column, format!("No histogram statistics found for column '{column}'."))
}

impl Database {
    /// The rows of the answer.
    pub(super) fn change_histograms(
        &self,
        maintain: &Maintain,
        change: &ChangeHistograms,
        session: &SessionState,
    ) -> Result<Vec<Vec<Value>>, SqlError> {
        let [name] = maintain.tables.as_slice() else {
            let text = "Only one table can be specified while modifying histogram statistics.";
            return Ok(vec![message(maintain, "", "Error", text)]);
        };
        let database = database_or(name.database.as_deref(), session.database.as_deref())?;
        if !session.locked_tables.is_empty() {
            self.is_locked(name, false, session)?;
        }
        let catalog = self.catalog.current();
        let mut said = match (catalog.table(database, &name.table), change.buckets) {
            (Err(error), Some(_)) => vec![failed("", error.message.clone())],
            (Ok(table), Some(_)) if system::is_one(table) => {
                vec![failed("", "Unable to open and/or lock table.".to_owned())]
            }
            (Ok(table), Some(buckets)) => self.make_histograms(table, &change.columns, buckets, session)?,
            (Ok(table), None) if !system::is_one(table) => self.drop_histograms(table, &change.columns, session)?,
            (_, None) => change.columns.iter().map(|column| not_found(column)).collect(),
        };
        said.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        let table = format!("{database}.{}", name.table);
        Ok(said.into_iter().map(|(_, kind, text)| message(maintain, &table, kind, &text)).collect())
    }

    fn make_histograms(
        &self,
        table: &Table,
        columns: &[String],
        buckets: u16,
        session: &SessionState,
    ) -> Result<Vec<Said>, SqlError> {
        let mut transaction = self.reader(table, session)?;
        let goes_on = |kept: usize| match session.interrupt_ref().is_killed() {
            true => Err(SqlError::new(ER_QUERY_INTERRUPTED, &[])),
            false => session.memory.hold(kept),
        };
        let mut made = Histograms::new();
        let make = |named: &String| {
            let Some(column) = table.def.column_index(named) else {
                return Ok(failed(named, format!("The column '{named}' does not exist.")));
            };
            if let Some(reason) = refusal(&table.def, column) {
                return Ok(failed(named, format!("The column '{named}' {reason}.")));
            }
            let (name, held) = (&table.def.columns[column].name, session.memory.held());
            made.insert(name.clone(), self.histogram(table, column, buckets, &mut transaction, &goes_on)?);
            session.memory.release_to(held);
            Ok(done(name, "created"))
        };
        let said = columns.iter().map(make).collect::<Result<_, SqlError>>()?;
        // Whoever sees the histograms does not wait for what they rest on.
        self.store.wait_until_durable(session.rests_on()).map_err(|error| commit_failed(&error))?;
        table.counters.statistics.change_histograms(|histograms| {
            histograms.extend(made.clone());
            !made.is_empty()
        });
        Ok(said)
    }

    fn drop_histograms(
        &self,
        table: &Table,
        columns: &[String],
        session: &SessionState,
    ) -> Result<Vec<Said>, SqlError> {
        let _reader = self.reader(table, session)?;
        let drop = |named: &String| {
            let name = table.def.column_index(named).map_or(named, |column| &table.def.columns[column].name);
            let there = table.counters.statistics.change_histograms(|histograms| histograms.remove(name).is_some());
            if there { done(named, "removed") } else { not_found(named) }
        };
        Ok(columns.iter().map(drop).collect())
    }
}
