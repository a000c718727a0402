//! The cost model: how many rows a path finds, and what work costs. What share of them a condition keeps is [`super::share`]'s.
//!
//! The unit of cost is reading the next row of a table. The figures are ratios as they were measured with RocksDB and rows
//! in its cache; no plan depends on the values of parameters, since one serves them all, so that a range is taken for a
//! fixed share of its index, but where its bounds are constants that stay in the statement. Those shares are small: an index
//! that a condition names is left only where statistics say that its values are few.

use super::access::{Access, Bounds, Loose, Merge, Seek, Tail};
use super::node::JoinType;
use super::share::Constants;
use crate::catalog::definition::IndexKind;
use crate::catalog::table::{Index, Table};
use crate::codec::key;
use crate::expr::Expr;
use crate::statistics::Figures;

/// Opening a range.
const SEEK: f64 = 8.0;
/// What more it costs where the range is walked from its end.
const OPEN_BACKWARDS: f64 = 8.0;
/// One row by its whole key.
const POINT: f64 = 4.0;
/// The next entry of an index.
const ENTRY: f64 = 0.8;
/// The row of an entry.
const LOOKUP: f64 = 4.0;
/// How many entries of a group a loose scan reads before it skips the others: as many as take as long as that.
pub(crate) const LOOSE_STEPS: usize = 10;
/// Keeping a row for a join, and finding it by a key.
pub(super) const KEEP: f64 = 1.0;
pub(super) const PROBE: f64 = 0.5;
/// Opening a query that a condition asks, beside what its operators do.
pub(super) const OPEN: f64 = 4.0;
/// Judging a pair of rows.
pub(super) const COMPARE: f64 = 0.3;
/// Of sorting, for each row and each time that the number of rows doubles.
const SORT: f64 = 0.12;

/// A range with two ends, and one with one.
const CLOSED: f64 = 0.05;
const HALF_OPEN: f64 = 0.2;
/// One whose share is known, at least: what is known may be old.
const LEAST_KNOWN: f64 = 0.001;
/// Several ranges at most.
const RANGES: f64 = 0.15;
/// The values of a query that are looked for.
const QUERY_VALUES: f64 = 10.0;

/// What share of rows MySQL thinks that a column has one value in, if no statistics speak of it.
pub(super) const EQUAL_KEEPS: f64 = 0.1;

/// How many rows a path finds each time that it is opened.
pub(crate) fn rows_found(access: &Access, table: &Table, figures: &Figures) -> f64 {
    if !access.merged.is_empty() {
        let each = access.merged.iter().map(|one| rows_found(one, table, figures));
        return match access.merge {
            Merge::Union => each.sum::<f64>().min(figures.rows),
            Merge::Intersection => figures.rows * each.map(|rows| rows / figures.rows.max(1.0)).product::<f64>(),
        };
    }
    let Some(index) = access.key(table) else { return figures.rows };
    if access.is_point(table) {
        return 1.0;
    }
    let whole = index.is_unique() && index.parts.iter().all(|part| part.prefix.is_none());
    let per_value = |columns: usize| match whole && columns == index.columns.len() {
        true => 1.0,
        false => figures.rows_per_key(index.id, columns),
    };
    let share = match &access.seek {
        Seek { equal, tail: Tail::Range(bounds) } if equal.is_empty() => share_of_range(index, bounds, figures),
        _ => None,
    };
    let rows = match share {
        Some(share) => (figures.rows * share).max(1.0),
        None => rows_sought(&access.seek, 0, figures.rows, &per_value),
    };
    access.loose.map_or(rows, |loose| groups(loose, index, rows, figures))
}

/// How many groups so many entries of an index are that are alike in its first columns.
fn groups(loose: Loose, index: &Index, entries: f64, figures: &Figures) -> f64 {
    let each = match loose.columns {
        0 => figures.rows,
        columns if columns > index.columns.len() => 1.0,
        columns => figures.rows_per_key(index.id, columns),
    };
    (entries / each.max(1.0)).max(1.0).min(entries)
}

/// What share of an index a range of its first column has, by where its entries lie, if the bounds are known.
fn share_of_range(index: &Index, bounds: &Bounds, figures: &Figures) -> Option<f64> {
    let part = index.parts.first()?;
    // NULL is in no range.
    let lowest = if part.nullable { [&index.prefix()[..], &[1]].concat() } else { index.prefix().to_vec() };
    let before = |bound: &Expr| {
        let mut key = index.prefix().to_vec();
        key::encode(part, &Constants::Typed.value(bound)?, &mut key).ok()?;
        figures.share_before(index.id, &key)
    };
    let low = bounds.low.as_ref().map_or_else(|| figures.share_before(index.id, &lowest), |(low, _)| before(low))?;
    let high = bounds.high.as_ref().map_or(Some(1.0), |(high, _)| before(high))?;
    Some((high - low).max(LEAST_KNOWN))
}

/// How many of `all` rows, whose first `fixed` columns are the same, have in those after them what is asked; `per_value`
/// says how many have the same values in so many columns.
fn rows_sought(seek: &Seek, fixed: usize, all: f64, per_value: &dyn Fn(usize) -> f64) -> f64 {
    let fixed = fixed + seek.equal.len();
    let all = if seek.equal.is_empty() { all } else { per_value(fixed) };
    match &seek.tail {
        Tail::Open => all,
        Tail::In(list, then) => {
            (list.len() as f64 * rows_sought(then, fixed + 1, per_value(fixed + 1), per_value)).min(all)
        }
        Tail::Query(_) => (QUERY_VALUES * per_value(fixed + 1)).min(all),
        Tail::Range(Bounds { low: Some(_), high: Some(_) }) => all * CLOSED,
        Tail::Range(_) | Tail::Like(..) => all * HALF_OPEN,
        Tail::Union(alternatives) => {
            let rows = alternatives.iter().map(|seek| rows_sought(seek, fixed, all, per_value));
            rows.sum::<f64>().min((all * RANGES).max(1.0))
        }
    }
}

/// At how many places of an index a path looks.
pub(super) fn places(seek: &Seek) -> f64 {
    match &seek.tail {
        Tail::Open | Tail::Range(_) | Tail::Like(..) => 1.0,
        Tail::In(list, then) => list.len() as f64 * places(then),
        Tail::Query(_) => QUERY_VALUES,
        Tail::Union(alternatives) => alternatives.iter().map(places).sum(),
    }
}

/// What it costs to open a path once and read the rows that it finds.
pub(crate) fn access_cost(access: &Access, table: &Table, figures: &Figures, rows: f64, covering: bool) -> f64 {
    if !access.merged.is_empty() {
        let places: f64 = access.merged.iter().map(|one| places(&one.seek)).sum();
        let keys = match access.merge {
            Merge::Union => rows,
            Merge::Intersection => access.merged.iter().map(|one| rows_found(one, table, figures)).sum(),
        };
        return places * SEEK + keys * (ENTRY + KEEP) + rows * LOOKUP;
    }
    let Some(index) = access.key(table) else { return SEEK + rows };
    let primary = index.kind == IndexKind::Primary;
    let lookup = if primary || covering { 0.0 } else { LOOKUP };
    if access.is_point(table) {
        return POINT + lookup;
    }
    if let Some(Loose { greatest, .. }) = access.loose {
        let skip = SEEK + LOOSE_STEPS as f64 * ENTRY + lookup;
        let last = if greatest { OPEN_BACKWARDS + SEEK + lookup } else { 0.0 };
        return places(&access.seek) * SEEK + rows * (skip + last);
    }
    let points = index.is_unique() && access.seek.columns() == index.columns.len() && looks_at_values(&access.seek);
    let seek = if points { POINT } else { SEEK };
    places(&access.seek) * seek + rows * (if primary { 1.0 } else { ENTRY } + lookup)
}

/// Whether it looks for several values rather than in ranges.
pub(super) fn looks_at_values(seek: &Seek) -> bool {
    match &seek.tail {
        Tail::Open => !seek.equal.is_empty(),
        Tail::Query(_) => true,
        Tail::In(_, then) => then.is_nothing() || looks_at_values(then),
        Tail::Range(_) | Tail::Like(..) => false,
        Tail::Union(alternatives) => alternatives.iter().all(looks_at_values),
    }
}

/// What share of rows a semi- or anti-join keeps, where one has so many partners on average.
pub(super) fn share_by_partners(join_type: JoinType, partners: f64) -> f64 {
    match join_type {
        JoinType::Anti => (1.0 - partners).clamp(EQUAL_KEEPS, 1.0),
        _ => partners.min(1.0),
    }
}

/// How many of so many rows are looked up by keys all over the table before it costs less to read all. One costs what
/// eight rows of a scan do among ten thousand, and the more the less of the table is in the processor's caches: twelve
/// among a hundred thousand, fifteen among a million.
pub(crate) fn most_looked_up(rows: f64) -> f64 {
    rows / looked_up(rows)
}

/// The same where all that are read have to be sorted then.
pub(crate) fn most_in_order(rows: f64) -> f64 {
    (rows + sort(rows)) / looked_up(rows)
}

/// What it costs to find an entry of an index and its row, one of so many.
fn looked_up(rows: f64) -> f64 {
    const CACHED: f64 = 10_000.0;
    ENTRY + 8.0 + (rows / CACHED).max(1.0).log2()
}

/// How many keys of another index are found, to leave out some of so many rows, before it costs less to look all of these up.
pub(crate) fn most_to_leave_out(rows: f64) -> f64 {
    (rows * LOOKUP - SEEK) / (ENTRY + KEEP)
}

/// What it costs to sort so many rows.
pub(crate) fn sort(rows: f64) -> f64 {
    rows * (KEEP * 0.5 + SORT * rows.max(2.0).log2())
}
