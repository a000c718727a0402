//! Calls of functions, those with a syntax of their own among them.

use super::cursor::Cursor;
use super::expression::{Interval, Level, call};
use super::lexer::Kind;
use super::words;
use crate::ast::{Expr, GroupConcat};
use crate::collation::Collation;
use crate::error::{ER_UNKNOWN_CHARACTER_SET, SqlError};
use crate::expr::{CastType, IntervalUnit};
use crate::value::Value;

/// As many arguments as one likes.
const MANY: usize = usize::MAX;

/// The functions that are part of MySQL's grammar: a wrong number of arguments is a syntax error there, as is the name
/// without parentheses where it is reserved. Each with the least and the most arguments.
#[rustfmt::skip]
const IN_GRAMMAR: [(&str, usize, usize); 63] = [
    ("ASCII", 1, 1), ("AVG", 1, 1), ("BIT_AND", 1, 1), ("BIT_OR", 1, 1), ("BIT_XOR", 1, 1), ("CHAR", 1, MANY),
    ("CHARSET", 1, 1), ("COALESCE", 1, MANY), ("COLLATION", 1, 1), ("COUNT", 1, 1), ("CUME_DIST", 0, 0),
    ("CURDATE", 0, 0), ("CURRENT_DATE", 0, 0), ("CURRENT_USER", 0, 0), ("DATABASE", 0, 0), ("DATE", 1, 1),
    ("DAY", 1, 1), ("DENSE_RANK", 0, 0), ("FIRST_VALUE", 1, 1), ("FORMAT", 2, 3), ("HOUR", 1, 1), ("IF", 3, 3),
    ("INSERT", 4, 4), ("JSON_ARRAYAGG", 1, 1), ("JSON_OBJECTAGG", 2, 2), ("LAG", 1, 3), ("LAST_VALUE", 1, 1),
    ("LEAD", 1, 3), ("LEFT", 2, 2), ("MAX", 1, 1), ("MICROSECOND", 1, 1), ("MIN", 1, 1), ("MINUTE", 1, 1),
    ("MOD", 2, 2), ("MONTH", 1, 1), ("NTH_VALUE", 2, 2), ("NTILE", 1, 1), ("PERCENT_RANK", 0, 0), ("QUARTER", 1, 1),
    ("RANK", 0, 0), ("REPEAT", 2, 2), ("REPLACE", 3, 3), ("REVERSE", 1, 1), ("RIGHT", 2, 2), ("ROW_COUNT", 0, 0),
    ("ROW_NUMBER", 0, 0), ("SCHEMA", 0, 0), ("SECOND", 1, 1), ("STD", 1, 1), ("STDDEV", 1, 1), ("STDDEV_POP", 1, 1),
    ("STDDEV_SAMP", 1, 1), ("SUM", 1, 1), ("TIMESTAMP", 1, 2), ("TRUNCATE", 2, 2), ("USER", 0, 0), ("UTC_DATE", 0, 0),
    ("VARIANCE", 1, 1), ("VAR_POP", 1, 1), ("VAR_SAMP", 1, 1), ("WEEK", 1, 2), ("WEIGHT_STRING", 1, 1), ("YEAR", 1, 1),
];

/// Functions of the time of the day: in parentheses stand the digits of its fraction.
const CLOCKS: [&str; 9] = [
    "NOW",
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "SYSDATE",
    "CURTIME",
    "CURRENT_TIME",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

/// Those that need no parentheses.
const BARE: [&str; 9] = [
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "CURRENT_TIME",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "CURRENT_DATE",
    "UTC_DATE",
    "CURRENT_USER",
];

impl Cursor<'_> {
    /// A call of a function, or a name.
    pub(super) fn function_or_name(&mut self) -> Result<Expr, SqlError> {
        let keyword = self.keyword();
        let word = keyword.as_str();
        if self.bytes(1) != b"(" || self.kind_at(1) != Some(Kind::Operator) {
            if BARE.contains(&word) {
                return Ok(call(&self.name()?, Vec::new()));
            }
            // What is reserved for a function can be nothing else.
            if words::is_reserved(word) && is_function(word) {
                self.skip();
                return Err(self.unexpected());
            }
            return self.named_or_stored();
        }
        if let Some(special) = self.special(word)? {
            return Ok(special);
        }
        if CLOCKS.contains(&word) {
            return self.clock();
        }
        let limits = IN_GRAMMAR.iter().find(|(known, ..)| *known == word);
        if limits.is_none() && !self.sees_ident() {
            return Err(self.unexpected());
        }
        let name = self.name()?;
        // A blank is only in the names of forms that have a syntax of their own.
        if name.contains(' ') {
            return Err(SqlError::new(crate::error::ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &name]));
        }
        let Some((_, least, most)) = limits else {
            return Ok(Expr::Call { args: self.arguments(0, MANY)?, name, distinct: false });
        };
        match keyword.as_str() {
            "COUNT" | "SUM" | "AVG" | "MIN" | "MAX" | "BIT_AND" | "BIT_OR" | "BIT_XOR" | "STD" | "STDDEV"
            | "STDDEV_POP" | "STDDEV_SAMP" | "VARIANCE" | "VAR_POP" | "VAR_SAMP" | "JSON_ARRAYAGG"
            | "JSON_OBJECTAGG" => {
                let aggregate = self.aggregate(name, *least, *most)?;
                if self.sees("OVER") { self.over(aggregate) } else { Ok(aggregate) }
            }
            "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "CUME_DIST" | "PERCENT_RANK" | "NTILE" | "LEAD" | "LAG"
            | "FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE" => {
                let args = self.arguments(*least, *most)?;
                self.over(Expr::Call { args, name, distinct: false })
            }
            _ => Ok(Expr::Call { args: self.arguments(*least, *most)?, name, distinct: false }),
        }
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

    /// `COUNT(*)`, `COUNT([ALL] expr)`, `COUNT(DISTINCT expr [, expr] ...)`, `SUM([ALL | DISTINCT] expr)` and so on
    fn aggregate(&mut self, name: String, least: usize, most: usize) -> Result<Expr, SqlError> {
        self.expect_operator("(")?;
        let counts = name.eq_ignore_ascii_case("COUNT");
        if counts && self.takes_operator("*") {
            self.expect_operator(")")?;
            return Ok(Expr::Call { name, args: Vec::new(), distinct: false });
        }
        let distinct = self.takes("DISTINCT");
        if !distinct {
            self.takes("ALL");
        }
        let most = if counts && distinct { MANY } else { most };
        let args = self.rest_of_arguments(Vec::new(), least, most)?;
        Ok(Expr::Call { name, args, distinct })
    }

    /// `name([fsp])`
    fn clock(&mut self) -> Result<Expr, SqlError> {
        let name = self.name()?;
        self.expect_operator("(")?;
        let mut args = Vec::new();
        let is_param = self.marks.get(self.at).is_some_and(|mark| mark.param.is_some());
        if self.sees_number() || is_param {
            args.push(self.primary()?);
        }
        self.expect_operator(")")?;
        Ok(call(&name, args))
    }

    /// A function whose arguments are not just expressions.
    fn special(&mut self, word: &str) -> Result<Option<Expr>, SqlError> {
        let parse: fn(&mut Self) -> Result<Expr, SqlError> = match word {
            "CAST" => Cursor::cast,
            "CONVERT" => Cursor::convert,
            "EXTRACT" => Cursor::extract,
            "TRIM" => Cursor::trim,
            "SUBSTRING" | "SUBSTR" | "MID" => Cursor::substring,
            "POSITION" => Cursor::position,
            "CHAR" => Cursor::char,
            "GET_FORMAT" => Cursor::get_format,
            "WEIGHT_STRING" => Cursor::weight_string,
            "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" => Cursor::date_arithmetic,
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => Cursor::timestamp_arithmetic,
            "GROUP_CONCAT" => Cursor::group_concat,
            _ => return Ok(None),
        };
        parse(self).map(Some)
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
        self.opens();
        let name = match self.keyword().as_str() {
            "LEADING" => Some("TRIM LEADING"),
            "TRAILING" => Some("TRIM TRAILING"),
            "BOTH" => Some("TRIM BOTH"),
            _ => None,
        };
        self.at += usize::from(name.is_some());
        // Without anything to compare with, its collation need not be settled.
        let args = if name.is_some() && self.takes("FROM") {
            vec![self.expr()?]
        } else {
            let first = self.expr()?;
            if self.takes("FROM") {
                vec![self.expr()?, first]
            } else if name.is_some() {
                return Err(self.unexpected());
            } else {
                vec![first]
            }
        };
        self.expect_operator(")")?;
        Ok(call(name.unwrap_or("TRIM BOTH"), args))
    }

    /// `SUBSTRING(expr, expr [, expr])`, `SUBSTRING(expr FROM expr [FOR expr])`
    fn substring(&mut self) -> Result<Expr, SqlError> {
        self.opens();
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
        Ok(call("SUBSTRING", args))
    }

    /// `POSITION(bit_expr IN expr)`
    fn position(&mut self) -> Result<Expr, SqlError> {
        self.opens();
        let what = self.subexpr(Level::BitOr)?;
        self.expect("IN")?;
        let text = self.expr()?;
        self.expect_operator(")")?;
        Ok(call("LOCATE", vec![what, text]))
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
        let mut operand = self.expr()?;
        if self.takes("AS") {
            if !self.sees("CHAR") && !self.sees("BINARY") {
                return Err(self.unexpected());
            }
            operand = self.cast_type(operand)?;
        }
        self.expect_operator(")")?;
        Ok(call(&name, vec![operand]))
    }

    /// `{DATE_ADD | DATE_SUB}(expr, INTERVAL expr unit)`, `{ADDDATE | SUBDATE}(expr, {INTERVAL expr unit | expr})`
    fn date_arithmetic(&mut self) -> Result<Expr, SqlError> {
        let keyword = self.keyword();
        let negated = keyword.as_str().contains("SUB");
        self.opens();
        let date = self.boxed_expr()?;
        self.expect_operator(",")?;
        if keyword.as_str().starts_with("DATE_") && !self.sees("INTERVAL") {
            return Err(self.unexpected());
        }
        let (amount, unit) = match self.interval_or_expr()? {
            Interval::Amount(amount, unit) => (amount, unit),
            // The function INTERVAL is no amount of anything for DATE_ADD.
            Interval::Call(_) if keyword.as_str().starts_with("DATE_") => return Err(self.unexpected()),
            Interval::Call(days) => (days, IntervalUnit::Day),
        };
        self.expect_operator(")")?;
        Ok(Expr::DateAdd { date, amount: Box::new(amount), unit, negated })
    }

    /// `{TIMESTAMPADD | TIMESTAMPDIFF}(unit, expr, expr)`
    fn timestamp_arithmetic(&mut self) -> Result<Expr, SqlError> {
        let adds = self.sees("TIMESTAMPADD");
        self.opens();
        let unit = self.timestamp_unit()?;
        self.expect_operator(",")?;
        let first = self.boxed_expr()?;
        self.expect_operator(",")?;
        let second = self.boxed_expr()?;
        self.expect_operator(")")?;
        Ok(if adds {
            Expr::DateAdd { date: second, amount: first, unit, negated: false }
        } else {
            Expr::TimestampDiff(unit, first, second)
        })
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
        let unit = super::expression::unit_named(name.strip_prefix("SQL_TSI_").unwrap_or(name));
        let unit = unit.filter(|_| !name.trim_start_matches("SQL_TSI_").contains('_'));
        let unit = unit.ok_or_else(|| self.unexpected())?;
        self.skip();
        Ok(unit)
    }
}

fn is_function(word: &str) -> bool {
    word == "CONVERT" || IN_GRAMMAR.iter().any(|(known, ..)| *known == word)
}

fn cast_to_charset(charset: &str) -> Result<CastType, SqlError> {
    match Collation::of_charset(charset) {
        None => Err(SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[&charset])),
        Some(Collation::Binary) => Ok(CastType::Binary { bytes: None }),
        Some(collation) => Ok(CastType::Char { chars: None, collation }),
    }
}
