//! JSON documents: made, read, searched and changed.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::convert::{local, to_text};
use super::super::{EvalContext, Expr};
use super::{Arguments, Function, MANY};
use crate::collation::Collation;
use crate::error::{
    ER_INVALID_JSON_CHARSET, ER_INVALID_JSON_PATH_ARRAY_CELL, ER_INVALID_JSON_PATH_WILDCARD,
    ER_INVALID_JSON_TEXT_IN_PARAM, ER_INVALID_TYPE_FOR_JSON, ER_JSON_BAD_ONE_OR_ALL_ARG, ER_JSON_DOCUMENT_NULL_KEY,
    ER_JSON_VACUOUS_PATH, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, SqlError,
};
use crate::types::ResultType;
use crate::types::json::{Json, Leg, Object, Path, quote};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("json_array", 0, MANY, array, |_| document()).takes_null().joins().doc(
        "A JSON array of its arguments.",
        "JSON_ARRAY(1, 'a', NULL)",
        "[1, \"a\", null]",
    ),
    Function::new("json_object", 0, MANY, object, |_| document()).takes_null().joins().doc(
        "A JSON object of keys and values by turns.",
        "JSON_OBJECT('bb', 1, 'a', 'x')",
        "{\"a\": \"x\", \"bb\": 1}",
    ),
    Function::new("json_quote", 1, 1, quoted, |a| text(a[0].length.saturating_mul(6).saturating_add(2))).doc(
        "A text as a JSON string.",
        "JSON_QUOTE('a\"b')",
        "\"a\\\"b\"",
    ),
    Function::new("json_unquote", 1, 1, unquoted, |_| text(u32::MAX / 4)).doc(
        "The text of a JSON string, or of any other document.",
        "JSON_UNQUOTE('\"abc\"')",
        "abc",
    ),
    Function::new("json_valid", 1, 1, valid, |_| ResultType::integer(1)).doc(
        "Whether a text is a JSON document.",
        "JSON_VALID('[1, 2')",
        "0",
    ),
    Function::new("json_type", 1, 1, |args| Ok(Value::text(one(args, 0)?.type_name())), |_| text(51)).doc(
        "What kind of document it is.",
        "JSON_TYPE('[1]')",
        "ARRAY",
    ),
    Function::new("json_depth", 1, 1, |args| Ok(Value::Int(one(args, 0)?.depth() as i64)), |_| ResultType::integer(10))
        .doc("How deep a document is.", "JSON_DEPTH('[[], 1]')", "2"),
    Function::new("json_length", 1, 2, length, |_| ResultType::integer(10)).doc(
        "How many elements or members a document has, or what a path leads to.",
        "JSON_LENGTH('{\"a\": [1, 2, 3]}', '$.a')",
        "3",
    ),
    Function::new("json_keys", 1, 2, keys, |_| document()).doc(
        "The keys of an object.",
        "JSON_KEYS('{\"b\": 1, \"a\": 2}')",
        "[\"a\", \"b\"]",
    ),
    Function::new("json_extract", 2, MANY, extract, |_| document()).joins().doc(
        "What paths lead to; an array, if there may be several.",
        "JSON_EXTRACT('{\"a\": [1, 2, {\"b\": 3}]}', '$.a[last].b')",
        "3",
    ),
    Function::new("json_contains", 2, 3, contains, |_| ResultType::integer(1)).joins().doc(
        "Whether a document has another one in it.",
        "JSON_CONTAINS('[1, [2, 3]]', '[1]')",
        "1",
    ),
    Function::new("json_contains_path", 3, MANY, contains_path, |_| ResultType::integer(1)).joins().doc(
        "Whether one of the paths, or all of them, lead to something.",
        "JSON_CONTAINS_PATH('{\"a\": 1}', 'one', '$.b', '$.a')",
        "1",
    ),
    Function::new("json_overlaps", 2, 2, overlaps, |_| ResultType::integer(1)).joins().doc(
        "Whether two documents have an element or a member in common.",
        "JSON_OVERLAPS('[1, 2]', '[2, 3]')",
        "1",
    ),
    Function::new("json_set", 3, MANY, |args| change(args, Change::Set(true, true)), |_| document())
        .takes_null()
        .joins()
        .doc(
            "A document with values set at paths.",
            "JSON_SET('{\"a\": 1}', '$.a', 2, '$.b', 3)",
            "{\"a\": 2, \"b\": 3}",
        ),
    Function::new("json_insert", 3, MANY, |args| change(args, Change::Set(false, true)), |_| document())
        .takes_null()
        .joins()
        .doc(
            "As JSON_SET, only where nothing is.",
            "JSON_INSERT('{\"a\": 1}', '$.a', 2, '$.b', 3)",
            "{\"a\": 1, \"b\": 3}",
        ),
    Function::new("json_replace", 3, MANY, |args| change(args, Change::Set(true, false)), |_| document())
        .takes_null()
        .joins()
        .doc("As JSON_SET, only where something is.", "JSON_REPLACE('{\"a\": 1}', '$.a', 2, '$.b', 3)", "{\"a\": 2}"),
    Function::new("json_array_append", 3, MANY, |args| change(args, Change::Append), |_| document())
        .takes_null()
        .joins()
        .doc("A document with values added to its arrays.", "JSON_ARRAY_APPEND('[1, [2]]', '$[1]', 3)", "[1, [2, 3]]"),
    Function::new("json_array_insert", 3, MANY, |args| change(args, Change::Insert), |_| document())
        .takes_null()
        .joins()
        .doc("A document with values put into its arrays.", "JSON_ARRAY_INSERT('[1, 2]', '$[1]', 3)", "[1, 3, 2]"),
    Function::new("json_remove", 2, MANY, remove, |_| document()).joins().doc(
        "A document without what is at paths.",
        "JSON_REMOVE('[1, 2, 3]', '$[1]')",
        "[1, 3]",
    ),
    Function::new("json_merge_patch", 2, MANY, merge_patch, |_| document()).takes_null().joins().doc(
        "Documents put together; later members replace earlier ones, null takes them away.",
        "JSON_MERGE_PATCH('{\"a\": 1, \"b\": 2}', '{\"a\": null, \"c\": 3}')",
        "{\"b\": 2, \"c\": 3}",
    ),
    Function::new("json_merge_preserve", 2, MANY, merge_preserve, |_| document()).aliases(&["json_merge"]).joins().doc(
        "Documents put together with all that is in them.",
        "JSON_MERGE_PRESERVE('[1]', '{\"a\": 2}')",
        "[1, {\"a\": 2}]",
    ),
    Function::new("json_pretty", 1, 1, pretty, |_| text(u32::MAX / 4)).doc(
        "The text of a document over several lines.",
        "JSON_PRETTY('[]')",
        "[]",
    ),
    Function::new("json_storage_free", 1, 1, |args| one(args, 0).map(|_| Value::Int(0)), |_| ResultType::integer(10))
        .doc(
            "How many bytes an update has left free in a document: none, since it writes the whole.",
            "JSON_STORAGE_FREE('1')",
            "0",
        ),
    Function::new("json_storage_size", 1, 1, storage_size, |_| ResultType::integer(10)).doc(
        "How many bytes a document takes.",
        "JSON_STORAGE_SIZE('1')",
        "3",
    ),
];

/// The type of a document.
pub(super) fn document() -> ResultType {
    ResultType::json()
}

fn text(chars: u32) -> ResultType {
    ResultType::string(chars.min(u32::MAX / 4), Collation::Utf8mb4Bin)
}

/// The document that an argument is, or that its text is; error 3141, 3144 or 3146 if it is none.
pub(super) fn one<'a>(args: &'a Arguments<'_, '_>, at: usize) -> Result<Cow<'a, Json>, SqlError> {
    let name = args.call.name();
    match &args[at] {
        Value::Json(json) => Ok(Cow::Borrowed(&**json)),
        Value::Text(text) => {
            let parsed = Json::parse(text).map_err(|error| {
                error.into_error(|what, place| {
                    SqlError::new(ER_INVALID_JSON_TEXT_IN_PARAM, &[&(at + 1), &name, &what, &place])
                })
            });
            parsed.map(Cow::Owned)
        }
        Value::Bytes(_) | Value::Hex(_) => Err(SqlError::new(ER_INVALID_JSON_CHARSET, &[&"binary"])),
        _ => Err(SqlError::new(ER_INVALID_TYPE_FOR_JSON, &[&(at + 1), &name])),
    }
}

/// The value of an expression as a part of a document: a text is a string, a condition a boolean.
pub(super) fn part_of_document(expr: &Expr, value: &Value, cx: &EvalContext<'_>) -> Json {
    match value {
        Value::Int(truth) if expr.is_condition() => Json::Bool(*truth != 0),
        value => Json::of_value(&local(value, cx)),
    }
}

fn scalar(args: &Arguments<'_, '_>, at: usize) -> Json {
    part_of_document(&args.call.args[at], &args[at], args.cx)
}

pub(super) fn path(args: &Arguments<'_, '_>, at: usize) -> Result<Path, SqlError> {
    Path::parse(&to_text(&args[at]))
}

/// A path that leads to one place at most.
pub(super) fn plain_path(args: &Arguments<'_, '_>, at: usize) -> Result<Path, SqlError> {
    let path = path(args, at)?;
    if path.has_wildcard() { Err(SqlError::new(ER_INVALID_JSON_PATH_WILDCARD, &[])) } else { Ok(path) }
}

pub(super) fn made(args: &Arguments<'_, '_>, json: Json) -> Result<Value, SqlError> {
    let json = json.bounded()?;
    args.cx.statement.hold_evaluated(json.memory_bytes())?;
    Ok(Value::Json(Arc::new(json)))
}

fn wrong_count(args: &Arguments<'_, '_>) -> SqlError {
    SqlError::new(ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&args.call.name()])
}

fn array(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    made(args, Json::Array((0..args.len()).map(|at| scalar(args, at)).collect()))
}

fn object(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if !args.len().is_multiple_of(2) {
        return Err(wrong_count(args));
    }
    let mut members: Vec<(Arc<str>, Json)> = Vec::with_capacity(args.len() / 2);
    for at in (0..args.len()).step_by(2) {
        if args[at].is_null() {
            return Err(SqlError::new(ER_JSON_DOCUMENT_NULL_KEY, &[]));
        }
        members.push((to_text(&args[at]).into(), scalar(args, at + 1)));
    }
    made(args, Json::Object(Object::of(members)))
}

fn quoted(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if !args[0].is_string() {
        return Err(SqlError::new(ER_INVALID_TYPE_FOR_JSON, &[&1, &args.call.name()]));
    }
    let mut text = String::new();
    quote(&to_text(&args[0]), &mut text);
    Ok(Value::text(text))
}

fn unquoted(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    match &args[0] {
        Value::Json(json) => Ok(Value::text(json.unquoted())),
        Value::Text(text) if text.len() >= 2 && text.starts_with('"') && text.ends_with('"') => {
            Ok(Value::text(one(args, 0)?.unquoted()))
        }
        other => Ok(Value::text(&*to_text(other))),
    }
}

fn valid(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::bool(match &args[0] {
        Value::Json(_) => true,
        Value::Text(text) => Json::parse(text).is_ok(),
        _ => false,
    }))
}

/// The part of the first argument that a path, if there is one, leads to.
fn part<'j>(args: &Arguments<'_, '_>, json: &'j Json) -> Result<Option<&'j Json>, SqlError> {
    if args.len() < 2 {
        return Ok(Some(json));
    }
    let path = plain_path(args, 1)?;
    Ok(json.seek(&path).first().copied())
}

fn length(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let json = one(args, 0)?;
    Ok(part(args, &json)?.map_or(Value::Null, |part| Value::Int(part.length() as i64)))
}

fn keys(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let json = one(args, 0)?;
    match part(args, &json)? {
        Some(Json::Object(members)) => {
            made(args, Json::Array(members.iter().map(|(key, _)| Json::Text(key.clone())).collect()))
        }
        _ => Ok(Value::Null),
    }
}

fn extract(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let json = one(args, 0)?;
    let mut found: Vec<&Json> = Vec::new();
    let mut several = args.len() > 2;
    for at in 1..args.len() {
        let path = path(args, at)?;
        several |= path.has_wildcard();
        found.extend(json.seek(&path));
    }
    match found.as_slice() {
        [] => Ok(Value::Null),
        [only] if !several => made(args, (*only).clone()),
        all => made(args, Json::Array(all.iter().map(|json| (*json).clone()).collect())),
    }
}

fn contains(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (json, wanted) = (one(args, 0)?, one(args, 1)?);
    if args.len() < 3 {
        return Ok(Value::bool(json.contains(&wanted)));
    }
    let path = plain_path(args, 2)?;
    Ok(json.seek(&path).first().map_or(Value::Null, |part| Value::bool(part.contains(&wanted))))
}

/// Whether an argument says `all`; error 3154 if it is neither that nor `one`.
pub(super) fn all_or_one(args: &Arguments<'_, '_>, at: usize) -> Result<bool, SqlError> {
    match to_text(&args[at]).to_ascii_lowercase().as_str() {
        "one" => Ok(false),
        "all" => Ok(true),
        _ => Err(SqlError::new(ER_JSON_BAD_ONE_OR_ALL_ARG, &[&args.call.name()])),
    }
}

fn contains_path(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let json = one(args, 0)?;
    let all = all_or_one(args, 1)?;
    for at in 2..args.len() {
        let found = !json.seek(&path(args, at)?).is_empty();
        if found != all {
            return Ok(Value::bool(found));
        }
    }
    Ok(Value::bool(all))
}

fn overlaps(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (json, other) = (one(args, 0)?, one(args, 1)?);
    Ok(Value::bool(json.overlaps(&other)))
}

/// What a function does at each of its paths.
#[derive(Clone, Copy)]
enum Change {
    /// Whether it replaces what is there, and whether it inserts what is not.
    Set(bool, bool),
    Append,
    Insert,
}

fn change(args: &Arguments<'_, '_>, change: Change) -> Result<Value, SqlError> {
    if args.len().is_multiple_of(2) {
        return Err(wrong_count(args));
    }
    if args[0].is_null() || (1..args.len()).step_by(2).any(|at| args[at].is_null()) {
        return Ok(Value::Null);
    }
    let mut json = one(args, 0)?.into_owned();
    for at in (1..args.len()).step_by(2) {
        let (path, value) = (plain_path(args, at)?, scalar(args, at + 1));
        match change {
            Change::Set(replaces, inserts) => json.set(&path, value, replaces, inserts),
            Change::Append => json.append(&path, value),
            Change::Insert if !matches!(path.0.last(), Some(Leg::Cell(_))) => {
                return Err(SqlError::new(ER_INVALID_JSON_PATH_ARRAY_CELL, &[]));
            }
            Change::Insert => json.insert_before(&path, value),
        }
    }
    made(args, json)
}

fn remove(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut json = one(args, 0)?.into_owned();
    for at in 1..args.len() {
        let path = plain_path(args, at)?;
        if path.0.is_empty() {
            return Err(SqlError::new(ER_JSON_VACUOUS_PATH, &[]));
        }
        json.remove(&path);
    }
    made(args, json)
}

/// What comes before a NULL is not known, and is again after a document that replaces it.
fn merge_patch(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut merged: Option<Json> = None;
    for at in 0..args.len() {
        if args[at].is_null() {
            merged = None;
            continue;
        }
        let json = one(args, at)?;
        merged = match merged {
            None if at > 0 && matches!(*json, Json::Object(_)) => None,
            None => Some(json.into_owned()),
            Some(own) => Some(own.patched(&json)),
        };
    }
    merged.map_or(Ok(Value::Null), |merged| made(args, merged))
}

fn merge_preserve(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut merged = one(args, 0)?.into_owned();
    for at in 1..args.len() {
        merged = merged.merged(one(args, at)?.into_owned());
    }
    made(args, merged)
}

fn pretty(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut out = String::new();
    let json = one(args, 0)?;
    write_pretty(&json, 0, &mut out);
    Ok(Value::text(out))
}

fn write_pretty(json: &Json, depth: usize, out: &mut String) {
    let parts: Vec<(Option<&Arc<str>>, &Json)> = match json {
        Json::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Json::Object(members) => members.iter().map(|(key, value)| (Some(key), value)).collect(),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        out.push_str(&json.to_string());
        return;
    }
    let (open, close) = if matches!(json, Json::Array(_)) { ('[', ']') } else { ('{', '}') };
    let new_line = |depth: usize, out: &mut String| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    out.push(open);
    for (at, (key, value)) in parts.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        new_line(depth + 1, out);
        if let Some(key) = key {
            quote(key, out);
            out.push_str(": ");
        }
        write_pretty(value, depth + 1, out);
    }
    new_line(depth, out);
    out.push(close);
}

fn storage_size(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut bytes = Vec::new();
    one(args, 0)?.write_binary(&mut bytes);
    Ok(Value::Int(bytes.len() as i64))
}
