//! Random statements: those of the grammar's corpus with their words exchanged, doubled and taken out, mixed, cut and
//! filled with bytes.

use std::path::Path;

use anyhow::{Context, Result};
use cohort_blackbox::rng::Rng;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::{ATTACKER, PASSWORD, TABLE, Target, withstands};

/// Words that the corpus has few of, and that do harm if anything does.
const WORDS: [&str; 24] = [
    "(",
    ")",
    ",",
    "'",
    "\"",
    "`",
    "/*",
    "*/",
    "--  ",
    ";",
    "\\",
    "0x",
    "1e308",
    "-9223372036854775808",
    "18446744073709551616",
    "NULL",
    "@a",
    "@@max_connections",
    "REPEAT('x', 1000000)",
    "(SELECT 1)",
    "junk.t",
    "d.t",
    "mysql.user",
    "0.00000000000000000001",
];

/// Every statement of the corpus, read or refused, but for those that wait for long on purpose.
fn corpus() -> Result<Vec<Vec<String>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/testdata/grammar");
    let mut statements = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let text = std::fs::read_to_string(entry?.path())?;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        statements.extend(lines.filter(|line| !line.to_uppercase().contains("SLEEP")).map(words));
    }
    // What a folder lists first is not the same everywhere; what a seed chooses is.
    statements.sort();
    Ok(statements)
}

/// A statement's words, numbers, signs and spaces.
fn words(sql: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    for letter in sql.chars() {
        match words.last_mut() {
            Some(last) if is_word(letter) && last.ends_with(is_word) => last.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    words
}

fn statement(rng: &mut Rng, corpus: &[Vec<String>]) -> String {
    let any = |rng: &mut Rng| &corpus[rng.below(corpus.len() as u64) as usize];
    let mut words = any(rng).clone();
    for _ in 0..rng.below(5) {
        let at = rng.below(words.len() as u64 + 1) as usize;
        let other = any(rng);
        let from = rng.below(other.len() as u64) as usize;
        match rng.below(6) {
            0 if at < words.len() => drop(words.remove(at)),
            1 if at < words.len() => words[at].clone_from(&other[from]),
            2 => words.insert(at, WORDS[rng.below(WORDS.len() as u64) as usize].to_owned()),
            3 => words.truncate(at),
            4 => drop(words.splice(at..at, other[from..].iter().cloned())),
            _ => {
                let many = (words.len() - at) * rng.below(20) as usize;
                let again: Vec<String> = words[at..].iter().cycle().take(many.min(5000)).cloned().collect();
                words.extend(again);
            }
        }
    }
    if rng.chance(10) {
        let at = rng.below(words.len() as u64 + 1) as usize;
        words.insert(at, char::from_u32(rng.below(0x11_0000) as u32).unwrap_or('\0').to_string());
    }
    words.concat()
}

fn connect(target: &Target) -> Result<Conn> {
    Conn::new(target.attacker()).context("the attacker's login")
}

#[test]
fn random_statements() -> Result<()> {
    let corpus = corpus()?;
    withstands("random statements", |target| {
        let mut conn = connect(target)?;
        for number in 0..target.attempts {
            let sql = statement(&mut target.rng, &corpus);
            let shown = || sql.chars().take(300).collect::<String>();
            let answered = match number % 4 {
                0 => conn.prep(&sql).and_then(|statement| {
                    let values = vec![mysql::Value::from("7"); statement.num_params().into()];
                    conn.exec_drop(&statement, values)?;
                    conn.close(statement)
                }),
                _ => conn.query_drop(&sql),
            };
            match answered {
                Ok(()) | Err(mysql::Error::MySqlError(_)) => {}
                // A parameter's name is the client's matter.
                Err(mysql::Error::DriverError(_)) => {}
                Err(error) => return Err(error).with_context(|| format!("statement {number}: {}", shown())),
            }
            if number % 500 == 499 {
                // It has changed its own account and dropped its tables, as it may.
                let root = &mut target.server.connect()?;
                for sql in [
                    format!("DROP USER IF EXISTS {ATTACKER}"),
                    format!("CREATE USER {ATTACKER} IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'"),
                    format!("GRANT ALL ON junk.* TO {ATTACKER}"),
                    "CREATE DATABASE IF NOT EXISTS junk".to_owned(),
                    format!("CREATE TABLE IF NOT EXISTS {TABLE}"),
                ] {
                    root.query_drop(sql)?;
                }
                conn = connect(target)?;
            }
        }
        Ok(())
    })
}
