//! Every path gives the same rows, whether its filter is judged for each of them or not.

use super::{Client, Disk};

/// Bounds that columns hold, that they do not hold, and that compare as something else.
const VALUES: [&str; 12] =
    ["-1", "0", "1", "2", "4", "NULL", "'2'", "'2x'", "1.5", "2e0", "300", "18446744073709551615"];

/// Asks with an index and without one.
fn same(client: &mut Client, index: &str, condition: &str) {
    let ask = |hint: &str| format!("SELECT id, v FROM t {hint} WHERE {condition} ORDER BY id");
    let by_index = client.run(&ask(&format!("FORCE INDEX ({index})")));
    let by_rows = client.run(&ask("IGNORE INDEX (a, u, ab, PRIMARY)"));
    assert_eq!(by_index, by_rows, "{condition}");
    let covered = client.run(&format!("SELECT COUNT(*) FROM t FORCE INDEX ({index}) WHERE {condition}"));
    let counted = client.run(&format!("SELECT COUNT(*) FROM t IGNORE INDEX (a, u, ab, PRIMARY) WHERE {condition}"));
    assert_eq!(covered, counted, "{condition}");
}

#[test]
fn every_path_gives_the_same_rows() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id TINYINT PRIMARY KEY, a INT, b SMALLINT NOT NULL, u BIGINT UNSIGNED, v VARCHAR(10), \
         KEY a (a), KEY u (u), KEY ab (a, b))");
    client.ok(
        "INSERT INTO t VALUES (-1, NULL, 1, 0, 'x'), (0, -1, 0, NULL, 'y'), (1, 0, 2, 2, 'z'), (2, 1, 1, 300, NULL), \
         (3, 1, 2, 18446744073709551615, ''), (4, 2, 0, 4, 'x'), (5, 4, 4, 1, 'y'), (6, NULL, 300, 2, 'z')",
    );
    for (index, column) in [("PRIMARY", "id"), ("a", "a"), ("u", "u")] {
        for value in VALUES {
            for op in ["=", "<", "<=", ">", ">=", "<>", "<=>"] {
                same(&mut client, index, &format!("{column} {op} {value}"));
                same(&mut client, index, &format!("{value} {op} {column} AND v <> 'q'"));
            }
            for other in VALUES {
                same(&mut client, index, &format!("{column} BETWEEN {value} AND {other}"));
                same(&mut client, index, &format!("{column} > {value} AND {column} < {other}"));
                same(&mut client, index, &format!("{column} >= {value} AND {column} > {other}"));
                same(&mut client, index, &format!("{column} <= {value} AND {column} <= {other} AND {column} < 4"));
                same(&mut client, index, &format!("{column} = {value} AND {column} = {other}"));
                same(&mut client, index, &format!("{column} IN ({value}, {other})"));
                same(&mut client, index, &format!("{column} IN ({value}, 2) AND {column} IN (2, {other})"));
                same(&mut client, index, &format!("{column} = {value} OR {column} > {other}"));
            }
        }
    }
    for value in VALUES {
        for other in VALUES {
            for condition in ["b = {}", "b < {}", "b >= {}", "b BETWEEN 1 AND {}", "b IN (1, {})"] {
                let of_b = condition.replace("{}", other);
                same(&mut client, "ab", &format!("a = {value} AND {of_b}"));
                same(&mut client, "ab", &format!("a > {value} AND {of_b}"));
            }
        }
    }
}
