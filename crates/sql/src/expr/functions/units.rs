//! Sizes and times as people read them.

use super::super::convert::to_f64;
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("format_bytes", 1, 1, bytes, |_| ResultType::string(11, Collation::DEFAULT)).doc(
        "A number of bytes in the unit that suits it.",
        "FORMAT_BYTES(18446644073709551615)",
        "16.00 EiB",
    ),
    Function::new("format_pico_time", 1, 1, time, |_| ResultType::string(11, Collation::DEFAULT)).doc(
        "A number of picoseconds in the unit that suits it.",
        "FORMAT_PICO_TIME(188732396662000)",
        "3.15 min",
    ),
];

const SIZES: &[(f64, &str)] = &[
    (1.0, "bytes"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
    (1_125_899_906_842_624.0, "PiB"),
    (1_152_921_504_606_846_976.0, "EiB"),
];

const TIMES: &[(f64, &str)] =
    &[(1.0, "ps"), (1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s"), (6e13, "min"), (3.6e15, "h"), (8.64e16, "d")];

fn bytes(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::text(formatted(to_f64(&args[0], args.cx)?, SIZES, 4)))
}

fn time(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::text(formatted(to_f64(&args[0], args.cx)?, TIMES, 3)))
}

/// In the greatest unit that it reaches; whole numbers of the least one have this width.
fn formatted(number: f64, units: &[(f64, &str)], width: usize) -> String {
    let unit = units.iter().rev().find(|(size, _)| number.abs() >= *size).or(units.first());
    let (size, name) = unit.copied().unwrap_or((1.0, ""));
    let count = number / size;
    if size == 1.0 {
        format!("{:width$} {name}", count.trunc() as i64)
    } else if count.abs() >= 100_000.0 {
        let written = format!("{count:.2e}");
        // An exponent has a sign and two digits.
        let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        format!("{digits}e+{exponent:0>2} {name}")
    } else {
        format!("{count:.2} {name}")
    }
}
