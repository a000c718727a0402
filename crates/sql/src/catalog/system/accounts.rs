//! Tables about accounts: those of `mysql`, with the columns of MySQL 8.0, and those of `information_schema`.
//!
//! Where MySQL keeps who granted something, and when, nothing is kept here: the columns are empty.
//!
//! Source: MySQL 8.0 manual, "Grant Tables", "INFORMATION_SCHEMA Tables".

use Kind::{Bytes, Chars, Flag, FlagOrNull, Held, Host, Int, Long, Moment, Small, Text, Words};
use Privilege::{
    Alter, AlterRoutine, Create, CreateRole, CreateRoutine, CreateTablespace, CreateTemporaryTables, CreateUser,
    CreateView, Delete, Drop, DropRole, Event, Execute, File, GrantOption, Index, Insert, LockTables, Process,
    References, Reload, ReplicationClient, ReplicationSlave, Select, ShowDatabases, ShowView, Shutdown, Super, Trigger,
    Update,
};

use super::{Kind, Rows, SystemTable};
use crate::ast::{AccountAttribute, AccountName, AccountOptions, LockTime, OrDefault, PasswordExpiry, TlsRequirement};
use crate::privilege::grants::Grants;
use crate::privilege::roster::{AccountRecord, Roster};
use crate::privilege::{Privilege, PrivilegeSet};
use crate::types::temporal::{SECOND_US, Timestamp};
use crate::value::Value;

/// The tables of `mysql`.
pub(super) const STORED: &[SystemTable] = &[
    SystemTable {
        name: "columns_priv",
        columns: &[
            ("Host", Host),
            ("Db", Chars(64)),
            ("User", Chars(32)),
            ("Table_name", Chars(64)),
            ("Column_name", Chars(64)),
            ("Timestamp", Moment),
            ("Column_priv", Words(31)),
        ],
        rows: Rows::Accounts(|roster, _| of_each(roster, columns_priv)),
    },
    SystemTable { name: "db", columns: DB, rows: Rows::Accounts(|roster, _| of_each(roster, db)) },
    SystemTable {
        name: "default_roles",
        columns: &[("HOST", Host), ("USER", Chars(32)), ("DEFAULT_ROLE_HOST", Host), ("DEFAULT_ROLE_USER", Chars(32))],
        rows: Rows::Accounts(|roster, _| of_each(roster, default_roles)),
    },
    SystemTable {
        name: "global_grants",
        columns: &[("USER", Chars(32)), ("HOST", Host), ("PRIV", Chars(32)), ("WITH_GRANT_OPTION", Flag)],
        rows: Rows::Accounts(|roster, _| of_each(roster, global_grants)),
    },
    SystemTable {
        name: "role_edges",
        columns: &[
            ("FROM_HOST", Host),
            ("FROM_USER", Chars(32)),
            ("TO_HOST", Host),
            ("TO_USER", Chars(32)),
            ("WITH_ADMIN_OPTION", Flag),
        ],
        rows: Rows::Accounts(|roster, _| of_each(roster, role_edges)),
    },
    SystemTable {
        name: "tables_priv",
        columns: &[
            ("Host", Host),
            ("Db", Chars(64)),
            ("User", Chars(32)),
            ("Table_name", Chars(64)),
            ("Grantor", Words(255)),
            ("Timestamp", Moment),
            ("Table_priv", Words(98)),
            ("Column_priv", Words(31)),
        ],
        rows: Rows::Accounts(|roster, _| of_each(roster, tables_priv)),
    },
    SystemTable { name: "user", columns: USER, rows: Rows::Accounts(|roster, _| of_each(roster, user)) },
];

/// Those of `information_schema`.
pub(super) const DEFINED: &[SystemTable] = &[
    SystemTable {
        name: "APPLICABLE_ROLES",
        columns: &[
            ("USER", Text),
            ("HOST", Text),
            ("GRANTEE", Text),
            ("GRANTEE_HOST", Text),
            ("ROLE_NAME", Text),
            ("ROLE_HOST", Text),
            ("IS_GRANTABLE", Text),
            ("IS_DEFAULT", Text),
            ("IS_MANDATORY", Text),
        ],
        rows: Rows::Accounts(|roster, _| applicable_roles(roster)),
    },
    SystemTable {
        name: "COLUMN_PRIVILEGES",
        columns: &[
            ("GRANTEE", Text),
            ("TABLE_CATALOG", Text),
            ("TABLE_SCHEMA", Text),
            ("TABLE_NAME", Text),
            ("COLUMN_NAME", Text),
            ("PRIVILEGE_TYPE", Text),
            ("IS_GRANTABLE", Text),
        ],
        rows: Rows::Accounts(|roster, asker| of_seen(roster, asker, column_privileges)),
    },
    SystemTable {
        name: "ENABLED_ROLES",
        columns: &[("ROLE_NAME", Text), ("ROLE_HOST", Text), ("IS_DEFAULT", Text), ("IS_MANDATORY", Text)],
        rows: Rows::Accounts(|roster, _| enabled_roles(roster)),
    },
    SystemTable {
        name: "SCHEMA_PRIVILEGES",
        columns: &[
            ("GRANTEE", Text),
            ("TABLE_CATALOG", Text),
            ("TABLE_SCHEMA", Text),
            ("PRIVILEGE_TYPE", Text),
            ("IS_GRANTABLE", Text),
        ],
        rows: Rows::Accounts(|roster, asker| of_seen(roster, asker, schema_privileges)),
    },
    SystemTable {
        name: "TABLE_PRIVILEGES",
        columns: &[
            ("GRANTEE", Text),
            ("TABLE_CATALOG", Text),
            ("TABLE_SCHEMA", Text),
            ("TABLE_NAME", Text),
            ("PRIVILEGE_TYPE", Text),
            ("IS_GRANTABLE", Text),
        ],
        rows: Rows::Accounts(|roster, asker| of_seen(roster, asker, table_privileges)),
    },
    SystemTable {
        name: "USER_ATTRIBUTES",
        columns: &[("USER", Text), ("HOST", Text), ("ATTRIBUTE", Text)],
        rows: Rows::Accounts(|roster, asker| of_seen(roster, asker, user_attributes)),
    },
    SystemTable {
        name: "USER_PRIVILEGES",
        columns: &[("GRANTEE", Text), ("TABLE_CATALOG", Text), ("PRIVILEGE_TYPE", Text), ("IS_GRANTABLE", Text)],
        rows: Rows::Accounts(|roster, asker| of_seen(roster, asker, user_privileges)),
    },
];

const USER: &[(&str, Kind)] = &[
    ("Host", Host),
    ("User", Chars(32)),
    ("Select_priv", Held(Select)),
    ("Insert_priv", Held(Insert)),
    ("Update_priv", Held(Update)),
    ("Delete_priv", Held(Delete)),
    ("Create_priv", Held(Create)),
    ("Drop_priv", Held(Drop)),
    ("Reload_priv", Held(Reload)),
    ("Shutdown_priv", Held(Shutdown)),
    ("Process_priv", Held(Process)),
    ("File_priv", Held(File)),
    ("Grant_priv", Held(GrantOption)),
    ("References_priv", Held(References)),
    ("Index_priv", Held(Index)),
    ("Alter_priv", Held(Alter)),
    ("Show_db_priv", Held(ShowDatabases)),
    ("Super_priv", Held(Super)),
    ("Create_tmp_table_priv", Held(CreateTemporaryTables)),
    ("Lock_tables_priv", Held(LockTables)),
    ("Execute_priv", Held(Execute)),
    ("Repl_slave_priv", Held(ReplicationSlave)),
    ("Repl_client_priv", Held(ReplicationClient)),
    ("Create_view_priv", Held(CreateView)),
    ("Show_view_priv", Held(ShowView)),
    ("Create_routine_priv", Held(CreateRoutine)),
    ("Alter_routine_priv", Held(AlterRoutine)),
    ("Create_user_priv", Held(CreateUser)),
    ("Event_priv", Held(Event)),
    ("Trigger_priv", Held(Trigger)),
    ("Create_tablespace_priv", Held(CreateTablespace)),
    ("ssl_type", Words(9)),
    ("ssl_cipher", Bytes),
    ("x509_issuer", Bytes),
    ("x509_subject", Bytes),
    ("max_questions", Int),
    ("max_updates", Int),
    ("max_connections", Int),
    ("max_user_connections", Int),
    ("plugin", Chars(64)),
    ("authentication_string", Long),
    ("password_expired", Flag),
    ("password_last_changed", Moment),
    ("password_lifetime", Small),
    ("account_locked", Flag),
    ("Create_role_priv", Held(CreateRole)),
    ("Drop_role_priv", Held(DropRole)),
    ("Password_reuse_history", Small),
    ("Password_reuse_time", Small),
    ("Password_require_current", FlagOrNull),
    ("User_attributes", Long),
];

const DB: &[(&str, Kind)] = &[
    ("Host", Host),
    ("Db", Chars(64)),
    ("User", Chars(32)),
    ("Select_priv", Held(Select)),
    ("Insert_priv", Held(Insert)),
    ("Update_priv", Held(Update)),
    ("Delete_priv", Held(Delete)),
    ("Create_priv", Held(Create)),
    ("Drop_priv", Held(Drop)),
    ("Grant_priv", Held(GrantOption)),
    ("References_priv", Held(References)),
    ("Index_priv", Held(Index)),
    ("Alter_priv", Held(Alter)),
    ("Create_tmp_table_priv", Held(CreateTemporaryTables)),
    ("Lock_tables_priv", Held(LockTables)),
    ("Create_view_priv", Held(CreateView)),
    ("Show_view_priv", Held(ShowView)),
    ("Create_routine_priv", Held(CreateRoutine)),
    ("Alter_routine_priv", Held(AlterRoutine)),
    ("Execute_priv", Held(Execute)),
    ("Event_priv", Held(Event)),
    ("Trigger_priv", Held(Trigger)),
];

type Row = Vec<Value>;

fn of_each(roster: &Roster, rows: impl Fn(&AccountRecord) -> Vec<Row>) -> Vec<Row> {
    roster.accounts.iter().flat_map(rows).collect()
}

fn of_seen(roster: &Roster, asker: &Grants, rows: impl Fn(&AccountRecord) -> Vec<Row>) -> Vec<Row> {
    roster.seen(asker).flat_map(rows).collect()
}

fn text(text: &str) -> Value {
    Value::text(text)
}

fn flag(yes: bool) -> Value {
    text(if yes { "Y" } else { "N" })
}

fn yes_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

/// The values of a row: flags of what is held in their columns, `others` in the rest.
fn with_flags(columns: &[(&str, Kind)], held: PrivilegeSet, others: Vec<Value>) -> Row {
    let mut others = others.into_iter();
    let value = |(_, kind): &(&str, Kind)| match kind {
        Held(privilege) => flag(held.has(*privilege)),
        _ => others.next().expect("a value for each column that is no privilege"),
    };
    columns.iter().map(value).collect()
}

/// As a SET shows what is held: `Select,Create View,Grant`.
fn words(held: PrivilegeSet) -> Value {
    let word = |privilege: Privilege| match privilege {
        GrantOption => "Grant".to_owned(),
        CreateView => "Create View".to_owned(),
        other => other.row().name[..1].to_owned() + &other.row().name[1..].to_lowercase(),
    };
    // In the order of the SET.
    const ORDER: [Privilege; 13] = [
        Select,
        Insert,
        Update,
        Delete,
        Create,
        Drop,
        GrantOption,
        References,
        Index,
        Alter,
        CreateView,
        ShowView,
        Trigger,
    ];
    let words: Vec<String> = ORDER.into_iter().filter(|one| held.has(*one)).map(word).collect();
    Value::text(words.join(","))
}

fn user(account: &AccountRecord) -> Vec<Row> {
    let options = &account.options;
    let (ssl_type, [cipher, issuer, subject]) = match options.requires.clone().unwrap_or_default() {
        TlsRequirement::None => ("", [None, None, None]),
        TlsRequirement::Ssl => ("ANY", [None, None, None]),
        TlsRequirement::X509 => ("X509", [None, None, None]),
        TlsRequirement::Specified { subject, issuer, cipher } => ("SPECIFIED", [cipher, issuer, subject]),
    };
    let bytes = |of: Option<String>| Value::bytes(of.unwrap_or_default().into_bytes());
    let limit = |most: Option<u32>| Value::UInt(most.unwrap_or_default().into());
    let number = |own: Option<OrDefault<u16>>| match own {
        Some(OrDefault::Own(number)) => Value::UInt(number.into()),
        Some(OrDefault::Default) | None => Value::Null,
    };
    let lifetime = match options.expiry {
        Some(PasswordExpiry::Never) => Value::UInt(0),
        Some(PasswordExpiry::Days(days)) => Value::UInt(days.into()),
        Some(PasswordExpiry::Now | PasswordExpiry::Default) | None => Value::Null,
    };
    let changed = match account.password_set {
        0 => Value::Null,
        seconds => Value::Timestamp(Timestamp { micros: seconds * SECOND_US, fsp: 0 }),
    };
    let others = vec![
        text(&account.name.host),
        text(&account.name.user),
        text(ssl_type),
        bytes(cipher),
        bytes(issuer),
        bytes(subject),
        limit(options.max_queries_per_hour),
        limit(options.max_updates_per_hour),
        limit(options.max_connections_per_hour),
        limit(options.max_user_connections),
        text(&account.plugin),
        text(&account.hash),
        flag(options.expiry == Some(PasswordExpiry::Now)),
        changed,
        lifetime,
        flag(options.locked == Some(true)),
        number(options.history),
        number(options.reuse_days),
        match options.requires_current {
            Some(OrDefault::Own(required)) => flag(required),
            Some(OrDefault::Default) | None => Value::Null,
        },
        stored_attributes(account),
    ];
    vec![with_flags(USER, account.grants.global(), others)]
}

/// ATTRIBUTE and COMMENT together, as JSON.
fn attributes(account: &AccountRecord) -> Option<String> {
    match account.options.attribute.as_ref()? {
        AccountAttribute::Json(json) => Some(json.clone()),
        AccountAttribute::Comment(comment) => {
            Some(format!("{{\"comment\": {}}}", serde_json::Value::from(comment.as_str())))
        }
    }
}

/// The attributes, and what wrong passwords do, as `mysql.user` has them; -1 days are unbounded.
fn stored_attributes(account: &AccountRecord) -> Value {
    let mut members: Vec<String> =
        attributes(account).map(|json| format!("\"metadata\": {json}")).into_iter().collect();
    let AccountOptions { failed_logins, lock_time, .. } = account.options;
    if failed_logins.is_some() || lock_time.is_some() {
        let days = match lock_time.unwrap_or_default() {
            LockTime::Days(days) => i32::from(days),
            LockTime::Unbounded => -1,
        };
        let attempts = failed_logins.unwrap_or_default();
        members.push(format!(
            "\"Password_locking\": {{\"failed_login_attempts\": {attempts}, \"password_lock_time_days\": {days}}}"
        ));
    }
    if members.is_empty() { Value::Null } else { Value::text(format!("{{{}}}", members.join(", "))) }
}

fn db(account: &AccountRecord) -> Vec<Row> {
    let AccountName { user, host } = &account.name;
    let row = |(pattern, held)| with_flags(DB, held, vec![text(host), text(pattern), text(user)]);
    account.grants.databases().map(row).collect()
}

fn tables_priv(account: &AccountRecord) -> Vec<Row> {
    let AccountName { user, host } = &account.name;
    let tables = account.grants.tables().map(|(database, table, held, columns)| {
        let of_columns = columns.values().fold(PrivilegeSet::NONE, |all, one| all.with(*one));
        let head = [text(host), text(database), text(user), text(table), text(""), Value::Null];
        head.into_iter().chain([words(held), words(of_columns)]).collect()
    });
    tables.collect()
}

fn columns_priv(account: &AccountRecord) -> Vec<Row> {
    let AccountName { user, host } = &account.name;
    let mut rows = Vec::new();
    for (database, table, _, columns) in account.grants.tables() {
        for (column, held) in columns {
            let head = [text(host), text(database), text(user), text(table), text(column), Value::Null];
            rows.push(head.into_iter().chain([words(*held)]).collect());
        }
    }
    rows
}

fn global_grants(account: &AccountRecord) -> Vec<Row> {
    let AccountName { user, host } = &account.name;
    let row =
        |one: Privilege| vec![text(user), text(host), text(one.row().name), flag(account.grants.grantable().has(one))];
    account.grants.global().common(PrivilegeSet::dynamic()).iter().map(row).collect()
}

fn role_edges(account: &AccountRecord) -> Vec<Row> {
    let AccountName { user, host } = &account.name;
    let row = |(role, admin): (&AccountName, &bool)| {
        vec![text(&role.host), text(&role.user), text(host), text(user), flag(*admin)]
    };
    account.roles.iter().map(row).collect()
}

fn default_roles(account: &AccountRecord) -> Vec<Row> {
    let AccountName { user, host } = &account.name;
    let row = |role: &AccountName| vec![text(host), text(user), text(&role.host), text(&role.user)];
    account.default_roles.iter().map(row).collect()
}

/// `'user'@'host'`
fn grantee(account: &AccountRecord) -> Value {
    Value::text(format!("'{}'@'{}'", account.name.user, account.name.host))
}

/// Rows for each of the privileges that are held but GRANT OPTION, which each of them says; for none that of USAGE.
fn privilege_rows(head: &[Value], held: PrivilegeSet, usage: bool) -> Vec<Row> {
    let named = held.without(GrantOption.into());
    let row = |name: &str| {
        let tail = [text(name), yes_no(held.has(GrantOption))];
        head.iter().cloned().chain(tail).collect()
    };
    let mut rows: Vec<Row> = named.iter().map(|one| row(one.row().name)).collect();
    if rows.is_empty() && usage {
        rows.push(row("USAGE"));
    }
    rows
}

fn user_privileges(account: &AccountRecord) -> Vec<Row> {
    let head = [grantee(account), text("def")];
    let global = account.grants.global();
    let dynamic = global.common(PrivilegeSet::dynamic());
    let mut rows = privilege_rows(&head, global.without(dynamic), true);
    for one in dynamic.iter() {
        let tail = [text(one.row().name), yes_no(account.grants.grantable().has(one))];
        rows.push(head.iter().cloned().chain(tail).collect());
    }
    rows
}

fn schema_privileges(account: &AccountRecord) -> Vec<Row> {
    let rows = |(pattern, held)| privilege_rows(&[grantee(account), text("def"), text(pattern)], held, true);
    account.grants.databases().flat_map(rows).collect()
}

fn table_privileges(account: &AccountRecord) -> Vec<Row> {
    let mut rows = Vec::new();
    for (database, table, held, _) in account.grants.tables() {
        let head = [grantee(account), text("def"), text(database), text(table)];
        rows.extend(privilege_rows(&head, held, !held.is_empty()));
    }
    rows
}

fn column_privileges(account: &AccountRecord) -> Vec<Row> {
    let mut rows = Vec::new();
    for (database, table, of_table, columns) in account.grants.tables() {
        for (column, held) in columns {
            let head = [grantee(account), text("def"), text(database), text(table), text(column)];
            let option = of_table.common(GrantOption.into());
            rows.extend(privilege_rows(&head, held.with(option), false));
        }
    }
    rows
}

fn user_attributes(account: &AccountRecord) -> Vec<Row> {
    let metadata = attributes(account).map_or(Value::Null, Value::text);
    vec![vec![text(&account.name.user), text(&account.name.host), metadata]]
}

/// The roles that are granted to the asker, directly and by other roles.
fn applicable_roles(roster: &Roster) -> Vec<Row> {
    let Some(own) = roster.own_record() else { return Vec::new() };
    let (mut rows, mut open, mut seen) = (Vec::new(), vec![own], Vec::new());
    while let Some(grantee) = open.pop() {
        for (role, admin) in &grantee.roles {
            rows.push(vec![
                text(&own.name.user),
                text(&own.name.host),
                text(&grantee.name.user),
                text(&grantee.name.host),
                text(&role.user),
                text(&role.host),
                yes_no(*admin),
                yes_no(own.default_roles.contains(role)),
                yes_no(false),
            ]);
            if !seen.contains(&role) {
                seen.push(role);
                open.extend(roster.accounts.iter().find(|account| account.name == *role));
            }
        }
    }
    rows
}

/// The asker's active roles, and what is granted to them.
fn enabled_roles(roster: &Roster) -> Vec<Row> {
    let Some(own) = roster.own_record() else { return Vec::new() };
    let mut seen: Vec<&AccountName> = Vec::new();
    let mut open: Vec<&AccountName> = roster.active.iter().filter(|role| own.roles.contains_key(role)).collect();
    while let Some(role) = open.pop() {
        if !seen.contains(&role) {
            seen.push(role);
            let record = roster.accounts.iter().find(|account| account.name == *role);
            open.extend(record.into_iter().flat_map(|role| role.roles.keys()));
        }
    }
    seen.sort_unstable();
    let row = |role: &&AccountName| {
        vec![text(&role.user), text(&role.host), yes_no(own.default_roles.contains(role)), yes_no(false)]
    };
    seen.iter().map(row).collect()
}
