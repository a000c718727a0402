//! What an account may do.
//!
//! Outline: [`Privilege`] is one thing that can be granted, [`PRIVILEGES`] its row of the table; [`PrivilegeSet`] several;
//! [`grants`] what an account holds, level by level; [`needs`] what a statement needs; [`roster`] all accounts, as system
//! tables show them.
//!
//! Source: MySQL 8.0 manual, "Privileges Provided by MySQL" and "GRANT Statement". Of the dynamic privileges those are
//! known that mean something here.

pub mod grants;
pub mod needs;
pub mod roster;

use std::fmt;

/// The database that everybody may read, and where each sees what is granted to them.
pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";

/// Where a privilege can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `*.*`
    Global,
    /// `db.*`
    Database,
    /// `db.table`
    Table,
    /// `(column) ON db.table`
    Column,
}

/// One row of the table of privileges.
#[derive(Debug)]
pub struct PrivilegeRow {
    /// As GRANT and SHOW GRANTS write it, in upper case.
    pub name: &'static str,
    /// The lowest level it can be granted at; it can be at all above. Dynamic privileges are global.
    pub lowest: Level,
    /// Registered by a component in MySQL, not part of the grant tables' columns.
    pub dynamic: bool,
    /// What it is about, as SHOW PRIVILEGES says.
    pub context: &'static str,
    /// What it permits, as SHOW PRIVILEGES says.
    pub meaning: &'static str,
}

macro_rules! privileges {
    ($($variant:ident $name:literal $lowest:ident $kind:ident $context:literal $meaning:literal;)*) => {
        /// Something that can be granted, in the order in which SHOW GRANTS lists it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Privilege {
            $(#[doc = $meaning] $variant,)*
        }

        /// Every privilege, in order.
        pub const ALL: &[Privilege] = &[$(Privilege::$variant,)*];

        /// The rows of the privileges, in order.
        pub const PRIVILEGES: &[PrivilegeRow] = &[$(PrivilegeRow {
            name: $name,
            lowest: Level::$lowest,
            dynamic: privileges!(@$kind),
            context: $context,
            meaning: $meaning,
        },)*];
    };
    (@fixed) => { false };
    (@dynamic) => { true };
}

privileges! {
    Select "SELECT" Column fixed "Tables" "To retrieve rows from table";
    Insert "INSERT" Column fixed "Tables" "To insert data into tables";
    Update "UPDATE" Column fixed "Tables" "To update existing rows";
    Delete "DELETE" Table fixed "Tables" "To delete existing rows";
    Create "CREATE" Table fixed "Databases,Tables,Indexes" "To create new databases and tables";
    Drop "DROP" Table fixed "Databases,Tables" "To drop databases, tables, and views";
    Reload "RELOAD" Global fixed "Server Admin" "To reload or refresh tables, logs and privileges";
    Shutdown "SHUTDOWN" Global fixed "Server Admin" "To shut down the server";
    Process "PROCESS" Global fixed "Server Admin" "To view the plain text of currently executing queries";
    File "FILE" Global fixed "File access on server" "To read and write files on the server";
    References "REFERENCES" Column fixed "Databases,Tables" "To have references on tables";
    Index "INDEX" Table fixed "Tables" "To create or drop indexes";
    Alter "ALTER" Table fixed "Tables" "To alter the table";
    ShowDatabases "SHOW DATABASES" Global fixed "Server Admin" "To see all databases with SHOW DATABASES";
    Super "SUPER" Global fixed "Server Admin" "To use KILL thread, SET GLOBAL, CHANGE MASTER, etc.";
    CreateTemporaryTables "CREATE TEMPORARY TABLES" Database fixed "Databases" "To use CREATE TEMPORARY TABLE";
    LockTables "LOCK TABLES" Database fixed "Databases" "To use LOCK TABLES (together with SELECT privilege)";
    Execute "EXECUTE" Database fixed "Functions,Procedures" "To execute stored routines";
    ReplicationSlave "REPLICATION SLAVE" Global fixed "Server Admin" "To read binary log events from the master";
    ReplicationClient "REPLICATION CLIENT" Global fixed "Server Admin" "To ask where the slave or master servers are";
    CreateView "CREATE VIEW" Table fixed "Tables" "To create new views";
    ShowView "SHOW VIEW" Table fixed "Tables" "To see views with SHOW CREATE VIEW";
    CreateRoutine "CREATE ROUTINE" Database fixed "Databases" "To use CREATE FUNCTION/PROCEDURE";
    AlterRoutine "ALTER ROUTINE" Database fixed "Functions,Procedures" "To alter or drop stored functions/procedures";
    CreateUser "CREATE USER" Global fixed "Server Admin" "To create new users";
    Event "EVENT" Database fixed "Server Admin" "To create, alter, drop and execute events";
    Trigger "TRIGGER" Table fixed "Tables" "To use triggers";
    CreateTablespace "CREATE TABLESPACE" Global fixed "Server Admin" "To create/alter/drop tablespaces";
    CreateRole "CREATE ROLE" Global fixed "Server Admin" "To create new roles";
    DropRole "DROP ROLE" Global fixed "Server Admin" "To drop roles";
    GrantOption "GRANT OPTION" Table fixed "Databases,Tables,Functions,Procedures" "To give to other users those privileges you possess";
    AuditAdmin "AUDIT_ADMIN" Global dynamic "Server Admin" "To configure the audit log";
    BackupAdmin "BACKUP_ADMIN" Global dynamic "Server Admin" "To use LOCK INSTANCE FOR BACKUP";
    BinlogAdmin "BINLOG_ADMIN" Global dynamic "Server Admin" "To purge binary logs";
    ConnectionAdmin "CONNECTION_ADMIN" Global dynamic "Server Admin" "To end other accounts' connections, and to connect beyond the limits";
    FlushPrivileges "FLUSH_PRIVILEGES" Global dynamic "Server Admin" "To use FLUSH PRIVILEGES";
    FlushStatus "FLUSH_STATUS" Global dynamic "Server Admin" "To use FLUSH STATUS";
    FlushTables "FLUSH_TABLES" Global dynamic "Server Admin" "To use FLUSH TABLES";
    FlushUserResources "FLUSH_USER_RESOURCES" Global dynamic "Server Admin" "To use FLUSH USER_RESOURCES";
    ReplicationApplier "REPLICATION_APPLIER" Global dynamic "Server Admin" "To apply another server's events";
    ReplicationSlaveAdmin "REPLICATION_SLAVE_ADMIN" Global dynamic "Server Admin" "To start, stop and set up replication";
    RoleAdmin "ROLE_ADMIN" Global dynamic "Server Admin" "To grant and revoke roles";
    SessionVariablesAdmin "SESSION_VARIABLES_ADMIN" Global dynamic "Server Admin" "To set session variables that are not for everybody";
    SystemUser "SYSTEM_USER" Global dynamic "Server Admin" "To change accounts that have it too";
    SystemVariablesAdmin "SYSTEM_VARIABLES_ADMIN" Global dynamic "Server Admin" "To set global variables";
    XaRecoverAdmin "XA_RECOVER_ADMIN" Global dynamic "Server Admin" "To use XA RECOVER";
}

impl Privilege {
    /// Its row.
    pub fn row(self) -> &'static PrivilegeRow {
        &PRIVILEGES[self as usize]
    }

    /// The one of this name, whatever its case.
    pub fn named(name: &str) -> Option<Privilege> {
        ALL.iter().copied().find(|one| one.row().name.eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

/// Several privileges.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivilegeSet(u64);

const _: () = assert!(ALL.len() <= 64, "a set has a bit for each privilege");

impl PrivilegeSet {
    /// None: what USAGE is.
    pub const NONE: PrivilegeSet = PrivilegeSet(0);

    /// These.
    pub const fn of(privileges: &[Privilege]) -> PrivilegeSet {
        let (mut bits, mut at) = (0, 0);
        while at < privileges.len() {
            bits |= 1 << privileges[at] as u8;
            at += 1;
        }
        PrivilegeSet(bits)
    }

    /// What ALL PRIVILEGES are at a level; GRANT OPTION is not among them.
    pub fn all_at(level: Level) -> PrivilegeSet {
        let fits = |one: &&Privilege| one.row().lowest >= level && **one != Privilege::GrantOption;
        ALL.iter().filter(fits).copied().collect()
    }

    /// The dynamic ones.
    pub fn dynamic() -> PrivilegeSet {
        ALL.iter().filter(|one| one.row().dynamic).copied().collect()
    }

    /// Whether it is among them.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & 1 << privilege as u8 != 0
    }

    /// Whether all of `others` are among them.
    pub fn has_all(self, others: PrivilegeSet) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether one of `others` is among them.
    pub fn has_any(self, others: PrivilegeSet) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    #[must_use]
    pub fn with(self, others: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 | others.0)
    }

    /// Without those of `others`.
    #[must_use]
    pub fn without(self, others: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 & !others.0)
    }

    /// Those that are among both.
    #[must_use]
    pub fn common(self, others: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 & others.0)
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        ALL.iter().copied().filter(move |one| self.has(*one))
    }
}

impl From<Privilege> for PrivilegeSet {
    fn from(one: Privilege) -> PrivilegeSet {
        PrivilegeSet::of(&[one])
    }
}

impl FromIterator<Privilege> for PrivilegeSet {
    fn from_iter<I: IntoIterator<Item = Privilege>>(privileges: I) -> PrivilegeSet {
        privileges.into_iter().fold(PrivilegeSet::NONE, |set, one| set.with(one.into()))
    }
}

impl fmt::Display for PrivilegeSet {
    /// `SELECT, INSERT`; `USAGE` if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("USAGE");
        }
        let names: Vec<&str> = self.iter().map(|one| one.row().name).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for PrivilegeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for PrivilegeSet {
    /// As the list of their names.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|one| one.row().name))
    }
}

impl<'de> serde::Deserialize<'de> for PrivilegeSet {
    /// An unknown name is an error: to leave it out would take a privilege away in silence.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PrivilegeSet, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let named = |name: &String| {
            Privilege::named(name).ok_or_else(|| serde::de::Error::custom(format_args!("unknown privilege {name}")))
        };
        names.iter().map(named).collect()
    }
}
