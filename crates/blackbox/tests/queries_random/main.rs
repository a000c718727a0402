//! Joins, subqueries, set operations and changes of several tables, made by chance, must give the answers of MariaDB
//! 10.11: names and types of columns, rows as a set, their order where it is defined, error numbers, and after a change the
//! rows of all tables.
//!
//! # Outline
//! * [`tables`]: schemas of a few tables with NULLs, duplicates and keys of one or two columns, small ones and some with a
//!   hundred skewed rows;
//! * [`generate`]: queries and changes over them;
//! * [`consistency`]: answers of one server that must agree with each other;
//! * [`part`]: statements that can be made smaller;
//! * [`answer`]: what two answers are compared by, and [`differences`]: where MariaDB declares another type;
//! * [`pair`]: asks both servers, compares, and makes what differs smaller.
//!
//! Of every second schema the sessions on our server have so little memory for joins, groups and sets that these go through
//! temporary files.
//!
//! With `COHORT_SECONDS` a run takes fresh statements for so long, and prints its seed, which `COHORT_SEED` repeats. Without
//! either it takes a list that is the same each time and then some fresh ones. `COHORT_DIFFERENCES` says how many
//! differences end it.

mod answer;
mod consistency;
mod differences;
mod generate;
mod pair;
mod part;
mod tables;

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, MariaDb};

use crate::generate::Generator;
use crate::pair::{Case, Memory, NoAnswer, Pair, begin_session};
use crate::tables::Schema;

/// Statements for one schema.
const STATEMENTS: usize = 40;
/// The seed of the list, and its schemas; schemas of a fresh seed.
const LIST: (u64, u64) = (11, 12);
const FRESH: u64 = 6;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn generated_queries_give_the_answers_of_mariadb() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("NOT RUN: mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--sync-binlog=0").start()?;
    let mut pair = Pair::new(&server)?;
    let chosen = ["COHORT_SEED", "COHORT_SECONDS"].iter().any(|name| std::env::var_os(name).is_some());
    let fresh = rng::seed();
    if chosen {
        let deadline = Instant::now() + Duration::from_secs(number("COHORT_SECONDS", 60));
        return run(&mut pair, fresh, u64::MAX, Some(deadline));
    }
    run(&mut pair, LIST.0, LIST.1, None)?;
    run(&mut pair, fresh, FRESH, None)
}

#[test]
fn answers_to_generated_queries_agree_with_each_other() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--sync-binlog=0").start()?;
    let mut conn = server.connect()?;
    begin_session(&mut conn)?;
    let seconds = std::env::var_os("COHORT_SECONDS").map(|_| Duration::from_secs(number("COHORT_SECONDS", 60)));
    let deadline = seconds.map(|seconds| Instant::now() + seconds);
    let (seed, schemas) = (rng::seed(), if deadline.is_some() { u64::MAX } else { FRESH });
    let mut checked = 0;
    for stream in (0..schemas).take_while(|_| deadline.is_none_or(|deadline| Instant::now() < deadline)) {
        let mut rng = Rng::stream(seed, stream);
        let schema = Schema::generate(&mut rng);
        Memory::of(stream, &schema).give(&mut conn)?;
        let setup = Case::new(&schema);
        setup.begin(&mut conn)?;
        for _ in 0..STATEMENTS {
            let mut queries = Generator::new(&schema, &mut rng).claim();
            checked += 1;
            let Some(mut found) = queries.check(&mut conn)? else { continue };
            'again: loop {
                for smaller in queries.smaller() {
                    if let Some(still) = smaller.check(&mut conn)? {
                        (queries, found) = (smaller, still);
                        continue 'again;
                    }
                }
                break;
            }
            bail!("seed {seed}, schema {stream}:\n{}\n{found}", setup.script());
        }
    }
    println!("{checked} queries of seed {seed} agree with their parts");
    Ok(())
}

/// Runs statements on so many schemas, or up to the deadline.
fn run(pair: &mut Pair, seed: u64, schemas: u64, deadline: Option<Instant>) -> Result<()> {
    let enough = number("COHORT_DIFFERENCES", 3) as usize;
    let (mut statements, mut rows, mut differences) = (0_u64, 0_u64, 0_usize);
    for stream in 0..schemas {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) || differences >= enough {
            break;
        }
        let mut rng = Rng::stream(seed, stream);
        let schema = Schema::generate(&mut rng);
        let mut case = Case::new(&schema);
        pair.give(Memory::of(stream, &schema))?;
        pair.begin(&case)?;
        for at in 0..STATEMENTS {
            let mut generator = Generator::new(&schema, &mut rng);
            let change = at % 8 == 7;
            case.last = if change { generator.change() } else { generator.statement() };
            statements += 1;
            match pair.compare(&case) {
                Err(error) if error.is::<NoAnswer>() => {
                    println!("NOT JUDGED: {error}");
                    pair.take_new_peer()?;
                    break;
                }
                Err(error) => return Err(error),
                Ok(None) => rows += pair.rows,
                Ok(Some(found)) => {
                    differences += 1;
                    let (case, found) = pair.shrink(case.clone(), found)?;
                    println!("\nseed {seed}, schema {stream}:\n{}\n{found}", case.script());
                    break;
                }
            }
            if change {
                case.history.push(case.last.clone());
            }
        }
    }
    println!("{statements} statements of seed {seed}, {rows} rows alike");
    ensure!(
        differences == 0,
        "{differences} differences; again: COHORT_SEED={seed} cargo test --profile checked -p cohort-blackbox \
         --test queries_random -- --nocapture"
    );
    Ok(())
}
