//! What a client receives about the columns of a result, where that follows from variables, modes and formats.

use super::*;
use crate::types::FieldType::{Date, DateTime, Double, LongLong, NewDecimal, Time, VarString};
use crate::types::{Family, FieldType, ResultType};

/// Keeps the types of a result's columns, and its last row.
#[derive(Default)]
struct Types(Vec<ResultType>, Vec<Value>);

impl ResultSink for Types {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        self.0 = columns.iter().map(|column| column.result_type).collect();
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.1 = row.to_vec();
        Ok(())
    }
}

fn client() -> Client {
    let mut client = Client::new(&Disk::new().open());
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client
}

impl Client {
    fn types(&mut self, sql: &str) -> Types {
        let mut types = Types::default();
        let database = self.database.clone();
        let outcome = database.execute(&mut self.session, &StandIn, sql.as_bytes(), &mut types);
        drop(outcome.expect(sql));
        types
    }

    fn types_of_prepared(&mut self, prepared: &Prepared) -> Vec<FieldType> {
        let mut types = Types::default();
        let database = self.database.clone();
        let outcome = database.execute_prepared(&mut self.session, &StandIn, prepared, &[], &mut types);
        drop(outcome.expect("it runs"));
        types.0.iter().map(|of| of.field).collect()
    }
}

#[test]
fn aggregates_and_windows_have_the_types_of_mysql() {
    let mut client = client();
    client.ok("CREATE TABLE t (n INT, s VARCHAR(10))");
    let shown = |types: Types| -> Vec<(FieldType, u32, u8, bool, bool)> {
        let of = |of: &ResultType| (of.field, of.length, of.decimals, of.unsigned, of.nullable);
        types.0.iter().map(of).collect()
    };
    let aggregates = "SELECT BIT_AND(n), STD(n), VAR_SAMP(s), GROUP_CONCAT(s), JSON_ARRAYAGG(n) FROM t";
    let double = (Double, 23, 31, false, true);
    let expected = [(LongLong, 21, 0, true, false), double, double, (FieldType::Blob, 1024, 31, false, true)];
    assert_eq!(shown(client.types(aggregates))[..4], expected);
    assert_eq!(client.types(aggregates).0[4].field, FieldType::Json);
    client.ok("SET group_concat_max_len = 100");
    assert_eq!(shown(client.types(aggregates))[3], (VarString, 100, 31, false, true));
    let windows =
        "SELECT RANK() OVER w, CUME_DIST() OVER w, LAG(n, 1, 0.5) OVER w, MAX(n) OVER w, NTILE(2) OVER w FROM t
        WINDOW w AS (ORDER BY n)";
    let place = (LongLong, 21, 0, true, false);
    let value = (FieldType::Long, 11, 0, false, true);
    assert_eq!(
        shown(client.types(windows)),
        [place, (Double, 23, 31, false, false), (NewDecimal, 13, 1, false, true), value, place]
    );
    let rollup = "SELECT n, GROUPING(n) FROM t GROUP BY n WITH ROLLUP";
    assert_eq!(shown(client.types(rollup))[0], value);
}

#[test]
fn user_variables_have_the_type_of_their_value() {
    let mut client = client();
    let select = "SELECT @a, COALESCE(@a, 5), IF(1, @a, NULL), MAX(@a)";
    let prepared = client.prepare(select);
    for (value, field) in [
        ("1", LongLong),
        ("1.50", NewDecimal),
        ("1.5e0", Double),
        ("'abc'", VarString),
        // A variable holds no dates.
        ("CAST('2024-01-01' AS DATE)", VarString),
        ("7", LongLong),
    ] {
        client.ok(&format!("SET @a = {value}"));
        let fields: Vec<FieldType> = client.types(select).0.iter().map(|of| of.field).collect();
        assert_eq!(fields, [field; 4], "{value}");
        assert_eq!(client.types_of_prepared(&prepared), [field; 4], "{value}");
    }
    client.ok("SET @a = 18446744073709551615");
    assert!(client.types("SELECT @a").0[0].unsigned);
    client.ok("SET @a = x'41'");
    assert!(!client.types("SELECT @a").0[0].collation.is_character());
}

#[test]
fn system_variables_have_types_of_their_own() {
    let types = client().types("SELECT @@autocommit, @@sql_mode, @@autocommit + 1, IFNULL(@@autocommit, 0)");
    let fields: Vec<FieldType> = types.0.iter().map(|of| of.field).collect();
    assert_eq!(fields, [LongLong, VarString, LongLong, LongLong]);
}

#[test]
fn str_to_date_gives_what_its_format_names() {
    let mut client = client();
    client.ok("CREATE TABLE f (format VARCHAR(20))");
    client.ok("INSERT INTO f VALUES ('%Y-%m-%d')");
    for (call, field, decimals, shown) in [
        ("STR_TO_DATE('2024-01-02', '%Y-%m-%d')", Date, 0, "2024-01-02"),
        ("STR_TO_DATE('10:11:12', '%H:%i:%s')", Time, 0, "10:11:12"),
        ("STR_TO_DATE('10:11:12.5', '%H:%i:%s.%f')", Time, 6, "10:11:12.500000"),
        ("STR_TO_DATE('2024-01-02 10', '%Y-%m-%d %H')", DateTime, 0, "2024-01-02 10:00:00"),
        ("STR_TO_DATE('2024-01-02 10:11:12.5', '%Y-%m-%d %T.%f')", DateTime, 6, "2024-01-02 10:11:12.500000"),
        ("STR_TO_DATE('2024-01-02', format)", DateTime, 6, "2024-01-02 00:00:00.000000"),
    ] {
        let types = client.types(&format!("SELECT {call} FROM f"));
        assert_eq!((types.0[0].field, types.0[0].decimals), (field, decimals), "{call}");
        assert_eq!(types.1[0].to_string(), shown, "{call}");
    }
}

#[test]
fn no_unsigned_subtraction_makes_differences_signed() {
    let mut client = client();
    client.ok("CREATE TABLE t (a INT UNSIGNED, b INT UNSIGNED)");
    client.ok("INSERT INTO t VALUES (1, 2)");
    let select = "SELECT a - b, a + b, a - 1.5, MAX(a - b) FROM t GROUP BY a, b";
    client.ok("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'");
    let types = client.types(select);
    assert_eq!(types.0.iter().map(|of| of.unsigned).collect::<Vec<_>>(), [false, true, false, false]);
    assert_eq!(types.1[0], Value::Int(-1));
    client.ok("SET sql_mode = ''");
    let types = client.types("SELECT b - a, a + b FROM t");
    assert_eq!(types.0.iter().map(|of| of.unsigned).collect::<Vec<_>>(), [true, true]);
    assert!(types.0.iter().all(|of| of.family() == Family::Integer));
}

#[test]
fn columns_of_a_json_table_have_the_types_they_are_declared_with() {
    let mut client = client();
    let types = client.types(
        "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (n FOR ORDINALITY, v VARCHAR(10) PATH '$', d DECIMAL(5,2) PATH '$', \
         t DATETIME(3) PATH '$', j JSON PATH '$', e INT EXISTS PATH '$')) AS j",
    );
    let fields: Vec<FieldType> = types.0.iter().map(|of| of.field).collect();
    assert_eq!(fields, [LongLong, VarString, NewDecimal, DateTime, FieldType::Json, FieldType::Long]);
    assert!(types.0[0].unsigned && types.0.iter().all(|of| of.nullable));
    assert_eq!((types.0[1].length, types.0[2].decimals, types.0[3].decimals), (10, 2, 3));
}

#[test]
fn a_json_table_has_as_many_columns_as_a_table() {
    let mut client = client();
    let mut of = |count: usize| {
        let columns: Vec<String> = (0..count).map(|at| format!("c{at} FOR ORDINALITY")).collect();
        client.run(&format!("SELECT COUNT(*) FROM JSON_TABLE('[1]', '$[*]' COLUMNS ({})) AS j", columns.join(", ")))
    };
    assert_eq!(of(4096), ["COUNT(*)", "1"]);
    assert_eq!(of(4097), ["ERROR 1117 (HY000): Too many columns"]);
}
