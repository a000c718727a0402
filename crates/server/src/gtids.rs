//! What the server does with sets of GTIDs: what it shows of them, and how an operator changes them.

use std::fmt::Write as _;

use cohort_binlog::GtidSet;
use cohort_sql::SqlError;
use cohort_sql::error::{
    ER_CANT_RESET_MASTER, ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS, ER_CANT_SET_GTID_PURGED_WHEN_GTID_MODE_IS_OFF,
    ER_ERROR_ON_READ, ER_FLUSH_MASTER_BINLOG_CLOSED, ER_GTID_MODE_CAN_ONLY_CHANGE_ONE_STEP_AT_A_TIME,
    ER_GTID_MODE_ON_REQUIRES_ENFORCE_GTID_CONSISTENCY_ON, ER_WRONG_VALUE_FOR_VAR,
};
use cohort_txn::{AddGtidsError, GtidMode, ResetError};

use crate::server::Server;
use crate::session::errors::commit_error;
use crate::sysvars::table::GTID_MODES;
use crate::sysvars::{Globals, Setting, VariableId, ids};

impl Server {
    /// Executed GTIDs that are not in the binlog.
    pub fn gtid_purged(&self) -> String {
        self.store().purged_gtids().map(|gtids| gtids.to_string()).unwrap_or_default()
    }

    /// SET GLOBAL gtid_purged: a set that has all until now in it, or what is to be added after a plus sign. 1231 if the
    /// text is no set, 3546 if what is new is executed or owned, 1839 without a binlog.
    pub fn set_gtid_purged(&self, text: &str) -> Result<(), SqlError> {
        let constraint = |what: &str| SqlError::new(ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS, &[&what]);
        let appended = text.trim().strip_prefix('+');
        let set = appended.unwrap_or(text).parse::<GtidSet>();
        let mut set = set.map_err(|_| SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&"gtid_purged", &text]))?;
        if appended.is_none() {
            let purged = self.store().purged_gtids();
            let purged = purged.map_err(|error| SqlError::new(ER_ERROR_ON_READ, &[&"the binlog", &error]))?;
            if !purged.is_subset(&set) {
                return Err(constraint("the new value must be a superset of the old value"));
            }
            set.subtract(&purged);
        }
        self.store().add_purged_gtids(&set).map_err(|error| match error {
            AddGtidsError::NoBinlog => SqlError::new(ER_CANT_SET_GTID_PURGED_WHEN_GTID_MODE_IS_OFF, &[]),
            AddGtidsError::Commit(error) => commit_error(&error),
            other => constraint(&other.to_string()),
        })
    }

    /// RESET MASTER: 1186 without a binlog, 3190 while somebody reads it.
    pub fn reset_binlog(&self) -> Result<(), SqlError> {
        self.store().reset_binlog().map_err(|error| match error {
            ResetError::NoBinlog => SqlError::new(ER_FLUSH_MASTER_BINLOG_CLOSED, &[]),
            ResetError::Readers => SqlError::new(ER_CANT_RESET_MASTER, &[&error]),
            ResetError::Commit(error) => commit_error(&error),
            ResetError::Remove(_) | ResetError::Read(_) => SqlError::new(ER_ERROR_ON_READ, &[&"the binlog", &error]),
        })
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

/// The mode of new transactions that is chosen at the start; an error says what cannot be chosen.
pub fn mode(globals: &Globals) -> Result<GtidMode, String> {
    let chosen = globals.get(ids::GTID_MODE);
    let enforced = globals.get(ids::ENFORCE_GTID_CONSISTENCY) == "ON";
    match &*chosen {
        "OFF" => Ok(GtidMode::Off),
        "ON" if enforced => Ok(GtidMode::On),
        "ON" => Err("--gtid-mode=ON requires --enforce-gtid-consistency=ON".to_owned()),
        _ => Err(format!("--gtid-mode={chosen} is not supported; only ON and OFF are")),
    }
}

/// Why a running server does not take a value: its mode stays as it was chosen.
pub fn refusal(globals: &Globals, id: VariableId, new: &Setting) -> Option<SqlError> {
    let mode = || globals.get(ids::GTID_MODE);
    if id == ids::GTID_MODE.into() {
        let step = |mode: &str| GTID_MODES.iter().position(|word| *word == mode).expect("a value of gtid_mode");
        let new = new.to_text();
        return match step(&mode()).abs_diff(step(&new)) {
            0 => None,
            1 => Some(SqlError::unsupported(format_args!("gtid_mode = {new}: the mode is chosen at the start"))),
            _ => Some(SqlError::new(ER_GTID_MODE_CAN_ONLY_CHANGE_ONE_STEP_AT_A_TIME, &[])),
        };
    }
    let needed = id == ids::ENFORCE_GTID_CONSISTENCY.into() && new.to_text() != "ON" && mode() == "ON";
    needed.then(|| SqlError::new(ER_GTID_MODE_ON_REQUIRES_ENFORCE_GTID_CONSISTENCY_ON, &[]))
}
