//! Whether a statement that changes rows is logged as its text or as those rows (`binlog_format`).
//!
//! A statement is logged as text only where a replica that runs it alone, with the session's settings and what
//! [`StatementInputs`] has, comes to the same rows. One that is not such is *unsafe* and logged as rows: under MIXED without
//! a word, under STATEMENT with warning 1592. The exception is MySQL's: REPLACE ... SELECT counts as unsafe because of the
//! order of its rows, and is logged as text under STATEMENT. Here that is so where it makes one row, which has no order;
//! pt-table-checksum lives on it.
//!
//! Transactions with statements are replayed one after another, since what a statement reads is not in the binlog.

use cohort_binlog::StatementInputs;
use cohort_txn::{Isolation, Transaction};

use super::Params;
use crate::catalog::definition::DefaultValue;
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::error::{
    ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, ER_BINLOG_UNSAFE_STATEMENT, ER_BINLOG_UNSAFE_STATEMENT_AS_ROWS, SqlError,
};
use crate::exec::wants_auto_increment;
use crate::expr::Function;
use crate::parse::VariableName;
use crate::parse::lexer::{Kind, Lexeme, Lexer};
use crate::plan::node::Node;
use crate::plan::{InsertPlan, InsertRows, InsertValue, Plan, PlanKind};
use crate::session::{BinlogFormat, DiagnosticLevel, SessionState};
use crate::types::SqlMode;
use crate::value::Value;

/// Bytes of an error about the isolation level.
const BELOW_REPEATABLE_READ: &str =
    " InnoDB is limited to row-logging when transaction isolation level is READ COMMITTED or READ UNCOMMITTED.";

/// What the text of a statement uses.
#[derive(Default)]
struct Uses {
    inputs: StatementInputs,
    /// Why a replica may come to other rows.
    unsafe_for: Option<&'static str>,
}

/// What goes into the binlog in place of the rows of a statement; `None` for the rows. 1665 where `binlog_format` says
/// STATEMENT and the isolation level is too low for it.
pub(super) fn logged_as_text(
    plan: &Plan,
    params: Params<'_>,
    transaction: &Transaction,
    session: &SessionState,
) -> Result<Option<StatementInputs>, SqlError> {
    let asked = session.binlog_format == BinlogFormat::Statement;
    // Its definition is logged, which has its columns' types.
    let of_new_table = matches!(&plan.kind, PlanKind::Insert(insert) if insert.creates);
    if session.binlog_format == BinlogFormat::Row || of_new_table || !plan.kind.writes() || !transaction.is_logged() {
        return Ok(None);
    }
    if transaction.isolation() < Isolation::RepeatableRead {
        let why: &dyn std::fmt::Display = &BELOW_REPEATABLE_READ;
        return if asked { Err(SqlError::new(ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, &[why])) } else { Ok(None) };
    }
    let Uses { inputs, unsafe_for } = uses(params.sql, session);
    let outdated = "It was prepared under another SQL mode or character set.";
    let is_outdated = params.meaning.is_some_and(|meaning| !meaning.is_that_of(session));
    let unsafe_for = is_outdated
        .then_some(outdated)
        .or(unsafe_for)
        .or_else(|| unsafe_plan(plan, &params, session))
        .or_else(|| session.xa.is_some().then_some("It is a part of an XA transaction."));
    let warn = |code, why: &str| session.push_diagnostic(DiagnosticLevel::Note, SqlError::new(code, &[&why]));
    match unsafe_for {
        None if replaces_by_query(plan).is_none() => Ok(Some(inputs)),
        None if asked && replaces_by_query(plan) == Some(Rows::One) => {
            warn(
                ER_BINLOG_UNSAFE_STATEMENT,
                "REPLACE... SELECT is unsafe because the order in which rows are retrieved by the SELECT determines which \
                 (if any) rows are replaced. This order cannot be predicted and may differ on source and the replica.",
            );
            Ok(Some(inputs))
        }
        why => {
            if asked {
                let why =
                    why.unwrap_or("Which rows REPLACE ... SELECT replaces depends on the order of those it reads.");
                warn(ER_BINLOG_UNSAFE_STATEMENT_AS_ROWS, why);
            }
            Ok(None)
        }
    }
}

/// Goes through a statement's words.
fn uses(sql: &[u8], session: &SessionState) -> Uses {
    let mut uses = Uses::default();
    if std::str::from_utf8(sql).is_ok_and(|text| session.client.charset().first_outside(text).is_some()) {
        uses.refuse("It has characters that the character set of its client lacks.");
    }
    let lexemes: Vec<Lexeme> = Lexer::new(sql, session.sql_mode).collect();
    let bytes = |at: usize| lexemes.get(at).map_or(&b""[..], |lexeme| lexeme.bytes(sql));
    for (at, lexeme) in lexemes.iter().enumerate() {
        match lexeme.kind {
            Kind::Param => uses.refuse("It has parameters."),
            Kind::Variable => match VariableName::read(lexeme.bytes(sql)) {
                Some(VariableName::User(name)) => uses.user_variable(name, session),
                _ => uses.refuse("It uses a system variable, which may have another value on a replica."),
            },
            Kind::Word => uses.word(&lexeme.bytes(sql).to_ascii_uppercase(), bytes(at + 1), bytes(at + 2), session),
            _ => {}
        }
    }
    uses
}

impl Uses {
    /// Keeps the first reason.
    fn refuse(&mut self, why: &'static str) {
        self.unsafe_for.get_or_insert(why);
    }

    fn user_variable(&mut self, name: String, session: &SessionState) {
        if self.inputs.user_variables.iter().all(|(known, ..)| *known != name) {
            let value = session.user_variable(&name);
            let collation = session.collation_of_variable(&name).unwrap_or(Collation::Binary);
            self.inputs.user_variables.push((name, value, collation));
        }
    }

    fn word(&mut self, word: &[u8], next: &[u8], argument: &[u8], session: &SessionState) {
        let word = std::str::from_utf8(word).unwrap_or_default();
        match word {
            "LIMIT" => self.refuse("It has a LIMIT, and which rows come first may differ on a replica."),
            // Without parentheses too.
            "CURRENT_USER" => self.refuse(OTHER_VALUE),
            _ if next != b"(" => {}
            // By `group_concat_max_len` and `default_week_format`.
            "GROUP_CONCAT" | "WEEK" => self.refuse(OTHER_VALUE),
            "LAST_INSERT_ID" => self.inputs.last_insert_id = Some(session.last_insert_id.get()),
            "NOW" | "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" | "CURTIME" | "CURRENT_TIME" | "UTC_TIME"
            | "UTC_TIMESTAMP" => {
                if argument != b")" && argument != b"0" {
                    self.refuse(FRACTION);
                }
            }
            _ => {
                if Function::named(word).is_some_and(Function::may_differ_on_replica) {
                    self.refuse(OTHER_VALUE);
                }
            }
        }
    }
}

const OTHER_VALUE: &str = "It uses a function that may give another value on a replica.";
const FRACTION: &str = "It uses the time below a second, which a replica does not get.";

/// Why the rows of a plan cannot be left to a replica.
fn unsafe_plan(plan: &Plan, params: &Params<'_>, session: &SessionState) -> Option<&'static str> {
    if plan.uses.iter().any(|used| system::is_one(&used.table)) {
        return Some("It reads a system table.");
    }
    match &plan.kind {
        PlanKind::Insert(insert) => {
            if let Some(why) = unsafe_insert(insert, params, session) {
                return Some(why);
            }
        }
        PlanKind::Select(_) | PlanKind::Utility(_) => return None,
        PlanKind::Update(_) | PlanKind::Delete(_) | PlanKind::UpdateJoined(_) | PlanKind::DeleteJoined(_) => {}
    }
    let mut written = plan.uses.iter().filter(|used| used.written);
    written.any(|used| makes_fractions(&used.table)).then_some(FRACTION)
}

fn unsafe_insert(insert: &InsertPlan, params: &Params<'_>, session: &SessionState) -> Option<&'static str> {
    let unique = insert.table.indexes.iter().filter(|index| index.is_unique()).count();
    if insert.table.auto_increment.is_some_and(|column| !numbers_alike(insert, column, params, session)) {
        return Some("It writes to a table with an AUTO_INCREMENT column, which may get other values on a replica.");
    }
    if insert.table.def.columns.iter().any(|column| matches!(column.default, DefaultValue::Expression { .. })) {
        return Some("It writes to a table with a default that is an expression.");
    }
    if !insert.on_duplicate.is_empty() && unique > 1 {
        return Some("It has ON DUPLICATE KEY UPDATE for a table with several unique keys.");
    }
    let ignores = insert.ignore || !insert.on_duplicate.is_empty();
    (ignores && matches!(insert.source, InsertRows::Query(..)))
        .then_some("Which rows it ignores or updates depends on the order of those it reads.")
}

/// Whether a replica that is told the first AUTO_INCREMENT value which the statement made comes to the same ones: each row
/// brings its own, or there is one row, or each makes one and is inserted, so that they follow each other.
fn numbers_alike(insert: &InsertPlan, column: usize, params: &Params<'_>, session: &SessionState) -> bool {
    let InsertRows::Values(rows) = &insert.source else { return false };
    let passes_over_rows = insert.replace || insert.ignore || !insert.on_duplicate.is_empty();
    let follow_each_other = !passes_over_rows && session.auto_increment_increment == 1;
    let Some(place) = insert.targets.iter().position(|target| *target == column) else {
        return rows.len() * params.rows == 1 || follow_each_other;
    };
    let brings = |values: &[Value], row: &[InsertValue]| match &row[place] {
        InsertValue::Expr(expr) => matches!(
            expr.literal_with(values),
            Some(value @ (Value::Int(_) | Value::UInt(_))) if !wants_auto_increment(value, session.sql_mode)
        ),
        InsertValue::Default => false,
    };
    let of_repeat = |repeat: usize| params.values.get(repeat * params.row_params..).unwrap_or_default();
    let all_bring = || (0..params.rows).all(|repeat| rows.iter().all(|row| brings(of_repeat(repeat), row)));
    let makes = |row: &Vec<InsertValue>| matches!(row[place], InsertValue::Default);
    if session.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO) && rows.iter().any(makes) {
        // For MariaDB DEFAULT is zero then.
        return false;
    }
    rows.len() * params.rows == 1 || follow_each_other && rows.iter().all(makes) || all_bring()
}

/// Whether a column is set to the time of the statement with a part of a second.
fn makes_fractions(table: &Table) -> bool {
    table.def.columns.iter().any(|column| {
        let by_clock = column.on_update_now || matches!(column.default, DefaultValue::CurrentTimestamp);
        by_clock && column.column_type.facts().clock_digits.is_some_and(|digits| digits > 0)
    })
}

/// How many rows a query makes.
#[derive(PartialEq, Eq)]
enum Rows {
    One,
    Any,
}

/// The rows of a REPLACE ... SELECT.
fn replaces_by_query(plan: &Plan) -> Option<Rows> {
    let PlanKind::Insert(InsertPlan { replace: true, source: InsertRows::Query(query, _), .. }) = &plan.kind else {
        return None;
    };
    let one = query.root.chain().any(|node| match node {
        Node::OneRow => true,
        Node::Group(_, grouping) => grouping.keys.is_empty(),
        _ => false,
    });
    Some(if one { Rows::One } else { Rows::Any })
}
