//! What accounts say of themselves beside privileges: limits, passwords that must not come back, locks by wrong
//! passwords, attributes. Over the life of a server, with the errors of MySQL 8.0.

use anyhow::{Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::Conn;
use mysql::prelude::Queryable;

fn launch(folder: &tempfile::TempDir) -> Launch {
    Launch::new(folder.path().join("data"))
}

fn root(server: &Server) -> Result<Conn> {
    Ok(Conn::new(server.socket_options())?)
}

fn errno<T>(result: mysql::Result<T>) -> Result<u16> {
    match result {
        Ok(_) => Ok(0),
        Err(mysql::Error::MySqlError(error)) => Ok(error.code),
        Err(error) => Err(error.into()),
    }
}

fn message<T>(result: mysql::Result<T>) -> String {
    result.err().map_or_else(String::new, |error| error.to_string())
}

/// Tries until the server has noticed that a connection is gone.
fn until_let_in(server: &Server, user: &str) -> Result<Conn> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        match Conn::new(server.options_as(user, "pw")) {
            Ok(conn) => return Ok(conn),
            Err(error) if std::time::Instant::now() > deadline => return Err(error.into()),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
}

#[test]
fn limits_of_an_account_hold_and_are_kept() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    admin.query_drop("CREATE DATABASE d; CREATE TABLE d.t (a INT)")?;
    admin.query_drop("CREATE USER u IDENTIFIED BY 'pw' WITH MAX_UPDATES_PER_HOUR 2; GRANT ALL ON d.* TO u")?;
    let mut user = Conn::new(server.options_as("u", "pw"))?;
    // Updates: rows, the schema, by prepared statements too.
    user.query_drop("INSERT INTO d.t VALUES (1)")?;
    user.exec_drop("UPDATE d.t SET a = ?", (2,))?;
    let refused = "User 'u' has exceeded the 'max_updates' resource (current value: 2)";
    ensure!(message(user.query_drop("/*! DELETE */ FROM d.t")).contains(refused));
    ensure!(errno(user.exec_drop("DELETE FROM d.t", ()))? == 1226);
    ensure!(errno(user.query_drop("CREATE TABLE d.u (a INT)"))? == 1226);
    ensure!(errno(user.query_drop("SET PASSWORD = 'pw'"))? == 1226);
    user.query_drop("SELECT a FROM d.t; SET @a = 1")?;
    ensure!(errno(user.query_drop("FLUSH USER_RESOURCES"))? == 1227);
    admin.query_drop("FLUSH USER_RESOURCES")?;
    user.query_drop("DELETE FROM d.t")?;
    // A limit that is set anew begins a new hour, for those who are connected too.
    admin.query_drop("ALTER USER u WITH MAX_UPDATES_PER_HOUR 0 MAX_QUERIES_PER_HOUR 3")?;
    user.query_drop("SELECT 1; DO 2; DO 3")?;
    let refused = "User 'u' has exceeded the 'max_questions' resource (current value: 3)";
    ensure!(message(user.query_drop("SELECT 1")).contains(refused));
    // Another session of the account has no hour of its own.
    ensure!(errno(Conn::new(server.options_as("u", "pw")))? == 1226, "the driver asks for variables");
    drop(user);
    admin.query_drop("ALTER USER u WITH MAX_QUERIES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 2")?;
    drop((Conn::new(server.options_as("u", "pw"))?, Conn::new(server.options_as("u", "pw"))?));
    let refused = "'max_connections_per_hour' resource (current value: 2)";
    ensure!(message(Conn::new(server.options_as("u", "pw"))).contains(refused));
    // Connections at a time.
    admin.query_drop("ALTER USER u WITH MAX_CONNECTIONS_PER_HOUR 0 MAX_USER_CONNECTIONS 1")?;
    let mut user = until_let_in(&server, "u")?;
    ensure!(user.query_first::<u64, _>("SELECT @@max_user_connections")? == Some(1));
    let refused = "'max_user_connections' resource (current value: 1)";
    ensure!(message(Conn::new(server.options_as("u", "pw"))).contains(refused));
    // A change of user to the same account gives its place back first.
    user.change_user(mysql::ChangeUserOpts::default())?;
    user.reset()?;
    ensure!(user.query_first::<u64, _>("SELECT @@max_user_connections")? == Some(1));
    drop(user);
    drop(until_let_in(&server, "u")?);
    admin.query_drop("CREATE USER v IDENTIFIED BY 'pw'; SET GLOBAL max_user_connections = 1")?;
    let first = Conn::new(server.options_as("v", "pw"))?;
    ensure!(message(Conn::new(server.options_as("v", "pw"))).contains("User v already has more than"));
    let _others = (root(&server)?, root(&server)?);
    drop(first);
    until_let_in(&server, "v")?;
    // They outlive a crash, the counts do not.
    let server = server.kill_and_restart()?;
    let mut admin = root(&server)?;
    let shown: Option<String> = admin.query_first("SHOW CREATE USER u")?;
    ensure!(shown.is_some_and(|shown| shown.contains(" WITH MAX_USER_CONNECTIONS 1 PASSWORD EXPIRE DEFAULT")));
    // mysql.user has what an account says, and NULL for what it leaves to variables.
    admin.query_drop("CREATE USER w ACCOUNT LOCK PASSWORD HISTORY 2 PASSWORD REQUIRE CURRENT OPTIONAL")?;
    admin.query_drop("ALTER USER w FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED COMMENT 'x'")?;
    type Stored = (u32, Option<u16>, Option<u16>, Option<String>, Option<String>);
    let stored: Option<Stored> = admin.query_first(
        "SELECT max_user_connections, Password_reuse_history, Password_reuse_time, Password_require_current, \
         User_attributes FROM mysql.user WHERE User = 'w'",
    )?;
    let locking = r#""Password_locking": {"failed_login_attempts": 3, "password_lock_time_days": -1}"#;
    let attributes = Some(format!(r#"{{"metadata": {{"comment": "x"}}, {locking}}}"#));
    ensure!(stored == Some((0, Some(2), None, Some("N".to_owned()), attributes)), "{stored:?}");
    Ok(())
}

#[test]
fn a_new_password_is_new_and_its_owner_knows_the_old_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    admin.query_drop("CREATE USER u IDENTIFIED BY 'a' PASSWORD HISTORY 2 PASSWORD REQUIRE CURRENT")?;
    let mut user = Conn::new(server.options_as("u", "a"))?;
    for (sql, expected) in [
        ("SET PASSWORD = 'b'", 3892),
        ("ALTER USER USER() IDENTIFIED BY 'b'", 3892),
        ("SET PASSWORD = 'b' REPLACE 'x'", 3891),
        ("ALTER USER USER() IDENTIFIED BY 'b' REPLACE 'b'", 3891),
        ("ALTER USER USER() IDENTIFIED BY 'a' REPLACE 'a'", 3638),
        ("SET PASSWORD = 'b' REPLACE 'a'", 0),
        ("SET PASSWORD = 'a' REPLACE 'b'", 3638),
        ("ALTER USER USER() IDENTIFIED WITH mysql_native_password BY 'c' REPLACE 'b'", 0),
        ("SET PASSWORD = 'b' REPLACE 'c'", 3638),
        ("SET PASSWORD = 'c' REPLACE 'c'", 3638),
        ("SET PASSWORD = 'a' REPLACE 'c'", 0),
        ("SET PASSWORD = 'd' REPLACE 'a' RETAIN CURRENT PASSWORD", 1235),
        ("ALTER USER USER() DISCARD OLD PASSWORD", 1235),
    ] {
        let got = errno(user.query_drop(sql))?;
        ensure!(got == expected, "{sql}: {got}");
    }
    // Whoever may create users need not know it, and cannot use it; history holds for all.
    ensure!(errno(admin.query_drop("ALTER USER u IDENTIFIED BY 'd' REPLACE 'a'"))? == 3893);
    let refused = message(admin.query_drop("SET PASSWORD FOR u = 'a'"));
    ensure!(refused.contains("Cannot use these credentials for 'u@%' because they contradict"), "{refused}");
    admin.query_drop("SET PASSWORD FOR u = 'd'")?;
    admin.query_drop("CREATE USER v IDENTIFIED BY 'a'; GRANT CREATE USER ON *.* TO v")?;
    let mut v = Conn::new(server.options_as("v", "a"))?;
    admin.query_drop("SET GLOBAL password_require_current = ON, GLOBAL password_reuse_interval = 1")?;
    v.query_drop("SET PASSWORD = 'b'")?;
    ensure!(errno(v.query_drop("SET PASSWORD = 'b'"))? == 3638);
    admin.query_drop("ALTER USER v PASSWORD REUSE INTERVAL 0 DAY")?;
    v.query_drop("SET PASSWORD = 'b'")?;
    admin.query_drop("REVOKE CREATE USER ON *.* FROM v")?;
    ensure!(errno(v.query_drop("SET PASSWORD = 'c'"))? == 3892);
    admin.query_drop("ALTER USER v PASSWORD REQUIRE CURRENT OPTIONAL")?;
    v.query_drop("SET PASSWORD = 'c'")?;
    // What must not come back is remembered over a crash, as hashes.
    let server = server.kill_and_restart()?;
    let mut admin = root(&server)?;
    ensure!(errno(admin.query_drop("SET PASSWORD FOR u = 'a'"))? == 3638);
    let shown: Option<String> = admin.query_first("SHOW CREATE USER u")?;
    let end = " PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY 2 PASSWORD REUSE INTERVAL DEFAULT \
               PASSWORD REQUIRE CURRENT";
    ensure!(shown.as_ref().is_some_and(|shown| shown.ends_with(end)), "{shown:?}");
    Ok(())
}

#[test]
fn wrong_passwords_lock_an_account_that_asks_for_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--connection-control-failed-connections-threshold=0").start()?;
    let mut admin = root(&server)?;
    admin.query_drop("CREATE USER u IDENTIFIED BY 'pw' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3")?;
    let try_with = |password: &str| errno(Conn::new(server.options_as("u", password)));
    let locks = || -> Result<bool> { Ok([try_with("x")?, try_with("x")?, try_with("pw")?] == [1045, 3955, 3955]) };
    ensure!([try_with("x")?, try_with("pw")?] == [1045, 0], "a right one forgets the wrong one");
    ensure!(locks()?);
    let refused = message(Conn::new(server.options_as("u", "")));
    ensure!(
        refused.contains("Account is blocked for 3 day(s) (3 day(s) remaining) due to 2 consecutive failed logins."),
        "{refused}"
    );
    // A new password does not unlock it; what says so does.
    admin.query_drop("ALTER USER u IDENTIFIED BY 'pw'")?;
    ensure!(try_with("pw")? == 3955);
    for unlock in [
        "ALTER USER u ACCOUNT UNLOCK",
        "FLUSH PRIVILEGES",
        "ALTER USER u FAILED_LOGIN_ATTEMPTS 2",
        "ALTER USER u PASSWORD_LOCK_TIME UNBOUNDED",
    ] {
        admin.query_drop(unlock)?;
        ensure!(try_with("pw")? == 0, "{unlock}");
        ensure!(locks()?, "{unlock}");
    }
    ensure!(message(Conn::new(server.options_as("u", "pw"))).contains("unlimited day(s) (unlimited day(s) remaining)"));
    // A change of user counts as a login; unknown users are not locked.
    admin.query_drop("ALTER USER u ACCOUNT UNLOCK")?;
    for expected in [1045, 3955] {
        let mut conn = root(&server)?;
        let options = mysql::ChangeUserOpts::new().with_user(Some("u".into())).with_pass(Some("x".into()));
        ensure!(errno(conn.change_user(options))? == expected);
    }
    for _ in 0..3 {
        ensure!(errno(Conn::new(server.options_as("nobody", "x")))? == 1045);
    }
    let shown: Option<String> = admin.query_first("SHOW CREATE USER u")?;
    ensure!(shown.is_some_and(|shown| shown.ends_with(" FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME UNBOUNDED")));
    for wrong in ["FAILED_LOGIN_ATTEMPTS 32768", "PASSWORD_LOCK_TIME 32768"] {
        ensure!(errno(admin.query_drop(format!("ALTER USER u {wrong}")))? == 1292, "{wrong}");
    }
    Ok(())
}

#[test]
fn attributes_are_merged_and_kept() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut admin = root(&server)?;
    admin.query_drop("CREATE USER u ACCOUNT LOCK COMMENT 'of the \"shop\"'")?;
    admin.query_drop(r#"ALTER USER u ATTRIBUTE '{"team": "a", "n": [1, 2]}'"#)?;
    ensure!(errno(admin.query_drop("ALTER USER u ATTRIBUTE '[1]'"))? == 3982);
    let server = server.kill_and_restart()?;
    let mut admin = root(&server)?;
    let shown = |admin: &mut Conn| -> Result<Option<String>> { Ok(admin.query_first("SHOW CREATE USER u")?) };
    let before = shown(&mut admin)?;
    let end = r#" ATTRIBUTE '{"n": [1, 2], "team": "a", "comment": "of the \\"shop\\""}'"#;
    ensure!(before.as_ref().is_some_and(|shown| shown.ends_with(end)), "{before:?}");
    // The statement that is shown makes the account.
    admin.query_drop("DROP USER u")?;
    admin.query_drop(before.as_deref().unwrap_or_default())?;
    ensure!(shown(&mut admin)? == before);
    Ok(())
}

#[test]
fn a_client_that_cannot_change_an_expired_password_is_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    root(&server)?.query_drop("CREATE USER u IDENTIFIED BY 'pw' PASSWORD EXPIRE")?;
    ensure!(errno(Conn::new(server.options_as("u", "pw")))? == 1862);
    ensure!(errno(Conn::new(server.options_as("u", "x")))? == 1045, "only the password's owner sees that it expired");
    let mut conn = root(&server)?;
    let options = mysql::ChangeUserOpts::new().with_user(Some("u".into())).with_pass(Some("pw".into()));
    ensure!(errno(conn.change_user(options))? == 1862);
    let server = server.stop()?.option("--disconnect-on-expired-password=OFF").start()?;
    ensure!(errno(Conn::new(server.options_as("u", "pw")))? == 1820, "the driver asks for variables");
    Ok(())
}
