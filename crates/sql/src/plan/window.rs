//! Binds functions over windows: what `OVER` says, with the windows that the query names.

use super::bind::Scope;
use super::query::{Bound, Frame, SortKey, Window};
use crate::ast::{self, FrameBound, FrameUnit, Over, WindowCall, WindowSpec};
use crate::error::{
    ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH, ER_WINDOW_DUPLICATE_NAME, ER_WINDOW_FRAME_END_ILLEGAL,
    ER_WINDOW_FRAME_ILLEGAL, ER_WINDOW_FRAME_START_ILLEGAL, ER_WINDOW_ILLEGAL_ORDER_BY,
    ER_WINDOW_INVALID_WINDOW_FUNC_USE, ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC,
    ER_WINDOW_NO_CHILD_PARTITIONING, ER_WINDOW_NO_INHERIT_FRAME, ER_WINDOW_NO_REDEFINE_ORDER_BY,
    ER_WINDOW_NO_SUCH_WINDOW, ER_WINDOW_RANGE_BOUND_NOT_CONSTANT, ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE,
    ER_WINDOW_RANGE_FRAME_ORDER_TYPE, ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE, ER_WINDOW_ROWS_INTERVAL_USE, SqlError,
};
use crate::expr::aggregate::Aggregate;
use crate::expr::{ArithmeticOp, CastType, Expr, Form, Function, WindowFunction};
use crate::types::{Family, decimal::MAX_PRECISION};
use crate::value::Value;

/// What messages call a window without a name.
const UNNAMED: &str = "<unnamed window>";

impl Scope<'_> {
    /// `function OVER window`, as a place of the row. 3593 where no window function may be.
    pub(super) fn window_call(&mut self, call: &WindowCall) -> Result<Expr, SqlError> {
        let (name, args, distinct) = match &call.call {
            ast::Expr::Call { name, args, distinct } => (name.as_str(), args.as_slice(), *distinct),
            ast::Expr::GroupConcat(_) => return Err(SqlError::unsupported("GROUP_CONCAT as a window function")),
            _ => return Err(SqlError::internal("a window function is a call")),
        };
        if !self.windows {
            return Err(SqlError::new(ER_WINDOW_INVALID_WINDOW_FUNC_USE, &[&name.to_ascii_lowercase()]));
        }
        let refused = match () {
            () if call.from_last => Some("FROM LAST"),
            () if call.ignore_nulls => Some("IGNORE NULLS"),
            () if distinct => Some("<window function>(DISTINCT ..)"),
            () => None,
        };
        if let Some(refused) = refused {
            return Err(SqlError::unsupported(refused));
        }
        let aliases_first = std::mem::take(&mut self.aliases_first);
        self.windows = false;
        let bound = self.function_and_window(name, args, &call.over);
        (self.windows, self.aliases_first) = (true, aliases_first);
        let (function, window) = bound?;
        let collected = self.aggregates.ok_or_else(|| SqlError::internal("windows are allowed without aggregates"))?;
        collected.borrow_mut().window(window, function)
    }

    fn function_and_window(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        over: &Over,
    ) -> Result<(WindowFunction, Window), SqlError> {
        let function = Function::named(name).ok_or_else(|| SqlError::internal("an unknown window function"))?;
        let args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>, SqlError>>()?;
        let function = match function.form {
            Form::Window => WindowFunction::new(function, args)?,
            _ => WindowFunction::Aggregate(Aggregate::new(function, args, false)?),
        };
        Ok((function, self.window(over)?))
    }

    /// Checks the windows that the query names, in use or not.
    pub(super) fn check_named_windows(&mut self) -> Result<(), SqlError> {
        let named = self.aggregates.map(|collected| collected.borrow().named.clone()).unwrap_or_default();
        for (at, (name, _)) in named.iter().enumerate() {
            if named[..at].iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                return Err(SqlError::new(ER_WINDOW_DUPLICATE_NAME, &[name]));
            }
        }
        named.iter().try_for_each(|(name, _)| self.window(&Over::Named(name.clone())).map(drop))
    }

    fn window(&mut self, over: &Over) -> Result<Window, SqlError> {
        let (name, spec) = match over {
            Over::Named(name) => (name.as_str(), self.named_window(name)?),
            Over::Window(spec) => (UNNAMED, (**spec).clone()),
        };
        let spec = self.with_base(name, spec, 0)?;
        let bound = self.bind_window(name, &spec);
        bound.map_err(|error| match error.errno == ER_WINDOW_INVALID_WINDOW_FUNC_USE.errno {
            true => SqlError::new(ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC, &[&name]),
            false => error,
        })
    }

    fn named_window(&self, name: &str) -> Result<WindowSpec, SqlError> {
        let found = self.aggregates.and_then(|collected| {
            let collected = collected.borrow();
            let found = collected.named.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, spec)| spec.clone())
        });
        found.ok_or_else(|| SqlError::new(ER_WINDOW_NO_SUCH_WINDOW, &[&name]))
    }

    /// A window with what it takes over from the one that it begins from.
    fn with_base(&self, name: &str, spec: WindowSpec, depth: usize) -> Result<WindowSpec, SqlError> {
        let Some(base_name) = &spec.base else { return Ok(spec) };
        let known = self.aggregates.map_or(0, |collected| collected.borrow().named.len());
        if depth > known {
            return Err(SqlError::new(ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH, &[]));
        }
        let base = self.named_window(base_name)?;
        if base.frame.is_some() {
            return Err(SqlError::new(ER_WINDOW_NO_INHERIT_FRAME, &[base_name]));
        }
        if !spec.partition_by.is_empty() {
            return Err(SqlError::new(ER_WINDOW_NO_CHILD_PARTITIONING, &[]));
        }
        let base = self.with_base(base_name, base, depth + 1)?;
        if !spec.order_by.is_empty() && !base.order_by.is_empty() {
            return Err(SqlError::new(ER_WINDOW_NO_REDEFINE_ORDER_BY, &[&name, base_name]));
        }
        let order_by = if spec.order_by.is_empty() { base.order_by } else { spec.order_by };
        Ok(WindowSpec { base: None, partition_by: base.partition_by, order_by, frame: spec.frame })
    }

    fn bind_window(&mut self, name: &str, spec: &WindowSpec) -> Result<Window, SqlError> {
        let partition = spec.partition_by.iter().map(|expr| self.window_key(name, expr, false));
        let partition = partition.collect::<Result<Vec<_>, SqlError>>()?;
        let order = spec.order_by.iter().map(|key| self.window_key(name, &key.expr, key.descending));
        let order = order.collect::<Result<Vec<_>, SqlError>>()?;
        let frame = match &spec.frame {
            Some(frame) => self.frame(name, frame, &order)?,
            None => Frame::default(),
        };
        let partition_keys = partition.len();
        let keys = partition.into_iter().chain(order).collect();
        Ok(Window { name: name.to_owned(), keys, partition_keys, frame, functions: Vec::new() })
    }

    fn window_key(&mut self, name: &str, expr: &ast::Expr, descending: bool) -> Result<SortKey, SqlError> {
        if matches!(expr, ast::Expr::Literal(Value::Int(_) | Value::UInt(_))) {
            return Err(SqlError::new(ER_WINDOW_ILLEGAL_ORDER_BY, &[&name]));
        }
        Ok(SortKey::new(self.bind(expr)?, descending))
    }

    fn frame(&mut self, name: &str, frame: &ast::Frame, order: &[SortKey]) -> Result<Frame, SqlError> {
        if frame.unit == FrameUnit::Groups {
            return Err(SqlError::unsupported("GROUPS"));
        }
        let end = frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow);
        if matches!(frame.start, FrameBound::Last) {
            return Err(SqlError::new(ER_WINDOW_FRAME_START_ILLEGAL, &[&name]));
        }
        if matches!(end, FrameBound::First) {
            return Err(SqlError::new(ER_WINDOW_FRAME_END_ILLEGAL, &[&name]));
        }
        if direction(&frame.start) > direction(end) {
            return Err(SqlError::new(ER_WINDOW_FRAME_ILLEGAL, &[&name]));
        }
        let rows = frame.unit == FrameUnit::Rows;
        Ok(Frame {
            rows,
            start: self.frame_bound(name, &frame.start, rows, order)?,
            end: self.frame_bound(name, end, rows, order)?,
        })
    }

    fn frame_bound(
        &mut self,
        name: &str,
        bound: &FrameBound,
        rows: bool,
        order: &[SortKey],
    ) -> Result<Bound, SqlError> {
        let (distance, unit, following) = match bound {
            FrameBound::First => return Ok(Bound::First),
            FrameBound::Last => return Ok(Bound::Last),
            FrameBound::CurrentRow => return Ok(Bound::CurrentRow),
            FrameBound::Offset { distance, unit, following } => (distance, *unit, *following),
        };
        let error = |code| Err(SqlError::new(code, &[&name]));
        let distance = self.bind(distance)?;
        if distance.has_columns() || distance.is_volatile() {
            return error(ER_WINDOW_RANGE_BOUND_NOT_CONSTANT);
        }
        if rows {
            let number = match &distance {
                _ if unit.is_some() => return error(ER_WINDOW_ROWS_INTERVAL_USE),
                Expr::Literal(Value::Int(int)) => *int >= 0,
                Expr::Literal(Value::UInt(_)) | Expr::Param(_) => true,
                _ => false,
            };
            return if number { Ok(Bound::Rows { distance, following }) } else { error(ER_WINDOW_FRAME_ILLEGAL) };
        }
        if matches!(&distance, Expr::Literal(value) if value.is_null() || is_negative(value)) {
            return error(ER_WINDOW_FRAME_ILLEGAL);
        }
        let [key] = order else { return error(ER_WINDOW_RANGE_FRAME_ORDER_TYPE) };
        // In the order of the window a row before has the lesser key, unless that is DESC.
        let adds = following != key.descending;
        let limit = match (key.expr.result_type(&[]).family(), unit) {
            (Family::Temporal, Some(unit)) => Expr::DateAdd {
                date: Box::new(key.expr.clone()),
                amount: Box::new(distance.clone()),
                unit,
                negated: !adds,
            },
            (Family::Temporal, None) => return error(ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE),
            (Family::Integer | Family::Decimal | Family::Real, Some(_)) => {
                return error(ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE);
            }
            (family @ (Family::Integer | Family::Decimal | Family::Real), None) => {
                let op = if adds { ArithmeticOp::Add } else { ArithmeticOp::Subtract };
                // Integers as DECIMALs: no limit is out of their range.
                let key = match family {
                    Family::Integer => {
                        let cast = CastType::Decimal { precision: MAX_PRECISION, scale: 0 };
                        Expr::cast(key.expr.clone(), cast)
                    }
                    _ => key.expr.clone(),
                };
                Expr::arithmetic(op, key, distance.clone())?
            }
            (Family::Null | Family::String, _) => return error(ER_WINDOW_RANGE_FRAME_ORDER_TYPE),
        };
        Ok(Bound::Range { distance, limit, following })
    }
}

/// Whether a bound lies before the current row, at it, or after.
fn direction(bound: &FrameBound) -> i8 {
    match bound {
        FrameBound::First | FrameBound::Offset { following: false, .. } => -1,
        FrameBound::CurrentRow => 0,
        FrameBound::Last | FrameBound::Offset { following: true, .. } => 1,
    }
}

/// Whether a number is below zero.
pub(crate) fn is_negative(value: &Value) -> bool {
    match value {
        Value::Int(int) => *int < 0,
        Value::Decimal(decimal) => decimal.is_negative(),
        Value::Double(double) => *double < 0.0,
        _ => false,
    }
}
