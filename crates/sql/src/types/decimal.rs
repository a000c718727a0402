//! Exact decimal numbers of up to 65 digits, 30 of them behind the point.
//!
//! A number is an integer coefficient and a scale. Coefficients that fit 128 bits (38 digits, nearly
//! all there are) are plain integer arithmetic; wider ones fall back to a big integer.
//!
//! Format: [`Decimal::write_binary`] is the NEWDECIMAL form of rows in the binlog. It also is
//! order-preserving among numbers of one precision and scale, so that keys use it too.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use num_bigint::{BigInt, Sign};

/// Most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Most digits behind the point.
pub const MAX_SCALE: u8 = 30;

const DIGITS_PER_GROUP: usize = 9;
/// Bytes that 0 to 9 digits take in the binary form.
const GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// An exact decimal number. Equality is of the number: 1.0 equals 1.00.
#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    /// Coefficient as the halves of an `i128`, which keeps the alignment at 8 bytes.
    Small { high: i64, low: u64, scale: u8 },
    /// Coefficients beyond `i128`.
    Big(Box<(BigInt, u8)>),
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
    pub const ZERO: Decimal = Decimal(Repr::Small { high: 0, low: 0, scale: 0 });

    /// `coefficient / 10^scale`.
    pub fn new(coefficient: i128, scale: u8) -> Decimal {
        Decimal(Repr::Small { high: (coefficient >> 64) as i64, low: coefficient as u64, scale })
    }

    fn from_big(coefficient: BigInt, scale: u8) -> Decimal {
        match i128::try_from(&coefficient) {
            Ok(small) => Decimal::new(small, scale),
            Err(_) => Decimal(Repr::Big(Box::new((coefficient, scale)))),
        }
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
            Repr::Big(big) => big.0.clone(),
        }
    }

    /// Digits behind the point.
    pub fn scale(&self) -> u8 {
        match &self.0 {
            Repr::Small { scale, .. } => *scale,
            Repr::Big(big) => big.1,
        }
    }

    /// Digits before the point, without leading zeros (0 for numbers below 1).
    pub fn integer_digits(&self) -> usize {
        let digits = match self.small() {
            Some(0) => return 0,
            Some(small) => small.unsigned_abs().ilog10() as usize + 1,
            None => self.big().magnitude().to_str_radix(10).len(),
        };
        digits.saturating_sub(self.scale() as usize)
    }

    /// All digits of a column that just holds this number.
    pub fn precision(&self) -> u8 {
        (self.integer_digits().max(1) + self.scale() as usize).min(MAX_PRECISION as usize) as u8
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { high, .. } => *high < 0,
            Repr::Big(big) => big.0.sign() == Sign::Minus,
        }
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        self.small() == Some(0)
    }

    /// Reads `[+-]digits[.digits][e[+-]digits]` at the start of `text`; returns the number and how many
    /// bytes it took, or `None` if no number stands there. Digits behind the 30th of the fraction are
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
            .limited()
            .unwrap_or_else(|DecimalOverflow| Self::largest(MAX_PRECISION, 0, negative))
    }

    /// The number with the shortest digits that give `double` back; `None` for infinities and NaN, the
    /// largest number for what is beyond.
    pub fn from_f64(double: f64) -> Option<Decimal> {
        if !double.is_finite() {
            return None;
        }
        Self::parse_prefix(format!("{double:e}").as_bytes()).map(|(number, _)| number)
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        match self.small() {
            Some(small) if small.unsigned_abs() < 1 << 53 && self.scale() <= 22 => {
                small as f64 / 10f64.powi(i32::from(self.scale()))
            }
            _ => self.to_string().parse().unwrap_or_default(),
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

    /// Rounds (half away from zero) or extends to `scale` digits behind the point.
    pub fn round_to(&self, scale: u8) -> Decimal {
        self.rescale(scale, Rounding::HalfUp)
    }

    /// Cuts or extends to `scale` digits behind the point.
    pub fn truncate_to(&self, scale: u8) -> Decimal {
        self.rescale(scale, Rounding::Truncate)
    }

    /// Rounds to a multiple of `10^digits`, scale 0.
    pub fn round_before_point(&self, digits: u32, truncate: bool) -> Decimal {
        if digits as usize > self.integer_digits() {
            return Decimal::ZERO;
        }
        let unit = BigInt::from(10).pow(digits);
        let scale = u32::from(self.scale());
        let divided = divide_rounding(
            &self.big(),
            &(&unit * BigInt::from(10).pow(scale)),
            if truncate { Rounding::Truncate } else { Rounding::HalfUp },
        );
        Self::from_big(divided * unit, 0)
    }

    fn rescale(&self, scale: u8, rounding: Rounding) -> Decimal {
        let own = self.scale();
        if scale == own {
            return self.clone();
        }
        if scale > own {
            let factor = u32::from(scale - own);
            if let Some(shifted) = self.small().and_then(|small| small.checked_mul(power_of_ten(factor)?)) {
                return Decimal::new(shifted, scale);
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
            Some(small) => Decimal::new(small, self.scale()),
            None => Self::from_big(-self.big(), self.scale()),
        }
    }

    /// The absolute value.
    pub fn abs(&self) -> Decimal {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// The sum, with the larger of the scales.
    pub fn add(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        let scale = self.scale().max(other.scale());
        let (a, b) = (self.round_to(scale), other.round_to(scale));
        if let (Some(a), Some(b)) = (a.small(), b.small())
            && let Some(sum) = a.checked_add(b)
        {
            return Decimal::new(sum, scale).limited();
        }
        Self::from_big(a.big() + b.big(), scale).limited()
    }

    /// The difference, with the larger of the scales.
    pub fn subtract(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        self.add(&other.negate())
    }

    /// The product; its scale is the sum of the scales, at most 30.
    pub fn multiply(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        let scale = self.scale() + other.scale();
        let product = match (self.small(), other.small()) {
            (Some(a), Some(b)) => a.checked_mul(b).map(|product| Decimal::new(product, scale)),
            _ => None,
        };
        let product = product.unwrap_or_else(|| Self::from_big(self.big() * other.big(), scale));
        product.round_to(scale.min(MAX_SCALE)).limited()
    }

    /// The quotient with `increment` more digits behind the point than `self` has, rounded; `None` for
    /// division by zero.
    pub fn divide(&self, other: &Decimal, increment: u8) -> Result<Option<Decimal>, DecimalOverflow> {
        self.divide_to(other, self.scale().saturating_add(increment), Rounding::HalfUp)
    }

    /// The quotient cut to `scale` digits behind the point; `None` for division by zero.
    pub fn divide_truncating(&self, other: &Decimal, scale: u8) -> Result<Option<Decimal>, DecimalOverflow> {
        self.divide_to(other, scale, Rounding::Truncate)
    }

    fn divide_to(&self, other: &Decimal, scale: u8, rounding: Rounding) -> Result<Option<Decimal>, DecimalOverflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let scale = scale.min(MAX_SCALE);
        // self / other = (a * 10^(scale + so - sa)) / b, as an integer of that scale.
        let shift = i32::from(scale) + i32::from(other.scale()) - i32::from(self.scale());
        if let (Some(a), Some(b)) = (self.small(), other.small())
            && shift >= 0
            && let Some(numerator) = power_of_ten(shift as u32).and_then(|power| a.checked_mul(power))
        {
            let mut quotient = numerator / b;
            let rest = (numerator % b).unsigned_abs();
            if rounding == Rounding::HalfUp && rest >= b.unsigned_abs() - rest {
                quotient += numerator.signum() * b.signum();
            }
            return Decimal::new(quotient, scale).limited().map(Some);
        }
        let (mut numerator, mut denominator) = (self.big(), other.big());
        if shift >= 0 {
            numerator *= BigInt::from(10).pow(shift as u32);
        } else {
            denominator *= BigInt::from(10).pow(-shift as u32);
        }
        let quotient = divide_rounding(&numerator, &denominator, rounding);
        Self::from_big(quotient, scale).limited().map(Some)
    }

    /// The rest of the truncating division, with the larger of the scales and the sign of `self`; `None`
    /// for division by zero.
    pub fn remainder(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let (a, b) = (self.round_to(scale), other.round_to(scale));
        if let (Some(a), Some(b)) = (a.small(), b.small()) {
            return Some(Decimal::new(a.wrapping_rem(b), scale));
        }
        Some(Self::from_big(a.big() % b.big(), scale))
    }

    /// The number, its fraction rounded so that it has at most 65 digits.
    fn limited(self) -> Result<Decimal, DecimalOverflow> {
        if let Some(small) = self.small()
            && self.scale() <= MAX_SCALE
            && small.unsigned_abs() < 10u128.pow(38)
        {
            return Ok(self);
        }
        let integer_digits = self.integer_digits();
        if integer_digits > MAX_PRECISION as usize {
            return Err(DecimalOverflow);
        }
        let room = MAX_PRECISION as usize - integer_digits;
        let scale = (self.scale() as usize).min(room).min(MAX_SCALE as usize) as u8;
        Ok(if scale < self.scale() { self.round_to(scale) } else { self })
    }

    /// Whether the number fits a type of `precision` digits, `scale` of them behind the point, once
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
        let mut number = self.clone();
        while number.scale() > 0 {
            let shorter = number.truncate_to(number.scale() - 1);
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

fn power_of_ten(exponent: u32) -> Option<i128> {
    (exponent <= 38).then(|| 10i128.pow(exponent))
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
        let scale = self.scale().max(other.scale());
        let (a, b) = (self.round_to(scale), other.round_to(scale));
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
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
