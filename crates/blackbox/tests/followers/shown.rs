//! Values as every follower writes them, so that they can be compared as text.
//!
//! | what | how |
//! | --- | --- |
//! | NULL | `\N` |
//! | FLOAT, DOUBLE | `f` and the bits of the DOUBLE, in hexadecimal |
//! | BIT | its number |
//! | JSON | `j` and the document |
//! | bytes | `x` and hexadecimal digits; a BINARY without the zeros at its end |
//! | dates and times | without zeros at the end of a fraction |
//! | more than 100 bytes | `#`, how many, `:` and their CRC32 |
//! | everything else | its text, with `\\`, `\t` and `\n` |

use anyhow::{Context, Result};
use mysql::consts::ColumnType;
use mysql::{Row, Value};

const BINARY: u16 = 63;

/// A row of the text protocol.
pub fn shown(row: &Row) -> Result<String> {
    let columns = row.columns_ref().iter().enumerate();
    let values = columns.map(|(at, column)| match row.as_ref(at).context("a value")? {
        Value::NULL => Ok("\\N".to_owned()),
        Value::Bytes(bytes) => value(bytes, column.column_type(), column.character_set() == BINARY),
        other => anyhow::bail!("{other:?} is not of the text protocol"),
    });
    Ok(values.collect::<Result<Vec<String>>>()?.join("\t"))
}

fn value(bytes: &[u8], column: ColumnType, binary: bool) -> Result<String> {
    use ColumnType::*;
    let text = || Ok::<&str, anyhow::Error>(std::str::from_utf8(bytes)?);
    Ok(match column {
        MYSQL_TYPE_FLOAT => format!("f{:016x}", f64::from(text()?.parse::<f32>()?).to_bits()),
        MYSQL_TYPE_DOUBLE => format!("f{:016x}", text()?.parse::<f64>()?.to_bits()),
        MYSQL_TYPE_BIT => bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)).to_string(),
        MYSQL_TYPE_JSON => format!("j{}", escaped(text()?)),
        MYSQL_TYPE_TIME | MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIMESTAMP => match text()?.split_once('.') {
            Some((whole, fraction)) => {
                format!("{whole}.{}", fraction.trim_end_matches('0')).trim_end_matches('.').to_owned()
            }
            None => text()?.to_owned(),
        },
        MYSQL_TYPE_STRING | MYSQL_TYPE_VAR_STRING | MYSQL_TYPE_BLOB if bytes.len() > 100 => {
            format!("#{}:{:08x}", bytes.len(), crc32fast::hash(bytes))
        }
        MYSQL_TYPE_STRING | MYSQL_TYPE_VAR_STRING | MYSQL_TYPE_BLOB if binary => {
            let padded = column == MYSQL_TYPE_STRING;
            let end = bytes.iter().rposition(|byte| *byte != 0 || !padded).map_or(0, |last| last + 1);
            bytes[..end].iter().fold("x".to_owned(), |hex, byte| format!("{hex}{byte:02x}"))
        }
        _ => escaped(text()?),
    })
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

/// A line whose document, if it has one, is in one form.
pub fn normal(line: &str) -> String {
    if !line.contains("\tfollow.documents\t") {
        return line.to_owned();
    }
    let fields = line.split('\t').map(|field| {
        let document = field.strip_prefix('j').map(|text| text.replace("\\\\", "\\"));
        let parsed = document.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        parsed.map_or_else(|| field.to_owned(), |value| format!("j{value}"))
    });
    fields.collect::<Vec<_>>().join("\t")
}
