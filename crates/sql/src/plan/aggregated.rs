//! What the expressions of a query ask of many of its rows: aggregates and windows, collected while names are bound.
//!
//! An aggregate belongs to the query that it stands in, unless it reads columns of queries around alone. Then it is one of the
//! innermost query whose columns it reads, a value from outside for all queries within; if that has no place for it there
//! (WHERE, ON, GROUP BY), of the next one within that has.

use std::cell::RefCell;

use super::bind::{BelongsTo, Names, Scope};
use super::query::{WINDOW_SLOTS, Window, width};
use crate::ast::{self, WindowSpec};
use crate::error::{ER_BAD_FIELD_ERROR, ER_INVALID_GROUP_FUNC_USE, SqlError};
use crate::expr::aggregate::{Aggregate, Concat};
use crate::expr::{Expr, Function, WindowFunction};
use crate::value::Value;

/// What was collected so far, each once.
#[derive(Default)]
pub(crate) struct Aggregated {
    pub(crate) aggregates: Vec<Aggregate>,
    pub(super) windows: Vec<Window>,
    /// Window functions so far, over all windows.
    functions: usize,
    /// WINDOW: names and what they stand for.
    pub(super) named: Vec<(String, WindowSpec)>,
    /// `group_concat_max_len`, bytes.
    pub(crate) group_concat_max_len: u64,
}

impl Aggregated {
    /// Nothing yet, of a query with these windows of its own.
    pub(crate) fn new(named: &[(String, WindowSpec)], group_concat_max_len: u64) -> Aggregated {
        Aggregated { named: named.to_vec(), group_concat_max_len, ..Aggregated::default() }
    }

    /// Whether nothing was collected.
    pub(super) fn is_empty(&self) -> bool {
        self.aggregates.is_empty() && self.windows.is_empty()
    }

    /// Which aggregate it is.
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> usize {
        self.aggregates.iter().position(|known| known == aggregate).unwrap_or_else(|| {
            self.aggregates.push(aggregate.clone());
            self.aggregates.len() - 1
        })
    }

    /// The value of a function over a window, as a place of the row: [`WINDOW_SLOTS`] until all are known.
    pub(super) fn window(&mut self, window: Window, function: WindowFunction) -> Result<Expr, SqlError> {
        let (name, result_type) = (function.name(), function.result_type(&[]));
        let at = match self.windows.iter().position(|known| known.is_alike(&window)) {
            Some(at) => at,
            None => {
                self.windows.push(window);
                self.windows.len() - 1
            }
        };
        let functions = &mut self.windows[at].functions;
        let slot = match functions.iter().find(|(_, known)| *known == function) {
            Some((slot, _)) => *slot,
            None => {
                let slot = WINDOW_SLOTS + self.functions;
                self.functions += 1;
                functions.push((slot, function));
                slot
            }
        };
        Ok(Expr::column(slot, name, result_type))
    }
}

impl Scope<'_> {
    /// An aggregate, as a place of the row. One that reads columns of queries around alone is a value of one of these.
    pub(super) fn aggregate(&self, call: &ast::Expr) -> Result<Expr, SqlError> {
        let (own, names) = (self.aggregates, self.around.names);
        let misplaced = || SqlError::new(ER_INVALID_GROUP_FUNC_USE, &[]);
        let Some(names) = names else { return self.collect(own.ok_or_else(misplaced)?, call) };
        let taken = names.taken();
        let aggregate = self.bind_aggregate(call)?;
        if let (false, true) = columns_of(&aggregate) {
            names.forget_since(&taken);
            for to in [BelongsTo::ItsColumns, BelongsTo::Nearest] {
                if let Some(found) = names.aggregate(call, to)? {
                    return Ok(found);
                }
            }
            return self.collect(own.ok_or_else(misplaced)?, call);
        }
        Ok(self.place(own.ok_or_else(misplaced)?, &aggregate))
    }

    fn collect(&self, collected: &RefCell<Aggregated>, call: &ast::Expr) -> Result<Expr, SqlError> {
        let aggregate = self.bind_aggregate(call)?;
        Ok(self.place(collected, &aggregate))
    }

    fn place(&self, collected: &RefCell<Aggregated>, aggregate: &Aggregate) -> Expr {
        let slot = width(self.relations) + collected.borrow_mut().aggregate(aggregate);
        Expr::column(slot, aggregate.name(), aggregate.result_type(&[]))
    }

    /// Binds what an aggregate is made of. That is read before rows are grouped, and has no aggregate in it.
    fn bind_aggregate(&self, call: &ast::Expr) -> Result<Aggregate, SqlError> {
        let most = self.aggregates.map(|collected| collected.borrow().group_concat_max_len);
        let most = most.or(self.around.cx.map(|cx| cx.group_concat_max_len)).unwrap_or_default();
        let mut scope = Scope {
            aggregates: None,
            having: None,
            aliases_first: false,
            windows: false,
            in_aggregate: true,
            ..self.clone()
        };
        match call {
            ast::Expr::GroupConcat(concat) => scope.group_concat(concat, most),
            ast::Expr::Call { name, args, distinct } => {
                let function = Function::named(name).ok_or_else(|| SqlError::internal("an unknown aggregate"))?;
                Aggregate::new(function, scope.bind_all(args)?, *distinct)
            }
            _ => Err(SqlError::internal("an aggregate is a call")),
        }
    }

    /// `GROUP_CONCAT(args ORDER BY keys SEPARATOR text)`, whose ORDER BY may number the arguments.
    fn group_concat(&mut self, concat: &ast::GroupConcat, most: u64) -> Result<Aggregate, SqlError> {
        let args = self.bind_all(&concat.args)?;
        let key = |key: &ast::OrderBy| {
            let expr = match &key.expr {
                ast::Expr::Literal(Value::Int(place)) => {
                    let arg = usize::try_from(*place).ok().and_then(|place| args.get(place.checked_sub(1)?));
                    let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[place, &"order clause"]);
                    arg.cloned().ok_or_else(unknown)?
                }
                expr => self.bind(expr)?,
            };
            Ok((expr, key.descending))
        };
        let order_by = concat.order_by.iter().map(key).collect::<Result<_, SqlError>>()?;
        let separator = concat.separator.as_deref().unwrap_or(",");
        Aggregate::group_concat(args, order_by, concat.distinct, Concat::new(separator, most))
    }

    /// The aggregate of a query within, if it belongs here or further out; 1111 if another one of this query is over that.
    pub(super) fn aggregate_of_within(&self, call: &ast::Expr, to: BelongsTo) -> Result<Option<Expr>, SqlError> {
        let taken = self.taken();
        let aggregate = self.bind_aggregate(call)?;
        let (own, outer) = columns_of(&aggregate);
        if let Some(collected) = self.aggregates
            && (own || !outer || to == BelongsTo::Nearest)
        {
            return Ok(Some(self.place(collected, &aggregate)));
        }
        if own && self.in_aggregate {
            return Err(SqlError::new(ER_INVALID_GROUP_FUNC_USE, &[]));
        }
        self.forget_since(&taken);
        match self.around.names {
            Some(names) if !own => names.aggregate(call, to),
            _ => Ok(None),
        }
    }
}

pub(super) fn is_aggregate(name: &str) -> bool {
    Function::named(name).is_some_and(Function::is_aggregate)
}

/// Whether an aggregate reads columns of its own query, and of queries around.
fn columns_of(aggregate: &Aggregate) -> (bool, bool) {
    let (mut own, mut outer) = (false, false);
    aggregate.args.iter().for_each(|arg| {
        arg.walk(&mut |part| {
            own |= matches!(part, Expr::Column(_));
            outer |= matches!(part, Expr::Outer(_));
        });
    });
    (own, outer)
}
