//! How the kernel shares processors among threads.
//!
//! A thread runs for a slice at a time. Who wakes up gets a processor at once if whoever has it is in a longer slice
//! (EEVDF, Linux 6.12 and later; earlier kernels take slices without an error and do not look at them). So threads that
//! compute for long are given long ones, which cost them nothing while nobody else is there. Slices shorter than the
//! kernel's for those that answer soon were measured as well: switching to and fro cost 32 busy clients a tenth of their
//! throughput.

use std::time::Duration;

use rustix::process::{Pid, getpriority_process, setpriority_process};

/// A slice for threads that compute for long; the most that Linux allows.
const LONG_SLICE: Duration = Duration::from_millis(100);

/// How much less than others a thread gets that gives way: a third of a processor that both want.
const LOWER_BY: i32 = 5;

/// Lets others go before a thread of this process, the calling one unless it is named, for as long as it lives: a thread
/// cannot raise its priority again.
pub fn give_way(thread: Option<Pid>) {
    // Anybody may lower it. It fails if the thread has ended; to Linux the number of a thread names that thread alone.
    let _ = getpriority_process(thread).and_then(|priority| setpriority_process(thread, priority + LOWER_BY));
}

/// Gives a thread of this process, the calling one unless it is named, long slices, and threads that it starts from now on.
/// Threads of the real-time classes are left as they are, and all are where the system does not allow it.
pub fn take_long_slices(thread: Option<Pid>) {
    set_slice(thread, LONG_SLICE.as_nanos() as u64);
}

/// Takes back [`take_long_slices`] for the calling thread: it has the kernel's slices again.
pub fn take_usual_slices() {
    set_slice(None, USUAL_SLICE);
}

/// What stands for the kernel's choice.
const USUAL_SLICE: u64 = 0;

/// Sets a thread's slice, nanoseconds.
fn set_slice(thread: Option<Pid>, slice: u64) {
    if let Some(mut attributes) = attributes(thread)
        && [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&attributes.sched_policy.cast_signed())
    {
        attributes.sched_runtime = slice;
        // SAFETY: the kernel reads as many bytes as the structure says it has, which is `SIZE`.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, Pid::as_raw(thread), &raw const attributes, 0) };
    }
}

const SIZE: u32 = size_of::<libc::sched_attr>() as u32;

/// What the kernel knows of a thread's scheduling. `sched_runtime` is its slice, nanoseconds.
fn attributes(thread: Option<Pid>) -> Option<libc::sched_attr> {
    let mut attributes = libc::sched_attr {
        size: SIZE,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let to = &raw mut attributes;
    // SAFETY: the kernel writes `SIZE` bytes at most, which is what is there.
    let status = unsafe { libc::syscall(libc::SYS_sched_getattr, Pid::as_raw(thread), to, SIZE, 0) };
    (status == 0).then_some(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calling thread's priority and slice.
    fn own() -> (i32, Duration) {
        let attributes = attributes(None).expect("the kernel says");
        (attributes.sched_nice, Duration::from_nanos(attributes.sched_runtime))
    }

    #[test]
    fn slices_are_threads_own_and_leave_priorities_alone() {
        let before = own();
        std::thread::spawn(|| {
            let (priority, usual) = own();
            give_way(None);
            take_long_slices(None);
            // Kernels that know no slices tell none.
            let long = if usual.is_zero() { usual } else { LONG_SLICE };
            assert_eq!(own(), (priority + LOWER_BY, long));
            assert_eq!(std::thread::spawn(own).join().expect("no panic"), (priority + LOWER_BY, long));
            take_usual_slices();
            assert_eq!(own(), (priority + LOWER_BY, usual));
        })
        .join()
        .expect("no panic");
        assert_eq!(own(), before);
    }
}
