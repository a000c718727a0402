//! Runs the scripts of `testdata`.
//!
//! A script is a list of statements, each after `> ` (or `b> ` for a second session, and so on), with
//! what the client sees below, up to an empty line. Set `UPDATE_GOLDEN=1` to write what is seen now.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Client, Disk};

/// Runs a script and gives it back with what was seen; `engine` is the sessions' default.
fn replay(script: &str, engine: &str) -> String {
    let database = Disk::new().open();
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut setup = Client::new(&database);
    setup.ok("CREATE DATABASE d");
    let mut seen = String::new();
    for block in script.trim_end().split("\n\n") {
        let (comments, rest): (Vec<&str>, Vec<&str>) = block.lines().partition(|line| line.starts_with('#'));
        for comment in &comments {
            writeln!(seen, "{comment}").expect("a string takes all");
        }
        if let Some(statement) = rest.first() {
            let (name, sql) = statement.split_once("> ").expect("a block begins with a statement");
            let client = clients.entry(name.to_owned()).or_insert_with(|| {
                let mut client = Client::new(&database);
                client.ok("USE d");
                client.ok(&format!("SET default_storage_engine = '{engine}'"));
                client
            });
            writeln!(seen, "{statement}").expect("a string takes all");
            for line in client.run(sql) {
                writeln!(seen, "{}", line.replace('\n', "\\n")).expect("a string takes all");
            }
        }
        seen.push('\n');
    }
    seen.trim_end().to_owned() + "\n"
}

fn scripts() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<_> =
        fs::read_dir(&folder).expect("the folder of scripts").flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "test"));
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).expect("a script"))).collect()
}

fn first_difference(path: &Path, script: &str, seen: &str) -> String {
    let pair = script.lines().zip(seen.lines()).enumerate().find(|(_, (said, seen))| said != seen);
    format!("{}: {pair:?}", path.display())
}

#[test]
fn scripts_give_what_they_say() {
    let mut differing = Vec::new();
    for (path, script) in scripts() {
        let seen = replay(&script, "MEMORY");
        if seen == script {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(path, &seen).expect("a script is written");
            continue;
        }
        differing.push(first_difference(&path, &script, &seen));
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

/// All but the script about engines, which names them.
#[test]
fn scripts_give_the_same_on_the_second_engine() {
    let mut differing = Vec::new();
    for (path, script) in scripts().into_iter().filter(|(_, script)| !script.contains("redb")) {
        let seen = replay(&script, "redb").replace("ENGINE=redb", "ENGINE=MEMORY");
        if seen != script {
            differing.push(first_difference(&path, &script, &seen));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
