//! The snapshot of a transaction that stays open between its statements, and what of it is given up.
//!
//! A snapshot is a view of every engine at one place in the commit order, and an engine keeps what a view may still read:
//! redb's file grows with every change meanwhile. A transaction that stays open would pin engines that it never reads. So
//! a view that its transaction has not used within [`UNREAD_KEPT`] is given up. It can be had again for as long as
//! nothing has changed in that engine; after that a read there is refused, and the transaction has to be tried again.
//!
//! Views that were used stay, and so do all of a snapshot that was asked for (WITH CONSISTENT SNAPSHOT): a backup reads
//! its tables one after the other.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cohort_engine::{EngineId, Snapshot};

use crate::shared::Published;
use crate::sync::Mutex;

/// How long a view waits for its first use.
pub(crate) const UNREAD_KEPT: Duration = Duration::from_secs(60);

/// Which engines a transaction has read in its snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnginesRead(u64);

impl EnginesRead {
    /// So many engines, all of them.
    pub fn all(engines: usize) -> EnginesRead {
        (0..engines).fold(EnginesRead::default(), |read, engine| EnginesRead(read.0 | 1 << engine))
    }

    pub fn add(&mut self, engine: EngineId) {
        self.0 |= 1 << engine.0;
    }

    fn has(self, engine: usize) -> bool {
        self.0 >> engine & 1 == 1
    }
}

enum View {
    Used(Arc<dyn Snapshot>),
    Unused(Arc<dyn Snapshot>),
    GivenUp,
}

pub(crate) struct HeldSnapshot {
    /// Its place in the commit order.
    pub order: u64,
    since: Instant,
    /// By engine.
    views: Mutex<Vec<View>>,
}

impl HeldSnapshot {
    /// Of a transaction that has read the engines `read` in `published`.
    fn new(published: &Published, read: EnginesRead) -> HeldSnapshot {
        let views = published.views().iter().enumerate().map(|(engine, view)| match read.has(engine) {
            true => View::Used(view.clone()),
            false => View::Unused(view.clone()),
        });
        HeldSnapshot { order: published.order, since: Instant::now(), views: Mutex::new(views.collect()) }
    }

    /// The view of `engine`, which is used from now on; `None` if it was given up.
    pub fn view(&self, engine: EngineId) -> Option<Arc<dyn Snapshot>> {
        let view = &mut self.views.lock()[usize::from(engine.0)];
        if let View::Unused(unused) = view {
            *view = View::Used(unused.clone());
        }
        match view {
            View::Used(used) => Some(used.clone()),
            View::Unused(_) | View::GivenUp => None,
        }
    }

    /// Takes the view of `engine` again from the newest snapshot, if nothing has changed there since.
    pub fn renew(&self, engine: EngineId, newest: &Published) -> bool {
        let unchanged = newest.changed(engine) <= self.order;
        if unchanged {
            self.views.lock()[usize::from(engine.0)] = View::Used(newest.views()[usize::from(engine.0)].clone());
        }
        unchanged
    }

    fn give_up_unused(&self) -> Vec<View> {
        let unused = |view: &&mut View| matches!(view, View::Unused(_));
        self.views.lock().iter_mut().filter(unused).map(|view| std::mem::replace(view, View::GivenUp)).collect()
    }
}

/// The snapshots of transactions that stay open.
#[derive(Default)]
pub(crate) struct HeldSnapshots(Mutex<Vec<Weak<HeldSnapshot>>>);

impl HeldSnapshots {
    /// Keeps `published` for a transaction that has read the engines `read` there.
    pub fn hold(&self, published: &Published, read: EnginesRead) -> Arc<HeldSnapshot> {
        let held = Arc::new(HeldSnapshot::new(published, read));
        let mut all = self.0.lock();
        if all.len() == all.capacity() {
            all.retain(|held| held.strong_count() > 0);
        }
        all.push(Arc::downgrade(&held));
        held
    }

    /// Gives up the views that were not used within `kept`.
    pub fn give_up_unused(&self, kept: Duration) {
        let old: Vec<_> = {
            let mut all = self.0.lock();
            all.retain(|held| held.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).filter(|held| held.since.elapsed() >= kept).collect()
        };
        old.iter().for_each(|held| drop(held.give_up_unused()));
    }
}
