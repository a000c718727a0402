//! Statements made by chance must give the answers of MariaDB 10.11: rows, types and names of columns, affected rows,
//! insert ids, warnings, error numbers, and the rows of the table after each change.
//!
//! # Outline
//! * [`grammar`]: types, constants and expressions, as tables;
//! * [`documents`]: the same for JSON, [`xml`]: and for XML;
//! * [`generate`]: tables and statements of them;
//! * [`tree`]: statements that can be made smaller;
//! * [`answer`]: asks a server, compares two answers;
//! * [`exceptions`]: differences that are meant, with their reasons;
//! * [`shrink`]: the smallest table, rows and statement that still differ.
//!
//! With `COHORT_SECONDS` a run takes fresh statements for so long, and prints its seed, which `COHORT_SEED` repeats.
//! Without either it takes a list that is the same each time, and then some fresh ones, whose differences are printed and
//! do not fail. `COHORT_DIFFERENCES` says how many differences end it.

mod answer;
mod documents;
mod exceptions;
mod generate;
mod grammar;
mod shrink;
mod tree;
mod xml;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, MariaDb, SystemTables};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::exceptions::updates_what_is_not_inserted;
use crate::generate::Table;
use crate::shrink::{Begun, Case, Dialect, Found, Pair};

const MODES: [&str; 4] = [
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO",
    "",
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_IN_DATE,NO_ZERO_DATE",
    "NO_ZERO_IN_DATE,NO_ZERO_DATE",
];

/// Statements for one table.
const STATEMENTS: usize = 60;

/// What is run where nothing else is asked for: the seed of the list and its tables, and tables of a fresh seed.
const LIST: (u64, u64) = (7, 400);
const FRESH: u64 = 12;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A session like the other server's: its own default collation stands for 8.0's.
fn session(mut conn: Conn, dialect: Dialect) -> Result<Conn> {
    for sql in [
        "CREATE DATABASE same COLLATE utf8mb4_0900_ai_ci",
        "USE same",
        "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        "SET time_zone = '+00:00'",
        "SET timestamp = 1718438709",
    ] {
        conn.query_drop(dialect(sql.to_owned()))?;
    }
    Ok(conn)
}

/// What a run has seen.
#[derive(Default)]
struct Seen {
    statements: u64,
    /// Signatures of differences.
    differences: BTreeSet<String>,
    /// Reasons of exceptions.
    excepted: BTreeSet<&'static str>,
}

#[test]
fn generated_statements_give_the_answers_of_mariadb() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("NOT RUN: mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--sync-binlog=0").start()?;
    let options = ["--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0"];
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &options, None)?;
    let mut pair = Pair {
        ours: session(server.connect()?, shrink::as_it_is)?,
        theirs: session(peer.connect()?, shrink::for_mariadb)?,
        refused: false,
        zero_dates: false,
    };
    let chosen = ["COHORT_SEED", "COHORT_SECONDS"].iter().any(|name| std::env::var_os(name).is_some());
    let fresh = rng::seed();
    if chosen {
        let deadline = Instant::now() + Duration::from_secs(number("COHORT_SECONDS", 60));
        return run(&mut pair, fresh, u64::MAX, Some(deadline));
    }
    run(&mut pair, LIST.0, LIST.1, None)?;
    // One of some 50,000 statements or more shows something new: too many for every change to meet it, too few to miss.
    run(&mut pair, fresh, FRESH, None).unwrap_or_else(|error| println!("not judged here: {error}"));
    Ok(())
}

/// Runs statements on so many tables, or up to the deadline; an error if there were differences that `fail`.
fn run(pair: &mut Pair, seed: u64, tables: u64, deadline: Option<Instant>) -> Result<()> {
    let enough = number("COHORT_DIFFERENCES", 5) as usize;
    let mut seen = Seen::default();
    for stream in 0..tables {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) || seen.differences.len() >= enough {
            break;
        }
        run_table(pair, &mut Rng::stream(seed, stream), &mut seen)?;
    }
    let Seen { statements, differences, excepted } = seen;
    println!("{statements} statements of seed {seed}; exceptions met: {excepted:#?}");
    ensure!(
        differences.is_empty(),
        "{} differences in {statements} statements; again: COHORT_SEED={seed} cargo test --profile checked \
         -p cohort-blackbox --test same_answers_random -- --nocapture",
        differences.len()
    );
    Ok(())
}

/// Runs statements on one table, to the first difference.
fn run_table(pair: &mut Pair, rng: &mut Rng, seen: &mut Seen) -> Result<()> {
    let table = Table::generate(rng);
    let mode = MODES[rng.below(4) as usize];
    let mut case = Case::new(mode, table.create.clone());
    match pair.begin(&case)? {
        Begun::Made => {}
        Begun::Refused => return Ok(()),
        Begun::Differs(found) => return report(pair, case, found, seen),
    }
    for at in 0..STATEMENTS {
        let change = at < 4 || rng.chance(40);
        case.last = if change { table.change(rng) } else { table.query(rng) };
        case.prepared = rng.chance(30);
        seen.statements += 1;
        let Some(found) = pair.compare(&case)? else {
            // What is read of a zero date in spite of the mode is MariaDB's own, and so are the ids that such a failure
            // uses up.
            let unread = pair.zero_dates && mode.contains("NO_ZERO_DATE");
            // MariaDB skips an id after a row that was given a negative one.
            let skips = table.auto_increment && case.last.sql().contains("(-3");
            if change && (unread || skips || (pair.refused && updates_what_is_not_inserted(&case.last.sql()))) {
                break;
            }
            // What fails may use up ids.
            if change && (!pair.refused || table.auto_increment) {
                case.history.push(case.last.clone());
            }
            continue;
        };
        // The tables may have parted.
        return report(pair, case, found, seen);
    }
    Ok(())
}

/// Notes a difference, made small, or the reason why it is meant.
fn report(pair: &mut Pair, case: Case, found: Found, seen: &mut Seen) -> Result<()> {
    if let Some(reason) = found.excepted(&case) {
        seen.excepted.insert(reason);
        return Ok(());
    }
    let (case, found) = shrink::shrink(pair, case, found)?;
    match shrink::judge(pair, &case, &found)? {
        Some(reason) => drop(seen.excepted.insert(reason)),
        None => {
            if seen.differences.insert(found.signature(&case)) {
                println!("\n{}\n{found}", case.script());
            }
        }
    }
    Ok(())
}
