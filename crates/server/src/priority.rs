//! Priorities of threads.

use rustix::process::{Pid, nice, setpriority_process};

/// How much less than others a thread gets that gives way: a third of a processor that both want.
const LOWER_BY: i32 = 5;

/// Lets others go before the calling thread, for as long as it lives: a thread cannot raise its priority again.
pub fn give_way() {
    // Anybody may lower it.
    let _ = nice(LOWER_BY);
}

/// [`give_way`] for another thread of this process.
pub fn have_give_way(thread: Pid) {
    // Fails if it has ended; to Linux the number of a thread names that thread alone.
    let _ = setpriority_process(Some(thread), LOWER_BY);
}
