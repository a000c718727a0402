//! The subset of XPath 1.0 that MySQL has: its syntax.
//!
//! Paths, predicates, operators, variables and some functions. As in MySQL an alternative of the grammar that does not
//! match may have read some tokens when the next one is tried, so that a few texts mean something that XPath refuses
//! (`@(1)`); [`Parser`] tries them in MySQL's order.
//!
//! Invariant: no expression is more than [`MAX_DEPTH`] levels deep, and no parser recurses deeper; 1436.

mod token;

use self::token::{FUNCTIONS, Function, Kind, Token, WORDS, Word, next_token};
use crate::error::{ER_STACK_OVERRUN_NEED_MORE, ER_UNKNOWN_ERROR, SqlError};
use crate::expr::{ArithmeticOp, CompareOp};
use crate::parse::MAX_DEPTH;
use crate::value::Value;

/// Bytes of a text that a message shows.
const SHOWN: usize = 32;

/// An expression.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) what: What,
    /// Levels of expressions, its own included.
    height: usize,
}

#[derive(Debug)]
pub(super) enum What {
    /// A set of nodes.
    Path(Start, Vec<Step>),
    /// A set of nodes, of two others.
    Union(Box<Expr>, Box<Expr>),
    /// A text or an integer.
    Constant(Value),
    /// A number with so many digits after the point.
    Float(f64, u8),
    Truth(bool),
    /// `$@name`
    Variable(String),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    /// Of two values.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// Whether a text of the set compares so with the value.
    CompareAny(CompareOp, Box<Expr>, Box<Expr>),
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    /// `boolean(x)`
    Boolean(Box<Expr>),
    /// `number(x)`
    Number(Box<Expr>),
    Count(Box<Expr>),
    Sum(Box<Expr>),
    Position,
    Last,
    /// A function of SQL.
    Call(&'static str, Vec<Expr>),
}

/// Where a path begins.
#[derive(Debug)]
pub(super) enum Start {
    Document,
    /// The node that a predicate is asked of.
    Context,
    Set(Box<Expr>),
}

#[derive(Debug)]
pub(super) enum Step {
    /// Nodes with a name; `None` for all.
    Axis(Axis, Option<String>),
    /// `[expr]`
    Predicate(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    /// Also of the axes that MySQL names and does not have.
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Itself,
}

impl Expr {
    pub(super) fn is_set(&self) -> bool {
        matches!(self.what, What::Path(..) | What::Union(..))
    }

    /// Whether it is true or false, so that a predicate is no place.
    pub(super) fn is_condition(&self) -> bool {
        matches!(
            self.what,
            What::Truth(_)
                | What::Not(_)
                | What::And(..)
                | What::Or(..)
                | What::Compare(..)
                | What::CompareAny(..)
                | What::Boolean(_)
        )
    }
}

/// Reads an expression. 1105 if it is none.
pub(super) fn parse(text: &str) -> Result<Expr, SqlError> {
    let end = Token { kind: Kind::End, at: 0..0 };
    let mut parser = Parser { text, token: end.clone(), last: end, depth: 0, context: Context::None };
    parser.advance();
    match parser.expression()? {
        Some(expr) if parser.token.kind == Kind::End => Ok(expr),
        _ => Err(parser.refused()),
    }
}

/// What a relative path and `position()` are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    None,
    /// The node of a predicate.
    Node,
}

/// `None` where an alternative of the grammar does not match, an error where nothing else can.
type Parsed<T> = Result<Option<T>, SqlError>;

struct Parser<'t> {
    text: &'t str,
    /// What comes next.
    token: Token,
    /// What was taken last.
    last: Token,
    depth: usize,
    context: Context,
}

impl<'t> Parser<'t> {
    /// Reads the next token.
    fn advance(&mut self) {
        let from = self.token.at.end;
        let blanks = self.text[from..].bytes().take_while(|byte| *byte == b' ').count();
        let start = from + blanks;
        let rest = &self.text[start..];
        let (kind, length) = next_token(rest);
        self.token = Token { kind, at: start..start + length };
    }

    fn take(&mut self, kind: &Kind) -> bool {
        if self.token.kind != *kind {
            return false;
        }
        self.last = self.token.clone();
        self.advance();
        true
    }

    fn sign(&mut self, sign: u8) -> bool {
        self.take(&Kind::Sign(sign))
    }

    fn taken(&self) -> &'t str {
        &self.text[self.last.at.clone()]
    }

    /// That the text is no expression from here on.
    fn refused(&self) -> SqlError {
        wrong(format_args!("XPATH syntax error: '{}'", shown(&self.text[self.token.at.start..])))
    }

    /// One more level of expressions.
    fn node(&self, what: What, parts: &[usize]) -> Result<Expr, SqlError> {
        let height = parts.iter().max().copied().unwrap_or_default() + 1;
        if height > MAX_DEPTH { Err(too_deep()) } else { Ok(Expr { what, height }) }
    }

    fn leaf(what: What) -> Expr {
        Expr { what, height: 1 }
    }

    /// An expression within parentheses, brackets or none.
    fn expression(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| parser.operators(0))
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Operators that bind as tightly as the level says, or more.
    fn operators(&mut self, level: usize) -> Parsed<Expr> {
        let Some(mut left) = self.operand(level)? else { return Ok(None) };
        loop {
            let from = self.token.at.start;
            let Some(operator) = self.operator(level) else { return Ok(Some(left)) };
            let right = match self.operand(level)? {
                Some(right) => right,
                None if level == 0 => return Ok(None),
                None => return Err(self.refused()),
            };
            left = self.combined(operator, left, right, from)?;
        }
    }

    fn operand(&mut self, level: usize) -> Parsed<Expr> {
        if level == LEVELS - 1 { self.unary() } else { self.operators(level + 1) }
    }

    fn operator(&mut self, level: usize) -> Option<Operator> {
        use Operator::{And, Arithmetic, Compare, Or};
        let or_equal = |parser: &mut Self, with, without| Compare(if parser.sign(b'=') { with } else { without });
        match level {
            0 => self.take(&Kind::Word(Word::Or)).then_some(Or),
            1 => self.take(&Kind::Word(Word::And)).then_some(And),
            2 if self.token.kind == Kind::Sign(b'!') => {
                let is_operator =
                    next_token(self.text[self.token.at.end..].trim_start_matches(' ')).0 == Kind::Sign(b'=');
                (is_operator && self.sign(b'!') && self.sign(b'=')).then_some(Compare(CompareOp::NotEqual))
            }
            2 => self.sign(b'=').then_some(Compare(CompareOp::Equal)),
            3 if self.sign(b'<') => Some(or_equal(self, CompareOp::LessOrEqual, CompareOp::Less)),
            3 if self.sign(b'>') => Some(or_equal(self, CompareOp::GreaterOrEqual, CompareOp::Greater)),
            4 if self.sign(b'+') => Some(Arithmetic(ArithmeticOp::Add)),
            4 if self.sign(b'-') => Some(Arithmetic(ArithmeticOp::Subtract)),
            5 if self.sign(b'*') => Some(Arithmetic(ArithmeticOp::Multiply)),
            5 if self.take(&Kind::Word(Word::Div)) => Some(Arithmetic(ArithmeticOp::IntDivide)),
            5 if self.take(&Kind::Word(Word::Mod)) => Some(Arithmetic(ArithmeticOp::Modulo)),
            _ => None,
        }
    }

    /// The operator began at the byte `from`.
    fn combined(&self, operator: Operator, left: Expr, right: Expr, from: usize) -> Result<Expr, SqlError> {
        let heights = [left.height, right.height];
        let sets = (left.is_set(), right.is_set());
        let (left, right) = (Box::new(left), Box::new(right));
        let what = match (operator, sets) {
            (Operator::Or, _) => What::Or(left, right),
            (Operator::And, _) => What::And(left, right),
            (Operator::Arithmetic(op), _) => What::Arithmetic(op, left, right),
            (Operator::Compare(op), (false, false)) => What::Compare(op, left, right),
            (Operator::Compare(op), (true, false)) => What::CompareAny(op, left, right),
            (Operator::Compare(op), (false, true)) => What::CompareAny(op.flipped(), right, left),
            (Operator::Compare(_), (true, true)) => {
                let place = shown(&self.text[from..]);
                let what = "comparison of two nodesets is not supported";
                return Err(wrong(format_args!("XPATH error: {what}: '{place}'")));
            }
        };
        self.node(what, &heights)
    }

    /// `-expr`, `path | path`
    fn unary(&mut self) -> Parsed<Expr> {
        if !self.sign(b'-') {
            return self.union();
        }
        let Some(operand) = self.deeper(Self::unary)? else { return Ok(None) };
        let height = [operand.height];
        self.node(What::Negate(Box::new(operand)), &height).map(Some)
    }

    fn union(&mut self) -> Parsed<Expr> {
        let Some(mut left) = self.path()? else { return Ok(None) };
        while self.sign(b'|') {
            if !left.is_set() {
                return Ok(None);
            }
            let right = self.path()?.filter(Expr::is_set).ok_or_else(|| self.refused())?;
            let heights = [left.height, right.height];
            left = self.node(What::Union(Box::new(left), Box::new(right)), &heights)?;
        }
        Ok(Some(left))
    }

    /// `step/step`, `/step/step`, `//step`, `primary/step`, or a primary expression.
    fn path(&mut self) -> Parsed<Expr> {
        let mut steps = Steps::default();
        if self.steps(&mut steps)? {
            let start = if self.context == Context::Node { Start::Context } else { Start::Document };
            return self.node(What::Path(start, steps.steps), &[steps.height]).map(Some);
        }
        if self.sign(b'/') {
            let all_within = self.sign(b'/');
            if all_within {
                steps.everything_within();
            }
            // As in MySQL what was read counts, so that `//` alone is refused and `/` is not.
            if self.steps(&mut steps)? || !all_within {
                return self.node(What::Path(Start::Document, steps.steps), &[steps.height]).map(Some);
            }
        }
        let Some(primary) = self.primary()? else { return Ok(None) };
        let slash = self.token.at.start;
        if !self.sign(b'/') {
            return Ok(Some(primary));
        }
        if !primary.is_set() {
            return Err(wrong(format_args!("XPATH syntax error: '{}'", shown(&self.text[slash..]))));
        }
        let height = primary.height;
        let mut steps = Steps::default();
        if self.sign(b'/') {
            steps.everything_within();
        }
        if !self.steps(&mut steps)? {
            return Ok(None);
        }
        self.node(What::Path(Start::Set(Box::new(primary)), steps.steps), &[steps.height, height]).map(Some)
    }

    /// `step/step`, `step//step`; whether there is one.
    fn steps(&mut self, steps: &mut Steps) -> Result<bool, SqlError> {
        if !self.step(steps)? {
            return Ok(false);
        }
        while self.sign(b'/') {
            if self.sign(b'/') {
                steps.everything_within();
            }
            if !self.step(steps)? {
                return Err(self.refused());
            }
        }
        Ok(true)
    }

    /// `axis::test[predicate]`, `@test[predicate]`, `.`, `..`
    fn step(&mut self, steps: &mut Steps) -> Result<bool, SqlError> {
        let mut axis = Axis::Child;
        if let Kind::Axis(named) = self.token.kind {
            // It is such a token if and only if two colons follow.
            self.advance();
            self.sign(b':');
            self.sign(b':');
            axis = named;
        } else if self.sign(b'@') {
            axis = Axis::Attribute;
        }
        if self.node_test(axis, steps) {
            while self.sign(b'[') {
                self.predicate(steps)?;
            }
            return Ok(true);
        }
        if !self.sign(b'.') {
            return Ok(false);
        }
        if self.sign(b'.') {
            steps.steps.push(Step::Axis(Axis::Parent, None));
        }
        Ok(true)
    }

    fn predicate(&mut self, steps: &mut Steps) -> Result<(), SqlError> {
        let around = std::mem::replace(&mut self.context, Context::Node);
        let predicate = self.expression()?.ok_or_else(|| self.refused())?;
        self.context = around;
        if !self.sign(b']') {
            return Err(self.refused());
        }
        steps.height = steps.height.max(predicate.height);
        steps.steps.push(Step::Predicate(predicate));
        Ok(())
    }

    /// `*`, `name`, `prefix:name`, or `text()` and the like, which leave the set as it is.
    fn node_test(&mut self, axis: Axis, steps: &mut Steps) -> bool {
        if self.sign(b'*') {
            steps.steps.push(Step::Axis(axis, None));
            return true;
        }
        if let Some(name) = self.qualified_name() {
            steps.steps.push(Step::Axis(axis, Some(name.to_owned())));
            return true;
        }
        self.take(&Kind::NodeType) && self.sign(b'(') && self.sign(b')')
    }

    fn qualified_name(&mut self) -> Option<&'t str> {
        if !self.name() {
            return None;
        }
        let start = self.last.at.start;
        if self.sign(b':') && !self.name() {
            return None;
        }
        // A colon stands between two names.
        Some(&self.text[start..self.last.at.end])
    }

    fn name(&mut self) -> bool {
        self.take(&Kind::Name) || WORDS.iter().any(|(_, word)| self.take(&Kind::Word(*word)))
    }

    /// `(expr)`, `$@variable`, `'text'`, a number, or a call.
    fn primary(&mut self) -> Parsed<Expr> {
        if self.sign(b'(')
            && let Some(inner) = self.expression()?
            && self.sign(b')')
        {
            return Ok(Some(inner));
        }
        if let Some(variable) = self.variable()? {
            return Ok(Some(variable));
        }
        if self.take(&Kind::Text) {
            let quoted = self.taken();
            return Ok(Some(Self::leaf(What::Constant(Value::text(&quoted[1..quoted.len() - 1])))));
        }
        if self.take(&Kind::Digits) {
            return Ok(Some(self.number()));
        }
        match self.token.kind {
            Kind::Function(_) => self.call(),
            _ => Ok(None),
        }
    }

    /// `$@name` is a variable of the session; `$name` is one of a stored program, of which there is none.
    fn variable(&mut self) -> Parsed<Expr> {
        let dollar = self.token.at.start;
        if !self.sign(b'$') {
            return Ok(None);
        }
        let of_session = self.sign(b'@');
        if !self.take(&Kind::Name) {
            return Ok(None);
        }
        if !of_session {
            return Err(wrong(format_args!("Unknown XPATH variable at: '{}'", shown(&self.text[dollar..]))));
        }
        Ok(Some(Self::leaf(What::Variable(self.taken().to_lowercase()))))
    }

    /// What the digits that were taken begin. An integer is cut to 64 bits, whose first one is the sign.
    fn number(&mut self) -> Expr {
        let start = self.last.at.start;
        if !self.sign(b'.') {
            let digits = self.taken();
            return Self::leaf(What::Constant(Value::Int(digits.parse::<u64>().unwrap_or(u64::MAX) as i64)));
        }
        self.take(&Kind::Digits);
        // Blanks may stand within; then the number ends there.
        let written = &self.text[start..self.last.at.end];
        let whole = written.bytes().take_while(u8::is_ascii_digit).count();
        let fraction = written[whole..].strip_prefix('.').unwrap_or_default();
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let point = usize::from(digits > 0);
        let value = written[..whole + point + digits].parse().unwrap_or_default();
        Self::leaf(What::Float(value, digits.min(usize::from(u8::MAX)) as u8))
    }

    fn call(&mut self) -> Parsed<Expr> {
        let Kind::Function(function) = self.token.kind else { return Ok(None) };
        let (least, most) =
            FUNCTIONS.iter().find(|known| known.1 == function).map_or((0, 0), |(.., least, most)| (*least, *most));
        // The token was one since a parenthesis follows.
        self.take(&Kind::Function(function));
        self.sign(b'(');
        let mut args = Vec::new();
        while args.len() < most {
            let Some(arg) = self.expression()? else {
                if args.len() < least {
                    return Ok(None);
                }
                break;
            };
            args.push(arg);
            if !self.sign(b',') {
                if args.len() < least {
                    return Ok(None);
                }
                break;
            }
        }
        if self.sign(b')') { self.called(function, args) } else { Ok(None) }
    }

    /// `None` of a function that does not take these arguments.
    fn called(&self, function: Function, mut args: Vec<Expr>) -> Parsed<Expr> {
        let height = args.iter().map(|arg| arg.height).max().unwrap_or_default();
        let in_predicate = self.context == Context::Node;
        let is_set = args.first().is_some_and(Expr::is_set);
        let context = |start| Box::new(Self::leaf(What::Path(start, Vec::new())));
        let first = args.pop_if(|_| function.is_of_one()).map(Box::new);
        let what = match (function, first) {
            (Function::True, _) => What::Truth(true),
            (Function::False, _) => What::Truth(false),
            (Function::Last, _) if in_predicate => What::Last,
            (Function::Position, _) if in_predicate => What::Position,
            (Function::Not, Some(arg)) => What::Not(arg),
            (Function::Boolean, Some(arg)) => What::Boolean(arg),
            (Function::Number, Some(arg)) => What::Number(arg),
            (Function::Number, None) if in_predicate => What::Number(context(Start::Context)),
            (Function::Number, None) => What::Number(context(Start::Document)),
            (Function::Count, Some(arg)) if is_set => What::Count(arg),
            (Function::Sum, Some(arg)) if is_set => What::Sum(arg),
            (Function::StringLength, Some(arg)) => What::Call("char_length", vec![*arg]),
            (Function::StringLength, None) if in_predicate => What::Call("char_length", vec![*context(Start::Context)]),
            (Function::Floor, Some(arg)) => What::Call("floor", vec![*arg]),
            (Function::Ceiling, Some(arg)) => What::Call("ceiling", vec![*arg]),
            (Function::Round, Some(arg)) => What::Call("round", vec![*arg]),
            (Function::Substring, _) => What::Call("substring", args),
            (Function::Contains, _) => What::Boolean(Box::new(self.node(What::Call("instr", args), &[height])?)),
            (Function::Concat, _) => {
                // As in MySQL others are not looked at.
                args.truncate(2);
                What::Call("concat", args)
            }
            _ => return Ok(None),
        };
        // Some calls are two levels.
        self.node(what, &[height + 1]).map(Some)
    }
}

enum Operator {
    Or,
    And,
    Compare(CompareOp),
    Arithmetic(ArithmeticOp),
}

/// Levels of operators: `or`, `and`, `=`, `<`, `+`, `*`.
const LEVELS: usize = 6;

/// Steps of a path, and the height of their predicates.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    height: usize,
}

impl Steps {
    /// `//`
    fn everything_within(&mut self) {
        self.steps.push(Step::Axis(Axis::DescendantOrSelf, None));
    }
}

/// As much of a text as a message has room for.
fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN)]
}

fn wrong(what: std::fmt::Arguments<'_>) -> SqlError {
    SqlError::new(ER_UNKNOWN_ERROR, &[&what])
}

fn too_deep() -> SqlError {
    SqlError::new(ER_STACK_OVERRUN_NEED_MORE, &[])
}
