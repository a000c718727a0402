//! What holds of a query that groups rows: which columns are the same for all rows of a group (ONLY_FULL_GROUP_BY),
//! and what WITH ROLLUP makes of its expressions.

use std::collections::HashMap;

use super::dependence::Decided;
use super::query::{Grouping, Relation, SortKey, WINDOW_SLOTS, Window, column_at};
use crate::error::{
    ER_FIELD_IN_GROUPING_NOT_GROUP_BY, ER_FIELD_IN_ORDER_NOT_SELECT, ER_INVALID_GROUP_FUNC_USE,
    ER_MIX_OF_GROUP_FUNC_AND_FIELDS, ER_WRONG_FIELD_WITH_GROUP, SqlError,
};
use crate::expr::{ArithmeticOp, CastType, CompareOp, Expr};
use crate::types::ResultType;
use crate::value::Value;

/// The expressions of a query that are evaluated once a group.
pub(super) struct PerGroup<'q> {
    pub(super) outputs: Vec<&'q mut Expr>,
    pub(super) having: Option<&'q mut Expr>,
    pub(super) sort: &'q mut [SortKey],
    pub(super) windows: &'q mut [Window],
}

impl PerGroup<'_> {
    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let own = self.outputs.iter_mut().map(|expr| &mut **expr).chain(self.having.as_deref_mut());
        let sort = self.sort.iter_mut().map(|key| &mut key.expr);
        own.chain(sort).chain(self.windows.iter_mut().flat_map(Window::exprs_mut))
    }

    /// Puts the places of window functions after `slots`, which are all that lie before them: those of a window together,
    /// after those of the windows that are below it.
    pub(super) fn place_windows(&mut self, slots: usize) {
        let functions = self.windows.iter().flat_map(|window| &window.functions);
        let places: HashMap<usize, usize> = functions.map(|(slot, _)| *slot).zip(slots..).collect();
        let place = |slot: usize| places[&slot];
        for expr in self.exprs_mut() {
            expr.walk_mut(&mut |part| {
                if let Expr::Column(column) = part
                    && column.slot >= WINDOW_SLOTS
                {
                    column.slot = place(column.slot);
                }
            });
        }
        let functions = self.windows.iter_mut().flat_map(|window| &mut window.functions);
        functions.for_each(|(slot, _)| *slot = place(*slot));
    }

    /// WITH ROLLUP, a key is what the operator says it is, and GROUPING() whether it stands for all values: 3602 of what
    /// is no key. Without, GROUPING() is error 1111.
    pub(super) fn roll_up(&mut self, grouping: Option<&Grouping>) -> Result<(), SqlError> {
        let grouping = grouping.filter(|grouping| grouping.rollup);
        let mut with = |part: &Expr| match (part, grouping) {
            (Expr::Call(call), None) if call.name() == "grouping" => Err(SqlError::new(ER_INVALID_GROUP_FUNC_USE, &[])),
            (Expr::Call(call), Some(grouping)) if call.name() == "grouping" => {
                grouping_bits(&call.args, grouping).map(Some)
            }
            (part, Some(grouping)) => {
                let key = grouping.keys.iter().position(|key| key == part);
                Ok(key.map(|key| key_expr(grouping, key, part.result_type(&[]))))
            }
            (_, None) => Ok(None),
        };
        self.exprs_mut().try_for_each(|expr| expr.replace(&mut with))
    }

    /// Whether what is selected, sorted by and windowed is the same for all rows of a group: 1055 or 1140 if not.
    pub(super) fn check(
        &self,
        relations: &[Relation],
        grouping: &Grouping,
        decided: &Decided<'_>,
    ) -> Result<(), SqlError> {
        let outputs = self.outputs.iter().enumerate().map(|(at, expr)| (at, &**expr, "SELECT list".to_owned()));
        let having = self.having.iter().map(|expr| (0, &**expr, "HAVING clause".to_owned()));
        let sort = self.sort.iter().enumerate().map(|(at, key)| (at, &key.expr, "ORDER BY".to_owned()));
        let windows = self.windows.iter().flat_map(|window| {
            let keys = window.keys.iter().enumerate();
            keys.map(|(at, key)| {
                (at, &key.expr, format!("PARTITION BY or ORDER BY clause of window '{}'", window.name))
            })
        });
        let code = if grouping.keys.is_empty() { ER_MIX_OF_GROUP_FUNC_AND_FIELDS } else { ER_WRONG_FIELD_WITH_GROUP };
        for (at, expr, clause) in outputs.chain(having).chain(sort).chain(windows) {
            let is_decided = |slot| slot >= grouping.first_slot || decided.has(slot);
            let mut parts = std::iter::once(expr).chain(self.windowed(expr));
            if let Some(slot) = parts.find_map(|part| undecided(part, &grouping.keys, &is_decided)) {
                return Err(SqlError::new(code, &[&(at + 1), &clause, &full_name(relations, slot)]));
            }
        }
        Ok(())
    }

    /// What the window functions are over that an expression reads.
    fn windowed<'e>(&'e self, expr: &Expr) -> impl Iterator<Item = &'e Expr> {
        let mut slots = Vec::new();
        expr.walk(&mut |part| {
            if let Expr::Column(column) = part {
                slots.push(column.slot);
            }
        });
        let functions = self.windows.iter().flat_map(|window| &window.functions);
        functions.filter(move |(slot, _)| slots.contains(slot)).flat_map(|(_, function)| function.exprs())
    }

    /// Whether what is sorted by is in the select list, which is DISTINCT: 3065 if not.
    pub(super) fn check_distinct(&self, relations: &[Relation]) -> Result<(), SqlError> {
        for (at, key) in self.sort.iter().enumerate() {
            let mut rest = key.expr.clone();
            let is_output = |part: &Expr| self.outputs.iter().any(|output| **output == *part);
            rest.replace(&mut |part| Ok(is_output(part).then_some(Expr::Literal(Value::Null))))?;
            if let Some(slot) = undecided(&rest, &[], &|slot| column_at(relations, slot).is_none()) {
                let name = full_name(relations, slot);
                return Err(SqlError::new(ER_FIELD_IN_ORDER_NOT_SELECT, &[&(at + 1), &name, &"DISTINCT"]));
            }
        }
        Ok(())
    }

    /// Which key of ORDER BY has an aggregate in it, where nothing else has.
    pub(super) fn first_aggregated_sort_key(&self, grouping: &Grouping) -> usize {
        let is_made = |expr: &Expr| {
            let mut found = false;
            let range = grouping.first_slot..grouping.first_slot + grouping.width();
            expr.walk(&mut |part| found |= matches!(part, Expr::Column(column) if range.contains(&column.slot)));
            found
        };
        self.sort.iter().position(|key| is_made(&key.expr)).unwrap_or(0)
    }
}

fn full_name(relations: &[Relation], slot: usize) -> String {
    column_at(relations, slot).map_or_else(String::new, |(relation, column)| {
        let column = relation.column_name(column);
        match relation.table() {
            Some(table) => format!("{}.{}.{column}", table.def.database, relation.known_as),
            None => format!("{}.{column}", relation.known_as),
        }
    })
}

/// The slot of a column that is read outside of keys, ANY_VALUE() and GROUPING() and not decided.
fn undecided(expr: &Expr, keys: &[Expr], is_decided: &dyn Fn(usize) -> bool) -> Option<usize> {
    let mut rest = expr.clone();
    let mut with = |part: &Expr| {
        let any = matches!(part, Expr::Call(call) if matches!(call.name(), "any_value" | "grouping"));
        Ok((any || keys.contains(part)).then_some(Expr::Literal(Value::Null)))
    };
    rest.replace(&mut with).ok()?;
    let mut found = None;
    rest.walk(&mut |part| {
        if let Expr::Column(column) = part
            && !is_decided(column.slot)
        {
            found.get_or_insert(column.slot);
        }
    });
    found
}

/// A key, WITH ROLLUP.
fn key_expr(grouping: &Grouping, key: usize, result_type: ResultType) -> Expr {
    Expr::column(grouping.key_slot(key), "", result_type.computed().nullable(true))
}

/// GROUPING(): a bit for each argument, that of the last one least.
fn grouping_bits(args: &[Expr], grouping: &Grouping) -> Result<Expr, SqlError> {
    let level = || Expr::column(grouping.level_slot(), "", ResultType::integer(21).nullable(false));
    let mut bits: Option<Expr> = None;
    for (at, arg) in args.iter().enumerate() {
        let key = grouping.keys.iter().position(|key| key == arg);
        let key = key.ok_or_else(|| SqlError::new(ER_FIELD_IN_GROUPING_NOT_GROUP_BY, &[&(at + 1)]))?;
        let bit = Expr::compare(CompareOp::LessOrEqual, level(), Expr::Literal(Value::Int(key as i64)))?;
        bits = Some(match bits {
            None => bit,
            Some(bits) => {
                let doubled = Expr::arithmetic(ArithmeticOp::Multiply, bits, Expr::Literal(Value::Int(2)))?;
                Expr::arithmetic(ArithmeticOp::Add, doubled, bit)?
            }
        });
    }
    bits.map(|bits| Expr::cast(bits, CastType::Signed)).ok_or_else(|| SqlError::internal("GROUPING of nothing"))
}
