//! Lists: of arguments, of texts with commas between them, of bits.

use std::borrow::Cow;

use super::super::compare::{Common, compare};
use super::super::convert::{to_bits, to_bytes, to_i64};
use super::string::{CHECKED_EVERY, is_binary, joined, make};
use super::{Arguments, Demand, Function, MANY};
use crate::error::SqlError;
use crate::types::{FieldType, ResultType};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::on_demand("field", 2, MANY, field, |_| ResultType::integer(3)).doc(
        "The place of the first argument among the others; 0 if it is not there.",
        "FIELD('Bb', 'Aa', 'Bb', 'Cc')",
        "2",
    ),
    Function::on_demand("elt", 2, MANY, elt, longest).keeps_collation().joins().numbers_at(&[0]).doc(
        "The argument at a place.",
        "ELT(2, 'Aa', 'Bb')",
        "Bb",
    ),
    Function::new("find_in_set", 2, 2, find_in_set, |_| ResultType::integer(3)).of_text().doc(
        "The place of a text in a list with commas; 0 if it is not there.",
        "FIND_IN_SET('b', 'a,b,c,d')",
        "2",
    ),
    Function::on_demand("make_set", 2, MANY, make_set, make_set_type)
        .keeps_collation()
        .joins()
        .numbers_at(&[0])
        .of_text()
        .doc(
            "The texts whose bits are set in the first argument, with commas between them.",
            "MAKE_SET(1 | 4, 'hello', 'nice', 'world')",
            "hello,world",
        ),
    Function::new("export_set", 3, 5, export_set, export_set_type)
        .keeps_collation()
        .joins()
        .numbers_at(&[0, 4])
        .of_text()
        .doc(
            "A text for each bit that is set, and another for each that is not, of so many bits.",
            "EXPORT_SET(6, '1', '0', ',', 10)",
            "0,1,1,0,0,0,0,0,0,0",
        ),
];

/// Which of the others is equal to the first argument; those after it are not evaluated.
fn field(args: &Demand<'_, '_>) -> Result<Value, SqlError> {
    let wanted = args.get(0)?;
    if wanted.is_null() {
        return Ok(Value::Int(0));
    }
    let common = Common::of(&args.call.args.iter().map(|arg| arg.result_type(args.cx.params)).collect::<Vec<_>>());
    let convert = |value: Value| match common {
        Some(common) if !value.is_null() => common.convert(value, args.cx),
        _ => Ok(value),
    };
    let wanted = convert(wanted)?;
    for at in 1..args.count() {
        let candidate = convert(args.get(at)?)?;
        if compare(&wanted, &candidate, args.call.collation, args.cx)?.is_some_and(|order| order.is_eq()) {
            return Ok(Value::Int(at as i64));
        }
    }
    Ok(Value::Int(0))
}

/// The argument of that number; the others are not evaluated.
fn elt(args: &Demand<'_, '_>) -> Result<Value, SqlError> {
    let number = args.get(0)?;
    if number.is_null() {
        return Ok(Value::Null);
    }
    let at = usize::try_from(to_i64(&number, args.cx)?).unwrap_or(0);
    if !(1..args.count()).contains(&at) {
        return Ok(Value::Null);
    }
    args.as_result(at, args.get(at)?)
}

/// Where a constant is looked for in what a SET column holds, its place in the column's list: letters of ASCII are found
/// in either case, whatever the collation says.
fn place_in_list(args: &Arguments<'_, '_>, wanted: &[u8]) -> Option<i64> {
    let is_set = args.call.args[1].result_type(args.cx.params).field == FieldType::Set;
    let Value::Member(member) = &args[1] else { return None };
    if !is_set || !args.call.args[0].is_constant() {
        return None;
    }
    let at = member.text.split(',').position(|item| item.as_bytes().eq_ignore_ascii_case(wanted))?;
    (0..64).filter(|bit| member.number & 1 << bit != 0).nth(at).map(|bit| bit + 1)
}

/// Any of the texts.
fn longest(args: &[ResultType]) -> ResultType {
    let texts = &args[1..];
    ResultType { length: texts.iter().map(|text| text.length).max().unwrap_or(0), ..joined(texts) }
}

fn find_in_set(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (wanted, set) = (to_bytes(&args[0]), to_bytes(&args[1]));
    // As in MySQL, what takes more bytes than all of the list is none of it, whatever the collation says.
    if set.is_empty() || wanted.contains(&b',') || args.encoded_len(&wanted) > args.encoded_len(&set) {
        return Ok(Value::Int(0));
    }
    if let Some(place) = place_in_list(args, &wanted) {
        return Ok(Value::Int(place));
    }
    let mut compared = 0;
    for (at, item) in set.split(|&byte| byte == b',').enumerate() {
        if args.collation.equal_unpadded(item, &wanted) {
            return Ok(Value::Int(at as i64 + 1));
        }
        compared += wanted.len();
        if compared > CHECKED_EVERY {
            compared = 0;
            args.cx.statement.check_killed()?;
        }
    }
    Ok(Value::Int(0))
}

/// The texts whose bits are set, with commas between them; the others are not evaluated.
fn make_set(args: &Demand<'_, '_>) -> Result<Value, SqlError> {
    let number = args.get(0)?;
    if number.is_null() {
        return Ok(Value::Null);
    }
    let bits = to_bits(&number, args.cx)?;
    let is_set = |at: usize| (1..=64).contains(&at) && bits >> (at - 1) & 1 == 1;
    let text = |at| if is_set(at) { Ok(args.as_wanted(at, args.get(at)?)) } else { Ok(Value::Null) };
    let values = (0..args.count()).map(text).collect::<Result<Vec<_>, SqlError>>()?;
    args.over(&values, |args| {
        let texts: Vec<Cow<'_, [u8]>> = args.iter().filter(|text| !text.is_null()).map(to_bytes).collect();
        if !args.has_room(texts.iter().map(|text| text.len() + 1).sum())? {
            return Ok(Value::Null);
        }
        // Bytes among those that are left out make bytes of it.
        let is_binary = args.is_binary() || is_binary(&args.call.derive(args.cx.params));
        Ok(make(texts.join(&b','), is_binary))
    })
}

fn make_set_type(args: &[ResultType]) -> ResultType {
    let texts = joined(&args[1..]);
    ResultType { length: texts.length.saturating_add(args.len() as u32 - 2), ..texts }
}

/// A text for each bit, from the lowest on.
fn export_set(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let bits = to_bits(&args[0], args.cx)?;
    let (on, off) = (to_bytes(&args[1]), to_bytes(&args[2]));
    let separator = args.get(3).map_or(Cow::Borrowed(&b","[..]), to_bytes);
    let count = args.get(4).map_or(Ok(64), |count| to_i64(count, args.cx))?;
    let count = if (0..=64).contains(&count) { count as usize } else { 64 };
    if !args.has_room((on.len().max(off.len()) + separator.len()) * count)? {
        return Ok(Value::Null);
    }
    let texts: Vec<&[u8]> = (0..count).map(|at| if bits >> at & 1 == 1 { &*on } else { &*off }).collect();
    args.string(texts.join(&*separator))
}

fn export_set_type(args: &[ResultType]) -> ResultType {
    let texts = joined(&args[1..args.len().min(4)]);
    let separator = args.get(3).map_or(1, |separator| separator.length);
    let widest = args[1].length.max(args[2].length);
    ResultType { length: widest.saturating_mul(64).saturating_add(separator.saturating_mul(63)), ..texts }
}
