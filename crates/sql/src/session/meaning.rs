//! What a statement's text means beside its words: of which database its names are, how its literals are read, where its
//! quotes end.
//!
//! The session says so. A prepared statement goes on to mean what it meant when it was prepared: it runs where names are of
//! that database ([`SessionState::in_database`]), and without a plan under all of it ([`SessionState::as_meant`]), SET apart,
//! which changes what the session says: there it is what values are computed under.

use std::sync::Arc;

use super::SessionState;
use crate::collation::Collation;
use crate::expr::Literals;
use crate::types::SqlMode;

/// What the text of a statement means.
pub(crate) struct Meaning {
    /// Of names without one.
    pub(crate) database: Option<Arc<str>>,
    pub(crate) sql_mode: SqlMode,
    client: Collation,
    collation: Collation,
}

impl Meaning {
    /// That of a statement which is sent now.
    pub(crate) fn now(session: &SessionState) -> Meaning {
        let SessionState { database, sql_mode, client, collation, .. } = session;
        Meaning { database: database.clone(), sql_mode: *sql_mode, client: *client, collation: *collation }
    }

    pub(crate) fn literals(&self) -> Literals {
        Literals { client: self.client.charset(), collation: self.collation }
    }

    /// Whether a session that sent the text now would mean the same by it, names aside.
    pub(crate) fn is_that_of(&self, session: &SessionState) -> bool {
        self.sql_mode == session.sql_mode && self.literals() == session.literals()
    }
}

impl SessionState {
    /// Runs what has its names in a database.
    pub(crate) fn in_database<T>(
        &mut self,
        database: Option<&Arc<str>>,
        run: impl FnOnce(&mut SessionState) -> T,
    ) -> T {
        if self.database.as_ref() == database {
            return run(self);
        }
        let own = (std::mem::replace(&mut self.database, database.cloned()), self.database_collation.take());
        let result = run(self);
        (self.database, self.database_collation) = own;
        result
    }

    /// Runs what means this, and changes nothing of it for the session.
    pub(crate) fn as_meant<T>(&mut self, meaning: &Meaning, run: impl FnOnce(&mut SessionState) -> T) -> T {
        let own = (self.sql_mode, self.client, self.collation);
        (self.sql_mode, self.client, self.collation) = (meaning.sql_mode, meaning.client, meaning.collation);
        let result = self.in_database(meaning.database.as_ref(), run);
        (self.sql_mode, self.client, self.collation) = own;
        result
    }

    /// Is in no database any more if that is the one.
    pub(crate) fn leave_database(&mut self, name: &str) {
        if self.database.as_deref() == Some(name) {
            (self.database, self.database_collation) = (None, None);
        }
    }
}
