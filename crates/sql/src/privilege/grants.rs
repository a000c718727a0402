//! What an account or a role holds, level by level.
//!
//! Invariants
//! 1. What holds at a level holds for all below it; a privilege that is granted nowhere is not held.
//! 2. Of several `db.*` entries whose pattern fits a database one counts, the most exact, as in MySQL's `mysql.db`.
//! 3. No entry is empty.
//!
//! Names of databases and tables are compared as they are, those of columns without regard to case.

use std::collections::BTreeMap;

use cohort_types::collation::{Collation, like};
use serde::{Deserialize, Serialize};

use super::INFORMATION_SCHEMA;
use super::{Level, Privilege, PrivilegeSet};

/// What is granted, all levels together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grants {
    global: PrivilegeSet,
    /// Dynamic privileges that may be passed on; for others GRANT OPTION says it.
    grantable: PrivilegeSet,
    /// By pattern: `%` and `_` are wildcards, unless a backslash stands before them.
    databases: BTreeMap<String, PrivilegeSet>,
    tables: BTreeMap<String, BTreeMap<String, TableGrants>>,
}

/// What is granted on one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct TableGrants {
    table: PrivilegeSet,
    /// By name in lower case.
    columns: BTreeMap<String, PrivilegeSet>,
}

/// What GRANT and REVOKE are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// `*.*`
    Global,
    /// `db.*`, a pattern.
    Database(String),
    /// `db.table`
    Table(String, String),
}

impl On {
    /// Its level.
    pub fn level(&self) -> Level {
        match self {
            On::Global => Level::Global,
            On::Database(_) => Level::Database,
            On::Table(..) => Level::Table,
        }
    }
}

impl Grants {
    /// Everything, to be passed on too: what the first account has.
    pub fn everything() -> Grants {
        let global = PrivilegeSet::all_at(Level::Global).with(Privilege::GrantOption.into());
        Grants { global, grantable: PrivilegeSet::dynamic(), ..Grants::default() }
    }

    /// Adds privileges; `grantable` are to be passed on as well.
    pub fn grant(&mut self, on: &On, privileges: PrivilegeSet, grantable: bool) {
        let option = if grantable { Privilege::GrantOption.into() } else { PrivilegeSet::NONE };
        let dynamic = PrivilegeSet::dynamic();
        match on {
            On::Global => {
                // GRANT OPTION of a dynamic privilege is that privilege's own.
                let fixed_option =
                    if dynamic.has_all(privileges) && !privileges.is_empty() { PrivilegeSet::NONE } else { option };
                self.global = self.global.with(privileges).with(fixed_option);
                if grantable {
                    self.grantable = self.grantable.with(privileges.common(dynamic));
                }
            }
            On::Database(pattern) => {
                let entry = self.databases.entry(pattern.clone()).or_default();
                *entry = entry.with(privileges).with(option);
            }
            On::Table(database, table) => {
                let entry = self.table_entry(database, table);
                entry.table = entry.table.with(privileges).with(option);
            }
        }
        self.drop_empty();
    }

    /// Adds privileges on columns of a table.
    pub fn grant_columns(&mut self, database: &str, table: &str, columns: &[String], privileges: PrivilegeSet) {
        let entry = self.table_entry(database, table);
        for column in columns {
            let held = entry.columns.entry(column.to_lowercase()).or_default();
            *held = held.with(privileges);
        }
        self.drop_empty();
    }

    /// Takes privileges away at this level, which leaves those of other levels. Whether there was anything granted on
    /// just this, as REVOKE requires below the global level.
    pub fn revoke(&mut self, on: &On, privileges: PrivilegeSet) -> bool {
        let known = match on {
            On::Global => {
                self.global = self.global.without(privileges);
                self.grantable = self.grantable.without(privileges);
                true
            }
            On::Database(pattern) => match self.databases.get_mut(pattern) {
                Some(entry) => {
                    *entry = entry.without(privileges);
                    true
                }
                None => false,
            },
            On::Table(database, table) => {
                match self.tables.get_mut(database).and_then(|tables| tables.get_mut(table)) {
                    Some(entry) => {
                        entry.table = entry.table.without(privileges);
                        // What is taken from the table is taken from its columns.
                        entry.columns.values_mut().for_each(|held| *held = held.without(privileges));
                        true
                    }
                    None => false,
                }
            }
        };
        self.drop_empty();
        known
    }

    /// Takes privileges on columns away; whether each of them was granted on each column.
    pub fn revoke_columns(
        &mut self,
        database: &str,
        table: &str,
        columns: &[String],
        privileges: PrivilegeSet,
    ) -> bool {
        let Some(entry) = self.tables.get_mut(database).and_then(|tables| tables.get_mut(table)) else { return false };
        let mut known = true;
        for column in columns {
            match entry.columns.get_mut(&column.to_lowercase()) {
                Some(held) if held.has_all(privileges) => *held = held.without(privileges),
                _ => known = false,
            }
        }
        self.drop_empty();
        known
    }

    /// Adds what `other` holds: a role's grants to those of an account.
    pub fn add(&mut self, other: &Grants) {
        self.global = self.global.with(other.global);
        self.grantable = self.grantable.with(other.grantable);
        for (pattern, held) in &other.databases {
            let entry = self.databases.entry(pattern.clone()).or_default();
            *entry = entry.with(*held);
        }
        for (database, tables) in &other.tables {
            for (table, held) in tables {
                let entry = self.table_entry(database, table);
                entry.table = entry.table.with(held.table);
                for (column, held) in &held.columns {
                    let entry = entry.columns.entry(column.clone()).or_default();
                    *entry = entry.with(*held);
                }
            }
        }
    }

    /// What is held on everything.
    pub fn global(&self) -> PrivilegeSet {
        self.global
    }

    /// The dynamic privileges that may be passed on.
    pub fn grantable(&self) -> PrivilegeSet {
        self.grantable
    }

    /// What is granted on databases: pattern and privileges.
    pub fn databases(&self) -> impl Iterator<Item = (&str, PrivilegeSet)> {
        self.databases.iter().map(|(pattern, held)| (pattern.as_str(), *held))
    }

    /// What is granted on tables: database, table, privileges on the whole of it, and on columns.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &str, PrivilegeSet, &BTreeMap<String, PrivilegeSet>)> {
        self.tables.iter().flat_map(|(database, tables)| {
            tables.iter().map(|(table, held)| (database.as_str(), table.as_str(), held.table, &held.columns))
        })
    }

    /// What is held on a whole database. Everybody may read information_schema, and nobody more than that.
    pub fn on_database(&self, database: &str) -> PrivilegeSet {
        if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
            return Privilege::Select.into();
        }
        if self.databases.is_empty() {
            return self.global;
        }
        let exact = self.databases.get(database).filter(|_| !is_pattern(database)).copied();
        let fitting = || {
            let fits = |pattern: &&String| fits(pattern, database);
            let best = self.databases.keys().filter(fits).max_by_key(|pattern| exactness(pattern))?;
            self.databases.get(best).copied()
        };
        self.global.with(exact.or_else(fitting).unwrap_or_default())
    }

    /// What is held on every database that a pattern fits: by the most exact entry that fits all of them.
    fn on_all_that_fit(&self, pattern: &str) -> PrivilegeSet {
        if pattern.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
            return self.on_database(pattern);
        }
        let covering = self.databases.iter().filter(|(held, _)| covers(&tokens(held), &tokens(pattern)));
        let held = covering.max_by_key(|(held, _)| exactness(held)).map(|(_, held)| *held);
        self.global.with(held.unwrap_or_default())
    }

    /// What is held on a whole table.
    pub fn on_table(&self, database: &str, table: &str) -> PrivilegeSet {
        let entry = self.table(database, table).map_or(PrivilegeSet::NONE, |entry| entry.table);
        self.on_database(database).with(entry)
    }

    /// What is held on one column, by a grant on it or above.
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> PrivilegeSet {
        let entry = self.table(database, table).and_then(|entry| entry.columns.get(&column.to_lowercase()));
        self.on_table(database, table).with(entry.copied().unwrap_or_default())
    }

    /// What is held on a table or on any column of it.
    pub fn on_table_or_column(&self, database: &str, table: &str) -> PrivilegeSet {
        let columns = self.table(database, table).into_iter().flat_map(|entry| entry.columns.values());
        columns.fold(self.on_table(database, table), |held, column| held.with(*column))
    }

    /// Whether anything is held on the database or on something in it.
    pub fn sees_database(&self, database: &str) -> bool {
        self.on_database(database).has_any(PrivilegeSet::all_at(Level::Database)) || self.tables.contains_key(database)
    }

    /// Whether the database is listed: it is seen, or all are.
    pub fn lists_database(&self, database: &str) -> bool {
        self.global.has(Privilege::ShowDatabases) || self.sees_database(database)
    }

    /// What is held on a column that columns can be granted for, as `select,insert`; `None` if there is nothing.
    pub fn of_column(&self, database: &str, table: &str, column: &str) -> Option<String> {
        let held = self.on_column(database, table, column);
        let names =
            held.iter().filter(|one| one.row().lowest == Level::Column).map(|one| one.row().name.to_lowercase());
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// Whether anything is held on the table or on a column of it.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.on_table_or_column(database, table).has_any(Self::about_tables())
    }

    /// Whether anything is held on the table itself.
    pub fn sees_all_of_table(&self, database: &str, table: &str) -> bool {
        self.on_table(database, table).has_any(Self::about_tables())
    }

    fn about_tables() -> PrivilegeSet {
        PrivilegeSet::all_at(Level::Table).with(PrivilegeSet::of(&[
            Privilege::Select,
            Privilege::Insert,
            Privilege::Update,
            Privilege::References,
        ]))
    }

    /// Whether `privileges` may be passed on at this level.
    pub fn may_grant(&self, on: &On, privileges: PrivilegeSet) -> bool {
        let held = match on {
            On::Global => self.global,
            On::Database(pattern) => self.on_all_that_fit(pattern),
            On::Table(database, table) => self.on_table(database, table),
        };
        let dynamic = privileges.common(PrivilegeSet::dynamic());
        let fixed = privileges.without(dynamic);
        let option = held.has(Privilege::GrantOption) || (fixed.is_empty() && !dynamic.is_empty());
        option && held.has_all(fixed) && self.grantable.has_all(dynamic)
    }

    /// The statements that give these grants to `account`, written as `` `user`@`host` ``: the rows of SHOW GRANTS.
    pub fn statements(&self, account: &str) -> Vec<String> {
        let dynamic = PrivilegeSet::dynamic();
        let fixed = self.global.without(dynamic);
        let mut lines = vec![line(fixed, "*.*", account, &[])];
        let held = self.global.without(fixed);
        for (grantable, held) in [(false, held.without(self.grantable)), (true, self.grantable)] {
            if !held.is_empty() {
                let names: Vec<&str> = held.iter().map(|one| one.row().name).collect();
                let option = if grantable { " WITH GRANT OPTION" } else { "" };
                lines.push(format!("GRANT {} ON *.* TO {account}{option}", names.join(",")));
            }
        }
        for (pattern, held) in &self.databases {
            lines.push(line_of_all(*held, Level::Database, &format!("{}.*", quoted(pattern)), account));
        }
        for (database, tables) in &self.tables {
            for (table, entry) in tables {
                let on = format!("{}.{}", quoted(database), quoted(table));
                if entry.columns.is_empty() {
                    lines.push(line_of_all(entry.table, Level::Table, &on, account));
                } else {
                    lines.push(line(entry.table, &on, account, &by_privilege(&entry.columns)));
                }
            }
        }
        lines
    }

    fn table(&self, database: &str, table: &str) -> Option<&TableGrants> {
        self.tables.get(database)?.get(table)
    }

    fn table_entry(&mut self, database: &str, table: &str) -> &mut TableGrants {
        self.tables.entry(database.to_owned()).or_default().entry(table.to_owned()).or_default()
    }

    fn drop_empty(&mut self) {
        self.databases.retain(|_, held| !held.is_empty());
        self.tables.retain(|_, tables| {
            tables.retain(|_, entry| {
                entry.columns.retain(|_, held| !held.is_empty());
                !entry.table.is_empty() || !entry.columns.is_empty()
            });
            !tables.is_empty()
        });
    }
}

/// A name in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn line_of_all(held: PrivilegeSet, level: Level, on: &str, account: &str) -> String {
    let all = PrivilegeSet::all_at(level);
    if !held.has_all(all) {
        return line(held, on, account, &[]);
    }
    let option = if held.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    format!("GRANT ALL PRIVILEGES ON {on} TO {account}{option}")
}

fn line(held: PrivilegeSet, on: &str, account: &str, columns: &[(Privilege, Vec<&str>)]) -> String {
    let option = if held.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    let held = held.without(Privilege::GrantOption.into());
    let mut parts = Vec::new();
    // In the order of privileges, not first those of the whole.
    for one in super::ALL {
        if held.has(*one) {
            parts.push(one.to_string());
        }
        for (_, columns) in columns.iter().filter(|(privilege, _)| privilege == one) {
            let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
            parts.push(format!("{one} ({})", columns.join(", ")));
        }
    }
    let what = if parts.is_empty() { "USAGE".to_owned() } else { parts.join(", ") };
    format!("GRANT {what} ON {on} TO {account}{option}")
}

/// For each privilege that is held on columns, those columns.
fn by_privilege(columns: &BTreeMap<String, PrivilegeSet>) -> Vec<(Privilege, Vec<&str>)> {
    let all = columns.values().fold(PrivilegeSet::NONE, |all, one| all.with(*one));
    let of = |privilege: Privilege| {
        let with = columns.iter().filter(move |(_, held)| held.has(privilege));
        (privilege, with.map(|(column, _)| column.as_str()).collect())
    };
    all.iter().map(of).collect()
}

/// A database's name as a pattern that fits it alone.
pub fn escaped(database: &str) -> String {
    let mut pattern = String::with_capacity(database.len());
    for char in database.chars() {
        if matches!(char, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

fn is_pattern(name: &str) -> bool {
    name.contains(['%', '_', '\\'])
}

fn fits(pattern: &str, database: &str) -> bool {
    like(Collation::Binary, database.as_bytes(), pattern.as_bytes(), Some('\\'), &|| true)
}

/// A character of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// Itself.
    Char(char),
    /// `_`: any one.
    One,
    /// `%`: any number of any.
    Any,
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut chars = pattern.chars();
    let mut tokens = Vec::with_capacity(pattern.len());
    while let Some(char) = chars.next() {
        tokens.push(match char {
            '\\' => Token::Char(chars.next().unwrap_or('\\')),
            '%' => Token::Any,
            '_' => Token::One,
            other => Token::Char(other),
        });
    }
    tokens
}

/// Whether `wide` fits everything that `narrow` fits, as far as that shows token by token.
fn covers(wide: &[Token], narrow: &[Token]) -> bool {
    // Which beginnings of `narrow` the tokens of `wide` so far can stand for.
    let mut reached = vec![false; narrow.len() + 1];
    reached[0] = true;
    for token in wide {
        let mut next = vec![false; narrow.len() + 1];
        match token {
            Token::Any => {
                let first = reached.iter().position(|reached| *reached).unwrap_or(next.len());
                next[first..].fill(true);
            }
            one => {
                for (at, other) in narrow.iter().enumerate().filter(|(at, _)| reached[*at]) {
                    next[at + 1] = one == other || (*one == Token::One && *other != Token::Any);
                }
            }
        }
        reached = next;
    }
    reached[narrow.len()]
}

/// How much of a pattern is no wildcard.
fn exactness(pattern: &str) -> usize {
    let (mut at, bytes) = (0, pattern.as_bytes());
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' | b'_' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(privileges: &[Privilege]) -> PrivilegeSet {
        PrivilegeSet::of(privileges)
    }

    #[test]
    fn what_holds_above_holds_below() {
        let mut grants = Grants::default();
        grants.grant(&On::Global, set(&[Privilege::Process]), false);
        grants.grant(&On::Database("shop".into()), set(&[Privilege::Select]), false);
        grants.grant(&On::Table("shop".into(), "orders".into()), set(&[Privilege::Insert]), false);
        grants.grant_columns("shop", "orders", &["Price".into()], set(&[Privilege::Update]));
        assert_eq!(grants.on_database("shop"), set(&[Privilege::Process, Privilege::Select]));
        assert_eq!(grants.on_database("other"), set(&[Privilege::Process]));
        assert!(grants.on_table("shop", "orders").has_all(set(&[Privilege::Select, Privilege::Insert])));
        assert!(!grants.on_table("shop", "orders").has(Privilege::Update));
        assert!(grants.on_column("shop", "orders", "PRICE").has(Privilege::Update));
        assert!(!grants.on_column("shop", "orders", "id").has(Privilege::Update));
        assert!(grants.sees_table("shop", "lines") && grants.sees_database("shop"));
        assert!(!grants.sees_database("other"), "PROCESS is about no database");
    }

    #[test]
    fn the_most_exact_pattern_counts_alone() {
        let mut grants = Grants::default();
        for (pattern, privilege) in [
            ("%", Privilege::Drop),
            ("app%", Privilege::Select),
            (r"app\_1", Privilege::Insert),
            ("app_1", Privilege::Update),
        ] {
            grants.grant(&On::Database(pattern.into()), privilege.into(), false);
        }
        assert_eq!(grants.on_database("app_1"), Privilege::Insert.into());
        assert_eq!(grants.on_database("appx1"), Privilege::Update.into());
        assert_eq!(grants.on_database("apple"), Privilege::Select.into());
        assert_eq!(grants.on_database("zoo"), Privilege::Drop.into());
    }

    #[test]
    fn shown_as_statements() {
        let mut grants = Grants::default();
        assert_eq!(grants.statements("`u`@`%`"), ["GRANT USAGE ON *.* TO `u`@`%`"]);
        grants.grant(&On::Global, set(&[Privilege::Insert, Privilege::Select]), true);
        grants.grant(&On::Global, set(&[Privilege::BackupAdmin, Privilege::RoleAdmin]), false);
        grants.grant(&On::Global, set(&[Privilege::XaRecoverAdmin]), true);
        grants.grant(&On::Database("a`b".into()), PrivilegeSet::all_at(Level::Database), true);
        grants.grant(&On::Table("d".into(), "t".into()), Privilege::Delete.into(), false);
        grants.grant_columns("d", "t", &["b".into(), "a".into()], Privilege::Select.into());
        assert_eq!(
            grants.statements("`u`@`%`"),
            [
                "GRANT SELECT, INSERT ON *.* TO `u`@`%` WITH GRANT OPTION",
                "GRANT BACKUP_ADMIN,ROLE_ADMIN ON *.* TO `u`@`%`",
                "GRANT XA_RECOVER_ADMIN ON *.* TO `u`@`%` WITH GRANT OPTION",
                "GRANT ALL PRIVILEGES ON `a``b`.* TO `u`@`%` WITH GRANT OPTION",
                "GRANT SELECT (`a`, `b`), DELETE ON `d`.`t` TO `u`@`%`",
            ]
        );
    }

    #[test]
    fn revoking_takes_from_one_level_and_says_if_nothing_was_there() {
        let mut grants = Grants::everything();
        let table = On::Table("d".into(), "t".into());
        assert!(!grants.revoke(&table, Privilege::Select.into()));
        grants.grant(&table, set(&[Privilege::Select]), false);
        grants.grant_columns("d", "t", &["a".into()], Privilege::Update.into());
        assert!(!grants.revoke_columns("d", "t", &["b".into()], Privilege::Update.into()));
        assert!(grants.revoke_columns("d", "t", &["A".into()], Privilege::Update.into()));
        assert!(grants.revoke(&table, Privilege::Select.into()));
        assert_eq!(grants, Grants::everything(), "nothing empty stays");
        assert!(grants.may_grant(&On::Global, PrivilegeSet::all_at(Level::Global)));
        assert!(grants.revoke(&On::Global, Privilege::GrantOption.into()));
        assert!(!grants.may_grant(&table, Privilege::Select.into()));
        assert!(grants.may_grant(&On::Global, Privilege::BackupAdmin.into()), "its option is its own");
    }

    #[test]
    fn nobody_passes_on_more_databases_than_the_own_pattern_fits() {
        let mut grants = Grants::default();
        for pattern in ["app_db", r"my\_db", "x%y"] {
            grants.grant(&On::Database(pattern.into()), Privilege::Select.into(), true);
        }
        let may = |pattern: &str| grants.may_grant(&On::Database(pattern.into()), Privilege::Select.into());
        for within in ["app_db", r"app\_db", "app1db", r"my\_db", "x%y", "x%z%y", "x_y", "xy"] {
            assert!(may(within), "{within}");
        }
        for beyond in ["app%db", "app__db", "app_d_", "%", "_", "my_db", "my1db", r"my\%db", "x%", "%y", "x%y_"] {
            assert!(!may(beyond), "{beyond}");
        }
        // Taken for a name, the wider pattern would fit the narrower one.
        assert!(grants.on_database("app%db").has(Privilege::GrantOption));
        assert!(!grants.on_database(r"my\_db").has(Privilege::GrantOption));
    }

    #[test]
    fn stored_grants_come_back_and_unknown_names_are_an_error() {
        let mut grants = Grants::everything();
        grants.grant_columns("d", "t", &["a".into()], Privilege::Update.into());
        let stored = serde_json::to_string(&grants).unwrap();
        assert_eq!(serde_json::from_str::<Grants>(&stored).unwrap(), grants);
        assert!(serde_json::from_str::<Grants>(r#"{"global":["FLY"]}"#).is_err());
    }
}
