//! The server seen through a client library.

use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row, Value};

fn server(options: &[&str]) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(folder.path().join("data"));
    let launch = options.iter().fold(launch, |launch, option| launch.option(*option));
    let server = launch.start().unwrap();
    (folder, server)
}

fn as_user(server: &Server, user: &str, password: &str) -> mysql::Result<Conn> {
    let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(server.port()).prefer_socket(false);
    Conn::new(options.user(Some(user)).pass(Some(password)))
}

fn errno<T>(result: mysql::Result<T>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn accounts_of_both_plugins_log_in_and_keep_their_passwords_over_a_restart() {
    let (_folder, server) = server(&[]);
    let mut root = server.connect().unwrap();
    root.query_drop("CREATE USER 'old'@'%' IDENTIFIED WITH mysql_native_password BY 'one'").unwrap();
    root.query_drop("CREATE USER new@localhost IDENTIFIED BY 'two'").unwrap();
    assert_eq!(errno(root.query_drop("CREATE USER new@localhost")), 1396);
    let check = |server: &Server| {
        for (user, password) in [("old", "one"), ("new", "two")] {
            let mut conn = as_user(server, user, password).unwrap();
            let name: Option<String> = conn.query_first("SELECT USER()").unwrap();
            assert_eq!(name, Some(format!("{user}@127.0.0.1")));
            assert_eq!(errno(as_user(server, user, "wrong")), 1045);
            assert_eq!(errno(as_user(server, user, "")), 1045);
        }
    };
    check(&server);
    // After a restart the digest is not known: the password travels, encrypted, once.
    let server = server.stop().unwrap().start().unwrap();
    check(&server);
    let mut root = server.connect().unwrap();
    root.query_drop("ALTER USER new@localhost IDENTIFIED BY 'three'").unwrap();
    assert_eq!(errno(as_user(&server, "new", "two")), 1045);
    as_user(&server, "new", "three").unwrap();
    root.query_drop("DROP USER old").unwrap();
    assert_eq!(errno(as_user(&server, "old", "one")), 1045);
}

#[test]
fn the_engine_is_the_same_wherever_it_is_named() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    conn.query_drop("CREATE DATABASE d").unwrap();
    conn.query_drop("USE d").unwrap();
    for set in ["SET @@session.autocommit = 1", "SET default_storage_engine = INNODB"] {
        conn.query_drop(set).unwrap();
        let engine: Option<String> = conn.query_first("SELECT @@default_storage_engine").unwrap();
        assert_eq!(engine.as_deref(), Some("RocksDB"), "{set}");
    }
    let engines: Vec<mysql::Row> = conn.query("SHOW ENGINES").unwrap();
    let default = engines.iter().find(|row| row.get::<String, _>(1).as_deref() == Some("DEFAULT")).unwrap();
    assert_eq!(default.get::<String, _>(0).as_deref(), Some("RocksDB"));
    for (table, options, warnings) in [("plain", "", 0), ("own", "ENGINE=rocksdb", 0), ("other", "ENGINE=InnoDB", 1)] {
        conn.query_drop(format!("CREATE TABLE {table} (id INT PRIMARY KEY) {options}")).unwrap();
        let shown: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").unwrap();
        assert_eq!(shown.len(), warnings, "{shown:?}");
        assert!(shown.iter().all(|(_, code, text)| *code == 1266 && text.contains("RocksDB")), "{shown:?}");
        let (_, create): (String, String) = conn.query_first(format!("SHOW CREATE TABLE {table}")).unwrap().unwrap();
        assert!(create.contains(") ENGINE=RocksDB "), "{create}");
    }
    assert_eq!(errno(conn.query_drop("SET default_storage_engine = nothing")), 1286);
}

#[test]
fn change_user_and_reset_leave_nothing_of_the_old_session() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    conn.query_drop("CREATE DATABASE d").unwrap();
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)").unwrap();
    conn.query_drop("CREATE USER app IDENTIFIED BY 'pw'").unwrap();
    conn.query_drop("GRANT SELECT ON d.* TO app").unwrap();
    conn.query_drop("SET @a = 1, SESSION sql_mode = ''").unwrap();
    conn.query_drop("BEGIN").unwrap();
    conn.query_drop("INSERT INTO d.t VALUES (1)").unwrap();
    conn.reset().unwrap();
    assert_eq!(conn.query_first::<Value, _>("SELECT @a").unwrap(), Some(Value::NULL));
    assert_eq!(conn.query_first::<i64, _>("SELECT COUNT(*) FROM d.t").unwrap(), Some(0));
    let mode: Option<String> = conn.query_first("SELECT @@sql_mode").unwrap();
    assert!(mode.unwrap().contains("STRICT_TRANS_TABLES"));
    let options = mysql::ChangeUserOpts::new()
        .with_user(Some("app".into()))
        .with_pass(Some("pw".into()))
        .with_db_name(Some("d".into()));
    conn.change_user(options).unwrap();
    let who: Option<(String, String)> = conn.query_first("SELECT CURRENT_USER(), DATABASE()").unwrap();
    assert_eq!(who, Some(("app@%".into(), "d".into())));
    assert_eq!(errno(conn.query_drop("DELETE FROM d.t")), 1142);
    let wrong = mysql::ChangeUserOpts::new().with_user(Some("app".into())).with_pass(Some("no".into()));
    assert_eq!(errno(conn.change_user(wrong)), 1045);
}

#[test]
fn values_travel_unharmed_as_text_and_as_binary() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    conn.query_drop("CREATE DATABASE d").unwrap();
    conn.query_drop(
        "CREATE TABLE d.t (i INT, u BIGINT UNSIGNED, d DECIMAL(12,3), f DOUBLE, s VARCHAR(20), b VARBINARY(20), \
         day DATE, at DATETIME(6), x MEDIUMTEXT)",
    )
    .unwrap();
    let params = (
        -7,
        u64::MAX,
        "123.500",
        1.25,
        "grüße",
        Value::Bytes(vec![0, 255, 1]),
        Value::Date(2024, 2, 29, 0, 0, 0, 0),
        Value::Date(2024, 2, 29, 23, 59, 58, 123_456),
        "x".repeat(70_000),
    );
    conn.exec_drop("INSERT INTO d.t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", params).unwrap();
    conn.exec_drop("INSERT INTO d.t (i) VALUES (?)", (Value::NULL,)).unwrap();
    let binary: Vec<Row> = conn.exec("SELECT * FROM d.t ORDER BY u DESC", ()).unwrap();
    let text: Vec<Row> = conn.query("SELECT * FROM d.t ORDER BY u DESC").unwrap();
    let values = |row: &Row| row.clone().unwrap();
    let sent = values(&binary[0]);
    assert_eq!(sent[0], Value::Int(-7));
    assert_eq!(sent[1], Value::UInt(u64::MAX));
    assert_eq!(sent[2], Value::Bytes(b"123.500".to_vec()));
    assert_eq!(sent[3], Value::Double(1.25));
    assert_eq!(sent[4], Value::Bytes("grüße".as_bytes().to_vec()));
    assert_eq!(sent[5], Value::Bytes(vec![0, 255, 1]));
    assert_eq!(sent[6], Value::Date(2024, 2, 29, 0, 0, 0, 0));
    assert_eq!(sent[7], Value::Date(2024, 2, 29, 23, 59, 58, 123_456));
    assert_eq!(sent[8], Value::Bytes(vec![b'x'; 70_000]));
    let read = values(&text[0]);
    assert_eq!(read[0], Value::Bytes(b"-7".to_vec()));
    assert_eq!(read[3], Value::Bytes(b"1.25".to_vec()));
    assert_eq!(read[7], Value::Bytes(b"2024-02-29 23:59:58.123456".to_vec()));
    assert!(values(&binary[1]).iter().chain(&values(&text[1])).all(|value| *value == Value::NULL));
}

#[test]
fn packets_over_sixteen_mebibytes_pass_in_both_directions() {
    let (_folder, server) = server(&["--max_allowed_packet=64M"]);
    let mut conn = server.connect().unwrap();
    for length in [(1 << 24) - 20, 1 << 24, 33 << 20] {
        let text = "0123456789abcdef".repeat(length / 16);
        let back: Option<String> = conn.query_first(format!("SELECT '{text}'")).unwrap();
        assert!(back.as_deref() == Some(text.as_str()), "{length} bytes as text");
        let back: Option<String> = conn.exec_first("SELECT ?", (&text,)).unwrap();
        assert!(back.as_deref() == Some(text.as_str()), "{length} bytes as a parameter");
    }
}

#[test]
fn variables_refuse_what_mysql_refuses() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    for (sql, code) in [
        ("SET no_such_variable = 1", 1193),
        ("SELECT @@no_such_variable", 1193),
        ("SET GLOBAL version = 'x'", 1238),
        ("SET port = 1", 1238),
        ("SET sync_binlog = 0", 1229),
        ("SET GLOBAL sql_log_bin = 0", 1228),
        ("SET autocommit = 7", 1231),
        ("SET sql_mode = 'NO_SUCH_MODE'", 1231),
        ("SET GLOBAL max_connections = 'many'", 1232),
        ("SET time_zone = 'Nowhere/Else'", 1298),
        ("SET NAMES klingon", 1115),
        ("SET sql_auto_is_null = 1", 1231),
        ("SET SESSION max_allowed_packet = 2048", 1621),
    ] {
        let result = conn.query_drop(sql);
        assert!(result.is_err(), "{sql} was taken");
        assert_eq!(errno(result), code, "{sql}");
    }
    conn.query_drop("BEGIN").unwrap();
    assert_eq!(errno(conn.query_drop("SET sql_log_bin = 0")), 1694);
    conn.query_drop("COMMIT").unwrap();
    conn.query_drop("SET SESSION wait_timeout = 77, sql_mode = 'ANSI_QUOTES'").unwrap();
    let values: Option<(u64, String)> = conn.query_first("SELECT @@wait_timeout, @@session.sql_mode").unwrap();
    assert_eq!(values, Some((77, "ANSI_QUOTES".into())));
    conn.query_drop("SET GLOBAL sync_binlog = 5, GLOBAL innodb_flush_log_at_trx_commit = 2").unwrap();
    let listed: Vec<(String, String)> =
        conn.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('sync_binlog', 'flush_log_at_trx_commit')").unwrap();
    assert_eq!(listed, [("flush_log_at_trx_commit".into(), "2".into()), ("sync_binlog".into(), "5".into())]);
}

#[test]
fn the_process_list_shows_who_is_there_and_kill_ends_them() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    let mut other = server.connect().unwrap();
    let id: u64 = other.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    let mut rows: Vec<Row> = conn.query("SHOW FULL PROCESSLIST").unwrap();
    // The connection that waited for the start may still be about to end.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while rows.len() > 2 && std::time::Instant::now() < deadline {
        rows = conn.query("SHOW FULL PROCESSLIST").unwrap();
    }
    assert_eq!(rows.len(), 2);
    let own = rows.iter().find(|row| row.get::<String, _>("Command").as_deref() == Some("Query")).unwrap();
    assert_eq!(own.get::<Option<String>, _>("Info").flatten().as_deref(), Some("SHOW FULL PROCESSLIST"));
    conn.query_drop(format!("KILL {id}")).unwrap();
    assert!(other.query_drop("SELECT 1").is_err());
    assert_eq!(errno(conn.query_drop("KILL 999999")), 1094);
}

#[test]
fn an_idle_client_gets_an_error_when_its_time_is_over() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    conn.query_drop("SET SESSION wait_timeout = 1").unwrap();
    let mut other = server.connect().unwrap();
    let mut aborted = || -> u64 {
        let row: Option<(String, u64)> = other.query_first("SHOW GLOBAL STATUS LIKE 'Aborted_clients'").unwrap();
        row.unwrap().1
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while aborted() == 0 {
        assert!(std::time::Instant::now() < deadline, "still connected");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(conn.query_drop("SELECT 1").is_err());
    assert_eq!(aborted(), 1);
}

#[test]
fn a_session_sees_its_own_counters_until_it_flushes_them() {
    let (_folder, server) = server(&[]);
    let (mut conn, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    let count = |conn: &mut Conn, scope: &str, name: &str| -> u64 {
        let row: Option<(String, u64)> = conn.query_first(format!("SHOW {scope} STATUS LIKE '{name}'")).unwrap();
        row.unwrap().1
    };
    // The driver asks something when it connects.
    let mine = count(&mut conn, "SESSION", "Com_select");
    for _ in 0..5 {
        other.query_drop("DO 1").unwrap();
        other.query_drop("SELECT 1").unwrap();
    }
    assert_eq!(count(&mut conn, "SESSION", "Com_select"), mine);
    assert_eq!(count(&mut other, "", "Com_select"), mine + 5);
    assert!(count(&mut conn, "GLOBAL", "Com_select") >= 2 * mine + 5);
    assert!(count(&mut other, "SESSION", "Bytes_sent") > 0);
    let before = count(&mut conn, "GLOBAL", "Questions");
    other.query_drop("FLUSH STATUS").unwrap();
    assert_eq!(count(&mut other, "LOCAL", "Com_select"), 0);
    assert_eq!(count(&mut other, "SESSION", "Questions"), 2, "FLUSH itself, and the SHOW before this one");
    assert!(count(&mut conn, "GLOBAL", "Questions") > before);
}

#[test]
fn a_prepared_statement_goes_on_to_mean_what_it_meant() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "SET NAMES utf8mb4",
        "CREATE TABLE t (a VARCHAR(30))",
        "INSERT INTO t VALUES ('x'), ('y')",
        "CREATE TABLE b (x VARBINARY(9))",
        r#"PREPARE gone FROM "DELETE FROM t WHERE a = 'x\\' OR 1 = 1 -- '""#,
        "PREPARE put FROM \"INSERT INTO b (x) VALUES (_binary'é')\"",
        "EXECUTE gone",
        "EXECUTE put",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "SET NAMES latin1",
        "EXECUTE gone",
        "EXECUTE put",
        // Their plans are made anew.
        "ALTER TABLE t ADD c INT",
        "ALTER TABLE b ADD c INT",
        "EXECUTE gone",
        "EXECUTE put",
    ] {
        conn.query_drop(sql).unwrap();
    }
    assert_eq!(conn.query::<String, _>("SELECT a FROM t ORDER BY a").unwrap(), ["x", "y"]);
    assert_eq!(conn.query::<String, _>("SELECT HEX(x) FROM b").unwrap(), ["C3A9"; 3]);
}

#[test]
fn a_prepared_statement_without_a_plan_goes_on_to_mean_what_it_meant() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE e",
        "USE d",
        "SET NAMES utf8mb4, sql_mode = 'PIPES_AS_CONCAT'",
        "PREPARE say FROM \"SET @a = HEX(_binary'é'), @b = CHARSET('x'), @c = (SELECT COUNT(*) FROM made)\"",
        "PREPARE make FROM \"CREATE TABLE made (a INT, b VARCHAR(9) DEFAULT 'é', c VARCHAR(9) DEFAULT ('x' || 'y'))\"",
        "CREATE TABLE plain (a INT)",
        "PREPARE put FROM 'INSERT INTO plain VALUES (1)'",
        "PREPARE list FROM 'SHOW TABLES'",
        "PREPARE gone FROM 'DROP DATABASE e'",
        "PREPARE names FROM 'SET NAMES utf8mb4'",
        "USE e",
        "SET binlog_format = STATEMENT",
        "EXECUTE put",
        "SET NAMES latin1, sql_mode = ''",
        "EXECUTE make",
        "INSERT INTO d.made (a) VALUES (1)",
        "EXECUTE say",
    ] {
        conn.query_drop(sql).unwrap();
    }
    let seen: (String, String, u64) = conn.query_first("SELECT @a, @b, @c").unwrap().unwrap();
    assert_eq!(seen, ("C3A9".to_owned(), "utf8mb4".to_owned(), 1));
    assert_eq!(conn.query::<String, _>("SELECT HEX(b) FROM d.made").unwrap(), ["C3A9"]);
    assert_eq!(conn.query::<String, _>("SELECT c FROM d.made").unwrap(), ["xy"]);
    assert_eq!(conn.query::<String, _>("EXECUTE list").unwrap(), ["made", "plain"]);
    // In the session's latin1.
    type Event = (String, u64, String, u64, u64, Vec<u8>);
    let logged: Vec<Event> = conn.query("SHOW BINLOG EVENTS").unwrap();
    let logged: Vec<_> = logged.iter().map(|event| String::from_utf8_lossy(&event.5)).collect();
    for sql in ["use `d`; INSERT INTO plain VALUES (1)", "use `d`; CREATE TABLE made"] {
        assert!(logged.iter().any(|info| info.starts_with(sql)), "{sql}: {logged:?}");
    }
    assert_eq!(conn.query::<String, _>("SELECT DATABASE()").unwrap(), ["e"]);
    conn.query_drop("EXECUTE names").unwrap();
    assert_eq!(conn.query::<String, _>("SELECT @@character_set_client").unwrap(), ["utf8mb4"]);
    conn.query_drop("EXECUTE gone").unwrap();
    assert_eq!(conn.query::<Option<String>, _>("SELECT DATABASE()").unwrap(), [None]);
}

#[test]
fn what_mysql_does_not_prepare_is_refused_and_can_be_sent() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    for sql in ["BEGIN", "START TRANSACTION", "SAVEPOINT s", "USE mysql", "UNLOCK TABLES"] {
        let refused = conn.prep(sql).unwrap_err();
        assert!(matches!(&refused, mysql::Error::MySqlError(error) if error.code == 1295), "{sql}: {refused}");
        conn.query_drop(sql).unwrap();
    }
    for sql in ["ROLLBACK", "COMMIT", "SET @a = 1", "SHOW DATABASES", "FLUSH STATUS"] {
        conn.exec_drop(sql, ()).unwrap();
    }
}

#[test]
fn a_variable_given_to_execute_is_nothing_that_the_client_sent() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    let mut seen = |names: &str| -> (String, String, String) {
        conn.query_drop("SET NAMES utf8mb4").unwrap();
        conn.query_drop("SET @v = 'ğ' COLLATE utf8mb4_bin").unwrap();
        conn.query_drop("PREPARE s FROM 'SELECT HEX(?), CHARSET(?), COLLATION(?)'").unwrap();
        conn.query_drop(names).unwrap();
        conn.query_first("EXECUTE s USING @v, @v, @v").unwrap().unwrap()
    };
    let are = |hex: &str, charset: &str, collation: &str| (hex.to_owned(), charset.to_owned(), collation.to_owned());
    assert_eq!(seen("DO 0"), are("C49F", "utf8mb4", "utf8mb4_bin"));
    assert_eq!(seen("SET NAMES latin1"), are("3F", "latin1", "latin1_swedish_ci"));
    let binary = "SET character_set_client = latin1, collation_connection = binary";
    assert_eq!(seen(binary), are("C49F", "utf8mb4", "utf8mb4_bin"));
}

#[test]
fn found_rows_is_counted_as_the_client_asked() {
    let (_folder, server) = server(&[]);
    let mut conn = server.connect().unwrap();
    conn.query_drop("CREATE DATABASE d").unwrap();
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)").unwrap();
    conn.query_drop("INSERT INTO d.t VALUES (1, 1), (2, 1)").unwrap();
    conn.query_drop("UPDATE d.t SET v = 1").unwrap();
    assert_eq!(conn.affected_rows(), 0);
    let found = mysql::consts::CapabilityFlags::CLIENT_FOUND_ROWS;
    let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(server.port()).user(Some("root"));
    let mut conn = Conn::new(options.additional_capabilities(found)).unwrap();
    conn.query_drop("UPDATE d.t SET v = 1").unwrap();
    assert_eq!(conn.affected_rows(), 2);
}
