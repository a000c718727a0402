//! Whether the server as a whole takes changes (`read_only`, `super_read_only`).

use std::sync::atomic::{AtomicU8, Ordering};

use super::SessionState;
use crate::error::{ER_OPTION_PREVENTS_STATEMENT, SqlError};
use crate::privilege::needs::Need;
use crate::privilege::{Privilege, PrivilegeSet};

/// Who may change something, for all sessions of a server.
#[derive(Debug, Default)]
pub struct ServerReadOnly(AtomicU8);

const NOBODY: u8 = 2;
const WHO_ADMINISTERS: u8 = 1;
const EVERYBODY: u8 = 0;

impl ServerReadOnly {
    /// Sets it to what the variables say.
    pub fn set(&self, read_only: bool, super_read_only: bool) {
        let who = match (read_only, super_read_only) {
            (_, true) => NOBODY,
            (true, false) => WHO_ADMINISTERS,
            (false, false) => EVERYBODY,
        };
        self.0.store(who, Ordering::SeqCst);
    }
}

impl SessionState {
    /// 1290 for a change if the server takes none from this session.
    pub(crate) fn may_change_server(&self) -> Result<(), SqlError> {
        let option = match self.server_read_only.0.load(Ordering::SeqCst) {
            EVERYBODY => return Ok(()),
            WHO_ADMINISTERS => {
                let exempt = Need::AnyOf(PrivilegeSet::of(&[Privilege::Super, Privilege::ConnectionAdmin]));
                if self.holder.check([&exempt]).is_ok() {
                    return Ok(());
                }
                "--read-only"
            }
            _ => "--super-read-only",
        };
        Err(SqlError::new(ER_OPTION_PREVENTS_STATEMENT, &[&option]))
    }
}
