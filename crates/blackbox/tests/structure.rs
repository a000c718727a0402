//! Which files of a crate import each other: no circle of more than three files, and none across folders. Paths after
//! `crate`, `super` and `self` count, in `use` and elsewhere; tests do not, nor what a file says of its own modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Most files that may be in a circle.
const CIRCLE: usize = 3;

/// Crates with a wider circle, which may not grow.
const WIDER: &[(&str, usize)] = &[];

/// The files of a crate by their module's path (`a::b`, the crate's root empty), with their text.
fn modules(source: &Path) -> Result<BTreeMap<String, String>> {
    let mut modules = BTreeMap::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let module = path.strip_prefix(source)?.with_extension("");
            let module: Vec<_> = module.iter().map(|part| part.to_string_lossy()).collect();
            let module = module.join("::");
            let module = module.strip_suffix("::mod").unwrap_or(&module);
            if path.extension().is_some_and(|extension| extension == "rs") && !is_test(module) {
                let name = if matches!(module, "lib" | "main") { "" } else { module };
                modules.insert(name.to_owned(), code(&std::fs::read_to_string(&path)?));
            }
        }
    }
    Ok(modules)
}

fn is_test(module: &str) -> bool {
    module.split("::").any(|part| part == "tests")
}

/// A file without comments and without the tests at its end.
fn code(text: &str) -> String {
    let begins_tests =
        |rest: &str| rest.lines().nth(1).is_some_and(|line| line.contains("mod ") && line.ends_with('{'));
    let mut marks = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at);
    let end = marks.find(|at| begins_tests(&text[*at..])).unwrap_or(text.len());
    text[..end].lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths that a `use` names, `a::{b, c::d}` taken apart.
fn leaves(tree: &str, out: &mut Vec<String>) {
    let Some((prefix, list)) = tree.split_once('{') else {
        out.push(tree.split(" as ").next().unwrap_or_default().trim().to_owned());
        return;
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in list.char_indices().chain([(list.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let leaf = list[start..at].trim();
                if !leaf.is_empty() {
                    leaves(&format!("{}{leaf}", prefix.trim()), out);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Every path of `code` that begins in its own crate.
fn paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let begins = code[..at].chars().next_back().is_none_or(|letter| letter.is_whitespace() || letter == ')');
        if let Some((tree, _)) = code[at + 4..].split_once(';').filter(|_| begins) {
            leaves(tree.trim(), &mut paths);
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
            let end = code[at..].find(|letter| !is_part(letter)).map_or(code.len(), |end| at + end);
            paths.push(code[at..end].to_owned());
        }
    }
    paths.retain(|path| ["crate", "super", "self"].contains(&path.split("::").next().unwrap_or_default()));
    paths
}

/// The module that `path` in `module` leads to: the longest beginning of it that is a file.
fn target(modules: &BTreeMap<String, String>, module: &str, path: &str) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    for part in path.split("::").map(str::trim) {
        match part {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            part => at.push(part),
        }
    }
    (1..=at.len()).rev().map(|length| at[..length].join("::")).find(|name| modules.contains_key(name))
}

/// Everything that can be reached from `start`.
fn reached<'a>(imports: &'a BTreeMap<String, BTreeSet<String>>, start: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}

/// The circles among a crate's files, each once.
fn circles(modules: &BTreeMap<String, String>) -> BTreeSet<Vec<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, code) in modules.iter().filter(|(module, _)| !module.is_empty()) {
        let targets = paths(code).into_iter().filter_map(|path| target(modules, module, &path));
        // A file and its own modules are one room.
        let inside = |other: &str| other == module || other.starts_with(&format!("{module}::"));
        imports.entry(module.clone()).or_default().extend(targets.filter(|other| !inside(other)));
    }
    let all: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|module| (module.as_str(), reached(&imports, module))).collect();
    let circle = |module: &&str| {
        let circle = all[module].iter().filter(|other| all.get(*other).is_some_and(|reach| reach.contains(module)));
        circle.map(|module| (*module).to_owned()).collect::<Vec<_>>()
    };
    all.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

fn folder(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(folder, _)| folder)
}

#[test]
fn files_do_not_import_each_other_in_wide_circles() -> Result<()> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wide = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(&crates)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wider = WIDER.iter().find(|(wider, _)| *wider == name).map(|(_, files)| *files);
        let modules = modules(&path.join("src")).with_context(|| path.display().to_string())?;
        seen += modules.len();
        for circle in circles(&modules) {
            let folders: BTreeSet<&str> = circle.iter().map(|module| folder(module)).collect();
            if circle.len() > wider.unwrap_or(CIRCLE) || wider.is_none() && folders.len() > 1 {
                wide.push(format!("{name}: {}", circle.join(", ")));
            }
        }
    }
    assert!(seen > 200, "only {seen} files were read");
    assert!(wide.is_empty(), "these files import each other in a circle:\n{}", wide.join("\n"));
    Ok(())
}

#[test]
fn a_circle_is_found() {
    let file = |code: &str| code.to_owned();
    let modules = BTreeMap::from([
        ("a".to_owned(), file("use crate::b::{self, c::{D, E}};\n")),
        ("b".to_owned(), file("mod c;\n")),
        ("b::c".to_owned(), file("fn f() { super::super::d::g() }\n")),
        ("d".to_owned(), file("pub(crate) use crate::a::A;\n")),
        ("e".to_owned(), file("use crate::a::A;\n")),
    ]);
    let circles = circles(&modules);
    assert_eq!(circles.into_iter().collect::<Vec<_>>(), [["a", "b::c", "d"]]);
}
