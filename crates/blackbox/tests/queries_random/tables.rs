//! Schemas of a few small tables, and their rows.

use cohort_blackbox::rng::Rng;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Text,
    Decimal,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub columns: Vec<(&'static str, Kind)>,
    pub create: String,
    pub rows: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Schema {
    pub tables: Vec<Table>,
}

const KEYS: [&str; 7] =
    ["KEY (a)", "KEY (b)", "KEY (a, b)", "KEY (s)", "KEY (b, s)", "UNIQUE KEY (c, a)", "UNIQUE KEY (u)"];

impl Schema {
    pub fn generate(rng: &mut Rng) -> Schema {
        let count = 2 + rng.below(4);
        Schema { tables: (0..count).map(|at| Table::generate(at, rng)).collect() }
    }
}

impl Table {
    fn generate(at: u64, rng: &mut Rng) -> Table {
        let name = format!("t{at}");
        let columns = vec![
            ("id", Kind::Int),
            ("a", Kind::Int),
            ("b", Kind::Int),
            ("c", Kind::Int),
            ("u", Kind::Int),
            ("s", Kind::Text),
            ("d", Kind::Decimal),
        ];
        let mut lines = vec![
            "id INT NOT NULL".to_owned(),
            "a INT".to_owned(),
            "b INT NOT NULL".to_owned(),
            "c BIGINT".to_owned(),
            "u INT".to_owned(),
            "s VARCHAR(5)".to_owned(),
            "d DECIMAL(5,2)".to_owned(),
        ];
        match rng.below(4) {
            0 => {}
            1 => lines.push("PRIMARY KEY (b, id)".to_owned()),
            _ => lines.push("PRIMARY KEY (id)".to_owned()),
        }
        for key in KEYS {
            if rng.chance(25) {
                lines.push(key.to_owned());
            }
        }
        let engine = if rng.chance(30) { " ENGINE=redb" } else { "" };
        let create = format!("CREATE TABLE {name} ({}){engine}", lines.join(", "));
        let rows = (0..rng.below(9)).map(|id| row(&name, id, rng)).collect();
        Table { name, columns, create, rows }
    }
}

fn row(table: &str, id: u64, rng: &mut Rng) -> String {
    let maybe = |text: String, rng: &mut Rng| if rng.chance(20) { "NULL".to_owned() } else { text };
    let (a, b) = (rng.below(4).to_string(), rng.below(4));
    let a = maybe(a, rng);
    // Unique keys are kept apart.
    let c = maybe((id + rng.below(2) * 10).to_string(), rng);
    let u = maybe(id.to_string(), rng);
    let s = format!("'{}'", ["x", "X", "y", "ab", ""][rng.below(5) as usize]);
    let s = maybe(s, rng);
    let d = maybe(["0", "1.5", "2", "2.25", "3"][rng.below(5) as usize].to_owned(), rng);
    format!("INSERT INTO {table} VALUES ({id}, {a}, {b}, {c}, {u}, {s}, {d})")
}
