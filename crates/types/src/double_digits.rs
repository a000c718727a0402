//! The shortest digits that read back as a double.
//!
//! Where two are as near to it, MySQL takes the one whose last digit is even; `format!` takes the greater one.

use std::fmt::Write as _;

/// A finite double as digits and the place of its point.
pub(crate) struct DoubleDigits {
    negative: bool,
    /// Without zeros at either end; `0` is zero.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i32,
}

impl DoubleDigits {
    /// The digits of `double`; `None` for infinities and NaN.
    pub(crate) fn of(double: f64) -> Option<DoubleDigits> {
        if !double.is_finite() {
            return None;
        }
        let negative = double.is_sign_negative();
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(double.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Some(DoubleDigits { negative, digits: "0".to_owned(), exponent: 0 });
        }
        let leading = (all.len() - significant.len()) as i32;
        let exponent = exponent.parse().unwrap_or(0) + whole.len() as i32 - 1 - leading;
        Some(DoubleDigits { negative, digits: digits.to_owned(), exponent })
    }

    /// Whether MySQL writes it without an exponent: from 1e-15 to below 1e15, and while there are digits after the point.
    pub(crate) fn is_plain(&self) -> bool {
        (-15..15).contains(&self.exponent) || (self.exponent > 0 && self.digits_after_point() > 0)
    }

    /// How many digits its plain form has after the point.
    pub(crate) fn digits_after_point(&self) -> usize {
        usize::try_from(self.digits.len() as i32 - 1 - self.exponent).unwrap_or(0)
    }

    /// Appends the plain form, such as `-0.015`.
    pub(crate) fn write_plain(&self, out: &mut String) {
        self.write_sign(out);
        match usize::try_from(self.exponent) {
            Ok(exponent) => {
                let whole = (exponent + 1).min(self.digits.len());
                out.push_str(&self.digits[..whole]);
                out.extend(std::iter::repeat_n('0', exponent + 1 - whole));
                if whole < self.digits.len() {
                    out.push('.');
                    out.push_str(&self.digits[whole..]);
                }
            }
            Err(_) => {
                out.push_str("0.");
                out.extend(std::iter::repeat_n('0', self.exponent.unsigned_abs() as usize - 1));
                out.push_str(&self.digits);
            }
        }
    }

    /// Appends the form with an exponent, such as `-1.5e-2`.
    pub(crate) fn write_exponential(&self, out: &mut String) {
        self.write_sign(out);
        let (first, others) = self.digits.split_at(1);
        out.push_str(first);
        if !others.is_empty() {
            out.push('.');
            out.push_str(others);
        }
        // Writing to a String cannot fail.
        let _ = write!(out, "e{}", self.exponent);
    }

    fn write_sign(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DoubleDigits;

    fn forms(double: f64) -> (String, String) {
        let digits = DoubleDigits::of(double).expect("a finite number");
        let (mut plain, mut exponential) = (String::new(), String::new());
        digits.write_plain(&mut plain);
        digits.write_exponential(&mut exponential);
        (plain, exponential)
    }

    #[test]
    #[expect(clippy::excessive_precision, reason = "the digits at the end decide")]
    fn of_two_that_are_as_near_the_even_one_is_taken() {
        assert_eq!(forms(618_966_509_847_341.25).0, "618966509847341.2");
        assert_eq!(forms(618_966_509_847_341.75).0, "618966509847341.8");
        assert_eq!(forms(-1_267_875_416_808.156_25).1, "-1.2678754168081562e12");
    }

    #[test]
    fn both_forms_read_back_as_the_number() {
        let exact =
            [0.0, -0.0, 1.0, 100.0, 0.1, 1e-15, 1.5e-300, 1e22, 1e23, 5e-324, f64::MAX, 1_171_251_778_024_685.2];
        let mut state = 1;
        let random = (0..20_000).map(|_| f64::from_bits(random_bits(&mut state))).filter(|double| double.is_finite());
        for double in exact.into_iter().chain(random) {
            let (plain, exponential) = forms(double);
            for text in [plain, exponential] {
                assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(double.to_bits()), "{text}");
            }
            assert!(DoubleDigits::of(double).expect("finite").digits.len() <= 17);
        }
    }

    fn random_bits(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state ^ (*state >> 32)
    }

    #[test]
    fn an_exponent_is_written_where_mysql_writes_one() {
        for (double, plain) in [
            (1e15, false),
            (1_234_567_890_123_456.0, false),
            (1_171_251_778_024_685.2, true),
            (999_999_999_999_999.0, true),
            (1e-15, true),
            (1e-16, false),
            (0.0, true),
        ] {
            assert_eq!(DoubleDigits::of(double).expect("finite").is_plain(), plain, "{double}");
        }
    }
}
