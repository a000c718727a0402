//! EXPLAIN: the access path of a plan, as MySQL's table shows it.

use super::show::{Shown, text_type};
use crate::catalog::table::Table;
use crate::expr::Expr;
use crate::plan::access::{Access, Tail};
use crate::plan::{InsertRows, PlanKind, SelectPlan, SortKey};
use crate::types::ResultType;
use crate::value::Value;

/// What there is to say about one table.
struct Line<'a> {
    select_type: &'static str,
    table: Option<&'a Table>,
    access: Option<&'a Access>,
    filter: Option<&'a Expr>,
    sort: &'a [SortKey],
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
    let mut rows = Vec::new();
    match kind {
        PlanKind::Select(plan) => rows.push(line(&select(plan))),
        PlanKind::Update(plan) => rows.push(line(&Line {
            select_type: "UPDATE",
            table: Some(&plan.table),
            access: Some(&plan.access),
            filter: plan.filter.as_ref(),
            sort: &plan.sort,
            temporary: false,
        })),
        PlanKind::Delete(plan) => rows.push(line(&Line {
            select_type: "DELETE",
            table: Some(&plan.table),
            access: Some(&plan.access),
            filter: plan.filter.as_ref(),
            sort: &plan.sort,
            temporary: false,
        })),
        PlanKind::Insert(plan) => {
            let select_type = if plan.replace { "REPLACE" } else { "INSERT" };
            rows.push(line(&Line {
                select_type,
                table: Some(&plan.table),
                access: None,
                filter: None,
                sort: &[],
                temporary: false,
            }));
            if let InsertRows::Select(source) = &plan.source {
                rows.push(line(&select(source)));
            }
        }
        PlanKind::Tree(_) => {}
    }
    Shown { columns, rows }
}

fn select(plan: &SelectPlan) -> Line<'_> {
    Line {
        select_type: "SIMPLE",
        table: plan.table.as_deref(),
        access: plan.table.as_ref().map(|_| &plan.access),
        filter: plan.filter.as_ref(),
        sort: &plan.sort,
        temporary: plan.distinct || plan.grouping.as_ref().is_some_and(|grouping| !grouping.keys.is_empty()),
    }
}

/// MySQL's name for a path, how many rows it is good for, and what its leading columns are compared with.
fn path(access: &Access, table: &Table) -> (&'static str, u64) {
    let unfixed = access.equal.is_empty() && access.tail == Tail::Open;
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
        let bytes: usize = table.indexes[index].parts.iter().take(used).map(|part| part.declared_bytes()).sum();
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
    if line.filter.is_some() && name != "const" {
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
    if !line.sort.is_empty() && !access.ordered {
        extra.push("Using filesort");
    }
    if !extra.is_empty() {
        row[11] = Value::text(extra.join("; "));
    }
    row
}
