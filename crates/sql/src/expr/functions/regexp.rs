//! REGEXP_LIKE, which is also what REGEXP and RLIKE call.
//!
//! The syntax is the `regex` crate's, which is ICU's without look-around and back references: those are
//! error 3690. In turn a match takes time in proportion to the text, whatever the pattern, and patterns
//! have a limited size ([`PROGRAM_BYTES`]); error 3700. What is compiled only to be found too large is limited before:
//! nothing counts its memory, and KILL does not end it.

use std::cell::RefCell;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ast::ErrorKind;

use super::super::convert::{to_bytes, to_text};
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{
    ER_REGEXP_BAD_ESCAPE_SEQUENCE, ER_REGEXP_BAD_INTERVAL, ER_REGEXP_ILLEGAL_ARGUMENT, ER_REGEXP_INVALID_RANGE,
    ER_REGEXP_MISMATCHED_PAREN, ER_REGEXP_MISSING_CLOSE_BRACKET, ER_REGEXP_PATTERN_TOO_BIG, ER_REGEXP_RULE_SYNTAX,
    ER_REGEXP_UNIMPLEMENTED, ER_WRONG_ARGUMENTS, SqlError,
};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[Function::new("regexp_like", 2, 3, regexp_like, |_| ResultType::boolean())
    .doc("Whether the text matches a regular expression.", "REGEXP_LIKE('Michael!', '.*')", "1")];

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
        if pattern.len() > PATTERN_BYTES || classes(pattern) > CLASSES {
            return Err(SqlError::new(ER_REGEXP_PATTERN_TOO_BIG, &[]));
        }
        let regex = RegexBuilder::new(text)
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
    let parsed = regex_syntax::ast::parse::ParserBuilder::new().nest_limit(NESTING).build().parse(pattern);
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

fn regexp_like(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let letters = args.get(2).map(to_text);
    let match_type = MatchType::of(args.collation, letters.as_deref().unwrap_or_default());
    let match_type = match_type.ok_or_else(|| SqlError::new(ER_WRONG_ARGUMENTS, &[&"regexp_like"]))?;
    let (text, pattern) = (to_bytes(&args[0]), to_bytes(&args[1]));
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
        Ok(Value::bool(kept[0].matches(&text)))
    })
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
