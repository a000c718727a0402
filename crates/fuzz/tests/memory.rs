//! The measure of memory, in a process of its own: it counts what all threads take.

use cohort_fuzz::memory::peak_of;

#[test]
fn what_is_taken_and_given_back_counts() {
    let taken = peak_of(|| drop(std::hint::black_box(vec![0_u8; 3 << 20])));
    // The thread that runs the tests takes and gives back a little of its own meanwhile.
    assert!(taken.abs_diff(3 << 20) < 1 << 20, "{taken}");
}
