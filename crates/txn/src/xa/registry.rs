//! The names of XA transactions in use, and what is prepared under them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cohort_binlog::XaId;
use cohort_engine::{EngineId, KeyRange};

use crate::blocking_hook::blocking;
use crate::locks::HeldLocks;
use crate::sync::Mutex;
use crate::write_set::WriteSet;

/// A prepared transaction.
pub(super) struct Prepared {
    pub locks: HeldLocks,
    pub writes: WriteSet,
    /// Whether the decision goes into the binlog, as the prepare did.
    pub logged: bool,
    /// Whether there is an entry.
    pub stored: bool,
}

/// A name in use: `None` once it is decided.
pub(super) type Branch = Arc<Mutex<Option<Prepared>>>;

pub(super) enum Use {
    /// Some session is at work on it.
    Active,
    Prepared(Branch),
}

/// Names of XA transactions in use.
#[derive(Default)]
pub(crate) struct XaRegistry {
    pub(super) names: Mutex<BTreeMap<XaId, Use>>,
}

/// The name of an XA transaction that a session has open; dropping it gives the name up.
pub struct ActiveXa {
    pub(super) registry: Arc<XaRegistry>,
    pub(super) xid: Option<XaId>,
}

impl ActiveXa {
    pub fn xid(&self) -> &XaId {
        self.xid.as_ref().expect("there until it is prepared")
    }

    pub(super) fn become_prepared(mut self, prepared: Prepared) {
        if let Some(xid) = self.xid.take() {
            self.registry.names.lock().insert(xid, Use::Prepared(Arc::new(Mutex::new(Some(prepared)))));
        }
    }
}

impl Drop for ActiveXa {
    fn drop(&mut self) {
        if let Some(xid) = &self.xid {
            self.registry.names.lock().remove(xid);
        }
    }
}

impl XaRegistry {
    pub(super) fn prepared(&self) -> Vec<(XaId, Branch)> {
        let names = self.names.lock();
        let prepared = names.iter().filter_map(|(xid, used)| match used {
            Use::Active => None,
            Use::Prepared(branch) => Some((xid.clone(), branch.clone())),
        });
        prepared.collect()
    }

    pub(super) fn find(&self, xid: &XaId) -> Option<Branch> {
        match self.names.lock().get(xid) {
            Some(Use::Prepared(branch)) => Some(branch.clone()),
            _ => None,
        }
    }

    /// The highest key within `range` that a prepared transaction will put if it commits.
    pub(crate) fn last_key(&self, engine: EngineId, range: &KeyRange) -> Option<Vec<u8>> {
        let last = |branch: &Branch| {
            let branch = blocking(|| branch.lock());
            let versions = branch.as_ref()?.writes.range(engine, range);
            versions.iter().rev().find(|(_, version)| version.is_some()).map(|(key, _)| key.to_vec())
        };
        self.prepared().iter().filter_map(|(_, branch)| last(branch)).max()
    }
}
