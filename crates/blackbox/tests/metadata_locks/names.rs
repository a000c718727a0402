//! GET_LOCK and its relatives.

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use super::aside::{Aside, errno, until_waiting};

const WAITS: &str = "User lock";

fn server() -> Result<(tempfile::TempDir, Server)> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    server.connect()?.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")?;
    server.connect()?.query_drop("INSERT INTO d.t VALUES (1, 1)")?;
    Ok((folder, server))
}

/// The numbers of one row; `None` for NULL.
fn row(conn: &mut Conn, sql: &str) -> Result<Vec<Option<i64>>> {
    let row: mysql::Row = conn.query_first(sql)?.with_context(|| sql.to_owned())?;
    let number = |value: Value| match value {
        Value::NULL => Ok(None),
        value => mysql::from_value_opt::<i64>(value).map(Some),
    };
    Ok(row.unwrap().into_iter().map(number).collect::<Result<_, _>>()?)
}

fn lock(conn: &mut Conn, name: &str) -> Result<Option<i64>> {
    Ok(row(conn, &format!("SELECT GET_LOCK('{name}', 0)"))?[0])
}

#[test]
fn a_session_holds_many_names_each_as_often_as_it_took_it() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut first, mut second) = (server.connect()?, server.connect()?);
    let id = Some(i64::from(first.connection_id()));
    ensure!(row(&mut first, "SELECT GET_LOCK('x', 1), GET_LOCK('X', 1), GET_LOCK('Ä', 0)")? == [Some(1); 3]);
    let seen = "SELECT IS_USED_LOCK('x'), IS_FREE_LOCK('ä'), IS_FREE_LOCK('y'), IS_USED_LOCK('y')";
    ensure!(row(&mut first, seen)? == [id, Some(0), Some(1), None]);
    ensure!(row(&mut second, seen)? == [id, Some(0), Some(1), None]);
    ensure!(
        row(&mut second, "SELECT GET_LOCK('x', 0), RELEASE_LOCK('x'), RELEASE_LOCK('y')")? == [Some(0), Some(0), None]
    );
    ensure!(row(&mut first, "SELECT RELEASE_LOCK('X')")? == [Some(1)]);
    ensure!(lock(&mut second, "x")? == Some(0), "it was taken twice");
    ensure!(row(&mut first, "SELECT RELEASE_LOCK('x'), RELEASE_LOCK('x')")? == [Some(1), None]);
    ensure!(lock(&mut second, "x")? == Some(1));
    ensure!(
        row(&mut first, "SELECT GET_LOCK('ä', 0), RELEASE_ALL_LOCKS(), RELEASE_ALL_LOCKS()")?
            == [Some(1), Some(2), Some(0)]
    );
    ensure!(row(&mut second, "SELECT IS_FREE_LOCK('ä')")? == [Some(1)]);
    // What cannot be a name.
    let long = "a".repeat(64);
    ensure!(lock(&mut first, &long)? == Some(1));
    for wrong in ["GET_LOCK('', 0)", "GET_LOCK(NULL, 0)", "IS_FREE_LOCK(NULL)", "RELEASE_LOCK('')", "IS_USED_LOCK('')"]
    {
        ensure!(errno(first.query_drop(format!("SELECT {wrong}")))? == 3057, "{wrong}");
    }
    ensure!(errno(first.query_drop(format!("SELECT GET_LOCK('{long}a', 0)")))? == 3057);
    Ok(())
}

#[test]
fn names_outlive_transactions_and_not_the_session() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut first, mut second) = (server.connect()?, server.connect()?);
    for ends in ["COMMIT", "ROLLBACK", "CREATE TABLE d.u (id INT)", "LOCK TABLES d.t READ", "UNLOCK TABLES"] {
        first.query_drop("BEGIN; UPDATE d.t SET v = v + GET_LOCK('x', 0)")?;
        first.query_drop(ends)?;
        ensure!(lock(&mut second, "x")? == Some(0), "{ends}");
    }
    first.reset()?;
    ensure!(row(&mut second, "SELECT GET_LOCK('x', 0), RELEASE_LOCK('x')")? == [Some(1), Some(1)]);
    ensure!(lock(&mut first, "x")? == Some(1));
    first.change_user(mysql::ChangeUserOpts::default())?;
    ensure!(row(&mut second, "SELECT GET_LOCK('x', 0), RELEASE_LOCK('x')")? == [Some(1), Some(1)]);
    ensure!(lock(&mut first, "x")? == Some(1));
    let waiting = Aside::waits(&server, &mut second, "SELECT GET_LOCK('x', -1)", WAITS)?;
    drop(first);
    let (_third, rows) = waiting.end();
    ensure!(mysql::from_row::<i64>(rows?.remove(0)) == 1);
    Ok(())
}

/// Many wait at once, more than there are workers, and others go on.
#[test]
fn who_waits_for_a_name_can_be_killed_times_out_and_stops_nobody() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut first, mut watcher) = (server.connect()?, server.connect()?);
    ensure!(lock(&mut first, "x")? == Some(1));
    let waiting = (0..24).map(|_| Aside::run(&server, "SELECT GET_LOCK('x', -1), RELEASE_LOCK('x')"));
    let waiting = waiting.collect::<Result<Vec<_>>>()?;
    for one in &waiting {
        until_waiting(&mut watcher, one.id, WAITS)?;
    }
    watcher.query_drop("INSERT INTO d.t VALUES (2, 2)")?;
    let killed = Aside::waits(&server, &mut watcher, "SELECT GET_LOCK('x', 100)", WAITS)?;
    watcher.query_drop(format!("KILL QUERY {}", killed.id))?;
    let (mut conn, result) = killed.end();
    ensure!(errno(result)? == 1317);
    ensure!(lock(&mut conn, "x")? == Some(0), "it can be taken, and waited for, again");
    ensure!(row(&mut conn, "SELECT GET_LOCK('x', 1)")? == [Some(0)]);
    conn.query_drop("SET max_execution_time = 50")?;
    ensure!(errno(conn.query_drop("SELECT GET_LOCK('x', 100)"))? == 3024);
    ensure!(row(&mut first, "SELECT RELEASE_LOCK('x')")? == [Some(1)]);
    for one in waiting {
        ensure!(mysql::from_row::<(i64, i64)>(one.end().1?.remove(0)) == (1, 1));
    }
    Ok(())
}

#[test]
fn a_circle_of_waits_is_found_across_names_and_rows() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut first, mut second, mut watcher) = (server.connect()?, server.connect()?, server.connect()?);
    ensure!(lock(&mut first, "x")? == Some(1) && lock(&mut second, "y")? == Some(1));
    let waiting = Aside::run_in(first, "SELECT GET_LOCK('y', 100)");
    until_waiting(&mut watcher, waiting.id, WAITS)?;
    ensure!(errno(second.query_drop("SELECT GET_LOCK('x', 100)"))? == 3058);
    ensure!(row(&mut second, "SELECT RELEASE_LOCK('y')")? == [Some(1)], "nothing else was lost");
    let (mut first, result) = waiting.end();
    ensure!(mysql::from_row::<i64>(result?.remove(0)) == 1);
    // The second waits for a row of the first, which then wants a name of the second.
    ensure!(lock(&mut second, "z")? == Some(1));
    first.query_drop("BEGIN; UPDATE d.t SET v = 2 WHERE id = 1")?;
    let waiting = Aside::run_in(second, "UPDATE d.t SET v = 3 WHERE id = 1");
    until_waiting(&mut watcher, waiting.id, "waiting for lock")?;
    ensure!(errno(first.query_drop("SELECT GET_LOCK('z', 100)"))? == 3058);
    first.query_drop("COMMIT")?;
    ensure!(waiting.errno()? == 0);
    ensure!(row(&mut first, "SELECT v FROM d.t WHERE id = 1")? == [Some(3)]);
    Ok(())
}
