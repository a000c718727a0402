//! SHOW COLLATION and SHOW CHARACTER SET.

use cohort_sql::Value;
use cohort_sql::collation::Collation;
use cohort_sql::session::ShowTable;
use cohort_sql::types::Charset;

use super::{number, text};

pub(super) fn collations() -> ShowTable {
    let rows = Collation::ALL.into_iter().map(|collation| {
        vec![
            Value::text(collation.name()),
            Value::text(collation.charset().name()),
            Value::UInt(u64::from(collation.id())),
            Value::text(if collation.is_default() { "Yes" } else { "" }),
            Value::text("Yes"),
            Value::UInt(if collation.name().contains("_0900_a") { 0 } else { 1 }),
            Value::text(if collation.pads() { "PAD SPACE" } else { "NO PAD" }),
        ]
    });
    let columns = vec![
        ("Collation", text(64)),
        ("Charset", text(64)),
        ("Id", number()),
        ("Default", text(3)),
        ("Compiled", text(3)),
        ("Sortlen", number()),
        ("Pad_attribute", text(9)),
    ];
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| row[0].to_string());
    ShowTable { columns, rows }
}

pub(super) fn character_sets() -> ShowTable {
    let columns =
        vec![("Charset", text(64)), ("Description", text(2048)), ("Default collation", text(64)), ("Maxlen", number())];
    let row = |charset: Charset| {
        let (name, description) = (Value::text(charset.name()), Value::text(charset.description()));
        vec![name, description, Value::text(charset.default_collation().name()), Value::UInt(charset.char_bytes())]
    };
    let mut rows: Vec<_> = Charset::ALL.into_iter().map(row).collect();
    rows.sort_by_key(|row| row[0].to_string());
    ShowTable { columns, rows }
}
