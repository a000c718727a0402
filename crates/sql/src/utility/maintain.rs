//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.
//!
//! CHECK reads every row and index entry as one snapshot has them, without keeping anybody from writing. ANALYZE
//! looks at the keys of a table, and counts its rows, for its statistics, or changes its histograms ([`super::histograms`]);
//! OPTIMIZE and REPAIR have nothing to do: engines compact by themselves, and what is damaged is repaired by recovery or not
//! at all. None of them is logged.

use cohort_txn::{MetadataMode, MetadataName, Transaction};

use super::checksum::Checksum;
use super::show::{Shown, text_type};
use crate::ast::{Maintain, Maintenance, TableName};
use crate::catalog::store::database_or;
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::check::check_table;
use crate::database::{Database, Params};
use crate::error::{ER_NO_SUCH_TABLE, ER_TABLE_DEF_CHANGED, SqlError};
use crate::exec::failure::lock_failed;
use crate::parse;
use crate::session::{DiagnosticLevel, Environment, SessionState};
use crate::types::ResultType;
use crate::value::Value;

impl Database {
    /// The answer to one of these statements, table by table.
    pub(super) fn maintain(
        &self,
        maintain: &Maintain,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Shown, SqlError> {
        if maintain.what != Maintenance::Checksum {
            self.commit_open(session)?;
        }
        if matches!(maintain.what, Maintenance::Analyze | Maintenance::Optimize | Maintenance::Repair) {
            session.may_change_server()?;
        }
        let mut shown = Shown { columns: columns(maintain.what), rows: Vec::new() };
        if let Some(change) = &maintain.histograms {
            shown.rows = self.change_histograms(maintain, change, session)?;
            return Ok(shown);
        }
        for name in &maintain.tables {
            let database = database_or(name.database.as_deref(), session.database.as_deref())?.to_owned();
            let shown_name = format!("{database}.{}", name.table);
            let rows = match maintain.what {
                Maintenance::Checksum => {
                    let sum = self.checksum(&database, name, maintain.quick, session, env)?;
                    shown
                        .rows
                        .push(vec![Value::text(shown_name), sum.map_or(Value::Null, |sum| Value::UInt(sum.into()))]);
                    continue;
                }
                what => self.maintain_one(what, &database, name, session)?,
            };
            shown.rows.extend(rows.into_iter().map(|(kind, text)| message(maintain, &shown_name, kind, &text)));
        }
        Ok(shown)
    }

    /// What is said of a table: kinds of messages, and their texts.
    fn maintain_one(
        &self,
        what: Maintenance,
        database: &str,
        name: &TableName,
        session: &SessionState,
    ) -> Result<Vec<(&'static str, String)>, SqlError> {
        if !session.locked_tables.is_empty() {
            self.is_locked(name, false, session)?;
        }
        let catalog = self.catalog.current();
        let table = match catalog.table(database, &name.table) {
            Ok(table) => table,
            Err(error) => {
                return Ok(vec![("Error", error.message.clone()), ("status", "Operation failed".to_owned())]);
            }
        };
        let status = |text: &str| vec![("status", text.to_owned())];
        if system::is_one(table) {
            return Ok(status("OK"));
        }
        Ok(match what {
            Maintenance::Analyze => {
                self.analyze(table, true, &|| !session.interrupt_ref().is_killed())?;
                status("OK")
            }
            Maintenance::Checksum => status("OK"),
            Maintenance::Optimize => {
                vec![("note", "The storage engine for the table doesn't support optimize".to_owned())]
            }
            Maintenance::Repair => vec![("note", "The storage engine for the table doesn't support repair".to_owned())],
            Maintenance::Check => match self.check(table, session)? {
                faults if faults.is_empty() => status("OK"),
                faults => {
                    let errors = faults.into_iter().map(|fault| ("error", fault));
                    errors.chain([("error", "Corrupt".to_owned())]).collect()
                }
            },
        })
    }

    /// What is wrong with a table.
    fn check(&self, table: &Table, session: &SessionState) -> Result<Vec<String>, SqlError> {
        check_table(table, &mut self.reader(table, session)?, session.interrupt_ref())
    }

    /// A transaction that reads a table whose definition nobody changes meanwhile.
    pub(super) fn reader(&self, table: &Table, session: &SessionState) -> Result<Transaction, SqlError> {
        let mut transaction = session.begin(&self.store);
        let (name, mode) = (MetadataName::Table(table.def.id), MetadataMode::SharedRead);
        transaction.lock_metadata(&name, mode, session.table_lock_timeout).map_err(lock_failed)?;
        if !table.is_current() || transaction.take_snapshot() < table.since_order {
            return Err(SqlError::new(ER_TABLE_DEF_CHANGED, &[]));
        }
        transaction.pin_snapshot();
        Ok(transaction)
    }

    /// The checksum of a table's rows, as the session sees them; `None` with warning 1146 if it is not there, and for QUICK:
    /// no engine keeps one.
    fn checksum(
        &self,
        database: &str,
        name: &TableName,
        quick: bool,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Option<u32>, SqlError> {
        let table = match self.catalog.current().table(database, &name.table) {
            Ok(table) => table.clone(),
            Err(error) if error.is(ER_NO_SUCH_TABLE) => {
                session.push_diagnostic(DiagnosticLevel::Error, error);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if quick {
            return Ok(None);
        }
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let sql = format!("SELECT * FROM {}.{} LIMIT {}", quoted(database), quoted(&name.table), u64::MAX);
        loop {
            let parsed = parse::parse(sql.as_bytes(), session.sql_mode, &session.memory, None, &|_| None)?;
            let plan = self.plan(parsed.statement, session)?;
            let mut sum = Checksum::of(&table.def.columns, session.time_zone);
            if self.run_plan(&plan, Params::of(&[], sql.as_bytes()), session, env, &mut sum)?.is_some() {
                return Ok(Some(sum.value()));
            }
        }
    }
}

/// What is said of a table.
pub(super) fn message(maintain: &Maintain, table: &str, kind: &str, text: &str) -> Vec<Value> {
    [table, maintain.operation(), kind, text].map(Value::text).to_vec()
}

/// The columns of the answer.
pub(super) fn columns(what: Maintenance) -> Vec<(String, ResultType)> {
    let column = |name: &str, of: ResultType| (name.to_owned(), of);
    match what {
        Maintenance::Checksum => {
            vec![column("Table", text_type(128)), column("Checksum", ResultType::integer(21).nullable(true))]
        }
        _ => vec![
            column("Table", text_type(128)),
            column("Op", text_type(10)),
            column("Msg_type", text_type(10)),
            column("Msg_text", text_type(98_304)),
        ],
    }
}
