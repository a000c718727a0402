//! The command line of `cohort serve` and option files: both set system variables.
//!
//! Format: `--name=value`, `--name value`, `--name` (ON) and `--skip-name` (OFF), dashes or underscores.
//! An option file has lines `name = value` below `[mysqld]`, `[cohort]` or `[server]`; other groups are
//! skipped. The command line wins over the file, later options over earlier ones.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::sysvars::{Change, Globals, Kind, Setting, SettingError, TABLE, VariableId, nearest};

/// Groups of an option file that are ours.
const GROUPS: &[&str] = &["mysqld", "cohort", "server"];

/// What the command line of `cohort serve` asks for.
#[derive(Debug)]
pub enum Request {
    /// Start with these settings.
    Serve(Globals),
    /// `--help`
    Help,
    /// `--print-defaults` with these settings.
    PrintDefaults(Globals),
}

/// Why the command line or an option file cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option --{name}{}", .nearest.map(|near| format!(" (did you mean --{}?)", near.replace('_', "-"))).unwrap_or_default())]
    Unknown {
        /// As written, without dashes in front.
        name: String,
        /// The variable that is probably meant.
        nearest: Option<&'static str>,
    },
    /// The option needs a value.
    #[error("option --{0} needs a value")]
    NoValue(String),
    /// The option exists, but its value is wrong.
    #[error("option --{}: {source}{}", .name.replace('_', "-"), hint(.name))]
    Value {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        source: SettingError,
    },
    /// The server sets this value; it is read-only.
    #[error("option --{} cannot be set: the server determines it", .0.replace('_', "-"))]
    NotSettable(&'static str),
    /// A word that is no option.
    #[error("unexpected argument '{0}': options begin with --")]
    NoOption(String),
    /// The option file cannot be read.
    #[error("cannot read the option file {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A line of the option file.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// What a variable would take, for a message about a value it did not.
fn hint(name: &str) -> String {
    let kind = VariableId::of(name).map(|id| id.row().kind);
    match kind {
        Some(Kind::Word(words)) => format!("; it takes {}", words.join(", ")),
        Some(Kind::Only(only)) => format!("; only {only} is supported"),
        Some(Kind::OnlyFlag(on)) => format!("; only {} is supported", if on { "ON" } else { "OFF" }),
        Some(Kind::Bool) => "; it takes ON or OFF".to_owned(),
        Some(Kind::Int { min, max }) => {
            format!("; it takes a number from {min} to {max}, sizes may end in K, M, G or T")
        }
        _ => String::new(),
    }
}

/// Reads the arguments after `cohort serve`.
pub fn parse(arguments: &[String]) -> Result<Request, OptionError> {
    let globals = Globals::new();
    let mut print_defaults = false;
    let mut options = Vec::new();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let Some(option) = argument.strip_prefix("--") else {
            match argument.as_str() {
                "-h" | "-?" => return Ok(Request::Help),
                _ => return Err(OptionError::NoOption(argument.clone())),
            }
        };
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let name = name.replace('-', "_").to_ascii_lowercase();
        match name.as_str() {
            "help" => return Ok(Request::Help),
            "print_defaults" => {
                print_defaults = true;
                continue;
            }
            _ => {}
        }
        if value.is_none() && takes_next_argument(&name) && rest.peek().is_some_and(|next| !next.starts_with("--")) {
            value = rest.next().cloned();
        }
        options.push((name, value));
    }
    for (name, value) in &options {
        if name == "defaults_file" {
            let path = value.as_ref().ok_or_else(|| OptionError::NoValue("defaults-file".to_owned()))?;
            read_file(Path::new(path), &globals)?;
        }
    }
    for (name, value) in &options {
        if name != "defaults_file" {
            set(&globals, name, value.as_deref())?;
        }
    }
    match print_defaults {
        true => Ok(Request::PrintDefaults(globals)),
        false => Ok(Request::Serve(globals)),
    }
}

/// Whether the value of an option may be the next argument: not for those that are ON by being there.
fn takes_next_argument(name: &str) -> bool {
    match VariableId::of(name) {
        Some(id) => !matches!(id.row().kind, Kind::Bool | Kind::OnlyFlag(_)),
        None => name == "defaults_file",
    }
}

fn set(globals: &Globals, name: &str, value: Option<&str>) -> Result<(), OptionError> {
    let (id, value) = match (VariableId::of(name), name.strip_prefix("skip_").and_then(VariableId::of)) {
        (Some(id), _) => (id, value),
        (None, Some(id)) if is_flag(id) => (id, Some("OFF")),
        _ => {
            let nearest = nearest(name, TABLE.iter().flat_map(|row| [Some(row.name), row.alias]).flatten());
            return Err(OptionError::Unknown { name: name.replace('_', "-"), nearest });
        }
    };
    let row = id.row();
    if !id.is_option() {
        return Err(OptionError::NotSettable(row.name));
    }
    let value = match value {
        Some(value) => value,
        None if is_flag(id) => "ON",
        None => return Err(OptionError::NoValue(name.replace('_', "-"))),
    };
    let (setting, adjusted) = row.parse(value).map_err(|source| OptionError::Value { name: row.name, source })?;
    if adjusted {
        return Err(OptionError::Value { name: row.name, source: SettingError::Value(value.to_owned()) });
    }
    globals.set(id, setting);
    Ok(())
}

fn is_flag(id: VariableId) -> bool {
    matches!(id.row().kind, Kind::Bool | Kind::OnlyFlag(_))
}

fn read_file(path: &Path, globals: &Globals) -> Result<(), OptionError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| OptionError::File { path: path.to_owned(), reason: error.to_string() })?;
    let mut ours = false;
    for (index, line) in text.lines().enumerate() {
        let wrong = |reason: String| OptionError::Line { path: path.to_owned(), line: index + 1, reason };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            let group = group.strip_suffix(']').ok_or_else(|| wrong("a group must end with ]".to_owned()))?;
            ours = GROUPS.contains(&group.trim());
            continue;
        }
        if !ours {
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(unquote(value))),
            None => (line, None),
        };
        let name = name.replace('-', "_").to_ascii_lowercase();
        set(globals, &name, value.as_deref()).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(())
}

/// A value without the quotes around it, or without the comment after it.
fn unquote(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inner.to_owned();
        }
    }
    value.split(" #").next().unwrap_or_default().trim().to_owned()
}

/// The options that are set from outside, as `--print-defaults` shows them.
pub fn print_defaults(globals: &Globals) -> String {
    let mut text =
        String::from("# The effective configuration. Usable as an option file (--defaults-file=...).\n[cohort]\n");
    for id in VariableId::all().filter(|id| id.is_option()) {
        // Writing to a string cannot fail.
        let _ = match globals.setting(id) {
            Setting::Null => writeln!(text, "{} = NULL", id.row().name),
            setting => writeln!(text, "{} = {}", id.row().name, setting.to_text()),
        };
    }
    text
}

/// The text of `cohort serve --help`.
pub fn help() -> String {
    let mut text = String::from(
        "Usage: cohort serve [OPTIONS]\n\n\
         Starts the server. Every option can also stand in an option file, below [mysqld], [cohort] or\n\
         [server]; dashes and underscores are the same. --name=value, --name value, --skip-name.\n\
         (start) marks what cannot be changed with SET GLOBAL later.\n\n",
    );
    let mut lines = vec![
        ("--defaults-file=PATH".to_owned(), "Read options from this file first.".to_owned()),
        ("--print-defaults".to_owned(), "Print the effective configuration and end.".to_owned()),
        ("--help".to_owned(), "Print this and end.".to_owned()),
    ];
    for id in VariableId::all().filter(|id| id.is_option()) {
        let row = id.row();
        let alias = row.alias.map(|alias| format!(", --{}", alias.replace('_', "-"))).unwrap_or_default();
        let start = if row.change == Change::Anytime { "" } else { " (start)" };
        let name = format!("--{}={}{alias}", row.name.replace('_', "-"), row.default_setting().to_text());
        lines.push((name, format!("{}{start}", row.meaning)));
    }
    for (name, meaning) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<44} {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvars::ids;

    fn serve(arguments: &[&str]) -> Result<Globals, OptionError> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        match parse(&arguments)? {
            Request::Serve(globals) => Ok(globals),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_taken_in_every_form() {
        let globals = serve(&[
            "--port=3307",
            "--Max_Connections",
            "7",
            "--skip-networking",
            "--flush-log-at-trx-commit=2",
            "--sync_binlog=0",
            "--skip-session-track-schema",
        ])
        .unwrap();
        assert_eq!(globals.get(ids::PORT), 3307);
        assert_eq!(globals.get(ids::MAX_CONNECTIONS), 7);
        assert!(globals.get(ids::SKIP_NETWORKING));
        assert_eq!(globals.get(ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT), 2);
        assert_eq!(globals.get(ids::SYNC_BINLOG), 0);
        assert!(!globals.get(ids::SESSION_TRACK_SCHEMA));
    }

    #[test]
    fn mistakes_are_named() {
        let error = serve(&["--max-conections=3"]).unwrap_err();
        assert_eq!(error.to_string(), "unknown option --max-conections (did you mean --max-connections?)");
        assert_eq!(serve(&["--port"]).unwrap_err(), OptionError::NoValue("port".into()));
        assert_eq!(serve(&["--protocol-version=5"]).unwrap_err(), OptionError::NotSettable("protocol_version"));
        let error = serve(&["--port=700000"]).unwrap_err().to_string();
        assert!(
            error.starts_with("option --port: can't be set to the value of '700000'; it takes a number"),
            "{error}"
        );
        assert_eq!(serve(&["x"]).unwrap_err(), OptionError::NoOption("x".into()));
        let error = serve(&["--completion-type=CHAIN"]).unwrap_err().to_string();
        assert_eq!(error, "option --completion-type: can't be set to the value of 'CHAIN'; only NO_CHAIN is supported");
    }

    #[test]
    fn an_option_file_comes_before_the_command_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(
            &path,
            "# c\n[client]\nport=1\n[mysqld]\nport = 3310 # here\nserver-id='9'\nskip-networking\n[other]\nx=1\n",
        )
        .unwrap();
        let file = format!("--defaults-file={}", path.display());
        let globals = serve(&["--port=3311", &file]).unwrap();
        assert_eq!((globals.get(ids::PORT), globals.get(ids::SERVER_ID)), (3311, 9));
        assert!(globals.get(ids::SKIP_NETWORKING));
        std::fs::write(&path, "[cohort]\n\nprot=1\n").unwrap();
        let error = serve(&[&file]).unwrap_err().to_string();
        assert!(error.ends_with("my.cnf, line 3: unknown option --prot (did you mean --port?)"), "{error}");
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("printed.cnf");
        let globals = serve(&["--port=3399", "--long-query-time=0.5", "--sql-mode=ANSI_QUOTES"]).unwrap();
        std::fs::write(&path, print_defaults(&globals)).unwrap();
        let again = serve(&[&format!("--defaults-file={}", path.display())]).unwrap();
        assert_eq!(print_defaults(&again), print_defaults(&globals));
        assert_eq!(again.get(ids::PORT), 3399);
        assert!(help().contains("--flush-log-at-trx-commit"));
    }
}
