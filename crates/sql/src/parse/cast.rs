//! The types of CAST and CONVERT.

use super::column::charset_named;
use super::cursor::Cursor;
use crate::ast::Expr;
use crate::collation::Collation;
use crate::error::{ER_TOO_BIG_PRECISION, SqlError};
use crate::expr::CastType;

impl Cursor<'_> {
    /// `{BINARY[(n)] | {CHAR | NCHAR}[(n)] [charset] | SIGNED [INTEGER] | UNSIGNED [INTEGER] | DECIMAL[(p[, s])] | FLOAT[(p)] |
    /// DOUBLE [PRECISION] | REAL | DATE | TIME[(fsp)] | DATETIME[(fsp)] | YEAR | JSON}`, and what MariaDB knows besides:
    /// `INTEGER`, `VARCHAR(n)`.
    pub(super) fn cast_type(&mut self, operand: Expr) -> Result<Expr, SqlError> {
        let keyword = self.keyword();
        let operand = Box::new(operand);
        let target = match keyword.as_str() {
            "SIGNED" | "UNSIGNED" => {
                self.skip();
                self.takes_any(&["INTEGER", "INT"]);
                if keyword.as_str() == "SIGNED" { CastType::Signed } else { CastType::Unsigned }
            }
            "INT" | "INTEGER" => {
                self.skip();
                CastType::Signed
            }
            "BINARY" => {
                self.skip();
                CastType::Binary { bytes: self.optional_length()? }
            }
            "CHAR" | "CHARACTER" | "NCHAR" | "VARCHAR" => return self.cast_to_char(operand),
            "DATE" => {
                self.skip();
                CastType::Date
            }
            "TIME" => CastType::Time { fsp: self.fraction_digits()? },
            "DATETIME" => CastType::DateTime { fsp: self.fraction_digits()? },
            "YEAR" => {
                self.skip();
                CastType::Year
            }
            "DECIMAL" | "DEC" => self.cast_to_decimal()?,
            "FLOAT" => {
                self.skip();
                match self.optional_length::<u64>()? {
                    None | Some(0..=24) => CastType::Float,
                    Some(25..=53) => CastType::Double,
                    Some(digits) => return Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&digits, &"CAST", &53])),
                }
            }
            "DOUBLE" => {
                self.skip();
                self.takes("PRECISION");
                CastType::Double
            }
            "REAL" => {
                self.skip();
                let float = self.sql_mode.contains(crate::types::SqlMode::REAL_AS_FLOAT);
                if float { CastType::Float } else { CastType::Double }
            }
            "JSON" => {
                self.skip();
                CastType::Json
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Expr::Cast(operand, target))
    }

    /// `CHAR[(n)] [{CHARACTER SET | CHARSET} charset | ASCII | UNICODE | BYTE | BINARY]`
    fn cast_to_char(&mut self, operand: Box<Expr>) -> Result<Expr, SqlError> {
        let national = self.sees("NCHAR");
        self.skip();
        let chars = self.optional_length()?;
        let charset = if national {
            Some("utf8mb3".to_owned())
        } else if self.takes("CHARACTER SET") || self.takes("CHARSET") {
            Some(self.charset()?)
        } else if self.takes("ASCII") {
            Some("latin1".to_owned())
        } else if self.takes("BYTE") {
            Some("binary".to_owned())
        } else if self.takes("UNICODE") {
            return Ok(Expr::CastTo(operand, "CHAR UNICODE"));
        } else if self.takes("BINARY") {
            return Ok(Expr::CastTo(operand, "CHAR BINARY"));
        } else {
            None
        };
        let collation = match &charset {
            None => return Ok(Expr::CastToText(operand, chars)),
            Some(charset) => charset_named(charset)?.default_collation(),
        };
        let target = match collation {
            Collation::Binary => CastType::Binary { bytes: chars },
            collation => CastType::Char { chars, collation },
        };
        Ok(Expr::Cast(operand, target))
    }

    /// `name[(fsp)]`
    fn fraction_digits(&mut self) -> Result<u8, SqlError> {
        self.skip();
        match self.optional_length::<u64>()?.unwrap_or(0) {
            fsp @ 0..=6 => Ok(fsp as u8),
            fsp => Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&fsp, &"CAST", &6])),
        }
    }

    /// `DECIMAL[(precision[, scale])]`
    fn cast_to_decimal(&mut self) -> Result<CastType, SqlError> {
        self.skip();
        let (mut precision, mut scale) = (10_u64, 0_u64);
        if self.takes_operator("(") {
            precision = self.integer()?;
            if self.takes_operator(",") {
                scale = self.integer()?;
            }
            self.expect_operator(")")?;
        }
        if precision > 65 || scale > 30 || scale > precision {
            return Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&precision, &"CAST", &65]));
        }
        Ok(CastType::Decimal { precision: precision as u8, scale: scale as u8 })
    }
}
