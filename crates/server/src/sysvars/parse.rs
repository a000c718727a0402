//! From what an operator or a client writes to a checked [`Setting`].

use cohort_sql::collation::Collation;
use cohort_sql::session::optimizer_switch::OptimizerSwitch;
use cohort_sql::types::Charset;
use cohort_sql::types::SqlMode;
use cohort_sql::value::Value;

use super::{Kind, Setting, SystemVariable};

/// Longest text that a variable takes, bytes: sessions keep theirs.
const TEXT_MAX: usize = 64 << 10;

/// Why a value cannot be had by a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The variable does not take this value (1231).
    #[error("can't be set to the value of '{0}'")]
    Value(String),
    /// The variable does not take values of this type (1232).
    #[error("incorrect argument type")]
    Type,
    /// There is no such character set (1115).
    #[error("unknown character set '{0}'")]
    Charset(String),
    /// There is no such collation (1273).
    #[error("unknown collation '{0}'")]
    Collation(String),
    /// There is no such engine (1286).
    #[error("unknown storage engine '{0}'")]
    Engine(String),
    /// There is no such time zone (1298).
    #[error("unknown or incorrect time zone '{0}'")]
    TimeZone(String),
}

/// Names of engines that are accepted, and what they mean.
const ENGINES: [(&str, &str); 3] = [("RocksDB", "RocksDB"), ("InnoDB", "RocksDB"), ("redb", "redb")];

/// Whether a value had to be brought into the variable's range.
pub type Adjusted = bool;

impl SystemVariable {
    /// Checks a value written as text, in an option or an option file. Sizes may end in K, M, G or T.
    pub fn parse(&self, text: &str) -> Result<(Setting, Adjusted), SettingError> {
        let wrong = || SettingError::Value(text.to_owned());
        match self.kind {
            Kind::Int { .. } => match parse_size(text).ok_or_else(wrong)? {
                Size::Negative(value) => Ok(self.in_range(i128::from(value))),
                Size::Positive(value) => Ok(self.in_range(i128::from(value))),
            },
            Kind::Double { .. } => self.number(text.trim().parse().map_err(|_| wrong())?),
            Kind::TextOrNull | Kind::CharsetOrNull if text.eq_ignore_ascii_case("NULL") => Ok((Setting::Null, false)),
            Kind::Word(_) => match text.parse::<u64>() {
                Ok(place) => self.word_at(place, text),
                Err(_) => self.word(text),
            },
            _ => self.word(text),
        }
    }

    /// Checks a value that an expression of SET gave, where the variable has another one: switches that it does not name
    /// stay as they are.
    pub fn check_over(&self, before: &Setting, value: &Value) -> Result<(Setting, Adjusted), SettingError> {
        match (self.kind, before, value) {
            (Kind::Switches, Setting::Text(before), Value::Text(text)) => {
                Ok((switched(switches(OptimizerSwitch::default(), before)?, text)?, false))
            }
            _ => self.check(value),
        }
    }

    /// Checks a value that an expression of SET gave.
    pub fn check(&self, value: &Value) -> Result<(Setting, Adjusted), SettingError> {
        match (self.kind, value) {
            (Kind::TextOrNull | Kind::CharsetOrNull, Value::Null) => Ok((Setting::Null, false)),
            (_, Value::Null) => Err(SettingError::Value("NULL".to_owned())),
            (Kind::Int { .. }, Value::Int(value)) => Ok(self.in_range(i128::from(*value))),
            (Kind::Int { .. }, Value::UInt(value)) => Ok(self.in_range(i128::from(*value))),
            (Kind::Int { .. }, _) => Err(SettingError::Type),
            (Kind::Double { .. }, Value::Int(value)) => self.number(*value as f64),
            (Kind::Double { .. }, Value::UInt(value)) => self.number(*value as f64),
            (Kind::Double { .. }, Value::Double(value)) => self.number(*value),
            (Kind::Double { .. }, Value::Decimal(value)) => self.number(value.to_f64()),
            (Kind::Double { .. }, _) => Err(SettingError::Type),
            (Kind::Bool, Value::Int(0) | Value::UInt(0)) => Ok((Setting::Bool(false), false)),
            (Kind::Bool, Value::Int(1) | Value::UInt(1)) => Ok((Setting::Bool(true), false)),
            (Kind::Word(_), Value::Int(place)) => {
                self.word_at(u64::try_from(*place).unwrap_or(u64::MAX), &place.to_string())
            }
            (Kind::Word(_), Value::UInt(place)) => self.word_at(*place, &place.to_string()),
            (Kind::SqlMode, Value::Int(bits)) => sql_mode(u64::try_from(*bits).ok(), value),
            (Kind::SqlMode, Value::UInt(bits)) => sql_mode(Some(*bits), value),
            // As mysqlbinlog writes them.
            (Kind::Charset | Kind::CharsetOrNull | Kind::Collation, Value::Int(id)) => {
                let collation = u16::try_from(*id).ok().and_then(Collation::from_id);
                let collation = collation.ok_or_else(|| SettingError::Collation(id.to_string()))?;
                let is_collation = matches!(self.kind, Kind::Collation);
                self.word(if is_collation { collation.name() } else { collation.charset().name() })
            }
            (Kind::Only(only), Value::Int(number)) if stands_for(*number, only) => self.word(only),
            (Kind::Only(_) | Kind::OnlyFlag(_), Value::Int(value)) => self.word(&value.to_string()),
            (Kind::Only(_) | Kind::OnlyFlag(_), Value::UInt(value)) => self.word(&value.to_string()),
            (_, Value::Text(text)) => self.word(text),
            (_, Value::Bytes(bytes) | Value::Hex(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => self.word(text),
                Err(_) => Err(SettingError::Value(String::from_utf8_lossy(bytes).into_owned())),
            },
            (Kind::Text | Kind::Roles | Kind::TextOrNull, _) => Err(SettingError::Type),
            (_, Value::Int(value)) => Err(SettingError::Value(value.to_string())),
            (_, Value::UInt(value)) => Err(SettingError::Value(value.to_string())),
            (_, _) => Err(SettingError::Type),
        }
    }

    fn in_range(&self, value: i128) -> (Setting, Adjusted) {
        let Kind::Int { min, max } = self.kind else { unreachable!("only integers have a range") };
        let adjusted = value.clamp(i128::from(min), i128::from(max));
        (Setting::Int(adjusted as u64), adjusted != value)
    }

    fn number(&self, value: f64) -> Result<(Setting, Adjusted), SettingError> {
        let Kind::Double { min, max } = self.kind else { return Err(SettingError::Type) };
        if value.is_nan() {
            return Err(SettingError::Value(value.to_string()));
        }
        let adjusted = value.clamp(min, max);
        Ok((Setting::Double(adjusted), adjusted != value))
    }

    fn word_at(&self, place: u64, text: &str) -> Result<(Setting, Adjusted), SettingError> {
        let Kind::Word(words) = self.kind else { return Err(SettingError::Type) };
        // Words that are numbers themselves (0, 1, 2) mean themselves.
        let word = words.iter().find(|word| **word == text);
        let word = word.or_else(|| words.get(usize::try_from(place).ok()?));
        self.word(word.ok_or_else(|| SettingError::Value(text.to_owned()))?)
    }

    fn word(&self, text: &str) -> Result<(Setting, Adjusted), SettingError> {
        let wrong = || SettingError::Value(text.to_owned());
        let setting = match self.kind {
            Kind::Bool => Setting::Bool(parse_bool(text).ok_or_else(wrong)?),
            Kind::Word(words) => {
                let same = |text: &str| words.iter().find(|word| word.eq_ignore_ascii_case(text));
                let flag = || same(if parse_bool(text)? { "ON" } else { "OFF" });
                Setting::text(*same(text).or_else(flag).ok_or_else(wrong)?)
            }
            Kind::Engine => match ENGINES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
                Some((_, engine)) => Setting::text(*engine),
                None => return Err(SettingError::Engine(text.to_owned())),
            },
            Kind::Only(only) => {
                let same = only.eq_ignore_ascii_case(text)
                    || parse_bool(only).is_some() && parse_bool(only) == parse_bool(text);
                if !same {
                    return Err(wrong());
                }
                Setting::text(only)
            }
            Kind::OnlyFlag(only) => match parse_bool(text) {
                Some(on) if on == only => Setting::Bool(on),
                _ => return Err(wrong()),
            },
            Kind::Text | Kind::Roles | Kind::TextOrNull if text.len() > TEXT_MAX => {
                return Err(SettingError::Value(text.chars().take(64).chain("...".chars()).collect()));
            }
            Kind::Roles => {
                cohort_sql::parse::account_names(text).map_err(|_| wrong())?;
                Setting::text(text)
            }
            Kind::Text | Kind::TextOrNull => Setting::text(text),
            Kind::Switches => switched(OptimizerSwitch::default(), text)?,
            Kind::SqlMode => supported(SqlMode::parse(text).map_err(|_| wrong())?)?,
            Kind::TimeZone => {
                cohort_sql::types::temporal::TimeZone::parse(text)
                    .map_err(|_| SettingError::TimeZone(text.to_owned()))?;
                Setting::text(if text.eq_ignore_ascii_case("SYSTEM") { "SYSTEM" } else { text })
            }
            Kind::Charset | Kind::CharsetOrNull => {
                let charset = Charset::from_name(text).ok_or_else(|| SettingError::Charset(text.to_owned()))?;
                Setting::text(charset.name())
            }
            Kind::Collation => {
                let collation = Collation::from_name(text);
                let collation = collation.ok_or_else(|| SettingError::Collation(text.to_owned()))?;
                Setting::text(collation.name())
            }
            Kind::Int { .. } | Kind::Double { .. } => return Err(SettingError::Type),
        };
        Ok((setting, false))
    }
}

/// Whether mysqlbinlog writes this number for a word: the number of a collation, or the place in a list of which there is
/// nothing else here.
fn stands_for(number: i64, word: &str) -> bool {
    let collation = u16::try_from(number).ok().and_then(Collation::from_id);
    collation.is_some_and(|collation| collation.name() == word)
        || (number == 0 && ["NO_CHAIN", "en_US"].contains(&word))
}

fn sql_mode(bits: Option<u64>, value: &Value) -> Result<(Setting, Adjusted), SettingError> {
    let mode = bits.and_then(SqlMode::from_bits).ok_or_else(|| SettingError::Value(value.to_string()))?;
    Ok((supported(mode)?, false))
}

/// A mode that the server can be in.
fn supported(mode: SqlMode) -> Result<Setting, SettingError> {
    match mode.unsupported() {
        None => Ok(Setting::text(mode.to_string())),
        Some(name) => Err(SettingError::Value(name.to_owned())),
    }
}

fn switches(before: OptimizerSwitch, text: &str) -> Result<OptimizerSwitch, SettingError> {
    before.with(text).map_err(|item| SettingError::Value(item.chars().take(64).collect()))
}

fn switched(before: OptimizerSwitch, text: &str) -> Result<Setting, SettingError> {
    Ok(Setting::text(switches(before, text)?.to_string()))
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" | "YES" => Some(true),
        "OFF" | "0" | "FALSE" | "NO" => Some(false),
        _ => None,
    }
}

enum Size {
    Negative(i64),
    Positive(u64),
}

fn parse_size(text: &str) -> Option<Size> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        _ => (text, 0),
    };
    if digits.starts_with('-') {
        return digits.parse::<i64>().ok()?.checked_mul(1 << shift).map(Size::Negative);
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).map(Size::Positive)
}

/// The name of `names` that differs least from `word`, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.map(|name| (edits(word, name), name));
    let (distance, name) = scored.min()?;
    (distance <= word.len() / 3 + 1).then_some(name)
}

/// How many letters must be changed, added or removed to make one word of the other.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<u8> = right.bytes().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
