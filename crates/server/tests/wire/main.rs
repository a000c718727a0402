//! The server at the level of packets.

mod client;
mod golden_bytes;
mod hostile_packets;
mod worker_pool;
