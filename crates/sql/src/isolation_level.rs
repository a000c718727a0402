//! The names of isolation levels.

use cohort_txn::Isolation;

/// A level as statements and `transaction_isolation` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Taken as READ COMMITTED: uncommitted rows are nowhere to be read.
    ReadUncommitted,
    /// READ COMMITTED
    ReadCommitted,
    /// REPEATABLE READ
    RepeatableRead,
    /// SERIALIZABLE
    Serializable,
}

impl IsolationLevel {
    /// All of them, the weakest first.
    pub const ALL: [IsolationLevel; 4] = [
        IsolationLevel::ReadUncommitted,
        IsolationLevel::ReadCommitted,
        IsolationLevel::RepeatableRead,
        IsolationLevel::Serializable,
    ];

    /// The value of `transaction_isolation`.
    pub const fn name(self) -> &'static str {
        match self {
            IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
            IsolationLevel::ReadCommitted => "READ-COMMITTED",
            IsolationLevel::RepeatableRead => "REPEATABLE-READ",
            IsolationLevel::Serializable => "SERIALIZABLE",
        }
    }

    /// The level that a value of `transaction_isolation` names, in any case.
    pub fn named(name: &str) -> Option<IsolationLevel> {
        IsolationLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// What it means for a transaction.
    pub fn isolation(self) -> Isolation {
        match self {
            IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Serializable => Isolation::Serializable,
        }
    }
}
