//! EXPLAIN: the operators of a plan, as MySQL's table shows them.

use crate::catalog::table::Table;
use crate::plan::access::{Access, Tail};
use crate::plan::physical::{Node, QueryPlan};
use crate::plan::{InsertRows, PlanKind};
use crate::types::ResultType;
use crate::utility::show::{Shown, text_type};
use crate::value::Value;

/// The path to rows that are made.
static MADE: Access = Access::SCAN;

/// What there is to say about one table.
struct Line<'a> {
    select_type: &'static str,
    table: Option<&'a Table>,
    access: Option<&'a Access>,
    filtered: bool,
    sorted: bool,
    temporary: bool,
}

/// The rows of an EXPLAIN.
pub(crate) fn rows(kind: &PlanKind) -> Shown {
    let number = ResultType::unsigned(21).nullable(true);
    let text = |name: &str| (name.to_owned(), text_type(256));
    let columns = vec![
        ("id".to_owned(), number),
        text("select_type"),
        text("table"),
        text("partitions"),
        text("type"),
        text("possible_keys"),
        text("key"),
        text("key_len"),
        text("ref"),
        ("rows".to_owned(), number),
        ("filtered".to_owned(), ResultType::double().nullable(true)),
        text("Extra"),
    ];
    let rows = match kind {
        PlanKind::Select(query) => vec![line(&found("SIMPLE", query))],
        PlanKind::Update(plan) => vec![line(&found("UPDATE", &plan.rows))],
        PlanKind::Delete(plan) => vec![line(&found("DELETE", &plan.rows))],
        PlanKind::Insert(plan) => {
            let select_type = if plan.replace { "REPLACE" } else { "INSERT" };
            let target = Line { table: Some(&plan.table), ..Line::new(select_type) };
            let source = match &plan.source {
                InsertRows::Query(query) => Some(found("SIMPLE", query)),
                InsertRows::Values(_) => None,
            };
            std::iter::once(target).chain(source).map(|one| line(&one)).collect()
        }
        PlanKind::Utility(_) => Vec::new(),
    };
    Shown { columns, rows }
}

impl Line<'_> {
    fn new(select_type: &'static str) -> Self {
        Line { select_type, table: None, access: None, filtered: false, sorted: false, temporary: false }
    }
}

/// The line of the table that a query reads, from its operators.
fn found<'p>(select_type: &'static str, query: &'p QueryPlan) -> Line<'p> {
    let mut line = Line::new(select_type);
    for node in query.root.chain() {
        match node {
            Node::Scan(scan) => {
                line.table = Some(&scan.table);
                line.access = Some(&scan.access);
                line.filtered |= scan.filter.is_some();
            }
            Node::SystemRows(rows) => {
                line.table = Some(&rows.table);
                line.access = Some(&MADE);
            }
            Node::Filter(input, _) => line.filtered |= matches!(**input, Node::SystemRows(_)),
            Node::Group(_, grouping) => line.temporary |= !grouping.keys.is_empty(),
            Node::Distinct(..) => line.temporary = true,
            Node::Sort(_, sort) => line.sorted |= !sort.by_path,
            Node::OneRow | Node::Project(..) | Node::Collect(..) | Node::Limit(..) => {}
        }
    }
    line
}

/// MySQL's name for a path, how many rows it is good for, and what its leading columns are compared with.
fn path(access: &Access, table: &Table) -> (&'static str, u64) {
    let unfixed = access.is_whole();
    match access.index {
        _ if access.is_point(table) => ("const", 1),
        Some(index) if unfixed && table.primary != Some(index) => ("index", 1000),
        Some(_) if unfixed && access.ordered => ("index", 1000),
        None | Some(_) if unfixed => ("ALL", 1000),
        _ if access.tail == Tail::Open => ("ref", 10),
        _ => ("range", 100),
    }
}

fn line(line: &Line<'_>) -> Vec<Value> {
    let mut row = vec![Value::Null; 12];
    row[0] = Value::UInt(1);
    row[1] = Value::text(line.select_type);
    let Some(table) = line.table else {
        row[11] = Value::text("No tables used");
        return row;
    };
    row[2] = Value::text(table.def.name.as_str());
    let Some(access) = line.access else {
        row[4] = Value::text("ALL");
        return row;
    };
    let (name, estimate) = path(access, table);
    row[4] = Value::text(name);
    row[9] = Value::UInt(estimate);
    row[10] = Value::Double(100.0);
    if let Some(index) = access.index.filter(|_| name != "ALL") {
        let key = &table.def.indexes[index];
        let used = (access.equal.len() + usize::from(access.tail != Tail::Open)).max(1);
        let bytes: usize = table.indexes[index].parts.iter().take(used).map(|part| part.explained_bytes()).sum();
        if name != "index" {
            row[5] = Value::text(key.name.as_str());
        }
        row[6] = Value::text(key.name.as_str());
        row[7] = Value::text(bytes.to_string());
        if matches!(name, "const" | "ref") {
            row[8] = Value::text(vec!["const"; access.equal.len()].join(","));
        }
    }
    let mut extra = Vec::new();
    if line.filtered && name != "const" {
        extra.push("Using where");
    }
    if access.covering {
        extra.push("Using index");
    }
    if access.reverse {
        extra.push("Backward index scan");
    }
    if line.temporary {
        extra.push("Using temporary");
    }
    if line.sorted {
        extra.push("Using filesort");
    }
    if !extra.is_empty() {
        row[11] = Value::text(extra.join("; "));
    }
    row
}
