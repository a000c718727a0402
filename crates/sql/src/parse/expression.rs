//! Expressions: operators by how tightly they bind, from loose to tight as [`Level`] lists them.
//!
//! MySQL's grammar is in layers: `expr` (OR to NOT), `bool_pri` (IS and comparisons), `predicate`, `bit_expr`,
//! `simple_expr`. An operator takes an operand of a looser layer only in parentheses, on both sides: `2 IN (2) + 1` and
//! `1 = NOT 2` are syntax errors. Comparisons are looser than predicates: `a = b LIKE c` is `a = (b LIKE c)`. Chains of
//! IS and of predicates go to the left, which MariaDB reads and MySQL does not.

use super::cursor::Cursor;
use super::lexer::Kind;
use crate::ast::Expr;
use crate::collation::Collation;
use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::expr::{ArithmeticOp, CompareOp, IntervalUnit, UnaryOp};
use crate::types::SqlMode;
use crate::value::Value;

/// How tightly an operator binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Or,
    Xor,
    And,
    Not,
    /// Comparisons and IS.
    Compare,
    /// LIKE, IN, BETWEEN and the like.
    Predicate,
    BitOr,
    BitAnd,
    Shift,
    Sum,
    Product,
    BitXor,
    /// `||` where it concatenates.
    Concat,
    /// `-x` and the like.
    Prefix,
    Collate,
    /// An operand.
    Primary,
}

/// What follows an operand.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Xor,
    Is,
    Compare(CompareOp),
    /// A predicate, whether NOT stands before it.
    Like(bool),
    Regexp(bool),
    In(bool),
    Between(bool),
    SoundsLike,
    MemberOf,
    Arithmetic(ArithmeticOp),
    Concat,
    Collate,
}

impl Cursor<'_> {
    /// `expr`
    pub(super) fn expr(&mut self) -> Result<Expr, SqlError> {
        self.subexpr(Level::Or)
    }

    pub(super) fn boxed_expr(&mut self) -> Result<Box<Expr>, SqlError> {
        self.expr().map(Box::new)
    }

    /// `expr [, expr] ...`
    pub(super) fn exprs(&mut self) -> Result<Vec<Expr>, SqlError> {
        self.separated(Cursor::expr)
    }

    /// An expression whose operators bind at least as tightly as `least`.
    pub(super) fn subexpr(&mut self, least: Level) -> Result<Expr, SqlError> {
        self.nested(|cursor| {
            let (left, level) = cursor.prefixed(least)?;
            cursor.continued(left, level, least)
        })
    }

    fn boxed(&mut self, least: Level) -> Result<Box<Expr>, SqlError> {
        self.subexpr(least).map(Box::new)
    }

    /// `{NOT | ! | - | + | ~ | BINARY} operand`, or an operand, and how tightly it holds together.
    fn prefixed(&mut self, least: Level) -> Result<(Expr, Level), SqlError> {
        match self.kind() {
            Some(Kind::Operator) => match self.bytes(0) {
                b"-" => return self.negated(),
                b"+" => {
                    self.skip();
                    return Ok((self.subexpr(Level::Prefix)?, Level::Prefix));
                }
                b"~" => {
                    self.skip();
                    return Ok((Expr::Unary(UnaryOp::BitNot, self.boxed(Level::Prefix)?), Level::Prefix));
                }
                b"!" => {
                    self.skip();
                    return Ok((Expr::Not(self.boxed(Level::Prefix)?), Level::Prefix));
                }
                _ => {}
            },
            Some(Kind::Word) => match self.keyword().as_str() {
                "NOT" => {
                    let high = self.sql_mode.contains(SqlMode::HIGH_NOT_PRECEDENCE);
                    let level = if high { Level::Prefix } else { Level::Not };
                    if least > level {
                        return Err(self.unexpected());
                    }
                    self.skip();
                    return Ok((Expr::Not(self.boxed(level)?), level));
                }
                "BINARY" => {
                    self.skip();
                    let bytes = crate::expr::CastType::Binary { bytes: None };
                    return Ok((Expr::Cast(self.boxed(Level::Prefix)?, bytes), Level::Prefix));
                }
                "INTERVAL" => return self.interval_first(),
                _ => {}
            },
            _ => {}
        }
        Ok((self.primary()?, Level::Primary))
    }

    /// `- simple_expr`; a number takes its sign: the least integer has no positive counterpart.
    fn negated(&mut self) -> Result<(Expr, Level), SqlError> {
        self.skip();
        if self.sees_number() {
            let number = self.number(true)?;
            return Ok((Expr::Literal(number), Level::Primary));
        }
        Ok((Expr::Unary(UnaryOp::Negate, self.boxed(Level::Prefix)?), Level::Prefix))
    }

    /// What operators that bind at least as tightly as `least` make of an operand that holds together like `level`.
    pub(super) fn continued(&mut self, mut left: Expr, mut level: Level, least: Level) -> Result<Expr, SqlError> {
        while let Some((infix, binds)) = self.infix() {
            if binds < least || binds > level {
                break;
            }
            self.becomes_operand()?;
            left = self.operation(left, infix)?;
            level = binds;
        }
        // NOT after an operand begins a predicate, and nothing else.
        if least <= Level::Predicate && level > Level::Predicate && self.infix().is_none() && self.takes("NOT") {
            return Err(self.unexpected());
        }
        Ok(left)
    }

    /// The infix operator that is next.
    fn infix(&self) -> Option<(Infix, Level)> {
        match self.kind()? {
            Kind::Operator => self.infix_operator(),
            Kind::Word => self.infix_word(),
            _ => None,
        }
    }

    fn infix_operator(&self) -> Option<(Infix, Level)> {
        let compare = |op| Some((Infix::Compare(op), Level::Compare));
        let arithmetic = |op, level| Some((Infix::Arithmetic(op), level));
        match self.bytes(0) {
            b"=" => compare(CompareOp::Equal),
            b"<>" | b"!=" => compare(CompareOp::NotEqual),
            b"<" => compare(CompareOp::Less),
            b"<=" => compare(CompareOp::LessOrEqual),
            b">" => compare(CompareOp::Greater),
            b">=" => compare(CompareOp::GreaterOrEqual),
            b"<=>" => compare(CompareOp::NullSafeEqual),
            b"+" => arithmetic(ArithmeticOp::Add, Level::Sum),
            b"-" => arithmetic(ArithmeticOp::Subtract, Level::Sum),
            b"*" => arithmetic(ArithmeticOp::Multiply, Level::Product),
            b"/" => arithmetic(ArithmeticOp::Divide, Level::Product),
            b"%" => arithmetic(ArithmeticOp::Modulo, Level::Product),
            b"|" => arithmetic(ArithmeticOp::BitOr, Level::BitOr),
            b"&" => arithmetic(ArithmeticOp::BitAnd, Level::BitAnd),
            b"^" => arithmetic(ArithmeticOp::BitXor, Level::BitXor),
            b"<<" => arithmetic(ArithmeticOp::ShiftLeft, Level::Shift),
            b">>" => arithmetic(ArithmeticOp::ShiftRight, Level::Shift),
            b"&&" => Some((Infix::And, Level::And)),
            b"||" if self.sql_mode.contains(SqlMode::PIPES_AS_CONCAT) => Some((Infix::Concat, Level::Concat)),
            b"||" => Some((Infix::Or, Level::Or)),
            _ => None,
        }
    }

    fn infix_word(&self) -> Option<(Infix, Level)> {
        let (keyword, after);
        keyword = self.keyword();
        let (negated, word) = match keyword.as_str() {
            "NOT" => {
                after = self.keyword_at(1);
                (true, after.as_str())
            }
            word => (false, word),
        };
        let predicate = |infix| Some((infix, Level::Predicate));
        match word {
            "LIKE" => predicate(Infix::Like(negated)),
            "IN" => predicate(Infix::In(negated)),
            "BETWEEN" => predicate(Infix::Between(negated)),
            "REGEXP" | "RLIKE" => predicate(Infix::Regexp(negated)),
            _ if negated => None,
            "AND" => Some((Infix::And, Level::And)),
            "OR" => Some((Infix::Or, Level::Or)),
            "XOR" => Some((Infix::Xor, Level::Xor)),
            "IS" => Some((Infix::Is, Level::Compare)),
            "DIV" => Some((Infix::Arithmetic(ArithmeticOp::IntDivide), Level::Product)),
            "MOD" => Some((Infix::Arithmetic(ArithmeticOp::Modulo), Level::Product)),
            "COLLATE" => Some((Infix::Collate, Level::Collate)),
            "SOUNDS" if self.sees_at(1, "LIKE") => predicate(Infix::SoundsLike),
            "MEMBER" if self.sees_at(1, "OF") || self.bytes(1) == b"(" => predicate(Infix::MemberOf),
            _ => None,
        }
    }

    /// Reads an infix operator and what follows it.
    fn operation(&mut self, left: Expr, infix: Infix) -> Result<Expr, SqlError> {
        if let Infix::Like(true) | Infix::Regexp(true) | Infix::In(true) | Infix::Between(true) = infix {
            self.skip();
        }
        match infix {
            Infix::And => return self.chain(left, Infix::And, Level::And, Level::Not).map(Expr::And),
            Infix::Or => return self.chain(left, Infix::Or, Level::Or, Level::Xor).map(Expr::Or),
            _ => {}
        }
        self.skip();
        match infix {
            Infix::And | Infix::Or => unreachable!("chains are read above"),
            Infix::Xor => Ok(Expr::Xor(Box::new(left), self.boxed(Level::And)?)),
            Infix::Is => self.is(left),
            Infix::Compare(op) => self.comparison(left, op),
            Infix::Like(negated) => self.like(left, negated),
            Infix::Regexp(negated) => {
                let matches = call("REGEXP_LIKE", vec![left, self.subexpr(Level::BitOr)?]);
                Ok(if negated { Expr::Not(Box::new(matches)) } else { matches })
            }
            Infix::In(negated) => self.in_list(left, negated),
            Infix::Between(negated) => self.between(left, negated),
            Infix::SoundsLike => {
                self.expect("LIKE")?;
                let right = call("SOUNDEX", vec![self.subexpr(Level::BitOr)?]);
                Ok(Expr::Compare(CompareOp::Equal, Box::new(call("SOUNDEX", vec![left])), Box::new(right)))
            }
            Infix::MemberOf => {
                self.takes("OF");
                self.expect_operator("(")?;
                let array = self.boxed(Level::Prefix)?;
                self.expect_operator(")")?;
                Ok(Expr::MemberOf(Box::new(left), array))
            }
            Infix::Arithmetic(op) => self.arithmetic(left, op),
            Infix::Concat => Ok(call("CONCAT", vec![left, self.subexpr(Level::Prefix)?])),
            Infix::Collate => {
                let collation = self.collation()?;
                Ok(Expr::Collate(Box::new(left), collation))
            }
        }
    }

    /// `expr {AND | OR} expr ...`: one level, however many.
    fn chain(&mut self, left: Expr, link: Infix, binds: Level, operand: Level) -> Result<Vec<Expr>, SqlError> {
        let mut parts = vec![left];
        while self.infix().is_some_and(|(infix, level)| level == binds && same(infix, link)) {
            self.skip();
            parts.push(self.subexpr(operand)?);
        }
        Ok(parts)
    }

    /// `bool_pri IS [NOT] {NULL | TRUE | FALSE | UNKNOWN}`
    fn is(&mut self, left: Expr) -> Result<Expr, SqlError> {
        let negated = self.takes("NOT");
        let operand = Box::new(left);
        let test = match self.keyword().as_str() {
            "NULL" | "UNKNOWN" => Expr::IsNull { operand, negated },
            "TRUE" => Expr::IsTruth { operand, truth: true, negated },
            "FALSE" => Expr::IsTruth { operand, truth: false, negated },
            _ => return Err(self.unexpected()),
        };
        self.skip();
        Ok(test)
    }

    /// `bool_pri comp_op predicate`, `bool_pri comp_op {ALL | ANY | SOME} (subquery)`
    fn comparison(&mut self, left: Expr, op: CompareOp) -> Result<Expr, SqlError> {
        let all = match self.keyword().as_str() {
            "ALL" => Some(true),
            "ANY" | "SOME" if self.bytes(1) == b"(" => Some(false),
            _ => None,
        };
        let Some(all) = all.filter(|_| op != CompareOp::NullSafeEqual) else {
            return Ok(Expr::Compare(op, Box::new(left), self.boxed(Level::Predicate)?));
        };
        self.skip();
        let query = self.subquery()?;
        Ok(Expr::Quantified { op, operand: Box::new(left), all, query: Box::new(query) })
    }

    /// `bit_expr [NOT] LIKE simple_expr [ESCAPE simple_expr]`
    fn like(&mut self, left: Expr, negated: bool) -> Result<Expr, SqlError> {
        let pattern = self.boxed(Level::BitOr)?;
        let escape = if self.takes("ESCAPE") {
            match self.subexpr(Level::BitOr)? {
                Expr::Literal(Value::Text(text)) | Expr::Introduced(_, Value::Text(text))
                    if text.chars().count() <= 1 =>
                {
                    text.chars().next()
                }
                _ => return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&"ESCAPE"])),
            }
        } else {
            Some('\\')
        };
        Ok(Expr::Like { operand: Box::new(left), pattern, escape, negated })
    }

    /// `bit_expr [NOT] IN {(subquery) | (expr [, expr] ...)}`
    fn in_list(&mut self, left: Expr, negated: bool) -> Result<Expr, SqlError> {
        let operand = Box::new(left);
        if self.sees_subquery(0) {
            let query = Box::new(self.subquery()?);
            return Ok(Expr::InQuery { operand, query, negated });
        }
        self.expect_operator("(")?;
        let mut list = self.exprs()?;
        // `IN ((SELECT ...))`: more parentheses make no row of it. `IN ((SELECT ...) UNION ...)` is one query as well.
        if let [Expr::Subquery(_)] = list.as_slice()
            && let Some(Expr::Subquery(query)) = list.pop()
        {
            let query = self.rest_of_query(*query)?;
            self.expect_operator(")")?;
            return Ok(Expr::InQuery { operand, query: Box::new(query), negated });
        }
        self.expect_operator(")")?;
        Ok(Expr::In { operand, list, negated })
    }

    /// `bit_expr [NOT] BETWEEN bit_expr AND predicate`
    fn between(&mut self, left: Expr, negated: bool) -> Result<Expr, SqlError> {
        let low = self.boxed(Level::BitOr)?;
        self.expect("AND")?;
        let high = self.boxed(Level::Predicate)?;
        Ok(Expr::Between { operand: Box::new(left), low, high, negated })
    }

    /// `bit_expr op bit_expr`, `bit_expr {+ | -} INTERVAL expr unit`
    fn arithmetic(&mut self, left: Expr, op: ArithmeticOp) -> Result<Expr, SqlError> {
        let tighter = match op {
            ArithmeticOp::BitOr => Level::BitAnd,
            ArithmeticOp::BitAnd => Level::Shift,
            ArithmeticOp::ShiftLeft | ArithmeticOp::ShiftRight => Level::Sum,
            ArithmeticOp::Add | ArithmeticOp::Subtract => Level::Product,
            ArithmeticOp::BitXor => Level::Concat,
            _ => Level::BitXor,
        };
        if tighter == Level::Product && self.takes("INTERVAL") {
            let operand = self.nested(|cursor| {
                Ok(match cursor.interval()? {
                    Interval::Call(call) => Err(cursor.continued(call, Level::Primary, Level::Product)?),
                    Interval::Amount(amount, unit) => Ok((amount, unit)),
                })
            })?;
            return Ok(match operand {
                Err(right) => Expr::Arithmetic(op, Box::new(left), Box::new(right)),
                Ok((amount, unit)) => Expr::DateAdd {
                    date: Box::new(left),
                    amount: Box::new(amount),
                    unit,
                    negated: op == ArithmeticOp::Subtract,
                },
            });
        }
        Ok(Expr::Arithmetic(op, Box::new(left), self.boxed(tighter)?))
    }

    /// `INTERVAL expr unit + expr`, whose second operand takes all up to comparisons, or `INTERVAL(expr, expr ...)`
    fn interval_first(&mut self) -> Result<(Expr, Level), SqlError> {
        self.expect("INTERVAL")?;
        match self.interval()? {
            Interval::Call(call) => Ok((call, Level::Primary)),
            Interval::Amount(amount, unit) => {
                self.expect_operator("+")?;
                let date = self.boxed(Level::Compare)?;
                Ok((Expr::DateAdd { date, amount: Box::new(amount), unit, negated: false }, Level::Primary))
            }
        }
    }

    /// What follows INTERVAL. Read once: what the parenthesis is shows after its first element.
    pub(super) fn interval(&mut self) -> Result<Interval, SqlError> {
        let amount = if self.sees_operator("(") {
            match self.parenthesised()? {
                Expr::Row(args) => return Ok(Interval::Call(call("INTERVAL", args))),
                amount => self.continued(amount, Level::Primary, Level::Or)?,
            }
        } else {
            self.expr()?
        };
        Ok(Interval::Amount(amount, self.unit()?))
    }

    /// `collation_name`
    fn collation(&mut self) -> Result<Collation, SqlError> {
        // `binary` is a keyword and a collation.
        let name = if self.sees("BINARY") { self.name()? } else { self.ident_or_text()? };
        Collation::named(&name)
    }

    /// A unit of time.
    pub(super) fn unit(&mut self) -> Result<IntervalUnit, SqlError> {
        let unit = IntervalUnit::named(self.keyword().as_str()).ok_or_else(|| self.unexpected())?;
        self.skip();
        Ok(unit)
    }
}

/// What INTERVAL begins.
pub(super) enum Interval {
    /// The function.
    Call(Expr),
    /// So many units.
    Amount(Expr, IntervalUnit),
}

fn same(infix: Infix, link: Infix) -> bool {
    matches!((infix, link), (Infix::And, Infix::And) | (Infix::Or, Infix::Or))
}

pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call { name: name.to_owned(), args, distinct: false }
}
