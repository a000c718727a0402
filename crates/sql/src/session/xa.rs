//! A session's XA transaction. What the XA statements do with it: `database/xa.rs`.

use cohort_binlog::XaId;
use cohort_txn::ActiveXa;

/// How far a session's XA transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XaState {
    /// Between XA START and XA END.
    Active,
    /// After XA END.
    Idle,
    /// A deadlock took its changes back; XA END has not reported it yet.
    Lost,
    /// It can only be rolled back.
    RollbackOnly,
}

impl XaState {
    /// As error 1399 names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            XaState::Active => "ACTIVE",
            XaState::Idle => "IDLE",
            XaState::Lost | XaState::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

/// The XA transaction of a session.
pub(crate) struct SessionXa {
    pub(crate) name: ActiveXa,
    pub(crate) state: XaState,
}

impl SessionXa {
    /// Whether it has this name.
    pub(crate) fn is(&self, xid: &XaId) -> bool {
        self.name.xid() == xid
    }
}
