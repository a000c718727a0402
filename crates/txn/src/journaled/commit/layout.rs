//! Laying out a cohort's journal record, in the ordered section: events and redo were encoded by their sessions.

use std::sync::atomic::Ordering;

use cohort_binlog::GtidSet;
use cohort_engine::EngineId;
use cohort_journal::{Durability, LaidOut};

use super::{Coordinator, Pending, Section};
use crate::binlog_order::Chunk;
use crate::journaled::large_record::LargeRecord;
use crate::journaled::record;

impl Coordinator {
    /// Whether this cohort is synced: the strictest of the two settings wins, where there is a binlog that
    /// `sync_binlog` can speak of.
    pub(super) fn durability(&self, section: &mut Section) -> Durability {
        let settings = &self.settings.durability;
        let sync_binlog = if self.log_bin { settings.sync_binlog.load(Ordering::Relaxed) } else { 0 };
        let always = settings.flush_log_at_trx_commit.load(Ordering::Relaxed) == 1;
        section.unsynced_cohorts += 1;
        if always || (sync_binlog > 0 && section.unsynced_cohorts >= sync_binlog) {
            section.unsynced_cohorts = 0;
            return Durability::Sync;
        }
        Durability::Flush
    }

    pub(super) fn lay_out_record(
        &self,
        section: &mut Section,
        members: &[Pending],
        first_order: u64,
        gtids: &GtidSet,
        chunks: &[Chunk<Vec<u8>>],
    ) -> Result<LaidOut, String> {
        let redo = redo_by_engine(members);
        record::encode_head(&mut section.head, first_order, members.len() as u32, gtids, chunks, &redo);
        if let Some(parts) = members.iter().find_map(|pending| pending.member.large.as_ref()) {
            LargeRecord::of(parts, chunks).encode(&mut section.head);
        }
        let mut parts: Vec<&[u8]> = vec![&section.head];
        parts.extend(chunks.iter().map(|chunk| &chunk.bytes[..]));
        parts.extend(redo.iter().flat_map(|(_, transactions)| transactions.iter().copied()));
        self.journal.layout(&parts).map_err(|error| error.to_string())
    }
}

/// Per engine the redo of every member that has some, in commit order.
pub(super) fn redo_by_engine(members: &[Pending]) -> Vec<(EngineId, Vec<&[u8]>)> {
    let mut engines: Vec<(EngineId, Vec<&[u8]>)> = Vec::new();
    for (engine, bytes) in members.iter().flat_map(|member| &member.member.redo) {
        match engines.iter_mut().find(|(known, _)| known == engine) {
            Some((_, transactions)) => transactions.push(bytes),
            None => engines.push((*engine, vec![bytes])),
        }
    }
    engines
}
