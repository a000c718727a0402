use super::*;
use crate::catalog::store::Catalog;
use crate::catalog::table::Table;

fn table(name: &str) -> Arc<Table> {
    Catalog::default().table("information_schema", name).unwrap().clone()
}

fn name(table: Option<&str>, column: &str) -> ast::Expr {
    ast::Expr::Column(ast::ColumnName {
        database: None,
        table: table.map(str::to_owned),
        column: column.to_owned(),
        span: ast::Span::default(),
    })
}

#[test]
fn a_name_that_two_relations_have_needs_its_table_and_leads_to_the_slots_of_that_one() {
    let tables = Relation::alone(table("TABLES"), "t");
    let first_slot = width(std::slice::from_ref(&tables));
    let columns = Relation { first_slot, ..Relation::alone(table("COLUMNS"), "c") };
    let relations = [tables, columns];
    let mut scope = Scope::new(&relations, "field list");
    let error = scope.bind(&name(None, "TABLE_NAME")).unwrap_err();
    assert_eq!((error.errno, error.message.as_str()), (1052, "Column 'TABLE_NAME' in field list is ambiguous"));
    let slot = |expr: Expr| match expr {
        Expr::Column(column) => column.slot,
        other => panic!("no column: {other:?}"),
    };
    assert_eq!(slot(scope.bind(&name(Some("t"), "TABLE_NAME")).unwrap()), 2);
    assert_eq!(slot(scope.bind(&name(Some("c"), "TABLE_NAME")).unwrap()), first_slot + 2);
    assert_eq!(slot(scope.bind(&name(None, "COLUMN_NAME")).unwrap()), first_slot + 3);
    assert_eq!(scope.bind(&name(Some("d"), "TABLE_NAME")).unwrap_err().errno, 1054);
}
