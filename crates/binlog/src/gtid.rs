//! Global transaction ids and sets of them.
//!
//! Text form of a set: `uuid:first-last:number…, uuid:…`. Binary form (PREVIOUS_GTIDS, dump requests),
//! little-endian:
//!
//! ```text
//! servers u64 | per server: uuid 16 bytes, intervals u64 | per interval: first u64, after the last u64
//! ```
//!
//! Tagged GTIDs (`uuid:tag:number`, MySQL 8.4) are refused.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Largest transaction number: MySQL keeps one above it for "after the last".
const GNO_MAX: u64 = i64::MAX as u64 - 1;

/// A server's `server_uuid`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerUuid([u8; 16]);

impl ServerUuid {
    /// From its 16 bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> ServerUuid {
        ServerUuid(bytes)
    }

    /// Its 16 bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for ServerUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        uuid::Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for ServerUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ServerUuid {
    type Err = GtidParseError;

    fn from_str(text: &str) -> Result<ServerUuid, GtidParseError> {
        if text.starts_with("urn:") {
            return Err(GtidParseError::Uuid(text.to_owned()));
        }
        match uuid::Uuid::try_parse(text) {
            Ok(uuid) => Ok(ServerUuid(*uuid.as_bytes())),
            Err(_) => Err(GtidParseError::Uuid(text.to_owned())),
        }
    }
}

/// One transaction of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// The server that committed it first.
    pub uuid: ServerUuid,
    /// Its number there, from 1.
    pub gno: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.uuid, self.gno)
    }
}

impl FromStr for Gtid {
    type Err = GtidParseError;

    fn from_str(text: &str) -> Result<Gtid, GtidParseError> {
        let text = text.trim();
        let Some((uuid, gno)) = text.split_once(':') else {
            return Err(GtidParseError::Uuid(text.to_owned()));
        };
        refuse_tag(gno)?;
        Ok(Gtid { uuid: uuid.trim_end().parse()?, gno: parse_gno(gno)? })
    }
}

/// The text or the bytes are not a GTID or a set of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GtidParseError {
    /// No server UUID where one must stand.
    #[error("'{0}' is not a server UUID")]
    Uuid(String),
    /// No transaction number where one must stand.
    #[error("'{0}' is not a transaction number from 1 to {GNO_MAX}")]
    Number(String),
    /// A tagged GTID.
    #[error("tagged GTIDs are not supported: '{0}'")]
    Tagged(String),
    /// A binary set is cut off, or its intervals are out of order.
    #[error("damaged GTID set at byte {0}")]
    Binary(usize),
}

/// First and last number, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    first: u64,
    last: u64,
}

/// A set of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    /// Per server the intervals, ascending, with a gap between any two; never an empty list.
    servers: BTreeMap<ServerUuid, Vec<Interval>>,
}

impl GtidSet {
    /// The empty set.
    pub const fn new() -> GtidSet {
        GtidSet { servers: BTreeMap::new() }
    }

    /// The transactions `first` to `last` of one server, both included; `first` is at least 1.
    pub fn of_range(uuid: ServerUuid, first: u64, last: u64) -> GtidSet {
        let intervals = vec![Interval { first, last }];
        GtidSet { servers: (first <= last).then_some((uuid, intervals)).into_iter().collect() }
    }

    /// Those of one server.
    pub fn of_server(&self, uuid: ServerUuid) -> GtidSet {
        GtidSet { servers: self.servers.get(&uuid).map(|intervals| (uuid, intervals.clone())).into_iter().collect() }
    }

    /// True when it holds no transaction.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Adds one transaction.
    pub fn insert(&mut self, gtid: Gtid) {
        let intervals = self.servers.entry(gtid.uuid).or_default();
        match intervals.last_mut() {
            Some(last) if last.last.checked_add(1) == Some(gtid.gno) => last.last = gtid.gno,
            _ => add(intervals, Interval { first: gtid.gno, last: gtid.gno }),
        }
    }

    /// Whether it holds the transaction.
    pub fn contains(&self, gtid: Gtid) -> bool {
        let Some(intervals) = self.servers.get(&gtid.uuid) else {
            return false;
        };
        let i = intervals.partition_point(|interval| interval.last < gtid.gno);
        intervals.get(i).is_some_and(|interval| interval.first <= gtid.gno)
    }

    /// Adds every transaction of `other`.
    pub fn union(&mut self, other: &GtidSet) {
        for (uuid, theirs) in &other.servers {
            let ours = self.servers.entry(*uuid).or_default();
            theirs.iter().for_each(|interval| add(ours, *interval));
        }
    }

    /// Takes every transaction of `other` away.
    pub fn subtract(&mut self, other: &GtidSet) {
        for (uuid, theirs) in &other.servers {
            if let Some(ours) = self.servers.get_mut(uuid) {
                *ours = difference(ours, theirs);
                if ours.is_empty() {
                    self.servers.remove(uuid);
                }
            }
        }
    }

    /// Whether a transaction is in both.
    pub fn intersects(&self, other: &GtidSet) -> bool {
        let mut left = self.clone();
        left.subtract(other);
        left != *self
    }

    /// Whether `other` holds every transaction of this set.
    pub fn is_subset(&self, other: &GtidSet) -> bool {
        let mut rest = self.clone();
        rest.subtract(other);
        rest.is_empty()
    }

    /// The highest number of a server's transactions, or 0: the next commit there gets one more.
    pub fn last_gno(&self, uuid: ServerUuid) -> u64 {
        self.servers.get(&uuid).and_then(|intervals| intervals.last()).map_or(0, |interval| interval.last)
    }

    /// The lowest number from `from` on, which is at least 1, of which it holds no transaction of the server.
    pub fn first_free(&self, uuid: ServerUuid, from: u64) -> u64 {
        let intervals = self.servers.get(&uuid).map_or(&[][..], Vec::as_slice);
        match intervals.get(intervals.partition_point(|interval| interval.last < from)) {
            Some(interval) if interval.first <= from => interval.last + 1,
            _ => from,
        }
    }

    /// How many transactions it holds, or the highest number there is.
    pub fn count(&self) -> u64 {
        let counts = self.servers.values().flatten().map(|interval| interval.last - interval.first + 1);
        counts.fold(0, u64::saturating_add)
    }

    /// Bytes of the binary form.
    pub fn encoded_len(&self) -> u64 {
        let of_server = |intervals: &Vec<Interval>| 24 + 16 * intervals.len() as u64;
        8 + self.servers.values().map(of_server).sum::<u64>()
    }

    /// Appends the binary form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.servers.len() as u64).to_le_bytes());
        for (uuid, intervals) in &self.servers {
            out.extend_from_slice(uuid.as_bytes());
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for interval in intervals {
                out.extend_from_slice(&interval.first.to_le_bytes());
                out.extend_from_slice(&(interval.last + 1).to_le_bytes());
            }
        }
    }

    /// Reads the binary form, which must fill `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<GtidSet, GtidParseError> {
        let (set, rest) = GtidSet::decode_first(bytes)?;
        if rest.is_empty() { Ok(set) } else { Err(GtidParseError::Binary(bytes.len() - rest.len())) }
    }

    /// Reads the binary form that `bytes` begin with, and returns what follows too.
    pub fn decode_first(bytes: &[u8]) -> Result<(GtidSet, &[u8]), GtidParseError> {
        let mut at = 0;
        let mut set = GtidSet::new();
        for _ in 0..take_u64(bytes, &mut at)? {
            let uuid = ServerUuid(take(bytes, &mut at)?);
            let intervals = set.servers.entry(uuid).or_default();
            let count = take_u64(bytes, &mut at)?;
            if count == 0 {
                return Err(GtidParseError::Binary(at));
            }
            for _ in 0..count {
                let (first, end) = (take_u64(bytes, &mut at)?, take_u64(bytes, &mut at)?);
                let floor = intervals.last().map_or(0, |interval| interval.last);
                if first <= floor || end <= first || end > GNO_MAX + 1 {
                    return Err(GtidParseError::Binary(at));
                }
                add(intervals, Interval { first, last: end - 1 });
            }
        }
        Ok((set, &bytes[at..]))
    }
}

fn take<const N: usize>(bytes: &[u8], at: &mut usize) -> Result<[u8; N], GtidParseError> {
    let field = bytes.get(*at..).and_then(|rest| rest.first_chunk::<N>()).ok_or(GtidParseError::Binary(*at))?;
    *at += N;
    Ok(*field)
}

fn take_u64(bytes: &[u8], at: &mut usize) -> Result<u64, GtidParseError> {
    take(bytes, at).map(u64::from_le_bytes)
}

/// Adds an interval and joins it with those it touches.
fn add(intervals: &mut Vec<Interval>, new: Interval) {
    let from = intervals.partition_point(|interval| interval.last.saturating_add(1) < new.first);
    let to = from + intervals[from..].partition_point(|interval| interval.first <= new.last.saturating_add(1));
    let mut joined = new;
    if let [first, ..] = &intervals[from..to] {
        joined.first = joined.first.min(first.first);
    }
    if let [.., last] = &intervals[from..to] {
        joined.last = joined.last.max(last.last);
    }
    intervals.splice(from..to, [joined]);
}

fn difference(ours: &[Interval], theirs: &[Interval]) -> Vec<Interval> {
    let mut left = Vec::new();
    for interval in ours {
        let mut first = interval.first;
        let from = theirs.partition_point(|hole| hole.last < interval.first);
        for hole in theirs[from..].iter().take_while(|hole| hole.first <= interval.last) {
            if first < hole.first {
                left.push(Interval { first, last: hole.first - 1 });
            }
            first = hole.last + 1;
        }
        if first <= interval.last {
            left.push(Interval { first, last: interval.last });
        }
    }
    left
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (uuid, intervals)) in self.servers.iter().enumerate() {
            write!(f, "{}{uuid}", if i > 0 { ",\n" } else { "" })?;
            for interval in intervals {
                write!(f, ":{}", interval.first)?;
                if interval.last > interval.first {
                    write!(f, "-{}", interval.last)?;
                }
            }
        }
        Ok(())
    }
}

impl FromStr for GtidSet {
    type Err = GtidParseError;

    /// Reads what MySQL takes: any white space between the parts, empty parts between commas, intervals in
    /// any order, overlapping or empty (`5-3`).
    fn from_str(text: &str) -> Result<GtidSet, GtidParseError> {
        let mut set = GtidSet::new();
        for server in text.split(',').map(str::trim).filter(|server| !server.is_empty()) {
            let mut parts = server.split(':').map(str::trim);
            let uuid: ServerUuid = parts.next().unwrap_or_default().parse()?;
            let mut intervals = Vec::new();
            let mut parts = parts.peekable();
            if parts.peek().is_none() {
                return Err(GtidParseError::Number(String::new()));
            }
            for part in parts {
                refuse_tag(part)?;
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last) = (parse_gno(first)?, parse_gno(last)?);
                if first <= last {
                    add(&mut intervals, Interval { first, last });
                }
            }
            let ours = set.servers.entry(uuid).or_default();
            intervals.into_iter().for_each(|interval| add(ours, interval));
            if ours.is_empty() {
                set.servers.remove(&uuid);
            }
        }
        Ok(set)
    }
}

fn refuse_tag(part: &str) -> Result<(), GtidParseError> {
    match part.trim_start().bytes().next() {
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => Err(GtidParseError::Tagged(part.trim().to_owned())),
        _ => Ok(()),
    }
}

fn parse_gno(text: &str) -> Result<u64, GtidParseError> {
    let digits = text.trim();
    let number = digits.parse().ok().filter(|gno| (1..=GNO_MAX).contains(gno));
    number.filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit())).ok_or(GtidParseError::Number(digits.to_owned()))
}

#[cfg(test)]
mod tests;
