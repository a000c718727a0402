//! Binds the names of an expression to places of the row.

use std::sync::Arc;

use super::query::{Relation, column_expr, width};
use crate::ast;
use crate::catalog::definition::{ColumnDef, DefaultValue};
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_DEFAULT_AS_VAL_GENERATED, ER_INVALID_GROUP_FUNC_USE, ER_NO_DEFAULT_FOR_FIELD,
    ER_NON_UNIQ_ERROR, SqlError,
};
use crate::expr::aggregate::Aggregate;
use crate::expr::{ArithmeticOp, CastType, CompareOp, Expr, Function, UnaryOp};
use crate::parse;
use crate::types::temporal::Date;
use crate::types::{Family, FieldKind, SqlMode};
use crate::value::Value;

/// The names that expressions of one statement may use.
pub(crate) struct Scope<'a> {
    /// What columns are of.
    relations: &'a [Relation],
    /// Where the new row of an INSERT lies, for VALUES(c).
    pub(crate) new_row: Option<usize>,
    /// `AS new(a, b)` of an INSERT: its name and its columns' names, by column.
    pub(crate) row_alias: Option<(&'a str, Vec<&'a str>)>,
    /// Items of the select list that ORDER BY, GROUP BY and HAVING may name.
    pub(crate) aliases: Vec<(&'a str, Expr)>,
    /// Whether those come before columns.
    pub(crate) aliases_first: bool,
    /// In HAVING, outside of aggregates: the group keys, which are seen beside the select list.
    pub(crate) having: Option<&'a [Expr]>,
    /// Aggregates are allowed and collected here.
    pub(crate) aggregates: Option<&'a mut Vec<Aggregate>>,
    /// NO_UNSIGNED_SUBTRACTION: differences of unsigned integers are signed.
    pub(crate) signed_difference: bool,
    /// The clause, for messages.
    pub(crate) clause: &'static str,
}

impl<'a> Scope<'a> {
    /// A scope over these relations; over none, for constants.
    pub(crate) fn new(relations: &'a [Relation], clause: &'static str) -> Scope<'a> {
        Scope {
            relations,
            new_row: None,
            row_alias: None,
            aliases: Vec::new(),
            aliases_first: false,
            having: None,
            aggregates: None,
            signed_difference: false,
            clause,
        }
    }

    /// The relation's column of this name; 1052 if several have one.
    pub(crate) fn find(&self, name: &ast::ColumnName) -> Result<Option<(&'a Relation, usize)>, SqlError> {
        let mut found = self.relations.iter().filter_map(|relation| {
            let is_meant = match (&name.database, &name.table) {
                (_, None) => true,
                (None, Some(qualifier)) => *qualifier == relation.known_as,
                (Some(database), Some(qualifier)) => {
                    *database == relation.table.def.database && *qualifier == relation.known_as
                }
            };
            let column = relation.table.def.column_index(&name.column).filter(|_| is_meant)?;
            Some((relation, column))
        });
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(SqlError::new(ER_NON_UNIQ_ERROR, &[&written(name), &self.clause])),
            (found, _) => Ok(found),
        }
    }

    fn column(&self, name: &ast::ColumnName) -> Result<Expr, SqlError> {
        let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&written(name), &self.clause]);
        if let Some(keys) = self.having {
            return self.having_column(name, keys)?.ok_or_else(unknown);
        }
        if self.aliases_first
            && let Some(aliased) = self.alias(name)?
        {
            return Ok(aliased);
        }
        if let Some((relation, column)) = self.find(name)? {
            return Ok(relation.column_expr(column));
        }
        if let Some(column) = self.new_row_column(name) {
            return Ok(column);
        }
        self.alias(name)?.ok_or_else(unknown)
    }

    /// What a name of HAVING means: a group key, an item of the select list, or a column that is one of these.
    fn having_column(&self, name: &ast::ColumnName, keys: &[Expr]) -> Result<Option<Expr>, SqlError> {
        let item = self.alias(name)?;
        let column = self.find(name)?.map(|(relation, column)| relation.column_expr(column));
        let is_key = |column: &Expr| keys.contains(column);
        let is_item = |column: &Expr| self.aliases.iter().any(|(_, item)| item == column);
        Ok(match (column, item) {
            (Some(column), _) if is_key(&column) => Some(column),
            (_, Some(item)) => Some(item),
            (column, None) => column.filter(is_item),
        })
    }

    /// The item of the select list with this name: the first that is computed, else the column; 1052 if it is the name of
    /// several columns before that.
    fn alias(&self, name: &ast::ColumnName) -> Result<Option<Expr>, SqlError> {
        if name.table.is_some() {
            return Ok(None);
        }
        let mut found: Option<&Expr> = None;
        for (_, item) in self.aliases.iter().filter(|(alias, _)| alias.eq_ignore_ascii_case(&name.column)) {
            if !self.is_of_relation(item) {
                return Ok(Some(item.clone()));
            }
            if found.is_some_and(|found| found != item) {
                return Err(SqlError::new(ER_NON_UNIQ_ERROR, &[&written(name), &self.clause]));
            }
            found = Some(item);
        }
        Ok(found.cloned())
    }

    /// Whether it is a column of a relation and nothing more.
    fn is_of_relation(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Column(column) if column.slot < width(self.relations))
    }

    /// A column of the new row by its row alias.
    fn new_row_column(&self, name: &ast::ColumnName) -> Option<Expr> {
        let (alias, columns) = self.row_alias.as_ref()?;
        if name.table.as_ref().is_some_and(|table| table != alias) {
            return None;
        }
        let relation = self.relations.first()?;
        let column = columns.iter().position(|column| column.eq_ignore_ascii_case(&name.column))?;
        Some(column_expr(&relation.table.def.columns[column], self.new_row? + column))
    }

    /// Binds an expression.
    pub(crate) fn bind(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        Ok(match expr {
            ast::Expr::Literal(value) => Expr::Literal(value.clone()),
            ast::Expr::Param(param) => Expr::Param(*param),
            ast::Expr::Column(name) => self.column(name)?,
            ast::Expr::Unary(UnaryOp::Negate, operand) => Expr::negate(self.bind(operand)?)?,
            ast::Expr::Unary(UnaryOp::BitNot, operand) => Expr::Unary(UnaryOp::BitNot, Box::new(self.bind(operand)?)),
            ast::Expr::Arithmetic(op, left, right) => {
                let bound = Expr::arithmetic(*op, self.bind(left)?, self.bind(right)?)?;
                let of = bound.result_type(&[]);
                if self.signed_difference
                    && *op == ArithmeticOp::Subtract
                    && of.unsigned
                    && of.family() == Family::Integer
                {
                    // The value is one already; this is its type.
                    Expr::Cast(Box::new(bound), CastType::Signed)
                } else {
                    bound
                }
            }
            ast::Expr::Compare(op, left, right) => Expr::compare(*op, self.bind(left)?, self.bind(right)?)?,
            ast::Expr::And(parts) => Expr::And(self.bind_all(parts)?),
            ast::Expr::Or(parts) => Expr::Or(self.bind_all(parts)?),
            ast::Expr::Xor(left, right) => Expr::Xor(Box::new(self.bind(left)?), Box::new(self.bind(right)?)),
            ast::Expr::Not(operand) => Expr::Not(Box::new(self.bind(operand)?)),
            ast::Expr::Between { operand, low, high, negated } => {
                Expr::between(self.bind(operand)?, self.bind(low)?, self.bind(high)?, *negated)?
            }
            ast::Expr::In { operand, list, negated } => {
                Expr::in_list(self.bind(operand)?, self.bind_all(list)?, *negated)?
            }
            ast::Expr::Like { operand, pattern, escape, negated } => {
                Expr::like(self.bind(operand)?, self.bind(pattern)?, *escape, *negated)?
            }
            ast::Expr::IsNull { operand, negated } => {
                Expr::IsNull { operand: Box::new(self.bind(operand)?), negated: *negated }
            }
            ast::Expr::IsTruth { operand, truth, negated } => {
                Expr::IsTruth { operand: Box::new(self.bind(operand)?), truth: *truth, negated: *negated }
            }
            ast::Expr::Case { operand, branches, otherwise } => {
                let operand = operand.as_ref().map(|operand| self.bind(operand)).transpose()?;
                let branches = branches
                    .iter()
                    .map(|(when, then)| Ok((self.bind(when)?, self.bind(then)?)))
                    .collect::<Result<_, SqlError>>()?;
                let otherwise = otherwise.as_ref().map(|otherwise| self.bind(otherwise)).transpose()?;
                Expr::case(operand, branches, otherwise)?
            }
            ast::Expr::Cast(operand, target) => Expr::cast(self.bind(operand)?, *target),
            ast::Expr::Collate(operand, collation) => Expr::collate(self.bind(operand)?, *collation)?,
            ast::Expr::Call { name, args, distinct } => self.call(name, args, *distinct)?,
            ast::Expr::DateAdd { date, amount, unit, negated } => Expr::DateAdd {
                date: Box::new(self.bind(date)?),
                amount: Box::new(self.bind(amount)?),
                unit: *unit,
                negated: *negated,
            },
            ast::Expr::Extract(unit, date) => Expr::extract(*unit, self.bind(date)?),
            ast::Expr::TimestampDiff(unit, from, to) => Expr::timestamp_diff(*unit, self.bind(from)?, self.bind(to)?),
            ast::Expr::UserVariable(name, kind) => Expr::UserVariable(Arc::from(name.as_str()), *kind),
            ast::Expr::AssignUserVariable(name, value) => {
                Expr::AssignUserVariable(Arc::from(name.as_str()), Box::new(self.bind(value)?))
            }
            ast::Expr::SystemVariable(scope, name, kind) => {
                Expr::SystemVariable(*scope, Arc::from(name.as_str()), *kind)
            }
            ast::Expr::JsonPath { column, path, unquote } => {
                let column = self.bind(&ast::Expr::Column((**column).clone()))?;
                let found = Expr::call("json_extract", vec![column, self.bind(path)?])?;
                if *unquote { Expr::call("json_unquote", vec![found])? } else { found }
            }
            ast::Expr::Values(name) => self.values(name)?,
            ast::Expr::Default(name) => self.default(name.as_ref())?,
            ast::Expr::Row(_)
            | ast::Expr::Subquery(_)
            | ast::Expr::Exists(_)
            | ast::Expr::InQuery { .. }
            | ast::Expr::Quantified { .. }
            | ast::Expr::MemberOf(..)
            | ast::Expr::CastTo(..)
            | ast::Expr::Match(_)
            | ast::Expr::GroupConcat(_)
            | ast::Expr::Window(_) => return Err(super::unsupported::expression(expr)),
        })
    }

    /// Binds the condition of WHERE, where MySQL takes a zero date for NULL.
    pub(crate) fn bind_filter(&mut self, filter: &ast::Expr) -> Result<Expr, SqlError> {
        let mut bound = self.bind(filter)?;
        find_zero_dates(&mut bound, false)?;
        Ok(bound)
    }

    fn bind_all(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>, SqlError> {
        exprs.iter().map(|expr| self.bind(expr)).collect()
    }

    fn call(&mut self, name: &str, args: &[ast::Expr], distinct: bool) -> Result<Expr, SqlError> {
        let Some(function) = Function::named(name).filter(|function| function.is_aggregate()) else {
            if distinct {
                return Err(SqlError::unsupported(format_args!("DISTINCT inside of {name}()")));
            }
            return Expr::call(name, self.bind_all(args)?);
        };
        // An aggregate of an aggregate has no meaning.
        let collected = self.aggregates.take().ok_or_else(|| SqlError::new(ER_INVALID_GROUP_FUNC_USE, &[]))?;
        // What it is made of is read before rows are grouped.
        let (having, aliases_first) = (self.having.take(), std::mem::take(&mut self.aliases_first));
        let args = self.bind_all(args);
        (self.having, self.aliases_first) = (having, aliases_first);
        let first_slot = width(self.relations);
        let aggregate = Aggregate::new(function, args?, distinct)?;
        let slot = match collected.iter().position(|known| *known == aggregate) {
            Some(known) => first_slot + known,
            None => {
                collected.push(aggregate.clone());
                first_slot + collected.len() - 1
            }
        };
        self.aggregates = Some(collected);
        Ok(Expr::column(slot, name, aggregate.result_type(&[])))
    }

    fn values(&self, name: &ast::ColumnName) -> Result<Expr, SqlError> {
        let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&name.column, &self.clause]);
        let (relation, column) = self.find(name)?.ok_or_else(unknown)?;
        match self.new_row {
            Some(first) => Ok(column_expr(&relation.table.def.columns[column], first + column)),
            // Outside of ON DUPLICATE KEY UPDATE it is NULL.
            None => Ok(Expr::Literal(Value::Null)),
        }
    }

    fn default(&self, name: Option<&ast::ColumnName>) -> Result<Expr, SqlError> {
        let Some(name) = name else { return Err(SqlError::unsupported("DEFAULT in an expression")) };
        let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&name.column, &self.clause]);
        let (relation, column) = self.find(name)?.ok_or_else(unknown)?;
        let column = &relation.table.def.columns[column];
        if matches!(column.default, DefaultValue::Expression { .. }) {
            return Err(SqlError::new(ER_DEFAULT_AS_VAL_GENERATED, &[]));
        }
        default_expr(column)
    }
}

/// A name as messages show it.
fn written(name: &ast::ColumnName) -> String {
    match &name.table {
        Some(table) => format!("{table}.{}", name.column),
        None => name.column.clone(),
    }
}

/// What DEFAULT means for a column; 1364 if it has none.
pub(crate) fn default_expr(column: &ColumnDef) -> Result<Expr, SqlError> {
    match &column.default {
        DefaultValue::Literal(value) => Ok(Expr::Literal(value.clone())),
        DefaultValue::CurrentTimestamp => Expr::call("NOW", vec![Expr::Literal(Value::Int(6))]),
        DefaultValue::Expression { text, sql_mode } => {
            let written = parse::default_expression(text, SqlMode::parse(sql_mode)?)?;
            Scope::new(&[], "default value expression").bind(&written)
        }
        DefaultValue::None if column.nullable => Ok(Expr::Literal(Value::Null)),
        // Only a new row gets a value that is made.
        DefaultValue::None if column.auto_increment => Ok(Expr::Literal(column.column_type.implicit_default())),
        DefaultValue::None | DefaultValue::Dropped => Err(SqlError::new(ER_NO_DEFAULT_FOR_FIELD, &[&column.name])),
    }
}

#[cfg(test)]
mod tests;

/// A condition `d IS NULL`, alone or among those that AND, OR and NOT join, finds the zero dates of a DATE or DATETIME
/// column that is NOT NULL: so do applications that cannot name such a date (MySQL's manual on comparisons). Below an odd
/// number of NOTs (`inverted`) it is `d IS NOT NULL` that does.
fn find_zero_dates(condition: &mut Expr, inverted: bool) -> Result<(), SqlError> {
    match condition {
        Expr::And(parts) | Expr::Or(parts) => parts.iter_mut().try_for_each(|part| find_zero_dates(part, inverted)),
        Expr::Not(part) => find_zero_dates(part, !inverted),
        Expr::IsNull { operand, negated } if *negated == inverted => {
            let Expr::Column(column) = &**operand else { return Ok(()) };
            let zero = match column.result_type.kind() {
                FieldKind::Date => Value::Date(Date::ZERO),
                FieldKind::DateTime => Value::DateTime(Date::ZERO.at_midnight()),
                _ => return Ok(()),
            };
            if !column.result_type.nullable {
                let op = if inverted { CompareOp::NotEqual } else { CompareOp::Equal };
                *condition = Expr::compare(op, Expr::Column(column.clone()), Expr::Literal(zero))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
