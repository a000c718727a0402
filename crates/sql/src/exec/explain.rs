//! EXPLAIN: the operators of a plan, as MySQL's table shows them; [`tree`] and [`json`] have its other formats.
//!
//! What it says of rows is what [`crate::plan::estimate`] thinks of the plan with the statistics of this moment, and with the
//! constants of the statement, which the plan was made without ([`Constants`]).

mod json;
mod tree;

use crate::ast::ExplainFormat;
use crate::catalog::table::Table;
use crate::expr::{CompareOp, Expr};
use crate::plan::access::{Access, Merge, Tail};
use crate::plan::estimate::{self, Estimate, Found};
use crate::plan::node::{CommonPlan, JoinMethod, JoinType, Node, QueryPlan, RowSource};
use crate::plan::query::conjunct_refs;
use crate::plan::share::Constants;
use crate::plan::{InsertRows, Plan, PlanKind};
use crate::profile::Profile;
use crate::statistics::UNKNOWN_ROWS;
use crate::types::ResultType;
use crate::utility::show::{Shown, text_type};
use crate::value::Value;

/// The path to rows that are made.
static MADE: Access = Access::SCAN;

/// What there is to say about one table.
#[derive(Clone, Default)]
struct Line<'p> {
    /// Which query block it is of.
    id: u64,
    select_type: &'static str,
    table: Option<&'p Table>,
    known_as: String,
    first_slot: usize,
    access: Option<&'p Access>,
    /// What is thought of it.
    found: Option<Found>,
    /// What its rows are judged by, there and where they meet those before.
    conditions: Vec<&'p Expr>,
    /// Columns that anything reads.
    wanted: &'p [usize],
    sorted: bool,
    temporary: bool,
    /// It is a JSON_TABLE.
    of_function: bool,
    /// It stands for all tables of a block of whose rows none is wanted.
    impossible: bool,
    /// Its rows are kept for a join.
    buffered: Option<&'static str>,
    /// It is the last one in which partners of a row are looked for, and how.
    sought: Option<Sought>,
}

/// What becomes of a row when a partner is found.
#[derive(Clone)]
enum Sought {
    /// It is given, and the next row of this table is looked at.
    FirstMatch(String),
    /// It is left out.
    NotExists,
}

/// The answer to an EXPLAIN in this format.
pub(crate) fn shown(plan: &Plan, format: ExplainFormat) -> Shown {
    let text = match format {
        ExplainFormat::Traditional => return table(&lines(plan)),
        ExplainFormat::Json => json::text(&lines(plan)),
        ExplainFormat::Tree => tree::text(plan, None),
    };
    one_text(text)
}

/// The answer to EXPLAIN ANALYZE of a plan that has run.
pub(crate) fn analyzed(plan: &Plan, profile: &Profile) -> Shown {
    one_text(tree::text(plan, Some(profile)))
}

/// The columns of an answer that is one text.
pub(crate) fn text_columns() -> Vec<(String, ResultType)> {
    vec![("EXPLAIN".to_owned(), text_type(65_535))]
}

fn one_text(text: String) -> Shown {
    Shown { columns: text_columns(), rows: vec![vec![Value::text(text)]] }
}

fn table(lines: &Lines<'_>) -> Shown {
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
    let rows = lines.lines.iter().map(|one| line(one, &lines.lines)).collect();
    Shown { columns, rows }
}

/// The lines of a plan.
fn lines(plan: &Plan) -> Lines<'_> {
    let mut lines = Lines::default();
    let nested = plan.queries.iter().flatten().count() + plan.commons.len() > 0;
    let outermost = |query: &QueryPlan| if nested || has_parts(query) { "PRIMARY" } else { "SIMPLE" };
    match &plan.kind {
        PlanKind::Select(query) => lines.query(outermost(query), query),
        PlanKind::Update(update) => lines.query("UPDATE", &update.rows),
        PlanKind::Delete(delete) => lines.query("DELETE", &delete.rows),
        PlanKind::UpdateJoined(update) => lines.query("UPDATE", &update.rows),
        PlanKind::DeleteJoined(delete) => lines.query("DELETE", &delete.rows),
        PlanKind::Insert(insert) => {
            let select_type = if insert.replace { "REPLACE" } else { "INSERT" };
            let (table, known_as) = (Some(&*insert.table), insert.table.def.name.clone());
            lines.lines.push(Line { id: 1, select_type, table, known_as, ..Line::default() });
            match &insert.source {
                InsertRows::Query(query, _) => lines.query(outermost(query), query),
                InsertRows::Values(_) => lines.blocks = 1,
            }
        }
        PlanKind::Utility(_) => {}
    }
    for query in plan.queries.iter().flatten() {
        let dependent = query.plan.reads_outer;
        lines.query(if dependent { "DEPENDENT SUBQUERY" } else { "SUBQUERY" }, &query.plan);
        if let Some(all) = &query.all_answers {
            lines.query("MATERIALIZED", &all.plan);
        }
    }
    for common in &plan.commons {
        match common {
            CommonPlan::Query(query) => lines.query("DERIVED", query),
            CommonPlan::Recursive(recursion) => {
                recursion.seeds.iter().for_each(|query| lines.query("DERIVED", query));
                recursion.rounds.iter().for_each(|query| lines.query("RECURSIVE UNION", query));
            }
        }
    }
    lines
}

/// Whether a query is made of others.
fn has_parts(query: &QueryPlan) -> bool {
    let mut found = false;
    let is_query = |node: &Node| matches!(node, Node::Made(made) if !matches!(made.rows, RowSource::JsonTable(_)));
    query.root.walk(&mut |node| found |= is_query(node));
    found
}

/// The lines so far, and how many query blocks they are of.
#[derive(Default)]
struct Lines<'p> {
    lines: Vec<Line<'p>>,
    blocks: u64,
    /// What is thought of each block.
    thought: Vec<(u64, Estimate)>,
}

impl<'p> Lines<'p> {
    /// The lines of the tables that a query reads, from its operators, and those of the queries that it is made of.
    fn query(&mut self, select_type: &'static str, query: &'p QueryPlan) {
        self.blocks += 1;
        let (id, first) = (self.blocks, self.lines.len());
        self.thought.push((id, estimate::of_query(query, Constants::All)));
        let empty = Line { id, select_type, ..Line::default() };
        let mut made: Vec<&'p RowSource> = Vec::new();
        let (mut sorted, mut temporary) = (false, false);
        query.root.walk(&mut |node| match node {
            Node::Scan(scan) => self.lines.push(Line {
                table: Some(&scan.table),
                known_as: scan.known_as.clone(),
                first_slot: scan.first_slot,
                access: Some(&scan.access),
                conditions: scan.filter.iter().flat_map(conjunct_refs).collect(),
                wanted: &scan.wanted,
                found: Some(estimate::scan(scan, Constants::All)),
                ..empty.clone()
            }),
            Node::SystemRows(rows) => self.lines.push(Line {
                table: Some(&rows.table),
                known_as: rows.known_as.clone(),
                first_slot: rows.first_slot,
                access: Some(&MADE),
                ..empty.clone()
            }),
            Node::Made(rows) => {
                let known_as = match (&rows.rows, rows.known_as.as_str()) {
                    (RowSource::Query(_) | RowSource::Lateral { .. }, _) => {
                        format!("<derived{}>", id + 1 + made.len() as u64)
                    }
                    (RowSource::Set(_), "") => "<union>".to_owned(),
                    (_, known_as) => known_as.to_owned(),
                };
                let of_function = matches!(rows.rows, RowSource::JsonTable(_));
                if !of_function {
                    made.push(&rows.rows);
                }
                let (access, first_slot) = (Some(&MADE), rows.first_slot);
                let found =
                    Some(Found { rows: estimate::of_source(&rows.rows, Constants::All).rows, share: 1.0, cost: 0.0 });
                self.lines.push(Line { known_as, first_slot, access, found, of_function, ..empty.clone() });
            }
            Node::Join(join) => {
                let mut right = 0;
                join.right.walk(&mut |node| right += usize::from(node.is_leaf()));
                let before = self.lines.iter().rev().nth(right).map_or(String::new(), |line| line.known_as.clone());
                let sought = match join.join_type {
                    JoinType::Inner | JoinType::Left => None,
                    JoinType::Semi => Some(Sought::FirstMatch(before)),
                    JoinType::Anti => Some(Sought::NotExists),
                };
                // What is on the right may end with partners of its own.
                let is_it = |line: &&mut Line<'_>| sought.is_some() || line.sought.is_none();
                if let Some(last) = self.lines.iter_mut().rev().find(is_it).filter(|last| last.id == id) {
                    last.conditions.extend(join.on.iter().flat_map(conjunct_refs));
                    last.sought = sought;
                    last.buffered = match join.method {
                        JoinMethod::Loop => None,
                        JoinMethod::Kept => Some("Using join buffer (block nested loop)"),
                        JoinMethod::Hashed(_) => Some("Using join buffer (hash join)"),
                    };
                }
            }
            Node::Filter(input, condition) => {
                let of_rows = matches!(**input, Node::SystemRows(_) | Node::Made(_) | Node::Join(_));
                if let Some(last) = self.lines.last_mut().filter(|last| of_rows && last.id == id) {
                    last.conditions.extend(conjunct_refs(condition));
                }
            }
            Node::Group(_, grouping) => temporary |= !grouping.keys.is_empty() && !grouping.by_path,
            Node::Distinct(input, _) => temporary |= !input.is_loose(),
            Node::Window(_, window) => {
                temporary = true;
                sorted |= !window.keys.is_empty();
            }
            Node::Sort(_, sort) => sorted |= !sort.by_path,
            Node::OneRow => self.lines.push(empty.clone()),
            Node::When(_, once) if is_impossible(once) => {
                self.lines.truncate(first);
                made.clear();
                self.lines.push(Line { impossible: true, ..empty.clone() });
            }
            Node::Project(..) | Node::Collect(..) | Node::Limit(..) | Node::When(..) => {}
        });
        if let Some(line) = self.lines.get_mut(first).filter(|line| !line.impossible) {
            (line.sorted, line.temporary) = (sorted, temporary);
        }
        for rows in made {
            match rows {
                RowSource::Query(query) => self.query("DERIVED", query),
                RowSource::Lateral { plan, .. } => self.query("DEPENDENT DERIVED", plan),
                RowSource::Set(set) => set.operands.iter().for_each(|operand| self.query("UNION", &operand.plan)),
                RowSource::JsonTable(_)
                | RowSource::Values { .. }
                | RowSource::Common(_)
                | RowSource::Correlated(_)
                | RowSource::LastRound(_) => {}
            }
        }
    }
}

/// MySQL's name for a path.
fn path(access: &Access, table: &Table) -> &'static str {
    let unfixed = access.is_whole();
    match access.index {
        _ if !access.merged.is_empty() => "index_merge",
        _ if access.loose.is_some() => "range",
        _ if access.is_point(table) && access.reads_row() => "eq_ref",
        _ if access.is_point(table) => "const",
        Some(index) if unfixed && table.primary != Some(index) => "index",
        Some(_) if unfixed && access.ordered => "index",
        None | Some(_) if unfixed => "ALL",
        _ if access.seek.tail == Tail::Open => "ref",
        _ => "range",
    }
}

/// What a column is compared with: a column of another line, or a constant.
fn compared(term: &Expr, lines: &[Line<'_>], id: u64) -> String {
    match term {
        Expr::Column(column) => {
            let of = |line: &&Line<'_>| line.id == id && line.first_slot <= column.slot;
            let line = lines.iter().filter(of).max_by_key(|line| line.first_slot);
            let database = line.and_then(|line| line.table).map_or("", |table| table.def.database.as_str());
            let table = line.map_or("", |line| line.known_as.as_str());
            let point = if database.is_empty() { "" } else { "." };
            format!("{database}{point}{table}.{}", column.name)
        }
        other if other.has_columns() => "func".to_owned(),
        _ => "const".to_owned(),
    }
}

/// A path, or those that are merged in its place.
fn paths(access: &Access) -> impl Iterator<Item = &Access> {
    let merged = !access.merged.is_empty();
    Some(access).filter(|_| !merged).into_iter().chain(&access.merged)
}

/// The names of the indexes that a path uses, and how many bytes it uses of each.
fn keys_used<'t>(access: &Access, table: &'t Table) -> (Vec<&'t str>, Vec<String>) {
    let used = paths(access).filter_map(|one| Some((one, one.index?)));
    let of_one = |(one, index): (&Access, usize)| {
        (table.def.indexes[index].name.as_str(), key_length(one, table, index).1.to_string())
    };
    used.map(of_one).unzip()
}

/// How paths are merged: what finds rows in their order need not sort them in MySQL.
fn merge(access: &Access, table: &Table) -> Option<String> {
    let in_order = |one: &Access| one.key(table).is_some_and(|index| one.seek.equal.len() == index.columns.len());
    let sort = if access.merged.iter().all(in_order) { "" } else { "sort_" };
    let how = match access.merge {
        Merge::Union => "union",
        Merge::Intersection => "intersect",
    };
    (!access.merged.is_empty()).then(|| format!("{sort}{how}({})", keys_used(access, table).0.join(",")))
}

/// How many columns of an index a path uses, and their bytes.
fn key_length(access: &Access, table: &Table, index: usize) -> (usize, usize) {
    let parts = &table.indexes[index].parts;
    let used = match access.loose {
        Some(loose) => loose.columns.max(1),
        None if access.is_whole() => parts.len(),
        None => access.seek.columns(),
    };
    (used, parts.iter().take(used).map(|part| part.explained_bytes()).sum())
}

impl Line<'_> {
    /// Why it names no table.
    fn without_tables(&self) -> &'static str {
        if self.impossible { IMPOSSIBLE } else { "No tables used" }
    }
}

/// Of what gives no row, since a condition without columns is not true.
const IMPOSSIBLE: &str = "Impossible WHERE";

/// Whether one of these conditions, which have no columns, is known not to be true.
fn is_impossible(once: &[Expr]) -> bool {
    once.iter().any(|condition| condition.constant_truth() == Some(false))
}

/// The indexes that begin with a column which a condition compares with something.
fn possible_keys<'t>(line: &Line<'_>, table: &'t Table) -> Vec<&'t str> {
    let mut compared = Vec::new();
    let mut note = |side: &Expr| {
        if let Expr::Column(column) = side
            && let Some(column) = column.slot.checked_sub(line.first_slot)
        {
            compared.push(column);
        }
    };
    for condition in &line.conditions {
        match condition {
            Expr::Compare(CompareOp::NotEqual, ..) => {}
            Expr::Compare(_, left, right, _) => [left, right].into_iter().for_each(|side| note(side)),
            Expr::Between { operand, .. }
            | Expr::In { operand, negated: false, .. }
            | Expr::Like { operand, negated: false, .. } => note(operand),
            Expr::IsNull { operand, negated: false } => note(operand),
            _ => {}
        }
    }
    let used: Vec<usize> = match line.access.filter(|access| !access.is_whole() || access.loose.is_some()) {
        Some(access) => paths(access).filter_map(|one| one.index).collect(),
        None => Vec::new(),
    };
    let named = table.indexes.iter().enumerate().filter(|(at, index)| {
        used.contains(at) || index.columns.first().is_some_and(|column| compared.contains(column))
    });
    named.map(|(at, _)| table.def.indexes[at].name.as_str()).collect()
}

/// How many rows a path finds, and how many of a hundred match.
fn estimated(found: Option<Found>) -> (Value, Value) {
    let found = found.unwrap_or(Found { rows: UNKNOWN_ROWS, share: 1.0, cost: 0.0 });
    let hundredths = (found.share * 10_000.0).round().clamp(1.0, 10_000.0);
    (Value::UInt(found.rows.round().max(1.0) as u64), Value::Double(hundredths / 100.0))
}

fn line(line: &Line<'_>, lines: &[Line<'_>]) -> Vec<Value> {
    let mut row = vec![Value::Null; 12];
    row[0] = Value::UInt(line.id);
    row[1] = Value::text(line.select_type);
    let mut extra = Vec::new();
    if line.known_as.is_empty() {
        row[11] = Value::text(line.without_tables());
        return row;
    }
    row[2] = Value::text(line.known_as.as_str());
    let Some(table) = line.table else {
        row[4] = Value::text("ALL");
        (row[9], row[10]) = estimated(line.found);
        if line.of_function {
            extra.extend(["Table function: json_table", "Using temporary"]);
        }
        if !line.conditions.is_empty() {
            extra.push("Using where");
        }
        return with_extra(row, extra, line);
    };
    let Some(access) = line.access else {
        row[4] = Value::text("ALL");
        return row;
    };
    let name = path(access, table);
    row[4] = Value::text(name);
    let possible = possible_keys(line, table);
    if !possible.is_empty() {
        row[5] = Value::text(possible.join(","));
    }
    (row[9], row[10]) =
        estimated(line.found.map(|found| Found { share: if name == "const" { 1.0 } else { found.share }, ..found }));
    let (keys, bytes) = keys_used(access, table);
    if !keys.is_empty() && name != "ALL" {
        row[6] = Value::text(keys.join(","));
        row[7] = Value::text(bytes.join(","));
        if matches!(name, "const" | "ref" | "eq_ref") {
            let terms: Vec<String> = access.seek.equal.iter().map(|term| compared(term, lines, line.id)).collect();
            row[8] = Value::text(terms.join(","));
        }
    }
    let merge = merge(access, table).map(|merge| format!("Using {merge}"));
    if let Some(merge) = &merge {
        extra.push(merge);
    }
    if name != "const" && line.conditions.iter().any(|condition| !estimate::is_looked_up(condition, access)) {
        extra.push("Using where");
    }
    match access.loose {
        Some(_) => extra.push("Using index for group-by"),
        None if access.covering => extra.push("Using index"),
        None => {}
    }
    if access.reverse {
        extra.push("Backward index scan");
    }
    with_extra(row, extra, line)
}

fn with_extra(mut row: Vec<Value>, mut extra: Vec<&str>, line: &Line<'_>) -> Vec<Value> {
    if line.temporary && !line.of_function {
        extra.push("Using temporary");
    }
    if line.sorted {
        extra.push("Using filesort");
    }
    let sought = match &line.sought {
        Some(Sought::FirstMatch(before)) => Some(format!("FirstMatch({before})")),
        Some(Sought::NotExists) => Some("Not exists".to_owned()),
        None => None,
    };
    let extra: Vec<&str> = extra.into_iter().chain(sought.as_deref()).chain(line.buffered).collect();
    if !extra.is_empty() {
        row[11] = Value::text(extra.join("; "));
    }
    row
}
