//! Binds the names of an expression to places of the row.

use std::cell::RefCell;
use std::sync::Arc;

use super::PlanContext;
use super::aggregated::{Aggregated, is_aggregate};
use super::query::{Relation, WINDOW_SLOTS, column_at, column_expr, width};
use crate::ast;
use crate::catalog::definition::{ColumnDef, DefaultValue};
use crate::collation::Collation;
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_DEFAULT_AS_VAL_GENERATED, ER_INVALID_GROUP_FUNC_USE, ER_NO_DEFAULT_FOR_FIELD,
    ER_NON_UNIQ_ERROR, ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE, SqlError,
};
use crate::expr::{ArithmeticOp, CastType, CompareOp, Expr, Literals, Param, UnaryOp};
use crate::parse;
use crate::privilege::Privilege;
use crate::types::temporal::Date;
use crate::types::{Family, FieldKind, SqlMode};
use crate::value::Value;

/// Where a query finds what names mean that none of its own relations has.
pub(crate) trait Names {
    /// What a name means, in the query around; `None` if nothing has it. 1052 if several have it. An aggregate asks for what
    /// it means before rows are grouped (`of_rows`).
    fn meaning(&self, name: &ast::ColumnName, of_rows: bool) -> Result<Option<Expr>, SqlError>;
    /// An aggregate that reads no row of a query within, as a value of the query around; `None` if it does not belong to that.
    fn aggregate(&self, call: &ast::Expr, to: BelongsTo) -> Result<Option<Expr>, SqlError>;
    /// How many values have been taken from each of the queries around so far.
    fn taken(&self) -> Vec<usize>;
    /// Forgets the values that have been taken since.
    fn forget_since(&self, taken: &[usize]);
}

/// Which query an aggregate belongs to that reads columns of queries around alone, if it may be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BelongsTo {
    /// The innermost one whose columns it reads.
    ItsColumns,
    /// The innermost one.
    Nearest,
}

/// What is around a query block: where its tables are found, and names that are not its own.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// Without it there can be no queries within.
    pub(super) cx: Option<&'a PlanContext<'a>>,
    pub(super) names: Option<&'a dyn Names>,
}

/// The names that expressions of one statement may use.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    /// What columns are of.
    pub(super) relations: &'a [Relation],
    /// The slots that names without a table may mean, if these are not all: see [`super::from::From`].
    pub(super) visible: Option<&'a [usize]>,
    /// The query block around.
    pub(super) around: Around<'a>,
    /// What literals are.
    pub(crate) literals: Literals,
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
    pub(crate) aggregates: Option<&'a RefCell<Aggregated>>,
    /// So are window functions.
    pub(crate) windows: bool,
    /// It is for what an aggregate is over.
    pub(super) in_aggregate: bool,
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
            visible: None,
            around: Around::default(),
            literals: Literals::DEFAULT,
            new_row: None,
            row_alias: None,
            aliases: Vec::new(),
            aliases_first: false,
            having: None,
            aggregates: None,
            windows: false,
            in_aggregate: false,
            signed_difference: false,
            clause,
        }
    }

    /// The same as a part of a query block.
    pub(super) fn within(self, around: Around<'a>) -> Scope<'a> {
        let literals = around.cx.map_or(self.literals, |cx| cx.literals);
        Scope { around, literals, ..self }
    }

    /// The relation's column of this name; 1052 if several have one.
    pub(crate) fn find(&self, name: &ast::ColumnName) -> Result<Option<(&'a Relation, usize)>, SqlError> {
        if let (None, Some(visible)) = (&name.table, self.visible) {
            let columns = visible.iter().filter_map(|slot| column_at(self.relations, *slot));
            return self.only(name, columns.filter(|(of, at)| of.column_name(*at).eq_ignore_ascii_case(&name.column)));
        }
        let meant = self.relations.iter().filter(|relation| match (&name.database, &name.table) {
            (_, None) => true,
            (None, Some(qualifier)) => *qualifier == relation.known_as,
            (Some(database), Some(qualifier)) => {
                Some(database.as_str()) == relation.database() && *qualifier == relation.known_as
            }
        });
        self.only(name, meant.filter_map(|relation| Some((relation, relation.column_index(&name.column)?))))
    }

    fn only(
        &self,
        name: &ast::ColumnName,
        mut found: impl Iterator<Item = (&'a Relation, usize)>,
    ) -> Result<Option<(&'a Relation, usize)>, SqlError> {
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(SqlError::new(ER_NON_UNIQ_ERROR, &[&written(name), &self.clause])),
            (found, _) => Ok(found),
        }
    }

    fn column(&self, name: &ast::ColumnName) -> Result<Expr, SqlError> {
        let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&written(name), &self.clause]);
        self.meaning(name, self.in_aggregate)?.ok_or_else(unknown)
    }

    /// What a name means in the block itself.
    fn own(&self, name: &ast::ColumnName) -> Result<Option<Expr>, SqlError> {
        if let Some(keys) = self.having {
            return self.having_column(name, keys);
        }
        if self.aliases_first
            && let Some(aliased) = self.alias(name)?
        {
            return Ok(Some(aliased));
        }
        match (self.find(name)?, self.new_row_column(name)) {
            (Some(_), Some(_)) => Err(SqlError::new(ER_NON_UNIQ_ERROR, &[&written(name), &self.clause])),
            (Some((relation, column)), None) => Ok(Some(relation.column_expr(column))),
            (None, Some(column)) => Ok(Some(column)),
            (None, None) => self.alias(name),
        }
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
                if !self.windows && has_windows(item) {
                    return Err(SqlError::new(ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE, &[&name.column]));
                }
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
        let table = self.relations.first()?.table()?;
        let column = columns.iter().position(|column| column.eq_ignore_ascii_case(&name.column))?;
        Some(column_expr(&table.def.columns[column], self.new_row? + column))
    }

    /// Binds an expression.
    pub(crate) fn bind(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        Ok(match expr {
            ast::Expr::Literal(Value::Text(text)) => match self.literals.text(text.clone()) {
                text @ Value::Text(_) => Expr::Text(text, self.literals.collation),
                bytes => Expr::Literal(bytes),
            },
            ast::Expr::Literal(value) => Expr::Literal(value.clone()),
            ast::Expr::Introduced(charset, value) => match self.literals.introduced(*charset, value)? {
                text @ Value::Text(_) => Expr::Text(text, charset.default_collation()),
                bytes => Expr::Literal(bytes),
            },
            ast::Expr::Param(param) => Expr::Param(Param { kind: self.literals.kind(param.kind), ..*param }),
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
            ast::Expr::Compare(op, left, right) => match self.row_query(*op, left, right)? {
                Some(compared) => compared,
                None if is_row(left) || is_row(right) => self.compare_rows(*op, left, right)?,
                None => Expr::compare(*op, self.bind(left)?, self.bind(right)?)?,
            },
            ast::Expr::And(parts) => Expr::And(self.bind_all(parts)?),
            ast::Expr::Or(parts) => Expr::Or(self.bind_all(parts)?),
            ast::Expr::Xor(left, right) => Expr::Xor(Box::new(self.bind(left)?), Box::new(self.bind(right)?)),
            ast::Expr::Not(operand) => Expr::Not(Box::new(self.bind(operand)?)),
            ast::Expr::Between { operand, low, high, negated } => {
                Expr::between(self.bind(operand)?, self.bind(low)?, self.bind(high)?, *negated)?
            }
            ast::Expr::In { operand, list, negated } if is_row(operand) || list.iter().any(is_row) => {
                self.row_in_list(operand, list, *negated)?
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
            ast::Expr::CastToText(operand, length) => {
                let target = match self.literals.collation {
                    Collation::Binary => CastType::Binary { bytes: *length },
                    collation => CastType::Char { chars: *length, collation },
                };
                Expr::cast(self.bind(operand)?, target)
            }
            ast::Expr::Collate(operand, collation) => Expr::collate(self.bind(operand)?, *collation)?,
            ast::Expr::Call { name, args, distinct } if !is_aggregate(name) => self.call(name, args, *distinct)?,
            ast::Expr::Call { .. } | ast::Expr::GroupConcat(_) => self.aggregate(expr)?,
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
                let value = self.bind(value)?;
                let collation = value.collation();
                Expr::AssignUserVariable(Arc::from(name.as_str()), Box::new(value), collation)
            }
            ast::Expr::SystemVariable(scope, name, kind) => {
                Expr::SystemVariable(*scope, Arc::from(name.as_str()), *kind)
            }
            ast::Expr::JsonPath { column, path, unquote } => {
                let column = self.bind(&ast::Expr::Column((**column).clone()))?;
                let found = Expr::call("json_extract", vec![column, self.bind(path)?])?;
                if *unquote { Expr::call("json_unquote", vec![found])? } else { found }
            }
            ast::Expr::MemberOf(value, array) => Expr::call("member of", vec![self.bind(value)?, self.bind(array)?])?,
            ast::Expr::Values(name) => self.values(name)?,
            ast::Expr::Window(call) => self.window_call(call)?,
            ast::Expr::Default(name) => self.default(name.as_ref())?,
            ast::Expr::Subquery(query) => self.scalar(query)?,
            ast::Expr::Exists(query) => self.exists(query)?,
            ast::Expr::InQuery { operand, query, negated } => self.in_query(operand, query, *negated)?,
            ast::Expr::Quantified { op, operand, all, query } => self.quantified(*op, operand, *all, query)?,
            ast::Expr::Row(_) | ast::Expr::CastTo(..) | ast::Expr::Match(_) => {
                return Err(super::unsupported::expression(expr));
            }
        })
    }

    /// Binds the condition of WHERE, where MySQL takes a zero date for NULL.
    pub(crate) fn bind_filter(&mut self, filter: &ast::Expr) -> Result<Expr, SqlError> {
        let mut bound = self.bind(filter)?;
        find_zero_dates(&mut bound, false)?;
        Ok(bound)
    }

    pub(super) fn bind_all(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>, SqlError> {
        exprs.iter().map(|expr| self.bind(expr)).collect()
    }

    fn call(&mut self, name: &str, args: &[ast::Expr], distinct: bool) -> Result<Expr, SqlError> {
        if distinct {
            return Err(SqlError::unsupported(format_args!("DISTINCT inside of {name}()")));
        }
        if self.aggregates.is_none() && name.eq_ignore_ascii_case("grouping") {
            return Err(SqlError::new(ER_INVALID_GROUP_FUNC_USE, &[]));
        }
        Expr::call_in(self.literals.collation, name, self.bind_all(args)?)
    }

    fn values(&self, name: &ast::ColumnName) -> Result<Expr, SqlError> {
        let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&name.column, &self.clause]);
        // Of an INSERT the target is meant, and not what its rows come from.
        let found = match self.new_row {
            Some(_) => Scope::new(&self.relations[..1], self.clause).find(name)?,
            None => self.find(name)?,
        };
        let (relation, column) = found.ok_or_else(unknown)?;
        match (self.new_row, relation.table()) {
            (Some(first), Some(table)) => Ok(column_expr(&table.def.columns[column], first + column)),
            // Outside of ON DUPLICATE KEY UPDATE it is NULL.
            _ => Ok(Expr::Literal(Value::Null)),
        }
    }

    fn default(&self, name: Option<&ast::ColumnName>) -> Result<Expr, SqlError> {
        let Some(name) = name else { return Err(SqlError::unsupported("DEFAULT in an expression")) };
        let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&name.column, &self.clause]);
        let (relation, column) = self.find(name)?.ok_or_else(unknown)?;
        let Some(table) = relation.table() else { return Ok(Expr::Literal(Value::Null)) };
        if let Some(cx) = self.around.cx {
            cx.needs_columns(table, Privilege::Select, [column]);
        }
        let column = &table.def.columns[column];
        if matches!(column.default, DefaultValue::Expression { .. }) {
            return Err(SqlError::new(ER_DEFAULT_AS_VAL_GENERATED, &[]));
        }
        default_expr(column)
    }
}

fn is_row(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Row(_))
}

/// Whether a window function is a part of it.
fn has_windows(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| found |= matches!(part, Expr::Column(column) if column.slot >= WINDOW_SLOTS));
    found
}

impl Names for Scope<'_> {
    fn meaning(&self, name: &ast::ColumnName, of_rows: bool) -> Result<Option<Expr>, SqlError> {
        let own = match self.having {
            Some(_) if of_rows => Scope { having: None, aliases_first: false, ..self.clone() }.own(name)?,
            _ => self.own(name)?,
        };
        match (own, self.around.names) {
            (None, Some(names)) => names.meaning(name, of_rows),
            (own, _) => Ok(own),
        }
    }

    fn aggregate(&self, call: &ast::Expr, to: BelongsTo) -> Result<Option<Expr>, SqlError> {
        self.aggregate_of_within(call, to)
    }

    fn taken(&self) -> Vec<usize> {
        self.around.names.map(Names::taken).unwrap_or_default()
    }

    fn forget_since(&self, taken: &[usize]) {
        if let Some(names) = self.around.names {
            names.forget_since(taken);
        }
    }
}

/// A name as messages show it.
pub(super) fn written(name: &ast::ColumnName) -> String {
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
