//! Every column type of the server, with values at its edges.

use cohort_types::decimal::Decimal;
use cohort_types::temporal::{Date, DateTime, SECOND_US, Timestamp};

use super::super::{ColumnMeta, Value};
use super::column;

/// A value as bytes of a row image, as our reader gives it, and as `mariadb-binlog -vv` prints it.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) image: Vec<u8>,
    pub(super) value: Value,
    pub(super) printed: String,
}

/// A column with its values.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) column: ColumnMeta,
    pub(super) cells: Vec<Cell>,
}

fn cell(image: impl Into<Vec<u8>>, value: Value, printed: impl Into<String>) -> Cell {
    Cell { image: image.into(), value, printed: printed.into() }
}

/// One column of every kind.
pub(super) fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (name, code, bytes) in [("tiny", 1, 1), ("small", 2, 2), ("medium", 9, 3), ("int", 3, 4), ("big", 8, 8)] {
        samples.push(signed(name, code, bytes));
        samples.push(unsigned(name, code, bytes));
    }
    samples.extend([decimal(20, 6), decimal(10, 0), decimal(65, 30), decimal(5, 5), decimal(18, 9)]);
    samples.push(Sample {
        column: column("float", 4, &[4]),
        cells: [0.0f32, -1.5, 3.25].map(|v| cell(v.to_le_bytes(), Value::Float(v), format!("{v}"))).to_vec(),
    });
    samples.push(Sample {
        column: column("double", 5, &[8]),
        cells: [0.0f64, -2.5, 1e100].map(|v| cell(v.to_le_bytes(), Value::Double(v), "")).to_vec(),
    });
    samples.push(strings("char30", column("char30", 254, &[0xfe, 120]), 1, &["", "abc", "grüße"]));
    let long = "x".repeat(300);
    let high_bits = 0xfe ^ ((1020u16 & 0x300) >> 4) as u8;
    samples.push(strings("char255", column("char255", 254, &[high_bits, (1020 & 0xff) as u8]), 2, &["", "abc", &long]));
    samples.push(strings("varchar_1", column("v", 15, &200u16.to_le_bytes()), 1, &["", "it", "é"]));
    samples.push(strings("varchar_2", column("v", 15, &4000u16.to_le_bytes()), 2, &["", "it", &long]));
    for (len_bytes, name) in [(1, "tinytext"), (2, "text"), (3, "mediumtext"), (4, "longtext")] {
        samples.push(strings(name, column(name, 252, &[len_bytes]), len_bytes.into(), &["", "t", "ü"]));
        let blob = ColumnMeta { charset: 63, ..column("blob", 252, &[len_bytes]) };
        samples.push(strings("blob", blob, len_bytes.into(), &["", "\u{1}\u{2}", "b"]));
    }
    let binary = ColumnMeta { charset: 63, ..column("binary", 254, &[0xfe, 16]) };
    samples.push(strings("binary", binary, 1, &["", "\u{0}\u{1}", "0123456789abcdef"]));
    let varbinary = ColumnMeta { charset: 63, ..column("varbinary", 15, &300u16.to_le_bytes()) };
    samples.push(strings("varbinary", varbinary, 2, &["", "\u{0}", "zz"]));
    samples.push(Sample {
        column: column("date", 10, &[]),
        cells: [(2024u16, 2u8, 29u8), (9999, 12, 31), (1000, 1, 1)]
            .map(|(y, m, d)| {
                let packed = u32::from(y) << 9 | u32::from(m) << 5 | u32::from(d);
                let image = &packed.to_le_bytes()[..3];
                cell(image, Value::Date(Date { year: y, month: m, day: d }), format!("'{y:04}:{m:02}:{d:02}'"))
            })
            .to_vec(),
    });
    for (bits, bytes) in [(1u8, 1), (8, 1), (10, 2), (64, 8)] {
        let greatest = u64::MAX >> (64 - bits);
        let cells = [0, 1, greatest].map(|v| {
            let digits = format!("b'{v:0width$b}'", width = usize::from(bits));
            cell(&v.to_be_bytes()[8 - bytes..], Value::UInt(v), digits)
        });
        samples.push(Sample { column: column("bit", 16, &[bits % 8, bits / 8]), cells: cells.to_vec() });
    }
    for (name, kind, bytes) in
        [("enum", 247u8, 1), ("enum_2", 247, 2), ("set", 248, 1), ("set_3", 248, 3), ("set_8", 248, 8)]
    {
        let greatest = u64::MAX >> (64 - 8 * bytes);
        let cells = [0, 1, greatest].map(|v| {
            let image = &v.to_le_bytes()[..bytes];
            // Of a SET the bytes as they stand.
            let digits: String = image.iter().map(|byte| format!("{byte:08b}")).collect();
            cell(image, Value::UInt(v), if kind == 247 { v.to_string() } else { format!("b'{digits}'") })
        });
        let members = ["a", "grüße"].map(|text| text.as_bytes().to_vec()).to_vec();
        let column = ColumnMeta { members, ..column(name, 254, &[kind, bytes as u8]) };
        samples.push(Sample { column, cells: cells.to_vec() });
    }
    (0..=6).for_each(|digits| samples.extend([datetime(digits), timestamp(digits)]));
    samples
}

fn signed(name: &str, code: u8, bytes: usize) -> Sample {
    let max = i64::MAX >> (64 - 8 * bytes);
    let cells = [0, max, -max - 1, -1].map(|v: i64| {
        let unsigned = v as u64 & (u64::MAX >> (64 - 8 * bytes));
        let printed = if v < 0 { format!("{v} ({unsigned})") } else { v.to_string() };
        cell(&v.to_le_bytes()[..bytes], Value::Int(v), printed)
    });
    Sample { column: column(name, code, &[]), cells: cells.to_vec() }
}

fn unsigned(name: &str, code: u8, bytes: usize) -> Sample {
    let max = u64::MAX >> (64 - 8 * bytes);
    let column = ColumnMeta { unsigned: true, ..column(&format!("u{name}"), code, &[]) };
    let cells = [0, max, max / 2, 1].map(|v| {
        let signed = (v << (64 - 8 * bytes)) as i64 >> (64 - 8 * bytes);
        let printed = if signed < 0 { format!("{signed} ({v})") } else { v.to_string() };
        cell(&v.to_le_bytes()[..bytes], Value::UInt(v), printed)
    });
    Sample { column, cells: cells.to_vec() }
}

fn strings(name: &str, column: ColumnMeta, len_bytes: usize, texts: &[&str]) -> Sample {
    let cells = texts.iter().map(|text| {
        let mut image = text.len().to_le_bytes()[..len_bytes].to_vec();
        image.extend_from_slice(text.as_bytes());
        let printed: String = text
            .chars()
            .map(|c| if c.is_control() { format!("\\x{:02x}", u32::from(c)) } else { c.to_string() })
            .collect();
        cell(image, Value::bytes(text.as_bytes()), format!("'{printed}'"))
    });
    Sample { cells: cells.collect(), column: ColumnMeta { name: name.to_owned(), ..column } }
}

fn decimal(precision: usize, scale: usize) -> Sample {
    let nines = |count: usize| "9".repeat(count);
    let integer = precision - scale;
    let texts = [
        with_point("0", &"0".repeat(scale)),
        with_point(if integer == 0 { "0".to_owned() } else { nines(integer) }.as_str(), &nines(scale)),
        format!(
            "-{}",
            with_point(if integer == 0 { "0" } else { "1" }, &format!("{}5", "0".repeat(scale.max(1) - 1))[..scale])
        ),
    ];
    let cells = texts.map(|text| {
        cell(decimal_image(&text, precision, scale), Value::Decimal(Decimal::parse(&text).unwrap()), text.clone())
    });
    Sample { column: column("decimal", 246, &[precision as u8, scale as u8]), cells: cells.to_vec() }
}

fn with_point(integer: &str, fraction: &str) -> String {
    if fraction.is_empty() { integer.to_owned() } else { format!("{integer}.{fraction}") }
}

fn decimal_image(text: &str, precision: usize, scale: usize) -> Vec<u8> {
    let negative = text.starts_with('-');
    let (integer, fraction) =
        text.trim_start_matches('-').split_once('.').unwrap_or((text.trim_start_matches('-'), ""));
    let integer_digits = precision - scale;
    let integer = format!("{integer:0>width$}", width = integer_digits.max(integer.len()));
    let integer = &integer[integer.len() - integer_digits..];
    let mut image = Vec::new();
    let (head, groups) = integer.split_at(integer_digits % 9);
    push_group(&mut image, head);
    groups.as_bytes().chunks(9).for_each(|group| push_group(&mut image, std::str::from_utf8(group).unwrap()));
    fraction.as_bytes().chunks(9).for_each(|group| push_group(&mut image, std::str::from_utf8(group).unwrap()));
    if negative {
        image.iter_mut().for_each(|byte| *byte = !*byte);
    }
    image[0] ^= 0x80;
    image
}

fn push_group(image: &mut Vec<u8>, digits: &str) {
    if digits.is_empty() {
        return;
    }
    let bytes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4][digits.len()];
    let value: u32 = digits.parse().unwrap();
    image.extend_from_slice(&value.to_be_bytes()[4 - bytes..]);
}

fn fraction_image(image: &mut Vec<u8>, micros: u32, digits: u8) {
    let bytes = usize::from(digits.div_ceil(2));
    let scaled = micros / 100u32.pow(3 - bytes as u32);
    image.extend_from_slice(&scaled.to_be_bytes()[4 - bytes..]);
}

/// Cuts microseconds to so many digits.
fn cut(micros: u32, digits: u8) -> u32 {
    let unit = 10u32.pow(6 - u32::from(digits));
    micros / unit * unit
}

fn fraction_text(micros: u32, digits: u8) -> String {
    if digits == 0 { String::new() } else { format!(".{}", &format!("{micros:06}")[..usize::from(digits)]) }
}

fn datetime(digits: u8) -> Sample {
    let values = [
        ((2024u16, 2u8, 29u8), (23u8, 59u8, 58u8), 123_456),
        ((1000, 1, 1), (0, 0, 0), 0),
        ((9999, 12, 31), (23, 59, 59), 999_999),
    ];
    let cells = values.map(|(date, time, micros)| {
        let micros = cut(micros, digits);
        let days = (u64::from(date.0) * 13 + u64::from(date.1)) << 5 | u64::from(date.2);
        let seconds = u64::from(time.0) << 12 | u64::from(time.1) << 6 | u64::from(time.2);
        let packed = (days << 17 | seconds) + 0x80_0000_0000;
        let mut image = packed.to_be_bytes()[3..].to_vec();
        fraction_image(&mut image, micros, digits);
        let printed = format!(
            "'{:04}-{:02}-{:02} {:02}:{:02}:{:02}{}'",
            date.0,
            date.1,
            date.2,
            time.0,
            time.1,
            time.2,
            fraction_text(micros, digits)
        );
        let clock = (i64::from(time.0) * 3600 + i64::from(time.1) * 60 + i64::from(time.2)) * SECOND_US;
        let date = Date { year: date.0, month: date.1, day: date.2 };
        cell(image, Value::DateTime(DateTime::new(date, clock + i64::from(micros), digits)), printed)
    });
    Sample { column: column("datetime", 18, &[digits]), cells: cells.to_vec() }
}

fn timestamp(digits: u8) -> Sample {
    let cells = [(1_700_000_000u32, 654_321), (1, 0), (i32::MAX as u32, 999_999)].map(|(seconds, micros)| {
        let micros = cut(micros, digits);
        let mut image = seconds.to_be_bytes().to_vec();
        fraction_image(&mut image, micros, digits);
        cell(
            image,
            Value::Timestamp(Timestamp { micros: i64::from(seconds) * SECOND_US + i64::from(micros), fsp: digits }),
            format!("{seconds}{}", fraction_text(micros, digits)),
        )
    });
    Sample { column: column("timestamp", 17, &[digits]), cells: cells.to_vec() }
}

/// Rows over all samples: each column's values in turn, then one row of NULLs. `None` is NULL.
pub(super) fn rows(samples: &[Sample]) -> Vec<Vec<Option<Cell>>> {
    let count = samples.iter().map(|sample| sample.cells.len()).max().unwrap_or(0);
    let row = |i: usize| samples.iter().map(|s| Some(s.cells[i % s.cells.len()].clone())).collect();
    let mixed = samples.iter().enumerate().map(|(i, s)| (i % 3 != 1).then(|| s.cells[0].clone())).collect();
    let mut rows: Vec<Vec<Option<Cell>>> = (0..count).map(row).collect();
    rows.push(vec![None; samples.len()]);
    rows.push(mixed);
    rows
}

/// The image of a row.
pub(super) fn image(row: &[Option<Cell>]) -> Vec<u8> {
    let mut image = vec![0; row.len().div_ceil(8)];
    for (i, _) in row.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
        image[i / 8] |= 1 << (i % 8);
    }
    row.iter().flatten().for_each(|cell| image.extend_from_slice(&cell.image));
    image
}

/// The values of a row.
pub(super) fn values(row: &[Option<Cell>]) -> Vec<Value> {
    row.iter().map(|cell| cell.as_ref().map_or(Value::Null, |cell| cell.value.clone())).collect()
}
