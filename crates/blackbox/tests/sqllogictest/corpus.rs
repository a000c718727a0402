//! Files of the corpus, prepared for a runner that knows one server.
//!
//! What is for other servers goes, so do records that are left out and, of a sample, the queries that are not in it. What
//! stays keeps its line, two below that of the corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cohort_blackbox::rng::Rng;

/// Values stand one a line, and more than eight of them as their number and digest: what the corpus takes for granted.
const HEAD: &str = "control resultmode valuewise\nhash-threshold 8\n";

/// The label of records that are for servers of this protocol alone, or for all others.
const LABEL: &str = "mysql";

/// A quotient of integers is one in the corpus. These files have this one only, in lists of SELECT, and no record for
/// MySQL beside it, as the others have.
const QUOTIENT: (&str, &str) = ("(a+b+c+d+e)/5", "(a+b+c+d+e) DIV 5");

/// Indexes get their columns in ascending order: others are refused, see docs/limitations.md.
const INDEXES: [&str; 2] = ["CREATE INDEX", "CREATE UNIQUE INDEX"];

/// What is left out: files as a whole, or the records that begin at these lines of a file.
#[derive(Debug)]
pub struct LeftOut(BTreeMap<String, Option<BTreeSet<usize>>>);

impl LeftOut {
    /// Reads `PATH [LINE…] # REASON`, one a line. An entry without a reason is an error.
    pub fn read(list: &str) -> Result<LeftOut> {
        let mut entries = BTreeMap::new();
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (place, reason) = line.split_once(" # ").with_context(|| format!("no reason: {line}"))?;
            if reason.trim().is_empty() {
                bail!("no reason: {line}");
            }
            let mut words = place.split_whitespace();
            let path = words.next().with_context(|| format!("no file: {line}"))?.to_owned();
            let lines: BTreeSet<usize> = words.map(str::parse).collect::<Result<_, _>>()?;
            let entry = entries.entry(path).or_insert_with(|| Some(BTreeSet::new()));
            match entry {
                Some(known) if !lines.is_empty() => known.extend(lines),
                _ => *entry = None,
            }
        }
        Ok(LeftOut(entries))
    }

    /// Whether a whole file is left out.
    pub fn file(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(Option::is_none)
    }

    fn record(&self, path: &str, line: usize) -> bool {
        self.0.get(path).is_some_and(|lines| lines.as_ref().is_none_or(|lines| lines.contains(&line)))
    }

    /// An entry that is for no file, or for no record, of the corpus.
    pub fn stale(&self, corpus: &BTreeMap<String, String>) -> Option<String> {
        self.0.iter().find_map(|(path, lines)| {
            let Some(text) = corpus.get(path) else { return Some(path.clone()) };
            let begins: BTreeSet<usize> = records(text).iter().map(|(at, _)| at + 1).collect();
            let stale = lines.iter().flatten().find(|line| !begins.contains(line));
            stale.map(|line| format!("{path} {line}"))
        })
    }
}

/// Which queries of a file are asked. All of its statements are run.
pub enum Chosen<'a> {
    All,
    /// About so many of them.
    Some(usize, &'a mut Rng),
}

/// All files below `folder`, by their path from there.
pub fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "test") {
                let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
                found.insert(name, std::fs::read_to_string(&path)?);
            }
        }
    }
    Ok(found)
}

/// The first line, from 0, and the number of lines of each record, comments before it excepted.
fn records(text: &str) -> Vec<(usize, usize)> {
    let mut records: Vec<(usize, usize)> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        match line {
            "" => inside = false,
            _ if inside => records.last_mut().expect("one has begun").1 += 1,
            _ if line.starts_with('#') => {}
            _ => {
                records.push((at, 1));
                inside = true;
            }
        }
    }
    records
}

/// The file as the runner gets it.
pub fn prepare(path: &str, text: &str, left_out: &LeftOut, mut chosen: Chosen<'_>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let records = records(text);
    let queries = lines.iter().filter(|line| line.starts_with("query ")).count();
    let mut kept: Vec<String> = vec![String::new(); lines.len()];
    for (start, length) in records {
        let record = &lines[start..start + length];
        let conditions =
            record.iter().take_while(|line| line.starts_with("skipif") || line.starts_with("onlyif")).count();
        let for_us = record[..conditions].iter().all(|line| {
            let mut words = line.split_whitespace();
            let only = words.next() == Some("onlyif");
            (words.next() == Some(LABEL)) == only
        });
        if !for_us || left_out.record(path, start + 1) {
            continue;
        }
        let asked = match &mut chosen {
            Chosen::Some(few, rng) if record.get(conditions).is_some_and(|line| line.starts_with("query")) => {
                rng.below(queries as u64) < *few as u64
            }
            _ => true,
        };
        if !asked {
            continue;
        }
        for (kept, line) in kept[start..start + length].iter_mut().zip(record).skip(conditions) {
            *kept = line.replace(QUOTIENT.0, QUOTIENT.1);
            if INDEXES.iter().any(|index| line.starts_with(index)) {
                *kept = kept.replace(" DESC", "");
            }
        }
        if record.get(conditions) == Some(&"halt") {
            break;
        }
    }
    format!("{HEAD}{}\n", kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# of another time
skipif mysql # no such thing
query I
SELECT 7/2
----
3

onlyif mysql
query I nosort
SELECT (a+b+c+d+e)/5 FROM t
----
3

onlyif oracle
halt

statement ok
DROP TABLE t

onlyif mysql
halt

statement ok
SELECT 1
";

    #[test]
    fn what_is_for_others_goes_and_what_stays_keeps_its_line() -> Result<()> {
        let prepared = prepare("a.test", FILE, &LeftOut::read("")?, Chosen::All);
        let expected: Vec<(usize, &str)> = vec![
            (10, "query I nosort"),
            (11, "SELECT (a+b+c+d+e) DIV 5 FROM t"),
            (12, "----"),
            (13, "3"),
            (18, "statement ok"),
            (19, "DROP TABLE t"),
            (22, "halt"),
        ];
        let body = prepared.strip_prefix(HEAD).context("a head")?;
        let lines = body.lines().enumerate().filter(|(_, line)| !line.is_empty());
        // `onlyif mysql` is line 8 of the file.
        let lines: Vec<_> = lines.map(|(at, line)| (at + 2, line)).collect();
        assert_eq!(lines, expected);
        Ok(())
    }

    #[test]
    fn records_are_left_out_by_the_line_they_begin_at() -> Result<()> {
        let left_out = LeftOut::read("# a list\na.test 8 # no quotients\n\nb.test # not ours\n")?;
        let prepared = prepare("a.test", FILE, &left_out, Chosen::All);
        assert!(!prepared.contains("DIV") && prepared.contains("DROP TABLE t"), "{prepared}");
        assert!(left_out.file("b.test") && !left_out.file("a.test"));
        let corpus = |text: &str| BTreeMap::from(["a.test", "b.test"].map(|path| (path.to_owned(), text.to_owned())));
        assert_eq!(left_out.stale(&corpus(FILE)), None);
        assert_eq!(left_out.stale(&corpus("statement ok\nSELECT 1\n")), Some("a.test 8".to_owned()));
        assert!(LeftOut::read("a.test 8").is_err());
        Ok(())
    }

    #[test]
    fn a_sample_has_all_statements() -> Result<()> {
        let prepared = prepare("a.test", FILE, &LeftOut::read("")?, Chosen::Some(0, &mut Rng::new(1)));
        assert!(!prepared.contains("query") && prepared.contains("DROP TABLE t"), "{prepared}");
        Ok(())
    }
}
