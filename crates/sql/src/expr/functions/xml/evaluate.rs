//! What an XPath expression is, of a document.
//!
//! A set of nodes is a list in the order in which steps find them, a node as often as it is found: COUNT counts it so, as in
//! MySQL. The text of a set are the texts right within its nodes, in the order of the document. Numbers and texts are
//! values of SQL, and operators those of SQL.

use std::cell::Cell;

use super::document::{Document, Kind};
use super::path::{Axis, Expr, Start, Step, What};
use crate::error::SqlError;
use crate::expr::compare::compare;
use crate::expr::convert::{to_bytes, to_f64, to_i64};
use crate::expr::functions::{Arguments, build};
use crate::expr::{self, EvalContext};
use crate::types::number_text;
use crate::value::Value;

/// Nodes that are looked at before it is looked whether the statement was killed.
const LOOKS: u32 = 4096;

/// A node of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) node: u32,
    /// Nodes before it that the same step found from the same node.
    position: u32,
    /// Nodes of the set, of one that a predicate is asked of; else 0.
    size: u32,
}

pub(super) struct Evaluation<'e, 'a, 'b> {
    document: &'e Document<'e>,
    args: &'e Arguments<'a, 'b>,
    looked: Cell<u32>,
}

impl<'e, 'a, 'b> Evaluation<'e, 'a, 'b> {
    pub(super) fn new(document: &'e Document<'e>, args: &'e Arguments<'a, 'b>) -> Evaluation<'e, 'a, 'b> {
        Evaluation { document, args, looked: Cell::new(0) }
    }

    fn cx(&self) -> &EvalContext<'b> {
        self.args.cx
    }

    /// What stands before and after a node.
    pub(super) fn around(&self, place: Place) -> (&'e [u8], &'e [u8]) {
        self.document.around(place.node)
    }

    /// The text of an expression; NULL if it is.
    pub(super) fn text(&self, expr: &Expr, context: Option<Place>) -> Result<Value, SqlError> {
        let value = self.value(expr, context)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        match (&value, fixed_digits(expr)) {
            (Value::Double(double), Some(digits)) => {
                self.args.string(format!("{double:.*}", usize::from(digits)).into_bytes())
            }
            (Value::Text(_), _) if !self.args.is_binary() => Ok(value),
            _ => self.args.string(to_bytes(&value).into_owned()),
        }
    }

    fn value(&self, expr: &Expr, context: Option<Place>) -> Result<Value, SqlError> {
        Ok(match &expr.what {
            What::Path(..) | What::Union(..) => self.text_of(&self.set(expr, context)?)?,
            What::Constant(value) => value.clone(),
            What::Float(double, _) => Value::Double(*double),
            What::Variable(name) => self.cx().statement.user_variable(name),
            What::Number(arg) => match self.value(arg, context)? {
                Value::Null => Value::Null,
                value => Value::Double(to_f64(&value, self.cx())?),
            },
            What::Position => Value::Int(context.map_or(0, |place| i64::from(place.position) + 1)),
            What::Last => Value::Int(context.map_or(0, |place| i64::from(place.size))),
            What::Count(set) => {
                let set = self.set(set, context)?;
                // The node of a predicate is counted as the set that it is of, as in MySQL.
                let size = if let [place] = set[..] { place.size } else { 0 };
                Value::Int(if size > 0 { size.into() } else { set.len() as i64 })
            }
            What::Sum(set) => Value::Double(self.sum(&self.set(set, context)?)?),
            What::Arithmetic(op, left, right) => {
                let (left, right) = (self.operand(left, context)?, self.operand(right, context)?);
                expr::Expr::arithmetic(*op, left, right)?.eval(&[], self.cx())?
            }
            What::Negate(arg) => expr::Expr::negate(self.operand(arg, context)?)?.eval(&[], self.cx())?,
            What::Call(name, args) => {
                // Of SUBSTRING only the first argument is a text.
                let is_text = |at| at == 0 || *name != "substring";
                let operand = |(at, arg)| self.argument(arg, context, is_text(at));
                let args = args.iter().enumerate().map(operand).collect::<Result<_, _>>()?;
                build(name, args, self.args.collation)?.eval(&[], self.cx())?
            }
            _ => match self.truth(expr, context)? {
                Some(truth) => Value::bool(truth),
                None => Value::Null,
            },
        })
    }

    /// An expression as an operand of SQL.
    fn operand(&self, expr: &Expr, context: Option<Place>) -> Result<expr::Expr, SqlError> {
        Ok(self.literal(self.value(expr, context)?))
    }

    /// An argument of a function of SQL. As a text a number has the digits that it is shown with.
    fn argument(&self, expr: &Expr, context: Option<Place>, is_text: bool) -> Result<expr::Expr, SqlError> {
        if is_text && fixed_digits(expr) > Some(0) {
            return Ok(self.literal(self.text(expr, context)?));
        }
        self.operand(expr, context)
    }

    fn literal(&self, value: Value) -> expr::Expr {
        match value {
            value @ (Value::Text(_) | Value::Bytes(_)) => expr::Expr::Text(value, self.args.collation),
            value => expr::Expr::Literal(value),
        }
    }

    /// Whether an expression is true; `None` if that is unknown (a NULL). A set is if it has one node, as in MySQL.
    fn truth(&self, expr: &Expr, context: Option<Place>) -> Result<Option<bool>, SqlError> {
        let compared = |op: expr::CompareOp, left: &Value, right: &Value| {
            Ok::<_, SqlError>(compare(left, right, self.args.collation, self.cx())?.map(|order| op.holds(order)))
        };
        Ok(match &expr.what {
            What::Path(..) | What::Union(..) => Some(self.set(expr, context)?.len() == 1),
            What::Truth(truth) => Some(*truth),
            What::Not(arg) => self.truth(arg, context)?.map(|truth| !truth),
            What::Boolean(arg) => Some(self.truth(arg, context)?.unwrap_or(false)),
            What::And(left, right) => match self.truth(left, context)? {
                Some(false) => Some(false),
                left => match (left, self.truth(right, context)?) {
                    (_, Some(false)) => Some(false),
                    (left, right) => left.and(right),
                },
            },
            What::Or(left, right) => match self.truth(left, context)? {
                Some(true) => Some(true),
                left => match (left, self.truth(right, context)?) {
                    (_, Some(true)) => Some(true),
                    (left, right) => left.and(right),
                },
            },
            What::Compare(op, left, right) => compared(*op, &self.value(left, context)?, &self.value(right, context)?)?,
            What::CompareAny(op, set, value) => {
                // It is not evaluated where there is nothing to compare it with.
                let mut known = None;
                for place in self.set(set, context)? {
                    for text in self.document.texts(place.node) {
                        self.look()?;
                        let value = match known.take() {
                            Some(value) => value,
                            None => self.value(value, context)?,
                        };
                        let text = self.args.string(self.document.content(text).to_vec())?;
                        if compared(*op, &text, known.insert(value))? == Some(true) {
                            return Ok(Some(true));
                        }
                    }
                }
                Some(false)
            }
            _ => crate::expr::convert::to_bool(&self.value(expr, context)?, self.cx())?,
        })
    }

    /// The nodes of a set.
    pub(super) fn set(&self, expr: &Expr, context: Option<Place>) -> Result<Vec<Place>, SqlError> {
        let (start, steps) = match &expr.what {
            What::Path(start, steps) => (start, steps),
            What::Union(left, right) => {
                let (left, right) = (self.set(left, context)?, self.set(right, context)?);
                return self.in_order(left.iter().chain(&right).map(|place| place.node));
            }
            _ => return Ok(Vec::new()),
        };
        let mut set = match start {
            Start::Document => vec![Place { node: 0, position: 0, size: 0 }],
            Start::Context => context.into_iter().collect(),
            Start::Set(set) => self.set(set, context)?,
        };
        for step in steps {
            set = match step {
                Step::Axis(axis, name) => self.step(&set, *axis, name.as_deref())?,
                Step::Predicate(predicate) => self.those_with(&set, predicate)?,
            };
        }
        Ok(set)
    }

    /// Each node once, in the order of the document.
    fn in_order(&self, nodes: impl Iterator<Item = u32>) -> Result<Vec<Place>, SqlError> {
        let mut set = Vec::new();
        for node in nodes {
            self.push(&mut set, node, 0)?;
        }
        set.sort_unstable_by_key(|place| place.node);
        set.dedup_by_key(|place| place.node);
        (0..).zip(&mut set).for_each(|(position, place)| place.position = position);
        Ok(set)
    }

    fn step(&self, from: &[Place], axis: Axis, name: Option<&str>) -> Result<Vec<Place>, SqlError> {
        let is_named = |node: u32| name.is_none_or(|name| name.as_bytes() == self.document.content(node));
        let mut set = Vec::new();
        match axis {
            Axis::Itself => {
                for place in from.iter().filter(|place| is_named(place.node)) {
                    self.push(&mut set, place.node, 0)?;
                }
            }
            Axis::Child | Axis::Attribute => {
                let kind = if axis == Axis::Child { Kind::Element } else { Kind::Attribute };
                for place in from {
                    let mut position = 0;
                    for node in self.document.children(place.node) {
                        self.look()?;
                        if self.document.node(node).kind == kind && is_named(node) {
                            self.push(&mut set, node, position)?;
                            position += 1;
                        }
                    }
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                for place in from {
                    let mut position = 0;
                    let first = if axis == Axis::Descendant { place.node + 1 } else { place.node };
                    for node in first..self.document.node(place.node).after {
                        self.look()?;
                        let is_element = node == place.node || self.document.node(node).kind == Kind::Element;
                        if is_element && is_named(node) {
                            self.push(&mut set, node, position)?;
                            position += 1;
                        }
                    }
                }
            }
            Axis::Parent => {
                let parents = from.iter().filter(|place| place.node > 0);
                let parents = parents.map(|place| self.document.node(place.node).parent).filter(|node| is_named(*node));
                set = self.in_order(parents)?;
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let mut found: Vec<Place> = Vec::new();
                for place in from {
                    if axis == Axis::AncestorOrSelf && is_named(place.node) {
                        self.push(&mut found, place.node, 0)?;
                    }
                    let mut node = self.document.node(place.node).parent;
                    // The document is no ancestor.
                    while node > 0 {
                        if is_named(node) {
                            self.push(&mut found, node, 0)?;
                        }
                        node = self.document.node(node).parent;
                    }
                }
                let count = found.len() as u32;
                set = self.in_order(found.iter().map(|place| place.node))?;
                // They are counted from the innermost one, each as often as it was found.
                set.iter_mut().for_each(|place| place.position = count - 1 - place.position);
            }
        }
        Ok(set)
    }

    /// The nodes for which a predicate is true, or at the place that it gives.
    fn those_with(&self, from: &[Place], predicate: &Expr) -> Result<Vec<Place>, SqlError> {
        let statement = self.cx().statement;
        let is_condition = predicate.is_condition() || predicate.is_set();
        let mut set = Vec::new();
        for place in from {
            let context = Some(Place { size: from.len() as u32, ..*place });
            // What it takes to find that out is gone then.
            let before = statement.evaluated();
            let takes = if is_condition {
                self.truth(predicate, context)? == Some(true)
            } else {
                to_i64(&self.value(predicate, context)?, self.cx())? == i64::from(place.position) + 1
            };
            statement.forget_evaluated(before);
            self.look()?;
            if takes {
                let position = set.len() as u32;
                self.push(&mut set, place.node, position)?;
            }
        }
        Ok(set)
    }

    /// The texts right within nodes, in the order of the document, with blanks between them.
    fn text_of(&self, set: &[Place]) -> Result<Value, SqlError> {
        let nodes = self.in_order(set.iter().map(|place| place.node))?;
        let mut texts = Vec::new();
        for place in nodes {
            for text in self.document.texts(place.node) {
                self.push(&mut texts, text, 0)?;
            }
        }
        texts.sort_unstable_by_key(|place| place.node);
        let length = texts.iter().map(|text| self.document.content(text.node).len() + 1).sum();
        self.cx().statement.hold_evaluated(length)?;
        let mut joined = Vec::with_capacity(length);
        for text in texts {
            if !joined.is_empty() {
                joined.push(b' ');
            }
            joined.extend_from_slice(self.document.content(text.node));
        }
        self.args.string(joined)
    }

    /// Of the numbers that the texts begin with.
    fn sum(&self, set: &[Place]) -> Result<f64, SqlError> {
        let mut sum = 0.0;
        for place in set {
            for text in self.document.texts(place.node) {
                self.look()?;
                let number = number_text::double(self.document.content(text));
                if !number.overflowed {
                    sum += number.value;
                }
            }
        }
        Ok(sum)
    }

    fn push(&self, set: &mut Vec<Place>, node: u32, position: u32) -> Result<(), SqlError> {
        if set.len() == set.capacity() {
            let more = set.len().max(4);
            self.cx().statement.hold_evaluated(more * size_of::<Place>())?;
            set.reserve_exact(more);
        }
        set.push(Place { node, position, size: 0 });
        self.look()
    }

    fn look(&self) -> Result<(), SqlError> {
        let looked = self.looked.get() + 1;
        self.looked.set(looked % LOOKS);
        if looked == LOOKS { self.cx().statement.check_killed() } else { Ok(()) }
    }
}

/// Digits after the point that a number is shown with, where the expression says so.
fn fixed_digits(expr: &Expr) -> Option<u8> {
    use crate::expr::ArithmeticOp::{Add, IntDivide, Modulo, Multiply, Subtract};
    match &expr.what {
        What::Float(_, digits) => Some(*digits),
        What::Constant(Value::Int(_)) | What::Count(_) | What::Position | What::Last => Some(0),
        What::Negate(arg) => fixed_digits(arg),
        What::Arithmetic(IntDivide, ..) => Some(0),
        What::Arithmetic(Add | Subtract | Multiply | Modulo, left, right) => {
            Some(fixed_digits(left)?.max(fixed_digits(right)?))
        }
        What::Call("floor" | "ceiling" | "round" | "char_length", _) => Some(0),
        _ => expr.is_condition().then_some(0),
    }
}
