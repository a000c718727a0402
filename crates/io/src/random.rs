//! Random bytes behind a trait: the system's for the server, seeded ones for simulations.

use crate::sync::Mutex;

/// A source of random bytes.
pub trait Randomness: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// A random number.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The operating system's generator, fit for salts and keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandom;

impl Randomness for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has a random generator");
    }
}

/// The next number of the SplitMix64 sequence that `state` is in: the same from the same state on every machine. Not
/// for anything secret.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The same bytes for the same seed.
#[derive(Debug)]
pub struct SeededRandom(Mutex<u64>);

impl SeededRandom {
    /// A generator that starts from `seed`.
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom(Mutex::new(seed))
    }

    /// A number below `bound`, which is above 0.
    pub fn below(&self, bound: u64) -> u64 {
        self.step() % bound
    }

    fn step(&self) -> u64 {
        splitmix64(&mut self.0.lock())
    }
}

impl Randomness for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.step().to_le_bytes()[..chunk.len()]);
        }
    }
}
