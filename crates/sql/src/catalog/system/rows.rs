//! Rows of `information_schema` that follow from the definitions.

use std::sync::Arc;

use crate::catalog::definition::{ColumnDef, IndexDef, IndexKind};
use crate::catalog::store::{Catalog, CatalogStore};
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::privilege::grants::Grants;
use crate::types::Charset;
use crate::utility::show_schema::{IndexPart, cardinality, default_text, extra, index_parts, key_mark, sizes, yes_no};
use crate::value::Value;

fn text(text: &str) -> Value {
    Value::text(text)
}

pub(super) fn schemata(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let row = |(name, entry): (&String, &crate::catalog::store::DatabaseEntry)| {
        let collation = entry.collation;
        vec![text("def"), text(name), text(collation.charset().name()), text(collation.name()), Value::Null, text("NO")]
    };
    catalog.databases.iter().filter(|(name, _)| grants.lists_database(name)).map(row).collect()
}

/// The tables that may be seen.
fn seen<'c>(catalog: &'c Catalog, grants: &Grants) -> impl Iterator<Item = &'c Arc<Table>> {
    catalog.tables().filter(|table| grants.sees_table(&table.def.database, &table.def.name))
}

pub(super) fn tables(store: &CatalogStore, grants: &Grants) -> Vec<Vec<Value>> {
    let catalog = store.current();
    let row = |table: &Arc<Table>| {
        let def = &table.def;
        let head = [text("def"), text(&def.database), text(&def.name), text("BASE TABLE"), text(&def.engine)];
        let form = [Value::UInt(10), text("Dynamic")];
        let next = store.next_auto_increment(table).map_or(Value::Null, Value::UInt);
        // Times are not kept.
        let unknown = std::iter::repeat_n(Value::Null, 3);
        let tail = [text(def.collation.name()), Value::Null, text(""), text(&def.comment)];
        head.into_iter().chain(form).chain(sizes(table)).chain([next]).chain(unknown).chain(tail).collect()
    };
    seen(&catalog, grants).map(row).collect()
}

pub(super) fn columns(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let of_table = |table: &Arc<Table>| -> Vec<Vec<Value>> {
        let columns = table.def.columns.iter().enumerate();
        let row = |(at, column): (usize, &ColumnDef)| {
            let held = grants.of_column(&table.def.database, &table.def.name, &column.name)?;
            Some(column_row(table, at, column, &held))
        };
        columns.filter_map(row).collect()
    };
    seen(catalog, grants).flat_map(of_table).collect()
}

fn column_row(table: &Table, at: usize, column: &ColumnDef, privileges: &str) -> Vec<Value> {
    let column_type = column.column_type.to_string();
    let data_type = column_type.split([' ', '(']).next().unwrap_or_default();
    let sizes = column.column_type.facts().sizes;
    let number = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
    let collation = column.column_type.collation().filter(|own| *own != Collation::Binary);
    let named = |name: fn(Collation) -> &'static str| collation.map_or(Value::Null, |own| text(name(own)));
    vec![
        text("def"),
        text(&table.def.database),
        text(&table.def.name),
        text(&column.name),
        Value::UInt(at as u64 + 1),
        default_text(column),
        yes_no(column.nullable),
        text(data_type),
        number(sizes.chars),
        number(sizes.bytes),
        number(sizes.precision),
        number(sizes.scale),
        number(sizes.fsp),
        named(|collation| collation.charset().name()),
        named(Collation::name),
        text(&column_type),
        text(key_mark(table, at)),
        text(&extra(column)),
        text(privileges),
        text(&column.comment),
        text(""),
        Value::Null,
    ]
}

/// A row for each column of each index.
pub(super) fn statistics(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let row = |table: &Table, part: IndexPart<'_>| {
        vec![
            text("def"),
            text(&table.def.database),
            text(&table.def.name),
            Value::UInt(u64::from(part.index.kind == IndexKind::Secondary)),
            text(&table.def.database),
            text(&part.index.name),
            Value::UInt(part.number),
            text(&part.column.name),
            text("A"),
            cardinality(table, &part),
            part.prefix(),
            Value::Null,
            text(part.nullable()),
            text("BTREE"),
            text(""),
            text(&part.index.comment),
            text("YES"),
            Value::Null,
        ]
    };
    seen(catalog, grants).flat_map(|table| index_parts(&table.def).map(|part| row(table, part))).collect()
}

/// A row for each column that has a histogram.
pub(super) fn histograms(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let of_table = |table: &Arc<Table>| -> Vec<Vec<Value>> {
        let (def, histograms) = (&table.def, table.counters.statistics.histograms());
        let row = |column: &ColumnDef| {
            let histogram = histograms.get(&column.name).filter(|histogram| histogram.is_of(&column.column_type))?;
            grants.of_column(&def.database, &def.name, &column.name)?;
            let names = [&def.database, &def.name, &column.name].map(|name| text(name));
            Some(names.into_iter().chain([Value::Json(Arc::new(histogram.to_json()))]).collect())
        };
        def.columns.iter().filter_map(row).collect()
    };
    seen(catalog, grants).flat_map(of_table).collect()
}

/// Primary and unique keys, which are the constraints that there are.
fn keys(table: &Table) -> impl Iterator<Item = &IndexDef> {
    table.def.indexes.iter().filter(|index| index.kind != IndexKind::Secondary)
}

pub(super) fn constraints(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let row = |table: &Table, key: &IndexDef| {
        let (database, name) = (text(&table.def.database), text(&table.def.name));
        let kind = if key.kind == IndexKind::Primary { "PRIMARY KEY" } else { "UNIQUE" };
        vec![text("def"), database.clone(), text(&key.name), database, name, text(kind), text("YES")]
    };
    seen(catalog, grants).flat_map(|table| keys(table).map(|key| row(table, key))).collect()
}

pub(super) fn key_columns(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let row = |table: &Table, part: IndexPart<'_>| {
        let (database, name) = (text(&table.def.database), text(&table.def.name));
        let key = [text("def"), database.clone(), text(&part.index.name), text("def"), database, name];
        let column = [text(&part.column.name), Value::UInt(part.number)];
        // There are no foreign keys.
        key.into_iter().chain(column).chain(std::iter::repeat_n(Value::Null, 4)).collect()
    };
    let of_key = |part: &IndexPart<'_>| part.index.kind != IndexKind::Secondary;
    seen(catalog, grants)
        .flat_map(|table| index_parts(&table.def).filter(of_key).map(|part| row(table, part)))
        .collect()
}

/// A table that has no partitions is a row without a name of one, as in MySQL.
pub(super) fn partitions(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let row = |table: &Arc<Table>| {
        let head = [text("def"), text(&table.def.database), text(&table.def.name)];
        let unnamed = std::iter::repeat_n(Value::Null, 9);
        let times = std::iter::repeat_n(Value::Null, 4);
        let tail = [text(""), text(""), Value::Null];
        head.into_iter().chain(unnamed).chain(sizes(table)).chain(times).chain(tail).collect()
    };
    seen(catalog, grants).map(row).collect()
}

pub(super) fn character_sets(_: &Catalog, _: &Grants) -> Vec<Vec<Value>> {
    let row = |charset: Charset| {
        let (name, collation) = (charset.name(), charset.default_collation().name());
        vec![text(name), text(collation), text(charset.description()), Value::UInt(charset.char_bytes())]
    };
    Charset::ALL.into_iter().map(row).collect()
}

pub(super) fn applicability(_: &Catalog, _: &Grants) -> Vec<Vec<Value>> {
    let row = |collation: Collation| vec![text(collation.name()), text(collation.charset().name())];
    Collation::ALL.into_iter().map(row).collect()
}
