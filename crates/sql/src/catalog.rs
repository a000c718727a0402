//! What tables are: their definitions, where those are kept, and what statements use of them.
//!
//! [`definition`] is what is stored, [`table`] a definition made ready for use, [`store`] the keys the
//! catalog is kept under and the version in memory that statements read, [`system`] the tables that are not kept.

pub mod definition;
pub(crate) mod store;
pub(crate) mod system;
pub(crate) mod table;
