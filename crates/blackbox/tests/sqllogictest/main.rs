//! The sqllogictest corpus, by the runner that is its own: `sqllogictest-bin`, which `scripts/sqllogictest.sh` compiles.
//!
//! Every file passes, but for what `testdata/sqllogictest/left-out.txt` lists with a reason. `make test` runs the short
//! files and asks a sample of some others; with `COHORT_WHOLE` everything is run.

mod corpus;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng::{Rng, seed};
use cohort_blackbox::tool::tool_within;
use cohort_blackbox::{Launch, fetched};
use corpus::{Chosen, LeftOut};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/sqllogictest/test");
const LEFT_OUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/sqllogictest/left-out.txt");

/// Files up to this long are always run as a whole, bytes.
const SHORT: usize = 20_000;
/// Files of which a sample is asked, and queries of each.
const SAMPLED: (u64, usize) = (4, 150);
/// Files with more statements are not sampled: all of these would have to be run.
const MOST_STATEMENTS: usize = 2_000;

/// The default without ONLY_FULL_GROUP_BY, which did not exist when the corpus was made.
const SQL_MODE: &str = "--sql-mode=STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO";

const PATIENCE: Duration = Duration::from_secs(3600);

#[test]
fn every_file_of_the_corpus_passes() -> Result<()> {
    if !Path::new(CORPUS).is_dir() {
        println!("NOT RUN: there is no corpus of sqllogictest at {CORPUS}");
        return Ok(());
    }
    let Some(runner) = fetched("tools/sqllogictest-0.29.1/bin/sqllogictest", "scripts/sqllogictest.sh") else {
        return Ok(());
    };
    let left_out = LeftOut::read(&std::fs::read_to_string(LEFT_OUT)?)?;
    let corpus = corpus::files(Path::new(CORPUS))?;
    let stale = left_out.stale(&corpus);
    ensure!(stale.is_none(), "left out and not there: {stale:?}");

    let mut rng = Rng::new(seed());
    let whole = std::env::var_os("COHORT_WHOLE").is_some();
    let mut files: Vec<_> = corpus.iter().filter(|(path, _)| !left_out.file(path)).collect();
    if !whole {
        let (short, mut long): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, text)| text.len() <= SHORT);
        let statements = |text: &str| text.lines().filter(|line| line.starts_with("statement")).count();
        long.retain(|(_, text)| statements(text) <= MOST_STATEMENTS);
        files = short;
        for _ in 0..SAMPLED.0 {
            files.push(long.swap_remove(rng.below(long.len() as u64) as usize));
        }
    }

    let folder = tempfile::tempdir()?;
    let mut arguments: Vec<String> = Vec::new();
    for (path, text) in &files {
        let chosen = if whole || text.len() <= SHORT { Chosen::All } else { Chosen::Some(SAMPLED.1, &mut rng) };
        let file = folder.path().join(path.replace('/', "-"));
        std::fs::write(&file, corpus::prepare(path, text, &left_out, chosen))?;
        arguments.push(file.display().to_string());
    }
    let server = Launch::new(folder.path().join("data")).option("--sync-binlog=0").option(SQL_MODE).start()?;
    let port = server.port().to_string();
    // Each file gets a database of its own.
    let how =
        ["--engine=mysql", "--host=127.0.0.1", "--port", &port, "--user=root", "--pass=", "--db=mysql", "--jobs=2"];
    arguments.extend(how.map(str::to_owned));
    let output = tool_within(PATIENCE, runner.to_str().context("a path")?, &arguments)?;
    let (said, complaints) = (output.text(), output.complaints());
    println!("{said}");
    output.success().with_context(|| complaints)?;
    let passed = said.matches("[OK]").count();
    ensure!(passed == files.len(), "{passed} of {} files passed:\n{said}", files.len());
    server.stop()?;
    Ok(())
}
