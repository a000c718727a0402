//! REGEXP_LIKE, which is also what REGEXP and RLIKE call, and what finds and replaces matches.
//!
//! The syntax is the `regex` crate's, which is ICU's without look-around and back references: those are
//! error 3690. In turn a match takes time in proportion to text and pattern, and patterns
//! have a limited size ([`PROGRAM_BYTES`]); error 3700. What is compiled only to be found too large is limited before:
//! nothing counts its memory, and KILL does not end it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{ClassAscii, ClassAsciiKind, ClassSetItem, ErrorKind, Visitor, visit};

use super::super::convert::{to_bytes, to_i64, to_text};
use super::string::{first, long_string as long, slice};
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{
    ER_REGEXP_BAD_ESCAPE_SEQUENCE, ER_REGEXP_BAD_INTERVAL, ER_REGEXP_ILLEGAL_ARGUMENT,
    ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR, ER_REGEXP_INVALID_CAPTURE_GROUP_NAME, ER_REGEXP_INVALID_RANGE,
    ER_REGEXP_MISMATCHED_PAREN, ER_REGEXP_MISSING_CLOSE_BRACKET, ER_REGEXP_PATTERN_TOO_BIG, ER_REGEXP_RULE_SYNTAX,
    ER_REGEXP_UNIMPLEMENTED, ER_WRONG_ARGUMENTS, SqlError,
};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("regexp_like", 2, 3, regexp_like, |_| ResultType::boolean()).doc(
        "Whether the text matches a regular expression.",
        "REGEXP_LIKE('Michael!', '.*')",
        "1",
    ),
    Function::new("regexp_instr", 2, 6, regexp_instr, |_| ResultType::integer(21))
        .numbers_at(&[2, 3, 4])
        .of_text()
        .doc(
            "Where the n-th match begins, looked for from a place on; where it has ended, if the fifth argument is 1.",
            "REGEXP_INSTR('dog cat dog', 'dog', 2)",
            "9",
        ),
    Function::new("regexp_substr", 2, 5, regexp_substr, first)
        .keeps_collation_of_first()
        .numbers_at(&[2, 3])
        .of_text()
        .doc(
            "The n-th match, looked for from a place on; NULL without one.",
            "REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, 3)",
            "ghi",
        ),
    Function::new("regexp_replace", 3, 6, regexp_replace, long)
        .keeps_collation_of_first()
        .numbers_at(&[3, 4])
        .of_text()
        .doc(
            "The text with its matches, or the n-th one, replaced; `$1` stands for the first group.",
            "REGEXP_REPLACE('abc def ghi', '([a-z])([a-z]+)', '$2$1', 1, 2)",
            "abc efd ghi",
        ),
];

/// Bytes that a compiled pattern may take, and what its matching may keep in addition.
const PROGRAM_BYTES: usize = 1 << 20;
/// Bytes of a pattern that may fit into [`PROGRAM_BYTES`] when it is compiled. To read one byte takes hundreds.
const PATTERN_BYTES: usize = 64 << 10;
/// Classes such as `\w` of a pattern that may fit. To read one takes thousands of bytes.
const CLASSES: usize = 2048;
/// Nesting within a pattern.
const NESTING: u32 = 60;
/// Patterns that a thread keeps compiled: those of one statement, usually.
const KEPT: usize = 4;

/// How a pattern is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
struct MatchType {
    ignore_case: bool,
    /// `^` and `$` match at every line.
    multi_line: bool,
    dot_matches_newline: bool,
    /// Only `\n` ends a line.
    unix_lines: bool,
}

impl MatchType {
    fn of(collation: Collation, letters: &str) -> Option<MatchType> {
        let ignore_case = !collation.is_case_sensitive();
        let mut match_type =
            MatchType { ignore_case, multi_line: false, dot_matches_newline: false, unix_lines: false };
        for letter in letters.chars() {
            match letter {
                'c' => match_type.ignore_case = false,
                'i' => match_type.ignore_case = true,
                'm' => match_type.multi_line = true,
                'n' => match_type.dot_matches_newline = true,
                'u' => match_type.unix_lines = true,
                _ => return None,
            }
        }
        Some(match_type)
    }
}

/// A pattern as JSON Schema means it, within the same bounds.
pub(super) fn of_schema(pattern: &str) -> Result<Regex, SqlError> {
    let plain = MatchType { ignore_case: false, multi_line: false, dot_matches_newline: false, unix_lines: false };
    Compiled::new(pattern.as_bytes(), plain).map(|compiled| compiled.regex)
}

/// A compiled pattern with what it was made of.
struct Compiled {
    pattern: Vec<u8>,
    match_type: MatchType,
    regex: Regex,
}

impl Compiled {
    fn new(pattern: &[u8], match_type: MatchType) -> Result<Compiled, SqlError> {
        let text = std::str::from_utf8(pattern).ok().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| SqlError::new(ER_REGEXP_ILLEGAL_ARGUMENT, &[]))?;
        let written = with_unicode_classes(text);
        if pattern.len() > PATTERN_BYTES || classes(written.as_bytes()) > CLASSES {
            return Err(SqlError::new(ER_REGEXP_PATTERN_TOO_BIG, &[]));
        }
        let regex = RegexBuilder::new(&written)
            .case_insensitive(match_type.ignore_case)
            .multi_line(match_type.multi_line)
            .dot_matches_new_line(match_type.dot_matches_newline)
            .crlf(!match_type.unix_lines)
            .nest_limit(NESTING)
            .size_limit(PROGRAM_BYTES)
            .dfa_size_limit(PROGRAM_BYTES)
            .build();
        let regex = regex.map_err(|_| refusal(text))?;
        Ok(Compiled { pattern: pattern.to_vec(), match_type, regex })
    }

    fn matches(&self, text: &[u8]) -> bool {
        self.regex.is_match(text) || (self.matches_before_last_newline() && self.regex.is_match(without_newline(text)))
    }

    /// `$` also matches in front of a newline at the end, `\z` does not.
    fn matches_before_last_newline(&self) -> bool {
        self.pattern.contains(&b'$') && !self.pattern.windows(2).any(|pair| pair == b"\\z")
    }
}

/// The pattern with those of Unicode in place of POSIX classes, as ICU means them; the library's are of ASCII.
fn with_unicode_classes(pattern: &str) -> Cow<'_, str> {
    if !pattern.contains("[:") {
        return Cow::Borrowed(pattern);
    }
    // What is no pattern is refused when it is compiled.
    let parsed = ParserBuilder::new().nest_limit(NESTING).build().parse(pattern);
    let Ok(parsed) = parsed else { return Cow::Borrowed(pattern) };
    let Ok(classes) = visit(&parsed, PosixClasses::default());
    let mut written = pattern.to_owned();
    for (place, class) in classes.into_iter().rev() {
        written.replace_range(place, class);
    }
    Cow::Owned(written)
}

/// Where a pattern has POSIX classes, and those of Unicode in their places, from left to right.
#[derive(Default)]
struct PosixClasses(Vec<(Range<usize>, &'static str)>);

impl Visitor for PosixClasses {
    type Output = Vec<(Range<usize>, &'static str)>;
    type Err = Infallible;

    fn finish(self) -> Result<Self::Output, Infallible> {
        Ok(self.0)
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        let ClassSetItem::Ascii(ClassAscii { span, kind, negated: false }) = item else { return Ok(()) };
        let class = match kind {
            ClassAsciiKind::Alpha => r"\p{Alphabetic}",
            ClassAsciiKind::Alnum => r"\p{Alphabetic}\p{Nd}",
            ClassAsciiKind::Lower => r"\p{Lowercase}",
            ClassAsciiKind::Upper => r"\p{Uppercase}",
            ClassAsciiKind::Digit => r"\p{Nd}",
            ClassAsciiKind::Space => r"\p{White_Space}",
            ClassAsciiKind::Ascii
            | ClassAsciiKind::Blank
            | ClassAsciiKind::Cntrl
            | ClassAsciiKind::Graph
            | ClassAsciiKind::Print
            | ClassAsciiKind::Punct
            | ClassAsciiKind::Word
            | ClassAsciiKind::Xdigit => return Ok(()),
        };
        self.0.push((span.start.offset..span.end.offset, class));
        Ok(())
    }
}

/// How many classes of Unicode a pattern names, at most.
fn classes(pattern: &[u8]) -> usize {
    pattern.windows(2).filter(|pair| pair[0] == b'\\' && b"dDpPsSwW".contains(&pair[1])).count()
}

fn without_newline(text: &[u8]) -> &[u8] {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Why a pattern is not taken.
fn refusal(pattern: &str) -> SqlError {
    let parsed = ParserBuilder::new().nest_limit(NESTING).build().parse(pattern);
    let Err(error) = parsed else {
        // It is the size, or a class of characters that is not known.
        return match regex_syntax::parse(pattern) {
            Ok(_) => SqlError::new(ER_REGEXP_PATTERN_TOO_BIG, &[]),
            Err(_) => SqlError::new(ER_REGEXP_ILLEGAL_ARGUMENT, &[]),
        };
    };
    let code = match error.kind() {
        ErrorKind::UnsupportedBackreference | ErrorKind::UnsupportedLookAround => ER_REGEXP_UNIMPLEMENTED,
        ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => ER_REGEXP_MISMATCHED_PAREN,
        ErrorKind::ClassUnclosed => ER_REGEXP_MISSING_CLOSE_BRACKET,
        ErrorKind::ClassRangeInvalid => ER_REGEXP_INVALID_RANGE,
        ErrorKind::EscapeUnrecognized | ErrorKind::EscapeUnexpectedEof => ER_REGEXP_BAD_ESCAPE_SEQUENCE,
        ErrorKind::RepetitionCountInvalid
        | ErrorKind::RepetitionCountDecimalEmpty
        | ErrorKind::RepetitionCountUnclosed => ER_REGEXP_BAD_INTERVAL,
        ErrorKind::NestLimitExceeded(_) | ErrorKind::CaptureLimitExceeded => ER_REGEXP_PATTERN_TOO_BIG,
        _ => {
            let place = error.span().start;
            return SqlError::new(ER_REGEXP_RULE_SYNTAX, &[&place.line, &place.column]);
        }
    };
    SqlError::new(code, &[])
}

thread_local! {
    /// The patterns last used, newest first.
    static COMPILED: RefCell<Vec<Compiled>> = const { RefCell::new(Vec::new()) };
}

/// Works with the compiled pattern of a call, whose argument `letters_at` says how it is meant.
fn with_pattern<T>(
    args: &Arguments<'_, '_>,
    letters_at: usize,
    work: impl FnOnce(&Compiled) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let letters = args.get(letters_at).map(to_text);
    let match_type = MatchType::of(args.collation, letters.as_deref().unwrap_or_default());
    let match_type = match_type.ok_or_else(|| SqlError::new(ER_WRONG_ARGUMENTS, &[&args.call.name()]))?;
    let pattern = to_bytes(&args[1]);
    COMPILED.with_borrow_mut(|kept| {
        let known = kept.iter().position(|kept| kept.match_type == match_type && *kept.pattern == *pattern);
        match known {
            Some(at) => kept[..=at].rotate_right(1),
            None => {
                let compiled = Compiled::new(&pattern, match_type)?;
                kept.truncate(KEPT - 1);
                kept.insert(0, compiled);
            }
        }
        work(&kept[0])
    })
}

fn regexp_like(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    with_pattern(args, 2, |compiled| Ok(Value::bool(compiled.matches(&text))))
}

/// Where a search begins: the argument says which character it is, from 1. 3686 if it lies outside of the text.
fn start(args: &Arguments<'_, '_>, at: usize, text: &[u8]) -> Result<usize, SqlError> {
    let place = args.get(at).map_or(Ok(1), |place| to_i64(place, args.cx))?;
    let before = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
    let outside = || SqlError::new(ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR, &[]);
    let before = before.filter(|before| *before <= text.len()).ok_or_else(outside)?;
    let skipped = slice(text, args.is_binary(), 0, before);
    let characters = if args.is_binary() { skipped.len() } else { String::from_utf8_lossy(skipped).chars().count() };
    if characters == before { Ok(skipped.len()) } else { Err(outside()) }
}

/// Which match is meant, from 1; `or` if that is not said.
fn occurrence(args: &Arguments<'_, '_>, at: usize, or: i64) -> Result<u64, SqlError> {
    let which = args.get(at).map_or(Ok(or), |which| to_i64(which, args.cx))?;
    Ok(u64::try_from(which).unwrap_or_default().max(u64::from(or > 0)))
}

impl Compiled {
    /// The first match from a byte of the text on.
    fn find_from(&self, text: &[u8], from: usize) -> Option<Found> {
        let find_in = |text: &[u8]| {
            let found = self.regex.find_at(text, from)?;
            Some(Found { begin: found.start(), end: found.end(), within: text.len() })
        };
        let found = find_in(text);
        let line = without_newline(text);
        if !self.matches_before_last_newline() || line.len() == text.len() || from > line.len() {
            return found;
        }
        let before_newline = find_in(line);
        let begins = |found: &Option<Found>| found.as_ref().map_or(usize::MAX, |found| found.begin);
        if begins(&before_newline) < begins(&found) { before_newline } else { found }
    }

    /// The groups of a match. They are looked for by themselves: to keep them while a match is looked for takes time in
    /// proportion to their number for each step.
    fn groups_of<'t>(&self, text: &'t [u8], found: &Found) -> Option<Captures<'t>> {
        self.regex.captures_at(&text[..found.within], found.begin)
    }

    /// Calls `take` with the matches from a byte of the text on, until it has enough.
    fn each_match(
        &self,
        text: &[u8],
        mut from: usize,
        args: &Arguments<'_, '_>,
        mut take: impl FnMut(Found) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        while from <= text.len() {
            args.cx.statement.check_killed()?;
            let Some(found) = self.find_from(text, from) else { return Ok(()) };
            // After an empty match it goes on with the next character.
            from = if found.end > found.begin { found.end } else { next_character(text, found.end) };
            if !take(found)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The n-th match from a byte of the text on.
    fn nth(&self, text: &[u8], from: usize, which: u64, args: &Arguments<'_, '_>) -> Result<Option<Found>, SqlError> {
        let (mut left, mut nth) = (which, None);
        self.each_match(text, from, args, |found| {
            left -= 1;
            if left == 0 {
                nth = Some(found);
            }
            Ok(left > 0)
        })?;
        Ok(nth)
    }
}

/// A match: its first byte, the one after its last, and how many bytes of the text were looked at.
struct Found {
    begin: usize,
    end: usize,
    within: usize,
}

fn next_character(text: &[u8], at: usize) -> usize {
    let continues = |byte: &&u8| **byte & 0xc0 == 0x80;
    at + 1 + text.get(at + 1..).unwrap_or_default().iter().take_while(continues).count()
}

fn regexp_instr(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    let (from, which) = (start(args, 2, &text)?, occurrence(args, 3, 1)?);
    let after = match args.get(4).map_or(Ok(0), |after| to_i64(after, args.cx))? {
        0 => false,
        1 => true,
        _ => return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&args.call.name()])),
    };
    let found = with_pattern(args, 5, |compiled| compiled.nth(&text, from, which, args))?;
    Ok(Value::Int(found.map_or(0, |found| {
        let before = &text[..if after { found.end } else { found.begin }];
        let characters = if args.is_binary() { before.len() } else { String::from_utf8_lossy(before).chars().count() };
        characters as i64 + 1
    })))
}

fn regexp_substr(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    let (from, which) = (start(args, 2, &text)?, occurrence(args, 3, 1)?);
    let found = with_pattern(args, 4, |compiled| compiled.nth(&text, from, which, args))?;
    found.map_or(Ok(Value::Null), |found| args.string(text[found.begin..found.end].to_vec()))
}

fn regexp_replace(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    // Of an empty text nothing is replaced.
    let (from, which) = (start(args, 3, &text)?, occurrence(args, 4, 0)?);
    let replacement = to_text(&args[2]);
    let (mut made, mut copied, mut at) = (Vec::new(), 0, 0);
    let mut fits = true;
    with_pattern(args, 5, |compiled| {
        let parts = replacement_parts(&replacement, &compiled.regex)?;
        let with_groups = parts.iter().any(|part| matches!(part, Part::Group(_)));
        compiled.each_match(&text, from, args, |found| {
            at += 1;
            if which > 0 && at < which {
                return Ok(true);
            }
            made.extend_from_slice(&text[copied..found.begin]);
            copied = found.end;
            let groups = if with_groups { compiled.groups_of(&text, &found) } else { None };
            for part in &parts {
                match part {
                    Part::Text(text) => made.extend_from_slice(text.as_bytes()),
                    Part::Group(group) => {
                        let group = groups.as_ref().and_then(|groups| groups.get(*group));
                        made.extend_from_slice(group.map_or(&[][..], |group| group.as_bytes()));
                    }
                }
            }
            fits = args.has_room(made.len())?;
            Ok(fits && which == 0)
        })
    })?;
    if !fits {
        return Ok(Value::Null);
    }
    made.extend_from_slice(&text[copied..]);
    args.string(made)
}

/// A part of what replaces a match.
enum Part {
    Text(String),
    Group(usize),
}

/// `$1` and `${name}` are groups, a backslash takes the next character as it is. 3686 of a group that is not there, 3887
/// of a dollar before anything else.
fn replacement_parts(text: &str, regex: &Regex) -> Result<Vec<Part>, SqlError> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => plain.extend(rest.next()),
            '$' => {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                let wrong_name = || SqlError::new(ER_REGEXP_INVALID_CAPTURE_GROUP_NAME, &[]);
                if rest.next_if_eq(&'{').is_some() {
                    let mut name = String::new();
                    loop {
                        match rest.next() {
                            Some('}') => break,
                            Some(c) => name.push(c),
                            None => return Err(wrong_name()),
                        }
                    }
                    let group = regex.capture_names().position(|known| known == Some(name.as_str()));
                    parts.push(Part::Group(group.ok_or_else(wrong_name)?));
                    continue;
                }
                let digit = rest.next_if(char::is_ascii_digit).and_then(|c| c.to_digit(10));
                let mut group = digit.ok_or_else(wrong_name)? as usize;
                if group >= regex.captures_len() {
                    return Err(SqlError::new(ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR, &[]));
                }
                // As many digits as make the number of a group.
                while let Some(longer) =
                    rest.peek().and_then(|c| c.to_digit(10)).map(|digit| group * 10 + digit as usize)
                    && longer < regex.captures_len()
                {
                    group = longer;
                    rest.next();
                }
                parts.push(Part::Group(group));
            }
            c => plain.push(c),
        }
    }
    parts.push(Part::Text(plain));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(pattern: &str, letters: &str) -> Result<Compiled, SqlError> {
        let match_type = MatchType::of(Collation::DEFAULT, letters).unwrap();
        Compiled::new(pattern.as_bytes(), match_type)
    }

    #[test]
    fn nested_repetitions_end_on_long_texts() {
        let text = [vec![b'a'; 1 << 20], vec![b'c']].concat();
        for pattern in ["^(a+)+$", "(a*)*b", "(a|a)*b", "(.*a){10}b"] {
            assert!(!compiled(pattern, "").unwrap().matches(&text), "{pattern}");
        }
    }

    #[test]
    fn many_groups_are_not_kept_while_a_match_is_looked_for() {
        let text = [vec![b'a'; 800_000], vec![b'b']].concat();
        let found = compiled(&"(a|aa)*".repeat(2000), "").unwrap().find_from(&text, 254).unwrap();
        assert_eq!((found.begin, found.end), (254, 800_000));
    }

    #[test]
    fn groups_are_those_of_the_match() {
        let (text, compiled) = (b"b ab\n", compiled(r"\b(a)(b)$", "").unwrap());
        let found = compiled.find_from(text, 0).unwrap();
        assert_eq!((found.begin, found.end, found.within), (2, 4, 4));
        let groups = compiled.groups_of(text, &found).unwrap();
        assert_eq!((&groups[1], &groups[2]), (&b"a"[..], &b"b"[..]));
    }

    #[test]
    fn patterns_that_need_too_much_are_refused() {
        let nested = format!("{}a{}", "(".repeat(99), ")".repeat(99));
        let (long, classes) = ("a".repeat(1 << 20), r"\w\PL".repeat(5000));
        for pattern in ["((a{1000}){1000}){1000}", r"\w{9999}", &nested, &long, &classes] {
            let error = compiled(pattern, "").map(drop).unwrap_err();
            assert!(error.is(ER_REGEXP_PATTERN_TOO_BIG), "{error}");
        }
    }

    #[test]
    fn the_end_is_also_before_a_last_newline() {
        for (pattern, letters, text, found) in [
            ("a$", "", "a\n", true),
            ("a$", "", "a\r\n", true),
            ("a$", "", "a\n\n", false),
            (r"a\z", "", "a\n", false),
            ("a$", "m", "a\n\n", true),
            ("a.b", "", "a\rb", false),
            ("a.b", "u", "a\rb", true),
            ("^B$", "c", "b", false),
        ] {
            assert_eq!(compiled(pattern, letters).unwrap().matches(text.as_bytes()), found, "{pattern} {text:?}");
        }
    }
}
