//! The one source of randomness of the black-box tests: seeded, printed, replayable.

use std::time::{SystemTime, UNIX_EPOCH};

use cohort_io::splitmix64;

/// A SplitMix64 generator. Two of the same seed give the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator of this seed.
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// The generator of stream `stream` under this seed: one for each thread of a test.
    pub fn stream(seed: u64, stream: u64) -> Rng {
        let mut rng = Rng::new(seed ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.bits();
        rng
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        splitmix64(&mut self.state)
    }

    /// A number in `0..bound`; `bound` must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no number");
        self.bits() % bound
    }

    /// Whether an event of `percent` in a hundred happens this time.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Printable text of this many bytes.
    pub fn text(&mut self, bytes: usize) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789'\\ ";
        (0..bytes).map(|_| LETTERS[self.below(LETTERS.len() as u64) as usize] as char).collect()
    }
}

/// `COHORT_SEED`, or one from the clock. Prints it: a failing test's output then names its seed.
pub fn seed() -> u64 {
    let given = std::env::var("COHORT_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64
    });
    println!("seed {seed} (replay with COHORT_SEED={seed})");
    seed
}
