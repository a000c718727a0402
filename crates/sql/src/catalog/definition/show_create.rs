//! The text of SHOW CREATE TABLE, as MySQL 8.0 writes it.

use std::fmt::{self, Write as _};

use super::{ColumnDef, DefaultValue, IndexDef, IndexKind, TableDef};
use crate::collation::Collation;
use crate::types::{ColumnType, Kind};
use crate::value::Value;

/// An identifier in backquotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.replace('`', "``"))
    }
}

/// A string in single quotes.
struct Literal<'a>(&'a str);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        for c in self.0.chars() {
            match c {
                '\'' => f.write_str("''")?,
                '\\' => f.write_str("\\\\")?,
                '\0' => f.write_str("\\0")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('\'')
    }
}

/// The options of CREATE TABLE that it names.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    pub engine: Option<&'a str>,
    pub auto_increment: Option<u64>,
    pub collation: Option<Collation>,
}

impl TableDef {
    /// The statement that SHOW CREATE TABLE shows; `next_auto_increment` is shown if above 1.
    pub fn show_create(&self, next_auto_increment: Option<u64>) -> String {
        let mut text = format!("{} ENGINE={}", self.columns_and_keys(true), self.engine);
        // Writing to a String cannot fail.
        if let Some(next) = next_auto_increment.filter(|next| *next > 1) {
            let _ = write!(text, " AUTO_INCREMENT={next}");
        }
        let _ = write!(text, " DEFAULT CHARSET={} COLLATE={}", self.collation.charset().name(), self.collation.name());
        if !self.comment.is_empty() {
            let _ = write!(text, " COMMENT={}", Literal(&self.comment));
        }
        text
    }

    /// The statement that replicas create the table by: what is not in `options` is left to them, as it is where the
    /// statement comes from a client.
    pub fn create_on_replicas(&self, options: &TableOptions<'_>) -> String {
        let mut text = self.columns_and_keys(false);
        if let Some(engine) = options.engine {
            let _ = write!(text, " ENGINE={}", Quoted(engine));
        }
        if let Some(next) = options.auto_increment {
            let _ = write!(text, " AUTO_INCREMENT={next}");
        }
        if let Some(collation) = options.collation {
            let _ = write!(text, " DEFAULT CHARSET={} COLLATE={}", collation.charset().name(), collation.name());
        }
        if !self.comment.is_empty() {
            let _ = write!(text, " COMMENT={}", Literal(&self.comment));
        }
        text
    }

    /// `CREATE TABLE name (...)`; a collation that is its character set's default is left out if not `whole`: not every
    /// replica knows its name.
    fn columns_and_keys(&self, whole: bool) -> String {
        let mut lines: Vec<String> = self.columns.iter().map(|column| self.column_line(column, whole)).collect();
        lines.extend(self.indexes.iter().map(|index| self.index_line(index)));
        format!("CREATE TABLE {} (\n  {}\n)", Quoted(&self.name), lines.join(",\n  "))
    }

    fn column_line(&self, column: &ColumnDef, whole: bool) -> String {
        let mut line = format!("{} {}", Quoted(&column.name), column.column_type);
        let own_collation = column.column_type.collation().filter(|own| own.is_character() && *own != self.collation);
        if let Some(own) = own_collation {
            let _ = write!(line, " CHARACTER SET {}", own.charset().name());
            if whole || own != own.charset().default_collation() {
                let _ = write!(line, " COLLATE {}", own.name());
            }
        }
        let is_timestamp = column.column_type.kind() == Kind::Timestamp;
        if !column.nullable {
            line.push_str(" NOT NULL");
        } else if is_timestamp {
            line.push_str(" NULL");
        }
        match &column.default {
            DefaultValue::None | DefaultValue::Literal(Value::Null)
                if column.nullable
                    && (!column.column_type.facts().is_lob || column.column_type.kind() == Kind::Json) =>
            {
                line.push_str(" DEFAULT NULL");
            }
            DefaultValue::None | DefaultValue::Dropped | DefaultValue::Literal(Value::Null) => {}
            DefaultValue::Literal(value) => {
                let _ = match column.column_type.default_literal(value) {
                    Some(literal) => write!(line, " DEFAULT {literal}"),
                    None => write!(line, " DEFAULT {}", Literal(&value.to_string())),
                };
            }
            DefaultValue::CurrentTimestamp => {
                let _ = write!(line, " DEFAULT {}", CurrentTimestamp(&column.column_type));
            }
            DefaultValue::Expression { text, .. } => {
                let _ = write!(line, " DEFAULT ({text})");
            }
        }
        if column.on_update_now {
            let _ = write!(line, " ON UPDATE {}", CurrentTimestamp(&column.column_type));
        }
        if column.auto_increment {
            line.push_str(" AUTO_INCREMENT");
        }
        if !column.comment.is_empty() {
            let _ = write!(line, " COMMENT {}", Literal(&column.comment));
        }
        line
    }

    fn index_line(&self, index: &IndexDef) -> String {
        let mut line = match index.kind {
            IndexKind::Primary => "PRIMARY KEY".to_owned(),
            IndexKind::Unique => format!("UNIQUE KEY {}", Quoted(&index.name)),
            IndexKind::Secondary => format!("KEY {}", Quoted(&index.name)),
        };
        let parts: Vec<String> = index
            .columns
            .iter()
            .map(|part| {
                let name = Quoted(&self.columns[part.column].name);
                part.prefix.map_or_else(|| name.to_string(), |prefix| format!("{name}({prefix})"))
            })
            .collect();
        let _ = write!(line, " ({})", parts.join(","));
        if !index.comment.is_empty() {
            let _ = write!(line, " COMMENT {}", Literal(&index.comment));
        }
        line
    }
}

/// CURRENT_TIMESTAMP with the fractional digits of the column.
struct CurrentTimestamp<'a>(&'a ColumnType);

impl fmt::Display for CurrentTimestamp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.facts().clock_digits {
            Some(fsp @ 1..) => write!(f, "CURRENT_TIMESTAMP({fsp})"),
            _ => f.write_str("CURRENT_TIMESTAMP"),
        }
    }
}
