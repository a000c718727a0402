//! What is left of a long walk, and how it is divided into strides of about the same size.
//!
//! Where a stride ends is a guess, from how far apart the keys were that came before: with a wrong one it is larger or
//! smaller than was meant, and the next ones less so. Strides meet without gaps, whatever was guessed.

use cohort_engine::{Direction, KeyRange, next_key};

/// Bytes of keys and values that are meant to be in a stride: so many that a search is little beside them.
pub(super) const STRIDE_BYTES: usize = 512 << 10;
/// Bytes of a key that are looked at as a number.
const DIGITS: usize = 8;

/// The rest of a walk, from which one stride after the other is taken.
pub(super) struct Rest {
    range: KeyRange,
    direction: Direction,
    /// Where in keys the number stands by which they are divided.
    at: usize,
    /// How much greater it is at the end of a stride, or less.
    step: u64,
}

impl Rest {
    /// What comes after the key `last` of a walk to the bound `end`; of `bytes` before it the first had the key `earlier`.
    pub(super) fn new(earlier: &[u8], last: &[u8], bytes: usize, end: &[u8], direction: Direction) -> Rest {
        let at = earlier.iter().zip(last).take_while(|(a, b)| a == b).count();
        let strides = (bytes / STRIDE_BYTES).max(1) as u64;
        let step = (number(last, at).abs_diff(number(earlier, at)) / strides).max(1);
        let range = match direction {
            Direction::Forward => KeyRange { lower: next_key(last), upper: end.to_vec() },
            Direction::Reverse => KeyRange { lower: end.to_vec(), upper: last.to_vec() },
        };
        Rest { range, direction, at, step }
    }

    /// All that is left.
    pub(super) fn range(&self) -> &KeyRange {
        &self.range
    }

    /// Takes the next stride; `None` if nothing is left.
    pub(super) fn take(&mut self) -> Option<KeyRange> {
        let KeyRange { lower, upper } = &mut self.range;
        if lower >= upper {
            return None;
        }
        match self.direction {
            Direction::Forward => {
                let end = moved(lower, self.at, |digits| digits.overflowing_add(self.step), u8::overflowing_add);
                let end = end.filter(|end| end < upper).unwrap_or_else(|| upper.clone());
                Some(KeyRange { lower: std::mem::replace(lower, end.clone()), upper: end })
            }
            Direction::Reverse => {
                let end = moved(upper, self.at, |digits| digits.overflowing_sub(self.step), u8::overflowing_sub);
                let end = end.filter(|end| end > lower).unwrap_or_else(|| lower.clone());
                Some(KeyRange { upper: std::mem::replace(upper, end.clone()), lower: end })
            }
        }
    }

    /// Takes notice of how many bytes a stride had.
    pub(super) fn learn(&mut self, bytes: usize) {
        if bytes == 0 {
            self.grow(4);
        } else if bytes < STRIDE_BYTES / 2 {
            self.grow(1);
        } else if bytes > STRIDE_BYTES * 2 {
            self.shrink();
        }
    }

    /// Makes strides so many times twice as long.
    fn grow(&mut self, times: u32) {
        if self.step.leading_zeros() < times && self.at > 0 {
            self.at -= 1;
            self.step >>= u8::BITS;
        }
        self.step = self.step.saturating_mul(1 << times);
    }

    /// Makes strides half as long.
    fn shrink(&mut self) {
        if self.step == 1 {
            self.at += 1;
            self.step <<= u8::BITS;
        }
        self.step /= 2;
    }
}

/// The bytes of the key from `at` on as a number.
fn number(key: &[u8], at: usize) -> u64 {
    let mut digits = [0; DIGITS];
    digits.iter_mut().zip(key.get(at..).unwrap_or_default()).for_each(|(digit, byte)| *digit = *byte);
    u64::from_be_bytes(digits)
}

/// The key whose number at `at` is moved, as far as that; a carry moves the bytes before. `None` if it goes beyond all keys.
fn moved(
    key: &[u8],
    at: usize,
    digits: impl Fn(u64) -> (u64, bool),
    byte: impl Fn(u8, u8) -> (u8, bool),
) -> Option<Vec<u8>> {
    let mut moved = key[..at.min(key.len())].to_vec();
    moved.resize(at, 0);
    let (number, mut carry) = digits(number(key, at));
    for before in moved.iter_mut().rev() {
        if !carry {
            break;
        }
        (*before, carry) = byte(*before, 1);
    }
    moved.extend_from_slice(&number.to_be_bytes());
    (!carry).then_some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_meet_from_one_end_to_the_other() {
        let key = |number: u64| [&b"table"[..], &number.to_be_bytes()].concat();
        for direction in [Direction::Forward, Direction::Reverse] {
            let (earlier, last, end) = match direction {
                Direction::Forward => (key(0), key(1000), b"tablf".to_vec()),
                Direction::Reverse => (key(u64::MAX), key(u64::MAX - 1000), b"table".to_vec()),
            };
            let mut rest = Rest::new(&earlier, &last, 4 * STRIDE_BYTES, &end, direction);
            let whole = rest.range().clone();
            let first = rest.take().unwrap();
            let mut strides = vec![first.clone()];
            match direction {
                Direction::Forward => assert!(first.upper.starts_with(&key(1250))),
                Direction::Reverse => assert!(first.lower.starts_with(&key(u64::MAX - 1250))),
            }
            // What has no keys is passed over faster and faster.
            while let Some(stride) = rest.take() {
                strides.push(stride);
                rest.learn(0);
            }
            assert!(strides.len() < 20, "{}", strides.len());
            if direction == Direction::Reverse {
                strides.reverse();
            }
            assert_eq!((&strides[0].lower, &strides.last().unwrap().upper), (&whole.lower, &whole.upper));
            assert!(strides.windows(2).all(|pair| pair[0].upper == pair[1].lower));
            assert!(strides.iter().all(|stride| stride.lower < stride.upper));
        }
    }

    #[test]
    fn strides_of_one_number_are_divided_further() {
        let mut rest = Rest::new(b"aaaa", b"aaab", STRIDE_BYTES, b"b", Direction::Forward);
        let mut last = rest.take().unwrap();
        for _ in 0..100 {
            rest.learn(usize::MAX);
            let stride = rest.take().unwrap();
            assert!(last.upper == stride.lower && stride.lower < stride.upper);
            last = stride;
        }
        assert!(last.upper.starts_with(b"aaa"), "{last:?}");
    }

    #[test]
    fn strides_follow_the_size_of_what_they_had() {
        let key = |number: u64| number.to_be_bytes();
        let mut rest = Rest::new(&key(0), &key(1 << 20), STRIDE_BYTES, &[0xff; 9], Direction::Forward);
        let mut width = |bytes: usize| {
            rest.learn(bytes);
            let stride = rest.take().unwrap();
            number(&stride.upper, 0) - number(&stride.lower, 0)
        };
        assert_eq!(width(STRIDE_BYTES), 1 << 20);
        assert_eq!(width(STRIDE_BYTES / 4), 1 << 21);
        assert_eq!(width(STRIDE_BYTES * 3), 1 << 20);
        assert_eq!(width(0), 1 << 24);
        assert_eq!(width(0), 1 << 28);
    }
}
