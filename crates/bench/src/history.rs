//! Redraws the published results about commit protocols, as ratios, on one server and one machine.
//!
//! # Outline
//! 1. [`plan`] says which servers take part in which experiment, with how many clients, and what was
//!    published;
//! 2. [`run`] starts the servers of an experiment, gives them the same load ([`load`]) in turn, and reads
//!    their counters ([`counters`]);
//! 3. [`kernel`] counts syncs of each log at the system call, in runs of their own;
//! 4. [`result`] is everything measured, which is also the JSON;
//! 5. [`finding`] sets figures beside the published ones, in sentences made from what was measured;
//!    [`claim`] holds the protocols to what is said about them;
//! 6. [`page`] and [`lines`] write it all down as one HTML file.
//!
//! A server that cannot be started, or fails on the way, is named in the report with the reason.

pub mod claim;
pub mod counters;
pub mod finding;
pub mod kernel;
pub mod lines;
pub mod load;
pub mod page;
pub mod plan;
pub mod result;
pub mod run;

pub use plan::Scale;
pub use result::History;
