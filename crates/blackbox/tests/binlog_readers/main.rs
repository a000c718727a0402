//! Those who follow the binlog over a connection: packets by hand, `mariadb-binlog`, a MariaDB replica.

mod administration;
mod by_hand;
mod crashes;
mod endings;
mod event_options;
mod libraries;
mod programs;
mod reader;
mod refusals;
mod semi_sync;
mod snapshot;
