//! EXPLAIN FORMAT=JSON: the tables of each query block in the order in which they are read, in the form of MySQL 8.0's
//! first version. Costs are those of the planner, whose unit is a row that is read.

use super::{Line, Lines, Sought, compared, key_length, keys_used, merge, path, possible_keys};
use crate::plan::estimate::Estimate;

/// The text of a document.
pub(super) fn text(lines: &Lines<'_>) -> String {
    let mut text = String::new();
    let whole = Json::Object(vec![("query_block", block(1, lines))]);
    whole.write(&mut text, 0);
    text
}

/// A document whose members stay in order.
enum Json {
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Json {
        Json::List(texts.into_iter().map(|text| Json::Text(text.into())).collect())
    }

    fn write(&self, out: &mut String, depth: usize) {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(value) => out.push_str(&value.to_string()),
            Json::Text(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
            Json::List(all) => {
                out.push('[');
                for (at, one) in all.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(out, depth + 1);
                    one.write(out, depth + 1);
                }
                line(out, depth);
                out.push(']');
            }
            Json::Object(all) => {
                out.push('{');
                for (at, (name, one)) in all.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(out, depth + 1);
                    out.push_str(&format!("\"{name}\": "));
                    one.write(out, depth + 1);
                }
                line(out, depth);
                out.push('}');
            }
        }
    }
}

fn cost(cost: f64) -> Json {
    Json::Text(format!("{cost:.2}"))
}

/// A query block, by its number.
fn block(id: u64, lines: &Lines<'_>) -> Json {
    let own: Vec<&Line<'_>> = lines.lines.iter().filter(|line| line.id == id).collect();
    let mut members = vec![("select_id", Json::Number(id))];
    if own.iter().all(|line| line.known_as.is_empty()) {
        let why = own.first().map_or("No tables used", |line| line.without_tables());
        members.push(("message", Json::Text(why.to_owned())));
    } else {
        let thought = lines.thought.iter().find(|(of, _)| *of == id).map(|(_, thought)| *thought);
        let thought = thought.unwrap_or(Estimate { rows: 0.0, cost: 0.0 });
        members.push(("cost_info", Json::Object(vec![("query_cost", cost(thought.cost))])));
        members.push(rows(&own, lines));
    }
    let is_asked = |line: &&Line<'_>| line.select_type.ends_with("SUBQUERY") || line.select_type == "MATERIALIZED";
    let nested = lines.lines.iter().filter(|line| id == 1 && line.id != id).filter(is_asked);
    let mut nested: Vec<(u64, &str)> = nested.map(|line| (line.id, line.select_type)).collect();
    nested.dedup();
    if !nested.is_empty() {
        let one = |(id, select_type): (u64, &str)| {
            let dependent = select_type.starts_with("DEPENDENT");
            let mut members = vec![("dependent", Json::Bool(dependent)), ("cacheable", Json::Bool(!dependent))];
            if select_type == "MATERIALIZED" {
                // All answers of the one before.
                members.push(("materialized", Json::Bool(true)));
            }
            members.push(("query_block", block(id, lines)));
            Json::Object(members)
        };
        members.push(("attached_subqueries", Json::List(nested.into_iter().map(one).collect())));
    }
    Json::Object(members)
}

/// The tables of a block, below what is done with their rows.
fn rows(own: &[&Line<'_>], lines: &Lines<'_>) -> (&'static str, Json) {
    let (mut read, mut read_cost) = (1.0_f64, 0.0);
    let mut tables = Vec::with_capacity(own.len());
    for line in own {
        let found = line.found.unwrap_or(super::Found { rows: 1.0, share: 1.0, cost: 0.0 });
        let added = read * found.cost;
        read_cost += added;
        read *= found.rows * found.share;
        tables.push(Json::Object(vec![("table", table(line, lines, read, added, read_cost))]));
    }
    let mut inner = match tables.len() {
        1 => match tables.pop() {
            Some(Json::Object(mut only)) if only.len() == 1 => only.remove(0),
            _ => ("nested_loop", Json::List(Vec::new())),
        },
        _ => ("nested_loop", Json::List(tables)),
    };
    let first = own.first();
    if first.is_some_and(|line| line.temporary) {
        inner = ("grouping_operation", over(vec![("using_temporary_table", Json::Bool(true))], inner));
    }
    if first.is_some_and(|line| line.sorted) {
        inner = ("ordering_operation", over(vec![("using_filesort", Json::Bool(true))], inner));
    }
    inner
}

fn over(mut members: Vec<(&'static str, Json)>, inner: (&'static str, Json)) -> Json {
    members.push(inner);
    Json::Object(members)
}

fn table(line: &Line<'_>, lines: &Lines<'_>, produced: f64, read_cost: f64, prefix_cost: f64) -> Json {
    let mut members = vec![("table_name", Json::Text(line.known_as.clone()))];
    let access = line.table.zip(line.access);
    let kind = access.map_or("ALL", |(table, access)| path(access, table));
    if line.access.is_none() {
        members.insert(0, ("insert", Json::Bool(true)));
    }
    members.push(("access_type", Json::Text(kind.to_owned())));
    if let Some((table, access)) = access {
        let possible = possible_keys(line, table);
        if !possible.is_empty() {
            members.push(("possible_keys", Json::texts(possible)));
        }
        if let Some(merge) = merge(access, table) {
            members.push(("key", Json::Text(merge)));
            members.push(("key_length", Json::Text(keys_used(access, table).1.join(","))));
        }
        if let Some(index) = access.index.filter(|_| kind != "ALL") {
            let (used, bytes) = key_length(access, table, index);
            let def = &table.def.indexes[index];
            members.push(("key", Json::Text(def.name.clone())));
            let names = def.columns.iter().take(used).map(|part| table.def.columns[part.column].name.as_str());
            members.push(("used_key_parts", Json::texts(names)));
            members.push(("key_length", Json::Text(bytes.to_string())));
            if matches!(kind, "const" | "ref" | "eq_ref") {
                let terms = access.seek.equal.iter().map(|term| compared(term, &lines.lines, line.id));
                members.push(("ref", Json::texts(terms)));
            }
            if access.reverse {
                members.push(("backward_index_scan", Json::Bool(true)));
            }
        }
    }
    if let Some(found) = line.found {
        members.push(("rows_examined_per_scan", Json::Number(found.rows.round().max(1.0) as u64)));
        members.push(("rows_produced_per_join", Json::Number(produced.round() as u64)));
        members.push(("filtered", Json::Text(format!("{:.2}", found.share * 100.0))));
        match access {
            Some((_, access)) if access.loose.is_some() => {
                members.push(("using_index_for_group_by", Json::Bool(true)));
            }
            Some((_, access)) if access.covering => members.push(("using_index", Json::Bool(true))),
            _ => {}
        }
        if line.of_function {
            members.push(("table_function", Json::Text("json_table".to_owned())));
            members.push(("using_temporary_table", Json::Bool(true)));
        }
        if let Some(buffer) = line.buffered {
            let name = buffer.split_once('(').map_or(buffer, |(_, name)| name.trim_end_matches(')'));
            members.push(("using_join_buffer", Json::Text(name.to_owned())));
        }
        match &line.sought {
            Some(Sought::FirstMatch(before)) => members.push(("first_match", Json::Text(before.clone()))),
            Some(Sought::NotExists) => members.push(("not_exists", Json::Bool(true))),
            None => {}
        }
        members.push((
            "cost_info",
            Json::Object(vec![("read_cost", cost(read_cost)), ("prefix_cost", cost(prefix_cost))]),
        ));
    }
    if !line.wanted.is_empty()
        && let Some(table) = line.table
    {
        let names = line.wanted.iter().map(|column| table.def.columns[*column].name.as_str());
        members.push(("used_columns", Json::texts(names)));
    }
    if !line.conditions.is_empty() {
        let text: Vec<String> = line.conditions.iter().map(ToString::to_string).collect();
        let text = if text.len() == 1 { text.concat() } else { format!("({})", text.join(" and ")) };
        members.push(("attached_condition", Json::Text(text)));
    }
    let made = line.known_as.strip_prefix("<derived").and_then(|rest| rest.strip_suffix('>')?.parse().ok());
    if let Some(id) = made {
        let members_of = vec![("using_temporary_table", Json::Bool(false)), ("query_block", block(id, lines))];
        members.push(("materialized_from_subquery", Json::Object(members_of)));
    }
    Json::Object(members)
}
