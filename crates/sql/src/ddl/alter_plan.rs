//! From the definition of a table and the clauses of an ALTER TABLE to its new definition, and to what has to be done
//! with its rows. Nothing here reads a row, or changes anything.
//!
//! Outline, in the order of MySQL, on which errors rest: columns that stay, with their changes; columns that move or are
//! added; names that meet nothing; indexes that stay, then new ones; what the whole must satisfy; [`Kind`]. Drops come
//! before everything else, wherever they are written.

use super::alter_cost::{self, Work};
use super::definition::{self, Rules};
use crate::ast::{AlterAction, AlterAlgorithm, AlterTable, ColumnPlace, ColumnSpec, Expr, IndexSpec, KeySpec};
use crate::catalog::definition::{
    ColumnDef, DefaultValue, FormerColumn, FormerLayout, IndexColumn, IndexDef, IndexKind, TableDef,
};
use crate::collation::Collation;
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_CANT_DROP_FIELD_OR_KEY, ER_CANT_REMOVE_ALL_FIELDS, ER_CONSTRAINT_NOT_FOUND,
    ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_KEY_DOES_NOT_EXITS, ER_WRONG_NAME_FOR_INDEX, SqlError,
};
use crate::types::{Kind as TypeKind, StoreContext};

/// What has to be done with the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: they are read under the new definition as they are.
    Metadata,
    /// New indexes are filled from them.
    BuildIndexes,
    /// They are copied.
    Rebuild,
}

/// What an ALTER TABLE comes to.
#[derive(Debug)]
pub(super) struct AlterPlan {
    /// The new definition, in its former place and under its former name. Indexes that have to be filled have the id 0; all
    /// do where rows are copied.
    pub(super) def: TableDef,
    pub(super) kind: Kind,
    /// For each new column the place that it had.
    pub(super) sources: Vec<Option<usize>>,
    /// Whether a row keeps its key.
    pub(super) keeps_row_keys: bool,
    /// Ids of indexes that are gone, where rows are not copied.
    pub(super) dropped: Vec<u32>,
    /// What MySQL needs at least. A copy counts rows.
    pub(super) least: AlterAlgorithm,
    /// Why nothing cheaper than a copy will do, as MySQL says it.
    pub(super) reason: Option<&'static str>,
    /// Whether rows are copied only because they are of too many versions.
    pub(super) versions_used_up: bool,
    /// Whether writers may go on while rows are read.
    pub(super) online: bool,
    /// ORDER BY: places of columns of the new definition, and whether they go down.
    pub(super) order: Vec<(usize, bool)>,
}

impl AlterPlan {
    /// Whether rows may get a part of a second of the statement's time, which replicas then need.
    pub(super) fn reads_fraction(&self) -> bool {
        let added = self.def.columns.iter().zip(&self.sources).filter(|(_, source)| source.is_none());
        added.map(|(column, _)| column).any(|column| match column.default {
            DefaultValue::CurrentTimestamp => column.column_type.facts().clock_digits.is_some_and(|digits| digits > 0),
            DefaultValue::Expression { .. } => true,
            DefaultValue::Literal(_) | DefaultValue::None | DefaultValue::Dropped => false,
        })
    }
}

/// A column of the new definition.
struct Draft {
    column: ColumnDef,
    /// Its place in the old definition.
    from: Option<usize>,
    /// Its place among the actions, if it is defined anew.
    action: Option<usize>,
}

/// An index that is there already.
struct Kept {
    spec: IndexSpec,
    id: u32,
}

/// What an ALTER TABLE makes of `old`. `engine` is the engine that it names, `database` the default collation of
/// the table's database.
pub(super) fn plan(
    old: &TableDef,
    alter: &AlterTable,
    engine: Option<&str>,
    database: Collation,
    rules: &Rules,
) -> Result<AlterPlan, SqlError> {
    let planning = Planning { old, actions: &needed(old, &alter.actions, rules), rules, collation: old.collation };
    planning.plan(alter, engine, database)
}

struct Planning<'a> {
    old: &'a TableDef,
    actions: &'a [&'a AlterAction],
    rules: &'a Rules,
    /// The default of columns.
    collation: Collation,
}

impl Planning<'_> {
    fn plan(mut self, alter: &AlterTable, engine: Option<&str>, database: Collation) -> Result<AlterPlan, SqlError> {
        let mut converted = None;
        for action in self.actions {
            match action {
                AlterAction::DefaultCollation(collation) => self.collation = *collation,
                AlterAction::ConvertTo(collation) => {
                    self.collation = collation.unwrap_or(database);
                    converted = Some(self.collation);
                }
                _ => {}
            }
        }
        let drafts = self.columns(converted)?;
        let kept = self.kept_indexes(&drafts)?;
        self.all_is_there()?;
        let mut def = TableDef {
            collation: self.collation,
            columns: drafts.iter().map(|draft| draft.column.clone()).collect(),
            indexes: Vec::new(),
            ..self.old.clone()
        };
        for (at, column) in def.columns.iter().enumerate() {
            if def.columns[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
                return Err(SqlError::new(ER_DUP_FIELDNAME, &[&column.name]));
            }
        }
        definition::check_columns(&def)?;
        self.indexes(&drafts, kept, &mut def)?;
        self.options(engine, &mut def);
        let order = self.order(&def)?;
        self.finish(alter, &drafts, def, order)
    }

    /// The columns of the new definition.
    fn columns(&self, converted: Option<Collation>) -> Result<Vec<Draft>, SqlError> {
        let mut drafts = Vec::new();
        let mut used = vec![false; self.actions.len()];
        for (from, old) in self.old.columns.iter().enumerate() {
            let named = |name: &String| name.eq_ignore_ascii_case(&old.name);
            if self.actions.iter().any(|action| matches!(action, AlterAction::DropColumn { name, .. } if named(name))) {
                continue;
            }
            let mut draft = Draft { column: old.clone(), from: Some(from), action: None };
            for (at, action) in self.actions.iter().enumerate().filter(|(at, _)| !used[*at]).collect::<Vec<_>>() {
                match action {
                    AlterAction::ChangeColumn { from, column, .. } if named(from) => {
                        draft.column = ColumnDef {
                            since_version: old.since_version,
                            before: old.before.clone(),
                            ..self.defined(column, converted)?
                        };
                        draft.action = Some(at);
                    }
                    AlterAction::RenameColumn { from, to } if named(from) => {
                        definition::check_column_name(to)?;
                        draft.column.name.clone_from(to);
                    }
                    AlterAction::SetDefault { column, default } if named(column) => {
                        draft.column.default = self.set_default(old, default.as_ref())?;
                    }
                    _ => continue,
                }
                // Another one of the same column meets nothing.
                used[at] = true;
                break;
            }
            if let (None, Some(collation)) = (draft.action, converted) {
                self.convert(&mut draft.column, collation)?;
            }
            drafts.push(draft);
        }
        for (at, action) in self.actions.iter().enumerate() {
            match action {
                AlterAction::AddColumn { column, place, .. } => {
                    let column = self.defined(column, converted)?;
                    let draft = Draft { column, from: None, action: Some(at) };
                    self.insert(draft, place.as_ref(), &mut drafts)?;
                }
                AlterAction::ChangeColumn { from, .. } if !used[at] => return Err(self.unknown_column(from)),
                AlterAction::ChangeColumn { place: Some(place), .. } => {
                    if let Some(moved) = drafts.iter().position(|draft| draft.action == Some(at)) {
                        let draft = drafts.remove(moved);
                        self.insert(draft, Some(place), &mut drafts)?;
                    }
                }
                _ => {}
            }
        }
        for (_, action) in self.actions.iter().enumerate().filter(|(at, _)| !used[*at]) {
            match action {
                AlterAction::RenameColumn { from: name, .. } | AlterAction::SetDefault { column: name, .. } => {
                    return Err(self.unknown_column(name));
                }
                _ => {}
            }
        }
        if drafts.is_empty() { Err(SqlError::new(ER_CANT_REMOVE_ALL_FIELDS, &[])) } else { Ok(drafts) }
    }

    /// A column as it is written. CONVERT TO CHARACTER SET decides beside it, as in MySQL.
    fn defined(&self, spec: &ColumnSpec, converted: Option<Collation>) -> Result<ColumnDef, SqlError> {
        let own_collation = spec.own_collation && converted.is_none();
        definition::column(&ColumnSpec { own_collation, ..spec.clone() }, self.collation, self.rules)
    }

    fn unknown_column(&self, name: &str) -> SqlError {
        SqlError::new(ER_BAD_FIELD_ERROR, &[&name, &self.old.name])
    }

    fn insert(&self, draft: Draft, place: Option<&ColumnPlace>, drafts: &mut Vec<Draft>) -> Result<(), SqlError> {
        let at = match place {
            None => drafts.len(),
            Some(ColumnPlace::First) => 0,
            Some(ColumnPlace::After(name)) => {
                let before = drafts.iter().position(|draft| draft.column.name.eq_ignore_ascii_case(name));
                before.ok_or_else(|| self.unknown_column(name))? + 1
            }
        };
        drafts.insert(at, draft);
        Ok(())
    }

    fn set_default(
        &self,
        column: &ColumnDef,
        default: Option<&(Expr, Option<String>)>,
    ) -> Result<DefaultValue, SqlError> {
        let Some((expr, text)) = default else {
            return Ok(if column.nullable { DefaultValue::Dropped } else { DefaultValue::None });
        };
        if column.auto_increment {
            return Err(SqlError::new(crate::error::ER_INVALID_DEFAULT, &[&column.name]));
        }
        let of = (&column.column_type, column.nullable);
        definition::default(&column.name, Some(expr), text.as_deref(), of, self.rules)
    }

    /// CONVERT TO CHARACTER SET, for one column.
    fn convert(&self, column: &mut ColumnDef, collation: Collation) -> Result<(), SqlError> {
        if !matches!(column.column_type.kind(), TypeKind::Characters(_) | TypeKind::Members(_)) {
            return Ok(());
        }
        column.column_type = column.column_type.converted(collation);
        column.column_type.check_length(&column.name)?;
        if let DefaultValue::Literal(value) = &column.default {
            let mut cx = StoreContext {
                column: &column.name,
                row: 1,
                sql_mode: self.rules.sql_mode,
                time_zone: self.rules.time_zone,
                now_us: self.rules.now_us,
                warnings: &mut |_, _| {},
            };
            column.default = DefaultValue::Literal(column.column_type.store(value.clone(), &mut cx)?);
        }
        Ok(())
    }

    /// Whether an index of the old definition is dropped.
    fn is_dropped(&self, index: &IndexDef) -> bool {
        self.actions.iter().any(|action| match action {
            AlterAction::DropIndex { name, .. } => name.eq_ignore_ascii_case(&index.name),
            AlterAction::DropConstraint { name, .. } => is_constraint(index, name),
            _ => false,
        })
    }

    /// The indexes that stay, with the columns that they are left with.
    fn kept_indexes(&self, drafts: &[Draft]) -> Result<Vec<Kept>, SqlError> {
        let mut kept = Vec::new();
        for index in self.old.indexes.iter().filter(|index| !self.is_dropped(index)) {
            let columns: Vec<_> = index.columns.iter().filter_map(|part| self.kept_part(part, drafts)).collect();
            if columns.is_empty() {
                continue;
            }
            let kind = match index.kind {
                IndexKind::Primary => KeySpec::Primary,
                IndexKind::Unique => KeySpec::Unique,
                IndexKind::Secondary => KeySpec::Plain,
            };
            let (name, comment) = (Some(index.name.clone()), index.comment.clone());
            let spec = IndexSpec { name, kind, columns, comment, if_not_exists: false };
            kept.push(Kept { spec, id: index.index_id });
        }
        for action in self.actions {
            let (AlterAction::RenameIndex { from, .. } | AlterAction::ShowIndex(from)) = action else { continue };
            let former = self.old.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(from));
            let found = kept.iter_mut().find(|kept| former.is_some_and(|former| former.index_id == kept.id));
            let found = found.ok_or_else(|| SqlError::new(ER_KEY_DOES_NOT_EXITS, &[from, &self.old.name]))?;
            if let AlterAction::RenameIndex { to, .. } = action {
                if let Some(wrong) = [from, to].into_iter().find(|name| name.eq_ignore_ascii_case("PRIMARY")) {
                    return Err(SqlError::new(ER_WRONG_NAME_FOR_INDEX, &[wrong]));
                }
                found.spec.name = Some(to.clone());
            }
        }
        Ok(kept)
    }

    /// A column of an index that stays, unless it is dropped. It covers the whole column where the type takes no prefix,
    /// or is no longer than that by now.
    fn kept_part(&self, part: &IndexColumn, drafts: &[Draft]) -> Option<(String, Option<u16>)> {
        let draft = drafts.iter().find(|draft| draft.from == Some(part.column))?;
        let (old, new) = (&self.old.columns[part.column].column_type, &draft.column.column_type);
        let prefix = part.prefix.filter(|prefix| {
            let facts = new.facts();
            let is_string = matches!(new.kind(), TypeKind::Characters(_) | TypeKind::Bytes);
            let length = if facts.is_lob { u64::MAX } else { facts.sizes.chars.unwrap_or(0) };
            is_string && (old == new || u64::from(*prefix) < length)
        });
        Some((draft.column.name.clone(), prefix))
    }

    /// What is dropped must be there.
    fn all_is_there(&self) -> Result<(), SqlError> {
        for action in self.actions {
            let (name, there) = match action {
                AlterAction::DropColumn { name, .. } => (name, self.old.column_index(name).is_some()),
                AlterAction::DropIndex { name, .. } => (name, has_index(self.old, name)),
                AlterAction::DropConstraint { name, .. } => {
                    if !self.old.indexes.iter().any(|index| is_constraint(index, name)) {
                        return Err(SqlError::new(ER_CONSTRAINT_NOT_FOUND, &[name]));
                    }
                    continue;
                }
                _ => continue,
            };
            let twice = |other: &&&AlterAction| match (other, action) {
                (AlterAction::DropColumn { name: a, .. }, AlterAction::DropColumn { name: b, .. })
                | (AlterAction::DropIndex { name: a, .. }, AlterAction::DropIndex { name: b, .. }) => {
                    a.eq_ignore_ascii_case(b)
                }
                _ => false,
            };
            if !there || self.actions.iter().filter(twice).count() > 1 {
                return Err(SqlError::new(ER_CANT_DROP_FIELD_OR_KEY, &[name]));
            }
        }
        Ok(())
    }

    /// Gives `def` its indexes: those that stay, then new ones.
    fn indexes(&self, drafts: &[Draft], kept: Vec<Kept>, def: &mut TableDef) -> Result<(), SqlError> {
        let explicit = |at: usize| self.spec_of(&drafts[at]).is_some_and(|spec| spec.nullable == Some(true));
        let added = self.actions.iter().flat_map(|action| match action {
            AlterAction::AddColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
                definition::column_keys(column)
            }
            AlterAction::AddIndex(index) => vec![index.clone()],
            _ => Vec::new(),
        });
        let kept = kept.into_iter().map(|kept| (kept.spec, kept.id));
        for (spec, id) in kept.chain(added.map(|spec| (spec, 0))) {
            if spec.kind == KeySpec::Primary {
                definition::primary_columns_are_not_null(&spec, &explicit, def)?;
            }
            let index = definition::index(&spec, def)?;
            def.indexes.push(IndexDef { index_id: id, ..index });
        }
        definition::sort_indexes(def);
        definition::check_auto_increment(def)
    }

    /// How this statement defines a column, if it does.
    fn spec_of(&self, draft: &Draft) -> Option<&ColumnSpec> {
        match self.actions[draft.action?] {
            AlterAction::AddColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => Some(column),
            _ => None,
        }
    }

    fn options(&self, engine: Option<&str>, def: &mut TableDef) {
        for action in self.actions {
            if let AlterAction::Comment(comment) = action {
                def.comment.clone_from(comment);
            }
        }
        if let Some(engine) = engine {
            engine.clone_into(&mut def.engine);
        }
    }

    fn order(&self, def: &TableDef) -> Result<Vec<(usize, bool)>, SqlError> {
        let mut order = Vec::new();
        for action in self.actions {
            let AlterAction::OrderBy(columns) = action else { continue };
            for column in columns {
                let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&column.name, &"order clause"]);
                order.push((def.column_index(&column.name).ok_or_else(unknown)?, column.descending));
            }
        }
        Ok(order)
    }

    /// Decides what has to be done, and gives ids and versions accordingly.
    fn finish(
        &self,
        alter: &AlterTable,
        drafts: &[Draft],
        mut def: TableDef,
        order: Vec<(usize, bool)>,
    ) -> Result<AlterPlan, SqlError> {
        let sources: Vec<Option<usize>> = drafts.iter().map(|draft| draft.from).collect();
        let keeps_row_keys = alter_cost::same_row_keys(self.old, &def, &sources);
        // A primary key that comes again as it was is the one that rows are under.
        if let Some(primary) =
            def.indexes.first_mut().filter(|index| keeps_row_keys && index.kind == IndexKind::Primary)
        {
            primary.index_id = self.old.row_index_id;
        }
        let mut work = alter_cost::cost(self.old, &def, &sources, self.rules);
        for action in self.actions {
            match action {
                AlterAction::Force | AlterAction::Engine(_) => {
                    work.rebuild(if def.engine == self.old.engine {
                        AlterAlgorithm::Inplace
                    } else {
                        AlterAlgorithm::Copy
                    });
                }
                AlterAction::OrderBy(_) => work.rebuild(AlterAlgorithm::Copy),
                _ => {}
            }
        }
        if alter.algorithm == AlterAlgorithm::Copy {
            work.rebuild(AlterAlgorithm::Copy);
        }
        let mut dropped = Vec::new();
        if work.kind == Kind::Rebuild {
            for index in &mut def.indexes {
                index.index_id = 0;
            }
            def.forget_earlier_rows();
        } else {
            let gone = |index: &&IndexDef| def.indexes.iter().all(|kept| kept.index_id != index.index_id);
            dropped.extend(self.old.indexes.iter().filter(gone).map(|index| index.index_id));
            if !alter_cost::only_appends(self.old, &sources) {
                def.schema_version += 1;
                def.former = former_layouts(self.old, &sources);
                def.columns.iter_mut().for_each(|column| column.since_version = def.schema_version);
            } else if sources.contains(&None) {
                def.schema_version += 1;
            }
            for (column, _) in def.columns.iter_mut().zip(&sources).filter(|(_, source)| source.is_none()) {
                column.since_version = def.schema_version;
                column.before = alter_cost::constant(column, self.rules);
            }
        }
        let Work { kind, least, reason, versions_used_up } = work;
        let has_keys = order.is_empty() && (keeps_row_keys || def.primary_key().is_some());
        let online = kind != Kind::Rebuild
            || alter.algorithm != AlterAlgorithm::Copy
                && has_keys
                && alter_cost::rows_depend_on_nothing_else(self.old, &def, &sources);
        Ok(AlterPlan { def, kind, sources, keeps_row_keys, dropped, least, reason, versions_used_up, online, order })
    }
}

/// How rows that are there lie under a definition whose columns were at `sources`.
fn former_layouts(old: &TableDef, sources: &[Option<usize>]) -> Vec<FormerLayout> {
    let place = |column: usize| sources.iter().position(|source| *source == Some(column));
    let mut layouts = old.former.clone();
    for column in layouts.iter_mut().flat_map(|layout| &mut layout.columns) {
        column.column = column.column.and_then(place);
    }
    let column = |(at, column): (usize, &ColumnDef)| FormerColumn {
        column_type: column.column_type.clone(),
        since_version: column.since_version,
        column: place(at),
    };
    let columns = old.columns.iter().enumerate().map(column).collect();
    layouts.push(FormerLayout { until_version: old.schema_version, columns });
    layouts
}

/// The actions without those whose IF EXISTS or IF NOT EXISTS leaves them nothing to do, which is noted.
fn needed<'a>(old: &TableDef, actions: &'a [AlterAction], rules: &Rules) -> Vec<&'a AlterAction> {
    let mut needed: Vec<&AlterAction> = Vec::new();
    for action in actions {
        let there = |name: &str| {
            let added = |known: &&AlterAction| matches!(known, AlterAction::AddColumn { column, .. } if column.name.eq_ignore_ascii_case(name));
            old.column_index(name).is_some() || needed.iter().any(added)
        };
        let note = match action {
            AlterAction::AddColumn { column, if_not_exists: true, .. } if there(&column.name) => {
                SqlError::new(ER_DUP_FIELDNAME, &[&column.name])
            }
            AlterAction::DropColumn { name, if_exists: true } if !there(name) => {
                SqlError::new(ER_CANT_DROP_FIELD_OR_KEY, &[name])
            }
            AlterAction::ChangeColumn { from, if_exists: true, .. } if !there(from) => {
                SqlError::new(ER_BAD_FIELD_ERROR, &[from, &old.name])
            }
            AlterAction::DropIndex { name, if_exists: true } if !has_index(old, name) => {
                SqlError::new(ER_CANT_DROP_FIELD_OR_KEY, &[name])
            }
            AlterAction::DropConstraint { name, if_exists: true }
                if !old.indexes.iter().any(|index| is_constraint(index, name)) =>
            {
                SqlError::new(ER_CONSTRAINT_NOT_FOUND, &[name])
            }
            AlterAction::AddIndex(IndexSpec { name: Some(name), if_not_exists: true, .. }) if has_index(old, name) => {
                SqlError::new(ER_DUP_KEYNAME, &[name])
            }
            AlterAction::AddIndex(IndexSpec { kind: KeySpec::Primary, if_not_exists: true, .. })
                if old.primary_key().is_some() =>
            {
                SqlError::new(crate::error::ER_MULTIPLE_PRI_KEY, &[])
            }
            _ => {
                needed.push(action);
                continue;
            }
        };
        rules.note(note);
    }
    needed
}

fn has_index(def: &TableDef, name: &str) -> bool {
    def.indexes.iter().any(|index| index.name.eq_ignore_ascii_case(name))
}

/// Whether DROP CONSTRAINT means an index by a name.
fn is_constraint(index: &IndexDef, name: &str) -> bool {
    index.kind != IndexKind::Secondary && index.name.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests;
