//! SHOW COLLATION and SHOW CHARACTER SET.

use cohort_sql::Value;
use cohort_sql::collation::Collation;
use cohort_sql::session::ShowTable;

use super::{number, text};

const COLLATIONS: &[Collation] = &[
    Collation::Binary,
    Collation::Utf8mb4_0900AiCi,
    Collation::Utf8mb4_0900Bin,
    Collation::Utf8mb4Bin,
    Collation::Utf8mb4GeneralCi,
];

pub(super) fn collations() -> ShowTable {
    let rows = COLLATIONS.iter().map(|collation| {
        let default = matches!(collation, Collation::Binary | Collation::Utf8mb4_0900AiCi);
        let pads = matches!(collation, Collation::Utf8mb4Bin | Collation::Utf8mb4GeneralCi);
        vec![
            Value::text(collation.name()),
            Value::text(collation.charset()),
            Value::UInt(u64::from(collation.id())),
            Value::text(if default { "Yes" } else { "" }),
            Value::text("Yes"),
            Value::UInt(if *collation == Collation::Utf8mb4_0900AiCi { 0 } else { 1 }),
            Value::text(if pads { "PAD SPACE" } else { "NO PAD" }),
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
    ShowTable { columns, rows: rows.collect() }
}

pub(super) fn character_sets() -> ShowTable {
    let columns =
        vec![("Charset", text(64)), ("Description", text(2048)), ("Default collation", text(64)), ("Maxlen", number())];
    let row = |name: &str, description: &str, collation: Collation, bytes| {
        vec![Value::text(name), Value::text(description), Value::text(collation.name()), Value::UInt(bytes)]
    };
    let rows = vec![
        row("binary", "Binary pseudo charset", Collation::Binary, 1),
        row("utf8mb4", "UTF-8 Unicode", Collation::DEFAULT, 4),
    ];
    ShowTable { columns, rows }
}
