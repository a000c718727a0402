//! The flags of `sql_mode`.

use crate::error::{ER_WRONG_VALUE_FOR_VAR, SqlError};
use crate::temporal::DateTime;

/// A set of SQL modes, with MySQL's bits: replicas and readers of the binlog take statements by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode(u64);

/// What something that is read as a date is wanted for: it says which zeros the SQL mode lets pass
/// ([`SqlMode::allows`]). What is of a type of dates already has been let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateUse {
    /// To be a date: in a column, of CAST or STR_TO_DATE, as a constant that a date is compared with. Both modes count.
    Value,
    /// To work on, as an operand of a function or operator. NO_ZERO_DATE counts.
    Operand,
    /// To take its time (ADDTIME, TIMEDIFF, EXTRACT of days with hours). No mode counts.
    Clock,
}

macro_rules! modes {
    ($($konst:ident = $bit:literal, $name:literal, $doc:literal;)*) => {
        impl SqlMode {
            $(#[doc = $doc] pub const $konst: SqlMode = SqlMode(1 << $bit);)*
        }
        const NAMES: &[(SqlMode, &str)] = &[$((SqlMode::$konst, $name)),*];
    };
}

modes! {
    REAL_AS_FLOAT = 0, "REAL_AS_FLOAT", "REAL is FLOAT.";
    PIPES_AS_CONCAT = 1, "PIPES_AS_CONCAT", "`||` concatenates.";
    ANSI_QUOTES = 2, "ANSI_QUOTES", "Double quotes quote identifiers.";
    IGNORE_SPACE = 3, "IGNORE_SPACE", "Spaces may stand before the parenthesis of a built-in function.";
    ONLY_FULL_GROUP_BY = 5, "ONLY_FULL_GROUP_BY", "Columns outside of GROUP BY must be aggregated.";
    NO_UNSIGNED_SUBTRACTION = 6, "NO_UNSIGNED_SUBTRACTION", "Differences of unsigned values are signed.";
    NO_DIR_IN_CREATE = 7, "NO_DIR_IN_CREATE", "Directory options of CREATE TABLE are ignored.";
    ANSI = 18, "ANSI", "With what it stands for: the first four and ONLY_FULL_GROUP_BY.";
    NO_AUTO_VALUE_ON_ZERO = 19, "NO_AUTO_VALUE_ON_ZERO", "0 is stored in an AUTO_INCREMENT column.";
    NO_BACKSLASH_ESCAPES = 20, "NO_BACKSLASH_ESCAPES", "A backslash in a string is a backslash.";
    STRICT_TRANS_TABLES = 21, "STRICT_TRANS_TABLES", "A value that does not fit is an error.";
    STRICT_ALL_TABLES = 22, "STRICT_ALL_TABLES", "A value that does not fit is an error.";
    NO_ZERO_IN_DATE = 23, "NO_ZERO_IN_DATE", "Dates with a zero month or day are refused.";
    NO_ZERO_DATE = 24, "NO_ZERO_DATE", "The zero date is refused.";
    ALLOW_INVALID_DATES = 25, "ALLOW_INVALID_DATES", "Days are only checked to be at most 31.";
    ERROR_FOR_DIVISION_BY_ZERO = 26, "ERROR_FOR_DIVISION_BY_ZERO", "Division by zero is an error in strict mode.";
    TRADITIONAL = 27, "TRADITIONAL", "With what it stands for: what is strict, and NO_ENGINE_SUBSTITUTION.";
    HIGH_NOT_PRECEDENCE = 29, "HIGH_NOT_PRECEDENCE", "NOT binds as tightly as `!`.";
    NO_ENGINE_SUBSTITUTION = 30, "NO_ENGINE_SUBSTITUTION", "An unknown engine is an error.";
    PAD_CHAR_TO_FULL_LENGTH = 31, "PAD_CHAR_TO_FULL_LENGTH", "CHAR values are returned with their padding.";
    TIME_TRUNCATE_FRACTIONAL = 32, "TIME_TRUNCATE_FRACTIONAL", "Fractional seconds are cut, not rounded.";
}

/// The modes that stand for others, and these.
const COMBINED: [(SqlMode, SqlMode); 2] = [
    (
        SqlMode::ANSI,
        SqlMode::REAL_AS_FLOAT
            .union(SqlMode::PIPES_AS_CONCAT)
            .union(SqlMode::ANSI_QUOTES)
            .union(SqlMode::IGNORE_SPACE)
            .union(SqlMode::ONLY_FULL_GROUP_BY),
    ),
    (SqlMode::TRADITIONAL, SqlMode::DEFAULT.without(SqlMode::ONLY_FULL_GROUP_BY).union(SqlMode::STRICT_ALL_TABLES)),
];

impl SqlMode {
    /// No mode at all.
    pub const EMPTY: SqlMode = SqlMode(0);

    /// What MySQL 8.0 starts with.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    /// The set as MySQL's bit mask, as binlog events carry it and `SET sql_mode = 4` takes it.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The first of its modes that are not built: what they ask for would not be done.
    pub fn unsupported(self) -> Option<&'static str> {
        let missing = [Self::ALLOW_INVALID_DATES, Self::PAD_CHAR_TO_FULL_LENGTH];
        let named = NAMES.iter().find(|(mode, _)| missing.contains(mode) && self.contains(*mode));
        named.map(|(_, name)| *name)
    }

    /// Whether every mode of `other` is set.
    pub fn contains(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether one of the two strict modes is set.
    pub fn is_strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// The set without the strict modes: what holds for values under IGNORE.
    pub fn lenient(self) -> SqlMode {
        self.without(Self::STRICT_TRANS_TABLES.union(Self::STRICT_ALL_TABLES))
    }

    /// Whether a date with its time may have the zeros that it has, for this use. The zero date is the one whose time is
    /// zero as well, and NO_ZERO_DATE is about it; NO_ZERO_IN_DATE is about every other without a month or day, also
    /// `0000-00-00 12:30:45`. The year 0 is as good as any: it has 365 days.
    pub fn allows(self, value: DateTime, use_of_date: DateUse) -> bool {
        let is_zero = value.packed() == 0;
        let refused = if is_zero { Self::NO_ZERO_DATE } else { Self::NO_ZERO_IN_DATE };
        match use_of_date {
            DateUse::Value => !value.date().is_incomplete() || !self.contains(refused),
            DateUse::Operand => !is_zero || !self.contains(refused),
            DateUse::Clock => true,
        }
    }

    /// The modes that are not in `other`.
    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }

    /// Both sets together.
    pub const fn union(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }

    /// Parses a comma-separated list in any case. An unknown name is error 1231.
    pub fn parse(list: &str) -> Result<SqlMode, SqlError> {
        let mut mode = SqlMode::EMPTY;
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = NAMES.iter().find(|(_, known)| name.eq_ignore_ascii_case(known));
            mode = mode.union(known.ok_or_else(|| SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&"sql_mode", &name]))?.0);
        }
        Ok(mode.expanded())
    }

    /// The set of a bit mask; `None` if a bit is no mode of MySQL 8.0.
    pub fn from_bits(bits: u64) -> Option<SqlMode> {
        let known = NAMES.iter().fold(SqlMode::EMPTY, |all, (mode, _)| all.union(*mode));
        (bits & !known.0 == 0).then(|| SqlMode(bits).expanded())
    }

    /// With the parts of `ANSI` and `TRADITIONAL`.
    fn expanded(self) -> SqlMode {
        let named = COMBINED.iter().filter(|(mode, _)| self.contains(*mode));
        named.fold(self, |all, (_, parts)| all.union(*parts))
    }
}

/// The list as `@@sql_mode` shows it.
impl std::fmt::Display for SqlMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        for (mode, name) in NAMES {
            if self.contains(*mode) {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that MySQL 8.0 and 5.6 give: `SELECT CAST(@@sql_mode AS UNSIGNED)` has them as names.
    #[test]
    fn bits_are_those_of_mysql() {
        assert_eq!(SqlMode::DEFAULT.bits(), 1_168_113_696);
        assert_eq!(SqlMode::parse("no_backslash_escapes").unwrap().bits(), 0x10_0000);
        assert_eq!(SqlMode::parse("NO_ENGINE_SUBSTITUTION,PAD_CHAR_TO_FULL_LENGTH").unwrap().bits(), 0xC000_0000);
        for (mode, name) in NAMES {
            assert_eq!(SqlMode::parse(name).unwrap(), mode.expanded());
            assert_eq!(SqlMode::from_bits(mode.bits()), Some(mode.expanded()));
        }
        assert_eq!(SqlMode::from_bits(1 << 16), None);
        let ansi = SqlMode::parse("ANSI").unwrap().to_string();
        assert_eq!(ansi, "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI");
    }
}
