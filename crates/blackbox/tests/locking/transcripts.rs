//! Interleavings written by hand, one rule each, with the answers that MariaDB gave.
//!
//! A file of `testdata/locking` has a rule as `# ` lines, then `create` and `insert` lines that make table `t`, and
//! sessions with their levels (`A, B: REPEATABLE READ`); a line `A> statement` is a step, and the indented lines below
//! it are what it brought, to whomever; `ours: ` are what it brings here where that may be something else. `A>
//! (interrupted)` is KILL QUERY, `A> (times out)` waits for that; both do nothing to a session that does not wait.
//! `COHORT_RECORD=1` writes into the files what MariaDB answers, then what our server answers instead: to be read before
//! it is believed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::run::shown;
use crate::side::{Answer, Kind, Side};

/// One rule.
#[derive(Debug, Default)]
struct Transcript {
    line: usize,
    /// The lines before the first step.
    head: Vec<String>,
    columns: String,
    rows: String,
    levels: Vec<String>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    session: usize,
    what: String,
    brought: String,
    /// What it brings on our server instead.
    ours: Option<String>,
}

impl Step {
    fn expected(&self, kind: Kind) -> &str {
        self.ours.as_ref().filter(|_| kind == Kind::Cohort).unwrap_or(&self.brought)
    }
}

fn files() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/locking");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    Ok(files)
}

/// Plays every transcript, with `t` in `engine`, and returns what is not as recorded, or records it.
pub fn check(side: &mut Side, engine: &str, records: bool) -> Result<String> {
    let only = std::env::var("COHORT_SCRIPT").unwrap_or_default();
    let mut report = String::new();
    for file in files()? {
        let mut texts = Vec::new();
        for transcript in parse(&std::fs::read_to_string(&file)?).with_context(|| file.display().to_string())? {
            let name = format!("{}:{}", file.file_name().unwrap_or_default().to_string_lossy(), transcript.line);
            if !name.contains(&only) && !records {
                continue;
            }
            let played = play(side, &transcript, engine).with_context(|| name.clone())?;
            let differs =
                |(now, step): (&Option<String>, &Step)| now.as_ref().is_some_and(|now| now != step.expected(side.kind));
            if let Some(different) = played.iter().zip(&transcript.steps).position(differs) {
                writeln!(report, "\n{name} on {:?}, {engine}\n{}", side.kind, transcript.head.join("\n"))?;
                for step in &transcript.steps[..different] {
                    write!(report, "{}> {}\n{}", crate::run::name(step.session), step.what, step.expected(side.kind))?;
                }
                let (step, now) = (&transcript.steps[different], played[different].as_deref().unwrap_or_default());
                writeln!(report, "{}> {}", crate::run::name(step.session), step.what)?;
                write!(report, "recorded\n{}now\n{now}", step.expected(side.kind))?;
            }
            texts.push(recorded(&transcript, &played, side.kind)?);
        }
        if records {
            std::fs::write(&file, texts.join("\n"))?;
        }
    }
    Ok(if records { String::new() } else { report })
}

/// The text of a transcript with what was played now.
fn recorded(transcript: &Transcript, played: &[Option<String>], kind: Kind) -> Result<String> {
    let mut text = transcript.head.join("\n") + "\n";
    for (step, now) in transcript.steps.iter().zip(played) {
        let now = now.as_deref();
        let (brought, ours) = match kind {
            Kind::MariaDb => (now.unwrap_or_default(), None),
            Kind::Cohort => (step.brought.as_str(), now.filter(|now| *now != step.brought)),
        };
        write!(text, "{}> {}\n{brought}", crate::run::name(step.session), step.what)?;
        for line in ours.unwrap_or_default().lines() {
            writeln!(text, "  ours: {}", line.trim_start())?;
        }
    }
    Ok(text)
}

fn parse(text: &str) -> Result<Vec<Transcript>> {
    let mut transcripts: Vec<Transcript> = Vec::new();
    let mut fresh = true;
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() {
            fresh = true;
            continue;
        }
        if std::mem::take(&mut fresh) {
            transcripts.push(Transcript { line: number + 1, ..Transcript::default() });
        }
        let Some(transcript) = transcripts.last_mut() else { continue };
        if line.starts_with(' ') {
            let step = transcript.steps.last_mut().with_context(|| format!("line {}: no step before", number + 1))?;
            match line.strip_prefix("  ours: ") {
                Some(line) => writeln!(step.ours.get_or_insert_default(), "  {line}")?,
                None => writeln!(step.brought, "{line}")?,
            }
        } else if let Some((session, what)) = line.split_once("> ").filter(|(session, _)| session.len() == 1) {
            let session = usize::from(session.as_bytes()[0] - b'A');
            transcript.steps.push(Step { session, what: what.to_owned(), brought: String::new(), ours: None });
        } else {
            if let Some(columns) = line.strip_prefix("create ") {
                transcript.columns = columns.to_owned();
            } else if let Some(rows) = line.strip_prefix("rows ") {
                transcript.rows = rows.to_owned();
            } else if let (false, Some((sessions, level))) = (line.starts_with("# "), line.split_once(": ")) {
                transcript.levels.extend(sessions.split(", ").map(|_| level.to_owned()));
            } else {
                ensure!(line.starts_with("# "), "line {}: {line}", number + 1);
            }
            transcript.head.push(line.to_owned());
        }
    }
    Ok(transcripts)
}

/// What each step brings; `None` where it is not possible.
fn play(side: &mut Side, transcript: &Transcript, engine: &str) -> Result<Vec<Option<String>>> {
    side.open(transcript.levels.len())?;
    for (session, level) in transcript.levels.iter().enumerate() {
        for sql in [
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
            "SET SESSION innodb_lock_wait_timeout = 600".to_owned(),
        ] {
            ensure!(side.step(session, &sql)? == [(session, Answer::Done(0))], "{sql}");
        }
    }
    for sql in [
        "USE d".to_owned(),
        "DROP TABLE IF EXISTS t".to_owned(),
        format!("CREATE TABLE t ({}) ENGINE={engine}", transcript.columns),
        format!("INSERT INTO t VALUES {}", transcript.rows),
    ] {
        let answer = side.control(&sql)?;
        ensure!(matches!(answer, Answer::Done(_)), "{sql}: {answer:?}");
    }
    let mut played = Vec::new();
    for step in &transcript.steps {
        let before = side.busy();
        let waits = side.is_busy(step.session);
        let answers = match step.what.as_str() {
            "(interrupted)" if waits => side.interrupt(step.session)?,
            "(times out)" if waits => side.until_answered(step.session)?,
            "(interrupted)" | "(times out)" => {
                played.push(None);
                continue;
            }
            // It waits where it should not: what differs was seen already.
            _ if waits => Vec::new(),
            sql => side.step(step.session, sql)?,
        };
        played.push(Some(shown("", &answers, &side.busy(), &before)));
    }
    side.hang_up()?;
    Ok(played)
}
