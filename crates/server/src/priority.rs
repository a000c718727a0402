//! Priorities of threads.

use rustix::process::nice;

/// How much less than others a thread gets that gives way: a third of a processor that both want.
const LOWER_BY: i32 = 5;

/// Lets others go before the calling thread, for as long as it lives: a thread cannot raise its priority again.
pub fn give_way() {
    // Anybody may lower it.
    let _ = nice(LOWER_BY);
}
