//! The real server on a disk that fails.
//!
//! `COHORT_SEED` replays the choices (thread timing is the machine's), `COHORT_ROUNDS` goes on for longer.
//! Where there is no `/dev/fuse` nothing is run, which the output says.

mod behaviour;
mod disk;
mod rig;
