//! Changes of the schema.

use super::{Expr, Query, TableName};
use crate::collation::Collation;
use crate::types::ColumnType;

/// A change of the schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Ddl {
    /// CREATE DATABASE
    CreateDatabase {
        name: String,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// The default collation of its tables.
        collation: Option<Collation>,
    },
    /// ALTER DATABASE
    AlterDatabase {
        /// The session's, if it names none.
        name: Option<String>,
        /// The default collation of its tables to come, if it is to be another one.
        collation: Option<Collation>,
    },
    /// DROP DATABASE
    DropDatabase {
        name: String,
        /// IF EXISTS
        if_exists: bool,
    },
    /// CREATE TABLE
    CreateTable(CreateTable),
    /// CREATE TABLE ... LIKE
    CreateTableLike {
        /// The new table.
        name: TableName,
        /// Its model.
        like: TableName,
        /// IF NOT EXISTS
        if_not_exists: bool,
    },
    /// DROP TABLE
    DropTables {
        /// Which.
        names: Vec<TableName>,
        /// IF EXISTS
        if_exists: bool,
    },
    /// RENAME TABLE, ALTER TABLE ... RENAME: from what to what, in order.
    RenameTables(Vec<(TableName, TableName)>),
    /// TRUNCATE
    Truncate(TableName),
    /// ALTER TABLE, CREATE INDEX, DROP INDEX.
    AlterTable(AlterTable),
}

/// ALTER TABLE
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlterTable {
    /// Which table.
    pub name: TableName,
    /// IF EXISTS
    pub if_exists: bool,
    /// What to do, in order.
    pub actions: Vec<AlterAction>,
    /// ALGORITHM
    pub algorithm: AlterAlgorithm,
    /// LOCK
    pub lock: AlterLock,
    /// It is a CREATE INDEX or DROP INDEX, which needs INDEX in the place of ALTER.
    pub of_index: bool,
}

/// ALGORITHM of ALTER TABLE: how a change may be made, the dearest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlterAlgorithm {
    /// The cheapest that there is.
    #[default]
    Default,
    /// By the definition alone.
    Instant,
    /// Without a copy that goes row by row through the server's layers.
    Inplace,
    /// By a copy of all rows.
    Copy,
}

/// LOCK of ALTER TABLE: what others may do meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlterLock {
    /// As much as there is.
    #[default]
    Default,
    /// Read and write.
    None,
    /// Read.
    Shared,
    /// Nothing.
    Exclusive,
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnPlace {
    /// FIRST
    First,
    /// AFTER another one.
    After(String),
}

/// One action of an ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// ADD COLUMN
    AddColumn {
        column: ColumnSpec,
        /// After the last one, if not said.
        place: Option<ColumnPlace>,
        /// IF NOT EXISTS
        if_not_exists: bool,
    },
    /// DROP COLUMN
    DropColumn {
        name: String,
        /// IF EXISTS
        if_exists: bool,
    },
    /// MODIFY and CHANGE
    ChangeColumn {
        /// Its name until now.
        from: String,
        column: ColumnSpec,
        /// Where it was, if not said.
        place: Option<ColumnPlace>,
        /// IF EXISTS
        if_exists: bool,
    },
    /// RENAME COLUMN
    RenameColumn { from: String, to: String },
    /// ALTER COLUMN ... SET DEFAULT, with the text of an expression in parentheses; `None` for DROP DEFAULT.
    SetDefault { column: String, default: Option<(Expr, Option<String>)> },
    /// ADD INDEX and ADD of a key.
    AddIndex(IndexSpec),
    /// DROP INDEX, DROP PRIMARY KEY
    DropIndex {
        name: String,
        /// IF EXISTS
        if_exists: bool,
    },
    /// DROP CONSTRAINT
    DropConstraint {
        name: String,
        /// IF EXISTS
        if_exists: bool,
    },
    /// RENAME INDEX
    RenameIndex { from: String, to: String },
    /// ALTER INDEX ... VISIBLE, which it is.
    ShowIndex(String),
    /// RENAME TO
    RenameTo(TableName),
    /// `AUTO_INCREMENT = n`
    AutoIncrement(u64),
    /// COMMENT = '...'
    Comment(String),
    /// ENGINE
    Engine(String),
    /// FORCE
    Force,
    /// ORDER BY
    OrderBy(Vec<OrderColumn>),
    /// CONVERT TO CHARACTER SET; `None` for DEFAULT.
    ConvertTo(Option<Collation>),
    /// CHARACTER SET and COLLATE: the default of new columns.
    DefaultCollation(Collation),
    /// An option that changes nothing.
    Nothing,
}

/// A column of ALTER TABLE ... ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderColumn {
    pub name: String,
    /// DESC
    pub descending: bool,
}

/// CREATE TABLE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub name: TableName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The columns.
    pub columns: Vec<ColumnSpec>,
    /// Keys outside of columns.
    pub indexes: Vec<IndexSpec>,
    /// ENGINE
    pub engine: Option<String>,
    /// COLLATE, or the default of CHARSET.
    pub collation: Option<Collation>,
    /// COMMENT
    pub comment: String,
    /// AUTO_INCREMENT
    pub auto_increment: Option<u64>,
    /// The query that gives its rows and columns to it.
    pub rows: Option<NewRows>,
}

/// `[IGNORE | REPLACE] [AS] query`
#[derive(Clone, Debug, PartialEq)]
pub struct NewRows {
    /// IGNORE
    pub ignore: bool,
    /// REPLACE
    pub replace: bool,
    pub query: Box<Query>,
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    pub name: String,
    /// Its type; strings carry the collation named here, or none.
    pub column_type: ColumnType,
    /// Whether the column names its own collation.
    pub own_collation: bool,
    /// NULL or NOT NULL, if said.
    pub nullable: Option<bool>,
    /// DEFAULT; of CURRENT_TIMESTAMP a call of NOW, with its fractional digits if it has some.
    pub default: Option<Expr>,
    /// The text of a default that is an expression in parentheses.
    pub default_text: Option<String>,
    /// ON UPDATE CURRENT_TIMESTAMP, with its fractional digits.
    pub on_update_now: Option<u8>,
    /// AUTO_INCREMENT
    pub auto_increment: bool,
    /// PRIMARY KEY
    pub primary_key: bool,
    /// UNIQUE
    pub unique: bool,
    /// COMMENT
    pub comment: String,
}

/// Which kind of key is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySpec {
    Primary,
    Unique,
    Plain,
}

/// A key of CREATE TABLE or CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSpec {
    /// Its name, if given.
    pub name: Option<String>,
    /// Which kind.
    pub kind: KeySpec,
    /// Column names with prefix lengths.
    pub columns: Vec<(String, Option<u16>)>,
    /// COMMENT
    pub comment: String,
    /// IF NOT EXISTS, of MariaDB.
    pub if_not_exists: bool,
}
