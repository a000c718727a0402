//! Tables that the server makes when they are read: those of `information_schema`, those of `mysql` that say who may do
//! what, and `performance_schema.metadata_locks`.
//!
//! Outline: a [`SystemTable`] is its columns, and where its rows come from; [`accounts`] has those about accounts,
//! [`locks`] those about locks, [`information_schema`] the others, whose rows [`rows`] makes. They are found by name as any
//! other table is, belong to no engine, and cannot be changed.

mod accounts;
mod information_schema;
mod locks;
mod rows;

use std::sync::{Arc, LazyLock};

use cohort_txn::MetadataLock;

use super::definition::{ColumnDef, DefaultValue, TableDef};
use super::store::{CATALOG_ENGINE, Catalog, CatalogStore, DatabaseEntry};
use super::table::{Counters, Table};
use crate::ast::ShowKind;
use crate::collation::Collation;
use crate::error::{ER_DBACCESS_DENIED_ERROR, SqlError};
use crate::privilege::grants::Grants;
use crate::privilege::needs::Holder;
use crate::privilege::roster::Roster;
use crate::privilege::{INFORMATION_SCHEMA, Privilege};
use crate::session::LockOwner;
use crate::types::column_type::{BlobType, CharType, LobSize, TextType, TimestampType, VarCharType};
use crate::types::{ColumnType, IntType, IntWidth, ResultType};
use crate::value::Value;

const MYSQL: &str = "mysql";
const PERFORMANCE_SCHEMA: &str = "performance_schema";
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
    /// A document.
    Json,
    /// In `mysql`: so many characters, whose case counts.
    Chars(u16),
    /// In `mysql`: a host.
    Host,
    /// In `mysql`: words of a list, so many characters together.
    Words(u16),
    /// In `mysql`: `Y` or `N`.
    Flag,
    /// In `mysql`: `Y`, `N` or NULL.
    FlagOrNull,
    /// In `mysql`: whether this is held.
    Held(Privilege),
    /// In `mysql`: an unsigned number of four bytes.
    Int,
    /// In `mysql`: an unsigned number of two bytes, or NULL.
    Small,
    /// A point in time, or NULL.
    Moment,
    /// Long text whose case counts, or NULL.
    Long,
    /// In `mysql`: bytes.
    Bytes,
}

/// Where rows come from.
#[derive(Clone, Copy)]
pub(crate) enum Rows {
    /// From a SHOW of the server, whose columns are the same.
    Show(fn() -> ShowKind),
    /// From the definitions that may be seen.
    Catalog(fn(&Catalog, &Grants) -> Vec<Vec<Value>>),
    /// From the tables that may be seen, and their counters.
    Tables(fn(&CatalogStore, &Grants) -> Vec<Vec<Value>>),
    /// From the accounts, for whoever holds these privileges.
    Accounts(fn(&Roster, &Grants) -> Vec<Vec<Value>>),
    /// There are none: what the table lists cannot be created.
    None,
    /// From the metadata locks, with their owners.
    Locks(fn(&Catalog, &[OwnedLock]) -> Vec<Vec<Value>>),
}

/// A metadata lock with its owner; none if that is no session.
pub(crate) type OwnedLock = (MetadataLock, Option<LockOwner>);

/// The databases that are not stored.
static READY: LazyLock<[(&str, DatabaseEntry); 3]> = LazyLock::new(|| {
    let database = |name: &'static str, tables: [&[SystemTable]; 2]| {
        let mut entry = DatabaseEntry::new(Collation::DEFAULT);
        for table in tables.into_iter().flatten() {
            entry.tables.insert_mut(table.name.to_owned(), table.ready(name));
        }
        (name, entry)
    };
    [INFORMATION_SCHEMA, MYSQL, PERFORMANCE_SCHEMA].map(|name| database(name, tables_of(name)))
});

fn tables_of(database: &str) -> [&'static [SystemTable]; 2] {
    match database {
        MYSQL => [accounts::STORED, &[]],
        PERFORMANCE_SCHEMA => [locks::DEFINED, &[]],
        _ => [information_schema::DEFINED, accounts::DEFINED],
    }
}

/// The database of the server's own that has this name: but for `mysql`, in any case.
pub(crate) fn database(name: &str) -> Option<&'static DatabaseEntry> {
    let named = |known: &str| known == name || (known != MYSQL && known.eq_ignore_ascii_case(name));
    READY.iter().find(|(known, _)| named(known)).map(|(_, entry)| entry)
}

/// The table of information_schema that is called `name` in some case, if `database` is that.
pub(crate) fn table_of(database: &DatabaseEntry, name: &str) -> Option<&'static Arc<Table>> {
    let (_, information_schema) = &READY[0];
    let tables = std::ptr::eq(database, information_schema).then_some(&information_schema.tables)?;
    tables.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, table)| table)
}

/// Whether MySQL has tables in this database that are not here.
pub(crate) fn lacks_tables(database: &str) -> bool {
    const LACKING: [&str; 4] = [INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, MYSQL, "sys"];
    LACKING.iter().any(|lacking| lacking.eq_ignore_ascii_case(database))
}

/// The error for somebody who wants to change a system table.
pub(crate) fn no_changes(database: &str, holder: &Holder) -> SqlError {
    if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
        return SqlError::new(ER_DBACCESS_DENIED_ERROR, &[&holder.user, &holder.host, &database]);
    }
    if database.eq_ignore_ascii_case(PERFORMANCE_SCHEMA) {
        return SqlError::unsupported(format_args!("changing {database}"));
    }
    SqlError::unsupported(format_args!("changing {database} but by CREATE USER, GRANT and the like"))
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
    tables_of(&table.def.database)
        .into_iter()
        .flatten()
        .find(|system| system.name == table.def.name)
        .map(|system| system.rows)
}

impl Kind {
    /// Its type, and what it is where nothing is said; `None` where that is NULL.
    fn column(self) -> (ColumnType, Option<Value>) {
        let chars = |chars, collation| CharType { chars, collation }.into();
        let int = |width| IntType { width, unsigned: true, display_width: None }.into();
        let empty = || Some(Value::text(""));
        match self {
            Kind::Name => (VarCharType { chars: 64, collation: Collation::Utf8mb4Bin }.into(), None),
            Kind::Text => (VarCharType { chars: 256, collation: Collation::Utf8mb4GeneralCi }.into(), None),
            Kind::Number => (int(IntWidth::Big), None),
            Kind::Json => (ColumnType::of_result(&ResultType::json()), None),
            Kind::Chars(most) => (chars(most, Collation::Utf8mb4Bin), empty()),
            Kind::Host => (chars(255, Collation::Utf8mb4GeneralCi), empty()),
            Kind::Words(most) => (chars(most, Collation::Utf8mb4GeneralCi), empty()),
            Kind::Flag | Kind::Held(_) => (chars(1, Collation::Utf8mb4GeneralCi), Some(Value::text("N"))),
            Kind::FlagOrNull => (chars(1, Collation::Utf8mb4GeneralCi), None),
            Kind::Int => (int(IntWidth::Int), Some(Value::UInt(0))),
            Kind::Small => (int(IntWidth::Small), None),
            Kind::Moment => (TimestampType { fsp: 0 }.into(), None),
            Kind::Long => (TextType::new(LobSize::Medium, Collation::Utf8mb4Bin).into(), None),
            Kind::Bytes => (BlobType { size: LobSize::Normal }.into(), empty()),
        }
    }
}

impl SystemTable {
    fn ready(&self, database: &str) -> Arc<Table> {
        let column = |(name, kind): &(&'static str, Kind)| {
            let (column_type, default) = kind.column();
            ColumnDef {
                name: (*name).to_owned(),
                nullable: default.is_none(),
                default: default
                    .filter(|_| !column_type.facts().is_lob)
                    .map_or(DefaultValue::None, DefaultValue::Literal),
                column_type,
                on_update_now: false,
                auto_increment: false,
                since_version: 1,
                before: None,
                comment: String::new(),
            }
        };
        let def = TableDef {
            id: NO_TABLE_ID,
            database: database.to_owned(),
            name: self.name.to_owned(),
            engine: match database {
                MYSQL => "InnoDB",
                PERFORMANCE_SCHEMA => "PERFORMANCE_SCHEMA",
                _ => "MEMORY",
            }
            .to_owned(),
            collation: Collation::DEFAULT,
            columns: self.columns.iter().map(column).collect(),
            indexes: Vec::new(),
            row_index_id: 0,
            schema_version: 1,
            former: Vec::new(),
            comment: String::new(),
        };
        Arc::new(Table::new(def, CATALOG_ENGINE, Arc::new(Counters::of_new_table(0)), 0))
    }
}
