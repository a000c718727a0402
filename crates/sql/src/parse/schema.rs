//! Statements that change the schema.

use super::cursor::Cursor;
use crate::ast::{AlterAction, ColumnSpec, CreateTable, Ddl, Expr, IndexSpec, KeySpec, Statement, TableName};
use crate::collation::Collation;
use crate::error::{
    ER_COLLATION_CHARSET_MISMATCH, ER_M_BIGGER_THAN_D, ER_TOO_BIG_DISPLAYWIDTH, ER_TOO_BIG_FIELDLENGTH,
    ER_TOO_BIG_PRECISION, ER_TOO_BIG_SCALE, ER_UNKNOWN_CHARACTER_SET, SqlError,
};
use crate::types::{ColumnType, IntWidth, LobSize};
use crate::value::Value;

/// Characters of a VARCHAR; longer ones are refused.
const MAX_VARCHAR_CHARS: u64 = 16383;
const MAX_VARBINARY_BYTES: u64 = 65535;

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let ddl = match cursor.word().as_str() {
        "CREATE" => create(cursor)?,
        "DROP" => drop(cursor)?,
        "TRUNCATE" => {
            cursor.skip();
            cursor.takes("TABLE");
            Ddl::Truncate(cursor.table_name()?)
        }
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
        if !options.option(cursor)? {
            return Err(cursor.unexpected());
        }
    }
    options.collation()
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
    Ok(Ddl::AlterTable { name, actions: vec![AlterAction::AddIndex(index)] })
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
        (ColumnType::Int { width: IntWidth::Big, unsigned: true, display_width: None }, false)
    } else {
        column_type(cursor, &name)?
    };
    let mut column = ColumnSpec {
        name,
        column_type,
        own_collation,
        nullable: serial.then_some(false),
        default: None,
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
            column.default = Some(default_value(cursor)?);
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
            set_collation(&mut column.column_type, collation);
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

fn default_value(cursor: &mut Cursor<'_>) -> Result<Expr, SqlError> {
    if matches!(cursor.word().as_str(), "CURRENT_TIMESTAMP" | "NOW" | "LOCALTIME" | "LOCALTIMESTAMP") {
        now(cursor)?;
        return Ok(Expr::Call { name: "NOW".to_owned(), args: Vec::new(), distinct: false });
    }
    if cursor.sees_operator("(") {
        return Err(SqlError::unsupported("expressions as defaults"));
    }
    let ends = [
        "NOT NULL",
        "NULL",
        "ON",
        "AUTO_INCREMENT",
        "PRIMARY",
        "KEY",
        "UNIQUE",
        "COMMENT",
        "COLLATE",
        "REFERENCES",
        "CHECK",
        "GENERATED",
        "AS",
        "COLUMN_FORMAT",
        "STORAGE",
        "VISIBLE",
        "INVISIBLE",
    ];
    if cursor.takes("NULL") {
        return Ok(Expr::Literal(Value::Null));
    }
    cursor.expr(&ends)
}

fn set_collation(column_type: &mut ColumnType, with: Collation) {
    if let ColumnType::Char { collation, .. }
    | ColumnType::VarChar { collation, .. }
    | ColumnType::Text { collation, .. } = column_type
    {
        *collation = with;
    }
}

/// A type, and whether it names its own collation.
fn column_type(cursor: &mut Cursor<'_>, column: &str) -> Result<(ColumnType, bool), SqlError> {
    let word = cursor.word();
    cursor.name()?;
    let int = |width, cursor: &mut Cursor<'_>| -> Result<ColumnType, SqlError> {
        let display_width: Option<u64> = cursor.optional_length()?;
        if display_width.is_some_and(|width| width > 255) {
            return Err(SqlError::new(ER_TOO_BIG_DISPLAYWIDTH, &[&column, &255]));
        }
        let unsigned = signedness(cursor)?;
        Ok(ColumnType::Int { width, unsigned, display_width: display_width.map(|width| width as u8) })
    };
    let column_type = match word.as_str() {
        "TINYINT" | "INT1" => int(IntWidth::Tiny, cursor)?,
        "SMALLINT" | "INT2" => int(IntWidth::Small, cursor)?,
        "MEDIUMINT" | "INT3" | "MIDDLEINT" => int(IntWidth::Medium, cursor)?,
        "INT" | "INTEGER" | "INT4" => int(IntWidth::Int, cursor)?,
        "BIGINT" | "INT8" => int(IntWidth::Big, cursor)?,
        "BOOL" | "BOOLEAN" => ColumnType::Int { width: IntWidth::Tiny, unsigned: false, display_width: Some(1) },
        "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => decimal(cursor, column)?,
        "FLOAT" => match digits(cursor, column)? {
            (Some(25..=53), None) => ColumnType::Double { unsigned: signedness(cursor)?, digits: None },
            (Some(54..), None) => return Err(SqlError::new(crate::error::ER_WRONG_FIELD_SPEC, &[&column])),
            (precision, scale) => {
                let digits = precision.zip(scale);
                ColumnType::Float { unsigned: signedness(cursor)?, digits }
            }
        },
        "DOUBLE" | "REAL" | "FLOAT8" => {
            cursor.takes("PRECISION");
            let (precision, scale) = digits(cursor, column)?;
            if precision.is_some() && scale.is_none() {
                return Err(cursor.unexpected());
            }
            ColumnType::Double { unsigned: signedness(cursor)?, digits: precision.zip(scale) }
        }
        "DATE" => ColumnType::Date,
        "DATETIME" => ColumnType::DateTime { fsp: fsp(cursor, column)? },
        "TIMESTAMP" => ColumnType::Timestamp { fsp: fsp(cursor, column)? },
        "TIME" => ColumnType::Time { fsp: fsp(cursor, column)? },
        "YEAR" => {
            cursor.optional_length::<u64>()?;
            ColumnType::Year
        }
        "BINARY" => ColumnType::Binary { bytes: length(cursor, column, 255, Some(1))? },
        "VARBINARY" => ColumnType::VarBinary { bytes: length(cursor, column, MAX_VARBINARY_BYTES, None)? },
        "TINYBLOB" => ColumnType::Blob { size: LobSize::Tiny },
        "BLOB" => ColumnType::Blob { size: lob_size(cursor, 1)? },
        "MEDIUMBLOB" => ColumnType::Blob { size: LobSize::Medium },
        "LONGBLOB" => ColumnType::Blob { size: LobSize::Long },
        "JSON" => return Err(SqlError::unsupported("JSON columns")),
        "ENUM" | "SET" => return Err(SqlError::unsupported(format!("{word} columns"))),
        "BIT" => return Err(SqlError::unsupported("BIT columns")),
        "GEOMETRY" | "POINT" | "LINESTRING" | "POLYGON" => return Err(SqlError::unsupported("spatial columns")),
        _ => return string_type(cursor, &word, column),
    };
    Ok((column_type, false))
}

fn string_type(cursor: &mut Cursor<'_>, word: &str, column: &str) -> Result<(ColumnType, bool), SqlError> {
    let collation = Collation::DEFAULT;
    let mut column_type = match word {
        "CHAR" | "CHARACTER" if cursor.takes("VARYING") => varchar(cursor, column)?,
        "NATIONAL" => {
            let varying = cursor.takes("VARCHAR") || cursor.takes("CHAR VARYING") || cursor.takes("CHARACTER VARYING");
            if varying {
                varchar(cursor, column)?
            } else if cursor.takes_any(&["CHAR", "CHARACTER"]) {
                ColumnType::Char { chars: length(cursor, column, 255, Some(1))?, collation }
            } else {
                return Err(cursor.unexpected());
            }
        }
        "CHAR" | "CHARACTER" | "NCHAR" => ColumnType::Char { chars: length(cursor, column, 255, Some(1))?, collation },
        "VARCHAR" | "NVARCHAR" | "VARCHARACTER" => varchar(cursor, column)?,
        "TINYTEXT" => ColumnType::Text { size: LobSize::Tiny, collation },
        "TEXT" => ColumnType::Text { size: lob_size(cursor, 4)?, collation },
        "MEDIUMTEXT" => ColumnType::Text { size: LobSize::Medium, collation },
        "LONGTEXT" => ColumnType::Text { size: LobSize::Long, collation },
        "LONG" => {
            cursor.takes_any(&["VARCHAR", "CHAR VARYING"]);
            ColumnType::Text { size: LobSize::Medium, collation }
        }
        _ => {
            cursor.at -= 1;
            return Err(cursor.unexpected());
        }
    };
    let mut charset = Charset::default();
    let mut binary = false;
    loop {
        if cursor.takes("BINARY") {
            binary = true;
        } else if !charset.option(cursor)? {
            break;
        }
    }
    let own = if binary { Some(Collation::Utf8mb4Bin) } else { charset.collation()? };
    // CHARACTER SET binary makes the type a binary one.
    if own == Some(Collation::Binary) {
        let binary = match column_type {
            ColumnType::Char { chars, .. } => ColumnType::Binary { bytes: chars },
            ColumnType::VarChar { chars, .. } => ColumnType::VarBinary { bytes: chars },
            ColumnType::Text { size, .. } => ColumnType::Blob { size },
            other => other,
        };
        return Ok((binary, true));
    }
    if let Some(own) = own {
        set_collation(&mut column_type, own);
    }
    Ok((column_type, own.is_some()))
}

fn varchar(cursor: &mut Cursor<'_>, column: &str) -> Result<ColumnType, SqlError> {
    let chars = length(cursor, column, MAX_VARCHAR_CHARS, None)?;
    Ok(ColumnType::VarChar { chars, collation: Collation::DEFAULT })
}

fn length(cursor: &mut Cursor<'_>, column: &str, max: u64, default: Option<u16>) -> Result<u16, SqlError> {
    match cursor.optional_length::<u64>()? {
        None => default.ok_or_else(|| cursor.unexpected()),
        Some(length) if length > max => Err(SqlError::new(ER_TOO_BIG_FIELDLENGTH, &[&column, &max])),
        // At most 65535, as checked.
        Some(length) => Ok(length as u16),
    }
}

/// TEXT(n) and BLOB(n) choose the smallest size that holds `n` characters of `width` bytes.
fn lob_size(cursor: &mut Cursor<'_>, width: u64) -> Result<LobSize, SqlError> {
    let Some(length) = cursor.optional_length::<u64>()? else { return Ok(LobSize::Normal) };
    Ok(match length.saturating_mul(width) {
        0..=0xff => LobSize::Tiny,
        0x100..=0xffff => LobSize::Normal,
        0x1_0000..=0xff_ffff => LobSize::Medium,
        _ => LobSize::Long,
    })
}

fn signedness(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let mut unsigned = false;
    loop {
        if cursor.takes("UNSIGNED") {
            unsigned = true;
        } else if cursor.sees("ZEROFILL") {
            return Err(SqlError::unsupported("ZEROFILL"));
        } else if !cursor.takes("SIGNED") {
            return Ok(unsigned);
        }
    }
}

/// `(precision[, scale])`
fn digits(cursor: &mut Cursor<'_>, column: &str) -> Result<(Option<u8>, Option<u8>), SqlError> {
    if !cursor.takes_operator("(") {
        return Ok((None, None));
    }
    let precision: u64 = cursor.integer()?;
    let scale: Option<u64> = if cursor.takes_operator(",") { Some(cursor.integer()?) } else { None };
    cursor.expect_operator(")")?;
    if precision > 255 {
        return Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&precision, &column, &255]));
    }
    match scale {
        Some(scale) if scale > 30 => Err(SqlError::new(ER_TOO_BIG_SCALE, &[&scale, &column, &30])),
        Some(scale) if scale > precision => Err(SqlError::new(ER_M_BIGGER_THAN_D, &[&column])),
        scale => Ok((Some(precision as u8), scale.map(|scale| scale as u8))),
    }
}

fn decimal(cursor: &mut Cursor<'_>, column: &str) -> Result<ColumnType, SqlError> {
    let (precision, scale) = digits(cursor, column)?;
    let precision = precision.filter(|precision| *precision > 0).unwrap_or(10);
    if precision > 65 {
        return Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&precision, &column, &65]));
    }
    Ok(ColumnType::Decimal { precision, scale: scale.unwrap_or(0), unsigned: signedness(cursor)? })
}

fn fsp(cursor: &mut Cursor<'_>, column: &str) -> Result<u8, SqlError> {
    match cursor.optional_length::<u64>()? {
        None => Ok(0),
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        Some(fsp) => Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&fsp, &column, &6])),
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
        return Ok(Ddl::AlterTable { name, actions: vec![AlterAction::DropIndex(index)] });
    }
    match cursor.word().as_str() {
        word @ ("VIEW" | "TRIGGER" | "PROCEDURE" | "FUNCTION" | "EVENT" | "SERVER" | "TEMPORARY" | "TABLESPACE") => {
            Err(SqlError::unsupported(format!("DROP {word}")))
        }
        _ => Err(cursor.unexpected()),
    }
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
    let mut actions = Vec::new();
    let mut nothing = false;
    loop {
        match alter_action(cursor)? {
            Some(action) => actions.push(action),
            None => nothing = true,
        }
        if !cursor.takes_operator(",") {
            break;
        }
    }
    if actions.is_empty() && nothing {
        return Ok(Statement::Nothing);
    }
    Ok(Statement::Ddl(Box::new(Ddl::AlterTable { name, actions })))
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
