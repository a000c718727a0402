//! FROM: tables, joins, derived tables; JSON_TABLE is in [`super::json_table`].

use super::cursor::Cursor;
use super::lexer::Kind;
use crate::ast::{
    Derived, IndexHint, IndexHintKind, IndexPurpose, Join, JoinCondition, JoinKind, Query, TableExpr, TableName,
    TableRef,
};
use crate::error::{ER_DERIVED_MUST_HAVE_ALIAS, SqlError};

/// What parentheses hold.
enum Parenthesised {
    Query(Box<Query>),
    Tables(Vec<TableExpr>),
}

impl Cursor<'_> {
    /// `table_reference [, table_reference] ...`
    pub(super) fn tables(&mut self) -> Result<Vec<TableExpr>, SqlError> {
        self.separated(|cursor| {
            if cursor.takes_operator("{") {
                return cursor.outer_join();
            }
            cursor.table_reference()
        })
    }

    /// `{OJ table_reference}`: an ODBC escape.
    fn outer_join(&mut self) -> Result<TableExpr, SqlError> {
        self.ident()?;
        let table = self.table_reference()?;
        self.expect_operator("}")?;
        Ok(table)
    }

    /// `table_factor [join] ...`
    fn table_reference(&mut self) -> Result<TableExpr, SqlError> {
        let first = self.table_factor()?;
        self.joins(first)
    }

    /// `{[INNER | CROSS] JOIN | STRAIGHT_JOIN} table_reference [ON expr | USING (columns)]`,
    /// `{LEFT | RIGHT} [OUTER] JOIN table_reference {ON expr | USING (columns)}`,
    /// `NATURAL [INNER | {LEFT | RIGHT} [OUTER]] JOIN table_factor`
    ///
    /// A condition belongs to the last join that has none yet: `a JOIN b JOIN c ON x ON y` is `a JOIN (b JOIN c ON x) ON
    /// y`. Joins that get none are inner ones, and go to the left of what follows them.
    fn joins(&mut self, first: TableExpr) -> Result<TableExpr, SqlError> {
        let mut waiting: Vec<(TableExpr, JoinKind)> = Vec::new();
        let mut last = first;
        loop {
            if self.sees("ON") && !self.sees("ON DUPLICATE KEY") || self.sees("USING") {
                let Some((left, kind)) = waiting.pop() else { break };
                self.becomes_operand()?;
                let condition = self.join_condition()?;
                last = joined(left, Join { kind, table: last, condition });
                continue;
            }
            let natural = self.takes("NATURAL");
            let Some(kind) = self.join_kind(natural)? else {
                if natural {
                    return Err(self.unexpected());
                }
                break;
            };
            let table = self.table_factor()?;
            if natural {
                last = joined(last, Join { kind, table, condition: JoinCondition::Natural });
            } else {
                waiting.push((std::mem::replace(&mut last, table), kind));
            }
        }
        // From left to right, so that each is moved once.
        let mut before: Option<(TableExpr, JoinKind)> = None;
        for (table, kind) in waiting {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return Err(self.unexpected());
            }
            before = Some((joined_to(before, table), kind));
        }
        Ok(joined_to(before, last))
    }

    /// Steps over the words of a join if they are next.
    fn join_kind(&mut self, natural: bool) -> Result<Option<JoinKind>, SqlError> {
        let kind = match self.keyword().as_str() {
            "JOIN" => JoinKind::Inner,
            "STRAIGHT_JOIN" if !natural => {
                self.skip();
                return Ok(Some(JoinKind::Straight));
            }
            "INNER" => {
                self.skip();
                JoinKind::Inner
            }
            "CROSS" if !natural => {
                self.skip();
                JoinKind::Inner
            }
            "LEFT" | "RIGHT" => {
                let kind = if self.sees("LEFT") { JoinKind::Left } else { JoinKind::Right };
                self.skip();
                self.takes("OUTER");
                kind
            }
            _ => return Ok(None),
        };
        self.expect("JOIN")?;
        Ok(Some(kind))
    }

    /// `ON expr`, `USING (columns)`
    fn join_condition(&mut self) -> Result<JoinCondition, SqlError> {
        if self.takes("ON") {
            return self.expr().map(JoinCondition::On);
        }
        self.expect("USING")?;
        self.idents().map(JoinCondition::Using)
    }

    /// `table [PARTITION (names)] [[AS] alias] [index_hint] ...`, `[LATERAL] (query) [AS] alias [(columns)]`,
    /// `JSON_TABLE(...) [AS] alias`, `(table_reference, ...)`
    fn table_factor(&mut self) -> Result<TableExpr, SqlError> {
        let lateral = self.takes("LATERAL");
        if self.sees_operator("(") {
            let inside = self.nested(Cursor::parenthesised_tables)?;
            return match inside {
                Parenthesised::Query(query) => self.derived(*query, lateral),
                Parenthesised::Tables(_) if lateral => Err(self.unexpected()),
                Parenthesised::Tables(tables) => Ok(grouped(tables)),
            };
        }
        if lateral {
            return Err(self.unexpected());
        }
        if self.sees_json_table() {
            return self.json_table();
        }
        self.table_by_name().map(TableExpr::Table)
    }

    /// The name of a table that may be one of WITH.
    pub(super) fn table_of_query(&mut self) -> Result<TableName, SqlError> {
        let name = self.table_ident()?;
        if name.database.is_none() {
            self.tables_named.push(name.table.clone());
        }
        Ok(name)
    }

    /// `table [PARTITION (names)] [[AS] alias] [index_hint] ...`
    pub(super) fn table_by_name(&mut self) -> Result<TableRef, SqlError> {
        let from = self.at;
        let name = self.table_of_query()?;
        let span = self.span_since(from);
        let partitions = self.partitions()?;
        let alias = self.alias()?;
        let mut hints = Vec::new();
        while let Some(hint) = self.index_hint()? {
            hints.push(hint);
        }
        Ok(TableRef { name, partitions, alias, hints, span })
    }

    /// `PARTITION (name, ...)`
    pub(super) fn partitions(&mut self) -> Result<Vec<String>, SqlError> {
        if self.takes("PARTITION") { self.idents() } else { Ok(Vec::new()) }
    }

    /// `(query)` or `(table_reference, ...)`: which shows after the parentheses that both begin with.
    fn parenthesised_tables(&mut self) -> Result<Parenthesised, SqlError> {
        if self.sees_subquery(0) {
            return self.subquery().map(|query| Parenthesised::Query(Box::new(query)));
        }
        self.expect_operator("(")?;
        if !self.sees_operator("(") {
            let tables = self.tables()?;
            self.expect_operator(")")?;
            return Ok(Parenthesised::Tables(tables));
        }
        let first = match self.nested(Cursor::parenthesised_tables)? {
            Parenthesised::Query(query) => {
                let aliased = self.sees("AS") || self.sees_ident();
                if !aliased {
                    let query = self.rest_of_query(*query)?;
                    self.expect_operator(")")?;
                    return Ok(Parenthesised::Query(Box::new(query)));
                }
                self.derived(*query, false)?
            }
            Parenthesised::Tables(tables) => grouped(tables),
        };
        let mut tables = vec![self.joins(first)?];
        if self.takes_operator(",") {
            tables.extend(self.tables()?);
        }
        self.expect_operator(")")?;
        Ok(Parenthesised::Tables(tables))
    }

    /// `[AS] alias [(columns)]`
    fn derived(&mut self, query: Query, lateral: bool) -> Result<TableExpr, SqlError> {
        let Some(alias) = self.alias()? else {
            // MySQL reads a derived table without a name to its end, and then misses the name.
            return Err(match self.kind() {
                None => SqlError::new(ER_DERIVED_MUST_HAVE_ALIAS, &[]),
                Some(Kind::Operator) if self.sees_operator(")") => SqlError::new(ER_DERIVED_MUST_HAVE_ALIAS, &[]),
                Some(_) => self.unexpected(),
            });
        };
        let columns = if self.sees_operator("(") { self.idents()? } else { Vec::new() };
        Ok(TableExpr::Derived(Box::new(Derived { lateral, query, alias, columns })))
    }

    /// `{USE | FORCE | IGNORE} {INDEX | KEY} [FOR {JOIN | ORDER BY | GROUP BY}] (index, ...)`; only USE may name none.
    fn index_hint(&mut self) -> Result<Option<IndexHint>, SqlError> {
        let kind = match self.keyword().as_str() {
            "USE" => IndexHintKind::Use,
            "FORCE" => IndexHintKind::Force,
            "IGNORE" => IndexHintKind::Ignore,
            _ => return Ok(None),
        };
        self.skip();
        if !self.takes_any(&["INDEX", "KEY"]) {
            return Err(self.unexpected());
        }
        let purpose = if !self.takes("FOR") {
            None
        } else if self.takes("JOIN") {
            Some(IndexPurpose::Join)
        } else if self.takes("ORDER") {
            self.expect("BY")?;
            Some(IndexPurpose::OrderBy)
        } else {
            self.expect("GROUP")?;
            self.expect("BY")?;
            Some(IndexPurpose::GroupBy)
        };
        self.expect_operator("(")?;
        let mut indexes = Vec::new();
        if kind != IndexHintKind::Use || !self.sees_operator(")") {
            indexes = self.separated(|cursor| if cursor.sees("PRIMARY") { cursor.name() } else { cursor.ident() })?;
        }
        self.expect_operator(")")?;
        Ok(Some(IndexHint { kind, purpose, indexes }))
    }
}

/// What stood in parentheses, which hold joins together.
fn grouped(mut tables: Vec<TableExpr>) -> TableExpr {
    match tables.as_slice() {
        [TableExpr::Joined { .. }] => TableExpr::List(tables),
        [_] => tables.remove(0),
        _ => TableExpr::List(tables),
    }
}

/// `left join`, in one list where `left` is one.
fn joined(left: TableExpr, join: Join) -> TableExpr {
    match left {
        TableExpr::Joined { first, mut joins } => {
            joins.push(join);
            TableExpr::Joined { first, joins }
        }
        first => TableExpr::Joined { first: Box::new(first), joins: vec![join] },
    }
}

/// `left JOIN right` without a condition: all that `right` joins is joined to both.
fn joined_to(left: Option<(TableExpr, JoinKind)>, right: TableExpr) -> TableExpr {
    let Some((left, kind)) = left else { return right };
    match right {
        TableExpr::Joined { first, joins } => {
            let start = joined(left, Join { kind, table: *first, condition: JoinCondition::None });
            joins.into_iter().fold(start, joined)
        }
        table => joined(left, Join { kind, table, condition: JoinCondition::None }),
    }
}
