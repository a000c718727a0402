//! Plans UPDATE and DELETE of rows that a join finds: of several tables, or of one among others.

use super::bind::{Around, Scope, written};
use super::change::{assignment, columns_before, touched_columns};
use super::from::{self, From, Purpose};
use super::query::{Query, Relation, Target};
use super::{Collected, JoinedDelete, JoinedUpdate, PlanContext, UpdateTarget, finish, hints};
use crate::ast::{ColumnName, Delete, Expr, Join, JoinCondition, TableExpr, TableName, Update};
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_MULTI_UPDATE_KEY_CONFLICT, ER_NON_UPDATABLE_TABLE, ER_NONUNIQ_TABLE, ER_UNKNOWN_TABLE,
    SqlError,
};
use crate::privilege::Privilege;

/// How the tables of FROM are used.
fn purpose(of_update: bool) -> Purpose<'static> {
    Purpose { locking: &[], straight: false, of_update }
}

/// The query that finds the rows; what it reads is needed.
fn query(
    from: From,
    filter: Option<&Expr>,
    targets: Vec<Target>,
    assigned: Vec<crate::expr::Expr>,
    cx: &PlanContext<'_>,
) -> Result<Query, SqlError> {
    let ids = changed_ids(&from, targets.iter().map(|target| target.relation));
    let within = PlanContext { changed: &ids, ..*cx };
    let mut scope = scope(&from, "where clause", &within);
    let filter = filter.map(|filter| scope.bind_filter(filter)).transpose()?;
    let From { relations, nest, .. } = from;
    let query = Query { relations, from: nest, filter, targets, assigned, ..Query::default() };
    cx.needs_reads(&query);
    Ok(query)
}

fn scope<'a>(from: &'a From, clause: &'static str, cx: &'a PlanContext<'a>) -> Scope<'a> {
    let mut scope = Scope::new(&from.relations, clause).within(Around { cx: Some(cx), names: None });
    scope.visible = from.visible.as_deref();
    scope
}

fn changed_ids(from: &From, relations: impl Iterator<Item = usize>) -> Vec<u64> {
    relations.filter_map(|at| from.relations[at].table()).map(|table| table.def.id).collect()
}

/// 1093 for a query in ON that reads a table which is changed. Which those are is known only once FROM is resolved, which
/// is done again for this.
fn check_conditions(
    tables: &[TableExpr],
    purpose: Purpose<'_>,
    ids: &[u64],
    cx: &PlanContext<'_>,
) -> Result<(), SqlError> {
    if !tables.iter().any(has_queries) {
        return Ok(());
    }
    let forgotten = Collected::default();
    let cx = PlanContext { collected: &forgotten, ..*cx };
    let within = PlanContext { changed: ids, ..cx };
    from::resolve(tables, purpose, &cx, Around { cx: Some(&within), names: None }).map(drop)
}

/// Whether there is a query in ON.
fn has_queries(table: &TableExpr) -> bool {
    match table {
        TableExpr::Table(_) | TableExpr::Derived(_) | TableExpr::JsonTable(_) => false,
        TableExpr::List(tables) => tables.iter().any(has_queries),
        TableExpr::Joined { first, joins } => {
            let in_join = |join: &Join| {
                matches!(&join.condition, JoinCondition::On(condition) if condition.has_queries())
                    || has_queries(&join.table)
            };
            has_queries(first) || joins.iter().any(in_join)
        }
    }
}

pub(super) fn update(update: &Update, cx: &PlanContext<'_>) -> Result<JoinedUpdate, SqlError> {
    let mut from = from::resolve(&update.tables, purpose(true), cx, Around { cx: Some(cx), names: None })?;
    hints::obey(&update.block, &mut from.relations, &from.nest, cx);
    let names = scope(&from, "field list", cx);
    let places = update.assignments.iter().map(|(name, _)| assigned(name, &names, &from));
    let places = places.collect::<Result<Vec<(usize, usize)>, SqlError>>()?;
    let ids = changed_ids(&from, places.iter().map(|(relation, _)| *relation));
    check_conditions(&update.tables, purpose(true), &ids, cx)?;
    let within = PlanContext { changed: &ids, ..*cx };
    let mut values = scope(&from, "field list", &within);
    let mut targets: Vec<(usize, UpdateTarget)> = Vec::new();
    for ((at, column), (_, value)) in places.into_iter().zip(&update.assignments) {
        let relation = &from.relations[at];
        let Some(table) = relation.table() else {
            return Err(SqlError::new(ER_NON_UPDATABLE_TABLE, &[&relation.known_as, &"UPDATE"]));
        };
        let known = targets.iter().position(|(known, _)| *known == at);
        let place = known.unwrap_or(targets.len());
        if known.is_none() {
            cx.changes(table, &relation.known_as, Privilege::Update)?;
            targets.push((at, target(relation.first_slot, table.clone(), &ids)));
        }
        let value = assignment(table, column, value, &mut values)?;
        targets[place].1.assignments.push((column, value));
    }
    check_keys(&targets, &from.relations)?;
    for (_, target) in &mut targets {
        let mut changed: Vec<usize> = target.assignments.iter().map(|(column, _)| *column).collect();
        cx.needs_columns(&target.table, Privilege::Update, changed.iter().copied());
        target.touched = touched_columns(&target.table, &changed);
        changed.extend(&target.touched);
        target.before = columns_before(&target.table, &changed);
    }
    let assigned: Vec<crate::expr::Expr> =
        targets.iter().flat_map(|(_, target)| target.assignments.iter().map(|(_, value)| value.clone())).collect();
    let places = targets.iter().map(|(relation, target)| Target { relation: *relation, wanted: target.before.clone() });
    let query = query(from, update.filter.as_ref(), places.collect(), assigned, cx)?;
    let targets = targets.into_iter().map(|(_, target)| target).collect();
    Ok(JoinedUpdate { ignore: update.ignore, rows: finish(query, cx)?, targets })
}

fn target(first_slot: usize, table: std::sync::Arc<crate::catalog::table::Table>, ids: &[u64]) -> UpdateTarget {
    let has_twin = ids.iter().filter(|id| **id == table.def.id).count() > 1;
    let (assignments, touched, before) = Default::default();
    UpdateTarget { table, first_slot, assignments, touched, before, has_twin }
}

/// The relation and column that is assigned; 1054, 1052.
fn assigned(name: &ColumnName, scope: &Scope<'_>, from: &From) -> Result<(usize, usize), SqlError> {
    let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&written(name), &"field list"]);
    let (relation, column) = scope.find(name)?.ok_or_else(unknown)?;
    let is_it = |known: &Relation| known.first_slot == relation.first_slot;
    Ok((from.relations.iter().position(is_it).ok_or_else(unknown)?, column))
}

/// Error 1706 if a table is changed under two names and a column of its primary key is: one change would move the row
/// away from the other.
fn check_keys(targets: &[(usize, UpdateTarget)], relations: &[Relation]) -> Result<(), SqlError> {
    for (at, (of, target)) in targets.iter().enumerate() {
        let twin = targets[..at].iter().find(|(_, other)| other.table.def.id == target.table.def.id);
        let Some((of_twin, twin)) = twin else { continue };
        let is_key = |column: &usize| {
            target.table.primary.is_some_and(|primary| target.table.indexes[primary].columns.contains(column))
        };
        if target.assignments.iter().chain(&twin.assignments).any(|(column, _)| is_key(column)) {
            let name = |of: &usize| relations[*of].known_as.as_str();
            return Err(SqlError::new(ER_MULTI_UPDATE_KEY_CONFLICT, &[&name(of_twin), &name(of)]));
        }
    }
    Ok(())
}

pub(super) fn delete(delete: &Delete, cx: &PlanContext<'_>) -> Result<JoinedDelete, SqlError> {
    let mut from = from::resolve(&delete.tables, purpose(false), cx, Around { cx: Some(cx), names: None })?;
    hints::obey(&delete.block, &mut from.relations, &from.nest, cx);
    let (mut targets, mut tables): (Vec<Target>, _) = (Vec::new(), Vec::new());
    if let ([], Some(only)) = (delete.targets.as_slice(), from.relations.first()) {
        return Err(SqlError::new(ER_NON_UPDATABLE_TABLE, &[&only.known_as, &"DELETE"]));
    }
    for name in &delete.targets {
        let at = from.relations.iter().position(|relation| is_named(relation, name, cx));
        let at = at.ok_or_else(|| SqlError::new(ER_UNKNOWN_TABLE, &[&name.table, &"MULTI DELETE"]))?;
        let relation = &from.relations[at];
        let Some(table) = relation.table() else {
            return Err(SqlError::new(ER_NON_UPDATABLE_TABLE, &[&relation.known_as, &"DELETE"]));
        };
        if targets.iter().any(|target| target.relation == at) {
            return Err(SqlError::new(ER_NONUNIQ_TABLE, &[&name.table]));
        }
        cx.changes(table, &relation.known_as, Privilege::Delete)?;
        // Index entries are removed by their keys, which any column may be part of: the stored form has them.
        targets.push(Target { relation: at, wanted: Vec::new() });
        tables.push(table.clone());
    }
    let ids = changed_ids(&from, targets.iter().map(|target| target.relation));
    check_conditions(&delete.tables, purpose(false), &ids, cx)?;
    let query = query(from, delete.filter.as_ref(), targets, Vec::new(), cx)?;
    Ok(JoinedDelete { ignore: delete.ignore, rows: finish(query, cx)?, tables })
}

fn is_named(relation: &Relation, name: &TableName, cx: &PlanContext<'_>) -> bool {
    if relation.known_as != name.table {
        return false;
    }
    match (&name.database, relation.database()) {
        (Some(database), Some(of)) => database == of,
        (Some(database), None) => Some(database.as_str()) == cx.database,
        (None, _) => true,
    }
}
