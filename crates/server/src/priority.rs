//! Priorities of threads.

use rustix::process::nice;

/// How much a thread gives way to those that serve clients who have logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveWay {
    /// A third of a processor that both want.
    Some,
    /// A thirtieth.
    Most,
}

/// Lets others go before the calling thread, for as long as it lives: a thread cannot raise its priority again.
pub fn give_way(how: GiveWay) {
    let lower_by = match how {
        GiveWay::Some => 5,
        GiveWay::Most => 15,
    };
    // Anybody may lower it.
    let _ = nice(lower_by);
}
