//! How deep a statement's tree can be, seen from its lexemes: before the parser library makes it.
//!
//! The library nests a chain of operators to the left without recursion, so that nothing of its own bounds the chain;
//! whoever then walks or drops that tree recurses. Brackets, and whatever else nests to the right, it does bound.
//!
//! The chains differ. Links (AND, OR and XOR, the UNIONs) bind looser than all else: a tree of them has as many levels
//! as there are links, plus those of the deepest term between them. The conversion takes AND and OR apart without
//! recursion, so links may be as many as memory allows. All other lexemes that are no operands count as a level of
//! their term, which is limited. Elements between commas are siblings, and so are the branches of a CASE.
//!
//! Joins without a condition nest to the right, and the library recurses over them without a bound: a JOIN counts as
//! [`JOIN_LEVELS`], which is what that takes on the stack.
//!
//! Invariants
//! 1. The library's tree has no more levels than [`Depth::levels`], those apart that the library bounds.

use super::fingerprint::Mark;
use super::lexer::Kind;

/// Levels that a JOIN counts for.
const JOIN_LEVELS: usize = 16;

/// How deep a tree can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Depth {
    /// All levels.
    pub(super) levels: usize,
    /// Levels without those of links.
    pub(super) nested: usize,
}

impl Depth {
    fn and(self, other: Depth) -> Depth {
        Depth { levels: self.levels + other.levels, nested: self.nested + other.nested }
    }

    fn or(self, other: Depth) -> Depth {
        Depth { levels: self.levels.max(other.levels), nested: self.nested.max(other.nested) }
    }

    fn term(levels: usize) -> Depth {
        Depth { levels, nested: levels }
    }
}

/// What lies between two brackets, or between CASE and END.
#[derive(Default)]
struct Group {
    case: bool,
    unions: usize,
    /// The deepest element so far.
    elements: Depth,
    /// Links of the present element.
    links: usize,
    /// The deepest term of the present element so far.
    terms: Depth,
    /// Lexemes of the present term.
    chain: usize,
    /// The deepest group in the present term.
    inner: Depth,
}

impl Group {
    fn end_term(&mut self) {
        let term = Depth::term(std::mem::take(&mut self.chain)).and(std::mem::take(&mut self.inner));
        self.terms = self.terms.or(term);
    }

    fn end_element(&mut self) {
        self.end_term();
        let links = Depth { levels: std::mem::take(&mut self.links), nested: 0 };
        self.elements = self.elements.or(std::mem::take(&mut self.terms).and(links));
    }

    fn end(mut self) -> Depth {
        self.end_element();
        // The bracket is a level as well.
        self.elements.and(Depth::term(self.unions + 1))
    }
}

/// How deep the tree of `marks` can be.
pub(super) fn measure(sql: &[u8], marks: &[Mark]) -> Depth {
    let mut groups = vec![Group::default()];
    for mark in marks.iter().filter(|mark| mark.param.is_none()) {
        let bytes = mark.lexeme.bytes(sql);
        match role(mark.lexeme.kind, bytes) {
            Role::Operand => {}
            Role::Opens { case } => groups.push(Group { case, ..Group::default() }),
            Role::Closes { case } => {
                // What does not fit is a syntax error, or a name.
                if groups.len() > 1 && groups.last().is_some_and(|group| group.case == case) {
                    close(&mut groups);
                }
            }
            role => {
                let Some(group) = groups.last_mut() else { continue };
                match role {
                    Role::Separates => group.end_element(),
                    Role::Branches if group.case => group.end_element(),
                    Role::Links => {
                        group.end_term();
                        group.links += 1;
                    }
                    Role::Unites => {
                        group.end_term();
                        group.unions += 1;
                    }
                    Role::Joins => group.chain += JOIN_LEVELS,
                    _ => group.chain += 1,
                }
            }
        }
    }
    while groups.len() > 1 {
        close(&mut groups);
    }
    groups.pop().map_or_else(Depth::default, Group::end)
}

fn close(groups: &mut Vec<Group>) {
    if let (Some(inner), Some(outer)) = (groups.pop(), groups.last_mut()) {
        outer.inner = outer.inner.or(inner.end());
    }
}

/// What a lexeme does to the depth.
enum Role {
    Operand,
    Opens {
        case: bool,
    },
    Closes {
        case: bool,
    },
    Separates,
    /// WHEN, THEN, ELSE
    Branches,
    Links,
    Unites,
    Joins,
    Deepens,
}

fn role(kind: Kind, bytes: &[u8]) -> Role {
    let is = |words: &[&str]| words.iter().any(|word| bytes.eq_ignore_ascii_case(word.as_bytes()));
    match kind {
        Kind::Operator => match bytes {
            b"(" => Role::Opens { case: false },
            b")" => Role::Closes { case: false },
            b"," => Role::Separates,
            b"." => Role::Operand,
            b"&&" => Role::Links,
            _ => Role::Deepens,
        },
        Kind::Word => match bytes.len() {
            2 if is(&["OR"]) => Role::Links,
            3 if is(&["AND", "XOR"]) => Role::Links,
            3 if is(&["END"]) => Role::Closes { case: true },
            4 if is(&["JOIN"]) => Role::Joins,
            4 if is(&["CASE"]) => Role::Opens { case: true },
            4 if is(&["WHEN", "THEN", "ELSE"]) => Role::Branches,
            5 if is(&["UNION", "MINUS"]) => Role::Unites,
            6 if is(&["EXCEPT"]) => Role::Unites,
            9 if is(&["INTERSECT"]) => Role::Unites,
            _ => Role::Deepens,
        },
        _ => Role::Operand,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexer::Lexer;
    use super::*;
    use crate::types::SqlMode;

    fn of(sql: &str) -> Depth {
        let marks: Vec<Mark> = Lexer::new(sql.as_bytes(), SqlMode::DEFAULT)
            .map(|lexeme| Mark { lexeme, param: None, variable: None })
            .collect();
        measure(sql.as_bytes(), &marks)
    }

    #[test]
    fn chains_count_and_siblings_do_not() {
        let levels = |sql: &str| of(sql).levels;
        assert!(levels(&format!("SELECT 1{}", "+(1)".repeat(500))) >= 500);
        assert!(levels(&format!("SELECT 1{}", " DIV 1".repeat(500))) >= 500);
        assert!(levels(&format!("SELECT {}1{}", "-1*(".repeat(500), ")".repeat(500))) >= 1000);
        assert!(levels(&format!("SELECT {}", vec!["1"; 500].join(" UNION SELECT 1, 2, "))) >= 499);
        assert!(levels(&format!("SELECT (1{}){0}", " DIV 1".repeat(100))) >= 200, "brackets do not reset");
        assert!(levels(&format!("SELECT {}", vec!["1+1"; 500].join(","))) < 10);
        assert!(levels(&format!("SELECT CASE a {} END", "WHEN 1+1 THEN 2 ".repeat(500))) < 10);
    }

    #[test]
    fn links_are_levels_that_do_not_nest() {
        let flat = of(&format!("SELECT {}", vec!["a = 1"; 5000].join(" OR ")));
        assert!(flat.levels >= 4999 && flat.nested < 10, "{flat:?}");
        let between = of(&format!("SELECT 1{}", " BETWEEN 1 AND 2".repeat(500)));
        assert!(between.levels >= 500, "{between:?}");
        let mixed = of(&format!("SELECT 1 {}", "XOR 1 XOR 1 AND 1 ".repeat(500)));
        assert!(mixed.levels >= 1000, "{mixed:?}");
    }
}
