//! What is noted of an account (ATTRIBUTE, COMMENT): a JSON object.

use cohort_sql::SqlError;
use cohort_sql::ast::AccountAttribute;
use cohort_sql::error::ER_INVALID_USER_ATTRIBUTE_JSON;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The member that COMMENT sets.
const COMMENT: &str = "comment";

/// What is noted of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes(Map<String, Value>);

impl Attributes {
    /// Those of an account that was stored with a comment alone.
    pub(super) fn of_comment(comment: String) -> Attributes {
        let mut attributes = Attributes::default();
        if !comment.is_empty() {
            attributes.0.insert(COMMENT.to_owned(), Value::String(comment));
        }
        attributes
    }

    /// Merges an object into them as `JSON_MERGE_PATCH` does, or sets the comment; 3982 if it is no object.
    pub(super) fn apply(&mut self, attribute: &AccountAttribute) -> Result<(), SqlError> {
        match attribute {
            AccountAttribute::Comment(comment) => {
                self.0.insert(COMMENT.to_owned(), Value::String(comment.clone()));
            }
            AccountAttribute::Json(json) => match serde_json::from_str(json) {
                Ok(Value::Object(patch)) => merge(&mut self.0, patch),
                _ => return Err(SqlError::new(ER_INVALID_USER_ATTRIBUTE_JSON, &[])),
            },
        }
        Ok(())
    }

    /// As MySQL writes a JSON object; `None` if there is nothing.
    pub fn to_text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| object(&self.0))
    }
}

fn merge(into: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match value {
            Value::Null => {
                into.remove(&name);
            }
            Value::Object(patch) => {
                let place = into.entry(name).or_insert(Value::Null);
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                if let Value::Object(place) = place {
                    merge(place, patch);
                }
            }
            other => {
                into.insert(name, other);
            }
        }
    }
}

/// Members by the length of their names, then by their bytes, with a space after `:` and `,`.
fn object(members: &Map<String, Value>) -> String {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| (name.len(), *name));
    let member = |(name, value): &(&String, &Value)| format!("{}: {}", Value::from(name.as_str()), text(value));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
}

fn text(value: &Value) -> String {
    match value {
        Value::Object(members) => object(members),
        Value::Array(values) => format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_merged_and_nothing_else_is_taken() {
        let mut attributes = Attributes::default();
        let mut take = |attribute: AccountAttribute| attributes.apply(&attribute).map(|()| attributes.to_text());
        let json = |text: &str| AccountAttribute::Json(text.to_owned());
        assert_eq!(take(json("{}")), Ok(None));
        assert_eq!(take(json(r#"{"long": 1, "b": {"x": [1, "a"], "y": 2}}"#)).unwrap().unwrap(), {
            r#"{"b": {"x": [1, "a"], "y": 2}, "long": 1}"#
        });
        assert_eq!(
            take(AccountAttribute::Comment("it's".to_owned())).unwrap().unwrap(),
            r#"{"b": {"x": [1, "a"], "y": 2}, "long": 1, "comment": "it's"}"#
        );
        assert_eq!(
            take(json(r#"{"b": {"x": null}, "long": null, "comment": {"c": null}}"#)).unwrap().unwrap(),
            r#"{"b": {"y": 2}, "comment": {}}"#
        );
        for wrong in ["", "1", "[1]", "{", r#"{"a": 1} x"#] {
            assert_eq!(take(json(wrong)).unwrap_err().errno, 3982, "{wrong}");
        }
    }
}
