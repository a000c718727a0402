//! JSON Schema, draft 4: whether a document is what a schema says, and what fails first.
//!
//! That is what MySQL finds first, whose validator reads the document from its beginning to its end: members and elements
//! come before what is said of the whole object or array, `enum`, `allOf` and the like at last. Members come in the order
//! in which a JSON column has them. Like that validator it takes a schema that is no object, a reference that leads nowhere
//! and a pattern that is none for no restriction, and the names of `required` and `dependencies` for `properties`.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use regex::bytes::Regex;

use super::super::regexp;
use crate::error::{ER_JSON_DOCUMENT_TOO_DEEP, ER_REGEXP_PATTERN_TOO_BIG, ER_REGEXP_UNIMPLEMENTED, SqlError};
use crate::expr::StatementContext;
use crate::types::json::{Json, Object};

/// How deep schemas within others may be, with all that is referred to: those that refer to themselves end.
const MAX_DEPTH: usize = 200;
/// Patterns that are kept compiled.
const KEPT: usize = 32;

/// A requirement that is not met.
pub(super) struct Failure {
    pub(super) keyword: &'static str,
    /// Where in the schema and in the document, as fragments of a URI.
    pub(super) schema: String,
    pub(super) document: String,
}

/// What was found, with the schema that it is of; none where nothing is restricted.
struct Found<'s> {
    keyword: &'static str,
    schema: Option<&'s Json>,
    document: String,
}

type Checked<'s> = Result<Option<Found<'s>>, SqlError>;

/// A schema and its own members.
type Schema<'s> = (&'s Json, &'s Object);

/// One step to a part of the document.
enum Token<'d> {
    Key(&'d str),
    Cell(usize),
}

/// What fails first, if anything does. 1235 for a schema that refers to another document, 3690 and 3700 for a pattern that
/// cannot be looked for, 3157 for one that refers to itself without an end.
pub(super) fn validate(
    schema: &Json,
    document: &Json,
    statement: &dyn StatementContext,
) -> Result<Option<Failure>, SqlError> {
    if refers_elsewhere(schema) {
        return Err(SqlError::unsupported("references in JSON Schema"));
    }
    let mut validator =
        Validator { root: schema, at: Vec::new(), depth: 0, steps: 0, patterns: HashMap::new(), statement };
    let found = validator.check(Some(schema), document)?;
    Ok(found.map(|found| Failure {
        keyword: found.keyword,
        schema: found.schema.and_then(|failed| fragment_of(failed, schema)).unwrap_or_else(|| "#".to_owned()),
        document: found.document,
    }))
}

/// Whether any object refers to another document.
fn refers_elsewhere(schema: &Json) -> bool {
    match schema {
        Json::Object(members) => {
            matches!(members.get("$ref"), Some(Json::Text(uri)) if !uri.is_empty() && !uri.starts_with('#'))
                || members.iter().any(|(_, value)| refers_elsewhere(value))
        }
        Json::Array(items) => items.iter().any(refers_elsewhere),
        _ => false,
    }
}

struct Validator<'s, 'd> {
    root: &'s Json,
    /// Where it is in the document.
    at: Vec<Token<'d>>,
    depth: usize,
    steps: u32,
    /// Those that are no patterns are `None`.
    patterns: HashMap<&'s str, Option<Regex>>,
    statement: &'d dyn StatementContext,
}

impl<'s, 'd> Validator<'s, 'd> {
    fn check(&mut self, schema: Option<&'s Json>, value: &'d Json) -> Checked<'s> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(1024) {
            self.statement.check_killed()?;
        }
        let Some((schema, own)) = schema.and_then(|schema| self.referred_to(schema)) else { return Ok(None) };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SqlError::new(ER_JSON_DOCUMENT_TOO_DEEP, &[]));
        }
        let place = self.at.len();
        let found = self.check_own((schema, own), value)?;
        self.at.truncate(place);
        self.depth -= 1;
        Ok(found)
    }

    /// The schema itself, or the one that it refers to; `None` if there is no restriction.
    fn referred_to(&self, mut schema: &'s Json) -> Option<Schema<'s>> {
        for _ in 0..MAX_DEPTH {
            let Json::Object(own) = schema else { return None };
            let Some(Json::Text(uri)) = own.get("$ref").filter(|uri| **uri != Json::Text("".into())) else {
                return Some((schema, own));
            };
            schema = part_at(self.root, uri.strip_prefix('#')?)?;
        }
        None
    }

    fn check_own(&mut self, schema: Schema<'s>, value: &'d Json) -> Checked<'s> {
        let own = schema.1;
        if !is_of_type(own, value) {
            return self.fails(schema, "type");
        }
        let within = match value {
            Json::Object(members) => self.object(schema, members, value)?,
            Json::Array(items) => self.array(schema, items)?,
            _ => self.scalar(schema, value)?,
        };
        if within.is_some() {
            return Ok(within);
        }
        if let Some(Json::Array(values)) = own.get("enum")
            && !values.is_empty()
            && !values.iter().any(|one| one.compare(value).is_eq())
        {
            return self.fails(schema, "enum");
        }
        for (keyword, least, most) in [("allOf", usize::MAX, usize::MAX), ("anyOf", 1, usize::MAX), ("oneOf", 1, 1)] {
            let Some(Json::Array(all)) = own.get(keyword) else { continue };
            let mut valid = 0;
            for one in all {
                valid += usize::from(self.check(Some(one), value)?.is_none());
            }
            if valid < least.min(all.len()) || valid > most {
                return self.fails(schema, keyword);
            }
        }
        if let Some(not @ Json::Object(_)) = own.get("not")
            && self.check(Some(not), value)?.is_none()
        {
            return self.fails(schema, "not");
        }
        Ok(None)
    }

    fn fails(&self, schema: Schema<'s>, keyword: &'static str) -> Checked<'s> {
        Ok(Some(Found { keyword, schema: Some(schema.0), document: self.fragment() }))
    }

    fn object(&mut self, schema: Schema<'s>, members: &'d Object, value: &'d Json) -> Checked<'s> {
        let own = schema.1;
        for (key, member) in members.iter() {
            self.at.push(Token::Key(key));
            let found = self.member(schema, key, member)?;
            if found.is_some() {
                return Ok(found);
            }
            self.at.pop();
        }
        if names(own.get("required")).any(|name| members.get(name).is_none()) {
            return self.fails(schema, "required");
        }
        if count(own, "minProperties").is_some_and(|least| (members.len() as u64) < least) {
            return self.fails(schema, "minProperties");
        }
        if count(own, "maxProperties").is_some_and(|most| members.len() as u64 > most) {
            return self.fails(schema, "maxProperties");
        }
        let Some(Json::Object(dependencies)) = own.get("dependencies") else { return Ok(None) };
        for (_, needs) in dependencies.iter().filter(|(key, _)| members.get(key).is_some()) {
            let met = match needs {
                Json::Array(_) => names(Some(needs)).all(|name| members.get(name).is_some()),
                needs => self.check(Some(needs), value)?.is_none(),
            };
            if !met {
                return self.fails(schema, "dependencies");
            }
        }
        Ok(None)
    }

    fn member(&mut self, schema: Schema<'s>, key: &str, member: &'d Json) -> Checked<'s> {
        let own = schema.1;
        let mut by_pattern: Vec<&'s Json> = Vec::new();
        if let Some(Json::Object(patterns)) = own.get("patternProperties") {
            for (pattern, one) in patterns.iter() {
                if self.matches(pattern, key)? == Some(true) {
                    by_pattern.push(one);
                }
            }
        }
        let additional = own.get("additionalProperties");
        let named = property(own, key);
        let other = match (named, additional) {
            (Some(named), _) => named,
            (None, Some(Json::Bool(false))) if by_pattern.is_empty() => {
                return self.fails(schema, "additionalProperties");
            }
            (None, Some(any @ Json::Object(_))) => Some(any),
            (None, _) => None,
        };
        if by_pattern.is_empty() {
            return self.check(other, member);
        }
        let mut all = true;
        for one in by_pattern {
            all = all && self.check(Some(one), member)?.is_none();
        }
        let met = match (named, additional) {
            (Some(_), _) => all && self.check(other, member)?.is_none(),
            (None, Some(Json::Object(_))) => all || self.check(other, member)?.is_none(),
            (None, _) => all,
        };
        let found = || Found { keyword: "patternProperties", schema: None, document: self.fragment() };
        Ok((!met).then(found))
    }

    fn array(&mut self, schema: Schema<'s>, items: &'d [Json]) -> Checked<'s> {
        let own = schema.1;
        let mut known = own.get("uniqueItems").filter(|unique| **unique == Json::Bool(true)).map(|_| BTreeSet::new());
        for (cell, item) in items.iter().enumerate() {
            self.at.push(Token::Cell(cell));
            let of_item = match (own.get("items"), own.get("additionalItems")) {
                (Some(all @ Json::Object(_)), _) => Some(all),
                (Some(Json::Array(each)), _) if cell < each.len() => each.get(cell),
                (Some(Json::Array(_)), Some(Json::Bool(false))) => return self.fails(schema, "items"),
                (Some(Json::Array(_)), Some(others)) => Some(others),
                _ => None,
            };
            let found = self.check(of_item, item)?;
            if found.is_some() {
                return Ok(found);
            }
            if known.as_mut().is_some_and(|known| !known.insert(InOrder(item))) {
                return self.fails(schema, "uniqueItems");
            }
            self.at.pop();
        }
        if count(own, "minItems").is_some_and(|least| (items.len() as u64) < least) {
            return self.fails(schema, "minItems");
        }
        if count(own, "maxItems").is_some_and(|most| items.len() as u64 > most) {
            return self.fails(schema, "maxItems");
        }
        Ok(None)
    }

    fn scalar(&mut self, schema: Schema<'s>, value: &'d Json) -> Checked<'s> {
        match value {
            Json::Null | Json::Bool(_) => Ok(None),
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => self.number(schema, value),
            text => self.text(schema, &text.unquoted()),
        }
    }

    fn number(&self, schema: Schema<'s>, value: &Json) -> Checked<'s> {
        let own = schema.1;
        let limit = |name: &str| own.get(name).filter(|limit| limit.to_number().is_some() && !is_bool(limit));
        let excluded = |name: &str| own.get(name) == Some(&Json::Bool(true));
        if let Some(least) = limit("minimum") {
            let order = value.compare(least);
            if order.is_lt() || (order.is_eq() && excluded("exclusiveMinimum")) {
                return self.fails(schema, "minimum");
            }
        }
        if let Some(most) = limit("maximum") {
            let order = value.compare(most);
            if order.is_gt() || (order.is_eq() && excluded("exclusiveMaximum")) {
                return self.fails(schema, "maximum");
            }
        }
        if let Some(of) = limit("multipleOf")
            && !is_multiple(value, of)
        {
            return self.fails(schema, "multipleOf");
        }
        Ok(None)
    }

    fn text(&mut self, schema: Schema<'s>, text: &str) -> Checked<'s> {
        let own = schema.1;
        let chars = text.chars().count() as u64;
        if count(own, "minLength").is_some_and(|least| chars < least) {
            return self.fails(schema, "minLength");
        }
        if count(own, "maxLength").is_some_and(|most| chars > most) {
            return self.fails(schema, "maxLength");
        }
        if let Some(Json::Text(pattern)) = own.get("pattern")
            && self.matches(pattern, text)? == Some(false)
        {
            return self.fails(schema, "pattern");
        }
        Ok(None)
    }

    /// Whether a pattern is found in a text; `None` if it is no pattern.
    fn matches(&mut self, pattern: &'s str, text: &str) -> Result<Option<bool>, SqlError> {
        if pattern.is_empty() {
            return Ok(Some(true));
        }
        if !self.patterns.contains_key(pattern) {
            if self.patterns.len() == KEPT {
                self.patterns.clear();
            }
            let compiled = match regexp::of_schema(pattern) {
                Err(error) if error.is(ER_REGEXP_UNIMPLEMENTED) || error.is(ER_REGEXP_PATTERN_TOO_BIG) => {
                    return Err(error);
                }
                compiled => compiled.ok(),
            };
            self.patterns.insert(pattern, compiled);
        }
        let compiled = self.patterns.get(pattern).and_then(Option::as_ref);
        Ok(compiled.map(|compiled| compiled.is_match(text.as_bytes())))
    }

    /// The present place in the document.
    fn fragment(&self) -> String {
        let mut fragment = "#".to_owned();
        for token in &self.at {
            match token {
                Token::Key(key) => push_token(key, &mut fragment),
                Token::Cell(cell) => push_token(&cell.to_string(), &mut fragment),
            }
        }
        fragment
    }
}

/// A document by its order.
struct InOrder<'d>(&'d Json);

impl PartialEq for InOrder<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.compare(other.0).is_eq()
    }
}

impl Eq for InOrder<'_> {}

impl PartialOrd for InOrder<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InOrder<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.compare(other.0)
    }
}

fn is_bool(json: &Json) -> bool {
    matches!(json, Json::Bool(_))
}

fn is_of_type(own: &Object, value: &Json) -> bool {
    let is = |name: &Json| {
        let Json::Text(name) = name else { return false };
        match value {
            Json::Null => &**name == "null",
            Json::Bool(_) => &**name == "boolean",
            Json::Int(_) | Json::UInt(_) => matches!(&**name, "integer" | "number"),
            Json::Double(_) | Json::Decimal(_) => &**name == "number",
            Json::Array(_) => &**name == "array",
            Json::Object(_) => &**name == "object",
            _ => &**name == "string",
        }
    };
    match own.get("type") {
        Some(Json::Array(names)) => names.iter().any(is),
        Some(name @ Json::Text(_)) => is(name),
        _ => true,
    }
}

/// What a schema says of a member by its name: nothing more if the name stands elsewhere; `None` if it is not named.
fn property<'s>(own: &'s Object, key: &str) -> Option<Option<&'s Json>> {
    let object = |name: &str| match own.get(name) {
        Some(Json::Object(members)) => Some(members),
        _ => None,
    };
    if let Some(property) = object("properties").and_then(|properties| properties.get(key)) {
        return Some(Some(property));
    }
    let is_needed = |needs: &Json| names(Some(needs)).any(|name| name == key);
    let depends = |dependencies: &Object| {
        dependencies.get(key).is_some() || dependencies.iter().any(|(_, needs)| is_needed(needs))
    };
    let named = names(own.get("required")).any(|name| name == key) || object("dependencies").is_some_and(depends);
    named.then_some(None)
}

/// The texts of an array.
fn names(list: Option<&Json>) -> impl Iterator<Item = &str> {
    let items = match list {
        Some(Json::Array(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|item| match item {
        Json::Text(name) => Some(&**name),
        _ => None,
    })
}

fn count(own: &Object, name: &str) -> Option<u64> {
    match own.get(name)? {
        Json::Int(int) => u64::try_from(*int).ok(),
        Json::UInt(int) => Some(*int),
        _ => None,
    }
}

/// Whether a number is so often another one, which is above zero if it says anything.
fn is_multiple(value: &Json, of: &Json) -> bool {
    let whole = |json: &Json| match json {
        Json::Int(int) => Some(i128::from(*int)),
        Json::UInt(int) => Some(i128::from(*int)),
        _ => None,
    };
    let double = |json: &Json| match json {
        Json::Double(double) => *double,
        Json::Decimal(decimal) => decimal.to_f64(),
        other => whole(other).unwrap_or(0) as f64,
    };
    if double(of) <= 0.0 {
        return true;
    }
    match (whole(value), whole(of)) {
        (Some(value), Some(of)) => value % of == 0,
        _ => {
            let (value, of) = (double(value).abs(), double(of));
            value - of * (value / of).floor() <= 0.0
        }
    }
}

/// Appends a step to a fragment of a URI.
fn push_token(token: &str, fragment: &mut String) {
    fragment.push('/');
    for byte in token.bytes() {
        match byte {
            b'~' => fragment.push_str("~0"),
            b'/' => fragment.push_str("~1"),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => fragment.push(char::from(byte)),
            // Writing to a String cannot fail.
            other => drop(write!(fragment, "%{other:02X}")),
        }
    }
}

/// The fragment that leads to a part.
fn fragment_of(part: &Json, whole: &Json) -> Option<String> {
    fn seek(part: &Json, here: &Json, fragment: &mut String) -> bool {
        if std::ptr::eq(part, here) {
            return true;
        }
        let before = fragment.len();
        let mut step = |token: &str, inner: &Json| {
            push_token(token, fragment);
            let found = seek(part, inner, fragment);
            if !found {
                fragment.truncate(before);
            }
            found
        };
        match here {
            Json::Object(members) => members.iter().any(|(key, inner)| step(key, inner)),
            Json::Array(items) => items.iter().enumerate().any(|(cell, inner)| step(&cell.to_string(), inner)),
            _ => false,
        }
    }
    let mut fragment = "#".to_owned();
    seek(part, whole, &mut fragment).then_some(fragment)
}

/// What a fragment, without its `#`, leads to.
fn part_at<'s>(whole: &'s Json, fragment: &str) -> Option<&'s Json> {
    if fragment.is_empty() {
        return Some(whole);
    }
    fragment.strip_prefix('/')?.split('/').try_fold(whole, |part, token| {
        let token = decoded(token)?;
        match part {
            Json::Object(members) => members.get(&token),
            Json::Array(items) => items.get(token.parse::<usize>().ok()?),
            _ => None,
        }
    })
}

/// A step of a fragment without its escapes; `None` if one is none.
fn decoded(token: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    Some(text.replace("~1", "/").replace("~0", "~"))
}
