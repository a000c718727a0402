//! Rows of `information_schema` that follow from the definitions.

use std::sync::Arc;

use crate::catalog::definition::ColumnDef;
use crate::catalog::store::Catalog;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::privilege::grants::Grants;
use crate::utility::show_schema::{default_text, extra, key_mark, yes_no};
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

pub(super) fn tables(catalog: &Catalog, grants: &Grants) -> Vec<Vec<Value>> {
    let row = |table: &Arc<Table>| {
        let def = &table.def;
        let head = [text("def"), text(&def.database), text(&def.name), text("BASE TABLE"), text(&def.engine)];
        let form = [Value::UInt(10), text("Dynamic")];
        // Sizes and times are not kept.
        let unknown = std::iter::repeat_n(Value::Null, 10);
        let tail = [text(def.collation.name()), Value::Null, text(""), text(&def.comment)];
        head.into_iter().chain(form).chain(unknown).chain(tail).collect()
    };
    seen(catalog, grants).map(row).collect()
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
