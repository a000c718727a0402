//! EXPLAIN FORMAT=TREE: an operator a line, its inputs below it, as MySQL 8.0 shows them; and EXPLAIN ANALYZE, which adds
//! what each operator has really done.
//!
//! A scan judges its condition itself: it is shown as a filter over a scan, as in MySQL.

use std::fmt::Write as _;
use std::time::Duration;

use super::{IMPOSSIBLE, is_impossible};
use crate::catalog::table::Table;
use crate::exec::profiled::place;
use crate::expr::Expr;
use crate::plan::access::{Access, Bounds, Merge, Seek, Tail};
use crate::plan::estimate::{self, Estimate, Estimator};
use crate::plan::node::{CommonPlan, Join, JoinMethod, JoinType, Node, QueryPlan, RowSource, SetPlan, TableScan};
use crate::plan::query::{Grouping, LimitExprs, SortKey, conjunct_refs};
use crate::plan::share::Constants;
use crate::plan::{InsertRows, Plan, PlanKind};
use crate::profile::{Measured, Profile};

/// The whole text.
pub(super) fn text(plan: &Plan, profile: Option<&Profile>) -> String {
    let mut tree = Tree { text: String::new(), profile };
    match &plan.kind {
        PlanKind::Select(query) => tree.query(query, 0),
        PlanKind::Insert(insert) => {
            let what = if insert.replace { "Replace" } else { "Insert" };
            tree.line(0, &format!("{what} into {}", insert.table.def.name));
            if let InsertRows::Query(query, _) = &insert.source {
                tree.query(query, 1);
            }
        }
        PlanKind::Update(update) => tree.change("Update", [update.table.def.name.as_str()], &update.rows),
        PlanKind::Delete(delete) => tree.change("Delete from", [delete.table.def.name.as_str()], &delete.rows),
        PlanKind::UpdateJoined(update) => {
            let tables = update.targets.iter().map(|target| target.table.def.name.as_str());
            tree.change("Update", tables, &update.rows);
        }
        PlanKind::DeleteJoined(delete) => {
            let tables = delete.tables.iter().map(|table| table.def.name.as_str());
            tree.change("Delete from", tables, &delete.rows);
        }
        PlanKind::Utility(_) => {}
    }
    for (number, query) in (2..).zip(plan.queries.iter().flatten()) {
        let how = if query.plan.reads_outer { "dependent" } else { "run only once" };
        tree.line(0, &format!("Select #{number} (subquery; {how})"));
        tree.query(&query.plan, 1);
        if let Some(all) = &query.all_answers {
            let keys: Vec<String> = all.keys.iter().map(|key| format!("{} = {}", key.right, key.left)).collect();
            let after = format!("Materialize after {} runs, lookup by ({})", all.worth_after, keys.join(", "));
            tree.line(0, &after);
            tree.query(&all.plan, 1);
        }
    }
    for (number, common) in (1..).zip(&plan.commons) {
        match common {
            CommonPlan::Query(query) => {
                tree.line(0, &format!("Materialize CTE #{number}"));
                tree.query(query, 1);
            }
            CommonPlan::Recursive(recursion) => {
                tree.line(0, &format!("Materialize recursive CTE #{number}"));
                recursion.seeds.iter().for_each(|seed| tree.query(seed, 1));
                tree.line(1, "Repeat until convergence");
                recursion.rounds.iter().for_each(|round| tree.query(round, 2));
            }
        }
    }
    tree.text
}

struct Tree<'t> {
    text: String,
    profile: Option<&'t Profile>,
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, what: &str) {
        let _ = writeln!(self.text, "{:indent$}-> {what}", "", indent = depth * 4);
    }

    /// A line with what is thought and known of its operator.
    fn judged(&mut self, depth: usize, what: &str, thought: Estimate, done: Option<Measured>) {
        let mut line = format!("{what}  (cost={} rows={})", number(thought.cost), number(thought.rows));
        match done {
            None => {}
            Some(Measured { loops: 0, .. }) => line += " (never executed)",
            Some(done) => {
                let loops = done.loops as f64;
                let per_loop = |time: Duration| number(time.as_secs_f64() * 1000.0 / loops);
                let _ = write!(
                    line,
                    " (actual time={}..{} rows={} loops={})",
                    per_loop(done.first),
                    per_loop(done.all),
                    number(done.rows as f64 / loops),
                    done.loops
                );
            }
        }
        self.line(depth, &line);
    }

    fn change<'n>(&mut self, what: &str, tables: impl IntoIterator<Item = &'n str>, rows: &QueryPlan) {
        let tables: Vec<&str> = tables.into_iter().collect();
        self.line(0, &format!("{what} {}", tables.join(", ")));
        self.query(rows, 1);
    }

    fn query(&mut self, query: &QueryPlan, depth: usize) {
        Branch { tree: self, estimator: Estimator::of(query, Constants::All) }.node(&query.root, depth, None);
    }

    fn made(&mut self, rows: &RowSource, depth: usize) {
        match rows {
            RowSource::Query(query) => self.query(query, depth),
            RowSource::Lateral { plan, .. } => self.query(plan, depth),
            RowSource::Set(set) => self.set(set, depth),
            RowSource::JsonTable(_) => self.line(depth, "Materialize table function"),
            RowSource::Values { .. } => self.line(depth, "Rows fetched before execution"),
            RowSource::Common(place) | RowSource::Correlated(place) => {
                self.line(depth, &format!("Materialize CTE #{} if needed", place + 1))
            }
            RowSource::LastRound(_) => self.line(depth, "Scan new records of the CTE"),
        }
    }

    fn set(&mut self, set: &SetPlan, depth: usize) {
        use crate::ast::SetOperator;
        let operators: Vec<_> = set.operands.iter().filter_map(|operand| operand.operator).collect();
        let what = match operators.first() {
            Some((SetOperator::Intersect, _)) => "Intersect materialize",
            Some((SetOperator::Except, _)) => "Except materialize",
            Some((SetOperator::Union, _)) if operators.iter().all(|(_, all)| *all) => "Append",
            _ => "Union materialize with deduplication",
        };
        self.line(depth, what);
        set.operands.iter().for_each(|operand| self.query(&operand.plan, depth + 1));
    }
}

/// The operators of one query.
struct Branch<'b, 't> {
    tree: &'b mut Tree<'t>,
    estimator: Estimator<'b>,
}

impl Branch<'_, '_> {
    fn done(&self, node: &Node) -> Option<Measured> {
        self.tree.profile.map(|profile| profile.of(place(node)))
    }

    /// One operator that is a line of its own, and its input.
    fn over(&mut self, node: &Node, input: &Node, what: &str, depth: usize, limit: Option<&LimitExprs>) {
        let (thought, done) = (self.estimator.node(node), self.done(node));
        self.tree.judged(depth, what, thought, done);
        self.node(input, depth + 1, limit);
    }

    /// `limit` is that of the operator above.
    fn node(&mut self, node: &Node, depth: usize, limit: Option<&LimitExprs>) {
        match node {
            Node::OneRow => self.tree.line(depth, "Rows fetched before execution"),
            Node::Scan(scan) => self.scan(node, scan, depth),
            Node::SystemRows(rows) => {
                let (thought, done) = (self.estimator.node(node), self.done(node));
                self.tree.judged(depth, &format!("Table scan on {}", rows.known_as), thought, done);
            }
            Node::Made(rows) => {
                let name = if rows.known_as.is_empty() { "<union temporary>" } else { rows.known_as.as_str() };
                let (thought, done) = (self.estimator.node(node), self.done(node));
                self.tree.judged(depth, &format!("Table scan on {name}"), thought, done);
                self.tree.made(&rows.rows, depth + 1);
            }
            Node::Join(join) => self.join(node, join, depth),
            Node::Filter(input, condition) => self.over(node, input, &filter(condition), depth, None),
            Node::Group(input, grouping) => {
                let of: Vec<String> = grouping.aggregates.iter().map(ToString::to_string).collect();
                let of = of.join(", ");
                let what = match grouping {
                    Grouping { keys, .. } if keys.is_empty() => Some("Aggregate"),
                    Grouping { rollup: true, .. } => Some("Group aggregate with rollup"),
                    Grouping { by_path: true, .. } => Some("Group aggregate"),
                    _ => None,
                };
                match what {
                    Some(what) => self.over(node, input, &format!("{what}: {of}"), depth, None),
                    None => {
                        let (thought, done) = (self.estimator.node(node), self.done(node));
                        self.tree.judged(depth, "Table scan on <temporary>", thought, done);
                        self.over(node, input, "Aggregate using temporary table", depth + 1, None);
                    }
                }
            }
            Node::Window(input, window) => {
                let what = format!("Window aggregate with buffering: window {}", window.name);
                self.over(node, input, &what, depth, None);
            }
            Node::Project(input, _) => self.node(input, depth, limit),
            Node::When(_, once) if is_impossible(once) => {
                let nothing = Estimate { rows: 0.0, cost: 0.0 };
                self.tree.judged(depth, &format!("Zero rows ({IMPOSSIBLE})"), nothing, self.done(node));
            }
            Node::When(input, once) => {
                // Of some it shows when the statement runs.
                let open: Vec<&Expr> = once.iter().filter(|condition| condition.constant_truth().is_none()).collect();
                match open.is_empty() {
                    true => self.node(input, depth, limit),
                    false => self.over(node, input, &filters(&open), depth, limit),
                }
            }
            Node::Distinct(input, _) => self.over(node, input, "Temporary table with deduplication", depth, None),
            Node::Sort(input, sort) if sort.by_path => self.node(input, depth, limit),
            Node::Sort(input, sort) => {
                let unique = if sort.unique { " with duplicate removal" } else { "" };
                let mut what = format!("Sort{unique}: {}", sort_keys(&sort.keys));
                if let Some(limit) = limit {
                    let _ = write!(what, ", limit input to {} row(s) per chunk", limit.count);
                }
                self.over(node, input, &what, depth, None);
            }
            Node::Collect(input, _) => self.over(node, input, "Buffer rows", depth, None),
            Node::Limit(input, limit) => {
                let what = match &limit.offset {
                    Some(offset) => format!("Limit/Offset: {}/{offset} row(s)", limit.count),
                    None => format!("Limit: {} row(s)", limit.count),
                };
                self.over(node, input, &what, depth, Some(limit));
            }
        }
    }

    fn scan(&mut self, node: &Node, scan: &TableScan, depth: usize) {
        let (found, done) = (estimate::scan(scan, Constants::All), self.done(node));
        let mut depth = depth;
        let mut of_path = done;
        // What a lookup looks for holds for all that it finds.
        let decided = |one: &&Expr| estimate::is_looked_up(one, &scan.access);
        let judged: Vec<&Expr> = scan.filter.iter().flat_map(conjunct_refs).filter(|one| !decided(one)).collect();
        if !judged.is_empty() {
            let thought = Estimate { rows: found.rows * found.share, cost: found.cost };
            self.tree.judged(depth, &filters(&judged), thought, done);
            depth += 1;
            of_path = done.map(|done| Measured { rows: done.examined.unwrap_or(done.rows), ..done });
        }
        let thought = Estimate { rows: found.rows, cost: found.cost };
        if scan.access.merged.is_empty() {
            return self.tree.judged(depth, &path(scan, &scan.access), thought, of_path);
        }
        let what = match scan.access.merge {
            Merge::Union => "Deduplicate rows sorted by row ID",
            Merge::Intersection => "Intersect rows sorted by row ID",
        };
        self.tree.judged(depth, what, thought, of_path);
        for one in &scan.access.merged {
            self.tree.line(depth + 1, &path(scan, one));
        }
    }

    fn join(&mut self, node: &Node, join: &Join, depth: usize) {
        let side = join.join_type.name();
        let (thought, done) = (self.estimator.node(node), self.done(node));
        let conditions: Vec<&Expr> = join.on.iter().flat_map(conjunct_refs).collect();
        let mut depth = depth;
        match &join.method {
            JoinMethod::Loop => {
                if let Some(on) = &join.on {
                    self.tree.judged(depth, &filter(on), thought, done);
                    depth += 1;
                }
                self.tree.judged(depth, &format!("Nested loop {side}"), thought, done);
                self.node(&join.left, depth + 1, None);
                self.node(&join.right, depth + 1, None);
            }
            JoinMethod::Kept | JoinMethod::Hashed(_) => {
                let keys = match &join.method {
                    JoinMethod::Hashed(keys) => keys.as_slice(),
                    _ => &[],
                };
                let is_key = |condition: &Expr| match condition {
                    Expr::Compare(_, a, b, _) => keys
                        .iter()
                        .any(|key| (key.left == **a && key.right == **b) || (key.left == **b && key.right == **a)),
                    _ => false,
                };
                let shown: Vec<String> = keys.iter().map(|key| format!("({} = {})", key.right, key.left)).collect();
                let keys_shown = if shown.is_empty() { "no condition".to_owned() } else { shown.join(", ") };
                let more: Vec<String> = conditions.iter().filter(|one| !is_key(one)).map(ToString::to_string).collect();
                let brackets = if shown.is_empty() { format!("({keys_shown})") } else { keys_shown };
                let mut what = match join.join_type {
                    JoinType::Inner => format!("Inner hash join {brackets}"),
                    JoinType::Left => format!("Left hash join {brackets}"),
                    JoinType::Semi | JoinType::Anti => format!("Hash {side} {brackets}"),
                };
                if !more.is_empty() {
                    let _ = write!(what, ", extra conditions: {}", more.join(" and "));
                }
                self.tree.judged(depth, &what, thought, done);
                self.node(&join.left, depth + 1, None);
                self.tree.line(depth + 1, "Hash");
                self.node(&join.right, depth + 2, None);
            }
        }
    }
}

fn filters(conditions: &[&Expr]) -> String {
    match conditions {
        [only] => filter(only),
        all => format!("Filter: ({})", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")),
    }
}

fn filter(condition: &Expr) -> String {
    let text = condition.to_string();
    if text.starts_with('(') { format!("Filter: {text}") } else { format!("Filter: ({text})") }
}

fn sort_keys(keys: &[SortKey]) -> String {
    let one = |key: &SortKey| format!("{}{}", key.expr, if key.descending { " DESC" } else { "" });
    keys.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// How the rows of a table are found.
fn path(scan: &TableScan, access: &Access) -> String {
    let (table, name) = (&*scan.table, &scan.known_as);
    let backwards = if access.reverse { " (reverse)" } else { "" };
    let Some(at) = access.index.filter(|_| !is_of_rows(access, table)) else {
        return format!("Table scan on {name}");
    };
    let index = &table.def.indexes[at];
    let key = index.name.as_str();
    let covering = |what: &str| match access.covering {
        true => format!("Covering {}", what.to_lowercase()),
        false => what.to_owned(),
    };
    let columns: Vec<&str> = index.columns.iter().map(|part| table.def.columns[part.column].name.as_str()).collect();
    let fixed = access.seek.equal.iter().zip(&columns).map(|(value, column)| format!("{column}={value}"));
    let fixed: Vec<String> = fixed.collect();
    let fixed = fixed.join(", ");
    if access.is_point(table) {
        let covering = if access.covering { "covering " } else { "" };
        return format!("Single-row {covering}index lookup on {name} using {key} ({fixed})");
    }
    if access.loose.is_some() {
        let over = ranges(&access.seek, &columns).join(" OR ");
        let over = if over.is_empty() { over } else { format!(" over {over}") };
        return format!("{} on {name} using {key}{over}", covering("Index skip scan for grouping"));
    }
    if access.is_whole() {
        return format!("{} on {name} using {key}{backwards}", covering("Index scan"));
    }
    if access.seek.tail == Tail::Open {
        return format!("{} on {name} using {key} ({fixed}){backwards}", covering("Index lookup"));
    }
    let over = ranges(&access.seek, &columns).join(" OR ");
    format!("{} on {name} using {key} over {over}{backwards}", covering("Index range scan"))
}

/// Whether all rows are read in the order they are stored.
fn is_of_rows(access: &Access, table: &Table) -> bool {
    access.is_whole() && !access.ordered && access.loose.is_none() && access.index == table.primary
}

/// The ranges of an index, whose first column is the first of `columns`.
fn ranges(seek: &Seek, columns: &[&str]) -> Vec<String> {
    let (fixed, rest) = columns.split_at(seek.equal.len().min(columns.len()));
    let fixed = seek.equal.iter().zip(fixed).map(|(value, column)| format!("({column} = {value})"));
    let fixed: Vec<String> = fixed.collect();
    let column = rest.first().copied().unwrap_or_default();
    let after = rest.get(1..).unwrap_or_default();
    let of_tail = match &seek.tail {
        Tail::Open => vec![Vec::new()],
        Tail::In(list, then) => {
            let then = ranges(then, after);
            let each = |value: &Expr| {
                let first = format!("({column} = {value})");
                then.iter().map(move |then| [first.clone(), then.clone()].to_vec()).collect::<Vec<_>>()
            };
            list.iter().flat_map(each).collect()
        }
        Tail::Query(_) => vec![vec![format!("({column} = (select ...))")]],
        Tail::Range(bounds) => vec![vec![range(bounds, column)]],
        Tail::Like(pattern, _) => vec![vec![format!("({column} like {pattern})")]],
        Tail::Union(all) => all.iter().flat_map(|seek| ranges(seek, rest)).map(|one| vec![one]).collect(),
    };
    let joined = |tail: Vec<String>| {
        let parts = fixed.iter().cloned().chain(tail).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" AND ")
    };
    of_tail.into_iter().map(joined).collect()
}

fn range(bounds: &Bounds, column: &str) -> String {
    let sign = |included: bool| if included { "<=" } else { "<" };
    match (&bounds.low, &bounds.high) {
        (Some((low, a)), Some((high, b))) => format!("({low} {} {column} {} {high})", sign(*a), sign(*b)),
        (Some((low, a)), None) => format!("({low} {} {column})", sign(*a)),
        (None, Some((high, b))) => format!("({column} {} {high})", sign(*b)),
        (None, None) => format!("({column})"),
    }
}

/// Three digits, as MySQL shows numbers here.
fn number(number: f64) -> String {
    if number >= 1e6 {
        return format!("{number:.3e}").replace("e", "e+");
    }
    if number == 0.0 || number >= 100.0 {
        return format!("{number:.0}");
    }
    let digits = (2.0 - number.log10().floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
