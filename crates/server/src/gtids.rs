//! What the server does with sets of GTIDs: what it shows of them.

use std::fmt::Write as _;

use crate::server::Server;

impl Server {
    /// GTIDs that are no longer in the binlog: those executed before the oldest file.
    pub fn gtid_purged(&self) -> String {
        let binlog = self.store().binlog();
        let oldest = binlog.list().first().map(|file| file.number);
        let purged = oldest.and_then(|number| binlog.previous_gtids(number).ok());
        purged.map(|gtids| gtids.to_string()).unwrap_or_default()
    }

    /// GTIDs that sessions own, each with its connection: `uuid:number#connection`.
    pub fn gtid_owned(&self) -> String {
        let (mut text, mut last) = (String::new(), None);
        for (gtid, connection) in self.store().owned_gtids() {
            let written = match last {
                Some(uuid) if uuid == gtid.uuid => write!(text, ":{}#{connection}", gtid.gno),
                Some(_) => write!(text, ",\n{gtid}#{connection}"),
                None => write!(text, "{gtid}#{connection}"),
            };
            written.expect("a text takes what is written");
            last = Some(gtid.uuid);
        }
        text
    }
}
