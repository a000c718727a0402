//! A LEFT JOIN is an inner one where a condition after it is not true of the NULLs that it fills in.
//!
//! A condition rejects the NULLs of some relations if it is false or unknown whatever its other columns are. That is so
//! of comparisons with an operand that is NULL then, of IS NOT NULL, of an AND with such a part and of an OR of nothing
//! else.

use super::query::{Member, Nest, Query, Relation, RelationSet, relations_read};
use crate::expr::{CompareOp, Expr};

/// The rewrite rule.
pub(super) fn become_inner(query: &mut Query) {
    let Query { relations, from, .. } = query;
    simplify(from, relations);
}

fn simplify(nest: &mut Nest, relations: &[Relation]) {
    // What has become inner brings conditions that may reject others' NULLs.
    while let Some(at) = nest.members.iter().position(|member| match member {
        Member::Relation(_) | Member::Partners(..) => false,
        Member::Optional(optional) => is_rejected(optional, &nest.conditions, relations),
    }) {
        let Member::Optional(inner) = nest.members.remove(at) else { return };
        nest.conditions.extend(inner.conditions);
        nest.members.splice(at..at, inner.members);
    }
    for member in &mut nest.members {
        if let Member::Optional(nest) | Member::Partners(_, nest) = member {
            simplify(nest, relations);
        }
    }
}

fn is_rejected(optional: &Nest, conditions: &[Expr], relations: &[Relation]) -> bool {
    // Its own relations without those of LEFT JOINs within: all of these are NULL together.
    let filled = optional.relations();
    conditions.iter().any(|condition| rejects(condition, filled, relations))
}

/// Whether a condition is not true if all columns of these relations are NULL.
fn rejects(condition: &Expr, filled: RelationSet, relations: &[Relation]) -> bool {
    let strict = |expr: &Expr| is_null(expr, filled, relations);
    match condition {
        Expr::And(parts) => parts.iter().any(|part| rejects(part, filled, relations)),
        Expr::Or(parts) => parts.iter().all(|part| rejects(part, filled, relations)),
        Expr::IsNull { operand, negated: true } => strict(operand),
        Expr::IsTruth { operand, negated: false, truth: true } => rejects(operand, filled, relations),
        other => strict(other),
    }
}

/// Whether an expression is NULL then.
fn is_null(expr: &Expr, filled: RelationSet, relations: &[Relation]) -> bool {
    let null = |expr: &Expr| is_null(expr, filled, relations);
    match expr {
        Expr::Column(_) => {
            let read = relations_read(relations, expr);
            !read.is_empty() && filled.has_all(read)
        }
        Expr::Unary(_, operand) | Expr::Not(operand) | Expr::Collate(operand, _) | Expr::Cast(operand, _) => {
            null(operand)
        }
        Expr::Arithmetic(_, a, b) => null(a) || null(b),
        Expr::Compare(op, a, b, _) => *op != CompareOp::NullSafeEqual && (null(a) || null(b)),
        Expr::Between { operand, .. } | Expr::In { operand, .. } => null(operand),
        Expr::Like { operand, pattern, .. } => null(operand) || null(pattern),
        Expr::Xor(a, b) => null(a) || null(b),
        Expr::And(parts) | Expr::Or(parts) => !parts.is_empty() && parts.iter().all(null),
        _ => false,
    }
}
