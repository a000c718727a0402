//! Statements that change the schema.

use super::alter;
use super::column::{CharsetOptions, column};
use super::cursor::Cursor;
use crate::ast::{AlterAction, AlterTable, CreateTable, Ddl, IndexSpec, KeySpec, NewRows, Statement};
use crate::collation::Collation;
use crate::error::{ER_WRONG_CONSTANT, SqlError};

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let ddl = match cursor.word().as_str() {
        "CREATE" => create(cursor)?,
        "DROP" => drop(cursor)?,
        "TRUNCATE" => {
            cursor.skip();
            cursor.takes("TABLE");
            Ddl::Truncate(cursor.table_name()?)
        }
        "RENAME" => rename(cursor)?,
        _ => return alter::alter(cursor),
    };
    Ok(Statement::Ddl(Box::new(ddl)))
}

fn create(cursor: &mut Cursor<'_>) -> Result<Ddl, SqlError> {
    cursor.skip();
    if cursor.takes_any(&["DATABASE", "SCHEMA"]) {
        let if_not_exists = cursor.takes("IF NOT EXISTS");
        let name = cursor.name()?;
        let collation = database_options(cursor)?;
        return Ok(Ddl::CreateDatabase { name, if_not_exists, collation });
    }
    if cursor.sees("TEMPORARY") {
        return Err(SqlError::unsupported("temporary tables"));
    }
    if cursor.takes("TABLE") {
        return create_table(cursor);
    }
    match cursor.word().as_str() {
        "INDEX" | "UNIQUE" => {
            let kind = if cursor.takes("UNIQUE") { KeySpec::Unique } else { KeySpec::Plain };
            create_index(cursor, kind)
        }
        "FULLTEXT" | "SPATIAL" => Err(SqlError::unsupported("FULLTEXT and SPATIAL indexes")),
        word @ ("VIEW" | "TRIGGER" | "PROCEDURE" | "FUNCTION" | "EVENT" | "SERVER" | "TABLESPACE" | "DEFINER"
        | "OR" | "ALGORITHM" | "SQL") => Err(SqlError::unsupported(format!("CREATE {word}"))),
        _ => Err(cursor.unexpected()),
    }
}

/// What follows the name of a database: the collation that it asks for.
pub(super) fn database_options(cursor: &mut Cursor<'_>) -> Result<Option<Collation>, SqlError> {
    let mut options = CharsetOptions::default();
    while !cursor.at_end() {
        cursor.takes("DEFAULT");
        if !encryption(cursor, "encrypted databases")? && !options.option(cursor)? {
            return Err(cursor.unexpected());
        }
    }
    options.collation()
}

/// `ENCRYPTION [=] 'N'`, if it is next; of 'Y', `what` is said not to be there.
pub(super) fn encryption(cursor: &mut Cursor<'_>, what: &str) -> Result<bool, SqlError> {
    if !cursor.takes("ENCRYPTION") {
        return Ok(false);
    }
    cursor.takes_operator("=");
    let value = cursor.text()?;
    match value.to_ascii_uppercase().as_str() {
        // An empty text is that of no encryption, too.
        "N" | "" => Ok(true),
        "Y" => Err(SqlError::unsupported(what)),
        _ => Err(SqlError::new(ER_WRONG_CONSTANT, &[&"argument (should be Y or N)", &value])),
    }
}

fn create_index(cursor: &mut Cursor<'_>, kind: KeySpec) -> Result<Ddl, SqlError> {
    cursor.expect("INDEX")?;
    let if_not_exists = cursor.takes("IF NOT EXISTS");
    let index_name = cursor.name()?;
    index_type(cursor)?;
    cursor.expect("ON")?;
    let name = cursor.table_name()?;
    let columns = key_parts(cursor)?;
    let comment = index_options(cursor)?;
    let index = IndexSpec { name: Some(index_name), kind, columns, comment, if_not_exists };
    let actions = vec![AlterAction::AddIndex(index)];
    let mut table = AlterTable { name, actions, of_index: true, ..AlterTable::default() };
    while alter::how(cursor, &mut table)? {}
    Ok(Ddl::AlterTable(table))
}

/// `USING BTREE`
fn index_type(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    if cursor.takes_any(&["USING", "TYPE"]) && !cursor.takes_any(&["BTREE", "HASH"]) {
        return Err(cursor.unexpected());
    }
    Ok(())
}

fn key_parts(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Option<u16>)>, SqlError> {
    cursor.expect_operator("(")?;
    let mut parts = Vec::new();
    loop {
        if cursor.sees_operator("(") {
            return Err(SqlError::unsupported("indexes on expressions"));
        }
        let name = cursor.name()?;
        let prefix = cursor.optional_length()?;
        if cursor.takes("DESC") {
            return Err(SqlError::unsupported("descending indexes"));
        }
        cursor.takes("ASC");
        parts.push((name, prefix));
        if !cursor.takes_operator(",") {
            break;
        }
    }
    cursor.expect_operator(")")?;
    Ok(parts)
}

fn index_options(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    let mut comment = String::new();
    loop {
        if cursor.takes("COMMENT") {
            comment = cursor.text()?;
        } else if cursor.sees("USING") {
            index_type(cursor)?;
        } else if cursor.takes("KEY_BLOCK_SIZE") {
            cursor.takes_operator("=");
            cursor.integer::<u64>()?;
        } else if cursor.takes("INVISIBLE") {
            return Err(SqlError::unsupported("invisible indexes"));
        } else if cursor.takes("WITH PARSER") {
            return Err(SqlError::unsupported("WITH PARSER"));
        } else if !cursor.takes("VISIBLE") {
            return Ok(comment);
        }
    }
}

fn create_table(cursor: &mut Cursor<'_>) -> Result<Ddl, SqlError> {
    let if_not_exists = cursor.takes("IF NOT EXISTS");
    let name = cursor.table_name()?;
    if cursor.takes("LIKE") {
        return Ok(Ddl::CreateTableLike { name, like: cursor.table_name()?, if_not_exists });
    }
    let mut table = CreateTable {
        name,
        if_not_exists,
        columns: Vec::new(),
        indexes: Vec::new(),
        engine: None,
        collation: None,
        comment: String::new(),
        auto_increment: None,
        rows: None,
    };
    let defined = !cursor.sees_query() && cursor.takes_operator("(");
    if defined && cursor.takes("LIKE") {
        let like = cursor.table_name()?;
        cursor.expect_operator(")")?;
        return Ok(Ddl::CreateTableLike { name: table.name, like, if_not_exists });
    }
    if defined {
        loop {
            match index_spec(cursor)? {
                Some(index) => table.indexes.push(index),
                None => table.columns.push(column(cursor)?),
            }
            if !cursor.takes_operator(",") {
                break;
            }
        }
        cursor.expect_operator(")")?;
    }
    table_options(cursor, &mut table)?;
    table.rows = new_rows(cursor)?;
    Ok(Ddl::CreateTable(table))
}

/// `[IGNORE | REPLACE] [AS] query`, if it is next.
fn new_rows(cursor: &mut Cursor<'_>) -> Result<Option<NewRows>, SqlError> {
    if cursor.at_end() {
        return Ok(None);
    }
    let ignore = cursor.takes("IGNORE");
    let replace = !ignore && cursor.takes("REPLACE");
    cursor.takes("AS");
    if !cursor.sees_query() {
        return Err(cursor.unexpected());
    }
    Ok(Some(NewRows { ignore, replace, query: Box::new(cursor.query()?) }))
}

/// A key definition, if one is next.
pub(super) fn index_spec(cursor: &mut Cursor<'_>) -> Result<Option<IndexSpec>, SqlError> {
    let mut name = None;
    if cursor.takes("CONSTRAINT")
        && !cursor.sees("PRIMARY")
        && !cursor.sees("UNIQUE")
        && !cursor.sees("FOREIGN")
        && !cursor.sees("CHECK")
    {
        name = Some(cursor.name()?);
    }
    let kind = match cursor.word().as_str() {
        "PRIMARY" => {
            cursor.expect("PRIMARY KEY")?;
            KeySpec::Primary
        }
        "UNIQUE" => {
            cursor.skip();
            cursor.takes_any(&["KEY", "INDEX"]);
            KeySpec::Unique
        }
        "KEY" | "INDEX" => {
            cursor.skip();
            KeySpec::Plain
        }
        "FOREIGN" => return Err(SqlError::unsupported("foreign keys")),
        "CHECK" => return Err(SqlError::unsupported("CHECK constraints")),
        "FULLTEXT" | "SPATIAL" => return Err(SqlError::unsupported("FULLTEXT and SPATIAL indexes")),
        _ if name.is_some() => return Err(cursor.unexpected()),
        _ => return Ok(None),
    };
    let if_not_exists = cursor.takes("IF NOT EXISTS");
    if !cursor.sees_operator("(") && !cursor.sees("USING") && !cursor.sees("TYPE") {
        name = Some(cursor.name()?);
    }
    index_type(cursor)?;
    let columns = key_parts(cursor)?;
    let comment = index_options(cursor)?;
    Ok(Some(IndexSpec { name, kind, columns, comment, if_not_exists }))
}

fn table_options(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<(), SqlError> {
    let mut charset = CharsetOptions::default();
    while !cursor.at_end() && !sees_rows(cursor) {
        cursor.takes_operator(",");
        cursor.takes("DEFAULT");
        if charset.option(cursor)? {
            continue;
        }
        if cursor.takes_any(&["ENGINE", "TYPE"]) {
            cursor.takes_operator("=");
            table.engine = Some(cursor.name_or_text()?);
        } else if cursor.takes("AUTO_INCREMENT") {
            cursor.takes_operator("=");
            table.auto_increment = Some(cursor.integer()?);
        } else if cursor.takes("COMMENT") {
            cursor.takes_operator("=");
            table.comment = cursor.text()?;
        } else if cursor.sees("PARTITION") {
            return Err(SqlError::unsupported("partitions"));
        } else if !encryption(cursor, "encrypted tables")? {
            without_effect(cursor)?;
        }
    }
    table.collation = charset.collation()?;
    Ok(())
}

fn sees_rows(cursor: &Cursor<'_>) -> bool {
    cursor.sees_query() || matches!(cursor.word().as_str(), "AS" | "IGNORE" | "REPLACE")
}

/// Options about how a table is stored elsewhere.
pub(super) fn without_effect(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    const KNOWN: [&str; 14] = [
        "ROW_FORMAT",
        "KEY_BLOCK_SIZE",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "COMPRESSION",
        "DELAY_KEY_WRITE",
        "INSERT_METHOD",
        "MAX_ROWS",
        "MIN_ROWS",
        "PACK_KEYS",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES",
        "CONNECTION",
    ];
    if !cursor.takes_any(&KNOWN) {
        return Err(cursor.unexpected());
    }
    cursor.takes_operator("=");
    if cursor.sees_number() || cursor.sees_text() || !cursor.word().is_empty() {
        cursor.skip();
        return Ok(());
    }
    Err(cursor.unexpected())
}

fn drop(cursor: &mut Cursor<'_>) -> Result<Ddl, SqlError> {
    cursor.skip();
    if cursor.takes_any(&["DATABASE", "SCHEMA"]) {
        let if_exists = cursor.takes("IF EXISTS");
        return Ok(Ddl::DropDatabase { name: cursor.name()?, if_exists });
    }
    if cursor.takes_any(&["TABLE", "TABLES"]) {
        let if_exists = cursor.takes("IF EXISTS");
        let mut names = vec![cursor.table_name()?];
        while cursor.takes_operator(",") {
            names.push(cursor.table_name()?);
        }
        cursor.takes_any(&["RESTRICT", "CASCADE"]);
        return Ok(Ddl::DropTables { names, if_exists });
    }
    if cursor.takes("INDEX") {
        let if_exists = cursor.takes("IF EXISTS");
        let index = cursor.name()?;
        cursor.expect("ON")?;
        let name = cursor.table_name()?;
        let actions = vec![AlterAction::DropIndex { name: index, if_exists }];
        let mut table = AlterTable { name, actions, of_index: true, ..AlterTable::default() };
        while alter::how(cursor, &mut table)? {}
        return Ok(Ddl::AlterTable(table));
    }
    match cursor.word().as_str() {
        word @ ("VIEW" | "TRIGGER" | "PROCEDURE" | "FUNCTION" | "EVENT" | "SERVER" | "TEMPORARY" | "TABLESPACE") => {
            Err(SqlError::unsupported(format!("DROP {word}")))
        }
        _ => Err(cursor.unexpected()),
    }
}

fn rename(cursor: &mut Cursor<'_>) -> Result<Ddl, SqlError> {
    cursor.skip();
    if !cursor.takes_any(&["TABLES", "TABLE"]) {
        return Err(cursor.unexpected());
    }
    let renamed = |cursor: &mut Cursor<'_>| {
        let from = cursor.table_name()?;
        cursor.expect("TO")?;
        Ok((from, cursor.table_name()?))
    };
    cursor.separated(renamed).map(Ddl::RenameTables)
}
