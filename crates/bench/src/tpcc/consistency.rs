//! The consistency conditions of TPC-C: what holds between its tables after any number of transactions.

use anyhow::{Result, ensure};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// What each says, by its number in clause 3.3.2, and a query that finds what breaks it.
const CONDITIONS: [(u32, &str, &str); 10] = [
    (
        1,
        "a warehouse has taken in what its districts have",
        "SELECT w_id, w_ytd, SUM(d_ytd) FROM warehouse JOIN district ON d_w_id = w_id GROUP BY w_id, w_ytd \
         HAVING w_ytd <> SUM(d_ytd)",
    ),
    (
        2,
        "a district's next order follows its last one",
        "SELECT d_w_id, d_id, d_next_o_id, o, n FROM district \
         JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o FROM orders GROUP BY o_w_id, o_d_id) AS os \
         ON o_w_id = d_w_id AND o_d_id = d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS n FROM new_order GROUP BY no_w_id, no_d_id) AS ns \
         ON no_w_id = d_w_id AND no_d_id = d_id WHERE d_next_o_id - 1 <> o OR n <> o",
    ),
    (
        3,
        "new orders are without gaps",
        "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    (
        4,
        "a district has as many lines as its orders say",
        "SELECT o_w_id, o_d_id, says, has FROM \
         (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS says FROM orders GROUP BY o_w_id, o_d_id) AS os \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS has FROM order_line GROUP BY ol_w_id, ol_d_id) AS ls \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE has IS NULL OR says <> has",
    ),
    (
        5,
        "an order has no carrier if and only if it is new",
        "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders \
         LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        6,
        "an order has as many lines as it says",
        "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, has FROM orders LEFT JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS has FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS ls \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE has IS NULL OR has <> o_ol_cnt",
    ),
    (
        7,
        "a line is delivered if and only if its order has a carrier",
        "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number FROM order_line \
         JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        8,
        "a warehouse has taken in what the history says",
        "SELECT w_id, w_ytd, paid FROM warehouse LEFT JOIN \
         (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) AS hs ON h_w_id = w_id \
         WHERE paid IS NULL OR w_ytd <> paid",
    ),
    (
        9,
        "a district has taken in what the history says",
        "SELECT d_w_id, d_id, d_ytd, paid FROM district LEFT JOIN \
         (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS hs \
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE paid IS NULL OR d_ytd <> paid",
    ),
    (
        12,
        "a customer owes what was delivered and not paid",
        "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, got FROM customer LEFT JOIN \
         (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS got FROM orders \
         JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS os \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> COALESCE(got, 0)",
    ),
];

/// An error that names the first condition that does not hold, with a row that breaks it.
pub fn check(conn: &mut Conn) -> Result<()> {
    for (number, says, query) in CONDITIONS {
        let broken: Vec<Row> = conn.query(query)?;
        let first = broken.first();
        ensure!(first.is_none(), "condition {number}, {says}: {} rows break it, such as {first:?}", broken.len());
    }
    Ok(())
}
