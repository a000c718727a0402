//! What rows are sorted by, as bytes: they are compared where they stand, and most are told apart by two numbers before.
//!
//! Strings are sorted by the bytes of their collation, which are made once a row, or by the first of these where they are
//! cheap and the strings themselves where those are the same.
//!
//! Format: for each key a tag; then a value as temporary files have it, or the start of a string's key and the string with
//! its length, or all of a string's key with its length. Or one tag in the place of all keys, where no row that has other
//! keys starts as they do.

use std::cmp::Ordering;

use super::{read_bytes, write_bytes};
use crate::collation::{Collation, KEY_START};
use crate::expr::order_values;
use crate::value::Value;

const PLAIN: u8 = 0;
const BYTES: u8 = 1;
const TEXT: u8 = 2;
const TOLD_BY_START: u8 = 3;

/// How the values of a key are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyOrder {
    pub(crate) collation: Collation,
    pub(crate) descending: bool,
}

/// What tells most rows apart at once: the start of the first key, and the rest of that or the start of the second. Rows
/// whose keys are equal have the same; the one that comes first has none that is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyStart([u64; 2]);

impl KeyStart {
    /// Bytes that it is written as.
    pub(super) const BYTES: usize = 16;

    /// Of bytes that are compared as they are.
    pub(crate) fn of_bytes(bytes: &[u8]) -> KeyStart {
        let mut start = [0; KEY_START];
        let len = bytes.len().min(KEY_START);
        start[..len].copy_from_slice(&bytes[..len]);
        KeyStart::of_number(u128::from_be_bytes(start))
    }

    /// In the same order as numbers.
    pub(super) fn as_number(self) -> u128 {
        u128::from(self.0[0]) << 64 | u128::from(self.0[1])
    }

    /// Of what [`KeyStart::as_number`] gave.
    pub(super) fn of_number(number: u128) -> KeyStart {
        KeyStart([(number >> 64) as u64, number as u64])
    }

    /// What is compared first.
    pub(super) fn first(self) -> u64 {
        self.0[0]
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|part| out.extend_from_slice(&part.to_le_bytes()));
    }

    /// Takes what [`KeyStart::write`] appended.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<KeyStart> {
        let (first, rest) = bytes.split_first_chunk()?;
        let (second, rest) = rest.split_first_chunk()?;
        *bytes = rest;
        Some(KeyStart([first, second].map(|part| u64::from_le_bytes(*part))))
    }
}

/// Writes the keys of one row.
pub(crate) struct KeyWriter<'o> {
    out: &'o mut Vec<u8>,
    start: [u64; 2],
    /// How much of that is known.
    known: usize,
    /// It is the same in no row that has other keys.
    tells: bool,
}

impl<'o> KeyWriter<'o> {
    /// Keys are appended to `out`.
    pub(crate) fn new(out: &'o mut Vec<u8>) -> KeyWriter<'o> {
        KeyWriter { out, start: [0; 2], known: 0, tells: true }
    }

    /// Appends the next key.
    pub(crate) fn add(&mut self, value: &Value, order: KeyOrder) {
        let start = match value {
            Value::Text(text) => self.add_text(text, order.collation),
            _ => {
                self.out.push(PLAIN);
                value.write_spilled(self.out);
                start_of(value, order.collation)
            }
        };
        self.tells &= self.known < self.start.len() && start.1.is_none();
        let turn = if order.descending { u64::MAX } else { 0 };
        let parts = [Some(start.0), start.1].into_iter().flatten();
        for (part, to) in parts.zip(&mut self.start[self.known..]) {
            *to = part ^ turn;
            self.known += 1;
        }
    }

    fn add_text(&mut self, text: &str, collation: Collation) -> (u64, Option<u64>) {
        if let Some(start) = collation.key_start(text.as_bytes()) {
            self.out.push(TEXT);
            self.out.extend_from_slice(&start);
            write_bytes(text.as_bytes(), self.out);
            return start_of_bytes(&start);
        }
        self.out.extend_from_slice(&[BYTES, 0, 0, 0, 0]);
        let from = self.out.len();
        collation.write_key(text.as_bytes(), self.out);
        let len = (self.out.len() - from) as u32;
        self.out[from - 4..from].copy_from_slice(&len.to_le_bytes());
        start_of_bytes(&self.out[from..])
    }

    /// How the keys start.
    pub(crate) fn start(&self) -> KeyStart {
        KeyStart(self.start)
    }

    /// The same; keys that are all that was written are taken out again where their start tells what they are. They are then
    /// compared behind their starts alone.
    pub(crate) fn into_start(self) -> KeyStart {
        if self.tells && self.known > 0 {
            self.out.clear();
            self.out.push(TOLD_BY_START);
        }
        KeyStart(self.start)
    }
}

fn start_of_bytes(bytes: &[u8]) -> (u64, Option<u64>) {
    let KeyStart([first, second]) = KeyStart::of_bytes(bytes);
    // What comes after the start of a key that goes on is not known by the next key.
    (first, Some(second))
}

/// The start of a key, and what comes next; `None` if that is the next key: all that have this start are equal.
fn start_of(value: &Value, collation: Collation) -> (u64, Option<u64>) {
    // Even starts are of one number alone.
    let of_number = |number: i128| {
        const LEAST: i128 = -(1 << 61);
        const MOST: i128 = 1 << 61;
        match number {
            ..LEAST => (1, Some(0)),
            LEAST..MOST => (2 * (number - LEAST + 1) as u64, None),
            _ => (u64::MAX, Some(0)),
        }
    };
    let of_double = |double: f64| {
        // 0 and -0 are equal.
        let bits = if double == 0.0 { 0 } else { double.to_bits() };
        (if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }, None)
    };
    match value {
        Value::Int(int) => of_number((*int).into()),
        Value::UInt(int) => of_number((*int).into()),
        Value::Member(member) => of_number(member.number.into()),
        Value::Date(date) => of_number(date.at_midnight().packed().into()),
        Value::DateTime(value) => of_number(value.packed().into()),
        Value::Timestamp(value) => of_number(value.micros.into()),
        Value::Time(value) => of_number(value.micros.into()),
        Value::Double(double) => of_double(*double),
        Value::Float(float) => of_double((*float).into()),
        Value::Decimal(decimal) => {
            let whole = decimal.as_shown().floor().to_i128().0;
            (of_number(whole).0, Some(0))
        }
        Value::Bytes(bytes) if collation == Collation::Binary => start_of_bytes(bytes),
        // NULL is before all, and may share the start of an empty string.
        Value::Null | Value::Bytes(_) | Value::Text(_) | Value::Hex(_) | Value::Json(_) => (0, Some(0)),
    }
}

/// A key as it stands in a row.
enum Key<'b> {
    Plain(Value),
    /// A string, with the start of its key.
    Text(&'b [u8; KEY_START], &'b [u8]),
    /// The key of a string.
    Bytes(&'b [u8]),
}

impl<'b> Key<'b> {
    fn take(bytes: &mut &'b [u8]) -> Option<Key<'b>> {
        Some(match *bytes.split_off_first()? {
            PLAIN => Key::Plain(Value::read_spilled(bytes)?),
            BYTES => Key::Bytes(read_bytes(bytes)?),
            TEXT => {
                let (start, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Key::Text(start, read_bytes(bytes)?)
            }
            _ => return None,
        })
    }

    fn compare(&self, other: &Key<'_>, collation: Collation) -> Ordering {
        let key_of = |text: &[u8]| {
            let mut key = Vec::new();
            collation.write_key(text, &mut key);
            key
        };
        match (self, other) {
            (Key::Plain(a), Key::Plain(b)) => order_values(a, b, collation),
            (Key::Text(start_a, a), Key::Text(start_b, b)) => {
                start_a.cmp(start_b).then_with(|| collation.compare(a, b))
            }
            (Key::Bytes(a), Key::Bytes(b)) => a.cmp(b),
            (Key::Text(_, a), Key::Bytes(b)) => key_of(a).as_slice().cmp(b),
            (Key::Bytes(a), Key::Text(_, b)) => (*a).cmp(&key_of(b)),
            // NULL comes before any string.
            (Key::Plain(_), _) => Ordering::Less,
            (_, Key::Plain(_)) => Ordering::Greater,
        }
    }
}

/// Compares two rows by their keys; where these are equal, what comes after them is left. Keys that were taken out
/// ([`KeyWriter::into_start`]) are equal to all that start as they do: starts are compared before. What cannot be read is
/// equal to anything: it is found when the row is read ([`skip_keys`]).
pub(crate) fn compare_keys(orders: impl Iterator<Item = KeyOrder>, a: &mut &[u8], b: &mut &[u8]) -> Ordering {
    if [&*a, &*b].iter().any(|keys| is_told_by_start(keys)) {
        return Ordering::Equal;
    }
    for KeyOrder { collation, descending } in orders {
        let (Some(of_a), Some(of_b)) = (Key::take(a), Key::take(b)) else { return Ordering::Equal };
        let order = of_a.compare(&of_b, collation);
        if order.is_ne() {
            return if descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// Takes so many keys from the start of `bytes`; `None` if they do not stand there.
pub(crate) fn skip_keys(keys: usize, bytes: &mut &[u8]) -> Option<()> {
    // Without keys there is no tag in their place.
    if keys > 0 && is_told_by_start(bytes) {
        return bytes.split_off_first().map(drop);
    }
    (0..keys).try_for_each(|_| Key::take(bytes).map(drop))
}

fn is_told_by_start(keys: &[u8]) -> bool {
    keys.first() == Some(&TOLD_BY_START)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::decimal::Decimal;
    use crate::types::temporal::{Date, DateTime, Time, Timestamp};

    /// Values of one kind each, as those of one expression are.
    fn kinds() -> Vec<(Collation, Vec<Value>)> {
        let general = Collation::Utf8mb4GeneralCi;
        let dates = [(0, 0, 0), (1000, 1, 1), (2020, 2, 29), (2519, 12, 31), (2600, 1, 1), (9999, 12, 31)]
            .map(|(year, month, day)| Date { year, month, day });
        let texts =
            ["", " ", "a", "A", "a ", "ab", "B", "é", "zebra", "\u{0}", "a sentence with blanks", "a sentence without"];
        let mut texts: Vec<Value> = texts.map(Value::text).into();
        texts.extend(
            ["ThisIsALongWordOfLetters", "thisisalongwordofletterS", "ThisIsALongWordOfLettres"].map(Value::text),
        );
        let integers = [i64::MIN, -(1 << 61) - 1, -(1 << 61), -1, 0, 1, 7, 1 << 61, (1 << 61) + 1, i64::MAX];
        let doubles = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 0.5, 1e300];
        let decimals = ["-1000.5", "-0.5", "0", "0.00", "0.5", "0.50", "0.51", "99999999999999999999999999.9"];
        let bytes = [&b""[..], b"\0", b"a", b"a\0", b"\xff", b"12345678", b"123456789", b"1234567890123456789"];
        vec![
            (general, integers.map(Value::Int).into_iter().chain([Value::UInt(7), Value::UInt(u64::MAX)]).collect()),
            (general, doubles.map(Value::Double).into()),
            (general, decimals.map(|text| Value::Decimal(Decimal::parse(text).expect("a decimal"))).into()),
            (
                general,
                dates
                    .map(Value::Date)
                    .into_iter()
                    .chain(dates.map(|date| Value::DateTime(DateTime::new(date, 5, 6))))
                    .collect(),
            ),
            (general, [-5, 0, 5].map(|micros| Value::Time(Time { micros, fsp: 6 })).into()),
            (general, [0, 5].map(|micros| Value::Timestamp(Timestamp { micros, fsp: 6 })).into()),
            (general, texts.clone()),
            (Collation::DEFAULT, texts.clone()),
            (Collation::Utf8mb4Bin, texts),
            (Collation::Binary, bytes.map(Value::bytes).into()),
        ]
    }

    struct Row {
        values: [Value; 2],
        start: KeyStart,
        keys: Vec<u8>,
        /// The same without what the start tells.
        short: Vec<u8>,
    }

    impl Row {
        fn of(values: [&Value; 2], orders: [KeyOrder; 2]) -> Row {
            let (mut keys, mut short) = (Vec::new(), Vec::new());
            let mut writer = KeyWriter::new(&mut keys);
            values.iter().zip(orders).for_each(|(value, order)| writer.add(value, order));
            let start = writer.start();
            let mut writer = KeyWriter::new(&mut short);
            values.iter().zip(orders).for_each(|(value, order)| writer.add(value, order));
            assert_eq!(writer.into_start(), start);
            Row { values: values.map(Value::clone), start, keys, short }
        }
    }

    #[test]
    fn keys_and_their_starts_are_in_the_order_of_the_values() {
        let mut told = 0;
        for (first, firsts) in kinds() {
            for (second, seconds) in kinds() {
                for turns in [[false, false], [false, true], [true, false], [true, true]] {
                    let order = |collation, descending| KeyOrder { collation, descending };
                    let orders = [order(first, turns[0]), order(second, turns[1])];
                    let rows: Vec<Row> = firsts
                        .iter()
                        .chain([&Value::Null])
                        .flat_map(|a| seconds.iter().step_by(3).chain([&Value::Null]).map(move |b| [a, b]))
                        .map(|values| Row::of(values, orders))
                        .collect();
                    for a in &rows {
                        for b in &rows {
                            let pairs = a.values.iter().zip(&b.values).zip(orders);
                            let expected = pairs
                                .map(|((a, b), KeyOrder { collation, descending })| {
                                    let order = order_values(a, b, collation);
                                    if descending { order.reverse() } else { order }
                                })
                                .find(|order| order.is_ne())
                                .unwrap_or(Ordering::Equal);
                            let by_keys = compare_keys(orders.into_iter(), &mut &a.keys[..], &mut &b.keys[..]);
                            assert_eq!(by_keys, expected, "{:?} {:?}", a.values, b.values);
                            assert_eq!(a.start.cmp(&b.start).then(by_keys), expected, "{:?} {:?}", a.values, b.values);
                            let by_short = || compare_keys(orders.into_iter(), &mut &a.short[..], &mut &b.short[..]);
                            let by_starts = a.start.cmp(&b.start).then_with(by_short);
                            assert_eq!(by_starts, expected, "{:?} {:?}", a.values, b.values);
                            told += usize::from(a.short.len() == 1);
                        }
                    }
                }
            }
        }
        assert!(told > 1000, "{told} pairs of rows of which a start tells one");
    }

    #[test]
    fn keys_are_skipped_where_they_are_whole() {
        let order = KeyOrder { collation: Collation::DEFAULT, descending: false };
        for value in kinds().into_iter().flat_map(|(_, values)| values) {
            let Row { mut keys, .. } = Row::of([&value, &Value::Null], [order; 2]);
            for end in 0..keys.len() {
                assert_eq!(skip_keys(2, &mut &keys[..end]), None);
            }
            keys.push(7);
            let mut rest = &keys[..];
            assert_eq!(skip_keys(2, &mut rest), Some(()));
            assert_eq!(rest, [7]);
        }
        for (keys, rest) in [(0, &[TOLD_BY_START, 7][..]), (1, &[7])] {
            let mut bytes = &[TOLD_BY_START, 7][..];
            assert_eq!(skip_keys(keys, &mut bytes), Some(()));
            assert_eq!(bytes, rest);
        }
        assert_eq!(KeyWriter::new(&mut Vec::new()).into_start(), KeyStart::default());
    }
}
