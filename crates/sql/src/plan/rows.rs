//! Binds comparisons of rows: `(a, b) = (1, 2)` becomes a condition on their parts.

use super::bind::Scope;
use crate::ast;
use crate::error::{ER_OPERAND_COLUMNS, SqlError};
use crate::expr::{CompareOp, Expr};

/// What a row is made of, and a value.
enum Operand {
    Value(Expr),
    Row(Vec<Operand>),
}

impl Operand {
    fn columns(&self) -> usize {
        match self {
            Operand::Value(_) => 1,
            Operand::Row(parts) => parts.len(),
        }
    }

    /// The values in order.
    fn values(self, out: &mut Vec<Expr>) {
        match self {
            Operand::Value(value) => out.push(value),
            Operand::Row(parts) => parts.into_iter().for_each(|part| part.values(out)),
        }
    }

    /// 1241 where the other one has not the same number of columns.
    fn check_like(&self, other: &Operand) -> Result<(), SqlError> {
        match (self, other) {
            (Operand::Row(own), Operand::Row(others)) if own.len() == others.len() => {
                own.iter().zip(others).try_for_each(|(own, other)| own.check_like(other))
            }
            (Operand::Value(_), Operand::Value(_)) => Ok(()),
            _ => Err(SqlError::new(ER_OPERAND_COLUMNS, &[&self.columns()])),
        }
    }
}

impl Scope<'_> {
    fn operand(&mut self, expr: &ast::Expr) -> Result<Operand, SqlError> {
        Ok(match expr {
            ast::Expr::Row(parts) => {
                Operand::Row(parts.iter().map(|part| self.operand(part)).collect::<Result<_, SqlError>>()?)
            }
            value => Operand::Value(self.bind(value)?),
        })
    }

    /// `left op right`, of which one side at least is a row. 1241 if not both are, with as many columns.
    pub(super) fn compare_rows(
        &mut self,
        op: CompareOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr, SqlError> {
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        left.check_like(&right)?;
        let (mut lefts, mut rights) = (Vec::new(), Vec::new());
        left.values(&mut lefts);
        right.values(&mut rights);
        compare(op, &lefts, &rights)
    }

    /// `operand [NOT] IN (list)`, where the operand or a part of the list is a row.
    pub(super) fn row_in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<Expr, SqlError> {
        let operand = self.operand(operand)?;
        let mut rows = Vec::with_capacity(list.len());
        for item in list {
            let item = self.operand(item)?;
            operand.check_like(&item)?;
            let mut values = Vec::new();
            item.values(&mut values);
            rows.push(values);
        }
        let mut own = Vec::new();
        operand.values(&mut own);
        let mut any = rows.iter().map(|row| compare(CompareOp::Equal, &own, row)).collect::<Result<Vec<_>, _>>()?;
        let found = match any.pop() {
            Some(only) if any.is_empty() => only,
            last => {
                any.extend(last);
                // Which values a column can have says which part of an index to read, and changes nothing else.
                let mut all = Vec::new();
                for (at, own) in own.iter().enumerate() {
                    let list: Vec<Expr> = rows.iter().map(|row| row[at].clone()).collect();
                    let constant = |item: &Expr| !item.has_columns() && !item.is_volatile();
                    if matches!(own, Expr::Column(_)) && list.iter().all(constant) {
                        all.push(Expr::in_list(own.clone(), list, false)?);
                    }
                }
                all.push(Expr::Or(any));
                Expr::And(all)
            }
        };
        Ok(if negated { Expr::Not(Box::new(found)) } else { found })
    }
}

/// Compares as many values as there are, of which the first that differ decide.
fn compare(op: CompareOp, left: &[Expr], right: &[Expr]) -> Result<Expr, SqlError> {
    let each = |op| {
        let pairs = left.iter().zip(right);
        pairs.map(|(left, right)| Expr::compare(op, left.clone(), right.clone())).collect::<Result<Vec<_>, _>>()
    };
    Ok(match op {
        CompareOp::Equal | CompareOp::NullSafeEqual => Expr::And(each(op)?),
        CompareOp::NotEqual => Expr::Not(Box::new(Expr::And(each(CompareOp::Equal)?))),
        CompareOp::Less | CompareOp::LessOrEqual | CompareOp::Greater | CompareOp::GreaterOrEqual => {
            let strictly = match op {
                CompareOp::Less | CompareOp::LessOrEqual => CompareOp::Less,
                _ => CompareOp::Greater,
            };
            let mut decided: Option<Expr> = None;
            for (equal, (left, right)) in each(CompareOp::Equal)?.into_iter().zip(left.iter().zip(right)).rev() {
                let compared = |op| Expr::compare(op, left.clone(), right.clone());
                decided = Some(match decided {
                    None => compared(op)?,
                    Some(rest) => Expr::Or(vec![compared(strictly)?, Expr::And(vec![equal, rest])]),
                });
            }
            decided.ok_or_else(|| SqlError::internal("a row without columns"))?
        }
    })
}
