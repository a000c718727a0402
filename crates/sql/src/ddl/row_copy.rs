//! Writes the rows of a table anew, under another definition: their values are converted as an INSERT converts them.
//!
//! The rows of the former definition stay as they are. They are read once, in the order of their keys. Where a row keeps its
//! key they go to the engine as they come; otherwise they are sorted first, in files as far as memory does not do. Nothing
//! of this goes through the journal.

use std::mem::discriminant;

use super::DdlRun;
use super::alter_plan::AlterPlan;
use super::sorted_entries::{Entry, SortedEntries};
use super::source_rows::{Rows, too_much};
use crate::catalog::definition::{ColumnDef, DefaultValue};
use crate::catalog::table::Table;
use crate::codec::{RowOffsets, key};
use crate::collation::Collation;
use crate::error::{
    ER_BINLOG_UNSAFE_SYSTEM_FUNCTION, ER_DATA_TOO_LONG, ER_DUP_ENTRY_AUTOINCREMENT_CASE, ER_INVALID_USE_OF_NULL,
    ErrorCode, SqlError, WARN_DATA_TRUNCATED,
};
use crate::exec::context::Statement;
use crate::exec::failure::{read_failed, write_failed};
use crate::exec::{duplicate, duplicate_text, wants_auto_increment};
use crate::expr::{EvalContext, Expr, StatementContext as _};
use crate::plan::bind::default_expr;
use crate::types::temporal::{Timestamp, fraction_unit};
use crate::types::{ColumnType, SqlMode, StoreContext};
use crate::value::Value;

/// Where the value of a column comes from.
enum Source {
    /// A column of the former definition, as it is.
    Same(usize),
    /// One whose values are converted.
    Converted(usize),
    /// The same for all rows.
    Constant(Value),
    /// An expression.
    Default(Expr),
    /// The next AUTO_INCREMENT value.
    Next,
}

/// Whether a string is copied into a shorter one of its type, where MySQL says 1265 of what is too long.
fn is_cut(old: &ColumnDef, new: &ColumnDef) -> bool {
    let (old, new) = (&old.column_type, &new.column_type);
    let charset = |of: &ColumnType| of.collation().map(Collation::charset);
    discriminant(old) == discriminant(new) && !new.facts().is_lob && charset(old) == charset(new)
}

/// Loads entries until there are no more, or one could not be made.
fn load(
    new: &Table,
    run: &DdlRun<'_>,
    next: &mut dyn FnMut() -> Result<Option<Entry>, SqlError>,
) -> Result<(), SqlError> {
    let mut failed = None;
    let mut entries = std::iter::from_fn(|| match next() {
        Ok(entry) => entry,
        Err(error) => {
            failed = Some(error);
            None
        }
    })
    .fuse();
    let loaded = run.store.load(new.engine, &mut entries);
    match failed {
        Some(error) => Err(error),
        None => loaded.map_err(write_failed),
    }
}

/// Makes the rows of one table from those of another.
pub(super) struct Copying<'a> {
    old: &'a Table,
    new: &'a Table,
    plan: &'a AlterPlan,
    run: &'a DdlRun<'a>,
    statement: &'a Statement<'a>,
    sources: Vec<Source>,
    /// Rows so far.
    pub(super) rows: u64,
    /// The next AUTO_INCREMENT value, where zeros and new columns get one.
    next: Option<u64>,
    before: Vec<Value>,
    after: Vec<Value>,
    offsets: RowOffsets,
    /// Whether conversions are to warn.
    warns: bool,
}

impl<'a> Copying<'a> {
    pub(super) fn new(
        old: &'a Table,
        new: &'a Table,
        plan: &'a AlterPlan,
        run: &'a DdlRun<'a>,
        statement: &'a Statement<'a>,
    ) -> Result<Copying<'a>, SqlError> {
        let former = |column: usize| plan.sources[column].filter(|source| old.auto_increment == Some(*source));
        let made = new.auto_increment.filter(|column| former(*column).is_none());
        let mut copying = Copying {
            old,
            new,
            plan,
            run,
            statement,
            sources: Vec::new(),
            rows: 0,
            next: made.map(|_| run.session.auto_increment_offset.max(1)),
            before: vec![Value::Null; old.def.columns.len()],
            after: vec![Value::Null; new.def.columns.len()],
            offsets: RowOffsets::default(),
            warns: true,
        };
        for (column, source) in new.def.columns.iter().zip(&plan.sources) {
            let source = copying.source(column, *source)?;
            copying.sources.push(source);
        }
        Ok(copying)
    }

    /// The same, giving no number below `least` to rows that have none.
    pub(super) fn numbering_from(mut self, least: u64) -> Copying<'a> {
        let step = self.run.session.auto_increment_increment.max(1);
        self.next = self.next.map(|first| {
            let steps = least.saturating_sub(first).div_ceil(step);
            first.saturating_add(steps.saturating_mul(step))
        });
        self
    }

    fn source(&self, column: &ColumnDef, source: Option<usize>) -> Result<Source, SqlError> {
        let Some(source) = source else {
            return match &column.default {
                _ if column.auto_increment => Ok(Source::Next),
                DefaultValue::Literal(value) => Ok(Source::Constant(value.clone())),
                DefaultValue::CurrentTimestamp => self.now(column).map(Source::Constant),
                DefaultValue::Expression { .. } => {
                    let expr = default_expr(column)?;
                    // The binlog gets the statement: a replica would come to other values.
                    match expr.may_differ_on_replica() && self.run.session.log_to_binlog {
                        true => Err(SqlError::new(ER_BINLOG_UNSAFE_SYSTEM_FUNCTION, &[])),
                        false => Ok(Source::Default(expr)),
                    }
                }
                DefaultValue::None | DefaultValue::Dropped => Ok(Source::Constant(column.implicit_value())),
            };
        };
        let old = &self.old.def.columns[source];
        let same = old.column_type == column.column_type && (column.nullable || !old.nullable);
        Ok(if same { Source::Same(source) } else { Source::Converted(source) })
    }

    /// The statement's time in a column.
    fn now(&self, column: &ColumnDef) -> Result<Value, SqlError> {
        let fsp = column.column_type.facts().clock_digits.unwrap_or(0);
        let unit = fraction_unit(fsp);
        let micros = self.statement.now_us() / unit * unit;
        self.store(Value::Timestamp(Timestamp { micros, fsp }), column)
    }

    fn store(&self, value: Value, column: &ColumnDef) -> Result<Value, SqlError> {
        let statement = self.statement;
        let mut cx = StoreContext {
            column: &column.name,
            row: self.rows.max(1),
            sql_mode: self.run.session.sql_mode,
            time_zone: self.run.session.time_zone,
            now_us: statement.now_us(),
            warnings: &mut |loss, error| {
                if self.warns {
                    statement.push_loss(loss, error);
                }
            },
        };
        column.column_type.store(value, &mut cx)
    }

    /// Copies `rows`. What was written until an error is the caller's to erase.
    pub(super) fn copy(&mut self, rows: &mut Rows) -> Result<(), SqlError> {
        let (new, run, streamed) = (self.new, self.run, self.is_streamed());
        let mut scan = rows.scan(self.old)?;
        let mut next = || match scan.next().map_err(read_failed)? {
            Some(entry) => self.next_row(entry.key, entry.value, rows).map(Some),
            None => Ok(None),
        };
        if streamed {
            return load(new, run, &mut next);
        }
        let mut entries = SortedEntries::new(run.session);
        while let Some((key, value)) = next()? {
            entries.add(&key, &value)?;
        }
        drop(scan);
        let Some(mut sorted) = entries.end(new.primary.is_some())? else { return Ok(()) };
        if self.plan.order.is_empty() {
            run.store.load(new.engine, &mut sorted).map_err(write_failed)?;
        } else {
            // Their order becomes that of their hidden keys.
            let mut numbered = (&mut sorted).zip(1_u64..).map(|((_, value), number)| (self.hidden_key(number), value));
            run.store.load(new.engine, &mut numbered).map_err(write_failed)?;
        }
        match sorted.ended()? {
            Some((_, stored)) => Err(self.duplicate(&stored)),
            None => Ok(()),
        }
    }

    /// Whether rows come in the order of their new keys.
    fn is_streamed(&self) -> bool {
        self.plan.order.is_empty() && (self.plan.keeps_row_keys || self.new.primary.is_none())
    }

    /// The entry of the next row of a copy.
    fn next_row(&mut self, key: &[u8], stored: &[u8], rows: &Rows) -> Result<Entry, SqlError> {
        self.rows += 1;
        if self.rows.is_multiple_of(1024) {
            self.statement.check_killed()?;
            if rows.has_overflowed() {
                return Err(too_much(self.new, &[]));
            }
        }
        self.entry(key, stored, true)
    }

    /// The entry of a row, whose conversion is to warn if `warns`.
    pub(super) fn entry(&mut self, key: &[u8], stored: &[u8], warns: bool) -> Result<Entry, SqlError> {
        self.warns = warns;
        let mut before = std::mem::take(&mut self.before);
        let mut after = std::mem::take(&mut self.after);
        let made = self.values(stored, &mut before, &mut after).and_then(|()| {
            let mut value = Vec::with_capacity(stored.len() + 16);
            self.new.codec.encode(&after, &mut value)?;
            Ok((self.key(key, &after)?, value))
        });
        (self.before, self.after) = (before, after);
        made
    }

    fn values(&mut self, stored: &[u8], before: &mut [Value], after: &mut [Value]) -> Result<(), SqlError> {
        self.old.read_row(stored, &mut self.offsets, before)?;
        for (at, column) in self.new.def.columns.iter().enumerate() {
            after[at] = match &self.sources[at] {
                Source::Same(source) => before[*source].clone(),
                Source::Converted(source) => self.converted(before[*source].clone(), *source, column)?,
                Source::Constant(value) => {
                    self.check_zero_date(value, column)?;
                    value.clone()
                }
                Source::Default(expr) => {
                    self.run.session.memory.begin_evaluation();
                    let value = expr.eval(&[], &EvalContext::new(&[], self.statement))?;
                    let value = self.store(value, column)?;
                    self.not_null(value, column, WARN_DATA_TRUNCATED)?
                }
                Source::Next => Value::Null,
            };
            if self.next.is_some() && self.new.auto_increment == Some(at) {
                after[at] = self.numbered(&after[at], column)?;
            }
        }
        Ok(())
    }

    fn converted(&self, value: Value, source: usize, column: &ColumnDef) -> Result<Value, SqlError> {
        let old = &self.old.def.columns[source];
        if value.is_null() {
            // As in MySQL, by whether it copies.
            let inplace = column.column_type.reads_as(&old.column_type) && self.plan.reason.is_none();
            let code = if inplace { ER_INVALID_USE_OF_NULL } else { WARN_DATA_TRUNCATED };
            return self.not_null(value, column, code);
        }
        if column.column_type.reads_as(&old.column_type) && old.column_type.members().is_none() {
            return Ok(value);
        }
        self.store(value, column).map_err(|error| match error.is(ER_DATA_TOO_LONG) && is_cut(old, column) {
            true => SqlError::new(WARN_DATA_TRUNCATED, &[&column.name, &self.rows]),
            false => error,
        })
    }

    /// NULL is an error of a strict statement where the column must not be NULL; another one is warned.
    fn not_null(&self, value: Value, column: &ColumnDef, code: ErrorCode) -> Result<Value, SqlError> {
        if !value.is_null() || column.nullable || column.auto_increment && self.next.is_some() {
            return Ok(value);
        }
        if self.run.session.sql_mode.is_strict() {
            return Err(match code {
                ER_INVALID_USE_OF_NULL => SqlError::new(ER_INVALID_USE_OF_NULL, &[]),
                code => SqlError::new(code, &[&column.name, &self.rows]),
            });
        }
        if self.warns {
            self.statement.push_warning(SqlError::new(WARN_DATA_TRUNCATED, &[&column.name, &self.rows]));
        }
        Ok(column.column_type.implicit_default())
    }

    /// The zero date of a new column that has no default is one that a statement could not store.
    fn check_zero_date(&self, value: &Value, column: &ColumnDef) -> Result<(), SqlError> {
        let sql_mode = self.run.session.sql_mode;
        let implied = matches!(column.default, DefaultValue::None | DefaultValue::Dropped);
        if !implied || column.nullable || !value.is_temporal() || !sql_mode.contains(SqlMode::NO_ZERO_DATE) {
            return Ok(());
        }
        self.store(Value::text(value.to_string()), column).map(drop)
    }

    /// The value of an AUTO_INCREMENT column that was none: zeros get the next number.
    fn numbered(&mut self, value: &Value, column: &ColumnDef) -> Result<Value, SqlError> {
        let next = self.next.unwrap_or(1);
        let step = self.run.session.auto_increment_increment.max(1);
        if !wants_auto_increment(value, self.run.session.sql_mode) {
            let given = match value {
                Value::Int(given) => u64::try_from(*given).unwrap_or(0),
                Value::UInt(given) => *given,
                Value::Float(given) => given.max(0.0) as u64,
                Value::Double(given) => given.max(0.0) as u64,
                _ => 0,
            };
            if next <= given {
                let above = (given - next) / step + 1;
                self.next = Some(next.saturating_add(above.saturating_mul(step)));
            }
            return Ok(value.clone());
        }
        self.next = Some(next.saturating_add(step));
        self.store(Value::UInt(next), column)
    }

    fn key(&self, key: &[u8], row: &[Value]) -> Result<Vec<u8>, SqlError> {
        if !self.plan.order.is_empty() {
            return self.order_key(row);
        }
        if self.plan.keeps_row_keys {
            return Ok([&self.new.row_prefix()[..], key.get(4..).unwrap_or_default()].concat());
        }
        if self.new.primary.is_none() {
            return Ok(self.hidden_key(self.rows));
        }
        let mut key = Vec::with_capacity(32);
        self.new.primary_key(row, &mut key)?;
        Ok(key)
    }

    fn hidden_key(&self, number: u64) -> Vec<u8> {
        [&self.new.row_prefix()[..], &number.to_be_bytes()].concat()
    }

    /// Bytes in the order that ORDER BY asks for, rows that are equal in it by their places.
    fn order_key(&self, row: &[Value]) -> Result<Vec<u8>, SqlError> {
        let mut sort = Vec::with_capacity(32);
        for (column, descending) in &self.plan.order {
            let def = &self.new.def.columns[*column];
            let part = crate::codec::KeyPart { column_type: def.column_type.clone(), nullable: true, prefix: None };
            let from = sort.len();
            key::encode(&part, &row[*column], &mut sort)?;
            if *descending {
                sort[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        sort.extend_from_slice(&self.rows.to_be_bytes());
        Ok(sort)
    }

    /// The error of a row that has the key of another one.
    pub(super) fn duplicate(&mut self, stored: &[u8]) -> SqlError {
        let mut row = vec![Value::Null; self.new.def.columns.len()];
        if let Err(error) = self.new.read_row(stored, &mut self.offsets, &mut row) {
            return error;
        }
        let Some(primary) = self.new.primary else { return SqlError::internal("hidden keys are equal") };
        let zone = self.run.session.time_zone;
        let numbered =
            self.next.is_some() && self.new.indexes[primary].columns.first() == self.new.auto_increment.as_ref();
        if !numbered {
            return duplicate(self.new, primary, &row, zone);
        }
        let (text, _) = duplicate_text(self.new, primary, &row, zone);
        SqlError::new(ER_DUP_ENTRY_AUTOINCREMENT_CASE, &[&text, &self.new.def.indexes[primary].name])
    }
}
