//! ALTER TABLE: one [`AlterAction`] a clause, in the order in which they are written.

use super::column::{self, CharsetOptions};
use super::cursor::Cursor;
use super::schema::{database_options, encryption, index_spec, without_effect};
use crate::ast::{
    AlterAction, AlterAlgorithm, AlterLock, AlterTable, ColumnPlace, ColumnSpec, Ddl, OrderColumn, Statement,
};
use crate::collation::Collation;
use crate::error::{ER_UNKNOWN_ALTER_ALGORITHM, ER_UNKNOWN_ALTER_LOCK, ErrorCode, SqlError};

/// `ALTER TABLE [IF EXISTS] table [action [, action ...]]`
pub(super) fn alter(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    if cursor.takes_any(&["DATABASE", "SCHEMA"]) {
        return alter_database(cursor);
    }
    if !cursor.takes("TABLE") {
        return match cursor.word().as_str() {
            word @ ("VIEW" | "EVENT" | "PROCEDURE" | "FUNCTION" | "SERVER" | "INSTANCE") => {
                Err(SqlError::unsupported(format!("ALTER {word}")))
            }
            _ => Err(cursor.unexpected()),
        };
    }
    let if_exists = cursor.takes("IF EXISTS");
    let mut table = AlterTable { name: cursor.table_name()?, if_exists, ..AlterTable::default() };
    while !cursor.at_end() {
        if !how(cursor, &mut table)? {
            action(cursor, &mut table.actions)?;
        }
        if !cursor.takes_operator(",") {
            break;
        }
        if cursor.at_end() {
            return Err(cursor.unexpected());
        }
    }
    // A table may keep its name here, other than in RENAME TABLE.
    if let (false, [AlterAction::RenameTo(to)]) = (table.if_exists, table.actions.as_slice())
        && *to != table.name
    {
        return Ok(Statement::Ddl(Box::new(Ddl::RenameTables(vec![(table.name, to.clone())]))));
    }
    Ok(Statement::Ddl(Box::new(Ddl::AlterTable(table))))
}

/// `ALTER DATABASE [name] option ...`
fn alter_database(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    const OPTIONS: [&str; 6] = ["DEFAULT", "CHARACTER SET", "CHARSET", "COLLATE", "ENCRYPTION", "READ ONLY"];
    let is_named = !OPTIONS.iter().any(|option| cursor.sees(option));
    let name = is_named.then(|| cursor.name()).transpose()?;
    if cursor.at_end() {
        return Err(cursor.unexpected());
    }
    if cursor.sees("READ ONLY") {
        return Err(SqlError::unsupported("READ ONLY of databases"));
    }
    let collation = database_options(cursor)?;
    Ok(Statement::Ddl(Box::new(Ddl::AlterDatabase { name, collation })))
}

/// `ALGORITHM [=] word`, `LOCK [=] word`, if one of them is next.
pub(super) fn how(cursor: &mut Cursor<'_>, table: &mut AlterTable) -> Result<bool, SqlError> {
    if cursor.takes("ALGORITHM") {
        cursor.takes_operator("=");
        let words = [
            ("DEFAULT", AlterAlgorithm::Default),
            ("INSTANT", AlterAlgorithm::Instant),
            ("INPLACE", AlterAlgorithm::Inplace),
            ("COPY", AlterAlgorithm::Copy),
        ];
        table.algorithm = one_of(cursor, words, ER_UNKNOWN_ALTER_ALGORITHM)?;
        return Ok(true);
    }
    if cursor.takes("LOCK") {
        cursor.takes_operator("=");
        let words = [
            ("DEFAULT", AlterLock::Default),
            ("NONE", AlterLock::None),
            ("SHARED", AlterLock::Shared),
            ("EXCLUSIVE", AlterLock::Exclusive),
        ];
        table.lock = one_of(cursor, words, ER_UNKNOWN_ALTER_LOCK)?;
        return Ok(true);
    }
    Ok(false)
}

/// What a word in any case means; `unknown` with its name otherwise.
fn one_of<T>(cursor: &mut Cursor<'_>, words: [(&str, T); 4], unknown: ErrorCode) -> Result<T, SqlError> {
    let name = cursor.name()?;
    let known = words.into_iter().find(|(word, _)| name.eq_ignore_ascii_case(word));
    known.map(|(_, meaning)| meaning).ok_or_else(|| SqlError::new(unknown, &[&name]))
}

/// One clause, which may be several actions: a list of columns, or options without commas between them.
fn action(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterAction>) -> Result<(), SqlError> {
    match cursor.word().as_str() {
        "ADD" => return add(cursor, actions),
        "DROP" => actions.push(drop(cursor)?),
        "MODIFY" => {
            cursor.skip();
            cursor.takes("COLUMN");
            let if_exists = cursor.takes("IF EXISTS");
            let column = column::column(cursor)?;
            let (from, place) = (column.name.clone(), place(cursor)?);
            actions.push(AlterAction::ChangeColumn { from, column, place, if_exists });
        }
        "CHANGE" => {
            cursor.skip();
            cursor.takes("COLUMN");
            let if_exists = cursor.takes("IF EXISTS");
            let from = cursor.name()?;
            let column = column::column(cursor)?;
            let place = place(cursor)?;
            actions.push(AlterAction::ChangeColumn { from, column, place, if_exists });
        }
        "ALTER" => actions.push(alter_column(cursor)?),
        "RENAME" => actions.push(rename(cursor)?),
        "CONVERT" => {
            cursor.skip();
            cursor.expect("TO")?;
            actions.push(AlterAction::ConvertTo(convert_to(cursor)?));
        }
        "FORCE" => {
            cursor.skip();
            actions.push(AlterAction::Force);
        }
        "ORDER" => {
            cursor.skip();
            cursor.expect("BY")?;
            actions.push(AlterAction::OrderBy(cursor.separated(order_column)?));
        }
        "DISABLE" | "ENABLE" => {
            cursor.skip();
            cursor.expect("KEYS")?;
            actions.push(AlterAction::Nothing);
        }
        "WITH" | "WITHOUT" => {
            cursor.skip();
            cursor.expect("VALIDATION")?;
            actions.push(AlterAction::Nothing);
        }
        "PARTITION" | "COALESCE" | "REORGANIZE" | "EXCHANGE" | "TRUNCATE" | "REMOVE" | "ANALYZE" | "CHECK"
        | "OPTIMIZE" | "REBUILD" | "REPAIR" => return Err(SqlError::unsupported("partitions")),
        word @ ("DISCARD" | "IMPORT") => return Err(SqlError::unsupported(format!("ALTER TABLE ... {word}"))),
        _ => return options(cursor, actions),
    }
    Ok(())
}

fn add(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterAction>) -> Result<(), SqlError> {
    cursor.skip();
    if cursor.sees("PARTITION") {
        return Err(SqlError::unsupported("partitions"));
    }
    let column_word = cursor.takes("COLUMN");
    if !column_word && let Some(index) = index_spec(cursor)? {
        actions.push(AlterAction::AddIndex(index));
        return Ok(());
    }
    let if_not_exists = cursor.takes("IF NOT EXISTS");
    if !cursor.takes_operator("(") {
        let column = column::column(cursor)?;
        let place = place(cursor)?;
        actions.push(AlterAction::AddColumn { column, place, if_not_exists });
        return Ok(());
    }
    loop {
        match index_spec(cursor)? {
            Some(index) => actions.push(AlterAction::AddIndex(index)),
            None => {
                let column: ColumnSpec = column::column(cursor)?;
                actions.push(AlterAction::AddColumn { column, place: None, if_not_exists });
            }
        }
        if !cursor.takes_operator(",") {
            break;
        }
    }
    cursor.expect_operator(")")
}

/// `FIRST`, `AFTER column`
fn place(cursor: &mut Cursor<'_>) -> Result<Option<ColumnPlace>, SqlError> {
    if cursor.takes("FIRST") {
        return Ok(Some(ColumnPlace::First));
    }
    if cursor.takes("AFTER") {
        return Ok(Some(ColumnPlace::After(cursor.name()?)));
    }
    Ok(None)
}

fn drop(cursor: &mut Cursor<'_>) -> Result<AlterAction, SqlError> {
    cursor.skip();
    if cursor.takes("PRIMARY KEY") {
        return Ok(AlterAction::DropIndex { name: "PRIMARY".to_owned(), if_exists: false });
    }
    if cursor.takes_any(&["INDEX", "KEY"]) {
        let if_exists = cursor.takes("IF EXISTS");
        return Ok(AlterAction::DropIndex { name: cursor.name()?, if_exists });
    }
    if cursor.takes("CONSTRAINT") {
        let if_exists = cursor.takes("IF EXISTS");
        return Ok(AlterAction::DropConstraint { name: cursor.name()?, if_exists });
    }
    match cursor.word().as_str() {
        "FOREIGN" => return Err(SqlError::unsupported("foreign keys")),
        "CHECK" => return Err(SqlError::unsupported("CHECK constraints")),
        "PARTITION" => return Err(SqlError::unsupported("partitions")),
        _ => {}
    }
    cursor.takes("COLUMN");
    let if_exists = cursor.takes("IF EXISTS");
    let name = cursor.name()?;
    cursor.takes_any(&["RESTRICT", "CASCADE"]);
    Ok(AlterAction::DropColumn { name, if_exists })
}

fn alter_column(cursor: &mut Cursor<'_>) -> Result<AlterAction, SqlError> {
    cursor.skip();
    if cursor.sees("CHECK") || cursor.sees("CONSTRAINT") {
        return Err(SqlError::unsupported("CHECK constraints"));
    }
    if cursor.takes_any(&["INDEX", "KEY"]) {
        let name = cursor.name()?;
        if cursor.takes("VISIBLE") {
            return Ok(AlterAction::ShowIndex(name));
        }
        cursor.expect("INVISIBLE")?;
        return Err(SqlError::unsupported("invisible indexes"));
    }
    cursor.takes("COLUMN");
    let name = cursor.name()?;
    if cursor.takes("DROP") {
        cursor.expect("DEFAULT")?;
        return Ok(AlterAction::SetDefault { column: name, default: None });
    }
    cursor.expect("SET")?;
    if cursor.sees("VISIBLE") || cursor.sees("INVISIBLE") {
        return Err(SqlError::unsupported("invisible columns"));
    }
    cursor.expect("DEFAULT")?;
    let (default, text) = column::default_value(cursor)?;
    Ok(AlterAction::SetDefault { column: name, default: default.map(|default| (default, text)) })
}

fn rename(cursor: &mut Cursor<'_>) -> Result<AlterAction, SqlError> {
    cursor.skip();
    if cursor.takes("COLUMN") {
        let from = cursor.name()?;
        cursor.expect("TO")?;
        return Ok(AlterAction::RenameColumn { from, to: cursor.name()? });
    }
    if cursor.takes_any(&["INDEX", "KEY"]) {
        let from = cursor.name()?;
        cursor.expect("TO")?;
        return Ok(AlterAction::RenameIndex { from, to: cursor.name()? });
    }
    if !cursor.takes_any(&["TO", "AS"]) {
        cursor.takes_operator("=");
    }
    cursor.table_name().map(AlterAction::RenameTo)
}

/// What follows CONVERT TO.
fn convert_to(cursor: &mut Cursor<'_>) -> Result<Option<Collation>, SqlError> {
    if cursor.takes("CHARACTER SET DEFAULT") || cursor.takes("CHARSET DEFAULT") {
        if !cursor.sees("COLLATE") {
            return Ok(None);
        }
    } else if !cursor.sees("CHARACTER SET") && !cursor.sees("CHARSET") {
        return Err(cursor.unexpected());
    }
    let mut charset = CharsetOptions::default();
    while charset.option(cursor)? {}
    charset.collation()
}

fn order_column(cursor: &mut Cursor<'_>) -> Result<OrderColumn, SqlError> {
    let name = cursor.ident()?;
    let descending = cursor.takes("DESC");
    if !descending {
        cursor.takes("ASC");
    }
    Ok(OrderColumn { name, descending })
}

/// Options of the table, with spaces between them.
fn options(cursor: &mut Cursor<'_>, actions: &mut Vec<AlterAction>) -> Result<(), SqlError> {
    let mut charset = CharsetOptions::default();
    let before = cursor.at;
    while !cursor.at_end() && !cursor.sees_operator(",") {
        if cursor.takes("DEFAULT") && !charset.next(cursor) {
            return Err(cursor.unexpected());
        }
        if charset.option(cursor)? {
            continue;
        }
        if cursor.takes_any(&["ENGINE", "TYPE"]) {
            cursor.takes_operator("=");
            actions.push(AlterAction::Engine(cursor.name_or_text()?));
        } else if cursor.takes("AUTO_INCREMENT") {
            cursor.takes_operator("=");
            actions.push(AlterAction::AutoIncrement(cursor.integer()?));
        } else if cursor.takes("COMMENT") {
            cursor.takes_operator("=");
            actions.push(AlterAction::Comment(cursor.text()?));
        } else if cursor.sees("PARTITION") {
            return Err(SqlError::unsupported("partitions"));
        } else if !encryption(cursor, "encrypted tables")? {
            without_effect(cursor)?;
            actions.push(AlterAction::Nothing);
        }
    }
    if let Some(collation) = charset.collation()? {
        actions.push(AlterAction::DefaultCollation(collation));
    }
    if cursor.at == before { Err(cursor.unexpected()) } else { Ok(()) }
}
