//! Rows in the order in which they came: the first ones in memory, and what is more in a file.

use std::borrow::Cow;
use std::cell::RefCell;

use super::record_file::Block;
use super::{Budget, RecordFile, RecordReader, Spilling};
use crate::error::SqlError;
use crate::memory::row_bytes;
use crate::value::Value;

/// Appends the bytes of a row, as temporary files have it.
pub(crate) fn write_row(row: &[Value], out: &mut Vec<u8>) {
    row.iter().for_each(|value| value.write_spilled(out));
}

/// Takes a row of so many values from the start of `bytes`.
pub(crate) fn read_row(count: usize, bytes: &mut &[u8]) -> Option<Vec<Value>> {
    (0..count).map(|_| Value::read_spilled(bytes)).collect()
}

/// Appends bytes with their length.
pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes what [`write_bytes`] appended.
pub(crate) fn read_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}

/// Rows that are appended, and read as often as is wanted.
#[derive(Debug)]
pub(crate) struct RowList {
    budget: Budget,
    /// How many values a row has.
    width: usize,
    rows: Vec<Vec<Value>>,
    file: Option<RecordFile>,
    /// Where each of those in the file begins, if they are asked for by number.
    starts: Option<Vec<u64>>,
    blocks: RefCell<Blocks>,
    /// Those in the file.
    spilled: usize,
}

/// Blocks of the file that were read last: several are read in turn where a window has a frame.
#[derive(Debug, Default)]
struct Blocks {
    blocks: [Block; 4],
    next: usize,
}

/// Where someone is in a list.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    next: usize,
    reader: Option<RecordReader>,
    row: Vec<Value>,
}

impl RowList {
    /// No row yet; rows have so many values.
    pub(crate) fn new(budget: Budget, width: usize) -> RowList {
        RowList { budget, width, rows: Vec::new(), file: None, starts: None, blocks: RefCell::default(), spilled: 0 }
    }

    /// The same for rows that are asked for by number ([`RowList::get`]).
    pub(crate) fn by_number(self) -> RowList {
        RowList { starts: Some(Vec::new()), ..self }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.spilled
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: Vec<Value>, with: &dyn Spilling) -> Result<(), SqlError> {
        if self.file.is_none() && self.budget.take(row_bytes(&row), with)? {
            self.rows.push(row);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                with.temporary_files().count_table();
                self.file.insert(RecordFile::create(with)?)
            }
        };
        if let Some(starts) = &mut self.starts {
            self.budget.hold(size_of::<u64>(), with)?;
            starts.push(file.end());
        }
        self.spilled += 1;
        file.append(with, |out| write_row(&row, out))
    }

    /// All rows are there: to be called before the first is read.
    pub(crate) fn end(&mut self, with: &dyn Spilling) -> Result<(), SqlError> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush(with))
    }

    /// The next row of someone who reads.
    pub(crate) fn next<'l>(
        &'l self,
        cursor: &'l mut Cursor,
        with: &dyn Spilling,
    ) -> Result<Option<&'l [Value]>, SqlError> {
        let at = cursor.next;
        cursor.next += 1;
        if let Some(row) = self.rows.get(at) {
            return Ok(Some(row));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let reader = cursor.reader.get_or_insert_with(|| file.reader(0, file.end()));
        let Some(mut bytes) = reader.next(file, with)? else { return Ok(None) };
        cursor.row = read_row(self.width, &mut bytes).ok_or_else(|| with.temporary_files().damaged())?;
        Ok(Some(&cursor.row))
    }

    /// The row of a number; 1024 if there is none.
    pub(crate) fn get(&self, at: usize, with: &dyn Spilling) -> Result<Cow<'_, [Value]>, SqlError> {
        if let Some(row) = self.rows.get(at) {
            return Ok(Cow::Borrowed(row));
        }
        let damaged = || with.temporary_files().damaged();
        let start = self.starts.as_ref().and_then(|starts| starts.get(at - self.rows.len()));
        let (Some(file), Some(start)) = (&self.file, start) else { return Err(damaged()) };
        let mut blocks = self.blocks.borrow_mut();
        let held = blocks.blocks.iter().position(|block| block.has(*start));
        let place = held.unwrap_or_else(|| {
            blocks.next += 1;
            blocks.next % blocks.blocks.len()
        });
        let mut bytes = file.record_at(*start, &mut blocks.blocks[place], with)?;
        read_row(self.width, &mut bytes).map(Cow::Owned).ok_or_else(damaged)
    }

    /// Gives its memory back; nobody reads it any more.
    pub(crate) fn give_back(mut self, with: &dyn Spilling) {
        self.budget.give_back(with);
    }
}

impl Block {
    fn has(&self, at: u64) -> bool {
        self.range().contains(&at)
    }
}
