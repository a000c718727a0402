//! Accounts as system tables show them.

use std::collections::{BTreeMap, BTreeSet};

use super::Privilege;
use super::grants::{self, Grants};
use crate::ast::{AccountName, AccountOptions};

/// Every account and role, and who asks.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// In the order of their names.
    pub accounts: Vec<AccountRecord>,
    /// The account of the session that asks.
    pub own: AccountName,
    /// The roles that are active in that session.
    pub active: BTreeSet<AccountName>,
}

/// An account or a role.
#[derive(Clone, Debug)]
pub struct AccountRecord {
    /// Its name.
    pub name: AccountName,
    /// The authentication plugin.
    pub plugin: String,
    /// The password as it is stored; empty for none.
    pub hash: String,
    /// When the password was set, seconds since 1970; 0 if that is not known.
    pub password_set: i64,
    /// What CREATE USER would have to say.
    pub options: AccountOptions,
    /// What is granted to itself.
    pub grants: Grants,
    /// The roles that are granted to it, with ADMIN OPTION or without.
    pub roles: BTreeMap<AccountName, bool>,
    /// The roles that are active when it logs in.
    pub default_roles: BTreeSet<AccountName>,
}

impl Roster {
    /// The accounts whose privileges the asker may see: all of them for whoever may read `mysql`, else the own one.
    pub(crate) fn seen(&self, asker: &Grants) -> impl Iterator<Item = &AccountRecord> {
        let all = asker.on_database("mysql").has(Privilege::Select);
        self.accounts.iter().filter(move |account| all || account.name == self.own)
    }

    /// The active roles as CURRENT_ROLE() gives them.
    pub(crate) fn active_roles(&self) -> String {
        let roles: Vec<String> = self.active.iter().map(quoted).collect();
        if roles.is_empty() { "NONE".to_owned() } else { roles.join(",") }
    }

    /// ROLES_GRAPHML() for whoever may not see the roles.
    pub(crate) const EMPTY_GRAPHML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><graphml />";

    /// ROLES_GRAPHML(): accounts are nodes, a role that is granted is an edge from who has it, of the color 1 with ADMIN
    /// OPTION.
    pub(crate) fn graphml(&self) -> String {
        let mut nodes = String::new();
        let mut edges = String::new();
        let mut count = 0;
        for (at, account) in self.accounts.iter().enumerate() {
            let name = escaped(&quoted(&account.name));
            nodes += &format!("    <node id=\"n{at}\">\n      <data key=\"key1\">{name}</data>\n    </node>\n");
            for (role, admin) in &account.roles {
                let Some(of) = self.accounts.iter().position(|known| known.name == *role) else { continue };
                let color = u8::from(*admin);
                edges += &format!(
                    "    <edge id=\"e{count}\" source=\"n{at}\" target=\"n{of}\">\n      \
                     <data key=\"key0\">{color}</data>\n    </edge>\n"
                );
                count += 1;
            }
        }
        format!("{GRAPHML_HEAD}{nodes}{edges}  </graph>\n</graphml>\n")
    }

    /// The account that asks.
    pub(crate) fn own_record(&self) -> Option<&AccountRecord> {
        self.accounts.iter().find(|account| account.name == self.own)
    }
}

/// As Boost's `write_graphml` begins.
const GRAPHML_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n  \
    <key id=\"key0\" for=\"edge\" attr.name=\"color\" attr.type=\"int\" />\n  \
    <key id=\"key1\" for=\"node\" attr.name=\"name\" attr.type=\"string\" />\n  \
    <graph id=\"G\" edgedefault=\"directed\" parse.nodeids=\"canonical\" parse.edgeids=\"canonical\" \
    parse.order=\"nodesfirst\">\n";

fn quoted(account: &AccountName) -> String {
    format!("{}@{}", grants::quoted(&account.user), grants::quoted(&account.host))
}

/// A text as a part of XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granted_roles_are_edges_from_who_has_them() {
        let account = |user: &str, roles: &[(&str, bool)]| AccountRecord {
            name: AccountName { user: user.to_owned(), host: "%".to_owned() },
            plugin: String::new(),
            hash: String::new(),
            password_set: 0,
            options: AccountOptions::default(),
            grants: Grants::default(),
            roles: roles
                .iter()
                .map(|(role, admin)| (AccountName { user: (*role).to_owned(), host: "%".to_owned() }, *admin))
                .collect(),
            default_roles: BTreeSet::new(),
        };
        let accounts =
            vec![account("a<b`", &[("r", true), ("s", false)]), account("r", &[]), account("s", &[("r", false)])];
        let text = Roster { accounts, ..Roster::default() }.graphml();
        let body = text.strip_prefix(GRAPHML_HEAD).expect("the head");
        let expected = [
            "    <node id=\"n0\">",
            "      <data key=\"key1\">`a&lt;b```@`%`</data>",
            "    </node>",
            "    <node id=\"n1\">",
            "      <data key=\"key1\">`r`@`%`</data>",
            "    </node>",
            "    <node id=\"n2\">",
            "      <data key=\"key1\">`s`@`%`</data>",
            "    </node>",
            "    <edge id=\"e0\" source=\"n0\" target=\"n1\">",
            "      <data key=\"key0\">1</data>",
            "    </edge>",
            "    <edge id=\"e1\" source=\"n0\" target=\"n2\">",
            "      <data key=\"key0\">0</data>",
            "    </edge>",
            "    <edge id=\"e2\" source=\"n2\" target=\"n1\">",
            "      <data key=\"key0\">0</data>",
            "    </edge>",
            "  </graph>",
            "</graphml>",
        ];
        assert_eq!(body.lines().collect::<Vec<_>>(), expected);
    }
}
