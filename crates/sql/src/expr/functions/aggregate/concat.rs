//! GROUP_CONCAT.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::super::EvalContext;
use super::super::super::convert::{local, to_bytes};
use super::{Aggregate, spilling};
use crate::collation::Collation;
use crate::error::{ER_CUT_VALUE_GROUP_CONCAT, SqlError};
use crate::spill::{Budget, KeyOrder, KeyWriter, Sorter, compare_keys, skip_keys};
use crate::types::{FieldType, ResultType};
use crate::value::Value;

/// What a GROUP_CONCAT says beside its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Concat {
    /// What stands between the texts.
    pub(crate) separator: Arc<str>,
    /// `group_concat_max_len`, bytes.
    pub(crate) most: u64,
    /// Of each key of its ORDER BY, whether it is DESC.
    pub(super) descending: Vec<bool>,
    pub(super) collation: Collation,
}

/// The texts of the rows so far.
#[derive(Default)]
pub(in super::super) struct Texts {
    /// What they are put together to, where they come in the order that they are wanted in.
    joined: Joined,
    /// Keys and texts of all rows, where they are to be sorted.
    unsorted: Option<Sorter>,
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Texts").field("joined", &self.joined).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, Default)]
struct Joined {
    text: Vec<u8>,
    rows: u64,
    /// Nothing more fits.
    cut: bool,
}

/// What the rows of one group may take in memory while they are to be sorted, bytes.
const SORTED_BYTES: u64 = 1 << 20;
/// From how many bytes on the result is a TEXT, as in MySQL.
const TEXT_BYTES: u64 = 512;

impl Concat {
    pub(crate) fn new(separator: &str, most: u64) -> Concat {
        Concat { separator: separator.into(), most, descending: Vec::new(), collation: Collation::DEFAULT }
    }

    pub(super) fn result_type(&self) -> ResultType {
        let length = u32::try_from(self.most).unwrap_or(u32::MAX).min(u32::MAX / 4);
        let string = ResultType::string(length, self.collation);
        if self.most > TEXT_BYTES { ResultType { field: FieldType::Blob, ..string } } else { string }
    }
}

impl Texts {
    pub(super) fn add(
        &mut self,
        first: &Value,
        of: &Aggregate,
        row: &[Value],
        cx: &EvalContext<'_>,
    ) -> Result<(), SqlError> {
        let Some(concat) = &of.concat else { return Ok(()) };
        if self.joined.cut {
            return Ok(());
        }
        let (first_of, others) = match of.over() {
            [first_of, others @ ..] => (first_of, others),
            [] => return Ok(()),
        };
        let mut text = to_bytes(&first_of.as_shown(first.clone(), cx)).into_owned();
        for other in others {
            let mut made = Value::Null;
            let value = other.get(row, cx, &mut made)?;
            if value.is_null() {
                return Ok(());
            }
            text.extend_from_slice(&to_bytes(&other.as_shown(local(value, cx), cx)));
        }
        if concat.descending.is_empty() {
            cx.statement.hold(text.len() + concat.separator.len())?;
            return self.joined.add(&text, concat, cx);
        }
        let mut keys = Vec::new();
        let mut writer = KeyWriter::new(&mut keys);
        for (key, order) in of.args[of.over..].iter().zip(orders(concat, of)) {
            writer.add(&key.eval(row, cx)?, order);
        }
        let unsorted = self.unsorted.get_or_insert_with(|| Sorter::of_table(Budget::of(SORTED_BYTES)));
        unsorted.push(writer.into_start(), &in_order(concat, of), spilling(cx)?, |out| {
            out.extend_from_slice(&keys);
            out.extend_from_slice(&text);
        })
    }

    pub(super) fn finish(&mut self, of: &Aggregate, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        let Some(concat) = &of.concat else { return Ok(Value::Null) };
        if let Some(unsorted) = self.unsorted.take() {
            let compare = in_order(concat, of);
            let with = spilling(cx)?;
            let mut sorted = unsorted.sorted(&compare, with)?;
            while !self.joined.cut
                && let Some(mut text) = sorted.next(&compare, with)?
            {
                let keys = concat.descending.len();
                skip_keys(keys, &mut text).ok_or_else(|| with.temporary_files().damaged())?;
                self.joined.add(text, concat, cx)?;
            }
            cx.statement.hold(self.joined.text.len())?;
        }
        let joined = &self.joined;
        if joined.rows == 0 {
            return Ok(Value::Null);
        }
        Ok(match concat.collation.is_character() {
            true => Value::text(&*String::from_utf8_lossy(&joined.text)),
            false => Value::bytes(&*joined.text),
        })
    }
}

/// The order of the texts of two rows, each behind its keys.
fn in_order(concat: &Concat, of: &Aggregate) -> impl Fn(&[u8], &[u8]) -> Ordering {
    |mut a: &[u8], mut b: &[u8]| compare_keys(orders(concat, of), &mut a, &mut b)
}

/// How each key of the ORDER BY is compared.
fn orders(concat: &Concat, of: &Aggregate) -> impl Iterator<Item = KeyOrder> {
    let keys = of.args[of.over..].iter().zip(&concat.descending);
    keys.map(|(key, descending)| KeyOrder { collation: key.collation(), descending: *descending })
}

impl Joined {
    /// Adds a text, or the part of it that still fits, with warning 1260.
    fn add(&mut self, text: &[u8], concat: &Concat, cx: &EvalContext<'_>) -> Result<(), SqlError> {
        if self.cut {
            return Ok(());
        }
        if self.rows > 0 {
            self.text.extend_from_slice(concat.separator.as_bytes());
        }
        self.rows += 1;
        self.text.extend_from_slice(text);
        let most = usize::try_from(concat.most).unwrap_or(usize::MAX).min(cx.statement.max_allowed_packet());
        if self.text.len() <= most {
            return Ok(());
        }
        self.cut = true;
        let mut end = most;
        while concat.collation.is_character() && end > 0 && is_inside_character(self.text[end]) {
            end -= 1;
        }
        self.text.truncate(end);
        cx.statement.warn(SqlError::new(ER_CUT_VALUE_GROUP_CONCAT, &[&self.rows]))
    }
}

/// Whether a byte of UTF-8 belongs to the character before it.
fn is_inside_character(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
