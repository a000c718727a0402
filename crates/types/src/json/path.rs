//! Paths into documents: `$.key`, `$[2]`, `$[last - 1]`, `$[0 to 2]`, `$.*`, `$[*]`, `$**.key`.

use super::{Json, Object};
use crate::error::{ER_INVALID_JSON_PATH, SqlError};

/// Where in a document to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<Leg>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leg {
    /// `.key`
    Member(String),
    /// `.*`
    AnyMember,
    /// `[2]`
    Cell(Place),
    /// `[0 to 2]`
    Range(Place, Place),
    /// `[*]`
    AnyCell,
    /// `**`: here and everywhere below.
    Below,
}

/// A place in an array, from its beginning or from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    FromStart(usize),
    FromEnd(usize),
}

impl Place {
    /// The place in an array of so many; `None` before its beginning.
    fn of(self, len: usize) -> Option<usize> {
        match self {
            Place::FromStart(at) => Some(at),
            Place::FromEnd(at) => len.checked_sub(at + 1),
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn takes(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn refuse<T>(&self) -> Result<T, SqlError> {
        Err(SqlError::new(ER_INVALID_JSON_PATH, &[&self.at]))
    }

    fn number(&mut self) -> Result<usize, SqlError> {
        self.skip_spaces();
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        match self.rest()[..digits].parse::<u32>() {
            Ok(number) => {
                self.at += digits;
                Ok(number as usize)
            }
            Err(_) => self.refuse(),
        }
    }

    fn place(&mut self) -> Result<Place, SqlError> {
        if !self.takes("last") {
            return self.number().map(Place::FromStart);
        }
        let from_end = if self.takes("-") { self.number()? } else { 0 };
        Ok(Place::FromEnd(from_end))
    }

    fn cells(&mut self) -> Result<Leg, SqlError> {
        let leg = if self.takes("*") {
            Leg::AnyCell
        } else {
            let first = self.place()?;
            let spaced = self.rest().starts_with(|c: char| c.is_ascii_whitespace());
            if spaced && self.takes("to") {
                let last = self.place()?;
                let ordered = match (first, last) {
                    (Place::FromStart(a), Place::FromStart(b)) => a <= b,
                    (Place::FromEnd(a), Place::FromEnd(b)) => a >= b,
                    (Place::FromStart(_), Place::FromEnd(_)) | (Place::FromEnd(_), Place::FromStart(_)) => true,
                };
                if !ordered {
                    return self.refuse();
                }
                Leg::Range(first, last)
            } else {
                Leg::Cell(first)
            }
        };
        if self.takes("]") { Ok(leg) } else { self.refuse() }
    }

    fn member(&mut self) -> Result<Leg, SqlError> {
        if self.takes("*") {
            return Ok(Leg::AnyMember);
        }
        self.skip_spaces();
        if self.rest().starts_with('"') {
            let mut escaped = false;
            let end = self.rest().char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let Some((end, _)) = end else { return self.refuse() };
            let Ok(Json::Text(key)) = Json::parse(&self.rest()[..=end]) else { return self.refuse() };
            self.at += end + 1;
            return Ok(Leg::Member(key.to_string()));
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$') || (!c.is_ascii() && !c.is_whitespace());
        let end = self.rest().find(|c: char| !is_part(c)).unwrap_or(self.rest().len());
        let key = self.rest()[..end].to_owned();
        if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) {
            return self.refuse();
        }
        self.at += end;
        Ok(Leg::Member(key))
    }
}

impl Path {
    /// The path of a text; error 3143 if it is none.
    pub fn parse(text: &str) -> Result<Path, SqlError> {
        let mut scanner = Scanner { text, at: 0 };
        if !scanner.takes("$") {
            return scanner.refuse();
        }
        let mut legs = Vec::new();
        loop {
            scanner.skip_spaces();
            if scanner.rest().is_empty() {
                break;
            }
            legs.push(if scanner.takes("**") {
                Leg::Below
            } else if scanner.takes(".") {
                scanner.member()?
            } else if scanner.takes("[") {
                scanner.cells()?
            } else {
                return scanner.refuse();
            });
            if legs.len() > super::MAX_DEPTH {
                return scanner.refuse();
            }
        }
        // Something has to be looked for everywhere.
        if legs.last() == Some(&Leg::Below) { scanner.refuse() } else { Ok(Path(legs)) }
    }

    /// Whether it may lead to several places.
    pub fn has_wildcard(&self) -> bool {
        self.0.iter().any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)))
    }
}

/// The leg to a member, as a text: with quotes where the key is no identifier.
pub fn member_leg(key: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let plain = !key.is_empty() && !key.starts_with(|c: char| c.is_ascii_digit()) && key.chars().all(is_part);
    if plain {
        return format!(".{key}");
    }
    let mut leg = ".".to_owned();
    super::quote(key, &mut leg);
    leg
}

impl Json {
    /// What a path leads to, each place once.
    pub fn seek<'j>(&'j self, path: &Path) -> Vec<&'j Json> {
        let (mut found, mut several) = (vec![self], false);
        for leg in &path.0 {
            let mut next: Vec<&Json> = Vec::new();
            for place in found {
                place.step(leg, &mut next);
            }
            several |= matches!(leg, Leg::Below);
            if several {
                let mut known = std::collections::HashSet::new();
                next.retain(|place| known.insert(std::ptr::from_ref(*place)));
            }
            found = next;
        }
        found
    }

    /// What a path leads to, each place once, with the path to it that has no wildcards.
    pub fn locate(&self, path: &Path) -> Vec<(String, &Json)> {
        let mut found: Vec<(String, &Json)> = vec![("$".to_owned(), self)];
        for leg in &path.0 {
            let mut next: Vec<(String, &Json)> = Vec::new();
            for (at, json) in found {
                json.step_from(at, leg, &mut next);
            }
            let mut known = std::collections::HashSet::new();
            next.retain(|(_, place)| known.insert(std::ptr::from_ref(*place)));
            found = next;
        }
        found
    }

    fn step_from<'j>(&'j self, at: String, leg: &Leg, found: &mut Vec<(String, &'j Json)>) {
        match (leg, self) {
            (Leg::Below, _) => {
                match self {
                    Json::Array(items) => {
                        let each = items.iter().enumerate();
                        each.for_each(|(cell, item)| item.step_from(format!("{at}[{cell}]"), leg, found));
                    }
                    Json::Object(members) => {
                        members
                            .iter()
                            .for_each(|(key, value)| value.step_from(at.clone() + &member_leg(key), leg, found));
                    }
                    _ => {}
                }
                found.push((at, self));
            }
            (Leg::Member(_) | Leg::AnyMember, Json::Object(members)) => {
                let meant = |key: &str| !matches!(leg, Leg::Member(wanted) if wanted != key);
                let meant = members.iter().filter(|(key, _)| meant(key));
                found.extend(meant.map(|(key, value)| (at.clone() + &member_leg(key), value)));
            }
            _ => {
                let mut places = Vec::new();
                self.step(leg, &mut places);
                let Json::Array(items) = self else {
                    // What is no array stands for its only cell.
                    found.extend(places.into_iter().map(|place| (at.clone(), place)));
                    return;
                };
                let places: std::collections::HashSet<*const Json> =
                    places.into_iter().map(std::ptr::from_ref).collect();
                let cells = items.iter().enumerate().filter(|(_, item)| places.contains(&std::ptr::from_ref(*item)));
                found.extend(cells.map(|(cell, item)| (format!("{at}[{cell}]"), item)));
            }
        }
    }

    /// What a leg leads to. What is no array counts as one that holds it alone.
    fn step<'j>(&'j self, leg: &Leg, found: &mut Vec<&'j Json>) {
        let cells: &[Json] = match self {
            Json::Array(items) => items,
            other => std::slice::from_ref(other),
        };
        match (leg, self) {
            (Leg::Member(key), Json::Object(members)) => found.extend(members.get(key)),
            (Leg::AnyMember, Json::Object(members)) => found.extend(members.iter().map(|(_, value)| value)),
            (Leg::Member(_) | Leg::AnyMember, _) => {}
            (Leg::Cell(place), _) => found.extend(place.of(cells.len()).and_then(|at| cells.get(at))),
            (Leg::Range(first, last), _) => {
                // A range may begin before the array does.
                let first = first.of(cells.len()).unwrap_or(0);
                if let Some(last) = last.of(cells.len()) {
                    found.extend(cells.iter().take(last.saturating_add(1)).skip(first));
                }
            }
            (Leg::AnyCell, Json::Array(items)) => found.extend(items),
            (Leg::AnyCell, _) => {}
            (Leg::Below, _) => self.below(found),
        }
    }

    fn below<'j>(&'j self, found: &mut Vec<&'j Json>) {
        found.push(self);
        match self {
            Json::Array(items) => items.iter().for_each(|item| item.below(found)),
            Json::Object(members) => members.iter().for_each(|(_, value)| value.below(found)),
            _ => {}
        }
    }

    fn seek_mut(&mut self, legs: &[Leg]) -> Option<&mut Json> {
        let Some((leg, rest)) = legs.split_first() else { return Some(self) };
        let next = match (leg, self) {
            (Leg::Member(key), Json::Object(members)) => members.get_mut(key)?,
            (Leg::Cell(place), Json::Array(items)) => {
                let at = place.of(items.len())?;
                items.get_mut(at)?
            }
            (Leg::Cell(place), other) if !matches!(other, Json::Array(_)) && place.of(1) == Some(0) => other,
            _ => return None,
        };
        next.seek_mut(rest)
    }

    /// JSON_SET, JSON_INSERT and JSON_REPLACE: sets what is there if `replaces`, and what is not if `inserts`. The path
    /// has no wildcards.
    pub fn set(&mut self, path: &Path, value: Json, replaces: bool, inserts: bool) {
        if let Some(there) = self.seek_mut(&path.0) {
            if replaces {
                *there = value;
            }
            return;
        }
        let Some((last, before)) = path.0.split_last().filter(|_| inserts) else { return };
        let Some(parent) = self.seek_mut(before) else { return };
        match (last, parent) {
            (Leg::Member(key), Json::Object(members)) => members.set(key.as_str(), value),
            (Leg::Cell(place), Json::Array(items)) => match place.of(items.len()) {
                Some(_) => items.push(value),
                None => items.insert(0, value),
            },
            (Leg::Cell(place), other) => {
                let own = std::mem::replace(other, Json::Null);
                *other = Json::Array(if place.of(1).is_some() { vec![own, value] } else { vec![value, own] });
            }
            _ => {}
        }
    }

    /// JSON_REMOVE: takes away what is there. The path has no wildcards, and a leg.
    pub fn remove(&mut self, path: &Path) {
        let Some((last, before)) = path.0.split_last() else { return };
        match (last, self.seek_mut(before)) {
            (Leg::Member(key), Some(Json::Object(members))) => members.remove(key),
            (Leg::Cell(place), Some(Json::Array(items))) => {
                if let Some(at) = place.of(items.len()).filter(|at| *at < items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }

    /// JSON_ARRAY_APPEND: adds to the array that is there, or to one of what is there.
    pub fn append(&mut self, path: &Path, value: Json) {
        match self.seek_mut(&path.0) {
            Some(Json::Array(items)) => items.push(value),
            Some(other) => {
                let own = std::mem::replace(other, Json::Null);
                *other = Json::Array(vec![own, value]);
            }
            None => {}
        }
    }

    /// JSON_ARRAY_INSERT: puts a value before the place of the path, whose last leg is one of an array.
    pub fn insert_before(&mut self, path: &Path, value: Json) {
        let Some((Leg::Cell(place), before)) = path.0.split_last() else { return };
        if let Some(Json::Array(items)) = self.seek_mut(before) {
            let at = place.of(items.len()).unwrap_or(0).min(items.len());
            items.insert(at, value);
        }
    }

    /// JSON_MERGE_PATCH: members of the patch replace those of the same keys, null takes them away.
    pub fn patched(self, patch: &Json) -> Json {
        let Json::Object(changes) = patch else { return patch.clone() };
        let mut members = match self {
            Json::Object(members) => members,
            _ => Object::default(),
        };
        for (key, change) in changes.iter() {
            if *change == Json::Null {
                members.remove(key);
            } else {
                let own = members.get(key).cloned().unwrap_or(Json::Null);
                members.set(key.clone(), own.patched(change));
            }
        }
        Json::Object(members)
    }

    /// JSON_MERGE_PRESERVE: arrays are put together, objects by their keys, anything else is an array of itself.
    pub fn merged(self, other: Json) -> Json {
        match (self, other) {
            (Json::Object(mut members), Json::Object(others)) => {
                for (key, value) in others.0 {
                    let merged = match members.get(&key) {
                        Some(own) => own.clone().merged(value),
                        None => value,
                    };
                    members.set(key, merged);
                }
                Json::Object(members)
            }
            (own, other) => {
                let items = |json| match json {
                    Json::Array(items) => items,
                    other => vec![other],
                };
                Json::Array([items(own), items(other)].concat())
            }
        }
    }
}
