#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: cohort_fuzz::SQL.write_seeds(), |bytes: &[u8]| cohort_fuzz::SQL.run(bytes));
