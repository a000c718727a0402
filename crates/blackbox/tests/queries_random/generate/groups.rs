//! Queries with groups.

use crate::generate::{Generator, Relation, Scope};
use crate::part::Part;
use crate::parts;
use crate::tables::Kind;

impl Generator<'_> {
    /// A query with groups, and the columns that it gives: its keys and one or two aggregates.
    pub(super) fn grouped(&mut self, from: Part, own: &Scope, filter: Part) -> (Part, Vec<(String, Kind)>) {
        let kind = if self.plain { Kind::Int } else { *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]) };
        let mut keys = vec![(self.key(own, kind), kind)];
        if self.rng.chance(30) {
            let second = self.key(own, Kind::Int);
            if second != keys[0].0 {
                keys.push((second, Kind::Int));
            }
        }
        let mut values: Vec<(String, Kind)> = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            values.push(self.aggregate(own));
        }
        let having = if self.rng.chance(30) {
            let of = values[0].0.clone();
            let bound = self.constant(values[0].1);
            Part::from(format!(" HAVING {of} > {bound}")).optional()
        } else {
            Part::from("")
        };
        let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
        let positions = self.rng.chance(20);
        let by = if positions { ["1", "1, 2"][keys.len() - 1].to_owned() } else { names.join(", ") };
        // Of a key, MariaDB takes all values that levels have for distinct.
        let distinct = values.iter().any(|(value, _)| value.contains("DISTINCT"));
        let rollup = if self.rollup && !distinct && self.rng.chance(25) {
            Part::from(" WITH ROLLUP").optional()
        } else {
            Part::from("")
        };
        let all = keys.iter().chain(&values).enumerate();
        let list: Vec<String> = all.clone().map(|(at, (value, _))| format!("{value} AS c{at}")).collect();
        let columns: Vec<(String, Kind)> = all.map(|(at, (_, kind))| (format!("c{at}"), *kind)).collect();
        // MariaDB sorts no ROLLUP.
        let order = if rollup.sql().is_empty() { self.order(&columns) } else { Part::from("") };
        let list = list.join(", ");
        (
            parts![format!("SELECT {list} FROM "), from, filter, format!(" GROUP BY {by}"), rollup, having, order],
            columns,
        )
    }

    fn key(&mut self, own: &Scope, kind: Kind) -> String {
        let Some(column) = self.column(own, kind) else { return "1 + 1".to_owned() };
        if kind == Kind::Int && !self.plain && self.rng.chance(15) {
            return format!("{column} + {}", self.rng.below(3));
        }
        column
    }

    /// An aggregate, whose value is the same in whatever order its rows come.
    pub(super) fn aggregate(&mut self, own: &Scope) -> (String, Kind) {
        let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        let of = self.column(own, kind).unwrap_or_else(|| self.constant(kind));
        let distinct = *self.pick(&["", "", "DISTINCT "]);
        match self.rng.below(8) {
            0 => ("COUNT(*)".to_owned(), Kind::Int),
            1 => (format!("COUNT({distinct}{of})"), Kind::Int),
            2 => {
                let other = self.column(own, Kind::Int).unwrap_or_else(|| "1".to_owned());
                (format!("COUNT(DISTINCT {of}, {other})"), Kind::Int)
            }
            3 => {
                let direction = *self.pick(&["", " DESC"]);
                let separator = *self.pick(&["", " SEPARATOR '-'"]);
                // A number would be the place of what is sorted by; in MariaDB any will do where there are no rows.
                let by = if of.parse::<u64>().is_ok() { "1" } else { &of };
                (format!("GROUP_CONCAT({distinct}{of} ORDER BY {by}{direction}{separator})"), Kind::Text)
            }
            _ if kind == Kind::Text => (format!("{}(UPPER({of}))", self.pick(&["MIN", "MAX"])), kind),
            4 if kind == Kind::Int => (format!("{}({of})", self.pick(&["BIT_OR", "BIT_AND", "BIT_XOR"])), kind),
            5 => (format!("{}({distinct}{of})", self.pick(&["SUM", "AVG"])), Kind::Decimal),
            _ => (format!("{}({of})", self.pick(&["MIN", "MAX", "SUM"])), kind),
        }
    }

    /// One table, read in the order of an index or by several, if it has them.
    pub(super) fn single(&mut self) -> (Part, Vec<(String, Kind)>) {
        let table = self.readable();
        let own = vec![self.relation("x", &table)];
        let (key, second) = *self.pick(&[("a", "b"), ("b", "a"), ("b", "id"), ("c", "a"), ("u", "u"), ("a", "id")]);
        let filter = match self.rng.below(4) {
            0 => Part::from(""),
            1 => {
                Part::from(format!(" WHERE x.{key} {} {}", self.pick(&["=", ">", "<"]), self.rng.below(12))).optional()
            }
            2 => {
                let word = (*self.pick(&["AND", "OR"])).to_owned();
                let (a, b) = (self.point(), self.point());
                let third = parts![format!(" {word} "), self.point()].optional();
                parts![" WHERE ", a, format!(" {word} "), b, third].optional()
            }
            _ => parts![" WHERE ", self.condition(&own, 1)].optional(),
        };
        let ints = |count: usize| (0..count).map(|at| (format!("c{at}"), Kind::Int)).collect::<Vec<_>>();
        let (list, columns, tail) = match self.rng.below(5) {
            0 => (format!("DISTINCT x.{key} AS c0"), ints(1), ""),
            1 => (format!("DISTINCT x.{key} AS c0, x.{second} AS c1"), ints(2), ""),
            2 => (format!("x.{key} AS c0, MIN(x.{second}) AS c1, MAX(x.{second}) AS c2"), ints(3), " GROUP BY c0"),
            3 => (format!("COUNT(DISTINCT x.{key}) AS c0, MIN(x.{key}) AS c1"), ints(2), ""),
            _ => (format!("x.{key} AS c0, x.{second} AS c1"), ints(2), ""),
        };
        let tail = tail.replace("c0", &format!("x.{key}"));
        let order = self.order(&columns);
        (parts![format!("SELECT {list} FROM {table} AS x"), filter, tail, order], columns)
    }

    /// A column that an index may have, and a value.
    fn point(&mut self) -> Part {
        let text = self.constant(Kind::Text);
        let (column, bound) = (*self.pick(&["a", "b", "c", "u", "id"]), self.rng.below(12));
        match self.rng.below(5) {
            0 => Part::from(format!("x.s = {text}")),
            1 => Part::from(format!("x.{column} > {bound}")),
            _ => Part::from(format!("x.{column} = {bound}")),
        }
    }

    /// ORDER BY columns of the select list, in either direction; with LIMIT all of them, so that ties do not decide.
    pub(super) fn order(&mut self, columns: &[(String, Kind)]) -> Part {
        if !self.rng.chance(30) {
            return Part::from("");
        }
        let limit = match self.rng.below(4) {
            0 => format!(" LIMIT {}", self.rng.below(5)),
            1 => format!(" LIMIT {} OFFSET {}", self.rng.below(5), self.rng.below(3)),
            _ => String::new(),
        };
        let mut places: Vec<usize> = (0..columns.len()).collect();
        let first = self.rng.below(columns.len() as u64) as usize;
        places.rotate_left(first);
        if limit.is_empty() {
            places.truncate(1 + self.rng.below(columns.len() as u64) as usize);
        }
        let keys: Vec<String> = places
            .into_iter()
            .map(|at| {
                let key = if self.rng.chance(50) { columns[at].0.clone() } else { (at + 1).to_string() };
                format!("{key}{}", self.pick(&["", "", " DESC", " ASC"]))
            })
            .collect();
        Part::from(format!(" ORDER BY {}{limit}", keys.join(", "))).optional()
    }
}

impl Relation {
    /// All columns, in their order.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }
}
