//! What has been used of accounts' limits, and the wrong passwords that lock them: known since the start, never stored.
//!
//! Outline: a connection has a [`Place`] at its account; [`Usage`] is what all connections of one account share.
//!
//! An account without limits pays for its place when it logs in, and nothing for its statements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cohort_io::sync::Mutex;
use cohort_sql::SqlError;
use cohort_sql::ast::{AccountName, LockTime};
use cohort_sql::error::{
    ER_TOO_MANY_USER_CONNECTIONS, ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
    ER_USER_LIMIT_REACHED,
};
use serde::{Deserialize, Serialize};

const HOUR: Duration = Duration::from_secs(3600);
const DAY_S: u64 = 86_400;

/// What an account may use; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// `MAX_QUERIES_PER_HOUR`
    pub queries: u32,
    /// `MAX_UPDATES_PER_HOUR`
    pub updates: u32,
    /// `MAX_CONNECTIONS_PER_HOUR`
    pub connections: u32,
    /// `MAX_USER_CONNECTIONS`: connections at a time.
    pub user_connections: u32,
}

/// What wrong passwords do to an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locking {
    /// `FAILED_LOGIN_ATTEMPTS`: so many in a row lock it; 0 for never.
    pub after: u16,
    /// `PASSWORD_LOCK_TIME`
    pub time: LockTime,
}

impl Locking {
    fn is_on(self) -> bool {
        self.after > 0 && self.time != LockTime::Days(0)
    }
}

/// What is used of every account.
#[derive(Debug, Default)]
pub struct Usages(Mutex<BTreeMap<AccountName, Arc<Usage>>>);

/// What is used of one account.
#[derive(Debug)]
pub struct Usage(Mutex<Used>);

#[derive(Debug)]
struct Used {
    connected: u64,
    /// When the hour began that is counted.
    since: Instant,
    queries: u32,
    updates: u32,
    connections: u32,
    wrong_passwords: u16,
    locked: Option<Instant>,
}

/// A connection's place at its account, as long as it is there.
#[derive(Debug)]
pub struct Place(Arc<Usage>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.lock().connected -= 1;
    }
}

impl Usages {
    fn of(&self, account: &AccountName) -> Arc<Usage> {
        let mut all = self.0.lock();
        if let Some(known) = all.get(account) {
            return known.clone();
        }
        let (since, none) = (Instant::now(), 0);
        let used =
            Used { connected: 0, since, queries: 0, updates: 0, connections: none, wrong_passwords: 0, locked: None };
        all.entry(account.clone()).or_insert(Arc::new(Usage(Mutex::new(used)))).clone()
    }

    /// A place for a connection; 1226 if the account has no more, 1203 if it has no limit of its own and `most`
    /// (`max_user_connections`, 0 for none) have one.
    pub fn take_place(&self, account: &AccountName, limits: Limits, most: u64) -> Result<Place, SqlError> {
        let usage = self.of(account);
        let mut used = usage.0.lock();
        used.begin_hour(Instant::now());
        let own = u64::from(limits.user_connections);
        if own > 0 && used.connected >= own {
            return Err(reached(account, "max_user_connections", limits.user_connections));
        }
        if own == 0 && most > 0 && used.connected >= most {
            return Err(SqlError::new(ER_TOO_MANY_USER_CONNECTIONS, &[&account.user]));
        }
        if limits.connections > 0 && used.connections >= limits.connections {
            return Err(reached(account, "max_connections_per_hour", limits.connections));
        }
        used.connections = used.connections.saturating_add(1);
        used.connected += 1;
        drop(used);
        Ok(Place(usage))
    }

    /// Begins the hour of every account anew (FLUSH `USER_RESOURCES`).
    pub fn forget_hours(&self) {
        self.0.lock().values().for_each(|usage| usage.0.lock().forget_hour());
    }

    /// Begins the hour of an account anew: a limit has been set.
    pub fn forget_hour(&self, account: &AccountName) {
        self.of(account).0.lock().forget_hour();
    }

    /// Forgets what is known of an account that is gone. Those who are connected keep their places.
    pub fn forget(&self, account: &AccountName) {
        self.0.lock().remove(account);
    }

    /// Unlocks every account that wrong passwords have locked (FLUSH PRIVILEGES).
    pub fn unlock_all(&self) {
        self.0.lock().values().for_each(|usage| usage.0.lock().unlock());
    }

    /// Unlocks an account that wrong passwords have locked.
    pub fn unlock(&self, account: &AccountName) {
        self.of(account).0.lock().unlock();
    }

    /// Whether wrong passwords have locked the account.
    pub fn is_locked(&self, account: &AccountName, locking: Locking) -> bool {
        locking.is_on() && self.of(account).0.lock().left(locking, Instant::now()).is_some()
    }

    /// Notes that somebody came with the right or a wrong password; 3955 if the account is locked, be it by this one.
    pub fn judge(&self, account: &AccountName, locking: Locking, right: bool, host: &str) -> Result<(), SqlError> {
        if !locking.is_on() {
            return Ok(());
        }
        let left = self.of(account).0.lock().judge(locking, right, Instant::now());
        let Some(left) = left else { return Ok(()) };
        let (days, left) = match locking.time {
            LockTime::Unbounded => ("unlimited".to_owned(), "unlimited".to_owned()),
            LockTime::Days(days) => (days.to_string(), left.as_secs().div_ceil(DAY_S).to_string()),
        };
        Err(SqlError::new(
            ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
            &[&account.user, &host, &days, &left, &locking.after],
        ))
    }
}

impl Place {
    /// Counts a statement; 1226 if the account has no more of them in this hour.
    pub fn begin_query(&self, account: &AccountName, limits: Limits) -> Result<(), SqlError> {
        let mut used = self.0.0.lock();
        used.begin_hour(Instant::now());
        count(&mut used.queries, limits.queries, account, "max_questions")
    }

    /// Counts a statement that changes something; 1226 if the account has no more of them in this hour.
    pub fn begin_update(&self, account: &AccountName, limits: Limits) -> Result<(), SqlError> {
        let mut used = self.0.0.lock();
        used.begin_hour(Instant::now());
        count(&mut used.updates, limits.updates, account, "max_updates")
    }
}

impl Used {
    fn begin_hour(&mut self, now: Instant) {
        if now.saturating_duration_since(self.since) >= HOUR {
            self.forget_hour();
            self.since = now;
        }
    }

    fn forget_hour(&mut self) {
        (self.queries, self.updates, self.connections) = (0, 0, 0);
        self.since = Instant::now();
    }

    fn unlock(&mut self) {
        (self.wrong_passwords, self.locked) = (0, None);
    }

    /// For how long the account stays locked; `None` if it is not.
    fn left(&self, locking: Locking, now: Instant) -> Option<Duration> {
        let left = lasts(locking).saturating_sub(now.saturating_duration_since(self.locked?));
        (!left.is_zero()).then_some(left)
    }

    /// For how long the account is locked from now on; `None` if it is not.
    fn judge(&mut self, locking: Locking, right: bool, now: Instant) -> Option<Duration> {
        if let Some(left) = self.left(locking, now) {
            return Some(left);
        }
        if self.locked.is_some() {
            self.unlock();
        }
        if right {
            self.unlock();
            return None;
        }
        self.wrong_passwords = self.wrong_passwords.saturating_add(1);
        if self.wrong_passwords < locking.after {
            return None;
        }
        self.locked = Some(now);
        Some(lasts(locking))
    }
}

/// How long wrong passwords lock an account.
fn lasts(locking: Locking) -> Duration {
    match locking.time {
        LockTime::Unbounded => Duration::MAX,
        LockTime::Days(days) => Duration::from_secs(u64::from(days) * DAY_S),
    }
}

fn count(used: &mut u32, most: u32, account: &AccountName, what: &str) -> Result<(), SqlError> {
    if most > 0 && *used >= most {
        return Err(reached(account, what, most));
    }
    *used = used.saturating_add(1);
    Ok(())
}

fn reached(account: &AccountName, what: &str, most: u32) -> SqlError {
    SqlError::new(ER_USER_LIMIT_REACHED, &[&account.user, &what, &most])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> AccountName {
        AccountName { user: "ann".into(), host: "%".into() }
    }

    fn errno<T>(result: Result<T, SqlError>) -> u16 {
        result.map_or_else(|error| error.errno, |_| 0)
    }

    #[test]
    fn places_come_back_and_an_own_limit_goes_before_that_of_all() {
        let usages = Usages::default();
        let limits = Limits { user_connections: 2, ..Limits::default() };
        let first = usages.take_place(&ann(), limits, 1).unwrap();
        let _second = usages.take_place(&ann(), limits, 1).unwrap();
        assert_eq!(errno(usages.take_place(&ann(), limits, 0)), 1226);
        assert_eq!(errno(usages.take_place(&ann(), Limits::default(), 2)), 1203);
        drop(first);
        assert_eq!(errno(usages.take_place(&ann(), limits, 0)), 0);
        // Those of an account that was dropped do not count for one of the same name.
        usages.forget(&ann());
        assert_eq!(errno(usages.take_place(&ann(), Limits::default(), 1)), 0);
    }

    #[test]
    fn an_hour_has_so_many_statements_and_the_next_as_many_again() {
        let usages = Usages::default();
        let limits = Limits { queries: 2, updates: 1, ..Limits::default() };
        let place = usages.take_place(&ann(), limits, 0).unwrap();
        let query = || errno(place.begin_query(&ann(), limits));
        assert_eq!([query(), query(), query()], [0, 0, 1226]);
        assert_eq!([errno(place.begin_update(&ann(), limits)), errno(place.begin_update(&ann(), limits))], [0, 1226]);
        usages.forget_hours();
        assert_eq!([query(), query(), query()], [0, 0, 1226]);
        let mut used = place.0.0.lock();
        let since = used.since;
        used.begin_hour(since + HOUR - Duration::from_secs(1));
        assert_eq!(used.queries, 2);
        used.begin_hour(since + HOUR);
        assert_eq!((used.queries, used.since), (0, since + HOUR));
    }

    #[test]
    fn wrong_passwords_lock_the_account_for_its_days() {
        let usages = Usages::default();
        let locking = Locking { after: 2, time: LockTime::Days(3) };
        let judge = |right| usages.judge(&ann(), locking, right, "h").map_err(|error| error.to_string());
        assert!(judge(false).is_ok());
        assert!(judge(true).is_ok(), "a right one forgets the wrong ones");
        assert!(judge(false).is_ok());
        let refused = judge(false).unwrap_err();
        assert!(refused.contains("blocked for 3 day(s) (3 day(s) remaining) due to 2 consecutive"), "{refused}");
        assert!(judge(true).is_err(), "while it is locked the right one does not help");
        usages.unlock(&ann());
        assert!(judge(true).is_ok());
        let usage = usages.of(&ann());
        let mut used = usage.0.lock();
        let (now, day) = (Instant::now(), Duration::from_secs(DAY_S));
        used.judge(locking, false, now);
        assert_eq!(used.judge(locking, false, now), Some(3 * day));
        assert_eq!(used.judge(locking, true, now + 2 * day), Some(day));
        assert_eq!(used.judge(locking, true, now + 3 * day), None);
        let unbounded = Locking { after: 1, time: LockTime::Unbounded };
        assert!(used.judge(unbounded, false, now).is_some());
        assert!(used.judge(unbounded, true, now + 10_000 * day).is_some());
        // Without either there is no lock.
        drop(used);
        for off in [Locking { after: 0, ..locking }, Locking { time: LockTime::Days(0), ..locking }] {
            assert!((0..9).all(|_| usages.judge(&ann(), off, false, "h").is_ok()));
        }
    }
}
