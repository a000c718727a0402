//! The SHOW statements that the catalog answers: databases, tables, columns, indexes.

use cohort_txn::Store;

use super::show::{Shown, texts};
use crate::ast::{Absent, ShowSchema, TableName};
use crate::catalog::definition::{ColumnDef, DefaultValue, IndexColumn, IndexDef, IndexKind, TableDef};
use crate::catalog::store::{Catalog, CatalogStore, database_or};
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::privilege::grants::Grants;
use crate::session::SessionState;
use crate::types::ResultType;
use crate::value::Value;
use std::sync::Arc;

pub(crate) fn yes_no(yes: bool) -> Value {
    Value::text(if yes { "YES" } else { "NO" })
}

/// Makes the rows of a SHOW.
pub(super) fn rows(
    what: &ShowSchema,
    catalog: &Catalog,
    catalog_store: &CatalogStore,
    store: &Arc<Store>,
    session: &SessionState,
) -> Result<Shown, SqlError> {
    let default = session.database.as_deref();
    let grants = &session.holder.grants;
    let table = |name: &TableName| -> Result<Arc<Table>, SqlError> {
        catalog.table(database_or(name.database.as_deref(), default)?, &name.table).cloned()
    };
    match what {
        ShowSchema::Databases => Ok(Shown {
            columns: texts(&["Database"]),
            rows: catalog
                .databases
                .keys()
                .filter(|name| grants.lists_database(name))
                .map(|name| vec![Value::text(name.as_str())])
                .collect(),
        }),
        ShowSchema::Tables { full, database } => {
            tables(catalog, database_or(database.as_deref(), default)?, *full, grants)
        }
        ShowSchema::TableStatus { database } => {
            table_status(catalog, catalog_store, database_or(database.as_deref(), default)?, grants)
        }
        ShowSchema::Absent { what, database } => {
            if matches!(what, Absent::Triggers | Absent::Events) || database.is_some() {
                catalog.database(database_or(database.as_deref(), default)?)?;
            }
            Ok(Shown { columns: texts(absent_columns(*what)), rows: Vec::new() })
        }
        ShowSchema::Columns { full, table: name } => Ok(columns(&*table(name)?, *full, grants)),
        ShowSchema::Index { table: name } => Ok(indexes(&*table(name)?)),
        ShowSchema::CreateTable { table: name } => {
            let table = table(name)?;
            let next = match table.auto_increment {
                Some(_) => Some(table.peek_auto_increment(&mut session.begin(store))?),
                None => None,
            };
            let text = table.def.show_create(next);
            Ok(Shown {
                columns: texts(&["Table", "Create Table"]),
                rows: vec![vec![Value::text(table.def.name.as_str()), Value::text(text)]],
            })
        }
        ShowSchema::CreateDatabase { name, if_not_exists } => {
            let entry = catalog.database(name)?;
            let condition = if *if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
            let text = format!(
                "CREATE DATABASE {condition}`{}` /*!40100 DEFAULT CHARACTER SET {} COLLATE {} */ /*!80016 DEFAULT ENCRYPTION='N' */",
                name.replace('`', "``"),
                entry.collation.charset().name(),
                entry.collation.name(),
            );
            Ok(Shown {
                columns: texts(&["Database", "Create Database"]),
                rows: vec![vec![Value::text(name.as_str()), Value::text(text)]],
            })
        }
    }
}

/// The columns of a list that is empty here.
fn absent_columns(what: Absent) -> &'static [&'static str] {
    match what {
        Absent::Triggers => &[
            "Trigger",
            "Event",
            "Table",
            "Statement",
            "Timing",
            "Created",
            "sql_mode",
            "Definer",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
        Absent::Events => &[
            "Db",
            "Name",
            "Definer",
            "Time zone",
            "Type",
            "Execute at",
            "Interval value",
            "Interval field",
            "Starts",
            "Ends",
            "Status",
            "Originator",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
        Absent::Routines => &[
            "Db",
            "Name",
            "Type",
            "Definer",
            "Modified",
            "Created",
            "Security_type",
            "Comment",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
        Absent::OpenTables => &["Database", "Table", "In_use", "Name_locked"],
    }
}

fn tables(catalog: &Catalog, database: &str, full: bool, grants: &Grants) -> Result<Shown, SqlError> {
    let entry = catalog.database(database)?;
    let mut columns = texts(&[&format!("Tables_in_{database}")]);
    if full {
        columns.extend(texts(&["Table_type"]));
    }
    let rows = entry.tables.keys().filter(|name| grants.sees_table(database, name)).map(|name| {
        let mut row = vec![Value::text(name.as_str())];
        if full {
            row.push(Value::text("BASE TABLE"));
        }
        row
    });
    Ok(Shown { columns, rows: rows.collect() })
}

fn table_status(
    catalog: &Catalog,
    catalog_store: &CatalogStore,
    database: &str,
    grants: &Grants,
) -> Result<Shown, SqlError> {
    let entry = catalog.database(database)?;
    let mut columns = texts(&[
        "Name",
        "Engine",
        "Version",
        "Row_format",
        "Rows",
        "Avg_row_length",
        "Data_length",
        "Max_data_length",
        "Index_length",
        "Data_free",
        "Auto_increment",
        "Create_time",
        "Update_time",
        "Check_time",
        "Collation",
        "Checksum",
        "Create_options",
        "Comment",
    ]);
    for number in [2].into_iter().chain(4..11) {
        columns[number].1 = ResultType::unsigned(21).nullable(true);
    }
    let seen = entry.tables.values().filter(|table| grants.sees_table(database, &table.def.name));
    let rows = seen.map(|table| {
        let mut row = vec![Value::Null; 18];
        row[0] = Value::text(table.def.name.as_str());
        row[1] = Value::text(catalog_store.engine_name(table.engine));
        row[2] = Value::UInt(10);
        row[3] = Value::text("Dynamic");
        row[4..10].clone_from_slice(&sizes(table));
        row[10] = catalog_store.next_auto_increment(table).map_or(Value::Null, Value::UInt);
        row[14] = Value::text(table.def.collation.name());
        row[16] = Value::text("");
        row[17] = Value::text(table.def.comment.as_str());
        row
    });
    Ok(Shown { columns, rows: rows.collect() })
}

/// TABLE_ROWS, AVG_ROW_LENGTH, DATA_LENGTH, MAX_DATA_LENGTH, INDEX_LENGTH and DATA_FREE, as SHOW TABLE STATUS has them
/// as well.
pub(crate) fn sizes(table: &Table) -> [Value; 6] {
    match table.counters.statistics.now().sizes(table.def.row_index_id) {
        Some(sizes) => [sizes.rows, sizes.row_length, sizes.data, 0, sizes.indexes, 0].map(Value::UInt),
        None => [const { Value::Null }; 6],
    }
}

/// How many values the columns of an index have up to this one.
pub(crate) fn cardinality(table: &Table, part: &IndexPart<'_>) -> Value {
    let known = table.counters.statistics.now().cardinality(part.index.index_id, part.number as usize);
    known.map_or(Value::Null, Value::UInt)
}

/// `PRI`, `UNI`, `MUL` or nothing.
pub(crate) fn key_mark(table: &Table, column: usize) -> &'static str {
    let leading = |kind: IndexKind| {
        table.indexes.iter().filter(move |index| index.kind == kind && index.columns.first() == Some(&column))
    };
    // A unique key that takes no NULL stands in for a primary key.
    let takes_null = |column: &usize| table.def.columns[*column].nullable;
    let mut unique = table.indexes.iter().filter(|index| index.kind == IndexKind::Unique);
    let unique = || unique.find(|index| !index.columns.iter().any(takes_null));
    let primary = table.primary.map(|primary| &table.indexes[primary]).or_else(unique);
    if primary.is_some_and(|primary| primary.columns.contains(&column)) {
        "PRI"
    } else if leading(IndexKind::Unique).any(|index| index.columns.len() == 1) {
        "UNI"
    } else if leading(IndexKind::Unique).next().is_some() || leading(IndexKind::Secondary).next().is_some() {
        "MUL"
    } else {
        ""
    }
}

pub(crate) fn default_text(column: &ColumnDef) -> Value {
    match &column.default {
        DefaultValue::None | DefaultValue::Dropped => Value::Null,
        DefaultValue::Literal(Value::Null) => Value::Null,
        DefaultValue::Literal(value) => {
            let literal = column.column_type.default_literal(value);
            Value::text(literal.unwrap_or_else(|| value.to_string()))
        }
        DefaultValue::CurrentTimestamp => Value::text(format!("CURRENT_TIMESTAMP{}", fraction(column))),
        DefaultValue::Expression { text, .. } => Value::text(text.as_str()),
    }
}

/// `(6)` for a column with fractional seconds.
fn fraction(column: &ColumnDef) -> String {
    match column.column_type.facts().clock_digits {
        Some(fsp @ 1..) => format!("({fsp})"),
        _ => String::new(),
    }
}

pub(crate) fn extra(column: &ColumnDef) -> String {
    let mut parts = Vec::new();
    if column.auto_increment {
        parts.push("auto_increment".to_owned());
    }
    if matches!(column.default, DefaultValue::CurrentTimestamp | DefaultValue::Expression { .. }) {
        parts.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        parts.push(format!("on update CURRENT_TIMESTAMP{}", fraction(column)));
    }
    parts.join(" ")
}

fn columns(table: &Table, full: bool, grants: &Grants) -> Shown {
    let names: &[&str] = if full {
        &["Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"]
    } else {
        &["Field", "Type", "Null", "Key", "Default", "Extra"]
    };
    let rows = table.def.columns.iter().enumerate().filter_map(|(at, column)| {
        let privileges = grants.of_column(&table.def.database, &table.def.name, &column.name)?;
        let mut row = vec![Value::text(column.name.as_str()), Value::text(column.column_type.to_string())];
        if full {
            let collation = column
                .column_type
                .collation()
                .filter(|own| *own != Collation::Binary)
                .map(|collation| Value::text(collation.name()));
            row.push(collation.unwrap_or_default());
        }
        row.extend([
            yes_no(column.nullable),
            Value::text(key_mark(table, at)),
            default_text(column),
            Value::text(extra(column)),
        ]);
        if full {
            row.extend([Value::text(privileges), Value::text(column.comment.as_str())]);
        }
        Some(row)
    });
    Shown { columns: texts(names), rows: rows.collect() }
}

fn indexes(table: &Table) -> Shown {
    let mut columns = texts(&[
        "Table",
        "Non_unique",
        "Key_name",
        "Seq_in_index",
        "Column_name",
        "Collation",
        "Cardinality",
        "Sub_part",
        "Packed",
        "Null",
        "Index_type",
        "Comment",
        "Index_comment",
        "Visible",
        "Expression",
    ]);
    for number in [1, 3, 6, 7] {
        columns[number].1 = ResultType::integer(21).nullable(true);
    }
    let row = |part: IndexPart<'_>| {
        vec![
            Value::text(table.def.name.as_str()),
            Value::Int(i64::from(part.index.kind == IndexKind::Secondary)),
            Value::text(part.index.name.as_str()),
            Value::UInt(part.number),
            Value::text(part.column.name.as_str()),
            Value::text("A"),
            cardinality(table, &part),
            part.prefix(),
            Value::Null,
            Value::text(part.nullable()),
            Value::text("BTREE"),
            Value::text(""),
            Value::text(part.index.comment.as_str()),
            Value::text("YES"),
            Value::Null,
        ]
    };
    Shown { columns, rows: index_parts(&table.def).map(row).collect() }
}

/// A column of an index.
pub(crate) struct IndexPart<'t> {
    pub(crate) index: &'t IndexDef,
    /// Its place in the index, from 1.
    pub(crate) number: u64,
    pub(crate) column: &'t ColumnDef,
    part: &'t IndexColumn,
}

impl IndexPart<'_> {
    /// How much of the column the index has, if not all.
    pub(crate) fn prefix(&self) -> Value {
        self.part.prefix.map_or(Value::Null, |prefix| Value::UInt(prefix.into()))
    }

    /// `YES` or nothing.
    pub(crate) fn nullable(&self) -> &'static str {
        if self.column.nullable { "YES" } else { "" }
    }
}

/// The columns of all indexes.
pub(crate) fn index_parts(table: &TableDef) -> impl Iterator<Item = IndexPart<'_>> {
    table.indexes.iter().flat_map(|index| {
        index.columns.iter().zip(1..).map(|(part, number)| IndexPart {
            index,
            number,
            column: &table.columns[part.column],
            part,
        })
    })
}
