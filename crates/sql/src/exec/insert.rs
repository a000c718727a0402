//! INSERT and REPLACE.

use cohort_txn::{LockMode, Read};

use super::insert_ids::InsertIds;
use super::row_change::{self, Changed, Conflict, duplicate, find_conflict, new_row_key};
use super::update::pass_auto_increment;
use super::{Run, failure, query};
use crate::catalog::definition::{ColumnDef, DefaultValue};
use crate::catalog::table::Table;
use crate::error::{ER_BAD_NULL_ERROR, ER_NO_DEFAULT_FOR_FIELD, SqlError};
use crate::expr::StatementContext;
use crate::memory::{row_bytes, value_bytes};
use crate::plan::{InsertPlan, InsertRows, InsertValue};
use crate::session::StatementResult;
use crate::types::temporal::Timestamp;
use crate::types::{ColumnType, SqlMode, StoreContext};
use crate::value::Value;

/// A row with its key.
type KeyedRow = (Vec<u8>, Vec<Value>);

/// Stores a value in a column's type; `row` counts from 1.
pub(super) fn store_column(
    value: Value,
    column: &ColumnDef,
    row: u64,
    ignore: bool,
    run: &Run<'_>,
) -> Result<Value, SqlError> {
    if column.column_type.holds(&value) {
        return Ok(value);
    }
    let sql_mode = if ignore { run.session.sql_mode.lenient() } else { run.session.sql_mode };
    store_as(value, &column.column_type, &column.name, row, sql_mode, run)
}

/// The same in a type that no table may have a column of; `name` and `row` are for messages.
pub(super) fn store_as(
    value: Value,
    of: &ColumnType,
    name: &str,
    row: u64,
    sql_mode: SqlMode,
    run: &Run<'_>,
) -> Result<Value, SqlError> {
    let statement = run.statement;
    let mut cx = StoreContext {
        column: name,
        row,
        sql_mode,
        time_zone: run.session.time_zone,
        now_us: statement.now_us(),
        warnings: &mut |loss, error| statement.push_loss(loss, error),
    };
    of.store(value, &mut cx)
}

/// The statement's own time, as a value of any temporal column.
fn now(run: &Run<'_>) -> Value {
    Value::DateTime(Timestamp { micros: run.statement.now_us(), fsp: 6 }.to_datetime(run.session.time_zone))
}

/// The value of DEFAULT for a column.
pub(super) fn default_value(column: &ColumnDef, row: u64, ignore: bool, run: &Run<'_>) -> Result<Value, SqlError> {
    match &column.default {
        DefaultValue::Literal(value) => Ok(value.clone()),
        DefaultValue::CurrentTimestamp => current_timestamp(column, row, run),
        DefaultValue::None | DefaultValue::Dropped if lacks_default(column) => {
            missing_default(column, ignore, run)?;
            Ok(column.implicit_value())
        }
        DefaultValue::None if !column.nullable && !column.auto_increment => Ok(column.column_type.implicit_default()),
        DefaultValue::None | DefaultValue::Dropped => Ok(Value::Null),
        // A plan has these as values.
        DefaultValue::Expression { text, .. } => {
            Err(SqlError::internal(format_args!("DEFAULT ({text}) was not planned")))
        }
    }
}

/// Whether nothing but an implicit default can stand in for a value.
fn lacks_default(column: &ColumnDef) -> bool {
    let needs_value = !column.auto_increment && !column.column_type.defaults_itself();
    match column.default {
        DefaultValue::None => needs_value && !column.nullable,
        DefaultValue::Dropped => needs_value,
        _ => false,
    }
}

/// The error of a strict statement and the warning of another.
fn missing_default(column: &ColumnDef, ignore: bool, run: &Run<'_>) -> Result<(), SqlError> {
    let error = SqlError::new(ER_NO_DEFAULT_FOR_FIELD, &[&column.name]);
    if run.session.sql_mode.is_strict() && !ignore {
        return Err(error);
    }
    run.statement.push_warning(error);
    Ok(())
}

/// The statement's time in a column; cut to its digits, not rounded into the future.
pub(super) fn current_timestamp(column: &ColumnDef, row: u64, run: &Run<'_>) -> Result<Value, SqlError> {
    let Some(fsp) = column.column_type.facts().clock_digits else {
        return store_column(now(run), column, row, true, run);
    };
    let unit = crate::types::temporal::fraction_unit(fsp);
    let micros = run.statement.now_us() / unit * unit;
    store_column(Value::Timestamp(Timestamp { micros, fsp }), column, row, true, run)
}

/// Whether NULL or zero makes an AUTO_INCREMENT value here.
pub(crate) fn wants_auto_increment(value: &Value, sql_mode: SqlMode) -> bool {
    match value {
        Value::Null => true,
        Value::Int(0) | Value::UInt(0) => !sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO),
        Value::Double(zero) => *zero == 0.0 && !sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO),
        Value::Float(zero) => *zero == 0.0 && !sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO),
        _ => false,
    }
}

/// One INSERT while it runs.
struct Inserting<'p> {
    plan: &'p InsertPlan,
    table: &'p Table,
    /// The parameters of what follows the rows.
    behind_rows: &'p [Value],
    /// The row being made; after it, for ON DUPLICATE KEY UPDATE, room for the row it meets.
    row: Vec<Value>,
    /// What ON DUPLICATE KEY UPDATE reads of the SELECT's row beside its select list.
    beside: Vec<Value>,
    number: u64,
    affected: u64,
    duplicates: u64,
    /// The AUTO_INCREMENT values.
    ids: InsertIds,
    /// Whether NULL becomes a default where it cannot be stored.
    lenient: bool,
}

pub(super) fn run(plan: &InsertPlan, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    let rows = match &plan.source {
        InsertRows::Values(rows) => Some((rows.len() * run.rows) as u64),
        InsertRows::Query(..) => None,
    };
    let many = rows.is_none_or(|rows| rows > 1);
    let warnings = run.session.diagnostics_given().0;
    let mut inserting = Inserting {
        plan,
        table: &plan.table,
        behind_rows: run.params_behind_rows(),
        row: vec![Value::Null; plan.table.def.columns.len()],
        beside: Vec::new(),
        number: 0,
        affected: 0,
        duplicates: 0,
        ids: InsertIds::new(rows),
        lenient: plan.ignore || (many && !run.session.sql_mode.is_strict()),
    };
    let records = inserting.all(run);
    // As in MySQL, also where a later row failed.
    let id = inserting.ids.first_inserted();
    if let Some(id) = id {
        run.session.last_insert_id.set(id);
    }
    let records = records?;
    let explicit = run.statement.explicit_last_insert_id.get();
    run.session.row_count.set(i64::try_from(inserting.affected).unwrap_or(i64::MAX));
    let warnings = run.session.diagnostics_given().0 - warnings;
    let info = if many {
        format!("Records: {records}  Duplicates: {}  Warnings: {warnings}", inserting.duplicates)
    } else {
        String::new()
    };
    // MySQL does not look at the rows of a SELECT again that it may change others for.
    let forgets = rows.is_none() && !plan.on_duplicate.is_empty();
    let written = if forgets { 0 } else { inserting.ids.last_written() };
    let last_insert_id = id.or(explicit).unwrap_or(written);
    Ok(StatementResult::Done { affected: inserting.affected, last_insert_id, info })
}

impl Inserting<'_> {
    fn column(&self, column: usize) -> &ColumnDef {
        &self.table.def.columns[column]
    }

    /// Inserts all rows, and says how many they were.
    fn all(&mut self, run: &mut Run<'_>) -> Result<u64, SqlError> {
        self.missing_defaults(run)?;
        let plan = self.plan;
        let mut records = 0_u64;
        match &plan.source {
            InsertRows::Values(rows) => {
                let all = run.params;
                for repeat in 0..run.rows {
                    run.params = all.get(repeat * run.row_params..).unwrap_or_default();
                    for row in rows {
                        self.values(row, run)?;
                        records += 1;
                    }
                    if repeat % 256 == 255 {
                        run.check_killed()?;
                    }
                }
                run.params = all;
            }
            InsertRows::Query(source, texts) => {
                // The rows are read before the first is written: the table may be its own source.
                let mut rows = Vec::new();
                let session = run.session;
                query::run(source, u64::MAX, run, &mut |row| {
                    session.memory.hold(row_bytes(row))?;
                    rows.push(row.to_vec());
                    Ok(())
                })?;
                for mut row in rows {
                    for (at, charset) in texts {
                        if let text @ (Value::Text(_) | Value::Member(_)) = &row[*at] {
                            row[*at] = Value::bytes(&*charset.encode(&text.to_string()));
                        }
                    }
                    self.given(row, run)?;
                    records += 1;
                }
            }
        }
        Ok(records)
    }

    /// Complains once, and before there is any row, about columns that have no default and are not named.
    fn missing_defaults(&self, run: &Run<'_>) -> Result<(), SqlError> {
        for column in self.plan.defaults.iter().map(|column| self.column(*column)) {
            if lacks_default(column) {
                missing_default(column, self.plan.ignore, run)?;
            }
        }
        Ok(())
    }

    /// Fills the columns that the statement does not name.
    fn defaults(&mut self, run: &mut Run<'_>) -> Result<(), SqlError> {
        self.number += 1;
        run.session.memory.begin_row();
        for column in &self.plan.defaults {
            let def = self.column(*column);
            self.row[*column] = if lacks_default(def) {
                def.implicit_value()
            } else {
                default_value(def, self.number, self.plan.ignore, run)?
            };
        }
        for (column, expr) in &self.plan.default_exprs {
            let value = run.evaluate(|cx| expr.eval(&[], cx))?;
            run.session.memory.hold_row(value_bytes(&value))?;
            self.row[*column] = self.stored(value, *column, run)?;
        }
        Ok(())
    }

    /// Inserts a row of VALUES.
    fn values(&mut self, values: &[InsertValue], run: &mut Run<'_>) -> Result<(), SqlError> {
        self.defaults(run)?;
        let unnamed = self.not_given_yet();
        for (column, value) in self.plan.targets.iter().zip(values) {
            let value = match value {
                InsertValue::Default => default_value(self.column(*column), self.number, self.plan.ignore, run)?,
                InsertValue::Expr(expr) => {
                    let value = run.evaluate(|cx| expr.eval(&self.row, cx))?;
                    run.session.memory.hold_row(value_bytes(&value))?;
                    self.stored(value, *column, run)?
                }
            };
            self.row[*column] = value;
        }
        for (column, value) in unnamed {
            self.row[column] = value;
        }
        self.finish(run)
    }

    /// Gives the columns that values read what they are before the row has values: the default if that is a literal, else
    /// NULL, and the implicit default where there may be no NULL. Returns what those that are not named get at last.
    fn not_given_yet(&mut self) -> Vec<(usize, Value)> {
        let mut unnamed = Vec::new();
        for column in &self.plan.read {
            let def = self.column(*column);
            let first = match &def.default {
                DefaultValue::Literal(value) => value.clone(),
                _ => def.implicit_value(),
            };
            let last = std::mem::replace(&mut self.row[*column], first);
            if !self.plan.targets.contains(column) {
                unnamed.push((*column, last));
            }
        }
        unnamed
    }

    /// Inserts a row that SELECT gave.
    fn given(&mut self, mut values: Vec<Value>, run: &mut Run<'_>) -> Result<(), SqlError> {
        self.beside = values.split_off(self.plan.targets.len());
        self.defaults(run)?;
        for (column, value) in self.plan.targets.iter().zip(values) {
            self.row[*column] = self.stored(value, *column, run)?;
        }
        self.finish(run)
    }

    /// A given value as its column stores it. NULL for an AUTO_INCREMENT column makes a value later.
    fn stored(&self, value: Value, column: usize, run: &Run<'_>) -> Result<Value, SqlError> {
        let def = self.column(column);
        if self.table.auto_increment == Some(column) {
            store_column(value, def, self.number, self.plan.ignore, run)
        } else {
            assign(value, def, self.number, self.plan.ignore, self.lenient, run)
        }
    }

    /// Checks the row that is made and writes it.
    fn finish(&mut self, run: &mut Run<'_>) -> Result<(), SqlError> {
        if let Some(column) = self.table.auto_increment {
            self.auto_increment(column, run)?;
        }
        let changes_conflicting = self.plan.replace || !self.plan.on_duplicate.is_empty();
        let mode = if changes_conflicting { LockMode::Exclusive } else { LockMode::Shared };
        for _ in 0..2 + self.table.indexes.len() {
            let row_key = new_row_key(self.table, &self.row, run)?;
            let Some(conflict) = find_conflict(self.table, &self.row, &row_key, mode, run)? else {
                row_change::insert(self.table, &self.row, &row_key, run)?;
                self.ids.inserted();
                self.ids.pass(self.table, run)?;
                self.affected += 1;
                return Ok(());
            };
            if !self.plan.on_duplicate.is_empty() {
                return self.update_conflicting(&conflict, run);
            }
            // A value that is made for the row must not cost the row that has it.
            let key = &self.table.indexes[conflict.index];
            let of_made = self.ids.has_made() && key.columns.first() == self.table.auto_increment.as_ref();
            if self.plan.replace && !of_made {
                if self.replace_conflicting(&conflict, run)? {
                    return Ok(());
                }
                // Over its last unique key MySQL changes the row in place.
                if self.has_later_unique(&conflict) {
                    self.ids.again();
                }
                continue;
            }
            let error = duplicate(self.table, conflict.index, &self.row, run.session.time_zone);
            if self.plan.ignore {
                self.duplicates += 1;
                self.ids.skipped();
                run.statement.push_warning(error);
                return Ok(());
            }
            return Err(error);
        }
        Err(SqlError::internal("a row has more doubles than its table has keys"))
    }

    fn auto_increment(&mut self, column: usize, run: &mut Run<'_>) -> Result<(), SqlError> {
        if !wants_auto_increment(&self.row[column], run.session.sql_mode) {
            self.ids.given(&self.row[column], run);
            // As in InnoDB: a row that is refused moves the counter only in these statements.
            let always = self.plan.replace || matches!(self.plan.source, InsertRows::Query(..));
            return if always { self.ids.pass(self.table, run) } else { Ok(()) };
        }
        let id = self.ids.make(self.table, run)?;
        self.row[column] = store_column(Value::UInt(id), self.column(column), self.number, false, run)?;
        Ok(())
    }

    /// Locks the row in the way and reads it; `None` if it is gone by then.
    fn conflicting(&self, conflict: &Conflict, run: &mut Run<'_>) -> Result<Option<KeyedRow>, SqlError> {
        let engine = self.table.engine;
        let locked = run.transaction.lock(engine, &conflict.row_key, LockMode::Exclusive);
        locked.map_err(failure::lock_failed)?;
        let mut stored = Vec::new();
        let there = run.transaction.get(engine, Read::Current, &conflict.row_key, &mut stored);
        if !there.map_err(failure::read_failed)? {
            return Ok(None);
        }
        let mut row = vec![Value::Null; self.table.def.columns.len()];
        self.table.read_row(&stored, &mut run.offsets, &mut row)?;
        Ok(Some((stored, row)))
    }

    /// Whether a later unique key may be in the way too.
    fn has_later_unique(&self, conflict: &Conflict) -> bool {
        self.table.indexes[conflict.index + 1..].iter().any(|index| index.is_unique())
    }

    /// REPLACE: the row in the way goes. True if it becomes the new one in its place, as in MySQL where no later unique key
    /// can be in the way.
    fn replace_conflicting(&mut self, conflict: &Conflict, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let Some((stored, row)) = self.conflicting(conflict, run)? else { return Ok(false) };
        self.affected += 1;
        if self.has_later_unique(conflict) {
            self.duplicates += 1;
            row_change::delete(self.table, &row, &conflict.row_key, &stored, run)?;
            return Ok(false);
        }
        let columns = differing(&row, &self.row);
        if !columns.is_empty() {
            let changed = Changed { columns: &columns, before: &row, after: &self.row };
            if let Some(other) = row_change::update(self.table, &changed, &conflict.row_key, &stored, run)? {
                return Err(duplicate(self.table, other.index, &self.row, run.session.time_zone));
            }
            self.affected += 1;
            self.duplicates += 1;
        }
        self.ids.inserted();
        Ok(true)
    }

    /// ON DUPLICATE KEY UPDATE: the row in the way is changed.
    fn update_conflicting(&mut self, conflict: &Conflict, run: &mut Run<'_>) -> Result<(), SqlError> {
        let Some((stored, before)) = self.conflicting(conflict, run)? else {
            return Err(SqlError::internal("the row of a unique key is gone while the key is locked"));
        };
        self.ids.skipped();
        let count = before.len();
        let mut slots = before.clone();
        slots.extend_from_slice(&self.row);
        slots.extend_from_slice(&self.beside);
        let assigned = |column: usize| self.plan.on_duplicate.iter().any(|(known, _)| *known == column);
        for (column, value) in &self.plan.on_duplicate {
            let def = self.column(*column);
            slots[*column] = match value {
                InsertValue::Default => default_value(def, self.number, self.plan.ignore, run)?,
                InsertValue::Expr(expr) => {
                    let value = run.evaluate_with(self.behind_rows, |cx| expr.eval(&slots, cx))?;
                    assign(value, def, self.number, self.plan.ignore, self.lenient, run)?
                }
            };
        }
        let differs = |slots: &[Value]| (0..count).any(|at| slots[at] != before[at]);
        if !differs(&slots) {
            self.affected += u64::from(run.session.client_found_rows);
            self.updated(&slots, false);
            return Ok(());
        }
        for (at, column) in self.table.def.columns.iter().enumerate() {
            if column.on_update_now && !assigned(at) {
                slots[at] = current_timestamp(column, self.number, run)?;
            }
        }
        let columns = differing(&before, &slots[..count]);
        pass_auto_increment(self.table, &columns, run)?;
        let changed = Changed { columns: &columns, before: &before, after: &slots[..count] };
        match row_change::update(self.table, &changed, &conflict.row_key, &stored, run)? {
            None => {
                self.affected += 2;
                self.duplicates += 1;
            }
            Some(other) => {
                let error = duplicate(self.table, other.index, &slots, run.session.time_zone);
                if !self.plan.ignore {
                    return Err(error);
                }
                run.statement.push_warning(error);
                self.duplicates += 1;
                self.updated(&before, false);
                return Ok(());
            }
        }
        self.updated(&slots, true);
        Ok(())
    }

    /// Takes note of the row that there is instead of the one at hand.
    fn updated(&mut self, row: &[Value], changed: bool) {
        let id = self.table.auto_increment.map_or(&Value::Null, |column| &row[column]);
        self.ids.updated(id, changed);
    }
}

/// The columns that differ, with their new values.
fn differing(before: &[Value], after: &[Value]) -> Vec<(usize, Value)> {
    let pairs = before.iter().zip(after).enumerate();
    pairs.filter(|(_, (before, after))| before != after).map(|(at, (_, after))| (at, after.clone())).collect()
}

/// Stores an assigned value; NULL where there may be none is error 1048, or a default if that is `lenient`.
pub(super) fn assign(
    value: Value,
    column: &ColumnDef,
    row: u64,
    ignore: bool,
    lenient: bool,
    run: &Run<'_>,
) -> Result<Value, SqlError> {
    let stored = store_column(value, column, row, ignore, run)?;
    if !stored.is_null() || column.nullable {
        return Ok(stored);
    }
    let error = SqlError::new(ER_BAD_NULL_ERROR, &[&column.name]);
    if !lenient {
        return Err(error);
    }
    run.statement.push_warning(error);
    Ok(column.column_type.implicit_default())
}
