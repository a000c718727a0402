//! Tables of `information_schema`: their columns, and the SHOW that gives their rows when they are read.
//!
//! They are read as any other table, and belong to no engine.

use std::sync::{Arc, LazyLock};

use super::definition::{ColumnDef, DefaultValue, TableDef};
use super::store::CATALOG_ENGINE;
use super::table::{Counters, Table};
use crate::ast::ShowKind;
use crate::collation::Collation;
use crate::types::{ColumnType, IntWidth};

pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";
/// What stored tables begin behind.
const NO_TABLE_ID: u64 = 0;

/// A table whose rows are made when it is read.
struct SystemTable {
    name: &'static str,
    /// Columns of text, then columns of whole numbers, in the order of the SHOW.
    texts: &'static [&'static str],
    numbers: &'static [&'static str],
    show: fn() -> ShowKind,
}

const TABLES: [SystemTable; 1] = [SystemTable {
    name: "COMMIT_MUTEX",
    texts: &["LOCK_NAME", "CALLER"],
    numbers: &[
        "COUNT",
        "WAITS",
        "WAIT_SUM_NS",
        "WAIT_MEAN_NS",
        "WAIT_MAX_NS",
        "HOLD_SUM_NS",
        "HOLD_MEAN_NS",
        "HOLD_MAX_NS",
    ],
    show: || ShowKind::Engine { name: "COMMIT".to_owned(), what: "MUTEX".to_owned() },
}];

/// The table called `name`, in any case.
pub(crate) fn table(name: &str) -> Option<Arc<Table>> {
    static READY: LazyLock<Vec<Arc<Table>>> = LazyLock::new(|| TABLES.iter().map(SystemTable::ready).collect());
    READY.iter().find(|table| table.def.name.eq_ignore_ascii_case(name)).cloned()
}

/// The SHOW whose rows are the table's; `None` for tables that are stored.
pub(crate) fn show_of(table: &Table) -> Option<ShowKind> {
    if table.def.id != NO_TABLE_ID {
        return None;
    }
    TABLES.iter().find(|system| system.name == table.def.name).map(|system| (system.show)())
}

impl SystemTable {
    fn ready(&self) -> Arc<Table> {
        let column = |name: &&str, column_type: ColumnType| ColumnDef {
            name: (*name).to_owned(),
            column_type,
            nullable: false,
            default: DefaultValue::None,
            on_update_now: false,
            auto_increment: false,
            since_version: 1,
            comment: String::new(),
        };
        let text = || ColumnType::VarChar { chars: 64, collation: Collation::DEFAULT };
        let number = || ColumnType::Int { width: IntWidth::Big, unsigned: true, display_width: None };
        let texts = self.texts.iter().map(|name| column(name, text()));
        let numbers = self.numbers.iter().map(|name| column(name, number()));
        let def = TableDef {
            id: NO_TABLE_ID,
            database: INFORMATION_SCHEMA.to_owned(),
            name: self.name.to_owned(),
            engine: String::new(),
            collation: Collation::DEFAULT,
            columns: texts.chain(numbers).collect(),
            indexes: Vec::new(),
            row_index_id: 0,
            schema_version: 1,
            comment: String::new(),
        };
        Arc::new(Table::new(def, CATALOG_ENGINE, Arc::new(Counters::default()), 0))
    }
}
