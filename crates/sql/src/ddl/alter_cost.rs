//! What a change of a definition costs: whether rows and index entries can stay as they are.

use super::alter_plan::Kind;
use super::definition::Rules;
use crate::ast::AlterAlgorithm;
use crate::catalog::definition::{ColumnDef, DefaultValue, IndexDef, TableDef};
use crate::plan::bind::default_expr;
use crate::types::{Kind as TypeKind, SqlMode};
use crate::value::Value;

/// What has to be done at least, here and in MySQL.
pub(super) struct Work {
    pub(super) kind: Kind,
    pub(super) least: AlterAlgorithm,
    /// Why MySQL makes a copy.
    pub(super) reason: Option<&'static str>,
    /// Whether columns would change in the definition alone, had rows not as many versions as they may have.
    pub(super) versions_used_up: bool,
}

/// Rows may have so many former layouts, as in MySQL, where new columns at the end count too.
const LAYOUTS_MAX: usize = 64;

impl Work {
    /// Rows have to be copied; MySQL needs `least` for it.
    pub(super) fn rebuild(&mut self, least: AlterAlgorithm) {
        self.kind = Kind::Rebuild;
        if least == AlterAlgorithm::Copy || self.least != AlterAlgorithm::Copy {
            self.least = least;
        }
    }

    fn copy(&mut self, reason: Option<&'static str>) {
        self.rebuild(AlterAlgorithm::Copy);
        self.reason = self.reason.or(reason);
    }
}

/// What it costs to come from `old` to `new`, whose columns were at `sources`. Indexes of `new` that stay have their ids.
pub(super) fn cost(old: &TableDef, new: &TableDef, sources: &[Option<usize>], rules: &Rules) -> Work {
    let (kind, least) = (Kind::Metadata, AlterAlgorithm::Instant);
    let mut work = Work { kind, least, reason: None, versions_used_up: false };
    let gone = |column: &usize| !sources.contains(&Some(*column));
    let keys_stay = !(0..old.columns.len()).filter(gone).any(|column| is_indexed(old, column));
    if !sources.iter().flatten().is_sorted() || !keys_stay {
        work.rebuild(AlterAlgorithm::Inplace);
    } else if !only_appends(old, sources) && old.former.len() >= LAYOUTS_MAX {
        work.rebuild(AlterAlgorithm::Inplace);
        work.versions_used_up = true;
    }
    for (column, source) in new.columns.iter().zip(sources) {
        match source {
            Some(source) => changed_column(&old.columns[*source], column, is_indexed(old, *source), rules, &mut work),
            None if matches!(column.default, DefaultValue::Expression { .. }) => work.copy(None),
            None if column.auto_increment || constant(column, rules).is_none() => {
                work.rebuild(AlterAlgorithm::Inplace);
            }
            None => {}
        }
    }
    if !same_row_keys(old, new, sources) {
        match new.primary_key() {
            Some(_) => work.rebuild(AlterAlgorithm::Inplace),
            None => work.copy(Some("Dropping a primary key is not allowed without also adding a new primary key")),
        }
    }
    let kept = |index: &IndexDef| {
        let old = old.indexes.iter().find(|old| old.index_id == index.index_id);
        old.is_some_and(|old| same_parts(old, index, sources))
    };
    if work.kind == Kind::Metadata && !new.indexes.iter().all(kept) {
        (work.kind, work.least) = (Kind::BuildIndexes, AlterAlgorithm::Inplace);
    }
    work
}

/// Whether columns stay where they are, and new ones follow them.
pub(super) fn only_appends(old: &TableDef, sources: &[Option<usize>]) -> bool {
    let stay = (0..old.columns.len()).map(Some).chain(std::iter::repeat(None));
    sources.len() >= old.columns.len() && sources.iter().copied().eq(stay.take(sources.len()))
}

fn changed_column(old: &ColumnDef, new: &ColumnDef, indexed: bool, rules: &Rules, work: &mut Work) {
    if !new.column_type.reads_as(&old.column_type) {
        work.copy(Some("Cannot change column type INPLACE"));
    }
    if old.nullable && !new.nullable {
        match rules.sql_mode.is_strict() {
            true => work.rebuild(AlterAlgorithm::Inplace),
            false => work.copy(Some("cannot convert NULL values, as required in this SQL_MODE")),
        }
    }
    // The key of a column that may be NULL has one byte more.
    if !old.nullable && new.nullable && indexed {
        work.rebuild(AlterAlgorithm::Inplace);
    }
    // Zeros become numbers.
    if !old.auto_increment && new.auto_increment {
        work.copy(None);
    }
}

fn is_indexed(def: &TableDef, column: usize) -> bool {
    def.indexes.iter().any(|index| index.columns.iter().any(|part| part.column == column))
}

/// Whether two indexes cover the same columns.
fn same_parts(old: &IndexDef, new: &IndexDef, sources: &[Option<usize>]) -> bool {
    let former = new.columns.iter().map(|part| (sources[part.column], part.prefix));
    old.kind == new.kind && old.columns.iter().map(|part| (Some(part.column), part.prefix)).eq(former)
}

/// Whether each row has the same key under both definitions.
pub(super) fn same_row_keys(old: &TableDef, new: &TableDef, sources: &[Option<usize>]) -> bool {
    match (old.primary_key(), new.primary_key()) {
        (None, None) => true,
        (Some(from), Some(to)) => {
            let same_types = from.columns.iter().zip(&to.columns).all(|(from, to)| {
                let (from, to) = (&old.columns[from.column], &new.columns[to.column]);
                to.column_type.reads_as(&from.column_type) && from.nullable == to.nullable
            });
            same_types && same_parts(from, to, sources)
        }
        _ => false,
    }
}

/// Whether a new row can be made at any time from the former one alone: it has no number of its place among the others,
/// and no default that is another one each time.
pub(super) fn rows_depend_on_nothing_else(old: &TableDef, new: &TableDef, sources: &[Option<usize>]) -> bool {
    new.columns.iter().zip(sources).all(|(column, source)| match source {
        _ if column.auto_increment => source.is_some_and(|source| old.columns[source].auto_increment),
        Some(_) => true,
        None => match &column.default {
            DefaultValue::Expression { .. } => default_expr(column).is_ok_and(|expr| !expr.is_volatile()),
            _ => true,
        },
    })
}

/// What rows that are there already get in a new column, if it is the same for all of them.
pub(super) fn constant(column: &ColumnDef, rules: &Rules) -> Option<Value> {
    let is_date = matches!(column.column_type.kind(), TypeKind::Date | TypeKind::Timestamp);
    match &column.default {
        DefaultValue::Literal(value) => Some(value.clone()),
        // A zero date may be refused, if there is a row.
        DefaultValue::None if !column.nullable && is_date && rules.sql_mode.contains(SqlMode::NO_ZERO_DATE) => None,
        DefaultValue::None | DefaultValue::Dropped => Some(column.implicit_value()),
        DefaultValue::CurrentTimestamp | DefaultValue::Expression { .. } => None,
    }
}
