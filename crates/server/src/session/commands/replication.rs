//! The commands of replicas: COM_REGISTER_SLAVE, and COM_BINLOG_DUMP, which the connection then lives for.

use cohort_sql::SqlError;
use cohort_sql::error::{ER_ACCESS_DENIED_ERROR, ER_UNKNOWN_ERROR};
use cohort_sql::privilege::Privilege::ReplicationSlave;
use cohort_sql::privilege::needs::Need;

use super::{Next, Session, malformed_error};
use crate::protocol::decode::Malformed;
use crate::protocol::replication::{DumpRequest, RegisterReplica};
use crate::replicas::Replica;

impl Session {
    /// COM_REGISTER_SLAVE
    pub(super) fn register_replica(&mut self, body: &[u8]) -> Result<(), SqlError> {
        let holder = &self.state.holder;
        holder.check_password()?;
        if !holder.grants.global().has(ReplicationSlave) {
            return Err(SqlError::new(ER_ACCESS_DENIED_ERROR, &[&holder.user, &holder.host, &"YES"]));
        }
        let wrong = |_| SqlError::new(ER_UNKNOWN_ERROR, &[&"Wrong parameters to function register_slave"]);
        let RegisterReplica { server_id, host, port, .. } = RegisterReplica::decode(body).map_err(wrong)?;
        let uuid = self.replica_uuid();
        self.server.replicas.register(self.environment.process.id, Replica { server_id, uuid, host, port });
        self.put_ok(0, 0, "");
        Ok(())
    }

    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID: whatever comes of them, no other command follows.
    pub(super) fn begin_dump(&mut self, request: Result<DumpRequest, Malformed>) -> Next {
        let holder = &self.state.holder;
        let allowed = holder.check_password().and_then(|()| holder.check(&[Need::AnyOf(ReplicationSlave.into())]));
        match allowed.and_then(|()| request.map_err(malformed_error)) {
            Ok(request) => Next::Dump(Box::new(request)),
            Err(error) => {
                self.output.error(&error);
                Next::Close
            }
        }
    }
}
