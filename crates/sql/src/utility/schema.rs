//! USE, and changes of the schema, which [`crate::ddl`] makes.

use std::sync::Arc;

use crate::ast::{CreateTable, Ddl};
use crate::collation::Collation;
use crate::database::{Database, query_context, text};
use crate::ddl::{self, Changed, DdlRun};
use crate::error::SqlError;
use crate::privilege::needs::Need;
use crate::session::{Environment, Outcome, SessionState, StatementResult};
use crate::value::Value;

impl Database {
    /// Makes `name` the default database (COM_INIT_DB, a database in the handshake); 1049 if unknown.
    pub fn use_database(&self, session: &mut SessionState, name: &str) -> Result<(), SqlError> {
        session.holder.check(&[Need::SeesDatabase(name.to_owned())])?;
        self.catalog.current().database(name)?;
        session.database = Some(Arc::from(name));
        session.database_collation = None;
        Ok(())
    }

    /// `collation_database` of a session, unless it is what the server's is: no database is chosen.
    pub fn collation_of_default(&self, session: &SessionState) -> Option<Collation> {
        let of_database = || {
            let catalog = self.catalog.current();
            Some(catalog.databases.get(session.database.as_deref()?)?.collation)
        };
        session.database_collation.or_else(of_database)
    }

    /// A statement of the schema: it commits the open transaction first.
    pub(super) fn change_schema(
        &self,
        change: &Ddl,
        session: &mut SessionState,
        env: &dyn Environment,
        params: &[Value],
        sql: &[u8],
    ) -> Result<Outcome, SqlError> {
        let sql = text(sql)?;
        self.may_change(change, session)?;
        session.may_change_server()?;
        env.begin_update()?;
        self.commit_before_change(session)?;
        let changing = session.begin_change()?;
        let query_context = query_context(session, env);
        let (query_context, now_us) = (&query_context, session.now_us());
        // Its rows are read and written in a transaction as any.
        let filling = match change {
            Ddl::CreateTable(CreateTable { rows: Some(_), .. }) => Some(self.new_transaction(session, false, None)),
            _ => None,
        };
        let run = DdlRun { store: &self.store, catalog: &self.catalog, session, env, query_context, sql, now_us };
        let changed = match (change, filling) {
            (Ddl::CreateTable(spec @ CreateTable { rows: Some(rows), .. }), Some(open)) => {
                self.create_with_rows((spec, rows), params, open, &run, env)
            }
            _ => ddl::run(change, &run),
        };
        session.interrupt_ref().watch(None);
        session.locks.end_change(changing);
        self.follow_change(session);
        let Changed { affected, last_insert_id, info } = changed?;
        if let Ddl::DropDatabase { name, .. } = change {
            session.leave_database(name);
        }
        let result = StatementResult::Done { affected, last_insert_id, info };
        Ok(Outcome { result, commit: None, release: false })
    }
}
