//! Which columns have one value in all rows of a group: the keys decide them (ONLY_FULL_GROUP_BY).
//!
//! A whole unique key decides all columns of its relation, and an equality with what is decided decides a column. Those
//! after LEFT JOIN decide columns of what follows it where all that they read of the relations before is decided: whether
//! there is a partner is then the same for all rows.

use super::query::{Member, Nest, Query, Relation, relations_read, width};
use crate::catalog::definition::IndexKind;
use crate::expr::{CompareOp, Expr};

/// Columns of rows that are made which decide others: where two rows have the same in `by`, they have in `columns`.
#[derive(Clone, Debug)]
pub(super) struct Decides {
    by: Vec<usize>,
    columns: Vec<usize>,
}

/// Which columns of a query's result decide others.
pub(super) fn of_outputs(query: &Query) -> Vec<Decides> {
    let outputs = &query.outputs[..query.outputs.len() - query.hidden_outputs];
    let place = |expr: &Expr| outputs.iter().position(|output| output == expr);
    if let Some(grouping) = &query.grouping {
        let by: Option<Vec<usize>> = grouping.keys.iter().map(place).collect();
        let all = (0..outputs.len()).collect();
        return by.filter(|_| !grouping.rollup).map(|by| Decides { by, columns: all }).into_iter().collect();
    }
    let is_column = |at: &usize| matches!(outputs[*at], Expr::Column(_));
    let mut deciding: Vec<Vec<usize>> = (0..outputs.len()).filter(is_column).map(|at| vec![at]).collect();
    for relation in &query.relations {
        let indexes = relation.table().map_or(&[][..], |table| &table.indexes);
        for index in indexes.iter().filter(|index| index.is_unique() && index.columns.len() > 1) {
            deciding.extend(
                index.columns.iter().map(|column| place(&relation.column_expr(*column))).collect::<Option<_>>(),
            );
        }
    }
    let mut found: Vec<Decides> = deciding
        .into_iter()
        .map(|by| {
            let keys: Vec<Expr> = by.iter().map(|at| outputs[*at].clone()).collect();
            let decided = Decided::by(&keys, &query.relations, &query.from, query.filter.as_ref());
            let columns = (0..outputs.len()).filter(|at| decided.has_all(&outputs[*at])).collect();
            Decides { by, columns }
        })
        .collect();
    // What is computed from several of them.
    for (at, output) in outputs.iter().enumerate().filter(|(_, output)| !output.is_volatile()) {
        let mut by = Some(Vec::new());
        output.walk(&mut |part| {
            if let Expr::Column(_) = part {
                by = by.take().zip(place(part)).map(|(by, at)| [by, vec![at]].concat());
            }
        });
        found.extend(by.filter(|by| by.len() > 1).map(|by| Decides { by, columns: vec![at] }));
    }
    found
}

/// The columns that are decided, by their slots.
pub(super) struct Decided<'q> {
    relations: &'q [Relation],
    slots: Vec<bool>,
}

impl<'q> Decided<'q> {
    /// What these keys decide under the conditions of a query.
    pub(super) fn by(keys: &[Expr], relations: &'q [Relation], nest: &Nest, filter: Option<&Expr>) -> Decided<'q> {
        let mut decided = Decided { relations, slots: vec![false; width(relations)] };
        keys.iter().for_each(|key| {
            if let Expr::Column(column) = key
                && let Some(slot) = decided.slots.get_mut(column.slot)
            {
                *slot = true;
            }
        });
        while decided.by_keys()
            | decided.by_equality(filter.map_or(&[][..], std::slice::from_ref))
            | decided.in_nest(nest)
        {}
        decided
    }

    pub(super) fn has(&self, slot: usize) -> bool {
        self.slots.get(slot).copied().unwrap_or(false)
    }

    fn has_all(&self, expr: &Expr) -> bool {
        let mut all = !expr.is_volatile();
        expr.walk(&mut |part| {
            if let Expr::Column(column) = part {
                all &= self.has(column.slot);
            }
        });
        all
    }

    /// Adds the columns of relations of which a whole unique key is decided, or what a query within says; whether there were
    /// any.
    fn by_keys(&mut self) -> bool {
        let mut more = false;
        for relation in self.relations {
            for made in &relation.decides {
                if made.by.iter().all(|column| self.has(relation.first_slot + column)) {
                    for column in &made.columns {
                        more |= !std::mem::replace(&mut self.slots[relation.first_slot + column], true);
                    }
                }
            }
            let Some(table) = relation.table() else { continue };
            let is_decided = table.indexes.iter().any(|index| {
                let never_null = index.parts.iter().all(|part| !part.nullable);
                let has = |column: &usize| self.has(relation.first_slot + column);
                index.kind != IndexKind::Secondary && never_null && index.columns.iter().all(has)
            });
            let columns = relation.first_slot..relation.first_slot + relation.width();
            for slot in columns.filter(|_| is_decided) {
                more |= !std::mem::replace(&mut self.slots[slot], true);
            }
        }
        more
    }

    fn by_equality(&mut self, conditions: &[Expr]) -> bool {
        let mut more = false;
        for condition in conditions {
            match condition {
                Expr::And(parts) => more |= self.by_equality(parts),
                Expr::Compare(CompareOp::Equal, left, right, _) => {
                    more |= self.by_side(left, right) | self.by_side(right, left);
                }
                _ => {}
            }
        }
        more
    }

    fn by_side(&mut self, side: &Expr, other: &Expr) -> bool {
        let Expr::Column(column) = side else { return false };
        if self.has(column.slot) || !self.has_all(other) {
            return false;
        }
        self.slots.get_mut(column.slot).is_some_and(|slot| !std::mem::replace(slot, true))
    }

    fn in_nest(&mut self, nest: &Nest) -> bool {
        let mut more = self.by_equality(&nest.conditions);
        for member in &nest.members {
            let Member::Optional(optional) = member else { continue };
            let own = optional.relations();
            let is_outside = |expr: &Expr| !own.has_all(relations_read(self.relations, expr));
            let mut outside = true;
            for condition in &optional.conditions {
                condition.walk(&mut |part| {
                    outside &= !matches!(part, Expr::Column(column) if is_outside(part) && !self.has(column.slot));
                });
            }
            if outside {
                more |= self.in_nest(optional);
            }
        }
        more
    }
}
