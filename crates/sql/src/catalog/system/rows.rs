//! Rows of `information_schema` that follow from the definitions.

use crate::catalog::definition::ColumnDef;
use crate::catalog::store::Catalog;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::exec::show::{default_text, extra, key_mark, yes_no};
use crate::value::Value;

fn text(text: &str) -> Value {
    Value::text(text)
}

pub(super) fn schemata(catalog: &Catalog) -> Vec<Vec<Value>> {
    let row = |(name, entry): (&String, &crate::catalog::store::DatabaseEntry)| {
        let collation = entry.collation;
        vec![text("def"), text(name), text(collation.charset()), text(collation.name()), Value::Null, text("NO")]
    };
    catalog.databases.iter().map(row).collect()
}

pub(super) fn tables(catalog: &Catalog) -> Vec<Vec<Value>> {
    let row = |table: &std::sync::Arc<Table>| {
        let def = &table.def;
        let head = [text("def"), text(&def.database), text(&def.name), text("BASE TABLE"), text(&def.engine)];
        let form = [Value::UInt(10), text("Dynamic")];
        // Sizes and times are not kept.
        let unknown = std::iter::repeat_n(Value::Null, 10);
        let tail = [text(def.collation.name()), Value::Null, text(""), text(&def.comment)];
        head.into_iter().chain(form).chain(unknown).chain(tail).collect()
    };
    catalog.tables().map(row).collect()
}

pub(super) fn columns(catalog: &Catalog) -> Vec<Vec<Value>> {
    let of_table = |table: &std::sync::Arc<Table>| -> Vec<Vec<Value>> {
        let columns = table.def.columns.iter().enumerate();
        columns.map(|(at, column)| column_row(table, at, column)).collect()
    };
    catalog.tables().flat_map(of_table).collect()
}

fn column_row(table: &Table, at: usize, column: &ColumnDef) -> Vec<Value> {
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
        named(Collation::charset),
        named(Collation::name),
        text(&column_type),
        text(key_mark(table, at)),
        text(&extra(column)),
        text("select,insert,update,references"),
        text(&column.comment),
        text(""),
        Value::Null,
    ]
}
