//! Rows of `information_schema` that follow from the definitions.

use crate::catalog::definition::ColumnDef;
use crate::catalog::store::Catalog;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::exec::show::{default_text, extra, key_mark, yes_no};
use crate::types::{ColumnType, IntWidth};
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
    let sizes = Sizes::of(&column.column_type);
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

/// How large the values of a type are.
#[derive(Default)]
struct Sizes {
    chars: Option<u64>,
    bytes: Option<u64>,
    precision: Option<u64>,
    scale: Option<u64>,
    fsp: Option<u64>,
}

impl Sizes {
    fn of(column_type: &ColumnType) -> Sizes {
        let number =
            |precision: u64, scale: Option<u64>| Sizes { precision: Some(precision), scale, ..Sizes::default() };
        let string = |chars: u64, bytes: u64| Sizes { chars: Some(chars), bytes: Some(bytes), ..Sizes::default() };
        let moment = |fsp: u8| Sizes { fsp: Some(fsp.into()), ..Sizes::default() };
        match column_type {
            ColumnType::Int { width, unsigned, .. } => {
                let digits = match width {
                    IntWidth::Tiny => 3,
                    IntWidth::Small => 5,
                    IntWidth::Medium => 7,
                    IntWidth::Int => 10,
                    IntWidth::Big => 19 + u64::from(*unsigned),
                };
                number(digits, Some(0))
            }
            ColumnType::Decimal { precision, scale, .. } => number((*precision).into(), Some((*scale).into())),
            ColumnType::Float { digits, .. } => {
                digits.map_or(number(12, None), |(m, d)| number(m.into(), Some(d.into())))
            }
            ColumnType::Double { digits, .. } => {
                digits.map_or(number(22, None), |(m, d)| number(m.into(), Some(d.into())))
            }
            ColumnType::Char { chars, .. } | ColumnType::VarChar { chars, .. } => {
                string((*chars).into(), 4 * u64::from(*chars))
            }
            ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => string((*bytes).into(), (*bytes).into()),
            ColumnType::Text { size, .. } | ColumnType::Blob { size } => string(size.max_bytes(), size.max_bytes()),
            ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } | ColumnType::Time { fsp } => moment(*fsp),
            ColumnType::Date | ColumnType::Year => Sizes::default(),
        }
    }
}
