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
    /// What stands in the brackets of VALUES.
    pub rows: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Schema {
    pub tables: Vec<Table>,
    /// Whether tables have some hundred rows, many of them with one value, so that other plans pay.
    pub large: bool,
}

const KEYS: [&str; 7] =
    ["KEY (a)", "KEY (b)", "KEY (a, b)", "KEY (s)", "KEY (b, s)", "UNIQUE KEY (c, a)", "UNIQUE KEY (u)"];

impl Schema {
    pub fn generate(rng: &mut Rng) -> Schema {
        let large = rng.chance(20);
        let count = 2 + rng.below(if large { 2 } else { 4 });
        Schema { tables: (0..count).map(|at| Table::generate(at, large, rng)).collect(), large }
    }
}

impl Table {
    fn generate(at: u64, large: bool, rng: &mut Rng) -> Table {
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
            if rng.chance(if large { 40 } else { 25 }) {
                lines.push(key.to_owned());
            }
        }
        let engine = if rng.chance(30) { " ENGINE=redb" } else { "" };
        let create = format!("CREATE TABLE {name} ({}){engine}", lines.join(", "));
        let count = if large { 80 + rng.below(80) } else { rng.below(9) };
        let rows = (0..count).map(|id| if large { skewed_row(id, rng) } else { row(id, rng) }).collect();
        Table { name, columns, create, rows }
    }
}

fn maybe(text: String, rng: &mut Rng) -> String {
    if rng.chance(20) { "NULL".to_owned() } else { text }
}

fn row(id: u64, rng: &mut Rng) -> String {
    let (a, b) = (rng.below(4).to_string(), rng.below(4));
    let a = maybe(a, rng);
    // Unique keys are kept apart.
    let c = maybe((id + rng.below(2) * 10).to_string(), rng);
    let u = maybe(id.to_string(), rng);
    let s = format!("'{}'", ["x", "X", "y", "ab", ""][rng.below(5) as usize]);
    let s = maybe(s, rng);
    let d = maybe(["0", "1.5", "2", "2.25", "3"][rng.below(5) as usize].to_owned(), rng);
    format!("{id}, {a}, {b}, {c}, {u}, {s}, {d}")
}

/// A row of a large table: of each column one value is frequent.
fn skewed_row(id: u64, rng: &mut Rng) -> String {
    let skewed = |frequent: u64, bound: u64, rng: &mut Rng| if rng.chance(40) { frequent } else { rng.below(bound) };
    let a = maybe(skewed(1, 12, rng).to_string(), rng);
    let b = skewed(3, 40, rng);
    let c = maybe((id + rng.below(2) * 1000).to_string(), rng);
    let u = maybe(id.to_string(), rng);
    let s = ["x", "X", "y", "ab", "", "b", "zz", "q"][skewed(0, 8, rng) as usize];
    let s = maybe(format!("'{s}'"), rng);
    let d = maybe(format!("{}.{:02}", rng.below(5), skewed(50, 100, rng)), rng);
    format!("{id}, {a}, {b}, {c}, {u}, {s}, {d}")
}
