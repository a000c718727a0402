//! Calls of functions, those with a syntax of their own among them.

use super::column::charset_named;
use super::cursor::Cursor;
use super::expression::{Interval, Level, call};
use super::lexer::Kind;
use super::words;
use crate::ast::{Expr, GroupConcat};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::expr::{CastType, Form, Function, IntervalUnit};
use crate::value::Value;

/// As many arguments as one likes.
const MANY: usize = usize::MAX;

impl Cursor<'_> {
    /// A call of a function, or a name.
    pub(super) fn function_or_name(&mut self) -> Result<Expr, SqlError> {
        let keyword = self.keyword();
        let called = self.bytes(1) == b"(" && self.kind_at(1) == Some(Kind::Operator);
        if !called && !words::is_reserved(keyword.as_str()) {
            return self.named_or_stored();
        }
        match Function::named(keyword.as_str()) {
            Some(function) if called => self.call(function),
            Some(function) if function.form == Form::Bare => Ok(call(&self.name()?, Vec::new())),
            // What is reserved for a function can be nothing else.
            Some(_) => {
                self.skip();
                Err(self.unexpected())
            }
            None if called && self.sees_ident() => self.plain(0, MANY),
            None if called => Err(self.unexpected()),
            None => self.named_or_stored(),
        }
    }

    fn call(&mut self, function: &Function) -> Result<Expr, SqlError> {
        let (least, most) = function.arity();
        match function.form {
            Form::Plain | Form::MemberOf => self.plain(0, MANY),
            Form::Grammar => self.plain(least, most),
            Form::Bare => self.bare(most),
            Form::Aggregate | Form::DistinctAggregate | Form::Count => {
                let aggregate = self.aggregate(function.form, least, most)?;
                if self.sees("OVER") { self.over(aggregate) } else { Ok(aggregate) }
            }
            Form::GroupConcat => self.group_concat(),
            Form::Window => {
                let ranked = self.plain(least, most)?;
                self.over(ranked)
            }
            Form::Cast => self.cast(),
            Form::Convert => self.convert(),
            Form::Extract => self.extract(),
            Form::Trim => self.trim(),
            Form::Substring => self.substring(),
            Form::Position => self.position(),
            Form::Char => self.char(),
            Form::GetFormat => self.get_format(),
            Form::WeightString => self.weight_string(),
            Form::DateArithmetic { negated, days } => self.date_arithmetic(negated, days),
            Form::TimestampAdd => self.timestamp_add(),
            Form::TimestampDiff => self.timestamp_diff(),
        }
    }

    /// `name([expr [, expr] ...])`
    fn plain(&mut self, least: usize, most: usize) -> Result<Expr, SqlError> {
        Ok(Expr::Call { name: self.name()?, args: self.arguments(least, most)?, distinct: false })
    }

    /// A column, or `database.function(...)`.
    fn named_or_stored(&mut self) -> Result<Expr, SqlError> {
        if self.bytes(1) == b"." && self.bytes(3) == b"(" && self.sees_ident() {
            let database = self.ident()?;
            self.skip();
            let function = self.name()?;
            return Ok(Expr::Call {
                name: format!("{database}.{function}"),
                args: self.arguments(0, MANY)?,
                distinct: false,
            });
        }
        self.named()
    }

    /// `( [expr [, expr] ...] )`
    fn arguments(&mut self, least: usize, most: usize) -> Result<Vec<Expr>, SqlError> {
        self.expect_operator("(")?;
        self.rest_of_arguments(Vec::new(), least, most)
    }

    /// What follows the parenthesis, or the last of the arguments that were read.
    fn rest_of_arguments(&mut self, mut args: Vec<Expr>, least: usize, most: usize) -> Result<Vec<Expr>, SqlError> {
        loop {
            if args.len() >= least && self.sees_operator(")") {
                self.skip();
                return Ok(args);
            }
            if args.len() >= most {
                return Err(self.unexpected());
            }
            if !args.is_empty() {
                self.expect_operator(",")?;
            }
            args.push(self.expr()?);
        }
    }

    /// `COUNT(*)`, `COUNT([ALL] expr)`, `COUNT(DISTINCT expr [, expr] ...)`, `SUM([ALL | DISTINCT] expr)`,
    /// `STD([ALL] expr)` and so on
    fn aggregate(&mut self, form: Form, least: usize, most: usize) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.expect_operator("(")?;
        let counts = form == Form::Count;
        if counts && self.takes_operator("*") {
            self.expect_operator(")")?;
            return Ok(call(&name, Vec::new()));
        }
        let distinct = form != Form::Aggregate && self.takes("DISTINCT");
        if !distinct {
            self.takes("ALL");
        }
        let most = if counts && distinct { MANY } else { most };
        let args = self.rest_of_arguments(Vec::new(), least, most)?;
        Ok(Expr::Call { name, args, distinct })
    }

    /// `name([digits])`
    fn bare(&mut self, most: usize) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.expect_operator("(")?;
        let mut args = Vec::new();
        let is_param = self.marks.get(self.at).is_some_and(|mark| mark.param.is_some());
        if most > 0 && (self.sees_number() || is_param) {
            args.push(self.primary()?);
        }
        self.expect_operator(")")?;
        Ok(call(&name, args))
    }

    /// Steps over a function's name and its parenthesis.
    fn opens(&mut self) {
        self.skip();
        self.skip();
    }

    /// `CAST(expr AS cast_type)`
    fn cast(&mut self) -> Result<Expr, SqlError> {
        self.opens();
        let operand = self.expr()?;
        self.expect("AS")?;
        let cast = self.cast_type(operand)?;
        self.expect_operator(")")?;
        Ok(cast)
    }

    /// `CONVERT(expr, cast_type)`, `CONVERT(expr USING charset)`
    fn convert(&mut self) -> Result<Expr, SqlError> {
        self.opens();
        let operand = self.expr()?;
        let cast = if self.takes("USING") {
            let target = cast_to_charset(&self.charset()?)?;
            Expr::Cast(Box::new(operand), target)
        } else {
            self.expect_operator(",")?;
            self.cast_type(operand)?
        };
        self.expect_operator(")")?;
        Ok(cast)
    }

    /// `{charset | BINARY | ASCII | 'charset'}`
    pub(super) fn charset(&mut self) -> Result<String, SqlError> {
        if self.sees("BINARY") { self.name() } else { self.ident_or_text() }
    }

    /// `EXTRACT(unit FROM expr)`
    fn extract(&mut self) -> Result<Expr, SqlError> {
        self.opens();
        let unit = self.unit()?;
        self.expect("FROM")?;
        let date = self.boxed_expr()?;
        self.expect_operator(")")?;
        Ok(Expr::Extract(unit, date))
    }

    /// `TRIM([{BOTH | LEADING | TRAILING} [expr] FROM] expr)`, `TRIM(expr FROM expr)`
    fn trim(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.skip();
        let side = ["BOTH", "LEADING", "TRAILING"].into_iter().find(|side| self.takes(side));
        let args = if side.is_some() && self.takes("FROM") {
            vec![self.expr()?]
        } else {
            let first = self.expr()?;
            if self.takes("FROM") {
                vec![self.expr()?, first]
            } else if side.is_some() {
                return Err(self.unexpected());
            } else {
                vec![first]
            }
        };
        self.expect_operator(")")?;
        Ok(match side {
            None | Some("BOTH") => call(&name, args),
            Some(side) => call(&format!("{name} {side}"), args),
        })
    }

    /// `SUBSTRING(expr, expr [, expr])`, `SUBSTRING(expr FROM expr [FOR expr])`
    fn substring(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.skip();
        let mut args = vec![self.expr()?];
        if self.takes("FROM") {
            args.push(self.expr()?);
            if self.takes("FOR") {
                args.push(self.expr()?);
            }
            self.expect_operator(")")?;
        } else {
            args = self.rest_of_arguments(args, 2, 3)?;
        }
        Ok(call(&name, args))
    }

    /// `POSITION(bit_expr IN expr)`
    fn position(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.skip();
        let what = self.subexpr(Level::BitOr)?;
        self.expect("IN")?;
        let text = self.expr()?;
        self.expect_operator(")")?;
        Ok(call(&name, vec![what, text]))
    }

    /// `CHAR(expr [, expr] ... [USING charset])`
    fn char(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.skip();
        let args = self.exprs()?;
        let using = if self.takes("USING") { Some(cast_to_charset(&self.charset()?)?) } else { None };
        self.expect_operator(")")?;
        let bytes = call(&name, args);
        Ok(match using {
            Some(target) => Expr::Cast(Box::new(bytes), target),
            None => bytes,
        })
    }

    /// `GET_FORMAT({DATE | TIME | DATETIME | TIMESTAMP}, expr)`
    fn get_format(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.skip();
        let kind = self.keyword();
        if !matches!(kind.as_str(), "DATE" | "TIME" | "DATETIME" | "TIMESTAMP") {
            return Err(self.unexpected());
        }
        self.skip();
        self.expect_operator(",")?;
        let format = self.expr()?;
        self.expect_operator(")")?;
        Ok(call(&name, vec![Expr::Literal(Value::text(kind.as_str())), format]))
    }

    /// `WEIGHT_STRING(expr [AS {CHAR | BINARY}(length)])`
    fn weight_string(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.skip();
        let operand = self.expr()?;
        let mut args = vec![operand];
        if self.takes("AS") {
            let binary = self.sees("BINARY");
            if !binary && !self.sees("CHAR") {
                return Err(self.unexpected());
            }
            self.skip();
            let length = self.optional_length::<u32>()?.filter(|length| *length > 0);
            let length = length.ok_or_else(|| self.unexpected())?;
            if binary {
                let cast = |operand| Expr::Cast(Box::new(operand), CastType::Binary { bytes: Some(length) });
                args = args.into_iter().map(cast).collect();
            } else {
                args.push(Expr::Literal(Value::Int(length.into())));
            }
        }
        self.expect_operator(")")?;
        Ok(call(&name, args))
    }

    /// `{DATE_ADD | DATE_SUB}(expr, INTERVAL expr unit)`, `{ADDDATE | SUBDATE}(expr, {INTERVAL expr unit | expr})`
    fn date_arithmetic(&mut self, negated: bool, days: bool) -> Result<Expr, SqlError> {
        self.opens();
        let date = self.boxed_expr()?;
        self.expect_operator(",")?;
        if !days && !self.sees("INTERVAL") {
            return Err(self.unexpected());
        }
        let (amount, unit) = match self.interval_or_expr()? {
            Interval::Amount(amount, unit) => (amount, unit),
            Interval::Call(amount) if days => (amount, IntervalUnit::Day),
            // The function INTERVAL is no amount of anything.
            Interval::Call(_) => return Err(self.unexpected()),
        };
        self.expect_operator(")")?;
        Ok(Expr::DateAdd { date, amount: Box::new(amount), unit, negated })
    }

    /// `TIMESTAMPADD(unit, expr, expr)`
    fn timestamp_add(&mut self) -> Result<Expr, SqlError> {
        let (unit, amount, date) = self.timestamp_arithmetic()?;
        Ok(Expr::DateAdd { date, amount, unit, negated: false })
    }

    /// `TIMESTAMPDIFF(unit, expr, expr)`
    fn timestamp_diff(&mut self) -> Result<Expr, SqlError> {
        let (unit, from, to) = self.timestamp_arithmetic()?;
        Ok(Expr::TimestampDiff(unit, from, to))
    }

    fn timestamp_arithmetic(&mut self) -> Result<(IntervalUnit, Box<Expr>, Box<Expr>), SqlError> {
        self.opens();
        let unit = self.timestamp_unit()?;
        self.expect_operator(",")?;
        let first = self.boxed_expr()?;
        self.expect_operator(",")?;
        let second = self.boxed_expr()?;
        self.expect_operator(")")?;
        Ok((unit, first, second))
    }

    /// `GROUP_CONCAT([DISTINCT] expr [, expr] ... [ORDER BY ...] [SEPARATOR 'text'])`
    fn group_concat(&mut self) -> Result<Expr, SqlError> {
        self.opens();
        let distinct = self.takes("DISTINCT");
        let args = self.exprs()?;
        let order_by = if self.sees("ORDER") { self.order_by()? } else { Vec::new() };
        let separator = if self.takes("SEPARATOR") { Some(self.text()?) } else { None };
        self.expect_operator(")")?;
        let concat = Expr::GroupConcat(Box::new(GroupConcat { distinct, args, order_by, separator }));
        if self.sees("OVER") { self.over(concat) } else { Ok(concat) }
    }

    /// A unit that has one part, with or without `SQL_TSI_`.
    fn timestamp_unit(&mut self) -> Result<IntervalUnit, SqlError> {
        let keyword = self.keyword();
        let name = keyword.as_str();
        let unit = IntervalUnit::named(name.strip_prefix("SQL_TSI_").unwrap_or(name));
        let unit = unit.filter(|_| !name.trim_start_matches("SQL_TSI_").contains('_'));
        let unit = unit.ok_or_else(|| self.unexpected())?;
        self.skip();
        Ok(unit)
    }
}

fn cast_to_charset(charset: &str) -> Result<CastType, SqlError> {
    Ok(match charset_named(charset)?.default_collation() {
        Collation::Binary => CastType::Binary { bytes: None },
        collation => CastType::Char { chars: None, collation },
    })
}
