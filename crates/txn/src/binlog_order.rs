//! A cohort's place in the binlog: GTIDs, logical clocks, positions.
//!
//! All of it runs in the ordered section, one cohort at a time, so it only stamps and copies: events
//! were encoded by their sessions.

use std::sync::atomic::Ordering;

use cohort_binlog::{BinlogPosition, FileStart, Gtid, Stamp, file_header, rotate_event};

use crate::given_gtids::{Given, NewGtids, OwnedGtid};
use crate::options::GtidMode;
use crate::outcome::Committed;
use crate::shared::{Member, Note, Shared};
use crate::stats::add;

/// Binlog bytes of a cohort that belong together: where they go, and the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk<B> {
    /// Number in the binlog file's name.
    pub file: u64,
    /// Offset in that file, bytes.
    pub offset: u64,
    /// Complete events; for offset 0 the file's header first.
    pub bytes: B,
}

impl<B: AsRef<[u8]>> Chunk<B> {
    /// Where its first byte goes.
    pub fn place(&self) -> BinlogPosition {
        BinlogPosition { file_number: self.file, offset: self.offset }
    }

    /// Where the byte after its last one goes.
    pub fn end(&self) -> BinlogPosition {
        BinlogPosition { offset: self.offset + self.bytes.as_ref().len() as u64, ..self.place() }
    }
}

/// Where the binlog goes on: the next position and logical clock.
pub(crate) struct BinlogOrder {
    position: BinlogPosition,
    /// What was changed of GTIDs since the last [`BinlogOrder::take_new_gtids`].
    new_gtids: NewGtids,
    /// Logical clock of the current binlog file.
    sequence_number: u64,
    /// A transaction that begins at this offset or later becomes a point for readers.
    point_due: u64,
}

impl BinlogOrder {
    /// After what `note` names.
    pub fn after(note: &Note) -> BinlogOrder {
        BinlogOrder { position: note.position, new_gtids: NewGtids::default(), sequence_number: 0, point_due: u64::MAX }
    }

    /// Whether the file has reached `max_binlog_size` and the next one is ready.
    pub fn file_is_full(&self, shared: &Shared) -> bool {
        let full = self.position.offset >= shared.settings.max_binlog_size.load(Ordering::Relaxed);
        full && self.next_is_ready(shared)
    }

    fn next_is_ready(&self, shared: &Shared) -> bool {
        shared.binlog.next_is_ready(self.position.file_number + 1)
    }

    /// What was changed of GTIDs since the last call.
    pub fn take_new_gtids(&mut self) -> NewGtids {
        std::mem::take(&mut self.new_gtids)
    }

    /// The cohort's binlog bytes: one chunk, more where a file ends within the cohort.
    ///
    /// With `rotate` a file that has reached `max_binlog_size` ends where the next transaction would begin.
    pub fn lay_out<'m>(
        &mut self,
        shared: &Shared,
        members: impl Iterator<Item = &'m mut Member>,
        rotate: bool,
    ) -> Vec<Chunk<Vec<u8>>> {
        let now_us = shared.clock.now_us();
        let mut chunks =
            vec![Chunk { file: self.position.file_number, offset: self.position.offset, bytes: Vec::new() }];
        // Members of one cohort do not depend on each other, except where the overlay saw it.
        let mut independent_since = self.sequence_number;
        let mut sequence_numbers = Vec::with_capacity(members.size_hint().0);
        let mut first_order = None;
        let mut room = 0;
        let mut transactions = 0;
        let mut given = shared.given_gtids.lock();
        for member in members {
            let first_order = *first_order.get_or_insert(member.order);
            room += member.binlog_room;
            // A large transaction has a file of its own, which is there in any case.
            let is_large = member.large_events().is_some();
            let rotation = is_large || rotate && member.events.is_some() && self.file_is_full(shared);
            let rotation = rotation.then_some(FileStart::Rotation);
            // One that was asked for comes to nothing without a file that has its room: who asked sees that.
            let asked = member.begins_file.filter(|start| !start.follows_rotate() || self.next_is_ready(shared));
            if let Some(start) = asked.or(rotation) {
                self.lay_out_file_start(shared, &mut given, &mut chunks, start, now_us);
                independent_since = 0;
                sequence_numbers.fill(0);
            }
            let mut gtid = None;
            if let Some(events) = &mut member.events {
                // No reader by GTID begins among anonymous transactions.
                if self.position.offset >= self.point_due && shared.gtid_mode == GtidMode::On {
                    self.point_due = shared.binlog.points().note(self.position, given.ordered());
                }
                // A DDL statement depends on everything before it, and everything after it depends on it; so does an XA
                // transaction, of whose rows the overlay knows nothing when it is prepared.
                let serial = events.is_serial();
                let after = member.depends_on.and_then(|order| order.checked_sub(first_order));
                let after = after.map_or(0, |at| sequence_numbers[at as usize]);
                let last_committed = if serial { self.sequence_number } else { independent_since.max(after) };
                self.sequence_number += 1;
                if serial {
                    independent_since = self.sequence_number;
                }
                let stamp = Stamp {
                    gtid: self.give(shared, &mut given, member.gtid.as_ref()),
                    last_committed,
                    sequence_number: self.sequence_number,
                    xid: member.xid,
                    commit_time_us: now_us,
                };
                let chunk = chunks.last_mut().expect("there is always a chunk");
                self.position.offset = events.lay_out(&mut chunk.bytes, self.position.offset, &stamp);
                transactions += 1;
                gtid = stamp.gtid;
            } else if is_large {
                gtid = self.lay_out_large(shared, &mut given, &mut chunks, member, now_us);
                independent_since = self.sequence_number;
                transactions += 1;
            }
            sequence_numbers.push(self.sequence_number);
            member.committed = Some(Committed { gtid, position: self.position });
        }
        drop(given);
        let used: u64 = chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
        shared.binlog.release(room.saturating_sub(used));
        add(&shared.stats.binlog_commits, transactions);
        add(&shared.stats.binlog_group_commits, u64::from(transactions > 0));
        chunks
    }

    /// Completes the file of a large transaction, which has just begun. The transaction depends on everything before it,
    /// and everything after it depends on it.
    fn lay_out_large(
        &mut self,
        shared: &Shared,
        given: &mut Given,
        chunks: &mut Vec<Chunk<Vec<u8>>>,
        member: &Member,
        now_us: u64,
    ) -> Option<Gtid> {
        let events = member.large_events().expect("a large transaction that is logged");
        self.sequence_number += 1;
        let gtid = self.give(shared, given, member.gtid.as_ref());
        let (sequence_number, xid) = (self.sequence_number, member.xid);
        let stamp = Stamp { gtid, last_committed: sequence_number - 1, sequence_number, xid, commit_time_us: now_us };
        let head = chunks.last_mut().expect("its file has begun");
        events.push_head(&mut head.bytes, &stamp);
        let close = Chunk { file: head.file, offset: events.end(), bytes: events.close(&stamp) };
        self.position = close.end();
        chunks.push(close);
        gtid
    }

    /// The GTID of a transaction, which is ordered with it: the one that was chosen, or the next; none where new
    /// transactions are anonymous.
    fn give(&mut self, shared: &Shared, given: &mut Given, chosen: Option<&OwnedGtid>) -> Option<Gtid> {
        let gtid = match (chosen, shared.gtid_mode) {
            (Some(owned), _) => given.order(owned),
            (None, GtidMode::On) => given.next(shared.server_uuid),
            (None, GtidMode::Off) => return None,
        };
        self.new_gtids.set.insert(gtid);
        Some(gtid)
    }

    /// Begins the next binlog file; on rotation the current one ends by naming it.
    fn lay_out_file_start(
        &mut self,
        shared: &Shared,
        given: &mut Given,
        chunks: &mut Vec<Chunk<Vec<u8>>>,
        start: FileStart,
        now_us: u64,
    ) {
        let now_s = (now_us / 1_000_000) as u32;
        let file = self.position.file_number + 1;
        if start.follows_rotate() {
            let next = shared.binlog.file_name(file);
            let event = rotate_event(shared.identity.server_id, now_s, self.position.offset, &next);
            let chunk = chunks.last_mut().expect("there is always a chunk");
            chunk.bytes.extend_from_slice(&event);
        }
        match start {
            FileStart::ServerStart | FileStart::Rotation => {}
            FileStart::GtidsAdded => self.new_gtids.set.union(&given.order_added()),
            FileStart::GtidsReset => {
                given.forget();
                self.new_gtids.forget();
            }
        }
        let header = file_header(&shared.identity, start, now_s, given.ordered());
        self.position = BinlogPosition { file_number: file, offset: header.len() as u64 };
        self.sequence_number = 0;
        self.point_due = shared.binlog.points().begin_file(self.position, given.ordered());
        chunks.push(Chunk { file, offset: 0, bytes: header });
    }
}

#[cfg(test)]
mod tests;
