//! MySQL's expressions for the parser library, whose own MySQL dialect has another language's precedences.
//!
//! From loose to tight: `OR`, `XOR`, `AND`, `NOT`, comparisons and `IS`, the predicates `LIKE`, `REGEXP`,
//! `IN` and `BETWEEN`, `|`, `&`, shifts, `+ -`, `* / DIV %`, `^`, prefix `- ~ !` and `BINARY`. `:=` takes the
//! variable in front of it and all that follows. That comparisons bind looser than predicates is not in the
//! manual's table but in the grammar: `a = b LIKE c` is `a = (b LIKE c)`.

use std::any::TypeId;

use sqlparser::ast::{BinaryOperator, CastKind, DataType, DateTimeField, Expr, Interval, UnaryOperator};
use sqlparser::dialect::{Dialect, MySqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

const ASSIGNMENT: u8 = 90;
const PREFIX: u8 = 50;
const XOR_OF_BITS: u8 = 45;
const SHIFT: u8 = 27;

/// The library's dialect with MySQL's expressions.
#[derive(Debug, Default)]
pub(super) struct MySql(MySqlDialect);

/// Hands yes-or-no questions on.
macro_rules! as_the_library {
    ($($question:ident)*) => {
        $(fn $question(&self) -> bool {
            self.0.$question()
        })*
    };
}

impl Dialect for MySql {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.0.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.0.is_identifier_part(ch)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        self.0.is_delimited_identifier_start(ch)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.0.identifier_quote_style(identifier)
    }

    fn is_table_factor_alias(&self, explicit: bool, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        self.0.is_table_factor_alias(explicit, keyword, parser)
    }

    as_the_library! {
        supports_string_literal_concatenation
        ignores_wildcard_escapes
        supports_numeric_prefix
        supports_bitwise_shift_operators
        require_interval_qualifier
        supports_limit_comma
        supports_insert_set
        supports_table_hints
        supports_match_against
        supports_select_modifiers
        supports_update_order_by
        supports_data_type_signed_suffix
        supports_cross_join_constraint
        supports_double_ampersand_operator
        supports_group_by_with_modifier
        supports_left_associative_joins_without_parens
    }

    /// EXTRACT of compound units.
    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Caret => XOR_OF_BITS,
            Precedence::MulDivModOp => 40,
            Precedence::PlusMinus => 30,
            Precedence::Ampersand => 25,
            Precedence::Pipe => 24,
            Precedence::Between | Precedence::Like => 22,
            Precedence::Eq | Precedence::Is => 20,
            Precedence::UnaryNot => 15,
            Precedence::And => 10,
            Precedence::Xor => 7,
            Precedence::Or => 5,
            other => self.0.prec_value(other),
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::ShiftLeft | Token::ShiftRight => Some(Ok(SHIFT)),
            Token::Assignment => Some(Ok(ASSIGNMENT)),
            Token::CustomBinaryOperator(_) => Some(Ok(self.prec_value(Precedence::Like))),
            _ => None,
        }
    }

    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        if parser.peek_token_ref().token == Token::Assignment {
            parser.advance_token();
            let value = parser.parse_expr();
            return Some(value.map(|value| Expr::BinaryOp {
                left: Box::new(expr.clone()),
                op: BinaryOperator::Assignment,
                right: Box::new(value),
            }));
        }
        self.0.parse_infix(parser, expr, precedence)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let op = match &parser.peek_token_ref().token {
            Token::Minus => UnaryOperator::Minus,
            Token::Plus => UnaryOperator::Plus,
            Token::Tilde => UnaryOperator::BitwiseNot,
            Token::ExclamationMark => UnaryOperator::BangNot,
            Token::Word(word) if word.keyword == Keyword::INTERVAL => {
                parser.advance_token();
                return Some(interval(parser));
            }
            Token::Word(word) if word.keyword == Keyword::BINARY => {
                parser.advance_token();
                return Some(parser.parse_subexpr(PREFIX).map(|operand| Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(operand),
                    data_type: DataType::Binary(None),
                    format: None,
                }));
            }
            _ => return None,
        };
        parser.advance_token();
        let operand = parser.parse_subexpr(PREFIX);
        Some(operand.map(|operand| Expr::UnaryOp { op, expr: Box::new(operand) }))
    }
}

/// What follows INTERVAL: `amount unit`.
fn interval(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let value = Box::new(parser.parse_expr()?);
    // Compound units are no words of the library: the caller looks all of them up by name.
    let unit = DateTimeField::Custom(parser.parse_identifier()?);
    Ok(Expr::Interval(Interval {
        value,
        leading_field: Some(unit),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}
