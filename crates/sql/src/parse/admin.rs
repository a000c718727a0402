//! Statements by their first words; transactions, SET and what an operator does.

use super::cursor::Cursor;
use super::fingerprint::Mark;
use super::maintain::maintain;
use super::names::{system_variable, user_variable};
use super::{account, backup, grant, prepared, schema, show, xa};
use crate::ast::{
    AdminCommand, Assignment, Completion, Explain, ExplainFormat, Expr, FlushTables, Maintenance, Statement, TableLock,
};
use crate::error::{ER_UNKNOWN_EXPLAIN_FORMAT, SqlError};
use crate::expr::VariableScope;
use crate::isolation_level::IsolationLevel;
use crate::session::KillTarget;
use crate::stack;
use crate::types::SqlMode;
use crate::value::Value;

pub(super) fn parse(sql: &[u8], marks: &[Mark], sql_mode: SqlMode) -> Result<Statement, SqlError> {
    stack::with_room_for_statement(marks.len(), || {
        let mut cursor = Cursor::new(sql, marks, sql_mode);
        let statement = statement(&mut cursor)?;
        cursor.end()?;
        cursor.finish_hints(&statement);
        Ok(statement)
    })
}

fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let unsupported = |what: &str| Err(SqlError::unsupported(what));
    match cursor.word().as_str() {
        "SELECT" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH" | "TABLE" | "VALUES" => planned(cursor),
        _ if cursor.sees_operator("(") => planned(cursor),
        "BEGIN" => {
            cursor.skip();
            cursor.takes("WORK");
            Ok(Statement::Begin { consistent_snapshot: false, read_only: None })
        }
        "START" => start(cursor),
        "COMMIT" => {
            cursor.skip();
            completion(cursor).map(Statement::Commit)
        }
        "ROLLBACK" => rollback(cursor),
        "SAVEPOINT" => {
            cursor.skip();
            cursor.name().map(Statement::Savepoint)
        }
        "RELEASE" => {
            cursor.expect("RELEASE SAVEPOINT")?;
            cursor.name().map(Statement::ReleaseSavepoint)
        }
        "SET" => set(cursor),
        "USE" => {
            cursor.skip();
            cursor.name().map(Statement::Use)
        }
        "SHOW" => show::parse(cursor),
        "DESCRIBE" | "DESC" | "EXPLAIN" => explain(cursor),
        "KILL" => kill(cursor),
        "DO" => {
            cursor.skip();
            cursor.exprs().map(Statement::Do)
        }
        "DROP" if cursor.sees("DROP PREPARE") => prepared::parse(cursor),
        "CREATE" | "ALTER" | "DROP" | "GRANT" | "REVOKE" | "RENAME" if account::sees(cursor) => account::parse(cursor),
        "ALTER" if cursor.sees("ALTER INSTANCE") => alter_instance(cursor),
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "RENAME" => schema::parse(cursor),
        "FLUSH" => flush(cursor),
        "PURGE" => purge(cursor),
        "RESET" => reset(cursor),
        "SHUTDOWN" => {
            cursor.skip();
            Ok(Statement::Admin(AdminCommand::Shutdown))
        }
        "BACKUP" => backup::backup(cursor).map(Statement::Backup),
        "LOCK" | "UNLOCK" if cursor.sees_at(1, "INSTANCE") => backup::instance(cursor).map(Statement::Backup),
        "UNLOCK" => {
            cursor.skip();
            if !cursor.takes_any(&["TABLES", "TABLE"]) {
                return Err(cursor.unexpected());
            }
            Ok(Statement::UnlockTables)
        }
        "LOCK" => lock(cursor),
        "XA" => xa::parse(cursor),
        "PREPARE" | "EXECUTE" | "DEALLOCATE" => prepared::parse(cursor),
        "CALL" => unsupported("stored procedures"),
        "HANDLER" => unsupported("HANDLER"),
        "LOAD" => unsupported("LOAD DATA"),
        "ANALYZE" => maintain(cursor, Maintenance::Analyze),
        "CHECK" => maintain(cursor, Maintenance::Check),
        "CHECKSUM" => maintain(cursor, Maintenance::Checksum),
        "OPTIMIZE" => maintain(cursor, Maintenance::Optimize),
        "REPAIR" => maintain(cursor, Maintenance::Repair),
        "CHANGE" | "STOP" => unsupported("replication statements"),
        "BINLOG" => unsupported("BINLOG"),
        "INSTALL" | "UNINSTALL" => unsupported("plugins"),
        _ => Err(cursor.unexpected()),
    }
}

/// Queries and changes of rows: what is planned.
fn planned(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let changes = |cursor: &mut Cursor<'_>, with| match cursor.keyword().as_str() {
        "UPDATE" => cursor.update(with),
        _ => cursor.delete(with),
    };
    match cursor.keyword().as_str() {
        "INSERT" => cursor.insert(),
        "REPLACE" => cursor.replace(),
        "UPDATE" | "DELETE" => changes(cursor, None),
        "WITH" => {
            let from = cursor.at;
            let with = cursor.with()?;
            match cursor.keyword().as_str() {
                "UPDATE" | "DELETE" => changes(cursor, with),
                _ => cursor.query_with(with, from).map(|query| Statement::Select(Box::new(query))),
            }
        }
        _ => cursor.query().map(|query| Statement::Select(Box::new(query))),
    }
}

fn start(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if cursor.sees("START SLAVE") || cursor.sees("START REPLICA") {
        return Err(SqlError::unsupported("replication statements"));
    }
    cursor.expect("START TRANSACTION")?;
    let (mut consistent_snapshot, mut read_only) = (false, None);
    while !cursor.at_end() {
        if cursor.takes("WITH CONSISTENT SNAPSHOT") {
            consistent_snapshot = true;
        } else if cursor.takes("READ ONLY") && read_only != Some(false) {
            read_only = Some(true);
        } else if cursor.takes("READ WRITE") && read_only != Some(true) {
            read_only = Some(false);
        } else {
            return Err(cursor.unexpected());
        }
        if !cursor.takes_operator(",") {
            break;
        }
    }
    Ok(Statement::Begin { consistent_snapshot, read_only })
}

fn completion(cursor: &mut Cursor<'_>) -> Result<Completion, SqlError> {
    cursor.takes("WORK");
    let mut completion = Completion::default();
    if cursor.takes("AND NO CHAIN") {
    } else if cursor.takes("AND CHAIN") {
        completion.chain = true;
    }
    if cursor.takes("NO RELEASE") {
    } else if !completion.chain && cursor.takes("RELEASE") {
        completion.release = true;
    }
    Ok(completion)
}

fn rollback(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    let at = cursor.at;
    cursor.takes("WORK");
    if cursor.takes("TO") {
        cursor.takes("SAVEPOINT");
        return cursor.name().map(Statement::RollbackTo);
    }
    cursor.at = at;
    completion(cursor).map(Statement::Rollback)
}

fn explain(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    let analyze = cursor.takes("ANALYZE");
    let at = cursor.at;
    let named = cursor.takes("FORMAT") && cursor.takes_operator("=");
    if !named {
        // A table may be called so.
        cursor.at = at;
    }
    let mut format = if analyze { ExplainFormat::Tree } else { ExplainFormat::Traditional };
    if named {
        let name = cursor.name_or_text()?;
        format = match name.to_ascii_uppercase().as_str() {
            "TRADITIONAL" => ExplainFormat::Traditional,
            "JSON" => ExplainFormat::Json,
            "TREE" => ExplainFormat::Tree,
            _ => return Err(SqlError::new(ER_UNKNOWN_EXPLAIN_FORMAT, &[&name])),
        };
    }
    if analyze && format != ExplainFormat::Tree {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE with another FORMAT than TREE"));
    }
    match cursor.word().as_str() {
        "SELECT" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH" | "TABLE" | "VALUES" => {
            let statement = planned(cursor)?;
            Ok(Statement::Explain(Box::new(Explain { statement, format, analyze })))
        }
        _ if analyze || named => Err(cursor.unexpected()),
        _ => show::describe(cursor),
    }
}

fn kill(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    let target = if cursor.takes("QUERY") {
        KillTarget::Query
    } else {
        cursor.takes("CONNECTION");
        KillTarget::Connection
    };
    Ok(Statement::Kill { target, connection: cursor.expr()? })
}

fn alter_instance(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect("ALTER INSTANCE")?;
    if !cursor.takes("RELOAD TLS") {
        return Err(SqlError::unsupported("ALTER INSTANCE for anything but RELOAD TLS"));
    }
    if cursor.sees("NO ROLLBACK") {
        return Err(SqlError::unsupported("NO ROLLBACK ON ERROR: after an error TLS stays as it is"));
    }
    Ok(Statement::Admin(AdminCommand::ReloadTls))
}

fn flush(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    cursor.takes_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    let command = if cursor.takes("BINARY LOGS") || cursor.takes("LOGS") {
        AdminCommand::FlushLogs
    } else if cursor.takes("PRIVILEGES") {
        AdminCommand::FlushPrivileges
    } else if cursor.takes("STATUS") {
        AdminCommand::FlushStatus
    } else if cursor.takes("HOSTS") {
        AdminCommand::FlushHosts
    } else if cursor.takes("USER_RESOURCES") {
        AdminCommand::FlushUserResources
    } else if cursor.takes_any(&["TABLES", "TABLE"]) {
        return flush_tables(cursor);
    } else {
        return Err(cursor.unexpected());
    };
    Ok(Statement::Admin(command))
}

fn flush_tables(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let tables = match cursor.at_end() || cursor.sees("WITH") || cursor.sees("FOR") {
        true => Vec::new(),
        false => cursor.separated(Cursor::table_name)?,
    };
    if !tables.is_empty() && cursor.takes("FOR EXPORT") {
        return Err(SqlError::unsupported("FLUSH TABLES ... FOR EXPORT: tables are not files of their own"));
    }
    let read_lock = cursor.takes("WITH");
    if read_lock {
        cursor.expect("READ")?;
        cursor.expect("LOCK")?;
    }
    Ok(Statement::FlushTables(FlushTables { tables, read_lock }))
}

fn lock(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    if !cursor.takes_any(&["TABLES", "TABLE"]) {
        return Err(cursor.unexpected());
    }
    cursor.separated(table_lock).map(Statement::LockTables)
}

fn table_lock(cursor: &mut Cursor<'_>) -> Result<TableLock, SqlError> {
    let (name, alias) = (cursor.table_name()?, cursor.alias()?);
    let write = if cursor.takes("READ") {
        // What LOCAL lets in, only engines without transactions can hide from readers.
        cursor.takes("LOCAL");
        false
    } else {
        cursor.takes("LOW_PRIORITY");
        cursor.expect("WRITE")?;
        true
    };
    Ok(TableLock { name, alias, write })
}

fn purge(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    if !cursor.takes_any(&["BINARY LOGS", "MASTER LOGS"]) {
        return Err(cursor.unexpected());
    }
    let command = if cursor.takes("TO") {
        AdminCommand::PurgeBinaryLogsTo(cursor.text()?)
    } else {
        cursor.expect("BEFORE")?;
        let args = vec![cursor.expr()?];
        let seconds = Expr::Call { name: "UNIX_TIMESTAMP".to_owned(), args, distinct: false };
        AdminCommand::PurgeBinaryLogsBefore(Box::new(seconds))
    };
    Ok(Statement::Admin(command))
}

fn reset(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if cursor.takes("RESET MASTER") || cursor.takes("RESET BINARY LOGS AND GTIDS") {
        if cursor.sees("TO") {
            return Err(SqlError::unsupported("RESET MASTER TO: binlog files keep being numbered on"));
        }
        return Ok(Statement::Admin(AdminCommand::ResetBinaryLogs));
    }
    Err(SqlError::unsupported("RESET of anything but the binary logs"))
}

fn set(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    if cursor.sees("PASSWORD") {
        return account::set_password(cursor);
    }
    if cursor.sees("ROLE") || cursor.sees("DEFAULT ROLE") {
        return grant::set_role(cursor).map(Statement::Account);
    }
    let mut assignments = vec![assignment(cursor)?];
    while cursor.takes_operator(",") {
        assignments.push(assignment(cursor)?);
    }
    Ok(Statement::Set(assignments))
}

fn assignment(cursor: &mut Cursor<'_>) -> Result<Assignment, SqlError> {
    if let Some(variable) = cursor.variable() {
        if !cursor.takes_operator("=") {
            cursor.expect_operator(":=")?;
        }
        return match variable.strip_prefix("@@") {
            Some(name) => {
                let (scope, name) = system_variable(name)?;
                Ok(Assignment::System { scope, name, value: set_value(cursor)? })
            }
            None => Ok(Assignment::User(user_variable(&variable[1..])?, cursor.expr()?)),
        };
    }
    if cursor.takes("NAMES") {
        return names(cursor);
    }
    if cursor.takes("CHARACTER SET") || cursor.takes("CHARSET") {
        let charset = if cursor.takes("DEFAULT") { None } else { Some(cursor.name_or_text()?) };
        return Ok(Assignment::CharacterSet(charset));
    }
    let scope = if cursor.takes("GLOBAL") {
        Some(VariableScope::Global)
    } else if cursor.takes_any(&["SESSION", "LOCAL"]) {
        Some(VariableScope::Session)
    } else if cursor.takes_any(&["PERSIST", "PERSIST_ONLY"]) {
        return Err(SqlError::unsupported("SET PERSIST"));
    } else {
        None
    };
    if cursor.takes("TRANSACTION") {
        return transaction(cursor, scope.unwrap_or(VariableScope::Any));
    }
    let name = cursor.ident()?.to_lowercase();
    if !cursor.takes_operator("=") {
        cursor.expect_operator(":=")?;
    }
    Ok(Assignment::System { scope: scope.unwrap_or(VariableScope::Session), name, value: set_value(cursor)? })
}

/// The value of a system variable; bare words such as ON, utf8mb4 or binary are strings.
fn set_value(cursor: &mut Cursor<'_>) -> Result<Option<Expr>, SqlError> {
    let at = cursor.at;
    if cursor.takes("DEFAULT") && (cursor.at_end() || cursor.sees_operator(",")) {
        return Ok(None);
    }
    cursor.at = at;
    let keyword = matches!(cursor.word().as_str(), "NULL" | "TRUE" | "FALSE");
    if !keyword
        && let Ok(word) = cursor.name()
        && (cursor.at_end() || cursor.sees_operator(","))
    {
        return Ok(Some(Expr::Literal(Value::text(word))));
    }
    cursor.at = at;
    cursor.expr().map(Some)
}

fn names(cursor: &mut Cursor<'_>) -> Result<Assignment, SqlError> {
    if cursor.takes("DEFAULT") {
        return Ok(Assignment::Names { charset: None, collation: None });
    }
    let charset = Some(cursor.name_or_text()?);
    let collation = if cursor.takes("COLLATE") { Some(cursor.name_or_text()?) } else { None };
    Ok(Assignment::Names { charset, collation })
}

fn transaction(cursor: &mut Cursor<'_>, scope: VariableScope) -> Result<Assignment, SqlError> {
    let (mut isolation, mut read_only) = (None, None);
    loop {
        if isolation.is_none() && cursor.takes("ISOLATION LEVEL") {
            let level = IsolationLevel::ALL.into_iter().find(|level| cursor.takes(&level.name().replace('-', " ")));
            isolation = Some(level.ok_or_else(|| cursor.unexpected())?);
        } else if read_only.is_none() && cursor.takes("READ ONLY") {
            read_only = Some(true);
        } else if read_only.is_none() && cursor.takes("READ WRITE") {
            read_only = Some(false);
        } else {
            return Err(cursor.unexpected());
        }
        if !cursor.takes_operator(",") {
            return Ok(Assignment::Transaction { scope, isolation, read_only });
        }
    }
}
