//! The tables of the runs: small, with gaps between the keys.

use cohort_blackbox::rng::Rng;

/// Keys are chosen below this, so that sessions meet.
pub const KEYS: u64 = 32;

/// An index and its columns; a primary key comes first.
#[derive(Debug)]
pub struct Index {
    pub name: &'static str,
    pub columns: &'static [usize],
    pub unique: bool,
}

/// One kind of table. Columns are INT; the last one, `v`, has no index.
#[derive(Debug)]
pub struct Shape {
    pub columns: &'static [&'static str],
    /// Columns, indexes.
    definition: &'static str,
    pub indexes: &'static [Index],
    /// Which column may be NULL.
    pub nullable: Option<usize>,
}

const PRIMARY: Index = Index { name: "PRIMARY", columns: &[0], unique: true };

pub const SHAPES: &[Shape] = &[
    Shape {
        columns: &["id", "v"],
        definition: "id INT PRIMARY KEY, v INT NOT NULL",
        indexes: &[PRIMARY],
        nullable: None,
    },
    Shape {
        columns: &["id", "k", "v"],
        definition: "id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k)",
        indexes: &[PRIMARY, Index { name: "k", columns: &[1], unique: false }],
        nullable: None,
    },
    Shape {
        columns: &["id", "u", "v"],
        definition: "id INT PRIMARY KEY, u INT NOT NULL, v INT NOT NULL, UNIQUE KEY u (u)",
        indexes: &[PRIMARY, Index { name: "u", columns: &[1], unique: true }],
        nullable: None,
    },
    Shape {
        columns: &["id", "u", "v"],
        definition: "id INT PRIMARY KEY, u INT, v INT NOT NULL, UNIQUE KEY u (u)",
        indexes: &[PRIMARY, Index { name: "u", columns: &[1], unique: true }],
        nullable: Some(1),
    },
    Shape {
        columns: &["id", "k", "u", "v"],
        definition: "id INT PRIMARY KEY, k INT NOT NULL, u INT NOT NULL, v INT NOT NULL, KEY k (k), UNIQUE KEY u (u)",
        indexes: &[
            PRIMARY,
            Index { name: "k", columns: &[1], unique: false },
            Index { name: "u", columns: &[2], unique: true },
        ],
        nullable: None,
    },
    Shape {
        columns: &["id", "a", "b", "v"],
        definition: "id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, v INT NOT NULL, KEY ab (a, b)",
        indexes: &[PRIMARY, Index { name: "ab", columns: &[1, 2], unique: false }],
        nullable: None,
    },
    Shape {
        columns: &["a", "b", "v"],
        definition: "a INT NOT NULL, b INT NOT NULL, v INT NOT NULL, PRIMARY KEY (a, b)",
        indexes: &[Index { name: "PRIMARY", columns: &[0, 1], unique: true }],
        nullable: None,
    },
    Shape {
        columns: &["k", "v"],
        definition: "k INT NOT NULL, v INT NOT NULL, KEY k (k)",
        indexes: &[Index { name: "k", columns: &[0], unique: false }],
        nullable: None,
    },
];

impl Shape {
    /// The statement that makes the table, in an engine.
    pub fn create(&self, engine: &str) -> String {
        format!("CREATE TABLE t ({}) ENGINE={engine}", self.definition)
    }

    /// The column without an index.
    pub fn free_column(&self) -> usize {
        self.columns.len() - 1
    }

    /// A value for a column.
    pub fn value(&self, column: usize, rng: &mut Rng) -> String {
        if self.nullable == Some(column) && rng.chance(20) {
            return "NULL".to_owned();
        }
        if column == self.free_column() {
            return rng.below(4).to_string();
        }
        // Second columns of an index have few values, so that the first are met again.
        let bound = if self.columns[column] == "b" { 4 } else { KEYS };
        rng.below(bound).to_string()
    }

    /// The rows that a run begins with, at least six.
    pub fn rows(&self, rng: &mut Rng) -> Vec<String> {
        let count = 6 + rng.below(7);
        let mut rows: Vec<Vec<String>> = Vec::new();
        while (rows.len() as u64) < count {
            let row: Vec<String> = (0..self.columns.len()).map(|column| self.value(column, rng)).collect();
            let clashes = |index: &Index, other: &Vec<String>| {
                index.unique
                    && index.columns.iter().all(|column| row[*column] == other[*column] && row[*column] != "NULL")
            };
            if !rows.iter().any(|other| self.indexes.iter().any(|index| clashes(index, other))) {
                rows.push(row);
            }
        }
        rows.into_iter().map(|row| format!("({})", row.join(","))).collect()
    }
}
