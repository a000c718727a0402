//! Conditions.

use crate::generate::{Generator, Scope};
use crate::part::Part;
use crate::parts;
use crate::tables::Kind;

impl Generator<'_> {
    /// A condition that asks a query.
    pub(super) fn asking(&mut self, scope: &Scope, depth: u32) -> Part {
        let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        let operator = (*self.pick(&["=", "<>", "<", "<=", ">", ">="])).to_owned();
        let not = (*self.pick(&["", "NOT "])).to_owned();
        match self.rng.below(10) {
            0..=2 => parts![self.value(scope, kind, 0), format!(" {not}IN ("), self.list(scope, kind, depth), ")"],
            3..=6 => parts![format!("{not}EXISTS ("), self.list(scope, kind, depth), ")"],
            7 => {
                let word = (*self.pick(&["ANY", "ALL"])).to_owned();
                parts![
                    format!("{not}("),
                    self.value(scope, kind, 0),
                    format!(" {operator} {word} ("),
                    self.list(scope, kind, depth),
                    "))"
                ]
            }
            _ => parts![self.value(scope, kind, 0), format!(" {operator} "), self.scalar(scope, kind, depth)],
        }
    }

    pub(super) fn condition(&mut self, scope: &Scope, depth: u32) -> Part {
        let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        let operator = (*self.pick(&["=", "=", "<>", "<", "<=", ">", ">=", "<=>"])).to_owned();
        match self.rng.below(if depth > 0 { 18 } else { 9 }) {
            0..=3 => {
                let (a, b) = (self.value(scope, kind, 0), self.value(scope, kind, 0));
                parts![a, format!(" {operator} "), b]
            }
            4 => {
                let column = self.column(scope, kind).unwrap_or_else(|| "1".to_owned());
                Part::from(format!("{column} IS {}NULL", self.pick(&["", "NOT "])))
            }
            5 => {
                let column = self.column(scope, Kind::Int).unwrap_or_else(|| "1".to_owned());
                Part::from(format!("{column} {}IN (1, 3, NULL)", self.pick(&["", "NOT "])))
            }
            6 => {
                let column = self.column(scope, Kind::Int).unwrap_or_else(|| "1".to_owned());
                Part::from(format!("{column} BETWEEN {} AND {}", self.rng.below(3), self.rng.below(5)))
            }
            7 => parts![
                format!("{} = ", self.column(scope, kind).unwrap_or_else(|| "1".to_owned())),
                self.constant(kind)
            ],
            8 => self.rows(scope, depth),
            9 | 10 if self.rng.chance(30) => {
                // Alternatives with a part in common.
                let common = self.condition(scope, 0);
                let (a, b) = (self.condition(scope, depth - 1), self.condition(scope, depth - 1));
                parts![
                    "((",
                    common.clone().or("1 = 1"),
                    " AND ",
                    a.or("1 = 1"),
                    ") OR (",
                    b.or("1 = 1"),
                    " AND ",
                    common.or("1 = 1"),
                    "))"
                ]
            }
            9 | 10 => {
                let (a, b) = (self.condition(scope, depth - 1), self.condition(scope, depth - 1));
                let word = (*self.pick(&["AND", "OR"])).to_owned();
                parts!["(", a.or("1 = 1"), format!(" {word} "), b.or("1 = 0"), ")"]
            }
            11 => parts!["NOT (", self.condition(scope, depth - 1), ")"],
            12 if self.rng.chance(30) => {
                let (a, b) = (self.value(scope, Kind::Int, 0), self.value(scope, Kind::Text, 0));
                let table = self.readable();
                let not = (*self.pick(&["", "NOT "])).to_owned();
                let of = (*self.pick(&["a, s", "b, s", "id, s"])).to_owned();
                parts!["(", a, ", ", b, format!(") {not}IN (SELECT {of} FROM {table})")]
            }
            12 | 13 => {
                let operand = self.value(scope, kind, 0);
                let not = (*self.pick(&["", "NOT "])).to_owned();
                parts![operand, format!(" {not}IN ("), self.list(scope, kind, depth), ")"]
            }
            14 => {
                let not = (*self.pick(&["", "NOT "])).to_owned();
                parts![format!("{not}EXISTS ("), self.list(scope, kind, depth), ")"]
            }
            15 => {
                let operator = if operator == "<=>" { "=".to_owned() } else { operator };
                let word = (*self.pick(&["ANY", "ALL"])).to_owned();
                parts![self.value(scope, kind, 0), format!(" {operator} {word} ("), self.list(scope, kind, depth), ")"]
            }
            _ => parts![self.value(scope, kind, 0), format!(" {operator} "), self.scalar(scope, kind, depth)],
        }
    }

    /// Two columns compared with two other values. All are of one relation: MariaDB takes each of them for one that must not
    /// be NULL, and makes an inner join of an outer one.
    fn rows(&mut self, scope: &Scope, depth: u32) -> Part {
        let relation = self.pick(scope).clone();
        let columns = [self.pick(&relation.columns).clone(), self.pick(&relation.columns).clone()];
        let kinds = [columns[0].1, columns[1].1];
        let row = format!("({0}.{1}, {0}.{2})", relation.alias, columns[0].0, columns[1].0);
        let operator = (*self.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>"])).to_owned();
        let not = (*self.pick(&["", "NOT "])).to_owned();
        match self.rng.below(4) {
            0 => {
                let [a, b, c] = [kinds[0], kinds[1], kinds[0]].map(|kind| self.constant(kind));
                Part::from(format!("{row} {not}IN (({a}, {b}), ({c}, NULL))"))
            }
            1 if depth > 0 => {
                let (from, own) = self.from(depth - 1);
                let [a, b] = kinds.map(|kind| self.column(&own, kind).unwrap_or_else(|| self.constant(kind)));
                let filter = self.filter_by(&own, scope, depth - 1);
                parts![format!("{row} {operator} (SELECT MIN({a}), MAX({b}) FROM "), from, filter, ")"]
            }
            _ => {
                let own = vec![relation];
                let [a, b] = kinds.map(|kind| self.value(&own, kind, 0));
                parts![format!("{row} {operator} ("), a, ", ", b, ")"]
            }
        }
    }
}
