//! How the binlog describes a column.
