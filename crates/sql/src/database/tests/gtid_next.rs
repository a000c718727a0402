//! Transactions under a GTID that their session has chosen.

use std::time::Duration;

use super::*;

const SOURCE: &str = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
const OWN: &str = "11111111-2222-3333-4444-555555555555";

fn with_table() -> Client {
    let mut client = Client::new(&Disk::new().open());
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY)"] {
        client.ok(sql);
    }
    client
}

impl Client {
    /// `SET gtid_next`, of a number of [`SOURCE`]; "" or what is wrong.
    fn choose(&mut self, gno: u64) -> String {
        self.choose_text(&format!("{SOURCE}:{gno}"))
    }

    fn choose_text(&mut self, text: &str) -> String {
        let chosen = self.session.choose_gtid(&self.database.store, 7, text);
        chosen.map_or_else(|error| error.errno.to_string(), |()| String::new())
    }

    /// The GTIDs executed from [`SOURCE`] and from this server; the setup has three.
    fn executed(&self) -> String {
        let (_, set) = self.database.store.executed();
        set.to_string().replace(",\n", " ").replace(SOURCE, "source").replace(OWN, "own")
    }

    fn errno(&mut self, sql: &str) -> String {
        let lines = self.run(sql);
        let errno = lines[0].strip_prefix("ERROR ").and_then(|line| line.split_once(' ')).map(|(errno, _)| errno);
        errno.unwrap_or("").to_owned()
    }
}

#[test]
fn each_kind_of_transaction_takes_the_gtid_that_was_chosen_for_it() {
    let mut client = with_table();
    let transactions: [&[&str]; 8] = [
        &["INSERT INTO t VALUES (1)"],
        &["BEGIN", "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)", "COMMIT"],
        &["UPDATE t SET id = 5 WHERE id = 99"],
        &["COMMIT"],
        &["BEGIN", "SELECT * FROM t", "COMMIT"],
        &["CREATE TABLE u (id INT)"],
        &["CREATE TABLE IF NOT EXISTS u (id INT)"],
        &["SET autocommit = 0", "INSERT INTO t VALUES (4)", "SET autocommit = 1"],
    ];
    for (gno, transaction) in (1..).zip(transactions) {
        let before = client.executed();
        assert_eq!(client.choose(gno), "", "{transaction:?}");
        assert_eq!(client.session.gtid_owned(), format!("{SOURCE}:{gno}"));
        for sql in transaction {
            assert_eq!(client.executed(), before, "{sql} of {transaction:?} comes before the commit");
            client.ok(sql);
        }
        let last = if gno == 1 { "1".to_owned() } else { format!("1-{gno}") };
        assert_eq!(client.executed(), format!("own:1-2 source:{last}"), "{transaction:?}");
        assert_eq!(client.session.gtid_owned(), "");
        assert_eq!(client.session.gtid_next(), format!("{SOURCE}:{gno}"));
        assert_eq!(client.errno("INSERT INTO t VALUES (77)"), "1837");
    }
    assert_eq!(client.choose_text("automatic"), "");
    client.ok("INSERT INTO t VALUES (9)");
    assert_eq!(client.executed(), "own:1-3 source:1-8");
}

#[test]
fn statements_that_change_nothing_run_before_and_after() {
    let mut client = with_table();
    assert_eq!(client.choose(1), "");
    for sql in ["SELECT 1", "SELECT * FROM t", "SHOW TABLES", "DO 1", "SET @a = 1", "USE d", "SELEC 1"] {
        client.run(sql);
        assert_eq!(client.session.gtid_owned(), format!("{SOURCE}:1"), "{sql}");
    }
    client.ok("BEGIN");
    client.ok("ROLLBACK");
    assert_eq!(client.session.gtid_owned(), "");
    for sql in ["SELECT * FROM t", "SHOW TABLES", "BEGIN", "COMMIT"] {
        client.ok(sql);
    }
    assert_eq!(client.executed(), "own:1-2");
}

#[test]
fn a_rollback_frees_the_gtid_and_so_does_a_failure() {
    let mut client = with_table();
    client.ok("INSERT INTO t VALUES (1)");
    for sql in ["ROLLBACK", "INSERT INTO t VALUES (1)", "INSERT INTO missing VALUES (1)", "CREATE TABLE t (id INT)"] {
        assert_eq!(client.choose(1), "", "{sql}");
        client.run(sql);
        assert_eq!(client.session.gtid_owned(), "", "{sql}");
        assert_eq!(client.errno("INSERT INTO t VALUES (2)"), "1837", "{sql}");
    }
    assert_eq!(client.choose(1), "");
    client.ok("BEGIN");
    assert_eq!(client.errno("INSERT INTO t VALUES (1)"), "1062");
    assert_eq!(client.session.gtid_owned(), format!("{SOURCE}:1"), "the transaction goes on");
    client.ok("INSERT INTO t VALUES (2)");
    client.ok("COMMIT");
    assert_eq!(client.executed(), "own:1-3 source:1");
    assert_eq!(client.choose(2), "");
    client.session.end();
    assert!(client.database.store.owned_gtids().is_empty(), "the connection has ended");
}

#[test]
fn a_transaction_that_was_executed_before_is_skipped() {
    let mut client = with_table();
    assert_eq!(client.choose(1), "");
    client.ok("INSERT INTO t VALUES (1)");
    assert_eq!(client.choose(1), "");
    assert_eq!(client.session.gtid_owned(), "");
    for sql in ["INSERT INTO t VALUES (2)", "DELETE FROM t", "DROP TABLE t", "XA START 'x'"] {
        assert_eq!(client.run(sql), ["ok 0"], "{sql}");
    }
    for sql in ["BEGIN", "INSERT INTO t VALUES (3)", "COMMIT"] {
        client.ok(sql);
    }
    assert_eq!(client.run("SELECT * FROM t"), ["id", "1"]);
    assert_eq!(client.executed(), "own:1-2 source:1");
}

#[test]
fn what_is_not_allowed_is_refused_with_mysqls_errors() {
    let mut client = with_table();
    for (text, errno) in [("", "1231"), ("x", "1231"), ("ANONYMOUS", "1782"), (&format!("{SOURCE}:0"), "1231")] {
        assert_eq!(client.choose_text(text), errno, "{text}");
    }
    assert_eq!(client.choose(1), "");
    assert_eq!(client.choose(2), "1790");
    assert_eq!(client.choose_text("AUTOMATIC"), "1790");
    client.ok("BEGIN");
    assert_eq!(client.choose(2), "1766");
    client.ok("INSERT INTO t VALUES (1)");
    for sql in ["CREATE TABLE u (id INT)", "LOCK TABLES t READ", "DROP TABLE t"] {
        assert_eq!(client.errno(sql), "1778", "{sql}");
    }
    assert!(client.session.in_transaction());
    client.ok("COMMIT");
    assert_eq!(client.executed(), "own:1-2 source:1");
    assert_eq!(client.choose(2), "");
    assert_eq!(client.errno("XA START 'x'"), "1235");
    assert_eq!(client.choose(2), "");
    client.session.log_to_binlog = false;
    assert_eq!(client.errno("INSERT INTO t VALUES (2)"), "1235");
    assert_eq!(client.choose(2), "");
    assert_eq!(client.errno("COMMIT"), "1235", "it would be lost");
    assert_eq!(client.executed(), "own:1-2 source:1");
    assert!(client.database.store.owned_gtids().is_empty());
}

#[test]
fn who_wants_an_owned_gtid_waits_until_its_owner_ends() {
    let mut first = with_table();
    assert_eq!(first.choose(1), "");
    let mut second = Client::new(&first.database);
    second.session.table_lock_timeout = Duration::from_millis(1);
    assert_eq!(second.choose(1), "1205");
    second.session.table_lock_timeout = Duration::from_secs(60);
    second.session.interrupt().kill();
    assert_eq!(second.choose(1), "1317");
    second.session.interrupt().reset();
    let waiting = std::thread::spawn(move || {
        let chosen = second.choose(1);
        (second.session.gtid_owned(), chosen)
    });
    first.ok("INSERT INTO t VALUES (1)");
    let (owned, chosen) = waiting.join().expect("no panic");
    assert_eq!((owned.as_str(), chosen.as_str()), ("", ""), "it is executed by now");
}
