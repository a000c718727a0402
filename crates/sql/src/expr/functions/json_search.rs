//! Functions that look for something in documents: JSON_SEARCH, JSON_VALUE, MEMBER OF.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::EvalContext;
use super::super::convert::{local, to_text};
use super::json::{all_or_one, document, made, one, part_of_document, path, plain_path};
use super::{Arguments, Form, Function, MANY};
use crate::collation::{self, Collation};
use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::types::ResultType;
use crate::types::json::{Json, member_leg};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("json_search", 3, MANY, search, |_| document()).takes_null().joins().doc(
        "The path to a string that is like a pattern, or to all of them.",
        "JSON_SEARCH('[\"abc\", {\"x\": \"abc\"}]', 'all', 'a%')",
        "[\"$[0]\", \"$[1].x\"]",
    ),
    Function::new("json_value", 2, 2, value, |_| ResultType::string(VALUE_CHARS, Collation::DEFAULT)).joins().doc(
        "The text of the scalar that a path leads to.",
        "JSON_VALUE('{\"fname\": \"Joe\"}', '$.fname')",
        "Joe",
    ),
    Function::new("member of", 2, 2, member_of, |_| ResultType::integer(1)).form(Form::MemberOf).joins().doc(
        "Whether a value is an element of a JSON array.",
        "17 MEMBER OF('[23, \"abc\", 17]')",
        "1",
    ),
];

/// Characters of a value that is no document, as in MySQL.
const VALUE_CHARS: u32 = 512;

fn search(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let null = |at: usize| args.get(at).is_some_and(Value::is_null);
    if null(0) || null(1) || null(2) || (4..args.len()).any(null) {
        return Ok(Value::Null);
    }
    let json = one(args, 0)?;
    let all = all_or_one(args, 1)?;
    let escape = to_text(args.get(3).unwrap_or(&Value::Null)).into_owned();
    let escape = match escape.chars().count() {
        0 => '\\',
        1 => escape.chars().next().unwrap_or('\\'),
        _ => return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&"ESCAPE"])),
    };
    let pattern = to_text(&args[2]);
    let mut search = Search { pattern: pattern.as_bytes(), escape, all, found: Vec::new(), cx: args.cx };
    let mut known = HashSet::new();
    if args.len() > 4 {
        for at in 4..args.len() {
            for (place, part) in json.locate(&path(args, at)?) {
                search.below(part, place)?;
            }
        }
        search.found.retain(|place| known.insert(place.clone()));
    } else {
        search.below(&json, "$".to_owned())?;
    }
    let mut found = search.found.into_iter().map(|place| Json::Text(Arc::from(place)));
    if !all || found.len() == 1 {
        return found.next().map_or(Ok(Value::Null), |place| made(args, place));
    }
    if found.len() == 0 {
        return Ok(Value::Null);
    }
    made(args, Json::Array(found.collect()))
}

struct Search<'a, 'b> {
    pattern: &'a [u8],
    escape: char,
    all: bool,
    /// Paths to strings.
    found: Vec<String>,
    cx: &'a EvalContext<'b>,
}

impl Search<'_, '_> {
    /// Looks through a document, whose own path is `place`.
    fn below(&mut self, json: &Json, place: String) -> Result<(), SqlError> {
        if !self.all && !self.found.is_empty() {
            return Ok(());
        }
        match json {
            Json::Text(text) => {
                self.cx.statement.check_killed()?;
                let go_on = &|| self.cx.statement.check_killed().is_ok();
                let like =
                    collation::like(Collation::Utf8mb4Bin, text.as_bytes(), self.pattern, Some(self.escape), go_on);
                if like {
                    self.cx.statement.hold_evaluated(place.len())?;
                    self.found.push(place);
                }
                Ok(())
            }
            Json::Array(items) => {
                items.iter().enumerate().try_for_each(|(at, item)| self.below(item, format!("{place}[{at}]")))
            }
            Json::Object(members) => {
                members.iter().try_for_each(|(key, value)| self.below(value, place.clone() + &member_leg(key)))
            }
            _ => Ok(()),
        }
    }
}

fn value(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let json = one(args, 0)?;
    let path = plain_path(args, 1)?;
    match json.seek(&path).first() {
        None | Some(Json::Null | Json::Array(_) | Json::Object(_)) => Ok(Value::Null),
        Some(scalar) => {
            let text = scalar.unquoted();
            let fits = text.chars().nth(VALUE_CHARS as usize).is_none();
            Ok(if fits { Value::text(text) } else { Value::Null })
        }
    }
}

fn member_of(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let wanted = match &args[0] {
        Value::Json(json) => (**json).clone(),
        value => part_of_document(&args.call.args[0], &local(value, args.cx), args.cx),
    };
    let json = one(args, 1)?;
    let is_it = |item: &Json| item.compare(&wanted).is_eq();
    Ok(Value::bool(match &*json {
        Json::Array(items) => items.iter().any(is_it),
        other => is_it(other),
    }))
}
