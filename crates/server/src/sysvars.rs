//! System variables: one table that SET, `@@name`, SHOW VARIABLES, `--help`, option files and
//! `--print-defaults` all read.
//!
//! Outline: [`table`] holds the rows; a [`Setting`] is a checked value of one of them; [`Globals`] are
//! the server's values; [`SessionSettings`] one connection's, which start as a copy of the global ones
//! and cost a pointer until the first SET.
//!
//! Invariants
//! 1. A [`Setting`] in [`Globals`] or [`SessionSettings`] has passed its row's check: readers need no
//!    other.
//! 2. What a row offers works. A feature that is not there has a row that takes only the value saying
//!    so ([`Kind::Only`]).
//!
//! Not here: what a new value changes in the running server (`session::variables`).

mod parse;
pub mod table;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cohort_sql::value::Value;
use parking_lot::RwLock;

pub use parse::{SettingError, charset, nearest};
pub use table::TABLE;

/// Where a variable has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One value for the server.
    Global,
    /// One value for each session, none for the server.
    Session,
    /// One for each session, which starts as the server's.
    Both,
    /// As [`Scope::Both`], but only the server's can be set.
    GlobalSessionReadOnly,
}

/// When a variable can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// By SET, and at the start.
    Anytime,
    /// By an option at the start.
    AtStart,
    /// Never: the server says how things are.
    Never,
}

/// What values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// ON or OFF.
    Bool,
    /// An integer. Values beyond the ends are brought to the end, with a warning.
    Int {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: u64,
    },
    /// Seconds with a fraction.
    Double {
        /// The least value.
        min: f64,
        /// The greatest value.
        max: f64,
    },
    /// One of these words, or its place in the list.
    Word(&'static [&'static str]),
    /// Only this value: the feature that it would turn on or off is not there.
    Only(&'static str),
    /// As [`Kind::Only`], of a variable that is ON or OFF.
    OnlyFlag(bool),
    /// Any text.
    Text,
    /// Any text, or NULL.
    TextOrNull,
    /// A list of SQL modes.
    SqlMode,
    /// SYSTEM, or an offset from UTC.
    TimeZone,
    /// The name of a character set.
    Charset,
    /// The name of a character set, or NULL.
    CharsetOrNull,
    /// The name of a collation.
    Collation,
    /// The name of an engine; InnoDB stands for the one that tables get.
    Engine,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct SystemVariable {
    /// The name, in lower case with underscores.
    pub name: &'static str,
    /// Another name of the same variable.
    pub alias: Option<&'static str>,
    /// Where it has values.
    pub scope: Scope,
    /// What values it takes.
    pub kind: Kind,
    /// The value it starts with, as an option file would say it.
    pub default: &'static str,
    /// When it can be changed.
    pub change: Change,
    /// What it does, for `--help`.
    pub meaning: &'static str,
}

impl SystemVariable {
    /// The value it starts with.
    pub fn default_setting(&self) -> Setting {
        self.parse(self.default).map(|(setting, _)| setting).expect("the table's defaults pass their own check")
    }

    /// One of its values as an expression sees it.
    pub fn value(&self, setting: &Setting) -> Value {
        match setting {
            Setting::Null => Value::Null,
            Setting::Bool(on) => Value::bool(*on),
            Setting::Int(value) => Value::UInt(*value),
            Setting::Double(value) => Value::Double(*value),
            Setting::Text(text) => match (self.kind, text.parse()) {
                (Kind::Only(_), Ok(number)) => Value::UInt(number),
                _ => Value::Text(text.clone()),
            },
        }
    }
}

/// A place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(u16);

impl VariableId {
    /// The variable called `name` (lower case, underscores), by either of its names.
    pub fn of(name: &str) -> Option<VariableId> {
        static NAMES: LazyLock<HashMap<&'static str, VariableId>> = LazyLock::new(|| {
            let names = TABLE.iter().enumerate().flat_map(|(index, row)| {
                let id = VariableId(index as u16);
                [Some((row.name, id)), row.alias.map(|alias| (alias, id))].into_iter().flatten()
            });
            names.collect()
        });
        NAMES.get(name).copied()
    }

    /// Its row.
    pub fn row(self) -> &'static SystemVariable {
        &TABLE[usize::from(self.0)]
    }

    /// Every variable, in the table's order.
    pub fn all() -> impl Iterator<Item = VariableId> {
        (0..TABLE.len()).map(|index| VariableId(index as u16))
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// NULL.
    Null,
    /// ON or OFF.
    Bool(bool),
    /// A number; rows with a negative minimum keep theirs as two's complement.
    Int(u64),
    /// A number with a fraction.
    Double(f64),
    /// Text.
    Text(Arc<str>),
}

impl Setting {
    /// Text.
    pub fn text(text: impl Into<Arc<str>>) -> Setting {
        Setting::Text(text.into())
    }

    /// As SHOW VARIABLES and option files write it; NULL is empty.
    pub fn to_text(&self) -> String {
        match self {
            Setting::Null => String::new(),
            Setting::Bool(on) => if *on { "ON" } else { "OFF" }.to_owned(),
            Setting::Int(value) => value.to_string(),
            Setting::Double(value) => format!("{value:.6}"),
            Setting::Text(text) => text.to_string(),
        }
    }
}

/// The server's values.
#[derive(Debug)]
pub struct Globals {
    values: RwLock<Arc<[Setting]>>,
}

impl Default for Globals {
    fn default() -> Self {
        Globals::new()
    }
}

impl Globals {
    /// Every variable at its default.
    pub fn new() -> Globals {
        Globals { values: RwLock::new(VariableId::all().map(|id| id.row().default_setting()).collect()) }
    }

    /// The value of a variable.
    pub fn get(&self, id: VariableId) -> Setting {
        self.values.read()[id.index()].clone()
    }

    /// Changes a variable, for sessions that begin later and for the server.
    pub fn set(&self, id: VariableId, value: Setting) {
        let mut values = self.values.write();
        let mut changed: Vec<Setting> = values.to_vec();
        changed[id.index()] = value;
        *values = changed.into();
    }

    /// All values at this moment.
    pub fn snapshot(&self) -> Arc<[Setting]> {
        self.values.read().clone()
    }

    /// The value of a boolean row.
    ///
    /// # Panics
    /// When `name` is no boolean row of the table.
    pub fn flag(&self, name: &'static str) -> bool {
        match self.named(name) {
            Setting::Bool(on) => on,
            other => panic!("{name} is {other:?}, not a flag"),
        }
    }

    /// The value of an integer row.
    ///
    /// # Panics
    /// When `name` is no integer row of the table.
    pub fn int(&self, name: &'static str) -> u64 {
        match self.named(name) {
            Setting::Int(value) => value,
            other => panic!("{name} is {other:?}, not a number"),
        }
    }

    /// The value of a row of words or text, empty for NULL.
    ///
    /// # Panics
    /// When `name` is not in the table.
    pub fn text(&self, name: &'static str) -> String {
        self.named(name).to_text()
    }

    /// Changes the row called `name`.
    ///
    /// # Panics
    /// When `name` is not in the table.
    pub fn set_named(&self, name: &'static str, value: Setting) {
        self.set(VariableId::of(name).expect("the name is in the table"), value);
    }

    fn named(&self, name: &'static str) -> Setting {
        self.get(VariableId::of(name).expect("the name is in the table"))
    }
}

/// One session's values.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    start: Arc<[Setting]>,
    own: Vec<(VariableId, Setting)>,
}

impl SessionSettings {
    /// A session that begins now.
    pub fn new(globals: &Globals) -> SessionSettings {
        SessionSettings { start: globals.snapshot(), own: Vec::new() }
    }

    /// The session's value.
    pub fn get(&self, id: VariableId) -> &Setting {
        let own = self.own.iter().find(|(own, _)| *own == id);
        own.map_or(&self.start[id.index()], |(_, value)| value)
    }

    /// Changes the session's value.
    pub fn set(&mut self, id: VariableId, value: Setting) {
        match self.own.iter_mut().find(|(own, _)| *own == id) {
            Some((_, old)) => *old = value,
            None => self.own.push((id, value)),
        }
    }
}

#[cfg(test)]
mod tests;
