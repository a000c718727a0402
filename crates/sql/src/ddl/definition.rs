//! From the syntax of CREATE TABLE to a definition, with MySQL's rules.

use std::cell::RefCell;

use super::{DdlRun, MAX_NAME_CHARS};
use crate::ast::{ColumnSpec, CreateTable, Expr, IndexSpec, KeySpec, TableName};
use crate::catalog::definition::{ColumnDef, DefaultValue, IndexColumn, IndexDef, IndexKind, TableDef};
use crate::catalog::store::{DatabaseEntry, is_known_elsewhere};
use crate::codec::KeyPart;
use crate::codec::key::MAX_KEY_BYTES;
use crate::collation::Collation;
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_BLOB_CANT_HAVE_DEFAULT, ER_BLOB_KEY_WITHOUT_LENGTH, ER_DEFAULT_VAL_GENERATED_VARIABLES,
    ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_DUPLICATED_VALUE_IN_TYPE, ER_INVALID_DEFAULT, ER_INVALID_ON_UPDATE,
    ER_JSON_USED_AS_KEY, ER_KEY_COLUMN_DOES_NOT_EXITS, ER_MULTIPLE_PRI_KEY, ER_PRIMARY_CANT_HAVE_NULL,
    ER_TABLE_MUST_HAVE_COLUMNS, ER_TOO_BIG_ROWSIZE, ER_TOO_LONG_IDENT, ER_TOO_LONG_KEY, ER_TOO_MANY_FIELDS,
    ER_TOO_MANY_KEY_PARTS, ER_TOO_MANY_KEYS, ER_WARN_USING_OTHER_HANDLER, ER_WRONG_AUTO_KEY, ER_WRONG_COLUMN_NAME,
    ER_WRONG_FIELD_SPEC, ER_WRONG_NAME_FOR_INDEX, ER_WRONG_SUB_KEY, SqlError,
};
use crate::expr::{Expr as BoundExpr, Literals, compare_values};
use crate::plan::NewColumn;
use crate::plan::bind::Scope;
use crate::session::{DiagnosticLevel, SessionState};
use crate::types::temporal::TimeZone;
use crate::types::{ColumnType, Kind, Loss, SqlMode, StoreContext};
use crate::value::Value;

pub(crate) const MAX_COLUMNS: usize = 4096;
const MAX_INDEXES: usize = 64;
const MAX_KEY_PARTS: usize = 16;
/// Bytes of a row without its BLOB and TEXT columns.
const MAX_ROW_BYTES: u64 = 65_535;

/// What definitions rest on beside their syntax, and what they have to say about it.
pub(super) struct Rules {
    pub(super) sql_mode: SqlMode,
    pub(super) time_zone: TimeZone,
    /// When the statement started, microseconds since 1970.
    pub(super) now_us: i64,
    /// Whether JSON columns become LONGTEXT.
    pub(super) json_as_longtext: bool,
    /// What literals are.
    pub(super) literals: Literals,
    /// For SHOW WARNINGS.
    pub(super) notes: RefCell<Vec<(DiagnosticLevel, SqlError)>>,
}

impl Rules {
    /// Those of a statement.
    pub(super) fn of(run: &DdlRun<'_>) -> Rules {
        let session = run.session;
        Rules {
            sql_mode: session.sql_mode,
            time_zone: session.time_zone,
            now_us: run.now_us,
            json_as_longtext: session.json_as_longtext,
            literals: session.literals(),
            notes: RefCell::default(),
        }
    }

    pub(super) fn note(&self, error: SqlError) {
        self.notes.borrow_mut().push((DiagnosticLevel::Note, error));
    }

    /// Gives the session what was noted.
    pub(super) fn report_to(&self, session: &SessionState) {
        self.notes.borrow_mut().drain(..).for_each(|(level, error)| session.push_diagnostic(level, error));
    }
}

/// The definition of a new table that has the columns of a query too, and its first AUTO_INCREMENT value.
pub(super) fn table(
    spec: &CreateTable,
    selected: &[NewColumn],
    name: &TableName,
    database: &DatabaseEntry,
    run: &DdlRun<'_>,
) -> Result<(TableDef, u64), SqlError> {
    let rules = Rules::of(run);
    let defined = define(spec, selected, name, database, &rules, run);
    rules.report_to(run.session);
    defined
}

fn define(
    spec: &CreateTable,
    selected: &[NewColumn],
    name: &TableName,
    database: &DatabaseEntry,
    rules: &Rules,
    run: &DdlRun<'_>,
) -> Result<(TableDef, u64), SqlError> {
    let engine = engine(spec.engine.as_deref(), &name.table, run)?;
    let collation = spec.collation.unwrap_or(database.collation);
    let mut def = TableDef {
        id: run.catalog.take_table_id(),
        database: run.database_of(name)?.to_owned(),
        name: name.table.clone(),
        engine,
        collation,
        columns: Vec::with_capacity(spec.columns.len()),
        indexes: Vec::new(),
        row_index_id: 0,
        schema_version: 1,
        former: Vec::new(),
        comment: spec.comment.clone(),
    };
    // Before names are compared with each other.
    if spec.columns.len() > MAX_COLUMNS {
        return Err(SqlError::new(ER_TOO_MANY_FIELDS, &[]));
    }
    let own = spec.columns.iter().map(|column| self::column(column, collation, rules));
    let own = own.collect::<Result<Vec<ColumnDef>, SqlError>>()?;
    for column in with_selected(own, selected)? {
        if def.column_index(&column.name).is_some() {
            return Err(SqlError::new(ER_DUP_FIELDNAME, &[&column.name]));
        }
        def.columns.push(column);
    }
    check_columns(&def)?;
    for index in keys(spec) {
        if index.kind == KeySpec::Primary {
            let names: Vec<String> = def.columns.iter().map(|column| column.name.clone()).collect();
            let is_it = |column: &&ColumnSpec, at: usize| column.name.eq_ignore_ascii_case(&names[at]);
            let explicit = |at: usize| {
                spec.columns.iter().find(|column| is_it(column, at)).is_some_and(|column| column.nullable == Some(true))
            };
            primary_columns_are_not_null(&index, &explicit, &mut def)?;
        }
        let index = self::index(&index, &def)?;
        def.indexes.push(index);
    }
    sort_indexes(&mut def);
    check_auto_increment(&def)?;
    for index in &mut def.indexes {
        index.index_id = run.catalog.take_index_id();
    }
    def.row_index_id = match def.primary_key() {
        Some(primary) => primary.index_id,
        None => run.catalog.take_index_id(),
    };
    Ok((def, spec.auto_increment.unwrap_or(1).max(1)))
}

/// The columns of a table with those of a query: first what the statement defines beside them, then those of the query,
/// as the statement defines them if it does.
fn with_selected(own: Vec<ColumnDef>, selected: &[NewColumn]) -> Result<Vec<ColumnDef>, SqlError> {
    let is_selected = |own: &ColumnDef| selected.iter().any(|column| column.name.eq_ignore_ascii_case(&own.name));
    let (mut replacing, mut columns): (Vec<ColumnDef>, Vec<ColumnDef>) = own.into_iter().partition(is_selected);
    for column in selected {
        let own = replacing.iter().position(|own| own.name.eq_ignore_ascii_case(&column.name));
        columns.push(match own {
            Some(own) => replacing.remove(own),
            None => selected_column(column)?,
        });
    }
    columns.extend(replacing);
    Ok(columns)
}

/// The column that holds what a query gives: of a stored column what that is, but for AUTO_INCREMENT and keys.
fn selected_column(column: &NewColumn) -> Result<ColumnDef, SqlError> {
    check_column_name(&column.name)?;
    let nullable = column.result_type.nullable;
    let of_type = |column_type: ColumnType| ColumnDef {
        name: column.name.to_string(),
        default: DefaultValue::None,
        nullable,
        on_update_now: false,
        auto_increment: false,
        since_version: 1,
        before: None,
        comment: String::new(),
        column_type,
    };
    let implicit = |of: &ColumnType| DefaultValue::Literal(of.implicit_default());
    Ok(match &column.of {
        Some(of) => {
            let default = match &of.default {
                _ if of.auto_increment => implicit(&of.column_type),
                DefaultValue::Dropped | DefaultValue::Literal(Value::Null) => DefaultValue::None,
                default => default.clone(),
            };
            let (on_update_now, comment) = (of.on_update_now, of.comment.clone());
            ColumnDef { default, on_update_now, comment, ..of_type(of.column_type.clone()) }
        }
        None => {
            let column_type = ColumnType::of_result(&column.result_type);
            // There is no date that a strict session may store.
            let has_default = !nullable && !column_type.facts().is_lob && !column.result_type.kind().has_date();
            let default = if has_default { implicit(&column_type) } else { DefaultValue::None };
            ColumnDef { default, ..of_type(column_type) }
        }
    })
}

/// The engine's name: the one asked for, or the session's; another server's engine is replaced, with MySQL's
/// warning.
pub(super) fn engine(asked: Option<&str>, table: &str, run: &DdlRun<'_>) -> Result<String, SqlError> {
    let Some(asked) = asked.or(run.session.default_engine.as_deref()) else {
        return Ok(run.catalog.engine_name(crate::catalog::store::CATALOG_ENGINE).to_owned());
    };
    let own = match run.catalog.engine(asked) {
        Ok(engine) => run.catalog.engine_name(engine),
        Err(error) if run.session.sql_mode.contains(SqlMode::NO_ENGINE_SUBSTITUTION) => return Err(error),
        Err(error) => {
            run.session.push_diagnostic(DiagnosticLevel::Warning, error);
            run.catalog.engine_name(crate::catalog::store::CATALOG_ENGINE)
        }
    };
    if !asked.eq_ignore_ascii_case(own) && is_known_elsewhere(asked) {
        let warning = SqlError::new(ER_WARN_USING_OTHER_HANDLER, &[&own, &table]);
        run.session.push_diagnostic(DiagnosticLevel::Warning, warning);
    }
    Ok(own.to_owned())
}

/// All keys, those written at columns too.
fn keys(spec: &CreateTable) -> Vec<IndexSpec> {
    spec.columns.iter().flat_map(column_keys).chain(spec.indexes.iter().cloned()).collect()
}

/// The keys that are written at a column.
pub(super) fn column_keys(column: &ColumnSpec) -> Vec<IndexSpec> {
    let key = |kind| IndexSpec {
        name: None,
        kind,
        columns: vec![(column.name.clone(), None)],
        comment: String::new(),
        if_not_exists: false,
    };
    let primary = column.primary_key.then(|| key(KeySpec::Primary));
    primary.into_iter().chain(column.unique.then(|| key(KeySpec::Unique))).collect()
}

/// The error of a name that no column may have.
pub(crate) fn check_column_name(name: &str) -> Result<(), SqlError> {
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(ER_WRONG_COLUMN_NAME, &[&name]));
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(SqlError::new(ER_TOO_LONG_IDENT, &[&name]));
    }
    Ok(())
}

/// The definition of one column of a table with this default collation.
pub(super) fn column(spec: &ColumnSpec, collation: Collation, rules: &Rules) -> Result<ColumnDef, SqlError> {
    check_column_name(&spec.name)?;
    let column_type = match spec.own_collation {
        _ if spec.column_type.kind() == Kind::Json && rules.json_as_longtext => ColumnType::longtext(),
        true => spec.column_type.clone(),
        false => spec.column_type.under(collation),
    };
    column_type.check_length(&spec.name)?;
    distinct_members(spec, &column_type, rules)?;
    let facts = column_type.facts();
    let nullable = spec.nullable.unwrap_or(!spec.auto_increment) && !spec.primary_key;
    if spec.on_update_now.is_some() && facts.clock_digits != spec.on_update_now {
        return Err(SqlError::new(ER_INVALID_ON_UPDATE, &[&spec.name]));
    }
    if spec.auto_increment && (spec.default.is_some() || facts.counter_max.is_none()) {
        let code = if spec.default.is_some() { ER_INVALID_DEFAULT } else { ER_WRONG_FIELD_SPEC };
        return Err(SqlError::new(code, &[&spec.name]));
    }
    Ok(ColumnDef {
        name: spec.name.clone(),
        default: default(
            &spec.name,
            spec.default.as_ref(),
            spec.default_text.as_deref(),
            (&column_type, nullable),
            rules,
        )?,
        column_type,
        nullable,
        on_update_now: spec.on_update_now.is_some(),
        auto_increment: spec.auto_increment,
        since_version: 1,
        before: None,
        comment: spec.comment.clone(),
    })
}

/// The texts of an ENUM or SET may not be equal to each other: an error of a strict mode, a note in another.
fn distinct_members(spec: &ColumnSpec, column_type: &ColumnType, rules: &Rules) -> Result<(), SqlError> {
    let Some(repeated) = column_type.members().and_then(|members| members.repeated()) else { return Ok(()) };
    let kind = column_type.facts().data_type.to_ascii_uppercase();
    let error = SqlError::new(ER_DUPLICATED_VALUE_IN_TYPE, &[&spec.name, &repeated, &kind]);
    if rules.sql_mode.is_strict() {
        return Err(error);
    }
    rules.note(error);
    Ok(())
}

/// An expression may be a default if it needs nothing but functions.
fn default_expression(expr: &Expr, column: &str) -> Result<(), SqlError> {
    let bound = Scope::new(&[], "default value expression").bind(expr).map_err(|error| {
        if error.is(ER_BAD_FIELD_ERROR) { SqlError::unsupported("columns in a default expression") } else { error }
    })?;
    let mut variables = false;
    bound.walk(&mut |part| {
        variables |= matches!(
            part,
            BoundExpr::UserVariable(..) | BoundExpr::AssignUserVariable(..) | BoundExpr::SystemVariable(..)
        );
    });
    if variables { Err(SqlError::new(ER_DEFAULT_VAL_GENERATED_VARIABLES, &[&column])) } else { Ok(()) }
}

/// The default of a column of some type, which may be NULL or not: an expression, with its text if it stands in
/// parentheses.
pub(super) fn default(
    name: &str,
    expr: Option<&Expr>,
    text: Option<&str>,
    (column_type, nullable): (&ColumnType, bool),
    rules: &Rules,
) -> Result<DefaultValue, SqlError> {
    let invalid = || SqlError::new(ER_INVALID_DEFAULT, &[&name]);
    if let (Some(expr), Some(text)) = (expr, text) {
        default_expression(expr, name)?;
        return Ok(DefaultValue::Expression { text: text.to_owned(), sql_mode: rules.sql_mode.to_string() });
    }
    let value = match expr {
        None => return Ok(DefaultValue::None),
        // CURRENT_TIMESTAMP has the column's digits.
        Some(Expr::Call { args, .. }) if column_type.facts().clock_digits.is_some() => {
            let digits = match args.first() {
                None => Some(0),
                Some(Expr::Literal(Value::Int(digits))) => u8::try_from(*digits).ok(),
                Some(_) => None,
            };
            let same = digits == column_type.facts().clock_digits;
            return if same { Ok(DefaultValue::CurrentTimestamp) } else { Err(invalid()) };
        }
        Some(Expr::Literal(Value::Text(text))) => rules.literals.text(text.clone()),
        Some(Expr::Literal(value)) => value.clone(),
        Some(Expr::Introduced(charset, value)) => rules.literals.introduced(*charset, value)?,
        Some(_) => return Err(invalid()),
    };
    if value.is_null() {
        return if nullable { Ok(DefaultValue::Literal(Value::Null)) } else { Err(invalid()) };
    }
    if column_type.facts().is_lob {
        return Err(SqlError::new(ER_BLOB_CANT_HAVE_DEFAULT, &[&name]));
    }
    let mut complained = false;
    let mut cx = StoreContext {
        column: name,
        row: 1,
        sql_mode: rules.sql_mode,
        time_zone: rules.time_zone,
        now_us: rules.now_us,
        warnings: &mut |loss, _| complained |= loss == Loss::Warning,
    };
    let text = column_type.members().map(|_| value.to_string());
    let charset = column_type.collation().unwrap_or(Collation::DEFAULT).charset();
    if text.as_deref().is_some_and(|text| charset.first_outside(text).is_some()) {
        return Err(invalid());
    }
    let mut stored = column_type
        .store(text.as_deref().map_or_else(|| value.clone(), Value::text), &mut cx)
        .map_err(|_| invalid())?;
    if let Some(text) = text {
        // A number of an ENUM or SET is no default of it.
        let same =
            || compare_values(&stored, &Value::text(&*text), column_type.collation().unwrap_or(Collation::DEFAULT));
        if text.trim_ascii().parse::<u64>().is_ok() && same() != Some(std::cmp::Ordering::Equal) {
            return Err(invalid());
        }
        // One that is a text of the list as well stands for its place there, as in MySQL.
        if value.is_number() {
            stored = column_type.store(value, &mut cx).map_err(|_| invalid())?;
        }
    }
    if complained { Err(invalid()) } else { Ok(DefaultValue::Literal(stored)) }
}

/// How many columns there may be, and how long a row.
pub(super) fn check_columns(def: &TableDef) -> Result<(), SqlError> {
    if def.columns.is_empty() {
        return Err(SqlError::new(ER_TABLE_MUST_HAVE_COLUMNS, &[]));
    }
    if def.columns.len() > MAX_COLUMNS {
        return Err(SqlError::new(ER_TOO_MANY_FIELDS, &[]));
    }
    let bytes: u64 = def
        .columns
        .iter()
        .map(|column| match (column.column_type.collation(), column.column_type.facts()) {
            (_, facts) if facts.is_lob => 0,
            (Some(_), facts) => facts.max_bytes,
            (None, _) => 8,
        })
        .sum();
    if bytes > MAX_ROW_BYTES {
        return Err(SqlError::new(ER_TOO_BIG_ROWSIZE, &[&MAX_ROW_BYTES]));
    }
    Ok(())
}

/// Columns of a primary key are NOT NULL, unless their definition in this statement says that they may be NULL
/// (`explicit`, by their places).
pub(super) fn primary_columns_are_not_null(
    index: &IndexSpec,
    explicit: &dyn Fn(usize) -> bool,
    def: &mut TableDef,
) -> Result<(), SqlError> {
    for (name, _) in &index.columns {
        let Some(at) = def.column_index(name) else {
            return Err(SqlError::new(ER_KEY_COLUMN_DOES_NOT_EXITS, &[name]));
        };
        if explicit(at) {
            return Err(SqlError::new(ER_PRIMARY_CANT_HAVE_NULL, &[]));
        }
        let column = &mut def.columns[at];
        if column.default == DefaultValue::Literal(Value::Null) {
            return Err(SqlError::new(ER_INVALID_DEFAULT, &[name]));
        }
        column.nullable = false;
    }
    Ok(())
}

/// The definition of one index of `def`, without an id yet.
pub(super) fn index(spec: &IndexSpec, def: &TableDef) -> Result<IndexDef, SqlError> {
    if spec.columns.len() > MAX_KEY_PARTS {
        return Err(SqlError::new(ER_TOO_MANY_KEY_PARTS, &[&MAX_KEY_PARTS]));
    }
    if def.indexes.len() >= MAX_INDEXES {
        return Err(SqlError::new(ER_TOO_MANY_KEYS, &[&MAX_INDEXES]));
    }
    let kind = match spec.kind {
        KeySpec::Primary => IndexKind::Primary,
        KeySpec::Unique => IndexKind::Unique,
        KeySpec::Plain => IndexKind::Secondary,
    };
    if kind == IndexKind::Primary && def.primary_key().is_some() {
        return Err(SqlError::new(ER_MULTIPLE_PRI_KEY, &[]));
    }
    let mut columns: Vec<IndexColumn> = Vec::with_capacity(spec.columns.len());
    for (name, prefix) in &spec.columns {
        let column = def.column_index(name).ok_or_else(|| SqlError::new(ER_KEY_COLUMN_DOES_NOT_EXITS, &[name]))?;
        if columns.iter().any(|known| known.column == column) {
            return Err(SqlError::new(ER_DUP_FIELDNAME, &[name]));
        }
        if def.columns[column].column_type.kind() == Kind::Json {
            return Err(SqlError::new(ER_JSON_USED_AS_KEY, &[name]));
        }
        let prefix = self::prefix(*prefix, &def.columns[column])?;
        columns.push(IndexColumn { column, prefix });
    }
    let index = IndexDef { index_id: 0, name: name(spec, kind, def)?, kind, columns, comment: spec.comment.clone() };
    let bytes: usize = def.key_parts(&index).iter().map(KeyPart::declared_bytes).sum();
    if bytes > MAX_KEY_BYTES {
        return Err(SqlError::new(ER_TOO_LONG_KEY, &[&MAX_KEY_BYTES]));
    }
    Ok(index)
}

/// The prefix length of a key part; none if it covers the whole column.
fn prefix(prefix: Option<u16>, column: &ColumnDef) -> Result<Option<u16>, SqlError> {
    let facts = column.column_type.facts();
    if facts.is_lob {
        return match prefix {
            Some(1..) => Ok(prefix),
            _ => Err(SqlError::new(ER_BLOB_KEY_WITHOUT_LENGTH, &[&column.name])),
        };
    }
    let whole = column.column_type.collation().map(|_| facts.sizes.chars.unwrap_or(0));
    match (prefix, whole) {
        (None, _) => Ok(None),
        (Some(prefix), Some(whole)) if u64::from(prefix) == whole => Ok(None),
        (Some(prefix @ 1..), Some(whole)) if u64::from(prefix) < whole => Ok(Some(prefix)),
        _ => Err(SqlError::new(ER_WRONG_SUB_KEY, &[])),
    }
}

fn name(spec: &IndexSpec, kind: IndexKind, def: &TableDef) -> Result<String, SqlError> {
    let taken = |name: &str| def.indexes.iter().any(|index| index.name.eq_ignore_ascii_case(name));
    if kind == IndexKind::Primary {
        return Ok("PRIMARY".to_owned());
    }
    match &spec.name {
        Some(name) if name.eq_ignore_ascii_case("PRIMARY") || name.is_empty() => {
            Err(SqlError::new(ER_WRONG_NAME_FOR_INDEX, &[name]))
        }
        Some(name) if taken(name) => Err(SqlError::new(ER_DUP_KEYNAME, &[name])),
        Some(name) if name.chars().count() > MAX_NAME_CHARS => Err(SqlError::new(ER_TOO_LONG_IDENT, &[name])),
        Some(name) => Ok(name.clone()),
        None => {
            let first = &spec.columns[0].0;
            let numbered = (2..).map(|number| format!("{first}_{number}"));
            let mut names = std::iter::once(first.clone()).chain(numbered);
            let is_free = |name: &String| !name.eq_ignore_ascii_case("PRIMARY") && !taken(name);
            // Among two more names than there are indexes one is free.
            Ok(names.find(is_free).unwrap_or_default())
        }
    }
}

/// The primary key first, then unique keys, then the rest; among unique keys, those without NULL first, then those of
/// whole columns. Which of several keys a new row meets first rests on it.
pub(super) fn sort_indexes(def: &mut TableDef) {
    let TableDef { columns, indexes, .. } = def;
    indexes.sort_by_key(|index| match index.kind {
        IndexKind::Primary => (0, false, false),
        IndexKind::Unique => (
            1,
            index.columns.iter().any(|part| columns[part.column].nullable),
            index.columns.iter().any(|part| part.prefix.is_some()),
        ),
        IndexKind::Secondary => (2, false, false),
    });
}

/// There may be one AUTO_INCREMENT column, and it must begin a key.
pub(super) fn check_auto_increment(def: &TableDef) -> Result<(), SqlError> {
    let count = def.columns.iter().filter(|column| column.auto_increment).count();
    let Some(column) = def.auto_increment_column() else { return Ok(()) };
    let leads = def.indexes.iter().any(|index| index.columns.first().is_some_and(|first| first.column == column));
    if count > 1 || !leads {
        return Err(SqlError::new(ER_WRONG_AUTO_KEY, &[]));
    }
    Ok(())
}
