//! What every kind of event gives: its codes, a decoder, a description.

use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType};

/// An event's body, decoded. Encoding it is a function of its file.
pub(super) trait EventKind<'a>: Sized {
    /// Its types, with the names that `SHOW BINLOG EVENTS` gives them.
    const TYPES: &'static [(EventType, &'static str)];

    /// Takes the body apart.
    fn decode(header: &EventHeader, fields: &mut Fields<'a>) -> Result<Self, DecodeError>;

    /// Says what it says. `tables` are the table maps before it.
    fn describe(&self, tables: &Tables) -> Result<Description, DecodeError>;

    /// What SHOW BINLOG EVENTS says of it.
    fn info(&self) -> String;
}

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// For people, on one line.
    pub text: String,
    /// For programs: names and values.
    pub fields: Vec<(&'static str, Shown)>,
}

/// A value in a [`Description`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Anything else.
    Text(String),
}

impl From<u64> for Shown {
    fn from(number: u64) -> Shown {
        Shown::Number(number)
    }
}

impl From<bool> for Shown {
    fn from(flag: bool) -> Shown {
        Shown::Flag(flag)
    }
}

impl From<String> for Shown {
    fn from(text: String) -> Shown {
        Shown::Text(text)
    }
}
