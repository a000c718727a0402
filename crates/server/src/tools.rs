//! The operator's tools beside `serve`: they look at a data directory or at log files, and change nothing.
//!
//! Each ends with status 1 when it found a fault or could not look; every fault is printed with its file and,
//! where there is one, its offset.

mod binlog_dump;
mod check;
mod journal_dump;

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::PathBuf;

use cohort_txn::Fault;
use serde::Serialize;

pub use binlog_dump::binlog_dump;
pub use check::check;
pub use journal_dump::journal_dump;

/// Why a tool ended without success.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The command line asks for something that is not there; the text says how to do it right.
    #[error("{0}")]
    Usage(String),
    /// The tool could not begin, or not write what it found.
    #[error("{0}")]
    Failed(String),
    /// What it looked at has faults, which it has printed.
    #[error("faults found: {0}")]
    Faults(usize),
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> ToolError {
        ToolError::Failed(format!("cannot write: {error}"))
    }
}

/// A tool's command line: paths, and options without or with a value.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    paths: Vec<PathBuf>,
    flags: Vec<String>,
    values: Vec<(String, String)>,
}

impl Arguments {
    /// Reads `arguments`; options that are neither in `flags` nor in `values` are refused with `usage`.
    fn parse(arguments: &[String], usage: &str, flags: &[&str], values: &[&str]) -> Result<Arguments, ToolError> {
        let wrong = |what: String| Err(ToolError::Usage(format!("{what}\n{usage}")));
        let mut parsed = Arguments::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix("--") else {
                parsed.paths.push(PathBuf::from(argument));
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            if flags.contains(&name) && value.is_none() {
                parsed.flags.push(name.to_owned());
            } else if values.contains(&name) {
                match value.or_else(|| rest.next().cloned()) {
                    Some(value) => parsed.values.push((name.to_owned(), value)),
                    None => return wrong(format!("option --{name} needs a value")),
                }
            } else {
                return wrong(format!("unknown option {argument}"));
            }
        }
        Ok(parsed)
    }

    fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What a dump writes to: text for people, or one line of JSON an entry.
struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    faults: usize,
}

impl Lines {
    fn new(json: bool) -> Lines {
        Lines { out: BufWriter::new(io::stdout().lock()), json, faults: 0 }
    }

    /// Writes one entry in the form that was asked for.
    fn entry(&mut self, entry: &impl Serialize, text: impl FnOnce() -> String) -> io::Result<()> {
        match self.json {
            true => {
                serde_json::to_writer(&mut self.out, entry)?;
                writeln!(self.out)
            }
            false => writeln!(self.out, "{}", text()),
        }
    }

    /// Writes a fault: to standard error for people, and as an entry for programs.
    fn fault(&mut self, fault: &Fault) -> io::Result<()> {
        #[derive(Serialize)]
        struct Line<'a> {
            fault: &'a Fault,
        }
        self.faults += 1;
        if self.json {
            self.entry(&Line { fault }, String::new)?;
        }
        self.out.flush()?;
        eprintln!("fault: {fault}");
        Ok(())
    }

    fn finish(mut self) -> Result<(), ToolError> {
        self.out.flush()?;
        match self.faults {
            0 => Ok(()),
            faults => Err(ToolError::Faults(faults)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Arguments::parse(&arguments, "Usage", &["all"], &["json"]).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_and_options_come_in_any_order() {
        let parsed = parse(&["--all", "a", "--json", "x", "b"]).unwrap();
        assert_eq!(parsed.paths, [PathBuf::from("a"), PathBuf::from("b")]);
        assert!(parsed.flag("all"));
        assert_eq!(parsed.value("json"), Some("x"));
        assert_eq!(parse(&["--json=1", "--json=2"]).unwrap().value("json"), Some("2"));
    }

    #[test]
    fn mistakes_are_answered_with_the_usage() {
        assert_eq!(parse(&["--al"]).unwrap_err(), "unknown option --al\nUsage");
        assert_eq!(parse(&["--all=1"]).unwrap_err(), "unknown option --all=1\nUsage");
        assert_eq!(parse(&["--json"]).unwrap_err(), "option --json needs a value\nUsage");
    }
}
