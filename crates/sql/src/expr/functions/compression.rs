//! COMPRESS and its like: zlib's format, after four bytes that say how long the text is.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::super::convert::to_bytes;
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{ER_TOO_BIG_FOR_UNCOMPRESS, ER_ZLIB_Z_DATA_ERROR, SqlError};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("compress", 1, 1, compress, |_| ResultType::string(u32::MAX / 4, Collation::Binary))
        .of_text()
        .of_bytes()
        .doc(
            "The text compressed, after its length in four bytes.",
            "UNCOMPRESS(COMPRESS('any string'))",
            "any string",
        ),
    Function::new("uncompress", 1, 1, uncompress, |_| ResultType::string(u32::MAX / 4, Collation::Binary))
        .of_text()
        .of_bytes()
        .doc("The text that COMPRESS compressed.", "LENGTH(UNCOMPRESS(COMPRESS(REPEAT('a', 1000))))", "1000"),
    Function::new("uncompressed_length", 1, 1, uncompressed_length, |_| ResultType::integer(10))
        .of_text()
        .of_bytes()
        .doc("How long it was, in bytes.", "UNCOMPRESSED_LENGTH(COMPRESS(REPEAT('a', 30)))", "30"),
];

/// Bytes that say how long the text is.
const HEADER: usize = 4;
/// How much is compressed before it is looked whether the statement was killed, bytes.
const PIECE: usize = 1 << 20;

fn compress(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    if text.is_empty() {
        return Ok(Value::bytes(&[][..]));
    }
    // What cannot be made shorter gets a little longer.
    args.cx.statement.hold_evaluated(text.len() + text.len() / 1000 + 64)?;
    let mut encoder = ZlibEncoder::new((text.len() as u32).to_le_bytes().to_vec(), Compression::default());
    for piece in text.chunks(PIECE) {
        args.cx.statement.check_killed()?;
        encoder.write_all(piece).map_err(SqlError::internal)?;
    }
    let mut compressed = encoder.finish().map_err(SqlError::internal)?;
    // A CHAR column would lose a blank.
    if compressed.last() == Some(&b' ') {
        compressed.push(b'.');
    }
    Ok(Value::bytes(compressed))
}

/// The length that is written there, without flags above; `None` where there is not more than that.
fn written_length(bytes: &[u8]) -> Option<u32> {
    let header = bytes.first_chunk::<HEADER>().filter(|_| bytes.len() > HEADER)?;
    Some(u32::from_le_bytes(*header) & 0x3fff_ffff)
}

fn corrupted(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    args.cx.statement.warn(SqlError::new(ER_ZLIB_Z_DATA_ERROR, &[]))?;
    Ok(Value::Null)
}

fn uncompress(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let bytes = to_bytes(&args[0]);
    if bytes.is_empty() {
        return Ok(Value::bytes(&[][..]));
    }
    let Some(length) = written_length(&bytes) else { return corrupted(args) };
    let most = args.cx.statement.max_allowed_packet();
    if length as usize > most {
        args.cx.statement.warn(SqlError::new(ER_TOO_BIG_FOR_UNCOMPRESS, &[&most]))?;
        return Ok(Value::Null);
    }
    if !args.has_room(length as usize)? {
        return Ok(Value::Null);
    }
    let mut text = Vec::with_capacity(length as usize);
    // One byte more shows that there is more.
    let mut decoder = ZlibDecoder::new(&bytes[HEADER..]).take(u64::from(length) + 1);
    match decoder.read_to_end(&mut text) {
        Ok(_) if text.len() <= length as usize => Ok(Value::bytes(text)),
        _ => corrupted(args),
    }
}

fn uncompressed_length(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let bytes = to_bytes(&args[0]);
    if bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    match written_length(&bytes) {
        Some(length) => Ok(Value::Int(length.into())),
        None => corrupted(args),
    }
}
