//! WITH.

use crate::generate::{Generator, Relation};
use crate::part::Part;
use crate::parts;
use crate::tables::Kind;

impl Generator<'_> {
    pub(super) fn with(&mut self) -> Part {
        let name = format!("w{}", self.rng.below(3));
        if self.rng.chance(40) {
            return self.recursive(name);
        }
        let (query, columns) = self.query(&Vec::new(), 1);
        self.commons.push(Relation { alias: name.clone(), columns });
        let (main, _) = self.query(&Vec::new(), 1);
        self.commons.clear();
        parts![format!("WITH {name} AS ("), query, ") ", main]
    }

    /// What goes round ends after some rounds.
    fn recursive(&mut self, name: String) -> Part {
        let (first, table) = (self.table(), self.table());
        let join = (*self.pick(&["x.a", "x.b", "x.id"])).to_owned();
        // Rows that many others follow would be too many.
        let all = if self.large { "" } else { *self.pick(&["", "ALL "]) };
        let (number, text) = (("n".to_owned(), Kind::Int), ("path".to_owned(), Kind::Text));
        let depth = ("depth".to_owned(), Kind::Int);
        let (with, columns) = match self.rng.below(3) {
            0 => {
                let last = 2 + self.rng.below(6);
                (format!("{name} (n) AS (SELECT 1 UNION {all}SELECT n + 1 FROM {name} WHERE n < {last})"), vec![number])
            }
            1 => {
                let with = format!(
                    "{name} AS (SELECT id AS n, CAST(id AS CHAR(40)) AS path FROM {first} WHERE id < 3 UNION {all}\
                     SELECT x.id, CONCAT(path, '-', x.id) FROM {table} AS x JOIN {name} ON {join} = n + 1 \
                     WHERE CHAR_LENGTH(path) < 5)"
                );
                (with, vec![number, text])
            }
            _ => {
                let with = format!(
                    "{name} AS (SELECT id AS n, 0 AS depth FROM {first} WHERE id < 3 UNION {all}\
                     SELECT x.b, depth + 1 FROM {table} AS x JOIN {name} ON {join} = n WHERE depth < 3)"
                );
                (with, vec![number, depth])
            }
        };
        if self.rng.chance(50) {
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let names = names.join(", ");
            return Part::from(format!("WITH RECURSIVE {with} SELECT {names}, COUNT(*) FROM {name} GROUP BY {names}"));
        }
        self.commons.push(Relation { alias: name, columns });
        let (main, _) = self.query(&Vec::new(), 1);
        self.commons.clear();
        parts![format!("WITH RECURSIVE {with} "), main]
    }
}
