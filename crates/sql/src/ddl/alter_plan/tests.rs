use std::cell::RefCell;
use std::sync::Arc;

use super::*;
use crate::ast::{Ddl, Statement};
use crate::expr::Literals;
use crate::memory::MemoryUse;
use crate::types::SqlMode;
use crate::types::temporal::TimeZone;
use crate::value::Value;

fn rules(sql_mode: SqlMode) -> Rules {
    Rules {
        sql_mode,
        time_zone: TimeZone::UTC,
        now_us: 0,
        json_as_longtext: false,
        literals: Literals::DEFAULT,
        notes: RefCell::default(),
    }
}

fn parsed(sql: &str) -> AlterTable {
    let memory = MemoryUse::new(Arc::default());
    let parsed = crate::parse::parse(sql.as_bytes(), SqlMode::DEFAULT, &memory, Some(&[]), &|_| None);
    match parsed.unwrap_or_else(|error| panic!("{sql}: {error}")).statement {
        Statement::Ddl(ddl) => match *ddl {
            Ddl::AlterTable(alter) => alter,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn changed(old: &TableDef, clauses: &str, sql_mode: SqlMode) -> Result<AlterPlan, SqlError> {
    let alter = parsed(&format!("ALTER TABLE t {clauses}"));
    let engine = alter.actions.iter().find_map(|action| match action {
        AlterAction::Engine(engine) => Some(engine.clone()),
        _ => None,
    });
    plan(old, &alter, engine.as_deref(), Collation::DEFAULT, &rules(sql_mode))
}

/// A table `t` of these columns and keys.
fn table(columns: &str) -> TableDef {
    let nothing = TableDef {
        id: 1,
        database: "d".to_owned(),
        name: "t".to_owned(),
        engine: "ONE".to_owned(),
        collation: Collation::DEFAULT,
        columns: Vec::new(),
        indexes: Vec::new(),
        row_index_id: 16,
        schema_version: 1,
        former: Vec::new(),
        comment: String::new(),
    };
    let mut def = changed(&nothing, &format!("ADD ({columns})"), SqlMode::DEFAULT).expect(columns).def;
    for (id, index) in (16..).zip(&mut def.indexes) {
        index.index_id = id;
    }
    TableDef { schema_version: 1, columns: def.columns.into_iter().map(first).collect(), ..def }
}

fn first(column: ColumnDef) -> ColumnDef {
    ColumnDef { since_version: 1, before: None, ..column }
}

const COLUMNS: &str = "id INT PRIMARY KEY, v VARCHAR(10), n INT NOT NULL DEFAULT 1, e ENUM('a', 'b'), l VARCHAR(63), \
                       x TEXT, s SET('a'), KEY v (v, n), KEY p (x(9)), UNIQUE l (l)";

#[test]
fn what_a_change_costs() {
    use AlterAlgorithm::{Copy, Inplace, Instant};
    use Kind::{BuildIndexes, Metadata, Rebuild};
    for (clauses, kind, least) in [
        ("COMMENT 'x'", Metadata, Instant),
        ("COLLATE utf8mb4_bin", Metadata, Instant),
        ("AUTO_INCREMENT 7", Metadata, Instant),
        ("RENAME COLUMN v TO w, RENAME INDEX v TO w", Metadata, Instant),
        ("CHANGE v n VARCHAR(10), CHANGE n v INT NOT NULL", Metadata, Instant),
        ("ALTER v SET DEFAULT 'x', ALTER n DROP DEFAULT", Metadata, Instant),
        ("DROP INDEX v", Metadata, Instant),
        ("ADD a INT", Metadata, Instant),
        ("ADD a INT NOT NULL, ADD b DATE, ADD c VARCHAR(5) DEFAULT 'x'", Metadata, Instant),
        ("ADD a INT AFTER s", Metadata, Instant),
        ("ADD a INT AFTER x", Metadata, Instant),
        ("ADD a INT FIRST, DROP e, ADD b INT AFTER l", Metadata, Instant),
        ("DROP e, DROP s", Metadata, Instant),
        ("DROP e, ADD e INT AFTER v", Metadata, Instant),
        ("DROP e, ADD KEY (s)", BuildIndexes, Inplace),
        ("DROP INDEX v, DROP n", Rebuild, Inplace),
        ("DROP id, DROP PRIMARY KEY", Rebuild, Copy),
        ("DROP e, MODIFY s SET('a') AFTER id", Rebuild, Inplace),
        ("ADD a DATE NOT NULL", Rebuild, Inplace),
        ("ADD a DATETIME DEFAULT CURRENT_TIMESTAMP", Rebuild, Inplace),
        ("ADD a INT DEFAULT (1 + 1)", Rebuild, Copy),
        ("ADD a INT AUTO_INCREMENT UNIQUE", Rebuild, Inplace),
        ("ADD a INT UNIQUE", BuildIndexes, Inplace),
        ("ADD INDEX (n)", BuildIndexes, Inplace),
        ("DROP INDEX v, ADD INDEX v (n)", BuildIndexes, Inplace),
        ("DROP n", Rebuild, Inplace),
        ("MODIFY n INT NOT NULL DEFAULT 1 AFTER id", Rebuild, Inplace),
        ("MODIFY n INT NOT NULL DEFAULT 2", Metadata, Instant),
        ("MODIFY n INT(5) NOT NULL", Metadata, Instant),
        ("MODIFY n INT", Rebuild, Inplace),
        ("MODIFY n INT, DROP INDEX v", Rebuild, Inplace),
        ("MODIFY e ENUM('a', 'b') NOT NULL", Rebuild, Inplace),
        ("MODIFY n INT UNSIGNED NOT NULL", Rebuild, Copy),
        ("MODIFY n BIGINT NOT NULL", Rebuild, Copy),
        ("MODIFY v VARCHAR(63)", Metadata, Instant),
        ("MODIFY v VARCHAR(64)", Rebuild, Copy),
        ("MODIFY l VARCHAR(64)", Rebuild, Copy),
        ("MODIFY v VARCHAR(9)", Rebuild, Copy),
        ("MODIFY v VARCHAR(10) COLLATE utf8mb4_bin", Rebuild, Copy),
        ("MODIFY v CHAR(10)", Rebuild, Copy),
        ("MODIFY e ENUM('a', 'b', 'c')", Metadata, Instant),
        ("MODIFY e ENUM('a')", Rebuild, Copy),
        ("MODIFY e ENUM('b', 'a')", Rebuild, Copy),
        ("MODIFY s SET('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')", Metadata, Instant),
        ("MODIFY s SET('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i')", Rebuild, Copy),
        ("CONVERT TO CHARACTER SET utf8mb4", Metadata, Instant),
        ("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", Rebuild, Copy),
        ("DROP PRIMARY KEY", Rebuild, Copy),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (n)", Rebuild, Inplace),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id)", Metadata, Instant),
        ("MODIFY id INT AUTO_INCREMENT", Rebuild, Copy),
        ("FORCE", Rebuild, Inplace),
        ("ENGINE = ONE", Rebuild, Inplace),
        ("ENGINE = OTHER", Rebuild, Copy),
        ("ORDER BY n", Rebuild, Copy),
        ("COMMENT 'x', ALGORITHM = COPY", Rebuild, Copy),
    ] {
        let plan = changed(&table(COLUMNS), clauses, SqlMode::DEFAULT).expect(clauses);
        assert_eq!((plan.kind, plan.least), (kind, least), "{clauses}");
    }
    let lenient =
        changed(&table(COLUMNS), "MODIFY v VARCHAR(10) NOT NULL", SqlMode::DEFAULT.lenient()).expect("a plan");
    assert_eq!((lenient.kind, lenient.least), (Rebuild, Copy));
}

#[test]
fn enums_over_255_texts_take_another_byte() {
    let texts = |count: usize| (0..count).map(|at| format!("'{at}'")).collect::<Vec<_>>().join(",");
    let old = table(&format!("id INT PRIMARY KEY, e ENUM({})", texts(254)));
    for (count, kind) in [(255, Kind::Metadata), (256, Kind::Rebuild)] {
        let plan = changed(&old, &format!("MODIFY e ENUM({})", texts(count)), SqlMode::DEFAULT).expect("a plan");
        assert_eq!(plan.kind, kind, "{count}");
    }
}

#[test]
fn names_and_places() {
    for (clauses, columns, sources) in [
        ("ADD z INT FIRST, ADD y INT AFTER id", "z id y a b", [None, Some(0), None, Some(1), Some(2)].as_slice()),
        ("ADD z INT AFTER a, ADD y INT AFTER z, DROP id", "a z y b", &[Some(1), None, None, Some(2)]),
        ("MODIFY b INT FIRST, MODIFY a INT FIRST", "a b id", &[Some(1), Some(2), Some(0)]),
        ("CHANGE a c INT, ADD d INT AFTER c", "id c d b", &[Some(0), Some(1), None, Some(2)]),
        ("CHANGE a b INT, CHANGE b a INT", "id b a", &[Some(0), Some(1), Some(2)]),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", "id b a", &[Some(0), Some(1), Some(2)]),
        ("DROP a, ADD a INT FIRST", "a id b", &[None, Some(0), Some(2)]),
        ("DROP COLUMN IF EXISTS c, ADD COLUMN IF NOT EXISTS a INT", "id a b", &[Some(0), Some(1), Some(2)]),
    ] {
        let plan = changed(&table("id INT PRIMARY KEY, a INT, b INT"), clauses, SqlMode::DEFAULT).expect(clauses);
        let names: Vec<&str> = plan.def.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((names.join(" ").as_str(), plan.sources.as_slice()), (columns, sources), "{clauses}");
    }
}

#[test]
fn keys_that_stay() {
    for (clauses, keys) in [
        ("DROP v", "PRIMARY(id) l(l) v(n) p(x:9)"),
        ("DROP v, DROP n", "PRIMARY(id) l(l) p(x:9)"),
        ("ADD INDEX v (l), DROP INDEX v", "PRIMARY(id) l(l) p(x:9) v(l)"),
        ("DROP INDEX v, ADD UNIQUE v (n)", "PRIMARY(id) v(n) l(l) p(x:9)"),
        ("ADD INDEX (v), ADD INDEX (v)", "PRIMARY(id) l(l) v(v,n) p(x:9) v_2(v) v_3(v)"),
        ("MODIFY x VARCHAR(5)", "PRIMARY(id) l(l) v(v,n) p(x)"),
        ("MODIFY x VARCHAR(12)", "PRIMARY(id) l(l) v(v,n) p(x:9)"),
        ("MODIFY x INT", "PRIMARY(id) l(l) v(v,n) p(x)"),
        ("CHANGE n m BIGINT", "PRIMARY(id) l(l) v(v,m) p(x:9)"),
        ("DROP PRIMARY KEY, RENAME INDEX v TO l, RENAME INDEX l TO v", "v(l) l(v,n) p(x:9)"),
        ("DROP CONSTRAINT l, DROP CONSTRAINT `PRIMARY`", "v(v,n) p(x:9)"),
    ] {
        let plan = changed(&table(COLUMNS), clauses, SqlMode::DEFAULT).expect(clauses);
        let part = |part: &IndexColumn| {
            let name = plan.def.columns[part.column].name.clone();
            part.prefix.map_or(name.clone(), |prefix| format!("{name}:{prefix}"))
        };
        let index = |index: &IndexDef| {
            format!("{}({})", index.name, index.columns.iter().map(part).collect::<Vec<_>>().join(","))
        };
        assert_eq!(plan.def.indexes.iter().map(index).collect::<Vec<_>>().join(" "), keys, "{clauses}");
    }
}

#[test]
fn what_is_refused() {
    for (clauses, errno) in [
        ("DROP id, DROP v, DROP n, DROP e, DROP l, DROP x, DROP s", 1090),
        ("DROP nope", 1091),
        ("DROP v, DROP v", 1091),
        ("DROP nope, ADD KEY (nope)", 1091),
        ("DROP INDEX nope", 1091),
        ("DROP CONSTRAINT v", 3940),
        ("DROP v, ADD KEY (v)", 1072),
        ("DROP v, MODIFY v INT", 1054),
        ("MODIFY v INT, MODIFY v BIGINT", 1054),
        ("MODIFY v INT AFTER v", 1054),
        ("RENAME COLUMN nope TO v", 1054),
        ("ALTER nope DROP DEFAULT", 1054),
        ("ALTER v DROP DEFAULT, RENAME COLUMN v TO w", 1054),
        ("ADD a INT AFTER nope", 1054),
        ("ORDER BY nope", 1054),
        ("ADD V INT", 1060),
        ("RENAME COLUMN v TO n", 1060),
        ("ADD KEY v (n)", 1061),
        ("RENAME INDEX v TO l", 1061),
        ("ADD PRIMARY KEY (n)", 1068),
        ("ADD a INT PRIMARY KEY", 1068),
        ("MODIFY n INT AUTO_INCREMENT", 1075),
        ("MODIFY id INT AUTO_INCREMENT, DROP PRIMARY KEY", 1075),
        ("ALTER n SET DEFAULT 'x'", 1067),
        ("ALTER n SET DEFAULT NULL", 1067),
        ("ALTER x SET DEFAULT 'x'", 1101),
        ("MODIFY id INT NULL", 1171),
        ("DROP PRIMARY KEY, MODIFY v INT NULL, ADD PRIMARY KEY (v)", 1171),
        ("RENAME INDEX nope TO w", 1176),
        ("RENAME INDEX v TO PRIMARY", 1280),
        ("MODIFY v TEXT", 1170),
    ] {
        let error = changed(&table(COLUMNS), clauses, SqlMode::DEFAULT).expect_err(clauses);
        assert_eq!(error.errno, errno, "{clauses}: {error}");
    }
}

#[test]
fn rows_of_before_keep_what_a_new_column_began_with() {
    let old = table("id INT PRIMARY KEY");
    let added = changed(&old, "ADD a INT DEFAULT 5", SqlMode::DEFAULT).expect("a plan").def;
    assert_eq!((added.schema_version, added.columns[1].since_version), (2, 2));
    let five = Some(Value::Int(5));
    for clauses in ["ALTER a SET DEFAULT 6", "CHANGE a b INT DEFAULT 7", "MODIFY a INT", "ADD c INT"] {
        let later = changed(&added, clauses, SqlMode::DEFAULT).expect(clauses);
        assert_eq!((later.kind, &later.def.columns[1].before), (Kind::Metadata, &five), "{clauses}");
        assert_eq!(later.def.columns[1].since_version, 2, "{clauses}");
    }
    let copied = changed(&added, "FORCE", SqlMode::DEFAULT).expect("a plan").def;
    assert_eq!((copied.columns[1].since_version, &copied.columns[1].before), (1, &None));
}
