//! What is remembered of clients that did not get in: hosts that broke their handshakes off, and passwords
//! that were wrong.
//!
//! A host that breaks off [`Hosts::is_blocked`]'s number of handshakes in a row, with no success between them, is
//! turned away (`max_connect_errors`). A wrong password is no such thing: it makes the next attempts for the same user
//! from the same host wait ([`Hosts::delay`]), the right one included, as MySQL's plugin `connection_control` does.
//!
//! Invariants
//! 1. Memory is bounded whatever clients do: of hosts by `host_cache_size`, of users by [`USERS_MAX`]. What was
//!    touched longest ago goes first.
//!
//! Not here: who waits, and how (`session::login`).

use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;

use crate::socket::Peer;
use crate::sysvars::{Globals, ids};

/// Most users with wrong passwords that are remembered.
const USERS_MAX: usize = 4096;
/// Characters of a user's name that count: names of accounts are no longer.
const USER_LEN: usize = 32;

/// The server's memory of failed logins.
#[derive(Debug, Default)]
pub struct Hosts {
    broken_off: Mutex<Recent<IpAddr>>,
    wrong_passwords: Mutex<Recent<(String, String)>>,
}

impl Hosts {
    /// Whether nobody is let in from there until [`Hosts::flush`].
    pub fn is_blocked(&self, peer: &Peer, globals: &Globals) -> bool {
        let Some(host) = counted(peer) else { return false };
        self.broken_off.lock().get(&host) >= globals.get(ids::MAX_CONNECT_ERRORS)
    }

    /// Counts a handshake that its client broke off, or got wrong.
    pub fn count_broken_off(&self, peer: &Peer, globals: &Globals) {
        let Some(host) = counted(peer) else { return };
        self.broken_off.lock().add(host, globals.get(ids::HOST_CACHE_SIZE) as usize);
    }

    /// Forgets the handshakes that were broken off by a host from which somebody has got in.
    pub fn count_success(&self, peer: &Peer) {
        if let Some(host) = counted(peer) {
            self.broken_off.lock().remove(&host);
        }
    }

    /// Lets every host in again (FLUSH HOSTS).
    pub fn flush(&self) {
        self.broken_off.lock().clear();
    }

    /// Counts an attempt of `user` to log in, if it is a wrong one, and says how long its answer is to wait. A right
    /// one is [forgiven](Hosts::forgive) the wrong ones when it has waited: others must not see it before.
    pub fn delay(&self, user: &str, peer: &Peer, succeeded: bool, globals: &Globals) -> Duration {
        let threshold = globals.get(ids::CONNECTION_CONTROL_FAILED_CONNECTIONS_THRESHOLD);
        if threshold == 0 {
            return Duration::ZERO;
        }
        let mut wrong = self.wrong_passwords.lock();
        let before = match succeeded {
            true => wrong.get(&user_at(user, peer)),
            false => wrong.add(user_at(user, peer), USERS_MAX),
        };
        match before.checked_sub(threshold) {
            None => Duration::ZERO,
            Some(over) => {
                let least = globals.get(ids::CONNECTION_CONTROL_MIN_CONNECTION_DELAY);
                let most = globals.get(ids::CONNECTION_CONTROL_MAX_CONNECTION_DELAY);
                Duration::from_millis(over.saturating_add(1).saturating_mul(1000).max(least).min(most))
            }
        }
    }

    /// Forgets the wrong passwords of a user who has got in.
    pub fn forgive(&self, user: &str, peer: &Peer) {
        self.wrong_passwords.lock().remove(&user_at(user, peer));
    }

    /// Forgets all wrong passwords.
    pub fn forget_wrong_passwords(&self) {
        self.wrong_passwords.lock().clear();
    }
}

/// Whose wrong passwords are counted together.
fn user_at(user: &str, peer: &Peer) -> (String, String) {
    (user.chars().take(USER_LEN).collect(), peer.host())
}

/// The address that is counted. Connections of this machine are not, where they come as such: MySQL leaves out
/// just these two addresses.
fn counted(peer: &Peer) -> Option<IpAddr> {
    let Peer::Remote(address, _) = peer else { return None };
    let address = address.to_canonical();
    let own = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1u16])];
    (!own.contains(&address)).then_some(address)
}

/// Counts of the keys that were counted last.
#[derive(Debug)]
struct Recent<K: Eq + Hash>(LruCache<K, u64>);

impl<K: Eq + Hash> Default for Recent<K> {
    /// How much room there is, each addition says.
    fn default() -> Self {
        Recent(LruCache::unbounded())
    }
}

impl<K: Eq + Hash> Recent<K> {
    fn get(&self, key: &K) -> u64 {
        self.0.peek(key).copied().unwrap_or(0)
    }

    /// Adds one; gives the count from before. Nothing is kept where there is no room at all.
    fn add(&mut self, key: K, room: usize) -> u64 {
        if let Some(count) = self.0.get_mut(&key) {
            *count += 1;
            return *count - 1;
        }
        while self.0.len() >= room.max(1) {
            self.0.pop_lru();
        }
        if room > 0 {
            self.0.put(key, 1);
        }
        0
    }

    fn remove(&mut self, key: &K) {
        self.0.pop(key);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(address: &str) -> Peer {
        Peer::Remote(address.parse().unwrap(), 1)
    }

    #[test]
    fn a_host_is_blocked_after_its_last_chance_and_a_success_gives_it_all_of_them_back() {
        let (hosts, globals) = (Hosts::default(), Globals::new());
        globals.put(ids::MAX_CONNECT_ERRORS, 2_u64);
        let (one, other) = (remote("10.0.0.1"), remote("10.0.0.2"));
        hosts.count_broken_off(&one, &globals);
        hosts.count_success(&one);
        hosts.count_broken_off(&one, &globals);
        assert!(!hosts.is_blocked(&one, &globals));
        hosts.count_broken_off(&one, &globals);
        assert!(hosts.is_blocked(&remote("::ffff:10.0.0.1"), &globals));
        assert!(!hosts.is_blocked(&other, &globals));
        hosts.flush();
        assert!(!hosts.is_blocked(&one, &globals));
    }

    #[test]
    fn the_own_machine_is_never_blocked() {
        let (hosts, globals) = (Hosts::default(), Globals::new());
        globals.put(ids::MAX_CONNECT_ERRORS, 1_u64);
        for peer in [Peer::Local, remote("127.0.0.1"), remote("::1"), remote("::ffff:127.0.0.1")] {
            hosts.count_broken_off(&peer, &globals);
            assert!(!hosts.is_blocked(&peer, &globals), "{peer:?}");
        }
    }

    #[test]
    fn no_number_of_hosts_or_users_takes_more_than_its_room() {
        let (hosts, globals) = (Hosts::default(), Globals::new());
        globals.put(ids::HOST_CACHE_SIZE, 10_u64);
        globals.put(ids::MAX_CONNECT_ERRORS, 2_u64);
        let kept = remote("10.1.0.0");
        for last in 0..=255 {
            hosts.count_broken_off(&remote(&format!("10.0.0.{last}")), &globals);
            // Touched again and again, it is never the oldest.
            hosts.count_broken_off(&kept, &globals);
        }
        assert_eq!(hosts.broken_off.lock().0.len(), 10);
        assert!(hosts.is_blocked(&kept, &globals));
        for user in 0..USERS_MAX + 10 {
            hosts.delay(&format!("{user}{}", "x".repeat(100)), &kept, false, &globals);
        }
        let wrong = hosts.wrong_passwords.lock();
        assert_eq!(wrong.0.len(), USERS_MAX);
        assert!(wrong.0.iter().all(|((user, _), _)| user.len() == USER_LEN));
    }

    #[test]
    fn wrong_passwords_beyond_the_threshold_wait_longer_each_time_up_to_the_limit() {
        let (hosts, globals) = (Hosts::default(), Globals::new());
        globals.put(ids::CONNECTION_CONTROL_MAX_CONNECTION_DELAY, 2500_u64);
        let (peer, other) = (remote("10.0.0.1"), remote("10.0.0.2"));
        let wait = |user, peer, succeeded| hosts.delay(user, peer, succeeded, &globals).as_millis();
        let waits: Vec<_> = (0..6).map(|_| wait("ann", &peer, false)).collect();
        assert_eq!(waits, [0, 0, 0, 1000, 2000, 2500]);
        assert_eq!(wait("ann", &other, false), 0);
        assert_eq!(wait("bob", &peer, false), 0);
        assert_eq!(wait("ann", &peer, true), 2500, "the right one waits as well");
        assert_eq!(wait("ann", &peer, false), 2500, "and nobody else sees that meanwhile");
        hosts.forgive("ann", &peer);
        assert_eq!(wait("ann", &peer, false), 0, "then all is good");
        globals.put(ids::CONNECTION_CONTROL_FAILED_CONNECTIONS_THRESHOLD, 0_u64);
        for _ in 0..5 {
            assert_eq!(wait("ann", &peer, false), 0);
        }
    }
}
