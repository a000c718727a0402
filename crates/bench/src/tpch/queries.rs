//! The 22 queries, from the crate that makes the data, as MySQL writes them.

use anyhow::{Context, Result};
use tpchgen::q_and_a::queries::query;

/// How many there are.
pub const COUNT: usize = 22;

/// What stands for `:1`, `:2` … in each: the parameters of the benchmark's validation run.
const PARAMETERS: [&[&str]; COUNT] = [
    &["90"],
    &["15", "BRASS", "EUROPE"],
    &["BUILDING", "1995-03-15"],
    &["1993-07-01"],
    &["ASIA", "1994-01-01"],
    &["1994-01-01", "0.06", "24"],
    &["FRANCE", "GERMANY"],
    &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
    &["green"],
    &["1993-10-01"],
    // The second one is divided by the scale.
    &["GERMANY", FRACTION],
    &["MAIL", "SHIP", "1994-01-01"],
    &["special", "requests"],
    &["1995-09-01"],
    &["1996-01-01"],
    &["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"],
    &["Brand#23", "MED BOX"],
    &["300"],
    &["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"],
    &["forest", "1994-01-01", "CANADA"],
    &["SAUDI ARABIA"],
    &["13", "31", "23", "29", "30", "18", "17"],
];

/// The share of a nation's stock that is important, at scale 1.
const FRACTION: &str = "0.0001";

/// How many of the first rows are wanted, of queries that say so.
const LIMITS: [(usize, usize); 5] = [(2, 100), (3, 10), (10, 20), (18, 100), (21, 100)];

/// What MySQL and MariaDB 10.11 write otherwise: the digits of an interval, columns named after a derived table, and a
/// table of WITH in place of a view.
const OTHERWISE: &[(usize, &str, &str)] = &[
    (1, " day (3)", " day"),
    (13, "count(o_orderkey)\n", "count(o_orderkey) as c_count\n"),
    (13, "c_orders (c_custkey, c_count)", "c_orders"),
    (15, "create view revenue:s (supplier_no, total_revenue) as\n", "with revenue (supplier_no, total_revenue) as (\n"),
    (15, "l_suppkey;", "l_suppkey)"),
    (15, "drop view revenue:s;", ""),
    (15, "revenue:s", "revenue"),
];

/// The query of this number, from 1, for data of this scale: one statement.
pub fn text(number: usize, scale: f64) -> Result<String> {
    let text = query(i32::try_from(number)?).context("no query of this number")?;
    let mut text = text.to_owned();
    for (_, from, to) in OTHERWISE.iter().filter(|(of, _, _)| *of == number) {
        text = text.replace(from, to);
    }
    let parameters = PARAMETERS[number - 1];
    // From the last one, because `:1` begins `:10` too.
    for (at, parameter) in parameters.iter().enumerate().rev() {
        let scaled = format!("{:.10}", 0.0001 / scale);
        let parameter = if *parameter == FRACTION { &scaled } else { *parameter };
        text = text.replace(&format!(":{}", at + 1), parameter);
    }
    let mut text = text.trim().trim_end_matches(';').to_owned();
    if let Some((_, rows)) = LIMITS.iter().find(|(of, _)| *of == number) {
        text.push_str(&format!("\nlimit {rows}"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_one_statement_with_all_its_parameters() -> Result<()> {
        for number in 1..=COUNT {
            let text = text(number, 0.1)?;
            assert!(!text.contains(';') && !text.contains(':'), "Q{number}: {text}");
        }
        assert!(text(COUNT + 1, 1.0).is_err());
        Ok(())
    }
}
