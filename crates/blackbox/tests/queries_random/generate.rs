//! Queries and changes.

mod changes;
mod claims;
mod commons;
mod conditions;
mod groups;
mod windows;

use cohort_blackbox::rng::Rng;

use crate::consistency::Partitioned;
use crate::part::Part;
use crate::parts;
use crate::tables::{Kind, Schema};

/// A relation that expressions may name.
#[derive(Clone)]
struct Relation {
    alias: String,
    columns: Vec<(String, Kind)>,
}

pub struct Generator<'a> {
    schema: &'a Schema,
    rng: &'a mut Rng,
    aliases: usize,
    /// Tables of WITH.
    commons: Vec<Relation>,
    /// The tables that are changed: no query within reads them (1093, which MariaDB has given up).
    changed: Vec<String>,
    /// The tables have many rows: fewer of them are joined.
    large: bool,
    /// Groups may have ROLLUP, which CREATE TABLE ... SELECT cannot do in MariaDB: its new columns are NOT NULL.
    rollup: bool,
    /// Only columns are values: MariaDB takes what a derived table computes for no NULL where an outer join fills it in.
    plain: bool,
}

/// The relations in reach, those of queries around too.
type Scope = Vec<Relation>;

/// What a statement creates, until its rows are compared.
pub const NEW_TABLE: &str = "t5";

impl<'a> Generator<'a> {
    pub fn new(schema: &'a Schema, rng: &'a mut Rng) -> Generator<'a> {
        let large = schema.large;
        let (commons, changed) = (Vec::new(), Vec::new());
        Generator { schema, rng, aliases: 0, commons, changed, large, rollup: true, plain: false }
    }

    fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.rng.below(of.len() as u64) as usize]
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    /// How deep queries are within each other.
    fn depth(&self) -> u32 {
        if self.large { 1 } else { 2 }
    }

    /// A statement that reads.
    pub fn statement(&mut self) -> Part {
        if self.rng.chance(12) {
            return self.with();
        }
        if self.rng.chance(20) {
            let (set, columns) = self.set_operation(self.depth());
            return parts![set, self.order(&columns)];
        }
        if self.rng.chance(if self.large { 40 } else { 8 }) {
            return self.single().0;
        }
        if self.rng.chance(15) {
            return match self.rng.below(4) {
                0 => self.partitions(self.depth()).0,
                1 => self.ranked_groups(self.depth()).0,
                _ => self.framed(self.depth()).0,
            };
        }
        if self.rng.chance(12) {
            let Partitioned { list, from, condition } = self.around_derived();
            return parts!["SELECT ", list, " FROM ", from, parts![" WHERE ", condition].optional()];
        }
        if self.rng.chance(6) {
            return self.merged();
        }
        self.query(&Vec::new(), self.depth()).0
    }

    /// A derived table, by itself or beside another one, and conditions that often read it alone.
    fn around_derived(&mut self) -> Partitioned {
        let depth = if !self.large && self.rng.chance(25) { 3 } else { self.depth() };
        let (derived, own) = self.derived(depth);
        let (mut from, mut scope) = (derived, own.clone());
        if self.rng.chance(40) {
            let (other, added) = self.factor(self.depth());
            scope.extend(added.iter().cloned());
            let kind = (*self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN"])).to_owned();
            let on = self.join_condition(&own, &added, &scope, 0);
            let on = parts![on, parts![" AND ", self.condition(&own, 0)].optional()];
            from = parts![from, format!(" {kind} "), other, " ON ", on.or("1 = 1")];
        }
        let kind = *self.pick(&[Kind::Int, Kind::Text, Kind::Decimal]);
        let list = parts![self.value(&scope, Kind::Int, 0), parts![", ", self.value(&scope, kind, 0)].optional()];
        let mut condition = self.condition(&own, 0).or("1 = 1");
        for _ in 0..self.rng.below(3) {
            let word = (*self.pick(&["AND", "AND", "OR"])).to_owned();
            let of = if self.rng.chance(70) { &own } else { &scope };
            condition = parts!["(", condition, format!(" {word} "), self.condition(of, 1).or("1 = 0"), ")"];
        }
        Partitioned { list, from, condition }
    }

    /// NATURAL and USING, whose columns are merged.
    fn merged(&mut self) -> Part {
        let (left, right, third) = (self.table(), self.table(), self.table());
        let side = (*self.pick(&["", "LEFT ", "RIGHT "])).to_owned();
        let using = (*self.pick(&["a", "b, a", "s", "id, u"])).to_owned();
        let join = if self.rng.chance(40) {
            format!("NATURAL {side}JOIN {right} AS y")
        } else {
            format!("{side}JOIN {right} AS y USING ({using})")
        };
        let more = format!(" {}JOIN {third} AS z USING ({using})", self.pick(&["", "LEFT ", "RIGHT "]));
        let list = (*self.pick(&["*", "*", "a, x.b, y.d", "y.*, s"])).to_owned();
        parts![
            parts![format!("SELECT {list}")].or("SELECT *"),
            format!(" FROM {left} AS x {join}"),
            Part::from(more).optional(),
            Part::from(" WHERE a > 0").optional()
        ]
    }

    fn table(&mut self) -> String {
        let tables: Vec<String> = self.schema.tables.iter().map(|table| table.name.clone()).collect();
        self.pick(&tables).clone()
    }

    /// UNION and the like of queries with one or two columns, and those.
    fn set_operation(&mut self, depth: u32) -> (Part, Vec<(String, Kind)>) {
        let count = 1 + self.rng.below(2) as usize;
        let kinds: Vec<Kind> =
            (0..count).map(|_| *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal])).collect();
        let columns = kinds.iter().enumerate().map(|(at, kind)| (format!("c{at}"), *kind)).collect();
        (self.set_operation_of(&kinds, depth), columns)
    }

    fn set_operation_of(&mut self, kinds: &[Kind], depth: u32) -> Part {
        let mut all = vec![self.operand(kinds, depth)];
        let mut operators = vec!["UNION", "UNION", "UNION ALL", "EXCEPT", "INTERSECT", "INTERSECT ALL", "EXCEPT ALL"];
        for _ in 0..1 + self.rng.below(2) {
            let operator = (*self.pick(&operators)).to_owned();
            if operator == "INTERSECT ALL" {
                // MariaDB may never end.
                operators.retain(|operator| *operator != "EXCEPT ALL");
            }
            let operand = self.operand(kinds, depth);
            all.push(parts![format!(" {operator} "), operand].optional());
        }
        Part::All(all)
    }

    fn operand(&mut self, kinds: &[Kind], depth: u32) -> Part {
        let (from, scope) = self.from(depth - 1);
        let mut list = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            let kind = if *kind == Kind::Int && self.rng.chance(20) { Kind::Decimal } else { *kind };
            list.push(parts![self.value(&scope, kind, depth - 1), format!(" AS c{at}")]);
        }
        let list =
            list.into_iter().enumerate().flat_map(|(at, part)| [Part::from(if at > 0 { ", " } else { "" }), part]);
        parts!["SELECT ", Part::All(list.collect()), " FROM ", from, self.filter(&scope, depth - 1)]
    }

    fn filter(&mut self, scope: &Scope, depth: u32) -> Part {
        if depth > 0 && self.rng.chance(20) {
            let more = parts![" AND ", self.condition(scope, depth)].optional();
            return parts![" WHERE ", self.asking(scope, depth), more].optional();
        }
        if self.rng.chance(60) {
            return parts![" WHERE ", self.condition(scope, if self.large { depth } else { depth + 1 })].optional();
        }
        Part::from("")
    }

    /// WHERE of a query within: often the rows that have something in common with that around.
    fn filter_by(&mut self, own: &Scope, around: &Scope, depth: u32) -> Part {
        let mut scope = own.clone();
        scope.extend(around.iter().cloned());
        let pair = |generator: &mut Self| {
            let kind = *generator.pick(&[Kind::Int, Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
            generator.column(own, kind).zip(generator.column(around, kind))
        };
        let Some((a, b)) = pair(self).filter(|_| self.rng.chance(60)) else { return self.filter(&scope, depth) };
        let (a, b) = if self.rng.chance(50) { (a, b) } else { (b, a) };
        let mut conditions = vec![Part::from(format!(" WHERE {a} = {b}"))];
        if let Some((a, b)) = pair(self).filter(|_| self.rng.chance(30)) {
            let operator = (*self.pick(&["=", "<>", "<"])).to_owned();
            conditions.push(Part::from(format!(" AND {a} {operator} {b}")).optional());
        }
        if self.rng.chance(40) {
            conditions.push(parts![" AND ", self.condition(&scope, depth)].optional());
        }
        Part::All(conditions).optional()
    }

    /// A SELECT, and the columns that it gives.
    fn query(&mut self, around: &Scope, depth: u32) -> (Part, Vec<(String, Kind)>) {
        let (from, own) = self.from(depth);
        let mut scope = own.clone();
        scope.extend(around.iter().cloned());
        let filter = self.filter(&scope, depth);
        if self.rng.chance(25) {
            return self.grouped(from, &own, filter);
        }
        let mut list = Vec::new();
        let mut columns = Vec::new();
        for at in 0..1 + self.rng.below(3) {
            let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
            let (name, value) = (format!("c{at}"), self.value(&scope, kind, depth));
            list.push(parts![value, format!(" AS {name}")]);
            columns.push((name, kind));
        }
        let distinct = if self.rng.chance(15) { Part::from("DISTINCT ").optional() } else { Part::from("") };
        // Of DISTINCT constants MariaDB gives one row, whatever OFFSET says.
        let tail = if distinct.sql().is_empty() { self.order(&columns) } else { Part::from("") };
        let list =
            list.into_iter().enumerate().flat_map(|(at, part)| [Part::from(if at > 0 { ", " } else { "" }), part]);
        (parts!["SELECT ", distinct, Part::All(list.collect()), " FROM ", from, filter, tail], columns)
    }

    /// A derived table.
    fn derived(&mut self, depth: u32) -> (Part, Scope) {
        let alias = self.alias();
        // It does not see the query around in MariaDB.
        let plain = std::mem::replace(&mut self.plain, true);
        let (query, columns) = match self.rng.below(8) {
            0 | 1 => self.set_operation(depth),
            2 => match self.rng.below(4) {
                0 => self.framed(depth),
                1 => self.ranked_groups(depth),
                _ => self.partitions(depth),
            },
            3 | 4 => {
                let (from, own) = self.from(depth - 1);
                let filter = self.filter(&own, depth - 1);
                self.grouped(from, &own, filter)
            }
            _ => self.query(&Vec::new(), depth - 1),
        };
        self.plain = plain;
        (parts!["(", query, format!(") AS {alias}")], vec![Relation { alias, columns }])
    }

    /// FROM: one to five relations.
    fn from(&mut self, depth: u32) -> (Part, Scope) {
        let (mut from, mut scope) = self.factor(depth);
        let more = match depth {
            0 if self.large => 0,
            _ if self.large => self.rng.below(2),
            2.. => self.rng.below(5),
            _ => self.rng.below(3),
        };
        for _ in 0..more {
            let (right, added) = self.factor(depth);
            let mut both = scope.clone();
            both.extend(added.iter().cloned());
            let kind =
                self.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "STRAIGHT_JOIN"]);
            let kind = (*kind).to_owned();
            let condition = if self.rng.chance(85) || kind.contains("LEFT") || kind.contains("RIGHT") {
                self.join_condition(&scope, &added, &both, depth)
            } else {
                Part::from("1 = 1")
            };
            from = parts!["(", from, format!(" {kind} "), right, " ON ", condition.or("1 = 1"), ")"];
            scope = both;
        }
        (from, scope)
    }

    fn join_condition(&mut self, left: &Scope, right: &Scope, both: &Scope, depth: u32) -> Part {
        let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        let pair = self.column(left, kind).zip(self.column(right, kind));
        let operator = (*self.pick(&["=", "=", "=", "=", "<", "<=>"])).to_owned();
        let first = match pair {
            Some((a, b)) if self.rng.chance(85) => Part::from(format!("{a} {operator} {b}")),
            _ => self.condition(both, if self.large { 0 } else { depth.min(1) }),
        };
        if depth > 0 && !self.large && self.rng.chance(12) {
            // Of the rows of one side alone, or of both.
            let of = (*self.pick(&[right, right, left, both])).clone();
            return parts![first, parts![" AND ", self.asking(&of, 1)].optional()];
        }
        if self.rng.chance(30) {
            let second = self.condition(both, if self.large { 0 } else { depth.min(1) });
            return parts![first, parts![" AND ", second].optional()];
        }
        first
    }

    /// A table, a derived one, or one of WITH.
    fn factor(&mut self, depth: u32) -> (Part, Scope) {
        if depth >= self.depth() && self.rng.chance(if self.large { 10 } else { 20 }) {
            return self.derived(depth);
        }
        let alias = self.alias();
        if !self.commons.is_empty() && self.rng.chance(50) {
            let common = self.commons[0].clone();
            let text = format!("{} AS {alias}", common.alias);
            return (Part::from(text), vec![Relation { alias, columns: common.columns }]);
        }
        let name = self.readable();
        let relation = self.relation(&alias, &name);
        (Part::from(format!("{name} AS {alias}")), vec![relation])
    }

    /// A table that a query within may read.
    fn readable(&mut self) -> String {
        let tables = self.schema.tables.iter().map(|table| table.name.clone());
        let readable: Vec<String> = tables.filter(|name| !self.changed.contains(name)).collect();
        self.pick(&readable).clone()
    }

    fn column(&mut self, scope: &Scope, kind: Kind) -> Option<String> {
        let all: Vec<String> = scope
            .iter()
            .flat_map(|relation| {
                let of_kind = relation.columns.iter().filter(|(_, of)| *of == kind);
                of_kind.map(|(name, _)| format!("{}.{name}", relation.alias))
            })
            .collect();
        if all.is_empty() { None } else { Some(self.pick(&all).clone()) }
    }

    fn constant(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Int => self.rng.below(5).to_string(),
            Kind::Text => format!("'{}'", self.pick(&["x", "X", "y", "ab", "zz"])),
            Kind::Decimal => self.pick(&["1.5", "2.00", "0.0"]).to_string(),
        }
    }

    fn value(&mut self, scope: &Scope, kind: Kind, depth: u32) -> Part {
        let constant = self.constant(kind);
        let column = self.column(scope, kind);
        if !self.plain && self.rng.chance(2) {
            return Part::from("NULL");
        }
        let Some(column) = column.filter(|_| !self.rng.chance(10)) else { return Part::from(constant) };
        match self.rng.below(12) {
            _ if self.plain => Part::from(column),
            0 if kind == Kind::Int => parts!["(", column.as_str(), format!(" + {constant})")].or(column),
            1 => parts!["COALESCE(", column.as_str(), format!(", {constant})")].or(column),
            2 if kind == Kind::Int => {
                let condition = self.condition(scope, depth.min(1));
                parts!["CASE WHEN ", condition, format!(" THEN {column} ELSE {constant} END")].or(column)
            }
            3 | 4 if depth > 0 => self.scalar(scope, kind, depth).or(column),
            _ => Part::from(column),
        }
    }

    /// A query with one row and one column.
    fn scalar(&mut self, around: &Scope, kind: Kind, depth: u32) -> Part {
        let (from, own) = self.from(depth - 1);
        let of = self.column(&own, kind).unwrap_or_else(|| self.constant(kind));
        let function = match kind {
            Kind::Int => (*self.pick(&["MIN", "MAX", "COUNT", "SUM", "BIT_OR"])).to_owned(),
            Kind::Text => (*self.pick(&["MIN", "MAX"])).to_owned(),
            Kind::Decimal => (*self.pick(&["MIN", "MAX", "SUM"])).to_owned(),
        };
        // Which of equal texts is the least is left open.
        let of = if kind == Kind::Text { format!("UPPER({of})") } else { of };
        parts![format!("(SELECT {function}({of}) FROM "), from, self.filter_by(&own, around, depth - 1), ")"]
    }

    /// A query with one column and any number of rows.
    fn list(&mut self, around: &Scope, kind: Kind, depth: u32) -> Part {
        let (from, own) = if self.rng.chance(15) { self.derived(1) } else { self.from(depth - 1) };
        let of = self.column(&own, kind).unwrap_or_else(|| self.constant(kind));
        let filter = self.filter_by(&own, around, depth - 1);
        if self.rng.chance(10) {
            let (other, own) = self.factor(0);
            let of_other = self.column(&own, kind).unwrap_or_else(|| self.constant(kind));
            return parts![
                format!("SELECT {of} FROM "),
                from,
                filter,
                parts![format!(" UNION SELECT {of_other} FROM "), other].optional()
            ];
        }
        parts![format!("SELECT {of} FROM "), from, filter]
    }

    fn relation(&self, alias: &str, table: &str) -> Relation {
        let found = self.schema.tables.iter().find(|known| known.name == table);
        let columns = found
            .map_or(Vec::new(), |table| table.columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect());
        Relation { alias: alias.to_owned(), columns }
    }
}
