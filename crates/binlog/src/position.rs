//! A place in the binlog.

/// A byte offset in one file of the binlog. Positions of one server are ordered as its commits are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BinlogPosition {
    /// Number in the file's name, from 1.
    pub file_number: u64,
    /// Offset in the file, bytes. A new file's header starts at 0, its first transaction after it.
    pub offset: u64,
}

impl std::fmt::Display for BinlogPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:06}:{}", self.file_number, self.offset)
    }
}
