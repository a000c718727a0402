//! Internet addresses and UUIDs.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::{Builder, Uuid};

use super::super::convert::{to_bool, to_bytes, to_integer, to_text};
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{ER_WRONG_VALUE_FOR_TYPE, SqlError};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] =
    &[
        Function::new("inet_aton", 1, 1, inet_aton, |_| ResultType::unsigned(21)).of_text().doc(
            "The number of an IPv4 address; parts that are not written are 0.",
            "INET_ATON('10.0.5.9')",
            "167773449",
        ),
        Function::new("inet_ntoa", 1, 1, inet_ntoa, |_| text(31)).doc(
            "The IPv4 address of a number.",
            "INET_NTOA(167773449)",
            "10.0.5.9",
        ),
        Function::new("inet6_aton", 1, 1, inet6_aton, |_| ResultType::string(16, Collation::Binary)).of_text().doc(
            "The bytes of an IPv6 or IPv4 address.",
            "HEX(INET6_ATON('fdfe::5a55:caff:fefa:9089'))",
            "FDFE0000000000005A55CAFFFEFA9089",
        ),
        Function::new("inet6_ntoa", 1, 1, inet6_ntoa, |_| text(39)).doc(
            "The IPv6 or IPv4 address of 16 or 4 bytes.",
            "INET6_NTOA(UNHEX('0A000509'))",
            "10.0.5.9",
        ),
        Function::new("is_ipv4", 1, 1, |a| condition(ipv4(&to_text(&a[0])).is_some()), truth)
            .takes_null()
            .of_text()
            .doc("Whether a text is an IPv4 address.", "IS_IPV4('10.0.5.256')", "0"),
        Function::new("is_ipv6", 1, 1, |a| condition(ipv6(&to_text(&a[0])).is_some()), truth)
            .takes_null()
            .of_text()
            .doc("Whether a text is an IPv6 address.", "IS_IPV6('::1')", "1"),
        Function::new("is_ipv4_compat", 1, 1, |a| condition(bytes_of_ipv6(&a[0]).is_some_and(is_compatible)), truth)
            .takes_null()
            .doc(
                "Whether the bytes are those of an IPv6 address `::a.b.c.d`.",
                "IS_IPV4_COMPAT(INET6_ATON('::10.0.5.9'))",
                "1",
            ),
        Function::new(
            "is_ipv4_mapped",
            1,
            1,
            |a| condition(bytes_of_ipv6(&a[0]).is_some_and(|ip| ip.to_ipv4_mapped().is_some())),
            truth,
        )
        .takes_null()
        .doc(
            "Whether the bytes are those of an IPv6 address `::ffff:a.b.c.d`.",
            "IS_IPV4_MAPPED(INET6_ATON('::10.0.5.9'))",
            "0",
        ),
        Function::new("uuid", 0, 0, time_uuid, |_| text(36)).volatile().doc(
            "A universally unique identifier.",
            "CHAR_LENGTH(UUID())",
            "36",
        ),
        Function::new("is_uuid", 1, 1, |a| condition(uuid(&to_bytes(&a[0])).is_some()), |_| ResultType::boolean())
            .of_text()
            .doc("Whether a text is a UUID.", "IS_UUID('6ccd780c-baba-1026-9564-5b8c656024db')", "1"),
        Function::new("uuid_to_bin", 1, 2, uuid_to_bin, |_| ResultType::string(16, Collation::Binary))
            .takes_null()
            .numbers_at(&[1])
            .of_text()
            .doc(
                "The bytes of a UUID, its first and third group exchanged if the second argument is true.",
                "HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1))",
                "1026BABA6CCD780C95645B8C656024DB",
            ),
        Function::new("bin_to_uuid", 1, 2, bin_to_uuid, |_| text(36)).takes_null().doc(
            "The UUID of 16 bytes, its first and third group exchanged back if the second argument is true.",
            "BIN_TO_UUID(UNHEX('1026BABA6CCD780C95645B8C656024DB'), 1)",
            "6ccd780c-baba-1026-9564-5b8c656024db",
        ),
    ];

fn text(chars: u32) -> ResultType {
    ResultType::string(chars, Collation::DEFAULT)
}

fn truth(_: &[ResultType]) -> ResultType {
    ResultType::boolean().nullable(false)
}

fn condition(truth: bool) -> Result<Value, SqlError> {
    Ok(Value::bool(truth))
}

/// Numbers of up to 255 between points. The last fills what the others leave, of up to four.
fn inet_aton(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_text(&args[0]);
    let parts: Option<Vec<u64>> = text
        .split('.')
        .map(|part| {
            let digits = part.trim_start_matches('0');
            let number = if digits.is_empty() { "0" } else { digits };
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u8>().ok().map(u64::from))?
        })
        .collect();
    let Some(parts) = parts.filter(|_| !text.is_empty() && !text.ends_with('.')) else { return Ok(Value::Null) };
    let (last, before) = parts.split_last().unwrap_or((&0, &[]));
    let missing = if matches!(before.len(), 1 | 2) { 3 - before.len() } else { 0 };
    let head = before.iter().fold(0u64, |sum, part| sum << 8 | part) << (8 * missing);
    Ok(Value::UInt(head << 8 | last))
}

fn inet_ntoa(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let number = u32::try_from(to_integer(&args[0], args.cx)?);
    Ok(number.map_or(Value::Null, |number| Value::text(Ipv4Addr::from(number).to_string())))
}

/// Four numbers of one to three digits.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        *octet = part.parse().ok().filter(|_| digits && part.len() <= 3)?;
    }
    parts.next().is_none().then_some(octets.into())
}

fn ipv6(text: &str) -> Option<Ipv6Addr> {
    /// The longest address of hexadecimal groups.
    const LONGEST: usize = 39;
    if text.len() > LONGEST {
        return None;
    }
    let Some((groups, last)) = text.rsplit_once(':').filter(|(_, last)| last.contains('.')) else {
        return text.parse().ok();
    };
    let [a, b, c, d] = ipv4(last)?.octets();
    format!("{groups}:{a:02x}{b:02x}:{c:02x}{d:02x}").parse().ok()
}

fn inet6_aton(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let text = to_text(&args[0]);
    let bytes = ipv4(&text).map(|ip| ip.octets().to_vec());
    let bytes = bytes.or_else(|| ipv6(&text).map(|ip| ip.octets().to_vec()));
    Ok(bytes.map_or(Value::Null, Value::bytes))
}

fn bytes_of_ipv6(value: &Value) -> Option<Ipv6Addr> {
    let bytes = value.as_bytes().filter(|_| value.is_binary_string())?;
    <[u8; 16]>::try_from(bytes).ok().map(Ipv6Addr::from)
}

/// `::a.b.c.d`, but for `::` and `::1`.
fn is_compatible(ip: Ipv6Addr) -> bool {
    ip.segments()[..6] == [0; 6] && u128::from(ip) > 1
}

fn inet6_ntoa(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let bytes = args[0].as_bytes().filter(|_| args[0].is_binary_string()).unwrap_or_default();
    let ipv4 = <[u8; 4]>::try_from(bytes).map(|octets| Ipv4Addr::from(octets).to_string());
    let text = ipv4.ok().or_else(|| bytes_of_ipv6(&args[0]).map(shown));
    Ok(text.map_or(Value::Null, Value::text))
}

/// With `::` for the longest run of zeros, also where that is one group.
fn shown(ip: Ipv6Addr) -> String {
    let groups = ip.segments();
    let run_at = |at: usize| groups[at..].iter().take_while(|group| **group == 0).count();
    // Of equally long runs the first.
    let (start, len) = (0..8).map(|at| (at, run_at(at))).rev().max_by_key(|(_, len)| *len).unwrap_or((0, 0));
    let hex = |groups: &[u16]| groups.iter().map(|group| format!("{group:x}")).collect::<Vec<_>>().join(":");
    let [.., a, b, c, d] = ip.octets();
    match (start, len) {
        (0, 6) => format!("::{a}.{b}.{c}.{d}"),
        (0, 5) if groups[5] == 0xffff => format!("::ffff:{a}.{b}.{c}.{d}"),
        (_, 0) => hex(&groups),
        _ => format!("{}::{}", hex(&groups[..start]), hex(&groups[start + len..])),
    }
}

/// A UUID of version 1, as MySQL's are, so that UUID_TO_BIN(UUID(), 1) rises with time. Node and clock sequence are chosen
/// at random by each process, as MySQL does where it knows no network address.
fn time_uuid(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    /// From the start of the Gregorian calendar to 1970, in units of 100 ns.
    const GREGORIAN_TO_UNIX: u64 = 0x01B2_1DD2_1381_4000;
    static PROCESS: OnceLock<[u8; 8]> = OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let [high, low, node @ ..] = *PROCESS.get_or_init(|| {
        let mut bytes = [0; 8];
        args.cx.statement.random(&mut bytes);
        // The node is no network card's.
        bytes[2] |= 1;
        bytes
    });
    let now = GREGORIAN_TO_UNIX + u64::try_from(args.cx.statement.clock_us()).unwrap_or(0) * 10;
    // No two are of the same moment.
    let next = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(now);
    let uuid = Builder::from_gregorian_timestamp(now.max(last + 1), u16::from_be_bytes([high, low]), &node).into_uuid();
    Ok(Value::text(uuid.to_string()))
}

/// 32 digits; or in groups, also in braces.
fn uuid(text: &[u8]) -> Option<Uuid> {
    let written = matches!(text.len(), 32 | 36 | 38);
    Uuid::try_parse_ascii(text).ok().filter(|_| written)
}

/// Error 1411.
fn no_uuid(args: &Arguments<'_, '_>) -> SqlError {
    SqlError::new(ER_WRONG_VALUE_FOR_TYPE, &[&"string", &args[0], &args.call.name()])
}

fn swaps(args: &Arguments<'_, '_>) -> Result<bool, SqlError> {
    Ok(args.get(1).map(|swap| to_bool(swap, args.cx)).transpose()?.flatten() == Some(true))
}

fn uuid_to_bin(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let mut bytes = uuid(&to_bytes(&args[0])).ok_or_else(|| no_uuid(args))?.into_bytes();
    if swaps(args)? {
        bytes[..8].rotate_left(6);
        bytes[2..8].rotate_left(4);
    }
    Ok(Value::bytes(bytes))
}

fn bin_to_uuid(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let mut bytes = <[u8; 16]>::try_from(&*to_bytes(&args[0])).map_err(|_| no_uuid(args))?;
    if swaps(args)? {
        bytes[2..8].rotate_right(4);
        bytes[..8].rotate_right(6);
    }
    Ok(Value::text(Uuid::from_bytes(bytes).to_string()))
}
