//! Functions of strings.
//!
//! They count characters, or bytes if one of the strings is binary; then the result is binary too.
//! Positions start at 1.

use std::borrow::Cow;

use memchr::memmem;

use super::super::convert::{to_bytes, to_decimal, to_f64, to_i64, to_text};
use super::{Arguments, Form, Function, MANY, locale};
use crate::collation::Collation;
use crate::error::{ER_UNKNOWN_LOCALE, SqlError};
use crate::types::{Charset, Family, NOT_FIXED_DECIMALS, ResultType};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("concat", 1, MANY, concat, joined).keeps_collation().joins().of_text().doc(
        "All arguments, one after the other.",
        "CONCAT('My', 'S', 'QL')",
        "MySQL",
    ),
    Function::new("concat_ws", 2, MANY, concat_ws, joined).takes_null().keeps_collation().joins().of_text().doc(
        "The arguments that are not NULL, with the first one between them.",
        "CONCAT_WS(',', 'a', NULL, 'b')",
        "a,b",
    ),
    Function::new("length", 1, 1, |a| Ok(Value::Int(to_bytes(&a[0]).len() as i64)), |_| ResultType::integer(10))
        .of_text()
        .aliases(&["octet_length"])
        .of_bytes()
        .doc("Length in bytes.", "LENGTH('é')", "2"),
    Function::new(
        "bit_length",
        1,
        1,
        |a| Ok(Value::Int(to_bytes(&a[0]).len() as i64 * 8)),
        |_| ResultType::integer(11),
    )
    .of_text()
    .of_bytes()
    .doc("Length in bits.", "BIT_LENGTH('text')", "32"),
    Function::new("char_length", 1, 1, char_length, |_| ResultType::integer(10))
        .of_text()
        .aliases(&["character_length"])
        .doc("Length in characters.", "CHAR_LENGTH('é')", "1"),
    Function::new("upper", 1, 1, upper, first).keeps_collation_of_first().joins().of_text().aliases(&["ucase"]).doc(
        "The text in capital letters.",
        "UPPER('Hej')",
        "HEJ",
    ),
    Function::new("lower", 1, 1, lower, first).keeps_collation_of_first().joins().of_text().aliases(&["lcase"]).doc(
        "The text in small letters.",
        "LOWER('Hej')",
        "hej",
    ),
    Function::new("substring", 2, 3, substring, first)
        .keeps_collation_of_first()
        .joins()
        .numbers_at(&[1, 2])
        .of_text()
        .aliases(&["substr", "mid"])
        .form(Form::Substring)
        .doc(
            "The part from a place, counted from the end if it is negative, of at most so many characters.",
            "SUBSTRING('Quadratically', 5, 6)",
            "ratica",
        ),
    Function::new("left", 2, 2, left, first)
        .keeps_collation_of_first()
        .joins()
        .numbers_at(&[1])
        .of_text()
        .in_grammar()
        .doc("The first characters.", "LEFT('foobarbar', 5)", "fooba"),
    Function::new("right", 2, 2, right, first)
        .keeps_collation_of_first()
        .joins()
        .numbers_at(&[1])
        .of_text()
        .in_grammar()
        .doc("The last characters.", "RIGHT('foobarbar', 4)", "rbar"),
    Function::new("substring_index", 3, 3, substring_index, first).keeps_collation().numbers_at(&[2]).of_text().doc(
        "What stands before the n-th delimiter, or after it, counted from the end, if n is negative.",
        "SUBSTRING_INDEX('www.mysql.com', '.', 2)",
        "www.mysql",
    ),
    Function::new("trim", 1, 2, |a| trim(a, true, true), first).keeps_collation().of_text().form(Form::Trim).doc(
        "The text without the blanks, or the given text, at its sides.",
        "TRIM(BOTH 'x' FROM 'xxbarxx')",
        "bar",
    ),
    Function::new("trim leading", 1, 2, |a| trim(a, true, false), first).keeps_collation().of_text().doc(
        "TRIM(LEADING x FROM text).",
        "TRIM(LEADING 'x' FROM 'xxbarxx')",
        "barxx",
    ),
    Function::new("trim trailing", 1, 2, |a| trim(a, false, true), first).keeps_collation().of_text().doc(
        "TRIM(TRAILING x FROM text).",
        "TRIM(TRAILING 'xyz' FROM 'barxxyz')",
        "barx",
    ),
    Function::new("ltrim", 1, 1, |a| trim(a, true, false), first).keeps_collation_of_first().joins().of_text().doc(
        "The text without blanks at its start.",
        "LTRIM('  bar')",
        "bar",
    ),
    Function::new("rtrim", 1, 1, |a| trim(a, false, true), first).keeps_collation_of_first().joins().of_text().doc(
        "The text without blanks at its end.",
        "RTRIM('bar  ')",
        "bar",
    ),
    Function::new("replace", 3, 3, replace, replaced).keeps_collation().of_text().in_grammar().doc(
        "The text with every occurrence of one text replaced by another.",
        "REPLACE('www.mysql.com', 'w', 'Ww')",
        "WwWwWw.mysql.com",
    ),
    Function::new("repeat", 2, 2, repeat, long_string)
        .keeps_collation_of_first()
        .joins()
        .numbers_at(&[1])
        .of_text()
        .in_grammar()
        .doc("The text so many times.", "REPEAT('ab', 3)", "ababab"),
    Function::new("space", 1, 1, space, long_string).doc("So many blanks.", "CONCAT('a', SPACE(2), 'b')", "a  b"),
    Function::new("lpad", 3, 3, |a| pad(a, true), long_string)
        .keeps_collation()
        .joins()
        .numbers_at(&[1])
        .of_text()
        .doc("The text, filled from the left or cut to so many characters.", "LPAD('hi', 5, '?!')", "?!?hi"),
    Function::new("rpad", 3, 3, |a| pad(a, false), long_string)
        .keeps_collation()
        .joins()
        .numbers_at(&[1])
        .of_text()
        .doc("The text, filled from the right or cut to so many characters.", "RPAD('hi', 5, '?')", "hi???"),
    Function::new("instr", 2, 2, |a| locate(a, &a[0], &a[1], 1), |_| ResultType::integer(11)).of_text().doc(
        "The place of the second text in the first; 0 if it is not there.",
        "INSTR('foobarbar', 'bar')",
        "4",
    ),
    Function::new("position", 2, 2, locate_from, |_| ResultType::integer(11)).of_text().form(Form::Position).doc(
        "The place of the first text in the second; 0 if it is not there.",
        "POSITION('bar' IN 'foobarbar')",
        "4",
    ),
    Function::new("locate", 2, 3, locate_from, |_| ResultType::integer(11)).numbers_at(&[2]).of_text().doc(
        "The place of the first text in the second, from a place on; 0 if it is not there.",
        "LOCATE('bar', 'foobarbar', 5)",
        "7",
    ),
    Function::new("reverse", 1, 1, reverse, first).keeps_collation_of_first().joins().of_text().in_grammar().doc(
        "The characters in reverse order.",
        "REVERSE('abc')",
        "cba",
    ),
    Function::new("strcmp", 2, 2, strcmp, |_| ResultType::integer(2)).of_text().doc(
        "-1, 0 or 1 as the first text is less than, equal to or greater than the second.",
        "STRCMP('text', 'text2')",
        "-1",
    ),
    Function::new("insert", 4, 4, insert, inserted)
        .keeps_collation()
        .joins()
        .numbers_at(&[1, 2])
        .of_text()
        .in_grammar()
        .doc(
            "The text with another in the place of so many characters.",
            "INSERT('Quadratic', 3, 4, 'What')",
            "QuWhattic",
        ),
    Function::new("soundex", 1, 1, soundex, |a| {
        let text = first(a);
        ResultType { length: text.length.max(4), ..text }
    })
    .keeps_collation_of_first()
    .joins()
    .of_text()
    .doc("The first letter and a code of how the text sounds in English.", "SOUNDEX('Quadratically')", "Q36324"),
    Function::new("quote", 1, 1, quote, quoted).takes_null().keeps_collation_of_first().joins().of_text().doc(
        "The text as a literal of SQL.",
        "QUOTE('Don''t!')",
        "'Don\\'t!'",
    ),
    Function::new("format", 2, 3, format, |_| ResultType::string(100, Collation::DEFAULT))
        .takes_null()
        .in_grammar()
        .doc(
            "A number with so many digits after the point and groups of three, as a locale writes it.",
            "FORMAT(12332.123456, 4)",
            "12,332.1235",
        ),
    Function::new("weight_string", 1, 2, weight_string, weights).numbers_at(&[1]).form(Form::WeightString).doc(
        "What a text weighs under its collation, as bytes; NULL of a number.",
        "HEX(WEIGHT_STRING('AB' COLLATE utf8mb4_general_ci))",
        "00410042",
    ),
];

/// Bytes that may be compared before it is looked whether the statement was killed.
pub(super) const CHECKED_EVERY: usize = 1 << 20;

pub(super) fn joined(args: &[ResultType]) -> ResultType {
    let length = args.iter().fold(0u32, |sum, arg| sum.saturating_add(arg.length));
    let binary = args.iter().any(is_binary);
    ResultType::string(length, if binary { Collation::Binary } else { Collation::DEFAULT })
}

pub(super) fn is_binary(arg: &ResultType) -> bool {
    arg.family() == Family::String && arg.collation == Collation::Binary
}

pub(super) fn first(args: &[ResultType]) -> ResultType {
    joined(&args[..1])
}

pub(super) fn long_string(args: &[ResultType]) -> ResultType {
    let binary = args.iter().any(is_binary);
    ResultType::string(16_383, if binary { Collation::Binary } else { Collation::DEFAULT })
}

/// Each character weighs four bytes at most.
fn weights(args: &[ResultType]) -> ResultType {
    ResultType::string(args[0].length.saturating_mul(4), Collation::Binary)
}

/// With every text that is replaced by a longer one.
fn replaced(args: &[ResultType]) -> ResultType {
    let longer = args[2].length.saturating_sub(args[1].length);
    let more = (args[0].length / args[1].length.max(1)).saturating_mul(longer);
    ResultType { length: args[0].length.saturating_add(more), ..joined(args) }
}

/// As if nothing went for what is inserted.
fn inserted(args: &[ResultType]) -> ResultType {
    ResultType { length: args[0].length.saturating_add(args[3].length), ..joined(args) }
}

/// With a backslash before each character.
fn quoted(args: &[ResultType]) -> ResultType {
    ResultType { length: args[0].length.saturating_mul(2).saturating_add(2), ..first(args) }
}

impl Arguments<'_, '_> {
    /// Whether one of the strings is binary.
    pub(super) fn is_binary(&self) -> bool {
        let function = self.call.function;
        self.iter().enumerate().any(|(at, value)| value.is_binary_string() && !function.is_number(at))
    }

    /// Bytes of a text in the character set under which the arguments meet.
    pub(super) fn encoded_len(&self, text: &[u8]) -> usize {
        let recoded = self.collation.charset().is_recoded();
        if recoded { unit_count(text, self.is_binary()) } else { text.len() }
    }

    pub(super) fn string(&self, bytes: Vec<u8>) -> Result<Value, SqlError> {
        Ok(make(bytes, self.is_binary()))
    }
}

/// A string of bytes; text that is cut within a character loses it.
pub(super) fn make(bytes: Vec<u8>, binary: bool) -> Value {
    if binary {
        return Value::bytes(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Value::text(text),
        Err(error) => Value::text(String::from_utf8_lossy(error.as_bytes()).as_ref()),
    }
}

/// Starts of the units of a string: of its characters, or of its bytes if it is binary; and its end.
fn unit_starts(bytes: &[u8], binary: bool) -> Vec<usize> {
    let starts = (0..bytes.len()).filter(|&at| binary || bytes[at] & 0xc0 != 0x80);
    starts.chain([bytes.len()]).collect()
}

fn unit_count(bytes: &[u8], binary: bool) -> usize {
    if binary { bytes.len() } else { bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() }
}

/// The units from `from` (0 is the first) to before `to`, cut to what there is.
pub(super) fn slice(bytes: &[u8], binary: bool, from: usize, to: usize) -> &[u8] {
    if binary || bytes.is_ascii() {
        let to = to.min(bytes.len());
        return &bytes[from.min(to)..to];
    }
    let starts = unit_starts(bytes, binary);
    let at = |unit: usize| starts[unit.min(starts.len() - 1)];
    &bytes[at(from.min(to))..at(to)]
}

fn concat(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let parts: Vec<Cow<'_, [u8]>> = args.iter().map(to_bytes).collect();
    if !args.has_room(parts.iter().map(|part| part.len()).sum())? {
        return Ok(Value::Null);
    }
    args.string(parts.concat())
}

fn concat_ws(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let parts: Vec<Cow<'_, [u8]>> = args[1..].iter().filter(|value| !value.is_null()).map(to_bytes).collect();
    let separator = to_bytes(&args[0]);
    if !args.has_room(parts.iter().map(|part| part.len() + separator.len()).sum())? {
        return Ok(Value::Null);
    }
    args.string(parts.join(&*separator))
}

fn char_length(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::Int(unit_count(&to_bytes(&args[0]), args.is_binary()) as i64))
}

fn upper(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    change_case(args, Charset::upper)
}

fn lower(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    change_case(args, Charset::lower)
}

/// Binary strings have no case.
fn change_case(args: &Arguments<'_, '_>, change: fn(Charset, char) -> char) -> Result<Value, SqlError> {
    if args.is_binary() {
        return Ok(args[0].clone());
    }
    let charset = args.collation.charset();
    Ok(Value::text(to_text(&args[0]).chars().map(|c| change(charset, c)).collect::<String>()))
}

fn substring(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (bytes, binary) = (to_bytes(&args[0]), args[0].is_binary_string());
    let position = to_i64(&args[1], args.cx)?;
    let count = args.get(2).map_or(Ok(i64::MAX), |count| to_i64(count, args.cx))?;
    let units = unit_count(&bytes, binary) as i64;
    let from = if position > 0 { position - 1 } else { units.saturating_add(position) };
    if position == 0 || from < 0 || count <= 0 {
        return Ok(make(Vec::new(), binary));
    }
    let to = from.saturating_add(count).min(units);
    Ok(make(slice(&bytes, binary, from.min(units) as usize, to as usize).to_vec(), binary))
}

fn left(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (bytes, binary) = (to_bytes(&args[0]), args[0].is_binary_string());
    let count = to_i64(&args[1], args.cx)?.max(0) as usize;
    Ok(make(slice(&bytes, binary, 0, count).to_vec(), binary))
}

fn right(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (bytes, binary) = (to_bytes(&args[0]), args[0].is_binary_string());
    let count = to_i64(&args[1], args.cx)?.max(0) as usize;
    let units = unit_count(&bytes, binary);
    Ok(make(slice(&bytes, binary, units.saturating_sub(count), units).to_vec(), binary))
}

fn substring_index(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (text, delimiter) = (to_bytes(&args[0]), to_bytes(&args[1]));
    let count = to_i64(&args[2], args.cx)?;
    if count == 0 || delimiter.is_empty() {
        return Ok(make(Vec::new(), args.is_binary()));
    }
    let mut ends = memmem::find_iter(&text, &*delimiter);
    let kept = if count > 0 {
        ends.nth(count as usize - 1).map_or(&text[..], |end| &text[..end])
    } else {
        let from_end = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let all = memmem::find_iter(&text, &*delimiter).count();
        let end = all.checked_sub(from_end).and_then(|at| ends.nth(at));
        end.map_or(&text[..], |end| &text[end + delimiter.len()..])
    };
    Ok(make(kept.to_vec(), args.is_binary()))
}

fn trim(args: &Arguments<'_, '_>, leading: bool, trailing: bool) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    let wanted = args.get(1).map_or(Cow::Borrowed(&b" "[..]), to_bytes);
    let mut kept = &*text;
    if !wanted.is_empty() {
        while let Some(rest) = kept.strip_prefix(&*wanted).filter(|_| leading) {
            kept = rest;
        }
        while let Some(rest) = kept.strip_suffix(&*wanted).filter(|_| trailing) {
            kept = rest;
        }
    }
    Ok(make(kept.to_vec(), args.is_binary()))
}

fn replace(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (text, from, to) = (to_bytes(&args[0]), to_bytes(&args[1]), to_bytes(&args[2]));
    if from.is_empty() {
        return Ok(make(text.into_owned(), args.is_binary()));
    }
    let finder = memmem::Finder::new(&*from);
    let growth = finder.find_iter(&text).count().saturating_mul(to.len().saturating_sub(from.len()));
    if !args.has_room(text.len().saturating_add(growth))? {
        return Ok(Value::Null);
    }
    let mut result = Vec::with_capacity(text.len() + growth);
    let mut done = 0;
    for at in finder.find_iter(&text) {
        result.extend_from_slice(&text[done..at]);
        result.extend_from_slice(&to);
        done = at + from.len();
    }
    result.extend_from_slice(&text[done..]);
    args.string(result)
}

fn repeat(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    let count = to_i64(&args[1], args.cx)?.max(0) as usize;
    if !args.has_room(text.len().saturating_mul(count))? {
        return Ok(Value::Null);
    }
    args.string(text.repeat(count))
}

fn space(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let count = to_i64(&args[0], args.cx)?.max(0) as usize;
    if !args.has_room(count)? {
        return Ok(Value::Null);
    }
    Ok(Value::text(" ".repeat(count)))
}

fn pad(args: &Arguments<'_, '_>, before: bool) -> Result<Value, SqlError> {
    let (text, binary) = (to_bytes(&args[0]), args.is_binary());
    let wanted = to_i64(&args[1], args.cx)?;
    let filler = to_bytes(&args[2]);
    if wanted < 0 {
        return Ok(Value::Null);
    }
    let (wanted, units) = (wanted as usize, unit_count(&text, binary));
    if wanted <= units {
        return Ok(make(slice(&text, binary, 0, wanted).to_vec(), binary));
    }
    let filler_units = unit_count(&filler, binary);
    if filler_units == 0 {
        return Ok(make(Vec::new(), binary));
    }
    let missing = wanted - units;
    let whole = (missing / filler_units).saturating_mul(filler.len());
    let longest = text.len().saturating_add(whole).max(wanted);
    if !args.has_room(longest)? {
        return Ok(Value::Null);
    }
    let mut padding = filler.repeat(missing / filler_units);
    padding.extend_from_slice(slice(&filler, binary, 0, missing % filler_units));
    let bytes = if before { [&padding[..], &text].concat() } else { [&text[..], &padding].concat() };
    args.string(bytes)
}

fn locate_from(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let from = args.get(2).map_or(Ok(1), |from| to_i64(from, args.cx))?;
    locate(args, &args[1], &args[0], from)
}

/// The place of `wanted` in `text` from the `from`-th unit on, under the collation; 0 if it is not there. A part of the
/// text is looked at if it takes as many bytes in the character set: under a collation that ignores accents `é` is not
/// found in `e`, as in MySQL.
fn locate(args: &Arguments<'_, '_>, text: &Value, wanted: &Value, from: i64) -> Result<Value, SqlError> {
    let (text, wanted, binary) = (to_bytes(text), to_bytes(wanted), args.is_binary());
    let starts = unit_starts(&text, binary);
    let Some(from) =
        usize::try_from(from).ok().and_then(|from| from.checked_sub(1)).filter(|from| *from < starts.len())
    else {
        return Ok(Value::Int(0));
    };
    if wanted.is_empty() {
        // Here MySQL counts bytes.
        return Ok(Value::Int(args.encoded_len(&text[..starts[from]]) as i64 + 1));
    }
    let exact = binary || args.collation.is_bin();
    let unit_at = |at: usize| Value::Int(starts.partition_point(|start| *start <= at) as i64);
    if exact {
        let found = memmem::find(&text[starts[from]..], &wanted);
        return Ok(found.map_or(Value::Int(0), |at| unit_at(starts[from] + at)));
    }
    // Letters of ASCII are equal if they are but for their case; other characters of it may not count at all.
    let plain = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if !args.collation.is_case_sensitive() && plain(&text) && plain(&wanted) {
        let found = memmem::find(&text[from..].to_ascii_lowercase(), &wanted.to_ascii_lowercase());
        return Ok(Value::Int(found.map_or(0, |at| (from + at) as i64 + 1)));
    }
    let units = unit_count(&wanted, binary);
    let recoded = args.collation.charset().is_recoded();
    let mut compared = 0;
    for unit in from..starts.len() - 1 {
        let start = starts[unit];
        let end = if recoded { starts.get(unit + units).copied() } else { Some(start + wanted.len()) };
        let Some(end) = end.filter(|end| *end <= text.len()) else { break };
        let window = &text[start..end];
        if starts.binary_search(&end).is_ok() && args.collation.equal_unpadded(window, &wanted) {
            return Ok(Value::Int(unit as i64 + 1));
        }
        compared += wanted.len();
        if compared > CHECKED_EVERY {
            compared = 0;
            args.cx.statement.check_killed()?;
        }
    }
    Ok(Value::Int(0))
}

fn reverse(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (bytes, binary) = (to_bytes(&args[0]), args.is_binary());
    let starts = unit_starts(&bytes, binary);
    let units = starts.windows(2).rev().flat_map(|unit| &bytes[unit[0]..unit[1]]);
    Ok(make(units.copied().collect(), binary))
}

fn strcmp(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::Int(args.collation.compare(&to_bytes(&args[0]), &to_bytes(&args[1])) as i64))
}

fn insert(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (text, new, binary) = (to_bytes(&args[0]), to_bytes(&args[3]), args.is_binary());
    let (position, len) = (to_i64(&args[1], args.cx)?, to_i64(&args[2], args.cx)?);
    let units = unit_count(&text, binary) as i64;
    if position < 1 || position > units {
        return Ok(make(text.into_owned(), binary));
    }
    let from = (position - 1) as usize;
    let to = if len < 0 { units } else { (position - 1).saturating_add(len).min(units) } as usize;
    let head = slice(&text, binary, 0, from);
    let tail = slice(&text, binary, to, units as usize);
    if !args.has_room(head.len() + new.len() + tail.len())? {
        return Ok(Value::Null);
    }
    args.string([head, &new, tail].concat())
}

/// Letters of ASCII have a code, but for vowels and the like; others are letters without one. The same code in a row, with
/// anything that has none between, counts once.
fn soundex(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let code = |c: char| match c {
        'A'..='Z' => CODES[c as usize - 'A' as usize],
        _ => b'0',
    };
    let text = to_text(&args[0]);
    let letter = |c: &char| c.is_ascii_alphabetic() || *c >= '\u{c0}';
    let mut letters = text.chars().filter(letter).map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next() else { return Ok(Value::text("")) };
    let (mut sound, mut last) = (String::from(first), code(first));
    for code in letters.map(code) {
        if code != b'0' && code != last {
            sound.push(char::from(code));
            last = code;
        }
    }
    let missing = 4usize.saturating_sub(sound.chars().count());
    sound.push_str(&"0".repeat(missing));
    args.string(sound.into_bytes())
}

fn quote(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::text("NULL"));
    }
    let mut quoted = vec![b'\''];
    for byte in to_bytes(&args[0]).iter() {
        match byte {
            b'\'' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            0 => quoted.extend_from_slice(b"\\0"),
            0x1a => quoted.extend_from_slice(b"\\Z"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    args.string(quoted)
}

/// FORMAT(number, digits, locale): rounded, with the point and the groups of digits of the locale.
fn format(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Value::Null);
    }
    let style = match args.get(2) {
        None => locale::ENGLISH,
        Some(name) => match locale::of(&to_text(name)) {
            Some(style) => style,
            None => {
                args.cx.statement.warn(SqlError::new(ER_UNKNOWN_LOCALE, &[name]))?;
                locale::ENGLISH
            }
        },
    };
    let digits = to_i64(&args[1], args.cx)?.clamp(0, 30) as u8;
    let text = match &args[0] {
        Value::Double(_) | Value::Float(_) | Value::Text(_) | Value::Bytes(_) => {
            format!("{:.*}", usize::from(digits.min(NOT_FIXED_DECIMALS)), to_f64(&args[0], args.cx)?)
        }
        exact => to_decimal(exact, args.cx)?.round_to(digits).to_string(),
    };
    Ok(Value::text(style.write(&text)))
}

/// With a number of characters, so many are weighed: what is missing are spaces where the collation pads, and zero bytes
/// of a binary string.
fn weight_string(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if args[0].is_number() {
        return Ok(Value::Null);
    }
    let binary = args.is_binary();
    let mut text = to_bytes(&args[0]).into_owned();
    if let Some(chars) = args.get(1) {
        let chars = to_i64(chars, args.cx)?.max(0) as usize;
        if !args.has_room(chars.saturating_mul(4))? {
            return Ok(Value::Null);
        }
        let missing = chars.saturating_sub(unit_count(&text, binary));
        text.truncate(slice(&text, binary, 0, chars).len());
        match (binary, args.collation.pads()) {
            (true, _) => text.resize(text.len() + missing, 0),
            (false, true) => text.resize(text.len() + missing, b' '),
            (false, false) => {}
        }
    }
    let mut weights = Vec::with_capacity(2 * text.len());
    let collation = if binary { Collation::Binary } else { args.collation };
    collation.write_weights(&text, &mut weights);
    args.bounded(Value::bytes(weights))
}
