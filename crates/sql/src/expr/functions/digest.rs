//! Checksums of strings.

use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::super::convert::{to_bytes, to_i64};
use super::string::hex_of;
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("md5", 1, 1, |a| Ok(Value::text(hex_of(&md5::Md5::digest(to_bytes(&a[0]))))), |_| digits(32))
        .of_text()
        .doc("The MD5 digest, in digits with base 16.", "MD5('testing')", "ae2b1fca515949e5d54fb22b8ed95575"),
    Function::new("sha1", 1, 1, |a| Ok(Value::text(hex_of(&Sha1::digest(to_bytes(&a[0]))))), |_| digits(40))
        .of_text()
        .aliases(&["sha"])
        .doc("The SHA-1 digest, in digits with base 16.", "SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    Function::new("sha2", 2, 2, sha2_of, |_| digits(128)).of_text().doc(
        "A digest of the SHA-2 family with so many bits, in digits with base 16.",
        "SHA2('abc', 224)",
        "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
    ),
];

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
