use super::*;
use crate::types::column_type::*;
use crate::types::decimal::Decimal;
use crate::types::temporal::Date;

fn column(name: &str, column_type: ColumnType) -> ColumnDef {
    ColumnDef {
        name: name.into(),
        column_type,
        nullable: true,
        default: DefaultValue::None,
        on_update_now: false,
        auto_increment: false,
        since_version: 1,
        before: None,
        comment: String::new(),
    }
}

fn int() -> ColumnType {
    ColumnType::Int(IntType { width: IntWidth::Int, unsigned: false, display_width: None })
}

fn table() -> TableDef {
    let text = |collation| ColumnType::VarChar(VarCharType { chars: 10, collation });
    TableDef {
        id: 7,
        database: "d".into(),
        name: "a`b".into(),
        engine: "ROCKSDB".into(),
        collation: Collation::DEFAULT,
        columns: vec![
            ColumnDef { nullable: false, auto_increment: true, ..column("id", int()) },
            ColumnDef { nullable: false, default: DefaultValue::Literal(Value::Int(0)), ..column("k", int()) },
            ColumnDef {
                default: DefaultValue::Literal(Value::text("it's\\")),
                comment: "a 'c'".into(),
                ..column("v", text(Collation::DEFAULT))
            },
            column("b", text(Collation::Utf8mb4Bin)),
            column("n", ColumnType::Decimal(DecimalType { precision: 10, scale: 2, unsigned: true })),
            ColumnDef {
                nullable: false,
                default: DefaultValue::CurrentTimestamp,
                on_update_now: true,
                ..column("at", ColumnType::Timestamp(TimestampType { fsp: 3 }))
            },
            column("t", ColumnType::Timestamp(TimestampType { fsp: 0 })),
            column("x", ColumnType::Text(TextType::new(LobSize::Normal, Collation::DEFAULT))),
            column("flag", ColumnType::Int(IntType { width: IntWidth::Tiny, unsigned: false, display_width: Some(1) })),
        ],
        indexes: vec![
            IndexDef {
                index_id: 16,
                name: "PRIMARY".into(),
                kind: IndexKind::Primary,
                columns: vec![IndexColumn { column: 0, prefix: None }],
                comment: String::new(),
            },
            IndexDef {
                index_id: 17,
                name: "u".into(),
                kind: IndexKind::Unique,
                columns: vec![IndexColumn { column: 1, prefix: None }, IndexColumn { column: 7, prefix: Some(5) }],
                comment: String::new(),
            },
            IndexDef {
                index_id: 18,
                name: "k".into(),
                kind: IndexKind::Secondary,
                columns: vec![IndexColumn { column: 1, prefix: None }],
                comment: "c".into(),
            },
        ],
        row_index_id: 16,
        schema_version: 1,
        former: Vec::new(),
        comment: "all of it".into(),
    }
}

#[test]
fn show_create_is_mysqls() {
    let expected = "CREATE TABLE `a``b` (
  `id` int NOT NULL AUTO_INCREMENT,
  `k` int NOT NULL DEFAULT '0',
  `v` varchar(10) DEFAULT 'it''s\\\\' COMMENT 'a ''c''',
  `b` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `n` decimal(10,2) unsigned DEFAULT NULL,
  `at` timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `t` timestamp NULL DEFAULT NULL,
  `x` text,
  `flag` tinyint(1) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`k`,`x`(5)),
  KEY `k` (`k`) COMMENT 'c'
) ENGINE=ROCKSDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='all of it'";
    assert_eq!(table().show_create(Some(5)), expected);
    assert!(!table().show_create(Some(1)).contains("AUTO_INCREMENT="));
}

#[test]
fn stored_form_reads_back() {
    let mut table = table();
    for default in [
        Value::Null,
        Value::UInt(u64::MAX),
        Value::Float(0.1),
        Value::Double(-0.0),
        Value::Decimal(Decimal::new(-105, 2)),
        Value::bytes(vec![0, 255]),
        Value::Date(Date { year: 2020, month: 2, day: 29 }),
    ] {
        table.columns[1].default = DefaultValue::Literal(default);
        assert_eq!(TableDef::from_bytes(&table.to_bytes()).unwrap(), table);
    }
}

#[test]
fn damage_and_other_formats_are_refused() {
    let bytes = table().to_bytes();
    assert!(TableDef::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    let newer = String::from_utf8(bytes).unwrap().replace("\"format\":1", "\"format\":3");
    assert!(TableDef::from_bytes(newer.as_bytes()).unwrap_err().message.contains("format 3"));
    let mut wrong = table();
    wrong.indexes[0].columns[0].column = 99;
    assert!(TableDef::from_bytes(&wrong.to_bytes()).is_err());
}

#[test]
fn former_layouts_are_read_back_and_must_make_sense() {
    let mut table = table();
    let column = |since_version, column| FormerColumn { column_type: int(), since_version, column };
    table.schema_version = 3;
    table.former = vec![FormerLayout { until_version: 2, columns: vec![column(1, None), column(2, Some(1))] }];
    assert_eq!(TableDef::from_bytes(&table.to_bytes()).unwrap(), table);
    let wrong: [fn(&mut TableDef); 4] = [
        |table| table.schema_version = 2,
        |table| table.former.push(table.former[0].clone()),
        |table| table.former[0].columns[0].since_version = 3,
        |table| table.former[0].columns[1].column = Some(9),
    ];
    for spoil in wrong {
        let mut table = table.clone();
        spoil(&mut table);
        assert!(TableDef::from_bytes(&table.to_bytes()).is_err());
    }
}

#[test]
fn columns_are_found_in_any_case() {
    let table = table();
    assert_eq!(table.column_index("FLAG"), Some(8));
    assert_eq!(table.auto_increment_column(), Some(0));
    assert_eq!(table.primary_key().unwrap().index_id, 16);
    assert_eq!(table.key_parts(&table.indexes[1]).len(), 2);
}
