//! Who reads the binlog: replicas that have registered (SHOW REPLICAS), and dumps that run.
//!
//! Concurrency: one mutex, never held while something else is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cohort_io::sync::Mutex;
use cohort_sql::session::KillTarget;

use crate::processlist::Process;

/// A replica, as it registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its `server_id`.
    pub server_id: u32,
    /// Its `server_uuid`; empty if it did not say.
    pub uuid: String,
    /// Its `report_host`.
    pub host: String,
    /// Its `report_port`.
    pub port: u16,
}

/// A dump that runs.
struct Dump {
    server_id: u32,
    uuid: String,
    process: Arc<Process>,
    replaced: Arc<AtomicBool>,
}

impl Dump {
    /// Whether the same replica has come back. Tools have neither uuid nor server id.
    fn is_of(&self, server_id: u32, uuid: &str) -> bool {
        match uuid {
            "" => self.uuid.is_empty() && server_id != 0 && self.server_id == server_id,
            uuid => self.uuid.eq_ignore_ascii_case(uuid),
        }
    }
}

#[derive(Default)]
struct State {
    /// By connection.
    registered: BTreeMap<u32, Replica>,
    /// By connection.
    dumps: BTreeMap<u32, Dump>,
}

/// All of them.
#[derive(Default)]
pub struct Replicas {
    state: Mutex<State>,
}

impl Replicas {
    /// A connection says which replica it is; whoever was there with that server id is forgotten.
    pub fn register(&self, connection: u32, replica: Replica) {
        let mut state = self.state.lock();
        state.registered.retain(|_, other| other.server_id != replica.server_id);
        state.registered.insert(connection, replica);
    }

    /// A dump begins. One of the same replica, which has lost that connection, ends. Says later whether this one was
    /// ended so.
    pub fn begin_dump(&self, process: &Arc<Process>, server_id: u32, uuid: &str) -> Arc<AtomicBool> {
        let replaced = Arc::<AtomicBool>::default();
        let dump = Dump { server_id, uuid: uuid.to_owned(), process: process.clone(), replaced: replaced.clone() };
        let mut state = self.state.lock();
        let same = state.dumps.values().filter(|dump| dump.is_of(server_id, uuid));
        let older: Vec<Arc<Process>> = same
            .map(|older| {
                older.replaced.store(true, Ordering::SeqCst);
                older.process.clone()
            })
            .collect();
        state.dumps.insert(process.id, dump);
        drop(state);
        older.iter().for_each(|process| process.kill(KillTarget::Connection));
        replaced
    }

    /// The connections that read the binlog.
    pub fn dumps(&self) -> BTreeSet<u32> {
        self.state.lock().dumps.keys().copied().collect()
    }

    /// A connection has ended.
    pub fn leave(&self, connection: u32) {
        let mut state = self.state.lock();
        state.registered.remove(&connection);
        state.dumps.remove(&connection);
    }

    /// Those that have registered, by server id.
    pub fn list(&self) -> Vec<Replica> {
        let mut list: Vec<Replica> = self.state.lock().registered.values().cloned().collect();
        list.sort_by_key(|replica| replica.server_id);
        list
    }
}
