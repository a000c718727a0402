//! Result sets on their way to a client.

use cohort_sql::collation::Collation;
use cohort_sql::session::ResultSink;
use cohort_sql::types::{Charset, ResultColumn, ResultType};
use cohort_sql::{SqlError, Value};

use crate::protocol::columns::encode_column;
use crate::protocol::encode::put_length_encoded_int;
use crate::protocol::rows::{encode_binary_row, encode_text_row};
use crate::session::connection::Output;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// As text (COM_QUERY).
    Text,
    /// In the columns' own form (COM_STMT_EXECUTE).
    Binary,
}

/// Encodes a result set as it is made, and writes whenever enough has come together.
pub struct ResultWriter<'a> {
    output: &'a mut Output,
    form: RowForm,
    /// Status flags for the packet after the columns.
    status: u16,
    /// Bytes to collect before writing.
    flush_at: usize,
    /// The columns' types; lent for its memory.
    types: &'a mut Vec<ResultType>,
}

impl<'a> ResultWriter<'a> {
    /// Writes to `output`.
    pub fn new(
        output: &'a mut Output,
        types: &'a mut Vec<ResultType>,
        form: RowForm,
        status: u16,
        flush_at: usize,
    ) -> ResultWriter<'a> {
        types.clear();
        ResultWriter { output, form, status, flush_at, types }
    }
}

impl ResultSink for ResultWriter<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        self.output.packet(|out| put_length_encoded_int(out, columns.len() as u64));
        let results = self.output.results;
        for column in columns {
            self.output.packet(|out| encode_column(out, column, results));
        }
        self.output.end_of_columns(self.status);
        self.types.extend(columns.iter().map(|column| column.result_type));
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let in_utf8 = self.output.results.is_some_and(|results| results.charset() == Charset::Utf8mb4);
        let recoded: Vec<Value>;
        let row = if in_utf8 || row.iter().all(is_the_same_in_all) {
            row
        } else {
            let results = self.output.results.map(Collation::charset);
            recoded = row.iter().zip(&*self.types).map(|(value, of)| as_read(value, of, results)).collect();
            &recoded
        };
        match self.form {
            RowForm::Text => self.output.packet(|out| encode_text_row(out, row, self.types)),
            RowForm::Binary => self.output.try_packet(|out| encode_binary_row(out, row, self.types))?,
        }
        if self.output.pending().len() >= self.flush_at {
            self.output.flush()?;
        }
        Ok(())
    }
}

/// Whether a value is the same for every client, whatever character set it reads, and that is known without much work.
fn is_the_same_in_all(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.is_ascii(),
        Value::Member(member) => member.text.is_ascii(),
        Value::Json(_) => false,
        _ => true,
    }
}

/// A value of a column for a client that reads texts in this character set, or in that of the column: a text in its bytes.
fn as_read(value: &Value, of: &ResultType, results: Option<Charset>) -> Value {
    let json;
    let text = match value {
        Value::Text(text) => text,
        Value::Member(member) => &*member.text,
        Value::Json(document) => {
            json = document.to_string();
            &json
        }
        _ => return value.clone(),
    };
    let own = of.collation.charset();
    match results {
        _ if text.is_ascii() => value.clone(),
        // What is converted has question marks for what is lost.
        Some(results) if ![Charset::Binary, own].contains(&results) && own != Charset::Binary => {
            Value::bytes(&*results.encode_within(text))
        }
        _ => Value::bytes(&*own.encode(text)),
    }
}

/// Takes only the columns (COM_FIELD_LIST).
#[derive(Default)]
pub struct ColumnCollector {
    /// What came.
    pub columns: Vec<ResultColumn>,
}

impl ResultSink for ColumnCollector {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<(), SqlError> {
        Ok(())
    }
}
