//! INSERT and REPLACE.

use super::cursor::Cursor;
use crate::ast::{BlockRef, ColumnName, Expr, Insert, InsertSource, Query, Statement, TableName};
use crate::error::{ER_BAD_FIELD_ERROR, SqlError};

/// A column that is named as one of the table; 1054 if it is named as one of another.
fn column_of(name: ColumnName, table: &TableName) -> Result<String, SqlError> {
    let other_table = name.table.as_ref().is_some_and(|named| *named != table.table);
    let other_database = name.database.is_some() && table.database.is_some() && name.database != table.database;
    if other_table || other_database {
        let parts = [name.database, name.table, Some(name.column)];
        let written: Vec<String> = parts.into_iter().flatten().collect();
        return Err(SqlError::new(ER_BAD_FIELD_ERROR, &[&written.join("."), &"field list"]));
    }
    Ok(name.column)
}

impl Cursor<'_> {
    /// `INSERT [LOW_PRIORITY | DELAYED | HIGH_PRIORITY] [IGNORE] [INTO] table [PARTITION (names)] source [AS alias [(columns)]]
    /// [ON DUPLICATE KEY UPDATE column = value, ...]`
    pub(super) fn insert(&mut self) -> Result<Statement, SqlError> {
        self.expect("INSERT")?;
        let hints = self.insert_hints();
        self.takes_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"]);
        let ignore = self.takes("IGNORE");
        let mut insert = self.insert_rows()?;
        insert.ignore = ignore;
        // Rows of a query have no name of their own.
        let from_query = matches!(insert.source, InsertSource::Query(_));
        if !from_query && self.takes("AS") {
            let name = self.ident()?;
            let columns = if self.sees_operator("(") { self.idents()? } else { Vec::new() };
            insert.row_alias = Some((name, columns));
        }
        if self.takes("ON") {
            for word in ["DUPLICATE", "KEY", "UPDATE"] {
                self.expect(word)?;
            }
            insert.on_duplicate = self.assignments()?;
        }
        insert.block = self.end_insert(hints, query_of(&insert));
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// `REPLACE [LOW_PRIORITY | DELAYED] [INTO] table [PARTITION (names)] source`
    pub(super) fn replace(&mut self) -> Result<Statement, SqlError> {
        self.expect("REPLACE")?;
        let hints = self.insert_hints();
        self.takes_any(&["LOW_PRIORITY", "DELAYED"]);
        let mut insert = self.insert_rows()?;
        insert.replace = true;
        insert.block = self.end_insert(hints, query_of(&insert));
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// From INTO to the rows.
    fn insert_rows(&mut self) -> Result<Insert, SqlError> {
        self.takes("INTO");
        let table = self.table_ident()?;
        let partitions = self.partitions()?;
        let (columns, source) = self.insert_source(&table)?;
        Ok(Insert {
            block: BlockRef::default(),
            table,
            partitions,
            replace: false,
            ignore: false,
            columns,
            source,
            row_alias: None,
            on_duplicate: Vec::new(),
        })
    }

    /// `SET column = value, ...`, `[([column, ...])] {{VALUES | VALUE} rows | VALUES ROW(...), ... | query}`
    fn insert_source(&mut self, table: &TableName) -> Result<(Option<Vec<String>>, InsertSource), SqlError> {
        if self.takes("SET") {
            let (names, row): (Vec<ColumnName>, _) = self.assignments()?.into_iter().unzip();
            let names = names.into_iter().map(|name| column_of(name, table)).collect::<Result<_, _>>()?;
            return Ok((Some(names), InsertSource::Values(vec![row])));
        }
        let mut columns = None;
        let query_in_brackets = self.sees_subquery(0) || (self.sees_operator("(") && self.bytes(1) == b"(");
        if !query_in_brackets && self.takes_operator("(") {
            let mut names = Vec::new();
            if !self.sees_operator(")") {
                names = self.separated(|cursor| column_of(cursor.column_ident()?, table))?;
            }
            self.expect_operator(")")?;
            columns = Some(names).filter(|names| !names.is_empty());
        }
        let source = match self.keyword().as_str() {
            "VALUES" | "VALUE" => {
                self.skip();
                InsertSource::Values(if self.sees("ROW") { self.row_values()? } else { self.value_rows()? })
            }
            "SELECT" | "WITH" | "TABLE" => InsertSource::Query(Box::new(self.query()?)),
            _ if self.sees_operator("(") => InsertSource::Query(Box::new(self.query()?)),
            _ => return Err(self.unexpected()),
        };
        Ok((columns, source))
    }

    /// `([value, ...]) [, ([value, ...])] ...`, where a value is `{expr | DEFAULT}`
    fn value_rows(&mut self) -> Result<Vec<Vec<Expr>>, SqlError> {
        self.separated(|cursor| {
            cursor.expect_operator("(")?;
            let mut row = Vec::new();
            if !cursor.sees_operator(")") {
                row = cursor.separated(Cursor::expr_or_default)?;
            }
            cursor.expect_operator(")")?;
            Ok(row)
        })
    }

    /// `column {= | :=} {expr | DEFAULT} [, ...]`
    pub(super) fn assignments(&mut self) -> Result<Vec<(ColumnName, Expr)>, SqlError> {
        self.separated(|cursor| {
            let column = cursor.column_ident()?;
            if !cursor.takes_operator(":=") {
                cursor.expect_operator("=")?;
            }
            Ok((column, cursor.expr_or_default()?))
        })
    }
}

/// The query that the rows come from.
fn query_of(insert: &Insert) -> Option<&Query> {
    match &insert.source {
        InsertSource::Query(query) => Some(query),
        InsertSource::Values(_) => None,
    }
}
