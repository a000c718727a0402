//! Plans by fingerprint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cohort_io::sync::RwLock;
use hashbrown::HashMap;

use super::DatabaseStats;
use crate::expr::{Literals, ParamKind};
use crate::memory::PLANNED_COLUMN_BYTES;
use crate::plan::Plan;
use crate::session::{GROUP_CONCAT_MAX_LEN, SessionState};
use crate::types::SqlMode;

/// Most plans that are kept; when there are more, all are dropped and those in use come back.
const MAX_PLANS: usize = 4096;
/// Longest fingerprint that is kept, bytes.
const MAX_KEY_BYTES: usize = 8192;
/// What all plans together may come to, bytes, and one of them.
const MAX_BYTES: usize = 64 << 20;
const MAX_PLAN_BYTES: usize = MAX_BYTES / 16;
/// What a plan comes to, at most, for each byte of its fingerprint, as measured, and each column of its result.
const BYTES_OF_KEY_BYTE: usize = 100;

/// The plans of all sessions.
#[derive(Default)]
pub(super) struct PlanCache {
    kept: RwLock<Kept>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Default)]
struct Kept {
    plans: HashMap<Box<[u8]>, Arc<Plan>>,
    /// What they come to; one that took the place of another is counted beside it.
    bytes: usize,
}

/// Begins a key with what a statement's meaning depends on besides its text.
pub(super) fn begin_key(session: &SessionState, literals: Literals, database: Option<&str>, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(&session.sql_mode.bits().to_le_bytes());
    // Collations have nine bits.
    let Literals { client, collation } = literals;
    key.extend_from_slice(&(collation.id() | (client as u16) << 12).to_le_bytes());
    // No name begins like these.
    if !session.pushes_conditions {
        key.push(0xfe);
    }
    if session.group_concat_max_len != GROUP_CONCAT_MAX_LEN {
        key.push(0xff);
        key.extend_from_slice(&session.group_concat_max_len.to_le_bytes());
    }
    key.extend_from_slice(database.unwrap_or_default().as_bytes());
    key.push(0);
}

/// Ends the key of a prepared statement that is read under this mode, and whose parameters and variables are of these kinds.
pub(super) fn end_prepared_key<'k>(
    key: &mut Vec<u8>,
    sql_mode: SqlMode,
    sql: &[u8],
    kinds: impl Iterator<Item = &'k Option<ParamKind>>,
) {
    // No fingerprint begins like this.
    key.push(b'?');
    key.extend_from_slice(&sql_mode.bits().to_le_bytes());
    kinds.for_each(|kind| ParamKind::write(*kind, key));
    key.extend_from_slice(sql);
}

impl PlanCache {
    /// The plan under `key`, if its tables are what they were.
    pub(super) fn find(&self, key: &[u8]) -> Option<Arc<Plan>> {
        let plan = self.kept.read().plans.get(key).filter(|plan| plan.is_current() && !plan.is_stale()).cloned();
        match &plan {
            Some(_) => self.count_hit(),
            None => self.count_miss(),
        }
        plan
    }

    /// Keeps a plan.
    pub(super) fn keep(&self, key: &[u8], plan: &Arc<Plan>) {
        let bytes = key.len() * BYTES_OF_KEY_BYTE + plan.columns.len() * PLANNED_COLUMN_BYTES;
        if key.len() > MAX_KEY_BYTES || bytes > MAX_PLAN_BYTES {
            return;
        }
        let mut kept = self.kept.write();
        if kept.plans.len() >= MAX_PLANS || kept.bytes + bytes > MAX_BYTES {
            *kept = Kept::default();
        }
        kept.bytes += bytes;
        kept.plans.insert(key.into(), plan.clone());
    }

    /// Counts a statement whose plan was at hand.
    pub(super) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a statement that had to be planned.
    pub(super) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> DatabaseStats {
        DatabaseStats {
            plan_cache_hits: self.hits.load(Ordering::Relaxed),
            plan_cache_misses: self.misses.load(Ordering::Relaxed),
            plan_cache_entries: self.kept.read().plans.len() as u64,
        }
    }
}
