//! Priorities of threads.

use rustix::process::{Pid, getpriority_process, setpriority_process};

/// How much less than others a thread gets that gives way: a third of a processor that both want.
const LOWER_BY: i32 = 5;

/// Lets others go before a thread of this process, the calling one unless it is named, for as long as it lives: a thread
/// cannot raise its priority again.
pub fn give_way(thread: Option<Pid>) {
    // Anybody may lower it. It fails if the thread has ended; to Linux the number of a thread names that thread alone.
    let _ = getpriority_process(thread).and_then(|priority| setpriority_process(thread, priority + LOWER_BY));
}
