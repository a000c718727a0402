//! RENAME TABLE: several tables at once, in order, so that they may change places.
//!
//! The locks of all tables that bear one of the names are held while the names are looked up again, and until the
//! change is published: whoever waits for one of the tables meanwhile, finds the new names. Tools which put a table in
//! the place of another one count on that.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{DdlRun, check_name};
use crate::ast::TableName;
use crate::catalog::table::Table;
use crate::error::{ER_NO_SUCH_TABLE, ER_TABLE_EXISTS_ERROR, ER_WRONG_TABLE_NAME, SqlError};

/// Database and table.
type Place = (String, String);

/// What bears each of the names.
type Places = BTreeMap<Place, Arc<Table>>;

/// A table under its new name, and its former self.
type Moved = (Arc<Table>, Arc<Table>);

impl DdlRun<'_> {
    pub(super) fn rename_tables(&self, renamed: &[(TableName, TableName)]) -> Result<u64, SqlError> {
        renamed.iter().try_for_each(|(_, to)| check_name(&to.table, ER_WRONG_TABLE_NAME))?;
        let renamed = renamed.iter().map(|(from, to)| Ok((self.resolve(from)?, self.resolve(to)?)));
        let renamed: Vec<(Place, Place)> = renamed.collect::<Result<_, SqlError>>()?;
        let mut guard = self.session.begin(self.store);
        loop {
            let before = self.places(&renamed);
            self.lock_exclusively(&mut guard, &before.values().cloned().collect::<Vec<_>>())?;
            let change = self.catalog.change(self.session)?;
            if !before.values().map(Arc::as_ptr).eq(self.places(&renamed).values().map(Arc::as_ptr)) {
                continue;
            }
            let moved = self.moved(&renamed, before)?;
            let mut transaction = self.session.begin(self.store);
            for (table, _) in &moved {
                change.put_table(&mut transaction, &table.def)?;
            }
            self.commit(transaction, self.event_database())?;
            let retired: Vec<Arc<Table>> = moved.iter().map(|(_, former)| former.clone()).collect();
            change.publish(&retired, |databases| {
                for former in &retired {
                    if let Some(entry) = databases.get_mut(&former.def.database) {
                        entry.tables.remove_mut(&former.def.name);
                    }
                }
                for (table, _) in &moved {
                    if let Some(entry) = databases.get_mut(&table.def.database) {
                        entry.tables.insert_mut(table.def.name.clone(), table.clone());
                    }
                }
            });
            return Ok(0);
        }
    }

    /// The tables that bear any of the names now.
    fn places(&self, renamed: &[(Place, Place)]) -> Places {
        let current = self.catalog.current();
        let places = renamed.iter().flat_map(|(from, to)| [from, to]);
        let found = places.filter_map(|place| Some((place, current.databases.get(&place.0)?.tables.get(&place.1)?)));
        found.map(|(place, table)| (place.clone(), table.clone())).collect()
    }

    /// The tables that have another name after all.
    fn moved(&self, renamed: &[(Place, Place)], mut places: Places) -> Result<Vec<Moved>, SqlError> {
        let current = self.catalog.current();
        for (from, to) in renamed {
            let missing = || SqlError::new(ER_NO_SUCH_TABLE, &[&from.0, &from.1]);
            let table = places.get(from).ok_or_else(missing)?.clone();
            current.database(&to.0)?;
            if places.contains_key(to) {
                return Err(SqlError::new(ER_TABLE_EXISTS_ERROR, &[&to.1]));
            }
            places.remove(from);
            places.insert(to.clone(), table);
        }
        let moved = places
            .into_iter()
            .filter(|((database, name), table)| table.def.database != *database || table.def.name != *name);
        let renamed = moved.map(|((database, name), former)| {
            let mut def = former.def.clone();
            (def.database, def.name) = (database, name);
            (Arc::new(Table::new(def, former.engine, former.counters.clone(), former.since_order)), former)
        });
        Ok(renamed.collect())
    }
}
