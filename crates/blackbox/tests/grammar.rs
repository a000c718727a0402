//! What is a statement here is one for MariaDB, and what is none is refused at the same place.
//!
//! The corpus is `crates/sql/testdata/grammar`: a statement a line, under a heading that says whether MySQL 8.0 reads it
//! and whether MariaDB 10.11 agrees. Statements are prepared, not run: 1064 means that one was not read.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, SystemTables};
use mysql::Conn;
use mysql::prelude::Queryable;

struct Line {
    sql: String,
    accepted: bool,
    mariadb_agrees: bool,
}

fn corpus() -> Result<Vec<Line>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/testdata/grammar");
    let paths: BTreeSet<_> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    let mut lines = Vec::new();
    for path in paths {
        let mut section = String::new();
        for line in std::fs::read_to_string(path)?.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                heading.clone_into(&mut section);
            } else if !line.is_empty() && !line.starts_with("# ") {
                lines.push(Line {
                    sql: line.to_owned(),
                    accepted: section.starts_with("accepted"),
                    mariadb_agrees: !section.contains("not by MariaDB"),
                });
            }
        }
    }
    Ok(lines)
}

/// What a syntax error quotes, or nothing if there is none.
fn syntax_error(conn: &mut Conn, sql: &str) -> Result<Option<String>> {
    match conn.prep(sql) {
        Ok(statement) => {
            conn.close(statement)?;
            Ok(None)
        }
        Err(mysql::Error::MySqlError(error)) if error.code == 1064 => {
            let near = error.message.split_once("near '").map_or("", |(_, near)| near);
            Ok(Some(near.to_owned()))
        }
        Err(mysql::Error::MySqlError(_)) => Ok(None),
        Err(error) => Err(error).with_context(|| sql.to_owned()),
    }
}

/// A statement with a word less, or without its end, or with two words that changed places.
fn cut(sql: &str, random: &mut impl FnMut(usize) -> usize) -> String {
    let mut words: Vec<&str> = sql.split(' ').collect();
    let (at, other) = (random(words.len()), random(words.len()));
    match random(3) {
        0 => words.truncate(at),
        1 => drop(words.remove(at)),
        _ => words.swap(at, other),
    }
    words.join(" ")
}

/// The quoted texts, up to the shorter one: both are cut at some length.
fn alike(ours: &str, theirs: &str) -> bool {
    let text =
        |near: &str| near.rsplit_once("' at line").map_or("", |(text, _)| text).trim_end_matches("...").to_owned();
    let (ours, theirs) = (text(ours), text(theirs));
    ours == theirs || (theirs.len() > 60 && ours.starts_with(&theirs))
}

#[test]
fn statements_are_read_and_refused_as_by_mariadb() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let peer = MariaDb::start(&folder.path().join("peer"), SystemTables::Absent, &[], None)?;
    let (mut ours, mut theirs) = (server.connect()?, peer.connect()?);
    for conn in [&mut ours, &mut theirs] {
        conn.query_drop("CREATE DATABASE grammar")?;
        conn.query_drop("USE grammar")?;
    }
    let corpus = corpus()?;
    let mut wrong = Vec::new();
    for line in &corpus {
        let (mine, reference) = (syntax_error(&mut ours, &line.sql)?, syntax_error(&mut theirs, &line.sql)?);
        if mine.is_none() != line.accepted || reference.is_none() != (line.accepted == line.mariadb_agrees) {
            wrong.push(format!("{}: ours {mine:?}, MariaDB's {reference:?}", line.sql));
        }
    }
    ensure!(wrong.is_empty(), "{wrong:#?}");

    // Always the same cuts: MariaDB's grammar is another one in places, and the shares below are those of these cuts.
    let mut state = std::env::var("COHORT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let agreed: Vec<&Line> = corpus.iter().filter(|line| line.mariadb_agrees).collect();
    let (mut refused, mut elsewhere, mut differently) = (0, Vec::new(), Vec::new());
    for _ in 0..1_500 {
        let sql = cut(&agreed[random(agreed.len())].sql, &mut random);
        // MariaDB has no hints: one without an end is a comment to it.
        if sql.rsplit_once("/*+").is_some_and(|(_, rest)| !rest.contains("*/")) {
            continue;
        }
        match (syntax_error(&mut ours, &sql)?, syntax_error(&mut theirs, &sql)?) {
            (None, None) => {}
            (Some(mine), Some(reference)) => {
                refused += 1;
                if !alike(&mine, &reference) {
                    elsewhere.push(format!("{sql}: '{mine}, '{reference}"));
                }
            }
            (mine, reference) => differently.push(format!("{sql}: {mine:?}, {reference:?}")),
        }
    }
    println!("{refused} refused by both, elsewhere {}: {elsewhere:#?}", elsewhere.len());
    println!("read by one only {}: {differently:#?}", differently.len());
    ensure!(refused > 500 && elsewhere.len() * 20 < refused, "{} of {refused} refused elsewhere", elsewhere.len());
    ensure!(differently.len() <= 30, "{} of 1500 read by one only", differently.len());
    Ok(())
}
