#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: cohort_fuzz::COMPOSE.write_seeds(), |bytes: &[u8]| cohort_fuzz::COMPOSE.run(bytes));
