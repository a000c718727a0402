//! Answers that must agree with each other, without a peer, as SQLancer has them.
//!
//! TLP: the rows of a query are those for which a condition is true, those for which it is false, and those for which it is
//! unknown. NoREC: how many rows a condition leaves is how often it is true where it is a value of the select list, which
//! no access path, join order or rewrite can use. And the rows are the same where conditions stay around derived tables,
//! where a LATERAL table is a subquery or a join, and where ROLLUP is a query for each of its levels.

use anyhow::Result;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::answer::{Answer, ask};
use crate::part::Part;

/// A query, and a condition on its rows.
#[derive(Clone)]
pub struct Partitioned {
    pub list: Part,
    pub from: Part,
    pub condition: Part,
}

/// Two ways to ask for the same rows.
#[derive(Clone)]
pub struct Ways {
    /// What both have in common.
    pub parts: Vec<Part>,
    /// How each is written: `{0}` is the first part.
    pub ways: [String; 2],
}

/// What a server has to agree with itself about.
#[derive(Clone)]
pub enum Claim {
    Partitioned(Partitioned),
    Ways(Ways),
}

impl Claim {
    /// What contradicts what, if anything does.
    pub fn check(&self, conn: &mut Conn) -> Result<Option<String>> {
        match self {
            Claim::Partitioned(partitioned) => partitioned.check(conn),
            Claim::Ways(ways) => ways.check(conn),
        }
    }

    /// The same with one thing less.
    pub fn smaller(&self) -> Vec<Claim> {
        match self {
            Claim::Partitioned(partitioned) => partitioned.smaller().into_iter().map(Claim::Partitioned).collect(),
            Claim::Ways(ways) => ways.smaller().into_iter().map(Claim::Ways).collect(),
        }
    }
}

impl Ways {
    fn check(&self, conn: &mut Conn) -> Result<Option<String>> {
        let written = |way: &String| {
            let parts = self.parts.iter().enumerate();
            parts.fold(way.clone(), |sql, (at, part)| sql.replace(&format!("{{{at}}}"), &part.sql()))
        };
        let [one, other] = [written(&self.ways[0]), written(&self.ways[1])];
        let (Some(found), Some(expected)) = (rows(conn, &one)?, rows(conn, &other)?) else { return Ok(None) };
        Ok((found != expected).then(|| format!("{one};\n  {found:?}\n{other};\n  {expected:?}")))
    }

    fn smaller(&self) -> Vec<Ways> {
        let mut found = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            for smaller in part.smaller() {
                let mut copy = self.clone();
                copy.parts[at] = smaller;
                found.push(copy);
            }
        }
        found
    }
}

/// The rows of a query as a set, if it has an answer.
fn rows(conn: &mut Conn, sql: &str) -> Result<Option<Vec<Vec<String>>>> {
    let Answer::Rows(_, mut rows) = ask(conn, sql)? else { return Ok(None) };
    rows.sort();
    Ok(Some(rows))
}

impl Partitioned {
    fn rows(&self, condition: &str) -> String {
        format!("SELECT {} FROM {}{condition}", self.list.sql(), self.from.sql())
    }

    fn check(&self, conn: &mut Conn) -> Result<Option<String>> {
        let condition = self.condition.sql();
        let whole = self.rows("");
        let Some(expected) = rows(conn, &whole)? else { return Ok(None) };
        let (mut found, mut parts) = (Vec::new(), Vec::new());
        for part in [format!("({condition})"), format!("NOT ({condition})"), format!("({condition}) IS NULL")] {
            let sql = self.rows(&format!(" WHERE {part}"));
            let Some(rows) = rows(conn, &sql)? else { return Ok(None) };
            parts.push(sql);
            found.push(rows);
        }
        let left = found[0].len();
        let mut all = found.concat();
        all.sort();
        if all != expected {
            let each: Vec<String> = parts.iter().zip(&found).map(|(sql, rows)| format!("{sql};\n  {rows:?}")).collect();
            return Ok(Some(format!("{whole};\n  {expected:?}\n{}", each.join("\n"))));
        }
        conn.query_drop("SET optimizer_switch = 'derived_condition_pushdown=off'")?;
        let around = rows(conn, &parts[0]);
        conn.query_drop("SET optimizer_switch = 'derived_condition_pushdown=on'")?;
        let Some(around) = around? else { return Ok(None) };
        if around != found[0] {
            return Ok(Some(format!("{};\n  {:?}\n  with conditions around: {around:?}", parts[0], found[0])));
        }
        let counting = format!("SELECT SUM(({condition}) IS TRUE) FROM {}", self.from.sql());
        let Some(counted) = rows(conn, &counting)? else { return Ok(None) };
        let counted = counted.first().and_then(|row| row.first()).map_or("NULL", String::as_str);
        if counted == left.to_string() || (counted == "NULL" && left == 0) {
            return Ok(None);
        }
        Ok(Some(format!("{};\n  {left} rows\n{counting};\n  {counted}", parts[0])))
    }

    fn smaller(&self) -> Vec<Partitioned> {
        let lists = self.list.smaller().into_iter().map(|list| Partitioned { list, ..self.clone() });
        let froms = self.from.smaller().into_iter().map(|from| Partitioned { from, ..self.clone() });
        let conditions =
            self.condition.smaller().into_iter().map(|condition| Partitioned { condition, ..self.clone() });
        lists.chain(froms).chain(conditions).collect()
    }
}
