//! Locks of tables, of the whole server and of users' names, against other sessions of a real server.

mod aside;
mod backup;
mod names;
mod server_wide;
mod tables;
