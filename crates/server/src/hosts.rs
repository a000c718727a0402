//! What is remembered of clients that did not get in: hosts that broke their handshakes off, and passwords
//! that were wrong.
//!
//! A host that breaks off [`Hosts::is_blocked`]'s number of handshakes in a row, with no success between them, is
//! turned away (`max_connect_errors`). A wrong password is no such thing: it makes the next attempts wait
//! ([`Hosts::attempt`]), the right one included: those for the same user from the same host, as MySQL's plugin
//! `connection_control` does, and, when there are many more, those of the host for whatever user. Where a user has got
//! in from, waits are short for that user: others at the same host cannot keep its owner out.
//!
//! Invariants
//! 1. Memory is bounded whatever clients do: of hosts by `host_cache_size`, of users by [`USERS_MAX`], of the hosts of
//!    wrong passwords, and of those from where somebody has got in, by [`HOSTS_MAX`]. Of broken handshakes, what was
//!    touched longest ago goes first; of wrong
//!    passwords, what has the fewest: junk does not make room for a victim's name.
//! 2. An attempt counts as wrong until it has proved right: attempts at the same time do not share a count.
//!
//! Not here: who waits, and how (`session::login`).

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use cohort_io::sync::Mutex;
use lru::LruCache;

use crate::socket::Peer;
use crate::sysvars::{Globals, ids};

/// Most users with wrong passwords that are remembered, and most that got in.
const USERS_MAX: usize = 4096;
/// Most hosts with wrong passwords that are remembered, and most that somebody has got in from.
const HOSTS_MAX: usize = 4096;
/// A host may have so many times more wrong passwords than a user before all its attempts wait.
const HOST_FACTOR: u64 = 10;
/// How long it takes until a host has one wrong password less.
const HOST_PARDON: Duration = Duration::from_secs(10);
/// Characters of a user's name that count: names of accounts are no longer.
const USER_LEN: usize = 32;

/// The server's memory of failed logins.
#[derive(Debug, Default)]
pub struct Hosts {
    broken_off: Mutex<Recent<IpAddr>>,
    wrong_passwords: Mutex<WrongPasswords>,
    /// From where somebody has logged in; at most [`HOSTS_MAX`].
    known: Mutex<Recent<IpAddr>>,
}

#[derive(Debug)]
struct WrongPasswords {
    users: Worst<(String, String)>,
    hosts: Worst<String>,
    /// Who has got in, and from where.
    known: LruCache<(String, String), ()>,
    /// When hosts were pardoned last.
    pardoned: Instant,
}

impl Default for WrongPasswords {
    fn default() -> Self {
        let (users, hosts) = (Worst::of(USERS_MAX), Worst::of(HOSTS_MAX));
        let known = LruCache::new(const { NonZeroUsize::new(USERS_MAX).unwrap() });
        WrongPasswords { users, hosts, known, pardoned: Instant::now() }
    }
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

    /// Forgets the handshakes that were broken off by a host from which somebody has got in, and knows it from now on.
    pub fn count_success(&self, peer: &Peer) {
        if let Some(host) = counted(peer) {
            self.broken_off.lock().remove(&host);
        }
        if let Some(host) = peer.host_address() {
            self.known.lock().add(host, HOSTS_MAX);
        }
    }

    /// Whether somebody has logged in from there; who is on this machine by the Unix socket always has.
    pub fn is_known(&self, peer: &Peer) -> bool {
        peer.host_address().is_none_or(|host| self.known.lock().get(&host) > 0)
    }

    /// Lets every host in again (FLUSH HOSTS).
    pub fn flush(&self) {
        self.broken_off.lock().clear();
    }

    /// Counts an attempt of `user` to log in, and says how long it has to wait before anything is said about it. If it
    /// proves right, it is [forgiven](Hosts::forgive).
    pub fn attempt(&self, user: &str, peer: &Peer, globals: &Globals) -> Attempt {
        let threshold = globals.get(ids::CONNECTION_CONTROL_FAILED_CONNECTIONS_THRESHOLD);
        let mut wrong = self.wrong_passwords.lock();
        let user_at = user_at(user, peer);
        let known = wrong.known.contains(&user_at);
        if threshold == 0 {
            return Attempt { wait: Duration::ZERO, known };
        }
        wrong.pardon_hosts(Instant::now());
        let of_host = wrong.hosts.add(peer.host()).checked_sub(threshold.saturating_mul(HOST_FACTOR));
        let of_user = wrong.users.add(user_at).checked_sub(threshold);
        let least = globals.get(ids::CONNECTION_CONTROL_MIN_CONNECTION_DELAY);
        let most = match known {
            true => least,
            false => globals.get(ids::CONNECTION_CONTROL_MAX_CONNECTION_DELAY),
        };
        let over = of_user.max(of_host.filter(|_| !known));
        let wait = over.map_or(0, |over| over.saturating_add(1).saturating_mul(1000).max(least).min(most));
        Attempt { wait: Duration::from_millis(wait), known }
    }

    /// Forgets the wrong passwords of a user who has got in, and remembers from where.
    pub fn forgive(&self, user: &str, peer: &Peer) {
        let mut wrong = self.wrong_passwords.lock();
        let user_at = user_at(user, peer);
        wrong.users.remove(&user_at);
        wrong.hosts.subtract(&peer.host(), 1);
        wrong.known.put(user_at, ());
    }

    /// Forgets all wrong passwords.
    pub fn forget_wrong_passwords(&self) {
        let mut wrong = self.wrong_passwords.lock();
        wrong.users = Worst::of(USERS_MAX);
        wrong.hosts = Worst::of(HOSTS_MAX);
    }
}

/// An attempt to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// How long it has to wait.
    pub wait: Duration,
    /// The user has got in from the same host.
    pub known: bool,
}

impl WrongPasswords {
    /// Takes a wrong password from each host for each [`HOST_PARDON`] that has passed.
    fn pardon_hosts(&mut self, now: Instant) {
        let pardons = now.saturating_duration_since(self.pardoned).as_secs() / HOST_PARDON.as_secs();
        if pardons > 0 {
            self.pardoned = now;
            for host in self.hosts.keys() {
                self.hosts.subtract(&host, pardons);
            }
        }
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

/// Counts of the keys that have the highest.
#[derive(Debug)]
struct Worst<K: Clone + Ord + Hash> {
    counts: HashMap<K, Count>,
    /// The same, those first that are to go first: the fewest, of these the one that was counted longest ago.
    order: BTreeSet<(Count, K)>,
    room: usize,
    /// How often has been counted.
    turn: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    number: u64,
    turn: u64,
}

impl<K: Clone + Ord + Hash> Worst<K> {
    fn of(room: usize) -> Worst<K> {
        Worst { counts: HashMap::new(), order: BTreeSet::new(), room, turn: 0 }
    }

    /// Adds one; gives the count from before.
    fn add(&mut self, key: K) -> u64 {
        let before = self.remove(&key);
        if self.counts.len() >= self.room
            && let Some((_, first)) = self.order.pop_first()
        {
            self.counts.remove(&first);
        }
        self.put(key, before + 1);
        before
    }

    fn subtract(&mut self, key: &K, number: u64) {
        let left = self.remove(key).saturating_sub(number);
        if left > 0 {
            self.put(key.clone(), left);
        }
    }

    fn put(&mut self, key: K, number: u64) {
        self.turn += 1;
        let count = Count { number, turn: self.turn };
        self.order.insert((count, key.clone()));
        self.counts.insert(key, count);
    }

    /// Forgets a key; gives its count.
    fn remove(&mut self, key: &K) -> u64 {
        let Some(count) = self.counts.remove(key) else { return 0 };
        self.order.remove(&(count, key.clone()));
        count.number
    }

    fn keys(&self) -> Vec<K> {
        self.counts.keys().cloned().collect()
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
            hosts.attempt(&format!("{user}{}", "x".repeat(100)), &kept, &globals);
        }
        let wrong = hosts.wrong_passwords.lock();
        assert_eq!((wrong.users.counts.len(), wrong.users.order.len()), (USERS_MAX, USERS_MAX));
        assert!(wrong.users.counts.keys().all(|(user, _)| user.len() == USER_LEN));
    }

    #[test]
    fn attempts_beyond_the_threshold_wait_longer_each_time_up_to_the_limit() {
        let (hosts, globals) = (Hosts::default(), Globals::new());
        globals.put(ids::CONNECTION_CONTROL_MAX_CONNECTION_DELAY, 2500_u64);
        let (peer, other) = (remote("10.0.0.1"), remote("10.0.0.2"));
        let wait = |user, peer| hosts.attempt(user, peer, &globals).wait.as_millis();
        let waits: Vec<_> = (0..6).map(|_| wait("ann", &peer)).collect();
        assert_eq!(waits, [0, 0, 0, 1000, 2000, 2500]);
        assert_eq!(wait("ann", &other), 0);
        assert_eq!(wait("bob", &peer), 0);
        assert_eq!(wait("ann", &peer), 2500, "the right one as well, and nobody else sees that meanwhile");
        hosts.forgive("ann", &peer);
        let waits: Vec<_> = (0..6).map(|_| wait("ann", &peer)).collect();
        assert_eq!(waits, [0, 0, 0, 1000, 1000, 1000], "then all is good, and never so bad again");
        globals.put(ids::CONNECTION_CONTROL_FAILED_CONNECTIONS_THRESHOLD, 0_u64);
        for _ in 0..5 {
            assert_eq!(wait("ann", &other), 0);
        }
    }

    #[test]
    fn junk_names_make_no_room_for_a_victim_and_their_host_waits() {
        let (hosts, globals) = (Hosts::default(), Globals::new());
        let (peer, owner) = (remote("10.0.0.1"), remote("10.0.0.2"));
        let wait = |user: &str, peer| hosts.attempt(user, peer, &globals).wait.as_millis();
        hosts.forgive("root", &owner);
        for _ in 0..5 {
            wait("root", &peer);
        }
        for user in 0..USERS_MAX + 100 {
            wait(&format!("junk{user}"), &peer);
        }
        assert_eq!(wait("root", &peer), 5000);
        assert_eq!(wait("another", &peer), 5000, "whatever user it is");
        assert_eq!(wait("root", &owner), 0);
        // The owner at the attacker's own host.
        hosts.forgive("root", &peer);
        assert_eq!(wait("root", &peer), 0);
        assert_eq!(wait("another", &peer), 5000);
        // A host is pardoned with time.
        hosts.wrong_passwords.lock().pardon_hosts(Instant::now() + HOST_PARDON * 2 * USERS_MAX as u32);
        assert_eq!(wait("another", &peer), 0);
    }
}
