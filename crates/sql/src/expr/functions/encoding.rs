//! Codes, digits and checksums of numbers and strings.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::super::convert::{to_bits, to_bytes, to_i64};
use super::string::slice;
use super::{Arguments, Form, Function, MANY};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::{FieldKind, ResultType};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "ascii",
        1,
        1,
        |a| Ok(Value::Int(to_bytes(&a[0]).first().copied().unwrap_or(0).into())),
        |_| ResultType::integer(3),
    )
    .of_text()
    .in_grammar()
    .of_bytes()
    .doc("The code of the first byte.", "ASCII('2')", "50"),
    Function::new("ord", 1, 1, ord, |_| ResultType::integer(11)).of_text().of_bytes().doc(
        "The code of the first character, made of its bytes.",
        "ORD('é')",
        "50089",
    ),
    Function::new("char", 1, MANY, char_of, |a| ResultType::string(4 * a.len() as u32, Collation::Binary))
        .takes_null()
        .form(Form::Char)
        .doc("The bytes that the numbers stand for.", "CHAR(77, 121, '83')", "MyS"),
    Function::new("hex", 1, 1, hex, |a| ResultType::string(bytes_of(&a[0]).saturating_mul(2), Collation::DEFAULT))
        .of_bytes()
        .doc("The digits of a number, or of the bytes of a text, with base 16.", "HEX('abc')", "616263"),
    Function::new("unhex", 1, 1, unhex, |a| ResultType::string(bytes_of(&a[0]).div_ceil(2), Collation::Binary))
        .of_text()
        .doc("The bytes that digits with base 16 stand for.", "UNHEX('4D7953514C')", "MySQL"),
    Function::new("bin", 1, 1, |args| Ok(in_base(args, 10, 2)), |_| ResultType::string(64, Collation::DEFAULT))
        .of_text()
        .doc("The digits of a number with base 2.", "BIN(12)", "1100"),
    Function::new("oct", 1, 1, |args| Ok(in_base(args, 10, 8)), |_| ResultType::string(64, Collation::DEFAULT))
        .of_text()
        .doc("The digits of a number with base 8.", "OCT(12)", "14"),
    Function::new(
        "crc32",
        1,
        1,
        |a| Ok(Value::UInt(crc32fast::hash(&to_bytes(&a[0])).into())),
        |_| ResultType::unsigned(10),
    )
    .of_text()
    .of_bytes()
    .doc("The cyclic redundancy check of 32 bits.", "CRC32('MySQL')", "3259397556"),
    Function::new("conv", 3, 3, conv, |_| ResultType::string(65, Collation::DEFAULT))
        .numbers_at(&[1, 2])
        .of_text()
        .doc("The digits of a number with another base.", "CONV('6E', 18, 8)", "172"),
    Function::new("to_base64", 1, 1, to_base64, base64_type).of_text().of_bytes().doc(
        "The bytes of a text in digits with base 64.",
        "TO_BASE64('abc')",
        "YWJj",
    ),
    Function::new("from_base64", 1, 1, from_base64, |a| ResultType::string(bytes_of(&a[0]) / 4 * 3, Collation::Binary))
        .of_text()
        .doc("The bytes that digits with base 64 stand for.", "FROM_BASE64('YWJj')", "abc"),
    Function::new("md5", 1, 1, |a| Ok(Value::text(hex_of(&md5::Md5::digest(to_bytes(&a[0]))))), |_| digits(32))
        .of_text()
        .of_bytes()
        .doc("The MD5 digest, in digits with base 16.", "MD5('testing')", "ae2b1fca515949e5d54fb22b8ed95575"),
    Function::new("sha1", 1, 1, |a| Ok(Value::text(hex_of(&Sha1::digest(to_bytes(&a[0]))))), |_| digits(40))
        .of_text()
        .aliases(&["sha"])
        .of_bytes()
        .doc("The SHA-1 digest, in digits with base 16.", "SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    Function::new("sha2", 2, 2, sha2_of, |_| digits(128)).numbers_at(&[1]).of_text().of_bytes().doc(
        "A digest of the SHA-2 family with so many bits, in digits with base 16.",
        "SHA2('abc', 224)",
        "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
    ),
];

fn ord(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let (bytes, binary) = (to_bytes(&args[0]), args.is_binary());
    let first = slice(&bytes, binary, 0, 1);
    Ok(Value::Int(first.iter().fold(0, |code, byte| code << 8 | i64::from(*byte))))
}

fn char_of(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let mut bytes = Vec::new();
    for arg in args.iter().filter(|value| !value.is_null()) {
        let code = to_bits(arg, args.cx)? as u32;
        let all = code.to_be_bytes();
        let skip = (code.leading_zeros() / 8).min(3) as usize;
        bytes.extend_from_slice(&all[skip..]);
    }
    Ok(Value::bytes(bytes))
}

fn hex(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    match &args[0] {
        // Half is rounded up, away from zero.
        Value::Double(double) if double.abs() < 9e18 => Ok(Value::text(format!("{:X}", double.round() as i64))),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
            Ok(Value::text(format!("{:X}", to_bits(&args[0], args.cx)?)))
        }
        other => {
            let bytes = to_bytes(other);
            if !args.has_room(bytes.len().saturating_mul(2))? {
                return Ok(Value::Null);
            }
            Ok(Value::text(hex_of(&bytes).to_ascii_uppercase()))
        }
    }
}

/// Lower-case hexadecimal digits.
pub(super) fn hex_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn unhex(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_bytes(&args[0]);
    let mut digits = Vec::with_capacity(text.len() + 1);
    if text.len() % 2 == 1 {
        digits.push(0);
    }
    for byte in text.iter() {
        let Some(digit) = char::from(*byte).to_digit(16) else { return Ok(Value::Null) };
        digits.push(digit as u8);
    }
    Ok(Value::bytes(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>()))
}

fn conv(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(in_base(args, to_i64(&args[1], args.cx)?, to_i64(&args[2], args.cx)?))
}

/// The number that the first argument begins with, with another base. A negative base has a sign, and lets numbers below zero
/// be. A BIT is the number that it is, whatever the base.
fn in_base(args: &Arguments<'_, '_>, from: i64, to: i64) -> Value {
    let digits = to_bytes(&args[0]);
    let base = |base: i64| u32::try_from(base.unsigned_abs()).ok().filter(|base| (2..=36).contains(base));
    let (Some(base_from), Some(base_to), false) = (base(from), base(to), digits.is_empty()) else {
        return Value::Null;
    };
    let number = match args.call.args[0].result_type(args.cx.params).kind() {
        FieldKind::Bits => digits.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
        _ => number_of_digits(&digits, base_from, from < 0),
    };
    let below_zero = to < 0 && (number as i64) < 0;
    let mut rest = if below_zero { number.wrapping_neg() } else { number };
    let mut written = Vec::new();
    while rest > 0 || written.is_empty() {
        written.push(char::from_digit((rest % u64::from(base_to)) as u32, base_to).unwrap_or('0').to_ascii_uppercase());
        rest /= u64::from(base_to);
    }
    if below_zero {
        written.push('-');
    }
    Value::text(written.iter().rev().collect::<String>())
}

/// The number that a text begins with, as 64 bits.
fn number_of_digits(text: &[u8], base: u32, signed: bool) -> u64 {
    let trimmed = text.trim_ascii_start();
    let (negative, digits) = match trimmed.first() {
        Some(b'-') => (true, &trimmed[1..]),
        Some(b'+') => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    let size = digits
        .iter()
        .map_while(|digit| char::from(*digit).to_digit(base))
        .fold(0u128, |sum, digit| sum.saturating_mul(base.into()).saturating_add(digit.into()));
    let size = i128::try_from(size).unwrap_or(i128::MAX);
    if signed {
        return (if negative { -size } else { size }).clamp(i64::MIN.into(), i64::MAX.into()) as i64 as u64;
    }
    match u64::try_from(size) {
        Ok(size) if negative => size.wrapping_neg(),
        Ok(size) => size,
        // The sign does not count.
        Err(_) => u64::MAX,
    }
}

/// Digits of base 64 without an end of line, as MySQL breaks them.
const BASE64_LINE: usize = 76;

/// With padding; bits beyond the last byte are not looked at.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Bytes of a text of so many characters, or of a binary string.
fn bytes_of(arg: &ResultType) -> u32 {
    if arg.collation.is_character() { arg.length.saturating_mul(4) } else { arg.length }
}

fn base64_type(args: &[ResultType]) -> ResultType {
    let digits = bytes_of(&args[0]).div_ceil(3).saturating_mul(4);
    let lines = digits.saturating_sub(1) / BASE64_LINE as u32;
    ResultType::string(digits.saturating_add(lines), Collation::DEFAULT)
}

fn to_base64(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let bytes = to_bytes(&args[0]);
    let digits = bytes.len().div_ceil(3).saturating_mul(4);
    if !args.has_room(digits + digits / BASE64_LINE)? {
        return Ok(Value::Null);
    }
    let digits = BASE64.encode(&bytes);
    let lines: Vec<&str> =
        (0..digits.len()).step_by(BASE64_LINE).map(|at| &digits[at..digits.len().min(at + BASE64_LINE)]).collect();
    Ok(Value::text(lines.join("\n")))
}

fn from_base64(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let digits: Vec<u8> = to_bytes(&args[0]).iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    Ok(BASE64.decode(digits).map_or(Value::Null, Value::bytes))
}

fn digits(count: u32) -> ResultType {
    ResultType::string(count, Collation::DEFAULT)
}

fn sha2_of(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let bytes = to_bytes(&args[0]);
    let digest = match to_i64(&args[1], args.cx)? {
        224 => Sha224::digest(&bytes).to_vec(),
        0 | 256 => Sha256::digest(&bytes).to_vec(),
        384 => Sha384::digest(&bytes).to_vec(),
        512 => Sha512::digest(&bytes).to_vec(),
        _ => return Ok(Value::Null),
    };
    Ok(Value::text(hex_of(&digest)))
}
