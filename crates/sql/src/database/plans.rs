//! Plans by fingerprint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::RwLock;

use super::DatabaseStats;
use crate::expr::ParamKind;
use crate::plan::Plan;
use crate::session::SessionState;

/// Most plans that are kept; when there are more, all are dropped and those in use come back.
const MAX_PLANS: usize = 4096;
/// Longest fingerprint that is kept, bytes.
const MAX_KEY_BYTES: usize = 8192;

/// The plans of all sessions.
#[derive(Default)]
pub(super) struct PlanCache {
    plans: RwLock<HashMap<Box<[u8]>, Arc<Plan>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Begins a key with what a statement's meaning depends on besides its text.
pub(super) fn begin_key(session: &SessionState, database: Option<&str>, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(&session.sql_mode.bits().to_le_bytes());
    key.extend_from_slice(&(session.collation as u16).to_le_bytes());
    key.extend_from_slice(database.unwrap_or_default().as_bytes());
    key.push(0);
}

/// The key of a prepared statement whose parameters and variables are of these kinds.
pub(super) fn prepared_key<'k>(
    session: &SessionState,
    database: Option<&str>,
    sql: &[u8],
    kinds: impl Iterator<Item = &'k Option<ParamKind>>,
) -> Vec<u8> {
    let mut key = Vec::new();
    begin_key(session, database, &mut key);
    // No fingerprint begins like this.
    key.push(b'?');
    key.extend(kinds.map(|kind| kind.map_or(b'?', ParamKind::letter)));
    key.extend_from_slice(sql);
    key
}

impl PlanCache {
    /// The plan under `key`, if its tables are what they were.
    pub(super) fn find(&self, key: &[u8]) -> Option<Arc<Plan>> {
        let plan = self.plans.read().get(key).filter(|plan| plan.is_current()).cloned();
        match &plan {
            Some(_) => self.count_hit(),
            None => self.count_miss(),
        }
        plan
    }

    /// Keeps a plan.
    pub(super) fn keep(&self, key: &[u8], plan: &Arc<Plan>) {
        if key.len() > MAX_KEY_BYTES {
            return;
        }
        let mut plans = self.plans.write();
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(key.into(), plan.clone());
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
            plan_cache_entries: self.plans.read().len() as u64,
        }
    }
}
