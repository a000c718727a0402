//! Exact decimal numbers of up to 65 digits, 30 of them after the point.
//!
//! A number is an integer coefficient and how many of its digits are after the point. Coefficients that
//! fit 128 bits (38 digits, nearly all there are) are plain integer arithmetic; wider ones fall back to a
//! big integer.
//!
//! A number need not show all the digits it has: a quotient is computed to whole groups of nine, as MySQL
//! does, and shows four more than its dividend. The text form is rounded to the digits shown; arithmetic,
//! comparison and columns take all of them, so that `1/3*3` is 1.0000.
//!
//! Format: [`Decimal::write_binary`] is the NEWDECIMAL form of rows in the binlog. It also is
//! order-preserving among numbers of one precision and scale, so that keys use it too.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use num_bigint::{BigInt, Sign};

use crate::double_digits::DoubleDigits;

/// Most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point.
pub const MAX_SCALE: u8 = 30;

const DIGITS_PER_GROUP: usize = 9;
/// Groups of digits, before and after the point, that a number under way has at most.
const MAX_GROUPS: usize = 9;
/// A product with more digits after the point than this is cut to the group of the last one.
const MAX_PRODUCT_PLACES: u8 = 31;
/// Bytes that 0 to 9 digits take in the binary form.
const GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Powers of ten; what a group of so many digits stays below.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};
/// What a coefficient of 128 bits that can have any digits stays below.
const SMALL: u128 = 10u128.pow(38);
/// Most digits whose coefficient fits 64 bits in any case.
const SHORT_PRECISION: u8 = 18;

/// An exact decimal number. Equality is of the number: 1.0 equals 1.00.
#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    /// Coefficient as the halves of an `i128`, which keeps the alignment at 8 bytes.
    Small { high: i64, low: u64, places: u8, shown: u8 },
    /// Coefficients beyond `i128`.
    Big(Box<BigRepr>),
}

#[derive(Clone)]
struct BigRepr {
    coefficient: BigInt,
    places: u8,
    shown: u8,
}

/// The result has more than 65 digits before the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalOverflow;

/// How the digits that a smaller scale cuts off count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    /// Half away from zero.
    HalfUp,
    /// Not at all.
    Truncate,
}

impl Decimal {
    /// Zero, scale 0.
    pub const ZERO: Decimal = Decimal(Repr::Small { high: 0, low: 0, places: 0, shown: 0 });

    /// `coefficient / 10^scale`.
    pub fn new(coefficient: i128, scale: u8) -> Decimal {
        Decimal(Repr::Small { high: (coefficient >> 64) as i64, low: coefficient as u64, places: scale, shown: scale })
    }

    fn from_big(coefficient: BigInt, scale: u8) -> Decimal {
        match i128::try_from(&coefficient) {
            Ok(small) => Decimal::new(small, scale),
            Err(_) => Decimal(Repr::Big(Box::new(BigRepr { coefficient, places: scale, shown: scale }))),
        }
    }

    /// The bytes of its coefficient (signed, little-endian), how many digits it has after the point, and how many it shows.
    pub(crate) fn to_parts(&self) -> (Vec<u8>, u8, u8) {
        let coefficient = match self.small() {
            Some(small) => small.to_le_bytes().to_vec(),
            None => self.big().to_signed_bytes_le(),
        };
        (coefficient, self.places(), self.scale())
    }

    /// The number of these parts.
    pub(crate) fn from_parts(coefficient: &[u8], places: u8, shown: u8) -> Decimal {
        match coefficient.try_into() {
            Ok(small) => Decimal::new(i128::from_le_bytes(small), places),
            Err(_) => Self::from_big(BigInt::from_signed_bytes_le(coefficient), places),
        }
        .showing(shown)
    }

    fn small(&self) -> Option<i128> {
        match self.0 {
            Repr::Small { high, low, .. } => Some((i128::from(high) << 64) | i128::from(low)),
            Repr::Big(_) => None,
        }
    }

    fn big(&self) -> BigInt {
        match &self.0 {
            Repr::Small { .. } => BigInt::from(self.small().unwrap_or_default()),
            Repr::Big(big) => big.coefficient.clone(),
        }
    }

    /// Digits after the point that it shows.
    pub fn scale(&self) -> u8 {
        match &self.0 {
            Repr::Small { shown, .. } => *shown,
            Repr::Big(big) => big.shown,
        }
    }

    /// Digits after the point that it has.
    fn places(&self) -> u8 {
        match &self.0 {
            Repr::Small { places, .. } => *places,
            Repr::Big(big) => big.places,
        }
    }

    /// The same number, of which so many digits after the point are shown.
    pub fn showing(mut self, scale: u8) -> Decimal {
        match &mut self.0 {
            Repr::Small { shown, .. } => *shown = scale,
            Repr::Big(big) => big.shown = scale,
        }
        self
    }

    /// The same number, all of whose digits are shown.
    pub fn showing_all(self) -> Decimal {
        let places = self.places();
        self.showing(places)
    }

    /// Whether it has digits after the point that it does not show.
    pub fn hides_digits(&self) -> bool {
        self.places() > self.scale()
    }

    /// The number that is shown.
    pub fn as_shown(&self) -> Decimal {
        self.round_to(self.scale())
    }

    /// Digits before the point, without leading zeros (0 for numbers below 1).
    pub fn integer_digits(&self) -> usize {
        let digits = match self.small() {
            Some(0) => return 0,
            Some(small) => small.unsigned_abs().ilog10() as usize + 1,
            None => self.big().magnitude().to_str_radix(10).len(),
        };
        digits.saturating_sub(self.places() as usize)
    }

    /// All digits of a column that just holds this number.
    pub fn precision(&self) -> u8 {
        (self.integer_digits().max(1) + self.scale() as usize).min(MAX_PRECISION as usize) as u8
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { high, .. } => *high < 0,
            Repr::Big(big) => big.coefficient.sign() == Sign::Minus,
        }
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        self.small() == Some(0)
    }

    /// Reads `[+-]digits[.digits][e[+-]digits]` at the start of `text`; returns the number and how many
    /// bytes it took, or `None` if no number stands there. Digits after the 30th of the fraction are
    /// rounded; numbers too large become the largest there is.
    pub fn parse_prefix(text: &[u8]) -> Option<(Decimal, usize)> {
        let mut at = 0;
        let negative = match text.first() {
            Some(b'-') => {
                at = 1;
                true
            }
            Some(b'+') => {
                at = 1;
                false
            }
            _ => false,
        };
        let mut digits: Vec<u8> = Vec::new();
        let mut scale: i64 = 0;
        let mut seen = false;
        let mut point = false;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'0'..=b'9' => {
                    seen = true;
                    if !digits.is_empty() || byte != b'0' {
                        digits.push(byte);
                    }
                    scale += point as i64;
                }
                b'.' if !point => point = true,
                _ => break,
            }
            at += 1;
        }
        if !seen {
            return None;
        }
        if let Some((exponent, len)) = parse_exponent(&text[at..]) {
            scale -= exponent;
            at += len;
        }
        Some((Self::from_digits(negative, digits, scale), at))
    }

    /// The number of the whole of `text`, or `None` if it is not one.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (number, len) = Self::parse_prefix(text.as_bytes())?;
        (len == text.len()).then_some(number)
    }

    fn from_digits(negative: bool, mut digits: Vec<u8>, mut scale: i64) -> Decimal {
        const LIMIT: i64 = 400;
        if digits.is_empty() {
            return Decimal::new(0, scale.clamp(0, MAX_SCALE as i64) as u8);
        }
        if digits.len() as i64 - scale > LIMIT {
            return Self::largest(MAX_PRECISION, 0, negative);
        }
        if scale - digits.len() as i64 > LIMIT {
            return Decimal::new(0, MAX_SCALE);
        }
        if scale < 0 {
            digits.extend(std::iter::repeat_n(b'0', (-scale) as usize));
            scale = 0;
        }
        // Only the digits around the last one kept matter for rounding.
        let surplus = scale - (MAX_SCALE as i64 + 2);
        if surplus > 0 {
            digits.truncate((digits.len() as i64 - surplus).max(0) as usize);
            scale -= surplus;
            if digits.is_empty() {
                return Decimal::new(0, MAX_SCALE);
            }
        }
        let number = if digits.len() <= 38 {
            let mut coefficient: i128 = 0;
            for digit in &digits {
                coefficient = coefficient * 10 + i128::from(digit - b'0');
            }
            Decimal::new(if negative { -coefficient } else { coefficient }, scale as u8)
        } else {
            let magnitude = BigInt::parse_bytes(&digits, 10).unwrap_or_default();
            Self::from_big(if negative { -magnitude } else { magnitude }, scale as u8)
        };
        number
            .round_to(scale.min(MAX_SCALE as i64) as u8)
            .limited(scale.min(MAX_SCALE as i64) as u8)
            .unwrap_or_else(|DecimalOverflow| Self::largest(MAX_PRECISION, 0, negative))
    }

    /// The number with the shortest digits that give `double` back; `None` for infinities and NaN, the
    /// largest number for what is beyond.
    pub fn from_f64(double: f64) -> Option<Decimal> {
        let mut text = String::new();
        DoubleDigits::of(double)?.write_exponential(&mut text);
        Self::parse_prefix(text.as_bytes()).map(|(number, _)| number)
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        match self.small() {
            Some(small) if small.unsigned_abs() < 1 << 53 && self.places() <= 22 => {
                small as f64 / 10f64.powi(i32::from(self.places()))
            }
            _ => self.clone().showing_all().to_string().parse().unwrap_or_default(),
        }
    }

    /// The nearest integer, half away from zero; the nearest end of the range if it does not fit, with
    /// `false`.
    pub fn to_i128(&self) -> (i128, bool) {
        let rounded = self.round_to(0);
        match rounded.small() {
            Some(small) => (small, true),
            None => (if self.is_negative() { i128::MIN } else { i128::MAX }, false),
        }
    }

    /// The coefficient, without the scale; zero if it is beyond 128 bits.
    pub fn to_i128_unscaled(&self) -> i128 {
        self.small().unwrap_or_default()
    }

    /// The number without its fraction; see [`Decimal::to_i128`].
    pub fn truncate_to_i128(&self) -> (i128, bool) {
        self.truncate_to(0).to_i128()
    }

    /// The largest (or smallest) number of a type.
    pub fn largest(precision: u8, scale: u8, negative: bool) -> Decimal {
        if precision <= 38 {
            let coefficient = 10i128.pow(u32::from(precision)) - 1;
            return Decimal::new(if negative { -coefficient } else { coefficient }, scale);
        }
        let coefficient: BigInt = BigInt::from(10).pow(u32::from(precision)) - 1;
        Self::from_big(if negative { -coefficient } else { coefficient }, scale)
    }

    /// Rounds (half away from zero) or extends to `scale` digits after the point.
    pub fn round_to(&self, scale: u8) -> Decimal {
        self.rescale(scale, Rounding::HalfUp)
    }

    /// Cuts or extends to `scale` digits after the point.
    pub fn truncate_to(&self, scale: u8) -> Decimal {
        self.rescale(scale, Rounding::Truncate)
    }

    /// Rounds to a multiple of `10^digits`, scale 0.
    pub fn round_before_point(&self, digits: u32, truncate: bool) -> Decimal {
        if digits as usize > self.integer_digits() {
            return Decimal::ZERO;
        }
        let unit = BigInt::from(10).pow(digits);
        let scale = u32::from(self.places());
        let divided = divide_rounding(
            &self.big(),
            &(&unit * BigInt::from(10).pow(scale)),
            if truncate { Rounding::Truncate } else { Rounding::HalfUp },
        );
        Self::from_big(divided * unit, 0)
    }

    fn rescale(&self, scale: u8, rounding: Rounding) -> Decimal {
        let own = self.places();
        if scale == own {
            return self.clone().showing(scale);
        }
        if scale > own {
            let factor = u32::from(scale - own);
            if let Some(extended) = self.small().and_then(|small| shifted(small, factor)) {
                return Decimal::new(extended, scale);
            }
            return Self::from_big(self.big() * BigInt::from(10).pow(factor), scale);
        }
        let cut = u32::from(own - scale);
        if let (Some(small), Some(divisor)) = (self.small(), power_of_ten(cut)) {
            let mut quotient = small / divisor;
            if rounding == Rounding::HalfUp && (small % divisor).unsigned_abs() >= (divisor as u128).div_ceil(2) {
                quotient += small.signum();
            }
            return Decimal::new(quotient, scale);
        }
        Self::from_big(divide_rounding(&self.big(), &BigInt::from(10).pow(cut), rounding), scale)
    }

    /// The least integer not below.
    pub fn ceil(&self) -> Decimal {
        let cut = self.truncate_to(0);
        if *self > cut { cut.add(&Decimal::new(1, 0)).unwrap_or(cut) } else { cut }
    }

    /// The greatest integer not above.
    pub fn floor(&self) -> Decimal {
        let cut = self.truncate_to(0);
        if *self < cut { cut.add(&Decimal::new(-1, 0)).unwrap_or(cut) } else { cut }
    }

    /// `-self`
    pub fn negate(&self) -> Decimal {
        match self.small().and_then(i128::checked_neg) {
            Some(small) => Decimal::new(small, self.places()),
            None => Self::from_big(-self.big(), self.places()),
        }
        .showing(self.scale())
    }

    /// The absolute value.
    pub fn abs(&self) -> Decimal {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// The sum, with the larger of the scales.
    pub fn add(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        let places = self.places().max(other.places());
        let extended = |number: &Decimal| shifted(number.small()?, u32::from(places - number.places()));
        let sum = extended(self).zip(extended(other)).and_then(|(a, b)| a.checked_add(b));
        let sum = match sum {
            Some(sum) => Decimal::new(sum, places),
            None => Self::from_big(self.round_to(places).big() + other.round_to(places).big(), places),
        };
        // Numbers that cancel each other leave a zero without digits.
        let sum = if sum.is_zero() && !self.is_zero() { Decimal::ZERO } else { sum };
        sum.limited(self.scale().max(other.scale()))
    }

    /// The difference, with the larger of the scales.
    pub fn subtract(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        self.add(&other.negate())
    }

    /// The product; its scale is the sum of the scales, at most 30.
    pub fn multiply(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        let places = self.places() + other.places();
        let product = match (self.small(), other.small()) {
            (Some(a), Some(b)) => product_of(a, b).map(|product| Decimal::new(product, places)),
            _ => None,
        };
        let mut product = product.unwrap_or_else(|| Self::from_big(self.big() * other.big(), places));
        if product.is_zero() && self.is_negative() != other.is_negative() {
            product = Decimal::ZERO;
        }
        if places > MAX_PRODUCT_PLACES {
            product = product.truncate_to(places.min(whole_groups(MAX_PRODUCT_PLACES)));
        }
        product.limited(self.scale() + other.scale())
    }

    /// The quotient, which shows `increment` more digits after the point than `self`; `None` for
    /// division by zero. It has all digits of the groups that this takes, and the digits of both
    /// operands.
    pub fn divide(&self, other: &Decimal, increment: u8) -> Result<Option<Decimal>, DecimalOverflow> {
        let (a, b) = (self.places(), other.places());
        let given = (whole_groups(a) - a) + (whole_groups(b) - b);
        let places = whole_groups(whole_groups(a) + whole_groups(b) + increment.saturating_sub(given));
        let places = places.min((MAX_GROUPS * DIGITS_PER_GROUP) as u8);
        let Some(quotient) = self.divide_truncating(other, places)? else { return Ok(None) };
        if quotient.is_zero() {
            return Decimal::ZERO.limited(self.scale() + increment).map(Some);
        }
        quotient.limited(self.scale() + increment).map(Some)
    }

    /// The quotient cut to `scale` digits after the point; `None` for division by zero.
    pub fn divide_truncating(&self, other: &Decimal, scale: u8) -> Result<Option<Decimal>, DecimalOverflow> {
        if other.is_zero() {
            return Ok(None);
        }
        // self / other = (a * 10^(scale + so - sa)) / b, as an integer of that scale.
        let shift = i32::from(scale) + i32::from(other.places()) - i32::from(self.places());
        if let (Some(a), Some(b)) = (self.small(), other.small())
            && shift >= 0
            && let Some(numerator) = power_of_ten(shift as u32).and_then(|power| a.checked_mul(power))
        {
            return Decimal::new(numerator / b, scale).limited(scale).map(Some);
        }
        let (mut numerator, mut denominator) = (self.big(), other.big());
        if shift >= 0 {
            numerator *= BigInt::from(10).pow(shift as u32);
        } else {
            denominator *= BigInt::from(10).pow(-shift as u32);
        }
        Self::from_big(numerator / denominator, scale).limited(scale).map(Some)
    }

    /// The rest of the truncating division, with the larger of the scales and the sign of `self`; `None`
    /// for division by zero.
    pub fn remainder(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let places = self.places().max(other.places());
        let (a, b) = (self.round_to(places), other.round_to(places));
        let rest = match (a.small(), b.small()) {
            (Some(a), Some(b)) => Decimal::new(a.wrapping_rem(b), places),
            _ => Self::from_big(a.big() % b.big(), places),
        };
        let rest = if rest.is_zero() { Decimal::ZERO } else { rest };
        Some(rest.showing(self.scale().max(other.scale())))
    }

    /// The number with as many digits after the point as there is room for, `scale` of them shown if that
    /// many can be.
    fn limited(self, scale: u8) -> Result<Decimal, DecimalOverflow> {
        if let Some(small) = self.small()
            && scale <= MAX_SCALE
            && self.places() <= MAX_SCALE
            && small.unsigned_abs() < SMALL
        {
            return Ok(self.showing(scale));
        }
        let integer_digits = self.integer_digits();
        if integer_digits > MAX_PRECISION as usize {
            return Err(DecimalOverflow);
        }
        let room = (MAX_GROUPS - integer_digits.div_ceil(DIGITS_PER_GROUP)) * DIGITS_PER_GROUP;
        let shown = usize::from(scale.min(MAX_SCALE)).min(MAX_PRECISION as usize - integer_digits) as u8;
        let number = if usize::from(self.places()) > room { self.truncate_to(room as u8) } else { self };
        Ok(number.showing(shown))
    }

    /// Whether the number fits a type of `precision` digits, `scale` of them after the point, once
    /// it is rounded to that scale.
    pub fn fits(&self, precision: u8, scale: u8) -> bool {
        self.round_to(scale).integer_digits() <= (precision - scale) as usize
    }

    /// Bytes of the binary form of a type.
    pub fn binary_len(precision: u8, scale: u8) -> usize {
        let (integer, fraction) = ((precision - scale) as usize, scale as usize);
        let len = |digits: usize| digits / DIGITS_PER_GROUP * 4 + GROUP_BYTES[digits % DIGITS_PER_GROUP];
        len(integer) + len(fraction)
    }

    /// Appends the binary form under a type: groups of nine digits as big-endian integers, the sign
    /// bit flipped, all bits flipped for negative numbers. The number must [fit](Self::fits).
    pub fn write_binary(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let number = self.round_to(scale);
        let mut digits = [b'0'; MAX_PRECISION as usize];
        let digits = &mut digits[..precision as usize];
        match number.small() {
            Some(small) => {
                let mut rest = small.unsigned_abs();
                let mut at = digits.len();
                while rest > 0 && at > 0 {
                    // Nine digits at a time, so that most steps divide 64-bit numbers.
                    let mut group = (rest % 1_000_000_000) as u32;
                    rest /= 1_000_000_000;
                    for _ in 0..DIGITS_PER_GROUP.min(at) {
                        at -= 1;
                        digits[at] = b'0' + (group % 10) as u8;
                        group /= 10;
                    }
                }
            }
            None => {
                let text = number.big().magnitude().to_str_radix(10);
                let text = &text.as_bytes()[text.len().saturating_sub(digits.len())..];
                let at = digits.len() - text.len();
                digits[at..].copy_from_slice(text);
            }
        }
        let start = out.len();
        let (integer, fraction) = digits.split_at((precision - scale) as usize);
        let (head, groups) = integer.split_at(integer.len() % DIGITS_PER_GROUP);
        write_group(head, out);
        groups.chunks(DIGITS_PER_GROUP).for_each(|group| write_group(group, out));
        fraction.chunks(DIGITS_PER_GROUP).for_each(|group| write_group(group, out));
        if let Some(first) = out.get_mut(start) {
            *first ^= 0x80;
        }
        if number.is_negative() {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Reads the binary form under a type from the start of `bytes`, which must have
    /// [`Decimal::binary_len`] bytes; `None` if it has fewer or they are no digits.
    pub fn read_binary(precision: u8, scale: u8, bytes: &[u8]) -> Option<Decimal> {
        let bytes = bytes.get(..Self::binary_len(precision, scale))?;
        if precision <= SHORT_PRECISION {
            return Some(Decimal::new(read_short(precision, scale, bytes)?.into(), scale));
        }
        let negative = *bytes.first()? & 0x80 == 0;
        let mut small: i128 = 0;
        let mut big: Option<BigInt> = None;
        let mut at = 0;
        let mut take = |digits: usize| -> Option<()> {
            let len = GROUP_BYTES[digits];
            let mut group: u32 = 0;
            for (place, &byte) in bytes[at..at + len].iter().enumerate() {
                let byte = if negative { !byte } else { byte };
                let byte = if at + place == 0 { byte ^ 0x80 } else { byte };
                group = group << 8 | u32::from(byte);
            }
            at += len;
            let unit = 10u32.pow(digits as u32);
            if group >= unit {
                return None;
            }
            match &mut big {
                Some(big) => *big = &*big * unit + group,
                None => match small.checked_mul(i128::from(unit)).and_then(|s| s.checked_add(i128::from(group))) {
                    Some(next) => small = next,
                    None => big = Some(BigInt::from(small) * unit + group),
                },
            }
            Some(())
        };
        let (integer, fraction) = ((precision - scale) as usize, scale as usize);
        if integer % DIGITS_PER_GROUP > 0 {
            take(integer % DIGITS_PER_GROUP)?;
        }
        for _ in 0..integer / DIGITS_PER_GROUP + fraction / DIGITS_PER_GROUP {
            take(DIGITS_PER_GROUP)?;
        }
        if fraction % DIGITS_PER_GROUP > 0 {
            take(fraction % DIGITS_PER_GROUP)?;
        }
        Some(match big {
            Some(big) => Self::from_big(if negative { -big } else { big }, scale),
            None => Decimal::new(if negative { -small } else { small }, scale),
        })
    }

    /// The number without trailing zeros of its fraction: the same for equal numbers.
    pub fn normalized(&self) -> Decimal {
        let mut number = self.clone().showing_all();
        while number.places() > 0 {
            let shorter = number.truncate_to(number.places() - 1);
            if shorter != number {
                break;
            }
            number = shorter;
        }
        number
    }
}

fn parse_exponent(text: &[u8]) -> Option<(i64, usize)> {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return None;
    }
    let (negative, mut at) = match text.get(1) {
        Some(b'-') => (true, 2),
        Some(b'+') => (false, 2),
        _ => (false, 1),
    };
    let start = at;
    let mut exponent: i64 = 0;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        exponent = (exponent * 10 + i64::from(digit - b'0')).min(1_000_000);
        at += 1;
    }
    (at > start).then_some((if negative { -exponent } else { exponent }, at))
}

/// So many digits, and those that fill up the last group of nine.
fn whole_groups(digits: u8) -> u8 {
    digits.next_multiple_of(DIGITS_PER_GROUP as u8)
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    match POWERS.get(exponent as usize) {
        Some(power) => Some(i128::from(*power)),
        None => (exponent <= 38).then(|| 10i128.pow(exponent)),
    }
}

/// A product, where it fits. Of numbers of 64 bits, nearly all there are, it does, and takes one multiplication.
fn product_of(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// A coefficient with so many digits more after the point.
fn shifted(coefficient: i128, digits: u32) -> Option<i128> {
    if digits == 0 { Some(coefficient) } else { product_of(coefficient, power_of_ten(digits)?) }
}

fn divide_rounding(numerator: &BigInt, denominator: &BigInt, rounding: Rounding) -> BigInt {
    let quotient = numerator / denominator;
    if rounding == Rounding::Truncate {
        return quotient;
    }
    let rest = numerator - &quotient * denominator;
    if rest.magnitude() * 2u8 >= *denominator.magnitude() {
        let negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
        return if negative { quotient - 1 } else { quotient + 1 };
    }
    quotient
}

/// The coefficient in the binary form of a type of at most [`SHORT_PRECISION`] digits; `None` if they are no digits.
fn read_short(precision: u8, scale: u8, bytes: &[u8]) -> Option<i64> {
    let (integer, fraction) = (usize::from(precision - scale), usize::from(scale));
    let negative = *bytes.first()? & 0x80 == 0;
    let flipped = if negative { 0xff } else { 0 };
    let (mut value, mut at) = (0i64, 0);
    let mut take = |digits: usize| {
        let mut group: u32 = 0;
        for _ in 0..GROUP_BYTES[digits] {
            let sign = if at == 0 { 0x80 } else { 0 };
            group = group << 8 | u32::from(bytes.get(at)? ^ flipped ^ sign);
            at += 1;
        }
        value = value * POWERS[digits] + i64::from(group);
        (i64::from(group) < POWERS[digits]).then_some(())
    };
    take(integer % DIGITS_PER_GROUP)?;
    for _ in 0..integer / DIGITS_PER_GROUP + fraction / DIGITS_PER_GROUP {
        take(DIGITS_PER_GROUP)?;
    }
    take(fraction % DIGITS_PER_GROUP)?;
    Some(if negative { -value } else { value })
}

fn write_group(digits: &[u8], out: &mut Vec<u8>) {
    let value = digits.iter().fold(0u32, |value, digit| value * 10 + u32::from(digit - b'0'));
    out.extend_from_slice(&value.to_be_bytes()[4 - GROUP_BYTES[digits.len()]..]);
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal::new(i128::from(value), 0)
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Decimal {
        Decimal::new(i128::from(value), 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let places = self.places().max(other.places());
        let (a, b) = (self.round_to(places), other.round_to(places));
        match (a.small(), b.small()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.big().cmp(&b.big()),
        }
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normalized().to_string().hash(state);
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.places() != self.scale() {
            return self.as_shown().fmt(f);
        }
        let digits = match self.small() {
            Some(small) => small.unsigned_abs().to_string(),
            None => self.big().magnitude().to_str_radix(10),
        };
        if self.is_negative() {
            f.write_str("-")?;
        }
        let scale = self.scale() as usize;
        if scale == 0 {
            return f.write_str(&digits);
        }
        if digits.len() <= scale {
            return write!(f, "0.{digits:0>scale$}");
        }
        let (integer, fraction) = digits.split_at(digits.len() - scale);
        write!(f, "{integer}.{fraction}")
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.clone().showing_all(), f)
    }
}

#[cfg(test)]
mod tests;
