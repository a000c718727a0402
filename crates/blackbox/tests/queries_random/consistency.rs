//! Answers that must agree with each other, without a peer, as SQLancer has them.
//!
//! TLP: the rows of a query are those for which a condition is true, those for which it is false, and those for which it is
//! unknown. NoREC: how many rows a condition leaves is how often it is true where it is a value of the select list, which
//! no access path, join order or rewrite can use. And the rows are the same where conditions stay around derived tables.

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

    /// What contradicts what, if anything does.
    pub fn check(&self, conn: &mut Conn) -> Result<Option<String>> {
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

    /// The same with one thing less.
    pub fn smaller(&self) -> Vec<Partitioned> {
        let lists = self.list.smaller().into_iter().map(|list| Partitioned { list, ..self.clone() });
        let froms = self.from.smaller().into_iter().map(|from| Partitioned { from, ..self.clone() });
        let conditions =
            self.condition.smaller().into_iter().map(|condition| Partitioned { condition, ..self.clone() });
        lists.chain(froms).chain(conditions).collect()
    }
}
