//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT.

mod validator;

use std::sync::Arc;

use super::json::{document, made, one};
use super::{Arguments, Function};
use crate::error::{ER_INVALID_JSON_TYPE, SqlError};
use crate::types::ResultType;
use crate::types::json::{Json, Object};
use crate::value::Value;
use validator::Failure;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "json_schema_valid",
        2,
        2,
        |args| Ok(Value::bool(validate(args)?.is_none())),
        |_| ResultType::integer(1),
    )
    .joins()
    .doc(
        "Whether a document, the second argument, is what a JSON Schema of draft 4 says.",
        "JSON_SCHEMA_VALID('{\"type\": \"object\", \"required\": [\"a\"]}', '{\"b\": 1}')",
        "0",
    ),
    Function::new("json_schema_validation_report", 2, 2, report, |_| document()).joins().doc(
        "As JSON_SCHEMA_VALID, with what fails first and where.",
        "JSON_EXTRACT(JSON_SCHEMA_VALIDATION_REPORT('{\"items\": {\"minimum\": 2}}', '[3, 1]'), '$.\"document-location\"')",
        "\"#/1\"",
    ),
];

/// What fails first; 3853 for a schema that is no object.
fn validate(args: &Arguments<'_, '_>) -> Result<Option<Failure>, SqlError> {
    let schema = one(args, 0)?;
    if !matches!(*schema, Json::Object(_)) {
        return Err(SqlError::new(ER_INVALID_JSON_TYPE, &[&1, &args.call.name(), &"object"]));
    }
    validator::validate(&schema, &*one(args, 1)?, args.cx.statement)
}

fn report(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let failure = validate(args)?;
    let mut members: Vec<(Arc<str>, Json)> = vec![("valid".into(), Json::Bool(failure.is_none()))];
    if let Some(Failure { keyword, schema, document }) = failure {
        let reason = format!(
            "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'"
        );
        let text = |text: &str| Json::Text(text.into());
        members.push(("reason".into(), text(&reason)));
        members.push(("schema-location".into(), text(&schema)));
        members.push(("document-location".into(), text(&document)));
        members.push(("schema-failed-keyword".into(), text(keyword)));
    }
    made(args, Json::Object(Object::of(members)))
}
