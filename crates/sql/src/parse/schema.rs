//! Statements that change the schema.

use super::cursor::Cursor;
use super::expression::Level;
use super::fingerprint::Mark;
use super::lexer::Lexer;
use crate::ast::{AlterAction, ColumnSpec, CreateTable, Ddl, Expr, IndexSpec, KeySpec, Statement, TableName};
use crate::collation::Collation;
use crate::error::{ER_COLLATION_CHARSET_MISMATCH, ER_UNKNOWN_CHARACTER_SET, ER_WRONG_CONSTANT, SqlError};
use crate::stack;
use crate::types::column_type::TypeWords;
use crate::types::{ColumnType, IntType, IntWidth, Kind, SqlMode};

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
        _ => return alter(cursor),
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

fn database_options(cursor: &mut Cursor<'_>) -> Result<Option<Collation>, SqlError> {
    let mut options = Charset::default();
    while !cursor.at_end() {
        cursor.takes("DEFAULT");
        if cursor.takes("ENCRYPTION") {
            no_encryption(cursor)?;
        } else if !options.option(cursor)? {
            return Err(cursor.unexpected());
        }
    }
    options.collation()
}

/// `= 'N'` after ENCRYPTION.
fn no_encryption(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    cursor.takes_operator("=");
    let value = cursor.text()?;
    match value.to_ascii_uppercase().as_str() {
        "N" => Ok(()),
        "Y" => Err(SqlError::unsupported("encrypted databases")),
        _ => Err(SqlError::new(ER_WRONG_CONSTANT, &[&"argument (should be Y or N)", &value])),
    }
}

/// CHARACTER SET and COLLATE, in any order.
#[derive(Default)]
struct Charset {
    charset: Option<String>,
    collation: Option<String>,
}

impl Charset {
    /// Reads one of the two if it is next.
    fn option(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
        if cursor.takes("CHARACTER SET") || cursor.takes("CHARSET") {
            cursor.takes_operator("=");
            self.charset = Some(cursor.name_or_text()?);
        } else if cursor.takes("COLLATE") {
            cursor.takes_operator("=");
            self.collation = Some(cursor.name_or_text()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn collation(&self) -> Result<Option<Collation>, SqlError> {
        let of_charset = match &self.charset {
            None => None,
            Some(name) => match Collation::of_charset(name) {
                None => return Err(SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[name])),
                found => found,
            },
        };
        let Some(name) = &self.collation else { return Ok(of_charset) };
        let collation = Collation::named(name)?;
        match of_charset {
            Some(other) if other.charset() != collation.charset() => {
                Err(SqlError::new(ER_COLLATION_CHARSET_MISMATCH, &[&collation.name(), &other.charset()]))
            }
            _ => Ok(Some(collation)),
        }
    }
}

fn create_index(cursor: &mut Cursor<'_>, kind: KeySpec) -> Result<Ddl, SqlError> {
    cursor.expect("INDEX")?;
    let index_name = cursor.name()?;
    index_type(cursor)?;
    cursor.expect("ON")?;
    let name = cursor.table_name()?;
    let columns = key_parts(cursor)?;
    let comment = index_options(cursor)?;
    alter_algorithm(cursor)?;
    let index = IndexSpec { name: Some(index_name), kind, columns, comment };
    Ok(Ddl::AlterTable { name, actions: vec![AlterAction::AddIndex(index)], of_index: true })
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

/// ALGORITHM = and LOCK =, which change nothing here.
fn alter_algorithm(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    while cursor.takes_any(&["ALGORITHM", "LOCK"]) {
        cursor.takes_operator("=");
        cursor.name()?;
    }
    Ok(())
}

fn create_table(cursor: &mut Cursor<'_>) -> Result<Ddl, SqlError> {
    let if_not_exists = cursor.takes("IF NOT EXISTS");
    let name = cursor.table_name()?;
    if cursor.takes("LIKE") {
        return Ok(Ddl::CreateTableLike { name, like: cursor.table_name()?, if_not_exists });
    }
    if !cursor.takes_operator("(") {
        return match cursor.word().as_str() {
            "AS" | "SELECT" => Err(SqlError::unsupported("CREATE TABLE ... SELECT")),
            _ => Err(cursor.unexpected()),
        };
    }
    if cursor.takes("LIKE") {
        let like = cursor.table_name()?;
        cursor.expect_operator(")")?;
        return Ok(Ddl::CreateTableLike { name, like, if_not_exists });
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
    };
    loop {
        match key(cursor)? {
            Some(index) => table.indexes.push(index),
            None => table.columns.push(column(cursor)?),
        }
        if !cursor.takes_operator(",") {
            break;
        }
    }
    cursor.expect_operator(")")?;
    table_options(cursor, &mut table)?;
    Ok(Ddl::CreateTable(table))
}

/// A key definition, if one is next.
fn key(cursor: &mut Cursor<'_>) -> Result<Option<IndexSpec>, SqlError> {
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
    if !cursor.sees_operator("(") && !cursor.sees("USING") && !cursor.sees("TYPE") {
        name = Some(cursor.name()?);
    }
    index_type(cursor)?;
    let columns = key_parts(cursor)?;
    let comment = index_options(cursor)?;
    Ok(Some(IndexSpec { name, kind, columns, comment }))
}

fn column(cursor: &mut Cursor<'_>) -> Result<ColumnSpec, SqlError> {
    let name = cursor.name()?;
    let serial = cursor.takes("SERIAL");
    let (column_type, own_collation) = if serial {
        (IntType { width: IntWidth::Big, unsigned: true, display_width: None }.into(), false)
    } else {
        column_type(cursor, &name)?
    };
    let mut column = ColumnSpec {
        name,
        column_type,
        own_collation,
        nullable: serial.then_some(false),
        default: None,
        default_text: None,
        on_update_now: false,
        auto_increment: serial,
        primary_key: false,
        unique: serial,
        comment: String::new(),
    };
    column_options(cursor, &mut column)?;
    Ok(column)
}

fn column_options(cursor: &mut Cursor<'_>, column: &mut ColumnSpec) -> Result<(), SqlError> {
    loop {
        if cursor.takes("NOT NULL") {
            column.nullable = Some(false);
        } else if cursor.takes("NULL") {
            column.nullable = Some(true);
        } else if cursor.takes("DEFAULT") {
            (column.default, column.default_text) = default_value(cursor)?;
        } else if cursor.takes("ON UPDATE") {
            now(cursor)?;
            column.on_update_now = true;
        } else if cursor.takes("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if cursor.takes("PRIMARY KEY") || cursor.takes("KEY") {
            column.primary_key = true;
        } else if cursor.takes("UNIQUE") {
            cursor.takes("KEY");
            column.unique = true;
        } else if cursor.takes("COMMENT") {
            column.comment = cursor.text()?;
        } else if cursor.takes("COLLATE") {
            let name = cursor.name_or_text()?;
            let collation = Collation::named(&name)?;
            column.column_type = column.column_type.under(collation);
            column.own_collation = true;
        } else if cursor.takes("COLUMN_FORMAT") || cursor.takes("STORAGE") {
            cursor.name()?;
        } else if cursor.sees("REFERENCES") {
            return Err(SqlError::unsupported("foreign keys"));
        } else if cursor.sees("GENERATED") || cursor.sees("AS") {
            return Err(SqlError::unsupported("generated columns"));
        } else if cursor.sees("CHECK") || cursor.sees("CONSTRAINT") {
            return Err(SqlError::unsupported("CHECK constraints"));
        } else if cursor.sees("INVISIBLE") {
            return Err(SqlError::unsupported("invisible columns"));
        } else if !cursor.takes("VISIBLE") {
            return Ok(());
        }
    }
}

/// `NOW`, `CURRENT_TIMESTAMP`, `LOCALTIME`, with or without parentheses and digits.
fn now(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    if !cursor.takes_any(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]) {
        return Err(cursor.unexpected());
    }
    if cursor.takes_operator("(") && !cursor.takes_operator(")") {
        cursor.integer::<u8>()?;
        cursor.expect_operator(")")?;
    }
    Ok(())
}

/// What follows DEFAULT, and the text of an expression in parentheses.
fn default_value(cursor: &mut Cursor<'_>) -> Result<(Option<Expr>, Option<String>), SqlError> {
    if matches!(cursor.word().as_str(), "CURRENT_TIMESTAMP" | "NOW" | "LOCALTIME" | "LOCALTIMESTAMP") {
        now(cursor)?;
        return Ok((Some(Expr::Call { name: "NOW".to_owned(), args: Vec::new(), distinct: false }), None));
    }
    if cursor.takes_operator("(") {
        let from = cursor.at;
        let expr = cursor.expr()?;
        let text = cursor.text_since(from);
        cursor.expect_operator(")")?;
        return Ok((Some(expr), Some(text)));
    }
    Ok((Some(cursor.subexpr(Level::Primary)?), None))
}

/// The expression of a default that was stored as its text, as it is under the SQL mode of the statement that defined it.
pub(crate) fn default_expression(text: &str, sql_mode: SqlMode) -> Result<Expr, SqlError> {
    let lexemes = Lexer::new(text.as_bytes(), sql_mode);
    let marks: Vec<Mark> = lexemes.map(|lexeme| Mark { lexeme, param: None, variable: None }).collect();
    stack::with_room_for_statement(marks.len(), || {
        let mut cursor = Cursor::new(text.as_bytes(), &marks, sql_mode);
        let expr = cursor.expr()?;
        cursor.end()?;
        Ok(expr)
    })
}

/// A type, and whether it names its own collation.
fn column_type(cursor: &mut Cursor<'_>, column: &str) -> Result<(ColumnType, bool), SqlError> {
    let word = cursor.word();
    cursor.name()?;
    let Some(column_type) = ColumnType::parse(&word, &mut Words { cursor, column })? else {
        return Err(match word.as_str() {
            "GEOMETRY" | "POINT" | "LINESTRING" | "POLYGON" => SqlError::unsupported("spatial columns"),
            _ => {
                cursor.at -= 1;
                cursor.unexpected()
            }
        });
    };
    if !matches!(column_type.kind(), Kind::Characters(_) | Kind::Members(_)) {
        return Ok((column_type, false));
    }
    let mut charset = Charset::default();
    let mut binary = false;
    loop {
        if cursor.takes("BINARY") {
            binary = true;
        } else if !charset.option(cursor)? {
            break;
        }
    }
    // CHARACTER SET binary makes the type a binary one.
    let own = if binary { Some(Collation::Utf8mb4Bin) } else { charset.collation()? };
    Ok((own.map(|own| column_type.under(own)).unwrap_or(column_type), own.is_some()))
}

/// What follows a type's name.
struct Words<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    column: &'c str,
}

impl TypeWords for Words<'_, '_> {
    fn column(&self) -> &str {
        self.column
    }

    fn takes(&mut self, words: &str) -> bool {
        self.cursor.takes(words)
    }

    fn numbers(&mut self) -> Result<(Option<u64>, Option<u64>), SqlError> {
        if !self.cursor.takes_operator("(") {
            return Ok((None, None));
        }
        let first = self.cursor.integer()?;
        let second = if self.cursor.takes_operator(",") { Some(self.cursor.integer()?) } else { None };
        self.cursor.expect_operator(")")?;
        Ok((Some(first), second))
    }

    fn number(&mut self) -> Result<Option<u64>, SqlError> {
        self.cursor.optional_length()
    }

    fn texts(&mut self) -> Result<Vec<String>, SqlError> {
        self.cursor.expect_operator("(")?;
        let texts = self.cursor.separated(|cursor| cursor.text())?;
        self.cursor.expect_operator(")")?;
        Ok(texts)
    }

    fn unexpected(&self) -> SqlError {
        self.cursor.unexpected()
    }
}

fn table_options(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<(), SqlError> {
    let mut charset = Charset::default();
    while !cursor.at_end() {
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
        } else if matches!(cursor.word().as_str(), "AS" | "SELECT" | "IGNORE" | "REPLACE") {
            return Err(SqlError::unsupported("CREATE TABLE ... SELECT"));
        } else if cursor.sees("PARTITION") {
            return Err(SqlError::unsupported("partitions"));
        } else {
            without_effect(cursor)?;
        }
    }
    table.collation = charset.collation()?;
    Ok(())
}

/// Options about how a table is stored elsewhere.
fn without_effect(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    const KNOWN: [&str; 15] = [
        "ROW_FORMAT",
        "KEY_BLOCK_SIZE",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "COMPRESSION",
        "DELAY_KEY_WRITE",
        "ENCRYPTION",
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
        let index = cursor.name()?;
        cursor.expect("ON")?;
        let name = cursor.table_name()?;
        alter_algorithm(cursor)?;
        return Ok(Ddl::AlterTable { name, actions: vec![AlterAction::DropIndex(index)], of_index: true });
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

fn alter(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.skip();
    if !cursor.takes("TABLE") {
        return match cursor.word().as_str() {
            word @ ("DATABASE" | "SCHEMA" | "VIEW" | "EVENT" | "PROCEDURE" | "FUNCTION" | "SERVER" | "INSTANCE") => {
                Err(SqlError::unsupported(format!("ALTER {word}")))
            }
            _ => Err(cursor.unexpected()),
        };
    }
    let name: TableName = cursor.table_name()?;
    let of_parts = ["COLUMN", "INDEX", "KEY"].iter().any(|part| cursor.sees_at(1, part));
    if !of_parts && cursor.takes("RENAME") {
        if !cursor.takes_any(&["TO", "AS"]) {
            cursor.takes_operator("=");
        }
        let to = cursor.table_name()?;
        if cursor.sees_operator(",") {
            return Err(SqlError::unsupported("ALTER TABLE ... RENAME with other changes"));
        }
        return Ok(Statement::Ddl(Box::new(Ddl::RenameTables(vec![(name, to)]))));
    }
    let mut actions = Vec::new();
    loop {
        actions.extend(alter_action(cursor)?);
        if !cursor.takes_operator(",") {
            break;
        }
    }
    Ok(Statement::Ddl(Box::new(Ddl::AlterTable { name, actions, of_index: false })))
}

/// One action, or `None` for one that has nothing to do.
fn alter_action(cursor: &mut Cursor<'_>) -> Result<Option<AlterAction>, SqlError> {
    if cursor.takes("DISABLE KEYS") || cursor.takes("ENABLE KEYS") {
        return Ok(None);
    }
    if cursor.sees_at(0, "ALGORITHM") || cursor.sees_at(0, "LOCK") {
        alter_algorithm(cursor)?;
        return Ok(None);
    }
    if cursor.takes("ADD") {
        return match key(cursor)? {
            Some(index) => Ok(Some(AlterAction::AddIndex(index))),
            None => Err(SqlError::unsupported("ALTER TABLE ... ADD COLUMN")),
        };
    }
    if cursor.takes("DROP PRIMARY KEY") {
        return Ok(Some(AlterAction::DropIndex("PRIMARY".to_owned())));
    }
    if cursor.takes("DROP INDEX") || cursor.takes("DROP KEY") {
        return cursor.name().map(|name| Some(AlterAction::DropIndex(name)));
    }
    if cursor.takes("AUTO_INCREMENT") {
        cursor.takes_operator("=");
        return cursor.integer().map(|next| Some(AlterAction::AutoIncrement(next)));
    }
    if cursor.takes("COMMENT") {
        cursor.takes_operator("=");
        return cursor.text().map(|comment| Some(AlterAction::Comment(comment)));
    }
    match cursor.word().as_str() {
        "" => Err(cursor.unexpected()),
        word => Err(SqlError::unsupported(format!("ALTER TABLE ... {word}"))),
    }
}
