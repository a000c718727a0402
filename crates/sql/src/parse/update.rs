//! UPDATE and DELETE, of one table or several.

use super::cursor::Cursor;
use crate::ast::{Delete, OrderBy, Statement, TableExpr, TableName, TableRef, Update, With};
use crate::error::{ER_WRONG_USAGE, SqlError};

impl Cursor<'_> {
    /// `UPDATE [LOW_PRIORITY] [IGNORE] tables SET column = value, ... [WHERE expr] [ORDER BY ...] [LIMIT count]`
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Statement, SqlError> {
        self.expect("UPDATE")?;
        let block = self.begin_block();
        self.takes("LOW_PRIORITY");
        let ignore = self.takes("IGNORE");
        let tables = self.tables()?;
        self.expect("SET")?;
        let assignments = self.assignments()?;
        let filter = if self.takes("WHERE") { Some(self.expr()?) } else { None };
        let (order_by, limit) = self.order_and_count()?;
        if !matches!(tables.as_slice(), [TableExpr::Table(_)]) {
            let clause = if order_by.is_empty() { limit.as_ref().map(|_| "LIMIT") } else { Some("ORDER BY") };
            if let Some(clause) = clause {
                return Err(SqlError::new(ER_WRONG_USAGE, &[&"UPDATE", &clause]));
            }
        }
        self.end_block(&block);
        Ok(Statement::Update(Box::new(Update { block, with, tables, ignore, assignments, filter, order_by, limit })))
    }

    /// `[ORDER BY ...] [LIMIT count]`
    fn order_and_count(&mut self) -> Result<(Vec<OrderBy>, Option<crate::ast::Expr>), SqlError> {
        let order_by = if self.sees("ORDER") { self.order_by()? } else { Vec::new() };
        let limit = if self.takes("LIMIT") { Some(self.row_count()?) } else { None };
        Ok((order_by, limit))
    }

    /// `DELETE [LOW_PRIORITY] [QUICK] [IGNORE]` and then one of
    /// `FROM table [[AS] alias] [PARTITION (names)] [WHERE expr] [ORDER BY ...] [LIMIT count]`,
    /// `table[.*], ... FROM tables [WHERE expr]`, `FROM table[.*], ... USING tables [WHERE expr]`
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Statement, SqlError> {
        self.expect("DELETE")?;
        let block = self.begin_block();
        let mut ignore = false;
        // In any order; QUICK is no reserved word, and a table of this name has to be quoted.
        while self.takes_any(&["LOW_PRIORITY", "QUICK"]) || self.sees("IGNORE") {
            ignore |= self.takes("IGNORE");
        }
        let mut delete = Delete {
            block,
            with,
            targets: Vec::new(),
            tables: Vec::new(),
            ignore,
            filter: None,
            order_by: Vec::new(),
            limit: None,
        };
        if !self.takes("FROM") {
            delete.targets = self.separated(Cursor::target)?;
            self.expect("FROM")?;
            delete.tables = self.tables()?;
        } else {
            let from = self.at;
            let name = self.target()?;
            if self.sees_operator(",") || self.sees("USING") || self.bytes_before() == b"*" {
                delete.targets = vec![name];
                while self.takes_operator(",") {
                    delete.targets.push(self.target()?);
                }
                self.expect("USING")?;
                delete.tables = self.tables()?;
            } else {
                let span = self.span_since(from);
                let alias = self.alias()?;
                let partitions = self.partitions()?;
                delete.tables = vec![TableExpr::Table(TableRef { name, partitions, alias, hints: Vec::new(), span })];
            }
        }
        if self.takes("WHERE") {
            delete.filter = Some(self.expr()?);
        }
        if delete.targets.is_empty() {
            (delete.order_by, delete.limit) = self.order_and_count()?;
        }
        self.end_block(&delete.block);
        Ok(Statement::Delete(Box::new(delete)))
    }

    fn bytes_before(&self) -> &[u8] {
        self.at.checked_sub(1).and_then(|at| self.marks.get(at)).map_or(b"", |mark| mark.lexeme.bytes(self.sql))
    }

    /// `[database.]table[.*]`
    fn target(&mut self) -> Result<TableName, SqlError> {
        let mut name = TableName { database: None, table: self.ident()? };
        while self.takes_operator(".") {
            if self.takes_operator("*") {
                break;
            }
            if name.database.is_some() {
                return Err(self.unexpected());
            }
            name.database = Some(std::mem::replace(&mut name.table, self.name_after_point()?));
        }
        Ok(name)
    }
}
