//! Windows: what follows OVER, and the WINDOW clause.

use super::cursor::Cursor;
use super::expression::Interval;
use crate::ast::{Expr, Frame, FrameBound, FrameUnit, Over, WindowCall, WindowSpec};
use crate::error::SqlError;

impl Cursor<'_> {
    /// `[FROM {FIRST | LAST}] [{RESPECT | IGNORE} NULLS] OVER {name | window_spec}`
    pub(super) fn over(&mut self, call: Expr) -> Result<Expr, SqlError> {
        let from_last = self.takes("FROM LAST");
        if !from_last {
            self.takes("FROM FIRST");
        }
        let ignore_nulls = self.takes("IGNORE NULLS");
        if !ignore_nulls {
            self.takes("RESPECT NULLS");
        }
        self.expect("OVER")?;
        let over = if self.sees_operator("(") {
            Over::Window(Box::new(self.window_spec()?))
        } else {
            Over::Named(self.ident()?)
        };
        Ok(Expr::Window(Box::new(WindowCall { call, from_last, ignore_nulls, over })))
    }

    /// `WINDOW name AS window_spec [, name AS window_spec] ...`
    pub(super) fn windows(&mut self) -> Result<Vec<(String, WindowSpec)>, SqlError> {
        if !self.takes("WINDOW") {
            return Ok(Vec::new());
        }
        self.separated(|cursor| {
            let name = cursor.ident()?;
            cursor.expect("AS")?;
            Ok((name, cursor.window_spec()?))
        })
    }

    /// `([name] [PARTITION BY expr, ...] [ORDER BY ...] [frame])`
    fn window_spec(&mut self) -> Result<WindowSpec, SqlError> {
        self.expect_operator("(")?;
        let mut spec = WindowSpec::default();
        // Words that begin a frame are no reserved words here.
        if self.sees_ident() && self.frame_unit().is_none() {
            spec.base = Some(self.ident()?);
        }
        if self.takes("PARTITION") {
            self.expect("BY")?;
            spec.partition_by = self.exprs()?;
        }
        if self.sees("ORDER") {
            spec.order_by = self.order_by()?;
        }
        if let Some(unit) = self.frame_unit() {
            self.skip();
            spec.frame = Some(self.frame(unit)?);
        }
        self.expect_operator(")")?;
        Ok(spec)
    }

    fn frame_unit(&self) -> Option<FrameUnit> {
        match self.keyword().as_str() {
            "ROWS" => Some(FrameUnit::Rows),
            "RANGE" => Some(FrameUnit::Range),
            "GROUPS" => Some(FrameUnit::Groups),
            _ => None,
        }
    }

    /// `{start | BETWEEN bound AND bound}`, where what starts a frame alone does not follow the current row
    fn frame(&mut self, unit: FrameUnit) -> Result<Frame, SqlError> {
        if !self.takes("BETWEEN") {
            return Ok(Frame { unit, start: self.frame_bound(false)?, end: None });
        }
        let start = self.frame_bound(true)?;
        self.expect("AND")?;
        Ok(Frame { unit, start, end: Some(self.frame_bound(true)?) })
    }

    /// `{UNBOUNDED | expr | INTERVAL expr unit} {PRECEDING | FOLLOWING}`, `CURRENT ROW`
    fn frame_bound(&mut self, may_follow: bool) -> Result<FrameBound, SqlError> {
        if self.takes("CURRENT") {
            self.expect("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.takes("UNBOUNDED") {
            return Ok(if self.follows(may_follow)? { FrameBound::Last } else { FrameBound::First });
        }
        let (distance, unit) = match self.interval_or_expr()? {
            Interval::Amount(amount, unit) => (amount, Some(unit)),
            Interval::Call(distance) => (distance, None),
        };
        Ok(FrameBound::Offset { distance, unit, following: self.follows(may_follow)? })
    }

    fn follows(&mut self, may_follow: bool) -> Result<bool, SqlError> {
        if may_follow && self.takes("FOLLOWING") {
            return Ok(true);
        }
        self.expect("PRECEDING").map(|()| false)
    }
}
