//! EXTRACTVALUE and UPDATEXML.
//!
//! A document and the sets of nodes on the way count to the connection's memory until the value is found, and the
//! evaluation looks whether the statement was killed.

mod document;
mod evaluate;
mod path;

use self::document::Document;
use self::evaluate::Evaluation;
use self::path::Expr;
use super::super::convert::{to_bytes, to_text};
use super::string::long_string;
use super::{Arguments, Function};
use crate::error::{ER_WRONG_CONSTANT, SqlError};
use crate::stack::with_room_for_statement;
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("extractvalue", 2, 2, extract_value, long_text)
        .takes_null()
        .keeps_collation()
        .of_text()
        .constant_at(1, "Only constant XPATH queries are supported")
        .doc(
            "The text that an XPath expression finds in XML; NULL if that is malformed.",
            "EXTRACTVALUE('<a><b>X</b><b>Y</b></a>', '/a/b[2]')",
            "Y",
        ),
    Function::new("updatexml", 3, 3, update_xml, long_text)
        .takes_null()
        .keeps_collation()
        .of_text()
        .constant_at(1, "Only constant XPATH queries are supported")
        .doc(
            "The XML with another text for the one element or attribute that an XPath expression finds.",
            "UPDATEXML('<a><b>ccc</b><d></d></a>', '/a/b', '<e>fff</e>')",
            "<a><e>fff</e><d></d></a>",
        ),
];

/// A LONGTEXT.
fn long_text(args: &[ResultType]) -> ResultType {
    ResultType { length: u32::MAX / 4, ..long_string(args) }
}

/// What it takes to read a byte of an expression, bytes.
const EXPRESSION: usize = 128;

fn extract_value(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    found(args, |evaluation, expr| evaluation.text(expr, None))
}

fn update_xml(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    found(args, |evaluation, expr| {
        if !expr.is_set() {
            return Ok(Value::Null);
        }
        // Where there are none or several, nothing is changed.
        let [place] = evaluation.set(expr, None)?[..] else { return Ok(args[0].clone()) };
        let ((before, after), new) = (evaluation.around(place), to_bytes(&args[2]));
        if !args.has_room(before.len() + new.len() + after.len())? {
            return Ok(Value::Null);
        }
        args.string([before, &new, after].concat())
    })
}

/// What the expression of the second argument gives of the document of the first.
fn found(
    args: &Arguments<'_, '_>,
    find: impl FnOnce(&Evaluation<'_, '_, '_>, &Expr) -> Result<Value, SqlError>,
) -> Result<Value, SqlError> {
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    let path = to_text(&args[1]);
    with_room_for_statement(path.len(), || {
        let statement = args.cx.statement;
        let before = statement.evaluated();
        statement.hold_evaluated(path.len().saturating_mul(EXPRESSION))?;
        // An expression that is none is an error beside NULL too.
        let expr = path::parse(&path)?;
        if args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let text = to_bytes(&args[0]);
        let found = match Document::read(&text, args.cx)? {
            Ok(document) => find(&Evaluation::new(&document, args), &expr)?,
            Err(wrong) => {
                statement.warn(SqlError::new(ER_WRONG_CONSTANT, &[&"XML", &wrong]))?;
                Value::Null
            }
        };
        statement.forget_evaluated(before);
        Ok(found)
    })
}
