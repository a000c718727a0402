//! Deep and long statements, run on the least stack that a worker may have.
//!
//! Input: each byte makes the statement so far longer or deeper by one of the ways in [`wrap`], some of them a few
//! times, others so often that something must refuse it. What is made then runs as the target `sql` runs its inputs,
//! with a limit of memory.

use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::sql;

/// The least `thread_stack`, bytes.
const STACK: usize = 256 << 10;
/// Statements are not made longer than this.
const TEXT_MAX: usize = 256 << 10;
/// Ways of one input.
const WAYS_MAX: usize = 24;

type Done = Sender<thread::Result<()>>;

thread_local! {
    /// A thread with little stack, which keeps its server from one input to the next.
    static WORKER: Sender<(Vec<u8>, Done)> = worker();
}

fn worker() -> Sender<(Vec<u8>, Done)> {
    let (sender, inputs) = channel::<(Vec<u8>, Done)>();
    let body = move || {
        for (input, done) in inputs {
            let outcome = std::panic::catch_unwind(|| sql::run_limited(&input));
            // Whoever asked waits.
            let _ = done.send(outcome);
        }
    };
    thread::Builder::new().name("small".to_owned()).stack_size(STACK).spawn(body).expect("a thread");
    sender
}

/// Runs the statement that `bytes` make.
pub fn run(bytes: &[u8]) {
    let statement = compose(bytes).into_bytes();
    let (done, outcome) = channel();
    WORKER.with(|worker| worker.send((statement, done)).expect("it runs"));
    if let Err(panic) = outcome.recv().expect("it answers") {
        resume_unwind(panic);
    }
}

/// How often something is repeated.
const TIMES: [usize; 8] = [1, 2, 7, 59, 190, 1000, 4100, 20_000];

fn compose(bytes: &[u8]) -> String {
    let mut bytes = bytes.iter().copied();
    let form = bytes.next().unwrap_or_default();
    let mut expr = "id".to_owned();
    for byte in bytes.take(WAYS_MAX) {
        let (way, times) = (usize::from(byte) % 32, TIMES[usize::from(byte) / 32]);
        let longer = wrap(&expr, way, times);
        if longer.len() <= TEXT_MAX {
            expr = longer;
        }
    }
    match form % 16 {
        0 => format!("SELECT {expr}"),
        1 => format!("SELECT {expr} FROM t"),
        2 => format!("SELECT 1 FROM t WHERE {expr}"),
        3 => format!("SELECT {expr} AS x, COUNT(*) FROM t GROUP BY x HAVING x ORDER BY x"),
        4 => format!("SELECT id FROM t ORDER BY {expr}"),
        5 => format!("UPDATE t SET b = {expr}, a = 1 WHERE id = 1"),
        6 => format!(
            "INSERT INTO t (id, b) VALUES (9, {}) ON DUPLICATE KEY UPDATE b = VALUES(b)",
            expr.replace("id", "1")
        ),
        7 => format!("DELETE FROM t WHERE {expr}"),
        8 => format!("SET @a = {}, @b = @a", expr.replace("id", "1")),
        9 => format!("DO {}", expr.replace("id", "1")),
        10 => format!("EXPLAIN SELECT SUM({expr}) FROM t"),
        11 => format!("SELECT {expr} UNION {}", vec!["SELECT 1, 2"; 1 + expr.len() / 4].join(" UNION ")),
        12 => {
            let (joins, conditions) = (1 + expr.len() / 4, if expr.len().is_multiple_of(2) { " ON 1" } else { "" });
            format!("SELECT 1 FROM t{}", format!(" JOIN t{conditions}").repeat(joins))
        }
        13 => format!("SELECT 1 FROM {}t{}", "(".repeat(1 + expr.len() / 4), ")".repeat(1 + expr.len() / 4)),
        14 => format!("SELECT 1 FROM (SELECT {expr}) x WHERE EXISTS (SELECT {expr})"),
        _ => format!("CREATE TABLE n (a INT DEFAULT ({}))", expr.replace("id", "1")),
    }
}

fn wrap(expr: &str, way: usize, times: usize) -> String {
    let around = |open: &str, close: &str| format!("{}{expr}{}", open.repeat(times), close.repeat(times));
    let chain = |link: &str| format!("{expr}{}", link.repeat(times));
    match way {
        0 => around("(", ")"),
        1 => around("- ", ""),
        2 => around("NOT ", ""),
        3 => around("!", ""),
        4 => around("HEX(", ")"),
        5 => around("CONCAT(", ", 'x')"),
        6 => around("REPEAT(", ", 3)"),
        7 => around("IF(1, ", ", 2)"),
        8 => around("CASE WHEN ", " THEN 1 ELSE 2 END"),
        9 => around("CAST(", " AS CHAR)"),
        10 => around("@a := ", ""),
        11 => around("IFNULL(", ", 'y')"),
        12 => around("(SELECT ", ")"),
        13 => around("INTERVAL(", ", 1)"),
        14 => around("INTERVAL ", " DAY"),
        15 => around("REPLACE(", ", 'x', 'yy')"),
        16 => chain(" + (1)"),
        17 => chain(" DIV 1"),
        18 => chain(" IS NULL"),
        19 => chain(" LIKE 'a%'"),
        20 => chain(" AND 1 = 1"),
        21 => chain(" OR id = 7"),
        22 => chain(" XOR 1"),
        23 => chain(" NOT REGEXP 'x'"),
        24 => chain(" BETWEEN 1 AND 2"),
        25 => chain(" COLLATE utf8mb4_bin"),
        26 => chain(" + INTERVAL 1 DAY"),
        27 => chain(" IN (1, 2)"),
        28 => format!("{expr} IN (1{})", ", 2".repeat(times)),
        29 => format!("CONCAT({expr}{})", ", 'z'".repeat(times)),
        30 => format!("CASE {expr}{} END", " WHEN 1 THEN 2".repeat(times)),
        _ => format!("LPAD({expr}, {times}000, 'ab')"),
    }
}

/// Every way alone, in every number, and some combinations.
pub fn seeds() -> Vec<Vec<u8>> {
    let alone = (0..=u8::MAX).map(|way| vec![way % 11, way]);
    let forms = (0..16).map(|form| vec![form, 0xa0 + 16, 0x60, 0x60 + 4]);
    let mixed = (0..32).map(|way| vec![0, 0x80 + way, 0x60 + (way + 7) % 32, 0x80 + (way + 16) % 32, 0x60 + way]);
    alone.chain(forms).chain(mixed).collect()
}
