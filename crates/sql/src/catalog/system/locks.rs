//! `performance_schema.metadata_locks`, with MySQL's columns.
//!
//! OWNER_THREAD_ID is the number of the connection, since there are no other numbers of threads here; it is NULL for a
//! prepared XA transaction.
//!
//! Source: MySQL 8.0 manual, "The metadata_locks Table".

use std::collections::HashMap;

use cohort_txn::{MetadataMode, MetadataName};

use super::{Kind, NO_TABLE_ID, OwnedLock, Rows, SystemTable};
use crate::catalog::store::Catalog;
use crate::value::Value;

pub(super) const DEFINED: &[SystemTable] = &[SystemTable {
    name: "metadata_locks",
    columns: &[
        ("OBJECT_TYPE", Kind::Name),
        ("OBJECT_SCHEMA", Kind::Name),
        ("OBJECT_NAME", Kind::Name),
        ("COLUMN_NAME", Kind::Name),
        ("OBJECT_INSTANCE_BEGIN", Kind::Number),
        ("LOCK_TYPE", Kind::Name),
        ("LOCK_DURATION", Kind::Name),
        ("LOCK_STATUS", Kind::Name),
        ("SOURCE", Kind::Name),
        ("OWNER_THREAD_ID", Kind::Number),
        ("OWNER_EVENT_ID", Kind::Number),
    ],
    rows: Rows::Locks(rows),
}];

fn rows(catalog: &Catalog, locks: &[OwnedLock]) -> Vec<Vec<Value>> {
    let names: HashMap<u64, (&str, &str)> =
        catalog.tables().map(|table| (table.def.id, (&*table.def.database, &*table.def.name))).collect();
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::text);
    let row = |(lock, owner): &OwnedLock| {
        let (kind, schema, name) = match &lock.name {
            MetadataName::Global => ("GLOBAL", None, None),
            MetadataName::Commit => ("COMMIT", None, None),
            MetadataName::Backup => ("BACKUP LOCK", None, None),
            MetadataName::BackupStage => ("BACKUP STAGE", None, None),
            MetadataName::Table(id) => {
                let place = names.get(id);
                ("TABLE", place.map(|(schema, _)| *schema), place.map(|(_, name)| *name))
            }
            MetadataName::User(name) => ("USER LEVEL LOCK", None, Some(&**name)),
        };
        let duration = match (&lock.name, lock.mode) {
            _ if owner.is_some_and(|owner| owner.beside_transaction)
                && lock.mode != MetadataMode::IntentionExclusive =>
            {
                "EXPLICIT"
            }
            (MetadataName::Table(_) | MetadataName::User(_), _) => "TRANSACTION",
            _ => "STATEMENT",
        };
        vec![
            text(Some(kind)),
            text(schema),
            text(name),
            Value::Null,
            Value::UInt(0),
            text(Some(mode_name(lock.mode))),
            text(Some(duration)),
            text(Some(if lock.granted { "GRANTED" } else { "PENDING" })),
            text(Some("")),
            owner.map_or(Value::Null, |owner| Value::UInt(owner.connection)),
            Value::Null,
        ]
    };
    // System tables have no definitions that could change.
    let is_shown = |(lock, _): &&OwnedLock| lock.name != MetadataName::Table(NO_TABLE_ID);
    locks.iter().filter(is_shown).map(row).collect()
}

fn mode_name(mode: MetadataMode) -> &'static str {
    match mode {
        MetadataMode::IntentionExclusive => "INTENTION_EXCLUSIVE",
        MetadataMode::Shared => "SHARED",
        MetadataMode::SharedHighPriority => "SHARED_HIGH_PRIO",
        MetadataMode::SharedRead => "SHARED_READ",
        MetadataMode::SharedWrite => "SHARED_WRITE",
        MetadataMode::SharedUpgradable => "SHARED_UPGRADABLE",
        MetadataMode::SharedReadOnly => "SHARED_READ_ONLY",
        MetadataMode::SharedNoWrite => "SHARED_NO_WRITE",
        MetadataMode::SharedNoReadWrite => "SHARED_NO_READ_WRITE",
        MetadataMode::Exclusive => "EXCLUSIVE",
    }
}
