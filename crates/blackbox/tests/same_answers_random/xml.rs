//! XML and XPath by chance, for EXTRACTVALUE and UPDATEXML.
//!
//! What MariaDB cannot judge is left out: `<?xml ...?>` and `<!DOCTYPE ...>`, which are elements in MySQL. Some documents and
//! expressions are cut, so that they are malformed.

use cohort_blackbox::rng::Rng;

use crate::grammar::choose;

/// Expressions; `$X` is a document, `$H` an XPath expression.
pub const EXPRESSIONS: &[&str] = &[
    "EXTRACTVALUE($X, $H)",
    "EXTRACTVALUE($X, $H)",
    "EXTRACTVALUE($X, $H)",
    "UPDATEXML($X, $H, '<n/>')",
    "EXTRACTVALUE(CONCAT('<a>', $s, '</a>'), '/a')",
    "UPDATEXML(CONCAT('<a>', $s, '</a>'), '/a', $s)",
    "EXTRACTVALUE($s, $H)",
];

const NAMES: &[&str] = &["a", "a", "b", "b", "c", "d-e", "é"];
const ATTRIBUTES: &[&str] = &["x", "y"];
const TEXTS: &[&str] = &["1", "2", "2.5", "-3", "t", "T", "é ", "1a", " "];

fn cut(rng: &mut Rng, text: String) -> String {
    if text.is_empty() || !rng.chance(4) {
        return text;
    }
    let left = rng.below(text.len() as u64) as usize;
    text[..text.floor_char_boundary(left)].to_owned()
}

pub fn document(rng: &mut Rng) -> String {
    let mut text = String::new();
    nodes(rng, 3, &mut text);
    cut(rng, text)
}

fn nodes(rng: &mut Rng, depth: u32, text: &mut String) {
    for _ in 0..1 + rng.below(3) {
        match rng.below(12) {
            0..3 => *text += choose(rng, TEXTS),
            3 => *text += "<!-- > -->",
            4 => *text += &format!("<![CDATA[{}<]]>", choose(rng, TEXTS)),
            _ => element(rng, depth, text),
        }
    }
}

fn element(rng: &mut Rng, depth: u32, text: &mut String) {
    let name = choose(rng, NAMES);
    *text += &format!("<{name}");
    for attribute in ATTRIBUTES {
        match rng.below(8) {
            0 => *text += &format!(" {attribute}=\"{}\"", choose(rng, TEXTS)),
            1 => *text += &format!(" {attribute} = '{}'", choose(rng, TEXTS)),
            2 => *text += &format!(" {attribute}={name}"),
            _ => {}
        }
    }
    if depth == 0 || rng.chance(15) {
        *text += "/>";
        return;
    }
    *text += ">";
    nodes(rng, depth - 1, text);
    *text += &format!("</{name}>");
}

pub fn expression(rng: &mut Rng) -> String {
    let text = if rng.chance(60) { path(rng, 2) } else { value(rng, 2) };
    cut(rng, text)
}

/// A set of nodes.
fn path(rng: &mut Rng, depth: u32) -> String {
    if depth > 0 && rng.chance(10) {
        return format!("{} | {}", path(rng, depth - 1), path(rng, depth - 1));
    }
    let mut path = choose(rng, &["/", "/", "//", "//", ""]).to_owned();
    for at in 0..1 + rng.below(3) {
        if at > 0 {
            path += choose(rng, &["/", "/", "//"]);
        }
        path += &step(rng, depth);
    }
    path
}

fn step(rng: &mut Rng, depth: u32) -> String {
    const AXES: &[&str] = &[
        "child::",
        "descendant::",
        "descendant-or-self::",
        "ancestor::",
        "ancestor-or-self::",
        "parent::",
        "self::",
        "attribute::",
        "following::",
    ];
    let name = if rng.chance(25) { "*" } else { choose(rng, NAMES) };
    let mut step = match rng.below(12) {
        0 => "..".to_owned(),
        1 => return ".".to_owned(),
        2 => format!("@{}", if rng.chance(40) { "*" } else { choose(rng, ATTRIBUTES) }),
        3 => "text()".to_owned(),
        4..6 => format!("{}{name}", choose(rng, AXES)),
        _ => name.to_owned(),
    };
    if depth > 0 && step != ".." && rng.chance(30) {
        step += &format!("[{}]", predicate(rng, depth - 1));
    }
    step
}

fn predicate(rng: &mut Rng, depth: u32) -> String {
    match rng.below(8) {
        0..2 => (1 + rng.below(3)).to_string(),
        2 => "last()".to_owned(),
        3 => format!("position() {} {}", comparison(rng), 1 + rng.below(3)),
        4 => format!(".{}\"{}\"", comparison(rng), choose(rng, TEXTS)),
        5 => format!("@x {} {}", comparison(rng), value(rng, 0)),
        6 => path(rng, depth),
        _ => value(rng, depth),
    }
}

fn comparison(rng: &mut Rng) -> &'static str {
    choose(rng, &["=", "!=", "<", "<=", ">", ">="])
}

/// A number, a text or a condition. How a number that is made of a text is shown is not compared here.
fn value(rng: &mut Rng, depth: u32) -> String {
    if depth == 0 {
        return choose(rng, &["1", "2", "3.5", "1.50", "\"t\"", "\"2\"", "true()", "false()"]).to_owned();
    }
    let depth = depth - 1;
    match rng.below(17) {
        0 => format!("count({})", path(rng, depth)),
        1 => format!("sum({})", path(rng, depth)),
        2 => format!("{} {} {}", value(rng, depth), choose(rng, &["+", "-", "*", "div", "mod"]), value(rng, depth)),
        3 => format!("{} {} {}", value(rng, depth), comparison(rng), value(rng, depth)),
        4 => format!("{} {} {}", path(rng, depth), comparison(rng), value(rng, depth)),
        5 => format!("{} {} {}", value(rng, depth), comparison(rng), path(rng, depth)),
        6 => format!("({}) {} {}", value(rng, depth), choose(rng, &["and", "or"]), value(rng, depth)),
        7 => format!("not({})", value(rng, depth)),
        8 => format!("boolean({})", path(rng, depth)),
        9 => format!("contains({}, {})", path(rng, depth), value(rng, 0)),
        10 => format!("concat({}, {})", path(rng, depth), value(rng, depth)),
        11 => format!("substring({}, {})", path(rng, depth), 1 + rng.below(3)),
        12 => format!("string-length({})", path(rng, depth)),
        13 => format!("{}({})", choose(rng, &["round", "floor", "ceiling", "number"]), value(rng, depth)),
        14 => format!("-{}", value(rng, depth)),
        15 => path(rng, depth),
        _ => value(rng, 0),
    }
}
