//! The CRC32 of an event, also when its position is not known yet.
//!
//! CRC32 is linear: changing the position field of an event changes its checksum by a value that
//! depends on the new field and on the number of bytes after it alone. So the checksum of a large
//! event is taken over a zero position while nobody waits ([`ZeroPositionCrc::of`]) and corrected in
//! the ordered section by one multiplication of polynomials ([`ZeroPositionCrc::at`]).
//!
//! Polynomials are reflected as in zlib: bit 31 is the coefficient of x^0.

use super::wire::{CRC_BYTES, LOG_POS_AT};

const POLYNOMIAL: u32 = 0xedb8_8320;

/// `POWERS[k]` is x^(2^k) modulo the polynomial.
const POWERS: [u32; 32] = powers();

/// The checksum of an event whose position is zero, ready to be corrected for another position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZeroPositionCrc {
    crc: u32,
    /// x^(bits from the start of the position field to the end), modulo the polynomial.
    shift: u32,
}

impl ZeroPositionCrc {
    /// Takes the checksum of a whole event: header with a zero position, body, and room for the CRC.
    pub(super) fn of(event: &[u8]) -> ZeroPositionCrc {
        let checked = &event[..event.len() - CRC_BYTES];
        debug_assert_eq!(checked[LOG_POS_AT..LOG_POS_AT + 4], [0; 4]);
        let bits = (checked.len() - LOG_POS_AT) as u64 * 8;
        ZeroPositionCrc { crc: crc32fast::hash(checked), shift: power_of_x(bits) }
    }

    /// The checksum of the same event with `log_pos` in its header.
    pub(super) fn at(self, log_pos: u32) -> u32 {
        self.crc ^ multiply(self.shift, log_pos)
    }
}

const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut bit = 1 << 31;
    let mut product = 0;
    while bit != 0 {
        if a & bit != 0 {
            product ^= b;
        }
        bit >>= 1;
        b = (b >> 1) ^ (POLYNOMIAL & (b & 1).wrapping_neg());
    }
    product
}

const fn powers() -> [u32; 32] {
    let mut powers = [0; 32];
    powers[0] = 1 << 30;
    let mut k = 1;
    while k < 32 {
        powers[k] = multiply(powers[k - 1], powers[k - 1]);
        k += 1;
    }
    powers
}

fn power_of_x(mut exponent: u64) -> u32 {
    let mut product = 1 << 31;
    let mut k = 0;
    while exponent != 0 {
        if exponent & 1 != 0 {
            product = multiply(POWERS[k & 31], product);
        }
        exponent >>= 1;
        k += 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_checksum_equals_one_taken_over_the_position() {
        for len in [19 + 4, 20 + 4, 64, 8192, 100_003, 1 << 20] {
            let mut event: Vec<u8> = (0..len).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            event[LOG_POS_AT..LOG_POS_AT + 4].fill(0);
            let early = ZeroPositionCrc::of(&event);
            for log_pos in [0, 1, 4, 0x1234_5678, u32::MAX] {
                event[LOG_POS_AT..LOG_POS_AT + 4].copy_from_slice(&log_pos.to_le_bytes());
                assert_eq!(early.at(log_pos), crc32fast::hash(&event[..event.len() - CRC_BYTES]), "{len} {log_pos}");
            }
        }
    }
}
