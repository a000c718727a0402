//! CREATE TABLE ... SELECT, where the server stops between the two transactions that the binlog gets of it.

use super::{Client, Disk};
use crate::database::query_context;
use crate::ddl::log_query;
use crate::session::StandIn;

fn client(database: &std::sync::Arc<super::Database>) -> Client {
    let mut client = Client::new(database);
    client.run("CREATE DATABASE IF NOT EXISTS d");
    client.ok("USE d");
    client
}

fn transactions(client: &Client) -> u64 {
    client.database.store().executed().1.count()
}

#[test]
fn a_table_that_was_announced_without_its_rows_is_taken_back_at_the_next_start() {
    let disk = Disk::new();
    let database = disk.open();
    let mut before = client(&database);
    before.ok("CREATE TABLE `o``ld` SELECT 1 AS a");
    assert_eq!(transactions(&before), 3, "of the database, of the table, of its row");
    let def = database.catalog.current().table("d", "o`ld").expect("it is there").def.clone();
    let lost =
        crate::catalog::definition::TableDef { id: database.catalog.take_table_id(), name: "ne`w".to_owned(), ..def };
    let change = database.catalog.change(&before.session).expect("nobody else changes anything");
    let mut announcing = before.session.begin(&database.store);
    change.announce_table(&mut announcing, &lost).expect("a note");
    let context = query_context(&before.session, &StandIn);
    log_query(&mut announcing, &before.session, &context, "d", "CREATE TABLE `ne``w` (a INT)", 0);
    before.session.commit(&database.store, announcing).expect("it is durable");
    assert_eq!(transactions(&before), 4);
    drop(change);
    drop((before, database));
    for _ in 0..2 {
        let database = disk.open();
        let mut after = client(&database);
        assert_eq!(transactions(&after), 5, "DROP TABLE, once");
        assert_eq!(after.run("SHOW TABLES"), ["Tables_in_d", "o`ld"]);
        assert_eq!(after.run("SELECT * FROM `o``ld`"), ["a", "1"]);
    }
    let database = disk.open();
    let mut after = client(&database);
    after.ok("CREATE TABLE `ne``w` SELECT 2 AS a UNION ALL SELECT 3");
    assert_eq!(after.run("SELECT * FROM `ne``w`"), ["a", "2", "3"]);
    drop((after, database));
    let database = disk.open();
    assert_eq!(client(&database).run("SELECT * FROM `ne``w`"), ["a", "2", "3"]);
}

#[test]
fn a_table_that_could_not_be_taken_back_is_taken_back_once_there_is_room() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = client(&database);
    client.ok("CREATE TABLE old (a INT)");
    let def = database.catalog.current().table("d", "old").expect("it is there").def.clone();
    let lost = |name: &str| crate::catalog::definition::TableDef {
        id: database.catalog.take_table_id(),
        name: name.to_owned(),
        ..def.clone()
    };
    let (first, second) = (lost("first"), lost("second"));
    let fill =
        || (0..).find(|_| database.system_put(&client.session, &[(b"k".to_vec(), Some(vec![1]))], None).is_err());
    {
        let change = database.catalog.change(&client.session).expect("nobody else changes anything");
        for def in [&first, &second] {
            let mut announcing = client.session.begin(&database.store);
            change.announce_table(&mut announcing, def).expect("a note");
            let context = query_context(&client.session, &StandIn);
            log_query(&mut announcing, &client.session, &context, "d", "CREATE TABLE ...", 0);
            client.session.commit(&database.store, announcing).expect("it is durable");
        }
        disk.fill();
        fill();
        change.withdraw_table(&first);
        change.withdraw_table(&second);
    }
    let before = transactions(&client);
    assert!(client.run("CREATE TABLE other (a INT)")[0].starts_with("ERROR 1021"), "the disk is full");
    assert_eq!(transactions(&client), before);
    disk.give_room();
    client.ok("CREATE TABLE first (a INT)");
    assert_eq!(transactions(&client), before + 3, "DROP TABLE, twice, and then CREATE TABLE");
    drop((client, database));
    let database = disk.open();
    assert_eq!(self::client(&database).run("SHOW TABLES"), ["Tables_in_d", "first", "old"]);
}

#[test]
fn a_session_that_is_not_logged_creates_table_and_rows_in_one_transaction() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = client(&database);
    client.session.log_to_binlog = false;
    client.ok("CREATE TABLE t SELECT 5 AS a");
    assert_eq!(transactions(&client), 1);
    assert_eq!(client.run("SELECT * FROM t"), ["a", "5"]);
}
