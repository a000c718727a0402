//! Expressions are built and evaluated; expected texts are MySQL's.

mod functions;
mod operators;
mod types;
mod xml;

use std::cell::RefCell;
use std::time::Duration;

use super::*;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::decimal::Decimal;
use crate::types::temporal::{TimeZone, parse};
use crate::types::{ColumnType, IntType, IntWidth, SqlMode};

/// A session in which it is 2024-02-29 12:30:45.678901 UTC.
struct Session {
    zone: TimeZone,
    sql_mode: SqlMode,
    strict: bool,
    warnings: RefCell<Vec<u16>>,
    variable: RefCell<Value>,
    sequence: RefCell<Option<RandomSequence>>,
    around: crate::session::SessionState,
}

fn int_column() -> Expr {
    let column_type = ColumnType::Int(IntType { width: IntWidth::Int, unsigned: false, display_width: None });
    Expr::column(0, "a", column_type.result_type(false))
}

/// A parameter of any kind.
fn param(index: usize) -> Expr {
    Expr::Param(Param { index, kind: None })
}

const NOW_US: i64 = 1_709_209_845_678_901;

impl Session {
    fn new() -> Session {
        Session {
            zone: TimeZone::UTC,
            sql_mode: SqlMode::DEFAULT,
            strict: false,
            warnings: RefCell::default(),
            variable: RefCell::default(),
            sequence: RefCell::default(),
            around: crate::session::SessionState::new(),
        }
    }
}

impl StatementContext for Session {
    fn now_us(&self) -> i64 {
        NOW_US
    }
    fn clock_us(&self) -> i64 {
        NOW_US + 1_000_000
    }
    fn time_zone(&self) -> TimeZone {
        self.zone
    }
    fn sql_mode(&self) -> SqlMode {
        self.sql_mode
    }
    fn warn(&self, warning: SqlError) -> Result<(), SqlError> {
        if self.strict {
            return Err(warning);
        }
        self.warnings.borrow_mut().push(warning.errno);
        Ok(())
    }
    fn user_variable(&self, _name: &str) -> Value {
        self.variable.borrow().clone()
    }
    fn set_user_variable(&self, _name: &str, value: Value, _collation: Collation) -> Result<(), SqlError> {
        *self.variable.borrow_mut() = value;
        Ok(())
    }

    fn spilling(&self) -> Option<&dyn crate::spill::Spilling> {
        Some(&self.around)
    }

    fn hold(&self, _bytes: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn hold_evaluated(&self, _bytes: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn check_killed(&self) -> Result<(), SqlError> {
        Ok(())
    }
    fn system_variable(&self, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        if name == "block_encryption_mode" {
            return Ok(Value::text("aes-128-ecb"));
        }
        Err(SqlError::new(crate::error::ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))
    }
    fn information(&self, what: Information) -> Value {
        match what {
            Information::ConnectionId => Value::UInt(7),
            Information::Database => Value::text("db"),
            Information::CurrentRole => Value::text("NONE"),
            Information::RolesGraphml => Value::text(crate::privilege::roster::Roster::EMPTY_GRAPHML),
            Information::Version => Value::text("8.0.0"),
            Information::User => Value::text("root@localhost"),
            Information::CurrentUser => Value::text("root@%"),
            Information::LastInsertId => Value::UInt(0),
            Information::RowCount => Value::Int(-1),
            Information::FoundRows => Value::Int(1),
        }
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn sleep(&self, _duration: Duration) -> bool {
        false
    }
    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(0x55);
    }
    fn sequence(&self, _place: usize) -> Option<RandomSequence> {
        *self.sequence.borrow()
    }
    fn keep_sequence(&self, _place: usize, sequence: RandomSequence) {
        *self.sequence.borrow_mut() = Some(sequence);
    }
    fn max_allowed_packet(&self) -> usize {
        1000
    }
}

fn int(int: i64) -> Expr {
    Expr::Literal(Value::Int(int))
}

fn uint(int: u64) -> Expr {
    Expr::Literal(Value::UInt(int))
}

fn text(text: &str) -> Expr {
    Expr::Literal(Value::text(text))
}

fn bytes(bytes: &[u8]) -> Expr {
    Expr::Literal(Value::bytes(bytes))
}

fn hex(bytes: &[u8]) -> Expr {
    Expr::Literal(Value::Hex(bytes.into()))
}

fn null() -> Expr {
    Expr::Literal(Value::Null)
}

fn double(double: f64) -> Expr {
    Expr::Literal(Value::Double(double))
}

fn decimal(text: &str) -> Expr {
    Expr::Literal(Value::Decimal(Decimal::parse(text).unwrap()))
}

fn datetime(text: &str) -> Expr {
    Expr::Literal(Value::DateTime(parse::datetime(text, TimeZone::UTC).unwrap().value))
}

fn date(text: &str) -> Expr {
    Expr::Literal(Value::Date(parse::datetime(text, TimeZone::UTC).unwrap().value.date()))
}

fn time(text: &str) -> Expr {
    Expr::Literal(Value::Time(parse::time(text).unwrap().0.value))
}

fn call<const N: usize>(name: &str, args: [Expr; N]) -> Expr {
    Expr::call(name, args.to_vec()).unwrap()
}

fn eval_in(session: &Session, expr: &Expr) -> Result<Value, SqlError> {
    expr.eval(&[], &EvalContext::new(&[], session))
}

/// The value's text, with an `!` and the number after it for each warning; or the error's number.
fn shown(expr: &Expr) -> String {
    shown_of(expr, &[])
}

fn shown_of(expr: &Expr, row: &[Value]) -> String {
    let session = Session::new();
    let value = expr.eval(row, &EvalContext::new(&[], &session));
    let mut shown = value.map_or_else(|error| format!("error {}", error.errno), |value| value.to_string());
    for errno in session.warnings.borrow().iter() {
        shown.push_str(&format!(" !{errno}"));
    }
    shown
}

#[track_caller]
fn check(expr: Expr, expected: &str) {
    assert_eq!(shown(&expr), expected, "{expr}");
}
