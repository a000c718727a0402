//! Changes of rows.

use crate::generate::{Generator, NEW_TABLE};
use crate::part::Part;
use crate::parts;
use crate::tables::Kind;

/// A condition on a table alone.
fn condition_of(generator: &mut Generator<'_>, table: &str) -> Part {
    let own = vec![generator.relation("x", table)];
    generator.condition(&own, 1)
}

impl Generator<'_> {
    /// A change of rows. What it assigns does not depend on which of several partners of a row comes first.
    pub fn change(&mut self) -> Part {
        let (target, other) = (self.table(), self.table());
        let mut scope = vec![self.relation("x", &target), self.relation("y", &other)];
        let kind = self.rng.below(12);
        // A table is left to be read if there are more than two.
        let both = matches!(kind, 8 | 9) && self.schema.tables.len() > 2 && target != other;
        let kind = if !both && matches!(kind, 8 | 9) { 0 } else { kind };
        if both {
            // MariaDB may look for further partners of a row that it has changed already.
            scope[0].columns.retain(|(name, _)| name != "d");
            scope[1].columns.retain(|(name, _)| name != "a");
        }
        self.changed = if both { vec![target.clone(), other.clone()] } else { vec![target.clone()] };
        let condition = if self.rng.chance(40) { self.asking(&scope, 1) } else { self.condition(&scope, 1) };
        let join = (*self.pick(&["JOIN", "LEFT JOIN", "JOIN"])).to_owned();
        let on = self.join_condition(&scope[..1].to_vec(), &scope[1..].to_vec(), &scope, 0);
        match kind {
            0 => parts![
                format!("UPDATE {target} AS x {join} {other} AS y ON "),
                on.or("1 = 1"),
                format!(" SET x.a = x.b + {}", self.rng.below(3)),
                parts![" WHERE ", condition].optional(),
            ],
            1 => parts![
                format!("DELETE x FROM {target} AS x {join} {other} AS y ON "),
                on.or("1 = 1"),
                parts![" WHERE ", condition],
            ],
            2 => {
                self.changed.clear();
                let number = 100 + self.rng.below(1000);
                if self.rng.chance(30) {
                    let set = self.set_operation_of(&[Kind::Int, Kind::Text], 1);
                    let set = parts!["SELECT MAX(c0) AS n, UPPER(MIN(c1)) AS m FROM (", set, ") AS z"];
                    let insert = format!("INSERT INTO {target} (id, a, b, s) WITH w AS (");
                    return parts![insert, set, format!(") SELECT {number}, n, 1, m FROM w")];
                }
                let (query, scope) = self.from(1);
                let (a, s) = (self.value(&scope, Kind::Int, 0), self.value(&scope, Kind::Text, 0));
                parts![
                    format!("INSERT INTO {target} (id, a, b, s) SELECT {number}, MAX("),
                    a,
                    "), 1, UPPER(MIN(",
                    s,
                    ")) FROM ",
                    query,
                    self.filter(&scope, 1),
                ]
            }
            // Ids come once, so that no row is changed twice.
            3 => {
                let scope = vec![self.relation(&target, &target), self.relation("x", &other)];
                let (a, s) = (self.value(&scope, Kind::Int, 0), self.value(&scope, Kind::Text, 0));
                let distinct = *self.pick(&["", "", "DISTINCT "]);
                parts![
                    format!(
                        "INSERT INTO {target} (id, a, b, s) SELECT {distinct}x.id, x.a, x.b, x.s FROM {other} AS x"
                    ),
                    " ON DUPLICATE KEY UPDATE a = ",
                    a,
                    ", s = ",
                    s,
                ]
            }
            // Rows that ask for themselves.
            4 | 5 => {
                let own = vec![self.relation(&target, &target)];
                let more = parts![" AND ", self.condition(&own, 1)].optional();
                let what = match self.rng.chance(50) {
                    true => format!("UPDATE {target} SET d = b + {} WHERE ", self.rng.below(3)),
                    false => format!("DELETE FROM {target} WHERE "),
                };
                parts![what, self.asking(&own, 2), more]
            }
            6 => {
                self.changed.clear();
                self.rollup = false;
                parts![format!("CREATE TABLE {NEW_TABLE} "), self.query(&Vec::new(), 1).0]
            }
            7 => {
                self.changed.clear();
                let of = (*self.pick(&["x.id", "x.id + 2"])).to_owned();
                let more = parts![" WHERE ", condition_of(self, &other)].optional();
                parts![
                    format!("REPLACE INTO {target} (id, a, b, s) SELECT {of}, x.b, x.b, x.s FROM {other} AS x"),
                    more
                ]
            }
            // Values that are the same whatever the partner of a row is.
            8 => parts![
                format!("UPDATE {target} AS x {join} {other} AS y ON "),
                on.or("1 = 1"),
                format!(" SET x.d = x.b + {}, y.a = {}", self.rng.below(3), self.rng.below(5)),
                parts![" WHERE ", condition].optional(),
            ],
            9 => parts![
                format!("DELETE x, y FROM {target} AS x {join} {other} AS y ON "),
                on.or("1 = 1"),
                parts![" WHERE ", condition],
            ],
            // Rows that tie are the same rows.
            10 => {
                let own = vec![self.relation(&target, &target)];
                let direction = *self.pick(&["", " DESC"]);
                let order = format!(" ORDER BY a{direction}, {} LIMIT {}", own[0].names(), self.rng.below(4));
                let what = match self.rng.chance(50) {
                    true => format!("UPDATE {target} SET d = b + {}", self.rng.below(3)),
                    false => format!("DELETE FROM {target}"),
                };
                parts![what, parts![" WHERE ", self.condition(&own, 1)].optional(), order]
            }
            _ => {
                let others = self.schema.tables.iter().filter(|table| table.name != target);
                let names: Vec<String> = others.map(|table| table.name.clone()).collect();
                let inner = self.pick(&names).clone();
                let scope = vec![self.relation("y", &inner), self.relation(&target, &target)];
                let filter = self.condition(&scope, 0);
                parts![
                    format!("UPDATE {target} SET a = (SELECT MAX(y.a) FROM {inner} AS y WHERE "),
                    filter,
                    format!(") WHERE b < {}", self.rng.below(4)),
                ]
            }
        }
    }
}
