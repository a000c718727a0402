//! Tables of `information_schema`: their columns, and where their rows come from when they are read.
//!
//! They are read as any other table, and belong to no engine.

mod rows;

use std::sync::{Arc, LazyLock};

use super::definition::{ColumnDef, DefaultValue, TableDef};
use super::store::{CATALOG_ENGINE, Catalog};
use super::table::{Counters, Table};
use crate::ast::ShowKind;
use crate::collation::Collation;
use crate::privilege::grants::Grants;
use crate::types::column_type::VarCharType;
use crate::types::{IntType, IntWidth};
use crate::value::Value;
use Kind::{Name, Number, Text};

pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";
/// What stored tables begin after.
const NO_TABLE_ID: u64 = 0;

/// A table whose rows are made when it is read.
struct SystemTable {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    rows: Rows,
}

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    /// The name of a database or table, whose case counts.
    Name,
    /// Other text.
    Text,
    /// A whole number.
    Number,
}

/// Where rows come from.
#[derive(Clone, Copy)]
pub(crate) enum Rows {
    /// From a SHOW of the server, whose columns are the same.
    Show(fn() -> ShowKind),
    /// From the definitions that may be seen.
    Catalog(fn(&Catalog, &Grants) -> Vec<Vec<Value>>),
}

const TABLES: [SystemTable; 5] = [
    SystemTable {
        name: "COLUMNS",
        columns: &[
            ("TABLE_CATALOG", Name),
            ("TABLE_SCHEMA", Name),
            ("TABLE_NAME", Name),
            ("COLUMN_NAME", Text),
            ("ORDINAL_POSITION", Number),
            ("COLUMN_DEFAULT", Text),
            ("IS_NULLABLE", Text),
            ("DATA_TYPE", Text),
            ("CHARACTER_MAXIMUM_LENGTH", Number),
            ("CHARACTER_OCTET_LENGTH", Number),
            ("NUMERIC_PRECISION", Number),
            ("NUMERIC_SCALE", Number),
            ("DATETIME_PRECISION", Number),
            ("CHARACTER_SET_NAME", Text),
            ("COLLATION_NAME", Text),
            ("COLUMN_TYPE", Text),
            ("COLUMN_KEY", Text),
            ("EXTRA", Text),
            ("PRIVILEGES", Text),
            ("COLUMN_COMMENT", Text),
            ("GENERATION_EXPRESSION", Text),
            ("SRS_ID", Number),
        ],
        rows: Rows::Catalog(rows::columns),
    },
    SystemTable {
        name: "COMMIT_MUTEX",
        columns: &[
            ("LOCK_NAME", Text),
            ("CALLER", Text),
            ("COUNT", Number),
            ("WAITS", Number),
            ("WAIT_SUM_NS", Number),
            ("WAIT_MEAN_NS", Number),
            ("WAIT_MAX_NS", Number),
            ("HOLD_SUM_NS", Number),
            ("HOLD_MEAN_NS", Number),
            ("HOLD_MAX_NS", Number),
        ],
        rows: Rows::Show(|| ShowKind::Engine { name: "COMMIT".to_owned(), what: "MUTEX".to_owned() }),
    },
    SystemTable {
        name: "SCHEMATA",
        columns: &[
            ("CATALOG_NAME", Name),
            ("SCHEMA_NAME", Name),
            ("DEFAULT_CHARACTER_SET_NAME", Text),
            ("DEFAULT_COLLATION_NAME", Text),
            ("SQL_PATH", Text),
            ("DEFAULT_ENCRYPTION", Text),
        ],
        rows: Rows::Catalog(rows::schemata),
    },
    SystemTable {
        name: "TABLES",
        columns: &[
            ("TABLE_CATALOG", Name),
            ("TABLE_SCHEMA", Name),
            ("TABLE_NAME", Name),
            ("TABLE_TYPE", Text),
            ("ENGINE", Text),
            ("VERSION", Number),
            ("ROW_FORMAT", Text),
            ("TABLE_ROWS", Number),
            ("AVG_ROW_LENGTH", Number),
            ("DATA_LENGTH", Number),
            ("MAX_DATA_LENGTH", Number),
            ("INDEX_LENGTH", Number),
            ("DATA_FREE", Number),
            ("AUTO_INCREMENT", Number),
            ("CREATE_TIME", Text),
            ("UPDATE_TIME", Text),
            ("CHECK_TIME", Text),
            ("TABLE_COLLATION", Text),
            ("CHECKSUM", Number),
            ("CREATE_OPTIONS", Text),
            ("TABLE_COMMENT", Text),
        ],
        rows: Rows::Catalog(rows::tables),
    },
    SystemTable {
        name: "TRIGGERS",
        columns: &[
            ("TRIGGER_CATALOG", Name),
            ("TRIGGER_SCHEMA", Name),
            ("TRIGGER_NAME", Name),
            ("EVENT_MANIPULATION", Text),
            ("EVENT_OBJECT_CATALOG", Name),
            ("EVENT_OBJECT_SCHEMA", Name),
            ("EVENT_OBJECT_TABLE", Name),
            ("ACTION_ORDER", Number),
            ("ACTION_CONDITION", Text),
            ("ACTION_STATEMENT", Text),
            ("ACTION_ORIENTATION", Text),
            ("ACTION_TIMING", Text),
            ("ACTION_REFERENCE_OLD_TABLE", Text),
            ("ACTION_REFERENCE_NEW_TABLE", Text),
            ("ACTION_REFERENCE_OLD_ROW", Text),
            ("ACTION_REFERENCE_NEW_ROW", Text),
            ("CREATED", Text),
            ("SQL_MODE", Text),
            ("DEFINER", Text),
            ("CHARACTER_SET_CLIENT", Text),
            ("COLLATION_CONNECTION", Text),
            ("DATABASE_COLLATION", Text),
        ],
        // There are no triggers.
        rows: Rows::Catalog(|_, _| Vec::new()),
    },
];

/// The table called `name`, in any case.
pub(crate) fn table(name: &str) -> Option<Arc<Table>> {
    static READY: LazyLock<Vec<Arc<Table>>> = LazyLock::new(|| TABLES.iter().map(SystemTable::ready).collect());
    READY.iter().find(|table| table.def.name.eq_ignore_ascii_case(name)).cloned()
}

/// Whether it is one of these tables.
pub(crate) fn is_one(table: &Table) -> bool {
    table.def.id == NO_TABLE_ID
}

/// Where the table's rows come from; `None` for tables that are stored.
pub(crate) fn rows_of(table: &Table) -> Option<Rows> {
    if !is_one(table) {
        return None;
    }
    TABLES.iter().find(|system| system.name == table.def.name).map(|system| system.rows)
}

impl SystemTable {
    fn ready(&self) -> Arc<Table> {
        let column = |(name, kind): &(&'static str, Kind)| ColumnDef {
            name: (*name).to_owned(),
            column_type: match kind {
                Name => VarCharType { chars: 64, collation: Collation::Utf8mb4Bin }.into(),
                Text => VarCharType { chars: 2048, collation: Collation::Utf8mb4GeneralCi }.into(),
                Number => IntType { width: IntWidth::Big, unsigned: true, display_width: None }.into(),
            },
            nullable: true,
            default: DefaultValue::None,
            on_update_now: false,
            auto_increment: false,
            since_version: 1,
            comment: String::new(),
        };
        let def = TableDef {
            id: NO_TABLE_ID,
            database: INFORMATION_SCHEMA.to_owned(),
            name: self.name.to_owned(),
            engine: String::new(),
            collation: Collation::DEFAULT,
            columns: self.columns.iter().map(column).collect(),
            indexes: Vec::new(),
            row_index_id: 0,
            schema_version: 1,
            comment: String::new(),
        };
        Arc::new(Table::new(def, CATALOG_ENGINE, Arc::new(Counters::default()), 0))
    }
}
