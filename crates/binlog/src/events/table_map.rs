//! TABLE_MAP events: how row events name and describe their table.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! table id u48 | flags u16 | schema length u8, schema, 0 | table length u8, table, 0
//! columns lenenc | type u8 per column | metadata length lenenc, metadata | nullable bitmap
//! optional metadata: (field u8, length lenenc, value)*
//! ```
//!
//! Bitmaps of the table map proper run from the lowest bit, those of the optional metadata from the
//! highest.

use std::collections::HashMap;

use cohort_types::FieldType;

use super::kind::{Description, EventKind};
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType, push_lenenc};

impl EventType {
    /// A table that the following row events name by number.
    pub const TABLE_MAP: EventType = EventType(19);
}

/// Flag of MySQL: the length of BIT columns is exact.
const BIT_LEN_EXACT: u16 = 1;

/// Fields of the optional metadata.
mod field {
    pub(super) const SIGNEDNESS: u8 = 1;
    pub(super) const DEFAULT_CHARSET: u8 = 2;
    pub(super) const COLUMN_CHARSET: u8 = 3;
    pub(super) const COLUMN_NAME: u8 = 4;
    pub(super) const SET_MEMBERS: u8 = 5;
    pub(super) const ENUM_MEMBERS: u8 = 6;
    pub(super) const SIMPLE_PRIMARY_KEY: u8 = 8;
    pub(super) const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
    pub(super) const MEMBERS_DEFAULT_CHARSET: u8 = 10;
    pub(super) const MEMBERS_COLUMN_CHARSET: u8 = 11;
}

/// Has a bit in the signedness field.
fn has_sign(field: FieldType) -> bool {
    use FieldType::*;
    match field {
        Tiny | Short | Int24 | Long | LongLong | NewDecimal | Float | Double | Year => true,
        Decimal | Null | Timestamp | Date | Time | DateTime | VarChar | Bit | Timestamp2 | DateTime2 | Time2 | Bool
        | Json | Enum | Set | TinyBlob | MediumBlob | LongBlob | Blob | VarString | String | Geometry => false,
    }
}

/// Has an entry in the character set fields.
fn has_charset(field: FieldType, meta: &[u8]) -> bool {
    use FieldType::*;
    match field {
        String => stored_field(field, meta) == field,
        VarChar | VarString | Blob => true,
        Decimal | Tiny | Short | Long | Float | Double | Null | Timestamp | LongLong | Int24 | Date | Time
        | DateTime | Year | Bit | Timestamp2 | DateTime2 | Time2 | Bool | Json | NewDecimal | Enum | Set | TinyBlob
        | MediumBlob | LongBlob | Geometry => false,
    }
}

/// CHAR, BINARY, ENUM and SET have one code; the first byte of their metadata says which it is.
pub(crate) fn stored_field(field: FieldType, meta: &[u8]) -> FieldType {
    match meta.first().map(|code| FieldType::from_code(*code)) {
        Some(Some(kind @ (FieldType::Enum | FieldType::Set))) if field == FieldType::String => kind,
        _ => field,
    }
}

/// ENUM or SET, if the column is one.
fn members_field(field: FieldType, meta: &[u8]) -> Option<FieldType> {
    Some(stored_field(field, meta)).filter(|field| matches!(field, FieldType::Enum | FieldType::Set))
}

/// How much of the optional metadata a table map carries (`binlog_row_metadata`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMetadata {
    /// Signedness and character sets.
    #[default]
    Minimal,
    /// Column names, the texts of ENUMs and SETs, and the primary key as well.
    Full,
}

/// One column, as the row format sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMeta {
    /// As in row events: `Timestamp2` for TIMESTAMP, `Blob` for every BLOB and TEXT.
    pub field: FieldType,
    /// The type's metadata bytes in the order of the event: length of VARCHAR (2, little-endian),
    /// precision and scale of DECIMAL, length bytes of BLOB, 4 or 8 for FLOAT and DOUBLE, digits of
    /// TIMESTAMP, DATETIME and TIME; for CHAR and BINARY `[0xfe ^ ((length & 0x300) >> 4), length & 0xff]`,
    /// the length in bytes; for ENUM and SET, whose `field` is that of CHAR, their own code and the bytes of a value.
    /// Empty for integers, DATE and YEAR.
    pub meta: Vec<u8>,
    /// May hold NULL.
    pub nullable: bool,
    /// Numbers only: UNSIGNED.
    pub unsigned: bool,
    /// Collation id; 63 for binary strings. Looked at for character types only.
    pub charset: u16,
    /// Column name.
    pub name: String,
    /// The texts of an ENUM or SET, in bytes of the character set.
    pub members: Vec<Vec<u8>>,
}

/// A column of a table's primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Which column of the table.
    pub column: usize,
    /// Characters (bytes of binary strings) that the key covers, if not all.
    pub prefix: Option<u16>,
}

impl ColumnMeta {
    fn is_number(&self) -> bool {
        has_sign(self.field)
    }

    fn is_character(&self) -> bool {
        has_charset(self.field, &self.meta)
    }

    /// ENUM or SET, if it is one.
    fn members_field(&self) -> Option<FieldType> {
        members_field(self.field, &self.meta)
    }
}

/// A table as row events name it, encoded once and copied into every statement that changes the table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableMap {
    table_id: u64,
    columns: usize,
    /// Body of the TABLE_MAP event with [`RowMetadata::Full`].
    body: Vec<u8>,
    /// How much of it is the body with [`RowMetadata::Minimal`].
    minimal_bytes: usize,
    /// What stands in a row event between table id and flags, and the rows: extra data (none), the
    /// number of columns, the bitmap of the columns present (all), which an update has twice.
    present: Vec<u8>,
    bitmap_bytes: usize,
}

impl TableMap {
    /// Describes a table. `table_id` must be another one after every change of the definition, because
    /// readers keep table maps by it; `primary_key` is in key order, and empty without one.
    ///
    /// # Panics
    /// When the id has more than 48 bits or a name more than 255 bytes: the catalog makes neither.
    pub fn new(
        table_id: u64,
        schema: &str,
        table: &str,
        columns: &[ColumnMeta],
        primary_key: &[KeyColumn],
    ) -> TableMap {
        assert!(table_id < 1 << 48, "a table id has 48 bits");
        let mut body = Vec::with_capacity(64 + columns.len() * 8);
        body.extend_from_slice(&table_id.to_le_bytes()[..6]);
        body.extend_from_slice(&BIT_LEN_EXACT.to_le_bytes());
        push_name(&mut body, schema);
        push_name(&mut body, table);
        push_lenenc(&mut body, columns.len() as u64);
        body.extend(columns.iter().map(|column| column.field as u8));
        push_lenenc(&mut body, columns.iter().map(|column| column.meta.len() as u64).sum());
        columns.iter().for_each(|column| body.extend_from_slice(&column.meta));
        let bitmap_bytes = columns.len().div_ceil(8);
        let nullable_at = body.len();
        body.resize(nullable_at + bitmap_bytes, 0);
        for (i, _) in columns.iter().enumerate().filter(|(_, column)| column.nullable) {
            body[nullable_at + i / 8] |= 1 << (i % 8);
        }
        push_signedness(&mut body, columns);
        push_charsets(&mut body, columns, ColumnMeta::is_character, [field::DEFAULT_CHARSET, field::COLUMN_CHARSET]);
        let minimal_bytes = body.len();
        push_column_names(&mut body, columns);
        let charset_fields = [field::MEMBERS_DEFAULT_CHARSET, field::MEMBERS_COLUMN_CHARSET];
        push_charsets(&mut body, columns, |column| column.members_field().is_some(), charset_fields);
        push_members(&mut body, columns, FieldType::Set, field::SET_MEMBERS);
        push_members(&mut body, columns, FieldType::Enum, field::ENUM_MEMBERS);
        push_primary_key(&mut body, primary_key);
        let present = present_columns(columns.len());
        TableMap { table_id, columns: columns.len(), body, minimal_bytes, present, bitmap_bytes }
    }

    /// The number row events name the table by.
    pub fn table_id(&self) -> u64 {
        self.table_id
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Body of the TABLE_MAP event.
    pub(crate) fn body(&self, metadata: RowMetadata) -> &[u8] {
        match metadata {
            RowMetadata::Minimal => &self.body[..self.minimal_bytes],
            RowMetadata::Full => &self.body,
        }
    }

    /// What stands in a row event between flags and the bitmap of present columns.
    pub(crate) fn before_present(&self) -> &[u8] {
        &self.present[..self.present.len() - self.bitmap_bytes]
    }

    /// The bitmap of present columns, if all are present.
    pub fn all_columns(&self) -> &[u8] {
        &self.present[self.present.len() - self.bitmap_bytes..]
    }
}

fn push_name(body: &mut Vec<u8>, name: &str) {
    body.push(u8::try_from(name.len()).expect("a name has at most 255 bytes"));
    body.extend_from_slice(name.as_bytes());
    body.push(0);
}

fn present_columns(columns: usize) -> Vec<u8> {
    let mut present = vec![2, 0];
    push_lenenc(&mut present, columns as u64);
    let bitmap_at = present.len();
    present.resize(bitmap_at + columns.div_ceil(8), 0xff);
    if !columns.is_multiple_of(8) {
        present[bitmap_at + columns / 8] = (1 << (columns % 8)) - 1;
    }
    present
}

fn push_field(body: &mut Vec<u8>, field: u8, value: &[u8]) {
    body.push(field);
    push_lenenc(body, value.len() as u64);
    body.extend_from_slice(value);
}

fn push_signedness(body: &mut Vec<u8>, columns: &[ColumnMeta]) {
    let mut bits = Vec::new();
    for (i, column) in columns.iter().filter(|column| column.is_number()).enumerate() {
        if i % 8 == 0 {
            bits.push(0);
        }
        if column.unsigned || column.field == FieldType::Year {
            bits[i / 8] |= 0x80 >> (i % 8);
        }
    }
    if !bits.is_empty() {
        push_field(body, field::SIGNEDNESS, &bits);
    }
}

/// Writes either the commonest collation and the columns that differ, or every column's, whichever is
/// shorter.
fn push_charsets(
    body: &mut Vec<u8>,
    columns: &[ColumnMeta],
    counts: fn(&ColumnMeta) -> bool,
    [with_default_field, each_field]: [u8; 2],
) {
    let charsets: Vec<u64> =
        columns.iter().filter(|column| counts(column)).map(|column| u64::from(column.charset)).collect();
    let count = |charset: u64| charsets.iter().filter(|other| **other == charset).count();
    let Some(default) = charsets.iter().copied().max_by_key(|charset| count(*charset)) else {
        return;
    };
    let mut with_default = Vec::new();
    push_lenenc(&mut with_default, default);
    for (i, charset) in charsets.iter().enumerate().filter(|(_, charset)| **charset != default) {
        push_lenenc(&mut with_default, i as u64);
        push_lenenc(&mut with_default, *charset);
    }
    let mut each = Vec::new();
    charsets.iter().for_each(|charset| push_lenenc(&mut each, *charset));
    if with_default.len() <= each.len() {
        push_field(body, with_default_field, &with_default);
    } else {
        push_field(body, each_field, &each);
    }
}

fn push_column_names(body: &mut Vec<u8>, columns: &[ColumnMeta]) {
    let mut names = Vec::new();
    for column in columns {
        push_lenenc(&mut names, column.name.len() as u64);
        names.extend_from_slice(column.name.as_bytes());
    }
    push_field(body, field::COLUMN_NAME, &names);
}

/// Writes the texts of every ENUM, or of every SET.
fn push_members(body: &mut Vec<u8>, columns: &[ColumnMeta], kind: FieldType, field: u8) {
    let mut lists = Vec::new();
    for column in columns.iter().filter(|column| column.members_field() == Some(kind)) {
        push_lenenc(&mut lists, column.members.len() as u64);
        for text in &column.members {
            push_lenenc(&mut lists, text.len() as u64);
            lists.extend_from_slice(text);
        }
    }
    if !lists.is_empty() {
        push_field(body, field, &lists);
    }
}

/// Writes the key's columns, each with its prefix (0 for none) if any has one.
fn push_primary_key(body: &mut Vec<u8>, primary_key: &[KeyColumn]) {
    let with_prefix = primary_key.iter().any(|key| key.prefix.is_some());
    let mut value = Vec::new();
    for key in primary_key {
        push_lenenc(&mut value, key.column as u64);
        if with_prefix {
            push_lenenc(&mut value, key.prefix.map_or(0, u64::from));
        }
    }
    match with_prefix {
        _ if value.is_empty() => {}
        true => push_field(body, field::PRIMARY_KEY_WITH_PREFIX, &value),
        false => push_field(body, field::SIMPLE_PRIMARY_KEY, &value),
    }
}

/// Table maps by the number that row events name them by.
pub type Tables = HashMap<u64, TableMapEvent>;

/// A column of a [`TableMapEvent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedColumn {
    /// As in [`ColumnMeta`].
    pub field: FieldType,
    /// As in [`ColumnMeta`].
    pub meta: Vec<u8>,
    /// May hold NULL.
    pub nullable: bool,
    /// An unsigned number.
    pub unsigned: bool,
    /// Collation id of a character column, where given.
    pub charset: Option<u64>,
    /// Name, where given.
    pub name: Option<String>,
    /// The texts of an ENUM or SET, where given.
    pub members: Vec<String>,
}

/// A table that row events name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMapEvent {
    /// The number they use.
    pub table_id: u64,
    pub schema: String,
    pub table: String,
    pub columns: Vec<DecodedColumn>,
    /// Its primary key in key order, where given.
    pub primary_key: Vec<KeyColumn>,
}

impl TableMapEvent {
    /// `schema.table`.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }
}

impl EventKind<'_> for TableMapEvent {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::TABLE_MAP, "Table_map")];

    fn decode(_: &EventHeader, fields: &mut Fields<'_>) -> Result<TableMapEvent, DecodeError> {
        let table_id = fields.uint_le(6)?;
        fields.u16()?;
        let schema = take_name(fields)?;
        let table = take_name(fields)?;
        let types = fields.take_counted()?;
        let mut metas = Fields::new(fields.take_counted()?);
        let nullable = fields.take(types.len().div_ceil(8))?;
        let mut columns = Vec::with_capacity(types.len());
        for (i, code) in types.iter().enumerate() {
            let field = FieldType::from_code(*code).ok_or_else(|| fields.error("unknown column type"))?;
            columns.push(DecodedColumn {
                field,
                meta: metas.take(meta_bytes(field))?.to_vec(),
                nullable: nullable[i / 8] & 1 << (i % 8) != 0,
                unsigned: false,
                charset: None,
                name: None,
                members: Vec::new(),
            });
        }
        let mut primary_key = Vec::new();
        while !fields.is_at_end() {
            let field = fields.u8()?;
            let mut value = Fields::new(fields.take_counted()?);
            match field {
                field::SIMPLE_PRIMARY_KEY => primary_key = decode_primary_key(&mut value, columns.len(), false)?,
                field::PRIMARY_KEY_WITH_PREFIX => primary_key = decode_primary_key(&mut value, columns.len(), true)?,
                _ => decode_optional(field, &mut value, &mut columns)?,
            }
        }
        Ok(TableMapEvent { table_id, schema, table, columns, primary_key })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let (table, columns) = (self.qualified_name(), self.columns.len() as u64);
        Ok(Description {
            text: format!("{table}, id {}, {columns} columns", self.table_id),
            fields: vec![("table", table.into()), ("table_id", self.table_id.into()), ("columns", columns.into())],
        })
    }

    fn info(&self) -> String {
        format!("table_id: {} ({})", self.table_id, self.qualified_name())
    }
}

fn take_name(fields: &mut Fields<'_>) -> Result<String, DecodeError> {
    let len = usize::from(fields.u8()?);
    let name = fields.take(len)?;
    fields.u8()?;
    Ok(String::from_utf8_lossy(name).into_owned())
}

fn meta_bytes(field: FieldType) -> usize {
    use FieldType::*;
    match field {
        Float | Double | Timestamp2 | DateTime2 | Time2 | TinyBlob | MediumBlob | LongBlob | Blob | Json | Geometry => {
            1
        }
        VarChar | VarString | String | NewDecimal | Bit | Enum | Set => 2,
        Decimal | Tiny | Short | Long | Null | Timestamp | LongLong | Int24 | Date | Time | DateTime | Year | Bool => 0,
    }
}

impl DecodedColumn {
    fn is_number(&self) -> bool {
        has_sign(self.field)
    }

    /// Whether it has an entry in the fields about characters, or in those about ENUMs and SETs.
    fn has_charset(&self, of_members: bool) -> bool {
        if of_members { members_field(self.field, &self.meta).is_some() } else { has_charset(self.field, &self.meta) }
    }
}

fn decode_optional(field: u8, value: &mut Fields<'_>, columns: &mut [DecodedColumn]) -> Result<(), DecodeError> {
    match field {
        field::SIGNEDNESS => {
            let bits = value.rest();
            for (i, column) in columns.iter_mut().filter(|column| column.is_number()).enumerate() {
                let byte = bits.get(i / 8).ok_or_else(|| value.error("signedness cut off"))?;
                column.unsigned = byte & 0x80 >> (i % 8) != 0;
            }
        }
        field::DEFAULT_CHARSET | field::MEMBERS_DEFAULT_CHARSET => {
            let of_members = field == field::MEMBERS_DEFAULT_CHARSET;
            let mut charsets: Vec<_> = columns.iter_mut().filter(|column| column.has_charset(of_members)).collect();
            let default = value.lenenc()?;
            charsets.iter_mut().for_each(|column| column.charset = Some(default));
            while !value.is_at_end() {
                let i = value.lenenc_len()?;
                let column = charsets.get_mut(i).ok_or_else(|| value.error("no such character column"))?;
                column.charset = Some(value.lenenc()?);
            }
        }
        field::COLUMN_CHARSET | field::MEMBERS_COLUMN_CHARSET => {
            let of_members = field == field::MEMBERS_COLUMN_CHARSET;
            for column in columns.iter_mut().filter(|column| column.has_charset(of_members)) {
                column.charset = Some(value.lenenc()?);
            }
        }
        field::COLUMN_NAME => {
            for column in columns {
                column.name = Some(String::from_utf8_lossy(value.take_counted()?).into_owned());
            }
        }
        field::SET_MEMBERS | field::ENUM_MEMBERS => {
            let kind = if field == field::SET_MEMBERS { FieldType::Set } else { FieldType::Enum };
            for column in columns.iter_mut().filter(|column| members_field(column.field, &column.meta) == Some(kind)) {
                let texts = value.lenenc_len()?;
                for _ in 0..texts {
                    column.members.push(String::from_utf8_lossy(value.take_counted()?).into_owned());
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn decode_primary_key(
    value: &mut Fields<'_>,
    columns: usize,
    with_prefix: bool,
) -> Result<Vec<KeyColumn>, DecodeError> {
    let mut key = Vec::new();
    while !value.is_at_end() {
        let column = value.lenenc_len()?;
        if column >= columns {
            return Err(value.error("no such column"));
        }
        let prefix = if with_prefix { value.lenenc()? } else { 0 };
        let prefix = u16::try_from(prefix).map_err(|_| value.error("key prefix too long"))?;
        key.push(KeyColumn { column, prefix: (prefix > 0).then_some(prefix) });
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    #[test]
    fn round_trip() {
        let column = ColumnMeta {
            field: FieldType::LongLong,
            meta: Vec::new(),
            nullable: true,
            unsigned: true,
            charset: 63,
            name: "id".to_owned(),
            members: Vec::new(),
        };
        let key = KeyColumn { column: 0, prefix: None };
        let map = TableMap::new(7, "d", "t", &[column], &[key]);
        let golden = [
            &[7, 0, 0, 0, 0, 0, 1, 0][..],
            b"\x01d\0\x01t\0",
            &[1, 8, 0, 1],
            &[field::SIGNEDNESS, 1, 0x80, field::COLUMN_NAME, 3, 2, b'i', b'd', field::SIMPLE_PRIMARY_KEY, 1, 0],
        ]
        .concat();
        let decoded = DecodedColumn {
            field: FieldType::LongLong,
            meta: Vec::new(),
            nullable: true,
            unsigned: true,
            charset: None,
            name: Some("id".to_owned()),
            members: Vec::new(),
        };
        let event = TableMapEvent {
            table_id: 7,
            schema: "d".to_owned(),
            table: "t".to_owned(),
            columns: vec![decoded],
            primary_key: vec![key],
        };
        let bytes = event_of(EventType::TABLE_MAP, map.body(RowMetadata::Full));
        check(&bytes, event, &golden, "d.t, id 7, 1 columns");
    }

    /// As MySQL and MariaDB write it. Readers count it, and would take its bit for that of the next number.
    #[test]
    fn a_year_has_a_sign_bit() {
        let column = |field| ColumnMeta {
            field,
            meta: Vec::new(),
            nullable: true,
            unsigned: false,
            charset: 63,
            name: String::new(),
            members: Vec::new(),
        };
        let columns = [FieldType::Long, FieldType::Year, FieldType::Date, FieldType::Long].map(column);
        let map = TableMap::new(7, "d", "t", &columns, &[]);
        let body = map.body(RowMetadata::Minimal);
        assert!(body.ends_with(&[field::SIGNEDNESS, 1, 0b0100_0000]), "{body:?}");
    }
}
