//! What accounts may do: every form of statement, run by an account that holds nothing and by one that holds just what
//! the statement needs; roles, grants and passwords over the life of a server.

use anyhow::{Result, ensure};
use cohort_blackbox::{Launch, Server, tool};
use mysql::Conn;
use mysql::prelude::Queryable;

/// A statement, the error for an account that holds nothing (0: none is needed), and the grants that are enough, each
/// as `privileges ON level`.
struct Case(&'static str, u16, &'static [&'static str]);

/// ER_NOT_SUPPORTED_YET
const NOT_SUPPORTED: u16 = 1235;

const CASES: &[Case] = &[
    // Rows.
    Case("SELECT 1", 0, &[]),
    Case("SELECT a FROM d.t", 1142, &["SELECT ON *.*"]),
    Case("SELECT a FROM d.t", 1142, &["SELECT ON d.*"]),
    Case("SELECT a FROM d.t", 1142, &["SELECT ON d.t"]),
    Case("SELECT a FROM d.t WHERE b > 0", 1142, &["SELECT (a, b) ON d.t"]),
    Case("SELECT COUNT(*) FROM d.t", 1142, &["SELECT (id) ON d.t"]),
    Case("SELECT * FROM d.missing", 1142, &[]),
    Case("SELECT DEFAULT(b), a FROM d.t", 1142, &["SELECT (a) ON d.t", "SELECT (b) ON d.t"]),
    Case("EXPLAIN SELECT a FROM d.t", 1142, &["SELECT (a) ON d.t"]),
    Case("SELECT a FROM d.t FOR SHARE", 1142, &["SELECT ON d.t"]),
    Case("SELECT a FROM d.t FOR UPDATE", 1142, &["SELECT, UPDATE ON d.t"]),
    Case("SELECT COUNT(*) FROM information_schema.tables", 0, &[]),
    Case("SELECT * FROM information_schema.commit_mutex", 1227, &["PROCESS ON *.*"]),
    Case("INSERT INTO d.t (id, a) VALUES (100, 1)", 1142, &["INSERT (id, a) ON d.t"]),
    Case("INSERT INTO d.t VALUES (100, 1, 1)", 1142, &["INSERT ON d.t"]),
    Case(
        "INSERT INTO d.t (id) VALUES (1) ON DUPLICATE KEY UPDATE a = b",
        1142,
        &["INSERT (id), UPDATE (a), SELECT (b) ON d.t"],
    ),
    Case("INSERT INTO d.t SELECT id + 100, a, b FROM d.u", 1142, &["INSERT ON d.t", "SELECT ON d.u"]),
    Case(
        "INSERT INTO d.t (id) SELECT id FROM d.u ON DUPLICATE KEY UPDATE a = u.b",
        1142,
        &["INSERT (id), UPDATE (a) ON d.t", "SELECT (id) ON d.u", "SELECT (b) ON d.u"],
    ),
    Case("REPLACE INTO d.t VALUES (1, 2, 3)", 1142, &["INSERT, DELETE ON d.t"]),
    Case("UPDATE d.t SET a = 1", 1142, &["UPDATE (a) ON d.t"]),
    Case("UPDATE d.t SET a = b WHERE id = 1", 1142, &["UPDATE (a), SELECT (b, id) ON d.t"]),
    Case("DELETE FROM d.t WHERE id = 1", 1142, &["DELETE, SELECT ON d.t"]),
    Case("DELETE FROM d.t", 1142, &["DELETE ON d.t"]),
    // Rows of several tables.
    Case("SELECT t.a, u.b FROM d.t JOIN d.u ON u.id = t.id", 1142, &["SELECT (id, a) ON d.t", "SELECT (id, b) ON d.u"]),
    Case(
        "SELECT a FROM d.t WHERE id IN (SELECT id FROM d.u WHERE u.b = t.b)",
        1142,
        &["SELECT (a, id, b) ON d.t", "SELECT (id, b) ON d.u"],
    ),
    Case("SELECT 1 UNION SELECT a FROM d.t", 1142, &["SELECT (a) ON d.t"]),
    Case("SELECT x FROM (SELECT a AS x FROM d.t) AS y", 1142, &["SELECT (a) ON d.t"]),
    Case("WITH c AS (SELECT a FROM d.t) SELECT * FROM c", 1142, &["SELECT (a) ON d.t"]),
    Case("SET @x = (SELECT MAX(a) FROM d.t)", 1142, &["SELECT (a) ON d.t"]),
    Case("SELECT * FROM d.t JOIN d.u USING (id) FOR UPDATE OF t", 1142, &["SELECT, UPDATE ON d.t", "SELECT ON d.u"]),
    Case(
        "UPDATE d.t JOIN d.u ON u.id = t.id SET t.a = u.b",
        1142,
        &["UPDATE (a), SELECT (id) ON d.t", "SELECT (id, b) ON d.u"],
    ),
    Case("UPDATE d.t JOIN d.u SET t.a = 1, u.a = 2", 1142, &["UPDATE (a) ON d.t", "UPDATE (a) ON d.u"]),
    Case("DELETE t FROM d.t JOIN d.u ON u.id = t.id", 1142, &["DELETE, SELECT (id) ON d.t", "SELECT (id) ON d.u"]),
    // System tables.
    Case("SELECT Host, User FROM mysql.user", 1142, &["SELECT ON mysql.*"]),
    Case("SELECT COUNT(*) FROM mysql.user WHERE User = 'u'", 1142, &["SELECT (User) ON mysql.user"]),
    Case("SELECT * FROM mysql.db", 1142, &["SELECT ON mysql.db"]),
    Case("SELECT * FROM mysql.tables_priv", 1142, &["SELECT ON mysql.tables_priv"]),
    Case("SELECT * FROM mysql.columns_priv", 1142, &["SELECT ON mysql.columns_priv"]),
    Case("SELECT * FROM mysql.role_edges", 1142, &["SELECT ON mysql.role_edges"]),
    Case("SELECT * FROM mysql.default_roles", 1142, &["SELECT ON mysql.default_roles"]),
    Case("SELECT * FROM mysql.global_grants", 1142, &["SELECT ON mysql.global_grants"]),
    Case("SELECT * FROM mysql.missing", 1142, &[]),
    Case("USE mysql", 1044, &["SELECT ON mysql.user"]),
    Case("SHOW TABLES FROM mysql", 1044, &["SELECT (User) ON mysql.user"]),
    Case("SHOW COLUMNS FROM mysql.user", 1142, &["SELECT (User) ON mysql.user"]),
    Case("SHOW CREATE TABLE mysql.user", 1142, &["SELECT ON mysql.user"]),
    Case("INSERT INTO mysql.user (User) VALUES ('x')", 1142, &["INSERT ON mysql.user"]),
    Case("UPDATE mysql.user SET Super_priv = 'Y'", 1142, &["UPDATE ON mysql.user"]),
    Case("DELETE FROM mysql.user", 1142, &["DELETE ON mysql.*"]),
    Case("REPLACE INTO mysql.db (User) VALUES ('x')", 1142, &["INSERT, DELETE ON mysql.db"]),
    Case("DROP TABLE mysql.user", 1142, &["DROP ON mysql.*"]),
    Case("TRUNCATE mysql.user", 1142, &["DROP ON mysql.*"]),
    Case("ALTER TABLE mysql.user COMMENT = 'x'", 1142, &["ALTER ON mysql.*"]),
    Case("CREATE TABLE mysql.made (a INT)", 1142, &["CREATE ON mysql.*"]),
    Case("DROP DATABASE mysql", 1044, &["DROP ON mysql.*"]),
    Case("USE information_schema", 0, &[]),
    Case("SHOW TABLES FROM INFORMATION_SCHEMA", 0, &[]),
    Case("SHOW COLUMNS FROM information_schema.tables", 0, &[]),
    Case("SELECT * FROM information_schema.user_privileges", 0, &[]),
    Case("SELECT * FROM information_schema.schema_privileges", 0, &[]),
    Case("SELECT * FROM information_schema.table_privileges", 0, &[]),
    Case("SELECT * FROM information_schema.column_privileges", 0, &[]),
    Case("SELECT * FROM information_schema.applicable_roles", 0, &[]),
    Case("SELECT * FROM information_schema.enabled_roles", 0, &[]),
    Case("SELECT * FROM information_schema.user_attributes", 0, &[]),
    Case("DELETE FROM information_schema.tables", 1044, &[]),
    Case("DROP DATABASE information_schema", 1044, &[]),
    // Transactions, sessions.
    Case("BEGIN", 0, &[]),
    Case("COMMIT", 0, &[]),
    Case("ROLLBACK", 0, &[]),
    Case("XA RECOVER", 1401, &["XA_RECOVER_ADMIN ON *.*"]),
    Case("DO 1", 0, &[]),
    Case("SET @a = 1", 0, &[]),
    Case("SET SESSION sql_mode = DEFAULT", 0, &[]),
    Case("SET SESSION sql_log_bin = 1", 1227, &["SESSION_VARIABLES_ADMIN ON *.*"]),
    Case("SET GLOBAL max_connections = 151", 1227, &["SYSTEM_VARIABLES_ADMIN ON *.*"]),
    Case("USE d", 1044, &["SELECT (a) ON d.t"]),
    Case("UNLOCK TABLES", 0, &[]),
    // The schema.
    Case("CREATE DATABASE made", 1044, &["CREATE ON made.*"]),
    Case("ALTER DATABASE d COLLATE utf8mb4_bin", 1044, &["ALTER ON d.*"]),
    Case("DROP DATABASE IF EXISTS made", 1044, &["DROP ON made.*"]),
    Case("CREATE TABLE d.made (a INT)", 1142, &["CREATE ON d.*"]),
    Case("CREATE TABLE d.made LIKE d.t", 1142, &["CREATE ON d.*", "SELECT ON d.t"]),
    Case("CREATE TABLE d.made SELECT a FROM d.t", 1142, &["CREATE ON d.*", "INSERT ON d.*", "SELECT (a) ON d.t"]),
    Case("DROP TABLE IF EXISTS d.made", 1142, &["DROP ON d.*"]),
    Case("TRUNCATE d.t", 1142, &["DROP ON d.t"]),
    Case("ALTER TABLE d.t COMMENT = 'x'", 1142, &["ALTER ON d.t"]),
    Case("LOCK TABLES d.t READ", 1044, &["SELECT ON d.t", "LOCK TABLES ON d.*"]),
    Case("RENAME TABLE d.t TO d.made", 1142, &["ALTER ON d.t", "DROP ON d.t", "CREATE ON d.*", "INSERT ON d.*"]),
    Case("ALTER TABLE d.t ADD INDEX i (a)", 1142, &["ALTER ON d.t"]),
    Case("ALTER TABLE d.t DISABLE KEYS", 1142, &["ALTER ON d.t"]),
    Case("CREATE INDEX i ON d.t (a)", 1142, &["INDEX ON d.t"]),
    Case("DROP INDEX k ON d.t", 1142, &["INDEX ON d.t"]),
    // SHOW.
    Case("SHOW DATABASES", 0, &[]),
    Case("SHOW TABLES FROM d", 1044, &["SELECT (a) ON d.t"]),
    Case("SHOW TABLE STATUS FROM d", 1044, &["SELECT ON d.*"]),
    Case("SHOW COLUMNS FROM d.t", 1142, &["INSERT (a) ON d.t"]),
    Case("SHOW INDEX FROM d.t", 1142, &["DELETE ON d.t"]),
    Case("SHOW CREATE TABLE d.t", 1142, &["SELECT ON d.t"]),
    Case("SHOW CREATE DATABASE d", 1044, &["SELECT (a) ON d.t"]),
    Case("SHOW VARIABLES", 0, &[]),
    Case("SHOW STATUS", 0, &[]),
    Case("SHOW PROCESSLIST", 0, &[]),
    Case("SHOW BINARY LOGS", 1227, &["REPLICATION CLIENT ON *.*"]),
    Case("SHOW MASTER STATUS", 1227, &["REPLICATION CLIENT ON *.*"]),
    Case("SHOW REPLICA STATUS", 1227, &["REPLICATION CLIENT ON *.*"]),
    Case("SHOW REPLICAS", 1227, &["REPLICATION SLAVE ON *.*"]),
    Case("SHOW BINLOG EVENTS LIMIT 1", 1227, &["REPLICATION SLAVE ON *.*"]),
    Case("SHOW ENGINE INNODB STATUS", 1227, &["PROCESS ON *.*"]),
    Case("SHOW ENGINES", 0, &[]),
    Case("CHECK TABLE d.t", 1142, &["SELECT ON d.t"]),
    Case("CHECKSUM TABLE d.t", 1142, &["SELECT ON d.t"]),
    Case("ANALYZE TABLE d.t", 1142, &["SELECT, INSERT ON d.t"]),
    Case("OPTIMIZE TABLE d.t", 1142, &["SELECT, INSERT ON d.t"]),
    Case("REPAIR TABLE d.t", 1142, &["SELECT, INSERT ON d.t"]),
    Case("SHOW COLLATION", 0, &[]),
    Case("SHOW CHARACTER SET", 0, &[]),
    Case("SHOW PLUGINS", 0, &[]),
    Case("SHOW PRIVILEGES", 0, &[]),
    Case("SHOW GRANTS", 0, &[]),
    Case("SHOW GRANTS FOR root@localhost", 1044, &["SELECT ON mysql.*"]),
    Case("SHOW CREATE USER", 0, &[]),
    Case("SHOW CREATE USER root@localhost", 1227, &["CREATE USER ON *.*"]),
    Case("SHOW WARNINGS", 0, &[]),
    // Accounts.
    Case("CREATE USER made IDENTIFIED BY 'pw'", 1227, &["CREATE USER ON *.*"]),
    Case("CREATE USER made IDENTIFIED BY 'pw' DEFAULT ROLE role", 1227, &["CREATE USER ON *.*", "ROLE_ADMIN ON *.*"]),
    Case("DROP USER IF EXISTS made", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER other ACCOUNT UNLOCK", 1227, &["CREATE USER ON *.*"]),
    Case("RENAME USER other TO made", 1227, &["CREATE USER ON *.*"]),
    Case("SET PASSWORD = 'pw'", 0, &[]),
    Case("ALTER USER USER() IDENTIFIED BY 'pw'", 0, &[]),
    Case("SET PASSWORD FOR other = 'pw'", 1227, &["CREATE USER ON *.*"]),
    Case("SET PASSWORD = 'new' REPLACE 'pw'", 0, &[]),
    Case("ALTER USER other WITH MAX_QUERIES_PER_HOUR 9", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER USER() WITH MAX_QUERIES_PER_HOUR 0", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER USER() PASSWORD HISTORY 0", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER USER() IDENTIFIED BY 'pw' PASSWORD REQUIRE CURRENT OPTIONAL", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER USER() FAILED_LOGIN_ATTEMPTS 0", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER USER() ATTRIBUTE '{}'", 1227, &["CREATE USER ON *.*"]),
    Case("ALTER USER root@localhost IDENTIFIED BY 'pw'", 1227, &["CREATE USER, SYSTEM_USER ON *.*"]),
    Case("CREATE ROLE made", 1227, &["CREATE ROLE ON *.*"]),
    Case("DROP ROLE IF EXISTS made", 1227, &["DROP ROLE ON *.*"]),
    Case("SET ROLE NONE", 0, &[]),
    Case("SET DEFAULT ROLE NONE TO other", 1227, &["CREATE USER ON *.*"]),
    Case("GRANT SELECT ON d.t TO other", 1142, &["SELECT, GRANT OPTION ON d.t"]),
    Case("GRANT SELECT ON d.* TO other", 1044, &["SELECT, GRANT OPTION ON d.*"]),
    Case("GRANT SELECT ON *.* TO other", 1045, &["SELECT, GRANT OPTION ON *.*"]),
    Case("GRANT role TO other", 1227, &["ROLE_ADMIN ON *.*"]),
    Case("REVOKE role FROM other", 1227, &["ROLE_ADMIN ON *.*"]),
    Case("SET GLOBAL mandatory_roles = ''", 1227, &["SYSTEM_VARIABLES_ADMIN ON *.*", "ROLE_ADMIN ON *.*"]),
    Case("REVOKE ALL, GRANT OPTION FROM other", 1227, &["CREATE USER ON *.*"]),
    // What operators do.
    Case("FLUSH LOGS", 1227, &["RELOAD ON *.*"]),
    Case("FLUSH TABLES", 1227, &["FLUSH_TABLES ON *.*"]),
    Case("FLUSH TABLES WITH READ LOCK", 1227, &["FLUSH_TABLES ON *.*"]),
    Case("FLUSH TABLES WITH READ LOCK", 1227, &["RELOAD ON *.*"]),
    Case("FLUSH TABLES d.t WITH READ LOCK", 1227, &["RELOAD ON *.*", "SELECT ON d.t", "LOCK TABLES ON d.*"]),
    Case("LOCK INSTANCE FOR BACKUP", 1227, &["BACKUP_ADMIN ON *.*"]),
    Case("UNLOCK INSTANCE", 1227, &["BACKUP_ADMIN ON *.*"]),
    Case("BACKUP STAGE START", 1227, &["RELOAD ON *.*"]),
    Case("BACKUP LOCK d.t", 1227, &["RELOAD ON *.*"]),
    Case("BACKUP UNLOCK", 1227, &["RELOAD ON *.*"]),
    Case("SELECT * FROM performance_schema.metadata_locks", 1142, &["SELECT ON performance_schema.*"]),
    Case("USE performance_schema", 1044, &["SELECT ON performance_schema.metadata_locks"]),
    Case("SELECT GET_LOCK('p', 0), RELEASE_LOCK('p')", 0, &[]),
    Case("FLUSH PRIVILEGES", 1227, &["RELOAD ON *.*"]),
    Case("FLUSH STATUS", 1227, &["FLUSH_STATUS ON *.*"]),
    Case("FLUSH HOSTS", 1227, &["RELOAD ON *.*"]),
    Case("FLUSH USER_RESOURCES", 1227, &["FLUSH_USER_RESOURCES ON *.*"]),
    Case("PURGE BINARY LOGS BEFORE '2000-01-01'", 1227, &["BINLOG_ADMIN ON *.*"]),
    Case("RESET MASTER", 1227, &["RELOAD ON *.*"]),
    Case("ALTER INSTANCE RELOAD TLS", 1227, &["CONNECTION_ADMIN ON *.*"]),
    Case("SHUTDOWN", 1227, &[]),
];

fn launch(folder: &tempfile::TempDir) -> Launch {
    Launch::new(folder.path().join("data"))
}

fn root(server: &Server) -> Result<Conn> {
    Ok(Conn::new(server.socket_options())?)
}

fn errno(result: mysql::Result<()>) -> Result<u16> {
    match result {
        Ok(()) => Ok(0),
        Err(mysql::Error::MySqlError(error)) => Ok(error.code),
        Err(error) => Err(error.into()),
    }
}

/// What each case begins with.
fn prepare(root: &mut Conn) -> Result<()> {
    for sql in [
        "DROP DATABASE IF EXISTS d",
        "DROP DATABASE IF EXISTS made",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, KEY k (b))",
        "CREATE TABLE d.u LIKE d.t",
        "INSERT INTO d.t VALUES (1, 2, 3)",
        "INSERT INTO d.u VALUES (1, 2, 3)",
        "DROP USER IF EXISTS u, other, made, role",
        "CREATE USER u IDENTIFIED BY 'pw', other IDENTIFIED BY 'pw'",
        "CREATE ROLE role",
        "ALTER USER root@localhost IDENTIFIED WITH caching_sha2_password",
    ] {
        root.query_drop(sql)?;
    }
    Ok(())
}

#[test]
fn every_statement_asks_for_what_it_needs_and_no_more() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut root = root(&server)?;
    let mut wrong = Vec::new();
    for Case(sql, refusal, grants) in CASES {
        prepare(&mut root)?;
        let got = errno(Conn::new(server.options_as("u", "pw"))?.query_drop(sql))?;
        if got != *refusal {
            wrong.push(format!("{sql}: {got} with nothing, not {refusal}"));
        }
        if grants.is_empty() {
            continue;
        }
        prepare(&mut root)?;
        for grant in *grants {
            root.query_drop(format!("GRANT {grant} TO u"))?;
        }
        let got = errno(Conn::new(server.options_as("u", "pw"))?.query_drop(sql))?;
        // What is not built yet is refused after it has been asked for.
        if got != 0 && got != NOT_SUPPORTED {
            wrong.push(format!("{sql}: {got} with {grants:?}"));
        }
        // Each of several is needed.
        for left_out in (0..grants.len()).filter(|_| grants.len() > 1) {
            prepare(&mut root)?;
            for (_, grant) in grants.iter().enumerate().filter(|(at, _)| *at != left_out) {
                root.query_drop(format!("GRANT {grant} TO u"))?;
            }
            let got = errno(Conn::new(server.options_as("u", "pw"))?.query_drop(sql))?;
            if got == 0 {
                wrong.push(format!("{sql}: allowed without {}", grants[left_out]));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn nobody_sees_what_is_not_granted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut root = root(&server)?;
    prepare(&mut root)?;
    root.query_drop("CREATE DATABASE hidden; CREATE TABLE hidden.h (a INT)")?;
    root.query_drop("GRANT SELECT (a) ON d.t TO u")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    let mut list = |sql: &str| -> Result<Vec<String>> { Ok(user.query_map(sql, |value: String| value)?) };
    ensure!(list("SHOW DATABASES")? == ["d"]);
    ensure!(list("SHOW TABLES FROM d")? == ["t"]);
    ensure!(list("SELECT schema_name FROM information_schema.schemata")? == ["d"]);
    ensure!(list("SELECT table_name FROM information_schema.tables")? == ["t"]);
    ensure!(list("SELECT column_name FROM information_schema.columns")? == ["a"]);
    ensure!(list("SELECT privileges FROM information_schema.columns")? == ["select"]);
    ensure!(errno(user.query_drop("SELECT b FROM d.t"))? == 1143);
    ensure!(errno(user.query_drop("SELECT * FROM hidden.h"))? == 1142);
    let processes: Vec<String> = user.query_map("SELECT CURRENT_USER()", |value: String| value)?;
    ensure!(processes == ["u@%"]);
    let id: u64 = root.query_first("SELECT CONNECTION_ID()")?.unwrap_or_default();
    ensure!(errno(user.query_drop(format!("KILL QUERY {id}")))? == 1095);
    // Packets ask for the same as statements.
    let port = format!("--port={}", server.port());
    let client = ["--no-defaults", "--host=127.0.0.1", &port, "--user=u", "--password=pw"];
    for (command, refusal) in [(vec!["kill", &id.to_string()], "1095"), (vec!["flush-logs"], "RELOAD")] {
        let said = tool("mariadb-admin", client.iter().chain(&command))?;
        let said = said.success().map(|_| ()).expect_err("a refusal").to_string();
        ensure!(said.contains(refusal) || said.contains("not owner"), "{command:?}: {said}");
    }
    root.query_drop("SELECT 1")?;
    Ok(())
}

#[test]
fn grants_roles_and_passwords_outlive_a_crash_and_change_sessions_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    prepare(&mut admin)?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    // A grant and a revoke are seen by the session that is there, by a plan that is known too.
    let read = "SELECT a FROM d.t WHERE id = 1";
    admin.query_drop("GRANT SELECT ON d.* TO u")?;
    ensure!(errno(user.query_drop(read))? == 0);
    admin.query_drop("REVOKE SELECT ON d.* FROM u")?;
    ensure!(errno(user.query_drop(read))? == 1142);
    let statement = user.prep("SELECT ?")?;
    // Roles.
    admin.query_drop("GRANT SELECT ON d.* TO role; GRANT role TO u")?;
    ensure!(errno(user.query_drop(read))? == 1142, "a role that is not active gives nothing");
    let active = "SELECT CURRENT_ROLE()";
    ensure!(user.query_first(active)? == Some("NONE".to_owned()));
    user.query_drop("SET ROLE role")?;
    ensure!(errno(user.query_drop(read))? == 0);
    ensure!(user.query_first(active)? == Some("`role`@`%`".to_owned()));
    let number: Option<i64> = user.exec_first(&statement, (7,))?;
    ensure!(number == Some(7));
    admin.query_drop("REVOKE role FROM u")?;
    ensure!(errno(user.query_drop(read))? == 1142);
    admin.query_drop("GRANT role TO u; SET DEFAULT ROLE role TO u")?;
    admin.query_drop("ALTER USER other PASSWORD EXPIRE")?;
    admin.query_drop("GRANT INSERT (a), SELECT ON d.t TO other WITH GRANT OPTION")?;
    let shown = |conn: &mut Conn, name: &str| -> Result<Vec<String>> {
        Ok(conn.query_map(format!("SHOW GRANTS FOR {name}"), |value: String| value)?)
    };
    let before = (shown(&mut admin, "u")?, shown(&mut admin, "other")?);
    ensure!(before.0 == ["GRANT USAGE ON *.* TO `u`@`%`", "GRANT `role`@`%` TO `u`@`%`"]);
    ensure!(
        before.1
            == [
                "GRANT USAGE ON *.* TO `other`@`%`",
                "GRANT SELECT, INSERT (`a`) ON `d`.`t` TO `other`@`%` WITH GRANT OPTION"
            ]
    );
    let server = server.kill_and_restart()?;
    let mut admin = root(&server)?;
    ensure!((shown(&mut admin, "u")?, shown(&mut admin, "other")?) == before);
    ensure!(errno(Conn::new(server.options_as("u", "pw"))?.query_drop(read))? == 0, "a default role is active");
    // An expired password is changed first.
    ensure!(errno(Conn::new(server.options_as("other", "pw")).map(|_| ()))? == 1862, "the driver cannot change it");
    let port = format!("--port={}", server.port());
    let can_change = "--connect-expired-password";
    let client = ["--no-defaults", "--host=127.0.0.1", &port, "--user=other", "--password=pw", can_change, "--execute"];
    let run = |sql| tool("mariadb", client.iter().copied().chain([sql]));
    ensure!(run("BEGIN")?.success().is_err());
    run("ALTER USER USER() IDENTIFIED BY 'new'")?.success()?;
    let mut other = Conn::new(server.options_as("other", "new"))?;
    ensure!(errno(other.query_drop("SELECT a FROM d.t"))? == 0);
    // A locked account and a role are for nobody.
    admin.query_drop("ALTER USER other ACCOUNT LOCK")?;
    for (name, password) in [("other", "new"), ("role", "")] {
        let refused = Conn::new(server.options_as(name, password)).map(|_| ());
        let got = errno(refused)?;
        ensure!(got == 3118 || (name == "role" && got == 1045), "{name}: {got}");
    }
    // The binlog has what a replica needs.
    admin.query_drop("RENAME USER u TO v; DROP ROLE role")?;
    ensure!(shown(&mut admin, "v")? == ["GRANT USAGE ON *.* TO `v`@`%`"]);
    Ok(())
}

#[test]
fn tools_read_accounts_and_privileges_as_tables() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    prepare(&mut admin)?;
    for sql in [
        "ALTER USER u REQUIRE SUBJECT '/CN=u' PASSWORD EXPIRE INTERVAL 3 DAY ACCOUNT LOCK COMMENT 'of the \"shop\"'",
        "GRANT RELOAD, BACKUP_ADMIN ON *.* TO u WITH GRANT OPTION",
        "GRANT INSERT, CREATE TEMPORARY TABLES ON `d%`.* TO u",
        "GRANT SELECT (a, b), CREATE VIEW, DELETE ON d.t TO u WITH GRANT OPTION",
        "GRANT role TO u WITH ADMIN OPTION",
        "SET DEFAULT ROLE role TO u",
        "USE mysql",
    ] {
        admin.query_drop(sql)?;
    }
    let rows = |conn: &mut Conn, sql: &str| -> Result<Vec<String>> {
        let row = |row: mysql::Row| {
            let shown = |value: mysql::Value| match value {
                mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                other => other.as_sql(true),
            };
            row.unwrap().into_iter().map(shown).collect::<Vec<_>>().join("|")
        };
        Ok(conn.query_map(sql, row)?)
    };
    let mut wrong = Vec::new();
    for (sql, expected) in [
        (
            "SHOW TABLES",
            &["columns_priv", "db", "default_roles", "global_grants", "role_edges", "tables_priv", "user"][..],
        ),
        (
            "SELECT User, Select_priv, Reload_priv, Grant_priv, ssl_type, x509_subject, max_questions, plugin, \
             password_expired, password_lifetime, account_locked, password_last_changed > '2020-01-01', User_attributes \
             FROM user WHERE User = 'u'",
            &[
                "u|N|Y|Y|SPECIFIED|/CN=u|0|caching_sha2_password|N|3|Y|1|{\"metadata\": {\"comment\": \"of the \\\"shop\\\"\"}}",
            ],
        ),
        ("SELECT Select_priv, Super_priv FROM user WHERE User = 'root' AND Host = 'LOCALHOST'", &["Y|Y"]),
        ("SELECT COUNT(*) FROM user WHERE User = 'other' AND authentication_string LIKE '$A$%'", &["1"]),
        ("SELECT Host, Db, User, Insert_priv, Create_tmp_table_priv, Select_priv FROM db", &["%|d%|u|Y|Y|N"]),
        (
            "SELECT Db, User, Table_name, Table_priv, Column_priv FROM tables_priv",
            &["d|u|t|Delete,Grant,Create View|Select"],
        ),
        ("SELECT Db, Table_name, Column_name, Column_priv FROM columns_priv", &["d|t|a|Select", "d|t|b|Select"]),
        ("SELECT FROM_USER, TO_USER, WITH_ADMIN_OPTION FROM role_edges", &["role|u|Y"]),
        ("SELECT USER, DEFAULT_ROLE_HOST, DEFAULT_ROLE_USER FROM default_roles", &["u|%|role"]),
        ("SELECT PRIV, WITH_GRANT_OPTION FROM global_grants WHERE USER = 'u'", &["BACKUP_ADMIN|Y"]),
        (
            "SELECT * FROM information_schema.user_privileges WHERE grantee IN (\"'u'@'%'\", \"'other'@'%'\")",
            &["'other'@'%'|def|USAGE|NO", "'u'@'%'|def|RELOAD|YES", "'u'@'%'|def|BACKUP_ADMIN|YES"],
        ),
        (
            "SELECT * FROM information_schema.schema_privileges",
            &["'u'@'%'|def|d%|INSERT|NO", "'u'@'%'|def|d%|CREATE TEMPORARY TABLES|NO"],
        ),
        (
            "SELECT * FROM information_schema.table_privileges",
            &["'u'@'%'|def|d|t|DELETE|YES", "'u'@'%'|def|d|t|CREATE VIEW|YES"],
        ),
        (
            "SELECT * FROM information_schema.column_privileges",
            &["'u'@'%'|def|d|t|a|SELECT|YES", "'u'@'%'|def|d|t|b|SELECT|YES"],
        ),
        (
            "SELECT * FROM information_schema.user_attributes WHERE user = 'u'",
            &["u|%|{\"comment\": \"of the \\\"shop\\\"\"}"],
        ),
        ("SELECT DATA_TYPE FROM information_schema.columns WHERE TABLE_SCHEMA = 'mysql'", &[]),
    ] {
        let got = rows(&mut admin, sql)?;
        if got != expected {
            wrong.push(format!("{sql}: {got:?}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Without the right to read `mysql` an account sees itself, and its roles.
    admin.query_drop("ALTER USER u REQUIRE NONE ACCOUNT UNLOCK")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    let seen = "SELECT DISTINCT grantee FROM information_schema.user_privileges";
    ensure!(rows(&mut user, seen)? == ["'u'@'%'"]);
    let applicable =
        "SELECT user, grantee, role_name, is_grantable, is_default FROM information_schema.applicable_roles";
    ensure!(rows(&mut user, applicable)? == ["u|u|role|YES|YES"]);
    ensure!(rows(&mut user, "SELECT * FROM information_schema.enabled_roles")? == ["role|%|YES|NO"]);
    user.query_drop("SET ROLE NONE")?;
    ensure!(rows(&mut user, "SELECT * FROM information_schema.enabled_roles")?.is_empty());
    Ok(())
}

#[test]
fn mandatory_roles_are_everybodys_and_stay() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    prepare(&mut admin)?;
    admin.query_drop("GRANT SELECT ON d.* TO role; SET GLOBAL mandatory_roles = 'role, `missing`@`%`'")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    let read = "SELECT a FROM d.t WHERE id = 1";
    ensure!(errno(user.query_drop(read))? == 1142, "a role that is not active gives nothing");
    let shown: Vec<String> = user.query_map("SHOW GRANTS", |value: String| value)?;
    ensure!(shown == ["GRANT USAGE ON *.* TO `u`@`%`", "GRANT `role`@`%` TO `u`@`%`"], "{shown:?}");
    user.query_drop("SET ROLE role")?;
    ensure!(errno(user.query_drop(read))? == 0);
    ensure!(errno(user.query_drop("SET ROLE missing"))? == 3530);
    for sql in ["REVOKE role FROM u", "DROP ROLE role", "DROP USER role"] {
        ensure!(errno(admin.query_drop(sql))? == 3628, "{sql}");
    }
    ensure!(errno(admin.query_drop("SET GLOBAL mandatory_roles = 'a b'"))? == 1231);
    admin.query_drop("SET GLOBAL activate_all_roles_on_login = ON")?;
    ensure!(errno(Conn::new(server.options_as("u", "pw"))?.query_drop(read))? == 0);
    // The next statement of a session that is there sees the change.
    admin.query_drop("SET GLOBAL mandatory_roles = ''")?;
    ensure!(errno(user.query_drop(read))? == 1142);
    let server = server.stop()?.option("--mandatory-roles=role").option("--activate-all-roles-on-login").start()?;
    ensure!(errno(Conn::new(server.options_as("u", "pw"))?.query_drop(read))? == 0);
    Ok(())
}

/// `SYSTEM_USER` is what keeps an administrator of some accounts from becoming one of all.
#[test]
fn nobody_gets_system_user_by_a_role() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    prepare(&mut admin)?;
    admin.query_drop("CREATE ROLE inner_role; GRANT SYSTEM_USER ON *.* TO inner_role; GRANT inner_role TO role")?;
    admin.query_drop("GRANT CREATE USER, ROLE_ADMIN, SYSTEM_VARIABLES_ADMIN ON *.* TO u")?;
    admin.query_drop("GRANT SELECT ON d.* TO u WITH GRANT OPTION; GRANT inner_role TO other")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    for sql in [
        "GRANT root@localhost TO u",
        "GRANT inner_role TO u",
        "GRANT role TO u",
        "CREATE USER made IDENTIFIED BY 'pw' DEFAULT ROLE role",
        "SET GLOBAL mandatory_roles = 'role'",
        "SET GLOBAL mandatory_roles = 'root@localhost'",
        // An account that has it by a role is changed by nobody else either.
        "ALTER USER other IDENTIFIED BY 'x'",
        "SET PASSWORD FOR other = 'x'",
        "DROP USER other",
        "GRANT SELECT ON d.t TO root@localhost",
        "REVOKE inner_role FROM other",
        "REVOKE ALL, GRANT OPTION FROM root@localhost",
    ] {
        ensure!(errno(user.query_drop(sql))? == 1227, "{sql}");
    }
    Ok(())
}

/// Runs a statement as an account, and gives its error number.
fn tried(conn: &mut Conn, sql: &str) -> Result<u16> {
    errno(conn.query_drop(sql))
}

#[test]
fn nobody_gets_round_the_walls_between_accounts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    prepare(&mut admin)?;
    let mut wrong = Vec::new();
    let mut expect = |what: &str, got: u16, expected: u16| {
        if got != expected {
            wrong.push(format!("{what}: {got}, not {expected}"));
        }
    };
    // Whoever may pass on a database's privileges passes on those, and no wider pattern.
    admin
        .query_drop("GRANT SELECT ON `d_`.* TO u WITH GRANT OPTION; GRANT SELECT ON `e\\_`.* TO u WITH GRANT OPTION")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    for (pattern, refusal) in [
        ("d_", 0),
        ("dx", 0),
        ("d\\_", 0),
        ("e\\_", 0),
        ("d%", 1044),
        ("%", 1044),
        ("__", 1044),
        ("e_", 1044),
        ("ex", 1044),
    ] {
        let sql = format!("GRANT SELECT ON `{pattern}`.* TO other");
        expect(&sql, tried(&mut user, &sql)?, refusal);
    }
    // Accounts that have SYSTEM_USER are changed, and their sessions ended, by others that have it.
    admin.query_drop("GRANT CREATE USER, ROLE_ADMIN, CONNECTION_ADMIN, SELECT ON *.* TO u WITH GRANT OPTION")?;
    admin.query_drop("GRANT SYSTEM_USER ON *.* TO other")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    let mut other = Conn::new(server.options_as("other", "pw"))?;
    let id: u64 = other.query_first("SELECT CONNECTION_ID()")?.unwrap_or_default();
    for (sql, refusal) in [
        ("GRANT SELECT ON *.* TO other", 1227),
        ("REVOKE SELECT ON *.* FROM other", 1227),
        ("GRANT role TO other", 1227),
        ("REVOKE role FROM other", 1227),
        ("ALTER USER other ACCOUNT LOCK", 1227),
        ("DROP USER other", 1227),
        (&*format!("KILL QUERY {id}"), 1095),
        (&*format!("KILL {id}"), 1095),
        ("GRANT role TO u", 0),
    ] {
        expect(sql, tried(&mut user, sql)?, refusal);
    }
    other.query_drop("SELECT 1")?;
    // An account without a password is for localhost, whatever makes it one for elsewhere.
    for sql in ["CREATE USER bare ACCOUNT LOCK", "CREATE USER bare@localhost"] {
        admin.query_drop(sql)?;
    }
    expect("unlock", tried(&mut admin, "ALTER USER bare ACCOUNT UNLOCK")?, 1819);
    expect("unlock a role", tried(&mut admin, "ALTER USER role ACCOUNT UNLOCK")?, 1819);
    expect("rename", tried(&mut admin, "RENAME USER bare@localhost TO bare@'10.%'")?, 1819);
    expect("unlock", tried(&mut admin, "ALTER USER bare IDENTIFIED BY 'pw' ACCOUNT UNLOCK")?, 0);
    // Names are no longer than MySQL's, and hold no zero byte: it ends them where they are stored.
    let long = "u".repeat(33);
    expect("long user", tried(&mut admin, &format!("CREATE USER {long} IDENTIFIED BY 'pw'"))?, 1470);
    expect("long host", tried(&mut admin, &format!("CREATE USER a@'{}' IDENTIFIED BY 'pw'", "h".repeat(256)))?, 1470);
    expect("zero byte", tried(&mut admin, "CREATE USER 'a\\0b' IDENTIFIED BY 'pw'")?, 1235);
    expect("32 characters", tried(&mut admin, &format!("CREATE USER '{}' IDENTIFIED BY 'pw'", "ü".repeat(32)))?, 0);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_session_whose_password_has_expired_sets_its_own_and_does_nothing_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    prepare(&mut admin)?;
    admin.query_drop("GRANT ALL ON *.* TO u")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    let id: u64 = admin.query_first("SELECT CONNECTION_ID()")?.unwrap_or_default();
    admin.query_drop("ALTER USER u PASSWORD EXPIRE")?;
    for sql in [
        "SELECT 1",
        "SET GLOBAL max_connections = 151",
        "ALTER USER other IDENTIFIED BY 'stolen'",
        "SET PASSWORD FOR other = 'stolen'",
        "ALTER USER u, other IDENTIFIED BY 'stolen'",
        "ALTER USER u PASSWORD EXPIRE NEVER",
        "USE d",
        "FLUSH HOSTS",
        &format!("KILL {id}"),
    ] {
        let got = tried(&mut user, sql)?;
        ensure!(got == 1820, "{sql}: {got}");
    }
    // What packets ask for, statements apart.
    ensure!(user.select_db("d").is_err(), "COM_INIT_DB");
    ensure!(tried(&mut user, "SET NAMES utf8mb4")? == 0, "clients begin with it");
    // The own account may be named, too.
    ensure!(tried(&mut user, "ALTER USER 'u'@'%' IDENTIFIED BY 'new'")? == 0);
    admin.query_drop("ALTER USER u PASSWORD EXPIRE")?;
    ensure!(tried(&mut user, "SET PASSWORD = 'newer'")? == 0);
    ensure!(tried(&mut user, "USE d")? == 0);
    admin.query_drop("SELECT 1")?;
    Ok(())
}
