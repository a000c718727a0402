//! Optimizer hints of a statement, by query block: what is left of them when the names of blocks are known.
//!
//! The blocks of a statement share one [`Hints`], since a hint may name another block. It is filled when the statement is
//! read to its end (`parse/hints.rs`); names of tables and indexes are looked for where the block is planned.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::{Ddl, IndexPurpose, Statement};
use crate::error::SqlError;
use crate::value::Value;

/// The hints of a statement.
#[derive(Debug, Default)]
pub struct Hints {
    /// Of each query block, in the order in which the blocks begin.
    pub blocks: Vec<BlockHints>,
    /// SET_VAR, in the order in which they are obeyed.
    pub variables: Vec<SetVariable>,
    /// MAX_EXECUTION_TIME; zero for no limit.
    pub max_execution_time: Option<Duration>,
    /// What is wrong with hints that were left out.
    pub warnings: Vec<SqlError>,
}

/// `SET_VAR(name = value)`
#[derive(Clone, Debug)]
pub struct SetVariable {
    /// The variable, in lower case.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// The hint, for messages.
    pub shown: String,
}

/// The hints of a query block.
#[derive(Debug, Default)]
pub struct BlockHints {
    /// What QB_NAME calls it, or `select#1` and the like.
    pub name: String,
    /// Hints on the block as a whole, by their names.
    pub whole: Vec<String>,
    /// In which order relations are read.
    pub order: Vec<OrderHint>,
    /// Hints on tables and their indexes.
    pub tables: Vec<TableHints>,
}

/// A hint about the order of the relations.
#[derive(Debug)]
pub struct OrderHint {
    /// Which one.
    pub kind: OrderHintKind,
    /// Names of relations of the block.
    pub tables: Vec<String>,
    /// The hint, for messages.
    pub shown: String,
}

/// Which hint about the order of the relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderHintKind {
    /// JOIN_FIXED_ORDER: as they are written.
    Fixed,
    /// JOIN_ORDER: these one after another, others anywhere.
    Order,
    /// JOIN_PREFIX: these before all others.
    Prefix,
    /// JOIN_SUFFIX: these after all others.
    Suffix,
}

impl OrderHintKind {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            OrderHintKind::Fixed => "JOIN_FIXED_ORDER",
            OrderHintKind::Order => "JOIN_ORDER",
            OrderHintKind::Prefix => "JOIN_PREFIX",
            OrderHintKind::Suffix => "JOIN_SUFFIX",
        }
    }
}

/// The hints on one relation.
#[derive(Debug)]
pub struct TableHints {
    /// The name it goes by.
    pub table: String,
    /// Hints on the relation as a whole, by their names.
    pub whole: Vec<String>,
    /// Hints on indexes: the hint, and which index; `None` for all of the relation.
    pub indexes: Vec<(IndexLevel, Option<String>)>,
}

/// A hint about indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLevel {
    /// Its name without `NO_`.
    pub name: &'static str,
    /// Whether it was written without `NO_`.
    pub on: bool,
}

impl IndexLevel {
    /// What the indexes are for of which it decides; the outer `None` if it decides nothing.
    pub fn purpose(self) -> Option<Option<IndexPurpose>> {
        match self.name {
            "INDEX" => Some(None),
            "JOIN_INDEX" => Some(Some(IndexPurpose::Join)),
            "GROUP_INDEX" => Some(Some(IndexPurpose::GroupBy)),
            "ORDER_INDEX" => Some(Some(IndexPurpose::OrderBy)),
            _ => None,
        }
    }

    /// The hint of this name, in upper case, if it is one about indexes.
    pub fn named(name: &str) -> Option<IndexLevel> {
        if name == NO_RANGE_OPTIMIZATION {
            return Some(IndexLevel { name: NO_RANGE_OPTIMIZATION, on: true });
        }
        let (plain, on) = name.strip_prefix("NO_").map_or((name, true), |plain| (plain, false));
        if plain == "ICP" && on {
            return None;
        }
        INDEX_LEVELS.iter().find(|known| **known == plain).map(|name| IndexLevel { name, on })
    }

    /// Whether both cannot hold for one index: they are about the same, or one of them is INDEX and the other about some of
    /// what that is about.
    pub fn conflicts(self, other: IndexLevel) -> bool {
        let whole = |one: IndexLevel, other: IndexLevel| one.name == "INDEX" && other.purpose().is_some();
        self.name == other.name || whole(self, other) || whole(other, self)
    }
}

const NO_RANGE_OPTIMIZATION: &str = "NO_RANGE_OPTIMIZATION";

/// Hints on indexes that have a form with `NO_`; ICP has no other.
const INDEX_LEVELS: [&str; 8] =
    ["INDEX", "JOIN_INDEX", "GROUP_INDEX", "ORDER_INDEX", "INDEX_MERGE", "ICP", "MRR", "SKIP_SCAN"];

impl fmt::Display for IndexLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.on { "" } else { "NO_" }, self.name)
    }
}

/// A query block, for its hints. It has no part in whether two trees are equal.
#[derive(Clone, Default)]
pub struct BlockRef {
    /// The hints of the statement, once it is read.
    pub(crate) of: Arc<OnceLock<Hints>>,
    /// The place of the block.
    pub(crate) at: usize,
}

impl BlockRef {
    /// The hints of the block, if the statement has any.
    pub fn hints(&self) -> Option<&BlockHints> {
        self.of.get()?.blocks.get(self.at)
    }
}

impl Statement {
    /// The hints of a statement that is planned, or of the one in it.
    pub fn hints(&self) -> Option<Arc<OnceLock<Hints>>> {
        let block = match self {
            Statement::Select(query) => query.body.outermost_block()?,
            Statement::Insert(insert) => &insert.block,
            Statement::Update(update) => &update.block,
            Statement::Delete(delete) => &delete.block,
            Statement::Explain(explain) => return explain.statement.hints(),
            Statement::Ddl(change) => match &**change {
                Ddl::CreateTable(table) => table.rows.as_ref()?.query.body.outermost_block()?,
                _ => return None,
            },
            _ => return None,
        };
        block.of.get().map(|_| block.of.clone())
    }
}

impl PartialEq for BlockRef {
    fn eq(&self, _: &BlockRef) -> bool {
        true
    }
}

impl fmt::Debug for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hints().fmt(f)
    }
}
