//! System variables: one table that SET, `@@name`, SHOW VARIABLES, `--help`, option files and
//! `--print-defaults` all read.
//!
//! Outline: [`table`] holds the rows; [`ids`] names the rows that code reads; a [`Setting`] is a checked value of one of
//! them; [`Globals`] are the server's values; [`SessionSettings`] one connection's, which start as a copy of the global
//! ones and cost a pointer until the first SET.
//!
//! Invariants
//! 1. A [`Setting`] in [`Globals`] or [`SessionSettings`] has passed its row's check: readers need no
//!    other.
//! 2. What a row offers works. A feature that is not there has a row that takes only the value saying
//!    so ([`Kind::Only`]).
//!
//! Not here: how an [`Effect`] is brought about (`session::environment`).

pub mod ids;
mod parse;
pub mod table;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cohort_io::sync::RwLock;
use cohort_sql::collation::Collation as Coll;
use cohort_sql::session::SessionState;
use cohort_sql::value::Value;

pub use ids::{Id, Typed};
pub use parse::{SettingError, nearest};
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
    /// By SET alone.
    BySet,
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
    /// A list of roles, as statements name them.
    Roles,
    /// Any text, or NULL.
    TextOrNull,
    /// A list of switches of the planner, each on or off.
    Switches,
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

/// Where a variable's value is found.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Among the settings.
    Setting,
    /// In the session's state.
    Session(fn(&SessionState) -> Value),
    /// Of a session, this of its default database's collation, or of the one that was set instead. Among the settings if it
    /// has none.
    DefaultDatabase(fn(Coll) -> &'static str),
    /// CONNECTION_ID()
    ConnectionId,
    /// What the commit path has executed.
    GtidExecuted,
    /// What the binlog no longer has.
    GtidPurged,
    /// What sessions have chosen for their next transactions.
    GtidOwned,
}

/// How a session's state gets a value: when the session begins, and with SET.
#[derive(Clone, Copy, Debug)]
pub enum Apply {
    /// Not at all: whoever needs it reads the setting.
    Nothing,
    /// Of ON or OFF.
    Flag(fn(&mut SessionState, bool)),
    /// Of a number.
    Int(fn(&mut SessionState, u64)),
    /// Of a number with a fraction.
    Double(fn(&mut SessionState, f64)),
    /// Of text.
    Text(fn(&mut SessionState, &Arc<str>)),
    /// Of text that may be NULL.
    TextOrNull(fn(&mut SessionState, Option<&Arc<str>>)),
}

/// What in the server follows a new global value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: whoever needs it reads the setting.
    Nothing,
    /// The commit path gets its settings again.
    CommitPath,
    /// The operator's log gets its settings again.
    OperatorLog,
    /// The limits of memory are worked out again.
    MemoryLimits,
    /// The audit log gets its policy again.
    AuditLog,
    /// Hosts are forgotten.
    HostCache,
    /// Wrong passwords are forgotten.
    WrongPasswords,
    /// Every account has other roles.
    MandatoryRoles,
    /// Sessions may change something, or not any more.
    ReadOnly,
}

/// The variable that follows when another is set, and its value for the other's; `None` leaves it.
pub type Leads = (&'static str, fn(&str) -> Option<&'static str>);

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
    /// How it is read.
    pub source: Source,
    /// What a new value changes in a session.
    pub apply: Apply,
    /// What a new global value changes in the server.
    pub effect: Effect,
    /// Its session value is not for everybody: `SESSION_VARIABLES_ADMIN`.
    pub restricted: bool,
    /// SET_VAR takes it.
    pub hintable: bool,
    /// The variable that gets a value with it.
    pub leads: Option<Leads>,
}

impl SystemVariable {
    /// The value it starts with.
    pub fn default_setting(&self) -> Setting {
        self.parse(self.default).map(|(setting, _)| setting).expect("the table's defaults pass their own check")
    }

    /// Brings a session's state into step with a setting of the variable.
    pub fn apply_to(&self, session: &mut SessionState, setting: &Setting) {
        match (self.apply, setting) {
            (Apply::Flag(apply), Setting::Bool(on)) => apply(session, *on),
            (Apply::Int(apply), Setting::Int(value)) => apply(session, *value),
            (Apply::Double(apply), Setting::Double(value)) => apply(session, *value),
            (Apply::Text(apply), Setting::Text(text)) => apply(session, text),
            (Apply::TextOrNull(apply), Setting::Text(text)) => apply(session, Some(text)),
            (Apply::TextOrNull(apply), Setting::Null) => apply(session, None),
            _ => {}
        }
    }

    /// The variable that follows a new setting, and its setting.
    pub fn follower(&self, setting: &Setting) -> Option<(VariableId, Setting)> {
        let (name, value) = self.leads?;
        let id = VariableId::of(name).expect("the table leads to itself");
        let (setting, _) = id.row().parse(value(&setting.to_text())?).expect("a value of the other variable");
        Some((id, setting))
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

    /// Whether it can be given at the start.
    pub fn is_option(self) -> bool {
        let row = self.row();
        !matches!(row.change, Change::Never | Change::BySet) && row.scope != Scope::Session
    }

    /// Every variable, in the table's order.
    pub fn all() -> impl Iterator<Item = VariableId> {
        (0..TABLE.len()).map(|index| VariableId(index as u16))
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Whether two names are the same; for the compiler.
pub(crate) const fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
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
    pub fn setting(&self, id: VariableId) -> Setting {
        self.values.read()[id.index()].clone()
    }

    /// The value of a variable that the server's code knows.
    pub fn get<T: Typed>(&self, id: Id<T>) -> T {
        typed(&self.values.read()[VariableId::from(id).index()])
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

    /// Changes a variable that the server's code knows.
    pub fn put<T: Typed>(&self, id: Id<T>, value: impl Into<T>) {
        self.set(id.into(), value.into().into_setting());
    }
}

/// [`Id`]s are of the type that their rows' values have.
fn typed<T: Typed>(setting: &Setting) -> T {
    T::of(setting).expect("the type of a row does not change")
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
    pub fn setting(&self, id: VariableId) -> &Setting {
        let own = self.own.iter().find(|(own, _)| *own == id);
        own.map_or(&self.start[id.index()], |(_, value)| value)
    }

    /// The session's value of a variable that the server's code knows.
    pub fn get<T: Typed>(&self, id: Id<T>) -> T {
        typed(self.setting(id.into()))
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
