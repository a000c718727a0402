//! Statements that nest deeply, and functions of long texts: every function of `docs/functions.md`, over what makes naive
//! algorithms quadratic.

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng::Rng;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::{PATIENCE, file, withstands};

/// What can stand around an expression, and after one.
const AROUND: [(&str, &str); 16] = [
    ("(", ")"),
    ("- ", ""),
    ("NOT ", ""),
    ("~", ""),
    ("ABS(", ")"),
    ("CONCAT('a', ", ")"),
    ("IF(1, ", ", 2)"),
    ("CASE WHEN 1 THEN ", " END"),
    ("CAST(", " AS CHAR)"),
    ("@a := ", ""),
    ("1 IN (", ")"),
    ("(SELECT ", ")"),
    ("EXISTS (SELECT ", ")"),
    ("1 + (2 * ", ")"),
    ("INTERVAL(1, ", ")"),
    ("COALESCE(NULL, ", ")"),
];
const AFTER: [&str; 12] = [
    " + 1",
    " DIV 1",
    " IS NULL",
    " LIKE 'a'",
    " = 1",
    " BETWEEN 1 AND 2",
    " IN (1)",
    " XOR 1",
    " COLLATE utf8mb4_bin",
    " UNION SELECT 1",
    " MOD 7",
    " OR 1 AND 0",
];

fn nested(rng: &mut Rng) -> String {
    let depth = [50, 300, 3000, 20_000][rng.below(4) as usize];
    // One construct, two by turns, or all of them.
    let kinds = [1, 2, 28][rng.below(3) as usize];
    let chosen: Vec<usize> = (0..kinds).map(|_| rng.below(28) as usize).collect();
    let (mut front, mut back) = (String::from("SELECT "), Vec::new());
    for _ in 0..1 + rng.below(depth) {
        match chosen[rng.below(kinds) as usize] {
            kind @ 0..16 => {
                front.push_str(AROUND[kind].0);
                back.push(AROUND[kind].1);
            }
            kind => back.push(AFTER[kind - 16]),
        }
    }
    back.reverse();
    front + "1" + &back.concat()
}

#[test]
fn deep_statements() -> Result<()> {
    withstands("deep statements", |target| {
        let mut conn = Conn::new(target.attacker())?;
        for number in 0..target.attempts / 5 {
            let sql = nested(&mut target.rng);
            let shown = || format!("statement {number}: {}... ({} bytes)", &sql[..sql.len().min(100)], sql.len());
            let text = conn.query_drop(&sql);
            let answers = [text, conn.prep(&sql).and_then(|statement| conn.exec_drop(statement, ()))];
            for answer in answers {
                match answer {
                    Ok(()) | Err(mysql::Error::MySqlError(_)) => {}
                    Err(error) => return Err(error).with_context(shown),
                }
            }
        }
        Ok(())
    })
}

/// Texts of a megabyte and more, patterns that make matchers go back, and numbers at the end of what there is.
const ARGUMENTS: [&str; 23] = [
    "REPEAT('a', 1600000)",
    "CONCAT(REPEAT('a', 800000), 'b')",
    "REPEAT('ä', 700000)",
    "CONCAT(REPEAT('Ä', 350000), 'b')",
    "REPEAT('a,', 700000)",
    "REPEAT('%a', 500000)",
    "CONCAT('%', REPEAT('a%', 2000), 'b')",
    "'(a*)*b'",
    "REPEAT('(a|aa)*', 2000)",
    "REPEAT('\\0', 1000000)",
    "CONCAT(REPEAT('<a>', 250), REPEAT('<b/>', 100000), REPEAT('</a>', 250))",
    "'//*//*//*//*[.//*[.//*]]'",
    "CONCAT('SELECT ', REPEAT('1, ', 300000), '1')",
    "X'FF'",
    "''",
    "NULL",
    "0",
    "-1",
    "9223372036854775807",
    "18446744073709551615",
    "-1.7976931348623157e308",
    "99999999999999999999999999999999999.999999999999999999999999999999",
    "'9999-12-31 23:59:59.999999'",
];

/// The error of a connection that is closed for the memory it would take.
const CLOSED_FOR_MEMORY: u16 = 4082;

/// The names of all functions but one that waits on purpose.
fn functions() -> Result<Vec<String>> {
    let text = file("docs/functions.md")?;
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
    let names = rows.flat_map(|(names, _)| names.split(", ").map(|name| name.trim_matches('`').to_owned()));
    let names: Vec<String> = names.filter(|name| name != "SLEEP").collect();
    ensure!(names.len() > 150, "{} functions", names.len());
    Ok(names)
}

#[test]
fn functions_of_long_texts() -> Result<()> {
    let functions = functions()?;
    withstands("functions of long texts", |target| {
        let mut conn = Conn::new(target.attacker())?;
        for _ in 0..target.attempts / 5 {
            let rng = &mut target.rng;
            let function = match rng.below(10) {
                0 => ["LIKE", "REGEXP", "=", "+", "IN", "COLLATE utf8mb4_0900_ai_ci LIKE"][rng.below(6) as usize],
                _ => &functions[rng.below(functions.len() as u64) as usize],
            };
            let arguments: Vec<&str> =
                (0..1 + rng.below(4)).map(|_| ARGUMENTS[rng.below(ARGUMENTS.len() as u64) as usize]).collect();
            let call = match function.starts_with(|letter: char| letter.is_alphabetic())
                && functions.contains(&function.to_owned())
            {
                true => format!("{function}({})", arguments.join(", ")),
                false => format!("({}) {function} ({})", arguments[0], arguments[arguments.len() - 1]),
            };
            let begun = std::time::Instant::now();
            match conn.query_drop(format!("SELECT LENGTH({call})")) {
                // The texts of STATEMENT_DIGEST are statements, which may take more memory than a connection has.
                Err(mysql::Error::MySqlError(error)) if error.code == CLOSED_FOR_MEMORY => {
                    conn = Conn::new(target.attacker())?;
                }
                // The server says when its time is over.
                Ok(()) | Err(mysql::Error::MySqlError(_)) => {}
                Err(error) => return Err(error).with_context(|| call),
            }
            ensure!(begun.elapsed() < PATIENCE / 2, "{:?} for {call}", begun.elapsed());
        }
        Ok(())
    })
}
