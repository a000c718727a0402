//! The encoded form of a transaction's changes to one engine, as it stands in the journal.
//!
//! Format: a sequence of operations, each `tag (1 byte) | key length (varint) | key`, and for a put
//! `value length (varint) | value`. Tag 1 is a put, tag 2 a delete. Varints are LEB128.

use crate::MIN_KEY_LEN;

/// Builds encoded redo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redo {
    bytes: Vec<u8>,
}

/// One change to an engine's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedoOp<'a> {
    /// Sets the value of a key.
    Put { key: &'a [u8], value: &'a [u8] },
    /// Removes a key.
    Delete { key: &'a [u8] },
}

/// The bytes are not encoded redo.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged redo: {what} at byte {at}")]
pub struct RedoError {
    /// What was found.
    pub what: &'static str,
    /// Offset in the redo, bytes.
    pub at: usize,
}

const PUT: u8 = 1;
const DELETE: u8 = 2;

impl Redo {
    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.push(PUT);
        push_chunk(&mut self.bytes, key);
        push_chunk(&mut self.bytes, value);
    }

    /// Adds a delete.
    pub fn delete(&mut self, key: &[u8]) {
        self.bytes.push(DELETE);
        push_chunk(&mut self.bytes, key);
    }

    /// True when it holds no change.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The encoded bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The operations in `bytes`, all on keys a caller may have; an error ends the iteration.
    pub fn callers_ops(bytes: &[u8]) -> impl Iterator<Item = Result<RedoOp<'_>, RedoError>> {
        Redo::ops(bytes).map(|op| match op? {
            RedoOp::Put { key, .. } | RedoOp::Delete { key } if key.len() < MIN_KEY_LEN => {
                Err(RedoError { what: "key too short", at: 0 })
            }
            op => Ok(op),
        })
    }

    /// The operations in `bytes`; an error ends the iteration.
    pub fn ops(bytes: &[u8]) -> impl Iterator<Item = Result<RedoOp<'_>, RedoError>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            let op = read_op(bytes, &mut at);
            if op.is_err() {
                at = bytes.len();
            }
            Some(op)
        })
    }
}

fn push_chunk(out: &mut Vec<u8>, chunk: &[u8]) {
    let mut rest = chunk.len();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out.extend_from_slice(chunk);
}

fn read_op<'a>(bytes: &'a [u8], at: &mut usize) -> Result<RedoOp<'a>, RedoError> {
    let tag = bytes[*at];
    *at += 1;
    match tag {
        PUT => Ok(RedoOp::Put { key: read_chunk(bytes, at)?, value: read_chunk(bytes, at)? }),
        DELETE => Ok(RedoOp::Delete { key: read_chunk(bytes, at)? }),
        _ => Err(RedoError { what: "unknown operation", at: *at - 1 }),
    }
}

fn read_chunk<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], RedoError> {
    let mut len = 0usize;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at).ok_or(RedoError { what: "length cut off", at: *at })?;
        *at += 1;
        len |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let chunk = bytes.get(*at..*at + len).ok_or(RedoError { what: "bytes cut off", at: *at })?;
            *at += len;
            return Ok(chunk);
        }
    }
    Err(RedoError { what: "length too long", at: *at })
}
