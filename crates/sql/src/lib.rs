//! Catalog, types, planning and execution of MySQL statements.
//!
//! Outline: [`database::Database`] is the entry: it takes a statement's text or a prepared statement,
//! finds or makes its plan and runs it in a session's transaction. [`parse`] turns text into [`ast`],
//! [`plan`] binds names and picks access paths, [`exec`] pulls rows, [`ddl`] changes the [`catalog`],
//! [`utility`] runs SHOW, SET, KILL and what else has no plan.
//! Below them lie [`expr`], [`types`], [`value`], [`collation`] and the stored forms in [`codec`].
//!
//! A server gives what lies outside of statements through [`session::Environment`] and takes rows
//! through [`session::ResultSink`].
//!
//! Not here: sockets, accounts, system variables (`cohort-server`); locks and commit (`cohort-txn`).

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod ast;
pub mod catalog;
mod check;
pub mod codec;
pub mod database;
mod ddl;
mod exec;
pub mod expr;
pub mod isolation_level;
pub mod memory;
pub mod parse;
mod plan;
pub mod privilege;
mod profile;
pub mod session;
pub mod spill;
mod stack;
mod statistics;
mod utility;

pub use cohort_types as types;
pub use cohort_types::{ResultColumn, SqlError, Value, collation, error, value};

pub use check::{IndexReport, TableCheck, TableReport, check_tables};
pub use database::{Database, Prepared};
pub use session::{Environment, Outcome, ResultSink, SessionState, StatementResult};
