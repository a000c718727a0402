//! A statement, and what the comparison needs to know of it.

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub sql: String,
    pub effect: Effect,
}

/// What a statement does to transactions and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Begin,
    /// COMMIT or ROLLBACK.
    End,
    Savepoint,
    RollbackTo,
    /// It looks for rows.
    Finds {
        condition: String,
        /// ORDER BY and LIMIT, or nothing.
        tail: String,
        lock: Lock,
        /// What the columns become, for UPDATE.
        becomes: Option<Vec<String>>,
    },
    /// It brings rows, as INSERT has them.
    Brings(Vec<String>),
}

/// How rows are locked that a statement finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Not at all, below SERIALIZABLE.
    Plain,
    Shared,
    Exclusive,
}

impl Statement {
    pub fn new(sql: impl Into<String>, effect: Effect) -> Statement {
        Statement { sql: sql.into(), effect }
    }

    /// Whether it has a path to rows, which EXPLAIN shows.
    pub fn has_path(&self) -> bool {
        matches!(self.effect, Effect::Finds { .. })
    }
}
