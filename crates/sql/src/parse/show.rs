//! SHOW and DESCRIBE.

use super::account;
use super::cursor::Cursor;
use crate::ast::{Absent, ShowFilter, ShowKind, ShowSchema, Statement, TableName};
use crate::error::SqlError;
use crate::expr::VariableScope;

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect("SHOW")?;
    let full = cursor.takes("FULL");
    if let Some(what) = schema(cursor, full)? {
        let filter = filter(cursor)?;
        return Ok(Statement::ShowSchema { what, filter });
    }
    if let Some(what) = server(cursor, full)? {
        let filter = filter(cursor)?;
        return Ok(Statement::Show { what, filter });
    }
    diagnostics(cursor)
}

fn filter(cursor: &mut Cursor<'_>) -> Result<Option<ShowFilter>, SqlError> {
    if cursor.takes("LIKE") {
        return cursor.text().map(|pattern| Some(ShowFilter::Like(pattern)));
    }
    if cursor.takes("WHERE") {
        return cursor.expr().map(|condition| Some(ShowFilter::Where(condition)));
    }
    Ok(None)
}

/// `{FROM | IN} database`
fn from_database(cursor: &mut Cursor<'_>) -> Result<Option<String>, SqlError> {
    if cursor.takes_any(&["FROM", "IN"]) { cursor.name().map(Some) } else { Ok(None) }
}

/// `{FROM | IN} table [{FROM | IN} database]`
fn from_table(cursor: &mut Cursor<'_>) -> Result<TableName, SqlError> {
    if !cursor.takes_any(&["FROM", "IN"]) {
        return Err(cursor.unexpected());
    }
    let mut table = cursor.table_name()?;
    if let Some(database) = from_database(cursor)? {
        table.database = Some(database);
    }
    Ok(table)
}

fn schema(cursor: &mut Cursor<'_>, full: bool) -> Result<Option<ShowSchema>, SqlError> {
    Ok(Some(if !full && cursor.takes_any(&["DATABASES", "SCHEMAS"]) {
        ShowSchema::Databases
    } else if cursor.takes("TABLES") {
        ShowSchema::Tables { full, database: from_database(cursor)? }
    } else if cursor.takes("TABLE STATUS") {
        ShowSchema::TableStatus { database: from_database(cursor)? }
    } else if cursor.takes("TRIGGERS") {
        ShowSchema::Absent { what: Absent::Triggers, database: from_database(cursor)? }
    } else if !full && cursor.takes("EVENTS") {
        ShowSchema::Absent { what: Absent::Events, database: from_database(cursor)? }
    } else if !full && cursor.takes("OPEN TABLES") {
        ShowSchema::Absent { what: Absent::OpenTables, database: from_database(cursor)? }
    } else if !full && (cursor.takes("PROCEDURE STATUS") || cursor.takes("FUNCTION STATUS")) {
        ShowSchema::Absent { what: Absent::Routines, database: None }
    } else if cursor.takes_any(&["COLUMNS", "FIELDS"]) {
        ShowSchema::Columns { full, table: from_table(cursor)? }
    } else if !full && cursor.takes_any(&["INDEX", "INDEXES", "KEYS"]) {
        ShowSchema::Index { table: from_table(cursor)? }
    } else if cursor.takes("CREATE TABLE") {
        ShowSchema::CreateTable { table: cursor.table_name()? }
    } else if cursor.takes("CREATE DATABASE") || cursor.takes("CREATE SCHEMA") {
        let if_not_exists = cursor.takes("IF NOT EXISTS");
        ShowSchema::CreateDatabase { name: cursor.name()?, if_not_exists }
    } else {
        return Ok(None);
    }))
}

fn server(cursor: &mut Cursor<'_>, full: bool) -> Result<Option<ShowKind>, SqlError> {
    if cursor.takes("PROCESSLIST") {
        return Ok(Some(ShowKind::ProcessList { full }));
    }
    let scope = if cursor.takes("GLOBAL") { VariableScope::Global } else { VariableScope::Session };
    cursor.takes_any(&["SESSION", "LOCAL"]);
    Ok(Some(if cursor.takes("VARIABLES") {
        ShowKind::Variables(scope)
    } else if cursor.takes("STATUS") {
        ShowKind::Status(scope)
    } else if cursor.takes("BINARY LOGS") || cursor.takes("MASTER LOGS") {
        ShowKind::BinaryLogs
    } else if cursor.takes("MASTER STATUS") || cursor.takes("BINARY LOG STATUS") {
        ShowKind::BinaryLogStatus
    } else if cursor.takes("ENGINES") || cursor.takes("STORAGE ENGINES") {
        ShowKind::Engines
    } else if cursor.takes("ENGINE") {
        let name = cursor.name_or_text()?;
        let what = cursor.word();
        cursor.name()?;
        ShowKind::Engine { name, what }
    } else if cursor.takes("COLLATION") {
        ShowKind::Collation
    } else if cursor.takes("CHARACTER SET") || cursor.takes("CHARSET") {
        ShowKind::CharacterSet
    } else if cursor.takes("PLUGINS") {
        ShowKind::Plugins
    } else if cursor.takes("PRIVILEGES") {
        ShowKind::Privileges
    } else if cursor.takes("GRANTS") {
        let account = if cursor.takes("FOR") { account::name_or_current(cursor)? } else { None };
        let roles = if cursor.takes("USING") { account::names(cursor)? } else { Vec::new() };
        ShowKind::Grants { account, roles }
    } else if cursor.takes("CREATE USER") {
        let account = if cursor.at_end() { None } else { account::name_or_current(cursor)? };
        ShowKind::CreateUser { account }
    } else if cursor.takes("BINLOG EVENTS") {
        let file = if cursor.takes("IN") { Some(cursor.text()?) } else { None };
        let from = if cursor.takes("FROM") { cursor.integer()? } else { 0 };
        ShowKind::BinlogEvents { file, from, limit: limit(cursor)?.unwrap_or((0, u64::MAX)) }
    } else if cursor.takes("SLAVE STATUS") || cursor.takes("REPLICA STATUS") {
        ShowKind::ReplicaStatus
    } else if cursor.takes("SLAVE HOSTS") {
        ShowKind::Replicas { old_names: true }
    } else if cursor.takes("REPLICAS") {
        ShowKind::Replicas { old_names: false }
    } else {
        return Ok(None);
    }))
}

fn diagnostics(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let count = cursor.takes("COUNT");
    if count {
        cursor.expect_operator("(")?;
        cursor.expect_operator("*")?;
        cursor.expect_operator(")")?;
    }
    let errors_only = cursor.takes("ERRORS");
    if !errors_only && !cursor.takes("WARNINGS") {
        return match cursor.word().as_str() {
            word @ ("PROCEDURE" | "FUNCTION" | "CREATE" | "RELAYLOG" | "PROFILES" | "PROFILE") => {
                Err(SqlError::unsupported(format!("SHOW {word}")))
            }
            _ => Err(cursor.unexpected()),
        };
    }
    Ok(Statement::ShowDiagnostics { errors_only, count, limit: limit(cursor)? })
}

/// `LIMIT {[offset,] count | count OFFSET offset}`
fn limit(cursor: &mut Cursor<'_>) -> Result<Option<(u64, u64)>, SqlError> {
    if !cursor.takes("LIMIT") {
        return Ok(None);
    }
    let first = cursor.integer()?;
    Ok(Some(if cursor.takes_operator(",") {
        (first, cursor.integer()?)
    } else if cursor.takes("OFFSET") {
        (cursor.integer()?, first)
    } else {
        (0, first)
    }))
}

/// What follows DESCRIBE: a table, and maybe a column or pattern.
pub(super) fn describe(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let table = cursor.table_name()?;
    let filter = if cursor.at_end() { None } else { Some(ShowFilter::Like(cursor.name_or_text()?)) };
    Ok(Statement::ShowSchema { what: ShowSchema::Columns { full: false, table }, filter })
}
