//! ALTER TABLE: does what [`super::alter_plan`] found to be needed.
//!
//! Outline: the table's definition is locked; new indexes and copies of rows are written under ids that nothing refers to,
//! while writers go on where that can be ([`super::online`]); then all others are locked out, and one commit of the catalog
//! makes the new definition the table's. What the former one had alone is erased last.
//!
//! On error, or on crash before the commit: nothing has changed; what was written under new ids is erased, by the next start
//! if need be.

use std::sync::Arc;

use cohort_binlog::QueryContext;
use cohort_engine::EngineId;
use cohort_txn::{MetadataMode, Transaction};

use super::alter_plan::{self, AlterPlan, Kind};
use super::definition::{self, Rules};
use super::online::CatchUp;
use super::row_copy::Copying;
use super::source_rows::Rows;
use super::{Changed, DdlRun, check_name, index_build};
use crate::ast::{AlterAction, AlterAlgorithm, AlterLock, AlterTable, TableName};
use crate::catalog::definition::{IndexKind, TableDef};
use crate::catalog::store::Change;
use crate::catalog::table::{Counters, Table, prefix_range};
use crate::error::{
    ER_ALTER_OPERATION_NOT_SUPPORTED, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON, ER_INNODB_MAX_ROW_VERSION,
    ER_NO_SUCH_TABLE, ER_TABLE_EXISTS_ERROR, ER_UNKNOWN_ERROR, ER_WRONG_TABLE_NAME, ER_WRONG_USAGE, SqlError,
};
use crate::exec::context::Statement;
use crate::session::DiagnosticLevel;
use crate::statistics::histogram::carried;
use crate::types::SqlMode;

/// Ids under which something was written that no definition names yet.
struct Written {
    engine: EngineId,
    ids: Vec<u32>,
}

impl DdlRun<'_> {
    pub(super) fn alter(&self, alter: &AlterTable) -> Result<Changed, SqlError> {
        let mode = match alter.lock {
            AlterLock::Exclusive => MetadataMode::Exclusive,
            AlterLock::Default | AlterLock::None | AlterLock::Shared => MetadataMode::SharedUpgradable,
        };
        let (guard, table) = match self.locked_table(&alter.name, mode) {
            Err(error) if alter.if_exists && error.is(ER_NO_SUCH_TABLE) => {
                self.note(error);
                return Ok(Changed::default());
            }
            locked => locked?,
        };
        let before = self.session.diagnostics_given().0;
        let rules = Rules::of(self);
        let plan = self.plan(alter, &table, &rules);
        rules.report_to(self.session);
        let plan = plan?;
        check_request(alter, &plan)?;
        let place = self.new_place(alter, &table)?;
        if alter.actions.iter().all(|action| matches!(action, AlterAction::Nothing)) {
            return Ok(Changed::default());
        }
        let counts = plan.least == AlterAlgorithm::Copy;
        let mut written = Written { engine: self.catalog.engine(&plan.def.engine)?, ids: Vec::new() };
        let rows = match self.execute(alter, plan, place, guard, &table, &mut written) {
            Ok(rows) => rows,
            Err(error) => {
                for id in written.ids {
                    // The next start erases what is left: nothing names it.
                    let _ = self.store.erase(written.engine, &prefix_range(&id.to_be_bytes()));
                }
                return Err(error);
            }
        };
        let affected = if counts { rows } else { 0 };
        let warnings = self.session.diagnostics_given().0 - before;
        let info = format!("Records: {affected}  Duplicates: 0  Warnings: {warnings}");
        Ok(Changed { affected, info, ..Changed::default() })
    }

    fn plan(&self, alter: &AlterTable, table: &Table, rules: &Rules) -> Result<AlterPlan, SqlError> {
        let database = self.catalog.current().database(&table.def.database)?.collation;
        let asked = alter.actions.iter().rev().find_map(|action| match action {
            AlterAction::Engine(engine) => Some(engine.as_str()),
            _ => None,
        });
        let engine = match asked {
            None => None,
            Some(asked) => match self.catalog.engine(asked) {
                Ok(_) => Some(definition::engine(Some(asked), &table.def.name, self)?),
                Err(error) if rules.sql_mode.contains(SqlMode::NO_ENGINE_SUBSTITUTION) => return Err(error),
                // The table stays where it is.
                Err(error) => {
                    self.session.push_diagnostic(DiagnosticLevel::Warning, error);
                    Some(table.def.engine.clone())
                }
            },
        };
        let mut plan = alter_plan::plan(&table.def, alter, engine.as_deref(), database, rules)?;
        if !plan.order.is_empty() && plan.def.primary_key().is_some() {
            plan.order.clear();
            let ignored = format!(
                "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                table.def.name
            );
            self.session.push_diagnostic(DiagnosticLevel::Warning, SqlError::new(ER_UNKNOWN_ERROR, &[&ignored]));
        }
        Ok(plan)
    }

    /// RENAME TO: database and name of the table from now on, if they are others.
    fn new_place(&self, alter: &AlterTable, table: &Table) -> Result<Option<(String, String)>, SqlError> {
        let to = alter.actions.iter().rev().find_map(|action| match action {
            AlterAction::RenameTo(to) => Some(to),
            _ => None,
        });
        let Some(to) = to else { return Ok(None) };
        check_name(&to.table, ER_WRONG_TABLE_NAME)?;
        let place = self.resolve(to)?;
        if place == (table.def.database.clone(), table.def.name.clone()) {
            return Ok(None);
        }
        self.is_free(to)?;
        Ok(Some(place))
    }

    fn is_free(&self, name: &TableName) -> Result<(), SqlError> {
        let (database, table) = self.resolve(name)?;
        match self.catalog.current().database(&database)?.tables.contains_key(&table) {
            true => Err(SqlError::new(ER_TABLE_EXISTS_ERROR, &[&table])),
            false => Ok(()),
        }
    }

    /// Makes the change, and says how many rows were copied. After an error `written` is to be erased; it is empty once a
    /// commit was tried, which may turn out to be durable.
    fn execute(
        &self,
        alter: &AlterTable,
        mut plan: AlterPlan,
        place: Option<(String, String)>,
        mut guard: Transaction,
        table: &Arc<Table>,
        written: &mut Written,
    ) -> Result<u64, SqlError> {
        let engine = written.engine;
        let built = self.take_ids(&mut plan, written);
        let rows = self.write(alter, &plan, &built, &mut guard, table, engine)?;
        let floor = self.floor(alter, &plan, table)?;
        let microseconds = if plan.reads_fraction() { self.now_us.rem_euclid(1_000_000) as u32 } else { 0 };
        let mut def = plan.def;
        if let Some((database, name)) = place {
            (def.database, def.name) = (database, name);
        }
        // Not before rows and indexes are there: changes of other tables go on meanwhile.
        let change = self.catalog.change(self.session)?;
        let renamed = (def.database.as_str(), def.name.as_str()) != (&table.def.database, &table.def.name);
        if renamed {
            self.is_free(&TableName { database: Some(def.database.clone()), table: def.name.clone() })?;
        }
        let mut transaction = self.session.begin(self.store);
        change.put_table(&mut transaction, &def)?;
        if let Some(floor) = floor {
            change.put_floor(&mut transaction, def.id, floor);
        }
        written.ids.clear();
        let context = QueryContext { microseconds, ..self.query_context.clone() };
        self.commit_in(&context, transaction, self.event_database())?;
        table.counters.statistics.change_histograms(|histograms| {
            let left = carried(histograms, &table.def, &def, &plan.sources);
            let changed = left != *histograms;
            *histograms = left;
            changed
        });
        let counters = match floor {
            Some(floor) => Arc::new(Counters::starting_at(floor, table.counters.statistics.clone())),
            None => table.counters.clone(),
        };
        self.publish_altered(&change, table, def, engine, counters);
        drop((change, guard));
        if plan.kind == Kind::Rebuild {
            self.erase(table);
        }
        for id in plan.dropped {
            let _ = self.store.erase(table.engine, &prefix_range(&id.to_be_bytes()));
        }
        Ok(rows)
    }

    /// Writes what the plan needs, and locks the table exclusively. Says how many rows were copied.
    fn write(
        &self,
        alter: &AlterTable,
        plan: &AlterPlan,
        built: &[usize],
        guard: &mut Transaction,
        table: &Arc<Table>,
        engine: EngineId,
    ) -> Result<u64, SqlError> {
        let only = std::slice::from_ref(table);
        if plan.kind == Kind::Metadata {
            self.lock_exclusively(guard, only)?;
            return Ok(0);
        }
        let writers_go_on = plan.online && matches!(alter.lock, AlterLock::Default | AlterLock::None);
        let mut rows = match writers_go_on {
            true => Rows::changing(self, guard, table)?,
            false => {
                self.lock_tables(guard, only, MetadataMode::SharedNoWrite)?;
                Rows::still(self)
            }
        };
        let new = Table::new(plan.def.clone(), engine, Arc::new(Counters::of_new_table(1)), 0);
        let statement = Statement::new(self.session, self.env, true).at(self.now_us);
        let mut copying = match plan.kind {
            Kind::Rebuild => {
                let least = self.floor(alter, plan, table)?.unwrap_or(1);
                Some(Copying::new(table, &new, plan, self, &statement)?.numbering_from(least))
            }
            Kind::Metadata | Kind::BuildIndexes => None,
        };
        if let Some(copying) = &mut copying {
            copying.copy(&mut rows)?;
        }
        for index in built {
            match plan.kind {
                // From the copy, which nobody changes.
                Kind::Rebuild => index_build::fill(self, &new, *index, &mut Rows::still(self))?,
                Kind::Metadata | Kind::BuildIndexes => index_build::fill(self, &new, *index, &mut rows)?,
            }
        }
        let mut catch_up = CatchUp::new(self, &new, built, copying);
        catch_up.follow(table, &mut rows)?;
        self.lock_exclusively(guard, only)?;
        catch_up.finish(table, &mut rows)?;
        Ok(catch_up.copying.map_or(0, |copying| copying.rows))
    }

    /// Gives ids to what has to be written, and says which indexes have to be filled, by their places.
    fn take_ids(&self, plan: &mut AlterPlan, written: &mut Written) -> Vec<usize> {
        let mut built = Vec::new();
        for (at, index) in plan.def.indexes.iter_mut().enumerate().filter(|(_, index)| index.index_id == 0) {
            index.index_id = self.catalog.take_index_id();
            written.ids.push(index.index_id);
            if index.kind != IndexKind::Primary {
                built.push(at);
            }
        }
        if plan.kind == Kind::Rebuild {
            plan.def.row_index_id = match plan.def.primary_key() {
                Some(primary) => primary.index_id,
                None => self.catalog.take_index_id(),
            };
            written.ids.push(plan.def.row_index_id);
        }
        built
    }

    /// The least AUTO_INCREMENT value from now on, if it has to be kept anew: what the statement says, else what the table
    /// went on with.
    fn floor(&self, alter: &AlterTable, plan: &AlterPlan, table: &Table) -> Result<Option<u64>, SqlError> {
        let asked = alter.actions.iter().rev().find_map(|action| match action {
            AlterAction::AutoIncrement(next) => Some((*next).max(1)),
            _ => None,
        });
        if asked.is_some() || plan.kind != Kind::Rebuild {
            return Ok(asked);
        }
        // A column that another one takes the numbers over from stays behind.
        let before = table.auto_increment.filter(|column| plan.sources.contains(&Some(*column)));
        if before.is_none() || plan.def.auto_increment_column().is_none() {
            return Ok(Some(1));
        }
        let mut transaction = self.session.begin(self.store);
        table.peek_auto_increment(&mut transaction).map(Some)
    }

    fn publish_altered(
        &self,
        change: &Change<'_>,
        former: &Arc<Table>,
        def: TableDef,
        engine: EngineId,
        counters: Arc<Counters>,
    ) {
        let table = Arc::new(Table::new(def, engine, counters, self.store.published().order));
        change.publish(std::slice::from_ref(former), |databases| {
            if let Some(entry) = databases.get_mut(&former.def.database) {
                entry.tables.remove_mut(&former.def.name);
            }
            if let Some(entry) = databases.get_mut(&table.def.database) {
                entry.tables.insert_mut(table.def.name.clone(), table);
            }
        });
    }
}

/// The error of an ALGORITHM or LOCK that the change cannot be made with.
fn check_request(alter: &AlterTable, plan: &AlterPlan) -> Result<(), SqlError> {
    let refusal = |asked: &str, instead: &str| SqlError::new(ER_ALTER_OPERATION_NOT_SUPPORTED, &[&asked, &instead]);
    let explained = |asked: &str, reason: &str, instead: &str| {
        SqlError::new(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON, &[&asked, &reason, &instead])
    };
    let too_much = |asked: &str, instead: &str| match plan.reason {
        Some(reason) => explained(asked, reason, "ALGORITHM=COPY"),
        None => refusal(asked, instead),
    };
    match alter.algorithm {
        AlterAlgorithm::Instant if alter.lock != AlterLock::Default => {
            let lock = "LOCK=NONE/SHARED/EXCLUSIVE";
            return Err(SqlError::new(ER_WRONG_USAGE, &[&"ALGORITHM=INSTANT", &lock]));
        }
        AlterAlgorithm::Instant if plan.versions_used_up && plan.least == AlterAlgorithm::Inplace => {
            let name = format!("{}/{}", plan.def.database, plan.def.name);
            return Err(SqlError::new(ER_INNODB_MAX_ROW_VERSION, &[&name]));
        }
        AlterAlgorithm::Instant if plan.kind != Kind::Metadata => {
            return Err(too_much("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"));
        }
        AlterAlgorithm::Inplace if plan.least == AlterAlgorithm::Copy => {
            return Err(too_much("ALGORITHM=INPLACE", "ALGORITHM=COPY"));
        }
        _ => {}
    }
    if alter.lock != AlterLock::None || plan.kind == Kind::Metadata {
        return Ok(());
    }
    let reason = match plan.least {
        _ if alter.algorithm == AlterAlgorithm::Copy => Some("COPY algorithm requires a lock"),
        AlterAlgorithm::Copy => plan.reason,
        _ if !plan.online => Some("Adding an auto-increment column requires a lock"),
        _ => return Ok(()),
    };
    Err(match reason {
        Some(reason) => explained("LOCK=NONE", reason, "LOCK=SHARED"),
        None => refusal("LOCK=NONE", "LOCK=SHARED"),
    })
}
