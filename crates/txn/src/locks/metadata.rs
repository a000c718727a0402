//! Metadata locks: statements that use a table against those that change its definition, and what locks a whole
//! server or a name of a user's.
//!
//! The modes, and who waits for whom, are MySQL's. A request waits for holders whose mode is not compatible, and for
//! waiters it yields to: readers and writers let those go first who will keep everybody out. An owner's own locks,
//! and those of its partner (a session's transaction and what the session has locked beside it), are never in the way.
//!
//! Modes that statements take (weak ones) do not meet in a list. Each goes into the slot of its owner, unless somebody
//! holds or awaits a strong mode there. Who asks for a strong mode announces it, moves the weak locks of that name out of all
//! slots into the list, and waits as usual: only changes of definitions pay.
//!
//! Invariants
//! 1. While a strong mode of a name is announced, no slot has or gets a lock of that name
//!    (`a_strong_lock_meets_weak_ones_of_every_slot`).
//! 2. A lock that is moved is in its slot or in the list, never in neither: whoever does not find it in the slot finds it
//!    in the list.
//! 3. Nobody who waits could be granted when the list's mutex is free.
//!
//! Concurrency: the list → one slot at a time → a wait slot.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hashbrown::{DefaultHashBuilder, HashMap as FastMap};

use super::{HeldLocks, LockError, LockManager, Obstacle, TransactionId, Wait, WaitSlot};
use crate::sync::{Mutex, MutexGuard};

/// What a metadata lock is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetadataName {
    /// All changes of the server: writers against FLUSH TABLES WITH READ LOCK.
    Global,
    /// All commits, likewise.
    Commit,
    /// All changes of definitions, against LOCK INSTANCE FOR BACKUP.
    Backup,
    /// The stages of BACKUP STAGE, which one session at a time goes through.
    BackupStage,
    /// A table's definition, by the table's id.
    Table(u64),
    /// A name of GET_LOCK, in lower case.
    User(Arc<str>),
}

impl MetadataName {
    /// Its place among the server-wide names that have intentions.
    fn server_wide(&self) -> Option<usize> {
        match self {
            MetadataName::Global => Some(0),
            MetadataName::Commit => Some(1),
            MetadataName::Backup => Some(2),
            MetadataName::BackupStage | MetadataName::Table(_) | MetadataName::User(_) => None,
        }
    }
}

/// How a metadata lock is held. Tables know all modes but the first, the server-wide names [`MetadataMode::IntentionExclusive`]
/// and [`MetadataMode::Shared`], users' names [`MetadataMode::Exclusive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MetadataMode {
    /// To change something below a server-wide name.
    IntentionExclusive,
    /// To look at a definition; of a server-wide name: to keep it from changing.
    Shared,
    /// To look at a definition without waiting for those who wait.
    SharedHighPriority,
    /// To read rows.
    SharedRead,
    /// To change or lock rows.
    SharedWrite,
    /// To change the definition later.
    SharedUpgradable,
    /// LOCK TABLES READ
    SharedReadOnly,
    /// To change the definition while rows are only read.
    SharedNoWrite,
    /// LOCK TABLES WRITE
    SharedNoReadWrite,
    /// To change the definition now.
    Exclusive,
}

use MetadataMode as M;

const fn set(modes: &[MetadataMode]) -> u16 {
    let (mut bits, mut at) = (0, 0);
    while at < modes.len() {
        bits |= 1 << modes[at] as u16;
        at += 1;
    }
    bits
}

const ALL: u16 = (1 << (M::Exclusive as u16 + 1)) - 1;

impl MetadataMode {
    /// The modes that exclude this one, when another owner holds them.
    const fn excluded_by(self) -> u16 {
        match self {
            M::IntentionExclusive => set(&[M::Shared, M::Exclusive]),
            // Server-wide names have no modes but these; tables no intentions.
            M::Shared => set(&[M::IntentionExclusive, M::Exclusive]),
            M::SharedHighPriority => set(&[M::Exclusive]),
            M::SharedRead => set(&[M::SharedNoReadWrite, M::Exclusive]),
            M::SharedWrite => set(&[M::SharedReadOnly, M::SharedNoWrite, M::SharedNoReadWrite, M::Exclusive]),
            M::SharedUpgradable => set(&[M::SharedUpgradable, M::SharedNoWrite, M::SharedNoReadWrite, M::Exclusive]),
            M::SharedReadOnly => set(&[M::SharedWrite, M::SharedNoReadWrite, M::Exclusive]),
            M::SharedNoWrite => {
                set(&[M::SharedWrite, M::SharedUpgradable, M::SharedNoWrite, M::SharedNoReadWrite, M::Exclusive])
            }
            M::SharedNoReadWrite => ALL & !set(&[M::IntentionExclusive, M::Shared, M::SharedHighPriority]),
            M::Exclusive => ALL,
        }
    }

    /// The modes that go before this one when others wait for them.
    const fn yields_to(self) -> u16 {
        match self {
            M::Exclusive | M::SharedHighPriority => 0,
            M::IntentionExclusive => set(&[M::Shared, M::Exclusive]),
            M::SharedRead => set(&[M::SharedNoReadWrite, M::Exclusive]),
            M::SharedWrite => set(&[M::SharedNoWrite, M::SharedNoReadWrite, M::Exclusive]),
            M::SharedReadOnly => set(&[M::SharedWrite, M::SharedNoReadWrite, M::Exclusive]),
            M::Shared | M::SharedUpgradable | M::SharedNoWrite | M::SharedNoReadWrite => set(&[M::Exclusive]),
        }
    }

    const fn is_in(self, modes: u16) -> bool {
        modes & (1 << self as u16) != 0
    }

    /// Whether whoever holds this needs no lock to do what `wanted` is for.
    pub fn covers(self, wanted: MetadataMode) -> bool {
        wanted.excluded_by() & !self.excluded_by() == 0
    }

    /// Modes that are compatible with each other: many hold them at once.
    fn is_weak(self) -> bool {
        matches!(self, M::IntentionExclusive | M::SharedHighPriority | M::SharedRead | M::SharedWrite)
    }
}

#[derive(Debug)]
struct Waiter {
    id: TransactionId,
    partner: Option<TransactionId>,
    mode: MetadataMode,
    slot: Arc<WaitSlot>,
}

/// A name in the list.
#[derive(Debug, Default)]
struct Named {
    holders: Vec<(TransactionId, MetadataMode)>,
    /// In the order of asking.
    waiters: Vec<Waiter>,
}

impl Named {
    /// Whom a request waits for.
    fn obstacles(
        &self,
        id: TransactionId,
        partner: Option<TransactionId>,
        mode: MetadataMode,
    ) -> impl Iterator<Item = TransactionId> {
        let other = move |other: TransactionId| other != id && Some(other) != partner;
        let holders =
            self.holders.iter().filter(move |(holder, held)| other(*holder) && held.is_in(mode.excluded_by()));
        // They wait for the partner too, who waits for this.
        let sheltered = self.holders.iter().any(|(holder, held)| Some(*holder) == partner && held.covers(mode));
        let waiters = self.waiters.iter().filter(move |_| !sheltered);
        let waiters = waiters.filter(move |waiter| other(waiter.id) && waiter.mode.is_in(mode.yields_to()));
        holders.map(|(holder, _)| *holder).chain(waiters.map(|waiter| waiter.id))
    }

    /// Of those who want the same and exclude each other, the first who asked is served.
    fn grant(&mut self) {
        let mut at = 0;
        while let Some(waiter) = self.waiters.get(at) {
            if self.obstacles(waiter.id, waiter.partner, waiter.mode).next().is_some() {
                at += 1;
                continue;
            }
            let waiter = self.waiters.remove(at);
            self.holders.push((waiter.id, waiter.mode));
            waiter.slot.grant();
            // Others may have yielded to it only.
            at = 0;
        }
    }
}

const SLOTS: usize = 64;

/// The weak locks of some owners.
#[derive(Debug, Default)]
struct WeakLocks {
    /// Of tables.
    named: FastMap<(TransactionId, MetadataName), Vec<MetadataMode>>,
    /// [`MetadataMode::IntentionExclusive`] of server-wide names. Every statement that changes something takes one, for as
    /// long as it runs, so there are never many.
    intentions: [Vec<TransactionId>; SERVER_WIDE],
}

/// How many server-wide names have intentions.
const SERVER_WIDE: usize = 3;

impl WeakLocks {
    fn push(&mut self, id: TransactionId, name: &MetadataName, mode: MetadataMode) {
        match name.server_wide() {
            Some(at) => self.intentions[at].push(id),
            None => self.named.entry((id, name.clone())).or_default().push(mode),
        }
    }

    /// Whether it was there.
    fn remove(&mut self, id: TransactionId, name: &MetadataName, mode: MetadataMode) -> bool {
        if let Some(at) = name.server_wide() {
            let holders = &mut self.intentions[at];
            let found = holders.iter().rposition(|holder| *holder == id);
            return found.map(|at| holders.swap_remove(at)).is_some();
        }
        let key = (id, name.clone());
        let Some(modes) = self.named.get_mut(&key) else { return false };
        let Some(at) = modes.iter().position(|held| *held == mode) else { return false };
        modes.swap_remove(at);
        if modes.is_empty() {
            self.named.remove(&key);
        }
        true
    }

    /// Takes all locks of a name out.
    fn drain(&mut self, name: &MetadataName, into: &mut Vec<(TransactionId, MetadataMode)>) {
        if let Some(at) = name.server_wide() {
            into.extend(self.intentions[at].drain(..).map(|id| (id, M::IntentionExclusive)));
            return;
        }
        for ((id, _), modes) in self.named.extract_if(|(_, held), _| held == name) {
            into.extend(modes.into_iter().map(|mode| (id, mode)));
        }
    }

    fn all(&self) -> impl Iterator<Item = (TransactionId, MetadataName, MetadataMode)> {
        let named = self.named.iter();
        let named = named.flat_map(|((id, name), modes)| modes.iter().map(|mode| (*id, name.clone(), *mode)));
        let wide = [MetadataName::Global, MetadataName::Commit, MetadataName::Backup].into_iter().zip(&self.intentions);
        let wide = wide.flat_map(|(name, ids)| ids.iter().map(move |id| (*id, name.clone(), M::IntentionExclusive)));
        named.chain(wide)
    }
}

/// All metadata locks of a server.
#[derive(Debug)]
pub(super) struct MetadataLocks {
    hasher: DefaultHashBuilder,
    slots: [Mutex<WeakLocks>; SLOTS],
    /// How many hold or await strong modes: of each server-wide name, then of other names by their hash.
    strong: [AtomicU32; SERVER_WIDE + SLOTS],
    list: Mutex<HashMap<MetadataName, Named>>,
}

type List<'a> = MutexGuard<'a, HashMap<MetadataName, Named>>;

impl MetadataLocks {
    pub(super) fn new() -> Self {
        MetadataLocks {
            hasher: DefaultHashBuilder::default(),
            slots: std::array::from_fn(|_| Mutex::default()),
            strong: std::array::from_fn(|_| AtomicU32::new(0)),
            list: Mutex::default(),
        }
    }

    fn strong(&self, name: &MetadataName) -> &AtomicU32 {
        let at = name.server_wide().unwrap_or_else(|| SERVER_WIDE + self.hasher.hash_one(name) as usize % SLOTS);
        &self.strong[at]
    }

    fn slot(&self, id: TransactionId) -> &Mutex<WeakLocks> {
        &self.slots[id.0 as usize % SLOTS]
    }

    /// Takes a weak lock beside the list; false if that has to decide.
    fn take_weak(&self, id: TransactionId, name: &MetadataName, mode: MetadataMode) -> bool {
        let mut slot = self.slot(id).lock();
        // Announced before the slots are looked through: either it is seen here, or this lock is seen there.
        if self.strong(name).load(Ordering::SeqCst) != 0 {
            return false;
        }
        slot.push(id, name, mode);
        true
    }

    /// Announces a strong mode and brings every weak lock of the name into the list.
    fn announce(&self, name: &MetadataName) -> List<'_> {
        self.strong(name).fetch_add(1, Ordering::SeqCst);
        let mut list = self.list.lock();
        let mut found = Vec::new();
        for slot in self.slots.iter().filter(|_| !matches!(name, MetadataName::User(_))) {
            slot.lock().drain(name, &mut found);
        }
        list.entry(name.clone()).or_default().holders.extend(found);
        list
    }

    fn release(&self, id: TransactionId, name: &MetadataName, mode: MetadataMode) {
        if mode.is_weak() && self.slot(id).lock().remove(id, name, mode) {
            return;
        }
        let mut list = self.list.lock();
        if let Some(named) = list.get_mut(name) {
            if let Some(at) = named.holders.iter().position(|held| *held == (id, mode)) {
                named.holders.swap_remove(at);
            }
            named.grant();
            if named.holders.is_empty() && named.waiters.is_empty() {
                list.remove(name);
            }
        }
        if !mode.is_weak() {
            self.strong(name).fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Leaves the queue; false when the wait was over before.
    pub(super) fn withdraw(&self, id: TransactionId, name: &MetadataName) -> bool {
        let mut list = self.list.lock();
        let Some(named) = list.get_mut(name) else { return false };
        let Some(at) = named.waiters.iter().position(|waiter| waiter.id == id) else { return false };
        let waiter = named.waiters.remove(at);
        named.grant();
        if named.holders.is_empty() && named.waiters.is_empty() {
            list.remove(name);
        }
        if !waiter.mode.is_weak() {
            self.strong(name).fetch_sub(1, Ordering::SeqCst);
        }
        true
    }

    /// Whom `waiting` waits for.
    pub(super) fn blockers(&self, waiting: TransactionId, name: &MetadataName) -> Vec<TransactionId> {
        let list = self.list.lock();
        let Some(named) = list.get(name) else { return Vec::new() };
        let Some(waiter) = named.waiters.iter().find(|waiter| waiter.id == waiting) else { return Vec::new() };
        named.obstacles(waiter.id, waiter.partner, waiter.mode).collect()
    }

    /// Every lock, with its owner and whether it is held rather than awaited.
    fn all(&self) -> Vec<(TransactionId, MetadataName, MetadataMode, bool)> {
        let list = self.list.lock();
        let mut all = Vec::new();
        for (name, named) in &*list {
            all.extend(named.holders.iter().map(|(id, mode)| (*id, name.clone(), *mode, true)));
            all.extend(named.waiters.iter().map(|waiter| (waiter.id, name.clone(), waiter.mode, false)));
        }
        for slot in &self.slots {
            all.extend(slot.lock().all().map(|(id, name, mode)| (id, name, mode, true)));
        }
        all
    }
}

impl LockManager {
    /// Takes a metadata lock, waiting for at most `timeout`; returns whether it is new to its owner. One that is covered
    /// by another of the owner's is not taken.
    pub(crate) fn lock_metadata(
        &self,
        held: &mut HeldLocks,
        name: &MetadataName,
        mode: MetadataMode,
        timeout: Duration,
    ) -> Result<bool, LockError> {
        if held.metadata.iter().any(|(known, has)| known == name && has.covers(mode)) {
            return Ok(false);
        }
        if !(mode.is_weak() && self.metadata.take_weak(held.id, name, mode)) {
            let mut list = if mode.is_weak() { self.metadata.list.lock() } else { self.metadata.announce(name) };
            let named = list.entry(name.clone()).or_default();
            let obstructed = named.obstacles(held.id, held.partner, mode).next().is_some();
            if obstructed {
                *held.slot.wait.lock() = Wait::Waiting;
                let (id, partner, slot) = (held.id, held.partner, held.slot.clone());
                named.waiters.push(Waiter { id, partner, mode, slot });
            } else {
                named.holders.push((held.id, mode));
            }
            drop(list);
            if obstructed {
                self.wait(held, &Obstacle::Metadata(name.clone()), timeout)?;
            }
        }
        held.metadata.push((name.clone(), mode));
        Ok(true)
    }

    /// Who holds a strong mode of a name.
    pub(crate) fn strong_holder(&self, name: &MetadataName) -> Option<TransactionId> {
        let list = self.metadata.list.lock();
        list.get(name)?.holders.iter().find(|(_, mode)| !mode.is_weak()).map(|(id, _)| *id)
    }

    /// Gives up one metadata lock.
    pub(crate) fn unlock_metadata(&self, held: &mut HeldLocks, name: &MetadataName, mode: MetadataMode) {
        if let Some(at) = held.metadata.iter().rposition(|(known, has)| known == name && *has == mode) {
            held.metadata.remove(at);
            self.metadata.release(held.id, name, mode);
        }
    }

    /// Gives up the metadata locks that were taken after the first `count`.
    pub(crate) fn release_metadata(&self, held: &mut HeldLocks, count: usize) {
        for (name, mode) in held.metadata.drain(count..) {
            self.metadata.release(held.id, &name, mode);
        }
    }

    /// Gives up all metadata locks but those of tables, for an owner that is of no session any more.
    pub(crate) fn keep_tables_only(&self, held: &mut HeldLocks) {
        let is_other = |(name, _): &mut (MetadataName, MetadataMode)| !matches!(name, MetadataName::Table(_));
        for (name, mode) in held.metadata.extract_if(.., is_other) {
            self.metadata.release(held.id, &name, mode);
        }
        held.partner = None;
    }

    /// Every metadata lock, with its owner's number and whether it is held rather than awaited.
    pub(crate) fn all_metadata(&self) -> Vec<(TransactionId, MetadataName, MetadataMode, bool)> {
        self.metadata.all()
    }
}

#[cfg(test)]
mod tests;
